package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/monitor"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
)

// The products of a model with a budget.
const (
	productSteps  = 50
	productBudget = 1000
	productStored = 1000 // most states of a product that is stored too
)

// productRounds lists the jobs of products.
func (o *options) productRounds() [][]job {
	var all [][]job
	for _, states := range o.products {
		round := []job{{Kind: "generated", States: states, Seed: o.seed, Threads: 2}}
		if states <= productStored {
			round = append(round, job{Kind: "stored", States: states, Seed: o.seed, Threads: 2})
		}
		all = append(all, round)
	}
	return all
}

// product builds the product of a model with a budget and plans for the greatest reward that passes the budget
// with a probability of 0.05 at most. Time is that of both.
func (j job) product(ctx context.Context) (*outcome, error) {
	if c, ok := counterFamilies[j.Family]; ok {
		return j.counters(ctx, c)
	}
	m, err := j.spender()
	if err != nil {
		return nil, err
	}
	begin, used, watch := time.Now(), harness.ProcessorTime(), watchMemory()
	budget, err := monitor.NewBudget(monitor.BudgetSpec{Title: "fuel so far", Model: m, Coordinate: 1,
		Limits: []monitor.Threshold{{Kind: monitor.Above, At: productBudget}}})
	if err != nil {
		return nil, err
	}
	spec := monitor.Spec{Model: m, Monitors: []monitor.Monitor{budget}}
	if j.Kind == "generated" {
		spec.Generate = 1
	}
	p, err := monitor.New(spec)
	if err != nil {
		return nil, err
	}
	task, err := productTask(p.Model)
	if err != nil {
		return nil, err
	}
	r, err := exact.Solve(ctx, p.Model, task, exact.Options{Workers: j.Threads})
	if err != nil {
		return nil, err
	}
	if r.Status != exact.Optimal {
		return nil, fmt.Errorf("scale: product: %v", r.Status)
	}
	return &outcome{Seconds: time.Since(begin).Seconds(), Processor: (harness.ProcessorTime() - used).Seconds(),
		Objective: -r.Objective, Peak: harness.PeakMemory(),
		exactOutcome: exactOutcome{Bound: -r.Bound, Sweeps: r.Iterations, Nonzeros: p.Model.Transitions(),
			Pairs: p.Model.States(), Beside: watch.stop()}}, nil
}

// A counterFamily is a family of products of a model whose costs are counted.
type counterFamily struct {
	states int32
	waits  bool    // each state has a choice to wait
	toll   float64 // of the first reward, for each step of that
	rounds bool    // one may go to and fro between some states, which gains 0.01 and loses 0.2 of the first total
	kept   bool    // the cost never passes the bound
	// gathers is how much of the first total is asked for, for each unit of the bound: in some states one may go round
	// for 0.01 of it at a price of 0.02 of the second total. 0 for a curve without such a loop.
	gathers float64
}

var counterFamilies = map[string]counterFamily{
	"counters": {states: counted},
	"waits":    {states: counted, waits: true},
	"tolls":    {states: counted, waits: true, toll: 0.1},
	"rounds":   {states: counted, rounds: true},
	"kept":     {states: counted, waits: true, kept: true},
	"wide":     {states: 10 * counted},
	"gathers":  {states: counted, gathers: 2},
}

// counters builds the product of a model like that which the family counters unfolds, with the totals of two rewards
// within a bounded cost, and finds their curve. Time is that of both.
func (j job) counters(ctx context.Context, family counterFamily) (*outcome, error) {
	k := cmdp.NewKernel()
	for s := range family.states {
		eachCounted(family.states, s, func(cost int32, next []int32, rewards []float64) {
			k.Append(next, []float64{0.6, 0.4}, append(rewards, float64(cost)))
		})
		if family.waits {
			k.Append([]int32{s}, []float64{1}, []float64{-family.toll, 0, 0})
		}
		if family.rounds && s%10 >= 8 {
			k.Append([]int32{s ^ 1}, []float64{1}, []float64{[]float64{0.01, -0.2}[s%2], 0, 0})
		}
		if family.gathers > 0 && s%10 == 9 {
			k.Append([]int32{s}, []float64{1}, []float64{0.01, -0.02, 0})
		}
		k.EndState()
	}
	m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: 1, Dim: 3, Kernels: []cmdp.Kernel{k},
		Start: []cmdp.StartState{{State: 0, Probability: 1}}})
	if err != nil {
		return nil, err
	}
	begin, used := time.Now(), harness.ProcessorTime()
	spec := monitor.Spec{Model: m, Columns: []int{3, 4}}
	if j.Kind == "generated" {
		spec.Generate = 1
	}
	most := float64(j.States/int(family.states) - 1)
	for i, title := range []string{"first", "second"} {
		part := &monitor.PartialTotal{Reach: monitor.Reach{Title: title, Within: -1}, Coordinate: i}
		err := part.Spend(monitor.CostSpec{Name: "cost", Model: m, Coordinate: 2, AtMost: most})
		if err != nil {
			return nil, err
		}
		spec.Monitors = append(spec.Monitors, part)
	}
	if family.kept {
		kept, err := monitor.NewBudget(monitor.BudgetSpec{Title: "spent", Model: m, Coordinate: 2,
			Limits: []monitor.Threshold{{At: most, Enforced: true}}})
		if err != nil {
			return nil, err
		}
		spec.Enforced, spec.Monitors = []int{len(spec.Monitors)}, append(spec.Monitors, kept)
	}
	p, err := monitor.New(spec)
	if err != nil {
		return nil, err
	}
	solve := j.counterCurve
	if family.gathers > 0 {
		solve = func(ctx context.Context, m *cmdp.Model) (*outcome, error) {
			return j.gather(ctx, m, family.gathers*most)
		}
	}
	out, err := solve(ctx, p.Model)
	if err != nil {
		return nil, err
	}
	out.Seconds, out.Processor = time.Since(begin).Seconds(), (harness.ProcessorTime() - used).Seconds()
	out.Peak, out.Nonzeros, out.Pairs = harness.PeakMemory(), p.Model.Transitions(), p.Model.States()
	return out, nil
}

