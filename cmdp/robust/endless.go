package robust

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/internal/parallel"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/floats"
)

// endless is the dynamic programming of a set whose models have no horizon: discounted, total, or long-run means.
// Policies and nature's answers are stationary, which is enough for one direction (Iyengar 2005; Nilim, El Ghaoui
// 2005).
type endless struct {
	set *Set
}

// ErrTotalsBesideMeans says that a set has both, of which no bounds are known together.
var ErrTotalsBesideMeans = errors.New("robust: bounds of totals beside long-run means are not known: " +
	"want one of the two")

func newEndless(s *Set) (dynamics, error) {
	if s.m.Means() && !s.m.Average() {
		return nil, ErrTotalsBesideMeans
	}
	return &endless{s}, nil
}

func (f *endless) newAnswer() *Answer { return f.set.newAnswer(1) }

// evaluate returns the greatest return of a stationary policy over the set in each direction. Direction by direction
// nature's answer is found by policy iteration; the bound is then computed from the values by one backup, wherever
// they come from.
func (f *endless) evaluate(
	ctx context.Context, policy cmdp.Policy, dirs [][]float64, keep *[][]float64,
) (passed, error) {
	n := len(dirs)
	out := passed{make([]float64, n), make([]float64, n)}
	all := make([]float64, f.set.m.States()*n)
	errs := make([]error, n)
	r := parallel.Relay{Workers: f.set.spec.Workers, Stages: 1, Parts: n, Do: func(_, j int) {
		f.set.reportValues(ctx, float64(j)/float64(n))
		var v []float64
		v, _, errs[j] = f.bound(ctx, f.set.newSystem(policy), dirs[j], &out, j)
		for s, x := range v {
			all[s*n+j] = x
		}
	}}
	if f.set.entries < threshold.Shared {
		r.Workers = 1
	}
	// The first error is that of the first direction, so that what is said does not depend on who was faster.
	if err := cmp.Or(r.Run(ctx), cmp.Or(errs...)); err != nil {
		return passed{}, err
	}
	if keep != nil {
		*keep = [][]float64{all, all}
	}
	return out, nil
}

// bound computes the greatest return of a system in a direction, with nature's answer.
func (f *endless) bound(ctx context.Context, y *system, dir []float64, out *passed, j int) ([]float64, *Answer, error) {
	switch {
	case f.set.m.Average():
		return f.mean(ctx, y, dir, out, j)
	case f.set.m.Discount() < 1:
		return f.discounted(ctx, y, dir, out, j)
	}
	return f.total(ctx, y, dir, out, j)
}

// values is bound for the values of the states alone.
func (f *endless) values(ctx context.Context, y *system, dir []float64) ([]float64, *Answer, error) {
	return f.bound(ctx, y, dir, &passed{make([]float64, 1), make([]float64, 1)}, 0)
}

// discounted: if no backup raises a value by more than ε, the greatest value is at most ε/(1−γ) above.
func (f *endless) discounted(
	ctx context.Context, y *system, dir []float64, out *passed, j int,
) ([]float64, *Answer, error) {
	b, a, in := f.set.newBackup([][]float64{dir}), f.newAnswer(), y.all()
	v := make([]float64, f.set.m.States())
	if err := y.greatest(ctx, b, a, in, v, 0); err != nil {
		return nil, nil, err
	}
	if len(y.states) > 0 {
		rise, _ := y.greatestIncrease(b, in, v)
		out.margin[j] = math.Max(0, rise) / (1 - b.gamma) * (1 + 8*unit)
	}
	f.start(b, v, out, j)
	return v, a, nil
}

// start sets the expected value of the first state.
func (f *endless) start(b *backup, v []float64, out *passed, j int) {
	out.greatest[j] = b.atStart(v)[0]
	out.margin[j] += 2 * float64(len(f.set.m.StartStates())+2) * unit * b.largest(0, v)
}

// total: nature has to come to rest, and values that no backup raises are at least the greatest ones. A little is
// added in each step so that rounding does not raise them.
func (f *endless) total(ctx context.Context, y *system, dir []float64, out *passed, j int) ([]float64, *Answer, error) {
	b, a, in := f.set.newBackup([][]float64{dir}), f.newAnswer(), y.all()
	if err := y.mustLeave(in, false); err != nil {
		return nil, nil, err
	}
	v := make([]float64, f.set.m.States())
	if len(y.states) == 0 {
		return v, a, nil
	}
	if err := y.greatest(ctx, b, a, in, v, 0); err != nil {
		return nil, nil, err
	}
	plain := slices.Clone(v)
	if err := y.raise(ctx, b, a, in, v); err != nil {
		return nil, nil, err
	}
	f.start(b, v, out, j)
	return plain, a, nil
}

