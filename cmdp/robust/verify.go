package robust

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cost"

	"gonum.org/v1/gonum/floats"
)

// ErrNotProved is wrapped by errors about results that do not hold.
var ErrNotProved = errors.New("not proved")

// Verify checks a result without the search that found it. With a horizon the greatest cost and the greatest value of
// each limit of the plan are bounded anew, by duality in place of filling up, every operation rounded up; else they
// are evaluated anew. They must not be above what the result says, nor the limits missed by more than its tolerance.
// The bound is that of the model in the result, whose proof package exact checks, and so is the certificate of a
// verdict "infeasible"; a model must be one of the set, and the weights of a plan must sum to 1.
func Verify(ctx context.Context, set *Set, task cmdp.Task, r *Result) error {
	if set == nil || r == nil {
		return errNoSet
	}
	m := set.m
	if r.Model != nil {
		if err := set.contains(r.Model); err != nil {
			return err
		}
		var err error
		m, err = r.Model.Model()
		if err != nil {
			return err
		}
	}
	switch {
	case r.Status == Infeasible:
		return exact.Verify(ctx, m, task, r.Certificate)
	case r.Status == Undecided:
		return nil
	}
	if err := set.verifyLimits(task, r); err != nil {
		return err
	}
	if err := set.verifyPlan(ctx, task, r); err != nil {
		return err
	}
	switch {
	case task.Cost == nil || math.IsInf(r.Bound, -1):
		return nil
	case r.Proof != nil:
		if r.Proof.Bound < r.Bound {
			return fmt.Errorf("robust: bound %g: its proof has %g: %w", r.Bound, r.Proof.Bound, ErrNotProved)
		}
		_, err := exact.VerifyBound(ctx, m, task, r.Proof)
		return err
	}
	return set.verifyDual(ctx, task, r)
}

// contains returns an error unless a model is one of the set, with Fixed one whose choices of the same number have the
// same probabilities at all visits.
func (s *Set) contains(a *Answer) error {
	fixed := make(map[int][]float64)
	for h := range a.prob {
		for c := range s.choices(s.kernel(h)) {
			lower, upper := s.between(s.kernel(h), c)
			row := a.row(h, c)
			if s.spec.Fixed {
				g := s.group(s.kernel(h), c)
				if fixed[g] != nil && !slices.Equal(fixed[g], row) {
					return fmt.Errorf("robust: step %d, choice %d: the model is not the same at all visits: %w", h+1, c,
						ErrNotProved)
				}
				fixed[g] = row
			}
			for i, p := range row {
				if !(p >= lower[i] && p <= upper[i]) {
					return fmt.Errorf("robust: step %d, choice %d: the probability %g is not one of the set: %w",
						h+1, c, p, ErrNotProved)
				}
			}
		}
	}
	return nil
}

// verifyLimits checks that a result speaks of all limits of a task.
func (s *Set) verifyLimits(task cmdp.Task, r *Result) error {
	of := &search{set: s, task: task}
	rows, complete := task.LinearConstraints(of.box())
	if !complete {
		return ErrCurved
	}
	for k, row := range rows {
		if k >= len(r.Limits) || r.Limits[k].Offset != row.Offset || !slices.Equal(r.Limits[k].Normal, row.Normal) {
			return fmt.Errorf("robust: limit %d of the task is not in the result: %w", k, ErrNotProved)
		}
	}
	return nil
}

// verifyPlan checks what a result says of its plan.
func (s *Set) verifyPlan(ctx context.Context, task cmdp.Task, r *Result) error {
	var dirs [][]float64
	var most []float64
	if affine, ok := task.Cost.(cost.Affine); ok {
		dirs = append(dirs, affine.Gradient())
		most = append(most, r.Objective-affine.Offset())
	}
	for _, l := range r.Limits {
		dirs = append(dirs, l.Normal)
		most = append(most, math.Min(l.Greatest, l.Offset+r.Tolerance))
	}
	sums, weights := make([]float64, len(dirs)), 0.0
	for _, part := range r.Plan() {
		if !(part.Weight >= 0) {
			return fmt.Errorf("robust: a policy with weight %g: %w", part.Weight, ErrNotProved)
		}
		weights += part.Weight
		above, err := s.above(ctx, part.Policy, dirs)
		if err != nil {
			return err
		}
		for j, x := range above {
			sums[j] = up(sums[j] + up(part.Weight*x))
		}
	}
	if math.Abs(weights-1) > cmdp.ProbabilityTolerance {
		return fmt.Errorf("robust: the weights of a plan sum to %g: want 1: %w", weights, ErrNotProved)
	}
	for j, x := range sums {
		if room := 1e-9 * math.Max(1, math.Abs(x)); x > most[j]+room {
			return fmt.Errorf("robust: the greatest value in direction %v is %g: at most %g is claimed: %w",
				dirs[j], x, most[j], ErrNotProved)
		}
	}
	return nil
}

