package baseline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
)

// A tripleSheet is Triple-Q of Wei, Liu and Ying (2022) on the sheet, by step, state, action
// and signal, with the numbers of a variant.
type tripleSheet struct {
	q       [2][2][2][3]float64
	n       [2][2][2]float64
	z, sum  [2]float64
	played  int
	frame   int
	eta     float64
	tighten float64
	gain    float64 // at the end of a frame
	// bonus of the reward and of the utilities at the t-th visit with the rate α_t.
	bonus func(t, rate float64) (reward, utility float64)
}

// observe learns from an episode: α_t = (χ+1)/(χ+t), χ = η here, and
//
//	Q ← (1−α_t)Q + α_t(1 − x + Q_next + b_t),
//
// Q_next at the action that was taken, as it was before the episode.
func (l *tripleSheet) observe(states [3]int, actions [2]int, chi float64, reset func(h int, q *[3]float64)) {
	before := l.q
	for i := range 2 {
		l.sum[i] += before[0][states[0]][actions[0]][i+1]
	}
	for h := range 2 {
		s, a := states[h], actions[h]
		l.n[h][s][a]++
		rate := (chi + 1) / (chi + l.n[h][s][a])
		reward, utility := l.bonus(l.n[h][s][a], rate)
		for j := range 3 {
			later, bonus := 0.0, utility
			if h == 0 {
				later = before[1][states[1]][actions[1]][j]
			}
			if j == 0 {
				bonus = reward
			}
			l.q[h][s][a][j] = (1-rate)*before[h][s][a][j] + rate*(1-sheetSignals[h][s][a][j]+later+bonus)
		}
	}
	if l.played++; l.played%l.frame == 0 {
		l.endFrame(reset)
	}
}

// endFrame moves the queues, Z ← [Z + ρ + ε − mean of C₁]₊ with ρ = H − α, and starts anew.
func (l *tripleSheet) endFrame(reset func(h int, q *[3]float64)) {
	for i, alpha := range tripleLimit {
		l.z[i] = max(0, l.z[i]+2-alpha+l.tighten-l.sum[i]/float64(l.frame))
	}
	l.sum, l.n = [2]float64{}, [2][2][2]float64{}
	for i := range 8 {
		q := &l.q[i/4][i/2%2][i%2]
		q[0] += l.gain
		reset(i/4, q)
	}
}

// resetTheory sets all tables of a choice to H where one of them is at least H.
func resetTheory(_ int, q *[3]float64) {
	if q[0] >= 2 || q[1] >= 2 || q[2] >= 2 {
		*q = [3]float64{2, 2, 2}
	}
}

// check compares tables, queues and the greedy actions for Q + Σ (Z_i/η)C_i.
func (l *tripleSheet) check(t *testing.T, what string, got *tripleQ) {
	t.Helper()
	close := func(name string, x, y float64) {
		t.Helper()
		if math.Abs(x-y) > 1e-9*(1+math.Abs(y)) {
			t.Errorf("%s: %s is %v, want %v", what, name, x, y)
		}
	}
	for i := range 8 {
		for j := range 3 {
			close(fmt.Sprintf("table %d of choice %d", j, i), got.state.Q[3*i+j], l.q[i/4][i/2%2][i%2][j])
		}
	}
	for i, z := range l.z {
		close(fmt.Sprintf("queue %d", i), got.state.Z[i], z)
	}
	probs := make([]float64, 2)
	for i := range 4 {
		score := [2]float64{}
		for a := range 2 {
			q := l.q[i/2][i%2][a]
			score[a] = q[0] + l.z[0]/l.eta*q[1] + l.z[1]/l.eta*q[2]
			close(fmt.Sprintf("score of choice %d", 2*i+a), got.score(2*i+a), score[a])
		}
		want := 0.5
		if d := score[1] - score[0]; math.Abs(d) > 1e-12 {
			want = 0.5 + math.Copysign(0.5, d)
		}
		random := got.random()
		got.Distribution(probs, i/2, i%2)
		close(fmt.Sprintf("probability of action 1 at %d, %d", i/2, i%2), probs[1], (1-random)*want+random/2)
	}
}

// tripleLimit makes the utilities that are asked for, H − α, so high that queues grow.
var tripleLimit = [2]float64{0.05, 0.15}

