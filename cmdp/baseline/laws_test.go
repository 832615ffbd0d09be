package baseline

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/cmdptest"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// planners are the algorithms that can be run on any small linear example.
var planners = []string{"moma", "moma-projection", "moma-free", "moma-double", "optcmdp", "optcmdp-bonus", "optdual",
	"optprimaldual", "conrl-lp", "conrl-lagr", "conrl-convex", "conrl-knapsack", "opdop", "ucpd", "appropo",
	"optpess-lp", "optpess-pd",
	"dope", "triple-q", "rpg-pd", "uopt-rpgpd", "mo-ucbvi"}

// withNull tells a Config a null policy: the roomiest one, as if its returns were
// sure.
func (ex *example) withNull(c *Config) {
	c.Knowledge.Null, c.Knowledge.NullReturns = ex.know.Safe, ex.know.SafeReturns
}

// TestPlansEnd ends the context of a run after some looks at it. A run that stopped between episodes goes on as if
// nothing had been, and one that stopped in a plan says so.
func TestPlansEnd(t *testing.T) {
	ex := newExample(t, 8, modelSpec{states: 4, actions: 3, horizon: 3, dim: 2, stationary: true})
	const episodes = 6
	for _, name := range []string{"optcmdp", "conrl-lp", "posterior"} {
		run := func() *cmdp.Runner {
			return cmdp.NewRunner(ex.model, newLearner(t, name, ex.config(episodes)), 1, nil)
		}
		want, unfinished := run(), 0
		if err := want.Run(t.Context(), episodes); err != nil {
			t.Fatal(err)
		}
		for looks := int64(1); ; looks += 1 + looks/8 {
			got := run()
			err := got.Run(cmdptest.EndAfter(t.Context(), looks), episodes)
			if err == nil {
				break
			}
			again := got.Run(t.Context(), episodes)
			switch {
			case errors.Is(err, cmdp.ErrUnfinished):
				unfinished++
				if again != cmdp.ErrUnfinished {
					t.Errorf("%s, %v after %d looks, then %v: want that the run is over", name, err, looks, again)
				}
			case again != nil || !slices.Equal(got.Average(), want.Average()):
				t.Errorf("%s, %v after %d looks, then %v: mean %v, want %v", name, err, looks, again, got.Average(),
					want.Average())
			}
		}
		if unfinished == 0 {
			t.Errorf("%s: no plan was left", name)
		}
	}
}

