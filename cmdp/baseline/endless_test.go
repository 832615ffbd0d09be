package baseline

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// An endlessExample is a model without a horizon with what is wanted of it.
type endlessExample struct {
	env     *cmdp.Endless
	task    cmdp.Task
	optimum float64
}

// twoRooms is the counterexample of Provodin, Kaptein and Pechenizkiy's code with another return: in room 0
// action 0 stays and action 1 leads to room 1 with probability 0.9; room 1 leads back. A step in room 0 returns
// 1 and costs 1. With a limit b on the cost between 1/1.9 and 1 the best return is b, since the share of the
// time in room 0 can be anything from 1/1.9 to 1.
func twoRooms(t testing.TB, discount float64) *endlessExample {
	t.Helper()
	spec := cmdp.ModelSpec{Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}, Average: discount == 1}
	limit, optimum := 0.75, -0.75
	if discount < 1 {
		// Of the discounted time, whole 1/(1−γ), at most a share of 0.75 may be spent in room 0.
		spec.Discount, limit, optimum = discount, 0.75/(1-discount), -0.75/(1-discount)
	}
	b := cmdp.NewBuilder(spec, 2)
	err := errors.Join(
		b.Add(cmdp.Row{State: 0, Action: 0, Returns: []float64{1, 1},
			Next: []cmdp.Transition{{Next: 0, Probability: 1}}}),
		b.Add(cmdp.Row{State: 0, Action: 1, Returns: []float64{1, 1},
			Next: []cmdp.Transition{{Next: 0, Probability: 0.1}, {Next: 1, Probability: 0.9}}}),
		b.Add(cmdp.Row{State: 1, Action: 0, Returns: []float64{0, 0},
			Next: []cmdp.Transition{{Next: 0, Probability: 1}}}))
	if err != nil {
		t.Fatal(err)
	}
	m := built(t, b)
	return newEndlessExample(t, m, limit, optimum)
}

// newEndlessExample wants the greatest first return with the second at most a limit.
func newEndlessExample(t testing.TB, m *cmdp.Model, limit, optimum float64) *endlessExample {
	t.Helper()
	env, err := cmdp.NewEndless(m)
	if err != nil {
		t.Fatal(err)
	}
	box := boxOfShape(t, env.Shape())
	goal := linearCost(t, []float64{-1, 0}, box)
	upper := box.Upper()
	upper[1] = limit
	target := boundedBox(t, box.Lower(), upper)
	return &endlessExample{env, cmdp.Task{Cost: goal, Target: target}, optimum}
}

func (ex *endlessExample) config(steps int, seed uint64) Config {
	return Config{Settings: cmdp.Settings{Bonus: cmdp.BonusScale{Mode: cmdp.Practice},
		Confidence: cmdp.Confidence{Episodes: steps, Failure: 0.05}},
		Shape: ex.env.Shape(), Returns: ex.env.KnownReturns(), Task: ex.task, Seed: seed,
		Endless: &Endless{Discount: ex.env.Model().Discount()}}
}

// missed is regret, if positive, and violation of the mean of a run.
func (ex *endlessExample) missed(t testing.TB, name string, steps int, seed uint64, edit ...func(*Config)) float64 {
	t.Helper()
	c := ex.config(steps, seed)
	for _, f := range edit {
		f(&c)
	}
	r := cmdp.NewEndlessRunner(ex.env, newLearner(t, name, c), seed)
	if err := r.Run(t.Context(), steps); err != nil {
		t.Fatal(err)
	}
	w := r.Average()
	return max(0, ex.task.Cost.Value(w)-ex.optimum) + ex.task.Violation(w)
}

