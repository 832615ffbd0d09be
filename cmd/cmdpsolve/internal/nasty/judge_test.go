package nasty

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
)

// A Failure is an answer of the command that is not right.
type Failure struct {
	Check     string // the question
	Kind      string // what is wrong, the same for failures of one kind
	Arguments []string
	Large     bool // by the methods for large models
	Wanted    string
	Found     string
}

func (f *Failure) Error() string {
	how := map[bool]string{true: ", as in a large model"}[f.Large]
	return fmt.Sprintf("%s: cmdpsolve %v%s\nwanted %s\nfound %s", f.Kind, f.Arguments, how, f.Wanted, f.Found)
}

func failure(kind, wanted string, args ...any) *Failure {
	return &Failure{Kind: kind, Wanted: fmt.Sprintf(wanted, args...)}
}

func (f *Failure) but(found string, args ...any) *Failure {
	f.Found = fmt.Sprintf(found, args...)
	return f
}

// moderate is how far limits and answers are moved before an answer counts as wrong, as a share of the size
// of the coordinate.
const moderate = 1e-7

// judgePlan compares an answer of plan with the reference. policy is the text of the policy file.
func judgePlan(p *Problem, q *question, a *planned, exit int, policy string) *Failure {
	exact := q.best(q.cost, q.limits)
	want := map[string]int{"optimal": 0, "unbounded": 0, "undecided": 1, "infeasible": 3}
	if code, ok := want[a.Status]; !ok || code != exit {
		return failure("exit", "an answer with its exit status").but("status %q, exit status %d, %s", a.Status, exit,
			a.message())
	}
	loose := q.moved(q.limits, ratOf(moderate))
	tight := q.moved(q.limits, ratOf(-moderate))
	least := q.best(q.cost, loose)
	greatest := q.best(q.cost, tight)
	touching := least.status != greatest.status
	said := func(r result) string {
		if r.status != optimal {
			return r.status.String()
		}
		v := float(r.value)
		if q.maximized {
			v = -v
		}
		return fmt.Sprintf("optimal, %.12g", v)
	}
	right := said(exact)
	switch a.Status {
	case "undecided":
		if f := q.judgeUndecided(p, a, exact); f != nil {
			return f
		}
		if !touching {
			return failure("undecided", "%s", right).but("undecided")
		}
		return nil
	case "infeasible":
		if exact.status != infeasible && !touching {
			return failure("infeasible", "%s", right).but("infeasible")
		}
		for _, judge := range []func(*Problem, *planned) *Failure{q.judgeReturns, q.judgeCertificate, q.judgeConflict} {
			f := judge(p, a)
			if f != nil {
				return f
			}
		}
		return nil
	case "unbounded":
		if exact.status != unbounded && least.status != unbounded {
			return failure("unbounded", "%s", right).but("unbounded in %s", a.Return)
		}
	case "optimal":
		if least.status != optimal && exact.status != optimal {
			return failure("optimal", "%s", right).but("optimal %v", show(a.Objective))
		}
	}
	if policy != "" {
		if f := q.judgePolicy(p, a, policy); f != nil {
			return f
		}
	}
	if a.Status != "optimal" {
		return nil
	}
	if f := q.judgeReturns(p, a); f != nil {
		return f
	}
	if p.Goal == nil {
		return nil
	}
	if least.status != optimal { // limits that are moved a little let the goal grow without end
		least = exact
	}
	size := q.costSize()
	for i := range q.cost {
		if low, high := q.extent(i); low == nil || high == nil {
			size = max(size, math.Abs(float(least.value)))
		}
	}
	if !finite(a.Objective) || !finite(a.Bound) || !finite(a.Gap) {
		return failure("null", "%s", right).but("objective %s, bound %s, gap %s", show(a.Objective), show(a.Bound),
			show(a.Gap))
	}
	objective, bound := *a.Objective, *a.Bound
	if q.maximized {
		objective, bound = -objective, -bound
	}
	low, slack := float(least.value), moderate*size
	high := math.Inf(1) // limits that only rounding keeps
	if exact.status == optimal {
		high = float(exact.value)
	}
	loss := a.joiningLoss(max(size, math.Abs(objective)))
	if !(objective >= low-slack && objective <= high+slack+loss) {
		return failure("objective", "%s", right).but("objective %.12g", *a.Objective)
	}
	if exact.status == optimal && !(bound <= high+1e-9*size) {
		return failure("bound", "%s, and a bound beyond it", right).but("bound %.15g", *a.Bound)
	}
	if exact.status == optimal && !(objective-bound <= *a.Gap+1e-9*size &&
		*a.Gap <= loss+moderate*max(size, math.Abs(objective))) {
		return failure("gap", "a gap between the bound and %s", right).but("objective %.15g, bound %.15g, gap %g",
			*a.Objective, *a.Bound, *a.Gap)
	}
	if name := p.Goal.Maximize + p.Goal.Minimize; !near(*a.Objective, value(a.Returns, name), 1e-9*size) {
		return failure("returns", "objective = return %s", name).but("objective %v, return %v", *a.Objective,
			show(a.Returns[name]))
	}
	if exact.status == optimal && !touching {
		if f := q.judgePrices(p, a, exact, size); f != nil {
			return f
		}
	}
	return nil
}

