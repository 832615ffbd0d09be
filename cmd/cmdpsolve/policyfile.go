package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/problem"

	"github.com/google/renameio/v2"
)

// policyColumns are the columns of a policy file, and the keys of its rows in JSON.
var policyColumns = []string{"step", "state", "action", "probability"}

// policyFormatOf returns csv or json, by the ending of a file's name.
func policyFormatOf(path string) (string, error) {
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".csv", ".json":
		return ext[1:], nil
	}
	return "", fmt.Errorf("%s: want a name that ends in .csv or .json", path)
}

// writePolicy writes a policy for p to a file: all of it, or the file is left as
// it was.
func writePolicy(path string, p *problem.Problem, policy cmdp.Policy) error {
	return writePolicyFile(path, func(rows rowWriter) error { return writeRows(rows, p, policy) })
}

// writePolicyFile writes the rows that write writes to a file: all of them, or the
// file is left as it was.
func writePolicyFile(path string, write func(rowWriter) error) error {
	format, err := policyFormatOf(path)
	if err != nil {
		return err
	}
	file, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644))
	if err != nil {
		return fmt.Errorf("policy %s: %w", path, err)
	}
	defer file.Cleanup()
	out := bufio.NewWriterSize(file, 1<<16)
	var rows rowWriter = &csvRows{out: csv.NewWriter(out)}
	if format == "json" {
		rows = &jsonRows{out: out}
	}
	err = write(rows)
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = file.CloseAtomicallyReplace()
	}
	if err != nil {
		return fmt.Errorf("policy %s: %w", path, err)
	}
	return nil
}

// writeRows writes a row for every action of positive probability, at every step
// for each state that offers actions there. A policy for an infinite horizon is
// stationary and has no steps.
func writeRows(rows rowWriter, p *problem.Problem, policy cmdp.Policy) error {
	m, probs := p.Model, []float64(nil)
	for h := range max(1, m.Horizon()) {
		step := ""
		if m.Horizon() > 0 {
			step = strconv.Itoa(h + 1)
		}
		k := m.Kernel(h)
		for s := range m.States() {
			n := int(k.First[s+1] - k.First[s])
			if n == 0 {
				continue
			}
			if cap(probs) < n {
				probs = make([]float64, n)
			}
			probs = probs[:n]
			policy.Distribution(probs, h, s)
			for a, x := range probs {
				if x == 0 {
					continue
				}
				if err := rows.row(step, p.StateName(s), p.ActionName(h, s, a), x); err != nil {
					return err
				}
			}
		}
	}
	return rows.end()
}

// A rowWriter writes the rows of a policy. An empty step stands for every step.
type rowWriter interface {
	row(step, state, action string, probability float64) error
	end() error
}

type csvRows struct {
	out   *csv.Writer
	begun bool
}

func (w *csvRows) begin() error {
	if w.begun {
		return nil
	}
	w.begun = true
	return w.out.Write(policyColumns)
}

func (w *csvRows) row(step, state, action string, probability float64) error {
	if err := w.begin(); err != nil {
		return err
	}
	return w.out.Write([]string{step, state, action, report.Exactly(probability)})
}

func (w *csvRows) end() error {
	if err := w.begin(); err != nil {
		return err
	}
	w.out.Flush()
	return w.out.Error()
}

// jsonRows writes a list of objects, each on a line of its own.
type jsonRows struct {
	out   io.Writer
	begun bool
}

func (w *jsonRows) row(step, state, action string, probability float64) error {
	open := ",\n"
	if !w.begun {
		w.begun, open = true, "[\n"
	}
	if step != "" {
		step = `"step": ` + step + ", "
	}
	_, err := fmt.Fprintf(w.out, `%s{%s"state": %s, "action": %s, "probability": %s}`,
		open, step, jsonLabel(state), jsonLabel(action), report.Exactly(probability))
	return err
}

func (w *jsonRows) end() error {
	text := "\n]\n"
	if !w.begun {
		text = "[]\n"
	}
	_, err := io.WriteString(w.out, text)
	return err
}

// jsonLabel writes a state or an action: its number, or its name as text.
func jsonLabel(label string) string {
	if n, err := strconv.Atoi(label); err == nil && strconv.Itoa(n) == label {
		return label
	}
	text, _ := json.Marshal(label) // a string
	return string(text)
}
