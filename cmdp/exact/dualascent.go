package exact

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
)

// What the ascent of the dual of a sum does. A level is raised above the best bound, and steps lead to where
// the bound would reach it if it were linear (Polyak 1969). After stalledAscents steps without a better bound
// the level falls by half of the way (variable target value method; Lim and Sherali 2006). Steps go along a
// mean of the subgradients so far, in which newestAscent is the share of the last one, as in the volume
// algorithm (Barahona and Anbil 2000).
const (
	mostAscents    = 400
	stalledAscents = 6
	newestAscent   = 0.3
	firstAscent    = 0.1  // the level above the first bound, relative to its size
	lastAscent     = 1e-8 // ends the ascent, likewise, or a tenth of the gap that is wanted
	knownPolicies  = 8    // of each part, from earlier tasks, make the ascent needless
	keptAscents    = 60   // policies of so many of the last steps become columns
)

// dualAscent finds multipliers of the rows near the best ones before there is a mixture, where parts of a sum have
// columns of their own and many rows are binding. To price all parts takes little time there beside a solution
// of the master, and the multipliers of a master with few columns say little: from them alone a hundred parts
// with 150 rows take twenty times as long. The policies that the last steps met become columns. What is found
// is only where column generation begins, which has half of the time of a budget at least.
func (s *columnGeneration) dualAscent() error {
	blocks := len(s.master.blocks)
	if blocks == 1 || s.penalties != nil || !s.complete || !s.affine || len(s.rows) == 0 ||
		len(s.master.columns) >= knownPolicies*blocks {
		return nil
	}
	a := &ascent{columnGeneration: s, cost: make([]float64, len(s.lower)), record: math.Inf(-1)}
	s.task.Cost.Subgradient(a.cost, a.cost)
	a.base = s.task.Cost.Value(make([]float64, len(s.lower)))
	n := len(s.rows)
	a.nu = make([]float64, n)
	a.best = make([]float64, n)
	a.mean = make([]float64, n)
	half := s.budget.half()
	for k := range min(mostAscents, s.opts.Iterations/2) {
		if k > 0 && half.over() {
			break
		}
		err := a.step(k == 0)
		if errors.Is(err, errBudget) { // what was found before may do
			break
		}
		if err != nil {
			return err
		}
		if a.level <= math.Max(lastAscent, 0.1*s.opts.Gap)*math.Abs(a.record) {
			break
		}
	}
	for _, p := range a.last {
		if _, err := s.addColumns(p.pricedPolicy, p.dir); err != nil {
			return err
		}
	}
	s.ascentMultipliers = a.best
	for k := range s.ascentMultipliers {
		s.ascentMultipliers[k] /= s.master.rows[k].scale
	}
	return nil
}

// ascent is the state of dualAscent. Multipliers are in the units of the rows of the master.
type ascent struct {
	*columnGeneration
	cost   []float64 // its gradient
	base   float64   // the cost of 0
	nu     []float64
	best   []float64 // those of the best bound
	record float64   // that bound, up to rounding
	level  float64   // by how much more is hoped for
	stall  int
	mean   []float64 // subgradient, averaged over the steps
	last   []ascentPolicy
}

// ascentPolicy is a policy with the direction that it was found in.
type ascentPolicy struct {
	pricedPolicy
	dir []float64
}

// step prices the multipliers and moves them.
func (a *ascent) step(first bool) error {
	dir := append([]float64(nil), a.cost...)
	support := 0.0
	for k, y := range a.nu {
		row := &a.master.rows[k]
		floats.AddScaled(dir, y/row.scale, row.Normal)
		support += y * (row.Offset / row.scale)
	}
	p, err := a.priceInTime(dir, 0)
	if err != nil {
		return err
	}
	a.iterations++
	if a.opts.Progress != nil {
		a.opts.Progress(a.iterations, a.record, math.Inf(1))
	}
	if len(a.last) == keptAscents {
		a.last = a.last[1:]
	}
	a.last = append(a.last, ascentPolicy{p, dir})
	share := newestAscent
	if first {
		share = 1
	}
	for k := range a.mean {
		row := &a.master.rows[k]
		excess := (floats.Dot(row.Normal, p.returns) - row.Offset) / row.scale
		a.mean[k] += share * (excess - a.mean[k])
	}
	a.move(p.value - support + a.base)
	return nil
}

// move takes a step from multipliers with the given bound.
func (a *ascent) move(bound float64) {
	if math.IsInf(a.record, -1) {
		a.level = firstAscent * math.Abs(bound)
	}
	if bound <= a.record+0.1*a.level {
		a.stall++
	} else {
		a.stall = 0
	}
	if bound > a.record {
		a.record = bound
		copy(a.best, a.nu)
	}
	if a.stall > stalledAscents {
		a.level /= 2
		a.stall = 0
		copy(a.nu, a.best)
	}
	size := floats.Dot(a.mean, a.mean)
	if size == 0 {
		return
	}
	length := math.Min(a.record+a.level-bound, 2*a.level) / size
	for k := range a.nu {
		a.nu[k] = math.Max(0, a.nu[k]+length*a.mean[k])
	}
}
