package monitor_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/monitor"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// payments counts up to four steps that return anything in the first coordinate, and returns 10 for the third.
type payments struct{}

func (payments) Name() string                            { return "payments" }
func (payments) Rewards() int                            { return 1 }
func (payments) Range(lower, upper []float64)            { lower[0], upper[0] = 0, 10 }
func (payments) Start([]float64, monitor.Transition) int { return 0 }
func (payments) Value(memory int) string                 { return strconv.Itoa(memory) }
func (payments) Step(dst []float64, n int, t monitor.Transition) int {
	if dst[0] = 0; t.Returns[0] != 0 {
		if n++; n == 3 {
			dst[0] = 10
		}
	}
	return min(n, 4)
}

// TestTwins plays random models with memory and compares the counts with those of the model without memory. The
// memory after a transition is worked out by hand for each twin.
func TestTwins(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 9))
	for trial := range 12 {
		m := randomModel(t, rng, shape{states: 3, horizon: 6, stepwise: trial%2 == 0, rests: trial%3 == 0,
			outcomes: trial%4 < 2})
		p := product(t, monitor.Spec{Model: m, Monitors: []monitor.Monitor{payments{}}})
		sh := p.Model.Shape()
		if states, slots := sh.Unknown(); states != 3 || slots != m.Shape().Slots() {
			t.Fatalf("%d states and %d slots are unknown", states, slots)
		}
		counts, err := cmdp.NewCounts(sh, false, cmdp.NewReturnConfidence(sh, 0, 0))
		if err != nil {
			t.Fatal(err)
		}
		type key struct{ h, state, action int }
		visits, sum := make(map[key]int), make(map[key]float64)
		type move struct {
			key
			next int
			pays bool
		}
		seen := make(map[move]bool)
		tr, env, agent := cmdp.NewTrajectory(sh), rand.New(rand.NewPCG(1, 1)), rand.New(rand.NewPCG(1, 2))
		for range 20 {
			tr.Play(p.Model, cmdp.Uniform{Shape: sh}, env, agent)
			counts.Observe(tr)
			for h := range tr.Steps {
				k := key{h, p.State(tr.States[h]), tr.Actions[h]}
				visits[k]++
				sum[k] += tr.Return(h)[0]
				seen[move{k, p.State(tr.States[h+1]), tr.Return(h)[0] != 0}] = true
			}
		}
		mean := make([]float64, 3)
		for h := range m.Horizon() {
			for s := range p.Model.States() {
				n, _ := strconv.Atoi(p.Memory(s))
				for a := range sh.Actions(h, s) {
					k := key{h, p.State(s), a}
					if got := counts.Visits(h, s, a); got != visits[k] {
						t.Fatalf("trial %d: %d visits of %v with memory %d, want %d", trial, got, k, n, visits[k])
					}
					if visits[k] > 0 && (!counts.MeanReturn(mean, h, s, a) ||
						math.Abs(mean[0]-sum[k]/float64(visits[k])) > 1e-12) {
						t.Fatalf("trial %d: mean returns %v of %v, want %g", trial, mean, k, sum[k]/float64(visits[k]))
					}
					next, _ := counts.AppendSuccessors(nil, nil, h, s, a)
					want := 0
					for mv := range seen {
						if mv.key == k {
							want++
						}
					}
					if n == 4 { // whether anything was paid shows no more
						continue
					}
					for _, to := range next {
						after, _ := strconv.Atoi(p.Memory(int(to)))
						if !seen[move{k, p.State(int(to)), after == n+1}] || after != n && after != n+1 {
							t.Errorf("trial %d: %v leads from memory %d to %d in state %d", trial, k, n, after,
								p.State(int(to)))
						}
					}
					if len(next) != want {
						t.Errorf("trial %d: %d successors of %v, want %d", trial, len(next), k, want)
					}
				}
			}
		}
	}
}

// withoutTwins returns the same model to learners who do not know that it has a memory.
func withoutTwins(t *testing.T, m *cmdp.Model) *cmdp.Model {
	t.Helper()
	spec := cmdp.ModelSpec{Horizon: m.Horizon(), Dim: m.Dim(), Start: m.StartStates()}
	for h := range m.Horizon() {
		spec.Kernels = append(spec.Kernels, *m.Kernel(h))
	}
	out, err := cmdp.NewModel(spec)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// errands is a model of three places with a safe and a fast way at each: fast ways cost more of a budget and succeed
// with a chance that has to be learned.
func errands(t *testing.T, horizon int) *cmdp.Model {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: horizon, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}},
		4)
	for s := range 4 {
		for a, x := range []struct{ cost, luck float64 }{{[]float64{7, 8.3, 9.6, 10.9}[s], 0.9 - 0.2*float64(s)},
			{[]float64{3, 4.1, 5.3, 6.2}[s], 0.3 + 0.1*float64(s)}, {0, 0}} {
			row := cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a, Returns: []float64{0, x.cost}}
			if s == 3 && a == 0 {
				row.Returns[0] = 1
			}
			for _, next := range []cmdp.Transition{{Next: (s + 1) % 4, Probability: x.luck},
				{Next: s, Probability: 1 - x.luck}} {
				if next.Probability > 0 {
					row.Next = append(row.Next, next)
				}
			}
			addRow(t, b, row)
		}
	}
	return built(t, b)
}

