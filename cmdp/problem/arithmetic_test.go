package problem

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"cmdpsolve/cmdp"
)

func TestArithmetic(t *testing.T) {
	c := &constants{names: []string{"p", "q_2", "east"}, value: map[string]float64{"p": 0.25, "q_2": -3, "east": 5}}
	for text, want := range map[string]float64{
		"1/3": 1.0 / 3, "1-p": 0.75, "p": 0.25, "-p": -0.25, "+q_2": -3, "2*p+q_2": -2.5, "2+p*q_2": 1.25,
		"1 - 2 - 3": -4, "12/2/3": 2,
		"(1-p)*(1-p)": 0.5625, "-(p)": -0.25, "2*-p": -0.5, "1e-3*2": 0.002, "2E+1/p": 80, "east": 5,
		"1/(1-p)": 1 / 0.75, ".5*4": 2, "p--p": 0.5, "\t7 ": 7,
	} {
		for range 2 { // the second time from memory
			if x, complaint := c.evaluate(text); complaint != "" || x != want {
				t.Errorf("%s is %g (%s): want %g", text, x, complaint, want)
			}
		}
	}
	for text, want := range map[string]string{
		"": wantNumber, "1-": wantNumber, "p q": wantNumber, "1e": wantNumber, "0x10": wantNumber, "1.2.3": wantNumber,
		"pp":   `unknown constant pp, did you mean "p"?`,
		"wind": "unknown constant wind: want p, q_2 or east", "1/0": "it divides by 0", "1/(p-p)": "it divides by 0",
		"1/(0": "want a number, or arithmetic such as",
		"(1":   "want a number, or arithmetic", "1e999": "too large", "1e308*10": "too large",
		"1e308*10-1e308*10": "too large", "p^2": wantNumber,
		strings.Repeat("(", 5000): "nested too deeply", strings.Repeat("-", 1e6) + "1": "nested too deeply",
	} {
		if x, complaint := c.evaluate(text); !strings.HasPrefix(complaint, want) {
			t.Errorf("%.20s is %g (%s): want %s", text, x, complaint, want)
		}
	}
	if _, complaint := (*constants)(nil).evaluate("wind"); complaint != wantNumber {
		t.Error(complaint)
	}
}

// TestArithmeticIsExactArithmetic compares random expressions with rational arithmetic.
func TestArithmeticIsExactArithmetic(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	c := &constants{value: map[string]float64{"a": 0.5, "b": -3}}
	var write func(depth int) (string, *big.Rat)
	write = func(depth int) (string, *big.Rat) {
		if depth == 0 || rng.IntN(4) == 0 {
			switch n := rng.IntN(4); n {
			case 0:
				return "a", big.NewRat(1, 2)
			case 1:
				return "b", big.NewRat(-3, 1)
			default:
				form := []string{"%d", "%d.", "%de0", "%d0E-1", "0.%de+1"}[rng.IntN(5)]
				return fmt.Sprintf(form, n), big.NewRat(int64(n), 1)
			}
		}
		x, vx := write(depth - 1)
		y, vy := write(depth - 1)
		switch v := new(big.Rat); rng.IntN(5) {
		case 0:
			return "(" + x + "+" + y + ")", v.Add(vx, vy)
		case 1:
			return "(" + x + " - " + y + ")", v.Sub(vx, vy)
		case 2:
			return x + "*(" + y + ")", v.Mul(vx, vy) // x may be a product, or in parentheses
		case 3:
			return "-(" + x + ")", v.Neg(vx)
		default:
			if vy.Sign() == 0 {
				return x, vx
			}
			return "(" + x + ")/(" + y + ")", v.Quo(vx, vy)
		}
	}
	for range 3000 {
		text, exact := write(5)
		want, _ := exact.Float64()
		if x, complaint := c.evaluate(text); complaint != "" || math.Abs(x-want) > 1e-9*(1+math.Abs(want)) {
			t.Fatalf("%s is %g (%s): want %g", text, x, complaint, want)
		}
	}
}

const letText = `
format: cmdp/1
let: {p: 0.25, fail: p/2, steps: 4, rooms: steps-1}
horizon: steps
states: rooms
start: {0: 1/3, 1: 2/3}
returns: [r]
transitions:
  - {state: 0, action: go, next: {0: 1-fail, 2: fail}, returns: [10*p]}
  - {state: 0, action: 1, step: steps, next: {1: 1}, returns: {r: -p}}
  - state: 1
    action: 0
    outcomes: [{probability: (1 - p), next: 0, returns: ["p*(2 + 2)"]}, {probability: p, next: 1}]
goal: {maximize: r}
constraints: [{return: r, at_most: 100/p}]
`

