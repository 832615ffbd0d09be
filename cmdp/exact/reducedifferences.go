package exact

import (
	"context"
	"math"
	"slices"

	"cmdpsolve/cmdp/markov"

	"gonum.org/v1/gonum/floats"
)

// A visitedColumn is a column of a mixture that is made narrower, with its visits.
type visitedColumn struct {
	column
	weight float64
	visits []float32 // of each state in which policies of the mixture differ
}

// A narrowing replaces policies of a mixture by policies between two of them.
type narrowing struct {
	p         *infiniteHorizon
	mix       []*visitedColumn
	apart     []int32 // states in which they differ, which policies between them do not elsewhere
	face      face    // what has to stay the same
	allowance float64 // what the cost may still grow by
	rounds    int
	// in how many states any two policies of the mixture differ, added up, which falls with each replacement
	differences int
	kept        map[[2]*columnPolicy]bool // pairs between which no policy was found that brings the mixture together
}

// reduceDifferences replaces policies of a mixture by policies between two of them, until all differ in few states, see
// partialSwitch. Purification then has few states to look at. What the face preserves stays the same. The cost may
// grow by allowance in all; it is the same up to rounding for all policies between two best ones. It ends when there is
// no policy between two of them that helps and purification takes no longer. The face that it returns has the slack
// that is left.
func (p *infiniteHorizon) reduceDifferences(ctx context.Context, columns []column, weights []float64, f face,
	allowance float64) (narrow []column, shares []float64, left face, err error) {
	const most = 200
	w, err := p.newNarrowing(ctx, columns, weights, f, allowance)
	for more := true; more && err == nil && w.rounds < most; {
		kept := len(w.kept)
		more, err = w.bringTogether(ctx)
		if len(w.kept) > kept && !p.narrowsFirst(w.columns()) {
			break
		}
	}
	if err != nil {
		return nil, nil, f, err
	}
	for _, h := range w.mix {
		shares = append(shares, h.weight)
	}
	return w.columns(), shares, w.face, nil
}

// columns returns the policies of the mixture.
func (w *narrowing) columns() (out []column) {
	for _, h := range w.mix {
		out = append(out, h.column)
	}
	return out
}

func (p *infiniteHorizon) newNarrowing(ctx context.Context, columns []column, weights []float64, f face,
	allowance float64) (*narrowing, error) {
	f.inequalities = slices.Clone(f.inequalities) // whose offsets change on the way
	w := &narrowing{p: p, face: f, allowance: allowance, kept: make(map[[2]*columnPolicy]bool)}
	for s := range p.m.States() {
		s := int32(s)
		if slices.ContainsFunc(columns, func(c column) bool { return c.actionAt(s) != columns[0].actionAt(s) }) {
			w.apart = append(w.apart, s)
		}
	}
	for j, c := range columns {
		x, err := p.visits(ctx, &markov.Rule{Actions: *c.policy.actions()}, enoughDigits(p.tolerance))
		if err != nil {
			return nil, err
		}
		w.mix = append(w.mix, &visitedColumn{c, weights[j], w.visitsApart(x)})
	}
	w.differences = w.countDifferences(w.mix)
	return w, nil
}

// bringTogether looks for a policy between the two that differ most, and reports whether there are more such pairs.
// A policy that took the place of a third one, which was as near, would leave the two as far apart: it would be
// found again and again.
func (w *narrowing) bringTogether(ctx context.Context) (more bool, err error) {
	const few = 1
	a, b, differ := w.mostDifferent()
	if len(differ) <= few {
		return false, nil
	}
	guess := w.rounds%3 < 2
	w.rounds++
	// Where half of the way costs more, the other half costs less.
	for _, ends := range [][2]*visitedColumn{{a, b}, {b, a}} {
		between, forever, err := w.partialSwitch(ctx, ends[0], ends[1], differ, guess)
		if err != nil {
			return false, err
		}
		if forever {
			continue
		}
		next, grown := w.pivotIn(between)
		if next == nil || !(grown <= w.allowance) {
			continue
		}
		if left := w.countDifferences(next); left < w.differences {
			w.replace(next, grown)
			w.differences = left
			return true, nil
		}
	}
	w.kept[[2]*columnPolicy{a.policy, b.policy}] = true
	return true, nil
}

// replace makes next the mixture, which costs more by grown.
func (w *narrowing) replace(next []*visitedColumn, grown float64) {
	w.allowance -= math.Max(0, grown)
	change := minus(meanOf(next), meanOf(w.mix))
	for i, r := range w.face.inequalities {
		w.face.inequalities[i].Offset -= floats.Dot(r.Normal, change)
	}
	w.mix = next
}

// crossover returns the policy that does as the first of two in the last of the states in which they differ, and as
// the second in the others, so many of them as its weight is; nil if it does not come to rest as they do.
func (p *policyEvaluator) crossover(ctx context.Context, columns []column, weights []float64) (*column, error) {
	a, b := columns[0].policy.actions(), columns[1].policy.actions()
	var differ []int32
	for _, s := range p.quotient.Origin {
		if a.At(int(s)) != b.At(int(s)) {
			differ = append(differ, s)
		}
	}
	policy := a.Clone()
	for _, s := range differ[int(weights[0]*float64(len(differ))):] {
		policy.Set(int(s), b.At(int(s)))
	}
	returns, err := p.evaluate(ctx, &Policy{steps: []markov.Rule{{Actions: policy}}})
	if err != nil || slices.ContainsFunc(returns, func(x float64) bool { return !isFinite(x) }) {
		return nil, err
	}
	p.lastEvaluated = &evaluatedPolicy{&markov.Rule{Actions: policy}, slices.Clone(returns)}
	return &column{returns: returns, policy: knownPolicy(&policy)}, nil
}

