package geometry_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cmdpsolve/geometry"
	"cmdpsolve/geometry/geometrytest"
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// TestConstructorErrors: bad input is an error of the constructor, with words that say
// what is wrong and the sentinel where a caller may branch.
func TestConstructorErrors(t *testing.T) {
	inf := math.Inf(1)
	type rows = [][]float64
	ball, _ := geometry.NewBall([]float64{0, 0}, 1)
	other, _ := geometry.NewBall([]float64{3, 0}, 1)
	line, _ := geometry.NewPoint([]float64{0})
	half, _ := geometry.NewHalfspace([]float64{1, 0}, 0)
	unit, _ := geometry.NewBox([]float64{0, 0}, []float64{1, 1})
	right, _ := geometry.NewBox([]float64{1, 0}, []float64{2, 1})
	open, _ := geometry.NewBox([]float64{0, 0}, []float64{1, inf})
	endless, _ := geometry.NewBox([]float64{-inf, 0}, []float64{1, 1})
	cone, _ := geometry.NewSecondOrderCone(2)
	below, _ := geometry.NewBox([]float64{-1, -5}, []float64{1, -2})
	diagonal, _ := geometry.NewHalfspace([]float64{1, 1}, -1)
	for _, c := range []struct {
		name string
		call func() (any, error)
		want string
		is   error
	}{
		{"box of unequal lengths", func() (any, error) { return geometry.NewBox([]float64{0}, []float64{1, 2}) },
			"1 lower and 2 upper", nil},
		{"empty box", func() (any, error) { return geometry.NewBox([]float64{0, 2}, []float64{1, 1}) }, "side 1",
			geometry.ErrEmpty},
		{"unbounded box", func() (any, error) { return open.Bounded() }, "e1 recedes", geometry.ErrUnbounded},
		{"box unbounded below", func() (any, error) { return endless.Bounded() }, "-e0 recedes", geometry.ErrUnbounded},
		{"negative radius", func() (any, error) { return geometry.NewBall([]float64{0}, -1) }, "radius -1: want ≥ 0",
			nil},
		{"ball without centre", func() (any, error) { return geometry.NewBall(nil, 1) }, "center is empty", nil},
		{"negative l1 radius", func() (any, error) { return geometry.NewL1Ball([]float64{0}, -2) }, "radius -2", nil},
		{"negative l∞ radius", func() (any, error) { return geometry.NewLInfBall([]float64{0}, -2) }, "radius -2", nil},
		{"zero normal", func() (any, error) { return geometry.NewHalfspace([]float64{0, 0}, 1) }, "not zero", nil},
		{"negative total", func() (any, error) { return geometry.NewSimplex(2, -1) }, "total -1", nil},
		{"orthant of dimension 0", func() (any, error) { return geometry.NewOrthant(0) }, "dimension 0", nil},
		{"cone of dimension 0", func() (any, error) { return geometry.NewSecondOrderCone(0) }, "dimension 0", nil},
		{"indefinite ellipsoid", func() (any, error) {
			return geometry.NewEllipsoid([]float64{0, 0}, rows{{1, 2}, {2, 1}})
		}, "eigenvalue -1", nil},
		{"flat ellipsoid", func() (any, error) {
			return geometry.NewEllipsoid([]float64{0, 0}, rows{{1, 1}, {1, 1}})
		}, "positive definite", nil},
		{"asymmetric ellipsoid", func() (any, error) {
			return geometry.NewEllipsoid([]float64{0, 0}, rows{{1, 0}, {0.5, 1}})
		}, "symmetric", nil},
		{"ellipsoid of another shape", func() (any, error) { return geometry.NewEllipsoid([]float64{0}, rows{{1, 0}}) },
			"row 0 has 2", nil},
		{"polytope without rows", func() (any, error) { return geometry.NewPolytope(nil, nil) }, "0 rows", nil},
		{"polytope with a zero row",
			func() (any, error) { return geometry.NewPolytope(rows{{1}, {0}}, []float64{1, 1}) }, "row 1", nil},
		{"polytope with ragged rows",
			func() (any, error) { return geometry.NewPolytope(rows{{1, 0}, {1}}, []float64{1, 1}) }, "row 1 has 1",
			nil},
		{"empty polytope", func() (any, error) {
			return geometry.NewPolytope(rows{{1, 1}, {-1, 0}, {0, -2}}, []float64{1, -1, -2})
		}, "+1·row 0 +1·row 1 +0.5·row 2 gives 0 ≤ -1", geometry.ErrEmpty},
		{"unbounded polytope", func() (any,
			error) {
			return geometry.NewPolytope(rows{{1, 0}, {0, 1}}, []float64{1, 1})
		}, "recedes", geometry.ErrUnbounded},
		{"contradictory equations", func() (any, error) {
			return geometry.NewAffine(rows{{1, 1}, {2, 2}}, []float64{1, 3})
		}, "contradict", geometry.ErrEmpty},
		{"hull of nothing", func() (any, error) { return geometry.NewHull(nil) }, "no points", geometry.ErrEmpty},
		{"ragged hull", func() (any, error) { return geometry.NewHull(rows{{1, 2}, {1}}) }, "point 1 has 1", nil},
		{"disjoint balls", func() (any, error) { return geometry.NewIntersection(ball, other) }, "", geometry.ErrEmpty},
		{"ball and half-space apart", func() (any, error) { return geometry.NewIntersection(other, half) }, "",
			geometry.ErrEmpty},
		{"cone and box apart", func() (any, error) { return geometry.Restrict(cone, below) }, "", geometry.ErrEmpty},
		{"half-space and box apart", func() (any, error) { return geometry.Restrict(diagonal, unit) }, "offset",
			geometry.ErrEmpty},
		{"ball and box apart", func() (any, error) { return geometry.Restrict(other, unit) }, "separates",
			geometry.ErrEmpty},
		{"point and box apart", func() (any, error) {
			p, _ := geometry.NewPoint([]float64{0.5, 0})
			return geometry.Restrict(p, right)
		}, "coordinate 0", geometry.ErrEmpty},
		{"unbounded restriction", func() (any, error) { return geometry.Restrict(ball, open) }, "recedes",
			geometry.ErrUnbounded},
		{"dimensions of a restriction", func() (any, error) { return geometry.Restrict(line, unit) }, "dimension 1",
			nil},
		{"dimensions of an intersection", func() (any, error) { return geometry.NewIntersection(ball, line) },
			"dimension 1", nil},
		{"intersection of nothing", func() (any, error) { return geometry.NewIntersection() }, "no sets", nil},
		{"product of nothing", func() (any, error) { return geometry.NewProduct() }, "no sets", nil},
		{"hull of no sets", func() (any, error) { return geometry.NewConvexHull() }, "no sets", nil},
		{"sum of different dimensions", func() (any, error) { return geometry.NewMinkowskiSum(ball, line) },
			"dimension 1", nil},
		{"compact half-space", func() (any, error) { return geometry.CompactOf(half) }, "Halfspace goes from",
			geometry.ErrUnbounded},
		{"translation of another dimension", func() (any, error) { return geometry.NewTranslate(ball, []float64{1}) },
			"dimension 2", nil},
		{"scale by zero", func() (any, error) { return geometry.NewScale(ball, 0) }, "scale by 0", nil},
		{"negative inflation", func() (any, error) { return geometry.NewInflate(half, -0.1) }, "inflate by -0.1", nil},
		{"image of another dimension", func() (any, error) { return geometry.NewImage(rows{{1}}, nil, ball) },
			"1 columns", nil},
		{"preimage of another dimension", func() (any, error) { return geometry.NewPreimage(rows{{1}}, nil, ball) },
			"1 rows", nil},
		{"preimage that misses", func() (any, error) {
			return geometry.NewPreimage(rows{{0, 0}, {0, 0}}, []float64{5, 0}, ball)
		}, "", geometry.ErrEmpty},
		{"preimage that misses a side", func() (any, error) {
			return geometry.NewPreimage(rows{{0, 0}, {1, 0}}, []float64{5, 0}, unit)
		}, "row", geometry.ErrEmpty},
		{"preimage that comes nearer to a cone the farther it goes", func() (any, error) {
			cone, _ := geometry.NewSecondOrderCone(3)
			return geometry.NewPreimage(rows{{-2, -2, -2}, {0, -2, -1}, {-2, -2, -2}}, []float64{2, 1, -2}, cone)
		}, "", geometry.ErrEmpty},
		{"restriction of nothing", func() (any, error) { return geometry.Restrict(nil, nil) }, "no set", nil},
		{"compact form of nothing", func() (any, error) { return geometry.CompactOf(nil) }, "no set", nil},
		{"intersection with nothing", func() (any, error) { return geometry.NewIntersection(ball, nil) },
			"set 1 is nil", nil},
		{"product with nothing", func() (any, error) { return geometry.NewProduct(ball, nil) }, "set 1 is nil", nil},
		{"hull of nothing", func() (any, error) { return geometry.NewConvexHull(nil) }, "set 0 is nil", nil},
		{"sum of nothing", func() (any, error) { return geometry.NewMinkowskiSum(nil) }, "set 0 is nil", nil},
		{"translation of nothing", func() (any, error) { return geometry.NewTranslate(nil, []float64{1}) }, "nil", nil},
		{"multiple of nothing", func() (any, error) { return geometry.NewScale(nil, 2) }, "nil", nil},
		{"inflation of nothing", func() (any, error) { return geometry.NewInflate(nil, 2) }, "nil", nil},
		{"image of nothing", func() (any, error) { return geometry.NewImage([][]float64{{1}}, nil, nil) }, "nil", nil},
		{"preimage of nothing", func() (any, error) { return geometry.NewPreimage([][]float64{{1}}, nil, nil) }, "nil",
			nil},
		{"orthant too large", func() (any, error) { return geometry.NewOrthant(math.MaxInt) }, "orthant of dimension",
			nil},
		{"maximiser of nothing", func() (any, error) { return geometry.FromMaximizer(nil) }, "no set", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.call()
			switch {
			case err == nil:
				t.Fatal("no error")
			case !strings.HasPrefix(err.Error(), "geometry: "):
				t.Errorf("error %q: want the prefix geometry:", err)
			case !strings.Contains(err.Error(), c.want):
				t.Errorf("error %q: want it to hold %q", err, c.want)
			case c.is != nil && !errors.Is(err, c.is):
				t.Errorf("error %q: want it to wrap %q", err, c.is)
			}
		})
	}
}

