package baseline

import "math"

// A kernelRule says which kernels a planner considers possible.
type kernelRule int

const (
	// kernelUniform: the frequencies; a choice never visited leads everywhere, or to
	// all its possible successors, with the same probability.
	kernelUniform kernelRule = iota
	// kernelSelf: the frequencies; a choice never visited stays where it is.
	kernelSelf
	// kernelBox: every kernel within the confidence intervals.
	kernelBox
)

// A sweep is value iteration for a weighted sum of signals, from the last step to
// the first, on the frequencies or, extended, over a box of kernels. Beside the
// scalar values it carries the signals of the policy that is being found. It is
// the pricing of the planning programs: it finds an extreme point of the
// occupancy polytope, (deterministic policy, extreme kernel).
type sweep struct {
	*signalTable
	rule   kernelRule
	radius transitionRadius // of kernelBox
	boxes  [][]interval
	fill   *filler
	w, out []float64 // S×signals
	begins []bool    // states in which an episode may begin
	// Means over all states, of kernelUniform: of w, of the values, and whether those
	// of this step are known.
	plain      []float64
	plainValue float64
	averaged   bool
	next       []int32
	prob       []float64
	calls      int
	columns    []*column // by the numbers of a program's points
}

// A column is a deterministic policy, with an extreme kernel, that a sweep found.
type column struct {
	dir   []float64 // weights of the signals
	value []float64 // signals of the policy
	v     []float64 // (H+1)×S: scalar values, which order the successors
	take  []int32   // H×S: action, -1 where the process rests
}

func newSweep(e *estimate, rule kernelRule, radius transitionRadius) *sweep {
	sw := &sweep{signalTable: newSignalTable(e), rule: rule, radius: radius, fill: newFiller(e.states),
		w: make([]float64, e.states*e.signals), out: make([]float64, e.states*e.signals),
		plain: make([]float64, e.signals)}
	sw.begins = make([]bool, e.states)
	for _, st := range e.start {
		sw.begins[st.State] = true
	}
	if rule == kernelBox {
		for h := range e.layers {
			sw.boxes = append(sw.boxes, make([]interval, len(e.layers[h])))
		}
	}
	return sw
}

// rebuild brings signals and boxes up to date with the estimate.
func (sw *sweep) rebuild() {
	for h := range sw.boxes {
		for c := range sw.boxes[h] {
			sw.boxes[h][c].set(&sw.layers[h][c], sw.radius)
		}
	}
	sw.signalTable.rebuild()
}

// update brings signals and boxes of the choices that an episode touched up to date.
func (sw *sweep) update(touched []slot) {
	for _, x := range touched {
		if c := int(sw.offsets(x.h)[x.s]) + x.a; sw.rule == kernelBox {
			sw.boxes[x.h][c].set(&sw.layers[x.h][c], sw.radius)
		}
	}
	sw.signalTable.update(touched)
}

func (sw *sweep) box(h, c int) *interval { return &sw.boxes[min(h, len(sw.boxes)-1)][c] }

// Dim returns the number of signals. With Extent and Least a sweep is the [exact.Points] of a
// planning program: the signals of all policies on the kernels that are possible.
func (sw *sweep) Dim() int { return sw.signals }

// Extent sets lower and upper to sums of the extremes of the signals over the steps.
func (sw *sweep) Extent(lower, upper []float64) {
	clear(lower)
	clear(upper)
	for h := range sw.horizon {
		for j := range sw.signals {
			least, most := math.Inf(1), math.Inf(-1)
			if sw.shape.Rests(h) {
				least, most = sw.rested[h*sw.signals+j], sw.rested[h*sw.signals+j]
			}
			for i := sw.base[h]; i < sw.base[h+1]; i++ {
				x := sw.signal[i*sw.signals+j]
				least, most = min(least, x), max(most, x)
			}
			lower[j] += least
			upper[j] += most
		}
	}
}

// Least returns the signals of the policy, and kernel, that minimise dir·V.
func (sw *sweep) Least(number int, dir []float64) []float64 {
	c := sw.column(number)
	sw.price(c, dir)
	return c.value
}

func (sw *sweep) column(number int) *column {
	for number >= len(sw.columns) {
		sw.columns = append(sw.columns, sw.newColumn())
	}
	return sw.columns[number]
}

func (sw *sweep) newColumn() *column {
	return &column{dir: make([]float64, sw.signals), value: make([]float64, sw.signals),
		v: make([]float64, (sw.horizon+1)*sw.states), take: make([]int32, sw.horizon*sw.states)}
}

