package geometry_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"cmdpsolve/geometry"
	"cmdpsolve/oracle"
	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// TestPolytopeAgainstPrograms compares supports with linear programs solved by
// another code, in directions that tie, that nearly tie, and at random, and asks that
// answers do not depend on the calls before, bit by bit.
func TestPolytopeAgainstPrograms(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for range 60 {
		d := 2 + rng.IntN(4)
		var a [][]float64
		var b []float64
		for i := range d {
			for _, sign := range []float64{1, -1} {
				row := make([]float64, d)
				row[i] = sign
				a, b = append(a, row), append(b, float64(1+rng.IntN(3)))
			}
		}
		for range rng.IntN(3 * d) {
			row := ints(rng, d, 2)
			if slices.Max(row) == 0 && slices.Min(row) == 0 {
				row[0] = 1
			}
			a, b = append(a, row), append(b, float64(rng.IntN(4)))
		}
		unit := math.Ldexp(1, 30*(rng.IntN(3)-1)) // the program is in units of 1
		p, err := geometry.NewPolytope(a, floats.ScaleTo(make([]float64, len(b)), unit, b))
		if err != nil {
			t.Fatal(err)
		}
		var dirs, firsts [][]float64
		for k := range 24 {
			dir := slices.Clone(a[rng.IntN(len(a))]) // the normal of a face
			for i := range dir {
				switch k % 4 {
				case 0:
					dir[i] += math.Pow(10, -float64(rng.IntN(14))) * rng.NormFloat64()
				case 1:
					dir[i] = rng.NormFloat64()
				}
			}
			x := make([]float64, d)
			p.MaximizeLinear(x, dir)
			cost := make([]float64, d)
			for i, v := range dir {
				cost[i] = -v
			}
			problem := &lp.Problem{Minimize: cost}
			problem.Lower, problem.Upper = lp.Free(d)
			for i, row := range a {
				problem.Rows = append(problem.Rows, lp.AtMost(row, b[i]))
			}
			solver, err := lp.NewEmbedded(problem)
			if err != nil {
				t.Fatal(err)
			}
			var want lp.Solution
			if err := solver.Solve(&want); err != nil {
				t.Fatal(err)
			}
			if got := oracle.Support(p, dir) / unit; math.Abs(got+want.Objective) > 1e-9 {
				t.Errorf("rows %v ≤ %v, direction %v: support %.15g, program %.15g", a, b, dir, got, -want.Objective)
			}
			dirs, firsts = append(dirs, dir), append(firsts, x)
		}
		for _, k := range rng.Perm(len(dirs)) {
			x := make([]float64, d)
			if p.MaximizeLinear(x, dirs[k]); !slices.Equal(x, firsts[k]) {
				t.Errorf("direction %v: %v, then %v", dirs[k], firsts[k], x)
			}
		}
	}
}

// TestHugeNumbers: numbers that cannot be handled are refused, and points that are
// very far are projected all the same.
func TestHugeNumbers(t *testing.T) {
	for _, e := range geometry.Registry() {
		s, err := e.Example()
		if err != nil {
			t.Fatal(err)
		}
		far, tol := 1e12, 1e-3
		if _, compact := s.(geometry.Compact); compact && e.ClosedForm {
			far, tol = 1e17, 1e-9
		}
		rng := rand.New(rand.NewPCG(1, 12))
		for range 5 {
			x := normals(rng, s.Dim())
			floats.Scale(far, x)
			s.Project(x, x)
			y := slices.Clone(x)
			s.Project(y, y)
			if off := floats.Distance(x, y, 2); !(off <= tol*(1+floats.Norm(x, 2))) {
				t.Errorf("%s: a point %g away goes to %v, and that to %v", e.Name, far, x, y)
			}
		}
	}
}

