package exact

import (
	"context"
	"math"
	"math/big"
	"slices"
	"sync"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cmdp/progress"

	"gonum.org/v1/gonum/floats"
)

// averageReward is the pricer of long-run means, and of totals beside them. A policy ends up, for good, in an
// end component. In each maximal one the least mean in a direction is found first, then the way there:
// the total return of the quotient in which to stay in a component is worth its least mean (Puterman
// 1994, chapter 9; Ashok et al. 2017).
//
// Totals are collected on the way: a policy may stay only where they are 0.
//
// A column is a deterministic stationary policy which stays, in each end component where
// it stays at all, in one recurrent class. A mixture of them becomes one policy in each end, see
// longRunMixture.
type averageReward struct {
	*infiniteHorizon
	ends       *markov.EndComponents // in which a policy may stay
	transients map[string]*transient // by the totals that a direction has
	least      *markov.LeastMean     // in ends
	index      []int32               // of each state, its number among those that are looked at
	classChain markov.Chain          // of a policy inside an end
	// collects says that loops in which a total is gained are rays, as those of totals are. Else they are an error.
	collects bool
}

// A transient is the problem how to come to the ends: the total of what is collected before and of what staying is
// worth.
type transient struct {
	*markov.LeastTotal
	endsWithin [][]int32 // of each collapsed state, the ends inside
	bestEnd    []int32   // of each collapsed state, the best of them
	endless    []int32   // the states of the quotient in which the last policy goes on for ever, at a gain
}

