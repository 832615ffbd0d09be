package jani_test

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"cmdpsolve/cmdp/language"
	"cmdpsolve/cmdp/language/jani"
	"cmdpsolve/cmdp/language/property"
)

// plain is a model in which tests change one thing.
const plain = `{"jani-version": 1, "name": "plain", "type": "mdp", "features": ["functions"], "actions": [{"name": "a"}],
"constants": [{"name": "N", "type": "int"}],
"variables": [{"name": "x", "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": "N"}, "initial-value": 0},
 {"name": "F", "type": "bool", "transient": true}, {"name": "r", "type": "real", "transient": true, "initial-value": 0}],
"functions": [{"name": "f", "type": "int", "parameters": [{"name": "v", "type": "int"}], "body": {"op": "+", "left": "v", "right": 1}}],
"automata": [{"name": "P", "locations": [{"name": "l", "transient-values": [{"ref": "F", "value": {"op": ">", "left": "x", "right": 1}}]}], "initial-locations": ["l"],
 "edges": [{"location": "l", "action": "a", "guard": {"exp": {"op": "<", "left": "x", "right": "N"}},
  "destinations": [{"location": "l", "probability": {"exp": 1}, "assignments": [{"ref": "x", "value": {"op": "call", "function": "f", "args": ["x"]}}, {"ref": "r", "value": 2}]}]}]}],
"system": {"elements": [{"automaton": "P"}]},
"properties": [PROPERTY]}`

