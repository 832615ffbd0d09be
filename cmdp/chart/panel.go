package chart

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// build returns the panel as a plot, and whether values lie below a logarithmic
// axis.
func (p view) build(of map[string]int) (*plot.Plot, bool) {
	plt := plot.New()
	plt.Title.Text = p.Title
	plt.Title.TextStyle = centred(titleSize, plt)
	plt.Title.TextStyle.YAlign = draw.YTop
	plt.Title.Padding = vg.Points(4)
	x, y := p.spans()
	dress(&plt.X, p.X, x, plt)
	dress(&plt.Y, p.Y, y, plt)
	plt.Y.Label.Text = "" // the sheet draws it: gonum shrinks a panel under a long one
	grid := plotter.NewGrid()
	grid.Horizontal = draw.LineStyle{Color: color.Gray{225}, Width: vg.Points(0.5)}
	grid.Vertical = grid.Horizontal
	plt.Add(grid)
	number := func(c *Curve) style {
		if i, ok := of[c.Name]; ok {
			return styleOf(i)
		}
		return styleOf(len(of))
	}
	for i := range p.Curves {
		if i >= p.first && i < p.end {
			continue
		}
		for _, run := range p.Curves[i].runs(&x, &y) {
			plt.Add(&plotter.Line{XYs: run, LineStyle: draw.LineStyle{Color: color.Gray{205},
				Width: vg.Points(lineWidth / 2)}})
		}
	}
	// All bands first: no band covers a line.
	for i := p.first; i < p.end; i++ {
		c := &p.Curves[i]
		for _, ring := range c.bands(&x, &y) {
			plt.Add(&plotter.Polygon{XYs: []plotter.XYs{ring}, Color: number(c).band(p.end - p.first)})
		}
	}
	lines := 0
	for i := p.first; i < p.end; i++ {
		for _, run := range p.Curves[i].runs(&x, &y) {
			if len(run) > 1 {
				lines++
			}
		}
	}
	for i := p.first; i < p.end; i++ {
		c := &p.Curves[i]
		s := number(c)
		line := draw.LineStyle{Color: s.color, Width: widthOf(lines), Dashes: s.dashes}
		for _, run := range c.runs(&x, &y) {
			if len(run) > 1 {
				plt.Add(&plotter.Line{XYs: run, LineStyle: line})
			}
			if c.Marks || len(run) == 1 {
				plt.Add(&plotter.Scatter{XYs: run, GlyphStyle: s.dot()})
			}
		}
	}
	// Adding widened the axes to the data; they show what was decided.
	plt.X.Min, plt.X.Max, plt.Y.Min, plt.Y.Max = x.min, x.max, y.min, y.max
	return plt, x.cut || y.cut
}

func (p *Panel) spans() (x, y span) {
	var xs, ys, edges []float64
	for _, c := range p.Curves {
		for i, v := range c.X {
			if p.X.Log && v <= 0 {
				continue
			}
			xs, ys = append(xs, v), append(ys, c.Y[i])
			if c.Low != nil {
				edges = append(edges, c.Low[i], c.High[i])
			}
		}
	}
	x = spanOf(p.X.Log, xs, nil)
	if p.X.Log {
		x.min, x.max = x.min*1.1, x.max/1.1 // episodes need no room at the ends
		if x.min == x.max {
			x.min, x.max = x.min/2, x.max*2
		}
	}
	if len(p.X.Ticks) > 0 { // room for what is written under the outermost ones
		room := 0.07 * (x.max - x.min)
		x.min -= room
		x.max += room
	}
	return x, spanOf(p.Y.Log, ys, edges)
}

func dress(a *plot.Axis, axis Axis, s span, plt *plot.Plot) {
	a.Label.Text = axis.Title
	a.Label.TextStyle = centred(fontSize, plt)
	a.Label.Padding = vg.Points(2)
	tick := a.Tick.Label
	a.Tick.Label = letters(fontSize, plt.TextHandler)
	a.Tick.Label.XAlign, a.Tick.Label.YAlign = tick.XAlign, tick.YAlign
	a.Tick.Length = vg.Points(4)
	a.LineStyle.Width, a.Tick.LineStyle.Width = vg.Points(0.6), vg.Points(0.6)
	a.Padding = 0
	a.Min, a.Max = s.min, s.max
	a.Tick.Marker = linearTicks{}
	if len(axis.Ticks) > 0 {
		var marks plot.ConstantTicks
		for _, t := range axis.Ticks {
			marks = append(marks, plot.Tick{Value: t.At, Label: t.Label})
		}
		a.Tick.Marker = marks
	}
	if s.log {
		a.Scale, a.Tick.Marker = plot.LogScale{}, logTicks{}
	}
}

func centred(points float64, plt *plot.Plot) draw.TextStyle {
	s := letters(points, plt.TextHandler)
	s.XAlign, s.YAlign = draw.XCenter, draw.YBottom
	return s
}

// runs returns the pieces of the curve between its gaps.
func (c *Curve) runs(x, y *span) []plotter.XYs {
	var runs []plotter.XYs
	open := false
	for i, v := range c.X {
		if math.IsNaN(c.Y[i]) || x.log && v <= 0 {
			open = false
			continue
		}
		if !open {
			runs, open = append(runs, nil), true
		}
		runs[len(runs)-1] = append(runs[len(runs)-1], plotter.XY{X: v, Y: y.place(c.Y[i])})
	}
	return runs
}

// bands returns the outlines of the pieces of the band.
func (c *Curve) bands(x, y *span) []plotter.XYs {
	var rings []plotter.XYs
	var up, down plotter.XYs
	flush := func() {
		if len(up) > 1 {
			slices.Reverse(down)
			rings = append(rings, append(up, down...))
		}
		up, down = nil, nil
	}
	for i := range c.Low {
		if math.IsNaN(c.Low[i]) || math.IsNaN(c.High[i]) || x.log && c.X[i] <= 0 {
			flush()
			continue
		}
		up = append(up, plotter.XY{X: c.X[i], Y: y.place(c.High[i])})
		down = append(down, plotter.XY{X: c.X[i], Y: y.place(c.Low[i])})
	}
	flush()
	return rings
}
