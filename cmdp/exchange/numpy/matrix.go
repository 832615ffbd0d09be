package numpy

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// A matrix is square and sparse, row by row.
type matrix struct {
	states int
	offset []int // length S+1
	column []int32
	value  []float64
}

// readMatrix reads what scipy.sparse.save_npz writes.
func readMatrix(a *Archive) (*matrix, error) {
	format, err := a.Strings("format")
	if err != nil {
		return nil, err
	}
	_, shape, err := a.Floats("shape")
	if err != nil {
		return nil, err
	}
	if len(format) != 1 || len(shape) != 2 || shape[0] != shape[1] || !(shape[0] >= 1 && shape[0] <= math.MaxInt32-1) {
		return nil, fmt.Errorf("shape %v: want a square matrix", shape)
	}
	x := &matrix{states: int(shape[0])}
	_, x.value, err = a.Floats("data")
	if err != nil {
		return nil, err
	}
	if int64(x.states) > a.limit {
		return nil, fmt.Errorf("%d states: more than the archive can hold", x.states)
	}
	var rows, columns []int32
	switch format[0] {
	case "csr", "csc":
		columns, err = x.numbers(a, "indices", len(x.value), x.states-1)
		if err != nil {
			return nil, err
		}
		bounds, err := x.numbers(a, "indptr", x.states+1, len(x.value))
		if err != nil {
			return nil, err
		}
		rows, err = repeat(bounds, len(x.value))
		if err != nil {
			return nil, err
		}
		if format[0] == "csc" {
			rows, columns = columns, rows
		}
	case "coo":
		rows, err = x.numbers(a, "row", len(x.value), x.states-1)
		if err == nil {
			columns, err = x.numbers(a, "col", len(x.value), x.states-1)
		}
		if err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("format %s: want csr, csc or coo, as P.tocsr() gives", format[0])
	}
	x.sort(rows, columns)
	return x, nil
}

// numbers reads n whole numbers from 0 to most.
func (x *matrix) numbers(a *Archive, name string, n, most int) ([]int32, error) {
	_, values, err := a.Floats(name)
	if err != nil {
		return nil, err
	}
	if len(values) != n {
		return nil, fmt.Errorf("%s: %d values: want %d", name, len(values), n)
	}
	out := make([]int32, n)
	for i, v := range values {
		if !(v >= 0 && v <= float64(min(most, math.MaxInt32))) || v != math.Trunc(v) {
			return nil, fmt.Errorf("%s[%d] is %g: want a whole number from 0 to %d", name, i, v, most)
		}
		out[i] = int32(v)
	}
	return out, nil
}

// repeat gives each of n entries the number of the interval that it is in.
func repeat(bounds []int32, n int) ([]int32, error) {
	out := make([]int32, 0, n)
	for i := range len(bounds) - 1 {
		if bounds[i+1] < bounds[i] || i == 0 && bounds[0] != 0 {
			return nil, fmt.Errorf("indptr[%d] is %d after %d: want bounds that rise from 0", i+1, bounds[i+1],
				bounds[i])
		}
		for range bounds[i+1] - bounds[i] {
			out = append(out, int32(i))
		}
	}
	if len(out) != n {
		return nil, fmt.Errorf("indptr ends with %d: want %d", len(out), n)
	}
	return out, nil
}

// sort puts entries in order of rows, and of columns in each row. It is stable.
func (x *matrix) sort(rows, columns []int32) {
	x.offset = make([]int, x.states+1)
	for _, r := range rows {
		x.offset[r+1]++
	}
	for s := range x.states {
		x.offset[s+1] += x.offset[s]
	}
	fill, value := slices.Clone(x.offset), make([]float64, len(x.value))
	x.column = make([]int32, len(columns))
	for i, r := range rows {
		at := fill[r]
		fill[r]++
		x.column[at], value[at] = columns[i], x.value[i]
	}
	x.value = value
	for s := range x.states {
		row := &matrixRow{x.column[x.offset[s]:x.offset[s+1]], value[x.offset[s]:x.offset[s+1]]}
		if !sort.IsSorted(row) {
			sort.Stable(row)
		}
	}
}

type matrixRow struct {
	column []int32
	value  []float64
}

func (r *matrixRow) Len() int           { return len(r.column) }
func (r *matrixRow) Less(i, j int) bool { return r.column[i] < r.column[j] }
func (r *matrixRow) Swap(i, j int) {
	r.column[i], r.column[j] = r.column[j], r.column[i]
	r.value[i], r.value[j] = r.value[j], r.value[i]
}

// row hands out the entries of a row that are not 0; entries of the same column
// add up, as in SciPy.
func (x *matrix) row(s int, each func(t int32, p float64)) {
	for e := x.offset[s]; e < x.offset[s+1]; {
		t, p := x.column[e], 0.0
		for ; e < x.offset[s+1] && x.column[e] == t; e++ {
			p += x.value[e]
		}
		if p != 0 {
			each(t, p)
		}
	}
}
