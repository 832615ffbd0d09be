package contest

import (
	"context"
	"fmt"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
	"cmdpsolve/cmdp/robust"
)

// A Log is a file of transitions that were seen, and says what is made of them.
type Log struct {
	Path string
	// Pool has counts shared by all steps, Returns has returns learned from the log, and Support takes from the model
	// which successors a choice can have.
	Pool, Returns, Support bool
}

// Read returns the counts of the log, for learners and planners. What is wrong with the file is returned as
// [problem.Errors].
func (l *Log) Read(of *problem.Process) (*cmdp.Counts, problem.LogSize, error) {
	if of == nil || of.Model == nil {
		return nil, problem.LogSize{}, fmt.Errorf("log %s: no problem with a model that it is about", l.Path)
	}
	sh := of.Model.Shape()
	if sh == nil {
		env, err := cmdp.NewEndless(of.Model)
		if err != nil {
			return nil, problem.LogSize{},
				fmt.Errorf("log %s: a log is of episodes or of an endless run, and the problem asks for totals", l.Path)
		}
		sh = env.Shape()
	}
	var confidence *cmdp.ReturnConfidence
	if l.Returns {
		confidence = cmdp.NewReturnConfidence(sh, 0, 0) // learners have their own
	}
	counts, err := cmdp.NewCounts(sh, l.Pool, confidence)
	if err != nil {
		return nil, problem.LogSize{}, fmt.Errorf("log %s: %w", l.Path, err)
	}
	size, err := problem.ReadLog(l.Path, of, counts, problem.LogOptions{Returns: l.Returns, Support: l.Support})
	return counts, size, err
}

// Plan plans from the counts of [Log.Read] for limits that hold in a share of at least level of the models that they
// leave possible, see [baseline.PlanCredibly]. The problem has a horizon and one player.
func (l *Log) Plan(ctx context.Context, q *query.Query, counts *cmdp.Counts, level float64, models int,
	seed uint64) (*baseline.Credible, error) {
	cfg, _, err := Told(q, !l.Returns, l.Support)
	if err != nil {
		return nil, err
	}
	cfg.Pooled, cfg.Prior, cfg.Seed = l.Pool, counts, seed
	return baseline.PlanCredibly(ctx, cfg, level, models)
}

// Intervals returns the problem with probabilities that are known up to intervals, which are all right with
// probability level, see [robust.FromCounts]. The counts are those of [Log.Read] for a process without memory.
func (l *Log) Intervals(p *problem.Problem, counts *cmdp.Counts, level float64) (*problem.Problem, *robust.Confidence,
	error) {
	m, iv, known, err := robust.FromCounts(p.Model, counts, l.Pool, level)
	if err != nil {
		return nil, nil, err
	}
	return p.WithModel(m).WithIntervals(iv), known, nil
}
