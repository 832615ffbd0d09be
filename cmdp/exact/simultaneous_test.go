package exact

import (
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/floats"
)

// startingIn draws a model without cycles in which episodes start in some of its 41 states.
func startingIn(t *testing.T, rng *rand.Rand, start []cmdp.StartState) *cmdp.Model {
	t.Helper()
	const states = 40
	k := cmdp.NewKernel()
	for s := range int32(states) {
		for range 1 + rng.IntN(3) {
			k.Append([]int32{min(states, s+1), min(states, s+1+rng.Int32N(5))}, []float64{0.5, 0.5},
				[]float64{rng.Float64(), rng.Float64()})
		}
		k.EndState()
	}
	k.EndState()
	m, err := cmdp.NewModel(cmdp.ModelSpec{Dim: 2, Discount: 1, Kernels: []cmdp.Kernel{k}, Start: start})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestSimultaneousPricer compares directions that are priced at once with each priced by itself.
func TestSimultaneousPricer(t *testing.T) {
	defer func(n, m int) { threshold.Simultaneous, threshold.Block = n, m }(threshold.Simultaneous, threshold.Block)
	threshold.Simultaneous, threshold.Block = 1, 1
	rng := rand.New(rand.NewPCG(26, 52))
	for trial := range 12 {
		m := grid{width: 3, height: 3 + rng.IntN(2), ahead: 0.8, slips: true, sure: 0.6}.model(t, rng)
		if trial%3 == 0 {
			m = startingIn(t, rng, []cmdp.StartState{{State: 5, Probability: 0.25}, {State: 40, Probability: 0.125},
				{State: 0, Probability: 0.5}, {State: 33, Probability: 0.125}})
		}
		p, err := newInfiniteHorizon(t.Context(), m, 2, allRelevant(2), nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := p.simultaneous(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var dirs [][]float64
		for range 3 {
			x := rng.Float64()
			dirs = append(dirs, []float64{x, 1 - x})
		}
		found, err := s.price(t.Context(), dirs, make([]float64, len(dirs)))
		if err != nil {
			t.Fatal(err)
		}
		for k, dir := range dirs {
			alone, err := p.price(t.Context(), dir, 0)
			if err != nil {
				t.Fatal(err)
			}
			if found[k] == nil || !floats.EqualApprox(found[k].returns, alone.returns, 1e-9) ||
				math.Abs(found[k].value-alone.value) > 1e-9*alone.value ||
				!found[k].policy.actions().Equal(alone.policy.actions()) {
				t.Errorf("direction %v at once is %+v, alone %+v", dir, found[k], alone)
			}
		}
	}
	// Where nothing can be chosen there is nothing to price.
	m := startingIn(t, rng, []cmdp.StartState{{State: 40, Probability: 1}})
	r, err := Front(t.Context(), m, cmdp.Task{}, FrontOptions{Over: [][]float64{{1, 0}, {0, 1}}})
	if err != nil || r.Status != Optimal || len(r.Points) != 1 {
		t.Errorf("without choices: %+v, error %v: want one point", r, err)
	}
}

// TestTwinsOfSolvers wants the solvers of a twin to have the bounds of those that they are made of, where these have
// the same states: values that are below 0 in one direction must not be held above in another.
func TestTwinsOfSolvers(t *testing.T) {
	t.Cleanup(threshold.Lower())
	m := grid{width: 3, height: 4, ahead: 0.8, slips: true, sure: 0.6}.model(t, rand.New(rand.NewPCG(26, 53)))
	p, err := newInfiniteHorizon(t.Context(), m, 2, allRelevant(2), nil)
	if err != nil {
		t.Fatal(err)
	}
	q := p.twin()
	for _, dir := range [][]float64{{1, -1}, {1, 1}} {
		if err := p.prepareTwin(t.Context(), q, dir); err != nil {
			t.Fatal(err)
		}
		key := p.solverKey(dir)
		if got, want := q.solvers[key].LowerBound, p.solvers[key].LowerBound; got != want {
			t.Errorf("direction %v: no value is below %g, for the twin %g", dir, want, got)
		}
	}
}

// TestColumnsAreCounted: the explicit program of a model has as many columns as are counted before it is made.
func TestColumnsAreCounted(t *testing.T) {
	for seed := range uint64(40) {
		of := randomAverage(t, seed, 3+int(seed%6), 2)
		spec := cmdp.ModelSpec{Discount: 0.9, Dim: of.Dim(), Start: of.StartStates(),
			Kernels: []cmdp.Kernel{*of.Kernel(0).Plain(of.Dim())}}
		if seed%2 == 0 {
			spec.Discount, spec.Horizon = 0, 3
		}
		m, err := cmdp.NewModel(spec)
		if err != nil {
			t.Fatal(err)
		}
		program, err := OccupancyLP(m, make([]float64, m.Dim()), nil)
		if err != nil || len(program.Minimize) != occupancies(m) {
			t.Errorf("seed %d: %v: %d columns are counted: want %d", seed, err, occupancies(m), len(program.Minimize))
		}
	}
}
