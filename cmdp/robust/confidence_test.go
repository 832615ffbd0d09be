package robust_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/robust"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// TestFromCounts draws data from a model whose choices have two to five successors: the true probabilities are in all
// of the intervals in at least the share of the data sets that is promised, and intervals become narrower with more
// data.
func TestFromCounts(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	c := newCase(t, rng, shape{states: 5, actions: 2, successors: 5, horizon: 2, width: 0, steps: true,
		outcomes: true}, false)
	m := c.model
	const level, sets = 0.8, 200
	missed, widths := 0, []float64{}
	for i := range sets {
		n := uint32(20 * (1 + i%5))
		counts := drawCounts(t, rng, m, n)
		of, iv, known, err := robust.FromCounts(m, counts, false, level)
		if err != nil {
			t.Fatal(err)
		}
		estimated := 0 // of two probabilities one says the other
		for h := range m.Horizon() {
			for c := range m.Kernel(h).Choices() {
				next, _ := m.Rows(h).Row(c)
				estimated += []int{0, 0, 1, 3, 4, 5}[len(next)]
			}
		}
		if known.Probabilities != estimated {
			t.Fatalf("%d probabilities: want %d", known.Probabilities, estimated)
		}
		if of.Kernels() != 2 || known.Unvisited != 0 || known.Level != level {
			t.Fatalf("%d kernels, %+v", of.Kernels(), known)
		}
		checkEstimate(t, m, of, iv, m.Horizon())
		inside := true
		for h := range of.Kernels() {
			for s := range m.States() {
				first, end := m.Rows(h).Choices(s)
				for choice := first; choice < end; choice++ {
					_, prob := m.Rows(h).Row(choice)
					lower, upper := iv.Row(h, choice)
					for e, p := range prob {
						inside = inside && (lower == nil || p >= lower[e] && p <= upper[e])
					}
				}
			}
		}
		if !inside {
			missed++
		}
		if i < 5 {
			widths = append(widths, iv.Width())
		}
	}
	if share := float64(missed) / sets; share > 1-level {
		t.Errorf("the truth is outside of the intervals in a share of %g of the data sets: want at most %g", share,
			1-level)
	}
	for i := 1; i < len(widths); i++ {
		if widths[i] >= widths[i-1]*1.2 {
			t.Errorf("widths %v: want narrower intervals for more data", widths)
		}
	}
}

