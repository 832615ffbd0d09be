package baseline

import (
	"fmt"
	"math"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/floats"
)

var _ = register(Algorithm{
	Name: "blackwell", New: func(c Config) (cmdp.Learner, error) { return newBlackwell(c) },
	Source: "Blackwell (1956)", Planner: "1 matrix game",
	Guarantee:            "dist(W^K, W*) ≤ δ + √d/√K in expected payoffs",
	NonlinearConstraints: true, Games: true, Efficient: true,
	Needs: []string{"S=H=1", "known returns"}, Published: "no bonus: the scale changes nothing", Certainty: "derived here",
})

// blackwell is the strategy of Blackwell's approachability theorem (1956) for a
// game of one state and one step with vector payoffs: in the direction θ from the
// projection of the mean payoff W on the target to W, play an optimal mixed row of
// the matrix game ⟨θ, r(a, b)⟩. While W lies inside the target θ stays as it is; at
// first it is (1, …, 1)/√d. With expected payoffs in a box of diameter R,
// dist(W^K, W*) ≤ δ + R/√K, where δ is the gap of the target; realised payoffs add
// O(R·√(ln(1/p)/K)) with probability 1 − p.
type blackwell struct {
	*vectorGame
	point []float64
	now   blackwellState
}

type blackwellState struct {
	Rounds int
	Mean   []float64
	Dir    []float64
}

// newBlackwell returns the strategy. It needs known returns and a target, and no
// cost.
func newBlackwell(c Config) (*blackwell, error) {
	g, err := newVectorGame("blackwell", &c)
	if err != nil {
		return nil, err
	}
	l := &blackwell{vectorGame: g, point: make([]float64, g.dim)}
	l.now = blackwellState{Mean: make([]float64, g.dim), Dir: make([]float64, g.dim)}
	for i := range l.now.Dir {
		l.now.Dir[i] = 1 / math.Sqrt(float64(g.dim))
	}
	return l, nil
}

// Direction returns θ. It must not be changed.
func (l *blackwell) Direction() []float64 { return l.now.Dir }

// Policy solves the matrix game of the round.
func (l *blackwell) Policy() cmdp.Policy {
	l.solve(l.now.Dir)
	return l
}

// Observe adds a payoff to the mean and turns θ.
func (l *blackwell) Observe(tr *cmdp.Trajectory) {
	st := &l.now
	st.Rounds++
	for i, v := range tr.Total {
		st.Mean[i] += (v - st.Mean[i]) / float64(st.Rounds)
	}
	l.target.Project(l.point, st.Mean)
	floats.SubTo(l.point, st.Mean, l.point)
	// Below this a difference is rounding of the projection, not a direction.
	if n := floats.Norm(l.point, 2); n > 1e-12*(1+floats.Norm(st.Mean, 2)) {
		floats.ScaleTo(st.Dir, 1/n, l.point)
	}
}

// MarshalBinary returns the mean and the direction.
func (l *blackwell) MarshalBinary() ([]byte, error) { return encodeGob(&l.now) }

// UnmarshalBinary restores what MarshalBinary returned.
func (l *blackwell) UnmarshalBinary(data []byte) error {
	var st blackwellState
	if err := decodeGob(data, &st); err != nil {
		return err
	}
	if len(st.Mean) != l.dim || len(st.Dir) != l.dim {
		return fmt.Errorf("baseline: blackwell: state of dimension %d: want %d", len(st.Dir), l.dim)
	}
	l.now = st
	return nil
}
