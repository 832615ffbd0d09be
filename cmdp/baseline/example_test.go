package baseline_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/instance"
	"cmdpsolve/cmdp/query"
)

// Three algorithms learn the same problem, from the same seed; one of them is not
// told what it needs.
func Example() {
	p, err := instance.New("inventory")
	if err != nil {
		log.Fatal(err)
	}
	task, err := query.TaskOf(context.Background(), p)
	if err != nil {
		log.Fatal(err)
	}
	best, err := exact.Solve(context.Background(), p.Model, task, exact.Options{})
	if err != nil {
		log.Fatal(err)
	}
	config := baseline.Config{
		Shape: p.Model.Shape(), Returns: p.Model.KnownReturns(), Task: task,
		Settings: cmdp.Settings{Confidence: cmdp.Confidence{Episodes: 5000, Failure: 0.05}, Bonus: cmdp.TheoryTimes(0.001)},
	}
	for _, name := range []string{"moma", "conrl-lp", "dope"} {
		learner, err := baseline.New(name, config)
		if errors.Is(err, baseline.ErrUnsupported) {
			fmt.Println(err)
			continue
		}
		if err != nil {
			log.Fatal(err)
		}
		recorder, err := baseline.NewRecorder(learner, p.Model, task, best.Objective)
		if err != nil {
			log.Fatal(err)
		}
		if err := cmdp.NewRunner(p.Model, recorder, 1, nil).Run(context.Background(), 5000); err != nil {
			log.Fatal(err)
		}
		m := recorder.Metrics()
		fmt.Printf("%s: regret and violation below 0.1: %t\n", name, m.ExpectedRegret < 0.1 && m.ExpectedMaxViolation < 0.1)
	}
	// Output:
	// moma: regret and violation below 0.1: true
	// conrl-lp: regret and violation below 0.1: true
	// baseline: dope: not supported: it needs a safe policy and its returns
}
