package oracle

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"gonum.org/v1/gonum/floats"
)

// ConjugateTolerance is the relative gap at which a BundleConjugate stops: the
// value it attains and the certified bound on f*(θ) differ by at most this times
// |f*(θ)|. For values near zero, 1e-3 times the largest |⟨θ, y⟩ − f(y)| that it met
// and 1e-6 times the spread of the linear part take the place of |f*(θ)|.
const ConjugateTolerance = 1e-10

// conjugateRounds limits the evaluations of f in one call.
const conjugateRounds = 3000

// BundleConjugate answers for the conjugate f*(θ) = max_{y∈X} ⟨θ, y⟩ − f(y) of a
// function given by values and subgradients, on a compact set X.
//
// It is a level method (Lemaréchal, Nemirovskii and Nesterov, Mathematical
// Programming 69, 1995). Subgradients of f at the points visited are cutting
// planes of φ(y) = f(y) − ⟨θ, y⟩; the next point is the one nearest to the best so
// far where all planes are below a level between the certified lower bound and the
// best value. Every lower bound is a convex combination of planes, minimised over X
// by its linear maximiser, so the gap is certified whatever rounding does to the
// projections.
//
// A call allocates only when the pool of work space is empty. It is safe for
// concurrent use if f and X are.
type BundleConjugate struct {
	f            FirstOrder
	domain       LinearMaximizer
	projector    Projector // onto the domain; nil if it is the box of lower and upper
	lower, upper []float64
	normals      [][]float64 // orthonormal vectors along which the domain is flat; not sought without a projector
	pool         sync.Pool
}

// NewBoxConjugate returns the conjugate of f on the box lower ≤ y ≤ upper. It is an
// error if the bounds differ in length, are not finite or not in order, or if f is
// not finite in the middle of the box.
func NewBoxConjugate(f FirstOrder, lower, upper []float64) (*BundleConjugate, error) {
	if len(lower) == 0 || len(lower) != len(upper) {
		return nil, fmt.Errorf("oracle: box with %d lower and %d upper bounds: want equally many, at least one",
			len(lower), len(upper))
	}
	for i, l := range lower {
		if !(l <= upper[i]) || math.IsInf(upper[i]-l, 0) {
			return nil, fmt.Errorf("oracle: box side %d is [%g, %g]: want finite bounds in order", i, l, upper[i])
		}
	}
	c := &BundleConjugate{f: f, lower: append([]float64(nil), lower...), upper: append([]float64(nil), upper...)}
	c.domain = (*boxMaximizer)(c)
	return c.probe()
}

// NewConjugate returns the conjugate of f on a compact set, projecting on the set
// by the set's own method Project if it has one, and by Wolfe's minimum-norm
// point otherwise. It is an error if f is not finite at a point of the set. For
// boxes NewBoxConjugate is faster.
func NewConjugate(f FirstOrder, domain LinearMaximizer) (*BundleConjugate, error) {
	if domain == nil || domain.Dim() < 1 {
		return nil, errors.New("oracle: conjugate over no set: want one of dimension at least 1")
	}
	d := domain.Dim()
	c := &BundleConjugate{f: f, domain: domain, lower: make([]float64, d), upper: make([]float64, d)}
	Extremes(domain, c.lower, c.upper)
	for i := range c.lower {
		if math.IsNaN(c.lower[i]) || math.IsInf(c.upper[i]-c.lower[i], 0) {
			return nil, fmt.Errorf("oracle: conjugate over a set that goes from %g to %g in coordinate %d: %w",
				c.lower[i], c.upper[i], i, ErrUnbounded)
		}
	}
	c.normals = flatNormals(domain, floats.Distance(c.lower, c.upper, 2))
	if p, ok := domain.(Projector); ok {
		c.projector = p
	} else {
		c.projector = NewMinNorm(domain)
	}
	return c.probe()
}

