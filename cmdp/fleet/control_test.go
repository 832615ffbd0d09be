package fleet_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/fleet"
	"cmdpsolve/cost"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// TestBinomial compares what is drawn with the probabilities, by a χ² test of the counts.
func TestBinomial(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		n int
		p float64
	}{{1, 0.3}, {5, 0.5}, {40, 0.02}, {100, 0.97}, {300, 0.2}, {300, 0.5}, {5000, 0.1}, {1_000_000, 1e-5},
		{1_000_000, 0.4}} {
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

// An outcome is what may be returned in an episode, in the coordinates of a fleet, and its probability.
type outcome struct {
	v []float64
	p float64
}

// outcomes goes through all episodes of an agent of a type.
func outcomes(f *fleet.Fleet, kind *fleet.Type, policy cmdp.Policy, start []cmdp.StartState) (all []outcome) {
	m := kind.Model
	var walk func(h, s int, v []float64, p float64)
	walk = func(h, s int, v []float64, p float64) {
		if h == m.Horizon() {
			all = append(all, outcome{v, p})
			return
		}
		rows := m.Rows(h)
		first, end := rows.Choices(s)
		if first == end {
			walk(h+1, s, v, p)
			return
		}
		chosen := make([]float64, end-first)
		policy.Distribution(chosen, h, s)
		for a, x := range chosen {
			next, prob := rows.Row(first + a)
			for i, n := range next {
				if x*prob[i] == 0 {
					continue
				}
				r := rows.Outcome(first+a, i)
				w := slices.Clone(v)
				for j, to := range kind.Returns {
					if to < 0 {
						continue
					}
					w[to] += r[j]
					if at := f.Coordinate(to, h); at >= 0 {
						w[at] += r[j]
					}
				}
				walk(h+1, int(n), w, p*x*prob[i])
			}
		}
	}
	for _, st := range start {
		walk(0, st.State, make([]float64, f.Dim()), st.Probability)
	}
	return all
}

// jointly returns the outcomes of two independent agents, those that are alike together.
func jointly(a, b []outcome) []outcome {
	number := make(map[string]int)
	var out []outcome
	for _, x := range a {
		for _, y := range b {
			v := slices.Clone(x.v)
			floats.Add(v, y.v)
			key := fmt.Sprint(v)
			if _, seen := number[key]; !seen {
				number[key] = len(out)
				out = append(out, outcome{v: v})
			}
			out[number[key]].p += x.p * y.p
		}
	}
	return out
}

// beginning returns a model in which so many agents begin in each state.
func beginning(t testing.TB, m *cmdp.Model, starts []int) *cmdp.Model {
	t.Helper()
	spec := cmdp.ModelSpec{Horizon: m.Horizon(), Dim: m.Dim()}
	total := 0
	for _, n := range starts {
		total += n
	}
	for s, n := range starts {
		if n > 0 {
			spec.Start = append(spec.Start, cmdp.StartState{State: s, Probability: float64(n) / float64(total)})
		}
	}
	for h := range m.Kernels() {
		spec.Kernels = append(spec.Kernels, *m.Kernel(h))
	}
	of, err := cmdp.NewModel(spec)
	if err != nil {
		t.Fatal(err)
	}
	return of
}

// shared draws policies for the agents of a type, and returns with them all that the type may return. Where
// agents begin in known states all play the same policy.
func shared(t testing.TB, rng *rand.Rand, f *fleet.Fleet, kind *fleet.Type, known bool) ([]fleet.Drawn, []outcome) {
	t.Helper()
	joint := []outcome{{make([]float64, f.Dim()), 1}}
	if known {
		policy := newDrawing(rng, kind.Model)
		kind.Starts = make([]int, kind.Model.States())
		for range kind.Count {
			kind.Starts[rng.IntN(len(kind.Starts))]++
		}
		kind.Model = beginning(t, kind.Model, kind.Starts)
		for s, n := range kind.Starts {
			for range n {
				joint = jointly(joint, outcomes(f, kind, policy, []cmdp.StartState{{State: s, Probability: 1}}))
			}
		}
		return []fleet.Drawn{{Share: 1, Policy: policy}}, joint
	}
	share := []float64{0, 0.2, 0.3, 0.7, 0.8, 1}[rng.IntN(6)]
	policies := []fleet.Drawn{{Share: share, Policy: newDrawing(rng, kind.Model)},
		{Share: 1 - share, Policy: newDrawing(rng, kind.Model)}}
	for i := range kind.Count {
		policy := policies[0].Policy
		if float64(i) >= math.Round(share*float64(kind.Count)) {
			policy = policies[1].Policy
		}
		joint = jointly(joint, outcomes(f, kind, policy, kind.Model.StartStates()))
	}
	return policies, joint
}

// nastyLimits are about single steps and the episode, from both sides, and about several of them together.
func nastyLimits(t testing.TB, rng *rand.Rand, f *fleet.Fleet) (rows []cmdp.Constraint) {
	t.Helper()
	bound := func() float64 { return float64(rng.IntN(9)-2) / 4 }
	for _, l := range []fleet.Limit{{Return: 0, Step: fleet.Episode, AtLeast: true}, {Return: 1, Step: fleet.Episode},
		{Return: 1}, {Return: 0, Step: 1, AtLeast: true}, {Return: 1, Step: 1}} {
		l.Bound = bound()
		c, err := f.Constraint(l)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, c)
	}
	for _, of := range [][2]int{{f.Coordinate(1, 0), f.Coordinate(1, 1)},
		{f.Coordinate(1, fleet.Episode), f.Coordinate(0, 0)}, {f.Coordinate(0, 1), f.Coordinate(1, 1)}} {
		c := cmdp.Constraint{Normal: make([]float64, f.Dim()), Offset: bound()}
		c.Normal[of[0]] = 1
		c.Normal[of[1]] = -0.5
		rows = append(rows, c)
	}
	return rows
}

