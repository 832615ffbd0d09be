package query

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/robust"

	"gonum.org/v1/gonum/floats"
)

// TestPricesBelowTheNoise: a price that changes the optimum by no more than the certified gap, or a billionth,
// over all returns that are possible, is shown as 0; one whose extent is not known stays, and so does every
// digit for programs.
func TestPricesBelowTheNoise(t *testing.T) {
	for _, c := range []struct {
		bound, price, scale, want float64
	}{
		{2 + 1e-6, 1e-7, 9, 0}, {2 + 1e-6, 1e-7, 11, 1e-7}, {2 + 1e-6, 1e-7, 0, 1e-7},
		{2, 1.9e-10, 10, 0}, {2, 2.1e-10, 10, 2.1e-10},
	} {
		s := Standing{Price: c.price, Scale: c.scale}
		s.setNoise(&exact.Result{Objective: 2, Bound: c.bound})
		if got := s.Shown(); got != c.want || s.Price != c.price {
			t.Errorf("%+v is shown as %g", c, got)
		}
	}
}

// TestStandingsMakeUpTheDual draws prices, returns and duals. The prices of all limits, in units of the bounds on
// expected returns, and those of a curved target are the dual; slack and scale are of the same units.
func TestStandingsMakeUpTheDual(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 45))
	for trial := range 100 {
		share := []float64{0.1, 0.25, 1}[rng.IntN(3)]
		q := parsed(t, fmt.Sprintf(walk, "{gain: {}, much: {exceeds: {return: gain, limit: 4}}}", fmt.Sprintf(
			"constraints: [{return: gain, at_least: 0.5, at_most: 7}, {return: gain, at_least: 3, always: true}, "+
				"{return: much, at_most: 0.7}, "+
				"{return: gain, at_most: 7.5, cvar: %g}]\ntarget: {ball: {center: [3, 0.2], radius: 2}}", share)))
		r := &exact.Result{Status: exact.Optimal}
		for range q.Returns {
			r.Dual = append(r.Dual, rng.NormFloat64())
			r.Returns = append(r.Returns, rng.NormFloat64())
		}
		for _, row := range q.Task.Constraints {
			price := rng.Float64()
			r.Prices = append(r.Prices, exact.Price{Constraint: row, Value: price, Multiplier: price})
		}
		if n := len(q.Standings(r)); n != len(q.Limits)+1 { // and that of the ball
			t.Errorf("trial %d: %d standings of %d limits", trial, n, len(q.Limits))
		}
		sum, sides := make([]float64, len(q.Returns)), q.Scale()
		for _, s := range q.Standings(r) {
			if s.Limit != nil && s.Limit.Scope == EveryEpisode {
				continue // whose row is one of chance
			}
			if s.Limit == nil {
				for i, x := range s.Prices {
					sum[i] += x
				}
				continue
			}
			unit, sign := 1.0, 1.0
			if s.Limit.Scope == WorstEpisodes {
				unit = share
			}
			if s.Limit.expected.atLeast {
				sign = -1
			}
			i := s.Limit.Coordinate()
			sum[i] += sign * s.Price / unit
			slack := sign * (s.Limit.expected.bound - r.Returns[i])
			if math.Abs(unit*s.Slack-slack) > 1e-12 || math.Abs(unit*s.Scale-sides[i]) > 1e-12*sides[i] {
				t.Errorf("trial %d: %s: slack %g of %g: want %g of %g, over %g", trial, s.Limit.Name, s.Slack, s.Scale,
					slack, sides[i], unit)
			}
		}
		for k, l := range q.Rows() {
			if l.Scope == EveryEpisode {
				floats.AddScaled(sum, r.Prices[k].Value, r.Prices[k].Normal)
			}
		}
		for i, x := range sum {
			if math.Abs(x-r.Dual[i]) > 1e-12 {
				t.Errorf("trial %d: prices make up %v: want %v", trial, sum, r.Dual)
				break
			}
		}
	}
}

// drawTimes are the kinds of time that problems of drawRows are asked with.
var drawTimes = []string{"horizon: 3", "discount: 0.75", "discount: 1", "criterion: average"}

// drawPolicy draws a policy of a query that never draws.
func drawPolicy(rng *rand.Rand, q *Query) *exact.Policy {
	rules := make([]markov.Rule, max(1, q.Model.Horizon()))
	for h := range rules {
		rules[h].Actions = markov.NewActions(q.Model.States(), 3)
		for s := range q.Model.States() {
			if first, end := q.Model.Rows(h).Choices(s); first < end {
				rules[h].Actions.Set(s, rng.IntN(end-first))
			}
		}
	}
	return exact.NewPolicy(rules)
}

