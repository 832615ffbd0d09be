package prism_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A plainUpdate assigns to its module's variable, and perhaps to the global one, with probability quarters/4. The
// first has a number in the text of all assignments.
type plainUpdate struct {
	quarters term
	values   map[int]term
	number   int
}

type plainCommand struct {
	action  string
	guard   term
	updates []plainUpdate
	number  int // in the text of all commands
}

// A plainReward is given in states, or for choices of an action.
type plainReward struct {
	ofState      bool
	action       string
	guard, value term
}

// A plainProgram has a module for each variable, but for a global one, which would come last and is declared first.
type plainProgram struct {
	variables []variable
	wrong     map[string]bool // what goes wrong in reachable states
	// fails tells where a guard or a reward has no value, by what stands there and what is said.
	fails   map[string]func(x []int) bool
	movers  map[string][]string // of each state, by actions, or by modules if they move without one
	chain   bool
	modules [][]plainCommand
	rewards [][]plainReward // two, or none
	without string          // an action that is never possible
	over    []string        // if not nil, two modules share these actions, and no others, known or not
	idle    bool            // the first module does nothing where it cannot take a
	silent  bool            // no action but that without a name is possible
	initial *term           // where it begins, in all states where this holds; nil for the begin of each variable
	staged  bool            // values go by way of a transient variable and a function
	indexed bool            // values are assigned in two steps, by indices
	located bool            // variables are the locations of automata
	goal    *term           // a label; nil for none
}

// quarters is the term a + b·(x_v − low).
func quarters(a, b int, v variable) term {
	return term{fmt.Sprintf("%d+(%d)*(%s-(%d))", a, b, v.text, v.low),
		fmt.Sprintf(`{"op":"+","left":%d,"right":{"op":"*","left":%d,"right":{"op":"-","left":%s,"right":%d}}}`, a, b,
			v.jani, v.low), func(x []int) int { return a + b*(v.of(x)-v.low) }}
}

// within is the term of a value of a variable, so many places behind another one.
func (v variable) within(value term, behind int) term {
	c := plainTerm(fmt.Sprint(behind-v.low), func([]int) int { return 0 })
	return joined(fmt.Sprintf("(%d+mod(%%s+%%s,%d))", v.low, v.values),
		fmt.Sprintf(`{"op":"+","left":%d,"right":{"op":"%%%%","left":{"op":"+","left":%%s,"right":%%s},"right":%d}}`, v.low,
			v.values), value, c, func(a, _ int) int { return v.low + modulo(a+behind-v.low, v.values) })
}

// assigned writes what makes a variable a value, in JANI.
func (v variable) assigned(value term) string {
	if v.isBool {
		return `{"op":"=","left":` + value.jani + `,"right":1}`
	}
	return value.jani
}

// declaration writes the range of a variable, and its initial value if it has one.
func (v variable) declaration(rng *rand.Rand, begins bool) string {
	text := fmt.Sprintf("[%d..%d]", v.low, v.high)
	if v.isBool {
		text = "bool"
	}
	switch {
	case !begins || v.begin == v.low && rng.IntN(2) == 0:
	case v.isBool:
		text += fmt.Sprintf(" init %t", v.begin > 0)
	default:
		text += fmt.Sprintf(" init %d", v.begin)
	}
	return text + ";\n"
}

