package query

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/problem"

	"gonum.org/v1/gonum/stat"
)

// TestUntilByHand asks each kind of reaching by itself of a chain that nobody controls: a stays with 1/4, goes
// to b with 1/2 and to g with 1/4; b goes to a and g with 1/2 each; g goes back to a, or with no end of steps
// stays. As in PRISM a target that holds at the start counts, whatever while and within say. After one step
// without g the chain is in a with 1/4 and in b with 1/2, after two with 5/16 and 1/8, after three with 9/64
// and 10/64. A step from a burns 1, one from b 2: g is come to with a, aa, aaa and ab before it for at most 3. A total
// counts the steps that begin before it ends and that keep its bounds themselves.
func TestUntilByHand(t *testing.T) {
	for _, c := range []struct {
		asked, start   string
		steps, forever float64
	}{
		{"{reach: g}", "a", 45.0 / 64, 1},
		{"{reach: g, within: 0}", "a", 0, 0},
		{"{reach: g, within: 1}", "a", 1.0 / 4, 1.0 / 4},
		{"{reach: g, within: 2}", "a", 9.0 / 16, 9.0 / 16},
		{"{reach: g, within: 3}", "a", 45.0 / 64, 45.0 / 64},
		{"{reach: g, within: 9}", "a", 45.0 / 64, -1},
		{"{reach: g, while: a}", "a", 21.0 / 64, 1.0 / 3},
		{"{reach: g, while: a, within: 2}", "a", 5.0 / 16, 5.0 / 16},
		{"{reach: g, while: b}", "a", 0, 0},
		{"{reach: g, while: b}", "b", 1.0 / 2, 1.0 / 2},
		{"{reach: g, while: b, within: 0}", "b", 0, 0},
		{"{reach: [a, g], while: b}", "b", 1, 1},
		{"{reach: g}", "g", 1, 1},
		{"{reach: g, while: {not: g}}", "g", 1, 1},
		{"{reach: g, while: a, within: 0}", "g", 1, 1},
		{"{reach: [a, g], within: 0}", "a", 1, 1},
		{"{reach: []}", "a", 0, 0},
		{"{reach: [], within: 2}", "g", 0, 0},
		{"{reach: [], while: []}", "a", 0, 0},
		{"{reach: g, while: []}", "a", 0, 0},
		{"{reach: g, while: []}", "g", 1, 1},
		{"{visits: []}", "a", 0, 0},
		{"{reach: g, within: 0}", "{g: 0.25, a: 0.75}", 1.0 / 4, 1.0 / 4},
		{"{reach: g, while: b}", "{g: 0.25, a: 0.25, b: 0.5}", 1.0 / 2, 1.0 / 2},
		{"{reach: g, while: a}", "{g: 0.25, a: 0.75}", 1.0/4 + 0.75*21/64, 1.0 / 2},
		{"{reach: g, within: {return: fuel, at_most: 0}}", "a", 0, 0},
		{"{reach: g, within: {return: fuel, at_most: 0}}", "{g: 0.25, a: 0.75}", 1.0 / 4, 1.0 / 4},
		{"{reach: g, within: {return: fuel, at_most: 1}}", "a", 1.0 / 4, 1.0 / 4},
		{"{reach: g, within: {return: fuel, at_most: 2.9}}", "a", 5.0 / 16, 5.0 / 16},
		{"{reach: g, within: {return: fuel, at_most: 3}}", "a", 37.0 / 64, 37.0 / 64},
		{"{reach: g, within: {return: fuel, at_most: 1}}", "b", 0, 0},
		{"{reach: g, while: a, within: {return: fuel, at_most: 3}}", "a", 21.0 / 64, 21.0 / 64},
		{"{reach: g, within: [2, {return: fuel, at_most: 3}]}", "a", 9.0 / 16, 9.0 / 16},
		{"{reach: g, within: [{return: fuel, at_most: 2}, 2]}", "a", 5.0 / 16, 5.0 / 16},
		{"{reach: g, within: {return: passed, at_most: 0}}", "a", 21.0 / 64, 1.0 / 3},
		{"{reach: g, within: [{return: passed, at_most: 1}, {return: fuel, at_most: 4}, 9]}", "a", 45.0 / 64, -1},
		{"{reach: g, within: {return: came, at_most: 0}}", "a", 21.0 / 64, 1.0 / 3},
		{"{total: fuel, while: a}", "a", 21.0 / 16, 4.0 / 3},
		{"{total: fuel, while: {not: g}}", "a", 45.0 / 16, 4},
		{"{total: fuel, while: b}", "a", 0, 0},
		{"{total: fuel, while: []}", "a", 0, 0},
		{"{total: fuel, within: 0}", "a", 0, 0},
		{"{total: fuel, within: 1}", "{g: 0.25, a: 0.75}", 0.75, 0.75},
		{"{total: fuel, within: 2}", "a", 2.25, 2.25},
		{"{total: fuel, while: a, within: 2}", "a", 1.25, 1.25},
		{"{total: fuel, within: {return: fuel, at_most: 0.9}}", "a", 0, 0},
		{"{total: fuel, within: {return: fuel, at_most: 2}}", "a", 1.5, 1.25},
		{"{total: fuel, within: [2, {return: passed, at_most: 0}]}", "a", 1.25, 1.25},
		{"{total: fuel, within: {return: passed, at_most: 0}}", "a", 25.0 / 16, 4.0 / 3},
		{"{total: passed, within: {return: fuel, at_most: 3}}", "a", 1.0 / 2, 1.0 / 2},
		{"{total: came, within: {return: fuel, at_most: 1}}", "a", 1.0 / 2, 1.0 / 2},
		{"{total: came, within: 0}", "b", 1, 1},
		{"{exceeds: {return: early, limit: 1}}", "a", 3.0 / 4, 3.0 / 4},
		{"{excess: {return: early, limit: 1}}", "a", 1.25, 1.25},
	} {
		for time, want := range map[string]float64{"horizon: 3": c.steps, "discount: 1": c.forever} {
			if want < 0 {
				continue // worked out for three steps alone
			}
			text := "format: cmdp/1\n" + time + "\nstates: [a, b, g]\nstart: " + c.start + "\nreturns: {asked: " + c.asked + `, passed: {visits: b}, came: {reach: b}, fuel: {}, early: {total: fuel, within: 2}}
goal: {maximize: asked}
transitions:
  - {state: a, action: go, next: {a: 0.25, b: 0.5, g: 0.25}, returns: {fuel: 1}}
  - {state: b, action: go, next: {a: 0.5, g: 0.5}, returns: {fuel: 2}}
`
			if time == "horizon: 3" {
				text += "  - {state: g, action: go, next: {a: 1}}\n"
			}
			if r := solved(t, parsed(t, text)); math.Abs(r.Returns[0]-want) > 1e-12 {
				t.Errorf("%s from %s, %s: %g, want %g", c.asked, c.start, time, r.Returns[0], want)
			}
		}
	}
}

