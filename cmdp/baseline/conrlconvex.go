package baseline

import (
	"context"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
)

var _ = register(Algorithm{
	Name: "conrl-convex", New: newConRLConvex,
	Source: "Brantley et al. (2020), ConRL, concave–convex", Planner: "convex program (value iteration as pricing, cuts)",
	Guarantee:     "weak regret and violation of the average, those of conrl-lp times Lipschitz constants, homogeneous kernel",
	NonlinearCost: true, NonlinearConstraints: true, Efficient: false, Homogeneous: true,
	Published: "0.001·√(1/n), 1 where not visited (its code)",
	Certainty: "from memory of the paper; the reduction to column generation derived here",
})

// A convexLearner plans each episode by a convex program over the returns that the
// empirical kernel makes possible, widened by the bonus.
type convexLearner struct {
	*core
	sweep   *sweep
	bonus   *conRLBonus
	program *exact.Mixer
	lazy    bool
	weight  []float64
	points  [][]float64 // by the numbers of the program
}

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
	l := &convexLearner{core: core, lazy: c.Lazy, bonus: &conRLBonus{core: core, means: float64(c.Shape.Dim())},
		sweep: newSweep(core.estimate, kernelSelf, nil), weight: make([]float64, core.signals)}
	lower, upper := make([]float64, c.Shape.Dim()), make([]float64, c.Shape.Dim())
	c.Shape.ReturnToGo(lower, upper, 0)
	l.program = exact.NewMixer(l, c.Task, lower, upper)
	return l, nil
}

// Dim returns the number of returns.
func (l *convexLearner) Dim() int { return l.signals - 1 }

// Extent sets lower and upper to the box of the returns, widened by the largest bonuses.
func (l *convexLearner) Extent(lower, upper []float64) {
	d := len(lower)
	low, high := make([]float64, d+1), make([]float64, d+1)
	l.sweep.Extent(low, high)
	for j := range d {
		low[j] -= high[d]
		high[j] += high[d]
	}
	l.returnsOf(lower, low)
	l.returnsOf(upper, high)
}

// Least finds the extreme point of the widened set in a direction.
func (l *convexLearner) Least(number int, dir []float64) []float64 {
	d := len(dir)
	l.weight[d] = 0
	for j, t := range dir {
		l.weight[j] = t * l.width[j]
		l.weight[d] -= math.Abs(l.weight[j])
	}
	value := l.sweep.Least(number, l.weight)
	for number >= len(l.points) {
		l.points = append(l.points, make([]float64, d))
	}
	point := l.points[number]
	for j, t := range dir {
		x := value[j]
		switch {
		case t > 0:
			x -= value[d]
		case t < 0:
			x += value[d]
		}
		point[j] = l.width[j]*x + l.shift[j]
	}
	return point
}

// Policy plans, and returns the policy of the next episode.
func (l *convexLearner) Policy() cmdp.Policy {
	if l.state.Planned {
		return l.policy
	}
	l.settle()
	l.bonus.next()
	m := l.signals
	for h := range l.horizon {
		for c := range l.shape.StepChoices(h) {
			i := (l.base[h] + c) * m
			copy(l.sweep.signal[i:i+m], l.mean[i:i+m])
			l.sweep.signal[i+m-1] = l.bonus.of(&l.layer(h)[c])
		}
	}
	before := l.sweep.calls
	feasible, err := l.program.Solve(context.Background())
	l.state.Work.Planner += l.sweep.calls - before
	l.state.Work.Programs++
	if err == nil && feasible {
		l.sweep.blend(l.policy, l.program)
	} else {
		l.state.Work.Infeasible++
	}
	l.state.Planned = true
	return l.policy
}

// Observe takes an episode.
func (l *convexLearner) Observe(tr *cmdp.Trajectory) {
	l.observe(tr)
	if l.lazy && !l.fresh {
		l.state.Planned = true
	}
}

// MarshalBinary returns the state of the learner, from which UnmarshalBinary
// continues bit for bit.
func (l *convexLearner) MarshalBinary() ([]byte, error) {
	return l.save(&l.program.Warm)
}

// UnmarshalBinary restores a state that MarshalBinary returned, into a learner
// of the same Config.
func (l *convexLearner) UnmarshalBinary(data []byte) error {
	var warm exact.Warm
	if err := l.load(data, &warm); err != nil {
		return err
	}
	l.program.Warm = warm
	return nil
}
