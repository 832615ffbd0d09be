package chart

import (
	"errors"
	"fmt"
	"math"
)

// A Curve is a line through points, with an optional band around it.
type Curve struct {
	// Name stands in the legend. Curves of one name in several panels share a style
	// and a legend entry; a curve without a name is in no legend.
	Name string
	// X and Y have the same length, at least 1, and X does not decrease unless Free is
	// set. A NaN in Y leaves a gap.
	X, Y []float64
	// Low and High bound the band, of the length of X; both nil for none. Where one of
	// them is NaN there is no band.
	Low, High []float64
	// Marks draws a dot at every point, for curves of a few points.
	Marks bool
	// Free allows X to go back and forth, as on a closed curve. Such a curve has no band.
	Free bool
}

// An Axis has a title, with its unit, and a scale.
type Axis struct {
	Title string
	// Log is a logarithmic axis. Values at or below 0, or more than Decades below the
	// largest, are drawn on its lower edge, and a line under the figure says so.
	Log bool
	// Ticks are the marks of a linear axis, nil for those that suit the numbers.
	Ticks []Tick
}

// A Tick is a mark on an axis, with what is written beside it.
type Tick struct {
	At    float64
	Label string
}

// Decades is how much a logarithmic axis shows at most.
const Decades = 5

// A Panel is one system of axes with its curves.
type Panel struct {
	Title  string
	X, Y   Axis
	Curves []Curve
}

// A Figure is a row of panels, at most two side by side, over one legend. A panel of more than eight curves
// is drawn several times, with eight of them in colour and the others in grey.
type Figure struct {
	Title  string
	Panels []Panel
	// Notes are lines of text under the legend.
	Notes []string
}

// check returns an error for what cannot be drawn.
func (f *Figure) check() error {
	if len(f.Panels) == 0 {
		return errors.New("chart: a figure without panels")
	}
	for i := range f.Panels {
		p := &f.Panels[i]
		if len(p.Curves) == 0 {
			return fmt.Errorf("chart: panel %d has no curves", i)
		}
		for j := range p.Curves {
			if err := p.Curves[j].check(); err != nil {
				return fmt.Errorf("chart: panel %d, curve %d (%s): %w", i, j, p.Curves[j].Name, err)
			}
		}
		if !p.shows() {
			return fmt.Errorf("chart: panel %d: no point can be drawn on its axes", i)
		}
	}
	return nil
}

func (c *Curve) check() error {
	n := len(c.X)
	switch {
	case n == 0:
		return errors.New("no points")
	case len(c.Y) != n:
		return fmt.Errorf("%d values at %d points", len(c.Y), n)
	case (c.Low == nil) != (c.High == nil) || c.Low != nil && (len(c.Low) != n || len(c.High) != n):
		return fmt.Errorf("a band of %d and %d values at %d points", len(c.Low), len(c.High), n)
	case c.Low != nil && c.Free:
		return errors.New("a free curve has no band")
	}
	for i, x := range c.X {
		if math.IsNaN(x) || math.IsInf(x, 0) || math.IsInf(c.Y[i], 0) {
			return fmt.Errorf("point %d, (%g, %g): want finite numbers", i, x, c.Y[i])
		}
		if i > 0 && x < c.X[i-1] && !c.Free {
			return fmt.Errorf("x falls from %g to %g at point %d", c.X[i-1], x, i)
		}
		if c.Low != nil && (math.IsInf(c.Low[i], 0) || math.IsInf(c.High[i], 0) || c.Low[i] > c.High[i]) {
			return fmt.Errorf("band from %g to %g at point %d", c.Low[i], c.High[i], i)
		}
	}
	return nil
}

// shows reports whether some point lies on the axes.
func (p *Panel) shows() bool {
	for _, c := range p.Curves {
		for i, x := range c.X {
			if !math.IsNaN(c.Y[i]) && (x > 0 || !p.X.Log) {
				return true
			}
		}
	}
	return false
}
