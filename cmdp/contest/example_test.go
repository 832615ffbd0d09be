package contest_test

import (
	"context"
	"fmt"
	"log"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/contest"
	"cmdpsolve/cmdp/instance"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
	"cmdpsolve/cmdp/robust"
)

// Three learners play a built-in problem with two seeds each.
func Example() {
	p, err := instance.New("inventory")
	if err != nil {
		log.Fatal(err)
	}
	settings := contest.Defaults()
	settings.Algorithms = []string{"moma", "optcmdp-bonus", "dope"}
	settings.Episodes, settings.Seeds = 200, 2
	q, err := query.New(context.Background(), p, query.CompileOptions{})
	if err != nil {
		log.Fatal(err)
	}
	c, err := contest.New(context.Background(), q, settings, contest.PrepareOptions{})
	if err != nil {
		log.Fatal(err)
	}
	if err := contest.Play(context.Background(), c.Trials(), contest.PlayOptions{}); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("optimum %.4f\n", c.Answer.Best.Objective)
	for _, e := range c.Entrants {
		for _, r := range e.Results {
			if r != nil {
				fmt.Printf("%s, seed %d: violation %.2f\n", e.Name, r.Seed, r.Metrics["violation"])
			}
		}
	}
	fmt.Println(c.Refusals())
	// Output:
	// optimum 0.5522
	// moma, seed 1: violation 0.08
	// moma, seed 2: violation 0.10
	// optcmdp-bonus, seed 1: violation 1.03
	// optcmdp-bonus, seed 2: violation 0.96
	// [dope: it needs a safe policy and its returns]
}

// guess is a learner of one's own, which tries everything and learns nothing.
type guess struct{ cmdp.Uniform }

func (g guess) Policy() cmdp.Policy    { return g.Uniform }
func (guess) Observe(*cmdp.Trajectory) {}

// A learner of one's own plays beside those of the registry. The table has means over the seeds with their 95%
// confidence intervals.
func ExamplePrepareOptions() {
	ctx := context.Background()
	p, err := instance.New("inventory")
	if err != nil {
		log.Fatal(err)
	}
	q, err := query.New(ctx, p, query.CompileOptions{})
	if err != nil {
		log.Fatal(err)
	}
	settings := contest.Defaults()
	settings.Algorithms = []string{"posterior"}
	settings.Episodes, settings.Seeds, settings.Pool = 500, 5, true
	c, err := contest.New(ctx, q, settings, contest.PrepareOptions{Own: []baseline.Algorithm{{
		Name: "guess",
		New: func(told baseline.Config) (cmdp.Learner, error) {
			return guess{cmdp.Uniform{Shape: told.Shape}}, nil
		},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	if err := contest.Play(ctx, c.Trials(), contest.PlayOptions{}); err != nil {
		log.Fatal(err)
	}
	for _, e := range c.Entrants {
		fmt.Printf("%-10s", e.Name)
		for _, metric := range []string{"regret", "violation"} {
			var of []float64
			for _, r := range e.Results {
				of = append(of, r.Metrics[metric])
			}
			mean, half := contest.MeanInterval(of)
			fmt.Printf(" %s %.2f ± %.2f", metric, mean, half)
		}
		fmt.Println()
	}
	// Output:
	// posterior  regret 0.06 ± 0.04 violation 0.00 ± 0.01
	// guess      regret 1.50 ± 0.09 violation 0.00 ± 0.00
}

// A plan from logged transitions keeps its limits in a share of the models that the data leaves possible. With
// intervals of the log they hold in all models between these.
func ExampleLog() {
	ctx := context.Background()
	p, err := problem.Read("../../docs/examples/two-rooms.yaml")
	if err != nil {
		log.Fatal(err)
	}
	q, err := query.New(ctx, p, query.CompileOptions{})
	if err != nil {
		log.Fatal(err)
	}
	visits := contest.Log{Path: "../../docs/examples/visits.csv", Pool: true, Support: true}
	counts, size, err := visits.Read(p.Process())
	if err != nil {
		log.Fatal(err)
	}
	plan, err := visits.Plan(ctx, q, counts, 0.9, 200, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d transitions, limits kept in %.0f%% of the models\n", size.Transitions, 100*plan.Share)
	uncertain, known, err := visits.Intervals(p, counts, 0.9)
	if err != nil {
		log.Fatal(err)
	}
	q, err = query.New(ctx, uncertain, query.CompileOptions{})
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
	fmt.Printf("%d probabilities in intervals, plan %v\n", known.Probabilities, r.Status)
	// Output:
	// 1000 transitions, limits kept in 91% of the models
	// 3 probabilities in intervals, plan feasible
}
