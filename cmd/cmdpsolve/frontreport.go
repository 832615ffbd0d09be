package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/query"
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
	// Union is the number of curves of which this one is made, one for each choice of thresholds for the worst
	// episodes.
	Union  int `json:"union,omitempty"`
	status exact.Verdict
	shown  []string // returns
	over   []objective
	all    bool // vertices that print alike are all shown
}

// pointReport is a point of the curve: the returns of the policy that is best for
// the weights.
type pointReport struct {
	Returns    named `json:"returns"`
	Weights    named `json:"weights"`
	Randomized *int  `json:"randomized"` // nil where there was no time to put the policy together
	Vertex     bool  `json:"vertex"`
	// Thresholds are those at which the worst episodes begin, of a curve that is a union.
	Thresholds []report.Number `json:"thresholds,omitempty"`
	File       string          `json:"policy,omitempty"`
	returns    []float64
	at         query.FrontPoint
}

func newFrontReport(p *loaded, over []objective, f *query.Front, took time.Duration) *frontReport {
	rep := &frontReport{
		subject: p.subject(), Status: f.Status.String(), status: f.Status, Points: []*pointReport{},
		Vertices: []*pointReport{},
		Error:    report.Number(f.Error), Relative: report.Number(f.Relative), Iterations: f.Iterations,
		Seconds: report.Number(took.Seconds()),
		over:    over, shown: p.declared(),
	}
	for _, o := range over {
		sign := "+"
		if o.sign < 0 {
			sign = "-"
		}
		rep.Over = append(rep.Over, sign+o.name)
	}
	if len(f.Parts) == 1 && f.Parts[0].Result.Certificate != nil {
		rep.Certificate = certificateOf(p, f.Parts[0].Result.Certificate)
	}
	if len(p.Of(query.WorstEpisodes)) > 0 && len(f.Parts) > 0 {
		rep.Union, rep.shown = len(f.Parts), p.Problem.Returns // the others depend on thresholds
	}
	for _, q := range f.Points {
		rep.Points = append(rep.Points, rep.point(q))
	}
	for _, point := range rep.Points {
		if point.Vertex {
			rep.Vertices = append(rep.Vertices, point)
		}
	}
	return rep
}

// point is a point of the curve as it is reported.
func (rep *frontReport) point(q query.FrontPoint) *pointReport {
	returns := q.Returns[:len(rep.shown)]
	randomized := 0
	if q.Policy != nil {
		randomized = q.Policy.Randomized()
	}
	point := &pointReport{Returns: named{Names: rep.shown, Values: report.Numbers(returns)}, Randomized: &randomized,
		Vertex: q.Vertex, returns: returns, at: q}
	if q.Weights != nil {
		point.Weights = named{Values: report.Numbers(q.Weights)}
		for _, o := range rep.over {
			point.Weights.Names = append(point.Weights.Names, o.name)
		}
	}
	if rep.Union > 0 {
		for _, tail := range q.Query.Of(query.WorstEpisodes) {
			point.Thresholds = append(point.Thresholds, report.Number(tail.Threshold))
		}
	}
	return point
}

// recoverMixed puts the policies of the points together that are mixtures: only then is it known where they draw.
// There is time for it until within ends.
func (rep *frontReport) recoverMixed(ctx, within context.Context) error {
	for _, point := range rep.Points {
		if !point.at.Mixed {
			continue
		}
		err := within.Err()
		if err == nil {
			err = point.at.Recover(within)
		}
		switch {
		case err != nil && within.Err() != nil && ctx.Err() == nil:
			point.Randomized = nil
		case err != nil:
			return err
		case point.at.Policy != nil:
			*point.Randomized = point.at.Policy.Randomized()
		}
	}
	return nil
}

