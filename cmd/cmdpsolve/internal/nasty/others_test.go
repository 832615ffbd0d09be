package nasty

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// checked is what check prints.
type checked struct {
	Returns map[string]struct {
		Min *float64 `json:"min"`
		Max *float64 `json:"max"`
	} `json:"returns"`
	Policy struct {
		Returns map[string]struct {
			Least    *float64 `json:"least"`
			Greatest *float64 `json:"greatest"`
		} `json:"returns"`
		Keeps     bool     `json:"keeps"`
		Violation *float64 `json:"violation"`
	} `json:"policy"` // with --policy
	Limits []struct {
		Constraint string   `json:"constraint"`
		Largest    *float64 `json:"largest_slack"`
	} `json:"limits"`
	Feasible *bool    `json:"feasible"`
	Lower    *float64 `json:"gap_lower"`
	Upper    *float64 `json:"gap_upper"`
	Failed   *refused `json:"failed"`
}

// refused is what a command prints that has no answer.
type refused struct {
	Message string `json:"message"`
}

// sure are the limits that hold in every episode and take choices away. Without a horizon those from below do
// not, nor those from above that only a falling total can keep: they need come true in the end only.
func (q *question) sure(p *Problem) [][]limited {
	return q.ofEveryEpisode(p, func(l Limit) bool {
		return !(p.endless() && (l.AtMost == "" || rat(l.AtMost).Sign() < 0))
	})
}

// ofEveryEpisode are the limits that hold in every episode, of them those that are among some.
func (q *question) ofEveryEpisode(p *Problem, among ...func(l Limit) bool) [][]limited {
	var some [][]limited
	for k, l := range p.Constraints {
		if l.sure() && !slices.ContainsFunc(among, func(in func(Limit) bool) bool { return !in(l) }) {
			some = append(some, q.limits[k])
		}
	}
	return some
}

// judgeCheck compares ranges and feasibility.
func (b *Bed) judgeCheck(p *Problem, q *question, file string) *Failure {
	a, r, f := ran[checked](b, "check", file, "--format", "json", "--quiet")
	if f != nil {
		return f
	}
	if a.Failed != nil {
		return q.judgeRefusal(p, a.Failed.Message)
	}
	sure := q.sure(p)
	tight := q.moved(q.limits, ratOf(-moderate))
	loose := q.moved(q.limits, ratOf(moderate))
	can := q.best(nil, tight)
	could := q.best(nil, loose)
	switch {
	case can.status != infeasible && (a.Feasible == nil || !*a.Feasible):
		return failure("check", "feasible").but("not, gap from %s to %s", show(a.Lower), show(a.Upper))
	case could.status == infeasible && (a.Feasible == nil || *a.Feasible || r.Status != 3):
		return failure("check", "infeasible, exit status 3").but("feasible, exit status %d", r.Status)
	case can.status != infeasible && (!finite(a.Lower) || *a.Lower != 0):
		return failure("check", "gap 0").but("at least %s", show(a.Lower))
	}
	if possible := q.best(nil, sure); possible.status == infeasible {
		return nil
	}
	if f := q.judgeAlone(p, a); f != nil {
		return f
	}
	for i, c := range q.graph().coords {
		if c.name[0] == '?' || a.Returns[c.name].Min == nil && a.Returns[c.name].Max == nil {
			continue
		}
		size := q.scale(i)
		for sign, found := range map[int64]*float64{1: a.Returns[c.name].Min, -1: a.Returns[c.name].Max} {
			r := q.best(map[int]*big.Rat{i: big.NewRat(sign, 1)}, sure)
			if r.status != optimal {
				continue // without a bound, or under no policy defined
			}
			want := float(r.value) * float64(sign)
			if found == nil && p.undiscounted() {
				continue
			}
			if !finite(found) || !near(*found, want, moderate*float(size)) {
				return failure("range", "%s from or to %.12g", c.name, want).but("%s", show(found))
			}
		}
	}
	return nil
}

