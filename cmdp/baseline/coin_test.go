package baseline

import (
	"math"
	"math/rand/v2"
	"sort"
	"testing"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/stat/distuv"
)

// A coin is a problem in which one probability matters: in the first step the last action leads to the bad
// state with probability ½, where every later step costs 1; everything else is sure. What a learner makes
// of it depends on a binomial number, how often the bad state came, so that the probability of a wrong
// bound can be computed.
type coin struct {
	model *cmdp.Model
	sure  bool // the first step has another action before, which stays in the good state
}

const (
	goodState = iota
	badState
)

func newCoin(t *testing.T, horizon int, sure bool) *coin {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: horizon, Dim: 2,
		Start: []cmdp.StartState{{State: goodState, Probability: 1}}}, 2)
	add := func(h, s, a int, reward, cost float64, next ...cmdp.Transition) {
		addRow(t, b, cmdp.Row{Step: h + 1, State: s, Action: a, Returns: []float64{reward, cost},
			Next: next})
	}
	toss := []cmdp.Transition{{Next: goodState, Probability: 0.5}, {Next: badState, Probability: 0.5}}
	if sure {
		add(0, goodState, 0, 0, 0, cmdp.Transition{Next: goodState, Probability: 1})
		add(0, goodState, 1, 1, 0, toss...)
	} else {
		add(0, goodState, 0, 1, 0, toss...)
	}
	for h := 1; h < horizon; h++ {
		for s := range 2 {
			add(h, s, 0, 0, float64(s), cmdp.Transition{Next: s, Probability: 1})
		}
	}
	m := built(t, b)
	return &coin{m, sure}
}

// counts returns counts in which the coin fell on the bad state so many times of all, and everything that
// is sure was seen so often that it is known.
func (c *coin) counts(t *testing.T, bad, all int) *cmdp.Counts {
	t.Helper()
	counts := newCounts(t, c.model.Shape(), false)
	add := func(h, s, a, next int, times uint32) {
		if err := counts.Add(h, s, a, next, times); err != nil {
			t.Fatal(err)
		}
	}
	last := 0
	if c.sure {
		add(0, goodState, 0, goodState, 4e9)
		last = 1
	}
	add(0, goodState, last, badState, uint32(bad))
	add(0, goodState, last, goodState, uint32(all-bad))
	for h := 1; h < c.model.Horizon(); h++ {
		add(h, goodState, 0, goodState, 4e9)
		add(h, badState, 0, badState, 4e9)
	}
	return counts
}

// chance returns the probability that a bound is wrong after so many tosses, if it is wrong for at least,
// or at most, some number of bad ones: below or above the expected half.
func chance(tosses int, below bool, wrong func(bad int) bool) float64 {
	d := distuv.Binomial{N: float64(tosses), P: 0.5}
	half := tosses / 2
	// The binomial number is symmetric: a deviation of at least x has the same probability to each side.
	x := sort.Search(half+1, func(x int) bool {
		if below {
			return wrong(half - x)
		}
		return wrong(half + x)
	})
	return d.CDF(float64(half - x))
}

const coinTosses = 20000

// allowed is the share of the failure probability p = 0.1 that a union bound over SAHK leaves to one choice after one
// number of visits.
func (c *coin) allowed() float64 {
	return 0.1 / float64(c.model.Shape().Slots()*coinTosses)
}

