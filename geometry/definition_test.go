package geometry_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/geometry"
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// checkDefinition compares a set with its definition: projections, bounds, the ball around a point inside and
// what separates are those of the points that the definition lets in.
func checkDefinition(t *testing.T, rng *rand.Rand, trial int, s defined) (inside int) {
	t.Helper()
	const tol = 1e-4 // where sets barely touch projections are not exact
	d := s.set.Dim()
	near, lower, upper := make([]float64, d), make([]float64, d), make([]float64, d)
	bounds, bounded := s.set.(geometry.Bounder)
	if bounded {
		bounds.Bounds(lower, upper)
	}
	if able := abilities(s.set); able < s.able {
		t.Fatalf("trial %d: %T has the abilities %d, what it is made of %d", trial, s.set, able, s.able)
	}
	var members [][]float64
	for range 25 {
		if x := ints(rng, d, 4); s.excess(x) <= 0 {
			members = append(members, x)
		}
	}
	for n := range 7 {
		x := normals(rng, d)
		floats.Scale(3, x)
		size := 1 + floats.Norm(x, 2)
		if n == 6 {
			floats.Scale(1e6, x)
		}
		s.set.Project(near, x)
		size += floats.Norm(near, 2)
		if over := s.excess(near); over > tol*size {
			t.Fatalf("trial %d: %T: the projection %v of %v is outside by %g", trial, s.set, near, x, over)
		}
		if gap := floats.Distance(x, near, 2); n < 6 && (!geometry.Contains(s.set, x, gap) ||
			gap > 0 && geometry.Contains(s.set, x, 0.999*gap)) {
			t.Fatalf("trial %d: %T: %v is not said to be as far as its projection %v", trial, s.set, x, near)
		}
		floats.Sub(x, near)
		checkNearer(t, rng, trial, s, near, x)
		for _, y := range members {
			more := floats.Dot(x, y) - floats.Dot(x, near)
			if more > tol*(1+floats.Norm(x, 2))*(size+floats.Norm(y, 2)) {
				t.Fatalf("trial %d: %T: the point %v is nearer than the projection %v by %g", trial, s.set, y, near, more)
			}
		}
	}
	for _, y := range members {
		for i, v := range y {
			if bounded && (v < lower[i]-tol || v > upper[i]+tol) {
				t.Fatalf("trial %d: %T: the point %v is out of the bounds %v–%v", trial, s.set, y, lower, upper)
			}
		}
		if offset, missed := geometry.Separate(s.set, near, y); missed > tol || floats.Dot(near, y) > offset+tol {
			t.Fatalf("trial %d: %T: the point %v is separated by %g", trial, s.set, y, missed)
		}
	}
	checkExtremes(t, rng, trial, s, members)
	checkRows(t, rng, trial, s)
	for n := range 9 {
		x, small := ints(rng, d, 5), 1e-3
		if gap := oracle.Distance(s.set, x); n > 5 && gap > small { // next to the set
			s.set.Project(near, x)
			floats.SubTo(x, x, near)
			floats.AddScaledTo(x, near, 1e-4/gap, x)
			small = 5e-5
		}
		offset, missed := geometry.Separate(s.set, near, x)
		if gap := oracle.Distance(s.set, x); gap > small && !(missed > 0 && missed <= gap+tol*(1+gap) &&
			floats.Dot(near, x)-offset > 0.9*missed && math.Abs(floats.Norm(near, 2)-1) < 1e-6) {
			t.Fatalf("trial %d: %T: the point %v at a distance of %g is separated by %v ≤ %g, and missed by %g", trial,
				s.set, x, gap, near, offset, missed)
		}
	}
	if c, ok := s.set.(geometry.Interior); ok {
		radius := c.InteriorPoint(near)
		checkMiddle(t, trial, s.set, near)
		room := s.room
		for _, y := range members {
			room = max(room, roomInRows(s.set, y))
		}
		if radius < room-1e-6*(1+room) {
			t.Fatalf("trial %d: %T: %v has the room %g: want %g at least", trial, s.set, near, radius, room)
		}
		for range 5 {
			x := normals(rng, d)
			floats.AddScaledTo(x, near, min(radius, 1e3)/max(floats.Norm(x, 2), 1e-9), x)
			if over := s.excess(x); over > tol*(1+floats.Norm(x, 2)) {
				t.Fatalf("trial %d: %T: a point at a distance of %g from %v is outside by %g", trial, s.set, radius, near,
					over)
			}
		}
	}
	return len(members)
}

