package nasty

import (
	"hash/fnv"
	"math"
	"math/big"
	"slices"
	"strings"
)

// curve is what front prints.
type curve struct {
	Status string `json:"status"`
	Points []struct {
		Returns map[string]*float64 `json:"returns"`
	} `json:"points"`
	Vertices []struct {
		Returns map[string]*float64 `json:"returns"`
	} `json:"vertices"`
	Error  *float64 `json:"error"`
	Failed *refused `json:"failed"`
}

// senses are what a front makes of its returns, three of them in about half of the problems that have so many: 1 is to
// be large, -1 small. They differ from problem to problem.
func (p *Problem) senses() []float64 {
	h := fnv.New32()
	h.Write(p.JSON())
	signs := []float64{1, -1}
	if h.Sum32()>>len(signs)&1 > 0 && len(p.Returns) > len(signs) {
		signs = append(signs, 1)
	}
	for k := range signs {
		if h.Sum32()>>k&1 > 0 {
			signs[k] = -signs[k]
		}
	}
	return signs
}

// over is how a front is asked for.
func over(names []string, signs []float64) string {
	var list []string
	for k, sign := range signs {
		list = append(list, map[float64]string{1: "+", -1: "-"}[sign]+names[k])
	}
	return strings.Join(list, ",")
}

// judgeFront compares the support of the points with that of the region, in a few directions.
func (b *Bed) judgeFront(p *Problem, q *question, file string) *Failure {
	names := p.names()
	if len(names) < 2 || slices.ContainsFunc(p.Constraints, func(l Limit) bool { return l.CVaR != "" }) {
		return nil
	}
	signs := p.senses()
	names = names[:len(signs)]
	a, _, f := ran[curve](b, "front", file, "--over", over(names, signs), "--format", "json", "--quiet")
	if f != nil {
		return f
	}
	if a.Failed != nil {
		if p.totals() && (strings.Contains(a.Failed.Message, "without limit") ||
			strings.Contains(a.Failed.Message, "does not end")) {
			return nil // an axis may be infinite under all policies
		}
		return q.judgeRefusal(p, a.Failed.Message)
	}
	for k := range a.Points[min(1, len(a.Points)):] {
		if before, x := value(a.Points[k].Returns, names[0]), value(a.Points[k+1].Returns, names[0]); before > x {
			return failure("front", "points in the order of %s", names[0]).but("%v before %v", before, x)
		}
	}
	tight := q.moved(q.limits, ratOf(-moderate))
	loose := q.moved(q.limits, ratOf(moderate))
	can := q.best(nil, tight)
	could := q.best(nil, loose)
	switch a.Status {
	case "infeasible":
		if can.status != infeasible {
			return failure("front", "points").but("infeasible")
		}
		return nil
	case "optimal":
		if could.status == infeasible {
			return failure("front", "infeasible").but("%d points", len(a.Points))
		}
	default:
		if !p.undiscounted() && can.status != infeasible && !(finite(a.Error) && *a.Error <= moderate) {
			return failure("front", "optimal").but("%s", a.Status)
		}
		return nil
	}
	return q.judgeSupport(a, names, signs, 2e-4) // --error 1e-4
}

