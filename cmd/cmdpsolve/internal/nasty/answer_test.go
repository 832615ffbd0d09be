package nasty

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// kept is a limit in a report.
type kept struct {
	Constraint string   `json:"constraint"`
	Slack      *float64 `json:"slack"`
	Price      *float64 `json:"price"`
}

// planned is what plan prints as JSON.
type planned struct {
	Status      string              `json:"status"`
	Return      string              `json:"return"`
	Objective   *float64            `json:"objective"`
	Bound       *float64            `json:"bound"`
	Gap         *float64            `json:"gap"`
	Returns     map[string]*float64 `json:"returns"`
	Violation   *float64            `json:"violation"`
	Tolerance   *float64            `json:"tolerance"`
	Constraints []kept              `json:"constraints"`
	Certificate *struct {
		Direction map[string]float64 `json:"direction"`
		Support   *float64           `json:"support"`
		Value     *float64           `json:"value"`
		Distance  *float64           `json:"distance"`
		Finite    bool               `json:"finite"`
	} `json:"certificate"`
	Conflict []struct {
		Constraint string   `json:"constraint"`
		Needed     *float64 `json:"needed"`
		Give       *float64 `json:"give"`
		LeastGive  *float64 `json:"least_give"` // where it is not known whether less is enough
		// Probability is the greatest with which a limit of every episode is kept, in the place of both.
		Probability *float64 `json:"probability"`
		Unknown     bool     `json:"unknown"`
	} `json:"conflict"`
	Thresholds []struct {
		Constraint string   `json:"constraint"`
		Threshold  *float64 `json:"threshold"`
	} `json:"thresholds"`
	Memory []struct {
		Name string `json:"name"`
	} `json:"memory"`
	Branches []struct {
		Probability *float64            `json:"probability"`
		Returns     map[string]*float64 `json:"returns"`
		Breaks      []string            `json:"breaks"`
	} `json:"branches"`
	Joined *struct {
		Loss float64 `json:"loss"` // of joining classes of states
	} `json:"joined"`
	Failed *struct {
		Status  int    `json:"status"`
		Message string `json:"message"`
	} `json:"failed"`
}

// joiningLoss is what may be lost of a goal of some magnitude where classes of states are joined: what the report says,
// of which the manual says that it is a millionth.
func (a *planned) joiningLoss(magnitude float64) float64 {
	if a.Joined == nil {
		return 0
	}
	return min(a.Joined.Loss, 1.1e-6*magnitude)
}

// limitsInOrder returns the constraints of the problem in the order in which reports list them: those with
// always come last.
func limitsInOrder(p *Problem) []int {
	var first, last []int
	for k, l := range p.Constraints {
		if l.sure() {
			last = append(last, k)
		} else {
			first = append(first, k)
		}
	}
	return append(first, last...)
}

// named returns the coordinates that a return of a report is made of: coef·v + constant. constant is nil where
// the return is one, and the graph has no coordinate for it.
func (g *graph) named(name string) (map[int]*big.Rat, *big.Rat, bool) {
	if i, ok := g.index[name]; ok {
		return map[int]*big.Rat{i: big.NewRat(1, 1)}, new(big.Rat), true
	}
	kind, rest, sign, constant := "", "", int64(1), int64(0)
	cut := func(from, separator string) bool {
		of, at, ok := strings.Cut(from, separator)
		rest = of + "\x00" + at
		return ok
	}
	inner := strings.TrimSuffix(strings.TrimPrefix(name, "P("), ")")
	switch {
	case strings.HasPrefix(name, "excess of ") && cut(name[len("excess of "):], " over "):
		kind = "excess"
	case strings.HasPrefix(name, "shortfall of ") && cut(name[len("shortfall of "):], " below "):
		kind = "shortfall"
	case inner != name && cut(inner, " > "):
		kind = "above"
	case inner != name && cut(inner, " < "):
		kind = "below"
	case inner != name && cut(inner, " ≥ "):
		kind, sign, constant = "below", -1, 1
	case inner != name && cut(inner, " ≤ "):
		kind, sign, constant = "above", -1, 1
	default:
		return nil, nil, false
	}
	of, at, _ := strings.Cut(rest, "\x00")
	x, err := strconv.ParseFloat(at, 64)
	if err != nil {
		return nil, nil, false
	}
	best, distance := -1, math.Inf(1)
	for i, c := range g.coords {
		if c.of == of && c.kind == kind && c.name[0] != '?' {
			if d := math.Abs(float(c.at) - x); d < distance {
				best, distance = i, d
			}
		}
	}
	if best < 0 || distance > 1e-4*(math.Abs(x)+float(new(big.Rat).Abs(g.coords[best].at))) {
		return nil, nil, true // a threshold that no total has
	}
	return map[int]*big.Rat{best: big.NewRat(sign, 1)}, big.NewRat(constant, 1), true
}

