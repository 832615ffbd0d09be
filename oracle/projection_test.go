package oracle_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"cmdpsolve/oracle"
)

func TestMinNormOfBall(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, d := range []int{1, 2, 3, 6} {
		b := ball{gaussian(rng, d, 1), 1}
		m := oracle.NewMinNorm(extremes{b})
		for _, far := range []float64{0.5, 2, 1e3, 1e7} {
			x, y, want := gaussian(rng, d, far), make([]float64, d), make([]float64, d)
			gap := m.Nearest(y, x)
			b.Project(want, x)
			off := norm(minus(y, want))
			if off > 1e-6 {
				t.Errorf("dimension %d, point %v: projection %v, want %v", d, x, y, want)
			}
			if off*off > gap+1e-15*(1+norm(x)) {
				t.Errorf("dimension %d: the error %g belies the certificate %g", d, off, gap)
			}
		}
	}
}

// TestMinNormOfHull checks the condition of optimality at every vertex, with repeated,
// flat and thin vertex sets among the instances, in any unit and from near and far.
func TestMinNormOfHull(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	others := make(map[int]*oracle.MinNorm) // of other sets, by dimension
	for range 2000 {
		d := 1 + rng.IntN(6)
		var h hull
		thin := math.Pow(1e-3, float64(rng.IntN(4)))
		for range 1 + rng.IntN(12) {
			p := integers(rng, d, 2)
			if rng.IntN(3) == 0 {
				p[0] = 1
			}
			p[d-1] *= thin
			if len(h) > 0 && rng.IntN(4) == 0 { // hardly another vertex
				p = minus(h[rng.IntN(len(h))], gaussian(rng, d, math.Pow(10, -3-8*rng.Float64())))
			}
			h = append(h, p)
		}
		unit := math.Pow(10, float64(rng.IntN(2)*(rng.IntN(41)-20)))
		x, y := gaussian(rng, d, 3*math.Pow(1e3, float64(rng.IntN(2)*rng.IntN(3)))), make([]float64, d)
		for _, p := range append(h, x) {
			scale(p, unit)
		}
		if others[d] == nil {
			others[d] = oracle.NewMinNorm(box(d))
		}
		gap := others[d].NearestOf(h, y, x)
		out, most := minus(x, y), math.Inf(-1)
		for _, v := range h {
			most = max(most, dot(out, minus(v, y)))
		}
		if most > 1e-11*unit*(unit+norm(x)) || math.Abs(most-gap) > 1e-14*(unit*unit+norm(x)*norm(x)) {
			t.Fatalf("hull %v: %v goes to %v, where a vertex gains %g, certified %g", h, x, y, most, gap)
		}
	}
}

// TestMinNormOfBox: a point of a box is its own nearest point, on sides and edges too, where many steps have length 0.
func TestMinNormOfBox(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 12))
	for range 1500 {
		d := 1 + rng.IntN(7)
		lower, x, y, side := integers(rng, d, 2), gaussian(rng, d, 5), make([]float64, d), 3+rng.Float64()
		var corners hull
		for k := range 1 << d {
			p := slices.Clone(lower)
			for i := range p {
				p[i] += side * float64(k>>i&1)
			}
			corners = append(corners, p)
		}
		for i, v := range lower {
			x[i] = min(max(x[i], v), v+side)
		}
		if gap := oracle.NewMinNorm(corners).Nearest(y, x); norm(minus(x, y)) > 1e-9 {
			t.Fatalf("box [0, %g]^%d + %v: its point %v goes to %v, gap %g", side, d, lower, x, y, gap)
		}
	}
}

// randomRows draws rows of small integers, so that redundant, repeated and
// degenerate ones are common.
func randomRows(rng *rand.Rand, d int) (rows [][]float64, rhs []float64, equalities int) {
	for range 1 + rng.IntN(3*d+2) {
		r := integers(rng, d, 2)
		if norm(r) == 0 {
			r[0] = 1
		}
		rows, rhs = append(rows, r), append(rhs, float64(rng.IntN(7)-1))
	}
	return rows, rhs, min(rng.IntN(3), len(rows))
}

var (
	term   = regexp.MustCompile(`([+-][0-9.e+-]+)·row (\d+)`)
	misses = regexp.MustCompile(`(its set by|nearer than about) (\S+)`)
	proof  = regexp.MustCompile(`total (\S+) on (\d+) separating planes give (\S+) ≤ (\S+):`)
	gives  = regexp.MustCompile(`gives 0 ≤ (\S+):`)
)

