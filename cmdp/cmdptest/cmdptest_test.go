package cmdptest

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/monitor"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

func model(t testing.TB) *cmdp.Model {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 5, Dim: 2,
		Start: []cmdp.StartState{{State: 0, Probability: 0.7}, {State: 1, Probability: 0.3}}}, 3)
	for _, row := range []cmdp.Row{
		{State: 0, Action: 0, Next: []cmdp.Transition{{Next: 0, Probability: 0.5}, {Next: 1, Probability: 0.5}},
			Returns: []float64{0.2, 1}},
		{State: 0, Action: 1, Next: []cmdp.Transition{{Next: 1, Probability: 0.8}, {Next: 2, Probability: 0.2}},
			Returns: []float64{-0.3, 0}},
		{State: 1, Action: 0, Next: []cmdp.Transition{{Next: 0, Probability: 0.4, Returns: []float64{1, 0}},
			{Next: 2, Probability: 0.6, Returns: []float64{0, 0.5}}}},
		{State: 1, Action: 1, Next: []cmdp.Transition{{Next: 1, Probability: 1}}, Returns: []float64{0.4, 0.4}},
	} {
		if err := b.Add(row); err != nil {
			t.Fatal(err)
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func task(t testing.TB, sh *cmdp.Shape) cmdp.Task {
	t.Helper()
	lo, up := sh.Totals()
	box, err := geometry.NewBox(lo, up)
	if err != nil {
		t.Fatal(err)
	}
	g, err := cost.NewSquared([]float64{0.5, 0.5}, []float64{1, 1}, box)
	if err != nil {
		t.Fatal(err)
	}
	ball, err := geometry.NewBall([]float64{1, 1}, 0.8)
	if err != nil {
		t.Fatal(err)
	}
	set, err := geometry.Restrict(ball, box)
	if err != nil {
		t.Fatal(err)
	}
	return cmdp.Task{Cost: g, Target: set}
}

func settings() cmdp.Settings {
	return cmdp.Settings{Bonus: cmdp.BonusScale{Mode: cmdp.Practice, Factor: 1},
		Confidence: cmdp.Confidence{Episodes: 500, Failure: 0.05}}
}

func newMOMA(t testing.TB, m *cmdp.Model) func() (cmdp.Learner, error) {
	return func() (cmdp.Learner, error) {
		return cmdp.NewLearner(m.Shape(), m.KnownReturns(), task(t, m.Shape()), settings())
	}
}

func planner(t testing.TB, m *cmdp.Model) cmdp.OptimisticPlanner {
	t.Helper()
	bonus, err := cmdp.NewBonus(m.Shape(), true, false, settings().Bonus, settings().Confidence)
	if err != nil {
		t.Fatal(err)
	}
	p, err := cmdp.NewOptimisticVI(m.Shape(), m.KnownReturns(), bonus)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func counts(t testing.TB, m *cmdp.Model) *cmdp.Counts {
	t.Helper()
	c, err := cmdp.NewCounts(m.Shape(), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestOwnImplementationsObeyTheLaws(t *testing.T) {
	m := model(t)
	if err := CheckEnvironment(m); err != nil {
		t.Error(err)
	}
	if err := CheckPlanner(planner(t, m), m, counts(t, m)); err != nil {
		t.Error(err)
	}
	if err := CheckLearner(newMOMA(t, m), m); err != nil {
		t.Error(err)
	}
	for name, fresh := range map[string]func() cmdp.DualUpdate{
		"projection": func() cmdp.DualUpdate { return cmdp.NewProjectionDual(task(t, m.Shape()).Target) },
		"double":     func() cmdp.DualUpdate { return termsDual(t, m, task(t, m.Shape())) },
		"free":       func() cmdp.DualUpdate { return termsDual(t, m, cmdp.Task{Target: task(t, m.Shape()).Target}) },
	} {
		if err := CheckDualUpdate(fresh, m.Shape()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func termsDual(t testing.TB, m *cmdp.Model, task cmdp.Task) *cmdp.TermsDual {
	t.Helper()
	u, err := cmdp.NewTermsDual(m.Shape(), task, &cmdp.Penalty{Rule: cmdp.PenaltyDoubling})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// dies fails the test unless err names the law.
func dies(t *testing.T, mutant string, err error, law string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), ": "+law+": ") {
		t.Errorf("%s: %v: want a broken law %q", mutant, err, law)
	}
}

// badEnvironment is a model with something wrong in it.
type badEnvironment struct {
	*cmdp.Model
	shape func() *cmdp.Shape
	start func(rng *rand.Rand) int
	step  func(r []float64, rng *rand.Rand, h, s, a int) int
}

func (e badEnvironment) Shape() *cmdp.Shape {
	if e.shape != nil {
		return e.shape()
	}
	return e.Model.Shape()
}

func (e badEnvironment) Start(rng *rand.Rand) int {
	if e.start != nil {
		return e.start(rng)
	}
	return e.Model.Start(rng)
}

func (e badEnvironment) Step(r []float64, rng *rand.Rand, h, s, a int) int {
	if e.step != nil {
		return e.step(r, rng, h, s, a)
	}
	return e.Model.Step(r, rng, h, s, a)
}

func TestWrongEnvironmentsDie(t *testing.T) {
	m := model(t)
	other, err := cmdp.NewShape(cmdp.ShapeSpec{Horizon: 6, Dim: 2, Start: m.StartStates(),
		First:   [][]int32{{0, 2, 4, 4}},
		Returns: []cmdp.Interval{{Lower: []float64{-1, -1}, Upper: []float64{1, 1}}}})
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	own := rand.New(rand.NewPCG(1, 2))
	type wrong = badEnvironment
	for name, c := range map[string]struct {
		env wrong
		law string
	}{
		"no shape": {wrong{shape: func() *cmdp.Shape { return nil }}, "shape"},
		"changing shape": {wrong{shape: func() *cmdp.Shape {
			calls++
			return []*cmdp.Shape{m.Shape(), other}[calls%2]
		}}, "shape"},
		"start outside": {wrong{start: func(*rand.Rand) int { return 3 }}, "start"},
		"start fixed":   {wrong{start: func(*rand.Rand) int { return 0 }}, "start"},
		"start elsewhere": {wrong{start: func(rng *rand.Rand) int {
			if rng.IntN(100) == 0 {
				return 2
			}
			return m.Start(rng)
		}}, "start"},
		"successor outside": {wrong{step: func(r []float64, rng *rand.Rand, h, s,
			a int) int {
			m.Step(r, rng, h, s, a)
			return -1
		}}, "successor"},
		"adds to returns": {wrong{step: func(r []float64, rng *rand.Rand, h, s, a int) int { r[0]++; return 0 }},
			"returns"},
		"forgets a coordinate": {wrong{step: func(r []float64, rng *rand.Rand, h, s, a int) int {
			x := r[1]
			n := m.Step(r, rng, h, s, a)
			r[1] = x
			return n
		}}, "returns"},
		"out of bounds": {wrong{step: func(r []float64, rng *rand.Rand, h, s, a int) int {
			n := m.Step(r, rng, h, s, a)
			r[1] = 1.5
			return n
		}}, "bounds"},
		"own randomness": {wrong{step: func(r []float64, rng *rand.Rand, h, s,
			a int) int {
			return m.Step(r, own, h, s, a)
		}}, "randomness"},
	} {
		if name == "own randomness" && raceEnabled {
			continue // the race detector would find it first
		}
		c.env.Model = m
		dies(t, name, CheckEnvironment(c.env), c.law)
	}
}

func TestBrokenPromiseDies(t *testing.T) {
	m := model(t)
	first := [][]int32{{0, 2, 4, 4}}
	promised, err := cmdp.NewShape(cmdp.ShapeSpec{Horizon: 5, Dim: 2, Start: m.StartStates(), First: first,
		Returns:    []cmdp.Interval{{Lower: []float64{-1, 0}, Upper: []float64{1, 1}}},
		ReturnToGo: &cmdp.Interval{Lower: []float64{-5, 0}, Upper: []float64{5, 1}}})
	if err != nil {
		t.Fatal(err)
	}
	dies(t, "promise", CheckEnvironment(badEnvironment{Model: m, shape: func() *cmdp.Shape { return promised }}),
		"return to go")
}

// badDual is a dual update with something wrong in it.
type badDual struct {
	dir     []float64
	observe func(d *badDual, value []float64) cmdp.Evidence
}

func (d *badDual) Direction() []float64 { return d.dir }

func (d *badDual) Observe(value []float64, _ float64) cmdp.Evidence {
	if d.observe == nil {
		return cmdp.Evidence{Gap: math.Inf(-1), Optimum: math.Inf(-1)}
	}
	return d.observe(d, value)
}

// forgetful is a dual update whose saved state is empty.
type forgetful struct{ *cmdp.TermsDual }

func (forgetful) MarshalBinary() ([]byte, error) { return nil, nil }
func (forgetful) UnmarshalBinary([]byte) error   { return nil }

// oneWay can be saved, but not restored.
type oneWay struct{ badDual }

func (*oneWay) MarshalBinary() ([]byte, error) { return nil, nil }

func TestWrongDualUpdatesDie(t *testing.T) {
	m := model(t)
	made := 0.0
	for name, c := range map[string]struct {
		fresh func() cmdp.DualUpdate
		law   string
	}{
		"short":    {func() cmdp.DualUpdate { return &badDual{dir: []float64{1}} }, "direction"},
		"infinite": {func() cmdp.DualUpdate { return &badDual{dir: []float64{1, math.Inf(1)}} }, "direction"},
		"changes the value": {func() cmdp.DualUpdate {
			return &badDual{dir: []float64{1, 0}, observe: func(_ *badDual,
				v []float64) cmdp.Evidence {
				v[0] = 0
				return cmdp.Evidence{}
			}}
		}, "value"},
		"keeps the value": {func() cmdp.DualUpdate {
			return &badDual{dir: []float64{1, 0}, observe: func(d *badDual,
				v []float64) cmdp.Evidence {
				d.dir = v
				return cmdp.Evidence{}
			}}
		}, "value"},
		"NaN evidence": {func() cmdp.DualUpdate {
			return &badDual{dir: []float64{1, 0}, observe: func(*badDual,
				[]float64) cmdp.Evidence {
				return cmdp.Evidence{Gap: math.NaN()}
			}}
		}, "evidence"},
		"not repeatable": {func() cmdp.DualUpdate { made++; return &badDual{dir: []float64{made, 0}} }, "repeatable"},
		"forgetful":      {func() cmdp.DualUpdate { return forgetful{termsDual(t, m, task(t, m.Shape()))} }, "saving"},
		"one way":        {func() cmdp.DualUpdate { return &oneWay{badDual{dir: []float64{1, 0}}} }, "saving"},
	} {
		dies(t, name, CheckDualUpdate(c.fresh, m.Shape()), c.law)
	}
}

// badPlanner spoils the plans of a good one.
type badPlanner struct {
	cmdp.OptimisticPlanner
	spoil func(p *cmdp.Plan, dir []float64)
}

func (b badPlanner) Plan(dst *cmdp.Plan, c *cmdp.Counts, dir []float64) {
	b.OptimisticPlanner.Plan(dst, c, dir)
	b.spoil(dst, dir)
}

func TestWrongPlannersDie(t *testing.T) {
	m := model(t)
	calls := 0.0
	for name, c := range map[string]struct {
		spoil func(p *cmdp.Plan, dir []float64)
		law   string
	}{
		"crossed":           {func(p *cmdp.Plan, _ []float64) { p.Low, p.Up = p.Up+1, p.Low }, "bounds"},
		"changes direction": {func(_ *cmdp.Plan, dir []float64) { dir[0] = 0 }, "direction"},
		"remembers":         {func(p *cmdp.Plan, _ []float64) { calls++; p.Low -= calls }, "fresh plan"},
		"constant":          {func(p *cmdp.Plan, _ []float64) { p.Low-- }, "homogeneity"},
		"clipped": {func(p *cmdp.Plan, _ []float64) { p.Low = max(p.Low, -0.5); p.Up = max(p.Up, p.Low) },
			"homogeneity"},
		"zero": {func(p *cmdp.Plan, dir []float64) {
			if dir[0] == 0 && dir[1] == 0 {
				p.Up = 1
			}
		}, "zero direction"},
	} {
		dies(t, name, CheckPlanner(badPlanner{planner(t, m), c.spoil}, m, counts(t, m)), c.law)
	}
}

// badLearner plays a policy and does something in Observe.
type badLearner struct {
	policy  cmdp.Policy
	observe func(tr *cmdp.Trajectory)
}

func (l badLearner) Policy() cmdp.Policy { return l.policy }

func (l badLearner) Observe(tr *cmdp.Trajectory) {
	if l.observe != nil {
		l.observe(tr)
	}
}

// skewed is a policy whose distribution does not sum to one; offside chooses
// actions that do not exist.
type skewed struct{ cmdp.Uniform }

func (skewed) Distribution(dst []float64, _, _ int) {
	for a := range dst {
		dst[a] = 1
	}
}

type offside struct{ cmdp.Uniform }

func (offside) Choose(*rand.Rand, int, int) int { return 7 }

type unlucky struct{ cmdp.Uniform }

func (unlucky) Distribution(dst []float64, _, _ int) { clear(dst); dst[0] = 1 }

type nameless struct{ badLearner }

func (nameless) MarshalBinary() ([]byte, error) { return nil, nil }

func TestWrongLearnersDie(t *testing.T) {
	m := model(t)
	u := cmdp.Uniform{Shape: m.Shape()}
	made := 0
	for name, c := range map[string]struct {
		fresh func() (cmdp.Learner, error)
		law   string
	}{
		"skewed": {func() (cmdp.Learner, error) { return badLearner{policy: skewed{u}}, nil },
			"distribution"},
		"offside": {func() (cmdp.Learner, error) { return badLearner{policy: offside{u}}, nil },
			"choice"},
		"plays what it says not": {func() (cmdp.Learner, error) { return badLearner{policy: unlucky{u}}, nil },
			"choice"},
		"changes the trajectory": {func() (cmdp.Learner,
			error) {
			return badLearner{u, func(tr *cmdp.Trajectory) { tr.Total[0]++ }}, nil
		}, "trajectory"},
		"differs from run to run": {func() (cmdp.Learner, error) {
			made++
			return badLearner{policy: cmdp.Deterministic{{int32(made % 2), int32(made % 2), 0}}}, nil
		}, "repeatable"},
		"cannot be restored": {func() (cmdp.Learner, error) { return nameless{badLearner{policy: u}}, nil }, "saving"},
	} {
		dies(t, name, CheckLearner(c.fresh, m), c.law)
	}
}

// A badMonitor breaks one law.
type badMonitor struct {
	*monitor.VisitCount
	law   string
	calls *atomic.Int64
}

func (b badMonitor) Range(lower, upper []float64) {
	if b.VisitCount.Range(lower, upper); b.law == "range" {
		upper[0] = 1
	}
}

func (b badMonitor) Step(dst []float64, memory int, t monitor.Transition) int {
	n := b.calls.Add(1)
	b.VisitCount.Step(dst, memory, t)
	switch b.law {
	case "rewards":
		if t.State != 0 {
			dst[0] = math.NaN()
		}
	case "returns":
		t.Returns[0] = 7
	case "repeatable":
		return int(n % 3)
	case "value":
		return memory + 1
	}
	return memory
}

func (b badMonitor) Value(memory int) string {
	if b.law == "value" {
		memory %= 3
	}
	return strconv.Itoa(memory)
}

func TestCheckMonitorFindsWrongOnes(t *testing.T) {
	m := model(t)
	good := monitor.VisitCount{Title: "visits", States: []bool{true, false, true}}
	if err := CheckMonitor(m, &good); err != nil {
		t.Errorf("a monitor that keeps all laws: %v", err)
	}
	for _, law := range []string{"range", "rewards", "returns", "repeatable", "value"} {
		err := CheckMonitor(m, badMonitor{&good, law, new(atomic.Int64)})
		if err == nil || !strings.Contains(err.Error(), law+":") {
			t.Errorf("a monitor that breaks %q: %v", law, err)
		}
	}
}
