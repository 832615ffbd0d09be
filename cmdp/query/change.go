package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"cmdpsolve/cmdp/monitor"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/internal/nearest"
)

// A Change asks "what if": it changes goal, limits and target of a problem. A limit
// replaces all that the problem has on that side of what it names, else it is added.
type Change struct {
	// Maximize or Minimize, if not "", names the return that is the goal instead of the problem's.
	Maximize, Minimize string
	Bounds             []Bound
	// Inflate, if not 0, is a distance by which the returns may miss the target set.
	Inflate float64
	// Widen, if not 0, is by how much more probabilities may be off on each side, from 0 to 1.
	Widen float64
}

// A Bound is a limit on one side of a return, or of what the Return of a [Limit] names.
type Bound struct {
	Return string `json:"return"`
	// Kind is [AtLeast] or [AtMost].
	Kind string `json:"kind"`
	// Value is infinite for no limit.
	Value float64 `json:"value"`
}

// None reports whether nothing is changed.
func (c *Change) None() bool {
	return c.Maximize == "" && c.Minimize == "" && len(c.Bounds) == 0 && c.Inflate == 0 &&
		c.Widen == 0
}

// ErrChange is wrapped by errors about a change of something that the problem does not have.
var ErrChange = errors.New("unusable change")

// A changeError says what is wrong with a change.
type changeError struct{ message string }

func (e *changeError) Error() string        { return e.message }
func (e *changeError) Is(target error) bool { return target == ErrChange }

func newChangeError(format string, args ...any) error {
	return &changeError{fmt.Sprintf(format, args...)}
}

// unknownReturn says why a return cannot be changed. What is known has limits that can be.
func unknownReturn(name string, known []string) error {
	if slices.Contains(known, name) {
		return newChangeError("%s: only the limit that the problem has on it can be changed", name)
	}
	return newChangeError("unknown return %q%s want %s", name, cmp.Or(nearest.Name(name, known), ":"),
		strings.Join(known, ", "))
}

// With returns the query of the changed problem. The model is shared unless other things have to be remembered. Errors
// are as of [New]; those that wrap [ErrChange] say what the problem does not have.
func (q *Query) With(ctx context.Context, c Change) (*Query, error) {
	e := &edit{q: q, p: *q.Problem}
	if err := e.apply(&c); err != nil {
		return nil, err
	}
	return q.family.compile(ctx, &e.p, e.close())
}

// An edit changes the problem of a query.
type edit struct {
	q *Query
	p problem.Problem
}

func (e *edit) apply(c *Change) error {
	p := &e.p
	p.Constraints = slices.Clone(p.Constraints)
	for i := range p.Constraints {
		p.Constraints[i] = copied(p.Constraints[i])
		p.Constraints[i].Place = e.q.Problem.PlaceOf(i) + 1
	}
	switch {
	case c.Maximize != "" && c.Minimize != "":
		return newChangeError("maximize %s and minimize %s: want one goal", c.Maximize, c.Minimize)
	case c.Maximize != "":
		p.Goal = problem.Goal{Maximize: c.Maximize}
	case c.Minimize != "":
		p.Goal = problem.Goal{Minimize: c.Minimize}
	}
	if name := c.Maximize + c.Minimize; name != "" {
		if err := e.declare(name); err != nil {
			return err
		}
	}
	for _, b := range c.Bounds {
		if err := e.limit(b); err != nil {
			return err
		}
	}
	if c.Widen != 0 {
		wider, err := p.Widened(c.Widen)
		if err != nil {
			return newChangeError("%s", strings.TrimPrefix(err.Error(), "cmdp: "))
		}
		p.Intervals = wider.Intervals
	}
	return e.inflate(c.Inflate)
}

// copied returns a constraint whose bounds are its own.
func copied(c problem.Limit) problem.Limit {
	for _, x := range []**float64{&c.AtLeast, &c.AtMost, &c.Probability, &c.CVaR} {
		if *x != nil {
			value := **x
			*x = &value
		}
	}
	return c
}

