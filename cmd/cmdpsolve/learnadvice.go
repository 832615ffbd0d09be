package main

import (
	"fmt"
	"math"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
)

// advise says in a line what mostly needs fewer episodes, if the mean return is off the exact answer.
// docs/instances.md holds the measurements behind it.
func (s *session) advise(rep *learnReport) report.Note {
	share := s.share(rep)
	if share == 0 {
		return nil
	}
	off := fmt.Sprintf("Off by more than %s%%: ", report.Short(100*share))
	if change := s.changes(); len(change) > 0 {
		return report.Note{off + strings.Join(change, " ") + " mostly needs fewer episodes."}
	}
	return report.Note{off + "more --episodes come closer."}
}

// share is 1/10 if the mean return is off the exact answer by more than that, else 1/100 if MOMA is off by more than
// that, or the mean is so much farther from the target of a game than an opponent can keep it; else, or if there is
// no answer, it is 0.
func (s *session) share(rep *learnReport) float64 {
	answer, mean := &s.Answer, make([]float64, len(rep.Average.Values))
	for i, x := range rep.Average.Values {
		mean[i] = float64(x)
	}
	switch best := answer.Best; {
	case rep.Episodes == 0 || s.Endless():
	case answer.Gap != nil && float64(rep.Violation) > answer.Gap.Upper+0.01*s.p.extent():
		return 0.01
	case answer.Value != nil && s.off(mean, answer.Value.Value, 0.1):
		return 0.1
	case s.p.isGame() || best == nil || best.Status != exact.Optimal || s.Task.Cost == nil:
	case s.off(mean, best.Objective, 0.1):
		return 0.1
	case s.moma() && s.off(mean, best.Objective, 0.01):
		return 0.01
	}
	return 0
}

// changes lists the options with which a run mostly needs fewer episodes. In games smaller bonuses than the default
// help in some and not in others.
func (s *session) changes() (list []string) {
	const small = 0.02
	switch game := s.p.isGame(); {
	case game && (s.Bonus.Mode != cmdp.Theory || s.Bonus.Factor > small):
		list = append(list, fmt.Sprintf("--bonus-scale %g", small))
	case !game && s.moma():
		list = append(list, "--learner posterior")
	}
	if !s.Pool && s.p.Model.Stationary() && s.p.Model.Shape().SameEveryStep() {
		list = append(list, "--pool")
	}
	return list
}

// off reports whether a mean return costs more than the optimum by a share of it, or exceeds a limit by that
// share of it; of an optimum or a limit of 0 by that share of what returns may be apart.
func (s *session) off(mean []float64, optimum, share float64) bool {
	most := func(x float64) float64 {
		if x == 0 {
			return share * s.p.extent()
		}
		return share * math.Abs(x)
	}
	if s.Task.Cost.Value(mean)-optimum > most(optimum) {
		return true
	}
	for _, c := range s.Task.Constraints {
		if c.Excess(mean, mean) > most(c.Offset) {
			return true
		}
	}
	return false
}
