package baseline

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// TestFiller wants the greedy filling of a box to solve its linear program.
func TestFiller(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range 300 {
		n := 2 + rng.IntN(5)
		r := &row{visits: float64(rng.IntN(30))}
		if r.visits > 0 {
			left := r.visits
			for _, s := range rng.Perm(n) {
				x := math.Floor(left * rng.Float64())
				if s == 0 || x == 0 {
					continue
				}
				r.next, r.prob = append(r.next, int32(s)), append(r.prob, x/r.visits)
				left -= x
			}
			r.next, r.prob = append(r.next, 0), append(r.prob, left/r.visits)
		}
		var iv interval
		iv.set(r, bernsteinRadius(0.3*rng.Float64(), 2))
		v := make([]float64, n)
		for i := range v {
			v[i] = math.Round(4 * rng.Float64())
		}
		f := newFiller(n)
		f.sort(v)
		got := f.least(r, &iv)
		next, prob := f.distribution(nil, nil, r, &iv)
		sum, total := 0.0, 0.0
		for i, s := range next {
			sum += prob[i] * v[s]
			total += prob[i]
		}
		if math.Abs(sum-got) > 1e-12 || math.Abs(total-1) > 1e-9 {
			t.Fatalf("distribution: mean %g, least %g, total %g", sum, got, total)
		}
		p := &lp.Problem{Minimize: v, Rows: []lp.Constraint{{Coef: make([]float64, n), Lower: 1, Upper: 1}},
			Lower: make([]float64, n), Upper: make([]float64, n)}
		for s := range n {
			p.Rows[0].Coef[s], p.Upper[s] = 1, iv.unseen
		}
		for i, s := range r.next {
			p.Lower[s], p.Upper[s] = iv.lower[i], iv.lower[i]+iv.span[i]
		}
		sol, err := lp.Solve(p)
		if err != nil || sol.Status != lp.Optimal || math.Abs(sol.Objective-got) > 1e-9 {
			t.Fatal(got, sol, err)
		}
	}
}

// TestBend wants bend to stay in the ball and the simplex, to return the value of
// its point, and no feasible move of mass between two coordinates to lower it,
// which for a convex function on this set proves the minimum up to pairs; random
// feasible points are tried too.
func TestBend(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	var b bender
	simplex := func(n int, zeros bool) []float64 {
		x, sum := make([]float64, n), 0.0
		for i := range x {
			x[i] = rng.ExpFloat64()
			if zeros && i > 0 && rng.IntN(2) == 0 {
				x[i] = 0
			}
			sum += x[i]
		}
		for i := range x {
			x[i] /= sum
		}
		return x
	}
	for range 300 {
		n := 2 + rng.IntN(4)
		prior, center, p := simplex(n, false), simplex(n, true), make([]float64, n)
		v := make([]float64, n)
		for i := range v {
			v[i] = 3 * rng.NormFloat64()
		}
		radius := []float64{0, 0.1, 0.5, 1.5, 2.5}[rng.IntN(5)]
		b.prepare(v)
		node := klNode{center: center}
		node.listSupport()
		got := b.bend(p, prior, center, node.seen, radius)
		value := func(p []float64) float64 {
			sum := 0.0
			for i, x := range p {
				if x > 0 {
					sum += x*math.Log(x/prior[i]) + x*v[i]
				}
			}
			return sum
		}
		feasible := func(p []float64) bool {
			sum, away := 0.0, 0.0
			for i, x := range p {
				if x < -1e-12 {
					return false
				}
				sum += x
				away += math.Abs(x - center[i])
			}
			return math.Abs(sum-1) < 1e-9 && away <= radius+1e-9
		}
		if !feasible(p) || math.Abs(value(p)-got) > 1e-9*(1+math.Abs(got)) {
			t.Fatalf("point %v: value %g, returned %g; radius %g", p, value(p), got, radius)
		}
		for range 2000 {
			q := simplex(n, rng.IntN(2) == 0)
			s := math.Pow(rng.Float64(), 4)
			for i := range q {
				q[i] = (1-s)*p[i] + s*q[i]
			}
			if feasible(q) && value(q) < got-1e-7 {
				t.Fatalf("%v has value %g, bend found %g at %v (radius %g)", q, value(q), got, p, radius)
			}
		}
	}
}

