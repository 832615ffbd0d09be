package exact

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/cmdptest"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// A kind is a planner with answers of its own: those of an explicit program, or of all policies that never draw.
type kind struct {
	t        *testing.T
	planner  *Planner
	m        *cmdp.Model   // nil for a sum
	parts    []Part        // of a sum
	box      *geometry.Box // that tasks are told
	wide     *geometry.Box // that of a planner
	vertices [][]float64   // returns of the policies that never draw, nil where a program knows more
	pure     [][]float64   // the same, nil where they are too many
	dim      int
	unit     float64 // of returns
}

// kinds are those of drawKind. The reference of epochs is a planner of stored rows.
var kinds = []string{"horizon", "steps", "discount", "totals", "means", "mixed", "tally", "epochs", "sum"}

// neverDrawing returns the returns of the policies that never draw, of all actions that are offered where they come. It
// returns nil where these are too many.
func (k *kind) neverDrawing() (out [][]float64) {
	k.t.Helper()
	const most = 400
	steps := k.m.Horizon()
	policy, known := make(cmdp.Deterministic, max(1, steps)), make(map[[2]int]bool)
	for h := range policy {
		policy[h] = make([]int32, k.m.States())
	}
	var visit func(open [][2]int)
	visit = func(open [][2]int) {
		for len(open) > 0 && (known[open[0]] || steps > 0 && open[0][0] == steps) {
			open = open[1:]
		}
		if len(open) == 0 {
			out = append(out, k.evaluated(policy))
			return
		}
		h, s, then := open[0][0], open[0][1], open[0][0]
		if steps > 0 {
			then++
		}
		known[open[0]] = true
		rows := k.m.Rows(h)
		actions := offered(rows, s)
		if first, end := rows.Choices(s); first == end {
			visit(append(slices.Clone(open[1:]), [2]int{then, s}))
		}
		for _, a := range actions {
			policy[h][s] = a
			more := slices.Clone(open[1:])
			first, _ := rows.Choices(s)
			next, _ := rows.Row(first + int(a))
			for _, n := range next {
				more = append(more, [2]int{then, int(n)})
			}
			if len(out) <= most {
				visit(more)
			}
		}
		delete(known, open[0])
	}
	var start [][2]int
	for _, st := range k.m.StartStates() {
		start = append(start, [2]int{0, st.State})
	}
	visit(start)
	if len(out) > most {
		return nil
	}
	return out
}

// fresh returns a planner that knows nothing yet.
func (k *kind) fresh() *Planner {
	k.t.Helper()
	p, err := NewSumPlanner(k.parts, 2, []int{1}, 1)
	if k.m != nil {
		p, err = NewPlanner(k.m, 1)
	}
	if err != nil {
		k.t.Fatal(err)
	}
	return p
}

// evaluated returns the returns of a policy of the model.
func (k *kind) evaluated(policy cmdp.Policy) []float64 {
	k.t.Helper()
	v := make([]float64, k.dim)
	if k.m.Horizon() > 0 {
		cmdp.NewEvaluator(k.m).Returns(v, policy)
		return v
	}
	e, err := Evaluate(k.t.Context(), k.m, policy)
	if err != nil {
		k.t.Fatal(err)
	}
	return e.Returns
}

// played returns the returns of an answer.
func (k *kind) played(policy *Policy, mixture []WeightedPolicy, parts []PartMixture) []float64 {
	k.t.Helper()
	v := make([]float64, k.dim)
	if policy != nil {
		mixture = []WeightedPolicy{{1, policy}}
	}
	if k.m != nil {
		for _, c := range mixture {
			floats.AddScaled(v, c.Weight, k.evaluated(c.Policy))
		}
		return v
	}
	for i, part := range parts {
		for _, c := range part.Mixture {
			for h, visits := range cmdp.NewEvaluator(k.parts[i].Model).Occupancy(c.Policy) {
				for choice, x := range visits {
					for j, r := range k.parts[i].Model.Rows(h).Returns(choice) {
						to := k.parts[i].Returns[j]
						if to >= 0 {
							v[to] += k.parts[i].Weight * c.Weight * x * r
						}
						if to == 1 {
							v[2+h] += k.parts[i].Weight * c.Weight * x * r
						}
					}
				}
			}
		}
	}
	return v
}

// least returns the least form·v of all policies that keep rows, +Inf if none does.
func (k *kind) least(form []float64, rows []cmdp.Constraint) float64 {
	k.t.Helper()
	var p *lp.Problem
	var err error
	switch {
	case k.vertices != nil:
		p = mixtureProgram(k.vertices, form, rows)
	case k.m == nil:
		p, err = sumLP(k.parts, 2, []int{1}, form, rows)
	case k.m.Horizon() > 0:
		p, err = OccupancyLP(k.m, form, rows)
	default:
		task, err := k.task(form, rows)
		if err != nil {
			return math.Inf(1)
		}
		r, err := Solve(k.t.Context(), storedRows(k.t, k.m), task, Options{Workers: 1})
		if err != nil || r.Status != Optimal && r.Status != Infeasible {
			k.t.Fatalf("%v %v", err, r)
		}
		if r.Status == Infeasible {
			return math.Inf(1)
		}
		return r.Objective
	}
	if err != nil {
		k.t.Fatal(err)
	}
	size := inOwnUnits(p)
	sol, err := lp.Solve(p)
	if err != nil || sol.Status != lp.Optimal && sol.Status != lp.Infeasible {
		k.t.Fatalf("%v %+v", err, sol)
	}
	if sol.Status == lp.Infeasible {
		return math.Inf(1)
	}
	return sol.Objective * size
}

