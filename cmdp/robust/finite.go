package robust

import (
	"context"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/markov"
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

// evaluate returns the greatest return of a policy over the set in each direction. keep, if not nil, gets the values
// of each step, and zeros after the last.
func (f *finite) evaluate(ctx context.Context, policy cmdp.Policy, dirs [][]float64, keep *[][]float64) (passed, error) {
	b, steps := f.set.newBackup(dirs), f.set.m.Horizon()
	v := make([]float64, f.set.m.States()*len(dirs))
	next := make([]float64, len(v))
	if keep != nil {
		*keep = make([][]float64, steps+1)
		(*keep)[steps] = append([]float64(nil), v...)
	}
	r := newRounding(b)
	for h := steps - 1; h >= 0; h-- {
		if err := ctx.Err(); err != nil {
			return passed{}, err
		}
		r.step(v)
		for s := range f.set.m.States() {
			b.policy(next, policy, h, s, v)
		}
		v, next = next, v
		if keep != nil {
			(*keep)[h] = append([]float64(nil), v...)
		}
	}
	return passed{b.atStart(v), r.atStart(v)}, nil
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

// step takes in a backup of values v. The error of a backup is that of the values, times what probabilities sum to at
// most, and its own.
func (r *rounding) step(v []float64) {
	s := r.b.set
	terms := float64(3*s.longest + s.m.Dim() + s.most + 12)
	for j := range r.error {
		most := r.b.largest(j, v) + r.error[j]
		r.error[j] = s.mass*r.error[j]*(1+4*unit) + terms*unit*(s.mass*most+r.rewards[j])
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
	b, steps, states := f.set.newBackup([][]float64{dir}), f.set.m.Horizon(), f.set.m.States()
	v, next := make([]float64, states), make([]float64, states)
	rules := make([]markov.Rule, steps)
	r := newRounding(b)
	for h := steps - 1; h >= 0; h-- {
		if err := ctx.Err(); err != nil {
			return nil, passed{}, err
		}
		r.step(v)
		rules[h].Actions = markov.NewActions(states, f.set.most)
		k := f.set.kernels[f.set.kernel(h)]
		for s := range states {
			first, end := k.Choices(s)
			next[s] = v[s]
			for c := first; c < end; c++ {
				if answer != nil {
					b.answer(answer, h, c, 0, v)
				}
				x := b.choice(h, c, 0, v)
				if c == first || x < next[s] {
					next[s] = x
					rules[h].Actions.Set(s, c-first)
				}
			}
		}
		v, next = next, v
	}
	return exact.NewPolicy(rules), passed{b.atStart(v), r.atStart(v)}, nil
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
			b.answer(a, h, c, 0, v[h+1])
		}
	}
	return a, nil
}

func (f *finite) newAnswer() *Answer { return f.set.newAnswer(f.set.m.Horizon()) }

// improve returns a policy that is better than another one where the greatest returns in each direction count with
// given weights, to first order: at each pair of a step and a state the action is the one with the least sum of
// weights, times the probability of coming there under nature's answer for the direction, times its greatest return
// from there on, by the actions that were chosen for later steps. Without a policy all pairs count alike.
func (f *finite) improve(ctx context.Context, policy cmdp.Policy, dirs [][]float64, weights []float64) (*exact.Policy, error) {
	b, steps, states, n := f.set.newBackup(dirs), f.set.m.Horizon(), f.set.m.States(), len(dirs)
	var visits [][]float64
	if policy != nil {
		var err error
		visits, err = f.visits(ctx, policy, b)
		if err != nil {
			return nil, err
		}
	}
	v, next := make([]float64, states*n), make([]float64, states*n)
	rules := make([]markov.Rule, steps)
	for h := steps - 1; h >= 0; h-- {
		rules[h].Actions = markov.NewActions(states, f.set.most)
		k := f.set.kernels[f.set.kernel(h)]
		for s := range states {
			first, end := k.Choices(s)
			of := next[s*n : (s+1)*n]
			if first == end {
				copy(of, v[s*n:])
				continue
			}
			share := weights
			if visits != nil && floats0(visits[h][s*n:(s+1)*n]) {
				share = nil
			}
			least := math.Inf(1)
			for c := first; c < end; c++ {
				sum := 0.0
				for j := range dirs {
					b.sums[j] = b.choice(h, c, j, v)
					x := weights[j]
					if share != nil && visits != nil {
						x *= visits[h][s*n+j]
					}
					sum += x * b.sums[j]
				}
				if sum < least {
					least = sum
					copy(of, b.sums)
					rules[h].Actions.Set(s, c-first)
				}
			}
		}
		v, next = next, v
	}
	return exact.NewPolicy(rules), nil
}

// floats0 reports whether all numbers are 0.
func floats0(x []float64) bool {
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
		k := f.set.kernels[f.set.kernel(h)]
		for s := range states {
			mass := out[h][s*n : (s+1)*n]
			first, end := k.Choices(s)
			if floats0(mass) {
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
	k := f.set.kernels[f.set.kernel(h)]
	next, nominal := k.Row(c)
	lower, upper := f.set.bounds(f.set.kernel(h), c)
	n := len(b.dirs)
	for j := range n {
		if mass[j] == 0 {
			continue
		}
		prob := nominal
		if lower != nil {
			prob = room[:len(next)]
			values, _ := b.gather(h, c, j, v)
			b.filler.answer(prob, lower, upper, values)
		}
		for i, s := range next {
			to[int(s)*n+j] += mass[j] * x * prob[i]
		}
	}
}
