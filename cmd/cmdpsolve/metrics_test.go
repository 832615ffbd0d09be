package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/contest"
	"cmdpsolve/cmdp/exact"
)

// diceFile writes a problem in which starts, successors and returns are random, at every step in
// another way, with the given goal and limits.
func diceFile(t *testing.T, wanted string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("format: cmdp/1\nhorizon: 3\nstates: 2\nstart: {0: 0.4, 1: 0.6}\nreturns: [gain, harm]\ntransitions:\n")
	for i := range 12 {
		h, s, a := i/4, i/2%2, i%2
		p := 0.1 + float64((5*h+3*s+2*a)%8)/10
		fmt.Fprintf(&b, "  - {step: %d, state: %d, action: %d, outcomes: [", h+1, s, a)
		for n := range 2 {
			x, y := float64((7*h+5*s+3*a+11*n)%12)/8, float64((3*h+7*s+11*a+5*n)%12)/4-1
			fmt.Fprintf(&b, "{probability: %v, next: %d, returns: [%v, %v]},", []float64{1 - p, p}[n], n, x, y)
		}
		b.WriteString("]}\n")
	}
	file := filepath.Join(t.TempDir(), "dice.yaml")
	if err := os.WriteFile(file, []byte(b.String()+wanted), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// readNumbers runs the command and decodes the JSON that it prints.
func readNumbers(t *testing.T, to any, args ...string) {
	t.Helper()
	var out, errs bytes.Buffer
	if status := run(t.Context(), append(args, "--format", "json", "--quiet"), &out, &errs); status != exitDone {
		t.Fatalf("%v: exit status %d: %s", args, status, errs.String())
	}
	if err := json.Unmarshal(out.Bytes(), to); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out.String())
	}
}

// same compares numbers; NaN stands for null.
func same(x, y float64) bool {
	return math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= 1e-9*(1+math.Abs(y))
}

// comparedKeys are the metrics in the JSON of compare, the first ten of which are kept along the
// way, too. seconds_per_episode is different at every call.
var comparedKeys = strings.Fields(`regret violation expected_regret expected_violation last_regret last_violation
	weak_regret weak_violation strong_regret strong_violation max_violation expected_max_violation
	realized_weak_regret realized_weak_violation realized_strong_regret realized_strong_violation
	violating_share realized_violating_share planner_calls programs infeasible_programs`)

// metricField names the field of baseline.Metrics that docs/metrics.md describes for a key:
// its words joined, but for the three that count work.
func metricField(key string) string {
	switch key {
	case "planner_calls":
		return "Planner"
	case "programs":
		return "Programs"
	case "infeasible_programs":
		return "Infeasible"
	}
	name := ""
	for _, word := range strings.Split(key, "_") {
		name += strings.ToUpper(word[:1]) + word[1:]
	}
	return name
}

// metricOf returns the metric of a key.
func metricOf(t *testing.T, m baseline.Metrics, key string) float64 {
	t.Helper()
	f := reflect.ValueOf(m).FieldByName(metricField(key))
	switch {
	case !f.IsValid():
		t.Fatalf("no metric is called %q", key)
	case f.CanInt():
		return float64(f.Int())
	}
	return f.Float()
}

