package robust

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/progress"
	"cmdpsolve/cost"
	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/floats"
)

// Errors of tasks that have no answer over a set.
var (
	errNoSet = errors.New("robust: no set of models")
	// ErrCurved is returned for tasks that are not linear.
	ErrCurved = errors.New("robust: a goal or a target that is curved: want a linear goal, and limits or a polyhedron")
)

// Solve looks for a plan whose returns meet the target in every model of a set, and whose greatest cost over the set
// is least. The cost must be affine and the target a polyhedron, or the error is [ErrCurved]. A set of one model is
// solved by package exact.
//
// What stands in Result holds in every model, rounding included: limits are checked against the greatest value of
// each, and Bound is the optimum of a single model, proved by package exact, or that of one robust value iteration
// with the prices of the limits. To find the best plan is hard (Hahn, Hashemi, Hermanns, Lahijanian, Turrini 2017), so
// the gap may stay open.
func Solve(ctx context.Context, set *Set, task cmdp.Task, opts SolveOptions) (*Result, error) {
	if set == nil {
		return nil, errNoSet
	}
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &search{ctx: ctx, set: set, task: task, opts: opts}
	err = s.prepare()
	if err != nil {
		return nil, err
	}
	if opts.Budget > 0 {
		s.budget = newBudget(ctx, opts.Budget)
		s.ctx = s.budget
		defer s.budget.end()
	}
	return s.run(ctx)
}

// A search is the state of Solve.
type search struct {
	ctx    context.Context
	budget *budget // nil for any time
	set    *Set
	dyn    dynamics
	task   cmdp.Task
	opts   SolveOptions

	rows     []cmdp.Constraint
	dirs     [][]float64 // the gradient of the cost, then the normals of the rows
	constant float64     // of the cost
	columns  []column
	rewards  []float64 // of each direction, the largest magnitude of what a step returns
	nominal  *exact.Result
	prices   []float64 // of the rows, where the bound was found

	bound    float64
	model    *Answer      // whose optimum is the bound
	proof    *exact.Proof // of the bound in that model, or nil
	weights  []float64    // prices with which one robust value iteration proves it
	refuted  *exact.Result
	rounds   int
	best     *plan // the best plan that keeps the limits
	one      *plan // the best one of a single policy
	smallest *plan // the one that misses them least
	// undefined is the error of a policy whose returns are not defined in every model, nil if there was none.
	undefined error
}

// A column is a policy with its greatest returns in each direction, rounded up.
type column struct {
	policy   *exact.Policy
	greatest []float64
}

// alone returns the plan that plays the policy of a column.
func (c *column) alone() *plan {
	return &plan{parts: []exact.WeightedPolicy{{Weight: 1, Policy: c.policy}}, greatest: slices.Clone(c.greatest)}
}

// A plan is a mixture of policies.
type plan struct {
	parts    []exact.WeightedPolicy
	greatest []float64 // at most, in each direction
}

func (s *search) prepare() (err error) {
	m := s.set.m
	if err = s.task.Check(m.Dim()); err != nil {
		return fmt.Errorf("robust: %w", err)
	}
	s.dyn, err = s.set.dynamics()
	if err != nil {
		return err
	}
	gradient := make([]float64, m.Dim())
	if s.task.Cost != nil {
		affine, ok := s.task.Cost.(cost.Affine)
		if !ok {
			return ErrCurved
		}
		gradient, s.constant = affine.Gradient(), affine.Offset()
	}
	lower, upper := s.box()
	rows, complete := s.task.LinearConstraints(lower, upper)
	if !complete {
		return ErrCurved
	}
	s.rows = rows
	s.dirs = append(s.dirs, gradient)
	for _, r := range rows {
		s.dirs = append(s.dirs, r.Normal)
	}
	s.bound = math.Inf(-1)
	if s.opts.Least != nil {
		s.bound = *s.opts.Least
	}
	s.prices = make([]float64, len(rows))
	b := s.set.newBackup(s.dirs)
	for j := range s.dirs {
		s.rewards = append(s.rewards, b.largestReward(j))
	}
	return nil
}

// box is the box of possible returns, infinite where none is known.
func (s *search) box() (lower, upper []float64) {
	d := s.set.m.Dim()
	lower, upper = slices.Repeat([]float64{math.Inf(-1)}, d), slices.Repeat([]float64{math.Inf(1)}, d)
	if s.task.Box != nil {
		s.task.Box.Bounds(lower, upper)
	} else if sh := s.set.m.Shape(); sh != nil {
		sh.ReturnToGo(lower, upper, 0)
	}
	return lower, upper
}

