package main

import (
	"context"
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

// Play plays the runs of all updates one after the other, so that the processor time is theirs.
func (res *result) Play(ctx context.Context) (records []record, err error) {
	for _, u := range res.options.updates {
		p, task := res.asked, res.bounded
		if u.dual == "double" {
			p, task = res.problem, res.own
		}
		c, err := harness.Contest(ctx, p, "moma-"+u.dual, func(s *contest.Settings) {
			s.Planner, s.Episodes, s.Seeds, s.Bonus, s.Pool = "bernstein", res.episodes, res.options.Seeds, res.bonus, res.pooled
			if u.rho != "" {
				s.Rho = u.rho
			}
		}, contest.Options{Unmeasured: true, Unsolved: true})
		if err != nil {
			return nil, err
		}
		var start time.Duration
		var seconds []float64 // at each record of the present run
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
				r := record{Suite: res.ID(), Update: u.ID(), Seed: t.Seed(), Episode: h.Episode, Violation: harness.Rounded(task.Violation(h.Average)),
					Rho: harness.Rounded(h.Metrics["rho"]), Seconds: harness.Rounded(seconds[i])}
				if task.Cost != nil {
					r.Regret = harness.Rounded(task.Cost.Value(h.Average) - res.best.Objective)
				}
				records = append(records, r)
			}
			fmt.Fprintf(os.Stderr, "%s, %s, seed %d: %.1f s\n", res.ID(), u.title, t.Seed(), seconds[len(seconds)-1])
		}
	}
	return records, nil
}
