package exact

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cmdp/monitor"

	"gonum.org/v1/gonum/floats"
)

// Visits and the probabilities of staying for good satisfy the same equations whether or not somebody stays
// where others pass. A policy without memory cannot do both in one state: if it goes round a loop with a
// probability and stays at no cost otherwise, it draws again in every step, and goes round for ever. One that
// remembers whether it is done with its loops can (Forejt, Kwiatkowska, Norman, Parker and Qu 2011, where such
// a policy draws what it remembers). Here what is done tells it: in the states of the loops that policy takes
// their choices until it is done, and any other choice there says that it is.

// withMemory looks for a policy that remembers whether it is done with the loops of a mixture. It reports whether
// there is one that is right. Loops in which a policy may stay for ever are left out second: whoever stays
// there in the end need not go round them before.
func (s *rayRecovery) withMemory(r *Result, b *policyMixture, right func(r *Result) bool) (bool,
	error) {
	if len(b.rays) == 0 || s.opts.memoryless {
		return false, nil
	}
	model, err := s.model.withRows()
	if model == nil || err != nil {
		return false, err
	}
	fewer := &policyMixture{parts: b.parts}
	for j, c := range b.rays {
		if !model.mayStay(c.ray) {
			fewer.rays, fewer.steps = append(fewer.rays, c), append(fewer.steps, b.steps[j])
		}
	}
	ok, err := s.doneWithLoops(r, model, b, right)
	if !ok && err == nil && len(fewer.rays) > 0 && len(fewer.rays) < len(b.rays) {
		ok, err = s.doneWithLoops(r, model, fewer, right)
	}
	return ok, err
}

// mayStay reports whether a policy may go along a ray for ever.
func (p *infiniteHorizon) mayStay(r *ray) bool {
	var room []markov.WeightedChoice
	return !slices.ContainsFunc(r.states, func(s int32) bool {
		return slices.ContainsFunc(p.takenChoices(room[:0], r.policy, p.quotient.Number[s]),
			func(t markov.WeightedChoice) bool { return !p.neutralEnds.Inside[t.Choice] })
	})
}

// doneWithLoops is withMemory for all rays of a mixture.
func (s *rayRecovery) doneWithLoops(r *Result, model *infiniteHorizon, b *policyMixture,
	right func(r *Result) bool) (bool, error) {
	loops := disjointLoops(b.rays)
	var leaving [][]bool
	for _, rays := range loops {
		leaving = append(leaving, model.leavingChoices(rays))
	}
	ok, err := s.doneBy(r, model, b, loops, leaving, right)
	if !ok || err != nil {
		return ok, err
	}
	// What the policy never does need not be remembered.
	fewer, same := *r, true
	for i := range leaving {
		taken, err := r.leavingTaken(s.ctx, i)
		if err != nil {
			return false, err
		}
		same, leaving[i] = same && slices.Equal(taken, leaving[i]), taken
	}
	if same {
		return true, nil
	}
	ok, err = s.doneBy(&fewer, model, b, loops, leaving, right)
	if ok && err == nil {
		*r = fewer
	}
	return true, err
}

// leavingTaken returns those of the choices of the i-th memory that the policy of an answer may take before it took
// one of them.
func (r *Result) leavingTaken(ctx context.Context, i int) ([]bool, error) {
	choices := r.Product.Monitors()[i].(*monitor.ChoiceTaken).Choices
	out := make([]bool, len(choices))
	k, base := r.Product.Model.Kernel(0), r.Product.Base().Kernel(0)
	for _, c := range r.mixture() {
		process, err := inducedProcess(ctx, r.Product.Model, c.Policy)
		if err != nil {
			return nil, err
		}
		p, err := analyseReachable(ctx, process, 1, nil)
		if err != nil {
			return nil, err
		}
		for s, yes := range p.reachable {
			if !yes || k.First[s] == k.First[s+1] || r.Product.Part(s, i) != 0 {
				continue
			}
			probs := make([]float64, k.First[s+1]-k.First[s])
			c.Policy.Distribution(probs, 0, s)
			for a, x := range probs {
				if c := int(base.First[r.Product.State(s)]) + a; x > 0 && choices[c] {
					out[c] = true
				}
			}
		}
	}
	return out, nil
}

