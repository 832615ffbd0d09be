package exact

import (
	"context"
	"fmt"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle"
	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// Points is a compact convex set that is known by its least points, such as the returns
// that a learner's estimate makes possible.
type Points interface {
	// Dim returns the dimension d of the points.
	Dim() int
	// Extent sets lower and upper, of length d, to the sides of a box around the set.
	Extent(lower, upper []float64)
	// Least returns a point with the least dir·point and keeps under the number, which
	// counts from 0 in every solve, how it came about. The point is valid until the
	// number is used again.
	Least(number int, dir []float64) []float64
}

// A Mixer minimises a cost over the points of a set that lie in a target, by the same column
// generation as [Solve]. It is for a set that changes a little from call to call: it starts
// from the directions of the last answer. It gives no certificates. With a linear cost and
// linear constraints its programs are solved as [lp.Mixture], which takes microseconds. A
// Mixer must not be used concurrently.
type Mixer struct {
	// Warm is what the next Solve starts from. It is all that there is to save.
	Warm Warm
	// Numbers and Weights are the mixture that the last feasible Solve found, Point is its
	// point and Value its cost.
	Numbers []int
	Weights []float64
	Point   []float64
	Value   float64

	points  Points
	linear  bool
	goal    []float64 // of a linear program; the cost is scale·goal·v + offset
	rows    []cmdp.Constraint
	scale   float64
	offset  float64
	task    cmdp.Task // of any other
	small   lp.Mixture
	limits  []float64
	columns []mixerColumn // of this solve
	dir     []float64
	size    float64
}

// Warm is what a [Mixer] keeps from one answer to the next.
type Warm struct {
	// Directions are those of the points of the last mixture.
	Directions [][]float64
	// Ray holds the multipliers of the rows that proved the last program infeasible.
	Ray []float64
	// Tangents are the points of those tangents of a curved cost that supported the last
	// answer, and Normals the normals of those half-spaces of a curved target that did.
	Tangents, Normals [][]float64
}

// A mixerColumn is a column of a linear program.
type mixerColumn struct {
	dir, point []float64
	coef       []float64 // its cost, and what it has of the rows
	low        float64   // dir·point
}

// mixerTolerance is how far points may miss the constraints and the optimum, relative to
// the largest of them, and mostSteps bounds the directions asked in one solve.
const (
	mixerTolerance  = 1e-9
	curvedTolerance = 1e-8
	mostSteps       = 500
)

// NewLinearMixer returns a Mixer for min goal·v over the points v with normal·v ≤ offset for
// every row. It keeps goal and rows, whose offsets may change between solves.
func NewLinearMixer(points Points, goal []float64, rows []cmdp.Constraint) *Mixer {
	return &Mixer{points: points, linear: true, goal: goal, rows: rows, scale: 1,
		dir: make([]float64, len(goal)), Point: make([]float64, len(goal))}
}

// NewMixer returns a Mixer for a task over points in the units of the task. With an affine
// cost and a polyhedral target it is linear, constraints and cost being measured by how much
// they vary over the box [lower, upper]. It panics without points.
func NewMixer(points Points, task cmdp.Task, lower, upper []float64) *Mixer {
	if points == nil {
		panic("exact: mixer without points")
	}
	x := &Mixer{points: points, task: task, Point: make([]float64, points.Dim())}
	rows, complete := task.LinearConstraints(lower, upper)
	line, affine := task.Cost.(cost.Affine)
	if !complete || !affine && task.Cost != nil {
		return x
	}
	extent := minus(upper, lower)
	linear := NewLinearMixer(points, make([]float64, points.Dim()), nil)
	for _, r := range rows {
		size := width(r.Normal, extent)
		linear.rows = append(linear.rows, cmdp.Constraint{Normal: scaled(1/size, r.Normal), Offset: r.Offset / size})
	}
	if affine {
		linear.scale = width(line.Gradient(), extent)
		if linear.scale == 0 {
			linear.scale = 1 // a constant cost
		}
		linear.goal, linear.offset = scaled(1/linear.scale, line.Gradient()), line.Offset()
	}
	return linear
}

// Solve reports whether some point lies in the target, and then leaves the best mixture in
// x. An error is numerical trouble, or that of ctx.
func (x *Mixer) Solve(ctx context.Context) (feasible bool, err error) {
	if !x.linear {
		return x.solve(ctx, x.task, nil)
	}
	if feasible, ok := x.solveLinear(ctx); ok {
		return feasible, nil
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return x.solveInGeneral(ctx)
}

// solveInGeneral solves a linear program that the small master failed at by rounding.
func (x *Mixer) solveInGeneral(ctx context.Context) (feasible bool, err error) {
	lower, upper := make([]float64, len(x.goal)), make([]float64, len(x.goal))
	x.points.Extent(lower, upper)
	box, err := geometry.NewBox(lower, upper)
	if err != nil {
		return false, fmt.Errorf("exact: points without an extent: %w", err)
	}
	goal, err := cost.NewLinear(x.goal, box)
	if err != nil {
		return false, fmt.Errorf("exact: %w", err)
	}
	feasible, err = x.solve(ctx, cmdp.Task{Cost: goal}, x.rows)
	if feasible {
		x.Value = x.scale*x.Value + x.offset
	}
	return feasible, err
}

// solveLinear solves a linear program on the small master. ok is false, and nothing is
// decided, where the master fails by rounding, and when ctx ends.
func (x *Mixer) solveLinear(ctx context.Context) (feasible, ok bool) {
	x.columns, x.size, x.limits = x.columns[:0], 0, x.limits[:0]
	for _, r := range x.rows {
		x.limits = append(x.limits, r.Offset)
	}
	x.small.Reset(x.limits)
	if x.provedInfeasible() {
		return false, true
	}
	for _, dir := range x.Warm.Directions {
		x.addLeastPoint(dir)
	}
	if len(x.columns) == 0 {
		x.addLeastPoint(x.goal)
	}
	for range mostSteps {
		excess, ok := x.small.Solve(x.tolerance())
		if !ok || ctx.Err() != nil {
			return false, false
		}
		infeasible := excess > x.tolerance() // here, for new columns may widen the tolerance
		bound, found := x.setDirection(infeasible)
		low, added := x.priceDirection()
		switch {
		case infeasible && (low > bound+x.tolerance() || !added):
			x.Warm.Ray = append(x.Warm.Ray[:0], x.small.Prices()[1:]...)
			return false, true
		case !infeasible && (low-bound >= found-x.tolerance() || !added):
			x.takeMixture(found)
			return true, true
		}
	}
	return false, false
}

func (x *Mixer) tolerance() float64 { return mixerTolerance * (1 + x.size) }

// provedInfeasible reports whether the multipliers that proved the last program infeasible prove
// it of this one. Otherwise their column is in the master, and they are forgotten.
func (x *Mixer) provedInfeasible() bool {
	if len(x.Warm.Ray) == 0 {
		return false
	}
	clear(x.dir)
	bound := 0.0
	for i, y := range x.Warm.Ray {
		y = max(0, -y)
		if y > 0 {
			floats.AddScaled(x.dir, y, x.rows[i].Normal)
			bound += y * x.limits[i]
		}
	}
	x.addLeastPoint(x.dir)
	if x.columns[0].low > bound+x.tolerance() {
		return true
	}
	x.Warm.Ray = x.Warm.Ray[:0]
	return false
}

// addLeastPoint asks for the least point in a direction and adds its column to the master, unless
// it is there.
func (x *Mixer) addLeastPoint(dir []float64) (low float64, added bool) {
	n := len(x.columns)
	if n == cap(x.columns) {
		x.columns = slices.Grow(x.columns, 1)
	}
	x.columns = x.columns[:n+1]
	c := &x.columns[n]
	c.dir = append(c.dir[:0], dir...)
	c.point = x.points.Least(n, dir)
	c.low = floats.Dot(dir, c.point)
	c.coef = append(c.coef[:0], floats.Dot(x.goal, c.point))
	for _, r := range x.rows {
		c.coef = append(c.coef, floats.Dot(r.Normal, c.point))
	}
	for _, v := range c.coef {
		v = math.Abs(v)
		if v > x.size {
			x.size = v
		}
	}
	for i := range n {
		if equalWithin(x.columns[i].coef, c.coef, 1e-13*(1+x.size)) {
			low, x.columns = c.low, x.columns[:n]
			return low, false
		}
	}
	x.small.Add(c.coef[0], c.coef[1:])
	return c.low, true
}

// equalWithin reports whether no entries differ by more than tol.
func equalWithin(a, b []float64, tol float64) bool {
	for i, v := range a {
		if !(math.Abs(v-b[i]) <= tol) {
			return false
		}
	}
	return true
}

// setDirection sets the direction to that of the master's prices, which are those of its first
// phase if it is infeasible. It returns what the prices charge for the limits, and the
// cost of the mixture.
func (x *Mixer) setDirection(infeasible bool) (bound, cost float64) {
	clear(x.dir)
	if !infeasible {
		copy(x.dir, x.goal)
	}
	prices := x.small.Prices()
	cost = prices[0]
	for i, b := range x.limits {
		if y := max(0, -prices[i+1]); y > 0 {
			floats.AddScaled(x.dir, y, x.rows[i].Normal)
			bound += y * b
		}
	}
	return bound, cost - bound
}

// priceDirection returns the least value in the direction, and reports whether its column is new. A
// direction that was asked before in this solve is not asked again.
func (x *Mixer) priceDirection() (low float64, added bool) {
	for _, c := range x.columns {
		if slices.Equal(c.dir, x.dir) {
			return c.low, false
		}
	}
	return x.addLeastPoint(x.dir)
}

// takeMixture takes the mixture from the master.
func (x *Mixer) takeMixture(cost float64) {
	x.reset(x.scale*cost + x.offset)
	for j, w := range x.small.Weights() {
		if w != 0 {
			x.addPoint(j, w, x.columns[j].dir, x.columns[j].point)
		}
	}
}

// reset forgets the last mixture.
func (x *Mixer) reset(cost float64) {
	x.Value, x.Numbers, x.Weights = cost, x.Numbers[:0], x.Weights[:0]
	x.Warm.Directions = x.Warm.Directions[:0]
	clear(x.Point)
}

// addPoint adds a point to the mixture.
func (x *Mixer) addPoint(number int, weight float64, dir, point []float64) {
	floats.AddScaled(x.Point, weight, point)
	if weight > 1e-12 {
		x.Numbers, x.Weights = append(x.Numbers, number), append(x.Weights, weight)
		x.Warm.Directions = append(x.Warm.Directions, slices.Clone(dir))
	}
}

// pointPricing is the pricing problem of a Mixer.
type pointPricing struct {
	Points
	next int
}

func (n *pointPricing) dim() int { return n.Dim() }

func (n *pointPricing) extent(_ context.Context, lower, upper []float64) error {
	n.Extent(lower, upper)
	return nil
}

func (n *pointPricing) traits() traits { return traits{uncertified: true} }

func (n *pointPricing) price(ctx context.Context, dir []float64, _ float64) (pricedPolicy, error) {
	if err := ctx.Err(); err != nil {
		return pricedPolicy{}, err
	}
	point := n.Least(n.next, dir)
	n.next++
	size := floats.Norm(point, 1) * floats.Norm(dir, 1)
	return pricedPolicy{returns: point, value: floats.Dot(dir, point), margin: 1e-13 * size, number: n.next - 1}, nil
}

func (n *pointPricing) recheck(ctx context.Context, dir []float64) (value, margin float64, err error) {
	p, err := n.price(ctx, dir, 0)
	return p.value, p.margin, err
}

// solve is Solve by the column generation of package exact, rows being known beside
// those of the target.
func (x *Mixer) solve(ctx context.Context, task cmdp.Task, rows []cmdp.Constraint) (feasible bool, err error) {
	opts, err := Options{Gap: curvedTolerance, Feasibility: curvedTolerance, Iterations: mostSteps}.withDefaults()
	if err != nil {
		return false, err
	}
	points := &pointPricing{Points: x.points}
	wanted, err := newProgram(ctx, points, task, opts)
	if err != nil {
		return false, err
	}
	if rows != nil {
		wanted.rows, wanted.complete = rows, true
	}
	s, err := newColumnGeneration(ctx, points, wanted)
	if err != nil {
		return false, err
	}
	s.compositeWeight = 0 // a direction costs nothing here, and points of many directions lie nearer to the best one
	if err := s.warmStart(&x.Warm); err != nil {
		return false, err
	}
	verdict, err := s.phase1()
	if err == nil && verdict == Optimal && task.Cost != nil {
		verdict, err = s.phase2()
	}
	if err != nil || verdict != Optimal {
		return false, err
	}
	x.reset(s.incumbent.cost)
	for j, w := range s.incumbent.lambda {
		if c := s.master.columns[j]; w != 0 {
			x.addPoint(c.number, w, c.dir, c.returns)
		}
	}
	s.saveWarm(&x.Warm)
	return true, nil
}

// warmStart is initialize with what supported the last answer.
func (s *columnGeneration) warmStart(w *Warm) error {
	s.directions = w.Directions
	if err := s.initialize(); err != nil {
		return err
	}
	for _, x := range w.Tangents {
		if err := s.master.addCut(s.tangent(x)); err != nil {
			return err
		}
	}
	for _, n := range w.Normals {
		if err := s.master.addTarget(cmdp.Constraint{Normal: n, Offset: oracle.Support(s.task.Target, n)}); err != nil {
			return err
		}
	}
	return nil
}

// saveWarm notes what supports the answer: the tangents and half-spaces that are not known
// from the start.
func (s *columnGeneration) saveWarm(w *Warm) {
	w.Tangents, w.Normals = w.Tangents[:0], w.Normals[:0]
	for i, y := range s.bound.mu {
		if y > 0 && !s.affine {
			w.Tangents = append(w.Tangents, s.master.cuts[i].point)
		}
	}
	for k, y := range s.bound.nu {
		if y > 0 && k >= len(s.rows) {
			w.Normals = append(w.Normals, s.master.rows[k].Normal)
		}
	}
}
