package problem

import (
	"context"

	"cmdpsolve/cmdp/exact"
)

// EachThreshold visits the problem with each choice of the thresholds of its Tails: a policy keeps constraints on the mean
// of the worst episodes if it keeps those of one choice. A problem without tails, or of which no total keeps a bound, is
// visited as it is.
func (p *Problem) EachThreshold(visit func(*Problem) error) error {
	if p.Memory == nil || len(p.Memory.Tails) == 0 {
		return visit(p)
	}
	at := make([]int, len(p.Memory.Tails))
	for {
		chosen := p.Memory.options
		chosen.Thresholds = make([]float64, len(at))
		for i, tail := range p.Memory.Tails {
			if len(tail.Thresholds) == 0 {
				return visit(p)
			}
			chosen.Thresholds[i] = tail.Thresholds[at[i]]
		}
		q, err := p.Unfold(chosen)
		if err != nil {
			return err
		}
		if err := visit(q); err != nil || !next(at, p.Memory.Tails) {
			return err
		}
	}
}

// BestThresholds returns the problem with the thresholds of its Tails that have the best optimum. If no thresholds
// allow a policy, it takes those that miss the limits least. All of them are tried, each with a plan of its own:
// constraints on the mean of the worst episodes do not make a convex problem. A problem without tails is returned
// as it is. If change is not nil, what it makes of the problem with each threshold is planned for and returned; it
// returns nil to leave one out.
func (p *Problem) BestThresholds(ctx context.Context, opts exact.Options, change func(*Problem) *Problem) (*Problem, error) {
	if p.Memory == nil || len(p.Memory.Tails) == 0 {
		return p, nil
	}
	best, found := p, (*exact.Result)(nil)
	err := p.EachThreshold(func(q *Problem) error {
		if change != nil {
			if q = change(q); q == nil {
				return nil
			}
		}
		task, err := q.Task()
		if err != nil {
			return err
		}
		r, err := exact.Solve(ctx, q.Model, task, opts)
		if err == nil && (found == nil || better(r, found)) {
			best, found = q, r
		}
		return err
	})
	return best, err
}

// better reports whether an answer is better than another: a policy that keeps all limits before none.
func better(r, than *exact.Result) bool {
	keeps := r.Status == exact.Optimal || r.Status == exact.Unbounded
	kept := than.Status == exact.Optimal || than.Status == exact.Unbounded
	switch {
	case keeps != kept:
		return keeps
	case !keeps:
		return r.Violation < than.Violation
	case r.Status != than.Status:
		return r.Status == exact.Unbounded
	}
	return r.Objective < than.Objective-than.Gap
}

// next goes on to the next thresholds and reports whether there are any.
func next(at []int, tails []Tail) bool {
	for i := range at {
		if at[i]++; at[i] < len(tails[i].Thresholds) {
			return true
		}
		at[i] = 0
	}
	return false
}
