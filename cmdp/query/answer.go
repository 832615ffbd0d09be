package query

import (
	"context"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
)

// Scale returns the sides of the box of possible returns, by which rounding errors are measured, because
// returns may be of very different sizes.
func (q *Query) Scale() []float64 {
	sides, lower, upper := make([]float64, len(q.Returns)), q.Task.Box.Lower(), q.Task.Box.Upper()
	if q.Shape() == nil {
		exact.CutBox(lower, upper, q.Task.Target)
	}
	for i, x := range lower {
		sides[i] = max(upper[i]-x, 1e-3*math.Abs(x), 1e-3*math.Abs(upper[i]))
	}
	return sides
}

// Keeps reports whether returns v lie in the target up to rounding, each in its own measure.
func (q *Query) Keeps(v []float64) bool {
	if q.Task.Target == nil {
		return true
	}
	near := make([]float64, len(v))
	q.Task.Target.Project(near, v)
	for i, side := range q.Scale() {
		endless := math.IsInf(v[i], 0) && math.Abs(near[i]) == exact.Boundless
		if math.Abs(v[i]-near[i]) > 1e-9*side && !endless {
			return false
		}
	}
	return true
}

// Branches returns the branches that endless runs come to where one of several policies is drawn at the start. Each has
// long-run means of its own, see [exact.Branches].
func (q *Query) Branches(ctx context.Context, drawn []Drawn) ([]exact.Branch, error) {
	var policies []cmdp.Policy
	var weights []float64
	for _, d := range drawn {
		policies, weights = append(policies, d.Policy), append(weights, d.Weight)
	}
	return exact.Branches(ctx, q.Model, policies, weights)
}

// BrokenForEver names the limits on long-run means that runs with these means break for ever, in a branch of
// [Query.Branches] or of an answer.
func (q *Query) BrokenForEver(means []float64) (names []string) {
	const rounding = 1e-9
	sides := q.Scale()
	for k, l := range q.Rows() {
		row := q.Task.Constraints[k]
		if !q.limitsMeans(l, row) {
			continue
		}
		scale := math.Abs(row.Offset) * 1e-3
		for i, n := range row.Normal {
			if n != 0 {
				scale += math.Abs(n) * sides[i]
			}
		}
		if row.Excess(means, means) > rounding*scale {
			names = append(names, l.Name)
		}
	}
	if _, polyhedral := q.Task.LinearConstraints(q.Task.Box.Lower(), q.Task.Box.Upper()); !polyhedral &&
		q.Model.Average() && !q.Keeps(means) {
		names = append(names, "target")
	}
	return names
}

// LimitsMeans reports whether some limit is on long-run means alone.
func (q *Query) LimitsMeans() bool {
	for k, l := range q.Rows() {
		if q.limitsMeans(l, q.Task.Constraints[k]) {
			return true
		}
	}
	return false
}

// limitsMeans reports whether a limit, whose row of the task is given, is on long-run means alone.
func (q *Query) limitsMeans(l *Limit, row cmdp.Constraint) bool {
	for i, n := range row.Normal {
		if n != 0 && !q.Model.Mean(i) {
			return false
		}
	}
	return l.Scope != EveryEpisode
}

// Visits returns at each step how much each state is visited under a policy. Without a horizon there is one step: it
// has expected visits, for long-run means shares of the time, and states that are only passed through on the way to
// these count a little.
func (q *Query) Visits(ctx context.Context, policy *exact.Policy) ([][]float64, error) {
	m := q.Model
	if m.Horizon() == 0 {
		x, err := exact.Visits(ctx, m, policy, nil)
		if err != nil {
			return nil, err
		}
		come := q.comesTo(policy)
		for s := range x {
			x[s] = max(x[s], 1e-300)
			if !come[s] {
				x[s] = 0
			}
		}
		return [][]float64{x}, nil
	}
	visits := cmdp.NewEvaluator(m).Occupancy(policy)
	for h, taken := range visits {
		rows, x := m.Rows(h), make([]float64, m.States())
		for s := range x {
			first, end := rows.Choices(s)
			for _, y := range taken[first:end] {
				x[s] += y
			}
		}
		visits[h] = x
	}
	return visits, nil
}

// comesTo reports which states a stationary policy reaches.
func (q *Query) comesTo(policy *exact.Policy) []bool {
	rows, come := q.Model.Rows(0), make([]bool, q.Model.States())
	var next []int32
	add := func(s int32) {
		if !come[s] {
			come[s], next = true, append(next, s)
		}
	}
	for _, st := range q.Model.StartStates() {
		if st.Probability > 0 {
			add(int32(st.State))
		}
	}
	for len(next) > 0 {
		s := next[len(next)-1]
		next = next[:len(next)-1]
		first, end := rows.Choices(int(s))
		if first == end {
			continue
		}
		probs := make([]float64, end-first)
		policy.Distribution(probs, 0, int(s))
		for a, x := range probs {
			successors, prob := rows.Row(first + a)
			for i, to := range successors {
				if x > 0 && prob[i] > 0 {
					add(to)
				}
			}
		}
	}
	return come
}