func (a *planned) message() string {
	if a.Failed != nil {
		return a.Failed.Message
	}
	return ""
}

func finite(x *float64) bool { return x != nil && !math.IsNaN(*x) && !math.IsInf(*x, 0) }

func near(x, y, within float64) bool {
	return x == y || math.Abs(x-y) < within+1e-9*(math.Abs(x)+math.Abs(y))
}

func show(x *float64) string {
	if x == nil {
		return "null"
	}
	return fmt.Sprintf("%.12g", *x)
}

func value(of map[string]*float64, name string) float64 {
	if x := of[name]; x != nil {
		return *x
	}
	return math.NaN()
}

// judgePolicy evaluates the policy file, and compares it with the returns of the report.
func (q *question) judgePolicy(p *Problem, a *planned, policy string) *Failure {
	rules, err := readPolicy(policy)
	if err != nil {
		return failure("policy file", "a policy").but("%v", err)
	}
	f := q.judgeRules(p, a, rules, policy, asNumbers)
	if f != nil && (q.judgeRules(p, a, rules, policy, asWords) == nil ||
		q.judgeRules(p, a, rules, policy, asSettled) == nil) {
		return nil
	}
	return f
}

func (q *question) judgeRules(p *Problem, a *planned, rules []rule, policy string, by reading) *Failure {
	g := q.graph()
	var names []string
	for _, m := range a.Memory {
		names = append(names, m.Name)
	}
	v, err := g.evaluate(rules, names, by)
	if err != nil {
		return failure("policy file", "a policy").but("%v\n%s", err, policy)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Returns)) {
		coef, constant, ok := g.named(name)
		if !ok {
			return failure("names", "a return of the problem").but("%s", name)
		}
		if constant == nil {
			continue
		}
		want, size := float(constant), 0.0
		for i, c := range coef {
			want += float(c) * v[i]
			size = max(size, float(q.scale(i)))
		}
		found := a.Returns[name]
		switch {
		case found == nil:
			if !math.IsInf(want, 0) && !math.IsNaN(want) {
				return failure("policy", "%s = %v under the policy\n%s", name, want, policy).but("null")
			}
		case !near(*found, want, moderate*size):
			return failure("policy", "%s = %v under the policy\n%s", name, want, policy).but("%v", *found)
		}
	}
	if a.Status == "unbounded" {
		i, ok := g.index[a.Return]
		if !ok || !q.grown(i, v[i]) {
			return failure("ray", "a policy under which a return grows without end").but("return %q under\n%s",
				a.Return, policy)
		}
	}
	for at, k := range limitsInOrder(p) {
		l := p.Constraints[k]
		at += len(a.Constraints) - len(p.Constraints) // behind the sides of the target
		if l.Probability != "" && !l.sure() && p.Target == nil && len(a.Constraints) == len(p.Constraints) {
			by, _ := q.broken(q.limits[k][0], v)
			if slack := a.Constraints[at].Slack; !finite(slack) || !near(*slack, -by, moderate) {
				return failure("slack", "%v of %s in a share of %s", -by, l.text(), l.Probability).but("%s", show(slack))
			}
		}
		if l.CVaR != "" && a.Status == "optimal" && p.Target == nil && len(a.Constraints) == len(p.Constraints) {
			if o, ok := q.atThreshold(a, at, k); ok {
				by, _ := q.broken(o, v)
				by /= float(rat(l.CVaR))
				size := max(float(q.scale(g.index[l.Return])), math.Abs(float(rat(l.AtMost+l.AtLeast))))
				if slack := a.Constraints[at].Slack; !finite(slack) || !near(*slack, -by, 1e-6*size) {
					return failure("slack", "%v of %s", -by, a.Constraints[at].Constraint).but("%s", show(slack))
				}
			}
		}
		if !l.sure() || p.endless() || a.Status != "optimal" || at >= len(a.Constraints) ||
			a.Constraints[at].Slack == nil {
			continue
		}
		sign, bound := 1, rat(l.AtMost)
		if l.AtMost == "" {
			sign, bound = -1, neg(rat(l.AtLeast))
		}
		most, err := g.farthest(rules, names, by, l.Return, sign)
		if err != nil || most == nil {
			continue
		}
		if want, size := float(sub(bound, most)), float(q.scale(g.index[l.Return])); !near(*a.Constraints[at].Slack,
			want, moderate*size) {
			return failure("slack", "%v, the slack of %s in the worst episode", want, l.text()).but("%v",
				*a.Constraints[at].Slack)
		}
	}
	f := q.judgeBranches(p, a)
	if f != nil {
		return f
	}
	return q.judgeKept(p, v, "of the policy file")
}

