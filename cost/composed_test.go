package cost

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// A composed cost comes with what it is composed of: its value, and a Lipschitz constant by the rules for sums,
// maxima and linear maps.
type composed struct {
	cost      Cost
	value     func(x []float64) float64
	lipschitz float64
}

func defined(t *testing.T, c Cost, err error, value func(x []float64) float64, lipschitz float64) composed {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return composed{c, value, lipschitz}
}

func drawAffine(t *testing.T, r draw) composed {
	gradient, offset := r.vector(), r.rng.NormFloat64()
	if r.rng.IntN(2) == 0 {
		clear(gradient)
	}
	c, err := NewAffine(gradient, offset, r.domain)
	return defined(t, c, err, func(x []float64) float64 { return floats.Dot(gradient, x) + offset },
		floats.Norm(gradient, 2))
}

func drawNorm(t *testing.T, r draw) composed {
	p, center, vary := []float64{1, 2, math.Inf(1)}[r.rng.IntN(3)], r.point(), 0.0
	for i := range r.lower {
		if p == 1 && r.lower[i] < r.upper[i] {
			vary++
		}
	}
	if p != 1 {
		vary = 1
	}
	c, err := NewNorm(p, center, r.domain)
	return defined(t, c, err, func(x []float64) float64 { return floats.Distance(x, center, p) }, math.Sqrt(vary))
}

// drawCurved draws what is quadratic, without a threshold or up to one.
func drawCurved(t *testing.T, r draw) composed {
	center, weights, threshold := r.point(), r.weights(), math.Inf(1)
	c, err := NewSquared(center, floats.ScaleTo(make([]float64, len(weights)), 0.5, weights), r.domain)
	if r.rng.IntN(2) == 0 {
		threshold = 0.1 + r.rng.Float64()
		c, err = NewHuber(center, weights, threshold, r.domain)
	}
	steepest := make([]float64, len(weights))
	for i, w := range weights {
		if r.lower[i] < r.upper[i] {
			steepest[i] = w * min(threshold, max(math.Abs(r.lower[i]-center[i]), math.Abs(r.upper[i]-center[i])))
		}
	}
	return defined(t, c, err, func(x []float64) float64 {
		value := 0.0
		for i, w := range weights {
			bent := min(threshold, math.Abs(x[i]-center[i]))
			value += w * (bent*bent/2 + bent*(math.Abs(x[i]-center[i])-bent))
		}
		return value
	}, floats.Norm(steepest, 2))
}

func drawHinge(t *testing.T, r draw) composed {
	normal := r.vector()
	normal[r.rng.IntN(len(normal))] = 1 - 2*float64(r.rng.IntN(2))
	offset := r.offset(normal)
	c, err := NewHinge(normal, offset, r.domain)
	return defined(t, c, err, func(x []float64) float64 { return max(0, floats.Dot(normal, x)-offset) },
		floats.Norm(normal, 2))
}

// drawSoft draws smooth maxima: their slopes are distributions that have most of what one coordinate can have.
func drawSoft(t *testing.T, r draw) composed {
	shares, temperature := r.probabilities(), r.temperature()
	c, err := NewEntropic(shares, temperature, r.domain)
	if r.rng.IntN(2) == 0 {
		shares = slices.Repeat([]float64{1}, len(shares))
		c, err = NewLogSumExp(temperature, r.domain)
	}
	largest := make([]float64, len(shares))
	for i := range largest {
		all := 0.0
		for k, p := range shares {
			side := r.lower[k]
			if k == i {
				side = r.upper[k]
				largest[i] = p * math.Exp(side/temperature)
			}
			all += p * math.Exp(side/temperature)
		}
		largest[i] /= all
	}
	return defined(t, c, err, func(x []float64) float64 {
		sum := 0.0
		for i, p := range shares {
			sum += p * math.Exp(x[i]/temperature)
		}
		return temperature * math.Log(sum)
	}, longest(largest))
}

