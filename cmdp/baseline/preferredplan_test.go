package baseline

import (
	"fmt"
	"math"
	"testing"

	"cmdpsolve/cmdp"
)

// optimisticLow is the optimistic value of a direction on the sheet with so many of its
// returns: per step h from the last,
//
//	Q = clip(θ·r + Σ p̂ V − c·R/√n, θ·r + L, θ·r + U),   R = U − L,
//
// where L and U bound the values to come by the least and greatest θ·r of each later step
// (erratum E-18). A choice never visited has its lower bound. extra visits of every successor
// are counted beforehand.
func (s *sheet) optimisticLow(dir []float64, c, extra float64) float64 {
	var v [2]float64
	low, up := 0.0, 0.0
	for h := 1; h >= 0; h-- {
		least, most := math.Inf(1), math.Inf(-1)
		now := [2]float64{math.Inf(1), math.Inf(1)}
		for i := range 4 {
			state, a := i/2, i%2
			r := 0.0
			for j, x := range dir {
				r += x * s.returns(h, state, a)[j]
			}
			least, most = min(least, r), max(most, r)
			n := s.visits(h, state, a) + 2*extra
			q := r + low
			if n > 0 {
				mean := ((s.counts[h][state][a][0]+extra)*v[0] + (s.counts[h][state][a][1]+extra)*v[1]) / n
				q = min(max(r+mean-c*(up-low)/math.Sqrt(n), r+low), r+up)
			}
			now[state] = min(now[state], q)
		}
		v, low, up = now, low+least, up+most
	}
	return sheetStart[0]*v[0] + sheetStart[1]*v[1]
}

// TestMOUCBVIBonus wants mo-ucbvi to plan with the bonus √(min{d,S}·R²·ι/n), ι = ln(SAHK/p), of
// Wu, Braverman and Yang (2021): min{3, 2} = 2 here, SAH = 8, K = 50, p = 0.1; and with the
// published scale 0.1·√(min{d,S}·R²/n), every successor counted once beforehand. Preferences are
// drawn, and their signs turned too, as those of duals are.
func TestMOUCBVIBonus(t *testing.T) {
	theory := math.Sqrt(2 * math.Log(8*50/0.1))
	for _, tt := range []struct {
		scale    cmdp.BonusScale
		times    float64
		c, extra float64
	}{
		{cmdp.BonusScale{}, 100, theory, 0},
		{cmdp.BonusScale{Mode: cmdp.Practice, Factor: 1}, 10, 0.35 * theory, 0},
		{cmdp.BonusScale{Mode: cmdp.Published, Factor: 1}, 1, 0.1 * math.Sqrt(2), 1},
	} {
		s := newSheet(tt.times)
		s.forget()
		c := s.config(t, 50)
		c.Bonus, c.Preferences = tt.scale, "random"
		l := newLearner(t, "mo-ucbvi", c).(*MOMA)
		free := 0
		for k := range 8 {
			dir := l.Direction()
			if k >= 4 { // as duals may be
				dir[k%3] = -dir[k%3]
			}
			p, ok := l.Policy().(*cmdp.Plan)
			if !ok {
				t.Fatal(p)
			}
			want := s.optimisticLow(dir, tt.c, tt.extra)
			if math.Abs(p.Low-want) > 1e-9 {
				t.Errorf("%s, episode %d: value %v in direction %v, want %v", fmt.Sprint(tt.scale), k+1, p.Low, dir,
					want)
			}
			if math.Abs(want-s.optimisticLow(dir, 0.9*tt.c, tt.extra)) > 1e-6 {
				free++
			}
			s.show(l, c.Shape, [3]int{0, 1, 0}, [2]int{1, k % 2})
		}
		if free < 5 {
			t.Errorf("%v: %d values depend on the bonus", tt.scale, free)
		}
	}
}

// TestMOUCBVIOneReturn wants min{d, S} to be d where that is the smaller: with one return the
// bonus is R√(ι/n).
func TestMOUCBVIOneReturn(t *testing.T) {
	s := newSheet(100)
	m := s.model(t)
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 2, Dim: 1, Start: m.StartStates()}, 2)
	for i := range 8 {
		h, state, a := i/4, i/2%2, i%2
		addRow(t, b, cmdp.Row{Step: h + 1, State: state, Action: a, Returns: s.returns(h, state, a)[:1],
			Next: []cmdp.Transition{{Next: 0, Probability: 1}}})
	}
	one := built(t, b)
	c := Config{Settings: cmdp.Settings{Confidence: cmdp.Confidence{Episodes: 50, Failure: 0.1}}, Shape: one.Shape(),
		Returns: one.KnownReturns(), Prior: s.prior(t, one.Shape()),
		Task: cmdp.Task{Cost: linearCost(t, []float64{-1}, boxOf(t, one))}}
	p := newLearner(t, "mo-ucbvi", c).Policy().(*cmdp.Plan)
	if want := s.optimisticLow([]float64{-1}, math.Sqrt(math.Log(8*50/0.1)), 0); math.Abs(p.Low-want) > 1e-9 {
		t.Errorf("value %v, want %v", p.Low, want)
	}
}
