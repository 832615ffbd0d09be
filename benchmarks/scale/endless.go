package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
)

// An endlessCase is a model without a horizon that is measured.
type endlessCase struct {
	family string
	states int
	gamma  float64
	goal   string // what the issue of the project asks for
}

// endlessCases lists the models in the order in which they are measured.
var endlessCases = []endlessCase{
	{"garnet", 100_000, 0.9, "5 s"}, {"garnet", 100_000, 0.99, "10 s"}, {"garnet", 100_000, 0.9999, "30 s"},
	{"ring", 20_000, 0.99, "5 s"}, {"ring", 100_000, 0.99, "40 s"},
	{"tree", 100_000, 1, ""}, {"tree", 1_000_000, 1, "30 s"},
	{"chain", 100_000, 1, ""}, {"chain", 1_000_000, 1, "30 s"},
	{"loops", 100_000, 1, ""}, {"loops", 1_000_000, 1, "30 s"},
	{"giant", 100_000, 1, ""}, {"giant", 1_000_000, 1, "30 s"},
}

// endlessDim is the number of returns of these models.
const endlessDim = 2

// drawEndless draws the model of a family:
//
//   - garnet: 4 actions, 5 successors anywhere;
//   - ring: 3 actions, 5 successors within twenty states on a ring, where nothing mixes;
//   - tree: a graph without cycles, successors are a little to a third of the states
//     further on;
//   - chain: components of ten states, each a ring that is left for the next now and then;
//   - loops: as chain, and in every tenth state the process may wait for nothing;
//   - giant: one component, a way on which every tenth step fails and leads back.
//
// Totals have one or two actions of two successors each, three transitions for each state.
func drawEndless(rng *rand.Rand, family string, states int) cmdp.Kernel {
	k := cmdp.Kernel{First: make([]int32, 1, states+1), Offset: make([]int, 1, 2*states)}
	row := func(next ...int32) {
		for _, n := range next {
			k.Next = append(k.Next, min(n, int32(states-1)))
		}
		share := parts(rng, len(next))
		if family == "giant" { // one step in ten fails
			share = []float64{0.9, 0.1}
		}
		k.Prob = append(k.Prob, share...)
		k.Offset = append(k.Offset, len(k.Next))
	}
	for s := range int32(states) {
		switch {
		case family == "garnet" || family == "ring":
			for range map[string]int{"garnet": 4, "ring": 3}[family] {
				row(successorsOf(rng, family, int(s), states)...)
			}
		case int(s) < states-1: // the last state rests
			for range 1 + s%2 {
				row(stepOf(rng, family, s, int32(states))...)
			}
			if family == "loops" && s%10 == 4 {
				k.Next, k.Prob, k.Offset = append(k.Next, s), append(k.Prob, 1), append(k.Offset, len(k.Next)+1)
			}
		}
		k.First = append(k.First, int32(len(k.Offset)-1))
	}
	k.Returns = make([]float64, (len(k.Offset)-1)*endlessDim)
	for c := range len(k.Offset) - 1 {
		if family == "loops" && k.Offset[c+1] == k.Offset[c]+1 {
			continue // waiting
		}
		for i := range endlessDim {
			k.Returns[c*endlessDim+i] = rng.Float64()
		}
	}
	return k
}

// successorsOf draws five different successors of a state of a garnet or a ring.
func successorsOf(rng *rand.Rand, family string, s, states int) []int32 {
	var next []int32
	for len(next) < successors {
		n := int32(rng.IntN(states))
		if family == "ring" {
			n = int32((s + states - 10 + rng.IntN(21)) % states)
		}
		if !slices.Contains(next, n) {
			next = append(next, n)
		}
	}
	return next
}

// stepOf draws two successors of a state of a model of totals.
func stepOf(rng *rand.Rand, family string, s, states int32) []int32 {
	const ring, strip = 10, 1000
	switch family {
	case "tree":
		return []int32{s + 1 + rng.Int32N(states/100), s + 1 + rng.Int32N(states/3)}
	case "giant":
		return []int32{s + strip/2 + rng.Int32N(strip), max(0, s-rng.Int32N(strip))}
	}
	if base := s - s%ring; s%3 == 0 {
		return []int32{base + ring + rng.Int32N(ring), base + (s+1)%ring}
	} else {
		return []int32{base + (s+1)%ring, base + rng.Int32N(ring)}
	}
}

// parts divides 1 at random.
func parts(rng *rand.Rand, n int) []float64 {
	out, sum := make([]float64, n), 0.0
	for i := range out {
		out[i] = 0.05 + rng.Float64()
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// endlessProblem draws the model of a job: the first return is to be small while the
// second is at most half-way between its least value and that of the policy which is best for the first.
func (j job) endlessProblem(ctx context.Context) (*problem.Problem, error) {
	k := drawEndless(rand.New(cmdp.Stream(j.Seed, j.Family)), j.Family, j.States)
	m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: j.Gamma, Dim: endlessDim, Kernels: []cmdp.Kernel{k},
		Start: []cmdp.StartState{{State: 0, Probability: 1}}})
	if err != nil {
		return nil, err
	}
	box, err := endlessBox()
	if err != nil {
		return nil, err
	}
	var second [endlessDim]float64
	for i := range endlessDim {
		r, err := exact.Solve(ctx, m, cmdp.Task{Cost: axisCost(box, i), Box: box}, exact.Options{Workers: 1, Gap: endlessGap})
		if err != nil {
			return nil, err
		}
		second[i] = r.Returns[1]
	}
	bound := (second[0] + second[1]) / 2
	return &problem.Problem{
		Name: fmt.Sprintf("%s:S=%d,discount=%g", j.Family, j.States, j.Gamma), Model: m, Returns: []string{"r0", "r1"},
		Goal: problem.Goal{Minimize: "r0"}, Constraints: []problem.Constraint{{Return: "r1", AtMost: &bound}},
	}, nil
}