// TestVisitsByDefinition: visits of states that offer something are the probabilities to be there at a step, or what
// they add up to without a horizon, or are on average in a long run. Where a policy never comes nothing is visited.
func TestVisitsByDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 73))
	for trial := range 40 {
		time := drawTimes[trial%4]
		rows := strings.Replace(drawRows(rng, trial%4 == 2), "start: {a: 0.5, b: 0.25, c: 0.25}",
			[]string{"start: a", "start: {a: 0.75, b: 0.25}"}[trial/4%2], 1)
		if trial%8 == 4 { // steps offer different choices
			rows += "  - {state: a, action: 2, step: 2, next: {b: 1}}\n"
		}
		q := parsed(t, "format: cmdp/1\n"+time+"\nreturns: [gain, cost]\n"+rows)
		policy, m := drawPolicy(rng, q), q.Model
		got, err := q.Visits(t.Context(), policy)
		if err != nil {
			t.Fatal(err)
		}
		steps := map[string]int{drawTimes[0]: 3, drawTimes[1]: 200, drawTimes[2]: 400, drawTimes[3]: 4000}[time]
		now, sum, weight := make([]float64, 3), make([]float64, 3), 1.0
		for _, st := range m.StartStates() {
			now[st.State] = st.Probability
		}
		for h := range steps {
			next := make([]float64, 3)
			for s, mass := range now {
				rows := m.Rows(h % max(1, m.Horizon()))
				first, end := rows.Choices(s)
				if first == end {
					next[s] += mass
					continue
				}
				probs := make([]float64, end-first)
				policy.Distribution(probs, h, s)
				to, prob := rows.Row(first + slices.Index(probs, 1))
				for i, n := range to {
					next[n] += mass * prob[i]
				}
				if sum[s] += weight * mass; m.Horizon() > 0 && math.Abs(got[h][s]-mass) > 1e-12 {
					t.Errorf("trial %d, step %d: %v: want %g of state %d", trial, h, got[h], mass, s)
				}
			}
			if now = next; trial%4 == 1 {
				weight *= 0.75
			}
		}
		for s, x := range sum {
			size, room := 1.0, 1e-9
			first, end := m.Rows(0).Choices(s)
			if trial%4 == 3 {
				size, room = float64(steps), 3e-3
			}
			if m.Horizon() > 0 || first == end {
				continue
			}
			if math.Abs(got[0][s]-x/size) > room || (x > 0) != (got[0][s] > 0) {
				t.Errorf("trial %d, %s: %v: want %g of state %d", trial, time, got[0], x/size, s)
			}
		}
	}
}

// TestLimitsOnMeans: a limit is on long-run means where the returns that it bounds are.
func TestLimitsOnMeans(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 79))
	for _, limited := range []string{"gain", "cost", "both"} {
		for n, time := range append(drawTimes, "discount: 1", "discount: 1") {
			returns := "returns: [gain, cost]\n"
			if n == 4 {
				returns = "returns: {gain: {}, cost: {criterion: average}}\n"
			}
			if n == 5 {
				returns = "returns: {cost: {criterion: average}, gain: {}}\n"
			}
			limit := "constraints: [{return: " + limited + ", at_most: 0.5}]\n"
			if limited == "both" {
				limit = "target: {halfspace: {normal: [1, 1], offset: 1.1}}\n"
			}
			q := parsed(t, "format: cmdp/1\n"+time+"\n"+returns+limit+drawRows(rng, n == 2 || n >= 4))
			if got, want := q.LimitsMeans(), n == 3 || n >= 4 && limited == "cost"; got != want {
				t.Errorf("%s, %slimits means: %v", time, returns, got)
			}
			for _, broken := range []bool{true, false} {
				v := map[bool][]float64{true: {0.6, 0.6}, false: {0.4, 0.4}}[broken]
				if names := q.BrokenForEver(v); (len(names) == 1) != (broken && q.LimitsMeans()) || len(names) > 1 {
					t.Errorf("%s, %s%v breaks %q for ever", time, returns, v, names)
				}
			}
		}
	}
}

