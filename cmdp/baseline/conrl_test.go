package baseline

import (
	"math"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// A sheetBonus is a bonus by step, state and action.
type sheetBonus func(h, state, a int) float64

// conRLTheory is b_k of Brantley et al. (2020) on the sheet, where H = 2, S·A·H = 8, p = 0.1
// and a reward and two consumptions make three means:
//
//	b_k(s, a) = H·√(2 ln(8·SAH·3·k²/p)/max(1, n)).
func conRLTheory(s *sheet, k float64) sheetBonus {
	root := 2 * math.Sqrt(2*math.Log(8*8*3*k*k/0.1))
	return func(h, state, a int) float64 { return root / math.Sqrt(max(1, s.visits(h, state, a))) }
}

// conRLTimes is a multiple of it.
func conRLTimes(factor float64) func(s *sheet, k float64) sheetBonus {
	return func(s *sheet, k float64) sheetBonus {
		b := conRLTheory(s, k)
		return func(h, state, a int) float64 { return factor * b(h, state, a) }
	}
}

// conRLPublished is that of the paper's code.
func conRLPublished(s *sheet, _ float64) sheetBonus {
	return func(h, state, a int) float64 {
		if n := s.visits(h, state, a); n > 0 {
			return 0.001 / math.Sqrt(n)
		}
		return 1
	}
}

// wantPlanned fails unless a policy is optimal for the sheet's program with the given
// limits and bonus.
func (s *sheet) wantPlanned(t *testing.T, what string, p cmdp.Policy, rule sheetRule, limit [2]float64,
	bonus sheetBonus) {
	t.Helper()
	v, best := s.values(readSheet(p), rule, bonus), s.plan(t, rule, limit, bonus)
	if math.Abs(v[0]-best) > 1e-7 || v[1] > limit[0]+1e-7 || v[2] > limit[1]+1e-7 {
		t.Errorf("%s: signals %v within %v: want the objective %v", what, v, limit, best)
	}
	if math.Abs(v[1]-limit[0]) > 1e-7 && math.Abs(v[2]-limit[1]) > 1e-7 {
		t.Errorf("%s: no limit binds %v: the test says nothing of the bonus", what, v)
	}
}

// TestConRLProgram wants conrl-lp to solve the program of its paper on hand-made counts: with
// the bonus of each episode, by value, in every signal; and a choice that was never visited
// to stay where it is.
func TestConRLProgram(t *testing.T) {
	for _, tt := range []struct {
		name   string
		scale  cmdp.BonusScale
		times  float64
		forget bool
		limit  [2]float64
		bonus  func(s *sheet, k float64) sheetBonus
	}{
		{"theory", cmdp.TheoryTimes(1), 1e5, false, [2]float64{0.9, 0.95}, conRLTheory},
		{"theory, first limit", cmdp.TheoryTimes(1), 1e3, false, [2]float64{0.7, 1.9}, conRLTheory},
		{"0.05 times theory, unvisited", cmdp.TheoryTimes(0.05), 1e3, true, [2]float64{0.6, 0.7}, conRLTimes(0.05)},
		{"published", cmdp.BonusScale{Mode: cmdp.Published, Factor: 1}, 1, false, [2]float64{0.9, 0.95},
			conRLPublished},
		{"published, unvisited", cmdp.BonusScale{Mode: cmdp.Published, Factor: 1}, 1, true, [2]float64{0.6, 0.5},
			conRLPublished},
	} {
		s := newSheet(tt.times)
		s.limit = tt.limit
		if tt.forget {
			s.forget()
		}
		c := s.config(t, 50)
		c.Bonus = tt.scale
		l := newLearner(t, "conrl-lp", c)
		for k := 1.; k <= 4; k++ {
			s.wantPlanned(t, tt.name, l.Policy(), sheetStays, s.limit, tt.bonus(s, k))
			s.show(l, c.Shape, [3]int{0, 1, 1}, [2]int{1, 0})
		}
	}
}

// TestConRLMeanOfNothing wants the reward and the consumptions of a choice never taken to
// have the mean 0 where they are learned, as in the paper, and so the scaled cost 1.
func TestConRLMeanOfNothing(t *testing.T) {
	s := newSheet(1)
	c := s.config(t, 50)
	c.Prior, c.Returns = nil, nil
	l := newLearner(t, "conrl-lp", c).(*lpLearner)
	s.show(l, c.Shape, [3]int{0, 0, 0}, [2]int{0, 1})
	b := 2 * math.Sqrt(2*math.Log(8*8*3*4/0.1)) // k = 2, n ≤ 1
	p := l.ExplicitProgram()
	for i, mean := range [][3]float64{{0, 1, 0.5}, {1}, {1}, {1}, {1}, {1, 0, 0.5}, {1}, {1}} {
		if want := mean[0] - b; math.Abs(p.Minimize[i]-want) > 1e-12 {
			t.Errorf("choice %d: objective %v, want %v", i, p.Minimize[i], want)
		}
		for j := range 2 {
			row := p.Rows[4+j] // after the flow of two steps and two states
			for e, at := range row.Index {
				if want := mean[j+1] - b; at == i && math.Abs(row.Coef[e]-want) > 1e-12 {
					t.Errorf("choice %d, limit %d: %v, want %v", i, j, row.Coef[e], want)
				}
			}
		}
	}
}

// TestConRLLagrangianByHand follows the planner of the paper's experiments on a bandit
// that it knows: arm 0 costs 0 and uses 1, arm 1 costs 1 and uses 0, the limit is 0.35.
// So arm 0 is best while λ < 1, and a step of 0.2 adds 0.13 to λ with arm 0 and takes 0.07
// with arm 1:
//
//	1st episode  0.13 … 1.04 in 8 steps, 0.97, 1.10   mean 0.675: arm 0
//	2nd episode  1.03 .96 1.09 1.02 .95 1.08 1.01 .94 1.07 1.00   mean 1.015: arm 1
//
// The last multipliers would give arm 1 in the first episode, and multipliers that start
// anew arm 0 in the second.
func TestConRLLagrangianByHand(t *testing.T) {
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 1, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 1)
	for a, r := range [][]float64{{1, 1}, {0, 0}} {
		addRow(t, b, cmdp.Row{Step: 1, Action: a, Returns: r,
			Next: []cmdp.Transition{{Next: 0, Probability: 1}}})
	}
	m := built(t, b)
	ex := newExampleFor(t, m, []float64{-1, 0}, []float64{math.Inf(1), 0.35})
	c := ex.config(10)
	c.Bonus = cmdp.TheoryTimes(0)
	l := newLearner(t, "conrl-lagr", c).(*lagrangian)
	for k, want := range []struct {
		arm  int
		mean float64
		last float64
	}{{0, 0.675, 1.10}, {1, 1.015, 1.00}} {
		probs := make([]float64, 2)
		l.Policy().Distribution(probs, 0, 0)
		if probs[want.arm] != 1 || math.Abs(l.column.dir[1]-want.mean) > 1e-12 ||
			math.Abs(l.lambda[0]-want.last) > 1e-12 {
			t.Errorf("episode %d: arms %v for the multiplier %v, last %v: want arm %d, %v, %v", k+1, probs,
				l.column.dir[1], l.lambda[0], want.arm, want.mean, want.last)
		}
		play(t, m, l, 1, 1)
	}
}

