package monitor_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp/monitor"
)

// TestMemoryTellsStatesApart: what is remembered tells the states of a random product apart that are about the same
// state, is written with the values that are listed, and is nothing where nothing has to be remembered. Actions are
// those of the base in their order, −1 where it rests. The same holds where rows are generated.
func TestMemoryTellsStatesApart(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 60))
	generated := 0
	for trial := range 120 {
		m := randomModel(t, rng, shape{states: 2 + rng.IntN(4), horizon: 1 + rng.IntN(5), stepwise: trial%5 == 0,
			rests: trial%3 == 0, outcomes: trial%2 == 0, negative: trial%7 < 3})
		spec := monitor.Spec{Model: m}
		within := rng.IntN(4) - 1
		if trial%4 == 0 || trial%8 == 1 {
			spec.Monitors = append(spec.Monitors, &monitor.Reach{Title: "there", Target: randomSet(rng, m.States()),
				Within: within})
		}
		if trial%4 > 0 {
			spec.Monitors = append(spec.Monitors, &monitor.VisitCount{Title: "visits", States: randomSet(rng, m.States())})
		}
		for range trial % 4 / 2 * (1 + rng.IntN(2)) {
			spent := monitor.BudgetSpec{Title: "spent", Model: m, Coordinate: rng.IntN(2),
				Limits: []monitor.Threshold{{Kind: monitor.LimitKind(rng.IntN(4)), At: float64(rng.IntN(9)-1) / 10}}}
			spec.Monitors = append(spec.Monitors, budget(t, spent))
		}
		stored := product(t, spec)
		checkMemory(t, trial, stored)
		values := make(map[string]bool)
		for _, r := range stored.Remembered() {
			for _, v := range r.Values {
				steps := strings.HasSuffix(v, "steps left") || v == "1 step left"
				if values[v] = true; r.Name == "there" && v != "over" && steps != (within >= 0) {
					t.Errorf("trial %d: within %d steps: %q", trial, within, v)
				}
			}
		}
		spec.Generate = 1
		p := product(t, spec)
		if p.Model.Tally() == nil {
			continue
		}
		generated++
		checkMemory(t, trial, p)
	}
	if generated < 20 {
		t.Errorf("%d products were generated: want more", generated)
	}
}

// checkMemory checks words and actions of all states of a product, whose monitors return nothing at the start but for
// those that are there already.
func checkMemory(t *testing.T, trial int, p *monitor.ProductModel) {
	t.Helper()
	listed := []string{"start", "later"}
	for _, r := range p.Remembered() {
		listed = append(listed, r.Values...)
	}
	visits := !slices.ContainsFunc(p.Monitors(), func(m monitor.Monitor) bool { return m.Name() != "visits" })
	seen := make(map[string]bool)
	for s := range p.Model.States() {
		memory := p.Memory(s)
		said := fmt.Sprint(p.State(s), " with ", memory)
		if first := p.Memory(0); (first == "") != (memory == "") {
			t.Fatalf("trial %d: %q is remembered in state 0, and %q in state %d", trial, first, memory, s)
		}
		if seen[said] || visits && memory != "" {
			t.Fatalf("trial %d: two states are %q, or nothing is remembered", trial, said)
		}
		seen[said] = true
		for part := range strings.SplitSeq(memory, "; ") {
			if memory != "" && !slices.Contains(listed, part) {
				t.Errorf("trial %d: %q is remembered, of %q", trial, part, listed)
			}
		}
		for h := range p.Model.Horizon() {
			first, end := p.Model.Rows(h).Choices(s)
			from, to := p.Base().Rows(h).Choices(p.State(s))
			for a := range end - first {
				if got := p.Action(h, s, a); (from == to) != (got < 0) || got >= 0 && got != a {
					t.Fatalf("trial %d: action %d of %d is %d of %d", trial, a, end-first, got, to-from)
				}
			}
		}
	}
}

// TestRefusedTables: an automaton with anything that is not there, or not finite, is refused; so is a limit that is
// enforced and does not tell when it is broken.
func TestRefusedTables(t *testing.T) {
	good := func() monitor.TableSpec {
		return monitor.TableSpec{Title: "table", Memory: []string{"a", "b"}, Symbol: []int{0, 1},
			Next: [][]int{{0, 1}, {1, 0}}, Reward: [][]float64{{0, 1}, {0.5, 0}}, Broken: []bool{false, false}}
	}
	if _, err := monitor.NewTable(good()); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*monitor.TableSpec){
		"no memory":          func(s *monitor.TableSpec) { s.Memory = nil },
		"a name twice":       func(s *monitor.TableSpec) { s.Memory[1] = "a" },
		"few lines":          func(s *monitor.TableSpec) { s.Next = s.Next[:1] },
		"few lines of pay":   func(s *monitor.TableSpec) { s.Reward = s.Reward[:1] },
		"few ends":           func(s *monitor.TableSpec) { s.Broken = s.Broken[:1] },
		"a short line":       func(s *monitor.TableSpec) { s.Next[1] = s.Next[1][:1] },
		"a short line of it": func(s *monitor.TableSpec) { s.Reward[1] = s.Reward[1][:1] },
		"memory -1":          func(s *monitor.TableSpec) { s.Next[1][0] = -1 },
		"memory 2":           func(s *monitor.TableSpec) { s.Next[1][0] = 2 },
		"symbol -1":          func(s *monitor.TableSpec) { s.Symbol[1] = -1 },
		"symbol 2":           func(s *monitor.TableSpec) { s.Symbol[1] = 2 },
		"NaN":                func(s *monitor.TableSpec) { s.Reward[1][1] = math.NaN() },
		"Inf":                func(s *monitor.TableSpec) { s.Reward[0][1] = math.Inf(-1) },
	} {
		spec := good()
		change(&spec)
		if _, err := monitor.NewTable(spec); err == nil || !strings.Contains(err.Error(), "table table") {
			t.Errorf("%s: %v", what, err)
		}
	}
	m := randomModel(t, rand.New(rand.NewPCG(1, 2)), shape{states: 2, horizon: 2})
	visits := &monitor.VisitCount{Title: "visits", States: []bool{true, false}}
	spec := monitor.Spec{Model: m, Monitors: []monitor.Monitor{visits}, Enforced: []int{0}}
	if _, err := monitor.New(spec); err == nil {
		t.Error("visits are enforced")
	}
}
