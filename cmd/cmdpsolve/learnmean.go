package main

import (
	"slices"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/contest"
)

// average replaces the numbers of the first run by the means over all runs that
// have them.
func (rep *learnReport) average(names []string) {
	rep.CI95 = map[string]report.Number{}
	mean := func(key string, of func(*runReport) report.Number) report.Number {
		var x []float64
		for _, r := range rep.Runs {
			x = append(x, float64(of(r)))
		}
		m, half := contest.MeanInterval(x)
		rep.CI95[key] = report.Number(half)
		return report.Number(m)
	}
	seconds := 0.0
	for _, r := range rep.Runs {
		seconds += float64(r.Seconds)
		rep.Interrupted = rep.Interrupted || r.Interrupted
		rep.Episodes = min(rep.Episodes, r.Episodes)
		if rep.Certificate == nil {
			rep.Certificate = r.Certificate
		}
	}
	rep.Seconds = report.Number(seconds)
	rep.Average = named{Names: names}
	for i, name := range names {
		rep.Average.Values = append(rep.Average.Values, mean(name, func(r *runReport) report.Number { return r.Average.Values[i] }))
	}
	rep.Expected = averageNamed(rep.Runs, func(r *runReport) named { return r.Expected })
	rep.Objective = mean("objective", func(r *runReport) report.Number { return r.Objective })
	rep.Violation = mean("violation", func(r *runReport) report.Number { return r.Violation })
	rep.Regret = mean("regret", func(r *runReport) report.Number { return r.Regret })
	rep.Bound = mean("bound", func(r *runReport) report.Number { return r.Bound })
	rep.BestBound = mean("bound_best", func(r *runReport) report.Number { return r.BestBound })
	rep.Gap = mean("gap", func(r *runReport) report.Number { return r.Gap })
	rep.Rho = mean("rho", func(r *runReport) report.Number { return r.Rho })
	rep.History = averageHistory(rep.Runs)
}

// averageNamed returns the mean over the runs of numbers with names, if there are any.
func averageNamed(runs []*runReport, of func(*runReport) named) named {
	mean := named{Names: of(runs[0]).Names, Values: slices.Clone(of(runs[0]).Values)} // nil stays nil
	clear(mean.Values)
	for _, r := range runs {
		for i, x := range of(r).Values {
			mean.Values[i] += x / report.Number(len(runs))
		}
	}
	return mean
}

// averageHistory averages the records that all runs have.
func averageHistory(runs []*runReport) []recordReport {
	out := []recordReport{}
	for i, rec := range runs[0].History {
		n := report.Number(len(runs))
		sum, whole := recordReport{Episode: rec.Episode}, true
		for _, r := range runs {
			if i >= len(r.History) || r.History[i].Episode != rec.Episode {
				whole = false
				break
			}
			h := r.History[i]
			sum.Objective += h.Objective / n
			sum.Violation += h.Violation / n
			sum.Regret += h.Regret / n
			sum.Bound += h.Bound / n
			sum.Gap += h.Gap / n
			sum.Rho += h.Rho / n
		}
		if whole {
			sum.Average = averageNamed(runs, func(r *runReport) named { return r.History[i].Average })
			sum.Expected = averageNamed(runs, func(r *runReport) named { return r.History[i].Expected })
			out = append(out, sum)
		}
	}
	return out
}
