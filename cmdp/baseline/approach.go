package baseline

import (
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/internal/saved"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// Strategies for games of one state and one step with known vector payoffs: in the direction θ of a
// dual update the agent plays an optimal mixed row of the matrix game ⟨θ, r(a, b)⟩.

var _ = registerApproach("blackwell", "Blackwell (1956)", "dist(W^K, W*) ≤ δ + √d/√K in expected payoffs",
	newBlackwell) &&
	registerApproach("abh", "Abernethy, Bartlett, Hazan (2011)",
		"dist(W^K, W*) ≤ 6√(κ²+d)/√K in expected payoffs, if the target can be approached", newABH) &&
	registerApproach("shimkin", "Shimkin (2016)", "dist(W^K, W*) ≤ δ + 3√d/√K in expected payoffs", newShimkin)

func registerApproach(name, source, guarantee string, newLearner func(Config) (cmdp.Learner, error)) bool {
	return register(Algorithm{
		Name: name, New: newLearner, Source: source, Planner: "1 matrix game", Guarantee: guarantee,
		NonlinearConstraints: true, Games: true, Efficient: true,
		Needs: []string{"S=H=1", "known returns"}, Published: "no bonus: the scale changes nothing",
		Certainty: "derived here",
	})
}

// newBlackwell returns the strategy of Blackwell's approachability theorem (1956): θ points from the
// projection of the mean payoff W on the target to W. While W lies inside the target θ stays as it is; at
// first it is (1, …, 1)/√d. With expected payoffs in a box of diameter R,
// dist(W^K, W*) ≤ δ + R/√K, where δ is the gap of the target; realised payoffs add
// O(R·√(ln(1/p)/K)) with probability 1 − p. It is the projection-based dual update of MOMA.
func newBlackwell(c Config) (cmdp.Learner, error) {
	return newApproach("blackwell", &c,
		func() (cmdp.DualUpdate, error) { return cmdp.NewProjectionDual(c.Task.Target), nil })
}

// newShimkin returns approachability by online convex optimisation (Shimkin 2016): online gradient descent on
// the dual of the distance to the target, which needs no projection on it,
//
//	θ ← Π_ball{θ + η_k (r − y)},  y ∈ argmax_{y∈W*} ⟨θ, y⟩,  η_k = 1/(R√k),
//
// from θ = 0, with R the diameter of the box of payoffs. Of several maximisers y is the one nearest to r, if
// the set can say. With expected payoffs dist(W^K, W*) ≤ δ + 3R/√K (erratum E-14). It is
// the projection-free dual update of MOMA.
func newShimkin(c Config) (cmdp.Learner, error) {
	return newApproach("shimkin", &c, func() (cmdp.DualUpdate, error) {
		return cmdp.NewTermsDual(c.Shape, cmdp.Task{Target: c.Task.Target}, nil)
	})
}

// newApproach returns MOMA with a dual update in the game of a Config, in which nothing is uncertain.
func newApproach(name string, c *Config, newDual func() (cmdp.DualUpdate, error)) (cmdp.Learner, error) {
	sh := c.Shape
	switch {
	case sh.Horizon() != 1 || len(sh.StartStates()) != 1:
		return nil, unsupported(name, "it plays games of one state and one step")
	case c.Task.Cost != nil || c.Task.Target == nil:
		return nil, unsupported(name, "it pursues a target and no cost")
	case c.Returns == nil:
		return nil, unsupported(name, "it has to know the payoff vectors")
	case sh.Actions(0, sh.StartStates()[0].State) == 0:
		return nil, unsupported(name, "there is nothing to choose")
	}
	dual, err := newDual()
	if err != nil {
		return nil, err
	}
	return momaOf(c, cmdp.NoBonus{}, dual)
}

// newABH returns approachability by online linear optimisation on a lifted cone
// (Abernethy, Bartlett, Hazan 2011). With κ ≥ ‖w‖ for all points w of the target, C the cone of
// {κ}×W* and C° its polar cone,
//
//	θ ← Π_{C°∩ball}{θ + η_k (κ, r)},  η_k = 1/(√(κ²+R²)·√k),
//
// from θ = 0, where R bounds the norm of a payoff (√d for payoffs in [0,1]^d), and
// the agent plays for the last d coordinates of θ. The
// distance of (κ, W^K) to C is at most 3√(κ²+R²)/√K in expected payoffs, that of W^K
// to W* twice as much, if the target can be approached.
func newABH(c Config) (cmdp.Learner, error) {
	return newApproach("abh", &c, func() (cmdp.DualUpdate, error) { return newConeDual(c.Shape, c.Task.Target), nil })
}

// A coneDual is the dual update of ABH.
type coneDual struct {
	saved.State
	cone   *liftedCone
	size   float64 // √(κ²+R²)
	point  []float64
	theta  []float64 // d+1
	rounds int
}

func newConeDual(sh *cmdp.Shape, target geometry.Compact) *coneDual {
	d := sh.Dim()
	radius, kappa := farthest(sh.Totals()), largestNorm(target)
	if kappa == 0 { // the target is the origin; any positive height does
		kappa = radius
		if kappa == 0 {
			kappa = 1
		}
	}
	u := &coneDual{cone: newLiftedCone(target, kappa), size: math.Hypot(kappa, radius), point: make([]float64, d+1),
		theta: make([]float64, d+1)}
	u.Keep(&u.rounds, &u.theta)
	return u
}

// Direction returns the last d coordinates of θ.
func (u *coneDual) Direction() []float64 { return u.theta[1:] }

// Observe takes the gradient step.
func (u *coneDual) Observe(payoff []float64, _ float64) cmdp.Evidence {
	u.rounds++
	eta := 1 / math.Sqrt(float64(u.rounds)) / u.size
	u.theta[0] += eta * u.cone.height
	floats.AddScaled(u.theta[1:], eta, payoff)
	u.cone.polar(u.theta, u.point)
	return noEvidence
}
