package geometry_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/geometry"
	"cmdpsolve/geometry/geometrytest"
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

func ints(rng *rand.Rand, d, spread int) []float64 {
	x := make([]float64, d)
	for i := range x {
		x[i] = float64(rng.IntN(2*spread+1) - spread)
	}
	return x
}

func normals(rng *rand.Rand, d int) []float64 {
	x := make([]float64, d)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

// randomSet draws a set of dimension d, nested up to the given depth. Its numbers are
// often small integers, so that degenerate positions are common.
func randomSet(rng *rand.Rand, d, depth int) (geometry.Set, error) {
	compact := func() (geometry.Compact, error) { // not one that iterates: sums iterate over it
		s, err := geometry.NewHull([][]float64{ints(rng, d, 3), ints(rng, d, 3), ints(rng, d, 3)})
		if err != nil {
			return nil, err
		}
		box, _ := geometry.NewLInfBall(make([]float64, d), 4)
		return geometry.Restrict(s, box.Box)
	}
	kind := rng.IntN(12)
	if depth > 0 {
		kind = rng.IntN(20)
	}
	switch kind {
	case 0, 1:
		lower := ints(rng, d, 3)
		upper := make([]float64, d)
		for i, l := range lower {
			if upper[i] = l + float64(rng.IntN(4)); rng.IntN(4) == 0 {
				upper[i] = math.Inf(1)
			}
		}
		return geometry.NewBox(lower, upper)
	case 2:
		return geometry.NewBall(ints(rng, d, 3), 3*rng.Float64())
	case 3:
		return geometry.NewHalfspace(ints(rng, d, 2), float64(rng.IntN(7)-3))
	case 4:
		return geometry.NewL1Ball(ints(rng, d, 2), float64(rng.IntN(4)))
	case 5:
		return geometry.NewSimplex(d, float64(rng.IntN(4)))
	case 6, 7:
		var a [][]float64
		var b []float64
		for range 1 + rng.IntN(2*d+2) {
			a, b = append(a, ints(rng, d, 2)), append(b, float64(rng.IntN(6)-1))
		}
		return geometry.NewPolyhedron(a, b)
	case 8:
		var points [][]float64
		for range 1 + rng.IntN(2*d+2) {
			points = append(points, ints(rng, d, 3))
		}
		return geometry.NewHull(points)
	case 9:
		return geometry.NewSecondOrderCone(d)
	case 10:
		shape := make([][]float64, d)
		root := make([][]float64, d)
		for i := range root {
			root[i] = normals(rng, d)
		}
		for i := range shape {
			shape[i] = make([]float64, d)
			for j := range shape {
				for k := range root {
					shape[i][j] += root[k][i] * root[k][j]
				}
			}
			shape[i][i] += 0.1
		}
		return geometry.NewEllipsoid(normals(rng, d), shape)
	case 11:
		return geometry.NewAffine([][]float64{ints(rng, d, 2)}, []float64{float64(rng.IntN(5) - 2)})
	}
	s, err := randomSet(rng, d, depth-1)
	if err != nil {
		return nil, err
	}
	switch kind {
	case 12:
		return geometry.NewTranslate(s, ints(rng, d, 2))
	case 13:
		return geometry.NewScale(s, 0.5+rng.Float64())
	case 14:
		return geometry.NewInflate(s, rng.Float64())
	case 15:
		matrix := make([][]float64, d)
		for i := range matrix {
			matrix[i] = normals(rng, d)
		}
		return geometry.NewPreimage(matrix, normals(rng, d), s)
	case 16:
		if d == 1 {
			return s, nil
		}
		a, err := randomSet(rng, 1, depth-1)
		if err != nil {
			return nil, err
		}
		b, err := randomSet(rng, d-1, depth-1)
		if err != nil {
			return nil, err
		}
		return geometry.NewProduct(a, b)
	case 17, 18:
		t, err := randomSet(rng, d, depth-1)
		if err != nil {
			return nil, err
		}
		return geometry.NewIntersection(s, t)
	}
	a, err := compact()
	if err != nil {
		return nil, err
	}
	b, err := compact()
	if err != nil {
		return nil, err
	}
	return geometry.NewMinkowskiSum(a, b)
}

// TestRandomSets cuts random sets by random boxes and puts the results to the laws.
// What is refused must be refused as empty or as a fault of its numbers.
func TestRandomSets(t *testing.T) {
	trials := 250
	if testing.Short() || raceEnabled {
		trials = 40
	}
	rng := rand.New(rand.NewPCG(3, 14))
	refused := 0
	for trial := range trials {
		d := 1 + rng.IntN(4)
		depth := rng.IntN(3)
		s, err := randomSet(rng, d, depth)
		if err != nil {
			refused++
			continue
		}
		lower := ints(rng, d, 3)
		upper := make([]float64, d)
		for i, l := range lower {
			upper[i] = l + float64(rng.IntN(5))
		}
		box, err := geometry.NewBox(lower, upper)
		if err != nil {
			t.Fatal(err)
		}
		c, err := geometry.Restrict(s, box)
		if err != nil {
			if !errors.Is(err, geometry.ErrEmpty) {
				t.Errorf("trial %d: %T: %v", trial, s, err)
			}
			checkEmpty(t, rng, s, box, err)
			refused++
			continue
		}
		if err := geometrytest.Check(c, geometrytest.Facts{Tolerance: 1e-5, Trials: 9}); err != nil {
			t.Errorf("trial %d, dimension %d, %T in %v–%v: %v", trial, d, s, lower, upper, err)
		}
		x := normals(rng, d)
		c.Project(x, x)
		if gap := max(oracle.Distance(s, x), oracle.Distance(box, x)); gap > 1e-6 {
			t.Errorf("trial %d: %T: point %v of the restriction is %g outside", trial, s, x, gap)
		}
	}
	if refused > trials*4/5 {
		t.Errorf("%d of %d sets refused: the test tests nothing", refused, trials)
	}
}

// checkEmpty looks for a common point of two sets that are said to have none.
func checkEmpty(t *testing.T, rng *rand.Rand, s geometry.Set, box *geometry.Box, err error) {
	t.Helper()
	x := normals(rng, s.Dim())
	for range 2000 { // alternating projections
		s.Project(x, x)
		box.Project(x, x)
	}
	if gap := oracle.Distance(s, x); gap < 1e-9 {
		t.Errorf("%T and box %v–%v are said to be disjoint, but share %v (up to %g): %v", s, box.Lower(), box.Upper(),
			x, gap, err)
	}
}

// TestClosedFormsAgree compares the closed form of a box cut by a half-space with the
// polytope of the same rows.
func TestClosedFormsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 71))
	compared := 0
	for range 400 {
		d := 2 + rng.IntN(4)
		lower := ints(rng, d, 3)
		upper := make([]float64, d)
		for i, l := range lower {
			upper[i] = l + float64(rng.IntN(4))
		}
		box, _ := geometry.NewBox(lower, upper)
		half, err := geometry.NewHalfspace(ints(rng, d, 2), float64(rng.IntN(9)-4))
		if err != nil {
			continue
		}
		closed, err := geometry.Restrict(half, box)
		if err != nil {
			continue
		}
		rows, _ := box.Rows()
		var a [][]float64
		var b []float64
		for k, r := range rows.A {
			a, b = append(a, r), append(b, rows.B[k])
			if k < rows.Equalities {
				minus := make([]float64, d)
				for i, v := range r {
					minus[i] = -v
				}
				a, b = append(a, minus), append(b, -rows.B[k])
			}
		}
		polytope, err := geometry.NewPolytope(append(a, half.Normal()), append(b, half.Offset()))
		if err != nil {
			t.Errorf("box %v–%v and %v ≤ %g: %v", lower, upper, half.Normal(), half.Offset(), err)
			continue
		}
		compared++
		x, y := make([]float64, d), make([]float64, d)
		for range 5 {
			p, dir := ints(rng, d, 9), ints(rng, d, 2)
			faces := closed.(oracle.FaceProjector)
			for what, ask := range map[string]func(dst []float64, of oracle.FaceProjector){
				"projection": func(dst []float64, of oracle.FaceProjector) { of.(geometry.Set).Project(dst, p) },
				"face":       func(dst []float64, of oracle.FaceProjector) { of.ProjectFace(dst, dir, p) },
			} {
				ask(x, faces)
				ask(y, polytope)
				for i, v := range x {
					if math.Abs(v-y[i]) > 1e-9 {
						t.Fatalf("%s of %v, %v on box %v–%v, %v ≤ %g: closed form %v, polytope %v", what, p, dir, lower,
							upper, half.Normal(), half.Offset(), x, y)
					}
				}
			}
			if h, g := oracle.Support(closed, dir), oracle.Support(polytope, dir); math.Abs(h-g) > 1e-9 {
				t.Fatalf("support in %v: closed form %g, polytope %g", dir, h, g)
			}
		}
	}
	if compared < 50 {
		t.Errorf("only %d comparisons", compared)
	}
}

