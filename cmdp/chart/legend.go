package chart

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	sampleWidth = 24 // points of line beside a name
	entryGap    = 14 // points between columns
	entryHeight = 13 // points
)

// wider is by how much the font of a viewer may be wider than the one that texts are measured with.
const wider = 1.15

// A legend lists names in columns, row by row.
type legend struct {
	names   []string
	points  map[string]bool // names of what is drawn as points, without lines
	columns int
	width   vg.Length // of a column
	text    draw.TextStyle
}

// newLegend fits the names into a width.
func newLegend(names []string, points map[string]bool, width vg.Length) *legend {
	l := &legend{names: names, points: points, text: letters(fontSize, plot.DefaultTextHandler)}
	for _, n := range names {
		l.width = max(l.width, wider*l.text.Width(n))
	}
	l.width += vg.Points(sampleWidth + 4 + entryGap)
	l.columns = max(1, min(len(names), int(width/max(1, l.width))))
	if rows := l.rows(); rows > 1 { // as many in each row as can be
		l.columns = (len(names) + rows - 1) / rows
	}
	return l
}

func (l *legend) rows() int { return (len(l.names) + l.columns - 1) / l.columns }

// height is 0 for an empty legend.
func (l *legend) height() vg.Length { return vg.Points(float64(l.rows() * entryHeight)) }

// draw draws the legend from the top of the canvas, in its middle.
func (l *legend) draw(c draw.Canvas) {
	left := c.Center().X - vg.Length(l.columns)*l.width/2 + vg.Points(entryGap/2)
	for i, name := range l.names {
		s := styleOf(i)
		x := left + vg.Length(i%l.columns)*l.width
		y := c.Max.Y - vg.Points(entryHeight)*vg.Length(i/l.columns) - vg.Points(entryHeight/2)
		if l.points[name] {
			c.DrawGlyph(s.dot(), vg.Point{X: x + vg.Points(sampleWidth/2), Y: y})
		} else {
			line := draw.LineStyle{Color: s.color, Width: vg.Points(lineWidth), Dashes: s.dashes}
			c.StrokeLine2(line, x, y, x+vg.Points(sampleWidth), y)
		}
		c.FillText(l.text, vg.Point{X: x + vg.Points(sampleWidth+4), Y: y - vg.Points(fontSize*0.35)}, name)
	}
}
