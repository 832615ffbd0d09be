package exact

import (
	"context"
	"math"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/floats"
)

// tallied is the pricer of a cmdp.Tally. Its rows are those of the base, shifted by the count: for each transition of the base,
// value iteration adds up slices with the values of all counts, which lie one after the other. No row is stored.
//
// Above the largest count that is told apart values are of the form w + slope·count, and in the same way below the least:
// final returns change there by as much as the count. Such pairs store their w.
type tallied struct {
	m         *cmdp.Model
	t         *cmdp.Tally
	workers   int
	parts     division // of the states of the base
	longest   int
	v, vNext  []float64   // of each pair, its value in the direction
	reward    [][]float64 // of each kernel and choice of the base, in the direction
	low, high float64     // slopes in the direction
	policy    *tallyPolicy
	flow      *tallyFlow
}

func newTallied(m *cmdp.Model, workers int) *tallied {
	f := &tallied{m: m, t: m.Tally(), workers: workers}
	base := f.t.Base
	f.parts = divide(mostBlocks, base.States(), serial)
	f.v, f.vNext = make([]float64, m.States()), make([]float64, m.States())
	for h := range kernels(base) {
		f.longest = max(f.longest, longestRow(base.Kernel(h)))
		f.reward = append(f.reward, make([]float64, len(base.Kernel(h).Offset)-1))
	}
	return f
}

func (f *tallied) dim() int { return f.m.Dim() }

func (f *tallied) extent(_ context.Context, lower, upper []float64) error {
	f.m.Shape().ReturnToGo(lower, upper, 0)
	return nil
}

func (f *tallied) price(ctx context.Context, dir []float64) (priced, error) {
	if f.policy == nil {
		f.policy, f.flow = newTallyPolicy(f.m), newTallyFlow(f)
	}
	value, margin, err := f.iterate(ctx, dir, func(b *tallySweep, s int) { b.improve(s, f.policy) })
	if err != nil {
		return priced{}, err
	}
	returns, err := f.flow.returns(ctx, f.policy)
	return priced{returns: returns, value: value, margin: margin}, err
}

// combine returns the policies of the columns, one of which is drawn at the start.
func (f *tallied) combine(ctx context.Context, columns []column, weights []float64) (*Policy, error) {
	out := &Policy{}
	for j, c := range columns {
		p := newTallyPolicy(f.m)
		if _, _, err := f.iterate(ctx, c.dir, func(b *tallySweep, s int) { b.improve(s, p) }); err != nil {
			return nil, err
		}
		out.components = append(out.components, Component{weights[j], &Policy{tally: p}})
	}
	if len(columns) == 1 {
		return out.components[0].Policy, nil
	}
	return out, nil
}

// purify has nothing to do: no component draws.
func (f *tallied) purify(context.Context, *Policy, face) error { return nil }

// evaluate goes from the last step to the first, for one return after the other.
func (f *tallied) evaluate(ctx context.Context, p *Policy) ([]float64, error) {
	out := make([]float64, f.m.Dim())
	for _, c := range p.components {
		x, err := f.evaluate(ctx, c.Policy)
		if err != nil {
			return nil, err
		}
		axpy(out, c.Weight, x)
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
		b.again(b.told(b.to, s), s, in.Least, dir)
		b.again(b.to[b.t.Above(s):][:1], s, in.Most+1, dir)
	})
}

// iterate goes from the last step to the first and calls do for each state of the base. It returns the value at the start and
// a bound of its error.
func (f *tallied) iterate(ctx context.Context, dir []float64, do func(b *tallySweep, s int)) (value, margin float64, err error) {
	final, steps := f.scalarize(dir), f.m.Horizon()
	r := relay{workers: f.workers, stages: steps, parts: f.parts.parts, do: func(stage, part int) {
		b := f.sweep(steps-1-stage, stage%2 == 1)
		lo, hi := f.parts.part(part)
		for s := lo; s < hi; s++ {
			if b.apart[s].Reached() {
				do(b, s)
			}
		}
	}}
	if err := r.run(ctx); err != nil {
		return 0, 0, err
	}
	if steps%2 == 1 {
		f.v, f.vNext = f.vNext, f.v
	}
	return atStart(f.m, f.v), f.margin(dir, final), nil
}

