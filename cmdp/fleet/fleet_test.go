package fleet_test

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/fleet"
	"cmdpsolve/oracle/lp"
)

// jointProgram is one linear program over the occupancies of all types: x(k,h,s,a) is how many agents of type k take
// action a in state s at step h. It minimises sign times return ret within the limits.
func jointProgram(f *fleet.Fleet, ret int, sign float64, limits []fleet.Limit) *lp.Problem {
	p := &lp.Problem{}
	limit := make([]lp.Constraint, len(limits))
	for i, l := range limits {
		limit[i] = lp.Constraint{Coef: []float64{}, Index: []int{}, Lower: math.Inf(-1), Upper: l.Bound}
		if l.AtLeast {
			limit[i].Lower, limit[i].Upper = l.Bound, math.Inf(1)
		}
	}
	for _, t := range f.Types {
		m, states := t.Model, t.Model.States()
		flow := make([]lp.Constraint, m.Horizon()*states) // what leaves (h, s) less what comes there
		for i := range flow {
			flow[i] = lp.Constraint{Coef: []float64{}, Index: []int{}}
		}
		for _, st := range m.StartStates() {
			flow[st.State].Lower += st.Probability * float64(t.Count)
			flow[st.State].Upper = flow[st.State].Lower
		}
		enter := func(r *lp.Constraint, j int, x float64) {
			r.Coef, r.Index = append(r.Coef, x), append(r.Index, j)
		}
		for h := range m.Horizon() {
			k := m.Kernel(h)
			for s := range states {
				if k.First[s] == k.First[s+1] && h+1 < m.Horizon() { // the agent rests
					enter(&flow[h*states+s], len(p.Minimize), 1)
					enter(&flow[(h+1)*states+s], len(p.Minimize), -1)
					p.Minimize = append(p.Minimize, 0)
				}
				if k.First[s] == k.First[s+1] && h+1 == m.Horizon() {
					flow[h*states+s].Lower, flow[h*states+s].Upper = math.Inf(-1), math.Inf(1)
				}
				for c := int(k.First[s]); c < int(k.First[s+1]); c++ {
					j, cost := len(p.Minimize), 0.0
					enter(&flow[h*states+s], j, 1)
					next, prob := k.Row(c)
					for e, n := range next {
						if h+1 == m.Horizon() {
							break
						}
						r := &flow[(h+1)*states+int(n)]
						if i := slices.Index(r.Index, j); i >= 0 {
							r.Coef[i] -= prob[e]
						} else {
							enter(r, j, -prob[e])
						}
					}
					used := make([]float64, len(limits))
					for i, to := range t.Returns {
						r := k.ReturnsOf(c, m.Dim())[i]
						if to == ret {
							cost += sign * r
						}
						for n, l := range limits {
							if l.Return == to && (l.Step == fleet.Episode || l.Step == h) {
								used[n] += r
							}
						}
					}
					for n, x := range used {
						enter(&limit[n], j, x)
					}
					p.Minimize = append(p.Minimize, cost)
				}
			}
		}
		p.Rows = append(p.Rows, flow...)
	}
	p.Rows = append(p.Rows, limit...)
	return p
}

