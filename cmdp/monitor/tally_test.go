package monitor_test

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/monitor"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// TestGeneratedRows: a product whose rows are generated has the same ranges of returns, the same optimum, and
// the same prices as the stored one, for all kinds of limits and on random models. The stored one is tested
// against brute force over histories.
func TestGeneratedRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 13))
	generated := 0
	for i := range 150 {
		m := randomModel(t, rng, shape{states: 2 + rng.IntN(4), horizon: 1 + rng.IntN(6), stepwise: i%5 == 0,
			rests: i%3 == 0, outcomes: i%2 == 0, negative: i%7 < 3})
		spec := monitor.Spec{Model: m}
		if i%4 == 0 {
			spec.Monitors = append(spec.Monitors, &monitor.Reach{Title: "there", Target: randomSet(rng, m.States()),
				Within: rng.IntN(4) - 1})
		}
		var limits []monitor.Threshold
		for range 1 + rng.IntN(2) {
			limits = append(limits, monitor.Threshold{Kind: monitor.LimitKind(rng.IntN(4)),
				At: float64(rng.IntN(9)-1) / 10})
		}
		if i%3 == 2 {
			kind := monitor.Above
			if rng.IntN(2) == 0 {
				kind = monitor.AtLeast
			}
			for range 1 + rng.IntN(2) {
				limits = append(limits, monitor.Threshold{Kind: kind, At: float64(rng.IntN(7)) / 10, Enforced: true})
			}
			spec.Enforced = []int{len(spec.Monitors)}
			if i%4 == 1 { // rows that are generated keep no table: these are to be stored
				left, err := monitor.NewTable(monitor.TableSpec{Title: "left", Memory: []string{"here", "left"},
					Symbol: symbols(randomSet(rng, m.States())), Next: [][]int{{0, 1}, {1, 1}},
					Broken: []bool{false, true}})
				if err != nil {
					t.Fatal(err)
				}
				spec.Monitors, spec.Enforced = append(spec.Monitors, left), append(spec.Enforced, len(spec.Monitors)+1)
			}
		}
		spec.Monitors = append(spec.Monitors, budget(t, monitor.BudgetSpec{Title: "spent", Model: m, Limits: limits}))
		if i%8 == 1 {
			spec.Monitors = append(spec.Monitors, &monitor.VisitCount{Title: "visits", States: randomSet(rng, m.States())})
		}
		switch {
		case i%10 == 7: // one is generated
			spec.Monitors = append(spec.Monitors, budget(t, monitor.BudgetSpec{Title: "more", Model: m, Coordinate: 1,
				Limits: []monitor.Threshold{{Kind: monitor.Above, At: 2}}}))
		case i%12 == 4: // of what a monitor returns
			spec.Monitors = append(spec.Monitors, budget(t, monitor.BudgetSpec{Title: "more", Model: m,
				Coordinate: m.Dim(), Amounts: []float64{0, 1}, Limits: []monitor.Threshold{
					{Kind: monitor.Shortfall, At: 2}, {Kind: monitor.AtLeast, At: 1}}}))
		}
		stored := product(t, spec)
		comparePromise(t, i, stored.Model, stored.Model.Shape().Promise())
		spec.Generate = 1
		p := product(t, spec)
		if p.Model.Tally() == nil {
			continue // one pair, or two budgets
		}
		generated++
		if (stored.Losing == nil) != (p.Losing == nil) {
			t.Fatalf("model %d: one of the products can be sure to keep what is enforced", i)
		}
		comparePlans(t, rng, i, stored.Model, p.Model)
		checkListed(t, i, p)
		checkNoneBreaks(t, i, p, limits[len(limits)-1])
		comparePromise(t, i, stored.Model, p.Model.Shape().Promise())
		for _, spec.Generate = range []int{stored.Model.States() - 1, stored.Model.States()} {
			rows := product(t, spec).Model.Tally() == nil
			if rows != (spec.Generate == stored.Model.States() || p.Model.States() <= spec.Generate) {
				t.Errorf("model %d: %d pairs, stored up to %d: %v", i, stored.Model.States(), spec.Generate, rows)
			}
		}
	}
	if generated < 100 {
		t.Errorf("%d products were generated: want most of 150", generated)
	}
}

