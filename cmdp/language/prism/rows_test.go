package prism_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// order returns the variables in their order in states.
func (p *plainProgram) order() []int {
	order := []int{0, 1, 2}[:len(p.modules)]
	if n := len(p.modules); len(p.variables) > n {
		order = append([]int{n}, order...)
	}
	return order
}

// stateName writes a state as it is called.
func (p *plainProgram) stateName(x []int) string {
	var parts []string
	for _, i := range p.order() {
		text := fmt.Sprint(x[i])
		if p.variables[i].isBool {
			text = fmt.Sprint(x[i] > 0)
		}
		parts = append(parts, fmt.Sprintf("x%d=%s", i, text))
	}
	return strings.Join(parts, ",")
}

// earned returns the rewards of a state, or of an action there.
func (p *plainProgram) earned(x []int, ofState bool, action string) string {
	var out []string
	for _, items := range p.rewards {
		sum := 0
		for _, i := range items {
			if i.ofState == ofState && (ofState || i.action == action) {
				sum += i.guard.of(x) * i.value.of(x)
			}
		}
		out = append(out, fmt.Sprintf("%.6g", float64(sum)/4))
	}
	return strings.Join(out, " ")
}

// moves returns the choices of a state: an action and the probabilities of the next states, for each set of commands
// that may move together.
func (p *plainProgram) moves(x []int) (actions []string, next []map[string]float64) {
	emit := func(action string, chosen map[int]plainCommand) {
		found := map[string]float64{}
		fails := func(i int, place, format string, args ...any) {
			p.wrong[fmt.Sprintf("%s: command [%s] of module m%d in the state %s: ", place, chosen[i].action, i,
				p.stateName(x))+fmt.Sprintf(format, args...)] = true
		}
		who := action
		for i := range chosen {
			who = cmp.Or(action, fmt.Sprint("m", i))
		}
		p.movers[fmt.Sprint(x)] = append(p.movers[fmt.Sprint(x)], who)
		var play func(i int, to []int, written bool, probability float64)
		play = func(i int, to []int, written bool, probability float64) {
			if i == len(p.modules) {
				found[fmt.Sprint(to)] += probability
				return
			}
			c, moves := chosen[i]
			if !moves {
				play(i+1, to, written, probability)
				return
			}
			sum := 0
			for _, u := range c.updates {
				sum += u.quarters.of(x)
				if q := u.quarters.of(x); q < 0 {
					fails(i, fmt.Sprint("command ", c.number), "%g is not a probability", float64(q)/4)
					return
				}
			}
			if sum != 4 {
				fails(i, fmt.Sprint("command ", c.number), "the probabilities sum to %g: want 1", float64(sum)/4)
				return
			}
			for _, u := range c.updates {
				if u.quarters.of(x) == 0 {
					continue
				}
				then, writes := slices.Clone(to), false
				for k, value := range u.values {
					v, at := p.variables[k], u.number+holds(k > i)
					then[k] = value.of(x)
					if v.isBool {
						then[k] = holds(then[k] == 1)
					}
					if then[k] < v.low || then[k] > v.high {
						fails(i, fmt.Sprint("assignment ", at), "x%d, which is from %d to %d, would become %d", k, v.low,
							v.high, then[k])
					}
					if writes = writes || k == len(p.modules); written && k == len(p.modules) {
						fails(i, fmt.Sprint("assignment ", at), "x%d is written by another command of the same step too", k)
					}
				}
				play(i+1, then, written || writes, probability*float64(u.quarters.of(x))/4)
			}
		}
		play(0, x, false, 1)
		actions, next = append(actions, action), append(next, found)
	}
	for i, m := range p.modules {
		for _, c := range m {
			if c.action == "" && c.guard.of(x) > 0 {
				emit("", map[int]plainCommand{i: c})
			}
		}
	}
	for _, action := range []string{"a", "b"} {
		if action == p.without || p.silent {
			continue
		}
		shared, some := p.over == nil || slices.Contains(p.over, action), false
		all := []map[int]plainCommand{{}}
		for i, m := range p.modules {
			knows := shared && p.over != nil
			var more []map[int]plainCommand
			for _, c := range m {
				if c.action != action {
					continue
				}
				knows = shared
				if !shared && c.guard.of(x) > 0 {
					emit(action, map[int]plainCommand{i: c})
				}
				for _, chosen := range all {
					if c.guard.of(x) > 0 {
						with := map[int]plainCommand{i: c}
						for j, o := range chosen {
							with[j] = o
						}
						more = append(more, with)
					}
				}
			}
			idles := p.idle && i == 0 && action == "a"
			some = some || knows || idles
			if knows && !(idles && more == nil) {
				all = more
			}
		}
		for _, chosen := range all {
			if some {
				emit(action, chosen)
			}
		}
	}
	return actions, next
}

