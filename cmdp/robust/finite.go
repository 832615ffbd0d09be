package robust

import (
	"context"
	"slices"
	"sync"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/internal/parallel"
	"cmdpsolve/cmdp/markov"

	"gonum.org/v1/gonum/floats"
)

// finite is the dynamic programming of a set whose models have a horizon.
type finite struct {
	set *Set
}

// A passed is what a pass from the last step to the first found.
type passed struct {
	greatest []float64 // of each direction, what nature can make of it
	margin   []float64 // bounds of the rounding errors
}

// A stage sets the values of the states [lo, hi) at a step from those of the next step, v. It must not touch those of
// others.
type stage func(b *backup, h, lo, hi int, dst, v []float64)

// backward goes from the last step to the first. What do sets are the values at a step, of all directions; the states
// are shared between workers. keep, if not nil, gets the values of each step, and zeros after the last.
func (f *finite) backward(ctx context.Context, dirs [][]float64, keep *[][]float64, do stage) (passed, error) {
	states, n, steps := f.set.m.States(), len(dirs), f.set.m.Horizon()
	values := make([][]float64, steps+1)
	for i := range values {
		if i < 2 || keep != nil {
			values[i] = make([]float64, states*n)
		} else {
			values[i] = values[i-2]
		}
	}
	div := parallel.Divide(f.set.spec.Workers, states, f.set.entries/steps)
	idle := sync.Pool{New: func() any { return f.set.newBackup(dirs) }}
	most := make([]parallel.Maximum, (steps+1)*n) // magnitudes of values, in each direction
	r := parallel.Relay{Workers: f.set.spec.Workers, Stages: steps, Parts: div.Parts, Do: func(stage, part int) {
		if part == 0 {
			f.set.reportValues(ctx, float64(stage)/float64(steps))
		}
		lo, hi := div.Part(part)
		b, next := idle.Get().(*backup), values[stage+1]
		do(b, steps-1-stage, lo, hi, next, values[stage])
		for j := range n {
			most[(stage+1)*n+j].Add(b.largest(j, next[lo*n:hi*n]))
		}
		idle.Put(b)
	}}
	if err := r.Run(ctx); err != nil {
		return passed{}, err
	}
	b := f.set.newBackup(dirs)
	rounded := newRounding(b)
	for stage := range steps {
		rounded.step(most[stage*n : (stage+1)*n])
	}
	if keep != nil {
		*keep = slices.Clone(values)
		slices.Reverse(*keep)
	}
	v := values[steps]
	return passed{b.atStart(v), rounded.atStart(v)}, nil
}

// evaluate returns the greatest return of a policy over the set in each direction. keep, if not nil, gets the values
// of each step, and zeros after the last.
func (f *finite) evaluate(
	ctx context.Context, policy cmdp.Policy, dirs [][]float64, keep *[][]float64,
) (passed, error) {
	return f.backward(ctx, dirs, keep, func(b *backup, h, lo, hi int, dst, v []float64) {
		b.policy(dst, policy, h, lo, hi, v)
	})
}

// A rounding adds up the rounding errors of backups.
type rounding struct {
	b       *backup
	rewards []float64
	error   []float64 // of each direction, a bound of the error of every value
}

func newRounding(b *backup) *rounding {
	r := &rounding{b: b, error: make([]float64, len(b.dirs))}
	for j := range b.dirs {
		r.rewards = append(r.rewards, b.largestReward(j))
	}
	return r
}

// step takes in a backup of values of given magnitudes. The error of a backup is that of the values, times what
// probabilities sum to at most, and its own.
func (r *rounding) step(largest []parallel.Maximum) {
	s := r.b.set
	for j := range r.error {
		most := largest[j].Get() + r.error[j]
		r.error[j] = s.mass*r.error[j]*(1+4*unit) + s.rounding(most, r.rewards[j])
	}
}

// atStart returns bounds of the errors of the expected values of the first state.
func (r *rounding) atStart(v []float64) []float64 {
	out := make([]float64, len(r.error))
	starts := float64(len(r.b.set.m.StartStates()) + 2)
	for j, e := range r.error {
		out[j] = e*(1+1e-8) + 2*starts*unit*r.b.largest(j, v)
	}
	return out
}

// price returns a policy that makes the greatest return in a direction over the set least, with that return and
// nature's answer.
func (f *finite) price(ctx context.Context, dir []float64, answer *Answer) (*exact.Policy, passed, error) {
	rules, one := f.newRules(), []float64{1}
	p, err := f.backward(ctx, [][]float64{dir}, nil, func(b *backup, h, lo, hi int, dst, v []float64) {
		k := f.set.rows(h)
		for s := lo; s < hi; s++ {
			first, end := k.Choices(s)
			dst[s] = v[s]
			if first < end {
				rules[h].Actions.Set(s, b.least(h, s, one, v, dst[s:s+1]))
			}
			for c := first; c < end && answer != nil; c++ {
				b.answer(answer, h, c, v)
			}
		}
	})
	if err != nil {
		return nil, passed{}, err
	}
	return exact.NewPolicy(rules), p, nil
}

