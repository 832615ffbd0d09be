package nasty

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// A graph is a problem with everything that has happened written into its nodes: the step, the state, what
// was reached, and the exact totals so far. A coordinate is a return or, for limits on whole episodes, the
// chance or the mean of something about a total. All of them are expected values of the policy.
type graph struct {
	problem *Problem
	coords  []coordinate
	index   map[string]int // of coordinates by name
	nodes   []*node        // with a horizon in the order of steps
	start   []*big.Rat     // chance of each node at the start
	fixed   []*big.Rat     // what each coordinate has at the start already
	gamma   *big.Rat
	support map[string][]*big.Rat // totals that an episode may end with, and without a horizon those on the way
	values  map[string]map[string]bool
}

// A coordinate is a return, or an event function of the final total of one.
type coordinate struct {
	name   string
	of     string // the return whose final total this is about, or ""
	kind   string // above, below, meets, excess, shortfall
	at     *big.Rat
	total  bool // with averages: a total
	reach  bool
	sums   string // the return whose total counts for a while, or ""
	visits map[int]bool
}

// followed reports whether the nodes tell what has become of the coordinate.
func (c coordinate) followed() bool { return c.reach || c.sums != "" }

// A node is a state with its past.
type node struct {
	step    int // from 1; without a horizon 1 at the start if something is remembered, else 0
	state   int
	reached []string // of each coordinate: "pending" with what is left of each bound, "won", "lost", or nothing
	totals  map[string]*big.Rat
	final   map[string]*[2]*big.Rat // the least and the greatest total that an episode may end with from here on
	choices []*choice
	loops   []string // what a policy remembers of loops
	memory  string   // what the row for the node says, of all that
	settled int      // how much a policy has told in words before
	words   int      // how much it tells in words
	last    bool     // the episode is over
}

// A choice is an action, with the expected coordinates of the step.
type choice struct {
	action   string
	branches []branch
	gives    []*big.Rat
}

type branch struct {
	p    *big.Rat
	node int
	row  map[string]*big.Rat // what is received, for totals
}

// unroll makes the graph of a problem without opponents.
func unroll(p *Problem, most int) *graph {
	g := unrollWith(p, most, nil)
	if !slices.ContainsFunc(p.Constraints, Limit.whole) {
		return g
	}
	return unrollWith(p, most, g.support)
}