// TestRefused changes the plain model, and holds the place and a part of the message.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ old, new, at, want string }{
		{"", "", "", ""},
		{`"mdp"`, `"ctmc"`, "1:46", "type: continuous-time Markov chains (ctmc) are not supported"},
		{`"mdp"`, `"ma"`, "1:46", "Markov automata (ma)"}, {`"mdp"`, `"sta"`, "1:46", "stochastic timed"},
		{`"mdp"`, `"sha"`, "1:46", "hybrid"},
		{`"mdp"`, `"smg"`, "1:46", "unknown type of models smg: want mdp, dtmc or pta"},
		{`["functions"]`, `["functions", "arrays"]`, "1:79", "features[1]: the feature arrays is not supported"},
		{`["functions"]`, `["datatypes"]`, "1:66", "the feature datatypes is not supported"},
		{`{"name": "a"}]`, `{"name": "a"}, {"name": "a"}]`, "1:107", "action a is declared twice"},
		{`"type": "int"}]`, `"type": "continuous"}]`, "2:37", `the type "continuous" is not supported`},
		{`"type": "int"}]`, `"type": {"kind": "array", "base": "int"}}]`, "2:37", `the type "array" is not supported`},
		{`"type": "int"}]`, `"type": {"kind": "bounded", "base": "int", "upper-bound": 2}}]`, "2:15",
			"the value of constant N is outside of its bounds"},
		{`{"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": "N"}`, `"int"`, "3:15",
			"x is an integer without bounds"},
		{`"base": "int", "lower-bound"`, `"base": "real", "lower-bound"`, "3:15", "x is of type real"},
		{`{"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": "N"}`, `"clock"`, "3:15",
			"clock x: want an initial value of 0 or more, and a model of type pta"},
		{`"lower-bound": 0`, `"lower-bound": 4`, "3:15", "the range of x is empty: 4 to 3"},
		{`"lower-bound": 0`, `"lower-bound": 4.5`, "3:87", "want int"},
		{`"initial-value": 0},`, `"initial-value": 4},`, "3:128", "the initial value of x is 4: want 0 to 3"},
		{`"type": "real", "transient": true`, `"type": {"kind": "bounded", "base": "int", "lower-bound": 1}, "transient": true`,
			"4:164", "the initial value of r is 0: want at least 1"},
		{`"name": "F"`, `"name": "x"`, "4:2", "x is defined twice"},
		{`"name": "F"`, `"name": "a,b"`, "4:2", `"a,b" as a name`},
		{`"name": "F"`, `"name": ""`, "4:2", `"" as a name`},
		{`"body": {"op": "+", "left": "v"`,
			`"body": {"op": "+", "left": {"op": "call", "function": "f", "args": ["v"]}`, "5:118",
			"functions[0].body.left: function f calls itself: recursion is not supported"},
		{`[{"name": "v", "type": "int"}]`, `[{"name": "v", "type": "list"}]`, "5:81", `the type "list" is not supported`},
		{`"name": "f", "type": "int"`, `"name": "f", "type": "list"`, "5:37", `the type "list" is not supported`},
		{`"args": ["x"]`, `"args": []`, "8:103", "0 arguments for function f: want 1"},
		{`"function": "f"`, `"function": "g"`, "8:103", "unknown function g"},
		{`{"op": "<", `, `{"op": "<<", `, "7:62", `guard.exp: the operator "<<" is not supported`},
		{`{"op": "<", `, `{"op": "aa", `, "7:62", `the operator "aa"`},
		{`{"op": "<", "left": "x"`, `{"op": "<", "left": "y"`, "7:82",
			"automata[0].edges[0].guard.exp.left: unknown name y"},
		{`{"op": "<", "left": "x"`, `{"op": "<", "left": true`, "7:82", "type bool: want a number"},
		{`{"op": "<", "left": "x"`, `{"op": "<", "left": ["x"]`, "7:82", "got a list: want an expression"},
		{`{"op": "<", "left": "x", `, `{"op": "<", `, "7:62", "an operator without left"},
		{`"right": "N"}}`, `"right": "N", "exp": 1}}`, "7:108", "an operator with exp, which is not supported"},
		{`{"op": "<", "left": "x", "right": "N"}`, `9223372036854775808`, "7:62",
			"the number 9223372036854775808 is too large"},
		{`{"op": "<", "left": "x", "right": "N"}`, `1e999`, "7:62", "the number 1e999 is too large"},
		{`{"op": "<", "left": "x", "right": "N"}`, `1`, "7:62", "type int: want bool"},
		{`"action": "a",`, `"action": "b",`, "7:40", "unknown action b"},
		{`"action": "a",`, `"action": "a", "rate": {"exp": 2},`, "7:53", "an edge with rate, which is not supported"},
		{`"action": "a",`, `"action": 1,`, "7:40", "got 1: want a string"},
		{`"edges": [{"location": "l"`, `"edges": [{"location": "k"`, "7:25", "unknown location k"},
		{`"destinations": [{"location": "l"`, `"destinations": [{"location": "k"`, "8:33", "unknown location k"},
		{`"initial-locations": ["l"]`, `"initial-locations": ["k"]`, "6:163", "unknown location k"},
		{`"initial-locations": ["l"]`, `"initial-locations": []`, "6:14", "no initial location"},
		{`{"ref": "r", "value": 2}`, `{"ref": "x", "value": 2}`, "8:152", "x is written twice"},
		{`{"ref": "r", "value": 2}`, `{"ref": "N", "value": 2}`, "8:152", "N is no variable"},
		{`{"ref": "r", "value": 2}`, `{"ref": {"op": "aa"}, "value": 2}`, "8:160", "want a string"},
		{`{"ref": "r", "value": 2}`, `{"ref": "r", "value": 2, "index": 5000000000}`, "8:186",
			"the index 5000000000 is too large"},
		{`{"ref": "F", "value"`, `{"ref": "x", "value"`, "6:77", "x is no transient variable"},
		{`{"op": ">", "left": "x"`, `{"op": ">", "left": "r"`, "", ""},
		{`{"op": ">", "left": "x"`, `{"op": ">", "left": "F"`, "4:2", "formula F is defined by itself"},
		{`[{"name": "l", "trans`, `[{"name": "l", "time-progress": {"exp": true}, "trans`, "6:73",
			"time-progress in a model of type mdp"},
		{`[{"automaton": "P"}]`, `[{"automaton": "P"}, {"automaton": "P"}]`, "9:45", "stands in the system twice"},
		{`[{"automaton": "P"}]`, `[]`, "9:11", "the system has 0 automata of 1"},
		{`[{"automaton": "P"}]`, `[{"automaton": "P"}], "syncs": [{"synchronise": ["a", "a"]}]`, "9:56",
			"a synchronisation vector of 2 actions"},
		{`[{"automaton": "P"}]`, `[{"automaton": "P"}], "syncs": [{"synchronise": [null]}]`, "9:56", "without actions"},
		{`[{"automaton": "P"}]`, `[{"automaton": "P", "input-enable": ["b"]}]`, "9:61", "unknown action b"},
		{`[{"automaton": "P"}]`, `[{"automaton": "P"}], "syncs": [{"synchronise": ["a"], "result": "t"}]`, "9:89",
			"unknown action t"},
		{`"system": {`, `"restrict-initial": {"exp": {"op": ">", "left": "x", "right": 0}}, "system": {`, "9:29",
			"no state is initial"},
		{`"constants": [`, `"constants": [{"name": "M", "type": "int", "value": {"op": "+", "left": "M", "right": 1}}, `, "2:15", "constant M is defined by itself"},
		{`"constants": [`, `"constants": [{"name": "M", "type": "int"}, `, "2:15", "constants without a value: M"},
		{`{"name": "N", "type": "int"}`, ``, "", "the model has no constant N"},
		{`"automata": [{`, `"composition": 1, "automata": [{`, "6:16",
			"a model with composition, which is not supported"}, {`"automata": [{`, `"automata": 1, "x-automata": [{`,
			"6:13", "automata: got 1: want a list"},
		{`"name": "plain",`, `"name": "plain", "name": "again",`, "1:46", "a model with name twice"},
		{`[PROPERTY]}`, `[PROPERTY]} {}`, "10:18", "text after the end"},
		{`"system": {`, `"system": `, "9:20", "no JSON"},
		{`"properties": [PROPERTY]}`, ``, "10:1", "no JSON: the text ends too early"},
	} {
		text := strings.Replace(strings.Replace(plain, c.old, c.new, 1), "PROPERTY", `{"name":"p","expression":0}`[:0],
			1)
		if c.old != "" && !strings.Contains(plain, c.old) {
			t.Fatalf("%s is not in the model", c.old)
		}
		at := "m.jani: "
		if c.at != "" {
			at = "m.jani:" + c.at + ": "
		}
		named := strings.ReplaceAll(text, `"x"`, `"ξ"`) // places count characters
		_, err := jani.Read("m.jani", []byte(named), map[string]string{"N": "3"})
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), at) {
			t.Errorf("%s → %s, with the name ξ for x: got %v, want\n%s", c.old, c.new, err, at)
		}
		_, err = jani.Read("m.jani", []byte(text), map[string]string{"N": "3"})
		if c.want == "" && err == nil {
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), at) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s → %s: got\n%v, want\n%s%s", c.old, c.new, err, at, c.want)
		}
	}
}

