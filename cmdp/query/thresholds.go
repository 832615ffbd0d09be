package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/monitor"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/geometry"
)

// maxThresholds bounds the thresholds of a limit on the worst episodes.
const maxThresholds = 10_000

// setThresholds lists where the worst episodes may be taken to begin.
func (l *Limit) setThresholds(totals func(bound float64) []float64, of string) error {
	l.Thresholds = totals(l.Bound)
	if len(l.Thresholds) > maxThresholds {
		return &manyThresholdsError{of}
	}
	return nil
}

// A manyThresholdsError says of which return a total has more thresholds than are tried.
type manyThresholdsError struct{ of string }

func (e *manyThresholdsError) Error() string {
	return fmt.Sprintf("the total of %s has more than %d values that the worst episodes may begin at: want a coarser "+
		"resolution", e.of, maxThresholds)
}

// totalsOf returns a function that lists the totals of a return up to a bound, or from it on.
func (u *unfolding) totalsOf(t tail, limit monitor.Threshold) (func(bound float64) []float64, error) {
	if u.known != nil && u.known.totals[t] != nil {
		return u.known.totals[t], nil
	}
	if of := u.opts.totals[t]; of != nil {
		u.totals[t] = of
		return of, nil
	}
	b, err := u.budget(t.of, t.of, []monitor.Threshold{limit}, u.rounding(t.of, t.atLeast))
	if err != nil {
		return nil, err
	}
	u.totals[t] = keepLast(func(bound float64) []float64 { return b.Totals(bound, !t.atLeast) })
	return u.totals[t], nil
}

// keepLast returns a function that keeps its last answer: each of many thresholds asks for the list of all of them.
func keepLast(f func(bound float64) []float64) func(bound float64) []float64 {
	var mu sync.Mutex
	last, answer := math.NaN(), []float64(nil)
	return func(bound float64) []float64 {
		mu.Lock()
		defer mu.Unlock()
		if bound != last {
			last, answer = bound, f(bound)
		}
		return answer
	}
}

// thresholds visits each choice of the thresholds of the worst episodes, in the order of the numbers that order lists
// of so many: a policy keeps limits on their mean if it keeps those of one choice. Where no total keeps a bound the
// bound stands for them. Without such limits there is one choice, which is nil.
func (q *Query) thresholds(order func(n int) []int, visit func(thresholds []float64) error) error {
	worst := q.Of(WorstEpisodes)
	if len(worst) == 0 {
		return visit(nil)
	}
	at, orders := make([]int, len(worst)), make([][]int, len(worst))
	for i, l := range worst {
		orders[i] = order(max(1, len(l.Thresholds)))
	}
	for {
		chosen := make([]float64, len(at))
		for i, l := range worst {
			chosen[i] = l.Bound
			if len(l.Thresholds) > 0 {
				chosen[i] = l.Thresholds[orders[i][at[i]]]
			}
		}
		if err := visit(chosen); err != nil || !next(at, worst) {
			return err
		}
	}
}

// ascending lists the numbers below n.
func ascending(n int) (order []int) {
	for i := range n {
		order = append(order, i)
	}
	return order
}

// next goes on to the next thresholds and reports whether there are any.
func next(at []int, worst []*Limit) bool {
	for i, l := range worst {
		at[i]++
		if at[i] < len(l.Thresholds) {
			return true
		}
		at[i] = 0
	}
	return false
}

// EachThreshold visits the query with each choice of the thresholds of the worst episodes. One without limits
// on their mean is visited as it is.
func (q *Query) EachThreshold(ctx context.Context, visit func(*Query) error) error {
	return q.thresholds(ascending, func(thresholds []float64) error {
		of, err := q.At(ctx, thresholds)
		if err != nil && !errors.Is(err, geometry.ErrEmpty) {
			return err
		}
		return visit(of)
	})
}

// Best returns the query with the thresholds of the worst episodes that have the best optimum. If no thresholds
// allow a policy, it takes those that miss the limits least. They are tried one after the other, each with a plan of
// its own, but for those at which others prove that there is nothing better: limits on the mean of the worst episodes
// do not make a convex problem. A query without such limits is returned as it is. One in which a total that matters has
// no end is returned with thresholds at which planning says so.
func (q *Query) Best(ctx context.Context) (*Query, error) { return q.BestWithin(ctx, 0) }

