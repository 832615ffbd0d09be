package monitor

import (
	"errors"
	"math"
	"slices"
	"strings"

	"cmdpsolve/cmdp"
)

// A generated product is one whose model is a cmdp.Tally: a budget counts in the product of the base and all other
// monitors.
type generated struct {
	tally  *cmdp.Tally
	budget *Budget
	rest   *ProductModel // nil where there are no other monitors
}

// mostTallyActions bounds the actions of a state, whose numbers package exact keeps in a byte for each pair and step.
const mostTallyActions = 256

// sparseCounts is how many counts a tally may have for each pair that comes up: where most counts never come up, rows
// of those that do are stored.
const sparseCounts = 64

// generate returns the product without its rows, or nil where it is small or they have to be stored: rows are
// those of the base, shifted, if there is one budget, of a return of the model, and what is enforced bounds it
// on one side.
func generate(spec Spec) (*ProductModel, error) {
	m := spec.Model
	if spec.Generate == 0 || m.Horizon() == 0 || m.Shape().Game() || m.Shape().MaxActions() > mostTallyActions {
		return nil, nil
	}
	at, rest := -1, []Monitor(nil)
	for i, mon := range spec.Monitors {
		if b, ok := mon.(*Budget); !ok {
			rest = append(rest, mon)
		} else if at >= 0 || b.coordinate >= m.Dim() {
			return nil, nil
		} else {
			at = i
		}
	}
	if at < 0 || slices.ContainsFunc(spec.Enforced, func(i int) bool { return i != at }) {
		return nil, nil
	}
	g := &generated{budget: spec.Monitors[at].(*Budget)}
	p := &ProductModel{exploration: newExploration(spec), generated: g}
	of := cmdp.TallySpec{Base: m}
	if rest != nil {
		var err error
		g.rest, err = New(Spec{Model: m, Monitors: rest, Bytes: spec.Bytes})
		if err != nil {
			return nil, err
		}
		of.Base = g.rest.Model
	}
	of.Columns = p.tallyColumns(at)
	if !g.describe(&of, len(spec.Enforced) > 0) {
		return nil, nil
	}
	var err error
	g.tally, err = cmdp.NewTally(of)
	if errors.Is(err, cmdp.ErrBroken) {
		start := of.Base.StartStates()[0].State
		p.Losing = &LosingState{g.state(start), ""}
		of.AtLeast, of.AtMost = nil, nil
		g.tally, err = cmdp.NewTally(of)
	}
	if err != nil {
		return nil, nil // amounts that are too large for it
	}
	pairs := g.tally.Pairs()
	if pairs <= spec.Generate || g.bytes(m) > spec.Bytes ||
		newExploration(spec).fewPairs(max(spec.Generate, pairs/sparseCounts), spec.Bytes) {
		return nil, nil
	}
	p.Model, err = g.tally.Model(g.totals(of.Columns))
	return p, err
}

// tallyColumns returns the columns in the numbers of a tally, whose final returns, those of monitor number at,
// come last.
func (p *ProductModel) tallyColumns(at int) []int {
	from, n := p.offset[at], p.monitors[at].Rewards()
	out := slices.Clone(p.columns)
	for j, c := range out {
		switch {
		case c >= from+n:
			out[j] = c - n
		case c >= from:
			out[j] = c - from + len(p.returns) - n
		}
	}
	return out
}

