package problem

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
)

// Write writes p as a problem file in YAML, one line for each row of its
// transitions. Reading it gives the same problem, every number bit for bit.
// Random returns that never differ from their means are read as returns that are
// not random. It is an error if a file cannot hold p: if names are missing,
// repeated or cannot be printed, or if the actions of a state have different
// orders at different steps.
func Write(w io.Writer, p *Problem) error {
	if w == nil || p == nil {
		return errors.New("problem: want a problem, and a stream to write it to")
	}
	if p.Fleet != nil {
		return writeFleet(w, p)
	}
	f := &writer{p: p, out: bufio.NewWriterSize(w, 1<<16), game: p.Opponents != nil || p.Opponent != nil}
	if p.Model != nil && p.Model.Shape() != nil && p.Model.Shape().Game() {
		f.game = true
	}
	if err := f.check(); err != nil {
		return fmt.Errorf("problem: %w", err)
	}
	f.header()
	if err := f.transitions(); err != nil {
		return fmt.Errorf("problem: %w", err)
	}
	if err := f.out.Flush(); err != nil {
		return fmt.Errorf("problem: %w", err)
	}
	return nil
}

type writer struct {
	p    *Problem
	out  *bufio.Writer
	game bool // rows name the opponent's action
}

func (f *writer) check() error {
	p := f.p
	if p.Model == nil {
		return errors.New("no model")
	}
	switch {
	case max(1, len(p.Given())) != p.Model.Dim():
		return fmt.Errorf("%d names of returns that rows give: want %d", len(p.Given()), p.Model.Dim())
	case p.States != nil && len(p.States) != p.Model.States():
		return fmt.Errorf("%d names of states: want %d", len(p.States), p.Model.States())
	case p.Name != "" && checkName(p.Name) != "":
		return errors.New(checkName(p.Name))
	}
	return errors.Join(checkNames(p.Returns), checkStates(p.States), f.checkLabels(), f.checkCoordinates(),
		f.checkKinds(), f.checkActions(p.Actions, false), f.checkActions(p.Opponents, true),
		f.checkWanted(), f.checkOpponent(), f.checkIntervals())
}

// checkActions looks at the names of one player's actions.
func (f *writer) checkActions(all [][]string, opponent bool) error {
	if all != nil && len(all) != f.p.steps() {
		return fmt.Errorf("names of the actions of %d kernels: want %d", len(all), f.p.steps())
	}
	for h, names := range all {
		rows := f.p.Model.Rows(h)
		if _, n := rows.Choices(f.p.Model.States() - 1); len(names) != n {
			return fmt.Errorf("kernel %d: %d names of actions: want %d", h, len(names), n)
		}
		for _, name := range names {
			if complaint := checkName(name); complaint != "" {
				return errors.New(complaint)
			}
		}
		for s := range f.p.Model.States() {
			cols := f.p.played().columns(h, s)
			first, end := rows.Choices(s)
			for c := first; c < end && f.game; c++ {
				same := c - (c-first)%cols
				if opponent {
					same = first + (c-first)%cols
				}
				if names[c] != names[same] {
					return fmt.Errorf("state %s: an action is called %s in one pair and %s in another",
						f.p.StateName(s), names[same], names[c])
				}
			}
		}
	}
	return nil
}

// checkOpponent makes sure that the opponent can be built.
func (f *writer) checkOpponent() error {
	if f.p.Opponent != nil && f.p.Model.Choices() == 0 {
		return errors.New("opponent: no state offers an action")
	}
	return f.p.checkOpponent()
}

func (f *writer) checkWanted() error {
	p := f.p
	if p.Goal != (Goal{}) {
		if _, _, err := kindOf(p.Goal); err != nil {
			return fmt.Errorf("goal: %w", err)
		}
		if name := p.Goal.Maximize + p.Goal.Minimize; p.Goal.Cost == nil && !slices.Contains(p.Returns, name) {
			return fmt.Errorf("goal: unknown return %q", name)
		}
	}
	for i, c := range p.Constraints {
		if !slices.Contains(p.Returns, c.Return) {
			return fmt.Errorf("constraints[%d]: unknown return %q", i, c.Return)
		}
		if err := c.Check(); err != nil {
			return fmt.Errorf("constraints[%d]: %s", i, trimmed(err, "problem: "))
		}
	}
	// JSON has no other numbers.
	if _, err := json.Marshal([]any{p.Goal, p.Constraints, p.Target, p.Opponent}); err != nil {
		return errors.New("a number of goal, constraints, target or opponent is not finite")
	}
	return nil
}

func (f *writer) checkLabels() error {
	names := make([]string, len(f.p.Labels))
	for i, l := range f.p.Labels {
		names[i] = l.Name
		if isInteger(l.Name) {
			return fmt.Errorf("label %s: the name is a number", l.Name)
		}
		for _, s := range l.States {
			if s < 0 || int(s) >= f.p.Model.States() {
				return fmt.Errorf("label %s: state %d: want 0 to %d", l.Name, s, f.p.Model.States()-1)
			}
		}
	}
	return checkNames(names)
}

func (f *writer) checkKinds() error {
	p := f.p
	if p.Kinds != nil && len(p.Kinds) != len(p.Returns) {
		return fmt.Errorf("%d kinds of returns: want %d", len(p.Kinds), len(p.Returns))
	}
	finder := newStateFinder(p, p.Model.States())
	for i := range p.Kinds {
		if err := p.checkKind(&p.Kinds[i], finder); err != nil {
			return Inside(err, "returns", p.Returns[i])
		}
	}
	return nil
}

