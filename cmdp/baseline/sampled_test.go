package baseline

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// sampledCoin is one state and one step with two actions: to flip a coin that shows heads with probability 0.3,
// which returns (1, 1), or to leave it, which surely returns (0.1, 0). The best first return with the second at
// most 0.2 is 0.2 in 0.3 of a flip.
func sampledCoin(t *testing.T) (*cmdp.Model, cmdp.Task) {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 1, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 3)
	err := errors.Join(b.Add(cmdp.Row{State: 0, Action: 0,
		Next: []cmdp.Transition{{Next: 1, Probability: 0.3, Returns: []float64{1, 1}},
			{Next: 2, Probability: 0.7, Returns: []float64{0, 0}}}}),
		b.Add(cmdp.Row{State: 0, Action: 1, Returns: []float64{0.1, 0},
			Next: []cmdp.Transition{{Next: 2, Probability: 1}}}))
	if err != nil {
		t.Fatal(err)
	}
	m := built(t, b)
	upper := boxOf(t, m).Upper()
	upper[1] = 0.2
	target := boundedBox(t, boxOf(t, m).Lower(), upper)
	return m, cmdp.Task{Cost: linearCost(t, []float64{-1, 0}, boxOf(t, m)), Target: target}
}

// TestSampledCoin wants what a plan from samples promises to hold in at least 95 of 100 among 1,000 runs: the
// returns of the policy are within the error of those that the plan says; relaxed, cost and limit are missed by
// twice the error at most; strict, the limit is kept.
func TestSampledCoin(t *testing.T) {
	m, task := sampledCoin(t)
	best := solve(t, m, task).Objective
	for _, strict := range []bool{false, true} {
		held, missed := 0, 0
		const runs = 1000
		for seed := range uint64(runs) {
			c := Config{Shape: m.Shape(), Task: task,
				Settings: cmdp.Settings{Confidence: cmdp.Confidence{Episodes: 1, Failure: 0.05}}}
			p, err := PlanSampled(t.Context(), m, c, 400, strict, rand.New(rand.NewPCG(seed, 1)))
			if err != nil {
				t.Fatal(err)
			}
			v := make([]float64, 2)
			cmdp.NewEvaluator(m).Returns(v, p.Policy)
			within := p.Lower[0] <= v[0] && v[0] <= p.Upper[0] && p.Lower[1] <= v[1] && v[1] <= p.Upper[1]
			if strict {
				within = within && v[1] <= 0.2+1e-9
			} else {
				within = within && -v[0] <= best+2*p.Error[0] && v[1] <= 0.2+2*p.Error[1] && p.Bound <= best
			}
			if within {
				held++
			}
			if v[1] > 0.2 {
				missed++
			}
			if p.Samples != 800 {
				t.Fatalf("%d samples: want 400 of each choice", p.Samples)
			}
		}
		if held < 950 {
			t.Errorf("strict %v: what is promised with probability 0.95 holds in %d of %d runs", strict, held, runs)
		}
		if !strict && missed == 0 {
			t.Errorf("no run breaks the limit: loosened limits have no effect")
		}
	}
}

