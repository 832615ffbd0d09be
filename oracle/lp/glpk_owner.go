//go:build cgo && glpk

package lp

import (
	"fmt"
	"math"
	"runtime"

	"github.com/lukpank/go-glpk/glpk"
)

// A glpkOwner is a problem together with the goroutine that alone may touch it.
// The Solver changes the model, which is Go memory; the owner passes the
// changes on to GLPK at the next request.
type glpkOwner struct {
	model
	rescue   bool // the embedded simplex answers where GLPK fails
	requests chan *Solution
	replies  chan error
	done     chan struct{}

	newCosts, newBounds bool // GLPK's problem lacks those of the model

	prob                    *glpk.Prob // nil until the first request and after an abort
	rows, columns           int        // of prob
	costFactor, boundFactor float64    // powers of two between the model's numbers and prob's
	y, activity, size       []float64  // work space
	extra                   []float64  // zeros: nothing is allowed beyond the tolerance
}

// serve answers requests until there are no more. The thread is given back
// only when GLPK has forgotten it.
func (o *glpkOwner) serve() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(o.done)
	defer live.Add(-1)
	for dst := range o.requests {
		o.replies <- o.solve(dst)
	}
	if o.prob != nil {
		o.prob.Delete()
	}
	freeThread()
}

// solve answers one request. A program without rows or columns, which has no basis for
// GLPK to find, goes to the embedded simplex.
func (o *glpkOwner) solve(dst *Solution) error {
	if len(o.cost) > 0 && len(o.row.x) > 0 {
		trouble := o.attempt(dst)
		if trouble == nil {
			return nil
		}
		o.discard()
		if !o.rescue {
			return trouble
		}
		if err := newSimplex(o.model).Solve(dst); err != nil {
			return fmt.Errorf("%w, after %w", err, trouble)
		}
		return nil
	}
	return newSimplex(o.model).Solve(dst)
}

// attempt lets GLPK solve, and returns nil if dst holds the answer. Where GLPK would
// abort the process it returns an error.
func (o *glpkOwner) attempt(dst *Solution) (trouble error) {
	defer func() {
		if r := recover(); r != nil {
			if _, abort := r.(glpkAbort); !abort {
				panic(r)
			}
			// GLPK's memory for this thread is in an unknown state: drop all of it.
			trouble = fmt.Errorf("lp: glpk: %s: %w", lastMessage(), ErrNumerical)
			freeThread()
			o.prob = nil
		}
	}()
	o.update()
	before := iterations(o.prob)
	if err := o.prob.Simplex(parameters(5000 + 100*(o.rows+o.columns))); err != nil {
		return fmt.Errorf("lp: glpk: %w", err)
	}
	dst.Iterations = iterations(o.prob) - before
	if !o.read(dst) {
		return fmt.Errorf("lp: glpk: status %d without a proof: %w", o.prob.Status(), ErrNumerical)
	}
	o.activity, o.size, o.extra = resize(o.activity, o.rows), resize(o.size, o.rows), resize(o.extra, o.rows)
	tol := glpkTolerances
	if o.rescue { // the embedded simplex has finer ones
		tol = tolerance{tol.relative, embeddedTolerance.primalFloor, embeddedTolerance.dualFloor}
	}
	return o.certify(dst, o.activity, o.size, o.extra, tol)
}

// discard deletes GLPK's problem, with its basis, so that the next request
// starts afresh.
func (o *glpkOwner) discard() {
	if o.prob != nil {
		o.prob.Delete()
		o.prob = nil
	}
}

// update brings GLPK's problem up to date with the model.
func (o *glpkOwner) update() {
	if o.prob == nil {
		prepareThread()
		o.prob = glpk.New()
		o.prob.SetObjDir(glpk.MIN)
		o.rows, o.columns = 0, 0
		o.newCosts, o.newBounds = true, true
	}
	if m := len(o.row.x); m > o.rows {
		o.prob.AddRows(m - o.rows)
		o.fillRows(m)
		o.rows = m
	}
	if n := len(o.cost); n > o.columns {
		o.prob.AddCols(n - o.columns)
		for j := o.columns; j < n; j++ {
			index := make([]int32, 1, len(o.index[j])+1)
			for _, i := range o.index[j] {
				index = append(index, i+1)
			}
			o.prob.SetMatCol(j+1, index, append([]float64{0}, o.value[j]...))
		}
		o.columns = n
	}
	if o.newBounds {
		o.boundFactor = boundFactor(&o.row, &o.col)
		setRowBounds(o.prob, o.row.lower, o.row.upper, o.boundFactor)
		setColBounds(o.prob, o.col.lower, o.col.upper, o.boundFactor)
	}
	if o.newCosts {
		o.costFactor = equalizer(o.cost)
		setCosts(o.prob, o.cost, o.costFactor)
	}
	o.newCosts, o.newBounds = false, false
}

// fillRows gives the rows from o.rows to m their entries in the columns that GLPK has.
func (o *glpkOwner) fillRows(m int) {
	if o.columns == 0 {
		return
	}
	indices, values := make([][]int32, m-o.rows), make([][]float64, m-o.rows)
	for i := range indices {
		indices[i], values[i] = []int32{0}, []float64{0}
	}
	for j := range o.columns {
		for t, i := range o.index[j] {
			if k := int(i) - o.rows; k >= 0 {
				indices[k] = append(indices[k], int32(j+1))
				values[k] = append(values[k], o.value[j][t])
			}
		}
	}
	for k := range indices {
		o.prob.SetMatRow(o.rows+k+1, indices[k], values[k])
	}
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
