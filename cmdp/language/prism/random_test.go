package prism_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/language"
	"cmdpsolve/cmdp/language/jani"
	"cmdpsolve/cmdp/language/prism"
)

// A term is an expression over variables x0, x1, … in PRISM's language and in JANI, with what it is; a condition
// is 0 or 1.
type term struct {
	text, jani string
	of         func(x []int) int
}

func holds(b bool) int {
	if b {
		return 1
	}
	return 0
}

// joined makes a term of two, each of which has a place %s in both texts. JANI's may be an operator alone.
func joined(text, jani string, a, b term, of func(a, b int) int) term {
	if !strings.Contains(jani, "%s") {
		jani = `{"op":"` + jani + `","left":%s,"right":%s}`
	}
	return term{fmt.Sprintf(text, a.text, b.text), fmt.Sprintf(jani, a.jani, b.jani),
		func(x []int) int { return of(a.of(x), b.of(x)) }}
}

// A variable has some numbers from low on, and may have more up to high, or is true or false, as 1 and 0, which its
// term makes numbers.
type variable struct {
	term
	low, values, high, begin int
	isBool                   bool
}

// plainVariables returns variables that go from 0 to 2.
func plainVariables(n int) (all []variable) {
	for i := range n {
		all = append(all, variable{term{fmt.Sprintf("x%d", i), fmt.Sprintf(`"x%d"`, i),
			func(x []int) int { return x[i] }}, 0, 3, 2, i % 3, false})
	}
	return all
}

// drawVariables draws variables, of which half of the lists are plain.
func drawVariables(rng *rand.Rand, n int) []variable {
	all := plainVariables(n)
	arePlain := rng.IntN(2) == 0
	for i := range all {
		switch v := &all[i]; {
		case arePlain:
			v.begin = rng.IntN(3)
		case rng.IntN(3) == 0:
			v.isBool, v.values, v.high, v.begin = true, 2, 1, rng.IntN(2)
			v.text, v.jani = "("+v.text+"?1:0)", `{"op":"ite","if":`+v.jani+`,"then":1,"else":0}`
		default:
			v.low, v.values = rng.IntN(5)-3, 1+rng.IntN(4)
			v.high = v.low + v.values - 1
			v.begin = v.low + rng.IntN(v.values)
		}
	}
	return all
}

// plainTerm is a term whose text is that of JANI too.
func plainTerm(text string, of func(x []int) int) term { return term{text, text, of} }

// halved is the text of half a difference in JANI, rounded by an operator.
func halved(op string) string {
	return `{"op":"` + op + `","exp":{"op":"/","left":{"op":"-","left":%s,"right":%s},"right":2}}`
}

func modulo(a, n int) int { return ((a % n) + n) % n }

// drawNumber draws a term of integers over variables.
func drawNumber(rng *rand.Rand, of []variable, depth int) term {
	if depth == 0 {
		if i := rng.IntN(len(of)); rng.IntN(2) == 0 {
			return of[i].term
		}
		c := rng.IntN(4)
		return plainTerm(fmt.Sprint(c), func([]int) int { return c })
	}
	a, b := drawNumber(rng, of, depth-1), drawNumber(rng, of, depth-1)
	switch rng.IntN(14) {
	case 12:
		k := rng.IntN(4)
		return chain([]string{"(%s+%s+%s)", "(%s*%s*%s)", "min(%s,%s,%s)", "func(max,%s,%s,%s)"}[k],
			[]string{"+", "*", "min", "max"}[k], a, b, drawNumber(rng, of, 0), func(x, y int) int {
				return []int{x + y, x * y, min(x, y), max(x, y)}[k]
			})
	case 0:
		return joined("(%s+%s)", "+", a, b, func(a, b int) int { return a + b })
	case 1:
		return joined("(%s-%s)", "-", a, b, func(a, b int) int { return a - b })
	case 2:
		return joined("(%s*%s)", "*", a, b, func(a, b int) int { return a * b })
	case 3:
		return joined("min(%s,%s)", "min", a, b, func(a, b int) int { return min(a, b) })
	case 4:
		return joined("max(%s,%s)", "max", a, b, func(a, b int) int { return max(a, b) })
	case 5:
		return joined("mod(%s-%s,3)", `{"op":"%%","left":{"op":"-","left":%s,"right":%s},"right":3}`, a, b,
			func(a, b int) int { return modulo(a-b, 3) })
	case 6:
		return joined("floor((%s-%s)/2)", halved("floor"), a, b, func(a, b int) int { return (a - b) >> 1 })
	case 7:
		return joined("round((%s-%s)/2)",
			`{"op":"floor","exp":{"op":"/","left":{"op":"-","left":{"op":"+","left":1,"right":%s},"right":%s},"right":2}}`, a, b,
			func(a, b int) int { return int(math.Floor(float64(a-b+1) / 2)) })
	case 8:
		return joined("ceil((%s-%s)/2)", halved("ceil"), a, b, func(a, b int) int { return (a - b + 1) >> 1 })
	case 9, 10:
		q := drawQuarters(rng, of, depth-1)
		k := rng.IntN(4)
		return term{fmt.Sprintf([]string{"floor(%s)", "ceil(%s)", "round(%s)", "(0<=%[1]s?floor(%[1]s):ceil(%[1]s))"}[k], q.text),
			fmt.Sprintf([]string{`{"op":"floor","exp":%s}`, `{"op":"ceil","exp":%s}`,
				`{"op":"floor","exp":{"op":"+","left":0.5,"right":%s}}`, `{"op":"trc","exp":%s}`}[k], q.jani),
			func(x []int) int {
				q := q.of(x)
				return []int{q >> 2, (q + 3) >> 2, (q + 2) >> 2, q / 4}[k]
			}}
	case 11:
		k := rng.IntN(4)
		return term{fmt.Sprintf([]string{"(-%s)", "max(%s,-%[1]s)", "(%s<0?-1:min(1,%[1]s))", "%s^2"}[k], a.text),
			fmt.Sprintf([]string{`{"op":"-","left":0,"right":%s}`, `{"op":"abs","exp":%s}`, `{"op":"sgn","exp":%s}`,
				`{"op":"pow","left":%s,"right":2}`}[k], a.jani),
			func(x []int) int {
				a := a.of(x)
				return []int{-a, max(a, -a), min(1, max(-1, a)), a * a}[k]
			}}
	}
	return either(drawCondition(rng, of, depth-1), a, b)
}

