package jani_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/language"
	"cmdpsolve/cmdp/language/jani"
)

// header begins a model of a type, whose members follow.
func header(kind string) string {
	return `{"jani-version":1,"name":"m","type":"` + kind + `","actions":[{"name":"a"},{"name":"b"},{"name":"c"}],`
}

func model(text string, constants map[string]string) (*exchange.Model, error) {
	p, err := jani.Read("m.jani", []byte(text), constants)
	if err != nil {
		return nil, err
	}
	return p.Model(context.Background(), language.ExploreOptions{Threads: 1})
}

// rows writes a model: a line for each state with its labels and rewards, and one for each choice.
func rows(m *exchange.Model) string {
	var b strings.Builder
	reward := func(name string, of []float64, i int) {
		if of != nil && of[i] != 0 {
			fmt.Fprintf(&b, " %s=%.6g", name, of[i])
		}
	}
	for s := range m.States() {
		b.WriteString(m.Described.StateName(s))
		for _, l := range m.Labels {
			for _, x := range l.States {
				if int(x) == s {
					b.WriteString(" " + l.Name)
				}
			}
		}
		for _, r := range m.Rewards {
			reward(r.Name, r.State, s)
		}
		b.WriteString("\n")
		for c := int(m.First[s]); c < int(m.First[s+1]); c++ {
			b.WriteString("  [" + m.ChoiceActions.Name(c) + "]")
			for e := m.Offset[c]; e < m.Offset[c+1]; e++ {
				if e > m.Offset[c] {
					b.WriteString(" +")
				}
				fmt.Fprintf(&b, " %.6g %s", m.Probability[e], m.Described.StateName(int(m.Target[e])))
				for _, r := range m.Rewards {
					reward(r.Name, r.Branch, e)
				}
			}
			for _, r := range m.Rewards {
				reward(r.Name, r.Choice, c)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

const small = `{"kind":"bounded","base":"int","lower-bound":0,"upper-bound":3}`

// TestConstructs holds models of a few states whose rows are worked out by hand.
func TestConstructs(t *testing.T) {
	for _, c := range []struct {
		name, model, want string
		constants         map[string]string
	}{
		{name: "assignments by index, also of automata that move together, and through a transient variable", model: header("mdp") + `
			"variables":[{"name":"x","type":` + small + `,"initial-value":1},{"name":"y","type":` + small + `,"initial-value":2},{"name":"t","type":"int","transient":true,"initial-value":3}],
			"automata":[
			{"name":"P","locations":[{"name":"l"}],"initial-locations":["l"],"edges":[
			 {"location":"l","action":"a","guard":{"exp":{"op":"=","left":"x","right":1}},"destinations":[{"location":"l","assignments":[
			  {"ref":"x","value":"y","index":1},{"ref":"y","value":{"op":"-","left":"t","right":"y"},"index":0},{"ref":"t","value":0}]}]}]},
			{"name":"Q","variables":[{"name":"z","type":` + small + `,"initial-value":0}],"locations":[{"name":"l"}],"initial-locations":["l"],"edges":[
			 {"location":"l","action":"a","destinations":[{"location":"l","assignments":[{"ref":"z","value":{"op":"+","left":"x","right":"t"},"index":2},{"ref":"y","value":0,"index":3}]}]}]}],
			"system":{"elements":[{"automaton":"P"},{"automaton":"Q"}],"syncs":[{"synchronise":["a","a"],"result":"a"}]}}`, want: `
			x=1,y=2,z=0
			[a] 1 x=1,y=0,z=1 t=3
			x=1,y=0,z=1
			[a] 1 x=3,y=0,z=3 t=3
			x=3,y=0,z=3`},
		{name: "rewards of destinations and locations, labels by locations, what properties accumulate", model: header("mdp") + `
			"variables":[{"name":"r","type":"real","transient":true,"initial-value":0},{"name":"q","type":"int","transient":true,"initial-value":0},{"name":"done","type":"bool","transient":true,"initial-value":false}],
			"properties":[{"name":"count","expression":{"op":"filter","fun":"max","states":{"op":"initial"},"values":{"op":"Emin","exp":1,"accumulate":["steps"],"reach":"done"}}},
			 {"name":"square","expression":{"op":"filter","fun":"max","states":{"op":"initial"},"values":{"op":"Emin","exp":{"op":"+","left":{"op":"*","left":"r","right":"r"},"right":"P"},"accumulate":["steps"],"reach":"done"}}},
			 {"name":"exits","expression":{"op":"filter","fun":"max","states":{"op":"initial"},"values":{"op":"Emin","exp":"r","accumulate":["exit"],"reach":"done"}}},
			 {"name":"q2","expression":{"op":"filter","fun":"max","states":{"op":"initial"},"values":{"op":"Emin","exp":"q","accumulate":["exit"],"reach":"done"}}},
			 {"name":"not supported","expression":{"op":"filter","fun":"count","states":{"op":"initial"},"values":"done"}}],
			"automata":[{"name":"P","locations":[{"name":"l","transient-values":[{"ref":"r","value":0.5},{"ref":"q","value":7}]},{"name":"k"},{"name":"e","transient-values":[{"ref":"done","value":true},{"ref":"q","value":9}]}],
			 "initial-locations":["l"],"edges":[
			 {"location":"l","action":"a","destinations":[{"location":"k","probability":{"exp":{"op":"/","left":1,"right":4}},"assignments":[{"ref":"r","value":4}]},{"location":"e","probability":{"exp":0.75},"assignments":[{"ref":"r","value":-1}]}]},
			 {"location":"l","action":"a","destinations":[{"location":"k","probability":{"exp":0.25}},{"location":"e","probability":{"exp":0.75}}]},
			 {"location":"k","destinations":[{"location":"e"}]}]}],
			"system":{"elements":[{"automaton":"P"}]}}`, want: `
			P=0
			[a] 0.25 P=1 r=4 square=17 + 0.75 P=2 r=-1 square=3 r=0.5 q=7 count=1 exits=0.5
			[a] 0.25 P=1 square=1 + 0.75 P=2 square=2 r=0.5 q=7 count=1 exits=0.5
			P=1
			[] 1 P=2 count=1 square=2
			P=2 done`},
		{name: "constants, functions with functions and parameters, all operators", model: header("mdp") + `
			"features":["functions","derived-operators"],
			"constants":[{"name":"N","type":{"kind":"bounded","base":"int","lower-bound":1}},{"name":"p","type":"real","value":{"op":"/","left":1,"right":"N"}}],
			"functions":[{"name":"twice","type":"int","parameters":[{"name":"v","type":"int"}],"body":{"op":"+","left":"v","right":{"op":"call","function":"same","args":["v"]}}},
			 {"name":"same","type":"int","parameters":[{"name":"v","type":"int"}],"body":{"op":"*","left":"v","right":1}}],
			"variables":[{"name":"C","type":{"kind":"bounded","base":"int","lower-bound":-9,"upper-bound":9},"initial-value":-2}],
			"automata":[{"name":"P","locations":[{"name":"l"}],"initial-locations":["l"],
			 "functions":[{"name":"add","type":"int","parameters":[{"name":"v","type":"int"}],"body":{"op":"+","left":"C","right":{"op":"call","function":"twice","args":[{"op":"call","function":"twice","args":["v"]}]}}}],
			 "edges":[
			 {"location":"l","guard":{"exp":{"op":"∧","left":{"op":"=","left":"C","right":-2},"right":{"op":"⇒","left":{"op":"≥","left":"C","right":0},"right":false}}},
			  "destinations":[{"location":"l","probability":{"exp":"p"},"assignments":[{"ref":"C","value":{"op":"call","function":"add","args":["N"]}}]},
			   {"location":"l","probability":{"exp":{"op":"-","left":1,"right":"p"}},"assignments":[{"ref":"C","value":{"op":"+","left":{"op":"*","left":{"op":"abs","exp":"C"},"right":{"op":"sgn","exp":"C"}},"right":{"op":"trc","exp":-1.5}}}]}]},
			 {"location":"l","guard":{"exp":{"op":"≠","left":"C","right":-2}},"destinations":[{"location":"l","assignments":[{"ref":"C","value":
			  {"op":"ite","if":{"op":"∨","left":{"op":">","left":"C","right":0},"right":false},"then":{"op":"%","left":{"op":"pow","left":"C","right":2},"right":7},
			   "else":{"op":"min","left":{"op":"floor","exp":{"op":"log","left":8.5,"right":2}},"right":{"op":"max","left":{"op":"ceil","exp":{"op":"*","left":{"constant":"π"},"right":1.1}},"right":-9}}}}]}]}]}],
			"system":{"elements":[{"automaton":"P"}]}}`, constants: map[string]string{"N": "2"}, want: `
			C=-2
			[] 0.5 C=6 + 0.5 C=-3
			C=6
			[] 1 C=1
			C=-3
			[] 1 C=3
			C=1
			[] 1 C=1
			C=3
			[] 1 C=2
			C=2
			[] 1 C=4
			C=4
			[] 1 C=2`},
		{name: "clocks, time-progress, rewards of time, steps and what is reached without time", model: header("pta") + `
			"variables":[{"name":"x","type":"clock","initial-value":0.0},{"name":"r","type":"real","transient":true,"initial-value":0}],
			"automata":[{"name":"P","locations":[{"name":"l","time-progress":{"exp":{"op":"≤","left":"x","right":2.0}},"transient-values":[{"ref":"r","value":3}]},{"name":"k","time-progress":{"exp":false}}],"initial-locations":["l"],
			 "edges":[{"location":"l","action":"a","guard":{"exp":{"op":"≥","left":"x","right":1}},"destinations":[{"location":"k","probability":{"exp":0.5},"assignments":[{"ref":"x","value":0},{"ref":"r","value":5}]},{"location":"l","probability":{"exp":0.5},"assignments":[{"ref":"x","value":0.0}]}]}]}],
			"system":{"elements":[{"automaton":"P"}]}}`, want: `
			x=0,P=0
			[time] 1 x=1,P=0 r=3
			x=1,P=0
			[a] 0.5 x=0,P=1 r=5 + 0.5 x=0,P=0
			[time] 1 x=2,P=0 r=3
			x=0,P=1
			x=2,P=0
			[a] 0.5 x=0,P=1 r=5 + 0.5 x=0,P=0`},
	} {
		m, err := model(c.model, c.constants)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := rows(m); !slices.Equal(strings.Fields(got), strings.Fields(c.want)) {
			t.Errorf("%s: got\n%swant\n%s", c.name, got, c.want)
		}
	}
}

// TestRepeatedEdges: edges that do and earn the same are one choice, and others are not.
func TestRepeatedEdges(t *testing.T) {
	rng := rand.New(rand.NewPCG(64, 1))
	for range 50 {
		var edges []string
		distinct := make(map[string]bool)
		for range 1 + rng.IntN(6) {
			to, earned, action := rng.IntN(2), rng.IntN(3), []string{"a", "b"}[rng.IntN(2)]
			distinct[fmt.Sprint(to, earned, action)] = true
			edges = append(edges, fmt.Sprintf(`{"location":"l","action":"%s","guard":{"exp":{"op":"=","left":"x","right":0}},
				"destinations":[{"location":"l","assignments":[{"ref":"x","value":%d},{"ref":"r","value":%d}]}]}`, action, to,
				earned))
		}
		m, err := model(header("mdp")+`"variables":[{"name":"x","type":`+small+`,"initial-value":0},
			{"name":"r","type":"real","transient":true,"initial-value":0}],
			"automata":[{"name":"P","locations":[{"name":"l"}],"initial-locations":["l"],"edges":[`+strings.Join(edges, ",")+`]}],
			"system":{"elements":[{"automaton":"P"}]},"properties":[{"name":"p","expression":{"op":"filter","fun":"max",
			"states":{"op":"initial"},"values":{"op":"Emax","exp":"r","accumulate":["steps"],"reach":{"op":"=","left":"x","right":1}}}}]}`, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := int(m.First[1] - m.First[0]); got != len(distinct) {
			t.Fatalf("%d choices: want %d\n%s\n%s", got, len(distinct), strings.Join(edges, "\n"), rows(m))
		}
	}
}
