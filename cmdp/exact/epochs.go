package exact

import (
	"context"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"

	"gonum.org/v1/gonum/floats"
)

// epochTotals is the pricer of a cmdp.Epochs: the totals of a model whose pairs go from one epoch to later ones. It
// solves the small model of one epoch after the other, last first, where what is left counts what was found before
// (Hartmanns, Junges, Katoen, Quatmann 2018), and evaluates the policy in the same pass. Values of an epoch are dropped
// when no other one leads there. A policy is made again for its direction where it is asked for.
type epochTotals struct {
	m        *cmdp.Model
	e        *cmdp.Epochs
	classes  []*epochClass
	done     [][]int32 // of each epoch, those whose values are not needed any more once it is solved
	steps    []float64 // of each return, the largest magnitude in a step
	longest  int
	actions  int // the most of a state
	chain    markov.Chain
	progress markov.Progress
	pass     epochPass
}

// An epochClass has the small model of some epochs: states that are not still, and what stays in the epoch.
type epochClass struct {
	kernel       *cmdp.Kernel // the rows of the base, with the returns of the class
	still        []bool
	quotient     *markov.Quotient
	components   *markov.LeastTotal // of several states
	proper       []int32            // its first policy
	reward, size []float64          // of each choice in the direction, and what that is the sum of
}

func newEpochTotals(ctx context.Context, m *cmdp.Model) (*epochTotals, error) {
	e := m.Epochs()
	p := &epochTotals{m: m, e: e, classes: make([]*epochClass, len(e.Classes)), steps: make([]float64, e.Dim)}
	base := &e.Classes[0]
	p.longest = markov.LongestRow(base)
	for s := range e.Base.States() {
		p.actions = max(p.actions, int(base.First[s+1]-base.First[s]))
	}
	until := make([]int32, e.Len())
	for epoch := range until {
		until[epoch] = int32(epoch)
	}
	for epoch := e.Len() - 1; epoch >= 0; epoch-- {
		for l := range int32(e.Letters) {
			until[e.After(epoch, l)] = int32(epoch)
		}
		if i := e.Class[epoch]; p.classes[i] == nil {
			var err error
			p.classes[i], err = p.newClass(ctx, epoch)
			if err != nil {
				return nil, err
			}
		}
	}
	p.done = make([][]int32, e.Len())
	for epoch, last := range until {
		p.done[last] = append(p.done[last], int32(epoch))
	}
	for i := range e.Classes {
		for j, x := range mostReturns(&e.Classes[i], e.Dim) {
			p.steps[j] = max(p.steps[j], x)
		}
	}
	p.pass = epochPass{epochTotals: p, values: make([][]float64, e.Len()), returns: make([][]float64, e.Len()),
		from: make([][]float64, e.Letters), fromReturns: make([][]float64, e.Letters)}
	return p, nil
}

// newClass makes the small model of the class of an epoch. What does not stay in the epoch, or comes to a state that is
// still, leads to a state of its own, which is the last one.
func (p *epochTotals) newClass(ctx context.Context, epoch int) (*epochClass, error) {
	e := p.e
	c := &epochClass{kernel: &e.Classes[e.Class[epoch]]}
	c.still, _ = e.Still(epoch)
	k, states := *c.kernel, len(c.still)
	k.First = append(slices.Clip(k.First), k.First[states])
	k.Next = slices.Clone(k.Next)
	in := make([]bool, states+1)
	for s, still := range c.still {
		in[s] = !still
	}
	for at, to := range k.Next {
		if !in[to] || e.After(epoch, e.Letter[at]) != epoch {
			k.Next[at] = int32(states)
		}
	}
	g := &markov.Graph{Kernel: &k, In: in}
	parts, err := g.LayeredComponents(ctx)
	if err != nil {
		return nil, err
	}
	c.quotient = g.Number(parts, nil)
	c.quotient.Fill(g, c.quotient.Origin, nil)
	c.components = markov.NewLeastTotal(c.quotient, 1, 1, &p.chain)
	c.proper = slices.Clone(c.components.Policy)
	c.reward, c.size = make([]float64, k.Choices()), make([]float64, k.Choices())
	return c, nil
}