// flatNormals returns orthonormal vectors along which a set of the given size has no width. Planes that separate points
// from such a set turn by rounding, and would cut it.
func flatNormals(set LinearMaximizer, size float64) (normals [][]float64) {
	const thin = 1e-10
	d := set.Dim()
	var across [][]float64 // an orthonormal basis of differences of extreme points
	for axis := 0; axis < d; {
		n, high, low := make([]float64, d), make([]float64, d), make([]float64, d)
		n[axis] = 1
		removeComponents(n, across)
		removeComponents(n, normals)
		length := floats.Norm(n, 2)
		if length < 1e-6 {
			axis++
			continue
		}
		floats.Scale(1/length, n)
		set.MaximizeLinear(high, n)
		set.MaximizeLinear(low, floats.ScaleTo(make([]float64, d), -1, n))
		floats.Sub(high, low)
		if !(floats.Dot(n, high) > thin*size) {
			normals = append(normals, n)
			continue
		}
		removeComponents(high, across)
		removeComponents(high, normals)
		floats.Scale(1/floats.Norm(high, 2), high)
		across = append(across, high)
	}
	return normals
}

// removeComponents leaves what of x is orthogonal to the vectors of an orthonormal basis.
func removeComponents(x []float64, basis [][]float64) {
	for range 2 { // the second time for what rounding left
		for _, b := range basis {
			floats.AddScaled(x, -floats.Dot(b, x), b)
		}
	}
}

// probe returns c if f is finite at one point of the domain.
func (c *BundleConjugate) probe() (*BundleConjugate, error) {
	if c.f == nil {
		return nil, errors.New("oracle: conjugate of no function")
	}
	x := make([]float64, c.Dim())
	g := make([]float64, c.Dim())
	for i, l := range c.lower {
		x[i] = l + (c.upper[i]-l)/2
	}
	if c.projector != nil {
		c.projector.Project(x, x)
	}
	c.pool.New = func() any { return newBundle(c) }
	v := c.f.Value(x)
	c.f.Subgradient(g, x)
	if size := floats.Norm(g, 2); math.IsNaN(v) || math.IsInf(v, 0) || math.IsNaN(size) || math.IsInf(size, 0) {
		return nil, fmt.Errorf("oracle: function has value %g and subgradient %v at %v: want finite numbers on the "+
			"whole domain", v, g, x)
	}
	return c, nil
}

// Dim returns the dimension of the space.
func (c *BundleConjugate) Dim() int { return len(c.lower) }

// ConjugateSubgradient sets dst to a point of the domain that attains f*(dual) up
// to ConjugateTolerance. Where several do, it tends to those close to near, without
// a promise. dst may be near; it must not overlap dual.
func (c *BundleConjugate) ConjugateSubgradient(dst, dual, near []float64) {
	c.Attain(dst, dual, near)
}

// Attain is ConjugateSubgradient with its certificate: value is ⟨dual, dst⟩ − f(dst),
// and value ≤ f*(dual) ≤ value + gap.
func (c *BundleConjugate) Attain(dst, dual, near []float64) (value, gap float64) {
	if len(dst) != c.Dim() || len(dual) != c.Dim() || len(near) != c.Dim() {
		panic(badLength)
	}
	w := c.pool.Get().(*bundle)
	w.minimize(dual, near)
	copy(dst, w.best)
	value, gap = -w.least, math.Max(w.least-w.bound, 0)
	c.pool.Put(w)
	return value, gap
}

const badLength = "oracle: slice length differs from the dimension"

// boxMaximizer makes the box of a BundleConjugate a LinearMaximizer.
type boxMaximizer BundleConjugate

func (b *boxMaximizer) Dim() int { return len(b.lower) }

func (b *boxMaximizer) MaximizeLinear(dst, dir []float64) {
	for i, v := range dir {
		dst[i] = b.lower[i]
		if v > 0 {
			dst[i] = b.upper[i]
		}
	}
}