// judgeAlone compares the most that each limit can have to spare, if the others are left out, with the reference.
func (q *question) judgeAlone(p *Problem, a *checked) *Failure {
	for _, l := range a.Limits {
		k := slices.IndexFunc(p.Constraints, func(o Limit) bool { return !o.whole() && o.text() == l.Constraint })
		if k < 0 || len(q.limits[k]) != 1 {
			continue
		}
		limit, cost := q.limits[k][0], map[int]*big.Rat{}
		size := new(big.Rat).Abs(limit.bound)
		for i, c := range limit.coef {
			cost[i] = mul(c, big.NewRat(int64(-limit.sense), 1))
			if s := q.scale(i); s.Cmp(size) > 0 {
				size = s
			}
		}
		r := q.best(cost, q.sure(p))
		if r.status != optimal {
			continue // without a bound, or under no policy defined
		}
		want := -float(add(r.value, mul(limit.bound, big.NewRat(int64(limit.sense), 1))))
		if l.Largest == nil && p.undiscounted() {
			continue
		}
		if !finite(l.Largest) || !near(*l.Largest, want, moderate*float(size)) {
			return failure("largest slack", "%s by %.12g at most", l.Constraint, want).but("%s", show(l.Largest))
		}
	}
	return nil
}

// played is what simulate prints.
type played struct {
	Returns map[string]struct {
		Mean     *float64 `json:"mean"`
		CI95     *float64 `json:"ci95"`
		Expected *float64 `json:"expected"`
		Stopping *float64 `json:"stopping"` // how much more steps may change a long-run mean
	} `json:"returns"`
	Objective *float64 `json:"objective"`
	Violation *float64 `json:"violation"`
	Expected  struct {
		Objective *float64 `json:"objective"`
		Violation *float64 `json:"violation"`
	} `json:"expected"`
	Failed *refused `json:"failed"`
}

// judgeSimulate plays the plan: what is expected must be what the plan said, and the mean not far from it.
func (b *Bed) judgeSimulate(p *Problem, q *question, file string) *Failure {
	if p.undiscounted() || p.Discount != "" && float(rat(p.Discount)) > 0.95 {
		return nil
	}
	policy := filepath.Join(b.Folder, "policy"+[]string{".csv", ".json", ".npz"}[len(p.Transitions)%3])
	os.Remove(policy)
	a, _, f := ran[planned](b, "plan", file, "--format", "json", "--quiet", "--policy", policy)
	if f != nil || a.Status != "optimal" {
		return f
	}
	s, _, f := ran[played](b, "simulate", file, "--policy", policy, "--episodes", "300", "--seed", "1", "--format",
		"json")
	if f != nil {
		return f
	}
	if s.Failed != nil {
		return failure("simulate", "the policy of the plan is played").but("%s", s.Failed.Message)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Returns)) {
		want := a.Returns[name]
		found, ok := s.Returns[name]
		if !ok && slices.ContainsFunc(p.Constraints, func(l Limit) bool { return l.CVaR != "" }) {
			continue // the policy keeps the limit at another threshold too, which tells of another excess
		}
		size := 1.0
		if i, ok := q.graph().index[name]; ok {
			size = float(q.scale(i))
		} else { // what limits of whole episodes are about, such as an excess, is as large as the totals
			for i := range q.graph().coords {
				size = max(size, float(q.scale(i)))
			}
		}
		if want == nil || !finite(found.Expected) || !near(*found.Expected, *want, 1e-9*size) {
			return failure("simulate", "expected %s = %s", name, show(want)).but("%s", show(found.Expected))
		}
		if !finite(found.Mean) || !finite(found.CI95) {
			return failure("simulate", "a mean of %s", name).but("%s ± %s", show(found.Mean), show(found.CI95))
		}
		// An event that 300 episodes did not see may be all that varies; its chance times its size is allowed.
		if d := math.Abs(*found.Mean - *want); !(d <= 4*(*found.CI95)+0.1*size*float64(max(p.Horizon, 20))) {
			return failure("simulate", "a mean of %s near %v", name, *want).but("%v ± %v", *found.Mean, *found.CI95)
		}
	}
	means := map[string]*float64{}
	for name, r := range s.Returns {
		means[name] = r.Mean
	}
	if f := q.judgeStanding(p, "simulate expected", s.Expected.Objective, s.Expected.Violation, a.Returns); f != nil {
		return f
	}
	return q.judgeStanding(p, "simulate", s.Objective, s.Violation, means)
}

