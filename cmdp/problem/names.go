package problem

import (
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/cmdp"
)

// StateName returns the name of a state, its number if states have no names.
func (p *Problem) StateName(s int) string {
	switch {
	case p.States != nil:
		return p.States[s]
	case p.Described != nil:
		return p.Described.StateName(s)
	}
	return strconv.Itoa(s)
}

// ActionName returns the name of action a of state s at the 0-based step h, its
// number if actions have no names. In a game it is the agent's.
func (p *Problem) ActionName(h, s, a int) string {
	if p.Actions == nil {
		return strconv.Itoa(a)
	}
	first, _ := p.Model.Rows(h).Choices(s)
	return p.Actions[min(h, len(p.Actions)-1)][first+a*p.played().columns(h, s)]
}

func numbered(names []string) map[string]int {
	of := make(map[string]int, len(names))
	for i, name := range names {
		of[name] = i
	}
	return of
}

// A stateIndex finds states by their names.
type stateIndex interface {
	Find(name string) (state int, ok bool)
}

// listed are states whose names are listed.
type listed map[string]int

func (l listed) Find(name string) (state int, ok bool) {
	state, ok = l[name]
	return state, ok
}

// stateIndex returns what finds the states of the problem.
func (p *Problem) stateIndex() stateIndex {
	if p.States == nil && p.Described != nil {
		return p.Described
	}
	return listed(numbered(p.States))
}

// stateNames lists the names of all states; nil if they are numbered.
func (p *Problem) stateNames() []string {
	if p.States != nil || p.Described == nil {
		return p.States
	}
	names := make([]string, p.played().states())
	for s := range names {
		names[s] = p.Described.StateName(s)
	}
	return names
}

// stateNamed returns the state, of so many, that has a name or else a number in text.
func stateNamed(text string, names stateIndex, states int) (int, bool) {
	if names != nil {
		if s, ok := names.Find(text); ok {
			return s, true
		}
	}
	s, ok := labelNumber(text)
	return s, ok && s < states
}

// OpponentName returns the name of action b of the opponent, as ActionName does
// those of the agent.
func (p *Problem) OpponentName(h, s, b int) string {
	if p.Opponents == nil {
		return strconv.Itoa(b)
	}
	first, _ := p.Model.Rows(h).Choices(s)
	return p.Opponents[min(h, len(p.Opponents)-1)][first+b]
}

// steps returns the number of stored kernels.
func (p *Problem) steps() int {
	if p.Model.Stationary() {
		return 1
	}
	return p.Model.Horizon()
}

// labels numbers the names of one player's actions in order of appearance.
type labels struct {
	names  []string
	number []int // that the name is, or -1
	ids    map[string]int
	small  []int // one more than the label of a small number, 0 if it has none yet
}

func (l *labels) id(name string) int {
	id, ok := l.ids[name]
	if !ok {
		if l.ids == nil {
			l.ids = make(map[string]int)
		}
		id = len(l.names)
		number, isNumber := labelNumber(name)
		if !isNumber {
			number = -1
		}
		name = strings.Clone(name) // not the text of a whole file
		l.ids[name] = id
		l.names, l.number = append(l.names, name), append(l.number, number)
	}
	return id
}

// numbered is id for an action that is called by a number.
func (l *labels) numbered(n int) int {
	const most = 1 << 12
	if n >= most {
		return l.id(strconv.Itoa(n))
	}
	for n >= len(l.small) {
		l.small = append(l.small, 0)
	}
	if l.small[n] == 0 {
		l.small[n] = l.id(strconv.Itoa(n)) + 1
	}
	return l.small[n] - 1
}

// numberAll replaces names that are numbers by what numbered returns for them.
func (l *labels) numberAll(names []int32) {
	for i, n := range names {
		names[i] = int32(l.numbered(int(n)))
	}
}

// order puts the actions of a state in order: by number if they are 0, 1, … n−1, else as
// they are, by first appearance.
func (l *labels) order(ids []int32) {
	for _, id := range ids {
		if n := l.number[id]; n < 0 || n >= len(ids) {
			return
		}
	}
	slices.SortFunc(ids, func(x, y int32) int { return l.number[x] - l.number[y] })
}

// spelled returns the names of the choices of each kernel, or nil if all of them are
// called by their own number, which number tells.
func (l *labels) spelled(kernels [][]int32, number func(h, c int) int) [][]string {
	own := true
	for h := 0; h < len(kernels) && own; h++ {
		for c, id := range kernels[h] {
			own = l.number[id] == number(h, c)
			if !own {
				break
			}
		}
	}
	if own {
		return nil
	}
	all := make([][]string, len(kernels))
	for h, ids := range kernels {
		if h > 0 && slices.Equal(ids, kernels[h-1]) {
			all[h] = all[h-1]
			continue
		}
		all[h] = make([]string, len(ids))
		for c, id := range ids {
			all[h][c] = l.names[id]
		}
	}
	return all
}

// longestNumber is how many digits the number of a label has at most.
const longestNumber = 18

// labelNumber returns the number that a label stands for.
func labelNumber(label string) (int, bool) {
	if label == "" || len(label) > 1 && label[0] == '0' || len(label) > longestNumber {
		return 0, false
	}
	n := 0
	for i := range len(label) {
		if label[i] < '0' || label[i] > '9' {
			return 0, false
		}
		n = n*10 + int(label[i]-'0')
	}
	return n, true
}

// nameActions sets the names of the actions of p, whose model has been built.
func (r *rowReader) nameActions(p *Problem, names *cmdp.Names) {
	// in returns the number of a choice within its state, and how many actions the
	// opponent has there. Choices are asked for in order.
	s, at := 0, -1
	in := func(h, c int) (int, int) {
		rows := p.Model.Rows(h)
		if h != at || c == 0 {
			s, at = 0, h
		}
		first, end := rows.Choices(s)
		for end <= c {
			s++
			first, end = rows.Choices(s)
		}
		return c - first, p.played().columns(h, s)
	}
	p.Actions = r.agent.spelled(names.Agent, func(h, c int) int { i, n := in(h, c); return i / n })
	if names.Opponent != nil {
		p.Opponents = r.opponent.spelled(names.Opponent, func(h, c int) int { i, n := in(h, c); return i % n })
	}
}
