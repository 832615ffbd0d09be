package oracle

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/floats"
)

// MinNorm projects on a compact set that is known by its linear maximiser alone,
// with Wolfe's method for the point of minimum norm (Mathematical Programming 11,
// 1976).
//
// It keeps at most d+1 affinely independent points of the set and the nearest
// point of their hull. For polytopes it ends after finitely many steps with the
// projection up to rounding. For other sets every step adds a point, and
// it stops when rounding hides further progress; Nearest returns the certificate.
//
// A call allocates only when the pool of work space is empty. It is safe for
// concurrent use if the set is.
type MinNorm struct {
	set  LinearMaximizer
	pool sync.Pool
}

// NewMinNorm returns the projection on the set. It panics if there is none.
func NewMinNorm(set LinearMaximizer) *MinNorm {
	if set == nil {
		panic("oracle: projection on no set")
	}
	return &MinNorm{set: set, pool: sync.Pool{New: func() any { return newWolfe(set.Dim()) }}}
}

// Dim returns the dimension of the space.
func (m *MinNorm) Dim() int { return m.set.Dim() }

// Project sets dst to the point of the set nearest to x. dst may be x.
func (m *MinNorm) Project(dst, x []float64) { m.Nearest(dst, x) }

// Nearest is Project with its certificate: gap bounds ⟨x − dst, y − dst⟩ over the
// points y of the set, so that ‖dst − Π(x)‖² ≤ gap, and dst is a convex combination
// of points that the linear maximiser gave.
func (m *MinNorm) Nearest(dst, x []float64) (gap float64) {
	return m.NearestOf(m.set, dst, x)
}

// NearestOf is Nearest for another set of the same dimension, a face of the first
// for example, with the work space of m.
func (m *MinNorm) NearestOf(set LinearMaximizer, dst, x []float64) (gap float64) {
	d := m.Dim()
	if len(dst) != d || len(x) != d || set.Dim() != d {
		panic(badLength)
	}
	w := m.pool.Get().(*wolfe)
	gap = w.nearest(set, x)
	copy(dst, w.best)
	m.pool.Put(w)
	return gap
}

// wolfe is the work space of one call: the corral and its weights.
type wolfe struct {
	dim, n         int
	atoms          []float64 // flat, n points
	weight, trial  []float64
	z, best, dir   []float64 // z = Σ weight·atom
	y, rest        []float64
	basis, tri     []float64 // orthonormal factor of the differences to atom 0
	x              []float64
	distance, size float64
}

func newWolfe(d int) *wolfe {
	v := func(n int) []float64 { return make([]float64, n) }
	return &wolfe{
		dim: d, atoms: v((d + 1) * d), weight: v(d + 1), trial: v(d + 1),
		z: v(d), best: v(d), dir: v(d), y: v(d), rest: v(d), basis: v(d * d), tri: v(d * d), x: v(d),
	}
}

func (w *wolfe) atom(k int) []float64 { return w.atoms[k*w.dim : (k+1)*w.dim] }

func (w *wolfe) nearest(set LinearMaximizer, x []float64) (gap float64) {
	copy(w.x, x)
	set.MaximizeLinear(w.z, x)
	copy(w.atom(0), w.z)
	w.n, w.weight[0], w.distance = 1, 1, math.Inf(1)
	idle := 0
	for range 300 + 50*w.dim {
		d := floats.Distance(w.x, w.z, 2)
		if d >= w.distance {
			return gap
		}
		idle++
		if d < w.distance*(1-1e-12) {
			idle = 0
		}
		copy(w.best, w.z)
		w.distance = d
		floats.SubTo(w.dir, w.x, w.z)
		set.MaximizeLinear(w.y, w.dir)
		gap = 0
		for i, v := range w.dir {
			gap += v * (w.y[i] - w.z[i])
		}
		w.size = floats.Norm(w.x, 2) + floats.Norm(w.z, 2) + floats.Norm(w.y, 2)
		if gap <= 2e-16*w.size*floats.Distance(w.y, w.z, 2) || d <= 1e-16*w.size {
			return math.Max(gap, 0)
		}
		if w.n > w.dim || w.known() || idle > 3+w.dim {
			return gap
		}
		copy(w.atom(w.n), w.y)
		w.weight[w.n] = 0
		w.n++
		if !w.descend() {
			return gap
		}
	}
	return gap
}

// known reports whether the new point is in the corral already, in which case only
// rounding asks for it.
func (w *wolfe) known() bool {
	for k := range w.n {
		if floats.Distance(w.atom(k), w.y, 2) == 0 {
			return true
		}
	}
	return false
}

// descend moves to the point nearest to x in the affine hull of the corral, and
// drops points until that is in the convex hull. It returns false if the corral is
// not affinely independent.
func (w *wolfe) descend() bool {
	for w.n > 1 {
		if !w.affine() {
			return false
		}
		share := 1.0
		for k := range w.n {
			if w.trial[k] <= 0 {
				if s := w.weight[k] / (w.weight[k] - w.trial[k]); s < share {
					share = s
				}
			}
		}
		least := -1
		for k := range w.n {
			w.weight[k] += share * (w.trial[k] - w.weight[k])
			if w.trial[k] <= 0 && (least < 0 || w.weight[k] < w.weight[least]) {
				least = k
			}
		}
		if least < 0 {
			break
		}
		w.drop(least)
	}
	if w.n == 1 {
		w.weight[0] = 1
		copy(w.z, w.atom(0))
	}
	return true
}

// drop removes atom k. Another without weight stays: it may be the new one, for which there was no room to move yet.
func (w *wolfe) drop(k int) {
	copy(w.atoms[k*w.dim:], w.atoms[(k+1)*w.dim:w.n*w.dim])
	copy(w.weight[k:], w.weight[k+1:w.n])
	w.n--
}

// affine sets trial to the weights of the point z of the affine hull nearest to x.
func (w *wolfe) affine() bool {
	d, base := w.dim, w.atom(0)
	copy(w.z, base)
	floats.SubTo(w.rest, w.x, base)
	for k := 1; k < w.n; k++ {
		q, tri := w.basis[(k-1)*d:k*d], w.tri[(k-1)*d:k*d]
		floats.SubTo(q, w.atom(k), base)
		full := floats.Norm(q, 2)
		clear(tri)
		for range 2 {
			for j := range k - 1 {
				p := w.basis[j*d : (j+1)*d]
				c := floats.Dot(p, q)
				tri[j] += c
				floats.AddScaled(q, -c, p)
			}
		}
		length := floats.Norm(q, 2)
		if length <= 1e-14*full {
			return false
		}
		tri[k-1] = length
		for i := range q {
			q[i] /= length
		}
		c := floats.Dot(q, w.rest)
		for i, v := range q {
			w.rest[i] -= c * v
			w.z[i] += c * v
		}
		w.trial[k] = c
	}
	w.trial[0] = 1
	for k := w.n - 1; k >= 1; k-- {
		tri := w.tri[(k-1)*d : k*d]
		w.trial[k] /= tri[k-1]
		for j := 1; j < k; j++ {
			w.trial[j] -= w.trial[k] * tri[j-1]
		}
		w.trial[0] -= w.trial[k]
	}
	return true
}