// TestSampledBounds: without a limit heads come with probability 0.3, and no policy is said to cost more than that is
// worth but in 5 of 100 runs. Three samples say nothing: the returns are in the box, and so is the bound.
func TestSampledBounds(t *testing.T) {
	m, task := sampledCoin(t)
	task.Target = nil
	c := Config{Shape: m.Shape(), Task: task,
		Settings: cmdp.Settings{Confidence: cmdp.Confidence{Episodes: 1, Failure: 0.05}}}
	held := 0
	for seed := range uint64(200) {
		p, err := PlanSampled(t.Context(), m, c, 400, false, rand.New(rand.NewPCG(seed, 2)))
		if err != nil {
			t.Fatal(err)
		}
		if p.Bound <= -0.3 && p.Bound >= -0.3-2*p.Error[0] {
			held++
		}
	}
	if held < 190 {
		t.Errorf("the bound holds in %d of 200 runs", held)
	}
	p, err := PlanSampled(t.Context(), m, c, 3, false, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	if p.Lower[0] != 0 || p.Upper[0] != 1 || p.Bound != -1 {
		t.Errorf("three samples: from %g to %g, bound %g: want the box", p.Lower[0], p.Upper[0], p.Bound)
	}
	// The squared distance from (2, 2) falls by at most L·‖e‖ from one return to another within the error e.
	curved, err := cost.NewSquared([]float64{2, 2}, []float64{1, 1}, boxOf(t, m))
	if err != nil {
		t.Fatal(err)
	}
	c.Task.Cost = curved
	p, err = PlanSampled(t.Context(), m, c, 40_000, false, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	if want := p.Result.Bound - curved.Lipschitz()*math.Hypot(p.Error[0], p.Error[1]); !closeTo(p.Bound, want) {
		t.Errorf("bound %g of a curved cost: want %g", p.Bound, want)
	}
}

// TestSampleError compares the error with numbers by hand.
func TestSampleError(t *testing.T) {
	m, task := sampledCoin(t)
	c := Config{Shape: m.Shape(), Task: task, Settings: cmdp.Settings{Confidence: cmdp.Confidence{Failure: 0.1}}}
	// One step, two choices, two returns of range 1: nothing comes after the step, and y = √(ln(2·2·2/0.05)/2N).
	want := math.Sqrt(math.Log(8/0.05) / 200)
	if e, err := SampleError(c, 100); err != nil || !floats.EqualApprox(e, []float64{want, want}, 1e-12) {
		t.Errorf("error %v, %v: want %g", e, err, want)
	}
	if n, err := SamplesFor(c, want); err != nil || n < 100 || n > 101 {
		t.Errorf("%d samples, %v: want 100", n, err)
	}
	if n, err := SamplesFor(c, want*0.999); err != nil || n != 101 { // 100.2 do
		t.Errorf("%d samples, %v: want 101", n, err)
	}
	// One sample leaves everything open: the error is the range.
	if e, err := SampleError(c, 1); err != nil || e[0] != 1 {
		t.Errorf("error %v, %v of one sample: want the range 1", e, err)
	}
	// Two steps, a kernel for both, known returns of range 3 and three states: e = x·3/2 with x = √(2(ln 6 +
	// ln(2/0.1))/N), b = 3.
	ex := newExample(t, 3, modelSpec{states: 3, actions: 1, horizon: 2, dim: 1, stationary: true})
	c = ex.config(10)
	c.Confidence.Failure, c.Pooled = 0.1, true
	choices := float64(ex.model.Shape().StepChoices(0))
	lower, upper := ex.model.Shape().StepReturns(0)
	x := math.Sqrt(2 * (math.Log(6) + math.Log(choices/0.1)) / 1e4)
	if e, err := SampleError(c, 1e4); err != nil || math.Abs(e[0]-x*(upper[0]-lower[0])/2) > 1e-12 {
		t.Errorf("error %v, %v: want %g", e, err, x*(upper[0]-lower[0])/2)
	}
	// With a kernel for each step there are twice as many choices, and what is said of the first step, one successor,
	// is not said of the second.
	c.Pooled = false
	c.Knowledge.Support = Support{make([][]int32, int(choices)), make([][]int32, int(choices))}
	for i := range int(choices) {
		c.Knowledge.Support[0][i], c.Knowledge.Support[1][i] = []int32{0}, []int32{0, 1, 2}
	}
	x = math.Sqrt(2 * (math.Log(6) + math.Log(2*choices/0.1)) / 1e4)
	if e, err := SampleError(c, 1e4); err != nil || math.Abs(e[0]-x*(upper[0]-lower[0])/2) > 1e-12 {
		t.Errorf("error %v, %v without pooling: want %g", e, err, x*(upper[0]-lower[0])/2)
	}
	// With a discount of 0.9: e = 9·x·W/2, where W is the range of a discounted return, 10 times that of a
	// step. Two possible successors: b = 2, ln 2.
	two := twoRooms(t, 0.9)
	c = two.config(1, 1)
	c.Confidence.Failure = 0.1
	x = math.Sqrt(2 * (math.Ln2 + math.Log(3/0.1)) / 1e6)
	if e, err := SampleError(c, 1e6); err != nil || math.Abs(e[0]-9*x*10/2) > 1e-9 {
		t.Errorf("error %v, %v: want %g", e, err, 9*x*10/2)
	}
	// Long-run means with a span of 3: e = x·3/2, where the range of a step is 1.
	two = twoRooms(t, 1)
	c = two.config(1, 1)
	c.Confidence.Failure, c.Knowledge.Span = 0.1, 3
	if e, err := SampleError(c, 1e6); err != nil || math.Abs(e[0]-x*1.5) > 1e-12 {
		t.Errorf("error %v, %v: want %g", e, err, x*1.5)
	}
	// A single possible successor is certain.
	c.Knowledge.Support = Support{{{0}, {1}, {0}}}
	if e, err := SampleError(c, 10); err != nil || e[0] != 0 {
		t.Errorf("error %v, %v without chance: want 0", e, err)
	}
}

// TestSampleErrorDrawn has errors of drawn shapes by their definition: x = √(2(ln(2^b − 2) + ln(C/p))/N) of a row of
// C with at most b successors, y = √(ln(2Cd/p)/2N) of a mean, both at p/2 where both are learned, and
// Σ_h y·w_h + x·(w_{h+1} + … + w_H)/2 of a return with the ranges w, at most Σ w_h. So many samples are asked for that
// every return is as accurate as wanted, and one fewer would not do.
func TestSampleErrorDrawn(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 5))
		states, horizon, d := 2+rng.IntN(3), 1+rng.IntN(3), 1+rng.IntN(3)
		spec := cmdp.ShapeSpec{Horizon: horizon, Dim: d, Start: []cmdp.StartState{{State: 0, Probability: 1}}}
		c := Config{Settings: cmdp.Settings{Pooled: rng.IntN(2) == 0, Confidence: cmdp.Confidence{Failure: 0.1}}}
		limited, choices, most := rng.IntN(3) > 0, 0, 1
		var tables [][]float64
		for h := range horizon {
			if h == 0 || !c.Pooled {
				first, support := []int32{0}, [][]int32(nil)
				for s := range states {
					first = append(first, first[s]+1+rng.Int32N(3))
				}
				for range first[states] {
					next := []int32{rng.Int32N(int32(states))}
					for s := next[0] + 1; int(s) < states; s++ {
						next = append(next, s)
					}
					support, most = append(support, next), max(most, len(next))
				}
				spec.First, choices = append(spec.First, first), choices+int(first[states])
				c.Knowledge.Support = append(c.Knowledge.Support, support)
			}
			x := cmdp.Interval{}
			for range d {
				low := rng.Float64() - 0.5
				x.Lower, x.Upper = append(x.Lower, low), append(x.Upper, low+3*rng.Float64())
			}
			spec.Returns = append(spec.Returns, x)
			tables = append(tables, slices.Repeat(x.Lower, int(spec.First[len(spec.First)-1][states])))
		}
		if !limited {
			c.Knowledge.Support, most = nil, states
		}
		var err error
		if c.Shape, err = cmdp.NewShape(spec); err != nil {
			t.Fatal(err)
		}
		c.Task.Cost = linearCost(t, slices.Repeat([]float64{1}, d), boxOfShape(t, c.Shape))
		p, x, y := 0.1, 0.0, 0.0
		if rng.IntN(2) == 0 {
			if c.Returns, err = cmdp.NewReturns(c.Shape, tables); err != nil {
				t.Fatal(err)
			}
		} else {
			p /= 2
			y = math.Sqrt(math.Log(2*float64(choices*d)/p) / 2)
		}
		if most > 1 {
			x = math.Sqrt(2 * (math.Log(math.Pow(2, float64(most))-2) + math.Log(float64(choices)/p)))
		}
		one, total := make([]float64, d), make([]float64, d)
		for i := range d {
			for h := horizon - 1; h >= 0; h-- {
				w := spec.Returns[h].Upper[i] - spec.Returns[h].Lower[i]
				one[i] += y*w + x*total[i]/2
				total[i] += w
			}
		}
		each := 1 + rng.IntN(200)
		e, err := SampleError(c, each)
		for i := range e {
			if want := min(one[i]/math.Sqrt(float64(each)), total[i]); math.Abs(e[i]-want) > 1e-12*(1+want) {
				t.Errorf("seed %d: return %d: error %g of %d samples: want %g", seed, i, e[i], each, want)
			}
		}
		accuracy := 0.01 + rng.Float64()
		n, err2 := SamplesFor(c, accuracy)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if worst := slices.Max(one); worst > accuracy*math.Sqrt(float64(n))*(1+1e-9) ||
			n > 1 && worst < accuracy*math.Sqrt(float64(n-1))*(1-1e-9) {
			t.Errorf("seed %d: %d samples for %g: want %g of them", seed, n, accuracy, math.Pow(worst/accuracy, 2))
		}
	}
}

