package contest

import (
	"context"
	"errors"
	"fmt"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/internal/saved"
)

// BestEstimate returns the best policy by what the learner of a run has seen, its log included,
// and whether it keeps the target there: if not, it comes as near as any policy. The model it is
// planned on has the shares in which successors followed, and mean returns. Actions that were
// never taken are left out; in states that were never seen the policy draws them evenly.
func (r *Run) BestEstimate(ctx context.Context) (policy *cmdp.Randomized, feasible bool, err error) {
	l, ok := r.Learner.(interface{ Counts() *cmdp.Counts })
	if !ok || r.opponent != nil {
		return nil, false, fmt.Errorf("contest: %s keeps no counts of one player's choices to plan on", r.Entrant.Name)
	}
	e := &estimate{shape: r.shape, counts: l.Counts(), returns: r.cfg.Returns, endless: r.cfg.Endless}
	m, err := e.model()
	if err != nil {
		return nil, false, err
	}
	best, err := baseline.BestOrNearest(ctx, m, r.Task, exact.Options{})
	if err != nil {
		return nil, false, err
	}
	policy, err = e.policy(best.Policy)
	return policy, best.Violation <= best.Tolerance, err
}

// An estimate plays a policy of the model that is estimated from counts.
type estimate struct {
	shape   *cmdp.Shape
	counts  *cmdp.Counts
	returns *cmdp.Returns // nil if they are learned
	endless *baseline.Endless
	taken   [][][]int // of each kernel and state, the actions of the model
}

func (e *estimate) model() (*cmdp.Model, error) {
	steps := e.shape.Horizon()
	if e.counts.Pooled() && (e.returns == nil || e.returns.Stationary()) {
		steps = 1
	}
	kernels := make([]cmdp.Kernel, steps)
	for h := range kernels {
		kernels[h] = e.kernel(h)
	}
	return baseline.NewModel(e.shape, e.endless, kernels)
}

// kernel has the choices of step h that were taken.
func (e *estimate) kernel(h int) cmdp.Kernel {
	k := cmdp.Kernel{First: make([]int32, 1, e.shape.States()+1), Offset: make([]int, 1)}
	mean := make([]float64, e.shape.Dim())
	taken := make([][]int, e.shape.States())
	for s := range taken {
		first, end := e.shape.Choices(h, s)
		for a := range end - first {
			visits := float64(e.counts.Visits(h, s, a))
			if visits == 0 {
				continue
			}
			taken[s] = append(taken[s], a)
			before := len(k.Prob)
			k.Next, k.Prob = e.counts.AppendSuccessors(k.Next, k.Prob, h, s, a)
			for i := before; i < len(k.Prob); i++ {
				k.Prob[i] /= visits
			}
			k.Offset = append(k.Offset, len(k.Next))
			if e.returns != nil {
				copy(mean, e.returns.At(h, first+a))
			} else {
				e.counts.MeanReturn(mean, h, s, a)
			}
			k.Returns = append(k.Returns, mean...)
		}
		k.First = append(k.First, int32(len(k.Offset)-1))
	}
	e.taken = append(e.taken, taken)
	return k
}

// policy spells the best policy of the model out for all choices.
func (e *estimate) policy(best cmdp.Policy) (*cmdp.Randomized, error) {
	return tabulate(e.shape, func(dst []float64, h, s int) {
		taken := e.taken[min(h, len(e.taken)-1)][s]
		if taken == nil {
			cmdp.Uniform{}.Distribution(dst, h, s)
			return
		}
		probs := make([]float64, len(taken))
		best.Distribution(probs, h, s)
		for i, a := range taken {
			dst[a] = probs[i]
		}
	})
}

// tabulate returns the policy with the given distribution at each step of each state, for
// which dst is all zero.
func tabulate(sh *cmdp.Shape, distribution func(dst []float64, h, s int)) (*cmdp.Randomized, error) {
	probs := make([][]float64, sh.Horizon())
	for h := range probs {
		probs[h] = make([]float64, sh.StepChoices(h))
		for s := range sh.States() {
			if from, end := sh.Choices(h, s); from < end {
				distribution(probs[h][from:end], h, s)
			}
		}
	}
	return cmdp.NewRandomized(sh.AgentOffsets(), probs)
}

// Mixture returns a policy that does in each state at each step what the run did there so far, in
// the same shares. Up to chance it has the returns of the mixture of all policies played, of which
// one is drawn at the start of an episode; these are what guarantees on mean returns are
// about. otherwise says what to do where the run never came. The contest must have [PrepareOptions.Mixture].
func (r *Run) Mixture(otherwise cmdp.Policy) (*cmdp.Randomized, error) {
	if r.actions == nil {
		return nil, errors.New("contest: a mixture of a run whose actions were not counted")
	}
	return tabulate(r.shape, func(dst []float64, h, s int) {
		visits := 0.0
		for a := range dst {
			dst[a] = float64(r.actions.counts.Visits(h, s, a))
			visits += dst[a]
		}
		if visits == 0 {
			otherwise.Distribution(dst, h, s)
			return
		}
		for a := range dst {
			dst[a] /= visits
		}
	})
}

// An actionCounter is played in the place of a learner, and counts the actions of each step by
// themselves, which a learner may pool.
type actionCounter struct {
	saved.State
	cmdp.Learner
	counts *cmdp.Counts
}

// Observe counts an episode and passes it on.
func (c *actionCounter) Observe(tr *cmdp.Trajectory) {
	c.counts.Observe(tr)
	c.Learner.Observe(tr)
}

// Unwrap returns the learner.
func (c *actionCounter) Unwrap() cmdp.Learner { return c.Learner }

// MostEpisodes returns that of the learner, see [cmdp.Limited].
func (c *actionCounter) MostEpisodes() int { return cmdp.MostEpisodes(c.Learner) }
