package exact

import (
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/progress"
)

// layered draws a model in which a state leads a few states on, so that few are reached at a step; every eighth state
// rests, and with wide set any state may be the first.
func layered(t testing.TB, seed uint64, states, horizon int, wide bool) *cmdp.Model {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 81))
	start := []cmdp.StartState{{State: rng.IntN(3), Probability: 1}}
	if wide {
		start = start[:0]
		for s := range states {
			start = append(start, cmdp.StartState{State: s, Probability: 1 / float64(states)})
		}
	}
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: horizon, Dim: 2, Start: start}, states)
	for s := range states {
		if s%8 == 7 {
			continue
		}
		for a := range 1 + rng.IntN(2) {
			one, other := min(states-1, s+1+rng.IntN(4)), min(states-1, s+6)
			row := cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a, Returns: []float64{rng.Float64(), rng.Float64()},
				Next: []cmdp.Transition{{Next: one, Probability: 1}}}
			if one != other {
				row.Next = []cmdp.Transition{{Next: one, Probability: 0.25}, {Next: other, Probability: 0.75}}
			}
			if err := b.Add(row); err != nil {
				t.Fatal(err)
			}
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestReachedSpans compares the spans with the states that are reached step by step, and value iteration
// on them with that of all states: every bit is the same.
func TestReachedSpans(t *testing.T) {
	few := 0
	for seed := range uint64(60) {
		m := layered(t, seed, 40+int(seed), 1+int(seed%9), seed%4 == 3)
		f := newFiniteHorizon(m, 1+int(seed%2))
		dir := []float64{1, -0.5}
		all, _, err := f.valueIteration(t.Context(), dir, f.newActions(), nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.price(t.Context(), dir, 0)
		if err != nil || got.value != all {
			t.Errorf("seed %d: %v, %v: want %v as with all states", seed, got.value, err, all)
		}
		if value, margin, err := f.recheck(t.Context(), dir); err != nil || value-all > margin || all-value > margin {
			t.Errorf("seed %d: checked again %v with margin %v, %v: want %v", seed, value, margin, err, all)
		}
		reached, pairs := map[int]bool{}, 0
		for _, st := range m.StartStates() {
			reached[st.State] = true
		}
		for h := range m.Horizon() {
			pairs += len(reached)
			if f.reachable != nil {
				count := 0
				for i, r := range f.reachable[h] {
					if i > 0 && r.lo <= f.reachable[h][i-1].hi {
						t.Errorf("seed %d, step %d: spans %v are not apart", seed, h, f.reachable[h])
					}
					for s := r.lo; s < r.hi; s++ {
						if count++; !reached[s] {
							t.Errorf("seed %d, step %d: state %d is not reached", seed, h, s)
						}
					}
				}
				if count != len(reached) {
					t.Errorf("seed %d, step %d: %d states: want %d", seed, h, count, len(reached))
				}
			}
			next, k := map[int]bool{}, m.Kernel(h)
			for s := range reached {
				if k.First[s] == k.First[s+1] {
					next[s] = true
				}
				for e := k.Offset[k.First[s]]; e < k.Offset[k.First[s+1]]; e++ {
					next[int(k.Next[e])] = true
				}
			}
			reached = next
		}
		some := f.reachable != nil
		if some {
			few++
		}
		if some != (2*pairs <= m.Horizon()*m.States()) && m.Horizon()*m.States()%2 == 0 {
			t.Errorf("seed %d: %d of %d pairs are reached: spans are %v", seed, pairs, m.Horizon()*m.States(), f.reachable)
		}
	}
	if few < 20 || few > 55 {
		t.Errorf("%d of 60 models have spans: the test says little", few)
	}
}

// TestTellsWhoWaits: what works for another caller than before tells that one how far it is, in all that it does, and
// the one before nothing.
func TestTellsWhoWaits(t *testing.T) {
	const states = progress.Many
	k := cmdp.NewKernel()
	for s := range int32(states) { // a ring, which may be left at one place
		k.Append([]int32{(s + 1) % states}, []float64{1}, []float64{0})
		if s == 0 {
			k.Append([]int32{states}, []float64{1}, []float64{1})
		}
		k.EndState()
	}
	k.EndState()
	m := totalsOf(t, k, 1)
	waits, told := 0, [2]int{}
	hears := func(who int) progress.Func {
		return func(what string, _ float64) {
			told[who]++
			if who != waits {
				t.Errorf("told of %q while somebody else waits", what)
			}
		}
	}
	p, err := newInfiniteHorizon(t.Context(), m, 1, allRelevant(1), hears(0))
	if err != nil {
		t.Fatal(err)
	}
	waits = 1
	p.configure(hears(1), 0, false)
	if _, err := p.endComponents(t.Context(), p.choices(func(int32) bool { return true })); err != nil {
		t.Fatal(err)
	}
	if told[0] == 0 || told[1] == 0 {
		t.Errorf("told %d times", told)
	}
}
