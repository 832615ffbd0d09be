package problem

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
)

const taskHead = `format: cmdp/1
horizon: 4
states: 2
start: 0
returns: [reward, cost]
transitions:
  - {state: 0, action: go, next: {0: 0.5, 1: 0.5}, returns: [1, 2]}
  - {state: 0, action: stay, next: {0: 1}, returns: [-1, 0]}
`

// TestExpressions: a coefficient that is written as 1 is left out, as is one that is 0. Linear forms are read as
// arithmetic, with a value for each return, and are what they say up to three digits.
func TestExpressions(t *testing.T) {
	p := mustParse(t, taskHead).Process()
	rng := rand.New(rand.NewPCG(28, 1))
	product := regexp.MustCompile(`(\d) ([a-z])`)
	for range 200 {
		of := []float64{0, 0}
		for i := range of {
			of[i] = []float64{0, 1, -1, 1 - 1e-9, 2.5, -1. / 3, 12345, -2e-7}[rng.IntN(8)]
		}
		text := p.Expression(of)
		for i, x := range of {
			c := &constants{value: map[string]float64{"reward": float64(1 - i), "cost": float64(i)}}
			got, complaint := c.evaluate("0 + " + product.ReplaceAllString(text, "$1*$2"))
			if text != "" && (complaint != "" || math.Abs(got-x) > 5e-3*math.Abs(x)) {
				t.Fatalf("%v: %q: %g for %s: %s", of, text, got, p.Returns[i], complaint)
			}
		}
		if (text == "") != (of[0] == 0 && of[1] == 0) {
			t.Fatalf("%v: %q", of, text)
		}
	}
	for want, of := range map[string][]float64{"reward - cost": {1, -1 + 1e-9}, "-reward + 2.5 cost": {-1, 2.5},
		"cost": {0, 1 + 1e-12}, "-0.333 reward": {-1. / 3, 0}} {
		if got := p.Expression(of); got != want {
			t.Errorf("%v: %q: want %q", of, got, want)
		}
	}
}

// TestLimitsInWords: a limit is described as people write it.
func TestLimitsInWords(t *testing.T) {
	for text, want := range map[string]string{
		"at_most: 8":                                                   "r ≤ 8",
		"at_least: -0.5":                                               "r ≥ -0.5",
		"at_most: 8, at_least: 1":                                      "r ≥ 1, r ≤ 8",
		"at_most: 8, always: true":                                     "r ≤ 8 always",
		"at_least: 8, probability: 0.9":                                "r ≥ 8 with probability 0.9",
		"at_most: 8, cvar: 0.125":                                      "mean of the worst 12.5% of r ≤ 8",
		"at_most: 8, each_step: true":                                  "r at each step ≤ 8",
		"at_least: 1234567, steps: 2-4":                                "r at each of the steps 2-4 ≥ 1.23457e+06",
		"at_least: [1, 2], steps: 2-3":                                 "r at each of the steps 2-3 ≥ (1, 2)",
		"at_most: 1, always: true, at_least: -1":                       "r ≥ -1 always, r ≤ 1 always",
		"at_most: [1, 2, 3, 4, 5, 6, 7], each_step: true, at_least: 0": "r at each step ≤ (1, 2, 3, 4, 5, 6, …), r at each step ≥ 0",
	} {
		n, bad := parseYAML("{return: r, "+text+"}", 1)
		c, d := new(Limit), new(decoder)
		if bad != nil || !c.decode(d, n, nil) {
			t.Fatalf("%s: %v", text, d.errs)
		}
		if got := c.String(); got != want {
			t.Errorf("%s: %q: want %q", text, got, want)
		}
		episodes := strings.Contains(want, "always") || strings.Contains(want, "with") || strings.Contains(want, "worst")
		if c.OnAverage() == episodes {
			t.Errorf("%s: on average %v", text, c.OnAverage())
		}
	}
}

