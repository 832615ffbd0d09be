package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/oracle/lp"
)

// frontReport is the data of a trade-off curve. Points and vertices stand in
// the order of the first return.
type frontReport struct {
	subject
	Status      string           `json:"status"`
	Over        []string         `json:"over"`
	Points      []*pointReport   `json:"points"`
	Vertices    []*pointReport   `json:"vertices"`
	Error       report.Number    `json:"error"`
	Relative    report.Number    `json:"error_relative"`
	Certificate *planCertificate `json:"certificate"`
	Iterations  int              `json:"iterations"`
	Seconds     report.Number    `json:"seconds"`
	Never       bool             `json:"deterministic,omitempty"`
	// Union is the number of curves of which this one is made, one for each choice of thresholds for the worst episodes.
	Union  int `json:"union,omitempty"`
	status exact.Status
	shown  []string // returns
	over   []objective
	all    bool // vertices that print alike are all shown
}

// pointReport is a point of the curve: the returns of the policy that is best for
// the weights.
type pointReport struct {
	Returns    named `json:"returns"`
	Weights    named `json:"weights"`
	Randomized int   `json:"randomized"`
	Vertex     bool  `json:"vertex"`
	// Thresholds are those at which the worst episodes begin, of a curve that is a union.
	Thresholds []report.Number `json:"thresholds,omitempty"`
	File       string          `json:"policy,omitempty"`
	returns    []float64
	policy     *exact.Policy
	components []exact.Component
	of         *loaded // whose policy it is
}

func newFrontReport(p *loaded, over []objective, r *exact.FrontResult, took time.Duration) *frontReport {
	rep := &frontReport{
		subject: p.subject(), Status: r.Status.String(), status: r.Status, Points: []*pointReport{}, Vertices: []*pointReport{},
		Error: report.NaN, Relative: report.NaN, Iterations: r.Iterations, Seconds: report.Number(took.Seconds()), over: over, shown: p.Returns,
	}
	for _, o := range over {
		sign := "+"
		if o.sign < 0 {
			sign = "-"
		}
		rep.Over = append(rep.Over, sign+o.name)
	}
	if c := r.Certificate; c != nil {
		rep.Certificate = p.certificate(c)
	}
	if r.Status == exact.Infeasible || len(r.Points) == 0 {
		return rep
	}
	rep.Error, rep.Relative = report.Number(r.Error), report.Number(r.Relative)
	vertices := verticesOf(r)
	for i, q := range r.Points {
		point := &pointReport{Returns: p.named(q.Returns), Weights: named{Values: report.Numbers(q.Weights)},
			Randomized: q.Policy.Randomized(), Vertex: vertices[i], returns: q.Returns, policy: q.Policy, components: q.Components, of: p}
		for _, o := range over {
			point.Weights.Names = append(point.Weights.Names, o.name)
		}
		rep.Points = append(rep.Points, point)
	}
	rep.sort()
	for _, point := range rep.Points {
		if point.Vertex {
			rep.Vertices = append(rep.Vertices, point)
		}
	}
	return rep
}

// sort orders the points by the returns of the curve.
func (rep *frontReport) sort() {
	slices.SortStableFunc(rep.Points, func(a, b *pointReport) int {
		for _, o := range rep.over {
			if x, y := a.returns[o.index], b.returns[o.index]; x != y {
				return int(math.Copysign(1, x-y))
			}
		}
		return 0
	})
}

// verticesOf reports which points no mixture of the others equals or improves on. A
// billionth of the scale is at least what rounding may come to.
func verticesOf(r *exact.FrontResult) []bool {
	points := r.Points
	vertex := make([]bool, len(points))
	for i := range vertex {
		vertex[i] = true
	}
	scale := scaleOf(points, r.Rounding)
	for i := range points {
		var others []exact.FrontPoint
		for j := range points {
			if vertex[j] && j != i {
				others = append(others, points[j])
			}
		}
		vertex[i] = worse(others, points[i], scale) > roundingOfPoints
	}
	return vertex
}

