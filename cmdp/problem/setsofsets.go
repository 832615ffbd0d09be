package problem

import (
	"errors"
	"fmt"

	"cmdpsolve/geometry"
)

// IntersectionSet is the common points of sets.
type IntersectionSet []*Set

func (in IntersectionSet) size() int { return commonSize(in) }
func (in IntersectionSet) build(dim int, returns []string) (geometry.Set, error) {
	return joined(in, func(s *Set) (geometry.Set, error) { return s.Build(dim, returns) }, geometry.NewIntersection)
}

// ConvexHull is the convex hull of bounded sets.
type ConvexHull []*Set

func (c ConvexHull) size() int { return commonSize(c) }
func (c ConvexHull) build(dim int, returns []string) (geometry.Set, error) {
	return joined(c, func(s *Set) (geometry.Compact, error) { return s.compact(dim, returns) }, geometry.NewConvexHull)
}

// MinkowskiSum is the sums of points of bounded sets.
type MinkowskiSum []*Set

func (m MinkowskiSum) size() int { return commonSize(m) }
func (m MinkowskiSum) build(dim int, returns []string) (geometry.Set, error) {
	return joined(m, func(s *Set) (geometry.Compact, error) { return s.compact(dim, returns) },
		geometry.NewMinkowskiSum)
}

// commonSize returns the number of coordinates that the sets have, or 0 if none says how many or they differ. With 0
// each set is compared with the problem on its own, so that every one that is wrong is named.
func commonSize(members []*Set) int {
	common := 0
	for _, m := range members {
		n := m.size()
		if n > 0 && common > 0 && n != common {
			return 0
		}
		common = max(common, n)
	}
	return common
}

// ProductSet is the product of sets, whose coordinates stand one after the other.
type ProductSet []*Set

func (p ProductSet) size() int {
	sum := 0
	for _, m := range p {
		n := m.size()
		if n == 0 {
			return 0
		}
		sum += n
	}
	return sum
}

// build shares the coordinates out among the factors. One of them may leave
// open how many it takes.
func (p ProductSet) build(dim int, returns []string) (geometry.Set, error) {
	sizes, left, open := make([]int, len(p)), dim, -1
	for k, m := range p {
		sizes[k] = m.size()
		left -= sizes[k]
		if sizes[k] > 0 {
			continue
		}
		if open >= 0 {
			return nil, Inside(fmt.Errorf("problem: how many coordinates it takes is left open, as for factor %d: "+
				"give it a dim", open), k)
		}
		open = k
	}
	if open >= 0 {
		sizes[open], left = left, 0
	}
	if left != 0 || open >= 0 && sizes[open] < 1 {
		return nil, fmt.Errorf("problem: the factors have not %d coordinates together", dim)
	}
	k, at := -1, 0
	return joined(p, func(m *Set) (geometry.Set, error) {
		k++
		var names []string
		if at+sizes[k] <= len(returns) {
			names = returns[at : at+sizes[k]]
		}
		at += sizes[k]
		return m.Build(sizes[k], names)
	}, geometry.NewProduct)
}

// Translate is {x + By : x in Set}.
type Translate struct {
	Set *Set      `json:"set"`
	By  []float64 `json:"by"`
}

func (t *Translate) size() int { return len(t.By) }
func (t *Translate) build(dim int, returns []string) (geometry.Set, error) {
	set, err := t.Set.Build(dim, returns)
	if err != nil {
		return nil, Inside(err, "set")
	}
	return geometry.NewTranslate(set, t.By)
}

// Scale is {Factor·x : x in Set}.
type Scale struct {
	Set    *Set    `json:"set"`
	Factor float64 `json:"factor" jsonschema:"positive"`
}

func (s *Scale) size() int { return s.Set.size() }
func (s *Scale) build(dim int, returns []string) (geometry.Set, error) {
	set, err := s.Set.Build(dim, returns)
	if err != nil {
		return nil, Inside(err, "set")
	}
	return geometry.NewScale(set, s.Factor)
}

// Inflate is the points within the Euclidean distance Radius of Set.
type Inflate struct {
	Set    *Set    `json:"set"`
	Radius float64 `json:"radius" jsonschema:"at least 0"`
}

func (i *Inflate) size() int { return i.Set.size() }
func (i *Inflate) build(dim int, returns []string) (geometry.Set, error) {
	set, err := i.Set.Build(dim, returns)
	if err != nil {
		return nil, Inside(err, "set")
	}
	return geometry.NewInflate(set, i.Radius)
}

// Image is {A x + B : x in Set}. A nil B is zero. The coordinates of Set have no names.
type Image struct {
	A   [][]float64 `json:"A"`
	B   []float64   `json:"b,omitempty" jsonschema:"zeros if absent"`
	Set *Set        `json:"set"`
}

func (m *Image) size() int { return len(m.A) }
func (m *Image) build(int, []string) (geometry.Set, error) {
	if len(m.A) == 0 {
		return nil, Inside(errors.New("problem: no rows"), "A")
	}
	set, err := m.Set.compact(len(m.A[0]), nil)
	if err != nil {
		return nil, Inside(err, "set")
	}
	return geometry.NewImage(m.A, m.B, set)
}

// Preimage is {x : A x + B in Set}. A nil B is zero. The coordinates of Set have no names.
type Preimage Image

func (m *Preimage) size() int { return width(m.A) }
func (m *Preimage) build(int, []string) (geometry.Set, error) {
	set, err := m.Set.Build(len(m.A), nil)
	if err != nil {
		return nil, Inside(err, "set")
	}
	return geometry.NewPreimage(m.A, m.B, set)
}
