package exact_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// TestSumSharesBlocks: where many parts share blocks of columns, the optimum is the same, and each part has
// returns of its own.
func TestSumSharesBlocks(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 33))
		var parts []exact.Part
		for range 7 {
			m := randomModel(t, rng, shapeOf{states: 3, actions: 3, horizon: 4, dim: 2, successors: 2})
			parts = append(parts, exact.Part{Model: m, Weight: 1 + float64(rng.IntN(3)), Returns: []int{0, 1}})
		}
		var found []*exact.Result
		for _, most := range []int{3, 100} {
			restore := exact.SetMostBlocks(most)
			p, err := exact.NewSumPlanner(parts, 2, []int{1}, 2)
			if err != nil {
				t.Fatal(err)
			}
			lower, upper, err := p.Ranges(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			r, err := p.Solve(t.Context(), sumTask(t, lower, upper), exact.Options{})
			restore()
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, r)
			if len(r.Parts) != len(parts) {
				t.Fatalf("%d parts: want %d", len(r.Parts), len(parts))
			}
			total := make([]float64, 6)
			for k, x := range r.Parts {
				for j, c := range x.Mixture {
					v := make([]float64, 2)
					cmdp.NewEvaluator(parts[k].Model).Returns(v, c.Policy)
					for i := range v {
						if math.Abs(v[i]-x.Returns[j][i]) > 1e-9 {
							t.Errorf("seed %d: part %d returns %v: want %v", seed, k, x.Returns[j][:2], v)
						}
					}
					for i, y := range x.Returns[j] {
						total[i] += parts[k].Weight * c.Weight * y
					}
					same := func(r []float64) bool { return slices.Equal(r, x.Returns[j]) }
					if most == 3 && slices.IndexFunc(x.Returns, same) < j {
						t.Errorf("seed %d: part %d has the same returns twice", seed, k)
					}
				}
			}
			for i := range total {
				if math.Abs(total[i]-r.Returns[i]) > 1e-9*(1+math.Abs(total[i])) {
					t.Errorf("seed %d: returns %v: want %v", seed, r.Returns, total)
				}
			}
		}
		if a, b := found[0], found[1]; a.Status != exact.Optimal || b.Status != exact.Optimal ||
			math.Abs(a.Objective-b.Objective) > 1e-8*(1+math.Abs(b.Objective)) {
			t.Errorf("seed %d: %v %v in shared blocks: want %v %v", seed, a.Status, a.Objective, b.Status, b.Objective)
		}
	}
}