// TestTouchingSets: sets that share one point are not empty. Where curved sets touch,
// a shift of 1e-6 moves their common points by 1e-3, and no method can do better.
func TestTouchingSets(t *testing.T) {
	ball, _ := geometry.NewBall([]float64{0, 0}, 1)
	box, _ := geometry.NewBox([]float64{1, -1}, []float64{2, 1})
	other, _ := geometry.NewBall([]float64{2, 0}, 1)
	half, _ := geometry.NewHalfspace([]float64{-3, -4}, -5)
	corner, _ := geometry.NewBox([]float64{0, 0}, []float64{1, 0.5})
	for name, c := range map[string]struct {
		call func() (geometry.Set, error)
		want []float64
	}{
		"ball and box": {func() (geometry.Set, error) { return geometry.Restrict(ball, box) }, []float64{1, 0}},
		"ball and ball": {func() (geometry.Set, error) { return geometry.NewIntersection(ball, other) },
			[]float64{1, 0}},
		"half-space and ball": {func() (geometry.Set, error) { return geometry.NewIntersection(half, ball) },
			[]float64{0.6, 0.8}},
		"half-space and box": {func() (geometry.Set, error) { return geometry.Restrict(half, corner) },
			[]float64{1, 0.5}},
		"a row and a side": {func() (geometry.Set, error) { // 0.9/3 is below 0.3 by rounding
			tenth := 0.1
			low, _ := geometry.NewBox([]float64{3 * tenth, 0}, []float64{1, 1})
			s, err := geometry.NewPolyhedron([][]float64{{3, 0}, {1, 1}, {1, -1}}, []float64{0.9, 1, 1})
			if err != nil {
				return nil, err
			}
			return geometry.Restrict(s, low)
		}, []float64{0.3, 0}},
		"rows that share edge": {func() (geometry.Set, error) {
			return geometry.NewPolytope([][]float64{{1, 1}, {-1, -1}, {1, -1}, {-1, 1}}, []float64{1, -1, 0, 0})
		}, []float64{0.5, 0.5}},
	} {
		s, err := c.call()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		x := []float64{7, -9}
		s.Project(x, x)
		if math.Hypot(x[0]-c.want[0], x[1]-c.want[1]) > 1e-2 {
			t.Errorf("%s: projection %v, want %v", name, x, c.want)
		}
	}
}

