package markov

import (
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/mat"
)

// drawRule draws a rule that randomises in some states.
func drawRule(rng *rand.Rand, k *cmdp.Kernel) *Rule {
	n := len(k.First) - 1
	st := &Rule{Actions: NewActions(n, 256)}
	for s := range n {
		actions := int(k.First[s+1] - k.First[s])
		if actions == 0 {
			continue
		}
		st.Actions.Set(s, rng.IntN(actions))
		if rng.IntN(3) == 0 {
			probs, sum := make([]float64, actions), 0.0
			for a := range probs {
				if rng.IntN(3) > 0 {
					probs[a] = rng.Float64()
					sum += probs[a]
				}
			}
			for a := range probs {
				probs[a] /= sum
			}
			if sum > 0 {
				st.Mix(int32(s), probs)
			}
		}
	}
	return st
}

// visitsOf returns the visits of a kernel in all states, with its quotient.
func visitsOf(k *cmdp.Kernel, gamma float64) (*Visits, *Quotient) {
	g := &Graph{Kernel: k}
	q := g.Number(g.Components(), nil)
	return NewVisits(q, gamma, new(Chain)), q
}

// checkVisits compares the visits of random rules with those of a dense system, twice each, as the first are a
// guess for the second, and the change that other arrivals bring about with the visits of these alone. In a
// recurrent class, without a discount, the visits add up to the probability of coming there.
func checkVisits(t *testing.T, rng *rand.Rand, k *cmdp.Kernel, gamma float64) (classes int) {
	t.Helper()
	n := len(k.First) - 1
	v, q := visitsOf(k, gamma)
	for range 3 {
		st := drawRule(rng, k)
		p, _ := transition(k, st)
		rec, r := recurrent(k, p), closure(p)
		if gamma < 1 {
			clear(rec)
		}
		a := minus(p, gamma, rec)
		if mat.Cond(a, 1) > 1e9 {
			continue
		}
		arrivals := make([]float64, n)
		arrivals[rng.IntN(n)] += 0.75
		arrivals[rng.IntN(n)] += 0.25
		want := denseSolve(t, a.T(), arrivals)
		check := func(counts func(s int) float64) {
			t.Helper()
			for s := range n {
				got, sum := 0.0, 0.0
				for to := range n {
					if to == s || rec[s] && r[s][to] {
						got += counts(to)
						sum += want[to]
					}
				}
				if q.Number[s] != q.Rest && !near(got, sum, 1e-6) {
					t.Fatalf("γ = %g: %.15g visits of state %d, recurrent %v: want %.15g", gamma, got, s, rec[s], sum)
				}
			}
		}
		mass := make([]float64, q.Rest+1)
		for s, x := range arrivals {
			mass[q.Number[s]] += x
		}
		got, err := v.Solve(t.Context(), st, mass, false)
		if err != nil {
			t.Fatal(err)
		}
		check(func(s int) float64 { return got.Counts[q.Number[s]] })
		for s := range n {
			listed := slices.Contains(got.Recurrent, int32(s))
			if listed && !rec[s] || !listed && rec[s] && got.Counts[q.Number[s]] > 0 {
				t.Fatalf("γ = %g: state %d, recurrent %v, goes on for ever: %v", gamma, s, rec[s], listed)
			}
			if listed {
				classes++
			}
		}
		change := v.Change()
		for s, x := range arrivals {
			change.Add(q.Number[s], x)
		}
		if err := change.Solve(t.Context(), st); err != nil {
			t.Fatal(err)
		}
		check(func(s int) float64 { return change.Counts[q.Number[s]] })
		each := make([]float64, n)
		change.Each(func(s int32, x float64) { each[s] += x })
		for s := range n {
			want := change.Counts[q.Number[s]]
			if slices.Contains(change.Recurrent, int32(s)) {
				want = 0
			}
			if q.Number[s] != q.Rest && each[s] != want {
				t.Fatalf("a change of %g visits of state %d: want %g", each[s], s, want)
			}
		}
		change.Clear()
	}
	return classes
}

func TestVisits(t *testing.T) {
	for _, large := range []bool{false, true} { // by the methods for large models too
		if large {
			t.Cleanup(threshold.Lower())
		}
		rng := rand.New(rand.NewPCG(22, 4))
		classes := 0
		for range 400 {
			k := drawModel(rng, 1+rng.IntN(8))
			for _, gamma := range []float64{0.5, 0.99, 1} {
				classes += checkVisits(t, rng, k, gamma)
			}
		}
		if classes < 200 {
			t.Errorf("%d recurrent states: want many", classes)
		}
	}
}
