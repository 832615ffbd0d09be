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

// A taskBuilder makes the task of a problem for a compiled model.
type taskBuilder struct {
	*compiled
	problem *problem.Problem
	limits  []*Limit // sides of the target follow
	returns []string // of the model
	task    cmdp.Task
}

// task returns the task of keeping some limits of a problem, beside its goal and target, and the limits with the sides
// of the target, see [taskBuilder.build].
func (c *compiled) task(ctx context.Context, p *problem.Problem, limits []*Limit) (cmdp.Task, []*Limit, error) {
	b := &taskBuilder{compiled: c, problem: p, limits: limits, returns: c.process.Returns}
	err := b.build(ctx)
	return b.task, b.limits, err
}

// numberLimits gives limits of a problem their coordinates and their rows in the task.
func (c *compiled) numberLimits(p *problem.Problem, limits []*Limit, relaxed bool) error {
	row, returns := 0, c.process.Returns
	for _, l := range limits {
		if l.row < 0 {
			continue
		}
		i := slices.Index(returns, l.expected.name)
		if i < 0 {
			return problem.Inside(unknownReturn(l.expected.name, returns), "constraints", p.PlaceOf(l.Constraint))
		}
		// Of a total that is rounded, a limit is about the bound that keeps it for certain, or in a relaxed question
		// about the other one.
		side := upperBound
		if l.expected.atLeast != relaxed {
			side = lowerBound
		}
		if j := slices.Index(returns, l.expected.name+side); j >= 0 {
			i = j
		}
		l.expected.coordinate, l.row = i, row
		row++
	}
	return nil
}

// build sets the task: the goal as a cost to be minimised, and limits and target as a set within the box of
// possible returns. To maximise a return is to minimise its negative. The cost is nil without a goal, the
// target nil if there are neither limits nor a target. The rows of the task are the limits that are not kept by
// what the model offers, in their order, then the sides that the target is given by, then others that its kind
// has. A limit that no possible return keeps is not a mistake: the target is then the face of the limit,
// outside of the box, and no policy meets it. It is an error, wrapping [geometry.ErrEmpty], if limits
// contradict each other, or if a target set does not meet the box. The task then has no target and all its rows.
func (b *taskBuilder) build(ctx context.Context) error {
	box, err := b.box(ctx)
	if err != nil {
		return err
	}
	b.task = cmdp.Task{Box: box}
	for _, l := range b.limits {
		if l.row >= 0 {
			b.task.Constraints = append(b.task.Constraints, b.rowOf(l))
		}
	}
	b.task.Cost, err = b.goal(box)
	if err != nil {
		return err
	}
	err = b.setTarget()
	if err != nil && !errors.Is(err, geometry.ErrEmpty) {
		return err
	}
	if b.problem.Target != nil {
		b.setSides()
	}
	if err == nil && b.problem.Opponent != nil {
		_, err = b.problem.Opponent.Build(b.problem, b.task.Target)
		err = problem.Inside(err, "opponent")
	}
	return err
}

// setSides adds rows to the task: one for each side by which the target is given, and those that its kind has.
func (b *taskBuilder) setSides() {
	b.addSides(b.problem.Target)
	given := len(b.task.Constraints)
	list, _ := halfspaces(b.task)
	for _, c := range list[given:] {
		b.addSide(c.Normal, c.Offset)
	}
}

// halfspaces are those of a task within its box, see [cmdp.Task.LinearConstraints].
func halfspaces(task cmdp.Task) (list []cmdp.Constraint, complete bool) {
	return task.LinearConstraints(task.Box.Lower(), task.Box.Upper())
}

// setTarget sets Target and Whole of the task, which has its Box.
func (b *taskBuilder) setTarget() error {
	if !slices.ContainsFunc(b.limits, func(l *Limit) bool { return l.row >= 0 }) && b.problem.Target == nil {
		return nil
	}
	least, most, err := b.allowed()
	if err != nil {
		return err
	}
	asked, err := geometry.NewBox(least, most)
	if err != nil {
		return problem.Inside(err, "constraints")
	}
	if b.problem.Target == nil {
		return b.task.Within(asked, nil)
	}
	if len(b.problem.Constraints) == 0 {
		asked = nil
	}
	set, err := b.target()
	if err == nil {
		err = b.task.Within(asked, set)
	}
	return problem.Inside(err, "target")
}

