// Package problem gives a planning problem its names and its file format: a
// model, the names of its returns, states and actions, a goal, constraints and a
// target set. It reads, checks and writes problem files (format cmdp/1), which
// docs/problem-file.md describes for users and docs/problem.schema.json for
// editors.
//
// Read reads a file, Write writes a problem, Import makes one of another format's model, and
// ReadPolicy and WritePolicy do the same for policies. A problem is data: package query
// compiles it into what is planned for and learned.
//
// All errors of a file are reported at once, each with its line and key.
package problem

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exchange"
)

// A Problem is a model together with what is wanted of it, in the user's own
// names and units. Its methods do not change it. They may be called
// concurrently while nothing else changes it.
type Problem struct {
	Name string
	// Model is the process. It is nil if a simulator plays it; only its shape is known
	// then.
	Model     *cmdp.Model
	Simulated *cmdp.Shape
	// SimulatedDiscount is 0 if a simulator is played in episodes. Otherwise it is the discount, 1 for long-run means,
	// and Simulated is the shape of a step, as in [cmdp.Endless]: with a discount γ its returns are those of the
	// simulator over 1 − γ.
	SimulatedDiscount float64
	// Returns names the d coordinates.
	Returns []string
	// Kinds says what each return is, if one of them is derived; else it is nil.
	Kinds []Return
	// States names the states; nil if they are numbered.
	States []string
	// TradeOff are the returns that a property with several optima asks about: + before one that is to be large, − (a
	// hyphen) before one that is to be small.
	TradeOff []string
	// Described names the states if States is nil and they have variables: a model in a language. It is
	// nil otherwise.
	Described exchange.Described
	// Labels names sets of states. Names are different, and none is a number.
	Labels []exchange.Label
	// Coordinates are the places of states on a map, for people; nil if none are given, and a state may
	// have none.
	Coordinates map[int]Place
	// Actions names the choices of each kernel of the model (one, or one for each
	// step) in order; nil if actions are numbered 0, 1, … within their state. In a
	// game, where a choice is a pair, it names the agent's action of each, and
	// Opponents the opponent's.
	Actions, Opponents [][]string
	// Goal says what to optimise; its zero value means that only the target
	// matters.
	Goal Goal
	// Constraints are bounds on single returns, Target a convex set of return
	// vectors or nil. All of them must hold.
	Constraints []Constraint
	Target      *Set
	// Intervals say how far the probabilities of the model are known, nil if they are exact, and Uncertainty
	// what may differ between visits.
	Intervals   *cmdp.Intervals
	Uncertainty Uncertainty
	// Opponent describes the opponent. It is nil without one, or if the problem
	// leaves it open.
	Opponent *Opponent
	// Fleet are the types of agents, if the problem is one of many agents. It has no model then, and its
	// returns are sums over all agents.
	Fleet []Member

	head      *head // where the keys of the file stand; nil for problems that were not read from one
	constants []Constant
}

// A Constant is a number that a problem file has a name for, under let.
type Constant struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Constants lists the constants of the file that the problem was read from, in its order. It allocates.
func (p *Problem) Constants() []Constant { return append([]Constant{}, p.constants...) }

// A Goal is what to optimise: one return, or a convex cost to be minimised. At
// most one field is set.
type Goal struct {
	Maximize string `json:"maximize,omitempty" jsonschema:"the return to maximise"`
	Minimize string `json:"minimize,omitempty" jsonschema:"the return to minimise"`
	Cost     *Cost  `json:"cost,omitempty" jsonschema:"the convex cost to minimise"`
}

func (Goal) isUnion() {}

// Kind returns the key of the goal, "" without one. More than one is an error.
func (g Goal) Kind() (string, error) {
	if g == (Goal{}) {
		return "", nil
	}
	kind, _, err := kindOf(g)
	return kind, err
}

// String describes the goal, such as "maximize reward"; "" if there is none.
func (g Goal) String() string {
	switch {
	case g.Maximize != "":
		return "maximize " + g.Maximize
	case g.Minimize != "":
		return "minimize " + g.Minimize
	case g.Cost != nil:
		return "minimize a convex cost"
	}
	return ""
}

