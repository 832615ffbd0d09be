package baseline

import (
	"errors"
	"fmt"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// A Linear is the linear form of a task, in the user's units: minimise
// Goal·V + Offset subject to Rows[i].Normal·V ≤ Rows[i].Offset for every i.
type Linear struct {
	Goal   []float64
	Offset float64
	Rows   []cmdp.Constraint
}

func unitVector(n, i int) []float64 {
	e := make([]float64, n)
	e[i] = 1
	return e
}

// boxWithin returns what half-spaces leave of a box. It is an error, wrapping [geometry.ErrEmpty], if that is nothing.
func boxWithin(rows []cmdp.Constraint, box *geometry.Box) (geometry.Compact, error) {
	if len(rows) == 0 {
		return box.Bounded()
	}
	var normals [][]float64
	var offsets []float64
	for _, r := range rows {
		normals, offsets = append(normals, r.Normal), append(offsets, r.Offset)
	}
	set, err := geometry.NewPolyhedron(normals, offsets)
	if err != nil {
		return nil, err
	}
	return geometry.Restrict(set, box)
}

// worstExcess returns the largest excess over half-spaces as a cost over a box.
func worstExcess(rows []cmdp.Constraint, box *geometry.Box) (cost.Cost, error) {
	var gradients [][]float64
	var offsets []float64
	for _, r := range rows {
		gradients, offsets = append(gradients, r.Normal), append(offsets, -r.Offset)
	}
	return cost.NewMaxAffine(gradients, offsets, box)
}

// LinearForm derives the linear form of a task in an environment of the given shape: the
// gradient of an affine cost (zero without a cost) and the constraints of a polyhedral
// target. An equality is two constraints. Constraints that hold for all possible returns
// are left out, and so are those that another one implies. It is an error, wrapping
// ErrUnsupported, if the cost is not affine or the target not known to be a polyhedron.
func LinearForm(shape *cmdp.Shape, task cmdp.Task) (*Linear, error) {
	if shape == nil {
		return nil, errors.New("baseline: no shape: want that of a model with a horizon")
	}
	d := shape.Dim()
	l := &Linear{Goal: make([]float64, d)}
	if task.Cost != nil {
		a, ok := task.Cost.(cost.Affine)
		if !ok {
			return nil, fmt.Errorf("the cost is not linear: %w", ErrUnsupported)
		}
		l.Goal, l.Offset = a.Gradient(), a.Offset()
	}
	lower, upper := shape.Totals()
	list, ok := task.LinearConstraints(lower, upper)
	if !ok {
		return nil, fmt.Errorf("the target is not a polyhedron: %w", ErrUnsupported)
	}
	for _, c := range list {
		l.add(c, lower, upper)
	}
	return l, nil
}

// add adds a constraint unless it binds nowhere in the box or another says as much.
func (l *Linear) add(c cmdp.Constraint, lower, upper []float64) {
	if c.Excess(lower, upper) <= 0 {
		return
	}
	for i, o := range l.Rows {
		if !sameDirection(c.Normal, o.Normal) {
			continue
		}
		if c.Offset/floats.Norm(c.Normal, 2) < o.Offset/floats.Norm(o.Normal, 2) {
			l.Rows[i] = c
		}
		return
	}
	l.Rows = append(l.Rows, c)
}

// sameDirection reports whether two vectors, not zero, differ by a positive factor alone.
func sameDirection(a, b []float64) bool {
	p, q := floats.Norm(a, 2), floats.Norm(b, 2)
	for i := range a {
		if math.Abs(a[i]/p-b[i]/q) > 1e-15 {
			return false
		}
	}
	return true
}

// check returns an error if a form that a caller made does not fit.
func (l *Linear) check(dim int) error {
	if len(l.Goal) != dim {
		return fmt.Errorf("baseline: linear form with a goal of %d coordinates: want %d", len(l.Goal), dim)
	}
	if size := math.Abs(l.Offset) + floats.Norm(l.Goal, 1); math.IsNaN(size) || math.IsInf(size, 0) {
		return fmt.Errorf("baseline: linear form with the goal %g and the offset %g: want finite numbers", l.Goal,
			l.Offset)
	}
	for i, r := range l.Rows {
		if err := r.Check(dim); err != nil {
			return fmt.Errorf("baseline: linear form: row %d: %w", i, err)
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
