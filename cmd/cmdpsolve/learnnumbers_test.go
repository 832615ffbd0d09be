package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/contest"
	"cmdpsolve/cmdp/exact"

	"github.com/spf13/pflag"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

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
	bonus, err := cmdp.NewBonus(sh, true, false, cmdp.BonusScale{Mode: cmdp.Practice, Factor: 1},
		cmdp.Confidence{Episodes: episodes, Failure: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	planner, err := cmdp.NewOptimisticVI(sh, p.Model.KnownReturns(), bonus)
	if err != nil {
		t.Fatal(err)
	}
	dual, err := cmdp.NewTermsDual(sh, p.Task, &cmdp.Penalty{Rule: cmdp.PenaltyGiven, Rho: 3})
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
		return fmt.Sprintf("goal: {maximize: gain}\nconstraints: [{return: harm, at_most: %v}, {return: gain, "+
			"at_least: %v}]\n", harm, gain)
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
			best, err := exact.Solve(t.Context(), p.Model, p.Task, exact.Options{})
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
		readNumbers(t, &rep, "learn", file, "--episodes", fmt.Sprint(tt.episodes), "--seeds", "3", "--seed", "2",
			"--rho", "3", "--bonus-scale", "practice", "--expected")
		var means learnedMeans
		for i, run := range rep.Runs {
			w, average, expected := relearned(t, p, tt.episodes, 2+uint64(i))
			checkLearned(t, fmt.Sprintf("%s, seed %d", tt.name, run.Seed), p, &run, w, average, expected, tt.sense,
				optimum, tt.limit)
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
func checkLearned(t *testing.T, name string, p *loaded, run *learnedRun, w *witness, average, expected []float64, sense,
	optimum float64, limit [2]float64) {
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
	greatest := p.Task.Box.Upper()[0] // cost of any return that is possible
	if sense < 0 {
		greatest = -p.Task.Box.Lower()[0]
	}
	bearing := 0
	for k, ev := range w.evidence {
		sum += min(ev.Optimum, greatest)
		best = max(best, min(ev.Optimum, greatest))
		if ev.Gap > gap {
			gap, at = ev.Gap, k+1
		}
		if k+1 >= power && ev.Gap > 0 {
			bearing++
		}
	}
	violation := p.Task.Violation(average)
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
	box := p.Task.Box // of possible returns, which cuts the target
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
		key := []string{"objective", "violation", "regret", "bound", "bound_best", "gap", "rho", "gain", "harm",
			"expected gain", "expected harm"}[j]
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
	made := func(episodes int, interrupted bool, seconds report.Number, c *certificateReport,
		records ...int) *runReport {
		r := &runReport{Episodes: episodes, Interrupted: interrupted, Seconds: seconds, Certificate: c,
			learned: learned{Average: one(seconds), Expected: one(2 * seconds)}}
		for _, k := range records {
			x := report.Number(k) * seconds
			r.History = append(r.History, recordReport{k,
				learned{Average: one(x), Expected: one(2 * x), Objective: 3 * x,
					Violation: 4 * x, Regret: 5 * x, Bound: 6 * x, Gap: 7 * x, Rho: 8 * x}})
		}
		return r
	}
	second, third := &certificateReport{Episode: 2}, &certificateReport{Episode: 3}
	rep := &learnReport{Runs: []*runReport{made(9, false, 1, nil, 1, 3, 9), made(4, true, 2, second, 1, 3, 4),
		made(7, true, 6, third, 1, 3, 7)}}
	rep.runReport = *rep.Runs[0]
	rep.average()
	if rep.Episodes != 4 || !rep.Interrupted || rep.Seconds != 9 || rep.Certificate != second ||
		rep.Average.Values[0] != 3 || rep.Expected.Values[0] != 6 {
		t.Errorf("%+v", rep.runReport)
	}
	if len(rep.History) != 2 {
		t.Fatalf("%d records", len(rep.History))
	}
	for i, k := range []report.Number{1, 3} {
		h := rep.History[i]
		got := []report.Number{h.Average.Values[0], h.Expected.Values[0], h.Objective, h.Violation, h.Regret, h.Bound,
			h.Gap, h.Rho}
		for j, x := range got {
			if !same(float64(x), float64(k)*3*float64(j+1)) {
				t.Errorf("record of episode %v: %v", k, got)
				break
			}
		}
	}
}

// TestAdviceGoesByEachLimit: whether a mean return is off is judged by the optimum for the goal, and for each limit by
// the limit.
func TestAdviceGoesByEachLimit(t *testing.T) {
	rng := rand.New(rand.NewPCG(66, 11))
	for range 30 {
		limit, optimum := math.Exp(6*rng.Float64()-3), math.Exp(6*rng.Float64()-3)
		share := []float64{0.1, 0.01}[rng.IntN(2)]
		switch rng.IntN(4) {
		case 0:
			limit = 0
		case 1:
			optimum = 0
		}
		wanted := fmt.Sprintf("goal: {minimize: gain}\nconstraints: [{return: harm, at_most: %g}]\n", limit)
		p, err := load(diceFile(t, wanted))
		if err != nil {
			t.Fatal(err)
		}
		s := &session{p: p, Contest: new(contest.Contest)}
		s.Task = p.Task
		mean := make([]float64, 2)
		within := [2]float64{share * optimum, share * limit} // 0 is off by a share of all that there is
		for i, x := range []float64{optimum, limit} {
			if x == 0 {
				within[i] = share * math.Hypot(p.Scale()[0], p.Scale()[1])
			}
		}
		over := [2]float64{optimum + 2*within[0]*rng.Float64(), limit + 2*within[1]*rng.Float64()}
		for i, name := range p.Returns {
			mean[i] = over[map[string]int{"gain": 0, "harm": 1}[name]]
		}
		want := over[0]-optimum > within[0] || over[1]-limit > within[1]
		if got := s.off(mean, optimum, share); got != want {
			t.Errorf("gain %g beside %g, harm %g beside %g: off by %g is %v", over[0], optimum, over[1], limit, share, got)
		}
	}
}

// TestCertificateNumbers wants a certificate to have the support of the target in its direction: harm ≤ 0.7 in the
// direction (0, 1) has 0.7. It is told if it is certain, or most of the recent episodes agree.
func TestCertificateNumbers(t *testing.T) {
	p, err := load(diceFile(t, "goal: {maximize: gain}\nconstraints: [{return: harm, at_most: 0.7}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := &session{Contest: &contest.Contest{Task: p.Task}, p: p} // with the constants of theory
	c := s.certificate(cmdp.Findings{Gap: 0.25, GapEpisode: 6, GapShare: 0.125, GapDirection: []float64{0, 1}})
	if c == nil || c.Direction.Values[0] != 0 || c.Direction.Values[1] != 1 || !same(float64(c.Support), 0.7) ||
		!same(float64(c.Value), 0.95) ||
		c.Distance != 0.25 || c.Episode != 6 || c.Share != 0.125 {
		t.Errorf("%+v", c)
	}
	if c := s.certificate(cmdp.Findings{GapDirection: []float64{0, 1}}); c != nil {
		t.Errorf("no gap: %+v", c)
	}
	p, err = load(diceFile(t, "goal: {maximize: gain}\nconstraints: [{return: harm, at_most: 0.7, at_least: -0.25}, "+
		"{return: gain, at_most: 2, at_least: 0.5}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(92, 1))
	for range 100 {
		s := &session{Contest: &contest.Contest{Task: p.Task}, p: p}
		f := cmdp.Findings{Gap: rng.Float64() - 0.25, GapEpisode: rng.IntN(99), GapShare: rng.Float64()}
		if rng.IntN(2) == 0 {
			s.Planner = "mvp" // has no bounds that are certain
		}
		angle := 2 * math.Pi * rng.Float64()
		f.GapDirection = []float64{math.Cos(angle), math.Sin(angle)}
		x, y := f.GapDirection[0], f.GapDirection[1]
		support := max(0.5*x, 2*x) + max(-0.25*y, 0.7*y)
		c := s.certificate(f)
		if told := f.Gap > 0 && (s.Planner != "mvp" || f.GapShare >= 0.5); told != (c != nil) {
			t.Errorf("%+v, certain: %v: %+v", f, s.Planner != "mvp", c)
		} else if told && (!same(float64(c.Support), support) || !same(float64(c.Value), support+f.Gap) ||
			!same(float64(c.Distance), f.Gap) || c.Episode != f.GapEpisode || float64(c.Share) != f.GapShare ||
			float64(c.Direction.Values[0]) != x || float64(c.Direction.Values[1]) != y) {
			t.Errorf("%+v: %+v, want the support %g", f, c, support)
		}
	}
}

// TestEpisodesOfGames: in games in which an episode takes long learn plays fewer, unless it is told how many.
func TestEpisodesOfGames(t *testing.T) {
	for _, c := range []struct {
		problem string
		args    []string
		want    int
	}{{"soccer", nil, 1000}, {"soccer", []string{"--episodes", "10000"}, 10000},
		{"soccer:rows=2,cols=3,H=5", nil, 10000}} {
		p, err := load(c.problem)
		if err != nil {
			t.Fatal(err)
		}
		l := &learnCommand{streams: streams{err: io.Discard}, settings: contest.Defaults()}
		flags := pflag.NewFlagSet("learn", pflag.ContinueOnError)
		l.addFlags(flags)
		if err := flags.Parse(c.args); err != nil {
			t.Fatal(err)
		}
		if err := l.choose(p); err != nil || l.settings.Episodes != c.want {
			t.Errorf("%s %v: %d episodes, %v: want %d", c.problem, c.args, l.settings.Episodes, err, c.want)
		}
	}
}

// TestHistoriesInOrder: a result is refused whose records are not of later and later episodes.
func TestHistoriesInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(70, 2))
	for range 100 {
		var records []string
		last, right := 0, true
		for range 1 + rng.IntN(4) {
			episode := last + rng.IntN(4)
			right = right && episode > last
			last = episode
			records = append(records, fmt.Sprintf(`{"episode": %d, "regret": 1}`, episode))
		}
		history := strings.Join(records, ", ")
		for _, text := range []string{`{"problem": "p", "algorithm": "moma", "history": [` + history + `]}`,
			`{"problem": "p", "rows": [{"algorithm": "a", "runs": 1, "history": [` + history + `]}]}`} {
			if list, err := drawingsIn([]byte(text)); (err == nil) != right || right && len(list) != 1 {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}

// TestDrawnRunsOfDifferentLengths draws several runs of learn that were interrupted. A curve has the episodes
// that all of them recorded, with the mean of their values there, and ends where their records part.
func TestDrawnRunsOfDifferentLengths(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 9))
	for k := range 200 {
		recorded := []int{1, 2, 3, 5, 8, 13}
		runs, values, common := 2+rng.IntN(3), map[int][]float64{}, len(recorded)
		var saved []map[string]any
		for i := range runs {
			n := 1 + rng.IntN(len(recorded))
			var history []map[string]any
			for _, episode := range recorded[:n] {
				x := rng.Float64()
				values[episode] = append(values[episode], x)
				history = append(history, map[string]any{"episode": episode, "regret": x})
			}
			if i == 0 && n < len(recorded) && recorded[n]-recorded[n-1] > 1 { // where it alone was interrupted
				history = append(history, map[string]any{"episode": recorded[n] - 1, "regret": 9})
			}
			common = min(common, n)
			saved = append(saved, map[string]any{"history": history})
		}
		text, err := json.Marshal(map[string]any{"problem": "p", "algorithm": "moma", "runs": saved,
			"history": saved[0]["history"]})
		if err != nil {
			t.Fatal(err)
		}
		list, err := drawingsIn(text)
		if err != nil {
			t.Fatal(err)
		}
		curve, _ := curveOf(list[0].list[0], "regret")
		if len(curve.X) != common || list[0].runs != runs {
			t.Fatalf("problem %d: a curve through %v of %d runs: want %v of %d\n%s", k, curve.X, list[0].runs,
				recorded[:common], runs, text)
		}
		for i, episode := range recorded[:common] {
			mean, variance := floats.Sum(values[episode][:runs])/float64(runs), 0.0
			for _, x := range values[episode] {
				variance += (x - mean) * (x - mean) / float64(runs-1)
			}
			half := distuv.StudentsT{Sigma: 1, Nu: float64(runs - 1)}.Quantile(0.975) *
				math.Sqrt(variance/float64(runs))
			if curve.X[i] != float64(episode) || math.Abs(curve.Y[i]-mean) > 1e-12 ||
				math.Abs(curve.High[i]-mean-half) > 1e-9 || math.Abs(mean-half-curve.Low[i]) > 1e-9 {
				t.Errorf("problem %d, episode %g: %g from %g to %g: want %g ± %g at %d", k, curve.X[i], curve.Y[i],
					curve.Low[i], curve.High[i], mean, half, episode)
			}
		}
	}
}
