package exact

import (
	"context"
	"errors"
	"fmt"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cost"

	"gonum.org/v1/gonum/floats"
)

// Solve minimises task.Cost(V) over the returns V of all policies of m that lie in
// task.Target. It returns an error for tasks that do not fit the model, for models
// without a well-defined return, and when ctx ends; "infeasible" is an answer.
//
// With a finite horizon V is the expected return of an episode, with a discount γ
// < 1 the expected discounted sum Σ γ^t r_t, and with γ = 1 the expected total
// until absorption, for models that absorb surely. If the model asks for it, V is the
// long-run mean of the returns of a step, for all of them or return by return. Memory is proportional to the
// model and, with a finite horizon, to one byte for each (step, state) pair and, while
// the policy is put together, mixed policy.
//
// It may be called concurrently; an answer does not depend on Options.Workers.
func Solve(ctx context.Context, m *cmdp.Model, task cmdp.Task, opts Options) (*Result, error) {
	p, err := NewPlanner(m, opts.Workers)
	if err != nil {
		return nil, err
	}
	return p.Solve(ctx, task, opts)
}

// checkTask refuses what no planner for decision processes can work with.
func checkTask(m *cmdp.Model, task cmdp.Task) error {
	if err := checkDimensions(m, task); err != nil {
		return err
	}
	return refuseGame(m)
}

func checkDimensions(m *cmdp.Model, task cmdp.Task) error {
	if m == nil || m.States() == 0 {
		return errors.New("exact: no model")
	}
	return checkTaskOf(m.Dim(), task)
}

func checkTaskOf(dim int, task cmdp.Task) error {
	if err := task.Check(dim); err != nil {
		return fmt.Errorf("exact: %w", err)
	}
	for k, c := range task.Constraints {
		if err := checkContains(task.Target, c); err != nil {
			return fmt.Errorf("exact: constraint %d: %w", k, err)
		}
	}
	return nil
}

// newPricer returns the pricer for the kind of return that the model has.
func newPricer(m *cmdp.Model, workers int, c relevance, tell markov.Progress) (pricer, error) {
	if err := refuseGame(m); err != nil {
		return nil, err
	}
	if m.Means() {
		return newAverageReward(m, workers, c, tell)
	}
	if m.Horizon() == 0 {
		return analyseReachable(m, workers, tell).pricer(c)
	}
	if m.Tally() != nil {
		return newTallied(m, workers), nil
	}
	return newFiniteHorizon(m, workers), nil
}

// run goes through the phases, as long as there is time.
func (s *solver) run() (*Result, error) {
	s.stopwatch.enter("solution")
	var r *Result
	verdict, err := s.decide()
	if err == nil {
		r, err = s.answer(verdict)
	}
	if errors.Is(err, errBudget) {
		r, err = s.stoppedResult()
	}
	if err == nil {
		r.targetTest = s.targetTest()
	}
	s.stopwatch.enter("")
	if err == nil && s.stopwatch != nil {
		r.Phases = s.stopwatch.phases
	}
	return r, err
}

// decide finds the verdict, and the mixture of policies that it is about.
func (s *solver) decide() (Verdict, error) {
	if err := s.initialize(); err != nil {
		return 0, err
	}
	verdict, err := s.solvePhases()
	if err == nil && verdict == Optimal {
		err = s.joinClasses()
		if errors.Is(err, errBudget) {
			err = nil
		}
	}
	return verdict, err
}

// answer says all that goes with a verdict.
func (s *solver) answer(verdict Verdict) (*Result, error) {
	switch verdict {
	case Infeasible:
		return s.infeasibleResult()
	case Unbounded:
		return s.unboundedResult()
	}
	return s.finalResult()
}

// solvePhases goes through the two phases, again as long as the box turns out to be too large.
func (s *solver) solvePhases() (verdict Verdict, err error) {
	again := true
	for again {
		verdict, err = s.findFeasible()
		if err != nil {
			return 0, err
		}
		again, err = s.shrinkBox()
		if again || err != nil {
			continue
		}
		if verdict == Optimal && s.task.Cost != nil {
			verdict, err = s.optimize()
			if err != nil {
				return 0, err
			}
			if verdict == Unbounded {
				return verdict, nil
			}
			again, err = s.shrinkBox()
		}
	}
	return verdict, err
}

