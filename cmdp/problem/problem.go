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
	Constraints []Limit
	Target      *Set
	// Intervals say how far the probabilities of the model are known, nil if they are exact, and Uncertainty
	// what may differ between visits.
	Intervals   *cmdp.Intervals
	Uncertainty Uncertainty
	// Opponent describes the opponent. It is nil without one, or if the problem
	// leaves it open.
	Opponent *OpponentSpec
	// Fleet are the types of agents, if the problem is one of many agents. It has no model then, and its
	// returns are sums over all agents.
	Fleet []Member

	head      *head // where the keys of the file stand; nil for problems that were not read from one
	constants []Constant
	// intervalLines are the lines where intervals of the choices of the first step stand, in intervalFile if they have
	// a file of their own.
	intervalLines map[int]int
	intervalFile  string
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
