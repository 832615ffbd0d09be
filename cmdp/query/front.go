package query

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"cmdpsolve/cmdp/exact"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle/lp"
)

// An Objective is a return of a trade-off.
type Objective struct {
	Return string
	// Maximize says that large values are better, else small ones.
	Maximize bool
}

// A Front is the trade-off curve between some returns.
type Front struct {
	// Status is Infeasible if no policy keeps the limits, and Undecided if the error that was asked for is not reached;
	// Stopped where time was over before that, and where totals are rounded if it is not reached for the exact problem.
	Status exact.Verdict
	// Parts are the curves of which this one is made, one for each choice of the thresholds of the worst episodes.
	Parts []FrontPart
	// Points are in the order of the first objective, then of the others. Of several parts they are the
	// vertices that no mixture of points of another part equals or improves on, and of two objectives the points
	// between them where a part passes below another. Mixtures of points of one part keep the limits, and those of
	// several parts need not.
	Points []FrontPoint
	// Error and Relative are the greatest of the parts, NaN without a curve, see [exact.FrontResult].
	Error, Relative float64
	Iterations      int

	places []int // of the objectives among the returns
	over   []Objective
}

// A FrontPart is the curve for one choice of the thresholds of the worst episodes.
type FrontPart struct {
	Query  *Query
	Result *exact.FrontResult

	vertices []bool // of the points of the result, which no mixture of the others equals or improves on
}

// A FrontPoint is a point of a trade-off curve.
type FrontPoint struct {
	exact.FrontPoint
	// Query is whose policy it is, once Recover has been called with the memory that this needs.
	Query *Query
	// Vertex says that no mixture of the other points of its curve equals or improves on it, or that the curve ends
	// there since others go on beyond it.
	Vertex bool

	plan func(context.Context) (*Query, *exact.Result, error) // of a mixture of points, nil for others
}

// Recover sets the policy, see [exact.FrontPoint.Recover], and Query to the one that remembers what the policy does.
func (p *FrontPoint) Recover(ctx context.Context) error {
	if p.Policy != nil || len(p.Mixture) > 0 {
		return nil
	}
	if p.plan != nil {
		of, r, err := p.plan(ctx)
		if err != nil {
			return err
		}
		p.Query, p.Policy, p.Mixture, p.Product = of, r.Policy, r.Mixture, r.Product
		return nil
	}
	if err := p.FrontPoint.Recover(ctx); err != nil {
		return err
	}
	remembers, err := p.Query.Remembering(p.Product)
	if err == nil {
		p.Query = remembers
	}
	return err
}

// A tradeOff is the question for the curve between some returns.
type tradeOff struct {
	*Query
	over []Objective
}

// towards returns the trade-off with totals of the returns rounded to the side that is safe for them. What a policy
// reaches is then at least as good as is said of it. Rows are stored where epochs are not solved.
func (q *Query) towards(ctx context.Context, over []Objective) (tradeOff, error) {
	t, err := q.rounded(ctx, over)
	if err != nil {
		return t, err
	}
	_, directions, err := t.directions()
	if err != nil {
		return t, err
	}
	t.Query, err = t.solvable(ctx, directions...)
	return t, err
}

// rounded is towards without a look at rows.
func (q *Query) rounded(ctx context.Context, over []Objective) (tradeOff, error) {
	if !q.Rounded() {
		return tradeOff{q, over}, nil
	}
	opts := q.family.opts
	opts.larger = make(map[string]bool)
	for _, o := range over {
		name := strings.TrimSuffix(strings.TrimSuffix(o.Return, lowerBound), upperBound)
		if name != o.Return {
			return tradeOff{}, newChangeError("%s is one side of a total that is rounded: want %s, of which the safe side is taken",
				o.Return, name)
		}
		opts.larger[name] = o.Maximize
	}
	q, err := (&family{declared: q.family.declared, opts: opts}).compile(ctx, q.Problem, q.options.Thresholds)
	return tradeOff{q, over}, err
}

// Front computes the trade-off curve between returns within the limits of a query with one player; its goal has
// no part in it. Limits on the mean of the worst episodes make it the union of the curves of all choices of
// thresholds. The objectives of opts are not looked at.
func (q *Query) Front(ctx context.Context, over []Objective, opts exact.FrontOptions) (*Front, error) {
	t, err := q.towards(ctx, over)
	if err != nil {
		return nil, err
	}
	clock := newClock(opts.Budget)
	f, err := t.curves(ctx, opts)
	if err != nil || !t.Rounded() {
		return f, err
	}
	opts.Budget = clock.left()
	err = clock.orLate(ctx, t.certify(ctx, f, opts))
	if errors.Is(err, errLate) {
		f.leaveOpen(t.Query)
		f.Status, err = exact.Stopped, nil
	}
	return f, err
}

