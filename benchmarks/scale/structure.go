package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/geometry"
	"cmdpsolve/internal/available"
)

// A structureCase is a model in the manner of a family of benchmark queries, whose limits are asked for without a goal.
type structureCase struct {
	family string
	states int
}

var structureCases = []structureCase{
	{"team", 100_000}, {"team", 908_000}, {"rooms", 100_000}, {"rooms", 390_000}, {"power", 100_000}, {"power", 424_000},
}

// structureOutcome is what only structures have: processor time cannot be told apart by phases, so that they are on the clock.
type structureOutcome struct {
	Phases []exact.Phase `json:"phases,omitempty"`
}

// drawStructure draws the model of a family, of totals:
//
//   - team: a tree in which chance decides the first moves and then nothing; three returns;
//   - rooms: components of eight states, each left for the next now and then, in a row; two returns;
//   - power: one component, a queue of requests beside the modes of a machine, which come to rest at its end; two returns.
func drawStructure(rng *rand.Rand, family string, states int) (k cmdp.Kernel, dim int) {
	k = cmdp.NewKernel()
	switch family {
	case "team":
		drawTeam(rng, &k, int32(states))
		return k, 3
	case "rooms":
		drawRooms(rng, &k, int32(states))
	default:
		drawPower(rng, &k, int32(states))
	}
	return k, 2
}

func drawTeam(rng *rand.Rand, k *cmdp.Kernel, states int32) {
	const chance, ways = 3, 49
	used := int32(1)
	for s := range states {
		left := states - used
		switch {
		case left <= 0:
		case s < chance:
			n := min(left, ways)
			next := make([]int32, n)
			for i := range next {
				next[i] = used + int32(i)
			}
			used += n
			k.Append(next, slices.Repeat([]float64{1 / float64(n)}, int(n)), make([]float64, 3))
		default:
			n := int32(1)
			switch x := rng.Float64(); {
			case x < 0.2 && used-s >= 100:
				n = 0
			case x > 0.88:
				n = 3
			case x > 0.75 || used-s < 100:
				n = 2
			}
			for range min(n, left) {
				returns := make([]float64, 3)
				if rng.Float64() < 0.1 {
					returns[rng.IntN(3)] = float64(1+rng.IntN(8)) / 8
				}
				k.Append([]int32{used}, []float64{1}, returns)
				used++
			}
		}
		k.EndState()
	}
}

func drawRooms(rng *rand.Rand, k *cmdp.Kernel, states int32) {
	const size = 8
	last := states - 1
	for s := range last {
		base := s - s%size
		for a := range 1 + int(s%3) {
			returns := []float64{float64(1 + rng.IntN(4)), float64(1 + rng.IntN(4))}
			returns[a%2] /= 3
			next := []int32{min(last, base+size+rng.Int32N(size)), min(last, base+(s+1)%size)}
			k.Append(next, []float64{0.5, 0.5}, returns)
		}
		k.EndState()
	}
	k.EndState()
}

func drawPower(rng *rand.Rand, k *cmdp.Kernel, states int32) {
	const modes, phases = 6, 35
	levels := (states - 1) / (modes * phases)
	at := func(level, mode, phase int32) int32 { return (level*modes+mode)*phases + phase%phases }
	rest := levels * modes * phases
	for level := range levels {
		for mode := range int32(modes) {
			for phase := range int32(phases) {
				waits := float64(level%7) / 7
				switch {
				case phase == 0 && level == levels-1:
					k.Append([]int32{at(level, mode, 1), rest}, []float64{0.5, 0.5}, []float64{0, waits})
				case phase == 0: // a request comes, or is done
					k.Append([]int32{at(level+1, mode, 1), at(level, mode, 1), at(level, mode, 2), at(max(0, level-1), mode, 3)},
						[]float64{0.3, 0.5, 0.1, 0.1}, []float64{0, waits})
				case phase%6 != 1:
					k.Append([]int32{at(level, mode, phase+1)}, []float64{1}, []float64{float64(mode) / 10, waits})
				default:
					for to := range int32(modes) {
						energy := 0.1 * float64((to*to+mode)%5) * (1 + rng.Float64())
						slow := 0.2 * float64(modes-to) * (1 + rng.Float64())
						next := at(level, to, phase+1)
						if to > 2 && level+1 < levels {
							next = at(level+1, to, phase+1)
						}
						k.Append([]int32{next}, []float64{1}, []float64{energy, slow})
					}
				}
				k.EndState()
			}
		}
	}
	k.EndState()
}