// TestTargetsBrokenForEver: a target that is no list of limits is broken for ever by means that are not in it.
func TestTargetsBrokenForEver(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 77))
	for _, time := range drawTimes {
		q := parsed(t, "format: cmdp/1\n"+time+"\nreturns: [gain, cost]\ntarget: {ball: {center: [0, 0], radius: 3}}\n"+
			drawRows(rng, time == "discount: 1"))
		for _, v := range [][]float64{{0, 0}, {3, 1}} {
			want := v[0] > 0 && q.Model.Average()
			if names := q.BrokenForEver(v); slices.Equal(names, []string{"target"}) != want || len(names) > 0 && !want {
				t.Errorf("%s: %v breaks %q for ever", time, v, names)
			}
		}
	}
	for _, p := range []*problem.Problem{nil, {}} {
		if q, err := New(t.Context(), p, CompileOptions{}); q != nil || err == nil {
			t.Errorf("a query of nothing: %v", err)
		}
	}
}

// TestEvaluationsByDefinition: over a set of models, or one, a plan misses a limit by what the worst return misses it,
// the worst of several limits counts, and a plan keeps limits that are missed by rounding, and none that are missed by
// more.
func TestEvaluationsByDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 74))
	kept := 0
	for trial := range 60 {
		one := parsed(t, "format: cmdp/1\n"+drawTimes[trial%2]+"\nreturns: [gain, cost]\n"+drawRows(rng, false))
		policy := []Drawn{{1, drawPolicy(rng, one)}}
		v, _, err := NewSimulation(one, policy, 1, 1).Expected(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		change := Change{Widen: 0.2 * float64(trial%3)}
		wide, err := one.With(t.Context(), change)
		if err != nil {
			t.Fatal(err)
		}
		free := evaluated(t, wide, policy)
		for i, name := range one.Returns {
			if trial%4 == 3 { // hardly missed
				change.Bounds = append(change.Bounds, Bound{name, AtMost, free.Greatest[i] - 1e-7})
				continue
			}
			for _, kind := range []string{AtLeast, AtMost}[trial%2:] {
				room := []float64{0, 0, 1, 2}[rng.IntN(4)] * rng.NormFloat64() * (0.1 + float64(trial%3))
				change.Bounds = append(change.Bounds, Bound{name, kind, v[i] + room})
			}
		}
		q, err := one.With(t.Context(), change)
		if err != nil || q.Beyond() {
			continue
		}
		e := evaluated(t, q, policy)
		missed := 0.0
		for _, b := range change.Bounds {
			i := 0
			if b.Return == one.Returns[1] {
				i = 1
			}
			by := map[string]float64{AtLeast: b.Value - e.Least[i], AtMost: e.Greatest[i] - b.Value}[b.Kind]
			missed = max(missed, by)
		}
		if !e.Known || math.Abs(e.Violation-missed) > 1e-12 || e.Keeps != (missed < 1e-9) {
			t.Errorf("trial %d: %+v with %v: want %g to be missed", trial, e, change.Bounds, missed)
		}
		if e.Keeps {
			kept++
		}
	}
	if kept < 5 {
		t.Errorf("%d plans keep their limits", kept)
	}
}

// evaluated returns what policies can return over the set of a query.
func evaluated(t *testing.T, q *Query, policies []Drawn) *Evaluation {
	t.Helper()
	set, err := q.Set(robust.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := q.Evaluate(t.Context(), set, policies)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestMiddlesOfBounds: bounds of one model tell whether a limit is kept where both agree, or their middle where they
// are near each other; of others nothing is told.
func TestMiddlesOfBounds(t *testing.T) {
	q := parsed(t, "format: cmdp/1\ndiscount: 0.9\nstates: 2\nstart: 0\nreturns: [cost]\n"+
		"transitions: [{state: 0, action: 0, next: {1: 1}, returns: [1]}]\n")
	rows := []cmdp.Constraint{{Normal: []float64{1}, Offset: 3}}
	for _, c := range []struct {
		least, greatest float64
		keeps, open     bool
	}{
		{1, 2, true, false}, {1, 3, true, false}, {2, 4, false, true}, {2.9, 3.3, false, true}, {3.5, 9, false, false},
		{3 - 4e-6, 3 + 3e-6, true, false}, {3 - 3e-6, 3 + 4e-6, false, false}, {3 - 6e-5, 3 + 5e-5, false, true},
		{1, math.Inf(1), false, false},
	} {
		e := &Evaluation{Bounds: robust.Bounds{Least: []float64{c.least}, Greatest: []float64{c.greatest}}}
		q.judge(e, rows, []float64{10})
		if e.Keeps != c.keeps || e.Undecided != c.open {
			t.Errorf("a return from %v to %v: kept %v, undecided %v", c.least, c.greatest, e.Keeps, e.Undecided)
		}
	}
}
