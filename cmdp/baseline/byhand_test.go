package baseline

import (
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
)

// The problem by hand: four steps, three states, two actions, successors that were seen
// as handSeen says, differently at every step. It has three returns,
//
//	x₀ in [0, 2],   x₁ in [−1, 1], at the third step in [0, 1],   x₂ in [0, 4],
//
// and asks for the most x₀ with x₁ ≤ 0.6 and x₂ ≥ 10.4, a row with a negative direction.
// Scaled to costs of [0, 1] by hand,
//
//	signal 0 = (2 − x₀)/2,   signal 1 = (x₁ + 1)/2, at the third step x₁/2,   signal 2 = (4 − x₂)/4,
//
// with the limits (0.6 + 3)/2 = 1.8 and (16 − 10.4)/4 = 1.4.
const (
	handH, handS, handA = 4, 3, 2
	handSlots           = 24 // S·A·H
	handK, handP        = 500., 0.1
)

var handLimit = []float64{1.8, 1.4}

// handSeen has how often each state followed an action in a state at a step.
var handSeen = [handH][handS][handA][handS]float64{
	{{{30, 10, 0}, {5, 5, 5}}, {{0, 0, 0}, {0, 7, 1}}, {{1, 0, 0}, {0, 0, 40}}},
	{{{2, 3, 4}, {0, 90, 10}}, {{12, 0, 4}, {1, 1, 0}}, {{0, 0, 0}, {20, 20, 60}}},
	{{{0, 1, 0}, {8, 8, 0}}, {{300, 50, 50}, {0, 0, 0}}, {{3, 0, 9}, {0, 6, 2}}},
	{{{4, 0, 0}, {1, 2, 3}}, {{0, 0, 9}, {25, 0, 75}}, {{0, 0, 0}, {60, 30, 10}}},
}

// handReturns returns the returns of a choice, which all differ.
func handReturns(h, s, a int) []float64 {
	x := float64((7*h+5*s+11*a+3)%24) / 24 // of [0, 1), each once
	y := float64((5*h+13*s+3*a+1)%24) / 24
	r := []float64{2 * x, 2*y - 1, 4 * math.Abs(x-y)}
	if h == 2 {
		r[1] = y
	}
	return r
}

// handSignals returns the scaled returns of a choice.
func handSignals(h, s, a int) []float64 {
	r := handReturns(h, s, a)
	x := []float64{(2 - r[0]) / 2, (r[1] + 1) / 2, (4 - r[2]) / 4}
	if h == 2 {
		x[1] = r[1] / 2
	}
	return x
}

// handVisits returns the visits of a choice.
func handVisits(h, s, a int) float64 {
	n := handSeen[h][s][a]
	return n[0] + n[1] + n[2]
}

// handFrequencies returns the frequencies of the successors of a choice, or rather of an unvisited one.
func handFrequencies(h, s, a int, unvisited float64) [handS]float64 {
	n, p := handVisits(h, s, a), [handS]float64{unvisited, unvisited, unvisited}
	if n > 0 {
		for i, m := range handSeen[h][s][a] {
			p[i] = m / n
		}
	}
	return p
}

// eachHand calls f for every choice of every step.
func eachHand(f func(h, s, a int)) {
	for h := range handH {
		for s := range handS {
			for a := range handA {
				f(h, s, a)
			}
		}
	}
}

// onlyAction is a policy that knows one action.
type onlyAction int

func (p onlyAction) Choose(*rand.Rand, int, int) int { return int(p) }
func (p onlyAction) Distribution(dst []float64, _, _ int) {
	clear(dst)
	dst[p] = 1
}

// handConfig returns a Config for the problem by hand. The safe policy always takes the second
// action, and is said to return (1, −0.4, 12): scaled (−0.4 + 3)/2 = 1.3 and (16 − 12)/4 = 1 with
// the room γ = min(1.8 − 1.3, 1.4 − 1) = 0.4. The Slater constant 0.8 is min(0.8/2, 0.8/4) = 0.2.
func handConfig(t testing.TB, edit ...func(*Config)) Config {
	t.Helper()
	first, tables := []int32{0, 2, 4, 6}, make([][]float64, handH)
	spec := cmdp.ShapeSpec{Horizon: handH, Dim: 3,
		Start: []cmdp.StartState{{State: 0, Probability: 0.75}, {State: 1, Probability: 0.25}}}
	for h := range handH {
		least, most := []float64{0, -1, 0}, []float64{2, 1, 4}
		if h == 2 {
			least[1] = 0
		}
		spec.First = append(spec.First, first)
		spec.Returns = append(spec.Returns, cmdp.Interval{Lower: least, Upper: most})
	}
	eachHand(func(h, s, a int) { tables[h] = append(tables[h], handReturns(h, s, a)...) })
	sh, err := cmdp.NewShape(spec)
	if err != nil {
		t.Fatal(err)
	}
	returns, err := cmdp.NewReturns(sh, tables)
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Settings: cmdp.Settings{Confidence: cmdp.Confidence{Episodes: handK, Failure: handP}}, Shape: sh,
		Returns: returns, Task: cmdp.Task{Cost: linearCost(t, []float64{-1, 0, 0}, boxOfShape(t, sh))},
		Linear: &Linear{Goal: []float64{-1, 0, 0},
			Rows: []cmdp.Constraint{{Normal: []float64{0, 1, 0}, Offset: 0.6},
				{Normal: []float64{0, 0, -1}, Offset: -10.4}}},
		Knowledge: Knowledge{Slater: 0.8, Safe: onlyAction(1), SafeReturns: []float64{1, -0.4, 12}}}
	for _, f := range edit {
		f(&c)
	}
	return c
}

