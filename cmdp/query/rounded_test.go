package query

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// TestRoundedTotalsClaimNoMore: with totals rounded, bound, status and gap hold for the exact problem, which is small
// enough to be counted exactly, and the policy is none that it does not have.
func TestRoundedTotalsClaimNoMore(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 31))
	seen := make(map[string]int)
	for trial := range 180 {
		text := drawRounded(rng)
		if trial%20 == 5 { // what is curved sees both bounds of a total
			center := fmt.Sprintf("[%g, %g, 0.5, 1, 0.5]", 3*rng.Float64(), 3*rng.Float64())
			goal := []string{"goal: {cost: {norm: {p: 1, center: " + center + "}}}",
				"goal: {maximize: gain}\ntarget: {ball: {center: " + center + ", radius: 2.5}}"}[trial/20%2]
			text = regexp.MustCompile("(?m)^goal.*$|^$").ReplaceAllString(strings.TrimSpace(text)+"\n", "")
			text = strings.Replace(text, "constraints:", goal+"\nconstraints:", 1)
		}
		p := mustParse(t, text)
		if _, err := New(t.Context(), p, CompileOptions{}); trial%20 == 5 && err != nil {
			continue // a ball that nothing comes to
		}
		exactly, truth := planned(t, p, CompileOptions{})
		q, r := planned(t, p, CompileOptions{Resolution: []float64{1, 0.3}[trial%2]})
		if !q.Rounded() {
			t.Fatal("nothing is rounded")
		}
		size := 1e-7
		keeps := truth.Status == exact.Optimal
		switch {
		case truth.Status != exact.Optimal && truth.Status != exact.Infeasible:
			continue
		case r.Status == exact.Infeasible && keeps:
			t.Fatalf("trial %d: infeasible: want %g\n%v", trial, exactly.Objective(truth.Returns), p.Constraints)
		case keeps && r.Bound > truth.Objective+size:
			t.Fatalf("trial %d: bound %g beyond the optimum %g\n%v", trial, r.Bound, truth.Objective, p.Constraints)
		case r.Policy != nil && (r.Status == exact.Optimal || r.Status == exact.Stopped) &&
			(!keeps || r.Objective < truth.Objective-size):
			t.Fatalf("trial %d: objective %g: want %v %g", trial, r.Objective, truth.Status, truth.Objective)
		case r.Status == exact.Optimal && r.Objective > truth.Objective+size:
			t.Fatalf("trial %d: optimal at %g: want %g", trial, r.Objective, truth.Objective)
		case q.Task.Cost == nil && r.Status == exact.Stopped: // nothing is left to be found
			t.Fatalf("trial %d: %v without a goal", trial, r.Status)
		}
		seen[fmt.Sprint(truth.Status, " ", r.Status)]++
	}
	for _, want := range []string{"optimal optimal", "optimal stopped", "optimal undecided", "infeasible infeasible"} {
		if seen[want] == 0 {
			t.Errorf("%s: never seen among %v", want, seen)
		}
	}
}

// TestUnprovedClaimsNothing: what is left of an answer says nothing of all policies, but for what its policy proves.
func TestUnprovedClaimsNothing(t *testing.T) {
	goal, err := New(t.Context(), mustParse(t, fmt.Sprintf(walk, "[gain]", "")), CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for status, want := range map[exact.Verdict]exact.Verdict{exact.Optimal: exact.Stopped,
		exact.Stopped: exact.Stopped, exact.Infeasible: exact.Undecided, exact.Undecided: exact.Undecided,
		exact.Unbounded: exact.Unbounded} {
		of := &exact.Result{Status: status, Objective: 3, Bound: 2, Gap: 1, Certificate: new(exact.Certificate)}
		r := goal.Unproved(of)
		known := status == exact.Unbounded
		if r.Status != want || r.Certificate != nil || math.IsInf(r.Bound, -1) == known ||
			math.IsInf(r.Gap, 1) == known || math.IsNaN(r.Objective) != (status == exact.Infeasible) || of.Bound != 2 {
			t.Errorf("%v: %+v", status, r)
		}
	}
}

// TestRoundedFrontsClaimNoMore: with totals rounded, the points of a curve are no better than what the exact problem
// has, and the curve of that is no farther from their mixtures than the error, whatever is traded off.
func TestRoundedFrontsClaimNoMore(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 32))
	seen := make(map[exact.Verdict]int)
	for trial := range 70 {
		p := mustParse(t, drawRounded(rng))
		over := []Objective{{Return: "gain", Maximize: rng.IntN(2) == 0},
			{Return: []string{"much", "soon", "over"}[trial%3], Maximize: rng.IntN(2) == 0}}
		truth := curved(t, p, over, CompileOptions{})
		found := curved(t, p, over, CompileOptions{Resolution: []float64{1, 0.3}[trial%2]})
		seen[found.Status]++
		switch {
		case found.Status == exact.Infeasible && truth.Status != exact.Infeasible:
			t.Fatalf("trial %d: infeasible: want %d points\n%v", trial, len(truth.Points), p.Constraints)
		case found.Status == exact.Infeasible || found.Status == exact.Undecided:
			continue
		}
		for _, w := range [][2]float64{{1, 0}, {0, 1}, {1, 1}, {1, 3}, {3, 1}} {
			size := math.Hypot(w[0], w[1])
			want, got := truth.least(w), found.least(w)
			if got < want-1e-7*size {
				t.Fatalf("trial %d: %g in direction %v: the least is %g\n%v %v", trial, got, w, want, over, p.Constraints)
			}
			if got > want+(found.Error+1e-7)*size {
				t.Fatalf("trial %d: %g in direction %v with error %g: the least is %g\n%v %v", trial, got, w, found.Error,
					want, over, p.Constraints)
			}
		}
	}
	if seen[exact.Optimal] == 0 || seen[exact.Stopped] == 0 || seen[exact.Infeasible] == 0 {
		t.Errorf("seen %v", seen)
	}
}