// judgeBranches checks that the ways in which endless runs go on make up the long-run means, and which limits
// each breaks.
func (q *question) judgeBranches(p *Problem, a *planned) *Failure {
	if len(a.Branches) == 0 {
		return nil
	}
	g := q.graph()
	sum := map[string]float64{}
	for _, b := range a.Branches {
		v := make([]float64, len(g.coords))
		for i, c := range g.coords {
			if !c.total && c.name[0] != '?' {
				v[i] = value(b.Returns, c.name)
				sum[c.name] += *b.Probability * v[i]
			}
		}
		for at, k := range limitsInOrder(p) {
			l := p.Constraints[k]
			if l.whole() || g.coords[g.index[l.Return]].total || at >= len(a.Constraints) {
				continue
			}
			by, size := q.broken(q.limits[k][0], v)
			says := slices.Contains(b.Breaks, a.Constraints[at].Constraint) // whose numbers are rounded
			if by > 1e-6*size && !says || by < -1e-6*size && says {
				return failure("branch", "%s is broken by %v", l.text(), by).but("%v", b.Breaks)
			}
		}
	}
	for name, x := range sum {
		if !near(x, value(a.Returns, name), moderate*float(q.scale(g.index[name]))) {
			return failure("branch", "branches whose mean %s is %s", name, show(a.Returns[name])).but("%v", x)
		}
	}
	return nil
}

// judgeUndecided checks the bound of an answer that is not proved.
func (q *question) judgeUndecided(p *Problem, a *planned, exact result) *Failure {
	if p.Goal == nil || a.Bound == nil || exact.status != optimal {
		return nil
	}
	bound, optimum := *a.Bound, float(exact.value)
	if q.maximized {
		bound = -bound
	}
	size := max(math.Abs(optimum), q.costSize())
	if !(bound <= optimum+1e-9*size) {
		return failure("bound", "undecided, and a bound beyond %.12g in the cost", optimum).but("bound %.15g", *a.Bound)
	}
	return nil
}