// newRules returns room for the actions of each step.
func (f *finite) newRules() []markov.Rule {
	rules := make([]markov.Rule, f.set.m.Horizon())
	for h := range rules {
		rules[h].Actions = markov.NewActions(f.set.m.States(), f.set.most)
	}
	return rules
}

// respond returns nature's answer to a policy in a direction, where choices that the policy does not take are answered
// too, from the values of the policy.
func (f *finite) respond(ctx context.Context, policy cmdp.Policy, dir []float64) (*Answer, error) {
	var v [][]float64
	_, err := f.evaluate(ctx, policy, [][]float64{dir}, &v)
	if err != nil {
		return nil, err
	}
	b, a := f.set.newBackup([][]float64{dir}), f.newAnswer()
	for h := range a.prob {
		for c := range f.set.choices(f.set.kernel(h)) {
			b.answer(a, h, c, v[h+1])
		}
	}
	return a, nil
}

func (f *finite) newAnswer() *Answer { return f.set.newAnswer(f.set.m.Horizon()) }

// improve returns a policy that is better than another one where the greatest returns in each direction count with
// given weights, to first order: at each pair of a step and a state the action is the one with the least sum of
// weights, times the probability of coming there under nature's answer for the direction, times its greatest return
// from there on, by the actions that were chosen for later steps. Without a policy all pairs count alike.
func (f *finite) improve(
	ctx context.Context, policy cmdp.Policy, dirs [][]float64, weights []float64,
) (*exact.Policy, error) {
	n := len(dirs)
	var visits [][]float64
	if policy != nil {
		var err error
		visits, err = f.visits(ctx, policy, f.set.newBackup(dirs))
		if err != nil {
			return nil, err
		}
	}
	rules := f.newRules()
	_, err := f.backward(ctx, dirs, nil, func(b *backup, h, lo, hi int, dst, v []float64) {
		k, share := f.set.rows(h), make([]float64, n)
		for s := lo; s < hi; s++ {
			first, end := k.Choices(s)
			of := dst[s*n : (s+1)*n]
			copy(of, v[s*n:])
			copy(share, weights)
			if visits != nil && !allZero(visits[h][s*n:(s+1)*n]) {
				floats.Mul(share, visits[h][s*n:(s+1)*n])
			}
			if first < end {
				rules[h].Actions.Set(s, b.least(h, s, share, v, of))
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return exact.NewPolicy(rules), nil
}

func allZero(x []float64) bool {
	for _, y := range x {
		if y != 0 {
			return false
		}
	}
	return true
}

// visits returns, for each step, the probability of each state under a policy and nature's answer in each direction.
func (f *finite) visits(ctx context.Context, policy cmdp.Policy, b *backup) ([][]float64, error) {
	var v [][]float64
	_, err := f.evaluate(ctx, policy, b.dirs, &v)
	if err != nil {
		return nil, err
	}
	n, states := len(b.dirs), f.set.m.States()
	out := make([][]float64, f.set.m.Horizon()+1)
	for h := range out {
		out[h] = make([]float64, states*n)
	}
	for _, st := range f.set.m.StartStates() {
		for j := range n {
			out[0][st.State*n+j] = st.Probability
		}
	}
	prob := make([]float64, f.set.longest)
	for h := range f.set.m.Horizon() {
		k := f.set.rows(h)
		for s := range states {
			mass := out[h][s*n : (s+1)*n]
			first, end := k.Choices(s)
			if allZero(mass) {
				continue
			}
			if first == end {
				for j, x := range mass {
					out[h+1][s*n+j] += x
				}
				continue
			}
			probs := b.probs[:end-first]
			policy.Distribution(probs, h, s)
			for a, x := range probs {
				if x > 0 {
					f.spread(b, h, first+a, x, mass, v[h+1], prob, out[h+1])
				}
			}
		}
	}
	return out[:f.set.m.Horizon()], nil
}

// spread adds the mass of each direction that goes through a choice to its successors.
func (f *finite) spread(b *backup, h, c int, x float64, mass, v, room, to []float64) {
	k := f.set.rows(h)
	next, nominal := k.Row(c)
	lower, upper := f.set.bounds(f.set.kernel(h), c)
	n := len(b.dirs)
	w := b.one(h, c, v)
	for j := range n {
		if mass[j] == 0 {
			continue
		}
		prob := nominal
		if lower != nil {
			prob = room[:len(next)]
			answer(prob, lower, upper, b.of(w, j), b.order)
		}
		for i, s := range next {
			to[int(s)*n+j] += mass[j] * x * prob[i]
		}
	}
}