// checkNearer: the nearest point to what lies on the way back to it is the same one.
func checkNearer(t *testing.T, rng *rand.Rand, trial int, s defined, near, way []float64) {
	t.Helper()
	again, far := make([]float64, len(near)), floats.Norm(way, 2)
	share, tol := math.Pow(10, -8*rng.Float64()), 1e-9*(1+floats.Norm(near, 2)+far)
	if _, closed := s.set.(oracle.FaceProjector); !closed { // where sets barely touch projections are not exact
		if far < 1e4 {
			return
		}
		share, tol = 10/far, 5e-3*(1+floats.Norm(near, 2))
	}
	floats.AddScaledTo(again, near, share, way)
	s.set.Project(again, again)
	if off := floats.Distance(again, near, 2); off > tol {
		t.Fatalf("trial %d: %T: the projection of %v + %g·%v is another by %g", trial, s.set, near, share, way, off)
	}
}

// checkRows: what satisfies the rows of a set is what its definition lets in.
func checkRows(t *testing.T, rng *rand.Rand, trial int, s defined) {
	t.Helper()
	p, ok := s.set.(geometry.Polyhedral)
	if !ok {
		return
	}
	rows, ok := p.Rows()
	for range 20 {
		x := ints(rng, s.set.Dim(), 4)
		most := math.Inf(-1)
		for k, a := range rows.A {
			over := (floats.Dot(a, x) - rows.B[k]) / floats.Norm(a, 2)
			if k < rows.Equalities {
				over = math.Abs(over)
			}
			most = max(most, over)
		}
		if over := s.excess(x); ok && (most <= 1e-9 && over > 1e-6 || over <= 0 && most > 1e-6) {
			t.Fatalf("trial %d: %T: the point %v is outside by %g, and out of the rows by %g", trial, s.set, x, over, most)
		}
	}
}

// roomInRows is how far a point is from the rows of a polyhedron, whose interior point is the one farthest from them.
func roomInRows(s geometry.Set, x []float64) float64 {
	room := 0.0
	p, ok := s.(*geometry.Polytope)
	if !ok {
		return room
	}
	rows, _ := p.Rows()
	if rows.Equalities == 0 {
		room = math.Inf(1)
	}
	for i, a := range rows.A {
		room = min(room, (rows.B[i]-floats.Dot(a, x))/floats.Norm(a, 2))
	}
	return room
}

// checkExtremes: an extreme point is in the set, no member is beyond it, and of all that are as far the nearest is
// given if the set resolves ties.
func checkExtremes(t *testing.T, rng *rand.Rand, trial int, s defined, members [][]float64) {
	t.Helper()
	const tol = 1e-4
	c, ok := s.set.(geometry.Compact)
	if !ok {
		return
	}
	faces, resolves := s.set.(oracle.FaceProjector)
	d := c.Dim()
	best := make([]float64, d)
	low, high, lower, upper := make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d)
	_, box := s.set.(*geometry.BoundedBox)
	bounds, bounded := s.set.(geometry.Bounder)
	if bounded {
		bounds.Bounds(lower, upper)
		oracle.Extremes(c, low, high)
	}
	off := floats.Distance(lower, low, math.Inf(1)) + floats.Distance(upper, high, math.Inf(1))
	if bounded && resolves && off > 1e-8 {
		t.Fatalf("trial %d: %T goes from %v to %v: its bounds %v and %v are others", trial, s.set, low, high, lower, upper)
	}
	fat := slices.ContainsFunc(members, func(x []float64) bool { return s.excess(x) < -0.05 })
	for n := range 6 {
		dir, x := ints(rng, d, 1), ints(rng, d, 5)
		switch n % 3 {
		case 0:
			dir = normals(rng, d)
		case 1: // all but tied
			floats.AddScaled(dir, math.Pow(10, -3-7*rng.Float64()), normals(rng, d))
		}
		c.MaximizeLinear(best, dir)
		middle := slices.Clone(s.anchor)
		switch s.set.(type) {
		case *geometry.BoundedBox, *geometry.Ball, *geometry.Ellipsoid, *geometry.Polytope: // ties: next to the middle
			middle = make([]float64, d)
			s.set.(geometry.Interior).InteriorPoint(middle)
		}
		if middle != nil {
			faces.ProjectFace(middle, dir, middle)
			if off := floats.Distance(middle, best, 2); n%3 == 2 && off > 1e-7*(1+floats.Norm(best, 2)) {
				t.Fatalf("trial %d: %T: of what is extreme in direction %v %v is not next to the middle, which is %v", trial,
					s.set, dir, best, middle)
			}
		}
		corner := firstCorner(s.set, dir)
		if corner != nil && floats.Distance(corner, best, 2) > 1e-12*(1+floats.Norm(best, 2)) {
			t.Fatalf("trial %d: %T: %v is extreme in direction %v: want the first corner %v", trial, s.set, best, dir, corner)
		}
		most, size, length := floats.Dot(dir, best), 1+floats.Norm(best, 2), floats.Norm(dir, 2)
		if least, reach := geometry.LinearRange(dir, lower, upper); bounded && (most < least-tol*size ||
			most > reach+tol*size || box && math.Abs(most-reach) > 1e-9*size) {
			t.Fatalf("trial %d: %T: %v reaches to %g in direction %v, but its bounds from %g to %g", trial, s.set, best, most,
				dir, least, reach)
		}
		if over := s.excess(best); over > tol*size {
			t.Fatalf("trial %d: %T: the extreme point %v in direction %v is outside by %g", trial, s.set, best, dir, over)
		}
		far := make([]float64, d)
		floats.AddScaled(far, 1e8, dir)
		c.Project(far, far)
		if short := most - floats.Dot(dir, far); fat && (short > 0.1*tol*size || short < -0.01*tol*size) {
			t.Fatalf("trial %d: %T: the projection from afar in direction %v is %v, short of %v by %g", trial, s.set, dir,
				far, best, short)
		}
		face := best
		if resolves {
			face = make([]float64, d)
			faces.ProjectFace(face, dir, x)
			if over := s.excess(face); over > tol*size || math.Abs(floats.Dot(dir, face)-most) > 1e-10*length*size {
				t.Fatalf("trial %d: %T: the extreme point %v nearest to %v in direction %v is outside by %g, or not as "+
					"far as %v", trial, s.set, face, x, dir, over, best)
			}
		}
		for _, y := range members {
			value := floats.Dot(dir, y)
			if value > most+tol*size {
				t.Fatalf("trial %d: %T: the point %v is beyond %v in direction %v", trial, s.set, y, best, dir)
			}
			nearer := floats.Distance(face, x, 2) - floats.Distance(y, x, 2)
			if resolves && value > most-1e-14*length*size && nearer > tol*size {
				t.Fatalf("trial %d: %T: of what is extreme in direction %v the point %v is nearer to %v than %v", trial,
					s.set, dir, y, x, face)
			}
		}
	}
}

