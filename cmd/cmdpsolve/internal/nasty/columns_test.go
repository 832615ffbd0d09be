package nasty

import "math/big"

// A limited is a linear inequality over coordinates.
type limited struct {
	coef  map[int]*big.Rat
	sense int // -1: at most, 1: at least, 0: equal
	bound *big.Rat
}

func (l limited) with(bound *big.Rat) limited {
	l.bound = bound
	return l
}

// A result of a linear question about all policies.
type result struct {
	status status
	value  *big.Rat
	point  []*big.Rat // the coordinates of the best policy
	prices []*big.Rat // of the limits
}

// A region is the set of coordinates that policies reach.
type region interface {
	graph() *graph
	// minimize returns the least cost·v of the policies that keep the limits.
	minimize(cost map[int]*big.Rat, limits []limited) result
}

// episodes is the region with a horizon: a hull of policies, which are found as they are needed.
type episodes struct {
	g       *graph
	columns [][]*big.Rat
}

func (e *episodes) graph() *graph { return e.g }

// minimize generates columns: the best mixture of the policies so far has prices, and a backward induction
// finds the best policy at these prices. No number is rounded, so that the end is a proof.
func (e *episodes) minimize(cost map[int]*big.Rat, limits []limited) result {
	if e.columns == nil {
		e.columns = append(e.columns, e.best(cost))
	}
	for range 300 {
		master := program{}
		for _, l := range limits {
			r := row{sense: l.sense, bound: l.bound}
			for _, v := range e.columns {
				r.coef = append(r.coef, dot(l.coef, v))
			}
			master.rows = append(master.rows, r)
		}
		one := row{bound: big.NewRat(1, 1)}
		for _, v := range e.columns {
			master.cost = append(master.cost, dot(cost, v))
			one.coef = append(one.coef, big.NewRat(1, 1))
		}
		master.rows = append(master.rows, one)
		s := master.solve()
		price := map[int]*big.Rat{}
		if s.status == optimal {
			for i, c := range cost {
				price[i] = new(big.Rat).Set(c)
			}
		}
		for k, l := range limits {
			for i, c := range l.coef {
				if price[i] == nil {
					price[i] = new(big.Rat)
				}
				price[i].Sub(price[i], mul(s.prices[k], c))
			}
		}
		v := e.best(price)
		if dot(price, v).Cmp(s.prices[len(limits)]) < 0 {
			e.columns = append(e.columns, v)
			continue
		}
		res := result{status: s.status, value: s.value, prices: s.prices[:len(limits)]}
		if s.status == optimal {
			res.point = vector(len(e.g.coords))
			for j, w := range s.x {
				for i := range res.point {
					addMul(res.point[i], w, e.columns[j][i])
				}
			}
		}
		return res
	}
	panic(unknown("too many columns"))
}

// best returns the coordinates of the policy that has the least price·v.
func (e *episodes) best(price map[int]*big.Rat) []*big.Rat {
	g := e.g
	value := make([]*big.Rat, len(g.nodes))
	chosen := make([]int, len(g.nodes))
	for id := len(g.nodes) - 1; id >= 0; id-- {
		value[id] = new(big.Rat)
		for k, c := range g.nodes[id].choices {
			q := dot(price, c.gives)
			for _, b := range c.branches {
				addMul(q, b.p, value[b.node])
			}
			if k == 0 || q.Cmp(value[id]) < 0 {
				value[id], chosen[id] = q, k
			}
		}
	}
	at := vector(len(g.nodes))
	v := vector(len(g.coords))
	for i := range v {
		v[i].Set(g.fixed[i])
	}
	for id, n := range g.nodes {
		at[id].Add(at[id], g.start[id])
		if at[id].Sign() == 0 || n.choices == nil {
			continue
		}
		c := n.choices[chosen[id]]
		for i := range v {
			addMul(v[i], at[id], c.gives[i])
		}
		for _, b := range c.branches {
			addMul(at[b.node], at[id], b.p)
		}
	}
	return v
}

func dot(coef map[int]*big.Rat, v []*big.Rat) *big.Rat {
	sum := new(big.Rat)
	for i, c := range coef {
		addMul(sum, c, v[i])
	}
	return sum
}
