package baseline

import (
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
)

var _ = register(Algorithm{
	Name: "conrl-convex", New: newConRLConvex,
	Source:  "Brantley et al. (2020), ConRL, concave–convex",
	Planner: "convex program (value iteration as pricing, cuts)",
	Guarantee: "weak regret and violation of the average, those of conrl-lp times Lipschitz constants, " +
		"homogeneous kernel",
	NonlinearCost: true, NonlinearConstraints: true, Efficient: false, Homogeneous: true,
	Published: "0.001·√(1/n), 1 where not visited (its code)",
	Certainty: "from memory of the paper; the reduction to column generation derived here",
})

// newConRLConvex returns the concave–convex algorithm of Brantley et al. (2020),
// from memory: each episode
//
//	min g(u)   s.t.  u ∈ W,   u_j = v_j(q) + ω_j,   |ω_j| ≤ w_j·Σ q b,   q an occupancy of the empirical kernel,
//
// b being the bonus of conrl-lp, with the number d of returns for I+1, and w_j the width of
// return j, in place of the paper's variables |w_j(s,a,h)| ≤ q b, of which only the sums matter (derived here).
// Neither g nor W need be monotone: the sign of ω is the program's own choice. It is
// solved by column generation: value iteration for θ·v − (Σ|θ_j| w_j)·b finds the
// extreme point in a direction, tangents of g and half-spaces of W are added where
// the mixture goes. Without a solution the policy of the episode before is kept.
// Guarantee: that of conrl-lp, times ℓ₁ Lipschitz constants. It can be saved.
func newConRLConvex(c Config) (cmdp.Learner, error) {
	core, err := coreOf(newCoordinates(&c, true), &c)
	if err != nil {
		return nil, err
	}
	sw, bonus := newConRLSweep(core, c.Shape.Dim())
	l := &lpLearner{core: core, lazy: c.Lazy, anew: true}
	lower, upper := c.Shape.Totals()
	points := &widened{sweep: sw, weight: make([]float64, core.signals)}
	l.readyFor(sw, exact.NewMixer(points, c.Task, lower, upper), func(dst []float64, _ int, r *row, mean []float64) {
		copy(dst, mean)
		dst[len(dst)-1] = bonus.of(r)
	})
	return l, nil
}

// widened are the returns that the empirical kernel makes possible, widened by the bonus, which is the last
// signal of the sweep.
type widened struct {
	*sweep
	weight []float64
	points [][]float64 // by the numbers of the program
}

// Dim returns the number of returns.
func (x *widened) Dim() int { return x.signals - 1 }

// Extent sets lower and upper to the box of the returns, widened by the largest bonuses.
func (x *widened) Extent(lower, upper []float64) {
	d := len(lower)
	low, high := make([]float64, d+1), make([]float64, d+1)
	x.sweep.Extent(low, high)
	for j := range d {
		low[j] -= high[d]
		high[j] += high[d]
	}
	x.returnsOf(lower, low)
	x.returnsOf(upper, high)
}

// Least finds the extreme point of the widened set in a direction.
func (x *widened) Least(number int, dir []float64) []float64 {
	d := len(dir)
	x.weight[d] = 0
	for j, t := range dir {
		x.weight[j] = t * x.width[j]
		x.weight[d] -= math.Abs(x.weight[j])
	}
	value := x.sweep.Least(number, x.weight)
	for number >= len(x.points) {
		x.points = append(x.points, make([]float64, d))
	}
	point := x.points[number]
	for j, t := range dir {
		v := value[j]
		switch {
		case t > 0:
			v -= value[d]
		case t < 0:
			v += value[d]
		}
		point[j] = x.width[j]*v + x.shift[j]
	}
	return point
}
