package prism_test

import (
	"slices"
	"strings"
	"testing"
)

// TestConstructs holds models of a few states whose rows are worked out by hand.
func TestConstructs(t *testing.T) {
	for _, c := range []struct {
		name, model, want string
	}{
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
	} {
		r, err := explore(c.model, nil, 1)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := r.String(); !slices.Equal(strings.Fields(got), strings.Fields(c.want)) {
			t.Errorf("%s: got\n%swant\n%s", c.name, got, c.want)
		}
	}
}
