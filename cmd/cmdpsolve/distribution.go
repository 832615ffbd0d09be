package main

import (
	"fmt"
	"math"
	"slices"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/monitor"
)

// distributionReport says how a return varies from one episode to the next. Exact tells that it was
// computed; else it is that of the episodes played.
type distributionReport struct {
	Exact     bool           `json:"exact"`
	SD        report.Number  `json:"sd"`
	Quantiles quantileReport `json:"quantiles"`
	CVaR      tailReport     `json:"cvar"`
	Histogram []binReport    `json:"histogram"`
}

// quantileReport holds quantiles: the least values that are not passed with these probabilities.
type quantileReport struct {
	P05 report.Number `json:"0.05"`
	P25 report.Number `json:"0.25"`
	P50 report.Number `json:"0.5"`
	P75 report.Number `json:"0.75"`
	P95 report.Number `json:"0.95"`
}

// tailReport holds the means of the twentieth of the episodes with the least and the greatest returns.
type tailReport struct {
	Lowest  report.Number `json:"lowest_0.05"`
	Highest report.Number `json:"highest_0.05"`
}

// binReport is the probability of the values from From to To.
type binReport struct {
	From        report.Number `json:"from"`
	To          report.Number `json:"to"`
	Probability report.Number `json:"probability"`
}

// distributions describes the returns of the policy that was played.
func (s *simulation) distributions() report.Named[distributionReport] {
	var out report.Named[distributionReport]
	for i := range s.mean {
		values, probabilities, ok := s.exactly(i)
		if !ok {
			values = make([]float64, 0, s.episodes)
			for _, total := range s.totals {
				values = append(values, total[i])
			}
			slices.Sort(values)
			probabilities = make([]float64, len(values))
			for j := range probabilities {
				probabilities[j] = 1 / float64(len(values))
			}
		}
		out.Values = append(out.Values, described(values, probabilities, ok))
	}
	return out
}

// exactly returns the distribution of a return where it can be computed.
func (s *simulation) exactly(i int) (values, probabilities []float64, ok bool) {
	sum := make(map[float64]float64)
	for _, c := range s.components {
		x, p, ok := monitor.Distribution(s.m, c.Policy, i)
		if !ok {
			return nil, nil, false
		}
		for j := range x {
			if _, seen := sum[x[j]]; !seen {
				values = append(values, x[j])
			}
			sum[x[j]] += c.Weight * p[j]
		}
	}
	slices.Sort(values)
	for _, x := range values {
		probabilities = append(probabilities, sum[x])
	}
	return values, probabilities, true
}

// described describes a distribution, whose values are in ascending order.
func described(values, probabilities []float64, exact bool) distributionReport {
	mean, square := 0.0, 0.0
	for i, x := range values {
		mean += probabilities[i] * x
	}
	for i, x := range values {
		square += probabilities[i] * (x - mean) * (x - mean)
	}
	quantile := func(p float64) report.Number {
		sum := 0.0
		for i, x := range values {
			if sum += probabilities[i]; sum >= p-1e-12 {
				return report.Number(x)
			}
		}
		return report.Number(values[len(values)-1])
	}
	const part = 0.05
	lowest := tailMean(values, probabilities, part)
	slices.Reverse(values)
	slices.Reverse(probabilities)
	highest := tailMean(values, probabilities, part)
	slices.Reverse(values)
	slices.Reverse(probabilities)
	return distributionReport{Exact: exact, SD: report.Number(math.Sqrt(square)),
		Quantiles: quantileReport{quantile(0.05), quantile(0.25), quantile(0.5), quantile(0.75), quantile(0.95)},
		CVaR:      tailReport{report.Number(lowest), report.Number(highest)}, Histogram: histogram(values, probabilities)}
}

// tailMean returns the mean of the first part of a distribution, in the order of its values.
func tailMean(values, probabilities []float64, part float64) float64 {
	left, sum := part, 0.0
	for i, x := range values {
		q := min(left, probabilities[i])
		left, sum = left-q, sum+q*x
	}
	return sum / (part - left)
}

// bins is how many bins a histogram has at most.
const bins = 20

// histogram returns a bin for each value where they are few, else bins of the same width.
func histogram(values, probabilities []float64) []binReport {
	different := len(slices.Compact(slices.Clone(values)))
	least, most := values[0], values[len(values)-1]
	var out []binReport
	for i, x := range values {
		from, to := x, x
		if different > bins {
			width := (most - least) / bins
			at := math.Min(math.Floor((x-least)/width), bins-1)
			from, to = least+at*width, least+(at+1)*width
		}
		if n := len(out); n == 0 || float64(out[n-1].From) != from {
			out = append(out, binReport{report.Number(from), report.Number(to), 0})
		}
		out[len(out)-1].Probability += report.Number(probabilities[i])
	}
	return out
}

// distributionTable lists the distributions for people.
func (rep *simulateReport) distributionTable(p *loaded) *report.Table {
	t := report.NewTable("return", "sd", "5%", "median", "95%", "lowest 5%", "highest 5%", "")
	if rep.Distribution == nil {
		return t
	}
	for i, d := range rep.Distribution.Values {
		t.Add(p.Returns[i], d.SD, d.Quantiles.P05, d.Quantiles.P50, d.Quantiles.P95, d.CVaR.Lowest, d.CVaR.Highest, map[bool]string{true: "exact", false: "sampled"}[d.Exact])
	}
	return t
}

// distributionNotes says what the table means.
func (rep *simulateReport) distributionNotes() report.Note {
	if rep.Distribution == nil {
		return nil
	}
	return report.Note{fmt.Sprintf("The second table is about single episodes: lowest and highest 5%% are the means of the least and the greatest twentieth. Exact rows are computed, sampled ones are those of the %s.", count(rep.Episodes, "episode"))}
}
