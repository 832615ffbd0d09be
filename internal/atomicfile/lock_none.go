//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package atomicfile

import (
	"errors"
	"os"
)

// tryLock says that there are no locks.
func tryLock(*os.File) error { return errors.ErrUnsupported }
