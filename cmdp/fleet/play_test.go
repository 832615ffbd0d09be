package fleet_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/fleet"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// capped returns a task to maximise return 0 with capacities at each step, a share of the most that agents can use.
func capped(t testing.TB, f *fleet.Fleet, share float64) (*fleet.Planner, cmdp.Task) {
	t.Helper()
	var limits []fleet.Limit
	for _, i := range f.EachStep {
		for h := range f.Horizon() {
			limits = append(limits, fleet.Limit{Return: i, Step: h,
				Bound: math.Round(1000*share*float64(f.Agents())) / 1000})
		}
	}
	return maximizing(t, f, limits, 1)
}

// boxOf returns bounds of what a fleet may return.
func boxOf(t testing.TB, f *fleet.Fleet) *geometry.Box {
	t.Helper()
	p, err := fleet.NewPlanner(f, 1)
	if err != nil {
		t.Fatal(err)
	}
	box, err := p.Box(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return box
}

// play plays so many episodes.
func play(t testing.TB, f *fleet.Fleet, task cmdp.Task, player fleet.Player, episodes int, seed uint64) *fleet.Played {
	t.Helper()
	played, err := fleet.Play(t.Context(), f, task, player, fleet.PlayOptions{Episodes: episodes, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return played
}

func solved(t testing.TB, p *fleet.Planner, task cmdp.Task) *fleet.Plan {
	t.Helper()
	plan, err := p.Solve(t.Context(), task, exact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Status != exact.Optimal {
		t.Fatalf("the plan is %v", plan.Status)
	}
	return plan
}

// TestRemainingIsThePlan: the program of the steps that are left is, at the start, that of the plan. Limits of
// nasty fleets are from both sides, over the episode too, and on the goal. One type may gain far more than the others.
func TestRemainingIsThePlan(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 60 {
		sh := shape{types: 1 + rng.IntN(4), agents: 5, states: 3, actions: 3, successors: 3, horizon: 1 + rng.IntN(6),
			resources: 1 + rng.IntN(2), stepwise: i%2 == 0}
		sh.nasty = i >= 30
		sh.signed = i >= 45
		f := random(t, rng, sh)
		if last := len(f.Types) - 1; i%3 == 0 { // what breaks a limit is dear for all of them
			f.Types[last] = scaled(t, &fleet.Fleet{Types: f.Types[last:]}, func(to int, x float64) float64 {
				if to == 0 {
					x *= 100
				}
				return x
			}).Types[0]
		}
		p, task := capped(t, f, 0.2+0.3*rng.Float64())
		if sh.nasty {
			var err error
			task, err = p.Task(t.Context(), task.Cost, randomLimits(rng, f, 0.5+rng.Float64()))
			if err != nil {
				t.Fatal(err)
			}
		}
		plan, err := p.Solve(t.Context(), task, exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if sh.nasty && plan.Status == exact.Infeasible {
			continue
		}
		if plan.Status != exact.Optimal {
			t.Fatalf("the plan is %v", plan.Status)
		}
		objective, broken, err := fleet.RemainingObjective(t.Context(), f, task)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "objective", objective, plan.Objective, 1e-5*(1+math.Abs(plan.Objective)))
		if broken > 1e-7 {
			t.Fatalf("a limit is broken by %g", broken)
		}
	}
}

// TestPlayedAgentsAreThePlans: means of what is played are those of the plan for whole agents, capacities are
// broken as often as the distributions of sums say, and nothing depends on the number of workers.
func TestPlayedAgentsAreThePlans(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 6 {
		f := random(t, rng, shape{types: 2, agents: 6, states: 3, actions: 3, successors: 3, horizon: 4, resources: 1})
		p, task := capped(t, f, 0.3)
		plan := solved(t, p, task)
		player, err := fleet.NewIndependent(f, plan)
		if err != nil {
			t.Fatal(err)
		}
		played, err := fleet.Play(t.Context(), f, task, player, fleet.PlayOptions{Episodes: 3000, Seed: 1, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range plan.Whole {
			near(t, "mean", played.Mean[i], x, 2.5*played.Half[i]+1e-9)
		}
		exactly, err := player.Sums(t.Context(), task)
		if err != nil {
			t.Fatal(err)
		}
		for k, l := range played.Limits {
			if exactly[k] == nil {
				continue
			}
			near(t, "mean of a limit", meanOf(exactly[k]), floats.Dot(l.Normal, plan.Whole), 1e-9)
			if tail := exactly[k].Above(l.Offset); tail < l.Broken.Low-0.03 || tail > l.Broken.High+0.03 {
				t.Errorf("limit %v is broken with probability %g: played %v", l.Constraint, tail, l.Broken)
			}
		}
		again, err := fleet.Play(t.Context(), f, task, player, fleet.PlayOptions{Episodes: 3000, Seed: 1, Workers: 3})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(played, again) {
			t.Error("results depend on the number of workers")
		}
	}
}

// machines are worn by work, and a worn machine may break; crews repair them. All of it in whole numbers: a
// state is what the machine is, 0 new, 1 worn, 2 broken. A machine that works earns, and a repair needs a crew
// for a step.
func machines(t testing.TB, count, horizon int) *fleet.Fleet {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: horizon, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}},
		3)
	for _, r := range []cmdp.Row{
		{State: 0, Action: 0, Returns: []float64{1, 0},
			Next: []cmdp.Transition{{Next: 0, Probability: 0.6}, {Next: 1, Probability: 0.4}}},
		{State: 1, Action: 0, Returns: []float64{0.7, 0},
			Next: []cmdp.Transition{{Next: 1, Probability: 0.5}, {Next: 2, Probability: 0.5}}},
		{State: 1, Action: 1, Returns: []float64{0, 1}, Next: []cmdp.Transition{{Next: 0, Probability: 1}}},
		{State: 2, Action: 0, Returns: []float64{0, 0}, Next: []cmdp.Transition{{Next: 2, Probability: 1}}},
		{State: 2, Action: 1, Returns: []float64{0, 1},
			Next: []cmdp.Transition{{Next: 0, Probability: 0.7}, {Next: 2, Probability: 0.3}}},
	} {
		r.Step = cmdp.EveryStep
		if err := b.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	starts := make([]int, 3)
	starts[0] = count
	return &fleet.Fleet{Returns: []string{"output", "crews"}, EachStep: []int{1},
		Types: []fleet.Type{{Name: "machine", Count: count, Model: m, Returns: []int{0, 1}, Starts: starts}}}
}

// TestPlayedWithoutHorizon: of discounted fleets, and of those about long-run means, the means of episodes are
// near the expected returns.
func TestPlayedWithoutHorizon(t *testing.T) {
	for _, spec := range []cmdp.ModelSpec{{Discount: 0.8}, {Average: true}} {
		spec.Dim, spec.Start = 2, []cmdp.StartState{{State: 0, Probability: 0.3}, {State: 1, Probability: 0.7}}
		b := cmdp.NewBuilder(spec, 2)
		for s := range 2 {
			for a := range 2 {
				stay := 0.2 + 0.5*float64(a) + 0.1*float64(s)
				row := cmdp.Row{State: s, Action: a, Returns: []float64{float64(1 + s + a), float64(a)},
					Next: []cmdp.Transition{{Next: s, Probability: stay}, {Next: 1 - s, Probability: 1 - stay}}}
				if err := b.Add(row); err != nil {
					t.Fatal(err)
				}
			}
		}
		m, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		f := &fleet.Fleet{Returns: []string{"gain", "use"},
			Types: []fleet.Type{{Name: "a", Count: 7, Model: m, Returns: []int{0, 1}},
				{Name: "b", Count: 4, Model: m, Returns: []int{0, -1}}}}
		bound := 7.0
		if spec.Average {
			bound = 2
		}
		plan, task := solve(t, f, []fleet.Limit{{Return: 1, Step: fleet.Episode, Bound: bound}}, exact.Options{})
		player, err := fleet.NewIndependent(f, plan)
		if err != nil {
			t.Fatal(err)
		}
		played, err := fleet.Play(t.Context(), f, task, player, fleet.PlayOptions{Episodes: 400, Steps: 200, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		// At a discount an episode ends as soon as the rest is at most a millionth.
		if x := math.Pow(spec.Discount, float64(played.Steps)); !spec.Average && (x > 1e-6 || x <= 1e-6*spec.Discount) {
			t.Errorf("episodes of %d steps leave out %g", played.Steps, x)
		}
		off := []float64{1e-4, 1e-4}
		if spec.Average {
			if off, err = player.Drift(t.Context(), played.Steps); err != nil {
				t.Fatal(err)
			}
			want := make([]float64, 2)
			for k, tp := range plan.Types {
				for _, a := range tp.Policies {
					e, err := exact.Evaluate(t.Context(), m, a.Policy)
					if err != nil {
						t.Fatal(err)
					}
					for i, to := range f.Types[k].Returns {
						want[max(to, 0)] += float64(a.Agents*min(1, to+1)) * e.Drift[i] / float64(played.Steps)
					}
				}
			}
			near(t, "drift of the gain", off[0], want[0], 1e-12)
			near(t, "drift of the use", off[1], want[1], 1e-12)
		}
		for i, want := range plan.Whole {
			if math.Abs(played.Mean[i]-want) > 1.5*played.Half[i]+off[i] || !(played.Half[i] < 0.05*(1+want)) {
				t.Errorf("%+v: return %d is %v ± %v in episodes of %d steps: want %v", spec, i, played.Mean[i],
					played.Half[i], played.Steps, want)
			}
		}
		if _, err := fleet.NewReplanner(t.Context(), f, task, plan, 1); err == nil {
			t.Error("planned again without a horizon")
		}
	}
}

// bestJointly returns the most that a fleet of one type can earn in expectation when all agents are controlled
// together and the capacity holds surely: dynamic programming over how many agents are in each of three states.
func bestJointly(m *cmdp.Model, count int, capacity float64) float64 {
	type joint [3]int
	value := map[joint]float64{}
	for h := m.Horizon() - 1; h >= 0; h-- {
		rows := m.Rows(h)
		now := map[joint]float64{}
		var states func(j joint, s, left int)
		states = func(j joint, s, left int) {
			if s == 2 {
				j[2] = left
				best := math.Inf(-1)
				var act func(s int, used, earned float64, next map[joint]float64)
				act = func(s int, used, earned float64, next map[joint]float64) {
					if used > capacity+1e-9 {
						return
					}
					if s == 3 {
						sum := earned
						for x, p := range next {
							sum += p * value[x]
						}
						best = max(best, sum)
						return
					}
					first, end := rows.Choices(s)
					for k := 0; k <= j[s]; k++ {
						if end-first < 2 && k > 0 {
							break
						}
						with, u, e := next, used, earned
						for a, n := range []int{j[s] - k, k} {
							for range n {
								c := first + a
								u += rows.Returns(c)[1]
								e += rows.Returns(c)[0]
								to, prob := rows.Row(c)
								spread := map[joint]float64{}
								for x, p := range with {
									for i, y := range to {
										z := x
										z[y]++
										spread[z] += p * prob[i]
									}
								}
								with = spread
							}
						}
						act(s+1, u, e, with)
					}
				}
				act(0, 0, 0, map[joint]float64{{}: 1})
				now[j] = best
				return
			}
			for n := range left + 1 {
				j[s] = n
				states(j, s+1, left-n)
			}
		}
		states(joint{}, 0, count)
		value = now
	}
	return value[joint{count}]
}

// TestPlayersAgainstJointControl: what players earn that keep the capacity surely is at most what joint control
// can earn, that is at most the bound of the plan, and planning again comes near.
func TestPlayersAgainstJointControl(t *testing.T) {
	for _, n := range []int{2, 4} {
		f := machines(t, n, 4)
		p, task := capped(t, f, 0.25)
		if n == 2 {
			p, task = capped(t, f, 0.5)
		}
		plan := solved(t, p, task)
		capacity := task.Constraints[0].Offset
		best := bestJointly(f.Types[0].Model, n, capacity)
		if best > -plan.Bound+1e-9 {
			t.Fatalf("joint control earns %g, more than the bound %g", best, -plan.Bound)
		}
		for name, player := range players(t, f, task, plan) {
			played := play(t, f, task, player, 1500, 2)
			earned := -played.Each.Mean
			t.Logf("%d machines: %s earns %.4f ± %.4f, joint control %.4f, bound %.4f", n, name, earned,
				played.Each.Half, best, -plan.Bound)
			if played.KeptSteps.Share != 1 {
				t.Errorf("%s keeps the capacity in %g of the episodes", name, played.KeptSteps.Share)
			}
			if earned > best+2.5*played.Each.Half {
				t.Errorf("%s earns %g, joint control at most %g", name, earned, best)
			}
			if earned < 0.93*best {
				t.Errorf("%s earns %g, joint control %g", name, earned, best)
			}
		}
	}
}

func players(t testing.TB, f *fleet.Fleet, task cmdp.Task, plan *fleet.Plan) map[string]fleet.Player {
	t.Helper()
	out := make(map[string]fleet.Player)
	for _, every := range []int{1, 2, 3} {
		again, err := fleet.NewReplanner(t.Context(), f, task, plan, every)
		if err != nil {
			t.Fatal(err)
		}
		out[fmt.Sprintf("planning again every %d", every)] = again
	}
	dispatcher, err := fleet.NewDispatcher(context.Background(), f, task, plan)
	if err != nil {
		t.Fatal(err)
	}
	out["dispatch"] = dispatcher
	return out
}

// TestReplannerMeetsTheBound: with more agents, what planning again loses against the bound, per agent, falls
// to nothing, and the capacity holds in every episode.
func TestReplannerMeetsTheBound(t *testing.T) {
	loss := make(map[string][]float64)
	sizes := []int{10, 100, 1000}
	for _, n := range sizes {
		f := machines(t, n, 10)
		p, task := capped(t, f, 0.2)
		plan := solved(t, p, task)
		for name, player := range players(t, f, task, plan) {
			played := play(t, f, task, player, 60, 2)
			if played.KeptSteps.Share != 1 {
				t.Errorf("%s of %d keeps the capacity in %g of the episodes", name, n, played.KeptSteps.Share)
			}
			loss[name] = append(loss[name], (played.Each.Mean-plan.Bound)/float64(n))
		}
	}
	for name, l := range loss {
		t.Logf("%s loses %.4f of %v machines", name, l, sizes)
		if l[2] > 0.02 || l[2] > 0.5*l[0] {
			t.Errorf("%s loses %.4f per machine of %v", name, l, sizes)
		}
	}
}
