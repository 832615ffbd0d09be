package exact

import (
	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// A supportBound says that dir·v ≥ value − margin for the returns v of all policies.
type supportBound struct {
	dir           []float64
	value, margin float64
	rechecked     bool // as a certificate needs it
}

// supportBounds are those of the directions that were priced or rechecked. They say in which polyhedron the returns of
// all policies lie, as columns say of which polytope they have all of. What follows from them needs no value iteration.
// nil keeps nothing.
type supportBounds struct{ known []supportBound }

// keep notes a bound, in the place of the first where there are too many.
func (b *supportBounds) keep(s supportBound) {
	if b != nil && isFinite(s.value-s.margin) && floats.Norm(s.dir, 1) > 0 {
		b.known = append(b.known[max(0, len(b.known)-keptColumns+1):], s)
	}
}

// rechecked returns what a value iteration for a certificate found in a unit direction or one next to it, nil if there
// was none.
func (b *supportBounds) rechecked(unit []float64) *supportBound {
	const near = 1e-12
	if b == nil {
		return nil
	}
	for i := range b.known {
		if s := &b.known[i]; s.rechecked && floats.EqualApprox(s.dir, unit, near) {
			return s
		}
	}
	return nil
}

// multipliers returns the multipliers ν ≥ 0 of the rows of a master for which the bounds show the most that
// (gradient + Σ ν_k n_k)·v − Σ ν_k h_k is at least. Without a gradient the sum of ν_k, in the units of rows, is 1, and
// ok tells that the most is above 0, so that the rows are out of reach but for rounding. With one, ok tells that there
// are such multipliers.
func (b *supportBounds) multipliers(gradient []float64, m *master) (nu []float64, ok bool) {
	if b == nil || len(b.known) == 0 || len(m.rows) == 0 || len(m.blocks) > 1 {
		return nil, false
	}
	p := b.program(gradient, m)
	solver, err := lp.NewEmbedded(p)
	if err != nil {
		return nil, false
	}
	var found lp.Solution
	if err := solver.Solve(&found); err != nil || found.Status != lp.Optimal {
		return nil, false
	}
	for k, y := range found.X[len(b.known):] {
		if gradient != nil {
			y *= m.extent
		}
		nu = append(nu, max(0, y)/m.rows[k].scale)
	}
	return nu, gradient != nil || floats.Dot(p.Minimize, found.X) < 0
}

// program is that of multipliers: a combination Σ y_j θ_j of directions, y ≥ 0, that is gradient + Σ ν_k n_k, with the
// largest Σ y_j b_j − Σ ν_k h_k. All is measured from the first column, in the units of returns, rows and cost.
func (b *supportBounds) program(gradient []float64, m *master) *lp.Problem {
	n, d := len(b.known)+len(m.rows), len(m.scale)
	origin := m.firstReturns()
	p := &lp.Problem{Minimize: make([]float64, n)}
	for i := range d {
		of := 0.0
		if gradient != nil {
			of = gradient[i] * m.scale[i] / m.extent
		}
		p.Rows = append(p.Rows, lp.Equal(make([]float64, n), of))
	}
	enter := func(j int, sign, least, scale float64, dir []float64) {
		p.Minimize[j] = -sign * (least - floats.Dot(dir, origin)) / scale
		for i, x := range dir {
			p.Rows[i].Coef[j] = sign * x * m.scale[i] / scale
		}
	}
	for j, s := range b.known {
		enter(j, 1, s.value-s.margin, width(s.dir, m.scale), s.dir)
	}
	sum := make([]float64, n)
	for k := range m.rows {
		r := &m.rows[k]
		enter(len(b.known)+k, -1, r.Offset, r.scale, r.Normal)
		sum[len(b.known)+k] = 1
	}
	if gradient == nil {
		p.Rows = append(p.Rows, lp.Equal(sum, 1))
	}
	return p
}
