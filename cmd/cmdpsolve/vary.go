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
	least, most        boundFlags
	inflate            float64
}

func (v *variation) addFlags(f *pflag.FlagSet) {
	f.StringVar(&v.maximize, "maximize", "", "maximize this `RETURN` instead of the problem's goal")
	f.StringVar(&v.minimize, "minimize", "", "minimize this `RETURN` instead of the problem's goal")
	f.Var(&v.most, "at-most", "limit `RETURN=X`, instead of the problem's upper limit if it has one; X none: no limit (may be repeated)")
	f.Var(&v.least, "at-least", "limit `RETURN=X` from below, instead of the problem's lower limit if it has one")
	f.Float64Var(&v.inflate, "inflate", 0, "let the returns miss the target set by up to this `DISTANCE`")
}

// A bound is a limit on one side of a return, ±Inf for none.
type bound struct {
	name  string
	value float64
}

// boundFlags are the values of a flag that is given as RETURN=X.
type boundFlags []bound

// Set reads RETURN=X.
func (b *boundFlags) Set(text string) error {
	name, value, ok := cutLast(text, "=")
	if !ok {
		return errors.New("want RETURN=X, such as cost=3.5")
	}
	if value == "none" {
		*b = append(*b, bound{name, math.Inf(1)})
		return nil
	}
	x, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Errorf("%q: want a number, or none", value)
	}
	*b = append(*b, bound{name, x})
	return nil
}

// cutLast is strings.Cut at the last separator: names may have one.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func (b *boundFlags) String() string { return "" }

// Type is the word for a value of the flag.
func (b *boundFlags) Type() string { return "RETURN=X" }

// none reports whether nothing is changed.
func (v *variation) none() bool {
	return v.maximize == "" && v.minimize == "" && len(v.least) == 0 && len(v.most) == 0 && v.inflate == 0
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
	for _, b := range v.least {
		if err := limitSide(&q, b, "at_least"); err != nil {
			return nil, err
		}
	}
	for _, b := range v.most {
		if err := limitSide(&q, b, "at_most"); err != nil {
			return nil, err
		}
	}
	return &q, inflated(&q, v.inflate)
}

// limitSide puts a limit in the place of those on its side, kind, of a return or of a mean of the worst episodes.
func limitSide(q *problem.Problem, b bound, kind string) error {
	if i := slices.IndexFunc(tails(q), func(t problem.Tail) bool { return t.Mean == b.name && t.AtLeast == (kind == "at_least") }); i >= 0 {
		p, err := q.Rebound(i, b.value)
		if err == nil {
			*q = *p
		}
		return err
	}
	if !slices.Contains(q.Returns, b.name) {
		return usage("unknown return %q: want %s", b.name, strings.Join(limitable(q), ", "))
	}
	side := func(c *problem.Constraint) **float64 {
		if kind == "at_least" {
			return &c.AtLeast
		}
		return &c.AtMost
	}
	place := -1
	for i := range q.Constraints {
		c := &q.Constraints[i]
		if c.Return != b.name || !c.OnAverage() || *side(c) == nil {
			continue
		}
		*side(c) = nil
		if place < 0 {
			place = i
		}
	}
	if !math.IsInf(b.value, 0) {
		if place < 0 {
			place = len(q.Constraints)
			q.Constraints = append(q.Constraints, problem.Constraint{Return: b.name})
		}
		*side(&q.Constraints[place]) = &b.value
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
	for _, side := range []struct {
		flag   string
		bounds boundFlags
	}{{"--at-most", v.most}, {"--at-least", v.least}} {
		for _, b := range side.bounds {
			value := "none"
			if !math.IsInf(b.value, 0) {
				value = strconv.FormatFloat(b.value, 'g', -1, 64)
			}
			add(side.flag, b.name+"="+value)
		}
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