// TestModelErrors are seen in a state.
func TestModelErrors(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`"guard": {"exp": {"op": "<", "left": "x", "right": "N"}},`, ``,
			"m.jani:8:12: edge 0 [a] of automaton P in the state x=3: x, which is from 0 to 3, would become 4"},
		{`"probability": {"exp": 1}`, `"probability": {"exp": 0.5}`,
			"edge 0 [a] of automaton P in the state x=0: the probabilities sum to 0.5: want 1"},
		{`"ref": "r", "value": 2`, `"ref": "r", "value": {"op": "/", "left": 1, "right": "x"}`,
			"reward r in the state x=0: +Inf: want a finite number"},
	} {
		p, err := jani.Read("m.jani",
			[]byte(strings.Replace(strings.Replace(plain, c.old, c.new, 1), "PROPERTY", "", 1)),
			map[string]string{"N": "3"})
		if err == nil {
			_, err = p.Model(context.Background(), language.ExploreOptions{})
		}
		if err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(c.want, "m.jani:8:12: ")) {
			t.Errorf("%s: got %v, want %s", c.new, err, c.want)
		}
	}
}

func filter(values string) string {
	return `{"name":"p","expression":{"op":"filter","fun":"values","states":{"op":"initial"},"values":` + values + `}}`
}

