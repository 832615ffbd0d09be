package jani_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/language/jani"
)

// names are what things of a model are called: global variables g0 and g1, functions F0 and F1 of Fv and Fw, automata
// A0 and A1, and in them variables A0x and A0y and a function A0f, whose parameters are A0v and A0w.
type names map[string]string

// drawNames draws names of which the same may mean several things, in the file or in an automaton.
func drawNames(rng *rand.Rand) names {
	n := make(names)
	call := func(things string, from ...string) {
		rng.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
		for i, thing := range strings.Fields(things) {
			n[thing] = from[i]
		}
	}
	call("A0 A1", "p", "q", "x")
	call("g0 g1", "p", "q", "x", "y")
	call("F0 F1", "f", "h", "x")
	for _, a := range []string{"A0", "A1"} {
		call(a+"x "+a+"y", "p", "q", "x", "y", "z")
		call(a+"f", "f", "h", "x", "k")
		call(a+"v "+a+"w", "p", "x", "v", "w")
	}
	call("Fv Fw", "p", "x", "v", "w")
	return n
}

// visible returns those of some things that have the names, the inner ones of the same name before the outer ones.
func (n names) visible(inner, outer []string) []string {
	return append(slices.Clone(inner), slices.DeleteFunc(slices.Clone(outer), func(thing string) bool {
		return slices.ContainsFunc(inner, func(i string) bool { return n[i] == n[thing] })
	})...)
}

// drawNamed draws a model of two automata in which things stand as «thing».
func drawNamed(rng *rand.Rand, n names) string {
	variable := func(thing string) string {
		begin := fmt.Sprintf(`,"initial-value":%d`, rng.IntN(3))
		return fmt.Sprintf(`{"name":"«%s»","type":{"kind":"bounded","base":"int","lower-bound":0,"upper-bound":2}%s}`, thing,
			[]string{begin, begin, ""}[rng.IntN(3)])
	}
	var sum func(variables, functions []string, depth int) string
	sum = func(variables, functions []string, depth int) string {
		switch k := rng.IntN(4); {
		case depth == 0 || k == 0:
			return `"«` + variables[rng.IntN(len(variables))] + `»"`
		case k == 1 || len(functions) == 0:
			return fmt.Sprintf(`{"op":"+","left":%s,"right":%s}`, sum(variables, functions, depth-1),
				sum(variables, functions, depth-1))
		}
		return fmt.Sprintf(`{"op":"call","function":"«%s»","args":[%s,%s]}`, functions[rng.IntN(len(functions))],
			sum(variables, functions, depth-1), sum(variables, functions, depth-1))
	}
	function := func(thing, of, body string) string {
		return fmt.Sprintf(`{"name":"«%s»","type":"int","parameters":[{"name":"«%sv»","type":"int"},`+
			`{"name":"«%[2]sw»","type":"int"}],"body":%[3]s}`, thing, of, body)
	}
	globals, functions := []string{"g0", "g1"}, []string{"F0", "F1"}
	ofF := n.visible([]string{"Fv", "Fw"}, globals)
	var automata []string
	for _, a := range []string{"A0", "A1"} {
		own := n.visible([]string{a + "x", a + "y"}, globals)
		calls := n.visible([]string{a + "f"}, functions)
		var edges []string
		for range 1 + rng.IntN(3) {
			to := own[:2]
			if i := rng.IntN(len(own)); i > 1 {
				to = own[i:]
			}
			edges = append(edges, fmt.Sprintf(`{"location":"l%d","guard":{"exp":{"op":"≠","left":%s,"right":%d}},
				"destinations":[{"location":"l%d","assignments":[{"ref":"«%s»","value":{"op":"%%","left":%s,"right":3}}]}]}`,
				rng.IntN(2), sum(own, calls, 2), rng.IntN(3), rng.IntN(2), to[0], sum(own, calls, 3)))
		}
		body := sum(n.visible([]string{a + "v", a + "w"}, own), n.visible(nil, calls[1:]), 2)
		restrict := ""
		if rng.IntN(2) == 0 {
			restrict = fmt.Sprintf(`"restrict-initial":{"exp":{"op":"≤","left":%s,"right":%d}},`, sum(own, calls, 2), rng.IntN(5))
		}
		automata = append(automata, fmt.Sprintf(`{"name":"«%s»","variables":[%s,%s],"functions":[%s],%s
			"locations":[{"name":"l0"},{"name":"l1"}],"initial-locations":[%s],"edges":[%s]}`, a, variable(a+"x"),
			variable(a+"y"), function(a+"f", a, body), restrict, []string{`"l0"`, `"l1"`, `"l0","l1"`}[rng.IntN(3)],
			strings.Join(edges, ",")))
	}
	return header("mdp") + fmt.Sprintf(`"features":["functions"],"variables":[%s,%s],"functions":[%s,%s],"automata":[%s],
		"system":{"elements":[{"automaton":"«A0»"},{"automaton":"«A1»"}]}}`, variable("g0"), variable("g1"),
		function("F0", "F", sum(ofF, nil, 2)), function("F1", "F", sum(ofF, functions[:1], 2)),
		strings.Join(automata, ","))
}

