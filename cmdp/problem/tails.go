package problem

import "cmdpsolve/cmdp/exact"

// thresholds visits each choice of the thresholds of the Tails: a policy keeps constraints on the mean of the worst episodes if it
// keeps those of one choice. Where no total keeps a bound the bound stands for them. Without tails there is one choice, which is nil.
func (p *Problem) thresholds(visit func(thresholds []float64) error) error {
	if p.Memory == nil || len(p.Memory.Tails) == 0 {
		return visit(nil)
	}
	at := make([]int, len(p.Memory.Tails))
	for {
		chosen := make([]float64, len(at))
		for i, tail := range p.Memory.Tails {
			if chosen[i] = tail.Bound; len(tail.Thresholds) > 0 {
				chosen[i] = tail.Thresholds[at[i]]
			}
		}
		if err := visit(chosen); err != nil || !next(at, p.Memory.Tails) {
			return err
		}
	}
}

// At returns the problem as it was asked, with thresholds for its Tails; p itself if they are nil.
func (p *Problem) At(thresholds []float64) (*Problem, error) {
	if thresholds == nil {
		return p, nil
	}
	chosen := p.Memory.options
	chosen.Thresholds = thresholds
	return p.Unfold(chosen)
}

// EachThreshold visits the problem with each choice of the thresholds of its Tails. A problem without tails is visited as it is.
func (p *Problem) EachThreshold(visit func(*Problem) error) error {
	return p.thresholds(func(thresholds []float64) error {
		q, err := p.At(thresholds)
		if err != nil {
			return err
		}
		return visit(q)
	})
}

// BestThresholds returns what plan makes of the problem with the thresholds of its Tails that have the best optimum, and that
// optimum. If no thresholds allow a policy, it takes those that miss the limits least. All of them are tried, each with a plan of
// its own: constraints on the mean of the worst episodes do not make a convex problem. plan makes the problem with [Problem.At] and
// solves it; it returns a nil problem to leave thresholds out, and if it leaves out all of them, so does BestThresholds. A problem
// without tails is planned for once, with nil.
func (p *Problem) BestThresholds(plan func(thresholds []float64) (*Problem, *exact.Result, error)) (best *Problem, found *exact.Result, err error) {
	err = p.thresholds(func(thresholds []float64) error {
		q, r, err := plan(thresholds)
		if err == nil && q != nil && (found == nil || better(r, found)) {
			best, found = q, r
		}
		return err
	})
	return best, found, err
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