// firstCorner returns the corner on the axis of the first largest entry, of sets that answer with that.
func firstCorner(s geometry.Set, dir []float64) (corner []float64) {
	corner = make([]float64, len(dir))
	switch s := s.(type) {
	case *geometry.Simplex:
		s.InteriorPoint(corner)
		total := floats.Sum(corner)
		clear(corner)
		corner[slices.Index(dir, slices.Max(dir))] = total
	case *geometry.L1Ball:
		radius := s.InteriorPoint(corner) * math.Sqrt(float64(len(dir)))
		most := floats.Norm(dir, math.Inf(1))
		i := slices.IndexFunc(dir, func(v float64) bool { return math.Abs(v) == most })
		if most > 0 {
			corner[i] += math.Copysign(radius, dir[i])
		}
	default:
		return nil
	}
	return corner
}

// checkMiddle: the interior points of cones and half-spaces, which have no middle, are where they are said to be.
func checkMiddle(t *testing.T, trial int, s geometry.Set, middle []float64) {
	t.Helper()
	want := make([]float64, len(middle))
	switch s := s.(type) {
	case *geometry.SecondOrderCone:
		want[len(want)-1] = math.Sqrt(float64(min(len(want), 2)))
	case *geometry.Halfspace:
		length := floats.Norm(s.Normal(), 2)
		floats.AddScaled(want, (s.Offset()/length-1)/length, s.Normal())
	default:
		return
	}
	if off := floats.Distance(want, middle, 2); off > 1e-9*(1+floats.Norm(want, 2)) {
		t.Fatalf("trial %d: %T has the interior point %v: want %v", trial, s, middle, want)
	}
}

// TestDefinitions compares random sets, as they are and cut again and again by boxes and other sets, with their
// definitions.
func TestDefinitions(t *testing.T) {
	inside, trials := 0, 800
	if raceEnabled {
		trials = 400
	}
	for trial := range trials {
		inside += checkDrawn(t, trial)
	}
	if inside < 1000 {
		t.Errorf("%d points inside: want many", inside)
	}
}

