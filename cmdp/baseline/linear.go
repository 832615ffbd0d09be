package baseline

import (
	"errors"
	"fmt"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// A Linear is the linear form of a task, in the user's units: minimise
// Goal·V + Offset subject to Rows[i].Normal·V ≤ Rows[i].Offset for every i.
type Linear struct {
	Goal   []float64
	Offset float64
	Rows   []Row
}

// A Row is the half-space Normal·v ≤ Offset.
type Row = exact.Row

func unitVector(n, i int) []float64 {
	e := make([]float64, n)
	e[i] = 1
	return e
}

// LinearForm derives the linear form of a task in an environment of the given
// shape: the gradient of an affine cost (zero without a cost) and the half-spaces of
// a polyhedral target, as the target gives them; half-spaces that contain the
// whole box of possible returns are left out, equalities become two of them. It is
// an error, wrapping ErrUnsupported, if the cost is not affine or the target not
// known to be a polyhedron.
func LinearForm(shape *cmdp.Shape, task cmdp.Task) (*Linear, error) {
	d := shape.Dim()
	l := &Linear{Goal: make([]float64, d)}
	if task.Cost != nil {
		a, ok := task.Cost.(cost.Affine)
		if !ok {
			return nil, fmt.Errorf("the cost is not linear: %w", ErrUnsupported)
		}
		l.Goal, l.Offset = a.Gradient(), a.Offset()
	}
	if task.Target == nil {
		return l, nil
	}
	p, ok := task.Target.(geometry.Polyhedral)
	if !ok {
		return nil, fmt.Errorf("the target is not a polyhedron: %w", ErrUnsupported)
	}
	rows, ok := p.Rows()
	if !ok {
		return nil, fmt.Errorf("the target is not a polyhedron: %w", ErrUnsupported)
	}
	lower, upper := make([]float64, d), make([]float64, d)
	shape.ReturnToGo(lower, upper, 0)
	for k, a := range rows.A {
		l.add(Row{Normal: a, Offset: rows.B[k]}, lower, upper)
		if k < rows.Equalities {
			minus := make([]float64, d)
			floats.AddScaled(minus, -1, a)
			l.add(Row{Normal: minus, Offset: -rows.B[k]}, lower, upper)
		}
	}
	return l, nil
}

// add adds a row unless it binds nowhere in the box.
func (l *Linear) add(r Row, lower, upper []float64) {
	most := 0.0
	for i, n := range r.Normal {
		most += max(n*lower[i], n*upper[i])
	}
	if most > r.Offset {
		l.Rows = append(l.Rows, Row{Normal: append([]float64(nil), r.Normal...), Offset: r.Offset})
	}
}

// check returns an error if a form that a caller made does not fit.
func (l *Linear) check(dim int) error {
	if len(l.Goal) != dim {
		return fmt.Errorf("baseline: linear form with a goal of %d coordinates: want %d", len(l.Goal), dim)
	}
	numbers := append([]float64{l.Offset}, l.Goal...)
	for i, r := range l.Rows {
		if len(r.Normal) != dim {
			return fmt.Errorf("baseline: linear form: row %d has %d coordinates: want %d", i, len(r.Normal), dim)
		}
		if floats.Norm(r.Normal, 2) == 0 {
			return fmt.Errorf("baseline: linear form: row %d is zero", i)
		}
		numbers = append(append(numbers, r.Offset), r.Normal...)
	}
	for _, x := range numbers {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return errors.New("baseline: linear form: want finite numbers")
		}
	}
	return nil
}

// Value returns Goal·v + Offset.
func (l *Linear) Value(v []float64) float64 { return floats.Dot(l.Goal, v) + l.Offset }

// Excess returns by how much v exceeds row i, negative if it keeps it with room.
func (l *Linear) Excess(i int, v []float64) float64 {
	return floats.Dot(l.Rows[i].Normal, v) - l.Rows[i].Offset
}
