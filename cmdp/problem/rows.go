package problem

import (
	"slices"
	"strconv"

	"cmdpsolve/cmdp"
)

// A rowReader decodes rows of transitions into a table. It goes on after errors,
// so that all of them are found.
type rowReader struct {
	*header
	table    table
	dist     distribution
	outcomes []float64
	vector   []float64
}

func newRowReader(h *header) *rowReader {
	return &rowReader{header: h, table: table{dim: h.spec.Dim}, vector: make([]float64, h.spec.Dim)}
}

// row reads the row with the given index at node n.
func (r *rowReader) row(n *node, at *path, index int) {
	before := len(r.errs)
	if !r.mapping(n, at, rowKeys) && n.kind != mapNode {
		return
	}
	row := tableRow{step: cmdp.EveryStep, opponent: onlyAction, first: len(r.table.next), where: where{r.file, n.line, n.col, index}}
	for _, key := range [...]string{"state", "action"} {
		if n.get(key) == nil {
			r.bad(n, at, "%s is missing", key)
		}
	}
	if m := n.get("state"); m != nil {
		s, _ := r.state(m, at.key("state"))
		row.state = int32(s)
	}
	if m := n.get("action"); m != nil {
		row.label = r.action(m, at.key("action"))
	}
	if m := n.get("opponent"); m != nil {
		row.opponent = r.opponentLabel(r.action(m, at.key("opponent")))
	}
	if m := n.get("step"); m != nil {
		row.step = r.step(m, at.key("step"))
	}
	next, returns, outcomes := n.get("next"), n.get("returns"), n.get("outcomes")
	switch {
	case outcomes != nil && (next != nil || returns != nil):
		r.bad(n, at, "outcomes stand in the place of next and returns: want one or the other")
	case outcomes != nil:
		r.readOutcomes(outcomes, at.key("outcomes"))
	default:
		if next == nil {
			r.bad(n, at, "next is missing")
		} else {
			d := r.distribution(next, at.key("next"), &r.dist)
			r.table.next, r.table.prob = append(r.table.next, d.states...), append(r.table.prob, d.prob...)
		}
		clear(r.vector)
		if returns != nil {
			r.readVector(returns, at.key("returns"))
		}
	}
	if len(r.errs) > before || r.states == 0 || r.spec.Dim == 0 {
		r.table.next, r.table.prob = r.table.next[:row.first], r.table.prob[:row.first]
		return
	}
	if outcomes != nil {
		r.table.add(row, nil, r.outcomes)
	} else {
		r.table.add(row, r.vector, nil)
	}
}

func (r *rowReader) action(n *node, at *path) int32 {
	if n.kind == scalarNode && !n.quoted {
		if isInteger(n.text) {
			i, _ := r.integer(n, at, 0, maxStates)
			return r.table.labels.id(strconv.Itoa(i))
		}
		if _, complaint := parseNumber(n.text); complaint == "" {
			r.bad(n, at, "got %s: want a whole number from 0 on, or a name", n.text)
			return 0
		}
	}
	name, ok := r.name(n, at)
	if !ok {
		return 0
	}
	return r.table.labels.id(name)
}

func (r *rowReader) step(n *node, at *path) int32 {
	if r.spec.Horizon == 0 {
		if r.spec.Discount > 0 {
			r.bad(n, at, "given without a horizon: the row must hold at every step")
		}
		return cmdp.EveryStep
	}
	step, _ := r.integer(n, at, 1, r.spec.Horizon)
	return int32(step - 1)
}

// readVector reads returns into r.vector, which the caller has cleared.
func (r *rowReader) readVector(n *node, at *path) {
	switch n.kind {
	case listNode:
		if r.spec.Dim > 0 && len(n.items) != r.spec.Dim {
			r.bad(n, at, "%d returns: want %d", len(n.items), r.spec.Dim)
			return
		}
		for i, item := range n.items {
			here := path{up: at, index: i}
			if x, ok := r.number(item, &here); ok && i < len(r.vector) {
				r.vector[i] = x
			}
		}
	case mapNode:
		if !r.pairs(n, at) {
			return
		}
		for _, m := range n.members {
			here := path{up: at, name: m.key.text}
			x, ok := r.number(m.value, &here)
			i := slices.Index(r.p.Returns, m.key.text)
			switch {
			case i >= 0 && ok:
				r.vector[i] = x
			case i < 0 && r.spec.Dim > 0:
				r.bad(m.key, &here, "unknown return%s", orWant(m.key.text, r.p.Returns))
			}
		}
	default:
		r.bad(n, at, "got %s: want a list of numbers, or a mapping from names of returns to numbers", n.describe())
	}
}

// readOutcomes appends the successors of random returns to the table and sets
// r.outcomes to their returns.
func (r *rowReader) readOutcomes(n *node, at *path) {
	r.outcomes = r.outcomes[:0]
	if !r.list(n, at) {
		return
	}
	sum, known := 0.0, true
	for i, item := range n.items {
		here := at.at(i)
		if !r.mapping(item, here, outcomeKeys) {
			known = false
			continue
		}
		for _, key := range [...]string{"probability", "next"} {
			if item.get(key) == nil {
				known = r.bad(item, here, "%s is missing", key)
			}
		}
		var s int
		var p float64
		if m := item.get("next"); m != nil {
			s, _ = r.state(m, here.key("next"))
		}
		if m := item.get("probability"); m != nil {
			good := false
			p, good = r.probability(m, here.key("probability"))
			sum, known = sum+p, known && good
		}
		clear(r.vector)
		if m := item.get("returns"); m != nil {
			r.readVector(m, here.key("returns"))
		}
		r.table.next, r.table.prob = append(r.table.next, int32(s)), append(r.table.prob, p)
		r.outcomes = append(r.outcomes, r.vector...)
	}
	if known {
		r.checkSum(n, at, sum)
	}
}

// twice records that the same row is given a second time.
func (r *rowReader) twice(first, second *tableRow) {
	e := &Error{File: second.where.file, Line: second.where.line, Column: second.where.col}
	if second.where.index >= 0 {
		at := (*path)(nil)
		if second.where.file == r.file {
			at = at.key("transitions")
		}
		e.Key = at.at(second.where.index).String()
	}
	what := r.describe(groupKey{second.step, second.state, second.label, second.opponent})
	e.Message = what + " is given twice: the first is in line " + strconv.Itoa(first.where.line)
	r.report(e)
}
