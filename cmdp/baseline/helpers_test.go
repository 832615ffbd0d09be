package baseline

import (
	"bytes"
	"context"
	"encoding"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// An example is a small model with what is wanted of it.
type example struct {
	model   *cmdp.Model
	task    cmdp.Task
	optimum float64
	know    Knowledge
}

// modelSpec says which random models to draw.
type modelSpec struct {
	states, actions, horizon, dim int
	stationary, rests             bool
}

// randomModel draws a model with full support, so that no state is out of reach,
// and returns in intervals of different places and widths. With rests the last state offers nothing, or, where
// steps differ, nothing at every second step.
func randomModel(t testing.TB, seed uint64, sp modelSpec) *cmdp.Model {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 77))
	start := []cmdp.StartState{{State: 0, Probability: 1}}
	if seed%3 == 2 {
		start = []cmdp.StartState{{State: 1, Probability: 0.75}, {State: 0, Probability: 0.25}}
	}
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: sp.horizon, Dim: sp.dim, Start: start}, sp.states)
	steps := sp.horizon
	if sp.stationary {
		steps = 1
	}
	for h := range steps {
		for s := range sp.states {
			if sp.rests && s == sp.states-1 && (sp.stationary || h%2 == 1) {
				continue
			}
			for a := range sp.actions - (s+h)%2 {
				row := cmdp.Row{Step: h + 1, State: s, Action: a, Returns: make([]float64, sp.dim)}
				if sp.stationary {
					row.Step = cmdp.EveryStep
				}
				sum := 0.0
				for n := range sp.states {
					p := math.Pow(rng.Float64(), 3) + 0.01
					row.Next = append(row.Next, cmdp.Transition{Next: n, Probability: p})
					sum += p
				}
				for n := range row.Next {
					row.Next[n].Probability /= sum
				}
				for i := range row.Returns {
					row.Returns[i] = float64(1+i)*rng.Float64() - float64(i)*0.5
				}
				addRow(t, b, row)
			}
		}
	}
	return built(t, b)
}

func boxOf(t testing.TB, m *cmdp.Model) *geometry.Box {
	t.Helper()
	return boxOfShape(t, m.Shape())
}

func boxOfShape(t testing.TB, sh *cmdp.Shape) *geometry.Box {
	t.Helper()
	lo, up := sh.Totals()
	b := newBox(t, lo, up)
	return b
}

// newExample draws an example: maximise the first return, keep the others at most
// a bound that binds for the policy best without it.
func newExample(t testing.TB, seed uint64, sp modelSpec) *example {
	t.Helper()
	m := randomModel(t, seed, sp)
	box := boxOf(t, m)
	gradient := make([]float64, m.Dim())
	gradient[0] = -1
	goal := linearCost(t, gradient, box)
	free := solve(t, m, cmdp.Task{Cost: goal})
	lower, upper := box.Lower(), box.Upper()
	for i := 1; i < m.Dim(); i++ {
		e := make([]float64, m.Dim())
		e[i] = 1
		side := linearCost(t, e, box)
		least := solve(t, m, cmdp.Task{Cost: side})
		upper[i] = 0.5*free.Returns[i] + 0.5*least.Objective
	}
	target := boundedBox(t, lower, upper)
	ex := &example{model: m, task: cmdp.Task{Cost: goal, Target: target}}
	r := solve(t, m, ex.task)
	if r.Status != exact.Optimal { // two bounds may exclude each other
		return newExample(t, seed+1000, sp)
	}
	ex.optimum = r.Objective
	var err error
	if ex.know, err = KnowledgeOf(context.Background(), m, ex.task); err != nil {
		t.Fatal(err)
	}
	if m.Dim() > 1 && ex.know.Slater < 0.02 {
		return newExample(t, seed+1000, sp)
	}
	return ex
}

