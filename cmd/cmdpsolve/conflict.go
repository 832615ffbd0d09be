package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
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
	// LeastGive is there if it is not known exactly how far the limit has to give: not less than that. Give is enough.
	LeastGive *report.Number `json:"least_give,omitempty" csv:"least_give"`
	// Probability is the greatest with which a limit of every episode can be kept, in the place of Needed and Give.
	Probability *report.Number `json:"probability,omitempty" csv:"probability"`
	// MostProbability is there if Probability is not known exactly, and is its upper bound.
	MostProbability *report.Number `json:"most_probability,omitempty" csv:"most_probability"`
	// Unknown tells that null of Needed and Give says nothing: neither a limit that is enough was found nor that
	// there is none. Undecided tells that the set may not be a smallest one.
	Unknown   bool `json:"unknown,omitempty"`
	Undecided bool `json:"undecided,omitempty"`

	limit *query.Limit // nil for a target as a whole
}

// conflictOptions are those of the search for limits in conflict, after a verdict that took so many value iterations.
// Where one takes long, the search does not take more of them than the verdict, but for a few.
func conflictOptions(p *loaded, opts exact.Options, verdict int) exact.Options {
	const (
		quick = 1 << 20 // transitions of all steps together
		few   = 8
	)
	work := 0
	for _, of := range p.Members() {
		work += transitionsOfSteps(of.Model)
	}
	most := max(verdict, few)
	if work > quick && (opts.Iterations == 0 || opts.Iterations > most) {
		opts.Iterations = most
	}
	return opts
}

// transitionsOfSteps returns how many transitions all steps of a model have together. One without a horizon counts for
// a few steps.
func transitionsOfSteps(m *cmdp.Model) int {
	const endless = 16
	t := m.Tally() // whose rows, or those of its base, are counted once if they are the same at every step
	switch {
	case m.Horizon() == 0:
		return m.Transitions() * endless
	case m.Stationary() || t != nil && t.Base.Stationary():
		return m.Transitions() * m.Horizon()
	}
	return m.Transitions()
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
		least := report.Number(c.Least)
		apart := report.Short(least) != report.Short(r.Give)
		if most := report.Number(c.Probability); most == most {
			r.Probability = &most
			least = 1 - least
			if report.Short(least) != report.Short(most) {
				r.MostProbability = &least
			}
		} else if r.Give == r.Give && apart {
			r.LeastGive = &least
		}
		out = append(out, r)
	}
	return out, nil
}

func conflictNotes(c []conflictReport) report.Note {
	if len(c) == 0 {
		return nil
	}
	notes := report.Note{coreNote(c)}
	if slices.ContainsFunc(c, func(r conflictReport) bool { return r.LeastGive != nil || r.MostProbability != nil }) {
		notes = append(notes, "The search for the least changes ended before they were known, as it is kept short. "+
			"What a limit is shown to have to be is enough; the first number of a range is not known to be.")
	}
	return notes
}

// coreNote says which limits are in conflict.
func coreNote(c []conflictReport) string {
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
		return fmt.Sprintf("No policy keeps %s, whatever becomes of the other limits.", names[0])
	case c[0].Undecided:
		return fmt.Sprintf("No policy keeps %s and %s together; whether fewer of them are in conflict too "+
			"is not known.", strings.Join(names[:last], ", "), names[last])
	case last == 1:
		return fmt.Sprintf("No policy keeps both %s and %s; each of them alone can be kept.", names[0],
			names[1])
	}
	return fmt.Sprintf("No policy keeps %s and %s together; without any one of them the others can be kept.",
		strings.Join(names[:last], ", "), names[last])
}

// conflictTable lists how far each limit in conflict would have to give.
func conflictTable(c []conflictReport) *report.Table {
	t := report.NewTable("in conflict", "would have to be", "gives")
	for _, r := range c {
		needed, give := "no value is enough", ""
		switch {
		case r.Probability != nil:
			needed = "with probability " + report.Short(*r.Probability)
			if r.MostProbability != nil {
				needed += " to " + report.Short(*r.MostProbability)
			}
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
		if r.LeastGive != nil {
			give = report.Short(*r.LeastGive) + " to " + give
		}
		t.Add(r.Constraint, needed, give)
	}
	return t
}
