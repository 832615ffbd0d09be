package exact

import (
	"context"
	"errors"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cmdp/progress"

	"gonum.org/v1/gonum/floats"
)

// epochTotals is the pricer of a cmdp.Epochs: the totals of a model whose pairs go from one epoch to later ones. It
// solves the small model of one epoch after the other, last first, where what is left counts what was found before
// (Hartmanns, Junges, Katoen, Quatmann 2018), and evaluates the policy in the same pass. Values of an epoch are dropped
// when no other one leads there. A policy is made again for its direction where it is asked for.
type epochTotals struct {
	*epochModels
	relevance
	classes  []*epochClass // nil where no epoch comes up
	allowed  *choiceSets   // those that are offered and that policies with finite totals may take
	harm     bool          // policies may go on for ever in an epoch for a return that has to be finite
	chain    markov.Chain
	progress progress.Func
	pass     epochPass
}

// mostTogether is the most states of a component of an epoch that take less time here than where rows are stored:
// larger ones are swept, to rounding in each epoch and direction, which the first directions do not need.
const mostTogether = 1 << 14

// SolvesEpochs reports whether a model of epochs is one for a task, or for the trade-off between some directions within
// its limits: it has no giant components and, where choices are not offered, policies that stay in an epoch for ever
// gain nothing by that. Rows of other models are to be stored. Where all choices are offered the planner stores them
// itself once a policy has to remember which loops it is done with.
func (p *Planner) SolvesEpochs(ctx context.Context, task cmdp.Task, over ...[]float64) (bool, error) {
	if p.m == nil || p.m.Epochs() == nil {
		return false, errors.New("exact: no model of epochs")
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	all, err := p.epochModels(ctx)
	if err != nil {
		return false, err
	}
	matters := relevanceOf(p.dim(), task, over...)
	for _, c := range all.models {
		if c == nil {
			continue
		}
		gains := false
		if p.m.Epochs().Restricted() {
			gains, err = c.gainsForEver(ctx, matters)
		}
		if err != nil || gains || c.giant() {
			return false, err
		}
	}
	return true, nil
}

// epochModels returns those of the planner's model, which are made once.
func (p *Planner) epochModels(ctx context.Context) (_ *epochModels, err error) {
	if p.epochs == nil {
		p.epochs, err = newEpochModels(ctx, p.m, p.workers)
	}
	return p.epochs, err
}

// withRelevance returns the pricer for what matters. States are left out where rows are stored.
func (m *epochModels) withRelevance(ctx context.Context, c relevance) (*epochTotals, error) {
	if len(c.without) > 0 {
		return nil, errWantsRows
	}
	p := m.newTotals(c)
	return p, p.restrictToProper(ctx)
}

// newTotals returns the pricer without what it may do in an epoch.
func (m *epochModels) newTotals(c relevance) *epochTotals {
	e := m.e
	p := &epochTotals{epochModels: m, relevance: c, classes: make([]*epochClass, len(m.models))}
	for i, of := range m.models {
		if of == nil {
			continue
		}
		choices := of.kernel.Choices()
		p.classes[i] = &epochClass{epochModel: of, harmless: of.harmless(c), reward: make([]float64, choices),
			size: make([]float64, choices)}
	}
	p.pass = epochPass{epochTotals: p, values: make([][]float64, e.Len()), returns: make([][]float64, e.Len()),
		nothing: make([]float64, e.Base.States()*max(1, e.Dim)),
		from:    make([][]float64, e.Letters), fromReturns: make([][]float64, e.Letters),
		corrections: corrections{all: make([][]float64, e.Len()), fromLacks: make([][]float64, e.Letters)}}
	return p
}

func (p *epochTotals) dim() int { return p.e.Dim }

func (p *epochTotals) traits() traits {
	out := traits{singlePolicy: true, unboundedTotals: true, infiniteHorizon: true, stateless: true, steps: p.steps,
		relevanceOnly: p.endless, simultaneous: p.simultaneous}
	if p.endless {
		out.relevance = &p.relevance
		out.improper, out.rays = func(context.Context) (bool, error) { return p.harm, nil }, p
	}
	return out
}

func (p *epochTotals) configure(tell progress.Func, _ float64, _ bool) { p.progress = tell }

// extent sets lower and upper to the extremes of each total over all policies, rounded outwards, ±Boundless where
// there are none.
func (p *epochTotals) extent(ctx context.Context, lower, upper []float64) error {
	return p.ranges(ctx, lower, upper)
}

func (p *epochTotals) price(ctx context.Context, dir []float64, _ float64) (pricedPolicy, error) {
	out, err := p.solve(ctx, dir, nil)
	if err != nil || out.ray != nil || !p.pass.stays {
		return out, err
	}
	policy, err := p.recoverPolicy(ctx, []column{{dir: dir}}, []float64{1}, face{}, 0)
	if err != nil {
		return out, err
	}
	out.withInfinite, err = p.evaluate(ctx, policy)
	return out, err
}

// recoverPolicy returns the policies of the columns, one of which is drawn at the start. None of them draws.
func (p *epochTotals) recoverPolicy(ctx context.Context, columns []column, weights []float64, _ face,
	_ float64) (*Policy, error) {
	out := &Policy{}
	parts, err := p.weightedRules(ctx, columns, weights)
	if err != nil {
		return nil, err
	}
	for _, o := range parts {
		out.mixture = append(out.mixture, WeightedPolicy{o.weight, NewPolicy([]markov.Rule{o.st})})
	}
	if len(columns) == 1 {
		return out.mixture[0].Policy, nil
	}
	return out, nil
}

// solve finds the policy that is cheapest in a direction, with a bound that is proved, or a ray. actions, if not nil,
// are set to those of the policy. Where a policy gains for ever by what rounding leaves of a direction on the side that
// does not matter, the policy is that without it, and has no bound.
func (p *epochTotals) solve(ctx context.Context, dir []float64, actions *markov.Actions) (out pricedPolicy,
	err error) {
	out, err = p.solveDirection(ctx, dir, actions)
	if err != nil || out.ray == nil {
		return out, err
	}
	rest := slices.Clone(dir)
	for i, x := range dir {
		if x > 0 && !p.up[i] || x < 0 && !p.down[i] {
			rest[i] = 0
		}
	}
	if slices.Equal(rest, dir) {
		return out, err
	}
	out, err = p.solveDirection(ctx, rest, actions)
	out.value, out.margin = math.Inf(-1), math.Inf(1)
	return out, err
}

// solveDirection is solve for a direction in which nothing is gained for ever. Where rounding is more than choices are
// made cheaper by, these are made still cheaper.
func (p *epochTotals) solveDirection(ctx context.Context, dir []float64, actions *markov.Actions) (out pricedPolicy,
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
	allows            []bool  // choices, nil for all
	chosen            []int32 // of each state of the quotient, its choice there
	lifted            []int32 // of each state, its choice, see returnsInside
	right, solution   []float64
	onlyReached       bool        // states that do not come up do not count
	stays             bool        // the policy may stay somewhere for ever and return something
	endless           []int32     // states of the quotient in which a policy gains for ever, see solveEpoch
	gains             [][]float64 // of a step in loops whose returns cancel out in the direction
	rationalWork      int         // what is done in rational arithmetic, see mostRationalPass
	corrections
}

func (p *epochPass) solve(ctx context.Context, dir []float64, perturbation float64,
	actions *markov.Actions) (out pricedPolicy, proved bool, err error) {
	states, d := p.e.Base.States(), p.e.Dim
	p.dir, p.perturbation = dir, perturbation
	p.rounding = perturbation * float64(16+4*p.longest+2*d) * roundoff
	p.chosen, p.stays = slices.Grow(p.chosen[:0], states), false
	p.gains, p.rationalWork = nil, 0
	for _, c := range p.classes {
		if c == nil {
			continue
		}
		if err := c.enterDirection(ctx, dir, &p.chain); err != nil {
			return out, false, err
		}
	}
	starts := p.m.StartStates()
	start, first := make([]cmdp.StartState, len(starts)), make([]float64, len(starts))
	small := make([]float64, len(starts))
	out.returns, out.certified, proved = make([]float64, d), true, true
	for p.epoch = p.e.Len() - 1; p.epoch >= 0; p.epoch-- {
		if p.comesUp[p.epoch] {
			p.enter()
			err := p.solveEpoch(ctx)
			if errors.Is(err, errEndless) {
				out, err = p.ray(ctx)
				return out, true, err
			}
			if err != nil {
				return out, false, err
			}
			if err := p.correct(ctx); err != nil {
				return out, false, err
			}
			proved = proved && p.belowBackups(ctx)
			p.record(actions)
		}
		for i, st := range starts {
			if epoch, s := p.e.Split(st.State); epoch == p.epoch {
				start[i], first[i] = cmdp.StartState{State: i, Probability: st.Probability}, p.v[s]
				if p.rounds > 0 {
					small[i] = p.lacks[s]
				}
				floats.AddScaled(out.returns, st.Probability, p.r[s*d:][:d])
			}
		}
		p.leave()
	}
	out.cancellingGains = p.gains
	out.value, out.margin = meanOver(start, first)
	if p.rounds > 0 {
		more, lost := meanOver(start, small)
		out.value += more
		out.margin += lost + roundoff*math.Abs(out.value)
	}
	return out, proved, nil
}

// enter makes room for the epoch.
func (p *epochPass) enter() {
	states := p.e.Base.States()
	p.class = p.classes[p.e.Class[p.epoch]]
	p.v, p.r = takeSpare(&p.spare[0], states), takeSpare(&p.spare[1], states*p.e.Dim)
	p.values[p.epoch], p.returns[p.epoch] = p.v, p.r
	for l := range p.from {
		after := p.e.After(p.epoch, int32(l))
		p.from[l], p.fromReturns[l] = p.values[after], p.returns[after]
		if !p.comesUp[after] {
			p.from[l], p.fromReturns[l] = p.nothing, p.nothing
		}
	}
	p.enterCorrections()
	p.quotient, p.components, p.onlyReached = p.class.quotient, p.class.components, false
	p.restrictToAllowed()
	p.resetComponents()
	p.progress.At("finding values of epochs", 1-float64(p.epoch+1)/float64(p.e.Len()), p.e.Len())
}

func (p *epochPass) resetComponents() {
	p.components.Reset(0)
	p.components.Perturbation = p.perturbation
	p.components.Progress = p.progress
}

// counts reports whether a state of the epoch counts.
func (p *epochPass) counts(s int32) bool {
	return !p.onlyReached || p.e.ComesUp(p.e.Pair(p.epoch, int(s)))
}

// takeSpare returns n zeros, in memory that is spare if there is any.
func takeSpare(spare *[][]float64, n int) []float64 {
	if k := len(*spare); k > 0 {
		x := (*spare)[k-1]
		*spare = (*spare)[:k-1]
		clear(x)
		return x
	}
	return make([]float64, n)
}

// leave drops what is needed no more.
func (p *epochPass) leave() {
	for _, epoch := range p.done[p.epoch] {
		if p.values[epoch] == nil {
			continue
		}
		p.spare[0], p.spare[1] = append(p.spare[0], p.values[epoch]), append(p.spare[1], p.returns[epoch])
		p.values[epoch], p.returns[epoch] = nil, nil
		p.leaveCorrections(epoch)
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

// errEndless says that a policy gains for ever in endless states of the epoch.
var errEndless = errors.New("exact: a policy gains for ever in an epoch")

// solveEpoch finds values, policy and returns of the states of the epoch. A place where a policy gains for ever may be
// one that does not come up.
func (p *epochPass) solveEpoch(ctx context.Context) error {
	err := p.solveComponents(ctx)
	if errors.Is(err, errEndless) {
		p.onlyReached = true
		p.restrict()
		p.resetComponents()
		err = p.solveComponents(ctx)
	}
	if err != nil {
		return err
	}
	for _, l := range p.components.Loops {
		p.addGain(l)
	}
	if p.class.insideReturns {
		return p.returnsInside(ctx)
	}
	return nil
}

// addGain notes what a loop returns in a step, unless another one does too.
func (p *epochPass) addGain(l markov.Loop) {
	gain := make([]float64, p.e.Dim)
	for j, c := range l.Choices {
		if c != markov.Stay {
			floats.AddScaled(gain, l.Share[j], p.class.kernel.ReturnsOf(int(c), p.e.Dim))
		}
	}
	if !slices.ContainsFunc(p.gains, func(x []float64) bool { return slices.Equal(x, gain) }) {
		p.gains = append(p.gains, gain)
	}
}

func (p *epochPass) solveComponents(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	q := p.quotient
	p.chosen = p.chosen[:q.Rest]
	for i := range len(q.Component) - 1 {
		lo, hi := q.Component[i], q.Component[i+1]
		var err error
		if hi == lo+1 {
			err = p.solveState(lo)
		} else {
			err = p.solveComponent(ctx, i, lo, hi)
		}
		if err != nil {
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
func (p *epochPass) solveState(n int32) error {
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
		if out == 0 { // for ever
			if x < -cancellation*size {
				p.endless, p.chosen[n] = []int32{n}, i
				return errEndless
			}
			if x <= cancellation*size && size > 0 {
				p.addGain(markov.Loop{Choices: q.Choice[i : i+1], Share: []float64{1}})
			}
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
	if math.IsInf(best, 1) {
		p.endless, p.chosen[n] = []int32{n}, -1
		return errEndless
	}
	p.components.Values[n] = best
	out := p.setReturns(n, n, n+1)
	if out != 1 && out != 0 {
		floats.Scale(1/out, p.returnsOf(n))
	}
	p.copyToMembers(n)
	return nil
}

// cancellation is the relative size up to which a sum counts as 0 with rounding.
const cancellation = 1e-13

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
		p.stays = p.stays || p.class.stayReturns
		return 0
	}
	return p.setReturnsOf(dst, p.quotient, c, lo, hi)
}

// setReturnsOf sets returns to those of a choice and of what follows outside of the component [lo, hi) of a quotient.
// It returns how likely that is left.
func (p *epochPass) setReturnsOf(dst []float64, q *markov.Quotient, c, lo, hi int32) (out float64) {
	copy(dst, p.class.kernel.ReturnsOf(int(c), len(dst)))
	to, prob, letters := p.row(c)
	for j, number := range p.numbers(q, c) {
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
	endless, err := z.SolveComponent(ctx, i)
	if endless != nil && err == nil {
		p.endless, err = endless, errEndless
		for _, n := range endless {
			p.chosen[n] = z.Policy[n]
		}
	}
	if err != nil {
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

// returnsInside sets the returns of all states to those of the policy, which may return something on its way through
// what is merged, if nothing in the direction. What it returns where it stays is left out.
func (p *epochPass) returnsInside(ctx context.Context) error {
	d, q := p.e.Dim, p.class.states
	p.lifted = slices.Grow(p.lifted[:0], p.e.Base.States())[:p.e.Base.States()]
	copy(p.lifted, p.class.kernel.First) // in states that do not come up
	p.quotient.Lift(p.chosen, func(s, c int32) { p.lifted[s] = c })
	for i := range len(q.Component) - 1 {
		lo, hi := q.Component[i], q.Component[i+1]
		p.chain.Reset()
		for n := lo; n < hi; n++ {
			s := q.Origin[n]
			p.setReturnsOf(p.r[int(s)*d:][:d], q, p.lifted[s], lo, hi)
			p.chain.EndRow(p.addInside(q, n, p.lifted[s], 1, lo, hi))
		}
		for _, n := range p.chain.OpenClosedSets() {
			clear(p.r[int(q.Origin[lo+n])*d:][:d])
		}
		p.right = slices.Grow(p.right[:0], int(hi-lo))[:hi-lo]
		p.solution = slices.Grow(p.solution[:0], int(hi-lo))[:hi-lo]
		for k := range d {
			for n := range p.right {
				p.right[n] = p.r[int(q.Origin[lo+int32(n)])*d+k]
			}
			copy(p.solution, p.right)
			if err := p.chain.Solve(ctx, p.solution, p.right, false, 0); err != nil {
				return err
			}
			for n, x := range p.solution {
				p.r[int(q.Origin[lo+int32(n)])*d+k] = x
			}
		}
	}
	return nil
}

// setRewards sets the rewards of the choices of the component [lo, hi) to what they and what leaves the epoch give.
func (p *epochPass) setRewards(lo, hi int32) {
	c, q, z, largest := p.class, p.quotient, p.components, 0.0
	for i := q.First[lo]; i < q.First[hi]; i++ {
		if q.Choice[i] == markov.Stay {
			z.Reward[i], z.Weight[i] = 0, 0 // corrections had others
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