// A solver is the state of one run.
type solver struct {
	ctx     context.Context
	pricing pricingProblem
	pricer  pricer // nil where no policy is wanted
	traits  traits // of the source
	extendedValues
	opts Options

	lower, upper    []float64         // box around all returns that matter
	steps           []float64         // the largest magnitude of each return in a step, 0 where it is not known
	rows            []cmdp.Constraint // half-spaces of the target known in advance
	penalties       []float64         // at which rows may be broken, nil if they may not
	complete        bool              // they are all of it
	affine          bool              // so is the tangent of the cost at any point
	acceptedGap     float64           // relative gap that counts as optimal, Options.Gap being aimed at
	targetTolerance float64           // distance from the target that counts as none
	absoluteGap     float64           // gap that counts as none

	ascentMultipliers []float64   // multipliers of the rows to begin with, nil if none are known
	seed              []column    // policies known in advance
	seedSuffices      bool        // they are enough to begin with
	directions        [][]float64 // priced first, instead of the gradient of the cost
	master            *master
	perturbing        bool // prices are raised to make a ray cost something
	iterations        int
	incumbent         point
	leastEasing       float64 // elasticity of the target in the second phase, at least
	keepReturns       bool    // the policy is to have the returns of the incumbent
	anchor            point   // the first incumbent, inside the target where it has an interior
	proof             *Proof
	bestMu            []float64 // multipliers of the proof
	bestNu            []float64
	farkas            *Certificate // separates the target
	farkasMultipliers []float64    // the multipliers of the rows that do
	joined            *Joined      // classes of the incumbent
	costRange         valueRange   // of the costs of the policies found for a sum

	stopwatch   *stopwatch
	budget      *budget
	meetsTarget bool         // the incumbent meets the target
	newPricer   func() error // makes another pricer, after an interruption
}

// A point is a mixture of columns that meets the target.
type point struct {
	lambda, v []float64
	cost      float64
}

func newSolver(ctx context.Context, p pricer, task cmdp.Task, opts Options) (*solver, error) {
	s, err := newMixing(ctx, p, task, opts)
	if err != nil {
		return nil, err
	}
	s.pricer = p
	if s.traits.relevance != nil {
		s.extendedValues = newExtendedValues(task, *s.traits.relevance)
	}
	return s, nil
}

// newMixing is newSolver for what finds a mixture of columns and makes no policy of it.
func newMixing(ctx context.Context, p pricingProblem, task cmdp.Task, opts Options) (*solver, error) {
	d := p.dim()
	s := &solver{ctx: ctx, pricing: p, traits: p.traits(), extendedValues: extendedValues{task: task}, opts: opts}
	s.lower, s.upper = make([]float64, d), make([]float64, d)
	if s.traits.unboundedTotals && task.Box != nil {
		task.Box.Bounds(s.lower, s.upper)
	} else if err := p.extent(ctx, s.lower, s.upper); err != nil {
		return nil, err
	}
	s.rows, s.complete = task.LinearConstraints(s.lower, s.upper)
	if s.traits.infiniteHorizon {
		CutBox(s.lower, s.upper, task.Target)
	}
	goal, affine := task.Cost.(cost.Affine)
	s.affine = affine
	if affine && s.traits.cancelling != nil {
		s.absoluteGap = 64 * roundoff * width(goal.Gradient(), s.traits.cancelling)
	}
	s.acceptedGap = s.opts.Gap
	if s.opts.Gap == 0 {
		s.opts.Gap, s.acceptedGap = defaultSmoothGap, smoothGap
		if s.complete && (s.affine || task.Cost == nil) {
			s.opts.Gap, s.acceptedGap = defaultGap, defaultGap
		}
	}
	s.steps = s.traits.steps
	if s.steps == nil {
		s.steps = make([]float64, d)
	}
	return s, s.resetMaster()
}

// resetMaster makes an empty master that measures returns by the box of the solver.
func (s *solver) resetMaster() (err error) {
	extent := scaleOf(s.lower, s.upper, s.steps)
	// No tolerance makes up for the rounding of returns that do not vary.
	s.targetTolerance = s.opts.Feasibility*floats.Norm(extent, 2) + 64*roundoff*math.Hypot(floats.Norm(s.lower, 2),
		floats.Norm(s.upper, 2))
	s.master, err = newMaster(extent, func(n []float64) float64 { return width(n, extent) }, s.traits.blocks)
	s.incumbent = point{cost: math.Inf(1)}
	if err == nil && s.traits.blocks > 1 && s.complete {
		// Nothing is gained inside of half-spaces, and to get there takes as many pivots as the optimum.
		s.master.phase1Least = 0
		err = s.master.startPhase1()
	}
	return err
}

// shrinkBox reports whether the box goes far beyond the returns of all policies that were found, as a limit of
// 1e9 on a return of 1 makes it. Then the solver is back at its start with a smaller box and the policies that
// it found: rounding is not to be measured by it.
func (s *solver) shrinkBox() (bool, error) {
	const far, most = 1e3, 16
	if !s.traits.infiniteHorizon {
		return false, nil
	}
	changed := false
	for i := range s.lower {
		size := math.Max(s.steps[i], s.master.largest(i))
		if size > 0 && s.upper[i]-s.lower[i] > far*size {
			s.lower[i], s.upper[i] = math.Max(s.lower[i], -most*size), math.Min(s.upper[i], most*size)
			s.lower[i], s.upper[i] = math.Min(s.lower[i], most*size), math.Max(s.upper[i], -most*size)
			changed = true
		}
	}
	if !changed {
		return false, nil
	}
	s.seed, s.seedSuffices = s.master.columns, s.master.firstReturns() != nil
	s.proof, s.bestMu, s.bestNu, s.anchor, s.leastEasing, s.farkas, s.farkasMultipliers = nil, nil, nil, point{}, 0,
		nil, nil
	s.meetsTarget = false
	if err := s.resetMaster(); err != nil {
		return false, err
	}
	return true, s.initialize()
}

