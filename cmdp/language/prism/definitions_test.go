package prism_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/language"
	"cmdpsolve/cmdp/language/jani"
	"cmdpsolve/cmdp/language/prism"
)

// Defined is what a model in JANI has of definitions: constants, functions without parameters, and a transient variable
// for each of them with its value. A constant may be outside of its bounds.
type defined struct {
	constants, functions, variables, values []string
	outside                                 bool
}

// add adds a definition of a kind, an integer, a condition or a real number, and returns what stands for it.
func (d *defined) add(rng *rand.Rand, name string, kind int, isConstant bool, value term) string {
	typ := []string{`"int"`, `"bool"`, `"real"`}[kind]
	use := strconv.Quote(name)
	d.variables = append(d.variables, fmt.Sprintf(`{"name":"of%s","type":%s,"transient":true}`, name, typ))
	if isConstant && kind == 0 && rng.IntN(2) == 0 {
		bound, away := rng.IntN(2), rng.IntN(2)
		if rng.IntN(12) == 0 {
			away, d.outside = -1, true
		}
		typ = fmt.Sprintf([]string{`{"kind":"bounded","base":"int","lower-bound":%d}`,
			`{"kind":"bounded","base":"int","upper-bound":%d}`}[bound], value.of([]int{0, 0})+away*(2*bound-1))
	}
	switch {
	case isConstant && value.jani == "":
		d.constants = append(d.constants, fmt.Sprintf(`{"name":"%s","type":%s}`, name, typ))
	case isConstant:
		d.constants = append(d.constants, fmt.Sprintf(`{"name":"%s","type":%s,"value":%s}`, name, typ, value.jani))
	default:
		d.functions = append(d.functions, fmt.Sprintf(`{"name":"%s","type":%s,"parameters":[],"body":%s}`, name, typ,
			value.jani))
		use = fmt.Sprintf(`{"op":"call","function":"%s","args":[]}`, name)
	}
	d.values = append(d.values, fmt.Sprintf(`{"ref":"of%s","value":%s}`, name, use))
	return use
}