// TestProperties reads properties of the plain model.
func TestProperties(t *testing.T) {
	const reach = `"reach":{"op":"=","left":"x","right":2}`
	const instant = `{"exp":"x","accumulate":["steps"],"instant":"N"}`
	p := func(bound string, path byte, goal string, within int) property.Formula {
		return property.Formula{Kind: 'P', Bound: bound, Path: path, Goal: goal, Within: within}
	}
	r := func(reward, bound string, path byte, within int) property.Formula {
		return property.Formula{Kind: 'R', Reward: reward, Bound: bound, Path: path, Within: within}
	}
	spent := func(exp, bounds string) string {
		return `{"exp":"` + exp + `","accumulate":["steps"],"bounds":{` + bounds + `}}`
	}
	for _, c := range []struct {
		values string
		want   property.Formula
		wrong  string
	}{
		{values: `{"op":"Pmin","exp":{"op":"G","exp":{"op":"¬","exp":{"op":"call","function":"f","args":["x"]}}}}`,
			wrong: "type int: want bool"},
		{values: `{"op":"Pmin","exp":{"op":"G","exp":{"op":"≤","left":{"op":"ite","if":"F","then":-1,"else":2.0},"right":{"op":"call","function":"f","args":["x"]}}}}`,
			want: p("min", 'G', `(("F" ? (-1) : 2.0) <= (x + 1))`, -1)},
		{values: `{"op":"Pmax","exp":{"op":"U","left":true,"right":"F","step-bounds":{"upper":"N"}}}`,
			want: p("max", 'F', `"F"`, 3)},
		{values: `{"op":"=","left":{"op":"Pmax","exp":{"op":"F","exp":"F"}},"right":0}`,
			want: p("max", 'F', `"F"`, -1)},
		{values: `{"op":"Emax","exp":"r","accumulate":["steps","exit"]}`, want: r("r", "max", 'C', -1)},
		{values: `{"op":"Emax","exp":"x","accumulate":["exit"],"step-instant":4}`, want: r("p", "max", 'C', 4)},
		{values: `{"op":"Emax","exp":"r","accumulate":["exit"]}`, want: r("p", "max", 'C', -1)},
		{values: `{"op":"Smin","exp":1,"accumulate":["steps"]}`, want: r("p", "min", 'S', -1)},
		{values: `{"op":"Pmax","exp":{"op":"W","left":true,"right":"F"}}`,
			wrong: "properties[0].expression.values.exp: an object W as what is to happen is not supported: want F, G or U"},
		{values: `{"op":"Pmax","exp":{"op":"F","exp":"F","time-bounds":{"upper":3}}}`,
			wrong: "F with time-bounds, which is not supported"},
		{values: `{"op":"Pmax","exp":{"op":"U","left":true,"right":"F","reward-bounds":[` + spent("r", `"upper":2.5`) + `,` +
			spent("x", `"upper":"N"`) + `]}}`,
			want: property.Formula{Kind: 'P', Bound: "max", Path: 'F', Goal: `"F"`, Within: -1,
				Costs: []property.CostBound{{Reward: "r", AtMost: 2.5}, {Reward: "p", AtMost: 3}}}},
		{values: `{"op":"Pmax","exp":{"op":"F","exp":"F","reward-bounds":[` +
			spent("r", `"upper":2,"upper-exclusive":true`) + `]}}`, wrong: "a bound of rewards that is excluded"},
		{values: `{"op":"Pmax","exp":{"op":"F","exp":"F","reward-bounds":[` + spent("r", `"lower":2`) + `]}}`,
			wrong: "bounds of rewards without upper"},
		{values: `{"op":"Pmax","exp":{"op":"U","left":true,"right":"F","step-bounds":{"lower":3,"upper":4}}}`,
			wrong: "step-bounds with lower"},
		{values: `{"op":"Pmax","exp":{"op":"F","exp":{"op":"Pmax","exp":{"op":"F","exp":"F"}}}}`,
			wrong: `the operator "Pmax" is not supported in an expression`},
		{values: `{"op":"Emin","exp":"r","accumulate":["time"]}`, wrong: "accumulate time is not supported"},
		{values: `{"op":"Emin","exp":"r","accumulate":["steps"],"step-instant":2,` + reach + `}`,
			wrong: "reach and step-instant"},
		{values: `{"op":"Emax","exp":"r","accumulate":["steps","exit"],"step-instant":4,"reward-instants":[` + instant + `]}`,
			want: property.Formula{Kind: 'R', Reward: "r", Bound: "max", Path: 'C', Within: 4,
				Costs: []property.CostBound{{Reward: "p", AtMost: 3}}}},
		{values: `{"op":"Emin","exp":"r","accumulate":["steps"],"reward-instants":[` + instant + `],` + reach + `}`,
			wrong: "reach and reward-instants"},
		{values: `{"op":"Emin","exp":"F","accumulate":["steps"]}`, wrong: "type bool"},
		{values: `"F"`, wrong: "F as what a property asks is not supported"},
		{values: `{"op":"∧","left":true,"right":true}`, wrong: "as what a property asks is not supported"},
	} {
		text := strings.Replace(plain, "PROPERTY", filter(c.values), 1)
		list, err := jani.Properties("m.jani", []byte(text), map[string]string{"N": "3"})
		if err != nil || len(list) != 1 {
			t.Fatal(len(list), err)
		}
		got := list[0]
		err = got.Err
		if c.wrong != "" {
			if err == nil || !strings.HasPrefix(err.Error(), "m.jani:") || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: got %v, want %s", c.values, err, c.wrong)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.values, err)
			continue
		}
		f := got.Formulas[0]
		f.At = language.Pos{}
		if !reflect.DeepEqual(f, c.want) {
			t.Errorf("%s: got\n%+v, want\n%+v", c.values, f, c.want)
		}
	}
}

