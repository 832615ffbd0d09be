package exact

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// solveBig solves a·x = b by elimination in numbers of 400 bits: chains that are hardly connected are hard in 53.
func solveBig(a *mat.Dense, b *mat.VecDense) []float64 {
	n := b.Len()
	number := func(x float64) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(x) }
	rows := make([][]*big.Float, n)
	for i := range n {
		for _, x := range a.RawRowView(i) {
			rows[i] = append(rows[i], number(x))
		}
		rows[i] = append(rows[i], number(b.AtVec(i)))
	}
	for j := range n {
		for i := j; i < n; i++ {
			if new(big.Float).Abs(rows[i][j]).Cmp(new(big.Float).Abs(rows[j][j])) > 0 {
				rows[i], rows[j] = rows[j], rows[i]
			}
		}
		for i := range n {
			if i == j || rows[i][j].Sign() == 0 {
				continue
			}
			f := new(big.Float).Quo(rows[i][j], rows[j][j])
			for l := j; l <= n; l++ {
				rows[i][l].Sub(rows[i][l], number(0).Mul(f, rows[j][l]))
			}
		}
	}
	x := make([]float64, n)
	for i := range x {
		x[i], _ = new(big.Float).Quo(rows[i][n], rows[i][i]).Float64()
	}
	return x
}

// denseBranches returns the recurrent classes that a stationary policy comes to, with their probabilities and means, by dense
// linear algebra. A state without choices rests.
func denseBranches(t testing.TB, m *cmdp.Model, policy cmdp.Policy) []Branch {
	t.Helper()
	n, d, k := m.States(), m.Dim(), m.Kernel(0)
	p, r := mat.NewDense(n, n, nil), mat.NewDense(n, d, nil)
	leads := make([][]bool, n)
	for s := range n {
		leads[s] = make([]bool, n)
		leads[s][s] = true
		first, end := int(k.First[s]), int(k.First[s+1])
		if first == end {
			p.Set(s, s, 1)
			continue
		}
		probs := make([]float64, end-first)
		policy.Distribution(probs, 0, s)
		for a, x := range probs {
			c := first + a
			floats.AddScaled(r.RawRowView(s), x, k.Returns[c*d:(c+1)*d])
			for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
				p.Set(s, int(k.Next[e]), p.At(s, int(k.Next[e]))+x*k.Prob[e])
				leads[s][k.Next[e]] = leads[s][k.Next[e]] || x*k.Prob[e] > 0
			}
		}
	}
	for by := range n {
		for s := range n {
			for to := range n {
				leads[s][to] = leads[s][to] || leads[s][by] && leads[by][to]
			}
		}
	}
	class := make([]int, n) // its least state, −1 for transient ones
	var transient []int
	for s := range n {
		class[s] = slices.Index(leads[s], true)
		for to := range n {
			if leads[s][to] && !leads[to][s] {
				class[s] = -1
			}
		}
		if class[s] < 0 {
			transient = append(transient, s)
		}
	}
	var out []Branch
	for root := range n {
		if class[root] != root {
			continue
		}
		b := Branch{Returns: make([]float64, d)}
		for s := range n {
			if class[s] == root {
				b.States = append(b.States, s)
			}
		}
		// The shares x of time: x(P−I) = 0, one equation being that they add up to 1.
		l := len(b.States)
		a, right := mat.NewDense(l, l, nil), mat.NewVecDense(l, nil)
		for i, s := range b.States {
			for j, to := range b.States {
				if i != j {
					a.Set(j, i, a.At(j, i)+p.At(s, to))
					a.Set(i, i, a.At(i, i)-p.At(s, to))
				}
			}
		}
		for i := range l {
			a.Set(l-1, i, 1)
		}
		right.SetVec(l-1, 1)
		for i, x := range solveBig(a, right) {
			floats.AddScaled(b.Returns, x, r.RawRowView(b.States[i]))
		}
		// The probabilities y to come there: y = P y, 1 there.
		y := make([]float64, n)
		if len(transient) > 0 {
			a, right = mat.NewDense(len(transient), len(transient), nil), mat.NewVecDense(len(transient), nil)
			for i, s := range transient {
				for j, to := range transient {
					if i != j {
						a.Set(i, j, -p.At(s, to))
					}
				}
				for to := range n { // what is left of 1 by rounding stays
					if to != s {
						a.Set(i, i, a.At(i, i)+p.At(s, to))
					}
				}
				for _, to := range b.States {
					right.SetVec(i, right.AtVec(i)+p.At(s, to))
				}
			}
			for i, x := range solveBig(a, right) {
				y[transient[i]] = x
			}
		}
		for _, s := range b.States {
			y[s] = 1
		}
		for _, st := range m.StartStates() {
			b.Probability += st.Probability * y[st.State]
		}
		if b.Probability > 1e-14 {
			out = append(out, b)
		}
	}
	return out
}

