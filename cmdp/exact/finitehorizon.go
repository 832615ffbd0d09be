package exact

import (
	"context"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/internal/parallel"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cmdp/progress"
)

// finiteHorizon is the pricer of a model with a finite horizon: value iteration from the
// last step to the first, of values alone. The actions found are recorded, and the
// returns of that policy computed afterwards, see forwardPass.
type finiteHorizon struct {
	m           *cmdp.Model
	workers     int
	progress    progress.Func
	longestRow  int              // most successors of a choice
	mostReturn  [][]float64      // of each kernel, the largest magnitude of each return
	v, vNext    []float64        // S: values in the direction
	reward      []float64        // of each choice of a step, in the direction
	policy      []markov.Actions // of each step, the actions found last
	forward     *forwardPass
	mostActions int
	reachable   [][]stateRange // of each step, the states that can be reached; nil for all
	stepwise    stepwise
	first       int               // step, above 0 where an episode is under way
	start       []cmdp.StartState // in which states that begins
	keepsValues bool              // values stay, and policies go with their columns
	values      [][]float64       // of the steps and the end if they are kept, of the last direction
}

// newFiniteHorizon returns the pricer of a model. Returns in each have a coordinate for each step beside that of their
// sum.
func newFiniteHorizon(m *cmdp.Model, workers int, each ...int) *finiteHorizon {
	f := &finiteHorizon{m: m, workers: workers, mostActions: m.Shape().MaxActions(), reachable: reachableRanges(m),
		start:    m.StartStates(),
		stepwise: stepwise{d: m.Dim(), steps: m.Horizon(), each: each}}
	s, d, choices := m.States(), m.Dim(), 0
	f.v, f.vNext = make([]float64, s), make([]float64, s)
	for h := range kernels(m) {
		f.longestRow = max(f.longestRow, markov.LongestRow(m.Kernel(h)))
		f.mostReturn = append(f.mostReturn, mostReturns(m.Kernel(h), d))
		choices = max(choices, m.Kernel(h).Choices())
	}
	f.reward = make([]float64, choices)
	return f
}

// newActions returns room for the actions of a policy.
func (f *finiteHorizon) newActions() []markov.Actions {
	table := make([]markov.Actions, f.m.Horizon())
	for h := f.first; h < len(table); h++ {
		table[h] = markov.NewActions(f.m.States(), f.mostActions)
	}
	return table
}

// kernels returns the number of different kernels.
func kernels(m *cmdp.Model) int {
	if m.Stationary() {
		return 1
	}
	return m.Horizon()
}

func mostReturns(k *cmdp.Kernel, dim int) []float64 {
	most := make([]float64, dim)
	for j, r := range k.Returns {
		most[j%dim] = math.Max(most[j%dim], math.Abs(r))
	}
	return most
}

// largestReward bounds the sum of |dir_i·r_i| over the choices of step h.
func (f *finiteHorizon) largestReward(h int, dir []float64) float64 {
	sum := 0.0
	for i, r := range f.mostReturn[min(h, len(f.mostReturn)-1)] {
		sum += math.Abs(dir[i]) * r
	}
	return sum
}

func (f *finiteHorizon) dim() int { return f.stepwise.dim() }

func (f *finiteHorizon) traits() traits {
	t := traits{stateless: true, singlePolicy: true, cancelling: make([]float64, f.dim())}
	for _, most := range f.mostReturn {
		for i, r := range most {
			t.cancelling[i] = math.Max(t.cancelling[i], r)
		}
	}
	return t
}

func (f *finiteHorizon) configure(tell progress.Func, _ float64, _ bool) { f.progress = tell }

func (f *finiteHorizon) extent(_ context.Context, lower, upper []float64) error {
	d := f.m.Dim()
	f.m.Shape().ReturnToGo(lower[:d], upper[:d], 0)
	for h := range f.stepwise.steps {
		f.stepwise.extent(f.m.Kernel(h), h, lower, upper)
	}
	return nil
}

func (f *finiteHorizon) price(ctx context.Context, dir []float64, _ float64) (pricedPolicy, error) {
	if f.policy == nil || f.keepsValues {
		f.policy = f.newActions()
	}
	value, margin, err := f.valueIteration(ctx, dir, f.policy, f.reachable)
	if err != nil {
		return pricedPolicy{}, err
	}
	returns, err := f.returns(ctx, f.policy)
	if err != nil {
		return pricedPolicy{}, err
	}
	p := pricedPolicy{returns: returns, value: value, margin: margin}
	if f.keepsValues {
		p.tables = [][]markov.Actions{f.policy}
	}
	return p, nil
}

// returns computes the returns of a policy that never draws.
func (f *finiteHorizon) returns(ctx context.Context, policy []markov.Actions) ([]float64, error) {
	if f.forward == nil {
		f.forward = newForwardPass(f.m, f.workers, f.stepwise)
	}
	returns, err := f.forward.returns(ctx, f.first, f.start, policy, f.reward)
	if err != nil {
		f.forward = nil // it was interrupted
	}
	return returns, err
}

