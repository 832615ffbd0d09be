package exact

import (
	"context"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/internal/threshold"
)

// An occupancy is what a policy visits: the expected numbers of visits of each state, discounted or in total.
// Where it goes on for ever without a discount, a visit is the arrival.
type occupancy struct {
	of      []float64 // of each state of the quotient, and 0 at rest
	forever []int32   // the states of the model in which the policy goes on for ever, if it comes there
}

// A visitor computes occupancies of policies of a model, component by component, first ones first. It remembers the
// last occupancy in components that are not eliminated, which is a first guess of the next.
type visitor struct {
	q       *quotient // in which nothing is merged; its choices are not needed
	k       *cmdp.Kernel
	gamma   float64
	most    int // of choices in a state
	tell    teller
	chain   *chain
	guess   map[int32][]float64 // visits of the last policy in components that are not eliminated, by their first states
	wide    map[int32]bool      // components, by their first states, that are too wide to be eliminated
	slow    map[int32]bool      // components in which sweeps are slow
	changed *change             // room for a change
}

// newVisitor returns a visitor of a model with discount gamma, 1 for totals, whose components a quotient without merged
// states numbers. It works in the memory of chain.
func newVisitor(q *quotient, gamma float64, chain *chain) *visitor {
	p := &visitor{q: q, k: q.k, gamma: gamma, chain: chain}
	p.guess, p.wide, p.slow = make(map[int32][]float64), make(map[int32]bool), make(map[int32]bool)
	for s := range len(p.k.First) - 1 {
		p.most = max(p.most, int(p.k.First[s+1]-p.k.First[s]))
	}
	return p
}

// choose appends the choices that a policy takes in state n of the quotient.
func (p *visitor) choose(dst []taken, st *stepPolicy, n int32) []taken {
	return st.choose(dst, p.k, p.q.origin[n])
}

// build makes the chain of a policy in the states [lo, hi) of the base quotient. It returns the states
// where the policy goes on for ever, which are left out of the chain, and whether there is a way out of
// [lo, hi).
func (p *visitor) build(st *stepPolicy, lo, hi int32) (forever []int32, leaves bool) {
	y := p.chain
	y.reset()
	wide := p.wide[lo]
	y.spilled = wide
	leaks, room := false, make([]taken, 0, p.most)
	for n := lo; n < hi; n++ {
		leak := 0.0
		for _, t := range p.choose(room[:0], st, n) {
			o, e := p.k.Offset[t.c], p.k.Offset[t.c+1]
			prob := p.k.Prob[o:e]
			for j, next := range p.k.Next[o:e] {
				to, x := p.q.state[next], p.gamma*t.x*prob[j]
				switch {
				case to == n || x == 0:
				case to >= lo && to < hi:
					y.next, y.prob = append(y.next, to-lo), append(y.prob, x)
				default:
					leak += x
				}
			}
		}
		leaves = leaves || leak > 0
		leak += 1 - p.gamma
		y.end(leak)
		leaks = leaks || leak > 0
	}
	if p.gamma == 1 && (!leaks || !y.direct()) {
		for _, set := range y.closedSets() {
			for _, n := range set {
				y.leak[n]++
				y.diag[n]++
				forever = append(forever, lo+n)
			}
			y.spilled = wide
		}
	}
	if y.direct(); y.spilled {
		p.wide[lo] = true
	}
	return forever, leaves
}

// visiting is what flow does, for those who wait.
const visiting = "finding visits of states"

// flow replaces arrivals at the states of the quotient by the numbers of visits that they bring about, to rounding or, if rough is true,
// to ten digits. Arrivals may be negative: visits that are no more. If again is true, visits of the last policy are a
// first guess, and then those of this one.
func (p *visitor) flow(ctx context.Context, st *stepPolicy, mass []float64, again, rough bool) (*occupancy, error) {
	q := p.q
	out := &occupancy{of: mass}
	for i := len(q.component) - 2; i >= 0; i-- {
		lo, hi := q.component[i], q.component[i+1]
		if i%1024 == 0 {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			p.tell.at(visiting, 1-float64(lo)/float64(q.over), int(q.over))
		}
		if zero(mass[lo:hi]) {
			continue
		}
		if hi > lo+1 {
			if err := p.visitMany(ctx, st, lo, hi, again, rough, out); err != nil {
				return nil, err
			}
			continue
		}
		p.visitOne(st, lo, out)
	}
	mass[q.over] = 0
	return out, nil
}

// visitOne is flow for a component of one state.
func (p *visitor) visitOne(st *stepPolicy, n int32, out *occupancy) {
	var room [4]taken
	choices, leaves := p.choose(room[:0], st, n), 1-p.gamma
	for _, t := range choices {
		for e := p.k.Offset[t.c]; e < p.k.Offset[t.c+1]; e++ {
			if p.q.state[p.k.Next[e]] != n {
				leaves += p.gamma * t.x * p.k.Prob[e]
			}
		}
	}
	if leaves == 0 {
		out.forever = append(out.forever, p.q.origin[n])
		return
	}
	out.of[n] /= leaves
	p.send(choices, out.of[n], n, n+1, out.of)
}

// send adds what x visits bring to states outside of [lo, hi).
func (p *visitor) send(choices []taken, x float64, lo, hi int32, mass []float64) {
	for _, t := range choices {
		for e := p.k.Offset[t.c]; e < p.k.Offset[t.c+1]; e++ {
			if to := p.q.state[p.k.Next[e]]; to < lo || to >= hi {
				mass[to] += float64(p.gamma * x * t.x * p.k.Prob[e])
			}
		}
	}
}

// sendAll is send for the visits of all states of a component.
func (p *visitor) sendAll(st *stepPolicy, lo, hi int32, out *occupancy) {
	room := make([]taken, 0, p.most)
	for n := lo; n < hi; n++ {
		if y := out.of[n]; y != 0 {
			p.send(p.choose(room[:0], st, n), y, lo, hi, out.of)
		}
	}
}

// visitMany is flow for a component of several states.
func (p *visitor) visitMany(ctx context.Context, st *stepPolicy, lo, hi int32, again, rough bool, out *occupancy) error {
	mass := out.of[lo:hi]
	rest := 0.0
	if rough {
		for _, y := range mass {
			rest += math.Abs(y)
		}
		// Returns are to meet a target, whatever the gap is, and what is missing at many states may add up.
		rest *= 1e-10
	}
	guess := func() []float64 {
		x := p.guess[lo]
		if x == nil || !again {
			x = make([]float64, hi-lo)
		}
		if again {
			p.guess[lo] = x
		}
		return x
	}
	if p.gamma == 1 && int(hi-lo) > threshold.Swept && !p.slow[lo] {
		x := guess()
		if p.pour(ctx, st, lo, hi, mass, x, rest) {
			copy(mass, x)
			p.sendAll(st, lo, hi, out)
			return nil
		} else if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	forever, leaves := p.build(st, lo, hi)
	x := mass
	if !p.chain.direct() {
		x = guess()
	}
	brisk := p.gamma < 1 && !p.slow[lo] && !p.chain.direct() && slices.Min(mass) >= 0
	if brisk {
		brisk = p.chain.carry(ctx, x, mass, rest)
		p.slow[lo] = !brisk
	}
	if !brisk {
		if err := p.chain.solve(ctx, x, mass, true, rest/float64(hi-lo)); err != nil {
			return err
		}
	}
	copy(mass, x)
	if leaves {
		p.sendAll(st, lo, hi, out)
	}
	for _, n := range forever {
		out.forever = append(out.forever, p.q.origin[n])
	}
	return nil
}