// TestTouchingPoints: sets of one point, of any size, that miss a box by one rounding touch it.
func TestTouchingPoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 43))
	for trial := range 100 {
		d := 1 + rng.IntN(3)
		at, upper := normals(rng, d), make([]float64, d)
		floats.Scale(math.Pow(10, float64(rng.IntN(19)-9)), at)
		lower := slices.Clone(at)
		for i, v := range at {
			lower[i] = math.Nextafter(v, math.Inf(1))
			upper[i] = lower[i] + math.Abs(v)
		}
		box := set[*geometry.Box](t)(geometry.NewBox(lower, upper))
		point, _ := geometry.NewPoint(at)
		side, _ := geometry.NewBox(at, at)
		hull, _ := geometry.NewHull([][]float64{at})
		diamond, _ := geometry.NewL1Ball(at, 0)
		for _, s := range []geometry.Set{point, side, hull, diamond} {
			c, err := geometry.Restrict(s, box)
			if err != nil {
				t.Errorf("trial %d: %T: %v", trial, s, err)
				continue
			}
			x := normals(rng, d)
			if c.Project(x, x); floats.Distance(x, at, 2) > 1e-12*(1+floats.Norm(at, 2)) {
				t.Errorf("trial %d: %T at %v is projected on at %v", trial, s, at, x)
			}
		}
	}
}