// inOwnUnits divides the objective and the rows of a program by their largest entries, since tolerances of programs are
// absolute, and returns that of the objective.
func inOwnUnits(p *lp.Problem) (size float64) {
	size = floats.Norm(p.Minimize, math.Inf(1))
	if size == 0 {
		size = 1
	}
	p.Minimize = scaled(1/size, p.Minimize)
	for i := range p.Rows {
		r := &p.Rows[i]
		if largest := floats.Norm(r.Coef, math.Inf(1)); largest > 0 {
			r.Coef = scaled(1/largest, r.Coef)
			r.Lower, r.Upper = r.Lower/largest, r.Upper/largest
		}
	}
	return size
}

// mixtureProgram minimises form·v over the mixtures of points that keep rows.
func mixtureProgram(points [][]float64, form []float64, rows []cmdp.Constraint) *lp.Problem {
	n := len(points)
	p := &lp.Problem{Minimize: make([]float64, n), Rows: []lp.Constraint{lp.Equal(slices.Repeat([]float64{1}, n), 1)}}
	for range rows {
		p.Rows = append(p.Rows, lp.AtMost(make([]float64, n), 0))
	}
	for j, v := range points {
		p.Minimize[j] = floats.Dot(form, v)
		for i, r := range rows {
			p.Rows[i+1].Coef[j] = floats.Dot(r.Normal, v) - r.Offset
		}
	}
	return p
}

// task is that of the least form·v within rows. The error wraps geometry.ErrEmpty if no possible returns keep them.
func (k *kind) task(form []float64, rows []cmdp.Constraint) (cmdp.Task, error) {
	k.t.Helper()
	goal, err := cost.NewLinear(form, k.box)
	if err != nil {
		k.t.Fatal(err)
	}
	task := cmdp.Task{Cost: goal, Box: k.box, Constraints: rows}
	if len(rows) == 0 {
		return task, nil
	}
	var a [][]float64
	var b []float64
	for _, r := range rows {
		a, b = append(a, r.Normal), append(b, r.Offset)
	}
	set, err := geometry.NewPolyhedron(a, b)
	if err != nil {
		return task, err
	}
	return task, task.Within(nil, set)
}

// near reports whether two numbers are the same up to what planners are to find, which is less of means: their classes
// are joined.
func (k *kind) near(a, b float64) bool {
	tolerance := 1e-7
	if k.m != nil && k.m.Means() {
		tolerance = 1e-5
	}
	return a == b || math.Abs(a-b) < tolerance*(k.unit+math.Abs(b)) // neither of an infinite number and a finite one
}

// checkRanges compares the extremes of each return with those of the reference. Tasks are told a box around all
// returns, or one that is just these extremes.
func (k *kind) checkRanges(name string, narrow bool) {
	k.t.Helper()
	lower, upper, err := k.planner.Extent(k.t.Context())
	if err != nil {
		k.t.Fatal(err)
	}
	least, most, err := k.planner.Ranges(k.t.Context())
	if err != nil {
		k.t.Fatal(err)
	}
	k.wide, err = geometry.NewBox(lower, upper)
	k.box = k.wide
	if narrow && err == nil {
		k.box, err = geometry.NewBox(least, most)
	}
	if err != nil {
		k.t.Fatal(err)
	}
	for i := range k.dim {
		low, high := k.least(axis(k.dim, i, 1), nil), -k.least(axis(k.dim, i, -1), nil)
		if !k.near(least[i], low) || !k.near(most[i], high) || lower[i] > low+1e-9*k.unit ||
			upper[i] < high-1e-9*k.unit {
			k.t.Errorf("%s: return %d is from %g to %g, within %g to %g: want %g to %g", name, i, least[i], most[i], lower[i],
				upper[i], low, high)
		}
	}
}

// checkReturns compares what an answer says of its returns with what its policies have.
func (k *kind) checkReturns(name string, said []float64, rows []cmdp.Constraint, policy *Policy,
	mixture []WeightedPolicy, parts []PartMixture) {
	k.t.Helper()
	if got := k.played(policy, mixture, parts); !floats.EqualFunc(got, said, k.near) {
		k.t.Errorf("%s: returns %v are said, %v are those of the policies", name, said, got)
	}
	for _, r := range rows {
		if floats.Dot(r.Normal, said) > r.Offset+1e-7*k.unit {
			k.t.Errorf("%s: %v breaks the limit %v", name, said, r)
		}
	}
}

// checkChoices compares how often a policy takes actions with their probabilities.
func (k *kind) checkChoices(name string, policy *Policy) {
	k.t.Helper()
	const draws = 400
	rng := rand.New(rand.NewPCG(1, 2))
	drawn := 0
	for h := range max(1, k.m.Horizon()) {
		rows := k.m.Rows(h)
		for s := range k.m.States() {
			first, end := rows.Choices(s)
			shares, taken := make([]float64, end-first), make([]float64, end-first)
			if first < end {
				policy.Distribution(shares, h, s)
			}
			n := 1
			if first < end && slices.Max(shares) < 1 {
				drawn++
				n = draws
			}
			for i := 0; i < n && first < end; i++ {
				taken[policy.Choose(rng, h, s)] += 1 / float64(n)
			}
			for a, x := range taken {
				if math.Abs(x-shares[a]) > 0.15 || shares[a] == 0 && x > 0 {
					k.t.Errorf("%s: step %d, state %d: actions are taken as often as %v: want %v", name, h+1, s, taken, shares)
				}
			}
		}
	}
	if drawn != policy.Randomized() {
		k.t.Errorf("%s: the policy draws in %d places: %d are told", name, drawn, policy.Randomized())
	}
}

