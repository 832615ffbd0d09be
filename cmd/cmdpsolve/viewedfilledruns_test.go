package main

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/contest"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
)

func init() {
	maps.Copy(filledKinds, map[string]func(*filler) (string, *report.Report){"learn": (*filler).learned,
		"compare": (*filler).compared})
}

// event is a contest with drawn settings, and an exact answer however it ended; nil for what is not played in episodes.
func (f *filler) event() *event {
	p := f.p
	if p.isFleet() || p.Horizon() == 0 || p.isGame() {
		return nil
	}
	s := contest.Defaults()
	pick := func(list ...string) string { return list[f.IntN(len(list))] }
	s.Episodes, s.Seed, s.Seeds, s.Pool, s.Lazy = 1+f.IntN(2000), f.Uint64N(9), 1+f.IntN(3), f.is(2), f.is(2)
	s.Returns, s.Support, s.Dual = pick("known", "unknown"), pick("none", "auto"), pick("double", "free", "projection")
	s.Planner, s.Failure, s.Margin = pick("bernstein", "hoeffding"), float64(f.of(0.05, 0.1)), float64(f.of(0.05, 0.2))
	s.Slater, s.Safe, s.Null = pick("none", "auto", "0.3"), pick("none", "auto", "safe.csv"), pick("none", "null.csv")
	if s.Bonus = cmdp.TheoryTimes(float64(f.of(0, 0.02, 1, 2))); f.is(3) {
		s.Bonus = cmdp.BonusScale{Mode: cmdp.Practice}
	}
	if f.is(2) {
		s.Rho = cmdp.Penalty{Rule: cmdp.PenaltyGiven, Rho: 2.5}
	}
	c := &contest.Contest{Settings: s, Query: p.Query, Task: p.Task, Title: p.title(), Against: &problem.OpponentSpec{}}
	if r := f.planned(); r.Status != exact.Unbounded && !f.is(4) {
		c.Answer.Best = r
	}
	for _, a := range baseline.Algorithms()[:3] {
		c.Entrants = append(c.Entrants, &contest.Entrant{Algorithm: a})
	}
	return &event{c, p}
}

// compared is a comparison of a few learners, some of which did not play all their runs, or none.
func (f *filler) compared() (string, *report.Report) {
	e := f.event()
	if e == nil {
		return "", nil
	}
	for _, entrant := range e.Entrants {
		if f.is(4) {
			entrant.Refused = "it needs something"
		}
		f.fill(&entrant.Told)
	}
	rep := e.report(true)
	for _, row := range rep.Rows {
		if row.status == "refused" {
			continue
		}
		if row.runs = f.IntN(e.Seeds + 1); row.runs == e.Seeds {
			row.status, row.reason = "done", ""
		}
		row.metrics = map[string]estimate{}
		for _, m := range contest.Metrics() {
			var x estimate
			if f.fill(&x); x.Mean != x.Mean {
				x.CI95 = report.NaN
			}
			row.metrics[m.Key] = x
		}
	}
	w := comparison{wide: f.is(2), times: f.is(2)}
	words := "compare" + map[bool]string{true: " --wide"}[w.wide] + map[bool]string{false: " --no-times"}[w.times]
	return words + " --planner " + e.Planner, w.one(rep)
}

// learned are the runs of a learner.
func (f *filler) learned() (string, *report.Report) {
	e := f.event()
	if e == nil {
		return "", nil
	}
	s := &session{Contest: e.Contest, p: f.p}
	s.Algorithms = []string{"moma", "posterior", "moma-posterior"}[f.IntN(3):][:1]
	rep := new(learnReport)
	f.fill(rep)
	rep.subject, rep.Algorithm, rep.Failure, rep.Returns = f.p.subject(), s.Algorithms[0], s.Failure, s.Returns
	rep.Pooled, rep.RhoRule, rep.Seeds, rep.Seed = s.Pool, string(s.rule()), s.Seeds, s.Seed
	rep.Log, rep.Opponent, rep.Steps, rep.Runs = "", "", 0, nil
	rep.Planner, rep.Dual, rep.Bonus = "", "", ""
	if s.moma() {
		rep.Planner, rep.Dual, rep.Bonus = s.Planner, s.Dual, s.Bonus.String()
	}
	if rep.Exact = newExactReport(f.p, &s.Answer); rep.Seeds > 1 {
		rep.CI95 = map[string]report.Number{"objective": f.of(0.125, math.NaN()), "regret": 2.5,
			"violation": f.of(0, 0.5)}
	}
	if rep.Certificate = nil; f.is(2) {
		c := f.certificate()
		found := newCertificate(f.p, c.Direction, c.Support, c.Value, c.Distance)
		rep.Certificate = &certificateReport{found, f.IntN(9), 0.5}
	}
	episode := 0
	for i := range rep.History {
		episode += []int{1, 9, 90}[f.IntN(3)]
		rep.History[i].Episode = episode
	}
	for i := range rep.Policies {
		rep.Policies[i].Policy = fmt.Sprint("policy ", i)
	}
	return "learn --support " + s.Support, s.report(rep)
}

