package baseline

import (
	"math"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/oracle/lp"
)

// A sheet is a problem small enough to be worked out on paper: 2 steps, 2 states, 2
// actions, 3 returns. Its kernel and its returns differ by step, it starts in either
// state, the first return is maximised, the second is to be at most and the third at least
// a bound. Everything that tests compute on it they compute with the loops of this file,
// from counts and signals that stand here, and not with those of the learners.
//
// The scaled signals of a step are x ∈ [0,1]³, and the user's returns (4−2x₀, 3x₁−1,
// 5−4x₂), so that signals have the widths 2, 3 and 4 and two of them point down.
type sheet struct {
	counts [2][2][2][2]float64 // step, state, action, successor: visits seen
	limit  [2]float64          // on the sums of x₁ and x₂
}

// sheetStart is the distribution of the first state.
var sheetStart = [2]float64{0.75, 0.25}

// sheetSignals are the scaled signals of step, state and action: in every step each
// signal comes to 0 and to 1.
var sheetSignals = [2][2][2][3]float64{
	{{{0, 1, 0.5}, {1, 0.25, 0}}, {{0.5, 0, 1}, {0.25, 0.5, 0.75}}},
	{{{0.25, 1, 0}, {1, 0, 0.5}}, {{0, 0.75, 1}, {0.75, 0.25, 0.25}}},
}

// newSheet returns the sheet with so many times the counts below.
func newSheet(times float64) *sheet {
	s := &sheet{limit: [2]float64{0.9, 0.95}, counts: [2][2][2][2]float64{
		{{{30, 10}, {5, 15}}, {{8, 8}, {2, 6}}},
		{{{3, 1}, {40, 10}}, {{0, 7}, {12, 12}}},
	}}
	for h := range 2 {
		for i := range 8 {
			s.counts[h][i/4][i/2%2][i%2] *= times
		}
	}
	return s
}

// forget takes away all visits of action 1 in state 1 at the first step.
func (s *sheet) forget() { s.counts[0][1][1] = [2]float64{} }

// visits returns n_h(s, a).
func (s *sheet) visits(h, state, a int) float64 {
	return s.counts[h][state][a][0] + s.counts[h][state][a][1]
}

// A sheetRule says where a choice that was never visited leads.
type sheetRule int

const (
	sheetStays sheetRule = iota
	sheetAnywhere
)

// row returns the frequencies p̄_h(·|s, a).
func (s *sheet) row(h, state, a int, rule sheetRule) (p [2]float64) {
	n := s.visits(h, state, a)
	switch {
	case n > 0:
		return [2]float64{s.counts[h][state][a][0] / n, s.counts[h][state][a][1] / n}
	case rule == sheetStays:
		p[state] = 1
		return p
	}
	return [2]float64{0.5, 0.5}
}

// returns are the user's returns of a choice.
func (s *sheet) returns(h, state, a int) []float64 {
	x := sheetSignals[h][state][a]
	return []float64{4 - 2*x[0], 3*x[1] - 1, 5 - 4*x[2]}
}

// user are the returns of an episode with the sums X of scaled signals.
func (s *sheet) user(x [3]float64) []float64 {
	return []float64{8 - 2*x[0], 3*x[1] - 2, 10 - 4*x[2]}
}

// model returns a model with the sheet's returns, whose kernel plays no part.
func (s *sheet) model(t testing.TB) *cmdp.Model {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 2, Dim: 3, Start: []cmdp.StartState{
		{State: 0, Probability: sheetStart[0]}, {State: 1, Probability: sheetStart[1]}}}, 2)
	for i := range 8 {
		h, state, a := i/4, i/2%2, i%2
		p := s.row(h, state, a, sheetAnywhere)
		row := cmdp.Row{Step: h + 1, State: state, Action: a, Returns: s.returns(h, state, a)}
		for n, x := range p {
			row.Next = append(row.Next, cmdp.Transition{Next: n, Probability: x})
		}
		addRow(t, b, row)
	}
	return built(t, b)
}

