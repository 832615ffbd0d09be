// Package query compiles a problem into a question that can be answered: the model with what must be
// remembered along the way, the task that package exact plans for and learners learn, and limits in the user's
// words that know what they came to in that model. A query that is varied shares the model where it can.
package query

import (
	"context"
	"errors"
	"iter"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/monitor"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/geometry"
)

// A Query is a compiled problem. It is immutable and safe for concurrent use.
type Query struct {
	// Problem is what is asked, as a file says it.
	Problem *problem.Problem
	// Process is the model that is planned for, whose states remember what limits and returns need of the
	// course of episodes, and the names of its states, actions and returns. Returns that tell about limits
	// follow those of the problem.
	*problem.Process
	// Product is the model with what is remembered, nil if nothing is, and then says so itself.
	Product *monitor.ProductModel
	// Limits are what has to be kept, those of constraints in the order of the file, each with its lower bound
	// before its upper one, then the sides by which the target is known.
	Limits []*Limit
	// Task is goal, limits and target for the solver.
	Task cmdp.Task
	// Notes are sentences about limits that say something else than they seem to.
	Notes []string

	compiled  *compiled
	family    *family
	options   CompileOptions
	elsewhere *bounds        // at all thresholds of the worst episodes, nil where these are not known to be the best
	found     *exact.Result  // at those of the query, by the search that knows the bounds, nil if there is none
	resumed   *exact.Planner // with which that was stopped, nil for the one of the model
}

// CompileOptions say how the course of episodes is remembered.
type CompileOptions struct {
	// Resolution is the grid for the total of a return. The total is rounded to it,
	// down and up, unless the values of the return are multiples of something as large.
	// 0 rounds nothing.
	Resolution float64
	// Thresholds are where the worst episodes are taken to begin, one for each constraint with cvar; nil stands
	// for the bounds themselves, which asks too much. [Query.Best] finds the best ones.
	Thresholds []float64
	// Workers bounds the goroutines of a value iteration, 0 stands for GOMAXPROCS.
	Workers int
	// Bytes bounds the memory of the product, and Generate says from how many pairs on its rows are not stored, see
	// [monitor.Spec].
	Bytes, Generate int
	// Soft offers every choice. What has to hold in every episode is then a limit on the chance of breaking it.
	Soft bool

	relaxed bool            // totals are rounded to the side that no limit keeps for certain
	larger  map[string]bool // whether more of a return is better, where that is not what goal and limits say
	// totals that worst episodes may begin at, of those that another model of the same episodes has listed
	totals map[tail]func(bound float64) []float64
}

// New compiles a problem. It is an error, wrapping [geometry.ErrEmpty], if limits contradict each other, or if a
// target set, or in a game a limit, does not meet the box of possible returns; the query that is returned with it
// has no target and says which limits there are. What is wrong with a problem that was read from a file is
// returned as [problem.Errors], with lines.
func New(ctx context.Context, p *problem.Problem, opts CompileOptions) (*Query, error) {
	if p == nil || p.Model == nil && p.Simulated == nil && p.Fleet == nil {
		return nil, errors.New("query: want a problem with a model, a fleet or a simulator")
	}
	return (&family{declared: len(p.Returns), opts: opts}).compile(ctx, p, opts.Thresholds)
}

// At compiles the problem with other thresholds of the worst episodes; it returns q itself if they are nil.
func (q *Query) At(ctx context.Context, thresholds []float64) (*Query, error) {
	if thresholds == nil {
		return q, nil
	}
	return q.family.compile(ctx, q.Problem, thresholds)
}

// A compiled problem has the model that is planned for. It serves all queries that ask no
// more of episodes than the model tells.
type compiled struct {
	process  *problem.Process
	product  *monitor.ProductModel // nil if nothing is remembered
	declared int                   // how many returns cost and target of the problem are about
	of       *problem.Problem
	soft     bool
	wanted   []wanted // before some of it was made soft
	rounded  []bool   // see unfolding
	inexact  bool     // see unfolding
	totals   map[tail]func(bound float64) []float64
	notes    []string
	ranges   ranges
	fleet    *Fleet // nil for one agent
	planner  func() (*exact.Planner, error)
}

