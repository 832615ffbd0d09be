package atomicfile

import "os"

// replace puts a temporary file in the place of its target. Windows does not rename what is open.
func replace(f *os.File, target string) error {
	err := f.Close()
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), target)
}

// discard removes a file. Windows removes nothing that is open.
func discard(f *os.File) {
	_ = f.Close()
	_ = os.Remove(f.Name())
}
