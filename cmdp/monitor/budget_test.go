package monitor_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/monitor"
)

func ranges(t *testing.T, p *monitor.ProductModel) (lower, upper []float64) {
	t.Helper()
	lower, upper, err := rangesOf(t, p.Model)
	if err != nil {
		t.Fatal(err)
	}
	return lower, upper
}

func budget(t *testing.T, spec monitor.BudgetSpec) *monitor.Budget {
	t.Helper()
	b, err := monitor.NewBudget(spec)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func addRow(t testing.TB, b *cmdp.Builder, row cmdp.Row) {
	t.Helper()
	if err := b.Add(row); err != nil {
		t.Fatal(err)
	}
}

func built(t testing.TB, b *cmdp.Builder) *cmdp.Model {
	t.Helper()
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// coins is a model without a horizon: a coin is tossed, at a price of 1 each time, until it shows heads.
func coins(t *testing.T) *cmdp.Model {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: 1, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 2)
	addRow(t, b, cmdp.Row{Step: cmdp.EveryStep, State: 0,
		Next:    []cmdp.Transition{{Next: 0, Probability: 0.5}, {Next: 1, Probability: 0.5}},
		Returns: []float64{1}})
	return built(t, b)
}

// TestTotalsWithoutHorizon: the number N of tosses is geometric, so P(N > 3) = 1/8 and
// E(N − 3)⁺ = 1/8 · 2; two are at least needed with probability 1/2, and E(3 − N)⁺ = 2/2 + 1/4.
func TestTotalsWithoutHorizon(t *testing.T) {
	m := coins(t)
	p := product(t, monitor.Spec{Model: m, Monitors: []monitor.Monitor{
		budget(t, monitor.BudgetSpec{Title: "tosses", Model: m, Limits: []monitor.Threshold{
			{Kind: monitor.Above, At: 3}, {Kind: monitor.Excess, At: 3}, {Kind: monitor.AtLeast, At: 2},
			{Kind: monitor.Shortfall, At: 3}}}),
		&monitor.Reach{Title: "heads", Target: []bool{false, true}, Within: 2},
	}})
	lower, upper := ranges(t, p)
	for i, want := range []float64{2, 0.125, 0.25, 0.5, 1.25, 0.75} {
		if math.Abs(lower[i]-want) > 1e-12 || math.Abs(upper[i]-want) > 1e-12 {
			t.Errorf("return %d: [%g, %g], want %g", i, lower[i], upper[i], want)
		}
	}
	// State 0 with 0 to 3 tosses and more, heads after 1 to 3 tosses and more; the clock of heads ends at 2.
	if n := p.Model.States(); n > 10 {
		t.Errorf("%d pairs: want memory of no more than what matters", n)
	}
}

// TestEarlierMonitor counts visits and asks whether there are more than 2 of them.
func TestEarlierMonitor(t *testing.T) {
	m := coins(t)
	visits := &monitor.VisitCount{Title: "visits", States: []bool{true, false}}
	p := product(t, monitor.Spec{Model: m, Columns: []int{2}, Monitors: []monitor.Monitor{visits,
		budget(t, monitor.BudgetSpec{Title: "often", Model: m, Coordinate: 1, Amounts: []float64{0, 1},
			Limits: []monitor.Threshold{{Kind: monitor.Above, At: 2}}})}})
	if lower, upper := ranges(t, p); math.Abs(lower[0]-0.25) > 1e-12 || math.Abs(upper[0]-0.25) > 1e-12 {
		t.Errorf("more than 2 visits with probability [%g, %g], want 0.25", lower[0], upper[0])
	}
}

// TestMemoryForWhatMatters: a cost of 1 may be had in each of 10 steps. With a limit of 3, totals of
// 0 to 3 and one for more are told apart, and fewer where too few steps are left in the model.
func TestMemoryForWhatMatters(t *testing.T) {
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 10, Dim: 1, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 1)
	for a := range 2 {
		addRow(t, b, cmdp.Row{Step: cmdp.EveryStep, State: 0, Action: a,
			Next: []cmdp.Transition{{Next: 0, Probability: 1}}, Returns: []float64{float64(a)}})
	}
	m := built(t, b)
	for limit, want := range map[float64]int{3: 5, 9: 11, 10: 1, -1: 2} {
		p := product(t, monitor.Spec{Model: m,
			Monitors: []monitor.Monitor{budget(t, monitor.BudgetSpec{Title: "cost", Model: m,
				Limits: []monitor.Threshold{{Kind: monitor.Above, At: limit}}})}})
		if got := p.Model.States(); got != want {
			t.Errorf("limit %g: %d pairs, want %d", limit, got, want)
		}
	}
}

