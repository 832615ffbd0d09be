package markov

import (
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp/cmdptest"

	"gonum.org/v1/gonum/floats"
)

func countPositive(probs []float64) int {
	return floats.Count(func(x float64) bool { return x > 0 }, probs)
}

// TestRule compares rules whose actions are kept in bits, bytes and words with a table of probabilities, while
// they are set, mixed, assigned and copied in a random order.
func TestRule(t *testing.T) {
	const states = 20
	for trial := range 60 {
		rng := rand.New(rand.NewPCG(23, uint64(trial)))
		actions := []int{2, 3, 256, 257}[trial%4]
		k := cmdptest.DrawKernel(rng, states)
		for s := range states + 1 {
			k.First[s] = int32(s * actions)
		}
		st := &Rule{Actions: NewPackedActions(states, actions)}
		if trial%3 == 0 {
			st.Actions = NewActions(states, actions)
		}
		want := make([][]float64, states)
		for s := range want {
			want[s] = make([]float64, actions)
			want[s][0] = 1
		}
		for range 80 {
			s, mass, total := rng.IntN(states), make([]float64, actions), 0.0
			size := []float64{1, 1, 1e15}[rng.IntN(3)]
			for range rng.IntN(4) {
				x := size * float64(1+rng.IntN(3))
				mass[[]int{rng.IntN(actions), actions - 1}[rng.IntN(2)]] += x
				total += x
			}
			exact := slices.Clone(mass)
			for a := range mass[:2] { // what rounding leaves is not drawn
				if mass[a] == 0 {
					mass[a] = 0x1p-52 * min(total, 1) * rng.Float64()
				}
			}
			// What is taken once is drawn, be it among many.
			if a := rng.IntN(actions); total > 0 && exact[a] == 0 && rng.IntN(2) == 0 {
				mass[a], exact[a] = 1, 1
				total++
			}
			st.Assign(s, mass, total)
			if total > 0 {
				for a, x := range exact {
					want[s][a] = x / total
				}
			}
			if rng.IntN(4) == 0 { // the rule goes on as it is, whatever becomes of its copy
				before := st
				st = st.Clone()
				if !st.Actions.Equal(&before.Actions) {
					t.Fatal("a copy has other actions")
				}
				other := (st.Actions.At(s) + 1) % actions
				before.Actions.Set(s, other)
				if st.Actions.Equal(&before.Actions) || before.Actions.At(s) != other {
					t.Fatalf("actions where state %d has another one are said to be the same", s)
				}
				before.Assign(rng.IntN(states), []float64{0, 1}, 1)
				before.Mix(int32(s), []float64{0.5, 0.5})
				for _, probs := range before.Mixed {
					probs[0] = 7
				}
			}
		}
		st.Actions = st.Actions.Packed(actions)
		if n := st.Actions.Bytes(); n != map[int]int{2: 3, 3: 20, 256: 20, 257: 80}[actions] {
			t.Fatalf("%d actions in %d states take %d bytes", actions, states, n)
		}
		for s := range want {
			got := make([]float64, actions)
			for _, x := range st.Choose(nil, k, int32(s)) {
				got[x.Choice-s*actions] += x.Prob
			}
			if !floats.EqualApprox(got, want[s], 1e-15) || countPositive(got) != countPositive(want[s]) {
				t.Fatalf("%d actions, state %d: %v: want %v", actions, s, got, want[s])
			}
		}
	}
}
