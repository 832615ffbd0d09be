package query

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/robust"
	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/floats"
)

// drawRows draws the transitions of a problem of three states and the returns gain and cost, in eighths. Actions of a
// state without rows are a rest. With ends every step may come to the rest, where all is over.
func drawRows(rng *rand.Rand, ends bool) string {
	var b strings.Builder
	eighths := func() float64 { return float64(rng.IntN(17)-4) / 8 }
	b.WriteString("states: [a, b, c]\nstart: {a: 0.5, b: 0.25, c: 0.25}\ntransitions:\n")
	for _, s := range []string{"a", "b", "c"} {
		if s == "c" && (ends || rng.IntN(2) == 0) {
			continue
		}
		for action := range 2 {
			fmt.Fprintf(&b, "  - {state: %s, action: %d, outcomes: [", s, action)
			for outcome := range 2 {
				next := []string{"a", "b", "c"}[rng.IntN(3)]
				if ends && outcome == 0 {
					next = "c"
				}
				fmt.Fprintf(&b, "{probability: 0.5, next: %s, returns: {gain: %g, cost: %g}},", next, eighths(), eighths())
			}
			b.WriteString("]}\n")
		}
	}
	return b.String()
}

// TestBoxHoldsAllReturns: with every kind of time the box of possible returns holds those of each policy that never
// draws, and the box of a set of models that of the model.
func TestBoxHoldsAllReturns(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 51))
	for trial := range 60 {
		restore := func() {}
		if trial%2 == 0 { // as boxes of large models are
			restore = threshold.Lower()
		}
		time := []string{"horizon: 3", "discount: 0.75", "discount: 1", "criterion: average", "discount: 1"}[trial%5]
		returns := "returns: [gain, cost]\n"
		if trial%5 == 4 {
			returns = "returns: {gain: {}, cost: {criterion: average}}\n"
		}
		q := parsed(t, "format: cmdp/1\n"+time+"\n"+returns+drawRows(rng, trial%5 == 2 || trial%5 == 4))
		wide, err := q.With(t.Context(), Change{Widen: 0.1})
		restore()
		lower, upper := q.Task.Box.Lower(), q.Task.Box.Upper()
		for i := range lower {
			if err != nil || wide.Task.Box.Lower()[i] > lower[i]+1e-9 || wide.Task.Box.Upper()[i] < upper[i]-1e-9 {
				t.Errorf("trial %d: the box of a set of models does not hold that of one of them, error %v", trial, err)
			}
		}
		if trial%5 == 3 { // means lie between the returns of steps, of which a rest is one
			checkSteps(t, trial, q)
		}
		for n := range 8 {
			rule := []int32{int32(n % 2), int32(n / 2 % 2), int32(n / 4)}
			for s := range rule {
				if first, end := q.Model.Rows(0).Choices(s); first == end {
					rule[s] = 0
				}
			}
			policy := cmdp.Deterministic(slices.Repeat([][]int32{rule}, max(1, q.Model.Horizon())))
			v, _, err := NewSimulation(q, []Drawn{{1, policy}}, 1, 1).Expected(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i, x := range v {
				if x < lower[i]-1e-9 || x > upper[i]+1e-9 {
					t.Errorf("trial %d: %s is %g: want it in the box, from %g to %g", trial, q.Returns[i], x, lower[i],
						upper[i])
				}
			}
		}
	}
}

// checkSteps: a box has the least and the greatest returns of a step, and no others.
func checkSteps(t *testing.T, trial int, q *Query) {
	t.Helper()
	rows := q.Model.Rows(0)
	for i := range q.Returns {
		least, most := math.Inf(1), math.Inf(-1)
		for s := range q.Model.States() {
			first, end := rows.Choices(s)
			if first == end {
				least, most = min(least, 0), max(most, 0)
			}
			for c := first; c < end; c++ {
				next, _ := rows.Row(c)
				for e := range next {
					least, most = min(least, rows.Outcome(c, e)[i]), max(most, rows.Outcome(c, e)[i])
				}
			}
		}
		if lower, upper := q.Task.Box.Lower()[i], q.Task.Box.Upper()[i]; lower != least || upper != most {
			t.Errorf("trial %d: the box of %s is from %g to %g: want %g to %g", trial, q.Returns[i], lower, upper, least, most)
		}
	}
}

