package problem

import (
	"errors"
	"fmt"
	"math"

	"cmdpsolve/geometry"
)

// A Set describes a convex set as a problem file does: exactly one field is set,
// and its key in the file is the name of the kind. A kind is declared by its field, whose
// tags are its name, what it means and an example, and by its type, which reads and writes
// itself field by field and has the two methods of setKind. Reading, writing, the schema
// and the table of the manual follow.
type Set struct {
	Ball            *Ball            `json:"ball,omitempty" jsonschema:"‖x − center‖₂ ≤ radius" example:"{center: [1, 0], radius: 2}"`
	Box             *Box             `json:"box,omitempty" jsonschema:"lower ≤ x ≤ upper; null is a side without bound, as is a list that is left out" example:"{lower: [0, null], upper: [null, 3]}"`
	Halfspace       *Halfspace       `json:"halfspace,omitempty" jsonschema:"normal·x ≤ offset; the normal is linear" example:"{normal: {reward: -1, cost: 2}, offset: 3}"`
	Polytope        *Polytope        `json:"polytope,omitempty" jsonschema:"A x ≤ b" example:"{A: [[1, 1], [-1, 0], [0, -1]], b: [4, 0, 0]}"`
	Hull            Hull             `json:"hull,omitempty" jsonschema:"x in the convex hull of the points" example:"[[0, 0], [1, 2], [3, 1]]"`
	Point           Point            `json:"point,omitempty" jsonschema:"x is the point" example:"[1, 1]"`
	Simplex         *Simplex         `json:"simplex,omitempty" jsonschema:"x ≥ 0, Σ x_i = total, 1 if left out" example:"{total: 2}"`
	Ellipsoid       *Ellipsoid       `json:"ellipsoid,omitempty" jsonschema:"(x − center)ᵀ shape (x − center) ≤ 1" example:"{center: [1, 1], shape: [[4, 0], [0, 1]]}"`
	Affine          *Equations       `json:"affine,omitempty" jsonschema:"A x = b" example:"{A: [[1, 1]], b: [2]}"`
	L1Ball          *L1Ball          `json:"l1_ball,omitempty" jsonschema:"Σ |x_i − center_i| ≤ radius" example:"{center: [0, 0], radius: 1}"`
	LInfBall        *LInfBall        `json:"linf_ball,omitempty" jsonschema:"max |x_i − center_i| ≤ radius" example:"{center: [0, 0], radius: 1}"`
	Orthant         *Orthant         `json:"orthant,omitempty" jsonschema:"x ≥ 0" example:"{}"`
	SecondOrderCone *SecondOrderCone `json:"second_order_cone,omitempty" jsonschema:"the Euclidean norm of all coordinates but the last is at most the last" example:"{}"`
	Intersection    IntersectionSet  `json:"intersection,omitempty" jsonschema:"x in all of the sets" example:"[{orthant: {}}, {ball: {center: [0, 0], radius: 1}}]"`
	Product         ProductSet       `json:"product,omitempty" jsonschema:"the first coordinates in the first set, the next ones in the second, …" example:"[{point: [1]}, {box: {lower: [0]}}]"`
	ConvexHull      ConvexHull       `json:"convex_hull,omitempty" jsonschema:"x in the convex hull of bounded sets" example:"[{point: [3, 3]}, {ball: {center: [0, 0], radius: 1}}]"`
	MinkowskiSum    MinkowskiSum     `json:"minkowski_sum,omitempty" jsonschema:"x a sum of points of bounded sets" example:"[{hull: [[0, 0], [1, 1]]}, {ball: {center: [0, 0], radius: 1}}]"`
	Translate       *Translate       `json:"translate,omitempty" jsonschema:"x − by in the set" example:"{set: {ball: {center: [0, 0], radius: 1}}, by: [1, 2]}"`
	Scale           *Scale           `json:"scale,omitempty" jsonschema:"x / factor in the set" example:"{set: {simplex: {}}, factor: 3}"`
	Inflate         *Inflate         `json:"inflate,omitempty" jsonschema:"x within the Euclidean distance radius of the set" example:"{set: {point: [1, 1]}, radius: 0.5}"`
	Image           *Image           `json:"image,omitempty" jsonschema:"x = A y + b for a y in a bounded set" example:"{A: [[1], [2]], b: [0, 1], set: {box: {lower: [0], upper: [1]}}}"`
	Preimage        *Preimage        `json:"preimage,omitempty" jsonschema:"A x + b in the set; zeros if b is left out" example:"{A: [[1, 1]], b: [0], set: {box: {upper: [3]}}}"`
}

