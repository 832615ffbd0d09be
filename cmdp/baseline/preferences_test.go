package baseline

import (
	"encoding"
	"math"
	"testing"

	"cmdpsolve/cmdp"
)

// TestRandomPreferences wants preferences to lie on the simplex, to depend on the
// seed alone, to be restored, and mo-ucbvi to be nearly optimal for most of them
// once it has learned.
func TestRandomPreferences(t *testing.T) {
	ex := newExample(t, 3, modelSpec{states: 2, actions: 3, horizon: 2, dim: 2})
	c := ex.config(3000)
	c.Bonus = cmdp.BonusScale{Mode: cmdp.Published, Factor: 1}
	c.Preferences, c.Seed = "random", 5
	a, b := newRandomPreferences(2, 5), newRandomPreferences(2, 5)
	other := newRandomPreferences(2, 6)
	l := newLearner(t, "mo-ucbvi", c)
	play(t, ex.model, l, 1, 2000)
	for range 2000 {
		a.Observe(nil, 0)
	}
	truth := newKnown(t, "conrl-convex", ex, 10).(*lpLearner)
	col, weight := truth.sweep.newColumn(), make([]float64, truth.signals)
	regret := 0.0
	for range 200 {
		dir := append([]float64(nil), a.Direction()...)
		if math.Abs(dir[0]+dir[1]+1) > 1e-12 || dir[0] > 0 || dir[1] > 0 {
			t.Fatal(dir)
		}
		_, each := play(t, ex.model, l, 2, 1)
		for j, x := range dir {
			weight[j] = x * truth.width[j]
		}
		copy(truth.sweep.signal, truth.mean)
		truth.sweep.price(col, weight)
		best := col.low() + dir[0]*truth.shift[0] + dir[1]*truth.shift[1]
		if r := dir[0]*each[0][0] + dir[1]*each[0][1] - best; r < -1e-6 {
			t.Fatalf("better than best: %g", r)
		} else {
			regret += r / 200
		}
		a.Observe(nil, 0)
	}
	if regret > 0.02 {
		t.Errorf("mean regret to preferences %g", regret)
	}
	if b.Direction()[0] == other.Direction()[0] {
		t.Error("the seed plays no part")
	}
	data, err := a.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if err := encoding.BinaryUnmarshaler(other).UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if a.Direction()[1] != other.Direction()[1] {
			t.Error("restored preferences differ")
		}
		a.Observe(nil, 0)
		other.Observe(nil, 0)
	}
	c.Preferences = "mine"
	if _, err := New("mo-ucbvi", c); err == nil {
		t.Error("unknown preferences")
	}
}
