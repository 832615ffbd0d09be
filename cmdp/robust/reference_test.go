package robust_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/robust"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
	"cmdpsolve/internal/threshold"
	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// A case is a random set of models with what is wanted of it.
type randomCase struct {
	model *cmdp.Model
	iv    *cmdp.Intervals
	set   *robust.Set
	task  cmdp.Task
}

// constant is that of all goals.
const constant = 3

// shape says how large random cases are.
type shape struct {
	states, actions, successors, horizon int
	discount                             float64
	outcomes, steps                      bool // random returns, a kernel for each step
	home, average                        bool // every choice comes to the last state now and then; long-run means
	width                                float64
}

func newCase(t *testing.T, rng *rand.Rand, sh shape, fixed bool) *randomCase {
	t.Helper()
	const dim = 2
	spec := cmdp.ModelSpec{Horizon: sh.horizon, Discount: sh.discount, Dim: dim,
		Start: []cmdp.StartState{{State: 0, Probability: 0.75}, {State: 1, Probability: 0.25}}}
	spec.Average = sh.average
	if sh.horizon > 0 || sh.average {
		spec.Discount = 0
	}
	kernels := 1
	if sh.steps {
		kernels = sh.horizon
	}
	var lower, upper [][][]float64
	for range kernels {
		k, lo, up := randomKernel(rng, sh, dim)
		spec.Kernels = append(spec.Kernels, k)
		lower, upper = append(lower, lo), append(upper, up)
	}
	return newRandomCase(t, spec, func(h, c int) ([]float64, []float64) { return lower[h][c], upper[h][c] }, fixed)
}

// newRandomCase makes a model, its intervals and the set of models, of which one fixed one is the true one or not.
func newRandomCase(t *testing.T, spec cmdp.ModelSpec, bounds func(step, choice int) (lower, upper []float64),
	fixed bool) *randomCase {
	t.Helper()
	m, err := cmdp.NewModel(spec)
	if err != nil {
		t.Fatal(err)
	}
	iv, err := cmdp.NewIntervals(m, bounds)
	if err != nil {
		t.Fatal(err)
	}
	set, err := robust.New(robust.Spec{Model: m, Intervals: iv, Fixed: fixed})
	if err != nil {
		t.Fatal(err)
	}
	return &randomCase{model: m, iv: iv, set: set}
}

// randomKernel returns a kernel whose states have different numbers of choices, one of them rests, at each step another
// if each has a kernel, and bounds of its probabilities, nil for some choices.
func randomKernel(rng *rand.Rand, sh shape, dim int) (k cmdp.Kernel, lower, upper [][]float64) {
	k = cmdp.Kernel{First: []int32{0}, Offset: []int{0}}
	if sh.outcomes {
		k.Outcomes = []float64{}
	}
	rests := sh.states - 1
	if sh.steps {
		rests = rng.IntN(sh.states)
	}
	if sh.average {
		rests = -1
	}
	for s := range sh.states {
		actions := 1 + rng.IntN(sh.actions)
		if s == rests {
			actions = 0
		}
		for range actions {
			n := 1 + rng.IntN(sh.successors)
			to := rng.Perm(sh.states)[:min(n, sh.states)]
			if sh.home && !slices.Contains(to, sh.states-1) {
				to = append(to, sh.states-1)
			}
			p, lo, up := randomRow(rng, len(to), sh.width)
			if sh.home {
				home := slices.Index(to, sh.states-1)
				lo[home] = max(lo[home], p[home]/2)
			}
			mean := make([]float64, dim)
			given := []float64{rng.Float64()*2 - 1, rng.Float64()}
			if rng.IntN(4) == 0 {
				clear(given)
			}
			for i, s := range to {
				k.Next = append(k.Next, int32(s))
				k.Prob = append(k.Prob, p[i])
				if sh.outcomes {
					for j := range dim {
						r := rng.Float64()*2 - 1
						mean[j] += p[i] * r
						k.Outcomes = append(k.Outcomes, r)
					}
				}
			}
			if !sh.outcomes {
				mean = given
			}
			k.Returns = append(k.Returns, mean...)
			k.Offset = append(k.Offset, len(k.Next))
			if rng.IntN(4) == 0 {
				lo, up = nil, nil
			}
			lower, upper = append(lower, lo), append(upper, up)
		}
		k.First = append(k.First, int32(len(k.Offset)-1))
	}
	return k, lower, upper
}

