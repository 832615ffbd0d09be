package markov

import (
	"context"
	"maps"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/progress"
	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/floats"
)

// An Occupancy is what a policy visits: the expected numbers of visits of each state, discounted or in total.
// Where it goes on for ever without a discount, a visit is the arrival.
type Occupancy struct {
	Counts    []float64 // of each state of the quotient, and 0 at rest
	Recurrent []int32   // the states of the model in which the policy goes on for ever, if it comes there
}

// Visits computes occupancies of policies of a kernel, component by component, first ones first. It remembers the
// last occupancy in components that are not eliminated, which is a first guess of the next.
type Visits struct {
	Progress progress.Func
	quotient *Quotient // in which nothing is merged; its choices are not needed
	kernel   *cmdp.Kernel
	gamma    float64
	workers  int    // that share large components
	most     int    // of choices in a state
	chain    *Chain // shared with others
	// visits of the last policy in components that are not eliminated, by their first states
	initialGuess map[int32][]float64
	wide         map[int32]bool // components, by their first states, that are too wide to be eliminated
	slow         map[int32]bool // components in which sweeps are slow
	// Near says of components, by their first states, how many of their states are looked at, the first ones, where
	// so little leads to the others that it would not be sent on there.
	Near map[int32]int32
	// Beyond tells that more did in the last Solve.
	Beyond bool
}

// NewVisits returns the visits of policies with discount gamma, 1 for totals. A quotient without merged states,
// whose choices are not needed, numbers the states of the components. It works in the memory of chain, and workers
// goroutines share large components.
func NewVisits(q *Quotient, gamma float64, workers int, chain *Chain) *Visits {
	p := &Visits{quotient: q, kernel: q.Kernel, gamma: gamma, workers: workers, chain: chain}
	p.initialGuess, p.wide, p.slow = make(map[int32][]float64), make(map[int32]bool), make(map[int32]bool)
	for s := range len(p.kernel.First) - 1 {
		p.most = max(p.most, int(p.kernel.First[s+1]-p.kernel.First[s]))
	}
	return p
}

// Twin returns visits that know what p knows, but work in the memory of chain, so that both may be used at the same
// time.
func (p *Visits) Twin(chain *Chain) *Visits {
	out := *p
	out.chain, out.wide, out.slow = chain, maps.Clone(p.wide), maps.Clone(p.slow)
	out.initialGuess = make(map[int32][]float64)
	for lo, x := range p.initialGuess {
		out.initialGuess[lo] = slices.Clone(x)
	}
	return &out
}

// SetWorkers sets how many goroutines share large components.
func (p *Visits) SetWorkers(workers int) { p.workers = workers }

// Slow reports whether sweeps were slow in some component: what happens in a state is felt in others for long.
func (p *Visits) Slow() bool {
	for _, slow := range p.slow {
		if slow {
			return true
		}
	}
	return false
}

// Rarely is a share of visits that is no matter where these are known to some digits.
const Rarely = 1e-12

// choose appends the choices that a policy takes in state n of the quotient.
func (p *Visits) choose(dst []WeightedChoice, st *Rule, n int32) []WeightedChoice {
	return st.Choose(dst, p.kernel, p.quotient.Origin[n])
}

// Visited returns of the components that were swept, by their first states, how many of their states the last policy
// visited, the first ones, but for a share of its visits.
func (p *Visits) Visited(share float64) map[int32]int32 {
	first := make(map[int32]int32, len(p.initialGuess))
	for lo, x := range p.initialGuess {
		n, rest := len(x), share*floats.Sum(x)
		for n > 0 && rest >= x[n-1] {
			n--
			rest -= x[n]
		}
		first[lo] = int32(n)
	}
	return first
}