// chain is a term of three that one operator joins.
func chain(text, op string, a, b, c term, of func(x, y int) int) term {
	both := joined(text[:0], op, a, b, of)
	all := joined(text[:0], op, both, c, of)
	all.text = fmt.Sprintf(text, a.text, b.text, c.text)
	return all
}

// either is a term of two cases.
func either(c, a, b term) term {
	return term{fmt.Sprintf("(%s?%s:%s)", c.text, a.text, b.text),
		fmt.Sprintf(`{"op":"ite","if":%s,"then":%s,"else":%s}`, c.jani, a.jani, b.jani),
		func(x []int) int {
			if c.of(x) > 0 {
				return a.of(x)
			}
			return b.of(x)
		}}
}

// drawQuarters draws a term of real numbers, whose value is told in quarters.
func drawQuarters(rng *rand.Rand, of []variable, depth int) term {
	if depth <= 0 {
		a := drawNumber(rng, of, 0)
		k := rng.IntN(3)
		return term{fmt.Sprintf([]string{"%s/4", "%s*0.5", "(%s+2.0)"}[k], a.text),
			fmt.Sprintf([]string{`{"op":"/","left":%s,"right":4}`, `{"op":"*","left":%s,"right":0.5}`,
				`{"op":"+","left":%s,"right":2.0}`}[k], a.jani),
			func(x []int) int { return []int{a.of(x), 2 * a.of(x), 4 * (a.of(x) + 2)}[k] }}
	}
	a, b, n := drawQuarters(rng, of, depth-1), drawQuarters(rng, of, depth-1), drawNumber(rng, of, depth-1)
	whole := term{n.text, n.jani, func(x []int) int { return 4 * n.of(x) }} // where a real number may stand
	if rng.IntN(2) == 0 {
		b = whole
	}
	if rng.IntN(2) == 0 {
		a, b = b, a
	}
	switch rng.IntN(6) {
	case 0:
		return joined("(%s+%s)", "+", a, b, func(a, b int) int { return a + b })
	case 1:
		return joined("(%s-%s)", "-", a, b, func(a, b int) int { return a - b })
	case 2:
		return joined("min(%s,%s)", "min", a, b, func(a, b int) int { return min(a, b) })
	case 3:
		return joined("max(%s,%s)", "max", a, b, func(a, b int) int { return max(a, b) })
	case 4: // of base 2 the power of a number from -1 to 1
		return term{"pow(2.0,mod(" + n.text + ",3)-1)",
			`{"op":"pow","left":2.0,"right":{"op":"-","left":{"op":"%","left":` + n.jani + `,"right":3},"right":1}}`,
			func(x []int) int { return 2 << modulo(n.of(x), 3) }}
	}
	return either(drawCondition(rng, of, depth-1), a, b)
}

// drawCondition draws a condition over variables.
func drawCondition(rng *rand.Rand, of []variable, depth int) term {
	if depth == 0 || rng.IntN(2) == 0 {
		a, b := drawNumber(rng, of, depth), drawNumber(rng, of, 0)
		if rng.IntN(4) == 0 {
			a, b = drawQuarters(rng, of, depth), drawQuarters(rng, of, 0)
		}
		switch rng.IntN(6) {
		case 0:
			return joined("(%s=%s)", "=", a, b, func(a, b int) int { return holds(a == b) })
		case 1:
			return joined("(%s!=%s)", "≠", a, b, func(a, b int) int { return holds(a != b) })
		case 2:
			return joined("(%s<%s)", "<", a, b, func(a, b int) int { return holds(a < b) })
		case 3:
			return joined("(%s<=%s)", "≤", a, b, func(a, b int) int { return holds(a <= b) })
		case 4:
			return joined("(%s>%s)", ">", a, b, func(a, b int) int { return holds(a > b) })
		}
		return joined("(%s>=%s)", "≥", a, b, func(a, b int) int { return holds(a >= b) })
	}
	a, b := drawCondition(rng, of, depth-1), drawCondition(rng, of, depth-1)
	switch rng.IntN(6) {
	case 4:
		k := rng.IntN(2)
		return chain([]string{"(%s&%s&%s)", "(%s|%s|%s)"}[k], []string{"∧", "∨"}[k], a, b, drawCondition(rng, of, 0),
			func(x, y int) int { return []int{x * y, max(x, y)}[k] })
	case 0:
		return joined("(%s&%s)", "∧", a, b, func(a, b int) int { return a * b })
	case 1:
		return joined("(%s|%s)", "∨", a, b, func(a, b int) int { return max(a, b) })
	case 2:
		return joined("(%s=>%s)", "⇒", a, b, func(a, b int) int { return max(1-a, b) })
	case 3:
		return joined("(%s<=>%s)", "=", a, b, func(a, b int) int { return holds(a == b) })
	}
	return joined("(!%s&%s)", `{"op":"∧","left":{"op":"¬","exp":%s},"right":%s}`, a, b,
		func(a, b int) int { return (1 - a) * b })
}

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

// found collects what is explored, in the form of plainProgram.rows.
type found struct {
	owners  []int
	rewards [][]float64
	choices [][]foundChoice
}

type foundChoice struct {
	action               int
	next                 []int32
	probability, rewards []float64
}

func (f *found) State(owner int, rewards []float64) error {
	f.owners = append(f.owners, owner)
	f.rewards, f.choices = append(f.rewards, slices.Clone(rewards)), append(f.choices, nil)
	return nil
}

func (f *found) Choice(action int, next []int32, probability, rewards, gained []float64) error {
	rewards = slices.Clone(rewards)
	for i, x := range gained {
		rewards[i%len(rewards)] += probability[i/len(rewards)] * x
	}
	at := &f.choices[len(f.choices)-1]
	*at = append(*at, foundChoice{action, slices.Clone(next), slices.Clone(probability), rewards})
	return nil
}

