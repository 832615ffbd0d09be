package cmdp

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// The tests of this file pin the lines that define the learner, by numbers worked out on
// paper.

// near reports whether x is y up to rounding.
func near(x, y float64) bool { return math.Abs(x-y) <= 1e-12*(1+math.Abs(y)) }

// TestPooledLastSuccessors: the episode 0, 0, 0, 1 meets state 1 after the last step only,
// so that with pooled counts state 0 has the successors 0, 0, 1, and state 1, whose steps
// return 3, no visit: with two steps to go its value is between 3, should it move to
// state 0, and 6.
func TestPooledLastSuccessors(t *testing.T) {
	b := NewBuilder(ModelSpec{Horizon: 3, Dim: 1, Start: []StartState{{0, 1}}}, 2)
	for s := range 2 {
		row := Row{Step: EveryStep, State: s, Returns: []float64{3 * float64(s)},
			Next: []Transition{{Next: 0, Probability: 0.5}, {Next: 1, Probability: 0.5}}}
		addRow(t, b, row)
	}
	m := built(t, b)
	observed, added := newPooled(t, m.Shape()), newPooled(t, m.Shape())
	tr := NewTrajectory(m.Shape())
	tr.Steps = 3
	copy(tr.States, []int{0, 0, 0, 1})
	observed.Observe(tr)
	for next, times := range []uint32{2, 1} {
		if err := added.Add(0, 0, 0, next, times); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]*Counts{"observed": observed, "added": added} {
		vi := newVI(t, m, true, NoBonus{})
		p := vi.NewPlan()
		for range 2 { // a plan that was used holds values of other directions
			// V_2(0) = ⅔·0 + ⅓·3 = 1 and V_1(0) = ⅔·1 + ⅓·[3, 6].
			if vi.Plan(p, c, []float64{1}); !near(p.Low, 5.0/3) || !near(p.Up, 8.0/3) {
				t.Errorf("%s: [%v, %v]: want 5/3 and 8/3", name, p.Low, p.Up)
			}
			if vi.Plan(p, c, []float64{-1}); !near(p.Low, -8.0/3) || !near(p.Up, -5.0/3) {
				t.Errorf("%s: [%v, %v] against: want -8/3 and -5/3", name, p.Low, p.Up)
			}
		}
	}
}

func newPooled(t *testing.T, sh *Shape) *Counts {
	t.Helper()
	c := newCounts(t, sh, true, nil)
	return c
}

// boxShape is a shape of one state, action and step with returns in [0, upper].
func boxShape(t *testing.T, upper ...float64) *Shape {
	t.Helper()
	sh, err := NewShape(ShapeSpec{Horizon: 1, Dim: len(upper), Start: []StartState{{0, 1}}, First: [][]int32{{0, 1}},
		Returns: []Interval{{Lower: make([]float64, len(upper)), Upper: upper}}})
	if err != nil {
		t.Fatal(err)
	}
	return sh
}

