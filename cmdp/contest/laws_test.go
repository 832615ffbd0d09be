package contest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
)

func parsed(t *testing.T, text string) *problem.Problem {
	t.Helper()
	p, err := problem.Parse("law.yaml", []byte("format: cmdp/1\n"+text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestMetricsByTheirNames: a metric is the number of its name.
func TestMetricsByTheirNames(t *testing.T) {
	var m baseline.Metrics
	numbers := make(map[string]float64)
	of := reflect.ValueOf(&m).Elem()
	for i := range of.NumField() {
		if f := of.Field(i); f.Kind() == reflect.Float64 {
			numbers[of.Type().Field(i).Name] = float64(i)
			f.SetFloat(float64(i))
		}
	}
	m.Planner, m.Programs, m.Infeasible = 100, 101, 102
	numbers["PlannerCalls"], numbers["Programs"], numbers["InfeasiblePrograms"] = 100, 101, 102
	for key, x := range valuesOf(&m, Metrics()) {
		name := ""
		for word := range strings.SplitSeq(key, "_") {
			name += strings.ToUpper(word[:1]) + word[1:]
		}
		if want, is := numbers[name]; !is || x != want {
			t.Errorf("%s is %g: want %g, that of %s", key, x, want, name)
		}
	}
}

// TestMeanIntervals: half-widths are those of Student's t, whose quantiles are from tables, wherever the numbers lie.
func TestMeanIntervals(t *testing.T) {
	for n, quantile := range map[int]float64{2: 12.7062, 3: 4.30265, 5: 2.77645, 10: 2.26216, 30: 2.04523} {
		for _, at := range []float64{-7, 0, 1, 3} {
			x := slices.Repeat([]float64{at}, n) // with a sum of squared deviations of 2
			x[0], x[n-1] = at-1, at+1
			want := quantile * math.Sqrt(2/float64(n-1)/float64(n))
			if mean, half := MeanInterval(x); math.Abs(mean-at) > 1e-12 || !(math.Abs(half-want) <= 1e-5*want) {
				t.Errorf("%d numbers: %g ± %g: want %g ± %g", n, mean, half, at, want)
			}
			if mean, half := MeanInterval(x[:1]); mean != at-1 || !math.IsNaN(half) {
				t.Errorf("one number %g: %g ± %g", at-1, mean, half)
			}
		}
	}
}

// TestMeansOfEndlessRuns: regret and violations of a mean follow from the limits as they are written.
func TestMeansOfEndlessRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 1))
	for range 40 {
		most, least := rng.Float64(), rng.Float64()
		p := parsed(t, fmt.Sprintf("discount: 0.5\nstates: 1\nstart: 0\nreturns: [gain, cost, good]\ngoal: {maximize: "+
			"gain}\nconstraints: [{return: cost, at_most: %g}, {return: good, at_least: %g}, {return: cost, at_least: "+
			"%g}]\ntransitions:\n  - {state: 0, action: go, next: {0: 1}, returns: [1, 1, 1]}\n  - {state: 0, action: "+
			"rest, next: {0: 1}}\n", most, least, most/2))
		q := compiled(t, p)
		endless, err := cmdp.NewEndless(q.Model)
		if err != nil {
			t.Fatal(err)
		}
		r := &Run{Trial: &Trial{Contest: &Contest{Task: q.Task, shape: endless.Shape()}}}
		v := []float64{rng.Float64(), 2 * rng.Float64(), 2 * rng.Float64()}
		m := baseline.Metrics{Episodes: 1 + rng.IntN(100), Average: v, Violation: q.Task.Violation(v)}
		r.measureMean(&m, -1.5)
		regret, excess, steps := 1.5-v[0], max(0, v[1]-most, most/2-v[1], least-v[2]), float64(m.Episodes)
		for name, pair := range map[string][2]float64{"regret": {m.Regret, regret},
			"max violation":           {m.MaxViolation, excess},
			"realized weak regret":    {m.RealizedWeakRegret, steps * regret},
			"realized weak violation": {m.RealizedWeakViolation, steps * excess}} {
			if math.Abs(pair[0]-pair[1]) > 1e-9*steps {
				t.Errorf("%v with limits %g and %g: %s is %g: want %g", v, most, least, name, pair[0], pair[1])
			}
		}
		// A target that is no list of limits has a distance alone.
		r.Task = compiled(t, parsed(t, roomsRows("discount: 0.5", "target: {ball: {center: [1, 1], radius: 0.5}}"))).Task
		m = baseline.Metrics{Episodes: m.Episodes, Average: v[:2], Violation: r.Task.Violation(v[:2])}
		r.measureMean(&m, math.NaN())
		if m.MaxViolation != m.Violation || m.RealizedWeakViolation != steps*m.Violation || m.Regret != 0 {
			t.Errorf("%v and a ball: %+v", v, m)
		}
	}
}