// allowed returns the bounds on each return that the limits ask for, ±Inf without one.
func (b *taskBuilder) allowed() (least, most []float64, err error) {
	d := len(b.returns)
	least, most = slices.Repeat([]float64{math.Inf(-1)}, d), slices.Repeat([]float64{math.Inf(1)}, d)
	for _, l := range b.limits {
		if l.row < 0 || l.Constraint < 0 {
			continue
		}
		i := l.expected.coordinate
		err := l.expected.narrow(&least[i], &most[i])
		if err != nil {
			return nil, nil, problem.Inside(err, "constraints", b.problem.PlaceOf(l.Constraint))
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
func (b *taskBuilder) rowOf(l *Limit) cmdp.Constraint {
	sign := signOf(l.expected.atLeast)
	normal := make([]float64, len(b.returns))
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
func (b *taskBuilder) addSides(s *problem.Set) {
	switch {
	case s.Box != nil:
		for i := range b.declaredReturns() {
			if s.Box.Lower != nil && s.Box.Lower[i] != nil {
				b.addBound(i, -1, *s.Box.Lower[i])
			}
			if s.Box.Upper != nil && s.Box.Upper[i] != nil {
				b.addBound(i, 1, *s.Box.Upper[i])
			}
		}
	case s.Halfspace != nil:
		normal, _ := s.Halfspace.Normal.Vector(b.declaredReturns()) // the set was built
		b.addSide(normal, s.Halfspace.Offset)
	case s.Polytope != nil:
		for k, a := range s.Polytope.A {
			b.addSide(a, s.Polytope.B[k])
		}
	case s.Affine != nil:
		for k, a := range s.Affine.A {
			b.addSide(a, s.Affine.B[k])
			minus := make([]float64, len(a))
			floats.AddScaled(minus, -1, a)
			b.addSide(minus, -s.Affine.B[k])
		}
	}
	for _, part := range s.Intersection {
		b.addSides(part)
	}
}

// addBound adds sign·v_i ≤ sign·x.
func (b *taskBuilder) addBound(i int, sign, x float64) {
	l := &Limit{Scope: OfTarget, Constraint: -1, Name: words(b.returns[i], sign < 0, sixDigits(x), ""),
		Return: b.returns[i], Bound: x, AtLeast: sign < 0,
		expected: expected{name: b.returns[i], coordinate: i, atLeast: sign < 0, bound: x}}
	b.addLimit(l, b.rowOf(l))
}

// addSide adds normal·v ≤ offset.
func (b *taskBuilder) addSide(normal []float64, offset float64) {
	normal = append(slices.Clone(normal), make([]float64, len(b.returns)-len(normal))...) // see declaredReturns
	size := floats.Norm(normal, 2)
	for i, x := range normal {
		if math.Abs(x) == 1 && size == 1 {
			b.addBound(i, x, x*offset)
			return
		}
	}
	l := &Limit{Scope: OfTarget, Constraint: -1, Name: words(b.process.Expression(normal), false, sixDigits(offset), ""),
		Bound:    offset,
		expected: expected{coordinate: -1, bound: offset}}
	b.addLimit(l, cmdp.Constraint{Normal: normal, Offset: offset, Name: l.Name})
}

// addLimit adds a side of the target to the limits and the rows.
func (b *taskBuilder) addLimit(l *Limit, row cmdp.Constraint) {
	taken := func(o *Limit) bool { return o.Name == row.Name }
	for n := 1; slices.ContainsFunc(b.limits, taken); n++ {
		row.Name = l.Name + " (target)"
		if n > 1 {
			row.Name = fmt.Sprintf("%s (target, number %d)", l.Name, n)
		}
	}
	l.Name = row.Name
	l.row = len(b.task.Constraints)
	b.limits = append(b.limits, l)
	b.task.Constraints = append(b.task.Constraints, row)
}

func (b *taskBuilder) goal(box *geometry.Box) (cost.Cost, error) {
	g := b.problem.Goal
	kind, err := g.Kind()
	switch {
	case err != nil:
		return nil, problem.Inside(err, "goal")
	case kind == "":
		return nil, nil
	case g.Cost != nil:
		c, err := b.curved(box)
		return c, problem.Inside(err, "goal", "cost")
	}
	i := slices.Index(b.returns, g.Maximize+g.Minimize)
	if i < 0 {
		return nil, problem.Inside(fmt.Errorf("unknown return %q", g.Maximize+g.Minimize), "goal", kind)
	}
	gradient := make([]float64, len(b.returns))
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

// declaredReturns lists the returns that a cost and a target of the file are about: those after them were added to
// tell about limits.
func (c *compiled) declaredReturns() []string { return c.process.Returns[:c.declared] }

// curved builds the cost of the goal over a box of all returns.
func (b *taskBuilder) curved(box *geometry.Box) (cost.Cost, error) {
	g, n, d := b.problem.Goal, len(b.declaredReturns()), len(b.returns)
	if n == d {
		return g.Cost.Build(b.returns, box)
	}
	part, err := geometry.NewBox(box.Lower()[:n], box.Upper()[:n])
	if err != nil {
		return nil, err
	}
	c, err := g.Cost.Build(b.declaredReturns(), part)
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
func (b *taskBuilder) target() (geometry.Set, error) {
	n, d := len(b.declaredReturns()), len(b.returns)
	set, err := b.problem.Target.Build(n, b.declaredReturns())
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