// TestSummaryOfRuns: of the runs that are done a comparison has the means, by seed and along the way, and it was
// interrupted if some run of a learner that plays is not done.
func TestSummaryOfRuns(t *testing.T) {
	p, err := load("inventory")
	if err != nil {
		t.Fatal(err)
	}
	f := &filler{Rand: rand.New(rand.NewPCG(71, 3)), p: p, policy: new(exact.Policy)}
	for range 40 {
		e := f.event()
		missing := false
		for _, entrant := range e.Entrants {
			if f.is(3) {
				entrant.Refused = "it needs something"
				continue
			}
			for seed := range e.Seeds {
				r := &contest.RunResult{Seed: e.Seed + uint64(seed), Metrics: f.metrics(), Average: f.vector()}
				for k := range 2 {
					r.History = append(r.History, contest.Record{Episode: 1 + 9*k, Metrics: f.metrics()})
				}
				if f.is(6) {
					r, missing = nil, true
				}
				entrant.Results = append(entrant.Results, r)
			}
		}
		rep := e.report(f.is(2))
		if rep.Interrupted != missing {
			t.Errorf("interrupted: %v, want %v", rep.Interrupted, missing)
		}
		for k, row := range rep.Rows {
			checkRuns(t, e, e.Entrants[k], row)
		}
	}
}

func (f *filler) metrics() contest.Values {
	values := contest.Values{}
	for _, m := range contest.Metrics() {
		values[m.Key] = f.NormFloat64()
	}
	return values
}

func checkRuns(t *testing.T, e *event, entrant *contest.Entrant, row *compareRow) {
	t.Helper()
	done := slices.DeleteFunc(slices.Clone(entrant.Results), func(r *contest.RunResult) bool { return r == nil })
	status := "done"
	switch {
	case entrant.Refused != "":
		status = "refused"
	case len(done) < e.Seeds:
		status = "partial"
	}
	if row.status != status || row.runs != len(done) || len(row.seeds) != len(done) {
		t.Errorf("%d of %d runs are done: %q, %d runs with %d seeds", len(done), e.Seeds, row.status, row.runs,
			len(row.seeds))
		return
	}
	mean := func(what string, got estimate, of func(r *contest.RunResult) float64) {
		sum := 0.0
		for _, r := range done {
			sum += of(r) / float64(len(done))
		}
		if math.Abs(float64(got.Mean)-sum) > 1e-9 || (got.CI95 == got.CI95) != (len(done) > 1) {
			t.Errorf("%s is %v over %d runs: want %g", what, got, len(done), sum)
		}
	}
	for i, r := range done {
		if seed := row.seeds[i][0].Value; seed != r.Seed {
			t.Errorf("run %d has the seed %v: want %d", i, seed, r.Seed)
		}
	}
	for key, x := range row.metrics {
		if len(done) > 0 {
			mean(key, x, func(r *contest.RunResult) float64 { return r.Metrics[key] })
		}
	}
	for i, x := range row.average.Values {
		mean(row.average.Names[i], x, func(r *contest.RunResult) float64 { return r.Average[i] })
	}
	for i, rec := range row.history {
		if rec.Episode != 1+9*i {
			t.Errorf("record %d is of episode %d", i, rec.Episode)
		}
		for key, x := range rec.metrics {
			mean(key, x, func(r *contest.RunResult) float64 { return r.History[i].Metrics[key] })
		}
	}
}
