//go:build !(cgo && glpk)

package lp

// NewSolver returns a Solver for p: if the program is built with the tag glpk, one on GLPK
// that asks the embedded simplex where GLPK fails, else NewEmbedded's. It copies p, and
// fails if p is not valid.
func NewSolver(p *Problem) (Solver, error) { return NewEmbedded(p) }

// NewGLPK returns a Solver for p on GLPK, as a second opinion on what NewEmbedded says. It
// copies p, and fails if p is not valid, with ErrNoGLPK if the program is built without the
// tag glpk. It begins every Solve afresh.
func NewGLPK(p *Problem) (Solver, error) { return nil, ErrNoGLPK }
