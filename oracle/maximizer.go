package oracle

import (
	"errors"
	"fmt"
	"math"

	"cmdpsolve/internal/scratch"

	"gonum.org/v1/gonum/floats"
)

// maximizerTolerance is the gap, relative to ‖dir‖ times the radius, at which a
// ProximalMaximizer stops.
const maximizerTolerance = 1e-13

// ProximalMaximizer answers for the linear maximiser of a compact set that can only
// be projected on, by the proximal point method x ← Π(x + t·dir) with a step of
// up to 10³ radii. On polytopes it ends after finitely many projections; where the
// set curves, each brings the gap down by the ratio of the radius of curvature to the
// step. It is as accurate as the projection: exact ones give a relative gap of
// 1e-12 or so.
//
// A call allocates only when the pool of work space is empty. It is safe for
// concurrent use if the set is.
type ProximalMaximizer struct {
	set    Projector
	center []float64
	radius float64
}

// NewProximalMaximizer returns the linear maximiser of a set that lies in the ball
// of the given centre and radius; a ball too small spoils the certificates, a ball
// far too large the accuracy. It is an error if the centre has not the set's
// dimension or the numbers are not finite.
func NewProximalMaximizer(set Projector, center []float64, radius float64) (*ProximalMaximizer, error) {
	if set == nil {
		return nil, errors.New("oracle: linear maximiser of no set")
	}
	if len(center) != set.Dim() {
		return nil, fmt.Errorf("oracle: centre of %d coordinates for a set of dimension %d: want the same", len(center),
			set.Dim())
	}
	if size := floats.Norm(center, 2) + radius; !(radius >= 0) || math.IsInf(size, 0) || math.IsNaN(size) {
		return nil, fmt.Errorf("oracle: ball of centre %v and radius %g: want finite numbers, radius ≥ 0", center,
			radius)
	}
	return &ProximalMaximizer{set: set, center: append([]float64(nil), center...), radius: radius}, nil
}

// Dim returns the dimension of the space.
func (m *ProximalMaximizer) Dim() int { return len(m.center) }

// MaximizeLinear sets dst to a point of the set with the largest ⟨dir, ·⟩, the one
// nearest to the centre of the ball if the set is a polytope.
func (m *ProximalMaximizer) MaximizeLinear(dst, dir []float64) { m.Maximize(dst, dir) }

// Maximize is MaximizeLinear with its certificate: ⟨dir, y⟩ ≤ ⟨dir, dst⟩ + gap for
// all points y of the set. Optimality of a projection, applied to each step, bounds
// the gap by the length of the step taken times the diameter over t.
func (m *ProximalMaximizer) Maximize(dst, dir []float64) (gap float64) {
	if len(dst) != m.Dim() || len(dir) != m.Dim() {
		panic(badLength)
	}
	return m.From(dst, dir, m.center)
}

// From is Maximize beginning at the given point, which may be dst. If that is
// already a maximiser, it is found to be one in a single projection.
func (m *ProximalMaximizer) From(dst, dir, start []float64) (gap float64) {
	m.set.Project(dst, start)
	length := floats.Norm(dir, 2)
	if length == 0 || m.radius == 0 {
		return 0
	}
	next := scratch.Get(m.Dim())
	gap = math.Inf(1)
	step := 10 * m.radius
	least, idle := math.Inf(1), 0
	for range 100 {
		for i, v := range dst {
			(*next)[i] = v + step*(dir[i]/length)
		}
		m.set.Project(*next, *next)
		moved := floats.Distance(*next, dst, 2)
		bound := moved * 2 * m.radius * length / step
		gain := 0.0
		for i, v := range *next {
			gain += (v - dst[i]) * (dir[i] / length)
		}
		if gain < 0 && bound >= gap { // only rounding moves it now
			break
		}
		gap = bound
		copy(dst, *next)
		idle++
		if gap < 0.5*least {
			least, idle = gap, 0
		}
		if gap <= maximizerTolerance*length*m.radius || idle > 20 ||
			idle > 3 && gap <= 1e3*maximizerTolerance*length*m.radius {
			break
		}
		step = math.Min(10*step, 1e3*m.radius)
	}
	scratch.Put(next)
	return gap
}
