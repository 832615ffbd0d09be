package fleet_test

import (
	"context"
	"fmt"
	"log"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/fleet"
)

// Two hundred machines share twenty crews. Machines on their own need more crews than there are in every second
// episode; planned again at each step they never do, and earn nearly as much.
func Example_play() {
	ctx := context.Background()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 8, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 2)
	for _, row := range []cmdp.Row{ // state 0 works, state 1 is broken; returns are output and crews
		{State: 0, Action: 0, Returns: []float64{1, 0},
			Next: []cmdp.Transition{{Next: 0, Probability: 0.8}, {Next: 1, Probability: 0.2}}},
		{State: 1, Action: 0, Returns: []float64{0, 0}, Next: []cmdp.Transition{{Next: 1, Probability: 1}}},
		{State: 1, Action: 1, Returns: []float64{0, 1}, Next: []cmdp.Transition{{Next: 0, Probability: 1}}},
	} {
		row.Step = cmdp.EveryStep
		if err := b.Add(row); err != nil {
			log.Fatal(err)
		}
	}
	machine, err := b.Build()
	if err != nil {
		log.Fatal(err)
	}
	f := &fleet.Fleet{Returns: []string{"output", "crews"}, EachStep: []int{1}, Types: []fleet.Type{
		{Name: "machine", Count: 200, Model: machine, Returns: []int{0, 1}, Starts: []int{200, 0}}}}
	planner, err := fleet.NewPlanner(f, 0)
	if err != nil {
		log.Fatal(err)
	}
	goal, err := planner.Maximize(ctx, 0)
	if err != nil {
		log.Fatal(err)
	}
	var limits []fleet.Limit
	for h := range f.Horizon() {
		limits = append(limits, fleet.Limit{Return: 1, Step: h, Bound: 20})
	}
	task, err := planner.Task(ctx, goal, limits)
	if err != nil {
		log.Fatal(err)
	}
	plan, err := planner.Solve(ctx, task, exact.Options{})
	if err != nil {
		log.Fatal(err)
	}
	alone, err := fleet.NewIndependent(f, plan)
	if err != nil {
		log.Fatal(err)
	}
	again, err := fleet.NewReplanner(context.Background(), f, task, plan, 1)
	if err != nil {
		log.Fatal(err)
	}
	for _, player := range []fleet.Player{alone, again} {
		played, err := fleet.Play(ctx, f, task, player, fleet.PlayOptions{Episodes: 200, Seed: 1})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("all limits kept: %t, within 2%% of the bound: %t\n", played.Kept.Share == 1,
			played.Each.Mean < 0.98*plan.Bound)
	}
	// Output:
	// all limits kept: false, within 2% of the bound: true
	// all limits kept: true, within 2% of the bound: true
}