func (f *found) rows(p *language.Program, states int, name func(s int) string) map[string][]string {
	out := make(map[string][]string)
	named := func(s int) string { return fmt.Sprint(vector(name(s))) }
	for s := range states {
		lines := []string{numbers(f.rewards[s])}
		for _, c := range f.choices[s] {
			next := make(map[string]float64)
			for i, to := range c.next {
				next[named(int(to))] += c.probability[i]
			}
			lines = append(lines, p.Actions[c.action]+": "+line(next)+numbers(c.rewards))
		}
		slices.Sort(lines[1:])
		out[named(s)] = append(lines[:1], slices.Compact(lines[1:])...)
	}
	return out
}

// TestRandomPrograms compares random programs, with expressions of all kinds, in PRISM's language and in JANI with what
// plain loops find in them.
func TestRandomPrograms(t *testing.T) {
	states, wrong := 0, make(map[string]int)
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(23, seed))
		plain, text := drawProgram(rng)
		text = spaced(rng, text)
		for _, language := range []string{"PRISM", "JANI"} {
			p, err := prism.Read("m.prism", text, nil)
			if language == "JANI" {
				plain.rewards, plain.over = nil, nil
				plain.idle = seed%4 == 1
				plain.silent = seed%5 == 2 && len(plain.modules) > 1
				plain.staged = seed%3 == 0
				plain.indexed = seed%3 == 1
				plain.located = seed%3 == 2 && !slices.ContainsFunc(plain.variables[:len(plain.modules)],
					func(v variable) bool { return v.isBool || v.low != 0 || v.values != 3 })
				plain.goal = nil
				text = shuffled(rng, plain.jani())
				p, err = jani.Read("m.jani", []byte(text), nil)
			}
			if len(plain.starts()) == 0 {
				if err == nil || !strings.Contains(err.Error(), "the condition of initial states holds nowhere") {
					t.Fatalf("%v\n%s", err, text)
				}
				continue
			}
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, text)
			}
			if plain.rewards == nil {
				p.Rewards = nil // those of transient variables
			}
			rows := plain.rows()
			if len(plain.wrong) > 0 {
				if !plain.indexed { // which makes values fit
					checkWrong(t, p, &plain, text)
					wrong[language]++
				}
				continue
			}
			states += checkProgram(t, p, &plain, rows, 1+int(seed%2), text)
			when := drawCondition(rng, plain.variables, 1)
			checkEntering(t, p, when, text)
			checkRest(t, p, when, text)
		}
	}
	if states < 1000 || wrong["PRISM"] < 10 || wrong["JANI"] < 10 {
		t.Errorf("%d states, %v models are wrong: want many", states, wrong)
	}
}

// spaced writes other blanks and comments into a text in PRISM's language.
func spaced(rng *rand.Rand, text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == ' ' && rng.IntN(4) == 0 {
			b.WriteString([]string{"  ", "\n", "\t", "\r\n", " // [a] x0'=ä\n"}[rng.IntN(5)])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// shuffled writes a text in JSON with the keys of objects in another order, with blanks, comments, and letters that
// are written in numbers.
func shuffled(rng *rand.Rand, text string) string {
	var root any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&root); err != nil {
		panic(err)
	}
	var write func(of any) string
	write = func(of any) string {
		var parts []string
		blank := []string{"", "", " ", "\n\t"}[rng.IntN(4)]
		switch of := of.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(of)) {
				parts = append(parts, strconv.Quote(key)+blank+":"+blank+write(of[key]))
			}
			if rng.IntN(8) == 0 {
				parts = append(parts, []string{`"comment":"ä"`, `"x-kept":[{"op":1}]`, `"x-none":null`}[rng.IntN(3)])
			}
			rng.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
			return "{" + blank + strings.Join(parts, blank+",") + blank + "}"
		case []any:
			for _, item := range of {
				parts = append(parts, blank+write(item))
			}
			return "[" + strings.Join(parts, blank+",") + "]"
		case string:
			if of != "" && rng.IntN(8) == 0 && of[0] < 0x80 && of != "nowhere" {
				return fmt.Sprintf(`"\u%04x%s"`, of[0], of[1:])
			}
			return strconv.Quote(of)
		case nil:
			return "null"
		}
		return fmt.Sprint(of)
	}
	return write(root)
}

// checkWrong: one of the things that are wrong in a state is what ends an exploration. PRISM's language says where.
func checkWrong(t *testing.T, p *language.Program, plain *plainProgram, text string) {
	t.Helper()
	_, err := language.Explore(context.Background(), p, nothing{}, language.ExploreOptions{Threads: 1})
	if p.File == "m.jani" {
		if err == nil || !strings.Contains(err.Error(), "would become") && !strings.Contains(err.Error(), "probabilit") &&
			!strings.Contains(err.Error(), "written by another") && !strings.Contains(err.Error(), "positive divisor") {
			t.Fatalf("%v\n%v\n%s", err, plain.wrong, text)
		}
		return
	}
	body := regexp.MustCompile(`//[^\n]*`).ReplaceAllStringFunc(text, func(comment string) string {
		return strings.Repeat(" ", utf8.RuneCountInString(comment))
	})
	begins := map[string][][]int{
		"command":    regexp.MustCompile(`\[[ab]?\]`).FindAllStringIndex(body, -1),
		"assignment": regexp.MustCompile(`x\d+'`).FindAllStringIndex(body, -1),
		"mod(5,":     regexp.MustCompile(`mod\(5,`).FindAllStringIndex(body, -1),
		"(true&":     regexp.MustCompile(`\(true&`).FindAllStringIndex(body, -1),
	}
	var all []string
	for wrong := range plain.wrong {
		what, message, _ := strings.Cut(wrong, ": ")
		kind, number, _ := strings.Cut(what, " ")
		n, _ := strconv.Atoi(number)
		all = append(all, "m.prism:"+place(body, begins[kind][n][0])+": "+message)
	}
	if err == nil || !slices.Contains(all, err.Error()) {
		t.Fatalf("got %v: want one of\n%s\n%s", err, strings.Join(all, "\n"), text)
	}
}

