package baseline

import (
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
)

// A regularSheet is the regularised primal–dual method on the sheet: log-probabilities by
// step, state and action, and two multipliers.
type regularSheet struct {
	logit  [2][2][2]float64
	lambda [2]float64
}

// policy returns the probabilities of the present policy.
func (l *regularSheet) policy() (p sheetPolicy) {
	for i := range 4 {
		x := l.logit[i/2][i%2]
		p[i/2][i%2] = 1 / (1 + math.Exp(x[0]-x[1]))
	}
	return p
}

// move takes one step of Müller et al. (2024) and Kitamura et al. (2024),
//
//	π ∝ π^{1−ητ}·exp(η(Q_r + Σ λ_i Q_i + τ·entropy of the later steps)),
//	λ_i ← clip((1−ητ)λ_i − η(V_i − ρ_i), 0, λ_max),
//
// where rewards and utilities are 1 − x + b and each Q is cut to [0, H − h], and the entropy to
// ln A for each later step; a utility is to be at least ρ = H − α.
func (l *regularSheet) move(s *sheet, eta, tau, most float64, bonus sheetBonus) {
	p := l.policy()
	var q [2][2][2][3]float64
	var entropy [2][2][2]float64
	var v [2][3]float64 // of the step after
	var h1 [2]float64
	for h := 1; h >= 0; h-- {
		var now [2][3]float64
		var nowEntropy [2]float64
		for state := range 2 {
			for a := range 2 {
				row := s.row(h, state, a, sheetAnywhere)
				pi := 1 - p[h][state]
				if a == 1 {
					pi = p[h][state]
				}
				for j := range 3 {
					x := 1 - sheetSignals[h][state][a][j] + bonus(h, state, a) + row[0]*v[0][j] + row[1]*v[1][j]
					q[h][state][a][j] = min(max(x, 0), 2-float64(h))
					now[state][j] += pi * q[h][state][a][j]
				}
				entropy[h][state][a] = min(tau*(row[0]*h1[0]+row[1]*h1[1]), tau*math.Log(2)*float64(1-h))
				nowEntropy[state] -= pi * math.Log(pi)
			}
		}
		v, h1 = now, nowEntropy
	}
	for i := range 8 {
		h, state, a := i/4, i/2%2, i%2
		x := q[h][state][a]
		l.logit[h][state][a] = (1-eta*tau)*l.logit[h][state][a] +
			eta*(x[0]+l.lambda[0]*x[1]+l.lambda[1]*x[2]+entropy[h][state][a])
	}
	for i := range 4 { // log-probabilities again
		x := &l.logit[i/2][i%2]
		sum := math.Log(math.Exp(x[0]) + math.Exp(x[1]))
		x[0], x[1] = x[0]-sum, x[1]-sum
	}
	for i := range 2 {
		gap := 2 - s.limit[i] - sheetStart[0]*v[0][i+1] - sheetStart[1]*v[1][i+1]
		l.lambda[i] = min(max((1-eta*tau)*l.lambda[i]+eta*gap, 0), most)
	}
}

// efroniBonus is b = H·Σ_{s'} (2√(p̄(1−p̄)L/n) + (14/3)L/n), L = ln(6·SAH·K/p) with SAH = 8 and p = 0.1, of
// Efroni, Mannor and Pirotta (2020) for known returns.
func efroniBonus(s *sheet, episodes float64) sheetBonus {
	l := math.Log(6 * 8 * episodes / 0.1)
	return func(h, state, a int) float64 {
		n, sum := max(1, s.visits(h, state, a)), 0.0
		for _, x := range s.row(h, state, a, sheetAnywhere) {
			if s.visits(h, state, a) == 0 {
				x = 0 // p̄ = 0 where nothing was seen
			}
			sum += 2*math.Sqrt(x*(1-x)*l/n) + 14./3*l/n
		}
		return 2 * sum
	}
}