// tripleEpisodes are the episodes that the learner is shown in turn.
var tripleEpisodes = []struct {
	states  [3]int
	actions [2]int
}{{[3]int{0, 1, 0}, [2]int{0, 1}}, {[3]int{0, 0, 1}, [2]int{1, 1}}, {[3]int{1, 1, 0}, [2]int{1, 0}},
	{[3]int{0, 0, 0}, [2]int{1, 0}}, {[3]int{1, 0, 0}, [2]int{0, 1}}}

// TestTripleQByHand follows every table and queue over four frames, on the sheet: S·A = 4, H = 2,
// K = 32, and so K^0.6 = 8 episodes in a frame, η = χ = K^0.2 = 2.
//
// Theory (from memory of the paper): ι = 128 ln(√(2·4·2)·32), b_t = ¼√(H²ι(χ+1)/(χ+t)), ε =
// 8√(4·2⁶·ι³)/2 and 2·2³√ι/2 at the end of a frame. The bonus is so large that every table
// is reset to H; so other factors of the constants are followed, too: ι loses its 128, bonus and
// gain are multiplied, and ε = factor·H√ι/η (docs: derived here).
func TestTripleQByHand(t *testing.T) {
	long, short := 128*math.Log(4*32), math.Log(4*32)
	for _, tt := range []struct {
		name         string
		scale        cmdp.BonusScale
		iota, f, eps float64
		kept         bool // some tables are below H at the end of a frame
	}{
		{"theory", cmdp.BonusScale{}, long, 1, 8 * math.Sqrt(4*64*long*long*long) / 2, false},
		{"0.35 times", cmdp.BonusScale{Mode: cmdp.Practice, Factor: 1}, short, 0.35, 0.35 * 2 * math.Sqrt(short) / 2,
			false},
		{"0.02 times", cmdp.TheoryTimes(0.02), short, 0.02, 0.02 * 2 * math.Sqrt(short) / 2, true},
	} {
		s := newSheet(1)
		s.limit = tripleLimit
		c := s.config(t, 32)
		c.Prior, c.Bonus = nil, tt.scale
		l := newLearner(t, "triple-q", c).(*tripleQ)
		want := &tripleSheet{frame: 8, eta: 2, tighten: tt.eps, gain: tt.f * 2 * 8 * math.Sqrt(tt.iota) / 2}
		want.bonus = func(_, rate float64) (float64, float64) {
			b := tt.f / 4 * math.Sqrt(4*tt.iota*rate)
			return b, b
		}
		for i := range 8 {
			want.q[i/4][i/2%2][i%2] = [3]float64{2, 2, 2}
		}
		want.check(t, tt.name, l)
		kept := false
		for k := range 32 {
			e := tripleEpisodes[k%5]
			s.show(l, c.Shape, e.states, e.actions)
			want.observe(e.states, e.actions, 2, resetTheory)
			want.check(t, fmt.Sprintf("%s, episode %d", tt.name, k+1), l)
			for i := range 8 {
				kept = kept || k%8 == 7 && want.q[i/4][i/2%2][i%2][0] < 2
			}
		}
		if kept != tt.kept || want.z[0] == 0 || want.z[0] == want.z[1] {
			t.Errorf("%s: queues %v, tables kept %v: the test says little", tt.name, want.z, kept)
		}
	}
}

