package markov

import (
	"context"
	"math"
	"slices"
)

// SimultaneousTotals finds the policies of least expected totals in several directions in one pass over the rows of a
// model, and what these policies return: for each state, the values of all directions stand side by side. It is
// [LeastTotal] without a discount, with the same policy iteration and perturbation, of a model in which nothing is
// merged and components have few states: in large ones directions hardly ever have the same policy, so that they could
// not share its linear system. Where a policy would go on for ever it gives up.
type SimultaneousTotals struct {
	Quotient *Quotient
	// Directions hold, for each return, its weight in each direction.
	Directions []Lanes
	Progress   Progress
	// Solved, if not nil, is called with each component [lo, hi) that is solved, while a cache holds its rows.
	Solved func(lo, hi int32)

	// What Solve finds, of each state and, as 0, at rest:
	Values  []Lanes           // at most their backups
	Returns []Lanes           // all returns of the policies, those of a state side by side
	Policy  [][NumLanes]int32 // the index of a choice in Quotient.Choice

	system   denseFactors       // of a policy in a component
	proper   []int32            // a policy that comes to rest
	rounding float64            // more than what rounding takes from a sum of numbers of the size 1
	right    [denseStates]Lanes // right-hand sides of a component
}

// Simultaneous returns the simultaneous program of a quotient for models with dim returns, or nil where it does not
// apply. It starts from the policy of the solver.
func (z *LeastTotal) Simultaneous(dim int) *SimultaneousTotals {
	q := z.Quotient
	if z.gamma < 1 || len(q.Merged) > 0 || len(q.ZeroStates) > 0 || z.Cancels() || z.improper >= 0 {
		return nil
	}
	for i, hi := range q.Component[1:] {
		if hi-q.Component[i] > denseStates {
			return nil
		}
	}
	out := &SimultaneousTotals{Quotient: q, Directions: make([]Lanes, dim),
		proper: slices.Clone(z.Policy), rounding: z.roundingShare()}
	out.Values = make([]Lanes, q.Rest+1)
	out.Returns = make([]Lanes, int(q.Rest+1)*dim)
	out.Policy = make([][NumLanes]int32, q.Rest)
	if slices.Contains(z.Policy, -1) {
		return nil
	}
	out.beginWithProper(0, q.Rest)
	return out
}

// beginWithProper makes the policies of the states [lo, hi) one that comes to rest.
func (z *SimultaneousTotals) beginWithProper(lo, hi int32) {
	for s, i := range z.proper[lo:hi] {
		z.Policy[lo+int32(s)] = [NumLanes]int32{i, i, i, i}
	}
}

// Solve finds values, policies and returns for the directions. It reports false where it gives up.
func (z *SimultaneousTotals) Solve(ctx context.Context) (bool, error) {
	q := z.Quotient
	for i := range len(q.Component) - 1 {
		lo, hi := q.Component[i], q.Component[i+1]
		if i%1024 == 0 {
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			z.Progress.At(findingValues, float64(lo)/float64(q.Rest), int(q.Rest))
		}
		ok := false
		if hi == lo+1 {
			ok = z.solveState(lo)
		} else {
			ok = z.solveComponent(lo, hi)
		}
		if !ok {
			z.beginWithProper(lo, hi)
			return false, nil
		}
		if z.Solved != nil {
			z.Solved(lo, hi)
		}
	}
	return true, nil
}

// backup is Backup of choice i in state s.
func (z *SimultaneousTotals) backup(s, i, lo, hi int32, base *Lanes) (sum, size Lanes, out float64) {
	c := z.Quotient.Choice[i]
	to, prob := z.Quotient.row(c)
	returns := z.Quotient.Kernel.ReturnsOf(int(c), len(z.Directions))
	return Backup(z.Directions, returns, z.Values, to, prob, s, lo, hi, base)
}

