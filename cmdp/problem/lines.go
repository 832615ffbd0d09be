package problem

import (
	"fmt"
	"math"
	"strconv"

	"cmdpsolve/cmdp"
)

// lines collects transitions given one by one, each with its probability and
// returns, and groups them to rows. Lines of one group need not be neighbours.
type lines struct {
	*rowReader
	groups []lineGroup
	index  map[groupKey]int32
	last   int32 // the group of the last line: mostly the next one's too
	of     []int32
	next   []int32
	prob   []float64
	values []float64 // d for each line
	number []int32   // of each line, for errors
	// locate says where line number n stands.
	locate func(n int) (line int, key string)
}

type groupKey struct{ step, state, label, opponent int32 }

type lineGroup struct {
	groupKey
	count int
}

func newLines(r *rowReader, locate func(n int) (int, string)) *lines {
	return &lines{rowReader: r, index: make(map[groupKey]int32), last: -1, locate: locate}
}

// add adds a line. The returns are copied.
func (l *lines) add(key groupKey, next int32, prob float64, returns []float64, number int) {
	g := l.last
	if g < 0 || l.groups[g].groupKey != key {
		var ok bool
		if g, ok = l.index[key]; !ok {
			g = int32(len(l.groups))
			l.index[key] = g
			l.groups = append(l.groups, lineGroup{groupKey: key})
		}
		l.last = g
	}
	l.groups[g].count++
	l.of, l.next, l.prob = append(l.of, g), append(l.next, next), append(l.prob, prob)
	l.values = append(l.values, returns...)
	l.number = append(l.number, int32(number))
}

// finish adds the groups to the table, in order of their first lines.
func (l *lines) finish() {
	start := make([]int, len(l.groups)+1)
	for g, group := range l.groups {
		start[g+1] = start[g] + group.count
	}
	order := make([]int32, len(l.of))
	fill := append([]int(nil), start...)
	for i, g := range l.of {
		order[fill[g]] = int32(i)
		fill[g]++
	}
	for g, group := range l.groups {
		l.row(group.groupKey, order[start[g]:start[g+1]])
	}
}

// row adds the row that the given lines make. Their returns are the expected
// returns of the row if they are all the same, else those of its outcomes.
func (l *lines) row(key groupKey, members []int32) {
	t, d := &l.table, l.table.dim
	line, at := l.locate(int(l.number[members[0]]))
	row := tableRow{step: key.step, state: key.state, label: key.label, opponent: key.opponent, first: len(t.next),
		where: where{l.file, line, 0, -1}}
	sum, same := 0.0, true
	first := l.values[int(members[0])*d : (int(members[0])+1)*d]
	l.outcomes = l.outcomes[:0]
	for _, i := range members {
		t.next, t.prob = append(t.next, l.next[i]), append(t.prob, l.prob[i])
		sum += l.prob[i]
		values := l.values[int(i)*d : (int(i)+1)*d]
		l.outcomes = append(l.outcomes, values...)
		same = same && sameBits(values, first)
	}
	if math.Abs(sum-1) > cmdp.ProbabilityTolerance {
		l.report(&Error{File: l.file, Line: line, Key: at, Message: fmt.Sprintf(
			"%s: the probabilities sum to %.12g: want 1", l.describe(key), sum)})
		t.next, t.prob = t.next[:row.first], t.prob[:row.first]
		return
	}
	switch {
	case same:
		t.add(row, append([]float64(nil), first...), nil)
	default:
		t.add(row, nil, l.outcomes)
	}
}

func sameBits(x, y []float64) bool {
	for i := range x {
		if math.Float64bits(x[i]) != math.Float64bits(y[i]) {
			return false
		}
	}
	return true
}

// describe names a row in a message.
func (r *rowReader) describe(key groupKey) string {
	state := strconv.Itoa(int(key.state))
	if r.p.States != nil {
		state = r.p.States[key.state]
	}
	s := "state " + state + ", action " + r.table.labels.names[key.label]
	if r.game {
		s += " against " + r.table.labels.name(key.opponent)
	}
	if key.step != cmdp.EveryStep {
		s += ", step " + strconv.Itoa(int(key.step)+1)
	}
	return s
}
