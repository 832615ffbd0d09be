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
	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
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
		c := problem.Constraint{Return: p.Returns[rng.IntN(d)]}
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
	return p
}

// An occupancyReference is the linear program of the visits of a problem without a horizon, written out. A
// policy passes through choices x(c), and stops for good, with probability y(s), where it may go on for ever
// without harm; z(c) is then the share of its time.
type occupancyReference struct {
	m        *cmdp.Model
	goal     []float64
	rows     []cmdp.Constraint
	up, down []bool
	left     []bool // of each choice, whether policies that keep the limits may take it
	stays    []int  // of each state, the number of the end component where it may stay, −1 without one
	inside   []bool // of each choice, whether it stays there
}

func newReference(p *problem.Problem, withGoal bool) *occupancyReference {
	m := p.Model
	o := &occupancyReference{m: m, goal: make([]float64, m.Dim()), up: make([]bool, m.Dim()),
		down: make([]bool, m.Dim())}
	for i, name := range p.Returns {
		if name == p.Goal.Minimize {
			o.goal[i] = 1
		}
		if name == p.Goal.Maximize {
			o.goal[i] = -1
		}
		o.up[i], o.down[i] = withGoal && o.goal[i] > 0, withGoal && o.goal[i] < 0
		for _, c := range p.Constraints {
			n := make([]float64, m.Dim())
			if c.Return == name && c.AtMost != nil {
				n[i], o.up[i] = 1, true
				o.rows = append(o.rows, cmdp.Constraint{Normal: n, Offset: *c.AtMost})
			}
			if c.Return == name && c.AtLeast != nil {
				n[i], o.down[i] = -1, true
				o.rows = append(o.rows, cmdp.Constraint{Normal: n, Offset: -*c.AtLeast})
			}
		}
	}
	o.left = slices.Repeat([]bool{true}, m.Choices())
	return o
}

// may reports whether a policy may take the choice for ever.
func (o *occupancyReference) may(c int) bool {
	if o.m.Discount() < 1 {
		return false // it ends anyway
	}
	for i, r := range o.m.Kernel(0).Plain(o.m.Dim()).Returns[c*o.m.Dim():][:o.m.Dim()] {
		wanted := o.m.Means() && r != 0 && (o.up[i] || o.down[i])
		if !o.m.Mean(i) && (wanted || r > 0 && o.up[i] || r < 0 && o.down[i]) {
			return false
		}
	}
	return true
}

// findStays finds the maximal end components of choices that do no harm.
func (o *occupancyReference) findStays() {
	k, n := o.m.Kernel(0).Plain(o.m.Dim()), o.m.States()
	o.inside = slices.Clone(o.left)
	for c := range o.inside {
		o.inside[c] = o.inside[c] && o.may(c)
	}
	for {
		reach := make([][]bool, n)
		for s := range reach {
			reach[s] = make([]bool, n)
			reach[s][s] = true
			for c := k.First[s]; c < k.First[s+1]; c++ {
				for e := k.Offset[c]; o.inside[c] && e < k.Offset[c+1]; e++ {
					reach[s][k.Next[e]] = reach[s][k.Next[e]] || k.Prob[e] > 0
				}
			}
		}
		for j := range n {
			for i := range n {
				for l := range n {
					reach[i][l] = reach[i][l] || reach[i][j] && reach[j][l]
				}
			}
		}
		lost := false
		for s := range n {
			for c := k.First[s]; c < k.First[s+1]; c++ {
				for e := k.Offset[c]; o.inside[c] && e < k.Offset[c+1]; e++ {
					if k.Prob[e] > 0 && !reach[k.Next[e]][s] {
						o.inside[c], lost = false, true
					}
				}
			}
		}
		if lost {
			continue
		}
		o.stays = slices.Repeat([]int{-1}, n)
		for s := range n {
			if slices.Contains(o.inside[k.First[s]:k.First[s+1]], true) {
				o.stays[s] = slices.Index(reach[s], true)
				for l := range n {
					if reach[s][l] && reach[l][s] {
						o.stays[s] = l
						break
					}
				}
			}
		}
		return
	}
}