func checkProgram(t *testing.T, p *language.Program, plain *plainProgram, rows map[string][]string, threads int,
	text string) (states int) {
	t.Helper()
	var f found
	r, err := language.Explore(context.Background(), p, &f, language.ExploreOptions{Threads: threads})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	stuck := f.without(func(int) bool { return false })
	condition, err := p.Parse(`"deadlock"`)
	if err != nil {
		t.Fatal(err)
	}
	dead, err := r.States.Satisfying(p.File, language.Label{When: condition})
	if err != nil || !slices.Equal(r.Deadlocks, stuck) || !slices.Equal(dead, stuck) {
		t.Fatalf("deadlocks %v, and %v by the condition, %v: want %v\n%s", r.Deadlocks, dead, err, stuck, text)
	}
	checkModel(t, p, &f, r, plain.goal, text)
	checkLimits(t, p, &f, text)
	condition, err = p.Parse(`"init"`)
	if err != nil {
		t.Fatal(err)
	}
	if plain.initial != nil && p.File == "m.prism" {
		after := textAt(text, p.InitialAt)
		within := text[:len(text)-len(after)]
		if !regexp.MustCompile(`^[^;]*endinit`).MatchString(after) || !regexp.MustCompile(`init\s[^;]*$`).MatchString(within) {
			t.Fatalf("the initial states stand at %v\n%s", p.InitialAt, text)
		}
	}
	initial, err := r.States.Satisfying(p.File, language.Label{When: condition})
	var starts []string
	for _, s := range r.Initial {
		starts = append(starts, fmt.Sprint(vector(r.States.StateName(int(s)))))
	}
	want := fmt.Sprint(plain.starts())
	if err != nil || !slices.Equal(initial, r.Initial) || fmt.Sprint(starts) != want {
		t.Fatalf("begins in %v, and %v by the condition, %v: want %s\n%s", starts, initial, err, want, text)
	}
	got := f.rows(p, len(f.choices), r.States.StateName)
	for x, lines := range rows {
		if !slices.Equal(got[x], lines) || len(got) != len(rows) {
			t.Fatalf("%d states, in %s\n%q: want %d states,\n%q\n%s", len(got), x, got[x], len(rows), lines, text)
		}
	}
	return len(rows)
}

// checkLimits: a limit of as many states or transitions as there are is kept, and one below that is not.
func checkLimits(t *testing.T, p *language.Program, f *found, text string) {
	t.Helper()
	states, transitions := len(f.choices), 0
	for _, choices := range f.choices {
		for _, c := range choices {
			transitions += len(c.next)
		}
	}
	for _, o := range []language.ExploreOptions{{States: states}, {Transitions: transitions}, {States: states - 1},
		{Transitions: transitions - 1}} {
		var seen language.Progress
		o.Progress = func(now language.Progress) { seen = now }
		_, err := language.Explore(context.Background(), p, nothing{}, o)
		all := language.Progress{States: states, Explored: states, Transitions: transitions}
		if err == nil && seen != all {
			t.Fatalf("progress ends with %+v: want %+v\n%s", seen, all, text)
		}
		below := o.States == states-1 && states > 1 || o.Transitions == transitions-1 && transitions > 1
		if (err != nil) != below || err != nil && !strings.Contains(err.Error(), "the model is too large") {
			t.Fatalf("%d states and %d transitions, at most %d and %d: %v\n%s", states, transitions, o.States,
				o.Transitions, err, text)
		}
	}
}

// checkModel: the model of a program has what was found. Where no choice is, but a reward, there is a loop and the
// label of deadlocks, and several initial states have no distribution.
func checkModel(t *testing.T, p *language.Program, f *found, r *language.Explored, goal *term, text string) {
	t.Helper()
	m, err := p.Model(context.Background(), language.ExploreOptions{Threads: 1})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if m.Players != []int{1, 0, 2}[p.Kind] || !slices.Equal(m.PlayerNames, p.Players) {
		t.Fatalf("%d players, %v: want %v\n%s", m.Players, m.PlayerNames, p.Players, text)
	}
	if names := regexp.MustCompile(`rewards(?:\s|//[^\n]*\n)+"(\w+)"`).FindAllStringSubmatch(text, -1); names != nil {
		for k, r := range m.Rewards {
			if r.Name != names[k][1] {
				t.Fatalf("reward %d is %s: want %s\n%s", k, r.Name, names[k][1], text)
			}
		}
	}
	var looped []int32
	for s, choices := range f.choices {
		if m.Owner != nil && int(m.Owner[s]) != f.owners[s] {
			t.Fatalf("state %d belongs to player %d: want %d\n%s", s, m.Owner[s], f.owners[s], text)
		}
		earned := f.rewards[s]
		if len(choices) == 0 && slices.ContainsFunc(earned, func(x float64) bool { return x != 0 }) {
			looped = append(looped, int32(s))
			choices = []foundChoice{{0, []int32{int32(s)}, []float64{1}, make([]float64, len(earned))}}
		}
		first := int(m.First[s])
		if got := int(m.First[s+1]) - first; got != len(choices) {
			t.Fatalf("state %d has %d choices: want %d\n%s", s, got, len(choices), text)
		}
		for i, c := range choices {
			from, end := m.Offset[first+i], m.Offset[first+i+1]
			same := slices.Equal(m.Target[from:end], c.next) && slices.Equal(m.Probability[from:end], c.probability) &&
				m.ChoiceActions.Name(first+i) == p.Actions[c.action]
			for k, x := range earned {
				for e := from; e < end; e++ {
					x -= m.Probability[e] * m.Rewards[k].Total(s, first+i, e)
				}
				same = same && math.Abs(x+c.rewards[k]) < 1e-9
			}
			if !same {
				t.Fatalf("state %d, choice %d: %+v\nof %+v\n%s", s, i, c, m, text)
			}
		}
	}
	var start []exchange.Start
	if len(r.Initial) == 1 {
		start = exchange.UniformStart(r.Initial)
	}
	for s := 0; goal != nil && s < m.States(); s++ {
		states, _ := m.Label("goal")
		if want := goal.of(vector(m.Described.StateName(s))); want != holds(slices.Contains(states, int32(s))) {
			t.Fatalf("the states %v are called goal, %s: want %d\n%s", states, m.Described.StateName(s), want, text)
		}
	}
	stuck, err := m.Described.Where(`"deadlock"`)
	if err != nil || !slices.Equal(stuck, r.Deadlocks) || m.Described.Deadlocks() != len(stuck) {
		t.Fatalf("%d deadlocks, %v, %v: want %v\n%s", m.Described.Deadlocks(), stuck, err, r.Deadlocks, text)
	}
	for i, v := range m.Described.Columns() {
		at, _ := strconv.Atoi(v.Name[1:])
		for s, x := range v.Ints {
			name := m.Described.StateName(s)
			if !strings.HasPrefix(strings.Split(name, ",")[i], v.Name+"=") || int(x) != vector(name)[at] {
				t.Fatalf("%s: variable %d, %s, is %d\n%s", name, i, v.Name, x, text)
			}
		}
	}
	if dead, _ := m.Label(exchange.Deadlock); !slices.Equal(dead, looped) || !slices.Equal(m.Start, start) {
		t.Fatalf("deadlocks %v, begins in %v: want %v and %v\n%s", dead, m.Start, looped, start, text)
	}
}