// TestTouchingBalls: a ball far from the origin that misses a box by one rounding touches it, and by more than that
// it does not.
func TestTouchingBalls(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 43))
	for trial := range 300 {
		d := 1 + rng.IntN(3)
		center := normals(rng, d)
		floats.Scale(math.Pow(10, float64(rng.IntN(19)-9)), center)
		radius := math.Abs(center[0]) * math.Pow(10, -1-float64(rng.IntN(11)))
		ball, _ := geometry.NewBall(center, radius)
		halfspace, _ := geometry.NewHalfspace(append([]float64{-1}, make([]float64, d-1)...), -center[0])
		part, _ := geometry.NewIntersection(ball, halfspace)
		for _, s := range []geometry.Set{ball, part} {
			for _, away := range []float64{1e-16, 1e-9} {
				lower, upper := slices.Clone(center), slices.Clone(center)
				lower[0] = math.Nextafter(center[0]+radius, math.Inf(1)) + away*(math.Abs(center[0])+radius)
				upper[0] = lower[0] + 1
				c, err := geometry.Restrict(s, set[*geometry.Box](t)(geometry.NewBox(lower, upper)))
				if (err != nil) != (away == 1e-9) {
					t.Fatalf("trial %d: %T of radius %g around %v, and a box from %v: %v", trial, s, radius, center, lower, err)
				}
				if err != nil {
					continue
				}
				x := normals(rng, d)
				if c.Project(x, x); floats.Distance(x, lower, 2) > 1e-12*(radius+floats.Norm(center, 2)) {
					t.Errorf("trial %d: ball of radius %g around %v: %v is not where it touches", trial, radius, center, x)
				}
			}
		}
	}
}

// TestHalfspaceDistances are the numbers of erratum E-05: the distance of (1.9, 1.9)
// from a half-space, and from its part in the box of returns.
func TestHalfspaceDistances(t *testing.T) {
	half, _ := geometry.NewHalfspace([]float64{2, -1}, -1.5)
	box, _ := geometry.NewBox([]float64{0, 0}, []float64{2, 2})
	cut, err := geometry.Restrict(half, box)
	if err != nil {
		t.Fatal(err)
	}
	x := []float64{1.9, 1.9}
	for want, s := range map[float64]geometry.Set{1.5205: half, 1.6530: cut} {
		if !geometry.Contains(s, x, want+1e-4) || geometry.Contains(s, x, want-1e-4) {
			t.Errorf("%T: distance is not %g", s, want)
		}
	}
}

