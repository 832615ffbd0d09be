package problem_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/exchange/exchangetest"
	"cmdpsolve/cmdp/exchange/formats"
	"cmdpsolve/cmdp/exchange/umb"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
)

type memory struct {
	bytes.Buffer
	files fstest.MapFS
	name  string
}

func (m *memory) Close() error {
	m.files[m.name] = &fstest.MapFile{Data: m.Bytes()}
	return nil
}

// save writes a model to files in memory.
func save(t *testing.T, name string, m *exchange.Model) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	create := func(name string) (io.WriteCloser, error) { return &memory{files: files, name: name}, nil }
	if err := formats.Write(create, name, m, umb.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	return files
}

// TestImportAndExport takes random models to problems and back.
func TestImportAndExport(t *testing.T) {
	has := exchangetest.All
	has.Intervals = false
	has.Chain, has.BranchActions, has.Actions, has.Twins, has.Names = false, false, false, false, false
	rng := rand.New(rand.NewPCG(3, 1))
	for i := range 500 {
		m := exchangetest.Random(rng, has)
		if len(m.Rewards) == 0 || m.Choices() == 0 {
			continue
		}
		p, err := problem.Import(m, problem.Time{Horizon: 5})
		if err != nil {
			t.Fatal(i, err)
		}
		again, err := p.Export()
		if err != nil {
			t.Fatal(i, err)
		}
		checkNamedReturns(t, rng, m, again)
		// A problem has no names of players, one player in states with one
		// choice, and rewards of states with the choices there.
		m.PlayerNames = nil
		for s := range m.States() {
			if m.Owner != nil && m.First[s+1]-m.First[s] < 2 {
				m.Owner[s] = 0
			}
		}
		if m.Owner != nil && !slices.Contains(m.Owner, 1) {
			m.Players, m.Owner, again.Players, again.Owner = 1, nil, 1, nil
		}
		mixed := false
		for j := range m.Rewards {
			mixed = mixed || m.Rewards[j].Branch != nil
		}
		collect(m, mixed)
		m.JoinBranchRewards()
		again.JoinBranchRewards()
		if err := exchangetest.Same(m, again); err != nil {
			t.Fatal(i, err)
		}
	}
}

// checkNamedReturns takes some rewards of a model to a problem, in some order: they are those that all has of it.
func checkNamedReturns(t *testing.T, rng *rand.Rand, m, all *exchange.Model) {
	t.Helper()
	var names []string
	for _, i := range rng.Perm(len(m.Rewards))[:1+rng.IntN(len(m.Rewards))] {
		names = append(names, m.Rewards[i].Name)
	}
	time := problem.Time{Horizon: 1 + rng.IntN(3)}
	if m.Players == 1 && rng.IntN(2) == 0 {
		time = problem.Time{Discount: 0.5} // games have a horizon
	}
	p, err := problem.Import(m, time, names...)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Model; !slices.Equal(p.Returns, names) || got.Horizon() != time.Horizon ||
		time.Horizon == 0 && got.Discount() != time.Discount {
		t.Fatalf("%v, horizon %d, discount %g: want %v, %v", p.Returns, got.Horizon(), got.Discount(), names, time)
	}
	some, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		for s := range m.States() {
			for c := int(m.First[s]); c < int(m.First[s+1]); c++ {
				for e := m.Offset[c]; e < m.Offset[c+1]; e++ {
					if x, y := some.Reward(name).Total(s, c, e), all.Reward(name).Total(s, c, e); x != y {
						t.Fatalf("%v: %s in state %d, choice %d: %g: want %g", names, name, s, c, x, y)
					}
				}
			}
		}
	}
	if _, err := problem.Import(m, problem.Time{Horizon: 1}, names[0], "none"); err == nil ||
		!strings.Contains(err.Error(), "the model has no reward called none") {
		t.Fatalf("rewards %v and none: %v", names[0], err)
	}
}

// collect adds the rewards of states to those of choices, and if there are rewards of
// branches anywhere, those of choices to branches.
func collect(m *exchange.Model, branches bool) {
	for j := range m.Rewards {
		r := &m.Rewards[j]
		choice, branch := make([]float64, m.Choices()), make([]float64, m.Branches())
		for s := range m.States() {
			for c := int(m.First[s]); c < int(m.First[s+1]); c++ {
				choice[c] = r.Step(s, c)
				for e := m.Offset[c]; e < m.Offset[c+1]; e++ {
					branch[e] = choice[c]
					if r.Branch != nil {
						branch[e] = r.Branch[e]
					}
				}
			}
		}
		if r.State, r.Choice, r.Branch = nil, choice, nil; branches {
			r.Choice, r.Branch = nil, branch
		}
	}
}