// TestOptimumOfAnswers: only an optimum that was reached within the target is one that learners are compared with.
func TestOptimumOfAnswers(t *testing.T) {
	q := compiled(t, parsed(t, "horizon: 1\nstates: 1\nstart: 0\nreturns: [gain]\ngoal: {maximize: gain}\ntransitions:\n"+
		"  - {state: 0, action: go, next: {0: 1}, returns: [1]}\n"))
	for _, status := range []exact.Verdict{exact.Optimal, exact.Infeasible, exact.Undecided, exact.Stopped,
		exact.Unbounded} {
		a := Answer{Best: &exact.Result{Status: status, Objective: 3}}
		if got := a.Optimum(q.Task); (got == 3) != (status == exact.Optimal) || got != 3 && !math.IsNaN(got) {
			t.Errorf("%v: the optimum is %g", status, got)
		}
	}
}

// TestSettingsOfEntries: each setting of a suite is that of its entries, unless they have their own.
func TestSettingsOfEntries(t *testing.T) {
	values := map[string][2]string{"algorithms": {"[moma]", "[ucpd]"}, "episodes": {"7", "8"}, "steps": {"9", "10"},
		"seed": {"5", "6"}, "seeds": {"3", "4"}, "bonus-scale": {"theory", "practice"}, "planner": {"hoeffding", "mvp"},
		"dual": {"free", "double"}, "rho": {"2.5", "model"}, "opponent": {"uniform", "best-response"},
		"returns": {"unknown", "known"}, "pool": {"true", "false"}, "lazy": {"true", "false"}, "failure": {"0.2", "0.3"},
		"slater": {"0.3", "auto"}, "safe-policy": {"auto", "none"}, "null-policy": {"auto", "none"},
		"support": {"auto", "none"}, "knapsack-margin": {"0.3", "0.2"}, "changing": {"adversary", "\"\""}}
	of := reflect.TypeFor[Settings]()
	for i := range of.NumField() {
		tag := of.Field(i).Tag.Get("yaml")
		if tag == "-" {
			continue
		}
		pair, is := values[tag]
		if !is {
			t.Errorf("no values of %s are tried", tag)
			continue
		}
		read := func(text string) *Suite {
			file := filepath.Join(t.TempDir(), "suite.yaml")
			if err := os.WriteFile(file, []byte("format: cmdp-suite/1\n"+text), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := ReadSuite(file)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			return s
		}
		setting := func(e *Entry) any { return reflect.ValueOf(e.Settings).Field(i).Interface() }
		s := read(fmt.Sprintf("%s: %s\nproblems: [media, {problem: inventory}, {problem: media, name: own, %[1]s: %[3]s}]\n",
			tag, pair[0], pair[1]))
		one, other := setting(s.Problems[0]), setting(s.Problems[2])
		if !reflect.DeepEqual(one, setting(s.Problems[1])) || reflect.DeepEqual(one, other) ||
			!reflect.DeepEqual(one, reflect.ValueOf(s.Settings).Field(i).Interface()) {
			t.Errorf("%s: %v, %v and %v: want the first twice, that of the suite, and another one", tag, one,
				setting(s.Problems[1]), other)
		}
	}
}

// TestReturnsThatChange: a switch is expected √Episodes times, a drift ends with the last episode, and only learners
// that are told the returns of each episode after it are told any.
func TestReturnsThatChange(t *testing.T) {
	for _, how := range []string{"switch", "drift"} {
		settings := Defaults()
		settings.Algorithms, settings.Episodes, settings.Seeds = []string{"moma"}, 50, 1
		settings.Changing = Changing{how, arms(t, "0", "3")}
		p, err := problem.Read(arms(t, "1", "0"))
		if err != nil {
			t.Fatal(err)
		}
		c := prepared(t, p, settings, PrepareOptions{})
		if how == "switch" && math.Abs(50*c.schedule.Switch-math.Sqrt(50)) > 1e-9 ||
			how == "drift" && c.schedule.Drift != 50 {
			t.Errorf("%s: %+v", how, c.schedule)
		}
		for _, adversarial := range []bool{false, true} {
			c.cfg.Returns = p.Model.KnownReturns()
			told := c.config(&baseline.Algorithm{Adversarial: adversarial}).Returns != nil
			if told != adversarial {
				t.Errorf("%s, told after each episode %v: told: %v", how, adversarial, told)
			}
		}
	}
}

// TestFindingsAreKept: the records of a run have what its learner has found.
func TestFindingsAreKept(t *testing.T) {
	settings := Defaults()
	settings.Algorithms, settings.Episodes, settings.Seeds = []string{"moma"}, 30, 1
	p := parsed(t, "name: two\nhorizon: 2\nstates: 1\nstart: 0\nreturns: [gain, cost]\ngoal: {maximize: gain}\nconstraints: "+
		"[{return: cost, at_most: 1}]\ntransitions:\n  - {state: 0, action: go, next: {0: 1}, returns: [1, 1]}\n  - {state: "+
		"0, action: rest, next: {0: 1}}\n")
	c := prepared(t, p, settings, PrepareOptions{Unmeasured: true})
	run := playedFirst(t, c)
	f := run.Learner.(Finder).Findings()
	want := Values{"bound": f.Bound, "gap": f.Gap, "rho": f.Rho}
	if got := run.History[len(run.History)-1].Metrics; !reflect.DeepEqual(got, want) || f.Bound == f.Gap {
		t.Errorf("the last record has %v: want %v", got, want)
	}
	// What was never seen to be possible is not kept by the best estimate either.
	for least, kept := range map[int]bool{2: true, 3: false} {
		run.Task = compiled(t, parsed(t, fmt.Sprintf("horizon: 2\nstates: 1\nstart: 0\nreturns: [gain, cost]\n"+
			"constraints: [{return: cost, at_least: %d}]\ntransitions:\n  - {state: 0, action: go, next: {0: 1}, returns: "+
			"[1, 1]}\n  - {state: 0, action: rest, next: {0: 1}}\n", least))).Task
		if _, feasible, err := run.BestEstimate(t.Context()); err != nil || feasible != kept {
			t.Errorf("the best estimate has a cost of %d: %v, %v: want %v", least, feasible, err, kept)
		}
	}
}

// brief is a contest of learners for a few episodes on a problem of two rooms, with changed settings.
func brief(t *testing.T, opts PrepareOptions, change func(*Settings)) *Contest {
	t.Helper()
	settings := Defaults()
	settings.Algorithms, settings.Episodes, settings.Seeds = []string{"moma"}, 20, 2
	change(&settings)
	p := parsed(t, "name: rooms\nhorizon: 2\nstates: 2\nstart: 0\nreturns: [gain, cost]\ngoal: {maximize: gain}\n"+
		"constraints: [{return: cost, at_most: 1}]\ntransitions:\n  - {state: 0, action: go, next: {0: 0.5, 1: 0.5}, "+
		"returns: [1, 1]}\n  - {state: 0, action: rest, next: {0: 1}, returns: [0.25, 0]}\n  - {state: 1, action: on, next: "+
		"{0: 0.75, 1: 0.25}, returns: [2, 1.5]}\n")
	c, err := New(t.Context(), compiled(t, p), settings, opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRecordsAreResults: a record of a run is the result of a run that ends there.
func TestRecordsAreResults(t *testing.T) {
	for _, measured := range []bool{true, false} {
		var whole *RunResult
		for _, episodes := range []int{20, 1, 7, 13} {
			told := cmdp.Confidence{Episodes: 20, Failure: 0.05}
			c := brief(t, PrepareOptions{Unmeasured: !measured, Records: []int{1, 7, 13},
				Configure: func(cfg *baseline.Config) { cfg.Confidence = told }},
				func(s *Settings) { s.Episodes, s.Expected = episodes, !measured })
			if err := Play(t.Context(), c.Trials(), PlayOptions{}); err != nil {
				t.Fatal(err)
			}
			r := c.Entrants[0].Results[1]
			if want := c.Task.Violation(r.Average); measured && math.Abs(r.Metrics["violation"]-want) > 1e-12 {
				t.Errorf("after %d episodes: the violation is %g: want %g", episodes, r.Metrics["violation"], want)
			}
			if whole == nil {
				whole = r
			}
			for _, rec := range whole.History {
				if rec.Episode != episodes {
					continue
				}
				if last := r.History[len(r.History)-1]; !measured && (!reflect.DeepEqual(rec.Average, r.Average) ||
					len(rec.Expected) != 2 || !reflect.DeepEqual(rec.Expected, last.Expected)) {
					t.Errorf("after %d episodes: %+v: want the mean returns %v", episodes, rec, r.Average)
				}
				for key, x := range rec.Metrics {
					if want, is := r.Metrics[key]; measured && (!is || x != want) { // none is NaN
						t.Errorf("after %d episodes: %s is %g: want %g", episodes, key, x, want)
					}
				}
			}
		}
		if len(whole.History) != 4 {
			t.Errorf("records %+v", whole.History)
		}
	}
}

// TestFoldersKeepResults: a folder has the results of the runs that were played, misses the others, and refuses those
// of other settings and problems.
func TestFoldersKeepResults(t *testing.T) {
	folder := &Folder{Path: t.TempDir()}
	enter := func(print string, change func(*Settings)) (*Contest, []*Trial) {
		c := brief(t, PrepareOptions{}, func(s *Settings) { s.Seeds = 4; change(s) })
		c.Fingerprint += print
		if err := folder.Add(c, "rooms"); err != nil {
			t.Fatal(err)
		}
		return c, c.Trials()
	}
	same := func(*Settings) {}
	c, trials := enter("", same)
	if err := Play(t.Context(), []*Trial{trials[1], trials[3]}, PlayOptions{Keeper: folder}); err != nil {
		t.Fatal(err)
	}
	again, trials := enter("", same)
	missing, err := folder.Read(trials)
	for i, trial := range trials {
		if missing[trial] != (i%2 == 0) || i%2 > 0 && !reflect.DeepEqual(again.Entrants[0].Results[i].Average,
			c.Entrants[0].Results[i].Average) {
			t.Errorf("run %d is missing: %v, with %+v", i, missing[trial], again.Entrants[0].Results[i])
		}
	}
	if err != nil {
		t.Error(err)
	}
	for what, change := range map[string]func(*Settings){"seeds": func(s *Settings) { s.Seed, s.Seeds = 2, 1 },
		"lazy": func(s *Settings) { s.Lazy = true }, "planner": func(s *Settings) { s.Planner = "mvp" },
		"failure": func(s *Settings) { s.Failure = 0.1 }, "another problem": same} {
		_, trials := enter(map[bool]string{true: "other"}[what == "another problem"], change)
		if _, err := folder.Read(trials); (err == nil) != (what == "seeds") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestSettingsReachLearners: learners are told what the settings say, and who takes part is what they say too.
func TestSettingsReachLearners(t *testing.T) {
	var cfg baseline.Config
	tell := PrepareOptions{Unmeasured: true, Own: []baseline.Algorithm{{Name: "moma",
		New: func(c baseline.Config) (cmdp.Learner, error) {
			cfg = c
			return baseline.New("moma", c)
		}}}}
	seen := make(map[string]string)
	for name, change := range map[string]func(*Settings){
		"none":            func(*Settings) {},
		"planner mvp":     func(s *Settings) { s.Planner = "mvp" },
		"planner second":  func(s *Settings) { s.Planner = "hoeffding" },
		"bonus-scale":     func(s *Settings) { s.Bonus = cmdp.BonusScale{Mode: cmdp.Theory} },
		"returns unknown": func(s *Settings) { s.Returns = "unknown" },
		"pool":            func(s *Settings) { s.Pool = true },
		"support":         func(s *Settings) { s.Support = "auto" },
		"failure":         func(s *Settings) { s.Failure = 0.2 },
		"lazy":            func(s *Settings) { s.Lazy = true },
		"slater":          func(s *Settings) { s.Slater = "0.25" },
		"slater auto":     func(s *Settings) { s.Slater = "auto" },
		"safe-policy":     func(s *Settings) { s.Safe = "auto" },
		"null-policy":     func(s *Settings) { s.Null = "auto" },
		"episodes":        func(s *Settings) { s.Episodes = 21 },
		"seed":            func(s *Settings) { s.Seed = 9 },
	} {
		c := brief(t, tell, change)
		if err := c.Trials()[0].Begin(); err != nil {
			t.Fatal(err)
		}
		know := cfg.Knowledge
		for of, is := range map[string]bool{"slater": know.Slater > 0, "safe-policy": know.Safe != nil,
			"null-policy": know.Null != nil, "support": know.Support != nil} {
			if is && !strings.HasPrefix(name, of) {
				t.Errorf("with %s learners are told of the %s", name, of)
			}
		}
		told := fmt.Sprint(cfg.Planner, cfg.Bonus, cfg.Returns != nil, cfg.Pooled, know.Support != nil, cfg.Confidence,
			cfg.Lazy, know.Slater, know.Safe != nil, know.Null != nil, cfg.Seed)
		if other, is := seen[told]; is {
			t.Errorf("with %s learners are told what they are with %s: %s", name, other, told)
		}
		seen[told] = name
	}
	for _, endless := range []bool{true, false} {
		c := &Contest{Settings: Settings{Algorithms: []string{""}}}
		if endless {
			c.discount = 1
		}
		for _, a := range baseline.Algorithms() {
			kind := endless && a.Endless || !endless && !a.NoEpisodes
			c.Algorithms[0] = "all"
			all := c.plays(a)
			c.Algorithms[0] = Fitting
			if fit := c.plays(a); all != kind || fit != (kind && !a.Slow) {
				t.Errorf("%s, endless %v: among all %v, among the fitting %v", a.Name, endless, all, fit)
			}
			c.Algorithms[0] = a.Name
			if named := c.plays(a); !named {
				t.Errorf("%s is named and does not play", a.Name)
			}
		}
	}
}

// TestToldAndUnfit: what a learner is told and who does not play are counted out.
func TestToldAndUnfit(t *testing.T) {
	for n := range 16 {
		adversarial, changes, uses, known := n&1 > 0, n&2 > 0, n&4 > 0, n&8 > 0
		c := new(Contest)
		if changes {
			c.Changing = adversary
		}
		if known {
			c.cfg.Knowledge.Support = baseline.Support{}
		}
		told := strings.Join(c.told(baseline.Algorithm{Adversarial: adversarial, UsesSupport: uses}), ", ")
		if strings.Contains(told, "returns of each episode") != (adversarial && changes) ||
			strings.Contains(told, "successors") != (uses && known) {
			t.Errorf("adversarial %v, changing %v, uses successors %v, which are known %v: %q", adversarial, changes, uses,
				known, told)
		}
	}
	fit := brief(t, PrepareOptions{}, func(s *Settings) { s.Algorithms = []string{Fitting} })
	all := brief(t, PrepareOptions{}, func(s *Settings) { s.Algorithms = []string{"all"} })
	refused, playing := 0, 0
	for _, a := range baseline.Algorithms() {
		if !a.NoEpisodes {
			playing++
		}
	}
	if len(all.Entrants) != playing {
		t.Errorf("%d learners play in episodes: want %d", len(all.Entrants), playing)
	}
	for _, e := range all.Entrants {
		if e.Refused != "" && !e.Slow {
			refused++
		}
	}
	if fit.Unfit != refused || refused == 0 || len(fit.Refusals()) > 0 {
		t.Errorf("%d learners are left out, and %v: want %d", fit.Unfit, fit.Refusals(), refused)
	}
}

// TestRefusedSettings: a suite with a wrong setting is refused by the number and name of its entry, the setting, and
// what is wanted; values at the ends of what is allowed are taken.
func TestRefusedSettings(t *testing.T) {
	for text, want := range map[string]string{
		"steps: -1": "steps -1: want", "steps: 1": "", "seeds: 0": "seeds 0: want", "returns: some": `returns "some": want`,
		"support: some": `support "some": want`, "slater: 0": `slater "0": want`, "slater: x": `slater "x": want`,
		"slater: 1e101": `slater "1e101": want`, "slater: 1e100": "", "planner: x": "planner", "dual: x": "dual",
		"algorithms: [x]": "x", "algorithms: []": "no algorithms", "opponent: x": "opponent", "failure: 0": "failure",
		"failure: 1": "failure", "knapsack-margin: 2": "2", "changing: x": "changing", "changing: drift": "drift:FILE",
		"changing: adversary:x": "drift:FILE", "rho: x": "x", "seed: x": "x",
		"name: a b": `name "a b": want`, "name: media": "two problems are called media", "unknown: 1": "unknown",
	} {
		for place, file := range []string{"problems: [{problem: inventory, %s}, media]",
			"problems: [media, {problem: inventory, %s}]"} {
			path := filepath.Join(t.TempDir(), "suite.yaml")
			if err := os.WriteFile(path, fmt.Appendf([]byte("format: cmdp-suite/1\n"), file, text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := ReadSuite(path)
			numbered := strings.HasPrefix(want, "two") ||
				err != nil && strings.Contains(err.Error(), fmt.Sprintf("problem %d", place+1))
			if (err == nil) != (want == "") || err != nil && (!numbered || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s in entry %d: %v: want %q", text, place+1, err, want)
			}
		}
	}
	for list, want := range map[string]string{"[]": "no problems", "[media, null]": "problem 2 is empty",
		"[{name: a}]": "problem 1: an entry without a problem", "[media": "suite.yaml: [2:11]"} {
		path := filepath.Join(t.TempDir(), "suite.yaml")
		if err := os.WriteFile(path, []byte("format: cmdp-suite/1\nproblems: "+list+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSuite(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v: want %q", list, err, want)
		}
	}
}

// TestFilesOfSuites: each file that a suite names is the one in its folder, if there is one.
func TestFilesOfSuites(t *testing.T) {
	folder := t.TempDir()
	named := func(s *Suite) map[string]string {
		e := s.Problems[0]
		return map[string]string{"problem": e.Problem, "safe-policy": e.Settings.Safe, "null-policy": e.Settings.Null,
			"changing": e.Settings.Changing.File}
	}
	for name := range named(&Suite{Problems: []*Entry{{}}}) {
		for _, file := range []string{"there.yaml", "elsewhere.yaml"} {
			text := fmt.Sprintf("{problem: media, %s: %s}", name, file)
			switch name {
			case "problem":
				text = fmt.Sprintf("{problem: %s}", file)
			case "changing":
				text = fmt.Sprintf("{problem: media, changing: 'drift:%s'}", file)
			}
			for path, text := range map[string]string{"there.yaml": "", "media": "",
				"suite.yaml": "format: cmdp-suite/1\nproblems: [" + text + "]\n"} {
				if err := os.WriteFile(filepath.Join(folder, path), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s, err := ReadSuite(filepath.Join(folder, "suite.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"problem": filepath.Join(folder, "media"), "safe-policy": "none", "null-policy": "none",
				"changing": ""}
			want[name] = file
			if file == "there.yaml" {
				want[name] = filepath.Join(folder, file)
			}
			if got := named(s); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %v: want %v", text, got, want)
			}
		}
	}
}

// TestUnitsOfKnowledge: the null policy that is found is the same whatever units constraints are written in.
func TestUnitsOfKnowledge(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 3))
	found := 0
	for range 40 {
		rows := ""
		for action := range 3 {
			rows += fmt.Sprintf("  - {state: 0, action: %d, next: {0: 1}, returns: [1, %d, %d]}\n", action, rng.IntN(5),
				rng.IntN(5))
		}
		var policies []string
		for _, unit := range []float64{1, 100} {
			p := parsed(t, "horizon: 2\nstates: 1\nstart: 0\nreturns: [gain, a, b]\ngoal: {maximize: gain}\n"+
				"constraints: [{return: a, at_most: 1}, {return: b, at_most: 1}]\ntransitions:\n"+rows)
			task := compiled(t, p).Task
			for i := range task.Constraints { // the same half-space, with a normal of another length
				c := &task.Constraints[i]
				if c.Normal[1] != 0 {
					c.Normal, c.Offset = []float64{0, unit * c.Normal[1], 0}, unit*c.Offset
				}
			}
			policy, returns := nullPolicy(p.Model, task)
			policies = append(policies, fmt.Sprint(policy != nil, returns))
			if policy != nil {
				found++
			}
		}
		if policies[0] != policies[1] {
			t.Errorf("%v: want the same in other units\n%s", policies, rows)
		}
	}
	if found == 0 {
		t.Error("no null policy was found")
	}
}

// TestPenalties: the weight of the distance to a target is that of the rule: of a ball with the radius that is given,
// of the exact multiplier, or a number.
func TestPenalties(t *testing.T) {
	c := brief(t, PrepareOptions{}, func(*Settings) {})
	ball, err := cmdp.SlaterPenalty(c.shape, c.Task.Cost, 0.25)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]float64{"slater:0.25": ball.Rho, "model": c.Answer.Best.Rho, "2.5": 2.5} {
		var s Settings
		if err := s.Rho.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		p, err := s.penalty(c.shape, c.Task, c.Answer.Best)
		if err != nil || p.Rho != want || want <= 0 {
			t.Errorf("%s: %+v, error %v: want %g", text, p, err, want)
		}
	}
}
