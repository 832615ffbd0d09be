package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/cmdp/problem"
	"cmdpsolve/geometry"

	"github.com/spf13/pflag"
)

// A variation asks "what if": it changes goal, limits and target of a problem. A limit is
// replaced where the problem has one on that side of the return, else added; infinity
// takes it away.
type variation struct {
	maximize, minimize string
	bounds             []bound
	inflate            float64
}

func (v *variation) addFlags(f *pflag.FlagSet) {
	f.StringVar(&v.maximize, "maximize", "", "maximize this `RETURN` instead of the problem's goal")
	f.StringVar(&v.minimize, "minimize", "", "minimize this `RETURN` instead of the problem's goal")
	f.Func("at-most", "limit `RETURN=X`, instead of the problem's upper limit if it has one; X none: no limit (may be repeated)", v.limit("at_most"))
	f.Func("at-least", "limit `RETURN=X` from below, instead of the problem's lower limit if it has one", v.limit("at_least"))
	f.Float64Var(&v.inflate, "inflate", 0, "let the returns miss the target set by up to this `DISTANCE`")
}

// A bound is a limit on one side of an expected return, ±Inf for none.
type bound struct {
	Return string  `json:"return"`
	Kind   string  `json:"kind"` // at_least or at_most
	Value  float64 `json:"value"`
}

// limit returns a function that reads RETURN=X as a bound of a kind.
func (v *variation) limit(kind string) func(string) error {
	return func(text string) error {
		name, value, ok := cutLast(text, "=")
		if !ok {
			return errors.New("want RETURN=X, such as cost=3.5")
		}
		x, err := strconv.ParseFloat(value, 64)
		switch {
		case value == "none":
			x = math.Inf(1)
		case err != nil || math.IsNaN(x) || math.IsInf(x, 0):
			return fmt.Errorf("%q: want a number, or none", value)
		}
		v.bounds = append(v.bounds, bound{name, kind, x})
		return nil
	}
}

// cutLast is strings.Cut at the last separator: names may have one.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// none reports whether nothing is changed.
func (v *variation) none() bool {
	return v.maximize == "" && v.minimize == "" && len(v.bounds) == 0 && v.inflate == 0
}

// vary returns the problem with the changes. The model is shared. Where the error is that
// limits contradict each other, and wraps geometry.ErrEmpty, there is a problem without a
// task all the same.
func (p *loaded) vary(v *variation) (*loaded, error) {
	if v.none() && p.task.Box != nil {
		return p, nil
	}
	q, err := v.apply(p.Problem)
	if err != nil {
		return nil, err
	}
	task, err := q.Task()
	switch {
	case errors.Is(err, geometry.ErrEmpty) && beyond(q):
		err = nil // a plan that keeps the limits has other thresholds, see rethought
	case err != nil:
		err = usage("%s: %w", p.name, err)
	}
	return &loaded{Problem: q, task: task, name: p.name, changes: append(slices.Clip(p.changes), v)}, err
}

// beyond reports whether a threshold of the worst episodes is beyond the bound of their mean.
func beyond(p *problem.Problem) bool {
	return slices.ContainsFunc(tails(p), func(t problem.Tail) bool { return t.Room < 0 })
}

// tails lists the limits on the mean of the worst episodes.
func tails(p *problem.Problem) []problem.Tail {
	if p.Memory == nil {
		return nil
	}
	return p.Memory.Tails
}

// limitable lists what limits can be changed on: returns, and the means of the worst episodes in the place of the excesses that
// they came to.
func limitable(p *problem.Problem) []string {
	names := slices.Clone(p.Returns)
	for _, t := range tails(p) {
		names = slices.DeleteFunc(names, func(name string) bool { return name == t.Excess && !slices.Contains(p.Declared().Returns, name) })
		if !slices.Contains(names, t.Mean) {
			names = append(names, t.Mean)
		}
	}
	return names
}