// TestLimitsByDefinition: of all limits those are good that bound something, in one way at most, with what that needs.
func TestLimitsByDefinition(t *testing.T) {
	numbers := []*float64{nil}
	for _, x := range []float64{0, 0.5, 1, 1.5, math.NaN()} {
		numbers = append(numbers, &x)
	}
	inside := func(part *float64) bool { return part == nil || *part > 0 && *part <= 1 }
	for i := range 6 * 6 * 6 * 6 * 48 {
		c := Limit{Return: "r", AtLeast: numbers[i%6], AtMost: numbers[i/6%6], Probability: numbers[i/36%6],
			CVaR: numbers[i/216%6]}
		rest := i / 1296
		c.Always = rest%2 == 1
		c.EachStep = rest/2%2 == 1
		c.Steps = []string{"", "1-2"}[rest/4%2]
		c.MostAt = [][]float64{nil, {1, 2}}[rest/8%2]
		c.LeastAt = [][]float64{nil, {1, 2}, {}}[rest/16]
		ways := 0
		for _, given := range []bool{c.Always, c.Probability != nil, c.CVaR != nil, c.EachStep, c.Steps != ""} {
			if given {
				ways++
			}
		}
		lists, both := c.MostAt != nil || c.LeastAt != nil, c.AtLeast != nil && c.AtMost != nil
		good := (lists || c.AtLeast != nil || c.AtMost != nil) && ways <= 1 &&
			(!lists || c.EachStep || c.Steps != "") &&
			!(both && (*c.AtLeast > *c.AtMost || c.Probability != nil || c.CVaR != nil)) &&
			inside(c.Probability) && inside(c.CVaR)
		if err := c.Check(); good != (err == nil) {
			t.Fatalf("%v, error %v: %+v", c.String(), err, c)
		}
	}
}

// TestOtherLineEndings reads the examples as other systems save them.
func TestOtherLineEndings(t *testing.T) {
	for _, name := range []string{"steps.yaml", "two-rooms.yaml", "absorbed.yaml", "discounted.json"} {
		data, err := os.ReadFile("testdata/good/" + name)
		if err != nil {
			t.Fatal(err)
		}
		p := mustParse(t, string(data))
		crlf := strings.ReplaceAll(string(data), "\n", "\r\n")
		for _, text := range []string{crlf, "\ufeff" + string(data), strings.TrimRight(string(data), "\n")} {
			if d := difference(p, mustParse(t, text)); d != "" {
				t.Errorf("%s differs in its %s when saved otherwise", name, d)
			}
		}
		_, err = Parse("test.yaml", []byte(string(data)+"---\n"+string(data)), nil)
		if err == nil || !strings.Contains(err.Error(), "a second document begins") && name != "discounted.json" {
			t.Errorf("%s twice: %v", name, err)
		}
	}
	_, err := Parse("p.yaml", []byte("# one\r\nformat: cmdp/1 # two\r\n# three\r\nhorizon: 0\r\n"), nil)
	if err == nil || !strings.Contains(err.Error(), "p.yaml:4:10: horizon: ") {
		t.Errorf("got %v: want an error about the horizon in line 4, with \"\\r\\n\" at the ends of comments", err)
	}
}

// TestPortions reads more rows than are parsed at once, in several layouts, and
// checks that the places in errors are right in all of them.
func TestPortions(t *testing.T) {
	const head = "format: cmdp/1\nhorizon: 2\nstates: 2000\nstart: 0\nreturns: [r]\n"
	for _, indent := range []string{"", " ", "    "} {
		text, lines, wrong := head+"transitions:  # rows\n", 6, 0
		for s := range 1000 {
			row := "- {state: " + string(appendNumber(nil, float64(s))) + ", action: go,\n" + indent +
				"     next: {0: 1}}\n"
			if s == 700 {
				row = strings.Replace(row, "{0: 1}", "{0: 0.5}", 1)
				wrong = lines + 2
			}
			text += indent + row
			lines += 2
			if s%7 == 0 {
				text += "# between\n\n"
				lines += 2
			}
		}
		_, err := Parse("p.yaml", []byte(text+"goal: {maximize: q}\n"), nil)
		var es Errors
		if !errors.As(err, &es) || len(es) != 2 || es[0].Line != wrong || es[0].Key != "transitions[700].next" ||
			es[1].Line != lines+1 {
			t.Errorf("indent %d: got %v: want errors in lines %d and %d", len(indent), err, wrong, lines+1)
		}
	}
}

