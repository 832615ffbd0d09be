package exact

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// columnGeneration minimises a cost over the points of a compact convex set that lie in a target, by column generation
// (Dantzig and Wolfe 1960; Lübbecke and Desrosiers 2005). The set answers pricing problems; the master mixes the
// columns found so far, and its multipliers are the next direction to price:
//
//	phase 1   while the mixture misses the target: price the direction in which it does, together with the cost or
//	          alone (Farkas pricing)
//	phase 2   while the gap is open: refine the tangents at the mixture, price the multipliers, keep the best bound
//
// It ends with a mixture and a lower bound, or with multipliers that separate the target. What is made of a mixture
// is for a recovery to say, and what is proved for a solver.
type columnGeneration struct {
	ctx     context.Context
	pricing pricingProblem
	traits  traits // of the pricing problem
	program
	budget *budget
	phases *stopwatch
	early  func()            // called after each price in the second phase, nil for nothing
	priced *pricedDirections // nil where the set may change
	bounds *supportBounds    // also of earlier tasks; nil where none are kept

	mixtureSuffices bool      // no policy is made of the answer
	mostRefined     time.Time // after which policies that meet the target are good enough; zero for none

	seed              []column    // known in advance
	seedSuffices      bool        // they are enough to begin with
	directions        [][]float64 // priced first, instead of the gradient of the cost
	ascentMultipliers []float64   // of the rows to begin with, nil if none are known
	// multipliers of the rows at which policies were priced beside the cost, nil where nobody asks
	pricedAt        map[*columnPolicy][]float64
	compositeWeight float64 // of what the target is missed by, beside the cost; 0 to leave the cost out

	master      *master
	iterations  int
	incumbent   point
	meetsTarget bool       // the incumbent does
	anchor      point      // the first incumbent, inside the target where it has an interior
	leastEasing float64    // elasticity of the target in the second phase, at least
	perturbing  bool       // multipliers are changed to make a ray cost something
	costRange   valueRange // of the costs of the policies found for a sum
	bound       dualBound
	rates       map[int]float64 // of rows of the task where the multipliers of the bound may not be unique
	nearOptimal *nearOptimal    // for rates with a curved cost, nil before there are any
	farkas      farkasProof
}