// TestProjectionFlow wants the solution of the KL projection to be an occupancy
// measure of a kernel in the confidence set, and its dual value to equal the primal
// one.
func TestProjectionFlow(t *testing.T) {
	ex := newExample(t, 6, modelSpec{states: 3, actions: 2, horizon: 4, dim: 2, rests: true})
	c := ex.config(50)
	c.Bonus = cmdp.TheoryTimes(0.1)
	l := newLearner(t, "ucpd", c).(*ucpdLearner)
	play(t, ex.model, l, 1, 30)
	l.mix()
	before := make([]klNode, len(l.kl.nodes))
	copy(before, l.kl.nodes)
	if !l.kl.solve() {
		t.Fatal("not converged")
	}
	flow := make([]float64, l.horizon*l.states)
	copy(flow, l.kl.start)
	primal := 0.0
	for h := range l.horizon {
		out := make([]float64, l.states)
		for i := l.kl.layer[h]; i < l.kl.layer[h+1]; i++ {
			x := &l.kl.nodes[i]
			out[x.state] += x.mass
			primal += x.mass*x.cost + x.mass*math.Log(x.mass/before[i].before)
			if h == l.horizon-1 {
				continue
			}
			if x.next == nil {
				flow[(h+1)*l.states+x.state] += x.mass
				continue
			}
			away := 0.0
			for s, p := range x.next {
				flow[(h+1)*l.states+s] += x.mass * p
				away += math.Abs(p - x.center[s])
				if p > 0 {
					primal += x.mass * p * math.Log(p/x.prior[s])
				}
			}
			if x.radius < 2 && away > x.radius+1e-9 {
				t.Errorf("kernel leaves its ball: %g > %g", away, x.radius)
			}
		}
		for s, x := range out {
			if math.Abs(x-flow[h*l.states+s]) > 1e-7 {
				t.Errorf("step %d state %d: out %g, in %g", h, s, x, flow[h*l.states+s])
			}
		}
	}
	grad := make([]float64, len(l.kl.v))
	if dual := -l.kl.dual(grad, l.kl.v); math.Abs(dual-primal) > 1e-6 {
		t.Errorf("dual value %.9g, primal %.9g", dual, primal)
	}
}

// TestUnit wants scaled values of policies to stand for the true returns exactly,
// whatever intervals these lie in, with rests.
func TestUnit(t *testing.T) {
	for seed := range uint64(5) {
		ex := newExample(t, seed, modelSpec{states: 3, actions: 3, horizon: 4, dim: 3, rests: true})
		l := newKnown(t, "optcmdp-bonus", ex, 10).(*lpLearner)
		for _, x := range l.mean {
			if x < 0 || x > 1 {
				t.Fatalf("signal %g", x)
			}
		}
		ev, v, want, got := cmdp.NewEvaluator(ex.model), make([]float64, 3), make([]float64, 3), make([]float64, 3)
		p := cmdp.Uniform{Shape: ex.model.Shape()}
		ev.Returns(v, p)
		l.totals(want, v)
		newEvaluation(l.estimate).run(got, p, l.sweep.signalTable)
		for j := range got {
			if math.Abs(got[j]-want[j]) > 1e-6 {
				t.Errorf("signal %d: %g, true %g", j, got[j], want[j])
			}
		}
	}
}

// newExampleFor returns the example min goal·v, v ≤ upper.
func newExampleFor(t *testing.T, m *cmdp.Model, goal, upper []float64) *example {
	t.Helper()
	box := boxOf(t, m)
	ex := &example{model: m, task: cmdp.Task{Cost: linearCost(t, goal, box)}}
	lower := make([]float64, len(upper))
	for i := range lower {
		lower[i] = math.Inf(-1)
	}
	side := newBox(t, lower, upper)
	var err error
	if ex.task.Target, err = geometry.Restrict(side, box); err != nil {
		t.Fatal(err)
	}
	ex.optimum = solve(t, m, ex.task).Objective
	if ex.know, err = KnowledgeOf(context.Background(), m, ex.task); err != nil {
		t.Fatal(err)
	}
	return ex
}

// TestLinearForm wants each constraint once: those that another one implies, or that hold for
// all possible returns, are left out, and what the target says beside them is added.
func TestLinearForm(t *testing.T) {
	ex := newExampleFor(t, armed(t, []float64{0, 1}, []float64{1, 0}), []float64{1, 0}, []float64{math.Inf(1), 0.3})
	lower, upper := boxOf(t, ex.model).Lower(), boxOf(t, ex.model).Upper()
	bound := func(i int, n, offset float64) cmdp.Constraint {
		c := cmdp.Constraint{Normal: make([]float64, 2), Offset: offset}
		c.Normal[i] = n
		return c
	}
	for i, tc := range []struct{ given, want []cmdp.Constraint }{
		{nil, []cmdp.Constraint{bound(1, 1, 0.3)}},
		{[]cmdp.Constraint{bound(1, 2, 0.6)}, []cmdp.Constraint{bound(1, 2, 0.6)}},
		{[]cmdp.Constraint{bound(1, 1, 0.5), bound(1, 1, 0.3)}, []cmdp.Constraint{bound(1, 1, 0.3)}},
		{[]cmdp.Constraint{bound(1, 1, 0.3), bound(1, 1, 0.4)}, []cmdp.Constraint{bound(1, 1, 0.3)}},
		{[]cmdp.Constraint{bound(0, -1, -lower[0]), bound(0, 1, upper[0]+1)}, []cmdp.Constraint{bound(1, 1, 0.3)}},
	} {
		ex.task.Constraints = tc.given
		l, err := LinearForm(ex.model.Shape(), ex.task)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(l.Rows) != fmt.Sprint(tc.want) {
			t.Errorf("%d: %v: want %v", i, l.Rows, tc.want)
		}
	}
}

