package baseline

import (
	"fmt"
	"math"
	"slices"
	"time"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/internal/saved"

	"gonum.org/v1/gonum/floats"
)

// A Recorder is played in the place of a learner: it passes everything on to that one and
// measures it against the true model. It holds the model, in the one evaluator of a run; the
// learner inside is handed trajectories and nothing else. It can be saved if the learner can, and
// restored into a recorder of the same task with a learner of the same Config. A Recorder must
// not be used concurrently.
type Recorder struct {
	saved.State
	learner   cmdp.Learner
	task      cmdp.Task
	linear    *Linear // nil if the task has none
	optimum   float64
	evaluator *cmdp.Evaluator
	value     []float64
	point     []float64
	tolerance float64
	state     recorderState
	policy    cmdp.Policy
}

type recorderState struct {
	Episodes           int
	Expected, Realized tally
	Last               []float64
	Nanoseconds        int64
}

// NewRecorder returns a recorder for a learner that plays the model m. optimum is
// g*, the least cost within the target as exact.Solve finds it, NaN if it is not
// known. The model must not be a game, whose policies have no expected return by
// themselves.
func NewRecorder(learner cmdp.Learner, m *cmdp.Model, task cmdp.Task, optimum float64) (*Recorder, error) {
	switch {
	case learner == nil:
		return nil, fmt.Errorf("baseline: recorder without a learner")
	case m == nil || m.Horizon() == 0:
		return nil, fmt.Errorf("baseline: recorder without a model of finite horizon")
	case m.Shape().Game():
		return nil, fmt.Errorf("baseline: recorder of a game: %w: its policies have no expected return", ErrUnsupported)
	}
	if err := task.Check(m.Dim()); err != nil {
		return nil, fmt.Errorf("baseline: recorder: %w", err)
	}
	r := &Recorder{learner: learner, task: task, optimum: optimum, evaluator: cmdp.NewEvaluator(m),
		value: make([]float64, m.Dim()), point: make([]float64, m.Dim())}
	rows := 0
	if l, err := LinearForm(m.Shape(), cmdp.Task{Target: task.Target, Constraints: task.Constraints}); err == nil {
		r.linear, rows = l, len(l.Rows)
	}
	lower, upper := m.Shape().Totals()
	r.tolerance = ViolationTolerance * floats.Distance(lower, upper, 2)
	r.state = recorderState{Expected: newTally(m.Dim(), rows), Realized: newTally(m.Dim(), rows)}
	r.Keep(&r.state, saved.Own{Name: "baseline: learner", Part: learner})
	r.Then(func() error {
		if len(r.state.Expected.Sum) != m.Dim() || len(r.state.Expected.Excess) != rows {
			return fmt.Errorf("baseline: saved recorder: of another task")
		}
		return nil
	})
	return r, nil
}

// regret returns g(v) − g*, NaN without a cost or an optimum.
func (r *Recorder) regret(v []float64) float64 {
	if r.task.Cost == nil {
		return math.NaN()
	}
	return r.task.Cost.Value(v) - r.optimum
}

// distance returns the distance of v from the target, 0 without a target or if the
// distance is rounding.
func (r *Recorder) distance(v []float64) float64 {
	if r.task.Target == nil {
		return 0
	}
	r.task.Target.Project(r.point, v)
	if d := floats.Distance(r.point, v, 2); d > r.tolerance {
		return d
	}
	return 0
}

// Policy returns the learner's policy and keeps its expected returns.
func (r *Recorder) Policy() cmdp.Policy {
	start := time.Now()
	r.policy = r.learner.Policy()
	r.state.Nanoseconds += time.Since(start).Nanoseconds()
	r.evaluator.Returns(r.value, r.policy)
	return r.policy
}

// Observe passes the episode on and counts it.
func (r *Recorder) Observe(tr *cmdp.Trajectory) {
	start := time.Now()
	r.learner.Observe(tr)
	r.state.Nanoseconds += time.Since(start).Nanoseconds()
	r.state.Episodes++
	r.state.Expected.add(r, r.value)
	r.state.Realized.add(r, tr.Total)
	r.state.Last = append(r.state.Last[:0], r.value...)
}

// Unwrap returns the learner.
func (r *Recorder) Unwrap() cmdp.Learner { return r.learner }

// MostEpisodes returns that of the learner, see [cmdp.Limited].
func (r *Recorder) MostEpisodes() int { return cmdp.MostEpisodes(r.learner) }

// Metrics returns the metrics of the episodes so far. They are all zero before the
// first. It allocates.
func (r *Recorder) Metrics() Metrics {
	st := &r.state
	if st.Episodes == 0 {
		return Metrics{}
	}
	k := float64(st.Episodes)
	m := Metrics{
		Episodes: st.Episodes,
		Average:  st.Realized.mean(st.Episodes), Expected: st.Expected.mean(st.Episodes), Last: slices.Clone(st.Last),
		WeakRegret: st.Expected.WeakRegret, StrongRegret: st.Expected.StrongRegret,
		RealizedWeakRegret: st.Realized.WeakRegret, RealizedStrongRegret: st.Realized.StrongRegret,
		ViolatingShare: float64(st.Expected.Violating) / k, RealizedViolatingShare: float64(st.Realized.Violating) / k,
		SecondsPerEpisode: float64(st.Nanoseconds) / 1e9 / k,
	}
	m.Regret, m.ExpectedRegret, m.LastRegret = r.regret(m.Average), r.regret(m.Expected), r.regret(m.Last)
	m.Violation, m.ExpectedViolation, m.LastViolation = r.violation(m.Average), r.violation(m.Expected),
		r.violation(m.Last)
	m.MaxViolation, m.ExpectedMaxViolation = r.largest(m.Average), r.largest(m.Expected)
	m.WeakViolation, m.StrongViolation = st.Expected.weak(r), st.Expected.strong(r)
	m.RealizedWeakViolation, m.RealizedStrongViolation = st.Realized.weak(r), st.Realized.strong(r)
	if r.task.Target == nil {
		nan := math.NaN()
		m.WeakViolation, m.StrongViolation, m.RealizedWeakViolation, m.RealizedStrongViolation = nan, nan, nan, nan
		m.ViolatingShare, m.RealizedViolatingShare = nan, nan
	}
	if w, ok := r.learner.(Worker); ok {
		m.Work = w.Work()
	}
	return m
}

// violation is the distance from the target, NaN without one.
func (r *Recorder) violation(v []float64) float64 {
	if r.task.Target == nil {
		return math.NaN()
	}
	return r.distance(v)
}

// largest is the largest excess over a constraint.
func (r *Recorder) largest(v []float64) float64 {
	if r.task.Target == nil || r.linear == nil {
		return r.violation(v)
	}
	most := 0.0
	for i := range r.linear.Rows {
		most = max(most, r.linear.Excess(i, v))
	}
	return most
}