// checkDrawn draws the set of a trial and cuts it, and returns how many points were found inside.
func checkDrawn(t *testing.T, trial int) (inside int) {
	t.Helper()
	rng := newDrawer(rand.New(rand.NewPCG(23, uint64(trial))))
	d := 1 + rng.IntN(3)
	if trial%40 == 1 {
		d = 7
	}
	s, err := drawAny(rng, d, trial)
	for range 5 {
		if err != nil {
			break
		}
		if c, refused := geometry.CompactOf(s.set); refused == nil && rng.IntN(3) == 0 {
			s.set, s.room, s.able = c, 0, 1
			low, high := make([]float64, d), make([]float64, d)
			oracle.Extremes(c, low, high)
			if floats.HasNaN(append(low, high...)) || math.IsInf(floats.Norm(append(low, high...), 1), 0) {
				t.Fatalf("trial %d: %T is bounded, but goes from %v to %v", trial, c, low, high)
			}
		} else if refused != nil && !errors.Is(refused, geometry.ErrUnbounded) {
			t.Fatalf("trial %d: %T: %v", trial, s.set, refused)
		}
		inside += checkDefinition(t, rng.Rand, trial, s)
		if s.iterate {
			break
		}
		s.room, s.able, s.anchor = 0, 0, nil
		before, lower, upper := s.excess, ints(rng.Rand, d, 3), make([]float64, d)
		if other, wrong := drawDefined(rng, d, 0); rng.IntN(2) == 0 && wrong == nil {
			both := []geometry.Set{s.set, other.set}
			if rng.IntN(2) == 0 {
				slices.Reverse(both)
			}
			s.set, err = geometry.NewIntersection(both...)
			s.excess = func(x []float64) float64 { return max(before(x), other.excess(x)) }
			continue
		}
		for i, l := range lower {
			if upper[i] = l + float64(rng.IntN(7)); rng.IntN(3) == 0 {
				lower[i] -= 9
			}
		}
		box, _ := geometry.NewBox(lower, upper)
		s.able = 1
		if ball, ok := s.set.(*geometry.Ball); ok {
			s.anchor = make([]float64, d)
			ball.InteriorPoint(s.anchor)
		}
		switch s.set.(type) {
		case *geometry.Box, *geometry.Ball, *geometry.Halfspace, *geometry.Point, *geometry.Polyhedron:
			s.able = 2 // closed forms and polytopes
		}
		s.set, err = geometry.Restrict(s.set, box)
		s.excess = func(x []float64) float64 {
			over := oracle.Distance(box, x)
			if over < 0.5 {
				over = max(over, before(x))
			}
			return over
		}
	}
	if errors.Is(err, geometry.ErrEmpty) {
		for range 40 {
			if x := ints(rng.Rand, d, 4); s.excess != nil && s.excess(x) < -1e-9 {
				t.Fatalf("trial %d: the point %v is in a set that is said to be empty: %v", trial, x, err)
			}
		}
	}
	return inside
}

// TestPreimages compares preimages of products of a drawn set and lines or half-lines with their definition. The map
// takes most of these to the same number, which they end at, whatever x is.
func TestPreimages(t *testing.T) {
	inside := 0
	for trial := range 70 {
		rng := newDrawer(rand.New(rand.NewPCG(26, uint64(trial))))
		d := 1 + rng.IntN(3)
		in, err := drawDefined(rng, d, 0)
		if err != nil {
			continue
		}
		var factors []geometry.Set
		var matrix, rows [][]float64
		equal := make([]bool, 1+rng.IntN(3))
		for k := range equal {
			scale, level := float64(1+rng.IntN(2))*float64(1-2*rng.IntN(2)), float64(rng.IntN(3)-1)
			var factor geometry.Set = set[*geometry.Halfspace](t)(geometry.NewHalfspace([]float64{scale}, scale*level))
			if equal[k] = rng.IntN(3) > 0; equal[k] {
				line, at := [][]float64{{scale}}, []float64{scale * level}
				factor = set[*geometry.Polyhedron](t)(geometry.NewAffine(line, at))
			}
			row := make([]float64, d+1)
			if rng.IntN(3) == 0 {
				row[rng.IntN(d)] = float64(1 - 2*rng.IntN(2))
			}
			row[d] = level
			factors, matrix = append(factors, factor), append(matrix, row)
			rows = append(rows, floats.ScaleTo(make([]float64, d), scale, row[:d]))
		}
		at := rng.IntN(len(factors) + 1) // of the drawn set
		block := make([][]float64, d)
		for i := range block {
			block[i] = ints(rng.Rand, d+1, 1)
			block[i][i] += 2
		}
		factors, matrix = slices.Insert(factors, at, in.set), slices.Insert(matrix, at, block...)
		whole, err := geometry.NewProduct(factors...)
		if err != nil {
			t.Fatal(err)
		}
		shift := make([]float64, len(matrix))
		for i, row := range matrix {
			shift[i], matrix[i] = row[d], row[:d]
		}
		back, err := geometry.NewPreimage(matrix, shift, whole)
		if err == nil && trial%2 == 1 {
			back, err = geometry.NewIntersection(back) // alone
		}
		s := defined{set: back, excess: func(x []float64) float64 {
			y := make([]float64, d)
			for i, row := range block {
				y[i] = row[d] + floats.Dot(row[:d], x)
			}
			most := in.excess(y)
			for k, row := range rows {
				over := floats.Dot(row, x)
				if equal[k] {
					over = math.Abs(over)
				}
				most = max(most, over)
			}
			return most
		}}
		if errors.Is(err, geometry.ErrEmpty) {
			continue
		}
		if err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		inside += checkDefinition(t, rng.Rand, trial, s)
	}
	if inside < 60 {
		t.Errorf("%d points inside: want many", inside)
	}
}