// randomRow returns a distribution and bounds of it.
func randomRow(rng *rand.Rand, n int, width float64) (p, lower, upper []float64) {
	sum := 0.0
	for range n {
		x := 0.1 + rng.Float64()
		p = append(p, x)
		sum += x
	}
	for i := range p {
		p[i] /= sum
		lower = append(lower, max(0, p[i]-width*rng.Float64()))
		upper = append(upper, min(1, p[i]+width*rng.Float64()))
	}
	return p, lower, upper
}

// atCorner makes a distribution now and then one of the corners between its bounds, at which successors may have the
// probability 0 that come up in other models.
func atCorner(rng *rand.Rand, p, lower, upper []float64) []float64 {
	all := vertices(lower, upper)
	if len(p) == 1 || rng.IntN(4) > 0 || len(all) == 0 {
		return p
	}
	p = all[rng.IntN(len(all))]
	for i := range p {
		p[i] = min(max(p[i], lower[i]), upper[i])
	}
	return p
}

// vertices lists the corners of the distributions between bounds: all probabilities but one are at a bound.
func vertices(lower, upper []float64) (out [][]float64) {
	n := len(lower)
	for free := range n {
		for mask := range 1 << n {
			if mask&(1<<free) != 0 {
				continue
			}
			p, rest := make([]float64, n), 1.0
			for i := range p {
				if i == free {
					continue
				}
				p[i] = lower[i]
				if mask&(1<<i) != 0 {
					p[i] = upper[i]
				}
				rest -= p[i]
			}
			p[free] = rest
			if rest >= lower[free]-1e-12 && rest <= upper[free]+1e-12 {
				out = append(out, p)
			}
		}
	}
	return out
}

// draw returns a distribution between bounds: a random mean of corners, or one of them.
func draw(rng *rand.Rand, lower, upper []float64) []float64 {
	all := vertices(lower, upper)
	p := make([]float64, len(lower))
	total := 0.0
	corner := rng.IntN(2) == 0
	pick := rng.IntN(len(all))
	for i, v := range all {
		w := rng.ExpFloat64()
		if corner {
			w = 0
			if i == pick {
				w = 1
			}
		}
		total += w
		for j := range p {
			p[j] += w * v[j]
		}
	}
	for j := range p {
		p[j] /= total
	}
	return p
}

