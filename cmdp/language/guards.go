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
	rest   []boolFunc // nil where nothing is left
}

// A valueTable holds for each value of a variable some words of the set of commands.
type valueTable struct {
	variable int
	low      int64
	words    []int32
	rows     []uint64
}

func newGuardTable(p *machine) *guardTable {
	words := (len(p.commands) + 63) / 64
	g := &guardTable{none: make([]uint64, words), rest: make([]boolFunc, len(p.commands))}
	of := make([]map[int32][]*Expr, len(p.Variables)) // conditions on a variable by command
	left := make([][]*Expr, len(p.commands))
	used := make(map[int]bool)
	for c := range p.commands {
		guard := p.commands[c].Guard
		if guard.is(false) {
			continue
		}
		g.none[c/64] |= 1 << (c % 64)
		for _, part := range conjuncts(guard, nil) {
			if part.is(true) {
				continue
			}
			clear(used)
			part.variables(used)
			v, ok := single(used)
			if !ok || !tabled(&p.Variables[v]) {
				left[c] = append(left[c], part)
				continue
			}
			if of[v] == nil {
				of[v] = make(map[int32][]*Expr)
			}
			of[v][int32(c)] = append(of[v][int32(c)], part)
		}
	}
	room := maxTableWords
	values := make([]int64, len(p.Variables))
	for v := range of {
		g.tabulate(&p.Variables[v], v, of[v], left, values, &room)
	}
	for c, parts := range left {
		if len(parts) > 0 {
			g.rest[c] = compileBool(&Expr{Op: And, Type: Bool, Args: parts})
		}
	}
	return g
}

func single(used map[int]bool) (int, bool) {
	for v := range used {
		return v, len(used) == 1
	}
	return 0, false
}

func tabled(v *Variable) bool {
	return uint64(v.High)-uint64(v.Low) < maxTabled
}

// tabulate makes the table of a variable. What has no value, or no room, is left to be evaluated.
func (g *guardTable) tabulate(
	variable *Variable, v int, of map[int32][]*Expr, left [][]*Expr, values []int64, room *int,
) {
	if len(of) == 0 {
		return
	}
	t := valueTable{variable: v, low: variable.Low}
	for c := range of {
		t.words = append(t.words, c/64)
	}
	slices.Sort(t.words)
	t.words = slices.Compact(t.words)
	n := int(variable.High - t.low + 1)
	if *room -= n * len(t.words); *room < 0 {
		for c, parts := range of {
			left[c] = append(left[c], parts...)
		}
		return
	}
	t.rows = slices.Repeat([]uint64{^uint64(0)}, n*len(t.words))
	for c, parts := range of {
		k, _ := slices.BinarySearch(t.words, c/64)
		for _, part := range parts {
			if !t.exclude(compileBool(part), values, n, k, c) {
				left[c] = append(left[c], part)
			}
		}
	}
	g.tables = append(g.tables, t)
}

// exclude takes a command out of the rows of the values for which a condition does not hold. It reports
// whether the condition could be evaluated for all.
func (t *valueTable) exclude(holds boolFunc, values []int64, n, k int, c int32) bool {
	without := make([]int, 0, n)
	err := Try("", func() {
		for i := range n {
			values[t.variable] = t.low + int64(i)
			if !holds(values) {
				without = append(without, i)
			}
		}
	})
	if err != nil {
		return false
	}
	for _, i := range without {
		t.rows[i*len(t.words)+k] &^= 1 << (c % 64)
	}
	return true
}

// enabled appends the enabled commands to dst, in order. set is of the length of none.
func (g *guardTable) enabled(dst []int32, set []uint64, values []int64) []int32 {
	copy(set, g.none)
	for i := range g.tables {
		t := &g.tables[i]
		row := t.rows[int(values[t.variable]-t.low)*len(t.words):]
		for k, w := range t.words {
			set[w] &= row[k]
		}
	}
	for w, x := range set {
		for ; x != 0; x &= x - 1 {
			c := int32(w*64 + bits.TrailingZeros64(x))
			if holds := g.rest[c]; holds == nil || holds(values) {
				dst = append(dst, c)
			}
		}
	}
	return dst
}