// TestTripleQ wants Triple-Q with constants of practice to keep the constraint of a
// bandit with a good return once its queue has grown, which takes it many frames.
func TestTripleQ(t *testing.T) {
	ex := banditExample(t, false)
	const k = 40000
	c := ex.config(k)
	c.Bonus = cmdp.BonusScale{Mode: cmdp.Practice, Factor: 1}
	_, each := play(t, ex.model, newLearner(t, "triple-q", c), 3, k)
	late := make([]float64, 2)
	for _, v := range each[k/2:] {
		floats.AddScaled(late, 2./k, v)
	}
	earns := -0.2 - ex.optimum // more than the harmless arm
	if r := ex.task.Cost.Value(late) - ex.optimum; r > 0.5*earns || ex.excess(t, late) > 0 {
		t.Errorf("regret %.4f of %.4f, excess %.4f", r, earns, ex.excess(t, late))
	}
	// In theory mode the tightening alone exceeds every utility, so only the
	// constraint is pursued: the paper's bound needs astronomically many episodes.
	c.Bonus = cmdp.BonusScale{}
	l := newLearner(t, "triple-q", c).(*tripleQ)
	play(t, ex.model, l, 3, 3000)
	if l.state.Z[0] < 10 {
		t.Errorf("queue %g", l.state.Z[0])
	}
}

// TestKnapsack wants the budgets to hold for certain, realised, and the learner to
// earn until they are nearly spent.
func TestKnapsack(t *testing.T) {
	ex := banditExample(t, true)
	const k = 2000
	c := ex.config(k)
	c.Returns = nil
	c.Bonus = cmdp.BonusScale{Mode: cmdp.Practice, Factor: 1}
	c.Knowledge.Null, c.Knowledge.NullReturns = onlyArm{0, 2}, []float64{0.2, 0}
	for seed := range uint64(3) {
		l := newLearner(t, "conrl-knapsack", c).(*knapsackLearner)
		r, err := NewRecorder(l, ex.model, ex.task, ex.optimum)
		if err != nil {
			t.Fatal(err)
		}
		if err := cmdp.NewRunner(ex.model, r, seed, nil).Run(context.Background(), k); err != nil {
			t.Fatal(err)
		}
		m := r.Metrics()
		if m.Average[1] > 0.5 || m.RealizedWeakViolation > 0 {
			t.Errorf("seed %d: budget exceeded: %v", seed, m.Average)
		}
		if m.ExpectedRegret > 0.3 {
			t.Errorf("seed %d: regret %g", seed, m.ExpectedRegret)
		}
	}
}

// TestKnapsackMargin wants the share of the budget that is set aside to be the one that
// was asked for, the default where none was, and shares of everything to be refused.
func TestKnapsackMargin(t *testing.T) {
	ex := banditExample(t, false)
	c := ex.config(1000)
	c.Bonus = cmdp.TheoryTimes(0)
	c.Knowledge.Null, c.Knowledge.NullReturns = onlyArm{0, 2}, []float64{0.2, 0}
	for _, margin := range []float64{0, DefaultKnapsackMargin, 0.5} {
		c.Tuning.KnapsackMargin = &margin
		mean, _ := play(t, ex.model, newLearner(t, "conrl-knapsack", c), 1, 400) // long before budgets end
		if want := 0.5 * (1 - margin); math.Abs(mean[1]-want) > 0.01 {
			t.Errorf("margin %g: uses %g of its budget an episode: want %g", margin, mean[1], want)
		}
	}
	given := DefaultKnapsackMargin
	c.Tuning.KnapsackMargin = &given
	_, want := play(t, ex.model, newLearner(t, "conrl-knapsack", c), 1, 50)
	c.Tuning.KnapsackMargin = nil
	_, got := play(t, ex.model, newLearner(t, "conrl-knapsack", c), 1, 50)
	for k := range got {
		if !floats.Equal(got[k], want[k]) {
			t.Fatalf("the default margin is not %g", given)
		}
	}
	for _, bad := range []float64{-0.1, 1, math.NaN()} {
		c.Tuning.KnapsackMargin = &bad
		if _, err := New("conrl-knapsack", c); err == nil {
			t.Errorf("margin %g was accepted", bad)
		}
	}
}

