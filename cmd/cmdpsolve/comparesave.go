package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"

	"github.com/spf13/pflag"
)

// compareFile keeps the runs of a comparison in a checkpoint, which has one saved
// run for each learner and seed: a finished one has a result and no state. With an
// empty path it keeps nothing but results in memory.
type compareFile struct {
	path    string
	contest *contest
	mu      sync.Mutex
	saved   cmdp.Checkpoint
}

// savedTrial is the history of a saved run.
type savedTrial struct {
	Algorithm string         `json:"algorithm"`
	Seed      uint64         `json:"seed"`
	Result    *trialResult   `json:"result,omitempty"`
	Progress  *progressState `json:"progress,omitempty"`
}

func newCompareFile(path string, c *contest) (*compareFile, error) {
	settings, err := json.Marshal(c.compareSettings)
	if err != nil {
		return nil, err
	}
	return &compareFile{path: path, contest: c, saved: cmdp.Checkpoint{
		Problem: c.fingerprint, Settings: settings, Runs: make([]cmdp.SavedRun, len(c.entrants)*c.Seeds),
	}}, nil
}

func (f *compareFile) place(t *trial) int {
	return slices.Index(f.contest.entrants, t.entrant)*f.contest.Seeds + t.run
}

func (f *compareFile) restore(p *player) error {
	f.mu.Lock()
	old := f.saved.Runs[f.place(p.trial)]
	f.mu.Unlock()
	if old.State == nil {
		return nil
	}
	var h savedTrial
	if err := json.Unmarshal(old.History, &h); err != nil {
		return err
	}
	if h.Progress != nil {
		p.history, p.spent = h.Progress.History, h.Progress.Spent
	}
	return p.runner.UnmarshalBinary(old.State)
}

func (f *compareFile) keep(p *player) error {
	if f.path == "" {
		return nil
	}
	state, err := p.runner.MarshalBinary()
	if err != nil {
		return err
	}
	return f.put(p.trial, state, savedTrial{Progress: &progressState{p.spent, p.history}})
}

func (f *compareFile) finish(t *trial, r *trialResult) error {
	f.mu.Lock()
	t.results[t.run] = r
	f.mu.Unlock()
	return f.put(t, nil, savedTrial{Result: r})
}

func (f *compareFile) put(t *trial, state []byte, h savedTrial) error {
	h.Algorithm, h.Seed = t.Name, t.seed()
	history, err := json.Marshal(h)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.saved.Runs[f.place(t)] = cmdp.SavedRun{State: state, History: history}
	if f.path == "" {
		return nil
	}
	if err := f.saved.WriteFile(f.path); err != nil {
		return fmt.Errorf("%w; a checkpoint that was there before is untouched", err)
	}
	return nil
}

// adoptRuns takes over the runs of a checkpoint.
func (f *compareFile) adoptRuns(from *cmdp.Checkpoint, path string) error {
	if from.Problem != f.contest.fingerprint {
		return usage("checkpoint %s: it is of another problem, or its policy files have changed", path)
	}
	if len(from.Runs) != len(f.saved.Runs) {
		return usage("checkpoint %s: it has another number of runs than it says", path)
	}
	for i, run := range from.Runs {
		if run.History == nil {
			continue
		}
		e := f.contest.entrants[i/f.contest.Seeds]
		var h savedTrial
		if err := json.Unmarshal(run.History, &h); err != nil {
			return usage("checkpoint %s: %w", path, err)
		}
		if h.Algorithm != e.Name {
			return usage("checkpoint %s: run %d is of %s: want %s", path, i, h.Algorithm, e.Name)
		}
		f.saved.Runs[i] = run
		e.results[i%f.contest.Seeds] = h.Result
	}
	return nil
}

// readCompareCheckpoint reads the checkpoint to go on from, whose settings replace
// those that were not given; those that were must agree.
func readCompareCheckpoint(path string, settings *compareSettings, flags *pflag.FlagSet) (*cmdp.Checkpoint, error) {
	from, err := cmdp.ReadCheckpoint(path)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	old := compareSettings{Margin: baseline.DefaultKnapsackMargin, Support: "none"} // of checkpoints that do not have them
	if err := json.Unmarshal(from.Settings, &old); err != nil || old.Algorithms == nil {
		return nil, usage("checkpoint %s: it is not of a comparison", path)
	}
	given := *settings
	for name, differs := range map[string]bool{
		"algorithms": !slices.Equal(given.Algorithms, old.Algorithms), "episodes": given.Episodes != old.Episodes,
		"seed": given.Seed != old.Seed, "seeds": given.Seeds != old.Seeds, "bonus-scale": given.Bonus != old.Bonus,
		"planner": given.Planner != old.Planner, "dual": given.Dual != old.Dual, "rho": given.Rho != old.Rho,
		"returns": given.Returns != old.Returns, "pool": given.Pool != old.Pool, "lazy": given.Lazy != old.Lazy,
		"failure": given.Failure != old.Failure, "slater": given.Slater != old.Slater, "safe-policy": given.Safe != old.Safe,
		"opponent": given.Opponent != old.Opponent, "null-policy": given.Null != old.Null, "knapsack-margin": given.Margin != old.Margin, "support": given.Support != old.Support,
	} {
		if flags.Changed(name) && differs {
			return nil, usage("--%s differs from the checkpoint %s, whose runs it would change", name, path)
		}
	}
	*settings = old
	return from, nil
}

// mustBeNew makes sure that no other checkpoint is overwritten.
func mustBeNew(path string) error {
	if _, err := os.Stat(path); err == nil {
		return usage("--save %s: the file exists; go on from it with --resume, or remove it", path)
	}
	return nil
}