// TestOptimismBites wants optimism after 20000 tosses to fail with no more than its share of p with the
// radii of theory, and with more than that with too small ones. Intervals and ℓ₁ balls leave a factor of
// about two: 0.3 times them fails. Bonuses are H Σ β where (p − p̄)·V is at most 2β, and OPDOP's more yet:
// 0.1 times them fails.
func TestOptimismBites(t *testing.T) {
	c := newCoin(t, 2, false)
	goal := linearCost(t, []float64{0, 1}, boxOf(t, c.model)) // the cost of ½, to be made least
	for _, tt := range []struct {
		name  string
		small float64
		// wrong reports whether the learner's bound is on the wrong side of ½.
		wrong func(l cmdp.Learner) bool
	}{
		{"optcmdp", 0.3, programAboveHalf}, {"optcmdp-bonus", 0.1, programAboveHalf},
		{"optdual", 0.3, func(l cmdp.Learner) bool {
			l.Policy()
			return l.(*lagrangian).column.low() > 0.5
		}},
		{"optprimaldual", 0.1, func(l cmdp.Learner) bool {
			l.(*policyOptimizer).evaluate()
			return l.(*policyOptimizer).value[0] > 0.5
		}},
		{"opdop", 0.1, func(l cmdp.Learner) bool { // rewards: one for every step that does not cost
			l.(*policyOptimizer).evaluate()
			return l.(*policyOptimizer).value[0] < 1.5
		}},
		{"ucpd", 0.3, func(l cmdp.Learner) bool { // the true kernel outside of the ball
			x := l.(*ucpdLearner).kl.nodes[0]
			return math.Abs(x.center[goodState]-0.5)+math.Abs(x.center[badState]-0.5) > x.radius
		}},
	} {
		at := func(factor float64) float64 {
			return chance(coinTosses, false, func(bad int) bool {
				return tt.wrong(newLearner(t, tt.name,
					Config{Settings: cmdp.Settings{Confidence: cmdp.Confidence{Episodes: coinTosses, Failure: 0.1},
						Bonus: cmdp.TheoryTimes(factor)}, Shape: c.model.Shape(), Returns: c.model.KnownReturns(),
						Task: cmdp.Task{Cost: goal}, Prior: c.counts(t, bad, coinTosses)}))
			})
		}
		theory, small := at(1), at(tt.small)
		t.Logf("%s: fails with probability %.3g, %.3g with %g of the radii; allowed %.3g", tt.name, theory, small,
			tt.small, c.allowed())
		if theory > c.allowed() || small <= c.allowed() {
			t.Errorf("%s: fails with probability %.3g, %.3g with %g of the radii: want at most %.3g, and more", tt.name,
				theory, small, tt.small, c.allowed())
		}
	}
}

func programAboveHalf(l cmdp.Learner) bool {
	value, feasible, err := l.(*lpLearner).ProgramValue()
	return err != nil || !feasible || value > 0.5
}

// safeCoin is the problem to toss as often as keeps the expected cost at most a quarter of what it can be,
// which is half of the time. The safe policy never tosses.
func safeCoin(t *testing.T, c *coin, episodes int) (*example, Config) {
	t.Helper()
	limit := float64(c.model.Horizon()-1) / 4
	ex := newExampleFor(t, c.model, []float64{-1, 0}, []float64{math.Inf(1), limit})
	ex.know = Knowledge{Safe: onlyAction(0), SafeReturns: []float64{0, 0}}
	return ex, ex.config(episodes)
}

// TestPessimismBites is TestOptimismBites for the constraint of the zero-violation algorithms, over many
// steps, where their bonuses are nearest to what they bound: DOPE's radii times 0.3 fail it. Those of
// OptPess-LP are (1+SH)√Z instead of HSβ/2, with a larger logarithm, and fail at 0.2. The policy has to
// toss nearly as often as it may: the safe policy would pass otherwise.
func TestPessimismBites(t *testing.T) {
	c := newCoin(t, 20, true)
	for _, tt := range []struct {
		name  string
		small float64
	}{{"dope", 0.3}, {"optpess-lp", 0.2}} {
		ex, config := safeCoin(t, c, coinTosses)
		ev, v := cmdp.NewEvaluator(c.model), make([]float64, 2)
		plan := func(factor float64, bad int) []float64 {
			config.Bonus, config.Prior = cmdp.TheoryTimes(factor), c.counts(t, bad, coinTosses)
			l := newLearner(t, tt.name, config).(*lpLearner)
			if tt.name == "dope" {
				l.gate = nil // its first episodes are those of the prior
			}
			ev.Returns(v, l.Policy())
			return v
		}
		for _, factor := range []float64{1, tt.small} {
			if v := plan(factor, coinTosses/2); v[0] < 0.35 { // tosses with probability v[0], ½ is best
				t.Errorf("%s, %g of the radii: tosses with probability %g", tt.name, factor, v[0])
			}
			got := chance(coinTosses, true, func(bad int) bool { return ex.excess(t, plan(factor, bad)) > 1e-9 })
			t.Logf("%s: %g of the radii: violates with probability %.3g: allowed %.3g", tt.name, factor, got,
				c.allowed())
			if (got > c.allowed()) != (factor < 1) {
				t.Errorf("%s: %g of the radii: violates with probability %.3g: allowed %.3g", tt.name, factor, got,
					c.allowed())
			}
		}
	}
}

