package nasty

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
)

// A maker draws problems.
type maker struct {
	*rand.Rand
	p      *Problem
	names  []string // of the returns that rows give
	units  map[string]string
	values []string
	signs  map[string]int // 0 any, 1 never negative, -1 never positive
}

// generate draws a problem, and its question unless it is a game. Where the reference is too small for it, or
// knows no answer, it draws another. dropped counts those whose exact program takes too long.
func generate(rng *rand.Rand) (p *Problem, q *question, dropped int) {
	m := &maker{Rand: rng}
	if m.chance(0.06) {
		return generateGame(m), nil, 0
	}
	for found := false; !found; {
		not := answered(func() { p, q, found = m.question() })
		found = found && not == ""
		if not == tooLarge {
			dropped++
		}
	}
	return p, q, dropped
}

// question draws a problem with a goal and limits, and reports whether it asks something that can be answered.
func (m *maker) question() (p *Problem, q *question, ok bool) {
	p = m.problem()
	if !m.limits(ask(p)) {
		return nil, nil, false
	}
	if len(p.Returns) > 1 && m.chance(0.15) && !m.curved(ask(p)) {
		return nil, nil, false
	}
	q = ask(p)
	alternatives := 1
	for _, l := range q.limits {
		alternatives *= max(1, len(l))
	}
	most := 40
	if p.endless() {
		most = 6
	}
	if alternatives > most {
		return nil, nil, false
	}
	q.best(q.cost, q.limits)
	return p, q, true
}

// chance is true with probability p.
func (m *maker) chance(p float64) bool { return m.Float64() < p }

func pickOf[T any](m *maker, of ...T) T { return of[m.IntN(len(of))] }

func (m *maker) problem() *Problem {
	m.p = &Problem{Format: "cmdp/1", States: 1 + m.IntN(5), Returns: map[string]Return{}}
	m.names, m.units, m.signs = nil, map[string]string{}, map[string]int{}
	p := m.p
	switch k := m.Float64(); {
	case k < 0.45:
		p.Horizon = 1 + m.IntN(4)
	case k < 0.65:
		p.Discount = json.Number(pickOf(m, "0.5", "0.9", "0.99", "0.001", "0.999999", "0.9999999", "0.99999999",
			"0.999999999"))
	case k < 0.83:
		p.Discount = "1"
	default:
		p.Criterion = "average"
	}
	m.values = pickOf(m, []string{"0", "1", "2", "-1", "0.5"}, []string{"0", "0", "1", "1", "-1"},
		[]string{"0.1", "0.2", "0.3", "0.7", "-0.4", "0"},
		[]string{"0", "1", "2", "3"}, []string{"1", "1e-6", "0", "1e3", "-1"})
	// Returns of rows.
	for k := range 1 + m.IntN(3) {
		name := fmt.Sprintf("r%d", k)
		m.names = append(m.names, name)
		r := Return{}
		if p.Criterion == "average" && m.chance(0.25) {
			r.Criterion = "total"
		}
		p.Returns[name] = r
		m.units[name] = ""
		if m.chance(0.12) {
			m.units[name] = pickOf(m, "e-12", "e-6", "e3", "e9")
		}
		if p.Discount == "1" || r.Criterion == "total" {
			m.signs[name] = pickOf(m, 1, 1, -1, 0)
		} else {
			m.signs[name] = pickOf(m, 0, 0, 1, -1)
		}
	}
	m.start()
	m.rows()
	m.monitors()
	return p
}

// number draws a value of a return.
func (m *maker) number(name string) json.Number {
	v := m.values[m.IntN(len(m.values))]
	if m.signs[name] != 0 && v[0] == '-' {
		v = v[1:]
	}
	if v != "0" && m.signs[name] < 0 {
		v = "-" + v
	}
	if u := m.units[name]; v != "0" && u != "" {
		r := rat(json.Number(v))
		r.Mul(r, rat(json.Number("1"+u)))
		v = strconv.FormatFloat(float(r), 'g', 12, 64)
	}
	return json.Number(v)
}