func (Set) isUnion() {}

// A setKind is a kind of set.
type setKind interface {
	// size returns the number of coordinates, or 0 if the numbers do not tell.
	size() int
	// build makes the set in a space of dim coordinates, which have names or none.
	build(dim int, returns []string) (geometry.Set, error)
}

// Build returns the set in a space of dim coordinates, which are named by
// returns or, if it is nil, not named. The set may be unbounded. An error that
// concerns a member is a [MemberError]. It allocates.
func (s *Set) Build(dim int, returns []string) (geometry.Set, error) {
	if s == nil {
		return nil, errors.New("problem: no set")
	}
	name, kind, err := kindOf(*s)
	if err != nil {
		return nil, err
	}
	var set geometry.Set
	got := kind.(setKind).size()
	if got == 0 || got == dim {
		set, err = kind.(setKind).build(dim, returns)
		if err == nil {
			got = set.Dim()
		}
	}
	if err == nil && got != dim {
		err = fmt.Errorf("problem: a set of %d coordinates: want %d", got, dim)
	}
	if err != nil {
		return nil, Inside(err, name)
	}
	return set, nil
}

// size returns the number of coordinates of a set, or 0 if it does not tell.
func (s *Set) size() int {
	if s != nil {
		if _, kind, err := kindOf(*s); err == nil {
			return kind.(setKind).size()
		}
	}
	return 0
}

func (s *Set) compact(dim int, returns []string) (geometry.Compact, error) {
	set, err := s.Build(dim, returns)
	if err != nil {
		return nil, err
	}
	return geometry.CompactOf(set)
}