// report declares the curve: all points for programs, the vertices for people.
func (rep *frontReport) report(p *loaded) *report.Report {
	rep.Wanted = rep.wanted(p) // the goal has no part in it
	heading := p.headed(rep.Wanted, fmt.Sprintf("%s, %s, %s, %.3g s", rep.Status, count(len(rep.Points), "point"),
		count(rep.Iterations, "value iteration"), rep.Seconds))
	heading[1] = p.sizeWith(rep.shown)
	return &report.Report{Data: rep, Sections: []report.Section{
		heading,
		rep.vertexTable(p), append(rep.notes(p), p.notes()...),
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
	if limits := p.wantedLimits(); len(limits) > 0 {
		text += ", subject to " + strings.Join(limits, ", ")
	}
	return text
}

func (rep *frontReport) pointTable() *report.Table {
	t := report.NewTable(rep.shown...)
	for _, o := range rep.over {
		t.Head("weight_" + o.name)
	}
	t.Head("vertex")
	for _, q := range rep.Points {
		row := append(report.Cells(q.Returns.Values), report.Cells(q.Weights.Values)...)
		for len(row) < len(t.Columns)-1 { // policies that never draw may be best by no weights
			row = append(row, report.NaN)
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
		t.Head("threshold")
	}
	if sloped {
		t.Head(b.name + " per " + a.name)
	}
	rows := rep.printed(p)
	for j, i := range rows {
		row, q := append([]any{i + 1}, rep.cells(p, i)...), rep.Vertices[i]
		if rep.Union > 0 {
			row = append(row, q.begins())
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

// begins says where the worst episodes begin.
func (q *pointReport) begins() string {
	var at []string
	for _, x := range q.Thresholds {
		at = append(at, report.Short(x))
	}
	return strings.Join(at, ", ")
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
		n := len(rows)
		if n > 0 && !rep.all && slices.Equal(rep.cells(p, rows[n-1]), rep.cells(p, i)) &&
			slices.Equal(rep.Vertices[rows[n-1]].Thresholds, rep.Vertices[i].Thresholds) {
			continue
		}
		rows = append(rows, i)
	}
	return rows
}

// notes says in sentences what the table means.
func (rep *frontReport) notes(p *loaded) report.Note {
	switch {
	case rep.Union > 0 && rep.status == exact.Infeasible:
		return report.Note{fmt.Sprintf("No policy keeps every limit, with none of the %d choices of thresholds for "+
			"the worst episodes.", rep.Union)}
	case rep.Certificate != nil:
		return report.Note{"No policy keeps every limit.", rep.Certificate.explain(p)}
	case rep.status == exact.Infeasible && p.Rounded():
		return report.Note{"No policy keeps every limit, whichever way totals are rounded."}
	case len(rep.Vertices) == 0:
		if rep.Never && rep.status == exact.Infeasible {
			return report.Note{"No policy that never draws keeps every limit."}
		}
		return report.Note{"No point of the curve was found."}
	}
	if rep.Never && rep.status == exact.Stopped && !p.Rounded() {
		last := rep.over[1]
		return report.Note{fmt.Sprintf("The time was over: no policy that never draws improves on any of these points in "+
			"both returns, and those with %s %s than at all of them are not listed.",
			map[bool]string{true: "more", false: "less"}[last.sign > 0], last.name)}
	}
	if rep.Never && rep.status == exact.Undecided {
		return report.Note{"The search was cut: policies that never draw may improve on these points."}
	}
	if rep.Never && rep.status == exact.Stopped {
		return report.Note{"Totals are rounded: policies that never draw may improve on these points."}
	}
	if rep.Never {
		return report.Note{"No policy that never draws improves on any of these points in both returns."}
	}
	if math.IsInf(float64(rep.Error), 1) {
		return report.Note{"The time was over before it was known how far the curve may be beyond these points."}
	}
	if rep.Union > 0 {
		return report.Note{fmt.Sprintf("Limits on the worst episodes make this the union of %s, one for each choice "+
			"of thresholds; no policy improves on all of them by more than %s, which is certified. Vertices of the "+
			"same threshold may be mixed; a mixture of others need not keep the limit.",
			count(rep.Union, "curve"), report.Small(rep.Error))}
	}
	notes := report.Note{fmt.Sprintf("No policy improves on the mixtures of these vertices by more than %s, which "+
		"is certified.", report.Small(rep.Error))}
	switch {
	case len(rep.Vertices) == 1 && rep.status != exact.Optimal: // others may be better in some respect
	case len(rep.Vertices) == 1:
		notes = append(notes, "A single policy is best in every respect: there is nothing to trade off.")
	case len(rep.over) == 2 && len(rep.printed(p)) > 1:
		notes = append(notes, fmt.Sprintf("The last column is how much %s changes for each unit of %s, from one "+
			"vertex to the next.", rep.over[1].name, rep.over[0].name))
	}
	if hidden := len(rep.Vertices) - len(rep.printed(p)); hidden > 0 {
		notes = append(notes, fmt.Sprintf("Vertices that print like the one before are left out, %d of %d; --all "+
			"shows them.", hidden, len(rep.Vertices)))
	}
	return notes
}
