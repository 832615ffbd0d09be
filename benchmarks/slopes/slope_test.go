package main

import (
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
)

// recorded returns the episodes that are recorded of a run.
func recorded(episodes int) (list []int) {
	for k := cmdp.NextRecord(0); k < episodes; k = cmdp.NextRecord(k) {
		list = append(list, k)
	}
	return append(list, episodes)
}

// powerLaw returns a curve of runs value(run, k).
func powerLaw(runs, k int, value func(run int, k float64) float64) *curve {
	c := &curve{Episodes: recorded(k)}
	for i := range runs {
		var v []float64
		for _, e := range c.Episodes {
			v = append(v, value(i, float64(e)))
		}
		c.Values = append(c.Values, v)
	}
	return c
}

// A power law comes back exactly, whatever the signs and the scale of the runs.
func TestSlopeOfPowerLaw(t *testing.T) {
	for _, want := range []float64{-1, -0.5, 0, 0.25} {
		c := powerLaw(4, 100000, func(run int, k float64) float64 {
			return float64(1-2*(run%2)) * float64(run+1) * math.Pow(k, want)
		})
		f := c.fit(200)
		for _, got := range []float64{f.Value, f.Low, f.High} {
			if math.Abs(got-want) > 1e-12 {
				t.Errorf("k^%g: slope %v [%v, %v]", want, f.Value, f.Low, f.High)
			}
		}
	}
}

// The fit sees the last two decades and nothing before.
func TestTailIsTwoDecades(t *testing.T) {
	c := powerLaw(2, 200000, func(_ int, k float64) float64 {
		if k < 2000-0.5 {
			return math.Pow(2000, -0.5)
		}
		return math.Pow(k, -0.5)
	})
	tail := c.tail(2)
	if first := tail.Episodes[0]; first != 2000 && (first < 2000 || first > 2300) {
		t.Errorf("first episode of the tail: %d, want the first record from 2000 on", first)
	}
	if n := len(tail.Episodes); n < 40 || n > 42 {
		t.Errorf("%d records in two decades: want about 40", n)
	}
	if f := tail.fit(100); math.Abs(f.Value+0.5) > 1e-12 {
		t.Errorf("slope %v, want -0.5", f.Value)
	}
	if f := c.tail(3).fit(100); f.Value < -0.45 {
		t.Errorf("slope over three decades %v: want it to see the plateau", f.Value)
	}
}

// A curve with a bend has its slope in each decade.
func TestDecadeSlopes(t *testing.T) {
	c := powerLaw(2, 100000, func(_ int, k float64) float64 {
		if k <= 10000 {
			return math.Pow(k/10000, -0.25)
		}
		return math.Pow(k/10000, -1)
	})
	if before, last := c.decadeSlopes(); math.Abs(before+0.25) > 1e-9 || math.Abs(last+1) > 1e-9 {
		t.Errorf("slopes of the decades: %v, %v, want -0.25, -1", before, last)
	}
}

// A crossing of zero in one run does not tear a hole into the root mean square,
// and records without any value are left out and counted.
func TestSlopeWithZeros(t *testing.T) {
	c := powerLaw(3, 10000, func(run int, k float64) float64 {
		if run == 0 && k > 400 {
			return 0
		}
		return 1 / k
	})
	if f := c.tail(1).fit(100); math.Abs(f.Value+1) > 1e-12 || f.Zeros != 0 {
		t.Errorf("one run at 0: slope %v, %d records left out: want -1, 0", f.Value, f.Zeros)
	}
	c = powerLaw(3, 10000, func(_ int, k float64) float64 {
		if k == 10000 {
			return 0
		}
		return 1 / k
	})
	if f := c.fit(100); math.Abs(f.Value+1) > 1e-12 || f.Zeros != 1 {
		t.Errorf("no value at the end: slope %v, %d records left out: want -1, 1", f.Value, f.Zeros)
	}
	c = powerLaw(3, 10000, func(int, float64) float64 { return 0 })
	if f := c.fit(100); !math.IsNaN(f.Value) || !math.IsNaN(f.Low) || !math.IsNaN(f.High) {
		t.Errorf("nothing to fit: slope %v [%v, %v], want NaN", f.Value, f.Low, f.High)
	}
}

// means returns the mean of the first k of Gaussian noise in every run: a quantity
// whose root mean square is exactly k^(-1/2), with the dependence between records
// that averages have.
func means(runs, k int, rng *rand.Rand) *curve {
	c := &curve{Episodes: recorded(k)}
	for range runs {
		var v []float64
		sum, at := 0.0, 0
		for _, e := range c.Episodes {
			sum += math.Sqrt(float64(e-at)) * rng.NormFloat64()
			at = e
			v = append(v, sum/float64(e))
		}
		c.Values = append(c.Values, v)
	}
	return c
}

// The interval covers the true slope nearly as often as it claims, also with the
// few runs that there are, and it is not so wide as to say nothing.
func TestIntervalCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const trials = 300
	covered, width := 0, 0.0
	for range trials {
		f := means(10, 100000, rng).tail(2).fit(300)
		if f.Low > f.Value || f.Value > f.High {
			t.Fatalf("slope %v outside its interval [%v, %v]", f.Value, f.Low, f.High)
		}
		if f.Low <= -0.5 && -0.5 <= f.High {
			covered++
		}
		width += (f.High - f.Low) / trials
	}
	if share := float64(covered) / trials; share < 0.8 || share > 0.99 {
		t.Errorf("the interval covers the slope in %.3f of the trials: want about 0.9", share)
	}
	if width > 0.6 {
		t.Errorf("mean width of the interval %.2f", width)
	}
	more := means(200, 100000, rng).tail(2).fit(300)
	if w := more.High - more.Low; w > width/3 {
		t.Errorf("width with 200 runs %.3f, with 10 runs %.3f: want it to shrink by about √20", w, width)
	}
}

// Equal records give equal intervals.
func TestFitIsDeterministic(t *testing.T) {
	c := means(5, 10000, rand.New(rand.NewPCG(1, 1)))
	if a, b := c.fit(500), c.fit(500); a != b {
		t.Errorf("two fits of the same runs: %v and %v", a, b)
	}
}

func TestQuantile(t *testing.T) {
	x := []float64{1, 2, 4}
	for p, want := range map[float64]float64{0: 1, 0.25: 1.5, 0.5: 2, 0.75: 3, 1: 4} {
		if got := quantile(x, p); got != want {
			t.Errorf("quantile %g: %g, want %g", p, got, want)
		}
	}
	if !math.IsNaN(quantile(nil, 0.5)) {
		t.Error("quantile of nothing is a number")
	}
}
