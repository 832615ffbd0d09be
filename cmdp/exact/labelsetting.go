package exact

import (
	"context"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"

	"gonum.org/v1/gonum/floats"
)

// maxLabels bounds the paths to one step that are kept.
const maxLabels = 100_000

// A label is a way from the start to a state. It holds the last step and the
// path before it.
type label struct {
	returns, key []float64
	state        int32
	action       int32 // that led here
	before       int32 // the number of the path to the step before
}

// solveCertain answers where all successors are certain: a policy that never draws is then one path. Relaxed problems
// say little about such models, as the mixtures of two paths can be put together in countless ways. Of the paths to a
// state at a step it keeps those that no other path dominates in what cost and constraints look at (as in shortest
// paths with several costs, Hansen 1980). It reports whether it found the answer: there may be too many paths.
func (s *branchAndBound) solveCertain(ctx context.Context) (done bool, err error) {
	m := s.m
	if m.Horizon() == 0 || len(m.StartStates()) != 1 || !certainTransitions(m) {
		return false, nil
	}
	look := s.criteria()
	first := label{returns: make([]float64, m.Dim()), state: int32(m.StartStates()[0].State)}
	first.key = look(first.returns)
	layers := [][]label{{first}}
	for h := range m.Horizon() {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		then := s.extendLabels(h, layers[h], look)
		if then == nil {
			return false, nil
		}
		layers = append(layers, then)
	}
	at := -1
	for i, p := range layers[m.Horizon()] {
		objective, violation := 0.0, s.task.Violation(p.returns)
		if s.task.Cost != nil {
			objective = s.task.Cost.Value(p.returns)
		}
		if s.best.Relaxed.targetTest.satisfied(p.returns, violation) && (at < 0 || objective < s.best.Objective) {
			at = i
			s.best.Objective, s.best.Returns, s.best.Violation = objective, p.returns, violation
		}
	}
	if at < 0 {
		return true, nil
	}
	policy := make(cmdp.Deterministic, m.Horizon())
	for h := m.Horizon(); h > 0; h-- {
		p := layers[h][at]
		policy[h-1] = make([]int32, m.States())
		at = int(p.before)
		policy[h-1][layers[h-1][at].state] = max(0, p.action)
	}
	s.best.Policy = fixed(policy)
	return true, nil
}

// certainTransitions reports whether each choice has one successor.
func certainTransitions(m *cmdp.Model) bool {
	for h := range decisionRules(m) {
		rows := m.Rows(h)
		for s := range m.States() {
			for c, end := rows.Choices(s); c < end; c++ {
				if next, _ := rows.Row(c); len(next) > 1 {
					return false
				}
			}
		}
	}
	return true
}

// criteria returns the function whose values are all that cost and target look at; all are to be small. With an
// affine cost and a polyhedral target they are the cost and the rows, else the returns and their negatives.
func (s *branchAndBound) criteria() func(v []float64) []float64 {
	var forms [][]float64
	list, complete := []cmdp.Constraint(nil), true
	if s.task.Target != nil {
		lower, upper := s.m.Shape().Totals()
		list, complete = s.task.LinearConstraints(lower, upper)
	}
	affine, linear := s.task.Cost.(cost.Affine)
	if !complete || s.task.Cost != nil && !linear {
		for i := range s.m.Dim() {
			forms = append(forms, axis(s.m.Dim(), i, 1), axis(s.m.Dim(), i, -1))
		}
	} else {
		for _, c := range list {
			forms = append(forms, c.Normal)
		}
		if linear {
			forms = append(forms, affine.Gradient())
		}
	}
	return func(v []float64) []float64 {
		key := make([]float64, len(forms))
		for i, f := range forms {
			key[i] = floats.Dot(f, v)
		}
		return key
	}
}

// extendLabels returns the paths that are one step longer and that no other one betters, nil if they are too many.
func (s *branchAndBound) extendLabels(h int, now []label, look func([]float64) []float64) []label {
	rows := s.m.Rows(h)
	var then []label
	byState := make(map[int32][]int32)
	dead := make(map[int32]bool)
	add := func(p label) {
		kept := byState[p.state][:0]
		for _, j := range byState[p.state] {
			if dominates(then[j].key, p.key) {
				return // nothing that was kept is bettered by p, which would be bettered too
			}
			if dominates(p.key, then[j].key) {
				dead[j] = true
			} else {
				kept = append(kept, j)
			}
		}
		byState[p.state] = append(kept, int32(len(then)))
		then = append(then, p)
	}
	for i, p := range now {
		first, end := rows.Choices(int(p.state))
		if first == end {
			add(label{p.returns, p.key, p.state, -1, int32(i)})
		}
		for c := first; c < end; c++ {
			next, _ := rows.Row(c)
			if len(next) == 0 { // it is not offered
				continue
			}
			v := append([]float64(nil), p.returns...)
			floats.Add(v, rows.Returns(c))
			add(label{v, look(v), next[0], int32(c - first), int32(i)})
		}
		if len(then) > maxLabels {
			return nil
		}
	}
	out := then[:0]
	for j, p := range then {
		if !dead[int32(j)] {
			out = append(out, p)
		}
	}
	return out
}

// dominates reports whether a is nowhere larger than b, up to rounding.
func dominates(a, b []float64) bool {
	for i, x := range a {
		if x > b[i]+1e-13*math.Max(1, math.Abs(b[i])) {
			return false
		}
	}
	return true
}
