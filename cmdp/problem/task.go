package problem

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// Box returns the box X of possible returns: with a horizon, the sums of the
// extremes of single steps, cut to the promised range of the return to go; with
// a discount below 1, the geometric series of the extremes; with discount 1, bounds of
// the expected total return over all policies, [Boundless] where it may be infinite; of
// long-run averages, the extremes of single steps. It allocates.
func (p *Problem) Box() (*geometry.Box, error) {
	m, shape := p.Model, p.Shape()
	lower, upper := make([]float64, len(p.Returns)), make([]float64, len(p.Returns))
	switch {
	case shape != nil:
		shape.ReturnToGo(lower, upper, 0)
	case m.Average():
		stepRange(m.Kernel(0), lower, upper)
	case m.Discount() == 1:
		if err := p.totals.ranges(m, lower, upper); err != nil {
			return nil, err
		}
		if m.Means() {
			low, high := make([]float64, m.Dim()), make([]float64, m.Dim())
			stepRange(m.Kernel(0), low, high)
			for i := range lower {
				if m.Mean(i) {
					lower[i], upper[i] = low[i], high[i]
				}
			}
		}
	default:
		stepRange(m.Kernel(0), lower, upper)
		for i := range lower {
			lower[i] /= 1 - m.Discount()
			upper[i] /= 1 - m.Discount()
		}
	}
	for i := range lower {
		if math.IsInf(lower[i], 0) || math.IsInf(upper[i], 0) || math.IsInf(upper[i]-lower[i], 0) {
			return nil, fmt.Errorf("problem: return %s: its possible values, from %g to %g, are too far apart", p.Returns[i], lower[i], upper[i])
		}
	}
	return geometry.NewBox(lower, upper)
}

// Boundless stands for infinity in the sides of the box of possible returns, which are
// numbers.
const Boundless = 1e99

// totals remembers the extremes of the total return of a model, which are problems of
// their own.
type totals struct {
	mu           sync.Mutex
	of           *cmdp.Model
	lower, upper []float64
}

