package robust_test

import (
	"math"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/robust"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// An outcome of a row of a published model: a successor, and bounds of its probability.
type outcome struct {
	to           int
	lower, upper float64
}

// A publishedRow is one choice.
type publishedRow struct {
	state    int
	returns  float64
	outcomes []outcome
}

// published returns the set of a model, whose rows stand state by state.
func published(t *testing.T, states, start int, discount float64, rows []publishedRow) *robust.Set {
	t.Helper()
	k := cmdp.NewKernel()
	var lower, upper [][]float64
	at := 0
	for s := range states {
		for ; at < len(rows) && rows[at].state == s; at++ {
			var next []int32
			var lo, up []float64
			for _, o := range rows[at].outcomes {
				next, lo, up = append(next, int32(o.to)), append(lo, o.lower), append(up, o.upper)
			}
			p := make([]float64, len(next))
			cmdp.Nominal(p, lo, up)
			k.Append(next, p, []float64{rows[at].returns})
			lower, upper = append(lower, lo), append(upper, up)
		}
		k.EndState()
	}
	m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: discount, Dim: 1,
		Start: []cmdp.StartState{{State: start, Probability: 1}}, Kernels: []cmdp.Kernel{k}})
	if err != nil {
		t.Fatal(err)
	}
	iv, err := cmdp.NewIntervals(m, func(_, c int) ([]float64, []float64) { return lower[c], upper[c] })
	if err != nil {
		t.Fatal(err)
	}
	set, err := robust.New(robust.Spec{Model: m, Intervals: iv})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// worstCase returns what the best policy reaches in the worst model, and the bound. sense is 1 for a return that is to
// be small.
func worstCase(t *testing.T, set *robust.Set, sense float64) (objective, bound float64) {
	t.Helper()
	box, err := geometry.NewBox([]float64{-1e9}, []float64{1e9})
	if err != nil {
		t.Fatal(err)
	}
	g, err := cost.NewLinear([]float64{sense}, box)
	if err != nil {
		t.Fatal(err)
	}
	task := cmdp.Task{Cost: g}
	if set.Model().Discount() == 1 {
		task.Box = box
	}
	r, err := robust.Solve(t.Context(), set, task, robust.SolveOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := robust.Verify(t.Context(), set, task, r); err != nil {
		t.Error(err)
	}
	return sense * r.Objective, sense * r.Bound
}

func sure(to int) []outcome { return []outcome{{to, 1, 1}} }

// robot is the robot of PRISM's tests (prism-tests/functionality/verify/imdps/robot.prism), without loops where
// nothing is done any more. goal states rest. A step returns 1 if time is asked for, else the way from state 4 to the
// goal 5 does.
func robot(t *testing.T, delta float64, time bool) *robust.Set {
	step, reach := 0.0, 1.0
	if time {
		step, reach = 1, 1
	}
	rows := []publishedRow{
		{0, step, []outcome{{1, 0.6, 0.6}, {0, 0.4, 0.4}}},
		{0, step, []outcome{{3, 0.8, 0.8}, {1, 0.1, 0.1}, {4, 0.1, 0.1}}},
		{1, step, []outcome{{2, 0.8, 0.9}, {1, 0.1, 0.2}}},
		{1, step, []outcome{{4, 0.5 - delta, 0.5 + delta}, {2, 0.5 - delta, 0.5 + delta}}},
		{4, reach, sure(5)},
		{4, step, []outcome{{3, 0.6, 0.6}, {4, 0.4, 0.4}}},
	}
	return published(t, 6, 0, 1, rows)
}

// TestPublishedValues compares values of single objectives with those of PRISM's tests of interval models:
// robot.prism.props and imdp_total_reward.prism.props, and of Storm's, RobustMdpPrctlModelCheckerTest: tiny-03.drn and
// tiny-04.drn. The first word says what the policy does and the second what nature does.
func TestPublishedValues(t *testing.T) {
	total := []publishedRow{ // imdp_total_reward.prism
		{0, 100, sure(1)}, {0, 1, []outcome{{2, 0.3, 0.7}, {3, 0.3, 0.7}}}, {0, 0, sure(4)},
		{2, 5, sure(2)}, {4, 0, []outcome{{5, 0.3, 0.7}, {6, 0.3, 0.7}}}, {5, 2000, sure(7)}, {6, 10000, sure(7)},
	}
	either := []outcome{{1, 0.4, 0.9}, {2, 0.5, 0.8}}
	tiny := []publishedRow{{0, 0, either}, {0, 0, either}, {1, 1, sure(3)}} // the target is state 1
	either = []outcome{{3, 0.4, 0.9}, {4, 0.5, 0.8}}
	larger := []publishedRow{ // state 3
		{0, 0, []outcome{{1, 0.4, 0.4}, {2, 0.3, 0.3}, {3, 0.1, 0.6}}}, {1, 0, sure(1)}, {1, 0, sure(2)},
		{2, 0, either}, {2, 0, either}, {2, 0, sure(0)}, {3, 1, sure(5)},
	}
	for _, x := range []struct {
		name        string
		set         *robust.Set
		sense, want float64
	}{
		{"robot, Pmaxmin reach, δ 0.1", robot(t, 0.1, false), -1, 0.4},
		{"robot, Pmaxmin reach, δ 0.45", robot(t, 0.45, false), -1, 0.1 + 0.1*0.05},
		{"robot, Rminmax time", robot(t, 0.1, true), 1, 98.0 / 80},
		{"total, Rminmax", published(t, 8, 0, 1, total), 1, 100},
		{"total from 4, Rmaxmin", published(t, 8, 4, 1, total), -1, 4400},
		{"total from 4, Rminmax", published(t, 8, 4, 1, total), 1, 7600},
		{"discounted, Rminmax", published(t, 8, 0, 0.9, total), 1, 32.5},
		{"discounted, Rmaxmin", published(t, 8, 0, 0.9, total), -1, 3564},
		{"tiny-03, Pmaxmin", published(t, 4, 0, 1, tiny), -1, 0.4},
		{"tiny-03, Pminmax", published(t, 4, 0, 1, tiny), 1, 0.5},
		{"tiny-04, Pmaxmin", published(t, 6, 0, 1, larger), -1, 1},
		{"tiny-04, Pminmax", published(t, 6, 0, 1, larger), 1, 3.0 / 7},
	} {
		objective, bound := worstCase(t, x.set, x.sense)
		if room := 1e-8 * math.Max(1, math.Abs(x.want)); math.Abs(objective-x.want) > room ||
			math.Abs(bound-x.want) > room {
			t.Errorf("%s: %.10g, bound %.10g: want %.10g", x.name, objective, bound, x.want)
		}
	}
}