// A family has the compiled problems of queries that come from one another. It is safe for concurrent use.
type family struct {
	declared int // how many returns cost and target of the first problem are about
	opts     CompileOptions

	mu     sync.Mutex
	free   *family // of the questions with totals rounded to the other side, see certification
	rows   *family // of the same questions with all rows stored, once one needs them
	kept   []*compiled
	stored int // transitions of all of them
}

// mostStored bounds the transitions of the models that a family keeps besides the first.
const mostStored = 20_000_000

// compile returns the query for a problem, with a model that is kept where one tells all that the limits need.
func (f *family) compile(ctx context.Context, p *problem.Problem, thresholds []float64) (*Query, error) {
	if rows := f.storedRows(false); rows != nil {
		return rows.compile(ctx, p, thresholds)
	}
	opts := f.opts
	opts.Thresholds = thresholds
	c, u, err := f.modelFor(ctx, p, opts)
	if err != nil {
		return nil, p.Located(err)
	}
	q := &Query{Problem: p, Process: c.process, Product: c.product, Limits: u.limits, Notes: c.notes, compiled: c,
		family: f, options: opts}
	nameApart(q.Limits, p)
	err = c.numberLimits(p, q.Limits, opts.relaxed)
	if err == nil {
		q.Task, q.Limits, err = c.task(ctx, p, q.Limits)
	}
	if err != nil && !errors.Is(err, geometry.ErrEmpty) {
		return nil, p.Located(err)
	}
	if err == nil {
		return q.solvable(ctx)
	}
	return q, p.Located(err)
}

// solvable returns the query with a model in which its task, or the trade-off between some directions, is solved:
// itself, or one with stored rows where epochs are not solved.
func (q *Query) solvable(ctx context.Context, over ...[]float64) (*Query, error) {
	if q.Model == nil || q.Model.Epochs() == nil {
		return q, nil
	}
	planner, err := q.Planner()
	if err != nil {
		return nil, err
	}
	solves, err := planner.SolvesEpochs(ctx, q.Task, over...)
	if err != nil || solves {
		return q, err
	}
	return q.family.storedRows(true).compile(ctx, q.Problem, q.options.Thresholds)
}

// storedRows returns the family with all rows stored. It is made if that is wanted; nil says that there is none.
func (f *family) storedRows(wanted bool) *family {
	f.mu.Lock()
	defer f.mu.Unlock()
	if wanted && f.rows == nil {
		opts := f.opts
		opts.Generate = 0
		f.rows = &family{declared: f.declared, opts: opts}
	}
	return f.rows
}

// modelFor returns a model that tells all that the limits of a problem need, and its unfolding.
func (f *family) modelFor(ctx context.Context, p *problem.Problem, opts CompileOptions) (*compiled, *unfolding, error) {
	f.mu.Lock()
	kept := slices.Clone(f.kept)
	f.mu.Unlock()
	for _, c := range kept {
		u, ok, err := c.serves(p, opts)
		if ok || err != nil {
			return c, u, err
		}
		if c.sameEpisodes(p) {
			opts.totals = c.totals
		}
	}
	build := compile
	if p.Fleet != nil {
		build = compileFleet
	}
	c, u, err := build(ctx, p, opts, f.declared)
	if err == nil {
		f.keep(c)
	}
	return c, u, err
}

// keep keeps a compiled problem, if there is room.
func (f *family) keep(c *compiled) {
	if c.process.Model == nil && c.fleet == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n := c.transitions()
	if len(f.kept) == 0 || f.stored+n <= mostStored {
		f.kept, f.stored = append(f.kept, c), f.stored+n
	}
}

// transitions counts those of all models.
func (c *compiled) transitions() int {
	if c.fleet == nil {
		return c.process.Model.Transitions()
	}
	n := 0
	for _, t := range c.fleet.Types {
		n += t.Model.Transitions()
	}
	return n
}

