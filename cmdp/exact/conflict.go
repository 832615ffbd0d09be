package exact

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle/lp"
)

// A Conflict is a smallest set of limits that no policy keeps together: whichever of them
// is left out, some policy keeps the others.
type Conflict struct {
	// Rows are the numbers of its constraints, ascending. Set tells that the set which is
	// one limit as a whole belongs to it.
	Rows []int
	Set  bool
	// Undecided tells that the set may not be a smallest one: of limits without one of it, neither a policy that keeps
	// them nor a proof that there is none was found.
	Undecided bool
	// Relax holds for each of Rows by how much its offset alone would have to grow until
	// some policy keeps all limits, also those outside the conflict. It is +Inf if no
	// growth is enough, because the others are in conflict too, and NaN if it was not found. RelaxSet is the distance
	// that Set alone would have to be inflated by.
	Relax    []float64
	RelaxSet float64
	// RelaxLeast and RelaxSetLeast are what is proved to be the least of Relax and RelaxSet. They are the same unless
	// the value iterations were over before: what Relax says is then enough, but less may be.
	RelaxLeast    []float64
	RelaxSetLeast float64
}

// smallSubsets is up to how many limits all pairs are tried before limits are left out one
// by one.
const smallSubsets = 16

// Conflict finds out which limits no policy keeps together: the constraints of the task, and a
// set that is one limit as a whole, or nil. Each limit alone is tried first, then each pair, then
// limits are left out one by one. So a conflict of up to three limits has the fewest
// limits that there can be, and of a larger one every limit is needed. It returns nil
// if no conflict is proved. Of the task only Constraints and Box are used, of opts only Iterations and the tolerances.
// Beyond the proof that there is a conflict, Iterations bounds the value iterations of the whole search but for a few:
// half of them are for finding a smaller set, the others for how far each of its limits has to give. What is not known
// when they are over is told as such.
func (p *Planner) Conflict(ctx context.Context, task cmdp.Task, set geometry.Set, opts Options) (*Conflict, error) {
	c := conflictSearch{Planner: p, ctx: ctx, rows: task.Constraints, set: set, box: task.Box, opts: opts,
		n: len(task.Constraints), verdicts: make(map[string]Verdict)}
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	c.left, c.opts.Iterations = opts.Iterations, 0
	if set != nil {
		c.n++
	}
	if err := (cmdp.Task{Whole: set, Box: c.box, Constraints: c.rows}).Check(p.dim()); err != nil {
		return nil, fmt.Errorf("exact: conflict: %w", err)
	}
	return c.find()
}

// conflictSearch is the state of one search. Limit k is rows[k], or the set if there is no
// such row.
type conflictSearch struct {
	*Planner
	ctx  context.Context
	rows []cmdp.Constraint
	set  geometry.Set
	opts Options
	n    int // limits
	left int // value iterations
	box  *geometry.Box
	// verdicts on sets of limits, under their numbers as text
	verdicts map[string]Verdict
}

func (c *conflictSearch) find() (*Conflict, error) {
	if err := c.findBox(); err != nil {
		return nil, err
	}
	all := make([]int, c.n)
	for k := range all {
		all[k] = k
	}
	if clash, err := c.inConflict(all); err != nil || !clash {
		return nil, err
	}
	half := c.left / 2
	c.left -= half
	core, err := c.smallConflict()
	if err != nil {
		return nil, err
	}
	if core == nil {
		core = all
	}
	core, undecided, err := c.deletionFilter(core)
	if err != nil {
		return nil, err
	}
	c.left += half
	out := &Conflict{Undecided: undecided}
	for i, k := range core {
		least, give, err := c.relax(k, c.left/(len(core)-i))
		if err != nil {
			return nil, err
		}
		if k < len(c.rows) {
			out.Rows, out.Relax = append(out.Rows, k), append(out.Relax, give)
			out.RelaxLeast = append(out.RelaxLeast, least)
		} else {
			out.Set, out.RelaxSet, out.RelaxSetLeast = true, give, least
		}
	}
	return out, nil
}

// findBox finds the box of all returns that limits are cut with.
func (c *conflictSearch) findBox() error {
	if c.box != nil {
		return nil
	}
	lower, upper, err := c.Ranges(c.ctx)
	if err != nil {
		return err
	}
	for i := range lower {
		room := 1e-9 * (math.Abs(lower[i]) + math.Abs(upper[i])) // what rounding moves is no conflict
		lower[i], upper[i] = max(lower[i]-room, -Boundless), min(upper[i]+room, Boundless)
	}
	c.box, err = geometry.NewBox(lower, upper)
	return err
}

// smallConflict returns a single limit or a pair that no policy keeps, nil if there is none.
func (c *conflictSearch) smallConflict() ([]int, error) {
	for i := range c.n {
		if clash, err := c.inConflict([]int{i}); clash || err != nil {
			return []int{i}, err
		}
	}
	for i := 0; i < c.n && c.n <= smallSubsets; i++ {
		for j := range i {
			if clash, err := c.inConflict([]int{j, i}); clash || err != nil {
				return []int{j, i}, err
			}
		}
	}
	return nil, nil
}

