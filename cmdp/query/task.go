package query

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// numberLimits gives limits their coordinates and their rows in the task.
func (q *Query) numberLimits() error {
	row := 0
	for _, l := range q.Limits {
		if l.row < 0 {
			continue
		}
		i := slices.Index(q.Returns, l.expected.name)
		if i < 0 {
			return problem.Inside(unknownReturn(l.expected.name, q.Returns), "constraints", q.Problem.PlaceOf(l.Constraint))
		}
		// Of a total that is rounded, a limit is about the bound that keeps it for certain, or in a relaxed question
		// about the other one.
		side := upperBound
		if l.expected.atLeast != q.options.relaxed {
			side = lowerBound
		}
		if j := slices.Index(q.Returns, l.expected.name+side); j >= 0 {
			i = j
		}
		l.expected.coordinate, l.row = i, row
		row++
	}
	return nil
}

// setTask sets Task: the goal as a cost to be minimised, and limits and target as a set within the box of
// possible returns. To maximise a return is to minimise its negative. The cost is nil without a goal, the
// target nil if there are neither limits nor a target. The rows of the task are the limits that are not kept by
// what the model offers, in their order, then the sides that the target is given by, then others that its kind
// has. A limit that no possible return keeps is not a mistake: the target is then the face of the limit,
// outside of the box, and no policy meets it. It is an error, wrapping [geometry.ErrEmpty], if limits
// contradict each other, or if a target set does not meet the box. Task then has no target and all its rows.
func (q *Query) setTask(ctx context.Context) error {
	box, err := q.box(ctx)
	if err != nil {
		return err
	}
	q.Task = cmdp.Task{Box: box}
	for _, l := range q.Limits {
		if l.row >= 0 {
			q.Task.Constraints = append(q.Task.Constraints, q.rowOf(l))
		}
	}
	q.Task.Cost, err = q.goal(box)
	if err != nil {
		return err
	}
	err = q.setTarget()
	if err != nil && !errors.Is(err, geometry.ErrEmpty) {
		return err
	}
	if q.Problem.Target != nil {
		q.setSides()
	}
	if err == nil && q.Problem.Opponent != nil {
		_, err = q.Problem.Opponent.Build(q.Problem, q.Task.Target)
		err = problem.Inside(err, "opponent")
	}
	return err
}

// setSides adds rows to Task: one for each side by which the target is given, and those that its kind has.
func (q *Query) setSides() {
	q.addSides(q.Problem.Target)
	given := len(q.Task.Constraints)
	list, _ := q.Task.LinearConstraints(q.Task.Box.Lower(), q.Task.Box.Upper())
	for _, c := range list[given:] {
		q.addSide(c.Normal, c.Offset)
	}
}

// setTarget sets Target and Whole of Task, which has its Box.
func (q *Query) setTarget() error {
	if !slices.ContainsFunc(q.Limits, func(l *Limit) bool { return l.row >= 0 }) && q.Problem.Target == nil {
		return nil
	}
	least, most, err := q.allowed()
	if err != nil {
		return err
	}
	asked, err := geometry.NewBox(least, most)
	if err != nil {
		return problem.Inside(err, "constraints")
	}
	if q.Problem.Target == nil {
		return q.Task.Within(asked, nil)
	}
	set, err := q.target()
	if err == nil && len(q.Problem.Constraints) > 0 {
		err = q.Task.Within(asked, set)
	} else if err == nil {
		err = q.Task.Within(nil, set)
	}
	return problem.Inside(err, "target")
}

// allowed returns the bounds on each return that the limits ask for, ±Inf without one.
func (q *Query) allowed() (least, most []float64, err error) {
	d := len(q.Returns)
	least, most = slices.Repeat([]float64{math.Inf(-1)}, d), slices.Repeat([]float64{math.Inf(1)}, d)
	for _, l := range q.Limits {
		if l.row < 0 || l.Constraint < 0 {
			continue
		}
		i := l.expected.coordinate
		err := l.expected.narrow(&least[i], &most[i])
		if err != nil {
			return nil, nil, problem.Inside(err, "constraints", q.Problem.PlaceOf(l.Constraint))
		}
	}
	return least, most, nil
}

// narrow narrows the interval from least to most to what the bound allows.
func (e *expected) narrow(least, most *float64) error {
	const contradiction = "%s %s %g is asked for, but the other constraints keep it %s %g: %w"
	switch {
	case math.IsNaN(e.bound):
		return errors.New("a bound is NaN")
	case !math.IsInf(e.bound, 0) && math.Abs(e.bound) > largest:
		return fmt.Errorf("%s is limited to %g: want a magnitude of at most %g, or no limit", e.name, e.bound, largest)
	case e.atLeast && e.bound > *most:
		return fmt.Errorf(contradiction, e.name, "at least", e.bound, "at most", *most, geometry.ErrEmpty)
	case e.atLeast:
		*least = max(*least, e.bound)
	case e.bound < *least:
		return fmt.Errorf(contradiction, e.name, "at most", e.bound, "at least", *least, geometry.ErrEmpty)
	default:
		*most = min(*most, e.bound)
	}
	return nil
}

// rowOf returns a limit as a half-space, with the words of the limit.
func (q *Query) rowOf(l *Limit) cmdp.Constraint {
	sign := signOf(l.expected.atLeast)
	normal := make([]float64, len(q.Returns))
	normal[l.expected.coordinate] = sign
	return cmdp.Constraint{Normal: normal, Offset: sign * l.expected.bound, Name: l.Name}
}

// signOf is that of the normal of a bound: 1 of one from above, -1 of one from below.
func signOf(atLeast bool) float64 {
	if atLeast {
		return -1
	}
	return 1
}