// check compares the transient variables with what is wanted in quarters: rewards of choices, or labels.
func (d *defined) check(t *testing.T, rng *rand.Rand, given map[string]string, wanted []func(x []int) int) {
	t.Helper()
	for _, list := range [][]string{d.constants, d.functions, d.values} {
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	const edge = `{"location":"l","destinations":[{"location":"l","assignments":[{"ref":"x%d","value":` +
		`{"op":"%%","left":{"op":"+","left":"x%[1]d","right":1},"right":3}}]}]}`
	const number = `"type":{"kind":"bounded","base":"int","lower-bound":0,"upper-bound":2},"initial-value":0}`
	text := shuffled(rng, fmt.Sprintf(`{"jani-version":1,"name":"m","type":"mdp","constants":[%s],"functions":[%s],
		"variables":[{"name":"x0",%s,{"name":"x1",%[3]s,%s],"automata":[{"name":"P","locations":[{"name":"l",
		"transient-values":[%s]}],"initial-locations":["l"],"edges":[%s,%s]}],"system":{"elements":[{"automaton":"P"}]}}`,
		strings.Join(d.constants, ","), strings.Join(d.functions, ","), number, strings.Join(d.variables, ","),
		strings.Join(d.values, ","), fmt.Sprintf(edge, 0), fmt.Sprintf(edge, 1)))
	p, err := jani.Read("m.jani", []byte(text), given)
	if err != nil || d.outside {
		if !d.outside || err == nil || !strings.Contains(err.Error(), "is outside of its bounds") {
			t.Fatalf("a constant is outside of its bounds: %t, %v\n%s", d.outside, err, text)
		}
		return
	}
	m, err := p.Model(context.Background(), language.ExploreOptions{Threads: 1})
	if err != nil || m.States() != 9 {
		t.Fatalf("%v\n%s", err, text)
	}
	for k, want := range wanted {
		name := fmt.Sprint("ofx", k+3)
		i := slices.IndexFunc(m.Rewards, func(r exchange.Reward) bool { return r.Name == name })
		up, _ := m.Label(name)
		for s := range m.States() {
			got := float64(holds(slices.Contains(up, int32(s)))) / 4
			if i >= 0 {
				got = m.Rewards[i].Total(s, int(m.First[s]), m.Offset[m.First[s]])
			}
			if want := float64(want(vector(m.Described.StateName(s)))) / 4; got != want {
				t.Fatalf("%s is %g in %s: want %g\n%v\n%s", name, got, m.Described.StateName(s), want, given, text)
			}
		}
	}
}

// TestDefinitions: constants and formulas that use each other, in any order, are what their expressions give in each
// state. Some constants come from outside.
func TestDefinitions(t *testing.T) {
	rng := rand.New(rand.NewPCG(28, 10))
	for range 100 {
		given := make(map[string]string)
		known := plainVariables(3)
		known[2].term = term{"x2", `"x2"`, func([]int) int { return 2 }}
		inJANI := defined{constants: []string{`{"name":"x2","type":"int","value":2}`}}
		lines := []string{"const int x2 = 2;\n", "module m x0 : [0..2]; x1 : [0..2]; [] true -> (x0'=mod(x0+1,3)); " +
			"[] true -> (x1'=mod(x1+1,3)); endmodule\n"}
		rewards, labels, wanted := "", []string(nil), []func(x []int) int(nil)
		for k := 3; k < 9; k++ {
			name, of := fmt.Sprint("x", k), known
			word, end := "formula", ";\n"
			isConstant := rng.IntN(2) == 0
			if isConstant {
				of = nil
				for _, v := range known {
					if v.values == 0 || v.text == "x2" {
						of = append(of, v)
					}
				}
			}
			kind := rng.IntN(3)
			value := []func(*rand.Rand, []variable, int) term{drawNumber, drawCondition, drawQuarters}[kind](rng, of, 2)
			if whole := drawNumber(rng, of, rng.IntN(2)); isConstant && kind == 2 && rng.IntN(2) == 0 {
				value = term{whole.text, whole.jani, func(x []int) int { return 4 * whole.of(x) }}
			}
			if isConstant {
				word = []string{"const int", "const bool", "const double", "const", "const bool", "rate", "const int", "const bool",
					"prob"}[kind+3*rng.IntN(3)] // some are of old versions
			}
			if isConstant && rng.IntN(3) == 0 {
				n := rng.IntN(5)
				value = term{of: func([]int) int { return []int{n, holds(n > 2), n}[kind] }}
				given[name] = fmt.Sprintf([]string{"(%d+2)-2", "%d>2", "%d/4"}[kind], n)
				lines = append(lines, word+" "+name+end)
			} else {
				lines = append(lines, word+" "+name+" = "+value.text+end)
			}
			use := value.of
			named := variable{term: term{name, inJANI.add(rng, name, kind, isConstant, value), use}}
			named.values = holds(!isConstant)
			switch kind {
			case 0:
				rewards += fmt.Sprintf("rewards %q true : %s; endrewards\n", name, name)
				wanted = append(wanted, func(x []int) int { return 4 * use(x) })
			case 1:
				rewards += fmt.Sprintf("rewards %q %s : 0.25; endrewards\n", name, name)
				wanted = append(wanted, use)
				labels = append(labels, name)
				rewards += fmt.Sprintf("label %q = %s;\n", name, name)
				named.text, named.jani = "("+name+"?1:0)", `{"op":"ite","if":`+named.jani+`,"then":1,"else":0}`
			case 2:
				rewards += fmt.Sprintf("rewards %q true : %s; endrewards\n", name, name)
				wanted = append(wanted, use)
				named.text = "floor(" + name + ")"
				if isConstant { // of type double, which has powers below 0
					named.text = "floor(" + name + "+0*pow(max(1," + name + "),-1))"
				}
				named.jani = `{"op":"floor","exp":` + named.jani + `}`
				named.of = func(x []int) int { return use(x) >> 2 }
			}
			known = append(known, named)
		}
		rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		text := spaced(rng, strings.Join(lines, "")+rewards)
		p, err := prism.Read("m.prism", text, given)
		f := explored(t, p, err, fmt.Sprintf("%v\n%s", given, text))
		if len(f.rewards) != 9 {
			t.Fatalf("%d states\n%s", len(f.rewards), text)
		}
		inJANI.check(t, rng, given, wanted)
		for k, name := range labels {
			i := slices.IndexFunc(p.Rewards, func(r language.Reward) bool { return r.Name == name })
			states, err := f.result.States.Satisfying("", p.Labels[k])
			for s, earned := range f.rewards {
				if err != nil || p.Labels[k].Name != name || slices.Contains(states, int32(s)) != (earned[i] > 0) {
					t.Fatalf("label %s: %v, %v of %v\n%s", name, states, err, f.rewards, text)
				}
			}
		}
		for s, earned := range f.rewards {
			for k, x := range earned {
				want := wanted[k](vector(f.name(int32(s))))
				if x != float64(want)/4 || p.Rewards[k].Name != fmt.Sprint("x", k+3) {
					t.Fatalf("%s is %g in %s: want %d/4\n%v\n%s", p.Rewards[k].Name, x, f.name(int32(s)), want, given, text)
				}
			}
		}
	}
}