// declare makes sure that the problem has a return: one that was added to tell about a limit becomes one that a
// file can define.
func (e *edit) declare(name string) error {
	p := &e.p
	if slices.Contains(p.Returns, name) {
		return nil
	}
	w, is := e.added(name)
	if !is {
		return unknownReturn(name, e.q.Limitable())
	}
	threshold := &problem.Threshold{Return: w.of, Limit: w.limit.At}
	var r problem.Return
	switch w.limit.Kind {
	case monitor.Above:
		r.Exceeds = threshold
	case monitor.AtLeast:
		r.Meets = threshold
	default:
		return newChangeError("%s depends on where the worst episodes begin: want %s", name,
			strings.Join(e.q.Limitable(), ", "))
	}
	if p.Kinds == nil {
		p.Kinds = make([]problem.Return, len(p.Returns))
	}
	p.Returns, p.Kinds = append(slices.Clip(p.Returns), name), append(slices.Clip(p.Kinds), r)
	return nil
}

// added returns what a return that was added tells of a total.
func (e *edit) added(name string) (w wanted, is bool) {
	for _, w := range e.q.compiled.wanted {
		if w.name == name {
			return w, true
		}
	}
	for _, l := range e.q.Of(EveryEpisode) {
		if l.expected.name == name {
			kind := monitor.Above
			if l.AtLeast {
				kind = monitor.AtLeast
			}
			return wanted{of: l.Return, limit: monitor.Threshold{Kind: kind, At: l.Bound}}, true
		}
	}
	return wanted{}, false
}

// bound returns the place of one side of a constraint.
func bound(c *problem.Limit, atLeast bool) **float64 {
	if atLeast {
		return &c.AtLeast
	}
	return &c.AtMost
}

// limit puts a bound in the place of those on its side of what it names.
func (e *edit) limit(b Bound) error {
	atLeast, changed := b.Kind == AtLeast, -1
	declared := slices.Contains(e.q.Problem.Returns, b.Return)
	for _, l := range e.q.Limits {
		name := l.Return
		if l.Scope == EveryEpisode {
			name = l.expected.name
		}
		if name != b.Return || l.AtLeast != atLeast || l.Constraint < 0 || l.Scope == OnAverage && l.Step == 0 {
			continue
		}
		switch {
		case !declared && changed < 0 && e.change(l, b.Value):
			changed = l.Constraint
		case changed != l.Constraint:
			e.change(l, math.Inf(1))
		}
	}
	if changed >= 0 {
		return nil
	}
	if err := e.declare(b.Return); err != nil {
		return err
	}
	place := -1
	for i := range e.p.Constraints {
		c := &e.p.Constraints[i]
		if c.Return != b.Return || !c.OnAverage() || c.Stepwise() || *bound(c, atLeast) == nil {
			continue
		}
		*bound(c, atLeast) = nil
		if place < 0 {
			place = i
		}
	}
	if math.IsInf(b.Value, 0) {
		return nil
	}
	if place < 0 {
		place = len(e.p.Constraints)
		e.add(problem.Limit{Return: b.Return})
	}
	*bound(&e.p.Constraints[place], atLeast) = &b.Value
	return nil
}

// change gives a limit on the course of episodes another bound, which is a probability unless it is about the worst of
// them. It reports false for one that no such limit has.
func (e *edit) change(l *Limit, x float64) bool {
	c := &e.p.Constraints[l.Constraint]
	switch {
	case l.Step > 0:
		c.MostAt, c.LeastAt = e.lists(c, l.AtLeast)
		*bound(c, l.AtLeast) = &x
		if math.IsInf(x, 0) {
			*bound(c, l.AtLeast) = nil
		}
	case math.IsInf(x, 0):
		*bound(c, l.AtLeast) = nil
	case l.Scope == WorstEpisodes:
		*bound(c, l.AtLeast) = &x
	case l.AtLeast && x > 0 && x <= 1:
		e.promise(c, true, x)
	case !l.AtLeast && x >= 0 && x < 1:
		e.promise(c, false, complement(x))
	default:
		*bound(c, l.AtLeast) = nil
		return false
	}
	return true
}