// TestSampledPlans wants a plan from many samples to come to the optimum, with a horizon and with a discount.
func TestSampledPlans(t *testing.T) {
	ex := newExample(t, 5, modelSpec{states: 3, actions: 2, horizon: 3, dim: 2, stationary: true})
	c := ex.config(1)
	c.Pooled = true
	p, err := PlanSampled(t.Context(), ex.model, c, 20_000, false, rand.New(rand.NewPCG(1, 1)))
	if err != nil || math.Abs(p.Objective-ex.optimum) > 2*p.Error[0] {
		t.Errorf("objective %v, %v: want %g within %v", p, err, ex.optimum, p.Error)
	}
	// Steps that differ, with known returns: each has its own.
	ex = newExample(t, 5, modelSpec{states: 3, actions: 2, horizon: 3, dim: 2})
	p, err = PlanSampled(t.Context(), ex.model, ex.config(1), 10, false, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	for h := range 3 {
		if got, want := p.Model.Kernel(h).Returns, ex.model.Kernel(h).Returns; !floats.EqualApprox(got, want, 1e-12) {
			t.Errorf("step %d returns %g in the model of the samples: want %g", h+1, got, want)
		}
	}
	two := twoRooms(t, 0.9)
	d := two.config(1, 1)
	q, err := PlanSampled(t.Context(), two.env, d, 1_000_000, false, rand.New(rand.NewPCG(1, 1)))
	if err != nil || math.Abs(q.Objective-two.optimum) > 2*q.Error[0] || q.Error[0] > 0.5 {
		t.Errorf("objective %v, %v: want %g within %v", q.Objective, err, two.optimum, q.Error)
	}
}

// TestSampledRefusals wants what cannot be planned from samples to be refused by name.
func TestSampledRefusals(t *testing.T) {
	m, task := sampledCoin(t)
	c := Config{Shape: m.Shape(), Task: task,
		Settings: cmdp.Settings{Confidence: cmdp.Confidence{Episodes: 1, Failure: 0.05}}}
	rng := rand.New(rand.NewPCG(1, 1))
	if _, err := PlanSampled(t.Context(), m, c, 0, false, rng); err == nil ||
		!strings.Contains(err.Error(), "at least 1") {
		t.Errorf("no samples: %v", err)
	}
	if _, err := PlanSampled(t.Context(), m, c, 2, true, rng); !errors.Is(err, geometry.ErrEmpty) {
		t.Errorf("strict with two samples: %v: want a target that is empty", err)
	}
	if _, err := PlanSampled(t.Context(), nil, c, 2, true, rng); err == nil {
		t.Error("no environment: no error")
	}
	average := twoRooms(t, 1).config(1, 1)
	if _, err := SampleError(average, 10); err == nil || !strings.Contains(err.Error(), "bound on the span") {
		t.Errorf("long-run means without a span: %v", err)
	}
	for _, span := range []float64{-1, math.NaN(), math.Inf(1)} {
		average.Knowledge.Span = span
		if _, err := SampleError(average, 10); err == nil || !strings.Contains(err.Error(), "span") {
			t.Errorf("span %g: %v", span, err)
		}
	}
	c.Knowledge.Span = 1
	if _, err := SampleError(c, 10); err == nil || !strings.Contains(err.Error(), "for long-run means") {
		t.Errorf("a span where there is a horizon: %v", err)
	}
	c.Knowledge.Span = 0
	for _, x := range []float64{0, -1, math.NaN(), math.Inf(1), 1e-9} {
		if _, err := SamplesFor(c, x); err == nil {
			t.Errorf("accuracy %g: no error", x)
		}
	}
}

// TestSampledMeans wants what a plan from samples promises of long-run means in at least 95 of 100 among 1,000 runs,
// as in [TestSampledCoin]. The best policy leaves room 0 with probability 1/3 and has relative values of span
// 0.75; 1 is said to bound it.
func TestSampledMeans(t *testing.T) {
	two := twoRooms(t, 1)
	for _, strict := range []bool{false, true} {
		held, missed := 0, 0
		const runs = 1000
		for seed := range uint64(runs) {
			c := two.config(1, 1)
			c.Confidence.Failure, c.Knowledge.Span = 0.05, 1
			p, err := PlanSampled(t.Context(), two.env, c, 400, strict, rand.New(rand.NewPCG(seed, 1)))
			if err != nil {
				t.Fatal(err)
			}
			if p.Samples != 1200 || p.Policy == nil || p.Known[0] > p.Error[0] || p.Span[0] > 1 {
				t.Fatalf("%d samples, error %v, known %v, span %v", p.Samples, p.Error, p.Known, p.Span)
			}
			ev, err := exact.Evaluate(t.Context(), two.env.Model(), p.Policy)
			if err != nil {
				t.Fatal(err)
			}
			v := ev.Returns
			within := p.Lower[0] <= v[0] && v[0] <= p.Upper[0] && p.Lower[1] <= v[1] && v[1] <= p.Upper[1]
			if strict {
				within = within && v[1] <= 0.75
			} else {
				within = within && -v[0] <= two.optimum+2*p.Error[0] && v[1] <= 0.75+2*p.Error[1] &&
					p.Bound <= two.optimum
			}
			if within {
				held++
			}
			if v[1] > 0.75 {
				missed++
			}
		}
		if held < 950 {
			t.Errorf("strict %v: what is promised with probability 0.95 holds in %d of %d runs", strict, held, runs)
		}
		if !strict && missed == 0 {
			t.Errorf("no run breaks the limit: loosened limits have no effect")
		}
	}
}

// TestSampledSpan wants the span of the plan to be looked at afterwards: with a bound that is too small the returns are
// known less well than was promised, and strict limits are not called kept unless they are.
func TestSampledSpan(t *testing.T) {
	two := twoRooms(t, 1)
	c := two.config(1, 1)
	c.Confidence.Failure, c.Knowledge.Span = 0.05, 0.1
	p, err := PlanSampled(t.Context(), two.env, c, 2000, true, rand.New(rand.NewPCG(1, 1)))
	if err != nil || p.Status != exact.Infeasible || p.Known[0] < 2*p.Error[0] || math.Abs(p.Span[0]-0.75) > 0.05 {
		t.Errorf("%+v, %v: want it infeasible, with a span of 0.75", p, err)
	}
	c.Knowledge.Span = 1
	p, err = PlanSampled(t.Context(), two.env, c, 2000, true, rand.New(rand.NewPCG(1, 1)))
	if err != nil || p.Status == exact.Infeasible {
		t.Errorf("%+v, %v: want a policy", p, err)
	}
	// Three choices with two possible successors each, and a range of 1: what the plan returns is known to within x/2
	// times its own span.
	x := math.Sqrt(2 * (math.Ln2 + math.Log(3/0.05)) / 2000)
	for i := range p.Known {
		if want := x * p.Span[i] / 2; math.Abs(p.Known[i]-want) > 1e-12 {
			t.Errorf("return %d is known to within %g: want %g", i, p.Known[i], want)
		}
	}
	// With one sample of each choice it may look as if nothing led to room 1.
	for seed := uint64(0); err == nil && seed < 100; seed++ {
		_, err = PlanSampled(t.Context(), two.env, c, 1, false, rand.New(rand.NewPCG(seed, 1)))
	}
	if err == nil || !strings.Contains(err.Error(), "lead to each other") {
		t.Errorf("samples that do not lead to room 1: %v", err)
	}
}

// TestSampledJoined wants at most half of √x of the objective, and no more than a tenth, to be spent on joining
// classes. Who stays in a room gets 1 or nothing, who leaves gets nothing on the way, and three of four steps may
// be spent in the good room.
func TestSampledJoined(t *testing.T) {
	b := cmdp.NewBuilder(cmdp.ModelSpec{Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}, Average: true}, 2)
	for s := range 2 {
		at := float64(1 - s)
		if err := errors.Join(
			b.Add(cmdp.Row{State: s, Action: 0, Returns: []float64{at, at},
				Next: []cmdp.Transition{{Next: s, Probability: 1}}}),
			b.Add(cmdp.Row{State: s, Action: 1, Returns: []float64{0, at},
				Next: []cmdp.Transition{{Next: 1 - s, Probability: 1}}})); err != nil {
			t.Fatal(err)
		}
	}
	m := built(t, b)
	ex := newEndlessExample(t, m, 0.75, -0.75)
	for _, n := range []int{1_000, 100_000} {
		c := ex.config(1, 1)
		c.Confidence.Failure, c.Knowledge.Span = 0.05, 1
		p, err := PlanSampled(t.Context(), ex.env, c, n, false, rand.New(rand.NewPCG(1, 1)))
		if err != nil || p.Joined == nil {
			t.Fatalf("%+v, %v: want classes that are joined", p, err)
		}
		x := math.Sqrt(2 * (math.Ln2 + math.Log(4/0.05)) / float64(n))
		most := min(0.1, math.Sqrt(x)/2)
		if p.Joined.Loss > 0.55*most || p.Joined.Loss < 0.45*most { // half of it is left for the search
			t.Errorf("%d samples: a loss of %g: want half of %g", n, p.Joined.Loss, most)
		}
	}
}

