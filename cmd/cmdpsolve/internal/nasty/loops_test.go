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

// looped returns the graph with what a policy remembers of loops written into its nodes.
func (g *graph) looped(loops []loop, names []string, rules []rule) (*graph, error) {
	others := names[:len(names)-len(loops)]
	out := *g
	out.nodes, out.start = nil, nil
	for bits := range 1 << len(loops) {
		for id, n := range g.nodes {
			with := *n
			with.loops, with.choices = nil, nil
			for j, l := range loops {
				with.loops = append(with.loops, []string{l.before, l.after}[bits>>j&1])
			}
			for _, c := range n.choices {
				done := bits
				for j, l := range loops {
					for _, item := range l.items {
						if item.state != n.state || item.action != c.action {
							continue
						}
						there, err := g.remembers(n, item.memory, others, rules)
						if err != nil {
							return nil, err
						}
						if there {
							done |= 1 << j
						}
					}
				}
				after := *c
				after.branches = nil
				for _, b := range c.branches {
					b.node += done * len(g.nodes)
					after.branches = append(after.branches, b)
				}
				with.choices = append(with.choices, &after)
			}
			out.nodes = append(out.nodes, &with)
			start := new(big.Rat)
			if bits == 0 {
				start = g.start[id]
			}
			out.start = append(out.start, start)
		}
	}
	return &out, nil
}
