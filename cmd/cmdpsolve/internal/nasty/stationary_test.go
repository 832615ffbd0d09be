package nasty

import (
	"math/big"
	"slices"
)

// A flat choice is one of all choices of a graph.
type flat struct {
	node int
	*choice
}

func (g *graph) flat() []flat {
	var all []flat
	for id, n := range g.nodes {
		for _, c := range n.choices {
			all = append(all, flat{id, c})
		}
	}
	return all
}

// endless is the region without a horizon. With a discount below 1 it is the occupancy program; of totals and
// long-run means it is Kallenberg's. Its columns are the time x that a choice takes in the long run, and how
// often y it is taken on the way there; with a discount there is the way alone. Totals are those of the way.
// The process may stay for good only where no total that is asked for grows to the wrong side; a total that
// grows to the right side for ever is as good as any number, and a loop of y stands for it. Loops that no
// policy comes to within the limits are taken out first.
type endless struct{ g *graph }

func (u endless) graph() *graph { return u.g }

func (u endless) minimize(cost map[int]*big.Rat, limits []limited) result {
	g := u.g
	w := &ways{g: g, cost: cost, limits: limits, all: g.flat(), stays: g.gamma.Cmp(big.NewRat(1, 1)) == 0}
	for id, n := range g.nodes { // rest goes on for ever
		if n.choices == nil {
			w.all = append(w.all, flat{id, &choice{branches: []branch{{big.NewRat(1, 1), id, nil}},
				gives: vector(len(g.coords))}})
		}
	}
	w.allowed = slices.Repeat([]bool{true}, len(g.nodes))
	counts := w.markHarmful()
	if w.stays && g.murky(w.all, counts) {
		panic(unknown("a total goes up and down for ever"))
	}
	for w.stays && len(counts) > 0 {
		used, feasible := w.used()
		if !feasible {
			return result{status: infeasible}
		}
		if !w.cutLoops(used) {
			break
		}
	}
	p, columns := w.program()
	s := p.solve()
	res := result{status: s.status, prices: s.prices[len(p.rows)-len(limits):]}
	if s.status == optimal {
		res.value = add(s.value, dot(cost, g.fixed))
		res.point = vector(len(g.coords))
		for i := range res.point {
			res.point[i].Set(g.fixed[i])
			for k, j := range columns {
				addMul(res.point[i], s.x[k], w.gives(j, i))
			}
		}
	}
	return res
}

// ways are the columns of the program: x of choice j has number j, and y has number len(all)+j.
type ways struct {
	g       *graph
	cost    map[int]*big.Rat
	limits  []limited
	all     []flat
	stays   bool   // there are columns x
	harmful []bool // of each choice: a total that is asked for grows by it to the wrong side
	allowed []bool // of each node
}

// markHarmful returns the totals that are asked for.
func (w *ways) markHarmful() map[int]bool {
	w.harmful = make([]bool, len(w.all))
	counts := map[int]bool{}
	harm := func(i, sign int) {
		if sign == 0 || !w.g.coords[i].total {
			return
		}
		counts[i] = true
		for j, c := range w.all {
			w.harmful[j] = w.harmful[j] || c.gives[i].Sign()*sign > 0
		}
	}
	for i, c := range w.cost {
		harm(i, c.Sign())
	}
	for _, l := range w.limits {
		for i, c := range l.coef {
			harm(i, -c.Sign()*l.sense)
			if l.sense == 0 {
				harm(i, 1)
				harm(i, -1)
			}
		}
	}
	return counts
}

// gives is what column j adds to coordinate i.
func (w *ways) gives(j, i int) *big.Rat {
	n := len(w.all)
	if w.stays && (j < n) == w.g.coords[i].total {
		return new(big.Rat)
	}
	return w.all[j%n].gives[i]
}

// program returns the program, and which columns it has.
func (w *ways) program() (program, []int) {
	n := len(w.all)
	var columns []int
	for j := range 2 * n {
		if c := w.all[j%n]; w.allowed[c.node] && (j >= n || w.stays && !w.harmful[j]) &&
			(w.stays || w.g.nodes[c.node].choices != nil) {
			columns = append(columns, j)
		}
	}
	p := program{}
	flows := make([]row, len(w.g.nodes))
	balance := make([]row, len(w.g.nodes))
	for id := range flows {
		flows[id] = row{coef: vector(len(columns)), bound: new(big.Rat).Set(w.g.start[id])}
		balance[id] = row{coef: vector(len(columns)), bound: new(big.Rat)}
	}
	for k, j := range columns {
		c, rows := w.all[j%n], flows
		if j < n {
			rows = balance
			flows[c.node].coef[k].SetInt64(1)
		}
		out := rows[c.node].coef[k]
		out.Add(out, big.NewRat(1, 1))
		for _, b := range c.branches {
			in := rows[b.node].coef[k]
			in.Sub(in, mul(w.g.gamma, b.p))
		}
		p.cost = append(p.cost, w.form(w.cost, j))
	}
	for id := range flows {
		if w.stays {
			p.rows = append(p.rows, flows[id], balance[id])
		} else if w.g.nodes[id].choices != nil {
			p.rows = append(p.rows, flows[id])
		}
	}
	for _, l := range w.limits {
		r := row{sense: l.sense, bound: sub(l.bound, dot(l.coef, w.g.fixed))}
		for _, j := range columns {
			r.coef = append(r.coef, w.form(l.coef, j))
		}
		p.rows = append(p.rows, r)
	}
	return p, columns
}