// valueless draws a guard or a reward that has no value where a variable has its least one, at most once in a program.
func (p *plainProgram) valueless(rng *rand.Rand, guard, value *term, i int) {
	if rng.IntN(60) > 0 || len(p.fails) > 0 {
		return
	}
	v := p.variables[i]
	above := func(x []int) int { return v.of(x) - v.low }
	fails := func(x []int) bool { return above(x) == 0 }
	if value == nil {
		p.fails["mod(5,: a guard: mod(5, 0): want a positive divisor"] = fails
		*guard = term{fmt.Sprintf("mod(5,%s-(%d))=0", v.text, v.low),
			fmt.Sprintf(`{"op":"=","left":{"op":"%%","left":5,"right":{"op":"-","left":%s,"right":%d}},"right":0}`, v.jani, v.low),
			func(x []int) int { return holds(above(x) > 0 && 5%max(1, above(x)) == 0) }}
		return
	}
	inner := *guard
	guard.text = "(true&" + inner.text + ")"
	*value = term{text: fmt.Sprintf("(-1)/(%s-(%d))", v.text, v.low), of: func(x []int) int { return -4 / max(1, above(x)) }}
	p.fails["(true&: reward r0: -Inf: want a finite number"] = func(x []int) bool { return fails(x) && inner.of(x) > 0 }
}

func drawProgram(rng *rand.Rand) (p plainProgram, text string) {
	n := 1 + rng.IntN(3)
	p.fails = make(map[string]func(x []int) bool)
	p.variables = drawVariables(rng, n+rng.IntN(2))
	p.rewards = make([][]plainReward, 2)
	p.chain = rng.IntN(3) == 0
	of := p.variables
	var b strings.Builder
	b.WriteString(map[bool][]string{true: {"dtmc\n", "probabilistic\n"}, false: {"mdp\n", "nondeterministic\n",
		"\n"}}[p.chain][rng.IntN(2)+holds(!p.chain)*rng.IntN(2)])
	if rng.IntN(3) == 0 {
		initial := drawCondition(rng, of, 1)
		p.initial = &initial
		fmt.Fprintf(&b, "init %s endinit\n", initial.text)
	}
	for i := range of { // some take two words of a packed state, or more
		if p.initial == nil && !of[i].isBool && of[i].low < 0 && rng.IntN(3) == 0 {
			of[i].high += 1 << (8 + rng.IntN(55))
		}
	}
	goal := drawCondition(rng, of, 1)
	p.goal = &goal
	fmt.Fprintf(&b, "label \"goal\" = %s;\n", goal.text)
	if len(of) > n {
		fmt.Fprintf(&b, "global x%d : %s", n, of[n].declaration(rng, p.initial == nil))
	}
	used, assignments := []string{}, 0
	for i := range n {
		fmt.Fprintf(&b, "module m%d\n x%d : %s", i, i, of[i].declaration(rng, p.initial == nil))
		var commands []plainCommand
		commandsOf := rng.IntN(5)
		if n == 1 && rng.IntN(8) == 0 {
			commandsOf = rng.IntN(150)
		}
		for range commandsOf {
			c := plainCommand{action: []string{"", "a", "b"}[rng.IntN(3)], guard: drawCondition(rng, of, rng.IntN(3)),
				number: len(used)}
			p.valueless(rng, &c.guard, nil, rng.IntN(len(of)))
			used = append(used, c.action)
			v := of[rng.IntN(len(of))]
			shares := [][]term{
				{quarters(4, 0, v)},
				{quarters(1, 1, v), quarters(3, -1, v)},
				{quarters(0, 1, v), quarters(4, -1, v)},
				{quarters(1, 0, v), quarters(1, 0, v), quarters(2, 0, v)},
			}[rng.IntN(4)]
			if rng.IntN(max(40, 4*commandsOf)) == 0 {
				shares = [][]term{{quarters(3, 1, v)}, {quarters(-1, 1, v), quarters(5, -1, v)}}[rng.IntN(2)]
			}
			fmt.Fprintf(&b, " [%s] %s -> ", c.action, c.guard.text)
			for k, share := range shares {
				u := plainUpdate{share, make(map[int]term), assignments}
				fmt.Fprintf(&b, "%s (%s)/4:", []string{"", " +", " +"}[k], share.text)
				writes := []int{i, n}[:1+rng.IntN(len(of)-n+1)]
				if rng.IntN(6) == 0 {
					writes = nil
					b.WriteString("true")
				}
				for _, w := range writes {
					value := drawNumber(rng, of, rng.IntN(3))
					if rng.IntN(max(20, 4*commandsOf)) > 0 || of[w].isBool || of[w].high >= of[w].low+of[w].values {
						value = of[w].within(value, 0)
					}
					u.values[w] = value
					text := value.text
					if of[w].isBool {
						text += "=1"
					}
					if w > i {
						b.WriteString(" & ")
					}
					fmt.Fprintf(&b, "(x%d'=%s)", w, text)
					assignments++
				}
				c.updates = append(c.updates, u)
			}
			b.WriteString(";\n")
			commands = append(commands, c)
		}
		p.modules = append(p.modules, commands)
		b.WriteString("endmodule\n")
	}
	for r := range p.rewards {
		fmt.Fprintf(&b, "rewards \"r%d\"\n", r)
		for range 1 + rng.IntN(3) {
			item := plainReward{ofState: rng.IntN(2) == 0 || len(used) == 0, guard: drawCondition(rng, of, 1),
				value: drawQuarters(rng, of, 1)}
			if item.ofState && r == 0 {
				p.valueless(rng, &item.guard, &item.value, rng.IntN(len(of)))
			}
			if !item.ofState {
				item.action = used[rng.IntN(len(used))]
				fmt.Fprintf(&b, " [%s]", item.action)
			}
			fmt.Fprintf(&b, " %s : %s;\n", item.guard.text, item.value.text)
			p.rewards[r] = append(p.rewards[r], item)
		}
		b.WriteString("endrewards\n")
	}
	if n == 2 && rng.IntN(2) == 0 {
		p.over = [][]string{{}, {"a"}, {"b"}, {"a", "b"}}[rng.IntN(4)]
		sign := "|[" + strings.Join(p.over, ",") + "]|"
		if len(p.over) == 0 {
			sign = "|||"
		}
		fmt.Fprintf(&b, "system m0 %s m1 endsystem\n", sign)
	}
	return p, b.String()
}

