package drn_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"math/big"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/exchange/drn"
	"cmdpsolve/cmdp/exchange/exchangetest"
)

func read(text string) (*exchange.Model, error) {
	return drn.Read(strings.NewReader(text), int64(len(text)))
}

func TestRoundTrip(t *testing.T) {
	has := exchangetest.All
	has.Game, has.BranchRewards, has.BranchActions, has.SkewedStart = false, false, false, false
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 2000 {
		m := exchangetest.Random(rng, has)
		var b bytes.Buffer
		if err := drn.Write(&b, m); err != nil {
			t.Fatal(i, err)
		}
		again, err := read(b.String())
		if err != nil {
			t.Fatal(i, err, b.String())
		}
		if err := exchangetest.Same(m, again); err != nil {
			t.Fatal(i, err, b.String())
		}
	}
}

// TestStormForms: Storm tells more in comments below actions and branches, and may leave out the loop of a state
// without actions, which it counts as a row all the same, or not: a file in this form is the same model. One that
// counts in no such way is refused.
func TestStormForms(t *testing.T) {
	has := exchangetest.All
	has.Game, has.BranchRewards, has.BranchActions, has.SkewedStart = false, false, false, false
	rng := rand.New(rand.NewPCG(64, 2))
	for i := range 500 {
		m := exchangetest.Random(rng, has)
		var b bytes.Buffer
		if err := drn.Write(&b, m); err != nil {
			t.Fatal(i, err)
		}
		text, s, rows := "", -1, 0
		for s := range m.States() {
			rows += max(1, int(m.First[s+1]-m.First[s]))
		}
		count := []int{rows, m.Choices(), rows + 1}[rng.IntN(3)]
		for line := range strings.Lines(b.String()) {
			if strings.HasPrefix(line, "state ") {
				s++
			}
			inside := strings.HasPrefix(line, "\t")
			if inside && m.First[s] == m.First[s+1] {
				continue
			}
			if goal, _ := m.Label("goal"); strings.HasPrefix(line, "state ") && slices.Contains(goal, int32(s)) {
				line = strings.TrimSpace(line) + strings.Repeat(" goal", rng.IntN(3)) + "\n" // once more is nothing more
			}
			text += line
			isName := s >= 0 && strings.HasPrefix(line, "//")
			if (inside || isName) && rng.IntN(2) == 0 {
				text += "\t//[z=1]\n"
			}
		}
		text = strings.Replace(text, fmt.Sprintf("choices\n%d\n", rows), fmt.Sprintf("choices\n%d\n", count), 1)
		text = otherForm(rng, text)
		again, err := read(text)
		if count > rows && err != nil && strings.Contains(err.Error(), fmt.Sprintf("@nr_choices is %d", count)) {
			continue
		}
		if err != nil || count > rows {
			t.Fatal(i, err, text)
		}
		if err := exchangetest.Same(m, again); err != nil {
			t.Fatal(i, err, text)
		}
	}
}

// otherForm says the same with numbers that are fractions or stand in the header, and with other spaces and comments.
func otherForm(rng *rand.Rand, text string) string {
	number := func(x string) string {
		if r, ok := new(big.Rat).SetString(x); ok && rng.IntN(3) == 0 {
			return r.String()
		}
		return strings.Repeat(" ", rng.IntN(2)) + x + strings.Repeat(" ", rng.IntN(2))
	}
	defined := "@placeholders\n"
	text = regexp.MustCompile(`(?m) : .*$`).ReplaceAllStringFunc(text, func(value string) string {
		value = value[3:]
		if least, greatest, ok := strings.Cut(strings.Trim(value, "[]"), ", "); ok {
			return " : [" + number(least) + "," + number(greatest) + "]"
		}
		if rng.IntN(3) > 0 {
			return " :" + number(value)
		}
		name := fmt.Sprintf("$p%d", rng.IntN(1<<30))
		defined += name + " :" + number(value) + []string{"\n", "\n\n", "\n// a comment\n"}[rng.IntN(3)]
		return " : " + name
	})
	for _, key := range []string{"@type", "@value_type", "@parameters", "@reward_models", "@nr_states", "@nr_choices"} {
		text = strings.Replace(text, key, []string{"", "\n", "// @model\n"}[rng.IntN(3)]+key, 1)
	}
	if rng.IntN(2) == 0 {
		text = strings.Replace(text, "_type: double", "_type:rational", 1)
	}
	text = strings.Replace(text, "@nr_states", defined+"@nr_states", 1)
	return strings.ReplaceAll(text, "\n", []string{"\n", "\r\n", " \n"}[rng.IntN(3)])
}

