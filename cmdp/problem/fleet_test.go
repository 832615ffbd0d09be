package problem

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestFleet(t *testing.T) {
	p, err := Read("testdata/fleet/chargers.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if p.Model != nil || len(p.Fleet) != 2 {
		t.Fatalf("%d types", len(p.Fleet))
	}
	van, truck := p.Fleet[0], p.Fleet[1]
	if van.Name != "van" || van.Count != 6 || van.File != "van.yaml" || van.Starts != nil ||
		!slices.Equal(van.Returns, []int{0, 1, 2}) {
		t.Errorf("%+v", van)
	}
	if truck.File != "" || !slices.Equal(truck.Starts, []int{1, 1}) || truck.Agent.Model.Horizon() != 6 ||
		len(truck.Agent.Model.StartStates()) != 2 {
		t.Errorf("%+v", truck)
	}
	for _, m := range p.Fleet { // the charger that is taken
		k, d := m.Agent.Model.Kernel(0), m.Agent.Model.Dim()
		for s := range m.Agent.Model.States() {
			for c := int(k.First[s]); c < int(k.First[s+1]); c++ {
				want := 0.0
				if m.Agent.ActionName(0, s, c-int(k.First[s])) == "charge" {
					want = 1
				}
				if k.ReturnsOf(c, d)[d-1] != want {
					t.Errorf("%s: state %d: %v", m.Name, s, k.ReturnsOf(c, d))
				}
			}
		}
	}
	c := p.Constraints[2]
	first, end, err := c.Range(6)
	if err != nil || first != 1 || end != 3 || *c.At(false, 1) != 1.5 || c.At(true, 0) != nil {
		t.Errorf("steps %d to %d, %v", first, end, err)
	}
	if got := string(c.encode(nil)); got != `{return: chargers, at_most: [2, 1.5], steps: "2-3"}` {
		t.Error(got)
	}
	if err := validate(t, resolvedSchema(t), "testdata/fleet/chargers.yaml"); err != nil {
		t.Error(err)
	}
}

// drawnGoes are what of an agent may go into a return of a fleet: a return of its model, given or derived, an action
// that it takes or states in which it is. given tells the value in state 0 or 1 with action stay or go.
var drawnGoes = []struct {
	text   string
	visits int // that are counted, -1 for none
	given  func(s, a int) float64
}{
	{"x", -1, func(s, a int) float64 { return float64(1 + 2*s + a) }},
	{"y", -1, func(s, a int) float64 { return float64(10 - 3*s - a) }},
	{"there", 1, nil},
	{"{action: go}", -1, func(_, a int) float64 { return float64(a) }},
	{"{visits: [0]}", 0, nil},
}

// drawnAgent is a model of an agent, whose returns stand in any order.
func drawnAgent(rng *rand.Rand, time string) string {
	returns := []string{"x: {}", "y: {}", "there: {visits: [1]}"}
	order := rng.Perm(3)
	text := "{format: cmdp/1, " + time + "states: 2, start: 0, returns: {"
	for _, i := range order {
		text += returns[i] + ", "
	}
	text += "}, transitions: ["
	for s := range 2 {
		for a, name := range []string{"stay", "go"} {
			text += fmt.Sprintf("{state: %d, action: %s, next: {%d: 1}, returns: {x: %g, y: %g}}, ", s, name, (s+a)%2,
				drawnGoes[0].given(s, a), drawnGoes[1].given(s, a))
		}
	}
	return text + "]}"
}

