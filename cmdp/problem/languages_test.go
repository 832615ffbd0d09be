package problem_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/exchange/formats"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
)

// consensus is a protocol of PRISM's benchmark suite in a problem file, with limits on what PRISM gives
// as results of its properties disagree and c2 for K=2: 13/120 and 49/128.
const consensus = `
format: cmdp/1
discount: 1
returns:
  differ: {reach: {and: [finished, {not: agree}]}}
  ones: {reach: "pc1=3 & pc2=3 & coin1+coin2=2"}
goal: GOAL
transitions: {file: coin2.nm, constants: {K: 2}}
`

// TestLanguageModel plans for a model in PRISM's language: results are those of PRISM.
func TestLanguageModel(t *testing.T) {
	text, err := os.ReadFile("../language/prism/testdata/coin2.nm")
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{"coin2.nm": {Data: text}}
	for goal, want := range map[string]float64{"{maximize: differ}": 13.0 / 120, "{minimize: ones}": 49.0 / 128} {
		p, err := problem.Parse("p.yaml", []byte(strings.Replace(consensus, "GOAL", goal, 1)), files)
		if err != nil {
			t.Fatal(err)
		}
		if p.Model.States() != 272 || p.StateName(0) != "counter=6,pc1=0,coin1=0,pc2=0,coin2=0" || len(p.Labels) != 4 {
			t.Error(p.Model.States(), p.StateName(0), p.Labels)
		}
		q, err := query.New(context.Background(), p, query.CompileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := exact.Solve(context.Background(), q.Model, q.Task, exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := math.Abs(q.Task.Cost.Value(r.Returns)); r.Status != exact.Optimal || math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v %.12g, want %.12g", goal, r.Status, got, want)
		}
	}
}

// small has a deadlock that earns nothing, x=2, and one that does, x=3.
const small = `mdp
const int N; const bool flag;
module m
  x : [0..N];
  [go] x=0 -> 0.5:(x'=1) + 0.5:(x'=2);
  [go] x=0 -> (x'=3);
  [] x=1 & flag -> (x'=0);
endmodule
label "end" = x>=2;
rewards "r" [go] true : 2; x=3 : 5; endrewards
rewards "none" false : 1; endrewards
`

// TestStoppedExploration: where the context is done while a model is explored nothing is said to be wrong with the
// file, however it names the model. A reader has no other error then than that of the context.
func TestStoppedExploration(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const (
		constants = "{N: 5, flag: true}"
		agent     = "format: cmdp/1\nhorizon: 5\nreturns: [r]\ntransitions: {file: small.prism, constants: " + constants + "}\n"
		members   = "format: cmdp/1\nhorizon: 5\nreturns: [r]\nfleet:\n  - {name: all, count: 3, model: %s, returns: {r: r}}\n"
	)
	model := write("small.prism", small)
	write("agent.yaml", agent)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	open := problem.ReadOptions{Constants: map[string]string{"N": "5", "flag": "true"}}
	asked := open
	asked.Property = &problem.Property{File: "asked", Text: `R{"r"}max=? [C<=5]`}
	for _, c := range []struct {
		path string
		opts problem.ReadOptions
	}{
		{model, open}, {model, asked}, {filepath.Join(dir, "agent.yaml"), problem.ReadOptions{}},
		{write("fleet.yaml", fmt.Sprintf(members, "agent.yaml")), problem.ReadOptions{}},
		{write("inline.yaml", fmt.Sprintf(members, "{horizon: 5, returns: [r], transitions: {file: small.prism, constants: "+
			constants+"}}")), problem.ReadOptions{}},
	} {
		if _, err := problem.ReadWith(c.path, c.opts); err != nil {
			t.Errorf("%s: %v", c.path, err)
		}
		c.opts.Context = ctx
		if _, err := problem.ReadWith(c.path, c.opts); err != context.Canceled {
			t.Errorf("%s: %v: want %v", c.path, err, context.Canceled)
		}
	}
}

// TestLanguageDeadlocks: a deadlock is at rest, and has a loop only where that earns something.
func TestLanguageDeadlocks(t *testing.T) {
	files := fstest.MapFS{"small.prism": {Data: []byte(small)}}
	m, err := formats.Read(files, "small.prism",
		formats.LanguageOptions{Constants: map[string]string{"N": "3", "flag": "true"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []int32{0, 2, 3, 3, 4}
	states, _ := m.Label("deadlock")
	end, _ := m.Label("end")
	if !slices.Equal(m.First, want) || !slices.Equal(states, []int32{3}) || m.Described.Deadlocks() != 2 ||
		!slices.Equal(end, []int32{2, 3}) {
		t.Error(m.First, states, m.Described.Deadlocks(), end)
	}
	r := m.Reward("r")
	if !slices.Equal(r.State, []float64{0, 0, 0, 5}) || !slices.Equal(r.Choice, []float64{2, 2, 0, 0}) ||
		m.Reward("none").State != nil {
		t.Error(r, m.Reward("none"))
	}
	if names := m.DistinctActions(); !slices.Equal(names, []string{"go", "go/2", "0", "0"}) {
		t.Error(names)
	}
	where, err := m.Described.Where("x>0 & x<N")
	if err != nil || !slices.Equal(where, []int32{1, 2}) {
		t.Error(where, err)
	}
}

// TestConditionsAreWritten: sets of states in conditions on variables are read back as the same sets from a file that
// has the rows of the model.
func TestConditionsAreWritten(t *testing.T) {
	const model = "mdp module m x : [0..2]; b : bool; [go] x<2 -> 0.5:(x'=x+1) + 0.5:(b'=!b); [turn] x<2 -> (b'=!b); " +
		"endmodule label \"far\" = x=2; rewards \"r\" b : 1; endrewards"
	sets := []string{"x=0 & b", "b", `{not: "x=1"}`, `{and: ["x>0", b]}`, `["x=0", {not: b}, far]`, "far", `"\"far\""`,
		`{or: [{and: [far, {not: b}]}, "x=1"]}`}
	for i, set := range sets {
		text := fmt.Sprintf("format: cmdp/1\nhorizon: 3\ntransitions: {file: m.prism}\nreturns: {r: {reward: r}, "+
			"come: {reach: %s, while: %s}, at: {visits: %[1]s}}\n", set, sets[(i+3)%len(sets)])
		p, err := problem.Parse("p.yaml", []byte(text), fstest.MapFS{"m.prism": {Data: []byte(model)}})
		if err != nil {
			t.Fatal(err)
		}
		var written bytes.Buffer
		if err := problem.Write(&written, p); err != nil {
			t.Fatal(err)
		}
		back, err := problem.Parse("back.yaml", written.Bytes(), nil)
		if err != nil {
			t.Errorf("%s: %v\n%s", set, err, &written)
			continue
		}
		of := func(p *problem.Problem) (all [][]bool) {
			for _, kind := range p.Kinds[1:] {
				for _, set := range []*problem.StateSet{kind.Reach, kind.While, kind.Visits} {
					if set != nil {
						in, err := p.StatesIn(set)
						if err != nil {
							t.Error(err)
						}
						all = append(all, in)
					}
				}
			}
			return all
		}
		if want := of(p); !slices.EqualFunc(of(back), want, slices.Equal) || len(want) != 3 {
			t.Errorf("%s: %v are read back as %v", set, want, of(back))
		}
	}
}

// TestStatesOfLanguagesAreWritten: a model whose states have variables is written as if their names were listed. A
// policy in a table has the values of the variables in columns, as the names have them, and is read back.
func TestStatesOfLanguagesAreWritten(t *testing.T) {
	const model = "mdp module m x : [0..2]; b : bool; [go] x<2 -> 0.5:(x'=x+1) + 0.5:(b'=!b); [turn] x<2 -> (b'=!b); " +
		"endmodule rewards \"r\" b : 1; endrewards"
	p, err := problem.Parse("p.yaml", []byte("format: cmdp/1\nhorizon: 3\ntransitions: {file: m.prism}\n"),
		fstest.MapFS{"m.prism": {Data: []byte(model)}})
	if err != nil {
		t.Fatal(err)
	}
	listed := *p
	listed.Described = nil
	for s := range p.Model.States() {
		listed.States = append(listed.States, p.StateName(s))
	}
	var texts [2]bytes.Buffer
	for i, of := range []*problem.Problem{p, &listed} {
		if err := problem.Write(&texts[i], of); err != nil {
			t.Fatal(err)
		}
	}
	if texts[0].String() != texts[1].String() || len(listed.States) != 6 {
		t.Errorf("written as\n%s\nwant\n%s", &texts[0], &texts[1])
	}
	file := filepath.Join(t.TempDir(), "p.csv")
	policy := cmdp.Uniform{Shape: p.Model.Shape()}
	if err := problem.WritePolicy(file, p.Process(), p.Process().PolicyRows(policy, problem.Agent)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(lines) < 10 || !slices.Equal(lines[0][4:], []string{"state.x", "state.b"}) {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, cells := range lines[1:] {
		if want := "x=" + cells[4] + ",b=" + cells[5]; cells[1] != want {
			t.Errorf("%v: want %s", cells, want)
		}
	}
	if _, err := problem.ReadPolicy(file, p.Process()); err != nil {
		t.Error(err)
	}
}

// TestLanguageProblems holds what may be wrong between a problem file and a model in a language.
func TestLanguageProblems(t *testing.T) {
	files := fstest.MapFS{"small.prism": {Data: []byte(small)},
		"bad.nm": {Data: []byte("mdp\nmodule m x : int; endmodule")},
		"several.nm": {Data: []byte("module m x : [0..2]; [a] x<2 -> (x'=x+1); endmodule rewards [a] true : 1; " +
			"endrewards init x<2 endinit")}}
	for _, c := range []struct{ text, want string }{
		{"transitions: {file: small.prism, constants: {N: 3, flag: true}}", ""},
		{"transitions: {file: small.prism, constants: {N: 1+2, flag: true}}\nstart: \"x=1\"", ""},
		{"transitions: {file: small.prism, constants: {N: 3, flag: true}}\nreturns: {a: {reward: r}, b: {reach: " +
			"[\"x=1\", \"x=1 | x=3\"]}, c: {visits: {not: end}}}", ""},
		{"transitions: {file: several.nm}\nstart: {\"x=0\": 0.5, \"x=1\": 0.5}", ""},
		{"transitions: {file: several.nm}",
			"p.yaml: start: missing, and several.nm:1:92 has several initial states without a distribution: want a state"},
		{"transitions: {file: bad.nm}", "bad.nm:2:14: unbounded integers are not supported"},
		{"transitions: {file: small.prism}", "small.prism:2:11: constants without a value: N, flag"},
		{"transitions: {file: small.prism, constants: {N: 3, flag: true, M: 1}}",
			"small.prism: the model has no constant M"},
		{"transitions: {file: small.prism, constants: {N: [3], flag: true}}",
			"constants.N: got a list: want a number, true or false"},
		{"transitions: {file: small.prism, constants: 3}", "want a mapping"},
		{"transitions: {file: small.prism, constants: {N: 3, flag: true}}\nstart: \"x=4\"", "unknown state x=4"},
		{"transitions: {file: small.prism, constants: {N: 3, flag: true}}\nreturns: {b: {reach: \"y=1\"}}",
			"y=1 is no label or state, and no condition on the variables: unknown name y"},
		{"transitions: {file: small.prism, constants: {N: 3, flag: true}}\nreturns: {b: {reach: \"x\"}}",
			"of type int: want bool"},
		{"transitions: {file: rows.csv, constants: {N: 3}}\nstates: 1\nstart: 0\nreturns: [r]",
			"rows.csv is no model in a language, which alone has constants"},
	} {
		_, err := problem.Parse("p.yaml", []byte("format: cmdp/1\nhorizon: 3\n"+c.text+"\n"), files)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
	}
}