// judgeMemoryless plays a policy file that says nothing of memory: at each step and state mostly the first action, and
// else the last.
func (b *Bed) judgeMemoryless(p *Problem, q *question, file string) *Failure {
	if slices.ContainsFunc(p.Constraints, func(l Limit) bool { return l.CVaR != "" }) {
		return nil
	}
	rows := map[[2]int][]Row{}
	for _, r := range p.Transitions {
		at := [2]int{r.State, r.Step}
		rows[at] = append(rows[at], r)
	}
	text, steps := "step,state,action,probability\n", []int{0}
	for h := range p.Horizon {
		steps = append(steps, h+1)
	}
	for _, step := range steps[min(1, p.Horizon):] {
		for state := range p.States {
			if at := rowsAt(rows, state, step); len(at) > 0 {
				first, last, h := at[0].Action, at[len(at)-1].Action, strconv.Itoa(step)
				if step == 0 {
					h = ""
				}
				if first == last {
					text += fmt.Sprintf("%s,%d,%s,1\n", h, state, first)
				} else {
					text += fmt.Sprintf("%[1]s,%[2]d,%[3]s,0.75\n%[1]s,%[2]d,%[4]s,0.25\n", h, state, first, last)
				}
			}
		}
	}
	policy := filepath.Join(b.Folder, "memoryless.csv")
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		panic(err)
	}
	rules, err := readPolicy(text)
	if err != nil {
		return failure("memoryless", "rules").but("%v", err)
	}
	v, err := q.graph().evaluate(rules, nil, asNumbers)
	if err != nil {
		return failure("memoryless", "a policy").but("%v", err)
	}
	if f := b.judgeBounds(p, q, file, policy, v); f != nil {
		return f
	}
	varies, err := q.graph().spreads(rules)
	if err != nil {
		return failure("memoryless", "a policy").but("%v", err)
	}
	episodes := varies.episodes(p)
	if episodes == 0 {
		return nil
	}
	s, _, f := ran[played](b, "simulate", file, "--policy", policy, "--episodes", strconv.Itoa(episodes), "--seed", "1",
		"--format", "json")
	switch {
	case f != nil:
		return f
	case s.Failed != nil && (strings.Contains(s.Failed.Message, "a limit with always may be broken") ||
		slices.ContainsFunc(v, func(x float64) bool { return math.IsInf(x, 0) || math.IsNaN(x) })):
		return nil
	case s.Failed != nil:
		return q.judgeRefusal(p, s.Failed.Message)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Returns)) {
		i, is := q.graph().index[name]
		if x := s.Returns[name].Expected; is && (!finite(x) || !near(*x, v[i], moderate*float(q.scale(i)))) {
			return failure("memoryless", "expected %s = %v", name, v[i]).but("%s\n%s", show(x), text)
		}
	}
	return q.judgeMeans(p, varies, v, s, episodes)
}

// judgeBounds compares what check says of a policy with its expected values v.
func (b *Bed) judgeBounds(p *Problem, q *question, file, policy string, v []float64) *Failure {
	a, _, f := ran[checked](b, "check", file, "--policy", policy, "--format", "json", "--quiet")
	switch {
	case f != nil:
		return f
	case a.Failed != nil && p.Criterion != "" && p.totals() && strings.Contains(a.Failed.Message, "want one of the two"),
		a.Failed != nil && slices.ContainsFunc(v, func(x float64) bool { return math.IsInf(x, 0) || math.IsNaN(x) }),
		a.Failed != nil && strings.Contains(a.Failed.Message, "a limit with always may be broken"):
		return nil // as the manual says
	case a.Failed != nil:
		return q.judgeRefusal(p, a.Failed.Message)
	}
	surely := true // every limit is kept, whatever rounding does
	for k, l := range p.Constraints {
		by, size := q.broken(q.limits[k][0], v)
		if by > 1e-6*size && (a.Policy.Keeps || !(a.Policy.Violation == nil || *a.Policy.Violation > 0)) {
			return failure("policy bounds", "%s is broken by %v", l.text(), by).but("that it is kept")
		}
		surely = surely && by < -1e-6*size
	}
	if surely && !a.Policy.Keeps {
		return failure("policy bounds", "a policy that keeps the limits").but("violation %s", show(a.Policy.Violation))
	}
	for name, x := range a.Policy.Returns {
		i, is := q.graph().index[name]
		if !is {
			continue
		}
		// The value is between the bounds, and these are as near to each other as rounding lets a discount have it.
		size := float(q.scale(i)) + math.Abs(v[i])
		wide := moderate * size
		if p.Discount != "" && p.Discount != "1" {
			wide += 1e-13 * size / (1 - float(rat(p.Discount)))
		}
		if !finite(x.Least) || !finite(x.Greatest) || !(*x.Least <= v[i]+1e-14*size) ||
			!(*x.Greatest >= v[i]-1e-14*size) || !(*x.Greatest-*x.Least <= wide) {
			return failure("policy bounds", "%s = %.15g", name, v[i]).but("from %s to %s", show(x.Least), show(x.Greatest))
		}
	}
	return nil
}

