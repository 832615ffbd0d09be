package prism_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
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
