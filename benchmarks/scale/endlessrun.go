package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/progress"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// endlessGap is the certified gap, relative.
const endlessGap = 1e-6

// endlessOutcome is what only models without a horizon have.
type endlessOutcome struct {
	First float64 `json:"first,omitempty"` // seconds until the first progress is shown
	Error float64 `json:"error,omitempty"` // that a plain iteration ends with, relative
}

// endlessBox holds all returns, which are at least 0.
func endlessBox(dim int) *geometry.Box {
	box, err := geometry.NewBox(make([]float64, dim), slices.Repeat([]float64{1e9}, dim))
	if err != nil {
		panic("scale: " + err.Error()) // the sides are those of one
	}
	return box
}

func linearCost(box *geometry.Box, gradient []float64) cost.Cost {
	c, err := cost.NewLinear(gradient, box)
	if err != nil {
		panic("scale: " + err.Error()) // the box is one
	}
	return c
}

// endless measures a whole solution, its bound being certified.
func (j job) endless(ctx context.Context) (*outcome, error) {
	p, err := j.endlessProblem(ctx)
	if err != nil {
		return nil, err
	}
	box := endlessBox(p.Model.Dim())
	lower, upper := box.Lower(), box.Upper()
	for i, c := range p.Constraints {
		upper[i+1] = *c.AtMost
	}
	limit, err := geometry.NewBox(lower, upper)
	if err != nil {
		return nil, err
	}
	target, err := limit.Bounded()
	if err != nil {
		return nil, err
	}
	watch := watchMemory()
	start, used, last, first := time.Now(), harness.ProcessorTime(), time.Time{}, time.Time{}
	working := func(string, float64) {
		if first.IsZero() {
			first = time.Now()
		}
	}
	told := func(int, float64, float64) {
		working("", 0)
		last = time.Now()
	}
	task := cmdp.Task{Cost: linearCost(box, axis(p.Model.Dim(), 0)), Target: target, Box: box}
	r, err := exact.Solve(progress.With(ctx, working), p.Model, task,
		exact.Options{Workers: j.Threads, Gap: endlessGap, Progress: told})
	if err != nil {
		return nil, err
	}
	if r.Status != exact.Optimal {
		return nil, fmt.Errorf("scale: %s: %v, gap %g", p.Name, r.Status, r.Gap)
	}
	return &outcome{
		Seconds: time.Since(start).Seconds(), Processor: (harness.ProcessorTime() - used).Seconds(),
		Objective: r.Objective,
		exactOutcome: exactOutcome{Bound: r.Bound, Sweeps: r.Iterations, Sweeping: last.Sub(start).Seconds(),
			Randomized: r.Randomized,
			Policy:     endlessChecksum(p.Model, r), Nonzeros: p.Model.Transitions(),
			Model: float64(p.Model.Kernel(0).Bytes()), Beside: watch.stop()},
		endlessOutcome: endlessOutcome{First: first.Sub(start).Seconds()},
		Peak:           harness.PeakMemory(),
	}, nil
}

// A plain is value iteration or modified policy iteration as the textbooks have it, for
// the first return alone and from scratch: sweeps of all choices, each followed by the given number of
// sweeps of the policy, until no value changes by more than the gap of the largest, with a discount until that
// bounds the error.
func (j job) plain(ctx context.Context, sweeps int) (*outcome, error) {
	if err := j.checkEndless(); err != nil {
		return nil, err
	}
	k := drawEndless(rand.New(cmdp.Stream(j.Seed, j.Family)), j.Family, j.States)
	v, next := make([]float64, j.States), make([]float64, j.States)
	pick, dim := make([]int, j.States), returnsOf(j.Family)
	start, used := time.Now(), harness.ProcessorTime()
	q := func(c int, v []float64) float64 {
		sum := 0.0
		for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
			sum += k.Prob[e] * v[k.Next[e]]
		}
		return k.Returns[c*dim] + j.Gamma*sum
	}
	for round := 1; ; round++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		change, size := 0.0, 0.0
		for s := range v {
			next[s] = v[s]
			least := math.Inf(1)
			for c := int(k.First[s]); c < int(k.First[s+1]); c++ {
				if x := q(c, v); x < least {
					least, pick[s], next[s] = x, c, x
				}
			}
			change, size = max(change, math.Abs(next[s]-v[s])), max(size, next[s])
		}
		v, next = next, v
		bound := change
		if j.Gamma < 1 {
			bound = change * j.Gamma / (1 - j.Gamma)
		}
		if bound <= endlessGap*size || time.Since(start).Seconds() > j.Limit {
			return &outcome{CutOff: bound > endlessGap*size, Seconds: time.Since(start).Seconds(),
				Processor: (harness.ProcessorTime() - used).Seconds(),
				Objective: v[0], exactOutcome: exactOutcome{Sweeps: round},
				endlessOutcome: endlessOutcome{Error: bound / size}}, nil
		}
		for range sweeps {
			for s := range v {
				if k.First[s] < k.First[s+1] {
					next[s] = q(pick[s], v)
				}
			}
			v, next = next, v
		}
	}
}

// endlessChecksum tells policies apart, of an answer that may draw one of several.
func endlessChecksum(m *cmdp.Model, r *exact.Result) string {
	if r.Policy != nil {
		return checksum(m, r.Policy)
	}
	all := ""
	for _, c := range r.Mixture {
		all += checksum(m, c.Policy)
	}
	return all
}

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
		j := job{Kind: "endless", States: c.states, Seed: o.seed, Threads: 1, Family: c.family, Gamma: c.gamma,
			Limit: o.limit}
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
			fmt.Fprintf(b, "| %s | %d | %s | | more than %s | %s | | | | | | | |\n", c.family, c.states, gamma,
				digits(r.Processor, 3), c.goal)
			continue
		}
		fmt.Fprintf(b, "| %s | %d | %s | %d | %s | %s | %s | %s | %d | %s | %s | %s | %s |\n", c.family, c.states,
			gamma, r.Nonzeros,
			digits(r.Processor, 3), c.goal, digits(r.Seconds, 3), digits(r.First, 2), r.Sweeps,
			digits((r.Objective-r.Bound)/r.Objective, 1),
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