// TestConRLLagrangian follows the same planner on the sheet, with its bonus and two
// multipliers, by brute force over all policies.
func TestConRLLagrangian(t *testing.T) {
	for _, forget := range []bool{false, true} {
		checkConRLLagrangian(t, forget)
	}
}

func checkConRLLagrangian(t *testing.T, forget bool) {
	s, scale := newSheet(1e4), 1.
	s.limit = [2]float64{0.75, 0.8}
	if forget {
		s.forget()
		scale = 0.02
		s.limit = [2]float64{0.8, 0.9}
	}
	c := s.config(t, 50)
	c.Tuning.MultiplierStep, c.Bonus = 0.7, cmdp.TheoryTimes(scale)
	l := newLearner(t, "conrl-lagr", c)
	best := func(lambda [2]float64, bonus sheetBonus) (p sheetPolicy, v [3]float64) {
		least := math.Inf(1)
		for _, q := range sheetPolicies() {
			w := s.values(q, sheetStays, bonus)
			if x := w[0] + lambda[0]*w[1] + lambda[1]*w[2]; x < least-1e-12 {
				least, p, v = x, q, w
			}
		}
		return p, v
	}
	var lambda [2]float64
	seen := map[sheetPolicy]bool{}
	for k := 1.; k <= 12; k++ {
		bonus := conRLTimes(scale)(s, k)
		var mean [2]float64
		for range 10 {
			_, v := best(lambda, bonus)
			for i := range lambda {
				lambda[i] = max(0, lambda[i]+0.7*(v[i+1]-s.limit[i]))
				mean[i] += lambda[i] / 10
			}
		}
		want, _ := best(mean, bonus)
		if got := readSheet(l.Policy()); got != want {
			t.Errorf("episode %v: policy %v, want %v for %v", k, got, want, mean)
		}
		seen[want] = true
		s.show(l, c.Shape, [3]int{0, 1, 0}, [2]int{1, 0})
	}
	if !forget && len(seen) < 3 || !forget && (lambda[0] == 0 || lambda[1] == 0) {
		t.Errorf("%d policies, multipliers %v: the test says little", len(seen), lambda)
	}
}

