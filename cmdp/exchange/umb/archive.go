package umb

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"cmdpsolve/cmdp/internal/source"
)

// An archive is a tar file, perhaps compressed.
type archive struct {
	f    io.ReaderAt
	size int64
}

// errStop ends a walk early.
var errStop = errors.New("stop")

// walk calls each with the name, length and content of every file, from the first
// one on, and with a length that the whole cannot exceed. It refuses names that
// lead out of the archive, links, files with holes and the same name twice.
func (a archive) walk(each func(name string, size, limit int64, r io.Reader) error) error {
	in, limit, err := source.Open(a.f, a.size)
	if err != nil {
		return err
	}
	stream := bufio.NewReaderSize(in, 1<<16)
	t := tar.NewReader(stream)
	seen := make(map[string]bool)
	for {
		h, err := t.Next()
		if err == io.EOF {
			return source.End(stream)
		}
		if err != nil {
			return fmt.Errorf("the archive is broken or cut: %w", err)
		}
		name, err := entryName(h)
		switch {
		case err != nil:
			return err
		case h.Typeflag == tar.TypeDir:
			continue
		case h.Typeflag != tar.TypeReg || len(h.PAXRecords["GNU.sparse.realsize"]) > 0 ||
			len(h.PAXRecords["GNU.sparse.size"]) > 0:
			return fmt.Errorf("%s: neither a file nor a folder: links and files with holes are refused", name)
		case seen[name]:
			return fmt.Errorf("%s is in the archive twice", name)
		case h.Size < 0 || h.Size > limit:
			return fmt.Errorf("%s: %d bytes are more than the archive can hold", name, h.Size)
		}
		seen[name] = true
		if err := each(name, h.Size, limit, t); err != nil {
			if err == errStop {
				return nil
			}
			return fmt.Errorf("%s: %w", name, cut(err))
		}
	}
}

// cut says in words that a file ends too early.
func cut(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the archive ends in the middle of the file")
	}
	return err
}

func entryName(h *tar.Header) (string, error) {
	name := path.Clean(h.Name)
	if strings.HasPrefix(name, "/") || name == ".." || strings.HasPrefix(name, "../") ||
		strings.ContainsAny(h.Name, "\\\x00") {
		return "", fmt.Errorf("the name %s leads out of the archive", source.Quote(h.Name))
	}
	return name, nil
}

// index reads index.json, wherever it stands.
func (a archive) index() (*index, error) {
	const most = 64 << 20
	var x *index
	err := a.walk(func(name string, size, limit int64, r io.Reader) error {
		if name != "index.json" {
			return nil
		}
		if size > most {
			return fmt.Errorf("%d bytes: want at most %d", size, most)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		x, err = parseIndex(text, limit)
		if err != nil {
			return errors.New(strings.TrimPrefix(err.Error(), "index.json: "))
		}
		return errStop
	})
	if err == nil && x == nil {
		err = errors.New("there is no index.json in the archive")
	}
	return x, err
}

// chunk is how many bytes of a file are decoded at a time, a multiple of all
// sizes of numbers.
const chunk = 1 << 16

// pieces hands the content of a file of n·width bytes to each, in pieces whose length is a multiple
// of width; at is the number of the piece's first value.
func pieces(r io.Reader, n, width int, each func(at int, b []byte) error) error {
	if n == 0 {
		return nil
	}
	buf := make([]byte, max(1, min(chunk/width, n))*width)
	for at := 0; at < n; {
		b := buf[:min(len(buf)/width, n-at)*width]
		if _, err := io.ReadFull(r, b); err != nil {
			return err
		}
		if err := each(at, b); err != nil {
			return err
		}
		at += len(b) / width
	}
	return nil
}
