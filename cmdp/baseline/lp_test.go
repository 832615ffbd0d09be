package baseline

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/oracle/lp"
)

// lpNames are the algorithms that solve a linear program in each episode.
var lpNames = []string{"optcmdp", "optcmdp-bonus", "conrl-lp", "optpess-lp", "dope"}

// TestPrograms wants column generation to agree with the explicit program,
// which GLPK solves where it is built in, after every few episodes of learning.
func TestPrograms(t *testing.T) {
	for _, name := range append([]string{"conrl-knapsack"}, lpNames...) {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(6) {
				ex := newExample(t, seed, modelSpec{3, 2, 3, 1 + int(seed)%3, seed%2 == 0, seed%3 == 0})
				c := ex.config(1000)
				c.Bonus = cmdp.TheoryTimes([]float64{1, 0.1, 0.01}[seed%3])
				if seed%4 == 1 {
					c.Returns = nil
				}
				ex.withNull(&c)
				l := newLearner(t, name, c)
				for round := range 4 {
					play(t, ex.model, l, seed, 7*round*round)
					programValue(t, l, fmt.Sprintf("seed %d round %d", seed, round))
				}
			}
		})
	}
}

// programValue returns the value of the program of an algorithm, +Inf if it has no
// point, and wants a solver of the explicit program to find the same.
func programValue(t *testing.T, l cmdp.Learner, where string) float64 {
	t.Helper()
	x := l.(interface {
		ExplicitProgram() *lp.Problem
		ProgramValue() (float64, bool, error)
	})
	s, err := lp.NewSolver(x.ExplicitProgram())
	if err != nil {
		t.Fatal(err)
	}
	var sol lp.Solution
	if err := s.Solve(&sol); err != nil {
		t.Fatal(err)
	}
	value, feasible, err := x.ProgramValue()
	if err != nil {
		t.Fatal(err)
	}
	if feasible != (sol.Status == lp.Optimal) {
		t.Fatalf("%s: feasible %v, the explicit program is %v", where, feasible, sol.Status)
	}
	if !feasible {
		return math.Inf(1)
	}
	if math.Abs(value-sol.Objective) > 1e-6*(1+math.Abs(sol.Objective)) {
		t.Errorf("%s: value %.9g, that of the explicit program %.9g", where, value, sol.Objective)
	}
	return value
}

// TestKnownPlans wants algorithms that plan the whole task by a program to play the optimum of drawn problems if they
// know the model: those that draw models up to the gap of their plans, the others up to rounding.
func TestKnownPlans(t *testing.T) {
	planned := map[string]int{}
	names := append([]string{"conrl-convex", "posterior", "posterior-plain"}, lpNames...)
	for seed := range uint64(60) {
		d := drawProblem(seed)
		d.known, d.remembers, d.scale = true, false, cmdp.TheoryTimes(0)
		if d.horizon == 0 {
			continue
		}
		p := d.pose(t, wording{unused: seed%2 == 0, hull: seed%3 == 0})
		p.Prior = known(t, p.model, d.pooled)
		best := solve(t, p.model, p.Task)
		v := make([]float64, p.model.Dim())
		for _, name := range names {
			l, err := New(name, p.Config)
			if errors.Is(err, ErrUnsupported) {
				continue
			}
			if err != nil {
				t.Fatal(name, err)
			}
			planned[name]++
			cmdp.NewEvaluator(p.model).Returns(v, l.Policy())
			more, within := 0.0, 1e-5
			if p.Task.Cost != nil {
				more = p.Task.Cost.Value(v) - best.Objective
			}
			if slices.Contains(drawing, name) {
				within = 2 * posteriorGap * (1 + math.Abs(best.Objective))
			}
			if out := p.Task.Violation(v); !(more <= within && out <= within) {
				t.Errorf("seed %d: %s costs %g more than the optimum %g, and misses the target by %g", seed, name, more,
					best.Objective, out)
			}
		}
	}
	for _, name := range names {
		if planned[name] < 15 {
			t.Errorf("%s planned %d problems: want more", name, planned[name])
		}
	}
}

var _ cmdp.Learner = (*lpLearner)(nil)
