package exact

import (
	"context"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/internal/parallel"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cmdp/progress"
	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/floats"
)

// infiniteHorizon is the pricer of a model without a horizon, for discounted and total
// returns. A total is infinite where a policy goes on for ever, which is allowed where that
// is wanted or does not matter; see restrictToProper.
type infiniteHorizon struct {
	policyEvaluator
	workers    int
	longestRow int
	relevance

	reachable   []bool                // by some policy
	mayRecur    bool                  // some policy need not come to rest
	known       *modelAnalysis        // shared by all pricers of the model
	graph       markov.Graph          // what is reached, and policies may use
	parts       *markov.Partition     // its strongly connected components
	neutralEnds *markov.EndComponents // in which a total return may go on, nil without a cycle
	solvers     map[string]*markov.LeastTotal
	chain       *markov.Chain
	// of each return, whether some choice has a positive one, and a negative one
	signs      []struct{ up, down bool }
	steps      []float64 // of each return, the largest magnitude in a step
	usesSweeps bool      // some component is so large that its totals are swept
	// what costs nothing is found in the graph, as where some component is swept
	removesZeroCost bool
	tolerance       float64 // relative error of a bound that is no matter
	certifies       bool    // bounds are proved all the same
	// the returns of the last policy that was priced, which tell the size of values
	lastReturns []float64
	solved      solvedDirections
	nearness    int      // see nearStart, 0 to look at all states
	priced      []column // the last directions, of length 1, and their policies
}

func newInfiniteHorizon(ctx context.Context, m *cmdp.Model, workers int, c relevance,
	tell progress.Func) (*infiniteHorizon, error) {
	p, err := analyseReachable(ctx, m, workers, tell)
	if err != nil {
		return nil, err
	}
	return p.withRelevance(ctx, c)
}

