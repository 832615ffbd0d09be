package main

import (
	"context"
	"fmt"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
)

// conflictReport names a smallest set of limits that no policy keeps together.
type conflictReport struct {
	Constraint string        `json:"constraint" csv:"*"`
	Kind       string        `json:"kind"`
	Return     string        `json:"return,omitempty"`
	Limit      report.Number `json:"limit" csv:"limit"`
	// Needed is the limit with which some policy keeps all others, and Give how far it is
	// from Limit; null if there is none. Of a target set Give is a distance.
	Needed report.Number `json:"needed" csv:"needed"`
	Give   report.Number `json:"give" csv:"give"`
	// Probability is the greatest with which a limit of every episode can be kept, in the place of Needed and Give.
	Probability *report.Number `json:"probability,omitempty" csv:"probability"`
	// Unknown tells that null of Needed and Give says nothing: neither a limit that is enough was found nor that
	// there is none. Undecided tells that the set may not be a smallest one.
	Unknown   bool `json:"unknown,omitempty"`
	Undecided bool `json:"undecided,omitempty"`

	limit *query.Limit // nil for a target as a whole
}

// findConflict finds the limits of an infeasible problem that are in conflict. It returns nil if
// none is proved.
func findConflict(ctx context.Context, p *loaded, opts exact.Options) ([]conflictReport, error) {
	clashes, err := p.Conflict(ctx, opts)
	if err != nil {
		return nil, err
	}
	var out []conflictReport
	for _, c := range clashes {
		r := conflictReport{Constraint: "target", Kind: "target", Limit: report.NaN, Needed: report.Number(c.Needed),
			Give: report.Number(c.Give), Unknown: c.Unknown, Undecided: c.Undecided}
		if l := c.Limit; l != nil {
			r.Constraint = l.Name
			r.Kind = l.Kind()
			r.Return = l.Return
			r.Limit = report.Number(l.Bound)
			r.limit = l
		}
		if most := report.Number(c.Probability); most == most {
			r.Probability = &most
		}
		out = append(out, r)
	}
	return out, nil
}

func conflictNotes(c []conflictReport) report.Note {
	if len(c) == 0 {
		return nil
	}
	var limits []*query.Limit
	for _, r := range c {
		if r.limit != nil {
			limits = append(limits, r.limit)
		}
	}
	names := query.Steps(limits)
	for _, r := range c {
		if r.limit == nil {
			names = append(names, r.Constraint)
		}
	}
	last := len(names) - 1
	switch {
	case last == 0:
		return report.Note{fmt.Sprintf("No policy keeps %s, whatever becomes of the other limits.", names[0])}
	case c[0].Undecided:
		return report.Note{fmt.Sprintf("No policy keeps %s and %s together; whether fewer of them are in conflict too "+
			"is not known.", strings.Join(names[:last], ", "), names[last])}
	case last == 1:
		return report.Note{fmt.Sprintf("No policy keeps both %s and %s; each of them alone can be kept.", names[0],
			names[1])}
	}
	return report.Note{fmt.Sprintf("No policy keeps %s and %s together; without any one of them the others can be kept.",
		strings.Join(names[:last], ", "), names[last])}
}

// conflictTable lists how far each limit in conflict would have to give.
func conflictTable(c []conflictReport) *report.Table {
	t := report.NewTable("in conflict", "would have to be", "gives")
	for _, r := range c {
		needed, give := "no value is enough", ""
		switch {
		case r.Probability != nil:
			needed = "with probability " + report.Short(*r.Probability)
		case r.Unknown:
			needed = "not known"
		case r.Give != r.Give:
		case r.Needed == r.Needed:
			value, _ := report.Apart(r.Needed, r.Limit)
			needed = problem.Relation(r.limit != nil && r.limit.AtLeast) + " " + value
			give = report.Short(r.Give)
		default:
			needed, give = "missed by "+report.Short(r.Give), report.Short(r.Give)
		}
		t.Add(r.Constraint, needed, give)
	}
	return t
}