// TestEndlessSlope wants what the learners miss of the optimum of two rooms, by regret and violation together,
// to shrink at least about like T^{−1/2}, over a hundredfold number of steps, where their papers say so, and
// for c-ucrl2 and fha at all.
func TestEndlessSlope(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	ex := twoRooms(t, 1)
	for _, tt := range []struct {
		name  string
		slope float64
	}{{"posterior", -0.45}, {"posterior-plain", -0.4}, {"psconrl", -0.4}, {"c-ucrl2", -0.2}, {"fha", -0.1}} {
		var mean [2]float64
		const seeds = 8
		for i, steps := range []int{500, 50_000} {
			for seed := range uint64(seeds) {
				mean[i] += ex.missed(t, tt.name, steps, seed) / seeds
			}
		}
		if slope := math.Log10(mean[1]/mean[0]) / 2; slope > tt.slope {
			t.Errorf("%s: %.4g is missed after 500 steps and %.4g after 50,000, a slope of %.2f: want %.2f at most",
				tt.name, mean[0], mean[1], slope, tt.slope)
		}
	}
}

// TestEndlessDiscount wants posterior to come to the optimum of a discounted problem by starts at a geometric
// time, returns to be learned or not.
func TestEndlessDiscount(t *testing.T) {
	ex := twoRooms(t, 0.9)
	r, err := exact.Solve(t.Context(), ex.env.Model(), ex.task, exact.Options{})
	if err != nil || math.Abs(r.Objective-ex.optimum) > 1e-9 {
		t.Fatalf("optimum %v, %v: want %g", r, err, ex.optimum)
	}
	unknown := func(c *Config) { c.Returns = nil }
	for _, edit := range [][]func(*Config){nil, {unknown}} {
		if x := ex.missed(t, "posterior", 20_000, 1, edit...); x > 0.02*7.5 {
			t.Errorf("%d edits: %g of 7.5 is missed after 20,000 steps", len(edit), x)
		}
	}
}

// TestPSConRLEpochs compares the epochs with those by hand, in a run that goes 0, 1, 0, 1, …: each new choice
// ends one at once, and then each is a step longer than the last. They begin at steps 0, 1, 2, 4, 7, 11, 16.
func TestPSConRLEpochs(t *testing.T) {
	ex := twoRooms(t, 1)
	l := newLearner(t, "psconrl", ex.config(100, 1)).(*psConRL)
	tr := cmdp.NewTrajectory(ex.env.Shape())
	var starts []int
	for step := range 20 {
		before := l.state.Work.Programs
		l.Policy()
		if l.state.Work.Programs > before {
			starts = append(starts, step)
		}
		tr.Steps, tr.States[0], tr.States[1], tr.Actions[0] = 1, step%2, 1-step%2, 1-step%2
		l.Observe(tr)
	}
	if want := []int{0, 1, 2, 4, 7, 11, 16}; !slices.Equal(starts, want) {
		t.Errorf("epochs begin at %v: want %v", starts, want)
	}
}

// TestPSConRLInfeasible wants actions to be drawn evenly where the model that was drawn has no policy within
// the limits.
func TestPSConRLInfeasible(t *testing.T) {
	ex := newEndlessExample(t, twoRooms(t, 1).env.Model(), 0.1, 0)
	l := newLearner(t, "psconrl", ex.config(100, 1)).(*psConRL)
	see := cmdp.NewTrajectory(ex.env.Shape())
	for range 200 { // action 1 leads nowhere
		see.Steps, see.States[0], see.States[1], see.Actions[0] = 1, 0, 0, 1
		l.Observe(see)
	}
	l.state.Planned = false
	l.Policy()
	if got := l.policy.row(0, 0); !slices.Equal(got, []float64{0.5, 0.5}) || l.state.Work.Infeasible == 0 {
		t.Errorf("actions have probabilities %v, %d programs without a solution", got, l.state.Work.Infeasible)
	}
}

