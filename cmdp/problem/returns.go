package problem

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
)

// A Return says what one coordinate of the return is. Its zero value is what rows give under
// the name of the return. Reach, Total, Visits, Exceeds, Meets and Excess follow from the course of an
// episode instead; at most one field is set, and While and Within besides Reach or Total.
type Return struct {
	// Reward is a reward of the model that the transitions refer to. Only files have it: once
	// the model is read, the return is what its rows give.
	Reward string `json:"reward,omitempty" jsonschema:"what the model that the transitions refer to calls the return"`
	// Reach is 1 when a state of the set is reached for the first time, also at the start, and 0
	// otherwise: its total is the probability of getting there.
	Reach *StateSet `json:"reach,omitempty" jsonschema:"1 when a state of the set is reached for the first time, also at the start"`
	// Total is the name of a return that counts for as long as the process has been in states of While alone, and
	// all bounds of Within hold, a step's own costs included.
	Total  string     `json:"total,omitempty" jsonschema:"the total of the return of this name, for as long as while and within say"`
	While  *StateSet  `json:"while,omitempty" jsonschema:"reach, total: on the way, only states of this set"`
	Within CostBounds `json:"within,omitempty" jsonschema:"reach, total: in at most so many steps, or with at most so much of a return up to there"`
	Visits *StateSet  `json:"visits,omitempty" jsonschema:"the number of steps that begin in a state of the set"`
	// Exceeds, Meets and Excess judge the total of another return over an episode.
	Exceeds *Threshold `json:"exceeds,omitempty" jsonschema:"1 if the total of a return over the episode is above a limit"`
	Meets   *Threshold `json:"meets,omitempty" jsonschema:"1 if the total of a return over the episode is at least a limit"`
	Excess  *Threshold `json:"excess,omitempty" jsonschema:"by how much the total of a return over the episode is above a limit, 0 if it is not"`
	// Criterion is total or average, of problems without a horizon and a discount; without it that of the
	// problem holds.
	Criterion string `json:"criterion,omitempty" jsonschema:"total or average (long-run mean), where there is neither a horizon nor a discount below 1"`
}

// A Threshold is a limit for the total of a return over an episode.
type Threshold struct {
	Return string  `json:"return" jsonschema:"the name of the return"`
	Limit  float64 `json:"limit" jsonschema:"its limit"`
}

// CostBounds bound the way to a target, or the part of an episode in which a total counts. All of them hold.
type CostBounds []CostBound

// A CostBound bounds the total of a return, none of which is negative, up to the target. Without a return it is the
// number of steps.
type CostBound struct {
	Return string  `json:"return" jsonschema:"the name of the return"`
	AtMost float64 `json:"at_most" jsonschema:"the most that its total may be on the way"`
}

// Steps returns the bound on the number of steps, −1 for none.
func (w CostBounds) Steps() int {
	for _, b := range w {
		if b.Return == "" {
			return int(b.AtMost)
		}
	}
	return -1
}

// Spends reports whether the total of a return is bounded.
func (w CostBounds) Spends() bool {
	return slices.ContainsFunc(w, func(b CostBound) bool { return b.Return != "" })
}

// decode reads a number of steps, a bound on a return, or a list of them.
func (w *CostBounds) decode(d *decoder, n *node, at *path) bool {
	if n.kind != listNode {
		*w = make(CostBounds, 1)
		return (*w)[0].decode(d, n, at)
	}
	*w = make(CostBounds, len(n.items))
	if len(n.items) == 0 {
		return d.bad(n, at, "an empty list: want a number of steps, or {return: NAME, at_most: x}")
	}
	ok := true
	for i, item := range n.items {
		ok = (*w)[i].decode(d, item, at.at(i)) && ok
	}
	return ok
}

// decode reads a number of steps, or a bound on a return.
func (w *CostBound) decode(d *decoder, n *node, at *path) bool {
	if n.kind == mapNode {
		return d.structure(n, at, reflect.ValueOf(w).Elem())
	}
	if n.kind == listNode {
		return d.bad(n, at, "got %s: want a number of steps, or {return: NAME, at_most: x}", n.describe())
	}
	steps, ok := d.integer(n, at, 0, maxStates)
	w.AtMost = float64(steps)
	return ok
}

func (w *CostBounds) encode(b []byte) []byte {
	if len(*w) == 1 {
		return (*w)[0].encode(b)
	}
	return appendAll(b, "[]", len(*w), func(b []byte, i int) []byte { return (*w)[i].encode(b) })
}

func (w *CostBound) encode(b []byte) []byte {
	if w.Return == "" {
		return appendNumber(b, w.AtMost)
	}
	b = append(appendName(append(b, "{return: "...), w.Return), ", at_most: "...)
	return append(appendNumber(b, w.AtMost), '}')
}

// Derived reports whether the return follows from the course of an episode, not from what rows
// give under its name.
func (r *Return) Derived() bool {
	return r.Reach != nil || r.Total != "" || r.Visits != nil || r.Judged() != nil
}

