package exact

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"

	"cmdpsolve/cmdp/markov"
	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/floats"
)

// A forwardPurifier takes randomisation out of a stationary policy, see purifier, in one pass over the components,
// first ones first. What a state's actions are worth is known from the components after it, in which nothing
// has changed yet. Visits of the policy, and their changes in the directions that are left, move on with the
// pass, side by side: an exchange changes nothing but the component at hand and what is to come, and what is to
// come is changed when the pass comes there, see lazyProduct.
type forwardPurifier struct {
	*purifier
	p      *policyEvaluator
	st     *markov.Rule
	values []float64 // returns to go of each state of the base quotient
	cut    float64   // share of an exchange that may be left out of the visits that it changes

	width      int       // numbers that are carried for a state: the mass, then one for each slot
	carried    []float64 // arrivals at each state of the base quotient
	version    []int32   // of each state, how many changes its arrivals know
	changes    *lazyProduct
	change     []float64 // of the component at hand
	changed    bool
	slots      []*exchangeDirection // nil for those that are free; none for the mass
	occupied   int                  // slots up to the last one that was ever used, with the mass
	lo, hi     int32                // the component at hand
	randomizes map[int32]bool       // whether a state still randomises
	outOfSlots bool                 // there were too few slots
}

// errSlots is the error of a pass that has to be made with more slots.
var errSlots = errors.New("exact: too many directions at a time")

// purify takes randomisation out of a policy.
func (p *infiniteHorizon) purify(ctx context.Context, policy *Policy, f face) error {
	return p.purifyCutting(ctx, policy, f, p.cutOfExchanges(&policy.steps[0]))
}

// purifyCutting is purify that leaves a share of each exchange out at first; nothing where the returns show that it
// matters.
func (p *policyEvaluator) purifyCutting(ctx context.Context, policy *Policy, f face, cut float64) error {
	if len(policy.steps[0].Mixed) == 0 {
		return nil
	}
	for width := 2 + len(f.equalities) + len(f.inequalities); ; {
		st := policy.steps[0].Clone()
		err := p.purifyForwards(ctx, st, f, width, cut)
		if err == nil && cut > 0 {
			var good bool
			good, err = p.preserves(ctx, f, &policy.steps[0], st)
			if err == nil && !good {
				cut = 0
				continue
			}
		}
		switch {
		case err == nil:
			policy.steps[0] = *st
			return nil
		case errors.Is(err, markov.ErrSingular): // the policy stays as it is
			return nil
		case !errors.Is(err, errSlots):
			return err
		}
		width *= 2
	}
}

// cutOfExchanges returns the share of an exchange that is left out at first: none where systems of all components
// in which a policy randomises are eliminated, or returns are wanted to rounding.
func (p *infiniteHorizon) cutOfExchanges(st *markov.Rule) float64 {
	const cut = 1e-14
	if p.tolerance > 0 {
		for s := range st.Mixed {
			i, _ := slices.BinarySearch(p.quotient.Component, p.quotient.Number[s]+1)
			if i < len(p.quotient.Component) &&
				int(p.quotient.Component[i]-p.quotient.Component[i-1]) > threshold.Eliminated {
				return cut
			}
		}
	}
	return 0
}

// preserves reports whether a policy, which may be the answer, keeps of the returns of another one what a face
// preserves, but for a share of its scale.
func (p *policyEvaluator) preserves(ctx context.Context, f face, before, after *markov.Rule) (bool, error) {
	const small = 1e-11
	was, err := p.evaluate(ctx, &Policy{steps: []markov.Rule{*before}})
	if err != nil {
		return false, err
	}
	is, err := p.evaluate(ctx, &Policy{steps: []markov.Rule{*after}})
	if err != nil {
		return false, err
	}
	p.lastEvaluated = &evaluatedPolicy{after.Clone(), is}
	change, costs := make([]float64, len(is)), 0.0
	for i := range is {
		if is[i] != was[i] { // both may be infinite
			change[i] = is[i] - was[i]
		}
		if f.cost[i] != 0 {
			costs += math.Abs(f.cost[i] * was[i])
		}
	}
	for _, r := range f.equalities {
		if !(math.Abs(floats.Dot(r.Normal, change)) <= small*r.scale) {
			return false, nil
		}
	}
	for _, r := range f.inequalities {
		if !(floats.Dot(r.Normal, change) <= r.Offset+small*r.scale) {
			return false, nil
		}
	}
	return floats.Dot(f.cost, change) <= small*costs, nil
}

