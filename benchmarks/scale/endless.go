package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/internal/available"
)

// An endlessCase is a model without a horizon that is measured.
type endlessCase struct {
	family string
	states int
	gamma  float64 // 0 for long-run means
	goal   string  // what the issue of the project asks for
}

// endlessCases lists the models in the order in which they are measured.
var endlessCases = []endlessCase{
	{"garnet", 100_000, 0.9, "5 s"}, {"garnet", 100_000, 0.99, "10 s"}, {"garnet", 100_000, 0.9999, "30 s"},
	{"ring", 20_000, 0.99, "5 s"}, {"ring", 100_000, 0.99, "40 s"},
	{"tree", 100_000, 1, ""}, {"tree", 1_000_000, 1, "30 s"},
	{"chain", 100_000, 1, ""}, {"chain", 1_000_000, 1, "30 s"},
	{"loops", 100_000, 1, ""}, {"loops", 1_000_000, 1, "30 s"},
	{"giant", 100_000, 1, ""}, {"giant", 1_000_000, 1, "30 s"},
	{"sensor", 50_000, 0, ""}, {"sensor", 500_000, 0, "60 s"},
}

// checkEndless reports a family that no case has.
func (j job) checkEndless() error {
	var known []string
	for _, c := range endlessCases {
		known = append(known, c.family)
	}
	return j.checkFamily(known)
}

// checkFamily reports a family that is not among the known ones.
func (j job) checkFamily(known []string) error {
	if slices.Contains(known, j.Family) {
		return nil
	}
	slices.Sort(known)
	return fmt.Errorf("scale: unknown family %q: want one of %s", j.Family, strings.Join(slices.Compact(known), ", "))
}

// returnsOf returns the number of returns of a family.
func returnsOf(family string) int {
	if family == "sensor" {
		return 3
	}
	return 2
}

// drawEndless draws the model of a family:
//
//   - garnet: 4 actions, 5 successors anywhere;
//   - ring: 3 actions, 5 successors within twenty states on a ring, where nothing mixes;
//   - tree: a graph without cycles, successors are a little to a third of the states
//     further on;
//   - chain: components of ten states, each a ring that is left for the next now and then;
//   - loops: as chain, and in every tenth state the process may wait for nothing;
//   - giant: one component, a way on which every tenth step fails and leads back;
//   - sensor: long-run means of a node that gathers energy and packets, see drawSensor.
//
// Totals have one or two actions of two successors each, three transitions for each state.
func drawEndless(rng *rand.Rand, family string, states int) cmdp.Kernel {
	if family == "sensor" {
		return drawSensor(rng, states)
	}
	k, dim := drawn(family, states), returnsOf(family)
	later := make([]float64, dim) // in the place of returns, which are drawn last
	row := func(next ...int32) {
		for i, n := range next {
			next[i] = min(n, int32(states-1))
		}
		share := parts(rng, len(next))
		if family == "giant" { // one step in ten fails
			share = []float64{0.9, 0.1}
		}
		k.Append(next, share, later)
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
				k.Append([]int32{s}, []float64{1}, later)
			}
		}
		k.EndState()
	}
	for c := range k.Choices() {
		if family == "loops" && k.Offset[c+1] == k.Offset[c]+1 {
			continue // waiting
		}
		for i := range dim {
			k.Returns[c*dim+i] = rng.Float64()
		}
	}
	return k
}

// drawn returns a kernel without states that has room for those of a family.
func drawn(family string, states int) cmdp.Kernel {
	choices, transitions := 3*states/2, 3*states
	switch family {
	case "garnet":
		choices, transitions = 4*states, 4*successors*states
	case "ring":
		choices, transitions = 3*states, 3*successors*states
	case "loops":
		choices, transitions = 8*states/5, 31*states/10
	case "sensor":
		choices, transitions = 2*states, 5*states
	}
	return emptyKernel(states, choices, transitions, returnsOf(family))
}

