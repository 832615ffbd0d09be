package exact

import (
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
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

// TestShortConflicts lets the search for a conflict take as many value iterations as the verdict took, of which some
// changes remain known to a range alone. It takes no more but for the few that each limit has in any case.
func TestShortConflicts(t *testing.T) {
	conflicts, ranges := 0, 0
	for trial := range 60 {
		rng := rand.New(rand.NewPCG(uint64(trial), 26))
		spec := cmdp.ModelSpec{Horizon: 6, Dim: 4, Start: []cmdp.StartState{{State: 0, Probability: 1}}}
		k := &kind{t: t, m: drawRows(t, rng, spec, 1, 40, false), dim: 4, unit: 1}
		k.planner = k.fresh()
		least, most, err := k.planner.Ranges(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		k.box, err = geometry.NewBox(least, most)
		if err != nil {
			t.Fatal(err)
		}
		rows := make([]cmdp.Constraint, 4)
		for i := range rows {
			offset := least[i] + 0.4*rng.Float64()*(most[i]-least[i])
			rows[i] = cmdp.Constraint{Normal: axis(k.dim, i, 1), Offset: offset}
		}
		task, err := k.task(axis(k.dim, 0, 1), rows)
		if err != nil {
			t.Fatal(err)
		}
		r, err := k.planner.Solve(t.Context(), task, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != Infeasible {
			continue
		}
		counted := &countingPricer{pricer: k.planner.pricer}
		k.planner.pricer = counted
		c, err := k.planner.Conflict(t.Context(), cmdp.Task{Box: k.box, Constraints: rows}, nil,
			Options{Iterations: r.Iterations})
		if err != nil || c == nil {
			t.Fatalf("trial %d: %+v, %v", trial, c, err)
		}
		conflicts++
		if most := r.Iterations + (leastRelaxing+1)*len(c.Rows); counted.prices > most {
			t.Errorf("trial %d: %d value iterations: want at most %d", trial, counted.prices, most)
		}
		for j := range c.Rows {
			if c.RelaxLeast[j] < c.Relax[j] {
				ranges++
			}
		}
	}
	if conflicts < 20 || ranges < 5 {
		t.Errorf("%d conflicts, %d ranges: the test says little", conflicts, ranges)
	}
}

// TestKnownCertificates asks a planner again whether a return can be as low. Whoever asked before may change the proof,
// and what is known of the direction may be less than can be proved, as where time was over.
func TestKnownCertificates(t *testing.T) {
	for trial, name := range kinds[:len(kinds)-1] { // of sums nothing is kept
		k := drawKind(t, rand.New(rand.NewPCG(uint64(trial), 27)), name, 1)
		k.checkRanges(name, false)
		down := axis(k.dim, 0, 1)
		least := k.least(down, nil)
		task, err := k.task(down, []cmdp.Constraint{{Normal: down, Offset: least - 0.1*k.unit}})
		if errors.Is(err, geometry.ErrEmpty) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		task.Whole = nil
		for range 2 {
			r, err := k.planner.Solve(t.Context(), task, Options{})
			if err != nil || r.Status != Infeasible {
				t.Fatalf("%s: %v, %v: want infeasible", name, r.Status, err)
			}
			floats.Scale(-1, r.Certificate.Direction)
			known := k.planner.bounds.rechecked(down)
			if known == nil {
				t.Fatalf("%s: the planner no longer knows what it proved", name)
			}
			known.value -= k.unit
		}
		if _, err := k.planner.Conflict(t.Context(), task, nil, Options{Iterations: -1}); err == nil {
			t.Errorf("%s: a conflict in -1 value iterations: want an error", name)
		}
	}
}
