package problem

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"cmdpsolve/cmdp"
)

// A csvReader reads transitions from a table with the columns state, action,
// next, probability, one for each return, and perhaps step and opponent. Tables
// without quotes are split here, at several times the speed of encoding/csv, which reads
// the others.
type csvReader struct {
	*rowReader
	// The columns of a transition; step and opponent are -1 if not given.
	state, action, next, probability, step, opponent int
	returns                                          []int
	vector                                           []float64
	fields                                           int
	// The record that is being read, its line and, unless quoted reads it, its text.
	record []string
	line   int
	text   string
	last   [][]byte // the texts of vector
	quoted *csv.Reader
	before int // lines before those that quoted reads
}

const csvBlock = 1 << 18

func (r *rowReader) readCSV(f fs.File) error {
	c := &csvReader{rowReader: r, vector: make([]float64, len(r.vector)), last: make([][]byte, len(r.vector))}
	block, rest := make([]byte, csvBlock), 0 // the first rest bytes begin a line
	size, read := sizeOf(f), 0
	for start := true; ; {
		n, err := io.ReadFull(f, block[rest:])
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return err
		}
		data, last := block[:rest+n], err != nil
		if start {
			data, start = bytes.TrimPrefix(data, []byte("\ufeff")), false
		}
		if bytes.IndexByte(data, '"') >= 0 {
			return c.readQuoted(io.MultiReader(bytes.NewReader(data), f))
		}
		end := len(data)
		if !last {
			end = bytes.LastIndexByte(data, '\n') + 1
			if end == 0 {
				block = append(data, make([]byte, len(data))...) // a line longer than the block
				rest = len(data)
				continue
			}
		}
		// A copy of every block would take a tenth of the time. What is kept of the text is copied.
		if !c.lines(unsafe.String(unsafe.SliceData(data), end)) {
			return nil
		}
		read += end
		r.done(read, size)
		switch {
		case r.large != nil:
			return nil
		case last:
			return c.ended()
		}
		rest = copy(block, data[end:])
	}
}

// ended complains of a file without a line.
func (c *csvReader) ended() error {
	if c.fields == 0 {
		c.report(&Error{File: c.file, Message: "the file is empty: want a line that names the columns"})
	}
	return nil
}

// lines reads whole lines without quotes. It reports whether to go on.
func (c *csvReader) lines(text string) bool {
	for text != "" {
		c.text, text, _ = strings.Cut(text, "\n")
		c.line++
		c.text = strings.TrimSuffix(c.text, "\r")
		if c.text == "" {
			continue
		}
		c.record = c.record[:0]
		from := 0
		for at := range len(c.text) {
			if c.text[at] == ',' {
				c.record = append(c.record, trimField(c.text[from:at]))
				from = at + 1
			}
		}
		c.record = append(c.record, trimField(c.text[from:]))
		if !c.read() {
			return false
		}
	}
	return true
}

// trimField drops the white space before a field.
func trimField(text string) string {
	if text != "" && (text[0] <= ' ' || text[0] >= utf8.RuneSelf) {
		return strings.TrimLeftFunc(text, unicode.IsSpace)
	}
	return text
}

// readQuoted reads the rest of the table.
func (c *csvReader) readQuoted(in io.Reader) error {
	c.quoted, c.before = csv.NewReader(in), c.line
	c.quoted.ReuseRecord, c.quoted.TrimLeadingSpace, c.quoted.FieldsPerRecord = true, true, -1
	for {
		record, err := c.quoted.Read()
		var pe *csv.ParseError
		switch {
		case err == io.EOF:
			return c.ended()
		case errors.As(err, &pe):
			c.report(&Error{File: c.file, Line: c.before + pe.Line, Column: pe.Column, Message: pe.Err.Error()})
			if c.fields == 0 {
				return nil
			}
			continue
		case err != nil:
			return err
		}
		line, _ := c.quoted.FieldPos(0)
		c.record, c.line = record, c.before+line
		if !c.read() {
			return nil
		}
	}
}

// read reads the record, the first as the names of the columns. It reports whether to go on.
func (c *csvReader) read() bool {
	switch {
	case c.fields == 0 && inUTF16(c.record[0]):
		return c.at(0, "", saveAsUTF8)
	case c.fields == 0:
		c.fields = len(c.record)
		return c.readColumns()
	case len(c.record) != c.fields:
		c.report(&Error{File: c.file, Line: c.line, Column: 1, Message: fmt.Sprintf(
			"got %d fields: want %d, one for each column that the first line names", len(c.record), c.fields)})
	default:
		c.transition()
	}
	return true
}

// at records an error in a field of the current record.
func (c *csvReader) at(field int, column, message string) bool {
	return c.again(mistake{}, field, column, message)
}

// again is at for a mistake that other places may have too.
func (c *csvReader) again(of mistake, field int, column, message string) bool {
	of.name = strings.Clone(of.name)
	e := &Error{File: c.file, Line: c.line, Key: strings.Clone(column), Message: message, of: of}
	if c.quoted != nil {
		e.Line, e.Column = c.quoted.FieldPos(field)
		e.Line += c.before
	} else {
		rest := c.text
		for range field {
			_, rest, _ = strings.Cut(rest, ",")
		}
		e.Column = len(c.text) - len(trimField(rest)) + 1
	}
	c.report(e)
	return false
}

