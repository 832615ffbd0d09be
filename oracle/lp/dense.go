package lp

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// Dense solves programs that are small, dense and different each time, such as matrix games:
//
//	maximise  cost·x   subject to  A·x ≤ rhs  and  x ≥ 0,   with rhs ≥ 0.
//
// It is a simplex method on a condensed tableau, and the tableau is all that has to be set
// up. NewEmbedded cannot do that: it scales, validates and factorises, which takes it
// 30 µs for a program of three rows and columns that takes Dense 0.4 µs (BenchmarkDense). In
// return Dense neither refines nor certifies what it finds. The zero value is ready for use.
// It keeps its memory between programs, and must not be used concurrently.
type Dense struct {
	// Careful begins with the rule that cannot cycle, and is slower.
	Careful bool

	m, n        int
	table       []float64
	basic, free []int32 // the variable of each line and column: 0 … n−1 are x, n … n+m−1 the slacks
	tight, used []int   // rows and columns of the square system of Polish
	lu          []float64
	pivots      []int
}

const (
	denseOptimality = 1e-13
	densePivot      = 1e-10
)

// Maximize sets x, one entry per column, to a maximiser and y, one per row, to the
// multipliers, both up to rounding errors that pile up over the pivots. The program is
// given as its tableau, which is overwritten: a line of the entries of A and the right-hand
// side for each row, then a line of the costs with their signs turned and 0. The column
// first enters first. It returns false if the program is unbounded.
func (d *Dense) Maximize(x, y, table []float64, first int) bool {
	d.begin(table, len(y), len(x))
	limit := 50 * (d.m + d.n)
	for i := range 2 * limit {
		j := first
		if i > 0 {
			j = d.entering(d.Careful || i > limit)
		}
		if j < 0 {
			break
		}
		line := d.leaving(j, d.Careful || i > limit)
		if line < 0 {
			return false
		}
		d.pivot(line, j)
	}
	clear(x)
	clear(y)
	for i, v := range d.basic {
		if int(v) < d.n {
			x[v] = table[i*(d.n+1)+d.n]
		}
	}
	for j, v := range d.free {
		if int(v) >= d.n {
			y[int(v)-d.n] = table[d.m*(d.n+1)+j]
		}
	}
	return true
}

// begin makes the slacks basic.
func (d *Dense) begin(table []float64, m, n int) {
	d.m, d.n, d.table = m, n, table
	if cap(d.basic) < m {
		d.basic = make([]int32, m, 2*m)
	}
	if cap(d.free) < n {
		d.free = make([]int32, n, 2*n)
	}
	d.basic, d.free = d.basic[:m], d.free[:n]
	for i := range d.basic {
		d.basic[i] = int32(n + i)
	}
	for j := range d.free {
		d.free[j] = int32(j)
	}
}

// entering returns the column that promises most, or after a stall the one of least index.
func (d *Dense) entering(bland bool) int {
	cost := d.table[d.m*(d.n+1) : (d.m+1)*(d.n+1)-1]
	best, at := -denseOptimality, -1
	for j, c := range cost {
		if c >= -denseOptimality {
			continue
		}
		if bland {
			if at < 0 || d.free[j] < d.free[at] {
				at = j
			}
		} else if c < best {
			best, at = c, j
		}
	}
	return at
}

// leaving returns the line with the least ratio; of ties the one with the largest
// pivot, or of least index.
func (d *Dense) leaving(j int, bland bool) int {
	at, least, size := -1, math.Inf(1), 0.0
	w := d.n + 1
	for i := range d.m {
		e := d.table[i*w+j]
		if e <= densePivot {
			continue
		}
		r := d.table[i*w+d.n] / e
		if r < least || r == least && (bland && d.basic[i] < d.basic[at] || !bland && e > size) {
			at, least, size = i, r, e
		}
	}
	return at
}

func (d *Dense) pivot(line, j int) {
	w, table := d.n+1, d.table
	p := table[line*w : (line+1)*w]
	inv := 1 / p[j]
	for k := range p {
		p[k] *= inv
	}
	p[j] = inv
	// A call would take longer than a short line, and in the same loop it slows that down.
	for i := 0; w <= 16 && i <= d.m; i++ {
		q := table[i*w : (i+1)*w]
		f := q[j]
		if i == line || f == 0 {
			continue
		}
		q = q[:len(p)]
		for k, x := range p {
			q[k] -= f * x
		}
		q[j] = -f * inv
	}
	for i := 0; w > 16 && i <= d.m; i++ {
		q := table[i*w : (i+1)*w]
		if f := q[j]; i != line && f != 0 {
			floats.AddScaled(q, -f, p)
			q[j] = -f * inv
		}
	}
	for i := range d.m {
		if v := &table[i*w+d.n]; *v < 0 {
			*v = 0 // rounding of a degenerate line
		}
	}
	d.basic[line], d.free[j] = d.free[j], d.basic[line]
}

// Polish solves the equations of the last program's final basis again, from its tableau,
// which has to be given afresh: the rows that are tight determine the entries of x that are
// not zero, and their transpose y. It returns false, and leaves x and y as they were, if the
// equations are singular or an entry of the solution is below −1e-9.
func (d *Dense) Polish(x, y, table []float64) bool {
	d.tight, d.used = d.tight[:0], d.used[:0]
	for _, v := range d.basic {
		if int(v) < d.n {
			d.used = append(d.used, int(v))
		}
	}
	for _, v := range d.free {
		if int(v) >= d.n {
			d.tight = append(d.tight, int(v)-d.n)
		}
	}
	k, w := len(d.used), d.n+1
	if k == 0 || len(d.tight) != k {
		return false
	}
	d.lu = resize(d.lu, k*k+2*k)
	if cap(d.pivots) < k {
		d.pivots = make([]int, k, 2*k)
	}
	lu := blas64.General{Rows: k, Cols: k, Stride: k, Data: d.lu[:k*k]}
	p, q := d.lu[k*k:k*k+k], d.lu[k*k+k:]
	for r, i := range d.tight {
		for c, j := range d.used {
			lu.Data[r*k+c] = table[i*w+j]
		}
		p[r], q[r] = table[i*w+d.n], -table[d.m*w+d.used[r]]
	}
	regular := lapack64.Getrf(lu, d.pivots[:k])
	for r := range k {
		regular = regular && math.Abs(lu.Data[r*k+r]) >= 1e-14
	}
	if !regular {
		return false
	}
	lapack64.Getrs(blas.NoTrans, lu, blas64.General{Rows: k, Cols: 1, Stride: 1, Data: p}, d.pivots[:k])
	lapack64.Getrs(blas.Trans, lu, blas64.General{Rows: k, Cols: 1, Stride: 1, Data: q}, d.pivots[:k])
	for r := range k {
		if !(p[r] >= -1e-9 && q[r] >= -1e-9) {
			return false
		}
	}
	clear(x)
	clear(y)
	for r := range k {
		x[d.used[r]], y[d.tight[r]] = p[r], q[r]
	}
	return true
}