// judgeStanding compares an objective and the distance from what limits allow with those of returns.
func (q *question) judgeStanding(p *Problem, kind string, objective, violation *float64,
	at map[string]*float64) *Failure {
	size := q.costSize()
	if p.Goal != nil {
		want := value(at, p.Goal.Maximize+p.Goal.Minimize)
		if !finite(objective) || !near(*objective, want, 1e-9*size) {
			return failure(kind, "objective %v", want).but("%s", show(objective))
		}
	}
	if len(p.Constraints) == 0 || slices.ContainsFunc(p.Constraints, Limit.whole) {
		return nil
	}
	// Of each return, by how much its limits are broken, and by how much at least: what episodes miss that are cut
	// is no violation.
	worst, surely := map[string]float64{}, map[string]float64{}
	for k, l := range p.Constraints {
		i := q.graph().index[l.Return]
		v := make([]float64, len(q.graph().coords))
		v[i] = value(at, l.Return)
		by, s := q.broken(q.limits[k][0], v)
		worst[l.Return], size = max(worst[l.Return], by), max(size, s)
		low, high := q.extent(i)
		if kind == "simulate" && p.endless() && low != nil && high != nil {
			v[i] = min(max(v[i], float(low)), float(high))
		}
		by, _ = q.broken(q.limits[k][0], v)
		surely[l.Return] = max(surely[l.Return], by)
	}
	broken, least := 0.0, 0.0
	for name, by := range worst {
		broken = math.Hypot(broken, by)
		least = math.Hypot(least, surely[name])
	}
	low, high := least-moderate*size, broken+moderate*size
	if !finite(violation) || *violation < low || *violation > high {
		return failure(kind, "violation %v", broken).but("%s", show(violation))
	}
	return nil
}