// TestBrokenRowsKeepTheirNumbers: rows have their numbers, in whatever way they and those before them are written, and
// though some that stand together cannot be read at all.
func TestBrokenRowsKeepTheirNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 3))
	forms := []string{"- {state: 0, action: go, next: {0: 1}, no#: 1}\n", "- {state: 0, action: 'go', no#: 1, next: {0: 1}}\n",
		"- state: 0\n  action: go\n  no#: 1\n  next: {0: 1}\n", "- {state: 0, action: 'go', no#: 1, next: {0: 1}\n"}
	told := 0
	for range 60 {
		text, broken := "format: cmdp/1\nhorizon: 2\nstates: 1\nstart: 0\nreturns: [r]\ntransitions:\n", 0
		for i := range 5 + rng.IntN(40) {
			form := forms[rng.IntN(3)]
			if rng.IntN(30) == 0 {
				broken, form = broken+1, forms[3]
			}
			text += strings.ReplaceAll(form, "#", strconv.Itoa(i))
		}
		_, err := Parse("p.yaml", []byte(text), nil)
		var es Errors
		if !errors.As(err, &es) {
			t.Fatal(err)
		}
		for _, e := range es {
			var number, of int
			if n, _ := fmt.Sscanf(e.Key, "transitions[%d].no%d", &number, &of); n == 2 {
				told++
			} else if broken == 0 {
				t.Fatalf("%v\n%s", e, text)
			}
			if number != of {
				t.Fatalf("%v\n%s", e, text)
			}
		}
	}
	if told < 300 {
		t.Errorf("%d rows were told: want more", told)
	}
}

func TestDeepNesting(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("[", 100_000), strings.Repeat("{a: ", 100_000), strings.Repeat("- ", 100_000),
		strings.Repeat("? ", 100_000),
		strings.Repeat("&a ", 100_000), strings.Repeat("!a ", 100_000), strings.Repeat("a: ", 100_000),
		`{"target": ` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}",
	} {
		if _, err := Parse("deep.yaml", []byte(text), nil); err == nil {
			t.Errorf("%.10s… is read", text)
		}
	}
	set := strings.Repeat("{intersection: [", 200) + "{orthant: {}}" + strings.Repeat("]}", 200)
	p := mustParse(t, taskHead+"target: "+set+"\n")
	roundTrip(t, p)
}

