package main

import (
	"math"
	"slices"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// A limit is a bound on a return or, in a target, on a linear form of them. Its
// name is such as "cost ≤ 0.3".
type limit struct {
	name  string
	kind  string  // at_least, at_most or target
	of    string  // the return that it bounds, nothing for forms
	bound float64 // as it was given
	row   exact.Row
	price float64
}

// limits returns the bounds of the constraints in the order of the problem, of one
// with two sides the lower first, then the half-spaces that the target is given by.
func (p *loaded) limits() []limit {
	var out []limit
	for _, c := range p.Constraints {
		i := slices.Index(p.Returns, c.Return)
		if c.AtLeast != nil {
			out = p.bounded(out, i, -1, *c.AtLeast)
			out[len(out)-1].kind = "at_least"
		}
		if c.AtMost != nil {
			out = p.bounded(out, i, 1, *c.AtMost)
			out[len(out)-1].kind = "at_most"
		}
	}
	if p.Target == nil {
		return out
	}
	return p.halfspaces(out, p.Target)
}

// whole returns what constraints and target allow, whether or not it is possible; nil
// if there is nothing that can be built.
func (p *loaded) whole() geometry.Set {
	lower, upper := make([]float64, len(p.Returns)), make([]float64, len(p.Returns))
	for i, name := range p.Returns {
		lower[i], upper[i] = math.Inf(-1), math.Inf(1)
		for _, c := range p.Constraints {
			if c.Return == name && c.AtLeast != nil {
				lower[i] = max(lower[i], *c.AtLeast)
			}
			if c.Return == name && c.AtMost != nil {
				upper[i] = min(upper[i], *c.AtMost)
			}
		}
	}
	box, err := geometry.NewBox(lower, upper)
	if err != nil {
		return nil
	}
	if p.Target == nil {
		return box
	}
	set, err := p.Target.Build(len(p.Returns), p.Returns)
	if err != nil {
		return nil
	}
	if len(p.Constraints) == 0 {
		return set
	}
	both, err := geometry.NewIntersection(box, set)
	if err != nil {
		return nil
	}
	return both
}

// wantedLimits describes constraints and target.
func (p *loaded) wantedLimits() []string {
	var out []string
	for _, l := range p.limits() {
		if l.kind != "target" {
			out = append(out, l.name)
		}
	}
	if p.Target != nil {
		out = append(out, "returns in the target set")
	}
	return out
}

// bounded appends sign·v_i ≤ sign·bound.
func (p *loaded) bounded(out []limit, i int, sign, bound float64) []limit {
	relation := " ≤ "
	if sign < 0 {
		relation = " ≥ "
	}
	n := make([]float64, len(p.Returns))
	n[i] = sign
	return append(out, limit{name: p.Returns[i] + relation + report.Short(bound), kind: "target", of: p.Returns[i],
		bound: bound, row: exact.Row{Normal: n, Offset: sign * bound}})
}

// halfspaces appends the half-spaces that a set is said to be made of.
func (p *loaded) halfspaces(out []limit, s *problem.Set) []limit {
	switch {
	case s.Box != nil:
		for i := range p.Returns {
			if s.Box.Lower != nil && s.Box.Lower[i] != nil {
				out = p.bounded(out, i, -1, *s.Box.Lower[i])
			}
			if s.Box.Upper != nil && s.Box.Upper[i] != nil {
				out = p.bounded(out, i, 1, *s.Box.Upper[i])
			}
		}
	case s.Halfspace != nil:
		n := slices.Clone(s.Halfspace.Normal.List)
		if n == nil {
			for _, name := range p.Returns {
				n = append(n, s.Halfspace.Normal.Named[name])
			}
		}
		out = p.form(out, n, s.Halfspace.Offset)
	case s.Polytope != nil:
		for k, a := range s.Polytope.A {
			out = p.form(out, a, s.Polytope.B[k])
		}
	case s.Affine != nil:
		for k, a := range s.Affine.A {
			out = p.form(out, a, s.Affine.B[k])
			out = p.form(out, negated(a), -s.Affine.B[k])
		}
	}
	for _, part := range s.Intersection {
		out = p.halfspaces(out, part)
	}
	return out
}

// form appends normal·v ≤ offset, unless the normal is zero and it says nothing.
func (p *loaded) form(out []limit, normal []float64, offset float64) []limit {
	if floats.Norm(normal, 2) == 0 {
		return out
	}
	for i, x := range normal {
		if math.Abs(x) == 1 && floats.Norm(normal, 2) == 1 {
			return p.bounded(out, i, x, x*offset)
		}
	}
	return append(out, limit{name: p.expression(normal) + " ≤ " + report.Short(offset), kind: "target", bound: offset,
		row: exact.Row{Normal: normal, Offset: offset}})
}

func negated(x []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = -v
	}
	return out
}

