package problem

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

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

// TestWordsOfLanguageModels: what a problem file says of a model in a language counts before what the model says:
// labels, in the place of those of the same name, and returns. Constants of the options count before those of the file.
func TestWordsOfLanguageModels(t *testing.T) {
	const model = `mdp const int K; const int N;
module m x : [0..4]; [go] x<4 -> (x'=x+1); [go] x=4 -> true; endmodule
label "a" = x>=K; label "b" = x<=N;
rewards "r" true : K; endrewards rewards "q" x=N : 10; endrewards`
	rng := rand.New(rand.NewPCG(5, 2))
	for range 200 {
		value, file, options := make(map[string]int), "", make(map[string]string)
		for _, name := range []string{"K", "N"} {
			value[name] = rng.IntN(5)
			where := rng.IntN(3)
			if where != 1 { // the file has it, another value if the options have it too
				file += fmt.Sprintf("%s: %d, ", name, []int{value[name], 0, rng.IntN(5)}[where])
			}
			if where != 0 {
				options[name] = strconv.Itoa(value[name])
			}
		}
		labels := map[string][]bool{"a": make([]bool, 5), "b": make([]bool, 5)}
		for x := range 5 {
			labels["a"][x], labels["b"][x] = x >= value["K"], x <= value["N"]
		}
		text := "format: cmdp/1\nhorizon: 2\nlabels:\n"
		for _, i := range rng.Perm(3)[:1+rng.IntN(3)] {
			name, of := []string{"a", "b", "c"}[i], []string{"a", "b"}[rng.IntN(2)]
			in := slices.Clone(labels[of])
			for x := range in {
				in[x] = in[x] || x == 2
			}
			text += fmt.Sprintf("  %s: [%s, \"x=2\"]\n", name, of)
			labels[name] = in
		}
		returns := map[string]string{"r": "r", "q": "q"}
		switch rng.IntN(3) {
		case 0:
			returns = map[string]string{"q": "q"}
			text += "returns: [q]\n"
		case 1:
			returns = map[string]string{"r": "q", "u": "r"}
			text += "returns: {r: {reward: q}, u: {reward: r}}\n"
		}
		text += "transitions: {file: m.nm, constants: {" + file + "}}\n"
		p, err := parse("p.yaml", text, fstest.MapFS{"m.nm": {Data: []byte(model)}}, limits{maxStates, maxHorizon, maxStored},
			ReadOptions{Constants: options})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		seen := make(map[string]bool)
		for _, l := range p.Labels {
			want, ok := labels[l.Name]
			if !ok || seen[l.Name] || !slices.Equal(l.States, exchange.StatesOf(want)) {
				t.Fatalf("label %s has %v, once: %v: want %v\n%s%v", l.Name, l.States, !seen[l.Name], want, text, options)
			}
			seen[l.Name] = true
		}
		for i, name := range p.Returns {
			for x := range 5 {
				want := map[bool]float64{true: 10}[x == value["N"]]
				if returns[name] == "r" {
					want = float64(value["K"])
				}
				if got := p.Model.Rows(0).Returns(x)[i]; got != want {
					t.Fatalf("%s in state %d is %g: want %g\n%s%v", name, x, got, want, text, options)
				}
			}
		}
		var csv strings.Builder
		rows := p.Process().PolicyRows(drawPolicy(rng, p.Process()), Agent)
		if err := csvPolicy(&csv, p.Process().variables(), rows); err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(strings.TrimSpace(csv.String()), "\n") {
			cells := strings.Split(line, ",") // a state, and the variable that its name consists of
			if i == 0 && cells[4] != "state.x" || i > 0 && cells[1] != "x="+cells[4] {
				t.Fatalf("a policy with\n%s", csv.String())
			}
		}
		if len(seen) != len(labels) || len(p.Returns) != len(returns) {
			t.Fatalf("labels %v, returns %v: want %d and %d\n%s", p.Labels, p.Returns, len(labels), len(returns), text)
		}
	}
}

// TestStatesAreGivenOnce: wherever a mapping is from states, a state has one entry, whether it is called by its name or
// by its number, and however states have got their names.
func TestStatesAreGivenOnce(t *testing.T) {
	const rest = "transitions:\n  - {state: 0, action: go, next: {0: 1}}\n"
	files := fstest.MapFS{"m.nm": {Data: []byte("module m x : [0..3]; [go] x<3 -> (x'=x+1); [go] x=3 -> true; endmodule " +
		"rewards true : 1; endrewards init x=0 endinit")}}
	rng := rand.New(rand.NewPCG(5, 3))
	for range 400 {
		naming := rng.IntN(4)
		states := []string{"states: 4\n", "states: [s0, s1, s2, s3]\n", "states: {count: 4, name: \"s{}\"}\n", ""}[naming]
		name := []string{"%d", "s%d", "s%d", "\"x=%d\""}[naming]
		var parts []string
		seen, twice := make(map[int]bool), false
		place := rng.IntN(4)
		for i := range 4 {
			s := rng.IntN(4)
			twice = twice || seen[s]
			seen[s] = true
			called := fmt.Sprintf([]string{name, "%d"}[rng.IntN(2)], s)
			parts = append(parts, called+": "+[]string{"0.25", "0.25", "[0, 0.5]", fmt.Sprintf("[0, %d]", i)}[place])
		}
		mapping := "{" + strings.Join(parts, ", ") + "}"
		text := "format: cmdp/1\nhorizon: 1\n" + states
		switch {
		case naming == 3 && place > 0 && place < 3:
			continue // its rows are its own
		case place == 0:
			text += "start: " + mapping + "\n"
		case naming < 3:
			text += "start: 0\n"
		}
		if place == 3 {
			text += "coordinates: " + mapping + "\n"
		}
		rows := rest
		if place == 1 || place == 2 {
			rows = strings.Replace(rest, "{0: 1}", mapping, 1)
		}
		if naming == 3 {
			text += "transitions: {file: m.nm}\n"
		} else {
			text += "returns: [r]\n" + rows
		}
		key := []string{"start", "transitions[0].next", "transitions[0].next", "coordinates"}[place]
		var errs Errors
		if _, err := Parse("p.yaml", []byte(text), files); twice != (err != nil) || twice && (!errors.As(err, &errs) ||
			!strings.HasPrefix(errs[0].Key, key) || !strings.Contains(errs[0].Message, "given twice")) {
			t.Fatalf("some state is there twice: %v, but %v\n%s", twice, err, text)
		}
	}
}
