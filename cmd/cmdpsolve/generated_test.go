package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// surveys is a problem without a horizon, in which costs are bounded and totals judged. A step may cost nothing, and an
// agent may wait for ever.
const surveys = `format: cmdp/1
discount: 1
states: [base, field, dune, home, wreck]
start: base
returns:
  photos: {}
  fuel: {}
  early: {total: photos, within: {return: fuel, at_most: 9}}
  back: {reach: home, within: [40, {return: fuel, at_most: 14}]}
  much: {exceeds: {return: fuel, limit: 6}}
goal: {maximize: early}
constraints:
  - {return: back, at_least: 0.5}
  - {return: much, at_most: 0.6}
transitions:
  - {state: base, action: fly, next: {field: 0.9, base: 0.1}, returns: {fuel: 1}}
  - {state: field, action: shoot, next: {field: 0.7, dune: 0.25, wreck: 0.05}, returns: {photos: 1, fuel: 1}}
  - {state: field, action: return, next: {home: 0.9, field: 0.1}, returns: {fuel: 2}}
  - {state: dune, action: slide, next: {field: 0.5, dune: 0.4, wreck: 0.1}}
  - {state: dune, action: wait, next: {dune: 1}}
  - {state: dune, action: climb, next: {field: 0.9, dune: 0.1}, returns: {fuel: 3}}
  - {state: wreck, action: stay, next: {wreck: 1}}
`

// keeps adds to surveys a limit that is always kept, and places to wait in when it is reached.
func keeps() string {
	out := strings.Replace(surveys, "constraints:\n", "constraints:\n  - {return: fuel, at_most: 13, probability: 1}\n", 1)
	for _, state := range []string{"base", "field"} {
		out += "  - {state: " + state + ", action: wait, next: {" + state + ": 1}}\n"
	}
	return out
}

// noisy adds to surveys a return that may go on for ever.
func noisy() string {
	return strings.Replace(surveys, "  fuel: {}\n", "  fuel: {}\n  noise: {}\n", 1) +
		"  - {state: base, action: hum, next: {base: 1}, returns: {noise: 1}}\n"
}

// TestGainsForEver: what could be gained for ever is said of generated rows as of stored ones.
func TestGainsForEver(t *testing.T) {
	defer func(before int) { manyPairs = before }(manyPairs)
	file := filepath.Join(t.TempDir(), "noisy.yaml")
	if err := os.WriteFile(file, []byte(noisy()), 0o600); err != nil {
		t.Fatal(err)
	}
	var said [2]string
	for i, many := range []int{1 << 16, 1} {
		manyPairs = many
		var out, errs bytes.Buffer
		status := run(t.Context(), []string{"front", file, "--over", "early,noise", "--format", "json"}, &out, &errs)
		said[i] = fmt.Sprint(status, errs.String())
	}
	if said[0] != said[1] {
		t.Errorf("%s: want %s", said[1], said[0])
	}
}

// TestGeneratedPairs asks all that can be asked of problems whose rows are stored and of the same ones with
// rows that are generated.
func TestGeneratedPairs(t *testing.T) {
	answer := func(many int, into any, args ...string) {
		t.Helper()
		defer func(before int) { manyPairs = before }(manyPairs)
		manyPairs = many
		var out, errs bytes.Buffer
		if status := run(t.Context(), append(args, "--format", "json"), &out, &errs); status != 0 {
			t.Fatalf("%v: status %d: %s", args, status, errs.String())
		}
		if err := json.Unmarshal(out.Bytes(), into); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
	same := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-8 {
			t.Errorf("%s: %.12g: want %.12g as with stored rows", what, got, want)
		}
	}
	type plan struct {
		Status           string
		Objective, Bound float64
		Returns          map[string]float64
		Constraints      []struct{ Slack float64 }
		Distribution     map[string]struct{ Quantiles map[string]float64 }
	}
	for _, name := range []string{"drone", "depot", "delivery", "epochs", "kept", "noisy"} {
		file, folder := "../../docs/examples/"+name+".yaml", t.TempDir()
		asked := []string{"--show", "--distribution"}
		if text := map[string]string{"epochs": surveys, "kept": keeps(), "noisy": noisy()}[name]; text != "" {
			file, asked = filepath.Join(folder, "epochs.yaml"), nil
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		paths := []string{filepath.Join(folder, "stored.csv"), filepath.Join(folder, "generated.csv")}
		var plans [2]plan
		for i, many := range []int{1 << 16, 1} {
			answer(many, &plans[i], append([]string{"plan", file, "--policy", paths[i]}, asked...)...)
		}
		want, got := plans[0], plans[1]
		same(name+": objective", got.Objective, want.Objective)
		same(name+": bound", got.Bound, want.Bound)
		for i, c := range want.Constraints {
			same(name+": slack", got.Constraints[i].Slack, c.Slack)
		}
		for of, d := range want.Distribution {
			for level, q := range d.Quantiles {
				same(name+": quantile of "+of, got.Distribution[of].Quantiles[level], q)
			}
		}
		if name == "noisy" { // its episodes need not end
			paths = nil
		}
		// A policy says what is remembered in the words of its product; either is played.
		for _, path := range paths {
			var played struct {
				Returns map[string]struct{ Expected, Mean, CI95 float64 }
			}
			answer(1, &played, "simulate", file, "--policy", path, "--episodes", "2000", "--distribution")
			for of, x := range want.Returns {
				same(name+": "+of+" of "+filepath.Base(path), played.Returns[of].Expected, x)
				if r := played.Returns[of]; math.Abs(r.Mean-x) > 3*r.CI95 {
					t.Errorf("%s: %s of %s is %g ± %g: want %g", name, of, filepath.Base(path), r.Mean, r.CI95, x)
				}
			}
		}
		var judged [2]struct {
			Feasible             bool
			Gap_Lower, Gap_Upper float64
		}
		for i, many := range []int{1 << 16, 1} {
			answer(many, &judged[i], "check", file)
		}
		if judged[0] != judged[1] {
			t.Errorf("%s: check: %v: want %v", name, judged[1], judged[0])
		}
		for _, ending := range []string{"json", "npz", "c"} {
			answer(1, new(plan), "plan", file, "--policy", filepath.Join(folder, "policy."+ending))
		}
		var curves [2]struct {
			Points []struct{ Returns map[string]float64 }
		}
		over := map[string][2]string{"drone": {"photos", "arrive"}, "depot": {"-cost", "-short"},
			"delivery": {"delivered", "-battery"}, "epochs": {"early", "back"}, "kept": {"early", "back"}, "noisy": {"early", "-noise"}}[name]
		for i, many := range []int{1 << 16, 1} {
			answer(many, &curves[i], "front", file, "--over", strings.Join(over[:], ","), "--policies",
				filepath.Join(folder, []string{"a", "b"}[i]))
		}
		for _, weight := range []float64{0.01, 0.1, 0.5, 1, 2, 10, 100} {
			most := [2]float64{math.Inf(-1), math.Inf(-1)} // along each curve
			for i, curve := range curves {
				for _, p := range curve.Points {
					x := 0.0
					for j, of := range over {
						sign, w := 1.0, 1.0
						if strings.HasPrefix(of, "-") {
							sign = -1
						}
						if j == 1 {
							w = weight
						}
						x += sign * w * p.Returns[strings.TrimPrefix(of, "-")]
					}
					most[i] = max(most[i], x)
				}
			}
			if math.Abs(most[0]-most[1]) > 1e-4*(1+weight) {
				t.Errorf("%s: a curve reaches %g: want %g", name, most[1], most[0])
			}
		}
	}
}