// run searches for models and plans in turn, while there is time. ctx is that of who asks, without a budget.
func (s *search) run(ctx context.Context) (*Result, error) {
	stopped, within := false, s.ctx
	for _, phase := range []struct {
		what string
		do   func() error
	}{
		{"planning for the nominal model", s.plainPlans},
		// Where one model is worst for all returns, this ends at once: its plan keeps the limits in all models.
		{"looking for worst models", func() error { return s.descend(make([]float64, len(s.rows))) }},
		{"mixing policies", s.mix},
		{"looking for the worst models of the plan", s.worstModels},
		{"mixing policies", s.mix},
		{"putting policies together", s.merge},
		{"drawing in limits of the nominal model", s.tighten},
		{"changing one action at a time", s.swap},
	} {
		s.ctx = progress.Within(within, phase.what)
		progress.Of(within).Tell(phase.what, math.NaN())
		err := phase.do()
		stopped = s.ctx.Err() != nil && ctx.Err() == nil
		if stopped {
			break
		}
		if err != nil || s.refuted != nil {
			return s.result(), err
		}
		if len(s.columns) == 0 {
			return nil, s.noPolicy()
		}
	}
	if stopped && s.best == nil && len(s.columns) > 0 { // there was no time to mix them
		if _, _, err := s.mixed(); err != nil {
			return nil, err
		}
	}
	if s.set.m.Average() && s.one != nil { // a draw at the start would go on for ever
		s.best = s.one
	}
	s.ctx = ctx
	r := s.result()
	r.Stopped = stopped && r.Status != Optimal && r.Status != Infeasible
	return r, s.describe(r)
}

// plainPlans plans for the nominal model, and adds the policies that are best for the goal, and for each limit, alone.
func (s *search) plainPlans() error {
	r, err := s.planFor(nil)
	if err != nil || s.refuted != nil {
		return err
	}
	s.nominal = r
	for _, policy := range s.opts.Start {
		if err := s.add(policy); err != nil {
			return err
		}
	}
	for _, dir := range s.dirs {
		if floats.Norm(dir, 1) == 0 {
			continue
		}
		policy, _, err := s.dyn.price(s.ctx, dir, nil)
		if err == nil {
			err = s.add(policy)
		}
		if err != nil {
			return err
		}
	}
	s.timeDescription()
	return nil
}

// noPolicy is the error where no policy was found whose returns are defined.
func (s *search) noPolicy() error {
	if s.undefined != nil {
		return s.undefined
	}
	return errors.New("robust: no stationary policy without memory was found: want a horizon or a discount")
}