// TestActiveSet checks projections of points near and far, in any unit, by their conditions of optimality, verified by
// a cone projection that shares no code, and emptiness by the multipliers in the message.
func TestActiveSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	empty := 0
	for range 4000 {
		d := 1 + rng.IntN(5)
		rows, rhs, equalities := randomRows(rng, d)
		unit := math.Pow(1e-3, float64(rng.IntN(3)))
		scale(rhs, unit)
		if k := rng.IntN(len(rows)); k >= equalities { // one row nearly twice
			rows = slices.Insert(rows, equalities, rows[k])
			rhs = slices.Insert(rhs, equalities, rhs[k]+1e-9*unit)
		}
		apart := unit * math.Pow(10, -1-8*rng.Float64())
		if k := rng.IntN(len(rows)); rng.IntN(8) == 0 { // the row and its opposite contradict each other by little
			rows = append(rows, minus(make([]float64, d), rows[k]))
			rhs = append(rhs, -rhs[k]-apart)
		}
		a, err := oracle.NewActiveSet(rows, rhs, equalities)
		if err != nil {
			empty++
			checkFarkas(t, rows, rhs, equalities, err)
			continue
		}
		x, y := gaussian(rng, d, 5*unit*math.Pow(1e4, float64(rng.IntN(3)))), make([]float64, d)
		a.Project(y, x)
		var normals [][]float64
		for k, r := range rows {
			excess := dot(r, y) - rhs[k]
			if rounding := 1e-12 * (unit + norm(y)); excess > rounding || k < equalities && excess < -rounding {
				t.Fatalf("rows %v ≤ %v: %v goes to %v, which breaks row %d by %g", rows, rhs, x, y, k, excess)
			}
			if excess > -1e-10*unit-1e-13*norm(y) {
				normals = append(normals, r)
			}
			if k < equalities {
				normals = append(normals, minus(make([]float64, d), r))
			}
		}
		out := minus(x, y)
		scale(out, 1/(1+norm(x)))
		if gap := distanceFromCone(normals, out); gap > 1e-7 {
			t.Fatalf("rows %v ≤ %v (%d equal): %v − %v is %g from the normal cone", rows, rhs, equalities, x, y, gap)
		}
		for range 2 { // a level leaves nothing to the next
			checkLevel(t, rng, a, rows, rhs, equalities, unit, gaussian(rng, d, 5*unit))
		}
	}
	if empty < 100 {
		t.Errorf("only %d empty instances", empty)
	}
}

// checkLevel compares a level with one more row, and after that the projection with the one before.
func checkLevel(t *testing.T, rng *rand.Rand, a *oracle.ActiveSet, rows [][]float64, rhs []float64, equalities int,
	unit float64, x []float64) {
	t.Helper()
	dir, level, length := integers(rng, len(x), 2), unit*float64(rng.IntN(9)-4), math.Pow(1e7, float64(rng.IntN(5)-2))
	if norm(dir) == 0 {
		return
	}
	scale(dir, length)
	level *= length
	y, before, want := make([]float64, len(x)), make([]float64, len(x)), make([]float64, len(x))
	a.Project(before, x)
	copy(want, before)
	cut, err := oracle.NewActiveSet(append(slices.Clone(rows), minus(make([]float64, len(x)), dir)),
		append(slices.Clone(rhs), -level), equalities)
	if err == nil {
		cut.Project(want, x)
	}
	top := slices.Clone(dir) // nearly extreme
	scale(top, 1e4*unit/length)
	a.Project(top, top)
	for range 2 {
		if ok := a.ProjectLevel(y, dir, level, x); ok != (err == nil) || norm(minus(y, want)) > 1e-9*(unit+norm(x)) {
			t.Fatalf("rows %v ≤ %v (%d equal), ⟨%v, ·⟩ ≥ %g: %v goes to %v, %v; want %v, for %v", rows, rhs, equalities, dir,
				level, x, y, ok, want, err)
		}
		if a.Project(y, x); norm(minus(y, before)) > 1e-12*(unit+norm(x)) {
			t.Fatalf("rows %v ≤ %v: after a level %v goes to %v, before to %v", rows, rhs, x, y, before)
		}
		a.ProjectLevel(y, dir, dot(dir, top)+1e-14*unit*length, x) // may be above all points, by rounding
	}
}