// TestConstants reads a problem with constants, as it stands and with others.
func TestConstants(t *testing.T) {
	for _, set := range []struct {
		given map[string]string
		p     float64
		steps int
	}{{nil, 0.25, 4}, {map[string]string{"p": "1/2"}, 0.5, 4},
		{map[string]string{"steps": "2*2+1", "fail": "p/2"}, 0.25, 5}} {
		p, err := ReadFrom(strings.NewReader(letText), "let.yaml", ReadOptions{Set: set.given})
		if err != nil {
			t.Fatal(err)
		}
		m := p.Model
		k, last := m.Kernel(0).Plain(m.Dim()), m.Kernel(m.Horizon()-1)
		if m.Horizon() != set.steps || m.States() != set.steps-1 || m.StartStates()[0].Probability != 1.0/3 ||
			*p.Constraints[0].AtMost != 100/set.p ||
			k.Prob[0] != 1-set.p/2 || k.Returns[0] != 10*set.p || len(last.Returns) != 3 || last.Returns[1] != -set.p {
			t.Errorf("%v: horizon %d, %d states, %+v, %+v", set.given, m.Horizon(), m.States(), k, last)
		}
		if set.steps == 4 {
			roundTrip(t, p)
		}
	}
	for _, c := range []struct {
		set  map[string]string
		want string
	}{
		{map[string]string{"q": "1"}, `let.yaml: let: no constant is called q, which is to be set`},
		{map[string]string{"step": "1"}, `did you mean "steps"?`},
		{map[string]string{"p": "fail"}, "let.yaml:3:10: let.p: set to fail: want a number"},
		{map[string]string{"p": "2"},
			"let.yaml:13:30: transitions[2].outcomes[0].probability: got (1 - p), which is -1: want a probability, 0 to 1"},
		{map[string]string{"steps": "p"},
			"let.yaml:4:10: horizon: got steps, which is 0.25: want a whole number from 1 to 10000000"},
	} {
		if _, err := ReadFrom(strings.NewReader(letText), "let.yaml", ReadOptions{Set: c.set}); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v: want %s", c.set, err, c.want)
		}
	}
}

// TestDrawnConstants: a constant is what its arithmetic with those above gives or, where options set it, what theirs
// does. Numbers of the file are made of them, and whole ones have to be whole.
func TestDrawnConstants(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 6))
	counts := make(map[bool]int)
	for range 500 {
		var constants []Constant
		term := func() (string, float64) {
			if len(constants) > 0 && rng.IntN(2) == 0 {
				c := constants[rng.IntN(len(constants))]
				return c.Name, c.Value
			}
			n := rng.IntN(7)
			return fmt.Sprint(n), float64(n)
		}
		draw := func() (string, float64) {
			x, vx := term()
			y, vy := term()
			switch rng.IntN(4) {
			case 0:
				return x + "*" + y, vx * vy
			case 1:
				return "(" + x + " - " + y + ")/2", (vx - vy) / 2
			case 2:
				return x + " + " + y, vx + vy
			}
			return x, vx
		}
		let, set := "", make(map[string]string)
		for i := range 1 + rng.IntN(4) {
			name := fmt.Sprint("c", i)
			text, value := draw()
			let += name + ": " + text + ", "
			if rng.IntN(3) == 0 {
				set[name], value = draw()
			}
			constants = append(constants, Constant{name, value})
		}
		steps, horizon := draw()
		most, bound := draw()
		gives, returns := draw()
		text := fmt.Sprintf("format: cmdp/1\nlet: {%s}\nhorizon: %s\nstates: 1\nstart: 0\nreturns: [r]\nconstraints: "+
			"[{return: r, at_most: %s}]\ntransitions: [{state: 0, action: go, next: {0: 1}, returns: [%s]}]\n", let, steps,
			most, gives)
		whole := horizon == math.Trunc(horizon) && horizon >= 1
		if horizon > 100 {
			continue
		}
		p, err := ReadFrom(strings.NewReader(text), "let.yaml", ReadOptions{Set: set})
		if counts[whole]++; whole != (err == nil) || err != nil && !strings.Contains(err.Error(), ": horizon: ") {
			t.Fatalf("a horizon of %g: %v\n%s%v", horizon, err, text, set)
		}
		if err != nil {
			continue
		}
		got, limit := p.Model.Rows(0).Returns(0)[0], *p.Constraints[0].AtMost
		if p.Model.Horizon() != int(horizon) || limit != bound || got != returns ||
			!slices.Equal(p.Constants(), constants) {
			t.Fatalf("horizon %d, bound %g, returns %g, constants %v: want %g, %g, %g, %v\n%s%v", p.Model.Horizon(),
				limit, got, p.Constants(), horizon, bound, returns, constants, text, set)
		}
	}
	if counts[true] < 50 || counts[false] < 50 {
		t.Errorf("%v", counts)
	}
}