// TestOtherUnits: in units that are powers of two all numbers are the same but for their exponents. So are the answers.
func TestOtherUnits(t *testing.T) {
	for trial := range 800 {
		var sets [2]defined
		var errs [2]error
		size := math.Ldexp(1, []int{-30, -10, 20, 40}[trial/2%4])
		for k, unit := range []float64{1, size} {
			rng := newDrawer(rand.New(rand.NewPCG(24, uint64(trial))))
			rng.unit = unit
			sets[k], errs[k] = drawAny(rng, 1+trial%3, trial)
			if errs[k] != nil {
				continue
			}
			if c, err := geometry.CompactOf(sets[k].set); err == nil {
				sets[k].set = c
			}
		}
		if second := errs[1]; second != nil && strings.Contains(second.Error(), "comes nearer than about") {
			continue // where sets touch at the origin nothing tells what their rounding amounts to
		}
		one, two := fmt.Sprintf("%T", sets[0].set), fmt.Sprintf("%T", sets[1].set)
		if (errs[0] == nil) != (errs[1] == nil) || errs[0] == nil && one != two ||
			errors.Is(errs[0], geometry.ErrEmpty) != errors.Is(errs[1], geometry.ErrEmpty) {
			t.Errorf("trial %d: %s or %v, and in units of %g %s or %v", trial, one, errs[0], size, two, errs[1])
			continue
		}
		if errs[0] != nil {
			continue
		}
		a, b := answersIn(sets[0].set, trial, 1), answersIn(sets[1].set, trial, size)
		tol := 1e-9
		if _, closed := sets[0].set.(oracle.FaceProjector); !closed {
			tol = 1e-4
		}
		for what, x := range a {
			for i, v := range b[what] {
				if off := math.Abs(x[i] - v); off > tol*(1+floats.Norm(x, math.Inf(1))) {
					t.Errorf("trial %d: %s: %s %v, and in units of %g %v", trial, one, what, x, size, b[what])
					break
				}
			}
		}
	}
}

// answersIn returns what a set answers to questions in a unit.
func answersIn(s geometry.Set, trial int, unit float64) map[string][]float64 {
	rng, d := newDrawer(rand.New(rand.NewPCG(25, uint64(trial)))), s.Dim()
	rng.unit = unit
	answers := make(map[string][]float64)
	keep := func(what string, by float64, x ...float64) {
		y := slices.Clone(x)
		floats.Scale(1/by, y)
		answers[what] = append(answers[what], y...)
	}
	c, compact := s.(geometry.Compact)
	faces, resolves := s.(oracle.FaceProjector)
	lower, upper, y := make([]float64, d), make([]float64, d), make([]float64, d)
	for n := range 6 {
		x, dir := rng.lengths(d, 5), ints(rng.Rand, d, 2)
		if n%2 == 0 {
			floats.AddScaled(x, unit, normals(rng.Rand, d))
			floats.AddScaled(dir, math.Pow(10, -float64(rng.IntN(10))), normals(rng.Rand, d))
		}
		s.Project(y, x)
		keep("projections", unit, y...)
		if offset, missed := geometry.Separate(s, y, x); missed > 1e-3*unit {
			keep("separation", unit, offset, missed)
		}
		if compact {
			keep("support", unit, oracle.Support(c, dir))
		}
		if resolves {
			faces.ProjectFace(y, dir, x)
			keep("face", unit, y...)
		}
	}
	if b, ok := s.(geometry.Bounder); ok && compact {
		b.Bounds(lower, upper)
		keep("bounds", unit, append(lower, upper...)...)
	}
	if p, ok := s.(geometry.Interior); ok && compact {
		radius := p.InteriorPoint(y)
		keep("room", unit, append(y, radius)...)
	}
	return answers
}
