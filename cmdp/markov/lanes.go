package markov

import "math"

// NumLanes is how many directions are solved at once.
const NumLanes = 4

// Lanes are numbers of NumLanes directions. They are no array, since the compiler keeps none in registers.
type Lanes struct{ A, B, C, D float64 }

// AddScaled returns x + p·y.
func (x Lanes) AddScaled(p float64, y Lanes) Lanes {
	return Lanes{x.A + float64(p*y.A), x.B + float64(p*y.B), x.C + float64(p*y.C), x.D + float64(p*y.D)}
}

// Minus returns x − y.
func (x Lanes) Minus(y Lanes) Lanes { return Lanes{x.A - y.A, x.B - y.B, x.C - y.C, x.D - y.D} }

// Over returns x/p.
func (x Lanes) Over(p float64) Lanes { return Lanes{x.A / p, x.B / p, x.C / p, x.D / p} }

// Magnitudes returns |x|.
func (x Lanes) Magnitudes() Lanes {
	return Lanes{math.Abs(x.A), math.Abs(x.B), math.Abs(x.C), math.Abs(x.D)}
}

// Array returns the numbers in the order of the directions.
func (x Lanes) Array() [NumLanes]float64 { return [NumLanes]float64{x.A, x.B, x.C, x.D} }

// set sets x to y in some directions.
func (x *Lanes) set(in [NumLanes]bool, y Lanes) {
	if in[0] {
		x.A = y.A
	}
	if in[1] {
		x.B = y.B
	}
	if in[2] {
		x.C = y.C
	}
	if in[3] {
		x.D = y.D
	}
}
