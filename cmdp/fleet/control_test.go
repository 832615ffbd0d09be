package fleet_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/fleet"
	"cmdpsolve/cost"

	"gonum.org/v1/gonum/floats"
)

// TestShareOut: groups get what they are to get, states give what they have, and no share is off by more than
// one agent for each state before.
func TestShareOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for range 500 {
		counts := make([]int, 1+rng.IntN(4))
		total := 0
		for j := range counts {
			counts[j] = rng.IntN(20)
			total += counts[j]
		}
		starts := make([]int, 1+rng.IntN(5))
		for range total {
			starts[rng.IntN(len(starts))]++
		}
		out := fleet.ShareOut(starts, counts)
		for j, n := range counts {
			sum := 0
			for s, x := range out[j] {
				sum += x
				if total > 0 && math.Abs(float64(x)-float64(n*starts[s])/float64(total)) > float64(s)+1.000001 {
					t.Fatalf("starts %v, groups %v: %v", starts, counts, out)
				}
			}
			if sum != n {
				t.Fatalf("starts %v, groups %v: %v", starts, counts, out)
			}
		}
		for s, n := range starts {
			sum := 0
			for j := range counts {
				sum += out[j][s]
			}
			if sum != n {
				t.Fatalf("starts %v, groups %v: %v", starts, counts, out)
			}
		}
	}
}

// servers are agents that may serve at each step, which uses a unit, pays differently by state, and tires.
func servers(t testing.TB, count, horizon int) *fleet.Fleet {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: horizon, Dim: 2,
		Start: []cmdp.StartState{{State: 0, Probability: 0.7}, {State: 1, Probability: 0.3}}}, 2)
	for _, r := range []cmdp.Row{
		{State: 0, Action: 0, Returns: []float64{0, 0},
			Next: []cmdp.Transition{{Next: 0, Probability: 0.9}, {Next: 1, Probability: 0.1}}},
		{State: 0, Action: 1, Returns: []float64{1, 1},
			Next: []cmdp.Transition{{Next: 0, Probability: 0.4}, {Next: 1, Probability: 0.6}}},
		{State: 1, Action: 0, Returns: []float64{0, 0},
			Next: []cmdp.Transition{{Next: 0, Probability: 0.5}, {Next: 1, Probability: 0.5}}},
		{State: 1, Action: 1, Returns: []float64{-0.2, 1}, Next: []cmdp.Transition{{Next: 1, Probability: 1}}},
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
	return &fleet.Fleet{Returns: []string{"income", "serving"}, EachStep: []int{1}, Types: []fleet.Type{
		{Name: "server", Count: count, Model: m, Returns: []int{0, 1}}}}
}

// TestLeastAndMostAtEachStep: both sides of a limit at each step, and a budget over the episode, which may hardly
// suffice for them, hold in every episode when the fleet is planned again at each step or dispatched.
func TestLeastAndMostAtEachStep(t *testing.T) {
	const horizon = 6
	f := servers(t, 20, horizon)
	for _, budget := range []float64{41, 31.5} {
		limits := []fleet.Limit{{Return: 1, Step: fleet.Episode, Bound: budget}}
		for h := range horizon {
			limits = append(limits, fleet.Limit{Return: 1, Step: h, Bound: 9.5},
				fleet.Limit{Return: 1, Step: h, AtLeast: true, Bound: 5})
		}
		p, task := maximizing(t, f, limits, 1)
		plan := solved(t, p, task)
		for name, player := range players(t, f, task, plan) {
			played := play(t, f, task, player, 100, 4)
			if played.KeptSteps.Share != 1 {
				t.Errorf("%s keeps the limits of the steps in %g of the episodes", name, played.KeptSteps.Share)
			}
			if played.Kept.Share != 1 {
				t.Errorf("%s keeps the budget %g in %g of the episodes", name, budget, played.Kept.Share)
			}
			t.Logf("%s: %.3f of %.3f, kept %.2f", name, -played.Each.Mean, -plan.Bound, played.Kept.Share)
			if -played.Each.Mean < -0.9*plan.Bound {
				t.Errorf("%s earns %g of %g", name, -played.Each.Mean, -plan.Bound)
			}
		}
	}
}