// TestDrawnFleets: what of each type goes into which return of a fleet is what the file says, whether types share a
// file, whether models say over which time returns are summed, and whatever goes into several returns.
func TestDrawnFleets(t *testing.T) {
	rng := rand.New(rand.NewPCG(64, 9))
	for range 150 {
		time := []string{"horizon: 3", "discount: 0.75", "criterion: average"}[rng.IntN(3)]
		files := fstest.MapFS{"a.yaml": {Data: []byte(drawnAgent(rng, time+", "))}}
		text := "format: cmdp/1\n" + time + "\nreturns: [f0, f1, f2, f3]\nfleet:\n"
		goes, starts := make([][4]int, 1+rng.IntN(3)), make([]int, 3)
		for i := range goes {
			model := []string{"a.yaml", drawnAgent(rng, ""), drawnAgent(rng, time+", ")}[rng.IntN(3)]
			text += fmt.Sprintf("  - {name: t%d, count: 3, model: %s, returns: {", i, model)
			for f := range goes[i] {
				goes[i][f] = rng.IntN(len(drawnGoes))
				text += fmt.Sprintf("f%d: %s, ", f, drawnGoes[goes[i][f]].text)
			}
			if text += "}"; rng.IntN(2) == 0 {
				starts[i] = 1 + rng.IntN(2)
				text += fmt.Sprintf(", starts: {0: %d, 1: %d}", 3-starts[i], starts[i])
			}
			text += "}\n"
		}
		// A constant that is set is one of the file of the fleet, of which models know nothing.
		p, err := parse("fleet.yaml", "let: {k: 1}\n"+text, files, limits{maxStates, maxHorizon, maxStored},
			ReadOptions{Set: map[string]string{"k": "2"}})
		if err != nil || !slices.Equal(p.Constants(), []Constant{{"k", 2}}) {
			t.Fatalf("%v, %v\n%s", err, p, text)
		}
		for range rng.IntN(4) {
			p.Constraints = append(p.Constraints, drawSteps(rng, time == "horizon: 3"))
		}
		p.Goal.Maximize = p.Returns[rng.IntN(4)]
		var b bytes.Buffer
		if err := Write(&b, p); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		again := mustParse(t, b.String())
		if again.Goal != p.Goal || !reflect.DeepEqual(again.Constraints, p.Constraints) {
			t.Fatalf("%v and %v are read from\n%s", again.Goal, again.Constraints, b.String())
		}
		checkUnwritable(t, rng, p)
		i, count := rng.IntN(len(goes)), 2+2*rng.IntN(2) // another number of agents than begin somewhere
		name := fmt.Sprintf("name: t%d, count: ", i)
		odd := strings.Replace(text, name+"3", fmt.Sprint(name, count), 1)
		_, err = Parse("fleet.yaml", []byte(odd), files)
		want := fmt.Sprintf("fleet[%d].starts: 3 agents begin somewhere, and count is %d", i, count)
		if (err != nil) != (starts[i] > 0) || err != nil && !strings.HasSuffix(err.Error(), want) {
			t.Fatalf("%v: want %s\n%s", err, want, odd)
		}
		for i, m := range slices.Concat(p.Fleet, again.Fleet) { // as read, and as written
			i %= len(goes)
			if got := timeOf(m.Agent.Model); got != strings.ReplaceAll(time, ":", "") {
				t.Errorf("%s has %s\n%s", m.Name, got, text)
			}
			if n := len(m.Agent.Model.StartStates()); n != 1+min(1, starts[i]) {
				t.Errorf("%s begins in %d states\n%s", m.Name, n, text)
			}
			if x := starts[i]; x > 0 && !slices.Equal(m.Starts, []int{3 - x, x}) {
				t.Errorf("%s begins in %v\n%s", m.Name, m.Starts, text)
			}
			checkGoes(t, &m, goes[i], text)
		}
	}
}

// drawSteps draws a limit of a fleet, at steps of three or of the expected total.
func drawSteps(rng *rand.Rand, steps bool) Limit {
	least := float64(rng.IntN(3)) - 1
	most := least + float64(rng.IntN(2))
	c, list := Limit{Return: fmt.Sprint("f", rng.IntN(4))}, rng.IntN(3)
	length := 0
	if steps {
		at := rng.IntN(4)
		c.EachStep = at == 1
		c.Steps = []string{"", "", "2-3", "1"}[at]
		length = []int{0, 3, 2, 1}[at]
	}
	if length == 0 {
		list = 0
	}
	c.AtLeast, c.AtMost = &least, &most
	switch list {
	case 1:
		c.AtMost, c.MostAt = nil, slices.Repeat([]float64{most}, length)
	case 2:
		c.AtLeast, c.LeastAt = nil, slices.Repeat([]float64{least}, length)
	}
	return c
}