func TestWriteRefuses(t *testing.T) {
	good := func() *Problem { return mustParse(t, taskHead) }
	for what, spoil := range map[string]func(p *Problem){
		"no model":                  func(p *Problem) { p.Model = nil },
		"too few returns":           func(p *Problem) { p.Returns = p.Returns[:1] },
		"a return twice":            func(p *Problem) { p.Returns[1] = "reward" },
		"an empty return":           func(p *Problem) { p.Returns[1] = "" },
		"a name not in UTF-8":       func(p *Problem) { p.Name = "a\xffb" },
		"a name of two lines":       func(p *Problem) { p.Name = "a\nb" },
		"states of another number":  func(p *Problem) { p.States = []string{"a"} },
		"a state called by another": func(p *Problem) { p.States = []string{"1", "b"} },
		"an action twice":           func(p *Problem) { p.Actions = [][]string{{"a", "a"}} },
		"numbers out of order":      func(p *Problem) { p.Actions = [][]string{{"1", "0"}} },
		"two goals":                 func(p *Problem) { p.Goal = Goal{Maximize: "reward", Minimize: "cost"} },
		"an unknown goal":           func(p *Problem) { p.Goal.Maximize = "rewards" },
		"an unknown constraint":     func(p *Problem) { p.Constraints = []Limit{{Return: "x", AtMost: new(1.0)}} },
		"an infinite side": func(p *Problem) {
			p.Target = &Set{Box: &Box{Upper: []*float64{nil, new(math.Inf(1))}}}
		},
		"NaN in a cost": func(p *Problem) {
			p.Goal.Cost = &Cost{Linear: &Coefficients{Named: map[string]float64{"cost": math.NaN()}}}
		},
		"actions of two kernels": func(p *Problem) { p.Actions = [][]string{{"a", "b"}, {"a", "b"}} },
	} {
		p := good()
		spoil(p)
		if err := Write(new(bytes.Buffer), p); err == nil || !strings.HasPrefix(err.Error(), "problem: ") {
			t.Errorf("%s: got error %v", what, err)
		}
	}
	if err := Write(full{}, good()); !errors.Is(err, errFull) {
		t.Errorf("a full disk: got error %v", err)
	}
}

var errFull = errors.New("no space left")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestWriteStepwise writes models with a kernel for each step.
func TestWriteStepwise(t *testing.T) {
	kernel := func(r float64) cmdp.Kernel {
		return cmdp.Kernel{First: []int32{0, 1}, Offset: []int{0, 1}, Next: []int32{0}, Prob: []float64{1},
			Returns: []float64{r}}
	}
	for _, c := range []struct {
		returns []float64
		rows    int
	}{{[]float64{1, 1, 2}, 2}, {[]float64{1, 1, 1}, 3}, {[]float64{1, 2, 3}, 3}} {
		spec := cmdp.ModelSpec{Horizon: 3, Dim: 1, Start: []cmdp.StartState{{Probability: 1}}}
		for _, r := range c.returns {
			spec.Kernels = append(spec.Kernels, kernel(r))
		}
		m, err := cmdp.NewModel(spec)
		if err != nil {
			t.Fatal(err)
		}
		p := &Problem{Model: m, Returns: []string{"r"}}
		var b bytes.Buffer
		if err := Write(&b, p); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(b.String(), "- {state"); got > c.rows {
			t.Errorf("returns %v: %d rows, want at most %d:\n%s", c.returns, got, c.rows, b.String())
		}
		roundTrip(t, p)
	}
}

// TestNumberedStates: a pattern names the states, in rows, start and labels too.
func TestNumberedStates(t *testing.T) {
	text := `{format: cmdp/1, horizon: 2, states: {count: 3, name: "x{} of 3"}, start: x1 of 3, returns: [r], labels: {end: [x2 of 3]},
		transitions: [{state: x1 of 3, action: go, next: {x2 of 3: 1}}, {state: 0, action: go, next: {"x0 of 3": 1}}]}`
	p := mustParse(t, text)
	if want := []string{"x0 of 3", "x1 of 3", "x2 of 3"}; !slices.Equal(p.States, want) ||
		p.Model.StartStates()[0].State != 1 {
		t.Errorf("states %v, start %v: want %v and 1", p.States, p.Model.StartStates(), want)
	}
	root, bad := parseYAML(text, 1)
	if bad != nil {
		t.Fatal(bad)
	}
	if err := resolvedSchema(t).Validate(plainValue(root)); err != nil {
		t.Error(err)
	}
	for states, want := range map[string]string{
		`{count: 3}`:               `states: name is missing: want {count: N, name: "x{}"}`,
		`{name: "x{}"}`:            "states: count is missing",
		`{count: 3, name: x}`:      "states.name: got x: want one {}",
		`{count: 3, name: "{}{}"}`: "states.name: got {}{}: want one {}",
		`{count: 3, name: "1{}"}`: "states.name: got 1{}: the name of a state would be the number of " +
			"another one",
		`{count: 0, name: "x{}"}`:           "states.count: got 0: want",
		`{count: 2000000000, name: "x{}"}`:  "states.count: got 2000000000: want",
		`{count: 3, name: "x{}", names: 1}`: `states.names: unknown key`,
	} {
		_, err := Parse("p", []byte(strings.Replace(text, `{count: 3, name: "x{} of 3"}`, states, 1)), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v: want %q", states, err, want)
		}
	}
	plain := mustParse(t, `{format: cmdp/1, horizon: 2, states: {count: 3, name: "{}"}, start: 1, returns: [r], transitions: [{state: 1, action: go, next: {2: 1}}]}`)
	if plain.StateName(2) != "2" {
		t.Errorf("state 2 is called %s", plain.StateName(2))
	}
}