// inducedChain makes the chain of a policy in the states [lo, hi) of the base quotient. It returns the states
// where the policy goes on for ever, which are left out of the chain, and whether there is a way out of
// [lo, hi).
func (p *Visits) inducedChain(ctx context.Context, st *Rule, lo, hi int32) (forever []int32, leaves bool) {
	y := p.chain
	y.Reset()
	y.progress = p.Progress
	wide := p.wide[lo]
	y.iterative = wide
	leaks, room := false, make([]WeightedChoice, 0, p.most)
	for n := lo; n < hi; n++ {
		leak := 0.0
		for _, t := range p.choose(room[:0], st, n) {
			row, prob := p.kernel.Row(t.Choice)
			for j, next := range row {
				to, x := p.quotient.Number[next], p.gamma*t.Prob*prob[j]
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
		y.EndRow(leak)
		leaks = leaks || leak > 0
	}
	if p.gamma == 1 && (!leaks || !y.eliminated(ctx)) {
		for _, n := range y.OpenClosedSets() {
			forever = append(forever, lo+n)
			y.iterative = wide
		}
	}
	y.eliminated(ctx)
	if y.iterative {
		p.wide[lo] = true
	}
	return forever, leaves
}

// findingVisits is what Progress is told.
const findingVisits = "finding visits of states"

// Solve replaces arrivals at the states of the quotient by the numbers of visits that they bring about, to
// rounding, or so that what is missing in a component is a share of its arrivals. The occupancy holds mass itself.
// Arrivals may be negative: visits that are no more. The visits of the last policy are a first guess.
func (p *Visits) Solve(ctx context.Context, st *Rule, mass []float64, missing float64) (*Occupancy, error) {
	q := p.quotient
	p.Beyond = false
	out := &Occupancy{Counts: mass}
	for i := len(q.Component) - 2; i >= 0; i-- {
		lo, hi := q.Component[i], q.Component[i+1]
		if i%1024 == 0 {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			p.Progress.At(findingVisits, 1-float64(lo)/float64(q.Rest), int(q.Rest))
		}
		if allZero(mass[lo:hi]) {
			continue
		}
		if hi > lo+1 {
			if err := p.solveComponent(ctx, st, lo, hi, missing, out); err != nil {
				return nil, err
			}
			continue
		}
		p.solveState(st, lo, out)
	}
	mass[q.Rest] = 0
	return out, nil
}

// solveState is Solve for a component of one state.
func (p *Visits) solveState(st *Rule, n int32, out *Occupancy) {
	var room [4]WeightedChoice
	choices := p.choose(room[:0], st, n)
	leaves := p.leavingShare(choices, n)
	if leaves == 0 {
		out.Recurrent = append(out.Recurrent, p.quotient.Origin[n])
		return
	}
	out.Counts[n] /= leaves
	p.propagateOut(choices, out.Counts[n], n, n+1, out.Counts)
}

// propagateOut adds what x visits bring to states outside of [lo, hi).
func (p *Visits) propagateOut(choices []WeightedChoice, x float64, lo, hi int32, mass []float64) {
	for _, t := range choices {
		next, prob := p.kernel.Row(t.Choice)
		for j, to := range next {
			if to := p.quotient.Number[to]; to < lo || to >= hi {
				mass[to] += float64(p.gamma * x * t.Prob * prob[j])
			}
		}
	}
}

// propagateAllOut is propagateOut for the visits of all states of a component.
func (p *Visits) propagateAllOut(st *Rule, lo, hi int32, out *Occupancy) {
	room := make([]WeightedChoice, 0, p.most)
	for n := lo; n < hi; n++ {
		if y := out.Counts[n]; y != 0 {
			p.propagateOut(p.choose(room[:0], st, n), y, lo, hi, out.Counts)
		}
	}
}

// solveComponent is Solve for a component of several states.
func (p *Visits) solveComponent(ctx context.Context, st *Rule, lo, hi int32, missing float64,
	out *Occupancy) error {
	mass := out.Counts[lo:hi]
	// Returns are to meet a target, whatever the gap is, and what is missing at many states may add up.
	rest := missing * floats.Norm(mass, 1)
	guess := func() []float64 {
		if p.initialGuess[lo] == nil {
			p.initialGuess[lo] = make([]float64, hi-lo)
		}
		return p.initialGuess[lo]
	}
	if p.gamma == 1 && int(hi-lo) > threshold.Swept && !p.slow[lo] {
		x := guess()
		if n, ok := p.Near[lo]; ok && rest > 0 && allZero(mass[n:]) {
			near, least := x[:n], rest/float64(hi-lo)
			if p.propagate(ctx, st, lo, lo+n, mass[:n], near, rest) && p.leading(st, near, lo, hi) <= least {
				clear(x[n:])
				copy(mass, near)
				p.propagateAllOut(st, lo, lo+n, out)
				clear(mass[n:])
				return nil
			}
			p.Beyond = true
		}
		if p.propagate(ctx, st, lo, hi, mass, x, rest) {
			copy(mass, x)
			p.propagateAllOut(st, lo, hi, out)
			return nil
		} else if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	forever, leaves := p.inducedChain(ctx, st, lo, hi)
	x := mass
	if !p.chain.eliminated(ctx) {
		x = guess()
	}
	brisk := p.gamma < 1 && !p.slow[lo] && !p.chain.eliminated(ctx) && slices.Min(mass) >= 0
	if brisk {
		brisk = p.chain.rescaledSweeps(ctx, x, mass, rest)
		p.slow[lo] = !brisk
	}
	if !brisk {
		if err := p.chain.Solve(ctx, x, mass, true, rest/float64(hi-lo)); err != nil {
			return err
		}
		surely := p.gamma < 1 || leaves && len(forever) == 0
		if surely && !p.chain.eliminated(ctx) && slices.Min(mass) >= 0 {
			p.chain.rescaleToLeak(x, mass)
		}
	}
	copy(mass, x)
	if leaves {
		p.propagateAllOut(st, lo, hi, out)
	}
	for _, n := range forever {
		out.Recurrent = append(out.Recurrent, p.quotient.Origin[n])
	}
	return nil
}

// leading returns how much visits x of the first states of the component [lo, hi) bring to its others.
func (p *Visits) leading(st *Rule, x []float64, lo, hi int32) (sum float64) {
	room, end := make([]WeightedChoice, 0, p.most), lo+int32(len(x))
	for s, y := range x {
		for _, t := range p.choose(room[:0], st, lo+int32(s)) {
			next, prob := p.kernel.Row(t.Choice)
			for j, n := range next {
				if n := p.quotient.Number[n]; n >= end && n < hi {
					sum += math.Abs(y) * t.Prob * prob[j]
				}
			}
		}
	}
	return sum
}

// residual turns what arrives in states into what is still missing beside the visits x of all but the last, which
// stands for the states outside. It tells which states lead out, as far as one pass over the rows shows, and how far
// a successor is behind its state at most, and before it.
func residual(missing, x []float64, row func(s int32) (next []int32, share []float64, own float64)) (leads []bool,
	reach, jump int32) {
	states := int32(len(missing)) - 1
	leads = make([]bool, states)
	for s := range states {
		next, share, own := row(s)
		y := x[s] * own
		missing[s] -= y
		for j, n := range next {
			missing[n] += float64(y * share[j])
			if n == states || leads[n] {
				leads[s] = true
			} else {
				reach = max(reach, n-s)
			}
			jump = max(jump, s-n)
		}
	}
	return leads, reach, jump
}

// loadRows makes a cache hold the rows of a policy in the states [from, to) of the component [lo, hi), whose
// states are numbered from 0 there, what is outside being the number after the last. A row's own number is how
// often the state is left.
func (p *Visits) loadRows(w *rowCache, st *Rule, lo, hi, from, to int32) {
	w.start(from)
	room, state := make([]WeightedChoice, 0, p.most), p.quotient.Number
	for s := lo + from; s < lo+to; s++ {
		next, share, out := w.next, w.share, 0.0
		for _, t := range p.choose(room[:0], st, s) {
			row, prob := p.kernel.Row(t.Choice)
			for j, n := range row {
				n, x := state[n], t.Prob*prob[j]
				if n == s || x == 0 {
					continue
				}
				if n < lo || n >= hi {
					n = hi
				}
				out += x
				next, share = append(next, n-lo), append(share, x)
			}
		}
		w.next, w.share = next, share
		w.end(out, out)
		w.first = append(w.first, int32(len(w.own)))
	}
}

// rarest is the share of what arrives below which nothing is sent on. It is far below 1e-100, as returns may be as
// large as 1e100, and far above 1e-308, below which numbers have fewer digits and take longer.
const rarest = 1e-150

// propagate corrects a guess x of the visits of the states [lo, hi) of the quotient, without a discount, until
// what is still on its way is at most rest in all, or rounding. It reports false where that is slow, or where
// the policy may not leave the component from everywhere.
func (p *Visits) propagate(ctx context.Context, st *Rule, lo, hi int32, arrivals, x []float64, rest float64) bool {
	states, w := hi-lo, &p.chain.cache
	w.start(0)
	row := func(s int32) (next []int32, share []float64, own float64) {
		if !w.holds(s, s+1) {
			if int(states) <= threshold.Held {
				p.loadRows(w, st, lo, hi, 0, states)
			} else {
				p.loadRows(w, st, lo, hi, s, min(states, s+int32(threshold.Chunk)))
			}
		}
		next, share = w.row(s - w.at)
		return next, share, w.own[s-w.at]
	}
	// What is still on its way, or too much of it. What has left stands last.
	missing := grown(p.chain.scratch[0], int(states)+1)
	p.chain.scratch[0] = missing
	missing[copy(missing, arrivals)] = 0
	leads, reach, jump := residual(missing, x, row)
	if !reachesExit(leads, func(s int32, visit func(n int32) bool) {
		next, _, _ := row(s)
		for _, n := range next {
			if visit(n) {
				return
			}
		}
	}) {
		return false
	}
	y := &visitSweep{w: w, x: x, missing: missing, least: max(rest/float64(states), rarest*floats.Norm(arrivals, 1))}
	step := blockLength(states, reach)
	if step == states && windowed(states, reach) {
		const like = 1e-3 // the last policy, whose visits are a better guess than none then
		if floats.Norm(missing[:states], 1) > like*floats.Norm(arrivals, 1) {
			clear(x)
			copy(missing, arrivals)
		}
		if !w.holds(0, states) {
			p.loadRows(w, st, lo, hi, 0, states)
		}
		return y.sweepWindows(ctx, reach, rest)
	}
	held := rowsHeld(states, step)
	from, front := states-1, states-step
	for left := mostSweeps * int(states); left > 0 && ctx.Err() == nil; left -= int(from-front) + 1 {
		back := min(states-1, from+reach) // the last state that something may come back to
		if w.holds(front, back+1) && left > int(back-front)+1 {
			if again := y.sweepTwice(p.workers, front, from, back, max(reach, jump)); again >= front {
				from = again
				left -= int(from-front) + 1
			}
		} else {
			for b := from + 1; b > front; b -= held {
				a := max(front, b-held)
				if !w.holds(a, b) {
					p.loadRows(w, st, lo, hi, a, min(states, max(b, min(a+held, b+step/2))))
				}
				y.sweep(a, b, states+1)
			}
		}
		again := min(states-1, from+reach) // the last state that something came back to
		for again >= front && y.nothing(again) {
			again--
		}
		switch {
		case again >= front:
			from = again
		case front > 0:
			p.Progress.At(findingVisits, float64(states-front)/float64(states), int(states))
			from, front = front-1, max(0, front-step)
		default:
			return true
		}
	}
	return false
}

// A visitSweep corrects visits by sweeps in place, from the last state to the first.
type visitSweep struct {
	w          *rowCache
	x, missing []float64 // visits, and what is still on its way
	least      float64   // of what counts
}

// nothing reports whether nothing that counts is on its way to a state.
func (y *visitSweep) nothing(s int32) bool { return nothingCounts(y.missing[s], y.x[s], y.least) }

// nothingCounts reports whether what is missing beside x visits is less than the least that counts, or is rounding.
func nothingCounts(missing, x, least float64) bool {
	missing = math.Abs(missing)
	return missing <= least || missing <= unit/4*math.Abs(x)
}

// sweep sends on what is on its way to the states [from, to), which are in the cache, to those before end. It returns
// the last state that there was something for, or −1.
func (y *visitSweep) sweep(from, to, end int32) (last int32) {
	w, x, missing, least := y.w, y.x, y.missing[:end], y.least
	begin, next, share, own := w.begin[from-w.at:], w.next, w.share, w.own[from-w.at:]
	last = -1
	for s := to - 1; s >= from; s-- {
		if come := missing[s]; !nothingCounts(come, x[s], least) {
			last = max(last, s)
			x[s], missing[s] = x[s]+come/own[s-from], 0
			next := next[begin[s-from]:begin[s-from+1]]
			share := share[begin[s-from]:][:len(next)]
			for j, n := range next {
				if int(n) < len(missing) {
					missing[n] += float64(come * share[j])
				}
			}
		}
	}
	return last
}

// sweepTwice sweeps the states from the given one to front, and then those from back on, to which something may have
// come back. It returns the last state that there was something for, or −1. What has left counts once, since nobody
// needs it and the sweeps would write it at the same time.
func (y *visitSweep) sweepTwice(workers int, front, from, back, span int32) (again int32) {
	again = -1
	states := int32(len(y.x))
	pipeline(workers, from-front+1, span, func(second bool, a, b int32) {
		begin, end := from+1-b, from+1-a
		if !second {
			y.sweep(begin, end, states+1)
			return
		}
		if a == 0 {
			end = back + 1
		}
		again = max(again, y.sweep(begin, end, states))
	})
	return again
}

// sweepWindows sweeps all states by windows, the last ones first, see windowReaches, until what is still on its way is
// at most rest in all, or nothing that counts. It reports false where that is slow.
func (y *visitSweep) sweepWindows(ctx context.Context, reach int32, rest float64) bool {
	states := int32(len(y.x))
	for pass := range 2 * mostSweeps / windowSweeps {
		slideWindow(ctx, states, reach, pass, windowSweeps, func(from, to int32) {
			y.sweep(states-to, states-from, states+1)
		})
		if ctx.Err() != nil {
			return false
		}
		left, nothing := 0.0, true
		for s := range states {
			left += math.Abs(y.missing[s])
			nothing = nothing && y.nothing(s)
		}
		if nothing || left <= rest {
			return true
		}
	}
	return false
}

// Within replaces arrivals at the states of component i by the visits that they bring about in it, row by row,
// without the visits of later components: to rounding, or so that what is still on its way is a share of a row's
// arrivals. It returns the states in which the policy goes on for ever there, whose visits are their arrivals.
func (p *Visits) Within(ctx context.Context, st *Rule, i int, rows [][]float64, missing float64) (forever []int32,
	err error) {
	lo, hi := p.quotient.Component[i], p.quotient.Component[i+1]
	if hi == lo+1 {
		var room [4]WeightedChoice
		leaves := p.leavingShare(p.choose(room[:0], st, lo), lo)
		if leaves == 0 {
			return []int32{lo}, nil
		}
		for _, row := range rows {
			row[0] /= leaves
		}
		return nil, nil
	}
	rows, err = p.propagateAll(ctx, st, lo, hi, rows, missing)
	if len(rows) == 0 || err != nil {
		return nil, err
	}
	forever, _ = p.inducedChain(ctx, st, lo, hi)
	for _, row := range rows {
		x := row
		if !p.chain.eliminated(ctx) {
			x = make([]float64, len(row))
		}
		if err := p.chain.Solve(ctx, x, row, true, missing*floats.Norm(row, 1)/float64(hi-lo)); err != nil {
			return nil, err
		}
		copy(row, x)
	}
	return forever, nil
}

// propagateAll is Within by sweeps in place, where that is the way. It returns the rows that are left.
func (p *Visits) propagateAll(ctx context.Context, st *Rule, lo, hi int32, rows [][]float64,
	missing float64) ([][]float64, error) {
	if p.gamma < 1 || int(hi-lo) <= threshold.Swept || p.slow[lo] {
		return rows, nil
	}
	for j, row := range rows {
		x := make([]float64, hi-lo)
		if !p.propagate(ctx, st, lo, hi, row, x, missing*floats.Norm(row, 1)) {
			return rows[j:], ctx.Err()
		}
		copy(row, x)
	}
	return nil, nil
}

// leavingShare returns the share of visits of state n that leave it, the discount included.
func (p *Visits) leavingShare(choices []WeightedChoice, n int32) float64 {
	sum := 1 - p.gamma
	for _, t := range choices {
		next, prob := p.kernel.Row(t.Choice)
		for e, to := range next {
			if p.quotient.Number[to] != n {
				sum += p.gamma * t.Prob * prob[e]
			}
		}
	}
	return sum
}

// ReturnsToGo computes the d returns that a policy has from each state of the first components on, those of a
// state side by side: to rounding, or so that a share of the most that a state returns before its component is left
// may be missing in each step. What does not end counts as 0.
func (p *Visits) ReturnsToGo(ctx context.Context, st *Rule, components, d int, missing float64) ([]float64, error) {
	q, k := p.quotient, p.kernel
	out := make([]float64, int(q.Rest+1)*d)
	room := make([]WeightedChoice, 0, p.most)
	for i := range components {
		lo, hi := q.Component[i], q.Component[i+1]
		if i%1024 == 0 {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			p.Progress.At("finding returns to go", float64(lo)/float64(q.Rest), int(q.Rest))
		}
		for n := lo; n < hi; n++ { // what one step returns, and what is returned outside of the component
			sum := out[int(n)*d:][:d]
			for _, t := range p.choose(room[:0], st, n) {
				for j, r := range k.ReturnsOf(t.Choice, d) {
					sum[j] += t.Prob * r
				}
				next, prob := k.Row(t.Choice)
				for e, s := range next {
					if to := q.Number[s]; to < lo || to >= hi {
						x := p.gamma * t.Prob * prob[e]
						for j, w := range out[int(to)*d:][:d] {
							sum[j] += float64(x * w)
						}
					}
				}
			}
		}
		if err := p.sumReturns(ctx, st, lo, hi, d, missing, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// sumReturns adds up what is returned in the component [lo, hi), dim numbers for each state.
func (p *Visits) sumReturns(ctx context.Context, st *Rule, lo, hi int32, dim int, missing float64,
	out []float64) error {
	if hi == lo+1 {
		var room [4]WeightedChoice
		leaves := p.leavingShare(p.choose(room[:0], st, lo), lo)
		for j := range out[int(lo)*dim:][:dim] {
			if leaves == 0 {
				out[int(lo)*dim+j] = 0
			} else {
				out[int(lo)*dim+j] /= leaves
			}
		}
		return nil
	}
	forever, _ := p.inducedChain(ctx, st, lo, hi)
	for _, n := range forever {
		clear(out[int(n)*dim:][:dim])
	}
	right, x := make([]float64, hi-lo), make([]float64, hi-lo)
	for j := range dim {
		for n := range right {
			right[n] = out[(int(lo)+n)*dim+j]
		}
		clear(x)
		if err := p.chain.Solve(ctx, x, right, false, missing*floats.Norm(right, math.Inf(1))); err != nil {
			return err
		}
		for n := range x {
			out[(int(lo)+n)*dim+j] = x[n]
		}
	}
	return nil
}