// TestCUCRL2Phases compares the phases and the bonus with those by hand. With two states a phase explores for 6
// steps. The first phase plays for 0 steps, the second for 6, the third for 12: plans are made at steps 12 and
// 24, and hold until 18 and 36.
func TestCUCRL2Phases(t *testing.T) {
	ex := twoRooms(t, 1)
	c := ex.config(1000, 1)
	c.Bonus = cmdp.BonusScale{Mode: cmdp.Theory}
	l := newLearner(t, "c-ucrl2", c).(*cUCRL2)
	tr := cmdp.NewTrajectory(ex.env.Shape())
	var planned, explored []int
	for step := range 40 {
		was, explores := l.state.Work.Programs, l.x.Explore
		l.Policy()
		if l.state.Work.Programs > was {
			planned = append(planned, step)
		}
		if l.x.Explore != explores || step == 0 || step == 18 || step == 36 {
			explored = append(explored, step)
			if l.x.Explore != true {
				t.Errorf("step %d is not one of exploration", step)
			}
		}
		tr.Steps, tr.States[0], tr.States[1], tr.Actions[0] = 1, step%2, 1-step%2, 1-step%2
		l.Observe(tr)
	}
	if !slices.Equal(planned, []int{12, 24}) || !slices.Equal(explored, []int{0, 18, 36}) {
		t.Errorf("plans at %v, exploration at %v", planned, explored)
	}
	// After 40 steps: action 0 was never taken; action 1 and that of room 1 20 times each. Signals: 1 − return,
	// and the cost. L = ln(2·2·3·1000/0.05)/2.
	m, err := l.estimated()
	if err != nil {
		t.Fatal(err)
	}
	b := math.Sqrt(math.Log(2*2*3*1000/0.05)/2) / math.Sqrt(20)
	want := []float64{0 - 1, 1 + 1, 0 - b, 1 + b, 1 - b, 0 + b}
	if k := m.Kernel(0); !floats.EqualApprox(k.Returns, want, 1e-12) || !slices.Equal(k.Next, []int32{0, 1, 0}) {
		t.Errorf("the model has returns %v and successors %v: want %v and 0, 1, 0", k.Returns, k.Next, want)
	}
}

// TestFHAInterval wants the plan of an interval, once the model is known, to be the best of H steps from the
// state that the run is in, with H times the limits.
func TestFHAInterval(t *testing.T) {
	ex := twoRooms(t, 1)
	c := ex.config(1000, 1)
	c.Bonus = cmdp.TheoryTimes(0)
	l := newLearner(t, "fha", c).(*fha)
	tr := cmdp.NewTrajectory(ex.env.Shape())
	step := func(s, a, next int) {
		tr.Steps, tr.States[0], tr.States[1], tr.Actions[0] = 1, s, next, a
		l.Policy()
		l.Observe(tr)
	}
	// 0 –a0→ 0, 0 –a1→ 1 in 9 of 10 times, 1 → 0, for five intervals of 6 steps, the last step into state 1.
	for range 9 {
		step(0, 1, 1)
		step(1, 0, 0)
	}
	for range 11 {
		step(0, 0, 0)
	}
	step(0, 1, 0)
	if l.x.H != 0 || l.horizon != 6 {
		t.Fatalf("step %d of an interval of %d: want the beginning of one of 6", l.x.H, l.horizon)
	}
	l.x.At = 1
	p := l.Policy()
	spec := cmdp.ModelSpec{Horizon: 6, Dim: 2, Start: []cmdp.StartState{{State: 1, Probability: 1}},
		Kernels: []cmdp.Kernel{*ex.env.Model().Kernel(0)}}
	m, err := cmdp.NewModel(spec)
	if err != nil {
		t.Fatal(err)
	}
	upper := boxOf(t, m).Upper()
	upper[1] = 6 * 0.75
	set, _ := geometry.NewBox(boxOf(t, m).Lower(), upper)
	target, err := set.Bounded()
	if err != nil {
		t.Fatal(err)
	}
	best := solve(t, m, cmdp.Task{Cost: linearCost(t, []float64{-1, 0}, boxOf(t, m)), Target: target})
	v := make([]float64, 2)
	cmdp.NewEvaluator(m).Returns(v, p)
	if !floats.EqualApprox(v, best.Returns, 1e-6) {
		t.Errorf("the plan of the interval returns %v: want %v", v, best.Returns)
	}
}

