package problem

import (
	"errors"
	"slices"
	"strconv"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exchange"
)

// Uncertainty says what may differ between the visits of a choice whose probabilities are intervals. The zero value
// stands for each step.
type Uncertainty struct {
	// Each is "step" where probabilities may be different at every visit, and "model" where one fixed model of the set
	// is the true one.
	Each Each `json:"each,omitempty" jsonschema:"step: probabilities may be different at every visit; model: they are fixed and unknown"`
}

// Each is "step", "model", or "" for the former.
type Each string

// The values of [Each].
const (
	EachStep  Each = "step"
	EachModel Each = "model"
)

// Fixed reports whether one fixed model is the true one.
func (u Uncertainty) Fixed() bool { return u.Each == EachModel }

// WithModel returns a copy of the problem with another model that has its states and actions, and a kernel for all
// steps or one for each. Its probabilities are exact.
func (p *Problem) WithModel(m *cmdp.Model) *Problem {
	of := *p
	of.Model, of.Intervals, of.intervalLines = m, nil, nil
	if n := len(of.Actions); n > 0 && n < m.Kernels() {
		of.Actions = append(slices.Clip(of.Actions), slices.Repeat(of.Actions[n-1:], m.Kernels()-n)...)
	}
	return &of
}

// WithIntervals returns a copy of the problem whose probabilities are known up to the given intervals of its model,
// nil for exact ones.
func (p *Problem) WithIntervals(iv *cmdp.Intervals) *Problem {
	of := *p
	of.Intervals = iv
	return &of
}

// Widened returns a copy of the problem whose probabilities are known up to so much more on each side, see
// [cmdp.Widen].
func (p *Problem) Widened(width float64) (*Problem, error) {
	iv, err := cmdp.Widen(p.Model, p.Intervals, width)
	if err != nil {
		return nil, err
	}
	return p.WithIntervals(iv), nil
}

// uncertain reports whether some probability is not exact.
func (p *Problem) uncertain() bool { return p.Intervals != nil && p.Intervals.Rows() > 0 }

func (h *header) readUncertainty(n *node, at *path) {
	if !h.mapping(n, at, []string{"each"}) {
		return
	}
	each := n.get("each")
	if each == nil {
		h.bad(n, at, "each is missing: want step or model")
		return
	}
	h.p.Uncertainty.Each = Each(each.text)
	if each.kind != scalarNode || h.p.Uncertainty.Each != EachStep && h.p.Uncertainty.Each != EachModel {
		h.bad(each, at.key("each"), "got %s: want step or model", each.describe())
	}
}

// rowName is what tells rows apart.
type rowName struct{ step, state, action int }

// rowBounds are the bounds of the successors of a row.
type rowBounds struct {
	next         []int
	lower, upper []float64
	line         int // of the file, 0 if it is no text
}

// successors reads the mapping next of a row. Where one of its probabilities is an interval, the bounds of all are
// taken down in bounds, and the probabilities are those of the nominal model.
func (r *rowReader) successors(n *node, at *path) (bounds *rowBounds) {
	isInterval := func(m member) bool { return m.value.kind == listNode }
	if n.kind != mapNode || !slices.ContainsFunc(n.members, isInterval) {
		r.next = r.distribution(n, at, r.next)
		return nil
	}
	before := r.faults
	if !r.pairs(n, at) {
		return nil
	}
	bounds = &rowBounds{line: n.line}
	for _, m := range n.members {
		here := path{up: at, name: m.key.text}
		s, ok := r.state(m.key, &here)
		lower, upper, good := r.interval(m.value, &here)
		if !ok || !good {
			continue
		}
		bounds.next = append(bounds.next, s)
		bounds.lower = append(bounds.lower, lower)
		bounds.upper = append(bounds.upper, upper)
		r.next = append(r.next, cmdp.Transition{Next: s})
	}
	if r.faults > before || r.states == 0 {
		return nil
	}
	if err := cmdp.CheckInterval(bounds.lower, bounds.upper); err != nil {
		r.bad(n, at, "%v", err)
		return nil
	}
	if r.hasTwins(r.next) {
		r.bad(n, at, "a state is given twice, by its name and by its number")
		return nil
	}
	r.nominal(bounds)
	return bounds
}

// nominal sets the probabilities of r.next to those of the nominal model.
func (r *rowReader) nominal(bounds *rowBounds) {
	p := make([]float64, len(bounds.next))
	cmdp.Nominal(p, bounds.lower, bounds.upper)
	for i := range p {
		r.next[i].Probability = p[i]
	}
}

// interval reads a probability or an interval of probabilities.
func (r *rowReader) interval(n *node, at *path) (lower, upper float64, ok bool) {
	if n.kind != listNode {
		p, ok := r.probability(n, at)
		return p, p, ok
	}
	if len(n.items) != 2 {
		return 0, 0, r.bad(n, at, "%d numbers: want two, the least and the greatest probability", len(n.items))
	}
	lower, ok = r.probability(n.items[0], at.at(0))
	upper, good := r.probability(n.items[1], at.at(1))
	if ok && good && lower > upper {
		return 0, 0, r.bad(n, at, "the lower bound %g is above the upper bound %g", lower, upper)
	}
	return lower, upper, ok && good
}