// checkEntering: a choice earns the probability to come into the states where a condition holds. It holds initially
// if it does in some initial state.
func checkEntering(t *testing.T, p *language.Program, when term, text string) {
	t.Helper()
	condition, err := p.Parse(when.text)
	if err != nil {
		t.Fatalf("%s: %v", when.text, err)
	}
	p.Entering("in", condition)
	var f found
	r, err := language.Explore(context.Background(), p, &f, language.ExploreOptions{Threads: 1})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	begins, err := p.Initially(condition)
	if err != nil || begins != slices.ContainsFunc(r.Initial, func(s int32) bool {
		return when.of(vector(r.States.StateName(int(s)))) > 0
	}) {
		t.Fatalf("%s holds initially: %t, %v\n%s", when.text, begins, err, text)
	}
	for s, choices := range f.choices {
		for i, c := range choices {
			got := c.rewards[len(c.rewards)-1]
			for k, to := range c.next {
				got -= c.probability[k] * float64(when.of(vector(r.States.StateName(int(to)))))
			}
			if math.Abs(got) > 1e-9 {
				t.Fatalf("entering %s: %g too much for choice %d of state %d, %+v\n%s", when.text, got, i, s, c, text)
			}
		}
	}
	p.Rewards = p.Rewards[:len(p.Rewards)-1]
}

// without returns the states without choices but for some.
func (f *found) without(but func(s int) bool) (states []int32) {
	for s, choices := range f.choices {
		if len(choices) == 0 && !but(s) {
			states = append(states, int32(s))
		}
	}
	return states
}

// checkRest: states that are asked to be at rest have neither choices nor rewards, and are no deadlocks.
func checkRest(t *testing.T, p *language.Program, rest term, text string) {
	t.Helper()
	var err error
	if p.Rest, err = p.Parse(rest.text); err != nil {
		t.Fatalf("%s: %v", rest.text, err)
	}
	var f found
	r, err := language.Explore(context.Background(), p, &f, language.ExploreOptions{Threads: 1})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	rests := func(s int) bool { return rest.of(vector(r.States.StateName(s))) > 0 }
	for s, choices := range f.choices {
		if rests(s) && (len(choices) > 0 || slices.ContainsFunc(f.rewards[s], func(x float64) bool { return x != 0 })) {
			t.Fatalf("%s rests by %s, with the choices %v and rewards %v\n%s", r.States.StateName(s), rest.text, choices,
				f.rewards[s], text)
		}
	}
	if stuck := f.without(rests); !slices.Equal(r.Deadlocks, stuck) {
		t.Fatalf("at rest by %s: deadlocks %v, want %v\n%s", rest.text, r.Deadlocks, stuck, text)
	}
}

// place returns the line and the column of a byte of a text.
func place(text string, at int) string {
	line := strings.LastIndexByte(text[:at], '\n')
	return fmt.Sprintf("%d:%d", 1+strings.Count(text[:at], "\n"), utf8.RuneCountInString(text[line+1:at])+1)
}

// TestPlaces: wherever a name stands that nothing has, the error says so there. In JANI it says how to come there too.
func TestPlaces(t *testing.T) {
	rng := rand.New(rand.NewPCG(28, 9))
	lose := func(text string, declared func(found string) bool) string {
		found := regexp.MustCompile(`("(\w|-)+":)?"?x\d"?( :)?`).FindAllStringIndex(text, -1)
		found = slices.DeleteFunc(found, func(at []int) bool { return declared(text[at[0]:at[1]]) })
		if len(found) == 0 {
			return ""
		}
		at := found[rng.IntN(len(found))]
		return text[:at[0]] + regexp.MustCompile(`x\d`).ReplaceAllString(text[at[0]:at[1]], "nowhere") + text[at[1]:]
	}
	var path func(of any) string // of what is called nowhere
	path = func(of any) string {
		switch of := of.(type) {
		case map[string]any:
			for key, item := range of {
				if item == "nowhere" && key == "ref" {
					return "!" // the assignment is what is wrong
				}
				if to := path(item); to != "" {
					return strings.Replace("."+key+to, "!", "", holds(key == "assignments"))
				}
			}
		case []any:
			for i, item := range of {
				if to := path(item); to != "" {
					return fmt.Sprintf("[%d]%s", i, to)
				}
			}
		case string:
			if of == "nowhere" {
				return " "
			}
		}
		return ""
	}
	for range 100 {
		plain, text := drawProgram(rng)
		if text = lose(text, func(found string) bool { return strings.HasSuffix(found, ":") }); text != "" {
			text = spaced(rng, text)
			_, err := prism.Read("m.prism", text, nil)
			want := "m.prism:" + place(text, strings.Index(text, "nowhere")) + ": "
			if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "nowhere") {
				t.Fatalf("%v: want %s\n%s", err, want, text)
			}
		}
		plain.staged = rng.IntN(2) == 0
		text = lose(plain.jani(), func(found string) bool {
			return strings.HasPrefix(found, `"name"`) || strings.HasPrefix(found, `"automaton"`)
		})
		if text == "" {
			continue
		}
		text = shuffled(rng, text)
		var root any
		if err := json.Unmarshal([]byte(text), &root); err != nil {
			t.Fatal(err)
		}
		want := "m.jani:"
		to := strings.TrimPrefix(path(root), ".")
		if strings.HasSuffix(to, " ") {
			want += place(text, strings.Index(text, `"nowhere"`)) + ": "
		}
		_, err := jani.Read("m.jani", []byte(text), nil)
		if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "nowhere") ||
			!strings.Contains(err.Error(), ": "+strings.TrimSpace(to)+": ") {
			t.Fatalf("%v: want %s%s\n%s", err, want, to, text)
		}
	}
}

