package problem

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// returnIndex looks up the name of a return. Where the names are not known, it
// complains of nothing.
func (h *header) returnIndex(n *node, at *path) (int, bool) {
	name, ok := h.name(n, at)
	if !ok || h.spec.Dim == 0 {
		return 0, false
	}
	i := h.returns.find(h.p.Returns, name)
	if i < 0 {
		return 0, h.badAgain(mistake{"returns", name}, n, at, "unknown return %s%s", shorten(name),
			h.orWant(name, h.p.Returns))
	}
	return i, true
}

func (h *header) readGoal(n *node, at *path) {
	if n.kind == scalarNode {
		want := "{maximize: NAME}, {minimize: NAME} or {cost: {…}}"
		if words := strings.Fields(n.text); len(words) == 2 && (words[0] == "maximize" || words[0] == "minimize") {
			want = "{" + words[0] + ": " + words[1] + "}"
		}
		h.bad(n, at, "got %s: want %s", n.describe(), want)
		return
	}
	if !h.value(n, at, reflect.ValueOf(&h.p.Goal).Elem()) {
		h.p.Goal = Goal{} // what is wrong has been said
		return
	}
	for _, key := range []string{"maximize", "minimize"} {
		if m := n.get(key); m != nil {
			h.returnIndex(m, at.key(key))
		}
	}
}

func (h *header) readConstraints(n *node, at *path) {
	if !h.list(n, at) {
		return
	}
	h.p.Constraints = make([]Limit, len(n.items))
	for i, item := range n.items {
		c, here := &h.p.Constraints[i], at.at(i)
		if !h.value(item, here, reflect.ValueOf(c).Elem()) {
			continue
		}
		h.returnIndex(item.get("return"), here.key("return"))
		if err := c.Check(); err != nil {
			h.misbuilt(item, here, err)
		}
	}
}

// A Limit bounds one return, on average unless it says otherwise: Always asks for
// the bounds in every episode, Probability for the bound in episodes of at least that
// probability, CVaR bounds the mean over the worst episodes, which have that probability. At most one
// of the three is set; the last two go with one bound. A nil bound is absent.
type Limit struct {
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
	// Place is where it stood in the list of the file, counted from 1, if others were taken from the list
	// since; else 0.
	Place int `json:"-"`
}

// PlaceOf returns the place in the list of the file of a constraint, both counted from 0.
func (p *Problem) PlaceOf(constraint int) int {
	if place := p.Constraints[constraint].Place; place > 0 {
		return place - 1
	}
	return constraint
}

// OnAverage reports whether the constraint bounds the expected return.
func (c *Limit) OnAverage() bool { return !c.Always && c.Probability == nil && c.CVaR == nil }

// Limited names what the constraint limits: the return, or the mean of the worst episodes.
func (c *Limit) Limited() string {
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
func (c *Limit) String() string {
	of, when := c.Limited(), ""
	switch {
	case c.Always:
		when = " always"
	case c.Probability != nil:
		when = " with probability " + brief(*c.Probability, 6)
	}
	var bounds []string
	add := func(atLeast bool, bound string) { bounds = append(bounds, of+" "+Relation(atLeast)+" "+bound) }
	if c.LeastAt != nil {
		add(true, briefList(c.LeastAt))
	}
	if c.MostAt != nil {
		add(false, briefList(c.MostAt))
	}
	if c.AtLeast != nil {
		add(true, brief(*c.AtLeast, 6)+when)
	}
	if c.AtMost != nil {
		add(false, brief(*c.AtMost, 6)+when)
	}
	return strings.Join(bounds, ", ")
}

// Relation is the sign between what is limited and its bound: "≥" for the least that is allowed, "≤" for the most.
func Relation(atLeast bool) string {
	if atLeast {
		return "≥"
	}
	return "≤"
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
func (c *Limit) Check() error {
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