// replayed plays one run of a comparison again and returns its metrics after every episode.
func replayed(t *testing.T, p *loaded, algorithm string, episodes int, seed uint64, optimum, slater float64) []baseline.Metrics {
	t.Helper()
	l, err := baseline.New(algorithm, baseline.Config{Shape: p.Model.Shape(), Returns: p.Model.KnownReturns(), Task: p.task, Seed: seed,
		Confidence: cmdp.Confidence{Episodes: episodes, Failure: 0.05}, Bonus: cmdp.TheoryTimes(0.02), Knowledge: baseline.Knowledge{Slater: slater}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := baseline.NewRecorder(l, p.Model, p.task, optimum)
	if err != nil {
		t.Fatal(err)
	}
	env, agent := rand.New(cmdp.Stream(seed, "environment")), rand.New(cmdp.Stream(seed, "agent"))
	tr := cmdp.NewTrajectory(p.Model.Shape())
	var all []baseline.Metrics
	for range episodes {
		tr.Play(p.Model, r.Policy(), env, agent)
		r.Observe(tr)
		all = append(all, r.Metrics())
	}
	return all
}

// A numbered is a mean with its interval, as in the JSON of compare.
type numbered struct {
	Mean *float64 `json:"mean"`
	CI95 *float64 `json:"ci95"`
}

// wantEstimate compares a mean of three numbers and its interval, by Student's t with two
// degrees of freedom, 4.302653.
func wantEstimate(t *testing.T, what string, raw json.RawMessage, x [3]float64) {
	t.Helper()
	var got numbered
	if err := json.Unmarshal(raw, &got); err != nil || got.Mean == nil || got.CI95 == nil {
		t.Errorf("%s: %s: %v", what, raw, err)
		return
	}
	mean := (x[0] + x[1] + x[2]) / 3
	squares := 0.0
	for _, y := range x {
		squares += (y - mean) * (y - mean)
	}
	if half := 4.302652729911275 * math.Sqrt(squares/2/3); !same(*got.Mean, mean) || !same(*got.CI95, half) {
		t.Errorf("%s: %v ± %v, want %v ± %v", what, *got.Mean, *got.CI95, mean, half)
	}
}

// TestComparedMetrics wants every number in the JSON of compare to be the metric of its name, of
// runs that are replayed here, seed by seed, as means, and along the way. What the metrics are is
// tested in package baseline.
func TestComparedMetrics(t *testing.T) {
	const episodes, slater = 30, 0.1
	file := diceFile(t, "goal: {maximize: gain}\nconstraints:\n  - {return: harm, at_most: 0.7}\n  - {return: gain, at_least: 2}\n")
	var rep struct {
		Exact struct{ Objective float64 }
		Rows  []map[string]json.RawMessage
	}
	algorithms := []string{"triple-q", "optprimaldual", "optcmdp-bonus"}
	readNumbers(t, &rep, "compare", file, "--algorithms", strings.Join(algorithms, ","), "--episodes", fmt.Sprint(episodes),
		"--seeds", "3", "--seed", "4", "--slater", fmt.Sprint(slater), "--bonus-scale", "0.02")
	p, err := load(file)
	if err != nil {
		t.Fatal(err)
	}
	best, err := exact.Solve(t.Context(), p.Model, p.task, exact.Options{})
	if err != nil || best.Status != exact.Optimal || !same(rep.Exact.Objective, -best.Objective) {
		t.Fatal(best, err, rep.Exact.Objective)
	}
	if len(rep.Rows) != len(algorithms) {
		t.Fatalf("%d rows", len(rep.Rows))
	}
	for i, row := range rep.Rows {
		var runs [3][]baseline.Metrics
		for j := range runs {
			runs[j] = replayed(t, p, algorithms[i], episodes, 4+uint64(j), best.Objective, slater)
		}
		at := func(k int, key string) (x [3]float64) {
			for j := range x {
				x[j] = metricOf(t, runs[j][k-1], key)
			}
			return x
		}
		checkRow(t, algorithms[i], row, episodes, at)
		var average map[string]json.RawMessage
		if err := json.Unmarshal(row["average"], &average); err != nil {
			t.Fatal(err)
		}
		for j, name := range []string{"gain", "harm"} {
			wantEstimate(t, algorithms[i]+": "+name, average[name], [3]float64{runs[0][episodes-1].Average[j], runs[1][episodes-1].Average[j], runs[2][episodes-1].Average[j]})
		}
	}
}

// checkRow compares the numbers of a learner: at returns a metric of its runs after an episode.
func checkRow(t *testing.T, name string, row map[string]json.RawMessage, episodes int, at func(k int, key string) [3]float64) {
	t.Helper()
	distinct := map[float64]string{}
	for _, key := range comparedKeys {
		x := at(episodes, key)
		wantEstimate(t, name+": "+key, row[key], x)
		distinct[x[0]] = key
	}
	if len(distinct) < 15 && name == "triple-q" {
		t.Errorf("%s: %d different numbers: the test says little", name, len(distinct))
	}
	var seeds []struct {
		Seed    uint64
		Metrics map[string]*float64
	}
	var history []map[string]json.RawMessage
	if err := json.Unmarshal(row["seeds"], &seeds); err != nil || len(seeds) != 3 {
		t.Fatal(err, seeds)
	}
	if err := json.Unmarshal(row["history"], &history); err != nil || len(history) != 20 {
		t.Fatal(err, len(history))
	}
	for j, s := range seeds {
		if s.Seed != 4+uint64(j) || len(s.Metrics) != len(comparedKeys)+1 {
			t.Errorf("%s: seed %d has %d metrics", name, s.Seed, len(s.Metrics))
		}
		for _, key := range comparedKeys {
			if x, want := s.Metrics[key], at(episodes, key)[j]; x == nil || !same(*x, want) {
				t.Errorf("%s, seed %d: %s is %v, want %v", name, s.Seed, key, x, want)
			}
		}
	}
	for _, rec := range history {
		k := 0
		if err := json.Unmarshal(rec["episode"], &k); err != nil || len(rec) != 1+10 {
			t.Fatal(err, rec)
		}
		for _, key := range comparedKeys[:10] {
			wantEstimate(t, fmt.Sprintf("%s, episode %d: %s", name, k, key), rec[key], at(k, key))
		}
	}
}

// A witness is a dual update whose evidence is kept, and the directions it is about.
type witness struct {
	*cmdp.TermsDual
	evidence []cmdp.Evidence
	from     [][]float64
}

func (w *witness) Observe(value []float64, low float64) cmdp.Evidence {
	ev := w.TermsDual.Observe(value, low)
	w.evidence, w.from = append(w.evidence, ev), append(w.from, append([]float64(nil), ev.Direction...))
	return ev
}

// learnedRun has the numbers of a run in the JSON of learn.
type learnedRun struct {
	Episodes                     int
	Seed                         uint64
	Average, Expected            map[string]float64
	Objective, Violation, Regret *float64
	Bound, Gap, Rho              *float64
	BestBound                    *float64 `json:"bound_best"`
	Certificate                  *struct {
		Direction                       map[string]float64
		Support, Value, Distance, Share float64
		Episode                         int
	}
}

// relearned plays one run of learn again, with practice bonuses.
func relearned(t *testing.T, p *loaded, episodes int, seed uint64) (w *witness, average, expected []float64) {
	t.Helper()
	sh := p.Model.Shape()
	counts, err := cmdp.NewCounts(sh, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	bonus, err := cmdp.NewBonus(sh, true, false, cmdp.BonusScale{Mode: cmdp.Practice, Factor: 1}, cmdp.Confidence{Episodes: episodes, Failure: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	planner, err := cmdp.NewOptimisticVI(sh, p.Model.KnownReturns(), bonus)
	if err != nil {
		t.Fatal(err)
	}
	dual, err := cmdp.NewTermsDual(sh, p.task, &cmdp.Penalty{Rule: cmdp.PenaltyGiven, Rho: 3})
	if err != nil {
		t.Fatal(err)
	}
	w = &witness{TermsDual: dual}
	l := cmdp.NewMOMA(counts, planner, w)
	env, agent := rand.New(cmdp.Stream(seed, "environment")), rand.New(cmdp.Stream(seed, "agent"))
	tr, ev, v := cmdp.NewTrajectory(sh), cmdp.NewEvaluator(p.Model), make([]float64, 2)
	average, expected = make([]float64, 2), make([]float64, 2)
	for range episodes {
		policy := l.Policy()
		ev.Returns(v, policy)
		tr.Play(p.Model, policy, env, agent)
		l.Observe(tr)
		for i := range v {
			average[i] += tr.Total[i] / float64(episodes)
			expected[i] += v[i] / float64(episodes)
		}
	}
	return w, average, expected
}

// TestLearnedNumbers wants the numbers of learn to be those of runs that are replayed here:
// in the user's sense of the objective, in which bounds of a maximum lie above it and the best is
// the least; and a certificate with the share of episodes that bear it out, counted from the last
// power of two.
func TestLearnedNumbers(t *testing.T) {
	const feasible = "constraints: [{return: harm, at_most: 0.7}]\n"
	limits := func(harm, gain float64) string {
		return fmt.Sprintf("goal: {maximize: gain}\nconstraints: [{return: harm, at_most: %v}, {return: gain, at_least: %v}]\n", harm, gain)
	}
	for _, tt := range []struct {
		name, wanted string
		sense        float64
		episodes     int
		limit        [2]float64 // of harm and gain, where they cannot be met
		certificates int        // of three runs
	}{
		{"maximum", "goal: {maximize: gain}\n" + feasible, -1, 300, [2]float64{}, 0},
		{"minimum", "goal: {minimize: gain}\n" + feasible, 1, 300, [2]float64{}, 0},
		{"far out of reach", limits(-2.2, 3), -1, 60, [2]float64{-2.2, 3}, 3},
		{"out of reach", limits(-0.5, 2.8), -1, 330, [2]float64{-0.5, 2.8}, 1},
	} {
		out := tt.limit != [2]float64{}
		file := diceFile(t, tt.wanted)
		p, err := load(file)
		if err != nil {
			t.Fatal(err)
		}
		optimum := math.NaN()
		if !out {
			best, err := exact.Solve(t.Context(), p.Model, p.task, exact.Options{})
			if err != nil || best.Status != exact.Optimal {
				t.Fatal(best, err)
			}
			optimum = tt.sense * best.Objective
		}
		var rep struct {
			learnedRun
			CI95 map[string]*float64
			Runs []learnedRun
		}
		readNumbers(t, &rep, "learn", file, "--episodes", fmt.Sprint(tt.episodes), "--seeds", "3", "--seed", "2", "--rho", "3", "--expected")
		var means learnedMeans
		for i, run := range rep.Runs {
			w, average, expected := relearned(t, p, tt.episodes, 2+uint64(i))
			checkLearned(t, fmt.Sprintf("%s, seed %d", tt.name, run.Seed), p, &run, w, average, expected, tt.sense, optimum, tt.limit)
			if run.Certificate != nil {
				tt.certificates--
			}
			means.add(&run)
		}
		if tt.certificates != 0 {
			t.Errorf("%s: %d certificates are missing", tt.name, tt.certificates)
		}
		means.check(t, tt.name, &rep.learnedRun, rep.CI95)
	}
}

// checkLearned compares a run with the one that was replayed.
func checkLearned(t *testing.T, name string, p *loaded, run *learnedRun, w *witness, average, expected []float64, sense, optimum float64, limit [2]float64) {
	t.Helper()
	number := func(what string, got *float64, want float64) {
		t.Helper()
		x := math.NaN()
		if got != nil {
			x = *got
		}
		if !same(x, want) {
			t.Errorf("%s: %s is %v, want %v", name, what, x, want)
		}
	}
	n := len(w.evidence)
	sum, best, gap, at := 0.0, math.Inf(-1), math.Inf(-1), 0
	power := 1
	for 2*power <= n {
		power *= 2
	}
	bearing := 0
	for k, ev := range w.evidence {
		sum += ev.Optimum
		best = max(best, ev.Optimum)
		if ev.Gap > gap {
			gap, at = ev.Gap, k+1
		}
		if k+1 >= power && ev.Gap > 0 {
			bearing++
		}
	}
	violation := p.task.Violation(average)
	for i, key := range []string{"gain", "harm"} {
		x, y := run.Average[key], run.Expected[key]
		number(key, &x, average[i])
		number("expected "+key, &y, expected[i])
	}
	number("objective", run.Objective, average[0])
	number("violation", run.Violation, violation)
	number("regret", run.Regret, sense*(average[0]-optimum))
	number("bound", run.Bound, sense*sum/float64(n))
	number("best bound", run.BestBound, sense*best)
	number("gap", run.Gap, gap)
	number("rho", run.Rho, 3)
	if run.Episodes != n {
		t.Errorf("%s: %d episodes, want %d", name, run.Episodes, n)
	}
	if sense*(*run.BestBound-*run.Bound) < 0 || !math.IsNaN(optimum) && same(*run.BestBound, *run.Bound) {
		t.Errorf("%s: bound %v, best %v", name, *run.Bound, *run.BestBound)
	}
	share := float64(bearing) / float64(n-power+1)
	c := run.Certificate
	if (c != nil) != (gap > 0 && share >= 0.5) { // with bonuses of practice
		t.Errorf("%s: certificate %v with the gap %v and the share %v", name, c, gap, share)
	}
	if c == nil {
		return
	}
	dir := w.from[at-1]
	norm := math.Hypot(dir[0], dir[1])
	box, err := p.Box() // of possible returns, which cuts the target
	if err != nil {
		t.Fatal(err)
	}
	support := max(dir[0]*limit[1], dir[0]*box.Upper()[0])/norm + max(dir[1]*limit[0], dir[1]*box.Lower()[1])/norm
	x, y := c.Direction["gain"], c.Direction["harm"]
	number("direction of gain", &x, dir[0]/norm)
	number("direction of harm", &y, dir[1]/norm)
	number("support", &c.Support, support)
	number("value", &c.Value, support+gap)
	number("distance", &c.Distance, gap)
	number("share", &c.Share, share)
	if c.Episode != at {
		t.Errorf("%s: certificate of episode %d, want %d", name, c.Episode, at)
	}
}

// learnedMeans sums the numbers of runs.
type learnedMeans struct{ values [][]float64 }

func learnedValues(r *learnedRun) (x []float64) {
	for _, p := range []*float64{r.Objective, r.Violation, r.Regret, r.Bound, r.BestBound, r.Gap, r.Rho} {
		if p == nil {
			x = append(x, math.NaN())
		} else {
			x = append(x, *p)
		}
	}
	return append(x, r.Average["gain"], r.Average["harm"], r.Expected["gain"], r.Expected["harm"])
}

func (m *learnedMeans) add(r *learnedRun) { m.values = append(m.values, learnedValues(r)) }

// check compares the means that the command prints with those of the runs.
func (m *learnedMeans) check(t *testing.T, name string, got *learnedRun, half map[string]*float64) {
	t.Helper()
	for j, x := range learnedValues(got) {
		key := []string{"objective", "violation", "regret", "bound", "bound_best", "gap", "rho", "gain", "harm", "expected gain", "expected harm"}[j]
		mean, squares := 0.0, 0.0
		for _, v := range m.values {
			mean += v[j] / 3
		}
		for _, v := range m.values {
			squares += (v[j] - mean) * (v[j] - mean)
		}
		if !same(x, mean) {
			t.Errorf("%s: mean of %s %v, want %v", name, key, x, mean)
		}
		if h := half[key]; h != nil && !same(*h, 4.302652729911275*math.Sqrt(squares/2/3)) {
			t.Errorf("%s: interval of %s %v, want %v", name, key, *h, 4.302652729911275*math.Sqrt(squares/2/3))
		}
	}
	if len(half) < 9 {
		t.Errorf("%s: intervals %v", name, half)
	}
}

// TestLearnedSummary wants several runs to be summed up as docs/command.md says: the fewest
// episodes, interrupted if one was, all seconds, the certificate of the first run that has one, and
// the records that all have.
func TestLearnedSummary(t *testing.T) {
	names := []string{"gain"}
	one := func(x report.Number) named { return named{Names: names, Values: []report.Number{x}} }
	made := func(episodes int, interrupted bool, seconds report.Number, c *certificateReport, records ...int) *runReport {
		r := &runReport{Episodes: episodes, Interrupted: interrupted, Seconds: seconds, Certificate: c, Average: one(seconds), Expected: one(2 * seconds)}
		for _, k := range records {
			x := report.Number(k) * seconds
			r.History = append(r.History, recordReport{Episode: k, Average: one(x), Expected: one(2 * x), Objective: 3 * x,
				Violation: 4 * x, Regret: 5 * x, Bound: 6 * x, Gap: 7 * x, Rho: 8 * x})
		}
		return r
	}
	second, third := &certificateReport{Episode: 2}, &certificateReport{Episode: 3}
	rep := &learnReport{Runs: []*runReport{made(9, false, 1, nil, 1, 3, 9), made(4, true, 2, second, 1, 3, 4), made(7, true, 6, third, 1, 3, 7)}}
	rep.runReport = *rep.Runs[0]
	rep.average(names)
	if rep.Episodes != 4 || !rep.Interrupted || rep.Seconds != 9 || rep.Certificate != second || rep.Average.Values[0] != 3 || rep.Expected.Values[0] != 6 {
		t.Errorf("%+v", rep.runReport)
	}
	if len(rep.History) != 2 {
		t.Fatalf("%d records", len(rep.History))
	}
	for i, k := range []report.Number{1, 3} {
		h := rep.History[i]
		got := []report.Number{h.Average.Values[0], h.Expected.Values[0], h.Objective, h.Violation, h.Regret, h.Bound, h.Gap, h.Rho}
		for j, x := range got {
			if !same(float64(x), float64(k)*3*float64(j+1)) {
				t.Errorf("record of episode %v: %v", k, got)
				break
			}
		}
	}
}

// TestCertificateNumbers wants a certificate to have a direction of length 1, whatever length the
// dual had, and the support of the target in it: harm ≤ 0.7 in the direction (0, 0.5) has 0.7.
func TestCertificateNumbers(t *testing.T) {
	p, err := load(diceFile(t, "goal: {maximize: gain}\nconstraints: [{return: harm, at_most: 0.7}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := &session{Contest: &contest.Contest{Task: p.task}, p: p} // with the constants of theory
	c := s.certificate(cmdp.Findings{Gap: 0.25, GapEpisode: 6, GapShare: 0.125, GapDirection: []float64{0, 0.5}})
	if c == nil || c.Direction.Values[0] != 0 || c.Direction.Values[1] != 1 || !same(float64(c.Support), 0.7) || !same(float64(c.Value), 0.95) ||
		c.Distance != 0.25 || c.Episode != 6 || c.Share != 0.125 {
		t.Errorf("%+v", c)
	}
	if c := s.certificate(cmdp.Findings{GapDirection: []float64{0, 0.5}}); c != nil {
		t.Errorf("no gap: %+v", c)
	}
}