// TestBlend wants the policy of a mixture to have the mean of the signals of what is mixed, with several
// first states, states that rest at some steps, and choices that were never visited.
func TestBlend(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 9))
	for trial := range 60 {
		m := oddModel(t, rng)
		c := Config{Settings: cmdp.Settings{Confidence: cmdp.Confidence{Episodes: 50, Failure: 0.1}}, Shape: m.Shape(),
			Returns: m.KnownReturns()}
		if m.States() > 1 { // the shape of the same problem with two first states
			spec := cmdp.ShapeSpec{Horizon: m.Horizon(), Dim: m.Dim(),
				Start: []cmdp.StartState{{State: 0, Probability: 0.3}, {State: 1, Probability: 0.7}}}
			for h := range m.Horizon() {
				spec.First = append(spec.First, m.Kernel(h).First)
				lower, upper := m.Shape().StepReturns(h)
				spec.Returns = append(spec.Returns, cmdp.Interval{Lower: lower, Upper: upper})
			}
			var err error
			if c.Shape, err = cmdp.NewShape(spec); err != nil {
				t.Fatal(err)
			}
		}
		c.Task.Cost = linearCost(t, []float64{1, 0, 0}, boxOfShape(t, c.Shape))
		c.Linear = &Linear{Goal: []float64{1, 0, 0}, Rows: []cmdp.Constraint{{Normal: []float64{0, 0, 1}, Offset: 1}}}
		l := newLearner(t, "optcmdp-bonus", c).(*lpLearner)
		play(t, m, listener{cmdp.Uniform{Shape: m.Shape()}, l}, uint64(trial), 2)
		columns, weights := make([]*column, 3), []float64{0.2, 0.5, 0.3}
		want, got := make([]float64, 2), make([]float64, 2)
		for j := range columns {
			columns[j] = l.sweep.newColumn()
			l.sweep.price(columns[j], []float64{rng.NormFloat64(), rng.NormFloat64()})
			floats.AddScaled(want, weights[j], columns[j].value)
		}
		l.sweep.columns = columns
		l.sweep.blend(l.policy, &exact.Mixer{Numbers: []int{0, 1, 2}, Weights: weights})
		newEvaluation(l.estimate).run(got, l.policy, l.sweep.signalTable)
		if !floats.EqualApprox(got, want, 1e-9*(1+floats.Norm(want, 2))) {
			t.Errorf("trial %d: the policy has the signals %v, the mixture %v", trial, got, want)
		}
	}
}

// TestPooledMeans wants pooled counts to give every step the mean of what all steps returned, in the units of the
// step, and ties to go to the first action.
func TestPooledMeans(t *testing.T) {
	c := ucpdConfig(t, 100, [2]float64{1, 1})
	c.Returns, c.Pooled, c.Knowledge.Slater = nil, true, 1
	l := newLearner(t, "optdual", c).(*lagrangian)
	first := make([]float64, 2)
	for h := range 2 {
		if l.Policy().Distribution(first, h, 0); first[0] != 1 {
			t.Errorf("step %d: nothing is known, and the first action has probability %g", h, first[0])
		}
	}
	show(l, c.Shape, step{0, 1, 1, 2})
	show(l, c.Shape, step{1, 1, 1, 0})
	for h := range 2 {
		for j := range 3 {
			want := (handSignals(0, 1, 1)[j] + handSignals(1, 1, 1)[j]) / 2
			if got := l.mean[(l.base[h]+3)*3+j]; !closeTo(got, want) {
				t.Errorf("step %d, signal %d: mean %g: want %g", h, j, got, want)
			}
		}
	}
}

// TestObservingAllocatesNothing: a learner's estimate takes an episode without memory of its own.
func TestObservingAllocatesNothing(t *testing.T) {
	ex := newExample(t, 3, modelSpec{states: 5, actions: 2, horizon: 6, dim: 2})
	c := ex.config(100)
	core, err := newCore("optcmdp", &c)
	if err != nil {
		t.Fatal(err)
	}
	tr, rng := cmdp.NewTrajectory(ex.model.Shape()), rand.New(rand.NewPCG(1, 2))
	tr.Play(ex.model, cmdp.Uniform{Shape: ex.model.Shape()}, rng, rng)
	if n := testing.AllocsPerRun(50, func() { core.observe(tr) }); n > 0 {
		t.Errorf("%g allocations for each episode", n)
	}
}