// oneWay begins in a hall that leads to one of two rooms for good. In room 1 a step returns 1 and costs 1, or
// neither; in room 2 it returns 0.4 and costs nothing. A plan from all states that the run has met may make up in
// room 2 for what room 1 costs, one from room 1 alone may not.
func oneWay(t testing.TB) *endlessExample {
	t.Helper()
	spec := cmdp.ModelSpec{Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}, Average: true}
	b := cmdp.NewBuilder(spec, 3)
	to := func(state int) []cmdp.Transition { return []cmdp.Transition{{Next: state, Probability: 1}} }
	for _, row := range []cmdp.Row{
		{State: 0, Action: 0, Returns: []float64{0, 0}, Next: to(1)},
		{State: 0, Action: 1, Returns: []float64{0, 0}, Next: to(2)},
		{State: 1, Action: 0, Returns: []float64{1, 1}, Next: to(1)},
		{State: 1, Action: 1, Returns: []float64{0, 0}, Next: to(1)},
		{State: 2, Action: 0, Returns: []float64{0.4, 0}, Next: to(2)},
	} {
		addRow(t, b, row)
	}
	return newEndlessExample(t, built(t, b), 0.5, -0.7)
}

// TestEndlessSavedLearners wants endless learners that are saved and restored at any step, into new ones or into
// others that have gone another way, to go on bit for bit, also where the run cannot come back to all states that it
// has met.
func TestEndlessSavedLearners(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 14))
	for _, a := range Algorithms() {
		if !a.Endless {
			continue
		}
		for trial := range 8 {
			ex := twoRooms(t, 1)
			if trial%2 == 1 {
				ex = oneWay(t)
			}
			c := ex.config(400, uint64(trial))
			if a.UsesSupport && trial%2 == 1 {
				c.Knowledge.Support = SupportOf(ex.env.Model())
			}
			saved := 1 + rng.IntN(200)
			one, other := cmdp.NewEndlessRunner(ex.env, newLearner(t, a.Name, c), 2),
				cmdp.NewEndlessRunner(ex.env, newLearner(t, a.Name, c), 3)
			before := trial / 2 % 2 * rng.IntN(100)
			if err := errors.Join(one.Run(t.Context(), saved), other.Run(t.Context(), before)); err != nil {
				t.Fatal(a.Name, err)
			}
			data, err := one.MarshalBinary()
			if err == nil {
				err = other.UnmarshalBinary(data)
			}
			if err != nil {
				t.Fatal(a.Name, err)
			}
			for _, end := range []int{saved + 20, saved + 150} {
				if err := errors.Join(one.Run(t.Context(), end), other.Run(t.Context(), end)); err != nil {
					t.Fatal(a.Name, err)
				}
				wantSameState(t, fmt.Sprintf("%s, saved at step %d, trial %d", a.Name, saved, trial), one, other)
			}
			if _, ok := newLearner(t, a.Name, c).(encoding.BinaryMarshaler); !ok {
				t.Errorf("%s cannot be saved", a.Name)
			}
		}
	}
}

// TestEndlessPrior wants a prior to be taken by all endless learners.
func TestEndlessPrior(t *testing.T) {
	ex := twoRooms(t, 1)
	prior := newCounts(t, ex.env.Shape(), false)
	if err := errors.Join(prior.Add(0, 0, 0, 0, 7), prior.Add(0, 0, 1, 1, 9)); err != nil {
		t.Fatal(err)
	}
	for _, a := range Algorithms() {
		if !a.Endless {
			continue
		}
		c := ex.config(100, 1)
		c.Prior = prior
		l := newLearner(t, a.Name, c)
		if n := l.(interface{ Counts() *cmdp.Counts }).Counts().Visits(0, 0, 1); n != 9 {
			t.Errorf("%s counts %d visits of a choice: want 9", a.Name, n)
		}
	}
}

// TestEndlessRefusals wants learners that play episodes to refuse endless runs and the other way round, and a
// bad discount to be refused.
func TestEndlessRefusals(t *testing.T) {
	ex, discounted := twoRooms(t, 1), twoRooms(t, 0.9)
	for _, a := range Algorithms() {
		_, err := New(a.Name, ex.config(100, 1))
		if a.Endless != (err == nil) || err != nil && !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s, endless %v: %v", a.Name, a.Endless, err)
		}
		if _, err := New(a.Name, discounted.config(100, 1)); (a.Endless && !a.NoEpisodes) != (err == nil) {
			t.Errorf("%s with a discount: %v", a.Name, err)
		}
	}
	c := ex.config(100, 1)
	for _, gamma := range []float64{0, -1, 1.5, math.NaN(), math.Inf(1)} {
		c.Endless = &Endless{Discount: gamma}
		if _, err := New("posterior", c); err == nil {
			t.Errorf("discount %g was taken", gamma)
		}
	}
}