// price sets c to the policy, and kernel, that minimise dir·V. Ties go to the
// first action.
func (sw *sweep) price(c *column, dir []float64) {
	sw.calls++
	copy(c.dir, dir)
	clear(sw.w)
	clear(c.v[sw.horizon*sw.states:])
	for h := sw.horizon - 1; h >= 0; h-- {
		sw.backup(c, h)
		sw.w, sw.out = sw.out, sw.w
	}
	clear(c.value)
	for _, st := range sw.start {
		for j := range c.value {
			c.value[j] += st.Probability * sw.w[st.State*sw.signals+j]
		}
	}
}

func (sw *sweep) backup(c *column, h int) {
	n, m := sw.states, sw.signals
	v, out := c.v[(h+1)*n:(h+2)*n], c.v[h*n:(h+1)*n]
	sw.prepare(v)
	f, rows := sw.offsets(h), sw.layer(h)
	for s := range n {
		first, end := int(f[s]), int(f[s+1])
		if first == end {
			rest := sw.rested[h*m : (h+1)*m]
			out[s], c.take[h*n+s] = v[s], -1
			for j, x := range rest {
				out[s] += c.dir[j] * x
				sw.out[s*m+j] = x + sw.w[s*m+j]
			}
			continue
		}
		if h == 0 && !sw.begins[s] { // never met
			c.take[s] = 0
			continue
		}
		best, least := first, math.Inf(1)
		signal := sw.signal[(sw.base[h]+first)*m:]
		for k := first; k < end; k++ {
			r, q := &rows[k], 0.0
			if sw.rule != kernelBox && r.visits > 0 { // the usual case, without a call
				for i, n := range r.next {
					q += r.prob[i] * v[n]
				}
			} else {
				q = sw.expect(h, s, k, r, v)
			}
			for j, t := range c.dir {
				q += t * signal[j]
			}
			if q < least {
				best, least = k, q
			}
			signal = signal[m:]
		}
		out[s], c.take[h*n+s] = least, int32(best-first)
		sw.follow(h, s, best, &rows[best])
	}
}

// prepare readies the expectation of the values v.
func (sw *sweep) prepare(v []float64) {
	sw.averaged = false
	if sw.rule == kernelBox {
		sw.fill.sort(v)
	}
}

// expect returns the least mean of v after choice k of state s over its box, or the
// mean after a choice that was never visited.
func (sw *sweep) expect(h, s, k int, r *row, v []float64) float64 {
	switch {
	case sw.rule == kernelBox:
		return sw.fill.least(r, sw.box(h, k))
	case sw.everywhere(r):
		sw.average(v)
		return sw.plainValue
	}
	sum := 0.0
	next, prob := sw.kernel(h, s, k, r)
	for i, n := range next {
		sum += prob[i] * v[n]
	}
	return sum
}

// follow sets the signals of state s to those of taking choice k.
func (sw *sweep) follow(h, s, k int, r *row) {
	m := sw.signals
	out := sw.out[s*m : (s+1)*m]
	copy(out, sw.signal[(sw.base[h]+k)*m:(sw.base[h]+k+1)*m])
	if sw.everywhere(r) {
		for j, x := range sw.plain {
			out[j] += x
		}
		return
	}
	next, prob := sw.kernel(h, s, k, r)
	for i, n := range next {
		x := prob[i]
		for j, y := range sw.w[int(n)*m : (int(n)+1)*m] {
			out[j] += x * y
		}
	}
}

// average sets plain and plainValue to the means of w and v over all states, once
// in a step.
func (sw *sweep) average(v []float64) {
	if sw.averaged {
		return
	}
	sw.averaged, sw.plainValue = true, 0
	clear(sw.plain)
	for s, x := range v {
		sw.plainValue += x
		for j, y := range sw.w[s*sw.signals : (s+1)*sw.signals] {
			sw.plain[j] += y
		}
	}
	n := float64(sw.states)
	sw.plainValue /= n
	for j := range sw.plain {
		sw.plain[j] /= n
	}
}

// everywhere reports whether a choice is taken to lead to all states alike.
func (sw *sweep) everywhere(r *row) bool { return sw.rule == kernelUniform && r.unknown() }

// kernel returns the distribution after choice k of state s that was last
// prepared for. The slices are valid until the next call.
func (sw *sweep) kernel(h, s, k int, r *row) ([]int32, []float64) {
	switch {
	case sw.rule == kernelBox:
		sw.next, sw.prob = sw.fill.distribution(sw.next[:0], sw.prob[:0], r, sw.box(h, k))
	case r.visits > 0:
		return r.next, r.prob
	case sw.rule == kernelSelf:
		sw.next, sw.prob = append(sw.next[:0], int32(s)), append(sw.prob[:0], 1)
	case r.closed:
		return r.next, r.prob[:len(r.next)]
	default:
		sw.next, sw.prob = sw.next[:0], sw.prob[:0]
		for n := range sw.states {
			sw.next, sw.prob = append(sw.next, int32(n)), append(sw.prob, 1/float64(sw.states))
		}
	}
	return sw.next, sw.prob
}
