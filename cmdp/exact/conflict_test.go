package exact

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestConflictOfVerdicts gives the search for a conflict the verdicts on all sets of limits: those that hold a drawn
// one are infeasible, and of some nothing is known. No limit that is known to be needless is named, and it is said
// whether one may be.
func TestConflictOfVerdicts(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 5))
	doubts := 0
	for trial := range 300 {
		n := 2 + rng.IntN(4)
		clash := 1 + rng.IntN(1<<n-1)
		c := conflictSearch{n: n, verdicts: make(map[string]Verdict)}
		verdict := make([]Verdict, 1<<n)
		limits := func(set int) (out []int) {
			for k := range n {
				if set>>k&1 == 1 {
					out = append(out, k)
				}
			}
			return out
		}
		for set := range verdict {
			verdict[set] = Optimal
			if set&clash == clash {
				verdict[set] = Infeasible
			}
			if set != len(verdict)-1 && rng.IntN(3) == 0 {
				verdict[set] = Undecided
			}
			c.verdicts[fmt.Sprint(limits(set))] = verdict[set]
		}
		core, err := c.smallConflict()
		if err != nil {
			t.Fatal(err)
		}
		if core == nil {
			core = limits(len(verdict) - 1)
		}
		core, undecided, err := c.deletionFilter(core)
		if err != nil {
			t.Fatal(err)
		}
		set := 0
		for _, k := range core {
			set |= 1 << k
		}
		needless, open := false, false
		for _, k := range core {
			rest := set &^ (1 << k)
			needless = needless || len(core) > 1 && verdict[rest] == Infeasible
			kept := false // with more limits, which says that it is kept
			for more := range verdict {
				kept = kept || more&rest == rest && verdict[more] == Optimal
			}
			open = open || len(core) > 1 && !kept
		}
		if verdict[set] != Infeasible || needless || open && !undecided {
			t.Errorf("trial %d: %v for %v, undecided %v: needless %v, open %v", trial, core, limits(clash), undecided,
				needless, open)
		}
		if undecided {
			doubts++
		}
	}
	if doubts < 30 || doubts > 270 {
		t.Errorf("%d of 300 sets may not be smallest: the test says little", doubts)
	}
}