// Defined is what a model in JANI has of definitions: constants, functions without parameters, and a transient variable
// for each of them with its value. A constant may be outside of its bounds.
type defined struct {
	constants, functions, variables, values []string
	outside                                 bool
}

// add adds a definition of a kind, an integer, a condition or a real number, and returns what stands for it.
func (d *defined) add(rng *rand.Rand, name string, kind int, isConstant bool, value term) string {
	typ := []string{`"int"`, `"bool"`, `"real"`}[kind]
	use := strconv.Quote(name)
	d.variables = append(d.variables, fmt.Sprintf(`{"name":"of%s","type":%s,"transient":true}`, name, typ))
	if isConstant && kind == 0 && rng.IntN(2) == 0 {
		bound, away := rng.IntN(2), rng.IntN(2)
		if rng.IntN(12) == 0 {
			away, d.outside = -1, true
		}
		typ = fmt.Sprintf([]string{`{"kind":"bounded","base":"int","lower-bound":%d}`,
			`{"kind":"bounded","base":"int","upper-bound":%d}`}[bound], value.of([]int{0, 0})+away*(2*bound-1))
	}
	switch {
	case isConstant && value.jani == "":
		d.constants = append(d.constants, fmt.Sprintf(`{"name":"%s","type":%s}`, name, typ))
	case isConstant:
		d.constants = append(d.constants, fmt.Sprintf(`{"name":"%s","type":%s,"value":%s}`, name, typ, value.jani))
	default:
		d.functions = append(d.functions, fmt.Sprintf(`{"name":"%s","type":%s,"parameters":[],"body":%s}`, name, typ,
			value.jani))
		use = fmt.Sprintf(`{"op":"call","function":"%s","args":[]}`, name)
	}
	d.values = append(d.values, fmt.Sprintf(`{"ref":"of%s","value":%s}`, name, use))
	return use
}