// TestTwinsOfWhatIsEnforced plays a product that leaves out actions, others in each pair, and compares the
// visits with those of the actions of the base.
func TestTwinsOfWhatIsEnforced(t *testing.T) {
	p := withinBudget(t, errands(t, 8), 40)
	sh := p.Model.Shape()
	counts, err := cmdp.NewCounts(sh, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	visits := make(map[[3]int]int)
	tr, env, agent := cmdp.NewTrajectory(sh), rand.New(rand.NewPCG(1, 1)), rand.New(rand.NewPCG(1, 2))
	for range 50 {
		tr.Play(p.Model, cmdp.Uniform{Shape: sh}, env, agent)
		counts.Observe(tr)
		for h := range tr.Steps {
			visits[[3]int{h, p.State(tr.States[h]), p.Action(h, tr.States[h], tr.Actions[h])}]++
		}
	}
	for h := range sh.Horizon() {
		for s := range sh.States() {
			for a := range sh.Actions(h, s) {
				if got, want := counts.Visits(h, s, a), visits[[3]int{h, p.State(s), p.Action(h, s, a)}]; got != want {
					t.Fatalf("step %d, pair %d, action %d: %d visits, want %d", h+1, s, a, got, want)
				}
			}
		}
	}
}

// withinBudget returns the product of a model with a budget that the second coordinate never passes.
func withinBudget(t *testing.T, m *cmdp.Model, limit float64) *monitor.ProductModel {
	t.Helper()
	b := budget(t, monitor.BudgetSpec{Title: "spent", Model: m, Coordinate: 1,
		Limits: []monitor.Threshold{{Kind: monitor.Above, At: limit, Enforced: true}}})
	return product(t, monitor.Spec{Model: m, Monitors: []monitor.Monitor{b}, Columns: []int{0, 1}, Enforced: []int{0}})
}

// TestMemoryIsNotLearned plays a problem whose budget holds in every episode. Who knows the memory learns 4
// places; who does not, 4 places for each amount spent.
func TestMemoryIsNotLearned(t *testing.T) {
	const episodes, limit = 600, 40
	p := withinBudget(t, errands(t, 8), limit)
	known, unknown := learned(t, p.Model, episodes, limit, moma),
		learned(t, withoutTwins(t, p.Model), episodes, limit, moma)
	t.Logf("%d pairs, regret %.1f with the memory known, %.1f without", p.Model.States(), known, unknown)
	if known > unknown/3 {
		t.Errorf("regret %.1f with the memory known, %.1f without: want a third at most", known, unknown)
	}
}

// TestMemoryIsNotSampled has posterior sampling remember what was spent where no limit asks for it: it draws
// the same models as without memory, plays the same episodes, and has the same regret. Who does not know what
// the memory is plays others.
func TestMemoryIsNotSampled(t *testing.T) {
	const episodes = 100
	m := errands(t, 8)
	b := budget(t, monitor.BudgetSpec{Title: "spent", Model: m, Coordinate: 1,
		Limits: []monitor.Threshold{{Kind: monitor.Above, At: 15}}})
	p := product(t, monitor.Spec{Model: m, Monitors: []monitor.Monitor{b}, Columns: []int{0, 1}})
	without, known := learned(t, m, episodes, math.Inf(1), posterior),
		learned(t, p.Model, episodes, math.Inf(1), posterior)
	unknown := learned(t, withoutTwins(t, p.Model), episodes, math.Inf(1), posterior)
	t.Logf("%d pairs, regret %g, %g with the memory known, %g without", p.Model.States(), without, known, unknown)
	if math.Abs(known-without) > 1e-6 {
		t.Errorf("regret %g without memory, %g with a known one: want the same", without, known)
	}
	if math.Abs(unknown-without) < 1 {
		t.Errorf("regret %g without memory, %g with an unknown one: want another", without, unknown)
	}
}

func moma(m *cmdp.Model, task cmdp.Task, k cmdp.Confidence) (cmdp.Learner, error) {
	return cmdp.NewLearner(m.Shape(), m.KnownReturns(), task,
		cmdp.Settings{Bonus: cmdp.BonusScale{Mode: cmdp.Practice, Factor: 0.2}, Confidence: k})
}

func posterior(m *cmdp.Model, task cmdp.Task, k cmdp.Confidence) (cmdp.Learner, error) {
	return baseline.New("posterior", baseline.Config{Settings: cmdp.Settings{Confidence: k}, Shape: m.Shape(),
		Returns: m.KnownReturns(), Task: task, Seed: 1})
}

// learned returns the regret of a learner that is to have much of the first return. No episode may have more of
// the second than limit.
func learned(t *testing.T, m *cmdp.Model, episodes int, limit float64,
	newLearner func(*cmdp.Model, cmdp.Task, cmdp.Confidence) (cmdp.Learner, error)) float64 {
	t.Helper()
	box, err := geometry.NewBox([]float64{0, 0}, []float64{12, 200})
	if err != nil {
		t.Fatal(err)
	}
	goal, err := cost.NewLinear([]float64{-1, 0}, box)
	if err != nil {
		t.Fatal(err)
	}
	task := cmdp.Task{Cost: goal}
	best, err := exact.Solve(t.Context(), m, task, exact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLearner(m, task, cmdp.Confidence{Episodes: episodes, Failure: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	tr, env, agent := cmdp.NewTrajectory(m.Shape()), rand.New(cmdp.Stream(1, "environment")),
		rand.New(cmdp.Stream(1, "agent"))
	value := make([]float64, 2)
	for range episodes {
		policy := l.Policy()
		cmdp.NewEvaluator(m).Returns(value, policy)
		sum += -best.Objective - value[0]
		if tr.Play(m, policy, env, agent); tr.Total[1] > limit+1e-9 {
			t.Fatalf("an episode spends %g", tr.Total[1])
		}
		l.Observe(tr)
	}
	return sum
}