// deletionFilter leaves limits out one by one as long as what stays is a conflict. It reports whether it is not known
// of some limit that the others can be kept without it.
func (c *conflictSearch) deletionFilter(core []int) (left []int, undecided bool, err error) {
	for again := len(core) > 1; again; {
		again, undecided = false, false
		for _, k := range slices.Clone(core) {
			rest := without(core, k)
			verdict, err := c.judge(rest)
			if err != nil {
				return nil, false, err
			}
			if verdict == Infeasible {
				core, again = rest, undecided // fewer limits may be easier to keep
			}
			undecided = undecided || verdict == Undecided
		}
		again = again && len(core) > 1
	}
	return core, undecided && len(core) > 1, nil
}

func without(list []int, k int) []int {
	return slices.DeleteFunc(slices.Clone(list), func(i int) bool { return i == k })
}

// inConflict reports whether it is proved that no policy keeps some limits together.
func (c *conflictSearch) inConflict(limits []int) (bool, error) {
	verdict, err := c.judge(limits)
	return verdict == Infeasible, err
}

// judge says whether some policy keeps limits together: Optimal if one does, Infeasible if it is proved that none does.
func (c *conflictSearch) judge(limits []int) (Verdict, error) {
	name := fmt.Sprint(limits)
	if verdict, known := c.verdicts[name]; known {
		return verdict, nil
	}
	verdict, err := c.findVerdict(limits)
	if err == nil {
		c.verdicts[name] = verdict
	}
	return verdict, err
}

func (c *conflictSearch) findVerdict(limits []int) (Verdict, error) {
	task, err := c.task(limits)
	if errors.Is(err, geometry.ErrEmpty) {
		return Infeasible, nil
	}
	if err != nil {
		return Undecided, err
	}
	verdict := Undecided
	err = c.withSolverOrRays(c.ctx, task, c.opts, func(s *solver) error {
		if err := s.initialize(); err != nil {
			return err
		}
		if len(limits) == c.n { // the proof that all are in conflict takes what it takes
			verdict, err = s.phase1()
		} else {
			verdict, err = c.count(s, c.left, s.phase1)
		}
		if err == nil && verdict == Optimal {
			err = s.checkRaysReached()
		}
		return err
	})
	if grows(err) {
		r, err := c.besideGrowth(task)
		if err != nil {
			return Undecided, err
		}
		return r.Status, nil
	}
	return verdict, err
}

// grows reports whether a task was refused since a total grows without end on the side that its limits allow.
func grows(err error) bool {
	var found *NoTotalError
	return errors.As(err, &found) && found.Wanted
}

// besideGrowth answers a task in which a total grows without end where that is allowed. Where it is refused again
// nothing is decided: what grows may keep its limit.
func (c *conflictSearch) besideGrowth(task cmdp.Task) (*Result, error) {
	opts := c.opts
	opts.NoNearest = true
	r, err := c.Solve(c.ctx, task, opts)
	if errors.Is(err, ErrNoTotal) {
		return &Result{Status: Undecided}, nil
	}
	return r, err
}

// count calls work with a solver that may take so many value iterations, and counts them.
func (c *conflictSearch) count(s *solver, most int, work func() (Verdict, error)) (Verdict, error) {
	s.opts.Iterations = max(0, most)
	verdict, err := work()
	c.left -= s.iterations
	return verdict, err
}

// leastRelaxing is how many value iterations are taken in any case to find how far a limit has to give: the first
// starts from what is known of all limits.
const leastRelaxing = 2

// relax returns how far limit k alone has to give, and what is proved to be the least of it, by so many value
// iterations at the most.
func (c *conflictSearch) relax(k, most int) (least, give float64, err error) {
	all := make([]int, c.n)
	for i := range all {
		all[i] = i
	}
	task, err := c.task(without(all, k))
	if errors.Is(err, geometry.ErrEmpty) {
		return math.Inf(1), math.Inf(1), nil
	}
	if err != nil {
		return 0, 0, err
	}
	var base float64
	task.Cost, base, err = c.excess(k, task.Target)
	if err != nil {
		return 0, 0, err
	}
	least, give = math.NaN(), math.NaN()
	err = c.withSolverOrRays(c.ctx, task, c.opts, func(s *solver) error {
		s.compositeWeight = 0 // policies that nearly keep the other limits are known
		if err := s.initialize(); err != nil {
			return err
		}
		verdict, err := c.count(s, max(most, leastRelaxing), s.relaxation)
		if err == nil && verdict == Infeasible {
			least, give = math.Inf(1), math.Inf(1)
		}
		if err == nil && verdict == Optimal {
			give = max(0, s.incumbent.cost-base)
			least = give
			if !(s.gap() <= s.tolerance(s.acceptedGap)) {
				least = max(0, s.incumbent.cost-s.gap()-base)
			}
			err = s.checkRaysReached()
		}
		return err
	})
	if !grows(err) {
		return least, give, err
	}
	r, err := c.besideGrowth(task)
	switch {
	case err != nil:
	case r.Status == Infeasible:
		least, give = math.Inf(1), math.Inf(1)
	case r.Status == Optimal:
		least, give = max(0, r.Objective-base), max(0, r.Objective-base)
	}
	return least, give, err
}

