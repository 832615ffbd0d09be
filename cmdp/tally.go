package cmdp

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// A TallySpec describes a model with a horizon whose states are pairs of a state of another model and of a count, such
// as the fuel spent so far. The rows of a pair are those of its state, shifted by the count, and so need not be stored.
type TallySpec struct {
	// Base is the model that is counted in. It has a horizon and one player.
	Base *Model
	// Amount holds, for each kernel of Base, by how much each entry changes the count, which starts at 0.
	Amount [][]int32
	// Final are the returns that depend on the count at the end of an episode.
	Final []FinalReturn
	// Columns lists the coordinates of returns by number: those of Base, then those of Final.
	Columns []int
	// AtLeast and AtMost, if not nil, bound the count at the end of every episode: choices after which chance
	// alone may break the bound are not offered. One of them at most may be given.
	AtLeast, AtMost *int32
}

// A FinalReturn depends on the count at the end of an episode: it is Low up to Cut and High above.
type FinalReturn struct {
	Cut       int32
	Low, High Line
}

// A Line is the function At0 + Slope·count.
type Line struct{ At0, Slope float64 }

// At returns the value at a count.
func (f FinalReturn) At(count int32) float64 {
	if count > f.Cut {
		return f.High.at(count)
	}
	return f.Low.at(count)
}

func (l Line) at(count int32) float64 { return l.At0 + float64(l.Slope*float64(count)) }

// A Tally is the model that a TallySpec describes. It tells counts apart for as long as it is open on which
// side of a cut, or of a bound, they end. Each state of the base has one pair for each count that is told apart
// at some step, after one for all that are below and before one for all that are above. It is immutable.
type Tally struct {
	TallySpec
	first   []int      // of each state, its first pair
	least   []int32    // and the least count that is told apart
	apart   [][]Levels // of each step and one more, of each state: the counts that come up and are told apart
	allowed [][]Levels // of each step, the counts for which each choice is offered; nil if all are
	counts  Levels     // those that come up
}

// Levels are the counts from Least to Most, none if Most is Least−1.
type Levels struct{ Least, Most int32 }

// mostCount bounds the magnitude of counts, so that sums of two do not overflow.
const mostCount = 1 << 29

// all and none stand for all counts and for a state that is not reached.
var all, none = Levels{-2 * mostCount, 2 * mostCount}, Levels{2 * mostCount, -2 * mostCount}

// ErrBroken says that no policy is sure to keep the bounds of a count.
var ErrBroken = errors.New("cmdp: no policy keeps the bounds of the count in every episode")

// NewTally returns the tally that spec describes. It returns ErrBroken if no policy keeps the bounds.
func NewTally(spec TallySpec) (*Tally, error) {
	m := spec.Base
	switch {
	case m == nil:
		return nil, errors.New(noModel)
	case m.horizon == 0 || m.shape.Game():
		return nil, errors.New("cmdp: tally: want a model with a horizon and one player")
	case len(spec.Amount) != len(m.rows) || len(spec.Final) == 0:
		return nil, errors.New("cmdp: tally: want amounts for each kernel, and final returns")
	case spec.AtLeast != nil && spec.AtMost != nil:
		return nil, errors.New("cmdp: tally: want a bound on one side of the count")
	}
	largest := int64(0)
	for _, f := range spec.Final {
		largest = max(largest, int64(f.Cut), -int64(f.Cut))
	}
	for h, amounts := range spec.Amount {
		if n := m.rows[h].transitions(); len(amounts) != n {
			return nil, fmt.Errorf("cmdp: tally: %d amounts for %d transitions", len(amounts), n)
		}
		for _, a := range amounts {
			largest = max(largest, int64(m.horizon)*max(int64(a), -int64(a)))
		}
	}
	if largest >= mostCount/2 {
		return nil, errors.New("cmdp: tally: counts are too large")
	}
	t := &Tally{TallySpec: spec}
	if !t.keep() {
		return nil, ErrBroken
	}
	t.tellApart()
	t.reach()
	return t, nil
}

// Amounts returns by how much the entries of the row of a choice of the base at step h change the count.
func (t *Tally) Amounts(h, choice int) []int32 {
	first, end := t.Base.Rows(h).kernel.Entries(choice)
	return t.Amount[min(h, len(t.Amount)-1)][first:end]
}

