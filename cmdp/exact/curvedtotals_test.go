package exact_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// randomWaiting draws a model of totals that loops make as large as one likes: each state has an action that may end
// the process and others that do not. It comes with the returns of a policy that draws.
func randomWaiting(t *testing.T, rng *rand.Rand, dim int) (m *cmdp.Model, v []float64) {
	t.Helper()
	states := 1 + rng.IntN(2)
	b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: dim, Start: []cmdp.StartState{{State: 0, Probability: 1}}},
		states+1)
	signs := make([]float64, dim)
	for i := range signs {
		signs[i] = float64(1 - 2*rng.IntN(2))
	}
	next, gain := make([][]float64, states), make([][]float64, states) // of the policy that draws
	for s := range states {
		next[s], gain[s] = make([]float64, states), make([]float64, dim)
		actions := 2 + rng.IntN(2)
		for a := range actions {
			row := cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a, Returns: make([]float64, dim)}
			to, p := rng.IntN(states), 1.0
			if a == 0 {
				p = 0.25 * float64(rng.IntN(4))
				row.Next = append(row.Next, cmdp.Transition{Next: states, Probability: 1 - p})
			}
			if p > 0 {
				row.Next = append(row.Next, cmdp.Transition{Next: to, Probability: p})
			}
			next[s][to] += p / float64(actions)
			for i := range row.Returns {
				row.Returns[i] = signs[i] * []float64{0, 0.5, 1, 3}[rng.IntN(4)]
				gain[s][i] += row.Returns[i] / float64(actions)
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
	v = make([]float64, dim)
	at := make([]float64, states)
	at[0] = 1
	for range 2000 {
		after := make([]float64, states)
		for s, x := range at {
			for i, g := range gain[s] {
				v[i] += x * g
			}
			for to, p := range next[s] {
				after[to] += x * p
			}
		}
		at = after
	}
	return m, v
}

// TestCurvedTotals asks for what is curved in totals that have no bound: to come near the returns of a policy, or as
// far as can be within a ball around them. What the policy itself costs is known. A cost that falls less and less
// along a loop, or without limit, has to be answered too. A few answers may be undecided: where no policy is found
// for the optimal mixture.
func TestCurvedTotals(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 6))
	const trials = 1500
	undecided := 0
	for trial := range trials {
		dim := 1 + rng.IntN(3)
		m, v := randomWaiting(t, rng, dim)
		lower, upper, ones := make([]float64, dim), make([]float64, dim), make([]float64, dim)
		direction, aside := make([]float64, dim), make([]float64, dim)
		for i := range v {
			lower[i], upper[i], ones[i] = -exact.Boundless, exact.Boundless, 1
			direction[i], aside[i] = rng.NormFloat64(), v[i]+rng.NormFloat64()
		}
		x, err := geometry.NewBox(lower, upper)
		if err != nil {
			t.Fatal(err)
		}
		radius := 0.1 + rng.Float64()
		ball, err := geometry.NewBall(v, radius)
		if err != nil {
			t.Fatal(err)
		}
		task, least := cmdp.Task{}, 0.0
		switch rng.IntN(8) {
		case 0:
			task.Cost, err = cost.NewSquared(v, ones, x)
		case 1:
			task.Cost, err = cost.NewHuber(v, ones, 0.3, x)
		case 2:
			task.Cost, err = cost.NewNorm(2, v, x)
		case 3:
			task.Cost, err = cost.NewDistance(ball)
		case 4:
			task.Cost, err = cost.NewNorm(math.Inf(1), aside, x)
		case 5:
			task.Cost, err = cost.NewLogSumExp(0.01, x)
			least = math.Inf(-1)
		case 6:
			task.Cost, err = cost.NewSquared(aside, ones, x)
			task.Target = ball
		default:
			task.Cost, err = cost.NewLinear(direction, x)
			task.Target = ball
			for i, c := range direction {
				least += c * v[i]
			}
			least -= radius * floats.Norm(direction, 2)
		}
		if err != nil {
			t.Fatal(err)
		}
		r, err := exact.Solve(context.Background(), m, task, exact.Options{})
		if err == nil && r.Status == exact.Undecided {
			undecided++
			continue
		}
		most := task.Cost.Value(v)
		size := 1 + math.Abs(most)
		if err == nil && r.Status == exact.Unbounded && math.IsInf(least, -1) &&
			task.Cost.Value(r.Returns) < most-1e3*size {
			continue
		}
		if err != nil || r.Status != exact.Optimal {
			t.Errorf("trial %d: %T on %T: %v, %+v", trial, task.Cost, task.Target, err, r)
			continue
		}
		if r.Objective > most+1e-6*size || r.Objective < least-1e-6*size || r.Gap > 1e-6*size {
			t.Errorf("trial %d: %T on %T: %v, gap %v: want from %v to %v", trial, task.Cost, task.Target, r.Objective,
				r.Gap, least, most)
		}
		if r.Violation > r.Tolerance {
			t.Errorf("trial %d: violation %v", trial, r.Violation)
		}
	}
	if undecided > trials/500 {
		t.Errorf("%d answers are undecided", undecided)
	}
}

