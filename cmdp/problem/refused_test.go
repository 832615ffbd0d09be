package problem

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestRefusedFiles spoils one thing of a file at a time, which is refused with its line and with words about it.
func TestRefusedFiles(t *testing.T) {
	const good = "format: cmdp/1\nhorizon: 3\nstates: 2\nstart: 0\nreturns: [r, q]\ntransitions:\n" +
		"  - {state: 0, action: go, next: {0: 0.5, 1: 0.5}, returns: [1, 2]}\n  - {state: 1, action: go, next: {1: 1}}\n"
	if _, err := Parse("p.yaml", []byte(good), nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, with, want string }{
		{"horizon: 3", "horizon: 3\nuncertainty: step", "a mapping"},
		{"horizon: 3", "horizon: 3\nuncertainty: {}", "each is missing"},
		{"horizon: 3", "horizon: 3\nuncertainty: {each: time}", "want step or model"},
		{"horizon: 3", "horizon: 3\ncriterion: average", "criterion"},
		{"horizon: 3", "discount: 0.5\nreturn_to_go: {r: [-1, 1]}", "with a horizon alone"},
		{"horizon: 3", "horizon: 3\nreturn_to_go: [1]", "a mapping"},
		{"horizon: 3", "horizon: 3\nreturn_to_go: {r: [1, 2]}", "must contain 0"},
		{"horizon: 3", "horizon: 3\nreturn_to_go: {r: [0, 2]}", "promised"},
		{"horizon: 3", "horizon: 3\nconstraints: {return: r}", "a list"},
		{"horizon: 3", "horizon: 3\nconstraints: [{return: r, at_most: -0x1p4}]", "want a number"},
		{"horizon: 3", "horizon: 3\nconstraints: [{return: r, steps: 1-2, at_most: 1}]", "for fleets"},
		{"{0: 0.5, 1: 0.5}", "{0: [0.6, 1], 1: [0.6, 1]}", "transitions[0].next"},
		{"{0: 0.5, 1: 0.5}", "{0: [0, 0.3], 1: [0, 0.6]}", "transitions[0].next"},
		{"{0: 0.5, 1: 0.5}", "{0: [0.1, 0.5, 1], 1: 0.5}", "two, the least"},
		{"{0: 0.5, 1: 0.5}", "{0: [0.5, 0.1], 1: 0.5}", "above the upper"},
		{"{0: 0.5, 1: 0.5}", "{0: 0.5, 1: 0.6}", "sum to 1.1"},
		{"action: go, next: {0", "action: go, opponent: x, next: {1: 0, 0: [0.1, 0.9], 1", "given twice"},
		{"[r, q]", "[]", "empty"}, {"[r, q]", "[r, r]", "given twice"}, {"[r, q]", "[r]", "2 returns: want 1"},
		{"[r, q]", "{r: {criterion: average}, q: {}}", "horizon"},
		{"[r, q]", "{r: {criterion: mean}, q: {}}", "want total or average"},
		{"[r, q]", "{r: {}, q: {}, x: {reach: [1], within: 1.5}}", "whole number"},
		{"[r, q]", "{r: {}, q: {}, x: {visits: [1], within: 1}}", "without reach or total"},
		{"[r, q]", "{r: {}, q: {}, x: {total: r}}", "without while and within"},
		{"[r, q]", "{r: {}, q: {}, x: {reach: [1], visits: [0]}}", "2 kinds"},
		{"[r, q]", "{r: {}, q: {}, x: {exceeds: {return: s, limit: 1}}}", "unknown return s"},
		{"[r, q]", "{r: {}, q: {}, x: {reach: [1], within: [1, {return: r, at_most: 1}, 2]}}", "bounded twice"},
		{"[r, q]", "{r: {}, q: {}, x: {reach: [1], within: {return: r, at_most: -1}}}", "from 0 on"},
		{"action: go, next: {0", "action: go, step: 4, next: {0", "1 to 3"},
		{"action: go, next: {0", "action: go, step: 0, next: {0", "1 to 3"},
		{"goal", "{cost: {norm: {p: 3}}}", "want 1, 2 or inf"},
		{"goal", "{cost: {coordinate: s}}", "unknown return"}, {"goal", "{cost: {linear: 3}}", "list of numbers"},
		{"goal", "{cost: {linear: [1]}}", "1 coefficients: want 2"},
		{"goal", "{cost: {affine: {linear: {s: 1}}}}", "unknown return"},
		{"goal", "{cost: {max: [{linear: {r: 1}}, {linear: {s: 1}}]}}", "unknown return"},
		{"goal", "{cost: {hinge: {normal: {s: 1}, offset: 0}}}", "unknown return"},
		{"goal", "{cost: {scaled: {weight: 1, cost: {coordinate: s}}}}", "unknown return"},
		{"goal", "{cost: {sum: [{weight: 1, cost: {coordinate: s}}]}}", "unknown return"},
		{"goal", "{cost: {precomposed: {A: [], cost: {norm: {p: 2}}}}}", "A has 0 rows"},
		{"goal", "{cost: {precomposed: {A: [[1, 1]], b: [1, 2], cost: {norm: {p: 2}}}}}", "b 2 entries"},
		{"goal", "{cost: {precomposed: {A: [[1, 1], [1]], cost: {norm: {p: 2}}}}}", "1 entries: want 2"},
		{"goal", "{cost: {precomposed: {A: [[1, 1]], cost: {coordinate: r}}}}", "no names here"},
		{"goal", "{cost: {}}", "kinds given"}, {"goal", "{maximize: r, minimize: q}", "kinds given"},
		{"target", "{ball: {center: [1], radius: 1}}", "want 2"}, {"target", "{box: {}}", "neither lower nor upper"},
		{"target", "{box: {lower: [0, 0], upper: [1]}}", "want 2"}, {"target", "{box: {lower: [0], upper: [1, 1]}}", "want 2"},
		{"target", "{halfspace: {normal: {s: 1}, offset: 0}}", "unknown return"},
		{"target", "{product: [{orthant: {}}, {orthant: {}}]}", "left open"},
		{"target", "{product: [{point: [1]}, {orthant: {}}, {point: [1]}]}", "together"},
		{"target", "{image: {A: [], set: {point: [1]}}}", "no rows"},
		{"target", "{image: {A: [[1], [1]], set: {orthant: {dim: 1}}}}", "set"},
		{"target", "{translate: {set: {point: [1]}, by: [1, 1]}}", "want 2"},
		{"target", "{preimage: {A: [[1]], set: {box: {upper: [1]}}}}", "want 2"},
		{"target", "{hull: []}", "hull"}, {"target", "{ball: {center: [1, 1], radius: -1}}", "radius"},
	} {
		text := strings.Replace(good, c.old, c.with, 1)
		if c.old == "goal" || c.old == "target" {
			text = strings.Replace(good, "transitions:", c.old+": "+c.with+"\ntransitions:", 1)
		}
		_, err := Parse("p.yaml", []byte(text), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "p.yaml:") {
			t.Errorf("%s: %v: want words about %q", c.with, err, c.want)
		}
		if strings.Contains(c.with, "x: {") { // what is wrong with one return alone is not told of the rows, too
			text = strings.NewReplacer("horizon: 3", "discount: 1", "q: {}", "q: {criterion: average}").Replace(text)
			_, err := Parse("p.yaml", []byte(text), nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "transitions") {
				t.Errorf("%s beside a long-run mean: %v: want words about %q alone", c.with, err, c.want)
			}
		}
	}
}

