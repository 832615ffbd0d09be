package oracle

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// bundle is the work space of one call of a BundleConjugate: it minimises
// φ(y) = f(y) − ⟨dual, y⟩ over the domain.
type bundle struct {
	*BundleConjugate
	dual  []float64
	best  []float64 // the best point so far
	least float64   // φ(best)
	bound float64   // φ ≥ bound on the domain, certified
	scale float64   // the largest |φ| met

	point, slope, corner []float64
	planes               []plane
	nearest              leastDistance
}

// plane is the inequality φ(y) ≥ value + ⟨slope, y − at⟩, or, for a plane that
// bounds the domain, ⟨slope, y − at⟩ ≤ 0.
type plane struct {
	at, slope []float64
	value     float64
	length    float64 // ‖slope‖
	domain    bool
	idle      int // rounds since its multiplier was last positive
}

func newBundle(c *BundleConjugate) *bundle {
	d := c.Dim()
	return &bundle{
		BundleConjugate: c, dual: make([]float64, d), best: make([]float64, d),
		point: make([]float64, d), slope: make([]float64, d), corner: make([]float64, d),
		nearest: leastDistance{dim: d, equal: len(c.normals)},
	}
}

// minimize leaves a minimiser in best and a certificate in least and bound.
func (w *bundle) minimize(dual, near []float64) {
	copy(w.dual, dual)
	w.planes = w.planes[:0]
	w.least, w.bound, w.scale = math.Inf(1), math.Inf(-1), 0
	for i, v := range near {
		w.point[i] = math.Min(math.Max(v, w.lower[i]), w.upper[i])
		w.scale += 1e-3 * math.Abs(dual[i]) * (w.upper[i] - w.lower[i])
	}
	w.enterDomain()
	if w.visit() {
		return
	}
	share, stuck := 0.3, 0
	for range conjugateRounds {
		gap := w.least - w.bound
		if gap <= ConjugateTolerance*math.Max(w.scale*1e-3, math.Abs(w.least)) {
			return
		}
		level := w.bound + share*gap
		if w.approach(level) {
			w.enterDomain()
			if w.visit() {
				return
			}
		}
		w.improveBound()
		if w.least-w.bound > 0.999*gap {
			stuck++
		} else {
			stuck, share = 0, 0.3
		}
		if stuck > 20+4*w.Dim() {
			share = 0.5 * (1 + share)
			if stuck > 10*(20+4*w.Dim()) {
				return
			}
		}
		w.forget()
	}
}

// enterDomain replaces the point by its projection on the domain, and keeps the
// plane that separates the two. It goes through the extreme point: where the point is outside by
// rounding, the direction is rounded too, and a plane through the projection cuts the domain.
func (w *bundle) enterDomain() {
	if w.projector == nil {
		return
	}
	copy(w.slope, w.point)
	w.projector.Project(w.point, w.point)
	floats.Sub(w.slope, w.point)
	removeComponents(w.slope, w.normals)
	if length := floats.Norm(w.slope, 2); length > 1e-13*(floats.Norm(w.point, 2)+math.SmallestNonzeroFloat64) {
		w.domain.MaximizeLinear(w.corner, w.slope)
		w.keep(plane{length: length, domain: true}, w.corner)
	}
}

// visit evaluates φ at the point, keeps its plane and the point if it is the best. It
// returns true if the point is a minimiser, or if f is not finite there.
func (w *bundle) visit() bool {
	value := w.f.Value(w.point)
	w.f.Subgradient(w.slope, w.point)
	for i, v := range w.dual {
		value -= v * w.point[i]
		w.slope[i] -= v
	}
	length := floats.Norm(w.slope, 2)
	if math.IsNaN(value+length) || math.IsInf(value, 0) || math.IsInf(length, 0) {
		if math.IsInf(w.least, 1) {
			copy(w.best, w.point)
			w.least = value
		}
		return true
	}
	w.scale = math.Max(w.scale, math.Abs(value))
	if value < w.least {
		w.least = value
		copy(w.best, w.point)
	}
	if length == 0 {
		w.bound = value
		return true
	}
	w.keep(plane{value: value, length: length}, w.point)
	if len(w.planes) <= 2 {
		w.raise(w.slope, value-floats.Dot(w.slope, w.point))
	}
	return false
}