// TestRoundedCosts rounds what is spent on the way to multiples of 1/2: the answer is that of costs rounded up where a
// large probability or reward is wanted, rounded down where a small one is, and the other side is told beside it. A
// total that is never above 0 is larger where costs are rounded up.
func TestRoundedCosts(t *testing.T) {
	text := func(sense, of, a, b string) string {
		return `format: cmdp/1
discount: 1
states: [a, b, g]
start: a
returns: {p: {` + of + `, within: [{return: fuel, at_most: 4.2}, 9]}, fuel: {}, pay: {}, toll: {}}
goal: {` + sense + `: p}
transitions:
  - {state: a, action: go, next: {a: 0.25, b: 0.5, g: 0.25}, returns: {fuel: ` + a + `, pay: 0.1, toll: -0.1}}
  - {state: b, action: go, next: {a: 0.5, g: 0.5}, returns: {fuel: ` + b + `, pay: 0.2, toll: -0.2}}
  - {state: b, action: wait, next: {b: 0.5, g: 0.5}, returns: {fuel: ` + b + `, pay: 0.1, toll: -0.1}}
`
	}
	for i, of := range []string{"reach: g", "reach: g", "total: pay", "total: pay", "total: toll", "total: toll"} {
		sense := []string{"maximize", "minimize"}[i%2]
		p, err := problem.Parse("rounded.yaml", []byte(text(sense, of, "1.3", "0.9")), nil)
		if err != nil {
			t.Fatal(err)
		}
		q, err := New(t.Context(), p, CompileOptions{Resolution: 0.5})
		if err != nil {
			t.Fatal(err)
		}
		got := solved(t, q).Returns
		low := solved(t, parsed(t, text(sense, of, "1.5", "1"))).Returns[0]
		high := solved(t, parsed(t, text(sense, of, "1", "0.5"))).Returns[0]
		if of == "total: toll" {
			low, high = high, low
		}
		want, other, name := low, high, "p (upper bound)"
		if sense == "minimize" {
			want, other, name = high, low, "p (lower bound)"
		}
		if low >= high || math.Abs(got[0]-want) > 1e-12 || q.Returns[4] != name || math.Abs(got[4]-other) > 0.2 {
			t.Errorf("%s %s: %v of %v, want %g and about %g", sense, of, got, q.Returns, want, other)
		}
	}
	judged := strings.Replace(text("maximize", "total: pay", "1.3", "0.9"), "toll: {}",
		"toll: {exceeds: {return: p, limit: 0}}", 1)
	judged = strings.ReplaceAll(strings.ReplaceAll(judged, ", toll: -0.1", ""), ", toll: -0.2", "")
	signs := strings.Replace(text("maximize", "total: toll", "1.3", "0.9"), "toll: -0.2", "toll: 0.2", 1)
	for text, refusal := range map[string]string{judged: "limits for its total want a finer resolution",
		signs: "returns of toll of both signs"} {
		_, err := New(t.Context(), parsed(t, text).Problem, CompileOptions{Resolution: 0.5})
		if err == nil || !strings.Contains(err.Error(), refusal) {
			t.Errorf("%v, want %s", err, refusal)
		}
	}
}