// program writes out the program for a cost of the visits of each choice, or for the goal if it is nil.
func (o *occupancyReference) program(visits []float64) *lp.Problem {
	o.findStays()
	k, n, d, choices := o.m.Kernel(0).Plain(o.m.Dim()), o.m.States(), o.m.Dim(), o.m.Choices()
	columns := 2*choices + n // x, z, y
	p := &lp.Problem{Minimize: make([]float64, columns), Upper: slices.Repeat([]float64{math.Inf(1)}, columns)}
	amount := func(normal []float64) []float64 {
		coef := make([]float64, columns)
		for c := range choices {
			for i, r := range k.Returns[c*d:][:d] {
				if o.m.Mean(i) {
					coef[choices+c] += normal[i] * r
				} else {
					coef[c] += normal[i] * r
				}
			}
		}
		return coef
	}
	p.Minimize = amount(o.goal)
	if visits != nil {
		p.Minimize = append(slices.Clone(visits), make([]float64, choices+n)...)
	}
	for s := range n {
		flow, around, share := make([]float64, columns), make([]float64, columns), make([]float64, columns)
		for c := range choices {
			for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
				if int(k.Next[e]) == s {
					flow[c] -= o.m.Discount() * k.Prob[e]
					around[choices+c] -= k.Prob[e]
				}
			}
			if c >= int(k.First[s]) && c < int(k.First[s+1]) {
				flow[c]++
				around[choices+c]++
			}
		}
		for l := range n {
			if o.stays[l] != s {
				continue
			}
			share[2*choices+l] = -1
			for c := k.First[l]; c < k.First[l+1]; c++ {
				if o.inside[c] {
					share[choices+int(c)] = 1
				}
			}
		}
		flow[2*choices+s] = 1
		mass := 0.0
		for _, st := range o.m.StartStates() {
			if st.State == s {
				mass += st.Probability
			}
		}
		p.Rows = append(p.Rows, lp.Equal(flow, mass), lp.Equal(around, 0), lp.Equal(share, 0))
		if o.stays[s] < 0 && k.First[s] < k.First[s+1] {
			p.Upper[2*choices+s] = 0
		}
	}
	for c := range choices {
		if !o.left[c] {
			p.Upper[c] = 0
		}
		if !o.inside[c] {
			p.Upper[choices+c] = 0
		}
	}
	for _, r := range o.rows {
		p.Rows = append(p.Rows, lp.AtMost(amount(r.Normal), r.Offset))
	}
	return p
}

// solve leaves out the choices that no policy within the limits comes to, until all that are left in
// circulations are connected with the start, and solves the program.
func (o *occupancyReference) solve(t *testing.T) (lp.Status, float64) {
	t.Helper()
	k, choices := o.m.Kernel(0).Plain(o.m.Dim()), o.m.Choices()
	for {
		taken := make([]bool, choices)
		for c := range choices {
			most := make([]float64, choices)
			most[c] = -1
			sol, err := embeddedSolution(o.program(most))
			if err != nil {
				t.Fatal(err)
			}
			if sol.Status == lp.Infeasible {
				return lp.Infeasible, 0
			}
			taken[c] = sol.Status == lp.Unbounded || sol.Objective < -1e-7
		}
		met := make([]bool, o.m.States())
		for _, st := range o.m.StartStates() {
			met[st.State] = st.Probability > 0
		}
		for range met {
			for s := range met {
				for c := k.First[s]; met[s] && c < k.First[s+1]; c++ {
					for e := k.Offset[c]; taken[c] && e < k.Offset[c+1]; e++ {
						met[k.Next[e]] = met[k.Next[e]] || k.Prob[e] > 0
					}
				}
			}
		}
		fewer := false
		for s := range met {
			for c := k.First[s]; !met[s] && c < k.First[s+1]; c++ {
				fewer, o.left[c] = fewer || o.left[c], false
			}
		}
		if !fewer {
			sol, err := embeddedSolution(o.program(nil))
			if err != nil {
				t.Fatal(err)
			}
			return sol.Status, sol.Objective
		}
	}
}