// TestRecession: the direction in which a polyhedron or a box is said to have no end leads from point to point of it,
// and the coordinate that is named goes from where to where it is said to.
func TestRecession(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 30))
	claim := regexp.MustCompile(`(?:(?:side (\d+) is \[)|from )(\S+?)(?:, | to )(\S+?)(?:\]| in coordinate (\d+)), ` +
		`direction (?:\[(.*)\]|(-?)e(\d+)) recedes`)
	told := [2]int{}
	for trial := range 300 {
		d := 1 + rng.IntN(3)
		s, err := endless(rng, d, trial%2 == 0)
		if err != nil {
			continue
		}
		_, err = geometry.CompactOf(s)
		if box, ok := s.(*geometry.Box); ok && rng.IntN(2) == 0 {
			_, err = geometry.Restrict(s, box)
		}
		lower, upper := make([]float64, d), make([]float64, d)
		s.(geometry.Bounder).Bounds(lower, upper)
		bounded := !math.IsInf(floats.Norm(append(slices.Clone(lower), upper...), 1), 0)
		if err == nil && bounded {
			continue
		}
		words := claim.FindStringSubmatch(fmt.Sprint(err))
		if bounded || !errors.Is(err, geometry.ErrUnbounded) || words == nil {
			t.Fatalf("trial %d: from %v to %v: %v", trial, lower, upper, err)
		}
		told[trial%2]++
		i := int(number(words[1] + words[4]))
		if number(words[2]) != lower[i] || number(words[3]) != upper[i] {
			t.Errorf("trial %d: from %v to %v: %v", trial, lower, upper, err)
		}
		dir := numbers(words[5])
		if words[7] != "" {
			dir = unit(d, words[7])
			floats.Scale(number(words[6]+"1"), dir)
		}
		x := make([]float64, d)
		s.Project(x, x)
		floats.AddScaled(x, 1e3/floats.Norm(dir, 2), dir)
		if off := oracle.Distance(s, x); !(off < 1e-9) || dir[i] == 0 {
			t.Errorf("trial %d: from %v to %v: %v, but %v is off by %g", trial, lower, upper, err, x, off)
		}
	}
	if told[0] < 50 || told[1] < 50 {
		t.Errorf("%d unbounded polyhedra and boxes", told)
	}
}

// endless draws a box or a polyhedron that is likely to be unbounded.
func endless(rng *rand.Rand, d int, box bool) (geometry.Set, error) {
	if box {
		lower, upper := ints(rng, d, 2), make([]float64, d)
		for i, l := range lower {
			upper[i] = l + float64(rng.IntN(3))
			switch rng.IntN(6) {
			case 0:
				upper[i] = math.Inf(1)
			case 1:
				lower[i] = math.Inf(-1)
			case 2:
				lower[i], upper[i] = math.Inf(-1), math.Inf(1)
			}
		}
		return geometry.NewBox(lower, upper)
	}
	var a [][]float64
	b := ints(rng, 1+rng.IntN(d+1), 2)
	for range b {
		row := ints(rng, d, 2)
		row[rng.IntN(d)] = 1
		a = append(a, row)
	}
	return geometry.NewPolyhedron(a, b)
}

// TestMultipliers: the rows that are said to contradict each other do so, by the multipliers that are given. Those of a
// restriction are counted as the message says.
func TestMultipliers(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 31))
	term := regexp.MustCompile(`([+-]\S+)·row (\d+)`)
	var told [2]int
	for trial := range 600 {
		d := 2 + rng.IntN(2)
		b, lower, upper := ints(rng, 1+rng.IntN(4), 6), ints(rng, d, 3), make([]float64, d)
		var rows, equations, sides, flat [][]float64 // each with its right-hand side at the end
		for _, v := range b {
			row := ints(rng, d, 2)
			for i := range 2 { // no side of a box
				row[i] = float64(1 + rng.IntN(2)*-2)
			}
			rows = append(rows, append(row, v))
		}
		build := geometry.NewPolyhedron
		if rng.IntN(3) == 0 {
			build, equations, rows = geometry.NewAffine, rows, nil
		}
		var a [][]float64
		for _, row := range append(slices.Clone(equations), rows...) {
			a = append(a, row[:d])
		}
		set, err := build(a, b)
		kind := 0
		if err == nil {
			for i, l := range lower {
				upper[i] = l + float64(rng.IntN(3))
				row := append(unit(d, strconv.Itoa(i)), upper[i])
				if upper[i] == l {
					flat = append(flat, row)
					continue
				}
				sides = append(sides, floats.ScaleTo(make([]float64, d+1), -1, append(row[:d:d], l)), row)
			}
			for _, row := range append(slices.Clone(equations), rows...) { // restrictions know them in unit length
				floats.Scale(1/floats.Norm(row[:d], 2), row)
			}
			box, _ := geometry.NewBox(lower, upper)
			_, err = geometry.Restrict(set, box)
			kind = 1
		}
		if err == nil || !term.MatchString(err.Error()) {
			continue
		}
		told[kind]++
		equations = append(equations, flat...)
		all, sum := slices.Concat(equations, rows, sides), make([]float64, d+1)
		for _, w := range term.FindAllStringSubmatch(err.Error(), -1) {
			m, k := number(w[1]), int(number(w[2]))
			if k >= len(all) || m < 0 && k >= len(equations) {
				t.Fatalf("trial %d: %v: %g times row %d of %v", trial, err, m, k, all)
			}
			floats.AddScaled(sum, m, all[k])
		}
		if floats.Norm(sum[:d], 2) > 1e-4 || sum[d] >= 0 {
			t.Errorf("trial %d: %v: of the rows %v they give %v", trial, err, all, sum)
		}
	}
	if told[0] < 5 || told[1] < 20 {
		t.Errorf("multipliers of %d sets and %d restrictions: want many", told[0], told[1])
	}
}
