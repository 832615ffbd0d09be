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
	builder   *cmdp.Builder
	actions   []string
	opponents []string // of a game
	state     int      // of the last choice
	count     int      // choices of that state
	err       error
}

func assemble(spec cmdp.ModelSpec, states int) *assembly {
	return &assembly{builder: cmdp.NewBuilder(spec, states), state: -1}
}

// add appends a choice. Without returns every transition carries its own.
func (as *assembly) add(state int, action string, returns []float64, next []cmdp.Transition) {
	if state != as.state {
		as.state, as.count = state, 0
	}
	as.row(cmdp.Row{State: state, Action: as.count, Returns: returns, Next: next}, action)
	as.count++
}

// A pair is two actions by number and by name.
type pair struct {
	agent, opponent         int
	agentName, opponentName string
}

// addPair appends a choice of a game, in which the opponent's actions run fastest.
func (as *assembly) addPair(state int, p pair, returns []float64, next []cmdp.Transition) {
	as.row(cmdp.Row{State: state, Action: p.agent, Opponent: p.opponent, Returns: returns, Next: next}, p.agentName)
	as.opponents = append(as.opponents, p.opponentName)
}

func (as *assembly) row(row cmdp.Row, action string) {
	if err := as.builder.Add(row); err != nil && as.err == nil {
		as.err = fmt.Errorf("state %d, action %s: %w", row.State, action, err)
	}
	as.actions = append(as.actions, action)
}

// finish completes p by the model and the names of its actions.
func (as *assembly) finish(p *problem.Problem) (*problem.Problem, error) {
	err := as.err
	if err == nil {
		p.Model, err = as.builder.Build()
	}
	if err != nil {
		return nil, fmt.Errorf("instance: %s: %w", p.Name, err)
	}
	p.Actions = [][]string{as.actions}
	if as.opponents != nil {
		p.Opponents = [][]string{as.opponents}
	}
	return p, nil
}

// atMost returns the constraint that a return is at most bound, or none if the
// bound is infinite.
func atMost(name string, bound float64) []problem.Limit {
	if math.IsInf(bound, 1) {
		return nil
	}
	return []problem.Limit{{Return: name, AtMost: &bound}}
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
