package nearest

import "testing"

func TestListIsSortedByEdits(t *testing.T) {
	if got := List("sede", []string{"S", "d", "seed", "side"}); got != "side, seed, S, d" {
		t.Errorf("the list is %s", got)
	}
}

// TestFindIsOneSlipAway: the nearest candidate, letters that changed places are one slip, and nothing if all are far.
func TestFindIsOneSlipAway(t *testing.T) {
	for _, c := range []struct {
		name       string
		candidates []string
		want       string
	}{
		{"engery", []string{"delay", "energy"}, "energy"},
		{"Fuel", []string{"fuels", "fuel"}, "fuel"},
		{"ab", []string{"ba"}, "ba"},
		{"ab", []string{"cd"}, ""},
		{"", []string{"a"}, ""},
		{"a", nil, ""},
	} {
		if got := Find(c.name, c.candidates); got != c.want {
			t.Errorf("%q among %q: %q, want %q", c.name, c.candidates, got, c.want)
		}
	}
}