// checkStates checks that states can have these names.
func checkStates(names []string) error {
	for i, s := range names {
		if isInteger(s) && s != strconv.Itoa(i) {
			return fmt.Errorf("the name %s of state %d is another number", s, i)
		}
	}
	return checkNames(names)
}

func checkNames(names []string) error {
	seen := make(map[string]bool, len(names))
	for _, s := range names {
		if complaint := checkName(s); complaint != "" {
			return errors.New(complaint)
		}
		if seen[s] {
			return fmt.Errorf("the name %s is given twice", s)
		}
		seen[s] = true
	}
	return nil
}

func (f *writer) header() {
	p, m := f.p, f.p.Model
	line := f.line
	line("format", []byte(Format))
	if p.Name != "" {
		line("name", appendName(nil, p.Name))
	}
	if m.Horizon() > 0 {
		line("horizon", strconv.AppendInt(nil, int64(m.Horizon()), 10))
	} else if m.Average() {
		line("criterion", []byte("average"))
	} else {
		line("discount", appendNumber(nil, m.Discount()))
	}
	if names := p.stateNames(); names == nil {
		line("states", strconv.AppendInt(nil, int64(m.States()), 10))
	} else {
		line("states", appendValue(nil, reflect.ValueOf(&names).Elem()))
	}
	line("start", f.start())
	f.labels()
	f.coordinates()
	line("returns", f.returns())
	if b := appendPromise(nil, m.Shape(), p.Given()); b != nil {
		line("return_to_go", b)
	}
	f.wanted()
	if p.Uncertainty.Each != "" {
		line("uncertainty", appendValue(nil, reflect.ValueOf(&p.Uncertainty).Elem()))
	}
	if p.Opponent != nil {
		line("opponent", appendValue(nil, reflect.ValueOf(p.Opponent).Elem()))
	}
}

func (f *writer) line(key string, value []byte) { fmt.Fprintf(f.out, "%s: %s\n", key, value) }

func (f *writer) wanted() {
	p := f.p
	if p.Goal != (Goal{}) {
		f.line("goal", appendValue(nil, reflect.ValueOf(&p.Goal).Elem()))
	}
	if len(p.Constraints) > 0 {
		f.out.WriteString("constraints:\n")
		for i := range p.Constraints {
			fmt.Fprintf(f.out, "  - %s\n", appendValue(nil, reflect.ValueOf(&p.Constraints[i]).Elem()))
		}
	}
	if p.Target != nil {
		f.line("target", appendValue(nil, reflect.ValueOf(p.Target).Elem()))
	}
}

func (f *writer) labels() {
	isLabel := make(map[string]bool)
	for i := range f.p.Labels {
		isLabel[f.p.Labels[i].Name] = true
	}
	for i, l := range f.p.Labels {
		if i == 0 {
			f.out.WriteString("labels:\n")
		}
		fmt.Fprintf(f.out, "  %s: %s\n", appendName(nil, l.Name),
			appendAll(nil, "[]", len(l.States), func(b []byte, j int) []byte {
				name := f.p.StateName(int(l.States[j]))
				if isLabel[name] {
					name = strconv.Itoa(int(l.States[j])) // its name would mean the label
				}
				return appendLabel(b, name)
			}))
	}
}

func (f *writer) returns() []byte {
	p := f.p
	kinds := p.Kinds
	if kinds == nil {
		if !p.Model.Means() || p.Model.Average() {
			return appendValue(nil, reflect.ValueOf(&p.Returns).Elem())
		}
		kinds = make([]Return, len(p.Returns))
		for i := range kinds {
			if p.Model.Mean(i) {
				kinds[i].Criterion = average
			}
		}
	}
	finder := newStateFinder(p, p.Model.States())
	return appendAll(nil, "{}", len(kinds), func(b []byte, i int) []byte {
		kind := kinds[i]
		for _, set := range []**StateSet{&kind.Reach, &kind.While, &kind.Visits} {
			*set = finder.spelled(*set)
		}
		return appendValue(append(appendName(b, p.Returns[i]), ": "...), reflect.ValueOf(&kind).Elem())
	})
}

// spelled returns a set without conditions on variables: lists of states stand in their place. A file that has rows has
// no variables, as these belong to a model in a language. The set has been checked before.
func (f *stateFinder) spelled(set *StateSet) *StateSet {
	if set == nil || f.p.Described == nil {
		return set
	}
	all := func(sets []*StateSet) (out []*StateSet) {
		for _, part := range sets {
			out = append(out, f.spelled(part))
		}
		return out
	}
	_, isState := stateNamed(set.Name, f.number, f.states)
	if _, isLabel := f.label[set.Name]; set.Name == "" || isState || isLabel {
		return &StateSet{Name: set.Name, Not: f.spelled(set.Not), And: all(set.And), Or: all(set.Or)}
	}
	states, _ := f.where(set.Name)
	out := &StateSet{Or: []*StateSet{}}
	for _, s := range states {
		out.Or = append(out.Or, &StateSet{Name: strconv.Itoa(int(s))})
	}
	return out
}

func (f *writer) start() []byte {
	start := f.p.Model.StartStates()
	if len(start) == 1 && start[0].Probability == 1 {
		return appendLabel(nil, f.p.StateName(start[0].State))
	}
	return appendAll(nil, "{}", len(start), func(b []byte,
		i int) []byte {
		return f.next(b, start[i].State, start[i].Probability)
	})
}

// next appends a state and its probability.
func (f *writer) next(b []byte, s int, p float64) []byte {
	return appendNumber(append(appendLabel(b, f.p.StateName(s)), ": "...), p)
}