// sample is written as Storm writes: tabs, an empty line of parameters, a blank
// behind the names of rewards, rewards of states and of actions.
const sample = `// Exported by storm
// Original model type: MDP
@type: MDP
@value_type: double
@parameters

@reward_models
time energy 
@nr_states
3
@nr_choices
4
@model
state 0 [1, 0] init "in the hall" safe
//[x=0	& b=true]
	action north [0.5, 2]
		1 : 0.25
		2 : 0.75
	action __NOLABEL__ [0, 0]
		0 : 1
state 1 [1, 0.125] safe

	action north [0, 0]
		2 : 1e0
state 2 [0, 0] deadlock "in the hall"
	action __NOLABEL__ [0, 0]
		2 : 1
`

func TestReadsWhatStormWrites(t *testing.T) {
	want := &exchange.Model{
		Players: 1, Start: []exchange.Start{{State: 0, Probability: 1}},
		First: []int32{0, 2, 3, 3}, Offset: []int{0, 2, 3, 4}, Target: []int32{1, 2, 0, 2},
		Probability:   []float64{0.25, 0.75, 1, 1},
		ChoiceActions: &exchange.Actions{Names: []string{"north", ""}, Of: []int32{0, 1, 0}},
		Labels: []exchange.Label{{Name: "in the hall", States: []int32{0, 2}},
			{Name: "safe", States: []int32{0, 1}}},
		Rewards: []exchange.Reward{
			{Name: "time", State: []float64{1, 1, 0}, Choice: []float64{0.5, 0, 0}},
			{Name: "energy", State: []float64{0, 0.125, 0}, Choice: []float64{2, 0, 0}}},
		Variables: exchange.Named([]string{"[x=0\t& b=true]", "1", "2"}),
	}
	m, err := read(sample)
	if err != nil {
		t.Fatal(err)
	}
	if err := exchangetest.Same(want, m); err != nil {
		t.Error(err)
	}
	m, err = read(strings.ReplaceAll(sample, "\n", "\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := exchangetest.Same(want, m); err != nil {
		t.Error("with carriage returns:", err)
	}
}

// TestReadsOtherForms reads a chain without action lines, placeholders, rationals
// and rewards without names.
func TestReadsOtherForms(t *testing.T) {
	m, err := read(`@type: dtmc
@placeholders
$p : 1/3
$q : 2/3
@nr_states
2
@model
state 0 [3] init
	0 : $p
	1 : $q
state 1 init "a b""c"
	1 : 1
`)
	if err != nil {
		t.Fatal(err)
	}
	want := &exchange.Model{
		Start: exchange.UniformStart([]int32{0, 1}), First: []int32{0, 1, 2}, Offset: []int{0, 2, 3},
		Target:      []int32{0, 1, 1},
		Probability: []float64{1.0 / 3, 2.0 / 3, 1}, Rewards: []exchange.Reward{{Name: "rew0", State: []float64{3, 0}}},
		Labels: []exchange.Label{{Name: "a b", States: []int32{1}}, {Name: "c", States: []int32{1}}},
	}
	if err := exchangetest.Same(want, m); err != nil {
		t.Error(err)
	}
}

// TestEmptyIntervals reads a file with all kinds of choices that have no distribution between their bounds: each is
// named with the line of its action.
func TestEmptyIntervals(t *testing.T) {
	text := "@type: MDP\n@value_type: double-interval\n@parameters\n\n@reward_models\n\n@nr_states\n2\n@nr_choices\n5\n" +
		"@model\nstate 0 init\n\taction a\n\t\t0 : [0.6, 0.9]\n\t\t1 : [0.5, 0.9]\n\taction b\n\t\t0 : [0, 1]\n" +
		"\t\t1 : [0, 1]\n\taction c\n\t\t0 : [0.1, 0.3]\n\t\t1 : [0.2, 0.4]\nstate 1\n\taction a\n" +
		"\t\t0 : [0.7, 0.2]\n\taction b\n\t\t0 : [0.5, 1.5]\n"
	_, err := drn.Read(strings.NewReader(text), int64(len(text)))
	want := `drn: line 13: state 0, choice 0: the lower bounds sum to 1.1: want at most 1
line 19: state 0, choice 2: the upper bounds sum to 0.7: want at least 1
line 23: state 1, choice 0: [0.7, 0.2]: the lower bound is above the upper one
line 25: state 1, choice 1: [0.5, 1.5]: want bounds of a probability, from 0 to 1`
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
}

func TestRefuses(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"@type: MDP", "@type: CTMC", "line 13: @type: continuous-time"},
		{"@type: MDP", "@type: MA", "continuous-time models (MA)"},
		{"@type: MDP", "@type: POMDP", "partially observable"},
		{"@type: MDP", "@type: SMG", `models of type "SMG" are not supported`},
		{"@type: MDP\n", "", "@type is missing"},
		{"@type: MDP", "@type: MDP\n@type: MDP", "@type is given twice"},
		{"1 : 0.25", "1 : [0.2, 0.3]", "with the @value_type double-interval"},
		{"double", "parametric", `"parametric" are not supported`},
		{"@parameters\n", "@parameters\np q", "models with parameters"},
		{"@model", "@models", "want a line of the header"},
		{"@model\n", "", "want a line of the header"},
		{sample[strings.Index(sample, "@model"):], "", "the file ends before @model"},
		{"@nr_states\n3", "@nr_states\n4", "@nr_states is 4, but there are 3 states"},
		{"@nr_states\n3", "@nr_states\n2", "line 18: target: got \"2\": want a whole number from 0 to 1"},
		{"@nr_states\n3", "@nr_states\n-3", `@nr_states: got "-3"`},
		{"@nr_states\n3", "@nr_states\n0", `@nr_states: got "0"`},
		{"@nr_choices\n4", "@nr_choices\n5", "@nr_choices is 5, but there are 4 choices"},
		{"state 1", "state 2", "line 21: state 2: want state 1"},
		{"state 1 [1, 0.125]", "state 1 [1, 0.125, 7]", "more rewards than the 2"},
		{"[1, 0.125]", "[1, 0.125", "] is missing"},
		{"[1, 0.125]", "[1, nan]", `"nan" is not a number`},
		{"[1, 0.125]", "[1, 1e999]", "too large"},
		{"[1, 0.125]", "[1, 0x1p3]", "is not a number"},
		{"[1, 0.125]", "[1, ]", `"" is not a number`},
		{`"in the hall" safe`, `"in the hall safe`, "does not end"},
		{"2 : 0.75", "2 0.75", "want a state, an action or TARGET : PROBABILITY"},
		{"2 : 0.75", "3 : 0.75", "target: got \"3\": want a whole number from 0 to 2"},
		{"2 : 0.75", "2 : $p", `the placeholder "$p" is not defined`},
		{"2 : 0.75", "2 : -0.75", "-0.75 is not a probability"},
		{"2 : 0.75", "2 : 1/0", "is not a fraction"},
		{"north [0.5, 2]", "north [0.5, 2] x", `got "x" after the action`},
		{"@model\n", "@model\n\taction a\n", "an action before the first state"},
		{"1 : 0.25\n\t\t2 : 0.75\n", "", "state 0, choice 0: no branches"},
		{"safe\n", "safe\xff\n", "line 14: not text in UTF-8"},
		{"time energy", "time time", "given twice"},
	} {
		if !strings.Contains(sample, c.old) {
			t.Fatal(c.old)
		}
		_, err := read(strings.Replace(sample, c.old, c.new, 1))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "drn: ") {
			t.Errorf("%q for %q: got %v: want %s", c.new, c.old, err, c.want)
		}
	}
}