// split draws probabilities of n things.
func (m *maker) split(n int) []json.Number {
	switch n {
	case 1:
		return []json.Number{"1"}
	case 2:
		return slices.Clone(pickOf(m, []json.Number{"0.5", "0.5"}, []json.Number{"0.9", "0.1"},
			[]json.Number{"0.25", "0.75"}, []json.Number{"0.3", "0.7"},
			[]json.Number{"0.999", "0.001"}, []json.Number{"0.5", "0.5"}, []json.Number{"0.000001", "0.999999"}))
	}
	return slices.Clone(pickOf(m, []json.Number{"0.5", "0.25", "0.25"}, []json.Number{"0.2", "0.3", "0.5"},
		[]json.Number{"0.1", "0.1", "0.8"}))
}

// next draws successors.
func (m *maker) next() ([]int, []json.Number) {
	n := min(m.p.States, pickOf(m, 1, 1, 2, 2, 3))
	to, p := m.Perm(m.p.States)[:n], m.split(n)
	if n < m.p.States && m.chance(0.06) { // what never happens
		to, p = m.Perm(m.p.States)[:n+1], append(p, "0")
	}
	return to, p
}

func (m *maker) start() {
	m.p.Start = map[string]json.Number{}
	if m.chance(0.6) {
		m.p.Start[strconv.Itoa(m.IntN(m.p.States))] = "1"
		return
	}
	to, p := m.next()
	for k, s := range to {
		m.p.Start[strconv.Itoa(s)] = p[k]
	}
}

func (m *maker) gives() map[string]json.Number {
	r := map[string]json.Number{}
	for _, name := range m.names {
		if x := m.number(name); x != "0" {
			r[name] = x
		}
	}
	return r
}

func (m *maker) rows() {
	p := m.p
	rest := m.IntN(2) * m.IntN(3) // how many states have no rows, mostly none
	steps := !p.endless() && m.chance(0.25)
	random := m.chance(0.35)
	relation := m.IntN(8) // between returns 0 and 1
	constant := m.chance(0.1)
	sure := m.number(m.names[len(m.names)-1])
	row := func(s, a, step int) Row {
		r := Row{State: s, Action: strconv.Itoa(a), Step: step}
		to, probabilities := m.next()
		gives := func() map[string]json.Number {
			g := m.gives()
			if constant {
				g[m.names[len(m.names)-1]] = sure
				if sure == "0" {
					delete(g, m.names[len(m.names)-1])
				}
			}
			if x, ok := g["r0"]; len(m.names) > 1 && m.p.Returns["r1"].Criterion == m.p.Returns["r0"].Criterion &&
				relation < 2 {
				delete(g, "r1")
				if ok {
					g["r1"] = x
					if relation == 1 {
						g["r1"] = negated(x)
					}
				}
			}
			return g
		}
		if random && m.chance(0.6) {
			for k, s := range to {
				r.Outcomes = append(r.Outcomes, Outcome{Probability: probabilities[k], Next: s, Returns: gives()})
			}
			return r
		}
		r.Next = map[string]json.Number{}
		for k, s := range to {
			r.Next[strconv.Itoa(s)] = probabilities[k]
		}
		r.Returns = gives()
		return r
	}
	for s := range p.States {
		if s >= p.States-rest {
			continue
		}
		for a := range 1 + m.IntN(3) {
			every := true
			if steps {
				for step := 1; step <= p.Horizon; step++ {
					if m.chance(0.4) {
						p.Transitions = append(p.Transitions, row(s, a, step))
					}
				}
				every = m.chance(0.7)
			}
			if every {
				p.Transitions = append(p.Transitions, row(s, a, 0))
			}
		}
	}
	if p.Transitions == nil {
		p.Transitions = append(p.Transitions, row(0, 0, 0))
	}
	m.renumber()
}

// renumber makes the actions of each state 0, 1, …, so that their names are as good as their numbers.
func (m *maker) renumber() {
	for s := range m.p.States {
		var found []string
		for k, r := range m.p.Transitions {
			if r.State != s {
				continue
			}
			at := slices.Index(found, r.Action)
			if at < 0 {
				at = len(found)
				found = append(found, r.Action)
			}
			m.p.Transitions[k].Action = strconv.Itoa(at)
		}
	}
}

func negated(x json.Number) json.Number {
	if x[0] == '-' {
		return x[1:]
	}
	return "-" + x
}