func (p *epochTotals) dim() int { return p.e.Dim }

func (p *epochTotals) traits() traits {
	return traits{singlePolicy: true, unboundedTotals: true, infiniteHorizon: true, stateless: true, steps: p.steps}
}

func (p *epochTotals) configure(tell markov.Progress, _ float64, _ bool) { p.progress = tell }

func (p *epochTotals) extent(ctx context.Context, lower, upper []float64) error {
	for i := range lower {
		for _, sign := range []float64{1, -1} {
			value, margin, err := p.recheck(ctx, axis(len(lower), i, sign))
			if err != nil {
				return err
			}
			if sign > 0 {
				lower[i] = value - margin
			} else {
				upper[i] = margin - value
			}
		}
	}
	return nil
}

func (p *epochTotals) price(ctx context.Context, dir []float64, _ float64) (pricedPolicy, error) {
	return p.solve(ctx, dir, nil)
}

// recheck solves once more. The bound is proved by a look at all choices, which trusts no solver.
func (p *epochTotals) recheck(ctx context.Context, dir []float64) (value, margin float64, err error) {
	x, err := p.solve(ctx, dir, nil)
	return x.value, x.margin, err
}

// recoverPolicy returns the policies of the columns, one of which is drawn at the start. None of them draws.
func (p *epochTotals) recoverPolicy(ctx context.Context, columns []column, weights []float64, _ face,
	_ float64) (*Policy, error) {
	out := &Policy{}
	for j, c := range columns {
		actions := markov.NewPackedActions(p.m.States(), p.actions)
		if _, err := p.solve(ctx, c.dir, &actions); err != nil {
			return nil, err
		}
		out.mixture = append(out.mixture, WeightedPolicy{weights[j], NewPolicy([]markov.Rule{{Actions: actions}})})
	}
	if len(columns) == 1 {
		return out.mixture[0].Policy, nil
	}
	return out, nil
}

// solve finds the policy that is cheapest in a direction, with a bound that is proved. Where rounding is more than
// choices are made cheaper by, these are made still cheaper. actions, if not nil, are set to those of the policy.
func (p *epochTotals) solve(ctx context.Context, dir []float64, actions *markov.Actions) (out pricedPolicy,
	err error) {
	const most = 1000
	for perturbation := 1.0; ; perturbation *= 8 {
		proved := false
		out, proved, err = p.pass.solve(ctx, dir, perturbation, actions)
		if err != nil || proved {
			return out, err
		}
		if perturbation > most {
			out.margin = math.Inf(1)
			return out, nil
		}
	}
}

// An epochPass goes through the epochs, last first.
type epochPass struct {
	*epochTotals
	values, returns [][]float64 // of each epoch that is needed, of its states; those of a state stand side by side
	spare           [2][][]float64
	dir             []float64
	perturbation    float64
	rounding        float64 // more than what rounding takes from a sum of numbers of the size 1

	// in the epoch:
	epoch             int
	class             *epochClass
	from, fromReturns [][]float64 // of each letter, those of the epoch that it leads to
	v, r              []float64
	chosen            []int32 // of each state, its choice
	right, solution   []float64
}

func (p *epochPass) solve(ctx context.Context, dir []float64, perturbation float64,
	actions *markov.Actions) (out pricedPolicy, proved bool, err error) {
	states, d := p.e.Base.States(), p.e.Dim
	p.dir, p.perturbation = dir, perturbation
	p.rounding = perturbation * float64(16+4*p.longest+2*d) * roundoff
	p.chosen = slices.Grow(p.chosen[:0], states)[:states]
	p.scalarize()
	starts := p.m.StartStates()
	start, first := make([]cmdp.StartState, len(starts)), make([]float64, len(starts))
	out.returns, out.certified, proved = make([]float64, d), true, true
	for p.epoch = p.e.Len() - 1; p.epoch >= 0; p.epoch-- {
		p.enter()
		if err := p.solveEpoch(ctx); err != nil {
			return out, false, err
		}
		proved = proved && p.belowBackups()
		for i, st := range starts {
			if epoch, s := p.e.Split(st.State); epoch == p.epoch {
				start[i], first[i] = cmdp.StartState{State: i, Probability: st.Probability}, p.v[s]
				floats.AddScaled(out.returns, st.Probability, p.r[s*d:][:d])
			}
		}
		p.record(actions)
		p.leave()
	}
	out.value, out.margin = meanOver(start, first)
	return out, proved, nil
}

