// Package property holds questions about a model in the form that all languages share.
package property

import "cmdpsolve/cmdp/language"

// A Property is a question about a model: one formula, or several of multi(…).
type Property struct {
	At       language.Pos
	Name     string // empty without one
	Formulas []Formula
	// Err says why it cannot be asked, if it cannot.
	Err error
}

// Steps stands for the name of rewards of 1 for each step, which every model has.
const Steps = "number of steps"

// A Formula measures what happens: a probability (P), rewards (R), or a share of time (S).
type Formula struct {
	At   language.Pos
	Kind byte // P, R or S
	// Reward is the name of the reward structure, empty for the first one.
	Reward string
	// Bound is ">=" or "<=" with Value, or "max" or "min" for an optimum, or "=" for the value in a chain.
	Bound string
	Value float64
	// Path is F, G or U for a probability, C, F or S for rewards, and S for a share.
	Path byte
	// While and Goal are conditions in the language; While is empty but for U.
	While, Goal string
	// Coalition are the players who ask, by name or number from 1; nil where nobody is named.
	Coalition []string
	// Within is the number of steps, or −1 without a bound.
	Within int
	// Costs bound rewards up to the goal, or of the steps that C counts; nil without a bound.
	Costs []CostBound
}

// A CostBound says that rewards, of the first structure without a name, are at most so much.
type CostBound struct {
	Reward string
	AtMost float64
}
