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
	// AtLeast and AtMost, if not nil, bound the count at the end of every episode: choices after which chance alone may break
	// the bound are not offered. One of them at most may be given.
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

// A Tally is the model that a TallySpec describes. It tells counts apart for as long as it is open on which side of a cut, or
// of a bound, they end. Each state of the base has one pair for each count that is told apart at some step, after one for
// all that are below and before one for all that are above. It is immutable.
type Tally struct {
	TallySpec
	first   []int      // of each state, its first pair
	least   []int32    // and the least count that is told apart
	apart   [][]Levels // of each step and one more, of each state: the counts that come up and are told apart
	allowed [][]Levels // of each step, the counts for which each choice is offered; nil if all are
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
	case len(spec.Amount) != len(m.kernels) || len(spec.Final) == 0:
		return nil, errors.New("cmdp: tally: want amounts for each kernel, and final returns")
	case spec.AtLeast != nil && spec.AtMost != nil:
		return nil, errors.New("cmdp: tally: want a bound on one side of the count")
	}
	largest := int64(0)
	for _, f := range spec.Final {
		largest = max(largest, int64(f.Cut), -int64(f.Cut))
	}
	for h, amounts := range spec.Amount {
		if len(amounts) != len(m.kernels[h].Next) {
			return nil, fmt.Errorf("cmdp: tally: %d amounts for %d transitions", len(amounts), len(m.kernels[h].Next))
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

// amountAt returns the amounts of step h.
func (t *Tally) amountAt(h int) []int32 { return t.Amount[min(h, len(t.Amount)-1)] }

// Pairs returns the number of pairs.
func (t *Tally) Pairs() int { return t.first[t.Base.states] }

// Below and Above return the pairs of a state for the counts that are below, or above, those that are told apart. The pairs of a
// state have the numbers from Below to Above.
func (t *Tally) Below(s int) int { return t.first[s] }

// Above: see Below.
func (t *Tally) Above(s int) int { return t.first[s+1] - 1 }

// Index returns the pair of a state and a count that is told apart.
func (t *Tally) Index(s int, count int32) int { return t.first[s] + 1 + int(count-t.least[s]) }

// State returns the state of the base that a pair is about, and the count. These are Below and Above of the state where counts
// are not told apart.
func (t *Tally) State(pair int) (state int, count int32) {
	s, found := slices.BinarySearch(t.first, pair)
	if !found {
		s--
	}
	return s, t.least[s] + int32(pair-t.first[s]-1)
}

// Apart returns, for each state, the counts that come up before step h, of which there is one more than the horizon, and that are
// told apart.
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

// keep finds out, from the last step to the first, for which counts each choice keeps the bounds whatever chance does. It reports
// whether they can be kept at all.
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
		k, amounts := m.Kernel(h), t.amountAt(h)
		t.allowed[h] = make([]Levels, len(k.Offset)-1)
		for s := range now {
			now[s] = after[s]
			if k.First[s] < k.First[s+1] {
				now[s] = none
			}
			for i := k.First[s]; i < k.First[s+1]; i++ {
				in := all
				for e := k.Offset[i]; e < k.Offset[i+1]; e++ {
					if to := after[k.Next[e]]; k.Prob[e] > 0 {
						in = in.And(Levels{max(all.Least, to.Least-amounts[e]), min(all.Most, to.Most-amounts[e])})
					}
				}
				t.allowed[h][i] = in
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
		k, amounts, before := m.Kernel(h-1), t.amountAt(h-1), slices.Repeat([]Levels{none}, m.states)
		for s := range before {
			if k.First[s] == k.First[s+1] {
				before[s] = rest[s]
			}
			for e := k.Offset[k.First[s]]; e < k.Offset[k.First[s+1]]; e++ {
				if come := rest[k.Next[e]]; k.Prob[e] > 0 {
					before[s] = before[s].or(Levels{come.Least + amounts[e], come.Most + amounts[e]})
				}
			}
		}
		rest = before
	}
}

// reach leaves the counts that come up, and numbers the pairs.
func (t *Tally) reach() {
	m := t.Base
	now, hull := slices.Repeat([]Levels{none}, m.states), slices.Repeat([]Levels{none}, m.states)
	for _, st := range m.start {
		now[st.State] = Levels{0, 0}
	}
	for h, apart := range t.apart {
		for s, counts := range now {
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
		k, amounts, then := m.Kernel(h), t.amountAt(h), slices.Repeat([]Levels{none}, m.states)
		for s, counts := range now {
			if k.First[s] == k.First[s+1] {
				then[s] = then[s].or(counts)
			}
			for i := k.First[s]; i < k.First[s+1]; i++ {
				in := counts.And(t.Allowed(h, int(i)))
				for e := k.Offset[i]; e < k.Offset[i+1] && in.Least <= in.Most; e++ {
					if k.Prob[e] > 0 {
						then[k.Next[e]] = then[k.Next[e]].or(Levels{in.Least + amounts[e], in.Most + amounts[e]})
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

// Model returns the tally as a model, whose rows are not stored: Kernel panics. The promise bounds the return still to come
// at any moment, see [ShapeSpec], for the returns of Final on both sides.
func (t *Tally) Model(promise *Interval) (*Model, error) {
	m := t.Base
	out := &Model{horizon: m.horizon, discount: 1, dim: len(t.Columns), states: t.Pairs(), tally: t}
	if n := max(out.states, out.Choices()); n > math.MaxInt32 {
		return nil, fmt.Errorf("cmdp: tally: %d pairs of a state and a count, with %d choices: more than can be numbered", out.states, out.Choices())
	}
	for _, st := range m.start {
		out.start = append(out.start, StartState{t.At(0, st.State, 0), st.Probability})
	}
	spec := ShapeSpec{Horizon: m.horizon, Dim: out.dim, Start: out.start, ReturnToGo: promise}
	for h := range m.kernels {
		k := &m.kernels[h]
		first := make([]int32, 1, out.states+1)
		for s := range m.states {
			for range t.first[s+1] - t.first[s] {
				first = append(first, first[len(first)-1]+k.First[s+1]-k.First[s])
			}
		}
		spec.First = append(spec.First, first)
		spec.Returns = append(spec.Returns, t.stepRange(k, promise))
	}
	var err error
	out.shape, err = NewShape(spec)
	return out, err
}

// stepRange bounds what a step returns. A return that comes at the end comes in any of them.
func (t *Tally) stepRange(k *Kernel, promise *Interval) Interval {
	of := k.returnRange(t.Base.dim)
	out := Interval{make([]float64, len(t.Columns)), make([]float64, len(t.Columns))}
	for j, i := range t.Columns {
		if i < t.Base.dim {
			out.Lower[j], out.Upper[j] = of.Lower[i], of.Upper[i]
		} else {
			out.Lower[j], out.Upper[j] = promise.Lower[j], promise.Upper[j]
		}
	}
	return out
}

// sum adds up what the kernels of the base have in each state, for all pairs.
func (t *Tally) sum(of func(k *Kernel, s int) int) int {
	n := 0
	for h := range t.Base.kernels {
		for s := range t.Base.states {
			n += of(&t.Base.kernels[h], s) * (t.first[s+1] - t.first[s])
		}
	}
	return n
}
