package problem

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// constants are the numbers that a problem file gives names to, and results of arithmetic with
// them. The nil constants have no names.
type constants struct {
	spelling
	names  []string
	value  map[string]float64
	result map[string]float64 // of text that has been evaluated
	broken map[string]bool    // names whose values are wrong, of which enough has been said
	// anything may be the name of a constant: let could not be read.
	anything bool
}

// maxResults bounds how many results are kept.
const maxResults = 1 << 16

// evaluate computes an expression of numbers, constants and parentheses with the operators + -
// * /. The complaint is empty if the result is finite, else it says what is wrong.
func (c *constants) evaluate(text string) (x float64, complaint string) {
	if c == nil {
		c = new(constants)
	}
	if x, ok := c.result[text]; ok {
		return x, ""
	}
	e := expression{rest: text, c: c}
	x = e.sum()
	if e.complaint == "" && e.next() != 0 {
		e.complain(wantNumber)
	}
	switch {
	case e.complaint == wantNumber && strings.ContainsAny(text, "*/()"):
		e.complaint = "want a number, or arithmetic such as 1/3 or (1-p)*q"
	case e.complaint == "" && (math.IsInf(x, 0) || math.IsNaN(x)):
		e.complaint = "too large: want a finite number"
	}
	if e.complaint != "" {
		return 0, e.complaint
	}
	if c.result == nil {
		c.result = make(map[string]float64)
	}
	if len(c.result) < maxResults {
		c.result[strings.Clone(text)] = x
	}
	return x, ""
}

const wantNumber = "want a number"

// unknownValue is the complaint about a number whose constants are broken. It is not reported.
const unknownValue = "the value of a constant is wrong"

// An expression is text while it is evaluated.
type expression struct {
	rest      string
	c         *constants
	depth     int
	complaint string // the first
}

func (e *expression) complain(text string) float64 {
	if e.complaint == "" {
		e.complaint = text
	}
	e.rest = ""
	return 0
}

// next returns the byte that follows white space, 0 at the end.
func (e *expression) next() byte {
	e.rest = strings.TrimLeft(e.rest, " \t")
	if e.rest == "" {
		return 0
	}
	return e.rest[0]
}

func (e *expression) sum() float64 {
	x := e.product()
	for {
		switch e.next() {
		case '+':
			e.rest = e.rest[1:]
			x += e.product()
		case '-':
			e.rest = e.rest[1:]
			x -= e.product()
		default:
			return x
		}
	}
}

func (e *expression) product() float64 {
	x := e.factor()
	for {
		switch e.next() {
		case '*':
			e.rest = e.rest[1:]
			x *= e.factor()
		case '/':
			e.rest = e.rest[1:]
			y := e.factor()
			if y == 0 && e.complaint == "" {
				return e.complain("it divides by 0")
			}
			x /= y
		default:
			return x
		}
	}
}

func (e *expression) factor() float64 {
	e.depth++
	if e.depth > maxDepth {
		return e.complain("nested too deeply")
	}
	defer func() { e.depth-- }()
	switch c := e.next(); {
	case c == '-' || c == '+':
		e.rest = e.rest[1:]
		if c == '-' {
			return -e.factor()
		}
		return e.factor()
	case c == '(':
		e.rest = e.rest[1:]
		x := e.sum()
		if e.next() != ')' {
			return e.complain(wantNumber)
		}
		e.rest = e.rest[1:]
		return x
	case c >= '0' && c <= '9' || c == '.':
		return e.number()
	}
	end := 0
	for end < len(e.rest) && isConstant(e.rest[:end+1]) {
		end++
	}
	name := e.rest[:end]
	e.rest = e.rest[end:]
	x, known := e.c.value[name]
	switch {
	case e.c.broken[name], e.c.anything && name != "" && !known:
		return e.complain(unknownValue)
	case name == "", !known && e.c.names == nil:
		return e.complain(wantNumber)
	case !known:
		return e.complain("unknown constant " + shorten(name) + e.c.orWant(name, e.c.names))
	}
	return x
}

// number reads the digits at the beginning.
func (e *expression) number() float64 {
	end := len(e.rest) - len(strings.TrimLeft(e.rest, "0123456789."))
	if after := e.rest[end:]; after != "" && after[0]|32 == 'e' {
		power := strings.TrimLeft(after[1:], "0123456789")
		if len(after) > 1 && (after[1] == '+' || after[1] == '-') {
			power = strings.TrimLeft(after[2:], "0123456789")
		}
		end = len(e.rest) - len(power)
	}
	x, err := strconv.ParseFloat(e.rest[:end], 64)
	if err != nil && !math.IsInf(x, 0) {
		return e.complain(wantNumber)
	}
	e.rest = e.rest[end:]
	return x
}

// isConstant reports whether text can be the name of a constant: letters, digits and _, no
// digit first.
func isConstant(text string) bool {
	for i, c := range []byte(text) {
		if c|32 < 'a' || c|32 > 'z' {
			if c != '_' && (i == 0 || c < '0' || c > '9') {
				return false
			}
		}
	}
	return text != ""
}

// readConstants reads the constants one after the other. Those that the options set have their
// values.
func (h *header) readConstants(n *node, at *path) {
	c := &constants{value: make(map[string]float64), broken: make(map[string]bool)}
	h.constants = c
	c.anything = n != nil && n.kind != mapNode
	if n != nil && h.pairs(n, at) {
		for _, m := range n.members {
			name, ok := h.name(m.key, at)
			if _, complaint := parseNumber(name); ok && (!isConstant(name) || complaint != wantNumber) {
				ok = h.bad(m.key, at.key(name),
					"%s cannot be the name of a constant: want letters, digits and _, no digit first", shorten(name))
			}
			if x, good := h.constant(name, m.value, at.key(name)); ok && good {
				c.names, c.value[name] = append(c.names, name), x
				h.p.constants = append(h.p.constants, Constant{name, x})
			} else {
				c.broken[name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h.options.Set)) {
		if n != nil && n.get(name) != nil {
			continue
		}
		want := ": the file has no let"
		if c.names != nil {
			want = orWant(name, c.names)
		}
		h.bad(nil, at, "no constant is called %s, which is to be set%s", shorten(name), want)
	}
}

func (h *header) constant(name string, n *node, at *path) (float64, bool) {
	text, ok := h.options.Set[name]
	if !ok {
		return h.number(n, at)
	}
	x, complaint := h.constants.evaluate(text)
	if complaint != "" && complaint != unknownValue {
		return 0, h.bad(n, at, "set to %s: %s", shorten(text), complaint)
	}
	return x, complaint == ""
}
