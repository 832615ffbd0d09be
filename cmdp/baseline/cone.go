package baseline

import (
	"math"

	"cmdpsolve/geometry"
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// largestNorm returns a bound of the norms in a set, by the box around it.
func largestNorm(set geometry.Compact) float64 {
	lower, upper := make([]float64, set.Dim()), make([]float64, set.Dim())
	oracle.Extremes(set, lower, upper)
	return farthest(lower, upper)
}

// farthest returns the largest norm in a box.
func farthest(lower, upper []float64) float64 {
	sum := 0.0
	for i := range lower {
		most := max(math.Abs(lower[i]), math.Abs(upper[i]))
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

// polar projects u on the polar cone within the unit ball. By Moreau the projection on the polar cone is u
// less its projection on the cone; it is then shortened to the ball. room has the length of u.
func (c *liftedCone) polar(u, room []float64) {
	c.project(room, u)
	floats.Sub(u, room)
	if n := floats.Norm(u, 2); n > 1 {
		floats.Scale(1/n, u)
	}
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
			low, atLow = t, v
			if side < 0 {
				atUp /= 2 // Illinois: the other end has stood still
			}
			side = -1
		default:
			up, atUp = t, v
			if side > 0 {
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