// scalarize sets the rewards of choices to those of the direction.
func (p *epochPass) scalarize() {
	for _, c := range p.classes {
		for i := range c.reward {
			c.reward[i], c.size[i] = 0, 0
			for j, x := range c.kernel.ReturnsOf(i, p.e.Dim) {
				y := float64(p.dir[j] * x)
				c.reward[i] += y
				c.size[i] += math.Abs(y)
			}
		}
		copy(c.components.Policy, c.proper) // so that a direction finds the same policy again
		clear(c.components.Values)
		c.components.Reset(0)
		c.components.Perturbation = p.perturbation
		c.components.Progress = p.progress
	}
}

// enter makes room for the epoch.
func (p *epochPass) enter() {
	states := p.e.Base.States()
	take := func(spare *[][]float64, n int) []float64 {
		if k := len(*spare); k > 0 {
			x := (*spare)[k-1]
			*spare = (*spare)[:k-1]
			clear(x)
			return x
		}
		return make([]float64, n)
	}
	p.class = p.classes[p.e.Class[p.epoch]]
	p.v, p.r = take(&p.spare[0], states), take(&p.spare[1], states*p.e.Dim)
	p.values[p.epoch], p.returns[p.epoch] = p.v, p.r
	for l := range p.from {
		after := p.e.After(p.epoch, int32(l))
		p.from[l], p.fromReturns[l] = p.values[after], p.returns[after]
	}
	p.progress.At("finding values of epochs", 1-float64(p.epoch+1)/float64(p.e.Len()), p.e.Len())
}

// leave drops what is needed no more.
func (p *epochPass) leave() {
	for _, epoch := range p.done[p.epoch] {
		p.spare[0], p.spare[1] = append(p.spare[0], p.values[epoch]), append(p.spare[1], p.returns[epoch])
		p.values[epoch], p.returns[epoch] = nil, nil
	}
}

// record sets actions, unless they are nil, to those that are chosen in the epoch.
func (p *epochPass) record(actions *markov.Actions) {
	if actions == nil {
		return
	}
	for _, s := range p.class.quotient.Origin {
		actions.Set(p.e.Pair(p.epoch, int(s)), int(p.chosen[s]-p.class.kernel.First[s]))
	}
}

// solveEpoch finds values, policy and returns of the states of the epoch that are not still.
func (p *epochPass) solveEpoch(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	q := p.class.quotient
	for i := range len(q.Component) - 1 {
		lo, hi := q.Component[i], q.Component[i+1]
		if hi == lo+1 {
			p.solveState(q.Origin[lo])
			p.class.components.Values[lo] = p.v[q.Origin[lo]]
		} else if err := p.solveComponent(ctx, i, lo, hi); err != nil {
			return err
		}
	}
	return nil
}

// row returns the transitions of a choice of the epoch, with their letters.
func (p *epochPass) row(c int32) (to []int32, prob []float64, letters []int32) {
	to, prob = p.class.kernel.Row(int(c))
	first, end := p.class.kernel.Entries(int(c))
	return to, prob, p.e.Letter[first:end]
}

// solveState treats a component of one state.
func (p *epochPass) solveState(s int32) {
	c, best := p.class, math.Inf(1)
	for i := c.kernel.First[s]; i < c.kernel.First[s+1]; i++ {
		x, size, out := c.reward[i], c.size[i], 0.0
		to, prob, letters := p.row(i)
		for j, n := range to {
			from := p.from[letters[j]]
			if n == s && &from[0] == &p.v[0] {
				continue
			}
			y := float64(prob[j] * from[n])
			x += y
			size += math.Abs(y)
			out += prob[j]
		}
		if out == 0 {
			continue
		}
		x -= p.rounding * (size + math.Abs(x))
		if out != 1 {
			x /= out
		}
		if x < best {
			best, p.chosen[s] = x, i
		}
	}
	p.v[s] = best
	p.setReturns(s, 1, func(n int32) bool { return n == s })
}

