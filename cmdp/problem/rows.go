package problem

import (
	"cmp"
	"fmt"
	"strconv"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/progress"
)

// A rowReader decodes rows of transitions and adds them to a builder. It goes on after
// errors, so that all of them are found.
type rowReader struct {
	*header
	builder         *cmdp.Builder
	agent, opponent labels
	// places holds where each row of the builder begins, for errors; nothing of arrays.
	places []place
	told   int    // how much was read when progress was reported
	grown  bool   // there is room for the rows to come
	rows   string // the file of the rows, if they have one
	next   []cmdp.Transition
	values []float64 // the returns of next
	vector []float64
	// bounds are those of rows with intervals; exactAt has the rows of single steps that replace one of them by
	// exact probabilities.
	bounds  map[rowName]*rowBounds
	exactAt map[rowName]bool
}

type place struct{ line, col int32 }

func newRowReader(h *header) *rowReader {
	spec := h.spec
	if h.faults > 0 { // rows are checked as far as they can be
		spec.Dim = max(1, spec.Dim)
		spec.ReturnToGo = nil
		if spec.Start == nil {
			spec.Start = []cmdp.StartState{{State: 0, Probability: 1}}
		}
	}
	r := &rowReader{header: h, builder: cmdp.NewBuilder(spec, h.states), vector: make([]float64, spec.Dim)}
	r.opponent.id("0") // what a row without an action of the opponent stands for
	return r
}

// usable reports whether rows can be added: there is no error without which it is not
// known what they mean.
func (r *rowReader) usable() bool {
	return r.states > 0 && r.timed() && len(r.constants.broken) == 0 && !r.constants.anything
}

// done makes room for the rows to come, as many as those before for each byte, and reports how
// much has been read, if somebody wants to know.
func (r *rowReader) done(read, of int) {
	const portion = 1 << 17
	if read >= portion && !r.grown {
		r.grown = true
		r.large = r.size(float64(of) / float64(read)).Fits(r.options.Bytes)
		if r.large != nil {
			return
		}
		more := float64(of-read) / float64(read)
		r.builder.Grow(int(float64(r.builder.Rows())*more), int(float64(r.builder.Transitions())*more))
	}
	if read-r.told >= portion || read == of {
		r.told = read
		progress.Of(r.options.context()).Tell("reading "+cmp.Or(r.rows, r.file), float64(read)/float64(max(1, of)))
	}
}

// size estimates the size of the model, if there are so many times the rows that were read.
func (r *rowReader) size(times float64) cmdp.Size {
	_, entries := r.builder.Stored() // of all kernels, with their states
	size := cmdp.Size{States: r.states, Horizon: r.spec.Horizon, Kernels: 1, Dim: r.spec.Dim,
		Transitions: times * float64(entries-r.states)}
	if given := r.builder.Transitions(); given > 0 {
		size.Choices = size.Transitions * float64(r.builder.Rows()) / float64(given)
	}
	return size
}

func (r *rowReader) row(n *node, at *path) {
	before := r.faults
	if !r.mapping(n, at, rowKeys) && n.kind != mapNode {
		return
	}
	var row cmdp.Row
	r.next, r.values = r.next[:0], r.values[:0]
	r.needs(n, at, "state", "action")
	var next, returns, outcomes *node
	var bounds *rowBounds
	for i := range n.members {
		m := n.members[i].value
		here := path{up: at, name: n.members[i].key.text}
		switch here.name {
		case "state":
			row.State, _ = r.state(m, &here)
		case "action":
			row.Action = r.action(m, &here, &r.agent)
		case "opponent":
			r.game = true
			row.Opponent = r.action(m, &here, &r.opponent)
		case "step":
			row.Step = r.step(m, &here)
		case "next":
			next = m
		case "returns":
			returns = m
		case "outcomes":
			outcomes = m
		}
	}
	switch {
	case outcomes != nil && (next != nil || returns != nil):
		r.bad(n, at, "outcomes stand in the place of next and returns: want one or the other")
	case outcomes != nil:
		r.readOutcomes(outcomes, at.key("outcomes"))
	default:
		if next == nil {
			r.bad(n, at, "next is missing")
		} else {
			here := path{up: at, name: "next"}
			bounds = r.successors(next, &here)
		}
		clear(r.vector)
		if returns != nil {
			here := path{up: at, name: "returns"}
			r.readVector(returns, &here)
		}
		row.Returns = r.vector
	}
	if r.faults > before || !r.usable() {
		return
	}
	row.Next = r.next
	r.places = append(r.places, place{int32(n.line), int32(n.col)})
	if err := r.builder.Add(row); err != nil {
		r.bad(n, at, "%v", err)
	}
	r.bound(&row, bounds)
}

func (r *rowReader) action(n *node, at *path, of *labels) int {
	if n.kind == scalarNode && !n.quoted {
		if isInteger(n.text) {
			i, _ := r.integer(n, at, 0, maxStates)
			return of.numbered(i)
		}
		if _, complaint := parseNumber(n.text); complaint == "" {
			r.bad(n, at, "got %s: want a whole number from 0 on, or a name", n.text)
			return 0
		}
	}
	if id, ok := of.ids[n.text]; ok && n.quoted {
		return id
	}
	name, ok := r.name(n, at)
	if !ok {
		return 0
	}
	return of.id(name)
}

