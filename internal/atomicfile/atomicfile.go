// Package atomicfile writes files that are whole: the new one, or what was there before. A temporary
// file stands beside the target until it takes its place. What has no place to take, such as a pipe or a
// device, is written to directly.
package atomicfile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// A File is being written. Nobody sees it under its name before [File.Commit]. Its methods may be called
// concurrently.
type File struct {
	mu     sync.Mutex
	out    *os.File
	target string
	// direct says that out is the target itself.
	direct bool
	done   bool
}

var errDone = errors.New("the file was given up or is complete")

// Create begins to write a file in the place of path, which may exist. A symbolic link stays, and what it
// points to is replaced. A file that is replaced keeps its permissions; a new one gets the usual ones, or
// in a folder that only its owner can enter those for the owner alone. A file that must not be written to
// is not replaced either. A pipe, a device, and what the process has open under a name of its own, such as
// /dev/stdout, are written to directly. Temporary files that a killed process left of the same target are
// removed.
func Create(path string) (*File, error) {
	t, err := Find(path)
	if err != nil {
		return nil, err
	}
	if t.direct {
		out, err := t.open(path)
		if err != nil {
			return nil, err
		}
		return &File{out: out, direct: true}, nil
	}
	making.Lock()
	defer making.Unlock()
	out, err := t.temporary()
	if err != nil {
		return nil, err
	}
	f := &File{out: out, target: t.path}
	pending.Store(f, nil)
	return f, nil
}

// Write writes to the file.
func (f *File) Write(p []byte) (int, error) { return f.out.Write(p) }

// Commit ends the file, waits until the disk has it, and puts it in its place. After an error the target is
// as it was before.
func (f *File) Commit() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done {
		return errDone
	}
	if f.direct {
		f.done = true
		return f.closeDirect()
	}
	err := f.out.Sync()
	if err == nil {
		err = replace(f.out, f.target)
	}
	if err != nil {
		f.remove()
		return err
	}
	f.done = true
	pending.Delete(f)
	return nil
}

// Discard gives the file up, and leaves the target as it was. It does nothing after Commit.
func (f *File) Discard() {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.done:
	case f.direct:
		f.done = true
		_ = f.closeDirect()
	default:
		f.remove()
	}
}

func (f *File) remove() {
	f.done = true
	pending.Delete(f)
	discard(f.out)
}

// closeDirect closes the file unless it is a standard stream, to which others write too.
func (f *File) closeDirect() error {
	if f.out == os.Stdout || f.out == os.Stderr {
		return nil
	}
	return f.out.Close()
}

// pending are the files of the process that were neither committed nor discarded.
var pending sync.Map

// making is held while a file is made that is not yet pending, or a probe that never is, so that DiscardAll misses
// none.
var making sync.Mutex

// DiscardAll discards all files of the process that are not complete. A command that ends while others
// still write calls it.
func DiscardAll() {
	making.Lock()
	defer making.Unlock()
	pending.Range(func(f, _ any) bool {
		f.(*File).Discard()
		return true
	})
}

// WriteFile writes data to a file, as Create and Commit do.
func WriteFile(path string, data []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Commit()
}

// Check returns an error if Create would, and changes nothing.
func Check(path string) error {
	t, err := Find(path)
	if err != nil || t.direct {
		return err
	}
	making.Lock()
	defer making.Unlock()
	probe, err := t.temporary()
	if err != nil {
		return err
	}
	discard(probe)
	return nil
}

// A Target is a file that a path names, or the place where one would be made.
type Target struct {
	path   string // without symbolic links
	info   fs.FileInfo
	folder fs.FileInfo
	direct bool
}

// Open is the target that an open file is.
func Open(f *os.File) (Target, error) {
	info, err := f.Stat()
	if err != nil {
		return Target{}, err
	}
	return Target{path: f.Name(), info: info, direct: !info.Mode().IsRegular()}, nil
}

// Path is the path of the target without symbolic links.
func (t Target) Path() string { return t.path }

// Same reports whether what is written to one target is written to the other: they are the same file, also by
// links, or would be. Pipes and devices are shared, and the same as nothing.
func (t Target) Same(u Target) bool {
	switch {
	case t.direct || u.direct:
		return false
	case t.info != nil && u.info != nil:
		return os.SameFile(t.info, u.info)
	case t.info != nil || u.info != nil || t.folder == nil || u.folder == nil:
		return false
	}
	return os.SameFile(t.folder, u.folder) && sameName(filepath.Base(t.path), filepath.Base(u.path))
}

// Beside reports whether u is a temporary file or a lock of the target, by its name: writing the target removes it.
func (t Target) Beside(u Target) bool {
	if t.direct || u.info == nil {
		return false
	}
	folder, name := filepath.Split(t.path)
	of, beside := filepath.Split(u.path)
	rest, begins := strings.CutPrefix(beside, temporaryPrefix(name))
	if !begins || rest != lockSuffix && !isTemporary(rest) {
		return false
	}
	one, err := os.Stat(cmp.Or(folder, "."))
	other, otherErr := os.Stat(cmp.Or(of, "."))
	return err == nil && otherErr == nil && os.SameFile(one, other)
}