// kitamuraBonus is Σ_{s'}√p̄·φ + 5φ², φ² = (2 ln ln max(e, 2n) + 2 ln(48·S²AH/p))/n with S²AH = 16,
// p̄ = 1/S where nothing was seen.
func kitamuraBonus(s *sheet) sheetBonus {
	return func(h, state, a int) float64 {
		n := max(1, s.visits(h, state, a))
		phi2 := (2*math.Log(math.Log(max(math.E, 2*n))) + 2*math.Log(48*16/0.1)) / n
		row := s.row(h, state, a, sheetAnywhere)
		return (math.Sqrt(row[0])+math.Sqrt(row[1]))*math.Sqrt(phi2) + 5*phi2
	}
}

// TestRegularizedByHand follows policies and multipliers of rpg-pd and uopt-rpgpd over eight
// episodes on hand-made counts, with steps and bonuses by value. The Slater constant 0.6
// leaves the room min(0.6/3, 0.6/4) = 0.15, so that λ_max = 2H/0.15.
func TestRegularizedByHand(t *testing.T) {
	const episodes = 128 // K^{1/7} = 2
	anytime := func(k float64) (float64, float64) { return math.Pow(k+3, -0.53), math.Pow(k+3, -0.40) }
	times := func(f float64, b func(*sheet) sheetBonus) func(*sheet) sheetBonus {
		return func(s *sheet) sheetBonus {
			x := b(s)
			return func(h, state, a int) float64 { return f * x(h, state, a) }
		}
	}
	efroni := func(s *sheet) sheetBonus { return efroniBonus(s, episodes) }
	for _, tt := range []struct {
		name, algorithm string
		scale           cmdp.BonusScale
		times           float64
		forget          bool
		most            float64
		steps           func(k float64) (eta, tau float64)
		bonus           func(s *sheet) sheetBonus
	}{
		{"theory", "rpg-pd", cmdp.BonusScale{}, 1e4, false, 4 / 0.15,
			func(float64) (float64, float64) { return 1. / 32, 1. / 2 }, efroni},
		{"0.01 times", "rpg-pd", cmdp.TheoryTimes(0.01), 10, true, 4 / 0.15,
			func(float64) (float64, float64) { return 0.05, 0.05 }, times(0.01, efroni)},
		{"uniform PAC", "uopt-rpgpd", cmdp.BonusScale{}, 1e4, false, math.Inf(1), anytime, kitamuraBonus},
		{"0.003 times, unvisited", "uopt-rpgpd", cmdp.TheoryTimes(0.003), 3, true, math.Inf(1), anytime,
			times(0.003, kitamuraBonus)},
		{"published", "uopt-rpgpd", cmdp.BonusScale{Mode: cmdp.Published, Factor: 1}, 1, true, math.Inf(1), anytime,
			times(0.001, kitamuraBonus)},
	} {
		s := newSheet(tt.times)
		s.limit = [2]float64{0.3, 0.6}
		if tt.forget {
			s.forget()
		}
		c := s.config(t, episodes)
		c.Bonus, c.Knowledge.Slater = tt.scale, 0.6
		l := newLearner(t, tt.algorithm, c).(*regularized)
		want := &regularSheet{}
		for i := range 8 {
			want.logit[i/4][i/2%2][i%2] = -math.Log(2)
		}
		for k := range 8 {
			got, p := readSheet(l.Policy()), want.policy()
			for i := range 4 {
				if math.Abs(got[i/2][i%2]-p[i/2][i%2]) > 1e-12 {
					t.Errorf("%s, episode %d: action 1 at %d, %d with probability %v, want %v", tt.name, k+1, i/2, i%2,
						got[i/2][i%2], p[i/2][i%2])
				}
			}
			for i, x := range want.lambda {
				if math.Abs(l.lambda[i]-x) > 1e-12 {
					t.Errorf("%s, episode %d: multiplier %d is %v, want %v", tt.name, k+1, i, l.lambda[i], x)
				}
			}
			eta, tau := tt.steps(float64(k))
			want.move(s, eta, tau, tt.most, tt.bonus(s)) // on the counts from before the episode
			s.show(l, c.Shape, [3]int{0, 1, 0}, [2]int{1, 0})
		}
		if want.lambda[0] == 0 || want.lambda[1] == 0 || want.lambda[0] == want.lambda[1] {
			t.Errorf("%s: multipliers %v: the test says little", tt.name, want.lambda)
		}
	}
}