// curves computes the curves for all choices of thresholds, with totals as they are rounded.
func (t tradeOff) curves(ctx context.Context, opts exact.FrontOptions) (*Front, error) {
	places, err := t.coordinates()
	if err != nil {
		return nil, err
	}
	f := newFront(t.over, places)
	var refused error
	var parts []FrontPart
	clock, first := newClock(opts.Budget), opts
	loosely := clock != nil && slices.ContainsFunc(t.Of(WorstEpisodes),
		func(l *Limit) bool { return len(l.Thresholds) > 1 })
	if loosely {
		first = loosened(opts)
	}
	err = t.thresholds(ascending, func(thresholds []float64) error {
		if clock.over() { // of all others too
			return errLate
		}
		within, done := clock.within(ctx)
		defer done()
		of, err := t.At(within, thresholds)
		err = clock.orLate(ctx, err)
		if err != nil && !errors.Is(err, geometry.ErrEmpty) {
			return err
		}
		first.Budget = clock.left()
		if loosely {
			first.Budget = clock.part(looseShare)
		}
		r, err := tradeOff{of, t.over}.curve(ctx, first)
		if endless(err) {
			if refused == nil || keptWithoutEnd(err) {
				refused = err
			}
			return nil
		}
		if err != nil {
			return err
		}
		parts = append(parts, FrontPart{Query: of, Result: r})
		return nil
	})
	late := errors.Is(err, errLate)
	if (err == nil || late) && loosely {
		err = t.tighten(ctx, parts, opts, clock)
	}
	for _, part := range parts {
		f.add(part)
	}
	if late {
		f.leaveOpen(t.Query)
		err = nil
	}
	none := !slices.ContainsFunc(f.Parts, func(p FrontPart) bool { return p.Result.Status != exact.Infeasible })
	if err == nil && (len(f.Parts) == 0 || none && !late && keptWithoutEnd(refused)) {
		err = refused
	}
	if err != nil {
		return nil, err
	}
	f.join(clock.over)
	return f, nil
}

// Where there is little time, curves at all thresholds are first computed to a loose error.
const (
	looseError = 0.03
	exactError = 1e-4 // where none is asked for
)

// loosened returns options that ask for a loose error.
func loosened(opts exact.FrontOptions) exact.FrontOptions {
	asked := cmp.Or(opts.Error, exactError)
	opts.Error = max(looseError, asked)
	opts.Absolute = slices.Clone(opts.Absolute)
	for k := range opts.Absolute {
		opts.Absolute[k] *= opts.Error / asked
	}
	return opts
}

// tighten computes curves anew, those with the greatest error first, to the one that is asked for, as long as there is
// time. The others are stopped.
func (t tradeOff) tighten(ctx context.Context, parts []FrontPart, opts exact.FrontOptions, clock *clock) error {
	asked, done := cmp.Or(opts.Error, exactError), make([]bool, len(parts))
	for i, p := range parts {
		done[i] = p.Result.Status == exact.Infeasible ||
			p.Result.Status == exact.Optimal && p.Result.Relative <= asked && opts.Absolute == nil
		if !done[i] && p.Result.Status == exact.Optimal {
			p.Result.Status = exact.Stopped
		}
	}
	for !clock.over() {
		next := -1
		for i, p := range parts {
			if !done[i] && (next < 0 || p.Result.Relative > parts[next].Result.Relative) {
				next = i
			}
		}
		if next < 0 {
			return nil
		}
		done[next] = true
		opts.Budget = clock.share(false)
		r, err := tradeOff{parts[next].Query, t.over}.curve(ctx, opts)
		if err != nil {
			return err
		}
		if before := parts[next].Result; r.Status != exact.Stopped || r.Error <= before.Error {
			parts[next].Result = r
		}
	}
	return nil
}

// leaveOpen notes that there was no time for all thresholds of a query.
func (f *Front) leaveOpen(q *Query) {
	if len(f.Parts) == 0 {
		f.add(FrontPart{Query: q, Result: &exact.FrontResult{Status: exact.Stopped, Error: math.Inf(1),
			Relative: math.Inf(1), Rounding: make([]float64, len(f.over))}})
	}
	f.Error, f.Relative = math.Inf(1), math.Inf(1)
	if f.Status != exact.Undecided {
		f.Status = exact.Stopped
	}
}