// TestWrongConstants wants the errors of constants, those that have nothing to do with them, and
// no others: what a wrong constant would be is not known.
func TestWrongConstants(t *testing.T) {
	files := fstest.MapFS{"rows.csv": {Data: []byte("state,action,next,probability,r\n0,0,0,p,1\n0,0,1,1-p,q\n1,0,2,1,p\n")}}
	const rows = "transitions:\n- {state: 0, action: 0, next: {0: p, 1: 1-p}, returns: [q]}\n- {state: 1, action: " +
		"0, next: {2: 1}, returns: [p]}\n"
	for rows, where := range map[string]string{rows: "w.yaml:11:", "transitions: {file: rows.csv}\n": "rows.csv:4:"} {
		text := `format: cmdp/1
let: {p: x, q: 2*p, n: 1e999, "1a": 2}
horizon: n+1
states: 2
start: {0: p, 1: 1-p}
returns: [r]
goal: {minimize: s}
constraints: [{return: r, at_most: p, at_least: 7}, {return: r, at_most: q, probability: p}]
`
		_, err := Parse("w.yaml", []byte(text+rows), files)
		var es Errors
		if !errors.As(err, &es) || len(es) != 5 {
			t.Fatalf("%s: got errors\n%v", where, err)
		}
		for _, want := range []string{"w.yaml:2:10: let.p: got x", "w.yaml:2:24: let.n: got 1e999",
			"w.yaml:2:31: let.1a", "w.yaml:7:18: goal.minimize", where} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("got errors\n%v\nwant %s", err, want)
			}
		}
	}
}

// TestConstantsElsewhere reads arithmetic in JSON, where it is text, and in files of rows.
func TestConstantsElsewhere(t *testing.T) {
	files := fstest.MapFS{
		"rows.csv":   {Data: []byte("state,action,next,probability,r\n0,0,0,1/4,p\n0,0,1,1-1/4,p\n")},
		"rows.jsonl": {Data: []byte(`{"state": 0, "action": 0, "next": {"0": "1/4", "1": 0.75}, "returns": ["p"]}`)},
	}
	want := mustParse(t, `{format: cmdp/1, horizon: 2, states: 2, start: 0, returns: [r], transitions: [{state: 0, action: 0, next: {0: 0.25, 1: 0.75}, returns: [3]}]}`)
	for name, text := range map[string]string{
		"p.json": `{"format": "cmdp/1", "let": {"p": "9/3"}, "horizon": 2, "states": 2, "start": 0, "returns": ["r"],
			"transitions": [{"state": 0, "action": 0, "next": {"0": "1/4", "1": "(1 + 2)/4"}, "returns": ["p"]}]}`,
		"csv.yaml": "{format: cmdp/1, let: {p: 3}, horizon: 2, states: 2, start: 0, returns: [r], transitions: " +
			"{file: rows.csv}}",
		"jsonl.yaml": "{format: cmdp/1, let: {p: 3}, horizon: 2, states: 2, start: 0, returns: [r], transitions: " +
			"{file: rows.jsonl}}",
	} {
		p, err := Parse(name, []byte(text), files)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if d := difference(want, p); d != "" {
			t.Errorf("%s: another %s", name, d)
		}
	}
}

func TestUTF16(t *testing.T) {
	for _, text := range []string{"\xff\xfef\x00o\x00", "\xfe\xff\x00f\x00o", "f\x00o\x00r\x00", "\x00f\x00o"} {
		if _, err := Parse("p.yaml", []byte(text), nil); err == nil ||
			err.Error() != "p.yaml:1: the file is in UTF-16: save it as UTF-8" {
			t.Errorf("%q: %v", text, err)
		}
	}
	// So are tables: of transitions, of policies and of what was seen.
	table := "\xff\xfes\x00t\x00a\x00t\x00e\x00,\x00a\x00c\x00t\x00i\x00o\x00n\x00\n\x00"
	name := filepath.Join(t.TempDir(), "table.csv")
	if err := os.WriteFile(name, []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := Parse("p.yaml",
		[]byte("format: cmdp/1\nhorizon: 1\nstates: 1\nstart: 0\nreturns: [r]\ntransitions:\n  - {state: 0, action: "+
			"0, next: {0: 1}}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	counts, err := cmdp.NewCounts(p.Model.Shape(), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, policy := ReadPolicy(name, p.Process())
	_, log := ReadLog(name, p.Process(), counts, LogOptions{})
	_, rows := Parse("p.yaml",
		[]byte("format: cmdp/1\nhorizon: 1\nstates: 1\nstart: 0\nreturns: [r]\ntransitions: {file: table.csv}\n"),
		fstest.MapFS{"table.csv": {Data: []byte(table)}})
	for what, err := range map[string]error{"policy": policy, "log": log, "transitions": rows} {
		if err == nil || !strings.Contains(err.Error(), "table.csv:1") ||
			!strings.Contains(err.Error(), "the file is in UTF-16: save it as UTF-8") ||
			strings.Contains(err.Error(), "column") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