// form is what column j adds to a linear form.
func (w *ways) form(coef map[int]*big.Rat, j int) *big.Rat {
	sum := new(big.Rat)
	for i, c := range coef {
		addMul(sum, c, w.gives(j, i))
	}
	return sum
}

// used reports which columns y some policy within the limits uses, and whether there is one. All rows may be
// multiplied, so that all of these columns can be 1 at once: each has a share of at most 1, and the sum of the shares
// is made as large as can be.
func (w *ways) used() (used []bool, feasible bool) {
	p, columns := w.program()
	n, m := len(w.all), len(columns)
	var way []int // the columns y
	for k, j := range columns {
		if j >= n {
			way = append(way, k)
		}
	}
	// Behind the columns are the shares, and by how much more than once the rows count.
	width := m + len(way) + 1
	try := program{cost: vector(width)}
	for _, r := range p.rows {
		coef := slices.Clone(r.coef)
		for _, k := range way {
			coef = append(coef, r.coef[k])
		}
		try.rows = append(try.rows, row{append(coef, neg(r.bound)), r.sense, r.bound})
	}
	for s := range way {
		try.cost[m+s].SetInt64(-1)
		most := row{vector(width), -1, big.NewRat(1, 1)}
		most.coef[m+s].SetInt64(1)
		try.rows = append(try.rows, most)
	}
	solved := try.solve()
	if solved.status == infeasible {
		return nil, false
	}
	used = make([]bool, 2*n)
	for s, k := range way {
		used[columns[k]] = solved.x[m+s].Sign() > 0
	}
	return used, true
}

// cutLoops takes out nodes that are used and that no way from the start leads to. It reports whether there are any.
func (w *ways) cutLoops(used []bool) (again bool) {
	n := len(w.all)
	reached := make([]bool, len(w.g.nodes))
	var visit func(id int)
	visit = func(id int) {
		if reached[id] {
			return
		}
		reached[id] = true
		for j, c := range w.all {
			if c.node == id && used[n+j] {
				for _, b := range c.branches {
					visit(b.node)
				}
			}
		}
	}
	for id, x := range w.g.start {
		if x.Sign() > 0 {
			visit(id)
		}
	}
	for j, c := range w.all {
		if used[n+j] && !reached[c.node] && w.allowed[c.node] {
			w.allowed[c.node], again = false, true
		}
	}
	return again
}

// murky reports whether some maximal end component has choices that a total grows by and others that it
// falls by.
func (g *graph) murky(all []flat, counts map[int]bool) bool {
	in := g.endComponents(all)
	for i := range counts {
		signs := map[int]int{}
		for j, c := range all {
			if in[j] < 0 || c.gives[i].Sign() == 0 {
				continue
			}
			if s := signs[in[j]]; s != 0 && s != c.gives[i].Sign() {
				return true
			}
			signs[in[j]] = c.gives[i].Sign()
		}
	}
	return false
}

// endComponents returns the maximal end component of each choice, named by one of its nodes, -1 if none.
// It takes choices out until all that are left stay among nodes that reach each other.
func (g *graph) endComponents(all []flat) []int {
	in := make([]bool, len(all))
	for j := range in {
		in[j] = true
	}
	for {
		reach := make([][]bool, len(g.nodes))
		for id := range reach {
			reach[id] = make([]bool, len(g.nodes))
			var visit func(at int)
			visit = func(at int) {
				for j, c := range all {
					if !in[j] || c.node != at {
						continue
					}
					for _, b := range c.branches {
						if !reach[id][b.node] {
							reach[id][b.node] = true
							visit(b.node)
						}
					}
				}
			}
			visit(id)
		}
		again := false
		of := make([]int, len(all))
		for j, c := range all {
			of[j] = -1
			if !in[j] {
				continue
			}
			for _, b := range c.branches {
				if !reach[b.node][c.node] {
					in[j], again = false, true
				}
			}
			for id := range g.nodes {
				if reach[c.node][id] && reach[id][c.node] {
					of[j] = id
					break
				}
			}
		}
		if !again {
			return of
		}
	}
}
