package contest

import (
	"fmt"
	"maps"
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
	"cmdpsolve/cmdp/instance"
	"cmdpsolve/cmdp/problem"
)

// roomsRows are the rows of a problem of two rooms that lead to each other, with lines of its head and its goal.
func roomsRows(head, goal string) string {
	return head + "\nname: rooms\nstates: 2\nstart: 0\nreturns: [gain, cost]\n" + goal + "\ntransitions:\n" +
		"  - {state: 0, action: go, next: {0: 0.5, 1: 0.5}, returns: [1, 1]}\n" +
		"  - {state: 0, action: rest, next: {1: 1}, returns: [0.25, 0]}\n" +
		"  - {state: 1, action: on, next: {0: 0.75, 1: 0.25}, returns: [2, 1.5]}\n"
}

const roomsGoal = "goal: {maximize: gain}\nconstraints: [{return: cost, at_most: 1.6}]"

// A playable is a kind of problem for contests, with what is not to be asked of it.
type playable struct {
	problem *problem.Problem
	opts    PrepareOptions
	change  func(*Settings)
	// refused are the names of what is refused, with a word of the reason.
	refused map[string]string
}

// contest prepares a contest of one learner for a few episodes.
func (p *playable) contest(t *testing.T, change func(*Settings, *PrepareOptions)) (*Contest, error) {
	t.Helper()
	settings, opts := Defaults(), p.opts
	settings.Algorithms, settings.Episodes, settings.Seeds = []string{"posterior"}, 5, 1
	if p.change != nil {
		p.change(&settings)
	}
	change(&settings, &opts)
	return New(t.Context(), compiled(t, p.problem), settings, opts)
}

