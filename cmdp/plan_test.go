package cmdp

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// optimalValues returns V*_h(s) for the direction, H+1 steps, by value iteration
// on the true kernel.
func optimalValues(m *Model, dir []float64) [][]float64 {
	v := make([][]float64, m.horizon+1)
	v[m.horizon] = make([]float64, m.states)
	for h := m.horizon - 1; h >= 0; h-- {
		v[h] = make([]float64, m.states)
		k := m.Kernel(h).Plain(m.Dim())
		for s := range m.states {
			if k.First[s] == k.First[s+1] {
				v[h][s] = v[h+1][s]
				continue
			}
			v[h][s] = math.Inf(1)
			for c := int(k.First[s]); c < int(k.First[s+1]); c++ {
				q := floats.Dot(dir, k.Returns[c*m.dim:(c+1)*m.dim])
				for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
					q += k.Prob[e] * v[h+1][k.Next[e]]
				}
				v[h][s] = min(v[h][s], q)
			}
		}
	}
	return v
}

// trueQ returns Q*_h of a choice, given V*.
func trueQ(m *Model, dir []float64, v [][]float64, h, choice int) float64 {
	k := m.Kernel(h).Plain(m.Dim())
	q := floats.Dot(dir, k.Returns[choice*m.dim:(choice+1)*m.dim])
	for e := k.Offset[choice]; e < k.Offset[choice+1]; e++ {
		q += k.Prob[e] * v[h+1][k.Next[e]]
	}
	return q
}

func startValue(m *Model, v []float64) float64 {
	sum := 0.0
	for _, st := range m.start {
		sum += st.Probability * v[st.State]
	}
	return sum
}

func randomDirection(rng *rand.Rand, d int, size float64) []float64 {
	dir := make([]float64, d)
	for i := range dir {
		dir[i] = rng.NormFloat64()
	}
	floats.Scale(size/floats.Norm(dir, 2), dir)
	return dir
}

// stepValues plans and returns the bounds of all states at every step; those of
// states not seen are NaN.
func stepValues(vi *OptimisticVI, c *Counts, dir []float64) (*Plan, [][]bounds) {
	return visitValues(vi, c, dir, func(int, int, int, bounds) {})
}

// visitValues is stepValues that also shows the bounds of Q of every choice of
// the states seen.
func visitValues(vi *OptimisticVI, c *Counts, dir []float64,
	visit func(h, s, choice int, q bounds)) (*Plan, [][]bounds) {
	p := vi.NewPlan()
	vi.Plan(p, c, dir) // so that a second pass starts from a used plan, too
	vi.clip(p, dir)
	for i := range p.next {
		p.now[i], p.next[i] = bounds{}, bounds{}
	}
	out := make([][]bounds, vi.shape.horizon)
	st := &p.stage
	for h := vi.shape.horizon - 1; h >= 0; h-- {
		st.Step, st.Range, st.Diagonal = h, p.up[h+1]-p.low[h+1], vi.diag[h+1]
		vi.backup(p, c.layer(h), dir)
		b := vi.newBackup(p, c.layer(h), dir)
		for _, s := range b.layer.seen {
			for i := s.first; i < s.end; i++ {
				number := int(s.number + i - s.first)
				visit(h, int(s.state), number, b.choice(&b.layer.choices[i], int(i), number))
			}
		}
		out[h] = make([]bounds, vi.shape.states)
		for s := range out[h] {
			out[h][s] = bounds{math.NaN(), math.NaN()}
			if c.layer(h).at[s] > 0 {
				out[h][s] = p.now[s]
			}
		}
		p.now, p.next = p.next, p.now
	}
	vi.Plan(p, c, dir)
	return p, out
}

func newVI(t testing.TB, m *Model, known bool, bonus Bonus) *OptimisticVI {
	t.Helper()
	var r *Returns
	if known {
		r = m.KnownReturns()
	}
	vi, err := NewOptimisticVI(m.Shape(), r, bonus)
	if err != nil {
		t.Fatal(err)
	}
	return vi
}

