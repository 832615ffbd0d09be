package geometry_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/geometry"
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// maximizerOnly forgets all methods of a set but its linear maximiser.
type maximizerOnly struct{ oracle.LinearMaximizer }

func byMaximizing(tb testing.TB, s geometry.Compact, err error) geometry.Compact {
	tb.Helper()
	if err == nil {
		s, err = geometry.FromMaximizer(maximizerOnly{s})
	}
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// TestCutInOtherUnits: what rows leave of a hull is the same set in any units.
func TestCutInOtherUnits(t *testing.T) {
	restricted := func(unit float64) geometry.Compact {
		scaled := func(x ...float64) []float64 { floats.Scale(unit, x); return x }
		small, err := geometry.NewBall(scaled(-2, 0, -1, -2), 0)
		large, err2 := geometry.NewBall(scaled(1, 2, 2, 1), unit)
		hull, err3 := geometry.NewConvexHull(small, large)
		plane, err4 := geometry.NewAffine([][]float64{{-1, 1, 0, 0}}, []float64{unit})
		both, err5 := geometry.NewIntersection(plane, hull)
		box, err6 := geometry.NewBox(scaled(-8, -4, -1, -8), scaled(5, 6, 5, 4))
		s, err7 := geometry.Restrict(both, box)
		if err := errors.Join(err, err2, err3, err4, err5, err6, err7); err != nil {
			t.Fatal(err)
		}
		return s
	}
	plain, want := restricted(1), make([]float64, 4)
	for _, unit := range []float64{1e-6, 1e3, 1e6, 1e9} {
		in, got, rng := restricted(unit), make([]float64, 4), rand.New(rand.NewPCG(1, 1))
		for range 10 {
			x := []float64{rng.NormFloat64() * 4, rng.NormFloat64() * 4, rng.NormFloat64() * 4, rng.NormFloat64() * 4}
			plain.Project(want, x)
			floats.Scale(unit, x)
			in.Project(got, x)
			floats.Scale(1/unit, got)
			if d := floats.Distance(got, want, 2); d > 1e-4 {
				t.Errorf("enlarged by %g: nearest to %.3g is %.3g, not %.3g", unit, x, got, want)
			}
		}
	}
}

// TestCutTouches: a box that only touches the flat side of a round set leaves that side.
func TestCutTouches(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 13))
	for trial := range 60 {
		d, by := 2+rng.IntN(2), 1+rng.Float64()
		lower, sides := ints(rng, d, 2), float64(1+rng.IntN(3))
		inner, err := geometry.NewHull(corners(lower, sides))
		if err != nil {
			t.Fatal(err)
		}
		around, err := geometry.NewInflate(inner, by)
		round := byMaximizing(t, around.(geometry.Compact), err)
		low, high := slices.Repeat([]float64{-9}, d), slices.Repeat([]float64{9}, d)
		low[0] = lower[0] + sides + by
		box, _ := geometry.NewBox(low, high)
		cut, err := geometry.Restrict(round, box)
		if err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		got, dir := make([]float64, d), normals(rng, d)
		cut.MaximizeLinear(got, dir)
		want := dir[0] * low[0]
		for i, v := range dir[1:] {
			want += max(v*lower[i+1], v*(lower[i+1]+sides))
		}
		if value := floats.Dot(dir, got); math.Abs(value-want) > 1e-4 {
			t.Errorf("trial %d: the side of %v + [0, %g]^%d + %g reaches to %g at %v in direction %v, want %g", trial, lower,
				sides, d, by, value, got, dir, want)
		}
	}
}

// skewEllipsoid returns an ellipsoid around (1, …, 1) that sticks out of [0, 2]^d.
func skewEllipsoid(tb testing.TB, d int) (*geometry.Ellipsoid, *geometry.Box) {
	tb.Helper()
	rng := rand.New(rand.NewPCG(uint64(d), 1))
	center, lower, upper := make([]float64, d), make([]float64, d), make([]float64, d)
	shape := make([][]float64, d)
	for i := range d {
		center[i], upper[i], shape[i] = 1, 2, make([]float64, d)
		shape[i][i] = 0.2
	}
	for range d {
		v := normals(rng, d)
		for i := range d {
			for j := range d {
				shape[i][j] += 0.3 * v[i] * v[j]
			}
		}
	}
	e, err := geometry.NewEllipsoid(center, shape)
	if err != nil {
		tb.Fatal(err)
	}
	box, err := geometry.NewBox(lower, upper)
	if err != nil {
		tb.Fatal(err)
	}
	return e, box
}

