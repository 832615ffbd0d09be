package baseline

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// gamble is a model of two steps: the first chooses to gamble, which gains 1 and may lead to
// state 2, or not to; the second costs 1 in state 2. Its task is to gain most while the
// cost is at most limit.
func gamble(t *testing.T, limit float64) (*cmdp.Model, Config) {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 2, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 3)
	for _, row := range []cmdp.Row{
		{Step: cmdp.EveryStep, State: 0, Action: 0, Returns: []float64{0, 0},
			Next: []cmdp.Transition{{Next: 1, Probability: 1}}},
		{Step: cmdp.EveryStep, State: 0, Action: 1, Returns: []float64{1, 0},
			Next: []cmdp.Transition{{Next: 1, Probability: 0.5}, {Next: 2, Probability: 0.5}}},
		{Step: cmdp.EveryStep, State: 1, Action: 0, Returns: []float64{0, 0},
			Next: []cmdp.Transition{{Next: 1, Probability: 1}}},
		{Step: cmdp.EveryStep, State: 2, Action: 0, Returns: []float64{0, 1},
			Next: []cmdp.Transition{{Next: 1, Probability: 1}}},
	} {
		addRow(t, b, row)
	}
	m := built(t, b)
	return m, configWithin(t, m, limit)
}

// configWithin is the task to gain most of the first return while the second is at most limit.
func configWithin(t *testing.T, m *cmdp.Model, limit float64) Config {
	t.Helper()
	box := boxOf(t, m)
	upper := box.Upper()
	upper[1] = limit
	target := boundedBox(t, box.Lower(), upper)
	goal := linearCost(t, []float64{-1, 0}, box)
	return Config{Shape: m.Shape(), Returns: m.KnownReturns(), Task: cmdp.Task{Cost: goal, Target: target},
		Knowledge: Knowledge{Support: SupportOf(m)}, Seed: 5}
}

// TestPlanCredibly works out the best gamble. After b bad outcomes of n its probability of a
// bad one is Beta(b+½, n−b+½), the prior having weight 1 over two successors. Gambling with
// probability x costs x·p, which is at most the limit with probability q if x = limit/Q(q), Q
// being the quantile function. The plan asks for a little more than the level, since it
// counts models.
func TestPlanCredibly(t *testing.T) {
	const limit, level, models = 0.3, 0.9, 4000
	m, c := gamble(t, limit)
	for _, seen := range []struct{ n, bad uint32 }{{40, 20}, {10, 1}, {400, 300}} {
		counts := newCounts(t, m.Shape(), false)
		for next, times := range map[int]uint32{1: seen.n - seen.bad, 2: seen.bad} {
			if err := counts.Add(0, 0, 1, next, times); err != nil {
				t.Fatal(err)
			}
		}
		c.Prior = counts
		out, err := PlanCredibly(t.Context(), c, level, models)
		if err != nil {
			t.Fatal(err)
		}
		post := distuv.Beta{Alpha: float64(seen.bad) + 0.5, Beta: float64(seen.n-seen.bad) + 0.5}
		probs := make([]float64, 2)
		out.Policy.Distribution(probs, 0, 0)
		x := probs[1]
		if least, most := limit/post.Quantile(level+0.025), limit/post.Quantile(level-0.005); !out.Promised ||
			x < min(1, least) || x > min(1, most) {
			t.Errorf("%d of %d: gambles with %.4f: want %.4f to %.4f", seen.bad, seen.n, x, least, most)
		}
		if want := post.CDF(limit / x); math.Abs(out.Share-want) > 0.015 {
			t.Errorf("%d of %d: the limit holds in %.4f of the models: want %.4f", seen.bad, seen.n, out.Share, want)
		}
		mean := post.Alpha / (post.Alpha + post.Beta)
		for _, y := range []struct {
			name      string
			got, want float64
			slack     float64
		}{
			{"least cost", out.Low[1], x * post.Quantile((1-level)/2), 0.02 * x},
			{"most cost", out.High[1], x * post.Quantile((1+level)/2), 0.02 * x},
			{"mean cost", out.Returns[1], x * mean, 1e-9}, {"gain", out.Returns[0], x, 1e-9},
			{"least gain", out.Low[0], x, 1e-9},
			{"optimum", out.Optimum, -min(1, limit/mean), 1e-7}, {"objective", out.Objective, -x, 1e-9},
			{"margin", out.Margins[0], limit - x*mean, 1e-9},
		} {
			if math.Abs(y.got-y.want) > y.slack {
				t.Errorf("%d of %d: %s is %v: want %v", seen.bad, seen.n, y.name, y.got, y.want)
			}
		}
		if u := out.Unsure; len(u) != 1 || u[0].State != 0 || u[0].Action != 1 || u[0].Step != 0 ||
			u[0].Visits != float64(seen.n) || math.Abs(u[0].Share-1) > 1e-9 || math.Abs(u[0].PerEpisode-x) > 1e-9 {
			t.Errorf("%d of %d: unsure of %+v: want of the gamble alone", seen.bad, seen.n, u)
		}
	}
}

