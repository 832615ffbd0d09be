package exact

import (
	"context"
	"errors"
	"fmt"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"

	"gonum.org/v1/gonum/floats"
)

// refuseGame returns an error if the model has an opponent.
func refuseGame(m *cmdp.Model) error {
	if sh := m.Shape(); sh != nil && sh.Game() {
		return errors.New("exact: the model is a game: SolveGame and ApproachabilityGap are for those")
	}
	return nil
}

// A GameValue is the minimax value of a game for a linear cost. The agent can
// force it whatever the opponent does, and the opponent whatever the agent does.
type GameValue struct {
	// Value lies between Low, which Opponent guarantees, and Up, which Agent
	// guarantees; they differ by rounding alone. All are in the units of the cost.
	Value, Low, Up float64
	// Agent and Opponent are optimal Markov policies of the two players.
	Agent, Opponent *cmdp.Randomized
	// Returns is the expected return when both play them.
	Returns []float64
}

// SolveGame returns the minimax value of an affine cost in a game with a finite
// horizon, by one backward induction. A model without an opponent is a game too. A
// target, or a cost that is not affine, is an error; for targets see
// [ApproachabilityGap].
func SolveGame(ctx context.Context, m *cmdp.Model, task cmdp.Task) (*GameValue, error) {
	if err := checkDimensions(m, task); err != nil {
		return nil, err
	}
	affine, ok := task.Cost.(cost.Affine)
	switch {
	case task.Target != nil:
		return nil, errors.New("exact: a game with a target has a gap, not a value")
	case task.Cost == nil:
		return nil, errors.New("exact: a game without a cost has no value")
	case !ok:
		return nil, errors.New("exact: the value of a game needs an affine cost")
	}
	g, err := cmdp.NewMinimax(m)
	if err != nil {
		return nil, fmt.Errorf("exact: %w", err)
	}
	low, up, err := g.Solve(ctx, affine.Gradient())
	if err != nil {
		return nil, err
	}
	v := &GameValue{Low: low + affine.Offset(), Up: up + affine.Offset(),
		Agent: g.Agent().Clone(), Opponent: g.Opponent().Clone(), Returns: make([]float64, m.Dim())}
	v.Value = v.Low/2 + v.Up/2
	cmdp.NewEvaluator(m).ReturnsAgainst(v.Returns, v.Agent, v.Opponent)
	return v, nil
}

// A GapStatus is the verdict on a target in a game.
type GapStatus int

// The verdicts. Approachable: whatever the opponent does, the mean return can be
// led to the target, or as near as the tolerance. NotApproachable: the opponent
// can keep it away. GapUndecided: the limit on evaluations was reached before
// either was shown.
const (
	Approachable GapStatus = iota + 1
	NotApproachable
	GapUndecided
)

// String returns the verdict in words.
func (s GapStatus) String() string {
	switch s {
	case Approachable:
		return "approachable"
	case NotApproachable:
		return "not approachable"
	case GapUndecided:
		return "undecided"
	}
	return fmt.Sprintf("GapStatus(%d)", int(s))
}

// A Gap is what is known of the approachability gap of a target W in a game,
//
//	δ = max(0, max over ‖θ‖₂ ≤ 1 of V*(θ) − h_W(θ)),   V*(θ) = min_μ max_ν ⟨θ, V^{μν}⟩,
//
// the least distance to W at which the agent can keep the mean return against any
// opponent (erratum E-04). Without an opponent it is the distance of W from the
// achievable returns.
type Gap struct {
	Status GapStatus
	// Lower ≤ δ ≤ Upper, up to rounding; both are 0 where the target can be
	// approached for certain.
	Lower, Upper float64
	// Direction is the unit vector θ with the largest value found, and Opponent the
	// policy ν that proves it: min_μ ⟨θ, V^{μν}⟩ = Value and h_W(θ) = Support, so that
	// Lower = max(0, Value − Support). [VerifyGap] checks it. If the target can be
	// approached, it is the hardest direction.
	Direction      []float64
	Value, Support float64
	Opponent       *cmdp.Randomized
	// Evaluations counts the value iterations, Cells the cells of directions.
	Evaluations, Cells int
}

// GapOptions say how precise a gap has to be and how long the search may take. The
// zero value is ready to use.
type GapOptions struct {
	// Tolerance is the difference of Upper and Lower to reach, in the units of the
	// returns. 0 stands for 1e-5 of the diameter of the box of possible returns up to
	// dimension 2, and for 1e-3 beyond.
	Tolerance float64
	// Evaluations bounds the number of value iterations. 0 stands for 20000.
	Evaluations int
	// Progress, if not nil, is called now and then with the number of value
	// iterations and the bounds so far.
	Progress func(evaluations int, lower, upper float64)
}