// TestCutEllipsoid: what is known of an ellipsoid by its maximiser alone, cut by a box and
// by a row, is what the ellipsoid itself cut by them is.
func TestCutEllipsoid(t *testing.T) {
	for _, d := range []int{2, 3, 5} {
		e, box := skewEllipsoid(t, d)
		normal := make([]float64, d)
		normal[0], normal[d-1] = 1, 2
		half, err := geometry.NewHalfspace(normal, 2.5)
		if err != nil {
			t.Fatal(err)
		}
		for name, parts := range map[string][]geometry.Set{"box": {box}, "box and row": {box, half}} {
			mine, err := geometry.NewIntersection(append(parts, byMaximizing(t, e, nil))...)
			if err != nil {
				t.Fatal(err)
			}
			want, err := geometry.NewIntersection(append(parts, e)...)
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(3, 3))
			x := make([]float64, d)
			for range 20 {
				dir := normals(rng, d)
				mine.(geometry.Compact).MaximizeLinear(x, dir)
				if got, most := inner(dir, x), oracle.Support(want.(geometry.Compact), dir); math.Abs(got-most) > 1e-8 {
					t.Errorf("%s, dimension %d: %g in the direction %v, want %g", name, d, got, dir, most)
				}
				for _, s := range append(parts, e) {
					if miss := oracle.Distance(s, x); miss > 1e-9 {
						t.Errorf("%s, dimension %d: the maximiser %v misses a %T by %g", name, d, x, s, miss)
					}
				}
				for i, v := range dir {
					x[i] = 1 + 3*v
				}
				if got, far := oracle.Distance(mine, x), oracle.Distance(want, x); math.Abs(got-far) > 1e-8*(1+far) {
					t.Errorf("%s, dimension %d: %v at a distance of %.12g, want %.12g", name, d, x, got, far)
				}
			}
		}
	}
}

// TestCutHull by hand: of the square with the corners (±1, 0), (0, ±1) the sides x ≤ 0.5 and
// y ≥ −0.25 leave a figure of six corners.
func TestCutHull(t *testing.T) {
	hull, err := geometry.NewHull([][]float64{{1, 0}, {-1, 0}, {0, 1}, {0, -1}})
	if err != nil {
		t.Fatal(err)
	}
	wide, err := geometry.NewBox([]float64{-5, -0.25}, []float64{5, 5})
	if err != nil {
		t.Fatal(err)
	}
	narrow, err := geometry.NewBox([]float64{-5, -5}, []float64{0.5, 5})
	if err != nil {
		t.Fatal(err)
	}
	for name, square := range map[string]geometry.Compact{"hull": hull, "maximiser": byMaximizing(t, hull, nil)} {
		once, err := geometry.Restrict(square, wide)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := geometry.Restrict(once, narrow)
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float64, 2)
		for _, c := range []struct{ dir, want []float64 }{
			{[]float64{3, 1}, []float64{0.5, 0.5}},
			{[]float64{1, -3}, []float64{0.5, -0.25}},
			{[]float64{-1, -3}, []float64{-0.75, -0.25}},
			{[]float64{-2, 1}, []float64{-1, 0}},
			{[]float64{-1, 2}, []float64{0, 1}},
		} {
			twice.MaximizeLinear(x, c.dir)
			if math.Hypot(x[0]-c.want[0], x[1]-c.want[1]) > 1e-12 {
				t.Errorf("%s: %v in the direction %v, want %v", name, x, c.dir, c.want)
			}
		}
		twice.Project(x, []float64{2, 3}) // on the corner where x = 0.5 ends the side x + y = 1
		if math.Hypot(x[0], x[1]-1) > 1e-12 {
			t.Errorf("%s: (2, 3) is projected on %v, want (0, 1)", name, x)
		}
		twice.Project(x, []float64{-0.5, -3})
		if math.Hypot(x[0]+0.5, x[1]+0.25) > 1e-12 {
			t.Errorf("%s: (-0.5, -3) is projected on %v, want (-0.5, -0.25)", name, x)
		}
	}
}

