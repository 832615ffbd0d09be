package problem

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"cmdpsolve/cmdp/exchange/formats"
)

// languageKeys are those of transitions that models in a language alone have.
var languageKeys = []string{"constants", "rest", "entering", "agent"}

// readFile reads the rows of the file that n names. Meanwhile r.file is its name, for
// errors.
func (r *rowReader) readFile(n *node, at *path, files fs.FS) {
	if !r.mapping(n, at, append([]string{"file"}, languageKeys...)) {
		return
	}
	m := n.get("file")
	if m == nil {
		r.bad(n, at, "file is missing: want {file: NAME}")
		return
	}
	name, ok := r.name(m, at.key("file"))
	if !ok {
		return
	}
	if r.imported != nil {
		r.rows = r.imported.file
		if len(r.errs) == 0 && r.usable() {
			if err := r.addImported(); err != nil {
				r.report(&Error{File: r.rows, Message: err.Error()})
			}
		}
		return
	}
	for _, key := range languageKeys {
		if c := n.get(key); c != nil {
			r.bad(c, at.key(key), "%s is no model in a language, which alone has %s", name, key)
			return
		}
	}
	var read func(f fs.File) error
	switch strings.ToLower(filepath.Ext(name)) {
	case ".csv":
		read = r.readCSV
	case ".jsonl", ".ndjson":
		read = r.readJSONLines
	case ".npz":
		read = r.readNPZ
	default:
		r.bad(m, at.key("file"),
			"unknown kind of file %s: want a name that ends in .csv, .jsonl, .ndjson or .npz, or a model of another "+
				"tool, %s", name, formats.Endings)
		return
	}
	if files == nil {
		r.bad(m, at.key("file"), "there is no folder to look for %s in", name)
		return
	}
	f, err := files.Open(name)
	if err != nil {
		r.bad(m, at.key("file"), "%v", reason(err))
		return
	}
	defer f.Close()
	main := r.file
	r.rows = beside(main, name)
	r.file = r.rows
	before := len(r.errs)
	err = read(f)
	if err == nil && len(r.errs) == before && r.large == nil && r.builder.Rows() == 0 && r.usable() {
		r.report(&Error{File: r.file, Message: "the file has no transitions: want at least one"})
	}
	r.file = main
	if err != nil {
		r.bad(m, at.key("file"), "%v", reason(err))
	}
}

// reason drops the name of the system call and the folder from an error of the
// file system.
func reason(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return errors.New("cannot " + pe.Op + " the file: " + pe.Err.Error())
	}
	return err
}

// readJSONLines reads one row on each line, as a JSON object.
func (r *rowReader) readJSONLines(f fs.File) error {
	in, reader := bufio.NewReaderSize(f, 1<<20), newFlowReader("", 0, true)
	size, read := sizeOf(f), 0
	for line, index := 1, 0; ; line++ {
		data, err := in.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return err
		}
		text := strings.TrimRight(string(data), "\r\n")
		if line == 1 {
			text = strings.TrimPrefix(text, "\ufeff")
		}
		if strings.TrimSpace(text) != "" {
			r.jsonLine(reader, text, line, index)
			index++
		}
		read += len(data)
		r.done(read, size)
		if err == io.EOF || r.large != nil {
			return nil
		}
	}
}

// sizeOf returns the length of a file, or 0 if it does not tell.
func sizeOf(f fs.File) int {
	if info, err := f.Stat(); err == nil {
		return int(info.Size())
	}
	return 0
}

func (r *rowReader) jsonLine(f *flowReader, text string, line, index int) {
	if !utf8.ValidString(text) {
		r.syntax(&syntaxError{line, 0, "not text in UTF-8"})
		return
	}
	f.reset(text, line)
	n := f.value(0)
	f.space()
	if n == nil || f.at < len(text) {
		r.syntax(notJSON(text, line))
		return
	}
	here := path{index: index}
	r.row(n, &here)
}