// ofTotals reports whether the return follows from totals of others.
func (r *Return) ofTotals() bool { return r.Total != "" || r.Judged() != nil || r.Within.Spends() }

// Judged returns the limit for the total of another return that the return is about, nil if it is about none.
func (r *Return) Judged() *Threshold { return cmp.Or(r.Exceeds, r.Meets, r.Excess) }

// checkKind looks at what a return is made of. Errors that concern a member are [MemberError]s.
func (p *Problem) checkKind(r *Return, finder *stateFinder) error {
	var errs memberErrors
	kinds := 0
	for _, given := range []bool{r.Reward != "", r.Reach != nil, r.Total != "", r.Visits != nil, r.Exceeds != nil,
		r.Meets != nil, r.Excess != nil} {
		if given {
			kinds++
		}
	}
	if kinds > 1 {
		errs = append(errs, fmt.Errorf("problem: %d kinds of return: want one of reward, reach, total, visits, "+
			"exceeds, meets or excess, or none", kinds))
	}
	switch limited := r.While != nil || r.Within != nil; {
	case limited && r.Reach == nil && r.Total == "":
		errs = append(errs, errors.New("problem: while and within are given without reach or total"))
	case r.Total != "" && !limited:
		errs = append(errs, errors.New("problem: total is given without while and within: want one of them"))
	}
	errs = append(errs, p.checkTotal(r.Total, finder))
	errs = append(errs, p.checkCostBounds(r.Within, finder))
	for _, part := range []struct {
		key string
		set *StateSet
	}{{"reach", r.Reach}, {"while", r.While}, {"visits", r.Visits}} {
		if part.set != nil && finder.states > 0 {
			_, err := finder.in(part.set)
			errs = append(errs, Inside(err, part.key))
		}
	}
	for _, part := range []struct {
		key string
		of  *Threshold
	}{{"exceeds", r.Exceeds}, {"meets", r.Meets}, {"excess", r.Excess}} {
		if part.of != nil {
			errs = append(errs, Inside(p.checkThreshold(part.of, finder), part.key))
		}
	}
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	return errs.orNil()
}

// checkCostBounds looks at the bounds of costs.
func (p *Problem) checkCostBounds(bounds CostBounds, finder *stateFinder) error {
	for i, w := range bounds {
		inside := func(key, format string, args ...any) error {
			err := Inside(fmt.Errorf("problem: "+format, args...), key)
			if len(bounds) > 1 {
				err = Inside(err, i)
			}
			return Inside(err, "within")
		}
		at := finder.returns.find(p.Returns, w.Return)
		switch {
		case slices.ContainsFunc(bounds[:i], func(v CostBound) bool { return v.Return == w.Return }):
			return Inside(errors.New("problem: bounded twice: want each return once, and one number of steps"),
				"within", i)
		case !(w.AtMost >= 0) || math.IsInf(w.AtMost, 1):
			return inside("at_most", "%g: want a finite number from 0 on", w.AtMost)
		case w.Return == "" && w.AtMost != math.Trunc(w.AtMost):
			return Inside(fmt.Errorf("problem: %g steps: want a whole number", w.AtMost), "within")
		case w.Return == "":
		case at < 0:
			return inside("return", "unknown return %s%s", shorten(w.Return), finder.orWant(w.Return, p.Returns))
		case p.Kinds[at].ofTotals():
			return inside("return", "%s is about a total itself: want another return", w.Return)
		}
	}
	return nil
}

// checkTotal looks at the return whose total counts.
func (p *Problem) checkTotal(name string, finder *stateFinder) error {
	if name == "" {
		return nil
	}
	switch i := finder.returns.find(p.Returns, name); {
	case i < 0:
		return Inside(fmt.Errorf("problem: unknown return %s%s", shorten(name), finder.orWant(name, p.Returns)), "total")
	case p.Kinds[i].ofTotals():
		return Inside(fmt.Errorf("problem: %s is about a total itself: want another return", name), "total")
	}
	return nil
}

func (p *Problem) checkThreshold(t *Threshold, finder *stateFinder) error {
	switch i := finder.returns.find(p.Returns, t.Return); {
	case i < 0:
		return Inside(fmt.Errorf("problem: unknown return %s%s", shorten(t.Return), finder.orWant(t.Return, p.Returns)),
			"return")
	case p.Kinds[i].Judged() != nil:
		return Inside(fmt.Errorf("problem: %s is about the total of a return itself: want another return", t.Return),
			"return")
	case math.IsNaN(t.Limit) || math.IsInf(t.Limit, 0):
		return Inside(fmt.Errorf("problem: %g: want a finite number", t.Limit), "limit")
	}
	return nil
}