func (o GapOptions) withDefaults(dim int, diameter float64) (GapOptions, error) {
	if !(o.Tolerance >= 0) || math.IsInf(o.Tolerance, 1) {
		return o, fmt.Errorf("exact: tolerance %g of the gap: want a finite number, at least 0", o.Tolerance)
	}
	if o.Evaluations < 0 {
		return o, fmt.Errorf("exact: %d evaluations: want 0 for the default, or more", o.Evaluations)
	}
	if o.Tolerance == 0 {
		o.Tolerance = 1e-3 * diameter
		if dim <= 2 {
			o.Tolerance = 1e-5 * diameter
		}
	}
	if o.Evaluations == 0 {
		o.Evaluations = 20000
	}
	return o, nil
}

// ApproachabilityGap bounds the gap of task.Target, which must lie within the box of
// possible returns or be cut by it (erratum E-05); a cost is an error.
//
// F(θ) = V*(θ) − h_W(θ) is neither convex nor concave, and deciding its sign is
// hard in high dimension. Up to dimension 8 the directions are divided into
// cones, best bound first; in a cone the agent's policy that is optimal at its
// centre and the target's support point there bound F from above by a convex
// function, whose maximum is at the cone's edges. From below F is bounded by the
// centres, and by an alternating search: the direction that best separates what
// the agent can reach against ν from the target, and the ν that is optimal for it.
// In higher dimension, and where the limit on evaluations is reached, Upper is the
// bound that is left, or if less the farthest that any opponent can take the
// agent's policy.
//
// It returns an error for models without a finite horizon and when ctx ends.
func ApproachabilityGap(ctx context.Context, m *cmdp.Model, task cmdp.Task, opts GapOptions) (*Gap, error) {
	if err := checkDimensions(m, task); err != nil {
		return nil, err
	}
	switch {
	case task.Target == nil:
		return nil, errors.New("exact: no target to approach")
	case task.Cost != nil:
		return nil, errors.New("exact: the gap of a target has no cost")
	}
	s, err := newGapSearch(ctx, m, task.Target)
	if err != nil {
		return nil, err
	}
	s.opts, err = opts.withDefaults(m.Dim(), s.diameter)
	if err != nil {
		return nil, err
	}
	if err := s.run(); err != nil {
		return nil, err
	}
	return s.result(), nil
}

// VerifyGap returns the lower bound that a gap's direction and opponent prove, by one value
// iteration of the agent: min_μ ⟨θ, V^{μν}⟩ − h_W(θ). It does not use how they were found.
// It is an error that wraps [ErrNotProved] if they do not fit the model, if Value, Support
// or Lower is not what they prove, up to rounding, or if the verdict contradicts the bounds.
// Upper has no proof but the search; it is only compared with Lower.
func VerifyGap(ctx context.Context, m *cmdp.Model, task cmdp.Task, g *Gap) (float64, error) {
	if err := checkDimensions(m, task); err != nil {
		return 0, err
	}
	switch {
	case task.Target == nil:
		return 0, errors.New("exact: no target to approach")
	case g == nil || len(g.Direction) != m.Dim():
		return 0, fmt.Errorf("exact: gap without a direction: %w", ErrNotProved)
	}
	if length := floats.Norm(g.Direction, 2); !(math.Abs(length-1) <= 1e-9) {
		return 0, fmt.Errorf("exact: gap with a direction of length %g: want 1: %w", length, ErrNotProved)
	}
	s, err := newGapSearch(ctx, m, task.Target)
	if err != nil {
		return 0, err
	}
	var opponent cmdp.Policy
	if m.Shape().Game() {
		fixed, err := cmdp.NewFixedOpponent(m.Shape(), g.Opponent)
		if err != nil {
			return 0, fmt.Errorf("exact: gap: %w: %w", err, ErrNotProved)
		}
		opponent = fixed
	}
	value, _, err := s.game.AgentResponse(ctx, g.Direction, opponent)
	if err != nil {
		return 0, err
	}
	support := s.support(g.Direction)
	if err := g.check(value, support, s.rounding); err != nil {
		return 0, fmt.Errorf("exact: gap with %w: %w", err, ErrNotProved)
	}
	return value - support, nil
}

// check compares what a gap says with what its direction and opponent prove.
func (g *Gap) check(value, support, rounding float64) error {
	lower := max(0, value-support)
	switch {
	case !(math.Abs(g.Value-value) <= rounding):
		return fmt.Errorf("value %g: want %g", g.Value, value)
	case !(math.Abs(g.Support-support) <= rounding):
		return fmt.Errorf("support %g: want %g", g.Support, support)
	case !(math.Abs(g.Lower-lower) <= 2*rounding):
		return fmt.Errorf("lower bound %g: want %g", g.Lower, lower)
	case !(g.Upper >= g.Lower):
		return fmt.Errorf("upper bound %g: want at least the lower one, %g", g.Upper, g.Lower)
	case g.Status < Approachable || g.Status > GapUndecided || (g.Status == NotApproachable) != (g.Lower > 0):
		return fmt.Errorf("verdict %v: the lower bound is %g", g.Status, g.Lower)
	}
	return nil
}
