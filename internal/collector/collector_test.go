package collector

import (
	"os"
	"runtime/debug"
	"testing"

	"cmdpsolve/cmdp"
)

// line returns a model in which each state leads to the next one.
func line(t *testing.T, transitions int) *cmdp.Model {
	k := cmdp.Kernel{First: []int32{0}, Offset: []int{0}, Returns: make([]float64, transitions)}
	for n := range int32(transitions) {
		k.Next, k.Prob = append(k.Next, n+1), append(k.Prob, 1)
		k.Offset, k.First = append(k.Offset, len(k.Next)), append(k.First, n+1)
	}
	k.First = append(k.First, int32(transitions))
	m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: 1, Dim: 1, Kernels: []cmdp.Kernel{k}, Start: []cmdp.StartState{{State: 0, Probability: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Only large models change the setting, and none that the user has made.
func TestTighten(t *testing.T) {
	const before = 77
	defer debug.SetGCPercent(debug.SetGCPercent(before))
	for _, test := range []struct {
		transitions int
		gogc        string
		want        int
	}{{large - 1, "", before}, {large, "77", before}, {large, "", percent}} {
		t.Setenv("GOGC", test.gogc)
		if test.gogc == "" {
			os.Unsetenv("GOGC") // Setenv puts back what was there
		}
		debug.SetGCPercent(before)
		Tighten(line(t, test.transitions))
		if got := debug.SetGCPercent(before); got != test.want {
			t.Errorf("%d transitions, GOGC=%q: %d: want %d", test.transitions, test.gogc, got, test.want)
		}
	}
}