// compile builds the model of a problem. declared is how many of its returns cost and target are about.
func compile(ctx context.Context, p *problem.Problem, opts CompileOptions, declared int) (*compiled, *unfolding,
	error) {
	u, err := unfold(p, opts, nil, opts.Soft)
	if err != nil {
		return nil, nil, err
	}
	c := &compiled{declared: declared, of: p, soft: opts.Soft, wanted: u.wanted, rounded: u.rounded, totals: u.totals}
	c.planner = sync.OnceValues(func() (*exact.Planner, error) {
		return exact.NewPlanner(c.process.Model, opts.Workers)
	})
	if p.Model == nil || !p.Episodic() {
		c.process = p.Process()
		return c, u, nil
	}
	if sh := p.Model.Shape(); sh != nil && sh.Game() {
		return nil, nil, errors.New("returns and constraints about the course of an episode are for problems with one player")
	}
	if err := u.build(ctx, c); err != nil {
		return nil, nil, err
	}
	worst := c.product.Losing
	if worst == nil {
		return c, u, nil
	}
	// No policy keeps in every episode what it should. The least probability of failing, which is to be 0,
	// proves it.
	note := "Starting in " + p.StateName(worst.State) + ", every policy may come to break " + enforced(u.limits)
	if u.inexact {
		note += " as totals are rounded"
	}
	note += "."
	soft, err := unfold(p, opts, nil, true)
	if err != nil {
		return nil, nil, err
	}
	soft.notes, c.soft = []string{note}, true
	return c, soft, soft.build(ctx, c)
}

// enforced names the limits that decide which choices the model offers.
func enforced(limits []*Limit) string {
	var names []string
	for _, l := range limits {
		if l.Enforced() {
			names = append(names, l.Name)
		}
	}
	return strings.Join(names, " or ")
}

// serves unfolds another problem, and reports whether the model tells all that it needs.
func (c *compiled) serves(p *problem.Problem, opts CompileOptions) (u *unfolding, ok bool, err error) {
	if c.fleet != nil {
		return c.servesFleet(p, opts)
	}
	if !c.sameEpisodes(p) {
		return nil, false, nil
	}
	u, err = unfold(p, opts, c, opts.Soft)
	if err != nil {
		return nil, false, err
	}
	if !covers(c.wanted, u.wanted, opts) || !slices.Equal(c.rounded, u.rounded) {
		return nil, false, nil
	}
	if c.soft {
		u, err = unfold(p, opts, c, true)
	}
	return u, err == nil, err
}

// sameEpisodes reports whether another problem has the same returns of the same model.
func (c *compiled) sameEpisodes(p *problem.Problem) bool {
	return c.fleet == nil && p.Model == c.of.Model && slices.Equal(p.Returns, c.of.Returns) &&
		reflect.DeepEqual(p.Kinds, c.of.Kinds)
}

// covers reports whether a model that was built for have answers want too. Both have to enforce the same.
func covers(have, want []wanted, opts CompileOptions) bool {
	in := func(list []wanted, w wanted) bool {
		return slices.ContainsFunc(list, func(x wanted) bool {
			return x.of == w.of && x.limit == w.limit && x.name == w.name &&
				(x.large == w.large || opts.Resolution == 0)
		})
	}
	for _, w := range want {
		if !in(have, w) {
			return false
		}
	}
	for _, w := range have {
		if w.limit.Enforced && !in(want, w) {
			return false
		}
	}
	return true
}

// Planner returns the planner of the model, which the queries that share the model share. It is for one player.
func (q *Query) Planner() (*exact.Planner, error) {
	if q.resumed != nil {
		return q.resumed, nil
	}
	return q.compiled.planner()
}

// Solve plans for a query with one player. It starts from the policies that were found for queries of the same model.
// Where totals are rounded, the policy is that of the rounded problem, and bound, gap and status are about all policies
// of the exact one: the answer is Stopped where the gap is wider than was asked for, and Undecided where only rounded
// totals prove that no policy keeps the limits. An Infeasible answer then has no certificate.
func (q *Query) Solve(ctx context.Context, opts exact.Options) (*exact.Result, error) {
	begin := time.Now()
	if q.Rounded() {
		opts.Early = nil
	}
	r, err := q.solveHere(ctx, opts)
	if err != nil {
		return nil, err
	}
	r = q.elsewhere.widen(r)
	if !q.Rounded() {
		return r, nil
	}
	return certification{q, opts, begin}.certify(ctx, r)
}

