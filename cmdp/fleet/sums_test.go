package fleet_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp/fleet"

	"gonum.org/v1/gonum/stat/distuv"
)

// enumerate returns the distribution of a sum by going through all outcomes of all variables, one after the other.
func enumerate(summands []fleet.Summand) map[float64]float64 {
	out := map[float64]float64{0: 1}
	for _, s := range summands {
		for range s.Count {
			next := make(map[float64]float64)
			for x, p := range out {
				for i, y := range s.Values {
					next[math.Round(1e6*(x+y))/1e6] += p * s.Probabilities[i]
				}
			}
			out = next
		}
	}
	return out
}

func randomSummands(rng *rand.Rand) []fleet.Summand {
	units := []float64{1, 0.1, 0.25, 2.5, 1e-3}
	unit := units[rng.IntN(len(units))]
	summands := make([]fleet.Summand, 1+rng.IntN(4))
	for k := range summands {
		s := fleet.Summand{Count: rng.IntN(5)}
		left := 1.0
		for n := range 1 + rng.IntN(4) {
			s.Values = append(s.Values, math.Round(1e6*unit*float64(rng.IntN(9)-3))/1e6)
			p := left * rng.Float64()
			if n == 0 && rng.IntN(4) == 0 {
				p = 0
			}
			s.Probabilities = append(s.Probabilities, p)
			left -= p
		}
		s.Probabilities[len(s.Probabilities)-1] += left
		summands[k] = s
	}
	return summands
}

// TestSumsByEnumeration compares everything that a sum tells with all outcomes of all variables.
func TestSumsByEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		summands := randomSummands(rng)
		sum, err := fleet.NewSum(summands)
		if err != nil {
			t.Fatal(err)
		}
		want := enumerate(summands)
		mean, square := 0.0, 0.0
		for x, p := range want {
			mean += p * x
			square += p * x * x
		}
		near(t, "mean", meanOf(sum), mean, 1e-9)
		near(t, "variance", sum.SD()*sum.SD(), square-mean*mean, 1e-7)
		values, probabilities := sum.Distribution()
		if !slices.IsSorted(values) {
			t.Fatalf("values are not in order: %v", values)
		}
		for i, x := range values {
			near(t, "probability", probabilities[i], want[math.Round(1e6*x)/1e6], 1e-13)
		}
		x := values[rng.IntN(len(values))]
		if rng.IntN(3) == 0 {
			x += 1e-7
		}
		above, excess := 0.0, 0.0
		for y, p := range want {
			if y > x {
				above += p
				excess += p * (y - x)
			}
		}
		near(t, "above", sum.Above(x), above, 1e-12)
		near(t, "at most", sum.AtMost(x), 1-above, 1e-12)
		near(t, "excess", sum.Excess(x), excess, 1e-9)
		p := rng.Float64()
		q := sum.Least(p)
		below := sum.AtMost(q - 1e-7)
		if sum.AtMost(q) < p-1e-12 || below >= p+1e-12 {
			t.Fatalf("least value for %g is %g: at most with %g, below with %g", p, q, sum.AtMost(q), below)
		}
	}
}

// TestQuantilesOfTwoValues: the least value that a sum keeps to with a probability is by definition, also where the
// probability is exactly that of the smaller value, for which numbers need no rounding.
func TestQuantilesOfTwoValues(t *testing.T) {
	for k := range 63 {
		p := float64(k+1) / 64
		sum, err := fleet.NewSum([]fleet.Summand{{Count: 1, Values: []float64{2.5, -1},
			Probabilities: []float64{1 - p, p}}})
		if err != nil {
			t.Fatal(err)
		}
		for j := range 65 {
			want := 2.5
			if j <= k+1 {
				want = -1
			}
			if got := sum.Least(float64(j) / 64); got != want {
				t.Errorf("-1 with %d/64, else 2.5: quantile of %d/64 is %g, want %g", k+1, j, got, want)
			}
		}
	}
}

// meanOf returns the mean of the values of a sum.
func meanOf(s *fleet.Sum) float64 {
	mean := 0.0
	values, probabilities := s.Distribution()
	for i, x := range values {
		mean += x * probabilities[i]
	}
	return mean
}

// TestSumsOfMany compares sums of many variables, of which only a window is computed, with binomial tails.
func TestSumsOfMany(t *testing.T) {
	for _, n := range []int{1000, 100_000, 10_000_000} {
		for _, p := range []float64{0.5, 0.01, 3e-7} {
			half := n / 2
			sum, err := fleet.NewSum([]fleet.Summand{
				{Count: half, Values: []float64{0.5, 3}, Probabilities: []float64{1 - p, p}},
				{Count: n - half, Values: []float64{2.5, 0}, Probabilities: []float64{p, 1 - p}},
			})
			if err != nil {
				t.Fatal(err)
			}
			tail := binomialTail(n, p)
			sd := math.Sqrt(float64(n) * p * (1 - p))
			for _, z := range []float64{-6, -2, 0, 0.5, 3, 8} {
				k := math.Round(float64(n)*p + z*sd)
				near(t, "tail", sum.Above(0.5*float64(half)+2.5*k), tail(k), 1e-9)
			}
			near(t, "beyond all", sum.Above(1e12), 0, 0)
			near(t, "below all", sum.AtMost(-1), 0, 0)
		}
	}
}

