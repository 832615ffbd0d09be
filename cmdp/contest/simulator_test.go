package contest_test

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/contest"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
)

// A toy is a simulator of one state and two actions, of which the second returns 1. It fails in the
// step with the number last.
type toy struct {
	shape  *cmdp.Shape
	steps  int
	last   int
	closed *atomic.Int32
}

func (e *toy) Shape() *cmdp.Shape   { return e.shape }
func (e *toy) Start(*rand.Rand) int { return 0 }
func (e *toy) Close()               { e.closed.Add(1) }
func (e *toy) Step(returns []float64, _ *rand.Rand, _, _, action int) int {
	e.steps++
	returns[0] = float64(action)
	return 0
}

func (e *toy) Err() error {
	if e.last > 0 && e.steps >= e.last {
		return errors.New("broken")
	}
	return nil
}

// simulated returns a problem without a model.
func simulated(t *testing.T, actions int32, start int, upper float64, goal problem.Goal) *problem.Problem {
	t.Helper()
	shape, err := cmdp.NewShape(cmdp.ShapeSpec{
		Horizon: 3, Dim: 1, Start: []cmdp.StartState{{State: start, Probability: 1}},
		First:   [][]int32{{0, actions, actions}},
		Returns: []cmdp.Interval{{Lower: []float64{0}, Upper: []float64{upper}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &problem.Problem{Simulated: shape, Returns: []string{"gain"}, Goal: goal}
}

func toyContest(t *testing.T, p *problem.Problem, seeds, last int, closed *atomic.Int32) *contest.Contest {
	t.Helper()
	settings := contest.Defaults()
	settings.Algorithms, settings.Episodes, settings.Seeds, settings.Returns = []string{"moma"}, 20, seeds, "unknown"
	q, err := query.New(t.Context(), p, query.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := contest.New(t.Context(), q, settings,
		contest.PrepareOptions{Unmeasured: true, Simulator: func() (cmdp.Environment, error) {
			return &toy{shape: p.Simulated, last: last, closed: closed}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Simulators are closed when their runs stop, whether they failed or not.
func TestSimulatorsAreClosed(t *testing.T) {
	p := simulated(t, 2, 0, 1, problem.Goal{Maximize: "gain"})
	for last, want := range map[int]string{0: "", 31: "broken"} {
		var closed atomic.Int32
		c := toyContest(t, p, 3, last, &closed)
		err := contest.Play(t.Context(), c.Trials(), contest.PlayOptions{Parallel: 1})
		switch {
		case want == "" && (err != nil || closed.Load() != 3):
			t.Errorf("error %v, %d of 3 simulators closed", err, closed.Load())
		case want != "" && (err == nil || closed.Load() != 1):
			t.Errorf("error %v, %d simulators closed: want an error, and the one that was played", err, closed.Load())
		}
	}
}

// Checkpoints of another simulator, or of another goal, are told apart.
func TestSimulatorsHaveFingerprints(t *testing.T) {
	var closed atomic.Int32
	seen := map[string]string{}
	for name, p := range map[string]*problem.Problem{
		"the toy":       simulated(t, 2, 0, 1, problem.Goal{Maximize: "gain"}),
		"three actions": simulated(t, 3, 0, 1, problem.Goal{Maximize: "gain"}),
		"other start":   simulated(t, 2, 1, 1, problem.Goal{Maximize: "gain"}),
		"wider range":   simulated(t, 2, 0, 2, problem.Goal{Maximize: "gain"}),
		"other goal":    simulated(t, 2, 0, 1, problem.Goal{Minimize: "gain"}),
	} {
		print := toyContest(t, p, 1, 0, &closed).Fingerprint
		if seen[print] != "" {
			t.Errorf("%s and %s have the same fingerprint", name, seen[print])
		}
		seen[print] = name
	}
}
