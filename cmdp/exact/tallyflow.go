package exact

import (
	"context"
	"encoding/binary"
	"math/bits"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/internal/parallel"

	"gonum.org/v1/gonum/floats"
)

// A tallyPolicy is a policy of a cmdp.Tally that never draws. Each of the bits of an action has a plane of its own:
// a word holds it for 64 pairs of a state.
type tallyPolicy struct {
	t            *cmdp.Tally
	first        []int // of each state of the base, its first word
	planes, size int   // bits of an action, and words of a plane
	words        []uint64
}

func newTallyPolicy(m *cmdp.Model) *tallyPolicy {
	p := &tallyPolicy{t: m.Tally(), planes: bits.Len(uint(m.Shape().MaxActions() - 1))}
	for s := range p.t.Base.States() {
		p.first = append(p.first, p.size)
		p.size += (p.t.Above(s)-p.t.Below(s))/64 + 1
	}
	p.words = make([]uint64, p.size*p.planes*m.Horizon())
	return p
}

// plane returns the words of a state from one on.
func (p *tallyPolicy) plane(h, s, plane, from int) []uint64 {
	return p.words[(h*p.planes+plane)*p.size+p.first[s]+from:]
}

// number returns the number of the pair of a count among those of its state.
func (p *tallyPolicy) number(s int, count int32) int { return p.t.Index(s, count) - p.t.Below(s) }

// room returns room for the actions of counts, all 0, in a buffer that begins with those of the same word.
func (p *tallyPolicy) room(buffer *[]uint8, s int, in cmdp.Levels) []uint8 {
	*buffer = (*buffer)[:0]
	if in.Least > in.Most {
		return nil
	}
	from, n := p.number(s, in.Least)%64, int(in.Most-in.Least)+1
	*buffer = slices.Grow((*buffer)[:0], from+n+64)[:(from+n+63)/64*64]
	clear(*buffer)
	return (*buffer)[from:][:n]
}

// set sets the actions of counts to those in a buffer of room, and others in the same words to 0.
func (p *tallyPolicy) set(h, s int, in cmdp.Levels, buffer []uint8) {
	if len(buffer) == 0 {
		return
	}
	for plane := range p.planes {
		words := p.plane(h, s, plane, p.number(s, in.Least)/64)
		for i := 0; i < len(buffer); i += 64 {
			w := uint64(0)
			for j := 0; j < 64; j += 8 {
				// The product moves the lowest bits of eight bytes into the highest byte.
				x := binary.LittleEndian.Uint64(buffer[i+j:]) >> plane & 0x0101010101010101
				w |= x * 0x0102040810204080 >> 56 << j
			}
			words[i/64] = w
		}
	}
}

// put sets the action of a pair, by its number among those of its state.
func (p *tallyPolicy) put(h, s, number, action int) {
	for plane := range p.planes {
		w := &p.plane(h, s, plane, number/64)[0]
		*w = *w&^(1<<(number%64)) | uint64(action>>plane&1)<<(number%64)
	}
}

// get returns the action of a pair, by its number among those of its state.
func (p *tallyPolicy) get(h, s, number int) int {
	action := 0
	for plane := range p.planes {
		action |= int(p.plane(h, s, plane, number/64)[0]>>(number%64)&1) << plane
	}
	return action
}

// runs calls f with the largest ranges of counts that have the same action.
func (p *tallyPolicy) runs(h, s int, in cmdp.Levels, f func(levels cmdp.Levels, action int)) {
	end := p.number(s, in.Most) + 1
	for in.Least <= in.Most {
		from := p.number(s, in.Least)
		to := end
		for plane := range p.planes {
			to = same(p.plane(h, s, plane, 0), from, to)
		}
		last := in.Least + int32(to-from) - 1
		f(cmdp.Levels{Least: in.Least, Most: last}, p.get(h, s, from))
		in.Least = last + 1
	}
}

