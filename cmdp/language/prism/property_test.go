package prism_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cmdpsolve/cmdp/language"
	"cmdpsolve/cmdp/language/jani"
	"cmdpsolve/cmdp/language/prism"
	"cmdpsolve/cmdp/language/property"
)

// An asked is a formula with its conditions on x0 and x1, which go from 0 to 2.
type asked struct {
	property.Formula
	while, goal term
}

// drawAsked draws a formula. Those of JANI name the rewards fuel, and have no players.
func drawAsked(rng *rand.Rand, isJANI bool) (a asked) {
	paths := map[byte]string{'P': "FGU", 'R': "CFS", 'S': "S"}
	a.Kind = "PPRRS"[rng.IntN(5)]
	a.Path = paths[a.Kind][rng.IntN(len(paths[a.Kind]))]
	a.Within = -1
	a.Bound = []string{"max", "min", "<=", ">="}[rng.IntN(4)]
	if a.Bound == "<=" || a.Bound == ">=" {
		a.Value = float64(rng.IntN(9)) / 4
	}
	if a.Kind == 'R' && (isJANI || rng.IntN(2) == 0) {
		a.Reward = "fuel"
	}
	bounded := a.Kind == 'P' || a.Path == 'C'
	if bounded && rng.IntN(2) == 0 {
		a.Within = rng.IntN(5)
	}
	for range rng.IntN(3) {
		if bounded {
			a.Costs = append(a.Costs, property.CostBound{Reward: "fuel", AtMost: float64(rng.IntN(9)) / 2})
		}
	}
	if !isJANI && rng.IntN(4) == 0 {
		a.Coalition = [][]string{{}, {"one"}, {"2", "one"}}[rng.IntN(3)]
	}
	if !isJANI && a.Kind == 'R' && a.Path == 'F' && rng.IntN(3) == 0 {
		a.Reward = property.Steps
	}
	a.goal, a.while = drawCondition(rng, plainVariables(2), 1), drawCondition(rng, plainVariables(2), 1)
	return a
}

// prism writes the formula in one of the ways in which it can be written. The label up is that condition.
func (a asked) prism(rng *rand.Rand) string {
	one := func(texts ...string) string { return one(rng, texts...) }
	text, fuel := "", `{"fuel"}`
	if a.Coalition != nil {
		text = "<<" + strings.Join(a.Coalition, ",") + ">> "
	}
	switch {
	case a.Reward == property.Steps:
		text += "T"
	case a.Kind == 'S':
		text += one("S", "LRA")
	case a.Reward != "":
		text += "R" + fuel
	default:
		text += string(a.Kind)
	}
	if strings.HasPrefix(a.Bound, "m") {
		text += a.Bound + one("=?", " = ?")
	} else {
		text += a.Bound + fmt.Sprintf(one("%g", "2*%g/2", "k*(%g)", "1-(1-%g)", "far*4*%g"), a.Value)
	}
	var bounds []string
	for _, c := range a.Costs {
		bounds = append(bounds, one("", "rew")+fuel+fmt.Sprintf(one("<=%g", "<= (%g+0)"), c.AtMost))
	}
	if a.Within >= 0 {
		steps := fmt.Sprintf(one("<=%d", "<= (k*%d)", "<=h%d", "<=(two*%d-%[1]d)"), a.Within)
		if rng.IntN(3) == 0 {
			steps = fmt.Sprintf(one("<%d", "<h%d"), a.Within+1)
		}
		bounds = slices.Insert(bounds, rng.IntN(len(bounds)+1), steps)
	}
	path := string(a.Path) + " " + strings.Join(bounds, ",")
	switch {
	case a.Kind == 'S':
		path = a.goal.text
	case a.Path == 'S':
		path = one("S", "LRA")
	case a.Path == 'U':
		path = a.while.text + " " + path + " " + a.goal.text
	case a.Path != 'C':
		path += " " + a.goal.text
	}
	return text + " [" + path + "]"
}

