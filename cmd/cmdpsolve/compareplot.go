package main

import (
	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/chart"
	"cmdpsolve/cmdp/contest"
)

// drawableMetrics are the keys of metrics that are kept along the way.
func drawableMetrics() []string {
	var keys []string
	for _, m := range contest.Drawn() {
		keys = append(keys, m.Key)
	}
	return keys
}

// titleOf is the title of a metric on an axis, with what its unit is.
func titleOf(key string) string {
	for _, m := range contest.Metrics() {
		if m.Key != key {
			continue
		}
		switch key {
		case "regret", "expected_regret", "last_regret":
			return m.Title + " (units of the cost)"
		case "violation", "expected_violation", "last_violation":
			return m.Title + " (distance from the target)"
		}
		return m.Title + " (sum over episodes)"
	}
	return key
}

// series is the history of one learner.
type series struct {
	name    string
	records []rowRecord
}

// panelsOf draws the given metrics of some learners against episodes.
func panelsOf(title string, list []series, keys []string, linear bool) []chart.Panel {
	var panels []chart.Panel
	for _, key := range keys {
		p := chart.Panel{Title: title, X: chart.Axis{Title: "episodes", Log: !linear}, Y: chart.Axis{Title: titleOf(key), Log: !linear}}
		for _, s := range list {
			if c, ok := curveOf(s, key); ok {
				p.Curves = append(p.Curves, c)
			}
		}
		if len(p.Curves) > 0 {
			panels = append(panels, p)
		}
	}
	return panels
}

// curveOf returns a curve with its band; none if no record has the metric.
func curveOf(s series, key string) (chart.Curve, bool) {
	c := chart.Curve{Name: s.name}
	any, band := false, false
	for _, rec := range s.records {
		e, ok := rec.metrics[key]
		if !ok {
			e = estimate{report.NaN, report.NaN}
		}
		mean, half := float64(e.Mean), float64(e.CI95)
		any, band = any || mean == mean, band || half == half
		c.X, c.Y = append(c.X, float64(rec.Episode)), append(c.Y, mean)
		c.Low, c.High = append(c.Low, mean-half), append(c.High, mean+half)
	}
	if !band {
		c.Low, c.High = nil, nil
	}
	return c, any
}
