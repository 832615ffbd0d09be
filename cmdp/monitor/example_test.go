package monitor_test

import (
	"context"
	"fmt"
	"log"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/monitor"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// A walker has three steps to come to the end of a corridor, and each step succeeds with
// probability one half. How likely is it to arrive?
func ExampleNew() {
	const corridor, end = 0, 1
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 3, Dim: 1, Start: []cmdp.StartState{{State: corridor, Probability: 1}}}, 2)
	for _, row := range []cmdp.Row{
		{State: corridor, Returns: []float64{0}, Next: []cmdp.Transition{{Next: end, Probability: 0.5}, {Next: corridor, Probability: 0.5}}},
		{State: end, Returns: []float64{0}, Next: []cmdp.Transition{{Next: end, Probability: 1}}},
	} {
		if err := b.Add(row); err != nil {
			log.Fatal(err)
		}
	}
	m, err := b.Build()
	if err != nil {
		log.Fatal(err)
	}
	arrives := &monitor.Reach{Title: "arrives", Target: []bool{corridor: false, end: true}, Within: -1}
	p, err := monitor.New(monitor.Spec{Model: m, Monitors: []monitor.Monitor{arrives}, Columns: []int{1}})
	if err != nil {
		log.Fatal(err)
	}
	box, err := geometry.NewBox([]float64{0}, []float64{1})
	if err != nil {
		log.Fatal(err)
	}
	likely, err := cost.NewLinear([]float64{-1}, box)
	if err != nil {
		log.Fatal(err)
	}
	r, err := exact.Solve(context.Background(), p.Model, cmdp.Task{Cost: likely}, exact.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d states, memory %q; arrives with probability %.3f\n", p.Model.States(), p.Memory(0), r.Returns[0])
	// Output:
	// 2 states, memory "under way"; arrives with probability 0.875
}
