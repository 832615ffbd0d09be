// Package source opens files of which nothing is known to be true: it limits how
// far they may grow and how numbers may be written. It also packs files.
package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/therootcompany/xz"
	xzwriter "github.com/ulikunitz/xz"
)

// MaxRatio is how many times its own length a compressed file may grow to, but for
// those that stay below [Small].
const MaxRatio = 256

// Small is a length that every compressed file may grow to.
const Small = 16 << 20

// dictionary is the most memory that an xz file may ask for: as much as xz -9 does. The
// library that writes xz also reads it, but takes as much memory as the file asks for.
const dictionary = 64 << 20

// Open returns the content of a file of the given length, unpacked if it is
// compressed with gzip or xz, and the number of bytes that it cannot exceed.
// Reading further is an error, not the end. What is compressed is a [LargeError] as soon as it has grown beyond the
// memory that there is for it, see [Within].
func Open(f io.ReaderAt, size int64) (io.Reader, int64, error) {
	head := make([]byte, 6)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return nil, 0, err
	}
	in := io.NewSectionReader(f, 0, size)
	limit := max(Small, size*MaxRatio)
	memory := Memory(f)
	switch {
	case bytes.HasPrefix(head[:n], []byte("\x1f\x8b\x08")):
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, 0, fmt.Errorf("gzip: %w", err)
		}
		return within(&limited{z, limit}, memory), limit, nil
	case bytes.HasPrefix(head[:n], []byte("\xfd7zXZ\x00")):
		z, err := xz.NewReader(in, dictionary)
		if err != nil {
			return nil, 0, err
		}
		return within(&limited{z, limit}, memory), limit, nil
	}
	if memory > 0 && perByte*float64(size) > float64(memory) {
		return nil, 0, &LargeError{fmt.Sprintf("it has %.3g GiB and a model that takes more", float64(size)/(1<<30)),
			memory}
	}
	return in, size, nil
}

// End reads what is left of a file whose content has been read. It returns an error unless that is
// nothing but zeros, with which archives are filled up. A compressed file is known to be whole only then,
// for its checksum comes last.
func End(r io.Reader) error {
	buf := make([]byte, 1<<12)
	for {
		n, err := r.Read(buf)
		if len(bytes.Trim(buf[:n], "\x00")) > 0 {
			return errors.New("the file goes on behind its end: it is damaged, or something was added to it")
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("the file is damaged or cut: %w", err)
		}
	}
}

// Pack returns a writer that compresses with gzip, "gz", or xz, "xz", and writes to w; with
// "", one that passes on what it gets. Close ends the compressed file and leaves w open.
func Pack(w io.Writer, how string) (io.WriteCloser, error) {
	switch how {
	case "gz":
		return gzip.NewWriter(w), nil
	case "xz":
		// It only writes: as a reader it takes as much memory as a header asks for.
		return xzwriter.NewWriter(w)
	}
	return open{w}, nil
}

type open struct{ io.Writer }

func (open) Close() error { return nil }

// limited fails when more than left bytes come.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	l.left -= int64(n)
	if l.left < 0 {
		return 0, fmt.Errorf("the file unpacks to more than %d times its length: this is refused", MaxRatio)
	}
	return n, err
}

// CutPacked cuts the ending of a name that says how the file is compressed, gz or xz.
func CutPacked(name string) (plain, how string) {
	for _, how := range []string{"gz", "xz"} {
		if rest := len(name) - len(how) - 1; rest > 0 && strings.EqualFold(name[rest:], "."+how) {
			return name[:rest], how
		}
	}
	return name, ""
}
