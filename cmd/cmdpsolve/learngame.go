package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
)

// checkGame refuses what has no sense against an opponent, or without one, and
// settles who plays and with which bonus.
func (c *learnCommand) checkGame(p *loaded) error {
	if !p.isGame() {
		if c.Opponent != "" {
			return usage("--opponent %s: %s has one player", c.Opponent, p.name)
		}
		return nil
	}
	if c.Planner == "bernstein" {
		return usage("--planner bernstein: with an opponent no rate is proved for this bonus, because the variance that its analysis needs depends on how the opponent plays (erratum E-35); want hoeffding")
	}
	if c.Opponent != "" {
		o, err := problem.ParseOpponent("--opponent", c.Opponent)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		p.Opponent = o
	}
	if p.Opponent == nil {
		return usage("%s: a game without an opponent: say with --opponent, or in the problem file, who plays against the agent", p.name)
	}
	o, err := p.opponent()
	if err != nil {
		return usage("%s: opponent.%w", p.name, err)
	}
	if _, ok := o.(cmdp.MarkovOpponent); c.Expected && !ok {
		return usage("--expected: the opponent has no distribution from which expected returns could be computed")
	}
	if c.Dual == "double" && p.task.Target != nil {
		return usage("--dual double: a goal within a target cannot be pursued against an opponent who may adapt; want projection or free, which pursue the target and report the goal")
	}
	return nil
}

// opponent builds the opponent anew: it may remember.
func (p *loaded) opponent() (cmdp.Opponent, error) {
	return p.Opponent.Build(p.Problem, p.task.Target)
}

// gameAnswer is the exact answer of a game: the gap of its target, or without a
// target the value of its goal.
type gameAnswer struct {
	gap   *exact.Gap
	value *exact.GameValue
}

// gapWork bounds the transitions that a search for the gap may look at, so that learning a
// large game does not wait long for what it is compared with.
const gapWork = 1 << 28

// solveGame computes the exact answer, or says why there is none to compare with.
func (c *learnCommand) solveGame(ctx context.Context, p *loaded) *gameAnswer {
	if !c.exact {
		return nil
	}
	answer, err := new(gameAnswer), error(nil)
	if p.task.Target == nil {
		answer.value, err = exact.SolveGame(p.Model, p.task)
	} else {
		work := p.Model.Transitions() + 10*p.Model.Choices() // the matrix games
		if p.Model.Stationary() {
			work *= p.Model.Horizon()
		}
		opts := exact.GapOptions{Evaluations: min(20000, max(50, gapWork/max(1, work)))}
		answer.gap, err = exact.ApproachabilityGap(ctx, p.Model, cmdp.Task{Target: p.task.Target}, opts)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return nil
	case err != nil:
		c.say("the exact answer is not known: %v", err)
		return nil
	case answer.gap != nil && answer.gap.Status == exact.NotApproachable:
		c.say("warning: the opponent can keep the mean return at least %s away from the target", report.Short(answer.gap.Lower))
	}
	return answer
}

// report fills in the exact answer of a game.
func (a *gameAnswer) report(p *loaded) *exactReport {
	e := &exactReport{Objective: report.NaN, Distance: report.NaN}
	if a.value != nil {
		e.Status, e.Objective = "minimax", report.Number(p.sense()*a.value.Value)
		return e
	}
	low, up := report.Number(a.gap.Lower), report.Number(a.gap.Upper)
	e.Status, e.GapLower, e.GapUpper = a.gap.Status.String(), &low, &up
	return e
}

// distance says how near the target one can come: in a game the gap, or between
// which bounds it lies.
func (e *exactReport) distance() string {
	if e.GapLower == nil {
		return report.Short(e.Distance)
	}
	low, up := float64(*e.GapLower), float64(*e.GapUpper)
	if report.Brief(low) == report.Brief(up) || up-low <= 1e-4*up {
		return report.Short(low)
	}
	return report.Brief(low) + " to " + report.Brief(up)
}

// describeOpponent names an opponent in a few words.
func describeOpponent(o *problem.Opponent) string {
	var parts []string
	for _, inner := range o.Opponents {
		parts = append(parts, describeOpponent(inner))
	}
	switch o.Policy {
	case "switching":
		return fmt.Sprintf("every %s another of: %s", count(o.Period, "episode"), strings.Join(parts, "; "))
	case "random-start":
		return fmt.Sprintf("uniform for %s, then %s", count(o.Episodes, "episode"), describeOpponent(o.Then))
	case "fixed":
		return "a fixed policy"
	case "scripted":
		return "a script"
	case "replay":
		return "a log"
	case "best-response":
		return "best responses"
	case "adversarial":
		return "an adversary"
	}
	return o.Policy + " play"
}