func solve(t testing.TB, m *cmdp.Model, task cmdp.Task) *exact.Result {
	t.Helper()
	r, err := exact.Solve(context.Background(), m, task, exact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// config returns a Config for an example, with theory constants.
func (ex *example) config(episodes int) Config {
	return Config{Settings: cmdp.Settings{Confidence: cmdp.Confidence{Episodes: episodes, Failure: 0.1}},
		Shape: ex.model.Shape(), Returns: ex.model.KnownReturns(), Task: ex.task, Knowledge: ex.know}
}

// known returns counts in which every choice was visited so often that the
// frequencies are the kernel.
func known(t testing.TB, m *cmdp.Model, pooled bool) *cmdp.Counts {
	t.Helper()
	c := newCounts(t, m.Shape(), pooled)
	steps := m.Horizon()
	if pooled {
		steps = 1
	}
	for h := range steps {
		k := m.Kernel(h).Plain(m.Dim())
		for s := range m.States() {
			for i := k.First[s]; i < k.First[s+1]; i++ {
				for e := k.Offset[i]; e < k.Offset[i+1]; e++ {
					if err := c.Add(h, s, int(i-k.First[s]), int(k.Next[e]),
						uint32(math.Round(4e9*k.Prob[e]))); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	return c
}

// newKnown returns a learner that knows the model, without bonus.
func newKnown(t testing.TB, name string, ex *example, episodes int, edit ...func(*Config)) cmdp.Learner {
	t.Helper()
	c := ex.config(episodes)
	c.Bonus = cmdp.TheoryTimes(0)
	c.Prior = known(t, ex.model, false)
	for _, f := range edit {
		f(&c)
	}
	return newLearner(t, name, c)
}

func newLearner(t testing.TB, name string, c Config) cmdp.Learner {
	t.Helper()
	l, err := New(name, c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// play lets a learner play a model and returns the mean expected returns of its
// policies, and those of each.
func play(t testing.TB, m *cmdp.Model, l cmdp.Learner, seed uint64, episodes int) (mean []float64, each [][]float64) {
	t.Helper()
	env, agent := rand.New(cmdp.Stream(seed, "environment")), rand.New(cmdp.Stream(seed, "agent"))
	tr, ev := cmdp.NewTrajectory(m.Shape()), cmdp.NewEvaluator(m)
	mean = make([]float64, m.Dim())
	for range episodes {
		p := l.Policy()
		v := make([]float64, m.Dim())
		ev.Returns(v, p)
		each = append(each, v)
		for i, x := range v {
			mean[i] += x / float64(episodes)
		}
		tr.Play(m, p, env, agent)
		l.Observe(tr)
	}
	return mean, each
}

// excess returns the largest excess of v over a row.
func (ex *example) excess(t testing.TB, v []float64) float64 {
	t.Helper()
	l, err := LinearForm(ex.model.Shape(), ex.task)
	if err != nil {
		t.Fatal(err)
	}
	most := math.Inf(-1)
	for i := range l.Rows {
		most = max(most, l.Excess(i, v))
	}
	return most
}

func linearCost(t testing.TB, gradient []float64, box *geometry.Box) cost.Cost {
	t.Helper()
	g, err := cost.NewLinear(gradient, box)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// low returns the least dir·V that a sweep found.
func (c *column) low() float64 { return floats.Dot(c.dir, c.value) }

// onlyArm is the policy that takes one arm in one state, and the first action in others.
type onlyArm struct{ state, arm int }

func (p onlyArm) Choose(_ *rand.Rand, _, s int) int {
	if s == p.state {
		return p.arm
	}
	return 0
}

func (p onlyArm) Distribution(dst []float64, h, s int) {
	clear(dst)
	dst[p.Choose(nil, h, s)] = 1
}

func addRow(t testing.TB, b *cmdp.Builder, row cmdp.Row) {
	t.Helper()
	if err := b.Add(row); err != nil {
		t.Fatal(err)
	}
}

func built(t testing.TB, b *cmdp.Builder) *cmdp.Model {
	t.Helper()
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func newBox(t testing.TB, lower, upper []float64) *geometry.Box {
	t.Helper()
	box, err := geometry.NewBox(lower, upper)
	if err != nil {
		t.Fatal(err)
	}
	return box
}

// newCounts returns counts of nothing yet.
func newCounts(t testing.TB, sh *cmdp.Shape, pooled bool) *cmdp.Counts {
	t.Helper()
	c, err := cmdp.NewCounts(sh, pooled, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func boundedBox(t testing.TB, lower, upper []float64) geometry.Compact {
	t.Helper()
	w, err := newBox(t, lower, upper).Bounded()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// wantSameState wants learners, or runs, to be in the same state, by all that they save.
func wantSameState(t *testing.T, what string, x, y any) {
	t.Helper()
	first, err := x.(encoding.BinaryMarshaler).MarshalBinary()
	second, err2 := y.(encoding.BinaryMarshaler).MarshalBinary()
	if err := errors.Join(err, err2); err != nil || !bytes.Equal(first, second) {
		t.Errorf("%s: saved once more, the restored one is in another state (%v)", what, err)
	}
}
