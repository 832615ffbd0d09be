package nasty

import (
	"math"
	"math/big"
	"slices"
)

// A question is what a problem asks, as linear inequalities over coordinates. A limit with cvar holds if it
// holds for one of several thresholds; there is an alternative for each.
type question struct {
	region
	cost      map[int]*big.Rat // to be minimised
	maximized bool
	limits    [][]limited // of each constraint, its alternatives
	sizes     map[int]*big.Rat
}

// most bounds the histories that the reference tells apart: programs without a horizon take longer.
func (p *Problem) most() int {
	if p.endless() {
		return 24
	}
	return 160
}

// unknown is what the reference panics with where it has no answer, and says why. The next problem is tried
// then, see answered.
type unknown string

// answered calls f, and returns what of all that it asks the reference does not know, "" if that knows it all.
func answered(f func()) (not unknown) {
	defer func() {
		if why := recover(); why != nil {
			is := false
			not, is = why.(unknown)
			if !is {
				panic(why)
			}
		}
	}()
	f()
	return ""
}

// ask makes the question of a problem whose goal is linear and which has no target.
func ask(p *Problem) *question {
	g := unroll(p, p.most())
	q := &question{cost: map[int]*big.Rat{}, sizes: map[int]*big.Rat{}}
	q.region = endless{g}
	if !p.endless() {
		q.region = &episodes{g: g}
	}
	if p.Goal != nil && p.Goal.Maximize != "" {
		q.cost[g.index[p.Goal.Maximize]] = big.NewRat(-1, 1)
		q.maximized = true
	}
	if p.Goal != nil && p.Goal.Minimize != "" {
		q.cost[g.index[p.Goal.Minimize]] = big.NewRat(1, 1)
	}
	for _, l := range p.Constraints {
		q.limits = append(q.limits, g.alternatives(l))
	}
	return q
}

// alternatives are the inequalities one of which a constraint asks for.
func (g *graph) alternatives(l Limit) []limited {
	sense, bound, kind, tail := -1, rat(l.AtMost), "above", "excess"
	if l.AtMost == "" {
		sense, bound, kind, tail = 1, rat(l.AtLeast), "below", "shortfall"
	}
	single := func(name string, sense int, bound *big.Rat) limited {
		return limited{map[int]*big.Rat{g.index[name]: big.NewRat(1, 1)}, sense, bound}
	}
	switch {
	case l.Always:
		return []limited{single(coordName(kind, l.Return, bound), -1, new(big.Rat))}
	case l.Probability != "":
		return []limited{single(coordName(kind, l.Return, bound), -1, sub(big.NewRat(1, 1), rat(l.Probability)))}
	case l.CVaR != "":
		var all []limited
		for _, threshold := range g.support[l.Return] {
			// At most: threshold + E(total − threshold)⁺/α ≤ bound.
			room := sub(bound, threshold)
			if sense > 0 {
				room.Neg(room)
			}
			if room.Sign() >= 0 {
				all = append(all, single(coordName(tail, l.Return, threshold), -1, mul(rat(l.CVaR), room)))
			}
		}
		return all
	}
	return []limited{single(l.Return, sense, bound)}
}

// best answers for given limits: the best of all alternatives.
func (q *question) best(cost map[int]*big.Rat, limits [][]limited) result {
	best := result{status: infeasible}
	chosen := make([]limited, len(limits))
	var try func(k int)
	try = func(k int) {
		if k < len(limits) {
			for _, l := range limits[k] {
				chosen[k] = l
				try(k + 1)
			}
			return
		}
		r := q.minimize(cost, slices.Clone(chosen))
		switch {
		case r.status == infeasible:
			if best.prices == nil {
				best.prices = r.prices
			}
		case best.status == infeasible, r.status == unbounded, best.status == optimal && r.value.Cmp(best.value) < 0:
			best = r
		}
	}
	try(0)
	return best
}

