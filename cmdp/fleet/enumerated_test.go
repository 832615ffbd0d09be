package fleet_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/fleet"
	"cmdpsolve/cost"

	"gonum.org/v1/gonum/floats"
)

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
		task := cmdp.Task{Constraints: nastyLimits(t, rng, f), Box: boxOf(t, f)}
		var err error
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

// TestBudgetsByDefinition: a limit is a budget if it is about the episode alone, and no outcome of a step takes
// anything off what it bounds.
func TestBudgetsByDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 36))
	counts := make(map[bool]int)
	for i := range 60 {
		f := random(t, rng, shape{types: 1, agents: 1, states: 2, actions: 2, successors: 3, horizon: 2,
			resources: 1, stepwise: i%3 == 0, nasty: true, signed: true})
		task := cmdp.Task{Constraints: nastyLimits(t, rng, f)[:3], Box: boxOf(t, f)}
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
