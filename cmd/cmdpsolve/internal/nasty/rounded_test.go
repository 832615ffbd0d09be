package nasty

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// grid is a resolution that rounds the totals that the problem looks at, "" if it looks at none.
func (q *question) grid(p *Problem) string {
	var names []string
	for _, r := range p.Returns {
		if of := r.outOf(); of != nil {
			names = append(names, of.Return)
		}
		for _, w := range r.Within {
			names = append(names, w.Return)
		}
	}
	for _, l := range p.Constraints {
		if l.whole() {
			names = append(names, l.Return)
		}
	}
	size := 0.0
	for _, name := range names {
		if i, is := q.graph().index[name]; is {
			size = max(size, float(q.scale(i)))
		}
	}
	if size == 0 {
		return ""
	}
	return strconv.FormatFloat(0.23*size, 'g', 3, 64)
}

// judgeRounded asks with rounded totals. What is said of all policies has to hold for the exact problem, and the
// policies that are found are none that it does not have.
func (b *Bed) judgeRounded(p *Problem, q *question, file string) *Failure {
	grid := q.grid(p)
	if grid == "" {
		return nil
	}
	a, _, f := ran[planned](b, "plan", file, "--format", "json", "--quiet", "--resolution", grid)
	switch {
	case f != nil:
		return f
	case a.Failed != nil:
		return q.judgeRefusal(p, a.message())
	}
	tight, loose := q.moved(q.limits, ratOf(-moderate)), q.moved(q.limits, ratOf(moderate))
	least, greatest := q.best(q.cost, loose), q.best(q.cost, tight)
	size := q.costSize()
	if greatest.status == optimal {
		size = max(size, math.Abs(float(greatest.value)))
	}
	switch {
	case a.Status == "infeasible" && greatest.status != infeasible:
		return failure("rounded", "%v", greatest.status).but("infeasible")
	case (a.Status == "optimal" || a.Status == "stopped") && least.status == infeasible:
		return failure("rounded", "infeasible").but("%s, %s", a.Status, show(a.Objective))
	case a.Status == "unbounded" && least.status != unbounded:
		return failure("rounded", "%v", least.status).but("unbounded")
	case finite(a.Bound) && greatest.status == optimal && a.Status != "unbounded" && p.Goal != nil &&
		sensed(q, *a.Bound) > float(greatest.value)+moderate*size:
		return failure("rounded", "the optimum %.12g", sensed(q, float(greatest.value))).but("bound %.12g", *a.Bound)
	case a.Status != "optimal" && a.Status != "stopped" || p.Goal == nil || least.status != optimal:
	case !finite(a.Objective) || sensed(q, *a.Objective) < float(least.value)-moderate*size:
		return failure("rounded", "the optimum %.12g", sensed(q, float(least.value))).but("objective %s", show(a.Objective))
	case a.Status == "optimal" && greatest.status == optimal &&
		sensed(q, *a.Objective) > float(greatest.value)+moderate*size:
		return failure("rounded", "the optimum %.12g", sensed(q, float(greatest.value))).but("optimal at %s",
			show(a.Objective))
	}
	c, _, f := ran[checked](b, "check", file, "--format", "json", "--quiet", "--resolution", grid)
	switch {
	case f != nil:
		return f
	case c.Feasible != nil && *c.Feasible && least.status == infeasible,
		c.Feasible != nil && !*c.Feasible && greatest.status != infeasible:
		return failure("rounded", "feasible: %v", least.status != infeasible).but("check says %v", *c.Feasible)
	}
	return b.judgeRoundedFront(p, q, file, grid)
}

// judgeRoundedFront does the same for a trade-off curve.
func (b *Bed) judgeRoundedFront(p *Problem, q *question, file, grid string) *Failure {
	names := p.names()
	if len(names) < 2 || slices.ContainsFunc(p.Constraints, func(l Limit) bool { return l.CVaR != "" }) {
		return nil
	}
	signs := p.senses()[:2]
	a, _, f := ran[curve](b, "front", file, "--over", over(names, signs), "--format", "json", "--quiet", "--resolution",
		grid)
	switch {
	case f != nil:
		return f
	case a.Failed != nil && (strings.Contains(a.Failed.Message, "without limit") ||
		strings.Contains(a.Failed.Message, "does not end")):
		return nil
	case a.Failed != nil:
		return q.judgeRefusal(p, a.Failed.Message)
	case a.Status == "infeasible" && q.best(nil, q.moved(q.limits, ratOf(-moderate))).status != infeasible:
		return failure("rounded front", "points").but("infeasible")
	case (a.Status == "optimal" || a.Status == "stopped") &&
		q.best(nil, q.moved(q.limits, ratOf(moderate))).status == infeasible:
		return failure("rounded front", "infeasible").but("%s, %d points", a.Status, len(a.Points))
	case a.Status != "optimal" && a.Status != "stopped":
		return nil
	case !finite(a.Error):
		return failure("rounded front", "an error").but("%s", show(a.Error))
	}
	return q.judgeSupport(a, names[:2], signs, math.Inf(1))
}
