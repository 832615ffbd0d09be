package cmdp

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// randomModel returns a small model with random numbers of actions, sparse rows
// and returns of both signs; a state in five has no choice. It is the workhorse
// of the property tests.
func randomModel(t testing.TB, seed uint64, states, horizon, dim int, stationary bool) *Model {
	t.Helper()
	rng := rand.New(Stream(seed, "random model"))
	b := NewBuilder(ModelSpec{Horizon: horizon, Dim: dim, Start: []StartState{{0, 0.75}, {states - 1, 0.25}}}, states)
	if states == 1 {
		b.spec.Start = []StartState{{0, 1}}
	}
	steps := horizon
	if stationary {
		steps = 1
	}
	for h := range steps {
		for s := range states {
			if s > 0 && rng.IntN(5) == 0 {
				continue
			}
			for a := range 1 + rng.IntN(3) {
				row := Row{Step: h + 1, State: s, Action: a, Returns: make([]float64, dim)}
				if stationary {
					row.Step = EveryStep
				}
				for i := range row.Returns {
					row.Returns[i] = 2*rng.Float64() - 0.5
				}
				succ := rng.Perm(states)[:1+rng.IntN(states)]
				sum := 0.0
				for _, n := range succ {
					p := rng.ExpFloat64()
					sum += p
					row.Next = append(row.Next, Transition{Next: n, Probability: p})
				}
				for i := range row.Next {
					row.Next[i].Probability /= sum
				}
				addRow(t, b, row)
			}
		}
	}
	return built(t, b)
}