// extent returns the least and the greatest value of a coordinate, without limits; nil where there is none.
func (q *question) extent(i int) (least, greatest *big.Rat) {
	low := q.minimize(map[int]*big.Rat{i: big.NewRat(1, 1)}, nil)
	high := q.minimize(map[int]*big.Rat{i: big.NewRat(-1, 1)}, nil)
	if low.status == optimal {
		least = low.value
	}
	if high.status == optimal {
		greatest = neg(high.value)
	}
	return least, greatest
}

// endless reports whether under every policy one of some coordinates is infinite.
func (q *question) endless(coordinates []int) bool {
	var finite [][]limited
	for _, i := range coordinates {
		of := map[int]*big.Rat{i: big.NewRat(1, 1)}
		finite = append(finite, []limited{{of, -1, ratOf(1e15)}}, []limited{{of, 1, ratOf(-1e15)}})
	}
	return q.best(nil, finite).status == infeasible
}

// infinity returns ∞ or −∞, what a coordinate is that is infinite, and NaN where it cannot be.
func (q *question) infinity(i int) float64 {
	of := map[int]*big.Rat{i: big.NewRat(1, 1)}
	least, greatest := q.extent(i)
	switch {
	case q.best(nil, [][]limited{{{of, 1, ratOf(-1e15)}}}).status == infeasible:
		return math.Inf(-1)
	case greatest == nil && (least != nil || q.best(nil, [][]limited{{{of, -1, ratOf(1e15)}}}).status == infeasible):
		return math.Inf(1)
	case least == nil:
		return math.Inf(-1)
	}
	return math.NaN()
}

// grows reports whether some policies make a coordinate as large as one likes, or as small.
func (q *question) grows(i int) bool {
	least, greatest := q.extent(i)
	return least == nil || greatest == nil
}

// scale is the size of a coordinate: the largest of its extremes and of what a step gives. It is what rounding
// is measured by.
func (q *question) scale(i int) *big.Rat {
	if s := q.sizes[i]; s != nil {
		return s
	}
	g := q.graph()
	low, high := q.extent(i)
	size := new(big.Rat)
	larger := func(x *big.Rat) {
		if x != nil {
			if a := new(big.Rat).Abs(x); a.Cmp(size) > 0 {
				size = a
			}
		}
	}
	larger(low)
	larger(high)
	switch c := g.coords[i]; {
	case c.reach, c.kind == "above", c.kind == "below", c.kind == "meets":
		larger(big.NewRat(1, 1))
	case c.of != "":
		larger(c.at)
		for _, x := range g.support[c.of] {
			larger(x)
		}
	}
	for _, n := range g.nodes {
		for _, c := range n.choices {
			larger(c.gives[i])
		}
	}
	for _, r := range g.problem.Transitions { // also where no policy comes
		larger(rat(r.Returns[g.coords[i].name]))
		for _, o := range r.Outcomes {
			larger(rat(o.Returns[g.coords[i].name]))
		}
	}
	q.sizes[i] = size
	return size
}

// costSize is the size of what is to be minimised.
func (q *question) costSize() float64 {
	size := 0.0
	for i := range q.cost {
		size = max(size, float(q.scale(i)))
	}
	return size
}

// moved are the limits, each loosened by its share of the size of its coordinate, or tightened if it is
// negative.
func (q *question) moved(limits [][]limited, share *big.Rat) [][]limited {
	moved := make([][]limited, len(limits))
	for k := range limits {
		for _, l := range limits[k] {
			size := new(big.Rat).Abs(l.bound)
			for i, c := range l.coef {
				s := mul(q.scale(i), new(big.Rat).Abs(c))
				if s.Cmp(size) > 0 {
					size = s
				}
			}
			by := mul(size, share)
			if l.sense > 0 {
				by.Neg(by)
			}
			moved[k] = append(moved[k], l.with(add(l.bound, by)))
		}
	}
	return moved
}
