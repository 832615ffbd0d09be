package lp

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// maxExponent bounds the scale factors by 2^±maxExponent, so that products of a
// row scale, a column scale and a coefficient of ordinary size stay finite.
const maxExponent = 320

// An entry is one non-zero coefficient of the matrix.
type entry struct {
	row, col int
	value    float64
}

// entries lists the coefficients of p that count.
func (p *Problem) entries() []entry {
	var list []entry
	for i, r := range p.Rows {
		for k, v := range r.Coef {
			if math.Abs(v) < least {
				continue
			}
			col := k
			if r.Index != nil {
				col = r.Index[k]
			}
			list = append(list, entry{i, col, v})
		}
	}
	return list
}

// equilibrate returns factors, powers of two, such that the entries
// rowScale[i]·a·colScale[j] are near 1: three passes of geometric means, and then
// every column is brought to a largest entry in [1, 2). Powers of two leave no rounding
// error, so a solution scales back exactly. Dust has no say: one entry of 1e-17, which terms that cancel out leave,
// would set others 1e8 apart.
func equilibrate(list []entry, m, n int) (rowScale, colScale []float64) {
	list = withoutDust(list, m, n)
	row, col := make([]float64, m), make([]float64, n)
	logs := make([]float64, len(list))
	for k, e := range list {
		logs[k] = math.Log2(math.Abs(e.value))
	}
	rowLow, rowHigh := make([]float64, m), make([]float64, m)
	colLow, colHigh := make([]float64, n), make([]float64, n)
	for range 3 {
		reset(rowLow, rowHigh)
		for k, e := range list {
			spread(rowLow, rowHigh, e.row, logs[k]+col[e.col])
		}
		centre(row, rowLow, rowHigh)
		reset(colLow, colHigh)
		for k, e := range list {
			spread(colLow, colHigh, e.col, logs[k]+row[e.row])
		}
		centre(col, colLow, colHigh)
	}
	for i := range row {
		row[i] = clampExponent(math.Round(row[i]))
	}
	reset(colLow, colHigh)
	for k, e := range list {
		spread(colLow, colHigh, e.col, logs[k]+row[e.row])
	}
	for j := range col {
		col[j] = 0
		if !math.IsInf(colHigh[j], 0) {
			col[j] = clampExponent(-math.Floor(colHigh[j]))
		}
	}
	powers(row)
	powers(col)
	return row, col
}

// withoutDust leaves out the entries that are far below the largest both of their row and of their column, and below
// the second largest of one of them: where only one entry is large, as that of the value of a game, the others are no
// dust.
func withoutDust(list []entry, m, n int) []entry {
	const share = 1e-14
	row, col := make([]largestTwo, m), make([]largestTwo, n)
	for _, e := range list {
		row[e.row].add(math.Abs(e.value))
		col[e.col].add(math.Abs(e.value))
	}
	var out []entry
	for _, e := range list {
		r, c := row[e.row], col[e.col]
		if math.Abs(e.value) > share*min(r.first, c.first, max(r.second, c.second)) {
			out = append(out, e)
		}
	}
	return out
}

// largestTwo are the largest of some numbers.
type largestTwo struct{ first, second float64 }

func (l *largestTwo) add(x float64) {
	l.second = max(l.second, min(l.first, x))
	l.first = max(l.first, x)
}

func reset(low, high []float64) {
	for i := range low {
		low[i], high[i] = math.Inf(1), math.Inf(-1)
	}
}

func spread(low, high []float64, i int, v float64) {
	low[i], high[i] = math.Min(low[i], v), math.Max(high[i], v)
}

// centre sets each exponent to minus the middle of the spread; a row or column
// without entries keeps the exponent zero.
func centre(dst, low, high []float64) {
	for i := range dst {
		if !math.IsInf(low[i], 0) {
			dst[i] = -(low[i] + high[i]) / 2
		}
	}
}

func powers(x []float64) {
	for i, e := range x {
		x[i] = math.Ldexp(1, int(e))
	}
}

func clampExponent(e float64) float64 { return math.Max(-maxExponent, math.Min(maxExponent, e)) }

// equalizer returns the power of two that brings the largest entry of values to
// [1, 2), or 1 if all are zero. It scales a row or column that is added later.
func equalizer(values []float64) float64 {
	size := floats.Norm(values, math.Inf(1))
	if size == 0 || math.IsInf(size, 0) {
		return 1
	}
	return math.Ldexp(1, int(clampExponent(float64(-math.Ilogb(size)))))
}