// jani writes a program in JANI, without its rewards.
func (p *plainProgram) jani() string {
	var automata, elements, syncs []string
	sync := map[string][]string{"a": nil, "b": nil}
	for i, m := range p.modules {
		var edges []string
		knows := make(map[string]bool)
		name, locations, begin := fmt.Sprint("m", i), []string{"l"}, `["l"]`
		if p.located {
			name, locations, begin = fmt.Sprint("x", i), []string{"l0", "l1", "l2"}, fmt.Sprintf(`["l%d"]`, p.variables[i].begin)
			if p.initial != nil {
				begin = `["l2","l0","l1"]`
			}
		}
		for _, c := range m {
			var to []string
			for _, u := range c.updates {
				v, also := p.variables[i], ""
				value, ok := u.values[i]
				if !ok {
					value = v.term
				}
				if g, ok := u.values[len(p.modules)]; ok {
					also = fmt.Sprintf(`,{"ref":"x%d","value":%s,"index":%d}`, len(p.modules),
						p.variables[len(p.modules)].assigned(g), -holds(p.indexed))
				}
				assign := fmt.Sprintf(`{"ref":"x%d","value":%s}`, i, v.assigned(value))
				if p.staged {
					last := term{jani: `{"op":"call","function":"last","args":[0]}`}
					assign = fmt.Sprintf(`{"ref":"x%d","value":%s,"index":1},{"ref":"t","value":%s}`, i, v.assigned(last), value.jani)
				} else if p.indexed {
					assign = fmt.Sprintf(`{"ref":"x%d","value":%s,"index":1},{"ref":"x%[1]d","value":%[3]s,"index":-1}`, i,
						v.assigned(v.within(v.term, v.values-1)), v.assigned(v.within(value, 1)))
				}
				if !ok {
					assign = ""
				}
				to = append(to, fmt.Sprintf(`{"location":"l","probability":{"exp":{"op":"/","left":%s,"right":4}},`+
					`"assignments":[%s%s]}`, u.quarters.jani, assign, also))
				for k := 0; p.located && k < 3; k++ {
					to[len(to)-1] = fmt.Sprintf(`{"location":"l%d","probability":{"exp":{"op":"/","left":{"op":"ite",`+
						`"if":{"op":"=","left":%s,"right":%[1]d},"then":%[3]s,"else":0},"right":4}},"assignments":[%[4]s]}`, k,
						value.jani, u.quarters.jani, strings.TrimPrefix(also, ","))
					if k < 2 {
						to = append(to, "")
					}
				}
			}
			action := ""
			if c.action != "" {
				action = `"action":"` + c.action + `",`
			}
			for _, l := range locations {
				edges = append(edges, fmt.Sprintf(`{"location":"%s",%s"guard":{"exp":%s},"destinations":[%s]}`, l, action,
					c.guard.jani, strings.Join(to, ",")))
			}
			knows[c.action] = true
		}
		local := ""
		if p.staged {
			local = `"variables":[{"name":"t","type":"int","transient":true,"initial-value":1}],"functions":[{"name":"last",` +
				`"type":"int","parameters":[{"name":"v","type":"int"}],"body":{"op":"+","left":"v","right":"t"}}],`
		}
		if p.located && p.initial != nil {
			local = `"restrict-initial":{"exp":` + []string{p.initial.jani, "true"}[min(i, 1)] + `},`
		}
		automata = append(automata, fmt.Sprintf(`{"name":"%s","locations":[{"name":"%s"}],"initial-locations":%s,`+
			`%s"edges":[%s]}`, name, strings.Join(locations, `"},{"name":"`), begin, local, strings.Join(edges, ",")))
		enabled := ""
		if p.idle && i == 0 {
			enabled, knows["a"] = `,"input-enable":["a"]`, true
		}
		elements = append(elements, fmt.Sprintf(`{"automaton":"%s"%s}`, name, enabled))
		for action := range sync {
			part := `"` + action + `"`
			if !knows[action] && action == "b" && len(p.modules) == 2 {
				p.without = action // as it waits for an automaton that does not know it
			} else if !knows[action] {
				part = "null"
			}
			sync[action] = append(sync[action], part)
		}
	}
	for action, parts := range sync {
		if slices.ContainsFunc(parts, func(part string) bool { return part != "null" }) {
			syncs = append(syncs, fmt.Sprintf(`{"synchronise":[%s],"result":"%s"}`, strings.Join(parts, ","), action))
		}
	}
	var variables []string
	for _, i := range p.order() {
		v := p.variables[i]
		kind, begin := fmt.Sprintf(`{"kind":"bounded","base":"int","lower-bound":%d,"upper-bound":%d}`, v.low,
			v.high), fmt.Sprintf(`,"initial-value":%d`, v.begin)
		if v.isBool {
			kind, begin = `"bool"`, fmt.Sprintf(`,"initial-value":%t`, v.begin > 0)
		}
		if p.initial != nil {
			begin = ""
		}
		if i == len(p.modules) || !p.located {
			variables = append(variables, fmt.Sprintf(`{"name":"x%d","type":%s%s}`, i, kind, begin))
		}
	}
	restrict := ""
	if p.initial != nil && (!p.located || len(p.variables) > len(p.modules)) {
		restrict = `"restrict-initial":{"exp":` + p.initial.jani + `},`
	}
	together := `,"syncs":[` + strings.Join(syncs, ",") + "]"
	if p.silent {
		together = ""
	}
	return fmt.Sprintf(`{"jani-version":1,"name":"m","type":"%s","actions":[{"name":"a"},{"name":"b"}],"variables":[%s],%s
		"automata":[%s],"system":{"elements":[%s]%s}}`, map[bool]string{true: "dtmc", false: "mdp"}[p.chain],
		strings.Join(variables, ","), restrict, strings.Join(automata, ","), strings.Join(elements, ","),
		together)
}