// grown reports whether a return shows that it has no bound. It is infinite, or, where no single policy has
// that, what many steps along the loop give.
func (q *question) grown(i int, x float64) bool {
	const manySteps = 1e5
	step := 0.0
	for _, n := range q.graph().nodes {
		for _, c := range n.choices {
			step = max(step, math.Abs(float(c.gives[i])))
		}
	}
	return math.Abs(x) >= manySteps*step
}

// broken returns by how much the coordinates v break an inequality, and the size by which rounding is measured there.
func (q *question) broken(l limited, v []float64) (by, size float64) {
	by, size = -float(l.bound), math.Abs(float(l.bound))
	for i, c := range l.coef {
		by += float(c) * v[i]
		size = max(size, float(q.scale(i))*math.Abs(float(c)))
	}
	if l.sense > 0 {
		by = -by
	}
	return by, size
}

// judgeKept checks the limits at the coordinates v.
func (q *question) judgeKept(p *Problem, v []float64, of string) *Failure {
	for k, all := range q.limits {
		best := math.Inf(1)
		for _, l := range all {
			broken, size := q.broken(l, v)
			if b := broken - moderate*size; math.IsNaN(broken) || b < best {
				best = b
			}
		}
		if !(best <= 0) {
			return failure("limit", "%s, %+v", p.Constraints[k].text(), p.Constraints[k]).but("the returns %s break it",
				of)
		}
	}
	return nil
}

// judgeReturns checks the limits at the returns of the report, and their slacks.
func (q *question) judgeReturns(p *Problem, a *planned) *Failure {
	g := q.graph()
	if len(a.Constraints) != len(p.Constraints) {
		return failure("constraints", "%d of them", len(p.Constraints)).but("%d", len(a.Constraints))
	}
	for at, k := range limitsInOrder(p) {
		l, c := p.Constraints[k], a.Constraints[at]
		if l.whole() {
			continue
		}
		size := q.scale(g.index[l.Return])
		close := moderate * max(float(size), math.Abs(float(rat(l.AtMost))), math.Abs(float(rat(l.AtLeast))))
		x := a.Returns[l.Return]
		if x == nil {
			if c.Slack != nil {
				return failure("slack", "null for an infinite return %s", l.Return).but("%v", *c.Slack)
			}
			continue
		}
		slack := float(rat(l.AtMost)) - *x
		if l.AtMost == "" {
			slack = *x - float(rat(l.AtLeast))
		}
		if !finite(c.Slack) || !near(*c.Slack, slack, close) {
			return failure("slack", "%s: %v", l.text(), slack).but("%s", show(c.Slack))
		}
		if a.Status == "optimal" && slack < -close {
			return failure("limit", "%s", l.text()).but("%v in the report", *x)
		}
	}
	return nil
}

// judgePrices checks that prices are subgradients: moving limits by t changes the optimum by at least the
// prices times t, however far, and by no more where a limit is loosened a little, also at a kink.
func (q *question) judgePrices(p *Problem, a *planned, exact result, size float64) *Failure {
	limits, exact, ok := q.atThresholds(p, a, exact)
	if !ok {
		return nil
	}
	for at, k := range limitsInOrder(p) {
		if p.Constraints[k].sure() {
			continue // no number is moved
		}
		price := a.Constraints[at].Price
		if !finite(price) || *price < 0 {
			return failure("price", "a price of %s", p.Constraints[k].text()).but("%s", show(price))
		}
	}
	const little = 1e-12
	for at, k := range limitsInOrder(p) {
		width := q.scale(slices.Sorted(maps.Keys(limits[k][0].coef))[0])
		if width.Sign() == 0 || p.Constraints[k].sure() {
			continue // no policy changes the return
		}
		unit := big.NewRat(1, 1) // by which the inequality moves with the limit
		if p.Constraints[k].CVaR != "" {
			unit = rat(p.Constraints[k].CVaR)
		}
		for _, share := range []float64{-0.5, -0.01, little, 0.5} {
			moved := slices.Clone(limits)
			l := moved[k][0]
			by := mul(width, ratOf(share)) // looser if positive
			moved[k] = []limited{l.with(add(l.bound, mul(mul(by, unit), big.NewRat(int64(-l.sense), 1))))}
			r := q.best(q.cost, moved)
			if r.status != optimal {
				continue
			}
			least := float(exact.value) - *a.Constraints[at].Price*float(by)
			if got := float(r.value); !(got >= least-1e-6*size-1e-9*math.Abs(least)) {
				return failure("price", "optimum %.12g where %s is loosened by %g from %.12g", got,
					p.Constraints[k].text(), float(by), float(exact.value)).
					but("price %g, by which the optimum is at least %.12g", *a.Constraints[at].Price, least)
			}
			rate := float(new(big.Rat).Quo(sub(exact.value, r.value), by))
			if price := *a.Constraints[at].Price; share == little && price > rate*(1+1e-4)+1e-6*size/float(width) {
				return failure("price", "%.12g where %s is loosened a little", rate, p.Constraints[k].text()).
					but("price %.12g", price)
			}
		}
	}
	return nil
}

