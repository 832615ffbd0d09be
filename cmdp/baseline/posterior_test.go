package baseline

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// fourStates is a model of one step from state 0, with one choice, whose successors
// are 0 … 3, and a first return of 0 or 1.
func fourStates(t *testing.T) *cmdp.Model {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 1, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 4)
	row := cmdp.Row{Step: cmdp.EveryStep, Returns: nil}
	for n := range 4 {
		row.Next = append(row.Next, cmdp.Transition{Next: n, Probability: 0.25, Returns: []float64{float64(n % 2), 0}})
	}
	addRow(t, b, row)
	return built(t, b)
}

func posteriorOf(t *testing.T, m *cmdp.Model, c Config) *posterior {
	t.Helper()
	c.Shape, c.Confidence = m.Shape(), cmdp.Confidence{Episodes: max(1, c.Confidence.Episodes), Failure: 0.1}
	if c.Task.Cost == nil && c.Task.Target == nil {
		goal := linearCost(t, []float64{-1, 0}, boxOf(t, m))
		c.Task.Cost = goal
	}
	return newLearner(t, "posterior", c).(*posterior)
}

// see lets a learner observe n episodes that went from state 0 to next.
func see(l *posterior, m *cmdp.Model, n, next int, total ...float64) {
	tr := cmdp.NewTrajectory(m.Shape())
	tr.Steps = 1
	tr.States[1] = next
	copy(tr.Total, total)
	copy(tr.Return(0), total)
	for range n {
		l.Observe(tr)
	}
}

// TestPosteriorRows wants drawn rows to have the mean and the variance of the
// Dirichlet posterior: with counts n and prior weights a = α/n each, the parameters are
// n_i + a, their sum is N + α, the mean is m = (n_i+a)/(N+α), and the variance is
// m(1−m)/(N+α+1).
func TestPosteriorRows(t *testing.T) {
	m := fourStates(t)
	for name, tc := range map[string]struct {
		weight  float64
		support Support
		counts  [4]int
		params  [4]float64
	}{
		"default":        {0, nil, [4]int{}, [4]float64{0.025, 0.025, 0.025, 0.025}},
		"prior":          {1, nil, [4]int{}, [4]float64{0.25, 0.25, 0.25, 0.25}},
		"heavy prior":    {8, nil, [4]int{0, 3}, [4]float64{2, 5, 2, 2}},
		"some seen":      {1, nil, [4]int{3, 0, 1, 0}, [4]float64{3.25, 0.25, 1.25, 0.25}},
		"all seen":       {2, nil, [4]int{1, 2, 3, 4}, [4]float64{1.5, 2.5, 3.5, 4.5}},
		"told":           {1, Support{{{1, 3}}}, [4]int{}, [4]float64{0, 0.5, 0, 0.5}},
		"told and seen":  {3, Support{{{0, 1, 3}}}, [4]int{0, 2, 0, 0}, [4]float64{1, 3, 0, 1}},
		"told, one only": {0, Support{{{2}}}, [4]int{}, [4]float64{0, 0, 1, 0}},
	} {
		l := posteriorOf(t, m, Config{Returns: m.KnownReturns(), Seed: 3, Tuning: Tuning{PriorWeight: tc.weight},
			Knowledge: Knowledge{Support: tc.support}})
		for next, n := range tc.counts {
			see(l, m, n, next, 0, 0)
		}
		const draws = 20000
		samples := [4][]float64{}
		for range draws {
			next, prob := l.drawer.row(nil, nil, &l.layers[0][0])
			full, sum := [4]float64{}, 0.0
			for i, n := range next {
				full[n] += prob[i]
				sum += prob[i]
			}
			if math.Abs(sum-1) > 1e-12 {
				t.Fatalf("%s: probabilities sum to %v", name, sum)
			}
			for i, x := range full {
				samples[i] = append(samples[i], x)
			}
		}
		sum := floats.Sum(tc.params[:])
		for i, a := range tc.params {
			mean := a / sum
			variance := mean * (1 - mean) / (sum + 1)
			got, spread := stat.MeanVariance(samples[i], nil)
			// Five standard errors of the mean; crumbs of the unseen mass cost 1e-3 of it.
			if math.Abs(got-mean) > 5*math.Sqrt(variance/draws)+1e-3 || math.Abs(spread-variance) > 0.06*variance+1e-3 {
				t.Errorf("%s: successor %d has mean %.4f, variance %.5f: want %.4f, %.5f", name, i, got, spread, mean,
					variance)
			}
		}
	}
}

