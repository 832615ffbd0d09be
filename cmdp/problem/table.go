package problem

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"cmdpsolve/cmdp"
)

// A table collects the rows of all transitions in the order of their files, in
// memory proportional to the number of successors.
type table struct {
	dim    int
	rows   []tableRow
	next   []int32
	prob   []float64
	values []float64 // d for each row: its expected returns
	// outcomes holds d for each successor of the rows that are random.
	outcomes []float64
	labels   labels
}

type tableRow struct {
	step, state, label int32 // step is 0-based, or cmdp.EveryStep
	opponent           int32 // the label of the opponent's action
	first, end         int   // into next and prob
	values             int   // into values
	outcomes           int   // into outcomes, or -1
	where              where
}

// where a row was read, for errors.
type where struct {
	file      string
	line, col int
	index     int // of the row, or -1 for a line of a table
}

// labels numbers the labels of actions in order of appearance.
type labels struct {
	names []string
	ids   map[string]int32
	small []int32 // one more than the label of a small number, 0 if it has none yet
}

func (l *labels) id(name string) int32 {
	id, ok := l.ids[name]
	if !ok {
		if l.ids == nil {
			l.ids = make(map[string]int32)
		}
		id = int32(len(l.names))
		l.ids[name] = id
		l.names = append(l.names, name)
	}
	return id
}

// number is id for an action that is called by a number.
func (l *labels) number(n int32) int32 {
	const most = 1 << 12
	if n >= most {
		return l.id(strconv.Itoa(int(n)))
	}
	for int(n) >= len(l.small) {
		l.small = append(l.small, 0)
	}
	if l.small[n] == 0 {
		l.small[n] = l.id(strconv.Itoa(int(n))) + 1
	}
	return l.small[n] - 1
}

// onlyAction is the label of the opponent's action in rows that name none: the
// opponent has no choice there, its one action is number 0.
const onlyAction = -1

func (l *labels) name(id int32) string {
	if id == onlyAction {
		return "0"
	}
	return l.names[id]
}

// labelNumber returns the number that a label stands for.
func labelNumber(label string) (int, bool) {
	i, err := strconv.Atoi(label)
	return i, err == nil && i >= 0 && strconv.Itoa(i) == label
}

// add ends a row, whose successors from first on have been appended. Returns
// holds its d expected returns, outcomes d returns for each successor; one of
// the two is nil. Successors of probability 0 are dropped.
func (t *table) add(row tableRow, returns, outcomes []float64) {
	d, kept := t.dim, row.first
	row.outcomes = -1
	if hasTwins(t.next[row.first:]) {
		t.addUp(row.first, outcomes)
	}
	mean := returns
	if outcomes != nil {
		mean = make([]float64, d)
	}
	for e := row.first; e < len(t.next); e++ {
		if t.prob[e] == 0 {
			continue
		}
		t.next[kept], t.prob[kept] = t.next[e], t.prob[e]
		if outcomes != nil {
			o := outcomes[(e-row.first)*d : (e-row.first+1)*d]
			copy(outcomes[(kept-row.first)*d:], o)
			for i, r := range o {
				mean[i] += float64(t.prob[e] * r)
			}
		}
		kept++
	}
	t.next, t.prob = t.next[:kept], t.prob[:kept]
	row.end = kept
	if outcomes != nil {
		outcomes = outcomes[:(kept-row.first)*d]
		if saysMore(outcomes, mean, t.next[row.first:]) {
			row.outcomes = len(t.outcomes)
			t.outcomes = append(t.outcomes, outcomes...)
		}
	}
	row.values = len(t.values)
	t.values = append(t.values, mean...)
	t.rows = append(t.rows, row)
}

// addUp gives the first of several successors that are the same and have the same
// returns the sum of their probabilities, and 0 to the others.
func (t *table) addUp(first int, outcomes []float64) {
	before := make(map[int32][]int)
	returns := func(e int) []float64 {
		if outcomes == nil {
			return nil // all have those of the row
		}
		return outcomes[(e-first)*t.dim : (e-first+1)*t.dim]
	}
next:
	for e := first; e < len(t.next); e++ {
		if t.prob[e] == 0 {
			continue
		}
		same := before[t.next[e]]
		for _, b := range same {
			if sameBits(returns(b), returns(e)) {
				t.prob[b], t.prob[e] = t.prob[b]+t.prob[e], 0
				continue next
			}
		}
		before[t.next[e]] = append(same, e)
	}
}