// checkNoneBreaks wants nothing to be listed that is said of an end which breaks a limit that is enforced.
func checkNoneBreaks(t *testing.T, number int, p *monitor.ProductModel, limit monitor.Threshold) {
	t.Helper()
	breaks := map[monitor.LimitKind]string{monitor.Above: "above ", monitor.AtLeast: "at most "}[limit.Kind]
	for _, r := range p.Remembered() {
		for _, text := range r.Values {
			if limit.Enforced && p.Losing == nil && r.Name == "spent" && strings.HasPrefix(text, breaks) {
				t.Errorf("model %d: %q is listed, and breaks %+v", number, text, limit)
			}
		}
	}
}

// checkListed wants what is remembered in pairs that come up to be among what is listed.
func checkListed(t *testing.T, number int, p *monitor.ProductModel) {
	t.Helper()
	listed := []string{"start", "later"}
	for _, r := range p.Remembered() {
		listed = append(listed, r.Values...)
	}
	come := make(map[int32]bool)
	for _, st := range p.Model.StartStates() {
		come[int32(st.State)] = st.Probability > 0
	}
	for h := range p.Model.Horizon() {
		then, rows := make(map[int32]bool), p.Model.Rows(h)
		for pair, in := range come {
			for text := range strings.SplitSeq(p.Memory(int(pair)), "; ") {
				if in && p.Losing == nil && text != "" && !slices.Contains(listed, text) {
					t.Fatalf("model %d: %q is remembered at step %d, of %q", number, text, h, listed)
				}
			}
			for c, end := rows.Choices(int(pair)); in && c < end; c++ {
				next, prob := rows.Row(c)
				for e, to := range next {
					then[to] = then[to] || prob[e] > 0
				}
			}
		}
		come = then
	}
}

// TestGeneratedRowsOfManyActions: a policy has several bits for an action.
func TestGeneratedRowsOfManyActions(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 6, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 4)
	for s := range 4 {
		for a := range 2 + 3*s {
			row := cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a,
				Returns: []float64{float64(rng.IntN(30)), rng.Float64()}}
			for range 2 {
				row.Next = append(row.Next, cmdp.Transition{Next: rng.IntN(4), Probability: 0.5})
			}
			addRow(t, b, row)
		}
	}
	m := built(t, b)
	for _, limit := range []float64{20, 60, 100} {
		spent := budget(t, monitor.BudgetSpec{Title: "spent", Model: m,
			Limits: []monitor.Threshold{{Kind: monitor.Above, At: limit}}})
		spec := monitor.Spec{Model: m, Monitors: []monitor.Monitor{spent}}
		stored := product(t, spec)
		spec.Generate = 1
		for i := range 5 {
			comparePlans(t, rng, i, stored.Model, product(t, spec).Model)
		}
	}
}

// comparePromise checks that episodes of the stored product return what the generated one promises.
func comparePromise(t *testing.T, number int, stored *cmdp.Model, promise *cmdp.Interval) {
	t.Helper()
	for i := range stored.Dim() {
		direction := make([]float64, stored.Dim())
		direction[i] = 1
		least, most := cmdp.Extremes(stored, nil, direction)
		if least < promise.Lower[i]-1e-9 || most > promise.Upper[i]+1e-9 {
			t.Errorf("model %d, return %d: [%g, %g] is promised, an episode returns %g to %g", number, i,
				promise.Lower[i], promise.Upper[i], least, most)
		}
	}
}