// jani writes the formula as the values of a filter, and changes it where what JANI asks is another question.
func (a *asked) jani(rng *rand.Rand) string {
	var members []string
	add := func(format string, args ...any) { members = append(members, fmt.Sprintf(format, args...)) }
	steps := fmt.Sprintf(`{"upper":%d}`, a.Within)
	if rng.IntN(2) == 0 {
		steps = fmt.Sprintf(`{"upper":%d,"upper-exclusive":true}`, a.Within+1)
	}
	var costs []string
	bound := map[byte]string{'P': `"bounds":{"upper":%g}`, 'R': `"instant":%g`}[a.Kind]
	for _, c := range a.Costs {
		costs = append(costs, fmt.Sprintf(`{"exp":"fuel","accumulate":["steps"],`+bound+`}`, c.AtMost))
	}
	switch {
	case a.Kind == 'P':
		add(`"op":"%c"`, a.Path)
		if a.Path == 'U' {
			add(`"left":%s,"right":%s`, a.while.jani, a.goal.jani)
		} else {
			add(`"exp":%s`, a.goal.jani)
		}
		if a.Within >= 0 {
			add(`"step-bounds":%s`, steps)
		}
		if costs != nil {
			add(`"reward-bounds":[%s]`, strings.Join(costs, ","))
		}
		members = []string{`"exp":{` + strings.Join(members, ",") + "}"}
	case a.Kind == 'S':
		add(`"exp":%s`, a.goal.jani)
	default:
		add(`"exp":"fuel","accumulate":["steps"]`)
		if a.Path == 'F' {
			add(`"reach":%s`, a.goal.jani)
		}
		if a.Within >= 0 {
			add(`"step-instant":%d`, a.Within)
		}
		if costs != nil {
			add(`"reward-instants":[%s]`, strings.Join(costs, ","))
		}
	}
	op := map[byte]string{'P': "P", 'R': "E", 'S': "S"}[a.Kind]
	if a.Path == 'S' {
		op = "S"
	}
	compared := a.Bound == "<=" || a.Bound == ">="
	least := a.Bound == "min" || compared && rng.IntN(2) == 0
	measured := fmt.Sprintf(`{"op":"%s%s",%s}`, op, map[bool]string{true: "min", false: "max"}[least],
		strings.Join(members, ","))
	if !compared {
		return measured
	}
	sign, turned := "≤", "≥"
	if a.Bound == ">=" {
		sign, turned = turned, sign
	}
	if least != (a.Bound == "<=") { // all policies keep it if the optimum does
		a.Bound = map[bool]string{true: "min", false: "max"}[least]
	}
	if rng.IntN(2) == 0 {
		return fmt.Sprintf(`{"op":"%s","left":%g,"right":%s}`, turned, a.Value, measured)
	}
	return fmt.Sprintf(`{"op":"%s","left":%s,"right":%g}`, sign, measured, a.Value)
}

// TestRandomProperties reads random properties, which say in all of their forms and in both languages what was drawn.
func TestRandomProperties(t *testing.T) {
	const inPRISM = "mdp module m x0 : [0..2]; x1 : [0..2]; [] true -> (x0'=mod(x0+1,3)); " +
		"[] true -> (x1'=mod(x1+1,3)); endmodule"
	const number = `"type":{"kind":"bounded","base":"int","lower-bound":0,"upper-bound":2},"initial-value":0}`
	const edge = `{"location":"l","destinations":[{"location":"l","assignments":[{"ref":"fuel","value":1},{"ref":"x%d",` +
		`"value":{"op":"%%","left":{"op":"+","left":"x%[1]d","right":1},"right":3}}]}]}`
	inJANI := `{"jani-version":1,"name":"m","type":"mdp","variables":[{"name":"x0",` + number + `,{"name":"x1",` + number +
		`,{"name":"fuel","type":"real","transient":true,"initial-value":0}],"automata":[{"name":"P","locations":` +
		`[{"name":"l"}],"initial-locations":["l"],"edges":[` + fmt.Sprintf(edge, 0) + "," + fmt.Sprintf(edge, 1) +
		`]}],"system":{"elements":[{"automaton":"P"}]},"properties":[{"name":"p","expression":{"op":"filter",` +
		`"fun":"max","states":{"op":"initial"},"values":%s}}]}`
	p, err := prism.Read("m.prism", inPRISM, nil)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(28, 2))
	for i := range 600 {
		if i%2 == 0 {
			a := drawAsked(rng, true)
			named := one(rng, "x0", "F", "label", "max", "a-b", "ξ", "a b", "Pmax", "U")
			text := strings.Replace(inJANI, "%s", a.jani(rng), 1)
			text = strings.Replace(text, `"fun":"max"`, `"fun":"`+one(rng, "min", "max", "sum", "avg", "∀", "∃", "values")+`"`, 1)
			text = strings.Replace(text, `{"op":"initial"}`, one(rng, `{"op":"initial"}`, `"initial"`), 1)
			text = shuffled(rng, strings.ReplaceAll(text, `"x0"`, strconv.Quote(named)))
			model, err := jani.Read("m.jani", []byte(text), nil)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			list, err := jani.Properties("m.jani", []byte(text), nil)
			checkAsked(t, model, list, err, []string{"p"}, [][]asked{{a}}, text)
			continue
		}
		given := map[string]string{"far": "1-0.75", "two": "3-1", "kept": "x"}
		text := one(rng, "const int k = 1;\n", "const k=1;", "const int k;")
		if strings.HasSuffix(text, "k;") {
			given["k"] = one(rng, "1", "3-2")
		}
		own := []string{"h0", "h1", "h2", "h3", "h4", "h5", "k"}
		text += "const int h0 = 0;"
		for h := range 5 {
			text += fmt.Sprintf("const int h%d = h%d+k;\n", h+1, h)
		}
		up := drawCondition(rng, plainVariables(2), 1)
		text += `label "up" = false|` + up.text + ";\n"
		var all [][]asked
		var called []string
		for p := range 1 + rng.IntN(3) {
			var formulas []asked
			var texts []string
			for range 1 + rng.IntN(3)/2 {
				a := drawAsked(rng, false)
				a.goal = term{`(!"up"&` + a.goal.text + ")", "", func(goal term) func(x []int) int {
					return func(x []int) int { return (1 - up.of(x)) * goal.of(x) }
				}(a.goal)}
				formulas, texts = append(formulas, a), append(texts, a.prism(rng))
			}
			all, called = append(all, formulas), append(called, one(rng, "", fmt.Sprint("p", p)))
			if called[p] != "" {
				text += strconv.Quote(called[p]) + ": "
			}
			if len(formulas) > 1 || rng.IntN(3) == 0 {
				texts = []string{"multi(" + strings.Join(texts, ", ") + ")"}
			}
			text += texts[0] + one(rng, ";", " ; ", ";;\n")
		}
		text = spaced(rng, strings.TrimRight(text, "; \n")+one(rng, "", ";"))
		list, constants, err := prism.ReadProperties("m.props", text, given)
		if !slices.Equal(constants, own) {
			t.Fatalf("constants %q: want %q\n%s", constants, own, text)
		}
		checkAsked(t, p, list, err, called, all, text)
	}
}

