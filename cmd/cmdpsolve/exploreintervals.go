package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
	"cmdpsolve/cmdp/robust"
)

// widthLimit is the most that the slider of the page widens probabilities by.
const widthLimit = 1

// widened returns a problem whose probabilities are widened by what the page asks for.
func (g given) widened(p *problem.Problem) (*problem.Problem, error) {
	x := g.Width[widthName]
	if !(x >= 0 && x <= widthLimit) {
		return nil, fmt.Errorf("a width of %g: want 0 to %d", x, widthLimit)
	}
	wider, err := p.Widened(x)
	if err != nil {
		return nil, trim(err)
	}
	return wider, nil
}

// planUncertain plans for a problem with intervals. The page shows the returns in the nominal model, and in words what
// they can be.
func (e *explorer) planUncertain(ctx context.Context, p *loaded, keep []int) (*planAnswer, error) {
	if len(p.Of(query.WorstEpisodes)) > 0 {
		return nil, errors.New("limits on the mean of the worst episodes and intervals of probabilities: want one of them")
	}
	begin := time.Now()
	r, _, err := e.options.solveRobust(ctx, p, p.Task, e.options.robustOptions(), nil)
	if err != nil {
		return nil, err
	}
	found := newRobustReport(p, r, time.Since(begin))
	d := &planReport{subject: found.subject, Status: found.Status, planWorth: found.planWorth, Returns: found.Nominal,
		planLimits: found.planLimits, Rho: report.NaN, planDraws: found.planDraws, Certificate: found.Certificate,
		Iterations: found.Iterations, memoryReport: found.memoryReport}
	a := &planAnswer{Report: d, Notes: append(found.notes(p), p.memoryNotes()...), Wanted: p.wanted()}
	if r.Status == robust.Infeasible {
		return a, nil
	}
	for i, b := range found.Returns.Values {
		a.Notes = append(a.Notes, fmt.Sprintf("%s is between %s and %s.", p.Returns[i], report.Short(b.Least),
			report.Short(b.Greatest)))
	}
	a.Notes = append(a.Notes, "Objective and bound are those of the worst model; returns, trade-off and histogram "+
		"are those of the nominal one.")
	a.ID = e.rememberPlan(p, r.Policy, r.Mixture, r.Returns, keep)
	return a, nil
}
