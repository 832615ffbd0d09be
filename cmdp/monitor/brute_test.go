package monitor_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
)

// A history is an episode as it happened: states[0], then a return vector and a state for
// each step.
type history struct {
	states  []int
	returns [][]float64
}

func (h history) total(i int) float64 {
	// Returns are tenths: their sum is rounded to what it would be without rounding.
	sum := 0.0
	for _, r := range h.returns {
		sum += r[i]
	}
	return math.Round(sum*1e6) / 1e6
}

// best returns the greatest expectation of sign·f over all policies that know the history, by going through
// all histories, and whether some policy surely ends in one that keeps. A nil keeps asks for nothing.
func best(m *cmdp.Model, sign float64, f func(history) float64,
	keeps func(history) bool) (value float64, possible bool) {
	var from func(h history) (float64, bool)
	from = func(hist history) (float64, bool) {
		step, s := len(hist.returns), hist.states[len(hist.states)-1]
		if step == m.Horizon() {
			return sign * f(hist), keeps == nil || keeps(hist)
		}
		k, d := m.Kernel(step).Plain(m.Dim()), m.Dim()
		if k.First[s] == k.First[s+1] {
			return from(extend(hist, s, make([]float64, d)))
		}
		value, possible := math.Inf(-1), false
		for c := int(k.First[s]); c < int(k.First[s+1]); c++ {
			sum, all := 0.0, true
			for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
				if k.Prob[e] == 0 {
					continue
				}
				r := k.Returns[c*d : (c+1)*d]
				if k.Outcomes != nil {
					r = k.Outcomes[e*d : (e+1)*d]
				}
				v, ok := from(extend(hist, int(k.Next[e]), r))
				sum, all = sum+k.Prob[e]*v, all && ok
			}
			if all {
				value, possible = max(value, sum), true
			}
		}
		return value, possible
	}
	possible = true
	for _, st := range m.StartStates() {
		if st.Probability == 0 {
			continue
		}
		v, ok := from(history{states: []int{st.State}})
		value, possible = value+st.Probability*v, possible && ok
	}
	return value, possible
}

func extend(h history, s int, r []float64) history {
	return history{append(h.states[:len(h.states):len(h.states)], s),
		append(h.returns[:len(h.returns):len(h.returns)], r)}
}

// shape says which random models to draw.
type shape struct {
	states, horizon                              int
	stepwise, rests, outcomes, negative, certain bool
	forward                                      bool // states lead to later ones, and the last one rests
	cancels                                      bool // some choices return nothing but outcomes whose mean is 0
}

// next draws a successor.
func (sh shape) next(rng *rand.Rand, s int) int {
	if sh.forward {
		return s + 1 + rng.IntN(sh.states-s-1)
	}
	return rng.IntN(sh.states)
}

// randomModel draws a model with returns that are multiples of 0.1, from 0 to 0.3 or from −0.2 to 0.3. Some
// starts and transitions have probability 0.
func randomModel(t testing.TB, rng *rand.Rand, sh shape) *cmdp.Model {
	t.Helper()
	spec := cmdp.ModelSpec{Horizon: sh.horizon, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}
	if sh.horizon == 0 {
		spec.Discount = 1
	}
	if rng.IntN(2) == 0 {
		spec.Start = []cmdp.StartState{{State: 0, Probability: 0.25}, {State: 1, Probability: 0.75}}
		if sh.certain {
			slices.Reverse(spec.Start)
		}
	}
	if sh.states > 2 && rng.IntN(3) == 0 { // never
		spec.Start = append(spec.Start, cmdp.StartState{State: 2, Probability: 0})
	}
	b := cmdp.NewBuilder(spec, sh.states)
	steps := []int{cmdp.EveryStep}
	if sh.stepwise {
		steps = nil
		for h := range sh.horizon {
			steps = append(steps, h+1)
		}
	}
	draw := func() []float64 {
		r := []float64{float64(rng.IntN(4)) / 10, float64(rng.IntN(3))}
		if sh.negative {
			r[0] = float64(rng.IntN(6)-2) / 10
		}
		return r
	}
	for _, h := range steps {
		for s := range sh.states {
			if sh.rests && rng.IntN(4) == 0 || sh.forward && s == sh.states-1 {
				continue
			}
			for a := range 1 + rng.IntN(2) {
				row := cmdp.Row{Step: h, State: s, Action: a, Returns: draw()}
				p := []float64{0.5, 0.25, 0.25}
				if sh.certain && a == 0 {
					p = []float64{1}
				}
				cancels := sh.cancels && len(p) > 1 && rng.IntN(2) == 0
				for i, x := range p {
					next := cmdp.Transition{Next: sh.next(rng, s), Probability: x}
					if sh.outcomes {
						next.Returns, row.Returns = draw(), nil
					}
					if cancels {
						next.Returns, row.Returns = []float64{0, float64(min(i, 1)*2 - 1)}, nil
					}
					row.Next = append(row.Next, next)
				}
				addRow(t, b, row)
			}
		}
	}
	m := built(t, b)
	return withImpossible(t, rng, m)
}

// withImpossible adds transitions of probability 0 to some choices of a model.
func withImpossible(t testing.TB, rng *rand.Rand, m *cmdp.Model) *cmdp.Model {
	t.Helper()
	spec := cmdp.ModelSpec{Horizon: m.Horizon(), Dim: m.Dim(), Start: m.StartStates()}
	if spec.Horizon == 0 {
		spec.Discount = m.Discount()
	}
	kernels := 1
	if !m.Stationary() {
		kernels = m.Horizon()
	}
	for h := range kernels {
		k, d := m.Kernel(h).Plain(m.Dim()), m.Dim()
		out := cmdp.Kernel{First: k.First, Offset: []int{0}, Returns: k.Returns}
		for c := range len(k.Offset) - 1 {
			first, end := k.Offset[c], k.Offset[c+1]
			out.Next, out.Prob = append(out.Next, k.Next[first:end]...), append(out.Prob, k.Prob[first:end]...)
			if k.Outcomes != nil {
				out.Outcomes = append(out.Outcomes, k.Outcomes[first*d:end*d]...)
			}
			if rng.IntN(4) == 0 {
				out.Next, out.Prob = append(out.Next, int32(rng.IntN(m.States()))), append(out.Prob, 0)
				if k.Outcomes != nil {
					out.Outcomes = append(out.Outcomes, k.Outcomes[:d]...)
				}
			}
			out.Offset = append(out.Offset, len(out.Next))
		}
		spec.Kernels = append(spec.Kernels, out)
	}
	with, err := cmdp.NewModel(spec)
	if err != nil {
		t.Fatal(err)
	}
	return with
}

func randomSet(rng *rand.Rand, n int) []bool {
	in := make([]bool, n)
	for s := range in {
		in[s] = rng.IntN(2) == 0
	}
	return in
}
