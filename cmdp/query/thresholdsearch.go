package query

import (
	"math"
	"slices"

	"cmdpsolve/cmdp/exact"

	"gonum.org/v1/gonum/floats"
)

// A thresholdSearch knows what answers at some thresholds of the worst episodes prove about the others. The mean
// excess E(X − τ)⁺ of every policy falls as τ grows, by no more than τ grows. So a bound of the cost that multipliers
// prove at one threshold is, less a multiple of the distance, one at every other, and so is by how much limits are
// missed (Piyavskii 1972 and Shubert 1972 search Lipschitz functions in this way).
type thresholdSearch struct{ proofs []thresholdProof }

// A thresholdProof is a lower bound at all thresholds: the one at its own, less what it falls by on the way.
type thresholdProof struct {
	infeasible bool // the bound is of what is missed of the limits, else of the cost
	bound      float64
	at         []float64
	// rise and fall are what the bound loses for each unit by which a threshold is greater, or less.
	rise, fall []float64
}

// learn takes down what an answer to a query of the search proves about other thresholds. Its task may have fewer
// limits, or a linear cost on the mean excess of one.
func (s *thresholdSearch) learn(q *Query, r *exact.Result) {
	var proof thresholdProof
	var price, slope []float64 // of the target, and of the cost
	switch {
	case r.Status == exact.Infeasible && r.Certificate != nil && len(r.Certificate.Without) == 0:
		c := r.Certificate
		proof.infeasible, proof.bound, price = true, c.Value-c.Support-c.Margin, c.Direction
		slope = make([]float64, len(price))
	case r.Status != exact.Infeasible && r.Proof != nil && len(r.Proof.Without) == 0:
		proof.bound, price = r.Proof.Bound, r.Proof.Psi
		slope = make([]float64, len(price))
		for i, w := range r.Proof.Weights {
			floats.AddScaled(slope, w, r.Proof.Subgradients[i])
		}
	default:
		return
	}
	var coordinates []int
	for _, l := range q.Of(WorstEpisodes) {
		i := l.expected.coordinate
		if i < q.compiled.declared || slices.Contains(coordinates, i) {
			return // what is asked of it elsewhere does not move with this threshold
		}
		coordinates = append(coordinates, i)
		// The mean excess moves by a unit at most, and so does the most that the limit and the box allow of it.
		rise := math.Abs(slope[i]+price[i]) + math.Abs(price[i])
		fall := rise
		if slope[i] >= 0 && price[i] >= 0 && l.expected.bound <= q.Task.Box.Upper()[i] {
			// It falls as the threshold grows, and what the limit allows, which is what counts of limit and box, falls
			// by Share for each unit.
			rise, fall = slope[i]+(1-l.Share)*price[i], l.Share*price[i]
		}
		if l.AtLeast { // thresholds are mirrored
			rise, fall = fall, rise
		}
		proof.at = append(proof.at, l.Threshold)
		proof.rise, proof.fall = append(proof.rise, rise), append(proof.fall, fall)
	}
	s.proofs = append(s.proofs, proof)
}

// bounds returns lower bounds at some thresholds: of the cost, −Inf without one, and of what is missed of the limits,
// which is 0 unless it is proved that no policy keeps them.
func (s *thresholdSearch) bounds(thresholds []float64) (cost, missed float64) {
	const rounding = 1e-9 // of what is lost on the way
	cost = math.Inf(-1)
	once := 1.0 // what is missed of limits that are about one mean excess here counts once, and elsewhere for each
	if distinct := slices.Compact(slices.Sorted(slices.Values(thresholds))); len(distinct) < len(thresholds) {
		once = math.Sqrt(float64(len(thresholds)))
	}
	for _, p := range s.proofs {
		lost := 0.0
		for i, x := range thresholds {
			lost += max(p.rise[i]*(x-p.at[i]), p.fall[i]*(p.at[i]-x))
		}
		switch bound := p.bound - (1+rounding)*lost; {
		case p.infeasible:
			missed = max(missed, bound/once)
		default:
			cost = max(cost, bound)
		}
	}
	return cost, missed
}

// improves reports whether an answer with these bounds may be better than one that is known, see better.
func improves(found *exact.Result, cost, missed float64) bool {
	const nearer = 1 - 1e-6 // nothing is gained by returns that miss the limits by as little less
	switch {
	case missed > 0:
		return found.Status == exact.Infeasible && missed < nearer*found.Violation
	case found.Status == exact.Stopped && found.HasPolicy():
		return cost < found.Objective
	case keepsLimits(found):
		return found.Status != exact.Unbounded && cost < found.Objective-found.Gap
	}
	return true
}

// coarseFirst lists the numbers below n: both ends, then those half-way between the ones before.
func coarseFirst(n int) []int {
	order := []int{0}
	if n > 1 {
		order = append(order, n-1)
	}
	for between := [][2]int{{0, n - 1}}; len(between) > 0; between = between[1:] {
		low, high := between[0][0], between[0][1]
		if high-low < 2 {
			continue
		}
		middle := (low + high) / 2
		order = append(order, middle)
		between = append(between, [2]int{low, middle}, [2]int{middle, high})
	}
	return order
}
