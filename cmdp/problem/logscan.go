package problem

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func (r *logReader) scan() error {
	f, err := os.Open(r.path)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	defer f.Close()
	in := bufio.NewReader(f)
	if mark, err := in.Peek(3); err == nil && bytes.Equal(mark, []byte("\ufeff")) {
		_, _ = in.Discard(3)
	}
	switch ending := strings.ToLower(filepath.Ext(r.path)); ending {
	case ".csv":
		return r.scanCSV(in)
	case ".jsonl", ".ndjson":
		return r.scanLines(in)
	}
	return fmt.Errorf("log %s: unknown kind of file: want a name that ends in .csv, .jsonl or .ndjson", r.path)
}

// scanCSV reads a table whose first line names the columns.
func (r *logReader) scanCSV(in io.Reader) error {
	var header []string
	cells := make(map[string]string)
	return scanTable(in, func(line int, names []string) bool {
		r.line, header = line, slices.Clone(names)
		return r.columns(header)
	}, func(line int, record []string) {
		for i, name := range header {
			cells[name] = record[i]
		}
		r.row(line, cells)
	}, func(line, _ int, format string, args ...any) {
		r.line = line
		r.bad(format, args...)
	})
}

// scanTable reads CSV: the first line, which names the columns, goes to header, which reports
// whether to go on, and the others to row. What is wrong with the form goes to bad.
func scanTable(in io.Reader, header func(line int, names []string) bool, row func(line int, record []string),
	bad complain) error {
	table := csv.NewReader(in)
	table.ReuseRecord, table.TrimLeadingSpace = true, true
	for begun := false; ; {
		record, err := table.Read()
		line := 1
		if len(record) > 0 {
			line, _ = table.FieldPos(0)
		}
		var form *csv.ParseError
		switch {
		case err == io.EOF:
			return nil
		case errors.Is(err, csv.ErrFieldCount):
			bad(line, 0, "%d fields: want %d as the first line has", len(record), table.FieldsPerRecord)
		case errors.As(err, &form):
			bad(form.Line, form.Column, "%v", form.Err)
			return nil
		case err != nil:
			return err
		case begun:
			row(line, record)
		case inUTF16(record[0]):
			bad(line, 0, saveAsUTF8)
			return nil
		default:
			begun = true
			if !header(line, record) {
				return nil
			}
		}
	}
}

// columns judges the names of the columns, which tell episodes from counts.
func (r *logReader) columns(header []string) bool {
	before, first := len(r.errs), !r.known
	need, known := episodeColumns, slices.Concat(episodeColumns, r.of.Returns)
	counted := slices.Contains(header, "count") && !slices.Contains(r.of.Returns, "count")
	switch {
	case !first && counted != r.counted:
		r.bad("episodes and counts in one file: want one or the other")
		return false
	case counted && r.opts.Returns:
		r.bad("counts tell nothing of returns, which are to be learned: want episodes, with the columns %s",
			strings.Join(known, ", "))
		return false
	case counted:
		need, known = countColumns, append(slices.Clone(countColumns), "step")
		if !r.counts.Pooled() && r.shape.Horizon() > 1 {
			need = known // counts without steps can only be pooled
		}
	case r.opts.Returns:
		need = known
	}
	r.known, r.counted = true, counted
	inKnown, inHeader := finder(known), finder(header)
	for i, name := range header {
		switch {
		case inKnown(name) < 0:
			r.bad("unknown column %q%s", shorten(name), r.orWant(name, known))
		case inHeader(name) < i:
			r.bad("the column %s is given twice", name)
		}
	}
	for _, name := range need {
		switch {
		case inHeader(name) >= 0:
		case counted && name == "step":
			r.bad("the column step is missing: want %s, or --pool, which takes the counts for all steps alike",
				strings.Join(need, ", "))
		default:
			r.bad("the column %s is missing: want %s", name, strings.Join(need, ", "))
		}
	}
	return len(r.errs) == before
}

// scanLines reads an object from each line.
func (r *logReader) scanLines(in *bufio.Reader) error {
	for line := 1; ; line++ {
		text, err := in.ReadString('\n')
		if err != nil && err != io.EOF {
			return err
		}
		if strings.TrimSpace(text) != "" {
			r.line = line
			if !r.object(text) {
				return nil
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

// object reads a row. It reports whether to go on.
func (r *logReader) object(text string) bool {
	n, wrong := parseJSON(text, r.line)
	switch {
	case wrong != nil:
		r.bad("%s", wrong.message)
		return true
	case n.kind != mapNode:
		r.bad("got %s: want an object", n.describe())
		return true
	}
	cells, before := make(map[string]string), len(r.errs)
	var names []string
	add := func(name string, value *node) {
		if value.kind != scalarNode || value.isNull() {
			r.bad("%s is %s: want a number or a name", name, value.describe())
			return
		}
		names, cells[name] = append(names, name), value.text
	}
	for _, m := range n.members {
		if m.key.text != "returns" {
			add(m.key.text, m.value)
			continue
		}
		switch m.value.kind {
		case mapNode:
			for _, x := range m.value.members {
				add(x.key.text, x.value)
			}
		case listNode:
			if len(m.value.items) != len(r.of.Returns) {
				r.bad("%d returns: want %d", len(m.value.items), len(r.of.Returns))
				break
			}
			for i, x := range m.value.items {
				add(r.of.Returns[i], x)
			}
		default:
			r.bad("returns is %s: want a list of numbers, or an object of them", m.value.describe())
		}
	}
	if first := !r.known; !r.columns(names) {
		return !first // else every line would be complained of
	}
	if len(r.errs) == before {
		r.row(r.line, cells)
	}
	return true
}
