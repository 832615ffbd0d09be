package exact

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// In the master a ray can have a weight without any policy that comes to its place. That is a limit of policies
// that come there ever more rarely and stay ever longer, if some policy comes there at all while it keeps the
// limits. If none does, the ray is not there: no policy that keeps the limits sees the states of its place,
// which are left out then.

// unreachableProbability is the probability up to which a place counts as one that no policy comes to within the
// limits.
const unreachableProbability = 1e-9

// An unreachableStatesError names states that no policy comes to which keeps the limits.
type unreachableStatesError struct{ states []int32 }

func (e *unreachableStatesError) Error() string {
	return fmt.Sprintf("exact: no policy that keeps the limits comes to state %d", e.states[0])
}

// A reachingMixture is a mixture of policies that keeps the limits and comes to the place of a ray.
type reachingMixture struct {
	parts   []weightedRule
	rays    []column // that it goes along besides
	steps   []float64
	returns []float64
}

// reachRays finds a passage to each ray whose place the policies of a mixture do not visit.
func (s *solver) reachRays(p *infiniteHorizon, parts []weightedRule, rays []column) ([]*reachingMixture, error) {
	var out []*reachingMixture
	var lost []int32
	pool := slices.Clone(rays)
	for i := 0; i < len(pool); i++ {
		states := slices.Clone(pool[i].ray.states)
		seen := parts
		for _, w := range out {
			seen = slices.Concat(seen, w.parts)
		}
		visited, err := p.visitChoices(s.ctx, states, seen)
		if err != nil {
			return nil, err
		}
		if visited.most() > unreachableProbability {
			continue
		}
		w, err := s.mixtureReaching(p, states)
		if err != nil {
			return nil, err
		}
		if w == nil {
			lost = append(lost, states...)
			continue
		}
		out, pool = append(out, w), append(pool, w.rays...)
	}
	if lost != nil {
		return nil, &unreachableStatesError{lost}
	}
	return out, nil
}

// checkRaysReached returns an error that names the states to be left out if the incumbent goes along rays to which
// there is no passage.
func (s *solver) checkRaysReached() error {
	p := s.traits.rays
	if p == nil {
		return nil
	}
	b := s.mixtureOf(s.incumbent.lambda)
	_, err := s.reachRays(p, b.parts, b.rays)
	return err
}

// mixtureReaching maximises the probability of coming to one of some states within the limits. It returns nil if that
// is 0.
func (s *solver) mixtureReaching(p *infiniteHorizon, states []int32) (*reachingMixture, error) {
	opts := s.opts
	opts.Progress, opts.Early = nil, nil
	var rows []cmdp.Constraint
	for _, r := range s.master.rows {
		rows = append(rows, r.Constraint)
	}
	n, verdict, err := p.maximizeReaching(s.ctx, states, rows, s.lower, s.upper, opts)
	if err != nil {
		return nil, err
	}
	switch {
	case verdict == Optimal && -n.incumbent.cost > unreachableProbability:
		return n.reachingMixtureOf(n.traits.rays, states), nil
	case n.provesUnreachable(verdict):
		return nil, nil
	}
	return nil, errReachability
}

// maximizeReaching maximises the probability of coming to one of some states within limits, in a model that is marked
// with them. The solver that it returns has minimised its negative.
func (p *infiniteHorizon) maximizeReaching(ctx context.Context, states []int32, rows []cmdp.Constraint, lower,
	upper []float64,
	opts Options) (*solver, Verdict, error) {
	m, d := p.m, p.dim()
	twice, err := twoCopies(m, states)
	if err != nil {
		return nil, 0, err
	}
	c := relevance{up: append(slices.Clone(p.up), false), down: append(slices.Clone(p.down), true)}
	for _, s := range p.without {
		c.without = append(c.without, s, s+int32(m.States()))
	}
	slices.Sort(c.without)
	q, err := newInfiniteHorizon(twice, p.workers, c, p.progress)
	if err != nil {
		return nil, 0, err
	}
	box, err := geometry.NewBox(append(slices.Clone(lower), 0), append(slices.Clone(upper), 1))
	if err != nil {
		return nil, 0, fmt.Errorf("exact: %w", err)
	}
	task := cmdp.Task{Box: box}
	task.Cost, err = cost.NewLinear(axis(d+1, d, -1), box)
	if err != nil {
		return nil, 0, fmt.Errorf("exact: %w", err)
	}
	for _, r := range rows {
		task.Constraints = append(task.Constraints, cmdp.Constraint{Normal: append(slices.Clone(r.Normal), 0),
			Offset: r.Offset})
	}
	n, err := newSolver(ctx, &totalReward{q}, task, opts)
	if err != nil {
		return nil, 0, err
	}
	if err := n.initialize(); err != nil {
		return nil, 0, err
	}
	verdict, err := n.findFeasible()
	if err == nil && verdict == Optimal {
		_, err = n.optimize()
	}
	return n, verdict, err
}

