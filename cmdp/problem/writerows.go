package problem

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"cmdpsolve/cmdp"
)

// transitions writes the rows state by state, its actions in their order, the row
// for every step before those for single ones.
func (f *writer) transitions() error {
	m := f.p.Model
	if m.Choices() == 0 {
		f.out.WriteString("transitions: []\n")
		return nil
	}
	f.out.WriteString("transitions:\n")
	kernels := f.p.steps()
	// If a model has a kernel for each step and all are alike, one choice is written
	// step by step, so that the model is read back with a kernel for each step.
	forced := kernels > 1 && f.alike(kernels)
	for s := range m.States() {
		agent, err := f.player(s, kernels, f.actions, f.p.ActionName)
		if err != nil {
			return err
		}
		if !f.game {
			for _, label := range agent.order {
				f.choice(s, [2]string{label}, kernels, &forced)
			}
			continue
		}
		opponent, err := f.player(s, kernels, f.p.offered, f.p.OpponentName)
		if err != nil {
			return err
		}
		pairs, err := f.pairs(s, kernels, agent, opponent)
		if err != nil {
			return err
		}
		for _, pair := range pairs {
			f.choice(s, pair, kernels, &forced)
		}
	}
	return nil
}

// alike reports whether the kernels of all steps are the same.
func (f *writer) alike(kernels int) bool {
	d := f.p.Model.Dim()
	first := f.p.Model.Kernel(0).Plain(d)
	for h := 1; h < kernels; h++ {
		k := f.p.Model.Kernel(h).Plain(d)
		if !slices.Equal(k.First, first.First) || !slices.Equal(k.Offset, first.Offset) ||
			!slices.Equal(k.Next, first.Next) ||
			!slices.Equal(k.Prob, first.Prob) || !slices.Equal(k.Returns, first.Returns) ||
			!slices.Equal(k.Outcomes, first.Outcomes) ||
			f.p.Actions != nil && !slices.Equal(f.p.Actions[h], f.p.Actions[0]) ||
			f.p.Opponents != nil && !slices.Equal(f.p.Opponents[h], f.p.Opponents[0]) {
			return false
		}
		for s := range f.p.Model.States() {
			if f.p.played().columns(h, s) != f.p.played().columns(0, s) {
				return false
			}
		}
	}
	return true
}

// actions returns how many actions the agent has.
func (f *writer) actions(h, s int) int {
	first, end := f.p.Model.Rows(h).Choices(s)
	return (end - first) / f.p.played().columns(h, s)
}

// A playerActions is the names of one player's actions in a state over all steps,
// in one order that agrees with that of every step.
type playerActions struct {
	order []string
	// before lists the names that must appear earlier in the file than a name, so
	// that reading numbers them alike; it is nil if the names are numbers.
	before map[string][]string
}

func (f *writer) player(s, kernels int, count func(h, s int) int,
	name func(h, s, i int) string) (playerActions, error) {
	p := playerActions{before: make(map[string][]string)}
	known := make(map[string]bool)
	for h := range kernels {
		fresh := false
		for i := range count(h, s) {
			own := name(h, s, i)
			if !known[own] {
				known[own] = true
				fresh = true
				p.order = append(p.order, own)
			}
			if i == 0 {
				continue
			}
			if last := name(h, s, i-1); !slices.Contains(p.before[own], last) {
				fresh = true
				p.before[own] = append(p.before[own], last)
			}
		}
		if !fresh {
			continue
		}
		order, cyclic := topological(p.order, p.before)
		if cyclic != "" {
			return p, fmt.Errorf("state %s: action %s is given twice, or in another order at step %d than before",
				f.p.StateName(s), cyclic, h+1)
		}
		p.order = order
	}
	if slices.ContainsFunc(p.order, func(l string) bool { n, ok := labelNumber(l); return !ok || n >= len(p.order) }) {
		return p, nil
	}
	// Reading takes numbers in their own order, wherever they stand.
	for h := range kernels {
		for i := 1; i < count(h, s); i++ {
			last, _ := labelNumber(name(h, s, i-1))
			if own, _ := labelNumber(name(h, s, i)); own <= last {
				return p, fmt.Errorf("state %s: actions are called %v: numbers must be in order", f.p.StateName(s),
					p.order)
			}
		}
	}
	for i := range p.order {
		p.order[i] = strconv.Itoa(i)
	}
	p.before = nil
	return p, nil
}

// topological returns names so that each comes after those before it, and otherwise as they are given. If that
// cannot be, it returns a name that comes before itself.
func topological(names []string, before map[string][]string) (order []string, cyclic string) {
	placed := make(map[string]bool)
	for len(order) < len(names) {
		found := len(order)
		for _, name := range names {
			waits := func(last string) bool { return !placed[last] }
			if !placed[name] && !slices.ContainsFunc(before[name], waits) {
				placed[name] = true
				order = append(order, name)
			}
		}
		if len(order) > found {
			continue
		}
		return nil, names[slices.IndexFunc(names, func(name string) bool { return !placed[name] })]
	}
	return order, ""
}