// mixture returns what is drawn at the start.
func (r *Result) mixture() []WeightedPolicy {
	if r.Policy != nil {
		return []WeightedPolicy{{1, r.Policy}}
	}
	return r.Mixture
}

// doneBy is doneWithLoops where some choices, of each loop, say that it is done.
func (s *rayRecovery) doneBy(r *Result, model *infiniteHorizon, b *policyMixture, loops [][]column,
	leaving [][]bool, right func(r *Result) bool) (bool, error) {
	var monitors []monitor.Monitor
	for i := range loops {
		monitors = append(monitors, &monitor.ChoiceTaken{Title: fmt.Sprintf("done with loop %d", i+1), Choices: leaving[i]})
	}
	product, err := monitor.New(monitor.Spec{Model: model.m, Monitors: monitors})
	if large := (*cmdp.MemoryError)(nil); errors.As(err, &large) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("exact: %w", err)
	}
	l, err := newLoopProduct(s.ctx, model, product)
	if err != nil {
		return false, err
	}
	lifted, err := l.liftMixture(s.ctx, b, loops)
	if lifted == nil || err != nil {
		return false, err
	}
	averaged := func() ([]WeightedPolicy, error) {
		policy, err := lifted.averageVisits(s.ctx, l.to)
		return []WeightedPolicy{{1, policy}}, err
	}
	drawn := func() ([]WeightedPolicy, error) { return lifted.drawn(s.ctx, l.to) }
	ok, err := s.firstValidIn(&totalReward{l.to}, r, right, averaged, drawn)
	if ok {
		r.Product = product
	}
	return ok, err
}

// disjointLoops returns rays in groups that have no state in common.
func disjointLoops(rays []column) [][]column {
	var out [][]column
	for _, c := range rays {
		loop := []column{c}
		apart := out[:0:0]
		for _, other := range out {
			if slices.ContainsFunc(other, c.ray.intersects) {
				loop = append(other, loop...)
			} else {
				apart = append(apart, other)
			}
		}
		out = append(apart, loop)
	}
	return out
}

// intersects reports whether the ray of a column has a state in common.
func (r *ray) intersects(c column) bool {
	return slices.ContainsFunc(r.states, func(s int32) bool { return slices.Contains(c.ray.states, s) })
}

// leavingChoices returns the choices in the states of some rays that none of these takes there.
func (p *infiniteHorizon) leavingChoices(rays []column) []bool {
	out := make([]bool, p.k.Choices())
	for _, c := range rays {
		for _, s := range c.ray.states {
			for choice := p.k.First[s]; choice < p.k.First[s+1]; choice++ {
				out[choice] = true
			}
		}
	}
	var room []markov.WeightedChoice
	for _, c := range rays {
		for _, s := range c.ray.states {
			for _, t := range p.takenChoices(room[:0], c.ray.policy, p.quotient.Number[s]) {
				out[t.Choice] = false
			}
		}
	}
	return out
}

// A loopProduct takes policies of a model to its product with the memory of which loops are done.
type loopProduct struct {
	from, to *infiniteHorizon
	product  *monitor.ProductModel
	pairs    map[int32][]int32 // of each state of the model, those of the product
}

func newLoopProduct(ctx context.Context, p *infiniteHorizon, product *monitor.ProductModel) (*loopProduct, error) {
	l := &loopProduct{from: p, product: product, pairs: make(map[int32][]int32)}
	c := relevance{up: p.up, down: p.down}
	for i := range int32(product.Model.States()) {
		of := int32(product.State(int(i)))
		l.pairs[of] = append(l.pairs[of], i)
	}
	for _, s := range p.without {
		c.without = append(c.without, l.pairs[s]...)
	}
	slices.Sort(c.without)
	var err error
	l.to, err = newInfiniteHorizon(ctx, product.Model, p.workers, c, p.progress)
	return l, err
}