// TestImagesOfEllipsoids compares images of balls and of ellipsoids with their definition: the support function is that
// of the set in the direction matrixᵀ·dir, and no point of the image is on the other side of a projection. Only flat
// and thin ones need to be projected on by the minimum-norm point.
func TestImagesOfEllipsoids(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 4))
	for trial := range 200 {
		d, rows := 1+rng.IntN(4), 1+rng.IntN(4)
		matrix, shift, unit := make([][]float64, rows), normals(rng, rows), math.Pow(10, float64(rng.IntN(21)-10))
		floats.Scale(unit, shift)
		for i := range matrix {
			matrix[i] = normals(rng, d)
			floats.Scale(unit, matrix[i])
		}
		ball, err := geometry.NewBall(normals(rng, d), 0.1+rng.Float64())
		if err != nil {
			t.Fatal(err)
		}
		thin := rows > 1 && rng.IntN(4) == 0
		if thin {
			for i, v := range matrix[0] {
				matrix[rows-1][i] = v + 1e-8*matrix[rows-1][i]
			}
		}
		set := geometry.Compact(ball)
		if rng.IntN(2) == 0 {
			shape := make([][]float64, d)
			for i := range shape {
				shape[i] = make([]float64, d)
				shape[i][i] = 0.1 + rng.Float64()
			}
			set, err = geometry.NewEllipsoid(normals(rng, d), shape)
			if err != nil {
				t.Fatal(err)
			}
		}
		image, err := geometry.NewImage(matrix, shift, set)
		if err != nil {
			t.Fatal(err)
		}
		if _, closed := image.(*geometry.Ellipsoid); closed != (rows <= d && !thin) {
			t.Errorf("trial %d: the image of %d coordinates in %d: closed form %v", trial, d, rows, closed)
		}
		near := make([]float64, rows)
		for range 10 {
			x := normals(rng, rows)
			back := make([]float64, d)
			for i, row := range matrix {
				floats.AddScaled(back, x[i], row)
			}
			want := floats.Dot(shift, x) + oracle.Support(set, back)
			if got := oracle.Support(image, x); math.Abs(got-want) >= 1e-12*(unit+math.Abs(want)) {
				t.Errorf("trial %d: support %v in direction %v: want %v", trial, got, x, want)
			}
			floats.Scale(5*unit, x)
			image.Project(near, x)
			floats.Sub(x, near)
			if beyond := oracle.Support(image, x) - floats.Dot(x, near); beyond > 1e-7*unit*unit {
				t.Errorf("trial %d: a point is %v beyond the projection", trial, beyond)
			}
		}
	}
}

