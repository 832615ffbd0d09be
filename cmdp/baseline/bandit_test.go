package baseline

import (
	"encoding"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// bandits are the algorithms for one state and one step that need no known returns.
var bandits = []string{"bwcr", "bwcr-ucb", "bwcr-fw"}

// banditExample is a one-state, one-step problem with arms of two returns.
func banditExample(t *testing.T, random bool) *example {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 1, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 1)
	for a, r := range [][]float64{{2, 1}, {1, 0.1}, {0.2, 0}, {1.6, 0.9}} {
		row := cmdp.Row{Step: cmdp.EveryStep, Action: a, Returns: r, Next: []cmdp.Transition{{Next: 0, Probability: 1}}}
		if random {
			row.Returns = nil
			row.Next = []cmdp.Transition{
				{Next: 0, Probability: 0.5, Returns: []float64{r[0] * 0.5, r[1] * 1.2}},
				{Next: 0, Probability: 0.5, Returns: []float64{r[0] * 1.5, r[1] * 0.8}}}
		}
		addRow(t, b, row)
	}
	m := built(t, b)
	ex := newExampleFor(t, m, []float64{-1, 0}, []float64{math.Inf(1), 0.5})
	return ex
}

// TestBandit wants bwcr without radii to be MOMA with H = S = 1 without bonus, step
// for step, with known and with learned returns; and to approach the optimum with
// its own radii.
func TestBandit(t *testing.T) {
	for _, learned := range []bool{false, true} {
		ex := banditExample(t, learned)
		c := ex.config(400)
		c.Bonus = cmdp.TheoryTimes(0)
		if learned {
			c.Returns = nil
		}
		_, a := play(t, ex.model, newLearner(t, "bwcr", c), 7, 400)
		_, b := play(t, ex.model, newLearner(t, "moma-double", c), 7, 400)
		for k := range a {
			if a[k][0] != b[k][0] {
				t.Fatalf("learned %v: round %d: bwcr returns %v, moma %v", learned, k, a[k], b[k])
			}
		}
	}
	ex := banditExample(t, true)
	c := ex.config(20000)
	c.Returns = nil
	c.Bonus = cmdp.BonusScale{Mode: cmdp.Practice, Factor: 1}
	mean, _ := play(t, ex.model, newLearner(t, "bwcr", c), 7, 20000)
	if r := ex.task.Cost.Value(mean) - ex.optimum; math.Abs(r) > 0.05 || ex.excess(t, mean) > 0.05 {
		t.Errorf("regret %.4f, excess %.4f", r, ex.excess(t, mean))
	}
}

// curvedTask has the cost |v − (2, 0)|² and, if asked for, a ball as target.
func curvedTask(t *testing.T, m *cmdp.Model, target bool) cmdp.Task {
	t.Helper()
	squared, err := cost.NewSquared([]float64{2, 0}, []float64{1, 1}, boxOf(t, m))
	if err != nil {
		t.Fatal(err)
	}
	task := cmdp.Task{Cost: squared}
	if !target {
		return task
	}
	ball, err := geometry.NewBall([]float64{1, 0.1}, 0.25)
	if err != nil {
		t.Fatal(err)
	}
	if task.Target, err = geometry.Restrict(ball, boxOf(t, m)); err != nil {
		t.Fatal(err)
	}
	return task
}

// TestBanditUCB wants bwcr-ucb to play the optimum from the first round on if it knows
// the means, for linear and curved tasks, and to approach it if not.
func TestBanditUCB(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	ex := banditExample(t, true)
	for i, task := range []cmdp.Task{ex.task, {Cost: ex.task.Cost}, curvedTask(t, ex.model, false),
		curvedTask(t, ex.model, true)} {
		optimum := solve(t, ex.model, task).Objective
		c := ex.config(2000)
		c.Task = task
		for range 2 {
			v, _ := play(t, ex.model, newLearner(t, "bwcr-ucb", c), 7, 1)
			if r := task.Cost.Value(v) - optimum; math.Abs(r) > 1e-4 || task.Target != nil && task.Violation(v) > 1e-5 {
				t.Errorf("task %d: known means: regret %g, violation %g", i, r, task.Violation(v))
			}
			c.Bonus = cmdp.BonusScale{Mode: cmdp.Practice, Factor: 1} // makes no difference
		}
		c.Returns = nil
		l := newLearner(t, "bwcr-ucb", c)
		mean, _ := play(t, ex.model, l, 7, 2000)
		if r := task.Cost.Value(mean) - optimum; math.Abs(r) > 0.3 || task.Target != nil && task.Violation(mean) > 0.2 {
			t.Errorf("task %d: learned means: regret %g at %v", i, r, mean)
		}
		if w := l.(Worker).Work(); w.Programs != 2000 || w.Infeasible > 0 {
			t.Errorf("task %d: %+v", i, w)
		}
	}
}

