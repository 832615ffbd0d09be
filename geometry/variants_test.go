package geometry_test

import (
	"math"
	"testing"

	"cmdpsolve/geometry"
	"cmdpsolve/geometry/geometrytest"
)

// set returns a function that passes a constructor's set on, or ends the test.
func set[S geometry.Set](t *testing.T) func(s S, err error) S {
	return func(s S, err error) S {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// TestVariants puts to the laws what the examples of the registry leave out and what is seldom drawn: unbounded
// combinations, sets that are long, tiny or far from the origin, boxes in parts of boxes.
func TestVariants(t *testing.T) {
	inf := math.Inf(1)
	type rows = [][]float64
	anySet := set[geometry.Set](t)
	compact := set[geometry.Compact](t)
	box := func(lower, upper []float64) *geometry.Box {
		b, err := geometry.NewBox(lower, upper)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	half := set[*geometry.Halfspace](t)
	ball := set[*geometry.Ball](t)
	cone := set[*geometry.SecondOrderCone](t)
	hull := set[*geometry.Hull](t)
	cut := compact(geometry.Restrict(half(geometry.NewHalfspace([]float64{1, 2}, 1)),
		box([]float64{0, 0}, []float64{1, 1})))
	for name, c := range map[string]struct {
		set       geometry.Set
		tolerance float64
	}{
		"box, dimension 1": {box([]float64{2}, []float64{inf}), 0},
		"long ellipsoid": {set[*geometry.Ellipsoid](t)(geometry.NewEllipsoid([]float64{1, 2, 3},
			rows{{1e-6, 0, 0}, {0, 1e4, 0}, {0, 0, 1}})), 0},
		"flat hull": {hull(geometry.NewHull(rows{{0, 0, 1}, {1, 0, 1}, {0, 1, 1}, {1, 1, 1}})), 0},
		"tiny hull": {hull(geometry.NewHull(rows{{0, 0}, {1e-7, 0}, {0, 1e-7}})), 0},
		"far hull":  {hull(geometry.NewHull(rows{{1e6, 1e6}, {1e6 + 1, 1e6}, {1e6, 1e6 + 1}})), 0},
		"far ball":  {ball(geometry.NewBall([]float64{1e6, -1e6}, 1)), 0},
		"polytope of one point": {set[*geometry.Polytope](t)(geometry.NewPolytope(rows{{1, 0}, {-1, 0}, {0, 1},
			{0, -1}}, []float64{1, -1, 2, -2})), 0},
		"unbounded polyhedra": {anySet(geometry.NewIntersection(half(geometry.NewHalfspace([]float64{1, 2}, 1)),
			half(geometry.NewHalfspace([]float64{1, -1}, 0)))), 0},
		"cone and half-space": {anySet(geometry.NewIntersection(cone(geometry.NewSecondOrderCone(2)),
			half(geometry.NewHalfspace([]float64{-1, 2}, 3)), box([]float64{-inf, 1}, []float64{inf, inf}))), 1e-6},
		"nested intersection": {anySet(geometry.NewIntersection(cut,
			anySet(geometry.NewIntersection(half(geometry.NewHalfspace([]float64{-1, 1}, 0.5)),
				half(geometry.NewHalfspace([]float64{-1, -1}, 0)))))), 0},
		"half-space in two boxes": {compact(geometry.Restrict(cut, box([]float64{0.1, -1}, []float64{2, 0.4}))), 0},
		"two balls and two boxes": {anySet(geometry.NewIntersection(
			compact(geometry.Restrict(ball(geometry.NewBall([]float64{0, 0}, 1)),
				box([]float64{0, 0}, []float64{1, 0.9}))),
			ball(geometry.NewBall([]float64{1, 1}, 1)))), 1e-7},
		"box cut to a point by balls": {compact(geometry.Restrict(ball(geometry.NewBall([]float64{0, 0}, 1)),
			box([]float64{1, -1}, []float64{2, 1}))), 1e-6},
		"image of a hull": {compact(geometry.NewImage(rows{{1, 1}, {0, 1}, {2, 0}}, []float64{0, 1, 0},
			hull(geometry.NewHull(rows{{0, 0}, {1, 0}, {0, 1}})))), 0},
		"preimage of a simplex": {anySet(geometry.NewPreimage(rows{{1, 0}, {0, 1}, {-1, -1}}, []float64{0, 0, 1},
			set[*geometry.Simplex](t)(geometry.NewSimplex(3, 1)))), 0},
		"hull in a box": {compact(geometry.Restrict(hull(geometry.NewHull(rows{{1, 0, 0}, {0, 1, 0},
			{0, 0, 1}, {1, 1, 1}})), box([]float64{0, 0, 0.1}, []float64{0.5, 1, 0.8}))), 0},
		"sum in a box": {compact(geometry.Restrict(compact(geometry.NewMinkowskiSum(
			set[*geometry.Ellipsoid](t)(geometry.NewEllipsoid([]float64{0, 0}, rows{{1, 0.5}, {0.5, 2}})),
			hull(geometry.NewHull(rows{{0, 0}, {1, 1}})))), box([]float64{0, 0}, []float64{1.5, 1}))), 1e-6},
	} {
		t.Run(name, func(t *testing.T) {
			if err := geometrytest.Check(c.set, geometrytest.Facts{Tolerance: c.tolerance, Trials: 16}); err != nil {
				t.Error(err)
			}
		})
	}
}
