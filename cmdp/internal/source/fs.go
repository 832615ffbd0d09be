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
	b, isBounded := f.(boundedFile)
	at, ok := f.(io.ReaderAt)
	if isBounded {
		at, ok = b.bounded, b.ReaderAt != nil
	}
	if ok && info.Mode().IsRegular() {
		return at, info.Size(), nil
	}
	var in io.Reader = f
	if isBounded {
		in = within(f, b.memory)
	}
	all, err := io.ReadAll(in)
	at = bytes.NewReader(all)
	if isBounded {
		at = bounded{at, b.memory}
	}
	return at, int64(len(all)), err
}