// maximizing returns the task to maximise return 0 within limits, and its planner.
func maximizing(t testing.TB, f *fleet.Fleet, limits []fleet.Limit, workers int) (*fleet.Planner, cmdp.Task) {
	t.Helper()
	p, err := fleet.NewPlanner(f, workers)
	if err != nil {
		t.Fatal(err)
	}
	goal, err := p.Maximize(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	task, err := p.Task(t.Context(), goal, limits)
	if err != nil {
		t.Fatal(err)
	}
	return p, task
}

// solve plans to maximise return 0.
func solve(t testing.TB, f *fleet.Fleet, limits []fleet.Limit, opts exact.Options) (*fleet.Plan, cmdp.Task) {
	t.Helper()
	p, task := maximizing(t, f, limits, opts.Workers)
	plan, err := p.Solve(t.Context(), task, opts)
	if err != nil {
		t.Fatal(err)
	}
	return plan, task
}

// randomLimits draws limits at single steps and over the episode, which together may be out of reach.
func randomLimits(rng *rand.Rand, f *fleet.Fleet, tight float64) []fleet.Limit {
	var limits []fleet.Limit
	for _, i := range f.EachStep {
		for h := range f.Horizon() {
			if rng.IntN(4) > 0 {
				limits = append(limits, fleet.Limit{Return: i, Step: h,
					Bound: tight * rng.Float64() * float64(f.Agents())})
			}
		}
	}
	limits = append(limits, fleet.Limit{Return: 1, Step: fleet.Episode,
		Bound: tight * float64(f.Horizon()*f.Agents()) / 2})
	if rng.IntN(2) == 0 {
		limits = append(limits, fleet.Limit{Return: 1, Step: fleet.Episode, AtLeast: true,
			Bound: 0.5 * tight * rng.Float64() * float64(f.Horizon()*f.Agents())})
	}
	if rng.IntN(2) == 0 { // another one on the same side of the same sum
		twice := limits[rng.IntN(len(limits))]
		twice.Bound *= 0.8 + 0.4*rng.Float64()
		limits = append(limits, twice)
	}
	return limits
}

// TestAgainstJointProgram compares verdict and optimum with one program over the occupancies of all agents, and
// the bound and the whole plan with what they are said to be.
func TestAgainstJointProgram(t *testing.T) {
	verdicts := make(map[exact.Verdict]int)
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 28))
		sh := shape{types: 1 + rng.IntN(4), agents: 1 + rng.IntN(20), states: 1 + rng.IntN(4), actions: 3,
			successors: 2, horizon: 1 + rng.IntN(5),
			resources: 1 + rng.IntN(2), stepwise: seed%2 == 0, nasty: seed%3 == 0, signed: seed%6 == 0}
		f := random(t, rng, sh)
		limits := randomLimits(rng, f, 0.2+rng.Float64())
		plan, task := solve(t, f, limits, exact.Options{Workers: 1 + int(seed%3)})
		want, err := lp.Solve(jointProgram(f, 0, -1, limits))
		if err != nil {
			t.Fatal(err)
		}
		verdicts[plan.Status]++
		checkOpinion(t, f, task, want)
		switch want.Status {
		case lp.Infeasible:
			if plan.Status != exact.Infeasible {
				t.Errorf("seed %d: %v: want infeasible", seed, plan.Status)
			}
			continue
		case lp.Optimal:
			if plan.Status != exact.Optimal {
				t.Errorf("seed %d: %v: want optimal", seed, plan.Status)
				continue
			}
		}
		tol := 1e-7 * (1 + math.Abs(want.Objective))
		if math.Abs(plan.Objective-want.Objective) > tol || plan.Bound > want.Objective+tol ||
			plan.Objective-plan.Bound > tol {
			t.Errorf("seed %d: objective %v, bound %v: want %v", seed, plan.Objective, plan.Bound, want.Objective)
		}
		checkPlan(t, f, plan, task)
	}
	if verdicts[exact.Optimal] < 20 || verdicts[exact.Infeasible] < 5 {
		t.Errorf("verdicts %v: want many of both", verdicts)
	}
}