// judgeSupport compares the support of vertices with that of the region, in a few directions. Vertices may be less far
// out by the error of the curve, which is to be at most a share of the scale.
func (q *question) judgeSupport(a *curve, names []string, signs []float64, share float64) *Failure {
	g := q.graph()
	tight, loose := q.moved(q.limits, ratOf(-moderate)), q.moved(q.limits, ratOf(moderate))
	sizes := make([]float64, len(names))
	for k, name := range names {
		sizes[k] = max(float(q.scale(g.index[name])), 1e-300)
		if low, high := q.extent(g.index[name]); low == nil || high == nil {
			return nil // points are those at which both are finite
		}
	}
	directions := [][]float64{{1, 0}, {0, 1}, {0.5, 0.5}, {0.9, 0.1}, {0.2, 0.8}}
	if len(names) == 3 {
		directions = [][]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0.4, 0.3, 0.3}, {0.7, 0, 0.3}, {0.1, 0.8, 0.1},
			{0.2, 0.1, 0.7}}
	}
	for _, w := range directions {
		cost := map[int]*big.Rat{}
		size, missed := 0.0, 0.0
		for k, name := range names {
			if w[k] > 0 {
				x := ratOf(w[k] / sizes[k] * -signs[k])
				cost[g.index[name]] = x
				size += w[k]
				missed = math.Hypot(missed, w[k]/sizes[k]**a.Error)
			}
		}
		found := math.Inf(-1)
		for _, point := range a.Vertices {
			sum := 0.0
			for k, name := range names {
				if w[k] > 0 {
					sum += w[k] / sizes[k] * signs[k] * value(point.Returns, name)
				}
			}
			if math.IsNaN(sum) {
				return failure("front", "points").but("%s", "null")
			}
			found = max(found, sum)
		}
		least := q.best(cost, tight)
		if least.status != optimal {
			continue
		}
		most := q.best(cost, loose)
		if most.status != optimal {
			continue
		}
		if want := -float(least.value); !(found >= want-min(missed, share*size)-1e-6*size) {
			return failure("front", "a point with %v·(%v) = %.9g in units of %v", w, names, want,
				sizes).but("at most %.9g", found)
		}
		if want := -float(most.value); !(found <= want+1e-6*size) {
			return failure("front", "points with %v·(%v) at most %.9g in units of %v", w, names, want,
				sizes).but("%.9g", found)
		}
	}
	return nil
}

// eachPolicy visits the expected values of every policy that never draws, and by how much the limit that it
// breaks most is broken, in units of that limit. It answers false if there are too many of them.
func (q *question) eachPolicy(p *Problem, visit func(v []float64, broken float64)) bool {
	g := q.graph()
	if p.endless() || slices.ContainsFunc(g.coords, func(c coordinate) bool { return c.of != "" || c.followed() }) {
		return false
	}
	policies := 1
	for _, n := range g.nodes {
		policies *= max(1, len(n.choices))
		if policies > 3000 {
			return false
		}
	}
	does := make([][]*big.Rat, len(g.nodes))
	var try func(id int)
	try = func(id int) {
		if id < len(g.nodes) {
			n := len(g.nodes[id].choices)
			for k := range n {
				does[id] = vector(n)
				does[id][k].SetInt64(1)
				try(id + 1)
			}
			if n == 0 {
				try(id + 1)
			}
			return
		}
		v, err := g.chain(does)
		if err != nil {
			panic(err)
		}
		worst := math.Inf(-1)
		for k := range q.limits {
			broken, unit := q.broken(q.limits[k][0], v)
			if unit > 0 {
				worst = max(worst, broken/unit)
			}
		}
		visit(v, worst)
	}
	try(0)
	return true
}

// surely is what a limit may be broken by, in its units, by a policy that is said to keep it in any case; up to
// moderate either is right.
const surely = 1e-13

