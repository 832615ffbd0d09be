package problem

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const policyProblem = `
format: cmdp/1
horizon: 3
states: [a, b]
start: a
returns: [r]
transitions:
  - {state: a, action: x, next: {b: 1}, returns: [1]}
  - {state: a, action: y, next: {a: 1}}
  - {state: b, action: x, next: {b: 1}}
`

// FuzzPolicyFile reads anything as a policy: it is refused with positions within
// the file, or it is a policy.
func FuzzPolicyFile(f *testing.F) {
	p, err := Parse("p.yaml", []byte(policyProblem), nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{
		"step,state,action,probability\n,a,x,0.5\n,a,y,0.5\n,b,x,1\n",
		"\ufeffstate,action,probability\na,x,1\n1,x,1\n",
		"step,state,action,probability\n1,a,x,1\n2,b,x,1\n3,b,x,1\n",
		"step,state,action,probability\n1,a,x,NaN\n4,c,z,-1\n",
		"step,state\n\"", "",
		"component,weight,state,action,probability\n1,0.5,a,x,1\n1,0.5,b,x,1\n2,0.5,a,x,1\n2,0.5,b,x,1\n",
		"component,state,action,probability\n1,a,x,1\n,b,x,1\n",
	} {
		f.Add(text, false)
	}
	for _, text := range []string{
		`[{"state": "a", "action": "x", "probability": 1}, {"state": "b", "action": "x", "probability": 1}]`,
		`[{"step": 1, "state": 0, "action": "x", "probability": 1e400}]`,
		`[{"step": [1]}]`, `[{"":A0`, `[{"state"`, `[}`, `[] []`, `"a"`, `[1]`, "",
	} {
		f.Add(text, true)
	}
	file := map[bool]string{false: filepath.Join(f.TempDir(), "p.csv"), true: filepath.Join(f.TempDir(), "p.json")}
	f.Fuzz(func(t *testing.T, text string, isJSON bool) {
		if err := os.WriteFile(file[isJSON], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		components, err := ReadMixture(file[isJSON], p.Process())
		if err != nil {
			if errs := (Errors)(nil); !errors.As(err, &errs) || len(errs) == 0 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		weights := 0.0
		for _, c := range components {
			weights += c.Weight
			probs := make([]float64, 2)
			c.Policy.Distribution(probs, 0, 0)
			if sum := probs[0] + probs[1]; math.Abs(sum-1) > 1e-9 || probs[0] < 0 || probs[1] < 0 {
				t.Fatalf("%q: accepted, but the start state has %v", text, probs)
			}
		}
		if math.Abs(weights-1) > 1e-9 {
			t.Fatalf("%q: accepted, but the weights sum to %v", text, weights)
		}
	})
}

// TestReadMixture reads files that draw one of several policies, and what is wrong with them.
func TestReadMixture(t *testing.T) {
	p, err := Parse("p.yaml", []byte(policyProblem), nil)
	if err != nil {
		t.Fatal(err)
	}
	read := func(name, text string) ([]DrawnPolicy, error) {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadPolicy(file, p.Process()); err == nil {
			t.Errorf("%q: ReadPolicy took it for one policy", text)
		}
		return ReadMixture(file, p.Process())
	}
	for name, text := range map[string]string{
		"p.csv": "component,weight,state,action,probability\n7,0.25,a,x,1\n7,0.25,b,x,1\n2,0.75,a,y,1\n",
		"p.json": `[{"component": 7, "weight": 0.25, "state": "a", "action": "x", "probability": 1},
 {"component": 2, "weight": 0.75, "state": "a", "action": "y", "probability": 1},
 {"component": 7, "weight": 0.25, "state": 1, "action": "x", "probability": 1}]`,
	} {
		all, err := read(name, text)
		if err != nil || len(all) != 2 || all[0].Weight != 0.25 || all[1].Weight != 0.75 {
			t.Fatalf("%s: %v, %v", name, all, err)
		}
		if first, second := all[0].Policy.Probabilities(0, 0), all[1].Policy.Probabilities(2, 0); first[0] != 1 ||
			second[0] != 0 {
			t.Errorf("%s: %v and %v: the rows went to the wrong component", name, first, second)
		}
	}
	for text, want := range map[string]string{
		"component,state,action,probability\n1,a,x,1\n":                                                   "no column weight",
		"component,weight,state,action,probability\n1,0.5,a,y,1\n2,0.4,a,y,1\n":                           "sum to 0.9",
		"component,weight,state,action,probability\n1,0.5,a,y,1\n1,0.4,b,x,1\n2,0.5,a,y,1\n":              ":3: weight 0.4",
		"component,weight,state,action,probability\n1,1,a,y,1\n,,b,x,1\n":                                 ":3: some rows have a component",
		"component,weight,state,action,probability\n,,a,y,1\n1,1,a,y,1\n":                                 ":3: some rows have a component",
		"component,weight,state,action,probability\n0,1,a,y,1\n":                                          `component "0"`,
		"component,weight,state,action,probability\n1,NaN,a,y,1\n":                                        `weight "NaN"`,
		"component,weight,state,action,probability\n1,0.5,a,y,0.5\n2,0.5,a,y,1\n":                         ":2: component 1: state a: the probabilities sum to 0.5",
		"component,weight,state,action,probability\n1,0.5,a,y,1\n2,0.5,a,x,1\n":                           "component 2: no row for state b",
		"component,weight,state,action,probability\n1,0.5,a,y,1\n1,0.5,a,y,1\n2,0.5,a,y,1\n2,0.5,c,y,1\n": "given twice",
	} {
		if _, err := read("p.csv", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v: want %q", text, err, want)
		}
	}
}

// TestSpoiltPolicies spoils one cell of a policy of a drawn problem, with or without memory, or of one of two policies
// that are drawn, in every format: the error names the line or the entry, and what is wrong.
func TestSpoiltPolicies(t *testing.T) {
	dir, counts := t.TempDir(), make(map[string]int)
	whats := []string{"state", "action", "probability", "sum", "step", "memory", "weight"}
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(27, seed))
		f := drawFile(rng)
		p := mustParse(t, f.text)
		x := p.Process()
		if rng.IntN(2) == 0 {
			x = withParity(t, p)
		}
		rows := slices.Collect(x.PolicyRows(drawPolicy(rng, x), Agent))
		if len(rows) == 0 {
			continue
		}
		drawn := rng.IntN(2) == 0
		first := len(rows)
		if drawn { // one of two policies
			rows = slices.AppendSeq(rows, x.PolicyRows(drawPolicy(rng, x), Agent))
			for i := range rows {
				rows[i].Component, rows[i].Weight = 1, 0.5
				if i >= first {
					rows[i].Component = 2
				}
			}
		}
		at := rng.IntN(len(rows))
		row := &rows[at]
		ending, odd := []string{"csv", "npz", "json"}[seed%3], []float64{-0.25, 1.5, math.NaN(), math.Inf(1)}
		if ending == "json" { // which has no other numbers
			odd = odd[:2]
		}
		what := whats[rng.IntN(len(whats))]
		want := fmt.Sprintf("state %s", row.State)
		switch what {
		case "state":
			row.State = "9"
			want = `unknown state "9"`
		case "action":
			row.Action = "zz"
			want += fmt.Sprintf("%s offers no action %q", strings.TrimPrefix(row.place(), row.State), "zz")
		case "probability":
			row.Probability = odd[rng.IntN(len(odd))]
			want = fmt.Sprintf("probability %q: want a number from 0 to 1", fmt.Sprint(row.Probability))
		case "sum":
			row.Probability = math.Abs(row.Probability - 0.25)
			want += strings.TrimPrefix(row.place(), row.State)
			first := func(o PolicyRow) bool {
				return o.Component == row.Component && o.Step == row.Step && o.place() == row.place()
			}
			at = slices.IndexFunc(rows, first)
		case "step":
			row.Step = f.horizon + 1
			want = fmt.Sprintf("step %q: want 1 to %d", fmt.Sprint(row.Step), f.horizon)
			if f.horizon == 0 {
				continue // then other rows have no step
			}
		case "memory":
			want = fmt.Sprintf("memory %q: the problem needs no memory", "never")
			if x.Remembers() {
				want = fmt.Sprintf("memory %q: policies of this problem remember other things", "never")
			} else if len(rows) > 1 {
				continue // other rows have no memory
			}
			row.Memory = "never"
		case "weight":
			if !drawn {
				continue
			}
			row.Weight = odd[rng.IntN(len(odd))]
			want = fmt.Sprintf("weight %q of component %d: want a number from 0 to 1", fmt.Sprint(row.Weight), row.Component)
			if at > 0 && rows[at-1].Component == row.Component && rng.IntN(2) == 0 {
				row.Weight = 0.25
				want = fmt.Sprintf("weight 0.25: component %d has the weight 0.5 in an earlier row", row.Component)
			}
		}
		counts[what]++
		file := filepath.Join(dir, "p."+ending)
		if err := WritePolicy(file, x, slices.Values(rows)); err != nil {
			t.Fatal(err)
		}
		_, err := ReadPolicy(file, x)
		line := at + 2 // below a line of names, or of a bracket
		if ending == "npz" {
			line--
		}
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%s:%d: ", filepath.Base(file), line)) ||
			!strings.Contains(err.Error(), want) {
			t.Fatalf("%s: %v: want %s in line %d\n%s", what, err, want, line, f.text)
		}
	}
	for _, what := range whats {
		if counts[what] < 5 {
			t.Errorf("%s: %d policies", what, counts[what])
		}
	}
}

// TestPolicyRows compares random policy files, with rows of steps beside rows of all steps, with what each row
// says. A row that is there twice is refused, also one of probability 0.
func TestPolicyRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	const changing = "  - {state: b, action: x, step: 2, next: {a: 1}}\n"
	for trial := range 200 {
		text := policyProblem
		if trial%2 == 0 {
			text += changing
		}
		p, err := Parse("p.yaml", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		want := map[[2]int][]float64{} // of a step and state a
		add := func(step string) []float64 {
			x := []float64{0, 0.25, 0.5, 1}[rng.IntN(4)]
			lines = append(lines, fmt.Sprintf("%s,a,x,%g", step, x), fmt.Sprintf("%s,a,y,%g", step, 1-x))
			return []float64{x, 1 - x}
		}
		all := add("")
		lines = append(lines, ",b,x,1")
		for step := 1; step <= 3; step++ {
			want[[2]int{step}] = all
			if step < 3 && rng.IntN(2) == 0 { // else rows of all steps would say nothing
				want[[2]int{step}] = add(strconv.Itoa(step))
			}
		}
		rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		twice := rng.IntN(4) == 0
		if twice {
			lines = append(lines, lines[rng.IntN(len(lines))])
		}
		file := filepath.Join(t.TempDir(), "p.csv")
		if err := os.WriteFile(file, []byte("step,state,action,probability\n"+strings.Join(lines, "\n")+"\n"),
			0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadPolicy(file, p.Process())
		if twice != (err != nil) || err != nil && !strings.Contains(err.Error(), "given twice") {
			t.Fatalf("%v; a row is there twice: %v\n%s", err, twice, strings.Join(lines, "\n"))
		}
		if twice {
			continue
		}
		for at, probabilities := range want {
			found := make([]float64, 2)
			got.Distribution(found, at[0]-1, at[1])
			if !slices.Equal(found, probabilities) {
				t.Fatalf("step %d: %v, want %v of\n%s", at[0], found, probabilities, strings.Join(lines, "\n"))
			}
		}
	}
}
