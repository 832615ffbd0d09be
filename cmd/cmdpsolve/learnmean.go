package main

import "cmdpsolve/cmd/cmdpsolve/internal/report"

// average replaces the numbers of the first run by the means over all runs.
func (rep *learnReport) average() {
	var all []*learned
	rep.Seconds = 0
	for _, r := range rep.Runs {
		all = append(all, &r.learned)
		rep.Seconds += r.Seconds
		rep.Interrupted = rep.Interrupted || r.Interrupted
		rep.Episodes = min(rep.Episodes, r.Episodes)
		if rep.Certificate == nil {
			rep.Certificate = r.Certificate
		}
	}
	rep.learned, rep.CI95 = meanOf(all)
	best := estimateOf(len(rep.Runs), func(i int) float64 { return float64(rep.Runs[i].BestBound) })
	rep.BestBound, rep.CI95["bound_best"] = best.Mean, best.CI95
	rep.History = averageHistory(rep.Runs)
}

// learnedNumbers are the single numbers of a run, by their key.
var learnedNumbers = map[string]func(*learned) *report.Number{
	"objective": func(n *learned) *report.Number { return &n.Objective },
	"violation": func(n *learned) *report.Number { return &n.Violation },
	"regret":    func(n *learned) *report.Number { return &n.Regret },
	"bound":     func(n *learned) *report.Number { return &n.Bound },
	"gap":       func(n *learned) *report.Number { return &n.Gap },
	"rho":       func(n *learned) *report.Number { return &n.Rho },
}

// meanOf returns the means of the numbers of several runs, and the half-widths of their intervals.
func meanOf(runs []*learned) (m learned, half map[string]report.Number) {
	mean := func(of func(*learned) report.Number) (report.Number, report.Number) {
		e := estimateOf(len(runs), func(i int) float64 { return float64(of(runs[i])) })
		return e.Mean, e.CI95
	}
	means := func(of func(*learned) named) (v, half named) {
		first := of(runs[0])
		v.Names, half.Names = first.Names, first.Names
		for i := range first.Values {
			x, h := mean(func(n *learned) report.Number { return of(n).Values[i] })
			v.Values, half.Values = append(v.Values, x), append(half.Values, h)
		}
		return v, half
	}
	half = map[string]report.Number{}
	var average named
	m.Average, average = means(func(n *learned) named { return n.Average })
	for i, x := range average.Values {
		half[average.Names[i]] = x
	}
	m.Expected, _ = means(func(n *learned) named { return n.Expected })
	for key, of := range learnedNumbers {
		*of(&m), half[key] = mean(func(n *learned) report.Number { return *of(n) })
	}
	return m, half
}

func averageHistory(runs []*runReport) []recordReport {
	out := []recordReport{}
	for i, rec := range runs[0].History {
		var all []*learned
		for _, r := range runs {
			if i < len(r.History) && r.History[i].Episode == rec.Episode {
				all = append(all, &r.History[i].learned)
			}
		}
		if len(all) == len(runs) {
			mean, _ := meanOf(all)
			out = append(out, recordReport{rec.Episode, mean})
		}
	}
	return out
}