// purifyForwards is purify with so many numbers carried for a state, and so large a share of an exchange left out.
// After an error the rule is of no use.
func (p *policyEvaluator) purifyForwards(ctx context.Context, st *markov.Rule, f face, width int, cut float64) error {
	f.equalities, f.inequalities = slices.Clone(f.equalities), slices.Clone(f.inequalities)
	mixed := slices.Collect(maps.Keys(st.Mixed))
	for j, s := range mixed {
		mixed[j] = p.quotient.Number[s]
	}
	slices.Sort(mixed) // the last one comes first
	mixed = slices.DeleteFunc(mixed, func(n int32) bool { return n == p.quotient.Rest })
	if len(mixed) == 0 {
		return nil
	}
	top, _ := slices.BinarySearch(p.quotient.Component, mixed[len(mixed)-1]+1) // components up to that of the first one
	p.visitor.Progress = p.progress
	values, err := p.visitor.ReturnsToGo(ctx, st, top-1, p.dim(), 0)
	if err != nil {
		return err
	}
	w := &forwardPurifier{purifier: &purifier{face: f}, p: p, st: st, values: values, cut: cut, width: width,
		occupied: 1, randomizes: make(map[int32]bool)}
	w.carried, w.version = make([]float64, int(p.quotient.Rest+1)*width), make([]int32, p.quotient.Rest+1)
	w.slots, w.changes, w.change = make([]*exchangeDirection, width), newLazyProduct(width),
		make([]float64, width*width)
	w.onSettled = func(e entry) {
		st.Actions.Set(e.s, e.a)
		delete(st.Mixed, int32(e.s))
		delete(w.randomizes, int32(e.s))
	}
	w.onMove, w.onCombine = w.noteMove, w.noteCombination
	for _, start := range p.m.StartStates() {
		w.carried[int(p.quotient.Number[start.State])*width] += start.Probability
	}
	total := len(mixed)
	for i := len(p.quotient.Component) - 2; i >= 0 && len(mixed) > 0; i-- {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		first := len(mixed)
		for first > 0 && mixed[first-1] >= p.quotient.Component[i] {
			first--
		}
		if err := w.component(ctx, i, mixed[first:]); err != nil {
			return err
		}
		if first < len(mixed) {
			mixed = mixed[:first]
			p.progress.At(purifying, 1-float64(first)/float64(total), p.m.States())
		}
	}
	w.writeProbabilities(&Policy{steps: []markov.Rule{*st}})
	return nil
}

// component moves through component i, some states of which randomise.
func (w *forwardPurifier) component(ctx context.Context, i int, mixed []int32) error {
	w.lo, w.hi = w.p.quotient.Component[i], w.p.quotient.Component[i+1]
	arrives := false
	for n := w.lo; n < w.hi; n++ {
		w.update(n)
		for _, x := range w.carried[int(n)*w.width:][:w.occupied] {
			arrives = arrives || x != 0
		}
	}
	if !arrives { // rounding may have emptied what randomises
		for _, n := range mixed {
			delete(w.st.Mixed, w.p.quotient.Origin[n])
		}
		return nil
	}
	rows := w.load()
	busy := slices.DeleteFunc(slices.Clone(rows), func(row []float64) bool {
		return !slices.ContainsFunc(row, func(x float64) bool { return x != 0 })
	})
	if _, err := w.p.visitor.Within(ctx, w.st, i, busy, 0); err != nil {
		return err
	}
	if len(mixed) > 0 {
		w.enterComponent(rows)
		for j := len(mixed) - 1; j >= 0; j-- {
			if err := w.addState(ctx, i, mixed[j]); err != nil {
				return err
			}
		}
		var err error
		rows, err = w.leaveComponent()
		if err != nil {
			return err
		}
	}
	w.propagateVisits(rows)
	return nil
}

