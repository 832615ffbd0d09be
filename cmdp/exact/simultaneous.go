package exact

import (
	"context"
	"maps"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/internal/parallel"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/internal/threshold"
)

// A simultaneousPricer prices several directions of a total in one pass over the model, or, where that does not apply,
// two beside each other, each by a pricer of its own, as with long-run means.
type simultaneousPricer struct {
	p *infiniteHorizon
	// pair prices two directions beside each other where totals is nil; nil where each is priced by itself
	pair     func(ctx context.Context, dirs [][]float64, aims []float64) ([]*pricedPolicy, error)
	beside   *infiniteHorizon           // the second pricer of totals, nil before it is needed
	totals   *markov.SimultaneousTotals // nil where that does not apply, or gave up
	octets   *octetPricer               // of totals that are swept, nil where that does not apply, or gave up
	failed   int                        // how often it gave up
	policies []markov.Actions           // of the directions
	starts   []int                      // places of start states in the model's list, as they are solved
	values   []markov.Lanes             // of the start states
	returns  []markov.Lanes             // of the policies from these, all of a state side by side
}

// mostPaired is the most transitions of a model of which directions are priced two by two, since pairs take twice the
// memory.
const mostPaired = 1 << 23

// simultaneous returns the pricer of several directions at once, for totals without places where a policy may stay.
func (p *infiniteHorizon) simultaneous(ctx context.Context) (*simultaneousPricer, error) {
	out := &simultaneousPricer{p: p}
	places := p.neutralEnds != nil && p.neutralEnds.Len() > 0
	if p.gamma < 1 || places || p.m.States() < threshold.Simultaneous {
		return out, nil
	}
	if p.m.Transitions() <= mostPaired {
		out.pair = out.priceBeside
	}
	var err error
	out.octets, err = p.octets(ctx)
	if out.octets != nil || err != nil {
		return out, err
	}
	if p.usesSweeps || p.removesZeroCost {
		return out, nil
	}
	all := make([]float64, p.dim())
	for i := range all {
		all[i] = 1
	}
	z, err := p.solverFor(ctx, all)
	if err != nil || !p.numbersAll(z.Quotient) {
		out.pair = nil
		return out, err
	}
	out.totals = z.Simultaneous(p.dim())
	if out.totals != nil {
		out.pair = nil
		out.totals.Solved = out.takeDown
		starts := p.m.StartStates()
		out.values, out.returns = make([]markov.Lanes, len(starts)), make([]markov.Lanes, len(starts)*p.dim())
		for i := range starts {
			out.starts = append(out.starts, i)
		}
		slices.SortFunc(out.starts, func(a, b int) int { return int(out.number(a) - out.number(b)) })
	}
	return out, nil
}

// number is that of a start state in the quotient.
func (s *simultaneousPricer) number(i int) int32 {
	return s.totals.Quotient.Number[s.p.m.StartStates()[i].State]
}

// numbersAll reports whether a quotient numbers each state in which there is something to choose.
func (p *infiniteHorizon) numbersAll(q *markov.Quotient) bool {
	for s, n := range q.Number {
		if n == q.Rest && p.graph.In[s] && p.k.First[s] < p.k.First[s+1] {
			return false
		}
	}
	return true
}

// most is how many directions are priced at once.
func (s *simultaneousPricer) most() int {
	if s != nil && s.octets == nil && s.totals == nil && s.pair != nil {
		return 2
	}
	return s.inOnePass()
}

// inOnePass is how many directions are priced in the time of one.
func (s *simultaneousPricer) inOnePass() int {
	if s != nil && s.octets != nil {
		return markov.NumOctet
	}
	if s == nil || s.totals == nil {
		return 1
	}
	return markov.NumLanes
}

// twin returns a pricer of the same problem that knows what p knows, and may be used at the same time once it has
// solvers.
func (p *infiniteHorizon) twin() *infiniteHorizon {
	q := *p
	q.mass, q.lastEvaluated, q.progress = nil, nil, nil
	q.known = &modelAnalysis{ends: slices.Clone(p.known.ends)}
	q.chain, q.solvers = new(markov.Chain), make(map[string]*markov.LeastTotal)
	q.visitor = p.visitor.Twin(q.chain)
	return &q
}

