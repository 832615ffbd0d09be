//go:build cgo && glpk

package lp

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func init() { LiveProblems = func() int { return int(live.Load()) } }

// TestAbort plants what validation keeps out, an index twice in a column, so that
// GLPK aborts, on many threads at once. It wants the embedded simplex to answer, the
// process to live, and GLPK to be back when the plant is gone.
func TestAbort(t *testing.T) {
	before := LiveProblems()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			for range 20 {
				if err := abortTwice(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := LiveProblems(); n != before {
		t.Errorf("%d problems left", n-before)
	}
}

// abortTwice takes one solver through two aborts.
func abortTwice() error {
	s, err := NewSolver(&Problem{Minimize: []float64{-1, -1}, Rows: []Row{AtMost([]float64{1, 1}, 5)}})
	if err != nil {
		return err
	}
	defer s.Close()
	owner := s.(*glpkSolver).owner
	var sol Solution
	for k := range 2 {
		if err := s.Solve(&sol); err != nil || sol.Objective != -5 || owner.prob == nil {
			return fmt.Errorf("before abort %d: %+v, %v", k, sol, err)
		}
		if err := s.AddColumn(Column{Cost: -1, Coef: []float64{1}, Upper: 1}); err != nil {
			return err
		}
		owner.index[2+k], owner.value[2+k] = []int32{0, 0}, []float64{.5, .5}
		if err := s.Solve(&sol); err != nil || sol.Objective != -5 {
			return fmt.Errorf("at abort %d: %+v, %v", k, sol, err)
		}
		if owner.prob != nil {
			return errors.New("GLPK did not abort, or its problem outlived the memory of its thread")
		}
		owner.index[2+k], owner.value[2+k] = []int32{0}, []float64{1}
	}
	return nil
}

// TestAbortMessage wants GLPK's reason in the error, and no output.
func TestAbortMessage(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer freeThread()
	data, err := newModel(&Problem{Minimize: []float64{-1}, Rows: []Row{AtMost([]float64{1}, 5)}})
	if err != nil {
		t.Fatal(err)
	}
	o := &glpkOwner{model: data}
	var sol Solution
	o.index[0], o.value[0] = []int32{0, 0}, []float64{.5, .5}
	if err := o.attempt(&sol); !errors.Is(err, ErrNumerical) || !strings.Contains(err.Error(), "glp_set_mat_col") {
		t.Errorf("error %v", err)
	}
	o.index[0], o.value[0] = []int32{0}, []float64{1}
	if err := o.attempt(&sol); err != nil || sol.Objective != -5 {
		t.Error(sol, err)
	}
	o.discard()
}

// TestDefault wants NewSolver to use GLPK where it is built in.
func TestDefault(t *testing.T) {
	s, err := NewSolver(&Problem{Minimize: []float64{1}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, ok := s.(*glpkSolver); !ok {
		t.Errorf("default solver %T", s)
	}
}

// TestNoRescue wants an error of NewGLPK's Solver, not an answer of the embedded simplex,
// where GLPK aborts.
func TestNoRescue(t *testing.T) {
	s, err := NewGLPK(&Problem{Minimize: []float64{-1}, Rows: []Row{AtMost([]float64{1}, 5)}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	owner := s.(*glpkSolver).owner
	owner.index[0], owner.value[0] = []int32{0, 0}, []float64{.5, .5}
	if err := s.Solve(new(Solution)); !errors.Is(err, ErrNumerical) {
		t.Errorf("error %v, want one that wraps ErrNumerical", err)
	}
}
