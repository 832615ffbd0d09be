package lp

import (
	"errors"
	"fmt"
	"math"
)

// A Constraint is a linear constraint Lower ≤ a·x ≤ Upper; either side may be infinite.
// With a nil Index, Coef holds a dense, one entry per column; otherwise
// a[Index[k]] = Coef[k] and all else is zero.
type Constraint struct {
	Coef         []float64
	Index        []int
	Lower, Upper float64
}

// AtMost returns the row coef·x ≤ b. It keeps coef.
func AtMost(coef []float64, b float64) Constraint {
	return Constraint{Coef: coef, Lower: math.Inf(-1), Upper: b}
}

// AtLeast returns the row coef·x ≥ b. It keeps coef.
func AtLeast(coef []float64, b float64) Constraint {
	return Constraint{Coef: coef, Lower: b, Upper: math.Inf(1)}
}

// Equal returns the row coef·x = b. It keeps coef.
func Equal(coef []float64, b float64) Constraint {
	return Constraint{Coef: coef, Lower: b, Upper: b}
}

// A Column is a variable with its cost, its bounds (either may be infinite) and
// its entries in the rows. With a nil Index, Coef is dense, one entry per row;
// otherwise the entry in row Index[k] is Coef[k] and all else is zero.
type Column struct {
	Cost         float64
	Coef         []float64
	Index        []int
	Lower, Upper float64
}

// A Problem is a linear program with len(Minimize) columns and len(Rows) rows.
// A nil Lower stands for zeros, a nil Upper for +Inf. No rows and no columns are
// allowed.
//
// No cost, coefficient or finite bound may exceed 1e100 in absolute value; a bound
// that large wants to be infinite. Coefficients below 1e-100 count as zero. No number
// may be NaN, no lower bound +Inf or above its upper bound, no upper bound −Inf. What
// breaks these rules is an error, not infeasible.
type Problem struct {
	Minimize     []float64
	Rows         []Constraint
	Lower, Upper []float64
}

// Free returns bounds −Inf and +Inf for n columns that are free. It panics if n is no number of columns.
func Free(n int) (lower, upper []float64) {
	if n < 0 || n > min(1<<40, math.MaxInt/16) {
		panic("lp: the number of columns is negative, or more than memory can hold")
	}
	lower, upper = make([]float64, n), make([]float64, n)
	for j := range lower {
		lower[j], upper[j] = math.Inf(-1), math.Inf(1)
	}
	return lower, upper
}

// Validate returns an error that names the first fault of p, or nil. Every
// constructor calls it.
func (p *Problem) Validate() error {
	if p == nil {
		return errors.New("lp: nil problem")
	}
	n := len(p.Minimize)
	if j, ok := allUsable(p.Minimize); !ok {
		return fmt.Errorf("lp: cost of column %d: %v: want %s", j, p.Minimize[j], usable)
	}
	if p.Lower != nil && len(p.Lower) != n {
		return fmt.Errorf("lp: %d lower bounds for %d columns", len(p.Lower), n)
	}
	if p.Upper != nil && len(p.Upper) != n {
		return fmt.Errorf("lp: %d upper bounds for %d columns", len(p.Upper), n)
	}
	for j := range n {
		lower, upper := p.bounds(j)
		if err := checkBounds(lower, upper); err != nil {
			return fmt.Errorf("lp: column %d: %w", j, err)
		}
	}
	for i, r := range p.Rows {
		if err := checkVector(r.Coef, r.Index, n, r.Lower, r.Upper); err != nil {
			return fmt.Errorf("lp: row %d: %w", i, err)
		}
	}
	return nil
}

// bounds returns the bounds of column j with the defaults filled in.
func (p *Problem) bounds(j int) (lower, upper float64) {
	upper = math.Inf(1)
	if p.Lower != nil {
		lower = p.Lower[j]
	}
	if p.Upper != nil {
		upper = p.Upper[j]
	}
	return lower, upper
}

// checkVector is the part of validation that rows and columns share: bounds,
// shape, finiteness, and no index twice (which would abort GLPK).
func checkVector(coef []float64, index []int, n int, lower, upper float64) error {
	if err := checkBounds(lower, upper); err != nil {
		return err
	}
	if k, ok := allUsable(coef); !ok {
		return fmt.Errorf("coefficient %d: %v: want %s", k, coef[k], usable)
	}
	if index == nil {
		if len(coef) != n {
			return fmt.Errorf("%d coefficients, want %d", len(coef), n)
		}
		return nil
	}
	if len(index) != len(coef) {
		return fmt.Errorf("%d indices for %d coefficients", len(index), len(coef))
	}
	seen := make(map[int]struct{}, len(index))
	for _, k := range index {
		if k < 0 || k >= n {
			return fmt.Errorf("index %d: want 0 ≤ index < %d", k, n)
		}
		if _, twice := seen[k]; twice {
			return fmt.Errorf("index %d appears twice", k)
		}
		seen[k] = struct{}{}
	}
	return nil
}

func checkBounds(lower, upper float64) error {
	switch {
	case math.IsNaN(lower) || math.IsNaN(upper):
		return fmt.Errorf("bounds [%v, %v]: want no NaN", lower, upper)
	case math.IsInf(lower, 1) || math.IsInf(upper, -1):
		return fmt.Errorf("bounds [%v, %v] admit no number", lower, upper)
	case oversized(lower) || oversized(upper):
		return fmt.Errorf("bounds [%v, %v]: want infinite or %s", lower, upper, usable)
	case lower > upper:
		return fmt.Errorf("lower bound %v above upper bound %v", lower, upper)
	}
	return nil
}

// Numbers outside these limits would leave the range of float64 in the products
// of a solve.
const (
	greatest = 1e100
	least    = 1e-100 // for coefficients
	usable   = "finite, at most 1e100 in absolute value"
)

// oversized says whether a bound is finite but greater than is allowed.
func oversized(b float64) bool { return math.Abs(b) > greatest && !math.IsInf(b, 0) }

// allUsable returns the first index of x whose entry is not a number of allowed
// size and false, or true.
func allUsable(x []float64) (int, bool) {
	for j, v := range x {
		if !(math.Abs(v) <= greatest) {
			return j, false
		}
	}
	return 0, true
}