var (
	kindModels = flag.Int("models", 40, "how many models of each kind are drawn")
	kindSeed   = flag.Uint64("seed", 72, "seed of the models of each kind")
)

// TestEveryKind compares what planners say of models of every kind with the reference: extremes, optima, curves, what
// is in conflict, and the best policies that never draw. What they prove is confirmed, and nothing if a state to which
// policies come is left out.
func TestEveryKind(t *testing.T) {
	verdicts, trials := make(map[Verdict]int), *kindModels
	if testing.Short() {
		trials = min(trials, 8)
	}
	for _, name := range kinds {
		for trial := range trials {
			rng := rand.New(rand.NewPCG(uint64(trial), *kindSeed))
			k, name := drawKind(t, rng, name, 1, 1e-4, 1e5), fmt.Sprintf("%s %d", name, trial)
			k.checkRanges(name, rng.IntN(2) == 0)
			other := rand.New(rand.NewPCG(uint64(trial), *kindSeed+2))
			if other.IntN(2) == 0 {
				k.planner = k.fresh()
			}
			for range 3 {
				form, rows := make([]float64, k.dim), k.drawLimits(rng)
				for i := range form {
					form[i] = float64(rng.IntN(7) - 3)
				}
				want := k.least(form, rows)
				task, err := k.task(form, rows)
				if errors.Is(err, geometry.ErrEmpty) && math.IsInf(want, 1) {
					verdicts[Infeasible]++
					continue
				}
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				k.askOther(name, other, rows)
				r, err := k.planner.Solve(t.Context(), task, Options{})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				verdicts[r.Status]++
				k.checkProof(name, task, r)
				if k.m != nil {
					Fits(t, k.m, task, r)
				}
				rough := rand.New(rand.NewPCG(rng.Uint64(), 1))
				for way := range 3 {
					k.checkRough(name, rough, way, want, task)
				}
				if math.IsInf(want, 1) {
					if r.Status != Infeasible {
						t.Errorf("%s: %v: want infeasible", name, r.Status)
					}
					k.askOther(name, other, rows)
					k.checkConflict(name, rows, rng.IntN(2) == 0)
					k.askOther(name, other, rows)
					k.checkDistance(name, task, rows)
					continue
				}
				if r.Status != Optimal || !k.near(r.Objective, want) || r.Bound > want+1e-9*k.unit ||
					r.Bound > r.Objective {
					t.Errorf("%s: %v %g, bound %g: want %g", name, r.Status, r.Objective, r.Bound, want)
					continue
				}
				k.checkReturns(name, r.Returns, rows, r.Policy, r.Mixture, r.Parts)
				if k.m != nil && r.Policy != nil {
					k.checkChoices(name, r.Policy)
				}
				k.checkVisits(name, r)
				k.askOther(name, other, rows)
				k.checkSlack(name, task, rows)
				k.checkPrices(name, form, rows, r)
				k.checkCurved(name, rng, rows)
				k.askOther(name, other, rows)
				k.checkFront(name, rng, rows)
				k.checkDeterministic(name, rng, form, rows)
			}
		}
	}
	if verdicts[Optimal] < 10*trials || verdicts[Infeasible] < 3*trials {
		t.Errorf("%v: want more of both", verdicts)
	}
}

// askOther asks the planner about one return, within limits or without. Most such calls are stopped: by a clock before
// a price, before there is anything to price, at any time, or by a context that ends after some looks at it.
func (k *kind) askOther(name string, rng *rand.Rand, limits []cmdp.Constraint) {
	k.t.Helper()
	task, err := k.task(axis(k.dim, rng.IntN(k.dim), float64(1-2*rng.IntN(2))), limits[:rng.IntN(len(limits)+1)])
	if errors.Is(err, geometry.ErrEmpty) {
		return
	}
	ctx, opts := k.t.Context(), Options{}
	switch rng.IntN(5) {
	case 0:
		opts = Options{Budget: time.Second, now: interrupting(rng.IntN(4))}
	case 1:
		opts.Budget = time.Nanosecond
	case 2:
		opts.Budget = time.Duration(1+rng.IntN(400)) * time.Microsecond
	case 3:
		ctx = cmdptest.EndAfter(ctx, rng.Int64N(100))
	}
	if err == nil {
		_, err = k.planner.Solve(ctx, task, opts)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		k.t.Fatalf("%s: %v", name, err)
	}
}

