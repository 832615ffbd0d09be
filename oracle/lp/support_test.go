package lp_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/geometry"
	"cmdpsolve/oracle/lp"
)

// A support is a set in closed form and as rows of a linear program in free columns.
type support struct {
	name string
	set  geometry.Compact
	rows []lp.Constraint
}

// supports returns the sets of the comparison.
func supports(t testing.TB) []support {
	t.Helper()
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	var all []support
	for _, n := range []int{2, 4, 8} {
		box, err := geometry.NewBox(filled(n, -1), filled(n, 2))
		check(err)
		bounded, err := box.Bounded()
		check(err)
		simplex, err := geometry.NewSimplex(n, 2)
		check(err)
		var boxRows, simplexRows []lp.Constraint
		for i := range n {
			unit := make([]float64, n)
			unit[i] = 1
			boxRows = append(boxRows, lp.Constraint{Coef: unit, Lower: -1, Upper: math.Inf(1)}, lp.AtMost(unit, 2))
			simplexRows = append(simplexRows, lp.AtLeast(unit, 0))
		}
		simplexRows = append(simplexRows, lp.Equal(filled(n, 1), 2))
		all = append(all, support{fmt.Sprintf("set=box/n=%d", n), bounded, boxRows},
			support{fmt.Sprintf("set=simplex/n=%d", n), simplex, simplexRows})
		if n > 4 {
			continue
		}
		ball, err := geometry.NewL1Ball(filled(n, 0), 2)
		check(err)
		var ballRows []lp.Constraint
		for signs := range 1 << n {
			normal := make([]float64, n)
			for i := range normal {
				normal[i] = 1 - 2*float64(signs>>i&1)
			}
			ballRows = append(ballRows, lp.AtMost(normal, 2))
		}
		all = append(all, support{fmt.Sprintf("set=l1-ball/n=%d", n), ball, ballRows})
	}
	return all
}

func filled(n int, x float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = x
	}
	return v
}

// program returns the program that maximises dir·x.
func (s *support) program(dir []float64) *lp.Problem {
	p := &lp.Problem{Minimize: negated(make([]float64, len(dir)), dir), Rows: s.rows}
	p.Lower, p.Upper = lp.Free(len(dir))
	return p
}

func negated(dst, x []float64) []float64 {
	for i, v := range x {
		dst[i] = -v
	}
	return dst
}

func directions(n int) [][]float64 {
	rng := rand.New(rand.NewPCG(3, uint64(n)))
	dirs := make([][]float64, 64)
	for k := range dirs {
		for range n {
			dirs[k] = append(dirs[k], rng.NormFloat64())
		}
	}
	return dirs
}

// What is compared has to be the same question.
func TestSupportsAgree(t *testing.T) {
	for _, s := range supports(t) {
		n := s.set.Dim()
		x := make([]float64, n)
		for _, dir := range directions(n) {
			s.set.MaximizeLinear(x, dir)
			value := 0.0
			for i, v := range x {
				value += dir[i] * v
			}
			for _, backend := range lp.Backends() {
				solver, err := backend.NewSolver(s.program(dir))
				if err != nil {
					t.Fatal(err)
				}
				var sol lp.Solution
				if err := solver.Solve(&sol); err != nil {
					t.Fatal(err)
				}
				if math.Abs(value+sol.Objective) > 1e-8 {
					t.Errorf("%s, %s: closed form %v, program %v", s.name, backend.Name, value, -sol.Objective)
				}
			}
		}
	}
}

// BenchmarkSupport asks for the point of a set that is farthest in a direction, new at every call.
func BenchmarkSupport(b *testing.B) {
	for _, s := range supports(b) {
		dirs := directions(s.set.Dim())
		dst := make([]float64, s.set.Dim())
		b.Run(s.name+"/way=closed", func(b *testing.B) {
			for k := 0; b.Loop(); k++ {
				s.set.MaximizeLinear(dst, dirs[k%len(dirs)])
			}
		})
		for _, backend := range lp.Backends() {
			b.Run(s.name+"/way="+backend.Name+"-warm", func(b *testing.B) {
				solver, err := backend.NewSolver(s.program(dirs[0]))
				if err != nil {
					b.Fatal(err)
				}
				var sol lp.Solution
				for k := 0; b.Loop(); k++ {
					if err := solver.SetObjective(negated(dst, dirs[k%len(dirs)])); err != nil {
						b.Fatal(err)
					}
					if err := solver.Solve(&sol); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(s.name+"/way="+backend.Name+"-cold", func(b *testing.B) {
				var sol lp.Solution
				for k := 0; b.Loop(); k++ {
					solver, err := backend.NewSolver(s.program(dirs[k%len(dirs)]))
					if err != nil {
						b.Fatal(err)
					}
					if err := solver.Solve(&sol); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