// BestWithin is [Query.Best] for some time, 0 for any. The answer that is found at the best thresholds is kept for
// [Query.Solve]. Where others may be better that were not tried by then, answers of [Query.Solve] are Stopped; where
// there was no time for any, the thresholds are those of q.
func (q *Query) BestWithin(ctx context.Context, budget time.Duration) (*Query, error) {
	all := newBounds()
	all.clock = newClock(budget)
	return q.bestIn(ctx, all)
}

// bestIn is BestWithin for the time that the bounds have, which it notes.
func (q *Query) bestIn(ctx context.Context, all *bounds) (*Query, error) {
	if len(q.Of(WorstEpisodes)) == 0 || q.elsewhere != nil {
		return q, nil
	}
	s := &plannedThresholds{Query: q, ctx: ctx, all: all}
	best, found, err := q.bestOf(s.plan, all)
	switch {
	case errors.Is(err, exact.ErrNoTotal):
		return s.refused, nil // whoever plans says so; elsewhere too much may be asked, and have an answer
	case err == nil && best == nil && q.Beyond(): // there was no time, and here no policy can do
		best, err = q.family.compile(ctx, q.Problem, nil)
	case err == nil && best == nil:
		best = q
	}
	if err != nil {
		return nil, err
	}
	of := *best
	of.elsewhere, of.found = all, found
	if found != nil && found.Status == exact.Stopped && found == s.best {
		of.resumed = s.planner
	}
	return &of, nil
}

// Where there is little time, thresholds are first tried up to a loose gap, each in a small share of what is left, and
// then the best ones again, up to the gap that planning asks for.
const (
	looseGap   = 0.05
	looseShare = 8
	exactGap   = 1e-10
)

// plannedThresholds plan at the thresholds of the worst episodes, each with a planner of its own.
type plannedThresholds struct {
	*Query
	ctx     context.Context
	all     *bounds
	refused *Query // where planning says that a total has no end, and where policies keep the limits if there are any
	best    *exact.Result
	planner *exact.Planner // of the best answer
	relaxed bool           // the optimum without limits was asked for
}

// plan makes the query with thresholds, and solves it in half of the time that is left, or in all of it if there are no
// others. For the first time it is solved loosely.
func (s *plannedThresholds) plan(thresholds []float64) (*Query, *exact.Result, error) {
	within, done := s.all.clock.within(s.ctx)
	defer done()
	of, err := s.At(within, thresholds)
	if err != nil {
		return nil, nil, s.all.clock.orLate(s.ctx, err)
	}
	planner, err := exact.NewPlanner(of.Model, s.options.Workers)
	if err != nil {
		return nil, nil, err
	}
	alone := !slices.ContainsFunc(s.Of(WorstEpisodes), func(l *Limit) bool { return len(l.Thresholds) > 1 })
	loosely := s.all.clock != nil && !alone && s.all.first
	opts := exact.Options{NoNearest: of.Horizon() == 0, Budget: s.all.clock.share(alone)}
	if loosely {
		opts.Gap, opts.Budget = looseGap, s.all.clock.part(looseShare)
	}
	r, err := planner.Solve(s.ctx, of.Task, opts)
	if errors.Is(err, exact.ErrNoTotal) && (s.refused == nil || !endless(err) || keptWithoutEnd(err)) {
		s.refused = of
	}
	if err != nil {
		return nil, nil, err
	}
	if loosely && r.Status == exact.Optimal && r.Gap > exactGap*math.Abs(r.Objective) {
		r, err = s.closeGap(of, planner, r)
		if err != nil {
			return nil, nil, err
		}
	}
	if s.best == nil || better(r, s.best) {
		s.best, s.planner = r, planner
	}
	if s.all.clock != nil && !alone && !s.relaxed && of.Task.Cost != nil {
		s.relaxed = true
		err = s.withoutLimits(of, planner)
	}
	return of, r, err
}

// closeGap goes on with a loose optimum that is the best so far. Of others it is left open whether they are better.
func (s *plannedThresholds) closeGap(of *Query, planner *exact.Planner, r *exact.Result) (*exact.Result, error) {
	if s.best == nil || better(r, s.best) {
		again, err := planner.Solve(s.ctx, of.Task,
			exact.Options{NoNearest: of.Horizon() == 0, Budget: s.all.clock.share(false)})
		if err != nil || !better(r, again) {
			return again, err
		}
	}
	r.Status = exact.Stopped
	return r, nil
}

