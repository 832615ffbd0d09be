package exact

import (
	"context"
	"errors"
	"fmt"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cmdp/progress"

	"gonum.org/v1/gonum/floats"
)

// An Evaluation holds the returns of one policy of a model without a horizon.
type Evaluation struct {
	// Returns are the expected returns. A total that does not end is ±Inf, or NaN where it goes
	// up and down.
	Returns []float64
	// Drift bounds the bias of each long-run mean: for every N, the expected mean of the first N steps is
	// at most Drift/N away from it, up to rounding. It is the extent of the relative values (Puterman
	// 1994, §8.2), and 0 for other returns.
	Drift []float64
	// Span is the greatest relative value of each long-run mean in a state that the policy reaches less the least,
	// +Inf where the policy has several recurrent classes, and 0 for other returns.
	Span []float64
}

// Evaluate returns the exact expected returns of a stationary policy of a model without a horizon. The
// policy is asked for step 0, and only for the states that it reaches.
func Evaluate(ctx context.Context, m *cmdp.Model, policy cmdp.Policy) (*Evaluation, error) {
	if err := checkTask(m, cmdp.Task{}); err != nil {
		return nil, err
	}
	if policy == nil {
		return nil, errors.New("exact: no policy")
	}
	if m.Horizon() > 0 {
		return nil, fmt.Errorf("exact: a model with a horizon: want one without")
	}
	process, err := inducedProcess(ctx, m, policy)
	if err != nil {
		return nil, err
	}
	only := &Policy{steps: []markov.Rule{{Actions: markov.NewActions(m.States(), 1)}}}
	out := &Evaluation{Drift: make([]float64, m.Dim()), Span: make([]float64, m.Dim())}
	if !m.Means() {
		p, err := analyseReachable(ctx, process, 1, nil)
		if err != nil {
			return nil, err
		}
		p.relevance = allRelevant(m.Dim())
		out.Returns, err = p.evaluate(ctx, only)
		return out, err
	}
	p, err := newAverageReward(ctx, process, 1, noneRelevant(m.Dim()), progress.Of(ctx)) // totals may go on
	if err != nil {
		return nil, err
	}
	for i := range out.Drift {
		if !m.Mean(i) {
			continue
		}
		out.Drift[i], out.Span[i], err = p.drift(ctx, axis(m.Dim(), i, 1))
		if err != nil {
			return nil, err
		}
	}
	out.Returns, err = p.evaluate(ctx, only)
	return out, err
}

// inducedProcess returns the model without choices that a stationary policy makes of m. States that the
// policy does not reach have the value 0.
func inducedProcess(ctx context.Context, m *cmdp.Model, policy cmdp.Policy) (*cmdp.Model, error) {
	rows, d := m.Rows(0), m.Dim()
	reached := markov.ReachedBy(m, policy)
	out := cmdp.NewKernel()
	var next []int32
	var prob []float64
	const often = 1 << 12
	for s := range int32(m.States()) {
		if s%often == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if first, end := rows.Choices(int(s)); reached[s] && first < end {
			x := make([]float64, end-first)
			policy.Distribution(x, 0, int(s))
			r := make([]float64, d)
			next, prob = next[:0], prob[:0]
			for a, share := range x {
				if c := first + a; share > 0 {
					floats.AddScaled(r, share, rows.Returns(c))
					to, probabilities := rows.Row(c)
					next = append(next, to...)
					for _, p := range probabilities {
						prob = append(prob, share*p)
					}
				}
			}
			out.Append(next, prob, r)
		}
		out.EndState()
	}
	spec := cmdp.ModelSpec{Discount: m.Discount(), Dim: d, Start: m.StartStates(), Kernels: []cmdp.Kernel{out}}
	for i := range d {
		spec.Means = append(spec.Means, m.Mean(i))
	}
	return cmdp.NewModel(spec)
}

// drift bounds how far the expected sum of dir·r over N steps is from N times its long-run mean, in
// a model without choices. With relative values h and means g, r + P h = h + g and P g = g, so that the sum is
// N·g + μ·h − E h(X_N). It also returns the span of h, +Inf if there are several recurrent classes.
func (p *averageReward) drift(ctx context.Context, dir []float64) (drift, span float64, err error) {
	z, _, _, err := p.solve(ctx, dir)
	if err != nil {
		return 0, 0, err
	}
	for i := range p.ends.Len() {
		low, high := math.Inf(1), math.Inf(-1)
		for _, s := range p.ends.Part(i) {
			low, high = math.Min(low, p.least.Bias[s]), math.Max(high, p.least.Bias[s])
		}
		for _, s := range p.ends.Part(i) { // only differences count, within each end
			p.least.Bias[s] -= low + (high-low)/2
		}
	}
	// Before it comes to an end, h is the total of r − g until there, and what h is there.
	mean, d := p.liftValues(nil, z.LeastTotal), len(dir)
	terms := func(c int32, add func(x float64)) {
		if c == markov.Stay {
			return
		}
		s := p.quotient.Owner(c)
		add(-mean[s])
		for j, r := range p.k.ReturnsOf(int(c), d) {
			add(dir[j] * r)
		}
		next, prob := p.k.Row(int(c))
		for j, n := range next {
			if p.ends.Of[n] >= 0 {
				add(prob[j] * p.least.Bias[n])
			}
		}
	}
	for i, c := range z.Quotient.Choice {
		z.Reward[i], z.Weight[i] = 0, 0
		terms(c, func(x float64) {
			z.Reward[i] += x
			z.Weight[i] += math.Abs(x)
		})
	}
	z.Reset(0)
	endless, err := z.LeastTotal.Solve(ctx)
	if err == nil && endless != nil { // the quotient has no end component
		err = markov.ErrSingular
	}
	if err != nil {
		return 0, 0, err
	}
	low, high, classes := math.Inf(1), math.Inf(-1), p.ends.Len()
	for s, n := range z.Quotient.Number {
		if p.ends.Of[s] < 0 {
			p.least.Bias[s] = z.Values[n] // 0 at rest
		}
		if !p.reachable[s] {
			continue
		}
		low, high = math.Min(low, p.least.Bias[s]), math.Max(high, p.least.Bias[s])
		if p.k.First[s] == p.k.First[s+1] {
			classes++
		}
	}
	span = high - low
	if classes > 1 { // whose relative values cannot be compared
		span = math.Inf(1)
	}
	begin, _ := startMean(p.m, p.least.Bias)
	return math.Max(begin-low, high-begin), span, nil
}
