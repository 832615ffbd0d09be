package contest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/instance"
)

// A witness keeps the episodes that a learner sees.
type witness struct {
	cmdp.Learner
	seen map[[4]int]float64      // visits by step, state, action, successor
	sums map[[3]int]*[]float64   // of returns, by step, state, action
	acts map[[2]int]map[int]bool // actions taken, by step and state
	pool bool
}

func (w *witness) Observe(tr *cmdp.Trajectory) {
	for h := range tr.Steps {
		s, a, at := tr.States[h], tr.Actions[h], h
		if a < 0 {
			continue
		}
		if w.pool {
			at = 0
		}
		w.seen[[4]int{at, s, a, tr.States[h+1]}]++
		if w.acts[[2]int{at, s}] == nil {
			w.acts[[2]int{at, s}] = map[int]bool{}
		}
		w.acts[[2]int{at, s}][a] = true
		if w.sums[[3]int{at, s, a}] == nil {
			w.sums[[3]int{at, s, a}] = &[]float64{0, 0}
		}
		for i, x := range tr.Return(h) {
			(*w.sums[[3]int{at, s, a}])[i] += x
		}
	}
	w.Learner.Observe(tr)
}

func (w *witness) Counts() *cmdp.Counts {
	return w.Learner.(interface{ Counts() *cmdp.Counts }).Counts()
}

// model is the model of what was seen: actions that were never taken lead nowhere, and return what
// nobody would want.
func (w *witness) model(t *testing.T, m *cmdp.Model, known bool) *cmdp.Model {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: m.Horizon(), Dim: 2, Start: m.StartStates()}, m.States())
	for h := range m.Horizon() {
		at := h
		if w.pool {
			at = 0
		}
		k := m.Kernel(h).Plain(m.Dim())
		for s := range m.States() {
			for c := k.First[s]; c < k.First[s+1] && len(w.acts[[2]int{at, s}]) > 0; c++ {
				a := int(c - k.First[s])
				row := cmdp.Row{Step: h + 1, State: s, Action: a, Returns: []float64{100, 100},
					Next: []cmdp.Transition{{Next: s, Probability: 1}}}
				if w.acts[[2]int{at, s}][a] {
					visits := 0.0
					row.Next = nil
					for n := range m.States() {
						visits += w.seen[[4]int{at, s, a, n}]
					}
					for n := range m.States() {
						if x := w.seen[[4]int{at, s, a, n}]; x > 0 {
							row.Next = append(row.Next, cmdp.Transition{Next: n, Probability: x / visits})
						}
					}
					for i, x := range *w.sums[[3]int{at, s, a}] {
						row.Returns[i] = x / visits
					}
					if known {
						row.Returns = k.Returns[2*int(c) : 2*int(c)+2]
					}
				}
				if err := b.Add(row); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	model, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return model
}

// TestBestEstimate: in a model that is built apart from what a run saw, where actions never
// taken are ruinous, no policy is better than the estimate.
func TestBestEstimate(t *testing.T) {
	for _, pool := range []bool{false, true} {
		for _, returns := range []string{"known", "unknown"} {
			for _, learner := range []string{"moma-double", "posterior"} {
				t.Run(fmt.Sprint(learner, pool, returns), func(t *testing.T) {
					p, err := instance.New("inventory")
					if err != nil {
						t.Fatal(err)
					}
					s := Defaults()
					s.Algorithms, s.Episodes, s.Seeds, s.Pool, s.Returns = []string{learner}, 200, 1, pool, returns
					var w *witness
					c, err := New(t.Context(), compiled(t, p), s,
						PrepareOptions{Unmeasured: true, Own: []baseline.Algorithm{{Name: learner,
							New: func(cfg baseline.Config) (cmdp.Learner, error) {
								l, err := baseline.New(learner, cfg)
								w = &witness{l, map[[4]int]float64{}, map[[3]int]*[]float64{},
									map[[2]int]map[int]bool{}, pool}
								return w, err
							}}}})
					if err != nil {
						t.Fatal(err)
					}
					run := playedFirst(t, c)
					policy, feasible, err := run.BestEstimate(t.Context())
					if err != nil || !feasible {
						t.Fatal(feasible, err)
					}
					m := w.model(t, p.Model, returns == "known")
					want, err := exact.Solve(t.Context(), m, c.Task, exact.Options{})
					if err != nil {
						t.Fatal(err)
					}
					v := make([]float64, 2)
					cmdp.NewEvaluator(m).Returns(v, policy)
					if x := c.Task.Cost.Value(v); math.Abs(x-want.Objective) > 1e-6 || c.Task.Violation(v) > 1e-6 {
						t.Errorf("the estimate has the returns %v, cost %g: want %g", v, x, want.Objective)
					}
				})
			}
		}
	}
}

// TestMixture: where nothing is drawn but by the policy, what came of the shares in which actions were
// taken is what came of the run, exactly.
func TestMixture(t *testing.T) {
	p, err := instance.New("cliff")
	if err != nil {
		t.Fatal(err)
	}
	s := Defaults()
	s.Algorithms, s.Episodes, s.Seeds, s.Pool = []string{"posterior"}, 300, 1, true
	c := prepared(t, p, s, PrepareOptions{Unmeasured: true, Mixture: true})
	run := playedFirst(t, c)
	mixture, err := run.Mixture(cmdp.Uniform{Shape: p.Shape()})
	if err != nil {
		t.Fatal(err)
	}
	last, err := run.Mixture(first{cmdp.Uniform{Shape: p.Shape()}}) // where the run never came
	if err != nil {
		t.Fatal(err)
	}
	untold := 0
	for h := range p.Model.Horizon() {
		for s := range p.Model.States() {
			n := p.Shape().Actions(h, s)
			got, other := make([]float64, n), make([]float64, n)
			last.Distribution(got, h, s)
			mixture.Distribution(other, h, s)
			if !slices.Equal(got, other) {
				untold++
				if got[0] != 1 {
					t.Errorf("step %d, state %d: %v: want the first action", h, s, got)
				}
			}
		}
	}
	if untold == 0 {
		t.Error("the run came everywhere")
	}
	v := make([]float64, 2)
	cmdp.NewEvaluator(p.Model).Returns(v, mixture)
	for i, x := range run.Runner.Average() {
		if math.Abs(v[i]-x) > 1e-9 {
			t.Errorf("%s: the mixture has %g: want %g, that of the run", p.Returns[i], v[i], x)
		}
	}
}