// longest is the length of the distribution below the caps that is longest.
func longest(caps []float64) float64 {
	caps, left, squares := slices.Clone(caps), 1.0, 0.0
	for range caps {
		k := floats.MaxIdx(caps)
		squares += min(caps[k], left) * min(caps[k], left)
		left -= min(caps[k], left)
		caps[k] = 0
	}
	return math.Sqrt(squares)
}

// drawCVaR draws whole distributions often: their mean is risk at the tail 1.
func drawCVaR(t *testing.T, r draw) composed {
	shares, tail := r.probabilities(), []float64{1, 1 - 0.9*r.rng.Float64()}[r.rng.IntN(2)]
	c, err := NewCVaR(shares, tail, r.domain)
	return defined(t, c, err, func(x []float64) float64 {
		least := math.Inf(1)
		for _, at := range x {
			value := at
			for i, p := range shares {
				value += p * max(0, x[i]-at) / tail
			}
			least = min(least, value)
		}
		return least
	}, longest(floats.ScaleTo(make([]float64, len(shares)), 1/tail, shares)))
}

// drawTarget draws distances to balls in the domain.
func drawTarget(t *testing.T, r draw) composed {
	center, radius := r.point(), r.rng.Float64()
	ball, err := geometry.NewBall(center, radius)
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewDistance(ball)
	return defined(t, c, err, func(x []float64) float64 { return max(0, floats.Distance(x, center, 2)-radius) }, 1)
}

func drawPieces(t *testing.T, r draw) composed {
	gradients, offsets, steepest := make([][]float64, 1+r.rng.IntN(4)), []float64(nil), 0.0
	for j := range gradients {
		gradients[j] = r.vector()
		offsets = append(offsets, -r.offset(gradients[j]))
		steepest = max(steepest, floats.Norm(gradients[j], 2))
	}
	c, err := NewMaxAffine(gradients, offsets, r.domain)
	return defined(t, c, err, func(x []float64) float64 {
		value := math.Inf(-1)
		for j, g := range gradients {
			value = max(value, floats.Dot(g, x)+offsets[j])
		}
		return value
	}, steepest)
}

