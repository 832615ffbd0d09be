package prism_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"cmdpsolve/cmdp/language"
	"cmdpsolve/cmdp/language/prism"
)

const body = "module m x : [0..3]; [a] x<3 -> (x'=x+1); endmodule\n"

// TestRefused holds what is refused or wrong when a file is read, with the line and column, and a part
// of the message. Line 2 is the text of the case.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		text string
		at   string // line:column, or nothing
		want string
	}{
		{"ctmc", "2:1", "continuous-time Markov chains (ctmc) are not supported"},
		{"stochastic", "2:1", "not supported"}, {"ma", "2:1", "Markov automata (ma) are not supported"},
		{"pomdp", "2:1", "partial observation (pomdp)"},
		{"popta", "2:1", "partial observation"}, {"csg", "2:1", "concurrent games"}, {"imdp", "2:1", "intervals"},
		{"observables x endobservables", "2:1", "partial observation"},
		{"module n y : int; endmodule", "2:14", "unbounded integers are not supported: give y a range"},
		{"global y : int init 3;", "2:12", "unbounded integers"},
		{"module n y : bool; [] true -> [0.1,0.2]:(y'=true) + 0.8:true; endmodule", "2:31",
			"intervals of probabilities"},
		{"#const 3#", "2:1", "preprocessor"},
		{"mdp mdp", "2:5", "the model is mdp in line 2 already"},
		{"const int N; const bool M;", "2:11", "constants without a value: N, M: give them by --const"},
		{"const int N = x;", "2:15", "unknown name x"},
		{"const int N = M+1; const int M = N+1;", "2:11", "constant N is defined by itself"},
		{"formula f = f+1; label \"l\" = f=1;", "2:9", "formula f is defined by itself"},
		{"formula f = g; formula g = f; label \"l\" = f=1;", "2:9", "formula f is defined by itself"},
		{"const x = 3;", "1:10", "x is defined twice: it is a constant in line 2 too"},
		{"module m endmodule", "2:8", "module m is defined twice"},
		{"module n = k [x=y] endmodule", "2:12", "no module k is defined above"},
		{"module n = m [a=b] endmodule", "2:8", "module n has the variable x of module m: want another name"},
		{"module n = m [x=y,x=z] endmodule", "2:19", "x is renamed twice"},
		{"module n y : [3..1]; endmodule", "2:10", "the range of y is empty: 3 to 1"},
		{"module n y : [0..x]; endmodule", "2:18", "the value depends on variables"},
		{"module n y : [0..1.5]; endmodule", "2:18", "type double: want int"},
		{"module n y : [0..1] init 2; endmodule", "2:26", "the initial value of y is 2: want 0 to 1"},
		{"module n [] true -> (x'=1); endmodule", "2:22", "module n writes x, which is a variable of module m"},
		{"module n y : bool; [] true -> (z'=1); endmodule", "2:32", "z is no variable"},
		{"module n y : bool; [] true -> (y'=1); endmodule", "2:35", "type int: want bool"},
		{"module n y : bool; [] true -> (y'=true)&(y'=false); endmodule", "2:42", "y is written twice"},
		{"module n y : bool; [] 1 -> true; endmodule", "2:23", "type int: want bool"},
		{"module n y : bool; [] true -> y; endmodule", "2:32", "got ;: want :"},
		{"module n y : bool; [] true -> 0.5:(y'=true) 0.5:true; endmodule", "2:45", "got 0.5: want ;"},
		{"module n y : bool; [P] true -> true; endmodule", "2:21", "keyword P"},
		{"label l = x=1;", "2:7", "want the name of a label in quotes"},
		{"label \"l\" = x;", "2:13", "type int: want bool"},
		{"label \"l\" = x=0; label \"l\" = x=1;", "2:24", "label \"l\" is defined twice"},
		{"rewards [z] true : 1; endrewards", "2:10", "no command has the action z"},
		{"rewards \"r\" true : 1; endrewards rewards \"r\" true : 1; endrewards", "2:34", "rewards \"r\" is defined twice"},
		{"init x=0 endinit init x=1 endinit", "2:18", "a second init"},
		{"init x>5 endinit", "2:7", "no state is initial"},
		{"module n y : [0..1] init 0; endmodule init x=0 endinit", "2:26", "beside init … endinit"},
		{"system m || m endsystem", "2:13", "stands in the system twice"},
		{"system n endsystem", "2:8", "no module n is defined"},
		{"module n endmodule system m endsystem", "2:27", "leaves out module n"},
		{"module n endmodule module o endmodule system m || n ||| o endsystem", "2:53", "want parentheses"},
		{"system \"s\" || m endsystem", "2:8", "no system \"s\" is defined"},
		{"system \"s\" / {a} endsystem system \"s\" \"s\" / {a} endsystem", "2:39", "system \"s\" is part of itself"},
		{"player p endplayer", "2:8", "players in a model that is no game"},
		{"smg", "2:1", "without players"},
		{"smg player p m endplayer player q [a] endplayer player r endplayer", "2:56", "3 players: want two at most"},
		{"smg player p m, m endplayer", "2:17", "the player of module m is defined twice: also in line 2"},
		{"smg player p [z] endplayer", "2:15", "no command has the action z"},
		{"module n y : clock; [] y<3 -> true; endmodule", "2:25", "excludes its bound"},
		{"module n y : clock; [] !(y>=3) -> true; endmodule", "2:27", "excludes its bound"},
		{"module n y : clock; z : clock; [] y<=z -> true; endmodule", "2:35", "depends on a clock"},
		{"module n y : clock; [] y+1<=3 -> true; endmodule", "2:24", "depends on a clock"},
		{"module n y : clock; z : [0..3]; [] true -> (z'=y); endmodule", "2:48", "a value depends on a clock"},
		{"module n y : clock; [] true -> (y'=x); endmodule", "2:36", "depends on the state"},
		{"module n y : clock; [time] true -> true; endmodule", "2:21", "an action called time"},
		{"dtmc module n y : clock; endmodule", "2:1", "clocks in a model of type dtmc"},
		{"module n invariant true endinvariant endmodule", "2:20", "an invariant in a model without clocks"},
		{"module n y : [0..1]", "3:1", "got the end of the file: want ;"},
		{"what", "2:1", "got what: want a type of model"},
		{"const int N = 1.0.0;", "2:18", "got .0: want ;"},
		{"\"never closed", "2:1", "not closed"},
		{"label \"l\" = x=\xff0;", "2:15", "unexpected character"},
		{"label \"l\" = x=ä;", "2:15", "unexpected character 'ä'"},
		{"// gr\xfc\xdfe in comments of any encoding\nlabel \"l\" = z;", "3:13", "unknown name z"},
	} {
		_, err := explore(body+c.text+"\n", nil, 1)
		var e *language.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: got %v, want an error at %s", c.text, err, c.at)
			continue
		}
		place := "m.prism:" + c.at + ": "
		if c.at == "" {
			place = "m.prism: "
		}
		if strings.HasPrefix(c.at, "1:") {
			place = "m.prism:1:10: "
		}
		if !strings.HasPrefix(err.Error(), place) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v: want %s…%s", c.text, err, place, c.want)
		}
	}
}

