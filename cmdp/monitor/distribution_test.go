package monitor_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/monitor"

	"gonum.org/v1/gonum/floats"
)

// TestDistributionToTheEnd plays totals until absorption: a step pays 0.5 and is the last with probability 1/4,
// so that k steps have probability 3^(k−1)/4^k. The end is a state that goes round for ever and pays nothing.
func TestDistributionToTheEnd(t *testing.T) {
	for _, c := range []struct {
		pays float64 // at the end
		back float64 // probability of leaving the end
		ok   bool
	}{{0, 0, true}, {0.5, 0, false}, {1e300, 0, false}, {0, 0.25, false}, {0, 0.75, false}} {
		m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: 1, Dim: 1,
			Start: []cmdp.StartState{{State: 0, Probability: 1}}, Kernels: []cmdp.Kernel{{
				First: []int32{0, 1, 2}, Offset: []int{0, 2, 4}, Next: []int32{0, 1, 0, 1},
				Prob: []float64{0.75, 0.25, c.back, 1 - c.back}, Returns: []float64{0.5, c.pays}}}})
		if err != nil {
			t.Fatal(err)
		}
		values, probabilities, ok := monitor.Distribution(t.Context(), m, always{}, 0)
		if ok != c.ok {
			t.Fatalf("the end pays %g and is left with %g: counted %v", c.pays, c.back, ok)
		}
		if !ok {
			continue
		}
		sum := 0.0
		for i, x := range values {
			// The last total also has what goes on.
			if want := math.Pow(3, float64(i)) / math.Pow(4, float64(i+1)); x != 0.5*float64(i+1) ||
				math.Abs(probabilities[i]-want) > 1e-11 {
				t.Errorf("P(%g) = %g, want %g", x, probabilities[i], want)
			}
			sum += probabilities[i]
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Errorf("probabilities sum to %g", sum)
		}
	}
}

// TestGreatest compares the totals of the episodes that fare best and worst with the ends of the distribution,
// which goes through the episodes the other way round, for policies that leave some actions out.
func TestGreatest(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		m := randomModel(t, rng, shape{states: 4, horizon: 5, stepwise: seed%2 == 0, rests: true, outcomes: seed%3 == 0,
			negative: true})
		values, _, ok := monitor.Distribution(t.Context(), m, some(seed), 0)
		if !ok {
			t.Fatal("totals are not counted")
		}
		for sign, want := range map[float64]float64{1: values[len(values)-1], -1: -values[0]} {
			if got := monitor.Greatest(m, some(seed), 0, sign); math.Abs(got-want) > 1e-12 {
				t.Errorf("seed %d: the greatest of %g times the total is %g, want %g", seed, sign, got, want)
			}
		}
	}
}

