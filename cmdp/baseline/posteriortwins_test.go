package baseline

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/monitor"

	"gonum.org/v1/gonum/floats"
)

// A recalling is a monitor without rewards that knows what follows a memory value.
type recalling func(memory int, t monitor.Transition) int

func (recalling) Name() string                            { return "recalled" }
func (recalling) Rewards() int                            { return 0 }
func (recalling) Range([]float64, []float64)              {}
func (recalling) Start([]float64, monitor.Transition) int { return 0 }
func (recalling) Value(memory int) string                 { return strconv.Itoa(memory) }
func (f recalling) Step(_ []float64, memory int, t monitor.Transition) int {
	return f(memory, t)
}

// remembering returns the product of a model with a memory, and a posterior learner that has played so many
// episodes of it.
func remembering(t *testing.T, m *cmdp.Model, f recalling, episodes int,
	tuning Tuning) (*monitor.ProductModel, *posterior) {
	t.Helper()
	p, err := monitor.New(monitor.Spec{Model: m, Monitors: []monitor.Monitor{f}})
	if err != nil {
		t.Fatal(err)
	}
	l := posteriorOf(t, p.Model, Config{Seed: 8, Tuning: tuning})
	tr, env, agent := cmdp.NewTrajectory(p.Model.Shape()), rand.New(rand.NewPCG(1, 1)), rand.New(rand.NewPCG(1, 2))
	for range episodes {
		tr.Play(p.Model, cmdp.Uniform{Shape: p.Model.Shape()}, env, agent)
		l.Observe(tr)
	}
	return p, l
}

// TestMemoryAddsNoLogarithm wants the logarithm of confidence radii to be that of the problem without the memory.
func TestMemoryAddsNoLogarithm(t *testing.T) {
	for trial := range uint64(4) {
		m := newExample(t, 40+trial, modelSpec{states: 4, actions: 2, horizon: 4, dim: 2}).model
		_, l := remembering(t, m, func(memory int, _ monitor.Transition) int { return 1 - memory }, 0, Tuning{})
		alone := posteriorOf(t, m, Config{})
		if got, want := l.logTerm(3), alone.logTerm(3); math.Abs(got-want) > 1e-12 {
			t.Errorf("trial %d: with a memory the logarithm is %v, without %v", trial, got, want)
		}
	}
}

// TestPosteriorDrawsOneModel wants rows of pairs that differ in their memory alone to lead to each state,
// whatever is remembered there, with one probability, and to have one mean return; and each successor, of those
// that were never seen too, to have the memory that follows.
func TestPosteriorDrawsOneModel(t *testing.T) {
	visits := func(memory int, t monitor.Transition) int {
		if t.Next == 2 {
			return 1 - memory
		}
		return memory
	}
	for trial := range uint64(8) {
		m := newExample(t, 40+trial, modelSpec{states: 4, actions: 2, horizon: 4, dim: 2,
			stationary: trial%2 == 0}).model
		p, l := remembering(t, m, visits, 2, Tuning{MeanModel: trial%4 > 1})
		drawn, err := l.drawer.model()
		if err != nil {
			t.Fatal(err)
		}
		rows, returns, twins := make(map[slot][]float64), make(map[slot][]float64), 0
		for h := range m.Horizon() {
			k := drawn.Kernel(h).Plain(drawn.Dim())
			for pair := range p.Model.States() {
				for a := range p.Model.Shape().Actions(h, pair) {
					row, c := make([]float64, m.States()), int(k.First[pair])+a
					for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
						to := int(k.Next[e])
						row[p.State(to)] += k.Prob[e]
						memory, _ := strconv.Atoi(p.Memory(pair))
						if want := strconv.Itoa(visits(memory, monitor.Transition{Next: p.State(to)})); p.Memory(to) !=
							want {
							t.Errorf("trial %d: memory %d leads to %s in state %d, want %s", trial, memory,
								p.Memory(to), p.State(to), want)
						}
					}
					x := slot{h, p.State(pair), a}
					r := k.Returns[c*2 : c*2+2]
					if rows[x] == nil {
						rows[x], returns[x] = row, r
						continue
					}
					twins++
					if !floats.EqualApprox(rows[x], row, 1e-12) || !floats.Equal(returns[x], r) {
						t.Errorf("trial %d: %v leads to %v and returns %v, with another memory %v and %v", trial, x,
							rows[x], returns[x], row, r)
					}
				}
			}
		}
		if twins < 12 {
			t.Errorf("trial %d: %d twins: want more", trial, twins)
		}
	}
}

// TestPosteriorOfMemoriesThatMerge has a choice that returns 0, 0.1 or 0.2. One memory value tells 0.2 from the
// others, another one 0, so that no row says what the other one is. Both are drawn within six standard
// deviations, (p(1−p)/N)^½ ≤ 0.016, of what is true.
func TestPosteriorOfMemoriesThatMerge(t *testing.T) {
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 3, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 1)
	row := cmdp.Row{Step: cmdp.EveryStep}
	for i, q := range []float64{0.2, 0.3, 0.5} {
		row.Next = append(row.Next, cmdp.Transition{Probability: q, Returns: []float64{float64(i) / 10, 0}})
	}
	addRow(t, b, row)
	m := built(t, b)
	p, l := remembering(t, m, func(memory int, t monitor.Transition) int {
		if memory == 0 && t.Returns[0] > 0.15 || memory == 1 && t.Returns[0] < 0.05 {
			return 1
		}
		return 0
	}, 1000, Tuning{})
	drawn, err := l.drawer.model()
	if err != nil {
		t.Fatal(err)
	}
	for h := range 3 {
		k := drawn.Kernel(h).Plain(drawn.Dim())
		for pair := range p.Model.States() {
			one := 0.0
			for c := k.Offset[k.First[pair]]; c < k.Offset[k.First[pair]+1]; c++ {
				if p.Memory(int(k.Next[c])) == "1" {
					one += k.Prob[c]
				}
			}
			if want := map[string]float64{"0": 0.5, "1": 0.2}[p.Memory(pair)]; math.Abs(one-want) > 0.1 {
				t.Errorf("step %d: memory %s leads to 1 with probability %.3f, want %.1f", h+1, p.Memory(pair), one,
					want)
			}
		}
	}
}
