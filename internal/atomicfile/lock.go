package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// ErrLocked is the error of [NewLock] for a file that is locked.
var ErrLocked = errors.New("another process keeps it locked")

// A Lock says that a process keeps a file up to date. It ends with the process, however that ends.
type Lock struct{ file *os.File }

// held are the files of all locks, so that none is closed as garbage.
var held sync.Map

const lockSuffix = "lock"

// NewLock locks a file that is replaced by and by: files beside it, called .NAME.lock, are locked in its
// place, for a lock on the file itself would go with the file that is replaced. The file need not exist. The
// error is ErrLocked if another lock is held, by this process or another one. On file systems without locks
// there are none, and NewLock returns no error.
func NewLock(path string) (*Lock, error) {
	t, err := Find(path)
	if err != nil {
		return nil, err
	}
	if t.direct {
		return new(Lock), nil
	}
	folder, name := filepath.Split(t.path)
	beside := filepath.Join(folder, temporaryPrefix(name)+lockSuffix)
	for range 1000 {
		f, err := os.OpenFile(beside, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		err = tryLock(f)
		switch {
		case errors.Is(err, ErrLocked):
			f.Close()
			return nil, fmt.Errorf("%s: %w", path, ErrLocked)
		case err != nil:
			discard(f)
			return new(Lock), nil
		case named(f):
			held.Store(f, nil)
			return &Lock{f}, nil
		}
		f.Close() // who held it has just removed it
	}
	return nil, &fs.PathError{Op: "lock", Path: path, Err: ErrLocked}
}

// Unlock ends the lock. It may be called more than once, and on nil.
func (l *Lock) Unlock() {
	if l == nil || l.file == nil {
		return
	}
	held.Delete(l.file)
	discard(l.file)
	l.file = nil
}
