package exact

import (
	"context"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"

	"gonum.org/v1/gonum/floats"
)

// initialize fills the master with the rows of the target and the policies of the
// first directions. By default that is the policy that would be best without
// the target.
func (s *columnGeneration) initialize() error {
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

func newColumnGeneration(ctx context.Context, p pricingProblem, task cmdp.Task,
	opts Options) (*columnGeneration, error) {
	d := p.dim()
	s := &columnGeneration{ctx: ctx, pricing: p, traits: p.traits(), opts: opts}
	s.extendedValues = extendedValues{task: task}
	if s.traits.relevance != nil {
		s.extendedValues = newExtendedValues(task, *s.traits.relevance)
	}
	s.lower, s.upper = make([]float64, d), make([]float64, d)
	if s.traits.unboundedTotals && task.Box != nil {
		task.Box.Bounds(s.lower, s.upper)
	} else if err := p.extent(ctx, s.lower, s.upper); err != nil {
		return nil, err
	}
	lower, upper := slices.Clone(s.lower), slices.Clone(s.upper)
	if task.Box != nil { // its own sides are no limits
		for i, x := range task.Box.Lower() {
			lower[i] = math.Max(lower[i], x)
		}
		for i, x := range task.Box.Upper() {
			upper[i] = math.Min(upper[i], x)
		}
	}
	s.rows, s.complete = task.LinearConstraints(lower, upper)
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

// resetMaster makes an empty master that measures returns by the box.
func (s *columnGeneration) resetMaster() (err error) {
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

// shrinkBox reports whether the box goes far beyond the returns of all policies that were found, as a limit of
// 1e9 on a return of 1 makes it. Then all is back at its start with a smaller box and the policies that
// it found: rounding is not to be measured by it.
func (s *columnGeneration) shrinkBox() (bool, error) {
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
	s.bound, s.farkas = dualBound{}, farkasProof{}
	s.anchor, s.leastEasing = point{}, 0
	s.meetsTarget = false
	if err := s.resetMaster(); err != nil {
		return false, err
	}
	return true, s.initialize()
}