// checkUnwritable spoils one type of a fleet, which is then named where the fleet is written.
func checkUnwritable(t *testing.T, rng *rand.Rand, p *Problem) {
	t.Helper()
	of := *p
	of.Fleet = slices.Clone(p.Fleet)
	m := &of.Fleet[rng.IntN(len(of.Fleet))]
	m.Returns = slices.Clone(m.Returns)
	states, goes := m.Agent.Model.States(), slices.IndexFunc(m.Returns, func(to int) bool { return to >= 0 })
	want := "type " + m.Name + ": "
	switch spoil := rng.IntN(9); {
	case spoil == 0:
		m.Agent = nil
		want += "no model"
	case spoil == 1:
		m.Name = []string{"", "a\nb", "\xff"}[rng.IntN(3)]
		want = "problem: type " + m.Name + ": "
	case spoil == 2:
		m.Count = -rng.IntN(2)
		want += fmt.Sprintf("%d agents: want at least 1", m.Count)
	case spoil == 3:
		m.Returns = append(m.Returns, -1)
		want += fmt.Sprintf("%d entries say where returns go: want %d", len(m.Returns), len(m.Returns)-1)
	case spoil == 4:
		m.Starts = make([]int, states+1-2*rng.IntN(2))
		want += fmt.Sprintf("%d entries say where agents begin: want %d", len(m.Starts), states)
	case spoil == 5:
		to := []int{-2, len(p.Returns)}[rng.IntN(2)]
		m.Returns[rng.IntN(len(m.Returns))] = to
		want += fmt.Sprintf("return %d of the fleet, which has %d", to, len(p.Returns))
	case spoil == 6 && goes >= 0 && len(m.Returns) > 1:
		m.Returns[(goes+1)%len(m.Returns)] = m.Returns[goes]
		want += "two returns go into " + p.Returns[m.Returns[goes]]
	case spoil == 7 && len(of.Fleet) > 1:
		of.Fleet[0].Name = of.Fleet[len(of.Fleet)-1].Name
		want = "two types are called " + of.Fleet[0].Name
	case spoil == 8:
		of.Returns = slices.Repeat(p.Returns[:1], len(p.Returns))
		want = "the name " + p.Returns[0] + " is given twice"
	default:
		of.Fleet, want = of.Fleet[:0], "a fleet without types of agents"
	}
	if err := Write(io.Discard, &of); err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("%v: want %s", err, want)
	}
}