// roundingOfPoints is the part of the scale up to which points are the same.
const roundingOfPoints = 1e-9

// scaleOf is the range of each objective, by which rounding is measured.
func scaleOf(points []exact.FrontPoint, rounding []float64) []float64 {
	scale := make([]float64, len(rounding))
	for k := range scale {
		least, most := math.Inf(1), math.Inf(-1)
		for _, p := range points {
			least, most = min(least, p.Objectives[k]), max(most, p.Objectives[k])
		}
		scale[k] = most - least + 1e9*rounding[k]
		if scale[k] == 0 {
			scale[k] = 1
		}
	}
	return scale
}

// worse returns by how much of the scale the best mixture of other points is worse than a point, in the objective in which it
// is worst, +∞ if there are none: it solves
//
//	min t  s.t.  Σ λ_j y_j ≤ y + t·scale,  Σ λ_j = 1,  λ ≥ 0
func worse(others []exact.FrontPoint, than exact.FrontPoint, scale []float64) float64 {
	n := len(others)
	if n == 0 {
		return math.Inf(1)
	}
	program := &lp.Problem{Minimize: make([]float64, n+1)}
	program.Minimize[n] = 1
	program.Lower, program.Upper = lp.Free(n + 1)
	sum := make([]float64, n+1)
	for k := range scale {
		row := make([]float64, n+1)
		row[n] = -1
		for at, q := range others {
			program.Lower[at], sum[at] = 0, 1
			row[at] = (q.Objectives[k] - than.Objectives[k]) / scale[k]
		}
		program.Rows = append(program.Rows, lp.AtMost(row, 0))
	}
	program.Rows = append(program.Rows, lp.Equal(sum, 1))
	sol, err := lp.Solve(program)
	if err != nil || sol.Status != lp.Optimal {
		return math.Inf(1)
	}
	return sol.Objective
}

// report declares the curve: all points for programs, the vertices for people.
func (rep *frontReport) report(p *loaded) *report.Report {
	rep.Wanted = rep.wanted(p) // the goal has no part in it
	heading := p.headed(rep.Wanted, fmt.Sprintf("%s, %s, %s, %.3g s", rep.Status, count(len(rep.Points), "point"), count(rep.Iterations, "value iteration"), rep.Seconds))
	heading[1] = p.sizeWith(rep.shown)
	return &report.Report{Data: rep, Sections: []report.Section{
		heading,
		rep.vertexTable(p), append(rep.notes(p), p.Notes...),
		report.Only(rep.pointTable(), report.CSV),
	}}
}

// wanted describes the trade-off in a line.
func (rep *frontReport) wanted(p *loaded) string {
	var wish []string
	for _, o := range rep.over {
		wish = append(wish, map[bool]string{false: "more ", true: "less "}[o.sign < 0]+o.name)
	}
	text := strings.Join(wish, " against ")
	limits := p.wantedLimits()
	if rep.Union > 0 { // in the place of what they come to with one threshold
		limits = p.alwaysNames()
		for _, c := range p.Task.Constraints {
			if slices.Contains(rep.shown, c.Return) {
				limits = append(limits, c.Name)
			}
		}
		for _, t := range p.thresholds() {
			limits = append(limits, t.Constraint)
		}
	}
	if len(limits) > 0 {
		text += ", subject to " + strings.Join(limits, ", ")
	}
	return text
}

// pointTable lists all points.
func (rep *frontReport) pointTable() *report.Table {
	t := report.NewTable(rep.shown...)
	for _, o := range rep.over {
		t.Columns = append(t.Columns, report.Column{Title: "weight_" + o.name})
	}
	t.Columns = append(t.Columns, report.Column{Title: "vertex"})
	for _, q := range rep.Points {
		var row []any
		for _, x := range q.Returns.Values {
			row = append(row, x)
		}
		for _, x := range q.Weights.Values {
			row = append(row, x)
		}
		t.Add(append(row, map[bool]int{true: 1}[q.Vertex])...)
	}
	return t
}

