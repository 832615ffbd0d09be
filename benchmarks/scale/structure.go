package main

import (
	"context"
	"fmt"
	"maps"
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
	curve  bool // the trade-off curve between two returns is asked for instead
}

var structureCases = []structureCase{
	{"team", 100_000, false}, {"team", 908_000, false}, {"rooms", 100_000, false}, {"rooms", 390_000, false},
	{"power", 100_000, false},
	{"power", 424_000, false}, {"philosophers", 25_000, false}, {"philosophers", 150_000, false},
	{"exclusion", 35_000, false},
	{"rooms", 390_000, true}, {"rooms", 874_000, true}, {"clock", 300_000, true}, {"clock", 1_000_000, true},
	{"budget", 1_000_000, true},
	{"grid", 16_900, true}, {"grid", 64_000, true}, {"gridfar", 64_000, true},
	{"counters", 160_000, true}, {"counters", 1_000_000, true},
	{"sensor", 50_000, true},
	{"sensor", 500_000, true},
}

// structureOutcome is what only structures have: processor time cannot be told apart by phases, so that they
// are on the clock.
type structureOutcome struct {
	Phases   []exact.Phase `json:"phases,omitempty"`
	Reached  int           `json:"reached,omitempty"`  // states of the model
	Points   int           `json:"points,omitempty"`   // of a curve
	Conflict float64       `json:"conflict,omitempty"` // processor time of the conflict, beyond the verdict
}

// A structure is a family of models, of totals or of long-run means.
type structure struct {
	draw    func(rng *rand.Rand, k *cmdp.Kernel, states int32)
	dim     int
	average bool
	large   bool // returns are to be large
	// The limit on a return lies between the best policy for it and the worst of those that are best for
	// another one, at this share of the way from the latter.
	share float64
	start func(states int) int // nil for state 0
}

