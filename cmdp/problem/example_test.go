package problem_test

import (
	"context"
	"fmt"
	"log"

	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
)

// A problem file is read, planned for, and answered in its own names.
func ExampleParse() {
	p, err := problem.Parse("pump.yaml", []byte(`
format: cmdp/1
horizon: 2
states: [on]
start: on
returns: [output, noise]
goal: {maximize: output}
constraints: [{return: noise, at_most: 1}]
transitions:
  - {state: on, action: slow, next: {on: 1}, returns: {output: 1, noise: 0.25}}
  - {state: on, action: fast, next: {on: 1}, returns: {output: 3, noise: 1}}
`), nil)
	if err != nil {
		log.Fatal(err)
	}
	task, err := p.Task()
	if err != nil {
		log.Fatal(err)
	}
	r, err := exact.Solve(context.Background(), p.Model, task, exact.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v, %s %.3f\n", r.Status, p.Returns[0], p.Objective(r.Returns))
	for row := range p.PlanRows(r.Policy, nil) {
		fmt.Printf("step %d, %s: %s with probability %.3f\n", row.Step, row.State, row.Action, row.Probability)
	}
	// Output:
	// optimal, output 3.333
	// step 1, on: slow with probability 1.000
	// step 2, on: slow with probability 0.333
	// step 2, on: fast with probability 0.667
}
