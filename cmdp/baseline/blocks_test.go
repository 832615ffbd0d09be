package baseline

import (
	"encoding"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"

	"gonum.org/v1/gonum/floats"
)

// coreOfLearner returns what tabular learners share.
func coreOfLearner(t *testing.T, l cmdp.Learner) *core {
	t.Helper()
	switch x := l.(type) {
	case *lpLearner:
		return x.core
	case *knapsackLearner:
		return x.core
	case *lagrangian:
		return x.core
	case *posterior:
		return x.core
	case *posteriorSafe:
		return x.core
	case *momaPosterior:
		return x.core
	case *psConRL:
		return x.core
	case *cUCRL2:
		return x.core
	case *fha:
		return x.core
	}
	t.Fatalf("%T has no core", l)
	return nil
}

// restored returns a learner of a Config in the state of another one.
func restored(t *testing.T, name string, c Config, l cmdp.Learner) cmdp.Learner {
	t.Helper()
	other := newLearner(t, name, c)
	data, err := l.(encoding.BinaryMarshaler).MarshalBinary()
	if err == nil {
		err = other.(encoding.BinaryUnmarshaler).UnmarshalBinary(data)
	}
	if err != nil {
		t.Fatal(name, err)
	}
	return other
}

// drawnPlan is what a learner that draws models plays: the model of moma-posterior, and of the others the policy in the
// first state.
func drawnPlan(t *testing.T, l cmdp.Learner) []float64 {
	policy := l.Policy()
	if x, ok := l.(*momaPosterior); ok {
		return slices.Clone(x.model.Kernel(0).Plain(x.model.Dim()).Prob)
	}
	probs := make([]float64, coreOfLearner(t, l).shape.Actions(0, 0))
	policy.Distribution(probs, 0, 0)
	return probs
}

// TestBlocksAreDrawn wants each block to draw anew, and a learner that was restored in any block to go on with the
// block as it is, and with the same draws after it. Limits bind, so that another draw is another policy.
func TestBlocksAreDrawn(t *testing.T) {
	_, gambles := gamble(t, 0.3)
	gambles.Confidence = cmdp.Confidence{Episodes: 100, Failure: 0.1}
	gambles.Prior = newCounts(t, gambles.Shape, false)
	for next, times := range map[int]uint32{1: 12, 2: 14} {
		if err := gambles.Prior.Add(0, 0, 1, next, times); err != nil {
			t.Fatal(err)
		}
	}
	rooms := twoRooms(t, 1).config(1000, 4)
	rooms.Prior = newCounts(t, rooms.Shape, false)
	for _, x := range [][3]int{{0, 0, 0}, {0, 1, 1}, {0, 1, 0}, {1, 0, 0}} {
		if err := rooms.Prior.Add(0, x[0], x[1], x[2], 5); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name   string
		config Config
	}{{"posterior", gambles}, {"posterior-plain", gambles}, {"posterior-safe", gambles}, {"moma-posterior", gambles},
		{"posterior", rooms}, {"psconrl", rooms}} {
		l := newLearner(t, tt.name, tt.config)
		const blocks = 12
		var plans [][]float64
		for range blocks {
			plan := drawnPlan(t, l)
			other := restored(t, tt.name, tt.config, l)
			if again := drawnPlan(t, other); !slices.Equal(plan, again) {
				t.Errorf("%s: block %d plays %v, and restored %v", tt.name, len(plans), plan, again)
			}
			coreOfLearner(t, l).state.Planned, coreOfLearner(t, other).state.Planned = false, false
			if next, again := drawnPlan(t, l), drawnPlan(t, other); !slices.Equal(next, again) {
				t.Errorf("%s: after block %d it plays %v, and restored %v", tt.name, len(plans), next, again)
			}
			plans = append(plans, plan)
		}
		slices.SortFunc(plans, slices.Compare)
		different, want := len(slices.CompactFunc(plans, slices.Equal)), blocks-1
		if tt.config.Endless == nil && (tt.name == "posterior" || tt.name == "posterior-plain") {
			want = 3 // blocks of frequencies are all the same
		} else if tt.config.Endless != nil {
			want = 6 // some draws have no policy, or all of one kind
		}
		if different < want {
			t.Errorf("%s, endless %v: %d of %d blocks differ: want %d at least", tt.name, tt.config.Endless != nil,
				different, blocks, want)
		}
	}
}

