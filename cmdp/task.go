package cmdp

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// A Task says what is wanted of the return vector V of a policy: minimise
// Cost(V) subject to V ∈ Target. Either may be nil: without a cost only the
// target matters, without a target every return is acceptable. The other fields say
// more about the target, and may all be left out.
type Task struct {
	Cost cost.Cost
	// Target is the target set cut with the box X of possible returns, so that its
	// support function is finite (erratum E-05). Distances to the target, the
	// violation among them, are distances to this set.
	Target geometry.Compact
	// Constraints are half-spaces that contain the target, with the user's names for
	// them. Each has a price of its own. They help where the target is an intersection
	// and some of its parts are not known to be polyhedra.
	Constraints []Constraint
	// Whole is the target before it was cut with X, see [Task.Within]. Where no policy meets it, distances
	// and certificates of package exact are about Whole as far as that can be proved.
	Whole geometry.Set
	// Box is X. It saves finding the extremes of each total return, where there is
	// neither a horizon nor a discount.
	Box *geometry.Box
}

// Within sets Target and Whole to what follows from Box: Whole has the returns within limits, bounds on single returns,
// that lie in a set; each of them may be nil. Target is what Box has of it. Where limits lie outside of Box, its face
// next to them takes their place, so that no policy meets the target and its distance says what is missing. It is an
// error, wrapping [geometry.ErrEmpty], if the set does not meet what limits leave of Box.
func (t *Task) Within(limits *geometry.Box, set geometry.Set) (err error) {
	lower, upper := t.Box.Lower(), t.Box.Upper()
	if limits != nil {
		t.Whole = limits
		least, most := limits.Lower(), limits.Upper()
		for i := range lower {
			lo, up := lower[i], upper[i]
			lower[i], upper[i] = min(max(lo, least[i]), most[i]), max(min(up, most[i]), least[i])
		}
	}
	cut, err := geometry.NewBox(lower, upper)
	if err != nil {
		return err
	}
	if set == nil {
		t.Target, err = cut.Bounded()
		return err
	}
	t.Target, err = geometry.Restrict(set, cut)
	if errors.Is(err, geometry.ErrEmpty) {
		return fmt.Errorf("the target does not meet the box of the returns that are possible and allowed by the "+
			"constraints, %v to %v: %w", lower, upper, err)
	}
	if err != nil {
		return err
	}
	t.Whole = set
	if limits != nil {
		t.Whole, err = geometry.NewIntersection(limits, set)
	}
	return err
}

// Check returns an error unless cost, target, box and constraints are about so many returns, and the numbers of
// constraints are finite.
func (t Task) Check(dim int) error {
	for _, part := range []struct {
		name string
		of   interface{ Dim() int }
		is   bool
	}{{"cost", t.Cost, t.Cost != nil}, {"target", t.Target, t.Target != nil}, {"whole target", t.Whole, t.Whole != nil},
		{"box", t.Box, t.Box != nil}} {
		if part.is && part.of.Dim() != dim {
			return fmt.Errorf("%s of dimension %d: want %d as the returns", part.name, part.of.Dim(), dim)
		}
	}
	for k, c := range t.Constraints {
		if err := c.Check(dim); err != nil {
			return fmt.Errorf("constraint %d: %w", k, err)
		}
	}
	return nil
}

// A Constraint is the linear inequality Normal·v ≤ Offset of returns. Its name is for people, and may be left out.
type Constraint struct {
	Normal []float64
	Offset float64
	// Name is in the user's words, such as "cost ≤ 0.3".
	Name string
}

// Check returns an error unless the normal has dim entries, not all zero, and all
// numbers are finite.
func (c Constraint) Check(dim int) error {
	if len(c.Normal) != dim {
		return fmt.Errorf("normal has length %d: want %d", len(c.Normal), dim)
	}
	for _, x := range append([]float64{c.Offset}, c.Normal...) {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("%g with an offset of %g: want finite numbers", c.Normal, c.Offset)
		}
	}
	if floats.Norm(c.Normal, 2) == 0 {
		return fmt.Errorf("normal is zero")
	}
	return nil
}