// TestModelsOfTypes: all that a model has and that of an agent must not have is told, of a model in a file and in that
// of the fleet.
func TestModelsOfTypes(t *testing.T) {
	rng := rand.New(rand.NewPCG(64, 12))
	faults := []struct{ key, said string }{
		{"goal: {maximize: r}", "the model has a goal"},
		{"constraints: [{return: r, at_most: 1}]", "the model has constraints"},
		{"target: {point: [1]}", "the model has a target"},
	}
	for range 150 {
		model, want := "format: cmdp/1, states: 1, start: 0, returns: [r]", make(map[string]bool)
		for _, x := range faults {
			if rng.IntN(3) == 0 {
				model += ", " + x.key
				want[x.said] = true
			}
		}
		row := "{state: 0, action: go, next: {0: 1}}"
		switch rng.IntN(4) {
		case 0:
			model += ", discount: 1"
			want["returns are totals without a horizon"] = true
		case 1:
			model += ", horizon: 2"
			against := "{state: 0, action: go, opponent: %s, next: {0: 1}}"
			row = fmt.Sprintf(against+", "+against, "a", "b")
			want["a game"] = true
		case 2:
			model += ", criterion: average"
		default:
			model += ", horizon: 2"
		}
		model = "{" + model + ", transitions: [" + row + "]}"
		missing := rng.IntN(6) == 0
		if missing {
			model = strings.Replace(model, ", start: 0", "", 1)
		}
		files, name := fstest.MapFS{"a.yaml": {Data: []byte(model)}}, []string{"a.yaml", model}[rng.IntN(2)]
		text := "format: cmdp/1\nreturns: [r]\nfleet:\n  - {name: a, count: 2, model: " + name + "}\n"
		_, err := Parse("fleet.yaml", []byte(text), files)
		var es Errors
		if missing { // what does not stand anywhere is told where the model stands
			place := "a.yaml: start: missing: "
			if name == model {
				place = "fleet.yaml:4:32: fleet[0].model.start: missing: "
			}
			if !errors.As(err, &es) || len(es) != 1 || !strings.HasPrefix(err.Error(), place) {
				t.Fatalf("%v: want %s\n%s", err, place, text)
			}
			continue
		}
		if errors.As(err, &es) != (len(want) > 0) || err != nil && len(es) != len(want) {
			t.Fatalf("%v: want %v\n%s", err, want, text)
		}
		for _, e := range es {
			said, _, _ := strings.Cut(e.Message, ":")
			if !want[said] || e.Key != "fleet[0].model" || e.Line != 4 || e.File != "fleet.yaml" {
				t.Fatalf("%v: want %v\n%s", e, want, text)
			}
			delete(want, said)
		}
	}
}

// TestOpenedFiles: all files that a fleet names, and those that they name, are told with their paths.
func TestOpenedFiles(t *testing.T) {
	folder := t.TempDir()
	want := make(map[string]bool)
	for name, text := range map[string]string{
		"fleet.yaml": "format: cmdp/1\nhorizon: 2\nreturns: [r]\nfleet:\n  - {name: a, count: 1, model: a.yaml}\n" +
			"  - {name: b, count: 1, model: in/b.yaml}\n  - {name: c, count: 1, model: in/b.yaml}\n" +
			"  - {name: d, count: 1, model: {states: 1, start: 0, returns: [r], transitions: {file: d.csv}}}\n",
		"a.yaml":      "format: cmdp/1\nhorizon: 2\nstates: 1\nstart: 0\nreturns: [r]\ntransitions: {file: in/a.csv}\n",
		"in/b.yaml":   "format: cmdp/1\nhorizon: 2\nreturns: [r]\ntransitions: {file: b.prism}\n",
		"in/a.csv":    "state,action,next,probability,r\n0,go,0,1,1\n",
		"d.csv":       "state,action,next,probability,r\n0,go,0,1,1\n",
		"in/b.prism":  "mdp\nmodule m\n x: bool init false;\n [] true -> true;\nendmodule\nrewards \"r\" true: 1; endrewards\n",
		"in/other.md": "nobody names it",
	} {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if name != "in/other.md" {
			want[path] = true
		}
	}
	for _, outside := range []bool{false, true} {
		told := make(map[string]bool)
		opts := ReadOptions{Outside: outside, Opened: func(path string) { told[path] = true }}
		if _, err := ReadWith(filepath.Join(folder, "fleet.yaml"), opts); err != nil {
			t.Fatal(err)
		}
		// A file of a folder above is refused unless that is allowed; so is, either way, one that is not there.
		above := filepath.Join(folder, "in", "fleet.yaml")
		for name, said := range map[string]string{"../a.yaml": "outside of the problem's folder", "b.yaml": "",
			"c.yaml": "no such file"} {
			text := "format: cmdp/1\nreturns: [r]\nfleet: [{name: a, count: 1, model: " + name + "}]\n"
			if err := os.WriteFile(above, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			_, err := ReadWith(above, ReadOptions{Outside: outside})
			if name[0] == '.' && outside {
				said = ""
			}
			if (err == nil) != (said == "") || err != nil && !strings.Contains(err.Error(), said) {
				t.Errorf("%s, outside %v: %v: want %q", name, outside, err, said)
			}
		}
		if !maps.Equal(told, want) {
			t.Errorf("opened %v: want %v", slices.Sorted(maps.Keys(told)), slices.Sorted(maps.Keys(want)))
		}
	}
}

// TestCountsAtSteps: agents are counted where they take an action of a name, whatever number it has at a step.
func TestCountsAtSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(64, 10))
	for range 50 {
		text := "format: cmdp/1\nhorizon: 3\nreturns: [n]\nfleet:\n  - name: all\n    count: 1\n    returns: {n: {action: go}}\n" +
			"    model:\n      states: 2\n      start: 0\n      returns: [r]\n      transitions:\n"
		for h := range 3 {
			for s := range 2 {
				names := []string{"go", "stay", "run"}
				if h+s > 0 { // some state has to offer what is counted
					rng.Shuffle(3, func(i, j int) { names[i], names[j] = names[j], names[i] })
				}
				for _, name := range names[:1+rng.IntN(3)] {
					text += fmt.Sprintf("        - {state: %d, action: %s, step: %d, next: {0: 1}}\n", s, name, h+1)
				}
			}
		}
		p := mustParse(t, text).Fleet[0].Agent
		for h := range 3 {
			rows := p.Model.Rows(h)
			for s := range 2 {
				first, end := rows.Choices(s)
				for c := first; c < end; c++ {
					name := p.ActionName(h, s, c-first)
					if got := rows.Returns(c)[1]; (got == 1) != (name == "go") || got != 0 && got != 1 {
						t.Fatalf("%s of state %d counts %g at step %d\n%s", name, s, got, h+1, text)
					}
				}
			}
		}
	}
}