// update brings the arrivals at a state up to date.
func (w *forwardPurifier) update(n int32) {
	if int(w.version[n]) < w.changes.len() {
		w.changes.apply(w.carried[int(n)*w.width:][:w.width], int(w.version[n]))
		w.version[n] = int32(w.changes.len())
	}
}

// load returns the arrivals at the component, a row for the mass and one for each slot.
func (w *forwardPurifier) load() [][]float64 {
	rows, size := make([][]float64, w.occupied), int(w.hi-w.lo)
	all := make([]float64, w.occupied*size)
	for j := range rows {
		rows[j] = all[j*size:][:size]
		for n := range rows[j] {
			rows[j][n] = w.carried[(int(w.lo)+n)*w.width+j]
		}
	}
	return rows
}

// enterComponent makes mass and directions those of the visits of the component.
func (w *forwardPurifier) enterComponent(rows [][]float64) {
	w.mass = rows[0]
	for j, row := range rows[1:] {
		if d := w.slots[j+1]; d != nil {
			d.state = row
		}
	}
	w.changed = false
	clear(w.change)
	for j := range w.width {
		w.change[j*w.width+j] = 1
	}
}

// addState adds state n of the quotient, which randomises, with the directions that it gives.
func (w *forwardPurifier) addState(ctx context.Context, i int, n int32) error {
	s, base := w.p.quotient.Origin[n], len(w.entries)
	for a, prob := range w.st.Mixed[s] {
		if prob == 0 {
			continue
		}
		w.entries = append(w.entries, entry{0, int(s), a, math.Max(0, w.mass[n-w.lo]*prob)})
		for _, d := range w.directions {
			d.on = append(d.on, d.state[n-w.lo]*prob)
		}
		w.randomizes[s] = true
	}
	for other := base + 1; other < len(w.entries); other++ {
		d, err := w.exchange(ctx, i, n, base, other)
		if err != nil {
			return err
		}
		w.directions = append(w.directions, d)
	}
	w.reduce()
	w.applyShares(w.st)
	return nil
}

// exchange returns the direction of moving one unit of mass from entry b to entry a of state n, with what it
// changes of the visits of the component.
func (w *forwardPurifier) exchange(ctx context.Context, i int, n int32, a, b int) (*exchangeDirection, error) {
	p, d := w.p, w.p.dim()
	out := &exchangeDirection{effect: make([]float64, d), on: make([]float64, len(w.entries)),
		state: make([]float64, w.hi-w.lo)}
	first := int(p.k.First[p.quotient.Origin[n]])
	inside := false
	for _, part := range []struct {
		c    int
		sign float64
	}{{first + w.entries[a].a, 1}, {first + w.entries[b].a, -1}} {
		w.addStep(out.effect, part.sign, part.c)
		next, prob := p.k.Row(part.c)
		for e, s := range next {
			if to := p.quotient.Number[s]; to >= w.lo && to < w.hi {
				out.state[to-w.lo] += part.sign * p.gamma * prob[e]
				inside = true
			}
		}
	}
	if inside {
		forever, err := p.visitor.Within(ctx, w.st, i, [][]float64{out.state}, w.cut)
		if err != nil {
			return nil, err
		}
		room := make([]markov.WeightedChoice, 0, p.mostActions)
		for j, x := range out.state {
			if x == 0 || slices.Contains(forever, w.lo+int32(j)) { // what does not end counts for nothing
				continue
			}
			for _, t := range p.takenChoices(room[:0], w.st, w.lo+int32(j)) {
				w.addStep(out.effect, x*t.Prob, t.Choice)
			}
		}
		for j, e := range w.entries {
			if at := p.quotient.Number[e.s]; at >= w.lo && at < w.hi {
				out.on[j] = out.state[at-w.lo] * w.st.Mixed[int32(e.s)][e.a]
			}
		}
	}
	out.on[a]++
	out.on[b]--
	return out, nil
}

