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
	policyMixture
	returns []float64
}

// reachRays finds a mixture that comes to each ray whose place the policies of a mixture do not visit.
func (s *rayRecovery) reachRays(parts []weightedRule, rays []column) ([]*reachingMixture, error) {
	var out []*reachingMixture
	var lost []int32
	pool := slices.Clone(rays)
	for i := 0; i < len(pool); i++ {
		states := slices.Clone(pool[i].ray.states)
		seen := parts
		for _, w := range out {
			seen = slices.Concat(seen, w.parts)
		}
		visited, err := visitChoices(s.ctx, s.model, states, seen)
		if err != nil {
			return nil, err
		}
		if visited.most() > unreachableProbability {
			continue
		}
		w, err := s.mixtureReaching(states)
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
// no policy comes.
func (s *recovery) checkRaysReached() error {
	if s.traits.rays == nil {
		return nil
	}
	of := &rayRecovery{s, s.traits.rays}
	b, err := of.mixtureOf(s.incumbent.lambda)
	if err == nil {
		_, err = of.reachRays(b.parts, b.rays)
	}
	return err
}

// mixtureReaching maximises the probability of coming to one of some states within the limits. It returns nil if that
// is 0.
func (s *rayRecovery) mixtureReaching(states []int32) (*reachingMixture, error) {
	opts := s.opts
	opts.Progress, opts.Early, opts.cutoff = nil, nil, nil
	var rows []cmdp.Constraint
	for _, r := range s.master.rows {
		rows = append(rows, r.Constraint)
	}
	q, err := s.model.reaching(s.ctx, states)
	if err != nil {
		return nil, err
	}
	n, verdict, err := maximizeReaching(s.ctx, q, rows, s.lower, s.upper, opts)
	if err != nil {
		return nil, err
	}
	switch {
	case verdict == Optimal && -n.incumbent.cost > unreachableProbability:
		return n.reachingMixtureOf(states)
	case n.provesUnreachable(verdict):
		return nil, nil
	}
	return nil, errReachability
}

// maximizeReaching maximises the probability of coming to the second copy of a model of two copies within limits. What
// it returns has minimised its negative.
func maximizeReaching(ctx context.Context, q pricer, rows []cmdp.Constraint, lower, upper []float64,
	opts Options) (*columnGeneration, Verdict, error) {
	d := q.dim() - 1
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
	reaching, err := newProgram(ctx, q, task, opts)
	if err != nil {
		return nil, 0, err
	}
	n, err := newColumnGeneration(ctx, q, reaching)
	if err != nil {
		return nil, 0, err
	}
	if err := n.initialize(); err != nil {
		return nil, 0, err
	}
	verdict, err := n.phase1()
	if err == nil && verdict == Optimal {
		_, err = n.phase2()
	}
	return n, verdict, err
}

// provesUnreachable reports whether maximizeReaching has proved that no policy within the limits comes to its states.
func (s *columnGeneration) provesUnreachable(verdict Verdict) bool {
	return verdict == Infeasible || verdict == Optimal && s.bound.proof != nil &&
		-s.bound.proof.Bound <= 100*unreachableProbability
}

// errReachability is the error of a ray of which it is not known whether policies within the limits come to its place.
var errReachability = errors.New("exact: whether a place can be reached within the limits is not known")

// reachingMixtureOf returns the incumbent of a model of two copies.
func (s *columnGeneration) reachingMixtureOf(states []int32) (*reachingMixture, error) {
	of := &rayRecovery{&recovery{columnGeneration: s}, s.traits.rays}
	b, err := of.mixtureOf(s.incumbent.lambda)
	if err != nil {
		return nil, err
	}
	for i := range b.parts {
		b.parts[i].reaching = states
	}
	n := int32(s.traits.rays.process().States() / 2)
	for i := range b.rays {
		c := &b.rays[i]
		c.returns = c.returns[:len(c.returns)-1]
		c.ray = c.ray.moved(int(n), math.MaxInt, func(s int32) int32 { return s % n })
	}
	return &reachingMixture{*b, s.incumbent.v[:len(s.incumbent.v)-1]}, nil
}

// moved returns a ray in a model of so many states with so many actions.
func (r *ray) moved(states, actions int, at func(s int32) int32) *ray {
	out := &ray{share: r.share, policy: &markov.Rule{Actions: markov.NewPackedActions(states, actions)}}
	for _, s := range r.states {
		to := at(s)
		out.states = append(out.states, to)
		out.policy.Actions.Set(int(to), r.policy.Actions.At(int(s)))
		if probs, ok := r.policy.Mixed[s]; ok {
			out.policy.Mix(to, probs)
		}
	}
	return out
}

func (p *infiniteHorizon) reaching(ctx context.Context, states []int32) (pricer, error) {
	q, err := p.twoCopies(ctx, states)
	return &totalReward{q}, err
}

func (p *infiniteHorizon) matter(i int) bool { return p.up[i] || p.down[i] }

func (p *infiniteHorizon) nearest(_ context.Context, _ []weightedRule, rays []column) ([]column, error) {
	return rays, nil
}

func (p *infiniteHorizon) averaged(ctx context.Context, b *policyMixture) ([]WeightedPolicy, error) {
	policy, err := b.averageVisits(ctx, p)
	if err != nil {
		return nil, err
	}
	return []WeightedPolicy{{1, policy}}, nil
}

func (p *infiniteHorizon) withRows() (*infiniteHorizon, error) { return p, nil }

// twoCopies is reaching.
func (p *infiniteHorizon) twoCopies(ctx context.Context, states []int32) (*infiniteHorizon, error) {
	k, d, n := p.k, p.dim(), int32(p.m.States())
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
	spec := cmdp.ModelSpec{Discount: 1, Dim: d + 1, Start: p.m.StartStates(), Kernels: []cmdp.Kernel{out}}
	m, err := cmdp.NewModel(spec)
	if err != nil {
		return nil, err
	}
	c := relevance{up: append(slices.Clone(p.up), false), down: append(slices.Clone(p.down), true)}
	for _, s := range p.without {
		c.without = append(c.without, s, s+n)
	}
	slices.Sort(c.without)
	return newInfiniteHorizon(ctx, m, p.workers, c, p.progress)
}