// Pairs returns the number of pairs.
func (t *Tally) Pairs() int { return t.first[t.Base.states] }

// Below and Above return the pairs of a state for the counts that are below, or above, those that are told
// apart. The pairs of a state have the numbers from Below to Above.
func (t *Tally) Below(s int) int { return t.first[s] }

// Above: see Below.
func (t *Tally) Above(s int) int { return t.first[s+1] - 1 }

// Index returns the pair of a state and a count that is told apart.
func (t *Tally) Index(s int, count int32) int { return t.first[s] + 1 + int(count-t.least[s]) }

// State returns the state of the base that a pair is about, and the count. These are Below and Above of the
// state where counts are not told apart.
func (t *Tally) State(pair int) (state int, count int32) {
	s, found := slices.BinarySearch(t.first, pair)
	if !found {
		s--
	}
	return s, t.least[s] + int32(pair-t.first[s]-1)
}

// Apart returns, for each state, the counts that come up before step h, of which there is one more than the
// horizon, and that are told apart.
func (t *Tally) Apart(h int) []Levels { return t.apart[h] }

// Reached reports whether a state is reached; it may be that no counts are told apart then.
func (a Levels) Reached() bool { return a != none }

// Allowed returns the counts for which a choice of step h is offered.
func (t *Tally) Allowed(h, choice int) Levels {
	if t.allowed == nil {
		return all
	}
	return t.allowed[h][choice]
}

// And returns the counts that are in both.
func (a Levels) And(b Levels) Levels { return Levels{max(a.Least, b.Least), min(a.Most, b.Most)} }

// or returns the smallest range that contains both.
func (a Levels) or(b Levels) Levels {
	if b.Least > b.Most {
		return a
	}
	return Levels{min(a.Least, b.Least), max(a.Most, b.Most)}
}

// keep finds out, from the last step to the first, for which counts each choice keeps the bounds whatever
// chance does. It reports whether they can be kept at all.
func (t *Tally) keep() bool {
	m, sure := t.Base, all
	switch {
	case t.AtMost != nil:
		sure.Most = *t.AtMost
	case t.AtLeast != nil:
		sure.Least = *t.AtLeast
	default:
		return true
	}
	after, now := slices.Repeat([]Levels{sure}, m.states), make([]Levels, m.states)
	t.allowed = make([][]Levels, m.horizon)
	for h := m.horizon - 1; h >= 0; h-- {
		rows := m.Rows(h)
		t.allowed[h] = make([]Levels, rows.choices())
		for s := range now {
			now[s] = after[s]
			first, end := rows.Choices(s)
			if first < end {
				now[s] = none
			}
			for c := first; c < end; c++ {
				in := all
				next, prob := rows.Row(c)
				amounts := t.Amounts(h, c)
				for e, to := range next {
					if to := after[to]; prob[e] > 0 {
						in = in.And(Levels{max(all.Least, to.Least-amounts[e]), min(all.Most, to.Most-amounts[e])})
					}
				}
				t.allowed[h][c] = in
				now[s] = now[s].or(in) // without a gap between them: all are open on the same side
			}
		}
		after, now = now, after
	}
	for _, st := range m.start {
		if in := after[st.State]; st.Probability > 0 && (in.Least > 0 || in.Most < 0) {
			return false
		}
	}
	return true
}

// tellApart finds the counts that are to be told apart at each step: those from which the count can end on either side
// of a cut.
func (t *Tally) tellApart() {
	m, cuts := t.Base, none
	for _, f := range t.Final {
		cuts = cuts.or(Levels{f.Cut, f.Cut})
	}
	if t.AtMost != nil {
		cuts = cuts.or(Levels{*t.AtMost, *t.AtMost})
	}
	if t.AtLeast != nil {
		cuts = cuts.or(Levels{*t.AtLeast - 1, *t.AtLeast - 1})
	}
	t.apart = make([][]Levels, m.horizon+1)
	rest := make([]Levels, m.states) // the least and the most that may still come
	for h := m.horizon; ; h-- {
		t.apart[h] = make([]Levels, m.states)
		for s, come := range rest {
			t.apart[h][s] = Levels{cuts.Least - come.Most + 1, cuts.Most - come.Least}
		}
		if h == 0 {
			return
		}
		rows, before := m.Rows(h-1), slices.Repeat([]Levels{none}, m.states)
		for s := range before {
			first, end := rows.Choices(s)
			if first == end {
				before[s] = rest[s]
			}
			for c := first; c < end; c++ {
				next, prob := rows.Row(c)
				amounts := t.Amounts(h-1, c)
				for e, to := range next {
					if come := rest[to]; prob[e] > 0 {
						before[s] = before[s].or(Levels{come.Least + amounts[e], come.Most + amounts[e]})
					}
				}
			}
		}
		rest = before
	}
}