// TestStepSizes moves the duals twice by L/(G√k) times V̂ − y, for the point y of the
// target, or of the conjugate of the cost, that is known.
func TestStepSizes(t *testing.T) {
	sh, line := boxShape(t, 3, 4), boxShape(t, 3) // of diameters 5 and 3
	origin, err := geometry.NewPoint([]float64{0, 0})
	if err != nil {
		t.Fatal(err)
	}
	// 2|x−1|, y = 1 below the slope
	bend, err := cost.NewMaxAffine([][]float64{{2}, {-2}}, []float64{-2, 2}, boxOf(t, line))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		task         Task
		value        []float64
		first, again []float64
	}{
		// Both steps lead away from the origin: 1/5 of (1, 2), then 1/(5√2) of it.
		"point": {Task{Target: origin}, []float64{1, 2}, []float64{0.2, 0.4},
			[]float64{0.2 + 0.2/math.Sqrt2, 0.4 + 0.4/math.Sqrt2}},
		// A bound of one coordinate has the diameter 3 of that one, and y = 1 there once the
		// dual is positive; at first every point of the target is extreme, and 1 is nearest.
		"bound": {Task{Target: atMost(t, sh, 0, 1)}, []float64{1.5, 2}, []float64{0.5 / 3, 0},
			[]float64{0.5/3 + 0.5/(3*math.Sqrt2), 0}},
		// L = 2 and G = 3: 2/3 of 1/2, then 2/(3√2) of it.
		"cost": {Task{Cost: bend}, []float64{1.5}, []float64{1.0 / 3}, []float64{1.0/3 + 1/(3*math.Sqrt2)}},
	} {
		shape := sh
		if len(test.value) == 1 {
			shape = line
		}
		u := newDual(t, shape, test.task, nil)
		for k, want := range [][]float64{test.first, test.again} {
			u.Observe(test.value, 0)
			if got := u.Direction(); !slices.EqualFunc(got, want, near) {
				t.Errorf("%s: direction %v after %d episodes: want %v", name, got, k+1, want)
			}
		}
	}
}

// TestWidths: the diameter of a dual's steps is the largest distance of a corner of the box of returns from one of the
// target's, where that says more; the width of a learned return is that of the step in which it is the widest.
func TestWidths(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 2))
	for trial := range 50 {
		const d, steps = 3, 2
		spec := ShapeSpec{Horizon: steps, Dim: d, Start: []StartState{{0, 1}}, First: [][]int32{{0, 1}}}
		least, most := make([]float64, d), make([]float64, d) // of the total
		widest := make([]float64, d)
		for range steps {
			iv := Interval{make([]float64, d), make([]float64, d)}
			for i := range d {
				iv.Lower[i], iv.Upper[i] = -rng.Float64(), rng.Float64()
				least[i], most[i] = least[i]+iv.Lower[i], most[i]+iv.Upper[i]
			}
			spec.Returns = append(spec.Returns, iv)
		}
		for i := range d { // over all steps
			widest[i] = max(spec.Returns[0].Upper[i], spec.Returns[1].Upper[i]) -
				min(spec.Returns[0].Lower[i], spec.Returns[1].Lower[i])
		}
		sh, err := NewShape(spec)
		if err != nil {
			t.Fatal(err)
		}
		if got := NewReturnConfidence(sh, 1, 1).width; !slices.EqualFunc(got, widest, near) {
			t.Errorf("trial %d: widths %v: want %v", trial, got, widest)
		}
		lower, upper := slices.Clone(least), slices.Clone(most)
		sum := 0.0
		for i := range d {
			if rng.IntN(3) == 0 {
				continue // the target says nothing of it
			}
			lower[i] += rng.Float64() * (upper[i] - lower[i])
			upper[i] -= rng.Float64() * (upper[i] - lower[i])
			far := 0.0
			for _, x := range []float64{least[i], most[i]} {
				far = max(far, math.Abs(x-lower[i]), math.Abs(x-upper[i]))
			}
			sum += far * far
		}
		if got := diameterTo(least, most, lower, upper); !near(got, math.Sqrt(sum)) {
			t.Errorf("trial %d: diameter %v of %v to %v from %v to %v: want %v", trial, got, least, most, lower, upper,
				math.Sqrt(sum))
		}
	}
}

// TestDualsStayInTheirBalls: the ball has the radius 1 for a distance and 2 for 2|x−1|.
func TestDualsStayInTheirBalls(t *testing.T) {
	sh := boxShape(t, 3, 4)
	origin, err := geometry.NewPoint([]float64{0, 0})
	if err != nil {
		t.Fatal(err)
	}
	u := newDual(t, sh, Task{Target: origin}, nil)
	for range 3 { // after two steps of (0.6, 0.8) the third is on the sphere
		u.Observe([]float64{3, 4}, 0)
		if got := u.Direction(); !near(got[0], 0.6) || !near(got[1], 0.8) {
			t.Errorf("direction %v: want (0.6, 0.8)", got)
		}
	}
}

