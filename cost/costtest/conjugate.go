package costtest

import (
	"fmt"
	"math"

	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

func inRange(t *trial) error {
	for range t.Rounds {
		dual, near := t.dual(), t.near()
		y := t.conjugate(dual, near)
		if gap := oracle.Distance(t.Range, y); !t.within(gap, 0, floats.Norm(y, 2)) {
			return fmt.Errorf("dual %v gives %v, at distance %g from the range", dual, y, gap)
		}
	}
	return nil
}

// conjugateInequality is f*(θ) ≥ θ·v − f(v) for all v of the domain, where f*(θ)
// is attained at the returned point. Points beside that point matter most: a
// maximum of a concave function is found out by its neighbours.
func conjugateInequality(t *trial) error {
	for range t.Rounds {
		dual, near := t.dual(), t.near()
		y := t.conjugate(dual, near)
		claimed := floats.Dot(dual, y) - t.Cost.Value(y)
		for k := range 12 {
			v := t.point()
			if k < 8 {
				v = t.beside(y)
			}
			other := floats.Dot(dual, v) - t.Cost.Value(v)
			if !t.within(other, claimed, t.size(dual, y)) {
				return fmt.Errorf("dual %v gives %v with value %g, but %v has %g", dual, y, claimed, v, other)
			}
		}
	}
	return nil
}

// fenchelYoung is f(x) + f*(θ) = θ·x where θ is a subgradient at x. It ties
// Value, Subgradient and ConjugateSubgradient together.
func fenchelYoung(t *trial) error {
	for range t.Rounds {
		x := t.inside()
		dual := t.subgradient(x)
		if floats.Norm(dual, 2) > t.DualRadius {
			continue // a rounding above the constant
		}
		y := t.conjugate(dual, t.near())
		product, fx := floats.Dot(dual, x), t.Cost.Value(x)
		conjugate := floats.Dot(dual, y) - t.Cost.Value(y)
		if !t.within(math.Abs(fx+conjugate-product), 0, t.size(dual, x)+t.size(dual, y)) {
			return fmt.Errorf("at %v with subgradient %v: f = %g and f* = %g (at %v), their sum should be %g",
				x, dual, fx, conjugate, y, product)
		}
	}
	return nil
}

// nearestTie follows from the answer being a projection on the set of
// maximisers: a maximiser is its own answer, and no other answer is nearer.
func nearestTie(t *trial) error {
	if !t.NearestTies {
		return nil
	}
	for range t.Rounds {
		dual, near := t.dual(), t.near()
		y := t.conjugate(dual, near)
		if again := t.conjugate(dual, y); !t.within(floats.Distance(again, y, 2), 0, 1e3*floats.Norm(y, 2)) {
			return fmt.Errorf("dual %v gives %v, which from there on gives %v", dual, y, again)
		}
		other := t.conjugate(dual, t.near())
		if !t.within(floats.Distance(y, near, 2), floats.Distance(other, near, 2), 1e3*floats.Norm(near, 2)) {
			return fmt.Errorf("dual %v near %v gives %v, but the answer %v is nearer", dual, near, y, other)
		}
	}
	return nil
}