// apply returns the problem with the changes.
func (v *variation) apply(p *problem.Problem) (*problem.Problem, error) {
	q := *p
	switch {
	case v.maximize != "" && v.minimize != "":
		return nil, usage("--maximize %s and --minimize %s: want one goal", v.maximize, v.minimize)
	case v.maximize != "":
		q.Goal = problem.Goal{Maximize: v.maximize}
	case v.minimize != "":
		q.Goal = problem.Goal{Minimize: v.minimize}
	}
	if name := v.maximize + v.minimize; name != "" && !slices.Contains(q.Returns, name) {
		return nil, usage("unknown return %q: want %s", name, strings.Join(q.Returns, ", "))
	}
	q.Constraints = slices.Clone(q.Constraints)
	for _, b := range v.bounds {
		if err := limitSide(&q, b); err != nil {
			return nil, err
		}
	}
	return &q, inflated(&q, v.inflate)
}

// limitSide puts a limit in the place of those on its side of a return or of a mean of the worst episodes.
func limitSide(q *problem.Problem, b bound) error {
	if i := slices.IndexFunc(tails(q), func(t problem.Tail) bool { return t.Mean == b.Return && t.AtLeast == (b.Kind == "at_least") }); i >= 0 {
		p, err := q.Rebound(i, b.Value)
		if err == nil {
			*q = *p
		}
		return err
	}
	if !slices.Contains(q.Returns, b.Return) {
		return usage("unknown return %q: want %s", b.Return, strings.Join(limitable(q), ", "))
	}
	side := func(c *problem.Constraint) **float64 {
		if b.Kind == "at_least" {
			return &c.AtLeast
		}
		return &c.AtMost
	}
	place := -1
	for i := range q.Constraints {
		c := &q.Constraints[i]
		if c.Return != b.Return || !c.OnAverage() || *side(c) == nil {
			continue
		}
		*side(c) = nil
		if place < 0 {
			place = i
		}
	}
	if !math.IsInf(b.Value, 0) {
		if place < 0 {
			place = len(q.Constraints)
			q.Constraints = append(q.Constraints, problem.Constraint{Return: b.Return})
		}
		*side(&q.Constraints[place]) = &b.Value
	}
	q.Constraints = slices.DeleteFunc(q.Constraints, func(c problem.Constraint) bool { return c.AtLeast == nil && c.AtMost == nil })
	return nil
}

// inflated lets the returns miss the target set by a distance.
func inflated(q *problem.Problem, radius float64) error {
	switch {
	case radius == 0:
		return nil
	case !(radius > 0) || math.IsInf(radius, 0):
		return usage("--inflate %g: want a distance above 0", radius)
	case q.Target == nil:
		return usage("--inflate %g: the problem has no target set; change its limits with --at-most and --at-least", radius)
	}
	q.Target = &problem.Set{Inflate: &problem.Inflate{Set: q.Target, Radius: radius}}
	return nil
}

// flags writes the changes as options of the command line.
func (v *variation) flags() []string {
	var out []string
	add := func(name, value string) {
		if value != "" {
			out = append(out, name, value)
		}
	}
	add("--maximize", v.maximize)
	add("--minimize", v.minimize)
	for _, b := range v.bounds {
		value := "none"
		if !math.IsInf(b.Value, 0) {
			value = strconv.FormatFloat(b.Value, 'g', -1, 64)
		}
		add("--"+strings.Replace(b.Kind, "_", "-", 1), b.Return+"="+value)
	}
	if v.inflate != 0 {
		add("--inflate", strconv.FormatFloat(v.inflate, 'g', -1, 64))
	}
	return out
}

// givenLimit returns the limit of a problem on a side of an expected return, kind being
// at_least or at_most; the narrowest if there are several. What a limit of every episode came to is none.
func givenLimit(p *problem.Problem, kind, name string) (value float64, is bool) {
	if slices.ContainsFunc(p.Always(), func(a problem.Always) bool { return a.Chance == name }) {
		return 0, false
	}
	for _, t := range tails(p) {
		if t.Mean == name && t.AtLeast == (kind == "at_least") && slices.ContainsFunc(p.Constraints, t.Is) {
			return t.Bound, true
		}
	}
	for _, c := range p.Constraints {
		b := c.AtMost
		if kind == "at_least" {
			b = c.AtLeast
		}
		if c.Return != name || b == nil {
			continue
		}
		switch {
		case !is:
			value, is = *b, true
		case kind == "at_least":
			value = max(value, *b)
		default:
			value = min(value, *b)
		}
	}
	return value, is
}