// checkAsked: the properties that were read from a text are those that were drawn, in their order.
func checkAsked(t *testing.T, p *language.Program, list []property.Property, err error, names []string, all [][]asked,
	text string) {
	t.Helper()
	if err != nil || len(list) != len(all) {
		t.Fatalf("%d properties, %v: want %d\n%s", len(list), err, len(all), text)
	}
	for i, got := range list {
		begins := textAt(text, got.At)
		for _, later := range list[i+1:] { // a list is in order, and the name begins what has one
			if !strings.Contains(begins, textAt(text, later.At)) || names[i] != "" && begins[0] != '"' {
				t.Fatalf("property %d begins with %.20q, another one with %.20q\n%s", i, begins, textAt(text, later.At), text)
			}
		}
		if got.Err != nil || got.Name != names[i] || len(got.Formulas) != len(all[i]) {
			t.Fatalf("property %d is %+v: want the name %q and %d formulas\n%s", i, got, names[i], len(all[i]), text)
		}
		for k, got := range got.Formulas {
			a := all[i][k]
			checkWhere(t, p, got.Goal, a.goal, a.Kind == 'R' && a.Path != 'F', text)
			checkWhere(t, p, got.While, a.while, a.Path != 'U', text)
			if begin := textAt(text, got.At); !strings.HasPrefix(begin, "{") && begin[0] != got.Kind &&
				!strings.HasPrefix(begin, map[byte]string{'S': "LRA", 'R': "T"}[got.Kind]) {
				t.Fatalf("a formula begins with %.20q\n%s", begin, text)
			}
			got.At, got.Goal, got.While = language.Pos{}, "", ""
			if !reflect.DeepEqual(got, a.Formula) {
				t.Fatalf("got %+v\nwant %+v\n%s", got, a.Formula, text)
			}
		}
	}
}

// checkWhere: a condition that was read holds where the one that was written does, and is empty if there is none.
func checkWhere(t *testing.T, p *language.Program, got string, want term, none bool, text string) {
	t.Helper()
	if none || got == "" {
		if !none || got != "" {
			t.Fatalf("the condition %q: want one: %t\n%s", got, !none, text)
		}
		return
	}
	when, err := p.Parse(got)
	if err != nil {
		t.Fatalf("%s: %v\n%s", got, err, text)
	}
	r, err := language.Explore(context.Background(), p, nothing{}, language.ExploreOptions{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	states, err := r.States.Satisfying("", language.Label{When: when})
	if err != nil {
		t.Fatal(err)
	}
	for s := range r.States.Len() {
		if x := vector(r.States.StateName(s)); slices.Contains(states, int32(s)) != (want.of(x) > 0) {
			t.Fatalf("%s holds in %v: want those of %s, not %v\n%s", got, states, want.text, x, text)
		}
	}
}
