package exact

import (
	"context"
	"errors"
	"math"
	"slices"

	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cost"
	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// A rayRecovery is the recovery where the mixture may go along rays: totals that policies collect for as long as they
// like. It tries candidates, from the simplest on, until the returns of one, evaluated, are right.
type rayRecovery struct {
	*recovery
	model rayModel
}

// A rayModel is the pricer of totals that policies may collect for ever along rays.
type rayModel interface {
	visitCounter
	dim() int
	// matter reports whether return i matters on some side.
	matter(i int) bool
	weightedRules(ctx context.Context, columns []column, weights []float64) ([]weightedRule, error)
	recoverPolicy(ctx context.Context, columns []column, weights []float64, face face, spare float64) (*Policy, error)
	// averaged returns a policy with the visits of a mixture, or those that are drawn, nil if these do not come to
	// rays.
	averaged(ctx context.Context, b *policyMixture) ([]WeightedPolicy, error)
	// nearest returns rays that gain the same where policies come the most often.
	nearest(ctx context.Context, parts []weightedRule, rays []column) ([]column, error)
	// reaching returns the pricer of a model of two copies of the states, one after the other. It goes to the second
	// one when it comes to one of some states, and a return more has the probability of that.
	reaching(ctx context.Context, states []int32) (pricer, error)
	// withRows returns the model, which remembers more where its rows are stored; an error asks for these.
	withRows() (*infiniteHorizon, error)
}

// A policyMixture is what a policy is to be made of: policies with their weights, and steps along rays.
type policyMixture struct {
	parts []weightedRule
	rays  []column
	steps []float64
}

// withShare returns the mixture with a share given to those that reach rays.
func (b *policyMixture) withShare(ways []*reachingMixture, share float64) *policyMixture {
	if len(ways) == 0 {
		return b
	}
	out := &policyMixture{}
	out.add(b, 1-share)
	return out.withWays(ways, share)
}

// withWays adds a share of those that reach rays.
func (b *policyMixture) withWays(ways []*reachingMixture, share float64) *policyMixture {
	for _, w := range ways {
		b.add(&w.policyMixture, share/float64(len(ways)))
	}
	return b
}

func (b *policyMixture) add(m *policyMixture, share float64) {
	for _, o := range m.parts {
		o.weight *= share
		b.parts = append(b.parts, o)
	}
	b.rays, b.steps = append(b.rays, m.rays...), append(b.steps, scaled(share, m.steps)...)
}

// repeated returns a mixture that goes many times round the rays of some places.
func (b *policyMixture) repeated(ways []*reachingMixture, places *policyMixture) *policyMixture {
	out := *b.withShare(ways, 0.1)
	out.rays, out.steps = slices.Concat(out.rays, places.rays),
		slices.Concat(out.steps, scaled(manySteps, places.steps))
	return &out
}

// A candidate is a policy that may be the answer, or several of which one is drawn at the start.
type candidate func() ([]WeightedPolicy, error)

// firstValid takes the first candidate whose returns, as they are evaluated, are right. It reports whether there is
// one; r holds the last one else.
func (s *rayRecovery) firstValid(r *Result, right func(r *Result) bool, candidates ...candidate) (bool, error) {
	return s.firstValidIn(s.pricer, r, right, candidates...)
}

// firstValidIn is firstValid for policies of the model of a pricer.
func (s *rayRecovery) firstValidIn(p pricer, r *Result, right func(r *Result) bool, candidates ...candidate) (bool,
	error) {
	for _, make := range candidates {
		components, err := make()
		if err != nil {
			return false, err
		}
		if components == nil {
			continue
		}
		r.Policy, r.Mixture, r.Returns = nil, nil, nil
		v := []float64(nil)
		for _, c := range components {
			x, err := p.evaluate(s.ctx, c.Policy)
			if err != nil {
				return false, err
			}
			if v == nil {
				v = scaled(c.Weight, x)
			} else {
				floats.AddScaled(v, c.Weight, x)
			}
		}
		r.Returns = v
		if len(components) == 1 {
			r.Policy = components[0].Policy
		} else {
			r.Mixture = components
		}
		r.Randomized = (&Policy{mixture: components}).Randomized()
		if right(r) {
			return true, nil
		}
	}
	return false, nil
}

// recover is recoverIncumbent for totals that policies may collect for ever. An average of policies that stay somewhere
// for good and of others that leave there does not do what they do. One of them is drawn at the start then.
func (s *rayRecovery) recover(r *Result, columns []column, weights []float64, rays []column, steps []float64) error {
	b, err := s.placed(columns, weights, rays, steps)
	if err != nil {
		return err
	}
	ways, err := s.reachRays(b.parts, b.rays)
	if errors.Is(err, errReachability) { // what is shown goes along no rays then, and is judged as it is
		_, err = s.firstValid(r, s.attainsIncumbent, s.rayFreeCandidate)
		return err
	}
	if err != nil {
		return err
	}
	b = b.withShare(ways, s.affordableShare(ways))
	averaged := func() ([]WeightedPolicy, error) { return s.averagedCandidate(b, columns, weights) }
	drawn := func() ([]WeightedPolicy, error) { return b.drawn(s.ctx, s.model) }
	ok, err := s.firstValid(r, s.attainsIncumbent, averaged, drawn, s.rayFreeCandidate)
	if ok || err != nil {
		return err
	}
	ok, err = s.withMemory(r, b, s.attainsIncumbent)
	if ok || err != nil {
		return err
	}
	for _, share := range []float64{0.1, 1e-3} {
		b, err = s.rebalanced(ways, share)
		if err != nil {
			return err
		}
		if b == nil {
			continue
		}
		ok, err = s.firstValid(r, s.attainsIncumbent, averaged, drawn)
		if !ok && err == nil {
			ok, err = s.withMemory(r, b, s.attainsIncumbent)
		}
		if ok || err != nil {
			return err
		}
	}
	_, err = s.firstValid(r, s.attainsIncumbent, s.rayFreeCandidate)
	return err
}

// affordableShare is the weight that mixtures which reach rays may have without costing more than the gap allows, or
// changing returns that are to be kept.
func (s *rayRecovery) affordableShare(ways []*reachingMixture) float64 {
	share := 0.1
	if s.keepReturns {
		share = 1e-7
	}
	for _, w := range ways {
		if s.task.Cost == nil {
			break
		}
		if more := s.costOf(w.returns) - s.incumbent.cost; more > 0 {
			share = math.Min(share, s.costAllowance()/more)
		}
	}
	return share
}

// rebalanced gives a share to mixtures that reach rays and chooses all other weights and steps anew: a ray that is
// reached with a small probability is gone along for so many steps that leaving it is rounding. It is nil if that costs
// more than the gap allows, or the cost is curved.
func (s *rayRecovery) rebalanced(ways []*reachingMixture, share float64) (*policyMixture, error) {
	goal, affine := s.task.Cost.(cost.Affine)
	if !affine || len(ways) == 0 || s.keepReturns || len(s.master.blocks) > 1 {
		return nil, nil
	}
	reached := make([]float64, len(s.lower))
	for _, w := range ways {
		floats.AddScaled(reached, share/float64(len(ways)), w.returns)
	}
	n := len(s.master.columns)
	program := &lp.Problem{Minimize: make([]float64, n), Rows: []lp.Constraint{lp.Equal(make([]float64, n), 1-share)}}
	for k := range s.master.rows {
		t := &s.master.rows[k]
		room := share*t.Offset - floats.Dot(t.Normal, reached)
		program.Rows = append(program.Rows, lp.AtMost(make([]float64, n), math.Max(0, s.master.u)+room/t.scale))
	}
	for j := range s.master.columns {
		c := &s.master.columns[j]
		program.Minimize[j] = floats.Dot(goal.Gradient(), c.returns)
		if c.ray == nil {
			program.Rows[0].Coef[j] = 1
		}
		for k := range s.master.rows {
			program.Rows[k+1].Coef[j] = s.master.targetEntry(&s.master.rows[k], c)
		}
	}
	found, err := lp.Solve(program)
	if err != nil || found.Status != lp.Optimal {
		return nil, nil
	}
	more := found.Objective + floats.Dot(goal.Gradient(), minus(reached, s.incumbent.v))
	if more > s.costAllowance() {
		return nil, nil
	}
	b, err := s.mixtureOf(found.X)
	if err != nil {
		return nil, err
	}
	return b.withWays(ways, share), nil
}

// attainsIncumbent reports whether an answer keeps the limits and costs what it should.
func (s *rayRecovery) attainsIncumbent(r *Result) bool {
	if !s.meets(r.Returns) || s.keepReturns && !s.nearIncumbent(r.Returns) {
		return false
	}
	return s.task.Cost == nil || s.costOf(r.Returns)-s.incumbent.cost <= 2*s.costAllowance()
}

// nearIncumbent reports whether returns are those of the incumbent, as far as a policy with steps along rays has them.
func (s *rayRecovery) nearIncumbent(v []float64) bool {
	for i, x := range s.incumbent.v {
		if !(math.Abs(v[i]-x) <= 1e-6*(s.master.scale[i]+math.Abs(x))) {
			return false
		}
	}
	return true
}

// averagedCandidate averages the visits.
func (s *rayRecovery) averagedCandidate(b *policyMixture, columns []column, weights []float64) ([]WeightedPolicy,
	error) {
	if len(b.rays) > 0 {
		return s.model.averaged(s.ctx, b)
	}
	policy, err := s.model.recoverPolicy(s.ctx, columns, weights, s.bindingFace(), s.costAllowance())
	if err == nil && policy.mixture != nil {
		return policy.mixture, nil
	}
	return []WeightedPolicy{{1, policy}}, err
}

// drawn draws one of the policies at the start. Steps along a ray are those of one that
// comes to its place and leaves it.
func (b *policyMixture) drawn(ctx context.Context, p rayModel) ([]WeightedPolicy, error) {
	single := make([]*policyMixture, len(b.parts))
	for i, o := range b.parts {
		single[i] = &policyMixture{parts: []weightedRule{{p: o.p, st: o.st, weight: 1, reaching: o.reaching}}}
	}
	for j, c := range b.rays {
		carried := false
		for i, o := range b.parts {
			if carried || !(o.weight > 0) {
				continue
			}
			with := *single[i]
			with.rays, with.steps = append(slices.Clone(with.rays), c),
				append(slices.Clone(with.steps), b.steps[j]/o.weight)
			var err error
			carried, err = with.preservesReturns(ctx, p)
			if err != nil {
				return nil, err
			}
			if carried {
				single[i] = &with
			}
		}
		if !carried {
			return nil, nil
		}
	}
	var out []WeightedPolicy
	for i, o := range b.parts {
		policy, err := single[i].averageVisits(ctx, p)
		if err != nil {
			return nil, err
		}
		out = append(out, WeightedPolicy{o.weight, policy})
	}
	return out, nil
}

// preservesReturns reports whether the averaged policy of a mixture of one part has the returns of the mixture, as far
// as they matter.
func (b *policyMixture) preservesReturns(ctx context.Context, p rayModel) (bool, error) {
	policy, err := b.averageVisits(ctx, p)
	if err != nil {
		return false, err
	}
	got, err := p.evaluate(ctx, policy)
	if err != nil {
		return false, err
	}
	want, err := b.parts[0].p.evaluate(ctx, &Policy{steps: []markov.Rule{b.parts[0].st}})
	if err != nil {
		return false, err
	}
	for j, c := range b.rays {
		floats.AddScaled(want[:p.dim()], b.steps[j], c.returns)
	}
	for i, x := range got {
		if p.matter(i) && !(math.Abs(want[i]-x) <= 1e-9*(1+math.Abs(x))) && want[i] != x {
			return false, nil
		}
	}
	return true, nil
}

// rayFreeCandidate draws one of the policies found at the start and goes along no ray: the best
// mixture that keeps the limits, or the one that breaks them least.
func (s *rayRecovery) rayFreeCandidate() ([]WeightedPolicy, error) {
	var columns []column
	for _, c := range s.master.columns {
		if c.ray == nil {
			columns = append(columns, c)
		}
	}
	const excess = 1e6 // what breaking a limit costs in terms of the cost
	n := len(columns)
	program := &lp.Problem{Minimize: make([]float64, n+1), Rows: []lp.Constraint{lp.Equal(make([]float64, n+1), 1)}}
	for range s.master.rows {
		program.Rows = append(program.Rows, lp.AtMost(make([]float64, n+1), math.Max(0, s.master.u)))
	}
	for j, c := range columns {
		if s.task.Cost != nil {
			program.Minimize[j] = (s.task.Cost.Value(c.returns) - s.incumbent.cost) / math.Max(s.master.extent,
				leastNormal)
		}
		program.Rows[0].Coef[j] = 1
		for k := range s.master.rows {
			program.Rows[k+1].Coef[j] = s.master.targetEntry(&s.master.rows[k], &c)
		}
	}
	program.Minimize[n] = excess
	for k := range s.master.rows {
		program.Rows[k+1].Coef[n] = -1
	}
	weights := axis(n, 0, 1)
	if found, err := lp.Solve(program); err == nil && found.Status == lp.Optimal {
		weights = found.X[:n]
	}
	var kept []column
	var share []float64
	for j, x := range weights {
		if x > 0 {
			kept, share = append(kept, columns[j]), append(share, x)
		}
	}
	parts, err := s.model.weightedRules(s.ctx, kept, share)
	if err != nil {
		return nil, err
	}
	return (&policyMixture{parts: parts}).drawn(s.ctx, s.model)
}

// mixtureOf returns the mixture of the columns with the given weights.
func (s *rayRecovery) mixtureOf(lambda []float64) (*policyMixture, error) {
	var columns, rays []column
	var weights, steps []float64
	for j, x := range lambda {
		switch c := s.master.columns[j]; {
		case !(x > 0):
		case c.ray != nil:
			if x > negligibleRay {
				rays, steps = append(rays, c), append(steps, x)
			}
		default:
			columns, weights = append(columns, c), append(weights, x)
		}
	}
	return s.placed(columns, weights, rays, steps)
}

// placed returns a mixture with rays where its policies come the most often.
func (s *rayRecovery) placed(columns []column, weights []float64, rays []column, steps []float64) (*policyMixture,
	error) {
	parts, err := s.model.weightedRules(s.ctx, columns, weights)
	if err == nil {
		rays, err = s.model.nearest(s.ctx, parts, rays)
	}
	return &policyMixture{parts: parts, rays: rays, steps: steps}, err
}