// comparePlans compares ranges, and the least value of a direction of which a half-space takes the best part away.
func comparePlans(t *testing.T, rng *rand.Rand, number int, stored, generated *cmdp.Model) {
	t.Helper()
	ctx, d := context.Background(), stored.Dim()
	lower, upper, err := rangesOf(t, stored)
	if err != nil {
		t.Fatal(err)
	}
	least, most, err := rangesOf(t, generated)
	if err != nil {
		t.Fatal(err)
	}
	for i := range lower {
		upper[i] = max(upper[i], lower[i]) // but for rounding
		if math.Abs(lower[i]-least[i]) > 1e-9 || math.Abs(upper[i]-most[i]) > 1e-9 {
			t.Fatalf("model %d, return %d: [%g, %g] generated, [%g, %g] stored", number, i, least[i], most[i], lower[i],
				upper[i])
		}
	}
	gradient := make([]float64, d)
	for i := range gradient {
		gradient[i] = rng.NormFloat64()
	}
	limited := rng.IntN(d)
	box, err := geometry.NewBox(lower, upper)
	if err != nil {
		t.Fatal(err)
	}
	upper[limited] = lower[limited] + 0.3*(upper[limited]-lower[limited])
	target, err := geometry.NewBox(lower, upper)
	if err != nil {
		t.Fatal(err)
	}
	linear, err := cost.NewLinear(gradient, box)
	if err != nil {
		t.Fatal(err)
	}
	allowed, err := target.Bounded()
	if err != nil {
		t.Fatal(err)
	}
	task := cmdp.Task{Cost: linear, Target: allowed}
	want, err := exact.Solve(ctx, stored, task, exact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := exact.Solve(ctx, generated, task, exact.Options{Workers: 1 + number%2})
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != want.Status || math.Abs(got.Objective-want.Objective) > 1e-8 ||
		math.Abs(got.Bound-want.Bound) > 1e-8 {
		t.Errorf("model %d: %v, %.12g, at least %.12g, generated; %v, %.12g, at least %.12g, stored", number,
			got.Status, got.Objective, got.Bound, want.Status, want.Objective, want.Bound)
	}
	if stored.Horizon() > 0 || got.Status != exact.Optimal {
		return
	}
	played := make([]float64, d) // by the rows that are generated
	mixture := got.Mixture
	if mixture == nil {
		mixture = []exact.WeightedPolicy{{Weight: 1, Policy: got.Policy}}
	}
	for _, c := range mixture {
		e, err := exact.Evaluate(ctx, generated, c.Policy)
		if err != nil {
			t.Fatal(err)
		}
		floats.AddScaled(played, c.Weight, e.Returns)
	}
	if floats.Distance(played, got.Returns, math.Inf(1)) > 1e-9 {
		t.Errorf("model %d: %v is returned, %v is said", number, played, got.Returns)
	}
}

// TestGeneratedRowsAreAModel: the rows of generated products are those of a model, and give policies the
// returns that all histories of the base add up to. What plans, evaluates or plays a model does so with them as
// with the stored ones.
func TestGeneratedRowsAreAModel(t *testing.T) {
	ctx, rng, generated := t.Context(), rand.New(rand.NewPCG(17, 5)), 0
	for i := range 120 {
		m := randomModel(t, rng, shape{states: 2 + rng.IntN(3), horizon: 1 + rng.IntN(5), stepwise: i%5 == 0,
			rests: i%3 == 0, outcomes: i%2 == 0, negative: i%7 < 3})
		spec := monitor.Spec{Model: m, Generate: 1}
		if i%4 == 0 {
			spec.Monitors = append(spec.Monitors, &monitor.Reach{Title: "there", Target: randomSet(rng, m.States()),
				Within: rng.IntN(4) - 1})
		}
		var limits []monitor.Threshold
		for range 1 + rng.IntN(3) {
			limits = append(limits, monitor.Threshold{Kind: monitor.LimitKind(rng.IntN(4)),
				At: float64(rng.IntN(9)-1) / 10})
		}
		if i%6 == 5 {
			limits = append(limits, monitor.Threshold{Kind: monitor.Above, At: float64(2+rng.IntN(7)) / 10,
				Enforced: true})
			spec.Enforced = []int{len(spec.Monitors)}
		}
		spent := budget(t, monitor.BudgetSpec{Title: "spent", Model: m, Limits: limits})
		spec.Monitors = append(spec.Monitors, spent)
		p := product(t, spec)
		if p.Model.Tally() == nil {
			continue // one pair
		}
		generated++
		spec.Generate = 0
		stored := product(t, spec).Model
		checkRows(t, i, p.Model)
		w := walked{m: p.Model, t: p.Model.Tally(), limits: limits, unit: spent.Unit()}
		for range 3 {
			dir := make([]float64, stored.Dim())
			for j := range dir {
				dir[j] = rng.NormFloat64()
			}
			policy, least := cmdp.BestPolicy(p.Model, dir)
			if _, want := cmdp.BestPolicy(stored, dir); math.Abs(least-want) > 1e-9 {
				t.Fatalf("model %d: least value %g: want %g as of stored rows", i, least, want)
			}
			w.compare(t, i, policy)
			box, err := geometry.NewBox(slices.Repeat([]float64{-100}, len(dir)),
				slices.Repeat([]float64{100}, len(dir)))
			if err != nil {
				t.Fatal(err)
			}
			linear, err := cost.NewLinear(dir, box)
			if err != nil {
				t.Fatal(err)
			}
			r, err := exact.Solve(ctx, p.Model, cmdp.Task{Cost: linear}, exact.Options{})
			if err != nil || math.Abs(r.Objective-least) > 1e-8 {
				t.Fatalf("model %d: optimum %g: want %g, %v", i, r.Objective, least, err)
			}
			w.compare(t, i, r.Policy)
			compareOthers(t, i, p.Model, stored, dir, least)
		}
		w.compare(t, i, &anywhere{p.Model, rng.Uint64()})
		p.Model.KnownReturns()
	}
	if generated < 80 {
		t.Errorf("%d products were generated: want most of 120", generated)
	}
}

// anywhere is a policy that draws, by weights that depend on step and pair.
type anywhere struct {
	m    *cmdp.Model
	seed uint64
}

func (p *anywhere) Distribution(dst []float64, h, s int) {
	rows, rng := p.m.Rows(h), rand.New(rand.NewPCG(p.seed, uint64(h)<<32+uint64(s)))
	first, _ := rows.Choices(s)
	sum := 0.0
	for a := range dst {
		dst[a] = 0
		if next, _ := rows.Row(first + a); len(next) > 0 {
			dst[a] = rng.Float64()
		}
		sum += dst[a]
	}
	floats.Scale(1/sum, dst)
}

func (p *anywhere) Choose(rng *rand.Rand, h, s int) int {
	first, end := p.m.Rows(h).Choices(s)
	probs := make([]float64, end-first)
	p.Distribution(probs, h, s)
	u := rng.Float64()
	for a, x := range probs {
		if u -= x; x > 0 && u < 0 {
			return a
		}
	}
	return floats.MaxIdx(probs)
}

// checkRows looks at all rows of a model.
func checkRows(t *testing.T, number int, m *cmdp.Model) {
	t.Helper()
	come := make([]bool, m.States())
	for _, st := range m.StartStates() {
		come[st.State] = true
	}
	for h := range m.Horizon() {
		rows, then := m.Rows(h), make([]bool, m.States())
		lower, upper := m.Shape().StepReturns(h)
		k := m.Kernel(h)
		for s, in := range come {
			first, end := rows.Choices(s)
			if n := int(k.First[s+1] - k.First[s]); n != end-first {
				t.Fatalf("model %d: pair %d at step %d has %d choices, and %d in a table of all", number, s, h,
					end-first, n)
			}
			if from, to := m.Shape().Choices(h, s); first < end && (first != from || end != to) || in && first == end {
				t.Fatalf("model %d: pair %d at step %d has the choices %d to %d: want %d to %d as its shape", number, s,
					h, first, end, from, to)
			}
			offered := false
			for c := first; c < end; c++ {
				next, prob := rows.Row(c)
				mean := make([]float64, m.Dim())
				for e, to := range next {
					then[to] = then[to] || in
					floats.AddScaled(mean, prob[e], rows.Outcome(c, e))
				}
				if len(next) == 0 {
					continue
				}
				offered = true
				if sum := floats.Sum(prob); math.Abs(sum-1) > 1e-12 ||
					!floats.EqualApprox(mean, rows.Returns(c), 1e-12) {
					t.Fatalf("model %d: choice %d of pair %d: probabilities sum to %g, returns are %v: want %v", number,
						c, s, sum, rows.Returns(c), mean)
				}
				for j, x := range rows.Returns(c) {
					if in && (x < lower[j] || x > upper[j]) {
						t.Fatalf("model %d: return %d of choice %d of pair %d: %g: want %g to %g as its shape says",
							number, j, c, s, x, lower[j], upper[j])
					}
				}
			}
			if in && !offered {
				t.Fatalf("model %d: pair %d offers nothing at step %d", number, s, h)
			}
		}
		come = then
	}
}

// compareOthers compares what other methods make of generated rows with what they make of stored ones.
func compareOthers(t *testing.T, number int, generated, stored *cmdp.Model, dir []float64, least float64) {
	t.Helper()
	form := make([]*big.Rat, len(dir))
	for j, x := range dir {
		form[j] = new(big.Rat).SetFloat64(x)
	}
	value, err := exact.RationalValue(t.Context(), generated, form)
	if err != nil {
		t.Fatal(err)
	}
	if x, _ := value.Float64(); math.Abs(x-least) > 1e-9 {
		t.Fatalf("model %d: %.12g in rational arithmetic: want %.12g", number, x, least)
	}
	low, high := cmdp.Extremes(generated, nil, dir)
	if a, b := cmdp.Extremes(stored, nil, dir); math.Abs(low-a) > 1e-9 || math.Abs(high-b) > 1e-9 {
		t.Fatalf("model %d: episodes from %g to %g: want %g to %g", number, low, high, a, b)
	}
	program, err := exact.OccupancyLP(generated, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(program.Minimize) > 400 {
		return
	}
	solver, err := lp.NewEmbedded(program)
	if err != nil {
		t.Fatal(err)
	}
	var solution lp.Solution
	if err := solver.Solve(&solution); err != nil || solution.Status != lp.Optimal ||
		math.Abs(solution.Objective-least) > 1e-8 {
		t.Fatalf("model %d: %v, %g by a linear program: want %g, %v", number, solution.Status, solution.Objective,
			least, err)
	}
	box, err := geometry.NewBox(slices.Repeat([]float64{-100}, len(dir)), slices.Repeat([]float64{100}, len(dir)))
	if err != nil {
		t.Fatal(err)
	}
	linear, err := cost.NewLinear(dir, box)
	if err != nil {
		t.Fatal(err)
	}
	task := cmdp.Task{Cost: linear, Target: halfway(t, generated)}
	got, err := exact.SolveDeterministic(t.Context(), generated, task, exact.DeterministicOptions{Nodes: 40})
	if err != nil {
		t.Fatal(err)
	}
	// The stored product tells more counts apart, and so has more policies that never draw.
	spec := cmdp.ModelSpec{Horizon: generated.Horizon(), Dim: generated.Dim(), Start: generated.StartStates()}
	for h := range generated.Horizon() {
		spec.Kernels = append(spec.Kernels, *generated.Kernel(h))
	}
	same, err := cmdp.NewModel(spec)
	if err != nil {
		return // some choices are not offered
	}
	want, err := exact.SolveDeterministic(t.Context(), same, task, exact.DeterministicOptions{Nodes: 40})
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != want.Status && got.Status != exact.Undecided && want.Status != exact.Undecided ||
		got.Status == exact.Optimal && want.Status == exact.Optimal && math.Abs(got.Objective-want.Objective) > 1e-8 {
		t.Fatalf("model %d: %v, %g without draws: want %v, %g as of stored rows", number, got.Status, got.Objective,
			want.Status, want.Objective)
	}
}

// halfway is what keeps the last return below the middle of what it may be.
func halfway(t *testing.T, m *cmdp.Model) geometry.Compact {
	t.Helper()
	lower, upper, err := rangesOf(t, m)
	if err != nil {
		t.Fatal(err)
	}
	for j := range lower {
		lower[j], upper[j] = lower[j]-1, upper[j]+1
	}
	last := len(upper) - 1
	upper[last] = (lower[last] + upper[last]) / 2
	box, err := geometry.NewBox(lower, upper)
	if err != nil {
		t.Fatal(err)
	}
	set, err := box.Bounded()
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// walked is a generated product whose policies are followed through all histories of its base.
type walked struct {
	m      *cmdp.Model
	t      *cmdp.Tally
	limits []monitor.Threshold
	unit   float64
}

// outcome returns the returns of an episode by their definition, from the returns of the base.
func (w *walked) outcome(base []float64) []float64 {
	total := math.Round(base[0]*1e6) / 1e6
	var out []float64
	for _, i := range w.t.Columns {
		if i < w.t.Base.Dim() {
			out = append(out, base[i])
			continue
		}
		x, at := 0.0, w.limits[i-w.t.Base.Dim()]
		switch {
		case at.Kind == monitor.Above && total > at.At, at.Kind == monitor.AtLeast && total >= at.At:
			x = 1
		case at.Kind == monitor.Excess:
			x = max(0, total-at.At)
		case at.Kind == monitor.Shortfall:
			x = max(0, at.At-total)
		}
		out = append(out, x)
	}
	return out
}

// each calls visit with the returns and the probability of each episode of a policy.
func (w *walked) each(policy cmdp.Policy, visit func(returns []float64, probability float64)) {
	var from func(h, s int, so []float64, mass float64)
	from = func(h, s int, so []float64, mass float64) {
		if h == w.t.Base.Horizon() {
			visit(w.outcome(so), mass)
			return
		}
		rows := w.t.Base.Rows(h)
		first, end := rows.Choices(s)
		if first == end {
			from(h+1, s, so, mass)
			return
		}
		probs := make([]float64, end-first)
		policy.Distribution(probs, h, w.t.At(h, s, int32(math.Round(so[0]/w.unit))))
		for a, x := range probs {
			next, prob := rows.Row(first + a)
			for e, to := range next {
				if x*prob[e] > 0 {
					then := slices.Clone(so)
					floats.Add(then, rows.Outcome(first+a, e))
					from(h+1, int(to), then, mass*x*prob[e])
				}
			}
		}
	}
	for _, st := range w.t.Base.StartStates() {
		from(0, st.State, make([]float64, w.t.Base.Dim()), st.Probability)
	}
}

// compare compares the returns of a policy, and how they are distributed, with those of all histories, and
// plays some episodes.
func (w *walked) compare(t *testing.T, number int, policy cmdp.Policy) {
	t.Helper()
	want, got := make([]float64, w.m.Dim()), make([]float64, w.m.Dim())
	shares := make([]map[float64]float64, w.m.Dim())
	for j := range shares {
		shares[j] = make(map[float64]float64)
	}
	w.each(policy, func(returns []float64, probability float64) {
		floats.AddScaled(want, probability, returns)
		for j, x := range returns {
			shares[j][math.Round(x*1e6)/1e6] += probability
		}
	})
	cmdp.NewEvaluator(w.m).Returns(got, policy)
	if !floats.EqualApprox(got, want, 1e-9) {
		t.Fatalf("model %d: returns %v: want %v", number, got, want)
	}
	for j, share := range shares {
		values, probabilities, ok := monitor.Distribution(t.Context(), w.m, policy, j)
		for i, x := range values {
			share[math.Round(x*1e6)/1e6] -= probabilities[i]
		}
		for x, left := range share {
			if ok && math.Abs(left) > 1e-9 {
				t.Fatalf("model %d: the distribution of return %d misses %g at %g", number, j, left, x)
			}
		}
		if !ok && w.t.Columns[j] < w.t.Base.Dim() {
			t.Fatalf("model %d: return %d has no distribution", number, j)
		}
	}
	played, rng := cmdp.NewTrajectory(w.m.Shape()), rand.New(rand.NewPCG(uint64(number), 3))
	for range 5 {
		played.Play(w.m, policy, rng, rng)
		base := make([]float64, w.t.Base.Dim())
		for j, i := range w.t.Columns {
			if i < len(base) {
				base[i] = played.Total[j]
			}
		}
		if want := w.outcome(base); !floats.EqualApprox(played.Total, want, 1e-9) {
			t.Fatalf("model %d: an episode returns %v: want %v", number, played.Total, want)
		}
	}
}