// elaborate returns a model with the same choices: some rows have a successor of probability 0, and some return other
// things with each successor.
func elaborate(t testing.TB, rng *rand.Rand, m *Model) *Model {
	t.Helper()
	d := m.Dim()
	spec := ModelSpec{Horizon: m.Horizon(), Dim: d, Start: m.StartStates()}
	for h := range m.Kernels() {
		rows, k := m.Rows(h), NewKernel()
		for s := range m.States() {
			first, end := rows.Choices(s)
			for c := first; c < end; c++ {
				next, prob := rows.Row(c)
				if rng.IntN(3) == 0 {
					next = append([]int32{int32(rng.IntN(m.States()))}, next...)
					prob = append([]float64{0}, prob...)
				}
				if rng.IntN(3) > 0 {
					k.Append(next, prob, rows.Returns(c))
					continue
				}
				outcomes, mean := make([]float64, len(next)*d), make([]float64, d)
				for e, p := range prob {
					for i := range d {
						outcomes[e*d+i] = rng.NormFloat64()
					}
					floats.AddScaled(mean, p, outcomes[e*d:(e+1)*d])
				}
				k.AppendRandom(next, prob, mean, outcomes)
			}
			k.EndState()
		}
		spec.Kernels = append(spec.Kernels, k)
	}
	out, err := NewModel(spec)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// randomPolicy returns a randomised Markov policy for a finite-horizon model.
func randomPolicy(t testing.TB, m *Model, rng *rand.Rand) *Randomized {
	t.Helper()
	first := m.shape.first
	probs := make([][]float64, m.horizon)
	for h := range probs {
		f := m.shape.firstAt(h)
		probs[h] = make([]float64, f[m.states])
		for s := range m.states {
			row := probs[h][f[s]:f[s+1]]
			sum := 0.0
			for a := range row {
				row[a] = rng.ExpFloat64()
				sum += row[a]
			}
			for a := range row {
				row[a] /= sum
			}
		}
	}
	p, err := NewRandomized(first, probs)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEvaluatorAgreesWithBackwardInduction(t *testing.T) {
	for seed := range uint64(30) {
		m := randomModel(t, seed, 5, 4, 3, seed%2 == 0)
		p := randomPolicy(t, m, rand.New(Stream(seed, "policy")))
		got := make([]float64, 3)
		NewEvaluator(m).Returns(got, p)
		for i := range 3 {
			want := backward(m, p, i)
			if math.Abs(got[i]-want) > 1e-12 {
				t.Errorf("seed %d, coordinate %d: forward %v, backward %v", seed, i, got[i], want)
			}
		}
		for h, q := range NewEvaluator(m).Occupancy(p) {
			if sum := sumOf(q); sum > 1+1e-12 {
				t.Errorf("seed %d: occupancy of step %d sums to %v", seed, h, sum)
			}
		}
	}
}

func sumOf(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s
}

// backward evaluates coordinate i of p by the recursion from the last step.
func backward(m *Model, p Policy, i int) float64 {
	v := make([]float64, m.states)
	for h := m.horizon - 1; h >= 0; h-- {
		k, now := m.Kernel(h).Plain(m.Dim()), make([]float64, m.states)
		for s := range m.states {
			n := int(k.First[s+1] - k.First[s])
			if n == 0 {
				now[s] = v[s]
				continue
			}
			probs := make([]float64, n)
			p.Distribution(probs, h, s)
			for a, x := range probs {
				c := int(k.First[s]) + a
				q := k.Returns[c*m.dim+i]
				for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
					q += k.Prob[e] * v[k.Next[e]]
				}
				now[s] += x * q
			}
		}
		v = now
	}
	sum := 0.0
	for _, st := range m.start {
		sum += st.Probability * v[st.State]
	}
	return sum
}

func TestPlayedEpisodesAverageToExactReturns(t *testing.T) {
	m := randomModel(t, 3, 5, 4, 2, false)
	p := randomPolicy(t, m, rand.New(Stream(3, "policy")))
	want := make([]float64, 2)
	NewEvaluator(m).Returns(want, p)
	env, agent := rand.New(Stream(1, "environment")), rand.New(Stream(1, "agent"))
	tr := NewTrajectory(m.Shape())
	const n = 40000
	sum, sq := make([]float64, 2), make([]float64, 2)
	for range n {
		tr.Play(m, p, env, agent)
		for i, x := range tr.Total {
			sum[i] += x
			sq[i] += x * x
		}
	}
	for i := range sum {
		mean := sum[i] / n
		se := math.Sqrt((sq[i]/n - mean*mean) / n)
		if math.Abs(mean-want[i]) > 4.5*se {
			t.Errorf("coordinate %d: mean %v, exact %v, standard error %v", i, mean, want[i], se)
		}
	}
}

func TestOutcomesCarryTheirReturns(t *testing.T) {
	b := NewBuilder(ModelSpec{Horizon: 1, Dim: 1, Start: []StartState{{0, 1}}}, 2)
	addRow(t, b, Row{Step: EveryStep, Next: []Transition{
		{1, 0.25, []float64{4}}, {1, 0.25, []float64{-2}}, {0, 0.5, []float64{1}}, {0, 0, []float64{1e9}},
	}})
	m := built(t, b)
	if !m.RandomReturns() || m.Kernel(0).Plain(m.Dim()).Returns[0] != 1 {
		t.Errorf("expected return %v: want 1", m.Kernel(0).Plain(m.Dim()).Returns[0])
	}
	if lo, up := m.Shape().StepReturns(0); lo[0] != -2 || up[0] != 4 {
		t.Errorf("range [%v, %v]: want [-2, 4]", lo[0], up[0])
	}
	rng, seen := rand.New(Stream(1, "x")), map[[2]float64]int{}
	r := make([]float64, 1)
	for range 4000 {
		s := m.Step(r, rng, 0, 0, 0)
		seen[[2]float64{float64(s), r[0]}]++
	}
	for k, p := range map[[2]float64]float64{{1, 4}: .25, {1, -2}: .25, {0, 1}: .5} {
		if got := float64(seen[k]) / 4000; math.Abs(got-p) > 0.04 {
			t.Errorf("outcome %v: frequency %v, want %v", k, got, p)
		}
	}
	if len(seen) != 3 {
		t.Errorf("outcomes %v: want 3", seen)
	}
}

func TestStepRowsReplaceRowsOfEveryStep(t *testing.T) {
	b := NewBuilder(ModelSpec{Horizon: 3, Dim: 1, Start: []StartState{{0, 1}}}, 1)
	stay := []Transition{{Next: 0, Probability: 1}}
	for _, row := range []Row{
		{Step: 2, Next: stay, Returns: []float64{10}},
		{Step: EveryStep, Next: stay, Returns: []float64{1}},
		{Step: 3, Action: 1, Next: stay, Returns: []float64{100}},
	} {
		addRow(t, b, row)
	}
	m := built(t, b)
	got := make([]float64, 1)
	NewEvaluator(m).Returns(got, Deterministic{{0}, {0}, {1}})
	if got[0] != 111 {
		t.Errorf("return %v: want 1 + 10 + 100", got[0])
	}
	if n := m.Shape().Actions(2, 0); n != 2 {
		t.Errorf("%d actions at step 3: want 2", n)
	}
}

func TestRestingStatesKeepTheirPlace(t *testing.T) {
	// State 1 has a choice at the last step only: the process must wait there.
	b := NewBuilder(ModelSpec{Horizon: 3, Dim: 1, Start: []StartState{{0, 1}}}, 2)
	b.Add(Row{Step: 1, State: 0, Next: []Transition{{Next: 1, Probability: 1}}, Returns: []float64{1}})
	b.Add(Row{Step: 3, State: 1, Next: []Transition{{Next: 0, Probability: 1}}, Returns: []float64{5}})
	m := built(t, b)
	got := make([]float64, 1)
	NewEvaluator(m).Returns(got, Uniform{m.Shape()})
	if got[0] != 6 {
		t.Errorf("expected return %v: want 6", got[0])
	}
	tr := NewTrajectory(m.Shape())
	rng := rand.New(Stream(1, "x"))
	tr.Return(1)[0] = 9 // of an episode before
	tr.Play(m, Uniform{m.Shape()}, rng, rng)
	if tr.Return(1)[0] != 0 {
		t.Errorf("rest returned %v", tr.Return(1))
	}
	if tr.Total[0] != 6 || tr.Steps != 3 || !slices.Equal(tr.States, []int{0, 1, 1, 0}) ||
		!slices.Equal(tr.Actions, []int{0, -1, 0}) {
		t.Errorf("played %+v", tr)
	}
	lo, up := m.Shape().Totals()
	if lo[0] != 0 || up[0] != 6 {
		t.Errorf("possible returns [%v, %v]: want [0, 6]", lo[0], up[0])
	}
}

// TestReturnToGoPromiseIsChecked: the longest and the shortest ways from any state at any step can be promised, and
// nothing less, of either side of any return.
func TestReturnToGoPromiseIsChecked(t *testing.T) {
	for seed := range uint64(20) {
		m := randomModel(t, seed, 3, 4, 2, seed%2 == 0)
		promise := Interval{make([]float64, 2), make([]float64, 2)}
		var now, then [3][2][2]float64 // of each state and return, the least and the greatest
		for h := m.Horizon() - 1; h >= 0; h-- {
			then = now
			rows := m.Rows(h)
			for s := range m.States() {
				for i := range m.Dim() {
					first, end := rows.Choices(s)
					if first == end {
						continue
					}
					least, most := math.Inf(1), math.Inf(-1)
					for c := first; c < end; c++ {
						next, prob := rows.Row(c)
						for e, to := range next {
							if x := rows.Outcome(c, e)[i]; prob[e] > 0 {
								least, most = min(least, x+then[to][i][0]), max(most, x+then[to][i][1])
							}
						}
					}
					now[s][i] = [2]float64{least, most}
					promise.Lower[i], promise.Upper[i] = min(promise.Lower[i], least), max(promise.Upper[i], most)
				}
			}
		}
		promised := func(change func(iv *Interval)) error {
			spec := ModelSpec{Horizon: m.Horizon(), Dim: m.Dim(), Start: m.StartStates(), ReturnToGo: promise.clone()}
			for h := range m.Kernels() {
				spec.Kernels = append(spec.Kernels, *m.Kernel(h))
			}
			change(spec.ReturnToGo)
			_, err := NewModel(spec)
			return err
		}
		if err := promised(func(*Interval) {}); err != nil {
			t.Errorf("model %d: %v", seed, err)
		}
		for i := range m.Dim() {
			for side, err := range []error{promised(func(iv *Interval) { iv.Lower[i] *= 0.99 }),
				promised(func(iv *Interval) { iv.Upper[i] *= 0.99 })} {
				kept := side == 0 && promise.Lower[i] == 0 || side == 1 && promise.Upper[i] == 0
				if (err == nil) != kept || err != nil && !strings.Contains(err.Error(), "promised") {
					t.Errorf("model %d, return %d, side %d: a broken promise gave %v", seed, i, side, err)
				}
				open := func(factor float64) error { // nothing is promised of the other side
					return promised(func(iv *Interval) {
						if iv.Lower[i] *= factor; side == 1 {
							iv.Lower[i], iv.Upper[i] = math.Inf(-1), factor*promise.Upper[i]
						} else {
							iv.Upper[i] = math.Inf(1)
						}
					})
				}
				if open(1) != nil || (open(0.99) == nil) != kept {
					t.Errorf("model %d, return %d, side %d alone: kept %v, broken %v", seed, i, side, open(1), open(0.99))
				}
			}
		}
	}
}

// greatestDraws are random numbers that are all as near to 1 as there are.
type greatestDraws struct{}

func (greatestDraws) Uint64() uint64 { return math.MaxUint64 }

// TestDrawsArePossible: what is drawn has a probability, also where rounding leaves some of the mass.
func TestDrawsArePossible(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	for range 2000 {
		probs, sum := make([]float64, 1+rng.IntN(4)), 0.0
		for i := range probs {
			probs[i] = max(0, rng.Float64()-0.5)
			sum += probs[i]
		}
		if sum == 0 {
			continue
		}
		floats.Scale(0.8/sum, probs)
		if i := Draw(rng, probs); probs[i] == 0 {
			t.Fatalf("number %d of %v was drawn", i, probs)
		}
	}
	m := randomModel(t, 1, 3, 2, 1, true)
	for last := range 3 { // starts whose sum is less than what is drawn
		spec := ModelSpec{Horizon: 2, Dim: 1, Kernels: []Kernel{*m.Kernel(0)}}
		for s := range 3 {
			spec.Start = append(spec.Start, StartState{(last + 1 + s) % 3, []float64{0, 0.25, 0.75 - 5e-10}[s]})
		}
		if s := try(NewModel(spec))(t).Start(rand.New(greatestDraws{})); s != last {
			t.Errorf("state %d of %v was drawn: want %d", s, spec.Start, last)
		}
	}
}

// TestReturnToGo adds up the ranges of the steps that are left, and cuts them by what is promised of these, and of
// whole episodes.
func TestReturnToGo(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 3))
	for range 50 {
		const steps = 4
		draw := func(size float64) *Interval {
			return &Interval{[]float64{-size * rng.Float64()}, []float64{size * rng.Float64()}}
		}
		spec := ShapeSpec{Horizon: steps, Dim: 1, Start: []StartState{{0, 1}}, First: [][]int32{{0, 1}},
			ReturnToGo: draw(4), Totals: draw(4)}
		for range steps {
			spec.Returns = append(spec.Returns, *draw(1))
		}
		sh, err := NewShape(spec)
		if err != nil {
			t.Fatal(err)
		}
		low, high := 0.0, 0.0
		for h := steps; h >= 0; h-- {
			if h < steps {
				low, high = low+spec.Returns[h].Lower[0], high+spec.Returns[h].Upper[0]
			}
			want := [2]float64{max(low, spec.ReturnToGo.Lower[0]), min(high, spec.ReturnToGo.Upper[0])}
			if h == 0 {
				want = [2]float64{max(want[0], spec.Totals.Lower[0]), min(want[1], spec.Totals.Upper[0])}
			}
			var lower, upper [1]float64
			sh.ReturnToGo(lower[:], upper[:], h)
			if !near(lower[0], want[0]) || !near(upper[0], want[1]) {
				t.Errorf("step %d: %v to %v: want %v", h, lower, upper, want)
			}
		}
	}
}