// A point is a mixture of columns that meets the target.
type point struct {
	lambda, v []float64
	cost      float64
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

// newColumnGeneration returns one for a program, with an empty master.
func newColumnGeneration(ctx context.Context, p pricingProblem, task program) (*columnGeneration, error) {
	s := &columnGeneration{ctx: ctx, pricing: p, traits: p.traits(), program: task, priced: new(pricedDirections)}
	if s.affine && s.complete && s.traits.unboundedTotals && s.traits.usesSweeps {
		s.pricedAt = make(map[*columnPolicy][]float64)
	}
	// Where mixtures are made narrower at a cost, policies that are alike in all but many states make it high.
	if task.task.Cost != nil && task.penalties == nil && s.traits.blocks <= 1 && s.traits.purificationCost == nil {
		s.compositeWeight = leastCompositeWeight
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
	if err != nil {
		return err
	}
	s.master.curved, s.master.known = !s.affine, len(s.rows)
	s.incumbent = point{cost: math.Inf(1)}
	if s.traits.blocks > 1 && s.complete {
		// Nothing is gained inside of half-spaces, and to get there takes as many pivots as the optimum.
		s.master.phase1Least = 0
		err = s.master.startPhase1()
	}
	return err
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
		p, _, err := s.price(dir, math.Inf(1))
		if err != nil {
			return err
		}
		if s.pricedAt != nil && len(s.directions) == 0 {
			s.pricedAt[p.policy] = nil
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

// solve goes through the two phases, again as long as the box turns out to be too large.
func (s *columnGeneration) solve() (verdict Verdict, err error) {
	again := true
	for again {
		verdict, err = s.phase1()
		if err != nil {
			return 0, err
		}
		again, err = s.shrinkBox()
		if again || err != nil {
			continue
		}
		if verdict == Optimal && s.task.Cost != nil {
			verdict, err = s.phase2()
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
	s.priced = new(pricedDirections) // policies may have been left out that are the same in the larger box only
	if err := s.resetMaster(); err != nil {
		return false, err
	}
	return true, s.initialize()
}

// phase1 is the first phase: it minimises by how much the mixture misses the
// half-spaces of the target. The answer is Optimal if a mixture in the target was
// found, which is then the incumbent, Infeasible if a direction separates all
// policies from the target, and Undecided otherwise.
func (s *columnGeneration) phase1() (Verdict, error) {
	const programs = 2000
	for range programs {
		if err := s.ctx.Err(); err != nil {
			return 0, err
		}
		err := s.master.solve()
		if errors.Is(err, lp.ErrNumerical) && s.master.lambda != nil { // what was found before misses the target
			break
		}
		if err != nil {
			return 0, err
		}
		inside, cut, err := s.cutTarget()
		if err != nil {
			return 0, err
		}
		if s.master.u <= 0 && (inside || !cut) {
			return s.acceptIncumbent(0)
		}
		if s.master.u > 0 && s.iterations == 0 {
			if err := s.refuteByBounds(); err != nil || s.farkas.certificate != nil {
				return Infeasible, err
			}
		}
		known := len(s.master.columns)
		if s.master.u > 0 && s.iterations < s.opts.Iterations {
			useful, err := s.compositePricing()
			if err == nil && !useful {
				_, err = s.farkasPricing()
			}
			if err != nil || s.farkas.certificate != nil {
				return Infeasible, err
			}
		}
		if cut || len(s.master.columns) > known {
			continue
		}
		// Neither side can move on: what is left of u is within rounding or proves
		// nothing.
		if inside && s.master.u <= s.opts.Feasibility {
			return s.acceptIncumbent(s.master.u)
		}
		break
	}
	s.updateIncumbent()
	return Undecided, nil
}

// refuteByBounds proves that the target is out of reach if what is known of other directions says so.
func (s *columnGeneration) refuteByBounds() error {
	nu, beyond := s.bounds.multipliers(nil, s.master)
	if !beyond || s.task.Target == nil {
		return nil
	}
	psi, _ := s.master.psi(nu)
	c, err := s.certify(psi)
	if err == nil && c.proves() {
		s.farkas.certificate, s.farkas.nu = c, nu
	}
	return err
}

// leastCompositeWeight is how much more than the cost the target counts at first in composite directions, both
// being measured by what they vary by.
const leastCompositeWeight = 2

// compositePricing asks for the policy that is best for the cost and for what the mixture misses the target by, both
// together, as the composite simplex method does (Wolfe 1965). A policy that only leads to the target may be far from
// the optimum, and takes long to find where little is left to choose by; this one gives a bound of the optimum besides.
// It reports false where the target has to be looked for alone: the policy found does not halve what is missed.
func (s *columnGeneration) compositePricing() (useful bool, err error) {
	if s.compositeWeight == 0 {
		return false, nil
	}
	psi, support := s.master.psi(s.master.nu)
	known := len(s.master.columns)
	added, err := s.priceMultipliers([]float64{1}, scaled(s.compositeWeight*s.master.extent, s.master.nu))
	if err != nil || !added {
		s.compositeWeight = leastCompositeWeight
		return false, err
	}
	missed := floats.Dot(psi, s.master.columns[known].returns) - support
	if missed > 0 {
		s.compositeWeight *= 4
	}
	if missed > s.master.u/2 {
		s.compositeWeight = leastCompositeWeight
		return false, nil
	}
	return true, nil
}

// farkasPricing asks for the policy that goes farthest in the direction where the
// mixture misses the target. If even that one misses it, by more than rounding
// explains and as an independent value iteration confirms, the direction refutes
// the task.
func (s *columnGeneration) farkasPricing() (added bool, err error) {
	p, added, err := s.farkasPricingAt(s.master.nu)
	if err != nil || added || s.farkas.certificate != nil || p.ray == nil && !math.IsInf(p.margin, 1) {
		return added, err
	}
	level := p.cancellingGains
	if p.ray != nil {
		level = append(level, p.returns)
	}
	none := make([]float64, len(s.lower))
	for raise := leastPerturbation; raise < mostPerturbation && !added && s.farkas.certificate == nil &&
		err == nil; raise *= 10 {
		_, added, err = s.farkasPricingAt(s.master.perturbed(none, s.master.nu, level, raise))
	}
	return added, err
}

// farkasPricingAt is farkasPricing for given multipliers of the rows.
func (s *columnGeneration) farkasPricingAt(nu []float64) (p pricedPolicy, added bool, err error) {
	nu = s.master.withoutCancelling(make([]float64, len(s.lower)), nu)
	psi, support := s.master.psi(nu)
	p, added, err = s.price(psi, 0.1*s.master.u)
	if err != nil {
		return p, false, err
	}
	if p.value-support > p.margin+s.master.supportMargin(nu, nil, s.lower, s.upper) {
		if s.traits.uncertified || s.task.Target == nil { // limits that are rows alone need no proof that others read
			s.farkas.certificate, s.farkas.nu = &Certificate{Direction: psi, Support: support, Value: p.value}, nu
			return p, added, nil
		}
		c, err := s.certify(psi)
		if err != nil {
			return p, false, err
		}
		if c.proves() {
			s.farkas.certificate, s.farkas.nu = c, slices.Clone(nu)
		} else if c != nil && math.IsInf(c.Margin, 1) { // loops cancel out in the unit vector, up to rounding
			p.margin = c.Margin
		}
	}
	return p, added, nil
}

// phase2 is the second phase, see closeGap. A target that is only touched may turn out
// to be missed by a little when it is known better. No mixture meets all tangents
// then, and the first phase judges once more; if it still finds no proof that
// the target is out of reach, the target is eased within the tolerance.
func (s *columnGeneration) phase2() (Verdict, error) {
	const turns = 5
	for range turns {
		err := s.closeGap()
		switch {
		case errors.Is(err, errNoBound):
			return Unbounded, nil
		case errors.Is(err, lp.ErrNumerical): // what was found before is judged by its bound
			return Optimal, nil
		}
		if !errors.Is(err, errNoPoint) {
			return Optimal, err
		}
		if err := s.master.startPhase1(); err != nil {
			return 0, err
		}
		s.leastEasing = 0.5 * s.opts.Feasibility
		if verdict, err := s.phase1(); err != nil || verdict != Optimal {
			return verdict, err
		}
	}
	return Undecided, nil
}

// closeGap refines the model of cost and target around the mixture and asks for the
// best policy at its multipliers. It stops when the bound from that policy meets
// the cost of the incumbent.
func (s *columnGeneration) closeGap() error {
	if s.ascentMultipliers != nil {
		if _, err := s.priceMultipliers([]float64{1}, s.ascentMultipliers); err != nil {
			return err
		}
		s.ascentMultipliers = nil
	}
	fine := false // the model of cost and target is as fine as the tolerance asks
	for s.iterations < s.opts.Iterations {
		if err := s.refine(s.modelTolerance(fine)); err != nil {
			return err
		}
		added, err := s.priceStabilized()
		if err != nil {
			return err
		}
		if s.early != nil {
			s.early()
		}
		if s.cutOff() {
			return errCutOff
		}
		if s.gap() <= s.tolerance(s.opts.Gap) || fine && !added {
			return nil
		}
		fine = !added
	}
	return nil
}

// errCutOff says that a subproblem cannot improve on what is known.
var errCutOff = errors.New("exact: cut off")

func (s *columnGeneration) cutOff() bool {
	return s.opts.cutoff != nil && s.bound.proof != nil && s.bound.proof.Bound >= *s.opts.cutoff
}

// acceptIncumbent makes the mixture of the master the incumbent and starts the second phase
// with the target eased by u.
func (s *columnGeneration) acceptIncumbent(u float64) (Verdict, error) {
	s.updateIncumbent()
	s.meetsTarget = true
	return Optimal, s.master.startPhase2(max(u, s.leastEasing))
}

// updateIncumbent makes the mixture of the master the incumbent.
func (s *columnGeneration) updateIncumbent() {
	s.incumbent = s.mixtureAt(s.master.lambda)
	s.anchor = s.incumbent
}

// priceStabilized asks for the policy that the multipliers of the master price best and keeps the lower bound that
// this gives if it is the best so far. The multipliers jump about in the beginning, so half-way points to those
// of the best bound are tried first (Wentges 1997); where these find nothing new, the multipliers themselves
// do, or the master is solved. One or two prices jump about little, nor do those of a RollingPlanner, which begins near
// the best ones.
func (s *columnGeneration) priceStabilized() (added bool, err error) {
	mu, nu := slices.Clone(s.master.mu), slices.Clone(s.master.nu) // the master may be solved for others
	if between := s.secantMultipliers(); between != nil {
		if added, err := s.priceMultipliers(mu, between); added || err != nil ||
			s.gap() <= s.tolerance(s.opts.Gap) {
			return added, err
		}
	}
	if s.bound.proof != nil && s.penalties == nil && manyPositive(nu, s.bound.nu) {
		if added, err := s.priceMultipliers(s.stabilized(s.bound.mu, mu), s.stabilized(s.bound.nu, nu)); added ||
			err != nil {
			return added, err
		}
		if s.gap() <= s.tolerance(s.opts.Gap) {
			return false, nil
		}
	}
	return s.priceMultipliers(mu, nu)
}

// secantMultipliers returns the multipliers at which the policies of the mixture were priced, mixed as these are; nil
// where they are not known. Where returns change smoothly with the multipliers, as in large components of totals, those
// of the master are half-way between, so that the distance of the policies is halved each time; the returns at these
// miss the rows by its square (the secant method). Small shares are raised a little: one of the policies would stay in
// the mixture otherwise. Where returns jump, the policy found last has a small share, and the master is asked instead.
func (s *columnGeneration) secantMultipliers() []float64 {
	const raise, trusted = 0.9, 0.5
	if n := len(s.master.lambda); s.pricedAt == nil || n == 0 || !(s.master.lambda[n-1] > trusted) {
		return nil
	}
	out, sum, mixed := make([]float64, len(s.rows)), 0.0, 0
	for j, x := range s.master.lambda {
		if x > 0 {
			policy := s.master.columns[j].policy
			nu, known := s.pricedAt[policy]
			if !known || policy == nil {
				return nil
			}
			x = math.Pow(x, raise)
			sum += x
			mixed++
			floats.AddScaled(out[:len(nu)], x, nu)
		}
	}
	if mixed < 2 {
		return nil
	}
	return scaled(1/sum, out)
}

// manyPositive reports whether more than two rows have a price, by the one multipliers or by the others.
func manyPositive(nu, others []float64) bool {
	n := 0
	for k, y := range nu {
		if y > 0 || k < len(others) && others[k] > 0 {
			n++
		}
	}
	return n > 2
}

// priceMultipliers is priceStabilized for given multipliers.
func (s *columnGeneration) priceMultipliers(mu, nu []float64) (added bool, err error) {
	phi, _ := s.master.phi(mu)
	nu = s.master.withoutCancelling(phi, nu)
	proof := s.proofOf(mu, nu)
	theta, conjugate := proof.direction()
	p, added, err := s.price(theta, 0.1*s.gap())
	if s.pricedAt != nil {
		s.pricedAt[p.policy] = nu
	}
	if err != nil || p.ray != nil && added {
		return added, err
	}
	if p.ray != nil {
		before := s.bound.proof
		added, err := s.perturbMultipliers(mu, nu, append(p.cancellingGains, p.returns))
		if added || err != nil || s.perturbing || s.bound.proof != before {
			return added, err
		}
		farther, err := s.fartherTangents(mu, p.returns)
		if err != nil || farther == nil {
			return false, err
		}
		return s.priceMultipliers(farther, nu)
	}
	if math.IsInf(p.margin, 1) && !added && !s.perturbing {
		return s.perturbMultipliers(mu, nu, p.cancellingGains)
	}
	proof.Value = p.value
	proof.slack = s.master.supportMargin(nu, phi, s.lower, s.upper) + proof.conjugateError() +
		proof.cancelled(s.lower, s.upper)
	proof.Margin = p.margin + proof.slack
	proof.Bound = p.value - conjugate - proof.Support - proof.Margin
	if s.bound.proof != nil && s.bound.proof.Bound >= proof.Bound {
		return added, nil
	}
	s.bound.proof, s.bound.mu, s.bound.nu = proof, append([]float64(nil), mu...), append([]float64(nil), nu...)
	return added, nil
}

// proofOf returns the proof that multipliers give, without what goes with the value of its direction.
func (s *columnGeneration) proofOf(mu, nu []float64) *Proof {
	proof := new(Proof)
	proof.Psi, proof.Support = s.master.psi(nu)
	for i, y := range mu {
		if y > 0 {
			c := s.master.cuts[i]
			proof.Points, proof.Subgradients = append(proof.Points, c.point), append(proof.Subgradients, c.slope)
			proof.Values, proof.Weights = append(proof.Values, c.value), append(proof.Weights, y)
		}
	}
	for k, y := range nu {
		if y > 0 {
			proof.Rows, proof.Prices = append(proof.Rows, s.master.rows[k].Constraint), append(proof.Prices, y)
		}
	}
	return proof
}

// fartherTangents returns multipliers with other tangents in the place of those that fall along a ray by less than
// what linear programs see, as those of log-sum-exp do by e^-250 a step: at places that far along it that they no
// longer fall. It returns nil where there are none, or no time.
func (s *columnGeneration) fartherTangents(mu, step []float64) (farther []float64, err error) {
	const visible = 1e-9
	falls := func(c *cut) bool { return floats.Dot(c.slope, step) < 0 }
	for i, y := range mu {
		c := s.master.cuts[i]
		if s.affine || s.iterations >= s.opts.Iterations || y == 0 || !falls(&c) ||
			floats.Dot(c.slope, step) < -visible*math.Max(s.master.extent, width(c.slope, s.master.scale)) {
			continue
		}
		for t := 1.0; t < farthestOnRay && falls(&c); t *= 2 {
			at := slices.Clone(c.point)
			floats.AddScaled(at, t, step)
			c = s.tangent(at)
		}
		if falls(&c) {
			continue
		}
		if farther == nil {
			farther = slices.Clone(mu)
		}
		farther[i] = 0
		farther = append(farther, y)
		if err := s.master.addCut(c); err != nil {
			return nil, err
		}
	}
	return farther, nil
}

// perturbMultipliers is priceMultipliers for multipliers at which the returns of some loops cancel out up to rounding:
// it changes them a little, until all of the loops cost something. Where a cost or a target is curved the best place
// may be one from which no loop leads anywhere better, so that all of them cancel out; multipliers are then those of a
// master in which rays cost a little.
func (s *columnGeneration) perturbMultipliers(mu, nu []float64, gains [][]float64) (added bool, err error) {
	if s.perturbing {
		return false, nil
	}
	s.perturbing = true
	defer func() { s.perturbing = false }()
	phi, _ := s.master.phi(mu)
	all := s.master.withLoops(gains)
	for raise := leastPerturbation; raise < mostPerturbation; raise *= 10 {
		before := s.bound.proof
		atMu, atNu, ok := mu, nu, false
		if !s.affine || !s.complete {
			atMu, atNu, ok = all.raised(raise)
		}
		if !ok {
			atMu, atNu = mu, s.master.perturbed(phi, nu, gains, raise)
		}
		added, err = s.priceMultipliers(atMu, atNu)
		if added || err != nil || s.bound.proof != before {
			return added, err
		}
	}
	return false, nil
}

// By how much multipliers are changed so that loops cost something, relative to them.
const leastPerturbation, mostPerturbation = 1e-13, 1e-6

// stabilized returns the multipliers half-way from best to now, which has the newer rows.
func (s *columnGeneration) stabilized(best, now []float64) []float64 {
	share := smoothing
	if len(s.master.blocks) > 1 {
		share = smoothingOfSums
	}
	out := scaled(1-share, now)
	floats.AddScaled(out[:len(best)], share, best)
	return out
}

// smoothing is the share of the best multipliers. On random models with two binding
// constraints it saves a quarter of the value iterations.
const smoothing = 0.5

// smoothingOfSums is that share where the best multipliers come from an ascent, see dualAscent, and are far better
// than those of the master.
const smoothingOfSums = 0.8

// price asks for the cheapest policy in a direction and adds it to the master. As long as that is new, it may
// be worse than the best one by aim. What is known of a direction is not asked for again.
func (s *columnGeneration) price(dir []float64, aim float64) (p pricedPolicy, added bool, err error) {
	if known := s.priced.find(dir); known != nil {
		return *known, false, nil
	}
	aim = math.Min(aim, 0.01*width(dir, minus(s.upper, s.lower)))
	for {
		p, err = s.priceInTime(dir, aim)
		if err != nil {
			return p, false, err
		}
		added, err = s.addPriced(p, dir)
		s.priced.keep(p, dir)
		if p.ray == nil {
			s.bounds.keep(supportBound{dir: slices.Clone(dir), value: p.value, margin: p.margin})
		}
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

// lagrangianDirection returns the direction of the best bound, nil without one.
func (s *columnGeneration) lagrangianDirection() []float64 {
	if s.bound.proof == nil {
		return nil
	}
	dir, _ := s.bound.proof.direction()
	return dir
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
