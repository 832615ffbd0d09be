package source

import (
	"bytes"
	"io"
	"io/fs"
)

// At returns a file as something that can be read anywhere, and its length. Files
// that only stream are read into memory.
func At(f fs.File) (io.ReaderAt, int64, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	if at, ok := f.(io.ReaderAt); ok && info.Mode().IsRegular() {
		return at, info.Size(), nil
	}
	b, err := io.ReadAll(f)
	return bytes.NewReader(b), int64(len(b)), err
}
