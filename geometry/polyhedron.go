package geometry

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"cmdpsolve/oracle"
	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// Polyhedron is {x : A x ≤ b}, some rows perhaps with equality, bounded or not; for bounded ones NewPolytope gives a
// Compact. Projection is exact up to rounding, by a dual active-set method.
type Polyhedron struct {
	rows         Rows
	active       *oracle.ActiveSet
	lower, upper []float64
	middle       []float64
	room         float64
}

// NewPolyhedron returns {x : A x ≤ b}. Rows may be redundant, repeated and nearly
// parallel. It is an error if there are no rows, if lengths differ, if a row is zero
// or an entry not finite, and, wrapping ErrEmpty and with Farkas multipliers,
// if no point satisfies all rows.
func NewPolyhedron(a [][]float64, b []float64) (*Polyhedron, error) {
	return newPolyhedron("polytope", Rows{A: a, B: b})
}

// NewAffine returns the affine subspace {x : A x = b}. Rows may be dependent. It is an
// error if there are no rows, if lengths differ, if a row is zero or an entry not finite,
// and, wrapping ErrEmpty and with Farkas multipliers, if the equations contradict each other.
func NewAffine(a [][]float64, b []float64) (*Polyhedron, error) {
	return newPolyhedron("affine subspace", Rows{A: a, B: b, Equalities: len(a)})
}

func newPolyhedron(what string, rows Rows) (*Polyhedron, error) {
	if len(rows.A) == 0 || len(rows.A) != len(rows.B) {
		return nil, fmt.Errorf("geometry: %s with %d rows and %d right-hand sides: want equally many, at least one",
			what, len(rows.A), len(rows.B))
	}
	p := &Polyhedron{rows: Rows{Equalities: rows.Equalities}}
	for i, a := range rows.A {
		name := fmt.Sprintf("%s row %d", what, i)
		if err := cmp.Or(vector(name, a), number(name+"'s right-hand side", rows.B[i])); err != nil {
			return nil, err
		}
		if len(a) != len(rows.A[0]) {
			return nil, fmt.Errorf("geometry: %s has %d entries, row 0 has %d: want equally many", name, len(a),
				len(rows.A[0]))
		}
		length := floats.Norm(a, 2)
		if length < minLength {
			return nil, fmt.Errorf("geometry: %s is %v: want a row that is not zero (norm at least %g)", name, a,
				minLength)
		}
		unit := make([]float64, len(a))
		for j, v := range a {
			unit[j] = v / length
		}
		p.rows.A, p.rows.B = append(p.rows.A, unit), append(p.rows.B, rows.B[i]/length)
	}
	active, err := oracle.NewActiveSet(rows.A, rows.B, rows.Equalities)
	if err != nil {
		return nil, fmt.Errorf("geometry: %s: %w", what, err)
	}
	p.active = active
	if err := p.measure(what); err != nil {
		return nil, err
	}
	return p, nil
}

// measure finds the bounding box and the largest ball inside, by linear programs where rows tie coordinates together.
func (p *Polyhedron) measure(what string) error {
	d := p.Dim()
	solver, err := lp.NewSolver(p.rows.program(make([]float64, d)))
	if err != nil {
		return fmt.Errorf("geometry: %s: %w", what, err)
	}
	p.lower, p.upper = make([]float64, d), make([]float64, d)
	cost := make([]float64, d)
	var answer lp.Solution
	for i := range d {
		alone := false
		p.lower[i], p.upper[i], alone = p.rows.interval(i)
		if alone { // its sides may be so far away that no program tells them
			continue
		}
		for _, sign := range []float64{1, -1} {
			cost[i] = sign
			if err := solver.SetObjective(cost); err != nil {
				return fmt.Errorf("geometry: %s: %w", what, err)
			}
			bound := math.Inf(-1)
			err := solver.Solve(&answer)
			if errors.Is(err, lp.ErrNumerical) && !math.IsInf(p.lower[i], 0) && !math.IsInf(p.upper[i], 0) {
				break // numbers lie too far apart: not the smallest box
			}
			if err != nil {
				return fmt.Errorf("geometry: %s: bound of coordinate %d: %w", what, i, err)
			}
			if answer.Status == lp.Optimal {
				bound = answer.Objective
			}
			if sign > 0 {
				p.lower[i] = bound
			} else {
				p.upper[i] = -bound
			}
		}
		cost[i] = 0
		p.upper[i] = math.Max(p.lower[i], p.upper[i])
	}
	return p.findInterior()
}

