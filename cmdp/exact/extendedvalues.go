package exact

import (
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
)

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
