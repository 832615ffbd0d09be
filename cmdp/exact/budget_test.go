package exact

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/cmdptest"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// boundedTask asks for the least first return while the second is at most a bound.
func boundedTask(t *testing.T, dim int, most float64) cmdp.Task {
	t.Helper()
	lower, upper := make([]float64, dim), make([]float64, dim)
	for i := range lower {
		lower[i], upper[i] = -1e3, 1e3
	}
	box, err := geometry.NewBox(lower, upper)
	if err != nil {
		t.Fatal(err)
	}
	c, err := cost.NewLinear(axis(dim, 0, 1), box)
	if err != nil {
		t.Fatal(err)
	}
	upper[1] = most
	limit, err := geometry.NewBox(lower, upper)
	if err != nil {
		t.Fatal(err)
	}
	target, err := limit.Bounded()
	if err != nil {
		t.Fatal(err)
	}
	return cmdp.Task{Cost: c, Target: target, Box: box}
}

// A ticking clock goes on by a second whenever it is read.
func ticking() func() time.Time {
	n := 0
	return func() time.Time {
		n++
		return time.Unix(int64(n), 0)
	}
}

// drawnTicks is a clock that goes on by some seconds, mostly one, whenever it is read.
func drawnTicks(rng *rand.Rand) func() time.Time {
	now := int64(0)
	return func() time.Time {
		now++
		if rng.IntN(8) == 0 {
			now += rng.Int64N(20)
		}
		return time.Unix(now, 0)
	}
}

// interrupting is a clock that stands still until price number n begins, whose time is over then.
func interrupting(n int) func() time.Time {
	calls := -1
	return func() time.Time {
		calls++
		if calls >= 3*n+2 { // the deadline is the first, and each price asks three times
			return time.Unix(1000, 0)
		}
		return time.Unix(0, 0)
	}
}

// TestBudget gives a solution more and more time on clocks that are not real: bounds and policies hold whenever
// it stops, they come to the optimum in the end, and an answer says that it is optimal only within the gap.
func TestBudget(t *testing.T) {
	bothSizes(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(26, 10))
		statuses := map[Verdict]int{}
		bounds := 0
		for range 4 {
			m := drawComponents(t, rng, 20+rng.IntN(40), 2)
			least, err := Solve(t.Context(), m, cmdp.Task{Cost: boundedTask(t, 2, 0).Cost}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, slack := range []float64{-0.5, -50} { // one that binds, and one that no policy keeps
				task := boundedTask(t, 2, least.Returns[1]+slack)
				want, err := Solve(t.Context(), m, task, Options{})
				if err != nil {
					t.Fatal(err)
				}
				for n := 0; n < 60; n += 1 + n/12 {
					for _, opts := range []Options{{Budget: time.Duration(2*n+1) * time.Second, now: ticking()},
						{Budget: time.Second, now: interrupting(n)}} {
						got, err := Solve(t.Context(), m, task, opts)
						if err != nil {
							t.Fatal(err)
						}
						statuses[got.Status]++
						checkStopped(t, task, want, got)
						if got.Status == Stopped && !math.IsInf(got.Bound, -1) && got.Policy != nil {
							bounds++
						}
						if n >= 55 && got.Status != want.Status {
							t.Errorf("%v with enough time: want %v", got.Status, want.Status)
						}
					}
				}
			}
		}
		if statuses[Optimal] == 0 || statuses[Infeasible] == 0 || statuses[Stopped] < 50 || bounds < 10 {
			t.Errorf("statuses %v, %d of those that stopped have a policy and a bound: the test says little", statuses,
				bounds)
		}
	})
}