// config states the problem in the user's returns: maximise v₀ with v₁ ≤ 3α₁ − 2 and
// v₂ ≥ 10 − 4α₂. The counts are known beforehand.
func (s *sheet) config(t testing.TB, episodes int) Config {
	t.Helper()
	m := s.model(t)
	box := boxOf(t, m)
	lower, upper := box.Lower(), box.Upper()
	upper[1], lower[2] = 3*s.limit[0]-2, 10-4*s.limit[1]
	target := boundedBox(t, lower, upper)
	return Config{Settings: cmdp.Settings{Confidence: cmdp.Confidence{Episodes: episodes, Failure: 0.1}},
		Shape: m.Shape(), Returns: m.KnownReturns(), Prior: s.prior(t, m.Shape()),
		Task: cmdp.Task{Cost: linearCost(t, []float64{-1, 0, 0}, box), Target: target}}
}

func (s *sheet) prior(t testing.TB, sh *cmdp.Shape) *cmdp.Counts {
	t.Helper()
	c := newCounts(t, sh, false)
	for i := range 16 {
		h, state, a, n := i/8, i/4%2, i/2%2, i%2
		if err := c.Add(h, state, a, n, uint32(s.counts[h][state][a][n])); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// show shows a learner the episode of the given states and actions, and counts it.
func (s *sheet) show(l cmdp.Learner, sh *cmdp.Shape, states [3]int, actions [2]int) {
	tr := cmdp.NewTrajectory(sh)
	tr.Steps = 2
	copy(tr.States, states[:])
	copy(tr.Actions, actions[:])
	for h := range 2 {
		for i, x := range s.returns(h, states[h], actions[h]) {
			tr.Return(h)[i] = x
			tr.Total[i] += x
		}
		s.counts[h][states[h]][actions[h]][states[h+1]]++
	}
	l.Observe(tr)
}

// A sheetPolicy has the probability of action 1 by step and state.
type sheetPolicy [2][2]float64

// sheetPolicies are the 16 deterministic policies.
func sheetPolicies() (all []sheetPolicy) {
	for i := range 16 {
		all = append(all, sheetPolicy{{float64(i & 1), float64(i >> 1 & 1)}, {float64(i >> 2 & 1), float64(i >> 3)}})
	}
	return all
}

// readSheet reads the probabilities of a policy.
func readSheet(p cmdp.Policy) (out sheetPolicy) {
	probs := make([]float64, 2)
	for h := range 2 {
		for state := range 2 {
			p.Distribution(probs, h, state)
			out[h][state] = probs[1]
		}
	}
	return out
}

// value is the expected sum of a signal, given by step, state and action, under a policy.
func (s *sheet) value(p sheetPolicy, rule sheetRule, signal func(h, state, a int) float64) float64 {
	mass, sum := sheetStart, 0.0
	for h := range 2 {
		var next [2]float64
		for state := range 2 {
			for a := range 2 {
				q := mass[state] * (1 - p[h][state])
				if a == 1 {
					q = mass[state] * p[h][state]
				}
				sum += q * signal(h, state, a)
				row := s.row(h, state, a, rule)
				next[0] += q * row[0]
				next[1] += q * row[1]
			}
		}
		mass = next
	}
	return sum
}

// values are the three signals of a policy, each lowered by a bonus.
func (s *sheet) values(p sheetPolicy, rule sheetRule, bonus func(h, state, a int) float64) (v [3]float64) {
	for j := range v {
		v[j] = s.value(p, rule, func(h, state,
			a int) float64 {
			return sheetSignals[h][state][a][j] - bonus(h, state, a)
		})
	}
	return v
}

// plan returns the least V₀ of a mixture of policies within the limits, by a linear program
// over all deterministic ones.
func (s *sheet) plan(t testing.TB, rule sheetRule, limit [2]float64, bonus func(h, state, a int) float64) float64 {
	t.Helper()
	p := &lp.Problem{Rows: []lp.Constraint{{Lower: 1, Upper: 1}, {Lower: math.Inf(-1), Upper: limit[0]},
		{Lower: math.Inf(-1), Upper: limit[1]}}}
	for _, policy := range sheetPolicies() {
		v := s.values(policy, rule, bonus)
		p.Minimize = append(p.Minimize, v[0])
		for i, x := range []float64{1, v[1], v[2]} {
			p.Rows[i].Coef = append(p.Rows[i].Coef, x)
		}
	}
	return solveLP(t, p)
}

func solveLP(t testing.TB, p *lp.Problem) float64 {
	t.Helper()
	r, err := lp.Solve(p)
	if err != nil || r.Status != lp.Optimal {
		t.Fatal(r, err)
	}
	return r.Objective
}
