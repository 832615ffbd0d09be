package exact

import (
	"context"
	"maps"
	"math"
	"slices"

	"cmdpsolve/cmdp/markov"
	"cmdpsolve/internal/threshold"
	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// A solvedDirection has values of all states of the model that are below their backups. Totals are linear in the
// direction, and the least of several is concave: the same combination of such values as of their directions is
// below the backups in the combined direction.
type solvedDirection struct {
	dir, values []float64
	bound       float64 // the value at the start
}

// solvedDirections are those that were solved and used last.
type solvedDirections []solvedDirection

// keepSolved notes the values of a direction, where they may be raised.
func (p *infiniteHorizon) keepSolved(z *markov.LeastTotal, dir []float64, bound float64) {
	if z.Raises() {
		p.solved.keep(solvedDirection{slices.Clone(dir), p.liftValues(nil, z), bound})
	}
}

// keepPolicy notes the policy of a direction.
func (p *infiniteHorizon) keepPolicy(dir []float64, policy *markov.Actions) {
	if length := floats.Norm(dir, 1); length > 0 {
		p.keepPriced(column{dir: scaled(1/length, dir), policy: knownPolicy(policy)})
	}
}

// keepPriced notes a direction with its policy, in the place of the first where there are too many.
func (p *infiniteHorizon) keepPriced(c column) {
	const most = 64
	p.priced = append(p.priced[max(0, len(p.priced)-most+1):], c)
}

// beginWithNearest makes policy iteration begin with the policy of the nearest direction whose policy is known, which
// few steps lead to the best one.
func (p *infiniteHorizon) beginWithNearest(ctx context.Context, dir []float64) error {
	z, err := p.solverFor(ctx, dir)
	if err != nil {
		return err
	}
	unit, least, at := scaled(1/floats.Norm(dir, 1), dir), math.Inf(1), -1
	for i, c := range p.priced {
		if away := floats.Distance(unit, c.dir, 1); away < least {
			least, at = away, i
		}
	}
	if at >= 0 {
		z.Begin(p.priced[at].policy.actions())
	}
	return nil
}

// keep adds a direction in the place of the first where there are too many.
func (d *solvedDirections) keep(at solvedDirection) {
	const numbers = 1 << 25
	if most := max(len(at.dir)+1, numbers/len(at.values)); len(*d) >= most {
		*d = slices.Delete(*d, 0, len(*d)-most+1)
	}
	*d = append(*d, at)
}

// combine adds to v, one for each state, the combination of the values of solved directions that is the largest at the
// start. It reports false where there is none.
func (d *solvedDirections) combine(v, dir []float64) bool {
	program := &lp.Problem{Minimize: make([]float64, len(*d))}
	for k, at := range *d {
		program.Minimize[k] = -at.bound
	}
	for i, x := range dir {
		row := make([]float64, len(*d))
		for k, at := range *d {
			row[k] = at.dir[i]
		}
		program.Rows = append(program.Rows, lp.Equal(row, x))
	}
	solver, err := lp.NewEmbedded(program)
	if err != nil {
		return false
	}
	var found lp.Solution
	if err := solver.Solve(&found); err != nil || found.Status != lp.Optimal {
		return false
	}
	var idle, used []solvedDirection
	for k, x := range found.X {
		at := (*d)[k]
		if x > 0 {
			floats.AddScaled(v, x, at.values)
			used = append(used, at)
		} else {
			idle = append(idle, at)
		}
	}
	*d = append(idle, used...)
	return true
}

// raise prices a direction between solved ones: values that are below their backups are raised by sweeps, until the
// policy that they show is worse than the value at the start by aim at most. What other states lack is no matter: at
// first sweeps go over those that the last policy visited, but for a few visits, and then once over all.
// It reports false where there are no such values, or sweeps are slow.
func (p *infiniteHorizon) raise(ctx context.Context, dir []float64, aim float64,
	proved bool) (out pricedPolicy, ok bool, err error) {
	z, err := p.solverFor(ctx, dir)
	if err != nil {
		return out, false, err
	}
	p.lookNear(z, aim)
	if !z.Raises() {
		return out, false, nil
	}
	v := make([]float64, p.m.States())
	if !p.solved.combine(v, dir) {
		return out, false, nil
	}
	for s, n := range z.Quotient.Number {
		z.Values[n] = v[s]
	}
	z.Values[z.Quotient.Rest] = 0
	p.scalarize(z, dir)
	z.Progress = p.progress
	defer func() { z.Sweeps, z.Within = 0, nil }()
	const seldom = 1e-7
	parts := []map[int32]int32{nil}
	if slices.Equal(z.Quotient.Component, p.quotient.Component) {
		parts = []map[int32]int32{p.visitor.Visited(seldom), nil}
	}
	for _, within := range parts {
		z.Within = within
		out, ok, err = p.raiseWithin(ctx, z, dir, aim, proved)
		if ok || err != nil {
			break
		}
	}
	return out, ok, err
}

// lookNear makes a solver, and visits, look at the states near the start alone, where no reward is negative and values
// need not be exact. What is farther away costs nothing for the bound; it is a good one if policies hardly come there.
// It forgets the values then.
func (p *infiniteHorizon) lookNear(z *markov.LeastTotal, tolerance float64) {
	before := p.visitor.Near
	p.visitor.Near = nil
	if p.nearness > 0 && p.certifies && tolerance > 0 && z.LowerBound == 0 && z.Quotient == p.quotient {
		p.visitor.Near = p.nearStart()
		if p.visitor.Near == nil {
			p.nearness = 0
		}
	}
	if !maps.Equal(before, p.visitor.Near) { // far away, values of solved directions are too low for good choices
		p.solved = nil
	}
	z.LookNear(p.visitor.Near)
}

// leavesNear reports whether the policy whose visits were found last comes to more than a quarter of the states near
// the start, not just rarely. Where less lies between, policies may lead out, where nothing is to be paid.
func (p *infiniteHorizon) leavesNear() bool {
	visited := p.visitor.Visited(markov.Rarely)
	for lo, n := range p.visitor.Near {
		if p.visitor.Beyond || visited[lo] > n/4 {
			return true
		}
	}
	return false
}

// restBeyond returns the policy of a solver whose visits were found last. In states that it rarely comes to it is not
// the best near the start, which may lead away, but the shortest way to rest.
func (p *infiniteHorizon) restBeyond(z *markov.LeastTotal, policy *markov.Actions) *columnPolicy {
	if p.visitor.Near == nil {
		return knownPolicy(policy)
	}
	z.RestBeyond(p.visitor.Visited(markov.Rarely))
	return knownPolicy(p.liftPolicy(z))
}

// nearStart returns of the large components in which the process starts, by their first states, how many states are
// near the start, nil for none. The more nearness, the more these are.
func (p *infiniteHorizon) nearStart() map[int32]int32 {
	const part = 3 // of a component, which is looked at as a whole otherwise
	q := p.quotient
	near := make(map[int32]int32)
	most := make(map[int32]int)
	for _, st := range p.m.StartStates() {
		n := q.Number[st.State]
		if i, _ := slices.BinarySearch(q.Component, n+1); n < q.Rest {
			lo := q.Component[i-1]
			near[lo] = max(near[lo], n-lo)
			most[lo] = int(q.Component[i]-lo) / part
		}
	}
	for lo, n := range near {
		near[lo] = int32(min(math.MaxInt32, p.nearness*max(int(n), threshold.Swept)+2))
	}
	maps.DeleteFunc(near, func(lo, n int32) bool { return int(n) > most[lo] })
	if len(near) == 0 {
		return nil
	}
	return near
}

// raiseWithin is raise by sweeps over some states.
func (p *infiniteHorizon) raiseWithin(ctx context.Context, z *markov.LeastTotal, dir []float64, aim float64,
	proved bool) (out pricedPolicy, ok bool, err error) {
	within := z.Within
	const sweeps, rounds = 6, 20
	value, rose := math.NaN(), math.NaN()
	for n := range rounds {
		z.Sweeps, z.Within = sweeps, within
		now, ok, err := p.sweepUp(ctx, z)
		if err != nil || !ok {
			return out, false, err
		}
		before := rose
		value, rose = now, now-value
		left := remaining(rose, before)
		if n > 2 && left*math.Pow(rose/before, float64(rounds-n)) > aim {
			return out, false, nil
		}
		if left > aim/2 {
			continue
		}
		if within != nil {
			z.Sweeps, z.Within = 1, nil
			value, ok, err = p.sweepUp(ctx, z)
			if err != nil || !ok {
				return out, false, err
			}
		}
		out, err = p.raised(ctx, z, dir, proved, p.digitsFor(dir, aim))
		if err != nil || math.IsInf(out.margin, 1) || p.leavesNear() {
			return out, false, err
		}
		if floats.Dot(dir, out.returns)-value <= aim {
			p.keepSolved(z, dir, value)
			p.lastReturns = out.returns
			return out, true, nil
		}
		if within != nil {
			return out, false, nil
		}
	}
	return out, false, nil
}

// sweepUp raises values by sweeps, and returns that at the start. It reports false where they are not below their
// backups any more.
func (p *infiniteHorizon) sweepUp(ctx context.Context, z *markov.LeastTotal) (value float64, ok bool, err error) {
	endless, err := z.Solve(ctx)
	if err != nil || endless != nil || z.Fell {
		return 0, false, err
	}
	return p.startValueOf(z), true, nil
}

// remaining returns how much is still to come of what rose by so much, and before that by more, if each time
// it rises by the same factor less.
func remaining(rose, before float64) float64 {
	ratio := rose / before
	switch {
	case rose <= 0:
		return 0
	case ratio < 1:
		return rose * ratio / (1 - ratio)
	}
	return math.Inf(1)
}

// raised returns the policy that values show, its returns from visits of which a share may be missing, and their bound.
func (p *infiniteHorizon) raised(ctx context.Context, z *markov.LeastTotal, dir []float64, proved bool,
	missing float64) (out pricedPolicy, err error) {
	z.Mend()
	policy := p.liftPolicy(z)
	out = pricedPolicy{approximate: true, certified: proved, cancellingGains: p.loopGains(z.Loops)}
	out.returns, out.withInfinite, err = p.returns(ctx, &markov.Rule{Actions: *policy}, missing)
	if err != nil {
		return out, err
	}
	out.policy = p.restBeyond(z, policy)
	out.value, out.margin = p.solverBound(z)
	if proved {
		p.mass = p.liftValues(p.mass, z)
		out.value, out.margin = (&lowerValues{p, dir, p.mass, nil}).bound(z.Quotient)
	}
	return out, nil
}