// TestConstructorsRefuseNumbers puts what is no number, or too large a one, in every place of every constructor.
func TestConstructorsRefuseNumbers(t *testing.T) {
	type rows = [][]float64
	ball, _ := geometry.NewBall([]float64{0, 0}, 1)
	for name, build := range map[string]func(v float64) (any, error){
		"point":              func(v float64) (any, error) { return geometry.NewPoint([]float64{0, v}) },
		"ball's centre":      func(v float64) (any, error) { return geometry.NewBall([]float64{0, v}, 1) },
		"ball's radius":      func(v float64) (any, error) { return geometry.NewBall([]float64{0, 0}, v) },
		"l1 ball's centre":   func(v float64) (any, error) { return geometry.NewL1Ball([]float64{0, v}, 1) },
		"l1 ball's radius":   func(v float64) (any, error) { return geometry.NewL1Ball([]float64{0, 0}, v) },
		"linf ball's centre": func(v float64) (any, error) { return geometry.NewLInfBall([]float64{0, v}, 1) },
		"linf ball's radius": func(v float64) (any, error) { return geometry.NewLInfBall([]float64{0, 0}, v) },
		"total of a simplex": func(v float64) (any, error) { return geometry.NewSimplex(2, v) },
		"normal":             func(v float64) (any, error) { return geometry.NewHalfspace([]float64{0, v}, 1) },
		"offset":             func(v float64) (any, error) { return geometry.NewHalfspace([]float64{0, 1}, v) },
		"row":                func(v float64) (any, error) { return geometry.NewPolyhedron(rows{{1, v}}, []float64{1}) },
		"right-hand side":    func(v float64) (any, error) { return geometry.NewPolyhedron(rows{{1, 1}}, []float64{v}) },
		"equation":           func(v float64) (any, error) { return geometry.NewAffine(rows{{1, v}}, []float64{1}) },
		"hull":               func(v float64) (any, error) { return geometry.NewHull(rows{{0, 1}, {0, v}}) },
		"ellipsoid's centre": func(v float64) (any, error) { return geometry.NewEllipsoid([]float64{v}, rows{{1}}) },
		"ellipsoid's shape":  func(v float64) (any, error) { return geometry.NewEllipsoid([]float64{0}, rows{{v}}) },
		"translation":        func(v float64) (any, error) { return geometry.NewTranslate(ball, []float64{0, v}) },
		"scale":              func(v float64) (any, error) { return geometry.NewScale(ball, v) },
		"inflation":          func(v float64) (any, error) { return geometry.NewInflate(ball, v) },
		"image":              func(v float64) (any, error) { return geometry.NewImage(rows{{1, v}}, nil, ball) },
		"image's shift": func(v float64) (any, error) {
			return geometry.NewImage(rows{{1, 1}}, []float64{v}, ball)
		},
		"preimage":        func(v float64) (any, error) { return geometry.NewPreimage(rows{{0}, {v}}, nil, ball) },
		"maximiser":       func(v float64) (any, error) { return geometry.FromMaximizer(sides{-2, v}) },
		"maximiser below": func(v float64) (any, error) { return geometry.FromMaximizer(sides{-math.Abs(v), 3}) },
		"preimage's shift": func(v float64) (any, error) {
			return geometry.NewPreimage(rows{{1}, {0}}, []float64{0, v}, ball)
		},
		"box": func(v float64) (any, error) {
			b, err := geometry.NewBox([]float64{0, v}, []float64{1, v})
			return b, err
		},
	} {
		if _, err := build(1); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e101} {
			if _, err := build(v); err == nil || !strings.HasPrefix(err.Error(), "geometry: ") ||
				!strings.Contains(err.Error(), strings.TrimLeft(fmt.Sprint(v), "+-")) {
				t.Errorf("%s: error %v for %g", name, err, v)
			}
		}
	}
	// Shapes that do not fit.
	for name, build := range map[string]func() (any, error){
		"sides":     func() (any, error) { return geometry.NewPolyhedron(rows{{1, 1}}, []float64{1, 1}) },
		"ellipsoid": func() (any, error) { return geometry.NewEllipsoid([]float64{0, 0}, rows{{1, 0}}) },
		"its rows":  func() (any, error) { return geometry.NewEllipsoid([]float64{0, 0}, rows{{1, 0}, {0}}) },
		"image":     func() (any, error) { return geometry.NewImage(rows{{1, 0}, {1}}, nil, ball) },
		"shift":     func() (any, error) { return geometry.NewImage(rows{{1, 0}}, []float64{0, 1}, ball) },
		"no matrix": func() (any, error) { return geometry.NewImage(nil, nil, ball) },
		"preimage":  func() (any, error) { return geometry.NewPreimage(rows{{1, 0}, {1}}, nil, ball) },
	} {
		if _, err := build(); err == nil || !strings.HasPrefix(err.Error(), "geometry: ") {
			t.Errorf("%s: error %v for shapes that do not fit", name, err)
		}
	}
}