// Excess returns the largest value of Normal·v − Offset over the box [lower, upper].
func (c Constraint) Excess(lower, upper []float64) float64 {
	most := 0.0
	for i, n := range c.Normal {
		if n != 0 { // a side without a bound may be infinite
			most += math.Max(n*lower[i], n*upper[i])
		}
	}
	return most - c.Offset
}

// same reports whether two inequalities say the same, up to a positive factor.
func (c Constraint) same(o Constraint) bool {
	p, q := floats.Norm(c.Normal, 2), floats.Norm(o.Normal, 2)
	if p == 0 || q == 0 {
		return false
	}
	for i := range c.Normal {
		if math.Abs(c.Normal[i]/p-o.Normal[i]/q) > 1e-15 {
			return false
		}
	}
	return math.Abs(c.Offset/p-o.Offset/q) <= 1e-15*math.Abs(c.Offset/p)
}

// LinearConstraints returns the half-spaces that the target is known to be made of, and
// whether they are all of it. Constraints come first, then others by which the target is
// described, without names. Those of the others that hold for all points of the box
// [lower, upper] are left out: they bind nothing.
func (t Task) LinearConstraints(lower, upper []float64) (list []Constraint, complete bool) {
	list = append(list, t.Constraints...)
	if t.Target == nil {
		return list, true
	}
	p, ok := t.Target.(geometry.Polyhedral)
	if !ok {
		return list, false
	}
	rows, ok := p.Rows()
	if !ok {
		return list, false
	}
	add := func(c Constraint) {
		if c.Excess(lower, upper) <= 0 {
			return
		}
		at := 0 // of the largest entry, which tells most rows apart: of limits at each step there are thousands
		for i, x := range c.Normal {
			if math.Abs(x) > math.Abs(c.Normal[at]) {
				at = i
			}
		}
		for _, named := range t.Constraints {
			if named.Normal[at]*c.Normal[at] > 0 && named.same(c) {
				return
			}
		}
		list = append(list, c)
	}
	for k, normal := range rows.A {
		add(Constraint{Normal: normal, Offset: rows.B[k]})
		if k < rows.Equalities {
			minus := make([]float64, len(normal))
			floats.AddScaled(minus, -1, normal)
			add(Constraint{Normal: minus, Offset: -rows.B[k]})
		}
	}
	return list, true
}

// Violation returns the Euclidean distance of x from the target, 0 without one. By how much x lies outside of Box is
// rounding and does not count: that of a return of 1e17 is larger than what another one misses.
func (t Task) Violation(x []float64) float64 {
	if t.Target == nil {
		return 0
	}
	x = slices.Clone(x)
	if t.Box != nil {
		lower, upper := t.Box.Lower(), t.Box.Upper()
		for i := range x {
			x[i] = math.Min(math.Max(x[i], lower[i]), upper[i])
		}
	}
	p := make([]float64, len(x))
	t.Target.Project(p, x)
	return floats.Distance(p, x, 2)
}

// LeastCost returns a lower bound of the cost of all returns in the box of possible ones: the least cost, and
// if the cost is affine that in the target. The task needs a cost. It allocates.
func (t Task) LeastCost(shape *Shape) float64 {
	lower, upper := shape.Totals()
	at := make([]float64, shape.dim)
	affine, ok := t.Cost.(cost.Affine)
	if !ok {
		t.Cost.ConjugateSubgradient(at, make([]float64, shape.dim), lower)
		const rounding = 1e-6 // of a conjugate that is not in closed form
		return t.Cost.Value(at) - rounding*t.Cost.Lipschitz()*diameter(lower, upper)
	}
	gradient := affine.Gradient()
	least, _ := geometry.LinearRange(gradient, lower, upper)
	if t.Target != nil {
		away := make([]float64, shape.dim)
		floats.AddScaled(away, -1, gradient)
		t.Target.MaximizeLinear(at, away)
		least = max(least, floats.Dot(gradient, at))
	}
	return least + affine.Offset()
}
