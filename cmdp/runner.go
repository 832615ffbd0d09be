package cmdp

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"cmdpsolve/cmdp/internal/saved"

	"gonum.org/v1/gonum/floats"
)

// A Runner lets a learner play an environment and keeps the mean return. It must
// not be used concurrently. It can be saved if its learner can, and restored into a runner of
// the same environment with a learner made of the same parts.
type Runner struct {
	saved.State
	env       Environment
	learner   Learner
	evaluator *Evaluator
	envPCG    *rand.PCG
	agentPCG  *rand.PCG
	envRNG    *rand.Rand
	agentRNG  *rand.Rand
	tr        *Trajectory
	value     []float64
	game      *gameRun     // nil without an opponent
	endless   *endlessRun  // nil with episodes
	changing  *Changing    // nil if returns stay
	against   Policy       // the opponent, if it is one
	failure   func() error // of an environment that can fail, else nil
	most      int          // episodes, 0 for any number
	episodes  int
	sum       []float64 // of realised returns
	expected  []float64 // of expected returns of the policies played, or nil
}

// NewRunner returns a runner at episode 0. The environment and the agent draw
// from separate streams of the seed. If evaluator is not nil, the exact expected
// return of every policy that is played is averaged too, which costs one
// evaluation of the model for each episode. It panics if environment or learner are
// missing, and for a model without a horizon, which has no episodes.
func NewRunner(env Environment, learner Learner, seed uint64, evaluator *Evaluator) *Runner {
	if env == nil || learner == nil {
		panic("cmdp: runner without an environment or without a learner")
	}
	sh := env.Shape()
	r := &Runner{env: env, learner: learner, evaluator: evaluator, tr: NewTrajectory(sh),
		envPCG: Stream(seed, "environment"), agentPCG: Stream(seed, "agent"),
		value: make([]float64, sh.dim)}
	r.envRNG, r.agentRNG = rand.New(r.envPCG), rand.New(r.agentPCG)
	if f, ok := env.(Fallible); ok {
		r.failure = f.Err
	}
	r.most = MostEpisodes(learner)
	r.sum = make([]float64, sh.dim)
	if evaluator != nil {
		r.expected = make([]float64, sh.dim)
	}
	r.Keep(&r.episodes, &r.sum, &r.expected, r.envPCG, r.agentPCG, saved.Own{Name: "cmdp: learner", Part: learner})
	if c, ok := env.(*Changing); ok {
		r.changing = c
		r.Keep(c)
		r.Then(func() error {
			r.tellReturns()
			return nil
		})
	}
	return r
}

// Run plays until the given number of episodes in all have been played, or until ctx is done, whose error it then
// returns; it stops only between episodes, or in a plan of an [Interruptible] learner, see [ErrUnfinished]. In a
// game it also ends with the first error of the opponent, and with a [Fallible] environment with its failure; the
// episode then does not count. After a failure the runner is where it was before that episode. It allocates
// nothing by itself.
func (r *Runner) Run(ctx context.Context, until int) error {
	if r.most > 0 && until > r.most {
		return fmt.Errorf("cmdp: %d episodes for a learner whose confidence was made for %d: want as many at most, "+
			"or a learner with more Confidence.Episodes", until, r.most)
	}
	planner := interruptible(r.learner)
	if planner != nil {
		planner.PlanWithin(ctx)
	}
	for r.episodes < until {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := r.learner.Policy()
		if planner != nil && planner.Unfinished() {
			if ctx.Err() == nil { // it was an earlier plan: the run is over
				return ErrUnfinished
			}
			return fmt.Errorf("%w: %w", ErrUnfinished, ctx.Err())
		}
		if err := r.attempt(p); err != nil {
			return err
		}
		if r.evaluator != nil {
			r.evaluator.ReturnsAgainst(r.value, p, r.against)
			floats.Add(r.expected, r.value)
		}
		r.learner.Observe(r.tr)
		r.tellReturns()
		if r.game != nil {
			r.game.opponent.Observe(r.tr)
		}
		floats.Add(r.sum, r.tr.Total)
		r.episodes++
	}
	return nil
}

// tellReturns tells the learner the returns of the last episode, if they change and it has a use for them.
func (r *Runner) tellReturns() {
	if r.changing == nil || r.changing.x.Episodes == 0 {
		return
	}
	if l, ok := r.learner.(ReturnsObserver); ok {
		l.ObserveReturns(r.changing.Returns())
	}
}

// attempt plays the next episode. If the environment fails, it takes back what was drawn.
func (r *Runner) attempt(p Policy) error {
	if r.failure == nil {
		return r.play(p)
	}
	env, agent := *r.envPCG, *r.agentPCG
	err := r.play(p)
	if failure := r.failure(); failure != nil {
		*r.envPCG, *r.agentPCG = env, agent
		return failure
	}
	return err
}

// Episodes returns how many episodes have been played.
func (r *Runner) Episodes() int { return r.episodes }

// Average returns W^K, the mean of the realised returns of the K episodes played;
// NaN before the first.
func (r *Runner) Average() []float64 { return r.mean(r.sum) }

// Expected returns the mean of the expected returns of the policies played, or
// nil if the runner has no evaluator. Unlike W^K it is an achievable return
// (erratum E-20).
func (r *Runner) Expected() []float64 {
	if r.expected == nil {
		return nil
	}
	return r.mean(r.expected)
}

func (r *Runner) mean(sum []float64) []float64 {
	w := make([]float64, len(sum))
	for i, v := range sum {
		w[i] = v / float64(r.episodes)
	}
	return w
}

// NextRecord returns the next episode after k at which a run is worth recording:
// every episode up to 10, then about 20 of each decade, evenly spaced on a
// logarithmic scale and the same for every run.
func NextRecord(k int) int {
	if k < 10 {
		return k + 1
	}
	j := math.Floor(20*math.Log10(float64(k))+1e-9) + 1
	for {
		if n := int(math.Round(math.Pow(10, j/20))); n > k {
			return n
		}
		j++
	}
}