// withoutLimits notes the optimum without limits: none makes it better, whatever its threshold.
func (s *plannedThresholds) withoutLimits(of *Query, planner *exact.Planner) error {
	task := cmdp.Task{Cost: of.Task.Cost, Box: of.Task.Box}
	r, err := planner.Solve(s.ctx, task,
		exact.Options{Iterations: 3, NoNearest: true, Budget: s.all.clock.share(false)})
	if err == nil {
		s.all.free = r.Bound
	}
	if errors.Is(err, exact.ErrNoTotal) {
		return nil
	}
	return err
}

// Early reports whether the time of [Query.BestWithin] was over before all thresholds were tried that may be better.
func (q *Query) Early() bool { return q.elsewhere != nil && q.elsewhere.early }

// BestOf is [Query.Best] for callers who plan themselves: plan makes the query with thresholds, by [Query.At],
// and solves it. It also returns the optimum, with a bound that holds for all thresholds: it is undecided where
// others are and may have a better one. A query without limits on the mean of the worst episodes is planned for
// once, with nil.
func (q *Query) BestOf(
	plan func(thresholds []float64) (*Query, *exact.Result, error),
) (best *Query, found *exact.Result, err error) {
	all := newBounds()
	best, found, err = q.bestOf(plan, all)
	if err != nil {
		return nil, nil, err
	}
	return best, all.widen(found), nil
}

// bestOf is BestOf without the bound that holds for all thresholds, which it notes. Thresholds at which every policy
// that keeps the limits goes on for ever at a return that matters are left out. It is an error if all are, or if no
// policy keeps the limits at the others.
func (q *Query) bestOf(plan func(thresholds []float64) (*Query, *exact.Result, error),
	all *bounds) (best *Query, found *exact.Result, err error) {
	goal, _ := q.Problem.Goal.Kind()
	all.aimless = goal == ""
	s := &bestSearch{plan: plan, all: all}
	all.first = true
	err = q.thresholds(coarseFirst, s.improve)
	all.first = false
	if err == nil && all.clock != nil {
		err = s.tighten()
	}
	if err == nil && s.found != nil {
		err = q.thresholds(ascending, s.precede)
	}
	s.boundOthers()
	never := s.found != nil && s.found.Status == exact.Infeasible && !all.untried
	if err == nil && (s.found == nil || never && keptWithoutEnd(s.refused)) {
		err = s.refused
	}
	return s.best, s.found, err
}

// A bestSearch looks for the thresholds of the worst episodes that have the best optimum, and of those that are as
// good for the first, where the least is remembered.
type bestSearch struct {
	thresholdSearch
	plan    func(thresholds []float64) (*Query, *exact.Result, error)
	all     *bounds
	tried   map[string]bool
	others  []boundedThresholds // thresholds of all choices that were tried or passed over
	best    *Query
	at      []float64 // its thresholds
	found   *exact.Result
	refused error
	settled bool
}

// improve plans with thresholds unless what is found cannot be improved there.
func (s *bestSearch) improve(thresholds []float64) error {
	if s.found != nil && s.all.aimless && keepsLimits(s.found) {
		return nil
	}
	cost, missed := s.bounds(thresholds)
	cost = max(cost, s.all.free)
	worse, late := s.found != nil && !improves(s.found, cost, missed), s.all.clock.over()
	if !worse && !late {
		of, r, err := s.answer(thresholds)
		late = errors.Is(err, errLate)
		if !late {
			s.take(of, r, thresholds)
			return err
		}
	}
	s.others = append(s.others, boundedThresholds{at: thresholds, bound: math.Inf(-1), late: late})
	return nil
}

// tighten plans once more at thresholds where nothing is decided, those of the least bound first, as long as there is
// time and they may be better than what is found.
func (s *bestSearch) tighten() error {
	again := make(map[string]bool)
	for s.found != nil && !s.all.clock.over() {
		next, least := -1, math.Inf(1)
		for i, o := range s.others {
			cost, missed := s.bounds(o.at)
			bound := max(o.bound, cost, s.all.free)
			if o.open && !again[fmt.Sprint(o.at)] && bound < least && improves(s.found, bound, missed) {
				next, least = i, bound
			}
		}
		if next < 0 {
			return nil
		}
		o := s.others[next]
		again[fmt.Sprint(o.at)] = true
		of, r, err := s.answer(o.at)
		if errors.Is(err, errLate) {
			return nil
		}
		if err != nil {
			return err
		}
		s.others = slices.Delete(s.others, next, next+1) // there is another one of the same now
		if slices.Equal(o.at, s.at) && r != nil && !better(s.found, r) {
			s.found, s.best = r, of
		}
		s.take(of, r, o.at)
	}
	return nil
}

