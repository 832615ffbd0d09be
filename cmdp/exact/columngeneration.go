package exact

import (
	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
	"context"
	"math"
)

// columnGeneration minimises a cost over the points of a compact convex set that lie in a target, by column generation
// (Dantzig and Wolfe 1960; Lübbecke and Desrosiers 2005). The set answers pricing problems; the master mixes the
// columns found so far, and its multipliers are the next direction to price:
//
//	phase 1   while the mixture misses the target: price the direction in which it does (Farkas pricing)
//	phase 2   while the gap is open: refine the tangents at the mixture, price the multipliers, keep the best bound
//
// It ends with a mixture and a lower bound, or with multipliers that separate the target. What is made of a mixture
// is for a [recovery] to say, and what an answer says for a [solver].
type columnGeneration struct {
	ctx     context.Context
	pricing pricingProblem
	traits  traits // of the pricing problem
	program
	opts   Options
	budget *budget
	phases *stopwatch
	early  func() // called after each price in the second phase, nil for nothing

	seed              []column    // known in advance
	seedSuffices      bool        // they are enough to begin with
	directions        [][]float64 // priced first, instead of the gradient of the cost
	ascentMultipliers []float64   // of the rows to begin with, nil if none are known

	master      *master
	iterations  int
	incumbent   point
	meetsTarget bool       // the incumbent does
	anchor      point      // the first incumbent, inside the target where it has an interior
	leastEasing float64    // elasticity of the target in the second phase, at least
	perturbing  bool       // multipliers are changed to make a ray cost something
	costRange   valueRange // of the costs of the policies found for a sum
	bound       dualBound
	farkas      farkasProof
}

// A dualBound is the best lower bound so far, with the multipliers of the tangents and the rows that give it.
type dualBound struct {
	proof  *Proof // nil before there is one
	mu, nu []float64
}

// A farkasProof shows that the target is out of reach: multipliers of the rows whose sum separates it.
type farkasProof struct {
	certificate *Certificate // nil if there is none
	nu          []float64
}

// A point is a mixture of columns that meets the target.
type point struct {
	lambda, v []float64
	cost      float64
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

// solvePhases goes through the two phases, again as long as the box turns out to be too large.
func (s *columnGeneration) solvePhases() (verdict Verdict, err error) {
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

// price asks for the cheapest policy in a direction and adds it to the master. As long as that is new, it may
// be worse than the best one by aim.
func (s *columnGeneration) price(dir []float64, aim float64) (p pricedPolicy, added bool, err error) {
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
func (s *columnGeneration) addPriced(p pricedPolicy, dir []float64) (added bool, err error) {
	s.iterations++
	added, err = s.addColumns(p, dir)
	if s.opts.Progress != nil {
		bound := math.Inf(-1)
		if s.bound.proof != nil {
			bound = s.bound.proof.Bound
		}
		s.opts.Progress(s.iterations, bound, s.incumbent.cost)
	}
	return added, err
}

// addColumns adds the policy, or those of all parts of a sum.
func (s *columnGeneration) addColumns(p pricedPolicy, dir []float64) (added bool, err error) {
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

// shrinkBox reports whether the box goes far beyond the returns of all policies that were found, as a limit of
// 1e9 on a return of 1 makes it. Then the solver is back at its start with a smaller box and the policies that
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

// lagrangianDirection returns the direction of the best bound, nil without one.
func (s *columnGeneration) lagrangianDirection() []float64 {
	if s.bound.proof == nil {
		return nil
	}
	dir, _ := s.bound.proof.direction()
	return dir
}
