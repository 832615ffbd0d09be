package geometry_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"cmdpsolve/geometry"
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// A defined set comes with its definition: excess is above 0 for points outside, and a convex function.
type defined struct {
	set     geometry.Set
	excess  func(x []float64) float64
	iterate bool      // its projection iterates over one that closed forms answer: over it nothing should
	room    float64   // that its interior point has at least
	able    int       // as abilities says, at least
	anchor  []float64 // of what ties the extreme point next to this is given, if any
}

// abilities is 0 for a set that only projects, 1 for a Compact and 2 for one that resolves ties.
func abilities(s geometry.Set) int {
	if _, ok := s.(oracle.FaceProjector); ok {
		return 2
	}
	if _, ok := s.(geometry.Compact); ok {
		return 1
	}
	return 0
}

// A drawer draws sets whose lengths are multiples of its unit.
type drawer struct {
	*rand.Rand
	unit  float64
	spoil []func()
}

func newDrawer(rng *rand.Rand) *drawer { return &drawer{Rand: rng, unit: 1} }

func (rng *drawer) lengths(d, spread int) []float64 {
	x := ints(rng.Rand, d, spread)
	floats.Scale(rng.unit, x)
	return x
}

// lend returns a copy that is cleared when all is drawn: constructors keep nothing of what they are given.
func lend[T any](rng *drawer, x ...T) []T {
	y := slices.Clone(x)
	rng.spoil = append(rng.spoil, func() { clear(y) })
	return y
}

func lendRows(rng *drawer, a [][]float64) [][]float64 {
	b := lend(rng, a...)
	for i, row := range b {
		b[i] = lend(rng, row...)
	}
	return b
}

