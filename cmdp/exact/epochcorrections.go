package exact

import (
	"context"
	"math"

	"cmdpsolve/cmdp/markov"

	"gonum.org/v1/gonum/floats"
)

// corrections are what the values of a pass through epochs lack. With values v of all pairs, however rough, the problem
// with the rewards r + P v − v has the same best policies, and its values are what v lacks, see
// infiniteHorizon.solveShaped.
type corrections struct {
	rounds    int         // how often the values of an epoch are corrected, 0 for never
	all       [][]float64 // of each epoch that is needed, of its states
	lacks     []float64   // those of the epoch
	fromLacks [][]float64 // of each letter, those of the epoch that it leads to
	rough     []float64   // of each state of the quotient
}

// recheck solves once more. The bound is proved by a look at all choices, which trusts no solver. Where it is far below
// what the policy comes to, since what choices are made cheaper by adds up in the many steps that a rare end takes,
// that of corrections is looked for.
func (p *epochTotals) recheck(ctx context.Context, dir []float64) (value, margin float64, err error) {
	x, err := p.solve(ctx, dir, nil)
	value, margin = x.value, x.margin
	if err != nil || x.ray != nil {
		return value, margin, err
	}
	defer func() { p.pass.rounds = 0 }()
	reached := floats.Dot(dir, x.returns)
	for err == nil && p.pass.rounds < mostCorrections && (math.IsInf(margin, 1) ||
		reached-value > 0.5*defaultGap*math.Abs(reached)) {
		p.pass.rounds++
		x, err = p.solve(ctx, dir, nil)
		if err == nil && x.value-x.margin > value-margin {
			value, margin = x.value, x.margin
		}
	}
	return value, margin, err
}

// enterCorrections makes room for the epoch.
func (p *epochPass) enterCorrections() {
	if p.rounds == 0 {
		return
	}
	p.lacks = takeSpare(&p.spare[0], p.e.Base.States())
	p.all[p.epoch] = p.lacks
	for l := range p.fromLacks {
		p.fromLacks[l] = p.nothing
		if after := p.e.After(p.epoch, int32(l)); p.comesUp[after] {
			p.fromLacks[l] = p.all[after]
		}
	}
}

// leaveCorrections drops those of an epoch.
func (p *epochPass) leaveCorrections(epoch int32) {
	if p.all[epoch] != nil {
		p.spare[0] = append(p.spare[0], p.all[epoch])
		p.all[epoch] = nil
	}
}

// lack is what the value of a state of the epoch lacks.
func (p *epochPass) lack(s int32) float64 {
	if p.rounds == 0 {
		return 0
	}
	return p.lacks[s]
}

// correct finds what the values of the epoch lack, those of later epochs being known.
func (p *epochPass) correct(ctx context.Context) error {
	q, z := p.quotient, p.components
	for round := range p.rounds {
		p.rough = append(p.rough[:0], z.Values[:q.Rest]...)
		p.shape()
		clear(z.Values)
		copy(z.Policy, p.chosen)
		for i := range len(q.Component) - 1 {
			endless, err := z.SolveComponent(ctx, i)
			if err != nil {
				return err
			}
			if endless != nil { // what is left is rounding
				clear(z.Values)
				break
			}
		}
		for n, x := range p.rough {
			for _, s := range p.class.members[n] {
				p.v[s], p.lacks[s] = x, z.Values[n]
			}
			if round+1 < p.rounds {
				z.Values[n] += x
			}
		}
	}
	return nil
}

// shape sets the rewards of the choices of the epoch to what the rough values lack in a step.
func (p *epochPass) shape() {
	c, q, z := p.class, p.quotient, p.components
	for n, own := range p.rough {
		for i := q.First[n]; i < q.First[n+1]; i++ {
			if q.Choice[i] == markov.Stay {
				z.Reward[i], z.Weight[i] = -own, math.Abs(own)
				continue
			}
			sum, size := c.reward[q.Choice[i]], c.size[q.Choice[i]]
			add := func(y float64) {
				sum += y
				size += math.Abs(y)
			}
			to, prob, letters := p.row(q.Choice[i])
			for j, number := range p.numbers(q, q.Choice[i]) {
				if number != q.Rest {
					add(float64(prob[j] * (p.rough[number] - own)))
					continue
				}
				add(float64(prob[j] * (p.from[letters[j]][to[j]] - own)))
				add(float64(prob[j] * p.fromLacks[letters[j]][to[j]]))
			}
			z.Reward[i], z.Weight[i] = sum, size
		}
	}
}

// moreByLacks is by how much what a choice gives is above the value of its state where both are corrected, and the size
// of what that is the sum of.
func (p *epochPass) moreByLacks(c, s int32) (more, size float64) {
	to, prob, letters := p.row(c)
	for j, n := range to {
		y := float64(prob[j] * (p.fromLacks[letters[j]][n] - p.lacks[s]))
		more += y
		size += math.Abs(y)
	}
	return more, size
}