// check compares the transient variables with what is wanted in quarters: rewards of choices, or labels.
func (d *defined) check(t *testing.T, rng *rand.Rand, given map[string]string, wanted []func(x []int) int) {
	t.Helper()
	for _, list := range [][]string{d.constants, d.functions, d.values} {
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	const edge = `{"location":"l","destinations":[{"location":"l","assignments":[{"ref":"x%d","value":` +
		`{"op":"%%","left":{"op":"+","left":"x%[1]d","right":1},"right":3}}]}]}`
	const number = `"type":{"kind":"bounded","base":"int","lower-bound":0,"upper-bound":2},"initial-value":0}`
	text := shuffled(rng, fmt.Sprintf(`{"jani-version":1,"name":"m","type":"mdp","constants":[%s],"functions":[%s],
		"variables":[{"name":"x0",%s,{"name":"x1",%[3]s,%s],"automata":[{"name":"P","locations":[{"name":"l",
		"transient-values":[%s]}],"initial-locations":["l"],"edges":[%s,%s]}],"system":{"elements":[{"automaton":"P"}]}}`,
		strings.Join(d.constants, ","), strings.Join(d.functions, ","), number, strings.Join(d.variables, ","),
		strings.Join(d.values, ","), fmt.Sprintf(edge, 0), fmt.Sprintf(edge, 1)))
	p, err := jani.Read("m.jani", []byte(text), given)
	if err != nil || d.outside {
		if !d.outside || err == nil || !strings.Contains(err.Error(), "is outside of its bounds") {
			t.Fatalf("a constant is outside of its bounds: %t, %v\n%s", d.outside, err, text)
		}
		return
	}
	m, err := p.Model(context.Background(), language.ExploreOptions{Threads: 1})
	if err != nil || m.States() != 9 {
		t.Fatalf("%v\n%s", err, text)
	}
	for k, want := range wanted {
		name := fmt.Sprint("ofx", k+3)
		i := slices.IndexFunc(m.Rewards, func(r exchange.Reward) bool { return r.Name == name })
		up, _ := m.Label(name)
		for s := range m.States() {
			got := float64(holds(slices.Contains(up, int32(s)))) / 4
			if i >= 0 {
				got = m.Rewards[i].Total(s, int(m.First[s]), m.Offset[m.First[s]])
			}
			if want := float64(want(vector(m.Described.StateName(s)))) / 4; got != want {
				t.Fatalf("%s is %g in %s: want %g\n%v\n%s", name, got, m.Described.StateName(s), want, given, text)
			}
		}
	}
}

// TestDefinitions: constants and formulas that use each other, in any order, are what their expressions give in each
// state. Some constants come from outside.
func TestDefinitions(t *testing.T) {
	rng := rand.New(rand.NewPCG(28, 10))
	for range 100 {
		given := make(map[string]string)
		known := plainVariables(3)
		known[2].term = term{"x2", `"x2"`, func([]int) int { return 2 }}
		inJANI := defined{constants: []string{`{"name":"x2","type":"int","value":2}`}}
		lines := []string{"const int x2 = 2;\n", "module m x0 : [0..2]; x1 : [0..2]; [] true -> (x0'=mod(x0+1,3)); " +
			"[] true -> (x1'=mod(x1+1,3)); endmodule\n"}
		rewards, labels, wanted := "", []string(nil), []func(x []int) int(nil)
		for k := 3; k < 9; k++ {
			name, of := fmt.Sprint("x", k), known
			word, end := "formula", ";\n"
			isConstant := rng.IntN(2) == 0
			if isConstant {
				of = nil
				for _, v := range known {
					if v.values == 0 || v.text == "x2" {
						of = append(of, v)
					}
				}
			}
			kind := rng.IntN(3)
			value := []func(*rand.Rand, []variable, int) term{drawNumber, drawCondition, drawQuarters}[kind](rng, of, 2)
			if whole := drawNumber(rng, of, rng.IntN(2)); isConstant && kind == 2 && rng.IntN(2) == 0 {
				value = term{whole.text, whole.jani, func(x []int) int { return 4 * whole.of(x) }}
			}
			if isConstant {
				word = "const " + []string{"int", "bool", "double"}[kind]
			}
			if isConstant && rng.IntN(3) == 0 {
				n := rng.IntN(5)
				value = term{of: func([]int) int { return []int{n, holds(n > 2), n}[kind] }}
				given[name] = fmt.Sprintf([]string{"(%d+2)-2", "%d>2", "%d/4"}[kind], n)
				lines = append(lines, word+" "+name+end)
			} else {
				lines = append(lines, word+" "+name+" = "+value.text+end)
			}
			use := value.of
			named := variable{term: term{name, inJANI.add(rng, name, kind, isConstant, value), use}}
			named.values = holds(!isConstant)
			switch kind {
			case 0:
				rewards += fmt.Sprintf("rewards %q true : %s; endrewards\n", name, name)
				wanted = append(wanted, func(x []int) int { return 4 * use(x) })
			case 1:
				rewards += fmt.Sprintf("rewards %q %s : 0.25; endrewards\n", name, name)
				wanted = append(wanted, use)
				labels = append(labels, name)
				rewards += fmt.Sprintf("label %q = %s;\n", name, name)
				named.text, named.jani = "("+name+"?1:0)", `{"op":"ite","if":`+named.jani+`,"then":1,"else":0}`
			case 2:
				rewards += fmt.Sprintf("rewards %q true : %s; endrewards\n", name, name)
				wanted = append(wanted, use)
				named.text = "floor(" + name + ")"
				if isConstant { // of type double, which has powers below 0
					named.text = "floor(" + name + "+0*pow(max(1," + name + "),-1))"
				}
				named.jani = `{"op":"floor","exp":` + named.jani + `}`
				named.of = func(x []int) int { return use(x) >> 2 }
			}
			known = append(known, named)
		}
		rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		text := spaced(rng, strings.Join(lines, "")+rewards)
		p, err := prism.Read("m.prism", text, given)
		if err != nil {
			t.Fatalf("%v\n%v\n%s", err, given, text)
		}
		var f found
		r, err := language.Explore(context.Background(), p, &f, language.ExploreOptions{Threads: 1})
		if err != nil || len(f.rewards) != 9 {
			t.Fatalf("%d states, %v\n%s", len(f.rewards), err, text)
		}
		inJANI.check(t, rng, given, wanted)
		for k, name := range labels {
			i := slices.IndexFunc(p.Rewards, func(r language.Reward) bool { return r.Name == name })
			states, err := r.States.Satisfying("", p.Labels[k])
			for s, earned := range f.rewards {
				if err != nil || p.Labels[k].Name != name || slices.Contains(states, int32(s)) != (earned[i] > 0) {
					t.Fatalf("label %s: %v, %v of %v\n%s", name, states, err, f.rewards, text)
				}
			}
		}
		for s, earned := range f.rewards {
			for k, x := range earned {
				want := wanted[k](vector(r.States.StateName(s)))
				if x != float64(want)/4 || p.Rewards[k].Name != fmt.Sprint("x", k+3) {
					t.Fatalf("%s is %g in %s: want %d/4\n%v\n%s", p.Rewards[k].Name, x, r.States.StateName(s), want, given, text)
				}
			}
		}
	}
}

// TestRandomGames gives the actions of random programs, and the commands without one, to two players or to nobody. A
// state belongs to the player who has its choices; it is an error if that is nobody, or both.
func TestRandomGames(t *testing.T) {
	games := make(map[bool]int)
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(28, seed))
		plain, text := drawProgram(rng)
		if plain.chain || len(plain.starts()) == 0 {
			continue
		}
		has, lists, most := make(map[string]int), [3][]string{}, rng.IntN(2)
		gives := func(who, listed string) {
			if _, ok := has[who]; !ok {
				if has[who] = most; rng.IntN(3) == 0 {
					has[who] = rng.IntN(3)
				}
				lists[has[who]] = append(lists[has[who]], listed)
			}
		}
		for i, m := range plain.modules {
			gives(fmt.Sprint("m", i), fmt.Sprint("m", i))
			for _, c := range m {
				if c.action != "" {
					gives(c.action, "["+c.action+"]")
				}
			}
		}
		twins := drawCondition(rng, plain.variables, 1) // two modules that do nothing, in the same states
		hasTwins := plain.over == nil && rng.IntN(2) == 0
		for i := 0; i < 2 && hasTwins; i++ {
			gives(fmt.Sprint("twin", i), fmt.Sprint("twin", i))
			text += fmt.Sprintf("module twin%d [] %s -> true; endmodule\n", i, twins.text)
		}
		text = fmt.Sprintf("smg player one %s endplayer player two %s endplayer\n", strings.Join(lists[0], ","),
			strings.Join(lists[1], ",")) + text[strings.Index(text, "\n"):]
		wrong := false
		owners := make(map[string]int)
		rows := plain.rows()
		if len(plain.wrong) > 0 {
			continue
		}
		for state := range rows {
			movers := plain.movers[state]
			if hasTwins && twins.of(vector(state)) > 0 {
				movers = append(movers, "twin0", "twin1")
			}
			for i, who := range movers {
				wrong = wrong || has[who] == 2 || i > 0 && has[who] != owners[state]
				owners[state] = has[who]
			}
		}
		r, err := explore(text, nil, 1)
		if (err != nil) != wrong || err != nil && !strings.Contains(err.Error(), "player") {
			t.Fatalf("%v: want an error: %t\n%s", err, wrong, text)
		}
		games[wrong]++
		if !wrong {
			var f found
			_, err := language.Explore(context.Background(), r.p, &f, language.ExploreOptions{Threads: 1})
			if err != nil {
				t.Fatal(err)
			}
			checkModel(t, r.p, &f, r.result, plain.goal, text)
			if r.p.Kind != language.Game || !slices.Equal(r.p.Players, []string{"one", "two"}) {
				t.Fatalf("a model of kind %d of the players %v\n%s", r.p.Kind, r.p.Players, text)
			}
		}
		for s := 0; !wrong && s < len(r.owners); s++ {
			if name := fmt.Sprint(vector(r.result.States.StateName(s))); r.owners[s] != owners[name] {
				t.Fatalf("%s belongs to player %d\n%s", name, r.owners[s], text)
			}
		}
	}
	if games[true] < 30 || games[false] < 30 {
		t.Errorf("%d games are right and %d wrong", games[false], games[true])
	}
}