func TestModelRefusesBadInput(t *testing.T) {
	good := func() (ModelSpec, Kernel) {
		k := Kernel{First: []int32{0, 1, 2}, Offset: []int{0, 2, 3}, Next: []int32{0, 1, 1}, Prob: []float64{.5, .5, 1},
			Returns: []float64{1, 2}}
		return ModelSpec{Horizon: 2, Dim: 1, Start: []StartState{{0, 1}}}, k
	}
	for name, c := range map[string]struct {
		spoil func(*ModelSpec, *Kernel)
		want  string
	}{
		"fine":            {func(*ModelSpec, *Kernel) {}, ""},
		"horizon":         {func(s *ModelSpec, _ *Kernel) { s.Horizon = -1 }, "horizon"},
		"infinite":        {func(s *ModelSpec, _ *Kernel) { s.Horizon = 0 }, "discount"},
		"discounted":      {func(s *ModelSpec, _ *Kernel) { s.Discount = .9 }, "discount"},
		"dim":             {func(s *ModelSpec, _ *Kernel) { s.Dim = 0 }, "coordinates"},
		"no start":        {func(s *ModelSpec, _ *Kernel) { s.Start = nil }, "start"},
		"start sum":       {func(s *ModelSpec, _ *Kernel) { s.Start[0].Probability = .5 }, "sum"},
		"start twice":     {func(s *ModelSpec, _ *Kernel) { s.Start = []StartState{{0, .5}, {0, .5}} }, "twice"},
		"start state":     {func(s *ModelSpec, _ *Kernel) { s.Start[0].State = 2 }, "start state 2"},
		"successor":       {func(_ *ModelSpec, k *Kernel) { k.Next[2] = 2 }, "successor 2"},
		"negative":        {func(_ *ModelSpec, k *Kernel) { k.Prob[0], k.Prob[1] = -.5, 1.5 }, "probability"},
		"NaN probability": {func(_ *ModelSpec, k *Kernel) { k.Prob[0] = math.NaN() }, "probability"},
		"sum":             {func(_ *ModelSpec, k *Kernel) { k.Prob[0] = .5 + 1e-8 }, "sum"},
		"NaN return":      {func(_ *ModelSpec, k *Kernel) { k.Returns[1] = math.NaN() }, "return"},
		"infinite return": {func(_ *ModelSpec, k *Kernel) { k.Returns[1] = math.Inf(1) }, "return"},
		"returns length":  {func(_ *ModelSpec, k *Kernel) { k.Returns = k.Returns[:1] }, "return entries"},
		"empty row":       {func(_ *ModelSpec, k *Kernel) { k.Offset[1] = 0 }, "no successor"},
		"offsets":         {func(_ *ModelSpec, k *Kernel) { k.First[1] = 3 }, "choices"},
		"outcome mean":    {func(_ *ModelSpec, k *Kernel) { k.Outcomes = []float64{1, 1.1, 2} }, "average"},
		"no states":       {func(_ *ModelSpec, k *Kernel) { k.First = []int32{0} }, "states"},
	} {
		spec, k := good()
		c.spoil(&spec, &k)
		spec.Kernels = []Kernel{k}
		_, err := NewModel(spec)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v: want one about %q", name, err, c.want)
		}
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} { // in the place of any number
		for i := range 18 {
			spec, k := good()
			if i >= 9 {
				spec.Horizon, spec.Discount = 0, 0.9
			}
			k.Outcomes = []float64{1, 1, 2}
			*[]*float64{&k.Prob[0], &k.Prob[1], &k.Prob[2], &k.Returns[0], &k.Returns[1], &k.Outcomes[0],
				&k.Outcomes[1], &k.Outcomes[2], &spec.Start[0].Probability}[i%9] = bad
			spec.Kernels = []Kernel{k}
			if _, err := NewModel(spec); err == nil {
				t.Errorf("number %d was accepted as %g", i, bad)
			}
		}
	}
}