// checkGoes compares the returns of a type with what goes into each return of the fleet.
func checkGoes(t *testing.T, m *Member, goes [4]int, text string) {
	t.Helper()
	if len(m.Returns) != len(m.Agent.Returns) {
		t.Fatalf("%s: %d returns go somewhere of %d\n%s", m.Name, len(m.Returns), len(m.Agent.Returns), text)
	}
	for f, which := range goes {
		want, from := drawnGoes[which], slices.Index(m.Returns, f)
		if from < 0 || slices.Index(m.Returns[from+1:], f) >= 0 {
			t.Fatalf("%s: %v: return %d comes from none or several\n%s", m.Name, m.Returns, f, text)
		}
		kind := m.Agent.Kinds[from]
		if want.visits >= 0 {
			if kind.Visits == nil || string(kind.Visits.encode(nil)) != fmt.Sprintf("[%d]", want.visits) {
				t.Fatalf("%s: return %d is %+v: want visits of %d\n%s", m.Name, f, kind, want.visits, text)
			}
			continue
		}
		column := slices.Index(m.Agent.Given(), m.Agent.Returns[from])
		if column < 0 {
			t.Fatalf("%s: return %d is %+v\n%s", m.Name, f, kind, text)
		}
		rows := m.Agent.Model.Rows(0)
		for s := range 2 {
			first, _ := rows.Choices(s)
			for a := range 2 {
				if got := rows.Returns(first + a)[column]; got != want.given(s, a) {
					t.Fatalf("%s: return %d is %g in state %d with action %d: want %g\n%s", m.Name, f, got, s, a,
						want.given(s, a), text)
				}
			}
		}
	}
}

