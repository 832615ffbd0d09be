package baseline

import (
	"math"
	"testing"

	"cmdpsolve/cmdp"
)

// ucpdConfig is a problem of two steps, three states and two actions that starts in the first state, with
// the returns of the problem by hand. Scaled limits are (b + 2)/2 and (8 − b)/4.
func ucpdConfig(t *testing.T, episodes int, limit [2]float64) Config {
	t.Helper()
	first := []int32{0, 2, 4, 6}
	sh, err := cmdp.NewShape(cmdp.ShapeSpec{Horizon: 2, Dim: 3, Start: []cmdp.StartState{{State: 0, Probability: 1}},
		First: [][]int32{first}, Returns: []cmdp.Interval{{Lower: []float64{0, -1, 0}, Upper: []float64{2, 1, 4}}}})
	if err != nil {
		t.Fatal(err)
	}
	tables := make([][]float64, 2)
	eachHand(func(h, s, a int) {
		if h < 2 {
			tables[h] = append(tables[h], handReturns(h, s, a)...)
		}
	})
	returns, err := cmdp.NewReturns(sh, tables)
	if err != nil {
		t.Fatal(err)
	}
	return Config{Settings: cmdp.Settings{Confidence: cmdp.Confidence{Episodes: episodes, Failure: 0.1}}, Shape: sh,
		Returns: returns, Task: cmdp.Task{Cost: linearCost(t, []float64{-1, 0, 0}, boxOfShape(t, sh))},
		Linear: &Linear{Goal: []float64{-1, 0, 0}, Rows: []cmdp.Constraint{
			{Normal: []float64{0, 1, 0}, Offset: 2*limit[0] - 2},
			{Normal: []float64{0, 0, -1}, Offset: 4*limit[1] - 8}}}}
}

// TestUCPDByHand follows UCPD (Qiu et al. 2020) while nothing was seen, so that any kernel is
// possible. With H = 2, K episodes and the weights V = H√K, α = HK, λ = 1/K
//
//	θ^t = argmin ⟨V f + Σ Q_i g_i, θ⟩ + α KL(θ ‖ (1−λ)θ^{t−1} + λ·uniform),   Q_i ← max(0, Q_i + ⟨g_i, θ^t⟩ − limit_i)
//
// over the occupancies z₁(a,s'), z₂(s',a') with Σ_a z₁(a,s') = Σ_a' z₂(s',a') = m(s'). Where m is given,
// both are proportional to θ̃·e^{−cost/α}, with sums W₁(s') and W₂(s') over the actions; that leaves Σ m
// ln(m²/(W₁W₂)), so that m ∝ √(W₁W₂).
func TestUCPDByHand(t *testing.T) {
	cut, grown := false, false
	for _, tt := range []struct {
		episodes int
		limit    [2]float64
	}{{4, [2]float64{0.9, 1.1}}, {4, [2]float64{0.2, 1.9}}, {100, [2]float64{0.5, 0.8}}} {
		c, k := ucpdConfig(t, tt.episodes, tt.limit), float64(tt.episodes)
		l := newLearner(t, "ucpd", c)
		var z1, z2 [3][2]float64 // [s'][a] and [s'][a']
		for s := range z1 {
			z1[s], z2[s] = [2]float64{1. / 6, 1. / 6}, [2]float64{1. / 6, 1. / 6}
		}
		var queue [2]float64
		for round := range 12 {
			var w1, w2, m [3]float64
			sum := 0.0
			for s := range 3 {
				for a := range 2 {
					x, y := handSignals(0, 0, a), handSignals(1, s, a)
					cost := func(g []float64) float64 {
						return (2*math.Sqrt(k)*g[0] + queue[0]*g[1] + queue[1]*g[2]) / (2 * k)
					}
					z1[s][a] = ((1-1/k)*z1[s][a] + 1/(6*k)) * math.Exp(-cost(x))
					z2[s][a] = ((1-1/k)*z2[s][a] + 1/(6*k)) * math.Exp(-cost(y))
					w1[s] += z1[s][a]
					w2[s] += z2[s][a]
				}
				m[s] = math.Sqrt(w1[s] * w2[s])
				sum += m[s]
			}
			used, first := [2]float64{}, 0.0
			for s := range 3 {
				for a := range 2 {
					z1[s][a] *= m[s] / sum / w1[s]
					z2[s][a] *= m[s] / sum / w2[s]
					for i := range used {
						used[i] += z1[s][a]*handSignals(0, 0, a)[i+1] + z2[s][a]*handSignals(1, s, a)[i+1]
					}
				}
				first += z1[s][0]
			}
			p, got := l.Policy(), make([]float64, 2)
			if p.Distribution(got, 0, 0); math.Abs(got[0]-first) > 1e-7 {
				t.Fatalf("K = %d round %d: first action with probability %.9g: want %.9g", tt.episodes, round, got[0],
					first)
			}
			for s := range 3 {
				if p.Distribution(got, 1, s); math.Abs(got[0]-z2[s][0]/(z2[s][0]+z2[s][1])) > 1e-7 {
					t.Fatalf("K = %d round %d: state %d: first action with probability %.9g: want %.9g", tt.episodes,
						round, s, got[0], z2[s][0]/(z2[s][0]+z2[s][1]))
				}
			}
			for i := range queue {
				queue[i] += used[i] - tt.limit[i]
				cut, grown = cut || queue[i] < 0, grown || queue[i] > 2
				queue[i] = max(0, queue[i])
				if x := l.(*ucpdLearner).queue[i]; math.Abs(x-queue[i]) > 1e-6 {
					t.Fatalf("K = %d round %d: queue %d is %.9g: want %.9g", tt.episodes, round, i, x, queue[i])
				}
			}
			show(l, c.Shape)
		}
	}
	if !cut || !grown {
		t.Errorf("queues cut at 0: %v, grown: %v: the test says nothing of them", cut, grown)
	}
}