// provesUnreachable reports whether mostOften has proved that no policy within the limits comes to its states.
func (s *solver) provesUnreachable(verdict Verdict) bool {
	return verdict == Infeasible || verdict == Optimal && s.proof != nil && -s.proof.Bound <= 100*unreachableProbability
}

// errReachability is the error of a ray of which it is not known whether policies within the limits come to its place.
var errReachability = errors.New("exact: whether a place can be reached within the limits is not known")

// reachingMixtureOf returns the mixture of a solver for a model that is marked with some states.
func (s *solver) reachingMixtureOf(q *infiniteHorizon, states []int32) *reachingMixture {
	w := &reachingMixture{returns: s.incumbent.v[:len(s.incumbent.v)-1]}
	for j, x := range s.incumbent.lambda {
		c := s.master.columns[j]
		switch {
		case !(x > 0):
		case c.ray == nil:
			w.parts = append(w.parts, weightedRule{p: q, st: markov.Rule{Actions: *c.policy}, weight: x,
				reaching: states})
		default:
			c.returns, c.ray = c.returns[:len(c.returns)-1], c.ray.inModel(int32(q.m.States()/2))
			w.rays, w.steps = append(w.rays, c), append(w.steps, x)
		}
	}
	return w
}

// inModel returns a ray of a marked model in the model itself, which has so many states.
func (r *ray) inModel(states int32) *ray {
	out := &ray{share: r.share, policy: &markov.Rule{Actions: markov.NewActions(int(states), math.MaxInt)}}
	for _, s := range r.states {
		to := s % states
		out.states = append(out.states, to)
		out.policy.Actions.Set(int(to), r.policy.Actions.At(int(s)))
		if probs, ok := r.policy.Mixed[s]; ok {
			out.policy.Mix(to, probs)
		}
	}
	return out
}

// twoCopies returns a model of two copies of the states of m, one after the other. It goes to the second one when
// it comes to one of some states, and a return more has the probability of that.
func twoCopies(m *cmdp.Model, states []int32) (*cmdp.Model, error) {
	k, d, n := m.Kernel(0), m.Dim(), int32(m.States())
	in := make([]bool, n)
	for _, s := range states {
		in[s] = true
	}
	out := cmdp.NewKernel()
	var next []int32
	var returns []float64
	for copy := range int32(2) {
		for s := range n {
			for c := k.First[s]; c < k.First[s+1]; c++ {
				comes := 0.0
				row, prob := k.Row(int(c))
				next = append(next[:0], row...)
				for j, to := range row {
					if copy == 0 && in[to] {
						comes += prob[j]
					}
					if copy == 1 || in[to] {
						next[j] += n
					}
				}
				returns = append(append(returns[:0], k.ReturnsOf(int(c), d)...), comes)
				out.Append(next, prob, returns)
			}
			out.EndState()
		}
	}
	return cmdp.NewModel(cmdp.ModelSpec{Discount: 1, Dim: d + 1, Start: m.StartStates(), Kernels: []cmdp.Kernel{out}})
}

// A policyMixture is what a policy is to be made of: policies with their weights, and steps along rays.
type policyMixture struct {
	parts []weightedRule
	rays  []column
	steps []float64
}

// withShare returns the blend with a share given to passages.
func (b *policyMixture) withShare(ways []*reachingMixture, share float64) *policyMixture {
	if len(ways) == 0 {
		return b
	}
	out := &policyMixture{}
	add := func(parts []weightedRule, rays []column, steps []float64, x float64) {
		for _, o := range parts {
			o.weight *= x
			out.parts = append(out.parts, o)
		}
		out.rays, out.steps = append(out.rays, rays...), append(out.steps, scaled(x, steps)...)
	}
	add(b.parts, b.rays, b.steps, 1-share)
	for _, w := range ways {
		add(w.parts, w.rays, w.steps, share/float64(len(ways)))
	}
	return out
}

// A candidate is a policy that may be the answer, or several of which one is drawn at the start.
type candidate func(ctx context.Context) ([]WeightedPolicy, error)