// TestFleetErrors: all that is wrong with a fleet is said at once, with file and key, and nothing else.
func TestFleetErrors(t *testing.T) {
	_, err := Read("testdata/fleet/wrong.yaml")
	if err == nil {
		t.Fatal("no error")
	}
	golden(t, "testdata/fleet/wrong.txt", err.Error()+"\n")
	good, err := os.ReadFile("testdata/fleet/chargers.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, with, said string }{
		{"count: 6", "count: 0", "fleet[0].count: got 0"},
		{"count: 6, ", "", "fleet[0]: count is missing"},
		{"count: 2", "count: 2.5", "fleet[1].count: got 2.5"},
		{"returns: [delivered, kwh, chargers]", "returns: {delivered: {}, kwh: {}, chargers: {}}",
			"returns: got a mapping: want a list of names"},
		{"returns: [delivered, kwh, chargers]\n", "", "returns: missing"},
		{"format: cmdp/1\n", "", "format: missing"},
		{"steps: 2-3", "steps: 2-9", "constraints[2].steps: got 2-9: want steps from 1 to 6"},
		{"steps: 2-3, ", "", "constraints[2]: a list of bounds"},
		{"[2, 1.5]", "[2, 1.5, 1]", "constraints[2].at_most: 3 bounds for 2 steps"},
		{"220", "220, always: true", "constraints[0]: limits of a fleet hold in expectation"},
		{"horizon: 6", "horizon: 7", "fleet[1].model: the model has horizon 7: want horizon 6"},
		{"      horizon: 6", "", "fleet[1].model.horizon: missing"},
		{"      horizon: 6", "      discount: 0.5", "fleet[1].model: the model has discount 0.5: want horizon 6"},
		{"model: van.yaml", "model: none.yaml", "fleet[0].model: cannot be read"},
		{"model: van.yaml", "model: chargers.yaml", "fleet[0].model: a fleet itself"},
		{"model: van.yaml", "model: van.prism", "fleet[0].model: van.prism has no horizon"},
		{"model: van.yaml", "model: [van.yaml]", "fleet[0].model: got a list: want a name"},
		{"{idle: 1, low: 1}", "{idle: 1, low: 2}", "fleet[1].starts: 3 agents begin somewhere, and count is 2"},
		{"{idle: 1, low: 1}", "{idle: 1, high: 1}", "fleet[1].starts.high: the model has no state high"},
		{"{idle: 1, low: 1}", "{idle: 1, low: -1}", "fleet[1].starts.low: got -1"},
		{"{idle: 1, low: 1}", "{idle: 1, 0: 1}", "fleet[1].starts.0: a state is given twice"},
		{"starts: {idle: 1, low: 1}", "starts: [1, 1]", "fleet[1].starts: got a list"},
		{"{delivered: delivered, kwh: kwh, chargers: {action: charge}}", "[delivered, kwh, chargers]",
			"fleet[1].returns: got a list"},
		{"kwh: kwh, chargers: {action: charge}", "kwh: kwh, chargers: {}",
			"fleet[1].returns.chargers: want one of action and visits"},
		{"kwh: kwh, chargers: {action", "kwh: kwh, chargers: {visits: [idle], action",
			"fleet[1].returns.chargers: want one of action and visits"},
		{"kwh: kwh, chargers: {action: charge}", "kwh: kwh, chargers: {visits: [low, nowhere]}",
			"fleet[1].returns.chargers.visits[1]: unknown label or state nowhere"},
		{"kwh: kwh, chargers: {action", "kwh: [kwh], chargers: {action",
			"fleet[1].returns.kwh: got a list: want a name"},
		{"kwh: kwh, chargers", "power: kwh, chargers", "fleet[1].returns.power: unknown return power"},
		{"action: charge}}\n", "action: fly}}\n",
			"fleet[1].returns.chargers.action: no state of the model offers an action fly"},
		{"energy", "none", "fleet[0].returns.kwh: the model has no return none"},
		{"name: van", "name: truck", "fleet[1].name: truck is given twice: it is number 0 too"},
		{"kwh, chargers]", "kwh, chargers, crews]", "returns[3]: no type of agents adds anything to crews"},
		{"state: idle, action: drive", "state: nowhere, action: drive",
			"fleet[1].model.transitions[0].state: unknown state nowhere"},
		{"goal: {maximize: delivered}", "goal: {maximize: nothing}", "goal.maximize: unknown return nothing"},
		{"goal: {maximize: delivered}\n", "goal: {maximize: delivered}\nstates: 3\n", "states: unknown key"},
	} {
		text := strings.Replace(string(good), c.old, c.with, 1)
		if text == string(good) {
			t.Fatalf("%q does not come up", c.old)
		}
		_, err := Parse("x.yaml", []byte(text), os.DirFS("testdata/fleet"))
		if place, found, _ := strings.Cut(fmt.Sprint(err), ": "); !strings.HasPrefix(place, "x.yaml") ||
			!strings.HasPrefix(found, c.said) || strings.Contains(found, "\n") {
			t.Errorf("%q for %q: %v: want %s alone", c.with, c.old, err, c.said)
		}
	}
	text := strings.NewReplacer("horizon: 6", "horizon: 7", "action: charge}}\n", "action: fly}}\n", "count: 2",
		"count: 0", "{idle: 1, low: 1}", "{idle: 1, 0: 1}").Replace(string(good))
	_, err = Parse("x.yaml", []byte(text), os.DirFS("testdata/fleet"))
	for _, want := range []string{"horizon 7", "an action fly", "count: got 0", "given twice"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("not all faults of a type are named: want %s in %v", want, err)
		}
	}
	if err != nil && strings.Contains(err.Error(), "begin somewhere") {
		t.Errorf("the sum of starts is judged by a count that is wrong: %v", err)
	}
	if _, err := Parse("x.yaml", []byte(strings.Replace(string(good), "fleet:", "fleet: []\nname_:", 1)),
		nil); err == nil {
		t.Error("an empty fleet")
	}
}

