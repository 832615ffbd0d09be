package cmdp

import (
	"fmt"
	"math/rand/v2"
)

// A Policy is a Markov policy: what to do at step h in state s. Actions are
// numbered 0, 1, … among those that the state offers; the methods are asked only
// about states that offer some.
type Policy interface {
	// Choose returns the action to take. A policy that randomises draws from rng.
	Choose(rng *rand.Rand, h, s int) int
	// Distribution sets dst, which has one entry for each action of s, to their
	// probabilities.
	Distribution(dst []float64, h, s int)
}

// Deterministic is a policy without randomness. Each of its slices holds the
// action of each state at one step; a single slice holds for every step.
type Deterministic [][]int32

// Choose returns the action of the policy.
func (p Deterministic) Choose(_ *rand.Rand, h, s int) int {
	return int(p[min(h, len(p)-1)][s])
}

// Distribution puts probability 1 on the action of the policy.
func (p Deterministic) Distribution(dst []float64, h, s int) {
	clear(dst)
	dst[p.Choose(nil, h, s)] = 1
}

// Uniform takes every action with equal probability.
type Uniform struct{ Shape *Shape }

// Choose draws an action.
func (p Uniform) Choose(rng *rand.Rand, h, s int) int { return rng.IntN(p.Shape.Actions(h, s)) }

// Distribution gives every action the same probability.
func (p Uniform) Distribution(dst []float64, _, _ int) {
	for a := range dst {
		dst[a] = 1 / float64(len(dst))
	}
}

// Randomized is a policy given by the probability of every (step, choice) pair.
type Randomized struct {
	first [][]int32
	probs [][]float64 // like first: one slice for every step, or one for each
}

// NewRandomized returns the policy with the given probabilities: probs holds one
// slice for every step, or one for each; each has one entry for every choice.
// first holds the offsets of each state's choices, as in [Kernel]. The
// probabilities of every state must be non-negative and sum to 1 within
// [ProbabilityTolerance]. Slices are kept, not copied.
func NewRandomized(first [][]int32, probs [][]float64) (*Randomized, error) {
	if len(first) == 0 || len(probs) == 0 || len(first) != 1 && len(first) != len(probs) {
		return nil, fmt.Errorf("cmdp: policy with %d steps of choices and %d of probabilities", len(first), len(probs))
	}
	p := &Randomized{first, probs}
	for h, row := range probs {
		f := p.firstAt(h)
		if len(f) == 0 {
			return nil, fmt.Errorf("cmdp: policy step %d: no offsets of choices: want one for each state, and the "+
				"number of choices", h+1)
		}
		if len(row) != int(f[len(f)-1]) {
			return nil, fmt.Errorf("cmdp: policy step %d: %d probabilities: want %d", h+1, len(row), f[len(f)-1])
		}
		for s := range len(f) - 1 {
			if f[s] == f[s+1] {
				continue
			}
			if err := checkDistribution(row[f[s]:f[s+1]]); err != nil {
				return nil, fmt.Errorf("cmdp: policy step %d, state %d: %w", h+1, s, err)
			}
		}
	}
	return p, nil
}

func (p *Randomized) firstAt(h int) []int32 { return p.first[min(h, len(p.first)-1)] }

func (p *Randomized) row(h, s int) []float64 {
	f := p.firstAt(h)
	return p.probs[min(h, len(p.probs)-1)][f[s]:f[s+1]]
}

// Clone returns a copy of the policy with probabilities of its own.
func (p *Randomized) Clone() *Randomized {
	q := &Randomized{p.first, make([][]float64, len(p.probs))}
	for h, row := range p.probs {
		q.probs[h] = append([]float64(nil), row...)
	}
	return q
}

// Choose draws an action.
func (p *Randomized) Choose(rng *rand.Rand, h, s int) int { return Draw(rng, p.row(h, s)) }

// Distribution copies the probabilities of the state's actions.
func (p *Randomized) Distribution(dst []float64, h, s int) { copy(dst, p.row(h, s)) }

// Draw samples an index with the given probabilities, of which there has to be one. It takes one number from rng. What
// rounding leaves of the mass goes to the last index that has any. It panics without rng.
func Draw(rng *rand.Rand, probs []float64) int {
	if rng == nil {
		panic("cmdp: no random numbers to draw with")
	}
	u, last := rng.Float64(), 0
	for i, p := range probs {
		if p <= 0 {
			continue
		}
		u -= p
		if u < 0 {
			return i
		}
		last = i
	}
	return last
}