// addStep adds x times what a choice returns in a step and after it outside of the component.
func (w *forwardPurifier) addStep(dst []float64, x float64, c int) {
	p, d := w.p, len(dst)
	for j, r := range p.k.ReturnsOf(c, d) {
		dst[j] += float64(x * r)
	}
	next, prob := p.k.Row(c)
	for e, s := range next {
		if to := p.quotient.Number[s]; to < w.lo {
			y := x * p.gamma * prob[e]
			for j, v := range w.values[int(to)*d:][:d] {
				dst[j] += float64(y * v)
			}
		}
	}
}

// noteMove notes that the mass grows by x times a direction.
func (w *forwardPurifier) noteMove(d *exchangeDirection, x float64) {
	if d.slot == 0 {
		return
	}
	for i := range w.width {
		w.change[i*w.width] += float64(x * w.change[i*w.width+d.slot])
	}
	w.changed = true
}

// noteCombination notes that pivot is dropped, after x times it was added to d; d is nil for the last time.
func (w *forwardPurifier) noteCombination(d, pivot *exchangeDirection, x float64) {
	switch {
	case pivot.slot == 0:
		return
	case d == nil:
		for i := range w.width {
			w.change[i*w.width+pivot.slot] = 0
		}
		w.slots[pivot.slot] = nil
	default:
		if d.slot == 0 && !w.assignSlot(d) {
			return
		}
		for i := range w.width {
			w.change[i*w.width+d.slot] += float64(x * w.change[i*w.width+pivot.slot])
		}
	}
	w.changed = true
}

// assignSlot gives a direction a free slot, and reports whether there is one. Nothing is carried in it.
func (w *forwardPurifier) assignSlot(d *exchangeDirection) bool {
	for j := 1; j < w.width; j++ {
		if w.slots[j] == nil {
			d.slot, w.slots[j] = j, d
			w.occupied = max(w.occupied, j+1)
			return true
		}
	}
	w.outOfSlots = true
	return false
}

// leaveComponent gives the directions that are left their slots and returns the visits of the component, as load orders
// them.
func (w *forwardPurifier) leaveComponent() ([][]float64, error) {
	for _, d := range w.directions {
		if d.slot == 0 {
			w.assignSlot(d)
		}
	}
	if w.outOfSlots {
		return nil, errSlots
	}
	if w.changed {
		w.changes.add(w.change)
	}
	rows := make([][]float64, w.occupied)
	rows[0] = w.mass
	for j := range rows[1:] {
		if d := w.slots[j+1]; d != nil {
			rows[j+1] = d.state
		}
	}
	return rows, nil
}

// propagateVisits adds what visits of the component bring to states after it.
func (w *forwardPurifier) propagateVisits(rows [][]float64) {
	p, x := w.p, make([]float64, w.occupied)
	for n := w.lo; n < w.hi; n++ {
		s := p.quotient.Origin[n]
		if w.randomizes[s] {
			for j, e := range w.entries {
				if int32(e.s) == s {
					x[0] = e.x
					for i, d := range w.slots[1:w.occupied] {
						x[i+1] = 0
						if d != nil {
							x[i+1] = d.on[j]
						}
					}
					w.push(int(p.k.First[s])+e.a, x)
				}
			}
			continue
		}
		for j := range x {
			x[j] = 0
			if rows[j] != nil {
				x[j] = rows[j][n-w.lo]
			}
		}
		w.push(int(p.k.First[s])+w.st.Actions.At(int(s)), x)
	}
}

// push adds what x visits of a choice bring to states after the component.
func (w *forwardPurifier) push(c int, x []float64) {
	p := w.p
	next, prob := p.k.Row(c)
	for e, s := range next {
		to := p.quotient.Number[s]
		if to >= w.lo {
			continue
		}
		w.update(to)
		y := p.gamma * prob[e]
		for j, v := range w.carried[int(to)*w.width:][:len(x)] {
			w.carried[int(to)*w.width+j] = v + float64(y*x[j])
		}
	}
}