// checkStopped compares an answer for which there was little time with one that had enough.
func checkStopped(t *testing.T, task cmdp.Task, want, got *Result) {
	t.Helper()
	switch {
	case got.Status == Infeasible:
		if want.Status != Infeasible || got.Certificate == nil ||
			got.Certificate.Distance < want.Certificate.Distance-1e-9 {
			t.Errorf("infeasible, certificate %+v: want %v", got.Certificate, want.Status)
		}
	case want.Status == Infeasible:
		if got.Status != Stopped || got.Policy != nil {
			t.Errorf("%v with policy %v: no policy keeps the limit", got.Status, got.Policy)
		}
	case got.Policy != nil:
		if task.Violation(got.Returns) > got.Tolerance || got.Bound > want.Objective+1e-9 ||
			got.Objective < want.Bound-1e-9 {
			t.Errorf("%v: objective %g, bound %g, violation %g: the optimum is %g", got.Status, got.Objective,
				got.Bound, task.Violation(got.Returns), want.Objective)
		}
		if got.Status == Optimal && !(got.Gap <= 1e-8*(1+math.Abs(want.Objective))) {
			t.Errorf("optimal with the gap %g", got.Gap)
		}
	case got.Status != Stopped:
		t.Errorf("%v without a policy", got.Status)
	}
}

// TestBudgetOfKinds gives drawn tasks of all kinds more and more time, on a clock that each look moves by a drawn time:
// policies keep the limits and return what is said, bounds lie beyond no answer, and nothing is undecided that has an
// answer.
func TestBudgetOfKinds(t *testing.T) {
	statuses, planned := make(map[Verdict]int), 0
	for _, name := range kinds {
		for trial := range uint64(30) {
			rng := rand.New(rand.NewPCG(trial, 77))
			k := drawKind(t, rng, name, 1)
			k.checkRanges(name, false)
			aim := rng.IntN(k.dim)
			limits := k.drawLimits(rng)
			if trial%2 == 0 { // of other returns alone, and some out of reach: other policies may keep them
				limits = slices.DeleteFunc(limits, func(l cmdp.Constraint) bool { return l.Normal[aim] != 0 })
				for j := range limits {
					limits[j].Offset -= k.unit * float64(rng.IntN(2))
				}
			}
			task, err := k.task(axis(k.dim, aim, 1-2*float64(rng.IntN(2))), limits)
			if err != nil {
				continue
			}
			want, err := k.planner.Solve(t.Context(), task, Options{})
			if errors.Is(err, ErrNoTotal) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			for n := 1; n < 250; n += 1 + n/16 {
				got, err := k.fresh().Solve(t.Context(), task,
					Options{Budget: time.Duration(n) * time.Second, now: drawnTicks(rng)})
				if err != nil {
					t.Errorf("%s %d, %d s: %v: want %v", name, trial, n, err, want.Status)
					continue
				}
				statuses[got.Status]++
				keeps := got.HasPolicy() && (got.Status == Optimal || got.Status == Stopped)
				switch {
				case got.Status != Stopped && got.Status != want.Status:
					t.Errorf("%s %d, %d s: %v: want %v", name, trial, n, got.Status, want.Status)
				case got.Status == Stopped && keeps && (want.Status == Infeasible || !(task.Violation(got.Returns) <=
					10*got.Tolerance)):
					t.Errorf("%s %d, %d s: stopped with a policy that misses the limits by %g: want %v", name, trial, n,
						task.Violation(got.Returns), want.Status)
				case want.Status == Optimal && got.Bound > want.Objective && !k.near(got.Bound, want.Objective),
					want.Status == Optimal && keeps && got.Objective < want.Bound && !k.near(got.Objective, want.Bound),
					want.Status == Unbounded && !math.IsInf(got.Bound, -1):
					t.Errorf("%s %d, %d s: %v, objective %g, at least %g: want %v, %g", name, trial, n, got.Status,
						got.Objective, got.Bound, want.Status, want.Objective)
				}
				if keeps && got.Status == Stopped {
					planned++
					k.checkReturns(name, got.Returns, nil, got.Policy, got.Mixture, got.Parts)
				}
			}
		}
	}
	if statuses[Stopped] < 1000 || statuses[Optimal] < 500 || statuses[Infeasible] < 100 || planned < 100 {
		t.Errorf("%v, %d of those stopped with a policy: want more", statuses, planned)
	}
}

