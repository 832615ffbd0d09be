package robust_test

import (
	"context"
	"fmt"
	"log"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/robust"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// A machine works, earns 1 and breaks with a probability of 0.1 to 0.3, or rests. It may break at most 0.4 times in
// three steps.
func Example() {
	k := cmdp.NewKernel()
	k.Append([]int32{0, 1}, []float64{0.8, 0.2}, []float64{1, 0}) // work
	k.Append([]int32{0}, []float64{1}, []float64{0, 0})           // rest
	k.EndState()
	k.Append([]int32{0}, []float64{1}, []float64{0, 1}) // repair
	k.EndState()
	m, err := cmdp.NewModel(cmdp.ModelSpec{Horizon: 3, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}},
		Kernels: []cmdp.Kernel{k}})
	if err != nil {
		log.Fatal(err)
	}
	iv, err := cmdp.Widen(m, nil, 0.1)
	if err != nil {
		log.Fatal(err)
	}
	set, err := robust.New(robust.Spec{Model: m, Intervals: iv})
	if err != nil {
		log.Fatal(err)
	}

	// Earn as much as possible, with at most 0.4 repairs.
	box, err := geometry.NewBox([]float64{0, 0}, []float64{3, 3})
	if err != nil {
		log.Fatal(err)
	}
	earn, err := cost.NewLinear([]float64{-1, 0}, box)
	if err != nil {
		log.Fatal(err)
	}
	limit, err := geometry.NewBox([]float64{0, 0}, []float64{3, 0.4})
	if err != nil {
		log.Fatal(err)
	}
	target, err := limit.Bounded()
	if err != nil {
		log.Fatal(err)
	}
	task := cmdp.Task{Cost: earn, Target: target, Box: box}
	r, err := robust.Solve(context.Background(), set, task, robust.SolveOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("earns %.4f in the worst model, and no policy more than %.4f\n", -r.Objective, -r.Bound)
	fmt.Printf("repairs: %.4f to %.4f\n", r.Bounds.Least[1], r.Bounds.Greatest[1])
	// Output:
	// earns 2.2333 in the worst model, and no policy more than 2.2333
	// repairs: 0.1429 to 0.4000
}