// TestPosteriorReturns wants means of learned returns to be drawn from Beta(1+Σx,
// 1+Σ(1−x)) on their range, and returns that do not vary to be what they are.
func TestPosteriorReturns(t *testing.T) {
	m := fourStates(t)
	l := posteriorOf(t, m, Config{Seed: 4})
	see(l, m, 6, 1, 1, 0)
	see(l, m, 3, 0, 0, 0)
	var first []float64
	for range 20000 {
		r := l.drawer.means(0)
		first = append(first, r[0])
		if r[1] != 0 {
			t.Fatalf("a return that is always 0 was drawn as %v", r[1])
		}
	}
	// Beta(7, 4): mean 7/11, variance 28/(121·12).
	mean, variance := stat.MeanVariance(first, nil)
	if math.Abs(mean-7.0/11) > 0.005 || math.Abs(variance-28.0/1452) > 0.001 {
		t.Errorf("mean %v, variance %v: want 0.636, 0.0193", mean, variance)
	}
}

// TestPosteriorCorrection works out the task after 10 episodes with returns that sum to (4, 0),
// of 100: the past is made good within m = ⌈10/4⌉ = 3 episodes, so that v has to keep
// (4 + 3v)/13 at most 0.6, which is v ≤ 3.8/3, and the cost of v is −(4+3v)/13. With two
// episodes to go m is 2.
func TestPosteriorCorrection(t *testing.T) {
	m := fourStates(t)
	bounded := boundedBox(t, []float64{0, 0}, []float64{0.6, 5})
	goal := linearCost(t, []float64{-1, 0}, boxOf(t, m))
	for _, tc := range []struct {
		name     string
		episodes int
		beta     float64
		m        float64
	}{{"posterior", 100, 0, 3}, {"posterior", 12, 0, 2}, {"posterior", 100, 0.11, 2}, {"posterior", 10, 0, 1}} {
		c := Config{Settings: cmdp.Settings{Confidence: cmdp.Confidence{Episodes: tc.episodes}},
			Returns: m.KnownReturns(), Task: cmdp.Task{Cost: goal, Target: bounded},
			Tuning: Tuning{Correction: tc.beta}}
		l := posteriorOf(t, m, c)
		see(l, m, 10, 1, 0.4, 0)
		task, err := l.remaining()
		if err != nil {
			t.Fatal(err)
		}
		most := make([]float64, 2)
		task.Target.MaximizeLinear(most, []float64{1, 0})
		if want := (0.6*(10+tc.m) - 4) / tc.m; math.Abs(most[0]-want) > 1e-9 {
			t.Errorf("%d episodes, β %v: the first return may be %v: want %v", tc.episodes, tc.beta, most[0], want)
		}
		if got, want := task.Cost.Value([]float64{0.5, 1}), -(4+tc.m*0.5)/(10+tc.m); math.Abs(got-want) > 1e-12 {
			t.Errorf("%d episodes, β %v: cost %v: want %v", tc.episodes, tc.beta, got, want)
		}
		c.Shape, c.Confidence.Failure = m.Shape(), 0.1
		plain := newLearner(t, "posterior-plain", c).(*posterior)
		see(plain, m, 10, 1, 0.4, 0)
		if task, err := plain.remaining(); err != nil || task.Cost != c.Task.Cost || task.Target != c.Task.Target {
			t.Errorf("posterior-plain corrects the past: %v, %v", task, err)
		}
	}
}

