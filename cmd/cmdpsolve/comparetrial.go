package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/exact"
)

// A trialResult is what one run found, and the form of a suite's result files.
type trialResult struct {
	Problem   string                   `json:"problem"`
	Algorithm string                   `json:"algorithm"`
	Seed      uint64                   `json:"seed"`
	Episodes  int                      `json:"episodes"`
	Suite     string                   `json:"suite,omitempty"` // fingerprint, in result files
	Metrics   map[string]report.Number `json:"metrics"`
	Average   []report.Number          `json:"average"`
	History   []trialRecord            `json:"history"`
}

// A trialRecord has those metrics that are drawn, after an episode.
type trialRecord struct {
	Episode int                      `json:"episode"`
	Metrics map[string]report.Number `json:"metrics"`
}

// A metric is a column of results.
type metric struct {
	key, title string
	of         func(*baseline.Metrics) float64
}

const secondsKey = "seconds_per_episode"

// metrics are defined in docs/metrics.md. The first ones are drawn.
var metrics = []metric{
	{"regret", "regret", func(m *baseline.Metrics) float64 { return m.Regret }},
	{"violation", "violation", func(m *baseline.Metrics) float64 { return m.Violation }},
	{"expected_regret", "expected regret", func(m *baseline.Metrics) float64 { return m.ExpectedRegret }},
	{"expected_violation", "expected violation", func(m *baseline.Metrics) float64 { return m.ExpectedViolation }},
	{"last_regret", "last regret", func(m *baseline.Metrics) float64 { return m.LastRegret }},
	{"last_violation", "last violation", func(m *baseline.Metrics) float64 { return m.LastViolation }},
	{"weak_regret", "weak regret", func(m *baseline.Metrics) float64 { return m.WeakRegret }},
	{"weak_violation", "weak violation", func(m *baseline.Metrics) float64 { return m.WeakViolation }},
	{"strong_regret", "strong regret", func(m *baseline.Metrics) float64 { return m.StrongRegret }},
	{"strong_violation", "strong violation", func(m *baseline.Metrics) float64 { return m.StrongViolation }},
	{"max_violation", "max violation", func(m *baseline.Metrics) float64 { return m.MaxViolation }},
	{"expected_max_violation", "expected max violation", func(m *baseline.Metrics) float64 { return m.ExpectedMaxViolation }},
	{"realized_weak_regret", "realized weak regret", func(m *baseline.Metrics) float64 { return m.RealizedWeakRegret }},
	{"realized_weak_violation", "realized weak violation", func(m *baseline.Metrics) float64 { return m.RealizedWeakViolation }},
	{"realized_strong_regret", "realized strong regret", func(m *baseline.Metrics) float64 { return m.RealizedStrongRegret }},
	{"realized_strong_violation", "realized strong violation", func(m *baseline.Metrics) float64 { return m.RealizedStrongViolation }},
	{"violating_share", "violating", func(m *baseline.Metrics) float64 { return m.ViolatingShare }},
	{"realized_violating_share", "realized violating", func(m *baseline.Metrics) float64 { return m.RealizedViolatingShare }},
	{"planner_calls", "planner calls", func(m *baseline.Metrics) float64 { return float64(m.Planner) }},
	{"programs", "programs", func(m *baseline.Metrics) float64 { return float64(m.Programs) }},
	{"infeasible_programs", "infeasible programs", func(m *baseline.Metrics) float64 { return float64(m.Infeasible) }},
	{secondsKey, "s/episode", func(m *baseline.Metrics) float64 { return m.SecondsPerEpisode }},
}

// drawn is how many of the metrics are kept along the way.
const drawn = 10

func metricValues(m *baseline.Metrics, n int) map[string]report.Number {
	values := make(map[string]report.Number, n)
	for _, spec := range metrics[:n] {
		values[spec.key] = report.Number(spec.of(m))
	}
	return values
}

// A player is a trial under way.
type player struct {
	*trial
	runner   *cmdp.Runner
	recorder *baseline.Recorder // nil in a game
	learner  cmdp.Learner
	spent    time.Duration
	history  []trialRecord
}

// begin makes the learner of a trial.
func (t *trial) begin() (*player, error) {
	cfg := t.cfg
	cfg.Seed = t.seed()
	learner, err := baseline.New(t.Name, cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.p.name, err)
	}
	p := &player{trial: t, learner: learner}
	if t.opponent != nil {
		opponent, err := t.opponent()
		if err != nil {
			return nil, err
		}
		p.runner, err = cmdp.NewGameRunner(t.p.Model, learner, opponent, t.seed(), nil)
		return p, err
	}
	optimum := math.NaN()
	if t.best != nil && t.best.Status == exact.Optimal && t.p.task.Cost != nil {
		optimum = t.best.Objective
	}
	if p.recorder, err = baseline.NewRecorder(learner, t.p.Model, t.p.task, optimum); err != nil {
		return nil, err
	}
	p.runner = cmdp.NewRunner(t.p.Model, p.recorder, t.seed(), nil)
	return p, nil
}

// play plays to the end, or until ctx is done. It calls pause at least every
// second or so.
func (p *player) play(ctx context.Context, pause func() error) error {
	piece := 1
	for p.runner.Episodes() < p.Episodes {
		k := p.runner.Episodes()
		begin := time.Now()
		err := p.runner.Run(ctx, min(k+piece, cmdp.NextRecord(k), p.Episodes))
		took := time.Since(begin)
		p.spent += took
		if err != nil {
			return err
		}
		if took < 20*time.Millisecond && piece < 1<<16 {
			piece *= 2
		} else if took > 200*time.Millisecond && piece > 1 {
			piece /= 2
		}
		if k := p.runner.Episodes(); k == cmdp.NextRecord(k-1) || k == p.Episodes {
			m := p.measure()
			p.history = append(p.history, trialRecord{k, metricValues(&m, drawn)})
		}
		if err := pause(); err != nil {
			return err
		}
	}
	return nil
}

// measure returns the metrics of the episodes so far. In a game they are those of
// the mean return alone.
func (p *player) measure() baseline.Metrics {
	if p.recorder != nil {
		return p.recorder.Metrics()
	}
	w, no := p.runner.Average(), math.NaN()
	m := baseline.Metrics{
		Episodes: p.runner.Episodes(), Average: w, Regret: no, Violation: no, ExpectedRegret: no, ExpectedViolation: no, LastRegret: no,
		LastViolation: no, MaxViolation: no, ExpectedMaxViolation: no, WeakRegret: no, WeakViolation: no, StrongRegret: no,
		StrongViolation: no, RealizedWeakRegret: no, RealizedWeakViolation: no, RealizedStrongRegret: no, RealizedStrongViolation: no,
		ViolatingShare: no, RealizedViolatingShare: no, SecondsPerEpisode: p.spent.Seconds() / float64(max(1, p.runner.Episodes())),
	}
	if p.p.task.Target != nil {
		m.Violation = p.p.task.Violation(w)
	}
	if worker, ok := p.learner.(baseline.Worker); ok {
		m.Work = worker.Work()
	}
	return m
}

// result returns what a finished trial found.
func (p *player) result() *trialResult {
	m := p.measure()
	return &trialResult{
		Problem: p.p.title(), Algorithm: p.Name, Seed: p.seed(), Episodes: m.Episodes,
		Metrics: metricValues(&m, len(metrics)), Average: report.Numbers(m.Average), History: p.history,
	}
}

// progressState is the saved form of a player.
type progressState struct {
	Spent   time.Duration `json:"spent"`
	History []trialRecord `json:"history"`
}
