package exact_test

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
	"cmdpsolve/cost"
	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

var endless = flag.Int("endless", 4000, "how many problems without a horizon are drawn")

// drawEndless draws a small problem without a horizon, of totals or of totals beside means, with end components
// of all kinds, a goal and up to three limits.
func drawEndless(t *testing.T, rng *rand.Rand, means bool) *problem.Problem {
	t.Helper()
	states, d := 2+rng.IntN(4), 2+rng.IntN(2)
	spec := cmdp.ModelSpec{Discount: 1, Dim: d, Start: []cmdp.StartState{{State: rng.IntN(states), Probability: 1}}}
	if rng.IntN(4) == 0 {
		spec.Start = []cmdp.StartState{{State: 0, Probability: 0.75}, {State: 1, Probability: 0.25}}
	}
	for i := range d {
		spec.Means = append(spec.Means, means && i%2 == 0)
	}
	b := cmdp.NewBuilder(spec, states)
	values := []float64{0, 0, 0, 0, 0, 1, -1, 0.5, -0.5, 2}
	for s := range states {
		for a := range rng.IntN(4) {
			r := make([]float64, d)
			for i := range r {
				r[i] = values[rng.IntN(len(values))]
			}
			next := []cmdp.Transition{{Next: rng.IntN(states), Probability: 1}}
			if other := rng.IntN(states); rng.IntN(3) == 0 && other != next[0].Next {
				next[0].Probability = 0.5
				next = append(next, cmdp.Transition{Next: other, Probability: 0.5})
			}
			if err := b.Add(cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a, Returns: r, Next: next}); err != nil {
				t.Fatal(err)
			}
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	p := &problem.Problem{Model: m, Returns: []string{"a", "b", "c"}[:d]}
	switch goal := p.Returns[rng.IntN(d)]; rng.IntN(5) {
	case 0:
	case 1:
		p.Goal.Minimize = goal
	default:
		p.Goal.Maximize = goal
	}
	bounds := []float64{0, 0, 1, -1, 0.5, 2, 3, 0.1, 1e9}
	for range rng.IntN(4) {
		x := bounds[rng.IntN(len(bounds))]
		c := problem.Limit{Return: p.Returns[rng.IntN(d)]}
		if rng.IntN(5) < 3 {
			c.AtMost = &x
		} else {
			if x == 1e9 {
				x = -x
			}
			c.AtLeast = &x
		}
		p.Constraints = append(p.Constraints, c)
	}
	if rng.IntN(6) > 0 {
		return p
	}
	var sides problem.Polytope // limits on all returns together
	for k := 0; k < 1 || k < 2 && rng.IntN(2) == 0; k++ {
		offset, row := bounds[rng.IntN(len(bounds))], make([]float64, d)
		for i := range row {
			row[i] = []float64{-1, 0, 0.5, 1}[rng.IntN(4)]
		}
		if slices.ContainsFunc(row, func(x float64) bool { return x != 0 }) {
			sides.A, sides.B = append(sides.A, row), append(sides.B, offset)
		}
	}
	if sides.A != nil {
		p.Target = &problem.Set{Polytope: &sides}
	}
	return p
}

// endlessFault compares an answer with that of the reference. It returns "" if it is right, and what is wrong
// else; kind is how it was answered.
func endlessFault(t *testing.T, p *problem.Problem) (kind, fault string) {
	task, err := query.TaskOf(t.Context(), p)
	if err != nil {
		return "contradiction", ""
	}
	o, harmful := newReference(p, true), newReference(p, false)
	status, objective := o.solve(t)
	free, _ := harmful.solve(t)
	r, err := exact.Solve(t.Context(), p.Model, task, exact.Options{Workers: 1})
	if errors.Is(err, exact.ErrNoTotal) {
		if fault := namedFault(p.Model, err); fault != "" {
			return "refused", fault
		}
		if p.Model.Means() && o.grows() {
			if policy := o.growing(); policy != nil {
				return "refused", fmt.Sprintf("refused: %v: want it unbounded by %v", err, policy)
			}
			return "refused", ""
		}
		if status == lp.Infeasible && (free != lp.Infeasible || !o.flows(t)) {
			return "refused", ""
		}
		return "refused", fmt.Sprintf("refused: %v: want %v %g", err, status, objective)
	}
	if err != nil {
		return "error", fmt.Sprintf("error %v: want %v %g", err, status, objective)
	}
	exact.Fits(t, p.Model, task, r)
	kind = r.Status.String()
	if d := p.Model.Dim(); len(r.Returns) != d || len(r.Dual) != d || len(r.Prices) != len(task.Constraints) {
		return kind, fmt.Sprintf("%d returns, %d of the dual and %d prices of %d", len(r.Returns), len(r.Dual),
			len(r.Prices), len(task.Constraints))
	}
	if x := r.Violation; x > 1e50 && !math.IsInf(x, 1) {
		return kind, fmt.Sprintf("a violation of %g: want one of finite returns, or infinity", x)
	}
	if r.Status == exact.Infeasible && free == lp.Infeasible {
		return kind, ""
	}
	if status == lp.Infeasible && free != lp.Infeasible &&
		(r.Status == exact.Unbounded || r.Status == exact.Undecided) {
		return kind, ""
	}
	what := fmt.Sprintf("%v %g (bound %g, returns %v): want %v %g (%v)", r.Status, r.Objective, r.Bound, r.Returns,
		status, objective, free)
	v, policies := make([]float64, p.Model.Dim()), r.Mixture
	if r.Policy != nil {
		policies = []exact.WeightedPolicy{{Weight: 1, Policy: r.Policy}}
	}
	loose, of, pairs := 1e-6, p.Model, 0
	if r.Product != nil {
		kind += ", with memory"
		of = r.Product.Model
	}
	for _, c := range policies {
		returns, rarest := denseReturns(of, c.Policy)
		if rarest < 1e-6 { // dense matrices lose that many digits
			e, err := exact.Evaluate(t.Context(), of, c.Policy)
			if err != nil {
				return kind, err.Error()
			}
			returns = e.Returns
		}
		for i, x := range returns {
			v[i] += c.Weight * x
		}
		pairs += drawnPairs(of, c.Policy)
	}
	if r.Randomized != pairs {
		return kind, fmt.Sprintf("%d randomised pairs: the policies draw in %d", r.Randomized, pairs)
	}
	what += fmt.Sprintf(", evaluated %v", v)
	for i, x := range v {
		same := x == r.Returns[i] || math.IsNaN(x) && math.IsNaN(r.Returns[i]) ||
			math.Abs(x-r.Returns[i]) < loose*(1+math.Abs(x))
		if !same {
			return kind, "returns that are not the policy's: " + what
		}
	}
	if r.Status == exact.Undecided {
		right := status == lp.Optimal && math.Abs(r.Bound-objective) <= 1e-6*(1+math.Abs(objective)) ||
			status == lp.Unbounded
		if right { // limits of 1e9 leave rounding no room
			return "undecided, with the right bound", ""
		}
		if p.Target != nil { // which leaves no room
			return "undecided, limits on several returns", ""
		}
		return kind, "undecided: " + what
	}
	keeps := true
	for _, row := range o.rows {
		x := -row.Offset
		for i, n := range row.Normal {
			if n != 0 {
				x += n * v[i]
			}
		}
		keeps = keeps && x <= loose*(1+math.Abs(row.Offset))
	}
	if r.Status == exact.Optimal && p.Model.Means() && o.grows() {
		// A total that grows for ever keeps its limits for free, or breaks them, which was compared above: what is left
		// is the program without them.
		o = newReference(p, true)
		o.forgetInfinite(v)
		status, objective = o.solve(t)
	}
	if r.Status == exact.Optimal && status == lp.Optimal {
		if fault := pricesFault(t, o, v, objective, r.Prices[:len(task.Constraints)]); fault != "" {
			return kind, fault
		}
	}
	if r.Status == exact.Optimal && status == lp.Optimal && r.Product == nil {
		if fault := coarseFault(t, p, task, objective); fault != "" {
			return kind, fault
		}
	}
	switch {
	case r.Status == exact.Unbounded && o.goal[r.Return] == 0:
		return kind, fmt.Sprintf("return %d is said to be unbounded: %s", r.Return, what)
	case p.Model.Means() && o.grows() && r.Status == exact.Unbounded:
		if i := slices.IndexFunc(o.goal, func(g float64) bool { return g != 0 }); !keeps ||
			!math.IsInf(o.goal[i]*v[i], -1) {
			return kind, "no growth: " + what
		}
	case r.Status == exact.Optimal && status == lp.Optimal:
		if !(math.Abs(r.Objective-objective) <= 1e-6*(1+math.Abs(objective))) ||
			!(r.Gap <= 1e-6*(1+math.Abs(objective))) || !(r.Violation < 1) || !keeps {
			return kind, "not the optimum: " + what
		}
	case r.Status == exact.Unbounded && status == lp.Unbounded:
		if !keeps {
			return kind, "limits are broken: " + what
		}
	default:
		return kind, what
	}
	return kind, ""
}

// coarseFault returns what is wrong with an answer that need not be exact, "" for nothing: it is as near to the optimum
// as it is asked and said to be, in whatever units the cost is.
func coarseFault(t *testing.T, p *problem.Problem, task cmdp.Task, objective float64) string {
	t.Helper()
	const gap = 0.02
	r, err := exact.Solve(t.Context(), p.Model, task, exact.Options{Workers: 1, Gap: gap})
	if err != nil {
		return "coarse: " + err.Error()
	}
	exact.Fits(t, p.Model, task, r)
	rounding := 1e-7 * (1 + math.Abs(objective))
	if r.Status != exact.Optimal || r.Bound > objective+rounding || r.Objective < objective-rounding ||
		r.Objective > objective+r.Gap+rounding {
		return fmt.Sprintf("coarse: %v %g, bound %g, gap %g: want %g", r.Status, r.Objective, r.Bound, r.Gap, objective)
	}
	g, affine := task.Cost.(cost.Affine)
	if !affine {
		return ""
	}
	const unit = 1024
	goal := slices.Clone(g.Gradient())
	floats.Scale(unit, goal)
	task.Cost, err = cost.NewLinear(goal, task.Box)
	if err != nil {
		return err.Error()
	}
	s, err := exact.Solve(t.Context(), p.Model, task, exact.Options{Workers: 1, Gap: gap})
	if err != nil || s.Status != r.Status || !(s.Gap <= unit*(1.01*r.Gap+rounding)) {
		return fmt.Sprintf("coarse in other units: %+v, %v: want %v with a gap of %g", s, err, r.Status, unit*r.Gap)
	}
	return ""
}

// pricesFault returns what is wrong with the prices of limits, "" for nothing: an optimum is convex in what a limit
// gives, and its price lies between what is gained and lost where it gives some. A limit that a total without end keeps
// costs nothing.
func pricesFault(t *testing.T, o *occupancyReference, v []float64, objective float64, prices []exact.Price) string {
	t.Helper()
	for k, p := range prices {
		at := slices.IndexFunc(o.rows, func(r cmdp.Constraint) bool {
			return r.Offset == p.Offset && slices.Equal(r.Normal, p.Normal)
		})
		endless := func(i int) bool { return p.Normal[i] != 0 && math.IsInf(v[i], 0) }
		free := slices.ContainsFunc(identity(len(v)), endless)
		if free && p.Value != 0 {
			return fmt.Sprintf("limit %d has the price %g: returns are %v", k, p.Value, v)
		}
		if free || at < 0 || math.Abs(p.Offset) > 1e6 {
			continue
		}
		const by = 0.01
		moved := func(by float64) float64 {
			o.rows[at].Offset += by
			defer func() { o.rows[at].Offset = p.Offset }()
			sol, err := embeddedSolution(o.program(nil))
			if err != nil {
				t.Fatal(err)
			}
			if sol.Status != lp.Optimal {
				return math.NaN()
			}
			return sol.Objective
		}
		rises, falls := (moved(-by)-objective)/by, (objective-moved(by))/by
		if rounding := 1e-3 * (1 + math.Abs(objective)); p.Value > rises+rounding || p.Value < falls-rounding {
			return fmt.Sprintf("limit %d has the price %g: want it between %g and %g", k, p.Value, falls, rises)
		}
	}
	return ""
}

// namedFault returns what is wrong with the choice that an error about a total without end names, "" for nothing: it is
// one of the model, and gives some of the return.
func namedFault(m *cmdp.Model, err error) string {
	var no *exact.NoTotalError
	if !errors.As(err, &no) || no.Return < 0 {
		return ""
	}
	k := m.Kernel(0)
	if no.State < m.States() && no.Action >= 0 {
		if c := int(k.First[no.State]) + no.Action; c < int(k.First[no.State+1]) &&
			k.ReturnsOf(c, m.Dim())[no.Return] != 0 {
			return ""
		}
	}
	return fmt.Sprintf("%v (state %d, action %d, return %d): want a choice that gives it", err, no.State, no.Action,
		no.Return)
}

// TestPlannerOfEndless: a planner that was asked other questions before has the answers of one that was not.
func TestPlannerOfEndless(t *testing.T) {
	kinds := make(map[string]int)
	for trial := range 100 {
		rng := rand.New(rand.NewPCG(uint64(trial), 232))
		p := drawEndless(t, rng, trial%2 == 0)
		if trial%4 == 0 {
			addFuel(t, rng, p)
		}
		planner, fuel := exact.PlannerOf(t, p.Model), p.Constraints
		for range 6 {
			other := drawEndless(t, rng, true)
			p.Goal, p.Target, p.Constraints = other.Goal, nil, nil
			for _, c := range other.Constraints {
				if slices.Contains(p.Returns, c.Return) {
					p.Constraints = append(p.Constraints, c)
				}
			}
			switch n := p.Model.Dim(); {
			case trial%4 == 0 && rng.IntN(2) == 0:
				p.Constraints = append(p.Constraints, fuel[len(fuel)-1])
			case rng.IntN(2) == 0: // a limit on several returns, which may let all of them grow
				row := make([]float64, n)
				row[n-1], row[rng.IntN(n-1)] = 1, float64(rng.IntN(3)-1)
				p.Target = &problem.Set{Polytope: &problem.Polytope{A: [][]float64{row}, B: []float64{3}}}
			}
			task, err := query.TaskOf(t.Context(), p)
			if err != nil {
				continue
			}
			// A goal of two returns matters to the same as a limit on one of them.
			if g, affine := task.Cost.(cost.Affine); affine && rng.IntN(3) == 0 {
				goal := slices.Clone(g.Gradient())
				goal[len(goal)-1] += 0.25
				if task.Cost, err = cost.NewLinear(goal, task.Box); err != nil {
					t.Fatal(err)
				}
			}
			kind := func(r *exact.Result, err error) string {
				if err != nil {
					return "refused"
				}
				return r.Status.String()
			}
			got, failed := planner.Solve(t.Context(), task, exact.Options{Workers: 1})
			want, err := exact.Solve(t.Context(), p.Model, task, exact.Options{Workers: 1})
			kinds[kind(want, err)]++
			if errors.Is(err, exact.ErrNoTotal) && failed == nil { // policies that are known may be what was not found
				continue
			}
			if kind(got, failed) != kind(want, err) || err == nil && want.Status == exact.Optimal &&
				math.Abs(got.Objective-want.Objective) > 1e-7*(1+math.Abs(want.Objective)) {
				t.Errorf("trial %d: %v, %+v: want %v, %+v\n%s", trial, failed, got, err, want, describeEndless(p))
			}
		}
	}
	if kinds["optimal"] < 50 || kinds["infeasible"] < 10 || kinds["unbounded"] < 10 {
		t.Errorf("%v: the test says little", kinds)
	}
}

// TestUnwantedIsNamed: some states lead to one that pays a return, as the limits ask, and then only charges a toll. A
// policy that rests at the start breaks the limits. The error names the choice with the toll, although a policy would
// have to remember there how often it was paid.
func TestUnwantedIsNamed(t *testing.T) {
	for end := 1; end < 6; end++ {
		k := cmdp.NewKernel()
		for s := range int32(end) {
			k.Append([]int32{s + 1}, []float64{1}, []float64{0, 0})
			if s == 0 {
				k.Append([]int32{int32(end) + 1}, []float64{1}, []float64{0, 0})
			}
			k.EndState()
		}
		k.Append([]int32{int32(end)}, []float64{1}, []float64{1, 0})
		k.Append([]int32{int32(end)}, []float64{1}, []float64{0, 1})
		k.EndState()
		k.EndState()
		m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: 1, Dim: 2, Kernels: []cmdp.Kernel{k},
			Start: []cmdp.StartState{{State: 0, Probability: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		p := &problem.Problem{Model: m, Returns: []string{"gain", "toll"}, Goal: problem.Goal{Minimize: "toll"},
			Constraints: []problem.Limit{{Return: "gain", AtLeast: new(3.0), AtMost: new(5.0)}}}
		task, err := query.TaskOf(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		r, err := exact.Solve(t.Context(), m, task, exact.Options{})
		var no *exact.NoTotalError
		if !errors.As(err, &no) || !no.Kept || no.State != end || no.Action != 1 || no.Return != 1 {
			t.Errorf("%+v, %v: want that action 1 in state %d gives the toll for ever", r, err, end)
		}
	}
}

// TestEndlessAgainstOccupancies draws problems without a horizon and compares their answers with an explicit
// program, and the policies with dense matrices.
func TestEndlessAgainstOccupancies(t *testing.T) {
	kinds, trials := make(map[string]int), *endless
	if testing.Short() {
		trials /= 4
	}
	for trial := range trials {
		rng := rand.New(rand.NewPCG(uint64(trial), 23))
		p := drawEndless(t, rng, trial%4 == 3)
		kind, fault := endlessFault(t, p)
		kinds[kind]++
		if fault != "" {
			t.Errorf("trial %d: %s\n%s", trial, fault, describeEndless(p))
		}
	}
	t.Logf("%v", kinds)
	if n := kinds["undecided, limits on several returns"]; n > trials/1000 {
		t.Errorf("%d answers undecided beside limits on several returns: want hardly any", n)
	}
	if n := kinds["undecided, with the right bound"]; n > trials/200 || kinds["optimal, with memory"] < trials/100 {
		t.Errorf("%d answers undecided and %d that need memory: want few and more", n, kinds["optimal, with memory"])
	}
}

// describeEndless writes a problem in short.
func describeEndless(p *problem.Problem) string {
	out, k := fmt.Sprintf("  start %v, means %v %v, goal %v,", p.Model.StartStates(), p.Model.Mean(0), p.Model.Mean(1),
		p.Goal), p.Model.Kernel(0).Plain(p.Model.Dim())
	for _, c := range p.Constraints {
		if c.AtMost != nil {
			out += fmt.Sprintf(" %s ≤ %g", c.Return, *c.AtMost)
		} else {
			out += fmt.Sprintf(" %s ≥ %g", c.Return, *c.AtLeast)
		}
	}
	if p.Target != nil {
		out += fmt.Sprintf(" %v·v ≤ %g", p.Target.Polytope.A, p.Target.Polytope.B)
	}
	for s := range p.Model.States() {
		for c := k.First[s]; c < k.First[s+1]; c++ {
			out += fmt.Sprintf("\n  %d → %v %v: %v", s, k.Next[k.Offset[c]:k.Offset[c+1]],
				k.Prob[k.Offset[c]:k.Offset[c+1]], k.Returns[int(c)*p.Model.Dim():][:p.Model.Dim()])
		}
	}
	return out
}

// TestPatientAgainstOccupancies compares answers with discounts near 1 with an explicit program.
func TestPatientAgainstOccupancies(t *testing.T) {
	kinds := make(map[string]int)
	for trial := range *endless / 4 {
		rng := rand.New(rand.NewPCG(uint64(trial), 24))
		p := drawEndless(t, rng, false)
		gamma := []float64{1 - 1e-6, 1 - 1e-7, 1 - 1e-8, 1 - 1e-9}[rng.IntN(4)]
		k := *p.Model.Kernel(0).Plain(p.Model.Dim())
		m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: gamma, Dim: p.Model.Dim(), Start: p.Model.StartStates(),
			Kernels: []cmdp.Kernel{k}})
		if err != nil {
			t.Fatal(err)
		}
		p.Model = m
		if rng.IntN(2) == 0 {
			for _, c := range p.Constraints {
				if c.AtMost != nil {
					*c.AtMost *= 0.3 / (1 - gamma)
				} else {
					*c.AtLeast *= 0.3 / (1 - gamma)
				}
			}
		}
		task, err := query.TaskOf(t.Context(), p)
		if err != nil {
			continue
		}
		o := newReference(p, true)
		want, err := embeddedSolution(o.program(nil))
		if err != nil {
			kinds["no reference"]++
			continue
		}
		r, err := exact.Solve(t.Context(), m, task, exact.Options{Workers: 1})
		if err != nil {
			t.Errorf("trial %d: %v", trial, err)
			continue
		}
		exact.Fits(t, m, task, r)
		kinds[r.Status.String()]++
		size := 1e-7 / (1 - gamma)
		right := r.Status == exact.Infeasible && want.Status == lp.Infeasible ||
			r.Status == exact.Optimal && want.Status == lp.Optimal && math.Abs(r.Objective-want.Objective) <= size
		if r.Status == exact.Undecided {
			continue
		}
		if !right && r.Status == exact.Optimal {
			// Floating point leaves the program few digits: rational numbers tell which side is right.
			kinds["judged"]++
			right = rationallyOptimal(t, p, task, r, size)
		}
		if !right {
			t.Errorf("trial %d, discount 1 − %g: %v %g, gap %g, violation %g (%g): want %v %g\n%s", trial, 1-gamma,
				r.Status, r.Objective, r.Gap, r.Violation, r.Tolerance, want.Status, want.Objective, describeEndless(p))
		}
	}
	if t.Logf("%v", kinds); kinds["undecided"] > *endless/100 {
		t.Errorf("%v: want few answers undecided", kinds)
	}
}

// rationallyOptimal reports whether a discounted policy keeps its limits, and costs no more, up to size, than
// the prices of its proof show that every policy costs which keeps them: the least that some policy has of the
// cost and the priced limits, of all that never draw. It is all in rational arithmetic.
func rationallyOptimal(t *testing.T, p *problem.Problem, task cmdp.Task, r *exact.Result, size float64) bool {
	t.Helper()
	v := rationalReturns(p.Model, r.Policy)
	rat := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	o := newReference(p, true)
	for _, row := range o.rows {
		x := new(big.Rat).SetFloat64(-row.Offset - r.Tolerance)
		for i, n := range row.Normal {
			x.Add(x, new(big.Rat).Mul(new(big.Rat).SetFloat64(n), v[i]))
		}
		if x.Sign() > 0 {
			return false
		}
	}
	if task.Cost == nil {
		return true
	}
	theta, offset := make([]*big.Rat, len(v)), new(big.Rat)
	for i, g := range o.goal {
		theta[i] = rat(g)
	}
	for k, price := range r.Proof.Prices {
		row := r.Proof.Rows[k]
		known := slices.ContainsFunc(o.rows,
			func(c cmdp.Constraint) bool { return slices.Equal(c.Normal, row.Normal) && c.Offset <= row.Offset })
		if price == 0 {
			continue
		}
		if !known || price < 0 {
			return false
		}
		for i, n := range row.Normal {
			theta[i].Add(theta[i], new(big.Rat).Mul(rat(price), rat(n)))
		}
		offset.Add(offset, new(big.Rat).Mul(rat(price), rat(row.Offset)))
	}
	var bound *big.Rat
	everyFixed(p.Model, func(policy cmdp.Policy) {
		sum := new(big.Rat)
		for i, x := range rationalReturns(p.Model, policy) {
			sum.Add(sum, x.Mul(x, theta[i]))
		}
		if bound == nil || sum.Cmp(bound) < 0 {
			bound = sum
		}
	})
	gap := new(big.Rat).Sub(offset, bound)
	for i, g := range o.goal {
		gap.Add(gap, new(big.Rat).Mul(rat(g), v[i]))
	}
	return gap.Cmp(new(big.Rat).SetFloat64(size)) <= 0
}

// everyFixed calls f with every stationary policy that never draws.
func everyFixed(m *cmdp.Model, f func(cmdp.Policy)) {
	k := m.Kernel(0).Plain(m.Dim())
	row := make([]int32, m.States())
	for {
		f(cmdp.Deterministic{row})
		s := 0
		for s < len(row) {
			row[s]++
			if row[s] < k.First[s+1]-k.First[s] {
				break
			}
			row[s] = 0
			s++
		}
		if s == len(row) {
			return
		}
	}
}

// rationalReturns evaluates a policy of a small discounted model by elimination in rational arithmetic.
func rationalReturns(m *cmdp.Model, policy cmdp.Policy) []*big.Rat {
	k, n, d := m.Kernel(0).Plain(m.Dim()), m.States(), m.Dim()
	rat := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	rows := make([][]*big.Rat, n) // (I − γP) V = r
	for s := range rows {
		rows[s] = make([]*big.Rat, n+d)
		for j := range rows[s] {
			rows[s][j] = new(big.Rat)
		}
		rows[s][s].SetInt64(1)
		probs := make([]float64, k.First[s+1]-k.First[s])
		if len(probs) == 0 {
			continue
		}
		policy.Distribution(probs, 0, s)
		total := new(big.Rat)
		for _, x := range probs {
			total.Add(total, rat(x))
		}
		for a, x := range probs {
			c, share := int(k.First[s])+a, new(big.Rat).Quo(rat(x), total)
			for i := range d {
				rows[s][n+i].Add(rows[s][n+i], new(big.Rat).Mul(share, rat(k.Returns[c*d+i])))
			}
			for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
				step := new(big.Rat).Mul(share, rat(k.Prob[e]))
				rows[s][k.Next[e]].Sub(rows[s][k.Next[e]], step.Mul(step, rat(m.Discount())))
			}
		}
	}
	for j := range n { // diagonally dominant
		for l := range n {
			if l == j || rows[l][j].Sign() == 0 {
				continue
			}
			f := new(big.Rat).Quo(rows[l][j], rows[j][j])
			for c := range rows[l] {
				rows[l][c].Sub(rows[l][c], new(big.Rat).Mul(f, rows[j][c]))
			}
		}
	}
	v := make([]*big.Rat, d)
	for i := range v {
		v[i] = new(big.Rat)
		for _, st := range m.StartStates() {
			v[i].Add(v[i], new(big.Rat).Quo(new(big.Rat).Mul(rat(st.Probability), rows[st.State][n+i]),
				rows[st.State][st.State]))
		}
	}
	return v
}

// TestEndlessNeverDrawing compares the best policies that never draw with all deterministic ones, on problems
// of totals, and of means beside them.
func TestEndlessNeverDrawing(t *testing.T) {
	kinds := make(map[string]int)
	for trial := range *endless / 4 {
		rng := rand.New(rand.NewPCG(uint64(trial), 25))
		p := drawEndless(t, rng, trial%3 == 0)
		task, err := query.TaskOf(t.Context(), p)
		if err != nil || task.Cost == nil && task.Target == nil {
			continue
		}
		o := newReference(p, true)
		best := math.Inf(1)
		everyDeterministic(p.Model, func(policy cmdp.Deterministic) {
			v, _ := denseReturns(p.Model, policy)
			value := 0.0
			for i, g := range o.goal {
				if g != 0 {
					value = g * v[i]
				}
			}
			keeps := value < math.Inf(1)
			for _, row := range o.rows {
				x := -row.Offset
				for i, n := range row.Normal {
					if n != 0 {
						x += n * v[i]
					}
				}
				keeps = keeps && x <= 1e-9
			}
			if keeps {
				best = min(best, value)
			}
		})
		r, err := exact.SolveDeterministic(t.Context(), p.Model, task,
			exact.DeterministicOptions{Options: exact.Options{Workers: 1}})
		if errors.Is(err, exact.ErrNoTotal) {
			kinds["refused"]++
			continue
		}
		if err != nil {
			t.Errorf("trial %d: %v\n%s", trial, err, describeEndless(p))
			continue
		}
		kinds[r.Status.String()]++
		right := r.Status == exact.Infeasible && math.IsInf(best, 1) ||
			r.Status == exact.Unbounded && math.IsInf(best, -1) ||
			r.Status == exact.Undecided || r.Status == exact.Optimal &&
			math.Abs(r.Objective-best) < 1e-7*(1+math.Abs(best))
		if !right {
			t.Errorf("trial %d: %v %g, returns %v: want %g\n%s", trial, r.Status, r.Objective, r.Returns, best,
				describeEndless(p))
		}
		if task.Cost != nil {
			kinds["curve "+neverDrawingCurve(t, rng, p, task, r.Status).String()]++
		}
	}
	t.Logf("%v", kinds)
}

// neverDrawingCurve wants the trade-off of the goal of p, whose best policy that never draws has a status, with some
// return, to be unbounded if the goal is, and only if one of the two is; what is unbounded in the return alone may be
// infinitely bad for the goal. It returns the status of the curve, which has points only where it is optimal.
func neverDrawingCurve(t *testing.T, rng *rand.Rand, p *problem.Problem, task cmdp.Task,
	goal exact.Verdict) exact.Verdict {
	over := [2][]float64{task.Cost.(cost.Affine).Gradient(), make([]float64, p.Model.Dim())}
	over[1][rng.IntN(p.Model.Dim())] = float64(1 - 2*rng.IntN(2))
	second, err := cost.NewLinear(over[1], task.Box)
	if err != nil {
		t.Fatal(err)
	}
	opts := exact.DeterministicOptions{Options: exact.Options{Workers: 1}}
	points, status, err := exact.DeterministicFront(t.Context(), p.Model, task, over, opts)
	task.Cost = second
	other, otherErr := exact.SolveDeterministic(t.Context(), p.Model, task, opts)
	if errors.Is(err, exact.ErrNoTotal) || errors.Is(otherErr, exact.ErrNoTotal) {
		return exact.Undecided
	}
	if err != nil || otherErr != nil {
		t.Fatal(err, otherErr)
	}
	wrong := goal == exact.Unbounded && status != exact.Unbounded
	if status == exact.Unbounded {
		wrong = goal != exact.Unbounded && other.Status != exact.Unbounded
	}
	if wrong || status != exact.Undecided && (len(points) > 0) != (status == exact.Optimal) {
		t.Errorf("a curve is %v with %d points, where its ends are %v and %v\n%s", status, len(points), goal,
			other.Status, describeEndless(p))
	}
	return status
}

// TestNearestWithoutPolicy: without the nearest policy the verdict is the same, and the returns are as near.
func TestNearestWithoutPolicy(t *testing.T) {
	infeasible := 0
	for trial := range 300 {
		rng := rand.New(rand.NewPCG(uint64(trial), 31))
		p := drawEndless(t, rng, trial%2 == 0)
		k := *p.Model.Kernel(0).Plain(p.Model.Dim())
		m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: 0.9, Dim: p.Model.Dim(), Start: p.Model.StartStates(),
			Kernels: []cmdp.Kernel{k}})
		if err != nil {
			t.Fatal(err)
		}
		p.Model = m
		task, err := query.TaskOf(t.Context(), p)
		if err != nil {
			continue
		}
		with, err := exact.Solve(t.Context(), m, task, exact.Options{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		without, err := exact.Solve(t.Context(), m, task, exact.Options{Workers: 1, NoNearest: true})
		if err != nil || without.Status != with.Status {
			t.Fatalf("trial %d: %v, %v: want %v", trial, without.Status, err, with.Status)
		}
		exact.Fits(t, m, task, with)
		exact.Fits(t, m, task, without)
		if with.Status != exact.Infeasible {
			continue
		}
		infeasible++
		if without.Policy != nil || with.Policy == nil {
			t.Errorf("trial %d: a policy that nobody asked for, or none that is asked for", trial)
		}
		whole := cmdp.Task{Target: task.Target}
		near, nearest := whole.Violation(without.Returns), whole.Violation(with.Returns)
		if math.Abs(near-nearest) > 1e-6*(1+nearest) ||
			math.Abs(without.Violation-with.Violation) > 1e-6*(1+with.Violation) {
			t.Errorf("trial %d: %g away without the policy, %g with it", trial, near, nearest)
		}
	}
	if infeasible < 30 {
		t.Errorf("%d infeasible problems: want more", infeasible)
	}
}

// TestWhatMattersToNothing: a total that neither goal nor limits look at may do what it likes: the answer is that of a
// model in which nothing gives it.
func TestWhatMattersToNothing(t *testing.T) {
	verdicts := make(map[string]int)
	for trial := range 500 {
		rng := rand.New(rand.NewPCG(uint64(trial), 32))
		p := drawEndless(t, rng, trial%3 > 0)
		p.Target = nil
		const i = 1 // a total in any case
		name := p.Returns[i]
		p.Constraints = slices.DeleteFunc(p.Constraints, func(c problem.Limit) bool { return c.Return == name })
		if p.Goal.Maximize+p.Goal.Minimize == name {
			p.Goal = problem.Goal{}
		}
		task, err := query.TaskOf(t.Context(), p)
		if err != nil {
			continue
		}
		d := p.Model.Dim()
		k := *p.Model.Kernel(0).Plain(d)
		k.Returns = slices.Clone(k.Returns)
		for c := i; c < len(k.Returns); c += d {
			k.Returns[c] = 0
		}
		spec := cmdp.ModelSpec{Discount: 1, Dim: d, Start: p.Model.StartStates(), Kernels: []cmdp.Kernel{k}}
		for j := range d {
			spec.Means = append(spec.Means, p.Model.Mean(j))
		}
		quiet := *p
		quiet.Model, err = cmdp.NewModel(spec)
		if err != nil {
			t.Fatal(err)
		}
		without, err := query.TaskOf(t.Context(), &quiet)
		if err != nil {
			t.Fatal(err)
		}
		got, failed := exact.Solve(t.Context(), p.Model, task, exact.Options{Workers: 1})
		want, err := exact.Solve(t.Context(), quiet.Model, without, exact.Options{Workers: 1})
		if (failed == nil) != (err == nil) {
			t.Fatalf("trial %d: error %v: want %v\n%s", trial, failed, err, describeEndless(p))
		}
		if err != nil {
			continue
		}
		verdicts[got.Status.String()]++
		if got.Status != want.Status || got.Status != exact.Unbounded &&
			math.Abs(got.Objective-want.Objective) > 1e-7*(1+math.Abs(want.Objective)) && got.Status == exact.Optimal ||
			math.Abs(got.Violation-want.Violation) > 1e-6*(1+want.Violation) {
			t.Fatalf("trial %d: %v %g, violation %g: want %v %g, %g\n%s", trial, got.Status, got.Objective, got.Violation,
				want.Status, want.Objective, want.Violation, describeEndless(p))
		}
	}
	t.Logf("%v", verdicts)
}

// asked says what planners answer to questions that are not asked for an optimum, with some digits.
func asked(t *testing.T, p func() *exact.Planner, task cmdp.Task) (said string) {
	t.Helper()
	say := func(numbers []float64, err error) {
		for _, x := range numbers {
			if math.Abs(x) < 1e6 {
				x = math.Round(x*1e5)/1e5 + 0
			}
			said += fmt.Sprintf("%.5g ", x)
		}
		said += fmt.Sprintf("%v; ", err)
	}
	for _, ask := range []func(*exact.Planner) (lower, upper []float64, err error){
		func(q *exact.Planner) (lower, upper []float64, err error) {
			return q.Ranges(t.Context())
		},
		func(q *exact.Planner) (lower, upper []float64, err error) { return q.Extent(t.Context()) },
	} {
		lower, upper, err := ask(p())
		say(slices.Concat(lower, upper), err)
	}
	c, err := p().Conflict(t.Context(), task, nil, exact.Options{})
	if c != nil {
		said += fmt.Sprintf("limits %v ", c.Rows)
		say(c.Relax, nil)
	}
	return said + fmt.Sprint(err)
}

// TestPlannerForgetsWhatMatters: a planner that has answered another task of the same model, with other limits and
// another goal, answers as one that has not.
func TestPlannerForgetsWhatMatters(t *testing.T) {
	verdicts := make(map[exact.Verdict]int)
	for trial := range 300 {
		p := drawEndless(t, rand.New(rand.NewPCG(uint64(trial), 29)), trial%2 == 0)
		planner := exact.PlannerOf(t, p.Model)
		other := *p
		other.Constraints, other.Target = nil, nil
		other.Goal.Minimize, other.Goal.Maximize = p.Goal.Maximize, p.Goal.Minimize
		free := *p
		free.Constraints, free.Target = nil, nil
		for k, q := range []*problem.Problem{p, &free, &other, p} {
			task, err := query.TaskOf(t.Context(), q)
			if err != nil {
				continue
			}
			want, failed := exact.Solve(t.Context(), q.Model, task, exact.Options{Workers: 1})
			got, err := planner.Solve(t.Context(), task, exact.Options{Workers: 1})
			if fmt.Sprint(err) != fmt.Sprint(failed) {
				t.Errorf("trial %d: task %d: error %v: want %v\n%s", trial, k, err, failed, describeEndless(q))
			}
			if err != nil || failed != nil {
				continue
			}
			verdicts[got.Status]++
			exact.Fits(t, q.Model, task, got)
			said := asked(t, func() *exact.Planner { return planner }, task)
			if fresh := asked(t, func() *exact.Planner { return exact.PlannerOf(t, q.Model) }, task); said != fresh {
				t.Errorf("trial %d: after task %d: %s: want %s\n%s", trial, k, said, fresh, describeEndless(q))
			}
			if got.Status != want.Status || got.Return != want.Return ||
				got.Status == exact.Optimal && task.Cost != nil &&
					math.Abs(got.Objective-want.Objective) > 1e-7*(1+math.Abs(want.Objective)) {
				t.Errorf("trial %d: task %d: %v %g: want %v %g\n%s", trial, k, got.Status, got.Objective, want.Status,
					want.Objective, describeEndless(q))
			}
		}
	}
	if verdicts[exact.Optimal] < 100 || verdicts[exact.Infeasible] < 20 || verdicts[exact.Unbounded] < 20 {
		t.Errorf("%v: want more of each", verdicts)
	}
}