// said is all that a query says of its limits, what is best, and what it costs to keep them.
func said(t *testing.T, q *Query, err error) string {
	t.Helper()
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, l := range q.Limits {
		fmt.Fprintf(&b, "%s, %v of %v in %d, %v, %s %s %g, from %g of %v, for %s %v %g\n", l.Name, l.Scope, l.Share,
			l.Step, l.Enforced(), l.Return, l.Kind(), l.Bound, l.Threshold, l.Thresholds, l.expected.name,
			l.expected.atLeast, l.expected.bound)
	}
	r, err := q.Solve(t.Context(), exact.Options{})
	if err != nil {
		return err.Error()
	}
	fmt.Fprintf(&b, "%v, missed by %.6f\n", r.Status, r.Violation)
	planner, err := q.Planner()
	if err != nil {
		t.Fatal(err)
	}
	free, err := planner.Solve(t.Context(), cmdp.Task{Box: q.Task.Box, Cost: q.Task.Cost}, exact.Options{})
	if err != nil {
		return err.Error()
	}
	fmt.Fprintf(&b, "%.6f without limits\n", q.Sense()*free.Objective+0)
	if r.Status == exact.Optimal {
		fmt.Fprintf(&b, "%.6f, keeps them: %v\n", q.Sense()*r.Objective+0, q.Keeps(r.Returns))
	}
	return b.String()
}

// spacious returns a problem whose lists have room behind their ends, and what reports whether it was left alone.
func spacious(p *problem.Problem) (*problem.Problem, func() bool) {
	of, returns, limits := *p, make([]string, len(p.Returns)+4), make([]problem.Limit, len(p.Constraints)+4)
	copy(returns, p.Returns)
	copy(limits, p.Constraints)
	of.Returns, of.Constraints = returns[:len(p.Returns)], limits[:len(p.Constraints)]
	return &of, func() bool {
		return slices.Equal(returns, append(slices.Clone(p.Returns), "", "", "", "")) &&
			reflect.DeepEqual(limits, append(slices.Clone(p.Constraints), make([]problem.Limit, 4)...))
	}
}

// TestChangedIsFresh: what a query says that was changed again and again, and may share a model with those before,
// is what a query says that is made of the changed problem.
func TestChangedIsFresh(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 52))
	fleet, err := problem.Read("../problem/testdata/fleet/chargers.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for trial := range 120 {
		var texts []string
		for _, l := range drawLimits(rng) {
			texts = append(texts, l.String())
		}
		p := fleet
		opts := CompileOptions{Resolution: []float64{0, 1.5}[trial%2]}
		if trial%10 > 0 {
			p = mustParse(t, fmt.Sprintf(walk, "{gain: {}, much: {exceeds: {return: gain, limit: 4}}, "+
				"soon: {total: gain, within: {return: gain, at_most: 3}}}", "constraints: ["+strings.Join(texts, ", ")+"]"))
		}
		p, alone := spacious(p)
		q, err := New(t.Context(), p, opts)
		if err == nil && trial%3 == 0 {
			q, err = q.Best(t.Context())
		}
		for n := 0; n < 6 && err == nil; n++ {
			var c Change
			names := q.Limitable()
			switch goal := names[rng.IntN(len(names))]; {
			case rng.IntN(2) > 0 || !slices.Contains(q.Returns, goal):
			case rng.IntN(2) == 0:
				c.Maximize = goal
			default:
				c.Minimize = goal
			}
			for range rng.IntN(3) {
				b := Bound{names[rng.IntN(len(names))], side(rng.IntN(2) == 0), math.Round(1000*4*rng.Float64()) / 1000}
				old, is := q.Given(b.Kind, b.Return)
				switch {
				case rng.IntN(5) == 0:
					b.Value = math.Inf(1)
				case is:
					b.Value = math.Round(1000*(old+0.1*rng.NormFloat64())) / 1000
				case strings.HasPrefix(b.Return, "P(") || b.Return == "much" || b.Return == "soon":
					b.Value /= 4
				}
				c.Bounds = append(c.Bounds, b)
			}
			next, changed := q.With(t.Context(), c)
			if !alone() {
				t.Fatalf("trial %d: %+v has changed the problem", trial, c)
			}
			if errors.Is(changed, ErrChange) {
				break
			}
			if next == nil {
				t.Fatal(changed)
			}
			with := opts
			with.Thresholds = next.options.Thresholds
			fresh, err := New(t.Context(), next.Problem, with)
			if got, want := said(t, next, changed), said(t, fresh, err); got != want {
				t.Errorf("trial %d: %v\nchanged to %+v:\n%s\nmade of the changed problem:\n%s", trial, texts, c, got, want)
			}
			if changed != nil {
				break
			}
			q = next
		}
	}
}

