package monitor_test

import (
	"math"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/monitor"
)

// TestDistributionToTheEnd plays totals until absorption: a step pays 0.5 and is the last with probability 1/4, so that k steps
// have probability 3^(k−1)/4^k. The end is a state that goes round for ever and pays nothing.
func TestDistributionToTheEnd(t *testing.T) {
	for _, c := range []struct {
		pays float64 // at the end
		ok   bool
	}{{0, true}, {0.5, false}} {
		m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: 1, Dim: 1, Start: []cmdp.StartState{{State: 0, Probability: 1}}, Kernels: []cmdp.Kernel{{
			First: []int32{0, 1, 2}, Offset: []int{0, 2, 3}, Next: []int32{0, 1, 1}, Prob: []float64{0.75, 0.25, 1}, Returns: []float64{0.5, c.pays}}}})
		if err != nil {
			t.Fatal(err)
		}
		values, probabilities, ok := monitor.Distribution(t.Context(), m, always{}, 0)
		if ok != c.ok {
			t.Fatalf("the end pays %g: counted %v", c.pays, ok)
		}
		sum := 0.0
		for i, x := range values {
			// The last total also has what goes on.
			if want := math.Pow(3, float64(i)) / math.Pow(4, float64(i+1)); x != 0.5*float64(i+1) || math.Abs(probabilities[i]-want) > 1e-11 {
				t.Errorf("P(%g) = %g, want %g", x, probabilities[i], want)
			}
			sum += probabilities[i]
		}
		if c.ok && math.Abs(sum-1) > 1e-12 {
			t.Errorf("probabilities sum to %g", sum)
		}
	}
}

// always takes the only action.
type always struct{ cmdp.Policy }

func (always) Distribution(dst []float64, _, _ int) { dst[0] = 1 }