// withSeen tells a Config the transitions of handSeen before the run.
func withSeen(t testing.TB) func(*Config) {
	return func(c *Config) {
		prior := newCounts(t, c.Shape, false)
		eachHand(func(h, s, a int) {
			for next, n := range handSeen[h][s][a] {
				if err := prior.Add(h, s, a, next, uint32(n)); err != nil {
					t.Fatal(err)
				}
			}
		})
		c.Prior = prior
	}
}

func scaled(s cmdp.BonusScale) func(*Config) { return func(c *Config) { c.Bonus = s } }
func learned(c *Config)                      { c.Returns = nil }

// step is one transition of an episode; the process rests at all other steps.
type step struct{ h, s, a, next int }

// show lets a learner observe an episode that consists of single transitions, with the returns
// of the problem by hand.
func show(l cmdp.Learner, sh *cmdp.Shape, steps ...step) {
	tr := cmdp.NewTrajectory(sh)
	tr.Steps = sh.Horizon()
	for h := range tr.Actions {
		tr.Actions[h] = -1
	}
	for _, x := range steps {
		tr.States[x.h], tr.Actions[x.h], tr.States[x.h+1] = x.s, x.a, x.next
		copy(tr.Return(x.h), handReturns(x.h, x.s, x.a))
	}
	l.Observe(tr)
}

// showSeen lets a learner observe all that handSeen has.
func showSeen(l cmdp.Learner, sh *cmdp.Shape) {
	eachHand(func(h, s, a int) {
		for next, n := range handSeen[h][s][a] {
			for range int(n) {
				show(l, sh, step{h, s, a, next})
			}
		}
	})
}

// A handTable has a number for each signal of each choice.
type handTable [handH][handS][handA][3]float64

// handPolicy has the probabilities of the actions.
type handPolicy [handH][handS][handA]float64

// handEvaluate is the naive evaluation of a policy: Q = cut(signal + Σ P·V), V = Σ π·Q. It returns
// Q, and the values at the start, 0.75 in state 0 and 0.25 in state 1.
func handEvaluate(pi handPolicy, kernel func(h, s, a int) [handS]float64, signal handTable,
	cut func(h int, q float64) float64) (q handTable, start [3]float64) {
	var v [handH + 1][handS][3]float64
	for h := handH - 1; h >= 0; h-- {
		for s := range handS {
			for a := range handA {
				p := kernel(h, s, a)
				for j := range 3 {
					x := signal[h][s][a][j]
					for next, y := range p {
						x += y * v[h+1][next][j]
					}
					q[h][s][a][j] = cut(h, x)
					v[h][s][j] += pi[h][s][a] * q[h][s][a][j]
				}
			}
		}
	}
	for j := range start {
		start[j] = 0.75*v[0][0][j] + 0.25*v[0][1][j]
	}
	return q, start
}

// uniformHand is the uniform policy.
func uniformHand() (pi handPolicy) {
	eachHand(func(h, s, a int) { pi[h][s][a] = 0.5 })
	return pi
}

// multiply multiplies the probabilities of pi by e^gain and normalises them.
func (pi *handPolicy) multiply(gain func(h, s, a int) float64) {
	for h := range handH {
		for s := range handS {
			row, sum := &pi[h][s], 0.0
			for a := range row {
				row[a] *= math.Exp(gain(h, s, a))
				sum += row[a]
			}
			for a := range row {
				row[a] /= sum
			}
		}
	}
}

// check wants a policy to have the probabilities of pi.
func (pi *handPolicy) check(t *testing.T, where string, p cmdp.Policy) {
	t.Helper()
	for h := range handH {
		for s := range handS {
			got := make([]float64, handA)
			p.Distribution(got, h, s)
			if math.Abs(got[0]-pi[h][s][0]) > 1e-9 {
				t.Fatalf("%s: step %d state %d: first action with probability %.12g: want %.12g", where, h, s, got[0],
					pi[h][s][0])
			}
		}
	}
}

// close reports whether two numbers agree up to rounding.
func closeTo(x, y float64) bool { return math.Abs(x-y) <= 1e-9*(1+math.Abs(y)) }