// prepareTwin makes sure that a twin has a solver for a direction, of the same quotient.
func (p *infiniteHorizon) prepareTwin(ctx context.Context, q *infiniteHorizon, dir []float64) error {
	z, err := p.solverFor(ctx, dir)
	key := p.solverKey(dir)
	if err != nil || q.solvers[key] != nil {
		return err
	}
	for _, other := range q.solvers {
		if other.Quotient == z.Quotient && other.LowerBound == z.LowerBound {
			q.solvers[key] = other
			return nil
		}
	}
	q.solvers[key] = z.Twin(q.chain)
	return nil
}

// shareBy sets how many workers share large components.
func (p *infiniteHorizon) shareBy(workers int) {
	p.workers = workers
	p.visitor.SetWorkers(workers)
	for _, z := range p.solvers {
		z.SetWorkers(workers)
	}
}

// A pairedPricer prices a direction beside another pricer.
type pairedPricer interface {
	price(ctx context.Context, dir []float64, aim float64) (pricedPolicy, error)
	shareBy(workers int)
}

// pricePair has each of two pricers price a direction with one worker, at the same time where there are two. What fails
// or shows a ray is nil, and is priced once more, by itself. The first pricer has all workers afterwards.
func pricePair(ctx context.Context, workers int, by [2]pairedPricer, dirs [][]float64,
	aims []float64) ([]*pricedPolicy, error) {
	by[0].shareBy(1)
	by[1].shareBy(1)
	defer by[0].shareBy(workers)
	out := make([]*pricedPolicy, 2)
	r := parallel.Relay{Workers: workers, Stages: 1, Parts: 2, Do: func(_, k int) {
		priced, err := by[k].price(ctx, dirs[k], aims[k])
		if err == nil && priced.ray == nil {
			out[k] = &priced
		}
	}}
	return out, r.Run(ctx)
}

// priceBeside prices two directions at the same time where there are two workers. Each starts from what was known
// before, and from what its pricer found last, so that answers do not depend on which is done first.
func (s *simultaneousPricer) priceBeside(ctx context.Context, dirs [][]float64,
	aims []float64) ([]*pricedPolicy, error) {
	if aims[0] == 0 { // one objective alone tells much of the next
		return make([]*pricedPolicy, 2), nil
	}
	if s.beside == nil {
		s.beside = s.p.twin()
	}
	p, q := s.p, s.beside
	for _, dir := range dirs {
		if err := p.prepareTwin(ctx, q, dir); err != nil {
			return nil, err
		}
	}
	q.tolerance, q.certifies = p.tolerance, p.certifies
	q.solved, q.priced = slices.Clone(p.solved), slices.Clone(p.priced)
	q.visitor.Near = p.visitor.Near // where values of solved directions were found
	if nearer := min(p.nearness, q.nearness); nearer == 0 {
		p.nearness, q.nearness = 0, 0
	} else {
		p.nearness = max(p.nearness, q.nearness)
		q.nearness = p.nearness
	}
	out, err := pricePair(ctx, p.workers, [2]pairedPricer{p, q}, dirs, aims)
	if err != nil {
		return nil, err
	}
	known := func(c column) bool { return c.policy == q.priced[len(q.priced)-1].policy }
	if len(q.priced) > 0 && !slices.ContainsFunc(p.priced, known) {
		p.keepPriced(q.priced[len(q.priced)-1])
	}
	same := maps.Equal(p.visitor.Near, q.visitor.Near)
	if last := len(q.solved) - 1; last >= 0 && same && slices.Equal(q.solved[last].dir, dirs[1]) {
		p.solved.keep(q.solved[last])
	}
	return out, ctx.Err()
}

