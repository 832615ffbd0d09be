package problem

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"cmdpsolve/cmdp/exchange"
)

// A StateSet is a set of states in words. Exactly one field is set; an empty list is a
// union of nothing.
type StateSet struct {
	// Name is a label of the problem, or the name or number of a state.
	Name string
	// Not has the states that are not in a set, And those in all of several sets, Or those
	// in any of them. A list in a file is Or.
	Not     *StateSet
	And, Or []*StateSet
}

func (set *StateSet) decode(d *decoder, n *node, at *path) bool {
	switch n.kind {
	case listNode:
		return d.value(n, at, reflect.ValueOf(&set.Or).Elem())
	case mapNode:
		if !d.mapping(n, at, []string{"not", "and", "or"}) {
			return false
		}
		if len(n.members) != 1 {
			return d.bad(n, at, "%d operations given: want exactly one of not, and, or", len(n.members))
		}
		m := n.members[0]
		at = at.key(m.key.text)
		switch m.key.text {
		case "not":
			set.Not = new(StateSet)
			return set.Not.decode(d, m.value, at)
		case "and":
			return d.value(m.value, at, reflect.ValueOf(&set.And).Elem())
		}
		return d.value(m.value, at, reflect.ValueOf(&set.Or).Elem())
	}
	return (*Label)(&set.Name).decode(d, n, at)
}

func (set *StateSet) encode(b []byte) []byte {
	switch {
	case set.Not != nil:
		return append(set.Not.encode(append(b, "{not: "...)), '}')
	case set.And != nil:
		return append(appendValue(append(b, "{and: "...), reflect.ValueOf(&set.And).Elem()), '}')
	case set.Name == "":
		return appendValue(b, reflect.ValueOf(&set.Or).Elem())
	}
	return appendLabel(b, set.Name)
}

// StatesIn returns for each state whether it is in the set. It is an error if a name is
// neither a label nor a state, or both but not the same, and if no state is in the set, unless
// the set is the empty list or a label that no state has; errors that concern a part are
// [MemberError]s. It allocates.
func (p *Problem) StatesIn(set *StateSet) ([]bool, error) {
	return newStateFinder(p, p.Model.States()).in(set)
}

// saysNone reports whether the set has no states on purpose, if it has none: a slip of the pen in
// what it is made of would be seen.
func (set *StateSet) saysNone() bool {
	return set.Not == nil && set.And == nil && len(set.Or) == 0
}

// A stateFinder knows what names of states and labels mean.
type stateFinder struct {
	p      *Problem
	number stateIndex
	label  map[string]int // of a name in p.Labels
	states int
	// returns finds names of returns.
	returns nameFinder
	spelling
}

func newStateFinder(p *Problem, states int) *stateFinder {
	f := &stateFinder{p: p, number: p.stateIndex(), label: make(map[string]int, len(p.Labels)), states: states}
	for i := range p.Labels {
		f.label[p.Labels[i].Name] = i
	}
	return f
}

// in returns for each state whether it is in the set, see Problem.StatesIn.
func (f *stateFinder) in(set *StateSet) ([]bool, error) {
	in := make([]bool, f.states)
	if err := f.add(in, set); err != nil {
		return nil, err
	}
	if !slices.Contains(in, true) && !set.saysNone() {
		return nil, errors.New("problem: no state is in this set")
	}
	return in, nil
}

func (f *stateFinder) add(in []bool, set *StateSet) error {
	switch {
	case set.Not != nil:
		not := make([]bool, f.states)
		if err := f.add(not, set.Not); err != nil {
			return Inside(err, "not")
		}
		for s := range in {
			in[s] = in[s] || !not[s]
		}
		return nil
	case set.And != nil:
		return Inside(f.addCommon(in, set.And), "and")
	case set.Name != "":
		states, err := f.named(set.Name)
		for _, s := range states {
			in[s] = true
		}
		return err
	}
	var errs memberErrors
	for i, part := range set.Or {
		if err := f.add(in, part); err != nil {
			errs = append(errs, Inside(err, i))
		}
	}
	return errs.orNil()
}

