package chart

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// A span is what an axis shows: numbers from min to max, and those below as min.
type span struct {
	min, max float64
	log      bool
	cut      bool // something lies below min
}

// tiny is the least number that a logarithmic axis shows. Nearer to 0 the numbers have
// too few digits to divide an axis.
const tiny = 1e-300

// place returns where a value is drawn.
func (s *span) place(x float64) float64 { return max(s.min, min(s.max, x)) }

// spanOf returns the span of some numbers; NaN is left out, and edges, which are
// those of bands, only widen it.
func spanOf(log bool, values, edges []float64) span {
	s := span{math.Inf(1), math.Inf(-1), log, false}
	for _, x := range append(append([]float64(nil), values...), edges...) {
		if math.IsNaN(x) {
			continue
		}
		if log && x < tiny {
			s.cut = true
			continue
		}
		s.min, s.max = min(s.min, x), max(s.max, x)
	}
	if s.min > s.max { // nothing above 0
		return span{0.1, 1, log, s.cut}
	}
	if !log {
		return s.linear()
	}
	if least := lowest(values); s.min < least/3 && !math.IsInf(least, 1) {
		// Bands may come as near to 0 as they like; half a decade of them is enough.
		s.min, s.cut = least/3, true
	}
	if floor := s.max * math.Pow(10, -Decades); s.min < floor {
		s.min, s.cut = floor, true
	}
	s.min /= 1.1
	s.max *= 1.1
	return s
}

// lowest returns the least number that a logarithmic axis shows, +Inf without one.
func lowest(values []float64) float64 {
	least := math.Inf(1)
	for _, x := range values {
		if x >= tiny {
			least = min(least, x)
		}
	}
	return least
}

// linear leaves some room around the numbers.
func (s span) linear() span {
	room := 0.04 * (s.max - s.min)
	if room == 0 {
		room = cmp.Or(math.Abs(s.max)*0.1, 1)
	}
	s.min -= room
	s.max += room
	return s
}

// logTicks marks 1, 2, … 9 of every decade. It labels the decades, every other or
// third where there are many, with 2 and 5 or all marks where there are few.
type logTicks struct{}

func (logTicks) Ticks(low, high float64) []plot.Tick {
	first, last := int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	every := 1 + int(math.Log10(high/low))/6
	for _, labels := range []string{"1", "125", "123456789"} {
		var ticks []plot.Tick
		labelled := 0
		for e := first; e <= last; e++ {
			for m := 1; m <= 9; m++ {
				digit := strconv.Itoa(m)
				x, err := strconv.ParseFloat(digit+"e"+strconv.Itoa(e), 64) // as people write it
				if err != nil || x < low || x > high {
					continue
				}
				t := plot.Tick{Value: x}
				if strings.Contains(labels, digit) && e%every == 0 {
					t.Label = tickLabel(x)
					labelled++
				}
				ticks = append(ticks, t)
			}
		}
		if labelled >= 3 || labelled == 2 && len(labels) > 3 {
			return ticks
		}
	}
	return []plot.Tick{{Value: low, Label: tickLabel(low)}, {Value: high, Label: tickLabel(high)}}
}

// linearTicks are gonum's, with our labels.
type linearTicks struct{}

func (linearTicks) Ticks(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i, t := range ticks {
		if t.Label != "" {
			ticks[i].Label = tickLabel(t.Value)
		}
	}
	return ticks
}

// tickLabel writes a number with few characters.
func tickLabel(x float64) string {
	if a := math.Abs(x); a != 0 && (a < 0.001 || a >= 1e5) {
		mantissa, exponent := x, 0
		for ; math.Abs(mantissa) >= 9.9995; exponent++ {
			mantissa /= 10
		}
		for ; math.Abs(mantissa) < 0.99995; exponent-- {
			mantissa *= 10
		}
		return strconv.FormatFloat(mantissa, 'g', 4, 64) + "e" + strconv.Itoa(exponent)
	}
	return strconv.FormatFloat(x, 'g', 5, 64)
}