// structure measures the verdict on limits. Those of a team are each 3% short of what it can reach in one return alone, so that no
// policy keeps all; the others lie half-way between the policies that are best for one return.
func (j job) structure(ctx context.Context) (*outcome, error) {
	k, dim := drawStructure(rand.New(cmdp.Stream(j.Seed, j.Family)), j.Family, j.States)
	m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: 1, Dim: dim, Kernels: []cmdp.Kernel{k}, Start: []cmdp.StartState{{State: 0, Probability: 1}}})
	if err != nil {
		return nil, err
	}
	available.Limit()
	box, err := endlessBox(dim)
	if err != nil {
		return nil, err
	}
	lower, upper, ends := box.Lower(), box.Upper(), make([][]float64, dim)
	for i := range dim {
		dir := axis(dim, i)
		if j.Family == "team" {
			dir[i] = -1
		}
		r, err := exact.Solve(ctx, m, cmdp.Task{Cost: linearCost(box, dir), Box: box}, exact.Options{Workers: j.Threads, Gap: endlessGap})
		if err != nil {
			return nil, err
		}
		ends[i] = r.Returns
	}
	for i := range dim {
		if j.Family == "team" {
			lower[i] = 0.97 * ends[i][i]
		} else {
			upper[i] = 0.52*ends[i][i] + 0.48*ends[1-i][i]
		}
	}
	limits, err := geometry.NewBox(lower, upper)
	if err != nil {
		return nil, err
	}
	target, err := limits.Bounded()
	if err != nil {
		return nil, err
	}
	start, used := time.Now(), harness.ProcessorTime()
	r, err := exact.Solve(ctx, m, cmdp.Task{Target: target, Box: box}, exact.Options{Workers: j.Threads, NoNearest: true})
	if err != nil {
		return nil, err
	}
	return &outcome{
		Seconds: time.Since(start).Seconds(), Processor: (harness.ProcessorTime() - used).Seconds(),
		exactOutcome:     exactOutcome{Sweeps: r.Iterations, Randomized: r.Randomized, Nonzeros: m.Transitions()},
		structureOutcome: structureOutcome{Phases: r.Phases}, queryOutcome: queryOutcome{Verdict: r.Status.String()},
		Peak: harness.PeakMemory(),
	}, nil
}

// structureRounds lists the jobs of structures.
func (o *options) structureRounds() [][]job {
	var all [][]job
	for _, c := range structureCases {
		if c.states <= o.endless {
			all = append(all, []job{{Kind: "structure", Family: c.family, States: c.states, Seed: o.seed, Threads: 1, Limit: o.limit}})
		}
	}
	return all
}

const structures = `
### Structures of queries

Can all limits be kept? Models in the manner of families of queries, without a goal, to rounding, on one thread.

* **team**: a tree in which chance decides the first moves, three returns; the limits are each 3% short of what can be reached in one return alone.
* **rooms**: components of eight states in a row, each left for the next now and then, two returns; the limits lie half-way between the policies that are best
  for one return.
* **power**: one component, a queue of requests beside the modes of a machine; limits as before.

The phases are on the clock: of the graph, of the verdict with the nearest returns, of one policy, and of the proof.

| family | S | transitions | verdict | value iterations | processor time, s | analysis, s | solution, s | recovery, s | certification, s |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
`

func writeStructures(b *strings.Builder, sec section) {
	first := true
	for _, r := range sec.Records {
		if r.Kind != "structure" {
			continue
		}
		if first {
			b.WriteString(structures)
			first = false
		}
		fmt.Fprintf(b, "| %s | %d | %d | %s | %d | %s |", r.Family, r.States, r.Nonzeros, r.Verdict, r.Sweeps, digits(r.Processor, 3))
		for _, name := range []string{"analysis", "solution", "recovery", "certification"} {
			took := time.Duration(0)
			for _, p := range r.Phases {
				if p.Name == name {
					took = p.Time
				}
			}
			fmt.Fprintf(b, " %s |", digits(took.Seconds(), 2))
		}
		b.WriteString("\n")
	}
}