// verifyDual checks the bound of a robust value iteration.
func (s *Set) verifyDual(ctx context.Context, task cmdp.Task, r *Result) error {
	if s.spec.Fixed {
		return fmt.Errorf("robust: bound %g: of one fixed model only a proof in a model of the set says it: %w",
			r.Bound, ErrNotProved)
	}
	dyn, err := s.dynamics()
	if err != nil {
		return err
	}
	affine, ok := task.Cost.(cost.Affine)
	if !ok {
		return ErrCurved
	}
	dir, allowed := affine.Gradient(), 0.0
	for _, l := range r.Limits {
		if !(l.BoundPrice >= 0) {
			return fmt.Errorf("robust: price %g: want at least 0: %w", l.BoundPrice, ErrNotProved)
		}
		floats.AddScaled(dir, l.BoundPrice, l.Normal)
		allowed += l.BoundPrice * l.Offset
	}
	_, p, err := dyn.price(ctx, dir, nil)
	if err != nil {
		return err
	}
	bound := p.greatest[0] - p.margin[0] - allowed + affine.Offset()
	if bound < r.Bound-1e-9*math.Max(1, math.Abs(r.Bound)) {
		return fmt.Errorf("robust: bound %g: the prices prove %g: %w", r.Bound, bound, ErrNotProved)
	}
	return nil
}

// up and down are the next numbers: what a rounded result is not beyond.
func up(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }

// above bounds the greatest return of a policy in each direction from above.
func (s *Set) above(ctx context.Context, policy cmdp.Policy, dirs [][]float64) ([]float64, error) {
	if s.m.Horizon() == 0 {
		dyn, err := s.dynamics()
		if err != nil {
			return nil, err
		}
		p, err := dyn.evaluate(ctx, policy, dirs, nil)
		floats.Add(p.greatest, p.margin)
		return p.greatest, err
	}
	out := make([]float64, len(dirs))
	for j, dir := range dirs {
		v, next := make([]float64, s.m.States()), make([]float64, s.m.States())
		for h := s.m.Horizon() - 1; h >= 0; h-- {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			for i := range next {
				next[i] = s.stepAbove(policy, dir, h, i, v)
			}
			v, next = next, v
		}
		for _, st := range s.m.StartStates() {
			out[j] = up(out[j] + up(st.Probability*v[st.State]))
		}
	}
	return out, nil
}

// stepAbove bounds the greatest value of a state from above.
func (s *Set) stepAbove(policy cmdp.Policy, dir []float64, h, i int, v []float64) float64 {
	rows := s.rows(h)
	first, end := rows.Choices(i)
	if first == end {
		return v[i]
	}
	probs := make([]float64, end-first)
	policy.Distribution(probs, h, i)
	sum := 0.0
	for a, x := range probs {
		if x == 0 {
			continue
		}
		next, _ := rows.Row(first + a)
		values := make([]float64, len(next))
		for e, to := range next {
			values[e] = v[to]
			for k, r := range rows.Outcome(first+a, e) {
				values[e] = up(values[e] + up(dir[k]*r))
			}
		}
		lower, upper := s.between(s.kernel(h), first+a)
		sum = up(sum + up(x*expectationAbove(lower, upper, values)))
	}
	return sum
}

// expectationAbove bounds the greatest expectation of values between bounds from above. For every t it is at most t
// plus the sum of u·(v−t) where v is above t, and of l·(v−t) where it is below. The t where the best distribution
// stops filling up is the best one. Bounds whose sums are on the wrong side of 1 leave one distribution.
func expectationAbove(lower, upper, values []float64) float64 {
	least, most := 0.0, 0.0
	for i, l := range lower {
		least += l
		most += upper[i]
	}
	const near = 1e-12
	bound := math.Inf(-1)
	for _, only := range []struct {
		is bool
		p  []float64
	}{{least >= 1-near, lower}, {most <= 1+near, upper}} {
		if !only.is {
			continue
		}
		sum := 0.0
		for i, p := range only.p {
			sum = up(sum + up(p*values[i]))
		}
		bound = math.Max(bound, sum)
	}
	if least > 1+near || most < 1-near {
		return bound
	}
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case values[a] > values[b]:
			return -1
		case values[a] < values[b]:
			return 1
		}
		return 0
	})
	left, t := 1-least, values[order[len(order)-1]]
	for _, i := range order {
		left -= upper[i] - lower[i]
		if left <= 0 {
			t = values[i]
			break
		}
	}
	sum := t
	for i, v := range values {
		p := lower[i]
		if v > t {
			p = upper[i]
		}
		d := v - t
		sum = up(sum + up(p*math.Max(math.Nextafter(d, math.Inf(-1)), up(d))))
	}
	return math.Max(bound, sum)
}
