package monitor_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/cmdptest"
	"cmdpsolve/cmdp/monitor"
)

// drawEndlessModel draws a model without a horizon, in which some states rest.
func drawEndlessModel(t *testing.T, rng *rand.Rand, states int) *cmdp.Model {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: 1, Start: []cmdp.StartState{{State: 0, Probability: 1}}},
		states)
	for s := range states - 1 {
		for a := range 1 + rng.IntN(3) {
			next, other := rng.IntN(states), rng.IntN(states)
			to := []cmdp.Transition{{Next: next, Probability: 1}}
			if other != next {
				to = []cmdp.Transition{{Next: next, Probability: 0.5}, {Next: other, Probability: 0.5}}
			}
			if err := b.Add(cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a, Returns: []float64{rng.Float64()},
				Next: to}); err != nil {
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

// TestTakenAlongEpisodes plays products that remember choices, one upon the other, and keeps account of what
// they ought to remember.
func TestTakenAlongEpisodes(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	rng := rand.New(rand.NewPCG(19, 1))
	for trial := range 100 {
		m := drawEndlessModel(t, rng, 3+rng.IntN(3))
		some := func(n int) []bool {
			out := make([]bool, n)
			for i := range out {
				out[i] = rng.IntN(3) == 0
			}
			return out
		}
		target := some(m.States())
		reach := &monitor.Reach{Title: "home", Target: target, Within: -1}
		lower := product(t, monitor.Spec{Model: m, Monitors: []monitor.Monitor{reach}})
		of := some(lower.Model.Choices())
		taken := &monitor.ChoiceTaken{Title: "loop", Choices: of, Before: "before it", After: "after it"}
		if err := cmdptest.CheckMonitor(lower.Model, taken); err != nil {
			t.Fatal(err)
		}
		p, err := lower.With(taken)
		if err != nil {
			t.Fatal(err)
		}
		if p.Base() != m || !slices.Equal(p.Monitors(), []monitor.Monitor{reach, taken}) {
			t.Fatal("another base, or other monitors")
		}
		play(t, rng, p, func(s int, state int, reached, done bool) {
			var parts []string
			for _, r := range p.Remembered() {
				parts = append(parts, map[string]string{"home": map[bool]string{true: "over",
					false: "under way"}[reached],
					"loop": map[bool]string{true: "after it", false: "before it"}[done]}[r.Name])
			}
			want := strings.Join(parts, "; ")
			if got := p.Memory(s); p.State(s) != state || !strings.HasSuffix(got, want) {
				t.Fatalf("trial %d: state %d remembers %q: want %d and %q", trial, p.State(s), got, state, want)
			}
			if p.Part(s, 0) == 1 != done {
				t.Fatalf("trial %d: done %v in %q", trial, done, p.Memory(s))
			}
		}, lower, target, of)
	}
}

// play plays a product of a product and calls look in each state, with what an episode has come to.
func play(t *testing.T, rng *rand.Rand, p *monitor.ProductModel, look func(s, state int, reached, done bool),
	lower *monitor.ProductModel, target, of []bool) {
	t.Helper()
	k, below, base := p.Model.Kernel(0).Plain(p.Model.Dim()), lower.Model.Kernel(0).Plain(lower.Model.Dim()),
		p.Base().Kernel(0)
	s, at := p.Model.StartStates()[0].State, lower.Model.StartStates()[0].State
	state, done := lower.State(at), false
	reached := target[state]
	for range 30 {
		look(s, state, reached, done)
		n := int(k.First[s+1] - k.First[s])
		if n != int(below.First[at+1]-below.First[at]) {
			t.Fatalf("%d choices in state %d", n, s)
		}
		if n == 0 {
			return
		}
		a := rng.IntN(n)
		c, down := int(k.First[s])+a, int(below.First[at])+a
		if k.Returns[c*2] != below.Returns[down*2] {
			t.Fatalf("choice %d returns %g: want %g", c, k.Returns[c*2], below.Returns[down*2])
		}
		if base.First[state] == base.First[state+1] {
			if p.Action(0, s, a) != -1 {
				t.Fatalf("action %d of a state that rests", p.Action(0, s, a))
			}
		} else if p.Action(0, s, a) != a {
			t.Fatalf("action %d: want %d", p.Action(0, s, a), a)
		}
		e := k.Offset[c] + rng.IntN(k.Offset[c+1]-k.Offset[c])
		down = below.Offset[down] + e - k.Offset[c]
		done = done || of[int(below.First[at])+a]
		s, at = int(k.Next[e]), int(below.Next[down])
		state = lower.State(at)
		reached = reached || target[state]
	}
}