// threeRooms has a room 0 that is best to stay in, a room 1 from which one may go back, and a room 2 that a bad
// action of room 0 leads to. All outcomes are certain.
func threeRooms(t *testing.T) *endlessExample {
	t.Helper()
	spec := cmdp.ModelSpec{Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}, Average: true}
	b := cmdp.NewBuilder(spec, 3)
	add := func(s, a, next int, r float64) {
		addRow(t, b, cmdp.Row{State: s, Action: a, Returns: []float64{r, 0},
			Next: []cmdp.Transition{{Next: next, Probability: 1}}})
	}
	add(0, 0, 0, 1)
	add(0, 1, 1, 0.5)
	add(0, 2, 2, 0)
	add(1, 0, 0, 0)
	add(1, 1, 1, 0)
	add(2, 0, 0, 0)
	add(2, 1, 2, 0)
	m := built(t, b)
	return newEndlessExample(t, m, 1, -1)
}

// TestEndlessCourse wants a plan to say what to do in all states that the run has met, though it never comes there, and
// actions to be drawn evenly where it has not been. The model is told, so that all draws are the same.
func TestEndlessCourse(t *testing.T) {
	ex := threeRooms(t)
	for _, name := range []string{"psconrl", "posterior"} {
		c := ex.config(100, 1)
		c.Knowledge.Support = SupportOf(ex.env.Model())
		l := newLearner(t, name, c)
		tr := cmdp.NewTrajectory(ex.env.Shape())
		for _, s := range [][3]int{{0, 1, 1}, {1, 0, 0}, {0, 0, 0}, {0, 0, 0}} {
			l.Policy()
			tr.Steps, tr.States[0], tr.Actions[0], tr.States[1] = 1, s[0], s[1], s[2]
			l.Observe(tr)
		}
		policy, p := l.Policy(), make([]float64, 3)
		for s, want := range [][]float64{{1, 0, 0}, {1, 0}, {0.5, 0.5}} {
			policy.Distribution(p[:len(want)], 0, s)
			if !floats.EqualApprox(p[:len(want)], want, 1e-9) {
				t.Errorf("%s: room %d has the actions %g: want %g", name, s, p[:len(want)], want)
			}
		}
	}
}

// TestEndlessMixture wants one of several policies to be played with its weight in the mixture. Whoever leaves
// room 0 does not come back, and a limit of 0.7 allows to stay in 7 of 10 runs.
func TestEndlessMixture(t *testing.T) {
	b := cmdp.NewBuilder(cmdp.ModelSpec{Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}, Average: true}, 2)
	for _, row := range []cmdp.Row{
		{State: 0, Action: 0, Returns: []float64{1, 1}, Next: []cmdp.Transition{{Next: 0, Probability: 1}}},
		{State: 0, Action: 1, Returns: []float64{0, 0}, Next: []cmdp.Transition{{Next: 1, Probability: 1}}},
		{State: 1, Action: 0, Returns: []float64{0, 0}, Next: []cmdp.Transition{{Next: 1, Probability: 1}}},
	} {
		addRow(t, b, row)
	}
	m := built(t, b)
	ex := newEndlessExample(t, m, 0.7, -0.7)
	rng := rand.New(rand.NewPCG(30, 9))
	stay, p := 0.0, make([]float64, 2)
	const trials = 400
	for range trials {
		r, policy, err := planEndless(t.Context(), m, ex.task, exact.Options{Workers: 1}, rng)
		if err != nil || math.Abs(r.Objective+0.7) > 1e-6 {
			t.Fatalf("%v, %v: want an objective of −0.7", r, err)
		}
		policy.Distribution(p, 0, 0)
		if p[0] != 0 && p[0] != 1 {
			t.Fatalf("room 0 has the actions %g: want one of two policies", p)
		}
		stay += p[0] / trials
	}
	if math.Abs(stay-0.7) > 4*math.Sqrt(0.21/trials) {
		t.Errorf("a share of %g of the plans stays: want 0.7", stay)
	}
}

