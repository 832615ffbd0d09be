package problem

import (
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
	}
}