// TestNotesOfTotals: a total is said to be never or always beyond a limit where that is so from each start, by going
// through all that can happen.
func TestNotesOfTotals(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 53))
	counts := make(map[string]int)
	for range 100 {
		limit, kind := float64(rng.IntN(17)-4)/4, []string{"exceeds", "excess", "meets"}[rng.IntN(3)]
		q := parsed(t, fmt.Sprintf("format: cmdp/1\nhorizon: 2\nreturns: {gain: {}, cost: {}, much: {%s: {return: gain, "+
			"limit: %g}}}\n%s", kind, limit, drawRows(rng, false)))
		m := q.Problem.Model
		least, most := math.Inf(1), math.Inf(-1)
		var from func(h, s int, total float64)
		from = func(h, s int, total float64) {
			rows := m.Rows(h)
			first, end := rows.Choices(s)
			if h == m.Horizon() || first == end {
				least, most = min(least, total), max(most, total)
				return
			}
			for c := first; c < end; c++ {
				next, _ := rows.Row(c)
				for e, to := range next {
					from(h+1, int(to), total+rows.Outcome(c, e)[0])
				}
			}
		}
		for _, st := range m.StartStates() {
			from(0, st.State, 0)
		}
		relation, never, always := "above", most <= limit, least > limit
		if kind == "meets" {
			relation, never, always = "below", least >= limit, most < limit
		}
		want := map[[2]bool]string{{true, false}: "never", {false, true}: "always"}[[2]bool{never, always}]
		got := ""
		for _, note := range q.Notes {
			for _, word := range []string{"never", "always"} {
				if note == fmt.Sprintf("The total of gain is %s %s %g, whatever is done.", word, relation, limit) {
					got += word
				}
			}
		}
		if counts[want]++; got != want {
			t.Errorf("totals from %g to %g, %s %g: %q: want %q", least, most, relation, limit, q.Notes, want)
		}
	}
	if counts["never"] < 3 || counts["always"] < 3 {
		t.Errorf("%v: want more", counts)
	}
}

// TestPartsThatAreTheWhole: a limit on the total of a return for as long as the process is anywhere means what it means
// of the return.
func TestPartsThatAreTheWhole(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 66))
	counts := make(map[exact.Verdict]int)
	for trial := range 150 {
		side := []string{"at_most", "at_least"}[rng.IntN(2)]
		kind := []string{"always: true", "probability: 0.7", "cvar: 0.4"}[trial%3]
		time, rows := "horizon: 3", drawRows(rng, false)
		if trial%2 == 0 { // totals of one sign, whose worst episodes have a bound on one side
			worst := "at_most"
			time, rows = "discount: 1", strings.ReplaceAll(drawRows(rng, true), "gain: -", "gain: ")
			rows = strings.Replace(rows, "{a: 0.5, b: 0.25, c: 0.25}", "a", 1) // not at rest
			if rng.IntN(2) == 0 {
				rows, worst = strings.ReplaceAll(rows, "gain: ", "gain: -"), "at_least"
			}
			if trial%3 == 2 {
				side = worst
			}
		}
		limit := fmt.Sprintf("%s: %g, %s", side, float64(rng.IntN(13)-6)/4, kind)
		answer := func(name string) (*Query, *exact.Result) {
			q := parsed(t, "format: cmdp/1\n"+time+"\nreturns: {gain: {}, cost: {}, part: {total: gain, while: {not: []}}}\n"+
				"goal: {minimize: cost}\nconstraints: [{return: "+name+", "+limit+"}]\n"+rows)
			q, err := q.Best(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return q, solved(t, q)
		}
		breaks := func(q *Query) bool {
			return strings.Contains(strings.Join(q.Notes, " "), "every policy may come to break")
		}
		whole, want := answer("gain")
		if breaks(whole) && want.Status != exact.Infeasible {
			t.Errorf("%s, %s: %v, and %q\n%s", time, limit, want.Status, whole.Notes, rows)
		}
		part, got := answer("part")
		counts[want.Status]++
		apart := want.Status == exact.Optimal && !(math.Abs(got.Objective-want.Objective) <= 1e-7)
		if got.Status != want.Status || apart || breaks(part) != breaks(whole) {
			t.Errorf("%s, %s: %v, %g, %q: want %v, %g, %q\n%s", time, limit, got.Status, got.Objective, part.Notes,
				want.Status, want.Objective, whole.Notes, rows)
		}
	}
	if counts[exact.Optimal] < 20 || counts[exact.Infeasible] < 20 {
		t.Errorf("%v: want more", counts)
	}
}

