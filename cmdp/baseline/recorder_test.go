package baseline

import (
	"context"
	"math"
	"reflect"
	"testing"

	"cmdpsolve/cmdp"
)

// TestMetrics checks every metric against numbers worked out by hand for the
// scripted rounds of a bandit: arms return (2, 1), (1, 0.1) and (0.2, 0); the second
// return is to be at most 0.5, the first is maximised.
func TestMetrics(t *testing.T) {
	ex := banditExample(t, false)
	arms := []int{0, 0, 1, 2}
	l := &scripted{arms: arms}
	const optimum = -1.5
	r, err := NewRecorder(l, ex.model, ex.task, optimum)
	if err != nil {
		t.Fatal(err)
	}
	if m := r.Metrics(); m.Episodes != 0 {
		t.Fatal(m)
	}
	if err := cmdp.NewRunner(ex.model, r, 1, nil).Run(context.Background(), 4); err != nil {
		t.Fatal(err)
	}
	m := r.Metrics()
	mean := []float64{(2 + 2 + 1 + 0.2) / 4, (1 + 1 + 0.1 + 0) / 4}
	for _, tt := range []struct {
		name      string
		got, want float64
	}{
		{"average 0", m.Average[0], mean[0]},
		{"average 1", m.Expected[1], mean[1]},
		{"regret", m.Regret, -mean[0] - optimum},
		{"expected regret", m.ExpectedRegret, -mean[0] - optimum},
		{"violation", m.Violation, mean[1] - 0.5},
		{"expected violation", m.ExpectedViolation, mean[1] - 0.5},
		{"max violation", m.MaxViolation, mean[1] - 0.5},
		{"expected max violation", m.ExpectedMaxViolation, mean[1] - 0.5},
		{"last regret", m.LastRegret, -0.2 - optimum},
		{"last violation", m.LastViolation, 0},
		{"weak regret", m.WeakRegret, 4 * (-mean[0] - optimum)},
		{"strong regret", m.StrongRegret, 0.5 + 1.3},
		{"weak violation", m.WeakViolation, 4 * (mean[1] - 0.5)},
		{"strong violation", m.StrongViolation, 1},
		{"realized weak regret", m.RealizedWeakRegret, 4 * (-mean[0] - optimum)},
		{"realized strong regret", m.RealizedStrongRegret, 0.5 + 1.3},
		{"realized weak violation", m.RealizedWeakViolation, 4 * (mean[1] - 0.5)},
		{"realized strong violation", m.RealizedStrongViolation, 1},
		{"violating", m.ViolatingShare, 0.5},
		{"realized violating", m.RealizedViolatingShare, 0.5},
		{"planner", float64(m.Planner), 7},
	} {
		if math.Abs(tt.got-tt.want) > 1e-12 {
			t.Errorf("%s: %g, want %g", tt.name, tt.got, tt.want)
		}
	}
	if !(m.SecondsPerEpisode > 0) {
		t.Error(m.SecondsPerEpisode)
	}
	free, err := NewRecorder(l, ex.model, cmdp.Task{Cost: ex.task.Cost}, math.NaN())
	if err != nil {
		t.Fatal(err)
	}
	free.Policy()
	free.Observe(cmdp.NewTrajectory(ex.model.Shape()))
	if m := free.Metrics(); !math.IsNaN(m.Regret) || !math.IsNaN(m.Violation) || !math.IsNaN(m.ViolatingShare) {
		t.Errorf("%+v", m)
	}
	if _, err := NewRecorder(nil, ex.model, ex.task, 0); err == nil {
		t.Error("a recorder without a learner")
	}
}

// scripted plays given arms in turn.
type scripted struct {
	arms []int
	k    int
}

func (s *scripted) Policy() cmdp.Policy      { return onlyArm{0, s.arms[s.k%len(s.arms)]} }
func (s *scripted) Observe(*cmdp.Trajectory) { s.k++ }
func (s *scripted) Work() Work               { return Work{Planner: 7} }

