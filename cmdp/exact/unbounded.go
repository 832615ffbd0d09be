package exact

import (
	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
	"context"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// unboundedResult is the answer where the cost of the mixture falls without limit along rays: a policy that keeps all
// limits and goes on for ever where it gains. Where the gains of one place pay for those of another none does,
// and the policy goes round many times.
func (s *solver) unboundedResult() (*Result, error) {
	if s.traits.rays == nil {
		return nil, errNoBound
	}
	of := &rayRecovery{&s.recovery, s.traits.rays}
	base, err := of.mixtureOf(s.incumbent.lambda)
	if err != nil {
		return nil, err
	}
	places, err := of.mixtureOf(s.master.sol.Ray[firstLambda:])
	if err != nil {
		return nil, err
	}
	places.rays, err = s.traits.rays.nearest(s.ctx, base.parts, places.rays)
	if err != nil {
		return nil, err
	}
	gain := make([]float64, len(s.lower))
	for j, c := range places.rays {
		floats.AddScaled(gain, places.steps[j], c.returns)
	}
	ways, err := of.reachRays(base.parts, slices.Concat(base.rays, places.rays))
	if err != nil {
		return nil, err
	}
	r := &Result{Status: Unbounded, Bound: math.Inf(-1), Tolerance: 2 * s.targetTolerance}
	slope, worst := make([]float64, len(gain)), 0.0
	s.task.Cost.Subgradient(slope, s.incumbent.v)
	for i, x := range gain {
		if x*slope[i] < worst {
			r.Return, worst = i, x*slope[i]
		}
	}
	far := slices.Clone(s.incumbent.v)
	floats.AddScaled(far, manySteps, gain)
	low := s.incumbent.cost + 0.5*(s.task.Cost.Value(far)-s.incumbent.cost)
	falls := func(r *Result) bool {
		return s.meets(r.Returns) && low < s.incumbent.cost && s.costOf(r.Returns) <= low
	}
	ok, err := of.firstValid(r, falls, append(of.endlessCandidates(base, ways, places), of.rayFreeCandidate)...)
	if !ok && err == nil {
		ok, err = of.withMemory(r, base.repeated(ways, places), falls)
	}
	if err != nil {
		return nil, err
	}
	if !ok { // policies that come as low as one likes need to remember what they did
		return s.finalResult()
	}
	r.Objective, r.Iterations = math.Inf(-1), s.iterations
	if s.task.Target != nil {
		r.Violation = s.violation(r.Returns)
	}
	r.Dual = make([]float64, len(s.lower))
	r.Prices = unpriced(s.rows)
	return r, nil
}

// manySteps is how many steps, each of the size of what returns vary about, a policy goes along rays that it
// does not stay in.
const manySteps = 1e6

// endlessCandidates returns candidates that do without end what the rays of some places do, more modest ones
// later.
func (s *rayRecovery) endlessCandidates(base *policyMixture, ways []*reachingMixture,
	places *policyMixture) []candidate {
	var out []candidate
	both := base.withShare(ways, 0.5)
	stay := func(places []column) ([]WeightedPolicy, error) {
		policies, err := s.model.averaged(s.ctx, both)
		if err != nil {
			return nil, err
		}
		for _, o := range policies {
			for _, c := range places {
				c.ray.followedBy(&o.Policy.steps[0])
			}
		}
		return policies, nil
	}
	sets := [][]column{places.rays}
	for j := range places.rays {
		if len(places.rays) > 1 {
			sets = append(sets, places.rays[j:j+1])
		}
	}
	for _, set := range sets {
		out = append(out, func() ([]WeightedPolicy, error) { return stay(set) })
	}
	for _, set := range sets {
		for _, share := range []float64{0.5, 1e-2, 1e-4} {
			out = append(out, func() ([]WeightedPolicy, error) {
				stays, err := stay(set)
				if err != nil {
					return nil, err
				}
				usual, err := s.model.averaged(s.ctx, both)
				return append(scaledPolicies(1-share, usual), scaledPolicies(share, stays)...), err
			})
		}
	}
	return append(out, func() ([]WeightedPolicy, error) {
		return s.model.averaged(s.ctx, base.repeated(ways, places))
	})
}

// scaledPolicies returns policies with a share of their weights.
func scaledPolicies(share float64, policies []WeightedPolicy) (out []WeightedPolicy) {
	for _, o := range policies {
		out = append(out, WeightedPolicy{share * o.Weight, o.Policy})
	}
	return out
}

// unboundedByMeans answers a task for which found says that a total may grow for ever beside long-run means. The total
// is without bound if its own long-run mean can be on that side while all other limits are kept: the policy is then one
// that shows it. The answer is nil if that is not so, or not known.
func (p *Planner) unboundedByMeans(ctx context.Context, task cmdp.Task, opts Options, found *NoTotalError) (*Result,
	error) {
	i := found.Return
	if r, err := p.withoutReturn(ctx, task, opts, i); r != nil || err != nil {
		return r, err
	}
	if r, err := p.satisfiedByGrowth(ctx, task, opts, i); r != nil || err != nil {
		return r, err
	}
	g, ok := task.Cost.(cost.Affine)
	if !ok || i < 0 || g.Gradient()[i] == 0 {
		return nil, nil
	}
	slope := math.Copysign(1, g.Gradient()[i])
	limits, ok := limitsOf(task)
	if !ok || slices.ContainsFunc(limits, func(l cmdp.Constraint) bool { return l.Normal[i]*slope < 0 }) {
		return nil, nil // a limit keeps it from growing
	}
	// Where the fastest policy goes up and down, steps down are made to cost more.
	for _, penalty := range []float64{1, 10, 1000} {
		r, err := p.growing(ctx, task, opts, growth{i, slope, penalty, limits})
		if r != nil || err != nil {
			return r, err
		}
	}
	return nil, nil
}

// A growth is the question whether a total can grow for ever within limits that do not depend on it.
type growth struct {
	total   int
	slope   float64 // −1 if it is to grow to +∞
	penalty float64 // by which steps to the other side are multiplied
	limits  []cmdp.Constraint
}

// growing answers with a policy under which the total grows. It is nil if there is none, or if its total goes up
// and down, and errBudget if the time is over before that is known.
func (p *Planner) growing(ctx context.Context, task cmdp.Task, opts Options, g growth) (*Result, error) {
	i, d := g.total, p.m.Dim()
	m, extent, lower, upper, err := p.asMean(g)
	if err != nil {
		return nil, err
	}
	within, err := limitsWithout(g.limits, i, lower, upper)
	if within == nil || err != nil {
		return nil, err
	}
	low, high := slices.Repeat([]float64{-Boundless}, d), slices.Repeat([]float64{Boundless}, d)
	box, err := geometry.NewBox(low, high)
	if err != nil {
		return nil, err
	}
	mean, err := cost.NewLinear(axis(d, i, g.slope), box)
	if err != nil {
		return nil, err
	}
	r, err := Solve(ctx, m, cmdp.Task{Target: within, Cost: mean}, Options{Workers: opts.Workers,
		Iterations: opts.Iterations, Progress: opts.ofAnotherTask().Progress, Budget: opts.Budget, now: opts.now,
		deadline: opts.deadline})
	if errors.Is(err, ErrNoTotal) || err == nil && !(slices.Contains([]Verdict{Optimal, Stopped}, r.Status) &&
		r.HasPolicy() && r.Objective < -1e-9*extent) {
		return nil, ranOut(r)
	}
	if err != nil {
		return nil, err
	}
	total := make([]float64, d)
	for _, c := range r.mixture() {
		e, err := Evaluate(ctx, p.m, c.Policy)
		if err != nil {
			return nil, err
		}
		floats.AddScaled(total, c.Weight, e.Returns)
	}
	if !math.IsInf(total[i], -int(g.slope)) { // it goes up and down
		return nil, nil
	}
	for _, l := range g.limits {
		if !(dot(l.Normal, total) <= l.Offset+1e-9*(math.Abs(l.Offset)+width(l.Normal,
			slices.Repeat([]float64{extent}, d)))) {
			return nil, nil
		}
	}
	return &Result{Status: Unbounded, Bound: math.Inf(-1), Objective: math.Inf(-1), Return: i, Returns: total,
		Policy: r.Policy, Mixture: r.Mixture,
		Randomized: r.Randomized, Tolerance: r.Tolerance, Iterations: r.Iterations, Prices: unpriced(task.Constraints),
		Dual: make([]float64, d)}, nil
}

// ranOut is errBudget where the time was over before a question was answered, as a part of another one.
func ranOut(r *Result) error {
	if r != nil && r.Status == Stopped {
		return errBudget
	}
	return nil
}

// asMean returns the model in which the total is a long-run mean, the box of its means, and by how much a step
// of the total varies.
func (p *Planner) asMean(g growth) (m *cmdp.Model, extent float64, lower, upper []float64, err error) {
	i, d := g.total, p.m.Dim()
	spec := cmdp.ModelSpec{Discount: 1, Dim: d, Start: p.m.StartStates(), Kernels: []cmdp.Kernel{*p.m.Kernel(0)}}
	for j := range d {
		spec.Means = append(spec.Means, p.m.Mean(j) || j == i)
	}
	lower, upper = meanBounds(&spec)
	extent = upper[i] - lower[i]
	if g.penalty > 1 {
		spec.Kernels[0] = *p.m.Kernel(0).Plain(d)
		returns := slices.Clone(spec.Kernels[0].Returns)
		for c := i; c < len(returns); c += d {
			if returns[c]*g.slope > 0 {
				returns[c] *= g.penalty
			}
		}
		k := &spec.Kernels[0]
		k.Returns, k.Outcomes, k.Random = returns, nil, nil // only means matter
		lower, upper = meanBounds(&spec)
	}
	m, err = cmdp.NewModel(spec)
	return m, extent, lower, upper, err
}

// withoutReturn answers that a task is infeasible where those limits cannot be kept that have nothing to do
// with return i. It is nil where they can, or where that is not known.
func (p *Planner) withoutReturn(ctx context.Context, task cmdp.Task, opts Options, i int) (*Result, error) {
	limits, ok := limitsOf(task)
	if !ok || i < 0 || !slices.ContainsFunc(limits, func(l cmdp.Constraint) bool { return l.Normal[i] == 0 }) {
		return nil, nil
	}
	within, err := p.limitsBeside(limits, i)
	if within == nil || err != nil {
		return nil, err
	}
	r, err := p.Solve(ctx, cmdp.Task{Target: within}, opts.ofAnotherTask())
	if errors.Is(err, ErrNoTotal) || err == nil && r.Status != Infeasible {
		return nil, ranOut(r)
	}
	if err != nil {
		return nil, err
	}
	r.Prices = unpriced(task.Constraints)
	// All limits together may exclude more policies than those without the return.
	s, err := separationOf(ctx, p.m, cmdp.Task{Target: task.Target, Whole: task.Whole}, r.Certificate)
	if err != nil || !s.proves() {
		return nil, err
	}
	c := r.Certificate
	c.Value, c.Support, c.Margin = s.value, s.support, s.margin+s.slack
	of := newExtendedValues(task, relevanceOf(p.m.Dim(), task))
	if v := of.finiteReturns(r.Returns); !slices.ContainsFunc(v, math.IsNaN) { // all limits count in the distance
		missed := task.Violation(v)
		if missed > 0.5*Boundless { // a total without end breaks its limit
			missed = math.Inf(1)
		}
		c.Distance = math.Max(c.Distance, missed)
	}
	c.Distance = math.Max(c.Distance, c.Value-c.Support)
	r.Violation = c.Distance
	if task.Cost != nil {
		r.Objective = of.costOf(r.Returns)
	}
	return r, nil
}

// limitsBeside returns the set of those limits that have nothing to do with return i, nil if it is empty.
func (p *Planner) limitsBeside(limits []cmdp.Constraint, i int) (geometry.Compact, error) {
	spec := cmdp.ModelSpec{Dim: p.m.Dim(), Kernels: []cmdp.Kernel{*p.m.Kernel(0)}}
	for j := range spec.Dim {
		spec.Means = append(spec.Means, p.m.Mean(j))
	}
	lower, upper := meanBounds(&spec)
	for _, l := range limits { // which no mean may come near
		if j, x := singleEntry(l.Normal); x != 0 {
			at := l.Offset / x
			lower[j], upper[j] = math.Min(lower[j], at), math.Max(upper[j], at)
		}
	}
	return limitsWithout(limits, i, lower, upper)
}

// satisfiedByGrowth answers a task in which limits alone ask for total i, all of them on one side, to which it can
// grow for ever while the others are kept. A policy that does so with any probability keeps them: the optimum is that
// without them, and is come as near to as the gap asks. It is nil if that is not so, or not known.
func (p *Planner) satisfiedByGrowth(ctx context.Context, task cmdp.Task, opts Options, i int) (*Result, error) {
	limits, ok := limitsOf(task)
	if g, affine := task.Cost.(cost.Affine); i < 0 || task.Cost != nil && !(affine && g.Gradient()[i] == 0) {
		return nil, nil
	}
	slope := 0.0
	for _, l := range limits {
		if l.Normal[i]*slope < 0 {
			return nil, nil
		}
		slope += l.Normal[i]
	}
	if !ok || slope == 0 {
		return nil, nil
	}
	var grows *Result
	for _, penalty := range []float64{1, 10, 1000} {
		r, err := p.growing(ctx, task, opts, growth{i, math.Copysign(1, slope), penalty, limits})
		if err != nil {
			return nil, err
		}
		if r != nil {
			grows = r
			break
		}
	}
	if grows == nil || grows.Product != nil {
		return nil, nil
	}
	without := task
	var err error
	without.Whole = nil
	without.Target, err = p.limitsBeside(limits, i)
	if err != nil || without.Target == nil {
		return nil, err
	}
	about := func(l cmdp.Constraint) bool { return l.Normal[i] != 0 }
	without.Constraints = slices.DeleteFunc(slices.Clone(task.Constraints), about)
	best, err := p.Solve(ctx, without, opts)
	if errors.Is(err, ErrNoTotal) || err == nil && (best.Status != Optimal || best.Product != nil) {
		return nil, ranOut(best)
	}
	if err != nil {
		return nil, err
	}
	return p.withGrowth(ctx, task, opts, best, grows, slices.DeleteFunc(slices.Clone(limits),
		func(l cmdp.Constraint) bool { return !about(l) }), i)
}

// withGrowth returns the best answer without some limits on return i and, if it breaks these, mixes as little with the
// policy under which that grows as the gap asks. Where this costs nothing it may do alone.
func (p *Planner) withGrowth(ctx context.Context, task cmdp.Task, opts Options, best, grows *Result,
	limits []cmdp.Constraint, i int) (*Result, error) {
	r := *best
	r.Returns = slices.Clone(best.Returns)
	r.Returns[i] = 0
	for _, c := range best.mixture() {
		e, err := Evaluate(ctx, p.m, c.Policy)
		if err != nil {
			return nil, err
		}
		r.Returns[i] += c.Weight * e.Returns[i]
	}
	r.Prices = unpriced(task.Constraints)
	for k := range r.Prices {
		at := slices.IndexFunc(best.Prices, func(b Price) bool {
			return b.Offset == r.Prices[k].Offset && slices.Equal(b.Normal, r.Prices[k].Normal)
		})
		if at >= 0 {
			r.Prices[k].Value, r.Prices[k].Multiplier = best.Prices[at].Value, best.Prices[at].Multiplier
		}
	}
	kept := func(v []float64) bool {
		return !slices.ContainsFunc(limits, func(l cmdp.Constraint) bool { return !(dot(l.Normal, v) <= l.Offset) })
	}
	if kept(r.Returns) {
		return &r, nil
	}
	loss := 0.0
	if g, ok := task.Cost.(cost.Affine); ok {
		for k, x := range g.Gradient() {
			if x != 0 {
				loss += x * (grows.Returns[k] - r.Returns[k])
			}
		}
	}
	if !(loss < math.Inf(1)) { // what grows costs without end
		return nil, nil
	}
	const part = 0.5
	share := part
	if loss > 0 {
		share = min(part, part*max(opts.Gap, defaultGap)*max(1, math.Abs(best.Objective)/loss))
	}
	for k, x := range r.Returns {
		r.Returns[k] = (1-share)*x + share*grows.Returns[k]
	}
	if !kept(r.Returns) { // the best answer may go the other way for ever
		if loss > 0 || !kept(grows.Returns) {
			return nil, nil
		}
		share, r.Returns = 1, slices.Clone(grows.Returns)
	}
	policies, weights := r.draw(best, grows, share)
	r.Objective += share * max(loss, 0)
	r.Gap = r.Objective - r.Bound
	if !p.m.Means() {
		return &r, nil
	}
	branches, err := Branches(ctx, p.m, policies, weights)
	r.Branches = branches
	return &r, err
}

// draw sets the policy to a draw between those of two answers, of which the second has a share, and returns all that is
// drawn.
func (r *Result) draw(one, other *Result, share float64) (policies []cmdp.Policy, weights []float64) {
	r.Policy, r.Mixture, r.Joined = nil, nil, nil
	for k, of := range []*Result{one, other} {
		part := []float64{1 - share, share}[k]
		for _, c := range of.mixture() {
			if part > 0 {
				r.Mixture = append(r.Mixture, WeightedPolicy{part * c.Weight, c.Policy})
				policies, weights = append(policies, c.Policy), append(weights, part*c.Weight)
			}
		}
	}
	r.Randomized = (&Policy{mixture: r.Mixture}).Randomized()
	if len(r.Mixture) == 1 {
		r.Policy, r.Mixture = r.Mixture[0].Policy, nil
	}
	return policies, weights
}

// meanBounds returns between what long-run means lie whatever is done, 0 being that of rest, and ±[Boundless]
// for totals.
func meanBounds(spec *cmdp.ModelSpec) (lower, upper []float64) {
	lower, upper = make([]float64, spec.Dim), make([]float64, spec.Dim)
	returns := spec.Kernels[0].Returns
	for j := range lower {
		if !spec.Means[j] {
			lower[j], upper[j] = -Boundless, Boundless
			continue
		}
		for c := j; c < len(returns); c += spec.Dim {
			lower[j] = math.Min(lower[j], returns[c])
			upper[j] = math.Max(upper[j], returns[c])
		}
	}
	return lower, upper
}

// limitsWithout returns the set of those limits that do not depend on coordinate i, within the box from lower to
// upper. It is nil if it is empty. Bounds of single coordinates narrow the box.
func limitsWithout(limits []cmdp.Constraint, i int, lower, upper []float64) (geometry.Compact, error) {
	lower, upper = slices.Clone(lower), slices.Clone(upper)
	free := slices.DeleteFunc(slices.Clone(limits), func(l cmdp.Constraint) bool { return l.Normal[i] != 0 })
	var a [][]float64
	var b []float64
	for _, l := range tightenBox(lower, upper, free) {
		a, b = append(a, l.Normal), append(b, l.Offset)
	}
	for j := range lower {
		if lower[j] > upper[j] {
			return nil, nil
		}
	}
	box, err := geometry.NewBox(lower, upper)
	if err != nil {
		return nil, err
	}
	if len(a) == 0 {
		return box.Bounded()
	}
	set, err := geometry.NewPolyhedron(a, b)
	var out geometry.Compact
	if err == nil {
		out, err = geometry.Restrict(set, box)
	}
	if errors.Is(err, geometry.ErrEmpty) {
		return nil, nil
	}
	return out, err
}