// analyseReachable returns the pricer of all that is reached, to which nothing matters.
func analyseReachable(ctx context.Context, m *cmdp.Model, workers int,
	tell progress.Func) (p *infiniteHorizon, err error) {
	p = &infiniteHorizon{policyEvaluator: policyEvaluator{m: m, k: m.Kernel(0), progress: tell, gamma: m.Discount()},
		workers: workers, longestRow: markov.LongestRow(m.Kernel(0))}
	for s := range m.States() {
		p.mostActions = max(p.mostActions, int(p.k.First[s+1]-p.k.First[s]))
	}
	var start []int32
	for _, st := range m.StartStates() {
		if st.Probability > 0 {
			start = append(start, int32(st.State))
		}
	}
	p.graph = markov.Graph{Kernel: p.k, Progress: tell}
	p.reachable, err = p.graph.Reachable(ctx, start)
	if err != nil {
		return nil, err
	}
	p.graph.In = p.reachable
	p.parts, err = p.graph.LayeredComponents(ctx)
	if err != nil {
		return nil, err
	}
	p.signs = make([]struct{ up, down bool }, m.Dim())
	p.steps = make([]float64, m.Dim())
	for of := range slices.Chunk(p.k.Returns, max(1, m.Dim())) {
		for i, r := range of {
			p.signs[i].up = p.signs[i].up || r > 0
			p.signs[i].down = p.signs[i].down || r < 0
			p.steps[i] = max(p.steps[i], math.Abs(r))
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	p.nearness = 1
	p.known, p.solvers, p.chain = new(modelAnalysis), make(map[string]*markov.LeastTotal), new(markov.Chain)
	p.numberStates()
	p.parts = &markov.Partition{First: p.quotient.Component, Order: p.quotient.Origin} // without the states that rest
	p.graph.Cycles, p.graph.Connected = p.parts, true
	if p.gamma == 1 && !m.Average() {
		p.mayRecur, err = p.graph.HasEndComponent(ctx)
	}
	return p, err
}

// numberStates makes the base quotient, without its choices.
func (p *infiniteHorizon) numberStates() {
	p.progress.At("numbering states", math.NaN(), p.m.States())
	p.quotient = p.graph.Number(p.parts, nil)
	p.visitor = markov.NewVisits(p.quotient, p.gamma, p.workers, p.chain)
	p.usesSweeps = false
	for i, lo := range p.quotient.Component[1:] {
		p.usesSweeps = p.usesSweeps || int(lo-p.quotient.Component[i]) > threshold.Swept
	}
}

// withRelevance returns the pricer for what matters.
func (p *infiniteHorizon) withRelevance(ctx context.Context, c relevance) (*infiniteHorizon, error) {
	q := *p
	q.relevance, q.mass, q.lastEvaluated, q.solved, q.priced = c, nil, nil, nil, nil
	q.graph, q.neutralEnds = markov.Graph{Kernel: p.k, In: p.reachable, Cycles: p.parts, Progress: p.progress}, nil
	if !p.mayRecur {
		return &q, nil
	}
	q.solvers = make(map[string]*markov.LeastTotal)
	q.graph.In = slices.Clone(p.reachable)
	if err := q.restrictToProper(ctx); err != nil {
		return nil, err
	}
	if slices.Equal(q.graph.In, p.reachable) && q.graph.Allowed == nil {
		q.graph.In = p.reachable
		q.visitor = markov.NewVisits(q.quotient, q.gamma, q.workers, q.chain)
		return &q, nil
	}
	q.numberStates()
	return &q, nil
}

// pricer returns the pricer of the model for what matters.
func (p *infiniteHorizon) pricer(ctx context.Context, c relevance) (pricer, error) {
	q, err := p.withRelevance(ctx, c)
	if err != nil {
		return nil, err
	}
	if p.gamma < 1 {
		return &discountedReward{q}, nil
	}
	return &totalReward{q}, nil
}

func (p *infiniteHorizon) configure(tell progress.Func, enough float64, proving bool) {
	p.progress, p.graph.Progress = tell, tell
	p.tolerance = enough
	p.certifies = proving
}

// solverFor returns the solver for directions with the same entries that are not 0: a total
// return may stay for ever where it has no return in these. Where none may there is one for all. Directions that
// are charged have solvers of their own, that of zeros too.
func (p *infiniteHorizon) solverFor(ctx context.Context, dir []float64) (z *markov.LeastTotal, err error) {
	key := p.solverKey(dir)
	if z, ok := p.solvers[key]; ok {
		return z, nil
	}
	switch {
	case p.nonnegative(dir):
		z, err = p.nonnegativeSolver(ctx, dir)
	case p.neutralEnds != nil:
		z, err = p.collapsedSolver(ctx, dir)
	}
	if err != nil {
		return nil, err
	}
	if z == nil {
		z = p.plainSolver()
	}
	p.solvers[key] = z
	return z, nil
}

// solverKey is the same for directions that have the same solver.
func (p *infiniteHorizon) solverKey(dir []float64) string {
	key := make([]byte, len(dir)+1)
	charged := p.nonnegative(dir)
	if charged {
		key[len(dir)] = 1
	}
	for i, t := range dir {
		if t != 0 && (charged || p.neutralEnds != nil) {
			key[i] = 1
		}
	}
	return string(key)
}

// plainSolver returns a solver in which nothing is collapsed.
func (p *infiniteHorizon) plainSolver() *markov.LeastTotal {
	p.progress.At("finding a policy that comes to rest", math.NaN(), p.m.States())
	if p.quotient.First == nil {
		p.quotient.Fill(&p.graph, p.quotient.Origin, nil)
	}
	return markov.NewLeastTotal(p.quotient, p.gamma, p.workers, p.chain)
}

// collapsedSolver returns the solver for a direction in which end components are collapsed, the same one as for
// another direction with the same ones, or nil without any.
func (p *infiniteHorizon) collapsedSolver(ctx context.Context, dir []float64) (_ *markov.LeastTotal, err error) {
	nothing := func(c int32) bool { return p.graph.Allows(c) && p.returnsNothing(dir, c) }
	for key, z := range p.solvers { // as a rule the choices without returns are the same, which is soon seen
		other, same := make([]float64, len(dir)), z.LowerBound < 0
		for i := range other {
			other[i] = float64(key[i])
		}
		for c := int32(0); same && int(c) < p.k.Choices(); c++ {
			same = !p.graph.Allows(c) || p.returnsNothing(dir, c) == p.returnsNothing(other, c)
		}
		if same {
			return z, nil
		}
	}
	free, ends := p.choices(nothing), p.neutralEnds
	if p.graph.Allowed != nil || !slices.Equal(free, p.choices(p.neutral)) {
		ends, err = p.endComponents(ctx, free)
	}
	if err != nil || ends.Len() == 0 {
		return nil, err
	}
	places, safe := ends, p.choices(func(c int32) bool { return free[c] && p.neutral(c) })
	if !slices.Equal(safe, free) {
		places, err = p.endComponents(ctx, safe)
	}
	if err != nil {
		return nil, err
	}
	for _, z := range p.solvers {
		if z.LowerBound < 0 && slices.Equal(z.Quotient.Inside, ends.Inside) &&
			slices.Equal(z.Quotient.StayChoices, places.Inside) {
			return z, nil
		}
	}
	return markov.NewLeastTotal(collapse(&p.graph, p.parts, ends, places), p.gamma, p.workers, p.chain), nil
}

// nonnegative reports whether a direction has no negative reward in a total with a component that is swept, or
// where a bound was lost otherwise. What costs nothing is found in the graph then: values that fall to 0 by the
// same factor again and again, from one state to the next or from one sweep to the next, would never get there.
func (p *infiniteHorizon) nonnegative(dir []float64) bool {
	if p.gamma < 1 || !p.usesSweeps && !p.removesZeroCost {
		return false
	}
	for i, t := range dir {
		if t > 0 && p.signs[i].down || t < 0 && p.signs[i].up {
			return false
		}
	}
	return true
}

// nonnegativeSolver returns the solver for a direction without negative rewards. End components without rewards that
// cost something to leave are collapsed. Where every choice costs something there is one for all such directions.
func (p *infiniteHorizon) nonnegativeSolver(ctx context.Context, dir []float64) (*markov.LeastTotal, error) {
	nothing := p.choices(func(c int32) bool { return p.graph.Allows(c) && p.returnsNothing(dir, c) })
	if !slices.Contains(nothing, true) {
		for _, z := range p.solvers {
			if z.Quotient == p.quotient && z.LowerBound == 0 {
				return z, nil
			}
		}
		z := p.plainSolver()
		z.LowerBound = 0
		return z, nil
	}
	rest, zero, err := p.zeroStates(ctx, nothing)
	if err != nil {
		return nil, err
	}
	parts, err := rest.LayeredComponents(ctx)
	if err != nil {
		return nil, err
	}
	rest.Cycles = parts
	ends, err := rest.Only(nothing).EndComponents(ctx)
	if err != nil {
		return nil, err
	}
	q := rest.Quotient(parts, ends, func(int32) bool { return false })
	q.Ends, q.StayStates, q.ZeroStates = q.Ends.Listed(), func(int) []int32 { return nil }, zero
	z := markov.NewLeastTotal(q, p.gamma, p.workers, p.chain)
	z.LowerBound = 0
	return z, nil
}

// zeroStates returns the states from which a policy surely comes to an end, or to a place where it may stay, by
// choices without rewards, each with the choice for that, and the graph of the others.
func (p *infiniteHorizon) zeroStates(ctx context.Context, nothing []bool) (rest *markov.Graph, zero [][2]int32,
	err error) {
	places, err := p.graph.Only(make([]bool, len(nothing))).EndComponents(ctx) // none
	if err == nil && p.neutralEnds != nil {
		places, err = p.endComponents(ctx, p.choices(func(c int32) bool { return nothing[c] && p.neutral(c) }))
	}
	if err != nil {
		return nil, nil, err
	}
	free := markov.Graph{Kernel: p.k, In: slices.Clone(p.graph.In), Allowed: slices.Clone(nothing),
		Progress: p.progress}
	ends := func(s int32) bool { return p.k.First[s] == p.k.First[s+1] }
	_, nearer, err := free.AlmostSurely(ctx, func(s int32) bool { return ends(s) || places.Of[s] >= 0 })
	if err != nil {
		return nil, nil, err
	}
	rest = &markov.Graph{Kernel: p.k, In: slices.Clone(p.graph.In), Allowed: p.graph.Allowed, Progress: p.progress}
	for s, in := range free.In {
		switch s := int32(s); {
		case !in || ends(s):
			continue
		case places.Of[s] >= 0:
			c := p.k.First[s]
			for !places.Inside[c] {
				c++
			}
			nearer[s] = c
			fallthrough
		default:
			rest.In[s] = false
			zero = append(zero, [2]int32{s, nearer[s]})
		}
	}
	return rest, zero, nil
}

// returnsNothing reports whether a choice returns nothing that a direction has.
func (p *infiniteHorizon) returnsNothing(dir []float64, c int32) bool {
	return nothingIn(dir, p.k.ReturnsOf(int(c), len(dir)))
}

// nothingIn reports whether a direction has none of the returns that are not 0.
func nothingIn(dir, returns []float64) bool {
	for i, r := range returns {
		if r != 0 && dir[i] != 0 {
			return false
		}
	}
	return true
}

// collapse returns the quotient of a graph by end components without returns. A policy may stay in
// a component that has a place where it does no harm. parts are the strongly connected components.
func collapse(g *markov.Graph, parts *markov.Partition, ends, places *markov.EndComponents) *markov.Quotient {
	place := make([]int32, ends.Len())
	for i := range place {
		place[i] = -1
	}
	for _, s := range places.Order {
		if i := ends.Of[s]; i >= 0 && place[i] < 0 {
			place[i] = places.Of[s]
		}
	}
	q := g.Quotient(parts, ends, func(i int32) bool { return place[i] >= 0 })
	q.Ends, places = ends.Listed(), places.Listed()
	q.StayChoices, q.StayStates = places.Inside, func(j int) []int32 {
		if i := place[q.Merged[j].End]; i >= 0 {
			return places.Part(int(i))
		}
		return nil
	}
	return q
}

// price finds values up to an error that is a part of aim. The last policy tells how large they are.
func (p *infiniteHorizon) price(ctx context.Context, dir []float64, aim float64) (pricedPolicy, error) {
	tolerance, proved := p.tolerance, p.tolerance == 0 || p.certifies
	size := p.sizeOfReturns(dir)
	if aim > 0 && size > 0 && p.usesSweeps {
		const part, most = 0.3, 1e-2
		tolerance = max(tolerance, min(part*aim/size, most))
	}
	rough := tolerance > p.tolerance
	if rough {
		out, ok, err := p.raise(ctx, dir, aim, proved)
		if ok || err != nil {
			return out, err
		}
	}
	if err := p.beginWithNearest(ctx, dir); err != nil {
		return pricedPolicy{}, err
	}
	for {
		z, endless, value, margin, err := p.solve(ctx, dir, tolerance, proved)
		if err != nil {
			return pricedPolicy{}, err
		}
		near := p.visitor.Near != nil
		policy := p.liftPolicy(z)
		if endless != nil {
			return p.recurrentRay(ctx, z.Quotient, policy, endless, z.Policy[endless[0]] < 0)
		}
		out := pricedPolicy{value: value, margin: margin, approximate: rough, certified: proved,
			cancellingGains: p.loopGains(z.Loops)}
		missing := enoughDigits(p.tolerance)
		if rough {
			missing = p.digitsFor(dir, aim)
		}
		out.returns, out.withInfinite, err = p.returns(ctx, &markov.Rule{Actions: *policy}, missing)
		if err != nil {
			return out, err
		}
		p.lastReturns = out.returns
		p.keepPolicy(dir, policy)
		p.keepSolved(z, dir, value)
		// How many steps the little adds up in that a backup may fall short by is known afterwards.
		reached := floats.Dot(dir, out.returns)
		close := 10 * p.tolerance * math.Abs(reached)
		if rough {
			close = max(close, aim)
		}
		missed := reached - value
		if rough && p.gamma < 1 {
			missed += margin
		}
		if rough && missed < close/8 {
			z.Relax()
		}
		if near && (p.leavesNear() || missed > close && z.Allowance() == 0) {
			p.nearness *= 4
			continue
		}
		out.policy = p.restBeyond(z, policy)
		switch {
		case missed <= close || tolerance == 0 || p.gamma == 1 && z.Allowance() == 0:
			return out, nil
		case p.gamma == 1:
			z.Sharpen()
		case !rough:
			return out, nil
		default:
			tolerance, rough = p.tolerance, false
		}
	}
}

// sizeOfReturns is the size of what the last policy's returns in a direction are the sum of, 0 without one.
func (p *infiniteHorizon) sizeOfReturns(dir []float64) float64 {
	size := 0.0
	for i, x := range p.lastReturns {
		size += math.Abs(dir[i] * x)
	}
	return size
}

// digitsFor returns which share of the visits of a policy may be missing, that is priced up to aim. Returns of a point
// of a curve need not keep a limit. They may cancel out in the direction.
func (p *infiniteHorizon) digitsFor(dir []float64, aim float64) float64 {
	if !p.certifies {
		return enoughDigits(p.tolerance)
	}
	return min(tenDigits, 1e-4*aim/p.sizeOfReturns(dir))
}

// liftPolicy returns the policy of a solver.
func (p *infiniteHorizon) liftPolicy(z *markov.LeastTotal) *markov.Actions {
	policy := markov.NewPackedActions(p.m.States(), p.mostActions)
	z.Quotient.Lift(z.Policy, func(s, c int32) { policy.Set(int(s), int(c-p.k.First[s])) })
	return &policy
}

// loopGains returns what each of some loops returns in a step.
func (p *infiniteHorizon) loopGains(loops []markov.Loop) [][]float64 {
	var out [][]float64
	for _, l := range loops {
		gain := make([]float64, p.dim())
		for j, c := range l.Choices {
			if c != markov.Stay {
				floats.AddScaled(gain, l.Share[j], p.k.ReturnsOf(int(c), p.dim()))
			}
		}
		out = append(out, gain)
	}
	return out
}

// scalarize sets the rewards to dir·r of every choice, without a discount less by the
// perturbation.
func (p *infiniteHorizon) scalarize(z *markov.LeastTotal, dir []float64) {
	d := len(dir)
	z.Reset(p.tolerance)
	if floats.Norm(dir, 1) == 0 { // the perturbation alone would make values of another direction less, and take long
		clear(z.Values)
	}
	set := func(i, end int32) {
		for ; i < end; i++ {
			c := z.Quotient.Choice[i]
			if c == markov.Stay {
				continue
			}
			sum, size := 0.0, 0.0
			for j, r := range p.k.ReturnsOf(int(c), d) {
				x := float64(dir[j] * r)
				sum += x
				size += math.Abs(x)
			}
			z.Reward[i], z.Weight[i] = sum, size
		}
	}
	for _, at := range z.Looked() {
		first, end := z.Quotient.First[at[0]], z.Quotient.First[at[1]]
		parallel.ForStates(p.workers, int(end-first), int(end-first), func(lo, hi int) float64 {
			set(first+int32(lo), first+int32(hi))
			return 0
		})
	}
}

// liftValues returns the values of the states of the model, in the memory of dst if that suffices.
func (p *infiniteHorizon) liftValues(dst []float64, z *markov.LeastTotal) []float64 {
	dst = slices.Grow(dst[:0], p.m.States())[:p.m.States()]
	parallel.ForStates(p.workers, len(dst), len(dst), func(lo, hi int) float64 {
		for s := lo; s < hi; s++ {
			dst[s] = z.Values[z.Quotient.Number[s]]
		}
		return 0
	})
	return dst
}

// solve finds the cheapest policy in a direction, up to a relative error, and a bound, which is proved by going
// through all choices of the model if proved is true. A total whose bound is lost to rounding
// is sought again with a larger perturbation.
func (p *infiniteHorizon) solve(ctx context.Context, dir []float64, tolerance float64,
	proved bool) (z *markov.LeastTotal, endless []int32, value, margin float64, err error) {
	const most = 1000
	z, err = p.solverFor(ctx, dir)
	if err != nil {
		return nil, nil, math.Inf(-1), 0, err
	}
	p.lookNear(z, tolerance)
	for {
		p.scalarize(z, dir)
		z.Tolerance = tolerance
		z.Progress = p.progress
		endless, err = z.Solve(ctx)
		if endless != nil || err != nil {
			return z, endless, math.Inf(-1), 0, err
		}
		near := p.gamma > nearOneDiscount && p.gamma < 1
		proved := proved || len(z.Loops) > 0 // else a bound may be lost in the end that a master was content with
		switch {
		case near:
			value, margin, err = p.solveShaped(ctx, z, dir)
			if err != nil {
				return z, nil, math.Inf(-1), 0, err
			}
		case proved:
			p.mass = p.liftValues(p.mass, z) // nobody needs visits any more
			value, margin = (&lowerValues{p, dir, p.mass, nil}).bound(z.Quotient)
		default:
			value, margin = p.solverBound(z)
		}
		if !proved {
			return z, nil, value, margin, nil
		}
		if near && z.Quotient.Rest <= mostNearOneStates {
			sharp, error, err := p.solveRational(ctx, z, dir, value)
			if err != nil {
				return z, nil, math.Inf(-1), 0, err
			}
			if error < margin {
				value, margin = sharp, error
			}
		}
		if !math.IsInf(margin, 1) {
			return z, nil, value, margin, nil
		}
		if !p.removesZeroCost && !p.nonnegative(dir) {
			p.removesZeroCost = true
			if p.nonnegative(dir) {
				z, err = p.solverFor(ctx, dir)
				if err != nil {
					return nil, nil, math.Inf(-1), 0, err
				}
				continue
			}
		}
		if z.Cancels() || z.Perturbation > most {
			value, margin, err = p.solveRational(ctx, z, dir, value)
			return z, nil, value, margin, err
		}
		z.Perturbation *= 8
	}
}

// solveShaped solves the problem once more, for the corrections of its values: of a discount near 1 the values
// are so large that their rounding, magnified by 1/(1−γ), is more than what policies differ by, and a total that takes
// a million steps has a million times the rounding of one. With values v
// of all states, however rough, the problem with the rewards r + γ P v − v has the same best policies, and its
// values are what v lacks (potential-based shaping: Ng, Harada and Russell 1999). They are small, and so is
// their rounding. It returns a bound of V*(dir), with an infinite margin if there is none, and leaves the best policy
// in z.
func (p *infiniteHorizon) solveShaped(ctx context.Context, z *markov.LeastTotal,
	dir []float64) (value, margin float64, err error) {
	rough, small, err := p.correctedValues(ctx, z)
	if small == nil || err != nil {
		return math.Inf(-1), math.Inf(1), err
	}
	value, margin = (&lowerValues{p, dir, rough, small}).bound(z.Quotient)
	return value, margin, nil
}

// correctedValues returns the values of all states and what they lack, nil if there is no least total, see solveShaped.
func (p *infiniteHorizon) correctedValues(ctx context.Context, z *markov.LeastTotal) (rough, small []float64,
	err error) {
	q, v := z.Quotient, slices.Clone(z.Values)
	reward, weight := slices.Clone(z.Reward), slices.Clone(z.Weight)
	rough = p.liftValues(nil, z)
	for s := range q.Rest {
		for i := q.First[s]; i < q.First[s+1]; i++ {
			leaves := 1 - p.gamma
			if q.Choice[i] == markov.Stay {
				leaves = 1
			}
			sum := z.Reward[i] - leaves*v[s]
			z.Weight[i] += leaves * math.Abs(v[s])
			to, prob := q.Row(i)
			for j, n := range to {
				x := p.gamma * prob[j] * (v[n] - v[s])
				sum += x
				z.Weight[i] += math.Abs(x)
			}
			z.Reward[i] = sum
		}
	}
	clear(z.Values)
	least := z.LowerBound
	z.LowerBound = math.Inf(-1)
	endless, err := z.Solve(ctx)
	z.LowerBound = least
	copy(z.Reward, reward)
	copy(z.Weight, weight)
	if err != nil {
		return nil, nil, err
	}
	if endless == nil {
		small = p.liftValues(nil, z)
	}
	for n, x := range v {
		z.Values[n] += x
	}
	return rough, small, nil
}

// solveRational returns a bound found in rational arithmetic, with an infinite margin if that is not possible.
func (p *infiniteHorizon) solveRational(ctx context.Context, z *markov.LeastTotal, dir []float64,
	value float64) (bound, margin float64, err error) {
	v := p.rationalValues(ctx, z, rationals(dir))
	if v == nil {
		return value, math.Inf(1), ctx.Err()
	}
	bound, _ = startValue(p.m, v).Float64()
	return bound, 2 * roundoff * math.Abs(bound), nil
}