// TestSlackOfTotals asks for the largest slack within a ball around the returns of a policy, which is that of the ball.
// The radius that is named is one of the returns that are named, even where no policy is found for the best ones.
func TestSlackOfTotals(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 8))
	const trials = 300
	small := 0
	for trial := range trials {
		dim := 1 + rng.IntN(3)
		m, v := randomWaiting(t, rng, dim)
		radius := 0.1 + rng.Float64()
		ball, err := geometry.NewBall(v, radius)
		if err != nil {
			t.Fatal(err)
		}
		task := cmdp.Task{Target: ball}
		r, err := exact.PlannerOf(t, m).Slack(context.Background(), task, exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		room := radius - floats.Distance(r.Returns, v, 2)
		if r.Radius < radius/math.Sqrt(float64(dim))-1e-3 {
			small++
		}
		if r.Bound < radius-1e-6 || r.Radius > max(0, room)+1e-6 {
			t.Errorf("trial %d: radius %v, at most %v, around %v: want %v around %v", trial, r.Radius, r.Bound, r.Returns,
				radius, v)
		}
	}
	if small > trials/20 {
		t.Errorf("%d radii are small", small)
	}
}

// TestConesOfTotals asks whether totals without bounds come to a cone around the returns of a policy, or apart from
// them.
func TestConesOfTotals(t *testing.T) {
	for trial := range 60 {
		rng := rand.New(rand.NewPCG(uint64(trial), 7))
		dim := 2 + rng.IntN(2)
		m, v := randomWaiting(t, rng, dim)
		lower, upper, by := make([]float64, dim), make([]float64, dim), make([]float64, dim)
		for i := range v {
			by[i] = v[i] + rng.NormFloat64()
			if v[i] > 0 {
				upper[i] = exact.Boundless
			} else if v[i] < 0 {
				lower[i] = -exact.Boundless
			}
		}
		x, err := geometry.NewBox(lower, upper)
		if err != nil {
			t.Fatal(err)
		}
		cone, err := geometry.NewSecondOrderCone(dim)
		if err != nil {
			t.Fatal(err)
		}
		moved, err := geometry.NewTranslate(cone, by)
		if err != nil {
			t.Fatal(err)
		}
		task := cmdp.Task{}
		task.Box = x
		if err := task.Within(nil, moved); errors.Is(err, geometry.ErrEmpty) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		r, err := exact.Solve(context.Background(), m, task, exact.Options{})
		if err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		exact.Fits(t, m, task, r)
		aside := 0.0
		for i := range dim - 1 {
			aside = math.Hypot(aside, v[i]-by[i])
		}
		if inside := v[dim-1] - by[dim-1] - aside; inside > 1e-6 && r.Status != exact.Optimal {
			t.Errorf("trial %d: %v: want a policy with returns %v in the cone from %v", trial, r.Status, v, by)
		}
		if r.Status == exact.Optimal && r.Violation > r.Tolerance {
			t.Errorf("trial %d: violation %v", trial, r.Violation)
		}
	}
}
