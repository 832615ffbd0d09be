package cmdp

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// playedCounts returns the counts of n episodes of uniform play.
func playedCounts(tb testing.TB, m *Model, pooled bool, n int) *Counts {
	tb.Helper()
	c, err := NewCounts(m.Shape(), pooled, nil)
	if err != nil {
		tb.Fatal(err)
	}
	env, agent := rand.New(Stream(1, "environment")), rand.New(Stream(1, "agent"))
	tr := NewTrajectory(m.Shape())
	for range n {
		tr.Play(m, Uniform{m.Shape()}, env, agent)
		c.Observe(tr)
	}
	return c
}

// BenchmarkPlan reports the time of planning per entry seen, and of the bare sum
// Σ n·v[s'] over the same entries in the same run: the ratio is what everything
// else in planning costs.
func BenchmarkPlan(b *testing.B) {
	const states, horizon = 64, 30
	for _, succ := range []int{4, 16} {
		m := denseModel(b, states, horizon, 4, succ)
		counts := playedCounts(b, m, false, 20000)
		dir := []float64{0.5, -0.7}
		for name, bernstein := range map[string]bool{"bernstein": true, "hoeffding": false} {
			bonus, err := NewBonus(m.Shape(), bernstein, false, BonusScale{Mode: Practice}, Confidence{100000, 0.05})
			if err != nil {
				b.Fatal(err)
			}
			vi, err := NewOptimisticVI(m.Shape(), m.KnownReturns(), bonus)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(benchName(name, succ), func(b *testing.B) {
				plan := vi.NewPlan()
				for b.Loop() {
					vi.Plan(plan, counts, dir)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(counts.Entries()), "ns/entry")
			})
		}
		b.Run(benchName("bare", succ), func(b *testing.B) {
			v := make([]float64, states)
			sum := 0.0
			for b.Loop() {
				for h := range counts.layers {
					l := &counts.layers[h]
					for _, ch := range l.choices {
						q := 0.0
						for _, e := range l.arena[ch.first:ch.end] {
							q += float64(e.count) * v[e.next]
						}
						sum += q
					}
				}
			}
			if sum != 0 {
				b.Fatal(sum)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(counts.Entries()), "ns/entry")
		})
	}
}

func benchName(name string, succ int) string {
	return name + map[int]string{4: "/4successors", 16: "/16successors"}[succ]
}

// denseModel returns a random stationary model in which each choice has succ
// successors.
func denseModel(tb testing.TB, states, horizon, actions, succ int) *Model {
	tb.Helper()
	rng := rand.New(Stream(1, "dense model"))
	b := NewBuilder(ModelSpec{Horizon: horizon, Dim: 2, Start: []StartState{{0, 1}}}, states)
	for s := range states {
		for a := range actions {
			row := Row{Step: EveryStep, State: s, Action: a, Returns: []float64{rng.Float64(), rng.Float64()}}
			for _, n := range rng.Perm(states)[:succ] {
				row.Next = append(row.Next, Transition{Next: n, Probability: 1 / float64(succ)})
			}
			if err := b.Add(row); err != nil {
				tb.Fatal(err)
			}
		}
	}
	m, err := b.Build()
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// BenchmarkGamePlan reports the time of planning in a game with 100 states and
// five actions of each player, per entry seen and per matrix game, and that of a
// whole episode.
func BenchmarkGamePlan(b *testing.B) {
	const states, horizon, actions, succ = 100, 10, 5, 4
	rng := rand.New(Stream(1, "game"))
	builder := NewBuilder(ModelSpec{Horizon: horizon, Dim: 2, Start: []StartState{{0, 1}}}, states)
	for s := range states {
		for j := range actions * actions {
			row := Row{Step: EveryStep, State: s, Action: j / actions, Opponent: j % actions,
				Returns: []float64{rng.Float64(), rng.Float64()}}
			for _, n := range rng.Perm(states)[:succ] {
				row.Next = append(row.Next, Transition{Next: n, Probability: 1.0 / succ})
			}
			if err := builder.Add(row); err != nil {
				b.Fatal(err)
			}
		}
	}
	m, err := builder.Build()
	if err != nil {
		b.Fatal(err)
	}
	bonus, err := NewBonus(m.Shape(), false, false, BonusScale{Mode: Practice}, Confidence{100000, 0.05})
	if err != nil {
		b.Fatal(err)
	}
	vi, err := NewOptimisticVI(m.Shape(), m.KnownReturns(), bonus)
	if err != nil {
		b.Fatal(err)
	}
	for _, episodes := range []int{1000, 100000} {
		counts := playedGame(b, m, false, episodes)
		games := 0
		for h := range horizon {
			games += counts.Seen(h)
		}
		b.Run(fmt.Sprintf("%depisodes", episodes), func(b *testing.B) {
			plan := vi.NewPlan()
			for b.Loop() {
				vi.Plan(plan, counts, []float64{0.5, -0.7})
			}
			perPlan := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
			b.ReportMetric(perPlan/float64(counts.Entries()), "ns/entry")
			b.ReportMetric(perPlan/float64(games), "ns/game")
		})
	}
}

// BenchmarkDisorder builds a model from transitions that come in no order, as files of other tools may have them.
func BenchmarkDisorder(b *testing.B) {
	const states, actions, successors = 50_000, 4, 10
	rng := rand.New(rand.NewPCG(1, 1))
	var c Transitions
	for _, i := range rng.Perm(states * actions * successors) {
		s, a, e := i/(actions*successors), i/successors%actions, i%successors
		c.State, c.Action = append(c.State, int32(s)), append(c.Action, int32(a))
		c.Next = append(c.Next, int32((s+e*e+1)%states))
		c.Probability, c.Returns = append(c.Probability, 1.0/successors), append(c.Returns, float64(a))
	}
	spec := ModelSpec{Horizon: 2, Dim: 1, Start: []StartState{{State: 0, Probability: 1}}}
	for b.Loop() {
		builder := NewBuilder(spec, states)
		builder.Grow(states*actions, len(c.State))
		if err := builder.AddTransitions(&c); err != nil {
			b.Fatal(err)
		}
		if _, err := builder.Build(); err != nil {
			b.Fatal(err)
		}
	}
}
