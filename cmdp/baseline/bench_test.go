package baseline

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/instance"
	"cmdpsolve/cmdp/query"
	"cmdpsolve/oracle/lp"
)

// BenchmarkEpisode measures an episode of every algorithm, playing and measuring
// included.
func BenchmarkEpisode(b *testing.B) {
	ex := newExample(b, 3, modelSpec{states: 10, actions: 3, horizon: 10, dim: 3})
	for _, name := range planners {
		b.Run(name, func(b *testing.B) {
			c := ex.config(100000)
			c.Bonus = cmdp.TheoryTimes(0.02)
			ex.withNull(&c)
			l := newLearner(b, name, c)
			play(b, ex.model, l, 1, 200)
			b.ResetTimer()
			play(b, ex.model, l, 2, b.N)
		})
	}
}

// suiteProblems are the problems of benchmarks/suite.yaml.
var suiteProblems = []struct{ name, spec string }{
	{"frozenlake", "frozenlake4:H=20"},
	{"cliff", "cliff:rows=3,cols=5,H=12"},
	{"inventory", "inventory"},
	{"media", "media"},
	{"riverswim", "riverswim"},
	{"grid", "grid:H=15"},
	{"garnet-small", "garnet:S=10,A=3,H=5,d=3,b=3,seed=1"},
	{"garnet-large", "garnet:S=30,A=4,H=8,d=3,b=4,seed=2"},
}

// suiteExample is a problem of the suite, with what learners are told there.
func suiteExample(tb testing.TB, spec string) *example {
	tb.Helper()
	p, err := instance.New(spec)
	if err != nil {
		tb.Fatal(err)
	}
	task, err := query.TaskOf(context.Background(), p)
	if err != nil {
		tb.Fatal(err)
	}
	know, err := KnowledgeOf(context.Background(), p.Model, task)
	if err != nil {
		tb.Fatal(err)
	}
	return &example{model: p.Model, task: task, know: know}
}

// mostExplicit bounds the entries of an explicit program that BenchmarkProgram
// gives to GLPK without a limit of time: beyond it a single solution takes minutes.
const mostExplicit = 250_000

var explicitLimit = flag.Duration("explicit-limit", 0,
	"give programs of more than mostExplicit entries to GLPK too, for at most this time; it cannot be stopped, so "+
		"name one program in -bench")

// BenchmarkProgram compares column generation with GLPK on the explicit program, on
// the two sizes of the tests and on the problems of the suite. The program is the
// one that a learner of the suite (pooled counts where the model is the same at
// every step, lazy) wants to solve next after 300 episodes, from the warm start that
// it then has; "cold" solves it without one. The explicit program is written down
// outside the clock, and its optimum has to be the same. Bonuses are a thousandth of
// theory, the order of published experiments: with larger ones constraints rarely bind, and
// programs are easier. Programs of more than mostExplicit entries are given to GLPK only with
// -explicit-limit.
func BenchmarkProgram(b *testing.B) {
	for _, size := range []modelSpec{{states: 5, actions: 2, horizon: 5, dim: 3},
		{states: 10, actions: 3, horizon: 10, dim: 3}} {
		ex := newExample(b, 3, size)
		benchmarkPrograms(b, fmt.Sprintf("S=%d,H=%d", size.states, size.horizon), ex)
	}
	for _, p := range suiteProblems {
		benchmarkPrograms(b, p.name, suiteExample(b, p.spec))
	}
}

func benchmarkPrograms(b *testing.B, problem string, ex *example) {
	for _, name := range lpNames {
		b.Run(problem+"/"+name, func(b *testing.B) {
			c := ex.config(100000)
			c.Bonus, c.Lazy, c.Pooled = cmdp.TheoryTimes(0.001), true, ex.model.Stationary()
			l := newLearner(b, name, c).(*lpLearner)
			play(b, ex.model, l, 1, 300)
			for n := 0; l.state.Planned && n < 1000; n++ { // until it wants to plan
				play(b, ex.model, l, uint64(2+n), 1)
			}
			benchmarkProgram(b, l)
		})
	}
}

func benchmarkProgram(b *testing.B, l *lpLearner) {
	warm := exact.Warm{Directions: slices.Clone(l.program.Warm.Directions), Ray: slices.Clone(l.program.Warm.Ray)}
	solve := func(b *testing.B, warm exact.Warm) {
		before, feasible := l.sweep.calls, false
		for b.Loop() {
			l.program.Warm = exact.Warm{Directions: slices.Clone(warm.Directions), Ray: slices.Clone(warm.Ray)}
			var err error
			if feasible, err = l.program.Solve(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(l.sweep.calls-before)/float64(b.N), "sweeps/op")
		if !feasible {
			b.ReportMetric(1, "infeasible")
		}
	}
	if l.anew {
		l.sweep.rebuild()
	}
	b.Run("columns", func(b *testing.B) { solve(b, warm) })
	b.Run("cold", func(b *testing.B) { solve(b, exact.Warm{}) })
	value, feasible, err := l.ProgramValue()
	if err != nil {
		b.Fatal(err)
	}
	p := l.ExplicitProgram()
	entries := 0
	for _, r := range p.Rows {
		entries += len(r.Index)
	}
	b.Logf("%d columns, %d rows, %d entries", len(p.Minimize), len(p.Rows), entries)
	explicit := func() error {
		s, err := lp.NewGLPK(p)
		if err != nil {
			return err
		}
		var sol lp.Solution
		if err := s.Solve(&sol); err != nil {
			return err
		}
		if agrees := sol.Status == lp.Optimal && math.Abs(sol.Objective-value) <= 1e-6*(1+math.Abs(value)); agrees !=
			feasible {
			return fmt.Errorf("%v with %g, by columns %v with %g", sol.Status, sol.Objective, feasible, value)
		}
		return nil
	}
	_, missing := lp.NewGLPK(nil)
	switch {
	case errors.Is(missing, lp.ErrNoGLPK):
	case entries <= mostExplicit:
		b.Run("glpk", func(b *testing.B) {
			for b.Loop() {
				err := explicit()
				if errors.Is(err, lp.ErrNumerical) {
					b.Skipf("GLPK has no answer: %v", err)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	case *explicitLimit > 0:
		b.Run("glpk-limited", func(b *testing.B) { benchmarkLimited(b, explicit) })
	}
}

// benchmarkLimited measures one solution, if it ends within the limit.
func benchmarkLimited(b *testing.B, solve func() error) {
	if b.N > 1 {
		b.Skip("want -benchtime 1x")
	}
	done := make(chan error, 1)
	go func() { done <- solve() }()
	select {
	case err := <-done:
		if err != nil {
			b.Fatal(err)
		}
	case <-time.After(*explicitLimit):
		b.ReportMetric(explicitLimit.Seconds(), "s-and-more")
	}
}

// BenchmarkPosteriorLarge measures an episode of posterior on 2,000 states, planning
// included, after as many episodes as b.N says: planning becomes rarer as they grow.
func BenchmarkPosteriorLarge(b *testing.B) {
	ex := suiteExample(b, "garnet:S=2000,A=4,H=20,d=3,b=5,seed=1")
	c := ex.config(20000)
	c.Pooled = true
	l := newLearner(b, "posterior", c)
	b.ResetTimer()
	play(b, ex.model, l, 1, b.N)
	b.ReportMetric(float64(l.(Worker).Work().Programs), "programs")
}