// readReturns reads the returns: a list of names, or a mapping from names to what they are.
func (h *header) readReturns(n *node, at *path) {
	h.p.Returns, h.spec.Dim = nil, 0
	if h.imported != nil {
		h.imported.rewards = nil
	}
	switch count := max(len(n.items), len(n.members)); {
	case count > maxReturns:
		h.bad(n, at, "%d returns: want at most %d", count, maxReturns)
	case n.kind == listNode:
		if names, ok := h.uniqueNames(n, at); ok {
			h.giveReturns(names, make([]Return, len(names)), n.items, at)
		}
	case n.kind == mapNode && len(n.members) > 0:
		if !h.pairs(n, at) {
			return
		}
		names := make([]string, len(n.members))
		kinds := make([]Return, len(n.members))
		nodes := make([]*node, len(n.members))
		ok := true
		for i, m := range n.members {
			here := at.key(m.key.text)
			var good bool
			names[i], good = h.name(m.key, at)
			good = h.value(m.value, here, reflect.ValueOf(&kinds[i]).Elem()) && good
			nodes[i], ok = m.value, ok && good
		}
		if ok {
			h.giveReturns(names, kinds, nodes, at)
		}
	case n.kind == mapNode:
		h.bad(n, at, "the mapping is empty: want at least one name, such as {cost: {}}")
	default:
		h.bad(n, at, "got %s: want a list of names, or a mapping from names to what they are, such as {}", n.describe())
	}
}

// giveReturns takes over returns, which stand at the given nodes.
func (h *header) giveReturns(names []string, kinds []Return, nodes []*node, at *path) {
	finder, before := newStateFinder(h.p, h.states), len(h.errs)
	h.p.Returns, h.p.Kinds, h.given = names, kinds, nil
	for i, name := range names {
		here := at.at(i)
		if nodes[i].kind == mapNode {
			here = at.key(name)
		}
		if err := h.p.checkKind(&kinds[i], finder); err != nil {
			h.misbuilt(nodes[i], here, err)
			continue
		}
		if kinds[i].Derived() {
			continue
		}
		h.given = append(h.given, name)
		h.giveReward(name, kinds[i].Reward, nodes[i], here)
		kinds[i].Reward = ""
	}
	h.giveCriteria(names, kinds, nodes, at)
	if !slices.ContainsFunc(kinds, func(r Return) bool { return r.Derived() }) {
		h.p.Kinds = nil
	}
	if len(h.errs) > before {
		h.p.Returns, h.given, h.spec.Means = nil, nil, nil // they would give more errors where the names are used
		return
	}
	// A model has at least one coordinate, even if all returns are derived.
	h.spec.Dim = max(1, len(h.given))
}

// giveCriteria says which returns are long-run means. A return that asks for what all do is left without a
// criterion of its own.
func (h *header) giveCriteria(names []string, kinds []Return, nodes []*node, at *path) {
	all, means := h.spec.Average, make([]bool, 0, len(kinds))
	for i := range kinds {
		r, here := &kinds[i], at.key(names[i]).key("criterion")
		switch {
		case r.Criterion == "":
		case r.Criterion != total && r.Criterion != average:
			h.bad(nodes[i].get("criterion"), here, "got %s: want total or average", shorten(r.Criterion))
		case h.spec.Horizon > 0:
			h.bad(nodes[i].get("criterion"), here,
				"given with a horizon, over which returns are summed: want it without one")
		case h.spec.Discount < 1 && !h.spec.Average:
			h.bad(nodes[i].get("criterion"), here,
				"given with a discount, by which returns are summed: want discount 1, or criterion: average")
		}
		if !r.Derived() {
			means = append(means, r.Criterion == average || r.Criterion == "" && all)
		}
	}
	if h.spec.Horizon > 0 || h.spec.Discount < 1 && !all {
		return
	}
	// Of returns that no rows give, the model has one all the same.
	h.spec.Average = all && len(means) == 0 || len(means) > 0 && !slices.Contains(means, false)
	h.spec.Discount, h.spec.Means = 0, nil
	if !h.spec.Average {
		h.spec.Discount = 1
		if slices.Contains(means, true) {
			h.spec.Means = means
		}
	}
	for i := range kinds {
		r := &kinds[i]
		mean := r.Criterion == average || r.Criterion == "" && all
		r.Criterion = ""
		if mean != h.spec.Average {
			r.Criterion = map[bool]string{true: average, false: total}[mean]
		}
	}
}

const total, average = "total", "average"

// Mean reports whether return i is a long-run mean of a step.
func (p *Problem) Mean(i int) bool {
	if p.Kinds != nil && p.Kinds[i].Criterion != "" {
		return p.Kinds[i].Criterion == average
	}
	return p.Kinds != nil && p.Model.Average() || p.Kinds == nil && p.Model.Mean(i)
}

// Given lists the returns that rows give: all that are not derived.
func (p *Problem) Given() []string {
	if p.Kinds == nil {
		return p.Returns
	}
	var names []string
	for i, name := range p.Returns {
		if !p.Kinds[i].Derived() {
			names = append(names, name)
		}
	}
	return names
}

// Episodic reports whether some return or constraint is about the course of episodes.
func (p *Problem) Episodic() bool {
	return slices.ContainsFunc(p.Kinds, func(r Return) bool { return r.Derived() }) ||
		slices.ContainsFunc(p.Constraints, func(c Limit) bool { return !c.OnAverage() })
}
