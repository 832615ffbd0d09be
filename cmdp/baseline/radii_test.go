package baseline

import (
	"errors"
	"math"
	"testing"

	"cmdpsolve/cmdp"
)

// TestRadii wants radii to have the values that were worked out by hand, with L = 3.
func TestRadii(t *testing.T) {
	plain, plainMeans := plainRadii(2)
	for _, tt := range []struct {
		name      string
		got, want float64
	}{
		// ½·(2√(0.2·0.8·3/12) + (14/3)·3/12) = ½·(2·0.2 + 7/6)
		{"Bernstein", bernsteinRadius(0.5, 3)(0.2, 12), 0.2 + 7./12},
		// ½·(0 + 14) for one visit or none
		{"Bernstein, one visit", bernsteinRadius(0.5, 3)(1, 1), 7},
		{"Bernstein, no visit", bernsteinRadius(0.5, 3)(0, 0), 7},
		// 2·(√(0.2·0.8/16) + 1/16) = 2·(0.1 + 0.0625)
		{"plain", plain(0.2, 16), 0.325},
		{"plain, no visit", plain(0, 0), 2},
		{"plain means", plainMeans(16), 0.125},
		{"plain means, no visit", plainMeans(0), 2},
		// 2·√(6/24)
		{"Hoeffding", hoeffdingRadius(2, 3)(24), 1},
		{"Hoeffding, no visit", hoeffdingRadius(2, 3)(0), 2 * math.Sqrt(6)},
	} {
		if !closeTo(tt.got, tt.want) {
			t.Errorf("%s: %.12g: want %.12g", tt.name, tt.got, tt.want)
		}
	}
	radius := func(p, n float64) float64 { return 10*p + 1/n }
	open := &row{visits: 4, next: []int32{3, 1}, prob: []float64{0.75, 0.25}}
	closed := &row{visits: 4, closed: true, next: []int32{3, 1, 0}, prob: []float64{0.75, 0.25, 0}}
	for _, tt := range []struct {
		name      string
		got, want float64
	}{ // 10·(0.75 + 0.25) and ¼ for each of five states, or three
		{"sum over all states", totalRadius(open, 5, radius), 11.25},
		{"sum over the possible", totalRadius(closed, 5, radius), 10.75},
		{"sum over all, some impossible", wholeRadius(closed, 5, radius), 11.25},
	} {
		if !closeTo(tt.got, tt.want) {
			t.Errorf("%s: %.12g: want %.12g", tt.name, tt.got, tt.want)
		}
	}
}

// TestInterval wants the least and the greatest mean over a box to be those found by hand. States have the
// values 0, 1, 2, 3; of ten visits six led to state 3 and four to state 1; the radius is 0.1 for what was
// seen, 0.05 for what was not.
func TestInterval(t *testing.T) {
	radius := func(p, _ float64) float64 {
		if p > 0 {
			return 0.1
		}
		return 0.05
	}
	open := row{visits: 10, next: []int32{3, 1}, prob: []float64{0.6, 0.4}}
	closed := row{visits: 10, closed: true, next: []int32{3, 1, 2}, prob: []float64{0.6, 0.4, 0}}
	for _, tt := range []struct {
		name        string
		r           row
		least, most float64
	}{
		// Down: 0.05 to state 0, then 0.4 + 0.1 to state 1 leave 0.45 < 0.5, so 0.45 to state 1. Up: 0.7 to
		// state 3, 0.3 to 1.
		{"open", open, 0.45*1 + 0.5*3, 0.3*1 + 0.7*3},
		{"closed", closed, 0.5*1 + 0.5*3, 0.3*1 + 0.7*3},
		{"not visited", row{}, 0, 3},
		{"not visited, closed", row{closed: true, next: []int32{1, 2}, prob: []float64{0.5, 0.5}}, 1, 2},
	} {
		var iv interval
		iv.set(&tt.r, radius)
		up, down := newFiller(4), newFiller(4)
		up.sort([]float64{0, 1, 2, 3})
		down.sort([]float64{0, -1, -2, -3})
		if least, most := up.least(&tt.r, &iv), -down.least(&tt.r, &iv); !closeTo(least, tt.least) ||
			!closeTo(most, tt.most) {
			t.Errorf("%s: means in [%g, %g]: want [%g, %g]", tt.name, least, most, tt.least, tt.most)
		}
	}
}

