package query

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp/internal/sample"
)

// TestDescribe describes small distributions by hand. The twentieth with the least values ends within a value that is
// more likely.
func TestDescribe(t *testing.T) {
	d := describe([]float64{0, 1, 10}, []float64{0.02, 0.95, 0.03}, 0)
	mean := 0.95 + 0.3
	variance := 0.02*mean*mean + 0.95*(1-mean)*(1-mean) + 0.03*(10-mean)*(10-mean)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"mean", d.Mean, mean}, {"sd", d.SD, math.Sqrt(variance)},
		{"5%", d.Quantiles[0], 1}, {"median", d.Quantiles[2], 1}, {"95%", d.Quantiles[4], 1},
		{"lowest", d.Lowest, (0.02*0 + 0.03*1) / 0.05}, {"highest", d.Highest, (0.03*10 + 0.02*1) / 0.05},
	} {
		if math.Abs(c.got-c.want) > 1e-12 {
			t.Errorf("%s %g, want %g", c.name, c.got, c.want)
		}
	}
	if d.Episodes != 0 || d.CI95 != nil || len(d.Histogram) != 3 || d.Histogram[2] != (Bin{10, 10, 0.03, 0}) {
		t.Errorf("%+v", d)
	}
}

// TestIntervals draws samples of an exponential distribution, whose moments, quantiles and tails are known, and
// counts how often the intervals of 95% hold them.
func TestIntervals(t *testing.T) {
	const trials, n = 400, 400
	rng := rand.New(rand.NewPCG(13, 4))
	q05, q95 := -math.Log(0.95), -math.Log(0.05)
	truth := newSpread(1, 1, func(p float64) float64 { return -math.Log(1 - p) }, (1-math.Exp(-q05)*(1+q05))/0.05,
		q95+1)
	numbers := func(s Spread) []float64 {
		return append([]float64{s.Mean, s.SD, s.Lowest, s.Highest}, s.Quantiles[:]...)
	}
	held := make([]int, len(numbers(truth)))
	for range trials {
		x, p := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], p[i] = rng.ExpFloat64(), 1.0/n
		}
		slices.Sort(x)
		d := describe(x, p, n)
		for i, want := range numbers(truth) {
			if math.Abs(numbers(d.Spread)[i]-want) <= numbers(*d.CI95)[i] {
				held[i]++
			}
		}
	}
	// tails of few episodes are skewed; intervals of order statistics are taken on the wider side
	for i, k := range held {
		most := 0.985
		if i >= 4 {
			most = 0.998
		}
		if share := float64(k) / trials; share < 0.88 || share > most {
			t.Errorf("number %d: intervals hold in %.3f of the samples", i, share)
		}
	}
}

// TestIntervalsAgainstJackknife: half-widths of means, deviations and tails are those of the jackknife, which leaves
// out one episode after the other.
func TestIntervalsAgainstJackknife(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 6))
	numbers := func(s Spread) []float64 { return []float64{s.Mean, s.SD, s.Lowest, s.Highest} }
	for trial := range 4 {
		const n = 1000
		x := make([]float64, n)
		for i := range x {
			x[i] = []float64{rng.Float64(), rng.NormFloat64(), rng.ExpFloat64(), -rng.ExpFloat64()}[trial]
		}
		slices.Sort(x)
		share := func(n int) []float64 { return slices.Repeat([]float64{1 / float64(n)}, n) }
		var sum, squares [4]float64
		for i := range x {
			d := describe(slices.Delete(slices.Clone(x), i, i+1), share(n-1), 0)
			for k, v := range numbers(d.Spread) {
				sum[k] += v
				squares[k] += v * v
			}
		}
		for k, half := range numbers(*describe(x, share(n), n).CI95) {
			want := 1.96 * math.Sqrt((squares[k]-sum[k]*sum[k]/n)*(n-1)/n)
			if math.Abs(half-want) > 0.1*want {
				t.Errorf("sample %d: number %d is known up to %g: want %g", trial, k, half, want)
			}
		}
	}
}

