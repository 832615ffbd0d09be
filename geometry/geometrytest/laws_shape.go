package geometrytest

import (
	"fmt"
	"math"

	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

func (p *probe) bounds() error {
	b, ok := p.set.(geometry.Bounder)
	if !ok {
		return nil
	}
	lower, upper := p.blank(), p.blank()
	b.Bounds(lower, upper)
	for i, l := range lower {
		if !(l <= upper[i]) {
			return fmt.Errorf("coordinate %d goes from %g to %g", i, l, upper[i])
		}
		for _, y := range p.members {
			if slack := p.slack(y); y[i] < l-slack || y[i] > upper[i]+slack {
				return fmt.Errorf("coordinate %d goes from %g to %g, but the set has the point %v", i, l, upper[i], y)
			}
		}
	}
	return nil
}

func (p *probe) interior() error {
	in, ok := p.set.(geometry.Interior)
	if !ok {
		return nil
	}
	center := p.blank()
	radius := in.InteriorPoint(center)
	if !(radius >= 0) || math.IsInf(radius, 0) || !finite(center) {
		return fmt.Errorf("point %v with radius %g: want finite numbers, radius ≥ 0", center, radius)
	}
	for k := range 1 + len(p.directions) {
		x := append([]float64(nil), center...)
		if k > 0 {
			dir := p.directions[k-1]
			length := math.Max(floats.Norm(dir, 2), math.SmallestNonzeroFloat64)
			for i, v := range dir {
				x[i] += radius * (v / length)
			}
		}
		if gap := floats.Distance(x, p.project(x), 2); gap > p.slack(x, center) {
			return fmt.Errorf("point %v has radius %g, but %v is %g from its projection", center, radius, x, gap)
		}
	}
	return nil
}

// rows tests that members satisfy the rows, and that a point outside breaks one.
func (p *probe) rows() error {
	r, ok := p.set.(geometry.Polyhedral)
	if !ok {
		return nil
	}
	rows, ok := r.Rows()
	if !ok {
		return nil
	}
	worst := func(x []float64) (most float64) {
		for k, a := range rows.A {
			excess := (floats.Dot(a, x) - rows.B[k]) / floats.Norm(a, 2)
			if k < rows.Equalities {
				excess = math.Abs(excess)
			}
			most = math.Max(most, excess)
		}
		return most
	}
	for _, y := range p.members {
		if most := worst(y); most > 2*p.slack(y) {
			return fmt.Errorf("member %v breaks a row by %g", y, most)
		}
	}
	outside := append([][]float64(nil), p.points...)
	if p.maximizer != nil { // beyond the extreme points, where a single row may be all that is broken
		for _, dir := range p.directions {
			y := p.maximize(dir)
			outside = append(outside, floats.AddScaledTo(y, y, 0.1, dir))
		}
	}
	for _, x := range outside {
		if gap := floats.Distance(x, p.project(x), 2); gap > 10*p.slack(x) && worst(x) <= 0 {
			return fmt.Errorf("point %v is %g from the set, but satisfies all rows", x, gap)
		}
	}
	return nil
}