// drawComposed draws a cost over a domain, nested up to the given depth. Weights of 0 and 1, constants and copies of
// one cost are common.
func drawComposed(t *testing.T, rng *rand.Rand, domain *geometry.Box, depth int) composed {
	t.Helper()
	r := newDraw(domain, rng)
	done := func(c Cost, err error, value func(x []float64) float64, lipschitz float64) composed {
		return defined(t, c, err, value, lipschitz)
	}
	if depth == 0 {
		kinds := []func(*testing.T, draw) composed{drawAffine, drawNorm, drawCurved, drawHinge, drawSoft, drawCVaR,
			drawTarget, drawPieces}
		return kinds[rng.IntN(len(kinds))](t, r)
	}
	weight := func() float64 { return []float64{0, 1, 0.5, 3 * rng.Float64()}[rng.IntN(4)] }
	if rng.IntN(3) == 0 {
		offset := []float64{rng.NormFloat64(), rng.NormFloat64()}
		rows, lower, upper := make([][]float64, 2), []float64{0, 0}, []float64{0, 0}
		for j := range rows {
			rows[j] = r.vector()
			lower[j], upper[j] = geometry.LinearRange(rows[j], r.lower, r.upper)
		}
		image, _ := geometry.NewBox(floats.AddTo(lower, lower, offset), floats.AddTo(upper, upper, offset))
		refuseOutside(t, rng, image, rows, offset, domain)
		in := drawComposed(t, rng, image, depth-1)
		c, err := NewPrecomposed(in.cost, rows, offset, domain)
		return done(c, err, func(x []float64) float64 {
			return in.value([]float64{floats.Dot(rows[0], x) + offset[0], floats.Dot(rows[1], x) + offset[1]})
		}, in.lipschitz*largestSingular(rows))
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

// refuseOutside moves a side of the image inwards: a cost that is built over what is left has to be refused.
func refuseOutside(t *testing.T, rng *rand.Rand, image *geometry.Box, rows [][]float64, offset []float64,
	domain *geometry.Box) {
	t.Helper()
	lower, upper := image.Lower(), image.Upper()
	j := rng.IntN(len(lower))
	width := upper[j] - lower[j]
	if width < 1e-6 {
		return
	}
	if rng.IntN(2) == 0 {
		lower[j] += width * 1e-3
	} else {
		upper[j] -= width * 1e-3
	}
	inner, _ := geometry.NewBox(lower, upper)
	c, err := NewSquared(offset, []float64{1, 1}, inner)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewPrecomposed(c, rows, offset, domain); err == nil {
		t.Fatalf("a cost over %v to %v was accepted for %v·x + %v on %v to %v", lower, upper, rows, offset, domain.Lower(),
			domain.Upper())
	}
}

// largestSingular returns the largest singular value of a matrix of two rows, from the roots of what
// characterises its Gram matrix.
func largestSingular(rows [][]float64) float64 {
	a, b, c := floats.Dot(rows[0], rows[0]), floats.Dot(rows[0], rows[1]), floats.Dot(rows[1], rows[1])
	return math.Sqrt((a+c)/2 + math.Hypot((a-c)/2, b))
}

// drawDomain draws one to three sides, of which some have no length.
func drawDomain(rng *rand.Rand) *geometry.Box {
	lower, upper := make([]float64, 1+rng.IntN(3)), make([]float64, 3)
	for i := range lower {
		lower[i] = -1 - rng.Float64()
		upper[i] = lower[i] + []float64{0, 2, 4, 4}[rng.IntN(4)]
	}
	domain, _ := geometry.NewBox(lower, upper[:len(lower)])
	return domain
}

// TestComposed compares nested costs with what they are composed of: values, slopes, and conjugates, which are
// attained and nowhere less than at other points.
func TestComposed(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 2))
	for trial := range 1500 {
		domain := drawDomain(rng)
		f, r := drawComposed(t, rng, domain, trial%3), newDraw(domain, rng)
		if l := f.cost.Lipschitz(); l > f.lipschitz*(1+1e-9)+1e-12 {
			t.Fatalf("trial %d: %T: Lipschitz constant %g: want at most %g", trial, f.cost, l, f.lipschitz)
		}
		if a, ok := f.cost.(Affine); ok && floats.Norm(a.Gradient(), 2) > 1e-6 {
			if _, err := New(valuesOnly{f.cost}, domain, 0.9*floats.Norm(a.Gradient(), 2)); err == nil {
				t.Fatalf("trial %d: a Lipschitz constant that is too small was accepted", trial)
			}
		}
		dual, at, slope := r.vector(), r.point(), make([]float64, len(r.lower))
		_, within := f.cost.(boxed)
		if length := floats.Norm(dual, 2); !within && length > f.cost.Lipschitz() {
			floats.Scale(f.cost.Lipschitz()/length, dual)
		}
		f.cost.ConjugateSubgradient(at, dual, at)
		for i, v := range at {
			if within && !(v >= r.lower[i] && v <= r.upper[i]) {
				t.Fatalf("trial %d: %T: the dual %v gives %v outside %v to %v", trial, f.cost, dual, at, r.lower, r.upper)
			}
		}
		for n := range 8 {
			x, y := r.point(), r.point()
			if n%2 == 0 { // a step to one side
				y[n/2%len(y)] = at[n/2%len(y)]
			}
			for i := range x {
				x[i], y[i] = clamp(x[i], r.lower[i], r.upper[i]), clamp(y[i], r.lower[i], r.upper[i])
			}
			v, w := f.cost.Value(x), f.value(y)
			if math.Abs(v-f.value(x)) >= 1e-9*(1+math.Abs(v)) {
				t.Fatalf("trial %d: %T: value %g at %v: want %g", trial, f.cost, v, x, f.value(x))
			}
			f.cost.Subgradient(slope, x)
			for i := range slope { // the Lipschitz constant knows nothing of sides of no length
				if r.lower[i] == r.upper[i] {
					slope[i] = 0
				}
			}
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