var structures = map[string]structure{
	"team":         {draw: drawTeam, dim: 3, large: true, share: 0.97},
	"rooms":        {draw: drawRooms, dim: 2, share: 0.52},
	"power":        {draw: drawPower, dim: 2, share: 0.52},
	"philosophers": {draw: philosophers().draw, dim: 3, average: true, large: true, share: 0.4},
	"grid":         {draw: drawGrid, dim: 2},
	"gridfar":      {draw: drawGrid, dim: 2, start: gridMiddle},
	"sensor": {dim: 3, average: true, draw: func(rng *rand.Rand, k *cmdp.Kernel, states int32) {
		*k = drawSensor(rng, int(states))
	}},
	"clock":     {draw: drawClock, dim: 2},
	"budget":    {draw: drawBudget, dim: 2},
	"counters":  {draw: drawCounters, dim: 2, large: true},
	"exclusion": {draw: exclusion().draw, dim: 3, average: true, large: true, share: 0.4},
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
					k.Append([]int32{at(level+1, mode, 1), at(level, mode, 1), at(level, mode, 2),
						at(max(0, level-1), mode, 3)},
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

// model draws the model of a job.
func (f structure) model(j job) (*cmdp.Model, error) {
	k := cmdp.NewKernel()
	f.draw(rand.New(cmdp.Stream(j.Seed, j.Family)), &k, int32(j.States))
	start := 0
	if f.start != nil {
		start = f.start(j.States)
	}
	spec := cmdp.ModelSpec{Dim: f.dim, Average: f.average, Kernels: []cmdp.Kernel{k},
		Start: []cmdp.StartState{{State: start, Probability: 1}}}
	if !f.average {
		spec.Discount = 1
	}
	m, err := cmdp.NewModel(spec)
	if err == nil {
		available.Limit()
	}
	return m, err
}

// structureModel draws the model of a job, of its family.
func (j job) structureModel() (structure, *cmdp.Model, error) {
	f := structures[j.Family]
	if err := j.checkFamily(slices.Collect(maps.Keys(structures))); err != nil {
		return f, nil, err
	}
	m, err := f.model(j)
	return f, m, err
}

// direction is that in which a return is to be small, or large.
func (f structure) direction(i int) []float64 {
	dir := axis(f.dim, i)
	if f.large {
		dir[i] = -1
	}
	return dir
}

// limits returns those of a structure, see share.
func (f structure) limits(ctx context.Context, m *cmdp.Model, box *geometry.Box) (*geometry.Box, error) {
	ends := make([][]float64, f.dim)
	for i := range ends {
		dir := f.direction(i)
		r, err := exact.Solve(ctx, m, cmdp.Task{Cost: linearCost(box, dir), Box: box},
			exact.Options{Workers: 1, Gap: endlessGap})
		if err != nil {
			return nil, err
		}
		ends[i] = r.Returns
	}
	lower, upper := box.Lower(), box.Upper()
	for i := range ends {
		worst := ends[i][i]
		for _, v := range ends {
			if f.large {
				worst = min(worst, v[i])
			} else {
				worst = max(worst, v[i])
			}
		}
		at := f.share*ends[i][i] + (1-f.share)*worst
		if f.large {
			lower[i] = at
		} else {
			upper[i] = at
		}
	}
	return geometry.NewBox(lower, upper)
}

// structure measures the verdict on limits, and then what it takes to say which of them are in conflict and how
// far each has to give.
func (j job) structure(ctx context.Context) (*outcome, error) {
	f, m, err := j.structureModel()
	if err != nil {
		return nil, err
	}
	box := endlessBox(f.dim)
	limits, err := f.limits(ctx, m, box)
	if err != nil {
		return nil, err
	}
	target, err := limits.Bounded()
	if err != nil {
		return nil, err
	}
	planner, err := exact.NewPlanner(m, j.Threads)
	if err != nil {
		return nil, err
	}
	start, used := time.Now(), harness.ProcessorTime()
	r, err := planner.Solve(ctx, cmdp.Task{Target: target, Box: box}, exact.Options{NoNearest: true})
	if err != nil {
		return nil, err
	}
	out := &outcome{
		Seconds: time.Since(start).Seconds(), Processor: (harness.ProcessorTime() - used).Seconds(),
		exactOutcome:     exactOutcome{Sweeps: r.Iterations, Randomized: r.Randomized, Nonzeros: m.Transitions()},
		structureOutcome: structureOutcome{Phases: r.Phases, Reached: m.States()},
		queryOutcome:     queryOutcome{Verdict: r.Status.String()},
	}
	if r.Status == exact.Infeasible {
		used = harness.ProcessorTime()
		task := cmdp.Task{Box: box}
		task.Constraints, _ = cmdp.Task{Target: target}.LinearConstraints(box.Lower(), box.Upper())
		if _, err := planner.Conflict(ctx, task, nil, exact.Options{Iterations: r.Iterations}); err != nil {
			return nil, err
		}
		out.Conflict = (harness.ProcessorTime() - used).Seconds()
	}
	out.Peak = harness.PeakMemory()
	return out, nil
}

// curveError is the error of curves, as a fraction of the range of each return.
const curveError = 1e-3

// curve measures the trade-off curve between two returns.
func (j job) curve(ctx context.Context) (*outcome, error) {
	f, m, err := j.structureModel()
	if err != nil {
		return nil, err
	}
	box := endlessBox(f.dim)
	opts := exact.FrontOptions{Options: exact.Options{Workers: j.Threads}, Error: curveError}
	for i := range 2 {
		opts.Over = append(opts.Over, f.direction(i))
	}
	start, used := time.Now(), harness.ProcessorTime()
	r, err := exact.Front(ctx, m, cmdp.Task{Box: box}, opts)
	if err != nil {
		return nil, err
	}
	if r.Status != exact.Optimal {
		return nil, fmt.Errorf("scale: curve of %s: %v, error %g", j.Family, r.Status, r.Relative)
	}
	return &outcome{
		Seconds: time.Since(start).Seconds(), Processor: (harness.ProcessorTime() - used).Seconds(),
		exactOutcome:     exactOutcome{Sweeps: r.Iterations, Nonzeros: m.Transitions()},
		structureOutcome: structureOutcome{Reached: m.States(), Points: len(r.Points)}, Peak: harness.PeakMemory(),
	}, nil
}

// structureRounds lists the jobs of structures.
func (o *options) structureRounds() [][]job {
	var all [][]job
	for _, c := range structureCases {
		if c.states <= o.endless {
			kind := "structure"
			if c.curve {
				kind = "curve"
			}
			all = append(all, []job{{Kind: kind, Family: c.family, States: c.states, Seed: o.seed, Threads: 1,
				Limit: o.limit}})
		}
	}
	return all
}

const structurePage = `
### Structures of queries

Can all limits be kept? Models in the manner of families of queries, without a goal, to rounding, on one thread.

* **team**: a tree in which chance decides the first moves, three returns; the limits are each 3% short of what can be reached in one return alone.
* **rooms**: components of eight states in a row, each left for the next now and then, two returns; the limits lie half-way between the policies that are best
  for one return.
* **power**: one component, a queue of requests beside the modes of a machine; limits as before.
* **philosophers** and **exclusion**: processes that a scheduler moves one at a time, one component, three long-run means; each limit lies 40% of the way to what can be
  reached in one return alone.

The phases are on the clock: of the graph, of the verdict with the nearest returns, of one policy, and of the proof. "Conflict" is the processor time, beyond the
verdict, of finding which limits are in conflict and how far each has to give.

| family | S | transitions | verdict | value iterations | processor time, s | conflict, s | analysis, s | solution, s | recovery, s | certification, s |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
`

const curvePage = `
### Trade-off curves

The curve between the first two returns, to a thousandth of the range of each, on one thread. Families that do not stand above:

* **clock**: steps of a protocol with a clock, each of which begins again where two parties draw the same; totals.
* **budget**: layers, one for each value of what is left of a budget, without a cycle; totals.
* **grid**: a grid whose sides meet, four ways from each state, of five successors or one; one component, totals.
* **gridfar**: such a grid, from its middle, which is farthest from its end.
* **counters**: a model of 4,000 states unfolded with a counter of cost; totals, which are to be large.

| family | S | transitions | points | value iterations | processor time, s |
| --- | --- | --- | --- | --- | --- |
`

func writeStructures(b *strings.Builder, sec section) {
	writeKind(b, sec, "structure", structurePage, 5, func(r record) {
		conflict := ""
		if r.Conflict > 0 {
			conflict = digits(r.Conflict, 3)
		}
		fmt.Fprintf(b, "| %s | %d | %d | %s | %d | %s | %s |", r.Family, r.Reached, r.Nonzeros, r.Verdict, r.Sweeps,
			digits(r.Processor, 3), conflict)
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
	})
	writeKind(b, sec, "curve", curvePage, 0, func(r record) {
		fmt.Fprintf(b, "| %s | %d | %d | %d | %d | %s |\n", r.Family, r.Reached, r.Nonzeros, r.Points, r.Sweeps,
			digits(r.Processor, 3))
	})
}

// writeKind writes a page and the records of one kind, if there are any. The sixth column is the processor time, and
// so many columns follow.
func writeKind(b *strings.Builder, sec section, kind, page string, follow int, write func(record)) {
	for i, r := range slices.DeleteFunc(slices.Clone(sec.Records), func(r record) bool { return r.Kind != kind }) {
		if i == 0 {
			b.WriteString(page)
		}
		if r.CutOff {
			fmt.Fprintf(b, "| %s | %d | | | | more than %s |%s\n", r.Family, r.States, digits(r.Processor, 3),
				strings.Repeat(" |", follow))
			continue
		}
		write(r)
	}
}
