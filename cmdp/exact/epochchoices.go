package exact

import (
	"context"
	"slices"

	"cmdpsolve/cmdp/markov"
)

// choiceSets are sets of choices that epochs allow. Epochs with the same set share it.
type choiceSets struct {
	of     []int32 // of each epoch, the number of its set, −1 for all choices
	sets   [][]bool
	number map[string]int32
}

func newChoiceSets(epochs int) *choiceSets {
	return &choiceSets{of: slices.Repeat([]int32{-1}, epochs), number: make(map[string]int32)}
}

// put sets what an epoch allows.
func (x *choiceSets) put(epoch int, choices []bool) {
	if !slices.Contains(choices, false) {
		return
	}
	key := make([]byte, (len(choices)+7)/8)
	for c, in := range choices {
		if in {
			key[c/8] |= 1 << (c % 8)
		}
	}
	n, known := x.number[string(key)]
	if !known {
		n = int32(len(x.sets))
		x.sets, x.number[string(key)] = append(x.sets, choices), n
	}
	x.of[epoch] = n
}

// in returns what an epoch allows, nil for all choices.
func (x *choiceSets) in(epoch int) []bool {
	if n := x.of[epoch]; n >= 0 {
		return x.sets[n]
	}
	return nil
}

// A restrictedSolver solves epochs that allow the same choices.
type restrictedSolver struct {
	quotient   *markov.Quotient
	components *markov.LeastTotal
	proper     []int32 // its first policy
}

// mostRestricted is the number of sets of choices of which solvers are kept, the first ones: what is kept must not
// depend on what was asked before.
const mostRestricted = 8

// restrictToAllowed leaves the choices that the epoch allows.
func (p *epochPass) restrictToAllowed() {
	p.allows = p.allowed.in(p.epoch)
	if p.allows == nil {
		return
	}
	set := p.allowed.of[p.epoch]
	if r := p.class.restricted[set]; r != nil {
		p.quotient, p.components = r.quotient, r.components
		return
	}
	p.restrict()
	if set >= mostRestricted {
		return
	}
	r := &restrictedSolver{p.quotient, p.components, p.class.proper}
	if p.components != p.class.components {
		r.proper = slices.Clone(p.components.Policy)
	}
	p.class.restricted[set] = r
}

// restrict leaves what is allowed, and where only what is reached counts, what comes up. Other states are given the
// choice to stay. A policy may stay for ever in all end components of those that come up.
func (p *epochPass) restrict() {
	of := p.quotient
	q := *of
	q.First, q.Choice = make([]int32, 1, len(of.First)), make([]int32, 0, len(of.Choice)+int(of.Rest))
	changed := false
	for n := range of.Rest {
		choices := of.Choice[of.First[n]:of.First[n+1]]
		for _, c := range choices {
			if p.counts(p.class.members[n][0]) && (c == markov.Stay || p.allows == nil || p.allows[c]) {
				q.Choice = append(q.Choice, c)
			}
		}
		if q.First[n] == int32(len(q.Choice)) {
			q.Choice = append(q.Choice, markov.Stay)
			changed = true
		}
		q.First = append(q.First, int32(len(q.Choice)))
	}
	if changed || len(q.Choice) < len(of.Choice) {
		p.quotient, p.components = &q, markov.NewLeastTotal(&q, 1, 1, &p.chain)
	}
}

// restrictToProper finds the pairs from which no policy surely comes to an end, or to a place where it may stay without
// harm, and takes away choices that may lead there, see infiniteHorizon.restrictToProper.
func (p *epochTotals) restrictToProper(ctx context.Context) error {
	ends := make([]*markov.EndComponents, len(p.classes))
	for i, c := range p.classes {
		if c == nil {
			continue
		}
		var err error
		ends[i], err = c.endsOf(ctx, c.harmless)
		if err != nil {
			return err
		}
		p.harm = p.harm || c.returnsForEver(p.relevance)
	}
	p.allowed = newChoiceSets(p.e.Len())
	if !p.harm {
		for epoch := range p.e.Len() {
			if p.e.Restricted() && p.comesUp[epoch] {
				_, choices := p.allowedAfter(epoch, nil)
				p.allowed.put(epoch, choices)
			}
		}
		return nil
	}
	in := make([][]bool, p.e.Len()) // of each epoch its states, nil if all
	for epoch := p.e.Len() - 1; epoch >= 0; epoch-- {
		if !p.comesUp[epoch] {
			continue
		}
		c, places := p.classes[p.e.Class[epoch]], ends[p.e.Class[epoch]]
		all, choices := p.allowedAfter(epoch, in)
		g := markov.Graph{Kernel: c.graph.Kernel, In: slices.Repeat([]bool{true}, c.graph.States()), Allowed: choices}
		whole, _, err := g.AlmostSurely(ctx, func(s int32) bool {
			return g.Kernel.First[s] == g.Kernel.First[s+1] || places.Of[s] >= 0
		})
		if err != nil {
			return err
		}
		if !whole {
			in[epoch] = g.In
		}
		if !whole || !all {
			p.allowed.put(epoch, choices)
		}
	}
	for _, st := range p.m.StartStates() {
		if epoch, s := p.e.Split(st.State); st.Probability > 0 && in[epoch] != nil && !in[epoch][s] {
			return p.improperError(ctx, in)
		}
	}
	return nil
}

// allowedAfter reports which choices of an epoch are offered and lead, where they leave it, to pairs that are in, nil
// if all are, and whether all do.
func (p *epochTotals) allowedAfter(epoch int, in [][]bool) (all bool, choices []bool) {
	k := p.classes[p.e.Class[epoch]].kernel
	all, choices = true, make([]bool, k.Choices())
	for c := range choices {
		choices[c] = p.e.Offers(epoch, int32(c))
		next, _ := k.Row(c)
		first, _ := k.Entries(c)
		for j, to := range next {
			if in != nil {
				after := in[p.e.After(epoch, p.e.Letter[first+j])]
				choices[c] = choices[c] && (after == nil || after[to])
			}
		}
		all = all && choices[c]
	}
	return all, choices
}

// improperError names a place among the pairs left out where every policy may stay, see infiniteHorizon.improperError.
func (p *epochTotals) improperError(ctx context.Context, in [][]bool) error {
	for epoch, has := range in {
		if has == nil {
			continue
		}
		c := p.classes[p.e.Class[epoch]]
		out := make([]bool, len(has))
		for s := range out[:p.e.Base.States()] {
			out[s] = !has[s] && p.e.ComesUp(p.e.Pair(epoch, s))
		}
		g := markov.Graph{Kernel: c.graph.Kernel, In: out, Allowed: make([]bool, c.kernel.Choices())}
		for i := range g.Allowed {
			g.Allowed[i] = p.e.Offers(epoch, int32(i))
		}
		ends, err := g.EndComponents(ctx)
		if err != nil {
			return err
		}
		for _, s := range ends.Order {
			for i := c.kernel.First[s]; i < c.kernel.First[s+1]; i++ {
				of := p.unwanted(nil, c.kernel.ReturnsOf(int(i), p.e.Dim))
				if ends.Inside[i] && of >= 0 {
					return &NoTotalError{State: p.e.Pair(epoch, int(s)), Action: int(i - c.kernel.First[s]), Return: of}
				}
			}
		}
	}
	return &NoTotalError{Return: -1}
}
