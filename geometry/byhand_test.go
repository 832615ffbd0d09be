package geometry_test

import (
	"math"
	"slices"
	"testing"

	"cmdpsolve/geometry"
	"cmdpsolve/oracle"
)

func near(x, y []float64) bool {
	for i, v := range x {
		if !(math.Abs(v-y[i]) <= 1e-9) {
			return false
		}
	}
	return true
}

// TestMinkowskiSumByHand adds B((1, 2), 1) and B((−3, 5), 2), which is B((−2, 7), 3), and
// a segment, a point and two balls, which is the moved segment inflated by both radii.
func TestMinkowskiSumByHand(t *testing.T) {
	first := set[*geometry.Ball](t)(geometry.NewBall([]float64{1, 2}, 1))
	second := set[*geometry.Ball](t)(geometry.NewBall([]float64{-3, 5}, 2))
	segment := set[*geometry.Hull](t)(geometry.NewHull([][]float64{{0, 0}, {4, 0}}))
	shift := set[*geometry.Point](t)(geometry.NewPoint([]float64{2, -4}))
	for name, c := range map[string]struct {
		terms         []geometry.Compact
		dir           []float64
		support       float64
		x, projection []float64
	}{
		// ⟨(3, 4), (−2, 7)⟩ + 3·5 = 37; the point (−2, 17) is 10 above the centre.
		"two balls": {[]geometry.Compact{first, second}, []float64{3, 4}, 37, []float64{-2, 17}, []float64{-2, 10}},
		// The segment goes from (0, 3) to (4, 3). (8, 6) is 5 from its end along (4, 3)/5.
		"segment, point and balls": {[]geometry.Compact{first, segment, shift, second}, []float64{0, 2}, 12,
			[]float64{8, 6}, []float64{4 + 3*0.8, 3 + 3*0.6}},
		// From (1, −1) to (5, −1).
		"segment and point": {[]geometry.Compact{segment, set[*geometry.Point](t)(geometry.NewPoint([]float64{1, -1}))},
			[]float64{0, 2}, -2, []float64{8, 3}, []float64{5, -1}},
	} {
		sum := set[geometry.Compact](t)(geometry.NewMinkowskiSum(c.terms...))
		if h := oracle.Support(sum, c.dir); math.Abs(h-c.support) > 1e-9 {
			t.Errorf("%s: support %g in direction %v, want %g", name, h, c.dir, c.support)
		}
		p := make([]float64, 2)
		if sum.Project(p, c.x); !near(p, c.projection) {
			t.Errorf("%s: %v goes to %v, want %v", name, c.x, p, c.projection)
		}
	}
}

// TestConvexHullByHand: a hull reaches as far as the farthest of its sets, whichever that is.
func TestConvexHullByHand(t *testing.T) {
	var balls []geometry.Compact
	for _, c := range [][]float64{{1, 0}, {5, 0}, {3, 4}, {0, 1}} {
		balls = append(balls, set[*geometry.Ball](t)(geometry.NewBall(c, 1)))
	}
	for first := range balls {
		turned := append(append([]geometry.Compact(nil), balls[first:]...), balls[:first]...)
		hull := set[geometry.Compact](t)(geometry.NewConvexHull(turned...))
		for _, c := range []struct {
			dir     []float64
			support float64
		}{{[]float64{1, 0}, 6}, {[]float64{0, 2}, 10}, {[]float64{-1, 0}, 1}, {[]float64{3, 4}, 30}} {
			if h := oracle.Support(hull, c.dir); !(math.Abs(h-c.support) <= 1e-9) {
				t.Errorf("from ball %d on: support %g in direction %v, want %g", first, h, c.dir, c.support)
			}
		}
	}
}

// TestBoundsByHand: equations of one coordinate bound it on both sides, whatever their sign is.
func TestBoundsByHand(t *testing.T) {
	inf := math.Inf(1)
	for name, c := range map[string]struct {
		set          geometry.Bounder
		lower, upper []float64
	}{
		"simplex of one coordinate": {set[*geometry.Simplex](t)(geometry.NewSimplex(1, 3)), []float64{3}, []float64{3}},
		"equations of one coordinate": {set[*geometry.Polyhedron](t)(geometry.NewAffine([][]float64{{3, 0, 0}, {0, -2, 0}},
			[]float64{6, 4})), []float64{2, -2, -inf}, []float64{2, -2, inf}},
		"rows of one coordinate": {set[*geometry.Polyhedron](t)(geometry.NewPolyhedron([][]float64{{3, 0}, {0, -2}},
			[]float64{6, 4})), []float64{-inf, -2}, []float64{2, inf}},
		"a half-space below": {set[*geometry.Halfspace](t)(geometry.NewHalfspace([]float64{0, -2}, 4)),
			[]float64{-inf, -2}, []float64{inf, inf}},
	} {
		lower, upper := make([]float64, len(c.lower)), make([]float64, len(c.lower))
		c.set.Bounds(lower, upper)
		if !slices.Equal(lower, c.lower) || !slices.Equal(upper, c.upper) {
			t.Errorf("%s: bounds %v and %v, want %v and %v", name, lower, upper, c.lower, c.upper)
		}
	}
}

