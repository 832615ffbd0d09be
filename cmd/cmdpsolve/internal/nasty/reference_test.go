package nasty

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"cmdpsolve/oracle/lp"
)

// other solves a program in floating point with package lp.
func (p *program) other(t *testing.T) (status, float64) {
	t.Helper()
	of := &lp.Problem{}
	for _, c := range p.cost {
		of.Minimize = append(of.Minimize, float(c))
	}
	for _, r := range p.rows {
		c := lp.Constraint{Lower: math.Inf(-1), Upper: math.Inf(1)}
		for _, x := range r.coef {
			c.Coef = append(c.Coef, float(x))
		}
		if r.sense <= 0 {
			c.Upper = float(r.bound)
		}
		if r.sense >= 0 {
			c.Lower = float(r.bound)
		}
		of.Rows = append(of.Rows, c)
	}
	solver, err := lp.NewEmbedded(of) // numbers of 1e9 beside those of 1 are beyond GLPK's tolerances
	if err != nil {
		t.Fatal(err)
	}
	s := new(lp.Solution)
	err = solver.Solve(s)
	if err != nil {
		t.Fatal(err)
	}
	switch s.Status {
	case lp.Infeasible:
		return infeasible, 0
	case lp.Unbounded:
		return unbounded, 0
	}
	return optimal, s.Objective
}

// TestSimplex: both methods agree on small programs with whole numbers, and prices prove the optimum.
func TestSimplex(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	counts := map[status]int{}
	for range 500 {
		n, m := 1+rng.IntN(5), 1+rng.IntN(5)
		p := program{cost: vector(n)}
		for j := range n {
			p.cost[j].SetInt64(int64(rng.IntN(7) - 3))
		}
		for range m {
			r := row{coef: vector(n), sense: rng.IntN(3) - 1, bound: big.NewRat(int64(rng.IntN(9)-4), 1)}
			for j := range n {
				r.coef[j].SetInt64(int64(rng.IntN(7) - 3))
			}
			p.rows = append(p.rows, r)
		}
		s := p.solve()
		counts[s.status]++
		other, value := p.other(t)
		if other != s.status || s.status == optimal && math.Abs(value-float(s.value)) > 1e-9*(1+math.Abs(value)) {
			t.Fatalf("%v %v, package lp %v %v: %+v", s.status, s.value, other, value, p)
		}
		if s.status != optimal {
			continue
		}
		// Weak duality: prices of the right signs, reduced costs that are not negative, and the same value.
		dual := new(big.Rat)
		reduced := vector(n)
		for j := range n {
			reduced[j].Set(p.cost[j])
		}
		for i, r := range p.rows {
			if s.prices[i].Sign()*r.sense < 0 {
				t.Fatalf("price %v of a row of sense %d", s.prices[i], r.sense)
			}
			addMul(dual, s.prices[i], r.bound)
			for j := range n {
				reduced[j].Sub(reduced[j], mul(s.prices[i], r.coef[j]))
			}
		}
		for j := range n {
			if reduced[j].Sign() < 0 {
				t.Fatalf("reduced cost %v", reduced[j])
			}
		}
		if dual.Cmp(s.value) != 0 {
			t.Fatalf("value %v, prices prove %v", s.value, dual)
		}
	}
	for s := range unbounded + 1 {
		if counts[s] < 20 {
			t.Errorf("only %d programs are %v", counts[s], s)
		}
	}
}

