package baseline

import (
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// balanceMargin is z, by how many standard deviations regret and violation are taken to be larger by chance.
const balanceMargin = 2

// A balance weighs what the past still costs, and what chance may do, against what keeping away from the limits
// costs, where all limits are half-spaces a·v ≤ b with |a| = 1.
//
// After k episodes with returns that sum to R, and m more under a policy whose mean return is v, the mean return
// is W = (R + m·v)/(k+m), and a·W scatters by s_a = σ_a·√m/(k+m), where σ_a is the standard deviation of a·(return
// of an episode). Regret and violation are compared in shares of their ranges ρ and ν, see [Ranges]. The policy
// minimises the greater of them, each z standard deviations above its mean,
//
//	max( (g(W) − g°)/ρ + z·s_∇g/ρ,  max_i (a_i·W − b_i)/ν + z·s_i/ν )
//
// where g° is the least cost of a policy that keeps the limits, whatever the past was, and ∇g is taken at that
// policy's W. This says three things at once. Where a limit has the price λ, in shares of ρ for shares of ν:
//
//   - without noise a debt D of the past, in shares of ν, is paid back by D/(1+λ), so that the λD/(1+λ) that it
//     costs are as much as the rest of it: whole where it costs nothing, and not at all where it costs too much;
//     what was overspent to good purpose, so that g(W) is less than g°, is paid back first;
//   - without a past the policy stays away from the limit by z(s_i/ν − s_∇g/ρ)/(1+λ), and not at all where the
//     regret scatters more than the violation: keeping away would be noticed there, breaking the limit not;
//   - no limit is broken on purpose: v keeps a_i·v ≤ b_i, or what the past has left, a_i·W ≤ b_i, where that is
//     more. The violation that the plan expects is therefore at most k/(k+m) times that of the past.
type balance struct {
	limits            []cmdp.Constraint
	regret, violation float64 // ρ and ν
	box               *geometry.Box
	noise             noise
}

// newBalance returns nil if the task has no goal, or limits that are not half-spaces, or nothing to weigh.
func newBalance(sh *cmdp.Shape, task cmdp.Task) (*balance, error) {
	lower, upper := sh.Totals()
	list, complete := task.LinearConstraints(lower, upper)
	if task.Cost == nil || !complete {
		return nil, nil
	}
	b := &balance{}
	var err error
	b.regret, b.violation, err = Ranges(sh, task)
	if err != nil || b.regret == 0 || b.violation == 0 {
		return nil, nil // too many returns for a curved goal, or nothing to weigh
	}
	for _, c := range list {
		norm := floats.Norm(c.Normal, 2)
		unit := make([]float64, len(c.Normal))
		floats.AddScaled(unit, 1/norm, c.Normal)
		b.limits = append(b.limits, cmdp.Constraint{Normal: unit, Offset: c.Offset / norm})
	}
	d := len(lower)
	b.noise = noise{Mean: make([]float64, d), Covariance: make([]float64, d*d)}
	b.box, err = geometry.NewBox(lower, upper)
	return b, err
}

// task returns the task of the returns v of the coming m episodes after k ones that returned total, where free is
// the plan without the past.
func (b *balance) task(goal cost.Cost, total []float64, k, m float64, free *exact.Result) (cmdp.Task, error) {
	d, factor, scatter := len(total), m/(k+m), balanceMargin*math.Sqrt(m)/(k+m)
	past, at, gradient := make([]float64, d), make([]float64, d), make([]float64, d)
	floats.AddScaled(past, 1/(k+m), total)
	floats.AddScaledTo(at, past, factor, free.Returns)
	goal.Subgradient(gradient, at)
	regret, err := cost.NewPrecomposed(goal, diagonal(d, factor), past, b.box)
	if err != nil {
		return cmdp.Task{}, err
	}
	// Multiplied by ρ, and moved so that the first term is the cost itself.
	terms := []cost.Cost{regret}
	chance := free.Objective - scatter*b.noise.deviation(gradient)
	loose := 0.0 // in a model that allows no v, what its nearest one needs
	if free.Status == exact.Infeasible {
		loose = free.Violation*(1+1e-6) + 2*free.Tolerance
	}
	allowed := slices.Clone(b.limits)
	for i, c := range b.limits {
		unit, spent := b.regret/b.violation, floats.Dot(c.Normal, past)
		normal := make([]float64, d)
		floats.AddScaled(normal, unit*factor, c.Normal)
		violation, err := cost.NewAffine(normal, unit*(spent-c.Offset+scatter*b.noise.deviation(c.Normal))+chance,
			b.box)
		if err != nil {
			return cmdp.Task{}, err
		}
		terms = append(terms, violation)
		allowed[i].Offset = max(c.Offset, (c.Offset-spent)/factor) + loose
	}
	var task cmdp.Task
	task.Cost, err = cost.NewMaximum(terms, b.box)
	if err != nil {
		return task, err
	}
	task.Target, err = boxWithin(allowed, b.box)
	return task, err
}

// diagonal returns a multiple of the identity matrix.
func diagonal(d int, factor float64) [][]float64 {
	matrix := make([][]float64, d)
	for i := range matrix {
		matrix[i] = make([]float64, d)
		matrix[i][i] = factor
	}
	return matrix
}

// A noise estimates how the returns of episodes scatter: their covariance, in which episode k has the weight k, since
// the policies change.
type noise struct {
	Mean, Covariance []float64
}

// observe takes the returns of episode k, from 1 on.
func (n *noise) observe(total []float64, k int) {
	d, share := len(total), 2/float64(k+1) // k of 1 + 2 + … + k
	off := make([]float64, d)
	floats.SubTo(off, total, n.Mean)
	for i := range d {
		for j := range d {
			n.Covariance[i*d+j] = (1 - share) * (n.Covariance[i*d+j] + share*off[i]*off[j])
		}
	}
	floats.AddScaled(n.Mean, share, off)
}

// deviation returns the standard deviation of dir·(return of an episode).
func (n *noise) deviation(dir []float64) float64 {
	sum, d := 0.0, len(dir)
	for i, x := range dir {
		sum += x * floats.Dot(dir, n.Covariance[i*d:(i+1)*d])
	}
	return math.Sqrt(max(0, sum))
}