// TestRecorderSaved wants a run that was saved and restored, into one that has gone on a little, to give the metrics of
// one that was not, but for the time.
func TestRecorderSaved(t *testing.T) {
	ex := newExample(t, 3, modelSpec{states: 2, actions: 2, horizon: 3, dim: 2})
	fresh := func() (*Recorder, *cmdp.Runner) {
		r, err := NewRecorder(newLearner(t, "optcmdp", ex.config(50)), ex.model, ex.task, ex.optimum)
		if err != nil {
			t.Fatal(err)
		}
		return r, cmdp.NewRunner(ex.model, r, 9, nil)
	}
	run := func(r *cmdp.Runner, until int) {
		if err := r.Run(context.Background(), until); err != nil {
			t.Fatal(err)
		}
	}
	a, runA := fresh()
	run(runA, 20)
	data, err := runA.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	run(runA, 40)
	b, runB := fresh()
	run(runB, 7)
	if err := runB.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	run(runB, 40)
	x, y := a.Metrics(), b.Metrics()
	x.SecondsPerEpisode, y.SecondsPerEpisode = 0, 0
	if !reflect.DeepEqual(x, y) {
		t.Errorf("%+v, unsaved %+v", y, x)
	}
}

// TestLearning wants every algorithm to learn: to end with less regret plus
// violation than the uniform policy has, from nothing but episodes. The safe ones
// may stay with their safe policy.
func TestLearning(t *testing.T) {
	ex := newExample(t, 3, modelSpec{states: 2, actions: 3, horizon: 2, dim: 2, stationary: true})
	v := make([]float64, 2)
	cmdp.NewEvaluator(ex.model).Returns(v, cmdp.Uniform{Shape: ex.model.Shape()})
	score := func(v []float64) float64 {
		return math.Abs(ex.task.Cost.Value(v)-ex.optimum) + max(0, ex.excess(t, v))
	}
	uniform := score(v)
	for _, name := range planners {
		switch name {
		case "moma-projection", "moma-free": // the target alone
			continue
		case "triple-q": // slow by its nature: TestTripleQ
			continue
		}
		const k = 3000
		c := ex.config(k)
		c.Bonus = cmdp.TheoryTimes(0.02)
		ex.withNull(&c)
		mean := make([]float64, 2)
		_, each := play(t, ex.model, newLearner(t, name, c), 1, k)
		for _, v := range each[k/3:] {
			for i, x := range v {
				mean[i] += x / (k - k/3)
			}
		}
		limit := 0.75 * uniform
		if name == "conrl-lagr" || name == "rpg-pd" { // greedy for mean multipliers; biased by its entropy
			limit = uniform
		}
		if name == "optpess-lp" || name == "dope" || name == "conrl-knapsack" {
			limit = score(ex.know.SafeReturns) + 1e-9
		}
		if got := score(mean); got > limit {
			t.Errorf("%s: regret and violation %.4f, uniform %.4f", name, got, uniform)
		}
	}
}

// TestRecorderRounding wants a distance that rounding may come to to count as none, and
// a greater one to count.
func TestRecorderRounding(t *testing.T) {
	ex := newExample(t, 3, modelSpec{states: 3, actions: 2, horizon: 3, dim: 2})
	r, err := NewRecorder(newLearner(t, "triple-q", ex.config(10)), ex.model, ex.task, ex.optimum)
	if err != nil {
		t.Fatal(err)
	}
	out := []float64{1e3, 1e3}
	edge := make([]float64, 2)
	ex.task.Target.Project(edge, out)
	away := r.distance(out)
	for _, x := range []struct {
		share float64
		none  bool
	}{{0, true}, {1e-13, true}, {1e-6, false}, {1, false}} {
		v := []float64{edge[0] + x.share*(out[0]-edge[0]), edge[1] + x.share*(out[1]-edge[1])}
		if d := r.distance(v); (d == 0) != x.none || !x.none && math.Abs(d-x.share*away) > 1e-6*away {
			t.Errorf("a share of %g of the way out has the distance %g of %g", x.share, d, away)
		}
	}
}