// distanceFromCone is the distance of v from the cone of the normals, by coordinate
// descent on the multipliers.
func distanceFromCone(normals [][]float64, v []float64) float64 {
	rest := append([]float64(nil), v...)
	mult := make([]float64, len(normals))
	for range 1_000_000 {
		moved := 0.0
		for k, n := range normals {
			m := math.Max(mult[k]+dot(n, rest)/dot(n, n), 0)
			for i := range rest {
				rest[i] -= (m - mult[k]) * n[i]
			}
			moved += math.Abs(m - mult[k])
			mult[k] = m
		}
		if moved < 1e-14 || norm(rest) < 1e-8 {
			break
		}
	}
	return norm(rest)
}

// checkFarkas adds the rows up with the multipliers of the error, which have six digits, and wants what it says.
func checkFarkas(t *testing.T, rows [][]float64, rhs []float64, equalities int, err error) {
	t.Helper()
	if !errors.Is(err, oracle.ErrEmpty) {
		t.Fatal(err)
	}
	total, sum, size := 0.0, make([]float64, len(rows[0])), 0.0
	for _, m := range term.FindAllStringSubmatch(err.Error(), -1) {
		v, _ := strconv.ParseFloat(m[1], 64)
		k, _ := strconv.Atoi(m[2])
		if v < 0 && k >= equalities {
			t.Fatalf("negative multiplier: %v", err)
		}
		total += v * rhs[k]
		size += math.Abs(v * rhs[k])
		for i, a := range rows[k] {
			sum[i] += v * a
		}
	}
	said := math.NaN()
	if m := gives.FindStringSubmatch(err.Error()); m != nil {
		said, _ = strconv.ParseFloat(m[1], 64)
	}
	if norm(sum) > 1e-4 || !(said < 0) || math.Abs(total-said) > 1e-5*size {
		t.Fatalf("rows %v ≤ %v: %v: adds up to %v ≤ %g", rows, rhs, err, sum, total)
	}
}

// TestNearlyParallelRows: two planes at an angle of 1e-9 meet far away or not at all
// within the third; the projection must satisfy all rows that can be satisfied.
func TestNearlyParallelRows(t *testing.T) {
	for _, angle := range []float64{1e-3, 1e-6, 1e-9, 1e-12, 1e-15, 0} {
		rows := [][]float64{{1, 0}, {1, angle}, {-1, angle}, {0, 1}}
		a, err := oracle.NewActiveSet(rows, []float64{1, 1, 1, 5}, 0)
		if err != nil {
			t.Errorf("angle %g: %v", angle, err)
			continue
		}
		y := []float64{7, 9}
		a.Project(y, y)
		if want := 1 - 5*angle; math.Abs(y[0]-want) > 1e-12 || math.Abs(y[1]-5) > 1e-2 {
			t.Errorf("angle %g: projection %v, want about (%g, 5)", angle, y, want)
		}
	}
}

// TestIntersectionOfBalls compares with the closed form of a lens: one of the balls'
// projections, or else the rim.
func TestIntersectionOfBalls(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	for _, d := range []int{2, 3, 6} {
		for _, a := range []float64{0.1, 0.5, 0.9, 0.99} {
			left, right := ball{make([]float64, d), 1}, ball{make([]float64, d), 1}
			left.center[0], right.center[0] = -a, a
			s, err := oracle.NewIntersectionProjector(d, oracle.Member{Set: left}, oracle.Member{Set: right})
			if err != nil {
				t.Fatal(err)
			}
			for range 20 {
				x, y, want := gaussian(rng, d, 3), make([]float64, d), make([]float64, d)
				outside, slack := s.Nearest(y, x)
				if left.Project(want, x); oracle.Distance(right, want) > 1e-15 {
					if right.Project(want, x); oracle.Distance(left, want) > 1e-15 {
						r := norm(x[1:])
						want[0] = 0
						for i := 1; i < d; i++ {
							want[i] = x[i] / r * math.Sqrt(1-a*a)
						}
					}
				}
				if off := norm(minus(y, want)); off > 1e-8 || outside > 1e-11 || slack > 1e-8 {
					t.Fatalf("dimension %d, centres ±%g: %v goes to %v, want %v; outside %g, slack %g", d, a, x, y,
						want, outside, slack)
				}
			}
		}
	}
}