// TestKindsInOtherUnits: in units that are powers of 2 apart an answer has the same verdict, the same optimum and a
// policy that draws no more often.
func TestKindsInOtherUnits(t *testing.T) {
	for _, name := range kinds {
		for trial := range uint64(12) {
			var status Verdict
			var objective float64
			drawn := 0
			for _, unit := range []float64{1, 0x1p-40, 0x1p30} {
				rng := rand.New(rand.NewPCG(trial, 73))
				k := drawKind(t, rng, name, unit)
				if k.unit != unit { // its numbers are what they are
					continue
				}
				k.checkRanges(name, false)
				rows := k.drawLimits(rng)
				task, err := k.task(axis(k.dim, rng.IntN(2), float64(1-2*rng.IntN(2))), rows)
				if err != nil {
					break
				}
				r, err := k.planner.Solve(t.Context(), task, Options{})
				if err != nil {
					t.Fatalf("%s %d: %v", name, trial, err)
				}
				if unit == 1 {
					status, objective, drawn = r.Status, r.Objective, r.Randomized
				}
				same := k.near(r.Objective, objective*unit) && r.Randomized <= drawn
				if r.Status != status || status == Optimal && !same {
					t.Errorf("%s %d: %v %g in units of %g, which draws in %d pairs: want %v %g and %d", name, trial, r.Status,
						r.Objective/unit, unit, r.Randomized, status, objective, drawn)
				}
			}
		}
	}
}

// TestExcessOfNone: that no episode has anything beyond the most that it can count is proved in every unit, though what
// cancels out there is as large as the unit.
func TestExcessOfNone(t *testing.T) {
	for trial := range uint64(30) {
		unit := []float64{1e-9, 1, 1e9}[trial%3]
		rng := rand.New(rand.NewPCG(trial, 74))
		spec := cmdp.ModelSpec{Dim: 2, Horizon: 1 + rng.IntN(5), Start: []cmdp.StartState{{State: 0, Probability: 1}}}
		base := drawRows(t, rng, spec, 1, 3, false)
		most := int32(spec.Horizon)
		counted := cmdp.TallySpec{Base: base, Columns: []int{0, 2}, Final: []cmdp.FinalReturn{{Cut: most - 1,
			High: cmdp.Line{At0: -unit * float64(most), Slope: unit}}}}
		for h := range kernels(base) {
			amounts := make([]int32, len(base.Kernel(h).Next))
			for e := range amounts {
				amounts[e] = rng.Int32N(2)
			}
			counted.Amount = append(counted.Amount, amounts)
		}
		tally, err := cmdp.NewTally(counted)
		if err != nil {
			t.Fatal(err)
		}
		m, err := tally.Model(cmdp.Interval{Lower: []float64{-100, 0}, Upper: []float64{100, 0}})
		if err != nil {
			t.Fatal(err)
		}
		box, err := geometry.NewBox([]float64{-100, 0}, []float64{100, 0})
		if err != nil {
			t.Fatal(err)
		}
		goal, err := cost.NewLinear([]float64{0, 1}, box)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Solve(t.Context(), m, cmdp.Task{Cost: goal, Box: box}, Options{})
		if err != nil || r.Status != Optimal || math.Abs(r.Objective) > 1e-9*unit || r.Gap > 1e-9*unit {
			t.Errorf("trial %d: %v, %+v", trial, err, r)
		}
	}
}

// checkProof has a proof confirmed, and refused without the start.
func (k *kind) checkProof(name string, task cmdp.Task, r *Result) {
	k.t.Helper()
	if k.m == nil {
		return
	}
	ends := k.m.Horizon() > 0 || k.m.Discount() < 1 || k.m.Means() // nothing may be left out
	start := []int{k.m.StartStates()[0].State}
	if r.Status == Infeasible {
		c := *r.Certificate
		err := Verify(k.t.Context(), k.m, task, &c)
		c.Without = start
		left := Verify(k.t.Context(), k.m, task, &c)
		rational := VerifyRational(k.t.Context(), k.m, task, r.Certificate)
		if err != nil || rational != nil || ends && !errors.Is(left, ErrNotProved) {
			k.t.Errorf("%s: %v, %v, and without the start %v", name, err, rational, left)
		}
		return
	}
	if r.Proof == nil {
		return
	}
	p := *r.Proof
	_, err := VerifyBound(k.t.Context(), k.m, task, &p)
	p.Without = start
	_, left := VerifyBound(k.t.Context(), k.m, task, &p)
	if err != nil || ends && !errors.Is(left, ErrNotProved) {
		k.t.Errorf("%s: %v, and without the start %v", name, err, left)
	}
	k.checkTrueValue(name, task, r.Proof)
	bound, err := VerifyBoundRational(k.t.Context(), k.m, task, r.Proof)
	if err != nil {
		k.t.Errorf("%s: in rational arithmetic %v", name, err)
		return
	}
	if b, _ := bound.Float64(); !k.near(b, r.Proof.Bound) {
		k.t.Errorf("%s: a bound of %g is %g in rational arithmetic", name, r.Proof.Bound, b)
	}
}

