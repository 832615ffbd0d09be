package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
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
func endlessBox(dim int) (*geometry.Box, error) {
	return geometry.NewBox(make([]float64, dim), slices.Repeat([]float64{1e9}, dim))
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
	box, err := endlessBox(p.Model.Dim())
	if err != nil {
		return nil, err
	}
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
	progress := func(int, float64, float64) {
		working("", 0)
		last = time.Now()
	}
	r, err := exact.Solve(ctx, p.Model, cmdp.Task{Cost: linearCost(box, axis(p.Model.Dim(), 0)), Target: target, Box: box}, exact.Options{Workers: j.Threads, Gap: endlessGap, Progress: progress, Working: working})
	if err != nil {
		return nil, err
	}
	if r.Status != exact.Optimal {
		return nil, fmt.Errorf("scale: %s: %v, gap %g", p.Name, r.Status, r.Gap)
	}
	return &outcome{
		Seconds: time.Since(start).Seconds(), Processor: (harness.ProcessorTime() - used).Seconds(), Objective: r.Objective,
		exactOutcome: exactOutcome{Bound: r.Bound, Sweeps: r.Iterations, Sweeping: last.Sub(start).Seconds(), Randomized: r.Randomized,
			Policy: endlessChecksum(p.Model, r), Nonzeros: p.Model.Transitions(), Model: modelBytes(p.Model), Beside: watch.stop()},
		endlessOutcome: endlessOutcome{First: first.Sub(start).Seconds()},
		Peak:           harness.PeakMemory(),
	}, nil
}

// A plain is value iteration or modified policy iteration as the textbooks have it, for
// the first return alone and from scratch: sweeps of all choices, each followed by the given number of
// sweeps of the policy, until no value changes by more than the gap of the largest, with a discount until that
// bounds the error.
func (j job) plain(ctx context.Context, sweeps int) (*outcome, error) {
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
			return &outcome{CutOff: bound > endlessGap*size, Seconds: time.Since(start).Seconds(), Processor: (harness.ProcessorTime() - used).Seconds(),
				Objective: v[0], exactOutcome: exactOutcome{Sweeps: round}, endlessOutcome: endlessOutcome{Error: bound / size}}, nil
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
	for _, c := range r.Components {
		all += checksum(m, c.Policy)
	}
	return all
}