// TestRegularizedMost wants the multipliers of rpg-pd to be cut at 2H/γ and those of uopt-rpgpd
// nowhere: with a known model, limits that no policy keeps and no bonus they grow. A Slater
// constant of 4 claims the room min(4/3, 4/4) = 1, and so λ_max = 4.
func TestRegularizedMost(t *testing.T) {
	for _, algorithm := range []string{"rpg-pd", "uopt-rpgpd"} {
		s := newSheet(1)
		s.limit = [2]float64{0.01, 0.01}
		c := s.config(t, 4000)
		c.Bonus, c.Knowledge.Slater = cmdp.TheoryTimes(0), 4
		l := newLearner(t, algorithm, c).(*regularized)
		for range 20000 {
			l.Policy()
			s.show(l, c.Shape, [3]int{0, 1, 0}, [2]int{1, 0})
		}
		if x := l.lambda[1]; (algorithm == "rpg-pd") != (x == 4) || algorithm == "uopt-rpgpd" && x < 20 {
			t.Errorf("%s: multiplier %v", algorithm, x)
		}
	}
}

// TestEntropyToGo has the entropy of the later steps by its recursion, E_h(s) = Σ π (P̂E_{h+1} − τ ln π), and
// E_{h+1}(s) where the process rests, in a shape whose states rest at one step and act at another.
func TestEntropyToGo(t *testing.T) {
	const horizon, states, tau = 4, 3, 0.3
	spec := cmdp.ShapeSpec{Horizon: horizon, Dim: 1, Start: []cmdp.StartState{{State: 0, Probability: 1}},
		Returns: []cmdp.Interval{{Lower: []float64{0}, Upper: []float64{1}}}}
	actions := func(h, s int) int { return (s + 2*h + 2) % 4 }
	for h := range horizon {
		first := []int32{0}
		for s := range states {
			first = append(first, first[s]+int32(actions(h, s)))
		}
		spec.First = append(spec.First, first)
	}
	sh, err := cmdp.NewShape(spec)
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Shape: sh, Settings: cmdp.Settings{Confidence: cmdp.Confidence{Episodes: 100, Failure: 0.1}}}
	c.Task.Cost = linearCost(t, []float64{1}, boxOfShape(t, sh))
	l := newLearner(t, "uopt-rpgpd", c).(*regularized)
	rng, seen := rand.New(rand.NewPCG(1, 3)), map[[4]int]float64{}
	for range 12 {
		policy, tr := l.Policy(), cmdp.NewTrajectory(sh)
		tr.Steps = horizon
		l.entropyToGo(tau)
		var next [states]float64
		for h := horizon - 1; h >= 0; h-- {
			now := next
			for s := range states {
				n := actions(h, s)
				pi := make([]float64, n)
				if n > 0 {
					policy.Distribution(pi, h, s)
					now[s] = 0
				}
				for a, x := range pi {
					visits, want := 0., 0.
					for y, e := range next {
						visits += seen[[4]int{h, s, a, y}]
						want += seen[[4]int{h, s, a, y}] * e
					}
					if want /= visits; visits == 0 {
						want = (next[0] + next[1] + next[2]) / states
					}
					now[s] += x * (want - tau*math.Log(x))
					if got := l.entropy[l.index(slot{h, s, a})]; !closeTo(got, want) {
						t.Fatalf("step %d, state %d, action %d: entropy %g, want %g", h, s, a, got, want)
					}
				}
			}
			next = now
		}
		for h := range horizon {
			s := tr.States[h]
			tr.Actions[h], tr.States[h+1] = -1, s
			if n := actions(h, s); n > 0 {
				tr.Actions[h], tr.States[h+1] = rng.IntN(n), rng.IntN(states)
				seen[[4]int{h, s, tr.Actions[h], tr.States[h+1]}]++
				tr.Return(h)[0] = rng.Float64()
			}
		}
		l.Observe(tr)
	}
}
