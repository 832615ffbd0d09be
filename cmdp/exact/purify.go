package exact

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// A purifier takes randomisation out of a policy without changing what matters of
// its returns. Where mixed policies differ in many pairs, the averaged policy
// randomises in all of them, although as many pairs suffice as returns have to be
// preserved: a basic solution of the occupancy program has no more.
//
// It works on occupancies x. Every randomised pair adds directions in which x can
// move: take action a in place of b there, and go on as before. As soon as there are
// more directions than preserved returns, some combination of them changes none of
// these; x moves along it until an action loses its mass.
type purifier struct {
	face       face
	entries    []entry
	directions []*exchangeDirection
	mass       []float64 // occupancy of the states at hand
	room       []float64 // room for such numbers, or nil
	onSettled  func(e entry)
	// onMove, if not nil, is told that the mass grows by x times d, and onCombine that pivot is added to d x
	// times, and then, with nil for d, that it is dropped.
	onMove    func(d *exchangeDirection, x float64)
	onCombine func(d, pivot *exchangeDirection, x float64)
}

// A face says what purification must preserve. Products of the returns with the
// normals of equalities stay exactly the same, those with the normals of inequalities
// within their slack, and cost·v must not grow.
type face struct {
	equalities         []targetRow
	inequalities       []targetRow // Offset holds the slack that is left
	cost               []float64
	keepsRandomization bool // no randomisation is to be taken out
}

// An entry is the mass of one action of a pair that randomises.
type entry struct {
	h, s, a int
	x       float64
}

// An exchangeDirection is a signed occupancy measure.
type exchangeDirection struct {
	effect []float64 // on the returns
	state  []float64 // on the occupancy of the states at hand; nil for none
	on     []float64 // on each entry
	slot   int       // see forwardPurifier
}

// addPair adds a randomised pair with the given probabilities; values holds, for
// each action, the returns of taking it and going on as before.
func (p *purifier) addPair(h, s int, probs []float64, values [][]float64) {
	total := p.mass[s]
	base := -1
	for a, prob := range probs {
		if prob == 0 {
			continue
		}
		p.entries = append(p.entries, entry{h, s, a, total * prob})
		for _, d := range p.directions {
			x := 0.0
			if d.state != nil {
				x = d.state[s] * prob
			}
			d.on = append(d.on, x)
		}
		if base < 0 {
			base = len(p.entries) - 1
			continue
		}
		d := &exchangeDirection{effect: minus(values[p.entries[base].a], values[a]),
			on: make([]float64, len(p.entries))}
		d.on[base], d.on[len(d.on)-1] = 1, -1
		p.directions = append(p.directions, d)
	}
	p.reduce()
}

// reduce moves along directions until no combination leaves unchanged what must be
// preserved.
func (p *purifier) reduce() {
	for {
		k := p.nullCombination()
		if k == nil {
			return
		}
		p.pivot(k)
	}
}

// nullCombination returns the coefficients of a combination of directions that preserves
// what must be, or nil if there is none.
func (p *purifier) nullCombination() []float64 {
	for j, d := range p.directions {
		if p.preservesFace(d.effect) {
			k := make([]float64, len(p.directions))
			k[j] = 1
			return k
		}
	}
	if len(p.directions) <= len(p.face.equalities) {
		return nil
	}
	// Eliminate in the matrix of effects, one column for each direction; a column
	// without a pivot is a combination of those before it.
	n := len(p.face.equalities) + 1
	matrix := make([][]float64, len(p.face.equalities))
	for i, r := range p.face.equalities {
		matrix[i] = make([]float64, n)
		for j := range n {
			d := p.directions[len(p.directions)-n+j]
			matrix[i][j] = floats.Dot(r.Normal, d.effect) / r.scale
		}
	}
	k := make([]float64, len(p.directions))
	copy(k[len(k)-n:], nullVector(matrix, n, 1e-13))
	return k
}

// preservesFace reports whether a change of the returns is within rounding for all that
// must be preserved.
func (p *purifier) preservesFace(effect []float64) bool {
	for _, r := range p.face.equalities {
		if math.Abs(floats.Dot(r.Normal, effect)) > 1e-14*r.scale {
			return false
		}
	}
	return true
}

