package exact

import (
	"context"
	"errors"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// A ray is a place where a policy may go on for as long as it likes. What it gains there
// in a step, on average, can be added to the returns any number of times. In the master
// it is a column without a share in the sum of the weights, whose weight counts steps.
type ray struct {
	states []int32
	share  []float64 // of the time, spent in each
	policy *stepPolicy
}

// ray returns the place where the policy of a quotient goes on for ever with a
// negative gain in a direction.
func (p *stationary) ray(q *quotient, policy *actions, endless []int32, stuck bool) priced {
	st := &stepPolicy{actions: *policy}
	in := make([]bool, q.over+1)
	for _, n := range endless {
		in[n] = true
	}
	lo, hi := p.base.over, int32(0)
	place, of := int32(-1), make([]bool, len(q.state))
	for s, n := range q.state {
		if !in[n] || n == q.over {
			continue
		}
		if stuck { // one of the harmless places that it can go to
			if place < 0 {
				place = p.harmless.of[s]
			}
			if place < 0 || p.harmless.of[s] != place {
				continue
			}
			p.linger(st, int32(s))
		}
		of[s] = true
		lo, hi = min(lo, p.base.state[s]), max(hi, p.base.state[s]+1)
	}
	// The states of a component are numbered one after the other, and between those in
	// question others may be, whose way does not lead there.
	var closed []int32
	y := p.chain
	y.reset()
	for n := lo; n < hi; n++ {
		leak := 0.0
		for _, t := range p.choose(nil, st, n) {
			for e := p.k.Offset[t.c]; e < p.k.Offset[t.c+1]; e++ {
				switch to, x := p.base.state[p.k.Next[e]], t.x*p.k.Prob[e]; {
				case to == n || x == 0:
				case to >= lo && to < hi:
					y.next, y.prob = append(y.next, to-lo), append(y.prob, x)
				default:
					leak += x
				}
			}
		}
		if !of[p.origin[n]] {
			leak++
		}
		y.end(leak)
	}
	closed = slices.Clone(y.closed())
	r := &ray{policy: st, share: y.shares(closed, 0, new(chain))}
	gain := make([]float64, p.dim())
	for j, n := range closed {
		s := p.origin[lo+n]
		r.states = append(r.states, s)
		p.addReturns(gain, r.share[j], st, s)
	}
	return priced{returns: gain, value: math.Inf(-1), ray: r}
}

// linger lets the policy take all choices that stay in the harmless place of a state,
// with the same probability.
func (p *stationary) linger(st *stepPolicy, s int32) {
	n := p.k.First[s+1] - p.k.First[s]
	probs, kept := make([]float64, n), 0.0
	for a := range n {
		if p.harmless.inside[p.k.First[s]+a] {
			probs[a] = 1
			kept++
		}
	}
	if kept == 0 {
		return
	}
	if st.mixed == nil {
		st.mixed = make(map[int32][]float64)
	}
	st.mixed[s] = scaled(1/kept, probs)
}

// way returns a policy that comes to the place of a ray with a positive probability, and
// rests surely, as rest does: everywhere on a way there it takes that or does as rest.
func (p *stationary) way(r *ray, rest *actions) *stepPolicy {
	g := &p.graph
	into, owner := g.choicesInto(), owners(p.k)
	out := &stepPolicy{actions: *rest, mixed: make(map[int32][]float64)}
	met, queue := make([]bool, g.states()), slices.Clone(r.states)
	for _, s := range queue {
		met[s] = true
	}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		for _, c := range into.of(s) {
			if by := owner[c]; !met[by] && g.has(by) && g.allows(c) {
				met[by] = true
				probs := make([]float64, p.k.First[by+1]-p.k.First[by])
				probs[rest.at(int(by))] += 0.5
				probs[c-p.k.First[by]] += 0.5
				out.mixed[by] = probs
				queue = append(queue, by)
			}
		}
	}
	return out
}

// unbounded is the answer where the cost of the mixture falls without limit along rays:
// a policy that goes on for ever where they do.
func (s *solver) unbounded() (*Result, error) {
	p, ok := s.pricer.(*stationary)
	if !ok {
		return nil, errNoBound
	}
	r := &Result{Status: Unbounded, Bound: math.Inf(-1), Tolerance: 2 * s.missing}
	if err := s.recoverPolicy(r); err != nil {
		return nil, err
	}
	gain := make([]float64, len(s.lower))
	along := s.master.sol.Ray
	var places []*ray
	for j, c := range s.master.columns {
		if x := along[firstLambda+j]; x > 0 && c.ray != nil {
			floats.AddScaled(gain, x, c.returns)
			places = append(places, c.ray)
		}
	}
	slope, worst := make([]float64, len(gain)), 0.0
	s.task.Cost.Subgradient(slope, s.incumbent.v)
	for i, x := range gain {
		if x*slope[i] < worst {
			r.Return, worst = i, x*slope[i]
		}
	}
	var err error
	if r.Policy, err = p.stayIn(s.ctx, r.Policy, places); err != nil {
		return nil, err
	}
	r.Randomized = r.Policy.Randomized()
	r.Returns, err = p.evaluate(s.ctx, r.Policy)
	r.Objective, r.Iterations = math.Inf(-1), s.iterations
	r.Dual = make([]float64, len(s.lower))
	for _, row := range s.rows {
		r.Prices = append(r.Prices, Price{Constraint: row})
	}
	return r, err
}