// TestCertificateOfLens: where balls barely meet the slack still bounds what the projection could gain.
func TestCertificateOfLens(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	for _, thin := range []float64{1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12} {
		left, right := ball{[]float64{thin - 1, 0}, 1}, ball{[]float64{1 - thin, 0}, 1}
		s, err := oracle.NewIntersectionProjector(2, oracle.Member{Set: left}, oracle.Member{Set: right})
		if err != nil {
			t.Fatal(err)
		}
		for trial := range 40 {
			x, y := gaussian(rng, 2, 3*math.Pow(10, float64(trial%2*rng.IntN(9)))), make([]float64, 2)
			outside, slack := s.Nearest(y, x)
			if off := max(oracle.Distance(left, y), oracle.Distance(right, y)); off > outside+1e-15 {
				t.Errorf("lens of width %g: %v is outside by %g, certified %g", thin, y, off, outside)
			}
			for k := range 41 { // points of the lens on its axes
				share := float64(k)/20 - 1
				for _, p := range [][]float64{{share * thin, 0}, {0, share * math.Sqrt(thin*(2-thin))}} {
					if more := dot(minus(x, y), minus(p, y)); more > slack*(1+norm(minus(p, y)))+1e-14*(1+norm(x)) {
						t.Errorf("lens of width %g: %v goes to %v, but %v gains %g, certified %g", thin, x, y, p, more, slack)
					}
				}
			}
		}
	}
}

// TestIntersectionInOtherUnits: in units that are powers of 2 apart balls meet or not all the same, and points are
// projected to the same place, as they are on one ball that is known by its maximiser alone.
func TestIntersectionInOtherUnits(t *testing.T) {
	apart := 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 8))
		d := 2 + rng.IntN(2)
		x, first := gaussian(rng, d, 3), gaussian(rng, d, 1)
		way := gaussian(rng, d, 1)
		r1, r2 := 0.5+rng.Float64(), 0.5+rng.Float64()
		far := (r1 + r2) * (1 + math.Pow(10, -7*rng.Float64())*float64(1-2*rng.IntN(2)))
		other := make([]float64, d)
		for i := range other {
			other[i] = first[i] + far*way[i]/norm(way)
		}
		var want []float64
		var failed error
		for _, unit := range []float64{1, 0x1p-60, 0x1p-30, 0x1p30, 0x1p60} {
			in := func(v []float64) []float64 {
				u := make([]float64, d)
				for i := range u {
					u[i] = unit * v[i]
				}
				return u
			}
			s, err := oracle.NewIntersectionProjector(d, oracle.Member{Set: ball{in(first), unit * r1}},
				oracle.Member{Set: ball{in(other), unit * r2}})
			if unit == 1 {
				failed = err
				if err != nil {
					apart++
				}
			}
			one := make([]float64, d)
			oracle.NewMinNorm(extremes{ball{in(first), unit * r1}}).Project(one, in(x))
			nearest := make([]float64, d)
			ball{first, r1}.Project(nearest, x)
			for i := range one {
				one[i] /= unit
			}
			if norm(minus(one, nearest)) > 1e-6*norm(nearest) {
				t.Errorf("seed %d: MinNorm %v in units of %g: want %v", seed, one, unit, nearest)
			}
			if errors.Is(err, oracle.ErrEmpty) != errors.Is(failed, oracle.ErrEmpty) {
				t.Errorf("seed %d: %g apart: %v in units of %g, %v before", seed, far-r1-r2, err, unit, failed)
			}
			if err != nil || failed != nil {
				continue
			}
			got := make([]float64, d)
			s.Project(got, in(x))
			for i := range got {
				got[i] /= unit
			}
			if unit == 1 {
				want = got
			}
			if norm(minus(got, want)) > 1e-9*norm(want) {
				t.Errorf("seed %d: %v in units of %g, %v before", seed, got, unit, want)
			}
		}
	}
	if apart < 15 || apart > 45 {
		t.Errorf("%d of 60 are apart", apart)
	}
}

