package exact

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/monitor"

	"gonum.org/v1/gonum/floats"
)

// FrontOptions say which trade-off curve is wanted and how exactly.
type FrontOptions struct {
	Options
	// Over holds the objectives c_k of the trade-off, at least one; c_k·V is to be
	// small. To maximise return i, take −1 at i.
	Over [][]float64
	// Error is the error to reach, relative to the range of each objective over the
	// curve. 0 stands for 1e-4. Curves with few vertices are found exactly anyway.
	Error float64
	// Absolute holds errors of the objectives in their own units, in the place of Error where they are above 0;
	// nil for none. Such an objective counts as if its range were its error divided by Error.
	Absolute []float64
	// Points bounds the number of weighted problems. 0 stands for 1000.
	Points int
	// Each, if not nil, is called with every new point. A curve begins anew where rows of epochs are stored after all.
	Each func(FrontPoint)
}

// A FrontPoint is a point of the trade-off curve: the policy that is best for the
// weights.
type FrontPoint struct {
	// Objectives holds c_k·V, Returns V itself.
	Objectives, Returns []float64
	Weights             []float64
	// Policy is nil before Recover has been called, and if one of Mixture is drawn at the start, see [Result].
	Policy  *Policy
	Mixture []WeightedPolicy
	Parts   []PartMixture         // of a sum
	Product *monitor.ProductModel // of the policy with memory, nil without
	// Mixed tells that the returns are those of a mixture of policies, of which Recover makes one; otherwise a
	// policy that never draws has them.
	Mixed bool

	lazy *lazyPolicy
}

// Recover sets Policy, Mixture and Product. To put a policy together takes as long as finding its point, so
// that it is made for those who ask, once: points that are copies of one another share it. Policies of points
// may be asked for concurrently; they wait for each other.
func (p *FrontPoint) Recover(ctx context.Context) error {
	if p.lazy == nil {
		return nil
	}
	r, err := p.lazy.result(ctx)
	if err == nil {
		p.Policy, p.Mixture, p.Parts, p.Product = r.Policy, r.Mixture, r.Parts, r.Product
	}
	return err
}

// lazyPolicy is the policy of a point, once it is made.
type lazyPolicy struct {
	mu    sync.Mutex
	make  func(context.Context) (*Result, error)
	known *Result
}

// result makes the policy, unless it is known.
func (m *lazyPolicy) result(ctx context.Context) (*Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known != nil {
		return m.known, nil
	}
	r, err := m.make(ctx)
	if err == nil {
		m.known, m.make = r, nil
	}
	return r, err
}

// A FrontResult is an approximation of the trade-off curve from both sides.
type FrontResult struct {
	// Status is Infeasible, with its Certificate, if no policy meets the target, and
	// Undecided if Error was not reached; Stopped if Options.Budget was over before it was.
	Status      Verdict
	Certificate *Certificate
	// Points are on the curve, or by a tenth of the error within it where models are so large that to be exact
	// takes longer, in the order of discovery; those of problems for which there was no time may be farther within it.
	// None dominates another. Mixtures of them approximate the curve from inside.
	Points []FrontPoint
	// Outer holds the half-spaces −w·y ≤ −b that contain all that can be reached, and
	// Corners the vertices of their intersection, which approximate it from outside.
	Outer   []cmdp.Constraint
	Corners [][]float64
	// Error certifies both: each corner, and so each point of the true curve, is within the Euclidean distance
	// Error of a mixture of Points or of something that such a mixture dominates. Relative is the same as a
	// fraction of the range of each objective over Points. A range that is too small for the error asked for,
	// because of Rounding, counts as the least range that is not. Beside FrontOptions.Absolute that holds for the
	// other objectives alone, and Relative is NaN if more than rounding is missed in one whose range is rounding.
	Error, Relative float64
	// Rounding is the rounding error of each objective: values that are closer count
	// as the same.
	Rounding []float64
	// Iterations counts the value iterations.
	Iterations int
}