// TestEpisodesWithoutChance: where nothing is left to chance an episode is what is expected, up to what stopping
// changes, with every kind of time. A limit at what is expected is kept, also where the return cannot vary.
func TestEpisodesWithoutChance(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 55))
	for trial := range 40 {
		time := []string{"horizon: 3", "discount: 0.9", "discount: 1", "criterion: average"}[trial%4]
		text := "format: cmdp/1\n" + time + "\nstates: [a, b, c]\nstart: a\nreturns: [gain, same]\ntransitions:\n"
		for i, s := range []string{"a", "b", "c"}[:2+trial%2] {
			next := []string{"a", "b", "c"}[rng.IntN(3)]
			if trial%4 == 2 {
				next = []string{"b", "c", "c"}[i]
			}
			text += fmt.Sprintf("  - {state: %s, action: 0, next: {%s: 1}, returns: [%g, 0.1]}\n", s, next,
				math.Round(1000*rng.NormFloat64())/1000)
			if trial%4 == 2 && i == 1 {
				break
			}
		}
		q := parsed(t, text)
		const steps = 50
		s := NewSimulation(q, []Drawn{{1, cmdp.Deterministic(slices.Repeat([][]int32{{0, 0, 0}},
			max(1, q.Model.Horizon())))}}, 1, steps)
		if err := s.Play(t.Context()); err != nil {
			t.Fatal(err)
		}
		v, stopping, err := s.Expected(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, half, err := NewSimulation(q, s.Mixture, 1, 2*steps).Expected(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range v {
			if q.Model.Average() && math.Abs(half[i]-stopping[i]/2) > 1e-9*(1+stopping[i]) {
				t.Errorf("trial %d: stopping changes %g in %d steps, and %g in twice as many", trial, stopping[i], steps, half[i])
			}
			room := 1e-9
			switch {
			case q.Model.Average():
				room += stopping[i]
			case q.Model.Discount() < 1:
				room += 1e-6 * max(math.Abs(q.Task.Box.Lower()[i]), math.Abs(q.Task.Box.Upper()[i]))
			}
			if math.Abs(s.Total[i]-x) > room {
				t.Errorf("trial %d: an episode has %g of %s: want %g, up to %g", trial, s.Total[i], q.Returns[i], x, room)
			}
			near := Bound{q.Returns[i], side(trial%8 < 4), x * (1 + 1e-15)}
			with, err := q.With(t.Context(), Change{Bounds: []Bound{near}})
			if err != nil || !with.Keeps(v) {
				t.Errorf("trial %d: %v is said to break %s = %g, error %v", trial, v, q.Returns[i], x, err)
			}
		}
	}
}

// inAnotherOrder has the states, the returns and the rows of a problem in another order.
func inAnotherOrder(rng *rand.Rand, text string) string {
	head, rows, _ := strings.Cut(text, "transitions:\n")
	lines := strings.SplitAfter(strings.TrimSuffix(rows, "\n"), "\n")
	lines[len(lines)-1] += "\n"
	rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	head = strings.Replace(head, "states: [a, b, c]", "states: [c, a, b]", 1)
	head = strings.Replace(head, "gain: {}, cost: {},", "cost: {}, gain: {},", 1)
	return head + "transitions:\n" + strings.Join(lines, "")
}

// TestOrderDoesNotMatter: with states, returns and choices in another order a problem has the same box, limits, optimum
// and trade-off, with every kind of time and limits of every kind; and so has its own model as an ordinary problem.
func TestOrderDoesNotMatter(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 57))
	seen := make(map[string]int)
	for trial := range 80 {
		time := []string{"horizon: 3", "discount: 0.75", "discount: 1", "criterion: average", "discount: 1"}[trial%5]
		more := "twice: {}"
		switch trial % 5 {
		case 0:
			more = "much: {exceeds: {return: gain, limit: 1}}, soon: {reach: c, within: 2}"
		case 4:
			more = "mean: {criterion: average}"
		}
		bound := func(most float64) float64 { return math.Round(1000*most*(2*rng.Float64()-1)) / 1000 }
		limits := []string{fmt.Sprintf("{return: cost, at_most: %g}", bound(1)),
			fmt.Sprintf("{return: gain, at_least: %g}", bound(1))}
		if trial%5 == 0 {
			limits = append(limits, fmt.Sprintf("{return: cost, at_most: %g, probability: 0.75}", bound(1)),
				fmt.Sprintf("{return: much, at_most: %g}", max(0.1, bound(1))),
				fmt.Sprintf("{return: gain, at_least: %g, always: true}", bound(1)-1))
		}
		rng.Shuffle(len(limits), func(i, j int) { limits[i], limits[j] = limits[j], limits[i] })
		rows := drawRows(rng, trial%5 == 2 || trial%5 == 4)
		if trial%5 == 4 {
			rows = strings.ReplaceAll(rows, ", cost: ", ", mean: -1.5, cost: ")
		}
		text := "format: cmdp/1\n" + time + "\nreturns: {gain: {}, cost: {}, " + more + "}\ngoal: {" +
			[]string{"maximize: gain", "minimize: cost"}[rng.IntN(2)] + "}\nconstraints: [" +
			strings.Join(limits[:rng.IntN(len(limits)+1)], ", ") + "]\n" + rows
		first := ordered(t, text)
		second := ordered(t, inAnotherOrder(rng, text))
		if first != second {
			t.Errorf("trial %d:\n%s\nin another order:\n%s\n%s", trial, first, second, text)
		}
		q, err := New(t.Context(), mustParse(t, text), CompileOptions{})
		if err != nil {
			continue
		}
		own, r := planned(t, q.Ordinary(q.Model), CompileOptions{})
		want := solved(t, q)
		seen[fmt.Sprint(want.Status, q.Remembers())]++
		if r.Status != want.Status || len(own.Limits) != len(q.Task.Constraints) ||
			want.Status == exact.Optimal && math.Abs(r.Objective-want.Objective) > 1e-6 {
			t.Errorf("trial %d: %v %g with the limits %d of its own model: want %v %g\n%s", trial, r.Status, r.Objective,
				len(own.Limits), want.Status, want.Objective, text)
		}
	}
	if len(seen) < 4 {
		t.Errorf("seen %v", seen)
	}
}

