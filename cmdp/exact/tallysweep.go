package exact

import (
	"math"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/floats"
)

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

// distinguished returns the part of what there is for each pair that is about the counts of a state that are told
// apart.
func (b *tallyStep) distinguished(of []float64, s int) []float64 {
	in := b.apart[s]
	if in.Least > in.Most {
		return nil
	}
	return of[b.t.Index(s, in.Least):][:in.Most-in.Least+1]
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

// split returns how many of n counts, from one on, are below those that are told apart in a state at the next
// step, and where these end.
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
	out, actions := b.distinguished(b.to, s), record.room(&b.actions, s, in)
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
	out := b.distinguished(b.to, s)
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
	amounts := b.amountsOf(c)
	next, prob := b.k.Row(c)
	for j, n := range next {
		if p := prob[j]; p > 0 {
			b.gather(q, int(n), p, count+amounts[j])
		}
	}
}

// amountsOf returns by how much the entries of the row of a choice change the count.
func (b *tallySweep) amountsOf(c int) []int32 {
	first, end := b.k.Entries(c)
	return b.amounts[first:end]
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
	amounts := b.amountsOf(c)
	next, prob := b.k.Row(c)
	for j, n := range next {
		at, slope := b.t.Below(int(n)), b.low
		if above {
			at, slope = b.t.Above(int(n)), b.high
		}
		if prob[j] > 0 {
			sum += float64(prob[j] * (b.from[at] + float64(slope*float64(amounts[j]))))
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
		amounts, returns := b.amountsOf(c), b.k.ReturnsOf(c, d)
		next, prob := b.k.Row(c)
		for e := len(next) - 1; e >= 0; e-- {
			if prob[e] > 0 {
				b.expect(q, s, count, int(next[e]), amounts[e], prob[e])
			}
		}
		reward, allowed := 0.0, b.t.Allowed(b.h, c)
		for j := len(dir) - 1; j >= 0; j-- {
			if i := b.t.Columns[j]; i < d {
				reward += dir[j] * returns[i]
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