// robot has two rooms and a state in which it rests: a reward of states, one of
// choices and one of branches, and two choices of the same name.
func robot() *exchange.Model {
	return &exchange.Model{
		Players: 1, Start: exchange.UniformStart([]int32{0, 1}),
		Variables: exchange.Named([]string{"hall", "kitchen", "dock"}),
		First:     []int32{0, 2, 3, 3}, Offset: []int{0, 3, 4, 5}, Target: []int32{1, 1, 2, 2, 0},
		Probability:   []float64{0.25, 0.25, 0.5, 1, 1},
		ChoiceActions: &exchange.Actions{Names: []string{"go", ""}, Of: []int32{0, 0, 1}},
		Rewards: []exchange.Reward{
			{Name: "time", State: []float64{1, 2, 0}},
			{Name: "energy", Choice: []float64{0.5, 0.25, 8}},
			{Name: "noise", Branch: []float64{4, 4, 8, 0, 0}},
		},
	}
}

func TestProblemRefersToModelsOfOtherTools(t *testing.T) {
	for _, name := range []string{"robot.umb", "robot.tra"} {
		files := save(t, name, robot())
		p, err := problem.Parse("p.yaml", []byte("format: cmdp/1\ndiscount: 0.5\ntransitions: {file: "+name+"}\n"),
			files)
		if err != nil {
			t.Fatal(name, err)
		}
		k := p.Model.Kernel(0).Plain(p.Model.Dim())
		// State 0 has two choices called go; the second is go/2. The two branches to
		// the kitchen add up, as their noise is the same.
		if !slices.Equal(p.Returns, []string{"time", "energy", "noise"}) ||
			!slices.Equal(p.States, []string{"hall", "kitchen", "dock"}) ||
			!slices.Equal(p.Actions[0], []string{"go", "go/2", "0"}) || len(p.Model.StartStates()) != 2 ||
			!slices.Equal(k.First, []int32{0, 2, 3, 3}) || !slices.Equal(k.Next, []int32{1, 2, 2, 0}) ||
			!slices.Equal(k.Prob, []float64{0.5, 0.5, 1, 1}) ||
			!slices.Equal(k.Returns, []float64{1, 0.5, 6, 1, 0.25, 0, 2, 8, 0}) {
			t.Errorf("%s: %+v %+v", name, p, k)
		}
	}
	files := save(t, "robot.umb", robot())
	p, err := problem.Parse("p.yaml", []byte(`format: cmdp/1
horizon: 3
states: 3
start: kitchen
returns: {waiting: {reward: time}, noise: {}}
goal: {minimize: waiting}
constraints: [{return: noise, at_most: 9}]
transitions: {file: robot.umb}
`), files)
	if err != nil {
		t.Fatal(err)
	}
	if k := p.Model.Kernel(0).Plain(p.Model.Dim()); !slices.Equal(p.Returns, []string{"waiting", "noise"}) ||
		!slices.Equal(k.Returns, []float64{1, 6, 1, 0, 2, 0}) ||
		!slices.Equal(p.Model.StartStates(), []cmdp.StartState{{State: 1, Probability: 1}}) {
		t.Errorf("%+v %+v", p, k)
	}
}

func TestImportedFormats(t *testing.T) {
	m := robot()
	m.MeanRewards()
	for _, name := range []string{"m.umb", "m.drn", "m.tra", "m.npz", "k/"} {
		files, folder := save(t, name, m), t.TempDir()
		p, err := problem.Parse("p.yaml", []byte("format: cmdp/1\nhorizon: 5\ntransitions: {file: \""+name+"\"}\n"),
			files)
		if err != nil {
			t.Fatal(name, err)
		}
		if err := os.CopyFS(folder, files); err != nil {
			t.Fatal(err)
		}
		alone, err := problem.Read(filepath.FromSlash(folder + "/" + name)) // a problem of totals
		if err != nil {
			t.Fatal(name, err)
		}
		for _, m := range []*cmdp.Model{p.Model, alone.Model} {
			if k := m.Kernel(0).Plain(m.Dim()); !slices.Equal(k.Returns, []float64{1, 0.5, 6, 1, 0.25, 0, 2, 8, 0}) {
				t.Errorf("%s, horizon %d, discount %g: %+v", name, m.Horizon(), m.Discount(), k)
			}
		}
	}
	m = robot()
	if _, err := problem.Parse("p.yaml", []byte("format: cmdp/1\nhorizon: 5\ntransitions: {file: m.json}\n"),
		save(t, "m.json", m)); err != nil {
		t.Fatal(err)
	}
}

