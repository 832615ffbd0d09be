package baseline

import (
	"fmt"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

var _ = register(Algorithm{
	Name: "abh", New: func(c Config) (cmdp.Learner, error) { return newABH(c) },
	Source: "Abernethy, Bartlett, Hazan (2011)", Planner: "1 matrix game",
	Guarantee:            "dist(W^K, W*) ≤ 6√(κ²+d)/√K in expected payoffs, if the target can be approached",
	NonlinearConstraints: true, Games: true, Efficient: true,
	Needs: []string{"S=H=1", "known returns"}, Published: "no bonus: the scale changes nothing", Certainty: "derived here",
})

// abh is approachability by online linear optimisation on a lifted cone
// (Abernethy, Bartlett, Hazan 2011) for a game of one state and one step with
// vector payoffs. With κ ≥ ‖w‖ for all points w of the target, C the cone of
// {κ}×W* and C° its polar cone,
//
//	θ ← Π_{C°∩ball}{θ + η_k (κ, r)},  η_k = 1/(√(κ²+R²)·√k),
//
// from θ = 0, where R bounds the norm of a payoff (√d for payoffs in [0,1]^d), and
// the agent plays an optimal mixed row for the last d coordinates of θ. The
// distance of (κ, W^K) to C is at most 3√(κ²+R²)/√K in expected payoffs, that of W^K
// to W* twice as much, if the target can be approached.
type abh struct {
	*vectorGame
	cone  *liftedCone
	size  float64 // √(κ²+R²)
	point []float64
	now   shimkinState // Dir has d+1 coordinates
}

// newABH returns the strategy. It needs known returns and a target, and no cost.
func newABH(c Config) (*abh, error) {
	g, err := newVectorGame("abh", &c)
	if err != nil {
		return nil, err
	}
	_, radius := payoffRange(c.Shape)
	kappa := largestNorm(c.Task.Target)
	if kappa == 0 { // the target is the origin; any positive height does
		if kappa = radius; kappa == 0 {
			kappa = 1
		}
	}
	return &abh{vectorGame: g, cone: newLiftedCone(c.Task.Target, kappa), size: math.Hypot(kappa, radius),
		point: make([]float64, g.dim+1), now: shimkinState{Dir: make([]float64, g.dim+1)}}, nil
}

// Direction returns the last d coordinates of θ. They must not be changed.
func (l *abh) Direction() []float64 { return l.now.Dir[1:] }

// Policy solves the matrix game of the round.
func (l *abh) Policy() cmdp.Policy {
	l.solve(l.Direction())
	return l
}

// Observe takes the gradient step.
func (l *abh) Observe(tr *cmdp.Trajectory) {
	st := &l.now
	st.Rounds++
	eta := 1 / math.Sqrt(float64(st.Rounds)) / l.size
	st.Dir[0] += eta * l.cone.height
	floats.AddScaled(st.Dir[1:], eta, tr.Total)
	// Moreau: the projection on the polar cone is what that on the cone leaves.
	l.cone.project(l.point, st.Dir)
	floats.Sub(st.Dir, l.point)
	if n := floats.Norm(st.Dir, 2); n > 1 {
		floats.Scale(1/n, st.Dir)
	}
}

// MarshalBinary returns the dual vector.
func (l *abh) MarshalBinary() ([]byte, error) { return encodeGob(&l.now) }

// UnmarshalBinary restores what MarshalBinary returned.
func (l *abh) UnmarshalBinary(data []byte) error {
	var st shimkinState
	if err := decodeGob(data, &st); err != nil {
		return err
	}
	if len(st.Dir) != l.dim+1 {
		return fmt.Errorf("baseline: abh: state of dimension %d: want %d", len(st.Dir), l.dim+1)
	}
	l.now = st
	return nil
}

// largestNorm returns a bound of the norms in a set, by the box around it.
func largestNorm(set geometry.Compact) float64 {
	d := set.Dim()
	dir, point := make([]float64, d), make([]float64, d)
	sum := 0.0
	for i := range d {
		most := 0.0
		for _, sign := range []float64{1, -1} {
			clear(dir)
			dir[i] = sign
			set.MaximizeLinear(point, dir)
			most = max(most, math.Abs(point[i]))
		}
		sum += most * most
	}
	return math.Sqrt(sum)
}

// A liftedCone is the cone of {height}×W for a compact convex set W.
type liftedCone struct {
	set           geometry.Compact
	height        float64
	scaled, point []float64
}

func newLiftedCone(set geometry.Compact, height float64) *liftedCone {
	return &liftedCone{set, height, make([]float64, set.Dim()), make([]float64, set.Dim())}
}

// project sets dst to the point (height·t, t·w) nearest to u. For a given t > 0
// the best w is the projection of u'/t on W, and the squared distance is a convex
// function of t, whose derivative increases; its zero is found by bisection with
// secants.
func (c *liftedCone) project(dst, u []float64) {
	t := c.nearest(u)
	clear(dst)
	if t == 0 {
		return
	}
	dst[0] = t * c.height
	floats.ScaleTo(dst[1:], t, c.point)
}

// nearest returns t and leaves w in c.point.
func (c *liftedCone) nearest(u []float64) float64 {
	c.set.MaximizeLinear(c.point, u[1:])
	if -c.height*u[0]-floats.Dot(u[1:], c.point) >= 0 {
		return 0 // u lies in the polar cone
	}
	low, up := 0.0, (math.Abs(u[0])+floats.Norm(u[1:], 2))/c.height
	atLow, atUp := -1.0, c.slope(u, up) // only the sign of the first is used
	for side, step := 0, 0; step < 200 && up-low > 1e-15*up; step++ {
		t := low/2 + up/2
		if step%3 != 0 && low > 0 {
			if s := low - atLow*(up-low)/(atUp-atLow); s > low && s < up {
				t = s
			}
		}
		switch v := c.slope(u, t); {
		case v == 0:
			return t
		case v < 0:
			if low, atLow = t, v; side < 0 {
				atUp /= 2 // Illinois: the other end has stood still
			}
			side = -1
		default:
			if up, atUp = t, v; side > 0 {
				atLow /= 2
			}
			side = 1
		}
	}
	c.slope(u, up)
	return up
}

// slope returns half the derivative of the squared distance at t > 0.
func (c *liftedCone) slope(u []float64, t float64) float64 {
	floats.ScaleTo(c.scaled, 1/t, u[1:])
	c.set.Project(c.point, c.scaled)
	sum := c.height * (c.height*t - u[0])
	for i, w := range c.point {
		sum -= (u[1+i] - t*w) * w
	}
	return sum
}