// TestUCPDEpochs wants the confidence set, the ball of radius √(2S ln((K+1)SAH/p)/N) around the frequencies in ℓ₁
// (S = 3, SAH = 12, K = 400, p = 0.1), to be renewed when the visits of some choice since the last renewal reach
// max(1, N), N those before it: at its first visit, and then whenever they have doubled.
func TestUCPDEpochs(t *testing.T) {
	c := ucpdConfig(t, 400, [2]float64{1, 1})
	c.Bonus = cmdp.TheoryTimes(0.5)
	l := newLearner(t, "ucpd", c).(*ucpdLearner)
	want := func(where string, a int, n, toLast float64) {
		t.Helper()
		x := l.kl.nodes[a] // the first nodes are the actions of the first state
		radius := 0.5 * math.Sqrt(2*3*math.Log(401*12/0.1)/max(1, n))
		if n == 0 {
			radius = 2
		}
		if !closeTo(x.radius, radius) || n > 0 && !closeTo(x.center[2], toLast/n) {
			t.Fatalf("%s: action %d: radius %g around %v: want that of %g visits, %g of them to the last state", where,
				a, x.radius, x.center, n, radius)
		}
	}
	want("at first", 0, 0, 0)
	// The third of four visits leads to the last state.
	visits, toLast, n, seen := 0., 0., 0., 0.
	for i := range 40 {
		next := 0
		if i%4 == 2 {
			next = 2
			toLast++
		}
		show(l, c.Shape, step{0, 0, 0, next})
		visits++
		if visits >= max(1, 2*n) {
			n, seen = visits, toLast
		}
		want("visit by visit", 0, n, seen)
	}
	want("not visited", 1, 0, 0)
	// The first visit of another choice renews the set for all.
	show(l, c.Shape, step{0, 0, 1, 2})
	want("the other visited", 0, 40, 10)
	want("the other visited", 1, 1, 1)
	for i := 41; i < 80; i++ {
		show(l, c.Shape, step{0, 0, 0, 0})
		want("after the other", 0, 40, 10)
	}
	show(l, c.Shape, step{0, 0, 0, 0})
	want("doubled again", 0, 80, 10)
}

// TestUCPDTold wants a learner that is told other returns before an episode to go on like one that had these from the
// start, with counts of each step and of all, at the first episode and later.
func TestUCPDTold(t *testing.T) {
	for _, pooled := range []bool{false, true} {
		c := ucpdConfig(t, 16, [2]float64{0.5, 0.9})
		c.Pooled = pooled
		lower, upper := c.Shape.StepReturns(0)
		tables := make([][]float64, 2)
		for h := range tables { // the steps have different returns
			for choice := range c.Shape.StepChoices(h) {
				for i, x := range c.Returns.At(h, choice) {
					tables[h] = append(tables[h], lower[i]+upper[i]-x)
				}
			}
		}
		other, err := cmdp.NewReturns(c.Shape, tables)
		if err != nil {
			t.Fatal(err)
		}
		first := newLearner(t, "ucpd", c).(*ucpdLearner)
		c.Returns = other
		second := newLearner(t, "ucpd", c).(*ucpdLearner)
		first.ObserveReturns(other)
		got, want := make([]float64, 2), make([]float64, 2)
		for k := range 6 {
			p, q := first.Policy(), second.Policy()
			for i := range 6 {
				p.Distribution(got, i/3, i%3)
				q.Distribution(want, i/3, i%3)
				if got[0] != want[0] || got[1] != want[1] {
					t.Fatalf("pooled %v, episode %d, step %d, state %d: %v, want %v", pooled, k+1, i/3, i%3, got, want)
				}
			}
			for _, l := range []cmdp.Learner{first, second} {
				show(l, c.Shape, step{0, 0, k % 2, k % 3}, step{1, k % 3, 0, 0})
			}
		}
	}
}
