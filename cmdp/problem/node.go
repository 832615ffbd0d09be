package problem

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/cmdp/internal/source"
)

// A node is a value of a document, YAML or JSON alike, with its position.
type node struct {
	kind      nodeKind
	quoted    bool   // a scalar in quotes or a block: always text
	text      string // of a scalar
	line, col int
	items     []*node // of a list
	members   []member
}

type nodeKind uint8

const (
	scalarNode nodeKind = iota
	listNode
	mapNode
	rowsNode // the text of rows that are read later
)

type member struct{ key, value *node }

// get returns the member of a mapping with the given key, or nil.
func (n *node) get(key string) *node {
	for _, m := range n.members {
		if m.key.text == key {
			return m.value
		}
	}
	return nil
}

// last returns the value that ends the node: the node itself, or the last one inside.
func (n *node) last() *node {
	switch {
	case len(n.items) > 0:
		return n.items[len(n.items)-1].last()
	case len(n.members) > 0:
		return n.members[len(n.members)-1].value.last()
	}
	return n
}

func (n *node) isNull() bool { return n.isOne("", "~", "null", "Null", "NULL") }

func (n *node) isBool() bool { return n.isOne("true", "True", "TRUE", "false", "False", "FALSE") }

// isOne reports whether the node is one of the given words, without quotes.
func (n *node) isOne(words ...string) bool {
	return n.kind == scalarNode && !n.quoted && slices.Contains(words, n.text)
}

// describe names the node in a message.
func (n *node) describe() string {
	switch {
	case n.kind == listNode, n.kind == rowsNode:
		return "a list"
	case n.kind == mapNode:
		return "a mapping"
	case n.isNull():
		return "nothing"
	case n.quoted:
		return strconv.Quote(shorten(n.text)) + " in quotes"
	}
	return shorten(n.text)
}

func shorten(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// isInteger reports whether text is a decimal integer.
func isInteger(text string) bool {
	if text != "" && (text[0] == '+' || text[0] == '-') {
		text = text[1:]
	}
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != ""
}

// parseNumber reads a decimal number. The complaint is empty if it is finite,
// else it says what is wrong.
func parseNumber(text string) (x float64, complaint string) {
	x, err := source.ParseFloat(text)
	// Hexadecimal digits are no decimals.
	hex := len(text) > 2 && (text[1]|32 == 'x' || text[2]|32 == 'x')
	if err == nil && !hex && !math.IsInf(x, 0) && x == x {
		return x, ""
	}
	switch strings.ToLower(strings.TrimLeft(text, "+-.")) {
	case "nan":
		return 0, "NaN is not a number that can be computed with: want a finite number"
	case "inf", "infinity":
		return 0, "infinite: want a finite number"
	}
	if errors.Is(err, strconv.ErrRange) && !hex {
		return 0, "too large: want a finite number"
	}
	return 0, wantNumber
}
