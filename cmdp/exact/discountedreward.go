package exact

import (
	"context"
	"math"
)

// discountedReward is the pricer of discounted sums.
type discountedReward struct{ *infiniteHorizon }

func (p *discountedReward) traits() traits {
	out := traits{singlePolicy: true, infiniteHorizon: true, usesSweeps: p.usesSweeps, steps: p.steps,
		relevance: &p.relevance, purificationCost: p.purificationCost, crossover: p.crossover,
		roundQuickly: p.roundQuickly}
	if p.gamma > nearOneDiscount {
		out.magnified = scaled(roundoff/(1-p.gamma), p.steps)
	}
	return out
}

// extent takes what the extremes of a step come to, or rest, rounded outwards.
func (p *discountedReward) extent(_ context.Context, lower, upper []float64) error {
	d := p.dim()
	rests := len(p.k.Returns) == 0
	for s := range p.m.States() {
		rests = rests || p.k.First[s] == p.k.First[s+1]
	}
	for i := range lower {
		lower[i], upper[i] = 0, 0
		if !rests {
			lower[i], upper[i] = math.Inf(1), math.Inf(-1)
		}
	}
	for j, r := range p.k.Returns {
		total := r / (1 - p.gamma)
		rounding := 4 * roundoff * math.Abs(total)
		lower[j%d], upper[j%d] = min(lower[j%d], total-rounding), max(upper[j%d], total+rounding)
	}
	return nil
}