// TestInteriorByHand: the radius around an interior point is a distance, whatever the
// length of the rows is.
func TestInteriorByHand(t *testing.T) {
	half := set[*geometry.Halfspace](t)(geometry.NewHalfspace([]float64{30, 40}, 50)) // at distance 1
	left := set[*geometry.Halfspace](t)(geometry.NewHalfspace([]float64{-5, 0}, 10))  // at distance 2
	ball := set[*geometry.Ball](t)(geometry.NewBall([]float64{0, 0}, 2))
	box := set[*geometry.Box](t)(geometry.NewBox([]float64{0, 0}, []float64{4, 3}))
	below := set[*geometry.Halfspace](t)(geometry.NewHalfspace([]float64{3, 4}, 12))
	above := set[*geometry.Halfspace](t)(geometry.NewHalfspace([]float64{-3, -4}, -12))
	for name, c := range map[string]struct {
		set    geometry.Set
		at     []float64
		radius float64
	}{
		// In the middle between the box's centre, which is on the boundary, and a corner: the sides are nearer.
		"box below a half-space": {set[geometry.Compact](t)(geometry.Restrict(below, box)), []float64{1, 0.75}, 0.75},
		"box above a half-space": {set[geometry.Compact](t)(geometry.Restrict(above, box)), []float64{3, 2.25}, 0.75},
		// The ball's cap is cut off by a chord with the ends (0.6, 0.8) ± √3·(0.8, −0.6), which
		// are the extreme points along +x and +y; along −x and −y they are (−2, 0) and (0, −2).
		// Their mean is (−0.2, −0.1), at (5 + 0.6 + 0.4)/5 from the chord.
		"ball and half-space": {set[geometry.Set](t)(geometry.NewIntersection(ball, half)), []float64{-0.2, -0.1}, 1.2},
		"half-spaces":         {set[geometry.Set](t)(geometry.NewIntersection(half, left)), []float64{0, 0}, 1},
		// The triangle with the sides 3, 4 and 5 has the inscribed circle of radius 1.
		"triangle": {set[*geometry.Polytope](t)(geometry.NewPolytope([][]float64{{-2, 0}, {0, -5}, {300, 400}},
			[]float64{0, 0, 1200})), []float64{1, 1}, 1},
	} {
		p := make([]float64, 2)
		r := c.set.(geometry.Interior).InteriorPoint(p)
		if !(math.Abs(r-c.radius) <= 1e-6) || math.Hypot(p[0]-c.at[0], p[1]-c.at[1]) > 1e-6 {
			t.Errorf("%s: radius %g at %v, want %g at %v", name, r, p, c.radius, c.at)
		}
	}
}

// TestFacesByHand: of tied maximisers a set gives the one nearest to the given point
// (erratum E-22), here on the long side of the triangle x, y ≥ 0, 3x + 4y ≤ 12.
func TestFacesByHand(t *testing.T) {
	box, err := geometry.NewBox([]float64{0, 0}, []float64{4, 3})
	if err != nil {
		t.Fatal(err)
	}
	half := set[*geometry.Halfspace](t)(geometry.NewHalfspace([]float64{3, 4}, 12))
	triangles := map[string]geometry.Set{
		"polytope": set[*geometry.Polytope](t)(geometry.NewPolytope([][]float64{{-2, 0}, {0, -5}, {3, 4}},
			[]float64{0, 0, 12})),
		"hull":              set[*geometry.Hull](t)(geometry.NewHull([][]float64{{0, 0}, {4, 0}, {0, 3}})),
		"half-space in box": set[geometry.Compact](t)(geometry.Restrict(half, box)),
	}
	for name, s := range triangles {
		for _, c := range []struct{ dir, x, want []float64 }{
			{[]float64{3, 4}, []float64{0, 0}, []float64{1.44, 1.92}}, // 12/25·(3, 4)
			{[]float64{6, 8}, []float64{4, 6}, []float64{1.12, 2.16}}, // (4, 6) − 24/25·(3, 4)
			{[]float64{3, 4}, []float64{9, 0}, []float64{4, 0}},       // past the end
			{[]float64{-1, 0}, []float64{2, 1}, []float64{0, 1}},      // the side x = 0
			{[]float64{-1, -1}, []float64{2, 1}, []float64{0, 0}},     // one point
			{[]float64{0, 0}, []float64{2, 1}, []float64{2, 1}},       // all of the triangle
			{[]float64{3, 4.1}, []float64{4, 0}, []float64{0, 3}},     // nearly tied is not tied
			{[]float64{3.1, 4}, []float64{0, 3}, []float64{4, 0}},
		} {
			p := make([]float64, 2)
			if s.(oracle.FaceProjector).ProjectFace(p, c.dir, c.x); !near(p, c.want) {
				t.Errorf("%s: in direction %v the maximiser nearest to %v is %v, want %v", name, c.dir, c.x, p, c.want)
			}
		}
	}
	// Without a point to go by, ties go to the middle: that of the largest ball in a polytope,
	// (1, 1), and that of the box, (2, 1.5), which lies on the half-space's boundary.
	for name, want := range map[string][]float64{"polytope": {1.6, 1.8}, "half-space in box": {2, 1.5}} {
		p := make([]float64, 2)
		if triangles[name].(geometry.Compact).MaximizeLinear(p, []float64{3, 4}); !near(p, want) {
			t.Errorf("%s: maximiser %v, want %v", name, p, want)
		}
	}
}