// keep adds a plane through a point with the slope, reusing memory.
func (w *bundle) keep(p plane, at []float64) {
	if len(w.planes) < cap(w.planes) {
		w.planes = w.planes[:len(w.planes)+1]
	} else {
		w.planes = append(w.planes, plane{})
	}
	last := &w.planes[len(w.planes)-1]
	p.at = append(last.at[:0], at...)
	p.slope = append(last.slope[:0], w.slope...)
	*last = p
}

// approach sets the point to the one nearest to best where all planes are at most at
// the level. It returns false if there is none.
func (w *bundle) approach(level float64) bool {
	n, d := &w.nearest, w.Dim()
	n.rows, n.rhs = n.rows[:0], n.rhs[:0]
	for _, normal := range w.normals { // best is in the plane
		n.rows, n.rhs = append(n.rows, normal...), append(n.rhs, 0)
	}
	for i := range d { // positions relative to best keep small differences exact
		n.rows = appendAxis(n.rows, d, i, 1)
		n.rhs = append(n.rhs, w.upper[i]-w.best[i])
		n.rows = appendAxis(n.rows, d, i, -1)
		n.rhs = append(n.rhs, w.best[i]-w.lower[i])
	}
	for k := range w.planes {
		p := &w.planes[k]
		rhs := 0.0
		if !p.domain {
			rhs = level - p.value
		}
		for i, g := range p.slope {
			n.rows = append(n.rows, g/p.length)
			rhs -= g * (w.best[i] - p.at[i])
		}
		n.rhs = append(n.rhs, rhs/p.length)
	}
	clear(w.corner)
	ok := n.solve(w.corner)
	if ok {
		for i, v := range n.x {
			w.point[i] = math.Min(math.Max(w.best[i]+v, w.lower[i]), w.upper[i])
		}
		clear(n.farkas)
		for k, i := range n.active {
			n.farkas[i] = n.mult[k]
		}
	}
	return ok
}

func appendAxis(rows []float64, d, i int, sign float64) []float64 {
	rows = append(rows, make([]float64, d)...)
	rows[len(rows)-d+i] = sign
	return rows
}

// improveBound combines the planes with the multipliers of the last projection.
func (w *bundle) improveBound() {
	total := 0.0
	first := len(w.normals) + 2*w.Dim()
	last := len(w.nearest.farkas)
	for k := range w.planes[:last-first] {
		p := &w.planes[k]
		p.idle++
		if m := w.nearest.farkas[first+k]; m > 0 {
			p.idle = 0
			if !p.domain {
				total += m / p.length
			}
		}
	}
	if !(total > 0) || math.IsInf(total, 0) {
		return
	}
	clear(w.slope)
	value := 0.0
	for k := range w.planes[:last-first] {
		p := &w.planes[k]
		m := w.nearest.farkas[first+k] / p.length / total
		if p.domain || !(m > 0) {
			continue
		}
		at := p.value
		for i, g := range p.slope {
			w.slope[i] += m * g
			at -= g * p.at[i]
		}
		value += m * at
	}
	w.raise(w.slope, value)
}

// raise lifts the bound to the least value of value + ⟨slope, ·⟩ on the domain.
func (w *bundle) raise(slope []float64, value float64) {
	for i, g := range slope {
		w.slope[i] = -g
	}
	w.domain.MaximizeLinear(w.corner, w.slope)
	w.bound = math.Max(w.bound, value-floats.Dot(w.slope, w.corner))
}

// forget drops the planes that have been idle longest when there are too many.
func (w *bundle) forget() {
	limit := 40 + 12*w.Dim()
	if len(w.planes) < limit {
		return
	}
	kept := 0
	for k := range w.planes {
		if w.planes[k].idle <= limit/4 {
			w.planes[kept], w.planes[k] = w.planes[k], w.planes[kept]
			kept++
		}
	}
	w.planes = w.planes[:kept]
}
