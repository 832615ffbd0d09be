package exact

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// uniform takes every action with the same probability.
type uniform struct{ cmdp.Policy }

func (uniform) Distribution(dst []float64, _, _ int) {
	for a := range dst {
		dst[a] = 1 / float64(len(dst))
	}
}

// first takes the first action.
type first struct{ cmdp.Policy }

func (first) Distribution(dst []float64, _, _ int) {
	clear(dst)
	dst[0] = 1
}

// sumsOf returns the expected sum of the returns of n steps under a policy.
func sumsOf(m *cmdp.Model, policy cmdp.Policy, n int) []float64 {
	k, d := m.Kernel(0).Plain(m.Dim()), m.Dim()
	now, total := make([]float64, m.States()), make([]float64, d)
	for _, st := range m.StartStates() {
		now[st.State] += st.Probability
	}
	for range n {
		next := make([]float64, m.States())
		for s, x := range now {
			actions := int(k.First[s+1] - k.First[s])
			if actions == 0 {
				next[s] += x
				continue
			}
			probs := make([]float64, actions)
			policy.Distribution(probs, 0, s)
			for a, y := range probs {
				c := int(k.First[s]) + a
				floats.AddScaled(total, x*y, k.Returns[c*d:(c+1)*d])
				for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
					next[k.Next[e]] += x * y * k.Prob[e]
				}
			}
		}
		now = next
	}
	return total
}

// TestEvaluateDrift compares means with sums of a few and of many steps, which are no farther from N times
// the mean than the drift says, for chains with several classes and with periods; and the drift is no
// larger than the relative values of the model, whose size many sums show.
func TestEvaluateDrift(t *testing.T) {
	models, steps := uint64(60), []int{1, 2, 3, 5, 8, 13, 40, 1000, 20001}
	if testing.Short() {
		models, steps = 20, steps[:8]
	}
	for seed := range models {
		rng := rand.New(rand.NewPCG(seed, 3))
		m := randomAverage(t, seed, 3+rng.IntN(8), 2)
		var policy cmdp.Policy = uniform{}
		if seed%2 == 0 {
			policy = first{}
		}
		e, err := Evaluate(t.Context(), m, policy)
		if err != nil {
			t.Fatal(err)
		}
		seen := make([]float64, m.Dim())
		for _, n := range steps {
			for i, x := range sumsOf(m, policy, n) {
				away := math.Abs(x - float64(n)*e.Returns[i])
				seen[i] = math.Max(seen[i], away)
				if away > e.Drift[i]+1e-11*float64(n) {
					t.Errorf("seed %d, return %d: %d steps give %v, %v away from the mean %v: want at most %v", seed, i,
						n, x, away, e.Returns[i], e.Drift[i])
				}
			}
		}
		for i, x := range seen {
			if e.Drift[i] > 100 && e.Drift[i] > 20*x {
				t.Errorf("seed %d, return %d: drift %v, and sums are at most %v away", seed, i, e.Drift[i], x)
			}
		}
	}
}

// TestEvaluateSpan compares the means of a policy in two models with the same returns, whose rows differ by at most x
// in the 1-norm: they differ by at most x/2 times the span of the relative values in either. A chain with two
// classes has no span.
func TestEvaluateSpan(t *testing.T) {
	classes := 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 4))
		m := randomAverage(t, seed, 3+rng.IntN(5), 2)
		a, err := Evaluate(t.Context(), m, uniform{})
		if err != nil {
			t.Fatal(err)
		}
		if math.IsInf(a.Span[0], 1) {
			classes++
			continue
		}
		k := *m.Kernel(0).Plain(m.Dim())
		k.Prob = slices.Clone(k.Prob)
		x := 0.0
		for c := range len(k.Offset) - 1 {
			row := k.Prob[k.Offset[c]:k.Offset[c+1]]
			before := slices.Clone(row)
			for e := range row {
				row[e] *= 1 + 0.3*rng.Float64()
			}
			floats.Scale(1/floats.Sum(row), row)
			x = math.Max(x, floats.Distance(before, row, 1))
		}
		other, err := cmdp.NewModel(cmdp.ModelSpec{Average: true, Dim: m.Dim(), Start: m.StartStates(),
			Kernels: []cmdp.Kernel{k}})
		if err != nil {
			t.Fatal(err)
		}
		b, err := Evaluate(t.Context(), other, uniform{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range a.Returns {
			away := math.Abs(a.Returns[i] - b.Returns[i])
			if bound := x / 2 * math.Min(a.Span[i], b.Span[i]); away > bound+1e-12 {
				t.Errorf("seed %d, return %d: means %v apart: want at most %v", seed, i, away, bound)
			}
		}
	}
	if classes == 0 || classes > 50 {
		t.Errorf("%d of 60 models have several classes: want some of both kinds", classes)
	}
}

