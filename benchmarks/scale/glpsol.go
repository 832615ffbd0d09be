package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/oracle/lp"
)

// glpsol solves the occupancy-measure program by the command of the same name, which
// is GLPK with its own scaling, presolver and advanced basis, and tolerances of
// 1e-7. Its time includes reading the program.
func (j job) glpsol(ctx context.Context, p *problem.Problem) (*outcome, error) {
	command, err := exec.LookPath("glpsol")
	if err != nil {
		return &outcome{Missing: "no glpsol"}, nil
	}
	program, err := occupancy(p)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "scale")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	model, answer := filepath.Join(folder, "model"), filepath.Join(folder, "answer")
	file, err := os.Create(model)
	if err != nil {
		return nil, err
	}
	if err := writeMPS(file, program); err != nil {
		file.Close()
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, command, "--freemps", model, "--tmlim", strconv.Itoa(int(math.Ceil(j.Limit))), "-w", answer)
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
	if out.Objective, optimal, err = readAnswer(text); err != nil {
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

// writeMPS writes a program whose rows are equations or bounded from above, and whose
// columns are non-negative, in free MPS format.
func writeMPS(to io.Writer, p *lp.Problem) error {
	type entry struct {
		row   int
		value float64
	}
	columns := make([][]entry, len(p.Minimize))
	w := bufio.NewWriter(to)
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
	return w.Flush()
}
