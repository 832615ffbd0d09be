package main

import (
	"context"
	"fmt"
	"slices"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp/contest"
	"cmdpsolve/cmdp/problem"
)

// decades is how many of the last decades of episodes a slope is fitted over.
const decades = 2

// A result is what was measured on one suite.
type result struct {
	suite   *suite
	problem *problem.Problem
	optimum float64 // exact, in the user's sense
	price   float64 // ‖ψ*‖ of the exact multiplier
	lines   []line
	records []record
}

// A line is one quantity under one dual update.
type line struct {
	update   *update
	quantity string // "violation" or "regret"
	curve    *harness.Curve
	fit      harness.Slope
	// before and last are the slopes of the last decade but one, and of the last.
	before, last float64
	mean         float64 // at the last episode
	half         float64 // of its 95% interval
	micros       float64 // processor time of an episode, median over runs
	rhos         []float64
}

// measure plays all runs of a suite, or takes them from stored records, and fits
// the slopes.
func (s *suite) measure(ctx context.Context, o *options, stored []record) (*result, error) {
	q, err := s.pose(ctx)
	if err != nil {
		return nil, err
	}
	res := &result{suite: s, problem: q.problem, optimum: q.problem.Objective(q.best.Returns), price: q.best.DualNorm}
	for _, u := range o.updates {
		records := stored
		if o.From == "" {
			if records, err = s.play(ctx, q, u, o.Seeds); err != nil {
				return nil, err
			}
		}
		var runs [][]record
		for seed := uint64(1); seed <= uint64(o.Seeds); seed++ {
			run := pick(records, s.name, u.name, seed)
			if len(run) == 0 || len(runs) > 0 && len(run) != len(runs[0]) {
				return nil, fmt.Errorf("the records of %s, seed %d are missing or incomplete", u.name, seed)
			}
			runs = append(runs, run)
			res.records = append(res.records, run...)
		}
		res.lines = append(res.lines, newLine(u, "violation", runs, o, func(r record) float64 { return r.Violation }))
		if u.dual == "double" {
			res.lines = append(res.lines, newLine(u, "regret", runs, o, func(r record) float64 { return r.Regret }))
		}
	}
	return res, nil
}

func pick(records []record, suite, update string, seed uint64) []record {
	var out []record
	for _, r := range records {
		if r.Suite == suite && r.Update == update && r.Seed == seed {
			out = append(out, r)
		}
	}
	return out
}

func newLine(u *update, quantity string, runs [][]record, o *options, of func(record) float64) line {
	l := line{update: u, quantity: quantity, curve: &harness.Curve{}}
	for _, r := range runs[0] {
		l.curve.Episodes = append(l.curve.Episodes, r.Episode)
	}
	var last, micros []float64
	for _, run := range runs {
		values := make([]float64, len(run))
		for j, r := range run {
			values[j] = of(r)
		}
		l.curve.Values = append(l.curve.Values, values)
		end := run[len(run)-1]
		last = append(last, of(end))
		micros = append(micros, end.Seconds/float64(end.Episode)*1e6)
		l.rhos = append(l.rhos, end.Rho)
	}
	l.fit = l.curve.Tail(decades).Fit(o.resamples)
	l.before, l.last = l.curve.DecadeSlopes()
	l.mean, l.half = contest.MeanInterval(last)
	slices.Sort(micros)
	l.micros = harness.Quantile(micros, 0.5)
	slices.Sort(l.rhos)
	return l
}