// TestLearnedReturnRadius: 10 returns of 1 among 1001 of 0 or 1 have Σ(x − mean)² = 10 −
// 100/1001, and with ln(1/p) = 2 the radius √(2·2·Σ)/1000 + 7·2/(3·1000) of empirical Bernstein;
// the first one alone that of Hoeffding, √(2/2) = 1, and 101 equal ones 7·2/(3·100).
func TestLearnedReturnRadius(t *testing.T) {
	sh := boxShape(t, 1)
	for _, test := range []struct {
		visits, ones     int
		log, scale, want float64
	}{
		{1001, 10, 2, 1, math.Sqrt(4*(10-100.0/1001))/1000 + 14.0/3000},
		{1001, 10, 2, 0.5, math.Sqrt(10-100.0/1001)/1000 + 7.0/3000},
		{101, 0, 2, 1, 14.0 / 300},
		{4, 0, 2, 1, 0.5},      // √(2/8), below 14/9
		{1, 0, 2, 0.25, 0.25},  // √(2/2)/4
		{1, 0, 18, 0.25, 0.75}, // √(18/2)/4
		{2, 1, 2, 1, math.Sqrt(0.5)},
	} {
		c := newCounts(t, sh, false, NewReturnConfidence(sh, test.log, test.scale))
		tr := NewTrajectory(sh)
		tr.Steps = 1
		for k := range test.visits {
			tr.Return(0)[0] = 0
			if k < test.ones {
				tr.Return(0)[0] = 1
			}
			c.Observe(tr)
		}
		vi, err := NewOptimisticVI(sh, nil, NoBonus{})
		if err != nil {
			t.Fatal(err)
		}
		p := vi.NewPlan()
		vi.Plan(p, c, []float64{2})
		mean := float64(test.ones) / float64(test.visits)
		if low, up := 2*math.Max(0, mean-test.want), 2*math.Min(1, mean+test.want); !near(p.Low, low) ||
			!near(p.Up, up) {
			t.Errorf("%d of %d visits: [%.12g, %.12g]: want [%.12g, %.12g]", test.ones, test.visits, p.Low, p.Up, low,
				up)
		}
	}
}

// TestPenaltyOfAnUnreachableTarget: the only return (0.5, 1) misses the target, the second
// coordinate at most 0.2, by 0.8. No ρ is large enough: it is not doubled if most episodes
// say so, and it is if most do not.
func TestPenaltyOfAnUnreachableTarget(t *testing.T) {
	sh := boxShape(t, 1, 1)
	for ofFive, want := range map[int]struct {
		infeasible bool
		doubled    bool
	}{0: {false, true}, 2: {false, true}, 3: {true, false}, 5: {true, false}} {
		u, err := NewTermsDual(sh, Task{Cost: linear(t, sh, 1, 0), Target: atMost(t, sh, 1, 0.2)},
			&Penalty{Rule: PenaltyDoubling})
		if err != nil {
			t.Fatal(err)
		}
		value := []float64{0.5, 1}
		for k := range 5000 {
			dir := u.Direction()
			low := dir[0]*value[0] + dir[1]*value[1]
			if k%5 >= ofFive {
				low -= 2 * u.Rho() * 0.8 // a gap of at most 0.8 is not seen
			}
			ev := u.Observe(value, low)
			if k > 100 && (ev.Gap > 0) != (k%5 < ofFive) {
				t.Fatalf("episode %d: gap %v", k+1, ev.Gap)
			}
		}
		if got := u.state.Penalty.Infeasible; got != want.infeasible || (u.Rho() > 1) != want.doubled ||
			(u.Doublings() > 0) != want.doubled {
			t.Errorf("gaps in %d of 5 episodes: infeasible %v, rho %v after %d doublings", ofFive, got, u.Rho(),
				u.Doublings())
		}
		rho := u.Rho()
		for range 5000 { // what was proved stays proved
			u.Observe(value, u.Direction()[0]*value[0])
		}
		if want.infeasible && u.Rho() != rho {
			t.Errorf("gaps in %d of 5 episodes: rho went on to %v", ofFive, u.Rho())
		}
	}
}