// TestCredibleNothing wants the policy whose limits hold most often where none can be promised:
// to lose less than the wager costs, when there is no way not to gamble.
func TestCredibleNothing(t *testing.T) {
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 2, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 3)
	coin := []cmdp.Transition{{Next: 1, Probability: 0.5}, {Next: 2, Probability: 0.5}}
	for _, row := range []cmdp.Row{
		{Step: cmdp.EveryStep, State: 0, Action: 0, Returns: []float64{1, 0}, Next: coin},
		{Step: cmdp.EveryStep, State: 0, Action: 1, Returns: []float64{0, 0}, Next: coin},
		{Step: cmdp.EveryStep, State: 1, Action: 0, Returns: []float64{0, 0},
			Next: []cmdp.Transition{{Next: 1, Probability: 1}}},
		{Step: cmdp.EveryStep, State: 2, Action: 0, Returns: []float64{0, 1},
			Next: []cmdp.Transition{{Next: 1, Probability: 1}}},
	} {
		addRow(t, b, row)
	}
	m := built(t, b)
	c := configWithin(t, m, 0.5)
	counts := newCounts(t, m.Shape(), false)
	for next, times := range map[int]uint32{1: 12, 2: 8} { // the second action is the better known and the safer one
		if err := counts.Add(0, 0, 1, next, times); err != nil {
			t.Fatal(err)
		}
	}
	c.Prior = counts
	out, err := PlanCredibly(t.Context(), c, 0.95, 2000)
	if err != nil {
		t.Fatal(err)
	}
	probs := make([]float64, 2)
	out.Policy.Distribution(probs, 0, 0)
	safest := distuv.Beta{Alpha: 8.5, Beta: 12.5}.CDF(0.5)
	if out.Promised || probs[1] < 0.75 || out.Share < safest-0.03 {
		t.Errorf("promised %v with the share %.3f by the second action with %.3f: want no promise, %.3f at least, "+
			"by the second action", out.Promised, out.Share, probs[1], safest)
	}
}

// TestUnsure works out where the uncertainty of a cost comes from. State 0 leads to 1 or 2, of which
// 2 costs 1 in the second step and leads to 1; state 1 leads to 1 or 2 in the second
// step, and 2 costs 1 in the third. With counts n and posterior means p of state 2, of weight n+1, the
// variance of the first choice is p(1−p)(1−V)²/(n+2) where V is the cost from state 1 on, and
// that of the second is p(1−p)/(n+2) times the square of how often it is made.
func TestUnsure(t *testing.T) {
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 3, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 3)
	coin := []cmdp.Transition{{Next: 1, Probability: 0.5}, {Next: 2, Probability: 0.5}}
	for s, next := range [][]cmdp.Transition{coin, coin, {{Next: 1, Probability: 1}}} {
		addRow(t, b, cmdp.Row{Step: cmdp.EveryStep, State: s, Returns: []float64{0, float64(s / 2)},
			Next: next})
	}
	m := built(t, b)
	c := configWithin(t, m, 2)
	var err error
	if c.Prior, err = cmdp.NewCounts(m.Shape(), false, nil); err != nil {
		t.Fatal(err)
	}
	for h, times := range [][3]uint32{{0, 3, 1}, {0, 8, 2}} {
		for next, n := range times {
			if err := c.Prior.Add(h, h, 0, next, n); err != nil {
				t.Fatal(err)
			}
		}
	}
	out, err := PlanCredibly(t.Context(), c, 0.9, 100)
	if err != nil {
		t.Fatal(err)
	}
	first, second := 1.5/5, 2.5/11
	parts := []float64{first * (1 - first) * (1 - second) * (1 - second) / 6,
		second * (1 - second) * (1 - first) * (1 - first) / 12}
	if len(out.Unsure) != 2 || out.Unsure[0].Step != 0 || out.Unsure[1].Step != 1 || out.Unsure[1].State != 1 {
		t.Fatalf("unsure of %+v: want of the first two steps", out.Unsure)
	}
	for i, u := range out.Unsure {
		if want := parts[i] / (parts[0] + parts[1]); math.Abs(u.Share-want) > 1e-9 {
			t.Errorf("step %d has the share %.6f: want %.6f", u.Step+1, u.Share, want)
		}
	}
}