// TestLimits: what constructors accept ends where it is said to, at a number that is refused by little.
func TestLimits(t *testing.T) {
	type rows = [][]float64
	meets := func(s geometry.Set, v float64) (any, error) { // the box from 1 on but for v
		box, err := geometry.NewBox([]float64{1 + v, -1}, []float64{2, 3})
		if err != nil {
			return nil, err
		}
		return geometry.Restrict(s, box)
	}
	ball, _ := geometry.NewBall([]float64{0, 0}, 1)
	point, _ := geometry.NewPoint([]float64{1, 0})
	side, _ := geometry.NewBox([]float64{-1, 0}, []float64{1, 1})
	slant, _ := geometry.NewHalfspace([]float64{1, 1e-30}, 1)
	for name, c := range map[string]struct {
		good, bad float64
		build     func(v float64) (any, error)
	}{
		"flat": {1.1e-13, 0.9e-13, func(v float64) (any, error) {
			return geometry.NewEllipsoid([]float64{0, 0}, rows{{7 * v, 0}, {0, 7}})
		}},
		"not symmetric": {0.9e-12, 1.1e-12, func(v float64) (any, error) {
			return geometry.NewEllipsoid([]float64{0, 0}, rows{{7, 1}, {1 + 7*v, 2}})
		}},
		"tiny shape":  {1e-99, 1e-101, func(v float64) (any, error) { return geometry.NewEllipsoid([]float64{0}, rows{{v}}) }},
		"tiny normal": {1e-99, 1e-101, func(v float64) (any, error) { return geometry.NewHalfspace([]float64{v, 0}, 0) }},
		"tiny row": {1e-99, 1e-101, func(v float64) (any, error) {
			return geometry.NewPolyhedron(rows{{v, 0}}, []float64{0})
		}},
		"tiny factor": {1e-99, 1e-101, func(v float64) (any, error) { return geometry.NewScale(ball, v) }},
		"dimension":   {1, 0, func(v float64) (any, error) { return geometry.NewOrthant(int(v)) }},
		"simplex":     {1 << 24, 1<<24 + 1, func(v float64) (any, error) { return geometry.NewSimplex(int(v), 1) }},
		"cone":        {1 << 24, 1<<24 + 1, func(v float64) (any, error) { return geometry.NewSecondOrderCone(int(v)) }},
		"inverted": {0, 1e-15, func(v float64) (any, error) {
			return geometry.NewBox([]float64{1 + v}, []float64{1})
		}},
		"ball and box":       {1e-12, 1e-11, func(v float64) (any, error) { return meets(ball, v) }},
		"point and box":      {1e-12, 1e-11, func(v float64) (any, error) { return meets(point, v) }},
		"box and box":        {1e-12, 1e-11, func(v float64) (any, error) { return meets(side, v) }},
		"half-space and box": {1e-13, 1e-11, func(v float64) (any, error) { return meets(slant, v) }},
		"constant row": {1e-13, 1e-11, func(v float64) (any, error) {
			return geometry.NewPreimage(rows{{0}, {1}}, []float64{1 + v, 0}, side)
		}},
	} {
		if _, err := c.build(c.good); err != nil {
			t.Errorf("%s: %g is refused: %v", name, c.good, err)
		}
		if s, err := c.build(c.bad); err == nil {
			t.Errorf("%s: %g is accepted: %T", name, c.bad, s)
		}
	}
}

// claims are the ways in which an error says that sets have no common point: along a direction one ends, and another
// begins beyond that.
var claims = []struct {
	words *regexp.Regexp
	read  func(words []string, d int) (dir []float64, end, begin float64)
}{
	{regexp.MustCompile(`side (\d+) must be at least (\S+) and at most (\S+):`),
		func(w []string, d int) ([]float64, float64, float64) {
			return unit(d, w[1]), number(w[3]), number(w[2])
		}},
	{regexp.MustCompile(`coordinate (\d+) and the box's miss each other by (\S+):`),
		func(w []string, d int) ([]float64, float64, float64) { return unit(d, w[1]), math.NaN(), number(w[2]) }},
	{regexp.MustCompile(`in the direction \[(.*)\] the set reaches to (\S+), and .* beyond (\S+):`),
		func(w []string, _ int) ([]float64, float64, float64) {
			return numbers(w[1]), number(w[2]), number(w[3])
		}},
	{regexp.MustCompile(`⟨\[(.*)\], x⟩ is at least (\S+) on the box, above the unit halfspace's offset (\S+):`),
		func(w []string, _ int) ([]float64, float64, float64) {
			return numbers(w[1]), number(w[3]), number(w[2])
		}},
	{regexp.MustCompile(`point \[(.*)\] is outside the box in coordinate (\d+), which goes from (\S+) to (\S+):`),
		func(w []string, d int) ([]float64, float64, float64) {
			dir, low, high := unit(d, w[2]), number(w[3]), number(w[4])
			at := floats.Dot(dir, numbers(w[1]))
			if at < low && low <= high {
				return dir, at, low
			}
			return floats.ScaleTo(dir, -1, dir), -at, -high
		}},
	{regexp.MustCompile(`the ball's center is (\S+) from .*, its radius is (\S+), direction \[(.*)\] separates`),
		func(w []string, _ int) ([]float64, float64, float64) {
			dir, far := numbers(w[3]), number(w[1])
			floats.Scale(1/far, dir)
			return dir, math.NaN(), far - number(w[2])
		}},
}

