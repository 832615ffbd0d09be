package cmdp

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/geometry"
)

// TestMissingArguments: what a caller forgot is named by an error, or by the panic of a
// function that returns none. A model without a horizon has no shape.
func TestMissingArguments(t *testing.T) {
	m := randomModel(t, 1, 3, 2, 2, true)
	shape, conf := m.Shape(), Confidence{Episodes: 10, Failure: 0.1}
	line, err := geometry.NewBall([]float64{0}, 1)
	if err != nil {
		t.Fatal(err)
	}
	plane, err := geometry.NewBall([]float64{0, 0}, 1)
	if err != nil {
		t.Fatal(err)
	}
	task := Task{Target: plane}
	for name, call := range map[string]func() error{
		"no shape: learner":  func() error { _, err := NewLearner(nil, nil, task, Settings{Confidence: conf}); return err },
		"no shape: counts":   func() error { _, err := NewCounts(nil, false, nil); return err },
		"no shape: bonus":    func() error { _, err := NewBonus(nil, true, false, BonusScale{}, conf); return err },
		"no shape: planner":  func() error { _, err := NewOptimisticVI(nil, nil, NoBonus{}); return err },
		"no shape: dual":     func() error { _, err := NewTermsDual(nil, task, nil); return err },
		"no shape: returns":  func() error { _, err := NewReturns(nil, nil); return err },
		"no shape: replay":   func() error { _, err := NewReplayOpponent(nil, nil); return err },
		"without a shape":    func() error { _, err := SlaterPenalty(nil, nil, 1); return err },
		"no model: minimax":  func() error { _, err := NewMinimax(nil); return err },
		"no model: opponent": func() error { _, err := NewAdversarialOpponent(nil, nil); return err },
		"no model: response": func() error { _, err := NewBestResponseOpponent(nil, nil); return err },
		"no bounds":          func() error { _, err := NewIntervals(m, nil); return err },
		"with horizon 2":     func() error { _, err := NewEndless(m); return err },
		"no model: along":    func() error { _, err := NewBestResponseAlong(nil, nil); return err },
		"target of dimension": func() error {
			_, err := NewLearner(shape, nil, Task{Target: line}, Settings{Confidence: conf})
			return err
		},
		"more than can be": func() error {
			_, err := NewShape(ShapeSpec{Horizon: math.MaxInt, Dim: 1, First: [][]int32{{0, 1}},
				Returns: []Interval{{[]float64{0}, []float64{1}}}, Start: []StartState{{0, 1}}})
			return err
		},
		"states: want at most":         func() error { _, err := NewBuilder(ModelSpec{Horizon: 1, Dim: 1}, math.MaxInt).Build(); return err },
		"out of range (panic): below":  func() error { ProductActions([]int{2, 2}, []int{1, -1}); return nil },
		"out of range (panic): above":  func() error { ProductActions([]int{2, 2}, []int{2, 0}); return nil },
		"no shape (panic): trajectory": func() error { NewTrajectory(nil); return nil },
		"no shape (panic): confidence": func() error { NewReturnConfidence(nil, 1, 1); return nil },
		"no shape (panic): opponent":   func() error { NewUniformOpponent(nil); return nil },
		"no model (panic)":             func() error { NewEvaluator(nil); return nil },
		"without a target (panic)":     func() error { NewProjectionDual(nil); return nil },
		"MOMA without (panic)":         func() error { NewMOMA(nil, nil, nil); return nil },
		"runner without (panic)":       func() error { NewRunner(m, nil, 1, nil); return nil },
	} {
		want, panics := strings.CutSuffix(name, " (panic)")
		if head, _, ok := strings.Cut(name, " (panic):"); ok {
			want, panics = head, true
		}
		want, _, _ = strings.Cut(want, ":")
		text := ""
		func() {
			defer func() {
				if r := recover(); r != nil {
					var ok bool
					if text, ok = r.(string); !ok || !panics {
						t.Errorf("%s: panic %v", name, r)
					}
				}
			}()
			if err := call(); err != nil && !panics {
				text = err.Error()
			}
		}()
		if !strings.Contains(text, "cmdp: ") || !strings.Contains(text, want) {
			t.Errorf("%s: message %q", name, text)
		}
	}
}

// TestMoreEpisodesThanPromised: a learner's bonuses hold over the episodes that it was made
// for, so a runner plays no more.
func TestMoreEpisodesThanPromised(t *testing.T) {
	m := randomModel(t, 1, 3, 2, 2, true)
	ball, err := geometry.NewBall([]float64{0, 0}, 1)
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewLearner(m.Shape(), nil, Task{Target: ball},
		Settings{Confidence: Confidence{Episodes: 10, Failure: 0.1}})
	if err != nil {
		t.Fatal(err)
	}
	r := NewRunner(m, l, 1, nil)
	if err := r.Run(context.Background(), 10); err != nil {
		t.Fatal(err)
	}
	if err := r.Run(context.Background(), 11); err == nil || !strings.Contains(err.Error(), "made for 10") ||
		r.Episodes() != 10 {
		t.Errorf("after %d episodes: %v", r.Episodes(), err)
	}
}