// TestPosteriorBlocks follows the blocks of a learner by hand. While a block's
// choice keeps doubling, every episode starts one; then the growth of k by ε does.
func TestPosteriorBlocks(t *testing.T) {
	m := fourStates(t)
	l := posteriorOf(t, m, Config{Settings: cmdp.Settings{Confidence: cmdp.Confidence{Episodes: 1000}},
		Returns: m.KnownReturns(), Tuning: Tuning{Growth: 0.5}})
	var starts []int
	for k := range 40 {
		before := l.Work().Programs
		l.Policy()
		if l.Work().Programs > before {
			starts = append(starts, k)
		}
		l.Policy()
		see(l, m, 1, 1, 1, 0)
	}
	// k ≥ 1.5 · the last start, from 0: 1, 2, 3, 5, 8, 12, 18, 27, 41.
	want := []int{0, 1, 2, 3, 5, 8, 12, 18, 27}
	if len(starts) != len(want) {
		t.Fatalf("blocks start at %v: want %v", starts, want)
	}
	for i, k := range want {
		if starts[i] != k {
			t.Fatalf("blocks start at %v: want %v", starts, want)
		}
	}
	// With a large ε only doubling ends a block: it does when all steps go through a
	// choice whose visits have doubled.
	l = posteriorOf(t, m, Config{Settings: cmdp.Settings{Confidence: cmdp.Confidence{Episodes: 1000}},
		Returns: m.KnownReturns(), Tuning: Tuning{Growth: 1e9}})
	starts = nil
	for k := range 40 {
		before := l.Work().Programs
		l.Policy()
		if l.Work().Programs > before {
			starts = append(starts, k)
		}
		see(l, m, 1, 1, 1, 0)
	}
	if want := []int{0, 1, 2, 4, 8, 16, 32}; len(starts) != len(want) || starts[4] != 8 || starts[6] != 32 {
		t.Errorf("blocks start at %v: want %v", starts, want)
	}
}

// plansOf tells how often a learner in blocks has planned, or drawn, by something that changes when it does.
func plansOf(l cmdp.Learner) any {
	if x, ok := l.(*momaPosterior); ok {
		return x.model
	}
	return l.(Worker).Work().Programs
}

// TestBlocksByDefinition wants every learner in blocks to plan or draw anew exactly where a block starts: when the
// episodes have grown by their share since the last start, or when 5% of the steps since then went through choices that
// were taken twice as often as before it.
func TestBlocksByDefinition(t *testing.T) {
	for seed := range uint64(6) {
		ex := newExample(t, seed, modelSpec{states: 3, actions: 3, horizon: 3, dim: 2, stationary: seed%2 == 0,
			rests: seed%3 == 0})
		for _, name := range []string{"posterior", "posterior-plain", "moma-posterior", "posterior-safe"} {
			c, growth := ex.config(300), []float64{0, 0.3, 5}[seed%3]
			c.Pooled, c.Seed, c.Tuning.Growth = seed%4 == 0, seed, growth
			growth = cmp.Or(growth, 0.05)
			episodes, blocks := 200, 0
			if name == "posterior-safe" {
				episodes = 12
			}
			l, m := newLearner(t, name, c), ex.model
			visits, before := map[slot]int{}, map[slot]int{}
			start, steps, doubled := 0, 0, 0
			env, tr := rand.New(rand.NewPCG(seed, 1)), cmdp.NewTrajectory(m.Shape())
			for k := range episodes {
				planned := plansOf(l)
				p := l.Policy()
				starts := float64(k) >= (1+growth)*float64(start) || float64(doubled) >= 0.05*float64(steps)
				if anew := plansOf(l) != planned; anew != starts {
					t.Errorf("%s, seed %d: episode %d after a block from %d with %d of %d steps at doubled choices: a block "+
						"starts %v, want %v", name, seed, k, start, doubled, steps, anew, starts)
					break
				}
				if starts {
					before, start, steps, doubled = maps.Clone(visits), k, 0, 0
					blocks++
				}
				tr.Play(m, p, env, env)
				l.Observe(tr)
				var taken []slot
				for h := range tr.Steps {
					if x := (slot{h, tr.States[h], tr.Actions[h]}); x.a >= 0 {
						if c.Pooled {
							x.h = 0
						}
						visits[x]++
						taken = append(taken, x)
					}
				}
				for _, x := range taken {
					steps++
					if visits[x] >= 2*before[x] {
						doubled++
					}
				}
			}
			if blocks < 4 || blocks > episodes*3/4 && name != "posterior-safe" {
				t.Errorf("%s, seed %d: %d blocks in %d episodes say little", name, seed, blocks, episodes)
			}
		}
	}
}

// armed is a model of one step with one choice for each return vector.
func armed(t *testing.T, returns ...[]float64) *cmdp.Model {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 1, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 1)
	for a, r := range returns {
		row := cmdp.Row{Step: cmdp.EveryStep, Action: a, Returns: r, Next: []cmdp.Transition{{Next: 0, Probability: 1}}}
		addRow(t, b, row)
	}
	return built(t, b)
}