// TestForcedUse: a limit in expectation may be exceeded by chance where no action avoids it. Two agents that
// try use a unit at the next step with probability ½ each, whatever they do there; a capacity of one unit then
// is exceeded in a quarter of the episodes, also when all is planned again at each step.
func TestForcedUse(t *testing.T) {
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 2, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 3)
	for _, r := range []cmdp.Row{
		{State: 0, Action: 0, Returns: []float64{0, 0}, Next: []cmdp.Transition{{Next: 0, Probability: 1}}},
		{State: 0, Action: 1, Returns: []float64{1, 0},
			Next: []cmdp.Transition{{Next: 1, Probability: 0.5}, {Next: 2, Probability: 0.5}}},
		{State: 1, Action: 0, Returns: []float64{0, 1}, Next: []cmdp.Transition{{Next: 1, Probability: 1}}},
		{State: 2, Action: 0, Returns: []float64{0, 0}, Next: []cmdp.Transition{{Next: 2, Probability: 1}}},
	} {
		r.Step = cmdp.EveryStep
		if r.Action == 1 { // agents try at the first step
			r.Step = 1
		}
		if err := b.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet.Fleet{Returns: []string{"tries", "use"}, EachStep: []int{1},
		Types: []fleet.Type{{Name: "agent", Count: 2, Model: m, Returns: []int{0, 1}}}}
	plan, task := solve(t, f, []fleet.Limit{{Return: 1, Step: 1, Bound: 1}}, exact.Options{})
	player, err := fleet.NewReplanner(t.Context(), f, task, plan, 1)
	if err != nil {
		t.Fatal(err)
	}
	played := play(t, f, task, player, 400, 1)
	if x := played.Limits[0].Broken; played.Each.Mean != -2 || x.Low > 0.25 || x.High < 0.25 {
		t.Errorf("%v tries; the capacity is exceeded in %+v of the episodes: want a quarter", -played.Each.Mean, x)
	}
}