// pairs lists the pairs of actions of a state, at whatever step they are offered,
// so that the names of either player appear in order. Mostly this is the order of
// the choices; if players have other actions at other steps it may not be.
func (f *writer) pairs(s, kernels int, agent, opponent playerActions) ([][2]string, error) {
	var left [][2]string
	offered := make(map[[2]string]bool)
	for h := range kernels {
		for a := range f.actions(h, s) {
			for b := range f.p.offered(h, s) {
				offered[[2]string{f.p.ActionName(h, s, a), f.p.OpponentName(h, s, b)}] = true
			}
		}
	}
	for _, a := range agent.order {
		for _, b := range opponent.order {
			if pair := [2]string{a, b}; offered[pair] {
				left = append(left, pair)
			}
		}
	}
	var pairs [][2]string
	seen := [2]map[string]bool{make(map[string]bool), make(map[string]bool)}
	ready := func(i int, p playerActions, name string) bool {
		return seen[i][name] || !slices.ContainsFunc(p.before[name], func(b string) bool { return !seen[i][b] })
	}
	for len(left) > 0 {
		n := len(left)
		left = slices.DeleteFunc(left, func(pair [2]string) bool {
			if !ready(0, agent, pair[0]) || !ready(1, opponent, pair[1]) {
				return false
			}
			seen[0][pair[0]], seen[1][pair[1]] = true, true
			pairs = append(pairs, pair)
			return true
		})
		if len(left) == n {
			return nil, fmt.Errorf("state %s: no order of its rows gives the actions the numbers that they have",
				f.p.StateName(s))
		}
	}
	return pairs, nil
}

// choice writes the rows of one action of a state, in a game of one pair of
// actions. If every step has rows, the most frequent are written without a step
// and the others with theirs.
func (f *writer) choice(s int, labels [2]string, kernels int, forced *bool) {
	texts, count := make([]string, kernels), make(map[string]int)
	everywhere, most := true, ""
	for h := range kernels {
		texts[h] = f.row(h, s, labels)
		everywhere = everywhere && texts[h] != ""
		count[texts[h]]++
		if count[texts[h]] > count[most] {
			most = texts[h]
		}
	}
	head := append([]byte("  - {state: "), appendLabel(nil, f.p.StateName(s))...)
	head = appendLabel(append(head, ", action: "...), labels[0])
	if f.game {
		head = appendLabel(append(head, ", opponent: "...), labels[1])
	}
	if everywhere && !*forced {
		fmt.Fprintf(f.out, "%s, %s}\n", head, most)
	} else {
		most = ""
	}
	*forced = false
	for h, text := range texts {
		if text != most && text != "" {
			fmt.Fprintf(f.out, "%s, step: %d, %s}\n", head, h+1, text)
		}
	}
}

// row returns the text of a row after its step, or nothing if the state does not
// offer the choice at step h.
func (f *writer) row(h, s int, labels [2]string) string {
	for a := range f.actions(h, s) {
		if f.p.ActionName(h, s, a) != labels[0] {
			continue
		}
		rows, cols := f.p.Model.Rows(h), f.p.played().columns(h, s)
		first, _ := rows.Choices(s)
		for b := range cols {
			if !f.game || f.p.OpponentName(h, s, b) == labels[1] {
				return f.rowOf(h, first+a*cols+b)
			}
		}
	}
	return ""
}

func (f *writer) rowOf(h, c int) string {
	rows := f.p.Model.Rows(h)
	next, prob := rows.Row(c)
	returns := func(b []byte, of []float64) []byte {
		return (&Coefficients{List: of}).encode(append(b, ", returns: "...))
	}
	if saysMore(rows, c) {
		return string(appendAll([]byte("outcomes: "), "[]", len(next), func(b []byte, i int) []byte {
			b = append(appendNumber(append(b, "{probability: "...), prob[i]), ", next: "...)
			b = appendLabel(b, f.p.StateName(int(next[i])))
			return append(returns(b, rows.Outcome(c, i)), '}')
		}))
	}
	b := f.nextOf([]byte("next: "), h, c)
	if len(f.p.Given()) > 0 {
		b = returns(b, rows.Returns(c))
	}
	return string(b)
}

// saysMore reports whether the returns of the outcomes of a choice are not all the mean, or
// a successor appears twice.
func saysMore(rows *cmdp.Rows, c int) bool {
	next, _ := rows.Row(c)
	mean := rows.Returns(c)
	for i := range next {
		for j, r := range rows.Outcome(c, i) {
			if math.Float64bits(r) != math.Float64bits(mean[j]) {
				return true
			}
		}
	}
	sorted := slices.Sorted(slices.Values(next))
	return len(slices.Compact(sorted)) < len(next)
}