// checkRough has a task answered in few value iterations, in little time, or up to a coarse gap: what is said then, and
// on the way there, is true all the same. One value iteration more than those allowed is made at most and, where totals
// or means need several programs, in each.
func (k *kind) checkRough(name string, rng *rand.Rand, way int, want float64, task cmdp.Task) {
	k.t.Helper()
	told, early := 0, 0
	below := func(bound, objective float64) bool {
		return (bound <= want+1e-9*k.unit || k.near(bound, want)) && (objective >= want || k.near(objective, want))
	}
	opts := Options{NoNearest: rng.IntN(2) == 0,
		Progress: func(_ int, bound, objective float64) {
			told++
			if !math.IsInf(want, 1) && !below(bound, objective) {
				k.t.Errorf("%s: the optimum is told to be from %g to %g: want %g", name, bound, objective, want)
			}
		},
		Early: func(r *Result) {
			early++
			if !below(r.Bound, r.Objective) {
				k.t.Errorf("%s: early, the optimum is told to be from %g to %g: want %g", name, r.Bound, r.Objective, want)
			}
		}}
	planner, gap := k.planner, defaultGap
	switch way {
	case 0:
		planner, opts.Iterations = k.fresh(), 1+rng.IntN(6)
	case 1:
		opts.Budget = time.Duration(1+rng.IntN(400)) * time.Microsecond
	default:
		gap = []float64{1e-9, 1e-7, 1e-4, 0.03}[rng.IntN(4)]
		planner, opts.Gap = k.fresh(), gap
	}
	r, err := planner.Solve(k.t.Context(), task, opts)
	if err != nil {
		k.t.Fatalf("%s: %v", name, err)
	}
	programs := 1
	if k.m != nil && k.m.Discount() == 1 && k.m.Horizon() == 0 {
		programs = 1 + 4*k.dim // up to four that tell whether a total grows
	}
	if opts.Iterations > 0 && told > programs*(opts.Iterations+1) || early > programs {
		k.t.Errorf("%s: %d value iterations and %d early answers: want at most %d and one", name, told, early,
			opts.Iterations)
	}
	size := gap * floats.Distance(k.box.Lower(), k.box.Upper(), 2) * 3 * float64(k.dim)
	if r.Status == Infeasible && !math.IsInf(want, 1) || r.Status == Optimal && !k.near(r.Objective, want) &&
		!(r.Objective > want && r.Objective <= want+size && r.Gap >= r.Objective-want-1e-9*k.unit) ||
		r.Status != Infeasible && !(r.Bound <= want+1e-9*k.unit || k.near(r.Bound, want)) ||
		opts.Gap > 0 && r.Status != Optimal && r.Status != Infeasible {
		k.t.Errorf("%s: options %+v: %v %g, bound %g, gap %g: want %g", name, opts, r.Status, r.Objective, r.Bound, r.Gap,
			want)
	}
	if r.HasPolicy() {
		k.checkReturns(name+", rough", r.Returns, nil, r.Policy, r.Mixture, r.Parts)
	}
	if opts.Budget == 0 || k.m == nil || !k.m.Means() { // of means margins depend on what a planner knows
		k.checkProof(name+", rough", task, r)
	}
}

// checkConflict compares a conflict, in the box of all returns that is told or not, with what the reference says of
// its subsets, and of what each limit would have to give.
func (k *kind) checkConflict(name string, rows []cmdp.Constraint, told bool) {
	k.t.Helper()
	task := cmdp.Task{Constraints: rows}
	if told {
		task.Box = k.box
	}
	c, err := k.planner.Conflict(k.t.Context(), task, nil, Options{})
	if err != nil || c == nil || !slices.IsSorted(c.Rows) || c.Set || c.Undecided || len(c.Relax) != len(c.Rows) {
		k.t.Errorf("%s: conflict %+v, %v", name, c, err)
		return
	}
	var clash []cmdp.Constraint
	for _, i := range c.Rows {
		clash = append(clash, rows[i])
	}
	zero := make([]float64, k.dim)
	if !math.IsInf(k.least(zero, clash), 1) {
		k.t.Errorf("%s: limits %v can be kept together", name, c.Rows)
	}
	for j, i := range c.Rows {
		if math.IsInf(k.least(zero, slices.Delete(slices.Clone(clash), j, j+1)), 1) {
			k.t.Errorf("%s: of the limits %v, %d can be left out", name, c.Rows, i)
		}
		want := k.least(rows[i].Normal, slices.Delete(slices.Clone(rows), i, i+1)) - rows[i].Offset
		if !k.near(c.Relax[j], want) {
			k.t.Errorf("%s: limit %d would have to give %g: want %g", name, i, c.Relax[j], want)
		}
	}
	k.checkShortConflict(name, task)
}

// checkShortConflict has a new planner look for the conflict in few value iterations, which it counts. What it names
// are limits in conflict all the same, and what it says of each is on both sides of the reference.
func (k *kind) checkShortConflict(name string, task cmdp.Task) {
	k.t.Helper()
	p, few := k.fresh(), 1+len(name)%4
	c, err := p.Conflict(k.t.Context(), task, nil, Options{Iterations: few})
	if err != nil || c == nil {
		k.t.Errorf("%s: conflict in %d value iterations %+v, %v", name, few, c, err)
		return
	}
	rows, zero := task.Constraints, make([]float64, k.dim)
	var clash []cmdp.Constraint
	for j, i := range c.Rows {
		clash = append(clash, rows[i])
		want := k.least(rows[i].Normal, slices.Delete(slices.Clone(rows), i, i+1)) - rows[i].Offset
		least, most := c.RelaxLeast[j], c.Relax[j]
		if !(math.IsNaN(most) || least <= most && (least <= want || k.near(least, want)) &&
			(want <= most || k.near(most, want))) {
			k.t.Errorf("%s: in %d value iterations limit %d would have to give %g to %g: want %g", name, few, i, least,
				most, want)
		}
	}
	if !math.IsInf(k.least(zero, clash), 1) {
		k.t.Errorf("%s: limits %v can be kept together", name, c.Rows)
	}
}