// TestCUCRL2Estimated compares the rest of what c-ucrl2 plans on with numbers by hand: a bonus is at most 1, a plan
// starts in the state that the run is in, and signals may be below 0 by a bonus.
func TestCUCRL2Estimated(t *testing.T) {
	ex := twoRooms(t, 1)
	c := ex.config(1000, 1)
	c.Bonus = cmdp.BonusScale{Mode: cmdp.Theory}
	l := newLearner(t, "c-ucrl2", c).(*cUCRL2)
	tr := cmdp.NewTrajectory(ex.env.Shape())
	for _, s := range [][3]int{{0, 1, 1}, {1, 0, 0}, {0, 0, 0}, {0, 1, 1}} {
		l.Policy()
		tr.Steps, tr.States[0], tr.Actions[0], tr.States[1] = 1, s[0], s[1], s[2]
		l.Observe(tr)
	}
	m, err := l.estimated()
	if err != nil {
		t.Fatal(err)
	}
	// b = √(ln(2·2·3·1000/0.05)/2/n) is more than 1 for one visit and for two. Signals are 1 − return, and the cost.
	if got, want := m.Kernel(0).Returns, []float64{-1, 2, -1, 2, 0, 1}; !floats.EqualApprox(got, want, 1e-12) {
		t.Errorf("the model has returns %g: want %g", got, want)
	}
	if at := m.StartStates(); len(at) != 1 || at[0].State != 1 {
		t.Errorf("the plan starts in %v: want state 1, where the run is", at)
	}
	for _, p := range []struct {
		signals []float64
		inside  bool
	}{{[]float64{-1, 0.75}, true}, {[]float64{-1, -1}, true}, {[]float64{0, 0.76}, false}} {
		if geometry.Contains(l.task.Target, p.signals, 1e-9) != p.inside {
			t.Errorf("signals %g within the limits: want %v", p.signals, p.inside)
		}
	}
}

// TestFHASteps follows fha through three intervals: it plans once in each, where the run then is, and plays the plan's
// first step first.
func TestFHASteps(t *testing.T) {
	ex := twoRooms(t, 1)
	c := ex.config(1000, 1)
	c.Bonus = cmdp.TheoryTimes(0)
	c.Knowledge.Support = SupportOf(ex.env.Model())
	l := newLearner(t, "fha", c).(*fha)
	tr := cmdp.NewTrajectory(ex.env.Shape())
	rng := rand.New(rand.NewPCG(30, 10))
	at, got, want := 0, make([]float64, 2), make([]float64, 2)
	for step := range 180 {
		p := l.Policy()
		if n := l.state.Work.Programs; n != step/6+1 {
			t.Fatalf("%d plans at step %d: want one for each 6 steps", n, step)
		}
		if st := l.start; step >= 6 && step%6 == 0 && (len(st) != 1 || st[0].State != at) {
			t.Fatalf("the plan of step %d starts in %v: want state %d, where the run is", step, st, at)
		}
		for s, n := range []int{2, 1} {
			p.Distribution(got[:n], 0, s)
			l.lpLearner.Policy().Distribution(want[:n], step%6, s)
			if !slices.Equal(got[:n], want[:n]) {
				t.Fatalf("step %d, state %d: actions %g: want %g, those of the plan", step, s, got[:n], want[:n])
			}
		}
		p.Distribution(got[:2-at], 0, at)
		a := p.Choose(rng, 0, at)
		if got[a] == 0 {
			t.Fatalf("step %d: an action is played that has the probability 0", step)
		}
		tr.Steps, tr.States[0], tr.Actions[0] = 1, at, a
		at = ex.env.Step(tr.Return(0), rng, 0, at, a)
		tr.States[1] = at
		l.Observe(tr)
	}
}

