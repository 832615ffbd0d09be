package baseline

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/markov"

	"gonum.org/v1/gonum/floats"
)

// Endless says that there are no episodes but one run, see [cmdp.Endless]: what a learner observes are its steps, of
// which Confidence.Episodes is the number, and Shape is that of a step.
type Endless struct {
	// Discount is 1 if long-run means are wanted. If it is less, discounted returns are wanted, and the run starts
	// anew after each step with probability 1 − Discount.
	Discount float64
}

func (e *Endless) check(sh *cmdp.Shape) error {
	switch {
	case !(e.Discount > 0 && e.Discount <= 1):
		return fmt.Errorf("baseline: endless run with discount %g: want above 0 and at most 1", e.Discount)
	case sh.Horizon() != 1:
		return fmt.Errorf("baseline: endless run with horizon %d: want the shape of a step", sh.Horizon())
	}
	return nil
}

// fits returns an error if an algorithm does not play with or without episodes, as the problem has it.
func (c *Config) fits(a *Algorithm) error {
	switch {
	case c.Endless == nil && a.NoEpisodes:
		return unsupported(a.Name, "it learns in one run without end, and the problem has episodes")
	case c.Endless != nil && !a.Endless:
		return unsupported(a.Name, "it learns by episodes, and the problem has none")
	case c.Endless != nil && a.NoEpisodes && c.Endless.Discount < 1:
		return unsupported(a.Name, "it is for long-run means, and the problem has a discount")
	}
	return nil
}

// NewModel makes a model of kernels that were drawn or estimated for a learner of the given shape. For an
// endless run it takes over the returns of the kernel, and changes them where there is a discount.
func NewModel(shape *cmdp.Shape, endless *Endless, kernels []cmdp.Kernel) (*cmdp.Model, error) {
	switch {
	case shape == nil:
		return nil, errors.New("baseline: no shape")
	case len(kernels) == 0 || endless != nil && len(kernels) > 1:
		return nil, fmt.Errorf("baseline: %d kernels: want one, or with a horizon one for each step", len(kernels))
	}
	return newModel(shape, endless, shape.StartStates(), kernels)
}

// newModel is NewModel with other first states.
func newModel(shape *cmdp.Shape, endless *Endless, start []cmdp.StartState,
	kernels []cmdp.Kernel) (*cmdp.Model, error) {
	spec := cmdp.ModelSpec{Dim: shape.Dim(), Start: start, Kernels: kernels}
	switch {
	case endless == nil:
		spec.Horizon = shape.Horizon()
	case endless.Discount == 1:
		spec.Average = true
	default:
		// The returns of a step are those of the model over 1 − γ.
		spec.Discount = endless.Discount
		floats.Scale(1-endless.Discount, kernels[0].Returns)
	}
	return cmdp.NewModel(spec)
}

// A course is where an endless run is, and for how long it has followed its policy.
type course struct {
	*core
	endless *Endless
	known   []bool  // states that were met
	share   float64 // of the goal of plans, see goalShare: 1 for scaled signals
	x       courseState
}

type courseState struct {
	At     int // the state, −1 before the first step
	Start  int // step at which the policy was chosen
	Length int // steps that the policy before was followed
	Visits []float64
}

// newCourse returns a course before the first step, which is saved with c.
func newCourse(c *core, endless *Endless) *course {
	run := &course{core: c, endless: endless, known: make([]bool, c.states), share: 1}
	run.x = courseState{At: -1, Visits: c.visits()}
	c.Keep(&run.x.At, &run.x.Start, &run.x.Length, &run.x.Visits, &run.known)
	return run
}

// begin remembers that a policy is chosen now.
func (r *course) begin() {
	r.x.Length = r.state.Episodes - r.x.Start
	r.x.Start = r.state.Episodes
	r.x.Visits = r.visits()
}

// step follows the run.
func (r *course) step(tr *cmdp.Trajectory) {
	r.known[tr.States[0]] = true
	r.x.At = tr.States[tr.Steps]
	r.known[r.x.At] = true
}

// doubled reports whether the visits of the choice that a step took are more than twice those when the policy
// was chosen.
func (r *course) doubled(tr *cmdp.Trajectory) bool {
	if tr.Steps == 0 || tr.Actions[0] < 0 {
		return false
	}
	i := r.index(slot{0, tr.States[0], tr.Actions[0]})
	return r.layer(0)[i].visits > 2*r.x.Visits[i]
}

// from is where a plan for the rest of the run begins. With a discount it is where the run starts anew. Else it
// is anywhere that the run has been, so that the plan says what to do in all those states: in a model in which all
// states lead to each other the means do not depend on it.
func (r *course) from() (start []cmdp.StartState) {
	if r.endless.Discount < 1 {
		return r.start
	}
	n := 0
	for _, met := range r.known {
		if met {
			n++
		}
	}
	if n == 0 {
		return r.start
	}
	for s, met := range r.known {
		if met {
			start = append(start, cmdp.StartState{State: s, Probability: 1 / float64(n)})
		}
	}
	return start
}

// plan makes the policy of the run that of a plan for m. Without a model, for the error err, and where no policy keeps
// the task, actions are drawn evenly.
func (r *course) plan(m *cmdp.Model, err error, task cmdp.Task, rng *rand.Rand) {
	r.state.Work.Programs++
	var result *exact.Result
	var policy *exact.Policy
	if err == nil {
		result, policy, err = planEndless(r.ctx, m, task, endlessOptions(r.state.Episodes, r.share), rng)
		r.ended(err)
	}
	if err != nil || result.Status == exact.Infeasible {
		r.state.Work.Infeasible++
		r.policy.explore()
		return
	}
	r.state.Work.Planner += result.Iterations
	r.follow(m, policy)
}

// follow makes the policy of the run that of a plan for m. Where the plan never comes, actions are drawn evenly.
func (r *course) follow(m *cmdp.Model, plan *exact.Policy) {
	reached := markov.ReachedBy(m, plan)
	for s := range r.states {
		row := r.policy.row(0, s)
		switch {
		case len(row) == 0:
		case reached[s]:
			plan.Distribution(row, 0, s)
		default:
			r.policy.even(0, s)
		}
	}
}

// planEndless solves a task on a model of an endless run. Where a mixture of policies is best, since not all states
// lead to each other, the policy is drawn from it.
func planEndless(ctx context.Context, m *cmdp.Model, task cmdp.Task, opts exact.Options,
	rng *rand.Rand) (r *exact.Result, policy *exact.Policy, err error) {
	opts.Gap = reachableGap(task, opts.Gap)
	r, err = bestOrNearest(ctx, m, task, opts)
	if err != nil {
		return nil, nil, err
	}
	policy = r.Policy
	if policy == nil && len(r.Mixture) > 0 {
		u := rng.Float64()
		for _, c := range r.Mixture {
			policy = c.Policy
			u -= c.Weight
			if u < 0 {
				break
			}
		}
	}
	if policy == nil {
		return nil, nil, errNoPolicy
	}
	return r, policy, nil
}
