package exact

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestConflictOfVerdicts gives the search for a conflict the verdicts on all sets of limits: those that hold one of
// some drawn ones are infeasible, and of some nothing is known. No limit that is known to be needless is named, and it
// is said whether one may be. A conflict of one or two limits is found where it is known.
func TestConflictOfVerdicts(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 5))
	doubts := 0
	for trial := range 300 {
		n, unknown := 2+rng.IntN(4), 3
		if trial == 0 {
			n, unknown = smallSubsets, 1<<30
		}
		clashes := []int{1 + rng.IntN(1<<n-1)}
		if trial%2 == 0 && n > 2 { // a pair, and all others
			clashes = []int{3, 1<<n - 4}
		}
		c := conflictSearch{n: n, verdicts: make(map[string]Verdict)}
		verdict, fewest := make([]Verdict, 1<<n), n
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
			if slices.ContainsFunc(clashes, func(clash int) bool { return set&clash == clash }) {
				verdict[set] = Infeasible
			}
			if set != len(verdict)-1 && rng.IntN(unknown) == 0 {
				verdict[set] = Undecided
			}
			if of := bits.OnesCount(uint(set)); of <= 2 && verdict[set] == Infeasible && of > 0 {
				fewest = min(fewest, of)
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
		if verdict[set] != Infeasible || needless || open && !undecided || len(core) > fewest {
			t.Errorf("trial %d: %v, undecided %v: needless %v, open %v, fewest %d", trial, core, undecided, needless, open,
				fewest)
		}
		if undecided {
			doubts++
		}
	}
	if doubts < 30 || doubts > 270 {
		t.Errorf("%d of 300 sets may not be smallest: the test says little", doubts)
	}
}
