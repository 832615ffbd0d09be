package geometry

import (
	"fmt"
	"math"

	"cmdpsolve/internal/scratch"
	"cmdpsolve/oracle"
	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// Polytope is a bounded Polyhedron. Linear maximisation takes proximal steps of the
// active-set projection, which reach a maximiser after finitely many, usually two. Where
// they creep, it solves a linear program. Ties are exact, and answers do not depend on
// earlier calls.
type Polytope struct {
	*Polyhedron
	polish *oracle.ProximalMaximizer
	radius float64
}

// NewPolytope returns {x : A x ≤ b}. It is an error where NewPolyhedron is one, and,
// wrapping ErrUnbounded and with a direction of recession, if the set is unbounded.
func NewPolytope(a [][]float64, b []float64) (*Polytope, error) {
	p, err := NewPolyhedron(a, b)
	if err != nil {
		return nil, err
	}
	return p.Bounded()
}

// Bounded returns the polyhedron as a Compact. It is an error, wrapping ErrUnbounded
// and with a direction of recession, if it is unbounded.
func (p *Polyhedron) Bounded() (*Polytope, error) {
	center, radius := make([]float64, p.Dim()), 0.0
	for i, l := range p.lower {
		u := p.upper[i]
		if math.IsInf(l, 0) || math.IsInf(u, 0) {
			return nil, fmt.Errorf("geometry: polytope goes from %g to %g in coordinate %d, direction %v recedes: %w",
				l, u, i, p.recession(i), ErrUnbounded)
		}
		center[i] = l + (u-l)/2
		radius = math.Hypot(radius, (u-l)/2)
	}
	polish, err := oracle.NewProximalMaximizer(p.active, center, radius)
	if err != nil {
		return nil, fmt.Errorf("geometry: polytope: %w", err)
	}
	return &Polytope{Polyhedron: p, polish: polish, radius: radius}, nil
}

// recession returns a direction in which coordinate i is unbounded.
func (p *Polyhedron) recession(i int) []float64 {
	cost := make([]float64, p.Dim())
	cost[i] = 1
	if math.IsInf(p.upper[i], 0) {
		cost[i] = -1
	}
	answer, err := lp.Solve(p.rows.program(cost))
	if err != nil || answer.Status != lp.Unbounded {
		return cost
	}
	return answer.Ray
}

// MaximizeLinear gives a maximiser, the one nearest to the Chebyshev centre where
// proximal steps find it.
func (p *Polytope) MaximizeLinear(dst, dir []float64) {
	check(p.Dim(), dst, dir)
	if p.radius > wide && !isZero(dir) && p.maximizeByProgram(dst, dir) {
		return // steps from so far away would have no digits left
	}
	if gap := p.polish.From(dst, dir, p.middle); gap > nearlyTied*floats.Norm(dir, 2)*p.radius {
		best := scratch.Get(p.Dim())
		if p.maximizeByProgram(*best, dir) && floats.Dot(dir, *best) > floats.Dot(dir, dst) {
			copy(dst, *best)
		}
		scratch.Put(best)
	}
}

// nearlyTied is the relative gap at which proximal steps are given up.
const nearlyTied = 1e-11

// maximizeByProgram is for directions so close to the normal of a face that proximal
// steps creep along it. The program is solved from scratch: a warm start would make
// the vertex depend on the calls before, and so on what other goroutines ask. It reports false, and leaves dst, where
// that fails.
func (p *Polytope) maximizeByProgram(dst, dir []float64) bool {
	size := floats.Norm(dir, math.Inf(1))
	cost := make([]float64, p.Dim())
	for i, v := range dir {
		cost[i] = -v / size
	}
	solver, err := lp.NewEmbedded(p.rows.program(cost)) // the one with the tighter tolerances
	if err != nil {
		return false
	}
	var answer lp.Solution
	if err := solver.Solve(&answer); err != nil || answer.Status != lp.Optimal {
		return false
	}
	p.active.Project(dst, answer.X)
	return true
}

// ProjectFace projects on the points that reach the largest value, by the dual
// active-set method.
func (p *Polytope) ProjectFace(dst, dir, x []float64) {
	check(p.Dim(), dst, dir, x)
	if isZero(dir) {
		p.Project(dst, x)
		return
	}
	best := scratch.Get(p.Dim())
	p.MaximizeLinear(*best, dir)
	if !p.active.ProjectLevel(dst, dir, floats.Dot(dir, *best), x) {
		copy(dst, *best) // rounding leaves no more of the face
	}
	scratch.Put(best)
}