// vertexTable lists the vertices, of a curve between two returns with its slope up
// to the next one.
func (rep *frontReport) vertexTable(p *loaded) *report.Table {
	t := report.NewTable(append([]string{"vertex"}, rep.shown...)...)
	a, b := rep.over[0], rep.over[1]
	sloped := len(rep.over) == 2 && len(rep.Vertices) > 1 && rep.Union == 0
	if rep.Union > 0 {
		t.Columns = append(t.Columns, report.Column{Title: "threshold"})
	}
	if sloped {
		t.Columns = append(t.Columns, report.Column{Title: b.name + " per " + a.name})
	}
	rows := rep.printed(p)
	for j, i := range rows {
		row, q := []any{i + 1}, rep.Vertices[i]
		row = append(row, rep.cells(p, i)...)
		if rep.Union > 0 {
			var at []string
			for _, x := range q.Thresholds {
				at = append(at, report.Short(x))
			}
			row = append(row, strings.Join(at, ", "))
		}
		if sloped && j+1 < len(rows) {
			next := rep.Vertices[rows[j+1]].returns
			row = append(row, (next[b.index]-q.returns[b.index])/(next[a.index]-q.returns[a.index]))
		} else if sloped {
			row = append(row, "")
		}
		t.Add(row...)
	}
	return t
}

// cells writes the returns of a vertex.
func (rep *frontReport) cells(p *loaded, i int) (row []any) {
	sides := p.Scale()
	for k, x := range rep.Vertices[i].returns {
		row = append(row, report.Rounded(x, sides[k]))
	}
	return row
}

// printed returns the numbers of the vertices that are listed: without --all, those that differ
// from the one before in the digits that are shown.
func (rep *frontReport) printed(p *loaded) (rows []int) {
	for i := range rep.Vertices {
		if n := len(rows); rep.all || n == 0 || !slices.Equal(rep.cells(p, rows[n-1]), rep.cells(p, i)) {
			rows = append(rows, i)
		}
	}
	return rows
}

// notes says in sentences what the table means.
func (rep *frontReport) notes(p *loaded) report.Note {
	switch {
	case rep.Union > 0 && rep.status == exact.Infeasible:
		return report.Note{fmt.Sprintf("No policy keeps every limit, with none of the %d choices of thresholds for the worst episodes.", rep.Union)}
	case rep.Certificate != nil:
		return report.Note{"No policy keeps every limit.", p.explain(rep.Certificate)}
	case len(rep.Vertices) == 0:
		if rep.Never && rep.status == exact.Infeasible {
			return report.Note{"No policy that never draws keeps every limit."}
		}
		return report.Note{"No point of the curve was found."}
	}
	if rep.Never && rep.status == exact.Undecided {
		return report.Note{"The search was cut: policies that never draw may improve on these points."}
	}
	if rep.Never {
		return report.Note{"No policy that never draws improves on any of these points in both returns."}
	}
	if rep.Union > 0 {
		return report.Note{fmt.Sprintf("Limits on the worst episodes make this the union of %s, one for each choice of thresholds; no policy improves on all of them by more than %s, which is certified. Vertices of the same threshold may be mixed; a mixture of others need not keep the limit.",
			count(rep.Union, "curve"), report.Small(rep.Error))}
	}
	notes := report.Note{fmt.Sprintf("No policy improves on the mixtures of these vertices by more than %s, which is certified.", report.Small(rep.Error))}
	switch {
	case len(rep.Vertices) == 1:
		notes = append(notes, "A single policy is best in every respect: there is nothing to trade off.")
	case len(rep.over) == 2 && len(rep.printed(p)) > 1:
		notes = append(notes, fmt.Sprintf("The last column is how much %s changes for each unit of %s, from one vertex to the next.", rep.over[1].name, rep.over[0].name))
	}
	if hidden := len(rep.Vertices) - len(rep.printed(p)); hidden > 0 {
		notes = append(notes, fmt.Sprintf("Vertices that print like the one before are left out, %d of %d; --all shows them.", hidden, len(rep.Vertices)))
	}
	return notes
}