// judgeConvert writes the problem in another form, and asks it again.
func (b *Bed) judgeConvert(p *Problem, q *question, file string) *Failure {
	first, r1, f := ran[planned](b, "plan", file, "--format", "json", "--quiet")
	if f != nil || first.Failed != nil {
		return f
	}
	out := filepath.Join(b.Folder, "converted.yaml")
	os.Remove(out)
	if r := b.run("convert", file, out, "--format", "json"); r.Status != 0 || r.Lost != "" {
		return failure("convert", "a problem file").but("%s%s", r.Lost, r.Err)
	}
	second, r2, f := ran[planned](b, "plan", out, "--format", "json", "--quiet")
	if f != nil {
		return f
	}
	if r1.Status != r2.Status || first.Status != second.Status || show(first.Objective) != show(second.Objective) ||
		show(first.Bound) != show(second.Bound) {
		text, _ := os.ReadFile(out)
		return failure("convert", "%s %s %s", first.Status, show(first.Objective), show(first.Bound)).
			but("%s %s %s after\n%s", second.Status, show(second.Objective), show(second.Bound), text)
	}
	// Rows alone, through the formats of other tools.
	plain := p.Criterion == "" && !slices.ContainsFunc(slices.Collect(maps.Values(p.Returns)),
		func(r Return) bool { return !r.given() || r.Criterion != "" }) &&
		!slices.ContainsFunc(p.Transitions, func(r Row) bool { return r.Step > 0 })
	if !plain || p.Goal == nil || p.Goal.Cost != nil || p.Target != nil || q == nil {
		return nil
	}
	goal := "--minimize"
	if p.Goal.Maximize != "" {
		goal = "--maximize"
	}
	for _, ending := range []string{".umb", ".drn", ".drn.xz", ".npz", ".json", ".tra", ".pexp", "/", ".prism", ".jani"} {
		model, ok, f := b.model(p, file, ending)
		if f != nil {
			return f
		}
		if !ok {
			continue
		}
		again := filepath.Join(b.Folder, "again.yaml")
		os.Remove(again)
		arguments := []string{"convert", model, again}
		if p.endless() {
			arguments = append(arguments, "--discount", string(p.Discount))
		} else {
			arguments = append(arguments, "--horizon", strconv.Itoa(p.Horizon))
		}
		if r := b.run(arguments...); r.Status != 0 {
			return failure("convert", "a problem file of the model in %s", ending).but("%s%s", r.Lost, r.Err)
		}
		alone := p.clone()
		alone.Constraints = nil
		a, _, f := ran[planned](b, "plan", again, "--format", "json", "--quiet", goal, p.Goal.Maximize+p.Goal.Minimize)
		if f != nil {
			return f
		}
		if a.Failed != nil && strings.Contains(a.Failed.Message, "unknown return") {
			continue // a return that is 0 everywhere, or one without a name
		}
		r := q.best(q.cost, nil)
		if r.status != optimal {
			continue
		}
		want := float(r.value)
		if q.maximized {
			want = -want
		}
		size := q.costSize()
		if !finite(a.Objective) || !near(*a.Objective, want, moderate*size) {
			text, _ := os.ReadFile(again)
			return failure("convert "+ending, "objective %.12g without limits", want).but("%s %s %s after\n%s",
				a.Status, show(a.Objective), a.message(), text)
		}
		if ending == ".jani" {
			return b.judgeLanguage(p, q, first, model)
		}
	}
	return nil
}

// judgeLanguage asks for the plan again, with the rows in a language in which destinations have rewards.
func (b *Bed) judgeLanguage(p *Problem, q *question, first *planned, model string) *Failure {
	asked := map[string]any{}
	if err := json.Unmarshal(p.JSON(), &asked); err != nil {
		panic(err)
	}
	returns := map[string]any{}
	for _, name := range p.names() {
		returns[name] = map[string]string{"reward": name}
	}
	asked["returns"], asked["transitions"] = returns, map[string]string{"file": filepath.Base(model)}
	delete(asked, "states")
	delete(asked, "start")
	delete(asked, "labels")
	text, err := json.Marshal(asked)
	if err != nil {
		panic(err)
	}
	file := filepath.Join(filepath.Dir(model), "asked.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		panic(err)
	}
	a, _, f := ran[planned](b, "plan", file, "--format", "json", "--quiet")
	if f != nil || a.Status == "undecided" || first.Status == "undecided" {
		return f
	}
	same := finite(a.Objective) == finite(first.Objective) &&
		(!finite(a.Objective) || near(*a.Objective, *first.Objective, 10*moderate*q.costSize()))
	if a.Status != first.Status || !same {
		return failure("language", "%s %s", first.Status, show(first.Objective)).but("%s %s %s after\n%s", a.Status,
			show(a.Objective), a.message(), text)
	}
	return nil
}

// sensed turns a cost into an objective and back.
func sensed(q *question, x float64) float64 {
	if q.maximized {
		return -x
	}
	return x
}

// swept is what plan --sweep prints.
type swept struct {
	Plans []struct {
		Limits []float64 `json:"limits"`
		planned
	} `json:"plans"`
	Failed *refused `json:"failed"`
}

