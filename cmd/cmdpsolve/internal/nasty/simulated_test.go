package nasty

import (
	"math"
	"math/big"
)

// spreads says how far episodes of a policy without memory vary. The total of an episode, less its mean, is a sum of
// differences, each of which is 0 in the mean whatever was before: that of the start, and those of the steps.
type spreads struct {
	widths  []float64 // of each coordinate, the longest interval that a difference lies in, NaN if unknown
	steps   float64   // most expected steps until an episode with no discount is over
	largest []float64 // of each coordinate, the largest amount of a step
}

// spreads finds them. Values are those of the policy from each node on.
func (g *graph) spreads(rules []rule) (spreads, error) {
	s := spreads{widths: make([]float64, len(g.coords)), largest: make([]float64, len(g.coords))}
	starts := make([]interval, len(g.coords))
	components := map[int]bool{}
	for _, r := range rules {
		if components[r.component] || r.weight.Sign() == 0 {
			continue
		}
		components[r.component] = true
		does, err := g.play(rules, r.component, nil, asNumbers)
		if err != nil {
			return s, err
		}
		time, values := g.valuesOf(does)
		for _, t := range time {
			s.steps = max(s.steps, float(t))
		}
		for i := range g.coords {
			for id, w := range g.start {
				if w.Sign() > 0 && !g.mean(i) {
					starts[i].add(float(values[id][i]))
				}
			}
			width, largest := g.widthOf(does, values, i)
			s.widths[i], s.largest[i] = max(s.widths[i], width), max(s.largest[i], largest)
		}
	}
	for i := range s.widths {
		s.widths[i] = max(s.widths[i], starts[i].width())
	}
	return s, nil
}

// mean reports whether a coordinate is a long-run mean.
func (g *graph) mean(i int) bool { return g.problem.Criterion != "" && !g.coords[i].total }

// An interval is one of numbers that are added to it.
type interval struct {
	least, greatest float64
	some            bool
}

func (v *interval) add(x float64) {
	if !v.some {
		*v = interval{x, x, true}
	}
	v.least, v.greatest = min(v.least, x), max(v.greatest, x)
}

func (v *interval) width() float64 { return v.greatest - v.least }

// widthOf is the longest interval of what a step gives of a coordinate and of what is expected after it, and the
// largest amount of a step.
func (g *graph) widthOf(does, values [][]*big.Rat, i int) (width, largest float64) {
	c := g.coords[i]
	if r, named := g.problem.Returns[c.name]; !named || !r.given() && c.visits == nil {
		return math.NaN(), 0
	}
	var every interval
	for id, n := range g.nodes {
		var at interval
		for k, w := range does[id] {
			for _, b := range n.choices[k].branches {
				x := b.row[c.name]
				if w.Sign() == 0 || b.p.Sign() == 0 {
					continue
				}
				if x == nil {
					x = new(big.Rat)
				}
				largest = max(largest, math.Abs(float(x)))
				every.add(float(x))
				at.add(float(add(x, mul(g.gamma, values[b.node][i]))))
			}
		}
		width = max(width, at.width())
	}
	if g.mean(i) { // a mean of steps is one difference
		every.add(0) // of rest
		return every.width(), largest
	}
	return width, largest
}

// valuesOf returns the expected steps until an episode is in a class of states that it never leaves, and the expected
// totals, from each node on. What such a class gives does not count.
func (g *graph) valuesOf(does [][]*big.Rat) (time []*big.Rat, values [][]*big.Rat) {
	next, gives, reach := g.under(does)
	var open []int
	started := map[int]bool{}
	for id, w := range g.start {
		for to := range reach[id] {
			started[to] = started[to] || w.Sign() > 0
		}
	}
	one := big.NewRat(1, 1)
	time = vector(len(g.nodes))
	for id := range g.nodes {
		values = append(values, vector(len(g.coords)))
		if started[id] && (g.gamma.Cmp(one) < 0 || leaves(reach, id)) {
			open = append(open, id)
		}
	}
	if !g.problem.endless() { // in the order of steps
		for id := len(g.nodes) - 1; id >= 0; id-- {
			for i := range g.coords {
				values[id][i].Set(gives[id][i])
				for to, w := range next[id] {
					addMul(values[id][i], w, values[to][i])
				}
			}
		}
		return time, values
	}
	solve := func(right func(id int) *big.Rat, set func(id int, x *big.Rat)) {
		a := make([][]*big.Rat, len(open))
		for k, id := range open {
			a[k] = vector(len(open) + 1)
			a[k][k].SetInt64(1)
			a[k][len(open)].Set(right(id))
			for o, to := range open {
				if w := next[id][to]; w != nil {
					a[k][o].Sub(a[k][o], mul(g.gamma, w))
				}
			}
		}
		for k, x := range gauss(a) {
			set(open[k], x)
		}
	}
	solve(func(int) *big.Rat { return one }, func(id int, x *big.Rat) { time[id] = x })
	for i := range g.coords {
		solve(func(id int) *big.Rat { return gives[id][i] }, func(id int, x *big.Rat) { values[id][i] = x })
	}
	return time, values
}

// leaves reports whether an episode may leave a node for good.
func leaves(reach []map[int]bool, id int) bool {
	for to := range reach[id] {
		if !reach[to][id] {
			return true
		}
	}
	return false
}

// rarely is the chance that a right mean is called wrong, of each return.
const rarely = 1e-9

// apart is how far the mean of so many episodes may be from what is expected of a coordinate, by the inequality of
// Azuma and Hoeffding. Without a discount the number of steps of all episodes is bounded first: the moments of that of
// one are at most those of an exponential variable of mean s.steps.
func (s spreads) apart(p *Problem, g *graph, i, episodes int) float64 {
	n := float64(episodes)
	count, cut := n, 0.0 // differences, each as its square counts, and what episodes miss that are cut
	switch gamma := float(g.gamma); {
	case g.mean(i):
	case !p.endless():
		count += n * float64(p.Horizon)
	case gamma < 1:
		count += n / (1 - gamma*gamma)
		cut = 1.1e-6 * s.largest[i] / (1 - gamma)
	default:
		count += 2 * s.steps * (n*math.Ln2 - math.Log(rarely))
	}
	return s.widths[i]*math.Sqrt(-math.Log(rarely/2)*count/2)/n + cut
}

// episodes is how many of them are played: those of a million steps or so, 0 where a single one is too long.
func (s spreads) episodes(p *Problem) int {
	steps := max(s.steps, float64(p.Horizon))
	switch gamma := float(rat(p.Discount)); {
	case p.Criterion != "":
		steps += 1000
	case p.Discount != "" && gamma < 1:
		steps = 14 / (1 - gamma)
	}
	if steps > 2e7 {
		return 0
	}
	return int(min(300, max(2, 1e6/steps)))
}

// judgeMeans compares the means of episodes of a policy with its returns v.
func (q *question) judgeMeans(p *Problem, s spreads, v []float64, found *played, episodes int) *Failure {
	for i, c := range q.graph().coords {
		r, shown := found.Returns[c.name]
		if !shown || math.IsNaN(s.widths[i]) {
			continue
		}
		apart := s.apart(p, q.graph(), i, episodes) + 1e-9*float(q.scale(i))
		if r.Stopping != nil {
			apart += *r.Stopping
		}
		if !finite(r.Mean) || !(math.Abs(*r.Mean-v[i]) <= apart+1e-9*math.Abs(v[i])) {
			return failure("episodes", "a mean of %s within %g of %v in %d episodes", c.name, apart, v[i],
				episodes).but("%s", show(r.Mean))
		}
	}
	return nil
}
