package main

import (
	"fmt"
	"math"
	"slices"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp/chart"
)

// Figure draws the root mean square over the runs, which is what a slope is fitted to,
// with the middle eight tenths of the runs by absolute value: one panel for each
// quantity of each task.
func (res *result) Figure() *chart.Figure {
	f := &chart.Figure{Title: res.spec}
	for _, p := range []struct{ title, dual, quantity string }{
		{"Double update: violation", "double", "violation"},
		{"Double update: |regret|", "double", "regret"},
		{"Goal as a bound: violation", "", "violation"},
	} {
		panel := chart.Panel{Title: p.title, X: chart.Axis{Title: "episode", Log: true}, Y: chart.Axis{Title: p.quantity, Log: true}}
		constant := 0.0
		for _, l := range res.lines {
			if l.quantity == p.quantity && (l.update.dual == "double") == (p.dual == "double") {
				panel.Curves = append(panel.Curves, l.drawn())
				constant = max(constant, l.reference())
			}
		}
		if len(panel.Curves) > 0 {
			panel.Curves = append(panel.Curves, res.lines[0].slopeHalf(1.3*constant))
			f.Panels = append(f.Panels, panel)
		}
	}
	f.Notes = []string{fmt.Sprintf("Root mean square of %d runs; the bands are the middle eight tenths.", len(res.lines[0].curve.Values))}
	return f
}

// shown returns what a picture shows: the last four decades of episodes, but no
// episode before the tenth.
func shown(c *harness.Curve) *harness.Curve {
	last := c.Episodes[len(c.Episodes)-1]
	return c.Tail(min(4, math.Log10(float64(last)/10)))
}

func (l *line) drawn() chart.Curve {
	t := shown(l.curve)
	c := chart.Curve{Name: l.update.title, Y: t.RMS()}
	column := make([]float64, len(t.Values))
	for j, k := range t.Episodes {
		for i, v := range t.Values {
			column[i] = math.Abs(v[j])
		}
		slices.Sort(column)
		c.X = append(c.X, float64(k))
		c.Low = append(c.Low, harness.Quantile(column, 0.1))
		c.High = append(c.High, harness.Quantile(column, 0.9))
	}
	return c
}

// reference returns the least c for which c/√k is above the line in the decades that
// are fitted.
func (l *line) reference() float64 {
	c := 0.0
	t := l.curve.Tail(decades)
	for j, y := range t.RMS() {
		c = max(c, y*math.Sqrt(float64(t.Episodes[j])))
	}
	return c
}

// slopeHalf draws c/√k over the decades that are fitted.
func (l *line) slopeHalf(c float64) chart.Curve {
	out := chart.Curve{Name: "slope −1/2"}
	for _, k := range l.curve.Tail(decades).Episodes {
		out.X = append(out.X, float64(k))
		out.Y = append(out.Y, c/math.Sqrt(float64(k)))
	}
	return out
}