// judgeSweep compares the plans of a sweep, and one with another limit on the command line, with the reference.
func (b *Bed) judgeSweep(p *Problem, q *question, file string) *Failure {
	if p.Goal == nil || p.undiscounted() {
		return nil
	}
	// The limit that is moved is the first that can be or, where there is none, a new one from above.
	k := slices.IndexFunc(p.Constraints, func(l Limit) bool { return !l.whole() })
	base := p.clone()
	if k < 0 {
		free := slices.DeleteFunc(p.names(), func(name string) bool {
			return slices.ContainsFunc(p.Constraints, func(l Limit) bool { return l.Return == name })
		})
		if len(free) == 0 {
			return nil
		}
		k = len(p.Constraints)
		base.Constraints = append(base.Constraints, Limit{Return: free[len(free)-1], AtMost: "0"})
	}
	l := base.Constraints[k]
	if slices.IndexFunc(base.Constraints[k+1:], func(o Limit) bool { return !o.whole() && o.Return == l.Return }) >= 0 {
		return nil // which of the two is meant is another question
	}
	i := q.graph().index[l.Return]
	low, high := q.extent(i)
	if low == nil || high == nil || low.Cmp(high) == 0 {
		return nil
	}
	a, d := float(low), float(high)-float(low)
	from, step := rounded(a+0.1*d), rounded(0.35*d)
	if rat(step).Sign() <= 0 {
		return nil
	}
	to := exactly(float(add(rat(from), mul(rat(step), big.NewRat(2, 1)))))
	s, r, f := ran[swept](b, "plan", file, "--format", "json", "--quiet", "--sweep",
		fmt.Sprintf("%s=%s:%s:%s", l.Return, from, to, step))
	if f != nil {
		return f
	}
	if s.Failed != nil {
		return q.judgeRefusal(p, s.Failed.Message)
	}
	if len(s.Plans) != 3 {
		return failure("sweep", "three plans").but("%d", len(s.Plans))
	}
	found := map[string]int{}
	for n, plan := range s.Plans {
		found[plan.Status]++
		at := float(add(rat(from), mul(rat(step), big.NewRat(int64(n), 1))))
		if len(plan.Limits) != 1 || !near(plan.Limits[0], at, 1e-9*d) {
			return failure("sweep", "one limit at %v", at).but("%v", plan.Limits)
		}
		other := base.clone()
		if o := &other.Constraints[k]; o.AtMost != "" {
			o.AtMost = exactly(plan.Limits[0])
		} else {
			o.AtLeast = exactly(plan.Limits[0])
		}
		oq := ask(other)
		code := map[string]int{"optimal": 0, "infeasible": 3, "undecided": 1}[plan.Status]
		if plan.Status == "infeasible" {
			continue // a sweep names no conflicts
		}
		if f := judgePlan(other, oq, &plan.planned, code, ""); f != nil {
			f.Kind = "sweep " + f.Kind
			f.Wanted = fmt.Sprintf("at %v: %s", plan.Limits[0], f.Wanted)
			return f
		}
	}
	code := 0
	switch {
	case found["undecided"] > 0:
		code = 1
	case found["infeasible"] == len(s.Plans):
		code = 3
	}
	if r.Status != code {
		return failure("sweep", "exit status %d of %v", code, found).but("%d", r.Status)
	}
	flag, bound := "--at-most", l.AtMost
	if bound == "" {
		flag = "--at-least"
	}
	changed := base.clone()
	bound = rounded(a + 0.6*d)
	if flag == "--at-most" {
		changed.Constraints[k].AtMost = bound
	} else {
		changed.Constraints[k].AtLeast = bound
	}
	cq := ask(changed)
	one, r, f := ran[planned](b, "plan", file, "--format", "json", "--quiet", flag, l.Return+"="+string(bound))
	if f != nil {
		return f
	}
	if one.Failed != nil {
		return cq.judgeRefusal(changed, one.Failed.Message)
	}
	if f := judgePlan(changed, cq, one, r.Status, ""); f != nil {
		f.Kind = "what if " + f.Kind
		f.Wanted = fmt.Sprintf("%s %s=%s: %s", flag, l.Return, bound, f.Wanted)
		return f
	}
	return nil
}

