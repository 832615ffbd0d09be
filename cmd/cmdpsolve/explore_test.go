package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"cmdpsolve/cmdp/problem"
)

// explorerOf makes an explorer of a problem file.
func explorerOf(t *testing.T, text string) *explorer {
	t.Helper()
	name := filepath.Join(t.TempDir(), "problem.yaml") // which JSON is too
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := (&memoryOptions{}).load(t.Context(), streams{problem: new(problem.Options)}, name)
	if err != nil {
		t.Fatal(err)
	}
	e, err := newExplorer(t.Context(), p, &planOptions{iterations: 2000})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestExploredTails wants the slider of the mean of the worst episodes to reach as far as that mean can, and not only
// as far as the mean of all.
func TestExploredTails(t *testing.T) {
	const text = "format: cmdp/1\nhorizon: 1\nstates: 1\nstart: 0\nreturns: [x]\ngoal: {maximize: x}\n" +
		"constraints: [{return: x, %s: 0, cvar: 0.1}]\ntransitions:\n" +
		"  - {state: 0, action: 0, outcomes: [{probability: 0.9, next: 0}, {probability: 0.1, next: 0, returns: [%d]}]}\n" +
		"  - {state: 0, action: 1, next: {0: 1}}\n"
	for _, test := range []struct {
		kind           string
		rare, min, max float64
	}{{"at_most", 10, 0, 10}, {"at_least", -10, -10, 0}} {
		tail := explorerOf(t, fmt.Sprintf(text, test.kind, int(test.rare))).about.Tails[0]
		if math.Abs(float64(tail.Min)-test.min) > 1e-9 || math.Abs(float64(tail.Max)-test.max) > 1e-9 {
			t.Errorf("%s: from %v to %v: want %g to %g", test.kind, tail.Min, tail.Max, test.min, test.max)
		}
	}
}

// drawn writes a random problem whose choices earn a reward and a cost. With pieces, nothing leads back to the start
// or from one part to the other, so that a mean in the long run may need a draw at the start.
func drawn(rng *rand.Rand, when string, steps int, pieces bool) string {
	const states = 6
	var rows []map[string]any
	for step := 1; step <= max(1, steps); step++ {
		for s := range states {
			part := []int{1, 2, 3, 4, 5}
			switch {
			case s == 0 && pieces:
				part = []int{1, 3}
			case pieces && s < 3:
				part = []int{1, 2}
			case pieces:
				part = []int{3, 4, 5}
			}
			for a := range 3 {
				next, left := map[string]float64{}, 1.0
				for i, to := range rng.Perm(len(part))[:2] {
					x := left
					if i == 0 {
						x = float64(1+rng.IntN(9)) / 10
					}
					left -= x
					next[fmt.Sprint("s", part[to])] = math.Round(10*x) / 10
				}
				if s == 0 && pieces { // an action leads to each part, and one stays
					next = map[string]float64{fmt.Sprint("s", []int{1, 3, 0}[a]): 1}
				}
				row := map[string]any{"state": fmt.Sprint("s", s), "action": fmt.Sprint("a", a), "next": next,
					"returns": []float64{float64(rng.IntN(100)) / 10, float64(rng.IntN(100)) / 10}}
				if pieces && s == 0 && a == 2 { // and it pays to stay there
					row["returns"] = []float64{20, 9}
				}
				if steps > 0 {
					row["step"] = step
				}
				rows = append(rows, row)
			}
		}
	}
	p := map[string]any{"format": "cmdp/1", "states": []string{"s0", "s1", "s2", "s3", "s4", "s5"}, "start": "s0",
		"returns":     []string{"reward", "cost"},
		"transitions": rows, "goal": map[string]string{"maximize": "reward"},
		"constraints": []map[string]any{{"return": "cost", "at_most": 5}}}
	switch when {
	case "average":
		p["criterion"] = "average"
	case "discount":
		p["discount"] = 0.9
		p["constraints"].([]map[string]any)[0]["at_most"] = 45
	default:
		p["horizon"] = 4
		p["constraints"].([]map[string]any)[0]["at_most"] = 18
	}
	text, _ := json.Marshal(p)
	return string(text)
}

// TestExploredPolicyEarnsItsReturns adds up what the page says of a plan's policy: visits, times the share of
// an action, times what it earns, are the returns of the plan.
func TestExploredPolicyEarnsItsReturns(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 23))
	drawnAtStart := 0
	for k := range 40 {
		when := []string{"horizon", "discount", "average", "steps"}[k%4]
		steps := 0
		if when == "steps" {
			steps = 4
		}
		e := explorerOf(t, drawn(rng, when, steps, when == "average" && k%8 == 2))
		question := map[string]any{"limits": e.about.Limits}
		text, _ := json.Marshal(question)
		answer, err := e.plan(t.Context(), text, func(any) {})
		if err != nil {
			t.Fatal(err)
		}
		a := answer.(*planAnswer)
		r := a.Report.(*planReport)
		if a.ID == 0 {
			continue // the limit cannot be kept
		}
		plan, err := e.played(a.ID)
		if err != nil {
			t.Fatal(err)
		}
		drawnAtStart += min(1, max(0, len(plan.mixture)-1))
		pages := []int{-1}
		if steps > 0 {
			pages = []int{0, 1, 2, 3}
		}
		earned := make([]float64, 2)
		for _, step := range pages {
			text, _ := json.Marshal(policyQuestion{ID: a.ID, Step: step, Most: 100})
			answer, err := e.showPolicy(t.Context(), text, nil)
			if err != nil {
				t.Fatal(err)
			}
			rows := e.Model.Rows(max(0, step))
			for _, at := range answer.(*policyAnswer).States {
				total := 0.0
				for i, name := range at.Names {
					first, end := rows.Choices(at.State)
					c := first
					for c < end && e.ActionName(max(0, step), at.State, c-first) != name {
						c++
					}
					total += at.Shares[i]
					for j, x := range rows.Returns(c) {
						earned[j] += at.Visits * at.Shares[i] * x
					}
				}
				if at.Visits > 0 && math.Abs(total-1) > 1e-9 {
					t.Errorf("problem %d, %s: shares of %s add up to %g", k, when, at.Name, total)
				}
			}
		}
		for j, name := range []string{"reward", "cost"} {
			if want := float64(r.Returns.Values[j]); math.Abs(earned[j]-want) > 1e-6*(1+want) {
				t.Errorf("problem %d, %s, %d components: visits and shares earn %g of %s: want %g", k, when,
					len(plan.mixture), earned[j], name, want)
			}
		}
	}
	if drawnAtStart < 2 {
		t.Errorf("%d plans draw at the start: want more", drawnAtStart)
	}
}

// TestExploredPlansAreKept keeps plans as the page asks: those that it shows stay, the newest is there, and of
// the others the oldest go first.
func TestExploredPlansAreKept(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	e := explorerOf(t, drawn(rng, "horizon", 0, false))
	var want []int
	for range 300 {
		var keep []int
		for _, id := range want {
			if rng.IntN(3) == 0 {
				keep = append(keep, id)
			}
		}
		if len(want) == keptPlans {
			gone := slices.IndexFunc(want, func(id int) bool { return !slices.Contains(keep, id) })
			want = slices.Delete(want, max(0, gone), max(0, gone)+1)
		}
		want = append(want, e.remember(&played{}, keep))
		if len(want) > 1 && slices.Contains(want[:len(want)-1], want[len(want)-1]) {
			t.Fatalf("plan %d has the number of another", want[len(want)-1])
		}
		for _, id := range want {
			if p, err := e.played(id); err != nil || p.id != id {
				t.Fatalf("plan %d of %v is not kept while the page shows %v", id, want, keep)
			}
		}
		if len(e.plans) != len(want) {
			t.Fatalf("%d plans are kept: want %v", len(e.plans), want)
		}
	}
}
