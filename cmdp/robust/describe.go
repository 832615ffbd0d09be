package robust

import (
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/markov"

	"gonum.org/v1/gonum/floats"
)

// result returns what was found so far.
func (s *search) result() *Result {
	r := &Result{
		Status:  Undecided,
		Bound:   math.Inf(-1),
		Gap:     math.Inf(1),
		Nominal: s.nominal,
		Model:   s.model,
		Proof:   s.proof,
		Rounds:  s.rounds,
	}
	if s.refuted != nil {
		r.Status, r.Certificate = Infeasible, s.refuted.Certificate
		return r
	}
	p := s.nearest()
	if p == nil {
		return r
	}
	r.Mixture = p.parts
	if len(p.parts) == 1 {
		r.Policy, r.Mixture = p.parts[0].Policy, nil
	}
	for k, row := range s.rows {
		r.Limits = append(r.Limits, Limit{Constraint: row, Greatest: p.greatest[k+1], Price: s.prices[k]})
		if s.weights != nil && s.proof == nil {
			r.Limits[k].BoundPrice = s.weights[k]
		}
		r.Violation = math.Max(r.Violation, p.greatest[k+1]-row.Offset)
		r.Tolerance = math.Max(r.Tolerance, tolerance*s.scale(k+1))
	}
	r.Objective = p.greatest[0] + s.constant
	if s.task.Cost == nil {
		r.Objective, r.Bound, r.Gap = 0, 0, 0
	} else {
		r.Bound = s.bound
		r.Gap = math.Max(0, r.Objective-r.Bound)
	}
	if s.best != nil && s.excess(s.best.greatest) <= tolerance { // the extent may be smaller by now
		r.Status = Feasible
		if s.closed() {
			r.Status = Optimal
		}
	}
	return r
}

// describe evaluates the plan of a result over the set and in the nominal model.
func (s *search) describe(r *Result) error {
	parts := r.Plan()
	if len(parts) == 0 {
		return nil
	}
	var err error
	r.Bounds, err = s.set.EvaluateDrawn(s.ctx, r.Drawn())
	if err != nil {
		return err
	}
	r.Returns, err = s.set.returnsIn(s.ctx, s.set.m, parts)
	if err != nil || s.best == nil || s.set.entries > mostRechecked {
		return err
	}
	return s.set.verifyPlan(s.ctx, s.task, r)
}

// merge puts the mixture of the best plan together to one policy. That often leaves room, which a mixture with another
// policy may use, and so on, as long as the plan becomes better.
func (s *search) merge() error {
	for range s.opts.Rounds {
		if s.best == nil || len(s.best.parts) < 2 || s.set.m.Average() || s.opts.Deterministic {
			return nil
		}
		s.rounds++
		before := s.best.greatest[0]
		if err := s.single(); err != nil {
			return err
		}
		if s.closed() {
			return nil
		}
		if _, _, err := s.mixed(); err != nil {
			return err
		}
		if len(s.best.parts) > 1 && !(s.best.greatest[0] < before-1e-6*math.Max(1e-3, math.Abs(before))) {
			return s.single()
		}
	}
	return nil
}

// mostRechecked bounds the successors of all steps up to which a plan is checked apart before it is returned.
const mostRechecked = 1 << 24

// single puts the mixture of the best plan together to one policy. It adds that as a column, and keeps it in the place
// of the mixture if it is as good over the set.
func (s *search) single() error {
	if s.best == nil || len(s.best.parts) < 2 {
		return nil
	}
	policy, err := s.together(s.best.parts)
	if err != nil {
		return err
	}
	return s.trySingle(policy)
}

// together puts a mixture together to one policy, by the visits that it makes in the nominal model.
func (s *search) together(parts []exact.WeightedPolicy) (*exact.Policy, error) {
	m := s.set.m
	sum := make([][]float64, max(1, m.Horizon()))
	for h := range sum {
		sum[h] = make([]float64, s.set.choices(s.set.kernel(h)))
	}
	for _, c := range parts {
		visits, err := s.visits(c.Policy)
		if err != nil {
			return nil, err
		}
		for h, q := range visits {
			floats.AddScaled(sum[h], c.Weight, q)
		}
	}
	rules := make([]markov.Rule, len(sum))
	for h := range rules {
		rules[h] = s.ruleOf(h, sum[h], parts[0].Policy)
	}
	return exact.NewPolicy(rules), nil
}

// visits returns how often a policy takes each choice of each step in the nominal model, without a horizon in all.
func (s *search) visits(policy *exact.Policy) ([][]float64, error) {
	if s.set.m.Horizon() > 0 {
		return cmdp.NewEvaluator(s.set.m).Occupancy(policy), nil
	}
	x, err := exact.Visits(s.ctx, s.set.m, policy, nil)
	if err != nil {
		return nil, err
	}
	mass := make([]float64, s.set.choices(0))
	for i, times := range x { // also where nothing is returned any more, as other policies may go on there
		if first, end := s.set.kernels[0].Choices(i); first < end {
			policy.Distribution(mass[first:end], 0, i)
			floats.Scale(times, mass[first:end])
		}
	}
	return [][]float64{mass}, nil
}

// ruleOf returns the rule of step h that takes choices in the proportion of their mass, and where there is none what
// another policy does.
func (s *search) ruleOf(h int, mass []float64, other *exact.Policy) markov.Rule {
	rule := markov.Rule{Actions: markov.NewActions(s.set.m.States(), s.set.most)}
	for i := range s.set.m.States() {
		first, end := s.set.rows(h).Choices(i)
		if first == end {
			continue
		}
		of := slices.Clone(mass[first:end])
		total := floats.Sum(of)
		if total == 0 {
			other.Distribution(of, h, i)
			total = 1
		}
		rule.Assign(i, of, total)
	}
	return rule
}

// trySingle keeps a policy in the place of the mixture if it is as good.
func (s *search) trySingle(policy *exact.Policy) error {
	known := len(s.columns)
	if err := s.add(policy); err != nil || len(s.columns) == known {
		return err
	}
	one := s.columns[known].alone()
	before := s.best
	s.best = nil
	s.consider(one)
	room := 1e-9 * math.Max(1, math.Abs(before.greatest[0]))
	if s.best == nil || s.best.greatest[0] > before.greatest[0]+room {
		s.best = before
		s.budget.reserve(len(before.parts))
	}
	return nil
}
