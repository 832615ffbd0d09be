package prism

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/cmdp/exchange"
)

// Write writes a model, which must pass [exchange.Model.Check], to files whose
// names are base with the endings .tra, .sta, .lab, .srew and .trew, made by
// create and closed once whole. Every number is written so that it is read as the same float64. A state
// without choices gets a loop and the label deadlock, as in PRISM. Games, start
// distributions that are not uniform, and names of actions or rewards with spaces
// are errors. PRISM itself accepts only identifiers as names, and rewards only if
// they are the same for all branches of a choice.
func Write(create func(name string) (io.WriteCloser, error), base string, m *exchange.Model) error {
	f := &writer{m: m, create: create}
	err := f.check()
	if err == nil {
		f.file(base+".tra", f.transitions)
		f.file(base+".lab", f.labels)
		if len(m.Variables) > 0 {
			f.file(base+".sta", f.states)
		}
		for i := range m.Rewards {
			number := ""
			if len(m.Rewards) > 1 {
				number = strconv.Itoa(i + 1)
			}
			f.file(base+number+".srew", func(w *bufio.Writer) { f.stateRewards(w, &m.Rewards[i]) })
			f.file(base+number+".trew", func(w *bufio.Writer) { f.branchRewards(w, &m.Rewards[i]) })
		}
		err = f.err
	}
	if err != nil {
		return fmt.Errorf("prism: %w", err)
	}
	return nil
}

type writer struct {
	m      *exchange.Model
	create func(name string) (io.WriteCloser, error)
	err    error
}

func (f *writer) file(name string, fill func(w *bufio.Writer)) {
	if f.err != nil {
		return
	}
	out, err := f.create(name)
	if err != nil {
		f.err = err
		return
	}
	w := bufio.NewWriterSize(out, 1<<16)
	fill(w)
	f.err = w.Flush()
	if f.err == nil {
		f.err = out.Close()
	}
}

func (f *writer) check() error {
	m := f.m
	if err := m.CheckText(); err != nil {
		return err
	}
	switch {
	case len(m.Start) == 0:
		return fmt.Errorf("the format wants an initial state")
	case m.Players == 0 && m.ChoiceActions != nil:
		return fmt.Errorf("the format has no action names of choices in Markov chains")
	case m.Players > 0 && m.BranchActions != nil:
		return fmt.Errorf("the format has no action names of branches in MDPs")
	}
	for _, a := range []*exchange.Actions{m.ChoiceActions, m.BranchActions} {
		for i := 0; a != nil && i < len(a.Names); i++ {
			if name := a.Names[i]; len(strings.Fields(name)) > 1 || strings.TrimSpace(name) != name ||
				strings.Contains(name, "\x00") {
				return fmt.Errorf("the name %q of an action: the format wants one word", name)
			}
		}
	}
	for _, r := range m.Rewards {
		if strings.ContainsAny(r.Name, "\"\n\r\x00") || strings.TrimSpace(r.Name) != r.Name {
			return fmt.Errorf("the name %q of a reward: the format has no quotes or line ends in names, nor spaces "+
				"around them", r.Name)
		}
	}
	for _, v := range m.Variables {
		if v.Text == nil && (strings.ContainsAny(v.Name, "(),:\"\n\r\x00") || strings.TrimSpace(v.Name) != v.Name) {
			return fmt.Errorf("variable %q: the format has no brackets, commas or line ends in names", v.Name)
		}
	}
	return nil
}

// loops returns how many states have no choices.
func (f *writer) loops() int {
	n := 0
	for s := range f.m.States() {
		if f.m.First[s] == f.m.First[s+1] {
			n++
		}
	}
	return n
}

// sizes appends the numbers of states and, but for a Markov chain, of choices.
func (f *writer) sizes(b []byte) []byte {
	b = strconv.AppendInt(b, int64(f.m.States()), 10)
	if f.m.Players > 0 {
		b = strconv.AppendInt(append(b, ' '), int64(f.m.Choices()+f.loops()), 10)
	}
	return b
}

func (f *writer) transitions(w *bufio.Writer) {
	m, kind := f.m, "MDP"
	if m.Players == 0 {
		kind = "DTMC"
	}
	one := "1"
	if m.Lower != nil {
		kind, one = "I"+kind, "[1,1]"
	}
	fmt.Fprintf(w, "# Transitions (%s)\n%s %d\n", kind, f.sizes(nil), m.Branches()+f.loops())
	var b []byte
	for s := range m.States() {
		first, end := int(m.First[s]), int(m.First[s+1])
		if first == end { // the loop
			w.Write(fmt.Appendf(nil, "%s%d %s\n", f.appendSource(nil, s, 0), s, one))
			continue
		}
		for c := first; c < end; c++ {
			for e := m.Offset[c]; e < m.Offset[c+1]; e++ {
				b = f.appendSource(b[:0], s, c-first)
				b = strconv.AppendInt(b, int64(m.Target[e]), 10)
				b = m.AppendProbability(append(b, ' '), e, ",")
				if name := m.ChoiceActions.Name(c) + m.BranchActions.Name(e); name != "" {
					b = append(append(b, ' '), name...)
				}
				w.Write(append(b, '\n'))
			}
		}
	}
}

