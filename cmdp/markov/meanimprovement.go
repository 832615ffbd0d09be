package markov

import (
	"context"
	"math"
	"slices"

	"cmdpsolve/cmdp/internal/parallel"
	"cmdpsolve/internal/threshold"
)

// A staleness says what has changed since a state was looked at.
type staleness uint8

const (
	settled staleness = iota // nothing
	stale                    // the value of a successor
)

// improve changes the choices of a policy wherever another is better by more than rounding, and reports whether there
// were any, and whether there are no more: values are then so low that no choice gains. They are not where a choice
// that surely stays in its state gains, which is a better class and takes the value to −∞. Its sweeps go to and fro
// and lower h at once, so that what is found in one place is known in others, as in modified policy iteration
// (Puterman, Shin 1978). The first one goes backwards, as models count forwards as a rule. States in a row are swept a
// few times, as their successors are close in memory as a rule, and many of them are among themselves.
func (p *LeastMean) improve(ctx context.Context, states, choices []int32,
	mean float64) (found, done bool) {
	slack := p.slack(states, choices, 0)
	p.lookFirst(states, choices, mean, slack)
	p.stale[p.cut] = stale // the mean is known to rounding
	p.before = p.statesBefore()
	most := len(states)
	if p.careful {
		most = 1
	}
	// To look for the states that are to be swept again costs some too.
	for n, left := 0, most; left > 0; n, left = n+1, left-len(states)/64-1 {
		swept, changed, other := p.sweep(states, choices, n%2 == 0, mean, slack)
		left -= swept
		found = found || other
		if !changed || ctx.Err() != nil { // what follows looks at ctx
			return found, !changed && !p.endless(states)
		}
	}
	return found, false
}

// lookFirst finds the states in which some choice gains. Only these are to be swept, and what changes with them. It
// changes nothing else, so that workers can share it.
func (p *LeastMean) lookFirst(states, choices []int32, mean, slack float64) {
	work := len(p.kernel.Next) / len(p.Bias) * len(states)
	parallel.ForStates(p.Workers, len(states), work, func(from, to int) float64 {
		for j := from; j < to; j++ {
			s, known := states[j], int32(-1)
			if p.blocks.exact { // values are exact, so that the choice of the policy gains nothing
				known = choices[j]
			}
			p.stale[s] = settled
			if best, _ := p.bestChoice(s, known, mean, slack); best >= 0 {
				p.stale[s] = stale
			}
		}
		return 0
	})
}

// slack returns by how much a choice has to gain where values are at least as large as size.
func (p *LeastMean) slack(states, choices []int32, size float64) float64 {
	for j, s := range states {
		size = max(size, math.Abs(p.Bias[s])+math.Abs(p.Reward[choices[j]]))
	}
	return math.Max(float64(64+4*p.longest)*unit*size, 0.5*p.tolerance())
}

// endless reports whether some state is worth −∞.
func (p *LeastMean) endless(states []int32) bool {
	return slices.ContainsFunc(states, func(s int32) bool { return math.IsInf(p.Bias[s], -1) })
}

// sweep sweeps once over the states that are stale. It returns how many were looked at, and whether values improved,
// and choices.
func (p *LeastMean) sweep(states, choices []int32, backwards bool, mean, slack float64) (swept int,
	improved, found bool) {
	times := 3
	if p.careful {
		times = 1
	}
	for from := 0; from < len(states); from += threshold.Together {
		at := from
		if backwards {
			at = (len(states)-1)/threshold.Together*threshold.Together - from
		}
		to := min(at+threshold.Together, len(states))
		looks, changed, other := p.improveTogether(states[at:to], choices[at:to], backwards, times, mean, slack)
		swept += looks
		improved, found = improved || changed, found || other
	}
	return swept, improved, found
}

// improveTogether sweeps over some states in a row, to and fro or fro and to, until none of them changes, at
// most so many times. It returns how many states were looked at, and whether values improved, and choices.
func (p *LeastMean) improveTogether(states, choices []int32, backwards bool, times int, mean, slack float64) (swept int,
	improved, other bool) {
	for changed := true; changed && times > 0; times-- {
		changed = false
		for j := range states {
			if backwards {
				j = len(states) - 1 - j
			}
			s := states[j]
			if p.stale[s] == settled {
				continue
			}
			p.stale[s] = settled
			swept++
			if best, value := p.bestChoice(s, -1, mean, slack); best >= 0 {
				p.Bias[s] = value
				changed, other = true, other || best != choices[j]
				choices[j] = best
				for _, by := range p.before.of(s) {
					p.stale[by] = stale
				}
			}
		}
		improved = improved || changed
		backwards = !backwards
	}
	return swept, improved, other
}

// bestChoice returns the best choice of a state and its value, if that gains more than slack, or −1. A choice that is
// known not to gain is not looked at.
func (p *LeastMean) bestChoice(s, known int32, mean, slack float64) (best int32, least float64) {
	best = -1
	now := p.Bias[s]
	least = now
	for c := p.kernel.First[s]; c < p.kernel.First[s+1]; c++ {
		if c == known || !p.ends.Inside[c] {
			continue
		}
		x := p.Reward[c] - mean
		next, prob := p.successors(c)
		for j, n := range next {
			x += prob[j] * (p.Bias[n] - now)
		}
		if x >= -slack {
			continue
		}
		out := 0.0
		for j, n := range next {
			if n != s {
				out += prob[j]
			}
		}
		if now+x/out < least {
			least, best = now+x/out, c
		}
	}
	return best, least
}

// listStatesBefore lists, for every state, the other states with a choice inside an end that may lead there.
func (p *LeastMean) listStatesBefore() lists[int32] {
	k, ends, met := p.kernel, p.ends, make([]int32, len(p.Bias)) // of each state, the last one that led there, from 1
	return newLists(len(met), func(add func(at, item int32)) {
		clear(met)
		for s := range int32(len(met)) {
			for c := k.First[s]; c < k.First[s+1]; c++ {
				if !ends.Inside[c] {
					continue
				}
				next, prob := k.Row(int(c))
				for j, n := range next {
					if prob[j] > 0 && n != s && met[n] != s+1 {
						met[n] = s + 1
						add(n, s)
					}
				}
			}
		}
	})
}