// unrollWith is unroll where the worst episodes begin at one of the totals in support; without, these are found.
func unrollWith(p *Problem, most int, support map[string][]*big.Rat) *graph {
	g := &graph{problem: p, index: map[string]int{}, gamma: big.NewRat(1, 1), values: map[string]map[string]bool{}}
	if p.Discount != "" {
		g.gamma = ratOf(float(rat(p.Discount))) // 1 − γ is what matters, and floating point rounds it
	}
	for _, name := range p.names() {
		r := p.Returns[name]
		c := coordinate{name: name, reach: r.Reach != nil, sums: r.Total, total: p.Criterion != "average" || r.Criterion == "total"}
		switch {
		case r.Visits != nil:
			c.visits = p.set(r.Visits)
		case r.Exceeds != nil:
			c.of, c.kind, c.at = r.Exceeds.Return, "above", rat(r.Exceeds.Limit)
		case r.Meets != nil:
			c.of, c.kind, c.at = r.Meets.Return, "meets", rat(r.Meets.Limit)
		case r.Excess != nil:
			c.of, c.kind, c.at = r.Excess.Return, "excess", rat(r.Excess.Limit)
		}
		g.coordinate(c)
	}
	for _, l := range p.Constraints {
		if !l.whole() {
			continue
		}
		kinds, bounds := [2]string{"above", "excess"}, []*big.Rat{rat(l.AtMost)}
		if l.AtMost == "" {
			kinds, bounds = [2]string{"below", "shortfall"}, []*big.Rat{rat(l.AtLeast)}
		}
		kind := kinds[0]
		if l.CVaR != "" {
			kind, bounds = kinds[1], support[l.Return]
		}
		g.coordinate(coordinate{name: "?" + l.Return, of: l.Return, kind: "none"})
		for _, b := range bounds {
			g.coordinate(coordinate{name: coordName(kind, l.Return, b), of: l.Return, kind: kind, at: b, total: true})
		}
	}
	settled := g.settledAt(support != nil)
	g.fixed = vector(len(g.coords))
	rows := map[[2]int][]Row{}
	for _, r := range p.Transitions {
		rows[[2]int{r.State, r.Step}] = append(rows[[2]int{r.State, r.Step}], r)
	}
	known := map[string]int{}
	enter := func(step, state int, before *node, received map[string]*big.Rat) (int, []*big.Rat) {
		n := &node{step: step, state: state, reached: make([]string, len(g.coords)), totals: map[string]*big.Rat{}}
		gives := vector(len(g.coords))
		spent := maps.Clone(received) // with what monitors give
		if spent == nil {
			spent = map[string]*big.Rat{}
		}
		for i, c := range g.coords {
			if before != nil && c.visits[before.state] {
				spent[c.name] = big.NewRat(1, 1)
			}
			if c.reach && !p.Returns[c.name].Within.spends() {
				g.arrive(n, before, i, nil, gives)
				spent[c.name] = gives[i]
			}
		}
		for i, c := range g.coords {
			if c.sums != "" || c.reach && p.Returns[c.name].Within.spends() {
				g.arrive(n, before, i, spent, gives)
			}
		}
		for i, c := range g.coords {
			if c.followed() { // bounds are about none of those above
				spent[c.name] = gives[i]
			}
		}
		for i, c := range g.coords {
			if c.of != "" { // each step gives the change of what the total comes to
				t := new(big.Rat)
				if before != nil {
					t.Set(before.totals[c.of])
					gives[i].Sub(gives[i], c.value(t))
				}
				if r := spent[c.of]; r != nil {
					t.Add(t, r)
				}
				gives[i].Add(gives[i], c.value(t))
				n.totals[c.of] = t
			}
		}
		n.last = !p.endless() && step > p.Horizon
		for name, t := range n.totals {
			if (n.last || p.endless()) && !settled[name].beyond(t) {
				if g.values[name] == nil {
					g.values[name] = map[string]bool{}
				}
				g.values[name][t.RatString()] = true
			}
		}
		key := fmt.Sprint(n.step, n.state, n.reached, n.last)
		for _, name := range slices.Sorted(maps.Keys(n.totals)) {
			key += " " + settled[name].key(n.totals[name])
		}
		id, ok := known[key]
		if !ok {
			id = len(g.nodes)
			known[key] = id
			g.nodes = append(g.nodes, n)
			g.start = append(g.start, new(big.Rat))
		}
		return id, gives
	}
	// Policies may tell the start from later where something is remembered.
	first := 0
	if !p.endless() || slices.ContainsFunc(g.coords, func(c coordinate) bool { return c.followed() || c.of != "" }) {
		first = 1
	}
	for _, s := range slices.Sorted(maps.Keys(p.Start)) {
		if sign(p.Start[s]) == 0 {
			continue
		}
		state, _ := strconv.Atoi(s)
		id, gives := enter(first, state, nil, nil)
		g.start[id].Add(g.start[id], rat(p.Start[s]))
		for i := range gives {
			addMul(g.fixed[i], rat(p.Start[s]), gives[i])
		}
	}
	for id := 0; id < len(g.nodes); id++ {
		n := g.nodes[id]
		if len(g.nodes) > most {
			panic(unknown("too many histories"))
		}
		if n.last {
			continue
		}
		next := n.step + 1
		if p.endless() {
			next = 0
		}
		for _, r := range rowsAt(rows, n.state, n.step) {
			c := &choice{action: r.Action, gives: vector(len(g.coords))}
			for _, o := range r.outcomes() {
				if sign(o.Probability) == 0 {
					continue
				}
				received := map[string]*big.Rat{}
				for name, x := range o.Returns {
					received[name] = rat(x)
				}
				to, gives := enter(next, o.Next, n, received)
				c.branches = append(c.branches, branch{rat(o.Probability), to, received})
				for i, co := range g.coords {
					if x := received[co.name]; x != nil {
						addMul(c.gives[i], rat(o.Probability), x)
					}
					w := rat(o.Probability)
					if p.endless() && (co.sums == "" || g.coords[g.index[co.sums]].reach) {
						w.Mul(w, g.gamma) // what happens on arrival happens a step later
					}
					addMul(c.gives[i], w, gives[i])
				}
			}
			n.choices = append(n.choices, c)
		}
		if n.choices == nil && !p.endless() { // rest
			c := &choice{gives: vector(len(g.coords))}
			to, gives := enter(next, n.state, n, nil)
			c.branches = []branch{{big.NewRat(1, 1), to, nil}}
			for i := range gives {
				c.gives[i].Add(c.gives[i], gives[i])
			}
			n.choices = []*choice{c}
		}
		for i, co := range g.coords {
			if co.visits[n.state] {
				for _, c := range n.choices {
					c.gives[i].Add(c.gives[i], big.NewRat(1, 1))
				}
			}
		}
	}
	g.findFinal()
	g.support = map[string][]*big.Rat{}
	for name, values := range g.values {
		for v := range values {
			r, _ := new(big.Rat).SetString(v)
			g.support[name] = append(g.support[name], r)
		}
		slices.SortFunc(g.support[name], (*big.Rat).Cmp)
	}
	return g
}

