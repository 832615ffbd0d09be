package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/geometry"
)

// conflictReport names a smallest set of limits that no policy keeps together.
type conflictReport struct {
	Constraint string        `json:"constraint" csv:"*"`
	Kind       string        `json:"kind"`
	Return     string        `json:"return,omitempty"`
	Limit      report.Number `json:"limit" csv:"limit"`
	// Needed is the limit with which some policy keeps all others, and Give how far it is
	// from Limit; null if there is none. Of a target set Give is a distance.
	Needed report.Number `json:"needed" csv:"needed"`
	Give   report.Number `json:"give" csv:"give"`
	// Probability is the greatest with which a limit of every episode can be kept, in the place of Needed and Give.
	Probability *report.Number `json:"probability,omitempty" csv:"probability"`
}

// conflict finds the limits of an infeasible problem that are in conflict. It returns nil if
// none is proved.
func (p *loaded) conflict(ctx context.Context, planner *exact.Planner, opts exact.Options) ([]conflictReport, error) {
	task, rest, err := p.separateLimits()
	if err != nil {
		return nil, err
	}
	c, err := planner.Conflict(ctx, task, rest, exact.Options{Iterations: opts.Iterations})
	if err != nil || c == nil {
		return nil, err
	}
	var out []conflictReport
	for j, k := range c.Rows {
		l, give := task.Constraints[k], c.Relax[j]
		r := conflictReport{Constraint: l.Name, Kind: l.Kind, Return: l.Return, Limit: report.Number(l.Bound), Needed: report.NaN, Give: report.NaN}
		if t := p.tail(l); t != nil {
			r.Constraint, r.Kind, r.Return, r.Limit = t.Name, kindOfTail(t), t.Mean, report.Number(t.Bound)
			if !math.IsInf(give, 1) {
				needed, err := p.neededOfTail(ctx, t, give/t.Share)
				if err != nil {
					return nil, err
				}
				r.Give, r.Needed = report.Number(math.Abs(needed-t.Bound)), report.Number(needed)
			}
		} else if a := p.always(l); a != nil {
			r.Return, r.Limit = a.Return, report.Number(a.Limit)
			if most := report.Number(1 - give); !math.IsInf(give, 1) {
				r.Probability = &most
			}
		} else if !math.IsInf(give, 1) {
			r.Give, r.Needed = report.Number(give), report.Number(l.Bound+give)
			if l.Return != "" && slices.Min(l.Normal) < 0 {
				r.Needed = report.Number(l.Bound - give)
			}
		}
		out = append(out, r)
	}
	if c.Set {
		r := conflictReport{Constraint: "target", Kind: "target", Limit: report.NaN, Needed: report.NaN, Give: report.NaN}
		if !math.IsInf(c.RelaxSet, 1) {
			r.Give = report.Number(c.RelaxSet)
		}
		out = append(out, r)
	}
	return out, nil
}

// neededOfTail returns what the bound on a mean of the worst episodes would have to be, all other limits being as they are. It is
// enough if the bound gives so much at the threshold that it has; another threshold may need less.
func (p *loaded) neededOfTail(ctx context.Context, t *problem.Tail, enough float64) (float64, error) {
	way := 1.0
	if t.AtLeast {
		way = -1
	}
	number := slices.IndexFunc(tails(p.Problem), func(u problem.Tail) bool { return u.Constraint == t.Constraint })
	needed := t.Bound + way*enough
	wide, err := p.Rebound(number, needed)
	if err != nil {
		return 0, err
	}
	err = wide.EachThreshold(func(q *problem.Problem) (err error) {
		for _, v := range p.changes {
			if q, err = v.apply(q); err != nil {
				return err
			}
		}
		at := q.Memory.Tails[number]
		if q, err = q.Rebound(number, math.Inf(1)); err != nil {
			return err
		}
		q.Goal = problem.Goal{Minimize: at.Excess}
		task, err := q.Task()
		if err != nil {
			return err
		}
		r, err := exact.Solve(ctx, q.Model, task, exact.Options{})
		if err == nil && r.Status == exact.Optimal {
			needed = way * min(way*needed, way*at.Threshold+r.Objective/t.Share)
		}
		return err
	})
	return needed, err
}

// separateLimits returns a task with the limits that can be told one by one, and what of the target
// is one limit as a whole, or nil.
func (p *loaded) separateLimits() (cmdp.Task, geometry.Set, error) {
	q, whole := *p.Problem, p.Target
	if whole == nil || halfspacesOnly(whole) {
		whole = nil
	} else {
		q.Target = nil
	}
	task, err := q.Task()
	if errors.Is(err, geometry.ErrEmpty) {
		err = nil // limits that contradict each other are named all the same
	}
	if whole == nil || err != nil {
		return task, nil, err
	}
	q.Target, q.Constraints = whole, nil
	alone, err := q.Task()
	if errors.Is(err, geometry.ErrEmpty) {
		err = nil // it is out of reach of all returns that are possible, and no limit of its own here
	}
	return task, alone.Whole, err
}

// halfspacesOnly reports whether a set is said by half-spaces alone.
func halfspacesOnly(s *problem.Set) bool {
	for _, part := range s.Intersection {
		if !halfspacesOnly(part) {
			return false
		}
	}
	return s.Box != nil || s.Halfspace != nil || s.Polytope != nil || s.Affine != nil || len(s.Intersection) > 0
}

// conflictNotes says which limits are in conflict.
func conflictNotes(c []conflictReport) report.Note {
	if len(c) == 0 {
		return nil
	}
	names := make([]string, len(c))
	for i, r := range c {
		names[i] = r.Constraint
	}
	switch len(c) {
	case 1:
		return report.Note{fmt.Sprintf("No policy keeps %s, whatever becomes of the other limits.", names[0])}
	case 2:
		return report.Note{fmt.Sprintf("No policy keeps both %s and %s; each of them alone can be kept.", names[0], names[1])}
	}
	return report.Note{fmt.Sprintf("No policy keeps %s and %s together; without any one of them the others can be kept.",
		strings.Join(names[:len(names)-1], ", "), names[len(names)-1])}
}

// conflictTable lists how far each limit in conflict would have to give.
func conflictTable(c []conflictReport) *report.Table {
	t := report.NewTable("in conflict", "would have to be", "gives")
	for _, r := range c {
		needed, give := "no value is enough", ""
		switch {
		case r.Probability != nil:
			needed = "with probability " + report.Short(*r.Probability)
		case r.Give != r.Give:
		case r.Needed == r.Needed:
			needed, give = "≤ "+report.Short(r.Needed), report.Short(r.Give)
			if strings.Contains(r.Constraint, " ≥ ") {
				needed = "≥ " + report.Short(r.Needed)
			}
		default:
			needed, give = "missed by "+report.Short(r.Give), report.Short(r.Give)
		}
		t.Add(r.Constraint, needed, give)
	}
	return t
}