// drawDefined draws a set with its definition, nested up to the given depth.
func drawDefined(rng *drawer, d, depth int) (defined, error) {
	kind := rng.IntN(12)
	if kind == 10 && rng.IntN(2) == 0 {
		kind = 2 // balls rather than points
	}
	if depth > 0 && rng.IntN(2) == 0 {
		kind = 12 + rng.IntN(13)
	}
	switch kind {
	case 1:
		kind = 4
	case 8, 9:
		if d > 3 { // too many corners
			kind = 3
		}
	case 23, 24:
		kind = 15
	}
	c, r := rng.lengths(d, 2), rng.unit*float64(rng.IntN(4))*(1+0.005*float64(rng.IntN(3)-1)) // just not touching too
	if rng.IntN(4) == 0 {
		floats.Scale(0.3, c)
	}
	apart := func(x []float64) []float64 { return floats.SubTo(make([]float64, d), x, c) }
	made := func(s geometry.Set, err error, excess func(x []float64) float64) (defined, error) {
		return defined{set: s, excess: excess}, err
	}
	switch kind {
	case 0:
		upper, room := make([]float64, d), math.Inf(1)
		for i, l := range c {
			upper[i] = l + rng.unit*float64(rng.IntN(4))
			room = min(room, (upper[i]-l)/2)
			switch rng.IntN(8) {
			case 0, 1:
				upper[i] = math.Inf(1)
			case 2:
				c[i] = math.Inf(-1)
			}
		}
		box, err := geometry.NewBox(lend(rng, c...), lend(rng, upper...))
		clear(box.Lower()) // a copy
		clear(box.Upper())
		return defined{set: box, room: min(room, 1), excess: func(x []float64) float64 {
			most := math.Inf(-1)
			for i, v := range x {
				most = max(most, c[i]-v, v-upper[i])
			}
			return most
		}}, err
	case 2:
		s, err := geometry.NewBall(lend(rng, c...), r)
		excess := func(x []float64) float64 { return floats.Norm(apart(x), 2) - r }
		return defined{set: s, excess: excess, room: r}, err
	case 3:
		s, err := geometry.NewL1Ball(lend(rng, c...), r)
		excess := func(x []float64) float64 { return floats.Norm(apart(x), 1) - r }
		if rng.IntN(4) == 0 {
			known, err := geometry.FromMaximizer(maximizerOnly{s})
			return made(known, err, excess)
		}
		return defined{set: s, excess: excess, room: r / math.Sqrt(float64(d))}, err
	case 4:
		if rng.IntN(2) == 0 {
			c = alone(rng.Rand, c)
		}
		floats.Scale(1/rng.unit, c)
		over := func(x []float64) float64 { return floats.Dot(c, x) - r + rng.unit }
		if rng.IntN(2) == 0 {
			s, err := geometry.NewAffine(lendRows(rng, [][]float64{c}), lend(rng, r-rng.unit))
			return made(s, err, func(x []float64) float64 { return math.Abs(over(x)) })
		}
		s, err := geometry.NewHalfspace(lend(rng, c...), r-rng.unit)
		if err == nil {
			clear(s.Normal()) // a copy
		}
		return defined{set: s, excess: over, room: 1}, err
	case 5:
		s, err := geometry.NewSimplex(d, r)
		return made(s, err, func(x []float64) float64 { return max(math.Abs(floats.Sum(x)-r), -floats.Min(x)) })
	case 6:
		s, err := geometry.NewSecondOrderCone(d)
		excess := func(x []float64) float64 { return floats.Norm(x[:d-1], 2) - x[d-1] }
		return defined{set: s, excess: excess, room: 1}, err
	case 7:
		var a [][]float64
		b := rng.lengths(1+rng.IntN(2*d+2), 3)
		for range b {
			a = append(a, ints(rng.Rand, d, 2))
			if rng.IntN(3) == 0 {
				a[len(a)-1] = alone(rng.Rand, a[len(a)-1])
			}
		}
		s, err := geometry.NewPolyhedron(lendRows(rng, a), lend(rng, b...))
		return made(s, err, func(x []float64) float64 {
			most := math.Inf(-1)
			for i, row := range a {
				most = max(most, floats.Dot(row, x)-b[i])
			}
			return most
		})
	}
	if kind == 10 {
		s, err := geometry.NewPoint(lend(rng, c...))
		return made(s, err, func(x []float64) float64 { return floats.Norm(apart(x), 2) })
	}
	if kind == 11 {
		root, shape := turned(rng.Rand, d), make([][]float64, d)
		for i := range shape {
			shape[i] = make([]float64, d)
			for j := range shape[i] {
				for k := range root {
					root := root[k] // its length is the inverse of a half-axis
					shape[i][j] += root[i] * root[j] / float64((k+1)*(k+1)) / (rng.unit * rng.unit)
				}
			}
		}
		if d > 1 && rng.IntN(16) == 0 {
			shape[0][1] *= 1 + 1e-9 // not symmetric in any unit
		}
		s, err := geometry.NewEllipsoid(lend(rng, c...), lendRows(rng, shape))
		return defined{set: s, room: rng.unit, excess: func(x []float64) float64 {
			sum := 0.0
			for k, axis := range root {
				sum = math.Hypot(sum, floats.Dot(axis, apart(x))/float64(k+1))
			}
			return sum - rng.unit
		}}, err
	}
	if kind == 8 || kind == 9 { // a box, which is answered by maximising
		one, _ := geometry.NewHull(lendRows(rng, corners(c, rng.unit)))
		two, _ := geometry.NewHull(lendRows(rng, corners(make([]float64, d), r)))
		s, err := geometry.NewMinkowskiSum(lend[geometry.Compact](rng, one, two)...)
		if kind == 9 {
			s, err = geometry.NewHull(lendRows(rng, append(corners(c, r+rng.unit), corners(c, rng.unit)...)))
		}
		return defined{set: s, room: rng.unit / float64(20*d), excess: func(x []float64) float64 {
			y := apart(x)
			return max(-floats.Min(y), floats.Max(y)-r-rng.unit)
		}}, err
	}
	in, err := drawDefined(rng, d, depth-1)
	if err != nil || in.iterate {
		return in, err
	}
	if _, parts := in.set.(interface{ Members() []oracle.Member }); !parts && rng.IntN(8) == 0 {
		in.set, in.room = bare(in.set), 0
	}
	if kind >= 19 {
		return drawAround(rng, in, c, kind)
	}
	switch kind {
	case 12:
		s, err := geometry.NewTranslate(in.set, lend(rng, c...))
		excess := func(x []float64) float64 { return in.excess(apart(x)) }
		return defined{set: s, excess: excess, room: in.room, able: abilities(in.set)}, err
	case 13:
		factor := r/rng.unit + 0.5
		s, err := geometry.NewScale(in.set, factor)
		return defined{set: s, room: factor * in.room, able: abilities(in.set), excess: func(x []float64) float64 {
			return factor * in.excess(floats.ScaleTo(make([]float64, d), 1/factor, x))
		}}, err
	case 14:
		matrix := make([][]float64, d)
		for i := range matrix {
			matrix[i] = ints(rng.Rand, d, 2)
			if rng.IntN(5) == 0 {
				clear(matrix[i])
			}
		}
		s, err := geometry.NewPreimage(lendRows(rng, matrix), lend(rng, c...), in.set)
		return made(s, err, func(x []float64) float64 {
			y := make([]float64, d)
			for i, row := range matrix {
				y[i] = c[i] + floats.Dot(row, x)
			}
			return in.excess(y)
		})
	case 15:
		other, err := drawDefined(rng, 1, depth-1)
		if err != nil {
			return defined{}, err
		}
		if d == 1 {
			return other, nil
		}
		if in, err = drawDefined(rng, d-1, depth-1); err != nil {
			return defined{}, err
		}
		s, err := geometry.NewProduct(lend(rng, other.set, in.set)...)
		excess := func(x []float64) float64 { return max(other.excess(x[:1]), in.excess(x[1:])) }
		return defined{set: s, excess: excess, iterate: other.iterate || in.iterate, room: min(other.room, in.room),
			able: min(abilities(other.set), abilities(in.set))}, err
	}
	other, err := drawDefined(rng, d, depth-1)
	if err != nil || other.iterate {
		return other, err
	}
	s, err := geometry.NewIntersection(lend(rng, in.set, other.set)...)
	return made(s, err, func(x []float64) float64 { return max(in.excess(x), other.excess(x)) })
}

