package exact_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// TestGrowthWithinALimit draws problems in which each step of the first half of the states takes fuel, of which there
// is a limited amount, and the others collect means alone and lead to one another: totals may grow in loops, but not
// for ever, and every question has an answer, but for a few whose optimum is only approached.
func TestGrowthWithinALimit(t *testing.T) {
	kinds, trials := make(map[string]int), *endless/8
	for k := range trials + 2 {
		trial := k
		switch k - trials {
		case 0:
			trial = 2097 // returns cancel out in a loop, and rounding leaves open what is out of reach
		case 1:
			trial = 6823 // loops cancel out in a unit vector that separates, not in the vector
		}
		rng := rand.New(rand.NewPCG(uint64(trial), 231))
		p := drawEndless(t, rng, true)
		addFuel(t, rng, p)
		kind, fault := endlessFault(t, p)
		kinds[kind]++
		if status, _ := newReference(p, true).solve(t); kind == "refused" && status == lp.Optimal {
			kinds["refused, with an optimum"]++
		}
		if kind == "optimal" && fault == "" {
			fault = slackFault(t, p, kinds)
		}
		if kind == "infeasible" && fault == "" {
			fault = conflictFault(t, p)
		}
		if fault != "" {
			t.Errorf("trial %d: %s\n%s", trial, fault, describeEndless(p))
		}
		if verdict, err := proofFault(t, p); err != nil {
			t.Errorf("trial %d: %v: %v\n%s", trial, verdict, err, describeEndless(p))
		}
	}
	t.Logf("%v", kinds)
	if kinds["refused, with an optimum"] > trials/100 {
		t.Error("that is too often refused")
	}
}

// addFuel adds a return that each step in the first half of the states takes, with a limit, and has the others lead
// to one another, without totals.
func addFuel(t *testing.T, rng *rand.Rand, p *problem.Problem) {
	t.Helper()
	n, d, k := p.Model.States(), p.Model.Dim(), p.Model.Kernel(0).Plain(p.Model.Dim())
	spec := cmdp.ModelSpec{Discount: 1, Dim: d + 1, Start: []cmdp.StartState{{State: 0, Probability: 1}}}
	for i := range d + 1 {
		spec.Means = append(spec.Means, i < d && p.Model.Mean(i))
	}
	b := cmdp.NewBuilder(spec, n)
	for s := range n {
		for c := int(k.First[s]); c < int(k.First[s+1]); c++ {
			row := cmdp.Row{Step: cmdp.EveryStep, State: s, Action: c - int(k.First[s]),
				Returns: append(slices.Clone(k.Returns[c*d:(c+1)*d]), 0.5+rng.Float64())}
			for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
				next := int(k.Next[e])
				if s >= n/2 {
					next = max(next, n/2)
				}
				row.Next = append(row.Next, cmdp.Transition{Next: next, Probability: k.Prob[e]})
			}
			for i := range row.Returns {
				if s >= n/2 && !spec.Means[i] {
					row.Returns[i] = 0
				}
			}
			if len(row.Next) == 2 && row.Next[0].Next == row.Next[1].Next {
				row.Next = []cmdp.Transition{{Next: row.Next[0].Next, Probability: 1}}
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
	p.Model, p.Returns, p.Target = m, append(p.Returns, "fuel"), nil
	p.Constraints = append(p.Constraints, problem.Limit{Return: "fuel", AtMost: new(1 + 3*rng.Float64())})
}

// slackFault returns what is wrong with the ball in which limits that some policy keeps are kept, "" for nothing.
func slackFault(t *testing.T, p *problem.Problem, kinds map[string]int) string {
	task, err := query.TaskOf(t.Context(), p)
	if err != nil {
		return err.Error()
	}
	s, err := exact.PlannerOf(t, p.Model).Slack(t.Context(), task, exact.Options{})
	switch {
	case errors.Is(err, exact.ErrNoTotal):
		kinds["refused, with an optimum"]++
		return ""
	case err != nil:
		return err.Error()
	case s.Policy == nil || s.Product != nil:
		return ""
	}
	v, _ := denseReturns(p.Model, s.Policy)
	if !floats.EqualApprox(v, s.Returns, 1e-6) {
		return fmt.Sprintf("the ball is around %v, and the policy returns %v", s.Returns, v)
	}
	for _, row := range newReference(p, true).rows {
		if room := row.Offset - floats.Dot(row.Normal, v); room < -1e-6 {
			return fmt.Sprintf("slack %g around %v, which breaks a limit by %g", s.Radius, v, -room)
		}
	}
	return ""
}

// conflictFault returns what is wrong with the limits of an infeasible problem that are said to be in conflict, "" for
// nothing: no policy is to keep them, and whichever is left out, one keeps the others.
func conflictFault(t *testing.T, p *problem.Problem) string {
	task, err := query.TaskOf(t.Context(), p)
	if err != nil {
		return err.Error()
	}
	c, err := exact.PlannerOf(t, p.Model).Conflict(t.Context(), task, nil, exact.Options{})
	if err != nil || c == nil || len(task.Constraints) != len(p.Constraints) {
		return fmt.Sprintf("conflict %v, %v", c, err)
	}
	infeasible := func(rows []int) bool {
		some := *p
		some.Constraints = nil
		for _, k := range rows {
			some.Constraints = append(some.Constraints, p.Constraints[k])
		}
		status, _ := newReference(&some, false).solve(t)
		return status == lp.Infeasible
	}
	if !infeasible(c.Rows) {
		return fmt.Sprintf("limits %v are said to be in conflict", c.Rows)
	}
	for j := range c.Rows {
		if infeasible(slices.Delete(slices.Clone(c.Rows), j, j+1)) {
			return fmt.Sprintf("of the limits %v in conflict, %d can be left out", c.Rows, c.Rows[j])
		}
	}
	return ""
}

// TestCostOfGrowthWithinALimit has a limit that is kept by one policy alone, at a cost without end: that is not said to
// be infeasible, though other totals grow in a loop.
func TestCostOfGrowthWithinALimit(t *testing.T) {
	b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: 4, Start: []cmdp.StartState{{State: 0, Probability: 1}},
		Means: []bool{false, false, false, true}}, 3)
	for _, r := range []cmdp.Row{
		{Action: 0, Next: []cmdp.Transition{{Next: 0, Probability: 1}}, Returns: []float64{1, 1, 0, 0}},
		{Action: 1, Next: []cmdp.Transition{{Next: 1, Probability: 1}}, Returns: make([]float64, 4)},
		{Action: 2, Next: []cmdp.Transition{{Next: 2, Probability: 1}}, Returns: make([]float64, 4)},
		{State: 1, Next: []cmdp.Transition{{Next: 1, Probability: 1}}, Returns: make([]float64, 4)},
		{State: 2, Next: []cmdp.Transition{{Next: 2, Probability: 1}}, Returns: []float64{0, 0, 1, 1}},
	} {
		r.Step = cmdp.EveryStep
		if err := b.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	p := &problem.Problem{Model: m, Returns: []string{"gain", "fuel", "toll", "pay"}, Goal: problem.Goal{Minimize: "toll"},
		Constraints: []problem.Limit{{Return: "gain", AtLeast: new(3.0)}, {Return: "fuel", AtMost: new(5.0)},
			{Return: "pay", AtLeast: new(0.5)}}}
	task, err := query.TaskOf(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	r, err := exact.Solve(t.Context(), m, task, exact.Options{})
	var found *exact.NoTotalError
	if !errors.As(err, &found) || found.Return != 2 {
		t.Errorf("%+v, %v: want an error about the toll", r, err)
	}
}