// atThresholds are the limits with those of the worst episodes at the thresholds of the report, for which prices hold,
// and the optimum there. ok is false where the reference has none.
func (q *question) atThresholds(p *Problem, a *planned, exact result) (limits [][]limited, best result, ok bool) {
	limits = slices.Clone(q.limits)
	for at, k := range limitsInOrder(p) {
		l := p.Constraints[k]
		if l.CVaR == "" {
			continue
		}
		if at, ok := q.atThreshold(a, at, k); ok {
			limits[k] = []limited{at}
		}
		if len(limits[k]) != 1 {
			return nil, result{}, false
		}
		exact = q.best(q.cost, limits)
	}
	return limits, exact, exact.status == optimal
}

// atThreshold is the limit k on the worst episodes, which the report has at another place, at the threshold that the
// report names.
func (q *question) atThreshold(a *planned, at, k int) (limited, bool) {
	for _, t := range a.Thresholds {
		if t.Constraint != a.Constraints[at].Constraint || !finite(t.Threshold) {
			continue
		}
		for _, l := range q.limits[k] {
			x := float(q.graph().coords[slices.Sorted(maps.Keys(l.coef))[0]].at)
			if math.Abs(x-*t.Threshold) <= 1e-9*math.Abs(x) {
				return l, true
			}
		}
	}
	return limited{}, false
}

