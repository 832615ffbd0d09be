package cmdp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

func ballTarget(t testing.TB, sh *Shape, center []float64, radius float64) geometry.Compact {
	t.Helper()
	ball, err := geometry.NewBall(center, radius)
	if err != nil {
		t.Fatal(err)
	}
	w, err := geometry.Restrict(ball, boxOf(t, sh))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// everyOpponent returns each built-in opponent of a game, by name.
func everyOpponent(t testing.TB, m *Model, target geometry.Compact) map[string]func() Opponent {
	t.Helper()
	sh := m.Shape()
	must := func(o Opponent, err error) Opponent {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	fixed := func() Opponent {
		return must(NewFixedOpponent(sh, randomPolicyOn(t, sh.OpponentOffsets(), sh.horizon,
			rand.New(Stream(1, "fixed")))))
	}
	best := func() Opponent { return must(NewBestResponseOpponent(m, target)) }
	return map[string]func() Opponent{
		"uniform":         func() Opponent { return NewUniformOpponent(sh) },
		"fixed":           fixed,
		"best response":   best,
		"best response θ": func() Opponent { return must(NewBestResponseOpponent(m, nil)) },
		"along":           func() Opponent { return must(NewBestResponseAlong(m, []float64{1, 1})) },
		"adversarial":     func() Opponent { return must(NewAdversarialOpponent(m, target)) },
		"adversarial θ":   func() Opponent { return must(NewAdversarialOpponent(m, nil)) },
		"switching":       func() Opponent { return must(NewSwitchingOpponent(7, fixed(), best())) },
		"random start":    func() Opponent { return must(NewRandomStartOpponent(sh, 20, best())) },
		"scripted": func() Opponent {
			script := []int{0, 1, 1}
			o := must(NewScriptedOpponent(sh, script))
			script[0], script[1] = 9, 9 // it was copied
			return o
		},
		"recording": func() Opponent { return must(NewRecordingOpponent(sh, best())) },
	}
}

// smallGame has two actions of the opponent in every state, so that scripts fit.
func smallGame(t testing.TB) *Model {
	t.Helper()
	rng := rand.New(Stream(5, "small game"))
	b := NewBuilder(ModelSpec{Horizon: 3, Dim: 2, Start: []StartState{{0, 1}}}, 3)
	for s := range 3 {
		for j := range 4 {
			p := rng.Float64()
			row := Row{Step: EveryStep, State: s, Action: j / 2, Opponent: j % 2,
				Returns: []float64{rng.Float64(), rng.Float64()},
				Next:    []Transition{{Next: rng.IntN(2), Probability: p}, {Next: 2, Probability: 1 - p}}}
			addRow(t, b, row)
		}
	}
	return built(t, b)
}

func gameLearner(t testing.TB, m *Model, target geometry.Compact, dual string, episodes int) *MOMA {
	t.Helper()
	l, err := NewLearner(m.Shape(), m.KnownReturns(), Task{Target: target},
		Settings{Dual: dual, Confidence: Confidence{episodes, 0.1}, Bonus: BonusScale{Mode: Practice, Factor: 0.3}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func gameRunner(t testing.TB, m *Model, l Learner, o Opponent, seed uint64, e *Evaluator) *Runner {
	t.Helper()
	r, err := NewGameRunner(m, l, o, seed, e)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSavedGamesContinueBitForBit saves in the middle and goes on in new objects.
func TestSavedGamesContinueBitForBit(t *testing.T) {
	m := smallGame(t)
	target := ballTarget(t, m.Shape(), []float64{1, 1}, 0.1)
	for name, opponent := range everyOpponent(t, m, target) {
		for _, dual := range []string{"projection", "free"} {
			start := func() *Runner {
				return gameRunner(t, m, gameLearner(t, m, target, dual, 100), opponent(), 3, NewEvaluator(m))
			}
			whole, first, second := start(), start(), start()
			if err := whole.Run(t.Context(), 100); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := first.Run(t.Context(), 43); err != nil {
				t.Fatal(err)
			}
			data, err := first.MarshalBinary()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := second.Run(t.Context(), 5); err != nil { // a used one forgets
				t.Fatal(err)
			}
			if err := second.UnmarshalBinary(data); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := second.Run(t.Context(), 100); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(whole.Average(), second.Average()) || !slices.Equal(whole.Expected(), second.Expected()) {
				t.Errorf("%s, %s: %v, interrupted %v", name, dual, whole.Average(), second.Average())
			}
			alone := run(t, bandit(t, []float64{1, 0}),
				newLearner(t, bandit(t, []float64{1, 0}), Task{Target: target}, NoBonus{}, nil, nil), 1, 1)
			if err := alone.UnmarshalBinary(data); err == nil {
				t.Error("a run against an opponent was continued without one")
			}
		}
	}
}

func TestReplaysPlayTheSameGame(t *testing.T) {
	m := randomGame(t, 4, 5, 4, 2, false)
	target := ballTarget(t, m.Shape(), []float64{0.5, 0.5}, 0.1)
	best, err := NewBestResponseOpponent(m, target)
	if err != nil {
		t.Fatal(err)
	}
	record, err := NewRecordingOpponent(m.Shape(), best)
	if err != nil {
		t.Fatal(err)
	}
	r := gameRunner(t, m, gameLearner(t, m, target, "free", 50), record, 9, nil)
	if err := r.Run(t.Context(), 50); err != nil {
		t.Fatal(err)
	}
	replay, err := NewReplayOpponent(m.Shape(), record.Log())
	if err != nil {
		t.Fatal(err)
	}
	again := gameRunner(t, m, gameLearner(t, m, target, "free", 51), replay, 9, nil)
	if err := again.Run(t.Context(), 50); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(r.Average(), again.Average()) {
		t.Errorf("%v, replayed %v", r.Average(), again.Average())
	}
	err = again.Run(t.Context(), 51)
	if err == nil || !strings.Contains(err.Error(), "ends after 50 episodes") || again.Episodes() != 50 {
		t.Errorf("after the log: %v at episode %d", err, again.Episodes())
	}
	if replay, err = NewReplayOpponent(m.Shape(), nil); err != nil || replay.Begin(&View{}) == nil {
		t.Errorf("an empty log plays an episode: %v", err)
	}
}

// TestExpectedReturnsAreThoseOfThePair is erratum E-06: what is averaged is
// V^{μν} of the opponent's real play, to which realised returns converge.
func TestExpectedReturnsAreThoseOfThePair(t *testing.T) {
	m := smallGame(t)
	target := ballTarget(t, m.Shape(), []float64{1, 1}, 0.1)
	for name, opponent := range everyOpponent(t, m, target) {
		const episodes = 4000
		r := gameRunner(t, m, gameLearner(t, m, target, "free", episodes), opponent(), 3, NewEvaluator(m))
		if err := r.Run(t.Context(), episodes); err != nil {
			t.Fatal(err)
		}
		if d := floats.Distance(r.Average(), r.Expected(), 2); d > 0.08 {
			t.Errorf("%s: average %v, expected %v", name, r.Average(), r.Expected())
		}
	}
}

// TestMarkov: an opponent has a policy if it has an action in every state, and one that may
// have none is no Policy, whose Distribution would have to panic.
func TestMarkov(t *testing.T) {
	m := unevenGame(t)
	script := func(actions ...int) Opponent {
		o, err := NewScriptedOpponent(m.Shape(), actions)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	replay := func(log ...[]int) Opponent {
		o, err := NewReplayOpponent(m.Shape(), log)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	recording := func(inner Opponent) Opponent {
		o, err := NewRecordingOpponent(m.Shape(), inner)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	switching := func(members ...Opponent) Opponent {
		o, err := NewSwitchingOpponent(2, members...)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	uniform := NewUniformOpponent(m.Shape())
	for name, c := range map[string]struct {
		o    Opponent
		want bool
	}{
		"uniform":             {uniform, true},
		"script":              {script(1, 0), true},
		"script beyond":       {script(0, 2), false},
		"replay":              {replay([]int{0, 1}, []int{1, 1}), true},
		"replay beyond":       {replay([]int{0, 2}), false},
		"replay with a gap":   {replay([]int{0, 1}, []int{1}), false},
		"recording":           {recording(script(1)), true},
		"recording beyond":    {recording(script(2)), false},
		"switching":           {switching(script(1), recording(uniform)), true},
		"switching beyond":    {switching(uniform, script(2)), false},
		"switching of copies": {switching(switching(uniform, replay([]int{2}))), false},
	} {
		p, ok := Markov(c.o)
		if ok != c.want {
			t.Errorf("%s: a policy: %v, want %v", name, ok, c.want)
		}
		if _, is := c.o.(Policy); is && !ok {
			t.Errorf("%s: %T is a Policy", name, c.o)
		}
		if !ok {
			continue
		}
		for episode := range 2 {
			if err := c.o.Begin(&View{Episode: episode}); err != nil {
				t.Fatal(err)
			}
			got := make([]float64, 2)
			if p.Distribution(got, 0, 0); name != "uniform" && !strings.HasPrefix(name, "switching") &&
				got[c.o.Choose(nil, 0, 0)] != 1 {
				t.Errorf("%s: %v: want what is played", name, got)
			}
		}
	}
}

// unevenGame is a game of two steps in which the opponent has two actions in state 0 and
// three in state 1.
func unevenGame(t *testing.T) *Model {
	t.Helper()
	b := NewBuilder(ModelSpec{Horizon: 2, Dim: 1, Start: []StartState{{0, 1}}}, 2)
	for s := range 2 {
		for o := range 2 + s {
			addRow(t, b, Row{Step: EveryStep, State: s, Opponent: o, Returns: []float64{float64(o)},
				Next: []Transition{{Next: 1 - s, Probability: 1}}})
		}
	}
	return built(t, b)
}

// spy is a user's opponent: it checks what it is shown.
type spy struct {
	t     *testing.T
	sum   []float64
	count int
	play  int
}

func (o *spy) Begin(v *View) error {
	if v.Episode != o.count || v.Policy == nil || len(v.Direction) != 2 {
		o.t.Errorf("view %+v after %d episodes", v, o.count)
	}
	for i, x := range o.sum {
		if math.Abs(v.Average[i]*float64(max(1, o.count))-x) > 1e-9 {
			o.t.Errorf("average %v after %v in %d episodes", v.Average, o.sum, o.count)
		}
	}
	return nil
}

func (o *spy) Choose(*rand.Rand, int, int) int { return o.play }

func (o *spy) Observe(tr *Trajectory) {
	floats.Add(o.sum, tr.Total)
	o.count++
}

func TestRunsAgainstAUsersOpponent(t *testing.T) {
	m := smallGame(t)
	target := ballTarget(t, m.Shape(), []float64{1, 1}, 0.1)
	o := &spy{t: t, sum: make([]float64, 2)}
	r := gameRunner(t, m, gameLearner(t, m, target, "projection", 25), o, 1, nil)
	if err := r.Run(t.Context(), 20); err != nil || o.count != 20 || r.Expected() != nil {
		t.Fatalf("%v after %d episodes, and %v is expected", err, o.count, r.Expected())
	}
	if _, err := r.MarshalBinary(); err == nil || !strings.Contains(err.Error(), "cannot be saved") {
		t.Errorf("saving: %v", err)
	}
	if _, err := NewGameRunner(m, gameLearner(t, m, target, "", 20), o, 1, NewEvaluator(m)); err == nil {
		t.Error("expected returns without a distribution of the opponent")
	}
	o.play = 2
	err := r.Run(t.Context(), 25)
	if err == nil || r.Episodes() != 20 || !strings.Contains(err.Error(),
		"episode 21: cmdp: step 1, state 0: the opponent chooses action 2: want 0 to 1") {
		t.Errorf("illegal action: %v at episode %d", err, r.Episodes())
	}
	if err := NewRunner(m, gameLearner(t, m, target, "", 20), 1, nil).Run(t.Context(), 1); err == nil {
		t.Error("a game was run without an opponent")
	}
}

func TestOpponentsRefuseBadInput(t *testing.T) {
	m := smallGame(t)
	sh := m.Shape()
	first := sh.OpponentOffsets()
	half := [][]float64{{.5, .5, .5, .5, .5, .5}}
	short, err := NewRandomized([][]int32{{0, 1, 2, 3}}, [][]float64{{1, 1, 1}})
	if err != nil {
		t.Fatal(err)
	}
	three, err := NewRandomized(first, [][]float64{half[0], half[0]})
	if err != nil {
		t.Fatal(err)
	}
	plane := ballTarget(t, bandit(t, []float64{0, 0, 0}, []float64{1, 1, 1}).Shape(), []float64{0, 0, 0}, 1)
	ok := NewUniformOpponent(sh)
	endless, err := NewModel(ModelSpec{Discount: 0.9, Dim: 2, Start: []StartState{{0, 1}},
		Kernels: []Kernel{{First: []int32{0, 1}, Offset: []int{0, 1}, Next: []int32{0}, Prob: []float64{1},
			Returns: []float64{0, 0}}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func() error{
		"no policy":      func() error { _, err := NewFixedOpponent(sh, nil); return err },
		"wrong sizes":    func() error { _, err := NewFixedOpponent(sh, short); return err },
		"wrong steps":    func() error { _, err := NewFixedOpponent(sh, three); return err },
		"sum":            func() error { _, err := NewFixedOpponent(sh, lazy{}); return err },
		"illegal action": func() error { _, err := NewFixedOpponent(sh, Deterministic{{0, 0, 2}}); return err },
		"few actions":    func() error { _, err := NewFixedOpponent(sh, Deterministic{{0, 0}}); return err },
		"no script":      func() error { _, err := NewScriptedOpponent(sh, nil); return err },
		"bad script":     func() error { _, err := NewScriptedOpponent(sh, []int{0, 2}); return err },
		"long log":       func() error { _, err := NewReplayOpponent(sh, [][]int{{0, 0, 0, 0}}); return err },
		"bad log":        func() error { _, err := NewReplayOpponent(sh, [][]int{{0, 5}}); return err },
		"period":         func() error { _, err := NewSwitchingOpponent(0, ok); return err },
		"no members":     func() error { _, err := NewSwitchingOpponent(1); return err },
		"nil member":     func() error { _, err := NewSwitchingOpponent(1, ok, nil); return err },
		"start":          func() error { _, err := NewRandomStartOpponent(sh, 0, ok); return err },
		"no recording":   func() error { _, err := NewRecordingOpponent(sh, nil); return err },
		"dimension":      func() error { _, err := NewAdversarialOpponent(m, plane); return err },
		"dimension too":  func() error { _, err := NewBestResponseOpponent(m, plane); return err },
		"long direction": func() error { _, err := NewBestResponseAlong(m, []float64{1, 0, 0}); return err },
		"zero direction": func() error { _, err := NewBestResponseAlong(m, []float64{0, 0}); return err },
		"NaN direction":  func() error { _, err := NewBestResponseAlong(m, []float64{1, math.NaN()}); return err },
		"endless":        func() error { _, err := NewAdversarialOpponent(endless, nil); return err },
		"no opponent":    func() error { _, err := NewGameRunner(m, nil, nil, 1, nil); return err },
		"cost and target": func() error {
			_, err := NewLearner(sh, nil, Task{Cost: linear(t, sh, 1, 0),
				Target: ballTarget(t, sh, []float64{1, 1}, 1)}, Settings{Confidence: Confidence{10, .1}})
			return err
		},
	} {
		if err := f(); err == nil {
			t.Errorf("%s was accepted", name)
		} else if !strings.HasPrefix(err.Error(), "cmdp: ") {
			t.Errorf("%s: error %q", name, err)
		}
	}
}

// TestOpponentsPushAlong: in episodes whose mean return lies in the target and outside, with learners that have a
// direction, have none or are indifferent, the opponents play the best that there is along the direction of which
// their pages tell, which is written down here once more. A Minimax of the test says what the best is.
func TestOpponentsPushAlong(t *testing.T) {
	rng := generator(8)
	for trial := range 40 {
		m := randomGame(t, uint64(trial/4), 3, 3, 2, true)
		ev, game := NewEvaluator(m), try(NewMinimax(m))(t)
		low, up := []float64{rng.Float64(), rng.Float64()}, []float64{1 + rng.Float64(), 1 + rng.Float64()}
		target := geometry.Compact(try(try(geometry.NewBox(low, up))(t).Bounded())(t))
		if trial%2 == 1 {
			target = nil
		}
		var o Opponent = try(NewAdversarialOpponent(m, target))(t)
		if trial%4 > 1 {
			o = try(NewBestResponseOpponent(m, target))(t)
		}
		dir, fixed := []float64{math.Sqrt(0.5), math.Sqrt(0.5)}, trial%5 == 4
		if fixed {
			target, dir = nil, []float64{rng.NormFloat64(), rng.NormFloat64()}
			given := slices.Clone(dir)
			o = try(NewBestResponseAlong(m, given))(t)
			clear(given) // it was copied
		}
		for episode := range 12 {
			view := &View{Episode: episode, Policy: randomPolicy(t, m, rng), Average: make([]float64, 2)}
			away := make([]float64, 2)
			for i := range away {
				view.Average[i] = float64(min(1, episode)) * (4*rng.Float64() - 1)
				if episode%2 == 1 {
					view.Average[i] = low[i] + rng.Float64()*(up[i]-low[i])
				}
				away[i] = view.Average[i] - min(max(view.Average[i], low[i]), up[i])
			}
			switch rng.IntN(4) {
			case 0:
			case 1:
				view.Direction = make([]float64, 2)
			default:
				view.Direction = []float64{rng.NormFloat64(), rng.NormFloat64()}
			}
			far := floats.Norm(away, 2)
			switch {
			case fixed:
			case target == nil && view.Direction == nil:
				if o.Begin(view) == nil {
					t.Fatal("an opponent without a direction began")
				}
				continue
			case target != nil && episode > 0 && far > 0:
				floats.ScaleTo(dir, 1/far, away)
			case target == nil || view.Direction != nil && floats.Norm(view.Direction, 1) > 0:
				copy(dir, view.Direction)
			}
			if err := o.Begin(view); err != nil {
				t.Fatal(err)
			}
			var got, want float64
			if _, ok := o.(*BestResponseOpponent); ok {
				returns := make([]float64, 2)
				ev.ReturnsAgainst(returns, view.Policy, o.(Policy))
				got = floats.Dot(dir, returns)
				want, _, _ = game.OpponentResponse(t.Context(), dir, view.Policy)
			} else {
				got, _, _ = game.AgentResponse(t.Context(), dir, o.(Policy))
				want, _, _ = game.Solve(t.Context(), dir)
			}
			if math.Abs(got-want) > 1e-9 {
				t.Fatalf("game %d, episode %d: %T has %g along %v: want %g", trial, episode, o, got, dir, want)
			}
		}
	}
}

// TestErrorsNameThePlace spoils one number of a policy, a log or a table of returns, and wants the error to say where
// it stands, and what it is.
func TestErrorsNameThePlace(t *testing.T) {
	rng := generator(9)
	for seed := range uint64(60) {
		m := randomGame(t, seed, 5, 4, 2, seed%3 == 0)
		sh := m.Shape()
		h, s := rng.IntN(sh.Horizon()), rng.IntN(sh.States())
		n, most := sh.OpponentActions(h, s), sh.MaxOpponentActions()
		if n < 2 {
			continue
		}
		place := fmt.Sprintf("step %d, state %d: ", h+1, s)
		actions := make(Deterministic, sh.Horizon())
		log := make([][]int, 3)
		for t := range actions {
			actions[t] = make([]int32, sh.States())
		}
		for k := range log {
			log[k] = make([]int, sh.Horizon())
		}
		spoilt := &spoiltPolicy{Policy: actions, h: h, s: s}
		_, err := NewFixedOpponent(sh, spoilt)
		wantError(t, err, place+"probabilities sum to 1.5")
		actions[h][s] = int32(n)
		_, err = NewFixedOpponent(sh, actions)
		wantError(t, err, place+fmt.Sprintf("action %d: want 0 to %d", n, n-1))
		k := rng.IntN(len(log))
		log[k][h] = most
		_, err = NewReplayOpponent(sh, log)
		wantError(t, err, fmt.Sprintf("episode %d, step %d: action %d: want 0 to %d", k+1, h+1, most, most-1))
		log[k] = append(log[k], 0)
		log[k][h] = 0
		_, err = NewReplayOpponent(sh, log)
		wantError(t, err, fmt.Sprintf("episode %d has %d actions: want at most the horizon %d", k+1, len(log[k]),
			sh.Horizon()))
		log[k] = log[k][:sh.Horizon()]
		script := slices.Concat(log...)
		script[k*sh.Horizon()+h] = -1
		_, err = NewScriptedOpponent(sh, script)
		wantError(t, err, fmt.Sprintf("action %d of the script is -1: want 0 to %d", k*sh.Horizon()+h, most-1))

		probs := randomPolicyOn(t, sh.AgentOffsets(), sh.Horizon(), rng)
		probs.row(h, s)[0] += 0.5
		_, err = NewRandomized(probs.first, probs.probs)
		wantError(t, err, place+"probabilities sum to 1.5")
		probs.probs[h] = probs.probs[h][1:]
		_, err = NewRandomized(probs.first, probs.probs)
		k = len(probs.probs[h])
		wantError(t, err, fmt.Sprintf("step %d: %d probabilities: want %d", h+1, k, k+1))
		other := randomPolicyOn(t, sh.OpponentOffsets(), sh.Horizon(), rng)
		other.first = slices.Repeat(other.first, sh.Horizon()/len(other.first))
		other.first[h] = slices.Clone(other.first[h])
		for i := s + 1; i < len(other.first[h]); i++ {
			other.first[h][i]--
		}
		_, err = NewFixedOpponent(sh, other)
		wantError(t, err, place+fmt.Sprintf("%d probabilities: want %d", n-1, n))
		var tables [][]float64
		for h := range sh.Horizon() {
			tables = append(tables, slices.Clone(m.Kernel(h).table(2)))
		}
		first, _ := sh.Choices(h, s)
		lower, upper := sh.StepReturns(h)
		tables[h][2*first+1] = upper[1] + 1
		_, err = NewReturns(sh, tables)
		wantError(t, err, fmt.Sprintf("step %d, choice %d: return coordinate 1 is %g: want %g to %g", h+1, first,
			upper[1]+1, lower[1], upper[1]))
	}
}

// spoiltPolicy has one distribution that is none.
type spoiltPolicy struct {
	Policy
	h, s int
}

func (p *spoiltPolicy) Distribution(dst []float64, h, s int) {
	p.Policy.Distribution(dst, h, s)
	if h == p.h && s == p.s {
		dst[1] += 0.5
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v: want %q", err, want)
	}
}

// lazy gives every action the probability 0.4.
type lazy struct{}

func (lazy) Choose(*rand.Rand, int, int) int { return 0 }

func (lazy) Distribution(dst []float64, _, _ int) {
	for i := range dst {
		dst[i] = 0.4
	}
}

// TestScriptsThatSomeStatesDoNotOffer: expected returns would need an action in
// states that the episode itself does not meet.
func TestScriptsThatSomeStatesDoNotOffer(t *testing.T) {
	m := randomGame(t, 1, 6, 3, 2, true) // two or three actions
	script, err := NewScriptedOpponent(m.Shape(), []int{0, 2})
	if err != nil {
		t.Fatal(err)
	}
	replay, err := NewReplayOpponent(m.Shape(), [][]int{{0, -1, 0}, {1}})
	if err != nil {
		t.Fatal(err)
	}
	random, err := NewRandomStartOpponent(m.Shape(), 3, script)
	if err != nil {
		t.Fatal(err)
	}
	target := ballTarget(t, m.Shape(), []float64{1, 1}, 0.1)
	for _, o := range []Opponent{script, replay, random} {
		if _, err := NewGameRunner(m, gameLearner(t, m, target, "", 5), o, 1, NewEvaluator(m)); err == nil {
			t.Errorf("%T: expected returns were promised", o)
		}
		r := gameRunner(t, m, gameLearner(t, m, target, "", 5), o, 1, nil)
		if err := r.Run(t.Context(), 500); err == nil || !strings.Contains(err.Error(), "episode") {
			t.Errorf("%T: error %v", o, err)
		}
	}
}

func TestSwitchingOpponentsTakeTurns(t *testing.T) {
	m := smallGame(t)
	play := func(b int) Opponent { return &spy{t: t, sum: make([]float64, 2), play: b} }
	round, err := NewSwitchingOpponent(3, play(0), play(1))
	if err != nil {
		t.Fatal(err)
	}
	start, err := NewRandomStartOpponent(m.Shape(), 4, play(1))
	if err != nil {
		t.Fatal(err)
	}
	target := ballTarget(t, m.Shape(), []float64{1, 1}, 0.1)
	for _, c := range []struct {
		opponent Opponent
		want     string
	}{{round, "000111000111"}, {start, "....11111111"}} {
		record, err := NewRecordingOpponent(m.Shape(), c.opponent)
		if err != nil {
			t.Fatal(err)
		}
		if err := gameRunner(t, m, gameLearner(t, m, target, "", 12), record, 2, nil).Run(t.Context(), 12); err != nil {
			t.Fatal(err)
		}
		for k, row := range record.Log() {
			for _, b := range row {
				if c.want[k] != '.' && b != int(c.want[k]-'0') {
					t.Errorf("episode %d: action %d: want %c", k+1, b, c.want[k])
				}
			}
		}
	}
}
