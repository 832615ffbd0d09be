package problem_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
)

// trip goes up with 0.8 or falls back. The fast way costs 3 and may crash.
const trip = `mdp
const int N;
module m
  x : [0..N]; crashed : bool;
  [slow] x<N & !crashed -> 0.5:(x'=x+1) + 0.5:true;
  [fast] x<N & !crashed -> 0.75:(x'=x+1) + 0.25:(crashed'=true);
endmodule
label "home" = x=N;
rewards "time" [slow] true : 2; [fast] true : 1; endrewards
rewards "fuel" [fast] true : 3; endrewards
`

// TestProperties asks about a model whose answers are worked out by hand: slow takes 4 for a step on average, fast 1
// unless it crashes.
func TestProperties(t *testing.T) {
	for _, c := range []struct {
		property, name string
		want           float64
	}{
		{`Pmax=? [F "home"]`, "", 1},
		{`Pmin=? [F "home"]`, "", 0.5625},
		{`P=? [F<=1 x=N]`, "", 0},
		{`Pmax=? [F<=2 "home"]`, "", 0.5625},
		{`Pmax=? [F<3 "home"]`, "", 0.5625},
		{`Pmin=? [G !crashed]`, "", 0.4375}, // the probability of leaving is minimised or maximised
		{`Pmax=? [x<2 & !crashed U<=(1+1) x=N]`, "", 0.5625},
		{`Pmax=? [F{"time"}<=4 "home"]`, "", 0.65625},
		{`Pmax=? [x<2 U rew{"time"}<=(4+1) "home"]`, "", 0.71875}, // slow, then fast: 1/2*7/8 + 1/2*9/16
		{`Pmax=? [F{"fuel"}<=3 "home"]`, "", 1},
		{`Pmin=? [F{"fuel"}<=3 "home"]`, "", 0},
		{`Pmax=? [F<=2,{"fuel"}<=3 "home"]`, "", 0.375},
		{`Pmax=? [F{"time"}<=5,{"fuel"}<=3 "home"]`, "", 0.625}, // with one fast: 1/2*7/8 + 1/2*3/8
		{`Pmin=? [G{"fuel"}<=0 x<1]`, "", 1},
		{`multi(R{"fuel"}min=? [C], P>=0.65625 [F{"time"}<=4 "home"], R{"time"}<=100 [C])`, "", 4.125}, // 3 + 3/4*3/2, also if slow is first
		{`R{"time"}min=? [F "home"]`, "", 8},
		{`R{"time"}min=? [F "home" | crashed]`, "", 1 + 0.75},
		{`R{"fuel"}max=? [C]`, "", 3 + 0.75*3},
		{`Tmin=? [F "home"]`, "", 4},
		{`multi(Tmin=? [F "home" | crashed], R{"fuel"}<=100 [F "home" | crashed])`, "", 1.75},
		{`Rmax=? [C<=1]`, "", 2},
		{`R{"time"}max=? [C{"time"}<=3]`, "", 3}, // slow, then fast
		{`R{"fuel"}max=? [C{"time"}<=1]`, "", 3},
		{`R{"fuel"}max=? [C{"fuel"}<=5]`, "", 3},
		{`R{"fuel"}max=? [C{"time"}<=3,{"fuel"}<=6]`, "", 5.25},
		{`R{"time"}max=? [C<=2,{"fuel"}<=0]`, "", 4},
		{`multi(R{"time"}max=? [C<=3], R{"fuel"}<=0 [C<=4])`, "", 5.5},
		{`multi(R{"time"}max=? [C<=3], P>=1 [F "home"])`, "", 5.5},
		{`multi(R{"fuel"}max=? [C{"time"}<=4], P>=0.75 [F "home"])`, "", 3}, // a crash with 1/4 for each fast step,
		{`R{"time"}max=? [C<=3]`, "", 2 + 2 + 2 - 0.25*2},
		{`multi(R{"time"}min=? [C], P>=1 [F "home"])`, "", 8},
		{`multi(R{"time"}min=? [C], P>=0.75 [F "home"])`, "", 1 + 0.75*4},
		{`multi(R{"time"}min=? [F "home"|crashed], P<=0.25 [F "home"|crashed])`, "", math.NaN()},
		{`const int k; const int m = k-1; const double p = 1/2; label "up" = x>=m; "a": Pmin=? [F "up" & !crashed]; "b": P>=p [F "up"];`, "a", 0.75},
		{`S=? ["home"]`, "", 1},
		{`Pmax=? [F "deadlock" & crashed]`, "", 0.4375},
		{`Pmin=? [!"init" U "deadlock"]`, "", 0},
		{`Pmax=? ["init" U x=1]`, "", 1},
		{`R{"fuel"}max=? [S]`, "", 0},
	} {
		askTrip(t, c.property, c.name, c.want)
	}
}