// checkVisits compares the returns of each policy of an answer with its visits times what is returned there; of totals
// beside means nothing is told.
func (k *kind) checkVisits(name string, r *Result) {
	k.t.Helper()
	if k.m == nil || k.m.Horizon() > 0 {
		return
	}
	table := k.m.Rows(0)
	for _, c := range r.mixture() {
		visits, err := Visits(k.t.Context(), k.m, c.Policy, nil)
		if err != nil {
			k.t.Fatal(err)
		}
		want, got := k.evaluated(c.Policy), make([]float64, k.dim)
		for s, x := range visits {
			first, end := table.Choices(s)
			if first == end {
				continue
			}
			shares := make([]float64, end-first)
			c.Policy.Distribution(shares, 0, s)
			for a, y := range shares {
				floats.AddScaled(got, x*y, table.Returns(first+a))
			}
		}
		for i := range got {
			if (k.m.Mean(i) || !k.m.Means()) && !k.near(got[i], want[i]) {
				k.t.Errorf("%s: visits %v return %v: want %v", name, visits, got, want)
			}
		}
	}
}

// checkSlack compares how deep in the target returns can lie with limits that are moved inwards until no policy keeps
// them.
func (k *kind) checkSlack(name string, task cmdp.Task, rows []cmdp.Constraint) {
	k.t.Helper()
	if k.box != k.wide { // which limits hold anyway is told by another box
		return
	}
	// Some possible returns break these, be it that others do not let them.
	cuts := slices.DeleteFunc(slices.Clone(rows), func(r cmdp.Constraint) bool {
		return r.Excess(k.box.Lower(), k.box.Upper()) <= 1e-9*k.unit
	})
	if len(cuts) == 0 {
		return
	}
	got, err := k.planner.Slack(k.t.Context(), task, Options{})
	if err != nil {
		k.t.Errorf("%s: slack: %v", name, err)
		return
	}
	kept := func(depth float64) bool {
		inner := slices.Clone(cuts)
		for i := range inner {
			inner[i].Offset -= depth * floats.Norm(inner[i].Normal, 2)
		}
		return !math.IsInf(k.least(make([]float64, k.dim), inner), 1)
	}
	margin := 1e-6 * (k.unit + got.Radius)
	if got.Radius > margin && !kept(got.Radius-margin) || kept(got.Bound+margin) || got.Bound > got.Radius+margin {
		k.t.Errorf("%s: a ball of radius %g, at most %g, in the target of %v", name, got.Radius, got.Bound, cuts)
	}
	for _, r := range cuts {
		if r.Offset-floats.Dot(r.Normal, got.Returns) < got.Radius*floats.Norm(r.Normal, 2)-margin {
			k.t.Errorf("%s: the ball of radius %g around %v breaks %v", name, got.Radius, got.Returns, r)
		}
	}
}

// checkDistance confirms both bounds of the distance from a target: one by a direction, beyond which no policy and all
// of the target lie, and one by returns that a policy has.
func (k *kind) checkDistance(name string, task cmdp.Task, rows []cmdp.Constraint) {
	k.t.Helper()
	d, err := k.planner.Distance(k.t.Context(), task, Options{})
	if err != nil || !(d.Lower > 0) {
		k.t.Errorf("%s: distance %+v, %v", name, d, err)
		return
	}
	p := &lp.Problem{Minimize: scaled(-1, d.Direction)} // over the target
	p.Lower, p.Upper = k.box.Lower(), k.box.Upper()
	for i := range k.dim {
		if d.Whole { // which has points beyond, as far as they are the nearest to some returns
			p.Lower[i] -= d.Upper
			p.Upper[i] += d.Upper
		}
	}
	for _, r := range rows {
		p.Rows = append(p.Rows, lp.AtMost(r.Normal, r.Offset))
	}
	far, err := lp.Solve(p)
	if err != nil || far.Status != lp.Optimal {
		k.t.Fatalf("%s: %v %v", name, far, err)
	}
	near, margin := make([]float64, k.dim), 1e-4*(k.unit+d.Upper)
	task.Whole.Project(near, d.Returns)
	if reached := k.least(d.Direction, nil); d.Lower > reached+far.Objective+margin || d.Upper > d.Lower+margin ||
		math.Abs(floats.Norm(d.Direction, 2)-1) > 1e-9 || !k.near(d.Support, -far.Objective) {
		k.t.Errorf("%s: distance %+v: policies reach %g, the target %g", name, d, reached, -far.Objective)
	}
	if away := floats.Distance(near, d.Returns, 2); away > d.Upper+margin || d.Whole && away < d.Upper-margin {
		k.t.Errorf("%s: distance up to %g: returns are %g away", name, d.Upper, away)
	}
	if k.m != nil && d.Policy != nil {
		k.checkReturns(name+", nearest", d.Returns, nil, d.Policy, nil, nil)
	}
}

// checkPrices compares the price of each limit with what the optimum gains and loses where the limit gives a little.
func (k *kind) checkPrices(name string, form []float64, rows []cmdp.Constraint, r *Result) {
	k.t.Helper()
	if k.m != nil && k.m.Means() { // whose optima are not as exact
		return
	}
	if len(r.Prices) != len(rows) {
		k.t.Errorf("%s: %d prices of %d limits", name, len(r.Prices), len(rows))
		return
	}
	for i, row := range rows {
		moved := func(by float64) float64 {
			more := slices.Clone(rows)
			more[i].Offset += by
			return k.least(form, more)
		}
		const share = 1e-4
		by, p := share*k.unit, r.Prices[i]
		rises, falls := (moved(-by)-moved(0))/by, (moved(0)-moved(by))/by
		rounding := 1e-8 / share * (1 + math.Abs(r.Objective)/k.unit)
		if p.Offset != row.Offset || !slices.Equal(p.Normal, row.Normal) || p.Value < 0 || p.Multiplier < p.Value ||
			p.Value > rises+rounding || p.Value < falls-rounding {
			k.t.Errorf("%s: limit %d has the price %+v: want it between %g and %g", name, i, p, falls, rises)
		}
	}
}

