// Package query compiles a problem into a question that can be answered: the model with what must be
// remembered along the way, the task that package exact plans for and learners learn, and limits in the user's
// words that know what they came to in that model. A query that is varied shares the model where it can.
package query

import (
	"context"
	"errors"
	"iter"
	"time"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/monitor"
	"cmdpsolve/cmdp/problem"
)

// A Query is a compiled problem. It is immutable and safe for concurrent use.
type Query struct {
	// Problem is what is asked, as a file says it.
	Problem *problem.Problem
	// Process is the model that is planned for, whose states remember what limits and returns need of the
	// course of episodes, and the names of its states, actions and returns. Returns that tell about limits
	// follow those of the problem.
	*problem.Process
	// Limits are what has to be kept, those of constraints in the order of the file, each with its lower bound
	// before its upper one, then the sides by which the target is known.
	Limits []*Limit
	// Task is goal, limits and target for the solver.
	Task cmdp.Task
	// Notes are sentences about limits that say something else than they seem to.
	Notes []string

	compiled  *compiled
	family    *family
	options   Options
	elsewhere *bounds // at all thresholds of the worst episodes, nil where these are not known to be the best
}

// Options say how the course of episodes is remembered.
type Options struct {
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

	relaxed bool // totals are rounded to the side that no limit keeps for certain
}

// New compiles a problem. It is an error, wrapping [geometry.ErrEmpty], if limits contradict each other, or if a
// target set, or in a game a limit, does not meet the box of possible returns; the query that is returned with it
// has no target and says which limits there are. What is wrong with a problem that was read from a file is
// returned as [problem.Errors], with lines.
func New(ctx context.Context, p *problem.Problem, opts Options) (*Query, error) {
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

// Planner returns the planner of the model, which the queries that share the model share. It is for one player.
func (q *Query) Planner() (*exact.Planner, error) { return q.compiled.planner() }

// Solve plans for a query with one player. It starts from the policies that were found for queries of the same model.
// Where totals are rounded, the policy is that of the rounded problem, and bound, gap and status are about all policies
// of the exact one: the answer is Stopped where the gap is wider than was asked for, and Undecided where only rounded
// totals prove that no policy keeps the limits. An Infeasible answer then has no certificate.
func (q *Query) Solve(ctx context.Context, opts exact.Options) (*exact.Result, error) {
	begin := time.Now()
	if q.Rounded() {
		opts.Early = nil
	}
	planner, err := q.Planner()
	if err != nil {
		return nil, err
	}
	r, err := planner.Solve(ctx, q.Task, opts)
	if err != nil {
		return nil, err
	}
	r = q.elsewhere.widen(r)
	if !q.Rounded() {
		return r, nil
	}
	return q.settle(ctx, r, opts, begin)
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
func (q *Query) Remembering(product *monitor.Product) (*Query, error) {
	if product == nil {
		return q, nil
	}
	var sets [][]bool
	for _, m := range product.Monitors() {
		taken, ok := m.(*monitor.ChoiceTaken)
		if !ok || product.Base() != q.Model {
			return nil, errors.New("query: want the product of an answer for the model of the query")
		}
		sets = append(sets, taken.Choices)
	}
	process, err := q.Process.Remembering(sets)
	if err != nil {
		return nil, err
	}
	of := *q
	of.Process = process
	return &of, nil
}

// reading returns the query whose process remembers what a policy file does.
func (q *Query) reading(path string) (*Query, error) {
	process, err := problem.PolicyProcess(path, q.Process)
	if err != nil || process == q.Process {
		return q, err
	}
	of := *q
	of.Process = process
	return &of, nil
}

// PlanRows returns the rows of a policy file for an answer of exact planning: of its policy or, where there is
// none, of its components.
func (q *Query) PlanRows(policy *exact.Policy, components []exact.WeightedPolicy) iter.Seq[problem.PolicyRow] {
	if policy != nil {
		return q.PolicyRows(policy, problem.Agent)
	}
	return func(yield func(problem.PolicyRow) bool) {
		for i, c := range components {
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
	q, err := New(ctx, p, Options{})
	if err != nil {
		return cmdp.Task{}, err
	}
	return q.Task, nil
}