// A machine is a model that remembers its state, and has to be started and set to a state before each step.
type machine struct {
	*cmdp.Endless
	t          *testing.T
	state      int
	begun, set bool
}

func (m *machine) Start(rng *rand.Rand) int {
	m.begun = true
	return m.Endless.Start(rng)
}

func (m *machine) SetState(state int) { m.state, m.set = state, m.begun }

func (m *machine) Step(returns []float64, rng *rand.Rand, h, _, action int) int {
	if !m.set {
		m.t.Fatal("a step is asked for of a machine that was not set to a state, or not started")
	}
	m.set = false
	return m.Endless.Step(returns, rng, h, m.state, action)
}

// TestSampledMachine wants the samples of an environment with a state of its own to be those of the model, and a plan
// for long-run means to say what to do in all states: in room 1, where it never comes, it leaves.
func TestSampledMachine(t *testing.T) {
	b := cmdp.NewBuilder(cmdp.ModelSpec{Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}, Average: true}, 2)
	for s := range 2 {
		if err := errors.Join(
			b.Add(cmdp.Row{State: s, Action: 0, Returns: []float64{float64(1 - s), 0},
				Next: []cmdp.Transition{{Next: s, Probability: 1}}}),
			b.Add(cmdp.Row{State: s, Action: 1, Returns: []float64{0, 1},
				Next: []cmdp.Transition{{Next: 1 - s, Probability: 0.75}, {Next: s, Probability: 0.25}}})); err != nil {
			t.Fatal(err)
		}
	}
	m := built(t, b)
	ex := newEndlessExample(t, m, 1, -1)
	c := ex.config(1, 1)
	c.Confidence.Failure, c.Knowledge.Span = 0.05, 2
	p, err := PlanSampled(t.Context(), &machine{Endless: ex.env, t: t}, c, 200, false, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range [][]int32{{0}, {0, 1}, {1}, {0, 1}} {
		next, prob := p.Model.Kernel(0).Row(i)
		if !slices.Equal(next, k) || len(k) == 2 && math.Abs(prob[1-i/2]-0.75) > 0.15 {
			t.Errorf("choice %d leads to %v with %g", i, next, prob)
		}
	}
	probs := make([]float64, 2)
	for s, want := range [][]float64{{1, 0}, {0, 1}} {
		p.Policy.Distribution(probs, 0, s)
		if !floats.EqualApprox(probs, want, 1e-9) {
			t.Errorf("room %d: actions %g: want %g", s, probs, want)
		}
	}
}