// TestCurvedRemaining: with a curved goal, the squared load of the steps, the program of the steps that are
// left is at the start that of the plan, and planning again keeps near to it.
func TestCurvedRemaining(t *testing.T) {
	const horizon = 5
	f := servers(t, 40, horizon)
	p, err := fleet.NewPlanner(f, 1)
	if err != nil {
		t.Fatal(err)
	}
	box, err := p.Box(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	weights := make([]float64, f.Dim())
	for h := range horizon {
		weights[f.Coordinate(1, h)] = 0.02
	}
	weights[1] = 0.05 // what is served in all is to be near 30
	centre := make([]float64, f.Dim())
	centre[1] = 30
	load, err := cost.NewSquared(centre, weights, box)
	if err != nil {
		t.Fatal(err)
	}
	income, err := p.Maximize(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	goal, err := cost.NewSum([]float64{1, 1}, []cost.Cost{income, load}, box)
	if err != nil {
		t.Fatal(err)
	}
	task, err := p.Task(t.Context(), goal, []fleet.Limit{{Return: 1, Step: 1, Bound: 8}})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := p.Solve(t.Context(), task, exact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	objective, broken, err := fleet.RemainingObjective(t.Context(), f, task)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "objective", objective, plan.Objective, 1e-4*math.Abs(plan.Objective))
	near(t, "broken", max(0, broken), 0, 1e-6)
	again, err := fleet.NewReplanner(t.Context(), f, task, plan, 1)
	if err != nil {
		t.Fatal(err)
	}
	played := play(t, f, task, again, 10, 4)
	if played.Kept.Share != 1 || played.Each.Mean > 0.98*plan.Objective {
		t.Errorf("planning again costs %g, the plan %g; kept in %g", played.Each.Mean, plan.Objective,
			played.Kept.Share)
	}
}

// TestHalvesAreTheWhole: two types that are the halves of one are planned, dispatched and counted as it is.
func TestHalvesAreTheWhole(t *testing.T) {
	whole := machines(t, 40, 6)
	halves := machines(t, 40, 6)
	halves.Types[0].Count = 20
	halves.Types[0].Starts = []int{20, 0, 0}
	halves.Types = append(halves.Types, halves.Types[0])
	halves.Types[1].Name = "other half"
	var kept [2]*fleet.Played
	for i, f := range []*fleet.Fleet{whole, halves} {
		_, task := capped(t, f, 0.2)
		d, err := fleet.NewDispatcher(t.Context(), f, task, nil)
		if err != nil {
			t.Fatal(err)
		}
		kept[i] = play(t, f, task, d, 400, 8)
	}
	near(t, "objective", kept[1].Each.Mean, kept[0].Each.Mean, kept[0].Each.Half+kept[1].Each.Half)
}

// TestPlayRefused: what cannot be played.
func TestPlayRefused(t *testing.T) {
	f := machines(t, 4, 3)
	p, task := capped(t, f, 0.5)
	plan := solved(t, p, task)
	if _, err := fleet.NewIndependent(f, nil); err == nil {
		t.Error("no plan is no mistake")
	}
	if _, err := fleet.NewIndependent(machines(t, 5, 3), plan); err == nil {
		t.Error("a plan for another number of agents is no mistake")
	}
	if _, err := fleet.NewReplanner(t.Context(), f, task, plan, 0); err == nil {
		t.Error("planning again every 0 steps is no mistake")
	}
	player, err := fleet.NewIndependent(f, plan)
	if err != nil {
		t.Fatal(err)
	}
	for _, options := range []fleet.PlayOptions{{}, {Episodes: -1}, {Episodes: 1, Workers: -1}} {
		if _, err := fleet.Play(t.Context(), f, task, player, options); err == nil {
			t.Errorf("%+v is no mistake", options)
		}
	}
	if _, err := fleet.Play(t.Context(), f, task, nil, fleet.PlayOptions{Episodes: 1}); err == nil {
		t.Error("no player is no mistake")
	}
	if _, err := fleet.Play(t.Context(), nil, task, player, fleet.PlayOptions{Episodes: 1}); err == nil {
		t.Error("no fleet is no mistake")
	}
}

// TestServedSurely: in nasty fleets whose action 0 uses nothing, all players keep limits of single steps in
// every episode, and those budgets of the episode from which nothing is given back. They earn nearly what the
// plan does.
func TestServedSurely(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	earned := make(map[string]float64)
	bound := 0.0
	for i := range 16 {
		sh := shape{types: 2, agents: 10, states: 3, actions: 3, successors: 2, horizon: 4, resources: 2,
			stepwise: i%4 != 1, nasty: true, signed: i%2 == 0}
		f := random(t, rng, sh)
		n := float64(f.Agents())
		limits := []fleet.Limit{{Return: 2, Step: fleet.Episode, Bound: math.Ceil(n/4) + 0.25}}
		for h := range f.Horizon() {
			limits = append(limits, fleet.Limit{Return: 1, Step: h, Bound: math.Ceil(n/6) + 0.25})
		}
		p, task := maximizing(t, f, limits, 1)
		plan := solved(t, p, task)
		bound -= plan.Bound
		for name, player := range players(t, f, task, plan) {
			played := play(t, f, task, player, 60, 9)
			earned[name] -= played.Each.Mean
			if played.KeptSteps.Share < 1 {
				t.Errorf("%d: %s keeps the limits of the steps in %g of the episodes", i, name, played.KeptSteps.Share)
			}
			if budget := played.Limits[0]; !sh.signed && budget.Broken.Share > 0 {
				t.Errorf("%d: %s breaks the budget by %g", i, name, budget.Most)
			}
		}
	}
	for name, x := range earned {
		if x < 0.915*bound {
			t.Errorf("%s earns %.4f of the plan", name, x/bound)
		}
	}
}

// scaled returns a fleet whose returns are changed, by the return of the fleet that they are added to.
func scaled(t testing.TB, f *fleet.Fleet, change func(to int, x float64) float64) *fleet.Fleet {
	t.Helper()
	of := &fleet.Fleet{Returns: f.Returns, EachStep: f.EachStep}
	for _, kind := range f.Types {
		m := kind.Model
		changed := func(returns []float64) []float64 {
			out := slices.Clone(returns)
			for i := range out {
				out[i] = change(kind.Returns[i%m.Dim()], out[i])
			}
			return out
		}
		spec := cmdp.ModelSpec{Horizon: m.Horizon(), Dim: m.Dim(), Start: m.StartStates()}
		for h := range m.Kernels() {
			k, rows := cmdp.NewKernel(), m.Rows(h)
			for s := range m.States() {
				first, end := rows.Choices(s)
				for c := first; c < end; c++ {
					next, prob := rows.Row(c)
					returns, outcomes := changed(rows.Returns(c)), []float64(nil)
					for i := range next {
						if rows.Random() {
							outcomes = append(outcomes, changed(rows.Outcome(c, i))...)
						}
					}
					if rows.Random() {
						clear(returns)
						for i, p := range prob {
							floats.AddScaled(returns, p, outcomes[i*m.Dim():][:m.Dim()])
						}
					}
					k.AppendRandom(next, prob, returns, outcomes)
				}
				k.EndState()
			}
			spec.Kernels = append(spec.Kernels, k)
		}
		var err error
		kind.Model, err = cmdp.NewModel(spec)
		if err != nil {
			t.Fatal(err)
		}
		of.Types = append(of.Types, kind)
	}
	return of
}

// TestTenthsAreCounted: limits on returns in tenths are broken as often as those on ten times as much, in whole
// numbers, also where returns cancel out, and their sums have the same distributions.
func TestTenthsAreCounted(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 28))
	touched := 0
	for i := range 20 {
		f := random(t, rng, shape{types: 2, agents: 2, states: 2, actions: 2, successors: 2, horizon: 2,
			resources: 1, stepwise: i%3 == 0, nasty: true, signed: i%2 == 0})
		var policies [][]fleet.Drawn
		for k := range f.Types {
			policies = append(policies, []fleet.Drawn{{Share: 1, Policy: newDrawing(rng, f.Types[k].Model)}})
		}
		rows := nastyLimits(t, rng, f)
		for n := range rows {
			floats.Scale(float64(1+2*rng.IntN(2)), rows[n].Normal)
			rows[n].Offset = float64(rng.IntN(5) - 1)
		}
		var played [2]*fleet.Played
		var sums [2][]*fleet.Sum
		for n, parts := range []float64{1, 10} {
			of := scaled(t, f, func(_ int, x float64) float64 { return math.Round(4*x) / parts })
			task := cmdp.Task{Box: boxOf(t, of)}
			for _, r := range rows {
				r.Offset /= parts
				task.Constraints = append(task.Constraints, r)
			}
			player, err := fleet.NewSharing(of, policies)
			if err != nil {
				t.Fatal(err)
			}
			if sums[n], err = player.Sums(t.Context(), task); err != nil {
				t.Fatal(err)
			}
			played[n] = play(t, of, task, player, 100, uint64(i))
		}
		whole, tenths := played[0], played[1]
		if whole.Kept != tenths.Kept || whole.KeptSteps != tenths.KeptSteps {
			t.Errorf("%d: limits in tenths are kept in %v, %v: want %v, %v", i, tenths.Kept, tenths.KeptSteps,
				whole.Kept, whole.KeptSteps)
		}
		for k, l := range tenths.Limits {
			if l.Broken != whole.Limits[k].Broken {
				t.Errorf("%d: limit %v in tenths is broken in %v: want %v", i, l.Constraint, l.Broken, whole.Limits[k].Broken)
			}
			of, in := sums[0][k], sums[1][k]
			if (of == nil) != (in == nil) {
				t.Errorf("%d: limit %v in tenths has the distribution %v", i, l.Constraint, in)
				continue
			}
			if of != nil {
				near(t, "probability in tenths", in.AtMost(l.Offset), of.AtMost(rows[k].Offset), 1e-12)
				touched++
			}
		}
	}
	if touched < 50 {
		t.Errorf("%d limits have distributions", touched)
	}
}

