package main

import (
	"fmt"
	"strings"
)

const endless = `
## Without a horizon

The first return is minimised while the second is at most half-way between a cautious
policy and the best one, certified to a relative gap of 1e-6, on one
thread; of three long-run means the first is minimised, and the two others are bounded. γ is the discount, 1 for totals.
The families:

* **garnet**: discounted, 4 actions, 5 successors anywhere; **ring**: discounted, 3
  actions, 5 successors within twenty states on a ring, where nothing mixes.
* **tree**: total returns in a graph without cycles; **chain**: components of ten states,
  each left for the next now and then; **loops**: as chain, and in every tenth state the
  process may wait for nothing; **giant**: one component, a way on which every tenth
  step fails and leads back. One or two actions of two successors each.
* **sensor**: long-run means of a node with a buffer of 50 packets that is carried between places, which
  differ in what they offer: packets waiting, energy used, packets lost.

"First" is when the first progress is shown. "Plain" are textbook iterations, for the first return
alone and from scratch: value iteration, and modified policy iteration with 20 sweeps of the policy after
each of all choices, until values change by less than 1e-6 of the largest, with a discount until that
bounds the error; without one it bounds nothing. "Peak" is the memory of the process,
which also draws the model, garbage included.

| family | S | γ | transitions | processor time, s | asked for | time, s | first, s | value iterations | gap | peak per transition, bytes | plain VI, s | plain MPI, s |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
`

// endlessRounds lists the jobs without a horizon: each case with the plain iterations
// beside it, where these have a chance.
func (o *options) endlessRounds() [][]job {
	var all [][]job
	for _, c := range endlessCases {
		if c.states > o.endless {
			continue
		}
		j := job{Kind: "endless", States: c.states, Seed: o.seed, Threads: 1, Family: c.family, Gamma: c.gamma, Limit: o.limit}
		round := []job{j}
		if c.states <= 100_000 && c.gamma > 0 {
			for _, kind := range []string{"plain-vi", "plain-mpi"} {
				j.Kind = kind
				round = append(round, j)
			}
		}
		all = append(all, round)
	}
	return all
}

func writeEndless(b *strings.Builder, sec section) {
	b.WriteString(endless)
	for _, c := range endlessCases {
		found := map[string]record{}
		for _, r := range sec.Records {
			if r.Family == c.family && r.States == c.states && r.Gamma == c.gamma {
				found[r.Kind] = r
			}
		}
		r, ok := found["endless"]
		if !ok {
			continue
		}
		gamma := "means"
		if c.gamma > 0 {
			gamma = fmt.Sprintf("%g", c.gamma)
		}
		if r.CutOff {
			fmt.Fprintf(b, "| %s | %d | %s | | more than %s | %s | | | | | | | |\n", c.family, c.states, gamma, digits(r.Processor, 3), c.goal)
			continue
		}
		fmt.Fprintf(b, "| %s | %d | %s | %d | %s | %s | %s | %s | %d | %s | %s | %s | %s |\n", c.family, c.states, gamma, r.Nonzeros,
			digits(r.Processor, 3), c.goal, digits(r.Seconds, 3), digits(r.First, 2), r.Sweeps, digits((r.Objective-r.Bound)/r.Objective, 1),
			digits(r.Peak/float64(r.Nonzeros), 3), plainTime(found["plain-vi"]), plainTime(found["plain-mpi"]))
	}
}

// plainTime writes the processor time of a plain iteration.
func plainTime(r record) string {
	switch {
	case r.Kind == "":
		return ""
	case r.CutOff:
		return "more than " + digits(r.Processor, 2)
	}
	return digits(r.Processor, 3)
}