func number(word string) float64 {
	v, err := strconv.ParseFloat(word, 64)
	if err != nil {
		panic(err)
	}
	return v
}

func numbers(words string) (x []float64) {
	for _, w := range strings.Fields(words) {
		x = append(x, number(w))
	}
	return x
}

func unit(d int, index string) []float64 {
	x := make([]float64, d)
	x[int(number(index))] = 1
	return x
}

// TestRefusalsAreTrue: where sets are said to have no common point, one of them ends where it is said to, and what the
// others have in common begins where it is said to.
func TestRefusalsAreTrue(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 7))
	told := make([]int, len(claims))
	for trial := range 1000 {
		d := 1 + rng.IntN(3)
		a, wrong := drawDefined(newDrawer(rng), d, 0)
		b, wrong2 := drawDefined(newDrawer(rng), d, 0)
		lower, upper := ints(rng, d, 4), make([]float64, d)
		for i, l := range lower {
			upper[i] = l + float64(rng.IntN(4))
		}
		box, _ := geometry.NewBox(lower, upper)
		if wrong != nil || wrong2 != nil {
			continue
		}
		if c, ok := a.set.(geometry.Compact); ok && rng.IntN(2) == 0 {
			a.set = byMaximizing(t, c, nil)
		}
		parts := []geometry.Set{a.set, box}
		if rng.IntN(2) == 0 {
			parts = append(parts, b.set)
		}
		_, err := geometry.NewIntersection(parts...)
		if len(parts) == 2 {
			_, err = geometry.Restrict(a.set, box)
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, geometry.ErrEmpty) {
			t.Fatalf("trial %d: %v", trial, err)
		}
		if len(parts) == 2 {
			checkFactor(t, a.set, box, trial%3, err)
		}
		for k, c := range claims {
			words := c.words.FindStringSubmatch(err.Error())
			if words == nil {
				continue
			}
			told[k]++
			if dir, end, begin := c.read(words, d); !separates(parts, dir, end, begin) {
				t.Errorf("trial %d: %T and others do not end and begin as is said: %v", trial, a.set, err)
			}
		}
	}
	for k, n := range told {
		if n < 3 {
			t.Errorf("%d errors of the form %v", n, claims[k].words)
		}
	}
}

// checkFactor: where the factor of a product after n others is cut to nothing, the error says so as it would alone.
func checkFactor(t *testing.T, s geometry.Set, box *geometry.Box, n int, alone error) {
	t.Helper()
	factors, boxes := slices.Repeat([]geometry.Set{box}, n), slices.Repeat([]geometry.Set{box}, n+1)
	product := set[geometry.Set](t)(geometry.NewProduct(append(factors, s)...))
	around := set[geometry.Set](t)(geometry.NewProduct(boxes...)).(geometry.Bounder)
	lower, upper := make([]float64, product.Dim()), make([]float64, product.Dim())
	around.Bounds(lower, upper)
	_, err := geometry.Restrict(product, set[*geometry.Box](t)(geometry.NewBox(lower, upper)))
	if want := fmt.Sprintf("geometry: product, factor %d: %v", n, alone); fmt.Sprint(err) != want {
		t.Errorf("error %v: want %v", err, want)
	}
}