// raise makes the values of the marked states a little greater, so that no backup raises any.
func (y *system) raise(ctx context.Context, b *backup, a *Answer, in []bool, v []float64) error {
	const most = 40
	_, extra := y.greatestIncrease(b, in, v)
	for range most {
		if extra == 0 {
			return nil // all values and rewards are 0
		}
		if err := y.greatest(ctx, b, a, in, v, 4*extra); err != nil {
			return err
		}
		rise, rounding := y.greatestIncrease(b, in, v)
		if rise <= 0 {
			return nil
		}
		extra = math.Max(2*extra, rounding)
	}
	return fmt.Errorf("robust: a bound of a total could not be proved for rounding: %w", markov.ErrSingular)
}

// respond returns nature's answer to a policy, also where the policy does not come from the start but others may. If
// its returns are not defined there, only the states that it comes to count.
func (f *endless) respond(ctx context.Context, policy cmdp.Policy, dir []float64) (*Answer, error) {
	y := f.set.systemFrom(policy, f.everywhere())
	v, a, err := f.values(ctx, y, dir)
	if err != nil {
		y = f.set.newSystem(policy)
		v, a, err = f.values(ctx, y, dir)
	}
	if err != nil {
		return nil, err
	}
	f.answerOthers(y, a, dir, v)
	return a, nil
}

// answerOthers answers choices that a policy does not take, from the values of those that it does.
func (f *endless) answerOthers(y *system, a *Answer, dir, v []float64) {
	b := f.set.newBackup([][]float64{dir})
	takes := make(map[int]bool)
	for _, ts := range y.takes {
		for _, t := range ts {
			takes[t.choice] = true
		}
	}
	for c := range f.set.choices(0) {
		if !takes[c] {
			b.answer(a, 0, c, v)
		}
	}
}

// price plans for a direction and lets nature answer, in turn, until neither finds better (Hoffman, Karp 1966).
// Plans are for all states at first, as nature has to know what each of them is worth, also where the best plan does
// not come. Where these have no defined returns, and for long-run means, they go on for the start. Each model's
// optimum is a lower bound of the greatest return of any policy, and the best one is returned.
func (f *endless) price(ctx context.Context, dir []float64, answer *Answer) (*exact.Policy, passed, error) {
	task, err := f.inDirection(dir)
	if err != nil {
		return nil, passed{}, err
	}
	of, err := f.blackwell()
	if err != nil {
		return nil, passed{}, err
	}
	everywhere, plan, err := of.alternate(ctx, task, dir, of.newAnswer(), f.everywhere(), mostAnswers)
	if ctx.Err() != nil {
		return nil, passed{}, ctx.Err()
	}
	if err != nil {
		plan = nil // from the start alone it may be no trouble
	}
	first, rounds := f.newAnswer(), mostAnswers
	if plan != nil {
		copy(first.prob[0], everywhere.prob[0])
		if !f.set.m.Average() {
			rounds = 1
		}
	}
	a, r, err := f.alternate(ctx, task, dir, first, f.set.m.StartStates(), rounds)
	if err != nil {
		return nil, passed{}, err
	}
	if r == nil { // no policy without memory is best
		return nil, passed{[]float64{math.Inf(-1)}, []float64{0}}, nil
	}
	if answer != nil {
		copy(answer.prob[0], a.prob[0])
	}
	policy := r.Policy
	if plan != nil && slices.Equal(a.prob[0], everywhere.prob[0]) {
		policy = plan.Policy // which is best also where other models come
	}
	return policy, passed{[]float64{r.Bound}, []float64{0}}, nil
}

// mostAnswers bounds how often nature answers a plan.
const mostAnswers = 50

// alternate plans from given states and lets nature answer, in turn, until that makes plans no worse. It begins with
// the model a, and returns the model whose plan is worst, with the plan; the plan is nil if there is none.
func (f *endless) alternate(
	ctx context.Context, task cmdp.Task, dir []float64, a *Answer, start []cmdp.StartState, rounds int,
) (worst *Answer, plan *exact.Result, err error) {
	worst = f.newAnswer()
	for range rounds {
		r, err := f.planIn(ctx, task, a, start)
		if err != nil {
			return nil, nil, err
		}
		if r == nil || plan != nil && !(r.Bound > plan.Bound+1e-12*math.Max(1, math.Abs(r.Bound))) {
			break
		}
		plan = r
		copy(worst.prob[0], a.prob[0])
		v, err := f.valuesIn(ctx, f.set.systemFrom(r.Policy, start), a, dir)
		if err != nil {
			break
		}
		b := f.set.newBackup([][]float64{dir})
		for c := range f.set.choices(0) {
			b.answer(a, 0, c, v)
		}
	}
	return worst, plan, nil
}

// everywhere has all states to start in alike.
func (f *endless) everywhere() []cmdp.StartState {
	all := make([]cmdp.StartState, f.set.m.States())
	for s := range all {
		all[s] = cmdp.StartState{State: s, Probability: 1 / float64(len(all))}
	}
	return all
}

// nearlyOne is the discount in the place of long-run means. Nearer to 1, plans take long, and rounding hides what comes
// before the means.
const nearlyOne = 1 - 1e-4