// TestUnitsOfLimits: with one of two resources in another unit all players do the same.
func TestUnitsOfLimits(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 30))
	const unit = 1 << 12
	for i := range 8 {
		f := random(t, rng, shape{types: 2, agents: 10, states: 3, actions: 3, successors: 2, horizon: 4, resources: 2,
			stepwise: i%2 == 0})
		limits := []fleet.Limit{{Return: 2, Step: fleet.Episode, Bound: math.Ceil(float64(f.Agents())/4) + 0.25}}
		for h := range f.Horizon() {
			for ret := 1; ret < 3; ret++ {
				limits = append(limits, fleet.Limit{Return: ret, Step: h,
					Bound: math.Ceil(float64(f.Agents())/6) + 0.25})
			}
		}
		var played [2]map[string]*fleet.Played
		for n, by := range []float64{1, unit} {
			of := scaled(t, f, func(to int, x float64) float64 {
				if to == 2 {
					return by * x
				}
				return x
			})
			list := slices.Clone(limits)
			for k := range list {
				if list[k].Return == 2 {
					list[k].Bound *= by
				}
			}
			p, task := maximizing(t, of, list, 1)
			played[n] = make(map[string]*fleet.Played)
			for name, player := range players(t, of, task, solved(t, p, task)) {
				one := play(t, of, task, player, 20, 5)
				played[n][name] = one
			}
		}
		for name, of := range played[0] {
			for j, x := range of.Mean {
				if ret, _ := f.At(j); ret == 2 {
					x *= unit
				}
				if got := played[1][name].Mean[j]; math.Abs(got-x) > 1e-9*max(1, math.Abs(x)) {
					t.Errorf("%d: %s with another unit: coordinate %d is %g: want %g", i, name, j, got, x)
				}
			}
		}
	}
}