// emptyKernel returns a kernel without states that has room for so many.
func emptyKernel(states, choices, transitions, dim int) cmdp.Kernel {
	return cmdp.Kernel{First: make([]int32, 1, states+1), Offset: make([]int, 1, choices+1),
		Next: make([]int32, 0, transitions), Prob: make([]float64, 0, transitions),
		Returns: make([]float64, 0, choices*dim)}
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

// drawSensor draws the model of a node with a buffer of 50 packets, in one of many places that differ in what
// they offer and through which it is carried at random. It sleeps, or sends a packet where it has one,
// or is surely carried on. The returns are what waits, the energy used, and what is lost.
func drawSensor(rng *rand.Rand, states int) cmdp.Kernel {
	const buffer, dim = 50, 3
	k, places := drawn("sensor", states), int32(states/buffer)
	at := func(place, packets int32) int32 {
		return place*buffer + min(max(packets, 0), buffer-1)
	}
	row := func(returns [dim]float64, prob []float64, next ...int32) {
		k.Append(next, prob, returns[:])
	}
	for place := range places {
		arrive, reach, power := 0.2+0.6*rng.Float64(), 0.5+0.5*rng.Float64(), 0.5+rng.Float64()
		moved := rng.Int32N(places)
		for b := range int32(buffer) {
			waits, lost := float64(b)/buffer, 0.0
			if b == buffer-1 {
				lost = arrive
			}
			row([dim]float64{waits, 0, lost}, []float64{0.9 * arrive, 0.9 * (1 - arrive), 0.1}, at(place, b+1),
				at(place, b), at(moved, b))
			if b > 0 {
				row([dim]float64{waits, power, 0}, []float64{reach, 1 - reach}, at(place, b-1), at(place, b))
			} else {
				row([dim]float64{waits, 0.1, 0}, []float64{arrive, 1 - arrive}, at((place+1)%places, 1),
					at((place+1)%places, 0))
			}
			k.EndState()
		}
	}
	return k
}

// endlessModel draws the model of a job.
func (j job) endlessModel() (*cmdp.Model, error) {
	if err := j.checkEndless(); err != nil {
		return nil, err
	}
	k := drawEndless(rand.New(cmdp.Stream(j.Seed, j.Family)), j.Family, j.States)
	m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: j.Gamma, Average: j.Gamma == 0, Dim: returnsOf(j.Family),
		Kernels: []cmdp.Kernel{k},
		Start:   []cmdp.StartState{{State: 0, Probability: 1}}})
	if err == nil {
		available.Limit()
	}
	return m, err
}

// endlessProblem draws the problem of a job: the first return is to be small while the others are at most
// half-way between a cautious policy and the one that is best for the first.
func (j job) endlessProblem(ctx context.Context) (*problem.Problem, error) {
	m, err := j.endlessModel()
	if err != nil {
		return nil, err
	}
	box := endlessBox(m.Dim())
	p := &problem.Problem{Name: fmt.Sprintf("%s:S=%d,discount=%g", j.Family, j.States, j.Gamma), Model: m,
		Goal: problem.Goal{Minimize: "r0"}}
	others := slices.Repeat([]float64{1}, m.Dim())
	others[0] = 0
	ends := [2][]float64{}
	for i, dir := range [][]float64{axis(m.Dim(), 0), others} {
		r, err := exact.Solve(ctx, m, cmdp.Task{Cost: linearCost(box, dir), Box: box},
			exact.Options{Workers: 1, Gap: endlessGap})
		if err != nil {
			return nil, err
		}
		ends[i] = r.Returns
	}
	for i := range m.Dim() {
		p.Returns = append(p.Returns, fmt.Sprintf("r%d", i))
		if bound := (ends[0][i] + ends[1][i]) / 2; i > 0 {
			p.Constraints = append(p.Constraints, problem.Limit{Return: p.Returns[i], AtMost: &bound})
		}
	}
	return p, nil
}

func axis(dim, i int) []float64 {
	v := make([]float64, dim)
	v[i] = 1
	return v
}