// stayIn returns a policy that mostly does as policy does, and now and then goes to the
// places of rays and stays there for ever.
func (p *stationary) stayIn(ctx context.Context, policy *Policy, places []*ray) (*Policy, error) {
	var all []int32
	for _, r := range places {
		all = append(all, r.states...)
	}
	visited, err := p.spend(ctx, all, policy.steps[:1], []float64{1})
	if err != nil {
		return nil, err
	}
	out := &policy.steps[0]
	for _, r := range places {
		if !visited.comes(r) {
			way := p.way(r, &out.actions)
			for s, probs := range way.mixed {
				if old, ok := out.mixed[s]; ok {
					probs = between(old, probs, 0.5)
				}
				out.mix(s, probs)
			}
		}
	}
	for _, r := range places {
		for _, s := range r.states {
			delete(out.mixed, s)
			out.actions.set(int(s), r.policy.actions.at(int(s)))
			if probs, ok := r.policy.mixed[s]; ok {
				out.mix(s, probs)
			}
		}
	}
	return policy, nil
}

func (st *stepPolicy) mix(s int32, probs []float64) {
	if st.mixed == nil {
		st.mixed = make(map[int32][]float64)
	}
	st.mixed[s] = probs
}

// grows answers a task for which found says that a total may grow for ever beside long-run means. The total is without
// bound if its own long-run mean can be on that side while all other limits are kept: the policy is then one that
// shows it. The answer is nil if that is not so, or not known.
func (p *Planner) grows(ctx context.Context, task cmdp.Task, opts Options, found *NoTotalError) (*Result, error) {
	i, d := found.Return, p.m.Dim()
	g, ok := task.Cost.(cost.Affine)
	if !ok || i < 0 || g.Gradient()[i] == 0 {
		return nil, nil
	}
	spec := cmdp.ModelSpec{Discount: 1, Dim: d, Start: p.m.StartStates(), Kernels: []cmdp.Kernel{*p.m.Kernel(0)}}
	for j := range d {
		spec.Means = append(spec.Means, p.m.Mean(j) || j == i)
	}
	m, err := cmdp.NewModel(spec)
	if err != nil {
		return nil, err
	}
	slope := math.Copysign(1, g.Gradient()[i])
	least, most := 0.0, 0.0
	for c := i; c < len(spec.Kernels[0].Returns); c += d {
		least, most = math.Min(least, spec.Kernels[0].Returns[c]), math.Max(most, spec.Kernels[0].Returns[c])
	}
	growth := cmdp.Task{Target: othersOf(task.Target, i, least, most)}
	if growth.Target == nil && task.Target != nil {
		return nil, nil
	}
	low, high := slices.Repeat([]float64{-boundless}, d), slices.Repeat([]float64{boundless}, d)
	box, err := geometry.NewBox(low, high)
	if err != nil {
		return nil, err
	}
	if growth.Cost, err = cost.NewLinear(axis(d, i, slope), box); err != nil {
		return nil, err
	}
	r, err := Solve(ctx, m, growth, Options{Workers: opts.Workers, Iterations: opts.Iterations, Progress: opts.Progress})
	if errors.Is(err, ErrNoTotal) || err == nil && !(r.Status == Optimal && r.Objective < -1e-9*(most-least)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	total, components := make([]float64, d), r.Components
	if r.Policy != nil {
		components = []Component{{1, r.Policy}}
	}
	for _, c := range components {
		e, err := Evaluate(ctx, p.m, c.Policy)
		if err != nil {
			return nil, err
		}
		floats.AddScaled(total, c.Weight, e.Returns)
	}
	if !math.IsInf(total[i], -int(slope)) { // it goes up and down
		return nil, nil
	}
	return &Result{Status: Unbounded, Bound: math.Inf(-1), Objective: math.Inf(-1), Return: i, Returns: total, Policy: r.Policy, Components: r.Components,
		Randomized: r.Randomized, Tolerance: r.Tolerance, Iterations: r.Iterations, Dual: make([]float64, d)}, nil
}

// othersOf returns the part of a polyhedral target that does not depend on coordinate i, which goes from least to most instead.
// It is nil without one.
func othersOf(target geometry.Compact, i int, least, most float64) geometry.Compact {
	p, ok := target.(geometry.Polyhedral)
	if !ok {
		return nil
	}
	rows, ok := p.Rows()
	if !ok {
		return nil
	}
	up, down := axis(target.Dim(), i, 1), axis(target.Dim(), i, -1)
	a, b := [][]float64{up, down}, []float64{most, -least}
	for k, n := range rows.A {
		if n[i] != 0 {
			continue
		}
		if a, b = append(a, n), append(b, rows.B[k]); k < rows.Equalities {
			a, b = append(a, scaled(-1, n)), append(b, -rows.B[k])
		}
	}
	out, err := geometry.NewPolytope(a, b)
	if err != nil {
		return nil
	}
	return out
}
