package cmdp

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp/internal/saved"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

func boxOf(t testing.TB, sh *Shape) *geometry.Box {
	t.Helper()
	lo, up := sh.Totals()
	b, err := geometry.NewBox(lo, up)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// atMost returns the target {v_i ≤ bound} within the box of possible returns.
func atMost(t testing.TB, sh *Shape, i int, bound float64) geometry.Compact {
	t.Helper()
	normal := make([]float64, sh.dim)
	normal[i] = 1
	up := make([]float64, sh.dim)
	lo := make([]float64, sh.dim)
	for j := range up {
		lo[j], up[j] = math.Inf(-1), math.Inf(1)
	}
	up[i] = bound
	side, err := geometry.NewBox(lo, up)
	if err != nil {
		t.Fatal(err)
	}
	set, err := geometry.Restrict(side, boxOf(t, sh))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func linear(t testing.TB, sh *Shape, gradient ...float64) cost.Cost {
	t.Helper()
	g, err := cost.NewLinear(gradient, boxOf(t, sh))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// newLearner returns a MOMA for a model; a nil dual means that of the task.
func newLearner(t testing.TB, m *Model, task Task, bonus Bonus, dual DualUpdate, penalty *Penalty) *MOMA {
	t.Helper()
	c := newCounts(t, m.Shape(), false, nil)
	if dual == nil {
		dual = newDual(t, m.Shape(), task, penalty)
	}
	return NewMOMA(c, newVI(t, m, true, bonus), dual)
}

func run(t testing.TB, m *Model, l Learner, seed uint64, episodes int) *Runner {
	t.Helper()
	r := NewRunner(m, l, seed, nil)
	if err := r.Run(context.Background(), episodes); err != nil {
		t.Fatal(err)
	}
	return r
}

// bandit returns a one-step model whose actions have the given returns.
func bandit(t testing.TB, returns ...[]float64) *Model {
	t.Helper()
	b := NewBuilder(ModelSpec{Horizon: 1, Dim: len(returns[0]), Start: []StartState{{0, 1}}}, 1)
	for a, r := range returns {
		addRow(t, b, Row{Step: EveryStep, Action: a, Next: []Transition{{Next: 0, Probability: 1}},
			Returns: r})
	}
	return built(t, b)
}

// bruteOptimum returns min c·v over mixtures of deterministic policies with
// v_i ≤ bound, by listing all policies and all pairs of them; exact for one
// constraint.
func bruteOptimum(m *Model, c []float64, i int, bound float64) float64 {
	var values [][]float64
	p := make(Deterministic, m.horizon)
	for h := range p {
		p[h] = make([]int32, m.states)
	}
	ev := NewEvaluator(m)
	var list func(h, s int)
	list = func(h, s int) {
		if h == m.horizon {
			v := make([]float64, m.dim)
			ev.Returns(v, p)
			values = append(values, v)
			return
		}
		nh, ns := h, s+1
		if ns == m.states {
			nh, ns = h+1, 0
		}
		for a := range max(1, m.shape.Actions(h, s)) {
			p[h][s] = int32(a)
			list(nh, ns)
		}
	}
	list(0, 0)
	best := math.Inf(1)
	dot := func(v []float64) float64 {
		x := 0.0
		for j := range c {
			x += c[j] * v[j]
		}
		return x
	}
	for _, v := range values {
		if v[i] > bound {
			continue
		}
		best = min(best, dot(v))
		for _, w := range values {
			if w[i] > bound {
				l := (bound - v[i]) / (w[i] - v[i])
				best = min(best, (1-l)*dot(v)+l*dot(w))
			}
		}
	}
	return best
}

// smallTask returns a model small enough for brute force, and the task to
// minimise coordinate 0 with a bound on coordinate 1 that binds.
func smallTask(t testing.TB, seed uint64) (m *Model, task Task, opt, bound float64) {
	t.Helper()
	for ; ; seed += 1000 {
		m = randomModel(t, seed, 3, 2, 2, false)
		least := startValue(m, optimalValues(m, []float64{0, 1})[0])
		bound = least + 0.15
		free, opt := startValue(m, optimalValues(m, []float64{1, 0})[0]), bruteOptimum(m, []float64{1, 0}, 1, bound)
		if opt > free+0.05 {
			return m, Task{Cost: linear(t, m.Shape(), 1, 0), Target: atMost(t, m.Shape(), 1, bound)}, opt, bound
		}
	}
}

func TestDoubleDualReachesTheOptimum(t *testing.T) {
	for seed := range uint64(6) {
		m, task, opt, bound := smallTask(t, seed)
		l := newLearner(t, m, task, newBonus(t, m, true, false, Practice, 40000), nil, &Penalty{Rule: PenaltyDoubling})
		r := run(t, m, l, seed, 40000)
		w, f := r.Average(), l.Findings()
		if math.Abs(w[0]-opt) > 0.05 || w[1] > bound+0.03 {
			t.Errorf("seed %d: W = %v, optimum %v with bound %v; rho %v", seed, w, opt, bound, f.Rho)
		}
		if f.Bound > opt+1e-9 || f.Bound < opt-0.1 {
			t.Errorf("seed %d: lower bound %v on the optimum %v", seed, f.Bound, opt)
		}
	}
}

func TestBoundsHoldWithTheoryBonus(t *testing.T) {
	for seed := range uint64(20) {
		m, task, opt, _ := smallTask(t, seed)
		l := newLearner(t, m, task, newBonus(t, m, seed%2 == 0, false, Theory, 3000), nil,
			&Penalty{Rule: PenaltyDoubling})
		run(t, m, l, seed, 3000)
		f := l.Findings()
		if f.BestBound > opt+1e-9 || f.Bound > f.BestBound {
			t.Errorf("seed %d: bounds %v and %v on the optimum %v", seed, f.Bound, f.BestBound, opt)
		}
		if f.Gap > 0 {
			t.Errorf("seed %d: gap %v of a target that can be met", seed, f.Gap)
		}
	}
}

func TestTargetDualsApproach(t *testing.T) {
	for seed := range uint64(4) {
		m, _, opt, bound := smallTask(t, seed)
		// The goal becomes part of the target: both coordinates bounded.
		box, err := geometry.NewBox([]float64{math.Inf(-1), math.Inf(-1)}, []float64{opt + 0.02, bound})
		if err != nil {
			t.Fatal(err)
		}
		set, err := geometry.Restrict(box, boxOf(t, m.Shape()))
		if err != nil {
			t.Fatal(err)
		}
		task := Task{Target: set}
		for name, dual := range map[string]DualUpdate{"free": nil, "projection": NewProjectionDual(set)} {
			r := run(t, m, newLearner(t, m, task, newBonus(t, m, true, false, Practice, 30000), dual, nil), seed, 30000)
			if d := task.Violation(r.Average()); d > 0.03 {
				t.Errorf("seed %d, %s: distance %v", seed, name, d)
			}
		}
	}
}

func TestUnreachableTargetIsCertified(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	for seed := range uint64(4) {
		m := randomModel(t, seed, 3, 2, 2, false)
		least := startValue(m, optimalValues(m, []float64{0, 1})[0])
		lo, _ := m.Shape().Totals()
		if least-lo[1] < 0.2 {
			continue
		}
		bound := (least + lo[1]) / 2
		gap := least - bound // the target is a half-space of the box
		task := Task{Target: atMost(t, m.Shape(), 1, bound)}
		withCost := Task{Cost: linear(t, m.Shape(), 1, 0), Target: task.Target}
		for name, l := range map[string]*MOMA{
			"free": newLearner(t, m, task, newBonus(t, m, true, false, Theory, 60000), nil, nil),
			"projection": newLearner(t, m, task, newBonus(t, m, true, false, Theory, 60000),
				NewProjectionDual(task.Target), nil),
			"double": newLearner(t, m, withCost, newBonus(t, m, true, false, Practice, 60000), nil,
				&Penalty{Rule: PenaltyDoubling}),
		} {
			run(t, m, l, seed, 60000)
			f := l.Findings()
			if f.Gap <= 0 || f.Gap > gap+1e-9 || f.GapShare < 0.5 {
				t.Errorf("seed %d, %s: gap %v, share %v: true gap %v", seed, name, f.Gap, f.GapShare, gap)
			}
			// The direction is a certificate that needs nothing of the run.
			v := startValue(m, optimalValues(m, f.GapDirection)[0])
			y := make([]float64, 2)
			task.Target.MaximizeLinear(y, f.GapDirection)
			if h := f.GapDirection[0]*y[0] + f.GapDirection[1]*y[1]; v <= h {
				t.Errorf("seed %d, %s: direction %v does not separate: value %v, support %v", seed, name,
					f.GapDirection, v, h)
			}
		}
	}
}

func TestSavedRunsContinueBitForBit(t *testing.T) {
	m, task, _, _ := smallTask(t, 3)
	confidence := NewReturnConfidence(m.Shape(), 5, 0.35)
	makeRunner := func(name string) *Runner {
		var l Learner
		switch name {
		case "double":
			l = newLearner(t, m, task, newBonus(t, m, true, false, Practice, 900), nil,
				&Penalty{Rule: PenaltyDoubling, Rho: 0.01})
		case "projection":
			l = newLearner(t, m, task, newBonus(t, m, true, false, Theory, 900), NewProjectionDual(task.Target), nil)
		case "learned returns":
			c := newCounts(t, m.Shape(), false, confidence)
			dual := newDual(t, m.Shape(), Task{Target: task.Target}, nil)
			l = NewMOMA(c, newVI(t, m, false, newBonus(t, m, true, false, Practice, 900)), dual)
		case "batches", "batches, learned returns":
			returns := m.KnownReturns()
			if name != "batches" {
				returns = nil
			}
			var err error
			if l, err = NewLearner(m.Shape(), returns, task,
				Settings{Planner: "mvp", Bonus: TheoryTimes(0.01), Confidence: Confidence{900, 0.05}}); err !=
				nil {
				t.Fatal(err)
			}
		}
		return NewRunner(m, l, 7, NewEvaluator(m))
	}
	for _, name := range []string{"double", "projection", "learned returns", "batches", "batches, learned returns"} {
		whole, parts, used := makeRunner(name), makeRunner(name), makeRunner(name)
		for _, r := range []*Runner{whole, used} {
			if err := r.Run(context.Background(), 900); err != nil {
				t.Fatal(err)
			}
		}
		for _, until := range []int{1, 2, 37, 400, 900} {
			if err := parts.Run(context.Background(), until); err != nil {
				t.Fatal(err)
			}
			data, err := parts.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			parts = makeRunner(name)
			for _, r := range []*Runner{parts, used} {
				if err := r.UnmarshalBinary(data); err != nil {
					t.Fatal(err)
				}
			}
			comparePolicies(t, m, name+", of a learner that has played", used.learner.Policy(), parts.learner.Policy())
		}
		a, errA := whole.MarshalBinary()
		b, errB := parts.MarshalBinary()
		if errA != nil || errB != nil || string(a) != string(b) {
			t.Errorf("%s: an interrupted run ends in another state", name)
		}
	}
}

// comparePolicies: got does the same as want in every state that offers something.
func comparePolicies(t testing.TB, m *Model, name string, got, want Policy) {
	t.Helper()
	for h := range m.Horizon() {
		for s := range m.States() {
			n := m.Shape().Actions(h, s)
			if n == 0 {
				continue
			}
			p, q := make([]float64, n), make([]float64, n)
			got.Distribution(p, h, s)
			want.Distribution(q, h, s)
			if !slices.Equal(p, q) {
				t.Fatalf("%s: step %d, state %d: policy %v: want %v", name, h+1, s, p, q)
			}
		}
	}
}

// TestClonesAreApart: what is done to the copy of a policy does not change the policy.
func TestClonesAreApart(t *testing.T) {
	m := randomModel(t, 3, 4, 3, 1, false)
	policy, same := randomPolicy(t, m, generator(3)), randomPolicy(t, m, generator(3))
	for _, row := range policy.Clone().probs {
		clear(row)
	}
	comparePolicies(t, m, "after its copy has changed", policy, same)
}

// told is a learner that draws all it does, and notes the returns that it is told.
type told struct {
	saved.State
	Uniform
	returns *Returns
}

func (l *told) Policy() Policy            { return l.Uniform }
func (l *told) Observe(*Trajectory)       {}
func (l *told) ObserveReturns(r *Returns) { l.returns = r }

// TestReturnsAreToldAgain: who goes on with a saved run knows the returns of the last episode.
func TestReturnsAreToldAgain(t *testing.T) {
	m, other := twoArms(t, []float64{1, 0}, []float64{0, 3}), twoArms(t, []float64{0, 2}, []float64{4, 1})
	makeRun := func() (*Runner, *told) {
		env, err := NewChanging(m, ReturnSchedule{Other: other, Drift: 9}, 1)
		if err != nil {
			t.Fatal(err)
		}
		l := &told{Uniform: Uniform{m.Shape()}}
		return NewRunner(env, l, 5, nil), l
	}
	before, l := makeRun()
	if err := before.Run(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	data, err := before.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	after, again := makeRun()
	if err := after.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	if again.returns == nil || !slices.Equal(again.returns.At(0, 0), l.returns.At(0, 0)) {
		t.Errorf("told %v: want %v", again.returns, l.returns)
	}
}

// failing is a model that fails now and then, in the middle of an episode.
type failing struct {
	*Model
	steps int
	err   error
}

func (f *failing) Start(rng *rand.Rand) int {
	f.err = nil
	return f.Model.Start(rng)
}

func (f *failing) Err() error { return f.err }

func (f *failing) Step(returns []float64, rng *rand.Rand, h, state, action int) int {
	f.steps++
	if f.steps%10 == 0 {
		f.err = errors.New("failed")
	}
	return f.Model.Step(returns, rng, h, state, action)
}

// TestFailuresLeaveNoTrace: a run whose environment fails and is asked again is the run without the failures.
func TestFailuresLeaveNoTrace(t *testing.T) {
	m := randomModel(t, 6, 4, 3, 2, true)
	learner := &told{Uniform: Uniform{m.Shape()}}
	whole, parts := NewRunner(m, learner, 5, nil), NewRunner(&failing{Model: m}, learner, 5, nil)
	if err := whole.Run(t.Context(), 40); err != nil {
		t.Fatal(err)
	}
	failures := 0
	for parts.Run(t.Context(), 40) != nil {
		failures++
	}
	if failures < 5 || !slices.Equal(whole.Average(), parts.Average()) {
		t.Errorf("mean returns %v after %d failures: want %v", parts.Average(), failures, whole.Average())
	}
}

func TestRunnersRefuseForeignStates(t *testing.T) {
	m, task, _, _ := smallTask(t, 3)
	other := randomModel(t, 77, 6, 2, 2, false)
	save := func(m *Model, task Task) []byte {
		r := run(t, m, newLearner(t, m, task, NoBonus{}, nil, &Penalty{Rule: PenaltyGiven, Rho: 1}), 1, 30)
		data, err := r.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	data := save(other, Task{Cost: linear(t, other.Shape(), 1, 0), Target: atMost(t, other.Shape(), 1, 1)})
	r := NewRunner(m, newLearner(t, m, task, NoBonus{}, nil, &Penalty{Rule: PenaltyGiven, Rho: 1}), 1, nil)
	if err := r.UnmarshalBinary(data); err == nil {
		t.Error("the state of a larger model was accepted")
	}
	data = save(m, Task{Cost: task.Cost})
	if err := r.UnmarshalBinary(data); err == nil {
		t.Error("the state of another task was accepted")
	}
	for _, data := range [][]byte{nil, []byte("x"), data[:len(data)/2]} {
		if err := r.UnmarshalBinary(data); err == nil {
			t.Error("a broken state was accepted")
		}
	}
}

func TestEpisodesDoNotAllocate(t *testing.T) {
	m, task, _, _ := smallTask(t, 3)
	for name, l := range map[string]Learner{
		"double": newLearner(t, m, task, newBonus(t, m, true, false, Theory, 9000), nil,
			&Penalty{Rule: PenaltyDoubling}),
		"projection": newLearner(t, m, task, newBonus(t, m, false, false, Theory, 9000), NewProjectionDual(task.Target),
			nil),
	} {
		r := run(t, m, l, 1, 5000) // by now every entry has been seen
		k := 5000
		if n := testing.AllocsPerRun(200, func() {
			k++
			if err := r.Run(context.Background(), k); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%s: an episode allocates %v times", name, n)
		}
	}
}

func TestRunStopsWhenAsked(t *testing.T) {
	m, task, _, _ := smallTask(t, 3)
	ctx, cancel := context.WithCancel(context.Background())
	l := &cancelAfter{Learner: newLearner(t, m, task, NoBonus{}, nil, &Penalty{Rule: PenaltyGiven, Rho: 1}), left: 10,
		cancel: cancel}
	r := NewRunner(m, l, 1, nil)
	if err := r.Run(ctx, 1000); err != context.Canceled || r.Episodes() != 10 {
		t.Errorf("stopped after %d episodes with %v: want 10", r.Episodes(), err)
	}
}

type cancelAfter struct {
	Learner
	left   int
	cancel func()
}

func (l *cancelAfter) Observe(tr *Trajectory) {
	l.Learner.Observe(tr)
	if l.left--; l.left == 0 {
		l.cancel()
	}
}

// TestNextRecord lists the episodes to record: the first ten, and then the twentieths of each decade, rounded.
func TestNextRecord(t *testing.T) {
	var want []int
	for k := 1; k < 10; k++ {
		want = append(want, k)
	}
	for j := 20; j <= 101; j++ {
		want = append(want, int(math.Round(math.Pow(10, float64(j)/20))))
	}
	for k := range 100000 { // a run may be asked from any episode on
		for want[0] <= k {
			want = want[1:]
		}
		if n := NextRecord(k); n != want[0] {
			t.Fatalf("after %d comes %d: want %d", k, n, want[0])
		}
	}
}

// TestBoundWithinTheBox wants the bounds of a run to be no less and no greater than what the box of possible returns
// allows, by hand: the return 0 is a count from 0 to 2, the return 1 one from 0 to 1, and of the latter at least 0.5 is
// wanted. So the sum of both is at least 0.5 and at most 3, and the distance of the first from 3 at least 1.
// From the middle (1, 0.5), whose distance is 2.06, the farthest is √5/2 away. The weight of the target is so
// large that what a plan proves without the box is far below, or above where the target is out of reach.
func TestBoundWithinTheBox(t *testing.T) {
	m := bandit(t, []float64{2, 0}, []float64{0, 1}, []float64{1, 1})
	sh := m.Shape()
	target, err := geometry.NewBox([]float64{0, 0.5}, []float64{2, 1})
	if err != nil {
		t.Fatal(err)
	}
	set, err := target.Bounded()
	if err != nil {
		t.Fatal(err)
	}
	far, err := cost.NewNorm(2, []float64{3, 0}, boxOf(t, sh))
	if err != nil {
		t.Fatal(err)
	}
	moved, err := cost.NewAffine([]float64{1, 1}, 2, boxOf(t, sh))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		cost            cost.Cost
		least, greatest float64
	}{{linear(t, sh, 1, 1), 0.5, 3}, {moved, 2.5, 5},
		{linear(t, sh, -1, -1), -3, 0}, {far, 1, math.Sqrt(4.25) + math.Sqrt(5)/2}} {
		task := Task{Cost: tt.cost, Target: set}
		l, err := NewLearner(sh, nil, task, Settings{Confidence: Confidence{Episodes: 1000, Failure: 0.1},
			Penalty: &Penalty{Rule: PenaltyGiven, Rho: 1e6}})
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(l.least-tt.least) > 1e-4 || l.least > tt.least {
			t.Errorf("the box allows a cost of %g: want %g, or a little less", l.least, tt.least)
		}
		run(t, m, l, 1, 50)
		if f := l.Findings(); f.Bound < l.least || f.BestBound < l.least {
			t.Errorf("bounds %g and %g: want at least %g", f.Bound, f.BestBound, l.least)
		}
		if math.Abs(l.greatest-tt.greatest) > 1e-12 {
			t.Errorf("the box allows a cost of %g: want %g", l.greatest, tt.greatest)
		}
		never := bandit(t, []float64{2, 0}, []float64{0, 0}, []float64{1, 0}) // which the learner has to find out
		run(t, never, l, 2, 900)
		if f := l.Findings(); f.BestBound != l.greatest {
			t.Errorf("a target out of reach: best bound %g: want %g", f.BestBound, l.greatest)
		}
	}
}