// appendSource appends the state and, but for a Markov chain, the choice that a line
// belongs to.
func (f *writer) appendSource(b []byte, s, choice int) []byte {
	b = append(strconv.AppendInt(b, int64(s), 10), ' ')
	if f.m.Players > 0 {
		b = append(strconv.AppendInt(b, int64(choice), 10), ' ')
	}
	return b
}

func (f *writer) labels(w *bufio.Writer) {
	m := f.m
	labels := []exchange.Label{{Name: "init"}, {Name: exchange.Deadlock, States: m.Deadlocks()}}
	for _, st := range m.Start {
		labels[0].States = append(labels[0].States, st.State)
	}
	labels = append(labels, slices.DeleteFunc(slices.Clone(m.Labels),
		func(l exchange.Label) bool { return l.Name == exchange.Deadlock })...)
	w.WriteString("# Labels\n")
	of := make([][]int, m.States())
	for i, l := range labels {
		if i > 0 {
			w.WriteByte(' ')
		}
		fmt.Fprintf(w, "%d=\"%s\"", i, l.Name)
		for _, s := range l.States {
			of[s] = append(of[s], i)
		}
	}
	w.WriteByte('\n')
	for s, list := range of {
		if list != nil {
			fmt.Fprintf(w, "%d: %s\n", s, strings.Trim(fmt.Sprint(list), "[]"))
		}
	}
}

func (f *writer) states(w *bufio.Writer) {
	m := f.m
	variables, comments := m.Variables, []string(nil)
	if slices.ContainsFunc(variables, func(v exchange.Variable) bool { return v.Text != nil }) {
		numbers := make([]int64, m.States())
		for s := range numbers {
			numbers[s] = int64(s)
		}
		variables, comments = []exchange.Variable{{Name: "s", Ints: numbers}}, m.StateNames()
	}
	w.WriteString("# States\n(")
	for i := range variables {
		if i > 0 {
			w.WriteByte(',')
		}
		w.WriteString(variables[i].Name)
	}
	w.WriteString(")\n")
	for s := range m.States() {
		if comments != nil {
			fmt.Fprintf(w, "# %s\n", comments[s])
		}
		fmt.Fprintf(w, "%d:", s)
		for i := range variables {
			w.WriteByte("(,"[min(i, 1)])
			w.WriteString(variables[i].Value(s))
		}
		w.WriteString(")\n")
	}
}

func (f *writer) stateRewards(w *bufio.Writer, r *exchange.Reward) {
	fmt.Fprintf(w, "# Reward structure \"%s\"\n# State rewards\n%d %d\n", r.Name, f.m.States(), count(r.State))
	for s, x := range r.State {
		if math.Float64bits(x) != 0 {
			w.Write(append(strconv.AppendFloat(fmt.Appendf(nil, "%d ", s), x, 'g', -1, 64), '\n'))
		}
	}
}

func count(values []float64) int {
	n := 0
	for _, x := range values {
		if math.Float64bits(x) != 0 {
			n++
		}
	}
	return n
}

// branchRewards writes the rewards of choices and of branches. A choice that has
// one is written whole.
func (f *writer) branchRewards(w *bufio.Writer, r *exchange.Reward) {
	m := f.m
	own := exchange.Reward{Choice: r.Choice, Branch: r.Branch}
	earns := make([]bool, m.Choices())
	lines := 0
	for c := range earns {
		for e := m.Offset[c]; e < m.Offset[c+1]; e++ {
			earns[c] = earns[c] || math.Float64bits(own.Total(0, c, e)) != 0
		}
		if earns[c] {
			lines += m.Offset[c+1] - m.Offset[c]
		}
	}
	fmt.Fprintf(w, "# Reward structure \"%s\"\n# Transition rewards\n%s %d\n", r.Name, f.sizes(nil), lines)
	var b []byte
	for s := range m.States() {
		for c := m.First[s]; c < m.First[s+1]; c++ {
			for e := m.Offset[c]; earns[c] && e < m.Offset[c+1]; e++ {
				b = f.appendSource(b[:0], s, int(c-m.First[s]))
				b = strconv.AppendInt(b, int64(m.Target[e]), 10)
				b = strconv.AppendFloat(append(b, ' '), own.Total(s, int(c), e), 'g', -1, 64)
				w.Write(append(b, '\n'))
			}
		}
	}
}
