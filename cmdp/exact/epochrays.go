package exact

import (
	"context"
	"errors"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"
)

// A ray is a loop of one epoch. Epochs of the same class that allow its choices have the same one.

// ray returns the loop of the epoch in which the policy gains for ever.
func (p *epochPass) ray(ctx context.Context) (pricedPolicy, error) {
	var places *markov.EndComponents
	policy := markov.NewPackedActions(p.e.Base.States(), p.actions)
	if p.chosen[p.endless[0]] < 0 { // every policy goes on for ever there
		var err error
		places, err = p.class.endsOf(ctx, p.class.harmless)
		if err != nil {
			return pricedPolicy{}, err
		}
	} else {
		choice := slices.Repeat([]int32{-1}, int(p.quotient.Rest))
		for _, n := range p.endless {
			choice[n] = p.chosen[n]
		}
		p.quotient.Lift(choice, func(s, c int32) { policy.Set(int(s), int(c-p.class.kernel.First[s])) })
	}
	small := &policyEvaluator{m: p.m, k: p.class.graph.Kernel, quotient: p.class.states}
	out, err := small.rayIn(ctx, &p.chain, p.quotient, &policy, p.endless, places)
	if errors.Is(err, markov.ErrSingular) { // no loop is left that does no harm
		return pricedPolicy{}, errWantsRows
	}
	if err == nil {
		out.ray = p.inEpoch(out.ray, p.epoch)
	}
	return out, err
}

// inEpoch returns a ray of the base, or of some epoch, in another one.
func (p *epochTotals) inEpoch(r *ray, epoch int) *ray {
	n := int32(p.e.Base.States())
	return r.moved(p.m.States(), p.actions, func(s int32) int32 { return int32(p.e.Pair(epoch, int(s%n))) })
}

// nearest looks among the epochs that have the loop of a ray.
func (p *epochTotals) nearest(ctx context.Context, parts []weightedRule, rays []column) ([]column, error) {
	if len(rays) == 0 {
		return rays, nil
	}
	in := make([][]bool, len(rays))        // of each ray, its states of the base
	loops := make([][]bool, len(rays))     // of each, the epochs that have it
	visits := make([][]float64, len(rays)) // of each and each epoch, the most of a policy
	for i, c := range rays {
		in[i], loops[i] = make([]bool, p.e.Base.States()), make([]bool, p.e.Len())
		visits[i] = make([]float64, p.e.Len())
		for _, pair := range c.ray.states {
			_, s := p.e.Split(int(pair))
			in[i][s] = true
		}
		for epoch := range loops[i] {
			loops[i][epoch] = p.hasLoop(epoch, c.ray)
		}
	}
	for _, o := range parts {
		v := p.visitsOf(NewPolicy([]markov.Rule{o.st}), make([]float64, p.e.Dim))
		v.visited = func(epoch int, s int32, x float64) {
			for i := range rays {
				if in[i][s] && loops[i][epoch] && o.weight*x > visits[i][epoch] {
					visits[i][epoch] = o.weight * x
				}
			}
		}
		if err := v.visitAll(ctx); err != nil {
			return nil, err
		}
	}
	out := slices.Clone(rays)
	for i := range out {
		best := slices.Index(visits[i], slices.Max(visits[i]))
		if visits[i][best] > 0 {
			out[i].ray = p.inEpoch(out[i].ray, best)
		}
	}
	return out, nil
}

// hasLoop reports whether an epoch has the loop of a ray.
func (p *epochTotals) hasLoop(epoch int, r *ray) bool {
	own, _ := p.e.Split(int(r.states[0]))
	if !p.comesUp[epoch] || p.e.Class[epoch] != p.e.Class[own] {
		return false
	}
	k, allows := p.classes[p.e.Class[epoch]].kernel, p.allowed.in(epoch)
	return allows == nil || !slices.ContainsFunc(r.states, func(pair int32) bool {
		_, s := p.e.Split(int(pair))
		probs, draws := r.policy.Mixed[pair]
		if !draws {
			probs = axis(p.actions, r.policy.Actions.At(int(pair)), 1)
		}
		for a, x := range probs {
			if x > 0 && !allows[int(k.First[s])+a] {
				return true
			}
		}
		return false
	})
}

func (p *epochTotals) process() *cmdp.Model { return p.m }

func (p *epochTotals) matter(i int) bool { return p.up[i] || p.down[i] }

func (p *epochTotals) actionsIn(pair int32) int {
	_, s := p.e.Split(int(pair))
	k := p.e.Classes[0]
	return int(k.First[s+1] - k.First[s])
}

// visitsAt counts visits from the first epoch to the last.
func (p *epochTotals) visitsAt(ctx context.Context, st *markov.Rule, pairs []int32) ([]float64, error) {
	out := make([]float64, len(pairs))
	v := p.visitsOf(NewPolicy([]markov.Rule{*st}), make([]float64, p.e.Dim))
	v.visited = func(epoch int, s int32, x float64) {
		if i, found := slices.BinarySearch(pairs, int32(p.e.Pair(epoch, int(s)))); found {
			out[i] = x
		}
	}
	return out, v.visitAll(ctx)
}

// weightedRules finds the policies of columns again.
func (p *epochTotals) weightedRules(ctx context.Context, columns []column, weights []float64) (out []weightedRule,
	err error) {
	for j, c := range columns {
		actions := markov.NewPackedActions(p.m.States(), p.actions)
		found, err := p.solve(ctx, c.dir, &actions)
		if err != nil {
			return nil, err
		}
		if found.ray != nil { // which the column was not: what its policy does in earlier epochs is not known
			return nil, errWantsRows
		}
		out = append(out, weightedRule{p: p, st: markov.Rule{Actions: actions}, weight: weights[j]})
	}
	return out, nil
}

// averaged draws one of the policies at the start: to average them would take room for all pairs in which they differ.
func (p *epochTotals) averaged(ctx context.Context, b *policyMixture) ([]WeightedPolicy, error) {
	return b.drawn(ctx, p)
}

// withRows asks for stored rows: what remembers which loops are done is a product. Choices that are not offered have
// other numbers there.
func (p *epochTotals) withRows() (*infiniteHorizon, error) {
	if p.e.Restricted() {
		return nil, nil
	}
	return nil, errWantsRows
}

func (p *epochTotals) reaching(ctx context.Context, pairs []int32) (pricer, error) {
	epoch, _ := p.e.Split(int(pairs[0]))
	in := make([]bool, p.e.Base.States())
	for _, pair := range pairs {
		_, s := p.e.Split(int(pair))
		in[s] = true
	}
	m, err := p.e.TwoCopies(epoch, in).Model()
	if err != nil {
		return nil, err
	}
	all, err := newEpochModels(ctx, m, p.workers)
	if err != nil {
		return nil, err
	}
	c := relevance{up: append(slices.Clone(p.up), false), down: append(slices.Clone(p.down), true)}
	return all.withRelevance(ctx, c)
}