// TestUnsureValues wants the values from which parts of the uncertainty are taken to be, at the start, the expected
// returns, also where a state rests at one step and acts at another.
func TestUnsureValues(t *testing.T) {
	for seed := range uint64(4) {
		ex := newExample(t, seed, modelSpec{states: 3, actions: 3, horizon: 4, dim: 2, rests: true})
		c := ex.config(1)
		e, err := newEstimate(newCoordinates(&c, false), &c)
		if err != nil {
			t.Fatal(err)
		}
		d, policy := newDrawer(e, &c, "values"), cmdp.Uniform{Shape: c.Shape}
		got, want := make([]float64, 2), make([]float64, 2)
		values := d.valuesOf(ex.model, policy)[0]
		for _, x := range c.Shape.StartStates() {
			floats.AddScaled(got, x.Probability, values[2*x.State:2*x.State+2])
		}
		if cmdp.NewEvaluator(ex.model).Returns(want, policy); !floats.EqualApprox(got, want, 1e-12) {
			t.Errorf("seed %d: values %v at the start: want %v", seed, got, want)
		}
	}
}

// dirichletModel draws a model of three states, two actions and three steps from the prior:
// rows are Dirichlet with a total weight of 1.
func dirichletModel(t *testing.T, rng *rand.Rand) *cmdp.Model {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 3, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 3)
	for s := range 3 {
		for a := range 2 {
			row := cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a, Returns: []float64{float64(a), float64(s) / 2}}
			sum := 0.0
			for n := range 3 {
				row.Next = append(row.Next, cmdp.Transition{Next: n,
					Probability: distuv.Gamma{Alpha: 1.0 / 3, Beta: 1, Src: rng}.Rand()})
				sum += row.Next[n].Probability
			}
			for n := range 3 {
				row.Next[n].Probability /= sum
			}
			addRow(t, b, row)
		}
	}
	return built(t, b)
}

// TestCredibleCoverage draws truths from the prior, logs some episodes of each, and plans: of the
// plans that are promised, the share whose limit holds in the truth is at least the
// level, but for four standard errors.
func TestCredibleCoverage(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	const level, truths = 0.8, 150
	rng := rand.New(cmdp.Stream(3, "truth"))
	promised, held, models := 0.0, 0.0, ModelsNeeded(level)*10
	for i := range truths {
		m := dirichletModel(t, rng)
		c := configWithin(t, m, 0.9)
		c.Pooled, c.Knowledge, c.Seed = true, Knowledge{}, uint64(i)
		counts := newCounts(t, m.Shape(), true)
		tr := cmdp.NewTrajectory(m.Shape())
		for range 5 + i%3*20 {
			tr.Play(m, cmdp.Uniform{Shape: m.Shape()}, rng, rng)
			counts.Observe(tr)
		}
		c.Prior = counts
		out, err := PlanCredibly(t.Context(), c, level, models)
		if err != nil {
			t.Fatal(err)
		}
		if !out.Promised {
			continue
		}
		promised++
		v := make([]float64, 2)
		cmdp.NewEvaluator(m).Returns(v, out.Policy)
		if v[1] <= 0.9+1e-9 {
			held++
		}
	}
	t.Logf("%v of %d promised, %v held", promised, truths, held)
	if promised < truths/3 || held < promised*level-4*math.Sqrt(promised*level*(1-level)) {
		t.Errorf("%v of %d were promised, and %v of them held: want a share of %v", promised, truths, held, level)
	}
	if held == promised {
		t.Error("all held: the tightening is out of proportion")
	}
}

// TestCredibleFreshModels chooses a plan by models in which gambling never goes wrong. The models
// that judge it are drawn from what was seen, one bad outcome of two, and contradict: nothing
// may be promised.
func TestCredibleFreshModels(t *testing.T) {
	m, c := gamble(t, 0.3)
	c.Confidence = cmdp.Confidence{Episodes: 1, Failure: 0.5}
	counts := newCounts(t, m.Shape(), false)
	for next := 1; next <= 2; next++ {
		if err := counts.Add(0, 0, 1, next, 100); err != nil {
			t.Fatal(err)
		}
	}
	c.Prior = counts
	p, err := newCrediblePlanner(t.Context(), &c, 0.9, 100)
	if err != nil {
		t.Fatal(err)
	}
	harmless := *m.Kernel(0)
	harmless.Prob = []float64{1, 1, 0, 1, 1}
	lucky, err := cmdp.NewModel(cmdp.ModelSpec{Horizon: 2, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}},
		Kernels: []cmdp.Kernel{harmless}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.drawn {
		p.drawn[i] = lucky
	}
	out, err := p.plan()
	if err != nil {
		t.Fatal(err)
	}
	if out.Promised || out.Share > 0.7 {
		t.Errorf("promised %v with a share of %.2f: want no promise", out.Promised, out.Share)
	}
}