// ordered is what a query says in words that do not depend on the order of its returns: besides its limits and optimum,
// the box and a trade-off.
func ordered(t *testing.T, text string) string {
	t.Helper()
	q, err := New(t.Context(), mustParse(t, text), CompileOptions{})
	if err != nil {
		return said(t, q, err)
	}
	var lines []string
	for i, name := range q.Returns {
		lines = append(lines, fmt.Sprintf("%s from %.6f to %.6f", name, q.Task.Box.Lower()[i]+0, q.Task.Box.Upper()[i]+0))
	}
	slices.Sort(lines)
	f, err := q.Front(t.Context(), []Objective{{"gain", true}, {"cost", false}}, exact.FrontOptions{})
	if err != nil {
		return strings.Join(lines, "\n") + "\n" + said(t, q, nil) + err.Error()
	}
	lines = append(lines, fmt.Sprint(f.Status))
	for _, w := range [][2]float64{{1, 0}, {0, 1}, {1, 1}, {1, 3}} {
		lines = append(lines, fmt.Sprintf("%.3f in direction %v", f.least(w)+0, w))
	}
	return strings.Join(lines, "\n") + "\n" + said(t, q, nil)
}

// TestPricesOfSweeps: where a value that is swept is moved a little to either side with the same effect, its price is
// that effect, for means, chances, worst episodes and the steps of a fleet, and beside another value that is swept.
func TestPricesOfSweeps(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 58))
	const by = 1e-5
	priced := make(map[string]int)
	for trial := range 150 {
		kind := []string{"mean", "chance", "worst", "fleet", "fleet"}[trial%5]
		q := sweptProblem(t, rng, kind)
		names := []string{"cost", map[string]string{"mean": "much", "chance": "P(cost > 0.5)",
			"worst": "mean of the worst 25% of cost", "fleet": "much"}[kind]}
		if kind == "fleet" {
			names[0] = "cost at each step"
		}
		rng.Shuffle(2, func(i, j int) { names[i], names[j] = names[j], names[i] })
		var spans []Span
		free, err := q.Solve(t.Context(), exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			x := 2 * rng.Float64()
			if i := slices.Index(q.Returns, name); i >= 0 {
				x = free.Returns[i] * (0.5 + 0.25*x)
			}
			spans = append(spans, Span{name, AtMost, []float64{x, x + by, x - by}})
		}
		var plans []*Swept
		for one, err := range q.Sweep(t.Context(), spans, exact.Options{Gap: 1e-9}) {
			if err != nil || one.Result.Status != exact.Optimal {
				break
			}
			plans = append(plans, one)
		}
		if len(plans) < 9 {
			continue
		}
		objective := func(n int) float64 { return -plans[n].Result.Objective }
		for i, places := range [][2]int{{3, 6}, {1, 2}} {
			gain, loss := (objective(places[0])-objective(0))/by, (objective(0)-objective(places[1]))/by
			if math.Abs(gain-loss) > 1e-3 {
				continue
			}
			if gain > 1e-3 {
				priced[kind+" "+names[i]]++
			}
			if math.Abs(plans[0].Prices[i]-gain) > 2e-3 {
				t.Errorf("trial %d: %s at %g has the price %g: want %g", trial, names[i], plans[0].Values[i],
					plans[0].Prices[i], gain)
			}
		}
	}
	if len(priced) < 8 || slices.Min(slices.Collect(maps.Values(priced))) < 3 {
		t.Errorf("prices above 0: %v", priced)
	}
}