func (o FrontOptions) withDefaults(dim int) (FrontOptions, error) {
	if o.JoinGap == 0 { // points of the curve are as exact as without classes to join
		o.JoinGap = max(o.Gap, defaultGap)
	}
	var err error
	o.Options, err = o.Options.withDefaults()
	if err != nil {
		return o, err
	}
	if len(o.Over) == 0 {
		return o, errors.New("exact: front: no objectives: want at least one")
	}
	for k, c := range o.Over {
		if err := (cmdp.Constraint{Normal: c}).Check(dim); err != nil {
			return o, fmt.Errorf("exact: front: objective %d: %w", k, err)
		}
	}
	if !(o.Error >= 0 && o.Error < 1) || o.Points < 0 {
		return o, fmt.Errorf("exact: front: error %g with %d points: want 0 for the default, or an error below 1",
			o.Error, o.Points)
	}
	if len(o.Absolute) > 0 && len(o.Absolute) != len(o.Over) {
		return o, fmt.Errorf("exact: front: %d absolute errors of %d objectives: want one of each", len(o.Absolute),
			len(o.Over))
	}
	for k, x := range o.Absolute {
		if !(x >= 0) || math.IsInf(x, 1) {
			return o, fmt.Errorf("exact: front: absolute error %g of objective %d: want a finite number, at least 0", x,
				k)
		}
	}
	if o.Error == 0 {
		o.Error = 1e-4
	}
	if o.Points == 0 {
		o.Points = 1000
	}
	return o, nil
}

// Front computes the trade-off curve between several returns over all policies whose returns lie in the
// target of the task. The cost of the task does not matter. The method is outer approximation (Benson
// 1998) with a weighted problem as its step: each corner of the outer set is compared with the mixtures
// of the points found, and the farthest one gives the weights of the next problem. That finds a point,
// cuts the corner off, or both.
func Front(ctx context.Context, m *cmdp.Model, task cmdp.Task, opts FrontOptions) (*FrontResult, error) {
	p, err := NewPlanner(m, opts.Workers)
	if err != nil {
		return nil, err
	}
	return p.Front(ctx, task, opts)
}

// Front is the function [Front] for this planner, with the same errors. Other calls have their turn between weighted
// problems that are not solved together.
func (p *Planner) Front(ctx context.Context, task cmdp.Task, opts FrontOptions) (*FrontResult, error) {
	r, err := orWithRows(ctx, p, opts.Options, func(p *Planner, of Options) (*FrontResult, error) {
		opts.Options = of
		return p.front(ctx, task, opts)
	})
	if errors.Is(err, errBudget) {
		return (&front{opts: opts}).stopped(), nil
	}
	return r, err
}

func (p *Planner) front(ctx context.Context, task cmdp.Task, opts FrontOptions) (*FrontResult, error) {
	task.Cost = nil
	if err := p.check(task); err != nil {
		return nil, err
	}
	opts, err := opts.withDefaults(p.dim())
	if err != nil {
		return nil, err
	}
	c := relevanceOf(p.dim(), task, opts.Over...)
	whole := opts.Options.begun()
	within, done := whole.whilePreparing(ctx)
	defer done()
	opts.Budget, opts.deadline = 0, time.Time{} // policies are asked for later
	f := &front{ctx: within, whole: ctx, budget: newBudget(whole), planner: p, relevance: c, task: task, opts: opts}
	r, err := f.run()
	if ctx.Err() == nil && (errors.Is(err, errBudget) ||
		f.ctx.Err() != nil && (err == nil || errors.Is(err, context.DeadlineExceeded))) {
		return f.stopped(), nil
	}
	if err != nil || r.Status != Infeasible {
		return r, err
	}
	limits, err := p.withoutCost(ctx, task, c, whole, &Result{Status: Infeasible, Certificate: r.Certificate})
	if err == nil {
		r.Status, r.Certificate = limits.Status, limits.Certificate
	}
	return r, err
}

// front is the state of one computation.
type front struct {
	ctx       context.Context // ends with the time of the budget
	whole     context.Context // of who asks
	budget    *budget         // nil for any time
	cutShort  bool            // the last weighted problem was
	planner   *Planner
	relevance relevance
	task      cmdp.Task // without a cost
	opts      FrontOptions

	columns         []column // of all weighted problems
	outer           *outerPolyhedron
	result          FrontResult
	gaps            []float64           // of the weighted problems, in the order of the points
	missed          float64             // distance of the farthest corner in units of the scale
	targetMissed    bool                // a point misses the target
	efficient       [][]float64         // objectives of the points that no other one equals or improves on
	compared        int                 // points that efficient is made of
	repeated        int                 // those of them that are equal to others
	least           []float64           // value of each objective over these
	scale           []float64           // its range over them, as far as that is more than rounding
	nearOneDiscount bool                // the discount magnifies rounding
	steps           []float64           // the largest magnitudes of each return in a step, nil if they are not known
	simultaneous    *simultaneousPricer // nil before it is made, or if each direction is priced by itself
}