// nullVector returns x with matrix·x = 0 that is not 0, or nil if the n columns of the matrix are
// independent. What is left of a column, brought to the size 1, counts as 0 up to negligible. It destroys the matrix.
func nullVector(matrix [][]float64, n int, negligible float64) []float64 {
	// Columns are brought to a common size, so that pivots compare.
	size := make([]float64, n)
	for j := range n {
		for i := range matrix {
			size[j] = math.Max(size[j], math.Abs(matrix[i][j]))
		}
		if size[j] == 0 {
			size[j] = 1
		}
		for i := range matrix {
			matrix[i][j] /= size[j]
		}
	}
	order := make([]int, n) // pivot columns first
	for j := range order {
		order[j] = j
	}
	rank := 0
	for rank < len(matrix) {
		row, col := -1, -1
		for i := rank; i < len(matrix); i++ {
			for j := rank; j < n; j++ {
				if v := math.Abs(matrix[i][order[j]]); v > negligible &&
					(row < 0 || v > math.Abs(matrix[row][order[col]])) {
					row, col = i, j
				}
			}
		}
		if row < 0 {
			break
		}
		matrix[rank], matrix[row] = matrix[row], matrix[rank]
		order[rank], order[col] = order[col], order[rank]
		for i := range matrix {
			if i == rank {
				continue
			}
			f := matrix[i][order[rank]] / matrix[rank][order[rank]]
			floats.AddScaled(matrix[i], -f, matrix[rank])
		}
		rank++
	}
	if rank == n {
		return nil
	}
	x := make([]float64, n)
	free := order[rank]
	x[free] = 1
	for i := range rank {
		x[order[i]] = -matrix[i][free] / matrix[i][order[i]]
	}
	for j := range x {
		x[j] /= size[j]
	}
	return x
}

// pivot goes along Σ k_j·direction_j, forwards or backwards so that the cost does
// not grow, until an entry vanishes or a limit is met.
func (p *purifier) pivot(k []float64) {
	effect := p.effect(k)
	if floats.Dot(p.face.cost, effect) > 0 {
		floats.Scale(-1, k)
		floats.Scale(-1, effect)
	}
	slope := make([]float64, len(p.entries))
	for j, d := range p.directions {
		floats.AddScaled(slope, k[j], d.on)
	}
	t, out := math.Inf(1), -1
	for e, v := range slope {
		if v < 0 && p.entries[e].x < -v*t {
			t, out = p.entries[e].x/-v, e
		}
	}
	limit := -1
	for i, r := range p.face.inequalities {
		if v := floats.Dot(r.Normal, effect); v > 1e-14*r.scale && r.Offset < v*t {
			t, limit = math.Max(0, r.Offset/v), i
		}
	}
	if out < 0 && limit < 0 { // a direction that rounding has emptied
		p.dropLargest(k)
		return
	}
	for e, v := range slope {
		p.entries[e].x = math.Max(0, p.entries[e].x+t*v)
	}
	for j, d := range p.directions {
		if x := t * k[j]; x != 0 {
			floats.AddScaled(p.mass[:len(d.state)], x, d.state)
			if p.onMove != nil {
				p.onMove(d, x)
			}
		}
	}
	for i := range p.face.inequalities {
		r := &p.face.inequalities[i]
		r.Offset = math.Max(0, r.Offset-t*floats.Dot(r.Normal, effect))
	}
	if limit >= 0 {
		p.face.equalities = append(p.face.equalities, p.face.inequalities[limit])
		p.face.inequalities = append(p.face.inequalities[:limit:limit], p.face.inequalities[limit+1:]...)
		return
	}
	p.remove(out)
}

func (p *purifier) effect(k []float64) []float64 {
	sum := make([]float64, len(p.face.cost))
	for j, d := range p.directions {
		floats.AddScaled(sum, k[j], d.effect)
	}
	return sum
}

func (p *purifier) dropLargest(k []float64) {
	at := 0
	for j, x := range k {
		if math.Abs(x) > math.Abs(k[at]) {
			at = j
		}
	}
	p.drop(at)
}

// drop forgets a direction.
func (p *purifier) drop(at int) {
	d := p.directions[at]
	p.directions = append(p.directions[:at:at], p.directions[at+1:]...)
	if p.onCombine != nil {
		p.onCombine(nil, d, 0)
	}
}

// remove takes an entry without mass out of the support. It drops one of the
// directions that touch the entry, after adding it to the others so that they no
// longer touch it. A pair that is left with one action randomises no more.
func (p *purifier) remove(e int) {
	at := 0
	for j, d := range p.directions {
		if math.Abs(d.on[e]) > math.Abs(p.directions[at].on[e]) {
			at = j
		}
	}
	pivot := p.directions[at]
	for _, d := range p.directions {
		if f := -d.on[e] / pivot.on[e]; f != 0 && d != pivot {
			if p.onCombine != nil {
				p.onCombine(d, pivot, f)
			}
			floats.AddScaled(d.effect, f, pivot.effect)
			if d.state == nil && pivot.state != nil {
				d.state = make([]float64, len(pivot.state))
			}
			floats.AddScaled(d.state[:len(pivot.state)], f, pivot.state)
			floats.AddScaled(d.on, f, pivot.on)
		}
	}
	p.drop(at)
	gone := p.entries[e]
	p.forget(e)
	last, left := -1, 0
	for i, o := range p.entries {
		if o.h == gone.h && o.s == gone.s {
			last, left = i, left+1
		}
	}
	if left == 1 {
		p.onSettled(p.entries[last])
		p.forget(last)
	}
}

// forget drops the record of an entry.
func (p *purifier) forget(e int) {
	p.entries = append(p.entries[:e:e], p.entries[e+1:]...)
	for _, d := range p.directions {
		d.on = append(d.on[:e:e], d.on[e+1:]...)
	}
}