// solveHere solves the task of the query, unless the search for thresholds did. What that had no time for is taken up
// again, and stands if there is no time for better.
func (q *Query) solveHere(ctx context.Context, opts exact.Options) (*exact.Result, error) {
	if q.found != nil && (q.suffices(q.found, opts) || opts.Budget > 0 && opts.Budget < makingOf(q.found)) {
		return new(*q.found), nil
	}
	planner, err := q.Planner()
	if err != nil {
		return nil, err
	}
	r, err := planner.Solve(ctx, q.Task, opts)
	if err == nil && q.found != nil && r.Status == exact.Stopped && better(q.found, r) {
		return new(*q.found), nil
	}
	return r, err
}

// makingOf is how long a policy of an answer was made and proved, which it is again whenever there is a better one.
func makingOf(r *exact.Result) (took time.Duration) {
	for _, p := range r.Phases {
		if p.Name != "solution" {
			took += p.Time
		}
	}
	return took
}

// suffices reports whether an answer of the search for thresholds, which asks for the usual gap, is all that options
// ask for.
func (q *Query) suffices(r *exact.Result, opts exact.Options) bool {
	switch {
	case opts.Feasibility > 0 || opts.Iterations > 0 && opts.Iterations < r.Iterations:
		return false
	case r.Status == exact.Infeasible: // without a horizon the search makes no policy
		return opts.NoNearest == (q.Horizon() == 0)
	case r.Status == exact.Optimal && opts.JoinGap > 0 && r.Joined == nil && len(r.Branches) > 1:
		return false // its classes may be joined within another gap
	case r.Status == exact.Optimal && r.Joined != nil:
		gap := max(opts.Gap, opts.JoinGap)
		return gap == 0 || r.Gap <= gap*math.Abs(r.Objective)
	case r.Status == exact.Optimal:
		return opts.Gap == 0 || r.Gap <= opts.Gap*math.Abs(r.Objective)
	}
	return r.Status == exact.Unbounded
}

// SecondOpinion asks GLPK about the explicit program of a query, see [exact.SecondOpinion]; of a fleet it is
// that of all types together.
func (q *Query) SecondOpinion(ctx context.Context) (*exact.Opinion, error) {
	if f := q.Fleet(); f != nil {
		return f.planner.SecondOpinion(ctx, q.Task)
	}
	return exact.SecondOpinion(ctx, q.Model, q.Task)
}

// Remembering returns the query whose process remembers what the policies of an answer do, see
// [exact.Result.Product]: the query itself where that is nil.
func (q *Query) Remembering(product *monitor.ProductModel) (*Query, error) {
	if product == nil {
		return q, nil
	}
	of := q
	if base := product.Base(); q.Model != nil && q.Model.Epochs() != nil && base.States() == q.Model.States() {
		stored, inner := *q, *q.Product // rows were stored for the answer, states and choices have the same numbers
		inner.Model = base
		stored.Product, stored.Process = &inner, processOf(q.Problem, &inner, q.Returns)
		of = &stored
	}
	var sets [][]bool
	for _, m := range product.Monitors() {
		taken, ok := m.(*monitor.ChoiceTaken)
		if !ok || product.Base() != of.Model {
			return nil, errors.New("query: want the product of an answer for the model of the query")
		}
		sets = append(sets, taken.Choices)
	}
	return of.withLoops(sets)
}

// PlanRows returns the rows of a policy file for an answer of exact planning: of its policy or, where there is
// none, of its mixture.
func (q *Query) PlanRows(policy *exact.Policy, mixture []exact.WeightedPolicy) iter.Seq[problem.PolicyRow] {
	if policy != nil {
		return q.PolicyRows(policy, problem.Agent)
	}
	return func(yield func(problem.PolicyRow) bool) {
		for i, c := range mixture {
			for row := range q.PolicyRows(c.Policy, problem.Agent) {
				row.Component, row.Weight = i+1, c.Weight
				if !yield(row) {
					return
				}
			}
		}
	}
}

// TaskOf returns the task of a problem, for callers who have its model already. The problem must need no memory.
func TaskOf(ctx context.Context, p *problem.Problem) (cmdp.Task, error) {
	if p != nil && p.Episodic() {
		return cmdp.Task{}, errors.New("query: the problem needs memory: want New, which also has the model with it")
	}
	q, err := New(ctx, p, CompileOptions{})
	if err != nil {
		return cmdp.Task{}, err
	}
	return q.Task, nil
}
