package main

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/query"
	"cmdpsolve/oracle/lp"
)

func TestFlagsAreChecked(t *testing.T) {
	for _, args := range [][]string{
		{"--part", "small"}, {"--rounds", "0"}, {"--limit", "0"}, {"--limit", "NaN"}, {"--lp-states", "3"}, {"extra"},
		{"--job", "{"},
		{"--job", `{"kind":"none","states":10}`},
	} {
		if err := run(context.Background(), args); err == nil {
			t.Errorf("%q: want an error", args)
		}
	}
}

func rounds(t *testing.T, o *options, part string) [][]job {
	t.Helper()
	for _, p := range allParts {
		if p.name == part {
			all, err := p.rounds(o)
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
	}
	t.Fatalf("no part %s", part)
	return nil
}

// The queries of a folder have the verdicts that are known, each in a row of the report.
func TestQueries(t *testing.T) {
	o := &options{queries: filepath.Join("..", "..", "cmdp", "problem", "testdata", "qcomp")}
	var sec section
	for _, round := range rounds(t, o, "queries") {
		if name := filepath.Base(round[0].File); strings.HasPrefix(name, "tea") || strings.HasPrefix(name, "vir") {
			sec.Records = append(sec.Records, record{job: round[0], outcome: *do(t, round[0])})
		}
	}
	var b strings.Builder
	writeQueries(&b, sec)
	for _, want := range []string{"| tea-N2-PfRt-ach | 1847 | 1846 | optimal |",
		"| tea-N2-PfRtPf-ach | 1847 | 1846 | infeasible |", "| vir-N2-LrLr-ach | 80 | 526 | infeasible |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s\nlacks %q", &b, want)
		}
	}
	o.queries = t.TempDir()
	if _, err := o.queryRounds(); err == nil {
		t.Error("want an error of a folder without a problem file")
	}
}

// Jobs that are compared are in one round, and larger models get fewer rounds.
func TestRoundsTakeTurns(t *testing.T) {
	o, err := parse([]string{"--rounds", "3", "--lp-states", "50,200,1000", "--limit", "7"})
	if err != nil {
		t.Fatal(err)
	}
	count := map[int]int{}
	for _, round := range rounds(t, o, "lp") {
		count[round[0].States]++
		if round[0].Kind != "exact" || round[0].Limit != 0 {
			t.Errorf("first of a round is %+v: want exact without a limit", round[0])
		}
		for _, j := range round[1:] {
			if j.States != round[0].States || j.Limit != 7 || j.Threads != 1 {
				t.Errorf("%+v in a round of %+v", j, round[0])
			}
		}
	}
	if count[50] != 3 || count[200] != 1 || count[1000] != 1 {
		t.Errorf("rounds by size are %v: want 3, 1, 1", count)
	}
	for _, round := range rounds(t, o, "large") {
		if len(round) != 4 {
			t.Fatalf("round %+v: want four jobs", round)
		}
		for i, j := range round {
			if j.Threads != 1+i%2 || j.Kind != []string{"exact", "local"}[i/2] {
				t.Errorf("job %d is %+v: want one thread, then two, of either kind", i, j)
			}
		}
	}
}

// All solvers that are there agree on a small model, and both bounds bind.
func TestSolversAgree(t *testing.T) {
	own := do(t, job{Kind: "exact", States: 12, Seed: 1, Threads: 1})
	if len(own.Prices) != 2 || own.Prices[0] <= 0 || own.Prices[1] <= 0 {
		t.Errorf("prices of the bounds are %v: want both positive", own.Prices)
	}
	if own.Nonzeros != 12*actions*successors || own.Sweeps < 1 || own.Bound > own.Objective {
		t.Errorf("outcome %+v of exact is inconsistent", own.exactOutcome)
	}
	for _, kind := range []string{"glpk", "glpsol", "highs-ds", "highs-ipm"} {
		out := do(t, job{Kind: kind, States: 12, Seed: 1, Threads: 1, Limit: 60})
		if out.Missing != "" {
			t.Logf("%s: %s", kind, out.Missing)
			continue
		}
		if math.Abs(out.Objective-own.Objective) > 1e-7*own.Objective || out.CutOff || !(out.Seconds > 0) {
			t.Errorf("%s: outcome %+v: want the objective %v", kind, out, own.Objective)
		}
		if out.Rows != 12*horizon+2 || out.Columns != 12*horizon*actions {
			t.Errorf("%s: %d rows and %d columns", kind, out.Rows, out.Columns)
		}
	}
}