// TestTurned: a hull and a polytope that are turned and moved have answers that are turned and moved, and flat ones no
// room inside.
func TestTurned(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 6))
	for trial := range 200 {
		d := 1 + rng.IntN(4)
		turn, shift := turned(rng, d), normals(rng, d)
		forth := func(x []float64, by float64) []float64 {
			y := make([]float64, d)
			for i, row := range turn {
				y[i] = floats.Dot(row, x) + by*shift[i]
			}
			return y
		}
		var points, a, back [][]float64
		flat := rng.IntN(3) == 0
		for range 1 + rng.IntN(8) {
			p := ints(rng, d, 2)
			if flat {
				p[d-1] = floats.Sum(p[:d-1])
			}
			points = append(points, p)
		}
		hull, err := geometry.NewHull(points)
		if err != nil {
			t.Fatal(err)
		}
		moved, err := geometry.NewImage(turn, shift, hull)
		if err != nil {
			t.Fatal(err)
		}
		sets := [][2]geometry.Compact{{hull, moved}}
		checkHullOf(t, rng, trial, points, hull)
		if len(points) <= d || flat {
			for _, s := range sets[0] {
				if room := s.(geometry.Interior).InteriorPoint(make([]float64, d)); room != 0 {
					t.Errorf("trial %d: room %g in the flat hull of %v", trial, room, points)
				}
			}
		}
		var b, to []float64
		for _, row := range append(points, corners(slices.Repeat([]float64{-1}, d), 2)...) {
			if floats.Norm(row, 1) > 0 {
				a, b = append(a, row), append(b, float64(1+rng.IntN(3)))
				back = append(back, forth(row, 0))
				to = append(to, b[len(b)-1]+floats.Dot(back[len(back)-1], shift))
			}
		}
		one, err := geometry.NewPolytope(a, b)
		if err != nil {
			t.Fatal(err)
		}
		two, err := geometry.NewPolytope(back, to)
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, [2]geometry.Compact{one, two})
		x, y := make([]float64, d), make([]float64, d)
		for _, pair := range sets {
			for range 6 {
				p, dir := ints(rng, d, 4), ints(rng, d, 1)
				pair[0].Project(x, p)
				pair[1].Project(y, forth(p, 1))
				if gap := floats.Distance(forth(x, 1), y, 2); gap > 1e-9 {
					t.Errorf("trial %d: %T: the projection %v of %v is another when turned, by %g", trial, pair[0], x, p, gap)
				}
				pair[0].(oracle.FaceProjector).ProjectFace(x, dir, p)
				pair[1].(oracle.FaceProjector).ProjectFace(y, forth(dir, 0), forth(p, 1))
				if gap := floats.Distance(forth(x, 1), y, 2); gap > 1e-8 {
					t.Errorf("trial %d: %T: of what is extreme in direction %v the nearest to %v is %v, another when "+
						"turned, by %g", trial, pair[0], dir, p, x, gap)
				}
			}
		}
	}
}

