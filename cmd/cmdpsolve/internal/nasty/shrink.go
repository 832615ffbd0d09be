package nasty

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// shrink makes a problem smaller as long as it fails in the same way: it takes out limits, returns, rows,
// successors, states and steps, and makes numbers simple.
func (b *Bed) shrink(p *Problem, f *Failure) (*Problem, *Failure) {
	end := time.Now().Add(20 * time.Second)
	for again := true; again && time.Now().Before(end); {
		again = false
		for _, smaller := range p.smaller() {
			if !smaller.sound() {
				continue
			}
			if g := b.Try(smaller, f.Check); g != nil && g.Kind == f.Kind {
				p, f, again = smaller, g, true
				break
			}
		}
	}
	return p, f
}

// smaller are problems that are a little simpler, the simplest first.
func (p *Problem) smaller() []*Problem {
	var all []*Problem
	change := func(f func(c *Problem)) {
		c := p.clone()
		f(c)
		if string(c.JSON()) != string(p.JSON()) {
			all = append(all, c)
		}
	}
	if p.game() {
		return p.smallerGame()
	}
	dimensions := p.Target != nil || p.Goal != nil && p.Goal.Cost != nil
	if dimensions {
		change(func(c *Problem) { c.Target = nil })
		if p.Target != nil {
			change(func(c *Problem) { c.Goal = nil })
		}
	}
	for s := range p.States {
		if p.States > 1 {
			change(func(c *Problem) { c.withoutState(s) })
		}
	}
	for k := range p.Constraints {
		change(func(c *Problem) { c.Constraints = slices.Delete(c.Constraints, k, k+1) })
	}
	for _, name := range p.names() {
		if !dimensions { // vectors have a number for each return
			change(func(c *Problem) { c.withoutReturn(name) })
		}
	}
	for k := range p.Transitions {
		if len(p.Transitions) > 1 {
			change(func(c *Problem) { c.Transitions = slices.Delete(c.Transitions, k, k+1); c.number() })
		}
	}
	if p.Horizon > 1 {
		for _, h := range []int{1, p.Horizon - 1} {
			change(func(c *Problem) {
				c.Horizon = h
				c.Transitions = slices.DeleteFunc(c.Transitions, func(r Row) bool { return r.Step > h })
				c.number()
			})
		}
	}
	if p.Goal != nil {
		change(func(c *Problem) { c.Goal = nil })
	}
	for _, s := range slices.Sorted(maps.Keys(p.Start)) {
		if len(p.Start) > 1 {
			change(func(c *Problem) { c.Start = map[string]json.Number{s: "1"} })
		}
	}
	for k, r := range p.Transitions {
		if r.Step > 0 {
			change(func(c *Problem) { c.Transitions[k].Step = 0 })
		}
		for _, s := range slices.Sorted(maps.Keys(r.Next)) {
			if len(r.Next) > 1 {
				change(func(c *Problem) { c.Transitions[k].Next = map[string]json.Number{s: "1"} })
			}
		}
		for o := range r.Outcomes {
			change(func(c *Problem) {
				kept := c.Transitions[k].Outcomes[o]
				c.Transitions[k].Outcomes = nil
				c.Transitions[k].Next = map[string]json.Number{strconv.Itoa(kept.Next): "1"}
				c.Transitions[k].Returns = kept.Returns
			})
		}
		for _, name := range slices.Sorted(maps.Keys(r.Returns)) {
			change(func(c *Problem) { delete(c.Transitions[k].Returns, name) })
		}
	}
	for _, name := range p.names() {
		r := p.Returns[name]
		if r.While != nil {
			change(func(c *Problem) { r := r; r.While = nil; c.Returns[name] = r })
		}
		if r.Within > 0 {
			change(func(c *Problem) { r := r; r.Within = 0; c.Returns[name] = r })
		}
		for _, in := range []any{r.Reach, r.While, r.Visits} {
			if label, ok := in.(string); ok {
				change(func(c *Problem) { c.withoutLabel(name, label) })
			}
		}
	}
	change(func(c *Problem) {
		used := string(c.JSON())
		for label := range c.Labels {
			if strings.Count(used, `"`+label+`"`) == 1 {
				delete(c.Labels, label)
			}
		}
	})
	// Simpler numbers.
	for _, x := range p.numbers() {
		old := *x
		for _, simple := range simpler(old) {
			*x = simple
			all = append(all, p.clone())
		}
		*x = old
	}
	return all
}

