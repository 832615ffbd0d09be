package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp/contest"
)

// A record is the state of one run after an episode.
type record struct {
	Suite     string  `csv:"instance"`
	Update    string  `csv:"update"`
	Seed      uint64  `csv:"seed"`
	Episode   int     `csv:"episode"`
	Violation float64 `csv:"violation"` // distance of W^K from the target of the update
	Regret    float64 `csv:"regret"`    // cost of W^K less the optimum; 0 for updates without a cost
	Rho       float64 `csv:"rho"`
	Seconds   float64 `csv:"seconds"` // processor time so far
}

// play plays the runs of an update one after the other, so that the processor time is theirs,
// and returns their records.
func (s *suite) play(ctx context.Context, q *question, u *update, seeds int) ([]record, error) {
	p, task := q.asked, q.bounded
	settings := contest.Defaults()
	if u.dual == "double" {
		p, task, settings.Rho = q.problem, q.own, u.rho
	}
	settings.Algorithms, settings.Planner = []string{"moma-" + u.dual}, "bernstein"
	settings.Episodes, settings.Seeds, settings.Bonus, settings.Pool = s.episodes, seeds, s.bonus, s.pooled
	c, err := contest.New(ctx, p, settings, contest.Options{Unmeasured: true, Unsolved: true})
	if err != nil {
		return nil, err
	}
	if refusals := c.Refusals(); len(refusals) > 0 {
		return nil, errors.New(refusals[0])
	}
	var start time.Duration
	var seconds []float64 // at each record of the present run
	var out []record
	for _, t := range c.Trials() {
		err := contest.Play(ctx, []*contest.Trial{t}, contest.PlayOptions{Parallel: 1, Progress: func(_ *contest.Run, played int) {
			if played == 0 {
				start, seconds = harness.ProcessorTime(), nil
			}
		}, Recorded: func(*contest.Run) { seconds = append(seconds, (harness.ProcessorTime() - start).Seconds()) }})
		if err != nil {
			return nil, err
		}
		for i, h := range c.Entrants[0].Results[t.Index].History {
			r := record{Suite: s.name, Update: u.name, Seed: t.Seed(), Episode: h.Episode, Violation: harness.Rounded(task.Violation(h.Average)),
				Rho: harness.Rounded(h.Metrics["rho"]), Seconds: harness.Rounded(seconds[i])}
			if task.Cost != nil {
				r.Regret = harness.Rounded(task.Cost.Value(h.Average) - q.best.Objective)
			}
			out = append(out, r)
		}
		fmt.Fprintf(os.Stderr, "%s, %s, seed %d: %.1f s\n", s.name, u.title, t.Seed(), seconds[len(seconds)-1])
	}
	return out, nil
}
