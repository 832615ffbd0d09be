package cmdptest

import (
	"math"

	"cmdpsolve/cmdp"
)

// plannerEpisodes is how many episodes CheckPlanner plays.
const plannerEpisodes = 200

// CheckPlanner lets a planner plan on counts that grow, in random directions, and
// checks that lower values do not pass upper ones; that plans are positively
// homogeneous, plan(cθ) = c·plan(θ); that nothing of an earlier direction stays
// behind in a plan (erratum E-21); that a zero direction is answered; that every
// action is one that its state offers; and that the direction is not changed.
// counts must be empty and fit the environment and the planner.
func CheckPlanner(p cmdp.OptimisticPlanner, env cmdp.Environment, counts *cmdp.Counts) error {
	sh := env.Shape()
	envRNG, agent, rng := stream("environment"), stream("agent"), stream("directions")
	used, tr := p.NewPlan(), cmdp.NewTrajectory(sh)
	for k := range plannerEpisodes {
		dir := unit(rng, sh.Dim())
		if err := checkPlan(p, used, counts, dir); err != nil {
			return err
		}
		if err := checkActions(sh, used); err != nil {
			return err
		}
		if k%20 == 0 {
			p.Plan(used, counts, make([]float64, sh.Dim()))
			if math.Abs(used.Low) > 1e-9 || math.Abs(used.Up) > 1e-9 {
				return errorf("zero direction", "values %g to %g: want 0", used.Low, used.Up)
			}
			if err := checkActions(sh, used); err != nil {
				return err
			}
		}
		if err := play(env, tr, envRNG, agent); err != nil {
			return err
		}
		counts.Observe(tr)
	}
	return nil
}

func checkPlan(p cmdp.OptimisticPlanner, used *cmdp.Plan, counts *cmdp.Counts, dir []float64) error {
	before := append([]float64(nil), dir...)
	p.Plan(used, counts, dir)
	if !equal(dir, before) {
		return errorf("direction", "Plan changed the direction %v", before)
	}
	if !(used.Low <= used.Up) {
		return errorf("bounds", "direction %v: lower value %g, upper value %g", dir, used.Low, used.Up)
	}
	fresh := p.NewPlan()
	p.Plan(fresh, counts, dir)
	if fresh.Low != used.Low || fresh.Up != used.Up {
		return errorf("fresh plan", "direction %v: a fresh plan has values %g to %g, a used one %g to %g", dir,
			fresh.Low, fresh.Up, used.Low, used.Up)
	}
	const c = 7.25
	long := make([]float64, len(dir))
	for i := range dir {
		long[i] = c * dir[i]
	}
	p.Plan(fresh, counts, long)
	if tol := 1e-9 * c * (1 + math.Abs(used.Low) + math.Abs(used.Up)); math.Abs(fresh.Low-c*used.Low) > tol ||
		math.Abs(fresh.Up-c*used.Up) > tol {
		return errorf("homogeneity", "direction %v: values %g to %g; %g times it: %g to %g", dir, used.Low, used.Up, c,
			fresh.Low, fresh.Up)
	}
	p.Plan(used, counts, dir)
	return nil
}

// checkActions checks that a policy has a distribution, and draws from it, in
// every state that offers actions.
func checkActions(sh *cmdp.Shape, p cmdp.Policy) error {
	rng := stream("actions")
	for h := range sh.Horizon() {
		for s := range sh.States() {
			n := sh.Actions(h, s)
			if n == 0 {
				continue
			}
			probs, sum := make([]float64, n), 0.0
			for a := range probs {
				probs[a] = math.NaN()
			}
			p.Distribution(probs, h, s)
			for a, x := range probs {
				if !(x >= 0) {
					return errorf("distribution", "step %d, state %d, action %d: probability %g", h+1, s, a, x)
				}
				sum += x
			}
			if math.Abs(sum-1) > cmdp.ProbabilityTolerance {
				return errorf("distribution", "step %d, state %d: probabilities sum to %.12g", h+1, s, sum)
			}
			if a := p.Choose(rng, h, s); a < 0 || a >= n || probs[a] == 0 {
				return errorf("choice", "step %d, state %d: action %d of %d has probability 0 or does not exist", h+1,
					s, a, n)
			}
		}
	}
	return nil
}