// judgeCertificate re-computes both sides of a proof that no policy keeps the limits.
func (q *question) judgeCertificate(p *Problem, a *planned) *Failure {
	g := q.graph()
	c := a.Certificate
	if c == nil {
		if slices.ContainsFunc(p.Constraints, Limit.sure) {
			return nil
		}
		return failure("certificate", "a certificate").but("none")
	}
	if slices.ContainsFunc(p.Constraints, Limit.whole) {
		return nil
	}
	cost := map[int]*big.Rat{}
	norm := 0.0
	for name, x := range c.Direction {
		coef, _, ok := g.named(name)
		if !ok || math.IsNaN(x) {
			return failure("certificate", "a direction").but("%s: %v", name, x)
		}
		if x != 0 {
			for i := range coef {
				cost[i] = ratOf(x)
			}
		}
		norm += x * x
	}
	if !near(norm, 1, 1e-6) {
		return failure("certificate", "a unit vector").but("norm² %v", norm)
	}
	var far []limited
	for _, l := range q.moved(q.limits, ratOf(1e9)) {
		if c.Finite {
			far = append(far, l[0])
		}
	}
	least := q.minimize(cost, far)
	if least.status != optimal {
		return failure("certificate", "a direction in which all policies have a bound").but("%v", c.Direction)
	}
	support, size := 0.0, 0.0
	for i, x := range cost {
		bound := math.Inf(1)
		for k, l := range p.Constraints {
			if g.index[l.Return] != i {
				continue
			}
			if b := q.limits[k][0]; (b.sense < 0) == (x.Sign() > 0) {
				bound = min(bound, float(mul(x, b.bound)))
			}
		}
		low, high := q.extent(i)
		far := high
		if x.Sign() < 0 {
			far = low
		}
		if math.IsInf(bound, 1) && far != nil {
			bound = float(mul(x, far))
		}
		support += bound
		s := q.scale(i)
		size += math.Abs(float(x)) * max(float(s), math.Abs(bound/float(x)))
	}
	value := float(least.value)
	switch {
	case c.Value == nil || c.Support == nil || c.Distance == nil:
		return failure("certificate", "value, support and distance").but("%s, %s, %s", show(c.Value), show(c.Support),
			show(c.Distance))
	case !(*c.Value <= value+1e-9*size):
		return failure("certificate", "value at most %.15g", value).but("%.15g", *c.Value)
	case !(*c.Support >= support-1e-9*size):
		return failure("certificate", "support at least %.15g", support).but("%.15g", *c.Support)
	case !(*c.Value > *c.Support):
		return failure("certificate", "value above support").but("%.15g and %.15g", *c.Value, *c.Support)
	case !(*c.Distance >= *c.Value-*c.Support-1e-9*size):
		return failure("certificate", "distance at least %.15g", *c.Value-*c.Support).but("%.15g", *c.Distance)
	case a.Violation == nil || !near(*a.Violation, *c.Distance, 1e-6*size):
		return failure("certificate", "violation %.15g, the distance", *c.Distance).but("%s", show(a.Violation))
	}
	broken := 0.0
	for i := range g.coords {
		worst := 0.0
		for k, l := range p.Constraints {
			if g.index[l.Return] == i {
				x := a.Returns[l.Return]
				if x == nil {
					return nil
				}
				d := *x - float(q.limits[k][0].bound)
				if q.limits[k][0].sense > 0 {
					d = -d
				}
				worst = max(worst, d)
			}
		}
		broken += worst * worst
	}
	if !near(math.Sqrt(broken), *a.Violation, 1e-7*size) {
		return failure("violation", "%.15g at the returns of the report", math.Sqrt(broken)).but("%.15g", *a.Violation)
	}
	return nil
}