// TestMappedMembers compares balls that are seen through a map with the balls that they come from, near and far.
func TestMappedMembers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 10))
	for trial := range 60 {
		d := 1 + rng.IntN(4)
		var plain, mapped []oracle.Member
		at := gaussian(rng, d, float64(trial%3))
		for k := range 3 {
			b := ball{minus(at, gaussian(rng, d, 0.2)), 1}
			shift, by, turn := gaussian(rng, d, 2), 0.5+rng.Float64(), rng.Perm(d)
			if trial%4 == 3 { // normals seen through a map are long, and steps creep
				by *= math.Pow(10, -3*rng.Float64())
			}
			seen := ball{make([]float64, d), by * b.radius}
			matrix := make([][]float64, d)
			for i, j := range turn {
				matrix[i] = make([]float64, d)
				matrix[i][j] = by * float64(1-2*rng.IntN(2))
				seen.center[i] = matrix[i][j] * b.center[j]
			}
			plain = append(plain, oracle.Member{Set: b})
			m := oracle.Member{Set: seen, Matrix: matrix}
			switch k {
			case 0: // moved only
				m = oracle.Member{Set: ball{minus(b.center, shift), 1}, Shift: minus(make([]float64, d), shift)}
			case 1:
				m = oracle.Member{Set: ball{minus(seen.center, shift), seen.radius}, Matrix: matrix,
					Shift: minus(make([]float64, d), shift)}
			}
			mapped = append(mapped, m)
		}
		one, err := oracle.NewIntersectionProjector(d, plain...)
		if err != nil {
			t.Fatal(err)
		}
		two, err := oracle.NewIntersectionProjector(d, mapped...)
		if err != nil {
			t.Fatal(err)
		}
		for _, far := range []float64{1, 3, 30, 1e3, 1e4, 1e6, 1e8} {
			x, y, z := gaussian(rng, d, far), make([]float64, d), make([]float64, d)
			_, slack := one.Nearest(y, x)
			_, through := two.Nearest(z, x)
			for _, c := range []struct {
				from, to []float64
				slack    float64
			}{{y, z, slack}, {z, y, through}} {
				way := minus(c.to, c.from)
				if more := dot(minus(x, c.from), way); more > c.slack*(1+norm(way))+1e-9*(1+norm(x)) {
					t.Errorf("trial %d: %v goes to %v, but %v gains %g, certified %g", trial, x, c.from, c.to, more, c.slack)
				}
			}
			if off := norm(minus(y, z)); off > 1e-6 {
				t.Errorf("trial %d: %v goes to %v, and to %v through maps", trial, x, y, z)
			}
			for _, m := range plain {
				if out := oracle.Distance(m.Set, y); out > 1e-9 {
					t.Errorf("trial %d: %v goes to %v, outside by %g", trial, x, y, out)
				}
			}
		}
	}
}