// TestTimesOfModels draws horizons, discounts and criteria, of games too, and wants those that the specification
// allows, and models that tell of them.
func TestTimesOfModels(t *testing.T) {
	rng := generator(15)
	made := 0
	for range 2000 {
		spec := ModelSpec{Horizon: rng.IntN(4) - 1, Average: rng.IntN(4) == 0, Dim: 1 + rng.IntN(2),
			Discount: []float64{0, 0, 0.5, 1, 1, 1.5, math.NaN()}[rng.IntN(7)], Start: []StartState{{0, 1}}}
		spec.Means = [][]bool{nil, nil, make([]bool, spec.Dim), make([]bool, 1+rng.IntN(2))}[rng.IntN(4)]
		for i := range spec.Means {
			spec.Means[i] = rng.IntN(2) == 0
		}
		game := rng.IntN(5) == 0
		for range []int{1, 1, 2, 0}[rng.IntN(4)] {
			k := NewKernel()
			for range 2 {
				k.Append([]int32{0}, []float64{1}, make([]float64, spec.Dim))
			}
			k.EndState()
			spec.Kernels = append(spec.Kernels, k)
			spec.Opponents = append(spec.Opponents, []int32{map[bool]int32{false: 1, true: 2}[game]})
		}
		some, kernels, endless := slices.Contains(spec.Means, true), len(spec.Kernels), spec.Horizon == 0
		fits := spec.Horizon >= 0 && (kernels == 1 || !endless && kernels == spec.Horizon)
		fits = fits && (spec.Means == nil || len(spec.Means) == spec.Dim)
		switch {
		case spec.Average:
			fits = fits && endless && spec.Discount == 0 && spec.Means == nil && !game
		case some:
			fits = fits && endless && spec.Discount == 1 && !game
		case endless:
			fits = fits && spec.Discount > 0 && spec.Discount <= 1 && !game
		default:
			fits = fits && (spec.Discount == 0 || spec.Discount == 1)
		}
		m, err := NewModel(spec)
		if (err == nil) != fits {
			t.Fatalf("%+v: %v: want it made, %v", spec, err, fits)
		}
		if err != nil {
			continue
		}
		made++
		discount := spec.Discount
		if discount == 0 {
			discount = 1
		}
		all := spec.Average || some && !slices.Contains(spec.Means, false)
		if m.Horizon() != spec.Horizon || m.Discount() != discount || m.Means() != (spec.Average || some) ||
			m.Average() != all || (m.Shape() == nil) != endless || m.Kernels() != kernels ||
			m.Stationary() != (kernels == 1) {
			t.Errorf("%+v: %+v", spec, m)
		}
		for i := range spec.Dim {
			if m.Mean(i) != (spec.Average || some && spec.Means[i]) {
				t.Errorf("%+v: return %d is a mean: %v", spec, i, m.Mean(i))
			}
		}
	}
	if made < 200 {
		t.Errorf("%d models are made: want more", made)
	}
}