// TestMirroredSamples: quantiles are counted in whole numbers, equal values may stand for themselves or together, and
// a sample in a mirror has the same spread, intervals and bins in the other order.
func TestMirroredSamples(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 7))
	near := func(x, y float64) bool { return math.Abs(x-y) < 1e-9 }
	for trial := range 200 {
		n := 1 + rng.IntN(300)
		x, mirrored := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i] = float64(rng.IntN(1 + trial))
		}
		slices.Sort(x)
		var values, probabilities []float64
		for i, v := range x {
			mirrored[n-1-i] = -v
			if i == 0 || v != x[i-1] {
				values, probabilities = append(values, v), append(probabilities, 0)
			}
			probabilities[len(probabilities)-1] += 1 / float64(n)
		}
		share := slices.Repeat([]float64{1 / float64(n)}, n)
		d, grouped, other := describe(x, share, n), describe(values, probabilities, 0), describe(mirrored, share, n)
		for i, twentieths := range []int{1, 5, 10, 15, 19} {
			if want := x[(twentieths*n+19)/20-1]; d.Quantiles[i] != want || grouped.Quantiles[i] != want {
				t.Errorf("trial %d: quantile %g of %v: %g, of groups %g: want %g", trial, levels[i], x, d.Quantiles[i],
					grouped.Quantiles[i], want)
			}
			between := twentieths*n%20 != 0 // else two values are quantiles
			if between && !(near(d.CI95.Quantiles[i], other.CI95.Quantiles[4-i]) &&
				near(d.Quantiles[i], -other.Quantiles[4-i])) {
				t.Errorf("trial %d: quantile %g is %g ± %g, in a mirror %g ± %g", trial, levels[i], d.Quantiles[i],
					d.CI95.Quantiles[i], other.Quantiles[4-i], other.CI95.Quantiles[4-i])
			}
		}
		if !near(d.Lowest, -other.Highest) || !near(d.Mean, grouped.Mean) || !near(d.SD, grouped.SD) ||
			!near(d.Highest, grouped.Highest) || !near(d.CI95.SD, other.CI95.SD) ||
			len(d.Histogram) != len(other.Histogram) {
			t.Errorf("trial %d: %+v: in groups %+v, in a mirror %+v", trial, d, grouped, other)
		}
		for i, b := range d.Histogram {
			c := other.Histogram[len(d.Histogram)-1-i]
			if b.From == b.To && (c.From != -b.To || !near(c.Probability, b.Probability)) {
				t.Errorf("trial %d: bin %+v, in a mirror %+v", trial, b, c)
			}
		}
	}
}

// TestBinIntervals: at an end of the interval of a share the shares that were found are z standard errors away
// (Wilson 1927), at the end that is farther off.
func TestBinIntervals(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 5))
	for range 200 {
		n := float64(2 + rng.IntN(1000))
		p := math.Round(rng.Float64()*n) / n
		half := wilson(p, n)
		ends := 0
		for _, end := range []float64{p - half, p + half} {
			distance := math.Abs(end-p) * math.Sqrt(n)
			if math.Abs(distance*distance-sample.Z95*sample.Z95*end*(1-end)) < 1e-9*n {
				ends++
			}
		}
		if ends == 0 || half < 0 {
			t.Errorf("%g of %g: neither %g nor %g is z standard errors away", p, n, p-half, p+half)
		}
	}
}

// TestHistogram keeps all that there is, in bins in order.
func TestHistogram(t *testing.T) {
	for name, x := range map[string][]float64{
		"few": {1, 1, 2, 5},
		"tail": slices.Concat(slices.Repeat([]float64{3}, 5000),
			[]float64{3.5, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 400}),
		"spike": slices.Concat(slices.Repeat([]float64{3}, 50_000),
			[]float64{3.5, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 400}),
		"many":  {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23},
		"point": {2},
	} {
		p := slices.Repeat([]float64{1 / float64(len(x))}, len(x))
		h := describe(x, p, 0).Histogram
		sum := 0.0
		for i, b := range h {
			want := 0
			for _, v := range x {
				if v >= b.From && (v < b.To || v == b.To && (b.From == b.To || i == len(h)-1)) {
					want++
				}
			}
			if sum += b.Probability; math.Abs(b.Probability-float64(want)/float64(len(x))) > 1e-9 {
				t.Errorf("%s: bin %+v, want %d of %d", name, b, want, len(x))
			}
		}
		if math.Abs(sum-1) > 1e-9 || len(h) > bins || h[0].From > x[0] || h[len(h)-1].To < x[len(x)-1] {
			t.Errorf("%s: %+v", name, h)
		}
	}
}