// TestFHAPublished wants the radius of the published experiments to be 0.1/√n, times the scale.
func TestFHAPublished(t *testing.T) {
	ex := twoRooms(t, 1)
	for _, factor := range []float64{1, 3} {
		c := ex.config(1000, 1)
		c.Bonus = cmdp.BonusScale{Mode: cmdp.Published, Factor: factor}
		l := newLearner(t, "fha", c).(*fha)
		if got, want := l.sweep.radius(0.3, 16), 0.025*factor; math.Abs(got-want) > 1e-12 {
			t.Errorf("radius %g of 16 visits: want %g", got, want)
		}
	}
}

// TestEndlessDiscountStart wants a discounted run to be planned for where it starts anew, not for where it has been.
// The start is in a room that is left at once for one of two, of which the good one may be chosen half of the time.
func TestEndlessDiscountStart(t *testing.T) {
	b := cmdp.NewBuilder(cmdp.ModelSpec{Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}, Discount: 0.5}, 3)
	for _, row := range []cmdp.Row{
		{State: 0, Action: 0, Returns: []float64{0, 0}, Next: []cmdp.Transition{{Next: 1, Probability: 1}}},
		{State: 0, Action: 1, Returns: []float64{0, 0}, Next: []cmdp.Transition{{Next: 2, Probability: 1}}},
		{State: 1, Action: 0, Returns: []float64{1, 1}, Next: []cmdp.Transition{{Next: 1, Probability: 1}}},
		{State: 2, Action: 0, Returns: []float64{0, 0}, Next: []cmdp.Transition{{Next: 2, Probability: 1}}},
	} {
		addRow(t, b, row)
	}
	m := built(t, b)
	ex := newEndlessExample(t, m, 0.5, -0.5) // who chooses the good one has 0.5 + 0.25 + … = 1
	c := ex.config(100, 1)
	c.Knowledge.Support = SupportOf(m)
	l := newLearner(t, "posterior-plain", c)
	tr := cmdp.NewTrajectory(ex.env.Shape())
	for _, s := range [][3]int{{0, 0, 1}, {1, 0, 1}, {0, 1, 2}, {2, 0, 2}} {
		l.Policy()
		tr.Steps, tr.States[0], tr.Actions[0], tr.States[1] = 1, s[0], s[1], s[2]
		copy(tr.Return(0), []float64{2 * float64(s[0]%2), 2 * float64(s[0]%2)})
		l.Observe(tr)
	}
	l.(*posterior).state.Planned = false
	p := make([]float64, 2)
	l.Policy().Distribution(p, 0, 0)
	if math.Abs(p[0]-0.5) > 0.01 {
		t.Errorf("the good room is chosen with probability %g: want 0.5", p[0])
	}
}

// TestEndlessOptions has the gaps of plans after 3 and after 399 steps by hand: a hundredth of 1/√(t+1), and 1/√(t+1)
// where classes are joined, but no more than 0.1.
func TestEndlessOptions(t *testing.T) {
	for steps, want := range map[int][2]float64{3: {0.005, 0.1}, 399: {0.0005, 0.05}} {
		for _, share := range []float64{1, 0.25} {
			if o := endlessOptions(steps, share); math.Abs(o.Gap-share*want[0]) > 1e-15 ||
				math.Abs(o.JoinGap-share*want[1]) > 1e-15 {
				t.Errorf("after %d steps gaps %g and %g: want %v times %g", steps, o.Gap, o.JoinGap, share, want)
			}
		}
	}
}

// TestCUCRL2Infeasible wants actions to be drawn evenly where no policy keeps the limits, whatever was played before.
func TestCUCRL2Infeasible(t *testing.T) {
	ex := newEndlessExample(t, twoRooms(t, 1).env.Model(), 0.1, 0)
	l := newLearner(t, "c-ucrl2", ex.config(100, 1)).(*cUCRL2)
	l.policy.row(0, 0)[0], l.policy.row(0, 0)[1] = 1, 0
	l.x.Explore = false
	l.Policy()
	if got := l.policy.row(0, 0); !slices.Equal(got, []float64{0.5, 0.5}) || l.state.Work.Infeasible != 1 {
		t.Errorf("actions have probabilities %v, %d programs without a solution", got, l.state.Work.Infeasible)
	}
}