// A slot is a line of a file, which may be wrong in several ways.
type slot struct {
	// stage is "form", "rows", "together" for rows that are wrong beside others, "judged" or "opponent".
	stage, good string
	bad         []string
}

// slots are the lines of a file of a game after its head. No two wrong ones have an unknown name in common, which would
// be told once.
var slots = []slot{
	{"form", "name: odd", []string{"name: [1]", "name: null", "nam: odd"}},
	{"form", "let: {a: 1}", []string{"let: {a: 1, a: 2}"}},
	{"form", "labels: {some: [0]}", []string{"labels: {some: [7]}", "labels: {some: [8, 0, 9], '1': [0]}",
		"labels: {s: {and: []}}"}},
	{"form", "coordinates: {0: [0, 0]}", []string{"coordinates: {0: [0]}", "coordinates: {0: [1, 0], 1: [1, 0]}",
		"coordinates: {0: [1000, -1]}"}},
	{"form", "return_to_go: {r: [null, null]}", []string{"return_to_go: {r: [1, -1]}",
		"return_to_go: {r: 1, q: [2]}"}},
	{"form", "constraints:\n- {return: r, at_most: 1}", []string{"constraints:\n- {return: u}",
		"constraints:\n- {return: r, atmost: 1}"}},
	{"form", "- {return: q, at_least: 1}", []string{"- {return: q, at_least: 2, at_most: 1}",
		"- {at_most: {}, probability: 2}",
		"- {return: q, at_most: 1, always: true, cvar: 0.5}", "- {return: q, at_most: 1, cvar: 2}"}},
	{"judged", "goal: {cost: {sum: [{weight: 1, cost: {coordinate: r}},",
		[]string{"goal: {cost: {sum: [{weight: 1, cost: {coordinate: u}},",
			"goal: {cost: {sum: [{weight: 1, cost: {linear: [1]}},"}},
	{"judged", "  {weight: 1, cost: {maximum: [{norm: {p: 2}},", []string{
		"  {weight: 1, cost: {maximum: [{squared: {center: [1]}},"}},
	{"judged", "    {coordinate: q}]}}]}}", []string{"    {huber: {threshold: 0}}]}}]}}",
		"    {precomposed: {A: [[1, 1]], cost: {linear: [1, 2]}}}]}}]}}"}},
	{"judged", "target: {intersection: [{orthant: {}},", []string{
		"target: {intersection: [{ball: {center: [1, 2, 3], radius: 1}},"}},
	{"judged", "  {product: [{orthant: {dim: 1}},", []string{"  {product: [{ball: {center: [1], radius: -1}},",
		"  {product: [{simplex: {dim: 1, total: -1}},"}},
	{"judged", "    {point: [1]}]},", []string{"    {halfspace: {normal: {v: 1}, offset: 0}}]},",
		"    {hull: [[1], [1, 2]]}]},"}},
	{"judged", "  {box: {lower: [0, null]}}]}", []string{"  {box: {lower: [], upper: [1, 2]}}]}",
		"  {convex_hull: [{orthant: {}}, {point: [1]}]}]}"}},
	{"opponent", "opponent: {policy: switching, period: 1, opponents: [{policy: uniform},",
		[]string{"opponent: {policy: switching, period: 1, opponents: [{policy: best-response, direction: {w: 1}},"}},
	{"opponent", "  {policy: scripted, actions: [x]},", []string{"  {policy: scripted, actions: [x, z, zz]},",
		"  {policy: replay, log: [[7]]},"}},
	{"opponent", "  {policy: random-start, episodes: 1, then: {policy: uniform}}]}",
		[]string{"  {policy: random-start, episodes: 1, then: {policy: fixed, " +
			"probabilities: [{state: 77, opponent: x, probability: 1}]}}]}"}},
	{"rows", "transitions:\n- {state: 0, action: a, opponent: x, next: {0: 1}}", []string{
		"transitions:\n- {state: 0, action: a, opponent: x, next: {0: 0.5}}"}},
	{"rows", "- {state: 0, action: a, opponent: y, next: {1: 1}}", []string{"- {state: 0, action: a, opponent: y}",
		"- {state: 71, action: a, opponent: y, next: {72: 2}}",
		"- {state: 0, action: 1.5, opponent: y, outcomes: [{next: 0}]}"}},
	{"rows", "- {state: 1, action: a, opponent: x, next: {1: 1}, returns: [1, 2]}",
		[]string{"- {state: 1, action: a, opponent: x, next: {1: 1}, returns: [1]}",
			"- {state: 1, action: a, opponent: x, next: {1: 1}, returns: {x: 1, q: []}}"}},
	{"together", "- {state: 1, action: b, opponent: x, step: 1, next: {0: 1}}", []string{
		"- {state: 1, action: a, opponent: x, next: {0: 1}}", "- {state: 1, action: b, opponent: z, next: {0: 1}}"}},
}