// TestGreatestOfLongWays: the way to the end may be as long as a product has pairs, each of which leads to the next.
func TestGreatestOfLongWays(t *testing.T) {
	const states = 20_000
	k := cmdp.NewKernel()
	for s := range int32(states - 1) {
		k.Append([]int32{s + 1, states - 1}, []float64{0.5, 0.5}, []float64{1})
		k.EndState()
	}
	k.EndState()
	m, err := cmdp.NewModel(cmdp.ModelSpec{Dim: 1, Discount: 1, Kernels: []cmdp.Kernel{k},
		Start: []cmdp.StartState{{State: 0, Probability: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	up, down := monitor.Greatest(m, always{}, 0, 1), -monitor.Greatest(m, always{}, 0, -1)
	if up != states-1 || down != 1 {
		t.Errorf("from %g to %g: want 1 to %d", down, up, states-1)
	}
}

// TestEndlessDistributions: of a policy that leaves some actions out, where all episodes come to rest, after few
// or many steps, distribution and extremes are those of all episodes, and an episode is over where nothing that may
// follow returns anything, be it what is nothing in the mean.
func TestEndlessDistributions(t *testing.T) {
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 4))
		m := randomModel(t, rng, shape{states: 5 + int(seed%3), forward: true, outcomes: seed%2 == 0,
			cancels: seed%4 == 0})
		if seed%3 == 0 { // what is a mean does not keep an episode going
			var err error
			if m, err = cmdp.NewModel(cmdp.ModelSpec{Dim: 2, Discount: 1, Means: []bool{false, true},
				Start: m.StartStates(), Kernels: []cmdp.Kernel{*m.Kernel(0)}}); err != nil {
				t.Fatal(err)
			}
		}
		policy, rows := stationary{some(seed)}, m.Rows(0)
		nothing := make([]bool, m.States())
		want, least, most := make(map[float64]float64), math.Inf(1), math.Inf(-1)
		each := func(s int, visit func(to int, probability float64, returns []float64)) {
			first, end := rows.Choices(s)
			probs := make([]float64, end-first)
			if first < end {
				policy.Distribution(probs, 0, s)
			}
			for a, x := range probs {
				next, prob := rows.Row(first + a)
				for e, to := range next {
					if x*prob[e] > 0 {
						visit(int(to), x*prob[e], rows.Outcome(first+a, e))
					}
				}
			}
		}
		for s := m.States() - 1; s >= 0; s-- {
			nothing[s] = true
			each(s, func(to int, _ float64, returns []float64) {
				nothing[s] = nothing[s] && nothing[to] && returns[0] == 0 && (returns[1] == 0 || m.Mean(1))
			})
		}
		var from func(s int, total, mass float64)
		from = func(s int, total, mass float64) {
			goesOn := false
			each(s, func(to int, probability float64, returns []float64) {
				goesOn = true
				from(to, total+returns[0], mass*probability)
			})
			if !goesOn {
				total = math.Round(total*1e6) / 1e6
				want[total] += mass
				least, most = min(least, total), max(most, total)
			}
		}
		for _, st := range m.StartStates() {
			from(st.State, 0, st.Probability)
		}
		if over := monitor.Over(m, policy); !slices.Equal(over, nothing) {
			t.Errorf("seed %d: over in %v: want %v", seed, over, nothing)
		}
		values, probabilities, ok := monitor.Distribution(t.Context(), m, policy, 0)
		if !ok || len(values) != len(want) {
			t.Fatalf("seed %d: %v: want those of %v", seed, values, want)
		}
		for i, x := range values {
			if math.Abs(probabilities[i]-want[x]) > 1e-12 {
				t.Errorf("seed %d: %g has probability %g: want %g", seed, x, probabilities[i], want[x])
			}
		}
		up, down := monitor.Greatest(m, policy, 0, 1), -monitor.Greatest(m, policy, 0, -1)
		if math.Abs(up-most) > 1e-9 || math.Abs(down-least) > 1e-9 {
			t.Errorf("seed %d: from %g to %g: want %g to %g", seed, down, up, least, most)
		}
	}
	var none *monitor.ProductModel
	if none.State(3) != 3 || none.Action(1, 2, 4) != 4 || none.Memory(3)+none.Recall(3) != "" ||
		none.Remembered() != nil || none.Restricted() {
		t.Error("no product is not its base")
	}
}

// stationary is a policy as it is at the first step, with probabilities that sum to 1.
type stationary struct{ cmdp.Policy }

func (p stationary) Distribution(dst []float64, _, s int) {
	p.Policy.Distribution(dst, 0, s)
	floats.Scale(1/floats.Sum(dst), dst)
}

// some takes each action of a state with the same probability, but for one of them.
type some uint64

func (some) Choose(*rand.Rand, int, int) int { panic("not played") }

func (p some) Distribution(dst []float64, h, s int) {
	for a := range dst {
		dst[a] = 1 / float64(len(dst))
	}
	if n := len(dst); n > 1 {
		dst[(int(p)+h+s)%n] = 0
	}
}

// TestGreatestToTheEnd plays until a die shows six, at 0.5 a throw: after one throw at the soonest, never for
// certain. What the start takes away comes on top; it leads to the end with probability 0. An end that pays is
// none.
func TestGreatestToTheEnd(t *testing.T) {
	for _, c := range []struct{ throw, end, least, most float64 }{
		{0.5, 0, 0.25, math.Inf(1)}, {-0.5, 0, math.Inf(-1), -0.75}, {0, 0, -0.25, -0.25},
		{0.5, 0.5, math.Inf(1), math.Inf(-1)},
	} {
		m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: 1, Dim: 1,
			Start: []cmdp.StartState{{State: 0, Probability: 1}}, Kernels: []cmdp.Kernel{{
				First: []int32{0, 1, 2, 3}, Offset: []int{0, 2, 4, 5}, Next: []int32{1, 2, 1, 2, 2},
				Prob: []float64{1, 0, 5. / 6, 1. / 6, 1}, Returns: []float64{-0.25, c.throw, c.end}}}})
		if err != nil {
			t.Fatal(err)
		}
		least, most := 0-monitor.Greatest(m, always{}, 0, -1), monitor.Greatest(m, always{}, 0, 1)
		if least != c.least || most != c.most {
			t.Errorf("a throw pays %g, the end %g: totals from %g to %g, want %g to %g", c.throw, c.end, least, most,
				c.least, c.most)
		}
	}
}

// always takes the only action.
type always struct{ cmdp.Policy }

func (always) Distribution(dst []float64, _, _ int) { dst[0] = 1 }
