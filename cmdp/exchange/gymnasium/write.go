package gymnasium

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"cmdpsolve/cmdp/exchange"
)

// Write writes a model as an object with initial_state_distrib, the names of the
// rewards and the table P. A transition is terminated if the state that
// it leads to has no choices or has the label terminated. The rewards of a state and
// of a choice are added to those of its branches; they are 0 if the model has none.
// Actions are numbers in the order in which their names appear, the same number for
// the same name in every state. Games are errors. Names of states and actions, and
// other labels, are left out.
func Write(w io.Writer, m *exchange.Model) error {
	if err := m.NoIntervals("the format"); err != nil {
		return fmt.Errorf("gymnasium: %w", err)
	}
	if err := m.Check(); err != nil {
		return fmt.Errorf("gymnasium: %w", err)
	}
	if m.Players > 1 {
		return fmt.Errorf("gymnasium: the tables have no games")
	}
	f := &writer{m: m, out: bufio.NewWriterSize(w, 1<<16), ended: make([]bool, m.States())}
	label, _ := m.Label(Terminated)
	for _, s := range label {
		f.ended[s] = true
	}
	for s := range f.ended {
		f.ended[s] = f.ended[s] || m.First[s] == m.First[s+1]
	}
	f.out.WriteString("{")
	f.head()
	f.out.WriteString("\"P\": {\n")
	f.table()
	f.out.WriteString("}}\n")
	if err := f.out.Flush(); err != nil {
		return fmt.Errorf("gymnasium: %w", err)
	}
	return nil
}

type writer struct {
	m     *exchange.Model
	out   *bufio.Writer
	ended []bool
	b     []byte
}

func (f *writer) head() {
	m := f.m
	if len(m.Start) > 0 {
		f.b = append(f.b[:0], "\"initial_state_distrib\": ["...)
		for s, p := range m.StartProbabilities() {
			if s > 0 {
				f.b = append(f.b, ", "...)
			}
			f.b = number(f.b, p)
		}
		f.out.Write(append(f.b, "],\n"...))
	}
	text, _ := json.Marshal(m.RewardNames()) // strings can be encoded
	fmt.Fprintf(f.out, "\"rewards\": %s,\n", text)
}

func (f *writer) table() {
	m := f.m
	var actions exchange.ActionNames
	for _, name := range m.DistinctActions() {
		actions.Add(name)
	}
	numbers := actions.Actions()
	for s := range m.States() {
		if s > 0 {
			f.out.WriteString(",\n")
		}
		fmt.Fprintf(f.out, "\"%d\": {", s)
		for c := int(m.First[s]); c < int(m.First[s+1]); c++ {
			a := c - int(m.First[s])
			if numbers != nil {
				a = int(numbers.Of[c])
			}
			if c > int(m.First[s]) {
				f.out.WriteString(", ")
			}
			fmt.Fprintf(f.out, "\"%d\": [", a)
			f.choice(s, c)
			f.out.WriteString("]")
		}
		f.out.WriteString("}")
	}
}

func (f *writer) choice(s, c int) {
	m, b := f.m, f.b[:0]
	for e := m.Offset[c]; e < m.Offset[c+1]; e++ {
		if e > m.Offset[c] {
			b = append(b, ", "...)
		}
		b = append(number(append(b, '['), m.Probability[e]), ", "...)
		b = append(strconv.AppendInt(b, int64(m.Target[e]), 10), ", "...)
		if len(m.Rewards) == 0 {
			b = append(b, '0')
		}
		if len(m.Rewards) > 1 {
			b = append(b, '[')
		}
		for i := range m.Rewards {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = number(b, m.Rewards[i].Total(s, c, e))
		}
		if len(m.Rewards) > 1 {
			b = append(b, ']')
		}
		b = append(strconv.AppendBool(append(b, ", "...), f.ended[m.Target[e]]), ']')
	}
	f.out.Write(b)
	f.b = b
}

// number appends x as JSON and Python read it: as a number with a point, a float.
func number(b []byte, x float64) []byte {
	from := len(b)
	b = strconv.AppendFloat(b, x, 'g', -1, 64)
	for _, c := range b[from:] {
		if c == '.' || c == 'e' {
			return b
		}
	}
	return append(b, ".0"...)
}