// TestRepeated: however many updates and commands there are, successors of a choice are listed once, and choices with
// the same action and successors.
func TestRepeated(t *testing.T) {
	rng := rand.New(rand.NewPCG(28, 3))
	for range 40 {
		most := 2 + rng.IntN(90)
		text := fmt.Sprintf("mdp module m x : [0..%d];\n", most)
		wide := map[string][]float64{"c": make([]float64, most+1), "d": make([]float64, most+1)}
		for _, action := range []string{"c", "d"} {
			n := 1 + rng.IntN(120)
			text += "[" + action + "] x<2 -> "
			for i := range n {
				to := rng.IntN(most + 1)
				wide[action][to] += 1 / float64(n)
				text += fmt.Sprintf("%s1/%d:(x'=%d)", []string{" + ", ""}[holds(i == 0)], n, to)
			}
			text += ";\n"
		}
		want := []string{"c", "d"}
		for range rng.IntN(120) {
			action, to := []string{"a", "b"}[rng.IntN(2)], rng.IntN(most+1)
			text += fmt.Sprintf("[%s] x<2 -> (x'=%d);\n", action, to)
			if name := fmt.Sprint(action, " 1 ", to); !slices.Contains(want, name) {
				want = append(want, name)
			}
		}
		slices.Sort(want)
		p, err := prism.Read("m.prism", text+"endmodule", nil)
		if err != nil {
			t.Fatal(err)
		}
		var f found
		r, err := language.Explore(context.Background(), p, &f, language.ExploreOptions{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		value := func(s int32) (x int) {
			fmt.Sscanf(r.States.StateName(int(s)), "x=%d", &x)
			return x
		}
		for s, choices := range f.choices {
			var got []string
			for _, c := range choices {
				action := p.Actions[c.action]
				if wide[action] == nil {
					got = append(got, fmt.Sprint(action, " ", c.probability[0], " ", value(c.next[0])))
					continue
				}
				got = append(got, action)
				left := slices.Clone(wide[action])
				for i, s := range c.next {
					left[value(s)] -= c.probability[i]
					if slices.Index(c.next, s) < i {
						t.Fatalf("x=%d is listed twice\n%s", value(s), text)
					}
				}
				if slices.Max(left) > 1e-12 || slices.Min(left) < -1e-12 {
					t.Fatalf("%s lacks %v\n%s", action, left, text)
				}
			}
			slices.Sort(got)
			if value(int32(s)) < 2 && !slices.Equal(got, want) {
				t.Fatalf("state %d: choices %q: want %q\n%s", s, got, want, text)
			}
		}
	}
}

// TestClockRanges: a clock counts to one above the largest number that it is compared with, in whatever way that
// follows from variables.
func TestClockRanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(24, 1))
	for range 120 {
		var draw func(of []int, depth int) term // each variable once
		draw = func(of []int, depth int) term {
			if depth == 0 || len(of) < 2 {
				if i := of[0]; rng.IntN(4) > 0 {
					return plainTerm(fmt.Sprintf("y%d", i), func(x []int) int { return x[i] })
				}
				c := rng.IntN(5)
				return plainTerm(fmt.Sprint(c), func([]int) int { return c })
			}
			a, b := draw(of[:len(of)/2], depth-1), draw(of[len(of)/2:], depth-1)
			switch rng.IntN(5) {
			case 0:
				return joined("(%s+%s)", "+", a, b, func(a, b int) int { return a + b })
			case 1, 2:
				return joined("(%s-%s)", "-", a, b, func(a, b int) int { return a - b })
			case 3:
				return joined("min(%s,%s)", "min", a, b, func(a, b int) int { return min(a, b) })
			}
			return joined("max(%s,%s)", "max", a, b, func(a, b int) int { return max(a, b) })
		}
		text, most, at := "pta module m x : clock; z : bool; ", 0, make([]int, 5)
		low, high := make([]int, 4), make([]int, 4)
		for i := range low {
			low[i] = rng.IntN(5) - 2
			high[i] = low[i] + 1 + rng.IntN(4)
			text += fmt.Sprintf("y%d : [%d..%d]; ", i, low[i], high[i])
		}
		bound := draw([]int{0, 1, 2, 3}, 2)
		switch rng.IntN(3) {
		case 0:
			a, b := draw([]int{0, 1}, 2), draw([]int{2, 3}, 2)
			bound = term{"(z?" + a.text + ":" + b.text + ")", "", func(x []int) int {
				return []int{b.of(x), a.of(x)}[x[4]]
			}}
		case 1:
			bound.text = "0.0+" + bound.text
		}
		for k := range 32 { // what is monotone is greatest at a corner
			for i := range low {
				at[i] = []int{low[i], high[i]}[k>>i&1]
			}
			at[4] = k >> 4
			most = max(most, bound.of(at))
		}
		form := []string{"%s", "%s", "%s", "(%s)*2", "(%s)+0.5", "max((%s)*2,1)", "(%s)+3000000000", "(%s)/1"}[rng.IntN(8)]
		text += "[] x>=" + fmt.Sprintf(form, bound.text) + " -> true; endmodule"
		p, err := prism.Read("m.prism", text, nil)
		if form != "%s" {
			if err == nil || !strings.Contains(err.Error(), "no bound of the number that a clock is compared with is known") {
				t.Fatalf("%v\n%s", err, text)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		i := slices.IndexFunc(p.Variables, func(v language.Variable) bool { return v.Name == "x" })
		if got := p.Variables[i].High; got != int64(most)+1 {
			t.Errorf("the clock counts to %d: want %d\n%s", got, most+1, text)
		}
		for _, k := range []int{most, most + 1} { // which only conditions look at
			_, err := p.Parse(fmt.Sprintf("x>=%d", k))
			if (err == nil) != (k == most) || err != nil && !strings.Contains(err.Error(), fmt.Sprintf(
				"a clock that counts to %d, as far as the model looks at it, is compared with %d", most, k)) {
				t.Fatalf("x>=%d: %v\n%s", k, err, text)
			}
		}
	}
}