// TestTimesOfTypes: all types sum over the time of the fleet, or over that of the first, however near theirs is to it.
func TestTimesOfTypes(t *testing.T) {
	rng := rand.New(rand.NewPCG(64, 11))
	times := []string{"horizon: 2", "horizon: 3", "discount: 0.75", "discount: 0.7500000001", "discount: 0.999",
		"discount: 0.9991", "criterion: average"}
	for range 100 {
		near := 2 * rng.IntN(3)
		draw := func() string { return times[near+rng.IntN(3)] }
		text, said, same := "format: cmdp/1\nreturns: [n]\n", "", true
		if rng.IntN(2) == 0 {
			said = draw()
			text += said + "\n"
		}
		text += "fleet:\n"
		for i := range 2 {
			time := draw()
			if said == "" {
				said = time
			}
			same = same && time == said
			text += fmt.Sprintf("  - {name: t%d, count: 1, model: {%s, states: 1, start: 0, returns: [n], "+
				"transitions: [{state: 0, action: go, next: {0: 1}}]}}\n", i, time)
		}
		if _, err := Parse("fleet.yaml", []byte(text), nil); (err == nil) != same {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

// TestBoundsAtSteps: the bound of a limit at a step is that of a list of bounds, counted from the first step of its
// range, or the one that it has.
func TestBoundsAtSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(64, 12))
	for range 200 {
		horizon := 1 + rng.IntN(6)
		from := rng.IntN(horizon)
		to := from + 1 + rng.IntN(horizon-from)
		c := Limit{Return: "r", Steps: fmt.Sprintf("%d-%d", from+1, to)}
		switch {
		case rng.IntN(3) == 0:
			from, to = 0, horizon
			c.EachStep, c.Steps = true, ""
		case to == from+1 && rng.IntN(2) == 0:
			c.Steps = fmt.Sprint(to)
		}
		var want [2][]float64
		for side := range want {
			one, many := &c.AtMost, &c.MostAt
			if side == 1 {
				one, many = &c.AtLeast, &c.LeastAt
			}
			switch x := rng.Float64(); rng.IntN(3) {
			case 0:
				*one = &x
				want[side] = slices.Repeat([]float64{x}, to-from)
			case 1:
				for range to - from {
					*many = append(*many, rng.Float64())
				}
				want[side] = *many
			}
		}
		first, end, err := c.Range(horizon)
		if err != nil || first != from || end != to {
			t.Fatalf("%+v: steps %d to %d, error %v: want %d to %d", c, first, end, err, from, to)
		}
		for side, list := range want {
			for i := range to - from {
				got := c.At(side == 1, i)
				if (got == nil) != (list == nil) || got != nil && *got != list[i] {
					t.Fatalf("%+v: the bound of step %d is %v: want %v", c, i, got, list)
				}
			}
		}
	}
}