// separates says whether one of the parts ends at end or before in a direction or against it, and another one, or what
// all others have in common, begins at begin or beyond. Without an end begin is how far they are apart.
func separates(parts []geometry.Set, dir []float64, end, begin float64) bool {
	const tol = 2e-4
	box, _ := geometry.NewLInfBall(make([]float64, len(dir)), 50)
	back := floats.ScaleTo(make([]float64, len(dir)), -1, dir)
	for k, s := range parts {
		others := slices.Delete(slices.Clone(parts), k, k+1)
		for _, rest := range [][]geometry.Set{others, others[:1], others[len(others)-1:]} {
			one, err := geometry.Restrict(s, box.Box)
			two, err2 := geometry.NewIntersection(append([]geometry.Set{box}, rest...)...)
			if errors.Is(err2, geometry.ErrEmpty) && len(rest) == len(others) && err == nil { // these begin nowhere
				if math.IsNaN(end) || oracle.Support(one, dir) <= end+tol || oracle.Support(one, back) <= tol-begin {
					return true
				}
			}
			if err != nil || err2 != nil {
				continue
			}
			for _, pair := range [][2]geometry.Compact{{one, two.(geometry.Compact)}, {two.(geometry.Compact), one}} {
				most, least := oracle.Support(pair[0], dir), -oracle.Support(pair[1], back)
				if math.IsNaN(end) && math.Abs(least-most-begin) <= tol ||
					begin > end && most <= end+tol && least >= begin-tol {
					return true
				}
			}
		}
	}
	return false
}

// TestTouchingHalfspaces: a set and the half-space beyond its extreme point in a direction share that point, whatever
// rounding leaves of it.
func TestTouchingHalfspaces(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 8))
	for trial := range 1000 {
		d, draw := 1+rng.IntN(3), newDrawer(rng)
		draw.unit = math.Ldexp(1, 20*(rng.IntN(3)-1))
		s, wrong := drawDefined(draw, d, rng.IntN(2))
		lower, upper := floats.ScaleTo(make([]float64, d), draw.unit, normals(rng, d)), make([]float64, d)
		for i, l := range lower {
			upper[i] = l + draw.unit/(0.1+rng.Float64())
		}
		box, _ := geometry.NewBox(lower, upper)
		switch rng.IntN(6) {
		case 0:
			s.set, wrong = box, nil
		case 1, 2:
			s.set, wrong = geometry.NewBall(upper, draw.unit*(0.1+rng.Float64()))
		}
		if wrong != nil || s.iterate {
			continue
		}
		whole, err := geometry.Restrict(s.set, box)
		if err != nil {
			continue
		}
		normal, x := normals(rng, d), make([]float64, d)
		if rng.IntN(3) == 0 {
			normal = alone(rng, normal)
		}
		most := oracle.Support(whole, normal)
		if math.Abs(most) < 1e-9*draw.unit {
			continue
		}
		if _, closed := whole.(oracle.FaceProjector); !closed {
			most -= 1e-6 * (draw.unit + math.Abs(most))
		}
		half, err := geometry.NewHalfspace(floats.ScaleTo(x, -1, normal), -most)
		if err != nil {
			t.Fatal(err)
		}
		touch, err := geometry.NewIntersection(whole, half)
		if err != nil {
			t.Errorf("trial %d: %T and what is beyond %g in direction %v: %v", trial, whole, most, normal, err)
			continue
		}
		if _, closed := touch.(oracle.FaceProjector); closed && draw.unit == 1 {
			if err := geometrytest.Check(touch, geometrytest.Facts{Trials: 3, Tolerance: 1e-7}); err != nil {
				t.Errorf("trial %d: %v", trial, err)
			}
		}
		touch.Project(x, floats.ScaleTo(x, draw.unit, normals(rng, d)))
		tol := 1e-2 * draw.unit // where curved sets touch projections are not exact
		if _, closed := touch.(oracle.FaceProjector); closed {
			tol = 1e-9 * draw.unit
		}
		if off := floats.Dot(normal, x) - most; math.Abs(off) > tol || oracle.Distance(whole, x) > tol {
			t.Errorf("trial %d: %T touches what is beyond %g in direction %v at %v, off by %g", trial, whole, most, normal, x,
				off)
		}
	}
}

// sides is an interval in the second coordinate, known by its maximiser.
type sides [2]float64

func (s sides) Dim() int { return 2 }

func (s sides) MaximizeLinear(dst, dir []float64) {
	dst[0], dst[1] = 0, s[0]
	if dir[1] > 0 {
		dst[1] = s[1]
	}
}
