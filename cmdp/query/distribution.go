package query

import (
	"context"
	"math"
	"slices"

	"cmdpsolve/cmdp/internal/sample"
	"cmdpsolve/cmdp/progress"

	"gonum.org/v1/gonum/stat"
)

// A Distribution says how a return varies from one episode to the next.
type Distribution struct {
	// Episodes are those played, 0 if the distribution was computed.
	Episodes int
	Spread
	// CI95 has the half-widths of 95% confidence intervals, and is nil if the distribution was computed.
	CI95 *Spread
	// Histogram has a bin for each value where they are few, else bins of the same width, of which the first
	// and the last also hold the values beyond them.
	Histogram []Bin
}

// A Spread has a mean, a standard deviation and what the returns of single episodes are like.
type Spread struct {
	Mean, SD float64
	// Quantiles are the least values that are not passed with the probabilities 0.05, 0.25, 0.5, 0.75 and 0.95.
	Quantiles [5]float64
	// Lowest and Highest are the means of the twentieth of the episodes with the least and with the greatest returns.
	Lowest, Highest float64
}

// A Bin has the probability of the values from From to To. CI95 is the half-width of its 95% confidence
// interval, 0 if it was computed.
type Bin struct{ From, To, Probability, CI95 float64 }

// levels are the probabilities of the quantiles of a [Spread].
var levels = [5]float64{0.05, 0.25, 0.5, 0.75, 0.95}

// Distributions describes how each return varies: exactly where that can be done, else by so many episodes, of
// which those not played yet are played. Keep must have been set before the first episode if any were played.
func (s *Simulation) Distributions(ctx context.Context, episodes int) ([]Distribution, error) {
	out := make([]Distribution, len(s.Mean))
	for i := range out {
		if values, probabilities, ok := s.Exactly(ctx, i); ok {
			out[i] = describe(values, probabilities, 0)
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.Keep = true
		if err := s.PlayAll(ctx, episodes-s.Episodes); err != nil {
			return nil, err
		}
		progress.Of(ctx).Tell("describing how returns vary", float64(i)/float64(len(out)))
		out[i] = sampled(s.Totals, i)
	}
	return out, nil
}

// Sampled describes how returns vary of which there are those of some episodes; of none it is nil.
func Sampled(totals [][]float64) []Distribution {
	if len(totals) == 0 {
		return nil
	}
	out := make([]Distribution, len(totals[0]))
	for i := range out {
		out[i] = sampled(totals, i)
	}
	return out
}

func sampled(totals [][]float64, i int) Distribution {
	values := make([]float64, len(totals))
	for j, total := range totals {
		values[j] = total[i]
	}
	slices.Sort(values)
	return describe(values, slices.Repeat([]float64{1 / float64(len(values))}, len(values)), len(values))
}

// twentieth is the share of the episodes whose means are reported as the lowest and the highest.
const twentieth = 0.05

// describe describes a distribution, whose values are in ascending order. Episodes is the number of episodes of
// which it is the outcome, 0 if it was computed.
func describe(values, probabilities []float64, episodes int) Distribution {
	quantile := func(p float64) float64 { return stat.Quantile(p-1e-12, stat.Empirical, values, probabilities) }
	mean := func(of func(x float64) float64) float64 {
		sum := 0.0
		for i, x := range values {
			sum += probabilities[i] * of(x)
		}
		return sum
	}
	centre := mean(func(x float64) float64 { return x })
	power := func(about, k float64) float64 {
		return mean(func(x float64) float64 { return math.Pow(x-about, k) })
	}
	variance, low, high := power(centre, 2), quantile(twentieth), quantile(1-twentieth)
	below := func(x float64) float64 { return max(0, low-x) }
	above := func(x float64) float64 { return max(0, x-high) }
	d := Distribution{Episodes: episodes, Histogram: histogram(values, probabilities, quantile)}
	d.Spread = newSpread(centre, math.Sqrt(variance), quantile, low-mean(below)/twentieth, high+mean(above)/twentieth)
	if episodes == 0 {
		return d
	}
	n := float64(episodes)
	half := func(variance float64) float64 { return sample.Z95 * math.Sqrt(max(0, variance)/n) }
	deviation := func(of func(x float64) float64) float64 {
		m := mean(of)
		return half(mean(func(x float64) float64 { return (of(x) - m) * (of(x) - m) })) / twentieth
	}
	sd := 0.0 // the delta method; 0 where nothing varies
	if variance > 0 {
		sd = half((power(centre, 4) - variance*variance) / (4 * variance))
	}
	ci := newSpread(half(variance), sd, func(p float64) float64 { // between order statistics
		at, room := n*p, sample.Z95*math.Sqrt(n*p*(1-p))
		from, to := max(0, int(math.Floor(at-room))-1), min(episodes-1, int(math.Ceil(at+room)))
		return max(values[to]-quantile(p), quantile(p)-values[from])
	}, deviation(below), deviation(above))
	d.CI95 = &ci
	for i := range d.Histogram {
		b := &d.Histogram[i]
		b.CI95 = wilson(b.Probability, n)
	}
	return d
}

func newSpread(mean, sd float64, quantile func(p float64) float64, lowest, highest float64) Spread {
	s := Spread{Mean: mean, SD: sd, Lowest: lowest, Highest: highest}
	for i, p := range levels {
		s.Quantiles[i] = quantile(p)
	}
	return s
}

// wilson returns how far the ends of Wilson's interval of a share p of n episodes are from p at most.
func wilson(p, n float64) float64 {
	middle, half := sample.Wilson(p, n)
	return math.Abs(middle-p) + half
}

// bins is how many bins a histogram has at most.
const bins = 20

// histogram returns a bin for each value where they are few, else bins of the same width. The first and the
// last then also hold the thousandth of the episodes with the least and the greatest values.
func histogram(values, probabilities []float64, quantile func(p float64) float64) []Bin {
	different := slices.Compact(slices.Clone(values))
	out := make([]Bin, min(len(different), bins))
	few, last := len(different) <= bins, len(out)-1
	from, to := quantile(0.001), quantile(0.999)
	if from == to {
		from, to = values[0], values[len(values)-1]
	}
	width := (to - from) / bins
	for i := range out {
		out[i].From, out[i].To = from+float64(i)*width, from+float64(i+1)*width
		if few {
			out[i].From, out[i].To = different[i], different[i]
		}
	}
	if !few {
		out[0].From, out[last].To = values[0], values[len(values)-1]
	}
	at := 0
	for i, x := range values {
		for at < last && x >= out[at+1].From {
			at++
		}
		out[at].Probability += probabilities[i]
	}
	return out
}