// inStates returns what the variables are called in states: those of an automaton with its name before their own where
// another thing that has a value has that name.
func (n names) inStates() (all []string) {
	count := make(map[string]int)
	list := strings.Fields("g0 g1 A0x A0y A0 A1x A1y A1")
	for _, thing := range list {
		count[n[thing]]++
	}
	for _, thing := range list {
		name, isTwice := n[thing], count[n[thing]] > 1
		switch {
		case isTwice && len(thing) == 3:
			name = n[thing[:2]] + "." + name
		case isTwice && thing[0] == 'A':
			name += ".location"
		}
		all = append(all, name)
	}
	return all
}

// TestNames: a model in which a name means something else in each automaton, or several things, is the one in which all
// things have names of their own, or is refused as that is.
func TestNames(t *testing.T) {
	rng := rand.New(rand.NewPCG(64, 2))
	for range 100 {
		n := drawNames(rng)
		text := drawNamed(rng, n)
		var called, apart []string
		for thing, name := range n {
			called = append(called, "«"+thing+"»", name)
			apart = append(apart, "«"+thing+"»", thing)
		}
		var inStates []string
		said := func(names []string) []any {
			m, err := model(strings.NewReplacer(names...).Replace(text), nil)
			if err != nil {
				if !strings.Contains(err.Error(), "no state is initial") {
					t.Fatalf("%v\n%v\n%s", err, n, text)
				}
				return nil
			}
			if line, column := m.Described.Initial(); m.Start == nil { // what leaves the choice
				begin := ""
				if line > 0 && column > 0 {
					said := strings.Split(strings.NewReplacer(names...).Replace(text), "\n")[line-1]
					begin = string([]rune(said)[column-1:])
				}
				if begin == "" || regexp.MustCompile(`^\{"name":"\w+","type":[^}]*\},"initial-value"`).MatchString(begin) {
					t.Fatalf("%.100q leaves several initial states\n%v\n%s", begin, n, text)
				}
			}
			all := []any{m.First, m.Offset, m.Target, m.Start}
			inStates = nil
			for _, v := range m.Described.Columns() {
				all, inStates = append(all, v.Ints), append(inStates, v.Name)
			}
			return all
		}
		want := said(apart)
		got := said(called)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got\n%v\nwant\n%v\n%v\n%s", got, want, n, text)
		}
		if got != nil && !slices.Equal(inStates, n.inStates()) {
			t.Fatalf("variables %q: want %q\n%s", inStates, n.inStates(), strings.NewReplacer(called...).Replace(text))
		}
	}
}