// drawAround draws what is made of a set, or of the part of it in a box where it has to be bounded.
func drawAround(rng *drawer, in defined, c []float64, kind int) (defined, error) {
	d := in.set.Dim()
	if kind == 19 {
		by := rng.unit * float64(rng.IntN(3))
		s, err := geometry.NewInflate(in.set, by)
		beyond := func(x []float64) float64 { return oracle.Distance(in.set, x) - by }
		return defined{set: s, excess: beyond, room: in.room + by, able: abilities(in.set)}, err
	}
	whole := in
	box, _ := geometry.NewLInfBall(make([]float64, d), 3*rng.unit)
	set, err := geometry.Restrict(in.set, box.Box)
	if err != nil {
		return defined{}, err
	}
	in = defined{set: set, excess: func(x []float64) float64 {
		return max(whole.excess(x), oracle.Distance(box, x))
	}}
	if _, closed := set.(oracle.FaceProjector); !closed { // iterating over what iterates takes long
		return in, nil
	}
	swept := func(x []float64) float64 { // of the set on its way along c
		at := func(share float64) float64 {
			return in.excess(floats.AddScaledTo(make([]float64, d), x, -share, c))
		}
		from, to := 0.0, 1.0
		for range 40 {
			if l, r := from+(to-from)/3, to-(to-from)/3; at(l) < at(r) {
				to = r
			} else {
				from = l
			}
		}
		return min(at(from), at(0), at(1))
	}
	switch kind {
	case 20:
		matrix := turned(rng.Rand, d)
		for i := range matrix {
			floats.Scale(float64(i+1), matrix[i])
		}
		s, err := geometry.NewImage(lendRows(rng, matrix), lend(rng, c...), set)
		able := 1
		switch set.(type) {
		case *geometry.Hull, *geometry.Ball, *geometry.Ellipsoid: // their images are of their kind unless they are flat
			if set.(geometry.Interior).InteriorPoint(make([]float64, d)) > 0 {
				able = 2
			}
		}
		return defined{set: s, iterate: true, able: able, excess: func(x []float64) float64 {
			y := make([]float64, d)
			for i, row := range matrix {
				floats.AddScaled(y, (x[i]-c[i])/float64((i+1)*(i+1)), row)
			}
			return in.excess(y)
		}}, err
	case 21:
		if rng.IntN(2) == 0 { // balls and points add up
			r := rng.unit * float64(rng.IntN(3))
			ball, _ := geometry.NewBall(c, r)
			point, _ := geometry.NewPoint(c)
			terms := []geometry.Compact{point, set, ball, ball}
			rng.Shuffle(len(terms), func(i, j int) { terms[i], terms[j] = terms[j], terms[i] })
			s, err := geometry.NewMinkowskiSum(terms...)
			return defined{set: s, iterate: true, able: abilities(set), excess: func(x []float64) float64 {
				return oracle.Distance(set, floats.AddScaledTo(make([]float64, d), x, -3, c)) - 2*r
			}}, err
		}
		way, _ := geometry.NewHull([][]float64{make([]float64, d), c})
		s, err := geometry.NewMinkowskiSum(lend[geometry.Compact](rng, set, way)...)
		return defined{set: s, excess: swept, iterate: true}, err
	}
	moved, err := geometry.NewTranslate(set, lend(rng, c...))
	if err != nil {
		return defined{}, err
	}
	s, err := geometry.NewConvexHull(lend(rng, set, moved.(geometry.Compact))...)
	return defined{set: s, excess: swept, iterate: true}, err
}

