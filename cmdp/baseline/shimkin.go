package baseline

import (
	"fmt"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

var _ = register(Algorithm{
	Name: "shimkin", New: func(c Config) (cmdp.Learner, error) { return newShimkin(c) },
	Source: "Shimkin (2016)", Planner: "1 matrix game",
	Guarantee:            "dist(W^K, W*) ≤ δ + 3√d/√K in expected payoffs",
	NonlinearConstraints: true, Games: true, Efficient: true,
	Needs: []string{"S=H=1", "known returns"}, Published: "no bonus: the scale changes nothing", Certainty: "derived here",
})

// shimkin is approachability by online convex optimisation (Shimkin 2016) for a
// game of one state and one step with vector payoffs: online gradient descent on
// the dual of the distance to the target, which needs no projection on it,
//
//	θ ← Π_ball{θ + η_k (r − y)},  y ∈ argmax_{y∈W*} ⟨θ, y⟩,  η_k = 1/(R√k),
//
// from θ = 0, with R the diameter of the box of payoffs, and an optimal mixed row of
// ⟨θ, r(a, b)⟩. Of several maximisers y is the one nearest to r, if the set can
// say. With expected payoffs dist(W^K, W*) ≤ δ + 3R/√K (erratum E-14).
type shimkin struct {
	*vectorGame
	faces  oracle.FaceProjector
	point  []float64
	spread float64 // R
	now    shimkinState
}

type shimkinState struct {
	Rounds int
	Dir    []float64
}

// newShimkin returns the strategy. It needs known returns and a target, and no
// cost.
func newShimkin(c Config) (*shimkin, error) {
	g, err := newVectorGame("shimkin", &c)
	if err != nil {
		return nil, err
	}
	l := &shimkin{vectorGame: g, point: make([]float64, g.dim), now: shimkinState{Dir: make([]float64, g.dim)}}
	l.spread, _ = payoffRange(c.Shape)
	l.faces, _ = c.Task.Target.(oracle.FaceProjector)
	return l, nil
}

// Direction returns θ. It must not be changed.
func (l *shimkin) Direction() []float64 { return l.now.Dir }

// Policy solves the matrix game of the round.
func (l *shimkin) Policy() cmdp.Policy {
	l.solve(l.now.Dir)
	return l
}

// Observe takes the gradient step.
func (l *shimkin) Observe(tr *cmdp.Trajectory) {
	st := &l.now
	st.Rounds++
	if l.spread == 0 {
		return // all payoffs are equal
	}
	if l.faces != nil {
		l.faces.ProjectFace(l.point, st.Dir, tr.Total)
	} else {
		l.target.MaximizeLinear(l.point, st.Dir)
	}
	eta := 1 / math.Sqrt(float64(st.Rounds)) / l.spread
	for i := range st.Dir {
		st.Dir[i] += eta * (tr.Total[i] - l.point[i])
	}
	if n := floats.Norm(st.Dir, 2); n > 1 {
		floats.Scale(1/n, st.Dir)
	}
}

// MarshalBinary returns the dual vector.
func (l *shimkin) MarshalBinary() ([]byte, error) { return encodeGob(&l.now) }

// UnmarshalBinary restores what MarshalBinary returned.
func (l *shimkin) UnmarshalBinary(data []byte) error {
	var st shimkinState
	if err := decodeGob(data, &st); err != nil {
		return err
	}
	if len(st.Dir) != l.dim {
		return fmt.Errorf("baseline: shimkin: state of dimension %d: want %d", len(st.Dir), l.dim)
	}
	l.now = st
	return nil
}