// playables are problems of all kinds that can be played.
func playables(t *testing.T) map[string]*playable {
	game, err := instance.New("matrix:limit=0.4")
	if err != nil {
		t.Fatal(err)
	}
	game.Opponent = &problem.OpponentSpec{Policy: "adversarial"}
	other := filepath.Join(t.TempDir(), "other.yaml")
	text := strings.ReplaceAll(roomsRows("format: cmdp/1\nhorizon: 2", roomsGoal), "returns: [1, 1]", "returns: [3, 1]")
	if err := os.WriteFile(other, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	simulated := &problem.Problem{Name: "rooms", Returns: []string{"gain", "cost"}}
	simulated.Goal = problem.Goal{Maximize: "gain"}
	rooms := parsed(t, roomsRows("horizon: 2", roomsGoal))
	simulated.Simulated = rooms.Model.Shape()
	words := func(of string, names ...string) map[string]string {
		out := make(map[string]string)
		for _, name := range names {
			out[name] = of
		}
		return out
	}
	endless := words("this is about episodes", "pool", "slater", "safe-policy", "null-policy", "expected", "mixture")
	model := words("this is computed from the model, and a simulator has none", "returns", "expected", "rho", "support",
		"slater", "safe-policy", "null-policy")
	model["measured"], model["log"] = "a simulator has none", "a simulator has no names"
	const episodic = "returns change from episode to episode of a model with a horizon and one player"
	endless["changing"], model["changing"] = episodic, episodic
	both := maps.Clone(model)
	maps.Copy(both, endless)
	means, err := cmdp.NewEndless(parsed(t, roomsRows("criterion: average", roomsGoal)).Model)
	if err != nil {
		t.Fatal(err)
	}
	endlessly := *simulated
	endlessly.Simulated, endlessly.SimulatedDiscount = means.Shape(), 1
	steps := func(s *Settings) { s.Steps, s.Episodes = 5, 7 }
	stay := words("this is about returns that stay", "rho", "slater", "safe-policy", "null-policy", "log", "expected",
		"mixture")
	return map[string]*playable{
		"episodes": {problem: rooms},
		"average":  {problem: parsed(t, roomsRows("criterion: average", roomsGoal)), refused: endless, change: steps},
		"discount": {problem: parsed(t, roomsRows("discount: 0.5", roomsGoal)), refused: endless, change: steps},
		"changing": {problem: rooms, change: func(s *Settings) { s.Changing = adversary },
			refused: stay},
		"a ball": {problem: parsed(t, roomsRows("horizon: 2", "goal: {minimize: cost}\ntarget: {ball: {center: [1, 1], "+
			"radius: 2}}")), refused: map[string]string{"changing": "against a linear goal"}},
		"limits that nothing keeps": {problem: parsed(t, roomsRows("horizon: 2", strings.Replace(roomsGoal, "1.6", "0.1", 1))),
			refused: words("no exact multiplier", "rho")},
		"steps that differ": {problem: parsed(t, strings.Replace(roomsRows("horizon: 2", roomsGoal), "{state: 1,",
			"{step: 1, state: 1, action: on, next: {1: 1}}\n  - {step: 2, state: 1,", 1)),
			refused: words("pool", "pool", "log")},
		"simulator without end": {problem: &endlessly, refused: both,
			opts:   PrepareOptions{Unmeasured: true, Simulator: func() (cmdp.Environment, error) { return means, nil }},
			change: func(s *Settings) { s.Returns, s.Steps, s.Episodes = "unknown", 5, 7 }},
		"drifting":  {problem: rooms, change: func(s *Settings) { s.Changing = Changing{"drift", other} }, refused: stay},
		"switching": {problem: rooms, change: func(s *Settings) { s.Changing = Changing{"switch", other} }, refused: stay},
		"game": {problem: game, change: func(s *Settings) { s.Algorithms = []string{"moma"} },
			refused: map[string]string{"log": "one player", "planner": "want hoeffding", "changing": episodic,
				"rho": "only the double dual update"}},
		"simulator": {problem: simulated, refused: model, change: func(s *Settings) { s.Returns = "unknown" },
			opts: PrepareOptions{Unmeasured: true,
				Simulator: func() (cmdp.Environment, error) { return rooms.Model, nil }}},
	}
}

// TestAskedOfProblems: each thing that can be asked beside playing is refused for the kinds of problems that cannot
// have it, with the name of the problem, of what was asked and the reason, and goes through for all others.
func TestAskedOfProblems(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log.csv")
	if err := os.WriteFile(log, []byte("state,action,next,count\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	asked := map[string]func(*Settings, *PrepareOptions){
		"nothing":     func(_ *Settings, o *PrepareOptions) { o.Name = "as messages call it" },
		"everybody":   func(s *Settings, _ *PrepareOptions) { s.Algorithms = []string{"all"} },
		"pool":        func(s *Settings, _ *PrepareOptions) { s.Pool = true },
		"returns":     func(s *Settings, _ *PrepareOptions) { s.Returns = "known" },
		"expected":    func(s *Settings, o *PrepareOptions) { s.Expected, o.Unmeasured = true, true },
		"rho":         func(s *Settings, _ *PrepareOptions) { s.Rho = cmdp.Penalty{Rule: cmdp.PenaltyModel} },
		"support":     func(s *Settings, _ *PrepareOptions) { s.Support = "auto" },
		"slater":      func(s *Settings, _ *PrepareOptions) { s.Slater = "auto" },
		"safe-policy": func(s *Settings, _ *PrepareOptions) { s.Safe = "auto" },
		"null-policy": func(s *Settings, _ *PrepareOptions) { s.Null = "auto" },
		"log":         func(s *Settings, _ *PrepareOptions) { s.Log, s.Pool = log, s.Steps == 0 },
		"mixture":     func(_ *Settings, o *PrepareOptions) { o.Mixture, o.Unmeasured = true, true },
		"measured":    func(_ *Settings, o *PrepareOptions) { o.Unmeasured = false },
		"planner":     func(s *Settings, _ *PrepareOptions) { s.Planner = "bernstein" },
		"changing":    func(s *Settings, _ *PrepareOptions) { s.Changing = adversary },
	}
	for kind, p := range playables(t) {
		for name, change := range asked {
			c, err := p.contest(t, change)
			if want, is := p.refused[name]; is {
				text := fmt.Sprint(err)
				named := strings.HasPrefix(text, p.problem.Name+": ") || name == "log" ||
					(name == "rho" || name == "pool") && c == nil && kind != "simulator"
				if err == nil || !named || !strings.Contains(text, name) || !strings.Contains(text, want) {
					t.Errorf("%s, %s: %v: want %q, by the name of the problem", kind, name, err, want)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s, %s: %v", kind, name, err)
				continue
			}
			checkEntered(t, kind+", "+name, c)
			if name != "everybody" {
				playAndMeasure(t, kind+", "+name, c)
			}
		}
		nameless := *p.problem
		nameless.Name = ""
		without := playable{problem: &nameless, opts: p.opts, change: p.change}
		c, err := without.contest(t, func(_ *Settings, o *PrepareOptions) { o.Name = "title" })
		if err != nil || c.Title != "title" {
			t.Errorf("%s without a name: %v, titled %q", kind, err, c.Title)
		}
		for _, episodes := range []int{1, 2} {
			c, err := p.contest(t, func(s *Settings, _ *PrepareOptions) {
				s.Episodes, s.Steps = episodes, min(s.Steps, episodes)
			})
			if err != nil {
				t.Fatalf("%s, %d episodes: %v", kind, episodes, err)
			}
			playAndMeasure(t, fmt.Sprint(kind, ", ", episodes), c)
		}
	}
}

// checkEntered checks what is known of a contest and its learners before they play.
func checkEntered(t *testing.T, what string, c *Contest) {
	t.Helper()
	if c.Changes() && c.Answer.Best != nil {
		t.Errorf("%s: the answer is that of returns that stay", what)
	}
	if c.Title != c.Query.Problem.Name {
		t.Errorf("%s: the title is %q", what, c.Title)
	}
	for _, e := range c.Entrants {
		a, err := baseline.Lookup(e.Name)
		want := a.Guarantee
		endless := c.Query.Problem.SimulatedDiscount > 0 || c.Query.Model != nil && c.Query.Model.Horizon() == 0
		if endless && a.EndlessGuarantee != "" {
			want = a.EndlessGuarantee
		}
		if err != nil || e.Guarantee != want {
			t.Errorf("%s: %s is guaranteed %q: want %q", what, e.Name, e.Guarantee, want)
		}
	}
}

// playAndMeasure measures a run before its first episode and after its last: the mean is that of the episodes.
func playAndMeasure(t *testing.T, what string, c *Contest) {
	t.Helper()
	for _, trial := range c.Trials() {
		if err := trial.Begin(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		checkKnown(t, what+", before the first episode", trial.Run)
		shown := 0
		progress := PlayOptions{Progress: func(_ *Run, episodes int) { shown += episodes }}
		if err := Play(t.Context(), []*Trial{trial}, progress); err != nil || shown != c.Episodes {
			t.Fatalf("%s: %d episodes are told of, %v", what, shown, err)
		}
		checkKnown(t, what, trial.Run)
		m := trial.Run.Measure()
		if r := trial.Results[0]; m.Episodes != c.Episodes || r.Episodes != c.Episodes || r.Problem != c.Title ||
			!reflect.DeepEqual(r.Average, m.Average) || len(r.Average) != c.shape.Dim() {
			t.Errorf("%s: after %d episodes: %+v, as a result %+v", what, c.Episodes, m, r)
		}
	}
}

// checkKnown checks that each metric is a number where there is one: of a learner that is not measured episode by
// episode the regret and the violation of the mean, if there is a goal and a value of it, and limits.
func checkKnown(t *testing.T, what string, r *Run) {
	t.Helper()
	m := r.Measure()
	values := valuesOf(&m, Metrics())
	optimum := r.Query.Model != nil && !strings.HasPrefix(what, "limits that nothing keeps")
	goal, limits := r.Task.Cost != nil && optimum && (r.Endless() || r.Changes()), r.Task.Target != nil
	limits, goal = limits && m.Episodes > 0, goal && m.Episodes > 0
	judged := r.Changes() || r.Endless()
	known := map[string]bool{"violation": limits, "regret": goal, "realized_weak_regret": goal,
		"max_violation": limits && judged, "realized_weak_violation": limits && judged, SecondsKey: true,
		"planner_calls": true, "programs": true, "infeasible_programs": true}
	for key, x := range values {
		if r.recorder == nil && math.IsNaN(x) == known[key] {
			t.Errorf("%s: %s is %g: want a number: %v", what, key, x, known[key])
		}
	}
}

// TestFingerprints: of contests that differ in the problem, or in a file that learners are told, no two have the same
// fingerprint; the same files in another place make none.
func TestFingerprints(t *testing.T) {
	texts := []string{"one text", "another"}
	seen := make(map[string]string)
	for _, limit := range []int{1, 2} {
		text := strings.Replace(roomsRows("horizon: 2", roomsGoal), "at_most: 1.6", fmt.Sprint("at_most: ", limit), 1)
		p := parsed(t, text)
		for what, tell := range map[string]func(*Settings, string){
			"nothing": nil, "safe-policy": func(s *Settings, path string) { s.Safe = path },
			"null-policy": func(s *Settings, path string) { s.Null = path },
			"log":         func(s *Settings, path string) { s.Log = path },
			"changing":    func(s *Settings, path string) { s.Changing = Changing{"drift", path} },
		} {
			for n, content := range texts {
				var prints []string
				for range 2 {
					path := filepath.Join(t.TempDir(), "file.csv")
					if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
						t.Fatal(err)
					}
					c := &Contest{Settings: Defaults(), Query: compiled(t, p)}
					if tell != nil {
						tell(&c.Settings, path)
					}
					print, err := c.fingerprint()
					if err != nil {
						t.Fatal(err)
					}
					prints = append(prints, print)
				}
				name := fmt.Sprint(limit, " ", n)
				if tell == nil {
					name = fmt.Sprint(limit, " nothing")
				}
				if prints[0] != prints[1] || seen[prints[0]] != "" && seen[prints[0]] != name {
					t.Errorf("%s: %s: the fingerprint is that of %s, elsewhere %s", what, name, seen[prints[0]], prints[1])
				}
				seen[prints[0]] = name
			}
		}
	}
}

// TestLogsAreWhatWasSeen: a log of episodes, or of a run without end, tells learners the counts of what it was written
// from, pooled or not, with returns where they are to be learned; what cannot be is refused where the model says so.
func TestLogsAreWhatWasSeen(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 5))
	for n := range 16 {
		endless, pool, unknown, support := n&1 > 0, n&2 > 0 && n&1 == 0, n&4 > 0, n&8 > 0
		head := map[bool]string{true: "discount: 0.5", false: "horizon: 3"}[endless]
		p := playable{problem: parsed(t, roomsRows(head, roomsGoal))}
		m := p.problem.Model
		var rows [][]string
		type place struct{ h, s, a, to int }
		visits, sums, steps := make(map[place]float64), make(map[place]float64), 0
		for episode := range 4 {
			s := 0
			for h := range 3 {
				a := rng.IntN(2 - s)
				r := make([]float64, 2)
				to := m.Step(r, rng, 0, s, a)
				at := h
				if pool || endless {
					at = 0
				}
				visits[place{at, s, a, to}]++
				sums[place{at, s, a, 0}] += r[1]
				steps++
				rows = append(rows, []string{fmt.Sprint(episode), fmt.Sprint(h + 1), fmt.Sprint(s),
					[]string{"go", "rest", "on"}[a+2*s], fmt.Sprint(to), fmt.Sprint(r[0]), fmt.Sprint(r[1])})
				s = to
			}
		}
		write := func(rows [][]string) string {
			lines := []string{"episode,step,state,action,next,gain,cost"}
			for _, row := range rows {
				lines = append(lines, strings.Join(row, ","))
			}
			path := filepath.Join(t.TempDir(), "log.csv")
			if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}
		prepare := func(path string) (*Contest, error) {
			return p.contest(t, func(s *Settings, _ *PrepareOptions) {
				s.Log, s.Pool = path, pool
				if unknown {
					s.Returns = "unknown"
				}
				if support {
					s.Support = "auto"
				}
			})
		}
		c, err := prepare(write(rows))
		if err != nil {
			t.Fatalf("%d: %v", n, err)
		}
		counts := c.cfg.Prior
		if c.Logged != (problem.LogSize{Episodes: 4, Transitions: steps}) {
			t.Errorf("%d: %+v were logged: want 4 episodes, %d transitions", n, c.Logged, steps)
		}
		for at := range visits {
			all := 0.0
			for to := range 2 {
				all += visits[place{at.h, at.s, at.a, to}]
			}
			next, share := counts.AppendSuccessors(nil, nil, at.h, at.s, at.a)
			i := slices.Index(next, int32(at.to))
			if got := float64(counts.Visits(at.h, at.s, at.a)); got != all || i < 0 || share[i] != visits[at] {
				t.Errorf("%d: %+v: %g visits, to %v %v times: want %g, %g times", n, at, got, next, share, all, visits[at])
			}
			mean := make([]float64, 2)
			scale := map[bool]float64{true: 2, false: 1}[endless] // see cmdp.Endless
			learned := counts.MeanReturn(mean, at.h, at.s, at.a)
			if learned != unknown || learned && math.Abs(mean[1]-scale*sums[place{at.h, at.s, at.a, 0}]/all) > 1e-12 {
				t.Errorf("%d: %+v: mean returns %v, learned %v", n, at, mean, learned)
			}
		}
		if !endless {
			checkLogged(t, c, counts, pool, unknown, support)
		}
		rows = nil
		for h := range 3 { // rest leads to state 1 alone
			rows = append(rows, []string{"0", fmt.Sprint(h + 1), "0", "rest", "0", "0.25", "0"})
		}
		if _, err := prepare(write(rows)); (err == nil) == support {
			t.Errorf("%d: a successor that the model does not have: %v", n, err)
		}
	}
}

// checkLogged compares the plan of a log with that of a planner which is told the same.
func checkLogged(t *testing.T, c *Contest, counts *cmdp.Counts, pool, unknown, support bool) {
	t.Helper()
	m := c.Query.Model
	cfg := baseline.Config{Shape: m.Shape(), Task: c.Task, Prior: counts, Seed: 3}
	cfg.Pooled = pool
	if !unknown {
		cfg.Returns = m.KnownReturns()
	}
	if support {
		cfg.Knowledge.Support = baseline.SupportOf(m)
	}
	want, wanted := baseline.PlanCredibly(t.Context(), cfg, 0.5, 20)
	log := Log{Pool: pool, Returns: unknown, Support: support}
	got, err := log.Plan(t.Context(), c.Query, counts, 0.5, 20, 3)
	if fmt.Sprint(err) != fmt.Sprint(wanted) || err == nil && (got.Share != want.Share ||
		!reflect.DeepEqual(got.Returns, want.Returns)) {
		t.Errorf("a plan of a log: %+v, error %v: want %+v, error %v", got, err, want, wanted)
	}
}

// TestCheckpointsOfOtherKinds: a checkpoint goes on in a contest of its kind alone, measured or not, with or without a
// mixture, and with its own number of episodes unless another one is given.
func TestCheckpointsOfOtherKinds(t *testing.T) {
	p := playables(t)["episodes"]
	kinds := []PrepareOptions{{}, {Unmeasured: true}, {Unmeasured: true, Mixture: true}}
	for i, saved := range kinds {
		path := filepath.Join(t.TempDir(), "runs")
		c, err := p.contest(t, func(_ *Settings, o *PrepareOptions) { *o = saved })
		if err != nil {
			t.Fatal(err)
		}
		file, err := NewCheckpointFile(path, c)
		if err != nil {
			t.Fatal(err)
		}
		results(t, c, file)
		for j, other := range kinds {
			for _, given := range []bool{false, true} {
				s := Defaults()
				s.Episodes = 9
				from, err := ReadCheckpoint(path, &s, !other.Unmeasured, func(name string) bool {
					return given && name == "episodes"
				})
				good := saved.Unmeasured == other.Unmeasured && (saved.Unmeasured || !given)
				if (err == nil) != good || err != nil && !strings.Contains(err.Error(), path) {
					t.Errorf("kind %d in kind %d, other episodes %v: %v", i, j, given, err)
				}
				if err != nil {
					continue
				}
				if want := map[bool]int{true: 9, false: 5}[given]; s.Episodes != want {
					t.Errorf("kind %d: %d episodes: want %d", i, s.Episodes, want)
				}
				c, err := p.contest(t, func(of *Settings, o *PrepareOptions) { *of, *o = s, other })
				if err != nil {
					t.Fatal(err)
				}
				again, err := NewCheckpointFile(path+"2", c)
				if err != nil {
					t.Fatal(err)
				}
				if err := again.Adopt(from, path); (err == nil) != (i == j) {
					t.Errorf("kind %d in kind %d: %v", i, j, err)
				}
			}
		}
	}
}

// TestVariantsThatAreLeftOut: of learners that come to the same one is among the fitting ones, and the variant of MOMA
// that is left out plays as moma does.
func TestVariantsThatAreLeftOut(t *testing.T) {
	for _, goal := range []string{roomsGoal, "constraints: [{return: cost, at_most: 1.6}]"} {
		for _, dual := range []string{"", "free", "projection"} {
			p := playable{problem: parsed(t, roomsRows("horizon: 2", goal))}
			with := func(names ...string) *Contest {
				c, err := p.contest(t, func(s *Settings, o *PrepareOptions) {
					s.Algorithms, s.Dual, s.Episodes, o.Unmeasured = names, dual, 9, true
				})
				if err != nil {
					t.Fatal(err)
				}
				return c
			}
			fit := with(Fitting)
			in := func(name string) bool {
				return slices.ContainsFunc(fit.Entrants, func(e *Entrant) bool { return e.Name == name })
			}
			var out []string
			for _, e := range with("all").Entrants {
				if strings.HasPrefix(e.Name, "moma") && e.Refused == "" && !in(e.Name) {
					out = append(out, e.Name)
				}
			}
			if len(out) != 1 || dual == "" && out[0] == "moma" {
				t.Errorf("%s, dual %q: %q are left out", goal, dual, out)
				continue
			}
			if dual == "" {
				c := with("moma", out[0])
				results(t, c, nil)
				one, other := c.Entrants[0].Results[0].Average, c.Entrants[1].Results[0].Average
				if !reflect.DeepEqual(one, other) {
					t.Errorf("%s: %s has %v, and moma %v", goal, out[0], other, one)
				}
			}
		}
	}
}

// TestKnowledgeThatIsNotThere: whoever needs what the model does not have is left out, with a reason that says so if it
// was looked for; a policy file that is no null policy is refused.
func TestKnowledgeThatIsNotThere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.csv")
	if err := os.WriteFile(file, []byte("state,action,probability\n0,go,1\n1,on,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const never = "goal: {maximize: gain}\nconstraints: [{return: cost, at_most: 0.1}]"
	const curved = "goal: {maximize: gain}\ntarget: {ball: {center: [1, 1], radius: 0.5}}"
	for name, p := range map[string]struct {
		goal, null string
		refused    bool
	}{"limits that nothing keeps": {never, "auto", false}, "limits": {roomsGoal, "auto", false}, "a ball": {curved, "auto", false},
		"random costs": {roomsGoal, file, true}, "a policy for a ball": {curved, file, true}} {
		all := playable{problem: parsed(t, roomsRows("horizon: 2", p.goal))}
		for _, auto := range []bool{true, false} {
			c, err := all.contest(t, func(s *Settings, _ *PrepareOptions) {
				s.Algorithms = []string{"all"}
				if auto {
					s.Slater, s.Safe, s.Null = "auto", "auto", p.null
				}
			})
			if refused := auto && p.refused; (err != nil) != refused ||
				refused && !strings.Contains(err.Error(), "does not surely return the same") {
				t.Errorf("%s, told what there is %v: %v", name, auto, err)
			}
			if err != nil {
				continue
			}
			for _, e := range c.Entrants {
				needs := strings.HasPrefix(e.Refused, "it needs a ")
				know := c.cfg.Knowledge
				for need, known := range map[string]bool{"Slater constant": know.Slater > 0,
					"safe policy": know.Safe != nil, "null policy": know.Null != nil} {
					told := strings.Contains(strings.Join(e.Told, ", "), need)
					if told != (known && slices.Contains(e.Needs, need)) {
						t.Errorf("%s: %s is told %q, %s is known: %v", name, e.Name, e.Told, need, known)
					}
				}
				if told := strings.HasSuffix(e.Refused, ", and the model has none"); told != (auto && needs) {
					t.Errorf("%s: %s, told what there is %v: %q", name, e.Name, auto, e.Refused)
				}
			}
			// To rest costs 1.5 for certain.
			if found := c.cfg.Knowledge.Null != nil; found != (auto && p.goal != curved) {
				t.Errorf("%s: a null policy was found: %v", name, found)
			}
		}
	}
	var log Log
	if _, _, err := log.Read(nil); err == nil || !strings.Contains(err.Error(), "no problem") {
		t.Errorf("a log of nothing: %v", err)
	}
}

// TestMoreEpisodes: runs that are given more episodes than their checkpoint has come to what runs of as many
// episodes come to.
func TestMoreEpisodes(t *testing.T) {
	p := playables(t)["episodes"]
	contest := func(s Settings) *Contest {
		c, err := p.contest(t, func(of *Settings, o *PrepareOptions) {
			*of, o.Unmeasured, o.Records = s, true, []int{5}
		})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	s := Defaults()
	s.Algorithms, s.Episodes, s.Seeds = []string{"posterior"}, 5, 2
	path := filepath.Join(t.TempDir(), "runs")
	c := contest(s)
	file, err := NewCheckpointFile(path, c)
	if err != nil {
		t.Fatal(err)
	}
	results(t, c, file)
	for _, episodes := range []int{12, 5, 4} {
		more := Defaults()
		more.Episodes = episodes
		from, err := ReadCheckpoint(path, &more, false, func(name string) bool { return name == "episodes" })
		if (err == nil) != (episodes >= 5) {
			t.Fatalf("%d episodes: %v", episodes, err)
		}
		if err != nil {
			continue
		}
		if n, err := SavedEpisodes(from); n != 5 || err != nil {
			t.Errorf("%d episodes were saved, error %v", n, err)
		}
		c := contest(more)
		again, err := NewCheckpointFile(path+"2", c)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Adopt(from, path); err != nil {
			t.Fatal(err)
		}
		s.Episodes = episodes
		if got, want := results(t, c, again), results(t, contest(s), nil); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