func (c *csvReader) readColumns() bool {
	required := []string{"state", "action", "next", "probability"}
	own := append(slices.Clone(required), "step", "opponent")
	known := append(slices.Clone(own), c.given...)
	wanted, places := numbered(known), make(map[string]int, len(c.record))
	place := func(name string) int {
		i, ok := places[name]
		if !ok {
			return -1
		}
		return i
	}
	ok, before := true, len(c.errs)
	for i, name := range c.record {
		if len(c.errs)-before > shownErrors {
			break // where a column stands takes a look at all before it
		}
		_, meant := wanted[name]
		_, twice := places[name]
		switch {
		case twice:
			ok = c.at(i, name, "the column is given twice")
		case !meant && c.spec.Dim > 0:
			ok = c.at(i, name, "unknown column"+c.orWant(name, known))
		}
		if !twice {
			places[name] = i
		}
	}
	for _, name := range append(required, c.given...) {
		if len(c.errs)-before > 2*shownErrors {
			break
		}
		if place(name) < 0 && !slices.Contains(c.record, name) {
			ok = c.at(0, name, "the column is missing")
		}
	}
	for _, name := range c.given {
		if slices.Contains(own, name) {
			ok = c.at(0, name, "the return has the name of another column: want another name for it")
		}
		c.returns = append(c.returns, place(name))
	}
	c.state, c.action, c.next, c.probability = place("state"), place("action"), place("next"), place("probability")
	c.step, c.opponent = place("step"), place("opponent")
	if c.opponent >= 0 {
		c.game = true
	}
	return ok
}

// transition reads the record as a transition.
func (c *csvReader) transition() {
	before := c.faults
	step, opponent := cmdp.EveryStep, 0
	state, action := c.readState(c.state, "state"), c.readAction(c.action, "action", &c.rowReader.agent)
	if c.opponent >= 0 && c.record[c.opponent] != "" {
		opponent = c.readAction(c.opponent, "opponent", &c.rowReader.opponent)
	}
	if c.step >= 0 && c.record[c.step] != "" {
		n, err := strconv.Atoi(c.record[c.step])
		switch {
		case c.spec.Horizon > 0 && (err != nil || n < 1 || n > c.spec.Horizon):
			c.again(mistake{"horizon", c.record[c.step]}, c.step, "step",
				"got "+shorten(c.record[c.step])+": want 1 to "+strconv.Itoa(c.spec.Horizon)+
					", or nothing for every step")
		case c.spec.Discount > 0 || c.spec.Average:
			c.again(mistake{"horizon", ""}, c.step, "step", "given without a horizon: the row must hold at every step")
		}
		step = n
	}
	t := cmdp.Transition{Next: c.readState(c.next, "next"), Probability: c.readNumber(c.probability, "probability"),
		Returns: c.vector}
	if p := t.Probability; !(p >= 0 && p <= 1+cmdp.ProbabilityTolerance) {
		c.at(c.probability, "probability", "got "+c.record[c.probability]+": want a probability, 0 to 1")
	}
	for j, i := range c.returns {
		// Mostly a row has the same returns in all its lines.
		if c.record[i] != string(c.last[j]) || len(c.last[j]) == 0 {
			before := c.faults
			c.vector[j] = c.readNumber(i, c.given[j])
			if c.faults == before {
				c.last[j] = append(c.last[j][:0], c.record[i]...)
			}
		}
	}
	if c.faults > before || !c.usable() {
		return
	}
	if err := c.builder.AddTransition(step, state, action, opponent, t); err != nil {
		c.at(0, "", err.Error())
	}
	if c.builder.Rows() > len(c.places) {
		c.places = append(c.places, place{int32(c.line), 0})
	}
}

func (c *csvReader) readState(i int, column string) int {
	s, ok := stateNamed(c.record[i], c.names, c.states)
	if !ok && c.states > 0 {
		c.again(mistake{"states", c.record[i]}, i, column, c.unknownState(c.record[i]))
	}
	return s
}

func (c *csvReader) readAction(i int, column string, of *labels) int {
	text := c.record[i]
	if n, ok := labelNumber(text); ok {
		return of.numbered(n)
	}
	if isInteger(text) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			c.at(i, column, "got "+shorten(text)+": want a whole number from 0 on, or a name")
			return 0
		}
		return of.numbered(n)
	}
	if id, ok := of.ids[text]; ok {
		return id
	}
	if complaint := checkName(text); complaint != "" {
		c.at(i, column, complaint)
		return 0
	}
	return of.id(text)
}

func (c *csvReader) readNumber(i int, column string) float64 {
	x, complaint := parseNumber(c.record[i])
	if complaint == wantNumber {
		x, complaint = c.constants.evaluate(c.record[i])
	}
	if complaint != "" && complaint != unknownValue {
		c.again(mistake{"let", c.record[i]}, i, column, "got "+shorten(strconv.Quote(c.record[i]))+": "+complaint)
	}
	return x
}