// planFor plans for one model of the set, nil for the nominal one, takes in its bound and adds its policies.
func (s *search) planFor(a *Answer) (*exact.Result, error) {
	m := s.set.m
	if a != nil {
		var err error
		m, err = a.Model()
		if err != nil {
			return nil, err
		}
	}
	r, err := exact.Solve(s.ctx, m, s.task, s.exactly())
	if err != nil {
		return nil, err
	}
	switch {
	case r.Status == exact.Infeasible:
		s.refuted, s.model = r, a
		return r, nil
	case r.Status == exact.Unbounded:
		return nil, fmt.Errorf(
			"robust: return %d has no bound in one of the models: want a goal whose optimum is finite in all", r.Return)
	}
	if s.task.Cost != nil && r.Bound > s.bound {
		s.bound, s.model, s.proof = r.Bound, a, r.Proof
		s.prices = s.rowPrices(r)
	}
	for _, c := range mixtureOf(r) {
		if err := s.add(c.Policy); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// exactly returns the options with which single models are planned for.
func (s *search) exactly() exact.Options {
	opts := s.opts.Exact
	opts.NoNearest = true
	opts.Budget = s.budget.half()
	if opts.Workers == 0 {
		opts.Workers = s.set.spec.Workers
	}
	return opts
}

func mixtureOf(r *exact.Result) []exact.WeightedPolicy {
	switch {
	case r.Product != nil: // its policies remember what those of the set cannot
		return nil
	case r.Policy != nil:
		return []exact.WeightedPolicy{{Weight: 1, Policy: r.Policy}}
	}
	return r.Mixture
}

// add evaluates a policy over the set and adds it to the columns, unless one has the same returns. A policy whose
// returns are not defined in every model is none to use.
func (s *search) add(policy *exact.Policy) error {
	if policy == nil {
		return nil
	}
	greatest, err := s.greatest(policy)
	if err != nil || greatest == nil {
		return err
	}
	s.addColumn(column{policy, greatest})
	return nil
}

// greatest returns the greatest returns of a policy in each direction, rounded up, or nil if they are not defined in
// every model.
func (s *search) greatest(policy *exact.Policy) ([]float64, error) {
	p, err := s.dyn.evaluate(s.ctx, policy, s.dirs, nil)
	if _, ok := errors.AsType[*NotDefinedError](err); ok {
		s.undefined = err
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	greatest := make([]float64, len(s.dirs))
	for j, x := range p.greatest {
		greatest[j] = x + p.margin[j]
	}
	return greatest, nil
}

// addColumn adds a column, unless one has the same returns. It is a plan, too, where mixtures are none to want.
func (s *search) addColumn(c column) {
	for _, known := range s.columns {
		if slices.Equal(known.greatest, c.greatest) {
			return
		}
	}
	s.columns = append(s.columns, c)
	if s.opts.Deterministic || s.set.m.Average() {
		s.consider(c.alone())
	}
}

// rowPrices returns the prices of an exact plan for the rows of the search.
func (s *search) rowPrices(r *exact.Result) []float64 {
	prices := make([]float64, len(s.rows))
	used := make([]bool, len(r.Prices))
	for k, row := range s.rows {
		for i, p := range r.Prices {
			if !used[i] && p.Offset == row.Offset && slices.Equal(p.Normal, row.Normal) {
				prices[k], used[i] = math.Max(0, p.Multiplier), true
				break
			}
		}
	}
	return prices
}

// weighted returns the direction in which the cost and the rows count with prices.
func (s *search) weighted(costs float64, prices []float64) []float64 {
	dir := make([]float64, s.set.m.Dim())
	floats.AddScaled(dir, costs, s.dirs[0])
	for k, x := range prices {
		floats.AddScaled(dir, x, s.dirs[k+1])
	}
	return dir
}

// natureTo prices a direction and returns nature's answer, nil where the model would be too large.
func (s *search) natureTo(costs float64, prices []float64) (*Answer, error) {
	var a *Answer
	if s.set.entries <= threshold.Written {
		a = s.dyn.newAnswer()
	}
	policy, p, err := s.dyn.price(s.ctx, s.weighted(costs, prices), a)
	if err != nil {
		return nil, err
	}
	if err := s.add(policy); err != nil {
		return nil, err
	}
	if costs == 1 && s.task.Cost != nil && !s.set.spec.Fixed && a == nil {
		s.takeDual(p, prices)
	}
	if a != nil && s.set.spec.Fixed {
		a, err = s.set.averageOverVisits(a, policy)
	}
	return a, err
}

// takeDual takes in the bound of one robust value iteration: a policy that keeps limits with prices in every model has
// a greatest cost of at least the greatest weighted return over the set, less what the limits allow. It is for models
// that are too large to be planned for one by one, whose optima are no worse bounds.
func (s *search) takeDual(p passed, prices []float64) {
	allowed, size := 0.0, 0.0
	for k, x := range prices {
		allowed += x * s.rows[k].Offset
		size += math.Abs(x * s.rows[k].Offset)
	}
	rounding := 4 * float64(len(prices)+2) * unit * (size + math.Abs(p.greatest[0]))
	bound := p.greatest[0] - p.margin[0] - allowed - rounding + s.constant
	if bound > s.bound {
		s.bound, s.model, s.proof, s.weights = bound, nil, nil, prices
		s.prices = prices
	}
}

// descend alternates between nature's answer to prices and the prices of the plan for that model. Each model's optimum
// is a bound, and the next one is no worse.
func (s *search) descend(prices []float64) error {
	for range s.opts.Rounds {
		s.rounds++
		before := s.bound
		a, err := s.natureTo(1, prices)
		if err != nil || a == nil {
			return err
		}
		r, err := s.planFor(a)
		if err != nil || s.refuted != nil {
			return err
		}
		s.reportProgress()
		prices = s.rowPrices(r)
		if !(s.bound > before+s.enough()) {
			return nil
		}
	}
	return nil
}

// enough is a gap that need not become smaller.
func (s *search) enough() float64 {
	if math.IsInf(s.bound, 0) {
		return 0
	}
	return 0.1 * s.opts.Gap * math.Max(1, math.Abs(s.bound))
}

func (s *search) reportProgress() {
	if s.opts.Progress == nil {
		return
	}
	objective := math.Inf(1)
	if s.best != nil {
		objective = s.best.greatest[0] + s.constant
	}
	s.opts.Progress(s.rounds, s.bound, objective)
}

// closed reports whether the gap is within what is asked for.
func (s *search) closed() bool { return s.best != nil && s.within(s.best) }

// within reports whether the gap of a plan that keeps the limits is within what is asked for.
func (s *search) within(p *plan) bool {
	if s.task.Cost == nil {
		return true
	}
	objective := p.greatest[0] + s.constant
	return objective-s.bound <= s.opts.Gap*math.Max(1, math.Abs(objective))
}

// worstModels plans for the models that are worst for the plan, in each direction that matters, and descends from
// there.
func (s *search) worstModels() error {
	if s.best == nil || s.closed() || s.set.entries > threshold.Written {
		return nil
	}
	for _, c := range s.best.parts {
		for j, dir := range s.dirs {
			if j > 0 && s.prices[j-1] == 0 || floats.Norm(dir, 1) == 0 {
				continue
			}
			a, err := s.dyn.respond(s.ctx, c.Policy, dir) // which is defined, as the policy is a column
			if err == nil && s.set.spec.Fixed {
				a, err = s.set.averageOverVisits(a, c.Policy)
			}
			if err != nil {
				return err
			}
			r, err := s.planFor(a)
			if err != nil || s.refuted != nil {
				return err
			}
			if err := s.descend(s.rowPrices(r)); err != nil || s.refuted != nil || s.closed() {
				return err
			}
		}
	}
	return nil
}