// saysMore reports whether the returns of the outcomes are not all the mean, or
// a successor appears twice.
func saysMore(outcomes, mean []float64, next []int32) bool {
	for j, r := range outcomes {
		if math.Float64bits(r) != math.Float64bits(mean[j%len(mean)]) {
			return true
		}
	}
	return hasTwins(next)
}

func hasTwins(next []int32) bool {
	const few = 16
	if len(next) <= few {
		for j := range next {
			if slices.Contains(next[:j], next[j]) {
				return true
			}
		}
		return false
	}
	sorted := slices.Clone(next)
	slices.Sort(sorted)
	return len(slices.Compact(sorted)) < len(next)
}

// A choiceRows is the rows of one action of one state, in a game of one pair of
// actions: at most one for every step, which comes first, and one for each of some
// steps.
type choiceRows struct {
	label, opponent int32
	rows            []int // into table.rows, by step
}

// group sorts the rows by state, action and step: choices[first[s]:first[s+1]]
// are those of state s, in the order in which its actions are numbered. Rows that
// are given twice are handed to twice.
func (t *table) group(states int, twice func(first, second *tableRow)) (first []int, choices []choiceRows) {
	order := make([]int, len(t.rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare(t.rows[i].state, t.rows[j].state)
	})
	rank, against := make(map[int32]int32), make(map[int32]int32)
	first = make([]int, 1, states+1)
	for s, at := 0, 0; s < states; s++ {
		end := at
		for end < len(order) && int(t.rows[order[end]].state) == s {
			end++
		}
		own := order[at:end]
		at = end
		t.rank(own, rank, func(r *tableRow) int32 { return r.label })
		t.rank(own, against, func(r *tableRow) int32 { return r.opponent })
		slices.SortStableFunc(own, func(i, j int) int {
			x, y := &t.rows[i], &t.rows[j]
			return cmp.Or(cmp.Compare(rank[x.label], rank[y.label]),
				cmp.Compare(against[x.opponent], against[y.opponent]), cmp.Compare(x.step, y.step))
		})
		for k := 0; k < len(own); {
			n := k + 1
			for n < len(own) && t.rows[own[n]].samePair(&t.rows[own[k]]) {
				if x, y := &t.rows[own[n-1]], &t.rows[own[n]]; x.step == y.step {
					twice(x, y)
				}
				n++
			}
			choices = append(choices, choiceRows{t.rows[own[k]].label, t.rows[own[k]].opponent, own[k:n]})
			k = n
		}
		first = append(first, len(choices))
	}
	return first, choices
}

// rank orders the actions of a state: by number if they are 0, 1, … n−1, else
// by first appearance.
func (t *table) rank(own []int, rank map[int32]int32, label func(*tableRow) int32) {
	clear(rank)
	for _, i := range own {
		if l := label(&t.rows[i]); !has(rank, l) {
			rank[l] = int32(len(rank))
		}
	}
	for l := range rank {
		if n, ok := labelNumber(t.labels.name(l)); !ok || n >= len(rank) {
			return
		}
	}
	for l := range rank {
		n, _ := labelNumber(t.labels.name(l))
		rank[l] = int32(n)
	}
}

func (r *tableRow) samePair(x *tableRow) bool { return r.label == x.label && r.opponent == x.opponent }

func has(m map[int32]int32, k int32) bool {
	_, ok := m[k]
	return ok
}

// size returns how many successors the kernels of the given number of steps
// hold together.
func (t *table) size(choices []choiceRows, steps int) int {
	n := 0
	for _, c := range choices {
		uses := steps
		for k := len(c.rows) - 1; k >= 0; k-- {
			row := &t.rows[c.rows[k]]
			if row.step == cmdp.EveryStep {
				n += uses * (row.end - row.first)
			} else {
				n, uses = n+row.end-row.first, uses-1
			}
		}
	}
	return n
}
