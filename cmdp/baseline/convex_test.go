package baseline

import (
	"encoding"
	"math"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// TestKnownConvex wants conrl-convex to find the optimum of convex costs within
// balls and of no cost at all in its first episodes, if it knows the model, and the
// methods with a double dual update to approach it.
func TestKnownConvex(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	for seed := range uint64(4) {
		ex := newExample(t, seed, modelSpec{states: 3, actions: 3, horizon: 3, dim: 2, rests: seed%2 == 1})
		box := boxOf(t, ex.model)
		free := solve(t, ex.model, cmdp.Task{Cost: ex.task.Cost})
		center := []float64{free.Returns[0], ex.know.SafeReturns[1]}
		squared, err := cost.NewSquared(center, []float64{1, 2}, box)
		if err != nil {
			t.Fatal(err)
		}
		ball, err := geometry.NewBall(ex.know.SafeReturns,
			0.4*math.Hypot(free.Returns[0]-ex.know.SafeReturns[0], free.Returns[1]-ex.know.SafeReturns[1]))
		if err != nil {
			t.Fatal(err)
		}
		for i, task := range []cmdp.Task{{Cost: squared, Target: ball}, {Cost: ex.task.Cost, Target: ball},
			{Cost: squared, Target: ex.task.Target}, {Cost: squared}, {Target: ball}} {
			want := solve(t, ex.model, task)
			if want.Status != exact.Optimal {
				t.Fatal(want.Status)
			}
			convex := *ex
			convex.task = task
			check := func(name string, episodes int, within float64) {
				mean, _ := play(t, ex.model, newKnown(t, name, &convex, episodes), 1, episodes)
				got, gap := 0.0, 0.0
				if task.Cost != nil {
					got = task.Cost.Value(mean) - want.Objective
				}
				if task.Target != nil {
					p := make([]float64, 2)
					task.Target.Project(p, mean)
					gap = math.Hypot(p[0]-mean[0], p[1]-mean[1])
				}
				if math.Abs(got) > within || gap > within {
					t.Errorf("%s, seed %d, task %d: regret %.6f, distance %.6f", name, seed, i, got, gap)
				}
			}
			check("conrl-convex", 2, 2e-4)
			if task.Cost == nil || i == 1 {
				check("appropo", 4000, 0.05)
			}
			check("moma", 4000, 0.05)
		}
	}
}

// impossibleExample has a limit that no policy keeps.
func impossibleExample(t *testing.T) *example {
	t.Helper()
	ex := newExample(t, 1, modelSpec{states: 2, actions: 2, horizon: 2, dim: 2})
	box := boxOf(t, ex.model)
	upper := box.Upper()
	upper[1] = 0.999*box.Lower()[1] + 0.001*box.Upper()[1]
	ex.task.Target = boundedBox(t, box.Lower(), upper)
	if r := solve(t, ex.model, ex.task); r.Status != exact.Infeasible {
		t.Fatal(r.Status)
	}
	return ex
}

// TestInfeasible wants learners of an impossible task to count their programs
// without a solution and to go on.
func TestInfeasible(t *testing.T) {
	ex := impossibleExample(t)
	for _, name := range []string{"optcmdp", "optcmdp-bonus", "conrl-lp", "conrl-convex"} {
		l := newKnown(t, name, ex, 20)
		play(t, ex.model, l, 1, 20)
		if w := l.(Worker).Work(); w.Infeasible != 20 || w.Programs != 20 || w.Planner < 20 {
			t.Errorf("%s: %+v", name, w)
		}
	}
}

// TestInfeasibleSaved wants the direction that proved the last program infeasible to be
// saved: it spares the learner that is restored the same sweeps.
func TestInfeasibleSaved(t *testing.T) {
	ex := impossibleExample(t)
	for _, name := range []string{"optcmdp", "optcmdp-bonus", "conrl-lp"} {
		l, again := newKnown(t, name, ex, 40), newKnown(t, name, ex, 40)
		play(t, ex.model, l, 1, 20)
		data, err := l.(encoding.BinaryMarshaler).MarshalBinary()
		if err == nil {
			err = again.(encoding.BinaryUnmarshaler).UnmarshalBinary(data)
		}
		if err != nil {
			t.Fatal(name, err)
		}
		play(t, ex.model, l, 2, 5)
		play(t, ex.model, again, 2, 5)
		if w, v := again.(Worker).Work(), l.(Worker).Work(); w != v {
			t.Errorf("%s: work %+v, unsaved %+v", name, w, v)
		}
	}
}
