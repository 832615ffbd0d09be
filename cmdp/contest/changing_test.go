package contest

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/problem"
)

// arms is a problem of one step whose two arms have rewards.
func arms(t *testing.T, left, right string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "arms.yaml")
	text := `{format: cmdp/1, name: arms, horizon: 1, states: 1, start: 0, returns: [reward], goal: {maximize: reward}, transitions: [
{state: 0, action: left, next: {0: 1}, returns: [` + left + `]}, {state: 0, action: right, next: {0: 1}, returns: [` + right + `]}]}`
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// A firm learner always takes the first action, and notes what it is told.
type firm struct {
	cmdp.Uniform
	told []float64
}

func (f *firm) Policy() cmdp.Policy { return first{f.Uniform} }

func (f *firm) Observe(*cmdp.Trajectory) {}

func (f *firm) ObserveReturns(returns *cmdp.Returns) { f.told = append(f.told, returns.At(0, 0)[0]) }

// first is the policy of the first actions.
type first struct{ cmdp.Uniform }

func (first) Distribution(dst []float64, _, _ int) {
	clear(dst)
	dst[0] = 1
}

func (first) Choose(*rand.Rand, int, int) int { return 0 }

// TestChangingRegret has regrets worked out on paper. Arm left goes from 1 to 0 in five episodes, right from 0
// to 3: left has 0.5 on average, right 1.5. Against an adversary the arm that is taken has 0.9^(k−1) in episode
// k.
func TestChangingRegret(t *testing.T) {
	for changing, want := range map[Changing]float64{
		{"drift", arms(t, "0", "3")}: 1.5 - 0.5,
		adversary:                    0, // left has had (1 + 0.9 + …)/5, right 0.5 or less
	} {
		p, err := problem.Read(arms(t, "1", "0"))
		if err != nil {
			t.Fatal(err)
		}
		settings := Defaults()
		settings.Algorithms, settings.Episodes, settings.Seeds, settings.Changing = []string{"moma"}, 5, 1, changing
		var learner *firm
		c, err := New(t.Context(), compiled(t, p), settings,
			PrepareOptions{Own: []baseline.Algorithm{{Name: "moma", New: func(cfg baseline.Config) (cmdp.Learner, error) {
				if cfg.Returns != nil {
					t.Error("a learner of means is told the returns")
				}
				learner = &firm{Uniform: cmdp.Uniform{Shape: cfg.Shape}}
				return learner, nil
			}}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := Play(t.Context(), c.Trials(), PlayOptions{Parallel: 1}); err != nil {
			t.Fatal(err)
		}
		if got := c.Entrants[0].Results[0].Metrics["regret"]; math.Abs(got-want) > 1e-9 {
			t.Errorf("%.9s: regret %g: want %g", changing, got, want)
		}
		for k, got := range learner.told {
			want := 1 - float64(k)/4
			if changing == adversary {
				want = math.Pow(0.9, float64(k))
			}
			if math.Abs(got-want) > 1e-12 {
				t.Errorf("%.9s, episode %d: told that left has %g: want %g", changing, k+1, got, want)
			}
		}
		if len(learner.told) != 5 {
			t.Errorf("%.9s: told %d times: want after each of 5 episodes", changing, len(learner.told))
		}
	}
}

// TestChangingSwitchRate wants returns to switch with probability 1/√K before each of K episodes.
func TestChangingSwitchRate(t *testing.T) {
	p, err := problem.Read(arms(t, "1", "0"))
	if err != nil {
		t.Fatal(err)
	}
	settings := Defaults()
	settings.Algorithms, settings.Episodes, settings.Seeds = []string{"moma"}, 25, 1
	settings.Changing = Changing{"switch", arms(t, "0", "3")}
	c, err := New(t.Context(), compiled(t, p), settings, PrepareOptions{})
	if err != nil || c.schedule.Switch != 0.2 || c.schedule.Drift != 0 {
		t.Errorf("%+v, %v: want a switch with probability 1/5", c.schedule, err)
	}
}

// TestChangingGoesOn saves runs whose returns change, and wants what goes on from there to come to the state of
// a run that was never stopped. ucpd is told returns, and posterior learns them.
func TestChangingGoesOn(t *testing.T) {
	for _, changing := range []Changing{adversary, {"switch", arms(t, "0", "0.5")}} {
		settings := Defaults()
		settings.Algorithms, settings.Episodes, settings.Seeds, settings.Changing = []string{"ucpd", "posterior"}, 30,
			1, changing
		p, err := problem.Read(arms(t, "1", "0"))
		if err != nil {
			t.Fatal(err)
		}
		c := prepared(t, p, settings, PrepareOptions{})
		for _, trial := range c.Trials() {
			runner := func(until int, from []byte) []byte {
				if err := trial.Begin(); err != nil {
					t.Fatal(err)
				}
				r := trial.Run.Runner
				if from != nil {
					if err := r.UnmarshalBinary(from); err != nil {
						t.Fatal(err)
					}
				}
				if err := r.Run(t.Context(), until); err != nil {
					t.Fatal(err)
				}
				state, err := r.MarshalBinary()
				if err != nil {
					t.Fatal(err)
				}
				return state
			}
			if got, want := runner(30, runner(13, nil)), runner(30, nil); !bytes.Equal(got, want) {
				t.Errorf("%.9s, %s: a run that went on ended in another state", changing, trial.Entrant.Name)
			}
		}
	}
}

// TestChangingRefuses wants errors that name what does not fit.
func TestChangingRefuses(t *testing.T) {
	for want, change := range map[string]func(*Settings){
		"want drift:FILE, switch:FILE or adversary": func(s *Settings) { s.Changing = Changing{How: "tide"} },
		"no such file": func(s *Settings) { s.Changing = Changing{"drift", "missing.yaml"} },
		"against a linear goal, and the problem has none": func(s *Settings) { s.Changing = adversary },
		"slater auto":         func(s *Settings) { s.Changing, s.Slater = adversary, "auto" },
		"the other model has": func(s *Settings) { s.Changing = Changing{"switch", "../../docs/examples/two-rooms.yaml"} },
		"returns that stay":   func(s *Settings) { s.Changing, s.Null = adversary, "auto" },
		"it needs known returns": func(s *Settings) {
			s.Changing, s.Returns, s.Algorithms = adversary, "unknown", []string{"ucpd"}
		},
	} {
		p, err := problem.Read(arms(t, "1", "0"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(want, "linear goal") {
			p = parsed(t, roomsRows("horizon: 2", "goal: {cost: {norm: {p: 2, center: [1, 1]}}}"))
		}
		settings := Defaults()
		settings.Algorithms, settings.Episodes, settings.Seeds = []string{"moma"}, 5, 1
		change(&settings)
		c, err := New(t.Context(), compiled(t, p), settings, PrepareOptions{})
		text := ""
		if err != nil {
			text = err.Error()
		} else {
			text = strings.Join(c.Refusals(), "\n")
		}
		if !strings.Contains(text, want) {
			t.Errorf("%q: want an error that says %q", text, want)
		}
	}
}

// TestStepsOfSuites wants problems without a horizon to be played for the steps of a suite, and others for its
// episodes.
func TestStepsOfSuites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "suite.yaml")
	text := `{format: cmdp-suite/1, steps: 40, episodes: 20, seeds: 1, algorithms: [posterior], problems: [clinic.yaml, two-rooms.yaml]}`
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	suite, err := ReadSuite(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{40, 20} {
		p, err := problem.Read(filepath.Join("../../docs/examples", suite.Problems[i].Problem))
		if err != nil {
			t.Fatal(err)
		}
		c, err := New(t.Context(), compiled(t, p), suite.Problems[i].Settings, PrepareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := Play(t.Context(), c.Trials(), PlayOptions{Parallel: 1}); err != nil {
			t.Fatal(err)
		}
		if got := c.Entrants[0].Results[0].Episodes; got != want {
			t.Errorf("%s: %d episodes or steps: want %d", p.Name, got, want)
		}
	}
}