// ends are where a total without a horizon, which goes one way, no longer matters: what is beyond is all the same.
type ends struct {
	sign int      // of the total, 0 if it is told to the end
	last *big.Rat // the last total that matters
}

func (e ends) beyond(t *big.Rat) bool { return e.sign != 0 && t.Cmp(e.last)*e.sign > 0 }

// key tells totals apart, but for those beyond.
func (e ends) key(t *big.Rat) string {
	if e.beyond(t) {
		return "beyond"
	}
	return t.RatString()
}

// findFinal finds the totals that episodes may end with from each node on: those of the nodes that are the
// last, that rest, or to which an episode may come again, since no total changes on such a way.
func (g *graph) findFinal() {
	reach := make([]map[int]bool, len(g.nodes))
	for id := range g.nodes {
		reach[id] = map[int]bool{}
		g.follow(id, reach[id])
	}
	for id, n := range g.nodes {
		n.final = map[string]*[2]*big.Rat{}
		note := func(at *node) {
			for name, t := range at.totals {
				f := n.final[name]
				if f == nil {
					f = &[2]*big.Rat{t, t}
					n.final[name] = f
				}
				if t.Cmp(f[0]) < 0 {
					f[0] = t
				}
				if t.Cmp(f[1]) > 0 {
					f[1] = t
				}
			}
		}
		if n.choices == nil {
			note(n)
		}
		for to := range reach[id] {
			if g.nodes[to].choices == nil || reach[to][to] {
				note(g.nodes[to])
			}
		}
	}
}

// follow marks the nodes that some way from a node leads to.
func (g *graph) follow(id int, marked map[int]bool) {
	for _, c := range g.nodes[id].choices {
		for _, b := range c.branches {
			if !marked[b.node] {
				marked[b.node] = true
				g.follow(b.node, marked)
			}
		}
	}
}

// settledAt says of each return whose total is looked at where it no longer matters. Where the worst episodes
// begin is not known at first: they may begin at any total up to the bound of their mean or, on the other side,
// from it on.
func (g *graph) settledAt(known bool) map[string]ends {
	p, all := g.problem, map[string]ends{}
	if !p.endless() {
		return all
	}
	for _, c := range g.coords {
		if c.of == "" {
			continue
		}
		e, ok := all[c.of]
		if !ok {
			e = ends{p.signOf(c.of), new(big.Rat)}
		}
		if c.at != nil && c.at.Cmp(e.last)*e.sign > 0 {
			e.last = c.at
		}
		all[c.of] = e
	}
	for _, l := range p.Constraints {
		if l.CVaR == "" || known {
			continue
		}
		e, bound := all[l.Return], rat(l.AtMost)
		if (l.AtMost == "") == (e.sign > 0) {
			e.sign = 0
		} else {
			bound = add(bound, rat(l.AtLeast))
			if bound.Cmp(e.last)*e.sign > 0 {
				e.last = bound
			}
		}
		all[l.Return] = e
	}
	return all
}

// signOf is the sign of all that rows give of a return, 1 if it is nothing.
func (p *Problem) signOf(name string) int {
	up, down := p.signs(name)
	if up && down {
		panic(unknown("a total of an endless episode that goes up and down"))
	}
	if down {
		return -1
	}
	return 1
}

// signs reports whether some step may give more than nothing of a return, and whether some may give less.
func (p *Problem) signs(name string) (up, down bool) {
	switch r := p.Returns[name]; {
	case r.Total != "":
		return p.signs(r.Total)
	case !r.given():
		return true, false
	}
	for _, r := range p.Transitions {
		for _, o := range r.outcomes() {
			s := sign(o.Returns[name])
			up, down = up || s > 0, down || s < 0
		}
	}
	return up, down
}

func (g *graph) coordinate(c coordinate) {
	if _, ok := g.index[c.name]; ok {
		return
	}
	g.index[c.name] = len(g.coords)
	g.coords = append(g.coords, c)
}

func coordName(kind, of string, at *big.Rat) string { return kind + " " + of + " " + at.RatString() }

