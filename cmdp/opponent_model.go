package cmdp

import (
	"context"
	"errors"
	"fmt"
	"math"

	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// minimaxResponder is what opponents share that know the game: the direction in which they want to push
// the mean return.
type minimaxResponder struct {
	memoryless
	game   *Minimax
	target geometry.Compact // nil to follow the learner
	fixed  bool             // the direction never changes
	dir    []float64
	point  []float64
}

func newMinimaxResponder(m *Model, target geometry.Compact) (*minimaxResponder, error) {
	if m == nil {
		return nil, errors.New(noModel)
	}
	if target != nil && target.Dim() != m.dim {
		return nil, fmt.Errorf("cmdp: target of dimension %d: want %d", target.Dim(), m.dim)
	}
	game, err := NewMinimax(m)
	if err != nil {
		return nil, err
	}
	a := &minimaxResponder{game: game, target: target, dir: make([]float64, m.dim), point: make([]float64, m.dim)}
	floats.AddConst(1/math.Sqrt(float64(m.dim)), a.dir)
	a.Keep(&a.dir)
	return a, nil
}

// updateDirection sets the direction for an episode.
func (a *minimaxResponder) updateDirection(v *View) error {
	if a.fixed {
		return nil
	}
	if a.target == nil && v.Direction == nil {
		return fmt.Errorf("cmdp: opponent without a target, and the learner has no direction")
	}
	if a.target != nil && v.Episode > 0 {
		a.target.Project(a.point, v.Average)
		floats.SubTo(a.point, v.Average, a.point)
		if n := floats.Norm(a.point, 2); n > 1e-12*(1+floats.Norm(v.Average, 2)) {
			floats.ScaleTo(a.dir, 1/n, a.point)
			return nil
		}
	}
	if a.target == nil || v.Direction != nil && floats.Norm(v.Direction, 1) > 0 {
		copy(a.dir, v.Direction)
	}
	return nil
}

// An AdversarialOpponent knows the kernel. In each episode it plays an optimal
// policy of the maximiser in the zero-sum game along the present direction θ.
// It does not use the agent's policy.
type AdversarialOpponent struct {
	*minimaxResponder
	Policy
}

// NewAdversarialOpponent returns the opponent for a known game. If target is nil,
// θ is the learner's direction, else it points from the target to the mean return
// so far. While the mean lies inside the target θ is the learner's direction, or if
// it has none or zero stays as it was, at first (1, …, 1)/√d. A learner without a
// direction needs a target.
func NewAdversarialOpponent(m *Model, target geometry.Compact) (*AdversarialOpponent, error) {
	a, err := newMinimaxResponder(m, target)
	if err != nil {
		return nil, err
	}
	return &AdversarialOpponent{a, a.game.opponent}, nil // which is solved in its place
}

// Begin solves the game in the present direction, by one value iteration.
func (o *AdversarialOpponent) Begin(v *View) error {
	if err := o.updateDirection(v); err != nil {
		return err
	}
	_, _, err := o.game.Solve(context.Background(), o.dir)
	return err
}

// A BestResponseOpponent knows the kernel and the agent's policy of each episode.
// It plays the best response to that policy: one that maximises ⟨θ, V⟩.
type BestResponseOpponent struct {
	*minimaxResponder
	Policy
}

// NewBestResponseOpponent returns the opponent for a known game. target is as for
// [NewAdversarialOpponent].
func NewBestResponseOpponent(m *Model, target geometry.Compact) (*BestResponseOpponent, error) {
	a, err := newMinimaxResponder(m, target)
	if err != nil {
		return nil, err
	}
	return &BestResponseOpponent{minimaxResponder: a}, nil
}

// NewBestResponseAlong returns the opponent that plays the best response in one
// direction for ever. If the direction separates a target from what the agent can
// approach, it keeps the expected mean return at least the gap δ away from the
// target. Best responses in changing directions need not do so. The direction is
// copied; it must be finite and not zero.
func NewBestResponseAlong(m *Model, dir []float64) (*BestResponseOpponent, error) {
	o, err := NewBestResponseOpponent(m, nil)
	if err != nil {
		return nil, err
	}
	if len(dir) != m.dim {
		return nil, fmt.Errorf("cmdp: direction of dimension %d: want %d", len(dir), m.dim)
	}
	if n := floats.Norm(dir, 2); !(n > 0) || math.IsInf(n, 1) {
		return nil, fmt.Errorf("cmdp: direction %v: want a finite one that is not zero", dir)
	}
	copy(o.dir, dir)
	o.fixed = true
	return o, nil
}

// Begin finds the best response, by one value iteration.
func (o *BestResponseOpponent) Begin(v *View) error {
	if err := o.updateDirection(v); err != nil {
		return err
	}
	var err error
	_, o.Policy, err = o.game.OpponentResponse(context.Background(), o.dir, v.Policy)
	return err
}
