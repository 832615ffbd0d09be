package prism_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// TestRenamed: a module that is another one with other names is that one's text with these names in their places, and
// with its formulas written out.
func TestRenamed(t *testing.T) {
	rng := rand.New(rand.NewPCG(28, 8))
	pick := func(from ...string) string { return from[rng.IntN(len(from))] }
	names := regexp.MustCompile(`[a-z]\w*`)
	read := 0
	for range 60 {
		one := fmt.Sprintf(" x : [low..high]%s; u : bool%s;", pick("", " init low", " init high", " init min(high,low+1)"),
			pick("", " init on"))
		kind, clocks, set := "mdp", []string{"true"}, ""
		if rng.IntN(8) == 0 {
			kind, clocks, set = "pta", []string{"true", "c>=low", "c<=high"}, "&(c'=low)"
			one += " c : clock; invariant u=>c<=high-low endinvariant"
		}
		for range 1 + rng.IntN(4) {
			number := func() string { return pick("x", "low", "high", "min(x,high)", "max(low,x)", "near") }
			one += fmt.Sprintf("\n [%s] %s & %s -> share:(x'=low+mod(%s+%s,high-low+1))%s + 1-share:(u'=%s);",
				pick("", "a", "b"), pick("x<"+number(), "u", "u=on", "full", "true"), pick(clocks...),
				number(), number(), pick("", set), pick("!u", "on", "full"))
		}
		rename, again := []string{"x=y", "u=v", "c=d"}, []string{"y=z", "v=w", "d=e"}
		for _, list := range []*[]string{&rename, &again} {
			for _, r := range []string{"low=low2", "high=high2", "on=off", "share=rest", "a=b,b=a", "min=max,max=min",
				"low2=low", "rest=share", "near=low", "full=on"} { // the last two are formulas, whose names stay
				if rng.IntN(2) == 0 {
					*list = append(*list, r)
				}
			}
		}
		written := func(body string, list []string) string {
			to := make(map[string]string)
			for _, r := range strings.Split(strings.Join(list, ","), ",") {
				old, name, _ := strings.Cut(r, "=")
				to[old] = name
			}
			return names.ReplaceAllStringFunc(body, func(name string) string { return cmp.Or(to[name], name) })
		}
		head := fmt.Sprintf(kind+" const int low = %d; const int low2 = %d; const int high = %d; const int high2 = %d; "+
			"const bool on = %t; const bool off = false; const double share = 0.25; const double rest = 0.5;\n"+
			"formula near = max(x,low); formula full = x=high & u=on;\nmodule m\n", rng.IntN(2), rng.IntN(2),
			2+rng.IntN(2), 2+rng.IntN(2), rng.IntN(2) == 0) + one + " endmodule\n"
		plain := strings.NewReplacer("near", "max(x,low)", "full", "(x=high & u=on)").Replace(one)
		second := written(plain, rename)
		want, wrong := explore(head+"module n\n"+second+" endmodule\nmodule o\n"+written(second, again)+" endmodule", nil, 1)
		text := head + "module n = m [" + strings.Join(rename, ",") + "] endmodule\nmodule o = n [" +
			strings.Join(again, ",") + "] endmodule"
		got, err := explore(text, nil, 1)
		if (err != nil) != (wrong != nil) {
			t.Fatalf("%v: want %v\n%s", err, wrong, text)
		}
		if err != nil {
			continue
		}
		read++
		if got.String() != want.String() {
			t.Fatalf("%s\nis\n%swant\n%s", text, got, want)
		}
	}
	if read < 40 {
		t.Errorf("%d models were read", read)
	}
}
