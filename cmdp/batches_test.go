package cmdp

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestBatches follows the samples of a learner with the planner mvp: after n visits of a choice planning
// sees those after the last power of two but one up to the last power of two, and of a single visit
// the first. It knows all states that were met. Counts of a log are one batch.
func TestBatches(t *testing.T) {
	for _, pooled := range []bool{false, true} {
		for _, logged := range []int{0, 5} {
			m := randomModel(t, 5, 40, 3, 2, pooled) // some states are met after the last step alone
			task := Task{Cost: linear(t, m.Shape(), 1, -1)}
			l, err := NewLearner(m.Shape(), nil, task, Settings{Planner: "mvp", Pooled: pooled,
				Bonus: BonusScale{Mode: Theory, Factor: 0.001}, Confidence: Confidence{200, 0.05}})
			if err != nil {
				t.Fatal(err)
			}
			type sample struct {
				next  int
				value float64
			}
			samples := map[[3]int][]sample{} // of each step, state and action
			rng, tr := rand.New(Stream(1, "batches")), NewTrajectory(m.Shape())
			first := map[[3]int]int{} // samples of the log
			met := map[[2]int]bool{}  // each step and state that planning has to know
			observe := func() {
				tr.Play(m, Uniform{m.Shape()}, rng, rng)
				for h := range tr.Steps {
					if met[[2]int{h, tr.States[h]}] = true; pooled {
						met[[2]int{0, tr.States[h]}], met[[2]int{0, tr.States[h+1]}] = true, true
					}
					if tr.Actions[h] >= 0 {
						at := [3]int{h, tr.States[h], tr.Actions[h]}
						if pooled {
							at[0] = 0
						}
						tr.Return(h)[0] += rng.Float64()
						samples[at] = append(samples[at], sample{tr.States[h+1], tr.Return(h)[0]})
					}
				}
			}
			for range logged {
				observe()
				l.Counts().Observe(tr)
			}
			for at, list := range samples {
				first[at] = len(list)
			}
			for range 100 {
				l.Policy()
				observe()
				l.Observe(tr)
				for at, list := range samples {
					begin, end := 0, first[at]
					for n := end + 1; n <= len(list); n++ {
						if n&(n-1) == 0 {
							begin, end = end, n
						}
					}
					want, sum, squares := make([]float64, m.States()), 0.0, 0.0
					for _, x := range list[begin:end] {
						want[x.next]++
						sum += x.value
						squares += x.value * x.value
					}
					got, mean := make([]float64, m.States()), make([]float64, 2)
					next, times := l.batches.shown.AppendSuccessors(nil, nil, at[0], at[1], at[2])
					for i, s := range next {
						got[s] += times[i]
					}
					if !slices.Equal(got, want) {
						t.Fatalf("pooled %v, choice %v after %d visits: successors %v: want %v", pooled, at, len(list),
							got, want)
					}
					n := float64(end - begin)
					if n == 0 {
						continue
					}
					layer := l.batches.shown.layer(at[0])
					i := int(layer.seen[layer.at[at[1]]-1].first) + at[2]
					if !l.batches.shown.MeanReturn(mean, at[0], at[1], at[2]) || math.Abs(mean[0]-sum/n) > 1e-12 ||
						math.Abs(layer.returns[2*i].sumSquares-(squares-sum*sum/n)) > 1e-9 {
						t.Fatalf("pooled %v, choice %v after %d visits: mean return %v, squares %v: want %v, %v",
							pooled, at, len(list), mean[0], layer.returns[2*i].sumSquares, sum/n, squares-sum*sum/n)
					}
				}
				for h := range m.Horizon() {
					want := 0
					for s := range m.States() {
						if met[[2]int{min(h, len(l.batches.shown.layers)-1), s}] {
							want++
						}
					}
					if got, all := l.batches.shown.Seen(h), l.Counts().Seen(h); got != want || all != want {
						t.Fatalf("pooled %v, step %d: planning sees %d states, of %d: want %d that were met", pooled, h+1,
							got, all, want)
					}
				}
				plan := l.planner.NewPlan()
				l.planner.Plan(plan, l.batches.shown, l.Direction())
				if l.Policy(); l.plan.Low != plan.Low {
					t.Fatalf("the plan has the bound %v: want that of the last batches, %v", l.plan.Low, plan.Low)
				}
			}
			if n := l.Counts().episodes; n != 100+logged {
				t.Errorf("%d episodes counted: want %d", n, 100+logged)
			}
			unseen, err := NewLearner(m.Shape(), nil, task,
				Settings{Planner: "mvp", Pooled: pooled, Bonus: BonusScale{Mode: Theory, Factor: 0.001},
					Confidence: Confidence{200, 0.05}})
			if err != nil {
				t.Fatal(err)
			}
			data, err := unseen.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			if err := l.UnmarshalBinary(data); err != nil {
				t.Fatal(err)
			}
			if l.Policy(); l.batches.shown.Entries() != 0 {
				t.Error("batches outlive the state that they belong to")
			}
		}
	}
}

// TestMonotonicBonus computes the bonus of the paper with R for the range of the values to come: with
// 12 choices in 3 steps, K = 50 and p = 0.1 the logarithm is ln(200·12·3·50²/0.1) = 19.00847.
func TestMonotonicBonus(t *testing.T) {
	first := []int32{0, 2, 4}
	sh, err := NewShape(ShapeSpec{Horizon: 3, Dim: 1, Start: []StartState{{0, 1}}, First: [][]int32{first},
		Returns: []Interval{{[]float64{0}, []float64{1}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, scale := range []BonusScale{{}, {Mode: Practice}, {Factor: 0.01}} {
		b, err := newMonotonicBonus(sh, false, scale, Confidence{50, 0.1})
		if err != nil {
			t.Fatal(err)
		}
		const log, visits = 19.008467, 16.
		got := b.Width(&Stage{Range: 2}, &Moments{Visits: visits, Root: 0.25, VarLow: 0.25})
		want := scale.Multiplier() * (460./9*math.Sqrt(0.25*log/visits) + 544./9*2*log/visits)
		if math.Abs(got-want) > 1e-5*want {
			t.Errorf("scale %v: bonus %v: want %v", scale, got, want)
		}
	}
}
