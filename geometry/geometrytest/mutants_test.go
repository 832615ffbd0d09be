package geometrytest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"cmdpsolve/geometry"
	"cmdpsolve/geometry/geometrytest"
	"cmdpsolve/oracle"
)

// whole is what a mutant replaces single methods of.
type whole interface {
	geometry.Compact
	oracle.FaceProjector
}

// mutant is a correct set with methods replaced by wrong ones.
type mutant struct {
	whole
	project  func(dst, x []float64)
	maximize func(dst, dir []float64)
	face     func(dst, dir, x []float64)
	bounds   func(lower, upper []float64)
	interior func(dst []float64) float64
	rows     func() (geometry.Rows, bool)
	facts    *geometrytest.Facts // those of the square if nil
}

func (m mutant) Rows() (geometry.Rows, bool) {
	if m.rows != nil {
		return m.rows()
	}
	if p, ok := m.whole.(geometry.Polyhedral); ok {
		return p.Rows()
	}
	return geometry.Rows{}, false
}

func (m mutant) Project(dst, x []float64) {
	if m.project != nil {
		m.project(dst, x)
		return
	}
	m.whole.Project(dst, x)
}

func (m mutant) MaximizeLinear(dst, dir []float64) {
	if m.maximize != nil {
		m.maximize(dst, dir)
		return
	}
	m.whole.MaximizeLinear(dst, dir)
}

func (m mutant) ProjectFace(dst, dir, x []float64) {
	if m.face != nil {
		m.face(dst, dir, x)
		return
	}
	m.whole.ProjectFace(dst, dir, x)
}

func (m mutant) Bounds(lower, upper []float64) {
	if m.bounds != nil {
		m.bounds(lower, upper)
		return
	}
	m.whole.(geometry.Bounder).Bounds(lower, upper)
}

func (m mutant) InteriorPoint(dst []float64) float64 {
	if m.interior != nil {
		return m.interior(dst)
	}
	return m.whole.(geometry.Interior).InteriorPoint(dst)
}