// scaleOf returns the sides of a box that returns are measured by. A return that does not vary, up to rounding,
// is measured by its size: the differences of what policies have of it say nothing. steps holds the largest
// magnitude of each in a step, 0 where it is not known.
func scaleOf(lower, upper, steps []float64) []float64 {
	const rounding = 1e-11
	scale := minus(upper, lower)
	for i, x := range scale {
		if size := math.Max(steps[i], math.Max(math.Abs(lower[i]), math.Abs(upper[i]))); x <= rounding*size {
			scale[i] = size
		}
	}
	return scale
}

// width is how much normal·v varies over a box with sides extent; rows are measured
// by it. A row in whose direction nothing varies is measured by its own length.
func width(normal, extent []float64) float64 {
	sum := 0.0
	for i, n := range normal {
		sum += math.Abs(n) * extent[i]
	}
	if sum > 0 {
		return math.Max(sum, leastNormal)
	}
	return floats.Norm(normal, 2)
}

// initialize fills the master with the rows of the target and the policies of the
// first directions. By default that is the policy that would be best without
// the target.
func (s *solver) initialize() error {
	for k, r := range s.rows {
		if err := s.master.addTarget(r); err != nil {
			return err
		}
		if s.penalties == nil {
			continue
		}
		if err := s.master.addSurplus(k, s.penalties[k]); err != nil {
			return err
		}
	}
	for _, c := range s.seed {
		if _, err := s.master.addColumn(c); err != nil {
			return err
		}
	}
	directions := s.directions
	if len(directions) == 0 && !s.seedSuffices {
		dir := make([]float64, len(s.lower))
		if s.task.Cost != nil {
			s.task.Cost.Subgradient(dir, interpolated(s.lower, s.upper, 0.5))
		}
		directions = [][]float64{dir}
	}
	for _, dir := range directions {
		if _, _, err := s.price(dir, math.Inf(1)); err != nil {
			return err
		}
	}
	if s.master.firstReturns() == nil { // rays only: one that has nothing to gain finds a policy
		if _, _, err := s.price(make([]float64, len(s.lower)), 0); err != nil {
			return err
		}
	}
	if s.task.Cost == nil {
		return nil
	}
	if err := s.dualAscent(); err != nil {
		return err
	}
	return s.master.addCut(s.tangent(s.master.firstReturns()))
}

// price asks for the cheapest policy in a direction and adds it to the master. As long as that is new, it may
// be worse than the best one by aim.
func (s *solver) price(dir []float64, aim float64) (p pricedPolicy, added bool, err error) {
	aim = math.Min(aim, 0.01*width(dir, minus(s.upper, s.lower)))
	for {
		p, err = s.priceInTime(dir, aim)
		if err != nil {
			return p, false, err
		}
		added, err = s.addPriced(p, dir)
		if added || err != nil || !p.approximate {
			return p, added, err
		}
		aim = 0
	}
}

// addPriced adds the policy found in a direction to the master.
func (s *solver) addPriced(p pricedPolicy, dir []float64) (added bool, err error) {
	s.iterations++
	added, err = s.addColumns(p, dir)
	if s.opts.Progress != nil {
		bound := math.Inf(-1)
		if s.proof != nil {
			bound = s.proof.Bound
		}
		s.opts.Progress(s.iterations, bound, s.incumbent.cost)
	}
	return added, err
}

// addColumns adds the policy, or those of all parts of a sum.
func (s *solver) addColumns(p pricedPolicy, dir []float64) (added bool, err error) {
	c := newColumn(p, dir)
	if p.parts == nil {
		return s.master.addColumn(c)
	}
	if s.task.Cost != nil {
		s.costRange.add(s.task.Cost.Value(p.returns))
	}
	for k, x := range p.parts {
		one := newColumn(x, nil)
		one.dir, one.block = c.dir, k
		is, err := s.master.addColumn(one)
		if err != nil {
			return false, err
		}
		added = added || is
	}
	return added, nil
}

// A valueRange is the range of some numbers.
type valueRange struct {
	least, most float64
	any         bool
}

func (r *valueRange) add(x float64) {
	if !r.any {
		r.least, r.most, r.any = x, x, true
	}
	r.least, r.most = min(r.least, x), max(r.most, x)
}

// tangent returns the tangent of the cost at x.
func (s *solver) tangent(x []float64) cut {
	c := cut{point: append([]float64(nil), x...), slope: make([]float64, len(x)), value: s.task.Cost.Value(x)}
	s.task.Cost.Subgradient(c.slope, x)
	return c
}