// setReturns sets the returns of a state to those of its choice and what follows, but for what stays in the epoch in
// states of a set, divided by how likely that is left if over is 1.
func (p *epochPass) setReturns(s int32, over int, in func(n int32) bool) {
	d, c := p.e.Dim, p.chosen[s]
	dst, out := p.r[int(s)*d:][:d], 0.0
	copy(dst, p.class.kernel.ReturnsOf(int(c), d))
	to, prob, letters := p.row(c)
	for j, n := range to {
		from := p.fromReturns[letters[j]]
		if &from[0] == &p.r[0] && in(n) {
			continue
		}
		out += prob[j]
		for k, x := range from[int(n)*d:][:d] {
			dst[k] += float64(prob[j] * x)
		}
	}
	if over == 1 && out != 1 {
		floats.Scale(1/out, dst)
	}
}

// solveComponent treats component i, of the states [lo, hi) of the quotient. What leaves the epoch is a reward there.
func (p *epochPass) solveComponent(ctx context.Context, i int, lo, hi int32) error {
	c, q, z, largest := p.class, p.class.quotient, p.class.components, 0.0
	for n := q.First[lo]; n < q.First[hi]; n++ {
		x, size, inside := c.reward[q.Choice[n]], c.size[q.Choice[n]], 0.0
		to, prob, letters := p.row(q.Choice[n])
		for j, s := range to {
			from := p.from[letters[j]]
			y := float64(prob[j] * from[s])
			if &from[0] == &p.v[0] {
				inside += math.Abs(y) // 0 in the component, which is not solved yet
				continue
			}
			x += y
			size += math.Abs(y)
		}
		z.Reward[n], z.Weight[n] = x, size
		largest = max(largest, size+inside)
	}
	if p.perturbation > 1 { // where large numbers cancel out, small ones have the rounding of these
		floats.AddConst(largest, z.Weight[q.First[lo]:q.First[hi]])
	}
	if _, err := z.SolveComponent(ctx, i); err != nil {
		return err
	}
	inside := func(s int32) bool { return q.Number[s] >= lo && q.Number[s] < hi }
	p.chain.Reset()
	for n := lo; n < hi; n++ {
		s := q.Origin[n]
		p.v[s], p.chosen[s] = z.Values[n], q.Choice[z.Policy[n]]
		p.setReturns(s, 0, inside)
		p.chain.EndRow(p.addInside(s, p.chosen[s], 1, lo, inside))
	}
	p.right, p.solution = slices.Grow(p.right[:0], int(hi-lo))[:hi-lo], slices.Grow(p.solution[:0], int(hi-lo))[:hi-lo]
	for k := range p.e.Dim {
		for n := lo; n < hi; n++ {
			p.right[n-lo] = p.r[int(q.Origin[n])*p.e.Dim+k]
		}
		copy(p.solution, p.right)
		if err := p.chain.Solve(ctx, p.solution, p.right, false, 0); err != nil {
			return err
		}
		for n := lo; n < hi; n++ {
			p.r[int(q.Origin[n])*p.e.Dim+k] = p.solution[n-lo]
		}
	}
	return nil
}

// addInside adds the transitions of a choice, taken with some probability, to other states of a component, whose first
// number is lo, to the row of the chain. It returns how likely the component is left.
func (p *epochPass) addInside(s, c int32, share float64, lo int32, inside func(s int32) bool) (leak float64) {
	to, prob, letters := p.row(c)
	for j, n := range to {
		stays := p.e.After(p.epoch, letters[j]) == p.epoch
		switch {
		case stays && n == s || prob[j] == 0:
		case stays && inside(n):
			p.chain.Add(p.class.quotient.Number[n]-lo, share*prob[j])
		default:
			leak += share * prob[j]
		}
	}
	return leak
}

