package query

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp/exact"

	"gonum.org/v1/gonum/floats"
)

// TestPricesBelowTheNoise: a price that changes the optimum by no more than the certified gap, or a billionth,
// over all returns that are possible, is shown as 0; one whose extent is not known stays, and so does every
// digit for programs.
func TestPricesBelowTheNoise(t *testing.T) {
	for _, c := range []struct {
		bound, price, scale, want float64
	}{
		{2 + 1e-6, 1e-7, 9, 0}, {2 + 1e-6, 1e-7, 11, 1e-7}, {2 + 1e-6, 1e-7, 0, 1e-7},
		{2, 1.9e-10, 10, 0}, {2, 2.1e-10, 10, 2.1e-10},
	} {
		s := Standing{Price: c.price, Scale: c.scale}
		s.setNoise(&exact.Result{Objective: 2, Bound: c.bound})
		if got := s.Shown(); got != c.want || s.Price != c.price {
			t.Errorf("%+v is shown as %g", c, got)
		}
	}
}

// TestStandingsMakeUpTheDual draws prices, returns and duals. The prices of all limits, in units of the bounds on
// expected returns, and those of a curved target are the dual; slack and scale are of the same units.
func TestStandingsMakeUpTheDual(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 45))
	for trial := range 100 {
		share := []float64{0.1, 0.25, 1}[rng.IntN(3)]
		q := parsed(t, fmt.Sprintf(walk, "{gain: {}, much: {exceeds: {return: gain, limit: 4}}}", fmt.Sprintf(
			"constraints: [{return: gain, at_least: 0.5, at_most: 7}, {return: gain, at_least: 3, always: true}, "+
				"{return: much, at_most: 0.7}, "+
				"{return: gain, at_most: 7.5, cvar: %g}]\ntarget: {ball: {center: [3, 0.2], radius: 2}}", share)))
		r := &exact.Result{Status: exact.Optimal}
		for range q.Returns {
			r.Dual = append(r.Dual, rng.NormFloat64())
			r.Returns = append(r.Returns, rng.NormFloat64())
		}
		for _, row := range q.Task.Constraints {
			price := rng.Float64()
			r.Prices = append(r.Prices, exact.Price{Constraint: row, Value: price, Multiplier: price})
		}
		if n := len(q.Standings(r)); n != len(q.Limits)+1 { // and that of the ball
			t.Errorf("trial %d: %d standings of %d limits", trial, n, len(q.Limits))
		}
		sum, sides := make([]float64, len(q.Returns)), q.Scale()
		for _, s := range q.Standings(r) {
			if s.Limit != nil && s.Limit.Scope == EveryEpisode {
				continue // whose row is one of chance
			}
			if s.Limit == nil {
				for i, x := range s.Prices {
					sum[i] += x
				}
				continue
			}
			unit, sign := 1.0, 1.0
			if s.Limit.Scope == WorstEpisodes {
				unit = share
			}
			if s.Limit.expected.atLeast {
				sign = -1
			}
			i := s.Limit.Coordinate()
			sum[i] += sign * s.Price / unit
			slack := sign * (s.Limit.expected.bound - r.Returns[i])
			if math.Abs(unit*s.Slack-slack) > 1e-12 || math.Abs(unit*s.Scale-sides[i]) > 1e-12*sides[i] {
				t.Errorf("trial %d: %s: slack %g of %g: want %g of %g, over %g", trial, s.Limit.Name, s.Slack, s.Scale,
					slack, sides[i], unit)
			}
		}
		for k, l := range q.Rows() {
			if l.Scope == EveryEpisode {
				floats.AddScaled(sum, r.Prices[k].Value, r.Prices[k].Normal)
			}
		}
		for i, x := range sum {
			if math.Abs(x-r.Dual[i]) > 1e-12 {
				t.Errorf("trial %d: prices make up %v: want %v", trial, sum, r.Dual)
				break
			}
		}
	}
}
