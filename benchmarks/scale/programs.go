package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
	"cmdpsolve/oracle/lp"
)

// glpk solves the occupancy-measure program by GLPK's primal simplex method as package
// oracle/lp sets it up: scaled by powers of two, from the basis of slacks, with
// tolerances of 1e-9 and without presolving. Building the program is not timed,
// handing it to GLPK is.
func (j job) glpk(program *lp.Problem) (*outcome, error) {
	if _, err := lp.NewGLPK(nil); errors.Is(err, lp.ErrNoGLPK) {
		return &outcome{Missing: "built without GLPK"}, nil
	}
	out := &outcome{Rows: len(program.Rows), Columns: len(program.Minimize)}
	start, used := time.Now(), harness.ProcessorTime()
	// GLPK cannot be asked to stop. The process does nothing else, so it can end.
	timer := time.AfterFunc(time.Duration(j.Limit*float64(time.Second)), func() {
		out.CutOff, out.Seconds, out.Processor, out.Peak = true, time.Since(start).Seconds(),
			(harness.ProcessorTime() - used).Seconds(), harness.PeakMemory()
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
		return nil, fmt.Errorf("scale: %d states: GLPK: %v", j.States, solution.Status)
	}
	out.Seconds, out.Processor = time.Since(start).Seconds(), (harness.ProcessorTime() - used).Seconds()
	out.Objective, out.Steps, out.Peak = solution.Objective, solution.Iterations, harness.PeakMemory()
	return out, nil
}

// occupancy returns the occupancy-measure program.
func occupancy(p *problem.Problem) (*lp.Problem, error) {
	cost := make([]float64, dim)
	cost[0] = 1
	task, err := query.TaskOf(context.Background(), p)
	if err != nil {
		return nil, err
	}
	return exact.OccupancyLP(p.Model, cost, task.Constraints)
}

// glpsol solves the occupancy-measure program by the command of the same name, which
// is GLPK with its own scaling, presolver and advanced basis, and tolerances of
// 1e-7. Its time includes reading the program.
func (j job) glpsol(ctx context.Context, program *lp.Problem) (*outcome, error) {
	command, err := exec.LookPath("glpsol")
	if err != nil {
		return &outcome{Missing: "no glpsol"}, nil
	}
	folder, err := os.MkdirTemp("", "scale")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	model, answer := filepath.Join(folder, "model"), filepath.Join(folder, "answer")
	if err := os.WriteFile(model, mps(program), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, command, "--freemps", model, "--tmlim", strconv.Itoa(int(math.Ceil(j.Limit))), "-w",
		answer)
	start := time.Now()
	if printed, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("scale: glpsol: %w: %s", err, printed)
	}
	out := &outcome{Rows: len(program.Rows), Columns: len(program.Minimize), Seconds: time.Since(start).Seconds()}
	out.Processor = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	out.Peak = harness.PeakOf(cmd.ProcessState)
	text, err := os.ReadFile(answer)
	if err != nil {
		return nil, err
	}
	var optimal bool
	out.Objective, optimal, err = readAnswer(text)
	if err != nil {
		return nil, err
	}
	if !optimal {
		out.CutOff, out.Objective = true, 0
	}
	return out, nil
}

// readAnswer reads the objective off glpsol's line "s bas ROWS COLUMNS PRIMAL DUAL OBJECTIVE",
// which is optimal if both statuses are f for feasible.
func readAnswer(text []byte) (objective float64, optimal bool, err error) {
	for line := range bytes.Lines(text) {
		if w := strings.Fields(string(line)); len(w) == 7 && w[0] == "s" && w[1] == "bas" {
			objective, err = strconv.ParseFloat(w[6], 64)
			return objective, w[4] == "f" && w[5] == "f", err
		}
	}
	return 0, false, fmt.Errorf("scale: glpsol: no solution line")
}

// mps writes a program whose rows are equations or bounded from above, and whose
// columns are non-negative, in free MPS format.
func mps(p *lp.Problem) []byte {
	type entry struct {
		row   int
		value float64
	}
	columns := make([][]entry, len(p.Minimize))
	w := new(bytes.Buffer)
	fmt.Fprintf(w, "NAME occupancy\nROWS\n N cost\n")
	for i, r := range p.Rows {
		kind := "L"
		if r.Lower == r.Upper {
			kind = "E"
		}
		fmt.Fprintf(w, " %s r%d\n", kind, i)
		for k, j := range r.Index {
			columns[j] = append(columns[j], entry{i, r.Coef[k]})
		}
	}
	fmt.Fprintf(w, "COLUMNS\n")
	for j, entries := range columns {
		if c := p.Minimize[j]; c != 0 || len(entries) == 0 {
			fmt.Fprintf(w, " x%d cost %.17g\n", j, c)
		}
		for _, e := range entries {
			fmt.Fprintf(w, " x%d r%d %.17g\n", j, e.row, e.value)
		}
	}
	fmt.Fprintf(w, "RHS\n")
	for i, r := range p.Rows {
		if r.Upper != 0 {
			fmt.Fprintf(w, " b r%d %.17g\n", i, r.Upper)
		}
	}
	fmt.Fprintf(w, "ENDATA\n")
	return w.Bytes()
}

//go:embed highs.py
var script string

// python is the interpreter that Debian's python3-scipy is for.
const python = "/usr/bin/python3"

// highs solves the occupancy-measure program by HiGHS through scipy. Only the call
// of the solver is timed.
func (j job) highs(ctx context.Context, program *lp.Problem) (*outcome, error) {
	if _, err := os.Stat(python); err != nil {
		return &outcome{Missing: "no " + python}, nil
	}
	folder, err := os.MkdirTemp("", "scale")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	if err := writeProgram(folder, program); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, python, "-c", script, folder, j.Kind, strconv.FormatFloat(j.Limit, 'g', -1, 64))
	cmd.Stderr = os.Stderr
	printed, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("scale: HiGHS: %w", err)
	}
	out := &outcome{}
	if err := json.Unmarshal(printed, out); err != nil {
		return nil, fmt.Errorf("scale: HiGHS: %w", err)
	}
	out.Rows, out.Columns = len(program.Rows), len(program.Minimize)
	return out, nil
}

// writeProgram writes a program with sparse rows and non-negative columns as plain
// little-endian arrays, the matrix in compressed sparse rows.
func writeProgram(folder string, p *lp.Problem) error {
	first := []int32{0}
	var index []int32
	var value, lower, upper []float64
	for _, r := range p.Rows {
		for k, i := range r.Index {
			index, value = append(index, int32(i)), append(value, r.Coef[k])
		}
		first = append(first, int32(len(index)))
		lower, upper = append(lower, r.Lower), append(upper, r.Upper)
	}
	for name, data := range map[string]any{
		"first": first, "index": index, "value": value, "lower": lower, "upper": upper, "cost": p.Minimize,
	} {
		text, err := binary.Append(nil, binary.LittleEndian, data)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), text, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