// belowBackups reports whether all values of the epoch are at most what each choice gives, see lowerValues.shortfall.
func (p *epochPass) belowBackups() bool {
	c := p.class
	for _, s := range c.quotient.Origin {
		v := p.v[s]
		for i := c.kernel.First[s]; i < c.kernel.First[s+1]; i++ {
			sum, size := c.reward[i], c.size[i]
			to, prob, letters := p.row(i)
			for j, n := range to {
				y := float64(prob[j] * (p.from[letters[j]][n] - v))
				sum += y
				size += math.Abs(y)
			}
			if !(sum-float64(p.e.Dim+len(to)+4)*roundoff*size >= 0) {
				return false
			}
		}
	}
	return true
}

// evaluate goes from the first epoch to the last and counts how often each pair is visited.
func (p *epochTotals) evaluate(ctx context.Context, policy *Policy) ([]float64, error) {
	out := make([]float64, p.e.Dim)
	for _, c := range policy.mixture {
		x, err := p.evaluate(ctx, c.Policy)
		if err != nil {
			return nil, err
		}
		floats.AddScaled(out, c.Weight, x)
	}
	if policy.mixture != nil {
		return out, nil
	}
	v := &epochVisits{epochPass: &epochPass{epochTotals: p}, policy: policy, arrivals: make([][]float64, p.e.Len()),
		returns: out, share: make([]float64, p.actions)}
	for _, st := range p.m.StartStates() {
		epoch, s := p.e.Split(st.State)
		v.at(epoch)[s] += st.Probability
	}
	for v.epoch = range p.e.Len() {
		if v.arrivals[v.epoch] != nil {
			if err := v.visit(ctx); err != nil {
				return nil, err
			}
			v.arrivals[v.epoch] = nil
		}
	}
	return out, nil
}

// epochVisits count the visits that a policy makes.
type epochVisits struct {
	*epochPass
	policy   *Policy
	arrivals [][]float64 // of each epoch, of its states; nil without any
	returns  []float64
	share    []float64
}

func (v *epochVisits) at(epoch int) []float64 {
	if v.arrivals[epoch] == nil {
		v.arrivals[epoch] = make([]float64, v.e.Base.States())
	}
	return v.arrivals[epoch]
}

// visit counts the visits of the epoch, one component after the other, and hands on what leaves it.
func (v *epochVisits) visit(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	v.class = v.classes[v.e.Class[v.epoch]]
	q, mass := v.class.quotient, v.at(v.epoch)
	for i := len(q.Component) - 2; i >= 0; i-- {
		lo, hi := q.Component[i], q.Component[i+1]
		inside := func(s int32) bool { return q.Number[s] >= lo && q.Number[s] < hi }
		v.right = v.right[:0]
		v.chain.Reset()
		for n := lo; n < hi; n++ {
			s, leak := q.Origin[n], 0.0
			v.right = append(v.right, mass[s])
			for a, x := range v.shares(s) {
				if x > 0 {
					leak += v.addInside(s, v.class.kernel.First[s]+int32(a), x, lo, inside)
				}
			}
			v.chain.EndRow(leak)
		}
		if floats.Norm(v.right, 1) == 0 {
			continue
		}
		v.solution = append(v.solution[:0], v.right...)
		if err := v.chain.Solve(ctx, v.solution, v.right, true, 0); err != nil {
			return err
		}
		for n := lo; n < hi; n++ {
			v.handOn(q.Origin[n], v.solution[n-lo], inside)
		}
	}
	return nil
}

// shares are those of the actions that the policy takes in a state of the epoch.
func (v *epochVisits) shares(s int32) []float64 {
	k := v.class.kernel
	x := v.share[:k.First[s+1]-k.First[s]]
	v.policy.Distribution(x, 0, v.e.Pair(v.epoch, int(s)))
	return x
}

// handOn counts what visits of a state return, and adds what leaves its component to arrivals.
func (v *epochVisits) handOn(s int32, visits float64, inside func(s int32) bool) {
	for a, x := range v.shares(s) {
		c := v.class.kernel.First[s] + int32(a)
		if x == 0 || visits == 0 {
			continue
		}
		floats.AddScaled(v.returns, x*visits, v.class.kernel.ReturnsOf(int(c), v.e.Dim))
		to, prob, letters := v.row(c)
		for j, n := range to {
			if after := v.e.After(v.epoch, letters[j]); after != v.epoch || !inside(n) {
				v.at(after)[n] += float64(x * visits * prob[j])
			}
		}
	}
}
