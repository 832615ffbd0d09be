package cost_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// gridBest returns the largest dual·y − f(y) on a fine grid of a box with two sides.
func gridBest(c cost.Cost, box *geometry.Box, dual []float64) float64 {
	const n = 60
	best, lower, upper, y := math.Inf(-1), box.Lower(), box.Upper(), make([]float64, 2)
	for i := range n + 1 {
		for j := range n + 1 {
			y[0] = lower[0] + (upper[0]-lower[0])*float64(i)/n
			y[1] = lower[1] + (upper[1]-lower[1])*float64(j)/n
			best = math.Max(best, dual[0]*y[0]+dual[1]*y[1]-c.Value(y))
		}
	}
	return best
}

// TestConjugateAgainstGrid compares with brute force, also for duals far outside
// the ball, where costs over a box still answer and combinations rely on it.
func TestConjugateAgainstGrid(t *testing.T) {
	box := newBox(t, []float64{-1, 0}, []float64{1, 3})
	for _, entry := range cost.Registry() {
		rng := rand.New(rand.NewPCG(3, 5))
		for range 8 {
			c, err := entry.Random(box, rng)
			if err != nil {
				t.Fatal(err)
			}
			for range 6 {
				dual := []float64{rng.NormFloat64(), rng.NormFloat64()}
				scale := 3 * rng.Float64()
				slack := 1e-9
				if _, ok := c.(*cost.Distance); ok {
					// The support function is at least the conjugate over the box, in the unit
					// ball only (erratum E-29); the two differ for sets outside the box.
					scale = 1 / math.Hypot(dual[0], dual[1])
					slack = math.Inf(1)
				}
				dual[0] *= scale
				dual[1] *= scale
				got, grid := cost.ConjugateValue(c, dual), gridBest(c, box, dual)
				// The grid misses the maximum by at most its width times the slope.
				width := math.Hypot(2./60, 3./60)
				if got < grid-1e-8 || got > grid+width*(c.Lipschitz()+math.Hypot(dual[0], dual[1]))+slack {
					t.Errorf("%s %T: dual %v: conjugate %v, on a grid %v", entry.Name, c, dual, got, grid)
				}
			}
		}
	}
}

// TestBiconjugate: g(x) is the maximum of θ·x − g*(θ) over the ball of radius
// Lipschitz, which is what lets a learner work with the conjugate alone.
func TestBiconjugate(t *testing.T) {
	costs, n := 6, 48
	if testing.Short() {
		costs, n = 2, 16
	}
	box := newBox(t, []float64{0, -1}, []float64{2, 1})
	for _, entry := range cost.Registry() {
		rng := rand.New(rand.NewPCG(11, 5))
		for range costs {
			c, err := entry.Random(box, rng)
			if err != nil {
				t.Fatal(err)
			}
			x := []float64{2 * rng.Float64(), 2*rng.Float64() - 1}
			best := math.Inf(-1)
			for i := range n + 1 {
				for j := range n {
					r, a := c.Lipschitz()*float64(i)/float64(n), 2*math.Pi*float64(j)/float64(n)
					dual := []float64{r * math.Cos(a), r * math.Sin(a)}
					best = math.Max(best, dual[0]*x[0]+dual[1]*x[1]-cost.ConjugateValue(c, dual))
				}
			}
			f, tolerance := c.Value(x), c.Lipschitz()*math.Hypot(2, 2)*4/float64(n)
			if best > f+1e-7 || best < f-tolerance {
				t.Errorf("%s %T: value %v, biconjugate on a grid %v (± %v)", entry.Name, c, f, best, tolerance)
			}
		}
	}
}

// TestBallRadius is the test of erratum E-10: for g = 2|x − 1| a ball of radius 1
// gives half the value, one of radius Lipschitz = 2 gives all of it.
func TestBallRadius(t *testing.T) {
	box := newBox(t, []float64{0}, []float64{5})
	norm, err := cost.NewNorm(1, []float64{1}, box)
	if err != nil {
		t.Fatal(err)
	}
	g, err := cost.NewScaled(2, norm, box)
	if err != nil {
		t.Fatal(err)
	}
	if g.Lipschitz() != 2 {
		t.Errorf("Lipschitz constant %g, want 2", g.Lipschitz())
	}
	for radius, want := range map[float64]float64{1: 1.5, 2: 3} {
		best := math.Inf(-1)
		for k := -100; k <= 100; k++ {
			dual := radius * float64(k) / 100
			best = math.Max(best, dual*2.5-cost.ConjugateValue(g, []float64{dual}))
		}
		if math.Abs(best-want) > 1e-12 {
			t.Errorf("radius %g gives %g, want %g", radius, best, want)
		}
	}
}

// TestLinearTies is the formula of erratum E-22.
func TestLinearTies(t *testing.T) {
	box := newBox(t, []float64{0, 0, 0, 0}, []float64{7, 7, 7, 7})
	c, err := cost.NewLinear([]float64{1, 1, 1, 1}, box)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float64, 4)
	c.ConjugateSubgradient(got, []float64{2, 0.5, 1, 1}, []float64{3, 3, 3, 9})
	for i, want := range []float64{7, 0, 3, 7} {
		if got[i] != want {
			t.Errorf("coordinate %d is %g, want %g", i, got[i], want)
		}
	}
}

// TestObliqueHalfSpace is the test of erratum E-05: the distance to an oblique
// half-space cut by the box of returns is not that to the half-space.
func TestObliqueHalfSpace(t *testing.T) {
	box := newBox(t, []float64{0, 0}, []float64{2, 2})
	half, err := geometry.NewHalfspace([]float64{2, -1}, -1.5)
	if err != nil {
		t.Fatal(err)
	}
	set, err := geometry.Restrict(half, box)
	if err != nil {
		t.Fatal(err)
	}
	c, err := cost.NewDistance(set)
	if err != nil {
		t.Fatal(err)
	}
	x := []float64{1.9, 1.9}
	if d := c.Value(x); math.Abs(d-1.6530) > 5e-5 {
		t.Errorf("distance %.6f, want 1.6530", d)
	}
	best := math.Inf(-1)
	for k := range 4000 {
		a := 2 * math.Pi * float64(k) / 4000
		dual := []float64{math.Cos(a), math.Sin(a)}
		best = math.Max(best, dual[0]*x[0]+dual[1]*x[1]-cost.ConjugateValue(c, dual))
	}
	if math.Abs(best-c.Value(x)) > 1e-3 {
		t.Errorf("biconjugate %.6f, distance %.6f", best, c.Value(x))
	}
}
