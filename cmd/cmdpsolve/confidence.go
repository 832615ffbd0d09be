package main

import (
	"context"
	"fmt"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/contest"
)

// confidenceReport says how intervals were made of a log.
type confidenceReport struct {
	Level report.Number `json:"level" csv:"level"`
	Log   logReport     `json:"log" csv:"log"`
	// Probabilities is how many were estimated, of so many Choices, of which the log has never seen Unvisited.
	Probabilities int `json:"probabilities" csv:"probabilities"`
	Choices       int `json:"choices" csv:"choices"`
	Unvisited     int `json:"unvisited" csv:"unvisited"`
	// ClopperPearson and Weissman are how many of the choices have intervals that are narrower by either bound.
	ClopperPearson int `json:"clopper_pearson" csv:"clopper_pearson"`
	Weissman       int `json:"weissman" csv:"weissman"`
}

// String describes where intervals come from in a line.
func (c *confidenceReport) String() string {
	by := "by Clopper and Pearson"
	switch {
	case c.Weissman > 0 && c.ClopperPearson > 0:
		by = fmt.Sprintf("of %s by Clopper and Pearson, of %d by Weissman et al.", count(c.ClopperPearson, "choice"),
			c.Weissman)
	case c.Weissman > 0:
		by = "by Weissman et al."
	}
	return fmt.Sprintf("intervals from %s of %s, all of them right with probability %s: %s; %s never seen",
		count(c.Log.Transitions, "transition"), c.Log.File, report.Short(c.Level), by, count(c.Unvisited, "choice"))
}

// checkConfidence refuses what goes with credible models alone.
func (o *credibleOptions) checkConfidence() error {
	switch {
	case !o.flags.Changed("confidence"):
		return nil
	case o.log == "":
		return usage("--confidence is for plans from data: give --log too")
	case !(o.confidence > 0 && o.confidence < 1):
		return usage("--confidence %g: want between 0 and 1", o.confidence)
	case o.returns == "unknown":
		return usage("--confidence: --returns unknown: want returns that are known")
	case o.flags.Changed("support") && o.support == "none":
		return usage("--confidence: --support none: the problem has to say which successors a choice can have")
	}
	for _, name := range []string{"credible", "models", "seed"} {
		if o.flags.Changed(name) {
			return usage("--%s is for credible models, and --confidence makes intervals: want one of them", name)
		}
	}
	return nil
}

// planConfident plans for the intervals that a log leaves.
func (c *planCommand) planConfident(ctx context.Context, p *loaded) error {
	if err := c.fitsLogged(p); err != nil {
		return err
	}
	if c.interval > 0 {
		return usage("--interval goes not with --confidence, which makes intervals of the log")
	}
	o := &c.credible
	data := contest.Log{Path: o.log, Pool: o.pool, Support: true}
	counts, size, err := data.Read(p.Problem.Process())
	if err != nil {
		return badFile("--log", err)
	}
	of, known, err := data.Intervals(p.Problem, counts, o.confidence)
	if err != nil {
		return usage("%s: %w", p.name, trim(err))
	}
	q, err := c.compile(ctx, of, p.name)
	if err != nil {
		return err
	}
	return c.planRobust(ctx, q, &confidenceReport{Level: report.Number(known.Level),
		Log:           logReport{o.log, size.Episodes, size.Transitions},
		Probabilities: known.Probabilities, Choices: known.Choices, Unvisited: known.Unvisited,
		ClopperPearson: known.Choices - known.Weissman - known.Unvisited, Weissman: known.Weissman})
}