// TestRoundedFleetsClaimNoMore is the same for plans of fleets, whose goals and limits see one side of a total. Of
// limits that hold with a probability nothing is claimed of all plans.
func TestRoundedFleetsClaimNoMore(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 33))
	seen := make(map[string]int)
	for trial := range 60 {
		x := func(most int) float64 { return float64(rng.IntN(8*most)) / 8 }
		goals := []string{"maximize: much", "minimize: much", "maximize: gain"}
		if trial%5 == 4 {
			goals = slices.Repeat([]string{"cost: {norm: {p: 1, center: [1, 1, 1]}}"}, 3)
		}
		wanted := "goal: {" + goals[rng.IntN(3)] +
			"}\nconstraints: [" + []string{fmt.Sprintf("{return: much, at_most: %g}", x(2)),
			fmt.Sprintf("{return: much, at_least: %g}", x(2)), fmt.Sprintf("{return: gain, at_least: %g}", x(5))}[rng.IntN(3)] + "]\n"
		model := fmt.Sprintf("returns: {gain: {}, cost: {}, much: {exceeds: {return: cost, limit: %g}}}\n%s", x(3),
			strings.ReplaceAll(drawRows(rng, false), ": -", ": "))
		p := mustParse(t, "format: cmdp/1\nhorizon: 3\nreturns: [gain, cost, much]\n"+wanted+
			"fleet:\n  - name: one\n    count: 2\n    model:\n      "+strings.ReplaceAll(model, "\n", "\n      "))
		_, truth := planned(t, p, CompileOptions{})
		q, err := New(t.Context(), p, CompileOptions{Resolution: 0.3})
		if err != nil {
			if !strings.Contains(err.Error(), "is rounded") {
				t.Fatal(err)
			}
			seen["refused"]++
			continue
		}
		plan, err := q.SolveFleet(t.Context(), exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		keeps, r := truth.Status == exact.Optimal, plan.Result
		switch {
		case r.Status == exact.Infeasible && keeps, keeps && r.Bound > truth.Objective+1e-7,
			keepsLimits(r) && (!keeps || r.Objective < truth.Objective-1e-7),
			r.Status == exact.Optimal && r.Objective > truth.Objective+1e-7,
			r.Status == exact.Undecided && trial%5 == 4 && !math.IsNaN(r.Objective):
			t.Fatalf("trial %d: %v %g, bound %g: want %v %g\n%s", trial, r.Status, r.Objective, r.Bound, truth.Status,
				truth.Objective, wanted)
		}
		seen[fmt.Sprint(truth.Status, " ", r.Status)]++
		if trial%6 > 0 {
			continue
		}
		safe, err := q.SolveFleetSafely(t.Context(), 0.9, 1, exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []*exact.Result{safe.Plan.Result, safe.Without.Result} {
			if r.Status == exact.Optimal || r.Status == exact.Infeasible || !math.IsInf(r.Bound, -1) {
				t.Errorf("trial %d: safe: %v with bound %g", trial, r.Status, r.Bound)
			}
		}
	}
	for _, want := range []string{"optimal optimal", "optimal stopped", "infeasible infeasible", "refused"} {
		if seen[want] == 0 {
			t.Errorf("%s: never seen among %v", want, seen)
		}
	}
}

// curved returns a curve.
func curved(t *testing.T, p *problem.Problem, over []Objective, opts CompileOptions) *Front {
	t.Helper()
	q, err := New(t.Context(), p, opts)
	if err != nil && (q == nil || !q.Beyond()) {
		t.Fatal(err)
	}
	f, err := q.Front(t.Context(), over, exact.FrontOptions{Error: 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	if !q.Rounded() {
		return f
	}
	c, err := q.Curve(t.Context(), over, exact.FrontOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[bool]exact.Verdict{true: exact.Stopped, false: exact.Undecided}[len(c.Points) > 0]
	if c.Status != want || !math.IsNaN(c.Error) {
		t.Errorf("%v with error %g and %d points of rounded totals: want %v", c.Status, c.Error, len(c.Points), want)
	}
	d, err := q.DeterministicFront(t.Context(), [2]Objective(over), exact.DeterministicOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if d.Status != exact.Undecided && (d.Status != exact.Stopped || len(d.Points) == 0) {
		t.Errorf("%v with %d points of policies that do not draw, of rounded totals", d.Status, len(d.Points))
	}
	return f
}

// least returns the least w·y over the points of a curve.
func (f *Front) least(w [2]float64) float64 {
	least := math.Inf(1)
	for _, p := range f.Points {
		least = min(least, w[0]*p.Objectives[0]+w[1]*p.Objectives[1])
	}
	return least
}

// planned returns the best query of a problem and its answer.
func planned(t *testing.T, p *problem.Problem, opts CompileOptions) (*Query, *exact.Result) {
	t.Helper()
	q, err := New(t.Context(), p, opts)
	if err != nil && (q == nil || !q.Beyond()) {
		t.Fatal(err)
	}
	q, err = q.Best(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := q.Solve(t.Context(), exact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return q, r
}

// drawRounded draws a problem with limits and goals about totals in eighths, none of them below 0.
func drawRounded(rng *rand.Rand) string {
	x := func(most int) float64 { return float64(rng.IntN(8*most)) / 8 }
	limit := []string{
		"{return: cost, at_most: %g, always: true}", "{return: cost, at_least: %g, always: true}",
		"{return: cost, at_most: %g, probability: 0.75}", "{return: cost, at_least: %g, probability: 0.625}",
		"{return: cost, at_most: %g, cvar: 0.25}", "{return: cost, at_least: %g, cvar: 0.5}",
	}[rng.IntN(6)]
	constraints := fmt.Sprintf(limit, x(3))
	constraints += []string{"", fmt.Sprintf(", {return: gain, at_least: %g}", x(3)), ", {return: much, at_most: 0.5}",
		", {return: soon, at_least: 0.25}"}[rng.IntN(4)]
	goal := []string{"goal: {maximize: gain}", "goal: {maximize: much}", "goal: {minimize: much}",
		"goal: {maximize: soon}", "goal: {minimize: over}", ""}[rng.IntN(6)]
	return fmt.Sprintf("format: cmdp/1\nhorizon: 3\nreturns: {gain: {}, cost: {}, much: {exceeds: {return: cost, limit: %g}}, "+
		"over: {excess: {return: cost, limit: %g}}, soon: {reach: c, within: {return: cost, at_most: %g}}}\n"+
		"%s\nconstraints: [%s]\n%s", x(3), x(3), x(2), goal, constraints,
		strings.ReplaceAll(drawRows(rng, false), ": -", ": "))
}

// TestRoundedAnswersHold: with totals that are rounded, what is planned keeps all limits as they are, and neither it
// nor a chance that is the goal is better than can be.
func TestRoundedAnswersHold(t *testing.T) {
	plays := walkPlays()
	rng := rand.New(rand.NewPCG(27, 29))
	kept := 0
	for trial := range 120 {
		list := split(drawLimits(rng))
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		if trial%2 == 0 { // the tail first
			slices.SortStableFunc(list, func(a, b askedLimit) int { return strings.Compare(b.kind, a.kind) })
		}
		list = list[:min(len(list), 1+trial%4)]
		var texts []string
		for _, l := range list {
			texts = append(texts, l.String())
		}
		goal, way, f := "maximize: gain", -1.0, func(x float64) float64 { return x }
		if trial%3 > 0 {
			goal, f = "maximize: much", much
		}
		if trial%3 == 1 {
			goal, way = "minimize: much", 1
		}
		text := fmt.Sprintf(walk, "{gain: {}, much: {exceeds: {return: gain, limit: 4}}}",
			"constraints: ["+strings.Join(texts, ", ")+"]")
		p := mustParse(t, strings.Replace(text, "maximize: gain", goal, 1))
		q, err := New(t.Context(), p, CompileOptions{Resolution: []float64{1.5, 0.7}[trial/2%2]})
		if err == nil || errors.Is(err, geometry.ErrEmpty) && q.Beyond() {
			q, err = q.Best(t.Context())
		}
		if err != nil && !errors.Is(err, geometry.ErrEmpty) {
			t.Fatal(err)
		}
		if err != nil {
			continue
		}
		r := solved(t, q)
		if r.Status != exact.Optimal {
			continue
		}
		kept++
		if n := len(q.Of(WorstEpisodes)); n > 0 {
			thresholds := make([]float64, n)
			for i := range thresholds {
				thresholds[i] = q.options.Resolution * float64(rng.IntN(12))
			}
			at, err := q.At(t.Context(), thresholds)
			if other := (*exact.Result)(nil); err == nil {
				if other = solved(t, at); other.Status == exact.Optimal && other.Objective < r.Objective-1e-6 {
					t.Errorf("trial %d: %s, %v: %g, but %g at %v", trial, goal, list, r.Objective, other.Objective, thresholds)
				}
			}
		}
		best := leastOf(t, plays, func(x float64) float64 { return way * f(x) }, list, nil)
		if r.Objective < best-1e-6 {
			t.Errorf("trial %d: %s, %v: %g: nothing is below %g", trial, goal, list, r.Objective, best)
		}
		totals := make(map[float64]float64)
		for _, c := range Draws(r.Policy, r.Mixture) {
			of, _ := outcomes(q, c.Policy, 0)
			for x, p := range of {
				totals[x] += c.Weight * p
			}
		}
		for i, s := range sides(list, slices.Repeat([]float64{0}, len(list))) {
			missed := -s.at
			for x, p := range totals {
				missed += p * s.f(x)
			}
			if s.kind == "worst" {
				missed = list[i].least - worst(totals, s.share)
			}
			if s.kind == "worst" && !s.atLeast {
				mirrored := make(map[float64]float64)
				for x, p := range totals {
					mirrored[-x] = p
				}
				missed = -worst(mirrored, s.share) - list[i].most
			}
			if missed > 1e-7 {
				t.Errorf("trial %d: %s: %v misses %s %s by %g", trial, goal, list, s.kind, s.name, missed)
			}
		}
	}
	if kept < 20 {
		t.Errorf("%d plans: want more", kept)
	}
}

// TestCurvedTotalsAtTheirWorst: of returns that are known up to two bounds, the greatest cost at any choice of one of
// them for each is what is said of a curved goal, and a target is kept where all choices lie in it.
func TestCurvedTotalsAtTheirWorst(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 34))
	open := 0
	for trial := range 60 {
		p := mustParse(t, regexp.MustCompile("(?m)^constraints.*$").ReplaceAllString(drawRounded(rng), ""))
		center := []float64{3 * rng.Float64(), 3 * rng.Float64(), rng.Float64(), 3 * rng.Float64(), rng.Float64()}
		p.Goal = problem.Goal{Cost: &problem.Cost{Norm: &problem.Norm{P: 1, Center: center}}}
		p.Target = &problem.Set{Ball: &problem.Ball{Center: center, Radius: 2.5}}
		q, err := New(t.Context(), p, CompileOptions{Resolution: 0.3})
		if err != nil {
			continue // a ball that nothing comes to
		}
		r := &exact.Result{Status: exact.Optimal, Policy: exact.NewPolicy(nil)}
		for i, least := range q.Task.Box.Lower() {
			r.Returns = append(r.Returns, least+rng.Float64()*(q.Task.Box.Upper()[i]-least))
		}
		choices := [][]float64{r.Returns}
		for i, name := range p.Returns {
			j := max(slices.Index(q.Returns, name+lowerBound), slices.Index(q.Returns, name+upperBound))
			for _, v := range slices.Clone(choices) {
				if other := slices.Clone(v); j >= 0 {
					other[i] = r.Returns[j]
					choices = append(choices, other)
				}
			}
		}
		r.Objective = q.Task.Cost.Value(r.Returns)
		cost, want := math.Inf(-1), exact.Optimal
		for _, v := range choices {
			cost = max(cost, q.Task.Cost.Value(v))
			if floats.Distance(v[:5], center, 2) > 2.5 {
				want = exact.Undecided
			}
		}
		if want == exact.Undecided {
			open++
		}
		got := certification{Query: q}.atWorst(r)
		if got.Objective != cost || got.Status != want || len(choices) < 4 {
			t.Errorf("trial %d: %v with %g of %d choices: want %v with %g", trial, got.Status, got.Objective,
				len(choices), want, cost)
		}
	}
	if open < 10 {
		t.Errorf("%d targets are missed at the worst", open)
	}
}