// TestSpecsAreCopied changes every number of what a model and a shape were made from, but for the slices that they
// keep, and wants them to be what the same specification makes that nobody changed.
func TestSpecsAreCopied(t *testing.T) {
	made := func() (specs [3]any, of [3]any) {
		rng := generator(14)
		game := randomGame(t, 3, 4, 3, 2, false)
		wide := &Interval{Lower: []float64{-9, -9}, Upper: []float64{9, 9}}
		spec := ModelSpec{Horizon: 3, Dim: 2, Start: []StartState{{0, 0.25}, {2, 0.75}}, ReturnToGo: wide}
		shape := ShapeSpec{Horizon: 3, Dim: 2, Start: []StartState{{0, 0.25}, {2, 0.75}}, ReturnToGo: wide,
			Totals: &Interval{Lower: []float64{-5, -5}, Upper: []float64{5, 5}}, First: game.shape.first}
		for h := range 3 {
			spec.Kernels = append(spec.Kernels, *game.Kernel(h))
			spec.Opponents = append(spec.Opponents, slices.Clone(game.shape.opponents[h]))
			shape.Returns = append(shape.Returns,
				Interval{Lower: []float64{-rng.Float64(), -1}, Upper: []float64{1, rng.Float64()}})
		}
		shape.Opponents = slices.Clone(spec.Opponents)
		for h := range shape.Opponents {
			shape.Opponents[h] = slices.Clone(shape.Opponents[h])
		}
		endless := ModelSpec{Discount: 1, Dim: 2, Means: []bool{true, false}, Start: slices.Clone(spec.Start),
			Kernels: []Kernel{*randomModel(t, 3, 4, 3, 2, true).Kernel(0)}}
		return [3]any{&spec, &shape, &endless},
			[3]any{try(NewModel(spec))(t), try(NewShape(shape))(t), try(NewModel(endless))(t)}
	}
	specs, got := made()
	_, want := made()
	for i, spec := range specs {
		of := reflect.ValueOf(spec).Elem()
		for f := range of.NumField() {
			if name := of.Type().Field(f).Name; name != "Kernels" && name != "First" {
				spoil(of.Field(f))
			}
		}
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("%T changes with its specification: %+v", got[i], got[i])
		}
	}
}

