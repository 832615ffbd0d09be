package oracle

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"
)

// Member is one condition of an IntersectionProjector: Matrix·x + Shift lies in Set. A nil
// Matrix stands for the identity, a nil Shift for zero.
type Member struct {
	Set    Projector
	Matrix [][]float64
	Shift  []float64
}

// The method of multipliers: the penalty at first and at most, and limits on its rounds and on the
// quasi-Newton steps in each.
const (
	firstPenalty  = 100
	lastPenalty   = 1e6
	penaltyRounds = 60
	newtonSteps   = 200
)

// IntersectionProjector projects on the points that satisfy several conditions, each a
// closed convex set known by its projection, perhaps through an affine map.
//
// It is the method of multipliers (Rockafellar, 1976): the conditions enter the
// objective as squared distances, which are smooth, with one normal vector each;
// a quasi-Newton method minimises that in the d coordinates, then the normals are
// renewed. The point found is stationary for the true problem up to rounding,
// which Nearest certifies. Far points are projected again from nearer ones. Dykstra's
// method asks for less but needs orders of magnitude more projections where sets meet
// at small angles.
//
// A call allocates only when the pool of work space is empty. It is safe for
// concurrent use if the sets are.
type IntersectionProjector struct {
	dim     int
	members []Member
	weights []float64 // of the members' squared distances, see weight
	units   []float64 // of the members' spaces, 1 at most: what absolute rounding is measured by, see unit
	total   int       // the sum of the dimensions of the members' sets
	pool    sync.Pool
}

// NewIntersectionProjector returns the projection on the points of dimension dim that satisfy
// all conditions. It is an error if there are none, if dimensions do not fit, and,
// wrapping ErrEmpty and with the multipliers of planes that show it, if
// no point satisfies them all.
func NewIntersectionProjector(dim int, members ...Member) (*IntersectionProjector, error) {
	if len(members) == 0 || dim < 1 {
		return nil, errors.New("oracle: intersection of no sets or dimension 0: want at least one")
	}
	s := &IntersectionProjector{dim: dim, members: append([]Member(nil), members...)}
	for k, m := range members {
		if m.Set == nil {
			return nil, fmt.Errorf("oracle: member %d of an intersection has no set", k)
		}
		rows := m.Set.Dim()
		s.total += rows
		if m.Matrix == nil && rows != dim || m.Matrix != nil && len(m.Matrix) != rows ||
			m.Shift != nil && len(m.Shift) != rows {
			return nil, fmt.Errorf("oracle: member %d of an intersection in dimension %d has a set of dimension %d, "+
				"%d rows and %d shifts: want them to fit", k, dim, rows, len(m.Matrix), len(m.Shift))
		}
		for i, r := range m.Matrix {
			if len(r) != dim {
				return nil, fmt.Errorf("oracle: row %d of member %d has %d entries: want %d", i, k, len(r), dim)
			}
		}
	}
	for k := range members {
		s.weights = append(s.weights, s.members[k].weight())
		s.units = append(s.units, s.members[k].unit())
	}
	s.shareUnits()
	s.pool.New = func() any { return newMultipliers(s) }
	if err := s.prove(); err != nil {
		return nil, err
	}
	return s, nil
}

// Dim returns the dimension of the space.
func (s *IntersectionProjector) Dim() int { return s.dim }

// Members returns the conditions, which are not to be changed.
func (s *IntersectionProjector) Members() []Member { return s.members }

// Project sets dst to the nearest point to x that satisfies all conditions. dst may be x.
func (s *IntersectionProjector) Project(dst, x []float64) { s.Nearest(dst, x) }

// Nearest is Project with its certificate: outside is the largest distance at which a
// condition is missed, and slack is such that ⟨x − dst, y − dst⟩ ≤ slack·(1 + ‖y − dst‖) for
// all points y that satisfy all conditions, up to rounding.
func (s *IntersectionProjector) Nearest(dst, x []float64) (outside, slack float64) {
	if len(dst) != s.dim || len(x) != s.dim {
		panic(badLength)
	}
	w := s.pool.Get().(*multipliers)
	outside, slack = w.nearest(x)
	copy(dst, w.best)
	s.pool.Put(w)
	return outside, slack
}

// apply sets w to Matrix·x + Shift.
func (m *Member) apply(w, x []float64) {
	if m.Matrix == nil {
		copy(w, x)
	}
	for i, r := range m.Matrix {
		w[i] = floats.Dot(r, x)
	}
	if m.Shift != nil {
		floats.Add(w, m.Shift)
	}
}