// TestAllMistakesAreTold: of a file that is wrong in several places all is told that is told of each of them alone, in
// the order of lines. Rows are looked at together where each by itself is right, and an opponent where there is a game.
func TestAllMistakesAreTold(t *testing.T) {
	const head = "format: cmdp/1\nhorizon: 2\nstates: 2\nstart: 0\nreturns: [r, q]\n"
	told := func(bad map[int]string) (all []string) {
		text := head
		for i, s := range slots {
			line, wrong := bad[i]
			if !wrong {
				line = s.good
			}
			text += line + "\n"
		}
		_, err := Parse("p.yaml", []byte(text), nil)
		var es Errors
		if (len(bad) == 0) != (err == nil) || err != nil && !errors.As(err, &es) {
			t.Fatalf("%v\n%s", err, text)
		}
		for _, e := range es {
			all = append(all, fmt.Sprintf("%03d:%03d %v", e.Line, e.Column, e))
		}
		return all
	}
	told(nil)
	alone := make(map[string][]string)
	for i, s := range slots {
		for _, bad := range s.bad {
			alone[bad] = told(map[int]string{i: bad})
		}
	}
	rng := rand.New(rand.NewPCG(72, 1))
	for range 200 {
		bad, stages := make(map[int]string), make(map[string]bool)
		for i, s := range slots {
			if rng.IntN(6) == 0 {
				bad[i] = s.bad[rng.IntN(len(s.bad))]
				stages[s.stage] = true
			}
		}
		var want []string
		for i, text := range bad {
			stage := slots[i].stage
			noModel := stages["form"] || stages["rows"] || stages["together"]
			if stage == "together" && stages["rows"] || stage == "opponent" && noModel {
				continue
			}
			want = append(want, alone[text]...)
		}
		slices.Sort(want)
		if got := told(bad); !slices.Equal(got, want) {
			t.Fatalf("%s\nwant %s\nof %v", strings.Join(got, "\n"), strings.Join(want, "\n"), bad)
		}
	}
}
