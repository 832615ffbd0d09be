package main

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// A curve is a quantity of several runs: Values[i][j] is that of run i after
// Episodes[j].
type curve struct {
	Episodes []int
	Values   [][]float64
}

// rms returns the root mean square over the runs with the given indices, for
// every record. Signs do not matter to it, and it does not vanish where a
// quantity changes sign in one run.
func (c *curve) rms(runs []int) []float64 {
	out := make([]float64, len(c.Episodes))
	for j := range out {
		sum := 0.0
		for _, i := range runs {
			sum += c.Values[i][j] * c.Values[i][j]
		}
		out[j] = math.Sqrt(sum / float64(len(runs)))
	}
	return out
}

// last returns the last of the values of each run.
func (c *curve) last() []float64 {
	out := make([]float64, len(c.Values))
	for i, v := range c.Values {
		out[i] = v[len(v)-1]
	}
	return out
}

// all returns the root mean square over all runs.
func (c *curve) all() []float64 {
	all := make([]int, len(c.Values))
	for i := range all {
		all[i] = i
	}
	return c.rms(all)
}

// tail returns the part of the curve in the last decades of episodes.
func (c *curve) tail(decades float64) *curve {
	last := float64(c.Episodes[len(c.Episodes)-1])
	// Rounded record episodes may miss the border by one half.
	from := 0
	for float64(c.Episodes[from])+0.5 < last*math.Pow(10, -decades) {
		from++
	}
	t := &curve{Episodes: c.Episodes[from:]}
	for _, v := range c.Values {
		t.Values = append(t.Values, v[from:])
	}
	return t
}

// slope returns the least-squares slope of log y over log x, using the points at
// which y is positive; NaN if they are fewer than three.
func slope(x []int, y []float64) float64 {
	var u, v []float64
	for i := range x {
		if y[i] > 0 {
			u, v = append(u, math.Log(float64(x[i]))), append(v, math.Log(y[i]))
		}
	}
	if len(u) < 3 {
		return math.NaN()
	}
	_, b := stat.LinearRegression(u, v, nil, false)
	return b
}

// decadeSlopes returns the slopes of the root mean square over all runs in the last
// decade but one, and in the last: their difference shows how far the fit over both
// is from a straight line.
func (c *curve) decadeSlopes() (before, last float64) {
	t := c.tail(2)
	y := t.all()
	n := len(c.tail(1).Episodes)
	at := len(y) - n
	return slope(t.Episodes[:at+1], y[:at+1]), slope(t.Episodes[at:], y[at:])
}

// A slopeFit is fitted on log–log axes.
type slopeFit struct {
	// Value lies between Low and High, the ends of a 95% interval; all are NaN where
	// there is too little to fit.
	Value, Low, High float64
	// Zeros counts the records left out because the quantity was 0 in every run.
	Zeros int
}

// fit fits the slope of the root mean square over runs, with a 95% interval:
// the percentiles of the slopes of resamples of the runs, drawn with replacement
// from a fixed stream. Runs are the unit, since the records of one run depend on
// each other.
func (c *curve) fit(resamples int) slopeFit {
	n := len(c.Values)
	whole := c.all()
	f := slopeFit{Value: slope(c.Episodes, whole)}
	for _, y := range whole {
		if !(y > 0) {
			f.Zeros++
		}
	}
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	drawn := make([]int, n)
	var slopes []float64
	for range resamples {
		for i := range drawn {
			drawn[i] = rng.IntN(n)
		}
		if s := slope(c.Episodes, c.rms(drawn)); !math.IsNaN(s) {
			slopes = append(slopes, s)
		}
	}
	slices.Sort(slopes)
	f.Low, f.High = quantile(slopes, 0.025), quantile(slopes, 0.975)
	return f
}

// quantile returns a quantile of sorted numbers by linear interpolation, NaN of
// none.
func quantile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := p * float64(len(sorted)-1)
	i := int(at)
	if i+1 == len(sorted) {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