// checkOpinion compares GLPK's answer to the same program, which the package writes itself, with one that is known.
func checkOpinion(t *testing.T, f *fleet.Fleet, task cmdp.Task, want *lp.Solution) {
	t.Helper()
	p, err := fleet.NewPlanner(f, 1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.SecondOpinion(t.Context(), task)
	if errors.Is(err, lp.ErrNoGLPK) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if got.Status == exact.Optimal != (want.Status == lp.Optimal) ||
		want.Status == lp.Optimal && math.Abs(got.Objective-want.Objective) > 1e-7*(1+math.Abs(want.Objective)) {
		t.Errorf("GLPK says %v %v: want %v %v", got.Status, got.Objective, want.Status, want.Objective)
	}
}

// checkPlan evaluates the policies of a plan and compares shares, agents and sums.
func checkPlan(t *testing.T, f *fleet.Fleet, plan *fleet.Plan, task cmdp.Task) {
	t.Helper()
	total, whole := make([]float64, f.Dim()), make([]float64, f.Dim())
	largest := make([]float64, f.Dim()) // what one agent can use
	mixed := 0
	for k, tp := range plan.Types {
		kind := f.Types[k]
		agents, share := 0, 0.0
		if len(tp.Policies) > 1 {
			mixed++
		}
		for _, a := range tp.Policies {
			v := returnsOf(f, &kind, a.Policy)
			for i := range v {
				if math.Abs(v[i]-a.Returns[i]) > 1e-9 {
					t.Fatalf("type %d: coordinate %d of a policy is %v: want %v", k, i, a.Returns[i], v[i])
				}
				total[i] += float64(kind.Count) * a.Share * v[i]
				whole[i] += float64(a.Agents) * v[i]
				largest[i] = math.Max(largest[i], math.Abs(v[i]))
			}
			if x := a.Share * float64(kind.Count); float64(a.Agents) < math.Floor(x-1e-6) ||
				float64(a.Agents) > math.Ceil(x+1e-6) {
				t.Errorf("type %d: %d agents for %v", k, a.Agents, x)
			}
			agents += a.Agents
			share += a.Share
		}
		if !slices.IsSortedFunc(tp.Policies, func(a, b fleet.Assignment) int { return cmp.Compare(b.Share, a.Share) }) {
			t.Errorf("type %d: the largest share is not the first", k)
		}
		if agents != kind.Count || math.Abs(share-1) > 1e-9 {
			t.Errorf("type %d: %d agents of %d, shares that sum to %v", k, agents, kind.Count, share)
		}
	}
	if mixed > len(task.Constraints) {
		t.Errorf("%d types mix policies, and there are %d limits", mixed, len(task.Constraints))
	}
	for i := range total {
		if size := 1e-8 * (1 + math.Abs(total[i])); math.Abs(total[i]-plan.Returns[i]) > size ||
			math.Abs(whole[i]-plan.Whole[i]) > size {
			t.Errorf("coordinate %d: %v and %v of whole agents: want %v and %v", i, plan.Returns[i], plan.Whole[i],
				total[i], whole[i])
		}
	}
	checkRounding(t, f, plan)
	for n, c := range task.Constraints {
		excess, one := -c.Offset, 0.0
		for i, x := range c.Normal {
			excess += x * plan.Whole[i]
			one += math.Abs(x) * largest[i]
		}
		if excess > 2*one*float64(len(task.Constraints))+1e-6 {
			t.Errorf("limit %d is missed by %v by whole agents: one agent comes to %v", n, excess, one)
		}
	}
}

// checkRounding: no agent that changes its policy, with shares that are still rounded down or up, brings the
// sums nearer to those of the plan, each in the unit of the largest difference that an agent can make.
func checkRounding(t *testing.T, f *fleet.Fleet, plan *fleet.Plan) {
	t.Helper()
	unit := make([]float64, f.Dim())
	for _, tp := range plan.Types {
		for _, a := range tp.Policies {
			for _, b := range tp.Policies {
				for i := range unit {
					unit[i] = max(unit[i], a.Returns[i]-b.Returns[i])
				}
			}
		}
	}
	// missed is the sum of squares with an agent moved from one policy to another.
	missed := func(from, to *fleet.Assignment) float64 {
		sum := 0.0
		for i, u := range unit {
			if u > 0 {
				x := (plan.Whole[i] - plan.Returns[i] - from.Returns[i] + to.Returns[i]) / u
				sum += x * x
			}
		}
		return sum
	}
	for k, tp := range plan.Types {
		n := float64(f.Types[k].Count)
		for i := range tp.Policies {
			for j := range tp.Policies {
				from, to := &tp.Policies[i], &tp.Policies[j]
				if i == j || float64(from.Agents) <= math.Floor(from.Share*n+1e-5) ||
					float64(to.Agents) >= math.Ceil(to.Share*n-1e-5) {
					continue
				}
				if before, after := missed(from, from), missed(from, to); after < 0.99*before {
					t.Errorf("type %d: an agent that plays policy %d in place of %d brings sums from %g to %g", k, j, i,
						before, after)
				}
			}
		}
	}
}

// returnsOf evaluates a policy, from the last step to the first.
func returnsOf(f *fleet.Fleet, kind *fleet.Type, policy cmdp.Policy) []float64 {
	m := kind.Model
	out := make([]float64, f.Dim())
	mass := make([]float64, m.States())
	for _, st := range m.StartStates() {
		mass[st.State] += st.Probability
	}
	for h := range m.Horizon() {
		k, next := m.Kernel(h), make([]float64, m.States())
		for s, x := range mass {
			first := int(k.First[s])
			probs := make([]float64, int(k.First[s+1])-first)
			if len(probs) == 0 {
				next[s] += x
				continue
			}
			policy.Distribution(probs, h, s)
			for a, q := range probs {
				for i, to := range kind.Returns {
					if to >= 0 {
						r := x * q * k.ReturnsOf(first+a, m.Dim())[i]
						out[to] += r
						if at := f.Coordinate(to, h); at >= 0 {
							out[at] += r
						}
					}
				}
				to, prob := k.Row(first + a)
				for e, n := range to {
					next[n] += x * q * prob[e]
				}
			}
		}
		mass = next
	}
	return out
}

// TestOneAgentIsPlan: a fleet of one agent with limits over the episode has the plan of its model.
func TestOneAgentIsPlan(t *testing.T) {
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 29))
		f := random(t, rng, shape{types: 1, agents: 1, states: 5, actions: 3, successors: 3, horizon: 6, resources: 2})
		limits := []fleet.Limit{{Return: 1, Step: fleet.Episode, Bound: 2}, {Return: 2, Step: fleet.Episode, Bound: 1}}
		plan, _ := solve(t, f, limits, exact.Options{})
		f.EachStep = nil
		alone, single := solve(t, f, limits, exact.Options{})
		one, err := exact.Solve(t.Context(), f.Types[0].Model, single, exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range []*fleet.Plan{plan, alone} {
			if of.Status != one.Status || math.Abs(of.Objective-one.Objective) > 1e-8*(1+math.Abs(one.Objective)) {
				t.Errorf("seed %d: %v %v: want %v %v", seed, of.Status, of.Objective, one.Status, one.Objective)
			}
		}
		checkPlan(t, f, alone, single)
	}
}

