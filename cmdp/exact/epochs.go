package exact

import (
	"context"
	"errors"
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
	classes  []*epochClass // nil where no epoch comes up
	comesUp  []bool        // of each epoch, some pair does
	done     [][]int32     // of each epoch, those whose values are not needed any more once it is solved
	steps    []float64     // of each return, the largest magnitude in a step
	longest  int
	actions  int // the most of a state
	chain    markov.Chain
	progress markov.Progress
	pass     epochPass
}

// An epochClass has the small model of some epochs: what stays in the epoch.
type epochClass struct {
	kernel *cmdp.Kernel     // the rows of the base, with the returns of the class
	states *markov.Quotient // in which nothing is merged
	// End components, where a policy may stay in the epoch for ever, return nothing, and are merged.
	quotient     *markov.Quotient
	members      [][]int32          // of each state of the quotient, those of the base
	components   *markov.LeastTotal // of several states
	proper       []int32            // its first policy
	reward, size []float64          // of each choice in the direction, and what that is the sum of
}

var errNoEnd = errors.New("exact: a policy may stay in an epoch for ever and get returns there: want stored rows")

// mostTogether is the most states of a component of an epoch that take less time here than where rows are stored:
// larger ones are swept, to rounding in each epoch and direction, which the first directions do not need.
const mostTogether = 1 << 14

// SolvesEpochs reports whether tasks of a model of epochs are solved, and without giant components: where policies may
// stay in an epoch for ever, nothing must be returned. Rows of other models are to be stored.
func SolvesEpochs(ctx context.Context, m *cmdp.Model) (bool, error) {
	if m == nil || m.Epochs() == nil {
		return false, errors.New("exact: no model of epochs")
	}
	p, err := newEpochTotals(ctx, m)
	if errors.Is(err, errNoEnd) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, c := range p.classes {
		if c == nil {
			continue
		}
		for i := range c.states.Component[1:] {
			if c.states.Component[i+1]-c.states.Component[i] > mostTogether {
				return false, nil
			}
		}
	}
	return true, nil
}

// newEpochTotals returns errNoEnd if a policy may get returns in an epoch for ever.
func newEpochTotals(ctx context.Context, m *cmdp.Model) (*epochTotals, error) {
	e := m.Epochs()
	p := &epochTotals{m: m, e: e, classes: make([]*epochClass, len(e.Classes)), steps: make([]float64, e.Dim),
		comesUp: make([]bool, e.Len())}
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
		for s := 0; s < e.Base.States() && !p.comesUp[epoch]; s++ {
			p.comesUp[epoch] = e.ComesUp(e.Pair(epoch, s))
		}
		if i := e.Class[epoch]; p.comesUp[epoch] && p.classes[i] == nil {
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
		nothing: make([]float64, e.Base.States()*max(1, e.Dim)),
		from:    make([][]float64, e.Letters), fromReturns: make([][]float64, e.Letters)}
	return p, nil
}