// A rule is a row of a policy file.
type rule struct {
	component, step, state int
	weight                 *big.Rat
	memory, action         string
	probability            *big.Rat
}

// readPolicy reads a policy file in CSV.
func readPolicy(text string) ([]rule, error) {
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, errors.New("an empty policy file")
	}
	var rules []rule
	for _, record := range records[1:] {
		r := rule{weight: big.NewRat(1, 1)}
		for k, name := range records[0] {
			cell := record[k]
			number := func() *big.Rat {
				x, ok := new(big.Rat).SetString(cell)
				if !ok {
					err = fmt.Errorf("policy file: %s %q", name, cell)
					return new(big.Rat)
				}
				return x
			}
			switch name {
			case "component":
				r.component, _ = strconv.Atoi(cell)
			case "weight":
				r.weight = number()
			case "step":
				r.step, _ = strconv.Atoi(cell)
			case "state":
				r.state, _ = strconv.Atoi(cell)
			case "memory":
				r.memory = cell
			case "action":
				r.action = cell
			case "probability":
				r.probability = number()
			default:
				return nil, fmt.Errorf("policy file: unknown column %s", name)
			}
		}
		rules = append(rules, r)
	}
	return rules, err
}

// toldApart reports whether a node is one of the start whose state has rows for the start.
func (n *node) toldApart(rules []rule) bool {
	return n.step == 1 && slices.ContainsFunc(rules,
		func(r rule) bool { return r.state == n.state && strings.HasPrefix(r.memory, "start") })
}

// remembers reports whether a node is where a policy remembers what the text says. names are those of what
// is remembered.
func (g *graph) remembers(n *node, text string, names []string, rules []rule) (bool, error) {
	if text == "" {
		return true, nil
	}
	parts := splitOutside(text, "; ")
	if parts[0] == "start" || parts[0] == "later" {
		if (parts[0] == "start") != n.toldApart(rules) {
			return false, nil
		}
		parts = parts[1:]
	}
	if len(parts) != len(names) {
		return false, fmt.Errorf("memory %q: want %d parts", text, len(names))
	}
	for k, part := range parts {
		if names[k] == loopName {
			if n.loops[k-slices.Index(names, loopName)] != part {
				return false, nil
			}
			continue
		}
		name, budget := strings.CutSuffix(names[k], " so far")
		if !budget {
			i, ok := g.index[name]
			if !ok || !g.coords[i].followed() {
				return false, fmt.Errorf("memory %q: unknown %s", text, name)
			}
			past := n.reached[i]
			pending := past != "won" && past != "lost"
			switch {
			case part == "over":
				if pending {
					return false, nil
				}
			case part == "under way":
				if !pending {
					return false, nil
				}
			case !pending || !g.left(name, strings.Fields(past)[1:], strings.TrimSuffix(part, " left")):
				return false, nil
			}
			continue
		}
		for _, bound := range strings.Split(part, ", ") {
			ok, err := n.isTotal(name, bound)
			if err != nil || !ok {
				return false, err
			}
		}
	}
	return true, nil
}

// left reports whether a memory of what is left on the way to a set fits the bounds. What is left of a return is
// told in whole units.
func (g *graph) left(name string, bounds []string, text string) bool {
	parts := strings.Split(text, " and ")
	within := g.problem.Returns[name].Within
	for _, part := range parts {
		number, of, _ := strings.Cut(part, " ")
		of = strings.TrimPrefix(of, "of ")
		if of == "step" || of == "steps" {
			of = ""
		}
		k := slices.IndexFunc(within, func(w Bound) bool { return w.Return == of })
		x, ok := new(big.Rat).SetString(number)
		if k < 0 || !ok {
			return false
		}
		rest, unit := sub(rat(json.Number(bounds[k])), x), big.NewRat(1, 1)
		if of != "" && g.problem.Returns[of].given() {
			unit = g.problem.unit(of)
		}
		if rest.Sign() < 0 || unit.Sign() > 0 && rest.Cmp(unit) >= 0 {
			return false
		}
	}
	return len(parts) == len(within)
}

