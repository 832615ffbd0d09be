package problem

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"

	"cmdpsolve/cmdp/exchange/numpy"
)

// complain takes what is wrong at a place of a file. A column 0 is not known.
type complain func(line, column int, format string, args ...any)

// A policyLine is a row of a policy file as it stands there.
type policyLine struct {
	line  int
	cells [7]string // in the order of readColumns; an empty step is every step
}

// readColumns are the columns that a policy file may have. Those of a component stand
// together or not at all; step and memory may be missing.
var readColumns = append(slices.Concat(policyColumns, componentColumns), memoryColumn)

const stepCell, componentCell, weightCell, memoryCell = 0, 4, 5, 6

// missingColumns returns the columns that are missing.
func missingColumns(has func(i int) bool) []string {
	var out []string
	for i, name := range readColumns {
		if needed := i > 0 && i < componentCell || i >= componentCell && i < memoryCell && has(componentCell+weightCell-i); needed && !has(i) {
			out = append(out, name)
		}
	}
	return out
}

// scanPolicy calls each with the rows of a policy file, without judging what is in
// them. What is wrong with the form goes to bad.
func scanPolicy(path string, each func(policyLine), bad complain) error {
	format, err := PolicyFormat(path, false)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if format != "npz" {
		data = bytes.TrimPrefix(data, []byte("\ufeff"))
	}
	switch format {
	case "json":
		scanJSON(string(data), each, bad)
	case "csv":
		scanCSV(data, each, bad)
	default:
		if err := scanNPZ(data, each); err != nil {
			bad(0, 0, "%s", trimmed(err, "numpy: "))
		}
	}
	return nil
}

// scanNPZ reads an array for each column. Entries count from 1, like lines, and step 0 is every
// step.
func scanNPZ(data []byte, each func(policyLine)) error {
	archive, err := numpy.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	var columns [7][]string
	for _, name := range archive.Names() {
		i := slices.Index(readColumns, name)
		if i < 0 {
			return fmt.Errorf("unknown array %q: want %s", name, strings.Join(policyColumns, ", "))
		}
		if columns[i], err = archive.Strings(name); err == nil {
			continue
		}
		_, values, err := archive.Floats(name)
		if err != nil {
			return err
		}
		columns[i] = make([]string, len(values))
		for j, x := range values {
			if x != 0 || i != stepCell {
				columns[i][j] = string(appendNumber(nil, x))
			}
		}
	}
	if names := missingColumns(func(i int) bool { return columns[i] != nil }); names != nil {
		return fmt.Errorf("no array %s: want %s", names[0], strings.Join(policyColumns, ", "))
	}
	for _, column := range columns {
		if column != nil && len(column) != len(columns[1]) {
			return fmt.Errorf("arrays of %d and of %d entries: want as many in each", len(columns[1]), len(column))
		}
	}
	for i := range columns[1] {
		row := policyLine{line: i + 1}
		for j, column := range columns {
			if column != nil {
				row.cells[j] = column[i]
			}
		}
		each(row)
	}
	return nil
}

// scanCSV reads a table whose first line names the columns, in any order; step
// may be missing.
func scanCSV(data []byte, each func(policyLine), bad complain) {
	place, empty := [7]int{-1, -1, -1, -1, -1, -1, -1}, true
	err := scanTable(bytes.NewReader(data), func(_ int, names []string) bool {
		empty = false
		return policyPlaces(&place, names, bad)
	}, func(line int, record []string) {
		row := policyLine{line: line}
		for i, at := range place {
			if at >= 0 {
				row.cells[i] = record[at]
			}
		}
		each(row)
	}, func(line, column int, format string, args ...any) {
		empty = false
		bad(line, column, format, args...)
	})
	switch {
	case err != nil:
		bad(0, 0, "%v", err)
	case empty:
		bad(1, 0, "the file is empty: want a line that names the columns %s", strings.Join(policyColumns, ", "))
	}
}

// policyPlaces finds the columns.
func policyPlaces(place *[7]int, header []string, bad complain) bool {
	ok, want := true, strings.Join(policyColumns, ", ")
	for at, name := range header {
		i := slices.Index(readColumns, strings.TrimSpace(name))
		switch {
		case i < 0:
			bad(1, 0, "unknown column %q: want %s", name, want)
		case place[i] >= 0:
			bad(1, 0, "column %s is given twice", name)
		default:
			place[i] = at
			continue
		}
		ok = false
	}
	for _, name := range missingColumns(func(i int) bool { return place[i] >= 0 }) {
		bad(1, 0, "no column %s: want %s", name, want)
		ok = false
	}
	return ok
}

// scanJSON reads a list of objects.
func scanJSON(text string, each func(policyLine), bad complain) {
	root, wrong := parseJSON(text, 1)
	keys := strings.Join(policyColumns, ", ")
	switch {
	case wrong != nil:
		bad(wrong.line, wrong.col, "%s", wrong.message)
		return
	case root.kind != listNode:
		bad(root.line, 0, "want a list of objects with the keys %s", keys)
		return
	}
	for _, n := range root.items {
		row, seen, whole := policyLine{line: n.line}, [7]bool{}, true
		if n.kind != mapNode {
			bad(n.line, 0, "want an object with the keys %s", keys)
			continue
		}
		for _, m := range n.members {
			key, value := m.key.text, m.value
			i := slices.Index(readColumns, key)
			switch {
			case value.kind != scalarNode:
				bad(m.key.line, 0, "%s is a list or an object: want a number or a name", key)
				whole = false
				continue
			case i < 0:
				bad(m.key.line, 0, "unknown key %q: want %s", key, keys)
				continue
			case seen[i]:
				bad(m.key.line, 0, "%s is given twice", key)
			case value.isNull() && i > 0:
				bad(m.key.line, 0, "%s is null", key)
			}
			if seen[i] = true; !value.isNull() {
				row.cells[i] = value.text
			}
		}
		for _, name := range missingColumns(func(i int) bool { return seen[i] }) {
			bad(n.line, 0, "%s is missing", name)
			whole = false
		}
		if whole {
			each(row)
		}
	}
}
