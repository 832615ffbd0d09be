package prism_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp/language/prism"
)

// A composed is what a composition of modules knows and allows: the actions that it has, and whether a set of modules,
// as bits, can move together under one of them. A sign joins it, if it is in parentheses that may be left out there.
type composed struct {
	text    string
	sign    string
	actions []string
	modules int
	allows  func(action string, moving int) bool
}

// drawComposed draws a composition of modules, of which each is a line of its own.
func drawComposed(rng *rand.Rand, modules []composed, systems *[]string) composed {
	one := modules[0]
	if len(modules) > 1 {
		cut := 1 + rng.IntN(len(modules)-1)
		p, q := drawComposed(rng, modules[:cut], systems), drawComposed(rng, modules[cut:], systems)
		sign, over := "|||", []string(nil)
		switch rng.IntN(3) {
		case 0:
			sign = "||"
			for _, a := range p.actions {
				if slices.Contains(q.actions, a) {
					over = append(over, a)
				}
			}
		case 1:
			over = []string{"a", "b", "c", "d"}[rng.IntN(3):][:1+rng.IntN(2)]
			sign = "|[" + strings.Join(over, ",") + "]|"
		}
		if p.sign == sign && sign[:2] == "||" && rng.IntN(2) == 0 {
			p.text = p.text[1 : len(p.text)-1]
		}
		one = composed{"(" + p.text + " " + sign + " " + q.text + ")", sign, slices.Concat(p.actions, q.actions),
			p.modules | q.modules, func(action string, moving int) bool {
				ofP, ofQ := moving&p.modules, moving&q.modules
				if slices.Contains(over, action) {
					return p.allows(action, ofP) && q.allows(action, ofQ)
				}
				return ofQ == 0 && p.allows(action, ofP) || ofP == 0 && q.allows(action, ofQ)
			}}
	}
	if rng.IntN(4) == 0 {
		name := fmt.Sprintf(`"s%d"`, len(*systems))
		*systems = append(*systems, "system "+name+" "+one.text+" endsystem\n")
		one.text, one.sign = name, ""
	}
	inner, hidden := one, []string{"a", "b", "c"}[rng.IntN(3)]
	switch rng.IntN(4) {
	case 0:
		one.text += " / {" + hidden + "}"
		one.sign = ""
		one.actions = slices.DeleteFunc(slices.Clone(inner.actions), func(a string) bool { return a == hidden })
		one.allows = func(action string, moving int) bool {
			return action != hidden && inner.allows(action, moving) || action == "" && inner.allows(hidden, moving)
		}
	case 1:
		names := map[string]string{"": "", "a": "a", "b": "b", "c": "c", "d": "d"}
		to := []string{"a", "b", "c", "d"}[rng.IntN(4)]
		names[hidden], names[to] = to, []string{hidden, to}[rng.IntN(2)]
		one.text += " {" + hidden + "<-" + to + "}"
		one.sign = ""
		if to != hidden && names[to] == hidden {
			one.text = inner.text + " {" + hidden + "<-" + to + ", " + to + "<-" + hidden + "}"
		}
		one.actions = nil
		for _, a := range inner.actions {
			one.actions = append(one.actions, names[a])
		}
		one.allows = func(action string, moving int) bool {
			for old, name := range names {
				if name == action && inner.allows(old, moving) {
					return true
				}
			}
			return false
		}
	}
	return one
}

// TestRandomCompositions compares which modules can move together, and under which action, with what the parts of a
// composition allow.
func TestRandomCompositions(t *testing.T) {
	rng := rand.New(rand.NewPCG(28, 4))
	for range 300 {
		text, modules := "mdp\n", []composed{}
		for i := range 2 + rng.IntN(5) {
			text += fmt.Sprintf("module m%d x%[1]d : [0..1];", i)
			var knows []string
			for _, a := range []string{"", "a", "b", "c"} {
				if rng.IntN(2) == 0 {
					knows = append(knows, a)
					text += fmt.Sprintf(" [%s] x%d=0 -> (x%[2]d'=1);", a, i)
				}
			}
			text += " endmodule\n"
			modules = append(modules, composed{fmt.Sprint("m", i), "", slices.DeleteFunc(slices.Clone(knows),
				func(a string) bool { return a == "" }), 1 << i, func(action string, moving int) bool {
				return moving == 1<<i && slices.Contains(knows, action)
			}})
		}
		var systems []string
		all := drawComposed(rng, modules, &systems)
		systems = append(systems, "system "+all.text+" endsystem\n")
		rng.Shuffle(len(systems), func(i, j int) { systems[i], systems[j] = systems[j], systems[i] })
		text += strings.Join(systems, "")
		p, err := prism.Read("m.prism", text, nil)
		f := explored(t, p, err, text)
		var got, want []string
		for _, c := range f.choices[0] {
			got = append(got, fmt.Sprint(p.Actions[c.action], vector(f.name(c.next[0]))))
		}
		for moving := 1; moving < 1<<len(modules); moving++ {
			x := make([]int, len(modules))
			for i := range x {
				x[i] = moving >> i & 1
			}
			for _, a := range []string{"", "a", "b", "c", "d"} {
				if all.allows(a, moving) {
					want = append(want, fmt.Sprint(a, x))
				}
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("moves %q: want %q\n%s", got, want, text)
		}
	}
}