// smallerGame are games that are a little simpler: rows come and go in pairs, so only what they do changes.
func (p *Problem) smallerGame() []*Problem {
	var all []*Problem
	change := func(f func(c *Problem)) {
		c := p.clone()
		f(c)
		if string(c.JSON()) != string(p.JSON()) {
			all = append(all, c)
		}
	}
	if p.Horizon > 1 {
		change(func(c *Problem) {
			c.Horizon--
			c.Transitions = slices.DeleteFunc(c.Transitions, func(r Row) bool { return r.Step > c.Horizon })
		})
	}
	for s := range p.States {
		change(func(c *Problem) {
			c.Transitions = slices.DeleteFunc(c.Transitions, func(r Row) bool { return r.State == s })
		})
		for a := range 3 {
			name := strconv.Itoa(a)
			change(func(c *Problem) {
				c.Transitions = slices.DeleteFunc(c.Transitions, func(r Row) bool { return r.State == s && r.Action == name })
				c.number()
			})
		}
		change(func(c *Problem) {
			c.Transitions = slices.DeleteFunc(c.Transitions, func(r Row) bool { return r.State == s && r.Step > 0 })
		})
	}
	for k := range p.Constraints {
		change(func(c *Problem) { c.Constraints = slices.Delete(c.Constraints, k, k+1) })
	}
	for k, r := range p.Transitions {
		for _, s := range slices.Sorted(maps.Keys(r.Next)) {
			if len(r.Next) > 1 {
				change(func(c *Problem) { c.Transitions[k].Next = map[string]json.Number{s: "1"} })
			}
		}
		for _, name := range slices.Sorted(maps.Keys(r.Returns)) {
			change(func(c *Problem) { delete(c.Transitions[k].Returns, name) })
		}
	}
	return all
}

// numbers points to all numbers of the problem but probabilities.
func (p *Problem) numbers() []*json.Number {
	var all []*json.Number
	for k := range p.Constraints {
		c := &p.Constraints[k]
		for _, x := range []*json.Number{&c.AtMost, &c.AtLeast, &c.CVaR, &c.Probability} {
			if *x != "" {
				all = append(all, x)
			}
		}
	}
	if p.Discount != "" && p.Discount != "1" {
		all = append(all, &p.Discount)
	}
	for _, r := range p.Returns {
		if r.Exceeds != nil {
			all = append(all, &r.Exceeds.Limit)
		}
		if r.Excess != nil {
			all = append(all, &r.Excess.Limit)
		}
	}
	return all
}

// simpler are numbers with fewer digits.
func simpler(x json.Number) []json.Number {
	r := rat(x)
	var all []json.Number
	for _, s := range []json.Number{"0.5", "1", "2", "0.25"} {
		if len(s) < len(x) || len(s) == len(x) && s < x {
			all = append(all, s)
		}
	}
	for digits := 1; digits <= 3; digits++ {
		s := json.Number(strconv.FormatFloat(float(r), 'g', digits, 64))
		if len(s) < len(x) {
			all = append(all, s)
		}
	}
	return all
}

// sound reports whether the problem is one that the format allows and that asks something.
func (p *Problem) sound() bool {
	if len(p.Transitions) == 0 || p.Goal == nil && len(p.Constraints) == 0 || len(p.Returns) == 0 {
		return false
	}
	one := big.NewRat(1, 1)
	given := map[[3]string]bool{}
	for _, r := range p.Transitions {
		key := [3]string{fmt.Sprint(r.State, " ", r.Step), r.Action, r.Opponent}
		if r.Step > p.Horizon || given[key] {
			return false
		}
		given[key] = true
	}
	if p.Discount != "" && (rat(p.Discount).Sign() <= 0 || rat(p.Discount).Cmp(one) > 0) {
		return false
	}
	for _, c := range p.Constraints {
		for _, x := range []json.Number{c.CVaR, c.Probability} {
			if x != "" && (rat(x).Sign() <= 0 || rat(x).Cmp(one) > 0) {
				return false
			}
		}
	}
	sum := new(big.Rat)
	for _, x := range p.Start {
		sum.Add(sum, rat(x))
	}
	if sum.Cmp(one) != 0 {
		return false
	}
	for _, states := range p.Labels {
		if len(states) == 0 {
			return false
		}
	}
	for _, r := range p.Returns {
		for _, in := range []any{r.Reach, r.Visits} {
			if in != nil && len(p.set(in)) == 0 {
				return false
			}
		}
	}
	return true
}