// TestShapesRefuseBadInput spoils one thing of a shape, of a policy, of returns or of a half-space at a time.
func TestShapesRefuseBadInput(t *testing.T) {
	wide := Interval{[]float64{-1}, []float64{1}}
	shaped := func(spoil func(s *ShapeSpec)) (*Shape, error) {
		spec := ShapeSpec{Horizon: 2, Dim: 1, Start: []StartState{{0, 0.5}, {1, 0.5}}, First: [][]int32{{0, 1, 3}},
			Returns: []Interval{*wide.clone()}, ReturnToGo: wide.clone(), Totals: wide.clone()}
		spoil(&spec)
		return NewShape(spec)
	}
	sh, err := shaped(func(*ShapeSpec) {})
	if err != nil {
		t.Fatal(err)
	}
	for i, spoil := range []func(s *ShapeSpec){
		func(s *ShapeSpec) { s.Horizon = 0 }, func(s *ShapeSpec) { s.Horizon = -1 },
		func(s *ShapeSpec) { s.Dim = 0 }, func(s *ShapeSpec) { s.Dim = 2 },
		func(s *ShapeSpec) { s.First = nil }, func(s *ShapeSpec) { s.First = [][]int32{{0}} },
		func(s *ShapeSpec) { s.First[0][0] = 1 }, func(s *ShapeSpec) { s.First[0][1] = 4 },
		func(s *ShapeSpec) { s.First = [][]int32{{0, 1, 2}, {0, 1}} },
		func(s *ShapeSpec) { s.First = slices.Repeat(s.First, 3) },
		func(s *ShapeSpec) { s.Returns = nil }, func(s *ShapeSpec) { s.Returns = slices.Repeat(s.Returns, 3) },
		func(s *ShapeSpec) { s.Returns[0].Lower = nil }, func(s *ShapeSpec) { s.Returns[0].Lower[0] = 2 },
		func(s *ShapeSpec) { s.Returns[0].Upper[0] = math.Inf(1) },
		func(s *ShapeSpec) { s.Returns[0].Lower[0] = math.NaN() },
		func(s *ShapeSpec) { s.ReturnToGo.Upper = nil }, func(s *ShapeSpec) { s.ReturnToGo.Lower[0] = 0.5 },
		func(s *ShapeSpec) { s.ReturnToGo.Upper[0] = -0.5 }, func(s *ShapeSpec) { s.ReturnToGo.Lower[0] = math.NaN() },
		func(s *ShapeSpec) { s.Totals.Lower = nil }, func(s *ShapeSpec) { s.Start[0].State = -1 },
		func(s *ShapeSpec) { s.Start[1].State = 2 }, func(s *ShapeSpec) { s.Start[1].State = 0 },
		func(s *ShapeSpec) { s.Start = s.Start[:1] }, func(s *ShapeSpec) { s.Start[0].Probability = -0.5 },
		func(s *ShapeSpec) { s.Opponents = [][]int32{{1, 2}, {1, 2}} },
		func(s *ShapeSpec) { s.Opponents = [][]int32{{1, 3}} }, func(s *ShapeSpec) { s.Opponents = [][]int32{{1, 0}} },
	} {
		if _, err := shaped(spoil); err == nil {
			t.Errorf("spoilt shape %d was accepted", i)
		}
	}
	for _, probs := range [][]float64{{1, 0.5}, {1, 0.5, 0.6}, {0.5, 0.5, 0.5}, {1, -0.5, 1.5}, {1, math.NaN(), 1},
		{1, 0.5, 0.5, 0}} {
		if _, err := NewRandomized(sh.first, [][]float64{probs}); err == nil {
			t.Errorf("a policy with the probabilities %v", probs)
		}
	}
	for _, returns := range [][]float64{{1, 0}, {1, 0, 0, 0}, {1, 0, 1.5}, {-1.5, 0, 0}, {0, math.NaN(), 0}} {
		if _, err := NewReturns(sh, [][]float64{returns}); err == nil {
			t.Errorf("returns %v", returns)
		}
	}
	for _, c := range []Constraint{
		{Normal: []float64{1}}, {Normal: []float64{0, 0}}, {Normal: []float64{1, math.NaN()}},
		{Normal: []float64{1, math.Inf(1)}}, {Normal: []float64{1, 1}, Offset: math.Inf(-1)},
	} {
		if c.Check(2) == nil || (Task{Constraints: []Constraint{c}}).Check(2) == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}