// TestOrderOfLimits: what is remembered, and its name, are the same in whatever order limits are given, and the name
// says between which of them the total ends.
func TestOrderOfLimits(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 11))
	for trial := range 20 {
		m := randomModel(t, rng, shape{states: 3, horizon: 4})
		var limits []monitor.Threshold
		for range 3 {
			limits = append(limits, monitor.Threshold{Kind: monitor.LimitKind(rng.IntN(4)),
				At: float64(rng.IntN(13)) / 10})
		}
		names := func() map[string]bool {
			b := budget(t, monitor.BudgetSpec{Title: "spent", Model: m, Limits: limits})
			p := product(t, monitor.Spec{Model: m, Monitors: []monitor.Monitor{b}})
			all := map[string]bool{}
			for s := range p.Model.States() {
				all[fmt.Sprintf("%d %s", p.State(s), b.Value(p.Part(s, 0)))] = true
			}
			return all
		}
		want := names()
		rng.Shuffle(len(limits), func(i, j int) { limits[i], limits[j] = limits[j], limits[i] })
		if got := names(); !maps.Equal(got, want) {
			t.Errorf("trial %d: limits %v: %v, in another order %v", trial, limits, got, want)
		}
	}
}

// TestRounded brackets probabilities of totals that lie on no grid of the resolution.
func TestRounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 3))
	strict := 0
	for trial := range 20 {
		m := randomModel(t, rng, shape{states: 3, horizon: 4, outcomes: trial%2 == 0, negative: trial%3 == 0})
		x := float64(rng.IntN(8)) / 10
		spec := monitor.BudgetSpec{Model: m, Limits: []monitor.Threshold{{Kind: monitor.Above, At: x}},
			Resolution: 0.17}
		spec.Title, spec.Rounding = "least", monitor.Down
		down := budget(t, spec)
		spec.Title, spec.Rounding = "most", monitor.Up
		up := budget(t, spec)
		spec.Title, spec.Rounding = "true", monitor.Exact
		p := product(t, monitor.Spec{Model: m, Monitors: []monitor.Monitor{down, up, budget(t, spec)}})
		v := make([]float64, p.Model.Dim())
		cmdp.NewEvaluator(p.Model).Returns(v, cmdp.Uniform{Shape: p.Model.Shape()})
		least, most, exactly := v[2], v[3], v[4]
		if least > exactly+1e-12 || most < exactly-1e-12 {
			t.Errorf("trial %d: %g is not in [%g, %g]", trial, exactly, least, most)
		}
		if least < most {
			strict++
		}
	}
	if strict < 5 {
		t.Errorf("bounds differ in %d trials: want more", strict)
	}
}

// TestRoundedByLessThanAUnit: each return is rounded by less than a unit, and multiples of it not at all, so
// that a total of n steps is nowhere n units off.
func TestRoundedByLessThanAUnit(t *testing.T) {
	const unit = 0.2
	for _, x := range []float64{-0.4, -0.3, -0.1, 0, 0.1, 0.2, 0.3, 0.4, 1} {
		const steps = 3
		m, err := cmdp.NewModel(cmdp.ModelSpec{Horizon: steps, Dim: 1,
			Start: []cmdp.StartState{{State: 0, Probability: 1}},
			Kernels: []cmdp.Kernel{{First: []int32{0, 1}, Offset: []int{0, 1}, Next: []int32{0}, Prob: []float64{1},
				Returns: []float64{x}}}})
		if err != nil {
			t.Fatal(err)
		}
		for rounding, step := range map[monitor.Rounding]float64{monitor.Down: math.Floor(x/unit+1e-9) * unit,
			monitor.Up: math.Ceil(x/unit-1e-9) * unit} {
			// What is far below is exceeded by the total less what is far below.
			b := budget(t, monitor.BudgetSpec{Title: "rounded", Model: m,
				Limits: []monitor.Threshold{{Kind: monitor.Excess, At: -10}}, Rounding: rounding, Resolution: unit})
			p := product(t, monitor.Spec{Model: m, Monitors: []monitor.Monitor{b}})
			v := make([]float64, 2)
			cmdp.NewEvaluator(p.Model).Returns(v, cmdp.Uniform{Shape: p.Model.Shape()})
			if want := steps*step + 10; math.Abs(v[1]-want) > 1e-9 {
				t.Errorf("returns of %g, rounding %d: a total of %g, want %g", x, rounding, v[1]-10, want-10)
			}
			// It is the sign of what is counted that matters.
			var lower, upper [1]float64
			b.Range(lower[:], upper[:])
			refused := (&monitor.Reach{Within: -1}).Spend(monitor.CostSpec{Name: "cost", Model: m, AtMost: 1,
				Rounding: rounding, Resolution: unit})
			if falls := step < 0; falls != (lower[0] < 0) || falls != (refused != nil) {
				t.Errorf("returns of %g, rounding %d: a total falls to %g, as a cost: %v", x, rounding, lower[0], refused)
			}
		}
	}
}