// bound takes down the bounds of a row, nil if it is exact.
func (r *rowReader) bound(row *cmdp.Row, bounds *rowBounds) {
	name := rowName{row.Step, row.State, row.Action}
	switch {
	case bounds != nil && r.bounds == nil:
		r.bounds = map[rowName]*rowBounds{name: bounds}
	case bounds != nil:
		r.bounds[name] = bounds
	case row.Step != cmdp.EveryStep:
		if r.exactAt == nil {
			r.exactAt = make(map[rowName]bool)
		}
		r.exactAt[name] = true
	}
}

// attach gives the problem the intervals of its rows. names are the actions of each kernel's choices.
func (r *rowReader) attach(p *Problem, root *node, names *cmdp.Names) {
	if r.bounds == nil {
		return
	}
	at := (*path)(nil).key("transitions")
	if r.game {
		r.bad(root.get("transitions"), at, "intervals in a game: want exact probabilities, or one player")
		return
	}
	var states [][]int32 // of each kernel's choices
	for h := range p.Model.Kernels() {
		rows := p.Model.Rows(h)
		var of []int32
		for s := range p.Model.States() {
			first, end := rows.Choices(s)
			for range end - first {
				of = append(of, int32(s))
			}
		}
		states = append(states, of)
	}
	var err error
	twice := -1
	p.intervalLines, p.intervalFile = make(map[int]int), r.rows
	p.Intervals, err = cmdp.NewIntervals(p.Model, func(h, c int) (lower, upper []float64) {
		state, action := int(states[h][c]), int(names.Agent[h][c])
		bounds := r.bounds[rowName{h + 1, state, action}]
		if bounds == nil || p.Model.Horizon() == 0 {
			bounds = r.bounds[rowName{cmdp.EveryStep, state, action}]
		}
		if bounds == nil || r.exactAt[rowName{h + 1, state, action}] {
			return nil, nil
		}
		if h == 0 {
			p.intervalLines[c] = bounds.line
		}
		next, _ := p.Model.Rows(h).Row(c)
		sorted := slices.Sorted(slices.Values(next))
		if len(slices.Compact(sorted)) < len(next) {
			twice = state
		}
		return bounds.of(next)
	})
	switch {
	case twice >= 0:
		r.bad(root.get("transitions"), at,
			"state %s: intervals of a choice that leads to a state twice, with different returns", p.StateName(twice))
	case err != nil:
		r.bad(root.get("transitions"), at, "%s", trimmed(err, "cmdp: "))
	}
}

// of returns the bounds of given successors.
func (b *rowBounds) of(next []int32) (lower, upper []float64) {
	for _, s := range next {
		l, u := 0.0, 0.0
		for i, of := range b.next {
			if of == int(s) {
				l += b.lower[i]
				u += b.upper[i]
			}
		}
		lower = append(lower, l)
		upper = append(upper, min(u, 1)) // several branches that lead there may have more in sum
	}
	return lower, upper
}

// nextOf appends the successors of choice c at step h with their probabilities or intervals.
func (f *writer) nextOf(b []byte, h, c int) []byte {
	next, prob := f.p.Model.Rows(h).Row(c)
	var lower, upper []float64
	if f.p.Intervals != nil {
		lower, upper = f.p.Intervals.Row(h, c)
	}
	return appendAll(b, "{}", len(next), func(b []byte, i int) []byte {
		if lower == nil || lower[i] == upper[i] && lower[i] == prob[i] {
			return f.next(b, int(next[i]), prob[i])
		}
		b = append(appendLabel(b, f.p.StateName(int(next[i]))), ": ["...)
		b = append(appendNumber(b, lower[i]), ", "...)
		return append(appendNumber(b, upper[i]), ']')
	})
}

// checkIntervals returns an error for intervals that a file cannot hold.
func (f *writer) checkIntervals() error {
	if !f.p.uncertain() {
		return nil
	}
	for h := range f.p.Model.Kernels() {
		rows := f.p.Model.Rows(h)
		for s := range f.p.Model.States() {
			first, end := rows.Choices(s)
			for c := first; c < end; c++ {
				lower, _ := f.p.Intervals.Row(h, c)
				if lower != nil && saysMore(rows, c) {
					return errors.New("state " + f.p.StateName(s) + ", choice " + strconv.Itoa(c-first) +
						": intervals together with returns that depend on the successor have no form in a problem file")
				}
			}
		}
	}
	return nil
}

// boundImported takes down the bounds of a choice of an imported model.
func (r *rowReader) boundImported(m *exchange.Model, s, c, action int) {
	lower, upper := m.Bounds(c)
	if lower == nil {
		return
	}
	bounds := &rowBounds{lower: lower, upper: upper}
	for _, to := range m.Target[m.Offset[c]:m.Offset[c+1]] {
		bounds.next = append(bounds.next, int(to))
	}
	r.bound(&cmdp.Row{Step: cmdp.EveryStep, State: s, Action: action}, bounds)
}

// exportIntervals gives a model for other tools the intervals of the problem.
func (p *Problem) exportIntervals(m *exchange.Model) {
	if !p.uncertain() {
		return
	}
	rows := p.Model.Rows(0)
	for c := range m.Choices() {
		_, prob := rows.Row(c)
		lower, upper := p.Intervals.Row(0, c)
		if lower == nil {
			lower, upper = prob, prob
		}
		m.Lower = append(m.Lower, lower...)
		m.Upper = append(m.Upper, upper...)
	}
}