// take takes an answer if it is better than the one that is known, or as good at thresholds before those.
func (s *bestSearch) take(of *Query, r *exact.Result, thresholds []float64) {
	if r != nil && (s.found == nil || better(r, s.found) || s.ties(r) && slices.Compare(thresholds, s.at) < 0) {
		s.best, s.found, s.at = of, r, thresholds
	}
}

// ties reports whether an optimum is as good as the one that is known.
func (s *bestSearch) ties(r *exact.Result) bool {
	return s.found.Status == exact.Optimal && r.Status == exact.Optimal && r.Objective <= s.found.Objective+tie(s.found)
}

// precede takes the thresholds in place of later ones if they are as good.
func (s *bestSearch) precede(thresholds []float64) error {
	s.settled = s.settled || s.found.Status != exact.Optimal || s.all.clock.over() ||
		slices.Equal(thresholds, s.at)
	if s.settled || s.tried[fmt.Sprint(thresholds)] {
		return nil
	}
	if cost, missed := s.bounds(thresholds); missed > 0 || cost > s.found.Objective+tie(s.found) {
		return nil
	}
	of, r, err := s.answer(thresholds)
	if r != nil && s.ties(r) {
		s.best, s.found, s.at, s.settled = of, r, thresholds, true
	}
	if errors.Is(err, errLate) {
		return nil
	}
	return err
}