// solveState treats a component of one state.
func (z *SimultaneousTotals) solveState(s int32) bool {
	q, inf := z.Quotient, math.Inf(1)
	best := &z.Values[s]
	*best = Lanes{inf, inf, inf, inf}
	for i := q.First[s]; i < q.First[s+1]; i++ {
		if z.relax(s, i) == 0 { // for ever, which is fine at a price
			x, size, _ := z.backup(s, i, s, s+1, &noLanes)
			x = x.AddScaled(-cancellation, size)
			if !(min(x.A, x.B, x.C, x.D) > 0) {
				return false
			}
		}
	}
	return best.A < inf && best.B < inf && best.C < inf && best.D < inf // some may overflow where others do not
}

// relax makes choice i that of state s, a component, in the directions in which it is better than what the state has.
// It returns how likely the choice leaves the state, and does nothing if that is 0.
func (z *SimultaneousTotals) relax(s, i int32) (out float64) {
	q, d := z.Quotient, len(z.Directions)
	to, prob := q.row(q.Choice[i])
	returns, of := q.Kernel.ReturnsOf(int(q.Choice[i]), d), z.Returns[int(s)*d:][:d]
	if vectors && len(to) > 0 { // no branch on what is better, which would be guessed wrong
		return relaxVector(&z.Directions[0], &returns[0], d, &z.Values[0], &z.Returns[0], &to[0], &prob[0], len(to), s,
			i, z.rounding, &z.Values[s], &of[0], &z.Policy[s])
	}
	x, size, out := z.backup(s, i, s, s+1, &noLanes)
	if out == 0 {
		return 0
	}
	// Of the same size again is what the value weighs.
	x = x.AddScaled(-z.rounding, size.AddScaled(1, x.Magnitudes())).Over(out)
	var better [NumLanes]bool
	old := z.Values[s].Array()
	for l, y := range x.Array() {
		if y < old[l] {
			better[l], z.Policy[s][l] = true, i
		}
	}
	z.Values[s].set(better, x)
	z.setReturns(s, i, s, s+1, better)
	for k := range of {
		of[k].set(better, of[k].Over(out))
	}
	return out
}

// setReturns sets the returns from state s in some directions, in which the policy takes choice i there: those of a
// step, and those to come from states outside of [lo, hi).
func (z *SimultaneousTotals) setReturns(s, i, lo, hi int32, in [NumLanes]bool) {
	q, d := z.Quotient, len(z.Directions)
	to, prob := q.row(q.Choice[i])
	for k, r := range q.Kernel.ReturnsOf(int(q.Choice[i]), d) {
		x := Lanes{r, r, r, r}
		for j, n := range to {
			if n < lo || n >= hi {
				x = x.AddScaled(prob[j], z.Returns[int(n)*d+k])
			}
		}
		z.Returns[int(s)*d+k].set(in, x)
	}
}

// solveComponent finds policies in the component [lo, hi) by policy iteration. Directions with the same policy share
// its linear system; all begin with the policy of the first.
func (z *SimultaneousTotals) solveComponent(lo, hi int32) bool {
	for s := lo; s < hi; s++ {
		i := z.Policy[s][0]
		z.Policy[s] = [NumLanes]int32{i, i, i, i}
	}
	const most = 1000
	open, rounds := [NumLanes]bool{true, true, true, true}, 0
	for first := range NumLanes {
		for open[first] {
			rounds++
			if rounds > most {
				return false
			}
			group := z.samePolicy(lo, hi, first, open)
			if !z.loadPolicy(lo, hi, first) {
				return false
			}
			z.evaluate(lo, hi, first, group)
			changed := z.improve(lo, hi, first, group)
			done := group
			for l, c := range changed {
				done[l] = done[l] && !c
				open[l] = open[l] && !done[l]
			}
			if l := slices.Index(done[:], true); l >= 0 {
				z.evaluateReturns(lo, hi, l, done)
			}
		}
	}
	return true
}