// sweptProblem draws a problem whose cost and what it exceeds can be swept, with a limit of a kind; of a fleet those of
// each step.
func sweptProblem(t *testing.T, rng *rand.Rand, kind string) *Query {
	t.Helper()
	rows := "horizon: 3\nreturns: {gain: {}, cost: {}, much: {exceeds: {return: cost, limit: 0.5}}}\n" +
		drawRows(rng, false)
	limit := map[string]string{"mean": "{return: much, at_most: 1}",
		"chance": "{return: cost, at_most: 0.5, probability: 0.2}",
		"worst":  "{return: cost, at_most: 2, cvar: 0.25}",
		"fleet":  "{return: cost, each_step: true, at_most: 9}"}[kind]
	text := "format: cmdp/1\ngoal: {maximize: gain}\nconstraints: [" + limit + "]\n"
	if kind != "fleet" {
		return parsed(t, text+rows)
	}
	return parsed(t, text+"horizon: 3\nreturns: [gain, cost, much]\nfleet:\n  - name: all\n    count: 2\n    model:\n"+
		"      "+strings.ReplaceAll(rows, "\n", "\n      "))
}

// TestKeepsSetsWithoutBounds asks which returns lie in sets that have no bounds, where totals have none either, so that
// the box of what is possible says nothing of how large rounding may be.
func TestKeepsSetsWithoutBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for range 60 {
		apex := []float64{math.Round(20*rng.Float64()) / 4, math.Round(20*rng.Float64()) / 4}
		q := parsed(t, fmt.Sprintf(`
format: cmdp/1
discount: 1
states: [walk, rest]
start: walk
returns: [way, time]
transitions:
  - {state: walk, action: on, next: {walk: 1}, returns: [1, 1]}
  - {state: walk, action: stop, next: {rest: 1}}
target: {translate: {set: {second_order_cone: {}}, by: [%g, %g]}}
`, apex[0], apex[1]))
		for range 20 {
			v := []float64{10 * rng.Float64(), 10 * rng.Float64()}
			inside := v[1] - apex[1] - math.Abs(v[0]-apex[0])
			if math.Abs(inside) > 1e-6 && q.Keeps(v) != (inside > 0) {
				t.Fatalf("%v is said to lie in the cone from %v: %v", v, apex, q.Keeps(v))
			}
		}
	}
}