// price prices directions, as many as most at the most. Those for which it fails are nil.
func (s *simultaneousPricer) price(ctx context.Context, dirs [][]float64, aims []float64) ([]*pricedPolicy, error) {
	out := make([]*pricedPolicy, len(dirs))
	switch {
	case s.most() == 1:
		return out, nil
	case s.octets != nil:
		const often = 3
		out, err := s.octets.price(ctx, dirs, aims)
		if s.octets.failed > often {
			s.octets = nil
		}
		return out, err
	case s.totals == nil && len(dirs) == 2:
		return s.pair(ctx, dirs, aims)
	case s.totals == nil:
		return out, nil
	}
	order := make([]int, len(dirs)) // neighbours have much the same policy
	for l := range order {
		order[l] = l
	}
	slices.SortFunc(order, func(a, b int) int { return slices.Compare(dirs[a], dirs[b]) })
	lane := func(l int) []float64 { return dirs[order[min(l, len(order)-1)]] }
	for i := range s.totals.Directions {
		s.totals.Directions[i] = markov.Lanes{A: lane(0)[i], B: lane(1)[i], C: lane(2)[i], D: lane(3)[i]}
	}
	s.totals.Progress = s.p.progress
	s.policies = make([]markov.Actions, len(dirs))
	for l := range s.policies {
		s.policies[l] = s.newActions()
	}
	ok, err := s.totals.Solve(ctx)
	if err != nil {
		return nil, err
	}
	if !ok && len(dirs) > 1 { // one fails, as on an axis, where what matters beside may be had for nothing
		for k := range dirs {
			one, err := s.price(ctx, dirs[k:k+1], aims[k:k+1])
			if err != nil {
				return nil, err
			}
			out[k] = one[0]
		}
		return out, nil
	}
	if !ok {
		const often = 3
		s.failed++
		if s.failed == often {
			s.totals = nil
		}
		return out, nil
	}
	for l, k := range order {
		if !s.totals.Above[l] {
			value, margin := s.startMean(s.values, 1, l)
			returns := make([]float64, s.p.dim())
			for i := range returns {
				returns[i], _ = s.startMean(s.returns[i:], len(returns), l)
			}
			policy := s.policies[l].Packed(s.p.mostActions)
			out[k] = &pricedPolicy{returns: returns, value: value, margin: margin, certified: true,
				policy: knownPolicy(&policy)}
		}
	}
	return out, nil
}

// newActions returns room for a policy, of states that are taken down at the same time if workers share them.
func (s *simultaneousPricer) newActions() markov.Actions {
	if s.p.workers > 1 {
		return markov.NewActions(s.p.m.States(), s.p.mostActions)
	}
	return markov.NewPackedActions(s.p.m.States(), s.p.mostActions)
}

// startMean is the function startMean for numbers of the start states in direction l, each so many places after the one
// before.
func (s *simultaneousPricer) startMean(of []markov.Lanes, apart, l int) (mean, margin float64) {
	starts := s.p.m.StartStates()
	start, v := make([]cmdp.StartState, len(starts)), make([]float64, len(starts))
	for i, st := range starts {
		start[i] = cmdp.StartState{State: i, Probability: st.Probability}
		v[i] = of[i*apart].Array()[l]
	}
	return meanOver(start, v)
}

// takeDown takes down the policies in the states [lo, hi), where there is something to choose, and what was found of
// start states.
func (s *simultaneousPricer) takeDown(lo, hi int32) {
	p, q, d := s.p, s.totals.Quotient, s.p.dim()
	first, _ := slices.BinarySearchFunc(s.starts, lo, func(i int, n int32) int { return int(s.number(i) - n) })
	for _, i := range s.starts[first:] {
		if s.number(i) >= hi {
			break
		}
		at := int(s.totals.Slot(s.number(i)))
		s.values[i] = s.totals.Values[at]
		copy(s.returns[i*d:], s.totals.Returns[at*d:][:d])
	}
	for n := lo; n < hi; n++ {
		first, end := p.k.First[q.Origin[n]], p.k.First[q.Origin[n]+1]
		if end == first+1 {
			continue
		}
		policy := &s.totals.Policy[s.totals.Slot(n)]
		for l := range s.policies {
			s.policies[l].Set(int(q.Origin[n]), int(q.Choice[policy[l]]-first))
		}
	}
}
