package cost

import (
	"math"
	"math/rand/v2"

	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// draw draws the parts of random costs over a domain.
type draw struct {
	domain       *geometry.Box
	lower, upper []float64
	rng          *rand.Rand
}

func newDraw(domain *geometry.Box, rng *rand.Rand) draw {
	return draw{domain, domain.Lower(), domain.Upper(), rng}
}

// vector has normal entries; a few are zero and a few equal others, so that ties
// happen.
func (r draw) vector() []float64 {
	v := make([]float64, len(r.lower))
	for i := range v {
		switch r.rng.IntN(6) {
		case 0:
		case 1:
			v[i] = v[r.rng.IntN(i+1)]
		default:
			v[i] = r.rng.NormFloat64()
		}
	}
	return v
}

func (r draw) weights() []float64 {
	w := r.vector()
	for i := range w {
		w[i] = math.Abs(w[i])
	}
	return w
}

func (r draw) probabilities() []float64 {
	p, sum := r.weights(), 0.0
	p[r.rng.IntN(len(p))] += 0.5
	for _, v := range p {
		sum += v
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// temperature is of order 1, or warm enough for a large domain.
func (r draw) temperature() float64 {
	far := 1.0
	for i := range r.lower {
		far = math.Max(far, math.Max(math.Abs(r.lower[i]), math.Abs(r.upper[i])))
	}
	return math.Max(0.1+r.rng.Float64(), far*math.Pow(10, -6*r.rng.Float64()-2))
}

// point lies in the domain, on its sides, or somewhat outside.
func (r draw) point() []float64 {
	x, reach := make([]float64, len(r.lower)), []float64{0, 0, 0.5}[r.rng.IntN(3)]
	for i := range x {
		share := r.rng.Float64()*(1+2*reach) - reach
		if r.rng.IntN(8) == 0 {
			share = math.Round(share)
		}
		x[i] = r.lower[i] + share*(r.upper[i]-r.lower[i])
	}
	return x
}

// offset makes v·x − offset change its sign in the domain, mostly.
func (r draw) offset(v []float64) float64 { return floats.Dot(v, r.point()) }

// closed is a random cost with a closed form that is not affine.
func (r draw) closed() (Cost, error) {
	kinds := []func(*geometry.Box, *rand.Rand) (Cost, error){
		randomNorm, randomSquared, randomHuber, randomHinge, randomLogSumExp, randomEntropic, randomCVaR,
	}
	return kinds[r.rng.IntN(len(kinds))](r.domain, r.rng)
}

func randomLinear(domain *geometry.Box, rng *rand.Rand) (Cost, error) {
	return NewLinear(newDraw(domain, rng).vector(), domain)
}

func randomAffine(domain *geometry.Box, rng *rand.Rand) (Cost, error) {
	return NewAffine(newDraw(domain, rng).vector(), rng.NormFloat64(), domain)
}

func randomCoordinate(domain *geometry.Box, rng *rand.Rand) (Cost, error) {
	return NewCoordinate(rng.IntN(domain.Dim()), domain)
}

func randomNorm(domain *geometry.Box, rng *rand.Rand) (Cost, error) {
	p := []float64{1, 2, math.Inf(1)}[rng.IntN(3)]
	return NewNorm(p, newDraw(domain, rng).point(), domain)
}

func randomDistance(domain *geometry.Box, rng *rand.Rand) (Cost, error) {
	r := newDraw(domain, rng)
	a, b := r.point(), r.point()
	if rng.IntN(2) == 0 {
		ball, err := geometry.NewBall(a, rng.Float64())
		if err != nil {
			return nil, err
		}
		return NewDistance(ball)
	}
	for i := range a {
		a[i], b[i] = math.Min(a[i], b[i]), math.Max(a[i], b[i])
	}
	box, err := geometry.NewBox(a, b)
	if err != nil {
		return nil, err
	}
	bounded, err := box.Bounded()
	if err != nil {
		return nil, err
	}
	return NewDistance(bounded)
}

func randomSquared(domain *geometry.Box, rng *rand.Rand) (Cost, error) {
	r := newDraw(domain, rng)
	return NewSquared(r.point(), r.weights(), domain)
}

func randomHuber(domain *geometry.Box, rng *rand.Rand) (Cost, error) {
	r := newDraw(domain, rng)
	return NewHuber(r.point(), r.weights(), 0.1+rng.Float64(), domain)
}

func randomHinge(domain *geometry.Box, rng *rand.Rand) (Cost, error) {
	r := newDraw(domain, rng)
	normal := r.vector()
	normal[rng.IntN(len(normal))] = 1 - 2*float64(rng.IntN(2))
	return NewHinge(normal, r.offset(normal), domain)
}

func randomLogSumExp(domain *geometry.Box, rng *rand.Rand) (Cost, error) {
	return NewLogSumExp(newDraw(domain, rng).temperature(), domain)
}

func randomEntropic(domain *geometry.Box, rng *rand.Rand) (Cost, error) {
	r := newDraw(domain, rng)
	return NewEntropic(r.probabilities(), r.temperature(), domain)
}

func randomCVaR(domain *geometry.Box, rng *rand.Rand) (Cost, error) {
	return NewCVaR(newDraw(domain, rng).probabilities(), 1-0.9*rng.Float64(), domain)
}