// TestSplitType: a type that is split into two with the same model changes nothing.
func TestSplitType(t *testing.T) {
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 30))
		f := random(t, rng, shape{types: 3, agents: 10, states: 4, actions: 3, successors: 2, horizon: 4, resources: 2})
		f.Types[0].Count = 14
		limits := randomLimits(rng, f, 0.5)
		whole, _ := solve(t, f, limits, exact.Options{})
		half := f.Types[0]
		half.Count = 7
		split := &fleet.Fleet{Returns: f.Returns, EachStep: f.EachStep,
			Types: slices.Concat([]fleet.Type{half, half}, f.Types[1:])}
		halves, _ := solve(t, split, limits, exact.Options{})
		if whole.Status == exact.Infeasible { // of the points that miss limits least there may be several
			whole.Objective, halves.Objective = whole.Violation, halves.Violation
		}
		if whole.Status != halves.Status ||
			math.Abs(whole.Objective-halves.Objective) > 1e-8*(1+math.Abs(whole.Objective)) {
			t.Errorf("seed %d: %v %v: split %v %v", seed, whole.Status, whole.Objective, halves.Status,
				halves.Objective)
		}
	}
}

// TestWeakDuality: any prices bound the optimum, and those of the plan give its bound.
func TestWeakDuality(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 31))
	f := random(t, rng, shape{types: 4, agents: 5, states: 4, actions: 3, successors: 2, horizon: 5, resources: 2})
	var limits []fleet.Limit
	for h := range f.Horizon() {
		limits = append(limits, fleet.Limit{Return: 1, Step: h, Bound: 6}, fleet.Limit{Return: 2, Step: h, Bound: 8})
	}
	plan, task := solve(t, f, limits, exact.Options{})
	if plan.Status != exact.Optimal {
		t.Fatal(plan.Status)
	}
	bound := func(prices []float64) float64 {
		relaxed := priced(t, f, limits, prices)
		for n, y := range prices {
			relaxed -= y * task.Constraints[n].Offset
		}
		return relaxed
	}
	prices := make([]float64, len(limits))
	for range 50 {
		for n := range prices {
			prices[n] = rng.ExpFloat64() * float64(rng.IntN(2))
		}
		if b := bound(prices); b > plan.Objective+1e-9 {
			t.Errorf("prices %v give %v: the optimum is %v", prices, b, plan.Objective)
		}
	}
	for n := range prices {
		prices[n] = plan.Prices[n].Value
	}
	if b := bound(prices); math.Abs(b-plan.Bound) > 1e-7*math.Abs(b) {
		t.Errorf("the prices of the plan give %v: want its bound %v", b, plan.Bound)
	}
}

