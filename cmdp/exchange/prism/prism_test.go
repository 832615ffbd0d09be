package prism_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"math/big"
	"math/rand/v2"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/exchange/exchangetest"
	"cmdpsolve/cmdp/exchange/prism"
)

// files are texts by name.
type files map[string]string

func (f files) read() (*exchange.Model, error) {
	all := fstest.MapFS{}
	for name, text := range f {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return prism.Read(all, "m.tra")
}

type closer struct {
	bytes.Buffer
	f    files
	name string
}

func (c *closer) Close() error {
	c.f[c.name] = c.String()
	return nil
}

func write(m *exchange.Model) (files, error) {
	f := files{}
	return f, prism.Write(func(name string) (io.WriteCloser, error) { return &closer{f: f, name: name}, nil }, "m", m)
}

func TestRoundTrip(t *testing.T) {
	has := exchangetest.All
	has.Game, has.SkewedStart = false, false
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 2000 {
		m := exchangetest.Random(rng, has)
		f, err := write(m)
		if err != nil {
			t.Fatal(i, err)
		}
		again, err := f.read()
		if err != nil {
			t.Fatal(i, err, f)
		}
		m.JoinBranchRewards() // the files do not tell a choice with one branch from the branch
		if err := exchangetest.Same(m, again); err != nil {
			t.Fatal(i, err, f)
		}
	}
}

// sample is a small MDP as PRISM 4.10 exports it with -exportmodel m.all.
func sample() files {
	return files{
		"m.tra": `# Transitions (MDP)
3 4 5
0 0 1 0.5 go
0 0 2 0.5 go
0 1 0 1 stay
1 0 2 1
2 0 2 1
`,
		"m.sta": `# States
(x,b)
0:(0,false)
1:(-1,true)
2:(2,false)
`,
		"m.lab": `# Labels
0="init" 1="deadlock" 2="goal"
0: 0
1: 2
2: 1 2
`,
		"m1.srew": `# Reward structure "time"
# State rewards
3 2
0 1
1 0.25
`,
		"m1.trew": `# Reward structure "time"
# Transition rewards
3 4 0
`,
		"m2.srew": `# Reward structure "energy"
# State rewards
3 0
`,
		"m2.trew": `# Reward structure "energy"
# Transition rewards
3 4 3
0 0 1 2.5
0 0 2 2.5
0 1 0 -1
`,
	}
}

func sampleModel() *exchange.Model {
	return &exchange.Model{
		Players: 1, Start: []exchange.Start{{State: 0, Probability: 1}},
		First: []int32{0, 2, 3, 3}, Offset: []int{0, 2, 3, 4}, Target: []int32{1, 2, 0, 2},
		Probability:   []float64{0.5, 0.5, 1, 1},
		ChoiceActions: &exchange.Actions{Names: []string{"go", "stay", ""}, Of: []int32{0, 1, 2}},
		Labels:        []exchange.Label{{Name: "goal", States: []int32{1, 2}}},
		Rewards: []exchange.Reward{{Name: "time", State: []float64{1, 0.25, 0}},
			{Name: "energy", Choice: []float64{2.5, -1, 0}}},
		Variables: []exchange.Variable{{Name: "x", Ints: []int64{0, -1, 2}},
			{Name: "b", Bool: true, Ints: []int64{0, 1, 0}}},
	}
}

func TestReadsWhatPRISMWrites(t *testing.T) {
	m, err := sample().read()
	if err != nil {
		t.Fatal(err)
	}
	if err := exchangetest.Same(sampleModel(), m); err != nil {
		t.Error(err)
	}
	// Without comments, as older versions and -noexportheaders write it, rewards
	// have no names.
	bare := sample()
	for name, text := range bare {
		bare[name] = text[strings.LastIndex("\n"+text, "\n#")+1:]
		for strings.HasPrefix(bare[name], "#") || strings.HasPrefix(bare[name], " ") {
			_, bare[name], _ = strings.Cut(bare[name], "\n")
		}
	}
	if m, err = bare.read(); err != nil {
		t.Fatal(err)
	}
	want := sampleModel()
	want.Rewards[0].Name, want.Rewards[1].Name = "reward1", "reward2"
	if err := exchangetest.Same(want, m); err != nil {
		t.Error(err)
	}
}

func TestReadsTransitionsAlone(t *testing.T) {
	m, err := files{"m.tra": "3 3\n0 1 1/3 a\n0 2 2/3\n2 2 1\n"}.read()
	if err != nil {
		t.Fatal(err)
	}
	want := &exchange.Model{
		Start: exchange.UniformStart([]int32{0}), First: []int32{0, 1, 1, 2}, Offset: []int{0, 2, 3},
		Target:        []int32{1, 2, 2},
		Probability:   []float64{1.0 / 3, 2.0 / 3, 1},
		BranchActions: &exchange.Actions{Names: []string{"a", ""}, Of: []int32{0, 1, 1}},
	}
	if err := exchangetest.Same(want, m); err != nil {
		t.Error(err)
	}
	m, err = files{"m.tra": "2 2 2\n- - 1 -\n0 0 1 1\n1 0 0 1\n", "m.trew": "2 2 1\n1 0 0 4\n"}.read()
	if err != nil {
		t.Fatal(err)
	}
	want = &exchange.Model{
		Players: 1, Start: exchange.UniformStart([]int32{1}), First: []int32{0, 1, 2}, Offset: []int{0, 1, 2},
		Target:      []int32{1, 0},
		Probability: []float64{1, 1}, Rewards: []exchange.Reward{{Name: "reward", Choice: []float64{0, 4}}},
	}
	if err := exchangetest.Same(want, m); err != nil {
		t.Error(err)
	}
}

// combined is the sample as PRISM exports it with -exportmodel m.pexp.
func combined() string {
	f := sample()
	return f["m.tra"] + "\n" + f["m.sta"] + "\n" + f["m.lab"] + "\n" + f["m1.srew"] + "\n" + f["m1.trew"] + "\n" +
		f["m2.srew"] + "\n" + f["m2.trew"]
}

func TestReadsCombinedFiles(t *testing.T) {
	read := func(text string) (*exchange.Model, error) {
		return prism.Read(fstest.MapFS{"a/m.pexp": {Data: []byte(text)}}, "a/m.pexp")
	}
	m, err := read(combined())
	if err == nil {
		err = exchangetest.Same(sampleModel(), m)
	}
	if err != nil {
		t.Error(err)
	}
	if m, err = read("# Transitions (DTMC)\n1 1\n0 0 1\n\n# Reward structure\n# Transition rewards\n1 1\n0 0 3\n# " +
		"Reward structure \"b\"\n# State rewards\n1 1\n0 2\n"); err != nil {
		t.Fatal(err)
	}
	want := []exchange.Reward{{Name: "reward1", Choice: []float64{3}}, {Name: "b", State: []float64{2}}}
	if !reflect.DeepEqual(m.Rewards, want) || len(m.Start) != 1 {
		t.Errorf("got rewards %v, start %v: want %v and state 0", m.Rewards, m.Start, want)
	}
	for _, c := range []struct{ old, new, want string }{
		{"# Transitions (MDP)", "# Transitions (SMG)", `models of type "SMG"`},
		{"# Transitions (MDP)\n", "", `line 1: got "3 4 5": want a header`},
		{"# States", "# Observations", "line 9: Observations are not supported"},
		{"# Transitions (MDP)", "# Labels", "line 1: got # Labels: want # Transitions first"},
		{"# Labels", "# States\n(y)\n0:(0)\n1:(0)\n2:(0)\n# Labels", "line 15: # States is given twice"},
		{"2:(2,false)\n", "", "the file ends before state 2"},
		{"1: 2\n", "1: 2\n7: 2\n", "line 19: state"},
		{"1 0.25", "1 0.25\n1 0.5", "the reward of state 1 is given twice"},
		{"0 0 2 2.5", "0 0 2 x", `"x" is not a number`},
	} {
		if !strings.Contains(combined(), c.old) {
			t.Fatal(c.old)
		}
		if _, err := read(strings.Replace(combined(), c.old, c.new, 1)); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: got %v: want %s", c.new, c.old, err, c.want)
		}
	}
	if _, err := read("\n"); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("an empty file: got %v", err)
	}
}