// TestSaved wants every learner to continue bit for bit after it was saved and restored, into a new one or one that has
// gone another way, with known and with learned returns, pooled or not.
func TestSaved(t *testing.T) {
	for _, name := range append([]string{"posterior", "posterior-plain", "moma-posterior"}, planners...) {
		for variant := range 4 {
			ex := newExample(t, 5, modelSpec{states: 3, actions: 2, horizon: 3, dim: 2, stationary: true, rests: true})
			c := ex.config(60)
			c.Bonus = cmdp.TheoryTimes(0.05)
			c.Pooled = variant == 1
			if variant == 2 {
				c.Returns = nil
			}
			c.Lazy = variant == 1
			ex.withNull(&c)
			if variant == 3 { // of a model in which every choice has two of six successors
				p := sparse(t, 2)
				c = sparseConfig(t, p, true)
				c.Bonus = cmdp.TheoryTimes(0.05)
				ex = &example{model: p.Model, task: c.Task, know: c.Knowledge}
				c.Knowledge.Null, c.Knowledge.NullReturns = c.Knowledge.Safe, c.Knowledge.SafeReturns
			}
			l, err := New(name, c)
			if errors.Is(err, ErrUnsupported) && c.Returns == nil {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			m := ex.model
			env, agent := cmdp.Stream(1, "e"), cmdp.Stream(1, "a")
			run := func(l cmdp.Learner, n int) (sum []float64) {
				tr, ev, v := cmdp.NewTrajectory(m.Shape()), cmdp.NewEvaluator(m), make([]float64, m.Dim())
				e, a := rand.New(env), rand.New(agent)
				for range n {
					p := l.Policy()
					ev.Returns(v, p)
					sum = append(sum, v...)
					tr.Play(m, p, e, a)
					l.Observe(tr)
				}
				return sum
			}
			run(l, 25)
			data, err := l.(encoding.BinaryMarshaler).MarshalBinary()
			if err != nil {
				t.Fatal(name, err)
			}
			envState, _ := env.MarshalBinary()
			agentState, _ := agent.MarshalBinary()
			want := run(l, 20)
			for _, before := range []int{0, 18} { // what was done before has to be forgotten
				fresh := newLearner(t, name, c)
				play(t, m, fresh, 7, before)
				if err := fresh.(encoding.BinaryUnmarshaler).UnmarshalBinary(data); err != nil {
					t.Fatal(name, err)
				}
				if err := errors.Join(env.UnmarshalBinary(envState), agent.UnmarshalBinary(agentState)); err != nil {
					t.Fatal(err)
				}
				got := run(fresh, 20)
				for i := range want {
					if got[i] != want[i] {
						t.Errorf("%s, variant %d: episode %d returns %v, unsaved %v", name, variant, i/2, got[i], want[i])
						break
					}
				}
				if w, v := fresh.(Worker).Work(), l.(Worker).Work(); w != v {
					t.Errorf("%s, variant %d: work %+v, unsaved %+v", name, variant, w, v)
				}
				wantSameState(t, fmt.Sprintf("%s, variant %d", name, variant), l, fresh)
				if err := fresh.(encoding.BinaryUnmarshaler).UnmarshalBinary([]byte("x")); err == nil {
					t.Errorf("%s: restored from rubbish", name)
				}
			}
		}
	}
}

// permuted returns the model with its states and the actions of each state in
// TestSavedOfAnotherProblem wants learners to refuse the state of one with more states.
func TestSavedOfAnotherProblem(t *testing.T) {
	small := newExample(t, 5, modelSpec{states: 3, actions: 2, horizon: 3, dim: 2})
	large := newExample(t, 5, modelSpec{states: 4, actions: 2, horizon: 3, dim: 2})
	for _, name := range append([]string{"posterior"}, planners...) {
		a, b := large.config(60), small.config(60)
		large.withNull(&a)
		small.withNull(&b)
		l := newLearner(t, name, a)
		play(t, large.model, l, 1, 10)
		data, err := l.(encoding.BinaryMarshaler).MarshalBinary()
		if err != nil {
			t.Fatal(name, err)
		}
		if err := newLearner(t, name, b).(encoding.BinaryUnmarshaler).UnmarshalBinary(data); err == nil {
			t.Errorf("%s: restored from another problem", name)
		}
	}
}

// another order, and the maps from old to new.
func permuted(t *testing.T, m *cmdp.Model, rng *rand.Rand) (*cmdp.Model, []int, [][]int) {
	t.Helper()
	states := rng.Perm(m.States())
	actions := make([][]int, m.States())
	for s := range actions {
		actions[s] = rng.Perm(m.Shape().Actions(0, s))
	}
	spec := cmdp.ModelSpec{Horizon: m.Horizon(), Dim: m.Dim()}
	for _, st := range m.StartStates() {
		spec.Start = append(spec.Start, cmdp.StartState{State: states[st.State], Probability: st.Probability})
	}
	b := cmdp.NewBuilder(spec, m.States())
	k := m.Kernel(0).Plain(m.Dim())
	for s := range m.States() {
		for c := int(k.First[s]); c < int(k.First[s+1]); c++ {
			row := cmdp.Row{Step: cmdp.EveryStep, State: states[s], Action: actions[s][c-int(k.First[s])],
				Returns: k.Returns[c*m.Dim() : (c+1)*m.Dim()]}
			for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
				row.Next = append(row.Next, cmdp.Transition{Next: states[k.Next[e]], Probability: k.Prob[e]})
			}
			addRow(t, b, row)
		}
	}
	p := built(t, b)
	return p, states, actions
}

