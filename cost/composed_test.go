package cost

import (
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A composed cost comes with what it is composed of: its value, and a Lipschitz constant by the rules for sums,
// maxima and linear maps.
type composed struct {
	cost      Cost
	value     func(x []float64) float64
	lipschitz float64
}

// drawComposed draws a cost over a domain, nested up to the given depth. Weights of 0 and 1, constants and copies of
// one cost are common.
func drawComposed(t *testing.T, rng *rand.Rand, domain *geometry.Box, depth int) composed {
	t.Helper()
	r := newDraw(domain, rng)
	done := func(c Cost, err error, value func(x []float64) float64, lipschitz float64) composed {
		if err != nil {
			t.Fatal(err)
		}
		return composed{c, value, lipschitz}
	}
	if depth == 0 {
		if rng.IntN(3) == 0 {
			gradient, offset := r.vector(), rng.NormFloat64()
			if rng.IntN(2) == 0 {
				clear(gradient)
			}
			c, err := NewAffine(gradient, offset, domain)
			return done(c, err, func(x []float64) float64 { return floats.Dot(gradient, x) + offset },
				floats.Norm(gradient, 2))
		}
		c, err := r.closed()
		if err != nil {
			t.Fatal(err)
		}
		return composed{c, c.Value, c.Lipschitz()}
	}
	weight := func() float64 { return []float64{0, 1, 0.5, 3 * rng.Float64()}[rng.IntN(4)] }
	if rng.IntN(3) == 0 {
		matrix, offset := mat.NewDense(2, len(r.lower), nil), []float64{rng.NormFloat64(), rng.NormFloat64()}
		rows, lower, upper := make([][]float64, 2), []float64{0, 0}, []float64{0, 0}
		for j := range rows {
			rows[j] = r.vector()
			matrix.SetRow(j, rows[j])
			lower[j], upper[j] = geometry.LinearRange(rows[j], r.lower, r.upper)
		}
		image, _ := geometry.NewBox(floats.AddTo(lower, lower, offset), floats.AddTo(upper, upper, offset))
		in := drawComposed(t, rng, image, depth-1)
		c, err := NewPrecomposed(in.cost, rows, offset, domain)
		return done(c, err, func(x []float64) float64 {
			return in.value([]float64{floats.Dot(rows[0], x) + offset[0], floats.Dot(rows[1], x) + offset[1]})
		}, in.lipschitz*mat.Norm(matrix, 2))
	}
	var parts []composed
	var costs []Cost
	var weights []float64
	for range 1 + rng.IntN(3) {
		parts = append(parts, drawComposed(t, rng, domain, depth-1))
		if rng.IntN(4) == 0 {
			parts[len(parts)-1] = parts[0]
		}
		costs, weights = append(costs, parts[len(parts)-1].cost), append(weights, weight())
	}
	most, sum := 0.0, 0.0
	for k, p := range parts {
		most, sum = max(most, p.lipschitz), sum+weights[k]*p.lipschitz
	}
	switch rng.IntN(3) {
	case 0:
		c, err := NewScaled(weights[0], costs[0], domain)
		return done(c, err, func(x []float64) float64 { return weights[0] * parts[0].value(x) },
			weights[0]*parts[0].lipschitz)
	case 1:
		c, err := NewMaximum(costs, domain)
		return done(c, err, func(x []float64) float64 {
			value := math.Inf(-1)
			for _, p := range parts {
				value = max(value, p.value(x))
			}
			return value
		}, most)
	}
	c, err := NewSum(weights, costs, domain)
	return done(c, err, func(x []float64) float64 {
		value := 0.0
		for k, p := range parts {
			value += weights[k] * p.value(x)
		}
		return value
	}, sum)
}

// TestComposed compares nested costs with what they are composed of: values, slopes, and conjugates, which are
// attained and nowhere less than at other points.
func TestComposed(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 2))
	for trial := range 1500 {
		lower := []float64{-1 - rng.Float64(), -rng.Float64()}
		domain, _ := geometry.NewBox(lower, []float64{lower[0] + 2, 3})
		f, r := drawComposed(t, rng, domain, trial%3), newDraw(domain, rng)
		if l := f.cost.Lipschitz(); l > f.lipschitz*(1+1e-9)+1e-12 {
			t.Fatalf("trial %d: %T: Lipschitz constant %g: want at most %g", trial, f.cost, l, f.lipschitz)
		}
		if a, ok := f.cost.(Affine); ok && floats.Norm(a.Gradient(), 2) > 1e-6 {
			if _, err := New(valuesOnly{f.cost}, domain, 0.9*floats.Norm(a.Gradient(), 2)); err == nil {
				t.Fatalf("trial %d: a Lipschitz constant that is too small was accepted", trial)
			}
		}
		dual, at, slope := r.vector(), r.point(), make([]float64, 2)
		f.cost.ConjugateSubgradient(at, dual, at)
		for n := range 8 {
			x, y := r.point(), r.point()
			if n%2 == 0 { // a step to one side
				y[n/2%2] = at[n/2%2]
			}
			for i := range x {
				x[i], y[i] = clamp(x[i], r.lower[i], r.upper[i]), clamp(y[i], r.lower[i], r.upper[i])
			}
			v, w := f.cost.Value(x), f.value(y)
			if math.Abs(v-f.value(x)) > 1e-9*(1+math.Abs(v)) {
				t.Fatalf("trial %d: %T: value %g at %v: want %g", trial, f.cost, v, x, f.value(x))
			}
			f.cost.Subgradient(slope, x)
			line := v + floats.Dot(slope, y) - floats.Dot(slope, x)
			if line > w+1e-9*(1+math.Abs(v)) || floats.Norm(slope, 2) > f.cost.Lipschitz()*(1+1e-9)+1e-12 {
				t.Fatalf("trial %d: %T: slope %v at %v: the line is at %g in %v: want at most %g", trial, f.cost, slope, x,
					line, y, w)
			}
			if more := floats.Dot(dual, y) - w - floats.Dot(dual, at) + f.value(at); more > 1e-7 {
				t.Fatalf("trial %d: %T: for the dual %v the point %v is better than %v by %g", trial, f.cost, dual, y, at,
					more)
			}
		}
	}
}
