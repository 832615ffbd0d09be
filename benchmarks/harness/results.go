package harness

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"cmdpsolve/cmdp/contest"
	"cmdpsolve/cmdp/instance"
	"cmdpsolve/cmdp/problem"
)

// Problem reads a problem file, or makes a built-in problem.
func Problem(name string) (*problem.Problem, error) {
	if _, err := os.Stat(name); err == nil {
		return problem.Read(name)
	}
	return instance.New(name)
}

// Results reads the results of a problem of a suite from their folder: those of each learner, in the order of their
// seeds.
func Results(folder string, e *contest.Entry) (map[string][]*contest.RunResult, error) {
	files, err := filepath.Glob(filepath.Join(folder, e.Name+"--*--*.json"))
	if err != nil {
		return nil, err
	}
	runs := make(map[string][]*contest.RunResult)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		r := new(contest.RunResult)
		if err := json.Unmarshal(data, r); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if r.Episodes != e.Settings.Episodes {
			return nil, fmt.Errorf("%s has %d episodes: want %d", file, r.Episodes, e.Settings.Episodes)
		}
		runs[r.Algorithm] = append(runs[r.Algorithm], r)
	}
	for _, list := range runs {
		slices.SortFunc(list, func(a, b *contest.RunResult) int { return cmp.Compare(a.Seed, b.Seed) })
	}
	return runs, nil
}