// TestPermutation wants learners that see the same episodes under other names of
// states and actions to choose policies with the same expected returns. All choices
// have been seen before, so that no ties are broken by names.
func TestPermutation(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	ex := newExample(t, 8, modelSpec{states: 4, actions: 3, horizon: 3, dim: 2, stationary: true})
	m := ex.model
	other, states, actions := permuted(t, m, rng)
	prior := newCounts(t, m.Shape(), false)
	mirror, _ := cmdp.NewCounts(other.Shape(), false, nil)
	for h := range m.Horizon() {
		for s := range m.States() {
			for a := range m.Shape().Actions(h, s) {
				for n := range m.States() {
					times := uint32(1 + rng.IntN(300))
					if err := errors.Join(prior.Add(h, s, a, n, times),
						mirror.Add(h, states[s], actions[s][a], states[n], times)); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	ev, evOther := cmdp.NewEvaluator(m), cmdp.NewEvaluator(other)
	for _, name := range planners {
		c := ex.config(50)
		c.Bonus = cmdp.TheoryTimes(0.02)
		ex.withNull(&c)
		d := c
		d.Shape, d.Returns = other.Shape(), other.KnownReturns()
		d.Knowledge.Safe, d.Knowledge.Null = renamed{ex.know.Safe, states, actions},
			renamed{ex.know.Safe, states, actions}
		if name != "triple-q" {
			c.Prior, d.Prior = prior, mirror
		}
		l, lOther := newLearner(t, name, c), newLearner(t, name, d)
		env, agent := rand.New(rand.NewPCG(4, 4)), rand.New(rand.NewPCG(4, 5))
		tr, image := cmdp.NewTrajectory(m.Shape()), cmdp.NewTrajectory(m.Shape())
		v, w := make([]float64, 2), make([]float64, 2)
		for k := range 12 {
			p, q := l.Policy(), lOther.Policy()
			ev.Returns(v, p)
			evOther.Returns(w, q)
			if name == "moma-free" && k == 0 {
				// Its first direction is zero: every policy is as good as any other.
			} else if math.Abs(v[0]-w[0])+math.Abs(v[1]-w[1]) > 1e-6 {
				t.Errorf("%s: episode %d: returns %v, renamed %v", name, k, v, w)
				break
			}
			tr.Play(m, cmdp.Uniform{Shape: m.Shape()}, env, agent)
			image.Steps = tr.Steps
			copy(image.Total, tr.Total)
			for h := range tr.Steps {
				image.States[h], image.Actions[h] = states[tr.States[h]], actions[tr.States[h]][tr.Actions[h]]
				image.States[h+1] = states[tr.States[h+1]]
				copy(image.Return(h), tr.Return(h))
			}
			l.Observe(tr)
			lOther.Observe(image)
		}
	}
}

// A renamed policy is a policy for other names of states and actions.
type renamed struct {
	cmdp.Policy
	states  []int
	actions [][]int
}

func (p renamed) Distribution(dst []float64, h, s int) {
	for old, now := range p.states {
		if now == s {
			probs := make([]float64, len(dst))
			p.Policy.Distribution(probs, h, old)
			for a, x := range probs {
				dst[p.actions[old][a]] = x
			}
		}
	}
}

// TestUnsupported wants every algorithm to say what it cannot do.
func TestUnsupported(t *testing.T) {
	ex := newExample(t, 2, modelSpec{states: 2, actions: 2, horizon: 2, dim: 2, stationary: true})
	box := boxOf(t, ex.model)
	squared, err := cost.NewSquared([]float64{1, 1}, []float64{1, 1}, box)
	if err != nil {
		t.Fatal(err)
	}
	ball, err := geometry.NewBall([]float64{1, 0}, 0.2)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range Algorithms() {
		c := ex.config(10)
		ex.withNull(&c)
		for _, need := range a.Needs {
			d := c
			switch need {
			case "Slater constant":
				d.Knowledge.Slater = 0
			case "safe policy":
				d.Knowledge.Safe, d.Knowledge.SafeReturns = nil, nil
			case "null policy":
				d.Knowledge.Null, d.Knowledge.NullReturns = nil, nil
			case "known returns":
				d.Returns = nil
			case "S=H=1":
			default:
				t.Errorf("%s: needs %q", a.Name, need)
			}
			if _, err := New(a.Name, d); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), a.Name) {
				t.Errorf("%s without %s: %v", a.Name, need, err)
			}
		}
		if a.NoEpisodes || strings.HasPrefix(a.Name, "bwcr") || a.Games && !strings.HasPrefix(a.Name, "moma") {
			continue // for other problems
		}
		d := c
		d.Task.Cost = squared
		if _, err := New(a.Name, d); a.NonlinearCost != (err == nil) && !pursuesTarget(a.Name) ||
			err != nil && !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: squared cost: %v", a.Name, err)
		}
		d = c
		d.Task.Target = ball
		if _, err := New(a.Name, d); a.NonlinearConstraints != (err == nil) ||
			err != nil && !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: ball: %v", a.Name, err)
		}
	}
}