// TestBudgetOfSums: each policy of all parts is priced in the time that is left, and with half of it there are mixtures
// that keep the limits long before the optimum is found; where the first policies do, they are the answer at once.
func TestBudgetOfSums(t *testing.T) {
	kept := 0
	for seed := range uint64(8) {
		share := []float64{0.4, 0.999}[seed%2]
		rng := rand.New(rand.NewPCG(seed, 34))
		var parts []exact.Part
		for range 7 {
			m := randomModel(t, rng, shapeOf{states: 3, actions: 3, horizon: 4, dim: 2, successors: 2})
			parts = append(parts, exact.Part{Model: m, Weight: 1, Returns: []int{0, 1}})
		}
		solve := func(budget time.Duration) (cmdp.Task, *exact.Result) {
			p, err := exact.NewSumPlanner(parts, 2, []int{1}, 1)
			if err != nil {
				t.Fatal(err)
			}
			lower, upper, err := p.Ranges(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			task := sumTaskWithin(t, lower, upper, share)
			r, err := p.Solve(t.Context(), task, exact.OnTicks(exact.Options{Budget: budget}))
			if err != nil {
				t.Fatal(err)
			}
			return task, r
		}
		_, want := solve(0)
		for seconds := 3; seconds < 1000; seconds *= 2 {
			task, got := solve(time.Duration(seconds) * time.Second)
			if got.Iterations > seconds/3 { // a price asks for the time three times
				t.Errorf("seed %d: %d prices in %d s", seed, got.Iterations, seconds)
			}
			if got.Parts == nil {
				if task.Violation(got.Returns) <= got.Tolerance {
					t.Errorf("seed %d: %v in %d s without policies, and their returns keep the limits", seed, got.Status,
						seconds)
				}
				continue
			}
			kept++
			if seconds >= 24 && math.IsInf(got.Bound, -1) { // half of the time is left once multipliers are known
				t.Errorf("seed %d: no bound in %d s", seed, seconds)
			}
			if !(task.Violation(got.Returns) <= got.Tolerance) || got.Objective < want.Objective-1e-8 ||
				got.Bound > want.Objective+1e-8 {
				t.Errorf("seed %d: %v in %d s: objective %g, bound %g, violation %g: the optimum is %g", seed, got.Status,
					seconds, got.Objective, got.Bound, task.Violation(got.Returns), want.Objective)
			}
		}
	}
	if kept < 12 {
		t.Errorf("%d answers keep the limits: want more", kept)
	}
}

// TestWeightsAreCopies: a part of weight n is n parts of weight 1: optimum, bound and what rounding may take are the
// same.
func TestWeightsAreCopies(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 35))
		sh := shapeOf{states: 3, actions: 3, horizon: 4, dim: 2, successors: 2}
		if seed%2 == 1 {
			sh.horizon, sh.discount = 0, 0.7
		}
		one := exact.Part{Model: randomModel(t, rng, sh), Weight: 1, Returns: []int{0, 1}}
		n := 4 + rng.IntN(5)
		var copies []exact.Part
		for range n {
			copies = append(copies, one)
		}
		heavy := one
		heavy.Weight = float64(n)
		var found [2]*exact.Result
		for k, parts := range [][]exact.Part{copies, {heavy}} {
			p, err := exact.NewSumPlanner(parts, 2, nil, 1)
			if err != nil {
				t.Fatal(err)
			}
			lower, upper, err := p.Ranges(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			x, err := geometry.NewBox(lower, upper)
			if err != nil {
				t.Fatal(err)
			}
			found[k], err = p.Solve(t.Context(), cmdp.Task{Cost: linear(t, x, []float64{1, -0.5})}, exact.Options{})
			if err != nil {
				t.Fatal(err)
			}
		}
		a, b := found[0], found[1]
		if near := 1e-9 * (1 + math.Abs(a.Objective)); math.Abs(a.Objective-b.Objective) > near ||
			math.Abs(a.Bound-b.Bound) > near {
			t.Errorf("seed %d: %g and %g of %d copies, %g and %g by weight", seed, a.Objective, a.Bound, n, b.Objective, b.Bound)
		}
		if b.Proof.Margin < a.Proof.Margin/2 {
			t.Errorf("seed %d: %d copies may lose %g, by weight %g", seed, n, a.Proof.Margin, b.Proof.Margin)
		}
	}
}

// sumTask minimises the negative of the first return, with the second at each step within a third of what it can be.
func sumTask(t *testing.T, lower, upper []float64) cmdp.Task {
	return sumTaskWithin(t, lower, upper, 0.4)
}

// sumTaskWithin is sumTask with limits at a share of the range.
func sumTaskWithin(t *testing.T, lower, upper []float64, share float64) cmdp.Task {
	t.Helper()
	low, high := slices.Clone(lower), slices.Clone(upper)
	for i := 2; i < len(high); i++ {
		high[i] = lower[i] + share*(upper[i]-lower[i])
	}
	box, err := geometry.NewBox(low, high)
	if err != nil {
		t.Fatal(err)
	}
	target, err := box.Bounded()
	if err != nil {
		t.Fatal(err)
	}
	whole, err := geometry.NewBox(lower, upper)
	if err != nil {
		t.Fatal(err)
	}
	gradient := make([]float64, len(lower))
	gradient[0] = -1
	return cmdp.Task{Cost: linear(t, whole, gradient), Target: target, Box: whole}
}

