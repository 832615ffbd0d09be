package main

import (
	"math"
	"slices"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/chart"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
	"cmdpsolve/oracle/lp"
)

// frontFigure draws the curve between two returns with the band in which the true
// one lies. Of three returns it draws the curve between the first two for some bounds
// on the third; of more, each vertex as a line over an axis for each return.
func frontFigure(p *loaded, rep *frontReport, r *exact.FrontResult) *chart.Figure {
	f := &chart.Figure{Title: p.title() + ": trade-off curve"}
	if len(rep.over) > 3 {
		return parallelFigure(p.title(), rep.over, rep.vertexReturns(), rep.Error)
	}
	const lineWidth = 2e-3 // of the ranges
	seen := "; the true curve lies in the band."
	switch {
	case len(rep.Vertices) == 1:
		seen = "."
	case rep.Relative <= lineWidth:
		seen = ", which is less than the line is wide."
	}
	f.Notes = []string{"The certified error is at most " + report.Small(rep.Error) + seen}
	panel := func(b int, curves []chart.Curve) {
		f.Panels = append(f.Panels, chart.Panel{X: axisOf(rep.over[0]), Y: axisOf(rep.over[b]), Curves: curves})
	}
	switch len(rep.over) {
	case 2:
		panel(1, rep.curves(r))
	case 3:
		panel(1, rep.contours(r))
	}
	return f
}

// vertexReturns returns, of each vertex, the returns that are traded off.
func (rep *frontReport) vertexReturns() [][]float64 {
	var out [][]float64
	for _, v := range rep.Vertices {
		x := make([]float64, len(rep.over))
		for k, o := range rep.over {
			x[k] = v.returns[o.index]
		}
		out = append(out, x)
	}
	return out
}

// parallelFigure draws vertices in parallel coordinates (Inselberg 1985): an axis for each return, from its
// worst value over the vertices below to its best above, and a line for each vertex. Colours tell the quarters
// of the first return.
func parallelFigure(title string, over []objective, vertices [][]float64, certified report.Number) *chart.Figure {
	const quarters = 4
	x := chart.Axis{}
	worst, best := make([]float64, len(over)), make([]float64, len(over))
	for k, o := range over {
		worst[k], best[k] = math.Inf(1), math.Inf(-1)
		for _, v := range vertices {
			worst[k], best[k] = min(worst[k], v[k]), max(best[k], v[k])
		}
		if o.sign < 0 {
			worst[k], best[k] = best[k], worst[k]
		}
		x.Ticks = append(x.Ticks, chart.Tick{At: float64(k),
			Label: o.name + "\n" + report.Brief(worst[k]) + " to " + report.Brief(best[k])})
	}
	height := func(v []float64, k int) float64 {
		if worst[k] == best[k] {
			return 1
		}
		return (v[k] - worst[k]) / (best[k] - worst[k])
	}
	curves := make([]chart.Curve, quarters)
	for _, v := range vertices {
		c := &curves[min(quarters-1, int(quarters*height(v, 0)))]
		c.Free = true
		if len(c.X) > 0 { // a gap between one vertex and the next
			c.X, c.Y = append(c.X, 0), append(c.Y, math.NaN())
		}
		for k := range over {
			c.X, c.Y = append(c.X, float64(k)), append(c.Y, height(v, k))
		}
	}
	panel := chart.Panel{X: x, Y: chart.Axis{Ticks: []chart.Tick{{At: 0, Label: "worst"}, {At: 1, Label: "best"}}}}
	for i, c := range curves {
		if len(c.X) == 0 {
			continue
		}
		from := worst[0] + float64(i)/quarters*(best[0]-worst[0])
		to := worst[0] + float64(i+1)/quarters*(best[0]-worst[0])
		c.Name = over[0].name + " " + report.Brief(min(from, to)) + " to " + report.Brief(max(from, to))
		c.Marks = len(vertices) <= 60
		panel.Curves = append(panel.Curves, c)
	}
	notes := []string{"Each line is a vertex; an axis goes from the worst value of a return over the vertices to the best.",
		"The certified error is at most " + report.Small(certified) + "."}
	return &chart.Figure{Title: title + ": trade-off surface", Panels: []chart.Panel{panel}, Notes: notes}
}

// unionFigure draws the curves of which something is left, of the first two returns.
func unionFigure(p *loaded, rep *frontReport, f *query.Front) *chart.Figure {
	drawn := &chart.Figure{Title: p.title() + ": trade-off curves",
		Notes: []string{"One curve for each threshold at which the worst episodes begin."}}
	panel := chart.Panel{X: axisOf(rep.over[0]), Y: axisOf(rep.over[1])}
	for i, part := range f.Parts {
		k := slices.IndexFunc(rep.Vertices, func(v *pointReport) bool { return v.at.Query == part.Query })
		if k < 0 {
			continue
		}
		for _, curve := range newFrontReport(p.as(part.Query), rep.over, f.Part(i), 0).curves(part.Result) {
			curve.Name = "threshold " + rep.Vertices[k].begins()
			panel.Curves = append(panel.Curves, curve)
		}
	}
	drawn.Panels = append(drawn.Panels, panel)
	return drawn
}

