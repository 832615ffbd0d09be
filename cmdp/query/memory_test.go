package query

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
)

func parsed(t *testing.T, text string) *Query {
	t.Helper()
	p, err := problem.Parse("episodes.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	q, err := New(t.Context(), p, CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func solved(t *testing.T, p *Query) *exact.Result {
	t.Helper()
	r, err := exact.Solve(context.Background(), p.Model, p.Task, exact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// walk is a game of chance of two steps: a careful step gains 1; a bold one 0, 2 or 4, with
// probabilities 0.25, 0.5 and 0.25.
const walk = `format: cmdp/1
horizon: 2
states: 1
start: 0
returns: %s
goal: {maximize: gain}
%s
transitions:
  - {state: 0, action: careful, next: {0: 1}, returns: [1]}
  - {state: 0, action: bold, outcomes: [{probability: 0.25, next: 0, returns: [0]}, {probability: 0.5, next: 0, returns: [2]}, {probability: 0.25, next: 0, returns: [4]}]}
`

// TestEpisodesByHand: the total is below 2 only with a bold step that gains 0 and another that gains
// at most 1, which is 0 with probability 1/16 where both are bold.
func TestEpisodesByHand(t *testing.T) {
	for _, c := range []struct {
		name, returns, limits string
		status                exact.Verdict
		objective             float64
	}{
		{"none", "[gain]", "", exact.Optimal, 4},
		{"always 2", "[gain]", "constraints: [{return: gain, at_least: 2, always: true}]", exact.Optimal, 2},
		{"always 3", "[gain]", "constraints: [{return: gain, at_least: 3, always: true}]", exact.Infeasible, 0},
		// Bold first, careful after 2 and 4, bold after 0: 1/4·2 + 1/2·3 + 1/4·5.
		{"at most 5 always", "[gain]", "constraints: [{return: gain, at_most: 5, always: true}]", exact.Optimal, 3.25},
		{"2 with 15/16", "[gain]", "constraints: [{return: gain, at_least: 2, probability: 0.9375}]", exact.Optimal, 4},
		// Bold in one half of the episodes, careful in the other.
		{"2 with 31/32", "[gain]", "constraints: [{return: gain, at_least: 2, probability: 0.96875}]", exact.Optimal,
			3},
		// The excess over 4 is 2 with 4/16 and 4 with 1/16 where both are bold: 3/4.
		{"excess", "{gain: {}, much: {excess: {return: gain, limit: 4}}}",
			"constraints: [{return: much, at_most: 0.75}]", exact.Optimal, 4},
		{"exceeds", "{gain: {}, much: {exceeds: {return: gain, limit: 4}}}",
			"constraints: [{return: much, at_most: 0.3125}]", exact.Optimal, 4},
		{"target", "{gain: {}, much: {exceeds: {return: gain, limit: 4}}}",
			"constraints: [{return: gain, at_least: 2, probability: 0.9}]\ntarget: {box: {lower: [0, 0], upper: [3, 1]}}", exact.Optimal, 3},
		{"cost", "[gain]", "constraints: [{return: gain, at_least: 2, probability: 0.9375}]\ntarget: {halfspace: " +
			"{normal: {gain: 1}, offset: 3.25}}", exact.Optimal, 3.25},
	} {
		p := parsed(t, fmt.Sprintf(walk, c.returns, c.limits))
		r := solved(t, p)
		if r.Status != c.status || r.Status == exact.Optimal && math.Abs(-r.Objective-c.objective) > 1e-8 {
			t.Errorf("%s: %v %g, want %v %g", c.name, r.Status, -r.Objective, c.status, c.objective)
		}
		var text bytes.Buffer
		if err := problem.Write(&text, p.Problem); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if again := parsed(t, text.String()); !slices.Equal(again.Returns, p.Returns) ||
			solved(t, again).Objective != r.Objective {
			t.Errorf("%s: what was written is another problem:\n%s", c.name, text.String())
		}
	}
}

// outcomes returns the totals of a policy's episodes with their probabilities, in the coordinate of
// the declared model, and the mean.
func outcomes(p *Query, policy cmdp.Policy, coordinate int) (totals map[float64]float64, mean float64) {
	totals = make(map[float64]float64)
	m, d := p.Model, p.Model.Dim()
	var from func(h, s int, total, probability float64)
	from = func(h, s int, total, probability float64) {
		k := m.Kernel(h).Plain(m.Dim())
		if h == m.Horizon() || k.First[s] == k.First[s+1] {
			totals[total] += probability
			mean += probability * total
			return
		}
		probs := make([]float64, k.First[s+1]-k.First[s])
		policy.Distribution(probs, h, s)
		for a, x := range probs {
			c := int(k.First[s]) + a
			for e := k.Offset[c]; e < k.Offset[c+1] && x > 0; e++ {
				r := k.Returns[c*d+coordinate]
				if k.Outcomes != nil {
					r = k.Outcomes[e*d+coordinate]
				}
				from(h+1, int(k.Next[e]), total+r, probability*x*k.Prob[e])
			}
		}
	}
	for _, st := range m.StartStates() {
		from(0, st.State, 0, st.Probability)
	}
	return totals, mean
}

// TestMemoryWrittenByHand compares a budget with the same problem whose states say what is spent.
func TestMemoryWrittenByHand(t *testing.T) {
	const limit, horizon = 3, 5
	asked := parsed(t, `format: cmdp/1
horizon: 5
states: [a, b]
start: a
returns: [gain, fuel]
goal: {maximize: gain}
constraints: [{return: fuel, at_most: 3, probability: 0.9}]
transitions:
  - {state: a, action: rush, next: {b: 0.7, a: 0.3}, returns: [2, 1]}
  - {state: a, action: rest, next: {a: 1}, returns: [0.5, 0]}
  - {state: b, action: rush, outcomes: [{probability: 0.5, next: a, returns: [3, 2]}, {probability: 0.5, next: b, returns: [3, 0]}]}
  - {state: b, action: rest, next: {a: 0.5, b: 0.5}, returns: [0, 0]}
`)
	// States are 2·spent + (a or b), spent up to 4, which is too much; the last return counts passing the limit.
	var rows strings.Builder
	at := func(state, spent int) int { return 2*min(spent, limit+1) + state }
	for spent := range limit + 2 {
		over := func(more int) int {
			if spent <= limit && spent+more > limit {
				return 1
			}
			return 0
		}
		fmt.Fprintf(&rows, "  - {state: %d, action: rush, next: {%d: 0.7, %d: 0.3}, returns: [2, %d]}\n", at(0, spent),
			at(1, spent+1), at(0, spent+1), over(1))
		fmt.Fprintf(&rows, "  - {state: %d, action: rest, next: {%d: 1}, returns: [0.5, 0]}\n", at(0, spent),
			at(0, spent))
		fmt.Fprintf(&rows, "  - {state: %d, action: rush, outcomes: [{probability: 0.5, next: %d, returns: [3, "+
			"%d]}, {probability: 0.5, next: %d, returns: [3, 0]}]}\n", at(1, spent), at(0, spent+2), over(2),
			at(1, spent))
		fmt.Fprintf(&rows, "  - {state: %d, action: rest, next: {%d: 0.5, %d: 0.5}, returns: [0, 0]}\n", at(1, spent),
			at(0, spent), at(1, spent))
	}
	byHand := parsed(t, fmt.Sprintf("format: cmdp/1\nhorizon: %d\nstates: 10\nstart: 0\nreturns: [gain, "+
		"over]\ngoal: {maximize: gain}\nconstraints: [{return: over, at_most: 0.1}]\ntransitions:\n%s", horizon,
		rows.String()))
	r, want := solved(t, asked), solved(t, byHand)
	if math.Abs(r.Objective-want.Objective) > 1e-9 {
		t.Errorf("%g, by hand %g", -r.Objective, -want.Objective)
	}
	checkPolicyFile(t, asked, r)
}

// checkPolicyFile writes a policy with memory, reads it back, and plays it.
func checkPolicyFile(t *testing.T, p *Query, r *exact.Result) {
	t.Helper()
	for _, ending := range []string{"csv", "json", "npz"} {
		path := filepath.Join(t.TempDir(), "policy."+ending)
		if err := problem.WritePolicy(path, p.Process, p.PlanRows(r.Policy, r.Mixture)); err != nil {
			t.Fatal(err)
		}
		policy, err := problem.ReadPolicy(path, p.Process)
		if err != nil {
			t.Fatalf("%s: %v", ending, err)
		}
		v := make([]float64, p.Model.Dim())
		cmdp.NewEvaluator(p.Model).Returns(v, policy)
		for i, x := range r.Returns {
			if math.Abs(v[i]-x) > 1e-12 {
				t.Errorf("%s: %s is %g when read back, was %g", ending, p.Returns[i], v[i], x)
			}
		}
		if ending != "csv" {
			continue
		}
		rng, n, over := rand.New(rand.NewPCG(1, 1)), 20_000, 0
		for range n {
			s, fuel, step := p.Model.Start(rng), 0.0, make([]float64, p.Model.Dim())
			for h := range p.Model.Horizon() {
				s = p.Model.Step(step, rng, h, s, policy.Choose(rng, h, s))
				fuel += step[1]
			}
			if fuel > 3 {
				over++
			}
		}
		if q, at := r.Returns[2], float64(over)/float64(n); math.Abs(at-q) > 5*math.Sqrt(q*(1-q)/float64(n)) {
			t.Errorf("%d episodes of %d spent more than 3, with a probability of %g", over, n, q)
		}
	}
}

// A spender is a problem of four steps and three states in which use may not exceed 3, never or only rarely, with a
// policy whose rows name no memory. Action 0 idles; action 1 gains 1 and has two outcomes, as likely as each other.
type spender struct {
	text, file string
	always     bool          // whether use may never exceed 3
	late       float64       // what idling in state 0 gains at the last step: if it does, steps differ
	to, use    [3][2]int     // of the outcomes
	spends     [4][3]float64 // the probability of action 1
	line       [4][3]int     // of its row
}

func drawSpender(rng *rand.Rand) *spender {
	p := &spender{file: "step,state,action,probability\n"}
	kind := "probability: 0.5"
	if p.always = rng.IntN(3) > 0; p.always {
		kind = "always: true"
	}
	p.text = "format: cmdp/1\nhorizon: 4\nstates: 3\nstart: 0\nreturns: [gain, use]\ngoal: {maximize: gain}\n" +
		"constraints: [{return: use, at_most: 3, " + kind + "}]\ntransitions:\n"
	line := 1
	for s := range p.to {
		for i := range 2 {
			p.to[s][i], p.use[s][i] = rng.IntN(3), rng.IntN(3)
		}
		p.text += fmt.Sprintf("  - {state: %d, action: 0, next: {%d: 1}}\n  - {state: %d, action: 1, outcomes: "+
			"[{probability: 0.5, next: %d, returns: [1, %d]}, {probability: 0.5, next: %d, returns: [1, %d]}]}\n",
			s, s, s, p.to[s][0], p.use[s][0], p.to[s][1], p.use[s][1])
		if s == 0 && rng.IntN(2) == 0 {
			p.late = 0.5
			p.text += "  - {state: 0, action: 0, step: 4, next: {0: 1}, returns: {gain: 0.5}}\n"
		}
		always := rng.IntN(3) == 0 // one row for every step
		for h := range p.line {
			if always && h > 0 {
				p.spends[h][s], p.line[h][s] = p.spends[0][s], p.line[0][s]
				continue
			}
			step := fmt.Sprint(h + 1)
			if always {
				step = ""
			}
			line += 2
			q := float64(rng.IntN(3)) / 2
			p.spends[h][s], p.line[h][s] = q, line
			p.file += fmt.Sprintf("%s,%d,0,%g\n%s,%d,1,%g\n", step, s, 1-q, step, s, q)
		}
	}
	return p
}

// follow returns what the policy gains and where it may come to break the limit, with the step and without.
func (p *spender) follow() (gain float64, steps, places map[string]bool) {
	now := map[[2]int]float64{{0, 0}: 1} // of state and use
	steps, places = make(map[string]bool), make(map[string]bool)
	for h := range p.spends {
		next := make(map[[2]int]float64)
		for at, x := range now {
			s, q := at[0], p.spends[h][at[0]]
			if q < 1 {
				next[at] += x * (1 - q)
				if h == 3 && s == 0 {
					gain += x * (1 - q) * p.late
				}
			}
			switch {
			case q == 0:
			case p.always && at[1]+max(p.use[s][0], p.use[s][1]) > 3:
				place := fmt.Sprintf("policy.csv:%d: state %d (%d) offers no action \"1\"", p.line[h][s], s, at[1])
				places[place], steps[fmt.Sprintf("%s at step %d", place, h+1)] = true, true
			default:
				gain += x * q
				for i, to := range p.to[s] {
					next[[2]int{to, at[1] + p.use[s][i]}] += x * q / 2
				}
			}
		}
		now = next
	}
	return gain, steps, places
}

// checkSums checks that a policy does something everywhere, also where it does not come.
func checkSums(t *testing.T, q *Query, policy cmdp.Policy) {
	t.Helper()
	for h := range q.Model.Horizon() {
		for s := range q.Model.States() {
			first, end := q.Model.Rows(h).Choices(s)
			probs, sum := make([]float64, end-first), 0.0
			policy.Distribution(probs, h, s)
			for _, x := range probs {
				sum += x
			}
			if end > first && sum != 1 {
				t.Fatalf("step %d, %s: %v", h+1, q.Process.StateName(s), probs)
			}
		}
	}
}

// TestPoliciesWithoutMemory wants a policy that keeps a limit in every episode, if it has to, to be read without saying
// what it remembers, and to return what it does. Of another the pairs in which it may come to break the limit are
// named, and no others.
func TestPoliciesWithoutMemory(t *testing.T) {
	rng, kept := rand.New(rand.NewPCG(9, 9)), 0
	const draws = 200
	for range draws {
		p := drawSpender(rng)
		gain, steps, places := p.follow()
		path := filepath.Join(t.TempDir(), "policy.csv")
		if err := os.WriteFile(path, []byte(p.file), 0o600); err != nil {
			t.Fatal(err)
		}
		q, policies, err := parsed(t, p.text).ReadPolicy(t.Context(), path)
		if len(places) == 0 {
			kept++
			if err != nil {
				t.Fatalf("%v for\n%s%s", err, p.text, p.file)
			}
			returns, _, err := NewSimulation(q, policies, 1, 100).Expected(t.Context())
			if err != nil || math.Abs(returns[0]-gain) > 1e-12 {
				t.Fatalf("%v, %v: want a gain of %g of\n%s%s", returns, err, gain, p.text, p.file)
			}
			checkSums(t, q, policies[0].Policy)
			continue
		}
		var errs problem.Errors
		errors.As(err, &errs)
		for _, e := range errs {
			said, _, _ := strings.Cut(filepath.Base(e.Error()), ": a limit")
			if !steps[said] {
				t.Fatalf("%v: want those of %v for\n%s%s", e, steps, p.text, p.file)
			}
			place, _, _ := strings.Cut(said, " at step")
			delete(places, place) // a row for every step may be named once
		}
		if len(places) > 0 {
			t.Fatalf("%v: want %v too for\n%s%s", err, places, p.text, p.file)
		}
	}
	if kept < draws/10 || kept > draws*9/10 {
		t.Errorf("%d policies of %d keep the limit: want some of both", kept, draws)
	}
}

// depotPlays returns the expected cost of docs/examples/depot.yaml, written out here, and the chance of running
// short, from a day with so much in stock on. While nothing was short, bit 2·day + stock of orders says whether
// one orders with that stock, 0 or 1; afterwards the chance is past, and one does what is cheapest.
func depotPlays(orders, day, stock int, short bool) (cost, chance float64) {
	if day == 6 {
		return 0, 0
	}
	play := func(probability, paid float64, next int, out bool) {
		c, q := depotPlays(orders, day+1, next, short || out)
		if out && !short {
			q = 1
		}
		cost, chance = cost+probability*(paid+c), chance+probability*q
	}
	order := func() { play(0.5, float64(3+stock), stock+2, false); play(0.5, float64(3+stock), stock+1, false) }
	wait := func() {
		switch stock {
		case 0:
			play(0.5, 0, 0, false)
			play(0.5, 0, 0, true)
		case 1:
			play(0.5, 1, 1, false)
			play(0.4, 1, 0, false)
			play(0.1, 1, 0, true)
		default:
			play(0.5, float64(stock), stock, false)
			play(0.5, float64(stock), stock-1, false)
		}
	}
	switch {
	case stock > 1 || !short && orders>>(2*day+stock)&1 == 0:
		wait()
	case !short:
		order()
	default:
		order()
		ordered := cost
		cost, chance = 0, 0
		wait()
		cost = min(cost, ordered)
	}
	return cost, chance
}

// TestDepot: the least cost of a chance of running short, of 5% as in the file or another, is that of a mixture
// of two of all the policies that remember whether anything was short. The policy that is planned has this cost
// and at most this chance over all its episodes.
func TestDepot(t *testing.T) {
	text, err := os.ReadFile("../../docs/examples/depot.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const limit = "at_most: 0, probability: 0.95}"
	if !strings.Contains(string(text), limit) {
		t.Fatalf("the depot has no %q", limit)
	}
	var plays [][2]float64
	// Nothing is to be decided on the first day, with 2 in stock, nor on the second with 0.
	for orders := range 1 << 9 {
		cost, chance := depotPlays((orders&1)<<3|(orders>>1)<<4, 0, 2, false)
		plays = append(plays, [2]float64{cost, chance})
	}
	for _, allowed := range []float64{0.05, 0.02, 0.1, 0.35} {
		best := math.Inf(1)
		for _, a := range plays {
			if a[1] <= allowed+1e-12 {
				best = min(best, a[0])
				continue
			}
			for _, b := range plays {
				if b[1] <= allowed {
					best = min(best, b[0]+(a[0]-b[0])*(allowed-b[1])/(a[1]-b[1]))
				}
			}
		}
		p := parsed(t, strings.Replace(string(text), limit, fmt.Sprintf("at_most: 0, probability: %g}", 1-allowed), 1))
		r := solved(t, p)
		if r.Status != exact.Optimal || math.Abs(r.Objective-best) > 1e-9 {
			t.Errorf("%g: %v %g, of all policies %g", allowed, r.Status, r.Objective, best)
			continue
		}
		_, cost := outcomes(p, r.Policy, 0)
		short, _ := outcomes(p, r.Policy, 1)
		if math.Abs(cost-best) > 1e-9 || 1-short[0] > allowed+1e-9 {
			t.Errorf("%g: over all episodes the policy costs %g, want %g, and is short with probability %g", allowed,
				cost, best, 1-short[0])
		}
	}
}
