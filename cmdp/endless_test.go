package cmdp

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// wheel is a chain of three states, 0 → 1 → 2 → 0, whose step from state s returns (s, 1).
func wheel(t *testing.T, spec ModelSpec) *Model {
	t.Helper()
	spec.Dim, spec.Start = 2, []StartState{{0, 1}}
	b := NewBuilder(spec, 3)
	for s := range 3 {
		addRow(t, b, Row{Step: EveryStep, State: s, Returns: []float64{float64(s), 1},
			Next: []Transition{{Next: (s + 1) % 3, Probability: 1}}})
	}
	return built(t, b)
}

// A listening learner notes the steps that it observes.
type listening struct {
	Uniform
	states, next []int
}

func (l *listening) Policy() Policy { return l.Uniform }

func (l *listening) Observe(tr *Trajectory) {
	l.states, l.next = append(l.states, tr.States[0]), append(l.next, tr.States[tr.Steps])
}

// TestEndlessGoesOn wants each step of a run of long-run means to begin where the one before has ended, also
// after it was saved.
func TestEndlessGoesOn(t *testing.T) {
	env, err := NewEndless(wheel(t, ModelSpec{Average: true}))
	if err != nil {
		t.Fatal(err)
	}
	l := &listening{Uniform: Uniform{env.Shape()}}
	r := NewEndlessRunner(env, l, 1)
	if err := r.Run(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	if want := []int{0, 1, 2, 0, 1, 2, 0}; !slices.Equal(l.states, want) || !slices.Equal(l.next, append(want[1:], 1)) {
		t.Errorf("the run went through %v, on to %v: want %v", l.states, l.next, want)
	}
	if w := r.Average(); w[0] != 6./7 || w[1] != 1 {
		t.Errorf("mean %v: want 6/7 and 1", w)
	}
}

// TestEndlessStartsAnew wants a run with discount γ to start anew with probability 1 − γ after each step, and
// the mean of its returns to be the discounted return: Σ γ^t r_t = 1/(1−γ) for a return of 1, and
// γ(1+2γ)/(1−γ³) for that of the wheel.
func TestEndlessStartsAnew(t *testing.T) {
	const gamma = 0.8
	env, err := NewEndless(wheel(t, ModelSpec{Discount: gamma}))
	if err != nil {
		t.Fatal(err)
	}
	if lower, upper := env.Shape().StepReturns(0); math.Abs(upper[0]-10) > 1e-12 || lower[0] != 0 ||
		math.Abs(upper[1]-5) > 1e-12 {
		t.Errorf("returns of a step in [%v, %v]: want those of the model, times 5", lower, upper)
	}
	if at := env.KnownReturns().At(0, 2); math.Abs(at[0]-10) > 1e-12 {
		t.Errorf("the step from state 2 returns %v: want 10", at)
	}
	l := &listening{Uniform: Uniform{env.Shape()}}
	const steps = 200_000
	r := NewEndlessRunner(env, l, 3)
	if err := r.Run(t.Context(), steps); err != nil {
		t.Fatal(err)
	}
	starts := 0.0
	for i, s := range l.states[1:] {
		if s != l.next[i] {
			starts++
			if s != 0 {
				t.Fatalf("the run starts anew in state %d: want 0", s)
			}
		}
	}
	// A start is not seen where it leads to where the run would have gone, from state 2.
	if share := starts / steps; math.Abs(share-0.2*(1-1/(1+gamma+gamma*gamma)*gamma*gamma)) > 0.01 {
		t.Errorf("%g of the steps are followed by a start: want about %g", share,
			0.2*(1-gamma*gamma/(1+gamma+gamma*gamma)))
	}
	want := gamma * (1 + 2*gamma) / (1 - gamma*gamma*gamma)
	if w := r.Average(); math.Abs(w[0]-want) > 0.05 || math.Abs(w[1]-5) > 1e-9 {
		t.Errorf("mean %v: want %g and 5", w, want)
	}
}

// TestEndlessSaved wants a run that was saved to go on where it was.
func TestEndlessSaved(t *testing.T) {
	env, err := NewEndless(wheel(t, ModelSpec{Discount: 0.5}))
	if err != nil {
		t.Fatal(err)
	}
	state := func(r *Runner) [3]any { return [3]any{r.endless.state, r.episodes, r.sum[0]} }
	uniform := func() Learner { return &quiet{listening: listening{Uniform: Uniform{env.Shape()}}} }
	one, other := NewEndlessRunner(env, uniform(), 5), NewEndlessRunner(env, uniform(), 6)
	if err := one.Run(t.Context(), 50); err != nil {
		t.Fatal(err)
	}
	data, err := one.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	for until := 50; until < 90; until++ {
		if state(one) != state(other) {
			t.Fatalf("step %d: %v, restored %v", until, state(one), state(other))
		}
		if err := one.Run(t.Context(), until+1); err != nil {
			t.Fatal(err)
		}
		if err := other.Run(t.Context(), until+1); err != nil {
			t.Fatal(err)
		}
	}
}

// A quiet learner has nothing to save.
type quiet struct{ listening }

func (*quiet) MarshalBinary() ([]byte, error) { return []byte{1}, nil }
func (*quiet) UnmarshalBinary([]byte) error   { return nil }

// TestEndlessRests wants a run to stay where there is no choice, with return 0.
func TestEndlessRests(t *testing.T) {
	b := NewBuilder(ModelSpec{Average: true, Dim: 1, Start: []StartState{{0, 1}}}, 2)
	addRow(t, b, Row{Step: EveryStep, State: 0, Returns: []float64{3},
		Next: []Transition{{Next: 1, Probability: 1}}})
	m := built(t, b)
	env, err := NewEndless(m)
	if err != nil {
		t.Fatal(err)
	}
	r := NewEndlessRunner(env, &listening{Uniform: Uniform{env.Shape()}}, 1)
	if err := r.Run(t.Context(), 6); err != nil {
		t.Fatal(err)
	}
	if w := r.Average(); w[0] != 0.5 {
		t.Errorf("mean %v: want 3/6", w)
	}
}

// TestEndlessRefuses wants models with a horizon or with totals to be refused.
func TestEndlessRefuses(t *testing.T) {
	for name, m := range map[string]*Model{"horizon": wheel(t, ModelSpec{Horizon: 3}),
		"totals":   wheel(t, ModelSpec{Discount: 1}),
		"one mean": wheel(t, ModelSpec{Discount: 1, Means: []bool{true, false}}), "none": nil} {
		if _, err := NewEndless(m); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	env, _ := NewEndless(wheel(t, ModelSpec{Average: true}))
	three := wheel(t, ModelSpec{Horizon: 3})
	for discount, sh := range map[float64]*Shape{0: env.Shape(), -1: env.Shape(), 1.5: env.Shape(),
		math.NaN(): env.Shape(), 1: three.Shape(), 0.5: nil} {
		if _, err := NewEndlessOf(three, sh, discount); err == nil {
			t.Errorf("another environment with discount %g: no error", discount)
		}
	}
	if env.Start(rand.New(rand.NewPCG(1, 1))) != 0 || env.Model() == nil || env.Restart() != 0 {
		t.Error("the run of long-run means starts in state 0 and never anew")
	}
}

// TestEndlessOfEnvironments wants the run of an environment that happens to be a model to be that of the model.
func TestEndlessOfEnvironments(t *testing.T) {
	for _, spec := range []ModelSpec{{Average: true}, {Discount: 0.8}} {
		m := wheel(t, spec)
		env, err := NewEndless(m)
		if err != nil {
			t.Fatal(err)
		}
		other, err := NewEndlessOf(m, env.Shape(), m.Discount())
		if err != nil || other.Model() != nil || other.Err() != nil {
			t.Fatal(err)
		}
		a, b := NewEndlessRunner(env, &listening{Uniform: Uniform{env.Shape()}}, 3),
			NewEndlessRunner(other, &listening{Uniform: Uniform{env.Shape()}}, 3)
		if err := errors.Join(a.Run(t.Context(), 99), b.Run(t.Context(), 99)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(a.Average(), b.Average()) {
			t.Errorf("mean %v: want that of the model, %v", b.Average(), a.Average())
		}
	}
}

// TestEndlessMeans compares the mean of a run with the discounted return of what it plays, summed over the
// distributions of the state step by step. Models are drawn, with two starts, and with states in which nothing can
// be done.
func TestEndlessMeans(t *testing.T) {
	rng := rand.New(rand.NewPCG(30, 6))
	for trial := range 12 {
		gamma := 0.3 + 0.5*rng.Float64()
		spec := ModelSpec{Discount: gamma, Dim: 1, Start: []StartState{{State: 0, Probability: 0.3},
			{State: 1, Probability: 0.7}}}
		k := NewKernel()
		for s := range 4 {
			if s == 3 || s == 2 && trial%2 == 0 { // nothing happens any more
				k.EndState()
				continue
			}
			for range 1 + rng.IntN(2) {
				p := rng.Float64()
				k.Append([]int32{int32(rng.IntN(3)), 3}, []float64{p, 1 - p}, []float64{rng.NormFloat64()})
			}
			k.EndState()
		}
		spec.Kernels = []Kernel{k}
		m, err := NewModel(spec)
		if err != nil {
			t.Fatal(err)
		}
		env, err := NewEndless(m)
		if err != nil {
			t.Fatal(err)
		}
		want, weight, at := 0.0, 1.0, []float64{0.3, 0.7, 0, 0}
		for weight > 1e-12 {
			next := make([]float64, 4)
			for s, mass := range at {
				first, end := m.Rows(0).Choices(s)
				for c := first; c < end; c++ {
					share := mass / float64(end-first)
					want += weight * share * m.Rows(0).Returns(c)[0]
					to, prob := m.Rows(0).Row(c)
					for i, p := range prob {
						next[to[i]] += share * p
					}
				}
			}
			at, weight = next, weight*gamma
		}
		const steps = 40_000
		r := NewEndlessRunner(env, &listening{Uniform: Uniform{env.Shape()}}, uint64(trial))
		if err := r.Run(t.Context(), steps); err != nil {
			t.Fatal(err)
		}
		// A return of up to 3/(1−γ) in 40,000 steps, of which those between two starts belong together.
		if got := r.Average()[0]; math.Abs(got-want) > 0.15 {
			t.Errorf("trial %d: mean %g in %d steps: want %g with discount %g", trial, got, steps, want, gamma)
		}
	}
}