// mostDifferent returns the two policies, of pairs that are not kept, that differ in most of the states that either
// visits, and the places of these states in apart.
func (w *narrowing) mostDifferent() (a, b *visitedColumn, differ []int32) {
	for i, x := range w.mix {
		for _, y := range w.mix[:i] {
			if w.kept[[2]*columnPolicy{x.policy, y.policy}] {
				continue
			}
			if places := w.differing(x, y); len(places) > len(differ) {
				a, b, differ = x, y, places
			}
		}
	}
	return a, b, differ
}

// differing returns the places in apart of the states in which two policies differ, of those that either visits.
func (w *narrowing) differing(x, y *visitedColumn) (places []int32) {
	for j, s := range w.apart {
		if x.actionAt(s) != y.actionAt(s) && (x.visits[j] > 0 || y.visits[j] > 0) {
			places = append(places, int32(j))
		}
	}
	return places
}

// countDifferences returns in how many states any two policies of a mixture differ, added up.
func (w *narrowing) countDifferences(mix []*visitedColumn) (sum int) {
	for i, x := range mix {
		for _, y := range mix[:i] {
			sum += len(w.differing(x, y))
		}
	}
	return sum
}

// partialSwitch returns the policy that does as b in the first of the states of apart in which they differ, and as a
// elsewhere: in half of them or, if guess is true, as far as makes up for the weight of b, and a little
// farther. forever reports that it does not come to rest as a and b do.
func (w *narrowing) partialSwitch(ctx context.Context, a, b *visitedColumn, differ []int32,
	guess bool) (h *visitedColumn, forever bool, err error) {
	policy, first := a.policy.actions().Clone(), len(differ)/2
	if guess {
		left := 0.0
		for _, j := range differ {
			left += float64(a.visits[j] + b.visits[j])
		}
		left *= math.Min(0.9, 1.5*b.weight/(a.weight+b.weight)+1/math.Sqrt(float64(len(differ))))
		for first = 1; first < len(differ)-1 && left > 0; first++ {
			left -= float64(a.visits[differ[first-1]] + b.visits[differ[first-1]])
		}
	}
	for _, j := range differ[:first] {
		s := int(w.apart[j])
		policy.Set(s, b.actionAt(int32(s)))
	}
	st := &markov.Rule{Actions: policy}
	x, err := w.p.visits(ctx, st, enoughDigits(w.p.tolerance))
	if err != nil {
		return nil, false, err
	}
	h = &visitedColumn{column{returns: w.p.sumReturns(st, x), policy: knownPolicy(&policy)}, 0, w.visitsApart(x)}
	return h, len(x.Recurrent) > 0, nil
}

// visitsApart returns visits of the states of apart, which are above 0 where x is, in half the memory.
func (w *narrowing) visitsApart(x *markov.Occupancy) []float32 {
	out := make([]float32, len(w.apart))
	for j, s := range w.apart {
		if y := w.p.visitsTo(x, s); y > 0 {
			out[j] = float32(min(max(y, math.SmallestNonzeroFloat32), math.MaxFloat32))
		}
	}
	return out
}

// pivotIn gives a new policy as much weight as it can take from the others while what the face preserves
// stays the same, so that one of them drops out. It returns the growth of the cost. It returns nil if there is
// no such exchange.
func (w *narrowing) pivotIn(h *visitedColumn) (next []*visitedColumn, grown float64) {
	f, all := w.face, append(slices.Clone(w.mix), h)
	n := len(all)
	if len(f.equalities)+1 >= n {
		return nil, 0
	}
	matrix := make([][]float64, len(f.equalities)+1)
	for i := range matrix {
		matrix[i] = make([]float64, n)
		for j, o := range all {
			matrix[i][j] = 1
			if i < len(f.equalities) {
				// Returns count from those of the new one, for the sake of small differences.
				matrix[i][j] = floats.Dot(f.equalities[i].Normal, minus(o.returns, h.returns)) / f.equalities[i].scale
			}
		}
	}
	k := nullVector(matrix, n, 1e-13)
	if k[n-1] < 0 {
		k = scaled(-1, k)
	}
	step, out := math.Inf(1), -1
	for j, x := range k[:n-1] {
		if x < 0 && all[j].weight < -x*step {
			step, out = all[j].weight/-x, j
		}
	}
	if out < 0 || !(k[n-1] > 0) {
		return nil, 0
	}
	before := meanOf(w.mix)
	for j, o := range all {
		if j != out {
			next = append(next, &visitedColumn{o.column, math.Max(0, o.weight+step*k[j]), o.visits})
		}
	}
	change := minus(meanOf(next), before)
	for _, r := range f.inequalities {
		if !(floats.Dot(r.Normal, change) <= r.Offset) {
			return nil, 0
		}
	}
	return next, floats.Dot(f.cost, change)
}

// meanOf returns the returns of a mixture.
func meanOf(mix []*visitedColumn) []float64 {
	v := make([]float64, len(mix[0].returns))
	for _, h := range mix {
		floats.AddScaled(v, h.weight, h.returns)
	}
	return v
}