// TestGivenConstants holds what is wrong with constants from outside.
func TestGivenConstants(t *testing.T) {
	const model = body + "const int N; const double p = 0.5; const bool b;"
	for _, c := range []struct{ name, value, want string }{
		{"M", "1", "the model has no constant M"}, {"p", "0.1", "constant p has a value in the model"},
		{"N", "1.5", "no expression of type int"},
		{"N", "true", "no expression of type int"}, {"N", "1 2", "no expression of type int"},
		{"N", "", "no expression of type int"}, {"b", "0", "no expression of type bool"},
		{"N", "x", "unknown name x"},
	} {
		given := map[string]string{"N": "1", "b": "true", c.name: c.value}
		if _, err := explore(model, given, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s=%s: %v: want %s", c.name, c.value, err, c.want)
		}
	}
	if _, err := explore(model, map[string]string{"N": "(7-5)^2", "b": "!false"}, 1); err != nil {
		t.Error(err)
	}
}

// TestModelErrors holds what goes wrong in a state, with the whole message.
func TestModelErrors(t *testing.T) {
	for _, c := range []struct{ model, want string }{
		{"module m x : [0..2];\n [a] true ->\n  (x'=x+1); endmodule",
			"m.prism:3:4: command [a] of module m in the state x=2: x, which is from 0 to 2, would become 3"},
		{"module m x : [0..2];\n [] x=0 -> 0.5:(x'=1); endmodule",
			"m.prism:2:2: command [] of module m in the state x=0: the probabilities sum to 0.5: want 1"},
		{"module m x : [0..2];\n [] true -> 1-x:(x'=x+1) + x:true; [] true -> (x'=2); endmodule",
			"m.prism:2:2: command [] of module m in the state x=2: -1 is not a probability"},
		{"module m x : [0..2];\n [] true -> 1/x:(x'=0) + 0:true; endmodule",
			"m.prism:2:2: command [] of module m in the state x=0: +Inf is not a probability"},
		{"global g : [0..1];\nmodule m [a] true -> (g'=1); endmodule\nmodule n [a] true -> (g'=0); endmodule",
			"m.prism:3:23: command [a] of module n in the state g=0: g is written by another command of the same step too"},
		{"module m x : [0..2];\n [] mod(3,x)=0 & x+x!=3 -> true; endmodule",
			"m.prism:2:5: a guard in the state x=0: mod(3, 0): want a positive divisor"},
		{"module m x : [0..2];\n [] x<2 -> (x'=x+1); endmodule\nrewards \"r\" x>=1 : 1/(1-x); endrewards",
			"m.prism:3:13: reward r in the state x=1: +Inf: want a finite number"},
		{"smg player p [a] endplayer module m x : [0..1];\n [a] true -> true; [] true -> true; endmodule",
			"m.prism:2:20: command [] of module m in the state x=0: no player has this choice"},
		{"smg player p [a] endplayer player q [b] endplayer module m x : [0..1]; [a] true -> true; [b] true -> " +
			"true; endmodule",
			"m.prism:1:90: command [b] of module m in the state x=0: another player than this one's has a choice too: " +
				"want states of one player"},
		{"pta module m x : clock; invariant x<=1 endinvariant [] x>=2 -> true; endmodule",
			"m.prism: in the state x=1: neither time can pass nor a command is enabled"},
		{"pta module m s : [0..1]; x : clock;\ninvariant s=1 => x<=1 endinvariant [] x>=2 -> (s'=1); endmodule",
			"m.prism:2:15: the invariant of module m in the state s=1,x=2: the invariant does not hold"},
	} {
		for _, threads := range []int{1, 2, 5} {
			_, err := explore(c.model, nil, threads)
			if err == nil || err.Error() != c.want {
				t.Errorf("%s:\ngot  %v\nwant %s", c.model, err, c.want)
				break
			}
		}
	}
}

