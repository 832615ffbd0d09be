package cmdp

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// twoArms is a model of one state and one step with two actions and the returns (reward, cost).
func twoArms(t *testing.T, first, second []float64) *Model {
	t.Helper()
	k := NewKernel()
	k.Append([]int32{0}, []float64{1}, first)
	k.Append([]int32{0}, []float64{1}, second)
	k.EndState()
	m, err := NewModel(ModelSpec{Horizon: 1, Dim: 2, Start: []StartState{{State: 0, Probability: 1}},
		Kernels: []Kernel{k}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestChangingByHand has returns of a drift and of an adversary worked out on paper.
func TestChangingByHand(t *testing.T) {
	m, other := twoArms(t, []float64{1, 0}, []float64{0, 3}), twoArms(t, []float64{0, 2}, []float64{4, 1})
	env, err := NewChanging(m, ReturnSchedule{Other: other, Drift: 3}, 1)
	if err != nil {
		t.Fatal(err)
	}
	rng, got := rand.New(Stream(1, "test")), make([]float64, 2)
	for k, want := range [][][]float64{{{1, 0}, {0, 3}}, {{0.5, 1}, {2, 2}}, {{0, 2}, {4, 1}}, {{0, 2}, {4, 1}}} {
		env.Start(rng)
		for a := range want {
			env.Step(got, rng, 0, 0, a)
			if !floats.EqualApprox(got, want[a], 1e-12) {
				t.Errorf("drift, episode %d, action %d: %g: want %g", k+1, a, got, want[a])
			}
		}
	}
	// The adversary lowers the reward, to 0 at worst, and leaves the cost.
	if env, err = NewChanging(m, ReturnSchedule{Against: []float64{-1, 0}}, 1); err != nil {
		t.Fatal(err)
	}
	for k, want := range []float64{1, 0.9, 0.81, 0.729, 0.7561} { // action 0 in the first three episodes
		env.Start(rng)
		if r := env.Returns().At(0, 0); math.Abs(r[0]-want) > 1e-12 || r[1] != 0 {
			t.Errorf("adversary, episode %d: %g: want %g and 0", k+1, r, want)
		}
		env.Step(got, rng, 0, 0, map[bool]int{true: 0, false: 1}[k < 3])
	}
	mean, err := env.Mean()
	if err != nil {
		t.Fatal(err)
	}
	if r, want := mean.Rows(0).Returns(0)[0], (1+0.9+0.81+0.729+0.7561)/5; math.Abs(r-want) > 1e-12 {
		t.Errorf("mean of the reward of action 0: %g: want %g", r, want)
	}
}

// TestChangingMean compares the returns of a policy in the mean model with the mean of its returns in the
// models of all episodes.
func TestChangingMean(t *testing.T) {
	rng := rand.New(rand.NewPCG(30, 5))
	for trial := range 60 {
		horizon := 1 + rng.IntN(3)
		rests := 0 // a step that offers nothing
		if trial%4 == 3 {
			rests = rng.IntN(horizon)
		}
		m, other := someModel(t, rng, horizon, rests, trial%2 == 0), someModel(t, rng, horizon, rests, trial%4 < 2)
		schedule := ReturnSchedule{Against: []float64{1, float64(rng.IntN(3)-1) / 2}}
		if trial%3 > 0 {
			schedule = ReturnSchedule{Other: other, Drift: 6}
			if trial%3 == 2 {
				schedule = ReturnSchedule{Other: other, Switch: 0.5}
			}
		}
		env, err := NewChanging(m, schedule, uint64(trial))
		if err != nil {
			t.Fatal(err)
		}
		uniform, fixed := Uniform{m.Shape()}, firstActions(m)
		tr, want, got := NewTrajectory(env.Shape()), make([]float64, 2), make([]float64, 2)
		lately := make(map[[2]int]float64) // of each kernel and choice, the share in which it was taken
		for episode := range 8 {
			tr.Play(env, uniform, rng, rng)
			checkChanging(t, env, m, schedule, episode, lately)
			taken := make(map[[2]int]float64)
			for h, a := range tr.Actions {
				first, _ := m.Shape().Choices(h, tr.States[h])
				taken[[2]int{min(h, m.Kernels()-1), first + a}] = 1
			}
			for h := range m.Kernels() {
				for c := range m.Kernel(h).Choices() {
					lately[[2]int{h, c}] += (taken[[2]int{h, c}] - lately[[2]int{h, c}]) / 10
				}
			}
			// What the fixed policy has in this episode, by the sum over its occupancies.
			returns := env.Returns()
			for h, q := range NewEvaluator(m).Occupancy(fixed) {
				for c, mass := range q {
					floats.AddScaled(want, mass/8, returns.At(h, c))
				}
			}
			for h := range tr.Steps { // what was received is what is told
				first, _ := m.Shape().Choices(h, tr.States[h])
				if tr.Actions[h] >= 0 && !floats.EqualApprox(tr.Return(h), returns.At(h, first+tr.Actions[h]), 1e-12) {
					t.Fatalf("trial %d: step %d returned %g: want %g", trial, h, tr.Return(h),
						returns.At(h, first+tr.Actions[h]))
				}
			}
		}
		mean, err := env.Mean()
		if err != nil {
			t.Fatal(err)
		}
		NewEvaluator(mean).Returns(got, fixed)
		if !floats.EqualApprox(got, want, 1e-9) {
			t.Errorf("trial %d: %g in the mean model: want %g", trial, got, want)
		}
	}
}

// checkChanging compares the returns of an episode with their definition. Those that switch are told from one of them.
func checkChanging(t *testing.T, env *Changing, m *Model, schedule ReturnSchedule, episode int,
	lately map[[2]int]float64) {
	t.Helper()
	returns := env.Returns()
	switched := episode > 0 && schedule.Switch > 0 &&
		!floats.EqualApprox(returns.At(0, 0), m.Rows(0).Returns(0), 1e-12)
	for h := range m.Horizon() {
		at := min(h, m.Kernels()-1)
		for c := range m.Kernel(h).Choices() {
			from := m.Rows(h).Returns(c)
			for i, got := range returns.At(h, c) {
				share, to := lately[[2]int{at, c}], from[i]
				switch {
				case schedule.Drift > 0:
					share, to = min(1, float64(episode)/float64(schedule.Drift-1)), schedule.Other.Rows(h).Returns(c)[i]
				case switched:
					share, to = 1, schedule.Other.Rows(h).Returns(c)[i]
				case schedule.Switch == 0 && schedule.Against[i] != 0: // the worst that a choice of the step returns
					for other := range m.Kernel(h).Choices() {
						if x := m.Rows(h).Returns(other)[i]; schedule.Against[i]*x > schedule.Against[i]*to {
							to = x
						}
					}
				}
				if want := from[i] + share*(to-from[i]); math.Abs(got-want) > 1e-9 {
					t.Fatalf("%+v, episode %d, step %d, choice %d: return %d is %g: want %g", schedule, episode+1, h+1, c, i,
						got, want)
				}
			}
		}
	}
}

// someModel is a model of three states, of which the last has one action and the others two, with kernels for
// each step or one for all. At step rests, if it is not the first, there are none.
func someModel(t *testing.T, rng *rand.Rand, horizon, rests int, stationary bool) *Model {
	t.Helper()
	spec := ModelSpec{Horizon: horizon, Dim: 2, Start: []StartState{{0, 0.5}, {1, 0.5}}}
	for len(spec.Kernels) < horizon && !(stationary && len(spec.Kernels) == 1) {
		k := NewKernel()
		for s := range 3 {
			for range 2 - s/2 {
				if rests > 0 && len(spec.Kernels) == rests {
					break
				}
				p := rng.Float64()
				k.Append([]int32{int32(rng.IntN(2)), 2}, []float64{p, 1 - p},
					[]float64{rng.Float64(), rng.NormFloat64()})
			}
			k.EndState()
		}
		spec.Kernels = append(spec.Kernels, k)
	}
	m, err := NewModel(spec)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestChangingErrors tries schedules that make no sense.
func TestChangingErrors(t *testing.T) {
	m := twoArms(t, []float64{1, 0}, []float64{0, 3})
	k := NewKernel()
	k.Append([]int32{0}, []float64{1}, []float64{0, 0})
	k.EndState()
	one, err := NewModel(ModelSpec{Horizon: 1, Dim: 2, Start: m.StartStates(), Kernels: []Kernel{k}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewChanging(one, ReturnSchedule{Other: m, Switch: 0.5}, 1); err == nil {
		t.Error("more actions: no error")
	}
	for name, s := range map[string]ReturnSchedule{
		"fewer actions":    {Other: one, Switch: 0.5},
		"none":             {},
		"two":              {Other: m, Drift: 2, Switch: 0.5},
		"one episode":      {Other: m, Drift: 1},
		"no other":         {Switch: 0.5},
		"probability":      {Other: m, Switch: 2},
		"not a number":     {Other: m, Switch: math.NaN()},
		"dimension":        {Against: []float64{1}},
		"adversary, other": {Other: m, Against: []float64{1, 0}},
		"coefficient":      {Against: []float64{math.NaN(), 0}},
	} {
		if _, err := NewChanging(m, s, 1); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := NewChanging(nil, ReturnSchedule{Against: []float64{1, 0}}, 1); err == nil {
		t.Error("no model: no error")
	}
}

// TestChangingSwitches counts how often returns change, and wants them to change back as well. With probability 1 they
// take turns.
func TestChangingSwitches(t *testing.T) {
	m, other := twoArms(t, []float64{1, 0}, []float64{0, 3}), twoArms(t, []float64{0, 2}, []float64{4, 1})
	rng := rand.New(Stream(1, "test"))
	const episodes = 4000
	for _, p := range []float64{1, 0.3} {
		env, err := NewChanging(m, ReturnSchedule{Other: other, Switch: p}, 1)
		if err != nil {
			t.Fatal(err)
		}
		changes, before := [2]float64{}, 0
		for k := range episodes {
			env.Start(rng)
			now := int(1 - env.Returns().At(0, 0)[0]) // 1 with the returns of other
			if k == 0 && now != 0 {
				t.Fatal("the first episode has the returns of the other model")
			}
			if now != before {
				changes[before]++
			}
			before = now
		}
		sum := changes[0] + changes[1]
		if slack := 4 * math.Sqrt(p*(1-p)*episodes); math.Abs(sum-p*(episodes-1)) > slack ||
			math.Abs(changes[0]-changes[1]) > 1 {
			t.Errorf("with probability %g returns changed %g times in %d episodes: want about %g, as often back as there",
				p, changes, episodes, p*(episodes-1))
		}
	}
}