// explicit is the occupancy program of a graph with a horizon, written out.
func (g *graph) explicit(cost map[int]*big.Rat, limits []limited) (program, *big.Rat) {
	all := g.flat()
	flows := make([]row, len(g.nodes))
	for id := range flows {
		flows[id] = row{coef: vector(len(all)), bound: g.start[id]}
	}
	p := program{}
	for j, c := range all {
		flows[c.node].coef[j].Add(flows[c.node].coef[j], big.NewRat(1, 1))
		for _, b := range c.branches {
			flows[b.node].coef[j].Sub(flows[b.node].coef[j], b.p)
		}
		p.cost = append(p.cost, dot(cost, c.gives))
	}
	for id, r := range flows {
		if !g.nodes[id].last {
			p.rows = append(p.rows, r)
		}
	}
	for _, l := range limits {
		r := row{sense: l.sense, bound: sub(l.bound, dot(l.coef, g.fixed))}
		for _, c := range all {
			r.coef = append(r.coef, dot(l.coef, c.gives))
		}
		p.rows = append(p.rows, r)
	}
	return p, dot(cost, g.fixed)
}

// TestReference compares the reference with programs of package lp and, where there are no limits, with all
// policies that never draw.
func TestReference(t *testing.T) {
	explicit, enumerated := 0, 0
	for seed := uint64(0); explicit < 25 || enumerated < 25; seed++ {
		p, q, _ := generate(rand.New(rand.NewPCG(99, seed)))
		if q == nil || len(q.cost) == 0 {
			continue
		}
		g := q.graph()
		size := 1.0
		for i := range q.cost {
			size = max(size, float(q.scale(i)))
		}
		var first []limited
		for _, l := range q.limits {
			if len(l) > 0 {
				first = append(first, l[0])
			}
		}
		if !p.endless() && len(g.nodes) <= 40 && size < 1e4 {
			want := q.minimize(q.cost, first)
			lp, fixed := g.explicit(q.cost, first)
			status, value := lp.other(t)
			touching := status != want.status
			if touching { // a limit that is only touched is kept or not by rounding
				loose := q.moved([][]limited{first}, ratOf(1e-6))
				if r := q.minimize(q.cost, loose[0]); r.status != status && status != infeasible {
					t.Errorf("%v, the explicit program is %v: %s", want.status, status, p.JSON())
				}
			} else if status == optimal && math.Abs(value+float(fixed)-float(want.value)) > 1e-7*size {
				t.Errorf("%v, the explicit program has %v: %s", float(want.value), value+float(fixed), p.JSON())
			}
			explicit++
		}
		if policies := g.policies(300); policies != nil {
			free := q.minimize(q.cost, nil)
			least := math.Inf(1)
			for _, does := range policies {
				v, err := g.chain(does)
				if err != nil {
					t.Fatal(err)
				}
				sum := 0.0
				for i, c := range q.cost {
					sum += float(c) * v[i]
				}
				least = min(least, sum)
			}
			enumerated++
			switch {
			case free.status == unbounded && !math.IsInf(least, -1) && !p.undiscounted(),
				free.status == infeasible && !math.IsInf(least, 1) && !math.IsNaN(least),
				free.status == optimal && math.Abs(least-float(free.value)) > 1e-9*size:
				t.Errorf("%v %v, the best policy that never draws has %v: %s", free.status, free.value, least, p.JSON())
			}
		}
	}
}

// policies lists all policies that never draw, nil if they are more than so many.
func (g *graph) policies(most int) [][][]*big.Rat {
	all := [][][]*big.Rat{nil}
	for _, n := range g.nodes {
		var longer [][][]*big.Rat
		for _, does := range all {
			for k := range max(1, len(n.choices)) {
				w := vector(len(n.choices))
				if len(w) > 0 {
					w[k].SetInt64(1)
				}
				longer = append(longer, append(does[:len(does):len(does)], w))
			}
		}
		if all = longer; len(all) > most {
			return nil
		}
	}
	return all
}

// TestFilesAreKept: a problem that is read again is the same, so that a shrunk file says all.
func TestFilesAreKept(t *testing.T) {
	for seed := range uint64(30) {
		p, _, _ := generate(rand.New(rand.NewPCG(7, seed)))
		c := new(Problem)
		if err := json.Unmarshal(p.JSON(), c); err != nil {
			t.Fatal(err)
		}
		if string(c.JSON()) != string(p.JSON()) {
			t.Errorf("%s\nis not\n%s", c.JSON(), p.JSON())
		}
	}
}
