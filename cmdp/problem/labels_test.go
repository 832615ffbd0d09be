package problem

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"cmdpsolve/cmdp/exchange"
)

// holds evaluates a set of states for one state by the definition.
func holds(set *StateSet, s int, labels []exchange.Label) bool {
	switch {
	case set.Not != nil:
		return !holds(set.Not, s, labels)
	case set.And != nil:
		for _, part := range set.And {
			if !holds(part, s, labels) {
				return false
			}
		}
		return true
	case set.Name == "":
		for _, part := range set.Or {
			if holds(part, s, labels) {
				return true
			}
		}
		return false
	}
	for _, l := range labels {
		if l.Name == set.Name {
			for _, t := range l.States {
				if int(t) == s {
					return true
				}
			}
			return false
		}
	}
	return strconv.Itoa(s) == set.Name || "s"+strconv.Itoa(s) == set.Name
}

func randomSet(rng *rand.Rand, depth int) *StateSet {
	if depth == 0 || rng.IntN(4) == 0 {
		names := []string{"odd", "low", "none", strconv.Itoa(rng.IntN(6)), "s" + strconv.Itoa(rng.IntN(6))}
		return &StateSet{Name: names[rng.IntN(len(names))]}
	}
	parts := make([]*StateSet, 1+rng.IntN(3))
	for i := range parts {
		parts[i] = randomSet(rng, depth-1)
	}
	switch rng.IntN(3) {
	case 0:
		return &StateSet{Not: parts[0]}
	case 1:
		return &StateSet{And: parts}
	}
	return &StateSet{Or: parts}
}

func TestSetsOfStates(t *testing.T) {
	p := mustParse(t, `{format: cmdp/1, horizon: 2, states: [s0, s1, s2, s3, s4, s5], start: 0, returns: [r],
		labels: {odd: [1, s3, 5], low: {and: [{not: odd}, {not: [4]}]}, none: []}, transitions: [{state: 0, action: 0, next: {5: 1}}]}`)
	if len(p.Labels) != 3 || len(p.Labels[1].States) != 2 || p.Labels[1].States[1] != 2 || p.Labels[2].States != nil {
		t.Fatalf("labels %v: want odd 1 3 5, low 0 2, none", p.Labels)
	}
	rng := rand.New(rand.NewPCG(5, 1))
	for range 2000 {
		set := randomSet(rng, 3)
		some := false
		for s := range 6 {
			some = some || holds(set, s, p.Labels)
		}
		text := string(set.encode(nil))
		in, err := p.StatesIn(set)
		if want := some || text == "[]" || text == "none"; (err == nil) != want {
			t.Fatalf("%s: %v: want an error if no state is in the set and it does not say so, alone", text, err)
		}
		for s := range in {
			if in[s] != holds(set, s, p.Labels) {
				t.Fatalf("%s: state %d in the set: %v", text, s, in[s])
			}
		}
		if list, err := newStateFinder(p, 6).list(set); err == nil && !slices.Equal(list, exchange.StatesOf(in)) {
			t.Fatalf("%s: the states %v: want %v, in order", text, list, exchange.StatesOf(in))
		}
		// What is written is what was meant.
		n, bad := parseYAML(text, 1)
		again := new(StateSet)
		if bad != nil || !again.decode(new(decoder), n, nil) || string(again.encode(nil)) != text {
			t.Fatalf("%s is read as %s", text, again.encode(nil))
		}
	}
}
