package query_test

import (
	"context"
	"fmt"
	"log"

	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
	"cmdpsolve/cmdp/robust"
)

// check ends an example with an error, which there is none of.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A problem file is read, planned for and answered in its own names, its policy is played, and one of its
// limits is swept.
func Example() {
	ctx := context.Background()
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
	check(err)
	q, err := query.New(ctx, p, query.CompileOptions{})
	check(err)
	r, err := q.Solve(ctx, exact.Options{})
	check(err)
	fmt.Printf("%v, %s %.3f\n", r.Status, q.Returns[0], q.Objective(r.Returns))
	for row := range q.PlanRows(r.Policy, r.Mixture) {
		fmt.Printf("step %d, %s: %s with probability %.3f\n", row.Step, row.State, row.Action, row.Probability)
	}
	s := query.NewSimulation(q, query.Draws(r.Policy, r.Mixture), 1, 1000)
	for range 1000 {
		check(s.Play(ctx))
	}
	fmt.Printf("%d episodes: output %.2f ± %.2f\n", s.Episodes, s.Mean[0], s.Half(0))
	for moved, err := range q.Sweep(ctx, []query.Span{{Return: "noise", Kind: "at_most", Values: []float64{0.5, 1.5}}},
		exact.Options{}) {
		check(err)
		fmt.Printf("%s: output %.3f, price %.3f\n", moved.Query.Limits[0].Name,
			moved.Query.Objective(moved.Result.Returns), moved.Prices[0])
	}
	// Output:
	// optimal, output 3.333
	// step 1, on: slow with probability 1.000
	// step 2, on: slow with probability 0.333
	// step 2, on: fast with probability 0.667
	// 1000 episodes: output 3.28 ± 0.06
	// noise ≤ 0.5: output 2.000, price 2.667
	// noise ≤ 1.5: output 4.667, price 2.667
}

// Probabilities are known up to intervals: the plan keeps its limit in every model between them. A plan for the
// nominal model is evaluated over the same set, and does not.
func ExampleQuery_Evaluate() {
	ctx := context.Background()
	p, err := problem.Parse("ferry.yaml", []byte(`
format: cmdp/1
horizon: 4
states: [here, there]
start: here
returns: [carried, late]
goal: {maximize: carried}
constraints: [{return: late, at_most: 0.5}]
transitions:
  - {state: here, action: row, next: {there: [0.5, 0.7], here: [0.3, 0.5]}, returns: {carried: 1, late: 0.1}}
  - {state: here, action: sail, next: {there: [0.6, 1], here: [0, 0.4]}, returns: {carried: 3, late: 0.3}}
  - {state: there, action: back, next: {here: 1}, returns: {carried: 0, late: 0}}
`), nil)
	if err != nil {
		log.Fatal(err)
	}
	q, err := query.New(ctx, p, query.CompileOptions{})
	if err != nil {
		log.Fatal(err)
	}
	set, err := q.Set(robust.Spec{})
	if err != nil {
		log.Fatal(err)
	}
	r, err := robust.Solve(ctx, set, q.Task, robust.SolveOptions{})
	if err != nil {
		log.Fatal(err)
	}
	nominal, err := q.Solve(ctx, exact.Options{})
	if err != nil {
		log.Fatal(err)
	}
	plans := [][]query.Drawn{query.Draws(r.Policy, r.Mixture), query.Draws(nominal.Policy, nominal.Mixture)}
	for _, plan := range plans {
		e, err := q.Evaluate(ctx, set, plan)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("carried %.3f to %.3f, late at most %.3f, kept: %v\n", e.Least[0], e.Greatest[0], e.Greatest[1],
			e.Keeps)
	}
	// Output:
	// carried 4.623 to 5.000, late at most 0.500, kept: true
	// carried 4.500 to 5.567, late at most 0.557, kept: false
}