// TestRelativeValues compares span and drift of every policy that never draws with relative values by their definition:
// h of a chain without periods is the sum of what its means differ from the long-run mean by, and (I + P)/2 has half of
// that of P. States that are not reached, or rest, are drawn too.
func TestRelativeValues(t *testing.T) {
	kinds := make(map[int]int) // by the number of recurrent classes
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 6))
		spec := cmdp.ModelSpec{Dim: 2, Discount: 1, Means: []bool{true, seed%3 > 0},
			Start: []cmdp.StartState{{State: 0, Probability: 0.25}, {State: 1, Probability: 0.75}}}
		m := drawRows(t, rng, spec, 1, 5, false)
		everyPolicy(m, func(choices []int32) {
			policy := make([]int32, len(choices))
			for s, c := range choices {
				policy[s] = max(0, c-m.Kernel(0).First[s])
			}
			e, err := Evaluate(t.Context(), m, cmdp.Deterministic{policy})
			if err != nil {
				t.Fatal(err)
			}
			for i := range m.Dim() {
				span, drift, classes := 0.0, 0.0, 1
				if m.Mean(i) {
					span, drift, classes = relativeValues(m, choices, i)
				}
				kinds[min(classes, 2)]++
				near := func(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-9*(1+b) }
				if !near(e.Span[i], span) || classes == 1 && !near(e.Drift[i], drift) {
					t.Errorf("seed %d, policy %v, return %d: span %g, drift %g: want %g, %g", seed, policy, i, e.Span[i],
						e.Drift[i], span, drift)
				}
			}
		})
	}
	if kinds[1] < 500 || kinds[2] < 150 {
		t.Errorf("%v: want many of both", kinds)
	}
}

// relativeValues returns the span of the relative values of a return, and their largest distance from that of the
// start, of the chain that some choices make; −1 stands for rest. The span is +Inf with several recurrent classes.
func relativeValues(m *cmdp.Model, choices []int32, i int) (span, drift float64, classes int) {
	n, k := m.States(), m.Kernel(0).Plain(m.Dim())
	lazy, h := mat.NewDense(n, n, nil), mat.NewVecDense(n, nil)
	for s, c := range choices {
		lazy.Set(s, s, 0.5)
		if c < 0 {
			lazy.Set(s, s, 1)
			continue
		}
		h.SetVec(s, k.Returns[int(c)*m.Dim()+i]/2)
		for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
			lazy.Set(s, int(k.Next[e]), lazy.At(s, int(k.Next[e]))+k.Prob[e]/2)
		}
	}
	var soon, far mat.Dense
	soon.Pow(lazy, n) // positive wherever a state leads
	const doublings = 22
	far.Pow(lazy, 1<<doublings)
	mean := mat.NewVecDense(n, nil)
	mean.MulVec(&far, h)
	h.SubVec(h, mean)
	power := mat.DenseCopyOf(lazy)
	for range doublings {
		more := mat.NewVecDense(n, nil)
		more.MulVec(power, h)
		h.AddVec(h, more) // the sum of twice as many steps
		power.Mul(power, power)
	}
	low, high, begin, recurrent := math.Inf(1), math.Inf(-1), 0.0, 0.0
	for _, st := range m.StartStates() {
		begin += st.Probability * h.AtVec(st.State)
	}
	for s := range n {
		if !slices.ContainsFunc(m.StartStates(), func(st cmdp.StartState) bool { return soon.At(st.State, s) > 0 }) {
			continue
		}
		low, high = math.Min(low, h.AtVec(s)), math.Max(high, h.AtVec(s))
		recurrent += far.At(s, s) // which sum up to 1 in each class
	}
	classes = int(math.Round(recurrent))
	if classes > 1 {
		return math.Inf(1), 0, classes
	}
	return high - low, math.Max(high-begin, begin-low), 1
}

// TestEvaluateTotals evaluates totals that end, and one that does not, by hand.
func TestEvaluateTotals(t *testing.T) {
	b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 3)
	for _, r := range []cmdp.Row{
		{Step: cmdp.EveryStep, State: 0, Action: 0, Returns: []float64{1, 0},
			Next: []cmdp.Transition{{Next: 0, Probability: 0.75}, {Next: 2, Probability: 0.25}}},
		{Step: cmdp.EveryStep, State: 0, Action: 1, Returns: []float64{0, 0},
			Next: []cmdp.Transition{{Next: 1, Probability: 1}}},
		{Step: cmdp.EveryStep, State: 1, Action: 0, Returns: []float64{0, -1},
			Next: []cmdp.Transition{{Next: 1, Probability: 1}}},
	} {
		if err := b.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	e, err := Evaluate(t.Context(), m, first{})
	if err != nil || math.Abs(e.Returns[0]-4) > 1e-14 || e.Returns[1] != 0 || e.Drift[0] != 0 {
		t.Errorf("%+v, %v: want 4 and 0, and no drift", e, err)
	}
	e, err = Evaluate(t.Context(), m, uniform{}) // half of it each step goes on: 1/2 + 3/8·… steps of 1/2
	if err != nil || math.Abs(e.Returns[0]-0.8) > 1e-14 || !math.IsInf(e.Returns[1], -1) {
		t.Errorf("%+v, %v: want 0.8 and −∞", e, err)
	}
}
