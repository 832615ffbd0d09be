package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp/contest"
)

// A record is the state of one run after an episode.
type record struct {
	suite, update string
	seed          uint64
	episode       int
	violation     float64 // distance of W^K from the target of the update
	regret        float64 // cost of W^K less the optimum; 0 for updates without a cost
	rho           float64
	seconds       float64 // processor time so far
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
			r := record{suite: s.name, update: u.name, seed: t.Seed(), episode: h.Episode, violation: task.Violation(h.Average),
				rho: h.Metrics["rho"], seconds: seconds[i]}
			if task.Cost != nil {
				r.regret = task.Cost.Value(h.Average) - q.best.Objective
			}
			out = append(out, r)
		}
		fmt.Fprintf(os.Stderr, "%s, %s, seed %d: %.1f s\n", s.name, u.title, t.Seed(), seconds[len(seconds)-1])
	}
	return out, nil
}

var header = []string{"instance", "update", "seed", "episode", "violation", "regret", "rho", "seconds"}

func rows(results []*result) (rows [][]string) {
	for _, res := range results {
		for _, r := range res.records {
			row := []string{r.suite, r.update, strconv.FormatUint(r.seed, 10), strconv.Itoa(r.episode)}
			for _, x := range []float64{r.violation, r.regret, r.rho, r.seconds} {
				row = append(row, strconv.FormatFloat(x, 'g', 6, 64))
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func readRecords(path string) (out []record, err error) {
	err = harness.ReadTable(path, header, func(row []string) (err error) {
		r := record{suite: row[0], update: row[1]}
		if r.seed, err = strconv.ParseUint(row[2], 10, 64); err != nil {
			return err
		}
		if r.episode, err = strconv.Atoi(row[3]); err != nil {
			return err
		}
		for i, x := range []*float64{&r.violation, &r.regret, &r.rho, &r.seconds} {
			if *x, err = strconv.ParseFloat(row[4+i], 64); err != nil {
				return err
			}
		}
		out = append(out, r)
		return nil
	})
	return out, err
}