// checkHullOf: the hull of hulls, of single points and of points that nearly agree is that of all points.
func checkHullOf(t *testing.T, rng *rand.Rand, trial int, points [][]float64, whole geometry.Compact) {
	t.Helper()
	d := len(points[0])
	var parts []geometry.Compact
	for at := 0; at < len(points); {
		n := 1 + rng.IntN(len(points)-at)
		part, err := geometry.NewHull(points[at : at+n])
		if err != nil {
			t.Fatal(err)
		}
		one, err := geometry.NewPoint(points[at])
		if err != nil {
			t.Fatal(err)
		}
		if n == 1 && rng.IntN(2) == 0 {
			parts = append(parts, one)
		} else {
			parts = append(parts, part)
		}
		at += n
	}
	hull, err := geometry.NewConvexHull(parts...)
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		dir := normals(rng, d)
		h, want := oracle.Support(hull, dir), oracle.Support(whole, dir)
		if math.Abs(h-want) >= 1e-12*(1+math.Abs(want)) {
			t.Errorf("trial %d: hulls of parts of %v reach %g in direction %v: want %g", trial, points, h, dir, want)
		}
	}
	beside, x := slices.Clone(points[0]), make([]float64, d)
	beside[rng.IntN(d)] += 1e-6
	near, err := geometry.NewHull(append(slices.Clone(points), beside))
	if err != nil {
		t.Fatal(err)
	}
	if near.Project(x, beside); floats.Distance(x, beside, 2) > 1e-9 {
		t.Errorf("trial %d: %v is not in its hull with %v", trial, beside, points)
	}
}