func (r *rowReader) step(n *node, at *path) int {
	if r.spec.Horizon == 0 {
		if r.spec.Discount > 0 || r.spec.Average {
			r.badAgain(mistake{"horizon", ""}, n, at, "given without a horizon: the row must hold at every step")
		}
		return cmdp.EveryStep
	}
	if step, err := strconv.Atoi(n.text); err == nil && n.kind == scalarNode && step > r.spec.Horizon {
		r.badAgain(mistake{"horizon", n.text}, n, at, "got %s: want a whole number from 1 to %d", n.describe(),
			r.spec.Horizon)
		return 1
	}
	step, _ := r.integer(n, at, 1, r.spec.Horizon)
	return step
}

// readVector reads returns into r.vector, which the caller has cleared.
func (r *rowReader) readVector(n *node, at *path) {
	switch n.kind {
	case listNode:
		if r.spec.Dim > 0 && len(n.items) != len(r.given) {
			r.badAgain(mistake{"returns", strconv.Itoa(len(n.items))}, n, at, "%d returns: want %d", len(n.items),
				len(r.given))
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
			i := r.rowReturns.find(r.given, m.key.text)
			switch {
			case i >= 0 && ok:
				r.vector[i] = x
			case i < 0 && r.spec.Dim > 0:
				r.badAgain(mistake{"returns", m.key.text}, m.key, &here, "unknown return%s",
					r.orWant(m.key.text, r.given))
			}
		}
	default:
		r.bad(n, at, "got %s: want a list of numbers, or a mapping from names of returns to numbers", n.describe())
	}
}

// readOutcomes reads the successors of random returns into r.next.
func (r *rowReader) readOutcomes(n *node, at *path) {
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
		known = r.needs(item, here, "probability", "next") && known
		var t cmdp.Transition
		if m := item.get("next"); m != nil {
			t.Next, _ = r.state(m, here.key("next"))
		}
		if m := item.get("probability"); m != nil {
			good := false
			t.Probability, good = r.probability(m, here.key("probability"))
			sum, known = sum+t.Probability, known && good
		}
		clear(r.vector)
		if m := item.get("returns"); m != nil {
			r.readVector(m, here.key("returns"))
		}
		r.next, r.values = append(r.next, t), append(r.values, r.vector...)
	}
	// Only now do the returns stay where they are.
	for i, d := 0, len(r.vector); i < len(r.next); i++ {
		r.next[i].Returns = r.values[i*d : (i+1)*d]
	}
	if known {
		r.checkSum(n, at, sum)
	}
}

// build builds the model of the rows and names its actions, or records what is wrong
// with the rows together.
func (r *rowReader) build(p *Problem, root *node) {
	// No memory is taken for states and kernels before it is known that the file is long
	// enough to mean them.
	const overhead = 32 // of a kernel
	given := r.builder.Transitions()
	transitions, at := root.get("transitions"), (*path)(nil).key("transitions")
	if most := freeStates + given; p.States == nil && r.states > most {
		r.bad(root.get("states"), (*path)(nil).key("states"),
			"%d states, but the transitions lead to %d at most: want at most %d states besides, as each of them "+
				"takes memory",
			r.states, given, freeStates)
		return
	}
	kernels, entries := r.builder.Stored()
	if kernels > 1 && entries+overhead*kernels > min(r.limits.stored/2, freeStored+stepsPerRow*given) {
		r.bad(transitions, at, "rows for single steps make %d kernels: more than can be stored", kernels)
		return
	}
	r.large = r.size(1).Fits(r.options.Bytes)
	if r.large != nil {
		return
	}
	model, names, err := r.builder.BuildNamed(r.agent.order, r.opponent.order)
	switch wrong := err.(type) {
	case nil:
		p.Model = model
		r.nameActions(p, names)
		r.attach(p, root, names)
	case cmdp.RowErrors:
		for _, e := range wrong {
			r.wrongRow(e)
		}
	default:
		where := transitions
		if m := root.get("return_to_go"); m != nil {
			where, at = m, (*path)(nil).key("return_to_go")
		}
		r.bad(where, at, "%s", trimmed(err, "cmdp: "))
	}
}

// wrongRow records what is wrong with a row beside others.
func (r *rowReader) wrongRow(w *cmdp.RowError) {
	e := &Error{File: r.file}
	if r.rows != "" {
		e.File = r.rows
	}
	line := func(row int) int {
		if row < len(r.places) {
			return int(r.places[row].line)
		}
		return 0
	}
	e.Line = line(w.Row)
	if e.Line > 0 && w.Fault != cmdp.RowSum {
		e.Column = int(r.places[w.Row].col)
	}
	at := (*path)(nil)
	if r.rows == "" {
		at = at.key("transitions")
	}
	step := ""
	if w.Step != cmdp.EveryStep {
		step = strconv.Itoa(w.Step)
	}
	state, action, opponent := r.p.StateName(w.State), r.agent.names[w.Action], r.opponent.names[w.Opponent]
	if w.Fault == cmdp.RowPair {
		if step != "" {
			step = " at step " + step
		}
		e.Key = at.String()
		e.Message = fmt.Sprintf("state %s: action %s against the opponent's action %s has no row%s: want one for "+
			"every pair of their actions",
			state, action, opponent, step)
		r.report(e)
		return
	}
	what := "state " + state + ", action " + action
	if r.game {
		what += " against " + opponent
	}
	if step != "" {
		what += ", step " + step
	}
	e.Message = fmt.Sprintf("%s: the probabilities sum to %.12g: want 1", what, w.Sum)
	if w.Fault == cmdp.RowTwice {
		e.Key = at.at(w.Row).String()
		e.Message = what + " is given twice: the first is in line " + strconv.Itoa(line(w.First))
	}
	r.report(e)
}