// judgeConflict checks that a conflict is one, that none of its limits can be left out, and that each could
// be kept by what it is said to have to give.
func (q *question) judgeConflict(p *Problem, a *planned) *Failure {
	order := limitsInOrder(p)
	var in []int
	for _, c := range a.Conflict {
		at := slices.IndexFunc(a.Constraints, func(o kept) bool { return o.Constraint == c.Constraint })
		if at < 0 || at >= len(order) {
			return failure("conflict", "limits of the problem").but("%s", c.Constraint)
		}
		in = append(in, order[at])
	}
	pick := func(limits [][]limited, without int) [][]limited {
		var some [][]limited
		for _, k := range in {
			if k != without {
				some = append(some, limits[k])
			}
		}
		return some
	}
	// more than the rarest outcome, and what limits may be missed by that count as almost kept
	const almost = 1.5e-6
	tight, loose := q.moved(q.limits, ratOf(-almost)), q.moved(q.limits, ratOf(almost))
	switch {
	case len(in) == 0 && q.best(nil, loose).status == infeasible:
		return failure("conflict", "a conflict").but("none")
	case len(in) == 0: // limits that almost can be kept
		return nil
	case q.best(nil, pick(tight, -1)).status != infeasible:
		return failure("conflict", "limits that no policy keeps").but("%v", a.Conflict)
	}
	for _, k := range in {
		if r := q.best(nil, pick(loose, k)); r.status == infeasible {
			return failure("conflict", "that without %s the others can be kept",
				p.Constraints[k].text()).but("that they cannot, conflict %v", a.Conflict)
		}
	}
	if len(in) > 1 && len(p.Constraints) <= 6 { // the fewest
		for mask := 1; mask < 1<<len(p.Constraints); mask++ {
			var some [][]limited
			var names []string
			for k := range p.Constraints {
				if mask>>k&1 == 1 {
					some = append(some, loose[k])
					names = append(names, p.Constraints[k].text())
				}
			}
			if len(some) >= min(len(in), 4) {
				continue
			}
			if r := q.best(nil, some); r.status == infeasible {
				return failure("conflict", "the fewest, such as %v", names).but("%d", len(in))
			}
		}
	}
	for at, c := range a.Conflict {
		k := in[at]
		needed, most := c.Needed, c.Needed == nil && c.Probability != nil
		if most {
			needed = c.Probability
		}
		ask, close, bound := q.relaxed(p, k)
		if ask == nil || needed == nil && (c.Unknown || p.Constraints[k].sure()) {
			continue
		}
		others := slices.Clone(loose)
		with := func(bound float64) result {
			others[k] = ask(bound)
			return q.best(nil, others)
		}
		if needed == nil {
			others := slices.Delete(slices.Clone(tight), k, k+1)
			away := map[int]*big.Rat{}
			if l := q.limits[k]; !p.Constraints[k].whole() { // else some number suffices
				for i, x := range l[0].coef {
					away[i] = mul(x, big.NewRat(int64(-l[0].sense), 1))
				}
			}
			// Where it is infinite whatever policy keeps the others, no number suffices.
			if r := q.best(away, others); r.status != infeasible {
				return failure("needed", "how far %s has to give", p.Constraints[k].text()).but("null")
			}
			continue
		}
		left := 0.0 // open
		if c.LeastGive != nil {
			left = *c.Give - *c.LeastGive
		}
		looser, tighter := *needed+close, *needed-close-left
		if p.Constraints[k].AtMost == "" || most {
			looser, tighter = *needed-close, *needed+close+left
		}
		if with(looser).status == infeasible {
			return failure("needed", "more than %v of %s", *needed, p.Constraints[k].text()).but("%v", *needed)
		}
		copy(others, tight)
		if with(tighter).status != infeasible {
			return failure("needed", "less than %v of %s", *needed, p.Constraints[k].text()).but("%v", *needed)
		}
		if !most && (c.Give == nil || !near(*c.Give, math.Abs(*needed-bound), close)) {
			return failure("give", "%v", math.Abs(*needed-bound)).but("%s", show(c.Give))
		}
	}
	return nil
}

// relaxed returns a limit as a report tells it: what inequalities it comes to at another number, how near two numbers
// count as one, and the number that it has; nil where the reference knows no others. A chance is told as that of what
// an upper limit forbids, or a lower one asks for, and one that is to be kept always as that of keeping it.
func (q *question) relaxed(p *Problem, k int) (ask func(x float64) []limited, close, bound float64) {
	l, one := p.Constraints[k], big.NewRat(1, 1)
	bound = float(rat(l.AtMost + l.AtLeast))
	width := math.Abs(bound)
	if i, ok := q.graph().index[l.Return]; ok {
		width = max(width, float(q.scale(i)))
	}
	switch {
	case l.CVaR != "":
		if p.endless() {
			return nil, 0, 0 // the thresholds that are told apart are those of the limit
		}
		return func(x float64) []limited {
			if l.AtMost != "" {
				l.AtMost = exactly(x)
			} else {
				l.AtLeast = exactly(x)
			}
			return q.graph().alternatives(l)
		}, 1e-5 * width, bound
	case l.whole():
		bound = float(sub(one, cmp.Or(rat(l.Probability), one)))
		keeps := l.AtMost == "" || l.sure()
		if keeps {
			bound = 1 - bound
		}
		return func(x float64) []limited {
			if keeps {
				x = 1 - x
			}
			return []limited{q.limits[k][0].with(ratOf(x))}
		}, 1e-5, bound
	}
	return func(x float64) []limited { return []limited{q.limits[k][0].with(ratOf(x))} }, 1e-5 * width, bound
}

// read reads the JSON of a command.
func read[T any](out string) (*T, error) {
	v := new(T)
	return v, json.Unmarshal([]byte(out), v)
}