// flows reports whether some policy comes to rest, or stays where it does no harm, whatever the limits are.
func (o *occupancyReference) flows(t *testing.T) bool {
	t.Helper()
	free := *o
	free.rows, free.left = nil, slices.Repeat([]bool{true}, o.m.Choices())
	sol, err := embeddedSolution(free.program(make([]float64, o.m.Choices())))
	if err != nil {
		t.Fatal(err)
	}
	return sol.Status != lp.Infeasible
}

// denseReturns evaluates a stationary policy with dense matrices. What does not end is infinite, or NaN where
// it goes up and down. rarest is the least probability of an action that is taken.
func denseReturns(m *cmdp.Model, policy cmdp.Policy) (v []float64, rarest float64) {
	k, n, d := m.Kernel(0).Plain(m.Dim()), m.States(), m.Dim()
	step, probs := mat.NewDense(n, n, nil), make([][]float64, n)
	rarest = 1
	for s := range n {
		probs[s] = make([]float64, k.First[s+1]-k.First[s])
		if len(probs[s]) == 0 {
			continue
		}
		policy.Distribution(probs[s], 0, s)
		for a, x := range probs[s] {
			c := int(k.First[s]) + a
			if x > 0 {
				rarest = min(rarest, x)
			}
			for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
				step.Set(s, int(k.Next[e]), step.At(s, int(k.Next[e]))+x*k.Prob[e])
			}
		}
	}
	reach := make([][]bool, n)
	for s := range n {
		reach[s] = make([]bool, n)
		for l := range n {
			reach[s][l] = s == l || step.At(s, l) > 0
		}
	}
	for j := range n {
		for i := range n {
			for l := range n {
				reach[i][l] = reach[i][l] || reach[i][j] && reach[j][l]
			}
		}
	}
	recurrent := make([]bool, n)
	for s := range n {
		recurrent[s] = len(probs[s]) > 0
		for l := range n {
			recurrent[s] = recurrent[s] && (!reach[s][l] || reach[l][s])
		}
	}
	// Visits of what is passed, and arrivals where it goes on for ever.
	a, b := mat.NewDense(n, n, nil), mat.NewVecDense(n, nil)
	for s := range n {
		a.Set(s, s, 1)
		for l := range n {
			if !recurrent[l] && len(probs[l]) > 0 {
				x := -step.At(l, s)
				if s == l { // what leaves, to lose nothing
					x = -1
					for o := range n {
						if o != l {
							x += step.At(l, o)
						}
					}
				}
				a.Set(s, l, a.At(s, l)+x)
			}
		}
	}
	for _, st := range m.StartStates() {
		b.SetVec(st.State, b.AtVec(st.State)+st.Probability)
	}
	var visits mat.VecDense
	if err := visits.SolveVec(a, b); err != nil && visits.Len() == 0 {
		panic(err)
	}
	v = make([]float64, d)
	for s := range n {
		x := visits.AtVec(s)
		for j, y := range probs[s] {
			for i, r := range k.Returns[(int(k.First[s])+j)*d:][:d] {
				switch {
				case m.Mean(i) || y == 0:
				case !recurrent[s]:
					v[i] += x * y * r
				}
			}
		}
	}
	for s := range n { // of each recurrent class once
		if !recurrent[s] || slices.Index(reach[s], true) != s {
			continue
		}
		mass, states := 0.0, []int{}
		for l := range n {
			if reach[s][l] {
				mass += visits.AtVec(l)
				states = append(states, l)
			}
		}
		if !(mass > 1e-15) {
			continue
		}
		share := stationaryShares(step, states)
		for j, l := range states {
			once := make([]float64, d)
			for a, y := range probs[l] {
				floats.AddScaled(once, y, k.Returns[(int(k.First[l])+a)*d:][:d])
			}
			for i, r := range once {
				if m.Mean(i) {
					v[i] += mass * share[j] * r
				} else if r != 0 {
					v[i] += math.Inf(int(math.Copysign(1, r)))
				}
			}
		}
	}
	return v, rarest
}