// starts returns the initial states in order.
func (p *plainProgram) starts() (all [][]int) {
	x := make([]int, len(p.variables))
	for i, v := range p.variables {
		x[i] = v.begin
	}
	if p.initial == nil {
		return [][]int{x}
	}
	var choose func(order []int)
	choose = func(order []int) {
		if len(order) == 0 {
			if p.initial.of(x) > 0 {
				all = append(all, slices.Clone(x))
			}
			return
		}
		for k := range p.variables[order[0]].values {
			x[order[0]] = p.variables[order[0]].low + k
			choose(order[1:])
		}
	}
	choose(p.order())
	return all
}

// rows returns what each reachable state is said to be: its rewards and choices in any order, equal ones once. What
// follows from a state where something goes wrong is left out.
func (p *plainProgram) rows() map[string][]string {
	queue, out := p.starts(), make(map[string][]string)
	p.wrong, p.movers = make(map[string]bool), make(map[string][]string)
	for len(queue) > 0 {
		x := queue[0]
		queue = queue[1:]
		if out[fmt.Sprint(x)] != nil {
			continue
		}
		before := len(p.wrong)
		for what, fails := range p.fails {
			if fails(x) {
				at, message, _ := strings.Cut(what, ": ")
				of, why, _ := strings.Cut(message, ": ")
				p.wrong[at+" 0: "+of+" in the state "+p.stateName(x)+": "+why] = true
			}
		}
		actions, next := p.moves(x)
		if len(p.wrong) > before {
			next = nil
		}
		lines := []string{p.earned(x, true, "")}
		mixed := make(map[string]float64)
		for k, found := range next {
			if p.chain {
				for to, q := range found {
					mixed[to] += q / float64(len(next))
				}
				continue
			}
			lines = append(lines, actions[k]+": "+line(found)+p.earned(x, false, actions[k]))
		}
		if p.chain && len(next) > 0 {
			mean := p.meanEarned(x, actions)
			if slices.Min(actions) != slices.Max(actions) {
				actions[0] = ""
			}
			lines = append(lines, actions[0]+": "+line(mixed)+mean)
		}
		slices.Sort(lines[1:])
		out[fmt.Sprint(x)] = append(lines[:1], slices.Compact(lines[1:])...)
		for _, found := range next {
			for to := range found {
				queue = append(queue, vector(to))
			}
		}
	}
	return out
}

// vector returns the numbers of a name, such as x0=1,x1=2 or [1 2]. Those of variables called x stand in the order of
// their digits.
func vector(name string) []int {
	fields := strings.Split(name, ",")
	if name[0] == '[' {
		fields = strings.Fields(strings.Trim(name, "[]"))
	}
	x := make([]int, len(fields))
	for i, text := range fields {
		v, value, isNamed := strings.Cut(text, "=")
		if isNamed {
			text = value
		}
		if v[0] == 'x' {
			i = int(v[1] - '0')
		}
		x[i], _ = strconv.Atoi(text)
		x[i] += holds(text == "true")
	}
	return x
}

// meanEarned returns the mean rewards of some actions.
func (p *plainProgram) meanEarned(x []int, actions []string) string {
	sums := make([]float64, len(p.rewards))
	for _, action := range actions {
		for i, text := range strings.Fields(p.earned(x, false, action)) {
			var r float64
			fmt.Sscan(text, &r)
			sums[i] += r / float64(len(actions))
		}
	}
	return numbers(sums)
}

func numbers(x []float64) string {
	var out []string
	for _, v := range x {
		out = append(out, fmt.Sprintf("%.6g", v))
	}
	return strings.Join(out, " ")
}

// line writes a distribution.
func line(next map[string]float64) string {
	text := ""
	for _, to := range slices.Sorted(maps.Keys(next)) {
		text += fmt.Sprintf("%.6g %s, ", next[to], to)
	}
	return text
}