// firstValid takes the first draft whose returns, as they are evaluated, are right. It reports whether there is
// one; r holds the last one else.
func (s *solver) firstValid(r *Result, right func(r *Result) bool, drafts ...candidate) (bool, error) {
	return s.firstValidIn(s.pricer, r, right, drafts...)
}

// firstValidIn is firstValid for policies of the model of a pricer.
func (s *solver) firstValidIn(p pricer, r *Result, right func(r *Result) bool, drafts ...candidate) (bool, error) {
	for _, make := range drafts {
		components, err := make(s.ctx)
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
		r.Randomized = r.Policy.Randomized()
		if right(r) {
			return true, nil
		}
	}
	return false, nil
}

// recoverTotalPolicy is recoverIncumbent for totals that policies may collect for ever. An average of policies that
// stay somewhere for good and of others that leave there does not do what they do. One of them is drawn at the start
// then.
func (s *solver) recoverTotalPolicy(r *Result, p *infiniteHorizon, columns []column, weights []float64, rays []column,
	steps []float64) error {
	b := &policyMixture{parts: p.weightedRules(columns, weights), rays: rays, steps: steps}
	ways, err := s.reachRays(p, b.parts, rays)
	if err != nil {
		return err
	}
	b = b.withShare(ways, s.affordableShare(ways))
	averaged := func(ctx context.Context) ([]WeightedPolicy, error) {
		return s.averagedCandidate(ctx, p, b, columns, weights)
	}
	drawn := func(ctx context.Context) ([]WeightedPolicy, error) { return s.drawnCandidate(ctx, p, b) }
	plain := func(context.Context) ([]WeightedPolicy, error) { return s.rayFreeCandidate() }
	ok, err := s.firstValid(r, s.attainsIncumbent, averaged, drawn, plain)
	if ok || err != nil {
		return err
	}
	ok, err = s.withMemory(r, p, b, s.attainsIncumbent)
	if ok || err != nil {
		return err
	}
	_, err = s.firstValid(r, s.attainsIncumbent, plain)
	return err
}

// affordableShare is the weight that passages may have without costing more than the gap allows.
func (s *solver) affordableShare(ways []*reachingMixture) float64 {
	share := 0.1
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

// attainsIncumbent reports whether an answer keeps the limits and costs what it should.
func (s *solver) attainsIncumbent(r *Result) bool {
	if !s.meets(r) {
		return false
	}
	return s.task.Cost == nil || s.costOf(r.Returns)-s.incumbent.cost <= 2*s.costAllowance()
}

// averagedCandidate is the draft that averages the visits.
func (s *solver) averagedCandidate(ctx context.Context, p *infiniteHorizon, b *policyMixture, columns []column,
	weights []float64) ([]WeightedPolicy, error) {
	if len(b.rays) > 0 {
		policy, err := p.averageVisits(ctx, b)
		return []WeightedPolicy{{1, policy}}, err
	}
	policy, err := p.recoverPolicy(ctx, columns, weights, s.bindingFace(), s.costAllowance())
	return []WeightedPolicy{{1, policy}}, err
}

// drawnCandidate is the draft that draws one of the policies at the start. Steps along a ray are those of one that
// comes to its place and leaves it.
func (s *solver) drawnCandidate(ctx context.Context, p *infiniteHorizon, b *policyMixture) ([]WeightedPolicy, error) {
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
			carried, err = p.preservesReturns(ctx, &with)
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
		policy, err := p.averageVisits(ctx, single[i])
		if err != nil {
			return nil, err
		}
		out = append(out, WeightedPolicy{o.weight, policy})
	}
	return out, nil
}

// preservesReturns reports whether the averaged policy of a blend of one part has the returns of the blend, as far as
// they matter.
func (p *infiniteHorizon) preservesReturns(ctx context.Context, b *policyMixture) (bool, error) {
	policy, err := p.averageVisits(ctx, b)
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
		if (p.up[i] || p.down[i]) && !(math.Abs(want[i]-x) <= 1e-9*(1+math.Abs(x))) && want[i] != x {
			return false, nil
		}
	}
	return true, nil
}

// rayFreeCandidate is the draft that draws one of the policies found at the start and goes along no ray: the best
// mixture that keeps the limits, or the one that breaks them least.
func (s *solver) rayFreeCandidate() ([]WeightedPolicy, error) {
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
	var out []WeightedPolicy
	for j, x := range weights {
		if x > 0 {
			out = append(out, WeightedPolicy{x, &Policy{steps: []markov.Rule{{Actions: columns[j].policy.Clone()}}}})
		}
	}
	return out, nil
}
