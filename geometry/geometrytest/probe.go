package geometrytest

import (
	"math"
	"math/rand/v2"
	"slices"

	"cmdpsolve/geometry"
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// probe asks a set questions.
type probe struct {
	set       geometry.Set
	maximizer oracle.LinearMaximizer // nil if the set is none
	faces     oracle.FaceProjector   // nil if the set is none
	Facts
	dim int
	rng *rand.Rand

	points     [][]float64 // to project
	directions [][]float64
	members    [][]float64 // projections, extreme points and stated points
}

// prepare draws points around the set, at several scales, and directions with ties
// among them.
func (p *probe) prepare() error {
	center := make([]float64, p.dim)
	p.set.Project(center, center)
	size := 1e-3 + floats.Norm(center, 2)
	if p.maximizer != nil {
		size = 1e-3
		for range p.dim + 2 {
			x := p.maximize(p.gaussian(1))
			size = math.Max(size, floats.Distance(x, center, 2))
		}
	}
	for k := range p.Trials {
		scale := size * []float64{0.3, 1, 3, 10}[k%4]
		x := p.gaussian(scale)
		floats.Add(x, center)
		p.points = append(p.points, x)
		dir := p.gaussian(1)
		switch k % 3 {
		case 1: // small integers, which tie
			for i := range dir {
				dir[i] = math.Round(dir[i])
			}
		case 2:
			clear(dir)
			dir[p.rng.IntN(p.dim)] = float64(1 - 2*p.rng.IntN(2))
		}
		p.directions = append(p.directions, dir)
	}
	for _, x := range append(append([][]float64(nil), p.Inside...), p.Outside...) {
		p.points = append(p.points, slices.Clone(x))
	}
	for _, x := range p.points {
		p.members = append(p.members, p.project(x))
	}
	if p.maximizer != nil {
		for _, dir := range p.directions {
			p.members = append(p.members, p.maximize(dir))
		}
	}
	p.members = append(p.members, p.Inside...)
	return nil
}

func (p *probe) gaussian(scale float64) []float64 {
	x := make([]float64, p.dim)
	for i := range x {
		x[i] = scale * p.rng.NormFloat64()
	}
	return x
}

func (p *probe) blank() []float64 {
	return slices.Repeat([]float64{math.NaN()}, p.dim)
}

func (p *probe) project(x []float64) []float64 {
	dst := p.blank()
	p.set.Project(dst, slices.Clone(x))
	return dst
}

func (p *probe) maximize(dir []float64) []float64 {
	dst := p.blank()
	p.maximizer.MaximizeLinear(dst, slices.Clone(dir))
	return dst
}

func (p *probe) face(dir, x []float64) []float64 {
	dst := p.blank()
	p.faces.ProjectFace(dst, slices.Clone(dir), slices.Clone(x))
	return dst
}

// slack is the error allowed where the given points are involved.
func (p *probe) slack(points ...[]float64) float64 {
	size := 1e-3
	for _, x := range points {
		size = math.Max(size, floats.Norm(x, 2))
	}
	return p.Tolerance * size
}

// rounding is the error that no method can avoid with points of this size.
func rounding(points ...[]float64) float64 {
	size := 0.0
	for _, x := range points {
		size = math.Max(size, floats.Norm(x, 2))
	}
	return 1e-13 * size
}

func minus(x, y []float64) []float64 {
	z := make([]float64, len(x))
	floats.SubTo(z, x, y)
	return z
}

func finite(x []float64) bool {
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}