// answer plans with thresholds. There is no answer where every policy has an infinite return that matters.
func (s *bestSearch) answer(thresholds []float64) (*Query, *exact.Result, error) {
	if s.tried == nil {
		s.tried = make(map[string]bool)
	}
	s.tried[fmt.Sprint(thresholds)] = true
	of, r, err := s.plan(thresholds)
	if endless(err) {
		if s.refused == nil || keptWithoutEnd(err) {
			s.refused = err
		}
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	s.learn(of, r)
	s.others = append(s.others, boundedThresholds{at: thresholds, bound: r.Bound,
		open: r.Status == exact.Undecided || r.Status == exact.Stopped})
	return of, r, nil
}

// endless reports whether a task was refused since all policies have an infinite return that is not wanted.
func endless(err error) bool {
	var no *exact.NoTotalError
	return errors.As(err, &no) && !no.Wanted
}

// keptWithoutEnd reports whether a task was refused although some policies keep its limits: theirs is the return that
// does not end.
func keptWithoutEnd(err error) bool {
	var no *exact.NoTotalError
	return errors.As(err, &no) && no.Kept
}

// boundedThresholds are some thresholds with a lower bound of the cost there.
type boundedThresholds struct {
	at    []float64
	bound float64
	open  bool // they were tried, and nothing is decided
	late  bool // there was no time to try them
}

// boundOthers sets what is known of all thresholds but the best ones, by all that was proved.
func (s *bestSearch) boundOthers() {
	found := s.found
	// An undecided one may miss the limits by more.
	undecided := found != nil && found.Status != exact.Infeasible && !keepsLimits(found)
	enough := found != nil && s.all.aimless && keepsLimits(found)
	for _, o := range s.others {
		if found != nil && slices.Equal(o.at, s.at) {
			continue
		}
		cost, missed := s.bounds(o.at)
		bound := max(o.bound, cost, s.all.free)
		if o.late && !enough && (found == nil || undecided || improves(found, bound, missed)) {
			s.all.early = true
			s.all.untried = s.all.untried || missed == 0
		}
		if missed > 0 {
			continue
		}
		s.all.all = min(s.all.all, bound)
		if o.open {
			s.all.open = min(s.all.open, bound)
		}
	}
}

// bounds are lower bounds of the cost at all thresholds but those of an answer, and at those of them that were tried
// where nothing is decided.
type bounds struct {
	all, open float64
	free      float64 // the optimum without limits is at least that
	clock     *clock  // of the search
	first     bool    // thresholds are tried for the first time
	early     bool    // some were not tried in time that may be better
	untried   bool    // some of these may keep the limits
	aimless   bool    // one policy that keeps the limits is as good as another
}

func newBounds() *bounds { return &bounds{all: math.Inf(1), open: math.Inf(1), free: math.Inf(-1)} }

// widen returns an answer with a bound for all thresholds. An optimum is undecided where one that was left open may
// have a better one, and so is a proof that no policy keeps the limits where others may do.
func (b *bounds) widen(r *exact.Result) *exact.Result {
	if b == nil || r.Status == exact.Unbounded || b.aimless && keepsLimits(r) {
		return r
	}
	open := !math.IsInf(b.open, 1)
	if b.untried || open && r.Status == exact.Infeasible {
		return b.unproved(r)
	}
	if r.Status == exact.Infeasible || b.all >= r.Bound {
		return r
	}
	whole := *r
	if r.Status == exact.Optimal && b.open < r.Bound-r.Gap {
		whole.Status = b.undecided()
	}
	whole.Bound = b.all
	if keepsLimits(r) {
		whole.Gap = r.Objective - b.all
	}
	return &whole
}

// undecided is the verdict where others are open: with more time they might not be.
func (b *bounds) undecided() exact.Verdict {
	if b.clock != nil {
		return exact.Stopped
	}
	return exact.Undecided
}

// unproved returns an answer for all thresholds where some were not tried in time, or others are open.
func (b *bounds) unproved(r *exact.Result) *exact.Result {
	whole := *r
	whole.Status, whole.Bound = b.undecided(), min(b.all, r.Bound)
	whole.Gap = r.Objective - whole.Bound
	if !keepsLimits(r) { // others may do
		whole.Certificate, whole.Policy, whole.Mixture = nil, nil, nil
		whole.Objective, whole.Gap = math.NaN(), math.Inf(1)
	}
	return &whole
}

// better reports whether an answer is better than another: a policy that keeps all limits before none, and an
// open question before a proof that there is none.
func better(r, than *exact.Result) bool {
	keeps, kept := keepsLimits(r), keepsLimits(than)
	never, none := r.Status == exact.Infeasible, than.Status == exact.Infeasible
	switch {
	case keeps != kept:
		return keeps
	case never != none:
		return none
	case !keeps: // of an answer without returns it is not known
		return r.Violation < than.Violation || math.IsNaN(than.Violation) && !math.IsNaN(r.Violation)
	case (r.Status == exact.Unbounded) != (than.Status == exact.Unbounded):
		return r.Status == exact.Unbounded
	case than.Status == exact.Stopped: // its gap may be wide
		return r.Objective < than.Objective
	}
	return r.Objective < than.Objective-tie(than)
}

// tie is by how much the objective of an answer may differ from that of one that is as good: its gap, unless a wide one
// was asked for, within which one policy is better than another.
func tie(r *exact.Result) float64 { return min(r.Gap, 1e-6*max(1, math.Abs(r.Objective))) }

// keepsLimits reports whether an answer has a policy that keeps all limits.
func keepsLimits(r *exact.Result) bool {
	return r.Status == exact.Optimal || r.Status == exact.Unbounded ||
		r.Status == exact.Stopped && r.HasPolicy()
}

// Beyond reports whether a threshold of the worst episodes is beyond the bound of their mean. No policy can do
// at such thresholds, but one may at others, see [Query.Best].
func (q *Query) Beyond() bool { return slices.ContainsFunc(q.Limits, (*Limit).beyond) }

// ReadPolicy reads a policy file for the query. It returns with it the query with those thresholds of the worst
// episodes for which the policy keeps the limits best: they decide what is remembered.
func (q *Query) ReadPolicy(ctx context.Context, path string) (best *Query, policies []Drawn, err error) {
	var first error
	least := math.Inf(1)
	err = q.EachThreshold(ctx, func(each *Query) error {
		of, err := each.reading(path)
		if err != nil {
			return err
		}
		mixture, err := problem.ReadMixture(path, of.Process)
		if err != nil { // it may be for another threshold
			first = cmp.Or(first, err)
			return nil
		}
		var read []Drawn
		for _, c := range mixture {
			read = append(read, Drawn{Weight: c.Weight, Policy: c.Policy})
		}
		missed := 0.0
		if each != q {
			returns, _, err := NewSimulation(of, read, 1, 1000).Expected(ctx)
			if err != nil {
				return err
			}
			missed = of.Task.Violation(returns)
		}
		if missed < least {
			best, policies, least = of, read, missed
		}
		return nil
	})
	if best == nil {
		err = cmp.Or(err, first)
	}
	return best, policies, err
}