func TestUnit(t *testing.T) {
	for want, values := range map[float64][]float64{0.1: {0.1, 0.3, -0.2, 0}, 0.05: {0.25, 0.1}, 3: {6, 9, 3e6}, 1: {0},
		0.75: {1.5, 2.25}, 1e-9: {1, 1e-9}} {
		if got, _ := monitor.Unit(values).Float64(); got != want {
			t.Errorf("unit of %v: %g, want %g", values, got, want)
		}
	}
}

func TestRefusedBudgets(t *testing.T) {
	m := modelOf(t, cmdp.ModelSpec{Horizon: 3}, 0.5)
	limits := []monitor.Threshold{{At: 1}}
	upAndDown := modelOf(t, cmdp.ModelSpec{Discount: 1}, -0.5)
	for want, spec := range map[string]monitor.BudgetSpec{
		"no limit":          {Model: m},
		"finite number":     {Model: m, Limits: []monitor.Threshold{{At: math.NaN()}}},
		"resolution 0":      {Model: m, Limits: limits, Rounding: monitor.Up},
		"both signs":        {Model: upAndDown, Limits: limits},
		"want a resolution": {Model: m, Coordinate: 2, Amounts: []float64{1e16, 1}, Limits: limits},
	} {
		spec.Title = "fuel"
		if _, err := monitor.NewBudget(spec); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "fuel") {
			t.Errorf("error %v: want one with %q and the title", err, want)
		}
	}
}

// modelOf is a model of one state that goes round at 1, or at another return; the second return is 0.
func modelOf(t *testing.T, spec cmdp.ModelSpec, other float64) *cmdp.Model {
	t.Helper()
	spec.Dim, spec.Start = 2, []cmdp.StartState{{State: 0, Probability: 1}}
	b := cmdp.NewBuilder(spec, 1)
	for a, r := range []float64{1, other} {
		addRow(t, b, cmdp.Row{Step: cmdp.EveryStep, State: 0, Action: a,
			Next: []cmdp.Transition{{Next: 0, Probability: 1}}, Returns: []float64{r, 0}})
	}
	return built(t, b)
}

// TestCriteria: what is about the total of an episode is refused where returns are no such totals, and taken where they
// are; only a product without a horizon takes further monitors.
func TestCriteria(t *testing.T) {
	for criterion, spec := range map[string]cmdp.ModelSpec{"horizon": {Horizon: 3}, "totals": {Discount: 1},
		"discount": {Discount: 0.5}, "average": {Average: true},
		"means beside totals": {Discount: 1, Means: []bool{true, false}}} {
		m := modelOf(t, spec, 0.5)
		total, arrival := criterion == "horizon" || criterion == "totals", new(monitor.Reach)
		arrival.Title, arrival.Target, arrival.Within = "there", []bool{true}, -1
		_, err := monitor.NewBudget(monitor.BudgetSpec{Title: "fuel", Model: m, Limits: []monitor.Threshold{{At: 1}}})
		if (err == nil) != total || err != nil && !strings.Contains(err.Error(), "fuel: a budget is for the total") {
			t.Errorf("%s: a budget: %v", criterion, err)
		}
		p := product(t, monitor.Spec{Model: m, Monitors: []monitor.Monitor{arrival}})
		if _, err := p.With(arrival); (err == nil) != (criterion != "horizon") {
			t.Errorf("%s: a product of the product: %v", criterion, err)
		}
		if p.Model.Average() != m.Average() || p.Model.Discount() != m.Discount() || p.Model.Mean(0) != m.Mean(0) {
			t.Errorf("%s: the product has another criterion", criterion)
		}
		err = arrival.Spend(monitor.CostSpec{Name: "toll", Model: m, AtMost: 2})
		if spent := total || criterion == "means beside totals"; (err == nil) != spent ||
			err != nil && !strings.Contains(err.Error(), "toll: what is spent") {
			t.Errorf("%s: what is spent on a way: %v", criterion, err)
		}
		if _, _, ok := monitor.Distribution(t.Context(), m, always{}, 0); ok && !total {
			t.Errorf("%s: totals are distributed", criterion)
		}
	}
}