func axisOf(o objective) chart.Axis {
	return chart.Axis{Title: o.name + map[bool]string{false: " (more is better)",
		true: " (less is better)"}[o.sign < 0]}
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
	if n == 1 { // there is no band
		dots.Marks = true
		return []chart.Curve{dots}
	}
	slices.Sort(line.X)
	for _, v := range line.X {
		y := between(dots, v)
		line.Y = append(line.Y, y)
		if r.Outer == nil { // totals are rounded, and the curves for several thresholds have no band each
			continue
		}
		best := rep.outer(r, v)
		line.Low, line.High = append(line.Low, min(y, best)), append(line.High, max(y, best))
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

// A section is the best of return b beside given values of the first one, within a
// bound on another one, from a trade-off surface.
type section struct {
	r     *exact.FrontResult
	over  []objective
	b     int
	c     int     // the bounded return, 0 for none
	bound float64 // as an objective, which is to be small
}

// contours returns the curves between the first two returns for four bounds on the
// third, the first its worst value over the surface.
func (rep *frontReport) contours(r *exact.FrontResult) []chart.Curve {
	var curves []chart.Curve
	worst, best := rep.span(2)
	o := rep.over[2]
	if o.sign < 0 {
		worst, best = best, worst
	}
	for _, t := range []float64{0, 0.25, 0.5, 0.75} {
		level := worst + t*(best-worst)
		s := section{r: r, over: rep.over, b: 1, c: 2, bound: -o.sign * level}
		c := s.curve(rep.span(0))
		c.Name = o.name + " " + problem.Relation(o.sign > 0) + " " + report.Brief(level)
		if len(c.X) > 0 {
			curves = append(curves, c)
		}
	}
	return curves
}

// span returns the least and the greatest value of a return over the points.
func (rep *frontReport) span(k int) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, q := range rep.Points {
		x := q.returns[rep.over[k].index]
		least, most = min(least, x), max(most, x)
	}
	return least, most
}

// curve returns the section over the values of the first return from least to most.
// Where the first return can be improved without loss there is no curve.
func (s *section) curve(least, most float64) chart.Curve {
	const pieces = 64
	a, b := s.over[0], s.over[s.b]
	var c chart.Curve
	for i := range pieces + 1 {
		x := least + (most-least)*float64(i)/pieces
		inner, ok := s.best(s.inner(-a.sign * x))
		if !ok {
			continue
		}
		outer, ok := s.best(s.outer(-a.sign * x))
		outer = -outer
		if !ok {
			outer = inner
		}
		y, limit := -b.sign*inner, -b.sign*outer
		c.X, c.Y = append(c.X, x), append(c.Y, y)
		c.Low, c.High = append(c.Low, min(y, limit)), append(c.High, max(y, limit))
	}
	return trimmed(c, a.sign)
}

// trimmed drops the flat end of a section, where more of the first return costs
// nothing, up to its last point.
func trimmed(c chart.Curve, sign float64) chart.Curve {
	from, to := 0, len(c.X)
	flat := func(i, j int) bool { return math.Abs(c.Y[i]-c.Y[j]) <= 1e-9*(math.Abs(c.Y[i])+math.Abs(c.Y[j])) }
	for sign > 0 && from+1 < to && flat(from, from+1) {
		from++
	}
	for sign < 0 && from+1 < to && flat(to-1, to-2) {
		to--
	}
	c.X, c.Y, c.Low, c.High = c.X[from:to], c.Y[from:to], c.Low[from:to], c.High[from:to]
	return c
}

// best solves a program; ok is false if nothing meets its bounds.
func (s *section) best(program *lp.Problem) (value float64, ok bool) {
	sol, err := lp.Solve(program)
	if err != nil || sol.Status != lp.Optimal {
		return 0, false
	}
	return sol.Objective, true
}

// inner is the least objective b over mixtures of the points whose first objective
// is at most y.
func (s *section) inner(y float64) *lp.Problem {
	n := len(s.r.Points)
	program := &lp.Problem{Minimize: make([]float64, n), Lower: make([]float64, n)}
	_, program.Upper = lp.Free(n)
	first, third, sum := make([]float64, n), make([]float64, n), make([]float64, n)
	for j, p := range s.r.Points {
		program.Minimize[j], first[j], third[j], sum[j] = p.Objectives[s.b], p.Objectives[0], p.Objectives[s.c], 1
	}
	program.Rows = []lp.Constraint{lp.Equal(sum, 1), lp.AtMost(first, y)}
	if s.c > 0 {
		program.Rows = append(program.Rows, lp.AtMost(third, s.bound))
	}
	return program
}

// outer is the same over all that is not proved to be out of reach, as the dual program, whose optimum is the negative:
// it has a row for each objective, in the place of one for each half-space.
func (s *section) outer(y float64) *lp.Problem {
	program := &lp.Problem{}
	columns := make([][]float64, len(s.over))
	add := func(price float64, entry func(k int) float64) {
		program.Minimize = append(program.Minimize, price)
		for k := range columns {
			columns[k] = append(columns[k], entry(k))
		}
	}
	limit := func(at int) func(k int) float64 {
		return func(k int) float64 { return map[bool]float64{true: -1}[k == at] }
	}
	for _, row := range s.r.Outer {
		add(row.Offset, func(k int) float64 { return -row.Normal[k] })
	}
	add(y, limit(0))
	if s.c > 0 {
		add(s.bound, limit(s.c))
	}
	n := len(program.Minimize)
	program.Lower = make([]float64, n)
	_, program.Upper = lp.Free(n)
	for k, row := range columns {
		program.Rows = append(program.Rows, lp.Equal(row, map[bool]float64{true: 1}[k == s.b]))
	}
	return program
}