// TestTripleQPublished follows the constants of the authors' notebook, for a reward of 1 that
// counts as one of the 32 a step with which its tables start: η = 32·10⁻⁴K^0.2·√(SAH⁴), bonuses
// (0.2/32)√(ln K/t) and 0.002√(ln K/t), ε = 0.5; at the end of a frame Q gains 3/32 and, where it
// exceeds 34/32 of H, or a utility H, goes back to H alone. Actions are random with the
// probability 1 − 0.97(1 − e): e is 1 before the first episode, 0.95 in the 20 after it, and loses
// a twentieth every 20.
//
// With a unit of 8 that is told a reward of 1 counts as 8 of theirs, and a reward of 0 is what
// returns 0: on the sheet, where v₀ is 4 − 2x₀, 1 − x₀ is then −1 in each step to go.
func TestTripleQPublished(t *testing.T) {
	for _, tt := range []struct {
		told, unit float64
		nothing    [2]float64 // what a reward of 0 is from each step on
	}{{0, 32, [2]float64{0, 0}}, {8, 8, [2]float64{-2, -1}}} {
		s := newSheet(1)
		s.limit = tripleLimit
		c := s.config(t, 32)
		c.Prior, c.Bonus, c.Tuning.RewardUnit = nil, cmdp.BonusScale{Mode: cmdp.Published, Factor: 1}, tt.told
		l := newLearner(t, "triple-q", c).(*tripleQ)
		want := &tripleSheet{frame: 8, eta: tt.unit * 1e-4 * 2 * math.Sqrt(4*16), tighten: 0.5, gain: 3 / tt.unit}
		want.bonus = func(n, _ float64) (float64, float64) {
			return 0.2 / tt.unit * math.Sqrt(math.Log(32)/n), 0.002 * math.Sqrt(math.Log(32)/n)
		}
		for i := range 8 {
			want.q[i/4][i/2%2][i%2] = [3]float64{2*32/tt.unit + tt.nothing[i/4], 2, 2}
		}
		reset := func(h int, q *[3]float64) {
			if q[0] > 2*34/tt.unit+tt.nothing[h] || q[1] > 2 || q[2] > 2 {
				q[0] = 2*32/tt.unit + tt.nothing[h]
			}
		}
		for k := range 32 {
			e := tripleEpisodes[k%5]
			random := map[bool]float64{true: 1, false: 1 - 0.97*(1-0.95)}[k == 0]
			if k > 20 {
				random = 1 - 0.97*(1-0.95*0.95)
			}
			if x := l.random(); math.Abs(x-random) > 1e-12 {
				t.Errorf("episode %d: random with probability %v, want %v", k+1, x, random)
			}
			s.show(l, c.Shape, e.states, e.actions)
			want.observe(e.states, e.actions, 2, reset)
			want.check(t, fmt.Sprintf("unit %v, episode %d", tt.unit, k+1), l)
		}
	}
}

// TestTripleQFrames wants frames of K^0.6 episodes, rounded down, and exact where K is a fifth
// power.
func TestTripleQFrames(t *testing.T) {
	for k, want := range map[int]int{1: 1, 2: 1, 32: 8, 100: 15, 243: 27, 1000: 63, 100000: 1000} {
		c := newSheet(1).config(t, k)
		c.Prior = nil
		if l := newLearner(t, "triple-q", c).(*tripleQ); l.frame != want {
			t.Errorf("K = %d: frames of %d episodes, want %d", k, l.frame, want)
		}
	}
}

// TestTripleQRests has the values of drawn episodes, in which the process rests at any steps, by their definition: that
// of the choice that is taken, else 1 − what the rest returns, scaled, and the value of the next step.
func TestTripleQRests(t *testing.T) {
	ex := newExample(t, 2, modelSpec{states: 3, actions: 3, horizon: 5, dim: 2})
	l, rng := newLearner(t, "triple-q", ex.config(50)).(*tripleQ), rand.New(rand.NewPCG(2, 6))
	for i := range l.state.Q {
		l.state.Q[i] = rng.Float64()
	}
	for range 40 {
		tr := cmdp.NewTrajectory(l.shape)
		tr.Steps = 1 + rng.IntN(5)
		for h := range tr.Steps {
			tr.States[h], tr.Actions[h] = rng.IntN(3), -1
			if rng.IntN(2) == 0 {
				tr.Actions[h] = rng.IntN(l.shape.Actions(h, tr.States[h]))
			}
		}
		for j := range l.signals {
			want := 0.0
			for h := l.horizon - 1; h >= 0; h-- {
				want += 1 - l.rest(h, j)
				if h < tr.Steps && tr.Actions[h] >= 0 {
					want = l.state.Q[l.signals*(l.base[h]+int(l.offsets(h)[tr.States[h]])+tr.Actions[h])+j]
				}
				if got := l.value(tr, h, j); !closeTo(got, want) {
					t.Fatalf("signal %d at step %d of %v: value %g, want %g", j, h, tr.Actions[:tr.Steps], got, want)
				}
			}
		}
	}
}
