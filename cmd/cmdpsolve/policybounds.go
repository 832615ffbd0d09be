package main

import (
	"context"
	"fmt"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/query"
	"cmdpsolve/cmdp/robust"
)

// policyBounds says what the returns of a policy can be: in the one model of a problem, or over the intervals of its
// probabilities.
type policyBounds struct {
	File string `json:"file"`
	// Returns are rounded outward.
	Returns report.Named[boundsReport] `json:"returns" csv:"return"`
	// Keeps says whether the limits on expected returns are kept in every model. It is null where the target is not
	// known as limits, and where returns are not known exactly enough.
	Keeps *bool `json:"keeps" csv:"keeps"`
	// Violation is by how much a limit is missed in the worst model.
	Violation report.Number `json:"violation" csv:"violation"`
	undecided bool
}

// readPolicyBounds reads a policy, and computes what its returns can be.
func readPolicyBounds(ctx context.Context, p *loaded, file string) (*loaded, *policyBounds, error) {
	q, policies, err := p.ReadPolicy(ctx, file)
	if err != nil {
		return p, nil, badFile("--policy", err)
	}
	p = p.as(q)
	b, err := evaluatePolicies(ctx, p, policies)
	if err != nil {
		return p, nil, err
	}
	known := &policyBounds{File: file, Returns: boundsOf(p, b.Bounds), Violation: report.NaN}
	if b.Known {
		known.Keeps, known.Violation = &b.Keeps, report.Number(b.Violation)
	}
	if b.Undecided {
		known.Keeps, known.undecided = nil, true
	}
	return p, known, nil
}

// evaluatePolicies computes what the returns of policies that are drawn at the start can be.
func evaluatePolicies(ctx context.Context, p *loaded, policies []query.Drawn) (*query.Evaluation, error) {
	set, err := p.set(robust.Spec{})
	if err != nil {
		return nil, err
	}
	e, err := p.Evaluate(ctx, set, policies)
	if err != nil {
		return nil, p.stopped(err)
	}
	return e, nil
}

// table lists what the returns of the policy can be.
func (b *policyBounds) table(p *loaded) *report.Table {
	t := report.NewTable("return of the policy", "least", "greatest")
	if b == nil {
		return t
	}
	sides := p.Scale()
	for i, x := range b.Returns.Values {
		t.Add(b.Returns.Names[i], report.Rounded(x.Least, sides[i]), report.Rounded(x.Greatest, sides[i]))
	}
	return t
}

// notes says whether the policy keeps the limits.
func (b *policyBounds) notes(p *loaded) report.Note {
	where := ""
	if p.Uncertain() {
		where = " in every model of the intervals"
	}
	switch {
	case b == nil || p.Task.Target == nil:
		return nil
	case b.undecided:
		return report.Note{fmt.Sprintf("Whether the policy of %s keeps every limit is not known: its returns are not "+
			"known exactly enough.", b.File)}
	case b.Keeps == nil:
		return nil
	case *b.Keeps:
		return report.Note{fmt.Sprintf("The policy of %s keeps every limit on expected returns%s.", b.File, where)}
	case p.Uncertain():
		return report.Note{fmt.Sprintf(
			"The policy of %s misses a limit by up to %s in some model of the intervals.", b.File,
			report.Short(b.Violation))}
	}
	return report.Note{fmt.Sprintf("The policy of %s misses a limit by %s.", b.File, report.Short(b.Violation))}
}

// heading is the line about intervals, none where probabilities are exact.
func (u *uncertaintyReport) heading() []string {
	if u == nil {
		return nil
	}
	return []string{u.String()}
}

// notesOfSet says what was found about a set of models.
func (rep *checkReport) notesOfSet(p *loaded) report.Note {
	ranges := "Least and greatest are those of the nominal model, " +
		"whose probabilities lie at the same share of each interval."
	switch {
	case rep.Feasible == nil:
		return report.Note{"Whether some policy keeps every limit in every model of the intervals is not known.",
			ranges}
	case *rep.Feasible:
		return report.Note{"Some policy keeps every limit in every model of the intervals.", ranges}
	}
	return report.Note{noneKeeps, rep.Certificate.explain(p), ranges}
}