// same returns the first number above from whose bit differs, or to if there is none before.
func same(words []uint64, from, to int) int {
	flip := -(words[from/64] >> (from % 64) & 1)
	for at := from; at < to; at = at/64*64 + 64 {
		if w := (words[at/64] ^ flip) >> (at % 64); w != 0 {
			return min(to, at+bits.TrailingZeros64(w))
		}
	}
	return to
}

// action returns the action of a pair.
func (p *tallyPolicy) action(h, pair int) int {
	s, _ := p.t.State(pair)
	return p.get(h, s, pair-p.t.Below(s))
}

// A tallyFlow computes the returns of a policy from the first step to the last, as flow does for stored rows. Each
// pair adds up what comes to it.
type tallyFlow struct {
	*tallied
	into [][]inflow // of each kernel of the base, by successor
	from [][]int32  // of each kernel, the first of each state; one more
	sums [][]float64
}

// An inflow is a transition of the base, or rest.
type inflow struct {
	state, choice int32 // of rest, choice is −1
	entry         int32 // of the row of the choice, −1 of rest
	first         bool  // it is the first of its choice
}

func newTallyFlow(f *tallied) *tallyFlow {
	x, base := &tallyFlow{tallied: f}, f.t.Base
	for range f.parts.Parts {
		x.sums = append(x.sums, make([]float64, f.dim()))
	}
	for h := range kernels(base) {
		k := base.Kernel(h)
		into := make([][]inflow, base.States())
		for s := range int32(base.States()) {
			if k.First[s] == k.First[s+1] {
				into[s] = append(into[s], inflow{s, -1, -1, false})
			}
			for c := k.First[s]; c < k.First[s+1]; c++ {
				first := true
				next, prob := k.Row(int(c))
				for e, n := range next {
					if prob[e] > 0 {
						into[n] = append(into[n], inflow{s, c, int32(e), first})
						first = false
					}
				}
			}
		}
		from := []int32{0}
		for _, in := range into {
			from = append(from, from[len(from)-1]+int32(len(in)))
		}
		x.into, x.from = append(x.into, slices.Concat(into...)), append(x.from, from)
	}
	return x
}

// returns computes the returns of a policy.
func (f *tallyFlow) returns(ctx context.Context, p *tallyPolicy) ([]float64, error) {
	clear(f.v)
	for _, st := range f.m.StartStates() {
		f.v[st.State] = st.Probability
	}
	for _, sum := range f.sums {
		clear(sum)
	}
	steps := f.m.Horizon()
	r := parallel.Relay{Workers: f.workers, Stages: steps, Parts: f.parts.Parts, Do: func(h, part int) {
		b := &tallyPull{tallyStep: f.step(h), policy: p, mass: f.v, to: f.vNext, sum: make([]float64, f.dim())}
		if h%2 == 1 {
			b.mass, b.to = b.to, b.mass
		}
		at := min(h, len(f.into)-1)
		lo, hi := f.parts.Part(part)
		for s := lo; s < hi; s++ {
			if b.then[s].Reached() {
				b.state(s, f.into[at][f.from[at][s]:f.from[at][s+1]])
			}
		}
		floats.AddScaled(f.sums[part], 1, b.sum)
	}}
	if err := r.Run(ctx); err != nil {
		return nil, err
	}
	if steps%2 == 1 {
		f.v, f.vNext = f.vNext, f.v
	}
	total := f.atEnd()
	for _, sum := range f.sums {
		floats.AddScaled(total, 1, sum)
	}
	return total, nil
}

// atEnd returns the final returns of the occupancies at the end.
func (f *tallyFlow) atEnd() []float64 {
	total, d, end := make([]float64, f.dim()), f.t.Base.Dim(), f.step(f.m.Horizon())
	for s, in := range end.apart {
		for count := in.Least - 1; in.Reached() && count <= in.Most+1; count++ {
			for j, i := range f.t.Columns {
				if x := f.v[f.t.At(end.h, s, count)]; i >= d && x != 0 {
					total[j] += x * end.final(f.t.Final[i-d], s, count)
				}
			}
		}
	}
	return total
}

// A tallyPull finds the occupancies of a part of the states after a step.
type tallyPull struct {
	tallyStep
	policy   *tallyPolicy
	mass, to []float64
	sum      []float64 // returns of the part
}