// sumOf returns what all copies of a part return under a policy, in the coordinates of a sum of two returns.
func sumOf(x exact.Part, each []int, p cmdp.Deterministic) []float64 {
	m := x.Model
	out, mass := make([]float64, 2+len(each)*m.Horizon()), make([]float64, m.States())
	for _, st := range m.StartStates() {
		mass[st.State] = st.Probability
	}
	for h := range p {
		rows, next := m.Rows(h), make([]float64, m.States())
		for s, share := range mass {
			first, end := rows.Choices(s)
			if first == end {
				next[s] += share
				continue
			}
			c := first + int(p[h][s])
			for j, i := range x.Returns {
				if i < 0 {
					continue
				}
				y := x.Weight * share * rows.Returns(c)[j]
				out[i] += y
				if k := slices.Index(each, i); k >= 0 {
					out[2+k*len(p)+h] += y
				}
			}
			to, prob := rows.Row(c)
			for e, n := range to {
				next[n] += share * prob[e]
			}
		}
		mass = next
	}
	return out
}

// TestSumsAgainstAllPolicies compares optima of sums with those of all mixtures of policies that never draw of each
// part, within limits on the sums and on single steps. So it does those of the explicit program. The box around all
// returns has those of every policy. Parts may rest, and keep returns to themselves.
func TestSumsAgainstAllPolicies(t *testing.T) {
	rng := rand.New(rand.NewPCG(36, 1))
	verdicts := make(map[exact.Verdict]int)
	for trial := range 150 {
		var parts []exact.Part
		each := [][]int{nil, {0}, {1}, {1, 0}}[rng.IntN(4)]
		d := 2 + 2*len(each)
		all := &lp.Problem{}
		var returns [][]float64
		low, high := make([]float64, d), make([]float64, d)
		for k := range 1 + rng.IntN(3) {
			sh := shapeOf{states: 2, actions: 2, horizon: 2, dim: 2, successors: 2, rests: true,
				stepwise: rng.IntN(2) == 0, integer: rng.IntN(2) == 0}
			into := [][]int{{0, 1}, {1, 0}, {-1, 0}, {1, -1}}[rng.IntN(4)]
			x := exact.Part{Model: randomModel(t, rng, sh), Weight: 1 + float64(rng.IntN(3)), Returns: into}
			parts = append(parts, x)
			all.Rows = append(all.Rows, lp.Equal(nil, 1))
			least, most := slices.Repeat([]float64{math.Inf(1)}, d), slices.Repeat([]float64{math.Inf(-1)}, d)
			everyMarkov(x.Model, func(p cmdp.Deterministic) {
				v := sumOf(x, each, p)
				all.Rows[k].Index = append(all.Rows[k].Index, len(returns))
				all.Rows[k].Coef = append(all.Rows[k].Coef, 1)
				returns = append(returns, v)
				for i, y := range v {
					least[i], most[i] = min(least[i], y), max(most[i], y)
				}
			})
			floats.Add(low, least)
			floats.Add(high, most)
		}
		planner, err := exact.NewSumPlanner(parts, 2, each, 1)
		if err != nil {
			t.Fatal(err)
		}
		lower, upper, err := planner.Extent(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range low {
			if low[i] < lower[i]-1e-9 || high[i] > upper[i]+1e-9 {
				t.Fatalf("trial %d: return %d is from %g to %g: the box has %g to %g", trial, i, low[i], high[i], lower[i],
					upper[i])
			}
		}
		box, err := geometry.NewBox(lower, upper)
		if err != nil {
			t.Fatal(err)
		}
		var rows []cmdp.Constraint
		for range rng.IntN(4) {
			normal, offset := make([]float64, d), 0.0
			for range 1 + rng.IntN(2) {
				i := rng.IntN(d)
				normal[i] = float64(2*rng.IntN(2)-1) * (1 + rng.Float64())
			}
			for i, n := range normal {
				share := 0.7 * rng.Float64() // from the side that is hard to reach
				if n < 0 {
					share = 1 - share
				}
				offset += n * (low[i] + share*(high[i]-low[i]))
			}
			rows = append(rows, cmdp.Constraint{Normal: normal, Offset: offset})
		}
		goal, offset := make([]float64, d), rng.NormFloat64()
		for i := range goal {
			goal[i] = rng.NormFloat64()
		}
		for _, v := range returns {
			all.Minimize = append(all.Minimize, product(goal, v))
		}
		for _, r := range rows {
			limit := lp.Constraint{Lower: math.Inf(-1), Upper: r.Offset}
			for _, v := range returns {
				limit.Coef = append(limit.Coef, product(r.Normal, v))
			}
			all.Rows = append(all.Rows, limit)
		}
		want, err := lp.Solve(all)
		if err != nil {
			t.Fatal(err)
		}
		explicit, err := exact.SumLP(parts, 2, each, goal, rows)
		if err != nil {
			t.Fatal(err)
		}
		if sol, err := lp.Solve(explicit); err != nil || sol.Status != want.Status ||
			want.Status == lp.Optimal && math.Abs(sol.Objective-want.Objective) > 1e-7*(1+math.Abs(want.Objective)) {
			t.Fatalf("trial %d: the explicit program is %+v, %v: want %v %g", trial, sol, err, want.Status, want.Objective)
		}
		cost, err := cost.NewAffine(goal, offset, box)
		if err != nil {
			t.Fatal(err)
		}
		task := cmdp.Task{Cost: cost, Box: box, Constraints: rows}
		if len(rows) > 0 {
			var sets []geometry.Set
			for _, r := range rows {
				h, err := geometry.NewHalfspace(r.Normal, r.Offset)
				if err != nil {
					t.Fatal(err)
				}
				sets = append(sets, h)
			}
			within, err := geometry.NewIntersection(sets...)
			if err == nil {
				task.Target, err = geometry.Restrict(within, box)
			}
			if err != nil { // no returns keep them
				continue
			}
		}
		r, err := planner.Solve(t.Context(), task, exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		verdicts[r.Status]++
		if (r.Status == exact.Optimal) != (want.Status == lp.Optimal) || r.Status == exact.Optimal &&
			math.Abs(r.Objective-want.Objective-offset) > 1e-7*(1+math.Abs(want.Objective)) {
			t.Fatalf("trial %d: %v %g: want %v %g", trial, r.Status, r.Objective, want.Status, want.Objective+offset)
		}
		o, err := exact.SecondOpinionOfSum(t.Context(), parts, 2, each, task)
		if !errors.Is(err, lp.ErrNoGLPK) && (err != nil || o.Status != r.Status || r.Status == exact.Optimal &&
			math.Abs(o.Objective-r.Objective) > 1e-7*(1+math.Abs(r.Objective))) {
			t.Fatalf("trial %d: %v %g: a second opinion is %+v, %v", trial, r.Status, r.Objective, o, err)
		}
	}
	if verdicts[exact.Optimal] < 50 || verdicts[exact.Infeasible] < 10 {
		t.Errorf("%v: want more of each", verdicts)
	}
}

func TestSumRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 34))
	m := randomModel(t, rng, shapeOf{states: 2, actions: 2, horizon: 3, dim: 2, successors: 2})
	longer := randomModel(t, rng, shapeOf{states: 2, actions: 2, horizon: 4, dim: 2, successors: 2})
	total := randomModel(t, rng, shapeOf{states: 2, actions: 2, dim: 2, successors: 2, discount: 1})
	good := exact.Part{Model: m, Weight: 1, Returns: []int{0, -1}}
	for name, of := range map[string]struct {
		parts []exact.Part
		dim   int
		each  []int
	}{
		"no parts":      {nil, 1, nil},
		"no model":      {[]exact.Part{{Weight: 1}}, 1, nil},
		"no weight":     {[]exact.Part{{Model: m, Returns: []int{0, 0}}}, 1, nil},
		"infinite":      {[]exact.Part{{Model: m, Weight: math.Inf(1), Returns: []int{0, 0}}}, 1, nil},
		"few returns":   {[]exact.Part{{Model: m, Weight: 1, Returns: []int{0}}}, 1, nil},
		"far return":    {[]exact.Part{{Model: m, Weight: 1, Returns: []int{0, 1}}}, 1, nil},
		"far each step": {[]exact.Part{good}, 1, []int{1}},
		"other horizon": {[]exact.Part{good, {Model: longer, Weight: 1, Returns: []int{0, -1}}}, 1, nil},
		"totals":        {[]exact.Part{{Model: total, Weight: 1, Returns: []int{0, -1}}}, 1, nil},
	} {
		if _, err := exact.NewSumPlanner(of.parts, of.dim, of.each, 1); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := exact.NewSumPlanner([]exact.Part{good}, 1, []int{0}, 1); err != nil {
		t.Error(err)
	}
}
