package drn

import (
	"archive/tar"
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"cmdpsolve/cmdp/exchange"
)

// Write writes a model, which must pass [exchange.Model.Check]. Every number is
// written so that it is read as the same float64. A state without choices gets a
// loop and the label deadlock, as in Storm. A label that no state has is left out, since
// labels stand beside states. Games, start distributions that are not
// uniform, rewards of branches, action names of branches, and names with spaces
// where the format has no quotes are errors.
func Write(w io.Writer, m *exchange.Model) error {
	f := &writer{m: m, out: bufio.NewWriterSize(w, 1<<16)}
	if err := f.check(); err != nil {
		return fmt.Errorf("drn: %w", err)
	}
	f.labels = labelsOf(m)
	f.names = m.StateNames()
	f.header()
	for s := range m.States() {
		f.state(s)
	}
	if err := f.out.Flush(); err != nil {
		return fmt.Errorf("drn: %w", err)
	}
	return nil
}

// WriteArchive writes the same as the only file, of the given name, of a tar archive. Storm
// wants to find one in a compressed file.
func WriteArchive(w io.Writer, name string, m *exchange.Model) error {
	var size counter
	if err := Write(&size, m); err != nil {
		return err
	}
	t := tar.NewWriter(w)
	if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(size)}); err != nil {
		return fmt.Errorf("drn: %w", err)
	}
	if err := Write(t, m); err != nil {
		return err
	}
	return t.Close()
}

// A counter counts the bytes that are written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

type writer struct {
	m      *exchange.Model
	out    *bufio.Writer
	labels [][]string // of each state
	names  []string
	b      []byte
}

func (f *writer) check() error {
	m := f.m
	if err := m.CheckText(); err != nil {
		return err
	}
	if m.BranchActions != nil {
		return fmt.Errorf("the format has no action names of branches")
	}
	if err := m.NoBranchRewards("the format"); err != nil {
		return err
	}
	for i := range m.Rewards {
		if err := plain("reward", m.Rewards[i].Name); err != nil {
			return err
		}
	}
	if m.ChoiceActions != nil {
		for _, name := range m.ChoiceActions.Names {
			if err := plain("action", name); err != nil && name != "" {
				return err
			}
		}
	}
	for _, l := range m.Labels {
		if strings.TrimSpace(l.Name) != l.Name || strings.HasPrefix(l.Name, "[") {
			return exchange.BadLabel(l.Name)
		}
	}
	return nil
}

// plain returns an error unless a name is one word.
func plain(what, name string) error {
	if name == "" || name == unlabeled || strings.ContainsAny(name, " \t\n\r\v\f\x00\u0085\u00a0") {
		return fmt.Errorf("the name %q of a%s %s: the format wants one word", name,
			map[bool]string{true: "n"}[what == "action"], what)
	}
	return nil
}

func labelsOf(m *exchange.Model) [][]string {
	all := make([][]string, m.States())
	for _, st := range m.Start {
		all[st.State] = append(all[st.State], "init")
	}
	for _, l := range m.Labels {
		name := l.Name
		if name == exchange.Deadlock {
			continue
		}
		if strings.ContainsAny(name, " \t\v\f\u0085\u00a0") {
			name = `"` + name + `"`
		}
		for _, s := range l.States {
			all[s] = append(all[s], name)
		}
	}
	for _, s := range m.Deadlocks() {
		all[s] = append(all[s], exchange.Deadlock)
	}
	return all
}

func (f *writer) header() {
	m, kind, choices := f.m, "MDP", 0
	if m.Players == 0 {
		kind = "DTMC"
	}
	numbers := "double"
	if m.Lower != nil {
		numbers = "double-interval"
	}
	for s := range m.States() {
		choices += max(1, int(m.First[s+1]-m.First[s]))
	}
	fmt.Fprintf(f.out, "// Exported by cmdpsolve\n@type: %s\n@value_type: "+
		"%s\n@parameters\n\n@reward_models\n%s\n@nr_states\n%d\n@nr_choices\n%d\n@model\n",
		kind, numbers, strings.Join(m.RewardNames(), " "), m.States(), choices)
}

func (f *writer) state(s int) {
	m, b := f.m, append(f.b[:0], "state "...)
	b = strconv.AppendInt(b, int64(s), 10)
	b = f.rewards(b, func(r *exchange.Reward) []float64 { return r.State }, s)
	for _, name := range f.labels[s] {
		b = append(append(b, ' '), name...)
	}
	b = append(b, '\n')
	if f.names != nil {
		b = append(append(append(b, "//"...), f.names[s]...), '\n')
	}
	first, end := int(m.First[s]), int(m.First[s+1])
	if first == end { // as Storm wants it
		b = append(b, "\taction "...)
		b = append(b, map[bool]string{true: "0", false: unlabeled}[m.ChoiceActions == nil]...)
		b = f.rewards(b, func(*exchange.Reward) []float64 { return nil }, 0)
		one := "1"
		if m.Lower != nil {
			one = "[1, 1]"
		}
		b = fmt.Appendf(b, "\n\t\t%d : %s\n", s, one)
	}
	for c := first; c < end; c++ {
		b = append(b, "\taction "...)
		switch name := m.ChoiceActions.Name(c); {
		case m.ChoiceActions == nil:
			b = strconv.AppendInt(b, int64(c-first), 10)
		case name == "":
			b = append(b, unlabeled...)
		default:
			b = append(b, name...)
		}
		b = f.rewards(b, func(r *exchange.Reward) []float64 { return r.Choice }, c)
		b = append(b, '\n')
		for e := m.Offset[c]; e < m.Offset[c+1]; e++ {
			b = strconv.AppendInt(append(b, "\t\t"...), int64(m.Target[e]), 10)
			b = m.AppendProbability(append(b, " : "...), e, ", ")
			b = append(b, '\n')
		}
	}
	f.out.Write(b)
	f.b = b
}

// rewards appends " [1, 2]", the values of entity i of all reward structures.
func (f *writer) rewards(b []byte, values func(*exchange.Reward) []float64, i int) []byte {
	for k := range f.m.Rewards {
		b = append(b, [2]string{" [", ", "}[min(k, 1)]...)
		x := 0.0
		if v := values(&f.m.Rewards[k]); v != nil {
			x = v[i]
		}
		b = strconv.AppendFloat(b, x, 'g', -1, 64)
	}
	if len(f.m.Rewards) > 0 {
		b = append(b, ']')
	}
	return b
}