// findInterior solves for the Chebyshev centre: the largest ball that no inequality
// cuts.
func (p *Polyhedron) findInterior() error {
	d := p.Dim()
	problem := p.rows.program(make([]float64, d+1))
	problem.Minimize[d] = -1
	problem.Upper[d] = 1e3 * (1 + floats.Norm(p.rows.B, math.Inf(1)))
	problem.Lower[d] = 0
	for i := range problem.Rows {
		r := 1.0
		if i < p.rows.Equalities {
			r = 0
		}
		problem.Rows[i].Coef = append(append([]float64(nil), problem.Rows[i].Coef...), r)
	}
	p.middle = make([]float64, d)
	answer, err := lp.Solve(problem)
	if err != nil || answer.Status != lp.Optimal { // flat up to rounding
		p.active.Project(p.middle, p.middle)
		return nil
	}
	p.active.Project(p.middle, answer.X[:d])
	p.room = 0
	if p.rows.Equalities > 0 {
		return nil
	}
	p.room = math.Inf(1)
	for i, a := range p.rows.A {
		p.room = math.Min(p.room, p.rows.B[i]-floats.Dot(a, p.middle))
	}
	p.room = math.Max(p.room, 0)
	return nil
}

// interval returns what the rows of a coordinate alone allow of it, and whether none ties it to another one.
func (r Rows) interval(i int) (lower, upper float64, alone bool) {
	lower, upper, alone = math.Inf(-1), math.Inf(1), true
	for k, a := range r.A {
		if a[i] == 0 {
			continue
		}
		if !isZero(a[:i]) || !isZero(a[i+1:]) {
			alone = false
			continue
		}
		bound := r.B[k] / a[i]
		if a[i] > 0 || k < r.Equalities {
			upper = math.Min(upper, bound)
		}
		if a[i] < 0 || k < r.Equalities {
			lower = math.Max(lower, bound)
		}
	}
	return lower, math.Max(lower, upper), alone
}

// program states the rows as a linear program in free variables; there may be more
// costs than columns in the rows.
func (r Rows) program(cost []float64) *lp.Problem {
	problem := &lp.Problem{Minimize: cost}
	problem.Lower, problem.Upper = lp.Free(len(cost))
	for i, a := range r.A {
		if i < r.Equalities {
			problem.Rows = append(problem.Rows, lp.Equal(a, r.B[i]))
		} else {
			problem.Rows = append(problem.Rows, lp.AtMost(a, r.B[i]))
		}
	}
	return problem
}

// Dim returns the dimension of the space.
func (p *Polyhedron) Dim() int { return p.active.Dim() }

// Project finds the nearest point by the dual active-set method.
func (p *Polyhedron) Project(dst, x []float64) {
	check(p.Dim(), dst, x)
	p.active.Project(dst, x)
}

// Rows gives the rows, scaled to unit length.
func (p *Polyhedron) Rows() (Rows, bool) { return p.rows, true }

// Bounds gives the smallest box, found by linear programs at construction.
func (p *Polyhedron) Bounds(lower, upper []float64) {
	check(p.Dim(), lower, upper)
	copy(lower, p.lower)
	copy(upper, p.upper)
}

// InteriorPoint gives the Chebyshev centre, that of a largest ball inside.
func (p *Polyhedron) InteriorPoint(dst []float64) float64 {
	check(p.Dim(), dst)
	copy(dst, p.middle)
	return p.room
}