func square(t *testing.T) *geometry.BoundedBox {
	t.Helper()
	b, err := geometry.NewLInfBall([]float64{1, 2}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var facts = geometrytest.Facts{
	Inside:       [][]float64{{1, 2}, {2, 3}, {0, 1.5}},
	Outside:      [][]float64{{2.1, 2}, {1, 0.9}},
	NoAllocation: true,
}

func TestCorrectSetPasses(t *testing.T) {
	if err := geometrytest.Check(mutant{whole: square(t)}, facts); err != nil {
		t.Error(err)
	}
}

// TestMutantsDie: every wrong set must break the law named, and the message must
// say so.
func TestMutantsDie(t *testing.T) {
	s := square(t)
	ball, err := geometry.NewBall([]float64{1, 2}, 1)
	if err != nil {
		t.Fatal(err)
	}
	small, err := geometry.NewLInfBall([]float64{1, 2}, 0.9)
	if err != nil {
		t.Fatal(err)
	}
	large, err := geometry.NewLInfBall([]float64{1, 2}, 1.1)
	if err != nil {
		t.Fatal(err)
	}
	side, err := geometry.NewBox([]float64{0, 1}, []float64{0, 3})
	if err != nil {
		t.Fatal(err)
	}
	flat, err := side.Bounded()
	if err != nil {
		t.Fatal(err)
	}
	without := func(s *geometry.BoundedBox, k int) func() (geometry.Rows, bool) { // the row k
		return func() (geometry.Rows, bool) {
			rows, _ := s.Rows()
			rows.A, rows.B = slices.Delete(rows.A, k, k+1), slices.Delete(rows.B, k, k+1)
			rows.Equalities = max(rows.Equalities-1, 0)
			return rows, true
		}
	}
	onSide := &geometrytest.Facts{Inside: [][]float64{{0, 2}}, Outside: [][]float64{{-1, 2}}}
	calls, gate := 0, sync.Mutex{}
	add := func(x []float64, v float64) {
		for i := range x {
			x[i] += v
		}
	}
	var heard []string
	for _, m := range []struct {
		name, law string
		set       mutant
	}{
		{"adds to the destination", "destinations are overwritten", mutant{project: func(dst, x []float64) {
			y := make([]float64, 2)
			s.Project(y, x)
			for i, v := range y {
				dst[i] += v - dst[i]*0.5
			}
		}}},
		{"maximiser leaves coordinates of zero direction as they were", "destinations are overwritten",
			mutant{maximize: func(dst, dir []float64) {
				y := make([]float64, 2)
				s.MaximizeLinear(y, dir)
				for i, v := range dir {
					if v != 0 {
						dst[i] = y[i]
					}
				}
			}}},
		{"clips the input", "inputs are untouched", mutant{project: func(dst, x []float64) {
			s.Project(x, x)
			copy(dst, x)
		}}},
		{"normalises the direction in place", "inputs are untouched", mutant{maximize: func(dst, dir []float64) {
			s.MaximizeLinear(dst, dir)
			if n := math.Hypot(dir[0], dir[1]); n > 0 {
				dir[0], dir[1] = dir[0]/n, dir[1]/n
			}
		}}},
		{"reads the point after writing", "a destination may be the point", mutant{project: func(dst, x []float64) {
			dst[0] = math.Min(math.Max(x[0], 0), 2)
			dst[1] = math.Min(math.Max(x[1]+(dst[0]-x[0])-(dst[0]-x[0]), 1), 3)
			dst[0] = math.Min(math.Max(x[0]+1e-3*(x[1]-dst[1]), 0), 2) - 1e-3*(x[1]-dst[1])
			s.Project(dst, dst)
			if &dst[0] == &x[0] {
				dst[1] = 1
			}
		}}},
		{"takes any length", "wrong lengths panic", mutant{project: func(dst, x []float64) {
			for i := range min(len(dst), len(x), 2) {
				dst[i] = math.Min(math.Max(x[i], float64(i)), float64(i+2))
			}
		}}},
		{"is a smaller set", "stated points belong or not", mutant{whole: small}},
		{"is a larger set", "stated points belong or not", mutant{whole: large}},
		{"is a ball", "stated points belong or not", mutant{whole: ball}},
		{"goes half of the way", "projection is idempotent", mutant{project: func(dst, x []float64) {
			y := slices.Clone(x)
			s.Project(dst, x)
			for i, v := range y {
				dst[i] = (dst[i] + v) / 2
			}
		}}},
		{"projects on the middle", "projection is optimal", mutant{project: func(dst, x []float64) {
			y := slices.Clone(x)
			s.Project(dst, x)
			if !slices.Equal(dst, y) {
				s.InteriorPoint(dst)
			}
		}}},
		{"projects along the ray from the centre", "projection is optimal", mutant{project: func(dst, x []float64) {
			scale := math.Max(math.Max(math.Abs(x[0]-1), math.Abs(x[1]-2)), 1)
			dst[0], dst[1] = 1+(x[0]-1)/scale, 2+(x[1]-2)/scale
		}}},
		{"expands by jumping to a corner", "projection does not expand", mutant{project: func(dst, x []float64) {
			out := !geometry.Contains(s, x, 1e-9)
			s.Project(dst, x)
			if out && dst[0] > 1 {
				dst[0], dst[1] = 2, 1
			} else if out {
				dst[0], dst[1] = 0, 3
			}
		}}},
		{"gives up on far points", "projection of far points is optimal", mutant{project: func(dst, x []float64) {
			if math.Hypot(x[0], x[1]) > 1e4 {
				dst[0], dst[1] = 1, 2
				return
			}
			s.Project(dst, x)
		}}},
		{"minimises", "support is the largest value", mutant{maximize: func(dst, dir []float64) {
			s.MaximizeLinear(dst, []float64{-dir[0], -dir[1]})
		}}},
		{"maximises over a larger set", "support points belong", mutant{maximize: func(dst, dir []float64) {
			s.MaximizeLinear(dst, dir)
			add(dst, 1e-6)
		}}},
		{"maximises over a smaller set", "support is the largest value", mutant{maximize: small.MaximizeLinear}},
		{"maximises over the inscribed ball", "support is the largest value", mutant{maximize: ball.MaximizeLinear}},
		{"takes small directions for zero", "support is sublinear", mutant{maximize: func(dst, dir []float64) {
			if math.Hypot(dir[0], dir[1]) < 1e-6 {
				dst[0], dst[1] = 1, 2
				return
			}
			s.MaximizeLinear(dst, dir)
		}}},
		{"divides by the direction's norm", "a zero direction", mutant{maximize: func(dst, dir []float64) {
			n := math.Hypot(dir[0], dir[1])
			s.MaximizeLinear(dst, dir)
			if n == 0 {
				add(dst, 0/n)
			}
		}}},
		{"zero direction gives the origin", "a zero direction", mutant{maximize: func(dst, dir []float64) {
			if s.MaximizeLinear(dst, dir); dir[0] == 0 && dir[1] == 0 {
				clear(dst)
			}
		}}},
		{"face forgets the point", "face points are nearest",
			mutant{face: func(dst, dir, x []float64) { s.MaximizeLinear(dst, dir) }}},
		{"face forgets the direction", "face points are maximisers",
			mutant{face: func(dst, dir, x []float64) { s.Project(dst, x) }}},
		{"face of a zero direction is a corner", "a zero direction", mutant{face: func(dst, dir, x []float64) {
			if s.ProjectFace(dst, dir, x); dir[0] == 0 && dir[1] == 0 {
				dst[0], dst[1] = 2, 3
			}
		}}},
		{"bounds are too tight", "bounds contain the set", mutant{bounds: small.Bounds}},
		{"bounds are exchanged", "bounds contain the set",
			mutant{bounds: func(lower, upper []float64) { s.Bounds(upper, lower) }}},
		{"interior radius is that of the circumscribed ball", "the interior point has its room",
			mutant{interior: func(dst []float64) float64 {
				return math.Sqrt2 * s.InteriorPoint(dst)
			}}},
		{"interior point is outside", "the interior point has its room", mutant{interior: func(dst []float64) float64 {
			dst[0], dst[1] = 5, 5
			return 0
		}}},
		{"the lower bounds are too tight", "bounds contain the set", mutant{bounds: func(lower, upper []float64) {
			s.Bounds(lower, upper)
			lower[1] += 1e-3
		}}},
		{"the upper bounds are too tight", "bounds contain the set", mutant{bounds: func(lower, upper []float64) {
			s.Bounds(lower, upper)
			upper[0] -= 1e-3
		}}},
		{"a bound is no number", "bounds contain the set", mutant{bounds: func(lower, upper []float64) {
			s.Bounds(lower, upper)
			upper[0] = math.NaN()
		}}},
		{"there is room without end", "the interior point has its room", mutant{interior: func(dst []float64) float64 {
			s.InteriorPoint(dst)
			return math.Inf(1)
		}}},
		{"rows are those of a smaller set", "rows describe the set", mutant{rows: small.Rows}},
		{"rows lack a lower side", "rows describe the set", mutant{rows: without(s, 0)}},
		{"rows lack an upper side", "rows describe the set", mutant{rows: without(s, 3)}},
		{"rows lack an equation", "rows describe the set", mutant{whole: flat, rows: without(flat, 0), facts: onSide}},
		{"an equation is a limit from above", "rows describe the set", mutant{whole: flat,
			rows: func() (geometry.Rows, bool) {
				rows, _ := flat.Rows()
				rows.Equalities = 0
				return rows, true
			}, facts: onSide}},
		{"a limit from above is an equation", "rows describe the set", mutant{rows: func() (geometry.Rows, bool) {
			rows, _ := s.Rows()
			rows.Equalities = 1
			return rows, true
		}}},
		{"takes large directions for infinite", "support is sublinear", mutant{maximize: func(dst, dir []float64) {
			if s.MaximizeLinear(dst, dir); math.Hypot(dir[0], dir[1]) > 1e6 {
				s.InteriorPoint(dst)
			}
		}}},
		{"diagonal directions reach too far", "support is sublinear", mutant{maximize: func(dst, dir []float64) {
			if s.MaximizeLinear(dst, dir); math.Abs(dir[0]) == math.Abs(dir[1]) && dir[0] != 0 {
				large.MaximizeLinear(dst, dir)
			}
		}}},
		{"face points lie beside the set", "face points are maximisers", mutant{face: func(dst, dir, x []float64) {
			if s.ProjectFace(dst, dir, x); dir[0] == 0 && dir[1] != 0 {
				dst[0] = 2.5
			}
		}}},
		{"far points go nowhere", "projection of far points is optimal", mutant{project: func(dst, x []float64) {
			far := math.Hypot(x[0], x[1]) > 1e4
			if s.Project(dst, x); far {
				dst[0] = math.NaN()
			}
		}}},
		{"far points go half of the way", "projection of far points is optimal", mutant{project: func(dst, x []float64) {
			y := slices.Clone(x)
			if s.Project(dst, x); math.Hypot(y[0], y[1]) > 1e4 {
				dst[0], dst[1] = (dst[0]+y[0])/2, (dst[1]+y[1])/2
			}
		}}},
		{"answers change from call to call", "answers are finite and repeatable",
			mutant{project: func(dst, x []float64) {
				gate.Lock()
				calls++
				odd := float64(calls % 2)
				gate.Unlock()
				s.Project(dst, x)
				dst[0] -= 1e-3 * odd * (dst[0])
			}}},
		{"answers are not finite", "answers are finite and repeatable", mutant{project: func(dst, x []float64) {
			n := math.Hypot(x[0]-1, x[1]-2)
			s.Project(dst, x)
			add(dst, 0*(1/n))
		}}},
		{"allocates", "methods do not allocate", mutant{project: func(dst, x []float64) {
			y := make([]float64, 2+int(math.Abs(x[0]))%2)
			shield(y)
			s.Project(dst, x)
		}}},
		{"panics on far points", "panic", mutant{project: func(dst, x []float64) {
			if math.Hypot(x[0], x[1]) > 1e4 {
				panic("no convergence")
			}
			s.Project(dst, x)
		}}},
	} {
		t.Run(m.name, func(t *testing.T) {
			if raceEnabled && m.name == "allocates" {
				t.Skip("allocations say nothing under the race detector")
			}
			if m.set.whole == nil {
				m.set.whole = s
			}
			known := facts
			if m.set.facts != nil {
				known = *m.set.facts
			}
			err := geometrytest.Check(m.set, known)
			if err == nil {
				t.Fatal("no law is broken")
			}
			heard = append(heard, err.Error())
			if !strings.Contains(err.Error(), m.law) {
				t.Errorf("want a violation of %q, have: %v", m.law, err)
			}
		})
	}
	for _, misuse := range []struct {
		set   geometry.Set
		facts geometrytest.Facts
	}{{s, geometrytest.Facts{Inside: [][]float64{{1}}}}, {s, geometrytest.Facts{Outside: [][]float64{{1, 2, 3}}}},
		{new(geometry.SecondOrderCone), geometrytest.Facts{}}} {
		err := geometrytest.Check(misuse.set, misuse.facts)
		if err == nil {
			t.Fatalf("%v are points of a set of %d coordinates", misuse.facts, misuse.set.Dim())
		}
		heard = append(heard, err.Error())
	}
	checkHeard(t, heard)
}

// checkHeard: whatever a law or a misuse has to say was said of one of the wrong sets. What is said is read from the
// source.
func checkHeard(t *testing.T, heard []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	verb := regexp.MustCompile(`%[a-zA-Z]`)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			format, ok := call.Args[0].(*ast.BasicLit)
			if f, selects := call.Fun.(*ast.SelectorExpr); !ok || !selects || f.Sel.Name != "Errorf" {
				return true
			}
			text, _ := strconv.Unquote(format.Value)
			words := regexp.MustCompile(verb.ReplaceAllString(regexp.QuoteMeta(text), `.*`))
			if !slices.ContainsFunc(heard, words.MatchString) {
				t.Errorf("%s: no wrong set is told %q", name, text)
			}
			return true
		})
	}
}

var kept atomic.Pointer[[]float64]

// shield keeps a slice on the heap.
func shield(x []float64) { kept.Store(&x) }