// isTotal reports whether a total is what a memory says of it: a number, or sure to end on one side of one.
func (n *node) isTotal(name, text string) (bool, error) {
	word, number := "", text
	if at := strings.LastIndex(text, " "); at >= 0 {
		word, number = text[:at], text[at+1:]
	}
	x, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return false, fmt.Errorf("memory %q: %w", text, err)
	}
	total, least, most := float(n.totals[name]), float(n.final[name][0]), float(n.final[name][1])
	close := 1e-12 * (math.Abs(x) + max(math.Abs(total), math.Abs(least), math.Abs(most)))
	switch word {
	case "":
		return math.Abs(total-x) <= close, nil
	case "above":
		return least > x+close, nil
	case "below":
		return most < x-close, nil
	case "at most":
		return most <= x+close, nil
	case "at least":
		return least >= x-close, nil
	}
	return false, fmt.Errorf("memory %q: unknown word %s", text, word)
}

// play returns what each node does under one component of a policy: the probability of each choice. A node
// that has no rows is nil.
//
// What is remembered of a total is a number, or in words that every way to go on is on one side of a limit.
// A node may fit both, and only one is what the policy remembers there: the reading says which to take.
func (g *graph) play(rules []rule, component int, names []string, by reading) ([][]*big.Rat, error) {
	does := make([][]*big.Rat, len(g.nodes))
	for id, n := range g.nodes {
		memory, found := "", false
		for _, r := range rules {
			if r.component != component || r.state != n.state || r.step != 0 && r.step != n.step {
				continue
			}
			ok, err := g.remembers(n, r.memory, names, rules)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			// The words for the start stand before the others.
			if found && r.memory != memory {
				if strings.HasPrefix(memory, "start") {
					continue
				}
				if !strings.HasPrefix(r.memory, "start") && !by.prefers(n, n.wordy(r.memory), n.wordy(memory)) {
					continue
				}
				does[id] = nil
			}
			if does[id] == nil {
				does[id] = vector(len(n.choices))
			}
			memory, found = r.memory, true
			n.memory, n.words = memory, n.wordy(memory)
			if n.atRest() {
				if r.action != "rest" {
					return nil, fmt.Errorf("state %d at step %d is at rest, and has action %s", n.state, n.step,
						r.action)
				}
				continue
			}
			at := -1
			for k, c := range n.choices {
				if c.action == r.action {
					at = k
				}
			}
			if at < 0 {
				return nil, fmt.Errorf("state %d at step %d: no action %s", n.state, n.step, r.action)
			}
			does[id][at].Add(does[id][at], r.probability)
		}
		if n.atRest() {
			does[id] = make([]*big.Rat, len(n.choices))
			for k := range does[id] {
				does[id][k] = big.NewRat(1, 1)
			}
			continue
		}
		if does[id] != nil {
			sum := new(big.Rat)
			for _, w := range does[id] {
				sum.Add(sum, w)
			}
			if math.Abs(float(sum)-1) > 1e-9 {
				return nil, fmt.Errorf("state %d at step %d: probabilities sum to %v", n.state, n.step, float(sum))
			}
			for _, w := range does[id] {
				w.Quo(w, sum)
			}
		}
	}
	return does, nil
}

// atRest reports whether a state offers nothing. Policies may name the action rest there.
func (n *node) atRest() bool { return len(n.choices) == 0 || n.choices[0].action == "" }

// wordy counts the words for totals in a memory.
func (n *node) wordy(memory string) int {
	count, totals := 0, withoutLoops(memory, len(n.loops))
	for _, word := range []string{"above ", "below ", "at most ", "at least "} {
		count += strings.Count(totals, word)
	}
	return count
}

// A reading says what a policy remembers of a node where a number and words both fit: the number, the words, or
// words once something before was told in words.
type reading int

const (
	asNumbers reading = iota
	asWords
	asSettled
)

// prefers reports whether a memory with so many words is to be taken in the place of another.
func (by reading) prefers(n *node, words, before int) bool {
	switch {
	case by == asNumbers:
		return words <= before
	case by == asWords, before < n.settled:
		return words > before
	}
	return words >= n.settled && words <= before
}