// scalarize sets rewards and slopes to those of a direction, and values to those at the end. It returns a bound of what these
// are the sums of.
func (f *tallied) scalarize(dir []float64) (largest float64) {
	d, base := f.t.Base.Dim(), f.t.Base
	for h, reward := range f.reward {
		clear(reward)
		for j, i := range f.t.Columns {
			for c := range reward {
				if i < d {
					reward[c] += float64(dir[j] * base.Kernel(h).Returns[c*d+i])
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
			f.v[end.pair(s, count)] = x
			largest = max(largest, size)
		}
	}
	return largest
}

// margin bounds the rounding error of a value iteration, after which the values at the end are at most final: each
// backup adds the rounding of sums over at most longest successors and d coordinates; see Higham, Accuracy and Stability of
// Numerical Algorithms, §3.1.
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
	return 1.001*steps*float64(f.longest+len(dir)+8)*unit*(step+2*most) + startError*most
}

// A tallyStep is what there is at a step.
type tallyStep struct {
	*tallied
	h           int
	k           *cmdp.Kernel // nil at the end
	amounts     []int32
	reward      []float64     // of each choice
	apart, then []cmdp.Levels // counts that are told apart at the step, and at the next one
	actions     []uint8       // room for all counts
}

func (f *tallied) step(h int) tallyStep {
	out := tallyStep{tallied: f, h: h, apart: f.t.Apart(h)}
	if h < f.m.Horizon() {
		at := min(h, len(f.reward)-1)
		out.k, out.amounts, out.reward, out.then = f.t.Base.Kernel(h), f.t.Amount[at], f.reward[at], f.t.Apart(h+1)
	}
	return out
}

// told returns the part of what there is for each pair that is about the counts of a state that are told apart.
func (b *tallyStep) told(of []float64, s int) []float64 {
	in := b.apart[s]
	if in.Least > in.Most {
		return nil
	}
	return of[b.t.Index(s, in.Least):][:in.Most-in.Least+1]
}

// pair returns the pair of a state and any count.
func (b *tallyStep) pair(s int, count int32) int {
	switch in := b.apart[s]; {
	case count < in.Least:
		return b.t.Below(s)
	case count > in.Most:
		return b.t.Above(s)
	}
	return b.t.Index(s, count)
}

// final returns what is stored at the end for a return.
func (b *tallyStep) final(r cmdp.FinalReturn, s int, count int32) float64 {
	switch in := b.apart[s]; {
	case count < in.Least:
		return r.Low.At0
	case count > in.Most:
		return r.High.At0
	}
	return r.At(count)
}

// split returns how many of n counts, from one on, are below those that are told apart in a state at the next step, and where
// these end.
func (b *tallyStep) split(s int, from int32, n int) (below, within int) {
	below = min(n, max(0, int(b.then[s].Least-from)))
	return below, max(below, min(n, int(b.then[s].Most-from)+1))
}

// A tallySweep is one step of value iteration, of one worker.
type tallySweep struct {
	tallyStep
	from, to []float64 // values from the next step on, and from this one on
	q        []float64 // room for one choice and all counts
}

func (f *tallied) sweep(h int, odd bool) *tallySweep {
	b := &tallySweep{tallyStep: f.step(h), from: f.v, to: f.vNext}
	if odd {
		b.from, b.to = b.to, b.from
	}
	return b
}

// improve sets values and actions of the pairs of a state that come up.
func (b *tallySweep) improve(s int, record *tallyPolicy) {
	first, end, in := int(b.k.First[s]), int(b.k.First[s+1]), b.apart[s]
	if first == end {
		b.rest(s)
		return
	}
	out, actions := b.told(b.to, s), record.room(&b.actions, s, in)
	if len(b.q) < len(out) {
		b.q = make([]float64, len(out))
	}
	below, above := math.Inf(1), math.Inf(1) // bounds of the count are kept or broken there, whatever is done
	var belowDoes, aboveDoes int
	for c := first; c < end; c++ {
		levels := in.And(b.t.Allowed(b.h, c))
		if c == first && levels != in {
			fill(out, math.Inf(1))
		}
		if c == first && levels == in {
			b.choice(out, c, in.Least)
		} else if levels.Least <= levels.Most {
			q, at := b.q[:levels.Most-levels.Least+1], int(levels.Least-in.Least)
			b.choice(q, c, levels.Least)
			best, taken := out[at:][:len(q)], actions[at:][:len(q)]
			for i, x := range q {
				if x < best[i] {
					best[i], taken[i] = x, uint8(c-first)
				}
			}
		}
		if x := b.settled(c, false); x < below {
			below, belowDoes = x, c-first
		}
		if x := b.settled(c, true); x < above {
			above, aboveDoes = x, c-first
		}
	}
	b.to[b.t.Below(s)], b.to[b.t.Above(s)] = below, above
	record.set(b.h, s, in, b.actions)
	record.put(b.h, s, 0, belowDoes)
	record.put(b.h, s, b.t.Above(s)-b.t.Below(s), aboveDoes)
}

// rest sets the values of a state in which the process rests.
func (b *tallySweep) rest(s int) {
	out := b.told(b.to, s)
	clear(out)
	b.gather(out, s, 1, b.apart[s].Least)
	b.to[b.t.Below(s)], b.to[b.t.Above(s)] = b.from[b.t.Below(s)], b.from[b.t.Above(s)]
}

// follow sets the values of the pairs of a state that come up to those of a policy.
func (b *tallySweep) follow(s int, p *tallyPolicy) {
	first, in := int(b.k.First[s]), b.apart[s]
	if first == int(b.k.First[s+1]) {
		b.rest(s)
		return
	}
	p.runs(b.h, s, in, func(levels cmdp.Levels, action int) {
		b.choice(b.to[b.t.Index(s, levels.Least):][:levels.Most-levels.Least+1], first+action, levels.Least)
	})
	b.to[b.t.Below(s)] = b.settled(first+p.get(b.h, s, 0), false)
	b.to[b.t.Above(s)] = b.settled(first+p.get(b.h, s, b.t.Above(s)-b.t.Below(s)), true)
}

// choice sets q to the values of a choice, for counts from one on.
func (b *tallySweep) choice(q []float64, c int, count int32) {
	fill(q, b.reward[c])
	for e := b.k.Offset[c]; e < b.k.Offset[c+1]; e++ {
		if p := b.k.Prob[e]; p > 0 {
			b.gather(q, int(b.k.Next[e]), p, count+b.amounts[e])
		}
	}
}

// fill sets all of q to x, by copies, which are faster than single numbers.
func fill(q []float64, x float64) {
	if len(q) == 0 {
		return
	}
	q[0] = x
	for n := 1; n < len(q); n *= 2 {
		copy(q[n:], q[:n])
	}
}

// gather adds p times the values of a state at the next step, for counts from one on.
func (b *tallySweep) gather(q []float64, s int, p float64, count int32) {
	below, within := b.split(s, count, len(q))
	addLine(q[:below], p, b.from[b.t.Below(s)], b.low, count)
	if below < within {
		floats.AddScaled(q[below:within], p, b.from[b.t.Index(s, count)+below:][:within-below])
	}
	addLine(q[within:], p, b.from[b.t.Above(s)], b.high, count+int32(within))
}

// addLine adds p·(w + slope·count) for counts from one on.
func addLine(q []float64, p, w, slope float64, count int32) {
	if slope == 0 {
		floats.AddConst(p*w, q)
		return
	}
	for i := range q {
		q[i] += float64(p * (w + float64(slope*float64(count+int32(i)))))
	}
}

// settled returns the value of a choice above the counts that are told apart, or below.
func (b *tallySweep) settled(c int, above bool) float64 {
	sum := b.reward[c]
	for e := b.k.Offset[c]; e < b.k.Offset[c+1]; e++ {
		at, slope := b.t.Below(int(b.k.Next[e])), b.low
		if above {
			at, slope = b.t.Above(int(b.k.Next[e])), b.high
		}
		if b.k.Prob[e] > 0 {
			sum += float64(b.k.Prob[e] * (b.from[at] + float64(slope*float64(b.amounts[e]))))
		}
	}
	return sum
}

// again sets out to the values of the pairs of a state for counts from one on, by their definition.
func (b *tallySweep) again(out []float64, s int, count int32, dir []float64) {
	first, end, d := int(b.k.First[s]), int(b.k.First[s+1]), b.t.Base.Dim()
	if first == end {
		clear(out)
		b.expect(out, s, count, s, 0, 1)
		return
	}
	fill(out, math.Inf(1))
	q := make([]float64, len(out))
	for c := end - 1; c >= first; c-- {
		clear(q)
		for e := b.k.Offset[c+1] - 1; e >= b.k.Offset[c]; e-- {
			if b.k.Prob[e] > 0 {
				b.expect(q, s, count, int(b.k.Next[e]), b.amounts[e], b.k.Prob[e])
			}
		}
		reward, allowed := 0.0, b.t.Allowed(b.h, c)
		for j := len(dir) - 1; j >= 0; j-- {
			if i := b.t.Columns[j]; i < d {
				reward += dir[j] * b.k.Returns[c*d+i]
			}
		}
		for i, x := range q {
			if at := count + int32(i); at >= allowed.Least && at <= allowed.Most {
				out[i] = math.Min(out[i], x+reward)
			}
		}
	}
}

// expect adds p times the value of a state at the next step, to which counts from one on have changed by an amount.
func (b *tallySweep) expect(q []float64, s int, count int32, next int, amount int32, p float64) {
	then, below, above := b.then[next], b.from[b.t.Below(next)], b.from[b.t.Above(next)]
	zero := b.t.Index(next, 0)
	for i := range q {
		at := count + int32(i)
		switch to := at + amount; {
		case at < b.apart[s].Least:
			q[i] += p * (below + b.low*float64(amount))
		case at > b.apart[s].Most:
			q[i] += p * (above + b.high*float64(amount))
		case to < then.Least:
			q[i] += p * (below + b.low*float64(to))
		case to > then.Most:
			q[i] += p * (above + b.high*float64(to))
		default:
			q[i] += p * b.from[zero+int(to)]
		}
	}
}