// samePolicy returns which open directions have the policy of direction l.
func (z *SimultaneousTotals) samePolicy(lo, hi int32, l int, open [NumLanes]bool) [NumLanes]bool {
	for s := lo; s < hi; s++ {
		for k, i := range z.Policy[s] {
			open[k] = open[k] && i == z.Policy[s][l]
		}
	}
	return open
}

// loadPolicy eliminates the system of the policy of direction l. It reports false where the policy may stay for ever.
func (z *SimultaneousTotals) loadPolicy(lo, hi int32, l int) bool {
	q, f := z.Quotient, &z.system
	f.start(int(hi - lo))
	for s := lo; s < hi; s++ {
		to, prob := q.row(q.Choice[z.Policy[s][l]])
		for j, n := range to {
			switch {
			case n == s:
			case n >= lo && n < hi:
				f.row[s-lo][n-lo] += prob[j]
			default:
				f.leak[s-lo] += prob[j]
			}
		}
	}
	return f.eliminate()
}

// evaluate sets the values of a group of directions to those of the policy of direction l, whose system is loaded. What
// choices are made cheaper by depends on values, so that it is done again where these were far from what they are.
func (z *SimultaneousTotals) evaluate(lo, hi int32, l int, group [NumLanes]bool) {
	const rounds = 8
	right := z.right[:hi-lo]
	for moved, n := true, 0; moved && n < rounds; n++ {
		for s := lo; s < hi; s++ {
			x, size, out := z.backup(s, z.Policy[s][l], lo, hi, &noLanes)
			right[s-lo] = x.AddScaled(-z.rounding, size.AddScaled(out, z.Values[s].Magnitudes()))
		}
		z.system.solveLanes(right)
		moved = false
		for s := lo; s < hi; s++ {
			x := right[s-lo]
			change := x.Minus(z.Values[s]).Magnitudes().AddScaled(-0.5, x.Magnitudes())
			for k, y := range change.Array() {
				moved = moved || group[k] && y > 0
			}
			z.Values[s].set(group, x)
		}
	}
}

// improve changes the policies of a group of directions, which are that of direction l, in a component wherever a
// choice is better by more than half of what it is made cheaper by. It returns in which directions one is.
func (z *SimultaneousTotals) improve(lo, hi int32, l int, group [NumLanes]bool) (changed [NumLanes]bool) {
	for s := lo; s < hi; s++ {
		now, least, old := z.Policy[s][l], [NumLanes]float64{}, z.Values[s]
		for i := z.Quotient.First[s]; i < z.Quotient.First[s+1]; i++ {
			if i == now {
				continue
			}
			gain, size, out := z.backup(s, i, 0, 0, &z.Values[s])
			charge := Lanes{}.AddScaled(z.rounding, size.AddScaled(out, old.Magnitudes()))
			better := gain.AddScaled(-0.5, charge)
			if better.A >= 0 && better.B >= 0 && better.C >= 0 && better.D >= 0 {
				continue
			}
			// x is what it would give the state if it is taken for good
			for k, x := range gain.Minus(charge).Over(out).Array() {
				if group[k] && better.Array()[k] < 0 && x < least[k] {
					least[k], z.Policy[s][k], changed[k] = x, i, true
				}
			}
		}
	}
	return changed
}

// evaluateReturns sets the returns of a group of directions, whose policies are that of direction l, whose system is
// loaded.
func (z *SimultaneousTotals) evaluateReturns(lo, hi int32, l int, group [NumLanes]bool) {
	d, right := len(z.Directions), z.right[:hi-lo]
	for s := lo; s < hi; s++ {
		z.setReturns(s, z.Policy[s][l], lo, hi, group)
	}
	for k := range d {
		for s := range right {
			right[s] = z.Returns[(int(lo)+s)*d+k]
		}
		z.system.solveLanes(right)
		for s, x := range right {
			z.Returns[(int(lo)+s)*d+k].set(group, x)
		}
	}
}