// TestUnitsDoNotMatter: with a return in another unit a problem has the same answers, conflicts and trade-off, with
// bounds, slacks and prices in that unit, and takes the same for rounding.
func TestUnitsDoNotMatter(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 81))
	costs := regexp.MustCompile(`cost: (-?[0-9.]+)`)
	kept, conflicts := 0, 0
	for trial := range 60 {
		time := drawTimes[trial%4]
		rows := drawRows(rng, trial%4 == 2)
		limit, gain := math.Round(100*rng.NormFloat64())/100, math.Round(50*rng.NormFloat64())/100
		side := []string{AtMost, AtLeast}[rng.IntN(2)]
		in := func(unit float64) *Query {
			text := fmt.Sprintf("format: cmdp/1\n%s\nreturns: [gain, cost]\ngoal: {maximize: gain}\n"+
				"constraints: [{return: cost, %s: %g}, {return: gain, at_least: %g}]\n", time, side, limit*unit, gain)
			q, err := New(t.Context(), mustParse(t, text+costs.ReplaceAllStringFunc(rows, func(s string) string {
				x, _ := strconv.ParseFloat(strings.TrimPrefix(s, "cost: "), 64)
				return fmt.Sprintf("cost: %g", x*unit)
			})), CompileOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return q
		}
		unit := []float64{1 << 30, 1.0 / (1 << 30)}[trial/4%2]
		q, other := in(1), in(unit)
		r, of := solved(t, q), solved(t, other)
		same := func(what string, x, y float64) {
			if !(math.Abs(x-y) < 1e-7*max(1, math.Abs(x))) && !(math.IsNaN(x) && math.IsNaN(y)) {
				t.Errorf("trial %d, %s in units of %g: %g: want %g\n%s", trial, what, unit, y, x, rows)
			}
		}
		if same("status", float64(r.Status), float64(of.Status)); r.Status != exact.Optimal {
			clashes, err := q.Conflict(t.Context(), exact.Options{})
			if err != nil {
				t.Fatal(err)
			}
			found, err := other.Conflict(t.Context(), exact.Options{})
			if err != nil || len(found) != len(clashes) {
				t.Fatalf("trial %d: conflict %v, error %v: want %v", trial, found, err, clashes)
			}
			conflicts++
			for i, c := range found {
				by := 1.0
				if c.Limit.Return == "cost" {
					by = unit
				}
				same("what is needed of "+c.Limit.Return, clashes[i].Needed, c.Needed/by)
			}
			continue
		}
		kept++
		same("gain", r.Returns[0], of.Returns[0])
		mine := q.Standings(r)
		for i, s := range other.Standings(of) {
			by := 1.0
			if s.Limit.Return == "cost" {
				by = unit
			}
			same("slack of "+s.Limit.Return, mine[i].Slack, s.Slack/by)
			same("scale of "+s.Limit.Return, mine[i].Scale, s.Scale/by)
			same("price of "+s.Limit.Return, mine[i].Shown(), s.Shown()*by)
		}
		for range 10 {
			v := slices.Clone(r.Returns)
			v[1] = limit + q.Scale()[1]*math.Pow(10, -12*rng.Float64())*float64(1-2*rng.IntN(2))
			in := []float64{v[0], v[1] * unit}
			if q.Keeps(v) != other.Keeps(in) || len(q.BrokenForEver(v)) != len(other.BrokenForEver(in)) {
				t.Errorf("trial %d: %v in units of %g keeps the limits: %v, breaks %q for ever", trial, v, unit,
					other.Keeps(in), other.BrokenForEver(in))
			}
		}
	}
	if kept < 20 || conflicts < 5 {
		t.Errorf("%d plans and %d conflicts: want more", kept, conflicts)
	}
}

// withNothing returns a model whose choices have one more successor each, which never comes up, and the intervals of
// its probabilities.
func withNothing(t *testing.T, rng *rand.Rand, m *cmdp.Model, iv *cmdp.Intervals) (*cmdp.Model, *cmdp.Intervals) {
	t.Helper()
	spec := cmdp.ModelSpec{Horizon: m.Horizon(), Dim: m.Dim(), Start: m.StartStates()}
	var places [][]int // where it stands among the successors of each choice of each kernel
	for h := range m.Kernels() {
		k, rows := cmdp.NewKernel(), m.Rows(h)
		places = append(places, nil)
		for s := range m.States() {
			first, end := rows.Choices(s)
			for c := first; c < end; c++ {
				next, prob := rows.Row(c)
				at, outcomes := rng.IntN(len(next)+1), []float64(nil)
				places[h] = append(places[h], at)
				for e := range next {
					outcomes = append(outcomes, rows.Outcome(c, e)...)
				}
				k.AppendRandom(slices.Insert(slices.Clone(next), at, int32(rng.IntN(m.States()))),
					slices.Insert(slices.Clone(prob), at, 0), rows.Returns(c),
					slices.Insert(outcomes, at*m.Dim(), slices.Repeat([]float64{7}, m.Dim())...))
			}
			k.EndState()
		}
		spec.Kernels = append(spec.Kernels, k)
	}
	of, err := cmdp.NewModel(spec)
	if err != nil {
		t.Fatal(err)
	}
	wide, err := cmdp.NewIntervals(of, func(h, c int) (lower, upper []float64) {
		lower, upper = iv.Row(h, c)
		return slices.Insert(slices.Clone(lower), places[h][c], 0), slices.Insert(slices.Clone(upper), places[h][c], 0)
	})
	if err != nil {
		t.Fatal(err)
	}
	return of, wide
}

