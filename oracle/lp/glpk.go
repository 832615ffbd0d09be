//go:build cgo && glpk

package lp

import (
	"runtime"
	"sync/atomic"
)

// live counts the problems that GLPK holds.
var live atomic.Int64

// NewSolver returns a Solver for p: if the program is built with the tag glpk, one on GLPK
// that asks the embedded simplex where GLPK fails, else NewEmbedded's. It copies p, and
// fails if p is not valid.
func NewSolver(p *Problem) (Solver, error) { return newGLPK(p, true) }

// A glpkSolver is the Solver on GLPK that callers hold. The problem belongs to a
// goroutine that never leaves its thread, because GLPK's memory does; that
// goroutine knows the owner but not the glpkSolver, so a glpkSolver that nobody
// holds any more can be collected, and its cleanup ends the goroutine.
type glpkSolver struct {
	owner   *glpkOwner
	cleanup runtime.Cleanup
}

// NewGLPK returns a Solver for p on GLPK, as a second opinion on what NewEmbedded says. It
// copies p, and fails if p is not valid, with ErrNoGLPK if the program is built without the
// tag glpk. Until Close the Solver occupies one thread.
func NewGLPK(p *Problem) (Solver, error) { return newGLPK(p, false) }

func newGLPK(p *Problem, rescue bool) (Solver, error) {
	data, err := newModel(p)
	if err != nil {
		return nil, err
	}
	owner := &glpkOwner{
		model:    data,
		rescue:   rescue,
		requests: make(chan *Solution),
		replies:  make(chan error),
		done:     make(chan struct{}),
	}
	owner.newCosts, owner.newBounds = true, true
	live.Add(1)
	go owner.serve()
	s := &glpkSolver{owner: owner}
	s.cleanup = runtime.AddCleanup(s, func(requests chan *Solution) { close(requests) }, owner.requests)
	return s, nil
}

// SetObjective implements Solver.
func (s *glpkSolver) SetObjective(c []float64) error {
	s.owner.newCosts = true
	return s.owner.setObjective(c)
}

// SetRowBounds implements Solver.
func (s *glpkSolver) SetRowBounds(i int, lower, upper float64) error {
	s.owner.newBounds = true
	return s.owner.setRowBounds(i, lower, upper)
}

// AddColumn implements Solver.
func (s *glpkSolver) AddColumn(c Column) error {
	s.owner.newCosts, s.owner.newBounds = true, true
	return s.owner.addColumn(c)
}

// AddRow implements Solver.
func (s *glpkSolver) AddRow(r Row) error {
	s.owner.newBounds = true
	_, err := s.owner.addRow(r)
	return err
}

// Solve implements Solver.
func (s *glpkSolver) Solve(dst *Solution) error {
	s.owner.mustBeOpen()
	s.owner.requests <- dst
	err := <-s.owner.replies
	runtime.KeepAlive(s)
	return err
}

// Close implements Solver. It returns when GLPK's memory is free.
func (s *glpkSolver) Close() {
	if s.owner.closed {
		return
	}
	s.owner.closed = true
	s.cleanup.Stop()
	close(s.owner.requests)
	<-s.owner.done
}
