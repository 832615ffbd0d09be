package fleet_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/fleet"
	"cmdpsolve/cost"

	"gonum.org/v1/gonum/stat/distuv"
)

// TestBinomial compares what is drawn with the probabilities, by a χ² test of the counts.
func TestBinomial(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		n int
		p float64
	}{{1, 0.3}, {5, 0.5}, {40, 0.02}, {100, 0.97}, {300, 0.2}, {300, 0.5}, {5000, 0.1}, {1_000_000, 1e-5}, {1_000_000, 0.4}} {
		const draws = 20_000
		mean := float64(c.n) * c.p
		sd := math.Sqrt(mean * (1 - c.p))
		count := make(map[int]float64)
		for range draws {
			k := fleet.Binomial(rng, c.n, c.p)
			if k < 0 || k > c.n {
				t.Fatalf("%d of %d", k, c.n)
			}
			count[bin(k, mean, sd)]++
		}
		tail := binomialTail(c.n, c.p)
		want := make(map[int]float64)
		from, to := max(0, int(mean-10*sd-10)), min(c.n, int(mean+10*sd+10))
		first := from // of a bin
		for k := from; k <= to; k++ {
			if b := bin(k, mean, sd); k == to || b != bin(k+1, mean, sd) {
				want[b] = tail(float64(first-1)) - tail(float64(k))
				first = k + 1
			}
		}
		chi, bins := 0.0, 0
		for b, p := range want {
			if p*draws > 5 {
				chi += (count[b] - p*draws) * (count[b] - p*draws) / (p * draws)
				bins++
			}
		}
		if limit := (distuv.ChiSquared{K: float64(max(1, bins-1))}).Quantile(0.9999); chi > limit {
			t.Errorf("n = %d, p = %g: χ² is %g over %d bins, above %g", c.n, c.p, chi, bins, limit)
		}
	}
}

// bin puts values into bins a fifth of a standard deviation wide.
func bin(k int, mean, sd float64) int { return int(math.Floor((float64(k) - mean) / max(1, sd/5))) }

// TestShareOut: groups get what they are to get, states give what they have, and no share is off by more than one agent for each state before.
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

