// Package formats reads and writes model files of other tools by the endings of
// their names:
//
//	.umb                 unified Markov binary
//	.drn                 Storm's text format, also .drn.gz and .drn.xz
//	.tra                 PRISM's explicit files, with .sta, .lab, .srew, .trew beside it
//	.npz                 a dense NumPy kernel
//	.json                a Gymnasium table
//	a folder             a SciPy matrix for each action; a name that ends in / is one
package formats

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/exchange/drn"
	"cmdpsolve/cmdp/exchange/gymnasium"
	"cmdpsolve/cmdp/exchange/numpy"
	"cmdpsolve/cmdp/exchange/prism"
	"cmdpsolve/cmdp/exchange/umb"
	"cmdpsolve/cmdp/internal/source"
)

// Endings says for messages which names are known.
const Endings = ".umb, .drn, .tra, .npz, .json or / for a folder"

// ending returns the ending of a known name, / for a folder, else nothing.
func ending(name string) string {
	if strings.HasSuffix(name, "/") {
		return "/"
	}
	lower := strings.ToLower(name)
	for _, packed := range []string{".drn.gz", ".drn.xz"} {
		if strings.HasSuffix(lower, packed) {
			return ".drn"
		}
	}
	switch e := path.Ext(lower); e {
	case ".umb", ".drn", ".tra", ".npz", ".json":
		return e
	}
	return ""
}

// Known reports whether the name has one of the [Endings].
func Known(name string) bool { return ending(name) != "" }

// Read reads the model that stands in the file of the given name, or in the folder
// if it is one.
func Read(files fs.FS, name string) (*exchange.Model, error) {
	kind := ending(name)
	if kind == "/" {
		return numpy.ReadFolder(files, strings.TrimRight(name, "/"))
	}
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return numpy.ReadFolder(files, name)
	}
	if kind == ".tra" {
		return prism.Read(files, name)
	}
	at, size, err := source.At(f)
	if err != nil {
		return nil, err
	}
	switch kind {
	case ".umb":
		return umb.Read(at, size)
	case ".drn":
		return drn.Read(at, size)
	case ".npz":
		return numpy.Read(at, size)
	case ".json":
		return gymnasium.Read(at, size)
	}
	return nil, fmt.Errorf("unknown kind of file %s: want %s", name, Endings)
}

// Watch returns the same files, which call progress as they are read, with how far into the
// file that was, from 0 to 1.
func Watch(files fs.FS, progress func(part float64)) fs.FS { return watched{files, progress} }

type watched struct {
	fs.FS
	progress func(part float64)
}

func (w watched) Open(name string) (fs.File, error) {
	f, err := w.FS.Open(name)
	if err != nil {
		return nil, err
	}
	at, ok := f.(io.ReaderAt)
	if info, err := f.Stat(); err == nil && ok && info.Mode().IsRegular() {
		return watchedFile{f, at, info.Size(), w.progress}, nil
	}
	return f, nil
}

type watchedFile struct {
	fs.File
	at       io.ReaderAt
	size     int64
	progress func(part float64)
}

func (f watchedFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.at.ReadAt(p, off)
	f.progress(float64(off+int64(n)) / float64(max(1, f.size)))
	return n, err
}

// Create makes a file; Close ends it. A file that could not be written is not closed:
// its maker gives it up.
type Create func(name string) (io.WriteCloser, error)

// Write writes a model to the file of the given name, or to several whose names
// begin like it, all of them made by create.
func Write(create Create, name string, m *exchange.Model, o umb.Options) error {
	switch ending(name) {
	case "/":
		return numpy.WriteFolder(func(file string) (io.WriteCloser, error) { return create(name + file) }, m)
	case ".tra":
		return prism.Write(create, name[:len(name)-len(".tra")], m)
	case ".umb":
		return file(create, name, func(w io.Writer) error { return umb.Write(w, m, o) })
	case ".npz":
		return file(create, name, func(w io.Writer) error { return numpy.Write(w, m) })
	case ".json":
		return file(create, name, func(w io.Writer) error { return gymnasium.Write(w, m) })
	case ".drn":
		return file(create, name, func(w io.Writer) error {
			_, how, _ := strings.Cut(strings.ToLower(path.Base(name)), ".drn.")
			z, err := source.Pack(w, how)
			if err == nil {
				err = drn.Write(z, m)
			}
			if err == nil {
				err = z.Close()
			}
			return err
		})
	}
	return fmt.Errorf("unknown kind of file %s: want a name that ends in %s", name, Endings)
}

func file(create Create, name string, write func(w io.Writer) error) error {
	f, err := create(name)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		return err
	}
	return f.Close()
}