// TestCombinedFiles: a combined file of what else stands in several, but for rewards that are all 0, is the same model.
func TestCombinedFiles(t *testing.T) {
	has := exchangetest.All
	has.Game, has.SkewedStart = false, false
	rng := rand.New(rand.NewPCG(64, 3))
	for i := range 500 {
		m := exchangetest.Random(rng, has)
		f, err := write(m)
		if err != nil {
			t.Fatal(i, err)
		}
		text := f["m.tra"] + f["m.sta"] + f["m.lab"]
		for k := range m.Rewards {
			of := "m" + strconv.Itoa(k+1)
			if len(m.Rewards) == 1 {
				of = "m"
			}
			some := ""
			for _, part := range []string{f[of+".srew"], f[of+".trew"]} {
				if lines := regexp.MustCompile(`(?m)^\d`).FindAllString(part, -1); len(lines) > 1 {
					some += part
				}
			}
			text += cmp.Or(some, f[of+".srew"], f[of+".trew"])
		}
		name := "m.pexp"
		if i%20 == 0 {
			var packed bytes.Buffer
			z := gzip.NewWriter(&packed)
			io.WriteString(z, text)
			z.Close()
			name, text = "m.PEXP.gz", packed.String()
		}
		again, err := prism.Read(fstest.MapFS{name: {Data: []byte(text)}}, name)
		if err != nil {
			t.Fatal(i, err, text)
		}
		m.JoinBranchRewards()
		if err := exchangetest.Same(m, again); err != nil {
			t.Fatal(i, err, text)
		}
	}
}

