//go:build !windows

package atomicfile

import "os"

// replace puts a temporary file in the place of its target. It is locked until it has left its name.
func replace(f *os.File, target string) error {
	err := os.Rename(f.Name(), target)
	if err != nil {
		return err
	}
	_ = f.Close() // what it could complain of, Sync has
	return nil
}

// discard removes a file that is locked or whose lock nobody wants.
func discard(f *os.File) {
	_ = os.Remove(f.Name())
	_ = f.Close()
}