// TestPosteriorNearest has a target that no policy meets: x ≤ −1 where every return
// has x ≥ 0. Of the two choices with x = 0 the one with the smaller cost is to be
// played, though a third is cheaper still.
func TestPosteriorNearest(t *testing.T) {
	m := armed(t, []float64{0, 3}, []float64{0, 2}, []float64{1, 0})
	target := boundedBox(t, []float64{-2, -10}, []float64{-1, 10})
	goal := linearCost(t, []float64{0, 1}, boxOf(t, m))
	l := posteriorOf(t, m, Config{Returns: m.KnownReturns(), Task: cmdp.Task{Cost: goal, Target: target}})
	probs := make([]float64, 3)
	l.Policy().(*table).Distribution(probs, 0, 0)
	if probs[1] < 0.999 {
		t.Errorf("probabilities %v: want the second choice", probs)
	}
	if l.Work().Infeasible != 1 {
		t.Errorf("work %+v: want one infeasible program", l.Work())
	}
}

// TestPosteriorLearns plays small random problems with two constraints: the mean of
// all returns comes within 1% of the range of the optimum and of the target, and without
// the correction it stays further outside.
func TestPosteriorLearns(t *testing.T) {
	corrected, plain := 0.0, 0.0
	for seed := range uint64(6) {
		ex := newExample(t, 20+seed, modelSpec{states: 4, actions: 3, horizon: 4, dim: 3, stationary: true})
		box := boxOf(t, ex.model)
		unit := floats.Distance(box.Lower(), box.Upper(), 2)
		for _, name := range []string{"posterior", "posterior-plain"} {
			c := ex.config(3000)
			c.Pooled, c.Seed = true, seed
			l := newLearner(t, name, c)
			sum, point := make([]float64, 3), make([]float64, 3)
			tr := cmdp.NewTrajectory(ex.model.Shape())
			env, agent := rand.New(cmdp.Stream(seed, "environment")), rand.New(cmdp.Stream(seed, "agent"))
			for range 3000 {
				tr.Play(ex.model, l.Policy(), env, agent)
				l.Observe(tr)
				floats.Add(sum, tr.Total)
			}
			floats.Scale(1.0/3000, sum)
			ex.task.Target.Project(point, sum)
			miss, regret := floats.Distance(point, sum, 2)/unit, (ex.task.Cost.Value(sum)-ex.optimum)/unit
			if name == "posterior-plain" {
				plain += miss
				continue
			}
			corrected += miss
			if miss > 0.002 || math.Abs(regret) > 0.01 {
				t.Errorf("seed %d: violation %.4f, regret %.4f of the range", seed, miss, regret)
			}
		}
	}
	if corrected > plain/2 {
		t.Errorf("violations sum to %.5f with the correction and %.5f without", corrected, plain)
	}
}

// TestPosteriorPooledSteps wants returns that differ by step to stand in the drawn
// model where the kernel is shared.
func TestPosteriorPooledSteps(t *testing.T) {
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 2, Dim: 1, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 1)
	for a := range 2 {
		row := cmdp.Row{Step: cmdp.EveryStep, Action: a, Returns: []float64{float64(4 * a)},
			Next: []cmdp.Transition{{Next: 0, Probability: 1}}}
		addRow(t, b, row)
	}
	m := built(t, b)
	stepped, err := cmdp.NewReturns(m.Shape(), [][]float64{{1, 2}, {3, 4}})
	if err != nil {
		t.Fatal(err)
	}
	l := posteriorOf(t, m, Config{Settings: cmdp.Settings{Pooled: true}, Returns: stepped,
		Task: cmdp.Task{Cost: mustLinear(t, m)}})
	drawn, err := l.drawer.model()
	if err != nil {
		t.Fatal(err)
	}
	for h, want := range [][]float64{{1, 2}, {3, 4}} {
		if got := drawn.Kernel(h).Plain(drawn.Dim()).Returns; !floats.Equal(got, want) {
			t.Errorf("step %d has returns %v: want %v", h, got, want)
		}
	}
}

func mustLinear(t *testing.T, m *cmdp.Model) cost.Cost {
	t.Helper()
	goal := linearCost(t, []float64{-1}, boxOf(t, m))
	return goal
}