// TestRoundedLimits: limits of a total that is rounded hold for the bound that is safe, also where the goal or another
// limit pulls to the other side.
func TestRoundedLimits(t *testing.T) {
	for _, wanted := range []string{
		"goal: {maximize: p}\nconstraints: [{return: p, at_most: 0.6}]\n",
		"goal: {minimize: p}\nconstraints: [{return: p, at_least: 0.5}]\n",
		"goal: {minimize: fuel}\nconstraints: [{return: p, at_least: 0.3, at_most: 0.6}]\n",
		"goal: {maximize: fuel}\nconstraints: [{return: p, at_least: 0.3, at_most: 0.6}]\n",
	} {
		p, err := problem.Parse("rounded.yaml", []byte(`format: cmdp/1
horizon: 6
states: [a, g]
start: a
returns: {p: {exceeds: {return: fuel, limit: 4.2}}, fuel: {}}
`+wanted+`transitions:
  - {state: a, action: fast, next: {a: 0.75, g: 0.25}, returns: {fuel: 1.3}}
  - {state: a, action: slow, next: {a: 0.5, g: 0.5}, returns: {fuel: 0.9}}
  - {state: a, action: wait, next: {a: 1}, returns: {fuel: 0.7}}
`), nil)
		if err != nil {
			t.Fatal(err)
		}
		q, err := New(t.Context(), p, CompileOptions{Resolution: 0.5})
		if err != nil {
			t.Fatal(err)
		}
		r := solved(t, q)
		low, high := r.Returns[0], r.Returns[2]
		if q.Returns[2] == "p (lower bound)" {
			low, high = high, low
		}
		for _, l := range q.Limits {
			if l.AtLeast && low < l.Bound-1e-9 || !l.AtLeast && high > l.Bound+1e-9 {
				t.Errorf("%s: %s, which is between %g and %g", wanted, l.Name, low, high)
			}
		}
	}
}

// tour comes back to where it was: what counts is what happened first, when, and where it began.
const tour = `format: cmdp/1
horizon: 6
states: [hub, a, b, c]
start: {hub: 0.7, a: 0.2, c: 0.1}
returns:
  gain: {}
  clean: {reach: a, while: {not: b}}
  soon: {reach: c, within: 3}
  both: {reach: c, while: hub, within: 4}
  much: {exceeds: {return: gain, limit: 5}}
  more: {excess: {return: gain, limit: 4}}
  rests: {visits: [a, c]}
goal: {maximize: gain}
constraints:
  - {return: clean, at_least: 0.6}
  - {return: soon, at_least: 0.5}
  - {return: both, at_least: 0.4}
  - {return: gain, at_most: 4, probability: 0.7}
transitions:
  - {state: hub, action: left, next: {a: 0.5, b: 0.3, hub: 0.2}, returns: {gain: 1}}
  - {state: hub, action: right, next: {b: 0.5, c: 0.4, hub: 0.1}, returns: {gain: 2}}
  - {state: a, action: back, next: {hub: 0.9, a: 0.1}, returns: {gain: 1}}
  - {state: b, action: on, next: {a: 0.4, c: 0.4, b: 0.2}, returns: {gain: 1}}
  - {state: b, action: back, next: {hub: 1}}
  - {state: c, action: back, next: {hub: 0.5, b: 0.5}, returns: {gain: 2}}
`