// checkCurved checks a curved goal by its conditions: in the direction of its gradient no policy that keeps the limits
// goes farther.
func (k *kind) checkCurved(name string, rng *rand.Rand, rows []cmdp.Constraint) {
	k.t.Helper()
	center, weights := make([]float64, k.dim), make([]float64, k.dim)
	for i := range center {
		center[i], weights[i] = k.unit*rng.NormFloat64(), float64(rng.IntN(3))/k.unit
	}
	squared, err := cost.NewSquared(center, weights, k.box)
	if err != nil {
		k.t.Fatal(err)
	}
	task, err := k.task(center, rows)
	if err != nil {
		k.t.Fatal(err)
	}
	task.Cost = squared
	r, err := k.planner.Solve(k.t.Context(), task, Options{})
	if err != nil || r.Status != Optimal {
		k.t.Errorf("%s: curved goal: %+v, %v", name, r, err)
		return
	}
	k.checkReturns(name+", curved", r.Returns, rows, r.Policy, r.Mixture, r.Parts)
	gradient := make([]float64, k.dim)
	squared.Subgradient(gradient, r.Returns)
	open := floats.Dot(gradient, r.Returns) - k.least(gradient, rows)
	bend, far := 4/k.unit, floats.Distance(k.box.Lower(), k.box.Upper(), 2)
	gap := 1e-7
	if k.m != nil && k.m.Means() {
		gap = defaultJoinGap
	}
	if r.Gap != r.Objective-r.Bound || r.Gap > gap*(k.unit+r.Objective+bend*far*far) ||
		open > 1e-6*k.unit+2*math.Sqrt(2*bend*r.Gap)*far ||
		math.Abs(squared.Value(r.Returns)-r.Objective) > 1e-7*(k.unit+r.Objective) {
		k.t.Errorf("%s: curved goal of %g, gap %g: its gradient leaves %g open", name, r.Objective, r.Gap, open)
	}
	if k.m == nil {
		return
	}
	if _, err := VerifyBound(k.t.Context(), k.m, task, r.Proof); err != nil {
		k.t.Errorf("%s: curved goal: %v", name, err)
	}
	k.checkTrueValue(name+", curved", task, r.Proof)
}

// checkTrueValue has a proof confirmed that states the least that policies come to, as far as it is known, and one
// refused that states more.
func (k *kind) checkTrueValue(name string, task cmdp.Task, proof *Proof) {
	k.t.Helper()
	theta, conjugate := proof.direction()
	if k.pure == nil || len(proof.Without) > 0 {
		return
	}
	least, size := math.Inf(1), 0.0
	for _, v := range k.pure {
		least = min(least, floats.Dot(theta, v))
		for i, x := range v {
			size = max(size, math.Abs(theta[i]*x))
		}
	}
	for _, more := range []float64{0, 1e-5 * (1 + size)} {
		p := *proof
		p.Value, p.Margin = least+more, proof.Margin+16*roundoff*size
		p.Bound = p.Value - conjugate - p.Support - p.Margin
		_, err := VerifyBound(k.t.Context(), k.m, task, &p)
		if (more > 0) != (err != nil) || err != nil && !errors.Is(err, ErrNotProved) {
			k.t.Errorf("%s: the least value, %g, and %g more: %v", name, least, more, err)
		}
	}
}

// checkFront compares a curve with optima of the reference: none is below the outer set, and the points are as near as
// it is said. Each point is that of its policy.
func (k *kind) checkFront(name string, rng *rand.Rand, rows []cmdp.Constraint) {
	k.t.Helper()
	over := [][]float64{axis(k.dim, 0, 1), axis(k.dim, 1, float64(1-2*rng.IntN(2)))}
	task, err := k.task(over[0], rows)
	if err != nil {
		k.t.Fatal(err)
	}
	opts := FrontOptions{Over: over, Error: 0.01}
	switch rng.IntN(5) {
	case 0, 1: // the time is over during some problem
		opts.Budget, opts.now = time.Duration(1+rng.IntN(100))*time.Second, ticking()
	case 2: // the time is over after some points
		opts.Budget = 4 * time.Millisecond
		left := 1 + rng.IntN(4)
		opts.Each = func(FrontPoint) {
			left--
			if left == 0 {
				time.Sleep(opts.Budget)
			}
		}
	}
	f, err := k.planner.Front(k.t.Context(), task, opts)
	if err == nil && f.Status == Stopped && opts.Budget > 0 && len(f.Points) == 0 && math.IsInf(f.Error, 1) {
		return
	}
	if err != nil || f.Status != Optimal && !(f.Status == Stopped && opts.Budget > 0) {
		k.t.Errorf("%s: front %v, %v", name, f, err)
		return
	}
	for i := range f.Points {
		p := &f.Points[i]
		if err := p.Recover(k.t.Context()); err != nil {
			k.t.Fatal(err)
		}
		k.checkReturns(name+", point", p.Returns, rows, p.Policy, p.Mixture, p.Parts)
		for j, c := range over {
			if !k.near(p.Objectives[j], floats.Dot(c, p.Returns)) {
				k.t.Errorf("%s: objectives %v of returns %v", name, p.Objectives, p.Returns)
			}
		}
	}
	for range 3 {
		w := []float64{rng.Float64(), rng.Float64()}
		form := scaled(w[0], over[0])
		floats.AddScaled(form, w[1], over[1])
		want, inner, outer := k.least(form, rows), math.Inf(1), math.Inf(1)
		for _, p := range f.Points {
			inner = min(inner, floats.Dot(w, p.Objectives))
		}
		for _, y := range f.Corners {
			outer = min(outer, floats.Dot(w, y))
		}
		if math.IsInf(f.Error, 1) { // the best one of some return is not known
			outer = math.Inf(-1)
		}
		if outer > want+1e-7*k.unit || inner < want-1e-7*k.unit ||
			inner > want+f.Error*floats.Norm(w, 2)+1e-7*k.unit {
			k.t.Errorf("%s: weights %v: points %g, corners %g, error %g: want %g", name, w, inner, outer, f.Error, want)
		}
	}
}