// widened returns the least goal·u of conrl-convex over the mixtures of some policies:
// u_j = v_j + ω_j in the user's units, |ω_j| ≤ width_j·Σ q b, within rows·u ≤ offset.
// Offsets are loosened by slack.
func (s *sheet) widened(t *testing.T, policies []sheetPolicy, bonus sheetBonus, goal []float64, rows []cmdp.Constraint,
	slack float64) float64 {
	t.Helper()
	n := len(policies)
	p := &lp.Problem{Minimize: make([]float64, n+3)}
	p.Lower, p.Upper = lp.Free(n + 3)
	p.Rows = []lp.Constraint{{Coef: make([]float64, n+3), Lower: 1, Upper: 1}}
	var returns [][]float64
	var total []float64 // Σ q b
	for i, policy := range policies {
		returns = append(returns, s.user(s.values(policy, sheetStays, func(int, int, int) float64 { return 0 })))
		total = append(total, s.value(policy, sheetStays, bonus))
		p.Lower[i], p.Rows[0].Coef[i] = 0, 1
		p.Minimize[i] = floats.Dot(goal, returns[i])
	}
	copy(p.Minimize[n:], goal)
	for _, r := range rows {
		row := lp.Constraint{Coef: make([]float64, n+3), Lower: math.Inf(-1), Upper: r.Offset + slack}
		for i := range policies {
			row.Coef[i] = floats.Dot(r.Normal, returns[i])
		}
		copy(row.Coef[n:], r.Normal)
		p.Rows = append(p.Rows, row)
	}
	for j, width := range []float64{2, 3, 4} {
		for _, sign := range []float64{1, -1} {
			row := lp.Constraint{Coef: make([]float64, n+3), Lower: math.Inf(-1)}
			row.Coef[n+j] = sign
			for i, b := range total {
				row.Coef[i] = -width * b
			}
			p.Rows = append(p.Rows, row)
		}
	}
	return solveLP(t, p)
}

