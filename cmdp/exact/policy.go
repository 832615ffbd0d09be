package exact

import (
	"math/rand/v2"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"
)

// A Policy is a Markov policy in compact form: one byte for each (step, state) pair where states offer at most
// 256 actions, one bit in a stationary policy where they offer two, and the probabilities of the few pairs in
// which it randomises. A stationary policy has the same for every step. It is a cmdp.Policy, immutable and safe
// for concurrent use.
type Policy struct {
	steps   []markov.Rule
	mixture []WeightedPolicy // of a mixture, which has no steps
	tally   *tallyPolicy     // of a cmdp.Tally, in the place of steps
	parts   []PartMixture    // of a sum, in the place of all others
}

// A WeightedPolicy is a policy that is drawn, with a probability, at the start and then played for
// good.
type WeightedPolicy struct {
	Weight float64
	Policy *Policy
}

// fixed returns a policy that never draws in compact form.
func fixed(p cmdp.Deterministic) *Policy {
	out := &Policy{steps: make([]markov.Rule, len(p))}
	for h, row := range p {
		out.steps[h].Actions = markov.NewActions(len(row), int(slices.Max(row))+1)
		for s, a := range row {
			out.steps[h].Actions.Set(s, int(a))
		}
	}
	return out
}

func (p *Policy) step(h int) *markov.Rule {
	if len(p.steps) == 1 {
		return &p.steps[0]
	}
	return &p.steps[h]
}

// Choose returns the action to take, drawn from rng where the policy randomises.
func (p *Policy) Choose(rng *rand.Rand, h, s int) int {
	if p.tally != nil {
		return p.tally.action(h, s)
	}
	st := p.step(h)
	probs, ok := st.Mixed[int32(s)]
	if !ok {
		return st.Actions.At(s)
	}
	u := rng.Float64()
	for a, x := range probs {
		u -= x
		if x > 0 && u < 0 {
			return a
		}
	}
	// What rounding leaves of the mass goes to the principal action.
	return st.Actions.At(s)
}

// Distribution sets dst, one entry for each action of s, to their probabilities.
func (p *Policy) Distribution(dst []float64, h, s int) {
	if p.tally != nil {
		clear(dst)
		dst[p.tally.action(h, s)] = 1
		return
	}
	st := p.step(h)
	if probs, ok := st.Mixed[int32(s)]; ok {
		copy(dst, probs)
		return
	}
	clear(dst)
	dst[st.Actions.At(s)] = 1
}

// Randomized returns the number of (step, state) pairs in which the policy
// randomises, those of all components of a mixture, 0 for no policy.
func (p *Policy) Randomized() int {
	if p == nil {
		return 0
	}
	n := 0
	for _, c := range p.mixture {
		n += c.Policy.Randomized()
	}
	for h := range p.steps {
		n += len(p.steps[h].Mixed)
	}
	return n
}

// NewPolicy returns the policy with the given decision rules: one for each step, or one for every step. The
// rules are kept. They must have an action of every state that offers some.
func NewPolicy(rules []markov.Rule) *Policy { return &Policy{steps: rules} }