// TestBudgetLeavesThePlannerWhole goes on with a planner after an interruption.
func TestBudgetLeavesThePlannerWhole(t *testing.T) {
	bothSizes(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(26, 11))
		for range 10 {
			m := drawComponents(t, rng, 20+rng.IntN(40), 2)
			p, err := NewPlanner(m, 1)
			if err != nil {
				t.Fatal(err)
			}
			task := boundedTask(t, 2, 0)
			want, err := Solve(t.Context(), m, task, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for n := range 5 {
				if _, err := p.Solve(t.Context(), task, Options{Budget: time.Second, now: interrupting(n)}); err !=
					nil {
					t.Fatal(err)
				}
			}
			got, err := p.Solve(t.Context(), task, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != want.Status || want.Status == Optimal && math.Abs(got.Objective-want.Objective) > 1e-8 {
				t.Errorf("%v, %g: want %v, %g", got.Status, got.Objective, want.Status, want.Objective)
			}
		}
	})
}

// TestEndedAfterAnyLook: a call whose context ends after some looks at it has the same verdict as one in time, or says
// that it was ended, and so does the next one of the planner.
func TestEndedAfterAnyLook(t *testing.T) {
	verdicts := make(map[Verdict]int)
	for _, name := range kinds {
		for trial := range uint64(10) {
			rng := rand.New(rand.NewPCG(trial, 75))
			k := drawKind(t, rng, name, 1)
			k.checkRanges(name, false)
			task, err := k.task(axis(k.dim, 0, 1), k.drawLimits(rng))
			if err != nil {
				continue
			}
			want, err := k.planner.Solve(t.Context(), task, Options{})
			if err != nil {
				t.Fatal(err)
			}
			verdicts[want.Status]++
			for n, ended := int64(0), true; ended; n += 1 + n/20 {
				p, ctx := k.fresh(), cmdptest.EndAfter(t.Context(), n)
				got, err := p.Solve(ctx, task, Options{})
				ended = ctx.Ended()
				if err == nil && got.Status != want.Status || err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("%s %d, after %d looks: %v, %v: want %v", name, trial, n, got, err, want.Status)
				}
				got, err = p.Solve(t.Context(), task, Options{})
				if err != nil || got.Status != want.Status ||
					want.Status == Optimal && !k.near(got.Objective, want.Objective) {
					t.Errorf("%s %d, after one of %d looks: %v, %v: want %v", name, trial, n, got, err, want)
				}
			}
		}
	}
	if verdicts[Optimal] < 10 || verdicts[Infeasible] < 3 {
		t.Errorf("%v: want more of both", verdicts)
	}
}

// TestBudgetWhilePreparing gives fresh planners so little time that it may be over before anything can be priced: the
// answer says nothing that is not so, and the planner can be asked again.
func TestBudgetWhilePreparing(t *testing.T) {
	bothSizes(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(26, 12))
		for trial := range 12 {
			m, task := drawComponents(t, rng, 200+rng.IntN(400), 2), boundedTask(t, 2, 0)
			if trial%3 == 0 {
				m = communicating(t, rng, 2)
				task, _ = meansTask(t, []float64{1, 0}, []float64{1000, 1 + 6*rng.Float64()})
			}
			if trial%2 == 0 {
				task.Box = nil // what returns are possible is found first
			}
			want, err := Solve(t.Context(), m, task, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for budget := time.Nanosecond; budget < 10*time.Millisecond; budget *= 6 {
				p, err := NewPlanner(m, 1)
				if err != nil {
					t.Fatal(err)
				}
				got, err := p.Solve(t.Context(), task, Options{Budget: budget})
				if err != nil {
					t.Fatal(err)
				}
				checkStopped(t, task, want, got)
				if len(got.Returns) != 2 || len(got.Dual) != 2 {
					t.Errorf("%d returns, %d duals", len(got.Returns), len(got.Dual))
				}
				again, err := p.Solve(t.Context(), task, Options{})
				if err != nil {
					t.Fatal(err)
				}
				if again.Status != want.Status ||
					want.Status == Optimal && math.Abs(again.Objective-want.Objective) > 1e-6 {
					t.Errorf("%v, %g: want %v, %g", again.Status, again.Objective, want.Status, want.Objective)
				}
			}
		}
	})
}