// blackwell is the dynamic programming with a discount near 1 in the place of long-run means: values then say what a
// state is worth by its mean and, where that is the same, by what comes before (Blackwell 1962).
func (f *endless) blackwell() (*endless, error) {
	if !f.set.m.Average() {
		return f, nil
	}
	spec := f.set.spec
	var err error
	spec.Model, err = f.newAnswer().model(f.set.m.StartStates(), nearlyOne)
	if err != nil {
		return nil, err
	}
	if spec.Intervals != nil {
		spec.Intervals, err = cmdp.NewIntervals(spec.Model, spec.Intervals.Row)
		if err != nil {
			return nil, fmt.Errorf("robust: %w", err)
		}
	}
	set, err := New(spec)
	return &endless{set}, err
}

// inDirection is the task to make the return in a direction small.
func (f *endless) inDirection(dir []float64) (cmdp.Task, error) {
	far := slices.Repeat([]float64{exact.Boundless}, len(dir))
	near := slices.Repeat([]float64{-exact.Boundless}, len(dir))
	box, err := geometry.NewBox(near, far)
	if err != nil {
		return cmdp.Task{}, err
	}
	g, err := cost.NewLinear(dir, box)
	if err != nil {
		return cmdp.Task{}, err
	}
	task := cmdp.Task{Cost: g}
	if f.set.m.Discount() == 1 && !f.set.m.Average() {
		task.Box = box
	}
	return task, nil
}

// planIn plans for one model from given states. It returns nil if no policy without memory is best.
func (f *endless) planIn(
	ctx context.Context, task cmdp.Task, a *Answer, start []cmdp.StartState,
) (*exact.Result, error) {
	m, err := a.model(start, f.set.m.Discount())
	if err != nil {
		return nil, err
	}
	r, err := exact.Solve(ctx, m, task, exact.Options{})
	var no *exact.NoTotalError
	if errors.As(err, &no) || err == nil && (r.Status != exact.Optimal || r.Policy == nil || r.Product != nil) {
		return nil, nil
	}
	return r, err
}

// valuesIn returns the values of a policy's states in one model: what it returns from there, or relative values of a
// long-run mean.
func (f *endless) valuesIn(ctx context.Context, y *system, a *Answer, dir []float64) ([]float64, error) {
	b := f.set.newBackup([][]float64{dir})
	v := make([]float64, f.set.m.States())
	if !f.set.m.Average() {
		return v, y.solve(ctx, b, a, y.all(), v, 0)
	}
	classes, err := y.classes(ctx)
	if err != nil {
		return nil, err
	}
	return v, y.relative(ctx, b, a, classes, v)
}

// improve returns a policy that is better to first order, as that of a horizon does, with the visits of the policy in
// the place of probabilities of states; nil for long-run means.
func (f *endless) improve(
	ctx context.Context, policy cmdp.Policy, dirs [][]float64, weights []float64,
) (*exact.Policy, error) {
	if policy == nil || f.set.m.Average() {
		return nil, nil
	}
	n := len(dirs)
	y := f.set.newSystem(policy)
	values := make([]float64, f.set.m.States()*n)
	visits := make([]float64, f.set.m.States()*n)
	for j, dir := range dirs {
		v, a, err := f.values(ctx, y, dir)
		if err != nil {
			return nil, err
		}
		x, err := y.visits(ctx, a)
		if err != nil {
			return nil, err
		}
		for s := range v {
			values[s*n+j], visits[s*n+j] = v[s], x[s]
		}
	}
	rule := markov.Rule{Actions: markov.NewActions(f.set.m.States(), f.set.most)}
	b, k := f.set.newBackup(dirs), f.set.kernels[0]
	for s := range f.set.m.States() {
		first, end := k.Choices(s)
		if first == end {
			continue
		}
		if y.number[s] < 0 {
			f.keepAction(&rule, policy, s, end-first)
			continue
		}
		share := visits[s*n : (s+1)*n]
		floats.Mul(share, weights)
		rule.Actions.Set(s, b.least(0, s, share, values, nil))
	}
	return exact.NewPolicy([]markov.Rule{rule}), nil
}

// keepAction lets a rule do in a state what a policy does most.
func (f *endless) keepAction(rule *markov.Rule, policy cmdp.Policy, s, actions int) {
	probs := make([]float64, actions)
	policy.Distribution(probs, 0, s)
	best := 0
	for a, x := range probs {
		if x > probs[best] {
			best = a
		}
	}
	rule.Actions.Set(s, best)
}

// visits returns the expected visits of each state, discounted, under nature's answer.
func (y *system) visits(ctx context.Context, a *Answer) ([]float64, error) {
	in := y.all()
	number, count := numbered(in)
	y.build(a, in, number)
	right, x := make([]float64, count), make([]float64, count)
	for _, st := range y.set.m.StartStates() {
		if n := y.number[st.State]; n >= 0 {
			right[number[n]] += st.Probability
		}
	}
	err := y.chain.Solve(ctx, x, right, true, 0)
	out := make([]float64, y.set.m.States())
	for n, s := range y.states {
		out[s] = x[number[n]]
	}
	return out, err
}