// askTrip asks a property of the trip, whatever its rewards are called and in whatever order its formulas stand. The
// answer is NaN where nothing keeps the limits.
func askTrip(t *testing.T, property, name string, want float64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trip.nm")
	for _, names := range [][2]string{{"time", "fuel"}, {"p", "leaves"}, {"p2", "steps"}, {"share", "p"}} {
		called := strings.NewReplacer(`"time"`, `"`+names[0]+`"`, `"fuel"`, `"`+names[1]+`"`)
		if err := os.WriteFile(path, []byte(called.Replace(trip)), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{property, turned(property)} {
			opts := problem.ReadOptions{Constants: map[string]string{"N": "2"},
				Property: &problem.Property{File: "p.props", Text: called.Replace(text), Name: name}}
			if strings.HasPrefix(property, "const int k") {
				opts.Constants["k"] = "2"
			}
			p, err := problem.ReadWith(path, opts)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			q, err := query.New(context.Background(), p, query.CompileOptions{})
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			r, err := exact.Solve(context.Background(), q.Model, q.Task, exact.Options{})
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if math.IsNaN(want) {
				if r.Status != exact.Infeasible {
					t.Errorf("%s, rewards %v: %v", text, names, r.Status)
				}
				continue
			}
			if got := math.Abs(q.Task.Cost.Value(r.Returns)); r.Status != exact.Optimal || math.Abs(got-want) > 1e-9 {
				t.Errorf("%s, rewards %v: %v %.9g, want %.9g", text, names, r.Status, got, want)
			}
		}
	}
}

// turned returns a property with its formulas in the opposite order.
func turned(property string) string {
	list, several := strings.CutPrefix(property, "multi(")
	if !several {
		return property
	}
	formulas := strings.Split(strings.TrimSuffix(list, ")"), "], ")
	slices.Reverse(formulas)
	for i, f := range formulas {
		formulas[i] = strings.TrimSuffix(f, "]")
	}
	return "multi(" + strings.Join(formulas, "], ") + "])"
}

// answerOn returns a function that tells the answer to a property of the trip.
func answerOn(t *testing.T) func(property string) float64 {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trip.nm")
	if err := os.WriteFile(path, []byte(trip), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(property string) float64 {
		p, err := problem.ReadWith(path, problem.ReadOptions{Constants: map[string]string{"N": "2"},
			Property: &problem.Property{File: "p.props", Text: property}})
		if err != nil {
			t.Fatalf("%s: %v", property, err)
		}
		q, err := query.New(t.Context(), p, query.CompileOptions{})
		if err != nil {
			t.Fatalf("%s: %v", property, err)
		}
		r, err := q.Solve(t.Context(), exact.Options{})
		if err != nil || r.Status != exact.Optimal {
			t.Fatalf("%s: %+v, error %v", property, r, err)
		}
		return r.Objective
	}
}

// TestNamedConditions: a label or a constant within a condition is what stands behind its name, as if in parentheses.
func TestNamedConditions(t *testing.T) {
	answer := answerOn(t)
	for _, named := range []string{"x=1|x=2", "x=0|crashed", "crashed=>x=1", "x=2&!crashed"} {
		for _, condition := range []string{"!#", "# & !crashed", "!crashed & #", "# => crashed", "crashed | #",
			"(# ? x=2 : x=1)"} {
			asked := "Pmax=? [F<=2 x!=0 & (" + condition + " | (crashed & x=1))]"
			label := answer(`label "l" = ` + named + "; " + strings.Replace(asked, "#", `"l"`, 1))
			plain := answer(strings.Replace(asked, "#", "("+named+")", 1))
			if math.Abs(label-plain) > 1e-12 {
				t.Errorf("%s with %s: %g by its label, %g", condition, named, label, plain)
			}
		}
	}
	for _, number := range []string{"1+1", "3-1", "1-2"} {
		for _, condition := range []string{"x=2*#", "x=2-#", "x>=-#", "x=max(#,1)", "x<#*#"} {
			asked := "Pmax=? [F<=2 x!=0 & " + condition + "]"
			constant := answer("const int k = " + number + "; " + strings.ReplaceAll(asked, "#", "k"))
			plain := answer(strings.ReplaceAll(asked, "#", "("+number+")"))
			if math.Abs(constant-plain) > 1e-12 {
				t.Errorf("%s with %s: %g by its constant, %g", condition, number, constant, plain)
			}
		}
	}
}

// TestPropertiesInOtherWords: a bound on staying for ever is one on leaving.
func TestPropertiesInOtherWords(t *testing.T) {
	answer := answerOn(t)
	rng := rand.New(rand.NewPCG(23, 91))
	for range 12 {
		x := float64(1+rng.IntN(14)) / 16 // of the probability of crashing, at most 7/16
		way := []string{"min", "max"}[rng.IntN(2)]
		for _, pair := range [][2]string{
			{"P>=%[1]g [G !crashed]", "P<=%[2]g [F crashed]"},
			{"P<=%[1]g [G !crashed]", "P>=%[2]g [F crashed]"},
			{"P>=%[1]g [G<=2 !crashed]", "P<=%[2]g [F<=2 crashed]"},
		} {
			if strings.HasPrefix(pair[0], "P<=") && x < 9.0/16 {
				continue
			}
			ask := func(text string) float64 {
				bound := fmt.Sprintf(text+"%.0[1]f%.0[2]f", x, 1-x)
				bound = bound[:strings.Index(bound, "]")+1]
				return answer(`multi(R{"fuel"}` + way + `=? [C], ` + bound + `)`)
			}
			if got, want := ask(pair[0]), ask(pair[1]); math.Abs(got-want) > 1e-9 {
				t.Errorf("%s with %g: %g: want %g as with %s", pair[0], x, got, want, pair[1])
			}
		}
	}
}

// TestOptimaInOtherWords: what is staying for ever at its best is leaving at its worst, of which problems tell the
// probability; a bound of steps counts what it bounds alone, whatever horizon others have; and several optima are
// traded off in the directions that they say.
func TestOptimaInOtherWords(t *testing.T) {
	answer := answerOn(t)
	opposite := map[string]string{"min": "max", "max": "min"}
	for way, other := range opposite {
		for _, within := range []string{"", "<=1", "<=2", "<=3"} {
			for _, stay := range []string{"x<1", "!crashed", "x<2 & !crashed", "x<2"} {
				got, want := answer("P"+way+"=? [G"+within+" "+stay+"]"), answer("P"+other+"=? [F"+within+" !("+stay+")]")
				if math.Abs(got-want) > 1e-9 {
					t.Errorf("P%s of G%s %s: leaves with %g: want %g", way, within, stay, got, want)
				}
			}
		}
	}
	for steps := range 4 {
		for horizon := range 4 {
			asked := fmt.Sprintf(`Pmax=? [F<=%d "home"]`, steps+1)
			together := fmt.Sprintf(`multi(%s, R{"fuel"}<=100 [C<=%d])`, asked, horizon+1)
			if got, want := answer(together), answer(asked); math.Abs(got-want) > 1e-9 {
				t.Errorf("%s: %g: want %g", together, got, want)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "trip.nm")
	if err := os.WriteFile(path, []byte(trip), 0o600); err != nil {
		t.Fatal(err)
	}
	for first := range opposite {
		for second := range opposite {
			p, err := problem.ReadWith(path, problem.ReadOptions{Constants: map[string]string{"N": "2"},
				Property: &problem.Property{File: "p.props",
					Text: `multi(R{"time"}` + first + `=? [C<=3], R{"fuel"}` + second + `=? [C<=3], ` +
						`P` + first + `=? [G<=3 x<1])`}})
			sign := map[string]string{"min": "-", "max": "+"}
			want := []string{sign[first] + "time", sign[second] + "fuel", sign[opposite[first]] + "leaves"}
			if err != nil || !slices.Equal(p.TradeOff, want) {
				t.Errorf("%s of time and %s of fuel: error %v, or traded off as %v: want %v", first, second, err, p, want)
			}
		}
	}
}

// TestRefusedProperties holds what is refused, with its place.
func TestRefusedProperties(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trip.nm")
	if err := os.WriteFile(path, []byte(trip), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ property, want string }{
		{``, "p.props:1:1: no property"},
		{`Pmax=? [X x=1]`, "p.props:1:9: X is not supported: want F, G or U"},
		{`P>0.5 [F x=1]`, "p.props:1:2: got >: want >=, <=, max=?, min=? or =?"},
		{`Pmax=? [F[1,2] x=1]`, "p.props:1:10: only bounds from above"},
		{`Pmax=? [F{"tame"}<=2 x=1]`, "p.props:1:1: the model has no rewards tame, did you mean \"time\"?"},
		{`Pmax=? [F{"time"}<2 x=1]`, "p.props:1:18: a bound of rewards with < is not supported: want <="},
		{`Pmax=? [F{"time"}<=(0-1) x=1]`, "p.props:1:1: a bound of -1 on rewards: want a finite number from 0 on"},
		{`Pmax=? [F{"time"} x=1]`, "p.props:1:19: got x: want a bound from above"},
		{`R{"time"}max=? [F{"fuel"}<=2 x=1]`, "p.props:1:18: bounds of rewards are for F, U and G of probabilities, and for C"},
		{`R{"time"}max=? [C{"fuel"}<=(0-2)]`, "p.props:1:1: a bound of -2 on rewards: want a finite number from 0 on"},
		{`Pmax=? [F<=x x=1]`, "p.props:1:12: unknown name x"},
		{`Pmax=? [F<=(0-1) x=1]`, "a bound of -1 steps: want 0 or more"},
		{`R{"time"}max=? [I=3]`, "p.props:1:17: I is not supported: want C, C<=k, F or S"},
		{`Tmax=? [C]`, "p.props:1:9: T of C is not supported: want F"},
		{`R{"tame"}max=? [C]`, "p.props:1:1: the model has no rewards tame, did you mean \"time\"?"},
		{`filter(max, x=1)`, "p.props:1:1: got filter: want a formula P, R, S, T or multi(…)"},
		{`P>=1 [F x=1] & P>=1 [F x=2]`, "p.props:1:14: got &: want ; after a property"},
		{`"a": P>=1 [F x=1]; "b": P>=1 [F x=2];`, "p.props: 2 properties: want FILE:NAME, which names one of a, b"},
		{`multi(R{"time"}min=? [F x=1], Pmax=? [F x=2])`,
			"p.props:1:31: rewards up to x = 1 beside what does not end there"},
		{`multi(R{"time"}min=? [C], R{"fuel"}<=1 [S])`, "long-run means beside totals"},
		{`Pmax=? [F "nowhere"]`, `p.props:1:1: "nowhere": unknown label`},
		{`multi(P>=0 [F x=1], Pmax=? [y=2 U x=1])`, "p.props:1:21: y = 2: unknown name y"},
		{`const int k; Pmax=? [F x=k]`, "p.props:1:11: constant k has no value"},
		{`Rmax=? [C<=0]`, "p.props:1:1: the total of 0 steps, which is 0: want a bound of 1 or more"},
	} {
		_, err := problem.ReadWith(path, problem.ReadOptions{Constants: map[string]string{"N": "2"},
			Property: &problem.Property{File: "p.props", Text: c.property}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.property, err, c.want)
		}
	}
}

// TestClockProperties asks about a clock x that the model compares with 3 at most. A bound of steps would be one of
// time, and digital clocks cannot tell x<2 from x<=1, nor 4 from more.
func TestClockProperties(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clock.nm")
	const text = `pta module m s : [0..1]; x : clock; invariant s=0 => x<=3 endinvariant
		[] s=0 & x>=1 -> 0.5:(s'=1) + 0.5:(x'=0); endmodule rewards "y" s=0 : 1; endrewards`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for property, want := range map[string]string{
		`Pmax=? [F s=1 & x<=1]`: "", `Pmax=? [F s=1 & x>=3]`: "",
		`Pmax=? [F<=3 s=1]`:        "p.props:1:1: a bound of time in a model with clocks is not supported: bound a reward",
		`R{"y"}max=? [C<=3]`:       `is 1 for each unit of time, as in C{"time"}<=3`,
		`Pmax=? [F s=1 & x<2]`:     "the condition excludes its bound",
		`Pmax=? [F s=1 & x>=4]`:    "a clock that counts to 3, as far as the model looks at it, is compared with 4",
		`Pmax=? [F x>=s & s>=x+x]`: "depends on a clock",
	} {
		_, err := problem.ReadWith(path, problem.ReadOptions{Property: &problem.Property{File: "p.props", Text: property}})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", property, err, want)
		}
	}
}

// TestJANIProperties asks what models of the Quantitative Verification Benchmark Set ask, whose answers it publishes.
func TestJANIProperties(t *testing.T) {
	for _, c := range []struct {
		file, property string
		constants      map[string]string
		want           float64
	}{
		{"consensus.2.jani.gz", "c1", map[string]string{"K": "2"}, 1},
		{"consensus.2.jani.gz", "c2", map[string]string{"K": "2"}, 49.0 / 128},
		{"consensus.2.jani.gz", "disagree", map[string]string{"K": "2"}, 13.0 / 120},
		{"consensus.2.jani.gz", "steps_max", map[string]string{"K": "2"}, 75},
		{"consensus.2.jani.gz", `R{"steps"}min=? [F "finished"]`, map[string]string{"K": "2"}, 48},
		{"csma.2-2.jani.gz", "all_before_max", nil, 0.875},
		{"csma.2-2.jani.gz", "some_before", nil, 0.5},
		{"csma.2-2.jani.gz", "time_max", nil, 70.66575976616393},
		{"beb.3-4.jani.gz", "GaveUp", map[string]string{"N": "3"}, 683.0 / 8192},
		{"brp-pta.jani.gz", "P_1", map[string]string{"N": "16", "MAX": "2", "TD": "1", "TIME_BOUND": "64"},
			0.0004233334437734179},
		{"brp-pta.jani.gz", "Emax", map[string]string{"N": "16", "MAX": "2", "TD": "1", "TIME_BOUND": "64"},
			33.473156451738696},
	} {
		opts := problem.ReadOptions{Constants: c.constants,
			Property: &problem.Property{File: "--property", Text: c.property}}
		p, err := problem.ReadWith("../language/jani/testdata/"+c.file, opts)
		if err != nil {
			t.Fatalf("%s: %v", c.property, err)
		}
		q, err := query.New(context.Background(), p, query.CompileOptions{})
		if err != nil {
			t.Fatalf("%s: %v", c.property, err)
		}
		r, err := exact.Solve(context.Background(), q.Model, q.Task, exact.Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.property, err)
		}
		if got := math.Abs(q.Task.Cost.Value(r.Returns)); r.Status != exact.Optimal || math.Abs(got-c.want) > 1e-7 {
			t.Errorf("%s: %v %.9g, want %.9g", c.property, r.Status, got, c.want)
		}
	}
	opts := problem.ReadOptions{Property: &problem.Property{File: "../language/jani/testdata/csma.2-2.jani.gz",
		Name: "none"}}
	text, err := problem.ReadText(opts.Property.File)
	if err != nil {
		t.Fatal(err)
	}
	opts.Property.Text = string(text)
	_, err = problem.ReadWith(opts.Property.File, opts)
	if err == nil || !strings.Contains(err.Error(),
		"csma.2-2.jani.gz: no property none: want all_before_max, all_before_min, some_before") {
		t.Error(err)
	}
}

// duel is a game: one goes by a coin or surely to 1, where two has the next word.
const duel = `smg
player one [a],[b] endplayer
player two [c],[d] endplayer
module m
  x : [0..3];
  [a] x=0 -> 0.5:(x'=1) + 0.5:(x'=2);
  [b] x=0 -> (x'=1);
  [c] x=1 -> (x'=3);
  [d] x=1 -> (x'=0);
endmodule
label "goal" = x=2;
rewards "r" [a] true : 1; [b] true : 3; [d] true : 0.5; endrewards
`

// TestGameProperties asks about games of a few steps; values are worked out by hand.
func TestGameProperties(t *testing.T) {
	path := filepath.Join(t.TempDir(), "duel.prism")
	if err := os.WriteFile(path, []byte(duel), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		property string
		want     float64
		wrong    string
	}{
		{`Pmax=? [F<=4 "goal"]`, 0.5, ""},          // after the first toss two goes to 3
		{`<<two>> Pmax=? [F<=4 "goal"]`, 0, ""},    // one never tosses
		{`<<2>> Pmax=? [F<=2 x=3]`, 0.5, ""},       // one tosses
		{`<<two>> Pmin=? [x<3 U<=4 x=2]`, 0.5, ""}, // two lets one toss once
		{`<<one>> Pmin=? [F<=3 x=3]`, 0.5, ""},     // one tosses, and again if two goes back, but not in time
		{`<<one>> Rmax=? [C<=2]`, 3, ""},           // one takes b, then two c, which gives nothing
		{`<<two>> R{"r"}min=? [C<=4]`, 3, ""},      // one takes b, two ends it
		{`<<one>> R{"r"}min=? [C<=4]`, 1.875, ""},  // one always tosses, two goes back: 1 + (0.5 + 1 + 0.5*0.5)/2
		{`<<one,two>> Pmax=? [F<=4 "goal"]`, 0,
			"p.props:1:13: the coalition <<one,two>>: want one of the players, one or two"},
		{`<<three>> Pmax=? [F<=4 "goal"]`, 0, "the coalition <<three>>"},
		{`<<>> Pmax=? [F<=4 "goal"]`, 0, "the coalition <<>>"},
		{`<<one>> Pmax=? [F "goal"]`, 0, "a game without a bound of steps"},
		{`R{"r"}max=? [C]`, 0, "a game without a bound of steps"},
		{`<<one>> R{"r"}min=? [F "goal"]`, 0, "a game without a bound of steps"},
		{`<<one>> Pmax=? [F<=0 "goal"]`, 0, "a game without a bound of steps"},
		{`<<one>> Pmax=? [G<=3 x<2]`, 0, "or with G"},
		{`<<one>> Pmax=? [F<=4 x=0]`, 0, "the initial state satisfies x = 0 already"},
		{`multi(<<one>> P>=0.5 [F<=4 x=2], <<one>> R{"r"}max=? [C<=4])`, 0, "a probability beside other formulas"},
		{`multi(<<one>> R{"r"}<=4 [C<=4], <<two>> R{"r"}max=? [C<=4])`, 0, "formulas of both players"},
	} {
		p, err := problem.ReadWith(path,
			problem.ReadOptions{Property: &problem.Property{File: "p.props", Text: c.property}})
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %v, want %s", c.property, err, c.wrong)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.property, err)
			continue
		}
		q, err := query.New(context.Background(), p, query.CompileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := exact.SolveGame(context.Background(), q.Model, q.Task)
		if err != nil {
			t.Errorf("%s: %v", c.property, err)
			continue
		}
		if math.Abs(v.Returns[0]-c.want) > 1e-9 {
			t.Errorf("%s: %.9g, want %.9g", c.property, v.Returns[0], c.want)
		}
	}
}

// A drawnGame has five states. Each has an owner and two actions, which lead to two states with 0.5 each.
type drawnGame struct {
	owner [5]int
	next  [5][2][2]int
	text  string
}

func drawGame(rng *rand.Rand) *drawnGame {
	g := &drawnGame{owner: [5]int{0, 1, rng.IntN(2), rng.IntN(2), rng.IntN(2)}}
	players, commands := [2]string{}, ""
	for s := range g.owner {
		for a := range 2 {
			to := [2]int{rng.IntN(5), rng.IntN(5)}
			g.next[s][a] = to
			players[g.owner[s]] += fmt.Sprintf(",[a%d_%d]", s, a)
			commands += fmt.Sprintf("  [a%d_%d] x=%d -> 0.5:(x'=%d) + 0.5:(x'=%d);\n", s, a, s, to[0], to[1])
		}
	}
	g.text = fmt.Sprintf("smg\nplayer one %s endplayer\nplayer two %s endplayer\nmodule m\n  x : [0..4];\n%sendmodule\n",
		players[0][1:], players[1][1:], commands)
	return g
}

// until is the probability of through U<=left goal, sets bit by bit, in state s, if a player makes it as great as
// possible, and the other one as small.
func (g *drawnGame) until(through, goal, left, greatest, s int) float64 {
	switch {
	case goal>>s&1 == 1:
		return 1
	case through>>s&1 == 0 || left == 0:
		return 0
	}
	var of [2]float64
	for a, next := range g.next[s] {
		for _, to := range next {
			of[a] += 0.5 * g.until(through, goal, left-1, greatest, to)
		}
	}
	if g.owner[s] == greatest {
		return max(of[0], of[1])
	}
	return min(of[0], of[1])
}

// TestDrawnGameProperties compares until in drawn games with the recursion over the steps that are left.
func TestDrawnGameProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 20))
	path := filepath.Join(t.TempDir(), "drawn.prism")
	for range 60 {
		g := drawGame(rng)
		if err := os.WriteFile(path, []byte(g.text), 0o600); err != nil {
			t.Fatal(err)
		}
		through, goal, steps := 1+2*rng.IntN(16), 2+2*rng.IntN(15), 1+rng.IntN(4) // no game is over at the start
		set := func(bits int) string {
			var in []string
			for s := range g.owner {
				if bits>>s&1 == 1 {
					in = append(in, fmt.Sprintf("x=%d", s))
				}
			}
			return strings.Join(in, "|")
		}
		agent, most := rng.IntN(2), rng.IntN(2)
		form := []string{"(%s) U<=%d (%s)", "%s U<=%d %s"}[rng.IntN(2)]
		asks := fmt.Sprintf("<<%d>> P%s=? ["+form+"]", agent+1, []string{"min", "max"}[most], set(through), steps, set(goal))
		p, err := problem.ReadWith(path, problem.ReadOptions{Property: &problem.Property{File: "p.props", Text: asks}})
		if err != nil {
			t.Fatalf("%s: %v\n%s", asks, err, g.text)
		}
		q, err := query.New(context.Background(), p, query.CompileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := exact.SolveGame(context.Background(), q.Model, q.Task)
		if err != nil {
			t.Fatalf("%s: %v\n%s", asks, err, g.text)
		}
		if want := g.until(through, goal, steps, (agent+most+1)%2, 0); math.Abs(v.Returns[0]-want) > 1e-9 {
			t.Errorf("%s: %.9g, want %.9g\n%s", asks, v.Returns[0], want, g.text)
		}
	}
}