// drawCounts draws n visits of each choice at each step.
func drawCounts(t *testing.T, rng *rand.Rand, m *cmdp.Model, n uint32) *cmdp.Counts {
	t.Helper()
	counts, err := cmdp.NewCounts(m.Shape(), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	for h := range m.Horizon() {
		for s := range m.States() {
			first, end := m.Rows(h).Choices(s)
			for c := first; c < end; c++ {
				next, prob := m.Rows(h).Row(c)
				for range n {
					u, at := rng.Float64(), len(next)-1
					for i, p := range prob {
						u -= p
						if u < 0 {
							at = i
							break
						}
					}
					if err := counts.Add(h, s, c-first, int(next[at]), 1); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	return counts
}

// TestIntervalsByFormula compares intervals, of choices with 1 to 600 successors that were seen any number of times,
// with those of Clopper and Pearson by sums of binomial probabilities, cut with the bound of Weissman et al. The latter
// is narrower only where other choices have many more successors.
func TestIntervalsByFormula(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 9))
	const wrong = 0.05
	whole, unvisited := 0, 0
	for range 5 {
		const states, large = 600, 10
		k, choices, probabilities := cmdp.NewKernel(), 0.0, 0.0
		for s := range states {
			next := rng.Perm(states)[:1]
			if s < large {
				next = rng.Perm(states)[:[]int{1, 2, 3, states, states, states}[rng.IntN(6)]]
			}
			prob, b := make([]float64, len(next)), len(next)
			to := make([]int32, b)
			for i, s := range next {
				prob[i], to[i] = 1/float64(b), int32(s)
			}
			slices.Sort(to)
			k.Append(to, prob, []float64{1})
			k.EndState()
			if b > 1 {
				choices++
				probabilities += float64([]int{b, 1}[min(1, max(0, 3-b))])
			}
		}
		m, err := cmdp.NewModel(cmdp.ModelSpec{Horizon: 3, Dim: 1, Kernels: []cmdp.Kernel{k},
			Start: []cmdp.StartState{{State: 7, Probability: 0.25}, {State: 3, Probability: 0.75}}})
		if err != nil {
			t.Fatal(err)
		}
		counts, err := cmdp.NewCounts(m.Shape(), true, nil)
		if err != nil {
			t.Fatal(err)
		}
		var seen [states][]float64
		for s := range states {
			next, _ := m.Kernel(0).Row(s)
			most := []uint32{0, 1, 50, 300}[rng.IntN(min(4, 1+states/len(next)))]
			even := rng.IntN(2) == 0
			for _, to := range next {
				times := most
				if !even {
					times = rng.Uint32N(most + 1)
				}
				seen[s] = append(seen[s], float64(times))
				early := rng.Uint32N(times + 1)
				if err := errors.Join(counts.Add(0, s, 0, int(to), early),
					counts.Add(rng.IntN(3), s, 0, int(to), times-early)); err != nil {
					t.Fatal(err)
				}
			}
		}
		of, iv, known, err := robust.FromCounts(m, counts, true, 1-wrong)
		if err != nil {
			t.Fatal(err)
		}
		checkEstimate(t, m, of, iv, 1)
		if float64(known.Choices) != choices {
			t.Fatalf("%d choices were estimated: want %g", known.Choices, choices)
		}
		wantWhole, wantUnvisited := 0, 0
		for s := range states {
			b, n := float64(len(seen[s])), floats.Sum(seen[s])
			lower, upper := iv.Row(0, s)
			switch {
			case b == 1:
				if lower != nil {
					t.Fatalf("one successor has the interval %v to %v", lower, upper)
				}
				continue
			case n == 0:
				wantUnvisited++
				if floats.Max(lower) > 0 || floats.Min(upper) < 1 {
					t.Fatalf("a choice that was never seen has the intervals %v to %v", lower, upper)
				}
				continue
			}
			tail := 0.9 * wrong / probabilities / (n * (n + 1)) / 2
			half := math.Sqrt(2*math.Log((math.Pow(2, b)-2)*choices*n*(n+1)/(0.1*wrong))/n) / 2
			plain, cut := 0.0, 0.0
			for i, k := range seen[s] {
				least, most := 0.0, 1.0
				if k > 0 {
					least = tailed(n, k, tail)
				}
				if k < n {
					most = 1 - tailed(n, n-k, tail)
				}
				plain += most - least
				cut += min(1, k/n+half) - max(0, k/n-half)
				least, most = max(least, k/n-half), min(most, k/n+half)
				if math.Abs(lower[i]-least) > 1e-6 || math.Abs(upper[i]-most) > 1e-6 {
					t.Fatalf("%g of %g: %g to %g: want %g to %g", k, n, lower[i], upper[i], least, most)
				}
			}
			if cut < plain {
				wantWhole++
			}
		}
		if known.Weissman != wantWhole || known.Unvisited != wantUnvisited {
			t.Fatalf("%d choices are bounded as a whole and %d unvisited: want %d and %d", known.Weissman,
				known.Unvisited, wantWhole, wantUnvisited)
		}
		whole, unvisited = whole+wantWhole, unvisited+wantUnvisited
	}
	if whole == 0 || unvisited == 0 {
		t.Errorf("%d choices are bounded as a whole and %d unvisited: want some", whole, unvisited)
	}
}

// checkEstimate compares a model that was made of counts with the one that says what can happen, and its probabilities
// with the nominal ones of its intervals.
func checkEstimate(t *testing.T, m, of *cmdp.Model, iv *cmdp.Intervals, kernels int) {
	t.Helper()
	if of.Horizon() != m.Horizon() || of.Kernels() != kernels || !slices.Equal(of.StartStates(), m.StartStates()) {
		t.Fatalf("horizon %d, %d kernels, starts %v: want %d, %d, %v", of.Horizon(), of.Kernels(), of.StartStates(),
			m.Horizon(), kernels, m.StartStates())
	}
	for h := range kernels {
		for choice := range m.Kernel(h).Choices() {
			next, _ := m.Rows(h).Row(choice)
			to, prob := of.Rows(h).Row(choice)
			want := []float64{1}
			if lower, upper := iv.Row(h, choice); lower != nil {
				want = make([]float64, len(lower))
				cmdp.Nominal(want, lower, upper)
			}
			if !slices.Equal(to, next) || !floats.EqualApprox(prob, want, 1e-12) {
				t.Fatalf("kernel %d, choice %d: to %v with %v: want %v with %v", h, choice, to, prob, next, want)
			}
			mean := make([]float64, m.Dim())
			for e, p := range prob {
				floats.AddScaled(mean, p, m.Rows(h).Outcome(choice, e))
				if !slices.Equal(of.Rows(h).Outcome(choice, e), m.Rows(h).Outcome(choice, e)) {
					t.Fatalf("kernel %d, choice %d: returns %v to its successor %d: want %v", h, choice,
						of.Rows(h).Outcome(choice, e), e, m.Rows(h).Outcome(choice, e))
				}
			}
			if !floats.EqualApprox(of.Rows(h).Returns(choice), mean, 1e-9) {
				t.Fatalf("kernel %d, choice %d: returns %v: want %v", h, choice, of.Rows(h).Returns(choice), mean)
			}
		}
	}
}

// tailed returns the probability with which at least k of n are seen with a given small probability.
func tailed(n, k, tail float64) float64 {
	low, high := 0.0, k/n
	for high-low > 1e-7 {
		p := (low + high) / 2
		sum := 0.0
		for i := k; i <= n; i++ {
			term := distuv.Binomial{N: n, P: p}.Prob(i)
			sum += term
			if term < 1e-20*sum || sum > tail {
				break
			}
		}
		if sum > tail {
			high = p
		} else {
			low = p
		}
	}
	return low
}

// TestStrangeSuccessor: the error about a successor that the model does not have names the place where it was counted.
func TestStrangeSuccessor(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 9))
	c := newCase(t, rng, shape{states: 5, actions: 2, successors: 2, horizon: 3, steps: true}, false)
	for h := range c.model.Horizon() {
		for s := range c.model.States() {
			first, end := c.model.Rows(h).Choices(s)
			for choice := first; choice < end; choice++ {
				next, _ := c.model.Rows(h).Row(choice)
				to := 0
				for slices.Contains(next, int32(to)) {
					to++
				}
				counts := drawCounts(t, rng, c.model, 1)
				if err := counts.Add(h, s, choice-first, to, 1); err != nil {
					t.Fatal(err)
				}
				_, _, _, err := robust.FromCounts(c.model, counts, false, 0.9)
				want := fmt.Sprintf("step %d, state %d, action %d: the data has successor %d,", h+1, s, choice-first, to)
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v: want %q", err, want)
				}
			}
		}
	}
}
