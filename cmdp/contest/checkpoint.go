package contest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"cmdpsolve/cmdp"
)

// A CheckpointFile keeps the runs of one contest in a file of cmdp.Checkpoint, which has one
// saved run for each learner and seed. With an empty path it keeps results in memory alone.
type CheckpointFile struct {
	path    string
	contest *Contest
	mu      sync.Mutex
	saved   cmdp.Checkpoint
}

// checkpointSettings are what a checkpoint says about its runs.
type checkpointSettings struct {
	Settings
	Measured bool `json:"measured"`
	Mixture  bool `json:"mixture,omitempty"`
}

// savedRun is what is recorded of a run beside its state.
type savedRun struct {
	Algorithm string        `json:"algorithm"`
	Seed      uint64        `json:"seed"`
	Result    *RunResult    `json:"result,omitempty"`
	Spent     time.Duration `json:"spent"`
	History   []Record      `json:"history"`
}

// NewCheckpointFile returns a checkpoint of a contest. Nothing is written before a run is kept.
func NewCheckpointFile(path string, c *Contest) (*CheckpointFile, error) {
	if c == nil {
		return nil, errors.New("contest: checkpoint of no contest")
	}
	settings, err := json.Marshal(checkpointSettings{c.Settings, c.measured, c.mixture})
	if err != nil {
		return nil, err
	}
	return &CheckpointFile{path: path, contest: c, saved: cmdp.Checkpoint{
		Problem: c.Fingerprint, Settings: settings, Runs: make([]cmdp.SavedRun, len(c.Entrants)*c.Seeds),
	}}, nil
}

// ReadCheckpoint reads the checkpoint of a contest that was measured or not, to go on with
// it. Its settings replace those of s. Settings for which given reports true, by their names
// in suite files, must agree with it. Runs that are not measured may be given more episodes.
func ReadCheckpoint(path string, s *Settings, measured bool, given func(name string) bool) (*cmdp.Checkpoint, error) {
	from, err := cmdp.ReadCheckpoint(path)
	if err != nil {
		return nil, err
	}
	var old checkpointSettings
	switch err := json.Unmarshal(from.Settings, &old); {
	case err != nil || old.Algorithms == nil:
		return nil, fmt.Errorf("checkpoint %s: it is not of a contest", path)
	case measured && !old.Measured:
		return nil, fmt.Errorf("checkpoint %s: it is not of a comparison", path)
	case !measured && old.Measured:
		return nil, fmt.Errorf("checkpoint %s: it is of a comparison", path)
	}
	episodes := old.Episodes
	if !measured && given("episodes") {
		episodes = s.Episodes
		if episodes < old.Episodes {
			return nil, fmt.Errorf("--episodes %d: the checkpoint %s is of runs of %d episodes; give at least as many",
				episodes, path, old.Episodes)
		}
	}
	for _, name := range s.differences(&old.Settings) {
		if given(name) && (name != "episodes" || measured) {
			return nil, fmt.Errorf("--%s differs from the checkpoint %s, whose runs it would change", name, path)
		}
	}
	*s = old.Settings
	s.Episodes = episodes
	return from, nil
}

// Adopt takes over the runs of a checkpoint that ReadCheckpoint returned. In a measured contest
// finished runs get their results; in another one they are continued.
func (f *CheckpointFile) Adopt(from *cmdp.Checkpoint, path string) error {
	if from.Problem != f.contest.Fingerprint {
		return fmt.Errorf("checkpoint %s: it is of another problem, or its policy files have changed", path)
	}
	var old checkpointSettings
	switch err := json.Unmarshal(from.Settings, &old); {
	case err != nil:
		return fmt.Errorf("checkpoint %s: %w", path, err)
	case old.Mixture && !f.contest.mixture:
		return fmt.Errorf("checkpoint %s: its runs count what they do for --mixture: give a file for it again", path)
	case f.contest.mixture && !old.Mixture:
		return fmt.Errorf("--mixture: the runs of the checkpoint %s did not count what they did: leave it out, or start anew", path)
	}
	if len(from.Runs) != len(f.saved.Runs) {
		return fmt.Errorf("checkpoint %s: it has another number of runs than it says", path)
	}
	for i, run := range from.Runs {
		if run.History == nil {
			continue
		}
		e := f.contest.Entrants[i/f.contest.Seeds]
		var h savedRun
		if err := json.Unmarshal(run.History, &h); err != nil {
			return fmt.Errorf("checkpoint %s: %w", path, err)
		}
		if h.Algorithm != e.Name {
			return fmt.Errorf("checkpoint %s: run %d is of %s: want %s", path, i, h.Algorithm, e.Name)
		}
		f.saved.Runs[i] = run
		if f.contest.measured {
			e.Results[i%f.contest.Seeds] = h.Result
		}
	}
	return nil
}

func (f *CheckpointFile) trialNumber(t *Trial) int {
	return slices.Index(f.contest.Entrants, t.Entrant)*f.contest.Seeds + t.Index
}

// Restore brings a run to where it was.
func (f *CheckpointFile) Restore(r *Run) error {
	if f.contest == nil {
		return nil
	}
	f.mu.Lock()
	old := f.saved.Runs[f.trialNumber(r.Trial)]
	f.mu.Unlock()
	if old.State == nil {
		return nil
	}
	var h savedRun
	if err := json.Unmarshal(old.History, &h); err != nil {
		return err
	}
	r.History, r.Spent = h.History, h.Spent
	return r.Runner.UnmarshalBinary(old.State)
}

// Keep saves a run that is under way.
func (f *CheckpointFile) Keep(r *Run) error { return f.put(r, nil) }

// Finish saves a result. Of a run that may be given more episodes the state is kept too.
func (f *CheckpointFile) Finish(r *Run, result *RunResult) error { return f.put(r, result) }

func (f *CheckpointFile) put(r *Run, result *RunResult) (err error) {
	if f.path == "" {
		return nil
	}
	var run cmdp.SavedRun
	if result == nil || !r.measured {
		run.State, err = r.Runner.MarshalBinary()
		if err != nil {
			return err
		}
	}
	h := savedRun{Algorithm: r.Entrant.Name, Seed: r.Seed(), Result: result, Spent: r.Spent}
	if run.State != nil {
		h.History = r.History
	}
	run.History, err = json.Marshal(h)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.saved.Runs[f.trialNumber(r.Trial)] = run
	if err := f.saved.WriteFile(f.path); err != nil {
		return fmt.Errorf("%w; a checkpoint that was there before is untouched", err)
	}
	return nil
}

// SavedEpisodes returns the number of episodes of each run of a checkpoint, whether or not they
// have been played.
func SavedEpisodes(c *cmdp.Checkpoint) (int, error) {
	if c == nil {
		return 0, errors.New("contest: no checkpoint")
	}
	var s Settings
	err := json.Unmarshal(c.Settings, &s)
	return s.Episodes, err
}