// states draws a set of states, perhaps none.
func (m *maker) states() any {
	var in []any
	for s := range m.p.States {
		if m.chance(0.35) {
			in = append(in, float64(s))
		}
	}
	if len(in) == 0 && m.chance(0.7) { // else no state
		in = append(in, float64(m.IntN(m.p.States)))
	}
	if in == nil {
		return []any{}
	}
	if m.chance(0.3) {
		name := fmt.Sprintf("label%d", len(m.p.Labels))
		if m.p.Labels == nil {
			m.p.Labels = map[string][]int{}
		}
		for _, s := range in {
			m.p.Labels[name] = append(m.p.Labels[name], int(s.(float64)))
		}
		return name
	}
	return in
}

func (m *maker) monitors() {
	p := m.p
	for k := range pickOf(m, 0, 0, 0, 1, 1, 2) {
		name := fmt.Sprintf("m%d", k)
		var r Return
		if p.Criterion == "average" {
			r.Criterion = "total"
		}
		of := &Above{m.names[m.IntN(len(m.names))], m.number(m.names[0])}
		if all := p.names(); m.chance(0.2) { // other monitors too
			of.Return = all[m.IntN(len(all))]
		}
		if p.endless() || !p.Returns[of.Return].given() {
			of.Limit = m.total(of.Return)
		}
		switch what := m.IntN(10); {
		case what < 3:
			r.Reach = m.states()
			if m.chance(0.4) {
				r.While = m.states()
			}
			r.Within = m.within()
		case what == 3:
			if p.endless() {
				continue
			}
			r.Visits = m.states()
		case what > 7:
			r.Total = m.addend()
			r.Within = m.within()
			if r.Within == nil || m.chance(0.4) {
				r.While = m.states()
			}
		case !m.told(of.Return):
			continue
		case what == 4:
			r.Exceeds = of
		case what == 5:
			r.Meets = of
		default:
			r.Excess = of
		}
		p.Returns[name] = r
	}
}

// addend draws a return that follows from no total.
func (m *maker) addend() string {
	names := slices.DeleteFunc(m.p.names(), func(name string) bool { return m.p.Returns[name].ofTotals() })
	return names[m.IntN(len(names))]
}

// within draws bounds on the way to a set, of steps and of what is spent.
func (m *maker) within() (bounds Bounds) {
	if m.chance(0.4) {
		bounds = append(bounds, Bound{AtMost: json.Number(strconv.Itoa(pickOf(m, 0, 1, 1, 2, 2, 3, 3)))})
	}
	if m.p.endless() && m.p.Discount != "1" || m.chance(0.5) {
		return bounds
	}
	names := m.p.names() // those of other sets too
	for _, k := range m.Perm(len(names))[:min(len(names), 1+m.IntN(2))] {
		name := names[k]
		r := m.p.Returns[name]
		_, falls := m.p.signs(name)
		if falls || r.ofTotals() {
			continue
		}
		most := json.Number(strconv.Itoa(m.IntN(3)))
		if slices.Contains(m.names, name) {
			most = exactly(math.Abs(float(rat(m.total(name)))))
		}
		if m.chance(0.1) {
			most = pickOf[json.Number](m, "0", "0.5", "1e9", "1e-9")
		}
		unit := m.p.unit(name)
		if many := mul(unit, big.NewRat(10_000, 1)); m.p.endless() && unit.Sign() > 0 && rat(most).Cmp(many) > 0 {
			continue // millions of amounts are right and take longer than a test may
		}
		bounds = append(bounds, Bound{name, most})
	}
	return bounds
}

// told reports whether an episode has a total of a return that limits can be about.
func (m *maker) told(name string) bool {
	r := m.p.Returns[name]
	if r.outOf() != nil {
		return false
	}
	up, down := m.p.signs(name)
	return !m.p.endless() || !(up && down) && (m.p.Discount == "1" || r.Criterion == "total")
}

// total draws what a few steps may give.
func (m *maker) total(name string) json.Number {
	r := m.p.Returns[name]
	switch {
	case r.Total != "":
		return m.total(r.Total)
	case !r.given():
		return json.Number(strconv.Itoa(m.IntN(3)))
	}
	sum := new(big.Rat)
	for range 1 + m.IntN(3) {
		sum.Add(sum, rat(m.number(name)))
	}
	return exactly(float(sum))
}