// communicating draws a model of long-run means in which every state leads to every other one, and stays
// within some policy: few states, deterministic rows so that it is periodic now and then, a small part of the states that can be cheap
// to stay in, and dear ways between them.
func communicating(t testing.TB, rng *rand.Rand, dim int) *cmdp.Model {
	t.Helper()
	states := 2 + rng.IntN(5)
	b := cmdp.NewBuilder(cmdp.ModelSpec{Average: true, Dim: dim, Start: []cmdp.StartState{{State: rng.IntN(states), Probability: 1}}}, states)
	add := func(s, a int, r []float64, next ...cmdp.Transition) {
		if err := b.Add(cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a, Returns: r, Next: next}); err != nil {
			t.Fatal(err)
		}
	}
	kind := rng.IntN(3)
	draw := func(size float64) []float64 {
		r := make([]float64, dim)
		for i := range r {
			r[i] = size + math.Round(8*rng.Float64())
		}
		return r
	}
	for s := range states {
		on := (s + 1) % states
		actions := 0
		next := func(r []float64, next ...cmdp.Transition) {
			add(s, actions, r, next...)
			actions++
		}
		switch kind {
		case 0: // islands: each state is cheap to stay in, and dear to leave
			next(draw(0), cmdp.Transition{Next: s, Probability: 1})
			next(draw(50), cmdp.Transition{Next: on, Probability: 1})
		case 1: // pairs of states that alternate, joined by a ring
			next(draw(0), cmdp.Transition{Next: min(s^1, states-1), Probability: 1})
			next(draw(20), cmdp.Transition{Next: on, Probability: 0.25}, cmdp.Transition{Next: s, Probability: 0.75})
		default: // anything, and a ring
			next(draw(0), cmdp.Transition{Next: on, Probability: 1})
		}
		for range rng.IntN(3) {
			one, other, x := rng.IntN(states), rng.IntN(states), 0.1+0.8*rng.Float64()
			if one == other {
				next(draw(0), cmdp.Transition{Next: one, Probability: 1})
			} else {
				next(draw(0), cmdp.Transition{Next: one, Probability: x}, cmdp.Transition{Next: other, Probability: 1 - x})
			}
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// meansTask is to make the first return small while the others have upper limits.
func meansTask(t testing.TB, gradient, high []float64) (cmdp.Task, []cmdp.Constraint) {
	t.Helper()
	low, all := slices.Repeat([]float64{-1000}, len(high)), slices.Repeat([]float64{1000}, len(high))
	box, err := geometry.NewBox(low, all)
	if err != nil {
		t.Fatal(err)
	}
	goal, err := cost.NewLinear(gradient, box)
	if err != nil {
		t.Fatal(err)
	}
	var rows []cmdp.Constraint
	for i, x := range high {
		if x < 1000 {
			rows = append(rows, cmdp.Constraint{Normal: axis(len(high), i, 1), Offset: x})
		}
	}
	within, err := geometry.NewBox(low, high)
	if err != nil {
		t.Fatal(err)
	}
	target, err := within.Bounded()
	if err != nil {
		t.Fatal(err)
	}
	return cmdp.Task{Cost: goal, Target: target}, rows
}

// TestOnePolicyKeepsLimitsInEveryRun: where all states lead to one another the answer is one policy with one recurrent class, so that
// all its runs have the same means. These keep every limit, and its cost is within the gap of Kallenberg's program.
func TestOnePolicyKeepsLimitsInEveryRun(t *testing.T) {
	joined, merged, infeasible := 0, 0, 0
	for seed := range uint64(600) {
		rng := rand.New(rand.NewPCG(seed, 71))
		limits := 1 + rng.IntN(3)
		m := communicating(t, rng, 1+limits)
		high := []float64{1000}
		for range limits {
			high = append(high, 1+6*rng.Float64())
		}
		gradient := axis(1+limits, 0, 1)
		if rng.IntN(2) == 0 {
			gradient[1] = -1
		}
		task, rows := meansTask(t, gradient, high)
		gap := []float64{0, 1e-2, 1e-4, 1e-8}[rng.IntN(4)]
		want, feasible := kallenberg(t, m, gradient, rows)
		r, err := Solve(t.Context(), m, task, Options{Gap: gap})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !feasible {
			infeasible++
			if r.Status != Infeasible {
				t.Errorf("seed %d: %v: want infeasible", seed, r.Status)
			}
			continue
		}
		if r.Status != Optimal || r.Policy == nil || len(r.Branches) != 1 {
			t.Errorf("seed %d: %v with %d components, branches %+v: want one policy with one branch", seed, r.Status, len(r.Components), r.Branches)
			continue
		}
		classes := denseBranches(t, m, r.Policy)
		if len(classes) != 1 {
			t.Errorf("seed %d: the policy has the recurrent classes %+v: want one", seed, classes)
			continue
		}
		v := classes[0].Returns
		if !floats.EqualApprox(v, r.Returns, 1e-7) || !floats.EqualApprox(v, r.Branches[0].Returns, 1e-7) {
			t.Errorf("seed %d: the policy returns %v: said %v and %+v", seed, v, r.Returns, r.Branches)
		}
		for _, row := range rows {
			if excess := floats.Dot(row.Normal, r.Returns) - row.Offset; excess > 2e-10*60 {
				t.Errorf("seed %d: a limit is broken by %g", seed, excess)
			}
		}
		if gap == 0 {
			gap = defaultJoinGap
		}
		size := math.Max(math.Abs(want), 60)
		if r.Objective-want > gap*size || r.Bound > want+1e-9*size || math.Abs(r.Objective-r.Bound-r.Gap) > 1e-12*size {
			t.Errorf("seed %d: cost %v, bound %v, gap %v: want %v within %g", seed, r.Objective, r.Bound, r.Gap, want, gap*size)
		}
		if r.Joined == nil {
			if r.Gap > 1e-9*size && gap == defaultJoinGap {
				t.Errorf("seed %d: gap %g without classes that are joined", seed, r.Gap)
			}
			if r.Randomized > 0 {
				merged++
			}
			continue
		}
		joined++
		if j := r.Joined; j.Classes < 2 || !(j.Steps > 1) || math.IsInf(j.Steps, 0) || !(j.Loss >= 0 && j.Loss <= r.Gap+1e-9*size) {
			t.Errorf("seed %d: %+v with gap %g: want two classes or more, and what it costs", seed, *j, r.Gap)
		}
	}
	if joined < 50 || merged < 50 || infeasible < 20 {
		t.Errorf("%d joined, %d merged, %d infeasible: the test says little", joined, merged, infeasible)
	}
}