// TestHostile ends in errors within bounds of memory.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("a second")
	}
	double := `"functions":[{"name":"f0","type":"int","parameters":[],"body":1}`
	for i := 1; i < 60; i++ {
		call := fmt.Sprintf(`{"op":"call","function":"f%d","args":[]}`, i-1)
		double += fmt.Sprintf(`,{"name":"f%d","type":"int","parameters":[],"body":{"op":"-","left":%s,"right":%s}}`, i,
			call, call)
	}
	many := make([]string, 50_000)
	elements := make([]string, len(many))
	for i := range many {
		many[i] = fmt.Sprintf(`{"name":"P%d","locations":[{"name":"l"}],"initial-locations":["l"],"edges":[]}`, i)
		elements[i] = fmt.Sprintf(`{"automaton":"P%d"}`, i)
	}
	for _, c := range []struct{ text, want string }{
		{strings.Repeat("[", 1_000_000), "nested more than 5000 deep"},
		{strings.Replace(plain, `{"op": "<", "left": "x", "right": "N"}`,
			strings.Repeat(`{"op":"¬","exp":`, 6000)+"true"+strings.Repeat("}", 6000),
			1), "nested more than 5000 deep"},
		{header("mdp") + double +
			`],"constants":[{"name":"K","type":"int","value":{"op":"call","function":"f59","args":[]}}],"automata":[],"system":{"elements":[]}}`, "more than 2000000 operators once functions are put in"},
		{header("mdp") + `"variables":[{"name":"x","type":{"kind":"bounded","base":"int","lower-bound":0,"upper-bound":4611686018427387904}}],"restrict-initial":{"exp":{"op":"<","left":{"op":"%","left":"x","right":3},"right":0}},` +
			`"automata":[],"system":{"elements":[]}}`, "takes more than 10000000 steps"},
		{header("mdp") + `"automata":[` + strings.Join(many, ",") + `],"system":{"elements":[` + strings.Join(elements,
			",") + `]}}`, "the model has no variables"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		constants := map[string]string{"N": "3"}
		if !strings.Contains(c.text, `"N"`) {
			constants = nil
		}
		_, err := jani.Read("m.jani", []byte(strings.ReplaceAll(c.text, "PROPERTY", "")), constants)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.100s: %v, want %s", c.text, err, c.want)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 2<<30 {
			t.Errorf("%.100s: %d MB", c.text, used>>20)
		}
	}
}
