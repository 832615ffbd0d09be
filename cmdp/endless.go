package cmdp

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
)

// An Endless is a model without a horizon as the environment of one run without episodes. It is played by
// [NewEndlessRunner] one step at a time: its shape has one step, and what the learner observes as an episode is a
// step that begins where the one before has ended.
//
// Where the model has long-run means, the mean of the returns of the steps tends to the long-run mean of what
// is played.
//
// Where it has a discount γ < 1, the run starts anew after each step with probability 1 − γ. A return received
// t steps after a start then counts with probability γ^t, which is its discount. Returns are those of the model
// over 1 − γ, the reciprocal of the mean number of steps from one start to the next, so that the mean of the
// returns of the steps tends to the discounted return of what is played.
//
// An Endless of a model is immutable and safe for concurrent use.
type Endless struct {
	env      Environment
	model    *Model // nil if env is none
	shape    *Shape
	discount float64 // 1 for long-run means
}

// NewEndless returns the environment of a model. It is an error if the model has a horizon, or returns that are totals.
func NewEndless(m *Model) (*Endless, error) {
	switch {
	case m == nil:
		return nil, errors.New(noModel)
	case m.Horizon() > 0:
		return nil, fmt.Errorf("cmdp: endless run of a model with horizon %d: want none", m.Horizon())
	case !m.Average() && !(m.Discount() < 1):
		return nil, errors.New("cmdp: endless run of a model with total returns: want long-run means or a discount below 1")
	}
	e := &Endless{env: m, model: m, discount: m.Discount()}
	k := m.Kernel(0)
	returns := k.returnRange(m.Dim())
	floats.Scale(e.scale(), returns.Lower)
	floats.Scale(e.scale(), returns.Upper)
	var err error
	e.shape, err = NewShape(ShapeSpec{Horizon: 1, Dim: m.Dim(), Start: m.StartStates(), First: [][]int32{k.First},
		Returns: []Interval{returns}})
	return e, err
}

// NewEndlessOf returns an environment without a model, such as somebody else's program, as one run without end: it is
// started, and started anew where there is a discount below 1, and asked for steps in between. A discount of 1 stands
// for long-run means. Shape is that of a step, with the ranges of the returns over 1 − γ, and the environment must
// not end by itself.
func NewEndlessOf(env Environment, shape *Shape, discount float64) (*Endless, error) {
	switch {
	case env == nil || shape == nil:
		return nil, errors.New("cmdp: endless run without an environment or without a shape")
	case !(discount > 0 && discount <= 1):
		return nil, fmt.Errorf("cmdp: endless run with discount %g: want one above 0 and at most 1", discount)
	case shape.Horizon() != 1:
		return nil, fmt.Errorf("cmdp: endless run of a shape with %d steps: want that of a step", shape.Horizon())
	}
	return &Endless{env: env, shape: shape, discount: discount}, nil
}

// scale is what returns are multiplied with.
func (e *Endless) scale() float64 {
	if e.discount == 1 {
		return 1
	}
	return 1 / (1 - e.discount)
}

// Err returns why the environment failed, nil if it did not.
func (e *Endless) Err() error {
	if f, ok := e.env.(Fallible); ok {
		return f.Err()
	}
	return nil
}

// Close closes the environment, if it can be closed.
func (e *Endless) Close() {
	if c, ok := e.env.(interface{ Close() }); ok {
		c.Close()
	}
}

// Model returns the model, nil if there is none.
func (e *Endless) Model() *Model { return e.model }

// Shape returns the shape of a step. Its ranges are those of the returns that are received.
func (e *Endless) Shape() *Shape { return e.shape }

// Restart is the probability with which the run starts anew after a step.
func (e *Endless) Restart() float64 { return 1 - e.discount }

// Start draws a state in which the run starts.
func (e *Endless) Start(rng *rand.Rand) int { return e.env.Start(rng) }

// Step takes an action, see [Environment].
func (e *Endless) Step(returns []float64, rng *rand.Rand, _, state, action int) int {
	next := e.env.Step(returns, rng, 0, state, action)
	floats.Scale(e.scale(), returns)
	return next
}

// KnownReturns returns the expected returns of a step, for a learner that is told them. It panics without a model.
func (e *Endless) KnownReturns() *Returns {
	table := append([]float64(nil), e.model.Kernel(0).table(e.model.Dim())...)
	floats.Scale(e.scale(), table)
	r, err := NewReturns(e.shape, [][]float64{table})
	if err != nil {
		panic("cmdp: " + err.Error()) // a validated model has well-formed returns
	}
	return r
}

// An endlessRun is where a run without episodes is.
type endlessRun struct {
	restart float64
	state   int // in which the next step begins, −1 to draw a first one
}

// NewEndlessRunner returns a runner of a run without episodes, at step 0. Its episodes are the steps of the run: the
// learner is asked for a policy before each, and the policy is asked for step 0.
// Everything else is as for [NewRunner].
func NewEndlessRunner(env *Endless, learner Learner, seed uint64) *Runner {
	if env == nil {
		panic("cmdp: runner without an environment or without a learner")
	}
	r := NewRunner(env, learner, seed, nil)
	r.endless = &endlessRun{restart: env.Restart(), state: -1}
	r.Keep(&r.endless.state)
	return r
}

// step plays one step.
func (r *Runner) step(p Policy) {
	e := r.endless
	if e.state < 0 {
		e.state = r.env.Start(r.envRNG)
	}
	r.tr.States[0] = e.state
	r.tr.play(r.env, p, nil, r.envRNG, r.agentRNG, nil) // fails only by an opponent
	e.state = r.tr.States[r.tr.Steps]
	if e.restart > 0 && r.envRNG.Float64() < e.restart {
		e.state = -1
	}
}