// liftMixture returns a mixture of the same policies, which follow the rays of a loop before that is done. It is nil if
// nobody comes to some ray then.
func (l *loopProduct) liftMixture(ctx context.Context, b *policyMixture, loops [][]column) (*policyMixture, error) {
	out := &policyMixture{steps: b.steps}
	for _, o := range b.parts {
		to := l.to
		if o.reaching != nil {
			var marks []int32
			for _, s := range o.reaching {
				marks = append(marks, l.pairs[s]...)
			}
			twice, err := l.to.twoCopies(ctx, marks)
			if err != nil {
				return nil, err
			}
			to, o.reaching = twice, marks
		}
		st := l.liftRule(&o.st, to.m)
		o.p, o.st = to, *st
		out.parts = append(out.parts, o)
	}
	places := make([]map[int32]int32, len(loops))
	for i, rays := range loops {
		var err error
		places[i], err = l.loopStates(ctx, out.parts, rays, i)
		if places[i] == nil || err != nil {
			return nil, err
		}
	}
	for _, c := range b.rays {
		loop := slices.IndexFunc(loops, func(rays []column) bool { return slices.ContainsFunc(rays, c.ray.intersects) })
		r := &ray{share: c.ray.share, policy: l.liftRule(c.ray.policy, l.to.m)}
		for _, s := range c.ray.states {
			r.states = append(r.states, places[loop][s])
		}
		c.ray = r
		out.rays = append(out.rays, c)
	}
	return out, nil
}

// loopStates returns, of each state of a loop, that of the product in which some policies come there before it is
// done, in the memory of the other loops with which they do most often; nil if they do not.
func (l *loopProduct) loopStates(ctx context.Context, parts []weightedRule, rays []column, loop int) (map[int32]int32,
	error) {
	var states, pairs []int32
	for _, c := range rays {
		states = append(states, c.ray.states...)
	}
	slices.Sort(states)
	states = slices.Compact(states)
	for _, s := range states {
		pairs = append(pairs, l.pairs[s]...)
	}
	visited, err := visitChoices(ctx, l.to, pairs, parts)
	if err != nil {
		return nil, err
	}
	mass, met := make(map[int]float64), make(map[int]int)
	best := -1
	for _, i := range visited.states {
		tuple := l.product.Tuple(int(i))
		mass[tuple] += floats.Sum(visited.of(i))
		met[tuple]++
	}
	for _, i := range visited.states {
		tuple := l.product.Tuple(int(i))
		if l.product.Part(int(i), loop) == 0 && met[tuple] == len(states) && mass[tuple] > 0 &&
			(best < 0 || mass[tuple] > mass[best]) {
			best = tuple
		}
	}
	if best < 0 {
		return nil, nil
	}
	out := make(map[int32]int32)
	for _, i := range visited.states {
		if l.product.Tuple(int(i)) == best {
			out[int32(l.product.State(int(i)))] = i
		}
	}
	return out, nil
}

// liftRule returns a policy that does what another does, in each copy of the product what that does in the copy
// of the model.
func (l *loopProduct) liftRule(st *markov.Rule, to *cmdp.Model) *markov.Rule {
	states, pairs := l.from.m.States(), l.to.m.States()
	out := &markov.Rule{Actions: markov.NewActions(to.States(), l.from.mostActions)}
	for i := range to.States() {
		s := i/pairs*states + l.product.State(i%pairs)
		out.Actions.Set(i, st.Actions.At(s))
		if probs, ok := st.Mixed[int32(s)]; ok {
			out.Mix(int32(i), probs)
		}
	}
	return out
}