// TestFarFromFaces: a polytope whose rows are not told, cut by a cone that it is inside of, has the polytope's
// projections: also those of far points in directions that tie on a face, or all but tie.
func TestFarFromFaces(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 9))
	for trial := range 40 {
		d := 2 + rng.IntN(2)
		a, b := corners(slices.Repeat([]float64{-1}, d), 2), make([]float64, 1<<d)
		for k := range a {
			floats.Add(a[k], normals(rng, d))
			b[k] = 1 + rng.Float64()
		}
		polyhedron := set[*geometry.Polyhedron](t)(geometry.NewPolyhedron(a, b))
		box := set[*geometry.BoundedBox](t)(geometry.NewLInfBall(make([]float64, d), 3))
		polytope := set[geometry.Compact](t)(geometry.Restrict(polyhedron, box.Box))
		cone := set[geometry.Set](t)(geometry.NewTranslate(set[*geometry.SecondOrderCone](t)(
			geometry.NewSecondOrderCone(d)), append(make([]float64, d-1), -9)))
		iterated := set[geometry.Set](t)(geometry.NewIntersection(bare(polytope), cone))
		got, want := make([]float64, d), make([]float64, d)
		dir := slices.Clone(a[rng.IntN(len(a))])
		if trial%2 == 0 {
			floats.AddScaled(dir, math.Pow(10, -3-6*rng.Float64()), normals(rng, d))
		}
		x := normals(rng, d)
		floats.AddScaled(x, math.Pow(10, 1+4*rng.Float64())/floats.Norm(dir, 2), dir)
		iterated.Project(got, x)
		polytope.Project(want, x)
		if off := floats.Distance(got, want, 2); off > 1e-6 {
			t.Errorf("trial %d: %T: the projection of %v is off by %g", trial, iterated, x, off)
		}
	}
}

// TestFarFromCurves: a point of what ellipsoids and cones have in common is the nearest one to all points on its
// normal, however far away.
func TestFarFromCurves(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 10))
	met := 0
	for trial := range 300 {
		d := 2 + rng.IntN(2)
		var parts []geometry.Set
		for range 2 {
			shape := turned(rng, d)
			for _, row := range shape {
				floats.Scale(math.Pow(10, rng.Float64()-0.5), row)
			}
			matrix := make([][]float64, d)
			for i := range matrix {
				matrix[i] = make([]float64, d)
				for _, row := range shape {
					floats.AddScaled(matrix[i], row[i]*floats.Norm(row, 2), row)
				}
			}
			parts = append(parts, set[*geometry.Ellipsoid](t)(geometry.NewEllipsoid(normals(rng, d), matrix)))
		}
		if trial%2 == 0 {
			parts[1] = set[*geometry.SecondOrderCone](t)(geometry.NewSecondOrderCone(d))
		}
		common, err := geometry.NewIntersection(parts...)
		if err != nil {
			continue
		}
		met++
		near, x := make([]float64, d), normals(rng, d)
		floats.Scale(math.Pow(10, 7+7*rng.Float64()), x)
		common.Project(near, x)
		floats.Sub(x, near)
		floats.AddScaledTo(x, near, 10/floats.Norm(x, 2), x)
		common.Project(x, x)
		if off := floats.Distance(x, near, 2); off > 1e-5 {
			t.Errorf("trial %d: %T: %v is not the nearest point to what lies along its normal, by %g", trial, common, near,
				off)
		}
	}
	if met < 20 {
		t.Errorf("%d sets that meet", met)
	}
}