// withoutState takes a state out. What led to it leads to the next one.
func (p *Problem) withoutState(s int) {
	to := func(t int) int {
		switch {
		case t > s:
			return t - 1
		case t == s:
			return s % (p.States - 1)
		}
		return t
	}
	merged := func(next map[string]json.Number) map[string]json.Number {
		if next == nil {
			return nil
		}
		sums := map[int]*big.Rat{}
		for name, x := range next {
			t, _ := strconv.Atoi(name)
			if sums[to(t)] == nil {
				sums[to(t)] = new(big.Rat)
			}
			sums[to(t)].Add(sums[to(t)], rat(x))
		}
		out := map[string]json.Number{}
		for t, x := range sums {
			out[strconv.Itoa(t)] = decimal(x)
		}
		return out
	}
	p.Start = merged(p.Start)
	var rows []Row
	for _, r := range p.Transitions {
		if r.State == s {
			continue
		}
		r.State = to(r.State)
		r.Next = merged(r.Next)
		for k := range r.Outcomes {
			r.Outcomes[k].Next = to(r.Outcomes[k].Next)
		}
		rows = append(rows, r)
	}
	p.Transitions = rows
	in := func(set any) any {
		list, ok := set.([]any)
		if !ok {
			return set
		}
		var out []any
		for _, t := range list {
			if int(t.(float64)) != s {
				out = append(out, float64(to(int(t.(float64)))))
			}
		}
		return out
	}
	for name, r := range p.Returns {
		if r.Reach != nil {
			r.Reach = in(r.Reach)
		}
		if r.While != nil {
			r.While = in(r.While)
		}
		if r.Visits != nil {
			r.Visits = in(r.Visits)
		}
		p.Returns[name] = r
	}
	for label, list := range p.Labels {
		var out []int
		for _, t := range list {
			if t != s {
				out = append(out, to(t))
			}
		}
		p.Labels[label] = out
	}
	p.States--
}

// decimal is a finite decimal fraction.
func decimal(x *big.Rat) json.Number {
	text := x.FloatString(15)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return json.Number(text)
}

// withoutReturn takes a return out, with all that is about it.
func (p *Problem) withoutReturn(name string) {
	delete(p.Returns, name)
	for other, r := range p.Returns {
		if r.Exceeds != nil && r.Exceeds.Return == name || r.Excess != nil && r.Excess.Return == name {
			delete(p.Returns, other)
		}
	}
	for k := range p.Transitions {
		delete(p.Transitions[k].Returns, name)
		for o := range p.Transitions[k].Outcomes {
			delete(p.Transitions[k].Outcomes[o].Returns, name)
		}
	}
	p.Constraints = slices.DeleteFunc(p.Constraints, func(l Limit) bool { _, ok := p.Returns[l.Return]; return !ok })
	if p.Goal != nil {
		if _, ok := p.Returns[p.Goal.Maximize+p.Goal.Minimize]; !ok {
			p.Goal = nil
		}
	}
}

// withoutLabel writes the states of a label in its place.
func (p *Problem) withoutLabel(name, label string) {
	var list []any
	for _, s := range p.Labels[label] {
		list = append(list, float64(s))
	}
	r := p.Returns[name]
	for _, in := range []*any{&r.Reach, &r.While, &r.Visits} {
		if *in == any(label) {
			*in = list
		}
	}
	p.Returns[name] = r
}

// number renumbers the actions of each state from 0.
func (p *Problem) number() { (&maker{p: p}).renumber() }