// TestRooms wants the room of a safe policy to be that of its tightest constraint, the Slater constant to
// be scaled by the widest signal, both to be at most H, and H without constraints.
func TestRooms(t *testing.T) {
	c := handConfig(t)
	free := c
	free.Linear = &Linear{Goal: []float64{-1, 0, 0}}
	// The limits are 1.8 and 1.4; the rooms by hand.
	for _, tt := range []struct {
		c       Config
		returns []float64
		want    float64
	}{
		{c, []float64{1, -0.4, 12}, 0.4},
		{c, []float64{1, 0.2, 14}, 0.2},  // 1.8 − 1.6; 1.4 − 0.5
		{c, []float64{1, -200, 4000}, 4}, // whatever is claimed
		{free, nil, 4},
	} {
		d := tt.c
		d.Knowledge.SafeReturns = tt.returns
		if _, s, err := newSafeLearner("x", &d); err != nil || !closeTo(s.room, tt.want) {
			t.Errorf("safe policy with the returns %v: %v, %v: want the room %g", tt.returns, s, err, tt.want)
		}
	}
	for _, bad := range [][]float64{{1, 0.6, 12}, {1, -0.4, 10.3}} { // no room; −0.025
		d := c
		d.Knowledge.SafeReturns = bad
		if _, _, err := newSafeLearner("x", &d); !errors.Is(err, ErrUnsupported) {
			t.Errorf("a safe policy with the returns %v: %v", bad, err)
		}
	}
	for _, tt := range []struct {
		c          Config
		told, want float64
	}{{c, 0.8, 0.2}, {c, 2, 0.5}, {c, 1000, 4}, {free, 0, 4}} {
		d := tt.c
		d.Knowledge.Slater = tt.told
		if _, got, err := newSlaterCore("x", &d); err != nil || !closeTo(got, tt.want) {
			t.Errorf("Slater constant %g: %g, %v: want %g", tt.told, got, err, tt.want)
		}
	}
}

// TestArms wants the boxes of four arms with two returns, K = 1000 rounds and p = 0.1, to be the means and
// two radii √(γν/n) + γ/n to each side, n the pulls plus one, γ = f²·ln(4·2·1000/0.1), in returns scaled to
// [0, 1] (Agrawal, Devanur 2014), and the best arm to be the one of the best corner.
func TestArms(t *testing.T) {
	sh, err := cmdp.NewShape(cmdp.ShapeSpec{Horizon: 1, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}},
		First: [][]int32{{0, 4}}, Returns: []cmdp.Interval{{Lower: []float64{-1, 2}, Upper: []float64{3, 12}}}})
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Settings: cmdp.Settings{Bonus: cmdp.TheoryTimes(0.2),
		Confidence: cmdp.Confidence{Episodes: 1000, Failure: 0.1}}, Shape: sh}
	a, err := newArms("x", &c)
	if err != nil {
		t.Fatal(err)
	}
	gamma := 0.04 * math.Log(8*1000/0.1)
	tr := cmdp.NewTrajectory(sh)
	pull := func(arm, times int, x, y float64) {
		for range times {
			tr.Steps, tr.Actions[0] = 1, arm
			copy(tr.Return(0), []float64{x, y})
			a.observe(tr)
		}
	}
	pull(0, 24, 0, 3) // ν = 1/4, 1/10
	pull(1, 8, 0, 12)
	pull(1, 8, 2, 12)                       // ν = 1/2, 1
	pull(2, 99, -1, 7)                      // ν = 0, 1/2
	for arm, want := range [][2][2]float64{ // mean and n, in scaled returns
		{{0.25, 25}, {0.1, 25}}, {{0.5, 17}, {1, 17}}, {{0, 100}, {0.5, 100}}, {},
	} {
		var low, high [2]float64
		a.box(low[:], high[:], arm)
		for j, x := range want {
			least, width := []float64{-1, 2}[j], []float64{4, 10}[j]
			below, above := 0., 1.
			if n := x[1]; n > 0 {
				r := 2 * (math.Sqrt(gamma*x[0]/n) + gamma/n)
				below, above = max(0, x[0]-r), min(1, x[0]+r)
			}
			if !closeTo(low[j], least+width*below) || !closeTo(high[j], least+width*above) {
				t.Errorf("arm %d, return %d: [%.9g, %.9g]: want [%.9g, %.9g]", arm, j, low[j], high[j],
					least+width*below, least+width*above)
			}
		}
	}
	// The first return less the second: the arm never pulled may have −1 − 12.
	if arm, least := a.best([]float64{1, -1}); arm != 3 || least != -13 {
		t.Errorf("best arm %d with %g: want 3 with −13", arm, least)
	}
	pull(3, 100000, 3, 2)
	// Now the second arm may have 0 − 12 or a little less, and the third −1 − 7 or a little less.
	if arm, least := a.best([]float64{1, -1}); arm != 1 || least > -12 {
		t.Errorf("best arm %d with %g: want 1 with less than −12", arm, least)
	}
	if arm, _ := a.best([]float64{-1, 0}); arm != 3 {
		t.Errorf("best arm %d: want 3, which returns the most", arm)
	}
}
