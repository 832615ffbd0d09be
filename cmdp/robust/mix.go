package robust

import (
	"fmt"
	"math"

	"cmdpsolve/cmdp/exact"
	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// A mixture is an answer of the master: weights of columns and prices of rows.
type mixture struct {
	weights, prices []float64
	value           float64 // the cost, or in the first phase the excess over the limits
}

// slackening is how far limits are drawn in, in units of their extent, so that what rounding adds to a mixture does
// not break them.
const slackening = 1e-12

// master mixes the columns: the least cost among those mixtures that keep the limits but for an excess, or without
// costs the least excess over the limits, each in units of its extent.
func (s *search) master(costs bool, excess float64) (*mixture, error) {
	n := len(s.columns)
	p := &lp.Problem{Minimize: make([]float64, n+1)}
	p.Minimize[n] = 1
	if costs {
		p.Minimize[n] = 0
		p.Upper = make([]float64, n+1)
		for i := range n {
			p.Upper[i] = math.Inf(1)
			p.Minimize[i] = s.columns[i].greatest[0]
		}
		p.Upper[n] = excess
	}
	sum := make([]float64, n+1)
	for i := range n {
		sum[i] = 1
	}
	p.Rows = append(p.Rows, lp.Equal(sum, 1))
	for k, row := range s.rows {
		coef := make([]float64, n+1)
		scale := s.scale(k + 1)
		for i, c := range s.columns {
			coef[i] = (c.greatest[k+1] - row.Offset) / scale
		}
		coef[n] = -1
		p.Rows = append(p.Rows, lp.AtMost(coef, -slackening))
	}
	sol, err := lp.Solve(p)
	if err != nil {
		return nil, fmt.Errorf("robust: master: %w", err)
	}
	if sol.Status != lp.Optimal {
		return nil, nil
	}
	x := &mixture{weights: sol.X[:n], value: sol.Objective}
	for k := range s.rows {
		x.prices = append(x.prices, math.Max(0, -sol.Duals[k+1])/s.scale(k+1))
	}
	return x, nil
}

// scale returns the extent of the columns in a direction, by which its limit is measured: at least a thousandth of
// their magnitude, so that the tolerance is more than rounding. An extent that is nothing beside what a step may return
// is that of rounding errors.
func (s *search) scale(j int) float64 {
	least, most := math.Inf(1), math.Inf(-1)
	for _, c := range s.columns {
		least = math.Min(least, c.greatest[j])
		most = math.Max(most, c.greatest[j])
	}
	size, magnitude := most-least, s.magnitude(j)
	if size <= 1e-11*magnitude {
		size = magnitude
	}
	size = math.Max(size, 1e-3*magnitude)
	if size <= 1e-11*s.rewards[j] {
		size = 0.01 * s.rewards[j]
	}
	if size == 0 {
		return 1
	}
	return size
}

// mix finds the best mixture of columns, adding columns that may make it better until none does.
func (s *search) mix() error {
	stale := 0
	for range s.opts.Rounds {
		if s.closed() {
			return nil
		}
		s.rounds++
		x, costs, err := s.mixed()
		if err != nil {
			return err
		}
		before := len(s.columns)
		value := x.value
		err = s.columnsFor(x, costs)
		if err != nil || s.refuted != nil {
			return err
		}
		s.reportProgress()
		if len(s.columns) == before {
			return nil
		}
		y, now, err := s.mixed()
		if err != nil {
			return err
		}
		if now == costs && !(y.value < value-1e-9*math.Max(1e-3, math.Abs(value))) {
			stale++
		} else {
			stale = 0
		}
		if stale >= patience {
			return nil
		}
	}
	return nil
}

// patience is how many rounds may pass without a better mixture.
const patience = 3

// mixed solves the master, of the second phase if limits can be kept, and keeps the plan. Where limits leave no room,
// such as a value that all policies have, mixtures may miss them within the tolerance.
func (s *search) mixed() (x *mixture, costs bool, err error) {
	x, err = s.master(true, 0)
	costs = x != nil
	if err == nil && !costs {
		x, err = s.master(false, 0)
		if err == nil && x != nil && x.value <= tolerance/2 {
			touching, _ := s.master(true, tolerance/2)
			if touching != nil {
				x, costs = touching, true
			}
		}
	}
	if err == nil && x == nil {
		err = fmt.Errorf("robust: master: %w", lp.ErrNumerical)
	}
	if err != nil {
		return nil, false, err
	}
	s.keep(x)
	return x, costs, nil
}

// keep keeps a mixture that is the best so far.
func (s *search) keep(x *mixture) {
	p := &plan{greatest: make([]float64, len(s.dirs))}
	total := 0.0
	for i, w := range x.weights {
		if w > 1e-13 {
			total += w
			p.parts = append(p.parts, exact.WeightedPolicy{Weight: w, Policy: s.columns[i].policy})
			floats.AddScaled(p.greatest, w, s.columns[i].greatest)
		}
	}
	floats.Scale(1/total, p.greatest)
	for i := range p.parts {
		p.parts[i].Weight /= total
	}
	s.consider(p)
}

// consider keeps a plan that is the best so far, if it is one to want. The sums of its greatest returns are rounded up.
func (s *search) consider(p *plan) {
	if s.opts.Deterministic && (len(p.parts) > 1 || p.parts[0].Policy.Randomized() > 0) {
		return
	}
	for j, x := range p.greatest {
		if len(p.parts) > 1 {
			p.greatest[j] = x + 8*float64(len(p.parts)+2)*unit*s.magnitude(j)
		}
	}
	excess := s.excess(p.greatest)
	if s.smallest == nil || excess < s.excess(s.smallest.greatest) {
		s.smallest = p
	}
	if excess > tolerance {
		return
	}
	if s.best == nil || p.greatest[0] < s.best.greatest[0] {
		s.best = p
		s.budget.reserve(len(p.parts))
	}
	if len(p.parts) == 1 && (s.one == nil || p.greatest[0] < s.one.greatest[0]) {
		s.one = p
	}
}

// excess is by how much greatest returns miss the limits, in units of their extent, at most 0 if they are kept. The
// extent changes with every column.
func (s *search) excess(greatest []float64) float64 {
	most := math.Inf(-1)
	for k, row := range s.rows {
		most = math.Max(most, (greatest[k+1]-row.Offset)/s.scale(k+1))
	}
	return most
}

// nearest returns the best plan, or where none keeps the limits that which misses them least, nil if there is none.
func (s *search) nearest() *plan {
	if s.best != nil {
		return s.best
	}
	return s.smallest
}

// magnitude is the largest magnitude of a column in a direction.
func (s *search) magnitude(j int) float64 {
	most := 0.0
	for _, c := range s.columns {
		most = math.Max(most, math.Abs(c.greatest[j]))
	}
	return most
}

// tolerance is how far a plan may miss a limit, in units of its extent, where there is no room.
const tolerance = 1e-10

// columnsFor adds policies that are good where rows have the prices of a mixture. In the first phase the cost does not
// count, and nature's answer may be a model in which no policy keeps the limits.
func (s *search) columnsFor(x *mixture, costs bool) error {
	count := 0.0
	if costs {
		count = 1
	}
	a, err := s.natureTo(count, x.prices)
	if err != nil {
		return err
	}
	if !costs && a != nil {
		if _, err := s.planFor(a); err != nil || s.refuted != nil {
			return err
		}
	}
	weights := append([]float64{count}, x.prices...)
	dirs, shares := s.counting(weights)
	policies := []*exact.Policy{nil}
	for i, w := range x.weights {
		if w > 1e-9 {
			policies = append(policies, s.columns[i].policy)
		}
	}
	for _, p := range policies {
		var better *exact.Policy
		if p == nil { // a nil pointer would not be a nil policy
			better, err = s.dyn.improve(s.ctx, nil, dirs, shares)
		} else {
			better, err = s.dyn.improve(s.ctx, p, dirs, shares)
		}
		if err == nil {
			err = s.add(better)
		}
		if err == nil && p != nil && better != nil {
			err = s.addBetween(p, better)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addBetween adds the policy between two others: what is better to first order may go too far.
func (s *search) addBetween(p, other *exact.Policy) error {
	if s.opts.Deterministic || s.set.m.Average() {
		return nil
	}
	half, err := s.together([]exact.WeightedPolicy{{Weight: 0.5, Policy: p}, {Weight: 0.5, Policy: other}})
	if err != nil {
		return err
	}
	return s.add(half)
}

// counting returns the directions that count.
func (s *search) counting(weights []float64) (dirs [][]float64, shares []float64) {
	for j, w := range weights {
		if w > 0 && floats.Norm(s.dirs[j], 1) > 0 {
			dirs = append(dirs, s.dirs[j])
			shares = append(shares, w)
		}
	}
	if dirs == nil {
		return s.dirs[:1], []float64{1}
	}
	return dirs, shares
}