// stepOf returns the step that all of a limit is about, Episode for more than one.
func stepOf(f *fleet.Fleet, c cmdp.Constraint) (step int, single bool) {
	var steps []int
	for i, x := range c.Normal {
		if x != 0 {
			_, at := f.At(i)
			steps = append(steps, at)
		}
	}
	steps = slices.Compact(steps)
	if len(steps) > 1 {
		return fleet.Episode, false
	}
	return steps[0], true
}

// TestPlayedByEnumeration: few agents of nasty fleets play policies that are drawn. All that they may return is
// found by going through all episodes of all agents. The distributions of sums are those, what is played is of
// them, and the report of it is what episodes say.
func TestPlayedByEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for i := range 24 {
		f := random(t, rng, shape{types: 1 + i%2, agents: 1, states: 2, actions: 2, successors: 2, horizon: 2,
			resources: 1, stepwise: i%3 == 0, nasty: true, signed: i%4 < 2})
		policies := make([][]fleet.Drawn, len(f.Types))
		joint := []outcome{{make([]float64, f.Dim()), 1}}
		for k := range f.Types {
			kind := &f.Types[k]
			kind.Count = 1 + rng.IntN(5-2*len(f.Types))
			drawn, all := shared(t, rng, f, kind, rng.IntN(2) == 0)
			policies[k] = drawn
			joint = jointly(joint, all)
		}
		p, err := fleet.NewPlanner(f, 1)
		if err != nil {
			t.Fatal(err)
		}
		task := cmdp.Task{Constraints: nastyLimits(t, rng, f)}
		task.Box, err = p.Box(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		task.Cost, err = cost.NewSquared(make([]float64, f.Dim()), slices.Repeat([]float64{1}, f.Dim()), task.Box)
		if err != nil {
			t.Fatal(err)
		}
		player, err := fleet.NewSharing(f, policies)
		if err != nil {
			t.Fatal(err)
		}
		checkSums(t, f, player, task, joint)
		const episodes = 600
		var each [][]float64
		played, err := fleet.Play(t.Context(), f, task, player,
			fleet.PlayOptions{Episodes: episodes, Seed: uint64(i), Each: func(v []float64) { each = append(each, v) }})
		if err != nil {
			t.Fatal(err)
		}
		checkReport(t, f, task, played, each)
		checkChance(t, each, joint)
	}
}