// settling returns the graph whose nodes know how much a policy has told in words before.
func (g *graph) settling(rules []rule, component int, names []string) (*graph, [][]*big.Rat, error) {
	out := *g
	out.nodes, out.start = nil, nil
	for settled := range len(names) + 1 {
		for id, n := range g.nodes {
			with := *n
			with.settled, with.words = settled, 0
			out.nodes = append(out.nodes, &with)
			start := new(big.Rat)
			if settled == 0 {
				start = g.start[id]
			}
			out.start = append(out.start, start)
		}
	}
	does, err := out.play(rules, component, names, asSettled)
	for _, n := range out.nodes {
		n.choices = n.moved(func(*choice) int { return min(max(n.words, n.settled), len(names)) * len(g.nodes) })
	}
	return &out, does, err
}

// played returns what a component does at each node, and the graph of these nodes.
func (g *graph) played(rules []rule, component int, names []string, by reading) (*graph, [][]*big.Rat, error) {
	if by == asSettled {
		return g.settling(rules, component, names)
	}
	does, err := g.play(rules, component, names, by)
	return g, does, err
}

// farthest is the greatest total of sign times a return that an episode of a policy may end with, with a horizon.
func (g *graph) farthest(rules []rule, names []string, by reading, of string, sign int) (*big.Rat, error) {
	var most *big.Rat
	components := map[int]bool{}
	for _, r := range rules {
		if r.weight.Sign() <= 0 || components[r.component] {
			continue
		}
		components[r.component] = true
		g, does, err := g.played(rules, r.component, names, by)
		if err != nil {
			return nil, err
		}
		come := make([]bool, len(g.nodes))
		for id, n := range g.nodes { // in the order of steps
			come[id] = come[id] || g.start[id].Sign() > 0
			if !come[id] {
				continue
			}
			if total := mul(big.NewRat(int64(sign), 1), n.totals[of]); n.last && (most == nil || total.Cmp(most) > 0) {
				most = total
			}
			for k, w := range does[id] {
				for _, b := range n.choices[k].branches {
					come[b.node] = come[b.node] || w.Sign() > 0
				}
			}
		}
	}
	return most, nil
}

// evaluate returns the coordinates of a policy. Totals may be infinite, or NaN where they are undefined.
func (g *graph) evaluate(rules []rule, names []string, by reading) ([]float64, error) {
	size, loops := len(g.nodes), loopsOf(rules, names)
	if loops != nil {
		g = g.looped(loops)
	}
	components := map[int]*big.Rat{}
	for _, r := range rules {
		components[r.component] = r.weight
	}
	if len(components) == 0 {
		components[0] = big.NewRat(1, 1)
	}
	sum := make([]float64, len(g.coords))
	weights := 0.0
	for component, weight := range components {
		g, does, err := g.played(rules, component, names, by)
		if err != nil {
			return nil, err
		}
		if loops != nil {
			g = g.leaving(loops, size)
		}
		v, err := g.chain(does)
		if err != nil {
			return nil, err
		}
		weights += float(weight)
		for i := range sum {
			if w := float(weight); w > 0 {
				sum[i] += w * v[i]
			}
		}
	}
	if math.Abs(weights-1) > 1e-9 {
		return nil, fmt.Errorf("weights of components sum to %v", weights)
	}
	return sum, nil
}

