package exact

import (
	"context"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/internal/parallel"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cmdp/progress"
	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/floats"
)

// tallied is the pricer of a cmdp.Tally. Its rows are those of the base, shifted by the count: for each
// transition of the base, value iteration adds up slices with the values of all counts, which lie one after the
// other. No row is stored.
//
// Above the largest count that is told apart values are of the form w + slope·count, and in the same way below
// the least: final returns change there by as much as the count. Such pairs store their w.
type tallied struct {
	m         *cmdp.Model
	t         *cmdp.Tally
	workers   int
	parts     parallel.Division // of the states of the base
	longest   int
	v, vNext  []float64   // of each pair, its value in the direction
	reward    [][]float64 // of each kernel and choice of the base, in the direction
	low, high float64     // slopes in the direction
	// cancelling is so large that twice the margin in the direction of a return is 64 times its rounding, see traits.
	cancelling []float64
	policy     *tallyPolicy
	flow       *tallyFlow
}

func newTallied(m *cmdp.Model, workers int) *tallied {
	f := &tallied{m: m, t: m.Tally(), workers: workers}
	base := f.t.Base
	f.parts = parallel.Divide(mostStateBlocks, base.States(), threshold.Shared)
	f.v, f.vNext = make([]float64, m.States()), make([]float64, m.States())
	for h := range kernels(base) {
		f.longest = max(f.longest, markov.LongestRow(base.Kernel(h)))
		f.reward = append(f.reward, make([]float64, base.Kernel(h).Choices()))
	}
	return f
}

func (f *tallied) dim() int { return f.m.Dim() }

func (f *tallied) traits() traits {
	if f.cancelling == nil {
		// That of a final return is what all counts and its offset add up to, which may be near 0 for every policy.
		f.cancelling = make([]float64, f.dim())
		for i := range f.cancelling {
			dir := axis(f.dim(), i, 1)
			f.cancelling[i] = f.margin(dir, f.scalarize(dir)) / (32 * roundoff)
		}
	}
	return traits{singlePolicy: true, cancelling: f.cancelling}
}

func (f *tallied) configure(progress.Func, float64, bool) {}

func (f *tallied) extent(_ context.Context, lower, upper []float64) error {
	f.m.Shape().ReturnToGo(lower, upper, 0)
	return nil
}

func (f *tallied) price(ctx context.Context, dir []float64, _ float64) (pricedPolicy, error) {
	if f.policy == nil {
		f.policy, f.flow = newTallyPolicy(f.m), newTallyFlow(f)
	}
	value, margin, err := f.iterate(ctx, dir, func(b *tallySweep, s int) { b.improve(s, f.policy) })
	if err != nil {
		return pricedPolicy{}, err
	}
	returns, err := f.flow.returns(ctx, f.policy)
	return pricedPolicy{returns: returns, value: value, margin: margin}, err
}

// recoverPolicy returns the policies of the columns, one of which is drawn at the start.
// None of them draws.
func (f *tallied) recoverPolicy(ctx context.Context, columns []column, weights []float64, _ face,
	_ float64) (*Policy, error) {
	out := &Policy{}
	for j, c := range columns {
		p := newTallyPolicy(f.m)
		if _, _, err := f.iterate(ctx, c.dir, func(b *tallySweep, s int) { b.improve(s, p) }); err != nil {
			return nil, err
		}
		out.mixture = append(out.mixture, WeightedPolicy{weights[j], &Policy{tally: p}})
	}
	if len(columns) == 1 {
		return out.mixture[0].Policy, nil
	}
	return out, nil
}