// TestBudgetWhileJoining is over while recurrent classes are joined: the answer is as good as before that.
func TestBudgetWhileJoining(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 10))
	joined := 0
	for trial := range 200 {
		m := communicating(t, rng, 2)
		task, _ := meansTask(t, []float64{1, 0}, []float64{1000, 1 + 6*rng.Float64()})
		want, err := Solve(t.Context(), m, task, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if want.Joined == nil {
			continue
		}
		joined++
		for n := range want.Iterations + 2 {
			got, err := Solve(t.Context(), m, task, Options{Budget: time.Second, now: interrupting(n)})
			if err != nil {
				t.Fatal(err)
			}
			v := make([]float64, 2)
			for _, c := range got.mixture() {
				e, err := Evaluate(t.Context(), m, c.Policy)
				if err != nil {
					t.Fatal(err)
				}
				floats.AddScaled(v, c.Weight, e.Returns)
			}
			if got.Status == Optimal && got.Joined == nil && got.Gap > 1e-7 {
				t.Errorf("trial %d, price %d: optimal with the gap %g, and no classes are joined", trial, n, got.Gap)
			}
			if got.HasPolicy() && (math.Abs(v[0]-got.Objective) > 1e-9 || task.Violation(v) > 1e-8) || got.Gap < 0 ||
				got.Status == Optimal && !(got.Objective <= want.Objective+1e-5*(1+math.Abs(want.Objective))) {
				t.Errorf("trial %d, price %d: %v, objective %g, gap %g, and the policy returns %v: want %g", trial, n,
					got.Status, got.Objective, got.Gap, v, want.Objective)
			}
		}
	}
	if joined < 10 {
		t.Errorf("%d joined: want 10", joined)
	}
}

// TestDrawnResult: where there is no time for one policy of a mixture its policies are drawn, which return what it
// does.
func TestDrawnResult(t *testing.T) {
	answers, mixtures := 0, 0
	for _, name := range kinds {
		for trial := range uint64(8) {
			rng := rand.New(rand.NewPCG(trial, 76))
			k := drawKind(t, rng, name, 1)
			k.checkRanges(name, false)
			task, err := k.task(axis(k.dim, 0, 1), k.drawLimits(rng))
			if err != nil {
				continue
			}
			err = k.planner.withSolver(t.Context(), task, Options{}, func(s *solver) error {
				if verdict, err := s.decide(); verdict != Optimal || err != nil {
					return err
				}
				r, err := s.drawnResult()
				if err != nil || r.Policy == nil && r.Mixture == nil { // along rays, and of sums
					return err
				}
				answers++
				if len(r.Mixture) > 0 {
					mixtures++
				}
				sum, v := 0.0, make([]float64, k.dim)
				for _, c := range r.mixture() {
					of, err := s.pricer.evaluate(t.Context(), c.Policy)
					if err != nil {
						return err
					}
					sum += c.Weight
					floats.AddScaled(v, c.Weight, of)
				}
				if !(math.Abs(sum-1) <= 1e-9) || !k.near(v[0], s.incumbent.cost) || !k.near(r.Objective, v[0]) ||
					!(r.Bound <= r.Objective) || !s.meets(v) {
					t.Errorf("%s %d: %v, objective %g, bound %g, and policies of the weight %g return %v: want %g", name,
						trial, r.Status, r.Objective, r.Bound, sum, v, s.incumbent.cost)
				}
				return nil
			})
			if err != nil && !errors.Is(err, ErrNoTotal) {
				t.Fatalf("%s %d: %v", name, trial, err)
			}
		}
	}
	if answers < 10 || mixtures < 5 {
		t.Errorf("%d answers, %d with several policies: want more", answers, mixtures)
	}
}