// reach leaves the counts that come up, and numbers the pairs.
func (t *Tally) reach() {
	m := t.Base
	t.counts = none
	now, hull := slices.Repeat([]Levels{none}, m.states), slices.Repeat([]Levels{none}, m.states)
	for _, st := range m.start {
		now[st.State] = Levels{0, 0}
	}
	for h, apart := range t.apart {
		for s, counts := range now {
			t.counts = t.counts.or(counts)
			switch open := apart[s]; {
			case counts == none:
				apart[s] = none
			case counts.Most < open.Least:
				apart[s].Most = open.Least - 1
			case counts.Least > open.Most:
				apart[s].Least = open.Most + 1
			default:
				apart[s] = open.And(counts)
			}
			hull[s] = hull[s].or(apart[s])
		}
		if h == m.horizon {
			break
		}
		rows, then := m.Rows(h), slices.Repeat([]Levels{none}, m.states)
		for s, counts := range now {
			first, end := rows.Choices(s)
			if first == end {
				then[s] = then[s].or(counts)
			}
			for c := first; c < end; c++ {
				in := counts.And(t.Allowed(h, c))
				if in.Least > in.Most {
					continue
				}
				next, prob := rows.Row(c)
				amounts := t.Amounts(h, c)
				for e, to := range next {
					if prob[e] > 0 {
						then[to] = then[to].or(Levels{in.Least + amounts[e], in.Most + amounts[e]})
					}
				}
			}
		}
		now = then
	}
	t.first, t.least = make([]int, m.states+1), make([]int32, m.states)
	for s, in := range hull {
		if in.Least > in.Most {
			in = Levels{0, -1}
		}
		t.least[s], t.first[s+1] = in.Least, t.first[s]+int(in.Most-in.Least)+3
	}
}

// At returns the pair of a state and any count at step h, of which there is one more than the horizon.
func (t *Tally) At(h, s int, count int32) int {
	switch in := t.apart[h][s]; {
	case count < in.Least:
		return t.Below(s)
	case count > in.Most:
		return t.Above(s)
	}
	return t.Index(s, count)
}

// Model returns the tally as a model, whose rows are generated: those of a pair are made when they are asked
// for. A base that rests has one choice in each of its pairs, and a choice that is not [Tally.Allowed] for a
// count has a row without successors. Pairs that do not come up at a step have no choices there. The totals
// bound the return of an episode, and those of Base are promised, see [ShapeSpec].
func (t *Tally) Model(totals Interval) (*Model, error) {
	m := t.Base
	out := &Model{horizon: m.horizon, discount: 1, dim: len(t.Columns), states: t.Pairs(), random: true, tally: t}
	if n := max(out.states, out.Choices()); n > math.MaxInt32 {
		return nil, fmt.Errorf("cmdp: tally: %d pairs of a state and a count, with %d choices: more than can be "+
			"numbered", out.states, out.Choices())
	}
	for _, st := range m.start {
		out.start = append(out.start, StartState{t.At(0, st.State, 0), st.Probability})
	}
	spec := ShapeSpec{Horizon: m.horizon, Dim: out.dim, Start: out.start, Totals: &totals, ReturnToGo: t.promise()}
	for h := range m.rows {
		first := make([]int32, 1, out.states+1)
		for s := range m.states {
			n := int32(t.offered(h, s))
			for range t.first[s+1] - t.first[s] {
				first = append(first, first[len(first)-1]+n)
			}
		}
		spec.First = append(spec.First, first)
		spec.Returns = append(spec.Returns, t.stepRange(h))
	}
	var err error
	out.shape, err = NewShape(spec)
	return out, err
}