func newBonus(t testing.TB, m *Model, bernstein, pooled bool, mode BonusMode, k int) Bonus {
	t.Helper()
	b, err := NewBonus(m.Shape(), bernstein, pooled, BonusScale{Mode: mode, Factor: 1}, Confidence{k, 0.05})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// denseQ is the planner written out densely from the formulas of errata E-18 and
// E-19, with no sparsity, no shared storage and no code of the planner: the
// reference that it is compared with.
func denseQ(m *Model, c *Counts, dir []float64, scale, logTerm, hoeffdingLog, cover float64) (low, up [][]float64) {
	H, S := m.horizon, m.states
	L, U := make([]float64, H+1), make([]float64, H+1)
	box, diagonal := make([]float64, m.dim), make([]float64, H+1) // sides of the box of the return to go
	for h := H - 1; h >= 0; h-- {
		k := m.Kernel(h).Plain(m.Dim())
		for i := range box {
			least, most := math.Inf(1), math.Inf(-1)
			for s := range S {
				if k.First[s] == k.First[s+1] {
					least, most = math.Min(least, 0), math.Max(most, 0)
				}
			}
			for j := i; j < len(k.Returns); j += m.dim {
				least, most = math.Min(least, k.Returns[j]), math.Max(most, k.Returns[j])
			}
			box[i] += most - least
		}
		diagonal[h] = floats.Norm(box, 2)
		lo, hi := math.Inf(1), math.Inf(-1)
		for s := range S {
			if k.First[s] == k.First[s+1] {
				lo, hi = math.Min(lo, 0), math.Max(hi, 0)
			}
		}
		for j := range len(k.Returns) / m.dim {
			r := floats.Dot(dir, k.Returns[j*m.dim:(j+1)*m.dim])
			lo, hi = math.Min(lo, r), math.Max(hi, r)
		}
		L[h], U[h] = L[h+1]+lo, U[h+1]+hi
	}
	low, up = make([][]float64, H+1), make([][]float64, H+1)
	for h := H; h >= 0; h-- {
		low[h], up[h] = make([]float64, S), make([]float64, S)
		if h == H {
			continue
		}
		k, R := m.Kernel(h).Plain(m.Dim()), U[h+1]-L[h+1]
		for s := range S {
			if k.First[s] == k.First[s+1] {
				low[h][s], up[h][s] = low[h+1][s], up[h+1][s]
				continue
			}
			low[h][s] = math.Inf(1)
			for a := range int(k.First[s+1] - k.First[s]) {
				r := floats.Dot(dir, k.Returns[(int(k.First[s])+a)*m.dim:(int(k.First[s])+a+1)*m.dim])
				ql, qu := r+L[h+1], r+U[h+1]
				n := countOf(c, h, s, a)
				if t := floats.Sum(n); t > 0 {
					var ml, mu, ml2, g2 float64
					for x, w := range n {
						p := w / t
						ml += p * low[h+1][x]
						mu += p * up[h+1][x]
						ml2 += p * low[h+1][x] * low[h+1][x]
						g2 += p * (up[h+1][x] - low[h+1][x]) * (up[h+1][x] - low[h+1][x])
					}
					beta := R * math.Sqrt(hoeffdingLog/(2*t))
					if t > 1 {
						v := math.Max(0, ml2-ml*ml)
						beta = math.Min(beta, math.Sqrt(2*logTerm*v/(t-1))+math.Sqrt(2*logTerm*g2/(t-1))+
							7*R*logTerm/(3*(t-1)))
					}
					beta += cover * diagonal[h+1] * floats.Norm(dir, 2)
					ql = math.Max(ql, r+ml-scale*beta)
					qu = math.Min(qu, r+mu+scale*beta)
				}
				if ql < low[h][s]-1e-13 {
					low[h][s], up[h][s] = ql, qu
				}
			}
		}
	}
	return low, up
}

// countOf returns how often each state followed a choice.
func countOf(c *Counts, h, s, a int) []float64 {
	n := make([]float64, c.shape.states)
	l := c.layer(h)
	if i := l.at[s]; i > 0 {
		ch := l.choices[int(l.seen[i-1].first)+a]
		for _, e := range l.arena[ch.first:ch.end] {
			n[e.next] += float64(e.count)
		}
	}
	return n
}

func TestPlannerAgreesWithDenseReference(t *testing.T) {
	for seed := range uint64(40) {
		m := randomModel(t, seed, 6, 5, 3, seed%3 == 0)
		c := playedCounts(t, m, false, int(1+seed*seed))
		dir := randomDirection(rand.New(Stream(seed, "dir")), 3, 1+float64(seed))
		const scale, logTerm, hoeffdingLog = 0.2, 1.5, 2.5
		cover := float64(seed%2) / 50
		p, got := stepValues(newVI(t, m, true, newBernstein(scale, logTerm, hoeffdingLog, cover)), c, dir)
		low, up := denseQ(m, c, dir, scale, logTerm, hoeffdingLog, cover)
		for h := range got {
			for s, b := range got[h] {
				if c.layer(h).at[s] == 0 {
					continue
				}
				if math.Abs(b.low-low[h][s]) > 1e-9 || math.Abs(b.up-up[h][s]) > 1e-9 {
					t.Fatalf("seed %d, step %d, state %d: [%v, %v], dense [%v, %v]", seed, h+1, s, b.low, b.up,
						low[h][s], up[h][s])
				}
			}
		}
		if want := startValue(m, low[0]); math.Abs(p.Low-want) > 1e-9 {
			t.Errorf("seed %d: low %v, dense %v", seed, p.Low, want)
		}
	}
}

func TestOptimismWithTheoryBonus(t *testing.T) {
	violations, cells := 0, 0
	for run := range uint64(200) {
		m := randomModel(t, run, 4, 4, 2, run%2 == 0)
		pooled := run%4 == 0
		const episodes = 60
		rng := rand.New(Stream(run, "optimism"))
		confidence := (*ReturnConfidence)(nil)
		known := run%3 != 0
		if !known {
			confidence = NewReturnConfidence(m.Shape(), math.Log(8*2*float64(m.Shape().Slots())*episodes/0.05), 1)
		}
		c := newCounts(t, m.Shape(), pooled, confidence)
		vi := newVI(t, m, known, newBonus(t, m, run%5 != 0, pooled, Theory, episodes))
		tr := NewTrajectory(m.Shape())
		for k := range episodes {
			tr.Play(m, Uniform{m.Shape()}, rng, rng)
			c.Observe(tr)
			if k%6 != 0 {
				continue
			}
			for range 8 {
				dir := randomDirection(rng, 2, math.Exp(3*rng.NormFloat64()))
				want := optimalValues(m, dir)
				tol := 1e-9 * (1 + floats.Norm(dir, 2))
				plan, got := visitValues(vi, c, dir, func(h, _, choice int, q bounds) {
					cells++
					if x := trueQ(m, dir, want, h, choice); q.low > x+tol || q.up < x-tol {
						violations++
					}
				})
				for h := range got {
					for s, b := range got[h] {
						if math.IsNaN(b.low) {
							continue
						}
						cells++
						if b.low > want[h][s]+tol || b.up < want[h][s]-tol {
							violations++
						}
					}
				}
				if v := startValue(m, want[0]); plan.Low > v+tol {
					violations++
				}
			}
		}
	}
	if violations > 0 || cells < 100000 {
		t.Errorf("%d violations of lower ≤ Q*, V* ≤ upper in %d cells", violations, cells)
	}
}

func TestTheoryBonusIsNotVacuous(t *testing.T) {
	// With many visits the bounds must close on the true value, or optimism would
	// hold for the wrong reason.
	m := randomModel(t, 1, 3, 3, 2, true)
	c := playedCounts(t, m, false, 200000)
	dir := []float64{0.6, 0.8}
	p := newVI(t, m, true, NoBonus{}).NewPlan()
	vi := newVI(t, m, true, newBonus(t, m, true, false, Theory, 200000))
	vi.Plan(p, c, dir)
	want := startValue(m, optimalValues(m, dir)[0])
	if !(p.Low <= want && want <= p.Up) || p.Up-p.Low > 0.25 {
		t.Errorf("[%v, %v] around %v", p.Low, p.Up, want)
	}
}

// TestLowerBoundsNeverPassUpper holds for every bonus, also those that guarantee
// nothing.
func TestLowerBoundsNeverPassUpper(t *testing.T) {
	for seed := range uint64(60) {
		m := randomModel(t, seed, 5, 5, 2, seed%2 == 0)
		c := playedCounts(t, m, seed%2 == 0, int(seed*3))
		rng := rand.New(Stream(seed, "dir"))
		for _, bonus := range []Bonus{
			NoBonus{}, newBonus(t, m, true, false, Practice, 100), newBonus(t, m, false, false, Practice, 100),
			newBonus(t, m, true, false, Printed, 100), newBonus(t, m, false, false, Printed, 100),
			newBernstein(0.001, 1, 1, 0),
		} {
			for _, known := range []bool{true, false} {
				if !known {
					c.learned = NewReturnConfidence(m.Shape(), 1, 0.1)
					relearn(t, m, c)
				}
				_, got := stepValues(newVI(t, m, known, bonus), c, randomDirection(rng, 2, 3))
				for h := range got {
					for s, b := range got[h] {
						if b.low > b.up {
							t.Fatalf("seed %d, %T, step %d, state %d: low %v above up %v", seed, bonus, h+1, s, b.low,
								b.up)
						}
					}
				}
				c.learned = nil
			}
		}
	}
}

// relearn gives every visited choice exact return statistics.
func relearn(t *testing.T, m *Model, c *Counts) {
	t.Helper()
	for h := range c.layers {
		l := &c.layers[h]
		l.returns = make([]returnStat, len(l.choices)*m.dim)
		for _, s := range l.seen {
			for a := range int(s.end - s.first) {
				for j := range m.dim {
					l.returns[(int(s.first)+a)*m.dim+
						j] = returnStat{mean: m.Kernel(h).Plain(m.Dim()).Returns[(int(s.number)+a)*m.dim+j],
						radius: 0.1}
				}
			}
		}
	}
}

func TestPlansArePositivelyHomogeneous(t *testing.T) {
	for seed := range uint64(40) {
		m := randomModel(t, seed, 5, 6, 3, false)
		c := playedCounts(t, m, false, 50)
		rng := rand.New(Stream(seed, "dir"))
		dir := randomDirection(rng, 3, 1)
		for _, factor := range []float64{5, 0.01, 12345.678} {
			scaled := make([]float64, 3)
			floats.ScaleTo(scaled, factor, dir)
			for _, bernstein := range []bool{true, false} {
				for _, mode := range []BonusMode{Theory, Practice, Printed} {
					vi := newVI(t, m, true, newBonus(t, m, bernstein, false, mode, 1000))
					a, b := vi.NewPlan(), vi.NewPlan()
					vi.Plan(a, c, dir)
					vi.Plan(b, c, scaled)
					if math.Abs(b.Low-factor*a.Low) > 1e-9*factor || math.Abs(b.Up-factor*a.Up) > 1e-9*factor {
						t.Fatalf("seed %d, mode %v: plan(%gθ) = [%v, %v], %g·plan(θ) = [%v, %v]", seed, mode, factor,
							b.Low, b.Up, factor, factor*a.Low, factor*a.Up)
					}
				}
			}
		}
	}
}

// TestFreshAndUsedPlansAgree is erratum E-21: nothing of an earlier direction may
// stay behind in a plan.
func TestFreshAndUsedPlansAgree(t *testing.T) {
	m := randomModel(t, 11, 6, 5, 3, false)
	c := playedCounts(t, m, false, 3)
	vi := newVI(t, m, true, newBonus(t, m, true, false, Practice, 100))
	used := vi.NewPlan()
	rng := rand.New(Stream(1, "dir"))
	tr := NewTrajectory(m.Shape())
	for k := range 200 {
		dir := randomDirection(rng, 3, math.Exp(rng.NormFloat64()))
		fresh := vi.NewPlan()
		vi.Plan(used, c, dir)
		vi.Plan(fresh, c, dir)
		if used.Low != fresh.Low || used.Up != fresh.Up {
			t.Fatalf("episode %d: used [%v, %v], fresh [%v, %v]", k, used.Low, used.Up, fresh.Low, fresh.Up)
		}
		for h := range m.horizon {
			for s := range m.states {
				if m.Shape().Actions(h, s) > 0 && used.Choose(nil, h, s) != fresh.Choose(nil, h, s) {
					t.Fatalf("episode %d: plans differ at step %d, state %d", k, h+1, s)
				}
			}
		}
		tr.Play(m, used, rng, rng)
		c.Observe(tr)
	}
}

func TestUnseenChoicesHaveTheirClipValue(t *testing.T) {
	m := randomModel(t, 5, 5, 4, 2, false)
	c := newCounts(t, m.Shape(), false, nil)
	rng := rand.New(Stream(5, "dir"))
	for range 50 {
		dir := randomDirection(rng, 2, 2)
		vi := newVI(t, m, true, NoBonus{})
		p := vi.NewPlan()
		vi.Plan(p, c, dir)
		want := startValue(m, optimalValues(m, dir)[0])
		if p.Low > want+1e-12 || p.Up < want-1e-12 {
			t.Errorf("without any visit: [%v, %v] does not contain %v", p.Low, p.Up, want)
		}
		var all bounds // known returns of each step, added up
		for h := range m.horizon {
			step := bounds{math.Inf(1), math.Inf(-1)}
			for s := range m.states {
				first, end := m.Rows(h).Choices(s)
				if first == end {
					step = bounds{min(step.low, 0), max(step.up, 0)}
				}
				for c := first; c < end; c++ {
					x := floats.Dot(dir, m.Rows(h).Returns(c))
					step = bounds{min(step.low, x), max(step.up, x)}
				}
			}
			all = bounds{all.low + step.low, all.up + step.up}
		}
		if p.Low < all.low-1e-9 || p.Up > all.up+1e-9 {
			t.Errorf("without any visit: [%v, %v] is wider than the returns of all steps, %v", p.Low, p.Up, all)
		}
	}
}

func TestPooledCountsSumTheSteps(t *testing.T) {
	m := randomModel(t, 8, 5, 6, 2, true)
	pooled, apart := playedCounts(t, m, true, 300), playedCounts(t, m, false, 300)
	for s := range m.states {
		for a := range m.Shape().Actions(0, s) {
			sum := 0
			for h := range m.horizon {
				sum += apart.Visits(h, s, a)
			}
			if got := pooled.Visits(0, s, a); got != sum {
				t.Errorf("state %d, action %d: %d pooled visits, %d over all steps", s, a, got, sum)
			}
		}
	}
	if _, err := NewCounts(randomModel(t, 8, 5, 6, 2, false).Shape(), true, nil); err == nil {
		t.Error("counts of steps with different choices were pooled")
	}
}

func TestPlanningDoesNotAllocate(t *testing.T) {
	m := randomModel(t, 2, 6, 8, 3, false)
	c := playedCounts(t, m, false, 100)
	vi := newVI(t, m, true, newBonus(t, m, true, false, Theory, 100))
	p := vi.NewPlan()
	dir := []float64{1, -2, 3}
	if n := testing.AllocsPerRun(100, func() { vi.Plan(p, c, dir) }); n > 0 {
		t.Errorf("planning allocates %v times", n)
	}
}

func TestReturnToGoSharpensClips(t *testing.T) {
	build := func(promise *Interval) *Model {
		b := NewBuilder(ModelSpec{Horizon: 50, Dim: 1, Start: []StartState{{0, 1}}, ReturnToGo: promise}, 2)
		b.Add(Row{Step: EveryStep, Next: []Transition{{Next: 1, Probability: .1}, {Next: 0, Probability: .9}},
			Returns: []float64{0}})
		b.Add(Row{Step: EveryStep, Action: 1, Next: []Transition{{Next: 1, Probability: 1}}, Returns: []float64{1}})
		return built(t, b)
	}
	for _, m := range []*Model{build(nil), build(&Interval{[]float64{0}, []float64{1}})} {
		c := playedCounts(t, m, false, 20)
		vi := newVI(t, m, true, newBonus(t, m, true, false, Theory, 20))
		p := vi.NewPlan()
		vi.Plan(p, c, []float64{-1})
		want := -50.0
		if m.Shape().toGo != nil {
			want = -1
		}
		if p.Low < want || p.Low > -1 {
			t.Errorf("low %v: want within [%v, -1]", p.Low, want)
		}
	}
}

// TestPromisesClip promises what a random model keeps anyway, some of its sides, and wants plans in any
// direction and after any visits to contain the optimum, to lie within the promise, and to be no wider than
// they are without it.
func TestPromisesClip(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 30))
	for seed := range uint64(40) {
		m := randomModel(t, seed, 4, 5, 2, seed%2 == 0)
		promise := Interval{Lower: make([]float64, 2), Upper: make([]float64, 2)}
		for i := range 2 {
			promise.Lower[i], promise.Upper[i] = math.Inf(-1), math.Inf(1)
			axis := make([]float64, 2)
			axis[i] = 1
			low, up := 0.0, 0.0
			m.extremes(nil, axis, func(_, _ int, b bounds) { low, up = min(low, b.low), max(up, b.up) })
			if rng.IntN(4) > 0 {
				promise.Lower[i] = low
			}
			if rng.IntN(4) > 0 {
				promise.Upper[i] = up
			}
		}
		kept := *m
		if err := kept.buildShape(&ModelSpec{ReturnToGo: &promise}); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			dir := randomDirection(rng, 2, 2)
			visits := 1 + rng.IntN(4)
			free, cut := plannedRange(t, m, dir, visits), plannedRange(t, &kept, dir, visits)
			most := bounds{}
			for i, x := range dir {
				most.low += min(x*promise.Lower[i], x*promise.Upper[i])
				most.up += max(x*promise.Lower[i], x*promise.Upper[i])
			}
			want := startValue(m, optimalValues(m, dir)[0])
			if cut.low > want+1e-9 || cut.up < want-1e-9 || cut.low < max(free.low, most.low)-1e-9 ||
				cut.up > min(free.up, most.up)+1e-9 {
				t.Errorf("seed %d, direction %g: %g with a promise of %g, %g without: want the optimum %g within", seed,
					dir, cut, most, free, want)
			}
		}
	}
}

// plannedRange returns the range that optimistic value iteration gives a direction after some episodes.
func plannedRange(t *testing.T, m *Model, dir []float64, episodes int) bounds {
	t.Helper()
	vi := newVI(t, m, true, newBonus(t, m, true, false, Theory, 20))
	p := vi.NewPlan()
	vi.Plan(p, playedCounts(t, m, false, episodes), dir)
	return bounds{p.Low, p.Up}
}