// TestNetworks: automata move by themselves with edges without an action, and together as vectors say, in the order of
// the system. One that waits for input stays where it is if none of its edges is open.
func TestNetworks(t *testing.T) {
	rng := rand.New(rand.NewPCG(64, 4))
	for range 200 {
		n, letters := 2+rng.IntN(2), []string{"a", "b", "c"}
		var automata, elements, syncs, want []string
		open, waits := make([]map[string]bool, n), make([]map[string]bool, n)
		known := make([]map[string]bool, n)
		for i := range n {
			open[i], waits[i], known[i] = make(map[string]bool), make(map[string]bool), make(map[string]bool)
			var edges []string
			for _, action := range []string{"", "a", "b", "c"} {
				for range rng.IntN(3) {
					isOpen := rng.IntN(2) == 0
					open[i][action] = open[i][action] || isOpen
					known[i][action] = true
					edges = append(edges, fmt.Sprintf(`{"location":"l",%s"guard":{"exp":{"op":"=","left":"x%d","right":%d}},`+
						`"destinations":[{"location":"k","assignments":[{"ref":"x%[2]d","value":1}]}]}`,
						map[bool]string{true: `"action":"` + action + `",`}[action != ""], i, map[bool]int{false: 1}[isOpen]))
				}
			}
			automata = append(automata, fmt.Sprintf(`{"name":"A%d","variables":[{"name":"x%[1]d","type":`+small+
				`,"initial-value":0}],"locations":[{"name":"l"},{"name":"k"}],"initial-locations":["l"],"edges":[%s]}`, i,
				strings.Join(edges, ",")))
		}
		moved := func(action string, which ...int) {
			x := make([]int, n)
			for _, i := range which {
				x[i] = 1
			}
			want = append(want, fmt.Sprint(action, x))
		}
		order := rng.Perm(n)
		for _, i := range order {
			var list []string
			for _, action := range letters {
				if rng.IntN(3) == 0 {
					waits[i][action] = true
					list = append(list, `"`+action+`"`)
				}
			}
			elements = append(elements, fmt.Sprintf(`{"automaton":"A%d","input-enable":[%s]}`, i, strings.Join(list, ",")))
			if open[i][""] {
				moved("", i)
			}
		}
		for range rng.IntN(5) {
			var list []string
			var which []int
			possible, some := true, false
			for _, i := range order {
				action := letters[rng.IntN(3)]
				if rng.IntN(3) == 0 {
					list = append(list, "null")
					continue
				}
				list = append(list, `"`+action+`"`)
				some = true
				possible = possible && (open[i][action] || waits[i][action])
				if open[i][action] {
					which = append(which, i)
				}
			}
			result := append([]string{""}, letters...)[rng.IntN(4)]
			if !some {
				continue
			}
			if possible {
				moved(result, which...)
			}
			text := `{"synchronise":[` + strings.Join(list, ",") + `]`
			if result != "" {
				text += `,"result":"` + result + `"`
			}
			syncs = append(syncs, text+"}")
		}
		text := header([]string{"mdp", "lts"}[rng.IntN(2)]) + fmt.Sprintf(`"automata":[%s],"system":{"elements":[%s],"syncs":[%s]}}`,
			strings.Join(automata, ","), strings.Join(elements, ","), strings.Join(syncs, ","))
		m, err := model(text, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		var got []string
		columns := m.Described.Columns()
		for c := range int(m.First[1]) {
			x := make([]int, n)
			for _, v := range columns {
				if i := strings.Index("A0A1A2", v.Name); i >= 0 {
					x[i/2] = int(v.Ints[m.Target[m.Offset[c]]])
				}
			}
			got = append(got, fmt.Sprint(m.ChoiceActions.Name(c), x))
		}
		slices.Sort(got)
		slices.Sort(want)
		if want = slices.Compact(want); !slices.Equal(got, want) {
			t.Fatalf("moves %q: want %q\n%s", got, want, text)
		}
	}
}

// An amount is a number and so many times what the variable x is before a step.
type amount struct{ number, ofX float64 }

// An earning has the values of transient variables r0 and r1 in locations and with each destination of edges. The
// label up holds in locations by itself, where x is above 1, or nowhere.
type earning struct {
	initial  [2]amount
	location [][2]amount
	up       []int
	step     [][2]amount
}

// draw assigns some of the variables, and writes how.
func (e *earning) draw(rng *rand.Rand) (values [2]amount, text string) {
	var list []string
	for i := range values {
		values[i] = e.initial[i]
		if rng.IntN(3) == 0 {
			values[i] = amount{float64(1 + rng.IntN(3)), float64(rng.IntN(2))}
			list = append(list, fmt.Sprintf(`{"ref":"r%d","value":{"op":"+","left":{"op":"*","left":"x","right":%g},"right":%g}}`,
				i, values[i].ofX, values[i].number))
		}
	}
	return values, strings.Join(list, ",")
}

// at returns amounts where x has a value.
func at(a [2]amount, x int64) [2]float64 {
	return [2]float64{a[0].number + a[0].ofX*float64(x), a[1].number + a[1].ofX*float64(x)}
}

// drawEarning draws an automaton with three locations. Each destination of its edges has its number in x.
func drawEarning(rng *rand.Rand) (e *earning, text string) {
	e = &earning{step: make([][2]amount, 1)}
	e.initial[0].number, e.initial[1].number = float64(rng.IntN(2)*4), float64(rng.IntN(2)*5)
	var locations, edges []string
	for i := range 3 {
		values, list := e.draw(rng)
		e.location = append(e.location, values)
		e.up = append(e.up, rng.IntN(3))
		list = strings.TrimPrefix(list+[]string{"", `,{"ref":"up","value":true}`,
			`,{"ref":"up","value":{"op":">","left":"x","right":1}}`}[e.up[i]], ",")
		locations = append(locations, fmt.Sprintf(`{"name":"l%d","transient-values":[%s]}`, i, list))
	}
	for range 1 + rng.IntN(4) {
		var to []string
		for range 2 {
			values, list := e.draw(rng)
			list = strings.TrimSuffix(fmt.Sprintf(`{"ref":"x","value":%d},%s`, len(e.step), list), ",")
			to = append(to, fmt.Sprintf(`{"location":"l%d","probability":{"exp":0.5},"assignments":[%s]}`, rng.IntN(3), list))
			e.step = append(e.step, values)
		}
		edges = append(edges, fmt.Sprintf(`{"location":"l%d",%s"destinations":[%s]}`, rng.IntN(3),
			[]string{"", `"action":"a",`, `"action":"b",`}[rng.IntN(3)], strings.Join(to, ",")))
	}
	return e, fmt.Sprintf(`"variables":[{"name":"x","type":{"kind":"bounded","base":"int","lower-bound":0,"upper-bound":9},
		"initial-value":0},{"name":"r0","type":"real","transient":true,"initial-value":%g},
		{"name":"up","type":"bool","transient":true},
		{"name":"r1","type": %s,"transient":true,"initial-value":%g}],"automata":[{"name":"P","locations":[%s],
		"initial-locations":["l0"],"edges":[%s]}],"system":{"elements":[{"automaton":"P"}]}`, e.initial[0].number, []string{`"int"`, `"real"`,
		`{"kind":"bounded","base":"int","lower-bound":0,"upper-bound":12}`}[rng.IntN(3)], e.initial[1].number,
		strings.Join(locations, ","), strings.Join(edges, ","))
}

// TestRandomRewards compares what transient variables and properties earn with the values that they have in the
// locations that are left, as time passes there, and in steps. A property that is refused leaves nothing behind.
func TestRandomRewards(t *testing.T) {
	rng := rand.New(rand.NewPCG(64, 3))
	values := map[string]func(r [2]float64) float64{
		`"r0"`: func(r [2]float64) float64 { return r[0] }, `"r1"`: func(r [2]float64) float64 { return r[1] },
		`{"op":"+","left":"r0","right":"r1"}`: func(r [2]float64) float64 { return r[0] + r[1] },
		`2`:                                   func([2]float64) float64 { return 2 },
	}
	type asked struct {
		value func(r [2]float64) float64
		how   []string
	}
	for range 150 {
		kind, own := "mdp", []string{"steps", "exit"}
		hows := [][]string{{"steps"}, {"exit"}, {"exit", "steps"}}
		if rng.IntN(2) == 0 {
			kind, own = "pta", []string{"steps", "time"}
			hows = append(hows, []string{"time"}, []string{"time", "steps"}, []string{"exit", "time"})
		}
		e, text := drawEarning(rng)
		var wanted []asked
		var list []string
		for range rng.IntN(6) {
			exp := slices.Sorted(maps.Keys(values))[rng.IntN(4)]
			a := asked{values[exp], hows[rng.IntN(len(hows))]}
			refused := ""
			if rng.IntN(4) == 0 {
				refused = `,"reward-instants":[{"exp":1,"accumulate":["steps"],"instant":1}]`
				a.value = nil
			}
			if slices.Equal(a.how, []string{"exit", "time"}) {
				a.value = nil
			}
			list = append(list, fmt.Sprintf(`{"name":"%s","expression":{"op":"filter","fun":"max","states":{"op":"initial"},
				"values":{"op":"Emax","exp":%s,"accumulate":["%s"],"reach":{"op":"=","left":"x","right":3}%s}}}`,
				[]string{"r0", "p", "p'", "q"}[rng.IntN(4)], exp,
				strings.Join(a.how, `","`), refused))
			wanted = append(wanted, a)
		}
		text = header(kind) + text + `,"properties":[` + strings.Join(list, ",") + `]}`
		m, err := model(text, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		properties, err := jani.Properties("m.jani", []byte(text), nil)
		if err != nil || len(properties) != len(wanted) {
			t.Fatalf("%d properties, %v\n%s", len(properties), err, text)
		}
		of := map[string]bool{"r0": true, "r1": true}
		e.check(t, m, "r0", values[`"r0"`], own)
		e.check(t, m, "r1", values[`"r1"`], own)
		for i, a := range wanted {
			if p := properties[i]; a.value == nil {
				if p.Err == nil {
					t.Fatalf("property %d is read\n%s", i, text)
				}
			} else if p.Err != nil {
				t.Fatalf("property %d: %v\n%s", i, p.Err, text)
			} else {
				of[p.Formulas[0].Reward] = true
				e.check(t, m, p.Formulas[0].Reward, a.value, a.how)
			}
		}
		e.checkBound(t, m, rng.IntN(14), rng.IntN(2) == 0, text)
		if len(of) != len(m.Rewards) {
			t.Fatalf("%d rewards: want %d\n%s", len(m.Rewards), len(of), text)
		}
	}
}

// checkBound: where r1 has a bound, what an edge assigns has to keep it. The lower bound, 0, may be left out.
func (e *earning) checkBound(t *testing.T, m *exchange.Model, most int, alone bool, text string) {
	t.Helper()
	low, from, want := `"lower-bound":0,`, "from ", fmt.Sprintf("0 to %d", most)
	if alone {
		low, from, want = "", "", fmt.Sprintf("at most %d", most)
	}
	x, breaks, said := m.Described.Columns()[0].Ints, false, "r1, which is "+from+want+", would become "
	if e.initial[1].number > float64(most) {
		breaks, said = true, fmt.Sprintf("the initial value of r1 is %g: want %s", e.initial[1].number, want)
	}
	for s := range m.States() {
		for c := int(m.First[s]); c < int(m.First[s+1]); c++ {
			for _, to := range m.Target[m.Offset[c]:m.Offset[c+1]] {
				breaks = breaks || m.ChoiceActions.Name(c) != "time" && at(e.step[x[to]], x[s])[1] > float64(most)
			}
		}
	}
	_, err := model(regexp.MustCompile(`"r1","type": ("\w+"|\{[^}]*\})`).ReplaceAllString(text, fmt.Sprintf(
		`"r1","type":{"kind":"bounded","base":"int",%s"upper-bound":%d}`, low, most)), nil)
	if (err != nil) != breaks || err != nil && !strings.Contains(err.Error(), said) {
		t.Fatalf("%v: r1 goes above %d: %t\n%s", err, most, breaks, text)
	}
}

// check compares a reward of a model with what is earned by steps, on the exit from a location and by time there.
func (e *earning) check(t *testing.T, m *exchange.Model, name string, of func(r [2]float64) float64, how []string) {
	t.Helper()
	i := slices.IndexFunc(m.Rewards, func(r exchange.Reward) bool { return r.Name == name })
	if i < 0 {
		t.Fatalf("no reward %s\n%s", name, rows(m))
	}
	variables := m.Described.Columns()
	up, _ := m.Label("up")
	for s := range m.States() {
		is := []bool{false, true, variables[0].Ints[s] > 1}[e.up[variables[1].Ints[s]]]
		if is != slices.Contains(up, int32(s)) {
			t.Fatalf("%s is up: %t\n%s", m.Described.StateName(s), !is, rows(m))
		}
		for c := int(m.First[s]); c < int(m.First[s+1]); c++ {
			for b := m.Offset[c]; b < m.Offset[c+1]; b++ {
				want, isTime := 0.0, m.ChoiceActions.Name(c) == "time"
				for _, h := range how {
					if h == "steps" && !isTime {
						want += of(at(e.step[variables[0].Ints[m.Target[b]]], variables[0].Ints[s]))
					}
					if h == "exit" && !isTime || h == "time" && isTime {
						want += of(at(e.location[variables[1].Ints[s]], variables[0].Ints[s]))
					}
				}
				if got := m.Rewards[i].Total(s, c, b); math.Abs(got-want) > 1e-9 {
					t.Fatalf("%s earns %g with destination %d of choice %d: want %g\n%s", name, got, b, c, want, rows(m))
				}
			}
		}
	}
}
