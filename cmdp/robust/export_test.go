package robust

import (
	"context"
	"errors"
	"math/big"
	"slices"
	"time"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/cmdptest"
	"cmdpsolve/cmdp/exact"
)

// SolveInLooks is Solve with a budget that is over once the search has looked at its context so many times.
func SolveInLooks(ctx context.Context, set *Set, task cmdp.Task, looks int64) (*Result, error) {
	opts, err := SolveOptions{}.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &search{set: set, task: task, opts: opts, budget: newBudget(ctx, time.Hour)}
	defer s.budget.end()
	s.budget.Context, s.ctx = cmdptest.EndAfter(s.budget.Context, looks), s.budget
	if err := s.prepare(); err != nil {
		return nil, err
	}
	return s.run(ctx)
}

// RationalGreatest returns the greatest return of a policy over the set in a direction, in rational arithmetic, for a
// horizon. Numbers grow with every step. Probabilities of the policy count as they are.
func (s *Set) RationalGreatest(policy cmdp.Policy, dir []float64) (*big.Rat, error) {
	if s.m.Horizon() == 0 || len(dir) != s.m.Dim() {
		return nil, errors.New("robust: want a horizon, and a direction of the dimension of the returns")
	}
	states := s.m.States()
	v, next := make([]*big.Rat, states), make([]*big.Rat, states)
	for i := range v {
		v[i] = new(big.Rat)
	}
	for h := s.m.Horizon() - 1; h >= 0; h-- {
		rows := s.rows(h)
		for i := range next {
			first, end := rows.Choices(i)
			if first == end {
				next[i] = v[i]
				continue
			}
			probs := make([]float64, end-first)
			policy.Distribution(probs, h, i)
			next[i] = new(big.Rat)
			for a, x := range probs {
				if x != 0 {
					next[i].Add(next[i], new(big.Rat).Mul(rational(x), s.rationalChoice(dir, h, first+a, v)))
				}
			}
		}
		v, next = next, v
	}
	sum := new(big.Rat)
	for _, st := range s.m.StartStates() {
		sum.Add(sum, new(big.Rat).Mul(rational(st.Probability), v[st.State]))
	}
	return sum, nil
}

func rational(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// rationalChoice returns the greatest value of a choice.
func (s *Set) rationalChoice(dir []float64, h, c int, v []*big.Rat) *big.Rat {
	rows := s.rows(h)
	next, prob := rows.Row(c)
	lower, upper := s.bounds(s.kernel(h), c)
	if lower == nil {
		lower, upper = prob, prob
	}
	values, order := make([]*big.Rat, len(next)), make([]int, len(next))
	free, sum := rational(1), new(big.Rat)
	for i, to := range next {
		values[i], order[i] = new(big.Rat).Set(v[to]), i
		if rows.Random() {
			addDot(values[i], dir, rows.Outcome(c, i))
		}
		free.Sub(free, rational(lower[i]))
		sum.Add(sum, new(big.Rat).Mul(rational(lower[i]), values[i]))
	}
	slices.SortFunc(order, func(a, b int) int { return values[b].Cmp(values[a]) })
	for _, i := range order {
		if free.Sign() <= 0 {
			break
		}
		x := new(big.Rat).Sub(rational(upper[i]), rational(lower[i]))
		if x.Cmp(free) > 0 {
			x.Set(free)
		}
		sum.Add(sum, new(big.Rat).Mul(x, values[i]))
		free.Sub(free, x)
	}
	if !rows.Random() {
		addDot(sum, dir, rows.Returns(c))
	}
	return sum
}

// addDot adds the product of two vectors.
func addDot(sum *big.Rat, x, y []float64) {
	for i, a := range x {
		sum.Add(sum, new(big.Rat).Mul(rational(a), rational(y[i])))
	}
}

// Visits returns, for each step, the probability of each state under a policy and nature's answer in each direction,
// those of a state side by side; without a horizon how often the process is there in all, discounted.
func (s *Set) Visits(ctx context.Context, policy cmdp.Policy, dirs [][]float64) ([][]float64, error) {
	if s.m.Horizon() > 0 {
		f := &finite{s}
		return f.visits(ctx, policy, s.newBackup(dirs))
	}
	f, y := &endless{s}, s.newSystem(policy)
	out := make([]float64, s.m.States()*len(dirs))
	for j, dir := range dirs {
		_, a, err := f.bound(ctx, y, dir, &passed{make([]float64, 1), make([]float64, 1)}, 0)
		if err != nil {
			return nil, err
		}
		x, err := y.visits(ctx, a)
		if err != nil {
			return nil, err
		}
		for i, times := range x {
			out[i*len(dirs)+j] = times
		}
	}
	return [][]float64{out}, nil
}

// Improve returns a policy that is better to first order.
func (s *Set) Improve(
	ctx context.Context, policy cmdp.Policy, dirs [][]float64, weights []float64,
) (*exact.Policy, error) {
	dyn, err := s.dynamics()
	if err != nil {
		return nil, err
	}
	return dyn.improve(ctx, policy, dirs, weights)
}

// Together puts a mixture together to one policy.
func (s *Set) Together(ctx context.Context, parts []exact.WeightedPolicy) (*exact.Policy, error) {
	return (&search{ctx: ctx, set: s}).together(parts)
}

// TrySingle finds the best plan of given policies, and tries one alone in its place. It returns the greatest cost and
// limits of the plan before and after, and of how many policies it is then; nil if there is none that keeps the limits.
func (s *Set) TrySingle(
	ctx context.Context, task cmdp.Task, policies []*exact.Policy, one *exact.Policy,
) (before, after []float64, parts int, err error) {
	y := &search{ctx: ctx, set: s, task: task}
	if err = y.prepare(); err != nil {
		return nil, nil, 0, err
	}
	for _, p := range policies {
		if err = y.add(p); err != nil {
			return nil, nil, 0, err
		}
	}
	if _, _, err = y.mixed(); err != nil || y.best == nil {
		return nil, nil, 0, err
	}
	before = y.best.greatest
	err = y.trySingle(one)
	return before, y.best.greatest, len(y.best.parts), err
}

// Swap changes actions of a policy that never draws one at a time. It returns what it ends with, and the extents of the
// limits.
func (s *Set) Swap(
	ctx context.Context, task cmdp.Task, policy *exact.Policy,
) (plan *exact.Policy, scales []float64, err error) {
	y := &search{ctx: ctx, set: s, task: task, opts: SolveOptions{Deterministic: true, Gap: defaultGap}}
	if err = y.prepare(); err != nil {
		return nil, nil, err
	}
	if err = y.add(policy); err != nil {
		return nil, nil, err
	}
	err = y.swap()
	for k := range y.rows {
		scales = append(scales, y.scale(k+1))
	}
	return y.nearest().parts[0].Policy, scales, err
}