// state adds up what comes to the pairs of a state.
func (b *tallyPull) state(s int, into []inflow) {
	in := b.then[s]
	var out []float64
	if in.Least <= in.Most {
		out = b.to[b.t.Index(s, in.Least):][:in.Most-in.Least+1]
	}
	clear(out)
	b.to[b.t.Below(s)], b.to[b.t.Above(s)] = 0, 0
	for _, x := range into {
		from := int(x.state)
		low, high := b.t.Below(from), b.t.Above(from)
		switch {
		case !b.apart[from].Reached():
		case x.choice < 0:
			b.add(out, s, x, b.distinguished(b.mass, from), b.apart[from].Least)
			b.to[b.t.Below(s)] += b.mass[low]
			b.to[b.t.Above(s)] += b.mass[high]
		default:
			does := int(x.choice - b.k.First[from])
			b.policy.runs(b.h, from, b.apart[from], func(levels cmdp.Levels, action int) {
				if action == does {
					b.add(out, s, x, b.mass[b.t.Index(from, levels.Least):][:levels.Most-levels.Least+1], levels.Least)
				}
			})
			if b.policy.get(b.h, from, 0) == does {
				b.settled(s, x, b.mass[low], false)
			}
			if b.policy.get(b.h, from, high-low) == does {
				b.settled(s, x, b.mass[high], true)
			}
		}
	}
}

// add adds what comes to a state, in which out are the counts that are told apart, from counts from one on.
func (b *tallyPull) add(out []float64, s int, in inflow, x []float64, count int32) {
	p := 1.0
	if in.entry >= 0 {
		probability, amount := b.entry(in)
		p, count = probability, count+amount
	}
	if in.first {
		b.addReturns(floats.Sum(x), in.choice)
	}
	below, within := b.split(s, count, len(x))
	if below < within {
		floats.AddScaled(out[int(count-b.then[s].Least)+below:][:within-below], p, x[below:within])
	}
	b.line(b.t.Below(s), x[:below], p, false, count)
	b.line(b.t.Above(s), x[within:], p, true, count+int32(within))
}

// entry returns the probability of a transition of the base, and by how much it changes the count.
func (b *tallyPull) entry(in inflow) (probability float64, amount int32) {
	_, prob := b.k.Row(int(in.choice))
	first, _ := b.k.Entries(int(in.choice))
	return prob[in.entry], b.amounts[first+int(in.entry)]
}

// addReturns adds the returns of an occupancy of a choice.
func (b *tallyPull) addReturns(mass float64, c int32) {
	d := b.t.Base.Dim()
	for j, i := range b.t.Columns {
		if i < d {
			b.sum[j] += mass * b.k.ReturnsOf(int(c), d)[i]
		}
	}
}

// line adds occupancies to a pair that does not tell counts apart, and pays what they change final returns by.
func (b *tallyPull) line(pair int, x []float64, p float64, above bool, count int32) {
	if len(x) == 0 {
		return
	}
	mass, moment := 0.0, 0.0
	for i, y := range x {
		mass, moment = mass+y, moment+y*float64(count+int32(i))
	}
	b.to[pair] += p * mass
	b.pay(p*moment, above)
}

// settled adds what comes to a state from a pair that does not tell counts apart.
func (b *tallyPull) settled(s int, in inflow, x float64, above bool) {
	if in.first {
		b.addReturns(x, in.choice)
	}
	pair := b.t.Below(s)
	if above {
		pair = b.t.Above(s)
	}
	p, amount := b.entry(in)
	x *= p
	b.to[pair] += x
	b.pay(x*float64(amount), above)
}

// pay adds the final returns of counts that are not told apart.
func (b *tallyPull) pay(counts float64, above bool) {
	for j, i := range b.t.Columns {
		i -= b.t.Base.Dim()
		if i >= 0 && above {
			b.sum[j] += counts * b.t.Final[i].High.Slope
		} else if i >= 0 {
			b.sum[j] += counts * b.t.Final[i].Low.Slope
		}
	}
}