// relaxation goes through both phases, the second from the multipliers that are the best by what is known of other
// directions. If there is no time for all of it, the mixture is the best one of the policies that were found.
func (s *solver) relaxation() (Verdict, error) {
	verdict, err := s.phase1()
	if err != nil || verdict != Optimal {
		return verdict, err
	}
	if s.affine {
		s.ascentMultipliers, _ = s.bounds.multipliers(s.master.cuts[0].slope, s.master)
	}
	verdict, err = s.phase2()
	if err == nil && verdict == Optimal && s.iterations >= s.opts.Iterations {
		err = s.refine(s.modelTolerance(true))
		if errors.Is(err, lp.ErrNumerical) { // the mixture that was found before stands, and its bound
			err = nil
		}
	}
	return verdict, err
}

// excess returns the cost that measures how far returns miss limit k, less base.
func (c *conflictSearch) excess(k int, target geometry.Compact) (cost.Cost, float64, error) {
	if k < len(c.rows) {
		g, err := cost.NewLinear(c.rows[k].Normal, c.box)
		return g, c.rows[k].Offset, err
	}
	set, ok := c.set.(geometry.Compact)
	if !ok {
		if target == nil {
			bounded, err := c.box.Bounded()
			if err != nil {
				return nil, 0, err
			}
			target = bounded
		}
		set = projectedSet{c.set, target}
	}
	g, err := cost.NewDistance(set)
	return g, 0, err
}

// task asks for some limits alone. Those that can be kept are the target, cut with the box of all returns; what
// was asked for is the whole.
func (c *conflictSearch) task(limits []int) (cmdp.Task, error) {
	task := cmdp.Task{Box: c.box}
	if len(limits) == 0 {
		return task, nil
	}
	d := c.dim()
	lower, upper := slices.Repeat([]float64{math.Inf(-1)}, d), slices.Repeat([]float64{math.Inf(1)}, d)
	parts, rows := []geometry.Set(nil), []cmdp.Constraint(nil)
	for _, k := range limits {
		if k < len(c.rows) {
			rows = append(rows, c.rows[k])
		} else {
			parts = append(parts, c.set)
		}
	}
	for _, l := range tightenBox(lower, upper, rows) {
		h, err := geometry.NewHalfspace(l.Normal, l.Offset)
		if err != nil {
			return task, fmt.Errorf("exact: conflict: %w", err)
		}
		parts = append(parts, h)
	}
	free, err := geometry.NewBox(lower, upper)
	if err != nil {
		return task, fmt.Errorf("exact: conflict: %w", err)
	}
	task.Whole = free
	if len(parts) > 0 {
		task.Whole, err = geometry.NewIntersection(append(parts, free)...)
		if err != nil {
			return task, fmt.Errorf("exact: conflict: %w", err)
		}
	}
	for i, x := range c.box.Lower() {
		lower[i] = max(lower[i], x)
	}
	for i, x := range c.box.Upper() {
		upper[i] = min(upper[i], x)
	}
	box, err := geometry.NewBox(lower, upper)
	if err != nil {
		return task, fmt.Errorf("exact: conflict: %w", err)
	}
	if len(parts) == 0 {
		task.Target, err = box.Bounded()
		return task, err
	}
	set := parts[0]
	if len(parts) > 1 {
		set, err = geometry.NewIntersection(parts...)
		if err != nil {
			return task, fmt.Errorf("exact: conflict: %w", err)
		}
	}
	task.Target, err = geometry.Restrict(set, box)
	return task, err
}

// tightenBox moves the sides of a box to the limits on single returns, and returns the other limits.
func tightenBox(lower, upper []float64, limits []cmdp.Constraint) (others []cmdp.Constraint) {
	for _, l := range limits {
		i, x := singleEntry(l.Normal)
		switch {
		case x > 0:
			upper[i] = min(upper[i], l.Offset/x)
		case x < 0:
			lower[i] = max(lower[i], l.Offset/x)
		default:
			others = append(others, l)
		}
	}
	return others
}

// singleEntry returns the only entry of a form that is not 0, or 0 if there are several.
func singleEntry(normal []float64) (i int, x float64) {
	for j, y := range normal {
		switch {
		case y == 0:
		case x != 0:
			return 0, 0
		default:
			i, x = j, y
		}
	}
	return i, x
}
