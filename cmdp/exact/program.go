package exact

import (
	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
	"math"
	"slices"
)

// A program is what a task asks of returns, in numbers: a cost, the half-spaces of the target, the box that returns
// are measured by, and how exact an answer is to be.
type program struct {
	extendedValues
	lower, upper    []float64         // box around all returns that matter
	steps           []float64         // the largest magnitude of each return in a step, 0 where it is not known
	rows            []cmdp.Constraint // half-spaces of the target known in advance
	penalties       []float64         // at which rows may be broken, nil if they may not
	complete        bool              // rows are all of the target
	affine          bool              // a tangent of the cost is all of it
	acceptedGap     float64           // relative gap that counts as optimal, Options.Gap being aimed at
	targetTolerance float64           // distance from the target that counts as none
	absoluteGap     float64           // gap that counts as none
}

// tangent returns the tangent of the cost at x.
func (s *columnGeneration) tangent(x []float64) cut {
	c := cut{point: append([]float64(nil), x...), slope: make([]float64, len(x)), value: s.task.Cost.Value(x)}
	s.task.Cost.Subgradient(c.slope, x)
	return c
}

// violation returns the distance of v from the target, or a bound of it if the parts of
// the target show that it is within the tolerance: projections that iterate are slow and
// not as exact.
func (s *columnGeneration) violation(v []float64) float64 {
	v = s.finiteReturns(v)
	if parts, ok := s.task.Target.(geometry.Separator); ok {
		if way := s.distanceFromAnchor(parts, v); way <= 2*s.targetTolerance {
			return way
		}
	}
	return s.task.Violation(v)
}

// A targetTest is what a target asks of returns, and how exactly.
type targetTest struct {
	rows        []targetRow
	complete    bool    // they are all of the target
	feasibility float64 // by how much a row may be missed, in its own measure
	tolerance   float64 // by how much any other target may be
	extent      float64 // of the cost
}

// satisfied reports whether returns at a distance from the target meet it: each known half-space in its own measure,
// any other target by the distance.
func (d *targetTest) satisfied(v []float64, distance float64) bool {
	for _, t := range d.rows {
		excess := dot(t.Normal, v) - t.Offset
		if !(excess <= 2*d.feasibility*t.scale+8*roundoff*math.Abs(t.Offset)) {
			return false
		}
	}
	return d.complete || distance <= d.tolerance
}

// targetTest returns what the target asks for.
func (s *columnGeneration) targetTest() targetTest {
	return targetTest{s.master.rows[:len(s.rows):len(s.rows)], s.complete, s.opts.Feasibility, 2 * s.targetTolerance,
		s.master.extent}
}

// costAllowance is by how much the cost may grow while the policy is put together.
func (s *columnGeneration) costAllowance() float64 {
	if s.task.Cost == nil {
		return math.Inf(1)
	}
	return 0.25 * s.tolerance(s.acceptedGap)
}

// An extendedValues says what returns that do not end come to in a task.
type extendedValues struct {
	task      cmdp.Task
	relevance relevance
	limits    []cmdp.Constraint // those of the target that are known
}

func newExtendedValues(task cmdp.Task, c relevance) extendedValues {
	limits, _ := limitsOf(task)
	return extendedValues{task, c, limits}
}

// finiteReturns returns v in a form that costs and distances can be computed of. A total that does not end is
// replaced by 0 if it matters to nothing, and by a number that is just large enough for all limits if it is
// infinite where that is wanted. Any other one stays as it is.
func (a *extendedValues) finiteReturns(v []float64) []float64 {
	if !slices.ContainsFunc(v, func(x float64) bool { return !isFinite(x) }) || a.relevance.up == nil {
		return v
	}
	out := slices.Clone(v)
	for i, x := range v {
		up, down := a.relevance.up[i], a.relevance.down[i]
		if !isFinite(x) && (!up && !down || !down && math.IsInf(x, -1) || !up && math.IsInf(x, 1)) {
			out[i] = 0
		}
	}
	for i, x := range v {
		if isFinite(x) || out[i] != 0 {
			continue
		}
		for _, r := range a.limits {
			beyond := dot(r.Normal, out) - r.Offset
			if r.Normal[i] != 0 && beyond > 0 { // no limit holds it on the other side
				out[i] -= beyond / r.Normal[i]
			}
		}
		if a.task.Target != nil { // which may be cut with the box of all finite returns
			side := make([]float64, len(v))
			a.task.Target.MaximizeLinear(side, axis(len(v), i, 1))
			out[i] = math.Min(out[i], side[i])
			a.task.Target.MaximizeLinear(side, axis(len(v), i, -1))
			out[i] = math.Max(out[i], side[i])
		}
	}
	return out
}

// costOf returns the cost of the returns of a policy. It is infinite where a return is that the cost depends
// on, NaN where one is undefined.
func (a *extendedValues) costOf(v []float64) float64 {
	g, affine := a.task.Cost.(cost.Affine)
	for i, x := range v {
		switch {
		case isFinite(x) || a.relevance.up == nil:
		case affine && g.Gradient()[i] != 0:
			return dot(g.Gradient(), v)
		case !affine && (a.relevance.up[i] || a.relevance.down[i]):
			return math.Inf(1)
		}
	}
	return a.task.Cost.Value(a.finiteReturns(v))
}

// dot returns form·v, in which 0·∞ is 0: what does not matter to a form counts for nothing in it.
func dot(form, v []float64) float64 {
	sum := 0.0
	for i, x := range form {
		if x != 0 {
			sum += float64(x * v[i])
		}
	}
	return sum
}

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
