package lp

import "errors"

// A Backend is one implementation of Solver.
type Backend struct {
	Name      string
	NewSolver func(p *Problem) (Solver, error)
}

// Backends returns the implementations of this build.
func Backends() []Backend {
	list := []Backend{{"embedded", NewEmbedded}, {"devex", newDevex}}
	if _, err := NewGLPK(nil); !errors.Is(err, ErrNoGLPK) {
		list = append(list, Backend{"glpk", NewSolver})
	}
	return list
}

// Certify checks an answer of an embedded solver as the solver does before it gives it.
func Certify(of Solver, sol *Solution) error {
	s := of.(*simplex)
	m := len(s.head)
	return s.certify(sol, make([]float64, m), make([]float64, m), make([]float64, m), embeddedTolerance)
}

// newDevex returns an embedded solver that prices columns by Devex however few there are.
func newDevex(p *Problem) (Solver, error) {
	s, err := NewEmbedded(p)
	if err == nil {
		s.(*simplex).many = 0
	}
	return s, err
}

// Alone returns the second opinion on its own, which nothing rescues, if the build has one.
func Alone() (Backend, bool) {
	_, err := NewGLPK(nil)
	return Backend{"glpk", NewGLPK}, !errors.Is(err, ErrNoGLPK)
}