// stationaryShares returns the stationary distribution of a recurrent class.
func stationaryShares(step *mat.Dense, states []int) []float64 {
	n := len(states)
	a, b := mat.NewDense(n, n, nil), mat.NewVecDense(n, nil)
	for i, s := range states {
		for j, l := range states {
			a.Set(j, i, step.At(s, l))
		}
	}
	for i := range n {
		a.Set(i, i, a.At(i, i)-1)
	}
	for i := range n {
		a.Set(n-1, i, 1)
	}
	b.SetVec(n-1, 1)
	var x mat.VecDense
	if err := x.SolveVec(a, b); err != nil && x.Len() == 0 {
		panic(err)
	}
	return x.RawVector().Data
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
	kind = r.Status.String()
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
	loose, of := 1e-6, p.Model
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
	}
	what += fmt.Sprintf(", evaluated %v", v)
	for i, x := range v {
		same := x == r.Returns[i] || math.IsNaN(x) && math.IsNaN(r.Returns[i]) ||
			math.Abs(x-r.Returns[i]) <= loose*(1+math.Abs(x))
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
		relaxed := newReference(p, true)
		relaxed.forgetInfinite(v)
		status, objective = relaxed.solve(t)
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

// forgetInfinite takes away the limits on returns that are infinite.
func (o *occupancyReference) forgetInfinite(v []float64) {
	for i, x := range v {
		if math.IsInf(x, 0) && o.goal[i] == 0 {
			o.up[i], o.down[i] = false, false
			o.rows = slices.DeleteFunc(o.rows, func(row cmdp.Constraint) bool { return row.Normal[i] != 0 })
		}
	}
}

// grows reports whether a policy might collect a total for ever that matters.
func (o *occupancyReference) grows() bool {
	k, d := o.m.Kernel(0).Plain(o.m.Dim()), o.m.Dim()
	for j, r := range k.Returns {
		if i := j % d; r != 0 && !o.m.Mean(i) && (o.up[i] || o.down[i]) {
			return true
		}
	}
	return false
}

// growing returns a policy that never draws, keeps all limits and collects the goal for ever, nil if there is none.
func (o *occupancyReference) growing() (found cmdp.Deterministic) {
	goal := slices.IndexFunc(o.goal, func(g float64) bool { return g != 0 })
	if goal < 0 || o.m.Mean(goal) {
		return nil
	}
	everyDeterministic(o.m, func(policy cmdp.Deterministic) {
		v, _ := denseReturns(o.m, policy)
		grows := math.IsInf(o.goal[goal]*v[goal], -1)
		for _, row := range o.rows {
			for i, n := range row.Normal {
				grows = grows && (n == 0 || n*v[i] <= row.Offset)
			}
		}
		if grows {
			found = cmdp.Deterministic{slices.Clone(policy[0])}
		}
	})
	return found
}

// everyDeterministic calls f with all policies of a model that never draw.
func everyDeterministic(m *cmdp.Model, f func(policy cmdp.Deterministic)) {
	k, policy := m.Kernel(0), cmdp.Deterministic{make([]int32, m.States())}
	var next func(s int)
	next = func(s int) {
		if s == m.States() {
			f(policy)
			return
		}
		for a := range max(1, k.First[s+1]-k.First[s]) {
			policy[0][s] = a
			next(s + 1)
		}
	}
	next(0)
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
// of totals.
func TestEndlessNeverDrawing(t *testing.T) {
	kinds := make(map[string]int)
	for trial := range *endless / 4 {
		rng := rand.New(rand.NewPCG(uint64(trial), 25))
		p := drawEndless(t, rng, false)
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
				for i, n := range row.Normal {
					keeps = keeps && (n == 0 || n*v[i] <= row.Offset+1e-9)
				}
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
			math.Abs(r.Objective-best) <= 1e-7*(1+math.Abs(best))
		if !right {
			t.Errorf("trial %d: %v %g, returns %v: want %g\n%s", trial, r.Status, r.Objective, r.Returns, best,
				describeEndless(p))
		}
	}
	t.Logf("%v", kinds)
}

// embeddedSolution solves a program by the embedded simplex in every build: numbers of 1e9 beside those of 1
// are beyond GLPK's tolerances.
func embeddedSolution(p *lp.Problem) (*lp.Solution, error) {
	s, err := lp.NewEmbedded(p)
	if err != nil {
		return nil, err
	}
	sol := new(lp.Solution)
	err = s.Solve(sol)
	return sol, err
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