// pursuesTarget names the algorithms that pursue the target alone, whatever the
// cost.
func pursuesTarget(name string) bool { return name == "moma-free" || name == "moma-projection" }

// TestLookup wants unknown names to be answered with the nearest first.
func TestLookup(t *testing.T) {
	if _, err := Lookup("optcmpd"); err == nil || !strings.Contains(err.Error(), `"optcmpd": known are optcmdp, `) {
		t.Error(err)
	}
	if _, err := New("none", Config{}); err == nil {
		t.Error("a learner without a name")
	}
	for range 2 { // what callers do with the lists is theirs
		names, all := Names(), Algorithms()
		for i, a := range all {
			if a.Name != names[i] {
				t.Errorf("entry %d is %s, and the name %s", i, a.Name, names[i])
			}
		}
		slices.Reverse(all)
		clear(names)
	}
	seen := map[string]bool{}
	for _, a := range Algorithms() {
		if a.New == nil || a.Source == "" || a.Planner == "" || a.Guarantee == "" || a.Certainty == "" || seen[a.Name] {
			t.Errorf("entry %+v", a)
		}
		seen[a.Name] = true
	}
	for _, name := range append(planners, bandits...) {
		if !seen[name] {
			t.Errorf("%s is not registered", name)
		}
	}
}

// TestConfig wants what no algorithm can work with to be refused.
func TestConfig(t *testing.T) {
	ex := newExample(t, 2, modelSpec{states: 2, actions: 2, horizon: 2, dim: 2})
	for i, spoil := range []func(*Config){
		func(c *Config) { c.Shape = nil },
		func(c *Config) { c.Task = cmdp.Task{} },
		func(c *Config) { c.Confidence.Episodes = 0 },
		func(c *Config) { c.Confidence.Failure = 1 },
		func(c *Config) { c.Bonus.Factor = math.NaN() },
		func(c *Config) { c.Bonus.Mode = 9 },
		func(c *Config) { c.Knowledge.Slater = -1 },
		func(c *Config) { c.Knowledge.SafeReturns = nil },
		func(c *Config) { c.Tuning.MultiplierStep = -1 },
		func(c *Config) { c.Tuning.RewardUnit = math.Inf(1) },
		func(c *Config) { c.Tuning.PriorWeight = -1 },
		func(c *Config) { c.Tuning.Correction = math.NaN() },
		func(c *Config) { c.Tuning.Growth = math.Inf(1) },
		func(c *Config) { x := math.NaN(); c.Tuning.ObjectiveBonus = &x },
		func(c *Config) { c.Linear = &Linear{Goal: []float64{1}} },
		func(c *Config) { c.Linear = &Linear{Goal: []float64{1, math.Inf(1)}} },
		func(c *Config) {
			c.Linear = &Linear{Goal: []float64{1, 0}, Rows: []cmdp.Constraint{{Normal: []float64{0, 0}}}}
		},
	} {
		c := ex.config(10)
		spoil(&c)
		if l, err := New("optcmdp", c); err == nil || !strings.HasPrefix(err.Error(), "baseline: ") {
			t.Errorf("%d: %v, %v", i, l, err)
		}
	}
	c := ex.config(10)
	c.Knowledge.SafeReturns = []float64{0, 1e6}
	if _, err := New("dope", c); err == nil {
		t.Error("an unsafe safe policy")
	}
}