// describe sets amounts, counts and final returns, and reports whether a tally can have them.
func (g *generated) describe(of *cmdp.TallySpec, enforced bool) bool {
	b := g.budget
	for h := range of.Base.Kernels() {
		rows, amounts := of.Base.Rows(h), []int32(nil)
		for s := range of.Base.States() {
			for c, end := rows.Choices(s); c < end; c++ {
				next, _ := rows.Row(c)
				amounts = append(amounts, make([]int32, len(next))...)
				row := amounts[len(amounts)-len(next):]
				b.choice(rows, c, func(e, n int) { row[e] = int32(min(max(n, math.MinInt32), math.MaxInt32)) })
			}
		}
		of.Amount = append(of.Amount, amounts)
	}
	for _, l := range b.limits {
		if l.cut != int(int32(l.cut)) {
			return false
		}
		f, cut := cmdp.FinalReturn{Cut: int32(l.cut)}, int32(l.cut)
		switch l.Kind {
		case Above, AtLeast:
			f.High.At0 = 1
		case Excess:
			f.High = cmdp.Line{At0: -l.At, Slope: b.size}
		case Shortfall:
			f.Low = cmdp.Line{At0: l.At, Slope: -b.size}
		}
		of.Final = append(of.Final, f)
		switch high := l.Kind == AtLeast || l.Kind == Shortfall; {
		case !enforced || !l.Enforced:
		case high && (of.AtLeast == nil || cut+1 > *of.AtLeast):
			above := cut + 1
			of.AtLeast = &above
		case !high && (of.AtMost == nil || cut < *of.AtMost):
			of.AtMost = &cut
		}
	}
	return of.AtLeast == nil || of.AtMost == nil
}

// bytes estimates the memory of planning: the values and occupancies of two steps, in two blocks, the choices
// of each pair, and three policies.
func (g *generated) bytes(m *cmdp.Model) int {
	pairs, bits := g.tally.Pairs(), 1
	for 1<<bits < m.Shape().MaxActions() {
		bits *= 2
	}
	return pairs * (32 + 4*m.Kernels() + 3*m.Horizon()*bits/8)
}

// fewPairs reports whether no more than so many pairs come up, whose rows take no more than so many bytes.
func (w exploration) fewPairs(most, bytes int) bool {
	w.most = most
	return w.explore(bytes) == nil
}

// totals bounds the returns of an episode. Final returns are piecewise linear.
func (g *generated) totals(columns []int) cmdp.Interval {
	sh, d := g.tally.Base.Shape(), g.tally.Base.Dim()
	least, most := g.budget.extremes()
	out := cmdp.Interval{}
	for _, c := range columns {
		lower, upper := 0.0, 0.0
		if c < d {
			lower, upper = promised(sh, c)
		} else {
			f := g.tally.Final[c-d]
			for _, count := range []int32{int32(least), f.Cut, f.Cut + 1, int32(most)} {
				if int(count) >= least && int(count) <= most {
					lower, upper = min(lower, f.At(count)), max(upper, f.At(count))
				}
			}
		}
		out.Lower, out.Upper = append(out.Lower, lower), append(out.Upper, upper)
	}
	return out
}

// state returns the state of the base that a state of the tally's base is about.
func (g *generated) state(s int) int {
	if g.rest != nil {
		return g.rest.State(s)
	}
	return s
}

// memory says what is remembered in a pair.
func (g *generated) memory(pair int) string {
	s, count := g.tally.State(pair)
	memory := int(count)
	switch pair {
	case g.tally.Below(s):
		memory = decided(0)
	case g.tally.Above(s):
		memory = decided(len(g.budget.limits))
	}
	if text := g.budget.Value(memory); g.rest != nil {
		return strings.TrimPrefix(g.rest.Memory(s)+"; "+text, "; ")
	} else {
		return text
	}
}

// remembered lists what is remembered.
func (g *generated) remembered() []Remembered {
	var out []Remembered
	if g.rest != nil {
		out = g.rest.Remembered()
	}
	least, most := int32(math.MaxInt32), int32(math.MinInt32)
	for h := range g.tally.Base.Horizon() + 1 {
		for _, in := range g.tally.Apart(h) {
			if in.Least <= in.Most {
				least, most = min(least, in.Least), max(most, in.Most)
			}
		}
	}
	r := Remembered{Name: g.budget.Name()}
	for count := least; count <= most; count++ {
		r.Values = append(r.Values, g.budget.Value(int(count)))
	}
	if g.tally.AtLeast == nil { // else what is below is never reached
		r.Values = append(r.Values, g.budget.Value(decided(0)))
	}
	if g.tally.AtMost == nil {
		r.Values = append(r.Values, g.budget.Value(decided(len(g.budget.limits))))
	}
	return append(out, r)
}