// TestCredibleIterations wants the value iterations of all plans to be counted: without a limit
// there is one plan, which is that of the mean model, and with one there are more.
func TestCredibleIterations(t *testing.T) {
	m, c := gamble(t, 0.3)
	within, err := PlanCredibly(t.Context(), c, 0.9, 100)
	if err != nil {
		t.Fatal(err)
	}
	c.Task.Target = nil
	out, err := PlanCredibly(t.Context(), c, 0.9, 100)
	if err != nil {
		t.Fatal(err)
	}
	// Without data the mean model has the same probability for either outcome, as m has.
	want, err := exact.Solve(t.Context(), m, c.Task, exact.Options{Gap: 1e-8})
	if err != nil {
		t.Fatal(err)
	}
	if out.Iterations != want.Iterations || within.Iterations < 3*want.Iterations {
		t.Errorf("%d value iterations, and %d with a limit: want %d, and several times as many", out.Iterations,
			within.Iterations, want.Iterations)
	}
}

// TestModelsThatMustKeep compares how many models have to keep their limits with the definition, by binomial tails in
// whole numbers: the least k for which at least k of n do with a probability of at most 0.05, if each does with a
// probability of level; and how few models may be asked for, of which all have to.
func TestModelsThatMustKeep(t *testing.T) {
	five := big.NewRat(1, 20)
	for percent := int64(1); percent < 100; percent += 2 {
		level := float64(percent) / 100
		p, all, need := big.NewRat(percent, 100), big.NewRat(1, 1), 0
		for all.Cmp(five) > 0 {
			all.Mul(all, p)
			need++
		}
		if got := ModelsNeeded(level); got != need {
			t.Errorf("a level of %v needs %d models: want %d", level, got, need)
		}
		for n := 1; n <= 40; n += 1 + n/8 {
			// The tail from k on, over 100ⁿ, grows as k falls.
			tail, limit, want := new(big.Int), new(big.Int).Exp(big.NewInt(100), big.NewInt(int64(n)), nil), n
			for k := n; k >= 0; k-- {
				term := new(big.Int).Binomial(int64(n), int64(k))
				term.Mul(term, new(big.Int).Exp(big.NewInt(percent), big.NewInt(int64(k)), nil))
				term.Mul(term, new(big.Int).Exp(big.NewInt(100-percent), big.NewInt(int64(n-k)), nil))
				if tail.Add(tail, term); new(big.Int).Mul(tail, big.NewInt(20)).Cmp(limit) > 0 {
					break
				}
				want = k
			}
			if got := modelsThatMustKeep(n, level); got != want {
				t.Errorf("%d of %d models have to keep a level of %v: want %d", got, n, level, want)
			}
		}
	}
}

// TestCredibleLevels wants plans at low levels too, which the fewest models can tell.
func TestCredibleLevels(t *testing.T) {
	_, c := gamble(t, 0.3)
	for _, level := range []float64{0.001, 0.05, 0.3, 0.5} {
		models := ModelsNeeded(level)
		out, err := PlanCredibly(t.Context(), c, level, models)
		if err != nil || out.Promised && out.Share < level {
			t.Errorf("level %v, %d models: %+v, %v", level, models, out, err)
		}
	}
}

func TestCredibleRefuses(t *testing.T) {
	_, c := gamble(t, 0.3)
	for _, tt := range []struct {
		level  float64
		models int
		want   string
	}{
		{0, 1000, "credible level 0: want between 0 and 1"}, {1, 1000, "want between 0 and 1"},
		{math.NaN(), 1000, "want between 0 and 1"},
		{0.95, 58, "58 models tell nothing of a share of 0.95: want at least 59"},
	} {
		if _, err := PlanCredibly(t.Context(), c, tt.level, tt.models); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("level %v, %d models: %v: want %q", tt.level, tt.models, err, tt.want)
		}
	}
	ball, err := geometry.NewBall([]float64{0, 0}, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	c.Task.Target = ball
	if _, err := PlanCredibly(t.Context(), c, 0.9, 100); err == nil ||
		!strings.Contains(err.Error(), "want a target made of half-spaces, not a curved one") {
		t.Errorf("a ball: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, c = gamble(t, 0.3)
	if _, err := PlanCredibly(ctx, c, 0.9, 100); err == nil {
		t.Error("a context that is done: no error")
	}
}
