package nasty

import (
	"errors"
	"math/big"
)

// errMurky says that the totals of a problem are not defined under every policy.
var errMurky = errors.New("nasty: a total that goes up and down for ever")

// discounted is the region with a discount below 1: the occupancy program.
type discounted struct{ g *graph }

func (d discounted) graph() *graph { return d.g }

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

// flows are the rows out − factor·in = start, over columns that begin at offset.
func (g *graph) flows(all []flat, factor *big.Rat, offset, width int) []row {
	rows := make([]row, len(g.nodes))
	for id := range rows {
		rows[id] = row{coef: vector(width), bound: new(big.Rat).Set(g.start[id])}
	}
	for j, c := range all {
		out := rows[c.node].coef[offset+j]
		out.Add(out, big.NewRat(1, 1))
		for _, b := range c.branches {
			in := rows[b.node].coef[offset+j]
			in.Sub(in, mul(factor, b.p))
		}
	}
	return rows
}

func (d discounted) minimize(cost map[int]*big.Rat, limits []limited) (result, error) {
	all := d.g.flat()
	flows := d.g.flows(all, d.g.gamma, 0, len(all))
	kept := flows[:0]
	for id, r := range flows {
		if d.g.nodes[id].choices != nil {
			kept = append(kept, r)
		}
	}
	p := program{rows: kept, cost: vector(len(all))}
	for j, c := range all {
		p.cost[j] = dot(cost, c.gives)
	}
	for _, l := range limits {
		r := row{sense: l.sense, bound: sub(l.bound, dot(l.coef, d.g.fixed))}
		for _, c := range all {
			r.coef = append(r.coef, dot(l.coef, c.gives))
		}
		p.rows = append(p.rows, r)
	}
	s := p.solve()
	res := result{status: s.status, prices: s.prices[len(kept):]}
	if s.status == optimal {
		res.value = add(s.value, dot(cost, d.g.fixed))
		res.point = vector(len(d.g.coords))
		for i := range res.point {
			res.point[i].Set(d.g.fixed[i])
			for j, c := range all {
				addMul(res.point[i], s.x[j], c.gives[i])
			}
		}
	}
	return res, nil
}

// undiscounted is the region of totals and long-run means: Kallenberg's program. Its columns are the time
// x that a choice takes in the long run, and how often y it is taken on the way there. Totals are those of
// the way. The process may stay for good only where no total that is asked for grows to the wrong side; a
// total that grows to the right side for ever is as good as any number, and a loop of y stands for it. Loops
// that no policy comes to within the limits are taken out first.
type undiscounted struct{ g *graph }

func (u undiscounted) graph() *graph { return u.g }

