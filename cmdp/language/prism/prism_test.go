package prism_test

import (
	"strings"
	"testing"
)

// clean drops the indentation of a test's text.
func clean(text string) string {
	var lines []string
	for _, l := range strings.Split(strings.TrimSpace(text), "\n") {
		l = strings.TrimSpace(l)
		if strings.HasPrefix(l, "[") {
			l = "  " + l
		}
		lines = append(lines, l)
	}
	return strings.Join(lines, "\n") + "\n"
}

// TestConstructs holds models of a few states whose rows are worked out by hand.
func TestConstructs(t *testing.T) {
	for _, c := range []struct {
		name, model, want string
		constants         map[string]string
	}{
		{name: "updates read the state before", model: `
			mdp
			module m
				x : [0..2] init 1; y : [0..2] init 2;
				[swap] x!=y -> (x'=y)&(y'=x);
				[] x=2 -> 0.25:true + 0.75:(x'=0)&(y'=0);
			endmodule`, want: `
			x=1,y=2
			[swap] 1 x=2,y=1
			x=2,y=1
			[] 0.25 x=2,y=1 + 0.75 x=0,y=0
			[swap] 1 x=1,y=2
			x=0,y=0`},
		{name: "no type is mdp, probabilities depend on the state, those of 0 are left out, equal successors add up", model: `
			module m
				x : [0..2];
				[] x<2 -> x/2:(x'=0) + (1-x/2)/2:(x'=x+1) + (1-x/2)/2:(x'=min(x+1,2));
			endmodule`, want: `
			x=0
			[] 1 x=1
			x=1
			[] 0.5 x=0 + 0.5 x=2
			x=2`},
		{name: "Booleans, negative ranges, constants from outside, old names of types", model: `
			nondeterministic
			const N; const double p; rate q = 1-p; prob r = 0; const bool on;
			module m
				x : [-2..N] init -1; b : bool init !on;
				[] x<N & b!=on -> p:(x'=x+1)&(b'=on) + q+r:(x'=-2);
			endmodule`, constants: map[string]string{"N": "2-2", "p": "1/4", "on": "true"}, want: `
			x=-1,b=false
			[] 0.25 x=0,b=true + 0.75 x=-2,b=false
			x=0,b=true
			x=-2,b=false
			[] 0.25 x=-1,b=true + 0.75 x=-2,b=false
			x=-1,b=true`},
		{name: "synchronisation of two modules with two commands each", model: `
			mdp
			module a
				x : [0..2];
				[go] x=0 -> 0.5:(x'=1) + 0.5:(x'=2);
				[go] x=0 -> (x'=2);
				[] x=2 -> (x'=1);
			endmodule
			module b
				y : [0..1];
				[go] y=0 -> 0.1:(y'=1) + 0.9:true;
				[go] y=0 & x=0 -> (y'=1);
				[other] true -> true;
			endmodule`, want: `
			x=0,y=0
			[go] 0.05 x=1,y=1 + 0.45 x=1,y=0 + 0.05 x=2,y=1 + 0.45 x=2,y=0
			[go] 0.5 x=1,y=1 + 0.5 x=2,y=1
			[go] 0.1 x=2,y=1 + 0.9 x=2,y=0
			[go] 1 x=2,y=1
			[other] 1 x=0,y=0
			x=1,y=1
			[other] 1 x=1,y=1
			x=1,y=0
			[other] 1 x=1,y=0
			x=2,y=1
			[] 1 x=1,y=1
			[other] 1 x=2,y=1
			x=2,y=0
			[] 1 x=1,y=0
			[other] 1 x=2,y=0`},
		{name: "globals, renaming with constants, actions, functions and formulas", model: `
			mdp
			const int low = 1; const int high = 2;
			global g : [0..2];
			formula top = max(x, low);
			module a
				x : [0..2] init 0;
				[a] x=0 -> (x'=top);
				[] x>0 & g=0 -> (g'=low);
			endmodule
			module b = a [x=y, low=high, a=b] endmodule
			module c = b [y=z, high=one, b=a, max=min] endmodule
			const int one = 1;
			label "both" = x>0 & y>0;`, want: `
			g=0,x=0,y=0,z=0
			[a] 1 g=0,x=1,y=0,z=0
			[b] 1 g=0,x=0,y=2,z=0
			g=0,x=1,y=0,z=0
			[] 1 g=1,x=1,y=0,z=0
			[b] 1 g=0,x=1,y=2,z=0
			g=0,x=0,y=2,z=0
			[] 1 g=2,x=0,y=2,z=0
			[a] 1 g=0,x=1,y=2,z=0
			g=1,x=1,y=0,z=0
			[b] 1 g=1,x=1,y=2,z=0
			g=0,x=1,y=2,z=0
			[] 1 g=1,x=1,y=2,z=0
			[] 1 g=2,x=1,y=2,z=0
			g=2,x=0,y=2,z=0
			[a] 1 g=2,x=1,y=2,z=0
			g=1,x=1,y=2,z=0
			g=2,x=1,y=2,z=0`},
		{name: "a chain mixes what is enabled", model: `
			dtmc
			module a x : [0..1]; [] x=0 -> 0.5:(x'=1) + 0.5:true; [] x=0 -> (x'=1); endmodule
			module b y : [0..1]; [] y=0 -> (y'=1); endmodule
			rewards "r" x=0 : 3; [] x=0 & y=0 : 2; endrewards`, want: `
			x=0,y=0 r=3
			[] 0.5 x=1,y=0 + 0.166667 x=0,y=0 + 0.333333 x=0,y=1 r=2
			x=1,y=0
			[] 1 x=1,y=1
			x=0,y=1 r=3
			[] 0.75 x=1,y=1 + 0.25 x=0,y=1
			x=1,y=1`},
		{name: "a chain keeps what each of its commands earns", model: `
			dtmc
			module a x : [0..2]; [a] x=0 -> (x'=1); [b] x=0 -> 0.5:(x'=1) + 0.5:(x'=2); endmodule
			rewards "r" [a] true : 2; [b] true : 4; endrewards`, want: `
			x=0
			[] 0.5 x=1 r=2 + 0.25 x=1 r=4 + 0.25 x=2 r=4
			x=1
			x=2`},
		{name: "rewards of states and actions add up; the same choice is listed once", model: `
			mdp
			module m
				x : [0..1];
				[a] x=0 -> (x'=1);
				[a] x<1 -> (x'=1);
				[b] x<1 -> (x'=1);
				[] x<1 -> (x'=1);
			endmodule
			rewards "one" true : 1; x=0 : 2.5; [a] true : x+10; [a] x=0 : 100; endrewards
			rewards [] x<1 : -1; [b] false : 7; endrewards
			rewards "reward" [b] true : 4; endrewards`, want: `
			x=0 one=3.5
			[] 1 x=1 reward2=-1
			[a] 1 x=1 one=110
			[b] 1 x=1 reward=4
			x=1 one=1`},
		{name: "init … endinit with one state", model: `
			mdp
			module m x : [0..9]; b : bool; [] x<9 & b -> (x'=9); endmodule
			init x*x=49 & (b | x<3) endinit`, want: `
			x=7,b=true
			[] 1 x=9,b=true
			x=9,b=true`},
		{name: "states of two players", model: `
			smg
			player one a, [go] endplayer
			player two [stop] endplayer
			module a x : [0..2]; [] x=0 -> (x'=1); [go] x=0 -> (x'=2); [stop] x=1 -> (x'=2); endmodule`, want: `
			x=0 player 0
			[] 1 x=1
			[go] 1 x=2
			x=1 player 1
			[stop] 1 x=2
			x=2 player 0`},
		{name: "clocks run together up to one above their largest number; rates become rewards of time", model: `
			pta
			module m
				s : [0..1]; x : clock; y : clock;
				invariant (s=0 => x<=2) endinvariant
				[go] s=0 & x>=1 & !(y<1) -> 0.5:(s'=1)&(x'=0) + 0.5:(x'=0)&(y'=0);
			endmodule
			rewards "t" s=0 : 3; [go] true : 5; endrewards`, want: `
			s=0,x=0,y=0
			[time] 1 s=0,x=1,y=1 t=3
			s=0,x=1,y=1
			[go] 0.5 s=1,x=0,y=1 + 0.5 s=0,x=0,y=0 t=5
			[time] 1 s=0,x=2,y=2 t=3
			s=1,x=0,y=1
			[time] 1 s=1,x=1,y=2
			s=0,x=2,y=2
			[go] 0.5 s=1,x=0,y=2 + 0.5 s=0,x=0,y=0 t=5
			s=1,x=1,y=2
			[time] 1 s=1,x=2,y=2
			s=1,x=0,y=2
			[time] 1 s=1,x=1,y=2
			s=1,x=2,y=2
			[time] 1 s=1,x=3,y=2
			s=1,x=3,y=2
			[time] 1 s=1,x=3,y=2`},
	} {
		r, err := explore(c.model, c.constants, 1)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got, want := r.String(), clean(c.want); got != want {
			t.Errorf("%s: got\n%swant\n%s", c.name, got, want)
		}
	}
}