// made keeps a nil pointer out of a geometry.Set.
func made[S geometry.Set](s S, err error) (geometry.Set, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// bounded returns a set as a compact one if it is bounded, so that it can be used where
// one is needed.
func bounded[S interface {
	geometry.Set
	Bounded() (C, error)
}, C geometry.Set](s S, err error) (geometry.Set, error) {
	if err != nil {
		return nil, err
	}
	if c, err := s.Bounded(); err == nil {
		return c, nil
	}
	return s, nil
}

func width(rows [][]float64) int {
	if len(rows) == 0 {
		return 0
	}
	return len(rows[0])
}

// given returns the number of coordinates that a set has of its own, or that of its place.
func given(own, place int) int {
	if own > 0 {
		return own
	}
	return place
}

// Ball is the points whose Euclidean distance from Center is at most Radius.
type Ball struct {
	Center []float64 `json:"center"`
	Radius float64   `json:"radius" jsonschema:"at least 0"`
}

func (b *Ball) size() int { return len(b.Center) }
func (b *Ball) build(int, []string) (geometry.Set, error) {
	return made(geometry.NewBall(b.Center, b.Radius))
}

// L1Ball is the ball of the sum of absolute values.
type L1Ball Ball

func (b *L1Ball) size() int { return len(b.Center) }
func (b *L1Ball) build(int, []string) (geometry.Set, error) {
	return made(geometry.NewL1Ball(b.Center, b.Radius))
}

// LInfBall is the ball of the largest absolute value.
type LInfBall Ball

func (b *LInfBall) size() int { return len(b.Center) }
func (b *LInfBall) build(int, []string) (geometry.Set, error) {
	return made(geometry.NewLInfBall(b.Center, b.Radius))
}

// Box is Lower ≤ x ≤ Upper. A nil entry is a side without bound, and so are all
// of an absent list.
type Box struct {
	Lower []*float64 `json:"lower,omitempty" jsonschema:"null for a side without bound"`
	Upper []*float64 `json:"upper,omitempty" jsonschema:"null for a side without bound"`
}

func (b *Box) size() int { return max(len(b.Lower), len(b.Upper)) }
func (b *Box) build(dim int, _ []string) (geometry.Set, error) {
	if b.Lower == nil && b.Upper == nil {
		return nil, errors.New("problem: neither lower nor upper is given")
	}
	lower, err := side(b.Lower, dim, math.Inf(-1))
	if err != nil {
		return nil, Inside(err, "lower")
	}
	upper, err := side(b.Upper, dim, math.Inf(1))
	if err != nil {
		return nil, Inside(err, "upper")
	}
	return bounded(geometry.NewBox(lower, upper))
}

func side(bounds []*float64, dim int, absent float64) ([]float64, error) {
	v := orFill(nil, dim, absent)
	if bounds != nil && len(bounds) != dim {
		return nil, fmt.Errorf("problem: %d bounds: want %d", len(bounds), dim)
	}
	for i, x := range bounds {
		if x != nil {
			v[i] = *x
		}
	}
	return v, nil
}

// Halfspace is Normal·x ≤ Offset.
type Halfspace struct {
	Normal Coefficients `json:"normal" jsonschema:"a mapping from returns to coefficients, or a list"`
	Offset float64      `json:"offset"`
}

func (h *Halfspace) size() int { return len(h.Normal.List) }
func (h *Halfspace) build(dim int, returns []string) (geometry.Set, error) {
	normal, err := h.Normal.vector(returns, dim)
	if err != nil {
		return nil, Inside(err, "normal")
	}
	return made(geometry.NewHalfspace(normal, h.Offset))
}

// Polytope is the inequalities A x ≤ B, whether they bound anything or not.
type Polytope struct {
	A [][]float64 `json:"A" jsonschema:"rows"`
	B []float64   `json:"b" jsonschema:"one number for each row"`
}

func (p *Polytope) size() int { return width(p.A) }
func (p *Polytope) build(int, []string) (geometry.Set, error) {
	if err := fewRows(p.A); err != nil {
		return nil, err
	}
	return bounded(geometry.NewPolyhedron(p.A, p.B))
}

// fewRows returns an error for more rows than linear programs take.
func fewRows(rows [][]float64) error {
	if len(rows) > maxRows {
		return fmt.Errorf("problem: %d rows: want at most %d", len(rows), maxRows)
	}
	return nil
}

// Equations is the affine set A x = B.
type Equations Polytope

func (e *Equations) size() int { return width(e.A) }
func (e *Equations) build(int, []string) (geometry.Set, error) {
	if err := fewRows(e.A); err != nil {
		return nil, err
	}
	return made(geometry.NewAffine(e.A, e.B))
}

// Hull is the convex hull of points.
type Hull [][]float64

func (h Hull) size() int                                 { return width(h) }
func (h Hull) build(int, []string) (geometry.Set, error) { return made(geometry.NewHull(h)) }

// Point is a single point.
type Point []float64

func (p Point) size() int                                 { return len(p) }
func (p Point) build(int, []string) (geometry.Set, error) { return made(geometry.NewPoint(p)) }

// Simplex is the vectors x ≥ 0 of sum Total, 1 if it is nil.
type Simplex struct {
	Total *float64 `json:"total,omitempty" jsonschema:"the sum, 1 if absent"`
	Dim   int      `json:"dim,omitempty" jsonschema:"number of coordinates, where a product leaves it open"`
}

func (s *Simplex) size() int { return s.Dim }
func (s *Simplex) build(dim int, _ []string) (geometry.Set, error) {
	total := 1.0
	if s.Total != nil {
		total = *s.Total
	}
	return made(geometry.NewSimplex(given(s.Dim, dim), total))
}

// Ellipsoid is (x − Center)ᵀ Shape (x − Center) ≤ 1.
type Ellipsoid struct {
	Center []float64   `json:"center"`
	Shape  [][]float64 `json:"shape" jsonschema:"symmetric and positive definite; the squares of the half-axes on its diagonal if it is diagonal"`
}

func (e *Ellipsoid) size() int { return len(e.Center) }
func (e *Ellipsoid) build(int, []string) (geometry.Set, error) {
	return made(geometry.NewEllipsoid(e.Center, e.Shape))
}

// Orthant is x ≥ 0. Dim is 0 where the place says how many coordinates there are.
type Orthant struct {
	Dim int `json:"dim,omitempty" jsonschema:"number of coordinates, where a product leaves it open"`
}

func (o *Orthant) size() int { return o.Dim }
func (o *Orthant) build(dim int, _ []string) (geometry.Set, error) {
	return made(geometry.NewOrthant(given(o.Dim, dim)))
}

// SecondOrderCone is the points whose last coordinate is at least the norm of the others.
type SecondOrderCone Orthant

func (c *SecondOrderCone) size() int { return c.Dim }
func (c *SecondOrderCone) build(dim int, _ []string) (geometry.Set, error) {
	return made(geometry.NewSecondOrderCone(given(c.Dim, dim)))
}