// rowsOf returns limits as half-spaces for the solver, which prices them one by
// one.
func rowsOf(limits []limit) []exact.Row {
	var rows []exact.Row
	for _, l := range limits {
		rows = append(rows, l.row)
	}
	return rows
}

// below reports whether a limit on a single return bounds it from below.
func (l limit) below() bool { return slices.Min(l.row.Normal) < 0 }

// slack is how far inside the limit v lies, in the units of its bound.
func (l limit) slack(v []float64) float64 {
	sum := l.row.Offset
	for i, n := range l.row.Normal {
		if n != 0 { // what has no limit may be infinite
			sum -= n * v[i]
		}
	}
	return sum
}

// otherLimits returns the rows that the solver found in a target of another kind,
// such as a simplex, with their prices. Those that hold for all possible returns
// are left out.
func (p *loaded) otherLimits(prices []exact.Price) []limit {
	var out []limit
	for _, price := range prices {
		if p.Target == nil || p.holds(price.Row) {
			continue
		}
		out = p.form(out, price.Normal, price.Offset)
		out[len(out)-1].price = price.Value
	}
	return out
}

// holds reports whether a row holds for all returns that are possible.
func (p *loaded) holds(r exact.Row) bool {
	box, err := p.Box()
	if err != nil {
		return false // the task, which was built from the box, could not be
	}
	lower, upper, most := box.Lower(), box.Upper(), 0.0
	for i, n := range r.Normal {
		most += math.Max(n*lower[i], n*upper[i])
	}
	return most <= r.Offset
}

// polyhedral reports whether every side of the target is a row.
func (p *loaded) polyhedral() bool {
	rows, ok := p.task.Target.(geometry.Polyhedral)
	if ok {
		_, ok = rows.Rows()
	}
	return p.task.Target == nil || ok
}

// expression writes a linear form of the returns, such as "reward + 2 cost".
func (p *loaded) expression(c []float64) string {
	var b strings.Builder
	for i, x := range c {
		if x == 0 {
			continue
		}
		switch {
		case b.Len() == 0 && x < 0:
			b.WriteString("-")
		case x < 0:
			b.WriteString(" - ")
		case b.Len() > 0:
			b.WriteString(" + ")
		}
		if size := math.Abs(x); size != 1 {
			b.WriteString(report.Brief(size) + " ")
		}
		b.WriteString(p.Returns[i])
	}
	return b.String()
}

// holdsUncut reports whether what is allowed reaches no farther in a direction than the
// part of it that is possible: whether it is a normal there.
func (p *loaded) holdsUncut(dir []float64) bool {
	whole := p.whole()
	if whole == nil {
		return false
	}
	at, beyond := make([]float64, len(dir)), make([]float64, len(dir))
	p.task.Target.MaximizeLinear(at, dir)
	size := 0.0
	for i, x := range p.sides() {
		size = max(size, x, math.Abs(at[i]))
	}
	for i, x := range dir {
		beyond[i] = at[i] + size*x
	}
	whole.Project(beyond, beyond)
	for i, x := range beyond {
		if math.Abs(x-at[i]) > 1e-9*size {
			return false
		}
	}
	return true
}