// binomialTail returns P(X > k) of a binomial variable, by the ratios of neighbouring probabilities, of 20
// standard deviations about the mean and at least 200 values.
func binomialTail(n int, p float64) func(k float64) float64 {
	mean := float64(n) * p
	reach := 200 + 20*math.Sqrt(mean*(1-p))
	low := int(max(0, math.Floor(mean-reach)))
	high := int(min(float64(n), math.Ceil(mean+reach)))
	logs := []float64{0}
	most := 0.0
	for k := low; k < high; k++ {
		l := logs[len(logs)-1] + math.Log(float64(n-k)/float64(k+1)*p/(1-p))
		logs = append(logs, l)
		most = max(most, l)
	}
	all := 0.0
	for _, l := range logs {
		all += math.Exp(l - most)
	}
	return func(k float64) float64 {
		sum := 0.0
		for i, l := range logs {
			if float64(low+i) > k {
				sum += math.Exp(l - most)
			}
		}
		return sum / all
	}
}

// TestSumsRefused: what is no distribution, and values that cannot be counted.
func TestSumsRefused(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, s := range []fleet.Summand{
		{Count: -1, Values: []float64{1}, Probabilities: []float64{1}},
		{Count: 1},
		{Count: 1, Values: []float64{1, 2}, Probabilities: []float64{1}},
		{Count: 1, Values: []float64{1, 2}, Probabilities: []float64{0.5, 0.4}},
		{Count: 1, Values: []float64{1, nan}, Probabilities: []float64{0.5, 0.5}},
		{Count: 1, Values: []float64{1, inf}, Probabilities: []float64{0.5, 0.5}},
		{Count: 1, Values: []float64{1, 2}, Probabilities: []float64{1.5, -0.5}},
	} {
		_, err := fleet.NewSum([]fleet.Summand{s})
		if err == nil || errors.Is(err, fleet.ErrNoLattice) {
			t.Errorf("%v: error %v", s, err)
		}
	}
	_, err := fleet.NewSum([]fleet.Summand{{Count: 3, Values: []float64{0, math.Pi, math.Sqrt2},
		Probabilities: []float64{0.5, 0.25, 0.25}}})
	if !errors.Is(err, fleet.ErrNoLattice) {
		t.Errorf("irrational values: error %v", err)
	}
	empty, err := fleet.NewSum(nil)
	if err != nil || empty.AtMost(0) != 1 || empty.Above(-1) != 1 || empty.Least(0.5) != 0 {
		t.Errorf("the sum of nothing is not 0: %v, %v", empty, err)
	}
	third, err := fleet.NewSum([]fleet.Summand{{Count: 2, Values: []float64{0, 1. / 3},
		Probabilities: []float64{0.5, 0.5}}})
	if err != nil || third.Above(0.5) != 0.25 {
		t.Errorf("thirds: %v, %v", third, err)
	}
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Fatalf("%s is %.15g, want %.15g", what, got, want)
	}
}

// TestBinomial compares what is drawn with the probabilities, by a χ² test of the counts.
func TestBinomial(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		n int
		p float64
	}{{1, 0.3}, {5, 0.5}, {40, 0.02}, {100, 0.97}, {300, 0.2}, {300, 0.5}, {5000, 0.1}, {1_000_000, 1e-5},
		{1_000_000, 0.4}} {
		const draws = 20_000
		mean := float64(c.n) * c.p
		sd := math.Sqrt(mean * (1 - c.p))
		count := make(map[int]float64)
		for range draws {
			k := fleet.Binomial(rng, c.n, c.p)
			if k < 0 || k > c.n {
				t.Fatalf("%d of %d", k, c.n)
			}
			count[bin(k, mean, sd)]++
		}
		tail := binomialTail(c.n, c.p)
		want := make(map[int]float64)
		from, to := max(0, int(mean-10*sd-10)), min(c.n, int(mean+10*sd+10))
		first := from // of a bin
		for k := from; k <= to; k++ {
			if b := bin(k, mean, sd); k == to || b != bin(k+1, mean, sd) {
				want[b] = tail(float64(first-1)) - tail(float64(k))
				first = k + 1
			}
		}
		chi, bins := 0.0, 0
		for b, p := range want {
			if p*draws > 5 {
				chi += (count[b] - p*draws) * (count[b] - p*draws) / (p * draws)
				bins++
			}
		}
		if limit := (distuv.ChiSquared{K: float64(max(1, bins-1))}).Quantile(0.9999); chi > limit {
			t.Errorf("n = %d, p = %g: χ² is %g over %d bins, above %g", c.n, c.p, chi, bins, limit)
		}
	}
}

// bin puts values into bins a fifth of a standard deviation wide.
func bin(k int, mean, sd float64) int { return int(math.Floor((float64(k) - mean) / max(1, sd/5))) }
