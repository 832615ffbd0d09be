package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
)

// A session plays the runs of one call of learn.
type session struct {
	*learnCommand
	p           *loaded
	best        *exact.Result // nil if not known, or in a game
	answer      *gameAnswer   // nil if not known, or without an opponent
	settings    cmdp.Settings
	fingerprint string
	runs        []*learnRun
	progress    *progress

	mu    sync.Mutex // guards saved and the checkpoint file
	saved []cmdp.SavedRun
}

// A learnRun is one seed.
type learnRun struct {
	seed    uint64
	learner *cmdp.MOMA
	runner  *cmdp.Runner
	history history
}

// history is what is recorded of a run, besides its state.
type history struct {
	Records []record `json:"records"`
	Seconds float64  `json:"seconds"`
}

// A record is the state of a run after an episode. Objective, Regret and Bound
// are in the user's sense; those that do not exist are null.
type record struct {
	Episode   int             `json:"episode"`
	Average   []report.Number `json:"average"`
	Expected  []report.Number `json:"expected,omitempty"`
	Objective report.Number   `json:"objective"`
	Violation report.Number   `json:"violation"`
	Regret    report.Number   `json:"regret"`
	Bound     report.Number   `json:"bound"`
	Gap       report.Number   `json:"gap"`
	Rho       report.Number   `json:"rho"`
}

func newSession(c *learnCommand, p *loaded, best *exact.Result, settings cmdp.Settings, fingerprint string, from *cmdp.Checkpoint) (*session, error) {
	s := &session{learnCommand: c, p: p, best: best, settings: settings, fingerprint: fingerprint,
		saved: make([]cmdp.SavedRun, c.Seeds)}
	for i := range c.Seeds {
		r, err := s.newRun(c.Seed + uint64(i))
		if err != nil {
			return nil, failed(err)
		}
		if from != nil && from.Runs[i].State != nil {
			s.saved[i] = from.Runs[i]
			if err := r.restore(from.Runs[i]); err != nil {
				return nil, usage("checkpoint %s: %w", c.resume, err)
			}
		}
		s.runs = append(s.runs, r)
	}
	return s, nil
}

func (s *session) newRun(seed uint64) (*learnRun, error) {
	learner, err := s.learner(s.p, s.settings)
	if err != nil {
		return nil, err
	}
	var evaluator *cmdp.Evaluator
	if s.Expected {
		evaluator = cmdp.NewEvaluator(s.p.Model)
	}
	r := &learnRun{seed: seed, learner: learner}
	if !s.p.isGame() {
		r.runner = cmdp.NewRunner(s.p.Model, learner, seed, evaluator)
		return r, nil
	}
	opponent, err := s.p.opponent()
	if err != nil {
		return nil, err
	}
	r.runner, err = cmdp.NewGameRunner(s.p.Model, learner, opponent, seed, evaluator)
	return r, err
}

// play plays all runs to their end, several at a time. It returns an error if
// one failed or if ctx was done first; what was played until then stays.
func (s *session) play(ctx context.Context) error {
	s.progress = newProgress(s.err, s.quiet, s)
	defer s.progress.close()
	return playAll(ctx, s.parallel, len(s.runs), s.playRun)
}

// playRun plays run i in pieces: up to the next record, but short enough for
// progress and checkpoints. The pieces have no influence on the result.
func (s *session) playRun(ctx context.Context, i int) error {
	const pause = 50 * time.Millisecond
	r, piece, lastSave := s.runs[i], 1, time.Now()
	for r.runner.Episodes() < s.Episodes {
		k := r.runner.Episodes()
		until := min(k+piece, cmdp.NextRecord(k), s.Episodes)
		begin := time.Now()
		err := r.runner.Run(ctx, until)
		took := time.Since(begin)
		r.history.Seconds += took.Seconds()
		if took < pause/2 && piece < 1<<20 {
			piece *= 2
		} else if took > pause && piece > 1 {
			piece /= 2
		}
		if k := r.runner.Episodes(); k > 0 && (k == cmdp.NextRecord(k-1) || k == s.Episodes || err != nil) {
			r.record(s)
		}
		s.progress.update(i, r)
		if s.save != "" && (err != nil || time.Since(lastSave) > s.every || r.runner.Episodes() == s.Episodes) {
			if err := s.checkpoint(i); err != nil {
				return err
			}
			lastSave = time.Now()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// record adds the present state to the history. A run that was interrupted and
// resumed has the records of one that was not: one made at an interruption is
// replaced.
func (r *learnRun) record(s *session) {
	w, f := r.runner.Average(), r.learner.Findings()
	rec := record{
		Episode: r.runner.Episodes(), Average: report.Numbers(w), Expected: report.Numbers(r.runner.Expected()),
		Objective: report.Number(s.p.objective(w)), Violation: report.Number(s.p.task.Violation(w)),
		Regret: report.NaN, Bound: report.Number(s.p.sense() * f.Bound), Gap: report.Number(f.Gap), Rho: report.Number(f.Rho),
	}
	if s.best != nil && s.best.Status == exact.Optimal && s.p.task.Cost != nil {
		rec.Regret = report.Number(s.p.task.Cost.Value(w) - s.best.Objective)
	}
	if s.answer != nil && s.answer.value != nil {
		rec.Regret = report.Number(s.p.task.Cost.Value(w) - s.answer.value.Value)
	}
	r.history.dropPassing(s.Episodes)
	r.history.Records = append(r.history.Records, rec)
}

// dropPassing removes a last record that stands only because the run stopped
// there.
func (h *history) dropPassing(episodes int) {
	if n := len(h.Records); n > 0 {
		if k := h.Records[n-1].Episode; k != cmdp.NextRecord(k-1) && k != episodes {
			h.Records = h.Records[:n-1]
		}
	}
}

func (r *learnRun) restore(saved cmdp.SavedRun) error {
	if err := json.Unmarshal(saved.History, &r.history); err != nil {
		return err
	}
	return r.runner.UnmarshalBinary(saved.State)
}

// checkpoint saves the state of run i beside the last known ones of the others.
func (s *session) checkpoint(i int) error {
	r := s.runs[i]
	state, err := r.runner.MarshalBinary()
	if err != nil {
		return err
	}
	hist, err := json.Marshal(r.history)
	if err != nil {
		return err
	}
	options, err := json.Marshal(s.learnOptions)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saved[i] = cmdp.SavedRun{State: state, History: hist}
	file := cmdp.Checkpoint{Problem: s.fingerprint, Settings: options, Runs: s.saved}
	if err := file.WriteFile(s.save); err != nil {
		return fmt.Errorf("%w; a checkpoint that was there before is untouched", err)
	}
	return nil
}