func do(t *testing.T, j job) *outcome {
	t.Helper()
	out, err := j.do(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Successors of a local model are near, different and of all probability, and both
// bounds bind.
func TestLocalModels(t *testing.T) {
	const states = 3000
	k := drawLocal(rand.New(cmdp.Stream(1, "local")), states)
	farthest := 0
	for c := range states * actions {
		next := k.Next[k.Offset[c]:k.Offset[c+1]]
		sum := 0.0
		for i, n := range next {
			away := (int(n) - c/actions + states) % states
			farthest = max(farthest, min(away, states-away))
			sum += k.Prob[k.Offset[c]+i]
			if i > 0 && n <= next[i-1] {
				t.Fatalf("choice %d leads to %v: want different states in order", c, next)
			}
		}
		if len(next) != successors || math.Abs(sum-1) > 1e-12 {
			t.Fatalf("choice %d has %d successors of probability %v", c, len(next), sum)
		}
	}
	if farthest != window {
		t.Errorf("the farthest successor is %d states away: want %d", farthest, window)
	}
	out := do(t, job{Kind: "local", States: 60, Seed: 1, Threads: 1})
	if len(out.Prices) != 2 || out.Prices[0] <= 0 || out.Prices[1] <= 0 {
		t.Errorf("prices of the bounds are %v: want both positive", out.Prices)
	}
}

func TestAnswersDoNotDependOnThreads(t *testing.T) {
	var records []record
	for _, threads := range []int{1, 2} {
		j := job{Kind: "exact", States: 3000, Seed: 2, Threads: threads}
		text, err := json.Marshal(record{job: j, outcome: *do(t, j)})
		if err != nil {
			t.Fatal(err)
		}
		var r record // as it comes back from the file
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	if !identical(records) {
		t.Errorf("answers differ: %+v, %+v", records[0], records[1])
	}
	records[1].Objective = math.Nextafter(records[1].Objective, 0)
	if identical(records) {
		t.Error("an objective that is off by one bit counts as the same")
	}
}

// TestEndless solves a small model of each family without a horizon.
func TestEndless(t *testing.T) {
	for _, j := range []job{{Family: "garnet", Gamma: 0.99}, {Family: "ring", Gamma: 0.99}, {Family: "tree", Gamma: 1},
		{Family: "chain", Gamma: 1},
		{Family: "loops", Gamma: 1}, {Family: "giant", Gamma: 1}, {Family: "sensor"}} {
		j.Kind, j.States, j.Seed, j.Threads = "endless", 1000, 1, 1
		out := do(t, j)
		size := out.Objective
		if j.Gamma == 0 {
			size = 1 // the gap of means is measured by what they vary about, and classes that are joined use it
		}
		if gap := out.Objective - out.Bound; !(gap >= 0 && gap <= 3*endlessGap*size) || out.First <= 0 ||
			out.Policy == "" {
			t.Errorf("%+v: %+v", j, out)
		}
	}
}

// TestStructures asks for the limits of a small model of each structure.
func TestStructures(t *testing.T) {
	for family, verdict := range map[string]string{"team": "infeasible", "rooms": "optimal", "power": "optimal",
		"philosophers": "infeasible",
		"exclusion":    "infeasible"} {
		out := do(t, job{Kind: "structure", Family: family, States: 2000, Seed: 1, Threads: 1})
		if out.Verdict != verdict || len(out.Phases) < 2 || out.Nonzeros < 1300 {
			t.Errorf("%s: %+v: want %s", family, out, verdict)
		}
	}
}

// TestCurves asks for the curve of a small model of each structure.
func TestCurves(t *testing.T) {
	for _, family := range []string{"rooms", "clock", "budget", "grid", "gridfar", "counters", "sensor"} {
		states := map[string]int{"counters": 40_000, "budget": 30_000, "grid": 100}[family]
		out := do(t, job{Kind: "curve", Family: family, States: max(1000, states), Seed: 1, Threads: 1})
		if out.Points < 3 || out.Points > out.Sweeps {
			t.Errorf("%s: %+v: want a curve", family, out)
		}
	}
	points := make(map[string]int)
	for _, kind := range []string{"generated", "stored"} {
		for _, family := range []string{"counters", "waits", "kept"} {
			out := do(t, job{Kind: kind, Family: family, States: 40_000, Seed: 1, Threads: 1})
			if out.Points < 3 || out.Pairs < 20_000 || points[family] > 0 && out.Points != points[family] {
				t.Errorf("%s %s: %+v: want a curve of %d points", kind, family, out, points[family])
			}
			points[family] = out.Points
		}
	}
	var most []float64
	for _, kind := range []string{"generated", "stored"} {
		out := do(t, job{Kind: kind, Family: "gathers", States: 40_000, Seed: 1, Threads: 1})
		most = append(most, out.Objective)
	}
	if math.Abs(most[0]-most[1]) > 1e-9 {
		t.Errorf("%g is gathered from rows that are generated, %g from stored ones", most[0], most[1])
	}
}

func TestChecksumSeesThePolicy(t *testing.T) {
	p, err := job{States: 20, Seed: 1}.problem()
	if err != nil {
		t.Fatal(err)
	}
	task, err := query.TaskOf(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	bound, err := exact.Solve(context.Background(), p.Model, task, exact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	free, err := exact.Solve(context.Background(), p.Model, cmdp.Task{Cost: task.Cost}, exact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if checksum(p.Model, bound.Policy) == checksum(p.Model, free.Policy) {
		t.Error("different policies have the same checksum")
	}
}

func TestLoopMeasures(t *testing.T) {
	out := do(t, job{Kind: "loop", States: 200, Seed: 1, Threads: 1})
	if !(out.Iteration > 0 && out.Bare > 0 && out.Ratio > 0) {
		t.Errorf("outcome %+v: want positive times", out.loopOutcome)
	}
}

func TestMedianAndRatio(t *testing.T) {
	if m := median([]float64{5, 1, 3}); m != 3 {
		t.Errorf("median is %v: want 3", m)
	}
	if m := median([]float64{4, 1, 3, 2}); m != 2.5 {
		t.Errorf("median is %v: want 2.5", m)
	}
	at := func(round int, seconds float64) record {
		return record{Round: round, outcome: outcome{Seconds: seconds}}
	}
	own := []record{at(0, 1), at(1, 10), at(2, 2)}
	other := []record{at(0, 7), at(1, 50), at(2, 20)}
	if x := ratioOf(other, own, wall); x != 7 {
		t.Errorf("ratio is %v: want the median 7 of 7, 5, 10", x)
	}
}

func TestAnswerOfGlpsol(t *testing.T) {
	x, optimal, err := readAnswer([]byte("c Status: OPTIMAL\ns bas 3 4 f f -1.5\ni 1 b 2 0\n"))
	if err != nil || !optimal || x != -1.5 {
		t.Errorf("read %v, %v, %v", x, optimal, err)
	}
	if _, optimal, err = readAnswer([]byte("s bas 3 4 u u 0\n")); err != nil || optimal {
		t.Errorf("an unfinished solution is optimal: %v, %v", optimal, err)
	}
	if _, _, err = readAnswer([]byte("c nothing\n")); err == nil {
		t.Error("no solution line: want an error")
	}
}

func TestProgramAsText(t *testing.T) {
	p := &lp.Problem{Minimize: []float64{1, 0}, Rows: []lp.Constraint{
		{Index: []int{0, 1}, Coef: []float64{1, -0.5}, Lower: 1, Upper: 1},
		{Index: []int{1}, Coef: []float64{2}, Lower: math.Inf(-1), Upper: 0},
	}}
	want := "NAME occupancy\nROWS\n N cost\n E r0\n L r1\nCOLUMNS\n x0 cost 1\n x0 r0 1\n x1 r0 -0.5\n x1 r1 " +
		"2\nRHS\n b r0 1\nENDATA\n"
	if got := string(mps(p)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMemoryWatchSeesAllocation(t *testing.T) {
	w := watchMemory()
	held := make([]byte, 64<<20)
	time.Sleep(10 * time.Millisecond)
	held[1] = 1
	if most := w.stop(); most < 60e6 {
		t.Errorf("saw %v bytes of %d", most, len(held))
	}
}

// The report keeps what people wrote, says "more than" of what was cut off and
// names what is missing.
func TestReport(t *testing.T) {
	folder := t.TempDir()
	own := job{Kind: "exact", States: 50, Threads: 1}
	exactly := func(threads int) record {
		r := record{job: own, outcome: outcome{Seconds: 1, Processor: 1, Objective: 2, Peak: 1e6,
			exactOutcome: exactOutcome{Bound: 2, Prices: []float64{1, 2}, Sweeps: 3, Sweeping: 0.5, Policy: "a",
				Nonzeros: 1000}}}
		r.Threads = threads
		return r
	}
	slow := record{job: job{Kind: "glpk", States: 50, Threads: 1},
		outcome: outcome{CutOff: true, Seconds: 300, Processor: 200}}
	gone := record{job: job{Kind: "highs-ds", States: 50, Threads: 1}, outcome: outcome{Missing: "no scipy"}}
	two := exactly(2)
	two.Policy = "b"
	near, more := exactly(1), exactly(1)
	near.Kind, more.Kind = "local", "local"
	more.States, more.Processor, more.Peak = 500, 100, 1e8
	loop := record{job: job{Kind: "loop", States: 50, Threads: 1},
		outcome: outcome{loopOutcome: loopOutcome{3, 2, 1.5}}}
	late := record{job: job{Kind: "structure", Family: "power", States: 424, Limit: 60},
		outcome: outcome{CutOff: true, Seconds: 60, Processor: 60}}
	s := store{
		"endless": {Machine: "a machine", Records: []record{late}},
		"lp":      {Machine: "a machine", Records: []record{exactly(1), gone, slow}},
		"loop":    {Machine: "a machine", Records: []record{loop}},
		"large":   {Machine: "a machine", Records: []record{exactly(1), two, near, more}},
	}
	if err := s.write(folder); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "scale.md")
	if err := os.WriteFile(path, []byte("old\n"+"## What was found"+"\n\nKept.\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := run(context.Background(), []string{"--report", "--out", folder}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"more than 200 |", "no scipy", "| 50 | 1000 | 3.00 | 2.00 | 1.50 |",
		"**not the same**", "| local | 50 | 500 | 2.00 | 2.00 | 2.00 |",
		"| power | 424 | | | | more than 60.0 | | | | | |\n", "Kept."} {
		if !strings.Contains(string(text), want) {
			t.Errorf("report lacks %q:\n%s", want, text)
		}
	}
}

func TestDigits(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 1234.5: "1234", 0.012345: "0.0123", -2.5e-11: "−2.5e−11",
		-3: "−3.00", 12.3456: "12.3"} {
		if got := digits(x, 3); got != want {
			t.Errorf("digits(%v) is %s: want %s", x, got, want)
		}
	}
}