// drawCommon draws what several sets have in common, in groups that are met, and some of them cut, one after the other.
func drawCommon(rng *drawer, d, n int) (defined, error) {
	if n == 1 {
		return drawDefined(rng, d, 0)
	}
	first := 1 + rng.IntN(n-1)
	a, err := drawCommon(rng, d, first)
	b, err2 := drawCommon(rng, d, n-first)
	if err := errors.Join(err, err2); err != nil {
		return defined{}, err
	}
	s, err := geometry.NewIntersection(lend(rng, a.set, b.set)...)
	both := func(x []float64) float64 { return max(a.excess(x), b.excess(x)) }
	if err != nil || rng.IntN(2) == 0 {
		return defined{set: s, excess: both}, err
	}
	box, _ := geometry.NewBox(rng.lengths(d, 1), slices.Repeat([]float64{1.5 * rng.unit}, d))
	cut, err := geometry.Restrict(s, box)
	return defined{set: cut, excess: func(x []float64) float64 { return max(both(x), oracle.Distance(box, x)) }}, err
}

// alone returns a row of one of the entries.
func alone(rng *rand.Rand, row []float64) []float64 {
	single, i := make([]float64, len(row)), rng.IntN(len(row))
	single[i] = row[i]
	return single
}

// bare returns a set without all that a user's own set need not have.
func bare(s geometry.Set) geometry.Set {
	if c, ok := s.(geometry.Compact); ok {
		return struct{ geometry.Compact }{c}
	}
	return struct{ geometry.Set }{s}
}

// turned returns the rows of an orthogonal matrix.
func turned(rng *rand.Rand, d int) [][]float64 {
	rows := make([][]float64, d)
	for i := range rows {
		rows[i] = normals(rng, d)
		for range 2 {
			for _, before := range rows[:i] {
				floats.AddScaled(rows[i], -floats.Dot(rows[i], before), before)
			}
			floats.Scale(1/floats.Norm(rows[i], 2), rows[i])
		}
	}
	return rows
}

// corners returns the corners of the box c + [0, side].
func corners(c []float64, side float64) [][]float64 {
	var out [][]float64
	for k := range 1 << len(c) {
		x := slices.Clone(c)
		for i := range x {
			x[i] += side * float64(k>>i&1)
		}
		out = append(out, x)
	}
	return out
}

// drawAny draws a nested set, or what several have in common.
func drawAny(rng *drawer, d, trial int) (s defined, err error) {
	switch {
	case trial%2 == 0:
		s, err = drawCommon(rng, d, 2+rng.IntN(3))
	case d > 3:
		s, err = drawDefined(rng, d, 0)
	default:
		s, err = drawDefined(rng, d, rng.IntN(3))
	}
	for _, clear := range rng.spoil {
		clear()
	}
	return s, err
}
