package exact

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// stepGame is a game of one state and one step with the given payoffs of rows and columns.
func stepGame(t *testing.T, payoff [][][]float64) *cmdp.Model {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 1, Dim: len(payoff[0][0]),
		Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 1)
	for i, row := range payoff {
		for j, r := range row {
			if err := b.Add(cmdp.Row{Step: cmdp.EveryStep, Action: i, Opponent: j, Returns: r,
				Next: []cmdp.Transition{{Next: 0, Probability: 1}}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestGapIsLipschitz: returns in [0,1]×[−1,2] and the target [2,3]×[0,½] are at most
// 3 apart in the first coordinate and 2 in the second, and F changes by at most √13
// times the distance of unit vectors. Along the diagonal of both it changes by more than half of that.
func TestGapIsLipschitz(t *testing.T) {
	m := stepGame(t, [][][]float64{{{0, -1}, {1, 2}}, {{0, 2}, {1, -1}}})
	box, err := geometry.NewBox([]float64{2, 0}, []float64{3, 0.5})
	if err != nil {
		t.Fatal(err)
	}
	task := restricted(t, box, nil)
	s, err := newGapSearch(t.Context(), m, task.Target)
	if err != nil {
		t.Fatal(err)
	}
	if want := math.Sqrt(13); math.Abs(s.lipschitz-want) > 1e-12 {
		t.Errorf("constant %v: want %v", s.lipschitz, want)
	}
	if want := math.Sqrt(1 + 9); math.Abs(s.diameter-want) > 1e-12 {
		t.Errorf("diameter %v: want %v", s.diameter, want)
	}
	f := func(dir []float64) float64 {
		low, _, _ := s.game.Solve(t.Context(), dir)
		return low - oracle.Support(task.Target, dir)
	}
	steepest := 0.0
	for i := range 2000 {
		a := 2 * math.Pi * float64(i) / 2000
		for _, step := range []float64{1e-3, 0.1, 1} {
			x, y := []float64{math.Cos(a), math.Sin(a)}, []float64{math.Cos(a + step), math.Sin(a + step)}
			slope := math.Abs(f(x)-f(y)) / math.Hypot(x[0]-y[0], x[1]-y[1])
			if steepest = math.Max(steepest, slope); slope > s.lipschitz+1e-9 {
				t.Fatalf("slope %v at %v: above %v", slope, x, s.lipschitz)
			}
		}
	}
	if steepest < s.lipschitz/2 {
		t.Errorf("no slope above %v: the constant is not put to the test", steepest)
	}
}

// TestCellBounds works out both bounds of the cone of positive directions for a game whose
// only return is (1, 0, 0), with the origin for a target, so that F(θ) = θ_1. The
// centre is (1,1,1)/√3, where F is 1/√3, and unit vectors of the cone are at most
// √(2 − 2/√3) away from it: F there is at most the sum, less than the 1 at the edge e_1
// divided by 1/√3. In the plane it is the other way round: 1/√½ is less than √½ + √(2−√2).
func TestCellBounds(t *testing.T) {
	for dim, want := range map[int]float64{2: math.Sqrt2, 3: 1/math.Sqrt(3) + math.Sqrt(2-2/math.Sqrt(3))} {
		r := make([]float64, dim)
		r[0] = 1
		origin, err := geometry.NewPoint(make([]float64, dim))
		task := restricted(t, origin, err)
		s, err := newGapSearch(t.Context(), stepGame(t, [][][]float64{{r}}), task.Target)
		if err != nil {
			t.Fatal(err)
		}
		c := orthants(dim)[0]
		if s.evaluate(c); math.Abs(c.bound-want) > 1e-12 {
			t.Errorf("dimension %d: bound %v: want %v", dim, c.bound, want)
		}
	}
	// Where F is negative in the whole cone its largest value at an edge bounds it as it is.
	point, err := geometry.NewPoint([]float64{1, 1})
	task := restricted(t, point, err)
	s, err := newGapSearch(t.Context(), stepGame(t, [][][]float64{{{0, 0}}}), task.Target)
	if err != nil {
		t.Fatal(err)
	}
	c := orthants(2)[0]
	if s.evaluate(c); math.Abs(c.bound+1) > 1e-12 {
		t.Errorf("bound %v of −θ_1−θ_2: want -1", c.bound)
	}
}

// TestGapsWithinRounding: a target that is missed by less than rounding is neither out of
// reach nor missed; one that is missed by more is.
func TestGapsWithinRounding(t *testing.T) {
	for _, miss := range []float64{-1e-3, 0, 1e-13, 1e-11, 1e-6, 1e-3} {
		point, err := geometry.NewPoint([]float64{0.5, 0.5 - miss})
		task := restricted(t, point, err)
		g := gapOf(t, stepGame(t, [][][]float64{{{0.5, 0.5}}}), task, GapOptions{Tolerance: 1e-4})
		want := math.Abs(miss)
		if want < 1e-10 {
			want = 0
		}
		if (g.Status == NotApproachable) != (want > 0) || math.Abs(g.Lower-want) > 1e-12 || g.Upper < want-1e-12 ||
			g.Upper > want+1e-4 {
			t.Errorf("missed by %g: %v, [%v, %v]", miss, g.Status, g.Lower, g.Upper)
		}
	}
}

// TestForgedGaps forges each field of gaps that are verified.
func TestForgedGaps(t *testing.T) {
	verdicts := map[GapStatus]int{}
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 34))
		m := randomGame(t, seed, 1+int(seed%3), 3, 3, 1+int(seed%2), 2)
		task := someTarget(t, rng, 2, m.Horizon())
		good := gapOf(t, m, task, GapOptions{Tolerance: 1e-3})
		verdicts[good.Status]++
		try := func(name string, forge func(g *Gap)) {
			t.Helper()
			g := *good
			g.Direction, g.Opponent = append([]float64(nil), good.Direction...), good.Opponent.Clone()
			if err := verify(m, task, &g); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
			forge(&g)
			if err := verify(m, task, &g); !errors.Is(err, ErrNotProved) {
				t.Errorf("seed %d: %s of %+v: %v", seed, name, good, err)
			}
		}
		for _, by := range []float64{-1, -1e-5, 1e-5, 1, math.NaN(), math.Inf(1), math.Inf(-1)} {
			try(fmt.Sprint("value ", by), func(g *Gap) { g.Value += by })
			try(fmt.Sprint("support ", by), func(g *Gap) { g.Support += by })
			try(fmt.Sprint("lower ", by), func(g *Gap) { g.Lower += by; g.Upper = math.Max(g.Upper, g.Lower) })
			try(fmt.Sprint("value and support ", by), func(g *Gap) { g.Value += by; g.Support += by })
			try(fmt.Sprint("direction ", by), func(g *Gap) { g.Direction[0] += by })
		}
		for _, x := range []float64{good.Lower - 1e-9, -1, math.NaN(), math.Inf(-1)} {
			try(fmt.Sprint("upper ", x), func(g *Gap) { g.Upper = x })
		}
		for status := range GapStatus(5) {
			if status < Approachable || status > GapUndecided || (status == NotApproachable) != (good.Lower > 0) {
				try(fmt.Sprint("status ", status), func(g *Gap) { g.Status = status })
			}
		}
		try("no direction", func(g *Gap) { g.Direction = nil })
		try("double direction", func(g *Gap) { floats.Scale(2, g.Direction) })
		try("everything twice", func(g *Gap) {
			floats.Scale(2, g.Direction)
			g.Value, g.Support, g.Lower, g.Upper = 2*g.Value, 2*g.Support, 2*g.Lower, 2*g.Upper
		})
		try("rotated direction", func(g *Gap) { g.Direction[0], g.Direction[1] = g.Direction[1], -g.Direction[0] })
		try("no opponent", func(g *Gap) { g.Opponent = nil })
		if seed%2 == 0 { // with one state and step every opponent but the best proves less
			try("another opponent", func(g *Gap) { g.Opponent = worstOpponent(t, m, good.Direction) })
		}
	}
	if verdicts[Approachable] < 5 || verdicts[NotApproachable] < 5 {
		t.Errorf("verdicts %v", verdicts)
	}
}

// worstOpponent is the policy of the opponent that the agent can exploit most.
func worstOpponent(t *testing.T, m *cmdp.Model, dir []float64) *cmdp.Randomized {
	t.Helper()
	against := append([]float64(nil), dir...)
	floats.Scale(-1, against)
	g, err := cmdp.NewMinimax(m)
	if err != nil {
		t.Fatal(err)
	}
	g.Solve(t.Context(), against)
	return g.Opponent().Clone()
}

// TestBoundOfOnePolicy: the bound that a policy of the agent gives holds whatever the opponent does, in games of one
// step whose returns are random or corners of a box.
func TestBoundOfOnePolicy(t *testing.T) {
	for trial := range 60 {
		rng := rand.New(rand.NewPCG(uint64(trial), 34))
		dim := []int{2, 3, 9}[trial%3]
		payoff := make([][][]float64, 1+rng.IntN(3))
		draw := func() []float64 {
			v := make([]float64, dim)
			for i := range v {
				v[i] = rng.Float64()
				if trial%2 == 0 {
					v[i] = math.Round(v[i])
				}
			}
			return v
		}
		columns := 1 + rng.IntN(4)
		for i := range payoff {
			for range columns {
				payoff[i] = append(payoff[i], draw())
			}
		}
		middle := make([]float64, dim)
		floats.AddConst(0.5, middle)
		ball, err := geometry.NewBall(middle, 0.1)
		task := restricted(t, ball, err)
		s, err := newGapSearch(t.Context(), stepGame(t, payoff), task.Target)
		if err != nil {
			t.Fatal(err)
		}
		s.best.Direction = draw()
		floats.AddConst(-0.5, s.best.Direction)
		s.bound()
		probs := make([]float64, len(payoff))
		s.game.Agent().Distribution(probs, 0, 0)
		for j := range columns {
			v := make([]float64, dim)
			for i, p := range probs {
				floats.AddScaled(v, p, payoff[i][j])
			}
			if far := oracle.Distance(task.Target, v); s.upper < far-1e-9 {
				t.Errorf("trial %d: bound %v, but column %d is %v away", trial, s.upper, j, far)
			}
		}
	}
}