// TestLooseBudgets: a budget that is more than can be used changes nothing of what is dispatched.
func TestLooseBudgets(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for i := range 12 {
		f := random(t, rng, shape{types: 2, agents: 10, states: 3, actions: 3, successors: 2, horizon: 4, resources: 1,
			stepwise: i%2 == 0})
		var limits []fleet.Limit
		for h := range f.Horizon() {
			limits = append(limits, fleet.Limit{Return: 1, Step: h, Bound: math.Ceil(float64(f.Agents())/4) + 0.25})
		}
		var played [2]*fleet.Played
		for n := range played {
			p, task := maximizing(t, f, limits, 1)
			player, err := fleet.NewDispatcher(t.Context(), f, task, solved(t, p, task))
			if err != nil {
				t.Fatal(err)
			}
			played[n] = play(t, f, task, player, 20, 5)
			limits = append(limits, fleet.Limit{Return: 1, Step: fleet.Episode, Bound: float64(100 * f.Agents())})
		}
		if floats.Distance(played[1].Mean, played[0].Mean, math.Inf(1)) > 1e-9 {
			t.Errorf("%d: with a loose budget %v: want %v", i, played[1].Mean, played[0].Mean)
		}
	}
}

// TestNothingLeftToChance: where every action has one successor, and the plan is one of whole agents, planning again
// comes to the plan, however seldom.
func TestNothingLeftToChance(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	whole, mixed := 0, 0
	for i := range 60 {
		f := random(t, rng, shape{types: 1 + i%2, agents: 6, states: 3, actions: 3, successors: 1, horizon: 5,
			resources: 1, stepwise: i%3 == 0})
		f = scaled(t, f, func(to int, x float64) float64 {
			if to == 1 {
				return math.Ceil(x / 10)
			}
			return x
		})
		var limits []fleet.Limit
		for h := range f.Horizon() {
			limits = append(limits, fleet.Limit{Return: 1, Step: h, Bound: float64(rng.IntN(f.Agents() + 1))})
		}
		p, task := maximizing(t, f, limits, 1)
		plan, err := p.Solve(t.Context(), task, exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if plan.Status != exact.Optimal || floats.Distance(plan.Whole, plan.Returns, math.Inf(1)) > 1e-9 {
			continue
		}
		whole++
		if len(plan.Types[0].Policies) > 1 {
			mixed++
		}
		for name, player := range players(t, f, task, plan) {
			played := play(t, f, task, player, 2, 5)
			if name != "dispatch" && math.Abs(played.Each.Mean-plan.Objective) > 1e-6 {
				t.Errorf("%d: %s comes to %g: want %g", i, name, played.Each.Mean, plan.Objective)
			}
		}
	}
	if whole < 20 || mixed < 10 {
		t.Errorf("%d plans of whole agents, %d of them of several policies", whole, mixed)
	}
}