// TestStarts: a model begins in the states of the label init, in those that its transitions name, and without labels
// in state 0.
func TestStarts(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 1))
	draw := func() (states []int32) {
		for s := range int32(3) {
			if rng.IntN(2) == 0 {
				states = append(states, s)
			}
		}
		return states
	}
	for range 200 {
		f, want := files{"m.tra": "3 3 3\n"}, []int32{0}
		init, named := draw(), draw()
		if rng.IntN(2) == 0 {
			named = nil
		}
		for _, s := range named {
			f["m.tra"] += fmt.Sprintf("- - %d 1\n", s)
		}
		f["m.tra"] += "0 0 1 1\n1 0 2 1\n2 0 0 1\n"
		if len(named) > 0 {
			want = named
		}
		switch rng.IntN(3) {
		case 0:
			f["m.lab"] = "0=\"goal\"\n1: 0\n"
			if named == nil {
				want = nil
			}
		case 1:
			f["m.lab"] = "0=\"goal\" 1=\"init\"\n"
			for _, s := range init {
				f["m.lab"] += fmt.Sprintf("%d: 1\n", s)
			}
			if want = init; named != nil && !slices.Equal(named, init) {
				want = []int32{-1} // which is refused
			}
		}
		m, err := f.read()
		if err != nil {
			if want == nil || want[0] >= 0 {
				t.Fatalf("%v\n%v", err, f)
			}
			continue
		}
		if !slices.Equal(m.Start, exchange.UniformStart(want)) {
			t.Fatalf("begins in %v: want %v\n%v", m.Start, want, f)
		}
	}
}

