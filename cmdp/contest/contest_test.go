package contest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/instance"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"

	"gonum.org/v1/gonum/floats"
)

// TestShardsSplit: every run is in exactly one part.
func TestShardsSplit(t *testing.T) {
	for n := 1; n <= 7; n++ {
		for run := range 50 {
			owners := 0
			for i := range n {
				if (Shard{i, n}).Has(run) {
					owners++
				}
			}
			if owners != 1 {
				t.Fatalf("run %d is in %d of %d parts", run, owners, n)
			}
		}
	}
}

// TestNullPolicies checks what is found against what is known of the instances: it
// is possible never to order, to stay slow, not to swim; but not to be sure of
// where ice takes one beside a hole.
func TestNullPolicies(t *testing.T) {
	for name, want := range map[string]float64{
		"inventory": 0, "media": 0, "riverswim": 0, "cliff": 0, "garnet:S=10,A=2,H=4": math.NaN(),
	} {
		p, err := instance.New(name)
		if err != nil {
			t.Fatal(err)
		}
		task, err := query.TaskOf(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		policy, returns := nullPolicy(p.Model, task)
		if math.IsNaN(want) {
			if policy != nil {
				t.Errorf("%s: a null policy was found where returns are random", name)
			}
			continue
		}
		if policy == nil {
			t.Errorf("%s: no null policy was found", name)
			continue
		}
		if x := returns[1]; math.Abs(x-want) > 1e-12 {
			t.Errorf("%s: the null policy costs %g: want %g", name, x, want)
		}
		// Played, it costs the same in every episode.
		runner := cmdp.NewRunner(p.Model, still{policy}, 7, nil)
		for k := 1; k <= 50; k++ {
			if err := runner.Run(t.Context(), k); err != nil {
				t.Fatal(err)
			}
			if x := runner.Average()[1]; math.Abs(x-want) > 1e-12 {
				t.Fatalf("%s: after %d episodes the null policy costs %g on average", name, k, x)
			}
		}
	}
}

// still is a learner that learns nothing.
type still struct{ policy cmdp.Policy }

func (l still) Policy() cmdp.Policy      { return l.policy }
func (l still) Observe(*cmdp.Trajectory) {}

// results plays a contest to its end and returns its results without times.
func results(t *testing.T, c *Contest, keeper Keeper) string {
	t.Helper()
	if err := Play(t.Context(), c.Trials(), PlayOptions{Keeper: keeper, Parallel: 1}); err != nil {
		t.Fatal(err)
	}
	var all []*RunResult
	for _, e := range c.Entrants {
		for _, r := range e.Results {
			delete(r.Metrics, SecondsKey)
			all = append(all, r)
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestStoppedRunsGoOn stops runs of either learner at an episode that has a record, and at one that has none, between
// two savings or at one. What is gone on with has the results of what was never stopped, and begins where it was.
func TestStoppedRunsGoOn(t *testing.T) {
	for n, measured := range []bool{true, false, true, false} {
		for _, at := range [][]int{{8, 13}, {1, 13}}[n%2] {
			settings := Defaults()
			settings.Algorithms, settings.Episodes, settings.Seeds, settings.Slater = []string{"moma", "optdual"}, 30,
				2, "auto"
			make := func() *Contest {
				p, err := instance.New("riverswim")
				if err != nil {
					t.Fatal(err)
				}
				c := prepared(t, p, settings, PrepareOptions{Unmeasured: !measured})
				return c
			}
			want := results(t, make(), nil)
			path := filepath.Join(t.TempDir(), "runs")
			c := make()
			file, err := NewCheckpointFile(path, c)
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			last := settings.Algorithms[n/2]
			how := PlayOptions{Parallel: 1, Keeper: keepAt{file, last, at, stop}}
			if at != 13 { // while nothing is saved on the way
				how = PlayOptions{Parallel: 1, Keeper: file, Every: time.Hour, Recorded: func(r *Run) {
					if r.Entrant.Name == last && r.Runner.Episodes() >= at {
						stop()
					}
				}}
			}
			err = Play(ctx, c.Trials(), how)
			if stop(); !errors.Is(err, context.Canceled) {
				t.Fatalf("stopped: %v", err)
			}
			c = make()
			if file, err = NewCheckpointFile(path, c); err != nil {
				t.Fatal(err)
			}
			from, err := ReadCheckpoint(path, &settings, measured, func(string) bool { return false })
			if err != nil {
				t.Fatal(err)
			}
			if err := file.Adopt(from, path); err != nil {
				t.Fatal(err)
			}
			left := 4 // runs that are not measured may be given more episodes
			if measured {
				left -= 2 * (n / 2)
			}
			if got := len(c.Trials()); got != left {
				t.Errorf("measured %v, stopped with %s: %d runs are left: want %d", measured, last, got, left)
			}
			stopped := &Trial{Contest: c, Entrant: c.Entrants[n/2]}
			if err := stopped.Begin(); err != nil {
				t.Fatal(err)
			}
			if err := file.Restore(stopped.Run); err != nil || stopped.Run.Runner.Episodes() < at {
				t.Errorf("%s was stopped after %d episodes, and goes on after %d, error %v", last, at,
					stopped.Run.Runner.Episodes(), err)
			}
			if got := results(t, c, file); got != want {
				t.Errorf("measured %v, stopped after %d episodes: %s\nwant %s", measured, at, got, want)
			}
		}
	}
}

// keepAt is a keeper that stops everything once a run of a learner has played so many episodes.
type keepAt struct {
	*CheckpointFile
	of   string
	at   int
	stop func()
}

func (k keepAt) Keep(r *Run) error {
	if r.Entrant.Name == k.of && r.Runner.Episodes() >= k.at {
		k.stop()
	}
	return k.CheckpointFile.Keep(r)
}

// TestSettings: what is given must agree with a checkpoint, and only that; numbers that do
// not exist are null in files.
func TestSettings(t *testing.T) {
	a, b := Defaults(), Defaults()
	b.Bonus, b.Expected, b.Algorithms = cmdp.BonusScale{}, true, []string{"moma"}
	if got, want := a.differences(&b), []string{"algorithms", "bonus-scale", "expected"}; !slices.Equal(got, want) {
		t.Errorf("%v differ: want %v", got, want)
	}
	data, err := json.Marshal(Values{"x": math.NaN(), "y": math.Inf(1), "z": 0.1})
	if want := `{"x":null,"y":null,"z":0.1}`; err != nil || string(data) != want {
		t.Errorf("%s, %v: want %s", data, err, want)
	}
	var back Values
	if err := json.Unmarshal(data, &back); err != nil || !math.IsNaN(back["x"]) || back["z"] != 0.1 || len(back) != 3 {
		t.Errorf("read back as %v, %v", back, err)
	}
}

// TestSettingsAreListed: what a suite file can say is on the list that flags are made of, under the same name and with
// its own value.
func TestSettingsAreListed(t *testing.T) {
	var settings Settings
	listed := make(map[string]any)
	for _, s := range settings.List() {
		listed[s.Name] = s.Value
	}
	for i, f := range reflect.VisibleFields(reflect.TypeFor[Settings]()) {
		name := f.Tag.Get("yaml")
		if name == "-" {
			name = f.Tag.Get("json")
			name, _, _ = strings.Cut(name, ",")
		}
		if own := reflect.ValueOf(&settings).Elem().Field(i).Addr().Interface(); name != "steps" && listed[name] != own {
			t.Errorf("%s is not on the list, or with the value of another one", name)
		}
	}
	if d := Defaults(); d.Failure != 0.05 || d.Episodes != 1000 || d.Seeds != 5 || d.Seed != 1 {
		t.Errorf("%+v", d)
	}
	for seeds, good := range map[int]bool{0: false, 1: true, 1_000_000: true, 1_000_001: false} {
		s := Defaults()
		if s.Seeds = seeds; (s.Check() == nil) != good {
			t.Errorf("%d seeds: %v", seeds, s.Check())
		}
	}
}

// TestPassingRecord: the record of an interruption gives way to the next one.
func TestPassingRecord(t *testing.T) {
	p, err := instance.New("riverswim")
	if err != nil {
		t.Fatal(err)
	}
	settings := Defaults()
	settings.Algorithms, settings.Episodes, settings.Seeds = []string{"moma"}, 30, 1
	c := prepared(t, p, settings, PrepareOptions{Unmeasured: true})
	trial := c.Trials()[0]
	if err := trial.Begin(); err != nil {
		t.Fatal(err)
	}
	r := trial.Run
	if err := r.Runner.Run(t.Context(), 12); err != nil {
		t.Fatal(err)
	}
	if r.record(12); len(r.History) != 1 || r.History[0].Episode != 12 || r.lasting(12) {
		t.Fatalf("records %v", r.History)
	}
	if err := r.play(t.Context(), nil, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	var episodes []int
	for _, rec := range r.History {
		episodes = append(episodes, rec.Episode)
	}
	r.Spent = 15 * time.Second
	if got := r.Measure().SecondsPerEpisode; got != 0.5 {
		t.Errorf("an episode takes %g s: want 0.5", got)
	}
	if want := []int{13, 14, 16, 18, 20, 22, 25, 28, 30}; !slices.Equal(episodes, want) {
		t.Errorf("records of episodes %v: want %v", episodes, want)
	}
}

// TestRecords wants runs to be recorded after the episodes that are asked for and the last,
// with the callback once for each, and the learner that a program makes to play.
func TestRecords(t *testing.T) {
	p, err := instance.New("inventory")
	if err != nil {
		t.Fatal(err)
	}
	settings := Defaults()
	settings.Algorithms, settings.Episodes, settings.Seeds = []string{"moma"}, 40, 2
	told := cmdp.Confidence{Episodes: 7, Failure: 0.25}
	var mu sync.Mutex
	var seeds []uint64
	c, err := New(context.Background(), compiled(t, p), settings,
		PrepareOptions{Unmeasured: true, Unsolved: true, Records: []int{3, 17, 25},
			Configure: func(cfg *baseline.Config) { cfg.Confidence = told },
			Own: []baseline.Algorithm{{Name: "moma", New: func(cfg baseline.Config) (cmdp.Learner, error) {
				mu.Lock()
				defer mu.Unlock()
				if seeds = append(seeds, cfg.Seed); cfg.Confidence != told {
					t.Errorf("learner told %+v: want %+v", cfg.Confidence, told)
				}
				return baseline.New("optcmdp-bonus", cfg)
			}}}})
	if err != nil {
		t.Fatal(err)
	}
	calls := map[uint64][]int{}
	err = Play(context.Background(), c.Trials(), PlayOptions{Recorded: func(r *Run) {
		mu.Lock()
		defer mu.Unlock()
		calls[r.Seed()] = append(calls[r.Seed()], r.Runner.Episodes())
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []int{3, 17, 25, 40}
	for i, result := range c.Entrants[0].Results {
		var got []int
		for _, rec := range result.History {
			got = append(got, rec.Episode)
		}
		if !slices.Equal(got, want) || !slices.Equal(calls[uint64(1+i)], want) {
			t.Errorf("records of %v, calls after %v: want %v", got, calls[uint64(1+i)], want)
		}
	}
	slices.Sort(seeds)
	if !slices.Equal(seeds, []uint64{0, 1, 2}) { // the first one is made to see that it can play
		t.Errorf("learners of seeds %v: want 0, 1 and 2", seeds)
	}
}

// compiled compiles a problem.
func compiled(t *testing.T, p *problem.Problem) *query.Query {
	t.Helper()
	q, err := query.New(t.Context(), p, query.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func prepared(t *testing.T, p *problem.Problem, settings Settings, opts PrepareOptions) *Contest {
	t.Helper()
	c, err := New(t.Context(), compiled(t, p), settings, opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// playedFirst plays the first run of a contest.
func playedFirst(t *testing.T, c *Contest) *Run {
	t.Helper()
	trial := c.Trials()[0]
	if err := trial.Begin(); err != nil {
		t.Fatal(err)
	}
	if err := Play(t.Context(), []*Trial{trial}, PlayOptions{}); err != nil {
		t.Fatal(err)
	}
	return trial.Run
}

// TestSealed changes every byte of a result file: none of the files is read, but for those whose text means the same.
func TestSealed(t *testing.T) {
	file := sealed([]byte(`{"problem":"p","algorithm":"a","seed":7,"episodes":2,"metrics":{"regret":0.5},"average":[1.5],"history":null}`))
	if r, err := unsealed(file); err != nil || r.Seed != 7 || r.Average[0] != 1.5 {
		t.Fatalf("%+v, %v", r, err)
	}
	for i := range file {
		for _, flip := range []byte{1, 2, 4, 8, 16, 32, 64, 128} {
			damaged := bytes.Clone(file)
			damaged[i] ^= flip
			if r, err := unsealed(damaged); err == nil {
				t.Errorf("%s is read as %+v", damaged, r)
			}
		}
		if _, err := unsealed(file[:i]); err == nil && i < len(file)-1 {
			t.Errorf("%s is read", file[:i])
		}
	}
	old := []byte(`{"problem":"p","algorithm":"a","seed":7,"episodes":2,"metrics":{},"average":[1.5],"history":null}` +
		"\n")
	if _, err := unsealed(old); err != nil {
		t.Error(err)
	}
}

// TestAlongKeepsTheGap: in expectation, so on average over seeds, nobody gets nearer than the gap to an opponent who
// plays best responses along its direction.
func TestAlongKeepsTheGap(t *testing.T) {
	for _, spec := range []string{"matrix:limit=0.4", "matrix:game=regret3,limit=-0.1"} {
		p, err := instance.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		q, err := query.New(t.Context(), p, query.CompileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		gap, err := exact.ApproachabilityGap(t.Context(), p.Model, q.Task, exact.GapOptions{})
		if err != nil {
			t.Fatal(err)
		}
		settings := Defaults()
		settings.Algorithms = []string{"moma-free", "moma-projection"}
		settings.Planner, settings.Episodes, settings.Seeds = "hoeffding", 5000, 20
		p.Opponent = &problem.OpponentSpec{Policy: "best-response",
			Direction: problem.Direction{Along: &problem.Coefficients{List: gap.Direction}}}
		c, err := New(t.Context(), q, settings, PrepareOptions{Unmeasured: true, Unsolved: true})
		if err != nil {
			t.Fatal(err)
		}
		if c.Against.Direction.Along == nil {
			t.Fatal("the opponent has another direction")
		}
		if err := Play(t.Context(), c.Trials(), PlayOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, e := range c.Entrants {
			var along []float64
			for _, r := range e.Results {
				along = append(along, floats.Dot(gap.Direction, r.Average)-gap.Support)
			}
			if mean, half := MeanInterval(along); mean < gap.Lower-2*half-1e-9 {
				t.Errorf("%s, %s: ⟨θ, W⟩ − h(θ) is %g ± %g: want at least %g", spec, e.Name, mean, half, gap.Lower)
			}
		}
	}
}

// TestRegretAgainstTheValue: against an opponent the regret is that to the value, which is 1 in two rounds of pennies.
func TestRegretAgainstTheValue(t *testing.T) {
	p := parsed(t, "horizon: 2\nstates: 1\nstart: 0\nreturns: [lost]\ngoal: {minimize: lost}\nopponent: {policy: uniform}\n"+
		"transitions:\n  - {state: 0, action: 0, opponent: 0, next: {0: 1}, returns: [1]}\n"+
		"  - {state: 0, action: 0, opponent: 1, next: {0: 1}}\n  - {state: 0, action: 1, opponent: 0, next: {0: 1}}\n"+
		"  - {state: 0, action: 1, opponent: 1, next: {0: 1}, returns: [1]}\n")
	settings := Defaults()
	settings.Algorithms, settings.Episodes, settings.Seeds, settings.Expected = []string{"moma"}, 7, 3, true
	c := prepared(t, p, settings, PrepareOptions{})
	if err := Play(t.Context(), c.Trials(), PlayOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, r := range c.Entrants[0].Results {
		if got, want := r.Metrics["regret"], r.Average[0]-1; math.Abs(got-want) > 1e-9 {
			t.Errorf("seed %d: regret %g: want %g", r.Seed, got, want)
		}
		for key, x := range r.Metrics { // of what is not known there is no number
			work := key == SecondsKey || key == "planner_calls" || strings.HasSuffix(key, "programs")
			if known := key == "regret" || key == "realized_weak_regret" || work; math.IsNaN(x) == known {
				t.Errorf("%s is %g", key, x)
			}
		}
	}
}