// keepValues keeps values, and policies with their columns.
func (f *finiteHorizon) keepValues() {
	f.keepsValues = true
	f.values = make([][]float64, f.m.Horizon()+1)
	for h := range f.values {
		f.values[h] = make([]float64, f.m.States())
	}
}

// clone returns a pricer that may be used beside f.
func (f *finiteHorizon) clone() *finiteHorizon {
	q := *f
	q.v, q.vNext, q.reward = make([]float64, len(f.v)), make([]float64, len(f.v)), make([]float64, len(f.reward))
	q.policy, q.forward = nil, nil
	if f.keepsValues {
		q.keepValues()
	}
	return &q
}

// iterating names the phase of iterate in reports of progress.
const iterating = "finding values of states"

// valueIteration runs value iteration, returns V*(dir) with a bound of its error, and records
// the action of every (step, state) pair of the ranges, or of all if these are nil, of several best ones the first.
func (f *finiteHorizon) valueIteration(ctx context.Context, dir []float64, record []markov.Actions,
	spans [][]stateRange) (value, margin float64, err error) {
	clear(f.v)
	d, steps, states := f.m.Dim(), f.m.Horizon(), f.m.States()
	dirs := f.stepwise.directions(dir)
	div := parallel.Divide(f.workers, states, len(f.m.Kernel(0).Next))
	size := make([]parallel.Maximum, steps)
	r := parallel.Relay{Workers: f.workers, Stages: steps - f.first, Parts: div.Parts, Do: func(stage, part int) {
		h := steps - 1 - stage
		if part == 0 {
			f.progress.AtStep(iterating, stage, steps, states)
		}
		b := backup{k: f.m.Kernel(h), reward: f.reward, v: f.v, out: f.vNext, record: &record[h]}
		if stage%2 == 1 {
			b.v, b.out = b.out, b.v
		}
		if f.keepsValues {
			b.v, b.out = f.values[h+1], f.values[h]
		}
		lo, hi := div.Part(part)
		// Steps that share a kernel share the rewards: done again at each of them they would
		// take as long as all the rest.
		if stage == 0 || !f.m.Stationary() || len(f.stepwise.each) > 0 {
			b.scalarize(dirs[h], lo, hi)
		}
		size[h].Add(maxOverRanges(rangesAt(spans, h), lo, hi, b.apply))
	}}
	if err := r.Run(ctx); err != nil {
		return 0, 0, err
	}
	if (steps-f.first)%2 == 1 {
		f.v, f.vNext = f.vNext, f.v
	}
	most := 0.0
	for h := steps - 1; h >= f.first; h-- {
		// Every backup adds the rounding of sums over at most longest successors and d
		// coordinates; see Higham, Accuracy and Stability of Numerical Algorithms, §3.1.
		margin += float64(f.longestRow+d+4) * roundoff * (f.largestReward(h, dirs[h]) + most)
		most = size[h].Get()
	}
	v := f.v
	if f.keepsValues {
		v = f.values[f.first]
	}
	value, lost := meanOver(f.start, v)
	return value, 1.001*margin + lost, nil
}

// rangesAt returns the ranges of step h, nil for all states.
func rangesAt(spans [][]stateRange, h int) []stateRange {
	if spans == nil {
		return nil
	}
	return spans[h]
}

// A backup is one step of value iteration.
type backup struct {
	k      *cmdp.Kernel
	reward []float64 // of each choice
	v, out []float64 // values from the next step on, and from this one on
	record *markov.Actions
}

// scalarize sets the reward of the choices of the states [lo, hi) to dir·r.
func (b *backup) scalarize(dir []float64, lo, hi int) {
	for c := int(b.k.First[lo]); c < int(b.k.First[hi]); c++ {
		q := 0.0
		returns := b.k.ReturnsOf(c, len(dir))
		for i, t := range dir {
			q += float64(t * returns[i])
		}
		b.reward[c] = q
	}
}

// apply treats the states [lo, hi) and returns the largest magnitude of a value.
func (b *backup) apply(lo, hi int) float64 {
	k, reward, v := b.k, b.reward, b.v
	most := 0.0
	for s := lo; s < hi; s++ {
		first, end := int(k.First[s]), int(k.First[s+1])
		if first == end { // the process rests
			b.out[s] = v[s]
			most = max(most, math.Abs(v[s]))
			continue
		}
		best, least := first, math.Inf(1)
		for c := first; c < end; c++ {
			q := reward[c]
			next, prob := k.Row(c)
			for j, n := range next {
				q += float64(prob[j] * v[n])
			}
			// Two assignments without a branch: which choice is the least is as good as
			// random, and a processor that guesses waits for every wrong guess.
			if q < least {
				best = c
			}
			least = min(least, q)
		}
		b.out[s] = least
		most = max(most, math.Abs(least))
		b.record.Set(s, best-first)
	}
	return most
}