// TestSuccessorsThatNeverComeUp: with them a problem says, plans and writes what it does without them, and choices of
// its product have the same probabilities if they stand for the same choice at the same step.
func TestSuccessorsThatNeverComeUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 82))
	actions := regexp.MustCompile(`action: \d,`)
	gaps := 0
	for trial := range 15 {
		rows := actions.ReplaceAllStringFunc(drawRows(rng, false), func(s string) string {
			if n := rng.IntN(4); n > 0 {
				s += fmt.Sprintf(" step: %d,", n)
			}
			return s
		})
		p := mustParse(t, "format: cmdp/1\nhorizon: 3\nreturns: {gain: {}, cost: {}, much: {exceeds: {return: cost, limit: 0.5}}}\n"+
			"goal: {maximize: gain}\nconstraints: [{return: much, at_most: 0.6}]\n"+rows)
		var err error
		if p.Intervals, err = cmdp.Widen(p.Model, nil, 0.25); err != nil {
			t.Fatal(err)
		}
		other := *p
		other.Model, other.Intervals = withNothing(t, rng, p.Model, p.Intervals)
		var texts [2]string
		var sets [2]*robust.Bounds
		for i, of := range []*problem.Problem{p, &other} {
			q, err := New(t.Context(), of, CompileOptions{})
			if err != nil {
				t.Fatal(err)
			}
			policy := drawPolicy(rand.New(rand.NewPCG(uint64(trial), 1)), q)
			texts[i] = said(t, q, nil) + fmt.Sprint(of.Gaps())
			for _, ending := range []string{"csv", "go"} {
				path := filepath.Join(t.TempDir(), "policy."+ending)
				if err := problem.WritePolicy(path, q.Process, q.PlanRows(policy, nil)); err != nil {
					t.Fatal(err)
				}
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				texts[i] += string(text)
			}
			set, err := q.Set(robust.Spec{})
			if err != nil {
				t.Fatal(err)
			}
			b, err := set.Evaluate(t.Context(), policy)
			if err != nil {
				t.Fatal(err)
			}
			sets[i] = &b
			checkSame(t, q)
			gaps += len(of.Gaps())
		}
		if texts[0] != texts[1] || !floats.EqualApprox(sets[0].Least, sets[1].Least, 1e-9) ||
			!floats.EqualApprox(sets[0].Greatest, sets[1].Greatest, 1e-9) {
			t.Errorf("trial %d: %s\n%v\nwithout them\n%s\n%v\n%s", trial, texts[1], sets[1], texts[0], sets[0], rows)
		}
	}
	if gaps < 4 {
		t.Errorf("%d gaps", gaps)
	}
}

// checkSame: choices of a product have the same number if and only if they are the same action of the same state of the
// problem at the same step.
func checkSame(t *testing.T, q *Query) {
	t.Helper()
	_, same, err := q.Intervals()
	if err != nil {
		t.Fatal(err)
	}
	names, numbers := make(map[int]string), make(map[string]int)
	for h := range q.Model.Kernels() {
		for s := range q.Model.States() {
			first, end := q.Model.Rows(h).Choices(s)
			for c := first; c < end; c++ {
				name := fmt.Sprint(min(h, q.Problem.Model.Kernels()-1), q.Declared(s), q.ActionName(h, s, c-first))
				if q.ActionName(h, s, c-first) == "rest" {
					continue
				}
				n := same(h, c)
				if old, known := names[n]; known && old != name {
					t.Errorf("%s has the number %d of %s", name, n, old)
				}
				if old, known := numbers[name]; known && old != n {
					t.Errorf("%s has the numbers %d and %d", name, n, old)
				}
				names[n], numbers[name] = name, n
			}
		}
	}
}
