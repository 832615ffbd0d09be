package query

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
)

// worst returns the mean of the lowest part of outcomes, by sorting them.
func worst(totals map[float64]float64, part float64) float64 {
	var values []float64
	for x := range totals {
		values = append(values, x)
	}
	slices.Sort(values)
	left, sum := part, 0.0
	for _, x := range values {
		q := min(left, totals[x])
		left, sum = left-q, sum+q*x
	}
	return sum / part
}

// TestWorstEpisodes: the policy that is planned keeps the mean of its worst episodes, by sorting them; it has the mean
// that is promised; and no policy of a fine grid of policies with memory that keeps it has more.
func TestWorstEpisodes(t *testing.T) {
	for _, c := range []struct{ part, bound float64 }{{0.25, 1.5}, {0.25, 2}, {0.1, 0.5}, {0.5, 2.5}, {1, 3}} {
		p := parsed(t, fmt.Sprintf(walk, "[gain]", fmt.Sprintf("constraints: [{return: gain, at_least: %g, cvar: %g}]",
			c.bound, c.part)))
		p, err := p.Best(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r := solved(t, p)
		if r.Status != exact.Optimal {
			t.Errorf("%+v: %v", c, r.Status)
			continue
		}
		totals, mean := outcomes(p, r.Policy, 0)
		if got := worst(totals, c.part); got < c.bound-1e-9 || math.Abs(mean+r.Objective) > 1e-9 {
			t.Errorf("%+v: the worst have the mean %g, all %g, promised %g", c, got, mean, -r.Objective)
		}
		if grid := bestOfGrid(c.part, c.bound); grid > -r.Objective+1e-9 {
			t.Errorf("%+v: %g, but a policy with %g exists", c, -r.Objective, grid)
		}
	}
}

// TestThresholdsLeftOpen: what is found at one threshold is no optimum where another is open that may have a better
// one, and no proof that there is none.
func TestThresholdsLeftOpen(t *testing.T) {
	q := parsed(t, fmt.Sprintf(walk, "[gain]", "constraints: [{return: gain, at_least: 1, cvar: 0.5}]"))
	answer := func(s exact.Verdict, objective, bound float64) *exact.Result {
		return &exact.Result{Status: s, Objective: objective, Bound: bound, Gap: objective - bound,
			Violation: map[exact.Verdict]float64{exact.Undecided: 0.5, exact.Infeasible: 0.25}[s]}
	}
	best := answer(exact.Optimal, 2, 2)
	none := answer(exact.Infeasible, 0, math.Inf(1))
	for name, c := range map[string]struct {
		others []*exact.Result
		want   exact.Verdict
		bound  float64
	}{
		"alone":         {[]*exact.Result{best, none}, exact.Optimal, 2},
		"better, open":  {[]*exact.Result{best, answer(exact.Undecided, 2.5, 1)}, exact.Undecided, 1},
		"open before":   {[]*exact.Result{answer(exact.Stopped, 3, 1), best}, exact.Undecided, 1},
		"worse, open":   {[]*exact.Result{best, answer(exact.Undecided, 5, 3)}, exact.Optimal, 2},
		"a rough bound": {[]*exact.Result{best, answer(exact.Optimal, 2.1, 1.9)}, exact.Optimal, 1.9},
		"none, open":    {[]*exact.Result{none, answer(exact.Undecided, 1, 0)}, exact.Undecided, 0},
		"none":          {[]*exact.Result{none, none}, exact.Infeasible, math.Inf(1)},
	} {
		n := 0
		_, r, err := q.BestOf(func([]float64) (*Query, *exact.Result, error) {
			n++
			return q, c.others[min(n, len(c.others))-1], nil
		})
		if err != nil || n < 2 || r.Status != c.want || r.Bound != c.bound {
			t.Errorf("%s: %v with bound %g, error %v, %d thresholds: want %v with %g", name, r.Status, r.Bound, err, n,
				c.want, c.bound)
		}
	}
}

// TestBestOfRandomAnswers draws answers for the thresholds of the worst episodes. The best one is said by status, then
// by objective or violation, and its bound holds for all.
func TestBestOfRandomAnswers(t *testing.T) {
	q := parsed(t, fmt.Sprintf(walk, "[gain]", "constraints: [{return: gain, at_least: 1, cvar: 0.5}]"))
	rng := rand.New(rand.NewPCG(23, 42))
	rank := map[exact.Verdict]int{exact.Unbounded: 3, exact.Optimal: 2, exact.Undecided: 1, exact.Stopped: 1}
	for trial := range 500 {
		var all []*exact.Result
		want := new(exact.Result)
		bound, open := math.Inf(1), math.Inf(1)
		_, _, err := q.BestOf(func([]float64) (*Query, *exact.Result, error) {
			r := &exact.Result{Violation: float64(rng.IntN(5)), Objective: float64(rng.IntN(9)), Bound: math.Inf(1)}
			switch rng.IntN(8) {
			case 0, 1, 2:
				r.Status, r.Violation, r.Bound = exact.Optimal, 0, r.Objective
			case 3:
				r.Status, r.Bound = exact.Undecided, float64(rng.IntN(9))
			case 4:
				r.Status, r.Bound = exact.Stopped, float64(rng.IntN(9))
				if rng.IntN(2) == 0 { // before anything was known
					r.Violation = math.NaN()
				}
			case 5:
				if rng.IntN(4) == 0 {
					r.Status, r.Violation, r.Objective, r.Bound = exact.Unbounded, 0, math.Inf(-1), math.Inf(-1)
					break
				}
				fallthrough
			default:
				r.Status = exact.Infeasible
			}
			if rank[r.Status] == 1 {
				open = min(open, r.Bound)
			}
			bound = min(bound, r.Bound)
			all = append(all, r)
			return q, r, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range all {
			by, than := rank[r.Status], rank[want.Status]
			missed, least := r.Violation, want.Violation
			closer := missed < least || math.IsNaN(least) && !math.IsNaN(missed) ||
				missed == least && r.Objective < want.Objective && by == rank[exact.Optimal]
			if i == 0 || by > than || by == than && closer {
				want = r
			}
		}
		n := 0
		_, got, err := q.BestOf(func([]float64) (*Query, *exact.Result, error) {
			n++
			return q, all[n-1], nil
		})
		if err != nil {
			t.Fatal(err)
		}
		status, of := want.Status, *want
		if status != exact.Unbounded {
			of.Bound = bound
		}
		if status == exact.Optimal {
			of.Gap = of.Objective - bound
			if open < of.Objective {
				status = exact.Undecided
			}
		}
		same := got.Violation == of.Violation || math.IsNaN(got.Violation) && math.IsNaN(of.Violation)
		if got.Status != status || !same || got.Objective != of.Objective ||
			got.Bound != of.Bound || got.Gap != of.Gap {
			t.Errorf("trial %d: %+v: want %v, %+v", trial, got, status, of)
		}
	}
}

// TestThresholdSearch: what an answer at some thresholds proves about others is true of the answers there, and not
// idle: with and without a goal, with limits from both sides and two of them at a time.
func TestThresholdSearch(t *testing.T) {
	proved, close := 0, 0
	for trial := range 60 {
		rng := rand.New(rand.NewPCG(uint64(trial), 71))
		p := drawWorst(t, rng)
		p.Constraints = p.Constraints[rng.IntN(2):]
		if trial%2 == 0 {
			p.Goal.Minimize = p.Returns[rng.IntN(2)]
		}
		q, err := New(t.Context(), p, CompileOptions{})
		if err != nil {
			continue
		}
		var all []*Query
		var answers []*exact.Result
		err = q.EachThreshold(t.Context(), func(at *Query) error {
			if at.Task.Target == nil { // limits contradict each other
				return nil
			}
			r, err := at.Solve(t.Context(), exact.Options{Workers: 1})
			all, answers = append(all, at), append(answers, r)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, from := range all {
			var search thresholdSearch
			search.learn(from, answers[i])
			for j, r := range answers {
				cost, missed := search.bounds(thresholdsOf(all[j]))
				if missed > r.Violation+1e-9 || r.Status == exact.Optimal && cost > r.Objective+1e-9 {
					t.Errorf("trial %d: %v at %v, %v at %v, which is to cost %g at least, or to miss %g", trial,
						answers[i].Status, thresholdsOf(from), r.Status, thresholdsOf(all[j]), cost, missed)
				}
				if r.Status != exact.Optimal {
					cost = math.Inf(-1)
				}
				if i != j && (cost > r.Objective-1e-9 && p.Goal.Minimize != "" || missed > 0) {
					proved++
				}
				if i == j && (math.Abs(cost-r.Objective) < 1e-9 || math.Abs(missed-r.Violation) < 1e-9) {
					close++
				}
			}
		}
	}
	if proved < 500 || close < 200 {
		t.Errorf("%d answers are proved elsewhere, %d where they are found: want more", proved, close)
	}
}

// TestFewThresholdsTried: of a hundred thresholds few are planned for, and the answer is that of all: the optimum or
// the least violation.
func TestFewThresholdsTried(t *testing.T) {
	const file = `
format: cmdp/1
discount: 1
states: 2
start: 0
returns: [steps, toll]
%s
constraints: [{return: steps, at_most: 110, cvar: 0.5}, {return: toll, at_most: %g}]
transitions:
  - {state: 0, action: 0, next: {0: 0.99, 1: 0.01}, returns: {steps: 1}}
  - {state: 0, action: 1, next: {0: 0.95, 1: 0.05}, returns: {steps: 1, toll: 1}}
`
	for name, c := range map[string]struct {
		goal string
		toll float64
	}{"optimal": {"goal: {minimize: toll}", 30}, "kept": {"", 30}, "infeasible": {"", 8}} {
		q := parsed(t, fmt.Sprintf(file, c.goal, c.toll))
		cost, violation := math.Inf(1), math.Inf(1)
		err := q.EachThreshold(t.Context(), func(at *Query) error {
			r, err := at.Solve(t.Context(), exact.Options{})
			if err != nil {
				return err
			}
			violation = min(violation, r.Violation)
			if r.Status == exact.Optimal {
				cost = min(cost, r.Objective)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		tried := 0
		_, r, err := q.BestOf(func(thresholds []float64) (*Query, *exact.Result, error) {
			tried++
			of, err := q.At(t.Context(), thresholds)
			if err != nil {
				return nil, nil, err
			}
			r, err := of.Solve(t.Context(), exact.Options{})
			return of, r, err
		})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(q.Limits[0].Thresholds); tried > n/2 || n < 100 || math.Abs(r.Violation-violation) > 1e-6 ||
			r.Status == exact.Optimal && math.Abs(r.Objective-cost) > 1e-7 {
			t.Errorf("%s: %v, cost %g, violation %g at %d of %d thresholds: want %g, %g at few", name, r.Status,
				r.Objective, r.Violation, tried, n, cost, violation)
		}
		checkStopped(t, name, q, r)
	}
}

// TestLimitsKeptWithoutEnd: where every policy that keeps the limits has an infinite total, and no policy keeps them at
// other thresholds of the worst episodes, the total is named. The limits are not called in conflict.
func TestLimitsKeptWithoutEnd(t *testing.T) {
	q := parsed(t, `
format: cmdp/1
discount: 1
states: [home, away, done, out]
start: home
returns: {time: {}, fuel: {}, arrive: {reach: done}}
goal: {minimize: time}
constraints:
  - {return: arrive, at_least: 0.7}
  - {return: fuel, at_most: 2, cvar: 0.5}
  - {return: fuel, at_most: 2, always: true}
transitions:
  - {state: home, action: leave, next: {out: 1}, returns: {time: 1}}
  - {state: home, action: work, next: {done: 0.5, away: 0.5}, returns: {time: 1, fuel: 1}}
  - {state: away, action: work, next: {done: 0.5, away: 0.5}, returns: {time: 1, fuel: 1}}
  - {state: away, action: wait, next: {away: 1}, returns: {time: 1}}
`)
	best, err := q.Best(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r, err := best.Solve(t.Context(), exact.Options{}); !keptWithoutEnd(err) {
		t.Errorf("%+v, error %v: want that time has no end", r, err)
	}
	over := []Objective{{"time", false}, {"arrive", true}}
	if f, err := q.Front(t.Context(), over, exact.FrontOptions{}); !keptWithoutEnd(err) {
		t.Errorf("curve %+v, error %v: want that time has no end", f, err)
	}
}

// TestCurveWithoutTime: a curve whose time is over does not go through all thresholds to say so.
func TestCurveWithoutTime(t *testing.T) {
	q := parsed(t, `
format: cmdp/1
horizon: 50
states: 2
start: 0
returns: [steps, toll]
constraints: [{return: steps, at_most: 40, cvar: 0.5}, {return: toll, at_most: 30, cvar: 0.5}]
transitions:
  - {state: 0, action: 0, next: {0: 0.99, 1: 0.01}, returns: {steps: 1}}
  - {state: 0, action: 1, next: {0: 0.95, 1: 0.05}, returns: {steps: 1, toll: 1}}
`)
	choices := len(q.Limits[0].Thresholds) * len(q.Limits[1].Thresholds)
	allocated := testing.AllocsPerRun(1, func() {
		f, err := q.Front(t.Context(), []Objective{{"steps", true}, {"toll", false}},
			exact.FrontOptions{Options: exact.Options{Budget: 1}})
		if err != nil || f.Status != exact.Stopped || len(f.Parts) != 1 || !math.IsInf(f.Error, 1) {
			t.Fatalf("%+v, %v: want nothing but that it was stopped", f, err)
		}
	})
	if choices < 1000 || allocated > float64(choices) {
		t.Errorf("%g allocations for %d choices of thresholds", allocated, choices)
	}
}

// checkStopped: a search for thresholds that ends after any look at the clock says so where others may be better. Its
// bound holds for all of them, and is at least that without limits once one was tried.
func checkStopped(t *testing.T, name string, q *Query, want *exact.Result) {
	t.Helper()
	free, err := exact.Solve(t.Context(), q.Model, cmdp.Task{Cost: q.Task.Cost, Box: q.Task.Box}, exact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stopped, last := 0, math.Inf(1)
	for looks := 0; ; looks += 1 + looks/4 {
		all, left := newBounds(), looks
		all.clock = &clock{end: time.Unix(1e6, 0), now: func() time.Time {
			left--
			if left < 0 {
				return time.Unix(1e6, 0)
			}
			return time.Unix(0, 0)
		}}
		early, err := q.bestIn(t.Context(), all)
		if err != nil {
			t.Fatal(err)
		}
		r, err := early.Solve(t.Context(), exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case r.Status == exact.Stopped:
			stopped++
			if r.Certificate != nil || !r.HasPolicy() && !math.IsInf(r.Gap, 1) {
				t.Errorf("%s, %d looks: certificate %v, gap %g", name, looks, r.Certificate, r.Gap)
			}
		case early.Early() && r.HasPolicy() && q.Task.Cost != nil:
			t.Errorf("%s, %d looks: %v, but there was no time for all thresholds", name, looks, r.Status)
		case r.Status != want.Status || math.Abs(r.Violation-want.Violation) > 1e-6:
			t.Errorf("%s, %d looks: %v, violation %g: want %v, %g", name, looks, r.Status, r.Violation, want.Status,
				want.Violation)
		}
		if want.Status == exact.Optimal && r.Bound > want.Objective+1e-7 ||
			q.Task.Cost != nil && looks > 6 && r.Bound < free.Bound-1e-9 {
			t.Errorf("%s, %d looks: at least %g: the optimum is %g, and %g without limits", name, looks, r.Bound,
				want.Objective, free.Bound)
		}
		if r.HasPolicy() && r.Status != exact.Infeasible {
			if want.Status != exact.Optimal || r.Objective < want.Objective-1e-7 || r.Objective > last+1e-7 {
				t.Errorf("%s, %d looks: %g after %g: the optimum is %g", name, looks, r.Objective, last, want.Objective)
			}
			last = r.Objective
		}
		if left >= 0 {
			break
		}
	}
	if stopped == 0 {
		t.Errorf("%s: was never stopped", name)
	}
}

// bestOfGrid returns the best mean among policies of walk: the probability of being bold first, and after
// each total, in tenths.
func bestOfGrid(part, bound float64) float64 {
	best := math.Inf(-1)
	gains := map[float64]float64{0: 0.25, 2: 0.5, 4: 0.25}
	tenth := func(n, digit int) float64 { return float64(n/int(math.Pow(6, float64(digit)))%6) / 5 }
	for n := range 6 * 6 * 6 * 6 * 6 {
		after := map[float64]float64{1: tenth(n, 0), 0: tenth(n, 1), 2: tenth(n, 2), 4: tenth(n, 3)}
		first := tenth(n, 4)
		totals, mean := make(map[float64]float64), 0.0
		for x, b := range after {
			q := 1 - first
			if x != 1 {
				q = first * gains[x]
			}
			totals[x+1] += q * (1 - b)
			for y, z := range gains {
				totals[x+y] += q * b * z
			}
		}
		for x, q := range totals {
			mean += x * q
		}
		if mean > best && worst(totals, part) >= bound {
			best = mean
		}
	}
	return best
}

// TestFoundIsAsGoodAsAsked: what the search for thresholds found of classes that are joined is the answer only where
// its gap is as small as is asked for.
func TestFoundIsAsGoodAsAsked(t *testing.T) {
	const text = `{"format": "cmdp/1", "criterion": "average", "states": 3, "start": {"2": 1},
		"returns": {"near": {}, "far": {}, "paid": {"criterion": "total"}}, "transitions": [
		{"state": 0, "action": "stay", "next": {"0": 1}, "returns": {"near": 1}},
		{"state": 0, "action": "go", "next": {"1": 1}},
		{"state": 1, "action": "stay", "next": {"1": 1}, "returns": {"far": 1}},
		{"state": 1, "action": "go", "next": {"0": 1}},
		{"state": 2, "action": "0", "outcomes": [{"probability": 0.5, "next": 0, "returns": {"paid": 1}},
			{"probability": 0.5, "next": 0}]}],
		"goal": {"maximize": "near"},
		"constraints": [{"return": "far", "at_least": 0.5}, {"return": "paid", "at_most": 1, "cvar": 0.5}]}`
	for _, gap := range []float64{0, 1e-8, 1e-6, 1e-3} {
		q := parsed(t, text)
		best, err := q.Best(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		opts := exact.Options{JoinGap: gap}
		got, err := best.Solve(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		want, err := exact.Solve(t.Context(), best.Model, best.Task, opts)
		if err != nil {
			t.Fatal(err)
		}
		if (got.Joined == nil) != (want.Joined == nil) || got.Gap > max(2*want.Gap, 1e-9) {
			t.Errorf("with %g for joining: gap %g, %+v: want %g, %+v", gap, got.Gap, got.Joined, want.Gap, want.Joined)
		}
	}
}

// TestDeterministicAtEveryThreshold: the best policy that never draws is the best over all thresholds, each searched
// alone, and not only that at the threshold that is best for policies that draw.
func TestDeterministicAtEveryThreshold(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 31))
	elsewhere := 0
	for trial := range 60 {
		rows := ""
		for choice := range 9 {
			p := float64(1+rng.IntN(9)) / 10
			rows += fmt.Sprintf("  - {state: %d, action: %d, next: {%d: %g, %d: %g}, returns: [%g, %d]}\n", choice/3, choice%3,
				rng.IntN(2), p, 2, 1-p, float64(rng.IntN(40))/10, rng.IntN(4))
		}
		q := parsed(t, fmt.Sprintf("format: cmdp/1\nhorizon: 3\nstates: 3\nstart: 0\nreturns: [gain, cost]\n"+
			"goal: {maximize: gain}\nconstraints: [{return: cost, at_most: %d, cvar: %g}]\ntransitions:\n%s", 2+rng.IntN(4),
			float64(1+rng.IntN(5))/10, rows))
		want := &exact.DeterministicResult{Status: exact.Infeasible, Objective: math.Inf(1)}
		err := q.EachThreshold(t.Context(), func(at *Query) error {
			r, err := exact.SolveDeterministic(t.Context(), at.Model, at.Task, exact.DeterministicOptions{})
			if err == nil && r.Status == exact.Optimal && r.Objective < want.Objective {
				want = r
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		best, err := q.Best(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		at, got, err := best.SolveDeterministic(t.Context(), exact.DeterministicOptions{})
		if err != nil {
			t.Fatal(err)
		}
		differ := got.Policy != nil && math.Abs(got.Objective-want.Objective) > 1e-8
		if got.Status != want.Status || differ || got.Policy != nil && at.Task.Violation(got.Returns) > got.Tolerance {
			t.Errorf("trial %d: %v with %g: want %v with %g", trial, got.Status, got.Objective, want.Status, want.Objective)
		}
		for _, opts := range []exact.DeterministicOptions{{Nodes: 1}, {Nodes: 5}, {Options: exact.Options{Gap: 0.2}}} {
			_, cut, err := best.SolveDeterministic(t.Context(), opts)
			if err != nil {
				t.Fatal(err)
			}
			found := math.Inf(1) // by the same search at any threshold
			err = q.EachThreshold(t.Context(), func(at *Query) error {
				r, err := exact.SolveDeterministic(t.Context(), at.Model, at.Task, opts)
				if err == nil && r.Policy != nil {
					found = min(found, r.Objective)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			most := want.Objective + 1e-8 + opts.Gap*max(1, math.Abs(cut.Objective))
			if cut.Bound > want.Objective+1e-8 || cut.Status == exact.Infeasible && want.Status != cut.Status ||
				cut.Status == exact.Optimal && !(cut.Objective <= most) || cut.Policy == nil && found < math.Inf(1) ||
				opts.Gap == 0 && cut.Policy != nil && cut.Objective > found+1e-8 {
				t.Errorf("trial %d, %d nodes, gap %g: %v with %g, at least %g, of %g: the optimum is %g", trial, opts.Nodes,
					opts.Gap, cut.Status, cut.Objective, cut.Bound, found, want.Objective)
			}
		}
		if alone, err := exact.SolveDeterministic(t.Context(), best.Model, best.Task,
			exact.DeterministicOptions{}); err == nil && alone.Objective > want.Objective+1e-8 {
			elsewhere++
		}
	}
	if elsewhere == 0 {
		t.Error("no best policy has another threshold than those that draw")
	}
}