// TestForms: what is said of labels and of rewards may stand in any order, and a label several times. There may be
// comments that look like headers further down, blank lines and other spaces, and numbers may be fractions.
func TestForms(t *testing.T) {
	has := exchangetest.All
	has.Game, has.SkewedStart, has.Twins = false, false, false
	rng := rand.New(rand.NewPCG(27, 5))
	fraction := regexp.MustCompile(` \d+\.\d+(e[+-]\d+)?`)
	for i := range 500 {
		m := exchangetest.Random(rng, has)
		f, err := write(m)
		if err != nil {
			t.Fatal(i, err)
		}
		for name, text := range f {
			lines := strings.SplitAfter(text, "\n")
			head := slices.IndexFunc(lines, func(line string) bool { return line[0] != '#' }) + 1
			rest := lines[head : len(lines)-1]
			ending := path.Ext(name)
			for k, line := range rest {
				if ending == ".sta" { // where comments are names
					rest[k] = strings.Repeat("\n", rng.IntN(2)) + line
					continue
				}
				if _, labels, ok := strings.Cut(line, ":"); ok && rng.IntN(3) == 0 {
					line = strings.TrimSpace(line) + labels
				}
				line = strings.ReplaceAll(line, " ", []string{" ", "\t", "  "}[rng.IntN(3)])
				if rng.IntN(3) == 0 {
					line = fraction.ReplaceAllStringFunc(line, func(x string) string {
						r, _ := new(big.Rat).SetString(x[1:])
						return " " + r.String()
					})
				}
				rest[k] = []string{"", "\n", "# State rewards\n", "# Transition rewards\n", "#\n"}[rng.IntN(5)] + line
			}
			if ending != ".tra" && ending != ".sta" {
				rng.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
			}
			f[name] = strings.ReplaceAll(strings.Join(lines, ""), "\n", []string{"\n", "\r\n", " \n"}[rng.IntN(3)])
		}
		again, err := f.read()
		if err != nil {
			t.Fatal(i, err, f)
		}
		m.JoinBranchRewards()
		if err := exchangetest.Same(m, again); err != nil {
			t.Fatal(i, err, f)
		}
	}
}

// TestValuesOfStates: whatever values of variables look like, they are what the file has. Where a comment stands above
// every state, the comments are names of the states in their place.
func TestValuesOfStates(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 2))
	texts := []string{"0", "1", "-3", "01", "+1", "-0", "true", "false", "True", "1.0", "x", "9223372036854775808", "1e3"}
	for range 400 {
		kinds := texts[:1+rng.IntN(len(texts))]
		f, values := files{"m.tra": "2 2 2\n0 0 1 1\n1 0 0 1\n", "m.sta": "(x,y)\n"}, [2][]string{}
		named := 0
		for s := range values {
			values[s] = []string{kinds[rng.IntN(len(kinds))], texts[rng.IntN(len(texts))]}
			if rng.IntN(2) == 0 {
				named++
				f["m.sta"] += fmt.Sprintf("# room %d\n", s)
			}
			f["m.sta"] += fmt.Sprintf("%d:(%s,%s)\n", s, values[s][0], values[s][1])
		}
		if named == len(values) {
			values = [2][]string{{"room 0"}, {"room 1"}}
		}
		m, err := f.read()
		if err != nil {
			t.Fatal(err)
		}
		for s := range values {
			if len(m.Variables) != len(values[s]) {
				t.Fatalf("%d variables: want %d\n%s", len(m.Variables), len(values[s]), f["m.sta"])
			}
			for i, want := range values[s] {
				if got := m.Variables[i].Value(s); got != want {
					t.Fatalf("state %d has %q: want %q\n%s", s, got, want, f["m.sta"])
				}
			}
		}
	}
}

// TestEmptyIntervals reads a file with all kinds of choices that have no distribution between their bounds: each is
// named with its first line.
func TestEmptyIntervals(t *testing.T) {
	text := "# Transitions (IMDP)\n2 5 8\n0 0 0 [0.6,0.9] a\n0 0 1 [0.5,0.9] a\n0 1 0 [0,1] b\n0 1 1 [0,1] b\n" +
		"0 2 0 [0.1,0.3] c\n0 2 1 [0.2,0.4] c\n1 0 0 [0.7,0.2] a\n1 1 0 [0.5,1.5] b\n"
	_, err := prism.Read(fstest.MapFS{"m.tra": &fstest.MapFile{Data: []byte(text)}}, "m.tra")
	want := `prism: line 3: state 0, choice 0: the lower bounds sum to 1.1: want at most 1
line 7: state 0, choice 2: the upper bounds sum to 0.7: want at least 1
line 9: state 1, choice 0: [0.7, 0.2]: the lower bound is above the upper one
line 10: state 1, choice 1: [0.5, 1.5]: want bounds of a probability, from 0 to 1`
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
}

