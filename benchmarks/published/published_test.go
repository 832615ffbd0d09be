package main

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp/problem"
)

// TestModels holds the problems against what is known of them: optima worked out by hand,
// and what the experiments' own code says.
func TestModels(t *testing.T) {
	model := func(p *problem.Problem, err error) *problem.Problem {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, x := range []struct {
		p          *problem.Problem
		states     int
		low, high  float64 // of the best reward
		limit      float64 // of the cost
		everything bool    // the limit binds
	}{
		// Three moves, from states 1, 2 and 3.
		{model(ring(at(0), 1)), 3, 6, 6, 3, true},
		{model(ring(at(0), 1./3)), 3, 2, 2, 3, true},
		// Of nine moves in all three starts one pays 3, from the third state, the next two 5, from the second;
		// the others come in rounds that pay 2 a move.
		{model(ring(uniform3, 1)), 3, 20. / 3, 20. / 3, 3, true},
		// The bit is 0: the free action pays. It is 1: the other does, in a ninth of these cases.
		{model(coin()), 5, 0.1 + 0.1, 0.1 + 0.1, 0.1, true},
		// The experiments ask ApproPO for 1.4 and 1.58, so as much must be possible.
		{model(rover()), 64, 1.53628843953, 1.53628843954, 0.3, true},
		{model(warehouse()), 60, 1.74967661585, 1.74967661586, 0.1, true},
		// At least the reward of the steps at the goal, if the way there costs little; at most that of
		// the way without limit: 7 steps at the goal, 18 of at most 25.
		{model(maze(1)), 324, 600, 7*100 + 18*25, 5, false},
	} {
		if n := x.p.Model.States(); n != x.states {
			t.Errorf("%s: %d states: want %d", x.p.Name, n, x.states)
		}
		best, err := solve(t.Context(), x.p)
		if err != nil {
			t.Fatal(err)
		}
		if r := best.Returns[0]; r < x.low-1e-9 || r > x.high+1e-9 {
			t.Errorf("%s: best reward %g: want %g to %g", x.p.Name, r, x.low, x.high)
		}
		if c := best.Returns[1]; c > x.limit+1e-9 || x.everything && c < x.limit-1e-6 {
			t.Errorf("%s: cost %g: want %g", x.p.Name, c, x.limit)
		}
	}
}

// TestConflict: reward and utility share ten steps, so the optimum takes all but the limit,
// as the experiment prints it: 5.19 and 4.81.
func TestConflict(t *testing.T) {
	for seed := range uint64(3) {
		p, err := conflict(t.Context(), seed+1)
		if err != nil {
			t.Fatal(err)
		}
		best, err := solve(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		limit := *p.Constraints[0].AtLeast
		if math.Abs(best.Returns[0]+best.Returns[1]-10) > 1e-9 || math.Abs(best.Returns[1]-limit) > 1e-6 ||
			limit < 4.5 || limit > 5 {
			t.Errorf("seed %d: returns %v, limit %g", seed, best.Returns, limit)
		}
	}
}

// TestRepeats plays all studies for short, twice, and makes the report anew from its records.
func TestRepeats(t *testing.T) {
	if testing.Short() {
		t.Skip("plays")
	}
	dir := t.TempDir()
	args := []string{"--seeds", "2", "--shorter", "2000", "--out", dir}
	read := func() string {
		data, err := os.ReadFile(filepath.Join(dir, "published.md"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if err := run(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	first := read()
	for _, s := range studies {
		if !strings.Contains(first, "## "+s.title) {
			t.Errorf("no section %s", s.title)
		}
		if info, err := os.Stat(filepath.Join(dir, "published-"+s.name+".svg")); err != nil || info.Size() == 0 {
			t.Errorf("no picture of %s: %v", s.name, err)
		}
	}
	records, err := readRecords(filepath.Join(dir, "published.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if err := run(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	again, err := readRecords(filepath.Join(dir, "published.csv"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range records { // NaN is not equal to itself
		for _, r := range []*record{&records[i], &again[i]} {
			if math.IsNaN(r.Safe) {
				r.Safe = -1
			}
			if math.IsNaN(r.Violating) {
				r.Violating = -1
			}
		}
	}
	if !reflect.DeepEqual(records, again) {
		t.Error("another run has other records")
	}
	if err := run(context.Background(), append(args, "--from", filepath.Join(dir, "published.csv"))); err != nil {
		t.Fatal(err)
	}
	if read() != first {
		t.Error("the report from records differs from that of the run")
	}
	for _, other := range [][]string{{"--seeds", "2", "--shorter", "1000"}, {"--seeds", "3", "--shorter", "2000"}} {
		err := run(context.Background(), append(other, "--out", dir, "--from", filepath.Join(dir, "published.csv")))
		if err == nil || !strings.Contains(err.Error(), "want") {
			t.Errorf("records of other runs were taken with %v: %v", other, err)
		}
	}
}

// TestClaims wants each kind of claim to be able to hold and not to.
func TestClaims(t *testing.T) {
	flat := func(x float64) []float64 { return []float64{x, x, x, x, x, x} }
	of := func(regret, gap, excess, violating float64, swing float64) *line {
		l := &line{}
		for seed := range 3 {
			r := record{Seed: uint64(seed), Regret: flat(600 * regret), Violation: flat(0), Gap: flat(gap),
				Excess: flat(excess), Violating: violating}
			r.Gap[5] += swing
			l.runs = append(l.runs, r)
		}
		return l
	}
	pair := func(a, b *line) *result {
		lines := []*line{{player: &player{name: "a"}, runs: a.runs}, {player: &player{name: "b"}, runs: b.runs}}
		return &result{study: studies[0], episodes: []int{100, 200, 300, 400, 500, 600}, lines: lines}
	}
	good, bad := of(1, 0.01, -0.01, 0, 0), of(2, 0.5, 0.5, 0.5, 2)
	for i, x := range []struct {
		claim  claim
		on     *result
		expect bool
	}{
		{violates("a"), pair(bad, good), true},
		{violates("a"), pair(good, bad), false},
		{neverViolates("a"), pair(good, bad), true},
		{neverViolates("a", "b"), pair(good, bad), false},
		{comesNear("a", 0.1), pair(good, bad), true},
		{comesNear("a", 0.1), pair(bad, good), false},
		{comesNear("a", 0.1), pair(of(1, -0.5, -1, 0, 0), bad), false},
		{comesNear("a", 0.1), pair(of(1, 0, 0.2, 0, 0), bad), false},
		{learns("a", 0.5), pair(of(1, 1, 0, 0, -3), bad), true},
		{learns("a", 0.5), pair(good, bad), false},
		{keeps("a"), pair(good, bad), true},
		{keeps("a"), pair(bad, good), false},
		{losesLess("a", "b"), pair(good, bad), true},
		{losesLess("a", "b"), pair(bad, good), false},
		{losesLess("a", "b"), pair(good, of(1, 0, 0, 0, 0)), false},
		{keepsSwinging("a", 1), pair(bad, good), true},
		{keepsSwinging("a", 1), pair(good, bad), false},
		{settles("a", 1), pair(good, bad), true},
		{settles("a", 1), pair(bad, good), false},
	} {
		if found, holds := x.claim.test(x.on); holds != x.expect {
			t.Errorf("%d: %q, found %q: holds %v", i, x.claim.says, found, holds)
		}
	}
}

func TestBadFlags(t *testing.T) {
	for want, args := range map[string][]string{
		`unknown study "x"`:   {"--study", "x"},
		"--seeds 1":           {"--seeds", "1"},
		"--shorter 0":         {"--shorter", "0"},
		"unexpected argument": {"ring"},
		"named twice":         {"--study", "ring,ring"},
		"want --trial":        {"--study", "ring"},
		"no such file":        {"--from", "nowhere.csv"},
	} {
		if err := run(context.Background(), args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v: want %q", args, err, want)
		}
	}
	path := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(path,
		[]byte("study,player,seed,episodes,safe,violating,regret,violation,gap,excess\nring,optcmdp,one,9,0,0,1,1,1,1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := run(context.Background(), []string{"--from", path}); err == nil ||
		!strings.Contains(err.Error(), "line 2") {
		t.Errorf("%v: want the line", err)
	}
}

func TestNamesDiffer(t *testing.T) {
	var names []string
	for _, s := range studies {
		names = append(names, s.name)
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(studies) {
		t.Error("two studies have one name")
	}
}