// A Constraint bounds one return, on average unless it says otherwise: Always asks for
// the bounds in every episode, Probability for the bound in episodes of at least that
// probability, CVaR bounds the mean over the worst episodes, which have that probability. At most one
// of the three is set; the last two go with one bound. A nil bound is absent.
type Constraint struct {
	Return      string   `json:"return" jsonschema:"the name of the return"`
	AtLeast     *float64 `json:"at_least,omitempty" jsonschema:"lower bound"`
	AtMost      *float64 `json:"at_most,omitempty" jsonschema:"upper bound"`
	Always      bool     `json:"always,omitempty" jsonschema:"the bounds hold in every episode, not on average alone"`
	Probability *float64 `json:"probability,omitempty" jsonschema:"the bound holds in an episode with at least this probability"`
	CVaR        *float64 `json:"cvar,omitempty" jsonschema:"the mean of this part of the episodes, the worst ones, keeps the bound"`
	// EachStep says that the bounds hold for what is returned at each step, Steps that they do so at some:
	// "18-22" or "7", counted from 1. Then there may be different bounds for them in the place of one for all:
	// MostAt and LeastAt. Both are for fleets.
	EachStep bool   `json:"each_step,omitempty" jsonschema:"the bounds hold at each step, for what a fleet returns there"`
	Steps    string `json:"steps,omitempty" jsonschema:"the bounds hold at each of these steps, counted from 1, such as 18-22"`

	MostAt, LeastAt []float64 `json:"-"`
}

// OnAverage reports whether the constraint bounds the expected return.
func (c *Constraint) OnAverage() bool { return !c.Always && c.Probability == nil && c.CVaR == nil }

// Limited names what the constraint limits: the return, or the mean of the worst episodes.
func (c *Constraint) Limited() string {
	switch {
	case c.EachStep:
		return c.Return + " at each step"
	case c.Steps != "":
		return c.Return + " at each of the steps " + c.Steps
	}
	if c.CVaR != nil {
		return "mean of the worst " + brief(100**c.CVaR, 6) + "% of " + c.Return
	}
	return c.Return
}

// String describes the constraint, such as "fuel ≤ 8", "fuel ≤ 8 always", "fuel ≤ 8 with probability 0.9" or
// "mean of the worst 10% of fuel ≤ 8".
func (c *Constraint) String() string {
	of, when := c.Limited(), ""
	switch {
	case c.Always:
		when = " always"
	case c.Probability != nil:
		when = " with probability " + brief(*c.Probability, 6)
	}
	var bounds []string
	for _, list := range []struct {
		relation string
		at       []float64
	}{{" ≥ ", c.LeastAt}, {" ≤ ", c.MostAt}} {
		if list.at != nil {
			bounds = append(bounds, of+list.relation+briefList(list.at))
		}
	}
	if c.AtLeast != nil {
		bounds = append(bounds, of+" ≥ "+brief(*c.AtLeast, 6)+when)
	}
	if c.AtMost != nil {
		bounds = append(bounds, of+" ≤ "+brief(*c.AtMost, 6)+when)
	}
	return strings.Join(bounds, ", ")
}

// briefList writes numbers for people, the first of many.
func briefList(list []float64) string {
	const most = 6
	var parts []string
	for _, x := range list[:min(most, len(list))] {
		parts = append(parts, brief(x, 6))
	}
	if len(list) > most {
		parts = append(parts, "…")
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// Check returns an error for bounds that contradict each other or that no episode can keep in the way
// they say. Errors that concern a member are [MemberError]s.
func (c *Constraint) Check() error {
	kinds := 0
	for _, given := range []bool{c.Always, c.Probability != nil, c.CVaR != nil} {
		if given {
			kinds++
		}
	}
	for _, part := range []struct {
		key   string
		value *float64
	}{{"probability", c.Probability}, {"cvar", c.CVaR}} {
		if part.value != nil && !(*part.value > 0 && *part.value <= 1) {
			return Inside(fmt.Errorf("problem: got %g: want above 0 and at most 1", *part.value), part.key)
		}
	}
	switch {
	case c.AtLeast == nil && c.AtMost == nil && c.MostAt == nil && c.LeastAt == nil:
		return errors.New("problem: no bound: want at_least, at_most or both")
	case c.Stepwise() && kinds > 0:
		return errors.New("problem: each_step and steps are for expected returns: want none of always, probability and cvar")
	case c.EachStep && c.Steps != "":
		return errors.New("problem: each_step and steps are given: want one of the two")
	case !c.Stepwise() && (c.MostAt != nil || c.LeastAt != nil):
		return errors.New("problem: a list of bounds: want each_step: true or steps, which say at which steps they hold")
	case c.AtLeast != nil && c.AtMost != nil && *c.AtLeast > *c.AtMost:
		return fmt.Errorf("problem: at_least %g is above at_most %g", *c.AtLeast, *c.AtMost)
	case kinds > 1:
		return fmt.Errorf("problem: %d of always, probability and cvar are given: want one", kinds)
	case kinds == 1 && !c.Always && c.AtLeast != nil && c.AtMost != nil:
		return errors.New("problem: both bounds are given with a probability or cvar: want a constraint for each")
	}
	return nil
}

// brief writes a number for people with at most the given significant digits.
func brief(x float64, digits int) string {
	return strconv.FormatFloat(x+0, 'g', digits, 64) // + 0 makes -0 plain
}
