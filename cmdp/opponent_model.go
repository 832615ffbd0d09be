package cmdp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// aim is the direction in which an opponent wants to push the mean return.
type aim struct {
	target geometry.Compact // nil to follow the learner
	fixed  bool             // the direction never changes
	dir    []float64
	point  []float64
}

func newAim(dim int, target geometry.Compact) (aim, error) {
	if target != nil && target.Dim() != dim {
		return aim{}, fmt.Errorf("cmdp: target of dimension %d: want %d", target.Dim(), dim)
	}
	a := aim{target: target, dir: make([]float64, dim), point: make([]float64, dim)}
	for i := range a.dir {
		a.dir[i] = 1 / math.Sqrt(float64(dim))
	}
	return a, nil
}

// turn sets the direction for an episode.
func (a *aim) turn(v *View) {
	if a.fixed {
		return
	}
	if a.target != nil && v.Episode > 0 {
		a.target.Project(a.point, v.Average)
		floats.SubTo(a.point, v.Average, a.point)
		if n := floats.Norm(a.point, 2); n > 1e-12*(1+floats.Norm(v.Average, 2)) {
			floats.ScaleTo(a.dir, 1/n, a.point)
			return
		}
	}
	if a.target == nil || v.Direction != nil && floats.Norm(v.Direction, 1) > 0 {
		copy(a.dir, v.Direction)
	}
}

// MarshalBinary returns the present direction.
func (a *aim) MarshalBinary() ([]byte, error) { return encodeState(a.dir) }

// UnmarshalBinary restores it.
func (a *aim) UnmarshalBinary(data []byte) error {
	var dir []float64
	if err := decodeState(data, &dir); err != nil {
		return err
	}
	if len(dir) != len(a.dir) {
		return fmt.Errorf("cmdp: saved opponent has %d coordinates: want %d", len(dir), len(a.dir))
	}
	copy(a.dir, dir)
	return nil
}

// An AdversarialOpponent knows the kernel. In each episode it plays an optimal
// policy of the maximiser in the zero-sum game along the present direction θ.
// It does not use the agent's policy.
type AdversarialOpponent struct {
	aim
	game *Minimax
}

// NewAdversarialOpponent returns the opponent for a known game. If target is nil,
// θ is the learner's direction, else it points from the target to the mean return
// so far. While the mean lies inside the target θ is the learner's direction, or if
// it has none or zero stays as it was, at first (1, …, 1)/√d. A learner without a
// direction needs a target.
func NewAdversarialOpponent(m *Model, target geometry.Compact) (*AdversarialOpponent, error) {
	if m == nil {
		return nil, errors.New(noModel)
	}
	a, err := newAim(m.dim, target)
	if err != nil {
		return nil, err
	}
	g, err := NewMinimax(m)
	if err != nil {
		return nil, err
	}
	return &AdversarialOpponent{aim: a, game: g}, nil
}

// Begin solves the game in the present direction, by one value iteration.
func (o *AdversarialOpponent) Begin(v *View) error {
	if err := o.needsDirection(v); err != nil {
		return err
	}
	o.turn(v)
	_, _, err := o.game.Solve(context.Background(), o.dir)
	return err
}

func (a *aim) needsDirection(v *View) error {
	if a.target == nil && !a.fixed && v.Direction == nil {
		return fmt.Errorf("cmdp: opponent without a target, and the learner has no direction")
	}
	return nil
}

// Choose draws an action.
func (o *AdversarialOpponent) Choose(rng *rand.Rand, h, s int) int {
	return o.game.opponent.Choose(rng, h, s)
}

// Distribution sets dst to the probabilities of the actions.
func (o *AdversarialOpponent) Distribution(dst []float64, h, s int) {
	o.game.opponent.Distribution(dst, h, s)
}

// Observe does nothing.
func (o *AdversarialOpponent) Observe(*Trajectory) {}

// A BestResponseOpponent knows the kernel and the agent's policy of each episode.
// It plays the best response to that policy: one that maximises ⟨θ, V⟩.
type BestResponseOpponent struct {
	aim
	game   *Minimax
	policy Deterministic
}

// NewBestResponseOpponent returns the opponent for a known game. target is as for
// [NewAdversarialOpponent].
func NewBestResponseOpponent(m *Model, target geometry.Compact) (*BestResponseOpponent, error) {
	if m == nil {
		return nil, errors.New(noModel)
	}
	a, err := newAim(m.dim, target)
	if err != nil {
		return nil, err
	}
	g, err := NewMinimax(m)
	if err != nil {
		return nil, err
	}
	return &BestResponseOpponent{aim: a, game: g}, nil
}

// NewBestResponseAlong returns the opponent that plays the best response in one
// direction for ever. If the direction separates a target from what the agent can
// approach, it keeps the expected mean return at least the gap δ away from the
// target. Best responses in changing directions need not do so. The direction is
// copied; it must be finite and not zero.
func NewBestResponseAlong(m *Model, dir []float64) (*BestResponseOpponent, error) {
	if m == nil {
		return nil, errors.New(noModel)
	}
	if len(dir) != m.dim {
		return nil, fmt.Errorf("cmdp: direction of dimension %d: want %d", len(dir), m.dim)
	}
	if n := floats.Norm(dir, 2); !(n > 0) || math.IsInf(n, 1) {
		return nil, fmt.Errorf("cmdp: direction %v: want a finite one that is not zero", dir)
	}
	o, err := NewBestResponseOpponent(m, nil)
	if err != nil {
		return nil, err
	}
	copy(o.dir, dir)
	o.fixed = true
	return o, nil
}

// Begin finds the best response, by one value iteration.
func (o *BestResponseOpponent) Begin(v *View) error {
	if err := o.needsDirection(v); err != nil {
		return err
	}
	o.turn(v)
	var err error
	_, o.policy, err = o.game.OpponentResponse(context.Background(), o.dir, v.Policy)
	return err
}

// Choose returns the action of the response.
func (o *BestResponseOpponent) Choose(rng *rand.Rand, h, s int) int {
	return o.policy.Choose(rng, h, s)
}

// Distribution puts probability 1 on the action of the response.
func (o *BestResponseOpponent) Distribution(dst []float64, h, s int) {
	o.policy.Distribution(dst, h, s)
}

// Observe does nothing.
func (o *BestResponseOpponent) Observe(*Trajectory) {}
