// Package problem gives a planning problem its names and its file format: a
// model, the names of its returns, states and actions, a goal, constraints and a
// target set. It reads, checks and writes problem files (format cmdp/1), which
// docs/problem-file.md describes for users and docs/problem.schema.json for
// editors.
//
// Reading goes in stages. Text, YAML or JSON, becomes nodes with positions
// (node.go); nodes are decoded by the types of this package (decode.go), rows of
// transitions into a table (table.go), which may also be filled from a file of
// their own (sidecar.go); the table becomes kernels, and goal and target are
// built and judged (judge.go). Errors of all stages are collected; only building
// the model needs the stages before it to be free of them.
package problem

import "cmdpsolve/cmdp"

// A Problem is a model together with what is wanted of it, in the user's own
// names and units. Its methods do not change it, and may be called concurrently
// as long as nobody does.
type Problem struct {
	Name  string
	Model *cmdp.Model
	// Returns names the d coordinates.
	Returns []string
	// States names the states; nil if they are numbered.
	States []string
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
	// Opponent says who plays against the agent; nil without an opponent, or if the
	// problem leaves it open.
	Opponent *Opponent

	totals *totals // nil for problems that were not read from a file
}

// A Goal is what to optimise: one return, or a convex cost to be minimised. At
// most one field is set.
type Goal struct {
	Maximize string `json:"maximize,omitempty" jsonschema:"the return to maximise"`
	Minimize string `json:"minimize,omitempty" jsonschema:"the return to minimise"`
	Cost     *Cost  `json:"cost,omitempty" jsonschema:"the convex cost to minimise"`
}

func (Goal) isUnion() {}

// A Constraint bounds one return. A nil bound is absent.
type Constraint struct {
	Return  string   `json:"return" jsonschema:"the name of the return"`
	AtLeast *float64 `json:"at_least,omitempty" jsonschema:"lower bound"`
	AtMost  *float64 `json:"at_most,omitempty" jsonschema:"upper bound"`
}