// sameName compares the names of files that do not exist.
func sameName(a, b string) bool {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return strings.EqualFold(a, b)
	}
	return a == b
}

// Find follows the symbolic links of a path to its target. A folder is an error.
func Find(path string) (Target, error) {
	at := path
	for range 40 { // as many links as Linux follows
		if own(at) {
			_, err := os.Stat(path)
			return Target{path: path, direct: true}, err
		}
		info, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			folder, err := os.Stat(filepath.Dir(at))
			return Target{path: at, folder: folder}, err
		case err != nil:
			return Target{}, err
		case info.IsDir():
			return Target{}, &fs.PathError{Op: "write", Path: path, Err: errors.New("this is a folder")}
		case info.Mode().IsRegular():
			return Target{path: at, info: info}, nil
		case info.Mode()&fs.ModeSymlink == 0:
			return Target{path: at, info: info, direct: true}, nil
		}
		link, err := os.Readlink(at)
		if err != nil {
			return Target{}, err
		}
		if !filepath.IsAbs(link) {
			folder, err := filepath.EvalSymlinks(filepath.Dir(at))
			if err != nil {
				return Target{}, err
			}
			link = filepath.Join(folder, link)
		}
		at = link
	}
	return Target{}, &fs.PathError{Op: "write", Path: path, Err: errors.New("too many symbolic links")}
}

// own reports whether a path names what a process has open. A file that would be put in its place is not
// what the process has open.
func own(path string) bool {
	path = filepath.ToSlash(path)
	return strings.HasPrefix(path, "/proc/") || strings.HasPrefix(path, "/dev/fd/")
}

// writable returns an error if a file that exists must not be written to.
func writable(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// open opens what is written to directly. A standard stream is that of the process, so that what others
// write to it comes behind.
func (t Target) open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	for _, stream := range []*os.File{os.Stdout, os.Stderr} {
		if open, err := stream.Stat(); err == nil && os.SameFile(info, open) {
			return stream, nil
		}
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
}

// temporary makes a file beside the target, with the permissions that the target will have, and locks it.
func (t Target) temporary() (*os.File, error) {
	folder, name := filepath.Split(t.path)
	folder = cmp.Or(folder, ".")
	mode := fs.FileMode(0o666)
	if t.info != nil {
		err := writable(t.path)
		if err != nil {
			return nil, err
		}
	}
	info, err := os.Stat(folder)
	switch {
	case err != nil:
		return nil, err
	case t.info != nil, info.Mode().Perm()&0o077 == 0:
		mode = 0o600
	}
	prefix := temporaryPrefix(name)
	sweep(folder, prefix)
	for range 1000 {
		f, err := os.OpenFile(filepath.Join(folder, prefix+fmt.Sprint(rand.Uint64())+temporarySuffix),
			os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !hold(f) {
			discard(f)
			continue
		}
		if t.info != nil {
			err = os.Chmod(f.Name(), t.info.Mode().Perm())
		}
		if err != nil {
			discard(f)
			return nil, err
		}
		return f, nil
	}
	return nil, &fs.PathError{Op: "write", Path: t.path, Err: errors.New("no name is free for a temporary file")}
}

const temporarySuffix = ".tmp"

// temporaryPrefix is how the names of temporary files of a target begin. Names are cut where a file system
// would not take longer ones.
func temporaryPrefix(name string) string {
	const longest = 200
	if len(name) > longest {
		name = name[:longest]
	}
	return "." + name + "."
}

// isTemporary reports whether the name of a temporary file may go on like this after the prefix.
func isTemporary(rest string) bool {
	number, ends := strings.CutSuffix(rest, temporarySuffix)
	return ends && number != "" && strings.Trim(number, "0123456789") == ""
}

// sweep removes the temporary files of a target that no process is writing.
func sweep(folder, prefix string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return // it may be a folder that lets files be made and not be listed
	}
	for _, e := range entries {
		rest, begins := strings.CutPrefix(e.Name(), prefix)
		if !begins || !isTemporary(rest) || !e.Type().IsRegular() {
			continue
		}
		f, err := os.OpenFile(filepath.Join(folder, e.Name()), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if tryLock(f) != nil || !named(f) {
			f.Close()
			continue
		}
		discard(f)
	}
}

// hold locks a new file, and reports whether nobody has taken it for a left one. Where there are no locks,
// nobody sweeps.
func hold(f *os.File) bool {
	err := tryLock(f)
	return !errors.Is(err, ErrLocked) && named(f)
}

// named reports whether an open file is what its name says.
func named(f *os.File) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(open, now)
}