// three has modules with actions a, shared by all, b by two and c by one. What a state offers as long as
// every module is in state 0 says how they are composed.
const three = `mdp
	module Pm p : [0..1]; [a] p=0 -> (p'=1); [b] p=0 -> (p'=1); endmodule
	module Qm q : [0..1]; [a] q=0 -> (q'=1); [b] q=0 -> (q'=1); [c] q=0 -> (q'=1); endmodule
	module Rm r : [0..1]; [a] r=0 -> (r'=1); endmodule
`

// TestCompositions holds what the initial state offers, as sets of modules that move.
func TestCompositions(t *testing.T) {
	for _, c := range []struct{ system, want string }{
		{"", "[a]PQR [b]PQ [c]Q"},
		{"system P || Q || R endsystem", "[a]PQR [b]PQ [c]Q"},
		{"system P ||| Q ||| R endsystem", "[a]P [a]Q [a]R [b]P [b]Q [c]Q"},
		{"system (P |[a]| Q) ||| R endsystem", "[a]PQ [a]R [b]P [b]Q [c]Q"},
		{"system (P ||| R) |[a]| Q endsystem", "[a]PQ [a]RQ [b]P [b]Q [c]Q"},
		{"system P |[a,b]| (Q || R) endsystem", "[a]PQR [b]PQ [c]Q"},
		{"system (P |[c]| Q) || R endsystem", "[a]PR [a]QR [b]P [b]Q"},
		{"system ((P |[a]| Q) / {a}) || R endsystem", "[]PQ [b]P [b]Q [c]Q [a]R"},
		{"system (P {a<-c}) || Q || R endsystem", "[c]PQ [b]PQ [a]QR"},
		{"system ((P || Q) {a<-x, x<-a}) || R endsystem", "[x]PQ [b]PQ [c]Q [a]R"},
		{"system (P {a<-b}) ||| Q ||| R endsystem", "[b]P [a]Q [a]R [b]Q [c]Q"},
		{"system (P {a<-b}) || Q || R endsystem", "[b]PQ [a]QR [c]Q"},
		{"system (P {b<-c, a<-c}) || Q || R endsystem", "[c]PQ [b]Q [a]QR"},
		{"system \"inner\" || R endsystem system \"inner\" (P || Q) / {b, c} endsystem", "[]PQ []Q [a]PQR"},
		{"system ((P || Q) / {a}) || R endsystem", "[]PQ [b]PQ [c]Q [a]R"},
		{"system (P |[z]| Q) || R endsystem", "[a]PR [a]QR [b]P [b]Q [c]Q"},
		{"system ((P {a<-q}) |[a]| Q) || R endsystem", "[q]P [b]P [b]Q [c]Q"},
	} {
		system := strings.NewReplacer("P", "Pm", "Q", "Qm", "R", "Rm").Replace(c.system) // P and R are keywords
		r, err := explore(three+system, nil, 1)
		if err != nil {
			t.Errorf("%s: %v", c.system, err)
			continue
		}
		var got []string
		for _, choice := range r.choices[0] {
			action, to := "["+r.p.Actions[choice.action], r.name(choice.next[0])
			moved := ""
			for _, v := range strings.Split(to, ",") {
				if name, ok := strings.CutSuffix(v, "=1"); ok {
					moved += strings.ToUpper(name)
				}
			}
			got = append(got, action+"]"+moved)
		}
		if !sameSet(got, strings.Fields(c.want)) {
			t.Errorf("%s: got %v, want %s", c.system, got, c.want)
		}
	}
}

// sameSet compares moves; the letters of modules may stand in any order.
func sameSet(got, want []string) bool {
	count := make(map[string]int)
	for _, x := range got {
		count[sorted(x)]++
	}
	for _, x := range want {
		count[sorted(x)]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

func sorted(move string) string {
	action, modules, _ := strings.Cut(move, "]")
	text := action + "]"
	for _, m := range []string{"P", "Q", "R"} {
		if strings.Contains(modules, m) {
			text += m
		}
	}
	return text
}