func newAverageReward(ctx context.Context, m *cmdp.Model, workers int, c relevance,
	tell progress.Func) (*averageReward, error) {
	q, err := analyseReachable(ctx, m, workers, tell)
	if err != nil {
		return nil, err
	}
	p := &averageReward{infiniteHorizon: q}
	p.relevance = c
	if m.Average() {
		p.ends, err = p.graph.EndComponents(ctx)
	} else {
		err = p.findEnds(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	p.transients, p.least, p.index = make(map[string]*transient), markov.NewLeastMean(p.k, p.ends, p.chain),
		make([]int32, m.States())
	p.least.Workers = workers
	return p, nil
}

// numberStates notes the places of states in their order.
func (p *averageReward) numberStates(states []int32) {
	for j, s := range states {
		p.index[s] = int32(j)
	}
}

// findEnds finds the ends of a model with means and totals. It is an error if a policy
// could collect one of them without limit by staying: which mean goes with it would not be defined.
func (p *averageReward) findEnds(ctx context.Context, c relevance) error {
	q, err := p.infiniteHorizon.withRelevance(ctx, c)
	if err != nil {
		return err
	}
	p.infiniteHorizon, p.ends = q, q.neutralEnds
	if p.ends == nil { // nothing ever comes back
		p.ends, err = p.graph.EndComponents(ctx)
		if err != nil {
			return err
		}
	}
	for _, s := range p.ends.Order {
		for c := p.k.First[s]; c < p.k.First[s+1]; c++ {
			for i, r := range p.k.ReturnsOf(int(c), p.dim()) {
				if p.ends.Inside[c] && r != 0 && !p.m.Mean(i) && (p.up[i] || p.down[i]) {
					return &NoTotalError{State: int(s), Action: int(c - p.k.First[s]), Return: i, Wanted: true}
				}
			}
		}
	}
	return nil
}

// splitDirection returns the parts of a direction that means and totals have.
func (p *averageReward) splitDirection(dir []float64) (means, totals []float64) {
	means, totals = slices.Clone(dir), slices.Clone(dir)
	p.mask(means, true)
	p.mask(totals, false)
	return means, totals
}

// mask sets the entries of v to 0 that are not means, or that are.
func (p *averageReward) mask(v []float64, means bool) {
	for i := range v {
		if p.m.Mean(i) != means {
			v[i] = 0
		}
	}
}

// transientOf returns the solver of the transient problem for directions that have the same totals.
func (p *averageReward) transientOf(ctx context.Context, totals []float64) (w *transient, err error) {
	key := make([]byte, len(totals))
	for i, t := range totals {
		if t != 0 {
			key[i] = 1
		}
	}
	if w, ok := p.transients[string(key)]; ok {
		return w, nil
	}
	ends := p.ends
	if !p.m.Average() {
		ends, err = p.endComponents(ctx, p.choices(func(c int32) bool {
			return p.graph.Allows(c) && p.returnsNothing(totals, c)
		}))
		if err != nil {
			return nil, err
		}
	}
	inside := make([][]int32, ends.Len())
	for i := range p.ends.Len() {
		if e := ends.Of[p.ends.Part(i)[0]]; e >= 0 {
			inside[e] = append(inside[e], int32(i))
		}
	}
	q := p.graph.Quotient(p.parts, ends, func(i int32) bool { return len(inside[i]) > 0 })
	w = &transient{LeastTotal: markov.NewLeastTotal(q, 1, p.workers, p.chain), bestEnd: make([]int32, len(q.Merged))}
	for _, end := range q.Merged {
		w.endsWithin = append(w.endsWithin, inside[end.End])
	}
	q.StayChoices, q.StayStates = p.ends.Inside, func(j int) []int32 {
		if len(w.endsWithin[j]) == 0 {
			return nil
		}
		return p.least.Best[w.bestEnd[j]].States
	}
	if p.m.Average() { // all ends are collapsed
		q.Predecessors = p.least.Predecessors
	}
	p.transients[string(key)] = w
	return w, nil
}

// extent takes the extremes of a single step, and rests for 0. Totals have extremes of their own.
func (p *averageReward) extent(ctx context.Context, lower, upper []float64) error {
	if !p.m.Average() {
		if err := p.ranges(ctx, lower, upper); err != nil {
			return err
		}
	}
	least, most := p.stepExtremes()
	for i := range lower {
		if p.m.Mean(i) {
			lower[i], upper[i] = least[i], most[i]
		}
	}
	return nil
}

// stepExtremes returns the extremes of each return in a single step. They are found once.
func (p *averageReward) stepExtremes() (least, most []float64) {
	if p.known.least != nil {
		return p.known.least, p.known.most
	}
	d := p.dim()
	for range d {
		least, most = append(least, math.Inf(1)), append(most, math.Inf(-1))
	}
	note := func(r []float64) {
		for i, x := range r {
			least[i], most[i] = min(least[i], x), max(most[i], x)
		}
	}
	for s := range p.m.States() {
		first, end := int(p.k.First[s]), int(p.k.First[s+1])
		switch {
		case !p.reachable[s]:
		case first == end:
			note(make([]float64, d))
		default:
			for c := first; c < end; c++ {
				note(p.k.ReturnsOf(c, d))
			}
		}
	}
	p.known.least, p.known.most = least, most
	return least, most
}

func (p *averageReward) traits() traits {
	totals := !p.m.Average()
	return traits{singlePolicy: !totals, unboundedTotals: totals, infiniteHorizon: totals, usesSweeps: p.usesSweeps,
		steps: p.steps, relevance: &p.relevance, relevanceOnly: p.mayRecur, improper: p.improper, classes: p,
		simultaneous: p.simultaneous}
}

// price stops improving the policy once it is worse than the best one by aim at most: what a direction has to
// gain is found with the first of many improvements.
func (p *averageReward) price(ctx context.Context, dir []float64, aim float64) (pricedPolicy, error) {
	p.least.Aim = aim
	defer func() { p.least.Aim = 0 }()
	w, value, margin, err := p.solve(ctx, dir)
	if p.collects && w != nil && w.endless != nil {
		return p.totalRay(ctx, w)
	}
	if err != nil {
		return pricedPolicy{}, err
	}
	policy := p.policyOf(w)
	out := pricedPolicy{policy: policy, value: value, margin: margin, approximate: p.least.Rough, certified: true,
		cancellingGains: p.loopGains(w.Loops)}
	out.returns = p.immediateMeans(w)
	if out.returns == nil {
		out.returns, err = p.policyReturns(ctx, &markov.Rule{Actions: *policy.actions()}, false)
	}
	return out, err
}

// totalRay returns the loop in which the last policy of a transient problem gains totals.
func (p *averageReward) totalRay(ctx context.Context, w *transient) (pricedPolicy, error) {
	out, err := p.recurrentRay(ctx, w.Quotient, p.liftPolicy(w.LeastTotal), w.endless, w.Policy[w.endless[0]] < 0)
	if err == nil {
		p.mask(out.returns, false)
	}
	return out, err
}

// policyOf returns the policy of the way to the ends and in those where it stays.
func (p *averageReward) policyOf(w *transient) *columnPolicy {
	q, pick, stays := *w.Quotient, slices.Clone(w.Policy), make([]markov.Class, len(w.Quotient.Merged))
	for j, end := range q.Merged {
		if q.Choice[pick[end.State]] == markov.Stay {
			stays[j] = p.least.Best[w.bestEnd[j]]
		}
	}
	q.StayStates = func(j int) []int32 { return stays[j].States }
	lift := func() *markov.Actions {
		policy := markov.NewPackedActions(p.m.States(), p.mostActions)
		set := func(s, c int32) { policy.Set(int(s), int(c-p.k.First[s])) }
		q.Lift(pick, set)
		for _, in := range stays {
			for i, s := range in.States {
				set(s, in.Choices[i])
			}
		}
		return &policy
	}
	const few = 8
	if len(pick) > p.m.States()/few { // the policy takes less memory than what it is made of
		return knownPolicy(lift())
	}
	return &columnPolicy{make: sync.OnceValue(lift)}
}

// immediateMeans returns the means of a policy that stays where it starts, or nil if it has a way to go.
func (p *averageReward) immediateMeans(w *transient) []float64 {
	total, q := make([]float64, p.dim()), w.Quotient
	for _, st := range p.m.StartStates() {
		n := q.Number[st.State]
		if !p.m.Average() || n == q.Rest || q.Choice[w.Policy[n]] != markov.Stay {
			return nil
		}
		j, _ := slices.BinarySearchFunc(q.Merged, n,
			func(end markov.MergedState, n int32) int { return int(end.State - n) })
		floats.AddScaled(total, st.Probability, p.least.Best[w.bestEnd[j]].Mean)
	}
	return total
}

// solve finds the least means and the way to them, and a bound. Where rounding takes the bound of a
// total, the way is sought again with a larger perturbation.
func (p *averageReward) solve(ctx context.Context, dir []float64) (w *transient, value, margin float64, err error) {
	means, totals := p.splitDirection(dir)
	least, err := p.leastMeans(ctx, means)
	if err != nil {
		return nil, 0, 0, err
	}
	w, err = p.transientOf(ctx, totals)
	if err != nil {
		return nil, 0, 0, err
	}
	const most = 1000
	for {
		if err := p.solveTransient(ctx, w, totals, least); err != nil {
			return w, 0, 0, err
		}
		value, margin = p.bound(means, totals, p.liftValues(nil, w.LeastTotal), nil)
		if !math.IsInf(margin, 1) {
			return w, value, margin, nil
		}
		if w.Cancels() || w.Perturbation > most {
			value, margin, err = p.solveRational(ctx, w, dir, value)
			return w, value, margin, err
		}
		w.Perturbation *= 8
	}
}

// unboundedLoop is the error of a total without a bound: the longer a policy goes round in a loop
// before it comes to an end, the better the total.
func (p *averageReward) unboundedLoop(w *transient, endless []int32) error {
	found := &NoTotalError{Return: -1, Wanted: true}
	for _, n := range endless {
		c := w.Quotient.Choice[max(0, w.Policy[n])]
		if w.Policy[n] < 0 || c == markov.Stay {
			continue
		}
		s := p.quotient.Owner(c)
		for i, r := range p.k.ReturnsOf(int(c), p.dim()) {
			if r != 0 && !p.m.Mean(i) && (p.up[i] || p.down[i]) {
				found.Return = i
			}
		}
		found.State, found.Action = int(s), int(c-p.k.First[s])
		if found.Return >= 0 {
			break
		}
	}
	return found
}

// leastMeans finds the least mean of every end in a direction.
func (p *averageReward) leastMeans(ctx context.Context, means []float64) (least []float64, err error) {
	p.least.Progress, p.least.Tolerance = p.progress, p.tolerance
	return p.least.Solve(ctx, means)
}

// solveTransient solves the transient problem. Staying in an end is worth its least mean.
func (p *averageReward) solveTransient(ctx context.Context, w *transient, totals, least []float64) error {
	p.scalarize(w.LeastTotal, totals)
	for j, end := range w.Quotient.Merged {
		if len(w.endsWithin[j]) == 0 {
			continue
		}
		w.bestEnd[j] = w.endsWithin[j][0]
		for _, i := range w.endsWithin[j] {
			if least[i] < least[w.bestEnd[j]] {
				w.bestEnd[j] = i
			}
		}
		i := w.Quotient.First[end.State] // to stay is the first choice
		w.Reward[i] = least[w.bestEnd[j]]
		w.Weight[i] = math.Abs(w.Reward[i])
	}
	var err error
	w.endless, err = w.LeastTotal.Solve(ctx)
	if err == nil && w.endless != nil {
		err = p.unboundedLoop(w, w.endless)
	}
	return err
}

// policyReturns returns the returns of a policy. A total that does not
// end, which does not matter then, is left out, or infinite if endless is true.
func (p *averageReward) policyReturns(ctx context.Context, st *markov.Rule, endless bool) ([]float64, error) {
	total := make([]float64, p.dim())
	only, err := p.onlyClass(ctx, st)
	if err != nil {
		return nil, err
	}
	if only != nil {
		return only[0].mean, nil
	}
	x, err := p.visits(ctx, st, 0)
	if err != nil {
		return nil, err
	}
	if !p.m.Average() {
		total = p.sumReturns(st, x)
		if endless {
			total = p.addEndless(total, st, x)
		}
		p.mask(total, false)
	}
	classes, err := p.recurrentClassesOf(ctx, st, x)
	if err != nil {
		return nil, err
	}
	for _, in := range classes {
		floats.AddScaled(total, in.prob, in.mean)
	}
	return total, nil
}

// recheck finds the bound to rounding. In ends where relaxation converges it begins anew, so that a verifier gets
// the same numbers. In slow ones it begins with the relative values at hand: that they are good is shown by
// the pass over the model. Where ends are reached rarely, what rounding adds up to on the way is corrected.
func (p *averageReward) recheck(ctx context.Context, dir []float64) (value, margin float64, err error) {
	q, base := *p, *p.infiniteHorizon
	base.tolerance, base.mass = 0, nil
	q.infiniteHorizon, q.transients = &base, make(map[string]*transient)
	remember := q.least.Restart()
	w, value, margin, err := q.solve(ctx, dir)
	remember()
	if p.collects && w != nil && w.endless != nil {
		return math.Inf(-1), 0, nil
	}
	small := err == nil && w.Quotient.Rest <= mostNearOneStates
	if err != nil || !p.m.Average() && !small && !hasRareEnds(w.LeastTotal) || p.immediateMeans(w) != nil {
		return value, margin, err
	}
	returns, err := q.policyReturns(ctx, &markov.Rule{Actions: *q.policyOf(w).actions()}, false)
	if err != nil {
		return 0, 0, err
	}
	reached := dot(dir, returns)
	wide := func() bool { return reached-value > 0.1*defaultGap*math.Abs(reached) }
	for n := 0; n < mostCorrections && wide() && !w.Cancels(); n++ {
		rough, more, err := q.correctedValues(ctx, w.LeastTotal)
		if err != nil {
			return 0, 0, err
		}
		if more == nil {
			break
		}
		means, totals := q.splitDirection(dir)
		if sharp, error := q.bound(means, totals, rough, more); sharp-error > value-margin {
			value, margin = sharp, error
		}
	}
	if wide() && small {
		sharp, error, err := q.solveRational(ctx, w, dir, value)
		if err != nil {
			return 0, 0, err
		}
		if sharp-error > value-margin {
			return sharp, error, nil
		}
	}
	return value, margin, nil
}

// solveRational is infiniteHorizon.solveRational beside means, which are not rational.
func (p *averageReward) solveRational(ctx context.Context, w *transient, dir []float64,
	value float64) (bound, margin float64, err error) {
	means, totals := p.splitDirection(dir)
	v := p.rationalTotals(ctx, w, rationals(totals))
	if v == nil {
		return value, math.Inf(1), ctx.Err()
	}
	margin, _ = p.excessOverMeans(rationals(means), v, rationals(p.least.Bias)).Float64()
	bound, _ = startValue(p.m, entryOf(v)).Float64()
	return bound, margin*(1+4*roundoff) + 2*roundoff*math.Abs(bound), nil
}

// rationalTotals returns the values of all states in rational arithmetic, nil if that is not possible.
func (p *averageReward) rationalTotals(ctx context.Context, w *transient, totals []*big.Rat) []*big.Rat {
	of := p.rationalValues(ctx, w.LeastTotal, totals)
	if of == nil {
		return nil
	}
	v := make([]*big.Rat, p.m.States())
	for s := range v {
		v[s] = of(s)
	}
	if !p.belowBackups(totals, v) {
		return nil
	}
	return v
}

func (p *averageReward) evaluate(ctx context.Context, policy *Policy) ([]float64, error) {
	if len(policy.mixture) == 0 {
		return p.policyReturns(ctx, &policy.steps[0], true)
	}
	total := make([]float64, p.dim())
	for _, c := range policy.mixture {
		v, err := p.policyReturns(ctx, &c.Policy.steps[0], true)
		if err != nil {
			return nil, err
		}
		floats.AddScaled(total, c.Weight, v)
	}
	return total, nil
}