// weight returns what the square of a distance between images counts beside that of points: one over the square of the
// length of the longest row where that length is below 1. Without it a map into a coarse unit would leave its condition
// hardly any weight.
func (m *Member) weight() float64 {
	longest := 0.0
	for _, r := range m.Matrix {
		longest = math.Max(longest, floats.Norm(r, 2))
	}
	if w := 1 / (longest * longest); w > 1 && !math.IsInf(w, 1) {
		return w
	}
	return 1
}

// unit returns how far a set reaches from the origin where that is less than 1, else 1: what a projection is wrong by
// is a share of that near the origin too. Of the origin alone it is 1.
func (m *Member) unit() float64 {
	reach, d := 0.0, m.Set.Dim()
	from, to := make([]float64, d), make([]float64, d)
	for i := range d {
		for _, x := range []float64{1, -1} {
			from[i] = x
			m.Set.Project(to, from)
			reach = math.Max(reach, floats.Norm(to, 2))
		}
		from[i] = 0
	}
	if reach > 0 && reach < 1 {
		return reach
	}
	return 1
}

// shareUnits has the members that are about points themselves measured by the smallest of them, which holds all points
// that are sought.
func (s *IntersectionProjector) shareUnits() {
	least := 1.0
	for k, m := range s.members {
		if m.Matrix == nil && m.Shift == nil {
			least = math.Min(least, s.units[k])
		}
	}
	for k, m := range s.members {
		if m.Matrix == nil && m.Shift == nil {
			s.units[k] = least
		}
	}
}

// addTransposed adds scale·Matrixᵀ·y to g.
func (m *Member) addTransposed(g, y []float64, scale float64) {
	if m.Matrix == nil {
		floats.AddScaled(g, scale, y)
		return
	}
	for i, r := range m.Matrix {
		floats.AddScaled(g, scale*y[i], r)
	}
}

// prove looks for a common point, or for planes that show that there is none, by
// projecting on all the planes found so far.
func (s *IntersectionProjector) prove() error {
	point, n := make([]float64, s.dim), leastDistance{dim: s.dim}
	var outside, first float64
	for range 200 + 40*s.dim {
		if !n.solve(point[:s.dim]) {
			break
		}
		x := append([]float64(nil), n.x...)
		clear(point)
		outside = 0
		for k, m := range s.members {
			w, p := make([]float64, m.Set.Dim()), make([]float64, m.Set.Dim())
			m.apply(w, x)
			m.Set.Project(p, w)
			gap := floats.Distance(w, p, 2)
			if !(gap > 1e-11*(1e-3*s.units[k]+floats.Norm(w, 2))) {
				continue
			}
			g, offset := make([]float64, s.dim), 0.0
			for i := range w {
				w[i] = (w[i] - p[i]) / gap
				offset += w[i] * p[i]
				if m.Shift != nil {
					offset -= w[i] * m.Shift[i]
				}
			}
			m.addTransposed(g, w, 1)
			length := floats.Norm(g, 2)
			if length <= dependent {
				return fmt.Errorf("oracle: a condition misses its set by %.6g whatever the point: %w", gap, ErrEmpty)
			}
			for i := range g {
				g[i] /= length
			}
			n.rows, n.rhs = append(n.rows, g...), append(n.rhs, offset/length)
			outside = math.Max(outside, gap)
		}
		far := floats.Norm(x, 2)
		if first == 0 {
			first = far
		}
		switch {
		case outside == 0 && far > 1e11*(1e-3*slices.Min(s.units)+first):
			// Planes recede until rounding hides what is missed.
			return fmt.Errorf("oracle: planes that separate leave no point that is nearer than %.3g: %w", far, ErrEmpty)
		case outside == 0:
			return nil
		}
	}
	return s.judge(&n, outside)
}

// judge decides, when planes are exhausted, by their multipliers or, where rounding
// spoils these, by how near the projection comes to all sets.
func (s *IntersectionProjector) judge(n *leastDistance, near float64) error {
	total, value, rest := 0.0, 0.0, make([]float64, s.dim)
	for i, m := range n.farkas {
		total += math.Abs(m)
		value += m * n.rhs[i]
		floats.AddScaled(rest, m, n.row(i))
	}
	p := make([]float64, s.dim)
	outside, _ := s.Nearest(p, p)
	if scale := 1e-9 * (1e-3*slices.Min(s.units) + floats.Norm(p, 2)); outside <= scale || near <= scale {
		return nil
	}
	return fmt.Errorf("oracle: no point comes nearer than about %.3g to all sets: multipliers of total %.6g on %d "+
		"separating planes give %.3g ≤ %.6g: %w", math.Min(outside, near), total, n.count(), floats.Norm(rest, 2), value,
		ErrEmpty)
}