// TestProjectionOfNothing: the projection of what is no number onto a ball that a box cuts has an end.
func TestProjectionOfNothing(t *testing.T) {
	ball, err := geometry.NewBall([]float64{1, 1}, 2)
	if err != nil {
		t.Fatal(err)
	}
	box, err := geometry.NewBox([]float64{0, 0}, []float64{4, 3})
	if err != nil {
		t.Fatal(err)
	}
	cut, err := geometry.Restrict(ball, box)
	if err != nil {
		t.Fatal(err)
	}
	nearest := make([]float64, 2)
	cut.Project(nearest, []float64{math.NaN(), math.NaN()})
	if !math.IsNaN(nearest[0]) {
		t.Errorf("%v is nearest", nearest)
	}
}

// TestCutToNothing: the error tells a direction in which the set ends before the box begins.
func TestCutToNothing(t *testing.T) {
	ball, err := geometry.NewBall([]float64{0, 0}, 1)
	set := byMaximizing(t, ball, err)
	corner, err := geometry.NewBox([]float64{0.75, 0.75}, []float64{2, 2})
	if err != nil {
		t.Fatal(err)
	}
	_, err = geometry.Restrict(set, corner)
	if !errors.Is(err, geometry.ErrEmpty) || !strings.Contains(err.Error(), "beyond") {
		t.Errorf("error %v: want one that wraps ErrEmpty and tells a direction", err)
	}
	touch, err := geometry.NewBox([]float64{0.6, 0.8 + 1e-11}, []float64{2, 2}) // apart by rounding
	if err != nil {
		t.Fatal(err)
	}
	s, err := geometry.Restrict(set, touch)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float64, 2)
	if s.MaximizeLinear(x, []float64{-1, 4}); math.Hypot(x[0]-0.6, x[1]-0.8) > 1e-4 {
		t.Errorf("the common point is %v, want (0.6, 0.8)", x)
	}
}

// BenchmarkCut asks an ellipsoid in a box that it sticks out of, once with all that the
// package knows of ellipsoids and once with the linear maximiser alone.
func BenchmarkCut(b *testing.B) {
	for _, d := range []int{2, 3, 5} {
		e, box := skewEllipsoid(b, d)
		for name, s := range map[string]geometry.Compact{"ellipsoid": e, "maximizer": byMaximizing(b, e, nil)} {
			s, err := geometry.Restrict(s, box)
			if err != nil {
				b.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(1, 2))
			dirs := make([][]float64, 64)
			for i := range dirs {
				dirs[i] = normals(rng, d)
			}
			x := make([]float64, d)
			suffix := string(rune('0' + d))
			b.Run(name+suffix+"/maximize", func(b *testing.B) {
				for i := range b.N {
					s.MaximizeLinear(x, dirs[i%64])
				}
			})
			b.Run(name+suffix+"/project", func(b *testing.B) {
				for i := range b.N {
					s.Project(x, dirs[i%64])
				}
			})
		}
	}
}