// judgeDeterministic tries all policies that never draw.
func (b *Bed) judgeDeterministic(p *Problem, q *question, file string) *Failure {
	best, loosest := math.Inf(1), math.Inf(1) // within the limits, and almost
	if p.Goal == nil || !q.eachPolicy(p, func(v []float64, broken float64) {
		cost := 0.0
		for i, c := range q.cost {
			cost += float(c) * v[i]
		}
		if broken <= surely {
			best = min(best, cost)
		}
		if broken <= moderate {
			loosest = min(loosest, cost)
		}
	}) {
		return nil
	}
	a, _, f := ran[planned](b, "plan", file, "--format", "json", "--quiet", "--deterministic")
	if f != nil {
		return f
	}
	if a.Failed != nil {
		return q.judgeRefusal(p, a.Failed.Message)
	}
	size := q.costSize()
	switch a.Status {
	case "infeasible":
		if !math.IsInf(best, 1) && !math.IsInf(loosest, 1) && !q.tightlyInfeasible() {
			return failure("deterministic", "optimal, %.12g", sensed(q, best)).but("infeasible")
		}
	case "optimal":
		if !finite(a.Objective) || !finite(a.Bound) {
			return failure("deterministic", "optimal, %.12g", sensed(q, best)).but("objective %s, bound %s",
				show(a.Objective), show(a.Bound))
		}
		x := sensed(q, *a.Objective)
		if !(x >= loosest-moderate*size && x <= best+moderate*size) {
			return failure("deterministic", "optimal, %.12g", sensed(q, best)).but("objective %.12g", *a.Objective)
		}
	default:
		return failure("deterministic", "optimal, %.12g", sensed(q, best)).but("%s", a.Status)
	}
	return nil
}

// tightlyInfeasible says that no policy keeps the limits with room to spare, so that "infeasible" is not wrong.
func (q *question) tightlyInfeasible() bool {
	return q.best(nil, q.moved(q.limits, ratOf(-moderate))).status == infeasible
}

// judgeDeterministicFront wants a point as good as each policy that never draws and keeps the limits, and each
// point to be one of those policies.
func (b *Bed) judgeDeterministicFront(p *Problem, q *question, file string) *Failure {
	names, signs := p.names(), p.senses()[:2]
	if len(names) < 2 {
		return nil
	}
	// what is to be large, of policies that keep the limits, and of those that almost do
	var within, almost [][2]float64
	var sizes [2]float64
	if !q.eachPolicy(p, func(v []float64, broken float64) {
		var at [2]float64
		for k := range at {
			x := v[q.graph().index[names[k]]]
			at[k] = signs[k] * x
			sizes[k] = max(sizes[k], math.Abs(x))
		}
		if broken <= surely {
			within = append(within, at)
		}
		if broken <= moderate {
			almost = append(almost, at)
		}
	}) {
		return nil
	}
	a, _, f := ran[curve](b, "front", file, "--deterministic", "--over", over(names, signs), "--format", "json",
		"--quiet")
	if f != nil {
		return f
	}
	if a.Failed != nil {
		return q.judgeRefusal(p, a.Failed.Message)
	}
	if a.Status != "optimal" {
		if a.Status == "infeasible" && (len(within) == 0 || q.tightlyInfeasible()) {
			return nil
		}
		return failure("deterministic front", "%d policies, optimal", len(within)).but("%s", a.Status)
	}
	// Points that differ by less than a millionth of what the steps can come to count as one.
	for k := range sizes {
		sizes[k] = max(sizes[k], float64(p.Horizon)*float(q.scale(q.graph().index[names[k]])))
	}
	// covers says that x is as good as y, up to rounding, and equals that it is y.
	covers := func(x, y [2]float64) bool {
		return x[0] >= y[0]-1e-6*sizes[0] && x[1] >= y[1]-1e-6*sizes[1]
	}
	equals := func(x, y [2]float64) bool { return covers(x, y) && covers(y, x) }
	var points [][2]float64
	for _, point := range a.Points {
		var at [2]float64
		for k := range at {
			at[k] = signs[k] * value(point.Returns, names[k])
		}
		points = append(points, at)
		if !slices.ContainsFunc(almost, func(of [2]float64) bool { return equals(at, of) }) {
			return failure("deterministic front", "points of policies that keep the limits").but("%v of %s", at,
				over(names, signs))
		}
	}
	for _, of := range within {
		if !slices.ContainsFunc(points, func(at [2]float64) bool { return covers(at, of) }) {
			return failure("deterministic front", "a point as good as %v of %s", of, over(names, signs)).but("%v",
				points)
		}
	}
	return nil
}