func (f *front) run() (*FrontResult, error) {
	p := len(f.opts.Over)
	f.outer = newOuterPolyhedron(p)
	axes := make([][]float64, p)
	for k := range axes {
		axes[k] = axis(p, k, 1)
	}
	if done, err := f.solveWeights(axes); done || err != nil {
		return &f.result, err
	}
	f.rescale()
	f.missed, f.result.Relative, f.result.Error = math.Inf(1), math.Inf(1), math.Inf(1)
	for {
		most := max(1, min(f.simultaneous.most(), f.opts.Points-len(f.result.Points)))
		corners, err := f.farthestCorners(most)
		if err != nil {
			return nil, err
		}
		f.missed = 0
		if len(corners) > 0 {
			f.missed = corners[0].distance
		}
		f.setErrors()
		if len(corners) == 0 || f.missed <= f.opts.Error || len(f.result.Points) >= f.opts.Points {
			return f.finish(), nil
		}
		if f.cutShort && f.budget.over() {
			return nil, errBudget
		}
		weights := f.nextWeights(corners, max(len(corners), min(most, f.simultaneous.inOnePass())))
		// What the problem leaves open tells whether it moved corner or points.
		open := f.missed * floats.Dot(weights[0], f.scale)
		before := len(f.gaps)
		if done, err := f.solveWeights(weights); done || err != nil {
			return &f.result, err
		}
		if f.gaps[before] >= 0.99*open && !f.cutShort {
			return f.finish(), nil
		}
		f.rescale()
	}
}

// stopped returns what is known when the time is over: the points so far, whose error is certified as ever, unless the
// best one of some objective is not known.
func (f *front) stopped() *FrontResult {
	if f.scale == nil {
		r := &FrontResult{Status: Stopped, Iterations: f.result.Iterations, Error: math.Inf(1), Relative: math.Inf(1),
			Rounding: make([]float64, len(f.opts.Over))}
		if len(f.result.Points) > 0 && !f.targetMissed {
			f.rescale()
			r.Rounding, r.Points, r.Outer = f.result.Rounding, f.undominated(), f.result.Outer
		}
		return r
	}
	r := f.finish()
	if r.Status == Undecided && !f.targetMissed {
		r.Status = Stopped
	}
	return r
}

// finish sets what is known at the end.
func (f *front) finish() *FrontResult {
	f.result.Status = Optimal
	if !(f.missed <= f.opts.Error) || f.targetMissed {
		f.result.Status = Undecided
	}
	f.result.Corners = f.outer.corners()
	f.result.Points = f.undominated()
	return &f.result
}

// solveWeights solves the problems with the given weights of the objectives, several at once where the pricer can.
func (f *front) solveWeights(weights [][]float64) (done bool, err error) {
	for len(weights) > 0 {
		var found []*supportingPoint
		err := f.planner.withPricer(f.ctx, f.relevance, f.opts.Options, func(q pricer) (err error) {
			t := q.traits()
			f.nearOneDiscount, f.steps = t.magnified != nil, t.cancelling
			if f.steps == nil {
				f.steps = t.steps
			}
			found, err = f.solveFirst(q, weights)
			return err
		})
		for _, w := range found {
			if w.endless() {
				f.result.Status, f.result.Certificate = w.Status, w.Certificate
				return true, nil
			}
			f.add(w)
		}
		weights = weights[min(len(found), len(weights)):]
		var lost *unreachableStatesError
		switch {
		case errors.As(err, &lost):
			f.relevance, f.columns, f.simultaneous = f.relevance.leavingOut(lost.states), nil, nil
		case err != nil:
			return false, err
		}
	}
	return false, nil
}

// accuracy returns how far a weighted problem may stay from its optimum: a small part of the error asked for, or 0
// before ranges are known.
func (f *front) accuracy(weights []float64) float64 {
	const part = 0.1
	if f.scale == nil {
		return 0
	}
	return part * f.opts.Error * floats.Dot(weights, f.scale)
}

// add keeps the point and the half-space that a weighted problem has found.
func (f *front) add(r *supportingPoint) {
	point := FrontPoint{Returns: r.Returns, Weights: r.weights, Mixed: r.mixed, lazy: r.policy}
	for _, c := range f.opts.Over {
		point.Objectives = append(point.Objectives, dot(c, r.Returns))
	}
	f.result.Points = append(f.result.Points, point)
	f.gaps = append(f.gaps, r.Gap)
	f.targetMissed = f.targetMissed || r.Status == Undecided && r.Violation > r.Tolerance
	f.result.Outer = append(f.result.Outer, cmdp.Constraint{Normal: scaled(-1, r.weights), Offset: -r.Bound})
	f.outer.cut(r.weights, r.Bound)
	if f.opts.Each != nil {
		f.opts.Each(point)
	}
}

