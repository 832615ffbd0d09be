package problem

import (
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"cmdpsolve/cmdp"
)

// A header is everything of a problem but its transitions.
type header struct {
	decoder
	limits  limits
	p       *Problem
	spec    cmdp.ModelSpec
	states  int // 0 if not known, because of an error
	names   stateIndex
	options ReadOptions
	game    bool     // a row names an action of the opponent
	given   []string // the returns that rows give: all that are not derived
	// returns finds names in p.Returns, rowReturns in given.
	returns, rowReturns nameFinder
	// imported is the model of another tool that the transitions refer to, or nil.
	imported *imported
	// within is the file of the fleet whose agent the model is, nil for a file of its own.
	within *header
	// large is not nil if the model would take too much memory, or if the context was done while it was explored.
	// Nothing more is read then.
	large error
}

var (
	documentKeys = keysOf(document{})
	rowKeys      = keysOf(rowForm{})
	outcomeKeys  = keysOf(outcomeForm{})
)

func keysOf(form any) []string {
	fs := fieldsOf(reflect.TypeOf(form))
	keys := make([]string, len(fs))
	for i, f := range fs {
		keys[i] = f.name
	}
	return keys
}

// read decodes the members of the document but the transitions.
func (h *header) read(root *node) {
	if root.get("format") == nil && root.get("P") != nil {
		h.bad(nil, (*path)(nil).key("P"), "a table of Gymnasium is no problem file: name it in one, as transitions: {file: %s}",
			filepath.Base(h.file))
		return
	}
	h.mapping(root, nil, documentKeys)
	for _, key := range []string{"format", "states", "start", "returns", "transitions"} {
		if key == "format" && h.within != nil {
			continue
		}
		if root.get(key) == nil && (h.imported == nil || key == "format" || key == "transitions") {
			h.bad(nil, (*path)(nil).key(key), "missing: want %s", map[string]string{
				"format": Format, "states": wantStates, "start": "a state, or a mapping from states to probabilities",
				"returns":     "a list of names, or a mapping from names to what they are",
				"transitions": "a list of rows, or {file: NAME}",
			}[key])
		}
	}
	h.member(root, "format", h.readFormat)
	h.member(root, "name", func(n *node, at *path) { h.p.Name, _ = h.name(n, at) })
	h.readTime(root)
	h.member(root, "states", h.readStates)
	h.member(root, "labels", h.readLabels)
	h.member(root, "coordinates", h.readCoordinates)
	h.member(root, "returns", h.readReturns)
	h.member(root, "start", h.readStart)
	h.member(root, "return_to_go", h.readReturnToGo)
	h.member(root, "goal", h.readGoal)
	h.member(root, "constraints", h.readConstraints)
	h.member(root, "target", h.readTarget)
	h.member(root, "uncertainty", h.readUncertainty)
	h.member(root, "opponent", h.readOpponent)
	h.checkSteps(root)
	if h.imported != nil {
		h.checkImported(root)
	}
}

func (h *header) readTarget(n *node, at *path) {
	h.p.Target = new(Set)
	if !h.value(n, at, reflect.ValueOf(h.p.Target).Elem()) {
		h.p.Target = nil // what is wrong has been said
	}
}

func (h *header) readFormat(n *node, at *path) {
	if n.kind != scalarNode || n.text != Format {
		h.bad(n, at, "got %s: want %s", n.describe(), Format)
	}
}

func (h *header) readTime(root *node) {
	horizon, discount, criterion := root.get("horizon"), root.get("discount"), root.get("criterion")
	at := (*path)(nil)
	switch {
	case horizon == nil && discount == nil && criterion == nil && h.within != nil && timeSaid(&h.within.spec) != "":
		h.spec.Horizon, h.spec.Discount, h.spec.Average = h.within.spec.Horizon, h.within.spec.Discount,
			h.within.spec.Average
	case horizon == nil && discount == nil && criterion == nil:
		h.bad(nil, at.key("horizon"), "missing: want a number of steps, a discount, or criterion: average")
	case horizon != nil && discount != nil:
		h.bad(discount, at.key("discount"), "given besides horizon: want one of the two")
	case criterion != nil && (horizon != nil || discount != nil):
		h.bad(criterion, at.key("criterion"), "given besides a horizon or a discount: want one of the three")
	case criterion != nil:
		if criterion.kind != scalarNode || criterion.text != "average" {
			h.bad(criterion, at.key("criterion"), "got %s: want average", criterion.describe())
		}
		h.spec.Average = true
	case horizon != nil:
		h.spec.Horizon, _ = h.integer(horizon, at.key("horizon"), 1, h.limits.horizon)
	default:
		x, ok := h.number(discount, at.key("discount"))
		if ok && !(x > 0 && x <= 1) {
			h.bad(discount, at.key("discount"), "got %s: want above 0 and at most 1", h.shown(discount))
		}
		h.spec.Discount = x
	}
}

