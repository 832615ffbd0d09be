package main

import (
	"math"
	"slices"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/chart"
	"cmdpsolve/cmdp/exact"
)

// frontFigure draws the curve between two returns with the band in which the true
// one lies. Of three returns it draws the curve between the first two for some bounds
// on the third; of more, the first against each other one, whatever the rest.
func frontFigure(p *loaded, rep *frontReport, r *exact.FrontResult) *chart.Figure {
	f := &chart.Figure{Title: p.title() + ": trade-off curve"}
	f.Notes = []string{"The certified error is at most " + report.Small(rep.Error) + "; the true curve lies in the band."}
	panel := func(b int, curves []chart.Curve) {
		f.Panels = append(f.Panels, chart.Panel{X: axisOf(rep.over[0]), Y: axisOf(rep.over[b]), Curves: curves})
	}
	switch len(rep.over) {
	case 2:
		panel(1, rep.curves(r))
	case 3:
		panel(1, rep.contours(r))
	default:
		for b := 1; b < len(rep.over); b++ {
			s := section{r: r, over: rep.over, b: b}
			panel(b, []chart.Curve{s.curve(rep.span(0))})
		}
	}
	return f
}

func axisOf(o objective) chart.Axis {
	return chart.Axis{Title: o.name + map[bool]string{false: " (more is better)", true: " (less is better)"}[o.sign < 0]}
}

// curves returns the curve between two returns: the line through the vertices, whose
// band reaches to the outer set and has a point at each of its corners, and the dots.
func (rep *frontReport) curves(r *exact.FrontResult) []chart.Curve {
	a, b := rep.over[0], rep.over[1]
	var dots chart.Curve
	for _, q := range rep.Vertices {
		dots.X, dots.Y = append(dots.X, q.returns[a.index]), append(dots.Y, q.returns[b.index])
	}
	n := len(dots.X)
	line := chart.Curve{X: slices.Clone(dots.X)}
	for _, corner := range r.Corners {
		if v := -a.sign * corner[0]; v > dots.X[0] && v < dots.X[n-1] {
			line.X = append(line.X, v)
		}
	}
	slices.Sort(line.X)
	for _, v := range line.X {
		y, best := between(dots, v), rep.outer(r, v)
		line.Y, line.Low, line.High = append(line.Y, y), append(line.Low, min(y, best)), append(line.High, max(y, best))
	}
	dots.Marks = n <= 60
	return []chart.Curve{line, dots}
}

// outer returns the best second return that the outer set leaves possible beside the
// value v of the first.
func (rep *frontReport) outer(r *exact.FrontResult, v float64) float64 {
	least := math.Inf(-1)
	for _, row := range r.Outer {
		// −w·y ≤ −b, and y is the negative of a return that is to be large
		if w := -row.Normal[1]; w > 0 {
			least = math.Max(least, (-row.Offset+row.Normal[0]*-rep.over[0].sign*v)/w)
		}
	}
	return -rep.over[1].sign * least
}

// between returns the height of a line at v, which lies between its ends.
func between(c chart.Curve, v float64) float64 {
	j := slices.IndexFunc(c.X, func(x float64) bool { return x >= v })
	if j == 0 || c.X[j] == v {
		return c.Y[j]
	}
	t := (v - c.X[j-1]) / (c.X[j] - c.X[j-1])
	return c.Y[j-1] + t*(c.Y[j]-c.Y[j-1])
}