// TestExpectationsAgainstPlays plays the plans of the examples and judges each episode by the states that it
// went through and by what rows returned, without asking what was remembered. Means are within four standard
// errors of what was planned.
func TestExpectationsAgainstPlays(t *testing.T) {
	count := func(states []string, in ...string) (n float64) {
		for _, s := range states[:len(states)-1] {
			if slices.Contains(in, s) {
				n++
			}
		}
		return n
	}
	first := func(states []string, one string, others ...string) float64 {
		i := slices.IndexFunc(states, func(s string) bool { return s == one || slices.Contains(others, s) })
		return indicate(i >= 0 && states[i] == one)
	}
	type judge func(states []string, total map[string]float64) float64
	for name, judges := range map[string]map[string]judge{
		"drone": {
			"arrive":  func(s []string, _ map[string]float64) float64 { return first(s, "home") },
			"wind":    func(s []string, _ map[string]float64) float64 { return count(s, "ridge") },
			"battery": func(_ []string, total map[string]float64) float64 { return total["battery"] },
		},
		"depot": {"P(short > 0)": func(_ []string, total map[string]float64) float64 { return min(1, total["short"]) }},
		"corridor": {
			"key_first": func(s []string, _ map[string]float64) float64 { return first(s, "a", "b") },
			"through":   func(s []string, _ map[string]float64) float64 { return first(s, "b") },
			"fall":      func(s []string, _ map[string]float64) float64 { return first(s, "pit") },
			"steps":     func(s []string, _ map[string]float64) float64 { return count(s, "west", "a", "hall") },
			"excess of steps over 3": func(s []string, _ map[string]float64) float64 {
				return max(0, count(s, "west", "a", "hall")-3)
			},
		},
		"tour": {
			"clean":       func(s []string, _ map[string]float64) float64 { return first(s, "a", "b") },
			"soon":        func(s []string, _ map[string]float64) float64 { return first(s[:4], "c") },
			"both":        func(s []string, _ map[string]float64) float64 { return first(s[:5], "c", "a", "b") },
			"much":        func(_ []string, total map[string]float64) float64 { return indicate(total["gain"] > 5) },
			"more":        func(_ []string, total map[string]float64) float64 { return max(0, total["gain"]-4) },
			"rests":       func(s []string, _ map[string]float64) float64 { return count(s, "a", "c") },
			"P(gain > 4)": func(_ []string, total map[string]float64) float64 { return indicate(total["gain"] > 4) },
		},
	} {
		text := []byte(tour)
		var err error
		if name != "tour" {
			if text, err = os.ReadFile("../../docs/examples/" + name + ".yaml"); err != nil {
				t.Fatal(err)
			}
		}
		p, err := parsed(t, string(text)).Best(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r := solved(t, p)
		const episodes = 20_000
		sum, squares := make(map[string]float64), make(map[string]float64)
		tr, env, agent := cmdp.NewTrajectory(p.Model.Shape()), rand.New(rand.NewPCG(1, 1)), rand.New(rand.NewPCG(1, 2))
		for range episodes {
			tr.Play(p.Model, r.Policy, env, agent)
			var states []string
			for _, s := range tr.States[:tr.Steps+1] {
				states = append(states, p.Problem.StateName(p.Declared(s)))
			}
			total := make(map[string]float64)
			for _, given := range p.Problem.Given() {
				total[given] = tr.Total[slices.Index(p.Returns, given)]
			}
			if total["battery"] > 14 {
				t.Fatalf("%s: an episode takes %g of the battery", name, total["battery"])
			}
			for of, f := range judges {
				x := f(states, total)
				sum[of], squares[of] = sum[of]+x, squares[of]+x*x
			}
		}
		for of := range judges {
			mean, want := sum[of]/episodes, r.Returns[slices.Index(p.Returns, of)]
			if off := math.Abs(mean - want); off > 4*math.Sqrt((squares[of]/episodes-mean*mean)/episodes)+1e-12 {
				t.Errorf("%s: %s is %g in %d episodes, %g was planned", name, of, mean, episodes, want)
			}
		}
	}
}

// TestSimulatedDraws: of policies that are drawn at the start, one stays where another one goes on. The mean of
// the episodes is within five standard errors of what sweeps of each policy's own chain come to, with a
// discount and without.
func TestSimulatedDraws(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for i := range 12 {
		discount := []float64{0.8, 1}[i%2]
		p, x, y := 0.2+0.3*rng.Float64(), rng.Float64(), 2*rng.Float64()-1
		q := parsed(t, fmt.Sprintf(`format: cmdp/1
discount: %g
states: 3
start: 0
returns: [gain]
transitions:
  - {state: 0, action: on, next: {1: %g, 2: %g}, returns: [%g]}
  - {state: 0, action: again, next: {0: 0.5, 1: 0.5}, returns: [%g]}
  - {state: 1, action: stay, next: {1: 1}, returns: [0]}
  - {state: 1, action: leave, next: {0: %g, 2: %g}, returns: [1]}
`, discount, 1-p, p, x, y, p, 1-p))
		drawn := []Drawn{{0.3, cmdp.Deterministic{{0, 0, 0}}}, {0.7, cmdp.Deterministic{{int32(i / 2 % 2), 1, 0}}}}
		want := 0.0
		for _, d := range drawn {
			value := make([]float64, 3)
			for range 3000 {
				next := make([]float64, 3)
				for s := range 2 {
					rows := q.Model.Rows(0)
					first, end := rows.Choices(s)
					probs := make([]float64, end-first)
					d.Policy.Distribution(probs, 0, s)
					c := first + slices.Index(probs, 1)
					to, prob := rows.Row(c)
					next[s] = rows.Returns(c)[0]
					for k, n := range to {
						next[s] += discount * prob[k] * value[n]
					}
				}
				value = next
			}
			want += d.Weight * value[0]
		}
		s := NewSimulation(q, drawn, uint64(i), 1000)
		for range 3000 {
			if err := s.Play(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		returns, _, err := s.Expected(t.Context())
		if err != nil || math.Abs(returns[0]-want) > 1e-9 {
			t.Errorf("%d: %v expected, error %v: want %g", i, returns, err, want)
		}
		if math.Abs(s.Mean[0]-want) > 2.6*s.Half(0)+1e-5 {
			t.Errorf("%d: %g ± %g in the mean: want %g", i, s.Mean[0], s.Half(0), want)
		}
	}
}

// TestIntervalsOfFewEpisodes: the mean of a few episodes, and half of its 95% interval, are those of a sample by
// Student's table.
func TestIntervalsOfFewEpisodes(t *testing.T) {
	q := parsed(t, fmt.Sprintf(walk, "[gain]", ""))
	for k, quantile := range []float64{12.7062, 4.3027, 3.1824, 2.7764} {
		s := NewSimulation(q, []Drawn{{1, cmdp.Deterministic{{1}, {1}}}}, 5, 2)
		s.Keep = true
		var totals []float64
		for range k + 2 {
			if err := s.Play(t.Context()); err != nil {
				t.Fatal(err)
			}
			totals = append(totals, s.Total[0])
		}
		for j, kept := range s.Totals {
			if kept[0] != totals[j] {
				t.Errorf("episode %d is kept with %g: want %g", j, kept[0], totals[j])
			}
		}
		mean, sd := stat.MeanStdDev(totals, nil)
		want := quantile * sd / math.Sqrt(float64(len(totals)))
		if sd == 0 || math.Abs(s.Mean[0]-mean) > 1e-12 || math.Abs(s.Half(0)-want) > 1e-4*want {
			t.Errorf("%v: %g ± %g: want %g ± %g", totals, s.Mean[0], s.Half(0), mean, want)
		}
	}
}

// TestSimulatedMeansBesideTotals: episodes go on beyond the steps of a mean, until their totals end. What they come
// to in the mean is within five standard errors of the distributions of all steps, of a draw between two policies.
func TestSimulatedMeansBesideTotals(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 46))
	for trial := range 6 {
		leave, pay := 0.02+0.05*rng.Float64(), []float64{rng.Float64(), rng.Float64(), rng.Float64()}
		q := parsed(t, fmt.Sprintf(`format: cmdp/1
discount: 1
states: 2
start: 0
returns: {mean: {criterion: average}, total: {}}
transitions:
  - {state: 0, action: on, next: {0: %g, 1: %g}, returns: [%g, 1]}
  - {state: 0, action: leave, next: {1: 1}, returns: [%g, 0]}
  - {state: 1, action: stay, next: {1: 1}, returns: [%g, 0]}
`, 1-leave, leave, pay[0], 4+pay[1], pay[2]))
		drawn := []Drawn{{0.7, cmdp.Deterministic{{0, 0}}}, {0.3, cmdp.Deterministic{{1, 0}}}}
		const steps = 10
		there, mean := 1.0, 0.7*0+0.3*(4+pay[1]+(steps-1)*pay[2])/steps
		for range steps {
			mean += 0.7 * (there*pay[0] + (1-there)*pay[2]) / steps
			there *= 1 - leave
		}
		s := NewSimulation(q, drawn, uint64(trial), steps)
		for range 2000 {
			if err := s.Play(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		all, stopping, err := s.Expected(t.Context())
		if err != nil || math.Abs(all[0]-mean) > stopping[0]+1e-12 {
			t.Errorf("trial %d: %v in the long run, %v: the mean of %d steps is said to be within %g: want %g off", trial,
				all, err, steps, stopping[0], all[0]-mean)
		}
		for _, d := range drawn {
			_, part, err := NewSimulation(q, []Drawn{{1, d.Policy}}, 1, steps).Expected(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			stopping[0] -= d.Weight * part[0]
		}
		if math.Abs(stopping[0]) > 1e-9 {
			t.Errorf("trial %d: what stopping changes of a draw is not the mean of the parts", trial)
		}
		for i, want := range []float64{mean, 0.7 / leave} {
			if math.Abs(s.Mean[i]-want) > 2.6*s.Half(i)+1e-9 {
				t.Errorf("trial %d: return %d is %g ± %g: want %g", trial, i, s.Mean[i], s.Half(i), want)
			}
		}
	}
}

// TestMixedDistributions: the distribution of a draw between policies is the mixture of theirs.
func TestMixedDistributions(t *testing.T) {
	q := parsed(t, fmt.Sprintf(walk, "[gain]", ""))
	rng := rand.New(rand.NewPCG(31, 47))
	for trial := range 20 {
		var drawn []Drawn
		want, left := make(map[float64]float64), 1.0
		for i := range 3 {
			policy := cmdp.Deterministic{}
			for range q.Model.Horizon() {
				row := make([]int32, q.Model.States())
				for s := range row {
					row[s] = int32(rng.IntN(2))
				}
				policy = append(policy, row)
			}
			weight := left
			if i < 2 {
				weight = left * rng.Float64()
			}
			left -= weight
			drawn = append(drawn, Drawn{weight, policy})
			x, p, ok := NewSimulation(q, []Drawn{{1, policy}}, 1, 1).Exactly(t.Context(), 0)
			if !ok {
				t.Fatal("want the distribution of one policy")
			}
			for j := range x {
				want[x[j]] += weight * p[j]
			}
		}
		x, p, ok := NewSimulation(q, drawn, 1, 1).Exactly(t.Context(), 0)
		if !ok || len(x) != len(want) {
			t.Errorf("trial %d: values %v: want those of %v", trial, x, want)
		}
		for j := range x {
			if math.Abs(p[j]-want[x[j]]) > 1e-12 {
				t.Errorf("trial %d: %g with %g: want %g", trial, x[j], p[j], want[x[j]])
			}
		}
		all, err := NewSimulation(q, drawn, 1, 1).Distributions(t.Context(), 10)
		if plain := describe(x, p, 0); err != nil || len(all) != 1 || !reflect.DeepEqual(all[0], plain) {
			t.Errorf("trial %d: %+v, error %v: want %+v", trial, all, err, plain)
		}
	}
}