// counterCurve finds the curve of the two totals of a product.
func (j job) counterCurve(ctx context.Context, m *cmdp.Model) (*outcome, error) {
	opts := exact.FrontOptions{Options: exact.Options{Workers: j.Threads}, Error: curveError,
		Over: [][]float64{{-1, 0}, {0, -1}}}
	r, err := exact.Front(ctx, m, cmdp.Task{Box: endlessBox(2)}, opts)
	if err != nil {
		return nil, err
	}
	if r.Status != exact.Optimal {
		return nil, fmt.Errorf("scale: product: %v, error %g", r.Status, r.Relative)
	}
	return &outcome{exactOutcome: exactOutcome{Sweeps: r.Iterations},
		structureOutcome: structureOutcome{Points: len(r.Points)}}, nil
}

// gather finds the largest second total of a product with enough of the first one.
func (j job) gather(ctx context.Context, m *cmdp.Model, least float64) (*outcome, error) {
	task, err := query.TaskOf(ctx, &problem.Problem{Returns: []string{"first", "second"}, Model: m,
		Goal: problem.Goal{Maximize: "second"}, Constraints: []problem.Limit{{Return: "first", AtLeast: &least}}})
	if err != nil {
		return nil, err
	}
	r, err := exact.Solve(ctx, m, task, exact.Options{Workers: j.Threads})
	if err != nil {
		return nil, err
	}
	if r.Status != exact.Optimal {
		return nil, fmt.Errorf("scale: product: %v, gap %g", r.Status, r.Gap)
	}
	return &outcome{Objective: -r.Objective, exactOutcome: exactOutcome{Bound: -r.Bound, Sweeps: r.Iterations}}, nil
}

// spender draws the model: 2 choices in each state, with 2 successors, of which the second earns and spends more.
func (j job) spender() (*cmdp.Model, error) {
	rng := rand.New(rand.NewPCG(j.Seed, 0))
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: productSteps, Dim: 2,
		Start: []cmdp.StartState{{State: 0, Probability: 1}}}, j.States)
	for s := range j.States {
		for a := range 2 {
			fuel := float64(rng.IntN(26) * (1 - a))
			if a == 1 {
				fuel = float64(16 + rng.IntN(35))
			}
			row := cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a,
				Returns: []float64{math.Sqrt(fuel/50) * (0.5 + 0.5*rng.Float64()), fuel}}
			for range 2 {
				row.Next = append(row.Next, cmdp.Transition{Next: rng.IntN(j.States), Probability: 0.5})
			}
			if err := b.Add(row); err != nil {
				return nil, err
			}
		}
	}
	return b.Build()
}

// productTask maximises the first return while the last is at most 0.05.
func productTask(m *cmdp.Model) (cmdp.Task, error) {
	most := 0.05
	return query.TaskOf(context.Background(), &problem.Problem{Returns: []string{"reward", "fuel", "passed"}, Model: m,
		Goal:        problem.Goal{Maximize: "reward"},
		Constraints: []problem.Limit{{Return: "passed", AtMost: &most}}})
}

const products = `
## Products

A budget of 1,000 values over 50 steps, in models of S states with 2 choices and 2 successors of
each: the greatest reward for which the total of what is spent is above 1,000 with a probability of 0.05 at
most, to a certified gap of 1e-10. Rows of the product are generated from those of the model, or stored. Time is that of building the product and of
planning, on two threads.

| S | rows | pairs | transitions | value iterations | time, s | processor time, s | peak, MB | reward | gap |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
`

func writeProducts(b *strings.Builder, sec section) {
	b.WriteString(products)
	for _, r := range sec.Records {
		fmt.Fprintf(b, "| %d | %s | %d | %d | %d | %s | %s | %.0f | %.9f | %s |\n", r.States, r.Kind, r.Pairs,
			r.Nonzeros, r.Sweeps,
			digits(r.Seconds, 3), digits(r.Processor, 3), r.Peak/1e6, r.Objective,
			digits(math.Abs(r.exactOutcome.Bound-r.Objective), 1))
	}
}