// checkSums compares the distributions of sums with all joint outcomes.
func checkSums(t *testing.T, f *fleet.Fleet, player *fleet.Independent, task cmdp.Task, joint []outcome) {
	t.Helper()
	sums, err := player.Sums(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	for k, c := range task.Constraints {
		step, single := stepOf(f, c)
		if sums[k] == nil {
			if single && (step != fleet.Episode || c.Normal[1] == 0) { // two returns of a model are added to return 1
				t.Fatalf("limit %v has no distribution", c)
			}
			continue
		}
		above, excess, mean, square := 0.0, 0.0, 0.0, 0.0
		for _, o := range joint {
			x := floats.Dot(c.Normal, o.v) - c.Offset
			mean += o.p * x
			square += o.p * x * x
			if x > 0 {
				above += o.p
				excess += o.p * x
			}
		}
		near(t, "probability above", sums[k].Above(c.Offset), above, 1e-12)
		near(t, "excess", sums[k].Excess(c.Offset), excess, 1e-12)
		near(t, "mean", meanOf(sums[k]), mean+c.Offset, 1e-12)
		near(t, "variance", sums[k].SD()*sums[k].SD(), square-mean*mean, 1e-11)
	}
}

// checkReport works out what a report says of 600 episodes.
func checkReport(t *testing.T, f *fleet.Fleet, task cmdp.Task, played *fleet.Played, each [][]float64) {
	t.Helper()
	const quantile = 1.9639323 // of Student's t with 599 degrees of freedom, for 0.975
	n := float64(len(each))
	estimate := func(what string, of func(v []float64) float64, mean, half float64) {
		sum, squares := 0.0, 0.0
		for _, v := range each {
			sum += of(v)
		}
		for _, v := range each {
			squares += (of(v) - sum/n) * (of(v) - sum/n)
		}
		near(t, "mean of "+what, mean, sum/n, 1e-9)
		near(t, "half-width of "+what, half, quantile*math.Sqrt(squares/(n-1)/n), 1e-6)
	}
	share := func(what string, got fleet.Share, is func(v []float64) bool) {
		count := 0.0
		for _, v := range each {
			if is(v) {
				count++
			}
		}
		near(t, what, got.Share, count/n, 1e-12)
		// Wilson's interval: what is a normal quantile away, by its own variance
		for _, end := range []float64{got.Low, got.High} {
			near(t, "end of the interval of "+what, (end-got.Share)*(end-got.Share),
				1.959963984540054*1.959963984540054*end*(1-end)/n, 1e-12)
		}
		if got.Low > got.Share || got.High < got.Share || got.Low == got.High {
			t.Fatalf("%s: %v", what, got)
		}
	}
	for i := range played.Mean {
		estimate("a return", func(v []float64) float64 { return v[i] }, played.Mean[i], played.Half[i])
	}
	estimate("the objective", task.Cost.Value, played.Each.Mean, played.Each.Half)
	near(t, "objective", played.Objective, task.Cost.Value(played.Mean), 1e-12)
	breaks := func(c cmdp.Constraint, v []float64) bool { return floats.Dot(c.Normal, v) > c.Offset }
	for k, c := range task.Constraints {
		l := played.Limits[k]
		if step, _ := stepOf(f, c); l.Step != step || !slices.Equal(l.Normal, c.Normal) || l.Offset != c.Offset {
			t.Fatalf("limit %v, step %d: want %v, step %d", l.Constraint, l.Step, c, step)
		}
		estimate("a limit", func(v []float64) float64 { return floats.Dot(c.Normal, v) }, l.Value.Mean, l.Value.Half)
		share("share of episodes that break a limit", l.Broken, func(v []float64) bool { return breaks(c, v) })
		count, sum, most := 0.0, 0.0, 0.0
		for _, v := range each {
			if breaks(c, v) {
				count++
				sum += floats.Dot(c.Normal, v) - c.Offset
				most = max(most, floats.Dot(c.Normal, v)-c.Offset)
			}
		}
		near(t, "mean excess", l.Excess, sum/max(1, count), 1e-9)
		near(t, "most excess", l.Most, most, 1e-12)
	}
	share("share of episodes that keep all limits", played.Kept, func(v []float64) bool {
		return !slices.ContainsFunc(task.Constraints, func(c cmdp.Constraint) bool { return breaks(c, v) })
	})
	share("share of episodes that keep all limits of steps", played.KeptSteps, func(v []float64) bool {
		return !slices.ContainsFunc(task.Constraints, func(c cmdp.Constraint) bool {
			step, _ := stepOf(f, c)
			return step != fleet.Episode && breaks(c, v)
		})
	})
}

// checkChance compares episodes with all that is possible: each of them is, none comes too often or too seldom
// by six standard deviations, and they do not come again in the same order.
func checkChance(t *testing.T, each [][]float64, joint []outcome) {
	t.Helper()
	count := make(map[string]float64)
	for _, v := range each {
		count[fmt.Sprint(v)]++
	}
	possible := 0.0
	most := 0.0
	n := float64(len(each))
	for _, o := range joint {
		k := count[fmt.Sprint(o.v)]
		possible += k
		most = max(most, o.p)
		if math.Abs(k-n*o.p) > 6*math.Sqrt(n*o.p*(1-o.p))+6 {
			t.Fatalf("%v has probability %g, and came %g times in %g episodes", o.v, o.p, k, n)
		}
	}
	if possible < n {
		t.Fatalf("%g episodes of %g are impossible", n-possible, n)
	}
	for lag := 1; lag < len(each)-100 && most < 0.8; lag++ {
		if slices.EqualFunc(each[lag:], each[:len(each)-lag], slices.Equal[[]float64]) {
			t.Fatalf("episodes come again after %d", lag)
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
			played, err := fleet.Play(t.Context(), f, task, player, fleet.PlayOptions{Episodes: 100, Seed: 4})
			if err != nil {
				t.Fatal(err)
			}
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
	played, err := fleet.Play(t.Context(), f, task, player, fleet.PlayOptions{Episodes: 400, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
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
	played, err := fleet.Play(t.Context(), f, task, again, fleet.PlayOptions{Episodes: 10, Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
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
		p, err := fleet.NewPlanner(f, 1)
		if err != nil {
			t.Fatal(err)
		}
		goal, err := p.Maximize(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		n := float64(f.Agents())
		limits := []fleet.Limit{{Return: 2, Step: fleet.Episode, Bound: math.Ceil(n/4) + 0.25}}
		for h := range f.Horizon() {
			limits = append(limits, fleet.Limit{Return: 1, Step: h, Bound: math.Ceil(n/6) + 0.25})
		}
		task, err := p.Task(t.Context(), goal, limits)
		if err != nil {
			t.Fatal(err)
		}
		plan := solved(t, p, task)
		bound -= plan.Bound
		for name, player := range players(t, f, task, plan) {
			played, err := fleet.Play(t.Context(), f, task, player, fleet.PlayOptions{Episodes: 60, Seed: 9})
			if err != nil {
				t.Fatal(err)
			}
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
			p, err := fleet.NewPlanner(of, 1)
			if err != nil {
				t.Fatal(err)
			}
			var task cmdp.Task
			if task.Box, err = p.Box(t.Context()); err != nil {
				t.Fatal(err)
			}
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
			played[n], err = fleet.Play(t.Context(), of, task, player,
				fleet.PlayOptions{Episodes: 100, Seed: uint64(i)})
			if err != nil {
				t.Fatal(err)
			}
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
				one, err := fleet.Play(t.Context(), of, task, player, fleet.PlayOptions{Episodes: 20, Seed: 5})
				if err != nil {
					t.Fatal(err)
				}
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
			played[n], err = fleet.Play(t.Context(), f, task, player, fleet.PlayOptions{Episodes: 20, Seed: 5})
			if err != nil {
				t.Fatal(err)
			}
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
			played, err := fleet.Play(t.Context(), f, task, player, fleet.PlayOptions{Episodes: 2, Seed: 5})
			if err != nil {
				t.Fatal(err)
			}
			if name != "dispatch" && math.Abs(played.Each.Mean-plan.Objective) > 1e-6 {
				t.Errorf("%d: %s comes to %g: want %g", i, name, played.Each.Mean, plan.Objective)
			}
		}
	}
	if whole < 20 || mixed < 10 {
		t.Errorf("%d plans of whole agents, %d of them of several policies", whole, mixed)
	}
}

// TestBudgetsByDefinition: a limit is a budget if it is about the episode alone, and no outcome of a step takes
// anything off what it bounds.
func TestBudgetsByDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 36))
	counts := make(map[bool]int)
	for i := range 60 {
		f := random(t, rng, shape{types: 1, agents: 1, states: 2, actions: 2, successors: 3, horizon: 2,
			resources: 1, stepwise: i%3 == 0, nasty: true, signed: true})
		p, err := fleet.NewPlanner(f, 1)
		if err != nil {
			t.Fatal(err)
		}
		task := cmdp.Task{Constraints: nastyLimits(t, rng, f)[:3]}
		if task.Box, err = p.Box(t.Context()); err != nil {
			t.Fatal(err)
		}
		budgets, err := fleet.Budgets(f, task)
		if err != nil {
			t.Fatal(err)
		}
		for k, c := range task.Constraints {
			step, single := stepOf(f, c)
			want := single && step == fleet.Episode
			kind := f.Types[0]
			for h := range kind.Model.Kernels() {
				rows := kind.Model.Rows(h)
				for choice := range kind.Model.Kernel(h).Choices() {
					next, _ := rows.Row(choice)
					for e := range next {
						used := 0.0
						for j, x := range rows.Outcome(choice, e) {
							if to := kind.Returns[j]; to >= 0 {
								used += c.Normal[to] * x
							}
						}
						want = want && used >= 0
					}
				}
			}
			counts[want]++
			if budgets[k] != want {
				t.Errorf("%d: limit %v is a budget: %v", i, c, budgets[k])
			}
		}
	}
	if counts[true] < 10 {
		t.Errorf("%v: want more budgets", counts)
	}
}