func (f *stateFinder) addCommon(in []bool, sets []*StateSet) error {
	if len(sets) == 0 {
		return errors.New("problem: the list is empty: want at least one set")
	}
	var errs memberErrors
	common, part := make([]bool, f.states), make([]bool, f.states)
	for i, set := range sets {
		clear(part)
		if err := f.add(part, set); err != nil {
			errs = append(errs, Inside(err, i))
		}
		for s := range common {
			common[s] = part[s] && (i == 0 || common[s])
		}
	}
	for s := range in {
		in[s] = in[s] || common[s]
	}
	return errs.orNil()
}

// An unknownState is the error of a name that neither a state nor a label has.
type unknownState struct{ name, message string }

func (e *unknownState) Error() string { return e.message }

// union returns the states of a set that is a union of states and labels, in order and possibly more than once,
// at the cost of their number alone. known is false for other sets.
func (f *stateFinder) union(set *StateSet) (states []int32, known bool) {
	if set.Not != nil || set.And != nil {
		return nil, false
	}
	if set.Name != "" {
		states, err := f.named(set.Name)
		return states, err == nil
	}
	for _, part := range set.Or {
		more, known := f.union(part)
		if !known {
			return nil, false
		}
		states = append(states, more...)
	}
	return states, states != nil
}

// list returns the states of a set in ascending order.
func (f *stateFinder) list(set *StateSet) ([]int32, error) {
	if states, known := f.union(set); known {
		states = slices.Clone(states)
		slices.Sort(states)
		return slices.Compact(states), nil
	}
	in, err := f.in(set)
	if err != nil {
		return nil, err
	}
	return exchange.StatesOf(in), nil
}

// named returns the states that a name stands for: a state, a label, or a condition on variables.
func (f *stateFinder) named(name string) ([]int32, error) {
	s, isState := stateNamed(name, f.number, f.states)
	i, isLabel := f.label[name]
	switch {
	case !isLabel && !isState && isInteger(name):
		return nil, &unknownState{name, fmt.Sprintf("problem: unknown state %s: want 0 to %d", shorten(name),
			f.states-1)}
	case !isLabel && !isState && f.p.Described != nil:
		return f.where(name)
	case !isLabel && !isState:
		if f.compared > mostCompared {
			return nil, &unknownState{name, "problem: unknown label or state " + shorten(name)}
		}
		known := slices.Sorted(maps.Keys(f.label))
		known = slices.DeleteFunc(known, func(label string) bool { _, state := f.number.Find(label); return state })
		return nil, &unknownState{name, fmt.Sprintf("problem: unknown label or state %s%s", shorten(name),
			f.orWant(name, append(known, f.p.States...)))}
	case !isLabel:
		return []int32{int32(s)}, nil
	case isState && !slices.Equal(f.p.Labels[i].States, []int32{int32(s)}):
		return nil, fmt.Errorf("problem: %s is a state and a label of other states: want two names", shorten(name))
	}
	return f.p.Labels[i].States, nil
}

// where returns the states where a condition on variables holds.
func (f *stateFinder) where(condition string) ([]int32, error) {
	states, err := f.p.Described.Where(condition)
	if err != nil {
		return nil, fmt.Errorf("problem: %s is no label or state, and no condition on the variables: %w",
			shorten(condition), err)
	}
	return states, nil
}

// readLabels reads the labels one after the other. A label may be said by those above it and by
// those of an imported model, and takes the place of one of theirs with the same name. A label
// that no state has is written as an empty list.
func (h *header) readLabels(n *node, at *path) {
	if !h.pairs(n, at) {
		return
	}
	finder := newStateFinder(h.p, h.states)
	total := 0
	for _, m := range n.members {
		here := at.key(m.key.text)
		name, ok := h.name(m.key, at)
		if ok && isInteger(name) {
			ok = h.bad(m.key, here, "the label is a number: want a name")
		}
		set := new(StateSet)
		if !set.decode(&h.decoder, m.value, here) || !ok || h.states == 0 {
			continue
		}
		states, err := finder.list(set)
		if err != nil {
			h.misbuilt(m.value, here, err)
			continue
		}
		total += len(states)
		if total > maxLabelled {
			h.bad(m.value, here, "the labels so far have %d states together: want at most %d", total, maxLabelled)
			return
		}
		i, old := finder.label[name]
		if !old {
			i = len(h.p.Labels)
			finder.label[name], h.p.Labels = i, append(h.p.Labels, exchange.Label{})
		}
		h.p.Labels[i] = exchange.Label{Name: name, States: states}
	}
}
