package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
)

// advise adds what to change if a run is more than a tenth off the best within the limits, and who would need
// fewer episodes if one of MOMA is more than a hundredth off. It compares with the exact answer.
// docs/instances.md holds the measurements behind it.
func (s *session) advise(notes report.Note, rep *learnReport) report.Note {
	if s.p.isGame() {
		return s.adviseGame(notes, rep)
	}
	best := s.Answer.Best
	if s.p.Model == nil || s.Endless() || best == nil || best.Status != exact.Optimal || s.Task.Cost == nil ||
		rep.Episodes == 0 {
		return notes
	}
	mean := make([]float64, len(rep.Average.Values))
	for i, x := range rep.Average.Values {
		mean[i] = float64(x)
	}
	switch {
	case s.off(mean, best.Objective, 0.1):
	case s.moma() && s.off(mean, best.Objective, 0.01):
		return append(notes, "The mean return is more than 1% off the best within the limits; --learner posterior "+
			"mostly needs fewer episodes to come so near.")
	default:
		return notes
	}
	var change []string
	if s.moma() {
		change = append(change, "--learner posterior")
	}
	if !s.Pool && s.p.Model.Stationary() && s.p.Model.Shape().SameEveryStep() {
		change = append(change, "--pool")
	}
	text := "The mean return is more than 10% off the best within the limits. "
	if len(change) == 0 {
		return append(notes, text+
			"More --episodes come closer; docs/instances.md shows how many the built-in problems took.")
	}
	return append(notes, text+"Try "+strings.Join(change, " ")+
		", or more --episodes; docs/instances.md shows what they do for the built-in problems.")
}

// adviseGame adds what to change if a run is farther from the target than any opponent can keep it, by more than a
// hundredth of what returns may be apart, or a tenth off the value of the goal.
func (s *session) adviseGame(notes report.Note, rep *learnReport) report.Note {
	text, value, gap := "", s.Answer.Value, s.Answer.Gap
	switch {
	case rep.Episodes == 0:
	case gap != nil && float64(rep.Violation) > gap.Upper+0.01*s.p.extent():
		text = "The mean return is farther from the target than an opponent can keep it. "
	case value != nil && s.p.Sense()*float64(rep.Objective)-value.Value > 0.1*math.Abs(value.Value):
		text = "The objective is more than 10% worse than the value, which the agent can force. "
	}
	if text == "" {
		return notes
	}
	for _, smaller := range []float64{0.05, 0.002} {
		if s.Bonus.Mode != cmdp.Theory || s.Bonus.Factor > smaller {
			return append(notes, text+
				fmt.Sprintf("Try --bonus-scale %g, with which nothing is guaranteed, or more --episodes.", smaller))
		}
	}
	return append(notes, text+"More --episodes come closer.")
}

// off reports whether a mean return costs more than the optimum by a share of it, or exceeds a limit by that
// share of it.
func (s *session) off(mean []float64, optimum, share float64) bool {
	return s.Task.Cost.Value(mean)-optimum > share*math.Abs(optimum) ||
		slices.ContainsFunc(s.Task.Constraints, func(c cmdp.Constraint) bool {
			return c.Excess(mean, mean) > share*math.Abs(c.Offset)
		})
}