// A scriptedDual gives evidence by a list.
type scriptedDual struct {
	evidence []Evidence
	at       int
}

func (*scriptedDual) Direction() []float64 { return []float64{1} }

func (d *scriptedDual) Observe([]float64, float64) Evidence {
	d.at++
	return d.evidence[d.at-1]
}

// TestFindings: the bound is the mean of the lower bounds and not the largest of them,
// the gap is the largest, and its share counts from the last power of two, here 4.
func TestFindings(t *testing.T) {
	m := bandit(t, []float64{0})
	d := &scriptedDual{}
	for k, gap := range []float64{0.25, -1, 0.75, -0.5, 0.5, 0, 0.125} {
		d.evidence = append(d.evidence, Evidence{Optimum: float64(-3 * k % 7), Gap: gap,
			Direction: []float64{float64(k)}})
	}
	l := newLearner(t, m, Task{}, NoBonus{}, d, nil)
	run(t, m, l, 1, 7)
	f := l.Findings() // of 0, −3, −6, −2, −5, −1, −4
	if f.Bound != -3 || f.BestBound != 0 || f.Gap != 0.75 || f.GapEpisode != 3 ||
		!slices.Equal(f.GapDirection, []float64{1}) || f.GapShare != 0.5 {
		t.Errorf("%+v: want the bound -3, the best 0, the gap 0.75 of episode 3, a share of 1/2", f)
	}
}

// A recorder is a game of one state, a learner and an opponent that keep what they draw.
type recorder struct {
	*Model
	draws  map[string][]uint64
	agents int // draws of the agent for each action
}

func (r *recorder) draw(who string, rng *rand.Rand) {
	r.draws[who] = append(r.draws[who], rng.Uint64())
}

func (r *recorder) Step(returns []float64, rng *rand.Rand, h, s, a int) int {
	r.draw("environment", rng)
	return r.Model.Step(returns, rng, h, s, a)
}

type recordingAgent struct{ *recorder }

func (a recordingAgent) Policy() Policy      { return a }
func (a recordingAgent) Observe(*Trajectory) {}
func (a recordingAgent) Choose(rng *rand.Rand, _, _ int) int {
	for range a.agents {
		a.draw("agent", rng)
	}
	return 0
}
func (a recordingAgent) Distribution(dst []float64, _, _ int) { dst[0] = 1 }

type recordingOpponent struct {
	memoryless
	*recorder
}

func (recordingOpponent) Begin(*View) error { return nil }
func (o recordingOpponent) Choose(rng *rand.Rand, _, _ int) int {
	o.draw("opponent", rng)
	return 0
}

