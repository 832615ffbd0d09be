//go:build cgo && glpk

package lp

import (
	"fmt"
	"math"
	"runtime"

	"github.com/lukpank/go-glpk/glpk"
)

// NewSolver returns a Solver for p: if the program is built with the tag glpk, one on GLPK
// that asks the embedded simplex where GLPK fails, else NewEmbedded's. It copies p, and
// fails if p is not valid.
func NewSolver(p *Problem) (Solver, error) { return newGLPK(p, true) }

// NewGLPK returns a Solver for p on GLPK, as a second opinion on what NewEmbedded says. It
// copies p, and fails if p is not valid, with ErrNoGLPK if the program is built without the
// tag glpk. It begins every Solve afresh.
func NewGLPK(p *Problem) (Solver, error) { return newGLPK(p, false) }

func newGLPK(p *Problem, rescue bool) (Solver, error) {
	data, err := newModel(p)
	if err != nil {
		return nil, err
	}
	return &glpkSolver{model: data, rescue: rescue}, nil
}

// A glpkSolver is the Solver on GLPK.
type glpkSolver struct {
	model
	rescue bool // the embedded simplex answers where GLPK fails

	prob                    *glpk.Prob // of the present attempt
	costFactor, boundFactor float64    // powers of two between the model's numbers and prob's
	activity, size          []float64  // work space
	extra                   []float64  // zeros: nothing is allowed beyond the tolerance
}

// AddRow implements Solver.
func (s *glpkSolver) AddRow(r Constraint) error {
	_, err := s.addRow(r)
	return err
}

// Solve implements Solver. A program without rows or columns, which has no basis for GLPK to
// find, goes to the embedded simplex.
func (s *glpkSolver) Solve(dst *Solution) error {
	if len(s.cost) == 0 || len(s.row.x) == 0 {
		return newSimplex(s.model).Solve(dst)
	}
	trouble := s.attempt(dst)
	if trouble == nil || !s.rescue {
		return trouble
	}
	if err := newSimplex(s.model).Solve(dst); err != nil {
		return fmt.Errorf("%w, after %w", err, trouble)
	}
	return nil
}

// attempt lets GLPK solve, and returns nil if dst holds the answer. GLPK's memory belongs to
// a thread: the problem lives and dies on one that does nothing else meanwhile. Where GLPK
// would abort the process attempt returns an error.
func (s *glpkSolver) attempt(dst *Solution) (trouble error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer freeThread()
		defer func() {
			if r := recover(); r != nil {
				if _, abort := r.(glpkAbort); !abort {
					panic(r)
				}
				trouble = fmt.Errorf("lp: glpk: %s: %w", lastMessage(), ErrNumerical)
			}
		}()
		prepareThread()
		trouble = s.ask(dst)
	}()
	<-done
	return trouble
}

// ask states the model to GLPK and reads and certifies the answer.
func (s *glpkSolver) ask(dst *Solution) error {
	m, n := len(s.row.x), len(s.cost)
	s.load(m, n)
	if err := s.prob.Simplex(parameters(5000 + 100*(m+n))); err != nil {
		return fmt.Errorf("lp: glpk: %w: %w", err, ErrNumerical)
	}
	dst.Iterations = iterations(s.prob)
	if !s.read(dst) {
		return fmt.Errorf("lp: glpk: status %d without a proof: %w", s.prob.Status(), ErrNumerical)
	}
	s.activity, s.size, s.extra = resize(s.activity, m), resize(s.size, m), resize(s.extra, m)
	tol := glpkTolerances
	if s.rescue { // the embedded simplex has finer ones
		tol = tolerance{tol.relative, embeddedTolerance.primalFloor, embeddedTolerance.dualFloor}
	}
	return s.certify(dst, s.activity, s.size, s.extra, tol)
}

// load makes GLPK's problem of the model.
func (s *glpkSolver) load(m, n int) {
	s.prob = glpk.New()
	s.prob.SetObjDir(glpk.MIN)
	s.prob.AddRows(m)
	s.prob.AddCols(n)
	for j, rows := range s.index {
		index := make([]int32, 1, len(rows)+1)
		for _, i := range rows {
			index = append(index, i+1)
		}
		s.prob.SetMatCol(j+1, index, append([]float64{0}, s.value[j]...))
	}
	s.boundFactor, s.costFactor = boundFactor(&s.row, &s.col), equalizer(s.cost)
	setRowBounds(s.prob, s.row.lower, s.row.upper, s.boundFactor)
	setColBounds(s.prob, s.col.lower, s.col.upper, s.boundFactor)
	setCosts(s.prob, s.cost, s.costFactor)
}

// boundFactor returns the factor for all bounds that keeps GLPK's absolute
// tolerance from swallowing a problem whose bounds are all small.
func boundFactor(kinds ...*variables) float64 {
	size := 0.0
	for _, kind := range kinds {
		for i := range kind.x {
			for _, b := range [2]float64{kind.lower[i], kind.upper[i]} {
				if !math.IsInf(b, 0) {
					size = math.Max(size, math.Abs(b))
				}
			}
		}
	}
	if size >= 1 {
		return 1
	}
	return equalizer([]float64{size})
}