const wantStates = "a count, a list of names, or {count: N, name: \"x{}\"}"

func (h *header) readStates(n *node, at *path) {
	if n.kind == mapNode {
		h.numberStates(n, at)
		return
	}
	if n.kind != listNode {
		if n.isNull() || !isInteger(n.text) && !h.isArithmetic(n) {
			h.bad(n, at, "got %s: want %s", n.describe(), wantStates)
			return
		}
		h.states, _ = h.integer(n, at, 1, h.limits.states)
		return // an imported model may have given names
	}
	names, ok := h.uniqueNames(n, at)
	for i, name := range names {
		if isInteger(name) && name != strconv.Itoa(i) {
			ok = h.bad(n.items[i], at.at(i), "the name %s of state %d is another number: want a name, or %d", name, i,
				i)
		}
	}
	if len(names) > h.limits.states {
		ok = h.bad(n, at, "%d states: want at most %d", len(names), h.limits.states)
	}
	if !ok {
		return
	}
	h.states, h.p.States, h.names = len(names), names, listed(numbered(names))
}

// numberStates names states by a pattern in which {} stands for their numbers.
func (h *header) numberStates(n *node, at *path) {
	if !h.mapping(n, at, []string{"count", "name"}) {
		return
	}
	for _, key := range []string{"count", "name"} {
		if n.get(key) == nil {
			h.bad(n, at, "%s is missing: want {count: N, name: \"x{}\"}", key)
			return
		}
	}
	// Each name takes memory, and nothing in the file but the count says how many there are.
	count, ok := h.integer(n.get("count"), at.key("count"), 1, min(h.limits.states, freeStates))
	pattern, good := h.name(n.get("name"), at.key("name"))
	if !ok || !good {
		return
	}
	before, after, found := strings.Cut(pattern, "{}")
	if !found || strings.ContainsAny(before+after, "{}") {
		h.bad(n.get("name"), at.key("name"), "got %s: want one {}, where the number of the state is put",
			shorten(pattern))
		return
	}
	if pattern != "{}" && isInteger(before+"0"+after) {
		h.bad(n.get("name"), at.key("name"), "got %s: the name of a state would be the number of another one",
			shorten(pattern))
		return
	}
	names := make([]string, count)
	for s := range names {
		names[s] = before + strconv.Itoa(s) + after
	}
	h.states, h.p.States, h.names = count, names, listed(numbered(names))
}

func (h *header) readStart(n *node, at *path) {
	h.spec.Start = nil
	if n.kind == scalarNode {
		if s, ok := h.state(n, at); ok {
			h.spec.Start = []cmdp.StartState{{State: s, Probability: 1}}
		}
		return
	}
	before := h.faults
	for _, t := range h.distribution(n, at, nil) {
		h.spec.Start = append(h.spec.Start, cmdp.StartState{State: t.Next, Probability: t.Probability})
	}
	if h.faults > before {
		h.spec.Start = nil // the rest of it would be said not to sum to 1
	}
}

// state reads a state, by name or number. Without a known number of states it
// accepts nothing and complains of nothing but form.
func (h *header) state(n *node, at *path) (int, bool) {
	if n.kind != scalarNode || n.isNull() || n.text == "" {
		return 0, h.bad(n, at, "got %s: want a state", n.describe())
	}
	if s, ok := stateNamed(n.text, h.names, h.states); ok {
		return s, true
	}
	if h.states == 0 {
		return 0, false
	}
	return 0, h.badAgain(mistake{"states", n.text}, n, at, "%s", h.unknownState(n.text))
}

func (h *header) unknownState(text string) string {
	want := ": want 0 to " + strconv.Itoa(h.states-1)
	switch {
	case isInteger(text):
	case h.p.States != nil:
		want = h.orWant(text, h.p.States)
	default:
		want += ", or a list of names under states"
	}
	return "unknown state " + shorten(text) + want
}

// distribution appends the states and probabilities of a mapping to dst. The
// probabilities must sum to 1.
func (h *header) distribution(n *node, at *path, dst []cmdp.Transition) []cmdp.Transition {
	if n.kind != mapNode {
		h.bad(n, at, "got %s: want a mapping from states to probabilities", n.describe())
		return dst
	}
	before, first := h.faults, len(dst)
	if !h.pairs(n, at) {
		return dst
	}
	sum, known := 0.0, true
	for _, m := range n.members {
		here := path{up: at, name: m.key.text}
		s, ok := h.state(m.key, &here)
		p, good := h.probability(m.value, &here)
		sum, known = sum+p, known && good
		if ok && good {
			dst = append(dst, cmdp.Transition{Next: s, Probability: p})
		}
	}
	if known {
		h.checkSum(n, at, sum)
	}
	if (h.p.States != nil || h.p.Described != nil) && h.faults == before && h.hasTwins(dst[first:]) {
		h.bad(n, at, "a state is given twice, by its name and by its number")
	}
	return dst
}