// checkDeterministic compares the best policy that never draws with all of them, also where the search is cut: by the
// number of relaxed problems, or by time.
func (k *kind) checkDeterministic(name string, rng *rand.Rand, form []float64, rows []cmdp.Constraint) {
	k.t.Helper()
	if k.pure == nil {
		return
	}
	want := math.Inf(1)
	var kept [][]float64
	for _, v := range k.pure {
		breaks := func(r cmdp.Constraint) bool { return floats.Dot(r.Normal, v) > r.Offset+1e-9*k.unit }
		if !slices.ContainsFunc(rows, breaks) {
			kept, want = append(kept, v), min(want, floats.Dot(form, v))
		}
	}
	task, err := k.task(form, rows)
	if err != nil {
		k.t.Fatal(err)
	}
	if rng.IntN(4) == 0 {
		k.checkDeterministicFront(name, rng, task, kept)
	}
	cut := DeterministicOptions{Nodes: 1 + rng.IntN(3)}
	inTime := DeterministicOptions{Options: OnTicks(Options{Budget: time.Duration(1+rng.IntN(12)) * time.Second})}
	for i, opts := range []DeterministicOptions{{}, cut, inTime} {
		told := 0
		opts.Progress = func(int, float64, float64) { told++ }
		r, err := SolveDeterministic(k.t.Context(), k.m, task, opts)
		if err != nil {
			k.t.Fatal(err)
		}
		open := i > 0 && (r.Status == Undecided || r.Status == Stopped) && r.Objective >= want-1e-7*k.unit
		infeasible := r.Status == Infeasible && math.IsInf(want, 1)
		if !open && !infeasible && !(r.Status == Optimal && k.near(r.Objective, want)) || r.Bound > want+1e-7*k.unit {
			k.t.Errorf("%s: %+v: %v %g ≥ %g: want %g", name, opts, r.Status, r.Objective, r.Bound, want)
		}
		if r.Iterations != told {
			k.t.Errorf("%s: %d value iterations in %d nodes, and %d were told of", name, r.Iterations, r.Nodes, told)
		}
		if r.Policy != nil {
			k.checkReturns(name+", without draws", r.Returns, rows, r.Policy, nil, nil)
		}
	}
}

// checkDeterministicFront compares the curve of policies that never draw with all of them: each point is that of its
// policy, none of all betters one, and each is bettered or matched by one.
func (k *kind) checkDeterministicFront(name string, rng *rand.Rand, task cmdp.Task, kept [][]float64) {
	k.t.Helper()
	over := [2][]float64{axis(k.dim, 0, float64(1-2*rng.IntN(2))), axis(k.dim, 1, float64(1-2*rng.IntN(2)))}
	if rng.IntN(2) == 0 {
		over[0][1] = 0.5
	}
	points, status, err := DeterministicFront(k.t.Context(), k.m, task, over, DeterministicOptions{})
	wanted := Optimal
	if len(kept) == 0 {
		wanted = Infeasible
	}
	if err != nil || status != wanted {
		k.t.Errorf("%s: curve without draws: %v, %v: want %v", name, status, err, wanted)
	}
	room := 1e-5 * k.unit
	within := func(a, b []float64) bool { return a[0] <= b[0]+room && a[1] <= b[1]+room }
	of := func(v []float64) []float64 { return []float64{floats.Dot(over[0], v), floats.Dot(over[1], v)} }
	for i, p := range points {
		if got := k.evaluated(p.Policy); !floats.EqualFunc(of(got), p.Objectives, k.near) ||
			i > 0 && !(p.Objectives[0] > points[i-1].Objectives[0] && p.Objectives[1] < points[i-1].Objectives[1]) {
			k.t.Errorf("%s: point %d of a curve without draws: %v, its policy has %v", name, i, p.Objectives, got)
		}
		for _, v := range kept { // one that gives up less than points differ by at least is another point
			y, rounding := of(v), 1e-9*k.unit
			if y[0] <= p.Objectives[0]+rounding && y[1] <= p.Objectives[1]+rounding &&
				(y[0] < p.Objectives[0]-room || y[1] < p.Objectives[1]-room) {
				k.t.Errorf("%s: point %d of a curve without draws: %v, a policy has %v", name, i, p.Objectives, y)
			}
		}
	}
	for _, v := range kept {
		if !slices.ContainsFunc(points, func(p DeterministicPoint) bool { return within(p.Objectives, of(v)) }) {
			k.t.Errorf("%s: a curve without draws has nothing as good as %v", name, of(v))
		}
	}
}