// gamble is a model of two states in which action 1 uses a unit for certain, and pays by chance: its returns are drawn with the successor.
func gamble(t testing.TB, horizon int) *cmdp.Model {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: horizon, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 0.5}, {State: 1, Probability: 0.5}}}, 2)
	for s := range 2 {
		for _, r := range []cmdp.Row{
			{State: s, Action: 0, Returns: []float64{0.1, 0}, Next: []cmdp.Transition{{Next: 0, Probability: 0.5}, {Next: 1, Probability: 0.5}}},
			{State: s, Action: 1, Next: []cmdp.Transition{
				{Next: 0, Probability: 0.25, Returns: []float64{0.5 + float64(s), 0}}, {Next: 1, Probability: 0.75, Returns: []float64{0.25, 2}}}},
		} {
			r.Step = cmdp.EveryStep
			if err := b.Add(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestSumsByJointEnumeration: of two agents that gamble, the distribution of what they use at each step and in all is that of all joint episodes.
func TestSumsByJointEnumeration(t *testing.T) {
	const horizon = 3
	m := gamble(t, horizon)
	f := &fleet.Fleet{Returns: []string{"won", "used"}, EachStep: []int{1}, Types: []fleet.Type{
		{Name: "first", Count: 1, Model: m, Returns: []int{0, 1}},
		{Name: "second", Count: 1, Model: m, Returns: []int{0, 1}}}}
	p, err := fleet.NewPlanner(f, 1)
	if err != nil {
		t.Fatal(err)
	}
	goal, err := p.Maximize(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	limits := []fleet.Limit{{Return: 1, Step: fleet.Episode, Bound: 6}, {Return: 0, Step: fleet.Episode, AtLeast: true, Bound: 1.3}}
	for h := range horizon {
		limits = append(limits, fleet.Limit{Return: 1, Step: h, Bound: 2})
	}
	task, err := p.Task(t.Context(), goal, limits)
	if err != nil {
		t.Fatal(err)
	}
	plan := solved(t, p, task)
	player, err := fleet.NewIndependent(f, plan)
	if err != nil {
		t.Fatal(err)
	}
	sums, err := player.Sums(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	// All episodes of each agent with their probabilities, then all pairs.
	type episode struct {
		v []float64
		p float64
	}
	var each [2][]episode
	for k := range each {
		var policy cmdp.Policy
		for _, a := range plan.Types[k].Policies {
			if a.Agents == 1 {
				policy = a.Policy
			}
		}
		var walk func(h, s int, v []float64, p float64)
		walk = func(h, s int, v []float64, p float64) {
			if h == horizon {
				each[k] = append(each[k], episode{v, p})
				return
			}
			chosen := make([]float64, 2)
			policy.Distribution(chosen, h, s)
			rows := m.Rows(h)
			first, _ := rows.Choices(s)
			for a, x := range chosen {
				next, prob := rows.Row(first + a)
				for i, n := range next {
					if x*prob[i] == 0 {
						continue
					}
					w := append([]float64(nil), v...)
					r := rows.Outcome(first+a, i)
					w[0] += r[0]
					w[1] += r[1]
					w[2+h] += r[1]
					walk(h+1, int(n), w, p*x*prob[i])
				}
			}
		}
		for _, st := range m.StartStates() {
			walk(0, st.State, make([]float64, f.Dim()), st.Probability)
		}
	}
	for k, c := range task.Constraints {
		if sums[k] == nil {
			t.Fatalf("limit %d has no distribution", k)
		}
		broken, excess := 0.0, 0.0
		for _, a := range each[0] {
			for _, b := range each[1] {
				x := floatsDot(c.Normal, a.v) + floatsDot(c.Normal, b.v) - c.Offset
				if x > 1e-9 {
					broken += a.p * b.p
					excess += a.p * b.p * x
				}
			}
		}
		near(t, "probability", sums[k].Above(c.Offset), broken, 1e-12)
		near(t, "excess", sums[k].Excess(c.Offset), excess, 1e-12)
	}
}

// servers are agents that may serve at each step, which uses a unit, pays differently by state, and tires.
func servers(t testing.TB, count, horizon int) *fleet.Fleet {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: horizon, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 0.7}, {State: 1, Probability: 0.3}}}, 2)
	for _, r := range []cmdp.Row{
		{State: 0, Action: 0, Returns: []float64{0, 0}, Next: []cmdp.Transition{{Next: 0, Probability: 0.9}, {Next: 1, Probability: 0.1}}},
		{State: 0, Action: 1, Returns: []float64{1, 1}, Next: []cmdp.Transition{{Next: 0, Probability: 0.4}, {Next: 1, Probability: 0.6}}},
		{State: 1, Action: 0, Returns: []float64{0, 0}, Next: []cmdp.Transition{{Next: 0, Probability: 0.5}, {Next: 1, Probability: 0.5}}},
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

// TestLeastAndMostAtEachStep: both sides of a limit at each step, and a budget over the episode, hold in every episode when the fleet is planned again at each
// step or dispatched.
func TestLeastAndMostAtEachStep(t *testing.T) {
	const horizon = 6
	f := servers(t, 20, horizon)
	p, err := fleet.NewPlanner(f, 1)
	if err != nil {
		t.Fatal(err)
	}
	goal, err := p.Maximize(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	limits := []fleet.Limit{{Return: 1, Step: fleet.Episode, Bound: 41}}
	for h := range horizon {
		limits = append(limits, fleet.Limit{Return: 1, Step: h, Bound: 9.5}, fleet.Limit{Return: 1, Step: h, AtLeast: true, Bound: 5})
	}
	task, err := p.Task(t.Context(), goal, limits)
	if err != nil {
		t.Fatal(err)
	}
	plan := solved(t, p, task)
	for name, player := range players(t, f, task, plan) {
		played, err := fleet.Play(t.Context(), f, task, player, fleet.PlayOptions{Episodes: 100, Seed: 4})
		if err != nil {
			t.Fatal(err)
		}
		least := 1.0
		if name == "planning again every 2" { // between two plans chance may leave too little of the budget for the least of later steps
			least = 0.95
		}
		if played.KeptSteps.Share < least {
			t.Errorf("%s keeps the limits of the steps in %g of the episodes", name, played.KeptSteps.Share)
		}
		if played.Kept.Share < least {
			t.Errorf("%s keeps the budget in %g of the episodes", name, played.Kept.Share)
		}
		t.Logf("%s: %.3f of %.3f, kept %.2f", name, -played.Each.Mean, -plan.Bound, played.Kept.Share)
		if -played.Each.Mean < -0.9*plan.Bound {
			t.Errorf("%s earns %g of %g", name, -played.Each.Mean, -plan.Bound)
		}
	}
}

// TestCurvedRemaining: with a curved goal, the squared load of the steps, the program of the steps that are left is at the start that of the plan,
// and planning again keeps near to it.
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
	load, err := cost.NewSquared(make([]float64, f.Dim()), weights, box)
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
	again, err := fleet.NewReplanner(f, task, plan, 1)
	if err != nil {
		t.Fatal(err)
	}
	played, err := fleet.Play(t.Context(), f, task, again, fleet.PlayOptions{Episodes: 50, Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	if played.Kept.Share != 1 || played.Each.Mean > 0.9*plan.Objective {
		t.Errorf("planning again costs %g, the plan %g; kept in %g", played.Each.Mean, plan.Objective, played.Kept.Share)
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
		kept[i], err = fleet.Play(t.Context(), f, task, d, fleet.PlayOptions{Episodes: 400, Seed: 8})
		if err != nil {
			t.Fatal(err)
		}
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
	if _, err := fleet.NewReplanner(f, task, plan, 0); err == nil {
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
