package problem

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
)

// writeFleet writes a problem of many agents, with the model of each type in it.
func writeFleet(w io.Writer, p *Problem) error {
	f := &writer{p: p, out: bufio.NewWriterSize(w, 1<<16)}
	switch {
	case len(p.Fleet) == 0:
		return errors.New("problem: a fleet without types of agents")
	case p.Name != "" && checkName(p.Name) != "":
		return fmt.Errorf("problem: %s", checkName(p.Name))
	}
	if err := errors.Join(checkNames(p.Returns), f.checkWanted()); err != nil {
		return fmt.Errorf("problem: %w", err)
	}
	f.line("format", []byte(Format))
	if p.Name != "" {
		f.line("name", appendName(nil, p.Name))
	}
	f.line("returns", appendValue(nil, reflect.ValueOf(&p.Returns).Elem()))
	f.wanted()
	f.out.WriteString("fleet:\n")
	seen := make(map[string]bool)
	for _, m := range p.Fleet {
		if seen[m.Name] {
			return fmt.Errorf("problem: two types are called %s", m.Name)
		}
		seen[m.Name] = true
		if err := f.fleetMember(&m); err != nil {
			return fmt.Errorf("problem: type %s: %w", m.Name, err)
		}
	}
	if err := f.out.Flush(); err != nil {
		return fmt.Errorf("problem: %w", err)
	}
	return nil
}

func (f *writer) fleetMember(m *Member) error {
	switch {
	case m.Agent == nil:
		return errors.New("no model")
	case checkName(m.Name) != "":
		return errors.New(checkName(m.Name))
	case m.Count < 1:
		return fmt.Errorf("%d agents: want at least 1", m.Count)
	case len(m.Returns) != len(m.Agent.Returns):
		return fmt.Errorf("%d entries say where returns go: want %d", len(m.Returns), len(m.Agent.Returns))
	case m.Starts != nil && len(m.Starts) != m.Agent.Model.States():
		return fmt.Errorf("%d entries say where agents begin: want %d", len(m.Starts), m.Agent.Model.States())
	}
	var from []int // the returns of the model that go somewhere
	taken := make([]bool, len(f.p.Returns))
	for i, to := range m.Returns {
		switch {
		case to < -1 || to >= len(taken):
			return fmt.Errorf("return %d of the fleet, which has %d", to, len(taken))
		case to >= 0 && taken[to]:
			return fmt.Errorf("two returns go into %s", f.p.Returns[to])
		case to >= 0:
			taken[to] = true
			from = append(from, i)
		}
	}
	fmt.Fprintf(f.out, "  - name: %s\n    count: %d\n    model:\n", appendName(nil, m.Name), m.Count)
	if err := f.inline(m.Agent); err != nil {
		return err
	}
	fmt.Fprintf(f.out, "    returns: %s\n", appendAll(nil, "{}", len(from), func(b []byte, i int) []byte {
		b = append(appendName(b, f.p.Returns[m.Returns[from[i]]]), ": "...)
		return appendName(b, m.Agent.Returns[from[i]])
	}))
	if m.Starts == nil {
		return nil
	}
	var states []int
	for s, n := range m.Starts {
		if n > 0 {
			states = append(states, s)
		}
	}
	fmt.Fprintf(f.out, "    starts: %s\n", appendAll(nil, "{}", len(states), func(b []byte, i int) []byte {
		b = append(appendLabel(b, m.Agent.StateName(states[i])), ": "...)
		return strconv.AppendInt(b, int64(m.Starts[states[i]]), 10)
	}))
	return nil
}

// inline writes the model of an agent, which is a problem file but for its first line, the format.
func (f *writer) inline(agent *Problem) error {
	var text bytes.Buffer
	if err := Write(&text, agent); err != nil {
		return errors.New(trimmed(err, "problem: "))
	}
	lines := bytes.Split(bytes.TrimRight(text.Bytes(), "\n"), []byte("\n"))
	lines = slices.DeleteFunc(lines, func(l []byte) bool { return bytes.HasPrefix(l, []byte("format: ")) })
	for _, l := range lines {
		fmt.Fprintf(f.out, "      %s\n", l)
	}
	return nil
}