// drawnRooms draws a model without a horizon, in which some states may be out of reach of others.
func drawnRooms(t *testing.T, rng *rand.Rand) *endlessExample {
	t.Helper()
	const states = 5
	b := cmdp.NewBuilder(cmdp.ModelSpec{Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}, Average: true},
		states)
	for s := range states {
		for a := range 2 + rng.IntN(2) {
			p := 0.2 + 0.6*rng.Float64()
			addRow(t, b, cmdp.Row{State: s, Action: a, Returns: []float64{rng.Float64(), rng.Float64()},
				Next: []cmdp.Transition{{Next: rng.IntN(2) * rng.IntN(states), Probability: p},
					{Next: (s + rng.IntN(2)) % states, Probability: 1 - p}}})
		}
	}
	return newEndlessExample(t, built(t, b), 0.3+0.5*rng.Float64(), 0)
}

// spoil makes the policy of a learner another one, which is certain of all its actions.
func spoil(x *table, rng *rand.Rand) {
	for h := range x.horizon {
		for s := range x.states {
			if row := x.row(h, s); len(row) > 0 {
				clear(row)
				row[rng.IntN(len(row))] = 1
			}
		}
	}
}

// TestPlansForget wants a plan to depend on what was learned alone: planned anew, a learner plays the same in all
// states, those that nobody comes to too, whatever its policy was before. Where there is no plan some keep what they
// play.
func TestPlansForget(t *testing.T) {
	rng := rand.New(rand.NewPCG(30, 66))
	compare := func(name string, c Config, run func(l cmdp.Learner)) {
		l := newLearner(t, name, c)
		run(l)
		one, other := restored(t, name, c, l), restored(t, name, c, l)
		x, y := coreOfLearner(t, one), coreOfLearner(t, other)
		spoil(y.policy, rng)
		x.state.Planned, y.state.Planned = false, false
		first, second := one.Policy(), other.Policy()
		if x.state.Work.Infeasible > coreOfLearner(t, l).state.Work.Infeasible && c.Endless == nil {
			return
		}
		for h := range c.Shape.Horizon() {
			for s := range c.Shape.States() {
				p := make([]float64, c.Shape.Actions(h, s))
				q := slices.Clone(p)
				if len(p) == 0 {
					continue
				}
				first.Distribution(p, h, s)
				if second.Distribution(q, h, s); !slices.Equal(p, q) {
					t.Errorf("%s: step %d, state %d: actions %v, and %v after another policy", name, h+1, s, p, q)
				}
			}
		}
	}
	for seed := range uint64(6) {
		ex := newExample(t, seed, modelSpec{states: 3, actions: 3, horizon: 3, dim: 2, stationary: seed%2 == 0,
			rests: seed%3 == 0})
		c := ex.config(1000)
		c.Bonus = cmdp.TheoryTimes(0.01)
		ex.withNull(&c)
		for _, name := range append([]string{"conrl-convex", "conrl-knapsack", "optdual", "conrl-lagr", "posterior",
			"posterior-plain"}, lpNames...) {
			compare(name, c, func(l cmdp.Learner) { play(t, ex.model, l, seed, 4+rng.IntN(4)) })
		}
		rooms := drawnRooms(t, rng)
		for _, a := range Algorithms() {
			if a.Endless && a.Name != "fha" {
				compare(a.Name, rooms.config(1000, seed), func(l cmdp.Learner) {
					if err := cmdp.NewEndlessRunner(rooms.env, l, seed).Run(t.Context(), 3+rng.IntN(40)); err != nil {
						t.Fatal(err)
					}
				})
			}
		}
	}
}

// TestFollowedPlan wants the course of an endless run to play a plan where the plan comes, by the definition of what
// that is, and to draw actions evenly in all other states.
func TestFollowedPlan(t *testing.T) {
	rng, away := rand.New(rand.NewPCG(30, 67)), 0
	for trial := range 20 {
		ex := drawnRooms(t, rng)
		m := ex.env.Model()
		_, plan, err := planEndless(t.Context(), m, ex.task, exact.Options{Workers: 1}, rng)
		if err != nil {
			t.Fatal(err)
		}
		l := newLearner(t, "psconrl", ex.config(100, 1)).(*psConRL)
		spoil(l.core.policy, rng)
		l.course.follow(m, plan)
		comes := []bool{true, false, false, false, false}
		for range comes {
			for s := range comes {
				probs := make([]float64, ex.env.Shape().Actions(0, s))
				plan.Distribution(probs, 0, s)
				for a, p := range probs {
					next, _ := rowOf(m, 0, s, a)
					for to, q := range next {
						comes[to] = comes[to] || comes[s] && p > 0 && q > 0
					}
				}
			}
		}
		for s, met := range comes {
			want := make([]float64, ex.env.Shape().Actions(0, s))
			floats.AddConst(1/float64(len(want)), want)
			if met {
				plan.Distribution(want, 0, s)
			} else {
				away++
			}
			if got := l.core.policy.row(0, s); !floats.EqualApprox(got, want, 1e-12) {
				t.Errorf("trial %d, state %d, which the plan comes to %v: actions %v: want %v", trial, s, met, got, want)
			}
		}
	}
	if away < 10 {
		t.Errorf("%d states are out of reach: want more", away)
	}
}

