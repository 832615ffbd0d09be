package contest_test

import (
	"context"
	"fmt"
	"log"

	"cmdpsolve/cmdp/contest"
	"cmdpsolve/cmdp/instance"
	"cmdpsolve/cmdp/query"
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
	q, err := query.New(context.Background(), p, query.Options{})
	if err != nil {
		log.Fatal(err)
	}
	c, err := contest.New(context.Background(), q, settings, contest.Options{})
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