// TestHeaderOnce: the parts of a header may stand in any order, each once, and so may the placeholders.
func TestHeaderOnce(t *testing.T) {
	parts := []string{"@type: DTMC\n", "@value_type: double\n", "@parameters\n\n", "@placeholders\n$p : 1/4\n$q : 3/4\n",
		"@reward_models\ncost\n", "@nr_states\n2\n", "@nr_choices\n2\n"}
	const model = "@model\nstate 0 [$q] init\n\t0 : $p\n\t1 : $q\nstate 1 [0]\n\t1 : 1\n"
	want, err := read(strings.Join(parts, "") + model)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(27, 3))
	for _, twice := range append(slices.Clone(parts), "", "$p : 1/4\n", "$q : 3/4\n") {
		for range 20 {
			header := slices.Clone(parts)
			if twice != "" && twice[0] == '$' {
				header[3] += twice
			} else if twice != "" {
				header = append(header, twice)
			}
			rng.Shuffle(len(header), func(i, j int) { header[i], header[j] = header[j], header[i] })
			m, err := read(strings.Join(header, "") + model)
			key := strings.FieldsFunc(twice+" ", func(r rune) bool { return r == ':' || r == '\n' || r == ' ' })
			switch {
			case twice != "" && (err == nil || !strings.Contains(err.Error(), key[0]+" is given twice")):
				t.Fatalf("got %v: want %s given twice\n%q", err, key[0], header)
			case twice == "" && (err != nil || exchangetest.Same(want, m) != nil):
				t.Fatalf("%v, another model\n%q", err, header)
			}
		}
	}
}

