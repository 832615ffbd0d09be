package query

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"cmdpsolve/cmdp/problem"
)

// TestChangedEpisodesReadBack: a problem whose goal or limits were changed is written so that it reads back
// to the same optimum, which is that of the changed query. Limits that are only moved share the model.
func TestChangedEpisodesReadBack(t *testing.T) {
	none := math.Inf(1)
	for _, c := range []struct {
		name, limits string
		changes      []Change
		shared       bool // the model
	}{
		{"nothing", "constraints: [{return: gain, at_least: 2, probability: 0.96875}]", nil, true},
		{"probability", "constraints: [{return: gain, at_least: 2, probability: 0.9375}]",
			[]Change{{Bounds: []Bound{{"P(gain ≥ 2)", "at_least", 0.96875}}}}, true},
		{"chance", "constraints: [{return: gain, at_most: 4, probability: 0.5}]",
			[]Change{{Bounds: []Bound{{"P(gain > 4)", "at_most", 0.1}}}}, true},
		{"never", "constraints: [{return: gain, at_most: 4, probability: 0.5}]",
			[]Change{{Bounds: []Bound{{"P(gain > 4)", "at_most", 0}}}}, false},
		{"chance from below", "constraints: [{return: gain, at_most: 4, probability: 0.5}]",
			[]Change{{Minimize: "gain", Bounds: []Bound{{"P(gain > 4)", "at_least", 0.1},
				{"P(gain > 4)", "at_most", 0.2}}}}, false},
		{"goal", "constraints: [{return: gain, at_most: 4, probability: 0.9}]",
			[]Change{{Minimize: "P(gain > 4)", Bounds: []Bound{{"P(gain > 4)", "at_most", none},
				{"gain", "at_least", 3.5}}}}, false},
		{"goal from below", "constraints: [{return: gain, at_least: 2, probability: 0.5}]",
			[]Change{{Minimize: "P(gain ≥ 2)", Bounds: []Bound{{"gain", "at_least", 2.5}}}}, false},
		{"always", "constraints: [{return: gain, at_least: 1, always: true}]",
			[]Change{{Bounds: []Bound{{"gain", "at_most", 3.1}}}}, true},
		{"worst", "constraints: [{return: gain, at_least: 1, cvar: 0.5}]",
			[]Change{{Bounds: []Bound{{"mean of the worst 50% of gain", "at_least", 1.5}}}}, true},
		{"worst, highest", "constraints: [{return: gain, at_most: 5, cvar: 0.5}]",
			[]Change{{Bounds: []Bound{{"mean of the worst 50% of gain", "at_most", 5.25}}}}, true},
		{"worst, none", "constraints: [{return: gain, at_least: 3.5, cvar: 0.1}]",
			[]Change{{Bounds: []Bound{{"mean of the worst 10% of gain", "at_least", none}}}}, false},
		{"worst, twice", "constraints: [{return: gain, at_least: 1, cvar: 0.5}]",
			[]Change{{Bounds: []Bound{{"mean of the worst 50% of gain", "at_least", 1.2}}},
				{Bounds: []Bound{{"mean of the worst 50% of gain", "at_least", 1.75}}}}, true},
		{"worst, beside others", "constraints: [{return: gain, at_least: 1, cvar: 0.5}]",
			[]Change{{Bounds: []Bound{{"gain", "at_most", 3.1}, {"mean of the worst 50% of gain", "at_least", 1.25}}}},
			true},
		{"worst, beside a chance",
			"constraints: [{return: gain, at_least: 2, probability: 0.9375}, {return: gain, at_least: 1, cvar: 0.5}]",
			[]Change{{Bounds: []Bound{{"P(gain ≥ 2)", "at_least", none},
				{"mean of the worst 50% of gain", "at_least", 1.25}}}}, true},
	} {
		given, err := parsed(t, fmt.Sprintf(walk, "[gain]", c.limits)).Best(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		q := given
		for _, change := range c.changes {
			if q, err = q.With(t.Context(), change); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
		}
		if (q.Model == given.Model) != c.shared {
			t.Errorf("%s: the model is shared: %v, want %v", c.name, q.Model == given.Model, c.shared)
		}
		if q, err = q.Best(t.Context()); err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if err := problem.Write(&file, q.Problem); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		again, err := parsed(t, file.String()).Best(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want, got := solved(t, q), solved(t, again)
		if got.Status != want.Status || math.Abs(got.Objective-want.Objective) > 1e-8 {
			t.Errorf("%s: %v %g, want %v %g from\n%s", c.name, got.Status, got.Objective, want.Status, want.Objective,
				&file)
		}
	}
}

// TestUnusableChanges names what a change asks for that there is not.
func TestUnusableChanges(t *testing.T) {
	q := parsed(t, fmt.Sprintf(walk, "[gain]", "constraints: [{return: gain, at_least: 2, cvar: 0.5}]"))
	for want, change := range map[string]Change{
		`unknown return "pain"`:                     {Bounds: []Bound{{"pain", "at_most", 1}}},
		`unknown return "rain"`:                     {Maximize: "rain"},
		"want one goal":                             {Maximize: "gain", Minimize: "gain"},
		"the problem has no target set":             {Inflate: 1},
		"want a distance above 0":                   {Inflate: math.NaN()},
		"depends on where the worst episodes begin": {Minimize: "shortfall of gain below 2"},
	} {
		if _, err := q.With(t.Context(), change); !errors.Is(err, ErrChange) ||
			!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "%!") {
			t.Errorf("%+v: %v, want %q", change, err, want)
		}
	}
}
