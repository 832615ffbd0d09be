package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"

	"gonum.org/v1/gonum/floats"
)

// policyQuestion asks for a policy at a step, or for all steps together: then each action
// has the share that it is taken of the visits to the state.
type policyQuestion struct {
	ID     int    `json:"id"`
	Step   int    `json:"step"`   // 0-based; −1 for all
	Player string `json:"player"` // agent or opponent, in games
	Type   int    `json:"type"`   // number of the type, in fleets
	Search string `json:"search"` // part of the name of a state or an action
	Most   int    `json:"most"`   // states
	Grid   bool   `json:"grid"`   // say where the states are, too
}

// policyAnswer lists states, those most visited first.
type policyAnswer struct {
	States []stateReport `json:"states"`
	Found  int           `json:"found"` // states that the search finds, of which States may be a part
	// Unit says what visits are.
	Unit string `json:"unit"`
	// Grid is where the states are, if not where those of the problem as it was given are.
	Grid *gridReport `json:"grid,omitempty"`
}

type stateReport struct {
	State  int       `json:"state"`
	Name   string    `json:"name"`
	Visits float64   `json:"visits"`
	Names  []string  `json:"names"` // of the actions that are taken
	Shares []float64 `json:"shares"`
}

// mostShown bounds the states of an answer, and mostOccupancy the numbers of a table of occupancies.
const (
	mostShown     = 40_000
	mostOccupancy = 1 << 25
)

// showPolicy lists a policy with its occupancies.
func (e *explorer) showPolicy(ctx context.Context, text []byte, _ func(any)) (any, error) {
	var q policyQuestion
	if err := json.Unmarshal(text, &q); err != nil {
		return nil, fmt.Errorf("the question cannot be read: %w", err)
	}
	plan, err := e.played(q.ID)
	if err != nil {
		return nil, err
	}
	if q.Step < -1 || q.Step >= max(1, e.Horizon()) {
		return nil, fmt.Errorf("there is no step %d", q.Step+1)
	}
	switch opponent := q.Player == "opponent"; {
	case !e.isGame():
	case opponent && plan.opponent == nil:
		return nil, errors.New("no policy of the opponent is known that keeps the returns from the target")
	case !opponent && plan.agent == nil:
		return nil, errors.New("against an opponent a target is approached by adapting, as learn does, and not by one policy")
	}
	if plan.types != nil {
		if q.Type < 0 || q.Type >= len(plan.types.Types) {
			return nil, fmt.Errorf("there is no type number %d", q.Type+1)
		}
		plan = plan.agentOf(q.Type)
	}
	v := policyView{loaded: plan.of, plan: plan, question: &q}
	if err := v.count(ctx); err != nil {
		return nil, err
	}
	a := v.answer()
	if !e.isFleet() && (plan.of.Model != e.Model || e.given || q.Grid) {
		a.Grid = gridOf(plan.of.Query)
	}
	return a, nil
}

// policyView collects what a policy does where.
type policyView struct {
	*loaded
	plan     *played
	question *policyQuestion
	visits   []float64   // of each state
	shares   [][]float64 // of each state, how often each action is taken
	names    [][]string  // of these actions, where steps offer different ones
	unit     string
}

// count counts the visits and what is done in them.
func (v *policyView) count(ctx context.Context) error {
	m := v.Model
	v.visits, v.shares, v.names = make([]float64, m.States()), make([][]float64, m.States()),
		make([][]string, m.States())
	if m.Horizon() == 0 {
		return v.countForever(ctx)
	}
	choices := m.Shape().StepChoices(0)
	agent, opponent := v.plan.agent, v.plan.opponent
	few := choices*m.Horizon() <= mostOccupancy
	switch {
	case few && agent == nil && len(v.plan.mixture) > 0: // of a fleet: a share of the agents each
		for _, c := range v.plan.mixture {
			v.add(c.Weight, cmdp.NewEvaluator(m).Occupancy(c.Policy))
		}
	case !few, agent == nil, m.Shape().Game() && opponent == nil:
		v.unit = "not counted"
		v.list(max(0, v.question.Step))
		return nil
	default:
		v.add(1, cmdp.NewEvaluator(m).OccupancyAgainst(agent, opponent))
	}
	v.unit = "steps spent here in an episode"
	if v.question.Step >= 0 {
		v.unit = "probability of being here at this step"
		v.list(v.question.Step)
	}
	return ctx.Err()
}