// sample returns a model of the set, with a kernel for each step if nature chooses anew.
func (c *randomCase) sample(t *testing.T, rng *rand.Rand, anew bool) *cmdp.Model {
	t.Helper()
	m := c.model
	spec := cmdp.ModelSpec{Horizon: m.Horizon(), Discount: m.Discount(), Dim: m.Dim(), Start: m.StartStates()}
	if m.Horizon() > 0 {
		spec.Discount = 0
	}
	steps := m.Kernels()
	if anew && m.Horizon() > 0 {
		steps = m.Horizon()
	}
	for h := range steps {
		k := *m.Kernel(h)
		k.Prob = append([]float64(nil), k.Prob...)
		for choice := range len(k.Offset) - 1 {
			lower, upper := c.iv.Row(min(h, m.Kernels()-1), choice)
			if lower != nil {
				copy(k.Prob[k.Offset[choice]:], draw(rng, lower, upper))
			}
		}
		if k.Outcomes != nil {
			d := m.Dim()
			k.Returns = make([]float64, len(k.Returns))
			for choice := range len(k.Offset) - 1 {
				for e := k.Offset[choice]; e < k.Offset[choice+1]; e++ {
					for i := range d {
						k.Returns[choice*d+i] += k.Prob[e] * k.Outcomes[e*d+i]
					}
				}
			}
		}
		spec.Kernels = append(spec.Kernels, k)
	}
	out, err := cmdp.NewModel(spec)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// worst is bruteForce from the start.
func (c *randomCase) worst(policy cmdp.Policy, dir []float64) float64 {
	sum := 0.0
	for _, st := range c.model.StartStates() {
		sum += st.Probability * c.bruteForce(policy, dir, 0, st.State)
	}
	return sum
}

// best returns the greatest expectation over the distributions between bounds, of many values by a linear program.
func best(lower, upper, values []float64) float64 {
	most := math.Inf(-1)
	if len(values) <= 5 {
		for _, p := range vertices(lower, upper) {
			most = math.Max(most, floats.Dot(p, values))
		}
		return most
	}
	p := &lp.Problem{Lower: lower, Upper: upper, Minimize: make([]float64, len(values))}
	floats.AddScaled(p.Minimize, -1, values)
	p.Rows = []lp.Constraint{lp.Equal(slices.Repeat([]float64{1}, len(values)), 1)}
	sol, err := lp.Solve(p)
	if err != nil || sol.Status != lp.Optimal {
		return most
	}
	return floats.Dot(sol.X, values)
}

// bruteForce returns the greatest return of a policy in a direction, from the definition: at every visit nature tries
// every corner. It goes through histories, so that it does not even know that values depend on the state alone.
func (c *randomCase) bruteForce(policy cmdp.Policy, dir []float64, h, s int) float64 {
	m := c.model
	if h == m.Horizon() {
		return 0
	}
	rows := m.Rows(h)
	first, end := rows.Choices(s)
	if first == end {
		return c.bruteForce(policy, dir, h+1, s)
	}
	probs := make([]float64, end-first)
	policy.Distribution(probs, h, s)
	sum := 0.0
	for a, x := range probs {
		if x == 0 {
			continue
		}
		sum += x * c.greatestOf(dir, h, first+a, func(to int) float64 { return c.bruteForce(policy, dir, h+1, to) })
	}
	return sum
}

// greatestOf returns the greatest value of a choice at step h, from those of its successors.
func (c *randomCase) greatestOf(dir []float64, h, choice int, value func(to int) float64) float64 {
	rows := c.model.Rows(h)
	next, nominal := rows.Row(choice)
	values := make([]float64, len(next))
	for i, to := range next {
		values[i] = value(int(to)) + floats.Dot(dir, rows.Outcome(choice, i))
	}
	lower, upper := c.iv.Row(min(h, c.model.Kernels()-1), choice)
	if lower == nil {
		return floats.Dot(nominal, values)
	}
	return best(lower, upper, values)
}

// values returns the greatest returns in a direction of a policy without a horizon, from each state, by value
// iteration.
func (c *randomCase) values(policy cmdp.Policy, dir []float64) []float64 {
	v := make([]float64, c.model.States())
	for range 400 {
		before := slices.Clone(v)
		for s := range v {
			first, end := c.model.Rows(0).Choices(s)
			probs := make([]float64, end-first)
			if first < end {
				policy.Distribution(probs, 0, s)
			}
			v[s] = 0
			for a, x := range probs {
				v[s] += x * c.greatestOf(dir, 0, first+a, func(to int) float64 {
					return c.model.Discount() * before[to]
				})
			}
		}
		if distance(before, v) < 1e-13 {
			break
		}
	}
	return v
}

// optimum returns the least greatest return in a direction of all policies without a horizon, by value iteration.
// Long-run means need a state that is always come back to.
func (c *randomCase) optimum(dir []float64) float64 {
	m, gain, sum := c.model, 0.0, 0.0
	v := make([]float64, m.States())
	for range 4000 {
		before := slices.Clone(v)
		for s := range v {
			first, end := m.Rows(0).Choices(s)
			least := math.Inf(1)
			for choice := first; choice < end; choice++ {
				most := c.greatestOf(dir, 0, choice, func(to int) float64 { return m.Discount() * before[to] })
				least = min(least, most)
			}
			switch {
			case first == end:
			case m.Average(): // every other step is none, so that nothing is periodic
				v[s] = (least + before[s]) / 2
			default:
				v[s] = least
			}
		}
		if m.Average() {
			gain = 2 * v[0]
			floats.AddConst(-v[0], v)
		}
		if distance(before, v) < 1e-12 {
			break
		}
	}
	for _, st := range m.StartStates() {
		sum += st.Probability * v[st.State]
	}
	if m.Average() {
		return gain
	}
	return sum
}

// randomPolicy draws a policy, deterministic or not, for each step.
func randomPolicy(t *testing.T, rng *rand.Rand, m *cmdp.Model, steps int) cmdp.Policy {
	t.Helper()
	var first [][]int32
	var probs [][]float64
	pure := rng.IntN(2) == 0
	for h := range steps {
		k := m.Kernel(h)
		first = append(first, k.First)
		row := make([]float64, len(k.Offset)-1)
		for s := range m.States() {
			lo, hi := k.First[s], k.First[s+1]
			if lo == hi {
				continue
			}
			if pure {
				row[int(lo)+rng.IntN(int(hi-lo))] = 1
				continue
			}
			sum := 0.0
			for c := lo; c < hi; c++ {
				row[c] = rng.ExpFloat64()
				sum += row[c]
			}
			for c := lo; c < hi; c++ {
				row[c] /= sum
			}
		}
		probs = append(probs, row)
	}
	p, err := cmdp.NewRandomized(first, probs)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wanted gives the case a task: make return 0 and a constant small while return 1 stays below a limit.
func (c *randomCase) wanted(t *testing.T, limit float64, lower, upper []float64) {
	t.Helper()
	box, err := geometry.NewBox(lower, upper)
	if err != nil {
		t.Fatal(err)
	}
	one, err := geometry.NewBox([]float64{lower[0] + constant}, []float64{upper[0] + constant})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := cost.NewLinear([]float64{1}, one)
	if err != nil {
		t.Fatal(err)
	}
	g, err := cost.NewPrecomposed(plain, [][]float64{{1, 0}}, []float64{constant}, box)
	if err != nil {
		t.Fatal(err)
	}
	target, err := geometry.NewBox([]float64{lower[0], math.Min(lower[1], limit)},
		[]float64{upper[0], math.Min(upper[1], limit)})
	if err != nil {
		t.Fatal(err)
	}
	compact, err := target.Bounded()
	if err != nil {
		t.Fatal(err)
	}
	c.task = cmdp.Task{Cost: g, Target: compact, Box: box,
		Constraints: []cmdp.Constraint{{Normal: []float64{0, 1}, Offset: limit}}}
}

// noModels makes all models of a set too large to be planned for, until what it returns is called.
func noModels() (restore func()) {
	before := threshold.Written
	threshold.Written = 0
	return func() { threshold.Written = before }
}

// second adds a limit on both returns, near to what a policy of the given bounds keeps.
func (c *randomCase) second(t *testing.T, rng *rand.Rand, b robust.Bounds) {
	t.Helper()
	size := 0.2 + b.Greatest[0] - b.Least[0] + b.Greatest[1] - b.Least[1]
	offset := 0.5*b.Greatest[1] - b.Least[0] + 0.2*size*math.Abs(rng.NormFloat64())
	row := cmdp.Constraint{Normal: []float64{-1, 0.5}, Offset: offset}
	half, err := geometry.NewHalfspace(row.Normal, row.Offset)
	if err != nil {
		t.Fatal(err)
	}
	lower, upper := c.task.Box.Lower(), c.task.Box.Upper()
	if c.task.Constraints[0].Offset <= lower[1] {
		return
	}
	upper[1] = math.Max(lower[1], math.Min(upper[1], c.task.Constraints[0].Offset))
	box, err := geometry.NewBox(lower, upper)
	if err != nil {
		t.Fatal(err)
	}
	target, err := geometry.Restrict(half, box)
	if err != nil {
		t.Fatal(err)
	}
	most := make([]float64, 2)
	target.MaximizeLinear(most, row.Normal) // by rounding beyond the offset
	row.Offset = math.Max(row.Offset, floats.Dot(row.Normal, most)+1e-9)
	c.task.Target = target
	c.task.Constraints = append(c.task.Constraints, row)
}

// keeps reports whether a policy of the given bounds surely keeps all limits.
func (c *randomCase) keeps(b robust.Bounds) bool {
	for _, l := range c.task.Constraints {
		sum := 0.0
		for i, x := range l.Normal {
			sum += math.Max(x*b.Greatest[i], x*b.Least[i])
		}
		if sum > l.Offset {
			return false
		}
	}
	return true
}

// checkVerdict compares what is said of the gap and the limits with the numbers.
func (c *randomCase) checkVerdict(t *testing.T, i int, r *robust.Result) {
	t.Helper()
	if math.Abs(r.Gap-math.Max(0, r.Objective-r.Bound)) >= 1e-12*math.Max(1, math.Abs(r.Objective)) {
		t.Errorf("case %d: gap %g: the objective is %g, the bound %g", i, r.Gap, r.Objective, r.Bound)
	}
	if within := 1e-9 * math.Max(1, math.Abs(r.Objective)); (r.Status == robust.Optimal) != (r.Gap <= within) {
		t.Errorf("case %d: %v with a gap of %g", i, r.Status, r.Gap)
	}
	c.checkMissed(t, i, r)
	if (r.Policy == nil) != (len(r.Mixture) > 1) || len(r.Drawn()) != len(r.Plan()) {
		t.Errorf("case %d: policy %v and a mixture of %d, of which %d are drawn", i, r.Policy != nil, len(r.Mixture),
			len(r.Drawn()))
	}
	alone, err := exact.Solve(t.Context(), c.model, c.task, exact.Options{})
	if err != nil || r.Nominal == nil || r.Nominal.Status != alone.Status ||
		math.Abs(r.Nominal.Objective-alone.Objective) > 1e-7*math.Max(1, math.Abs(alone.Objective)) {
		t.Errorf("case %d: alone the nominal model has %+v, error %v: want %v, %g", i, r.Nominal, err, alone.Status,
			alone.Objective)
	}
	v := make([]float64, c.model.Dim())
	for _, part := range r.Plan() {
		floats.AddScaled(v, part.Weight, returnsOf(t, c.model, part.Policy))
	}
	if floats.Distance(v, r.Returns, math.Inf(1)) > 1e-7*math.Max(1, floats.Norm(v, 2)) {
		t.Errorf("case %d: returns %v in the nominal model: want %v", i, r.Returns, v)
	}
	size := 1.0
	for _, l := range r.Limits {
		size = math.Max(size, math.Max(math.Abs(l.Offset), math.Abs(l.Greatest)))
		if r.Proof == nil && l.BoundPrice != l.Price || r.Proof != nil && l.BoundPrice != 0 {
			t.Errorf("case %d: a limit has the price %g, and %g in the bound", i, l.Price, l.BoundPrice)
		}
	}
	if r.Tolerance > 1e-8*size {
		t.Errorf("case %d: a violation of %g counts as none", i, r.Tolerance)
	}
	if r.Violation > r.Tolerance {
		t.Errorf("case %d: %v, and the limits are missed by %g", i, r.Status, r.Violation)
	}
}

// returnsOf returns the expected returns of a policy in a model.
func returnsOf(t *testing.T, m *cmdp.Model, policy cmdp.Policy) []float64 {
	t.Helper()
	v := make([]float64, m.Dim())
	if m.Horizon() > 0 {
		cmdp.NewEvaluator(m).Returns(v, policy)
		return v
	}
	e, err := exact.Evaluate(t.Context(), m, policy)
	if err != nil {
		t.Fatal(err)
	}
	return e.Returns
}

// checkMissed compares the violation with the limits.
func (c *randomCase) checkMissed(t *testing.T, i int, r *robust.Result) {
	t.Helper()
	if r.Limits == nil {
		return
	}
	missed := 0.0
	for k, l := range r.Limits[:len(c.task.Constraints)] {
		if want := c.task.Constraints[k]; l.Offset != want.Offset || !slices.Equal(l.Normal, want.Normal) {
			t.Errorf("case %d: limit %d is %v: want %v", i, k, l.Constraint, want)
		}
		missed = math.Max(missed, l.Greatest-l.Offset)
	}
	if r.Violation < missed || r.Violation > math.Max(missed, r.Tolerance) {
		t.Errorf("case %d: a violation of %g: the limits are missed by %g", i, r.Violation, missed)
	}
}

// linear returns a linear cost over a box.
func linear(t *testing.T, gradient, lower, upper []float64) cost.Cost {
	t.Helper()
	box, err := geometry.NewBox(lower, upper)
	if err != nil {
		t.Fatal(err)
	}
	g, err := cost.NewLinear(gradient, box)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
