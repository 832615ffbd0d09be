package cmdp

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"math"

	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// ProjectionDual is the projection-based dual update (PDU) of Yu, Tian, Zhang,
// Sra (2021): θ points from the projection of the mean return W on the target to
// W, and has norm 1. While W lies inside the target the direction stays as it is;
// at first it is (1, …, 1)/√d. It pursues the target alone.
type ProjectionDual struct {
	target geometry.Compact
	state  projectionState
	point  []float64
	before []float64 // the direction before the last Observe
}

type projectionState struct {
	Episodes int
	Mean     []float64 // W
	Dir      []float64 // θ
}

// NewProjectionDual returns the update for a target. It panics if there is none.
func NewProjectionDual(target geometry.Compact) *ProjectionDual {
	if target == nil {
		panic("cmdp: projection dual without a target")
	}
	d := target.Dim()
	u := &ProjectionDual{target: target, point: make([]float64, d), before: make([]float64, d)}
	u.state.Mean, u.state.Dir = make([]float64, d), make([]float64, d)
	for i := range u.state.Dir {
		u.state.Dir[i] = 1 / math.Sqrt(float64(d))
	}
	return u
}

// Direction returns θ.
func (u *ProjectionDual) Direction() []float64 { return u.state.Dir }

// Observe adds a return to the mean and turns θ.
func (u *ProjectionDual) Observe(value []float64, low float64) Evidence {
	st := &u.state
	u.target.MaximizeLinear(u.point, st.Dir)
	copy(u.before, st.Dir)
	ev := Evidence{Optimum: math.Inf(-1), Gap: low - floats.Dot(st.Dir, u.point), Direction: u.before}
	st.Episodes++
	for i, v := range value {
		st.Mean[i] += (v - st.Mean[i]) / float64(st.Episodes)
	}
	u.target.Project(u.point, st.Mean)
	floats.SubTo(u.point, st.Mean, u.point)
	// Below this a difference is rounding of the projection, not a direction.
	if n := floats.Norm(u.point, 2); n > 1e-12*(1+floats.Norm(st.Mean, 2)) {
		floats.ScaleTo(st.Dir, 1/n, u.point)
	}
	return ev
}

// MarshalBinary returns the state of the update.
func (u *ProjectionDual) MarshalBinary() ([]byte, error) { return encodeState(&u.state) }

// UnmarshalBinary restores a state that MarshalBinary returned.
func (u *ProjectionDual) UnmarshalBinary(data []byte) error {
	var st projectionState
	if err := decodeState(data, &st); err != nil {
		return err
	}
	if len(st.Mean) != u.target.Dim() || len(st.Dir) != u.target.Dim() {
		return fmt.Errorf("cmdp: state of a dual of dimension %d: want %d", len(st.Dir), u.target.Dim())
	}
	u.state = st
	return nil
}

func encodeState(st any) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(st)
	return b.Bytes(), err
}

func decodeState(data []byte, st any) error {
	return gob.NewDecoder(bytes.NewReader(data)).Decode(st)
}