func TestRefuses(t *testing.T) {
	for _, c := range []struct{ file, old, new, want string }{
		{"m.tra", "(MDP)", "(CTMC)", "prism: continuous-time models (CTMC)"},
		{"m.tra", "(MDP)", "(POMDP)", "partially observable models"},
		{"m.tra", "(MDP)", "(LTS)", `models of type "LTS"`},
		{"m.tra", "(MDP)", "(DTMC)", "3 sizes: want 2"},
		{"m.tra", "3 4 5", "3 5", "2 sizes: want 2 for a Markov chain"},
		{"m.tra", "0 0 1 0.5 go", "- - 1 1\n- - 1 1\n0 0 1 0.5 go", "line 4: initial states: want them in order, each once"},
		{"m.tra", "0 0 1 0.5 go", "- - 1 1\n- - 0 1\n0 0 1 0.5 go", "line 4: initial states: want them in order, each once"},
		{"m.tra", "3 4 5", "3 4 5 2", "partially observable models (4 sizes)"},
		{"m.tra", "# Transitions (MDP)", "# Labels", "this is a file of another kind"},
		{"m.tra", "3 4 5", "3000000 4 5", "3000000 states: want at least 1, and no more than the file has bytes"},
		{"m.tra", "3 4 5", "0 4 5", "0 states"},
		{"m.tra", "3 4 5", "x 4 5", `got "x": want sizes`},
		{"m.tra", "3 4 5", "mdp", `line 2: got "mdp": this is one of Storm's own`},
		{"m.tra", "3 4 5", "3 4 6", "4 choices and 5 transitions: want 4 and 6"},
		{"m.tra", "3 4 5", "3 5 5", "4 choices and 5 transitions: want 5 and 5"},
		{"m.tra", "3 4 5", "2 4 5", "line 4: target: got \"2\""},
		{"m.tra", "0 0 2 0.5 go", "0 0 2 0.5 stay", `line 4: the action "stay": want "go"`},
		{"m.tra", "0 0 2 0.5 go", "0 0 2 0.5 go on", "6 fields: want 4, and perhaps an action: STATE CHOICE TARGET"},
		{"m.tra", "0 0 2 0.5 go", "0 0 2 NaN go", "is not a number"},
		{"m.tra", "0 0 2 0.5 go", "0 0 2 1.5 go", "1.5 is not a probability"},
		{"m.tra", "0 1 0 1 stay", "0 2 0 1 stay", "choice 2 of state 0: want the choices 0, 1"},
		{"m.tra", "1 0 2 1\n2 0 2 1\n", "2 0 2 1\n1 0 2 1\n", "line 7: state 1, choice 0 after state 2"},
		{"m.sta", "# States", "# Labels", "m.sta: line 1"},
		{"m.sta", "(x,b)", "x,b", "want the names of variables"},
		{"m.sta", "1:(-1,true)", "1:(-1)", "want the 2 values of state 1"},
		{"m.sta", "1:(-1,true)\n", "", `got "2:(2,false)": want the 2 values of state 1`},
		{"m.sta", "2:(2,false)\n", "", "the file ends before state 2"},
		{"m.sta", "2:(2,false)\n", "2:(2,false)\n3:(2,false)\n", "line 6: there are more lines than states"},
		{"m.lab", `1="deadlock"`, `3="deadlock"`, "want label 1"},
		{"m.lab", `2="goal"`, `2="init"`, `the label "init" is given twice`},
		{"m.lab", "1: 2", "1: 3", "label: got \"3\""},
		{"m.lab", "1: 2", "3: 2", "state: got \"3\""},
		{"m.lab", "1: 2", "1 2", "want a state and its labels"},
		{"m1.srew", "3 2", "2 2", "sizes [2 2]: want [3]"},
		{"m1.srew", "3 2", "3 3", "2 rewards: want 3"},
		{"m1.srew", "1 0.25", "0 0.25", "the reward of state 0 is given twice"},
		{"m1.srew", "1 0.25", "3 0.25", "state: got \"3\""},
		{"m1.srew", "time", "money", `called "money", those of transitions "time"`},
		{"m1.srew", "# State rewards", "# Transition rewards", "of another kind"},
		{"m2.trew", "0 0 2 2.5", "0 0 0 2.5", "no such transition"},
		{"m2.trew", "0 0 2 2.5", "0 0 1 2.5", "given twice"},
		{"m2.trew", "0 0 2 2.5", "0 2 1 2.5", "choice: got \"2\": want a whole number from 0 to 1"},
		{"m2.trew", "0 0 2 2.5", "0 2 2.5", "3 fields: want 4"},
		{"m2.trew", "3 4 3", "3 3", "sizes [3 3]: want [3 4]"},
		{"m2.trew", "2.5", "inf", "is not a number"},
	} {
		f := sample()
		if !strings.Contains(f[c.file], c.old) {
			t.Fatal(c.old)
		}
		f[c.file] = strings.Replace(f[c.file], c.old, c.new, 1)
		if _, err := f.read(); err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), "prism: ") {
			t.Errorf("%s: %q for %q: got %v: want %s", c.file, c.new, c.old, err, c.want)
		}
	}
	for name := range sample() {
		f := sample()
		f[name] = ""
		if _, err := f.read(); err == nil {
			t.Errorf("an empty %s is read", name)
		}
		f[name] = "\x00\xff"
		if _, err := f.read(); err == nil {
			t.Errorf("garbage in %s is read", name)
		}
	}
	if _, err := (files{}).read(); err == nil {
		t.Error("a missing file is read")
	}
	if _, err := (files{"m.tra": "2 1\n0 1 1\n", "m.trew": "2 1\n1 0 3\n"}).read(); err == nil ||
		!strings.Contains(err.Error(), "state 1 has no transitions") {
		t.Error(err)
	}
	if _, err := (files{"m.tra": "2 1\n0 1 2.5\n"}).read(); err == nil ||
		!strings.Contains(err.Error(), "rates of continuous-time models") {
		t.Error(err)
	}
}