// certify makes what a curve with rounded totals says of all policies true of the exact problem: all that can be
// reached lies within the curve with totals rounded to the other side, whose corners are compared with the points.
func (t tradeOff) certify(ctx context.Context, f *Front, opts exact.FrontOptions) error {
	f.Status = exact.Undecided
	within, done := newClock(opts.Budget).within(ctx)
	defer done()
	free, err := t.relaxed(within)
	if err != nil || free == nil {
		return err
	}
	opts.Each, opts.Progress = nil, nil
	outer, err := tradeOff{free, t.over}.curves(ctx, opts)
	switch {
	case err != nil:
		return err
	case outer.Status == exact.Infeasible:
		f.Status = exact.Infeasible
		return nil
	case len(f.Points) == 0 || outer.Status == exact.Undecided:
		return nil
	}
	f.Status = exact.Stopped
	if math.IsInf(outer.Error, 1) { // time was over before anything was known
		f.Error, f.Relative = outer.Error, outer.Relative
		return nil
	}
	reached := false
	f.Error, f.Relative, reached = f.missed(outer, opts)
	for _, part := range f.Parts {
		part.Result.Outer, part.Result.Corners = nil, nil
		if len(outer.Parts) == 1 {
			part.Result.Outer, part.Result.Corners = outer.Parts[0].Result.Outer, outer.Parts[0].Result.Corners
		}
	}
	if reached {
		f.Status = exact.Optimal
	}
	return nil
}

// DeterministicFront computes the trade-off of policies that never draw, between two returns, as
// [exact.DeterministicFront] does. It has no parts, and its points are not those of a convex curve; with limits
// on the mean of the worst episodes it is for the thresholds of the query.
func (q *Query) DeterministicFront(ctx context.Context, over [2]Objective,
	opts exact.DeterministicOptions) (*Front, error) {
	t, err := q.towards(ctx, over[:])
	if err != nil {
		return nil, err
	}
	places, directions, err := t.directions()
	if err != nil {
		return nil, err
	}
	points, status, err := exact.DeterministicFront(ctx, t.Model, t.Task, [2][]float64(directions), opts)
	if err != nil {
		return nil, err
	}
	f := newFront(over[:], places)
	for _, at := range points {
		f.Points = append(f.Points,
			FrontPoint{FrontPoint: exact.FrontPoint{Objectives: at.Objectives, Returns: at.Returns, Policy: at.Policy},
				Query: t.Query, Vertex: true})
	}
	f.sort()
	f.Status = status
	switch {
	case t.Rounded() && len(points) == 0:
		f.Status = exact.Undecided
	case t.Rounded() && status == exact.Optimal:
		f.Status = exact.Stopped
	}
	return f, nil
}

// Part returns the curve of one of the parts alone.
func (f *Front) Part(i int) *Front {
	part := newFront(f.over, f.places)
	part.add(f.Parts[i])
	part.join(func() bool { return false })
	return part
}

func newFront(over []Objective, places []int) *Front {
	return &Front{Error: math.NaN(), Relative: math.NaN(), over: over, places: places}
}

// Curve is [Query.Front] for the thresholds of the query alone. Where totals are rounded it is that of the rounded
// problem, and has no error.
func (q *Query) Curve(ctx context.Context, over []Objective, opts exact.FrontOptions) (*exact.FrontResult, error) {
	t, err := q.towards(ctx, over)
	if err != nil {
		return nil, err
	}
	r, err := t.curve(ctx, opts)
	if err == nil && t.Rounded() {
		r.Error, r.Relative, r.Corners = math.NaN(), math.NaN(), nil
		r.Status = exact.Undecided
		if len(r.Points) > 0 {
			r.Status = exact.Stopped
		}
	}
	return r, err
}

// curve computes the curve with totals as they are rounded.
func (t tradeOff) curve(ctx context.Context, opts exact.FrontOptions) (*exact.FrontResult, error) {
	planner, err := t.Planner()
	if err != nil {
		return nil, err
	}
	_, opts.Over, err = t.directions()
	if err != nil {
		return nil, err
	}
	task := t.Task
	task.Cost = nil
	r, err := planner.Front(ctx, task, opts)
	if err == nil && t.Rounded() {
		r.Certificate = nil
	}
	return r, err
}

// directions returns the objectives as vectors c, c·V being what is to be small, and their coordinates.
func (t tradeOff) directions() (places []int, directions [][]float64, err error) {
	places, err = t.coordinates()
	if err != nil {
		return nil, nil, err
	}
	directions = make([][]float64, len(t.over))
	for k, o := range t.over {
		directions[k] = make([]float64, len(t.Returns))
		directions[k][places[k]] = 1
		if o.Maximize {
			directions[k][places[k]] = -1
		}
	}
	return places, directions, nil
}