func TestWrongImports(t *testing.T) {
	files := save(t, "robot.umb", robot())
	chain := &exchange.Model{First: []int32{0, 1}, Offset: []int{0, 1}, Target: []int32{0},
		Probability: []float64{0.75}, Rewards: []exchange.Reward{{Name: "r", State: []float64{1}}}}
	files["chain.umb"] = save(t, "chain.umb", chain)["chain.umb"]
	chain.Probability[0], chain.Rewards = 1, nil
	files["bare.umb"] = save(t, "bare.umb", chain)["bare.umb"]
	files["cut.umb"] = &fstest.MapFile{Data: files["robot.umb"].Data[:200]}
	rest := robot()
	rest.Rewards[0].State[2] = 3
	files["rest.umb"] = save(t, "rest.umb", rest)["rest.umb"]
	for text, want := range map[string]string{
		"file: cut.umb":   "cut.umb: ",
		"file: none.umb":  "p.yaml:3:21: transitions.file: cannot open the file",
		"file: robot.txt": "or a model of another tool, .umb, .drn",
		"file: robot.umb}\nstates: 4\ngoal: {maximize: r": "states: 4 states: robot.umb has 3; " +
			"states may be left out",
		"file: robot.umb}\nreturns: [time, energie]\ngoal: {maximize: r":   `robot.umb has no reward called energie, did you mean "energy"?`,
		"file: robot.umb}\nreturns: {a: {reward: b}}\ngoal: {maximize: r":  `returns.a.reward: robot.umb has no reward called b`,
		"file: robot.umb}\nreturns: {a: {rewards: b}}\ngoal: {maximize: r": `returns.a.rewards`,
		"file: robot.umb}\nreturns: {}\ngoal: {maximize: r":                "the mapping is empty: want at least one name",
		"file: robot.umb}\nreturns: 3\ngoal: {maximize: r":                 "want a list of names, or a mapping",
		"file: robot.umb}\nstart: garage\ngoal: {maximize: r":              "unknown state garage",
		"file: chain.umb}\nstart: 0\ngoal: {maximize: r": "state 0, action 0: the probabilities " +
			"sum to 0.75",
		"file: chain.umb": "start: missing, and chain.umb has no initial states",
		"file: bare.umb}\nstart: 0\ngoal: {maximize: r": "returns: bare.umb has no rewards",
		"file: rest.umb": "rest.umb: state 2 has no choices, but the reward time of 3",
	} {
		_, err := problem.Parse("p.yaml", []byte("format: cmdp/1\nhorizon: 5\ntransitions: {"+text+"}\n"), files)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v: want %s", text, err, want)
		}
	}
	for file, data := range save(t, "env.json", robot()) {
		_, err := problem.Parse(file, data.Data, nil)
		if want := "env.json: P: a table of Gymnasium is no problem file"; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v: want %s", err, want)
		}
	}
}

func TestExportRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{format: cmdp/1, horizon: 2, states: 1, start: 0, returns: [r], transitions: [{state: 0, action: 0, step: 1, next: {0: 1}}]}`: "differ between steps",
		`{format: cmdp/1, horizon: 2, states: [a], start: 0, returns: [r], transitions: [
			{state: 0, action: 0, opponent: 0, next: {0: 1}}, {state: 0, action: 0, opponent: 1, next: {0: 1}},
			{state: 0, action: 1, opponent: 0, next: {0: 1}}, {state: 0, action: 1, opponent: 1, next: {0: 1}}]}`: "in state a both players choose at once",
	} {
		p, err := problem.Parse("p.yaml", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Export(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v: want %s", err, want)
		}
	}
}

// TestVerdictsAreThoseOfTheModel plans problems whose models stand in files of every format:
// status and returns are the same to the last bit.
func TestVerdictsAreThoseOfTheModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	seen := make(map[exact.Verdict]int)
	for i := 0; i < 30; {
		m := exchangetest.Random(rng, exchangetest.Has{Rests: true})
		if len(m.Rewards) < 2 || m.Choices() == m.States() {
			continue
		}
		i++
		m.Labels = nil
		bound := rng.Float64()*4 - 2
		text := fmt.Sprintf("format: cmdp/1\n%s\ngoal: {maximize: %q}\nconstraints: [{return: %q, at_most: "+
			"%g}]\ntransitions: {file: %%q}\n",
			[]string{"horizon: 3", "discount: 0.875", "criterion: average"}[i%3], m.Rewards[0].Name, m.Rewards[1].Name,
			bound)
		var first *exact.Result
		for _, name := range []string{"m.umb", "m.tra", "m.drn", "m.npz", "k/", "m.json"} {
			p, err := problem.Parse("p.yaml", fmt.Appendf(nil, text, name), save(t, name, m))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			switch r := solve(t, p); {
			case first == nil:
				first = r
				seen[r.Status]++
			case r.Status != first.Status || !slices.Equal(r.Returns, first.Returns):
				t.Errorf("model %d, %s: %v %v, but from m.umb %v %v", i, name, r.Status, r.Returns, first.Status,
					first.Returns)
			}
		}
	}
	if seen[exact.Optimal] < 5 || seen[exact.Infeasible] < 5 {
		t.Errorf("verdicts %v: want some of each", seen)
	}
}

// TestQComp takes ten queries of a competition through all formats, one after the other, and back to
// a problem. Their verdicts are those of other tools, and the same to the last bit after the way as before.
func TestQComp(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	kept := []string{"ejs-N2B003Unf1-RtRt-ach.yaml", "pow-Q0004K0000-RtRt-ach.yaml", "tea-N2-PfRt-ach.yaml"}
	names, err := filepath.Glob("testdata/qcomp/*.yaml")
	if err != nil || len(names) != 10 {
		t.Fatal(names, err)
	}
	model := regexp.MustCompile(`(?m)^(states|start|returns|transitions):.*\n`)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		asked := model.ReplaceAll(text, nil)
		p, err := problem.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		before := solve(t, p)
		if optimal := before.Status == exact.Optimal; optimal != slices.Contains(kept, filepath.Base(name)) {
			t.Errorf("%s: %v", name, before.Status)
		}
		for _, format := range []string{"m.umb", "m.tra", "m.json", "m.yaml", "m.drn.gz", "m.npz", "k/", "m.drn.xz",
			"m.umb"} {
			if format == "m.yaml" {
				var b strings.Builder
				if err := problem.Write(&b, p); err != nil {
					t.Fatal(err)
				}
				p = parsed(t, b.String(), nil)
				continue
			}
			m, err := p.Export()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if strings.HasPrefix(format, "m.drn") {
				m.MeanRewards() // as the formats after it have no rewards of branches either
			}
			p = parsed(t, fmt.Sprintf("%stransitions: {file: %s}\n", asked, format), save(t, format, m))
		}
		if after := solve(t, p); after.Status != before.Status || after.Violation != before.Violation ||
			!slices.Equal(after.Returns, before.Returns) {
			t.Errorf("%s: %v %v, but %v %v before", name, after.Status, after.Returns, before.Status, before.Returns)
		}
	}
}

func parsed(t *testing.T, text string, files fs.FS) *problem.Problem {
	t.Helper()
	p, err := problem.Parse("p.yaml", []byte(text), files)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func solve(t *testing.T, p *problem.Problem) *exact.Result {
	t.Helper()
	q, err := query.New(t.Context(), p, query.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := exact.Solve(t.Context(), q.Model, q.Task, exact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestImportedIntervals: branches of a choice to the same state are one successor, whose bounds are the sums of theirs.
func TestImportedIntervals(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	twins := 0
	for range 500 {
		m := exchangetest.Random(rng, exchangetest.Has{Intervals: true, Twins: true, StateRewards: true})
		if len(m.Rewards) == 0 || m.Choices() == 0 || m.Lower == nil {
			continue
		}
		p, err := problem.Import(m, problem.Time{Horizon: 2})
		if err != nil {
			t.Fatal(err)
		}
		for c := range m.Choices() {
			lower, upper := m.Bounds(c)
			got, most := p.Intervals.Row(0, c)
			if (lower == nil) != (got == nil) {
				t.Fatalf("choice %d: bounds %v: want %v", c, got, lower)
			}
			next, _ := p.Model.Rows(0).Row(c)
			for i := range got {
				l, u := 0.0, 0.0
				for e, to := range m.Target[m.Offset[c]:m.Offset[c+1]] {
					if to == next[i] {
						l += lower[e]
						u += upper[e]
					}
				}
				if math.Abs(got[i]-l) > 1e-12 || math.Abs(most[i]-min(u, 1)) > 1e-12 {
					t.Fatalf("choice %d to %d: from %g to %g: want %g to %g", c, next[i], got[i], most[i], l, u)
				}
			}
			if lower != nil && len(next) < len(lower) {
				twins++
			}
		}
	}
	if twins < 20 {
		t.Errorf("%d choices lead to a state twice", twins)
	}
}
