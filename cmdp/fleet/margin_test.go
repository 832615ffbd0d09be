package fleet_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/fleet"

	"gonum.org/v1/gonum/floats"
)

// safely plans for a fleet that maximises return 0 with capacities at each step.
func safely(t testing.TB, f *fleet.Fleet, share, probability float64) (*fleet.Safe, []fleet.Limit, cmdp.Task) {
	t.Helper()
	p, task := capped(t, f, share)
	var limits []fleet.Limit
	for _, i := range f.EachStep {
		for h := range f.Horizon() {
			limits = append(limits, fleet.Limit{Return: i, Step: h,
				Bound: math.Round(1000*share*float64(f.Agents())) / 1000})
		}
	}
	again := func(limits []fleet.Limit) (cmdp.Task, error) { return p.Task(t.Context(), task.Cost, limits) }
	safe, err := p.SolveSafely(t.Context(), limits, again, probability, 1, exact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return safe, limits, task
}

// TestSafePlans: limits hold with the probability in episodes that are played, the margins are not far larger
// than they have to be, and much smaller than those of Hoeffding's inequality.
func TestSafePlans(t *testing.T) {
	const probability = 0.95
	for _, n := range []int{20, 500} {
		f := machines(t, n, 8)
		safe, _, task := safely(t, f, 0.2, probability)
		if !safe.Met {
			t.Fatalf("not met: %v", safe.Holds)
		}
		player, err := fleet.NewIndependent(f, safe.Plan)
		if err != nil {
			t.Fatal(err)
		}
		played := play(t, f, task, player, 4000, 3)
		tight := 0
		for k, l := range played.Limits {
			near(t, "probability", 1-l.Broken.Share, safe.Holds[k].Probability, 0.02)
			if safe.Holds[k].Probability < probability {
				t.Errorf("limit %d holds with %g", k, safe.Holds[k].Probability)
			}
			if safe.Margins[k] > 0 && safe.Holds[k].Probability < 1-0.3*(1-probability) {
				tight++
			}
			hoeffding := math.Sqrt(float64(n) * math.Log(1/(1-probability)) / 2)
			if safe.Margins[k] > 0.8*hoeffding {
				t.Errorf("margin %g, Hoeffding's is %g", safe.Margins[k], hoeffding)
			}
		}
		if tight == 0 {
			t.Errorf("all limits hold with far more than is asked for: %v with margins %v", safe.Holds, safe.Margins)
		}
		if safe.Objective < safe.Without.Objective {
			t.Errorf("margins make the objective better: %g of %g", safe.Objective, safe.Without.Objective)
		}
		t.Logf("%d machines: %d rounds, margins %.3v, objective %.4f of %.4f", n, safe.Rounds, safe.Margins,
			-safe.Objective, -safe.Without.Objective)
	}
}

// TestSafePlansByEpisodes: where use cannot be counted, episodes are played. What they say of the limits is near to
// what others say. The farther end of Wilson's interval is a normal quantile away by its own variance.
func TestSafePlansByEpisodes(t *testing.T) {
	counted := 0
	for _, x := range []struct {
		seed               uint64
		share, probability float64
	}{{1, 0.6, 0.9}, {9, 0.3, 0.2}} {
		rng := rand.New(rand.NewPCG(13, x.seed))
		f := random(t, rng, shape{types: 2, agents: 6, states: 3, actions: 3, successors: 2, horizon: 2, resources: 1})
		safe, _, task := safely(t, f, x.share, x.probability)
		if !safe.Met {
			t.Fatalf("not met: %v", safe.Holds)
		}
		player, err := fleet.NewIndependent(f, safe.Plan)
		if err != nil {
			t.Fatal(err)
		}
		played := play(t, f, task, player, 4000, 77)
		for k, l := range played.Limits {
			h := safe.Holds[k]
			near(t, "probability", 1-l.Broken.Share, h.Probability, 0.02)
			if h.Episodes == 0 {
				continue
			}
			counted++
			n, p := float64(h.Episodes), 1-h.Probability
			const z = 1.959963984540054
			end := p + h.Half
			if p > 0.5 {
				end = p - h.Half
			}
			near(t, "end of an interval", (end-p)*(end-p), z*z*end*(1-end)/n, 1e-9)
		}
	}
	if counted < 2 {
		t.Errorf("%d limits were judged by episodes", counted)
	}
}

// TestSafeImpossible: a limit that cannot hold with the probability.
func TestSafeImpossible(t *testing.T) {
	f := machines(t, 3, 4)
	p, task := capped(t, f, 0.3)
	limits := []fleet.Limit{{Return: 0, Step: fleet.Episode, AtLeast: true, Bound: 9.5}}
	again := func(limits []fleet.Limit) (cmdp.Task, error) { return p.Task(t.Context(), task.Cost, limits) }
	safe, err := p.SolveSafely(t.Context(), limits, again, 0.99, 1, exact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if safe.Met {
		t.Errorf("met: %v", safe.Holds)
	}
	for _, probability := range []float64{0, 1, -1, math.NaN()} {
		if _, err := p.SolveSafely(t.Context(), limits, again, probability, 1, exact.Options{}); err == nil {
			t.Errorf("probability %g is no mistake", probability)
		}
	}
}

// TestSafeByEnumeration: in nasty fleets the probabilities with which limits hold from either side are those of
// all joint episodes, and the plan keeps the limits with their margins in the mean.
func TestSafeByEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 26))
	const probability = 0.8
	met := 0
	for i := range 30 {
		f := random(t, rng, shape{types: 2, agents: 1, states: 2, actions: 3, successors: 2, horizon: 2, resources: 1,
			stepwise: i%2 == 0, nasty: true, signed: i%3 == 0})
		f.Types[0].Count = 2
		p, err := fleet.NewPlanner(f, 1)
		if err != nil {
			t.Fatal(err)
		}
		goal, err := p.Maximize(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		limits := []fleet.Limit{{Return: 1, Step: 0, Bound: 1.5}, {Return: 1, Step: 1, Bound: 2},
			{Return: 0, Step: 1, AtLeast: true, Bound: -0.5}}
		var tried []cmdp.Task
		again := func(limits []fleet.Limit) (cmdp.Task, error) {
			task, err := p.Task(t.Context(), goal, limits)
			tried = append(tried, task)
			return task, err
		}
		safe, err := p.SolveSafely(t.Context(), limits, again, probability, 1, exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !safe.Met {
			continue
		}
		met++
		for _, task := range tried {
			plan, err := p.Solve(t.Context(), task, exact.Options{})
			if err != nil || plan.Status != exact.Optimal || plan.Objective >= safe.Objective-1e-6 {
				continue
			}
			joint := playedBy(f, plan)
			if !slices.ContainsFunc(tried[0].Constraints,
				func(c cmdp.Constraint) bool { return holdsWith(c, joint) < probability }) {
				t.Errorf("%d: a plan with %g: there was one with %g", i, safe.Objective, plan.Objective)
			}
		}
		if safe.Objective < safe.Without.Objective-1e-9 {
			t.Errorf("%d: margins make the objective better: %g of %g", i, safe.Objective, safe.Without.Objective)
		}
		joint := playedBy(f, safe.Plan)
		for k, l := range limits {
			c, err := f.Constraint(l)
			if err != nil {
				t.Fatal(err)
			}
			holds := holdsWith(c, joint)
			near(t, "probability", safe.Holds[k].Probability, holds, 1e-9)
			if holds < probability-1e-9 || safe.Margins[k] < 0 {
				t.Errorf("%d: limit %v holds with probability %g, with a margin of %g", i, l, holds, safe.Margins[k])
			}
			if x := floats.Dot(c.Normal, safe.Returns); x > c.Offset-safe.Margins[k]+1e-7 {
				t.Errorf("%d: limit %v comes to %g in the mean: the margin is %g", i, l, x, safe.Margins[k])
			}
		}
	}
	if met < 15 {
		t.Errorf("%d of 30 fleets have a safe plan", met)
	}
}

// playedBy returns all joint outcomes of the agents of a plan.
func playedBy(f *fleet.Fleet, plan *fleet.Plan) []outcome {
	joint := []outcome{{make([]float64, f.Dim()), 1}}
	for k := range f.Types {
		for _, a := range plan.Types[k].Policies {
			for range a.Agents {
				joint = jointly(joint, outcomes(f, &f.Types[k], a.Policy, f.Types[k].Model.StartStates()))
			}
		}
	}
	return joint
}

// holdsWith returns the probability of the outcomes that keep a limit.
func holdsWith(c cmdp.Constraint, joint []outcome) (p float64) {
	for _, o := range joint {
		if floats.Dot(c.Normal, o.v) <= c.Offset {
			p += o.p
		}
	}
	return p
}