// judgeSweptChance moves a chance that is limited, from 0 to 1, also where the file limits it to one of these.
func (b *Bed) judgeSweptChance(p *Problem, q *question, file string) *Failure {
	k := slices.IndexFunc(p.Constraints, func(l Limit) bool { return l.sure() || l.Probability != "" })
	if p.Goal == nil || p.undiscounted() || k < 0 {
		return nil
	}
	l := p.Constraints[k]
	if slices.ContainsFunc(p.Constraints[k+1:], func(o Limit) bool { return o.whole() && o.Return == l.Return }) {
		return nil // which of the two is meant is another question
	}
	relation, bound := ">", l.AtMost
	if bound == "" {
		relation, bound = "≥", l.AtLeast
	}
	s, _, f := ran[swept](b, "plan", file, "--format", "json", "--quiet", "--sweep",
		fmt.Sprintf("P(%s %s %s)=0:1:0.5", l.Return, relation, exactly(float(rat(bound)))))
	switch {
	case f != nil:
		return f
	case s.Failed != nil:
		return q.judgeRefusal(p, s.Failed.Message)
	case len(s.Plans) != 3:
		return failure("swept chance", "three plans").but("%d", len(s.Plans))
	}
	for n, plan := range s.Plans {
		other := p.clone()
		o := &other.Constraints[k]
		o.Always, o.Probability = false, json.Number([]string{"1", "0.5", "0"}[n])
		if l.AtMost == "" {
			o.Probability = json.Number([]string{"0", "0.5", "1"}[n])
		}
		if o.Probability == "0" { // which a file cannot ask for
			other.Constraints = slices.Delete(other.Constraints, k, k+1)
		}
		oq := ask(other)
		tight := oq.best(oq.cost, oq.moved(oq.limits, ratOf(-moderate)))
		least := oq.best(oq.cost, oq.moved(oq.limits, ratOf(moderate)))
		said := func(r result) bool { return plan.Status == r.status.String() }
		size := oq.costSize()
		switch {
		case tight.status == least.status && !said(tight):
			return failure("swept chance", "%v at %v", tight.status, plan.Limits).but("%s", plan.Status)
		case plan.Status != "optimal" || tight.status != optimal || least.status != optimal:
		case !finite(plan.Objective) || sensed(oq, *plan.Objective) < float(least.value)-moderate*size ||
			sensed(oq, *plan.Objective) > float(tight.value)+moderate*size:
			return failure("swept chance", "%.12g at %v", sensed(oq, float(tight.value)), plan.Limits).but("%s",
				show(plan.Objective))
		}
	}
	return nil
}

// spread is what plan --distribution prints.
type spread struct {
	planned
	Distribution map[string]*distributed `json:"distribution"`
}

// distributed is what it prints of a return.
type distributed struct {
	Exact     bool                `json:"exact"`
	Mean      *float64            `json:"mean"`
	SD        *float64            `json:"sd"`
	Quantiles map[string]*float64 `json:"quantiles"`
	CVaR      map[string]*float64 `json:"cvar"`
	Histogram []struct {
		From, To, Probability *float64
	} `json:"histogram"`
}

// judgeDistribution computes the distribution of the first return under the plan's policy.
func (b *Bed) judgeDistribution(p *Problem, q *question, file string) *Failure {
	name := p.names()[len(p.names())-1]
	if p.endless() || !p.Returns[name].given() {
		return nil
	}
	policy := filepath.Join(b.Folder, "policy.csv")
	os.Remove(policy)
	a, _, f := ran[spread](b, "plan", file, "--format", "json", "--quiet", "--distribution", "--policy", policy)
	if f != nil || a.Status != "optimal" {
		return f
	}
	text, _ := os.ReadFile(policy)
	rules, err := readPolicy(string(text))
	if err != nil {
		return failure("policy file", "a policy").but("%v", err)
	}
	d := a.Distribution[name]
	if d == nil || !d.Exact || len(rules) == 0 {
		return nil
	}
	var names []string
	for _, m := range a.Memory {
		names = append(names, m.Name)
	}
	probe := p.clone()
	probe.Constraints = append(probe.Constraints, Limit{Return: name, AtMost: "0", Always: true})
	g := unroll(probe, probe.most())
	var first *Failure // of all ways to read what is remembered
	for _, by := range []reading{asNumbers, asWords, asSettled} {
		atoms, err := g.ends(rules, names, by, name)
		f := failure("policy file", "a policy").but("%v\n%s", err, text)
		if err == nil {
			f = d.judge(name, atoms)
		}
		if f == nil || len(names) == 0 {
			return f
		}
		if first == nil {
			first = f
		}
	}
	return first
}

// An atom is a total, and the chance of it.
type atom struct{ x, p float64 }