// TestEndsOfRanges: what stands at the end of what is allowed is taken, and what is next to it is refused.
func TestEndsOfRanges(t *testing.T) {
	const part = "format: cmdp/1\nreturns: {r: {}, p: {reach: [0], within: 1}}\nstates: 1\nstart: 0\nhorizon: 2\n" +
		"constraints: [{return: r, at_most: 1}]\ntransitions:\n- {state: 0, action: 0, next: {0: 1}, returns: {r: 1}}\n"
	for _, c := range []struct{ old, with, good, bad string }{
		{"within: 1", "within: #", "0 1 2", "-1 0.5"},
		{"states: 1", "states: #", "1 2", "0 -1"},
		{"start: 0", "start: #", "0", "1 -1"},
		{"start: 0", "start: {0: #}", "1", "0 2 0.99 -1"},
		{"horizon: 2", "horizon: #", "1 2", "0 -1 10000001"},
		{"horizon: 2", "discount: #", "1 0.999 1e-9", "0 1.001 -1"},
		{"at_most: 1", "at_most: 1, at_least: #", "1 0.5 -3", "1.001 2"},
		{"at_most: 1", "at_most: 1, probability: #", "1 1e-9", "0 1.001 -1"},
		{"at_most: 1", "at_most: 1, cvar: #", "1 1e-9", "0 1.001 -1"},
		{"next: {0: 1}", "next: {0: [#, 1]}", "0 1", "-1 1.001"},
		{"next: {0: 1}", "next: {0: [1, #]}", "1", "0.999 1.001"},
		{"next: {0: 1}", "next: {0: 1}, step: #", "1 2", "0 3"},
		{"start: 0", "start: 0\nreturn_to_go: {r: [#, null]}", "0 -1 -0.5", "1 0.001"},
		{"start: 0", "start: 0\nreturn_to_go: {r: [null, #]}", "2 9", "-1 -0.001"},
	} {
		for k, values := range []string{c.good, c.bad} {
			for _, x := range strings.Fields(values) {
				text := strings.Replace(part, c.old, strings.Replace(c.with, "#", x, 1), 1)
				p, err := Parse("ends.yaml", []byte(text), nil)
				if (err == nil) != (k == 0) {
					t.Errorf("%s with %s: %v", c.with, x, err)
				}
				if err == nil && c.old == "within: 1" && fmt.Sprint(p.Kinds[1].Within.Steps()) != x {
					t.Errorf("%s with %s: within %d steps", c.with, x, p.Kinds[1].Within.Steps())
				}
			}
		}
	}
	for horizon := 1; horizon < 4; horizon++ {
		for from := range 6 {
			for to := range 6 {
				first, end, err := (&Limit{Steps: fmt.Sprintf("%d-%d", from, to)}).Range(horizon)
				good := 1 <= from && from <= to && to <= horizon
				if good != (err == nil) || good && (first != from-1 || end != to) {
					t.Errorf("steps %d-%d of %d: %d to %d, %v", from, to, horizon, first, end, err)
				}
			}
		}
	}
}