// evaluate goes from the last step to the first, for one return after the other.
func (f *tallied) evaluate(ctx context.Context, p *Policy) ([]float64, error) {
	out := make([]float64, f.m.Dim())
	for _, c := range p.mixture {
		x, err := f.evaluate(ctx, c.Policy)
		if err != nil {
			return nil, err
		}
		floats.AddScaled(out, c.Weight, x)
	}
	for i := range out {
		if p.tally == nil {
			break
		}
		var err error
		out[i], _, err = f.iterate(ctx, axis(len(out), i, 1), func(b *tallySweep, s int) { b.follow(s, p.tally) })
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// recheck is a second, plain value iteration: number by number, the sums formed from the last entry to the first.
func (f *tallied) recheck(ctx context.Context, dir []float64) (value, margin float64, err error) {
	return f.iterate(ctx, dir, func(b *tallySweep, s int) {
		in := b.apart[s]
		b.again(b.to[b.t.Below(s):][:1], s, in.Least-1, dir)
		b.again(b.distinguished(b.to, s), s, in.Least, dir)
		b.again(b.to[b.t.Above(s):][:1], s, in.Most+1, dir)
	})
}

// iterate goes from the last step to the first and calls do for each state of the base. It returns the value at
// the start and a bound of its error.
func (f *tallied) iterate(ctx context.Context, dir []float64,
	do func(b *tallySweep, s int)) (value, margin float64, err error) {
	final, steps := f.scalarize(dir), f.m.Horizon()
	r := parallel.Relay{Workers: f.workers, Stages: steps, Parts: f.parts.Parts, Do: func(stage, part int) {
		b := f.sweep(steps-1-stage, stage%2 == 1)
		lo, hi := f.parts.Part(part)
		for s := lo; s < hi; s++ {
			if b.apart[s].Reached() {
				do(b, s)
			}
		}
	}}
	if err := r.Run(ctx); err != nil {
		return 0, 0, err
	}
	if steps%2 == 1 {
		f.v, f.vNext = f.vNext, f.v
	}
	value, lost := startMean(f.m, f.v)
	return value, f.margin(dir, final) + lost, nil
}

// scalarize sets rewards and slopes to those of a direction, and values to those at the end. It returns a bound
// of what these are the sums of.
func (f *tallied) scalarize(dir []float64) (largest float64) {
	d, base := f.t.Base.Dim(), f.t.Base
	for h, reward := range f.reward {
		clear(reward)
		for j, i := range f.t.Columns {
			for c := range reward {
				if i < d {
					reward[c] += float64(dir[j] * base.Kernel(h).ReturnsOf(c, d)[i])
				}
			}
		}
	}
	var finals []cmdp.FinalReturn // times their weights
	f.low, f.high = 0, 0
	times := func(x float64, l cmdp.Line) cmdp.Line { return cmdp.Line{At0: x * l.At0, Slope: x * l.Slope} }
	for j, i := range f.t.Columns {
		if i >= d {
			r := f.t.Final[i-d]
			r.Low, r.High = times(dir[j], r.Low), times(dir[j], r.High)
			finals = append(finals, r)
			f.low, f.high = f.low+r.Low.Slope, f.high+r.High.Slope
		}
	}
	end := f.step(f.m.Horizon())
	for s := range base.States() {
		if !end.apart[s].Reached() {
			continue
		}
		for count := end.apart[s].Least - 1; count <= end.apart[s].Most+1; count++ {
			x, size := 0.0, 0.0
			for _, r := range finals {
				y := end.final(r, s, count)
				x, size = x+y, size+math.Abs(y)
			}
			f.v[f.t.At(end.h, s, count)] = x
			largest = max(largest, size)
		}
	}
	return largest
}

// margin bounds the rounding error of a value iteration, after which the values at the end are at most final:
// each backup adds the rounding of sums over at most longest successors and d coordinates; see Higham, Accuracy
// and Stability of Numerical Algorithms, §3.1.
func (f *tallied) margin(dir []float64, final float64) float64 {
	d, base, step, slope, amount := f.t.Base.Dim(), f.t.Base, 0.0, 0.0, 0.0
	for h := range f.reward {
		largest := 0.0
		most := mostReturns(base.Kernel(h), d)
		for j, i := range f.t.Columns {
			if i < d {
				largest += math.Abs(dir[j]) * most[i]
			}
		}
		step = max(step, largest)
		for _, a := range f.t.Amount[h] {
			amount = max(amount, math.Abs(float64(a)))
		}
	}
	for j, i := range f.t.Columns {
		if i >= d {
			r := f.t.Final[i-d]
			slope += math.Abs(dir[j]) * math.Max(math.Abs(r.Low.Slope), math.Abs(r.High.Slope))
		}
	}
	steps := float64(f.m.Horizon())
	// No value is larger, nor is w or slope·count.
	most := 1.001 * (final + steps*(step+2*slope*amount))
	return 1.001 * steps * float64(f.longest+len(dir)+8) * roundoff * (step + 2*most)
}