// ends returns the totals of a return that an episode of a policy may end with, in order, with a horizon.
func (g *graph) ends(rules []rule, names []string, by reading, name string) ([]atom, error) {
	chances, components := map[string]*big.Rat{}, map[int]bool{}
	for _, r := range rules {
		if components[r.component] {
			continue
		}
		components[r.component] = true
		g, does, err := g.played(rules, r.component, names, by)
		if err != nil {
			return nil, err
		}
		at := vector(len(g.nodes))
		for id, n := range g.nodes { // in the order of steps
			addMul(at[id], r.weight, g.start[id])
			if n.last {
				key := n.totals[name].RatString()
				if chances[key] == nil {
					chances[key] = new(big.Rat)
				}
				chances[key].Add(chances[key], at[id])
				continue
			}
			if at[id].Sign() > 0 && does[id] == nil {
				return nil, fmt.Errorf("no rows for state %d at step %d", n.state, n.step)
			}
			for k, w := range does[id] {
				for _, br := range n.choices[k].branches {
					addMul(at[br.node], mul(at[id], w), br.p)
				}
			}
		}
	}
	var atoms []atom
	for key, w := range chances {
		x, _ := new(big.Rat).SetString(key)
		if w.Sign() > 0 {
			atoms = append(atoms, atom{float(x), float(w)})
		}
	}
	slices.SortFunc(atoms, func(a, b atom) int { return cmp.Compare(a.x, b.x) })
	return atoms, nil
}

// judge compares a distribution with its atoms.
func (d *distributed) judge(name string, atoms []atom) *Failure {
	size := 0.0
	for _, a := range atoms {
		size = max(size, math.Abs(a.x))
	}
	mean, square := 0.0, 0.0
	for _, a := range atoms {
		mean += a.p * a.x
	}
	for _, a := range atoms {
		square += a.p * (a.x - mean) * (a.x - mean)
	}
	if !finite(d.Mean) || !near(*d.Mean, mean, 1e-8*size) {
		return failure("distribution", "mean %v of %s", mean, name).but("%s", show(d.Mean))
	}
	if !finite(d.SD) || math.Abs(*d.SD-math.Sqrt(square)) > 1e-6*size {
		return failure("distribution", "standard deviation %v of %s", math.Sqrt(square), name).but("%s", show(d.SD))
	}
	for text, found := range d.Quantiles {
		share, _ := strconv.ParseFloat(text, 64)
		below, upTo := 0.0, 0.0
		if found == nil {
			return failure("distribution", "quantile %s", text).but("null")
		}
		for _, a := range atoms {
			if a.x < *found-1e-9*size {
				below += a.p
			}
			if a.x <= *found+1e-9*size {
				upTo += a.p
			}
		}
		if below > share+1e-9 || upTo < share-1e-9 {
			return failure("distribution", "quantile %s of %v", text, atoms).but("%v", *found)
		}
	}
	for text, found := range d.CVaR {
		side, number, _ := strings.Cut(text, "_")
		share, _ := strconv.ParseFloat(number, 64)
		sorted := slices.Clone(atoms)
		if side == "highest" {
			slices.Reverse(sorted)
		}
		left, sum := share, 0.0
		for _, a := range sorted {
			take := min(left, a.p)
			sum += take * a.x
			left -= take
		}
		if want := sum / share; !finite(found) || math.Abs(*found-want) > 1e-6*size {
			return failure("distribution", "%s %v of %v", text, want, atoms).but("%s", show(found))
		}
	}
	total := 0.0
	for _, bar := range d.Histogram {
		least, most := 0.0, 0.0 // totals that are next to each other may be told apart or not
		if bar.From == nil || bar.To == nil || bar.Probability == nil {
			return failure("distribution", "bars").but("null")
		}
		total += *bar.Probability
		if *bar.From == *bar.To {
			for _, a := range atoms {
				if math.Abs(a.x-*bar.From) <= 1e-9*size {
					most += a.p
				}
				if math.Abs(a.x-*bar.From) <= 1e-14*size {
					least += a.p
				}
			}
			if x := *bar.Probability; !(x >= least-2e-9 && x <= most+2e-9) {
				return failure("distribution", "%v to %v at %v", least, most, *bar.From).but("%v", x)
			}
		}
	}
	if !near(total, 1, 1e-9) {
		return failure("distribution", "bars that sum to 1").but("%v", total)
	}
	return nil
}