// TestHalfspacesInFarBoxes: where sides of a box are as far away as totals without a bound are, its part of a
// half-space is empty only where the nearest corner is outside, and reaches in the direction of the normal to the
// half-space or to its own farthest corner.
func TestHalfspacesInFarBoxes(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 61))
	empty, far := 0, 0
	for trial := range 500 {
		lower, upper, normal := make([]float64, 3), make([]float64, 3), make([]float64, 3)
		least, most := 0.0, 0.0
		for i := range normal {
			lower[i] = float64(rng.IntN(5) - 2)
			upper[i] = lower[i] + float64(rng.IntN(3))
			switch rng.IntN(4) {
			case 0:
				lower[i] = -1e99
			case 1:
				upper[i] = 1e99
			}
			normal[i] = []float64{-1, 0, 0.5, 1}[rng.IntN(4)]
			least += min(normal[i]*lower[i], normal[i]*upper[i])
			most += max(normal[i]*lower[i], normal[i]*upper[i])
		}
		if floats.Norm(normal, 1) == 0 {
			continue
		}
		offset := float64(rng.IntN(7) - 3)
		half := set[*geometry.Halfspace](t)(geometry.NewHalfspace(normal, offset))
		box := set[*geometry.Box](t)(geometry.NewBox(lower, upper))
		part, err := geometry.Restrict(half, box)
		if least > offset != errors.Is(err, geometry.ErrEmpty) {
			t.Errorf("trial %d: %v·x ≤ %g from %v to %v: error %v", trial, normal, offset, lower, upper, err)
		}
		if err != nil {
			empty++
			continue
		}
		at := make([]float64, 3)
		part.MaximizeLinear(at, normal)
		want := min(offset, most)
		if got := floats.Dot(normal, at); math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
			t.Errorf("trial %d: %v·x ≤ %g from %v to %v reaches to %g at %v: want %g", trial, normal, offset, lower, upper,
				got, at, want)
		}
		if least < -1e90 && most > 1e90 {
			far++
		}
	}
	if empty < 30 || far < 50 {
		t.Errorf("%d empty and %d far: want more", empty, far)
	}
}

// TestPolyhedraInFarBoxes: a coordinate that no row is about has the sides of the box, however far away one of them is.
func TestPolyhedraInFarBoxes(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 99))
	for trial := range 200 {
		var a [][]float64
		var b []float64
		inside := []float64{5 * rng.Float64(), -5 * rng.Float64(), 5 * rng.Float64(), 1}
		for range 1 + rng.IntN(7) {
			normal := []float64{rng.Float64() - 0.5, rng.Float64() - 0.5, rng.Float64() - 0.5, 0}
			a, b = append(a, normal), append(b, floats.Dot(normal, inside)+rng.Float64())
		}
		polyhedron := set[*geometry.Polyhedron](t)(geometry.NewPolyhedron(a, b))
		lower, upper := make([]float64, 4), make([]float64, 4)
		for i, x := range inside {
			lower[i], upper[i] = x-rng.Float64(), x+rng.Float64()
		}
		upper[3] = 1e99
		box := set[*geometry.Box](t)(geometry.NewBox(lower, upper))
		part, err := geometry.Restrict(polyhedron, box)
		if err != nil {
			t.Fatalf("trial %d: %v ≤ %v from %v: %v", trial, a, b, lower, err)
		}
		low, high := make([]float64, 4), make([]float64, 4)
		part.(geometry.Bounder).Bounds(low, high)
		if low[3] != lower[3] || high[3] != 1e99 {
			t.Errorf("trial %d: the last coordinate goes from %v to %v, want %v to 1e99", trial, low[3], high[3], lower[3])
		}
	}
}

// counted is a ball that counts its projections and says no more.
type counted struct {
	ball  *geometry.Ball
	asked int
}

func (c *counted) Dim() int { return c.ball.Dim() }

func (c *counted) Project(dst, x []float64) {
	c.asked++
	c.ball.Project(dst, x)
}