// chain evaluates a policy that does the same whenever it comes to a node.
func (g *graph) chain(does [][]*big.Rat) ([]float64, error) {
	n := len(g.nodes)
	next, gives, reach := g.under(does)
	started := map[int]bool{}
	for id, w := range g.start {
		if w.Sign() > 0 {
			for to := range reach[id] {
				started[to] = true
			}
		}
	}
	for id := range started {
		if does[id] == nil && g.nodes[id].choices != nil {
			return nil, fmt.Errorf("the policy comes to state %d at step %d, %v %v, and has no rows for it",
				g.nodes[id].state, g.nodes[id].step, g.nodes[id].reached, g.nodes[id].totals)
		}
	}
	v := make([]float64, len(g.coords))
	exact := vector(len(g.coords))
	for i := range exact {
		exact[i].Set(g.fixed[i])
	}
	if !g.problem.endless() {
		at := vector(n)
		for id := range g.nodes {
			at[id].Add(at[id], g.start[id])
			for i := range exact {
				addMul(exact[i], at[id], gives[id][i])
			}
			for to, w := range next[id] {
				addMul(at[to], at[id], w)
			}
		}
		for i := range v {
			v[i] = float(exact[i])
		}
		return v, nil
	}
	recurrent := func(id int) bool {
		for to := range reach[id] {
			if !reach[to][id] {
				return false
			}
		}
		return true
	}
	one := big.NewRat(1, 1)
	ends := g.gamma.Cmp(one) < 0 // with a discount no state is recurrent
	var transient []int
	for id := range started {
		if ends || !recurrent(id) {
			transient = append(transient, id)
		}
	}
	// Visits x = start + γ Pᵀ x.
	a := make([][]*big.Rat, len(transient))
	for k, id := range transient {
		a[k] = vector(len(transient) + 1)
		a[k][k].SetInt64(1)
		a[k][len(transient)].Set(g.start[id])
		for o, from := range transient {
			if w := next[from][id]; w != nil {
				a[k][o].Sub(a[k][o], mul(g.gamma, w))
			}
		}
	}
	x := gauss(a)
	visits := vector(n)
	for k, id := range transient {
		visits[id] = x[k]
		for i, c := range g.coords {
			if ends || c.total {
				addMul(exact[i], x[k], gives[id][i])
			}
		}
	}
	for i := range v {
		v[i] = float(exact[i])
	}
	if ends {
		return v, nil
	}
	done := map[int]bool{}
	for id := range started {
		if !recurrent(id) || done[id] {
			continue
		}
		var class []int
		enter := new(big.Rat)
		for to := range reach[id] {
			class = append(class, to)
			done[to] = true
			enter.Add(enter, g.start[to])
			for _, from := range transient {
				if w := next[from][to]; w != nil {
					addMul(enter, visits[from], w)
				}
			}
		}
		a := make([][]*big.Rat, len(class))
		for k, to := range class {
			a[k] = vector(len(class) + 1)
			a[k][k].SetInt64(1)
			for o, from := range class {
				if w := next[from][to]; w != nil {
					a[k][o].Sub(a[k][o], w)
				}
			}
		}
		for o := range class {
			a[0][o].SetInt64(1)
		}
		a[0][len(class)].SetInt64(1)
		if len(next[class[0]]) == 0 {
			a = [][]*big.Rat{{big.NewRat(1, 1), big.NewRat(1, 1)}} // rest
		}
		share := gauss(a)
		for i, c := range g.coords {
			mean, up, down := new(big.Rat), false, false
			for k, at := range class {
				addMul(mean, share[k], gives[at][i])
				up, down = up || gives[at][i].Sign() > 0, down || gives[at][i].Sign() < 0
			}
			switch {
			case enter.Sign() == 0:
			case !c.total:
				v[i] += float(mul(enter, mean))
			case up && down:
				v[i] = math.NaN()
			case up:
				v[i] += math.Inf(1)
			case down:
				v[i] += math.Inf(-1)
			}
		}
	}
	return v, nil
}

// under returns the chances of the next node under a policy, the coordinates that a step gives, and which nodes it may
// come to from each node.
func (g *graph) under(does [][]*big.Rat) (next []map[int]*big.Rat, gives [][]*big.Rat, reach []map[int]bool) {
	n := len(g.nodes)
	next = make([]map[int]*big.Rat, n)
	gives = make([][]*big.Rat, n)
	for id, node := range g.nodes {
		next[id] = map[int]*big.Rat{}
		gives[id] = vector(len(g.coords))
		for k, w := range does[id] {
			c := node.choices[k]
			for i := range g.coords {
				addMul(gives[id][i], w, c.gives[i])
			}
			for _, b := range c.branches {
				if w.Sign() > 0 {
					if next[id][b.node] == nil {
						next[id][b.node] = new(big.Rat)
					}
					addMul(next[id][b.node], w, b.p)
				}
			}
		}
	}
	reach = make([]map[int]bool, n)
	var visit func(from, id int)
	visit = func(from, id int) {
		if reach[from][id] {
			return
		}
		reach[from][id] = true
		for to := range next[id] {
			visit(from, to)
		}
	}
	for id := range n {
		reach[id] = map[int]bool{}
		visit(id, id)
	}
	return next, gives, reach
}

// gauss solves the square system whose last column is the right side.
func gauss(a [][]*big.Rat) []*big.Rat {
	n := len(a)
	t := &tableau{over: big.NewInt(1)}
	for _, r := range a {
		row, _ := whole(r)
		t.rows = append(t.rows, row)
	}
	for j := range n {
		p := j
		for p < n && t.rows[p][j].Sign() == 0 {
			p++
		}
		if p == n {
			panic("nasty: singular")
		}
		t.rows[j], t.rows[p] = t.rows[p], t.rows[j]
		t.pivot(j, j)
	}
	x := make([]*big.Rat, n)
	for j := range x {
		x[j] = t.at(j, n)
	}
	return x
}