// TestPhases tells how long an answer took in its parts.
func TestPhases(t *testing.T) {
	m := drawComponents(t, rand.New(rand.NewPCG(26, 12)), 200, 2)
	begin := time.Now()
	r, err := Solve(t.Context(), m, boundedTask(t, 2, 1e3), Options{})
	if err != nil {
		t.Fatal(err)
	}
	took, sum := time.Since(begin), time.Duration(0)
	names := ""
	for _, p := range r.Phases {
		names += p.Name + " "
		sum += p.Time
	}
	if names != "analysis solution recovery certification " || sum > took {
		t.Errorf("phases %v of %v", r.Phases, took)
	}
}

// TestPhasesAddUp: the time of a phase is that of all its parts, and phases stand in the order in which they began.
func TestPhasesAddUp(t *testing.T) {
	w, want := new(stopwatch), make(map[string]time.Duration)
	var order []string
	rng := rand.New(rand.NewPCG(7, 27))
	last := ""
	for range 40 {
		phase := []string{"analysis", "solution", "recovery", "certification"}[rng.IntN(4)]
		if before := w.enter(phase); before != last {
			t.Fatalf("%q was left: want %q", before, last)
		}
		if _, ok := want[phase]; !ok {
			order = append(order, phase)
		}
		hours := time.Duration(1+rng.IntN(9)) * time.Hour
		w.since = w.since.Add(-hours)
		want[phase] += hours
		last = phase
	}
	w.enter("")
	for i, p := range w.phases {
		if i >= len(order) || p.Name != order[i] || p.Time.Round(time.Hour) != want[p.Name] {
			t.Errorf("phase %d is %v: want %v in the order %q", i, p, want, order)
		}
	}
	if len(w.phases) != len(order) {
		t.Errorf("%d phases: want %d", len(w.phases), len(order))
	}
}

// TestBudgetOfGrowth gives more and more time to questions about a total beside a mean that may grow for ever: whether
// it does within the limits takes questions of their own, and none is refused since there was no time for these.
func TestBudgetOfGrowth(t *testing.T) {
	spec := cmdp.ModelSpec{Discount: 1, Dim: 2, Means: []bool{true, false},
		Start: []cmdp.StartState{{State: 0, Probability: 1}}}
	m := modelOf(t, spec, 3, []cmdp.Row{
		{State: 0, Action: 0, Next: []cmdp.Transition{{Next: 0, Probability: 1}}, Returns: []float64{1, 1}},
		{State: 0, Action: 1, Next: []cmdp.Transition{{Next: 1, Probability: 1}}, Returns: []float64{0, 2}},
		{State: 1, Next: []cmdp.Transition{{Next: 1, Probability: 0.5}, {Next: 2, Probability: 0.5}},
			Returns: []float64{0, 0}},
		{State: 2, Next: []cmdp.Transition{{Next: 1, Probability: 1}}, Returns: []float64{2, 0}},
	})
	k := &kind{t: t, m: m, dim: 2, unit: 1}
	var err error
	k.box, err = geometry.NewBox([]float64{-10, -Boundless}, []float64{10, Boundless})
	if err != nil {
		t.Fatal(err)
	}
	for _, limits := range [][]cmdp.Constraint{{{Normal: []float64{-1, 0}, Offset: -0.5}},
		{{Normal: []float64{0, 1}, Offset: 5}}} { // a mean of 0.5, with which it grows, and a total of 5
		task, err := k.task([]float64{0.25, -1}, limits)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Solve(t.Context(), m, task, Options{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		stopped, answered := 0, 0
		for n := range 60 {
			r, err := Solve(t.Context(), m, task,
				Options{Workers: 1, Budget: time.Duration(n+1) * time.Second, now: ticking()})
			switch {
			case err != nil:
				t.Errorf("%d seconds: %v", n+1, err)
			case r.Status == Stopped:
				stopped++
			case r.Status != want.Status || !k.near(r.Objective, want.Objective):
				t.Errorf("%d seconds: %v %g: want %v %g", n+1, r.Status, r.Objective, want.Status, want.Objective)
			default:
				answered++
			}
		}
		if stopped < 3 || answered < 10 {
			t.Errorf("%v: %d of 60 were stopped and %d answered", want.Status, stopped, answered)
		}
	}
}