// offered returns how many choices each pair of a state of the base has at step h.
func (t *Tally) offered(h, s int) int {
	first, end := t.Base.Rows(h).Choices(s)
	return max(1, end-first)
}

// promise is that of the base. What a final return pays is not bounded from any step on: it is paid as soon as
// it is known on which side of the cuts the count ends, and then changed.
func (t *Tally) promise() *Interval {
	of, d := t.Base.shape.toGo, t.Base.dim
	out := &Interval{}
	for _, i := range t.Columns {
		lower, upper := math.Inf(-1), math.Inf(1)
		if i < d && of != nil {
			lower, upper = of.Lower[i], of.Upper[i]
		}
		out.Lower, out.Upper = append(out.Lower, lower), append(out.Upper, upper)
	}
	return out
}

// stepRange bounds what a step returns.
func (t *Tally) stepRange(h int) Interval {
	d, of := t.Base.dim, t.Base.rows[h].kernel.returnRange(t.Base.dim)
	least, most := int32(0), int32(0) // by which a step changes the count
	for _, amount := range t.Amount[h] {
		least, most = min(least, amount), max(most, amount)
	}
	var out Interval
	for _, i := range t.Columns {
		lower, upper := math.Inf(1), math.Inf(-1)
		add := func(values ...float64) {
			lower, upper = min(lower, slices.Min(values)), max(upper, slices.Max(values))
		}
		if i < d {
			add(of.Lower[i], of.Upper[i])
			if t.Base.shape.Rests(h) { // which is a choice here
				add(0)
			}
		} else {
			add(0)
			for _, line := range []Line{t.Final[i-d].Low, t.Final[i-d].High} {
				add(line.at(t.counts.Least), line.at(t.counts.Most), line.at(least), line.at(most))
				add(line.Slope*float64(least), line.Slope*float64(most))
			}
		}
		out.Lower, out.Upper = append(out.Lower, lower), append(out.Upper, upper)
	}
	return out
}

// sum adds up what of says of each state at the kernels of the base, for all pairs.
func (t *Tally) sum(of func(h, s int) int) int {
	n := 0
	for h := range t.Base.rows {
		for s := range t.Base.states {
			n += of(h, s) * (t.first[s+1] - t.first[s])
		}
	}
	return n
}

// A tallyRows makes the rows of a step of a tally, those of one pair at a time.
type tallyRows struct {
	t     *Tally
	h     int
	last  bool // it is the last step
	first []int32
	base  *Rows
	state int // of the base, of which a pair was asked for last
}

// The sides of the counts that are told apart.
const (
	below = iota - 1
	apart
	above
)

// rows returns the rows of step h of the tally's model m.
func (t *Tally) rows(m *Model, h int) *Rows {
	return &Rows{first: make([]int32, 2), dim: len(t.Columns), kernel: Kernel{Outcomes: []float64{}},
		tally: &tallyRows{t: t, h: h, last: h == m.horizon-1, first: m.shape.firstAt(h), base: t.Base.Rows(h)}}
}

// generate makes the rows of a pair, whose choices begin at r.first[0].
func (r *Rows) generate(pair int) {
	g, k := r.tally, &r.kernel
	t := g.t
	if pair < t.first[g.state] || pair >= t.first[g.state+1] {
		g.state, _ = t.State(pair)
	}
	s, in := g.state, t.apart[g.h][g.state]
	count, side := t.least[s]+int32(pair-t.first[s]-1), apart
	switch pair {
	case t.Below(s):
		side = below
	case t.Above(s):
		side = above
	}
	r.from, r.first[0], r.first[1] = int(g.first[pair]), g.first[pair], g.first[pair]
	if !in.Reached() || side == apart && (count < in.Least || count > in.Most) {
		return
	}
	k.Offset, k.Next, k.Prob, k.Returns, k.Outcomes = append(k.Offset[:0], 0), k.Next[:0], k.Prob[:0], k.Returns[:0],
		k.Outcomes[:0]
	c, last := g.base.Choices(s)
	if c == last { // the count changes no more, but may be told apart no more, or come to its end
		g.entry(k, -1, 0, s, count, 0, 1, side)
		g.mean(k, -1)
	}
	for ; c < last; c++ {
		if allowed := t.Allowed(g.h, c); side != apart || allowed.Least <= count && count <= allowed.Most {
			next, prob := g.base.Row(c)
			amounts := t.Amounts(g.h, c)
			for e, to := range next {
				if prob[e] > 0 {
					g.entry(k, c, e, int(to), count, amounts[e], prob[e], side)
				}
			}
		}
		g.mean(k, c)
	}
	r.first[1] += int32(len(k.Offset) - 1)
}