func TestRefusesToWrite(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func(m *exchange.Model)
	}{
		{"has no games", func(m *exchange.Model) { m.Players = 2 }},
		{"wants an initial state", func(m *exchange.Model) { m.Start = nil }},
		{"start distribution", func(m *exchange.Model) {
			m.Start = []exchange.Start{{State: 0, Probability: 0.25}, {State: 1, Probability: 0.75}}
		}},
		{"names of branches", func(m *exchange.Model) {
			m.BranchActions = &exchange.Actions{Names: []string{"a"}, Of: make([]int32, 4)}
		}},
		{`the name "go left" of an action`, func(m *exchange.Model) { m.ChoiceActions.Names[0] = "go left" }},
		{"of a reward", func(m *exchange.Model) { m.Rewards[0].Name = `a"b` }},
		{`label "init"`, func(m *exchange.Model) { m.Labels[0].Name = "init" }},
		{`variable "a,b"`, func(m *exchange.Model) { m.Variables[0].Name = "a,b" }},
		{"has a line end", func(m *exchange.Model) { m.Variables = exchange.Named([]string{"a\n", "b", "c"}) }},
	} {
		m := sampleModel()
		c.change(m)
		if _, err := write(m); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v: want %s", err, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	s := sample()
	f.Add(s["m.tra"], s["m.sta"], s["m.lab"], s["m1.srew"], s["m2.trew"])
	f.Add("2 3\n0 1 1/3 a\n0 0 2/3\n1 1 1\n", "(s)\n# hall\n0:(0)\n# room\n1:(1)\n", "0=\"init\"\n0: 0\n", "2 1\n0 3\n",
		"2 1\n0 1 5\n")
	f.Add(combined(), "", "", "", "")
	f.Fuzz(func(t *testing.T, tra, sta, lab, srew, trew string) {
		prism.Read(fstest.MapFS{"m.pexp": {Data: []byte(tra)}}, "m.pexp")
		given := files{"m.tra": tra, "m.sta": sta, "m.lab": lab, "m.srew": srew, "m.trew": trew}
		maps.DeleteFunc(given, func(_, text string) bool { return text == "" })
		m, err := given.read()
		if err != nil {
			return
		}
		again, err := write(m)
		if err != nil {
			return // such as a name with brackets
		}
		n, err := again.read()
		if err != nil {
			t.Fatal(err, again)
		}
		if err := exchangetest.Same(m, n); err != nil {
			t.Fatal(err, again)
		}
	})
}