// TestMembersApart: balls on a line, seen as they are, moved or scaled, have no common point if and only if two of them
// are apart, however little, in any unit.
func TestMembersApart(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 11))
	for trial := range 120 {
		d, gap := 1+rng.IntN(4), math.Pow(10, -float64(rng.IntN(8)))*float64(1-2*rng.IntN(2))
		unit := math.Pow(10, float64(rng.IntN(8)-5))
		at, way := gaussian(rng, d, 3*unit), gaussian(rng, d, 1)
		scale(way, 1/norm(way))
		var members []oracle.Member
		for k := range 2 {
			center := slices.Clone(at)
			for i, v := range way {
				center[i] += (2 + gap) * unit * float64(k) * v
			}
			m := oracle.Member{Set: ball{center, unit}}
			switch shift := gaussian(rng, d, 2*unit); rng.IntN(3) {
			case 0:
				m = oracle.Member{Set: ball{minus(center, shift), unit}, Shift: minus(make([]float64, d), shift)}
			case 1:
				scale(center, 2)
				m = oracle.Member{Set: ball{minus(center, shift), 2 * unit}, Shift: minus(make([]float64, d), shift)}
				for i := range d {
					m.Matrix = append(m.Matrix, make([]float64, d))
					m.Matrix[i][i] = 2
				}
			}
			members = append(members, m)
		}
		off, pair := math.Pow(10, -float64(rng.IntN(6)))*float64(1-2*rng.IntN(2)), gap
		still := oracle.Member{Set: ball{at, unit}, Shift: slices.Clone(at)} // the same for all points
		for i, v := range way {
			still.Matrix = append(still.Matrix, make([]float64, d))
			still.Shift[i] += (1 + off) * unit * v
		}
		if rng.IntN(2) == 0 {
			members, gap = append(members, still), max(gap, off)
		}
		_, err := oracle.NewIntersectionProjector(d, members...)
		if (gap > 0) != (err != nil) || err != nil && !errors.Is(err, oracle.ErrEmpty) {
			t.Errorf("trial %d: balls of radius %g in dimension %d that are %g radii apart: error %v", trial, unit, d, gap, err)
		}
		if err == nil {
			continue
		}
		m := misses.FindStringSubmatch(err.Error())
		if m == nil {
			continue
		}
		miss, _ := strconv.ParseFloat(m[2], 64)
		least, most := 0.98*pair*unit/2, 40*pair*unit // half of it is in the middle, and found roughly
		if m[1] == "its set by" {
			least, most = off*unit*(1-1e-5), off*unit*(1+1e-5)
		}
		if miss < least || miss > most {
			t.Errorf("trial %d: %v: want from %g to %g", trial, err, least, most)
		}
		if m = proof.FindStringSubmatch(err.Error()); m != nil { // no point is within more of all planes than this
			total, _ := strconv.ParseFloat(m[1], 64)
			planes, _ := strconv.Atoi(m[2])
			rest, _ := strconv.ParseFloat(m[3], 64)
			value, _ := strconv.ParseFloat(m[4], 64)
			if bound := -value / total / (pair * unit / 2); bound < 0.1 || bound > 1+1e-5 || rest > 0.01 || planes < 2 {
				t.Errorf("trial %d: %v: proves %g of what is missed", trial, err, bound)
			}
		}
	}
}

// seen returns the image of x under the map of a member, and r as a row before that map.
func seen(m oracle.Member, x, r []float64) (image, back []float64) {
	image, back = slices.Clone(x), slices.Clone(r)
	if m.Matrix != nil {
		image, back = nil, make([]float64, len(x))
		for i, row := range m.Matrix {
			image = append(image, dot(row, x))
			for j, v := range row {
				back[j] += r[i] * v
			}
		}
	}
	for i, v := range m.Shift {
		image[i] += v
	}
	return image, back
}

// drawSeen draws a polyhedron around the image of a point under a map, and its rows, the first with equality or none,
// as they are before the map. The rows of an uneven map differ in length by up to 10 to that power.
func drawSeen(t *testing.T, rng *rand.Rand, at []float64, unit, uneven float64) (m oracle.Member, rows [][]float64,
	sides []float64, equalities int) {
	t.Helper()
	n := len(at)
	if rng.IntN(3) > 0 {
		n = 1 + rng.IntN(4)
		for range n {
			length := 1.0
			if uneven > 0 {
				length = math.Pow(10, -uneven*rng.Float64())
			}
			m.Matrix = append(m.Matrix, gaussian(rng, len(at), length))
		}
	}
	if rng.IntN(2) == 0 {
		m.Shift = gaussian(rng, n, unit)
	}
	var part [][]float64
	var partSides []float64
	equalities = rng.IntN(2)
	for k := range equalities + 1 + rng.IntN(2) {
		r := gaussian(rng, n, 1)
		image, back := seen(m, at, r)
		room := unit * float64(rng.IntN(2))
		if k < equalities {
			room = 0
		}
		part, partSides = append(part, r), append(partSides, dot(r, image)+room)
		rows, sides = append(rows, back), append(sides, dot(back, at)+room)
	}
	set, err := oracle.NewActiveSet(part, partSides, equalities)
	if err != nil {
		t.Fatal(err)
	}
	m.Set = set
	return m, rows, sides, equalities
}