// coordinates returns the numbers of the returns of objectives.
func (t tradeOff) coordinates() ([]int, error) {
	places := make([]int, len(t.over))
	for k, o := range t.over {
		places[k] = slices.Index(t.Returns, o.Return)
		if places[k] < 0 {
			return nil, unknownReturn(o.Return, t.Returns)
		}
	}
	return places, nil
}

// add adds the curve of one choice of thresholds.
func (f *Front) add(part FrontPart) {
	r, first := part.Result, len(f.Parts) == 0
	part.vertices = verticesOf(r)
	f.Parts = append(f.Parts, part)
	f.Iterations += r.Iterations
	// One part with a curve is enough, and one that is undecided leaves all of it open.
	if first || r.Status == exact.Undecided || f.Status == exact.Infeasible ||
		r.Status == exact.Stopped && f.Status == exact.Optimal {
		f.Status = r.Status
	}
	if r.Status == exact.Stopped && len(r.Points) == 0 {
		f.Error, f.Relative = math.Inf(1), math.Inf(1) // nothing is known of it
	}
	switch {
	case r.Status == exact.Infeasible || len(r.Points) == 0:
	case math.IsNaN(f.Error):
		f.Error, f.Relative = r.Error, r.Relative
	default:
		f.Error, f.Relative = max(f.Error, r.Error), max(f.Relative, r.Relative)
	}
}

// sort orders the points by their objectives.
func (f *Front) sort() {
	slices.SortStableFunc(f.Points, func(a, b FrontPoint) int {
		for _, i := range f.places {
			if a.Returns[i] != b.Returns[i] {
				return cmp.Compare(a.Returns[i], b.Returns[i])
			}
		}
		return 0
	})
}

// verticesOf reports which points no mixture of the others equals or improves on. A
// billionth of the scale is at least what rounding may come to.
func verticesOf(r *exact.FrontResult) []bool {
	points := r.Points
	vertex := make([]bool, len(points))
	for i := range vertex {
		vertex[i] = true
	}
	scale := scaleOf(points, r.Rounding)
	for i := range points {
		var others []exact.FrontPoint
		for j := range points {
			if vertex[j] && j != i {
				others = append(others, points[j])
			}
		}
		vertex[i] = worse(others, points[i], scale) > roundingOfPoints
	}
	return vertex
}

// leastObjective returns the least of an objective over points.
func leastObjective(points []exact.FrontPoint, k int) float64 {
	least := math.Inf(1)
	for _, p := range points {
		least = min(least, p.Objectives[k])
	}
	return least
}

// roundingOfPoints is the part of the scale up to which points are the same.
const roundingOfPoints = 1e-9

// scaleOf is the range of each objective, by which rounding is measured.
func scaleOf(points []exact.FrontPoint, rounding []float64) []float64 {
	scale := make([]float64, len(rounding))
	for k := range scale {
		least, most := math.Inf(1), math.Inf(-1)
		for _, p := range points {
			least, most = min(least, p.Objectives[k]), max(most, p.Objectives[k])
		}
		scale[k] = most - least + 1e9*rounding[k]
		if scale[k] == 0 {
			scale[k] = 1
		}
	}
	return scale
}

// worse returns by how much of the scale the best mixture of other points is worse than a point, in the
// objective in which it is worst, +∞ if there are none: it solves
//
//	min t  s.t.  Σ λ_j y_j ≤ y + t·scale,  Σ λ_j = 1,  λ ≥ 0
func worse(others []exact.FrontPoint, than exact.FrontPoint, scale []float64) float64 {
	n := len(others)
	if n == 0 {
		return math.Inf(1)
	}
	program := &lp.Problem{Minimize: make([]float64, n+1)}
	program.Minimize[n] = 1
	program.Lower, program.Upper = lp.Free(n + 1)
	sum := make([]float64, n+1)
	for k := range scale {
		row := make([]float64, n+1)
		row[n] = -1
		for at, q := range others {
			program.Lower[at], sum[at] = 0, 1
			row[at] = (q.Objectives[k] - than.Objectives[k]) / scale[k]
		}
		program.Rows = append(program.Rows, lp.AtMost(row, 0))
	}
	program.Rows = append(program.Rows, lp.Equal(sum, 1))
	sol, err := lp.Solve(program)
	if err != nil || sol.Status != lp.Optimal {
		return math.Inf(1)
	}
	return sol.Objective
}