// TestMovedIntersections: what is common to a cone and a ball, turned, moved and enlarged twice, is projected on with
// another ball as all are before: no iteration runs within another.
func TestMovedIntersections(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 14))
	for trial := range 20 {
		d := 2 + rng.IntN(2)
		matrix, shift, factor := turned(rng, d), normals(rng, d), 0.5+rng.Float64()
		floats.Scale(0.2, shift)
		before := func(x []float64) []float64 {
			for range 2 {
				moved := slices.Clone(shift)
				for i, row := range matrix {
					moved[i] += floats.Dot(row, x)/factor - floats.Dot(row, shift)
				}
				x = moved
			}
			return x
		}
		ball, err := geometry.NewBall(make([]float64, d), 2)
		cone, err2 := geometry.NewSecondOrderCone(d)
		other, err3 := geometry.NewBall(make([]float64, d), 1.5)
		otherBefore, err4 := geometry.NewBall(before(make([]float64, d)), 1.5/factor/factor)
		part := &counted{ball: ball}
		s, err5 := geometry.NewIntersection(part, cone)
		plain, err6 := geometry.NewIntersection(ball, cone, otherBefore)
		for range 2 {
			var wrong [3]error
			s, wrong[0] = geometry.NewPreimage(matrix, shift, s)
			s, wrong[1] = geometry.NewTranslate(s, shift)
			s, wrong[2] = geometry.NewScale(s, factor)
			err = errors.Join(err, wrong[0], wrong[1], wrong[2])
		}
		s, err7 := geometry.NewIntersection(s, &counted{ball: other})
		if err := errors.Join(err, err2, err3, err4, err5, err6, err7); err != nil {
			t.Fatal(err)
		}
		part.asked = 0
		for range 10 {
			x, y, want := normals(rng, d), make([]float64, d), make([]float64, d)
			floats.Scale(3, x)
			s.Project(y, x)
			plain.Project(want, before(x))
			if part.asked > 10_000 {
				t.Fatalf("trial %d: the ball is asked for %d projections for at most 10", trial, part.asked)
			}
			if got := before(y); floats.Distance(got, want, 2) > 1e-6 {
				t.Errorf("trial %d: %v goes to %v, which was %v before: want %v", trial, x, y, got, want)
			}
		}
	}
}

// TestExtremesBesideFaces: in a direction next to the normal of a face, the extreme point of what a ball cuts is as far
// as the projection from afar.
func TestExtremesBesideFaces(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 15))
	for trial := range 60 {
		d := 2 + rng.IntN(3)
		dir := normals(rng, d)
		ball, err := geometry.NewBall(make([]float64, d), 2)
		walls, err2 := geometry.NewPolyhedron([][]float64{dir, normals(rng, d)}, []float64{0.5, 1})
		box, err3 := geometry.NewLInfBall(make([]float64, d), 1.5)
		both, err4 := geometry.NewIntersection(ball, walls)
		if err := errors.Join(err, err2, err3, err4); err != nil {
			t.Fatal(err)
		}
		s := set[geometry.Compact](t)(geometry.Restrict(both, box.Box))
		best, far := make([]float64, d), make([]float64, d)
		floats.AddScaled(dir, math.Pow(10, -2-6*rng.Float64()), normals(rng, d))
		s.MaximizeLinear(best, dir)
		floats.AddScaled(far, 1e11, dir)
		s.Project(far, far)
		if short := floats.Dot(dir, far) - floats.Dot(dir, best); math.Abs(short) > 1e-9*floats.Norm(dir, 2) {
			t.Errorf("trial %d: %v is extreme in direction %v, but the projection from afar is %v, farther by %g", trial, best,
				dir, far, short)
		}
	}
}

// TestSidesInRows: of several rows of one coordinate, in any order, the tightest are the sides of what is left in a
// box.
func TestSidesInRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 16))
	for trial := range 40 {
		d := 1 + rng.IntN(3)
		lower, upper := slices.Repeat([]float64{-2}, d), slices.Repeat([]float64{2}, d)
		box, err := geometry.NewBox(lower, upper)
		var a [][]float64
		var b []float64
		for range 5 * d {
			i, factor, bound := rng.IntN(d), 1+rng.Float64(), 3*rng.Float64()
			row := make([]float64, d)
			if row[i] = factor; rng.IntN(2) == 0 {
				row[i], lower[i] = -factor, max(lower[i], -bound)
			} else {
				upper[i] = min(upper[i], bound)
			}
			a, b = append(a, row), append(b, factor*bound)
		}
		rows, err2 := geometry.NewPolyhedron(a, b)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		x, y := make([]float64, d), make([]float64, d)
		oracle.Extremes(set[geometry.Compact](t)(geometry.Restrict(rows, box)), x, y)
		if off := floats.Distance(x, lower, 2) + floats.Distance(y, upper, 2); off > 1e-12 {
			t.Errorf("trial %d: %v at most %v goes from %v to %v, want %v to %v", trial, a, b, x, y, lower, upper)
		}
	}
}
