package exact

import (
	"context"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// A solver answers one task: it runs column generation, has a policy made of the mixture, and says what is proved.
type solver struct {
	recovery
	newPricer func() error // makes another pricer after an interruption, nil if nothing is interrupted
}

func newSolver(ctx context.Context, p pricer, task program) (*solver, error) {
	g, err := newColumnGeneration(ctx, p, task)
	if err != nil {
		return nil, err
	}
	s := &solver{recovery: recovery{columnGeneration: g, pricer: p}}
	g.early = s.reportEarly
	return s, nil
}

// run goes through the phases, as long as there is time. How long an answer takes is known once there is one: where
// time is left for another one, the search goes on.
func (s *solver) run() (*Result, error) {
	s.phases.enter("solution")
	r, err := s.conclude(s.decide())
	for err == nil && s.hasTimeLeft(r) {
		next, failed := s.conclude(s.decideOn(s.phase2()))
		if failed != nil {
			return nil, failed
		}
		if next.Status == Stopped && !(next.HasPolicy() && next.Gap <= r.Gap) || next.Status == Undecided {
			break
		}
		r = next
	}
	if err == nil {
		r.targetTest = s.targetTest()
	}
	if err == nil && r.Status == Undecided && s.meetsTarget && s.budget.over() { // the proof was cut short
		r.stop(s.meets(r.Returns))
	}
	s.phases.enter("")
	if err == nil && s.phases != nil {
		r.Phases = s.phases.phases
	}
	return r, err
}

// conclude makes the answer of a verdict, or the best one that there is where there was no time to find it.
func (s *solver) conclude(verdict Verdict, err error) (r *Result, _ error) {
	if err == nil {
		r, err = s.answerInTime(func() (*Result, error) { return s.answer(verdict) })
	}
	switch {
	case errors.Is(err, errBudget):
		begin := s.budget.now()
		r, err = s.stoppedResult()
		s.budget.answered = s.budget.now().Sub(begin)
	case errors.Is(err, errCutOff):
		r, err = &Result{Status: Stopped, Bound: s.bound.proof.Bound, Gap: math.Inf(1), Iterations: s.iterations}, nil
	}
	return r, err
}

// hasTimeLeft reports whether an answer that was stopped may be improved in the time that is left.
func (s *solver) hasTimeLeft(r *Result) bool {
	return s.budget != nil && r.Status == Stopped && r.HasPolicy() && s.task.Cost != nil && s.master.inPhase2() &&
		s.iterations < s.opts.Iterations && !s.budget.over()
}

// decide finds the verdict, and the mixture of policies that it is about.
func (s *solver) decide() (Verdict, error) {
	if err := s.initialize(); err != nil {
		return 0, err
	}
	return s.decideOn(s.solve())
}

// decideOn goes on from the verdict of column generation.
func (s *solver) decideOn(verdict Verdict, err error) (Verdict, error) {
	if err == nil && verdict == Optimal {
		err = s.rightDerivatives()
	}
	if err == nil && verdict == Optimal {
		err = s.joinClasses()
	}
	return verdict, err
}

// answerInTime returns an answer, or errBudget if it takes until soon after the time of the budget.
func (s *solver) answerInTime(answer func() (*Result, error)) (*Result, error) {
	whole := s.ctx
	within, done := s.budget.soon(whole)
	defer done()
	s.ctx = within
	r, err := answer()
	s.ctx = whole
	if err != nil && within.Err() != nil && whole.Err() == nil {
		s.budget.interrupted = !s.traits.stateless
		return nil, errBudget
	}
	return r, err
}

// answer says all that goes with a verdict.
func (s *solver) answer(verdict Verdict) (*Result, error) {
	switch verdict {
	case Infeasible:
		if s.opts.cutoff != nil && s.farkas.certificate != nil { // nobody asks for the nearest returns
			return s.infeasibleInTime(), nil
		}
		return s.infeasibleResult()
	case Unbounded:
		return s.unboundedResult()
	}
	return s.finalResult()
}

// finalResult turns the incumbent into one policy and computes both sides of the answer
// from scratch: the objective by evaluating the policy, the bound by an independent
// value iteration.
func (s *solver) finalResult() (*Result, error) {
	r, err := s.recoveredResult()
	if err != nil {
		return nil, err
	}
	return s.withBounds(r)
}

// withBounds adds to returns and their cost all that is known of them.
func (s *solver) withBounds(r *Result) (*Result, error) {
	if s.task.Target != nil {
		r.Violation = s.violation(r.Returns)
	}
	if s.task.Cost == nil {
		r.Bound = 0
	} else if err := s.recheckBound(r); err != nil {
		return nil, err
	}
	r.Gap = math.Max(0, r.Objective-r.Bound)
	if !isFinite(r.Objective) {
		r.Gap = math.Inf(1)
	}
	s.fillPrices(r)
	r.Iterations = s.iterations
	if s.task.Cost != nil && !(r.Gap <= s.tolerance(s.acceptedGap)) || !s.meets(r.Returns) {
		r.Status = Undecided
	}
	return r, nil
}

// recoveredResult returns the policy of the incumbent with its returns and the objective, and no bound.
func (s *solver) recoveredResult() (*Result, error) {
	before := s.phases.enter("recovery")
	defer s.phases.enter(before)
	if err := s.seekSparseMixture(); err != nil && !errors.Is(err, errBudget) {
		return nil, err
	}
	if err := s.replaceInterrupted(); err != nil {
		return nil, err
	}
	r := &Result{Status: Optimal, Bound: math.Inf(-1), Tolerance: 2 * s.targetTolerance, Joined: s.joined}
	if err := s.recoverIncumbent(r); err != nil {
		return nil, err
	}
	if s.task.Cost != nil {
		r.Objective = s.costOf(r.Returns)
	}
	return r, nil
}

// mixtureResult is finalResult without a policy: the returns are those of the mixture.
func (s *solver) mixtureResult() (*Result, error) {
	return s.withBounds(&Result{Status: Optimal, Bound: math.Inf(-1), Tolerance: 2 * s.targetTolerance,
		Joined:  s.joined,
		Returns: slices.Clone(s.incumbent.v), Objective: s.incumbent.cost})
}

// recheckBound sets the bound from the proof, with V* computed anew. A bound above
// the objective, which rounding and a target met within tolerance can bring about,
// is lowered to it.
func (s *solver) recheckBound(r *Result) error {
	if s.bound.proof == nil {
		return nil
	}
	before := s.phases.enter("certification")
	defer s.phases.enter(before)
	p := *s.bound.proof
	theta, conjugate := p.direction()
	value, margin, err := s.pricing.recheck(s.ctx, theta)
	if err != nil {
		return err
	}
	p.Value, p.Margin = value, margin+p.slack
	p.Bound = p.Value - conjugate - p.Support - p.Margin
	if !isFinite(p.Bound) {
		return nil
	}
	p.Without = s.relevance.leftOut()
	r.Proof, r.Bound = &p, p.Bound
	if isFinite(r.Objective) && s.meets(r.Returns) {
		r.Bound = math.Min(p.Bound, r.Objective)
	}
	return nil
}

// fillPrices sets the prices from the multipliers of the best bound.
func (s *solver) fillPrices(r *Result) {
	r.Dual = make([]float64, len(s.lower))
	if s.bound.proof != nil {
		copy(r.Dual, s.bound.proof.Psi)
	}
	r.DualNorm = floats.Norm(r.Dual, 2)
	r.Rho = 2 * r.DualNorm
	for k, row := range s.rows {
		p := Price{Constraint: row}
		if s.bound.proof != nil && k < len(s.bound.nu) {
			p.Multiplier = s.bound.nu[k]
		}
		p.Value = p.Multiplier
		if rate, found := s.rates[k]; found {
			p.Value = min(p.Value, rate)
		}
		r.Prices = append(r.Prices, p)
	}
}

// reportEarly tells of the mixture found so far once its gap is small.
func (s *solver) reportEarly() {
	if s.opts.Early == nil || s.gap() > s.tolerance(EarlyGap) {
		return
	}
	r := &Result{Status: Optimal, Returns: slices.Clone(s.incumbent.v), Objective: s.incumbent.cost,
		Bound:     math.Min(s.bound.proof.Bound, s.incumbent.cost),
		Tolerance: 2 * s.targetTolerance, Iterations: s.iterations}
	r.Gap = r.Objective - r.Bound
	if s.task.Target != nil {
		r.Violation = s.violation(r.Returns)
	}
	s.fillPrices(r)
	s.opts.Early(r)
	s.opts.Early = nil
}

// direction returns θ = φ + ψ and Σ μ_i (s_i·x_i − g(x_i)). Entries that cancel out up to rounding are 0: along a
// loop anything else would be a gain or a price without end, and tangents are not known that exactly.
func (p *Proof) direction() (theta []float64, conjugate float64) {
	theta, size, conjugate := p.combined()
	rounding := float64(len(p.Weights)+len(p.Prices)+1) * roundoff
	if len(p.Weights) > 1 {
		rounding = max(rounding, flatSlope)
	}
	for i, x := range theta {
		if math.Abs(x) <= rounding*size[i] {
			theta[i] = 0
		}
	}
	return theta, conjugate
}

// combined is direction as the sum comes out, with the magnitude of what each entry adds up.
func (p *Proof) combined() (theta, size []float64, conjugate float64) {
	theta, size = make([]float64, len(p.Psi)), make([]float64, len(p.Psi))
	add := func(w float64, slope []float64) {
		for i, x := range slope {
			size[i] += w * math.Abs(x)
		}
	}
	for i, w := range p.Weights {
		floats.AddScaled(theta, w, p.Subgradients[i])
		add(w, p.Subgradients[i])
		conjugate += w * (floats.Dot(p.Subgradients[i], p.Points[i]) - p.Values[i])
	}
	for k, y := range p.Prices {
		add(y, p.Rows[k].Normal)
	}
	floats.AddScaled(theta, 1, p.Psi)
	return theta, size, conjugate
}

// cancelled bounds what the entries that direction takes for 0 are worth at returns from lower to upper.
func (p *Proof) cancelled(lower, upper []float64) float64 {
	theta, _ := p.direction()
	exactly, _, _ := p.combined()
	sum := 0.0
	for i, x := range exactly {
		if x != theta[i] {
			sum += math.Abs(x) * math.Max(math.Abs(lower[i]), math.Abs(upper[i]))
		}
	}
	return sum
}

// stoppedResult returns the best answer that was found before the time was over.
func (s *solver) stoppedResult() (*Result, error) {
	if s.farkas.certificate != nil {
		return s.infeasibleInTime(), nil
	}
	if s.meetsTarget {
		s.proveWithoutLimits()
		answer, again := s.recoveredResult, s.budget.answered > 0
		if again { // the one before stands where there is no time for all of it
			answer = s.finalResult
		}
		r, err := s.answerInTime(answer)
		switch {
		case err == nil && !again:
			r, err = s.boundedInTime(r)
		case errors.Is(err, errBudget) && (s.budget.unreserved || again):
			return s.withoutPolicy(), nil
		case errors.Is(err, errBudget):
			r, err = s.drawnResult()
		}
		if err == nil && r.Status == Undecided {
			r.stop(s.meets(r.Returns))
		}
		return r, err
	}
	return s.withoutPolicy(), nil
}

// boundedInTime adds what is known of returns. Where no time was kept for a bound, there is one only if it is found
// soon.
func (s *solver) boundedInTime(r *Result) (*Result, error) {
	if !s.budget.unreserved {
		return s.withBounds(r)
	}
	bounded, err := s.answerInTime(func() (*Result, error) { return s.withBounds(r) })
	if errors.Is(err, errBudget) {
		s.bound = dualBound{}
		return s.withBounds(r)
	}
	return bounded, err
}

// withoutPolicy is the answer where there is no policy, or no time to make it.
func (s *solver) withoutPolicy() *Result {
	r := &Result{Status: Stopped, Bound: math.Inf(-1), Gap: math.Inf(1), Tolerance: 2 * s.targetTolerance,
		Iterations: s.iterations, Objective: math.NaN(), Violation: math.NaN(),
		Prices: unpriced(s.rows), Dual: make([]float64, len(s.lower))}
	r.Returns = s.lastReturns()
	if r.Returns == nil {
		r.Returns = slices.Repeat([]float64{math.NaN()}, len(s.lower))
		return r
	}
	r.Violation = s.violation(r.Returns)
	return r
}

// proveWithoutLimits has a proof of the first tangent without limits where there was no time for a better one. What it
// proves is not known before it is rechecked: a search that goes on after all takes any other proof in its place.
func (s *solver) proveWithoutLimits() {
	if s.task.Cost == nil || s.bound.proof != nil || len(s.master.cuts) == 0 {
		return
	}
	mu, nu := axis(len(s.master.cuts), 0, 1), make([]float64, len(s.master.rows))
	phi, _ := s.master.phi(mu)
	proof := s.proofOf(mu, nu)
	proof.slack = s.master.supportMargin(nu, phi, s.lower, s.upper) + proof.conjugateError() +
		proof.cancelled(s.lower, s.upper)
	proof.Bound = math.Inf(-1)
	s.bound = dualBound{proof, mu, nu}
}

// drawnResult is the answer where the time is over before one policy of the mixture is made: its policies are drawn at
// the start. Where that does not do, as along rays, there is no policy.
func (s *solver) drawnResult() (*Result, error) {
	if err := s.replaceInterrupted(); err != nil {
		return nil, err
	}
	if _, sum := s.pricer.(*sumPricer); sum { // whose policies are drawn anyway
		return s.finalResult()
	}
	r := &Result{Status: Stopped, Bound: math.Inf(-1), Tolerance: 2 * s.targetTolerance}
	columns, weights, rays, _ := s.incumbentMixture()
	if len(rays) > 0 || s.traits.rays != nil ||
		slices.ContainsFunc(columns, func(c column) bool { return c.link != nil }) {
		r.Returns, r.Objective = slices.Repeat([]float64{math.NaN()}, len(s.lower)), math.NaN()
		return s.withBounds(r)
	}
	r.Returns = make([]float64, len(s.lower))
	for j, c := range columns {
		policy, err := s.pricer.recoverPolicy(s.ctx, []column{c}, []float64{1}, face{keepsRandomization: true}, 0)
		if err != nil {
			return nil, err
		}
		v, err := s.pricer.evaluate(s.ctx, policy)
		if err != nil {
			return nil, err
		}
		floats.AddScaled(r.Returns, weights[j], v)
		drawn := policy.mixture
		if drawn == nil {
			drawn = []WeightedPolicy{{1, policy}}
		}
		r.Mixture = append(r.Mixture, scaledPolicies(weights[j], drawn)...)
	}
	if p := s.traits.classes; p != nil {
		var err error
		r.Branches, err = p.branches(s.ctx, &Policy{mixture: r.Mixture})
		if err != nil {
			return nil, err
		}
	}
	if len(r.Mixture) == 1 {
		r.Policy, r.Mixture = r.Mixture[0].Policy, nil
		r.Randomized = r.Policy.Randomized()
	}
	if s.task.Cost != nil {
		r.Objective = s.costOf(r.Returns)
	}
	return s.withBounds(r)
}

// replaceInterrupted goes on with another pricer where the time was over during a price.
func (s *solver) replaceInterrupted() error {
	if s.budget == nil || !s.budget.interrupted {
		return nil
	}
	return s.newPricer()
}

// infeasibleInTime is the answer "infeasible" with the nearest returns of the first phase: there was no time for
// nearer ones.
func (s *solver) infeasibleInTime() *Result {
	r := &Result{Returns: s.lastReturns()}
	s.farkas.certificate.Distance = s.violation(r.Returns)
	return s.infeasibleWith(s.farkas.certificate, r)
}

// lastReturns returns the returns of the mixture that the master has last found, nil without a policy.
func (s *solver) lastReturns() []float64 {
	if floats.Sum(s.master.lambda) > 0.5 {
		return slices.Clone(s.master.v)
	}
	return slices.Clone(s.master.firstReturns())
}
