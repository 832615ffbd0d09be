package problem

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"unicode/utf8"

	"cmdpsolve/cmdp"
)

// A csvReader reads transitions from a table with the columns state, action,
// next, probability, one for each return, and perhaps step and opponent.
type csvReader struct {
	*rowReader
	in      *csv.Reader
	columns map[string]int
	returns []int // the column of each return
	vector  []float64
}

func (r *rowReader) readCSV(f fs.File) error {
	in := csv.NewReader(&skipMark{in: f})
	in.ReuseRecord = true
	in.TrimLeadingSpace = true
	c := &csvReader{rowReader: r, in: in, vector: make([]float64, r.spec.Dim)}
	record, err := in.Read()
	if err == io.EOF {
		r.report(&Error{File: r.file, Message: "the file is empty: want a line that names the columns"})
		return nil
	}
	if err != nil {
		return c.broken(err)
	}
	if !c.readColumns(record) {
		return nil
	}
	for {
		record, err := in.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			if err := c.broken(err); err != nil {
				return err
			}
			continue
		}
		c.line(record)
	}
	return nil
}

// skipMark drops a byte order mark.
type skipMark struct {
	in    io.Reader
	begun bool
}

func (s *skipMark) Read(b []byte) (int, error) {
	if s.begun || len(b) < 3 {
		return s.in.Read(b)
	}
	s.begun = true
	n, err := io.ReadAtLeast(s.in, b, 3)
	if err == io.ErrUnexpectedEOF {
		err = nil
	}
	if bytes.HasPrefix(b[:n], []byte("\ufeff")) {
		n = copy(b, b[3:n])
	}
	return n, err
}

// broken records an error of the form of the table; other errors are returned.
func (c *csvReader) broken(err error) error {
	var pe *csv.ParseError
	if !errors.As(err, &pe) {
		return err
	}
	message := pe.Err.Error()
	if pe.Err == csv.ErrFieldCount {
		message = "another number of fields than the first line has"
	}
	c.report(&Error{File: c.file, Line: pe.Line, Column: pe.Column, Message: message})
	return nil
}

// at records an error in a field of the current line.
func (c *csvReader) at(field int, column, message string) bool {
	line, col := c.in.FieldPos(field)
	c.report(&Error{File: c.file, Line: line, Column: col, Key: column, Message: message})
	return false
}

func (c *csvReader) readColumns(record []string) bool {
	required := []string{"state", "action", "next", "probability"}
	known := append(append(slices.Clone(required), "step", "opponent"), c.p.Returns...)
	ok := true
	c.columns = make(map[string]int, len(record))
	for i, name := range record {
		if _, twice := c.columns[name]; twice {
			ok = c.at(i, name, "the column is given twice")
		}
		if !slices.Contains(known, name) && c.spec.Dim > 0 {
			ok = c.at(i, name, "unknown column"+orColon(nearest(name, known))+" want "+oneOf(known))
		}
		c.columns[name] = i
	}
	for _, name := range append(required, c.p.Returns...) {
		if _, given := c.columns[name]; !given {
			ok = c.at(0, name, "the column is missing")
		}
	}
	for _, name := range c.p.Returns {
		if slices.Contains(known[:len(required)+2], name) {
			ok = c.at(0, name, "the return has the name of another column: want another name for it")
		}
		c.returns = append(c.returns, c.columns[name])
	}
	return ok
}

func (c *csvReader) line(record []string) {
	before := len(c.errs)
	step, opponent := cmdp.EveryStep, 0
	state, action := c.state(record, "state"), c.action(record, "action", &c.agent)
	if i, ok := c.columns["opponent"]; ok {
		c.game = true
		if record[i] != "" {
			opponent = c.action(record, "opponent", &c.opponent)
		}
	}
	if i, ok := c.columns["step"]; ok && record[i] != "" {
		n, err := strconv.Atoi(record[i])
		switch {
		case c.spec.Horizon > 0 && (err != nil || n < 1 || n > c.spec.Horizon):
			c.at(i, "step", "got "+shorten(record[i])+": want 1 to "+strconv.Itoa(c.spec.Horizon)+", or nothing for every step")
		case c.spec.Discount > 0:
			c.at(i, "step", "given without a horizon: the row must hold at every step")
		}
		step = n - 1
	}
	t := cmdp.Transition{Next: c.state(record, "next"), Probability: c.number(record, c.columns["probability"], "probability"), Returns: c.vector}
	if p := t.Probability; !(p >= 0 && p <= 1+cmdp.ProbabilityTolerance) {
		c.at(c.columns["probability"], "probability", "got "+record[c.columns["probability"]]+": want a probability, 0 to 1")
	}
	for j, i := range c.returns {
		c.vector[j] = c.number(record, i, c.p.Returns[j])
	}
	if len(c.errs) > before || !c.usable() {
		return
	}
	err := c.builder.AddTransition(step, state, action, opponent, t)
	line, _ := c.in.FieldPos(0)
	if err != nil {
		c.at(0, "", err.Error())
	}
	if c.builder.Rows() > len(c.places) {
		c.places = append(c.places, place{int32(line), 0})
	}
}

func (c *csvReader) state(record []string, column string) int {
	i := c.columns[column]
	s, ok := c.stateNamed(record[i])
	if !ok && c.states > 0 {
		c.at(i, column, c.unknownState(record[i]))
	}
	return s
}

func (c *csvReader) action(record []string, column string, of *labels) int {
	i := c.columns[column]
	text := record[i]
	if isInteger(text) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			c.at(i, column, "got "+shorten(text)+": want a whole number from 0 on, or a name")
			return 0
		}
		return of.numbered(n)
	}
	complaint := checkName(text)
	if !utf8.ValidString(text) {
		complaint = "not text in UTF-8"
	}
	if complaint != "" {
		c.at(i, column, complaint)
		return 0
	}
	if id, ok := of.ids[text]; ok {
		return id
	}
	return of.id(string(append([]byte(nil), text...))) // the record is reused
}

func (c *csvReader) number(record []string, i int, column string) float64 {
	x, complaint := parseNumber(record[i])
	if complaint != "" {
		c.at(i, column, "got "+shorten(strconv.Quote(record[i]))+": "+complaint)
	}
	return x
}
