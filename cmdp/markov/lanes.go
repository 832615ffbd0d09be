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

// Divided returns the quotients of x and y.
func (x Lanes) Divided(y Lanes) Lanes { return Lanes{x.A / y.A, x.B / y.B, x.C / y.C, x.D / y.D} }

// addProduct adds the products of y and z.
func (x *Lanes) addProduct(y, z *Lanes) {
	x.A += float64(y.A * z.A)
	x.B += float64(y.B * z.B)
	x.C += float64(y.C * z.C)
	x.D += float64(y.D * z.D)
}

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

// noLanes and allLanes are 0 and 1 in each direction.
var noLanes, allLanes = Lanes{}, Lanes{1, 1, 1, 1}

// laneRows are the rows of a simultaneous program and what it finds, for vector instructions.
type laneRows struct {
	directions    *Lanes
	dim, follow   int // how many returns there are, and are found
	values, all   *Lanes
	policy        *[NumLanes]int32
	first, choice *int32
	to            *int32
	offset        *int
	distribution  *uint32 // nil where each choice has its own probabilities
	prob          *float64
	vector        *uint32 // nil where each choice has its own returns
	returns       *float64
	rounding      float64
	head          *uint8 // nil where each component has one state
	mask          int32  // see SimultaneousTotals.Slot
	rest, slot    int32  // the number of what rests, and where it stands
}

// set makes the rows those of a simultaneous program.
func (r *laneRows) set(z *SimultaneousTotals) {
	q, k := z.Quotient, z.Quotient.Kernel
	*r = laneRows{directions: &z.Directions[0], dim: len(z.Directions), values: &z.Values[0], all: &z.Returns[0],
		policy: &z.Policy[0], first: &q.First[0], choice: &q.Choice[0], to: &q.To[0], offset: &k.Offset[0],
		prob: &k.Prob[0], returns: &k.Returns[0], rounding: z.rounding, mask: z.mask, rest: q.Rest, slot: z.rest}
	if z.head != nil {
		r.head = &z.head[0]
	}
	if k.Distribution != nil {
		r.distribution = &k.Distribution[0]
	}
	if k.Vector != nil {
		r.vector = &k.Vector[0]
	}
}
