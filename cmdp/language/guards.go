package language

import (
	"math/bits"
	"slices"
)

// Limits of the tables of guards: of the values of a variable, and of the words of all tables.
const (
	maxTabled     = 1 << 12
	maxTableWords = 1 << 22
)

// A guardTable finds the commands that may be enabled. Conditions on one variable are tabulated: for
// each value a set of commands as bits. What is left of guards is evaluated for the commands in the
// intersection of the sets, which are most often few.
type guardTable struct {
	none   []uint64 // the commands whose guard is not false
	tables []valueTable
	rest   []eval // nil where nothing is left
	room   int    // for words of tables
}

// A valueTable holds for each value of a variable so many words of the set of commands, from the first on.
type valueTable struct {
	variable, first, words int
	low                    int64
	rows                   []uint64
}

// A conjunct is a part of the guard of a command.
type conjunct struct {
	command int
	when    *Expr
}

func newGuardTable(m *machine) *guardTable {
	n := len(m.commands)
	g := &guardTable{none: make([]uint64, (n+63)/64), rest: make([]eval, n), room: maxTableWords}
	of := make([][]conjunct, len(m.Variables)) // those that ask for one variable alone
	left := make([][]*Expr, n)
	for c := range m.commands {
		guard := m.commands[c].Guard
		if guard.is(false) {
			continue
		}
		g.none[c/64] |= 1 << (c % 64)
		for _, part := range conjuncts(guard, nil) {
			used := part.variables()
			if len(used) == 1 && m.fields[used[0]].mask < maxTabled {
				of[used[0]] = append(of[used[0]], conjunct{c, part})
			} else if !part.is(true) {
				left[c] = append(left[c], part)
			}
		}
	}
	values := make([]int64, len(m.Variables))
	for v, parts := range of {
		for _, part := range g.tabulate(&m.Variables[v], v, parts, values) {
			left[part.command] = append(left[part.command], part.when)
		}
	}
	for c, parts := range left {
		if len(parts) > 0 {
			g.rest[c] = compile(&Expr{Op: And, Type: Bool, Args: parts})
		}
	}
	return g
}

// tabulate makes the table of a variable of parts in the order of commands. It returns those that have no value
// somewhere, or no room, and are left to be evaluated.
func (g *guardTable) tabulate(variable *Variable, v int, parts []conjunct, values []int64) (left []conjunct) {
	if len(parts) == 0 {
		return nil
	}
	n, first := int(variable.High-variable.Low+1), parts[0].command/64
	t := valueTable{variable: v, first: first, words: parts[len(parts)-1].command/64 - first + 1, low: variable.Low}
	g.room -= n * t.words
	if g.room < 0 {
		return parts
	}
	t.rows = slices.Repeat([]uint64{^uint64(0)}, n*t.words)
	for _, part := range parts {
		holds := compile(part.when)
		excluded := make([]int, 0, n)
		err := Try("", func() {
			for i := range n {
				values[v] = t.low + int64(i)
				if holds(values) == 0 {
					excluded = append(excluded, i)
				}
			}
		})
		if err != nil {
			left = append(left, part)
			continue
		}
		for _, i := range excluded {
			t.rows[i*t.words+part.command/64-first] &^= 1 << (part.command % 64)
		}
	}
	g.tables = append(g.tables, t)
	return left
}

// enabled appends the enabled commands to dst, in order. set is of the length of none.
func (g *guardTable) enabled(dst []int32, set []uint64, values []int64) []int32 {
	copy(set, g.none)
	for i := range g.tables {
		t := &g.tables[i]
		at := int(values[t.variable]-t.low) * t.words
		for k, row := range t.rows[at : at+t.words] {
			set[t.first+k] &= row
		}
	}
	for w, x := range set {
		for ; x != 0; x &= x - 1 {
			c := int32(w*64 + bits.TrailingZeros64(x))
			if holds := g.rest[c]; holds == nil || holds(values) != 0 {
				dst = append(dst, c)
			}
		}
	}
	return dst
}