// TestZeroViolation wants the zero-violation algorithms to learn the coin from nothing, without a violation
// in any episode, and to leave the safe policy while they do; then to play nearly the best policies of
// random models, after so many sampled transitions that their bonuses allow it, again without a violation,
// although they do violate without bonuses.
func TestZeroViolation(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	for _, name := range []string{"dope", "optpess-lp"} {
		episodes := 100_000
		if name == "optpess-lp" {
			episodes = 400_000
		}
		ex, c := safeCoin(t, newCoin(t, 2, true), episodes)
		c.Lazy = true
		mean, each := play(t, ex.model, newLearner(t, name, c), 1, episodes)
		for k, v := range each {
			if x := ex.excess(t, v); x > 1e-9 {
				t.Fatalf("%s: episode %d exceeds the limit by %g", name, k, x)
			}
		}
		t.Logf("%s: tosses %.3g of the time, at last with probability %.3g", name, mean[0], each[episodes-1][0])
		if last := each[episodes-1][0]; last < 0.02 {
			t.Errorf("%s: tosses at last with probability %g", name, last)
		}
	}
	rng := rand.New(rand.NewPCG(21, 4))
	for _, name := range []string{"optpess-lp", "dope"} {
		without := 0
		for seed := range uint64(12) { // without bonuses about half of them violate
			ex := newExample(t, seed, modelSpec{states: 3, actions: 2, horizon: 3, dim: 2 + int(seed%2),
				rests: seed%2 == 1})
			for _, factor := range []float64{1, 0} {
				c := ex.config(1000)
				c.Bonus = cmdp.TheoryTimes(factor)
				c.Prior = multinomial(t, ex.model, 1e9, rng)
				l := newLearner(t, name, c).(*lpLearner)
				if name == "dope" {
					l.gate = nil // what the prior knows, its first episodes would have learned
				}
				v := make([]float64, ex.model.Dim())
				cmdp.NewEvaluator(ex.model).Returns(v, l.Policy())
				x := ex.excess(t, v)
				switch {
				case factor == 0 && x > 1e-9:
					without++
				case factor == 1 && x > 1e-9:
					t.Errorf("%s seed %d: exceeds a constraint by %g", name, seed, x)
				}
				safe := ex.task.Cost.Value(ex.know.SafeReturns)
				if got := ex.task.Cost.Value(v); got > ex.optimum+0.3*(safe-ex.optimum) {
					t.Errorf("%s seed %d: cost %.4f, optimum %.4f, safe %.4f", name, seed, got, ex.optimum, safe)
				}
			}
		}
		if without == 0 {
			t.Errorf("%s never violates without bonuses either", name)
		}
	}
}

// multinomial returns counts of n visits of every choice, drawn from the model all at once.
func multinomial(t *testing.T, m *cmdp.Model, n float64, rng *rand.Rand) *cmdp.Counts {
	t.Helper()
	counts := newCounts(t, m.Shape(), false)
	for h := range m.Horizon() {
		k := m.Kernel(h).Plain(m.Dim())
		for s := range m.States() {
			for c := k.First[s]; c < k.First[s+1]; c++ {
				left, share := n, 1.0
				for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
					x := left
					if e+1 < k.Offset[c+1] {
						x = distuv.Binomial{N: left, P: min(1, k.Prob[e]/share), Src: rng}.Rand()
					}
					if err := counts.Add(h, s, int(c-k.First[s]), int(k.Next[e]), uint32(x)); err != nil {
						t.Fatal(err)
					}
					left, share = left-x, share-k.Prob[e]
				}
			}
		}
	}
	return counts
}