// TestMembersOfRows: polyhedra that are seen through maps have the common points that all their rows have, mapped back,
// from near and far. In the tiniest unit, where squares are 0, there are answers, but they need not be good. Through
// uneven maps steps creep, and the certificate has to own what is missing.
func TestMembersOfRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 13))
	for trial := range 540 {
		d, unit, uneven := 1+rng.IntN(4), 1.0, 5*float64(trial/420)
		if units := []float64{1e3, 1e-3, 1e-7, 1e-12, 1e-20, 1e-158}; trial%20 < len(units) {
			unit = units[trial%20]
		}
		at := gaussian(rng, d, unit)
		var members []oracle.Member
		var equal, rows [][]float64
		var equalSides, sides []float64
		for range 2 + rng.IntN(2) {
			m, r, s, equalities := drawSeen(t, rng, at, unit, uneven)
			members = append(members, m)
			equal, equalSides = append(equal, r[:equalities]...), append(equalSides, s[:equalities]...)
			rows, sides = append(rows, r[equalities:]...), append(sides, s[equalities:]...)
		}
		whole, err := oracle.NewActiveSet(append(equal, rows...), append(equalSides, sides...), len(equal))
		if errors.Is(err, oracle.ErrEmpty) { // by rounding: more equalities than dimensions
			continue
		}
		s, err := oracle.NewIntersectionProjector(d, members...)
		if err != nil {
			t.Errorf("trial %d, unit %g: %v", trial, unit, err)
			continue
		}
		x, y, z := gaussian(rng, d, 3*unit*math.Pow(1e3, float64(rng.IntN(3)))), make([]float64, d), make([]float64, d)
		outside, slack := s.Nearest(y, x)
		if unit < 1e-100 {
			continue
		}
		whole.Project(z, x)
		missed := 0.0
		for _, m := range members {
			image, _ := seen(m, y, make([]float64, m.Set.Dim()))
			missed = max(missed, oracle.Distance(m.Set, image))
		}
		size, far := unit+norm(y), norm(minus(x, y))
		if off := norm(minus(y, z)); off > 1e-9*size && uneven == 0 || math.Abs(outside-missed) > 1e-12*size {
			t.Errorf("trial %d, unit %g: %v goes to %v, want %v; outside by %g, certified %g", trial, unit, x, y, z, missed,
				outside)
		}
		if more := dot(minus(x, y), minus(z, y)); more > slack*(1+norm(minus(z, y)))+1e-12*far*size {
			t.Errorf("trial %d, unit %g: %v goes to %v, %v gains %g, certified %g", trial, unit, x, y, z, more, slack)
		}
	}
}

func scale(x []float64, by float64) {
	for i := range x {
		x[i] *= by
	}
}

func TestDykstraAgreesWithActiveSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	compared := 0
	for range 300 {
		d := 2 + rng.IntN(3)
		rows, rhs, _ := randomRows(rng, d)
		whole, err := oracle.NewActiveSet(rows, rhs, 0)
		if err != nil {
			continue
		}
		var parts []oracle.Projector
		for k := range rows {
			p, err := oracle.NewActiveSet(rows[k:k+1], rhs[k:k+1], 0)
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, p)
		}
		dykstra, err := oracle.NewDykstra(3000, parts...)
		if err != nil {
			t.Fatal(err)
		}
		x, y, z := gaussian(rng, d, 4), make([]float64, d), make([]float64, d)
		outside, slack := dykstra.Nearest(y, x)
		whole.Project(z, x)
		if off := norm(minus(y, z)); off*off > slack+norm(minus(x, z))*100*outside+1e-18 {
			t.Fatalf("Dykstra %v, active set %v; outside %g, slack %g", y, z, outside, slack)
		} else if off < 1e-8 {
			compared++
		}
	}
	if compared < 150 {
		t.Errorf("only %d agreements", compared)
	}
}

// sized is a set in another unit.
type sized struct {
	set interface {
		oracle.Projector
		oracle.LinearMaximizer
	}
	unit float64
}

func (s sized) Dim() int { return s.set.Dim() }

func (s sized) Project(dst, x []float64) {
	at := slices.Clone(x)
	scale(at, 1/s.unit)
	s.set.Project(dst, at)
	scale(dst, s.unit)
}

func (s sized) MaximizeLinear(dst, dir []float64) {
	s.set.MaximizeLinear(dst, dir)
	scale(dst, s.unit)
}