// TestConRLConvexProgram wants conrl-convex to solve its program on hand-made counts, for
// costs and half-spaces of every sign, on which the right side of the bonus depends.
// Its union bound runs over the three returns.
func TestConRLConvexProgram(t *testing.T) {
	for i, tt := range []struct {
		goal []float64
		rows []cmdp.Constraint
	}{
		{[]float64{-1, 0, 0}, []cmdp.Constraint{{Normal: []float64{0, 1, 0}, Offset: 0.4},
			{Normal: []float64{0, 0, -1}, Offset: -6.4}}},
		{[]float64{-1, 0.5, -0.3}, []cmdp.Constraint{{Normal: []float64{0, 1, 0}, Offset: 0.4},
			{Normal: []float64{0, 0, -1}, Offset: -6.4}}},
		{[]float64{-1, -0.5, 0.8}, []cmdp.Constraint{{Normal: []float64{0, 1, 0}, Offset: 0.4},
			{Normal: []float64{0, 0, -1}, Offset: -6.4}}},
		{[]float64{0.3, 1, 1}, []cmdp.Constraint{{Normal: []float64{-1, 0.5, 0}, Offset: -5.6},
			{Normal: []float64{0, -1, -1}, Offset: -9}}},
	} {
		s, scale := newSheet(2000), 1.
		if i == 1 {
			s.forget()
			scale = 0.05
		}
		c := s.config(t, 50)
		c.Bonus = cmdp.TheoryTimes(scale)
		box := boxOf(t, s.model(t))
		c.Task.Cost = linearCost(t, tt.goal, box)
		sets := []geometry.Set{box}
		rows := append([]cmdp.Constraint(nil), tt.rows...)
		for _, r := range tt.rows {
			half, err := geometry.NewHalfspace(r.Normal, r.Offset)
			if err != nil {
				t.Fatal(err)
			}
			sets = append(sets, half)
		}
		for j := range 3 {
			e := unitVector(3, j)
			rows = append(rows, cmdp.Constraint{Normal: e, Offset: box.Upper()[j]})
			minus := make([]float64, 3)
			minus[j] = -1
			rows = append(rows, cmdp.Constraint{Normal: minus, Offset: -box.Lower()[j]})
		}
		set, err := geometry.NewIntersection(sets...)
		if err != nil {
			t.Fatal(err)
		}
		if c.Task.Target, err = geometry.CompactOf(set); err != nil {
			t.Fatal(err)
		}
		l := newLearner(t, "conrl-convex", c)
		for k := 1.; k <= 3; k++ {
			p := readSheet(l.Policy())
			bonus := conRLTimes(scale)(s, k)
			got, want := s.widened(t, []sheetPolicy{p}, bonus, tt.goal, rows, 1e-6),
				s.widened(t, sheetPolicies(), bonus, tt.goal, rows, 0)
			plain := s.widened(t, sheetPolicies(), func(int, int, int) float64 { return 0 }, tt.goal, rows, 0)
			if math.Abs(got-want) > 1e-4 {
				t.Errorf("case %d, episode %v: policy %v is worth %v, want %v", i, k, p, got, want)
			}
			if plain-want < 0.1 {
				t.Errorf("case %d: %v without a bonus, %v with it: the test says little", i, plain, want)
			}
			s.show(l, c.Shape, [3]int{0, 1, 0}, [2]int{1, 0})
		}
	}
}

// TestKnapsackLimits wants conrl-knapsack to plan with α − ε(α − what the null policy
// uses), and to retreat for good before the first episode that could overdraw a budget:
// one that uses H in a scaled signal, the null policy filling what is left. The null policy
// uses 0.3 and 0.2 of the two signals, the limits are 0.9 and 0.95, ε is 0.2, K is 20.
//
// An episode (0 → a₀, 0 → a₀) uses 2 of x₁ and 0.5 of x₂. After k of them another could
// overdraw 20·0.9 = 18 if 2k + 2 + (19−k)·0.3 > 18: k > 6.06, so the 8th episode is null.
func TestKnapsackLimits(t *testing.T) {
	s := newSheet(1e5)
	c := s.config(t, 20)
	margin := 0.2
	c.Tuning.KnapsackMargin = &margin
	null := onlyArm{0, 1}
	c.Knowledge.Null, c.Knowledge.NullReturns = null, s.user([3]float64{1.5, 0.3, 0.2})
	l := newLearner(t, "conrl-knapsack", c)
	limit := [2]float64{0.9 - 0.2*(0.9-0.3), 0.95 - 0.2*(0.95-0.2)}
	for k := 1.; k <= 20; k++ {
		p := l.Policy()
		if k >= 8 { // by the 14th another episode could be afforded again
			if p != cmdp.Policy(null) {
				t.Fatalf("episode %v: the budget can be overdrawn", k)
			}
			s.show(l, c.Shape, [3]int{1, 0, 0}, [2]int{0, 1}) // uses nothing of x₁
			continue
		}
		if p == cmdp.Policy(null) {
			t.Fatalf("episode %v: retreats early", k)
		}
		s.wantPlanned(t, "conrl-knapsack", p, sheetStays, limit, conRLTheory(s, k))
		s.show(l, c.Shape, [3]int{0, 0, 0}, [2]int{0, 0})
	}
	c.Prior, c.Tuning.KnapsackMargin = s.prior(t, c.Shape), nil // 0.05
	l, limit = newLearner(t, "conrl-knapsack", c), [2]float64{0.9 - 0.05*(0.9-0.3), 0.95 - 0.05*(0.95-0.2)}
	s.wantPlanned(t, "default margin", l.Policy(), sheetStays, limit, conRLTheory(s, 1))
	c.Knowledge.NullReturns = s.user([3]float64{1.5, 0.3, 0.96})
	if _, err := New("conrl-knapsack", c); err == nil {
		t.Error("a null policy that exceeds the second limit")
	}
}