// TestTooLarge: the message names the monitor that multiplies the states.
func TestTooLarge(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 5))
	m := randomModel(t, rng, shape{states: 3, horizon: 40})
	_, err := monitor.New(monitor.Spec{Model: m, Bytes: 20_000, Monitors: []monitor.Monitor{
		&monitor.Reach{Title: "home", Target: []bool{false, false, true}, Within: -1},
		budget(t, monitor.BudgetSpec{Title: "fuel spent", Model: m, Limits: []monitor.Threshold{{At: 8}}})}})
	if err == nil || !strings.Contains(err.Error(), "fuel spent has") || !strings.Contains(err.Error(), "which 2e-05 GB") {
		t.Errorf("error %v: want one that names the fuel and the memory", err)
	}
}

// TestDistribution compares the distribution of totals with that over all histories.
func TestDistribution(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 8))
	for trial := range 20 {
		m := randomModel(t, rng, shape{states: 3, horizon: 4, stepwise: trial%2 == 0, rests: trial%3 == 0,
			outcomes: trial%5 == 0, negative: trial%7 < 3})
		uniform := cmdp.Uniform{Shape: m.Shape()}
		values, probabilities, ok := monitor.Distribution(t.Context(), m, uniform, 0)
		if !ok {
			t.Fatal("not counted")
		}
		want := make(map[float64]float64)
		var from func(h history, mass float64)
		from = func(h history, mass float64) {
			step, s, d := len(h.returns), h.states[len(h.states)-1], m.Dim()
			if mass == 0 {
				return
			}
			if step == m.Horizon() {
				want[h.total(0)] += mass
				return
			}
			k := m.Kernel(step).Plain(m.Dim())
			n := float64(k.First[s+1] - k.First[s])
			if n == 0 {
				from(extend(h, s, make([]float64, d)), mass)
			}
			for c := int(k.First[s]); c < int(k.First[s+1]); c++ {
				for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
					r := k.Returns[c*d : (c+1)*d]
					if k.Outcomes != nil {
						r = k.Outcomes[e*d : (e+1)*d]
					}
					from(extend(h, int(k.Next[e]), r), mass*k.Prob[e]/n)
				}
			}
		}
		for _, st := range m.StartStates() {
			from(history{states: []int{st.State}}, st.Probability)
		}
		if len(want) != len(values) {
			t.Fatalf("trial %d: %d totals, want %d", trial, len(values), len(want))
		}
		for i, x := range values {
			if math.Abs(want[x]-probabilities[i]) > 1e-12 {
				t.Errorf("trial %d: P(%g) = %g, want %g", trial, x, probabilities[i], want[x])
			}
		}
	}
}

// TestCertain compares what is certain of a total at the start with the probabilities of the policies that pass
// the limit least and most often, by going through all histories.
func TestCertain(t *testing.T) {
	seen := make(map[[2]bool]int)
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 2))
		m := randomModel(t, rng, shape{states: 3, horizon: 3, stepwise: seed%2 == 0, rests: true, negative: seed%3 == 0,
			certain: true})
		limit := float64(rng.IntN(9)-2) / 10
		b := budget(t, monitor.BudgetSpec{Title: "spent", Model: m,
			Limits: []monitor.Threshold{{Kind: monitor.Above, At: limit}}})
		above := func(h history) float64 {
			if h.total(0) > limit {
				return 1
			}
			return 0
		}
		surely, never := true, true
		for _, st := range m.StartStates() {
			passed, certain := b.Certain(0, st.State)
			surely, never = surely && certain && passed, never && certain && !passed
		}
		least, _ := best(m, -1, above, nil)
		most, _ := best(m, 1, above, nil)
		if surely != (least == -1) || never != (most == 0) {
			t.Errorf("seed %d: above %g surely %v, never %v; the probability is from %g to %g", seed, limit, surely,
				never, -least, most)
		}
		seen[[2]bool{surely, never}]++
	}
	if len(seen) != 3 {
		t.Errorf("not all cases came up: %v", seen)
	}
}

// seen returns what the model returns in its first coordinate.
type seen struct{}