// TestPosteriorPooledRanges wants a mean that steps of different ranges share to be drawn on all
// of them, whichever step is the first: returns 1 at one step and 9 at the other are 5 on average. The model of each
// step has it cut to the range of the step.
func TestPosteriorPooledRanges(t *testing.T) {
	for i, tt := range []struct{ returns, want []float64 }{{[]float64{1, 9}, []float64{2, 5}},
		{[]float64{0.2, 3.4}, []float64{1.8, 3}}, {[]float64{9, 1}, []float64{5, 2}},
		{[]float64{3.4, 0.2}, []float64{3, 1.8}}} {
		lower, upper := []float64{0, 3}, []float64{2, 10}
		if i >= 2 {
			slices.Reverse(lower)
			slices.Reverse(upper)
		}
		sh, err := cmdp.NewShape(cmdp.ShapeSpec{Horizon: 2, Dim: 1,
			Start:   []cmdp.StartState{{State: 0, Probability: 1}},
			First:   [][]int32{{0, 2}},
			Returns: []cmdp.Interval{{Lower: lower[:1], Upper: upper[:1]}, {Lower: lower[1:], Upper: upper[1:]}}})
		if err != nil {
			t.Fatal(err)
		}
		l := newLearner(t, "posterior",
			Config{Settings: cmdp.Settings{Pooled: true, Confidence: cmdp.Confidence{Episodes: 20000, Failure: 0.1}},
				Shape: sh, Task: cmdp.Task{Cost: linearCost(t, []float64{-1}, boxOfShape(t, sh))}}).(*posterior)
		tr := cmdp.NewTrajectory(sh)
		tr.Steps, tr.Total[0] = 2, floats.Sum(tt.returns)
		tr.Return(0)[0], tr.Return(1)[0] = tt.returns[0], tt.returns[1]
		for range 20000 {
			l.Observe(tr)
		}
		if x := l.drawer.means(0)[0]; math.Abs(x-tr.Total[0]/2) > 0.1 {
			t.Errorf("returns %v: the mean is drawn as %v: want %v or nearly", tt.returns, x, tr.Total[0]/2)
		}
		drawn, err := l.drawer.model()
		if err != nil {
			t.Fatal(err)
		}
		for h, x := range tt.want {
			if got := drawn.Kernel(h).Plain(drawn.Dim()).Returns[0]; math.Abs(got-x) > 0.1 {
				t.Errorf("returns %v: the model has %v at step %d: want %v", tt.returns, got, h+1, x)
			}
		}
	}
}

// TestGoalShareIsThatOfTheGoal: the target has no part in the share of a goal, whatever its form and the number of
// returns, and plans for curved goals are not asked for less than rounding leaves of them.
func TestGoalShareIsThatOfTheGoal(t *testing.T) {
	const dim = 11
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 1, Dim: dim, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 1)
	for a := range 2 {
		returns := slices.Repeat([]float64{float64(a)}, dim)
		addRow(t, b, cmdp.Row{Step: cmdp.EveryStep, Action: a, Next: []cmdp.Transition{{Next: 0, Probability: 1}},
			Returns: returns})
	}
	first := slices.Concat([]float64{1}, make([]float64, dim-1))
	sh := built(t, b).Shape()
	box := boxOfShape(t, sh)
	goal, err := cost.NewAffine(first, 99, box) // from 99 to 100
	if err != nil {
		t.Fatal(err)
	}
	curved, err := cost.NewSquared(make([]float64, dim), first, box)
	if err != nil {
		t.Fatal(err)
	}
	ball, err := geometry.NewBall(make([]float64, dim), 10)
	if err != nil {
		t.Fatal(err)
	}
	if got := goalShare(sh, cmdp.Task{Cost: goal, Target: ball}); math.Abs(got-0.01) > 1e-12 {
		t.Errorf("within a ball a goal from 99 to 100 has the share %g", got)
	}
	for _, g := range []cost.Cost{goal, curved} {
		want := map[bool]float64{true: 1e-12, false: 2e-8}[g == cost.Cost(goal)]
		if got := reachableGap(cmdp.Task{Cost: g}, 1e-12); got != want {
			t.Errorf("a plan for %T has the gap %g: want %g", g, got, want)
		}
	}
}
