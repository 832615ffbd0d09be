package cmdp

import (
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// TestEvidenceOfOnePoint gives each dual update one achievable point v, so that the best optimistic value of a
// direction θ is ⟨θ, v⟩. The gap is then at most what separates v from the target along the direction that
// comes with it, and exactly that where no cost takes part. The bound is at most the cost of v where v is in
// the target.
func TestEvidenceOfOnePoint(t *testing.T) {
	rng := rand.New(rand.NewPCG(30, 4))
	proved := 0
	for seed := range uint64(60) {
		m := randomModel(t, seed, 3, 2, 3, true)
		lower, upper := m.Shape().Totals()
		v, low, up := make([]float64, 3), make([]float64, 3), make([]float64, 3)
		for i := range v {
			size := upper[i] - lower[i]
			low[i] = lower[i] + size*rng.Float64()/2
			up[i] = low[i] + size*rng.Float64()/3
			v[i] = lower[i] + size*rng.Float64()
			if seed%4 == 0 {
				v[i] = low[i] + rng.Float64()*(up[i]-low[i])
			}
		}
		box, err := geometry.NewBox(low, up)
		if err != nil {
			t.Fatal(err)
		}
		set, err := geometry.Restrict(box, boxOf(t, m.Shape()))
		if err != nil {
			t.Fatal(err)
		}
		goal := linear(t, m.Shape(), rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64())
		terms := func(task Task, rule PenaltyRule) DualUpdate {
			u := newDual(t, m.Shape(), task, &Penalty{Rule: rule, Rho: 0})
			return u
		}
		inside := geometry.Contains(set, v, 0)
		mean, along := make([]float64, 3), []float64(nil) // of what was played, and the projection's direction
		for name, u := range map[string]DualUpdate{
			"projection": NewProjectionDual(set), "free": terms(Task{Target: set}, PenaltyNone),
			"cost":   terms(Task{Cost: goal}, PenaltyNone),
			"double": terms(Task{Cost: goal, Target: set}, PenaltyDoubling),
		} {
			for k := range 60 {
				at := v
				if k%3 == 1 { // what was played need not be what was planned
					at = []float64{lower[0], upper[1], lower[2]}
				}
				along = append(along[:0], u.Direction()...)
				ev := u.Observe(at, floats.Dot(u.Direction(), v))
				for i := range mean {
					mean[i] = (mean[i]*float64(k) + at[i]) / float64(k+1)
				}
				if name == "projection" {
					away := make([]float64, 3)
					for i, x := range mean {
						away[i] = x - min(max(x, low[i], lower[i]), up[i], upper[i])
					}
					if n := floats.Norm(away, 2); n > 1e-9 { // else the direction stays
						floats.ScaleTo(along, 1/n, away)
					}
					if !floats.EqualApprox(u.Direction(), along, 1e-5) {
						t.Fatalf("seed %d, episode %d: direction %v: want %v", seed, k+1, u.Direction(), along)
					}
				}
				if name != "projection" && name != "free" && (inside || name == "cost") &&
					ev.Optimum > goal.Value(v)+1e-9 {
					t.Errorf("seed %d, %s, episode %d: the bound %g is above the cost %g", seed, name, k+1, ev.Optimum,
						goal.Value(v))
				}
				if math.IsInf(ev.Gap, -1) {
					continue
				}
				most := 0.0
				for i, x := range ev.Direction {
					most += math.Max(x*low[i], x*up[i])
				}
				apart := (floats.Dot(ev.Direction, v) - most) / floats.Norm(ev.Direction, 2)
				if ev.Gap > apart+1e-9 || name != "double" && ev.Gap < apart-1e-9 {
					t.Errorf("seed %d, %s, episode %d: gap %g, but its direction tells %g apart", seed, name, k+1,
						ev.Gap, apart)
				}
				if ev.Gap > 0 {
					proved++
				}
			}
		}
	}
	if proved < 1000 {
		t.Errorf("%d gaps were proved: want more, to compare", proved)
	}
}