// rescale measures the objectives by their ranges over the efficient points. If the error asked
// for is less than rounding in some range, the range counts as large enough. This
// happens to an objective that conflicts with no other, or that a limit holds fast.
func (f *front) rescale() {
	old, before := f.scale, f.result.Rounding
	f.estimateRounding()
	f.compare(before)
	f.scale, f.least = make([]float64, len(f.opts.Over)), make([]float64, len(f.opts.Over))
	for k := range f.scale {
		least, most := f.objectiveRange(k)
		f.least[k], f.scale[k] = least, most-least
		if len(f.opts.Absolute) > 0 && f.opts.Absolute[k] > 0 {
			f.scale[k] = f.opts.Absolute[k] / f.opts.Error
		}
		f.scale[k] = math.Max(f.scale[k], f.result.Rounding[k]/f.opts.Error)
		if f.scale[k] == 0 {
			f.scale[k] = 1
		}
		if old != nil && f.scale[k] < old[k] {
			f.outer.resetDistances() // distances in the new scale are larger
		}
	}
}

// objectiveRange returns the least and the greatest value of an objective over the efficient points: the best one of
// another objective alone may have any value of this one.
func (f *front) objectiveRange(k int) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, z := range f.efficient {
		least, most = min(least, z[k]), max(most, z[k])
	}
	return least, most
}

// estimateRounding estimates the rounding of the objectives. The gaps that the weighted problems have left count as
// rounding of what they weigh, unless they are larger than a solved problem may leave. They are shared out by the
// magnitudes of the objectives over all policies found. Points alone do not tell it: a limit of 0 that binds leaves
// nothing but rounding of an objective, and so does an objective that every policy found has 0 of.
func (f *front) estimateRounding() {
	least, cancelled, most := 64*roundoff, 1e-12, 1e-9
	if m := f.planner.m; m != nil { // long episodes add up the rounding of their steps
		cancelled = math.Max(cancelled, least*float64(m.Horizon()))
	}
	if f.nearOneDiscount { // see columnGeneration.tolerance
		least, most = 1e-12, 1e-6
	}
	size, step := make([]float64, len(f.opts.Over)), make([]float64, len(f.opts.Over))
	for k, c := range f.opts.Over {
		for i, x := range f.steps {
			step[k] += math.Abs(c[i]) * x
		}
		size[k] = roundoff * step[k]
		for _, o := range f.columns {
			sum := 0.0
			for i, x := range c {
				sum += math.Abs(x * o.returns[i])
			}
			size[k] = max(size[k], sum)
		}
	}
	f.result.Rounding = scaled(least, size)
	for j, gap := range f.gaps {
		w := f.result.Points[j].Weights
		for k, all := 0, floats.Dot(w, size); k < len(w) && all > 0; k++ {
			if w[k] > 0 {
				x := min(4*gap*size[k]/all, max(most*size[k], cancelled*step[k]))
				f.result.Rounding[k] = max(f.result.Rounding[k], x)
			}
		}
	}
}

// compare keeps the points that no other one equals or improves on in all objectives, up to rounding. before is the
// rounding at which those known so far were compared.
func (f *front) compare(before []float64) {
	if !slices.Equal(before, f.result.Rounding) {
		f.efficient, f.compared, f.repeated = nil, 0, 0
	}
	asGood := func(a, b []float64) bool {
		for k, x := range a {
			if !(x <= b[k]+f.result.Rounding[k]) {
				return false
			}
		}
		return true
	}
	for _, p := range f.result.Points[f.compared:] {
		i := slices.IndexFunc(f.efficient, func(z []float64) bool { return asGood(z, p.Objectives) })
		if i >= 0 {
			if asGood(p.Objectives, f.efficient[i]) {
				f.repeated++
			}
			continue
		}
		f.efficient = slices.DeleteFunc(f.efficient, func(z []float64) bool { return asGood(p.Objectives, z) })
		f.efficient = append(f.efficient, p.Objectives)
	}
	f.compared = len(f.result.Points)
}

// undominated returns the points that no other one equals or improves on in all
// objectives, up to rounding.
func (f *front) undominated() []FrontPoint {
	slack := make([]float64, len(f.opts.Over))
	for k := range slack {
		least, most := f.objectiveRange(k)
		slack[k] = 1e-9*(most-least) + f.result.Rounding[k]
	}
	var out []FrontPoint
	for i, p := range f.result.Points {
		beaten := false
		for j, q := range f.result.Points {
			better, equal := true, true
			for k, x := range p.Objectives {
				better = better && q.Objectives[k] <= x+slack[k]
				equal = equal && math.Abs(q.Objectives[k]-x) <= slack[k]
			}
			beaten = beaten || better && i != j && (!equal || j < i)
		}
		if !beaten {
			out = append(out, p)
		}
	}
	return out
}
