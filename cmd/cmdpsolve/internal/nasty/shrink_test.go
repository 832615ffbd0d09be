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

// smaller are problems that are a little simpler, the simplest first. Most of them leave out a part of the
// file, whatever it is; sound says which of these are problems.
func (p *Problem) smaller() []*Problem {
	var all []*Problem
	vectors := p.Target != nil || p.Goal != nil && p.Goal.Cost != nil // they have a number for each return
	add := func(c *Problem) {
		if string(c.JSON()) != string(p.JSON()) && !(vectors && len(c.Returns) != len(p.Returns)) {
			all = append(all, c)
		}
	}
	change := func(f func(c *Problem)) {
		c := p.clone()
		f(c)
		add(c)
	}
	for s := range p.States {
		if p.States > 1 && !p.game() {
			change(func(c *Problem) { c.withoutState(s) })
		}
	}
	for _, name := range p.names() {
		change(func(c *Problem) { c.withoutReturn(name) })
	}
	if p.Horizon > 1 {
		for _, h := range []int{1, p.Horizon - 1} {
			change(func(c *Problem) {
				c.Horizon = h
				c.withoutRows(func(r Row) bool { return r.Step > h })
			})
		}
	}
	for _, like := range p.Transitions { // rows that have something in common, last those of one choice
		for _, alike := range []func(r Row) bool{
			func(r Row) bool { return r.State == like.State },
			func(r Row) bool { return r.State == like.State && r.Step == like.Step },
			func(r Row) bool { return r.State == like.State && r.Action == like.Action },
			func(r Row) bool { return r.State == like.State && r.Step == like.Step && r.Action == like.Action },
		} {
			change(func(c *Problem) { c.withoutRows(alike) })
		}
	}
	for k, r := range p.Transitions {
		for o := range r.Outcomes {
			change(func(c *Problem) {
				kept := c.Transitions[k].Outcomes[o]
				c.Transitions[k].Outcomes = nil
				c.Transitions[k].Next = map[string]json.Number{strconv.Itoa(kept.Next): "1"}
				c.Transitions[k].Returns = kept.Returns
			})
		}
	}
	var file any
	if err := json.Unmarshal(p.JSON(), &file); err != nil {
		panic(err)
	}
	simplify(file, func(part any) any { return part }, func(file any) {
		text, err := json.Marshal(file)
		if err != nil {
			panic(err)
		}
		c := new(Problem)
		if json.Unmarshal(text, c) == nil {
			add(c)
		}
	})
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

// simplify calls try with files in which a part of a JSON value is left out, or one of several things that may
// come is sure to. In whole a changed value stands in its place in the file.
func simplify(value any, whole func(any) any, try func(file any)) {
	object, is := value.(map[string]any)
	if !is {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		without := maps.Clone(object)
		delete(without, key)
		inside := func(part any) any {
			changed := maps.Clone(object)
			changed[key] = part
			return whole(changed)
		}
		try(whole(without))
		if key == "target" || key == "cost" { // vectors, whose parts belong together
			continue
		}
		if probability, is := object[key].(float64); is && probability < 1 {
			try(whole(map[string]any{key: 1}))
		}
		list, _ := object[key].([]any)
		for k, part := range list {
			try(inside(slices.Delete(slices.Clone(list), k, k+1)))
			simplify(part, func(part any) any {
				changed := slices.Clone(list)
				changed[k] = part
				return inside(changed)
			}, try)
		}
		simplify(object[key], inside, try)
	}
}

// numbers points to the numbers of limits, and the discount.
func (p *Problem) numbers() []*json.Number {
	var all []*json.Number
	for k := range p.Constraints {
		c := &p.Constraints[k]
		all = append(all, &c.AtMost, &c.AtLeast, &c.CVaR, &c.Probability)
	}
	for _, r := range p.Returns {
		if of := r.outOf(); of != nil {
			all = append(all, &of.Limit)
		}
	}
	return slices.DeleteFunc(append(all, &p.Discount), func(x *json.Number) bool { return *x == "" || *x == "1" })
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
	one := big.NewRat(1, 1)
	share := func(x json.Number) bool { return x == "" || sign(x) > 0 && rat(x).Cmp(one) <= 0 }
	sure := func(chances map[string]json.Number) bool {
		sum := new(big.Rat)
		for _, x := range chances {
			sum.Add(sum, rat(x))
		}
		return sum.Cmp(one) == 0
	}
	here := func(s int) bool { return s >= 0 && s < p.States }
	if len(p.Transitions) == 0 || p.Goal == nil && len(p.Constraints) == 0 && p.Target == nil || len(p.Returns) == 0 ||
		p.Format == "" || p.States < 1 ||
		!share(p.Discount) || !sure(p.Start) || p.Horizon == 0 && p.Discount == "" && p.Criterion == "" {
		return false
	}
	if p.Goal != nil && p.Goal.Cost == nil {
		_, known := p.Returns[p.Goal.Maximize+p.Goal.Minimize]
		if !known {
			return false
		}
	}
	given := map[[3]string]bool{}
	actions, others := map[[2]int]map[string]bool{}, map[[2]int]map[string]bool{} // of a state at a step
	pairs := map[[2]int]int{}
	for _, r := range p.Transitions {
		key, at := [3]string{fmt.Sprint(r.State, " ", r.Step), r.Action, r.Opponent}, [2]int{r.State, r.Step}
		chances := map[string]json.Number{}
		for k, o := range r.outcomes() {
			chances[strconv.Itoa(k)] = o.Probability
			if !here(o.Next) {
				return false
			}
			for name := range o.Returns {
				_, known := p.Returns[name]
				if !known {
					return false
				}
			}
		}
		if r.Step > p.Horizon || given[key] || !here(r.State) || r.Action == "" || !sure(chances) {
			return false
		}
		given[key] = true
		if actions[at] == nil {
			actions[at], others[at] = map[string]bool{}, map[string]bool{}
		}
		actions[at][r.Action], others[at][r.Opponent] = true, true
		pairs[at]++
	}
	for at, n := range pairs {
		if n != len(actions[at])*len(others[at]) {
			return false
		}
	}
	for _, c := range p.Constraints {
		_, known := p.Returns[c.Return]
		if !known || (c.AtMost == "") == (c.AtLeast == "") || !share(c.CVaR) || !share(c.Probability) {
			return false
		}
	}
	for _, states := range p.Labels {
		if len(states) == 0 {
			return false
		}
	}
	for _, r := range p.Returns {
		of := r.outOf()
		if of != nil {
			base, known := p.Returns[of.Return]
			if !known || base.outOf() != nil || of.Limit == "" {
				return false
			}
		}
		sums, known := p.Returns[r.Total]
		way, limited := r.Reach != nil || r.Total != "", r.While != nil || r.Within != nil
		if limited && !way || r.Total != "" && (!known || sums.ofTotals() || !limited) ||
			p.Criterion != "" && r.Criterion == "" && (way || of != nil) {
			return false
		}
		for k, w := range r.Within {
			cost, known := p.Returns[w.Return]
			if w.Return != "" && (!known || cost.ofTotals()) || w.AtMost == "" || sign(w.AtMost) < 0 ||
				w.Return == "" && !rat(w.AtMost).IsInt() ||
				slices.ContainsFunc(r.Within[:k], func(o Bound) bool { return o.Return == w.Return }) {
				return false
			}
		}
		for _, in := range []any{r.Reach, r.While, r.Visits} {
			if _, named := in.(string); named && len(p.set(in)) == 0 { // of a label that has been taken out
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
		out := []any{}
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
		if of := r.outOf(); of != nil && of.Return == name || r.Total == name {
			delete(p.Returns, other)
		}
		if slices.ContainsFunc(r.Within, func(w Bound) bool { return w.Return == name }) {
			r.Within = slices.DeleteFunc(slices.Clone(r.Within), func(w Bound) bool { return w.Return == name })
			p.Returns[other] = r
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

// withoutRows takes rows out, and numbers the actions of each state from 0.
func (p *Problem) withoutRows(out func(r Row) bool) {
	p.Transitions = slices.DeleteFunc(p.Transitions, out)
	if !p.game() {
		(&maker{p: p}).renumber()
	}
}