// TestProximalMaximizer compares with the support of balls and boxes, in any unit and with directions of any length.
func TestProximalMaximizer(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 6))
	for trial := range 360 {
		d, unit, far := 1+rng.IntN(5), 1.0, 1.0
		if trial%4 > 1 {
			unit, far = math.Pow(10, float64(rng.IntN(25)-12)), math.Pow(10, float64(rng.IntN(25)-12))
		}
		dir, y := gaussian(rng, d, 3*far), make([]float64, d)
		maximizer := func(set oracle.Projector, radius float64) *oracle.ProximalMaximizer {
			m, err := oracle.NewProximalMaximizer(set, make([]float64, d), radius*unit)
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		inBox := sized{box(d), unit}
		for _, set := range []sized{inBox, {ball{gaussian(rng, d, 0.5), 0.7}, unit}} {
			gap := maximizer(set, 5).Maximize(y, dir)
			short, size := oracle.Support(set, dir)-dot(dir, y), norm(dir)*unit
			if short > gap+1e-13*size || gap > 1e-9*size {
				t.Errorf("%v, direction %v: short by %g, certified gap %g", set, dir, short, gap)
			}
		}
		point := gaussian(rng, d, unit)
		m, err := oracle.NewProximalMaximizer(ball{point, 0}, point, 0)
		if gap := m.Maximize(y, dir); err != nil || gap != 0 || !slices.Equal(y, point) {
			t.Errorf("the point %v, %v: maximiser %v, certified gap %g", point, err, y, gap)
		}
		checkNearest(t, rng, inBox, dir)
		for i := range dir { // nearly normal to a face, in the smallest ball
			dir[i] *= math.Pow(10, -float64(rng.IntN(12)))
			y[i] = -math.Copysign(unit, dir[i])
		}
		m = maximizer(inBox, math.Sqrt(float64(d)))
		gap := m.From(y, dir, y)
		if short := oracle.Support(inBox, dir) - dot(dir, y); short > gap+1e-13*norm(dir)*unit {
			t.Errorf("box of unit %g, direction %v: short by %g, certified gap %g", unit, dir, short, gap)
		}
		checkStays(t, rng, m, unit, dir)
	}
}

// checkNearest wants the maximiser of a box that is nearest to the centre, where a face has several.
func checkNearest(t *testing.T, rng *rand.Rand, inBox sized, dir []float64) {
	t.Helper()
	d, unit := len(dir), inBox.unit
	center, normal, want := gaussian(rng, d, unit), make([]float64, d), make([]float64, d)
	for i, v := range center {
		if want[i] = max(-unit, min(unit, v)); rng.IntN(2) == 0 {
			normal[i], want[i] = dir[i], math.Copysign(unit, dir[i])
		}
	}
	m, err := oracle.NewProximalMaximizer(inBox, center, norm(center)+unit*math.Sqrt(float64(d)))
	if err != nil {
		t.Fatal(err)
	}
	y := make([]float64, d)
	if m.MaximizeLinear(y, normal); norm(minus(y, want)) > 1e-12*unit {
		t.Errorf("box of unit %g around %v, direction %v: %v, want %v", unit, center, normal, y, want)
	}
}

// checkStays wants a point of a face of the box to stay where it is.
func checkStays(t *testing.T, rng *rand.Rand, m *oracle.ProximalMaximizer, unit float64, dir []float64) {
	t.Helper()
	normal, at, y := make([]float64, len(dir)), make([]float64, len(dir)), make([]float64, len(dir))
	for i := range at {
		if at[i] = unit * (2*rng.Float64() - 1); rng.IntN(2) == 0 {
			normal[i], at[i] = dir[i], math.Copysign(unit, dir[i])
		}
	}
	if gap := m.From(y, normal, at); norm(minus(y, at)) > 1e-12*unit || gap > 1e-9*norm(normal)*unit {
		t.Errorf("box, direction %v: from the maximiser %v to %v, certified gap %g", normal, at, y, gap)
	}
}

func TestValues(t *testing.T) {
	b := ball{[]float64{1, 0}, 2}
	if h := oracle.Support(b, []float64{3, 4}); math.Abs(h-13) > 1e-14 {
		t.Errorf("support %g, want 13", h)
	}
	if d := oracle.Distance(b, []float64{1, 5}); math.Abs(d-3) > 1e-14 {
		t.Errorf("distance %g, want 3", d)
	}
	lower, upper := []float64{math.NaN(), 0}, []float64{0, math.Inf(1)}
	oracle.Extremes(hull{{3, -5}, {-2, -7}, {1, 4}}, lower, upper)
	if !slices.Equal(lower, []float64{-2, -7}) || !slices.Equal(upper, []float64{3, 4}) {
		t.Errorf("sides %v and %v of the box around a triangle, want (-2, -7) and (3, 4)", lower, upper)
	}
}
