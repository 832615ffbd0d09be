package chart

import (
	"image/color"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// palette is that of Okabe and Ito (2008, "Color Universal Design") without yellow,
// dark colours first.
var palette = []color.NRGBA{
	{R: 0, G: 0, B: 0, A: 255},
	{R: 213, G: 94, B: 0, A: 255},
	{R: 0, G: 114, B: 178, A: 255},
	{R: 0, G: 158, B: 115, A: 255},
	{R: 204, G: 121, B: 167, A: 255},
	{R: 230, G: 159, B: 0, A: 255},
	{R: 86, G: 180, B: 233, A: 255},
}

// dashes has a length that shares no divisor with that of the palette: the first 35
// curves differ in one or the other, curves next to each other in both.
var dashes = [][]vg.Length{
	nil,
	{vg.Points(5), vg.Points(2)},
	{vg.Points(1.2), vg.Points(1.8)},
	{vg.Points(6), vg.Points(1.8), vg.Points(1.2), vg.Points(1.8)},
	{vg.Points(9), vg.Points(3)},
}

const (
	fontSize  = 9  // points
	titleSize = 10 // points
	noteSize  = 8  // points
	lineWidth = 1.3
	bandAlpha = 40 // of 255, for up to fewBands of them; more are fainter
	fewBands  = 6
)

// A style tells a curve from the others.
type style struct {
	color  color.NRGBA
	dashes []vg.Length
}

// widthOf is the width of lines of a panel that has so many: where many cross, thin ones can be followed.
func widthOf(lines int) vg.Length {
	const few, least = 16, 0.4
	return vg.Points(lineWidth * max(least, min(1, few/float64(max(1, lines)))))
}

// dot is the mark at a point.
func (s style) dot() draw.GlyphStyle {
	return draw.GlyphStyle{Color: s.color, Radius: vg.Points(2), Shape: draw.CircleGlyph{}}
}

func styleOf(i int) style { return style{palette[i%len(palette)], dashes[i%len(dashes)]} }

// band is the colour of one of n bands.
func (s style) band(n int) color.Color {
	c := s.color
	c.A = uint8(max(8, bandAlpha*fewBands/max(n, fewBands)))
	return c
}

func letters(points float64, handler text.Handler) text.Style {
	return text.Style{
		Color: color.Black,
		Font:  font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(points)}, Handler: handler,
	}
}

// styles numbers the named curves of a figure in the order of their appearance;
// a curve without a name has a style of its own.
func (f *Figure) styles() (names []string, of map[string]int) {
	of = map[string]int{}
	for _, p := range f.Panels {
		for _, c := range p.Curves {
			if _, known := of[c.Name]; !known && c.Name != "" {
				of[c.Name] = len(names)
				names = append(names, c.Name)
			}
		}
	}
	return names, of
}
