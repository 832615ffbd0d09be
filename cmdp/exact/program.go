package exact

import (
	"context"
	"fmt"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// A program is what a task asks of returns, in numbers: a cost, the half-spaces of the target, the box that returns
// are measured by, and how exact an answer is to be.
type program struct {
	extendedValues
	opts            Options
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

// newProgram returns the program of a task, measured by what a pricing problem knows of returns.
func newProgram(ctx context.Context, p pricingProblem, task cmdp.Task, opts Options) (program, error) {
	d, traits := p.dim(), p.traits()
	s := program{extendedValues: extendedValues{task: task}, opts: opts, acceptedGap: opts.Gap, steps: traits.steps}
	if traits.relevance != nil {
		s.extendedValues = newExtendedValues(task, *traits.relevance)
	}
	s.lower, s.upper = make([]float64, d), make([]float64, d)
	if traits.unboundedTotals && task.Box != nil {
		task.Box.Bounds(s.lower, s.upper)
	} else if err := p.extent(ctx, s.lower, s.upper); err != nil {
		return program{}, err
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
	if traits.infiniteHorizon {
		CutBox(s.lower, s.upper, task.Target)
	}
	goal, affine := task.Cost.(cost.Affine)
	s.affine = affine
	if affine && traits.cancelling != nil {
		s.absoluteGap = 64 * roundoff * width(goal.Gradient(), traits.cancelling)
	}
	if opts.Gap == 0 {
		s.opts.Gap, s.acceptedGap = defaultSmoothGap, smoothGap
		if s.complete && (s.affine || task.Cost == nil) {
			s.opts.Gap, s.acceptedGap = defaultGap, defaultGap
		}
	}
	if s.steps == nil {
		s.steps = make([]float64, d)
	}
	return s, nil
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

// roomForPolicy is the share of the gap that putting the policy together may take.
const roomForPolicy = 0.25

// leaveRoom aims at a mixture that leaves the policy its share of a gap that was asked for, where mixtures are made
// narrower at a cost. That of the least gap is nothing but rounding.
func (s *program) leaveRoom() {
	if s.opts.Gap == s.acceptedGap && s.opts.Gap > defaultGap {
		s.opts.Gap *= 1 - roomForPolicy
	}
}

// costAllowance is by how much the cost may grow while the policy is put together.
func (s *columnGeneration) costAllowance() float64 {
	if s.task.Cost == nil {
		return math.Inf(1)
	}
	return roomForPolicy * s.tolerance(s.acceptedGap)
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
		case affine:
			return dot(g.Gradient(), v) + g.Offset()
		case !affine && (a.relevance.up[i] || a.relevance.down[i]):
			return math.Inf(1)
		}
	}
	return a.task.Cost.Value(a.finiteReturns(v))
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

// A relevance says which returns matter, and on which side: up where large values may be
// unwanted, down where small ones may be. Totals may be infinite where that is no harm. without
// holds the states, in order, that no policy comes to which keeps the limits.
type relevance struct {
	up, down []bool
	without  []int32
}

// relevanceOf returns what matters to a task. A cost or a target that is not known to be
// made of half-spaces may depend on any of them, on either side.
func relevanceOf(dim int, task cmdp.Task, forms ...[]float64) relevance {
	c := noneRelevant(dim)
	switch g := task.Cost.(type) {
	case nil:
	case cost.Affine:
		c.add(g.Gradient())
	default:
		return allRelevant(dim)
	}
	for _, f := range forms {
		c.add(f)
	}
	limits, ok := limitsOf(task)
	if !ok {
		return allRelevant(dim)
	}
	for _, r := range limits {
		c.add(r.Normal)
	}
	return c
}

// limitsOf returns the half-spaces that a target was made of before it was cut with the box of all returns,
// which nobody asked for. ok is false if they are not known.
func limitsOf(task cmdp.Task) (limits []cmdp.Constraint, ok bool) {
	target := task.Whole
	if target == nil && task.Target != nil {
		target = task.Target
	}
	if target == nil {
		return task.Constraints, true
	}
	p, ok := target.(geometry.Polyhedral)
	if !ok {
		return nil, false
	}
	rows, ok := p.Rows()
	if !ok {
		return nil, false
	}
	for k, n := range rows.A {
		if math.Abs(rows.B[k]) < Boundless*floats.Norm(n, 2) {
			limits = append(limits, cmdp.Constraint{Normal: n, Offset: rows.B[k]})
			if k < rows.Equalities {
				limits = append(limits, cmdp.Constraint{Normal: scaled(-1, n), Offset: -rows.B[k]})
			}
		}
	}
	return limits, true
}

func allRelevant(dim int) relevance {
	c := noneRelevant(dim)
	for i := range dim {
		c.up[i], c.down[i] = true, true
	}
	return c
}

// noneRelevant is the relevance of a task to which nothing matters.
func noneRelevant(dim int) relevance {
	return relevance{up: make([]bool, dim), down: make([]bool, dim)}
}

func (c relevance) equal(d relevance) bool {
	return slices.Equal(c.up, d.up) && slices.Equal(c.down, d.down) && slices.Equal(c.without, d.without)
}

// leavingOut returns the relevance that leaves out more states.
func (c relevance) leavingOut(states []int32) relevance {
	c.without = slices.Concat(c.without, states)
	slices.Sort(c.without)
	c.without = slices.Compact(c.without)
	return c
}

// leftOut returns the states that are left out, nil for none.
func (c relevance) leftOut() []int {
	var out []int
	for _, s := range c.without {
		out = append(out, int(s))
	}
	return out
}

// irrelevant returns the numbers of the returns that matter on neither side.
func (c relevance) irrelevant() (axes []int) {
	for i := range c.up {
		if !c.up[i] && !c.down[i] {
			axes = append(axes, i)
		}
	}
	return axes
}

// unwanted returns the number of the first of some returns that matters and is unwanted, −1 without one. Those of m
// that are long-run means are no matter; nil stands for a model without.
func (c *relevance) unwanted(m *cmdp.Model, returns []float64) int {
	for i, r := range returns {
		if (r > 0 && c.up[i] || r < 0 && c.down[i]) && (m == nil || !m.Mean(i)) {
			return i
		}
	}
	return -1
}

// add adds that large values of form·v may be unwanted.
func (c relevance) add(form []float64) {
	for i, x := range form {
		c.up[i] = c.up[i] || x > 0
		c.down[i] = c.down[i] || x < 0
	}
}

// checkContains returns an error if the target does not lie in the half-space.
func checkContains(target geometry.Compact, h cmdp.Constraint) error {
	if target == nil {
		return fmt.Errorf("a half-space without a target")
	}
	at, size := make([]float64, len(h.Normal)), math.Abs(h.Offset)
	target.MaximizeLinear(at, h.Normal)
	for i, x := range at {
		size += math.Abs(h.Normal[i] * x) // that of the support may be 0, where these cancel out
	}
	support := floats.Dot(h.Normal, at)
	if support <= h.Offset+1e-9*size {
		return nil
	}
	far := 0.0 // corners may be rounded as the farthest is, in any coordinate
	for i := range at {
		for _, sign := range []float64{1, -1} {
			target.MaximizeLinear(at, axis(len(at), i, sign))
			if x := math.Abs(at[i]); x < Boundless || h.Normal[i] != 0 {
				far = max(far, x)
			}
		}
	}
	if support > h.Offset+16*roundoff*floats.Norm(h.Normal, math.Inf(1))*far {
		return fmt.Errorf("the target reaches to %g in its direction: want an offset of at least that, not %g", support,
			h.Offset)
	}
	return nil
}