// priced is the least Σ n_k (cost + prices·use) by a backward induction for each type.
func priced(t *testing.T, f *fleet.Fleet, limits []fleet.Limit, prices []float64) float64 {
	t.Helper()
	sum := 0.0
	for _, kind := range f.Types {
		m := kind.Model
		v := make([]float64, m.States())
		for h := m.Horizon() - 1; h >= 0; h-- {
			k, now := m.Kernel(h), make([]float64, m.States())
			for s := range now {
				now[s] = math.Inf(1)
				for c := int(k.First[s]); c < int(k.First[s+1]); c++ {
					q := 0.0
					for i, to := range kind.Returns {
						r := k.ReturnsOf(c, m.Dim())[i]
						if to == 0 {
							q -= r
						}
						for n, l := range limits {
							if l.Return == to && l.Step == h {
								q += prices[n] * r
							}
						}
					}
					next, prob := k.Row(c)
					for e, n := range next {
						q += prob[e] * v[n]
					}
					now[s] = math.Min(now[s], q)
				}
			}
			v = now
		}
		for _, st := range m.StartStates() {
			sum += float64(kind.Count) * st.Probability * v[st.State]
		}
	}
	return sum
}

func TestCheck(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	// endless gives the two types models of one state without a horizon.
	endless := func(f *fleet.Fleet, specs ...cmdp.ModelSpec) {
		for k, spec := range specs {
			rest := cmdp.NewKernel()
			rest.Append([]int32{0}, []float64{1}, []float64{0, 0})
			rest.EndState()
			spec.Dim, spec.Kernels = 2, []cmdp.Kernel{rest}
			spec.Start = []cmdp.StartState{{State: 0, Probability: 1}}
			m, err := cmdp.NewModel(spec)
			if err != nil {
				t.Fatal(err)
			}
			f.Types[k].Model = m
		}
		if specs[0].Discount != specs[1].Discount || specs[0].Average {
			f.EachStep = nil
		}
	}
	for name, spoil := range map[string]func(f *fleet.Fleet){
		"no types":     func(f *fleet.Fleet) { f.Types = nil },
		"no agents":    func(f *fleet.Fleet) { f.Types[0].Count = 0 },
		"no model":     func(f *fleet.Fleet) { f.Types[1].Model = nil },
		"returns":      func(f *fleet.Fleet) { f.Types[0].Returns = f.Types[0].Returns[1:] },
		"far return":   func(f *fleet.Fleet) { f.Types[0].Returns[0] = 9 },
		"each":         func(f *fleet.Fleet) { f.EachStep = []int{5} },
		"each twice":   func(f *fleet.Fleet) { f.EachStep = []int{1, 1} },
		"few starts":   func(f *fleet.Fleet) { f.Types[0].Starts = []int{1} },
		"other starts": func(f *fleet.Fleet) { f.Types[0].Starts = make([]int, f.Types[0].Model.States()) },
		"starts elsewhere": func(f *fleet.Fleet) {
			kind := &f.Types[0]
			kind.Starts = make([]int, kind.Model.States())
			kind.Starts[1-kind.Model.StartStates()[0].State] = kind.Count
		},
		"agents too many": func(f *fleet.Fleet) {
			kind := &f.Types[0]
			kind.Starts = make([]int, kind.Model.States())
			kind.Starts[kind.Model.StartStates()[0].State] = kind.Count + 1
		},
		"means and sums":   func(f *fleet.Fleet) { endless(f, cmdp.ModelSpec{Average: true}, cmdp.ModelSpec{Discount: 1}) },
		"other discounts":  func(f *fleet.Fleet) { endless(f, cmdp.ModelSpec{Discount: 0.5}, cmdp.ModelSpec{Discount: 0.6}) },
		"steps of no time": func(f *fleet.Fleet) { endless(f, cmdp.ModelSpec{Discount: 0.5}, cmdp.ModelSpec{Discount: 0.5}) },
		"horizon": func(f *fleet.Fleet) {
			f.Types[1].Model = random(t, rng, shape{types: 1, agents: 1, states: 2, actions: 2, successors: 2,
				horizon: 9, resources: 1}).Types[0].Model
		},
	} {
		f := random(t, rng, shape{types: 2, agents: 3, states: 2, actions: 2, successors: 2, horizon: 3, resources: 1})
		if err := f.Check(); err != nil {
			t.Fatal(err)
		}
		spoil(f)
		if f.Check() == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := fleet.NewPlanner(f, 1); err == nil {
			t.Errorf("%s: a planner", name)
		}
	}
	if (*fleet.Fleet)(nil).Check() == nil {
		t.Error("no fleet, no error")
	}
}