// TestHostile: models that no machine can explore end in an error before they take much memory.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	doubling := "formula f0 = x;"
	for i := range 100 {
		n := string(rune('0'+i/10)) + string(rune('0'+i%10))
		before := "f0"
		if i > 0 {
			before = "g" + string(rune('0'+(i-1)/10)) + string(rune('0'+(i-1)%10))
		}
		doubling += "formula g" + n + " = " + before + "+" + before + ";"
	}
	modules := func(n int, rename string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "module n%[1]d "+rename+" endmodule ", i)
		}
		return b.String()
	}
	for name, model := range map[string]string{
		"a range of 2^62": "module m x : [0..4611686018427387904]; [] true -> (x'=x+1); endmodule",
		"a range of 2^64": "module m x : [-9223372036854775807..9223372036854775807]; y : " +
			"[0..9223372036854775807]; [] true -> (x'=x+1); endmodule",
		"initial states of 2^62": "module m x : [0..4611686018427387904]; y : [0..3]; [] true -> true; endmodule " +
			"init mod(x,2)=3 endinit",
		"all states initial": "module m x : [0..4611686018427387904]; [] true -> true; endmodule init true endinit",
		"doubling formulas":  "module m x : [0..1]; [] g99=0 -> true; endmodule " + doubling,
		"parentheses":        "module m x : [0..1]; [] " + strings.Repeat("(", 100_000) + "true",
		"negations":          "module m x : [0..1]; [] " + strings.Repeat("!", 100_000) + "true",
		"signs":              "const int c = " + strings.Repeat("-", 100_000) + "1;",
		"conditions":         "const int c = " + strings.Repeat("true?1:", 100_000) + "1;",
		"implications":       "const bool c = " + strings.Repeat("true=>", 100_000) + "true;",
		"powers":             "const int c = " + strings.Repeat("1^", 100_000) + "1;",
		"functions":          "const int c = " + strings.Repeat("max(", 100_000) + "1;",
		"differences":        "const int c = 1" + strings.Repeat("-1", 100_000) + ";",
		"systems":            "system " + strings.Repeat("(", 100_000),
		"moves":              modules(3_000, "y%[1]d : [0..7]; [] true -> (y%[1]d'=7);"),
		"successors": "module m x : [0..1]; [a] true -> 0.5:(x'=0)+0.5:(x'=1); endmodule " + modules(60,
			"= m [x=y%[1]d]"),
		"choices": "module m x : [0..1]; [a] true -> true; [a] true -> (x'=1); endmodule " + modules(60,
			"= m [x=y%[1]d]"),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			p, err := prism.Read("m.prism", model, nil)
			if err == nil {
				_, err = language.Explore(t.Context(), p, nothing{}, language.ExploreOptions{States: 100_000})
			}
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Error("no error")
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 3<<30 {
				t.Errorf("%s: %d MB", name, used>>20)
			}
			t.Logf("%s: %.200v (%d MB)", name, err, (after.TotalAlloc-before.TotalAlloc)>>20)
		})
	}
}