// TestRefusesMoreRewardsThanText reads a file whose last state has thousands of
// rewards, so that each of them would need a value for every state.
func TestRefusesMoreRewardsThanText(t *testing.T) {
	const states = 20000
	var b strings.Builder
	fmt.Fprintf(&b, "@type: DTMC\n@nr_states\n%d\n@model\n", states)
	for s := range states {
		fmt.Fprintf(&b, "state %d", s)
		if s == states-1 {
			b.WriteString(" [1" + strings.Repeat(",1", 2000) + "]")
		}
		fmt.Fprintf(&b, "\n%d : 1\n", s)
	}
	if _, err := read(b.String()); err == nil || !strings.Contains(err.Error(),
		"more rewards than a file of this length may have") {
		t.Error(err)
	}
}

func TestRefusesToWrite(t *testing.T) {
	base := func() *exchange.Model {
		m, err := read(sample)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for _, c := range []struct {
		want   string
		change func(m *exchange.Model)
	}{
		{"has no games", func(m *exchange.Model) { m.Players = 2 }},
		{"start distribution", func(m *exchange.Model) {
			m.Start = []exchange.Start{{State: 0, Probability: 0.25}, {State: 1, Probability: 0.75}}
		}},
		{"action names of branches", func(m *exchange.Model) {
			m.BranchActions = &exchange.Actions{Names: []string{"a"}, Of: make([]int32, 4)}
		}},
		{"reward time differs between the branches",
			func(m *exchange.Model) { m.Rewards[0].Branch = make([]float64, 4) }},
		{`the name "go left" of an action`, func(m *exchange.Model) { m.ChoiceActions.Names[0] = "go left" }},
		{`the name "a b" of a reward`, func(m *exchange.Model) { m.Rewards[0].Name = "a b" }},
		{`label "init"`, func(m *exchange.Model) { m.Labels[0].Name = "init" }},
		{`label "a\"b"`, func(m *exchange.Model) { m.Labels[0].Name = `a"b` }},
		{"has a line end", func(m *exchange.Model) { m.Variables[0].Text[0] = "a\nb" }},
		{"no states", func(m *exchange.Model) { m.First = []int32{0} }},
	} {
		m := base()
		c.change(m)
		if err := drn.Write(new(bytes.Buffer), m); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v: want %s", err, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(sample)
	f.Add("@type: dtmc\n@placeholders\n$p : 1/3\n@nr_states\n1\n@model\nstate 0 [3] init\n\t0 : $p\n\t0 : 2/3\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := read(text)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := drn.Write(&b, m); err != nil {
			return // such as a label that ends in a carriage return
		}
		again, err := read(b.String())
		if err != nil {
			t.Fatal(err, b.String())
		}
		if err := exchangetest.Same(m, again); err != nil {
			t.Fatal(err, b.String())
		}
	})
}

// TestArchives reads a tar archive of one file, which Storm compresses, and none of others.
func TestArchives(t *testing.T) {
	pack := func(entries ...tar.Header) string {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, h := range entries {
			if h.Typeflag == tar.TypeReg {
				h.Size = int64(len(sample))
			}
			if err := w.WriteHeader(&h); err != nil {
				t.Fatal(err)
			}
			if h.Size > 0 {
				w.Write([]byte(sample))
			}
		}
		w.Close()
		return b.String()
	}
	file := tar.Header{Name: "m.drn", Typeflag: tar.TypeReg}
	want, err := read(sample)
	if err != nil {
		t.Fatal(err)
	}
	got, err := read(pack(file))
	if err == nil {
		err = exchangetest.Same(want, got)
	}
	if err != nil {
		t.Error(err)
	}
	for text, want := range map[string]string{
		pack(file, tar.Header{Name: "n.drn",
			Typeflag: tar.TypeReg}): `the archive also has the file "n.drn": want one file`,
		pack(tar.Header{Name: "m.drn", Typeflag: tar.TypeSymlink,
			Linkname: "/a/file"}): `begins with "m.drn", which is no file`,
		pack(file)[:512+strings.Index(sample, "state 1")]: "unexpected EOF",
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v: want %s", err, want)
		}
	}
}
