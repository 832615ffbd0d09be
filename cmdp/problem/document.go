package problem

import "math"

// Format is the version of the format, the value of the key format.
const Format = "cmdp/1"

// Limits of what is read: a slip of the pen in a count should give an error, not
// a machine without memory.
const (
	maxStates  = 100_000_000
	maxHorizon = 10_000_000
	// maxStored bounds the successors and state offsets of all kernels together.
	maxStored = min(1<<31, math.MaxInt)
	// freeStates is how many states a file may have that no transition leads to.
	freeStates = 1_000_000
	// Rows for single steps make a kernel for each step. All of them together may have
	// freeStored states and successors, and stepsPerRow more for each successor of the
	// file.
	freeStored  = 1 << 26
	stepsPerRow = 1000
	// maxReturns bounds the returns: what is found for each of them has one number for each of them.
	maxReturns = 10_000
	// maxLabelled bounds the states of all labels together. A label may be the complement of another one.
	maxLabelled = 1 << 26
	// maxRows bounds the rows of a polytope: the linear programs on it keep a matrix of so many rows and columns.
	maxRows = 10_000
)

// limits are the bounds above; tests lower them.
type limits struct{ states, horizon, stored int }

// A document lists the keys of a problem file in the order of writing. The
// schema is made from it.
type document struct {
	Format      string               `json:"format" jsonschema:"the version of the format"`
	Name        string               `json:"name,omitempty" jsonschema:"the name of the problem"`
	Let         map[string]float64   `json:"let,omitempty" jsonschema:"names of numbers, each may be said by those above it"`
	Horizon     int                  `json:"horizon,omitempty" jsonschema:"steps of an episode; either this, or discount, or criterion"`
	Discount    float64              `json:"discount,omitempty" jsonschema:"factor of an infinite horizon, above 0, at most 1; 1 means the total return until absorption"`
	Criterion   string               `json:"criterion,omitempty" jsonschema:"average: long-run means of the returns of a step"`
	States      statesForm           `json:"states,omitempty" jsonschema:"a count, a list of names, or a count and a pattern of names; may be left out if the transitions are a model of another tool"`
	Start       startForm            `json:"start,omitempty" jsonschema:"a state, or a mapping from states to probabilities; may be left out like states"`
	Labels      map[string]*StateSet `json:"labels,omitempty" jsonschema:"names of sets of states, one after the other"`
	Coordinates map[string][2]int    `json:"coordinates,omitempty" jsonschema:"for pictures: row and column of states on a map, from 0"`
	Returns     returnsForm          `json:"returns,omitempty" jsonschema:"names of the coordinates of the return, or a mapping from them to what they are; may be left out with a model of another tool, for all of its rewards"`
	ReturnToGo  map[string]rangeForm `json:"return_to_go,omitempty" jsonschema:"a promise: from any step on, the return still to come lies in this range"`
	Goal        *Goal                `json:"goal,omitempty" jsonschema:"what to optimise; without it only the target matters"`
	Constraints []Limit              `json:"constraints,omitempty" jsonschema:"bounds on single returns"`
	Target      *Set                 `json:"target,omitempty" jsonschema:"a convex set of return vectors"`
	Uncertainty *Uncertainty         `json:"uncertainty,omitempty" jsonschema:"what may differ between visits where probabilities are intervals"`
	Opponent    *OpponentSpec        `json:"opponent,omitempty" jsonschema:"in a game, who plays against the agent when it learns"`
	Transitions transitionsForm      `json:"transitions,omitempty" jsonschema:"one row for each state and action, or the file that holds them"`
	Fleet       []memberForm         `json:"fleet,omitempty" jsonschema:"types of agents, in the place of states, start and transitions: returns are sums over all of them"`
}

// A rowForm lists the keys of a row of the transitions.
type rowForm struct {
	State    stateForm     `json:"state" jsonschema:"number or name"`
	Action   actionForm    `json:"action" jsonschema:"number or name"`
	Opponent actionForm    `json:"opponent,omitempty" jsonschema:"in a game, the opponent's action, number or name"`
	Step     int           `json:"step,omitempty" jsonschema:"the one step, counted from 1, at which the row holds; every step if absent"`
	Next     nextForm      `json:"next,omitempty" jsonschema:"a mapping from successors to probabilities, or intervals of them"`
	Returns  Coefficients  `json:"returns,omitempty" jsonschema:"expected returns: a list, or a mapping where a missing one is 0"`
	Outcomes []outcomeForm `json:"outcomes,omitempty" jsonschema:"successors with random returns, instead of next and returns"`
}

// An outcomeForm lists the keys of an outcome.
type outcomeForm struct {
	Probability float64      `json:"probability"`
	Next        stateForm    `json:"next" jsonschema:"number or name of the successor"`
	Returns     Coefficients `json:"returns,omitempty" jsonschema:"returns of this outcome: a list, or a mapping where a missing one is 0"`
}

// The forms are values that the schema describes by hand, see schema.go.
type (
	statesForm      struct{}
	startForm       struct{}
	returnsForm     struct{}
	rangeForm       struct{}
	transitionsForm struct{}
	stateForm       struct{}
	actionForm      struct{}
	nextForm        struct{}
)