// ranges sets lower and upper to the extremes of the total return.
func (t *totals) ranges(m *cmdp.Model, lower, upper []float64) error {
	if t == nil {
		t = new(totals)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of != m {
		least, most, err := exact.Ranges(context.Background(), m, exact.Options{})
		if err != nil {
			return fmt.Errorf("problem: %w", err)
		}
		for i := range least {
			least[i], most[i] = max(least[i], -Boundless), min(most[i], Boundless)
		}
		t.of, t.lower, t.upper = m, least, most
	}
	copy(lower, t.lower)
	copy(upper, t.upper)
	return nil
}

// stepRange sets lower and upper to the extremes of one step, 0 included if the
// process can rest.
func stepRange(k *cmdp.Kernel, lower, upper []float64) {
	values, d := k.Returns, len(lower)
	if k.Outcomes != nil {
		values = k.Outcomes
	}
	rests := len(values) == 0
	for s := range len(k.First) - 1 {
		rests = rests || k.First[s] == k.First[s+1]
	}
	for j, x := range values {
		if i := j % d; j < d && !rests {
			lower[i], upper[i] = x, x
		} else {
			lower[i], upper[i] = min(lower[i], x), max(upper[i], x)
		}
	}
}

// Task returns what is wanted as a cost to be minimised and a target set within the box of
// possible returns: to maximise a return is to minimise its negative. The cost is nil without a
// goal, the target nil if there are neither constraints nor a target. Constraints alone give a
// box. The task names every known side of the target: first the constraints, each with its
// lower bound before its upper one, then the sides that the target is given by, then others
// that its kind has. A constraint that no possible return keeps is not a mistake: the target is
// then the face of the constraint, outside the box of possible returns, and no policy meets it.
// It is an error, wrapping [geometry.ErrEmpty], if constraints contradict each other, or if a
// target set, or in a game a constraint, does not meet the box; errors that concern a member
// are [MemberError]s, with paths as in the problem file. With an error that wraps ErrEmpty it
// returns a task without a target, whose Constraints say which limits there are. It allocates.
func (p *Problem) Task() (cmdp.Task, error) {
	box, err := p.Box()
	if err != nil {
		return cmdp.Task{}, err
	}
	c, err := p.goalCost(box)
	if err != nil {
		return cmdp.Task{}, err
	}
	t := cmdp.Task{Cost: c, Box: box}
	err = p.setTarget(&t)
	if err != nil && !errors.Is(err, geometry.ErrEmpty) {
		return cmdp.Task{}, err
	}
	p.describe(&t)
	return t, err
}

func (p *Problem) goalCost(box *geometry.Box) (cost.Cost, error) {
	if p.Goal == (Goal{}) {
		return nil, nil
	}
	kind, _, err := kindOf(p.Goal)
	if err != nil {
		return nil, inside(err, "goal")
	}
	if p.Goal.Cost != nil {
		c, err := p.builtCost(box)
		return c, inside(err, "goal", "cost")
	}
	i := slices.Index(p.Returns, p.Goal.Maximize+p.Goal.Minimize)
	if i < 0 {
		return nil, inside(fmt.Errorf("problem: unknown return %q", p.Goal.Maximize+p.Goal.Minimize), "goal", kind)
	}
	gradient := make([]float64, len(p.Returns))
	gradient[i] = 1
	if p.Goal.Maximize != "" {
		gradient[i] = -1
	}
	return checked(cost.NewLinear(gradient, box))
}

// listed names the returns that goal and target of the file are about: those after them were added to
// tell about constraints on episodes.
func (p *Problem) listed() []string { return p.Declared().Returns }

// builtCost builds the cost of the goal over a box of all returns.
func (p *Problem) builtCost(box *geometry.Box) (cost.Cost, error) {
	n, d := len(p.listed()), len(p.Returns)
	if n == d {
		return p.Goal.Cost.Build(p.Returns, box)
	}
	part, err := geometry.NewBox(box.Lower()[:n], box.Upper()[:n])
	if err != nil {
		return nil, err
	}
	c, err := p.Goal.Cost.Build(p.listed(), part)
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

// builtTarget builds the target, with all values allowed for returns that it is not about.
func (p *Problem) builtTarget() (geometry.Set, error) {
	n, d := len(p.listed()), len(p.Returns)
	set, err := p.Target.Build(n, p.listed())
	if err != nil || n == d {
		return set, err
	}
	rest, err := geometry.NewBox(orFill(nil, d-n, math.Inf(-1)), orFill(nil, d-n, math.Inf(1)))
	if err != nil {
		return nil, err
	}
	return geometry.NewProduct(set, rest)
}

// setTarget sets Target and Whole of a task that has its Box.
func (p *Problem) setTarget(t *cmdp.Task) error {
	if len(p.Constraints) == 0 && p.Target == nil {
		return nil
	}
	least, most, err := p.asked(t.Box)
	if err != nil {
		return err
	}
	// What constraints leave of the box; where they lie outside, its face next to them.
	lower, upper := t.Box.Lower(), t.Box.Upper()
	for i := range lower {
		lo, up := lower[i], upper[i]
		lower[i], upper[i] = min(max(lo, least[i]), most[i]), max(min(up, most[i]), least[i])
	}
	cut, err := geometry.NewBox(lower, upper)
	if err != nil {
		return inside(err, "constraints")
	}
	asked, err := geometry.NewBox(least, most)
	if err != nil {
		return inside(err, "constraints")
	}
	if p.Target == nil {
		t.Whole = asked
		t.Target, err = cut.Bounded()
		return err
	}
	set, err := p.builtTarget()
	if err != nil {
		return inside(err, "target")
	}
	target, err := geometry.Restrict(set, cut)
	if errors.Is(err, geometry.ErrEmpty) {
		err = fmt.Errorf("problem: the target does not meet the box of the returns that are possible and allowed by the constraints, %v to %v: %w", lower, upper, err)
	}
	if err != nil {
		return inside(err, "target")
	}
	t.Target, t.Whole = target, set
	if len(p.Constraints) > 0 {
		if t.Whole, err = geometry.NewIntersection(asked, set); err != nil {
			return inside(err, "target")
		}
	}
	return nil
}

// asked returns the bounds on each return that the constraints ask for, ±Inf without one.
func (p *Problem) asked(box *geometry.Box) (least, most []float64, err error) {
	least, most = orFill(nil, len(p.Returns), math.Inf(-1)), orFill(nil, len(p.Returns), math.Inf(1))
	lower, upper := box.Lower(), box.Upper()
	for j, c := range p.Constraints {
		i := slices.Index(p.Returns, c.Return)
		if i < 0 {
			return nil, nil, inside(fmt.Errorf("problem: unknown return %q", c.Return), "constraints", p.asDeclared(j))
		}
		if err := c.narrow(&least[i], &most[i]); err != nil {
			return nil, nil, inside(err, "constraints", p.asDeclared(j))
		}
		switch game := p.Shape() != nil && p.Shape().Game(); {
		case game && least[i] > upper[i]:
			return nil, nil, inside(outside("at least", least[i], c.Return, "at most", upper[i]), "constraints", p.asDeclared(j))
		case game && most[i] < lower[i]:
			return nil, nil, inside(outside("at most", most[i], c.Return, "at least", lower[i]), "constraints", p.asDeclared(j))
		}
	}
	return least, most, nil
}

// asDeclared returns the number that constraint j has in the file.
func (p *Problem) asDeclared(j int) int {
	if p.Memory != nil && j < len(p.Memory.constraint) { // limits may have been added since
		return p.Memory.constraint[j]
	}
	return j
}

// narrow narrows the interval from least to most to what the constraint allows.
func (c *Constraint) narrow(least, most *float64) error {
	for _, bound := range []*float64{c.AtLeast, c.AtMost} {
		if bound != nil && math.IsNaN(*bound) {
			return errors.New("problem: a bound is NaN")
		}
	}
	const contradiction = "problem: %s %g is asked for, but the other constraints keep %s %s %g: %w"
	if c.AtLeast != nil && *c.AtLeast > *least {
		if *c.AtLeast > *most {
			return fmt.Errorf(contradiction, "at least", *c.AtLeast, c.Return, "at most", *most, geometry.ErrEmpty)
		}
		*least = *c.AtLeast
	}
	if c.AtMost != nil && *c.AtMost < *most {
		if *c.AtMost < *least {
			return fmt.Errorf(contradiction, "at most", *c.AtMost, c.Return, "at least", *least, geometry.ErrEmpty)
		}
		*most = *c.AtMost
	}
	return nil
}

func outside(ask string, bound float64, name, other string, limit float64) error {
	return fmt.Errorf("problem: %s %g is asked for, but %s is %s %g: the target and the box of possible returns do not meet: %w", ask, bound, name, other, limit, geometry.ErrEmpty)
}

// Objective returns the value of the return vector v in the user's own sense: the
// return that is maximised or minimised, or the cost. It is NaN without a goal,
// or with one that cannot be built. A goal that is a cost is built at every call: the cost of
// Task is faster for many values. It panics if v has not
// length d.
func (p *Problem) Objective(v []float64) float64 {
	if len(v) != len(p.Returns) {
		panic("problem: dimension mismatch")
	}
	if p.Goal.Cost == nil {
		if i := slices.Index(p.Returns, p.Goal.Maximize+p.Goal.Minimize); i >= 0 {
			return v[i]
		}
		return math.NaN()
	}
	box, err := p.Box()
	if err != nil {
		return math.NaN()
	}
	c, err := p.builtCost(box)
	if err != nil {
		return math.NaN()
	}
	return c.Value(v)
}
