package problem

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exchange/numpy"
)

// ReadPolicy reads a policy for a process from a file, CSV, JSON or .npz by the ending of its name, and
// checks all of it. Rows without a step hold at every step that has no rows of its own for the
// state. Every state that the policy reaches needs rows; where it comes in a simulator is not known
// before it is played, see [FilePolicy.Known]. Rows of other states have no effect, also where they
// name an action that a limit with always takes away. A file that draws one of several policies
// at the start is refused, see [ReadMixture]. What is wrong with the file is returned as [Errors].
func ReadPolicy(path string, of *Process) (*FilePolicy, error) {
	all, err := ReadMixture(path, of)
	if err != nil {
		return nil, err
	}
	if len(all) > 1 {
		return nil, Errors{{File: path,
			Message: fmt.Sprintf("the policy draws one of %d components at the start: want one without components",
				len(all))}}
	}
	return all[0].Policy, nil
}

// A DrawnPolicy is a policy that is drawn with the probability Weight at the start, and then
// played for good.
type DrawnPolicy struct {
	Weight float64
	Policy *FilePolicy
}

// ReadMixture is [ReadPolicy] for files which may draw one of several policies at the
// start: it returns them all, in the order in which the file first names them. A file without
// the column component has one policy, of weight 1.
func ReadMixture(path string, of *Process) ([]DrawnPolicy, error) {
	if of == nil {
		return nil, fmt.Errorf("problem: policy %s: no process that it is for", path)
	}
	f := &policyFile{path: path, of: of, states: of.of.stateIndex(), numbers: make(map[int]int)}
	formed := true
	err := scanPolicy(path, f.row, func(line, column int, format string, args ...any) {
		formed = false
		f.errs = append(f.errs, &Error{File: path, Line: line, Column: column, Message: fmt.Sprintf(format, args...)})
	})
	if err != nil {
		return nil, err
	}
	if formed {
		f.checkWeights()
		for _, c := range f.mixture {
			c.Policy.fill()
		}
	}
	if len(f.errs) == 0 && of.Model != nil {
		for _, c := range f.mixture {
			c.Policy.reach()
		}
	}
	if len(f.errs) > 0 {
		slices.SortStableFunc(f.errs, func(x, y *Error) int { return cmp.Compare(order(x), order(y)) })
		return nil, f.errs
	}
	return f.mixture, nil
}

// A policyFile is a file while it is read.
type policyFile struct {
	spelling
	path    string
	of      *Process
	states  stateIndex // of the problem
	errs    Errors
	mixture []DrawnPolicy
	numbers map[int]int // of each component that the file names, its place among them
}

func (f *policyFile) bad(line int, format string, args ...any) {
	f.errs = append(f.errs, &Error{File: f.path, Line: line, Message: fmt.Sprintf(format, args...)})
}

// row hands a row on to its component.
func (f *policyFile) row(r policyLine) {
	number, weight := 0, 1.0
	if text := r.cells[componentCell]; text != "" || r.cells[weightCell] != "" {
		var err error
		number, err = strconv.Atoi(text)
		if err != nil || number < 1 {
			f.bad(r.line, "component %q: want a number from 1", text)
			return
		}
		weight, err = strconv.ParseFloat(r.cells[weightCell], 64)
		if err != nil ||
			!(weight >= 0 && weight <= 1+cmdp.ProbabilityTolerance) {
			f.bad(r.line, "weight %q of component %d: want a number from 0 to 1", r.cells[weightCell], number)
			return
		}
	}
	at, ok := f.numbers[number]
	if !ok {
		at = len(f.mixture)
		f.numbers[number] = at
		f.mixture = append(f.mixture, DrawnPolicy{weight, f.newPolicy(number)})
	}
	_, none := f.numbers[0] // some row has no component
	switch c := f.mixture[at]; {
	case number == 0 && len(f.numbers) > 1 || !ok && number > 0 && none:
		f.bad(r.line, "some rows have a component and others have none")
	case c.Weight != weight:
		f.bad(r.line, "weight %g: component %d has the weight %g in an earlier row", weight, number, c.Weight)
	default:
		c.Policy.row(r)
	}
}

// checkWeights checks that the weights sum to 1. A file without rows is a policy without any.
func (f *policyFile) checkWeights() {
	sum := 0.0
	for _, c := range f.mixture {
		sum += c.Weight
	}
	switch {
	case len(f.mixture) == 0:
		f.mixture = append(f.mixture, DrawnPolicy{1, f.newPolicy(0)})
	case math.Abs(sum-1) > cmdp.ProbabilityTolerance && len(f.errs) == 0:
		f.bad(0, "the weights of the components sum to %.12g: want 1", sum)
	}
}

func (f *policyFile) newPolicy(number int) *FilePolicy {
	out := &FilePolicy{file: f, of: f.of, doubtful: make(map[int32]bool), wrong: make(map[int]bool)}
	if number > 0 {
		out.name = fmt.Sprintf("component %d: ", number)
	}
	out.steps = make([]*stepTable, max(1, f.of.horizon()))
	return out
}

// order puts errors about the whole file behind those of its lines.
func order(e *Error) int {
	if e.Line == 0 {
		return math.MaxInt
	}
	return e.Line
}

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

func missingColumns(has func(i int) bool) []string {
	var out []string
	for i, name := range readColumns {
		if needed := i > 0 && i < componentCell || i >= componentCell && i < memoryCell &&
			has(componentCell+weightCell-i); needed && !has(i) {
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

// PolicyMemory returns what the first row of a policy file with a memory remembers, "" if there is none, or the file
// cannot be read.
func PolicyMemory(path string) (memory string) {
	_ = scanPolicy(path, func(r policyLine) { // what is wrong is said when the file is read
		if memory == "" {
			memory = strings.Clone(r.cells[memoryCell])
		}
	}, func(int, int, string, ...any) {})
	return memory
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
		columns[i], err = archive.Strings(name)
		if err == nil {
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
// may be missing. Columns of variables are left out.
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

func policyPlaces(place *[7]int, header []string, bad complain) bool {
	ok, want := true, strings.Join(policyColumns, ", ")
	for at, name := range header {
		i := slices.Index(readColumns, strings.TrimSpace(name))
		switch {
		case strings.HasPrefix(name, variablePrefix):
			continue // the name of the state says the same
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
			seen[i] = true
			if !value.isNull() {
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