// newClass makes the small model of the class of an epoch.
func (p *epochTotals) newClass(ctx context.Context, epoch int) (*epochClass, error) {
	c := &epochClass{kernel: &p.e.Classes[p.e.Class[epoch]]}
	g := markov.EpochGraph(p.e, epoch)
	parts, err := g.LayeredComponents(ctx)
	if err != nil {
		return nil, err
	}
	g.Cycles = parts
	ends, err := g.EndComponents(ctx)
	if err != nil {
		return nil, err
	}
	for i, inside := range ends.Inside {
		if inside && floats.Norm(c.kernel.ReturnsOf(i, p.e.Dim), 1) > 0 {
			return nil, errNoEnd
		}
	}
	c.states = g.Number(parts, nil)
	c.states.Fill(g, c.states.Origin, nil)
	c.quotient = c.states
	if ends.Len() > 0 {
		c.quotient = g.Quotient(parts, ends, func(int32) bool { return true })
		c.quotient.Predecessors = (&markov.Graph{Kernel: g.Kernel, Allowed: ends.Inside}).Predecessors()
	}
	c.members = make([][]int32, c.quotient.Rest)
	for _, s := range c.states.Origin {
		n := c.quotient.Number[s]
		c.members[n] = append(c.members[n], s)
	}
	c.components = markov.NewLeastTotal(c.quotient, 1, 1, &p.chain)
	c.proper = slices.Clone(c.components.Policy)
	c.reward, c.size = make([]float64, c.kernel.Choices()), make([]float64, c.kernel.Choices())
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
	nothing         []float64 // zeros, of an epoch that does not come up
	dir             []float64
	perturbation    float64
	rounding        float64 // more than what rounding takes from a sum of numbers of the size 1

	// in the epoch:
	epoch             int
	class             *epochClass
	quotient          *markov.Quotient   // that of the class, with what is offered
	components        *markov.LeastTotal // of it
	from, fromReturns [][]float64        // of each letter, those of the epoch that it leads to
	v, r              []float64
	chosen            []int32 // of each state of the quotient, its choice there
	right, solution   []float64
}

func (p *epochPass) solve(ctx context.Context, dir []float64, perturbation float64,
	actions *markov.Actions) (out pricedPolicy, proved bool, err error) {
	states, d := p.e.Base.States(), p.e.Dim
	p.dir, p.perturbation = dir, perturbation
	p.rounding = perturbation * float64(16+4*p.longest+2*d) * roundoff
	p.chosen = slices.Grow(p.chosen[:0], states)
	p.scalarize()
	starts := p.m.StartStates()
	start, first := make([]cmdp.StartState, len(starts)), make([]float64, len(starts))
	out.returns, out.certified, proved = make([]float64, d), true, true
	for p.epoch = p.e.Len() - 1; p.epoch >= 0; p.epoch-- {
		if p.comesUp[p.epoch] {
			p.enter()
			if err := p.solveEpoch(ctx); err != nil {
				return out, false, err
			}
			proved = proved && p.belowBackups()
			p.record(actions)
		}
		for i, st := range starts {
			if epoch, s := p.e.Split(st.State); epoch == p.epoch {
				start[i], first[i] = cmdp.StartState{State: i, Probability: st.Probability}, p.v[s]
				floats.AddScaled(out.returns, st.Probability, p.r[s*d:][:d])
			}
		}
		p.leave()
	}
	out.value, out.margin = meanOver(start, first)
	return out, proved, nil
}

// scalarize sets the rewards of choices to those of the direction.
func (p *epochPass) scalarize() {
	for _, c := range p.classes {
		if c == nil {
			continue
		}
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
		if !p.comesUp[after] {
			p.from[l], p.fromReturns[l] = p.nothing, p.nothing
		}
	}
	p.quotient, p.components = p.class.quotient, p.class.components
	if p.e.Restricted() {
		p.restrict()
	}
	p.components.Reset(0)
	p.components.Perturbation = p.perturbation
	p.components.Progress = p.progress
	p.progress.At("finding values of epochs", 1-float64(p.epoch+1)/float64(p.e.Len()), p.e.Len())
}

// restrict leaves what is offered. States where nothing is do not come up, and a policy may stay for ever in all end
// components of others.
func (p *epochPass) restrict() {
	of := p.quotient
	q := *of
	q.First, q.Choice = make([]int32, 1, len(of.First)), make([]int32, 0, len(of.Choice))
	for n := range of.Rest {
		choices := of.Choice[of.First[n]:of.First[n+1]]
		for _, c := range choices {
			if c == markov.Stay || p.e.Offers(p.epoch, c) {
				q.Choice = append(q.Choice, c)
			}
		}
		if q.First[n] == int32(len(q.Choice)) {
			q.Choice = append(q.Choice, choices...)
		}
		q.First = append(q.First, int32(len(q.Choice)))
	}
	if len(q.Choice) < len(of.Choice) {
		p.quotient, p.components = &q, markov.NewLeastTotal(&q, 1, 1, &p.chain)
	}
}