func (u undiscounted) minimize(cost map[int]*big.Rat, limits []limited) (result, error) {
	g := u.g
	all := g.flat()
	for id, n := range g.nodes { // rest goes on for ever
		if n.choices == nil {
			all = append(all, flat{id, &choice{branches: []branch{{big.NewRat(1, 1), id, nil}}, gives: vector(len(g.coords))}})
		}
	}
	n := len(all)
	harmful := make([]bool, n)
	counts := map[int]bool{}
	harm := func(i, sign int) {
		if sign == 0 || !g.coords[i].total {
			return
		}
		counts[i] = true
		for j, c := range all {
			if c.gives[i].Sign()*sign > 0 {
				harmful[j] = true
			}
		}
	}
	for i, c := range cost {
		harm(i, c.Sign())
	}
	for _, l := range limits {
		for i, c := range l.coef {
			harm(i, -c.Sign()*l.sense)
			if l.sense == 0 {
				harm(i, 1)
				harm(i, -1)
			}
		}
	}
	if g.murky(all, counts) {
		return result{}, errMurky
	}
	allowed := make([]bool, len(g.nodes))
	for id := range allowed {
		allowed[id] = true
	}
	build := func(cost map[int]*big.Rat) (program, []int) {
		flows := g.flows(all, big.NewRat(1, 1), n, 2*n)
		balance := g.flows(all, big.NewRat(1, 1), 0, 2*n)
		var rows []row
		for id := range flows {
			for j, c := range all {
				if c.node == id {
					flows[id].coef[j].SetInt64(1)
				}
			}
			balance[id].bound = new(big.Rat)
			rows = append(rows, flows[id], balance[id])
		}
		gives := func(j, i int) *big.Rat {
			if (j < n) == g.coords[i].total {
				return new(big.Rat)
			}
			return all[j%n].gives[i]
		}
		p := program{rows: rows}
		for _, l := range limits {
			r := row{sense: l.sense, bound: sub(l.bound, dot(l.coef, g.fixed)), coef: vector(2 * n)}
			for j := range r.coef {
				for i, c := range l.coef {
					addMul(r.coef[j], c, gives(j, i))
				}
			}
			p.rows = append(p.rows, r)
		}
		p.cost = vector(2 * n)
		for j := range p.cost {
			for i, c := range cost {
				addMul(p.cost[j], c, gives(j, i))
			}
		}
		// Columns that may not be used are taken out.
		var columns []int
		for j := range 2 * n {
			if c := all[j%n]; allowed[c.node] && (j >= n || !harmful[j]) {
				columns = append(columns, j)
			}
		}
		p.cost = pick(p.cost, columns)
		for k := range p.rows {
			p.rows[k].coef = pick(p.rows[k].coef, columns)
		}
		return p, columns
	}
	for len(counts) > 0 {
		p, columns := build(nil)
		used := make([]bool, 2*n)
		for k, j := range columns {
			if used[j] || j < n {
				continue
			}
			// Maximise u ≤ min(y, 1).
			try := program{cost: append(vector(len(columns)), big.NewRat(-1, 1))}
			for _, r := range p.rows {
				r.coef = append(r.coef[:len(r.coef):len(r.coef)], new(big.Rat))
				try.rows = append(try.rows, r)
			}
			least, most := vector(len(columns)+1), vector(len(columns)+1)
			least[k].SetInt64(-1)
			least[len(columns)].SetInt64(1)
			most[len(columns)].SetInt64(1)
			try.rows = append(try.rows, row{coef: least, sense: -1, bound: new(big.Rat)}, row{coef: most, sense: -1, bound: big.NewRat(1, 1)})
			s := try.solve()
			if s.status == infeasible {
				return result{status: infeasible}, nil
			}
			for k, j := range columns {
				used[j] = used[j] || s.x[k].Sign() > 0
			}
		}
		reached := make([]bool, len(g.nodes))
		var visit func(id int)
		visit = func(id int) {
			if reached[id] {
				return
			}
			reached[id] = true
			for j, c := range all {
				if c.node == id && used[n+j] {
					for _, b := range c.branches {
						visit(b.node)
					}
				}
			}
		}
		for id, w := range g.start {
			if w.Sign() > 0 {
				visit(id)
			}
		}
		again := false
		for j, c := range all {
			if used[n+j] && !reached[c.node] && allowed[c.node] {
				allowed[c.node], again = false, true
			}
		}
		if !again {
			break
		}
	}
	p, columns := build(cost)
	s := p.solve()
	res := result{status: s.status, prices: s.prices[2*len(g.nodes):]}
	if s.status == optimal {
		res.value = add(s.value, dot(cost, g.fixed))
		res.point = vector(len(g.coords))
		for i := range res.point {
			res.point[i].Set(g.fixed[i])
			for k, j := range columns {
				if (j >= n) == g.coords[i].total {
					addMul(res.point[i], s.x[k], all[j%n].gives[i])
				}
			}
		}
	}
	return res, nil
}

func pick(v []*big.Rat, of []int) []*big.Rat {
	picked := make([]*big.Rat, len(of))
	for k, j := range of {
		picked[k] = v[j]
	}
	return picked
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
