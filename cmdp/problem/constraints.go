package problem

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/floats"
)

// describe names the constraints and the known sides of the target of a task.
func (p *Problem) describe(t *cmdp.Task) {
	always := p.Always()
	for _, c := range p.Constraints {
		i, first := slices.Index(p.Returns, c.Return), len(t.Constraints)
		if c.AtLeast != nil {
			t.Constraints = append(t.Constraints, p.bound(i, -1, *c.AtLeast, "at_least"))
		}
		if c.AtMost != nil {
			t.Constraints = append(t.Constraints, p.bound(i, 1, *c.AtMost, "at_most"))
		}
		if at := slices.IndexFunc(always, func(a Always) bool { return a.is(c) }); at >= 0 {
			t.Constraints[first].Name, t.Constraints[first].Kind = always[at].Name, "always"
		}
	}
	if p.Target == nil {
		return
	}
	p.addSides(t, p.Target)
	given := len(t.Constraints)
	list, _ := t.LinearConstraints(t.Box.Lower(), t.Box.Upper())
	for _, c := range list[given:] {
		p.addSide(t, c.Normal, c.Offset)
	}
}

// bound returns sign·v_i ≤ sign·x.
func (p *Problem) bound(i int, sign, x float64, kind string) cmdp.Constraint {
	relation := " ≤ "
	if sign < 0 {
		relation = " ≥ "
	}
	n := make([]float64, len(p.Returns))
	n[i] = sign
	return cmdp.Constraint{Normal: n, Offset: sign * x, Name: p.Returns[i] + relation + brief(x, 6), Kind: kind, Return: p.Returns[i], Bound: x}
}

// addSides adds the half-spaces that the target is said to be made of, in the user's numbers.
func (p *Problem) addSides(t *cmdp.Task, s *Set) {
	switch {
	case s.Box != nil:
		for i := range p.listed() {
			if s.Box.Lower != nil && s.Box.Lower[i] != nil {
				t.Constraints = append(t.Constraints, p.bound(i, -1, *s.Box.Lower[i], "target"))
			}
			if s.Box.Upper != nil && s.Box.Upper[i] != nil {
				t.Constraints = append(t.Constraints, p.bound(i, 1, *s.Box.Upper[i], "target"))
			}
		}
	case s.Halfspace != nil:
		normal, _ := s.Halfspace.Normal.vector(p.listed(), len(p.listed())) // the set was built
		p.addSide(t, normal, s.Halfspace.Offset)
	case s.Polytope != nil:
		for k, a := range s.Polytope.A {
			p.addSide(t, a, s.Polytope.B[k])
		}
	case s.Affine != nil:
		for k, a := range s.Affine.A {
			p.addSide(t, a, s.Affine.B[k])
			minus := make([]float64, len(a))
			floats.AddScaled(minus, -1, a)
			p.addSide(t, minus, -s.Affine.B[k])
		}
	}
	for _, part := range s.Intersection {
		p.addSides(t, part)
	}
}

// addSide adds normal·v ≤ offset.
func (p *Problem) addSide(t *cmdp.Task, normal []float64, offset float64) {
	normal = append(slices.Clone(normal), make([]float64, len(p.Returns)-len(normal))...) // see listed
	size := floats.Norm(normal, 2)
	for i, x := range normal {
		if math.Abs(x) == 1 && size == 1 {
			t.Constraints = append(t.Constraints, p.bound(i, x, x*offset, "target"))
			return
		}
	}
	t.Constraints = append(t.Constraints, cmdp.Constraint{Normal: normal, Offset: offset,
		Name: p.Expression(normal) + " ≤ " + brief(offset, 6), Kind: "target", Bound: offset})
}

// Expression writes a linear form of the returns for people, such as "reward + 2 cost".
func (p *Problem) Expression(coefficients []float64) string {
	var b strings.Builder
	for i, x := range coefficients {
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
			b.WriteString(brief(size, 3) + " ")
		}
		b.WriteString(p.Returns[i])
	}
	return b.String()
}

// brief writes a number for people with at most the given significant digits.
func brief(x float64, digits int) string {
	return strconv.FormatFloat(x+0, 'g', digits, 64) // + 0 makes -0 plain
}