// addSides adds the half-spaces that the target is said to be made of, in the user's numbers.
func (q *Query) addSides(s *problem.Set) {
	switch {
	case s.Box != nil:
		for i := range q.declared() {
			if s.Box.Lower != nil && s.Box.Lower[i] != nil {
				q.addBound(i, -1, *s.Box.Lower[i])
			}
			if s.Box.Upper != nil && s.Box.Upper[i] != nil {
				q.addBound(i, 1, *s.Box.Upper[i])
			}
		}
	case s.Halfspace != nil:
		normal, _ := s.Halfspace.Normal.Vector(q.declared()) // the set was built
		q.addSide(normal, s.Halfspace.Offset)
	case s.Polytope != nil:
		for k, a := range s.Polytope.A {
			q.addSide(a, s.Polytope.B[k])
		}
	case s.Affine != nil:
		for k, a := range s.Affine.A {
			q.addSide(a, s.Affine.B[k])
			minus := make([]float64, len(a))
			floats.AddScaled(minus, -1, a)
			q.addSide(minus, -s.Affine.B[k])
		}
	}
	for _, part := range s.Intersection {
		q.addSides(part)
	}
}

// addBound adds sign·v_i ≤ sign·x.
func (q *Query) addBound(i int, sign, x float64) {
	l := &Limit{Scope: OfTarget, Constraint: -1, Name: words(q.Returns[i], sign < 0, sixDigits(x), ""),
		Return: q.Returns[i], Bound: x, AtLeast: sign < 0,
		expected: expected{name: q.Returns[i], coordinate: i, atLeast: sign < 0, bound: x}}
	q.addLimit(l, q.rowOf(l))
}

// addSide adds normal·v ≤ offset.
func (q *Query) addSide(normal []float64, offset float64) {
	normal = append(slices.Clone(normal), make([]float64, len(q.Returns)-len(normal))...) // see declared
	size := floats.Norm(normal, 2)
	for i, x := range normal {
		if math.Abs(x) == 1 && size == 1 {
			q.addBound(i, x, x*offset)
			return
		}
	}
	l := &Limit{Scope: OfTarget, Constraint: -1, Name: words(q.Expression(normal), false, sixDigits(offset), ""),
		Bound:    offset,
		expected: expected{coordinate: -1, bound: offset}}
	q.addLimit(l, cmdp.Constraint{Normal: normal, Offset: offset, Name: l.Name})
}

// addLimit adds a side of the target to the limits and the rows.
func (q *Query) addLimit(l *Limit, row cmdp.Constraint) {
	if slices.ContainsFunc(q.Limits, func(o *Limit) bool { return o.Name == l.Name }) {
		l.Name += " (target)"
		row.Name = l.Name
	}
	l.row = len(q.Task.Constraints)
	q.Limits = append(q.Limits, l)
	q.Task.Constraints = append(q.Task.Constraints, row)
}

// goal returns the goal as a cost.
func (q *Query) goal(box *geometry.Box) (cost.Cost, error) {
	g := q.Problem.Goal
	kind, err := g.Kind()
	switch {
	case err != nil:
		return nil, problem.Inside(err, "goal")
	case kind == "":
		return nil, nil
	case g.Cost != nil:
		c, err := q.curved(box)
		return c, problem.Inside(err, "goal", "cost")
	}
	i := slices.Index(q.Returns, g.Maximize+g.Minimize)
	if i < 0 {
		return nil, problem.Inside(fmt.Errorf("unknown return %q", g.Maximize+g.Minimize), "goal", kind)
	}
	gradient := make([]float64, len(q.Returns))
	gradient[i] = 1
	if g.Maximize != "" {
		gradient[i] = -1
	}
	c, err := cost.NewLinear(gradient, box)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// declared lists the returns that a cost and a target of the file are about: those after them were added to tell
// about limits.
func (q *Query) declared() []string { return q.Returns[:q.compiled.declared] }

// curved builds the cost of the goal over a box of all returns.
func (q *Query) curved(box *geometry.Box) (cost.Cost, error) {
	g, n, d := q.Problem.Goal, len(q.declared()), len(q.Returns)
	if n == d {
		return g.Cost.Build(q.Returns, box)
	}
	part, err := geometry.NewBox(box.Lower()[:n], box.Upper()[:n])
	if err != nil {
		return nil, err
	}
	c, err := g.Cost.Build(q.declared(), part)
	if err != nil {
		return nil, err
	}
	first := make([][]float64, n)
	for i := range first {
		first[i] = make([]float64, d)
		first[i][i] = 1
	}
	return cost.NewPrecomposed(c, first, make([]float64, n), box)
}

// target builds the target, with all values allowed for returns that it is not about.
func (q *Query) target() (geometry.Set, error) {
	n, d := len(q.declared()), len(q.Returns)
	set, err := q.Problem.Target.Build(n, q.declared())
	if err != nil || n == d {
		return set, err
	}
	rest, err := geometry.NewBox(slices.Repeat([]float64{math.Inf(-1)}, d-n),
		slices.Repeat([]float64{math.Inf(1)}, d-n))
	if err != nil {
		return nil, err
	}
	return geometry.NewProduct(set, rest)
}

// Objective returns the value of the return vector v in the user's own sense: the
// return that is maximised or minimised, or the cost. It is NaN without a goal. It panics if v has not
// the length of Returns.
func (q *Query) Objective(v []float64) float64 {
	if len(v) != len(q.Returns) {
		panic("query: dimension mismatch")
	}
	if q.Task.Cost == nil {
		return math.NaN()
	}
	return q.Sense() * q.Task.Cost.Value(v)
}

// Sense is 1 if the cost of the task is the user's objective, -1 if it is the
// negative of a return to be maximised.
func (q *Query) Sense() float64 {
	if q.Problem.Goal.Maximize != "" {
		return -1
	}
	return 1
}
