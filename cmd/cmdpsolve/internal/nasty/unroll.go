package nasty

import (
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
	support map[string][]*big.Rat // totals that an episode may end with
	values  map[string]map[string]bool
}

// A coordinate is a return, or an event function of the final total of one.
type coordinate struct {
	name   string
	of     string // the return whose final total this is about, or ""
	kind   string // above, below, excess, shortfall
	at     *big.Rat
	total  bool // with averages: a total
	reach  bool
	visits map[int]bool
}

// A node is a state with its past.
type node struct {
	step    int // from 1; without a horizon 1 at the start if something is remembered, else 0
	state   int
	reached []string // of each coordinate: "pending", with the steps left if counted, "over", or nothing
	totals  map[string]*big.Rat
	choices []*choice
	loops   []string // what a policy remembers of loops
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

// tooLarge is the error of a problem whose histories are too many for the reference.
type tooLarge struct{ nodes int }

func (e tooLarge) Error() string { return fmt.Sprintf("more than %d histories", e.nodes) }

// unroll makes the graph of a problem without opponents.
func unroll(p *Problem, most int) (*graph, error) {
	g, err := unrollWith(p, most, nil)
	if err != nil || !slices.ContainsFunc(p.Constraints, Limit.whole) {
		return g, err
	}
	return unrollWith(p, most, g.support)
}

func unrollWith(p *Problem, most int, support map[string][]*big.Rat) (*graph, error) {
	g := &graph{problem: p, index: map[string]int{}, gamma: big.NewRat(1, 1), values: map[string]map[string]bool{}}
	if p.Discount != "" {
		g.gamma = ratOf(float(rat(p.Discount))) // 1 − γ is what matters, and floating point rounds it
	}
	for _, name := range p.names() {
		r := p.Returns[name]
		c := coordinate{name: name, reach: r.Reach != nil, total: p.Criterion != "average" || r.Criterion == "total"}
		switch {
		case r.Visits != nil:
			c.visits = p.set(r.Visits)
		case r.Exceeds != nil:
			c.of, c.kind, c.at = r.Exceeds.Return, "above", rat(r.Exceeds.Limit)
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
			g.coordinate(coordinate{name: coordName(kind, l.Return, b), of: l.Return, kind: kind, at: b})
		}
	}
	g.fixed = vector(len(g.coords))
	rows := map[[2]int][]Row{}
	for _, r := range p.Transitions {
		rows[[2]int{r.State, r.Step}] = append(rows[[2]int{r.State, r.Step}], r)
	}
	known := map[string]int{}
	enter := func(step, state int, before *node, received map[string]*big.Rat) (int, []*big.Rat) {
		n := &node{step: step, state: state, reached: make([]string, len(g.coords)), totals: map[string]*big.Rat{}}
		gives := vector(len(g.coords))
		for i, c := range g.coords {
			if c.reach {
				before := before.past(i)
				n.reached[i] = p.Returns[c.name].after(p, before, state)
				if before != "won" && n.reached[i] == "won" {
					gives[i].SetInt64(1)
				}
			}
			if c.of != "" {
				t := new(big.Rat)
				if before != nil {
					t.Set(before.totals[c.of])
				}
				if r := received[c.of]; r != nil {
					t.Add(t, r)
				}
				n.totals[c.of] = t
			}
		}
		n.last = !p.endless() && step > p.Horizon
		if n.last {
			for i, c := range g.coords {
				if c.of != "" {
					gives[i].Add(gives[i], c.value(n.totals[c.of]))
					if g.values[c.of] == nil {
						g.values[c.of] = map[string]bool{}
					}
					g.values[c.of][n.totals[c.of].RatString()] = true
				}
			}
		}
		key := fmt.Sprint(n.step, n.state, n.reached, n.last)
		for _, name := range slices.Sorted(maps.Keys(n.totals)) {
			key += " " + n.totals[name].RatString()
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
	if !p.endless() || slices.ContainsFunc(g.coords, func(c coordinate) bool { return c.reach || c.of != "" }) {
		first = 1
	}
	for _, s := range slices.Sorted(maps.Keys(p.Start)) {
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
			return nil, tooLarge{most}
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
					if p.endless() {
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
	g.support = map[string][]*big.Rat{}
	for name, values := range g.values {
		for v := range values {
			r, _ := new(big.Rat).SetString(v)
			g.support[name] = append(g.support[name], r)
		}
		slices.SortFunc(g.support[name], (*big.Rat).Cmp)
	}
	return g, nil
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
	case c.kind == "above" && d.Sign() > 0, c.kind == "below" && d.Sign() < 0:
		return big.NewRat(1, 1)
	case c.kind == "excess" && d.Sign() > 0:
		return d
	case c.kind == "shortfall" && d.Sign() < 0:
		return d.Neg(d)
	}
	return new(big.Rat)
}

// past is what was reached before, "" at the start.
func (n *node) past(i int) string {
	if n == nil {
		return ""
	}
	return n.reached[i]
}

// after says what has become of the return when the process comes to a state: "won", "lost", or the number
// of steps that are left, -1 for any.
func (r Return) after(p *Problem, before string, state int) string {
	switch before {
	case "won", "lost":
		return before
	}
	left := -1
	switch {
	case before == "" && r.Within > 0:
		left = r.Within
	case before != "":
		left, _ = strconv.Atoi(before)
		if left > 0 {
			left--
		}
	}
	switch {
	case p.set(r.Reach)[state]:
		return "won"
	case left == 0, r.While != nil && !p.set(r.While)[state]:
		return "lost"
	}
	return strconv.Itoa(left)
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