// TestStreams: environment, agent and opponent draw from streams of their own, so that
// what one draws does not depend on how much the others do, and no number comes twice.
func TestStreams(t *testing.T) {
	play := func(seed uint64, agents int) map[string][]uint64 {
		r := &recorder{Model: matrixGame(t, [][][]float64{{{0}, {1}}, {{1}, {0}}}), draws: map[string][]uint64{},
			agents: agents}
		runner, err := NewGameRunner(r, recordingAgent{r}, &recordingOpponent{recorder: r}, seed, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := runner.Run(t.Context(), 20); err != nil {
			t.Fatal(err)
		}
		return r.draws
	}
	all := map[uint64]string{}
	for seed := range uint64(3) {
		one, two := play(seed, 1), play(seed, 2)
		for _, who := range []string{"environment", "agent", "opponent"} {
			if len(one[who]) != 20 || !slices.Equal(one[who], two[who][:20]) {
				t.Errorf("seed %d: the %s draws %d numbers, others when the agent draws more", seed, who, len(one[who]))
			}
			for _, x := range one[who] {
				if other, ok := all[x]; ok {
					t.Errorf("seed %d: the %s draws a number that the %s drew", seed, who, other)
				}
				all[x] = who
			}
		}
	}
}

// TestTheoryLogarithms: with H = 2, S = 3, A = 2, K = 100 and p = 0.05 there are 12·100
// events. A cover of directions adds 2·ln 201 with d = 2, more than the 3·ln 2 of the
// successors that Hoeffding's bonus may have instead, and for d = 1 and S = 9 less. Bernstein's
// always has the cover. Either adds twice the mesh 1/K times the diameter (errata E-19, E-25).
func TestTheoryLogarithms(t *testing.T) {
	shape := func(states, dim int) *Shape {
		first := make([]int32, states+1)
		for s := range first {
			first[s] = int32(2 * s)
		}
		lower, upper := make([]float64, dim), make([]float64, dim)
		for i := range upper {
			upper[i] = 1
		}
		sh, err := NewShape(ShapeSpec{Horizon: 2, Dim: dim, Start: []StartState{{0, 1}}, First: [][]int32{first},
			Returns: []Interval{{lower, upper}}})
		if err != nil {
			t.Fatal(err)
		}
		return sh
	}
	const first, many = 1, 401
	moments := func(visits float64) *Moments {
		return &Moments{Visits: visits, Root: 1 / math.Sqrt(visits), Inverse1: 1 / (visits - 1),
			Root1: 1 / math.Sqrt(visits-1), VarLow: 0.25, Gap: 0.5, GapSquare: 0.36}
	}
	stage := &Stage{Norm: 2, Range: 3, Diagonal: 5}
	const cover = 2.0 / 100 * 5 * 2
	few, wide := shape(3, 2), shape(9, 1)
	lnFew, lnWide := math.Log(12*100/0.05), math.Log(36*100/0.05)
	ln201, ln2 := math.Log(201), math.Log(2)
	for name, test := range map[string]struct {
		sh                *Shape
		bernstein, pooled bool
		mode              BonusMode
		visits, want      float64
	}{
		"successors": {few, false, false, Theory, many, 3*math.Sqrt((math.Log(4)+lnFew+3*ln2)/802) + cover},
		"directions": {wide, false, false, Theory, many, 3*math.Sqrt((math.Log(4)+lnWide+ln201)/802) + cover},
		"pooled": {few, false, true, Theory, many,
			3*math.Sqrt((math.Log(4)+lnFew+ln2+3*ln2)/802) + cover},
		"Bernstein": {few, true, false, Theory, 1e6 + 1,
			(0.5+0.6)*math.Sqrt(2*(math.Log(8)+lnFew+2*ln201)/1e6) + 7*3*(math.Log(8)+lnFew+2*ln201)/3e6 + cover},
		"Bernstein, wide": {wide, true, false, Theory, 1e6 + 1,
			(0.5+0.6)*math.Sqrt(2*(math.Log(8)+lnWide+ln201)/1e6) + 7*3*(math.Log(8)+lnWide+ln201)/3e6 + cover},
		"Bernstein, pooled": {few, true, true, Theory, 1e6 + 1,
			(0.5+0.6)*math.Sqrt(2*(math.Log(8)+lnFew+ln2+2*ln201)/1e6) + 7*3*(math.Log(8)+lnFew+ln2+2*ln201)/3e6 +
				cover},
		"the first visit": {few, true, false, Theory, first, 3*math.Sqrt((math.Log(4)+lnFew+3*ln2)/2) + cover},
		"practice":        {few, false, false, Practice, many, 0.35 * 3 * math.Sqrt(lnFew/401)},
		"practice, Bernstein": {few, true, false, Practice, 1e6 + 1,
			0.35 * ((0.5+0.6)*math.Sqrt(2*(ln2+lnFew)/1e6) + 7*3*(ln2+lnFew)/3e6)},
		"practice, first":     {few, true, false, Practice, first, 0.35 * 3 * math.Sqrt(lnFew)},
		"printed":             {few, false, false, Printed, many, math.Sqrt(2*lnFew/401) * 2 * math.Sqrt2 * 2},
		"printed, one return": {wide, false, false, Printed, many, math.Sqrt(lnWide/401) * 2 * 2},
		"printed, three terms": {few, true, false, Printed, many,
			math.Sqrt(0.25*2*lnFew/401) + 0.5/2 + 2*2*2*math.Sqrt2*lnFew/401*2},
	} {
		b, err := NewBonus(test.sh, test.bernstein, test.pooled, BonusScale{Mode: test.mode}, Confidence{100, 0.05})
		if err != nil {
			t.Fatal(err)
		}
		if got := b.Width(stage, moments(test.visits)); !near(got, test.want) {
			t.Errorf("%s: bonus %.15g: want %.15g", name, got, test.want)
		}
		twice := shape(2*test.sh.states, test.sh.dim) // of which there is no more to learn
		twice.factor = unknownSizes{test.sh}
		b, err = NewBonus(twice, test.bernstein, test.pooled, BonusScale{Mode: test.mode}, Confidence{100, 0.05})
		if err != nil {
			t.Fatal(err)
		}
		if got := b.Width(stage, moments(test.visits)); !near(got, test.want) {
			t.Errorf("%s, with a known memory: bonus %.15g: want %.15g", name, got, test.want)
		}
	}
}

// unknownSizes says that as much is to be learned as of a shape.
type unknownSizes struct{ *Shape }

func (u unknownSizes) Of(state int) int { return state % u.states }

func (u unknownSizes) Each(int, int, int, int, []float64, func(state, action, next int, returns []float64)) {
}

// TestReturnLogarithm: kernel and returns share the failure probability, and the
// interval of a return covers all coordinates of all events from both sides by two
// inequalities.
func TestReturnLogarithm(t *testing.T) {
	sh := boxShape(t, 1, 1)
	target := atMost(t, sh, 0, 0.5)
	l, err := NewLearner(sh, nil, Task{Target: target}, Settings{Confidence: Confidence{100, 0.05}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := l.counts.learned.LogTerm, math.Log(8*2*100/0.025); !near(got, want) { // two coordinates, 100 events
		t.Errorf("logarithm %v: want %v", got, want)
	}
}

// TestFailureIsShared: the bonus of every planner is that of the probability of failure which is left for it: half of
// it where returns have to be learned.
func TestFailureIsShared(t *testing.T) {
	m := randomModel(t, 3, 3, 2, 2, true)
	sh := m.Shape()
	task := Task{Target: atMost(t, sh, 0, 0.5)}
	for _, returns := range []*Returns{nil, m.KnownReturns()} {
		conf := Confidence{100, 0.05}
		if returns == nil {
			conf.Failure = 0.025
		}
		for _, planner := range Planners.Names() {
			for _, pooled := range []bool{false, true} {
				for _, scale := range []BonusScale{{}, {Mode: Practice}, {Factor: 3}} {
					want, err := newMonotonicBonus(sh, pooled, scale, conf)
					if planner != "mvp" {
						want, err = NewBonus(sh, planner == "bernstein", pooled, scale, conf)
					}
					if err != nil {
						t.Fatal(err)
					}
					l, err := NewLearner(sh, returns, task, Settings{Planner: planner, Pooled: pooled, Bonus: scale,
						Confidence: Confidence{100, 0.05}})
					if err != nil {
						t.Fatal(err)
					}
					got := l.planner.(*OptimisticVI).bonus
					if !reflect.DeepEqual(got, want) || l.counts.Pooled() != pooled {
						t.Errorf("%s, pooled %v, returns known %v: %v: want %v", planner, pooled, returns != nil, got, want)
					}
				}
			}
		}
	}
}