// TestBestOrNearest compares answers with the hull of the returns of some arms, in the plane: of points of its sides,
// close to each other, the nearest to the target, and of the nearest the cheapest. Without a horizon, each arm a room
// that is never left, the answer may be a mixture of policies.
func TestBestOrNearest(t *testing.T) {
	rng, out := rand.New(rand.NewPCG(30, 68)), 0
	for trial := range 40 {
		var arms [][]float64
		for range 2 + rng.IntN(4) {
			arms = append(arms, []float64{float64(rng.IntN(5)), float64(rng.IntN(5))})
		}
		lower := []float64{5*rng.Float64() - 2, 5*rng.Float64() - 2}
		upper := []float64{lower[0] + 2*rng.Float64(), lower[1] + 6*rng.Float64()}
		dir := []float64{rng.NormFloat64(), rng.NormFloat64()}
		task := cmdp.Task{Target: boundedBox(t, lower, upper),
			Cost: linearCost(t, dir, newBox(t, []float64{-9, -9}, []float64{9, 9}))}
		distance := func(v []float64) float64 {
			return math.Hypot(max(0, lower[0]-v[0], v[0]-upper[0]), max(0, lower[1]-v[1], v[1]-upper[1]))
		}
		nearest := math.Inf(1)
		var points [][]float64
		for _, x := range arms {
			for _, y := range arms {
				for i := range 1001 {
					u := float64(i) / 1000
					v := []float64{u*x[0] + (1-u)*y[0], u*x[1] + (1-u)*y[1]}
					points, nearest = append(points, v), min(nearest, distance(v))
				}
			}
		}
		least := math.Inf(1)
		for _, v := range points {
			if distance(v) <= nearest+1e-9 {
				least = min(least, floats.Dot(dir, v))
			}
		}
		m := armed(t, arms...)
		r, err := BestOrNearest(t.Context(), m, task, exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		v := make([]float64, 2)
		cmdp.NewEvaluator(m).Returns(v, r.Policy)
		wantNearest(t, fmt.Sprintf("trial %d", trial), r, v, dir, distance(v), nearest, least)
		if nearest > 1e-6 {
			out++
		}
		e, err := bestOrNearest(t.Context(), roomsOf(t, arms), task, exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		wantNearest(t, fmt.Sprintf("trial %d, endless", trial), e, e.Returns, dir, distance(e.Returns), nearest, least)
	}
	if out < 10 || out > 35 {
		t.Errorf("%d of 40 targets are out of reach: want some of either kind", out)
	}
}

func wantNearest(t *testing.T, what string, r *exact.Result, v, dir []float64, away, nearest, least float64) {
	t.Helper()
	const slack = 5e-3 // points of a side are a thousandth apart
	if (r.Status == exact.Infeasible) != (nearest > 1e-6) && (nearest == 0 || nearest > slack) {
		t.Errorf("%s: status %v, and the nearest policy is %v away", what, r.Status, nearest)
	}
	if away > nearest+1e-4 || floats.Dot(dir, v) > least+slack*10 {
		t.Errorf("%s: returns %v, %v away, of cost %v: want %v away and a cost of %v", what, v, away,
			floats.Dot(dir, v), nearest, least)
	}
	if !floats.EqualApprox(r.Returns, v, 1e-9) || !(math.Abs(r.Objective-floats.Dot(dir, v)) <= 1e-9) {
		t.Errorf("%s: returns %v and objective %v: want %v and %v, those of the policy", what, r.Returns, r.Objective, v,
			floats.Dot(dir, v))
	}
}

// roomsOf has a room for each arm, which is chosen at first and never left.
func roomsOf(t *testing.T, arms [][]float64) *cmdp.Model {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}, Average: true},
		1+len(arms))
	for a, r := range arms {
		addRow(t, b, cmdp.Row{State: 0, Action: a, Returns: []float64{0, 0},
			Next: []cmdp.Transition{{Next: 1 + a, Probability: 1}}})
		addRow(t, b, cmdp.Row{State: 1 + a, Action: 0, Returns: r,
			Next: []cmdp.Transition{{Next: 1 + a, Probability: 1}}})
	}
	return built(t, b)
}