// value is the coordinate of an episode that ends with a total.
func (c coordinate) value(total *big.Rat) *big.Rat {
	if c.kind == "none" {
		return new(big.Rat)
	}
	d := sub(total, c.at)
	switch {
	case c.kind == "above" && d.Sign() > 0, c.kind == "below" && d.Sign() < 0, c.kind == "meets" && d.Sign() >= 0:
		return big.NewRat(1, 1)
	case c.kind == "excess" && d.Sign() > 0:
		return d
	case c.kind == "shortfall" && d.Sign() < 0:
		return d.Neg(d)
	}
	return new(big.Rat)
}

// arrive finds what has become of a return that is reached, or whose total counts for a while, and what it gives now.
func (g *graph) arrive(n, before *node, i int, spent map[string]*big.Rat, gives []*big.Rat) {
	past, c := before.past(i), g.coords[i]
	r := g.problem.Returns[c.name]
	n.reached[i] = r.after(g.problem, past, n.state, spent)
	switch given := spent[c.sums]; {
	case past != "won" && n.reached[i] == "won":
		gives[i].SetInt64(1)
	case c.sums != "" && given != nil && past != "lost" && r.affords(past, spent):
		gives[i].Set(given)
	}
}

// affords reports whether the bounds hold with what a step has spent.
func (r Return) affords(before string, spent map[string]*big.Rat) bool {
	past := strings.Fields(before)
	for k, w := range r.Within {
		left := rat(w.AtMost)
		if before != "" {
			left = rat(json.Number(past[k+1]))
		}
		if w.Return != "" && left.Cmp(cmp.Or(spent[w.Return], new(big.Rat))) < 0 {
			return false
		}
	}
	return true
}

// past is what was reached before, "" at the start.
func (n *node) past(i int) string {
	if n == nil {
		return ""
	}
	return n.reached[i]
}

// after says what has become of the return when the process comes to a state: "won", "lost", or what is left of
// each bound, of which the step has spent some.
func (r Return) after(p *Problem, before string, state int, spent map[string]*big.Rat) string {
	if before == "won" || before == "lost" {
		return before
	}
	past, now, out := strings.Fields(before), "pending", false
	for k, w := range r.Within {
		left := rat(w.AtMost)
		if before != "" {
			left = rat(json.Number(past[k+1]))
		}
		switch {
		case w.Return != "":
			addMul(left, big.NewRat(-1, 1), cmp.Or(spent[w.Return], new(big.Rat)))
			if left.Sign() < 0 {
				return "lost"
			}
		case before != "":
			left.Sub(left, big.NewRat(1, 1))
		}
		out = out || w.Return == "" && left.Sign() == 0
		now += " " + left.RatString()
	}
	switch {
	case p.set(r.Reach)[state]:
		return "won"
	case out, r.While != nil && !p.set(r.While)[state]:
		return "lost"
	}
	return now
}

// unit is the largest of which all amounts of a return are multiples, 0 if there is none.
func (p *Problem) unit(name string) *big.Rat {
	unit := new(big.Rat)
	for _, r := range p.Transitions {
		for _, o := range r.outcomes() {
			for x := rat(o.Returns[name]); x.Sign() != 0; { // Euclid's algorithm
				rest := new(big.Rat).Quo(unit, x)
				whole := new(big.Int).Quo(rest.Num(), rest.Denom())
				unit, x = x, sub(unit, mul(x, new(big.Rat).SetInt(whole)))
			}
		}
	}
	return unit.Abs(unit)
}

// rowsAt are the rows of a state at a step: those of the step replace those of every step, action by action.
func rowsAt(rows map[[2]int][]Row, state, step int) []Row {
	own := rows[[2]int{state, step}]
	if step == 0 {
		return own
	}
	all := slices.Clone(own)
	for _, r := range rows[[2]int{state, 0}] {
		if !slices.ContainsFunc(own, func(o Row) bool { return o.Action == r.Action && o.Opponent == r.Opponent }) {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b Row) int { return strings.Compare(a.Action, b.Action) })
	return all
}

// outcomes are those of a row in either form.
func (r Row) outcomes() []Outcome {
	if r.Outcomes != nil {
		return r.Outcomes
	}
	var out []Outcome
	for _, s := range slices.Sorted(maps.Keys(r.Next)) {
		to, _ := strconv.Atoi(s)
		out = append(out, Outcome{Probability: r.Next[s], Next: to, Returns: r.Returns})
	}
	return out
}