// add adds occupancies with a weight, of the step that is asked for or of all.
func (v *policyView) add(weight float64, occupancy [][]float64) {
	for h, q := range occupancy {
		if v.question.Step >= 0 && h != v.question.Step {
			continue
		}
		rows := v.Model.Rows(h)
		for s := range v.visits {
			first, end := rows.Choices(s)
			for c := first; c < end; c++ {
				v.visits[s] += weight * q[c]
				v.take(h, s, c-first, weight*q[c])
			}
		}
	}
}

// take adds to how often the action of a choice is taken.
func (v *policyView) take(h, s, choice int, x float64) {
	a, b := v.Model.Shape().Split(h, s, choice)
	if v.question.Player == "opponent" {
		a = b
	}
	if !v.Model.Stationary() {
		if x == 0 {
			return
		}
		name := v.name(h, s, a)
		a = slices.Index(v.names[s], name)
		if a < 0 {
			a, v.names[s] = len(v.names[s]), append(v.names[s], name)
		}
	}
	for len(v.shares[s]) <= a {
		v.shares[s] = append(v.shares[s], 0)
	}
	v.shares[s][a] += x
}

// name is the name of an action of the player who is asked for.
func (v *policyView) name(h, s, a int) string {
	if v.question.Player == "opponent" {
		return v.OpponentName(h, s, a)
	}
	return v.ActionName(h, s, a)
}

// list sets the shares to what the policy would do at a step, also where it never comes.
func (v *policyView) list(h int) {
	policy, m := v.plan.agent, v.Model
	if v.question.Player == "opponent" {
		policy = v.plan.opponent
	}
	if policy == nil {
		return
	}
	rows := m.Rows(h)
	for s := range v.shares {
		first, end := rows.Choices(s)
		n := end - first
		if sh := m.Shape(); sh != nil && n > 0 && sh.Game() {
			n = sh.Actions(h, s)
			if v.question.Player == "opponent" {
				n = sh.OpponentActions(h, s)
			}
		}
		v.shares[s], v.names[s] = make([]float64, n), nil
		if n > 0 {
			policy.Distribution(v.shares[s], h, s)
		}
	}
}

// countForever is count without a horizon.
func (v *policyView) countForever(ctx context.Context) error {
	m := v.Model
	switch {
	case m.Means():
		v.unit = "share of the time"
	case m.Discount() < 1:
		v.unit = "expected visits, discounted"
	default:
		v.unit = "expected visits"
	}
	mixture := v.plan.mixture
	if v.plan.policy != nil {
		mixture = []exact.WeightedPolicy{{Weight: 1, Policy: v.plan.policy}}
	}
	rows := m.Rows(0)
	for _, c := range mixture {
		x, err := exact.Visits(ctx, m, c.Policy, nil)
		if err != nil {
			return err
		}
		for s, y := range x {
			first, end := rows.Choices(s)
			n := end - first
			v.visits[s] += c.Weight * y
			if v.shares[s] == nil {
				v.shares[s] = make([]float64, n)
			}
			if n == 0 {
				continue
			}
			probs := make([]float64, n)
			c.Policy.Distribution(probs, 0, s)
			for a, p := range probs { // what is done where it never comes is of interest too
				v.shares[s][a] += c.Weight * max(y, 1e-300) * p
			}
		}
	}
	return nil
}

// answer lists the states that the search finds.
func (v *policyView) answer() *policyAnswer {
	a := &policyAnswer{States: []stateReport{}, Unit: v.unit}
	h := max(0, v.question.Step)
	search := strings.ToLower(v.question.Search)
	for s, shares := range v.shares {
		r := stateReport{State: s, Name: v.recalled(s), Visits: v.visits[s], Names: []string{}, Shares: []float64{}}
		total, found := floats.Sum(shares), strings.Contains(strings.ToLower(r.Name), search)
		for i, x := range shares {
			if x > 0 {
				var action string
				if v.names[s] != nil {
					action = v.names[s][i]
				} else {
					action = v.name(h, s, i)
				}
				r.Names, r.Shares = append(r.Names, action), append(r.Shares, x/total)
				found = found || strings.Contains(strings.ToLower(action), search)
			}
		}
		if found {
			a.States = append(a.States, r)
		}
	}
	slices.SortStableFunc(a.States, func(x, y stateReport) int { return cmp.Compare(y.Visits, x.Visits) })
	a.Found = len(a.States)
	a.States = a.States[:min(len(a.States), max(1, min(v.question.Most, mostShown)))]
	return a
}
