package baseline

import "math"

// Confidence radii of one transition probability with frequency prob after a
// number of visits, and of one mean in [0,1]; docs/algorithms.md says which
// algorithm uses which. They are scaled by the factor of the bonus scale.
type (
	transitionRadius func(prob, visits float64) float64
	meanRadius       func(visits float64) float64
)

// bernsteinRadius returns the empirical Bernstein radius
//
//	factor·(2√(p̄(1−p̄)L/n) + (14/3)L/n)
//
// (Maurer, Pontil 2009, Theorem 4, simplified as in Efroni, Mannor, Pirotta 2020).
func bernsteinRadius(factor, logTerm float64) transitionRadius {
	return func(prob, visits float64) float64 {
		n := max(1, visits)
		return factor * (2*math.Sqrt(prob*(1-prob)*logTerm/n) + 14./3*logTerm/n)
	}
}

// plainRadii returns factor·(√(p̄(1−p̄)/n) + 1/n) and factor/n, which the code around OptCMDP
// uses in experiments.
func plainRadii(factor float64) (transitionRadius, meanRadius) {
	return func(prob, visits float64) float64 {
		n := max(1, visits)
		return factor * (math.Sqrt(prob*(1-prob)/n) + 1/n)
	}, func(visits float64) float64 { return factor / max(1, visits) }
}

// hoeffdingRadius returns factor·√(2L/n).
func hoeffdingRadius(factor, logTerm float64) meanRadius {
	return func(visits float64) float64 { return factor * math.Sqrt(2*logTerm/max(1, visits)) }
}

// totalRadius returns Σ_{s'} of the radius over all possible successors of a row.
func totalRadius(r *row, states int, radius transitionRadius) float64 {
	if r.closed {
		states = len(r.next)
	}
	return wholeRadius(r, states, radius)
}

// wholeRadius returns Σ_{s'} of the radius over all states.
func wholeRadius(r *row, states int, radius transitionRadius) float64 {
	sum := float64(states-len(r.next)) * radius(0, r.visits)
	for _, p := range r.prob[:len(r.next)] {
		sum += radius(p, r.visits)
	}
	return sum
}