// TestBanditOptimism counts the rounds in which the optimistic value of bwcr-ucb lies
// above the optimum: none with radii of theory, some with 0.1 times them: returns vary less than they could.
func TestBanditOptimism(t *testing.T) {
	ex := banditExample(t, true)
	const seeds, rounds = 10, 300
	for _, factor := range []float64{1, 0.1} {
		c := ex.config(rounds)
		c.Returns, c.Bonus = nil, cmdp.TheoryTimes(factor)
		bad := 0
		for seed := range uint64(seeds) {
			bad += notOptimistic(ex, newLearner(t, "bwcr-ucb", c).(*banditPlanner), seed, rounds)
		}
		if (bad == 0) != (factor == 1) {
			t.Errorf("%g of the radii: %d of %d rounds not optimistic", factor, bad, seeds*rounds)
		}
	}
}

// notOptimistic lets a learner play and returns the number of rounds in which it hoped
// for less than the optimum.
func notOptimistic(ex *example, l *banditPlanner, seed uint64, rounds int) (bad int) {
	tr := cmdp.NewTrajectory(ex.model.Shape())
	env, agent := rand.New(cmdp.Stream(seed, "e")), rand.New(cmdp.Stream(seed, "a"))
	for range rounds {
		p := l.Policy()
		if ex.task.Cost.Value(l.program.Point) > ex.optimum+1e-6 {
			bad++
		}
		tr.Play(ex.model, p, env, agent)
		l.Observe(tr)
	}
	return bad
}

// TestBanditUnconstrained wants all three algorithms to be the same optimistic one,
// arm by arm, for a linear cost and no constraint.
func TestBanditUnconstrained(t *testing.T) {
	ex := banditExample(t, true)
	c := ex.config(500)
	c.Task, c.Returns = cmdp.Task{Cost: ex.task.Cost}, nil
	_, want := play(t, ex.model, newLearner(t, "bwcr", c), 7, 500)
	for _, name := range bandits[1:] {
		_, got := play(t, ex.model, newLearner(t, name, c), 7, 500)
		for k := range got {
			if math.Abs(got[k][0]-want[k][0]) > 1e-12 {
				t.Fatalf("%s: round %d returns %v, bwcr %v", name, k, got[k], want[k])
			}
		}
	}
}

// TestBanditFrankWolfe wants the mean of bwcr-fw to approach the optimum of a smooth
// cost, and a target, at the rate 1/t if the means are known.
func TestBanditFrankWolfe(t *testing.T) {
	ex := banditExample(t, false)
	smooth := curvedTask(t, ex.model, false)
	target := cmdp.Task{Target: curvedTask(t, ex.model, true).Target}
	best := solve(t, ex.model, smooth).Objective
	for _, learned := range []bool{false, true} {
		within := 0.01
		c := ex.config(4000)
		if learned {
			c.Returns, c.Bonus, within = nil, cmdp.BonusScale{Mode: cmdp.Practice, Factor: 1}, 0.1
		}
		c.Task = smooth
		mean, _ := play(t, ex.model, newLearner(t, "bwcr-fw", c), 7, 4000)
		if r := smooth.Cost.Value(mean) - best; r < -1e-9 || r > within {
			t.Errorf("learned %v: regret %g", learned, r)
		}
		c.Task = target
		mean, _ = play(t, ex.model, newLearner(t, "bwcr-fw", c), 7, 4000)
		if x := target.Violation(mean); x > within {
			t.Errorf("learned %v: violation %g", learned, x)
		}
	}
	if _, err := New("bwcr-fw", ex.config(10)); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a cost and a target: %v", err)
	}
}

// TestBanditSaved wants the three algorithms to continue bit for bit after they were saved and restored, into learners
// that have pulled other arms.
func TestBanditSaved(t *testing.T) {
	ex := banditExample(t, true)
	for _, name := range bandits {
		c := ex.config(200)
		c.Returns, c.Bonus = nil, cmdp.BonusScale{Mode: cmdp.Practice, Factor: 1}
		c.Task = curvedTask(t, ex.model, name != "bwcr-fw")
		l, again := newLearner(t, name, c), newLearner(t, name, c)
		play(t, ex.model, l, 1, 90)
		play(t, ex.model, again, 3, 40)
		data, err := l.(encoding.BinaryMarshaler).MarshalBinary()
		if err == nil {
			err = again.(encoding.BinaryUnmarshaler).UnmarshalBinary(data)
		}
		if err != nil {
			t.Fatal(name, err)
		}
		_, want := play(t, ex.model, l, 2, 90)
		_, got := play(t, ex.model, again, 2, 90)
		for k := range want {
			if !floats.Equal(got[k], want[k]) {
				t.Fatalf("%s: round %d: %v, unsaved %v", name, k, got[k], want[k])
			}
		}
		if a, b := l.(Worker).Work(), again.(Worker).Work(); a != b {
			t.Errorf("%s: work %+v, unsaved %+v", name, b, a)
		}
		wantSameState(t, name, l, again)
	}
}
