package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/oracle/lp"
)

// opinionTolerance is the difference from GLPK's optimum that is put down to rounding,
// relative to how far the goal can vary over the possible returns.
const opinionTolerance = 1e-6

// opinionReport is what GLPK says of the explicit program of a problem. It is nil if it was
// not asked.
type opinionReport struct {
	Status     string        `json:"status" csv:"status"`
	Objective  report.Number `json:"objective" csv:"objective"`
	Difference report.Number `json:"difference" csv:"difference"` // from the objective of plan
	Agrees     bool          `json:"agrees"`
	Rows       int           `json:"rows"`
	Columns    int           `json:"columns"`
	Iterations int           `json:"iterations"`
}

// glpkBuilt refuses an option that needs GLPK where it is not built in.
func glpkBuilt(option string) error {
	if _, err := lp.NewGLPK(nil); errors.Is(err, lp.ErrNoGLPK) {
		return usage("%s: %w ./cmd/cmdpsolve", option, lp.ErrNoGLPK)
	}
	return nil
}

// askGLPK asks GLPK, if that is asked for: before the problem is planned, because it refuses
// problems that plan can solve.
func (c *planCommand) askGLPK(ctx context.Context, p *loaded) (*exact.Opinion, error) {
	if !c.secondOpinion {
		return nil, nil
	}
	o, err := p.Query.SecondOpinion(ctx)
	switch {
	case errors.Is(err, context.Canceled):
		return nil, failed(errInterrupted)
	case err != nil:
		return nil, usage("--second-opinion: %s: %w", p.name, err)
	}
	return o, nil
}

// newOpinionReport holds what GLPK says, if it was asked, against what plan found.
func newOpinionReport(p *loaded, o *exact.Opinion, r *exact.Result) *opinionReport {
	if o == nil {
		return nil
	}
	rep := &opinionReport{
		Status: o.Status.String(), Objective: report.NaN, Difference: report.NaN,
		Agrees: o.Status == r.Status && o.Status != exact.Undecided,
		Rows:   o.Rows, Columns: o.Columns, Iterations: o.Iterations,
	}
	if p.Task.Cost != nil && o.Status == exact.Optimal && r.Status == exact.Optimal {
		gap := math.Abs(o.Objective - r.Objective)
		rep.Objective, rep.Difference = report.Number(p.Sense()*o.Objective), report.Number(gap)
		rep.Agrees = gap <= opinionTolerance*(math.Abs(r.Objective)+p.Task.Cost.Lipschitz()*p.extent())
	}
	return rep
}

// addTo puts GLPK's answer into the table of values.
func (o *opinionReport) addTo(t *report.Table) {
	switch {
	case o == nil:
	case o.Objective != o.Objective:
		t.Add("by GLPK", o.Status)
	default:
		t.Add("by GLPK", o.Objective)
		t.Add("difference", "≤ "+report.Small(o.Difference))
	}
}

func (o *opinionReport) note() report.Note {
	if o == nil {
		return nil
	}
	what := "solved"
	if o.Status == exact.Undecided.String() {
		what = "gave no answer to"
	}
	return report.Note{fmt.Sprintf("GLPK %s the explicit program, of %s and %s, in %s.", what, count(o.Rows, "row"),
		count(o.Columns, "column"), count(o.Iterations, "iteration"))}
}

// contradiction is the error if GLPK found another answer.
func (o *opinionReport) contradiction(rep *planReport) error {
	switch {
	case o == nil || o.Agrees || rep.Status == exact.Undecided.String() || o.Status == exact.Undecided.String():
		return nil
	case o.Status != rep.Status:
		return fmt.Errorf("the second opinion differs: plan says %s, GLPK says %s", rep.Status, o.Status)
	}
	return fmt.Errorf("the second opinion differs: the objective is %s, by GLPK %s", report.Short(rep.Objective),
		report.Short(o.Objective))
}
