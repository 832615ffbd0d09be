package contest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
)

// endlessContest is a contest of posterior on a problem of long-run means with states, starts and transitions in YAML.
func endlessContest(t *testing.T, text string) (*Contest, error) {
	t.Helper()
	return contestOf(t, "criterion: average\n"+text, PrepareOptions{Unsolved: true}, func(*Settings) {})
}

// contestOf is a contest of posterior for 10 steps.
func contestOf(t *testing.T, text string, opts PrepareOptions, change func(*Settings)) (*Contest, error) {
	t.Helper()
	p, err := problem.Parse("drawn", []byte("format: cmdp/1\n"+text), nil)
	if err != nil {
		t.Fatal(err)
	}
	q, err := query.New(t.Context(), p, query.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	settings := Defaults()
	settings.Algorithms, settings.Steps, settings.Seeds = []string{"posterior"}, 10, 1
	change(&settings)
	return New(t.Context(), q, settings, opts)
}

// TestTotalsRefused wants totals without a horizon to be refused by name, beside long-run means too.
func TestTotalsRefused(t *testing.T) {
	for _, gain := range []string{"[gain, cost]", "{gain: {criterion: average}, cost: {}}"} {
		text := strings.Replace(roomsRows("discount: 1", "goal: {maximize: gain}"), "[gain, cost]", gain, 1)
		_, err := contestOf(t, text, PrepareOptions{Unsolved: true}, func(*Settings) {})
		if err == nil || !strings.Contains(err.Error(), "rooms: learners need a horizon") ||
			strings.Contains(err.Error(), "beside") != strings.Contains(gain, "average") {
			t.Errorf("%s: %v", gain, err)
		}
	}
}

// TestCommunicating compares which models are refused with all pairs of states: a run is refused where it may come to a
// state, from any of its starts, that it cannot leave again for another one it may come to.
func TestCommunicating(t *testing.T) {
	rng := rand.New(rand.NewPCG(30, 7))
	refused := 0
	const trials, states = 150, 4
	for trial := range trials {
		var leads [states][states]bool
		var text strings.Builder
		starts := []int{rng.IntN(states), rng.IntN(states)}
		if starts[0] == starts[1] {
			starts = starts[:1]
		}
		fmt.Fprintf(&text, "states: %d\nreturns: [r]\ngoal: {maximize: r}\nstart: {", states)
		for i, s := range starts {
			fmt.Fprintf(&text, "%s%d: %g", []string{"", ", "}[i], s, 1/float64(len(starts)))
		}
		text.WriteString("}\ntransitions:\n")
		for s := range states {
			leads[s][s] = true
			for a := range 1 + rng.IntN(2) {
				to := rng.IntN(states)
				leads[s][to] = true
				fmt.Fprintf(&text, "  - {state: %d, action: %d, next: {%d: 1}, returns: [1]}\n", s, a, to)
			}
		}
		for k := range states {
			for i := range states {
				for j := range states {
					leads[i][j] = leads[i][j] || leads[i][k] && leads[k][j]
				}
			}
		}
		want := true
		for _, s := range starts {
			for _, other := range starts {
				for i := range states {
					for j := range states {
						if leads[s][i] && leads[other][j] && !leads[i][j] {
							want = false
						}
					}
				}
			}
		}
		_, err := endlessContest(t, text.String())
		if want != (err == nil) || err != nil && !strings.Contains(err.Error(), "communicating") {
			t.Errorf("trial %d: %v: want it played: %v\n%s", trial, err, want, text.String())
		}
		if err != nil {
			var from, to int
			_, said, _ := strings.Cut(err.Error(), "no choice ")
			_, failed := fmt.Sscanf(said, "leads from %d back to %d", &from, &to)
			if failed != nil || leads[from][to] {
				t.Errorf("trial %d: %v\n%s", trial, err, text.String())
			}
		}
		discounted := "discount: 0.5\n" + text.String()
		if _, err := contestOf(t, discounted, PrepareOptions{Unsolved: true}, func(*Settings) {}); err != nil {
			t.Errorf("trial %d, with a discount: %v", trial, err)
		}
		if err != nil {
			refused++
		}
	}
	if refused < trials/4 || refused > trials*3/4 {
		t.Errorf("%d of %d models are refused: the test has not tried both", refused, trials)
	}
}