func (seen) Name() string                                  { return "seen" }
func (seen) Rewards() int                                  { return 1 }
func (seen) Range(lower, upper []float64)                  { lower[0], upper[0] = math.Inf(-1), math.Inf(1) }
func (seen) Value(int) string                              { return "" }
func (seen) Start(dst []float64, _ monitor.Transition) int { dst[0] = 0; return 0 }
func (seen) Step(dst []float64, _ int, t monitor.Transition) int {
	dst[0] = t.Returns[0]
	return 0
}

// TestCertainWithoutHorizon compares the same with the probabilities of a budget that knows nothing of what may
// come, since another monitor returns what counts.
func TestCertainWithoutHorizon(t *testing.T) {
	came := make(map[[2]bool]int)
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 3))
		m := randomModel(t, rng, shape{states: 4, rests: true, outcomes: seed%3 == 0, certain: true})
		at, limits := float64(rng.IntN(7)-1)/10, []monitor.Threshold(nil)
		for _, kind := range []monitor.LimitKind{monitor.Above, monitor.AtLeast} {
			limits = append(limits, monitor.Threshold{Kind: kind, At: at})
		}
		b := budget(t, monitor.BudgetSpec{Title: "spent", Model: m, Limits: limits})
		blind := budget(t, monitor.BudgetSpec{Title: "blind", Model: m, Coordinate: 2,
			Amounts: []float64{0, 0.1, 0.2, 0.3}, Limits: limits})
		lower, upper := ranges(t,
			product(t, monitor.Spec{Model: m, Monitors: []monitor.Monitor{seen{}, blind, b},
				Columns: []int{3, 4, 5, 6}}))
		for i := range limits {
			surely, never := true, true
			for _, st := range m.StartStates() {
				passed, certain := b.Certain(i, st.State)
				surely, never = surely && certain && passed, never && certain && !passed
			}
			if surely != (lower[i] > 1-1e-9) || never != (upper[i] < 1e-9) {
				t.Errorf("seed %d, limit %d at %g: surely passed %v, never %v; the probability is from %g to %g", seed,
					i, at, surely, never, lower[i], upper[i])
			}
			if math.Abs(lower[i]-lower[2+i]) > 1e-9 || math.Abs(upper[i]-upper[2+i]) > 1e-9 {
				t.Errorf("seed %d, limit %d at %g: from %g to %g for who looks ahead, from %g to %g for who does not",
					seed, i, at, lower[2+i], upper[2+i], lower[i], upper[i])
			}
			came[[2]bool{surely, never}]++
		}
	}
	if came[[2]bool{true, false}] < 40 || came[[2]bool{false, true}] < 40 || came[[2]bool{}] < 40 {
		t.Errorf("not all cases came up often: %v", came)
	}
}

// TestTotalsOfChains: in whatever order the states of a chain are numbered, the total of an episode is known exactly,
// and so is on which side of a limit it ends.
func TestTotalsOfChains(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 15))
	for n := 2; n < 90; n += 11 {
		order := rng.Perm(n)
		b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: 1,
			Start: []cmdp.StartState{{State: order[0], Probability: 1}}}, n)
		for i, s := range order[:n-1] {
			addRow(t, b, cmdp.Row{State: s, Next: []cmdp.Transition{{Next: order[i+1], Probability: 1}},
				Returns: []float64{1}})
		}
		m := built(t, b)
		c := budget(t, monitor.BudgetSpec{Title: "length", Model: m,
			Limits: []monitor.Threshold{{At: float64(n - 2)}, {At: float64(n - 1)}}})
		for i, state := range order {
			for limit, above := range []bool{i == 0, false} {
				if passed, certain := c.Certain(limit, state); passed != above || !certain {
					t.Errorf("%d states, limit %d, from number %d on: passed %v, certain %v", n, limit, i, passed, certain)
				}
			}
		}
	}
}

// TestStillRestricted: what is enforced in a product stays enforced in a product of it.
func TestStillRestricted(t *testing.T) {
	m := modelOf(t, cmdp.ModelSpec{Discount: 1}, 0)
	for _, enforced := range [][]int{nil, {0}} {
		p := product(t, monitor.Spec{Model: m, Enforced: enforced, Monitors: []monitor.Monitor{
			budget(t, monitor.BudgetSpec{Title: "spent", Model: m, Limits: []monitor.Threshold{{Enforced: true}}})}})
		q, err := p.With(&monitor.VisitCount{Title: "visits", States: make([]bool, p.Model.States())})
		if err != nil {
			t.Fatal(err)
		}
		if want := enforced != nil; p.Restricted() != want || q.Restricted() != want {
			t.Errorf("enforced %v: restricted %v, and %v in a product of it", enforced, p.Restricted(), q.Restricted())
		}
	}
}
