package baseline

import (
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

var _ = register(Algorithm{
	Name: "appropo", New: newApproPO,
	Source:               "Miryoosefi, Brantley, Daumé, Dudík, Schapire (2019), ApproPO",
	Planner:              "1 value iteration, 1 evaluation and a cone projection",
	Guarantee:            "dist(mixture, W*) ≤ least + (B_z+ε₁)/√K + ε₀ + 2ε₁ for oracles of errors ε₀, ε₁",
	NonlinearConstraints: true, Efficient: true,
	UsesSupport: true,
	Published:   "bonus 0.001·‖θ‖/√n, κ = 20, steps 1/√t with momentum 0.9 (its code and that of ConRL, which runs it)",
	Certainty:   "theory from memory of the paper, practice checked against its code; bisection rules derived here",
})

// An approPO is the state of ApproPO.
type approPO struct {
	*core
	task    cmdp.Task
	goal    cost.Affine // nil without a cost
	planner *cmdp.OptimisticVI
	plan    *cmdp.Plan
	table   *signalTable // scaled means
	eval    *evaluation
	center  []float64
	radius  float64          // of the box of returns
	target  geometry.Compact // of this stage
	cone    *liftedCone      // over the target less the centre
	point   []float64
	most    int // episodes of a stage without a decision
	value   []float64
	z       []float64
	search  approState
}

// approState is what an approPO keeps beyond the core.
type approState struct {
	Lambda    []float64 // d+1, that of the lifted coordinate first
	Velocity  []float64 // of λ, with momentum
	Low, Up   float64   // thresholds of the cost: refuted, accepted
	Threshold float64   // +Inf without a cost
	Episodes  int       // of this stage
	Sum       []float64 // of the estimated returns of this stage
}

// newApproPO returns ApproPO of Miryoosefi et al., "Reinforcement learning with
// convex constraints" (2019): online gradient ascent on λ in the polar cone of the
// target, against best responses. Returns, less the centre of the box of possible
// returns, and the target are lifted by a coordinate κ = max ‖w‖ over the target, so
// that it becomes a cone; λ ← Π(λ + η·(ẑ, κ)), η = 1/(B√t) with B the length of lifted returns,
// by exact projection on the polar cone within the unit ball.
// The paper has oracles and no exploration of its own: here the best response is
// optimistic value iteration with the bonus of MOMA, and the estimate ẑ is the
// evaluation of the plan on the empirical kernel.
//
// A linear cost is pursued as in the paper by bisection of a threshold t, the target
// being W ∩ {g ≤ t}: t is refuted once the optimistic value of λ is positive, which separates it from
// all policies, or after K/10 episodes without a decision; it is accepted once the
// mean estimate lies within 0.5% of the diameter of the returns (these rules are
// derived here). Other costs are refused: the paper's problem is feasibility, and a
// cost enters by a threshold of one more measurement.
//
// The published scale has the bonus 0.001·‖θ‖/√n of repository miryoosefi/ConRL, which compares
// with it, and of it and xkianteb/ApproPO κ = 20 and, in place of η, steps 1/√t with momentum 0.9
// in the user's units; their oracle is a policy gradient method. It can be saved.
func newApproPO(c Config) (cmdp.Learner, error) {
	l := &approPO{task: c.Task}
	if c.Task.Cost != nil {
		goal, ok := c.Task.Cost.(cost.Affine)
		if !ok {
			return nil, unsupported("appropo", "it pursues a cost by its level sets, and the cost is not linear")
		}
		l.goal = goal
	}
	u := newCoordinates(&c, false)
	var err error
	l.core, err = coreOf(u, &c)
	if err != nil {
		return nil, err
	}
	if err := l.newPlanner(&c); err != nil {
		return nil, err
	}
	d := c.Shape.Dim()
	lower, upper := c.Shape.Totals()
	l.center, l.value, l.z = make([]float64, d), make([]float64, d), make([]float64, d+1)
	l.point = make([]float64, d+1)
	floats.AddTo(l.center, lower, upper)
	floats.Scale(0.5, l.center)
	l.radius = floats.Distance(lower, l.center, 2)
	l.most = max(64, int(l.k/10))
	l.table = newSignalTable(l.estimate)
	l.table.set = func(dst []float64, _ int, _ *row, mean []float64) { copy(dst, mean) }
	l.table.rebuild()
	l.eval = newEvaluation(l.estimate)
	l.replan = func() {
		l.state.Work.Planner++
		l.planner.Plan(l.plan, l.counts, l.search.Lambda[1:])
	}
	l.Keep(&l.search)
	l.Then(l.resume)
	l.search = approState{Threshold: math.Inf(1), Sum: make([]float64, d),
		Lambda: make([]float64, d+1), Velocity: make([]float64, d+1)}
	if l.goal != nil {
		l.search.Low, l.search.Up = geometry.LinearRange(l.goal.Gradient(), lower, upper)
		l.search.Low, l.search.Up = l.search.Low+l.goal.Offset(), l.search.Up+l.goal.Offset()
		l.search.Threshold = l.search.Up
		if l.task.Target == nil {
			l.task.Target, err = boxTarget(lower, upper)
			if err != nil {
				return nil, err
			}
		}
		return l, l.bisect()
	}
	return l, l.aim(l.task.Target)
}

// newPlanner makes the best-response oracle on the core's counts.
func (l *approPO) newPlanner(c *Config) error {
	var bonus cmdp.Bonus
	var err error
	kernel := c.Confidence
	if c.Returns == nil {
		kernel.Failure /= 2
		radius := c.Bonus.Multiplier()
		if c.Bonus.Mode == cmdp.Published { // the one bonus is for everything
			radius = 0
		}
		counts, err := c.newCounts(cmdp.NewReturnConfidence(c.Shape, l.logTerm(16*float64(c.Shape.Dim())), radius))
		if err != nil {
			return err
		}
		*l.counts = *counts
	}
	if c.Bonus.Mode == cmdp.Published {
		bonus = normBonus(0.001 * c.Bonus.Multiplier())
	} else {
		bonus, err = cmdp.NewBonus(c.Shape, true, c.Pooled, c.Bonus, kernel)
		if err != nil {
			return err
		}
	}
	l.planner, err = cmdp.NewOptimisticVI(c.Shape, c.Returns, bonus)
	if err != nil {
		return err
	}
	l.plan = l.planner.NewPlan()
	return nil
}

// A normBonus is c·‖θ‖/√n.
type normBonus float64

// Width returns the bonus.
func (b normBonus) Width(st *cmdp.Stage, m *cmdp.Moments) float64 {
	return float64(b) * st.Norm * m.Root
}

func boxTarget(lower, upper []float64) (geometry.Compact, error) {
	b, err := geometry.NewBox(lower, upper)
	if err != nil {
		return nil, err
	}
	return b.Bounded()
}

// aim starts a stage with the given target.
func (l *approPO) aim(target geometry.Compact) error {
	if err := l.lift(target); err != nil {
		return err
	}
	l.search.Episodes = 0
	clear(l.search.Velocity)
	clear(l.search.Sum)
	for i := range l.search.Lambda { // any start will do
		l.search.Lambda[i] = 1
	}
	l.cone.polar(l.search.Lambda, l.point)
	return nil
}

// lift sets the target of the stage and its cone.
func (l *approPO) lift(target geometry.Compact) error {
	away := make([]float64, len(l.center))
	floats.AddScaled(away, -1, l.center)
	set, err := geometry.NewTranslate(target, away)
	if err != nil {
		return err
	}
	moved, err := geometry.CompactOf(set)
	if err != nil {
		return err
	}
	height := largestNorm(moved)
	if height == 0 { // the target is the centre; any positive height does
		height = max(l.radius, 1e-9)
	}
	if l.scale.Mode == cmdp.Published {
		height = publishedHeight
	}
	l.target, l.cone = target, newLiftedCone(moved, height)
	return nil
}

// resume goes on with the stage that was saved.
func (l *approPO) resume() error {
	l.table.rebuild()
	l.state.Planned = false      // the plan is made again,
	l.plan = l.planner.NewPlan() // and knows nothing of states that were seen before
	target := l.task.Target
	if l.goal != nil {
		if t, err := l.level(l.search.Threshold); err == nil {
			target = t
		}
	}
	return l.lift(target)
}

// bisect starts a stage with the middle of the open interval of thresholds, or
// with the accepted end once the interval is small. Thresholds whose level set
// misses the target are refuted at once.
func (l *approPO) bisect() error {
	st := &l.search
	small := max(0.005*l.goal.Lipschitz()*2*l.radius, 1e-12*(math.Abs(st.Low)+math.Abs(st.Up)))
	for st.Up-st.Low > small {
		st.Threshold = (st.Low + st.Up) / 2
		target, err := l.level(st.Threshold)
		if err == nil {
			return l.aim(target)
		}
		st.Low = st.Threshold
	}
	st.Threshold = st.Up
	target, err := l.level(st.Up)
	if err != nil { // rounding; the target alone is left
		target = l.task.Target
	}
	return l.aim(target)
}

// level returns the target cut with the level set of a threshold.
func (l *approPO) level(threshold float64) (geometry.Compact, error) {
	half, err := geometry.NewHalfspace(l.goal.Gradient(), threshold-l.goal.Offset())
	if err != nil {
		return l.task.Target, nil // a constant cost
	}
	set, err := geometry.NewIntersection(l.task.Target, half)
	if err != nil {
		return nil, err
	}
	return geometry.CompactOf(set)
}

// Policy plans the best response to λ.
func (l *approPO) Policy() cmdp.Policy {
	l.core.Policy()
	return l.plan
}

// Observe takes an episode.
func (l *approPO) Observe(tr *cmdp.Trajectory) {
	st, d := &l.search, len(l.center)
	l.state.Work.Planner++
	scaled := make([]float64, d)
	l.eval.run(scaled, l.plan, l.table)
	l.returnsOf(l.value, scaled)
	optimistic := l.plan.Low - floats.Dot(st.Lambda[1:], l.center) + st.Lambda[0]*l.cone.height
	l.table.update(l.observe(tr))
	st.Episodes++
	floats.Add(st.Sum, l.value)
	l.z[0] = l.cone.height
	floats.SubTo(l.z[1:], l.value, l.center)
	bound := math.Hypot(l.radius, l.cone.height)
	l.ascend(bound)
	l.cone.polar(l.search.Lambda, l.point)
	if l.goal != nil {
		l.decide(optimistic, bound)
	}
}

// The constants of published experiments.
const (
	publishedHeight   = 20
	publishedMomentum = 0.9
)

// ascend takes the gradient step of λ for the lifted return z.
func (l *approPO) ascend(bound float64) {
	st := &l.search
	root := math.Sqrt(float64(st.Episodes))
	if l.scale.Mode != cmdp.Published {
		floats.AddScaled(st.Lambda, 1/(bound*root), l.z)
		return
	}
	floats.Scale(publishedMomentum, st.Velocity)
	floats.AddScaled(st.Velocity, (1-publishedMomentum)/root, l.z)
	floats.Add(st.Lambda, st.Velocity)
}

// decide ends the stage if its threshold is refuted or accepted.
func (l *approPO) decide(optimistic, bound float64) {
	st := &l.search
	if st.Threshold >= st.Up {
		return // the last stage
	}
	switch n := st.Episodes; {
	case optimistic > 1e-3*bound, n >= l.most:
		st.Low = st.Threshold
	case n >= 16 && n&(n-1) == 0 && l.near():
		st.Up = st.Threshold
	default:
		return
	}
	if err := l.bisect(); err != nil {
		st.Low = st.Up // the stage goes on; no threshold is left to try
	}
}

// near reports whether the mean estimate of the stage lies near its target.
func (l *approPO) near() bool {
	mean := make([]float64, len(l.center))
	floats.ScaleTo(mean, 1/float64(l.search.Episodes), l.search.Sum)
	l.target.Project(l.value, mean)
	return floats.Distance(mean, l.value, 2) <= 0.005*2*l.radius
}