// spoil changes all numbers and truth values of a value.
func spoil(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			spoil(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			spoil(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			spoil(v.Index(i))
		}
	case reflect.Float64:
		v.SetFloat(v.Float() + 1)
	case reflect.Int, reflect.Int32:
		v.SetInt(v.Int() + 1)
	case reflect.Bool:
		v.SetBool(!v.Bool())
	}
}

func TestBuilderRefusesGapsAndDuplicates(t *testing.T) {
	stay := []Transition{{Next: 0, Probability: 1}}
	row := func(step, action int) Row {
		return Row{Step: step, Action: action, Next: stay, Returns: []float64{0}}
	}
	for want, rows := range map[string][]Row{
		"given twice": {row(EveryStep, 0), row(EveryStep, 0)},
		"state 0, action 0 has no row, but one of a greater number has":         {row(EveryStep, 1)},
		"state 0, action 1, step 2 has no row, but one of a greater number has": {row(EveryStep, 0), row(2, 2)},
	} {
		b := NewBuilder(ModelSpec{Horizon: 2, Dim: 1, Start: []StartState{{0, 1}}}, 1)
		for _, r := range rows {
			addRow(t, b, r)
		}
		if _, err := b.Build(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v: want one about %q", err, want)
		}
	}
}

func addRow(t testing.TB, b *Builder, row Row) {
	t.Helper()
	if err := b.Add(row); err != nil {
		t.Fatal(err)
	}
}

func built(t testing.TB, b *Builder) *Model {
	t.Helper()
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func newCounts(t testing.TB, sh *Shape, pooled bool, c *ReturnConfidence) *Counts {
	t.Helper()
	counts, err := NewCounts(sh, pooled, c)
	if err != nil {
		t.Fatal(err)
	}
	return counts
}

func newDual(t testing.TB, sh *Shape, task Task, penalty *Penalty) *TermsDual {
	t.Helper()
	u, err := NewTermsDual(sh, task, penalty)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