// limits adds goal and constraints at places that matter: extremes of what can be returned, inside and
// beyond them. It reports whether the problem has an answer that the reference knows.
func (m *maker) limits(q *question) bool {
	p := m.p
	all := p.names()
	switch m.IntN(8) {
	case 0: // no goal
	case 1, 2, 3:
		p.Goal = &Goal{Minimize: all[m.IntN(len(all))]}
	default:
		p.Goal = &Goal{Maximize: all[m.IntN(len(all))]}
	}
	if p.Goal != nil && p.undiscounted() && m.chance(0.5) { // what may have no bound is seldom met by chance
		for _, name := range all {
			low, high := q.extent(q.graph().index[name])
			switch {
			case low == nil && high != nil:
				p.Goal = &Goal{Minimize: name}
			case high == nil && low != nil:
				p.Goal = &Goal{Maximize: name}
			}
		}
	}
	n := pickOf(m, 0, 1, 1, 2, 2, 2, 3, 3)
	if p.Goal == nil {
		n = max(n, 1)
	}
	for range n {
		name := all[m.IntN(len(all))]
		if len(p.Constraints) > 0 && m.chance(0.3) {
			name = p.Constraints[0].Return
		}
		l := Limit{Return: name}
		below := m.chance(0.5)
		kind, whole := m.IntN(4), m.chance(0.5)
		before := slices.IndexFunc(p.Constraints, Limit.whole)
		if before >= 0 && m.chance(0.5) { // two of a kind, on the same return or on another
			whole = true
			switch o := p.Constraints[before]; {
			case o.Always:
				kind = 0
			case o.Probability != "":
				kind = 1
			default:
				kind = 2
			}
		}
		var x json.Number
		if m.told(name) && whole {
			totals := m.totals(name)
			if totals == nil {
				return false
			}
			x = rounded(float(totals[m.IntN(len(totals))]))
			switch kind {
			case 0:
				l.Always = true
			case 1:
				l.Probability = pickOf[json.Number](m, "0.9", "0.5", "0.99", "1", "0.1", "0.75")
			default:
				l.CVaR = pickOf[json.Number](m, "0.1", "0.5", "0.25", "1", "0.9", "0.01")
				if len(totals) > 1 && m.chance(0.5) { // between two totals
					k := m.IntN(len(totals) - 1)
					x = rounded((float(totals[k]) + float(totals[k+1])) / 2)
				}
			}
		} else {
			low, high := q.extent(q.graph().index[name])
			x = m.bound(low, high)
		}
		same := func(o Limit) bool {
			return o.Return == l.Return && (o.AtMost == "") != below && o.Always == l.Always &&
				(o.CVaR != "") == (l.CVaR != "") && (o.Probability != "") == (l.Probability != "")
		}
		if slices.ContainsFunc(p.Constraints, same) {
			continue
		}
		if below {
			l.AtMost = x
		} else {
			l.AtLeast = x
		}
		p.Constraints = append(p.Constraints, l)
	}
	return p.Goal != nil || len(p.Constraints) > 0
}

// totals are those that episodes may end with, or some of them without a horizon.
func (m *maker) totals(name string) []*big.Rat {
	if m.p.endless() {
		return []*big.Rat{rat(m.total(name)), rat(m.total(name))}
	}
	probe := m.p.clone()
	probe.Constraints = []Limit{{Return: name, AtMost: "0", Always: true}}
	totals := unroll(probe, probe.most()).support[name]
	if len(totals) > 12 {
		return nil
	}
	return totals
}

// bound draws a limit between two extremes, at one of them, or beyond. nil is no extreme.
func (m *maker) bound(low, high *big.Rat) json.Number {
	a, b := 0.0, 1.0
	if low != nil {
		a = float(low)
		if high == nil {
			b = a + 1 + math.Abs(a)
		}
	}
	if high != nil {
		b = float(high)
		if low == nil {
			a = b - 1 - math.Abs(b)
		}
	}
	width := b - a
	if width == 0 {
		width = max(1, math.Abs(a))
		if a != 0 && m.chance(0.5) {
			width = math.Abs(a)
		}
	}
	switch m.IntN(12) {
	case 0:
		return exactly(a)
	case 1:
		return exactly(b)
	case 2:
		return rounded(b + width*0.1)
	case 3:
		return rounded(a - width*0.1)
	case 4:
		return pickOf[json.Number](m, "1e9", "-1e9", "0")
	case 5:
		return rounded((a + b) / 2)
	}
	return rounded(a + (b-a)*(0.02+0.96*m.Float64()))
}

func exactly(x float64) json.Number { return json.Number(strconv.FormatFloat(x, 'g', -1, 64)) }
func rounded(x float64) json.Number { return json.Number(strconv.FormatFloat(x, 'g', 4, 64)) }
