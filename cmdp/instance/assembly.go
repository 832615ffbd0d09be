package instance

import (
	"fmt"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/problem"
)

// An assembly collects the choices of a model whose kernel is the same at every
// step, state by state in increasing order, with the names of the actions.
type assembly struct {
	builder *cmdp.Builder
	actions []string
	state   int // of the last choice
	count   int // choices of that state
	err     error
}

func assemble(spec cmdp.ModelSpec, states int) *assembly {
	return &assembly{builder: cmdp.NewBuilder(spec, states), state: -1}
}

// add appends a choice. Without returns every transition carries its own.
func (as *assembly) add(state int, action string, returns []float64, next []cmdp.Transition) {
	if state != as.state {
		as.state, as.count = state, 0
	}
	err := as.builder.Add(cmdp.Row{State: state, Action: as.count, Returns: returns, Next: next})
	if err != nil && as.err == nil {
		as.err = fmt.Errorf("state %d, action %s: %w", state, action, err)
	}
	as.count++
	as.actions = append(as.actions, action)
}

// finish completes p by the model and the names of its actions.
func (as *assembly) finish(p *problem.Problem) (*problem.Problem, error) {
	if as.err != nil {
		return nil, fmt.Errorf("instance: %s: %w", p.Name, as.err)
	}
	m, err := as.builder.Build()
	if err != nil {
		return nil, fmt.Errorf("instance: %s: %w", p.Name, err)
	}
	p.Model, p.Actions = m, [][]string{as.actions}
	return p, nil
}

// atMost returns the constraint that a return is at most bound, or none if the
// bound is infinite.
func atMost(name string, bound float64) []problem.Constraint {
	if math.IsInf(bound, 1) {
		return nil
	}
	return []problem.Constraint{{Return: name, AtMost: &bound}}
}

// spread adds probability p of moving to next. Ways to the same state are one.
func spread(to []cmdp.Transition, next int, p float64) []cmdp.Transition {
	if p == 0 {
		return to
	}
	for i := range to {
		if to[i].Next == next {
			to[i].Probability += p
			return to
		}
	}
	return append(to, cmdp.Transition{Next: next, Probability: p})
}
