package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/oracle/lp"
)

// glpk solves the occupancy-measure program by GLPK's primal simplex method as package
// oracle/lp sets it up: scaled by powers of two, from the basis of slacks, with
// tolerances of 1e-9 and without presolving. Building the program is not timed,
// handing it to GLPK is.
func (j job) glpk(p *problem.Problem) (*outcome, error) {
	if _, err := lp.NewGLPK(nil); errors.Is(err, lp.ErrNoGLPK) {
		return &outcome{Missing: "built without GLPK"}, nil
	}
	program, err := occupancy(p)
	if err != nil {
		return nil, err
	}
	out := &outcome{Rows: len(program.Rows), Columns: len(program.Minimize)}
	start, used := time.Now(), harness.ProcessorTime()
	// GLPK cannot be asked to stop. The process does nothing else, so it can end.
	timer := time.AfterFunc(time.Duration(j.Limit*float64(time.Second)), func() {
		out.CutOff, out.Seconds, out.Processor, out.Peak = true, time.Since(start).Seconds(), (harness.ProcessorTime() - used).Seconds(), harness.PeakMemory()
		if json.NewEncoder(os.Stdout).Encode(out) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	})
	solver, err := lp.NewGLPK(program)
	if err != nil {
		return nil, err
	}
	var solution lp.Solution
	if err := solver.Solve(&solution); err != nil {
		return nil, err
	}
	if !timer.Stop() {
		select {} // the process is about to end
	}
	if solution.Status != lp.Optimal {
		return nil, fmt.Errorf("scale: %s: GLPK: %v", p.Name, solution.Status)
	}
	out.Seconds, out.Processor = time.Since(start).Seconds(), (harness.ProcessorTime() - used).Seconds()
	out.Objective, out.Steps, out.Peak = solution.Objective, solution.Iterations, harness.PeakMemory()
	return out, nil
}

// occupancy returns the occupancy-measure program.
func occupancy(p *problem.Problem) (*lp.Problem, error) {
	cost := make([]float64, dim)
	cost[0] = 1
	task, err := p.Task()
	if err != nil {
		return nil, err
	}
	return exact.OccupancyLP(p.Model, cost, task.Constraints)
}