// entry adds a transition to state s of the base, number e of choice c, −1 for rest.
func (g *tallyRows) entry(k *Kernel, c, e, s int, count, amount int32, prob float64, side int) {
	t, to, then := g.t, count+amount, side
	if in := t.apart[g.h+1][s]; side == apart && to < in.Least {
		then = below
	} else if side == apart && to > in.Most {
		then = above
	}
	pair := 0
	switch then {
	case below:
		pair = t.Below(s)
	case above:
		pair = t.Above(s)
	default:
		pair = t.Index(s, to)
	}
	k.Next, k.Prob = append(k.Next, int32(pair)), append(k.Prob, prob)
	for _, i := range t.Columns {
		x := 0.0
		switch d := t.Base.dim; {
		case i >= d:
			x = g.paid(t.Final[i-d], count, amount, side, then)
		case c >= 0:
			x = g.base.Outcome(c, e)[i]
		}
		k.Outcomes = append(k.Outcomes, x)
	}
}

// paid returns what a transition pays of a final return: all that it comes to so far once it is known on which
// side of the cuts the count ends, and from then on what each step changes.
func (g *tallyRows) paid(f FinalReturn, count, amount int32, side, then int) float64 {
	line := f.Low
	if then == above {
		line = f.High
	}
	switch {
	case side == apart && then != apart:
		return line.at(count + amount)
	case side == apart && g.last:
		return f.At(count + amount)
	case side == apart:
		return 0
	case g.h == 0: // an episode that begins on a side
		return line.at(amount)
	}
	return line.Slope * float64(amount)
}

// mean ends the row of a choice of the base, −1 for rest, and adds its expected returns.
func (g *tallyRows) mean(k *Kernel, c int) {
	d, from := len(g.t.Columns), k.Offset[len(k.Offset)-1]
	for j, i := range g.t.Columns {
		if c >= 0 && i < g.t.Base.dim {
			k.Returns = append(k.Returns, g.base.Returns(c)[i])
			continue
		}
		mean, least, most := 0.0, math.Inf(1), math.Inf(-1)
		for e := from; e < len(k.Next); e++ {
			x := k.Outcomes[e*d+j]
			mean += float64(k.Prob[e] * x)
			least, most = min(least, x), max(most, x)
		}
		if least <= most { // probabilities may sum to 1 but for rounding
			mean = max(least, min(most, mean))
		}
		k.Returns = append(k.Returns, mean)
	}
	k.Offset = append(k.Offset, len(k.Next))
}

// transitions returns how many successors each pair of a state of the base has at step h.
func (t *Tally) transitions(h, s int) int {
	rows := t.Base.Rows(h)
	first, end := rows.Choices(s)
	if first == end {
		return 1
	}
	_, last := rows.kernel.Entries(end - 1)
	return last - rows.Entry(first)
}

// tables returns the expected returns of all choices at each step. Those of choices that are not offered are
// the least of the step, and those of pairs that do not come up are cut to its bounds.
func (t *Tally) tables(m *Model) [][]float64 {
	tables := make([][]float64, m.horizon)
	for h := range tables {
		rows := m.Rows(h)
		least, most := m.shape.StepReturns(h)
		tables[h] = slices.Repeat(least, m.shape.StepChoices(h))
		for s := range m.states {
			for c, end := rows.Choices(s); c < end; c++ {
				next, _ := rows.Row(c)
				for i, x := range rows.Returns(c) {
					if len(next) > 0 {
						tables[h][c*m.dim+i] = max(least[i], min(most[i], x))
					}
				}
			}
		}
	}
	return tables
}
