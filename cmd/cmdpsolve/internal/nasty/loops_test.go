package nasty

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// A policy may remember whether it took one of some choices: "before 1 in 3", and "after 1 in 3" once it took
// action 1 in state 3. Where other things are remembered too, the state says what of them.

// loopName is what such a memory is called.
const loopName = "loop"

// A loop is one of them.
type loop struct {
	choices       string // as they are written
	items         []loopItem
	before, after string
}

type loopItem struct {
	action string
	state  int
	memory string
}

// splitOutside splits a text where a separator stands outside of quotes.
func splitOutside(text, separator string) []string {
	var parts []string
	begin, inside := 0, false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '"':
			inside = !inside
		case text[i] == '\\' && inside:
			i++
		case !inside && strings.HasPrefix(text[i:], separator):
			parts = append(parts, text[begin:i])
			begin = i + len(separator)
			i = begin - 1
		}
	}
	return append(parts, text[begin:])
}

func unquoted(text string) string {
	if plain, err := strconv.Unquote(text); err == nil {
		return plain
	}
	return text
}

// loopsOf returns the loops of a policy, which its rows name, in the order of names.
func loopsOf(rules []rule, names []string) (loops []loop) {
	first := slices.Index(names, loopName)
	if first < 0 || len(rules) == 0 {
		return nil
	}
	parts := splitOutside(rules[0].memory, "; ")
	for _, part := range parts[len(parts)-(len(names)-first):] {
		_, choices, _ := strings.Cut(part, " ")
		l := loop{choices: choices, before: "before " + choices, after: "after " + choices}
		for _, item := range splitOutside(choices, ", ") {
			of := splitOutside(item, " in ")
			state, memory, _ := strings.Cut(strings.TrimSuffix(unquoted(of[len(of)-1]), ")"), " (")
			number, _ := strconv.Atoi(state)
			l.items = append(l.items, loopItem{unquoted(of[0]), number, memory})
		}
		loops = append(loops, l)
	}
	return loops
}

// looped returns the graph whose nodes tell what a policy remembers of loops. Steps change nothing of that yet.
func (g *graph) looped(loops []loop) *graph {
	out := *g
	out.nodes, out.start = nil, nil
	for bits := range 1 << len(loops) {
		for id, n := range g.nodes {
			with := *n
			with.loops = nil
			for j, l := range loops {
				with.loops = append(with.loops, []string{l.before, l.after}[bits>>j&1])
			}
			with.choices = n.moved(func(*choice) int { return bits * len(g.nodes) })
			out.nodes = append(out.nodes, &with)
			start := new(big.Rat)
			if bits == 0 {
				start = g.start[id]
			}
			out.start = append(out.start, start)
		}
	}
	return &out
}

// leaving returns the looped graph of a policy that has been played, where the choices of loops lead on to nodes that
// tell so. What else is remembered where a choice counts is what the row for it says: words may fit more nodes. size
// is the number of nodes before the loops were told.
func (g *graph) leaving(loops []loop, size int) *graph {
	out := *g
	out.nodes = nil
	for _, n := range g.nodes {
		with := *n
		with.choices = n.moved(func(c *choice) int {
			done := 0
			for j, l := range loops {
				if n.loops[j] == l.before && slices.ContainsFunc(l.items, func(i loopItem) bool {
					return i.state == n.state && i.action == c.action && i.memory == withoutLoops(n.memory, len(loops))
				}) {
					done |= 1 << j
				}
			}
			return done * size
		})
		out.nodes = append(out.nodes, &with)
	}
	return &out
}

// moved returns the choices of a node where each leads to nodes with higher numbers, by an amount.
func (n *node) moved(by func(c *choice) int) []*choice {
	var all []*choice
	for _, c := range n.choices {
		after := *c
		after.branches = slices.Clone(c.branches)
		for j := range after.branches {
			after.branches[j].node += by(c)
		}
		all = append(all, &after)
	}
	return all
}

// withoutLoops is what a memory says of other things than loops, whose parts are the last.
func withoutLoops(memory string, loops int) string {
	parts := splitOutside(memory, "; ")
	return strings.Join(parts[:max(len(parts)-loops, 0)], "; ")
}