// lists returns the bounds of single steps of a constraint without those on one side.
func (e *edit) lists(c *problem.Limit, atLeast bool) (most, least []float64) {
	if atLeast {
		return c.MostAt, nil
	}
	return nil, c.LeastAt
}

// promise asks that one side of a constraint on episodes is kept with a probability.
func (e *edit) promise(c *problem.Limit, atLeast bool, probability float64) {
	if c.AtLeast == nil || c.AtMost == nil {
		c.Always, c.Probability = false, &probability
		return
	}
	with := problem.Limit{Return: c.Return, Probability: &probability}
	*bound(&with, atLeast), *bound(c, atLeast) = *bound(c, atLeast), nil
	e.add(with)
}

// add adds a constraint, which stands behind all others.
func (e *edit) add(c problem.Limit) {
	for _, other := range e.p.Constraints {
		c.Place = max(c.Place, other.Place+1)
	}
	e.p.Constraints = append(e.p.Constraints, c)
}

// close takes away constraints without a bound, and returns the thresholds of those on the worst episodes that
// are left.
func (e *edit) close() (thresholds []float64) {
	worst, kept := 0, e.p.Constraints[:0]
	for _, c := range e.p.Constraints {
		gone := c.AtLeast == nil && c.AtMost == nil && c.MostAt == nil && c.LeastAt == nil
		if c.CVaR != nil {
			if !gone && worst < len(e.q.options.Thresholds) {
				thresholds = append(thresholds, e.q.options.Thresholds[worst])
			}
			worst++
		}
		if !gone {
			kept = append(kept, c)
		}
	}
	e.p.Constraints = kept
	return thresholds
}

// inflate lets the returns miss the target set by a distance.
func (e *edit) inflate(radius float64) error {
	switch {
	case radius == 0:
		return nil
	case !(radius > 0) || math.IsInf(radius, 0):
		return newChangeError("inflate %g: want a distance above 0", radius)
	case e.p.Target == nil:
		return newChangeError("inflate %g: the problem has no target set: change its limits", radius)
	}
	e.p.Target = &problem.Set{Inflate: &problem.Inflate{Set: e.p.Target, Radius: radius}}
	return nil
}

// Limitable lists what a [Bound] can name: returns, the chances that limits of every episode put to 0 or 1, and the
// means of the worst episodes in the place of the excesses that they came to.
func (q *Query) Limitable() []string {
	if f := q.Fleet(); f != nil {
		return f.limitable(q)
	}
	var names []string
	for i, name := range q.Returns {
		hidden := i >= len(q.Problem.Returns) && slices.ContainsFunc(q.compiled.wanted, func(w wanted) bool {
			return w.name == name && (w.limit.Kind == monitor.Excess || w.limit.Kind == monitor.Shortfall)
		})
		if !hidden {
			names = append(names, name)
		}
	}
	for _, l := range q.Limits {
		name := l.Return
		switch l.Scope {
		case EveryEpisode: // the chance that it fails is limited to 0
			name = l.expected.name
		case WorstEpisodes:
		default:
			continue
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Given returns the bound of the problem on a side of what a [Bound] can name, kind being at_least or at_most;
// the narrowest if there are several. What a limit of every episode came to is none.
func (q *Query) Given(kind, name string) (value float64, is bool) {
	for _, l := range q.Limits {
		if l.Return != name || l.Kind() != kind {
			continue
		}
		switch {
		case !is:
			value, is = l.Bound, true
		case l.AtLeast:
			value = max(value, l.Bound)
		default:
			value = min(value, l.Bound)
		}
	}
	return value, is
}