// TestAgainstJointPolicies: two agents of two states and two steps. All policies that see the states of both
// agents are gone through, and the best mixture of them within the limits is no better than the plan, whose
// agents know nothing of one another.
func TestAgainstJointPolicies(t *testing.T) {
	for seed := range uint64(15) {
		rng := rand.New(rand.NewPCG(seed, 32))
		f := random(t, rng, shape{types: 2, agents: 1, states: 2, actions: 2, successors: 2, horizon: 2, resources: 1})
		f.Types[0].Count, f.Types[1].Count = 1, 1
		limits := []fleet.Limit{{Return: 1, Step: 0, Bound: rng.Float64()}, {Return: 1, Step: 1, Bound: rng.Float64()}}
		plan, _ := solve(t, f, limits, exact.Options{})
		p := &lp.Problem{}
		sum := lp.Constraint{Lower: 1, Upper: 1}
		use := []lp.Constraint{{Lower: math.Inf(-1), Upper: limits[0].Bound},
			{Lower: math.Inf(-1), Upper: limits[1].Bound}}
		for _, v := range jointPolicies(f) {
			p.Minimize = append(p.Minimize, -v[0])
			sum.Coef = append(sum.Coef, 1)
			use[0].Coef, use[1].Coef = append(use[0].Coef, v[1]), append(use[1].Coef, v[2])
		}
		p.Rows = append(use, sum)
		best, err := lp.Solve(p)
		if err != nil {
			t.Fatal(err)
		}
		if (best.Status == lp.Optimal) != (plan.Status == exact.Optimal) ||
			best.Status == lp.Optimal && math.Abs(best.Objective-plan.Objective) > 1e-8 {
			t.Errorf("seed %d: %v %v: the best joint policy has %v %v", seed, plan.Status, plan.Objective, best.Status,
				best.Objective)
		}
	}
}

// jointPolicies returns the value and the use at the two steps of every deterministic policy of two agents that
// sees both states.
func jointPolicies(f *fleet.Fleet) (all [][3]float64) {
	a, b := f.Types[0].Model, f.Types[1].Model
	offered := func(m *cmdp.Model, s int) int {
		first, end := m.Rows(0).Choices(s)
		return end - first
	}
	// gain adds what an action returns to a policy's value and use.
	gain := func(v *[3]float64, m *cmdp.Model, s, action, h int, weight float64) {
		first, _ := m.Rows(0).Choices(s)
		r := m.Rows(0).Returns(first + action)
		v[0] += weight * r[0]
		v[1+h] += weight * r[1]
	}
	sa, sb := a.StartStates()[0].State, b.StartStates()[0].State
	for x := range offered(a, sa) {
		for y := range offered(b, sb) {
			var arrive [2][2]float64
			rowA, probA := rowOf(a, sa, x)
			rowB, probB := rowOf(b, sb, y)
			for i, n := range rowA {
				for j, m := range rowB {
					arrive[n][m] += probA[i] * probB[j]
				}
			}
			var first [3]float64
			gain(&first, a, sa, x, 0, 1)
			gain(&first, b, sb, y, 0, 1)
			policies := [][3]float64{first}
			for n := range 2 {
				for m := range 2 {
					var next [][3]float64
					for _, v := range policies {
						for p := range offered(a, n) {
							for q := range offered(b, m) {
								w := v
								gain(&w, a, n, p, 1, arrive[n][m])
								gain(&w, b, m, q, 1, arrive[n][m])
								next = append(next, w)
							}
						}
					}
					policies = next
				}
			}
			all = append(all, policies...)
		}
	}
	return all
}

func rowOf(m *cmdp.Model, s, action int) ([]int32, []float64) {
	rows := m.Rows(0)
	first, _ := rows.Choices(s)
	return rows.Row(first + action)
}
