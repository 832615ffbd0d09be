package geometry

import "math"

// radial is the path x(s) = clip(center + s·direction, lower, upper) of a ball cut
// by a box. The distance ‖x(s) − center‖ grows with s, and both questions about
// the intersection are answered on it, by the conditions of optimality:
//
//   - the maximiser of ⟨dir, ·⟩ is x(s) on the path with direction dir, for the
//     largest s that stays in the ball;
//   - the projection of p is x(s) on the path with direction p − center, for the
//     largest s ≤ 1 that stays in the ball.
//
// The path is linear between at most 2d break points, which are visited one by
// one: the result is exact up to rounding, and nothing is stored or iterated.
type radial struct {
	center       []float64
	lower, upper []float64 // both nil for a ball alone
	toward       []float64 // dir, or p if relative
	relative     bool
	face         []float64 // if not nil, coordinates are fixed to the face of the box in this direction
	radius       float64
}

func (p *radial) direction(i int) float64 {
	if p.relative {
		return p.toward[i] - p.center[i]
	}
	return p.toward[i]
}

func (p *radial) sides(i int) (lower, upper float64) {
	if p.lower == nil {
		return math.Inf(-1), math.Inf(1)
	}
	lower, upper = p.lower[i], p.upper[i]
	if p.face != nil {
		switch v := p.face[i]; {
		case v > 0:
			lower = upper
		case v < 0:
			upper = lower
		}
	}
	return lower, upper
}

// span returns the interval of s in which coordinate i moves; empty if start ≥ end.
func (p *radial) span(i int, unit float64) (start, end float64) {
	v := p.direction(i) / unit
	if v == 0 {
		return 0, 0
	}
	lower, upper := p.sides(i)
	start, end = (lower-p.center[i])/v, (upper-p.center[i])/v
	if v < 0 {
		start, end = end, start
	}
	return math.Max(start, 0), end
}

// step returns the largest s ≤ limit with x(s) in the ball. Directions are
// measured in units of their largest entry, so that far points do not overflow.
func (p *radial) step(limit float64) float64 {
	unit := 0.0
	for i := range p.center {
		unit = math.Max(unit, math.Abs(p.direction(i)))
	}
	if unit == 0 {
		return limit
	}
	at, limit := 0.0, limit*unit
	for {
		next, still, moving := limit, 0.0, 0.0
		for i, c := range p.center {
			v := p.direction(i) / unit
			start, end := p.span(i, unit)
			if start <= at && at < end {
				moving += v * v
				next = math.Min(next, end)
				continue
			}
			if start > at && start < end {
				next = math.Min(next, start)
			}
			lower, upper := p.sides(i)
			gap := clip(at*v, lower-c, upper-c)
			still += gap * gap
		}
		room := math.Max(p.radius*p.radius-still, 0)
		if moving > 0 {
			if reach := math.Sqrt(room / moving); reach < next {
				return math.Max(reach, at) / unit
			}
		}
		if !(at < next && next < limit) { // of NaN too, or there is no end
			return limit / unit
		}
		at = next
	}
}

// write sets dst to x(s). dst may be toward.
func (p *radial) write(dst []float64, s float64) {
	for i, c := range p.center {
		lower, upper := p.sides(i)
		v := p.direction(i)
		switch {
		case v == 0:
			dst[i] = clip(c, lower, upper)
		case s == 1 && p.relative:
			dst[i] = clip(p.toward[i], lower, upper)
		default:
			dst[i] = clip(c+s*v, lower, upper)
		}
	}
}