// leave drops what is needed no more.
func (p *epochPass) leave() {
	for _, epoch := range p.done[p.epoch] {
		if p.values[epoch] == nil {
			continue
		}
		p.spare[0], p.spare[1] = append(p.spare[0], p.values[epoch]), append(p.spare[1], p.returns[epoch])
		p.values[epoch], p.returns[epoch] = nil, nil
	}
}

// record sets actions, unless they are nil, to those that are chosen in the epoch.
func (p *epochPass) record(actions *markov.Actions) {
	if actions == nil {
		return
	}
	p.quotient.Lift(p.chosen, func(s, c int32) {
		actions.Set(p.e.Pair(p.epoch, int(s)), int(c-p.class.kernel.First[s]))
	})
}

// solveEpoch finds values, policy and returns of the states of the epoch.
func (p *epochPass) solveEpoch(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	q := p.quotient
	p.chosen = p.chosen[:q.Rest]
	for i := range len(q.Component) - 1 {
		lo, hi := q.Component[i], q.Component[i+1]
		if hi == lo+1 {
			p.solveState(lo)
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

// numbers returns the numbers in a quotient of the states that a choice leads to, Rest outside of the epoch.
func (p *epochPass) numbers(q *markov.Quotient, c int32) []int32 {
	first, end := p.class.kernel.Entries(int(c))
	return q.To[first:end]
}

// solveState treats a component of one state.
func (p *epochPass) solveState(n int32) {
	c, q, best := p.class, p.quotient, math.Inf(1)
	for i := q.First[n]; i < q.First[n+1]; i++ {
		if q.Choice[i] == markov.Stay { // the first one
			best, p.chosen[n] = 0, i
			continue
		}
		x, size, out := c.reward[q.Choice[i]], c.size[q.Choice[i]], 0.0
		to, prob, letters := p.row(q.Choice[i])
		for j, number := range p.numbers(q, q.Choice[i]) {
			if number == n {
				continue
			}
			y := float64(prob[j] * p.from[letters[j]][to[j]])
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
			best, p.chosen[n] = x, i
		}
	}
	p.components.Values[n] = best
	out := p.setReturns(n, n, n+1)
	if out != 1 && out != 0 {
		floats.Scale(1/out, p.returnsOf(n))
	}
	p.copyToMembers(n)
}

// returnsOf are the returns from state n of the quotient on: those of its first member.
func (p *epochPass) returnsOf(n int32) []float64 {
	return p.r[int(p.class.members[n][0])*p.e.Dim:][:p.e.Dim]
}

// copyToMembers sets values and returns of what is merged in a state of the quotient.
func (p *epochPass) copyToMembers(n int32) {
	for i, s := range p.class.members[n] {
		p.v[s] = p.components.Values[n]
		if i > 0 { // returnsOf is the first one
			copy(p.r[int(s)*p.e.Dim:][:p.e.Dim], p.returnsOf(n))
		}
	}
}

// setReturns sets the returns of state n of the quotient to those of its choice and of what follows outside of the
// component [lo, hi). It returns how likely that is left.
func (p *epochPass) setReturns(n, lo, hi int32) (out float64) {
	c, dst := p.quotient.Choice[p.chosen[n]], p.returnsOf(n)
	if c == markov.Stay {
		clear(dst)
		return 0
	}
	copy(dst, p.class.kernel.ReturnsOf(int(c), len(dst)))
	to, prob, letters := p.row(c)
	for j, number := range p.numbers(p.quotient, c) {
		if number >= lo && number < hi {
			continue
		}
		out += prob[j]
		for k, x := range p.fromReturns[letters[j]][int(to[j])*len(dst):][:len(dst)] {
			dst[k] += float64(prob[j] * x)
		}
	}
	return out
}

// solveComponent treats component i, of the states [lo, hi) of the quotient. What leaves the epoch is a reward there.
func (p *epochPass) solveComponent(ctx context.Context, i int, lo, hi int32) error {
	q, z := p.quotient, p.components
	p.setRewards(lo, hi)
	if _, err := z.SolveComponent(ctx, i); err != nil {
		return err
	}
	p.chain.Reset()
	for n := lo; n < hi; n++ {
		p.chosen[n] = z.Policy[n]
		p.setReturns(n, lo, hi)
		leak := 1.0
		if of := q.Choice[p.chosen[n]]; of != markov.Stay {
			leak = p.addInside(q, n, of, 1, lo, hi)
		}
		p.chain.EndRow(leak)
	}
	p.right, p.solution = slices.Grow(p.right[:0], int(hi-lo))[:hi-lo], slices.Grow(p.solution[:0], int(hi-lo))[:hi-lo]
	for k := range p.e.Dim {
		for n := lo; n < hi; n++ {
			p.right[n-lo] = p.returnsOf(n)[k]
		}
		copy(p.solution, p.right)
		if err := p.chain.Solve(ctx, p.solution, p.right, false, 0); err != nil {
			return err
		}
		for n := lo; n < hi; n++ {
			p.returnsOf(n)[k] = p.solution[n-lo]
		}
	}
	for n := lo; n < hi; n++ {
		p.copyToMembers(n)
	}
	return nil
}

// setRewards sets the rewards of the choices of the component [lo, hi) to what they and what leaves the epoch give.
func (p *epochPass) setRewards(lo, hi int32) {
	c, q, z, largest := p.class, p.quotient, p.components, 0.0
	for i := q.First[lo]; i < q.First[hi]; i++ {
		if q.Choice[i] == markov.Stay {
			continue
		}
		x, size, inside := c.reward[q.Choice[i]], c.size[q.Choice[i]], 0.0
		to, prob, letters := p.row(q.Choice[i])
		for j, number := range p.numbers(q, q.Choice[i]) {
			y := float64(prob[j] * p.from[letters[j]][to[j]])
			if number != q.Rest {
				inside += math.Abs(y) // 0 in the component, which is not solved yet
				continue
			}
			x += y
			size += math.Abs(y)
		}
		z.Reward[i], z.Weight[i] = x, size
		largest = max(largest, size+inside)
	}
	if p.perturbation <= 1 {
		return
	}
	for i := q.First[lo]; i < q.First[hi]; i++ { // large numbers that cancel out have left their rounding to small ones
		if q.Choice[i] != markov.Stay {
			z.Weight[i] += largest
		}
	}
}

// addInside adds the transitions of a choice of state n, taken with some probability, to other states of the component
// [lo, hi) of a quotient to the row of the chain. It returns how likely the component is left.
func (p *epochPass) addInside(q *markov.Quotient, n, c int32, share float64, lo, hi int32) (leak float64) {
	_, prob := p.class.kernel.Row(int(c))
	for j, to := range p.numbers(q, c) {
		switch {
		case to == n || prob[j] == 0:
		case to >= lo && to < hi:
			p.chain.Add(to-lo, share*prob[j])
		default:
			leak += share * prob[j]
		}
	}
	return leak
}

// belowBackups reports whether all values of the epoch are at most what each choice that is offered gives, see
// lowerValues.shortfall, and at most 0 where a policy may stay.
func (p *epochPass) belowBackups() bool {
	c := p.class
	for _, m := range p.quotient.Merged {
		if p.components.Values[m.State] > 0 {
			return false
		}
	}
	for _, s := range c.states.Origin {
		v := p.v[s]
		for i := c.kernel.First[s]; i < c.kernel.First[s+1]; i++ {
			if !p.e.Offers(p.epoch, i) {
				continue
			}
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
