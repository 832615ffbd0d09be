package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// compareWriter writes comparisons in one format.
type compareWriter struct {
	out    io.Writer
	format outputFormat
	wide   bool
	times  bool
	many   bool // several problems: what the learners can do is written once
}

// cell writes an estimate for people.
func (e estimate) cell() string {
	mean, half := float64(e.Mean), float64(e.CI95)
	if math.IsNaN(mean) || math.IsInf(mean, 0) {
		return "–"
	}
	if math.IsNaN(half) {
		return brief(mean)
	}
	return brief(mean) + " ± " + strconv.FormatFloat(half, 'g', 2, 64)
}

// percent writes a share.
func (e estimate) percent() string {
	if x := float64(e.Mean); !math.IsNaN(x) {
		return strconv.FormatFloat(100*x, 'g', 3, 64) + "%"
	}
	return "–"
}

// milliseconds writes seconds as such.
func (e estimate) milliseconds() string {
	if x := float64(e.Mean); !math.IsNaN(x) {
		return strconv.FormatFloat(1000*x, 'g', 2, 64)
	}
	return "–"
}

func mark(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// write writes one comparison, with the name of its problem.
func (w *compareWriter) write(c *contest, rep *compareReport) error {
	if w.format == "table" {
		return w.terminal(c, rep)
	}
	t := w.full(rep)
	if w.format == "latex" {
		var notes []string
		for _, r := range rep.Rows {
			if note := r.note(); note != "" {
				notes = append(notes, r.Algorithm+" "+note)
			}
		}
		return w.latex(rep.title()+", "+rep.words(c.p.isGame()), t, notes...)
	}
	if w.format == "markdown" {
		for _, line := range c.heading() {
			fmt.Fprintln(w.out, "- "+line)
		}
		fmt.Fprintln(w.out)
	}
	return t.write(w.out, w.format)
}

// heading says what was compared.
func (c *contest) heading() []string {
	lines := []string{c.p.title() + ": " + c.p.wanted(), c.p.size()}
	if c.name != "" && c.name != c.p.title() {
		lines[0] = c.name + ", " + lines[0]
	}
	if c.best != nil {
		e := c.exactReport()
		switch {
		case e.Status == "infeasible":
			lines = append(lines, "no policy meets the target, the nearest return is "+short(float64(e.Distance))+" away from it")
		case !math.IsNaN(float64(e.Objective)):
			lines = append(lines, "optimum "+short(float64(e.Objective)))
		}
	}
	return append(lines, c.words(c.p.isGame()))
}

// results has the columns that fit into 80 characters; wide ones are many more.
func (w *compareWriter) results(rep *compareReport) *table {
	t := &table{header: []string{"algorithm", "regret", "violation", "violating"}}
	if w.times {
		t.header = append(t.header, "ms/ep.")
	}
	if w.wide {
		t.header = append(t.header, "exp. regret", "exp. violation", "last regret", "last violation", "weak regret", "weak violation",
			"strong regret", "strong violation", "planner calls", "programs")
	}
	for _, r := range rep.Rows {
		if r.Runs == 0 {
			cells := make([]string, len(t.header))
			cells[0], cells[1] = r.Algorithm, "not run"
			if r.Status == "partial" {
				cells[1] = "not yet"
			}
			t.add(cells...)
			continue
		}
		m := r.metrics
		cells := []string{r.Algorithm, m["regret"].cell(), m["violation"].cell(), m["violating_share"].percent()}
		if w.times {
			cells = append(cells, m[secondsKey].milliseconds())
		}
		if w.wide {
			for _, key := range []string{"expected_regret", "expected_violation", "last_regret", "last_violation", "weak_regret", "weak_violation",
				"strong_regret", "strong_violation", "planner_calls", "programs"} {
				cells = append(cells, m[key].cell())
			}
		}
		t.add(cells...)
	}
	return t
}

// terminal writes results, what is particular about rows, and capabilities.
func (w *compareWriter) terminal(c *contest, rep *compareReport) error {
	width := 79
	if w.wide {
		width = 240
	}
	for _, text := range c.heading() {
		for _, line := range wrap(text, 79) {
			fmt.Fprintln(w.out, line)
		}
	}
	fmt.Fprintln(w.out)
	if err := w.results(rep).write(w.out, "table"); err != nil {
		return err
	}
	first := true
	for _, r := range rep.Rows {
		note := r.note()
		if note == "" {
			continue
		}
		if first {
			fmt.Fprintln(w.out)
			first = false
		}
		for i, line := range wrap(r.Algorithm+" "+note, width-3) {
			if i > 0 {
				line = "  " + line
			}
			fmt.Fprintln(w.out, " "+line)
		}
	}
	if !w.many {
		fmt.Fprintln(w.out)
		w.capabilities(rep.Rows, width)
	}
	return nil
}

// learners writes what the learners of several comparisons can do.
func (w *compareWriter) learners(reports []*compareReport) error {
	var rows []*compareRow
	for _, rep := range reports {
		for _, r := range rep.Rows {
			if !slices.ContainsFunc(rows, func(old *compareRow) bool { return old.Algorithm == r.Algorithm }) {
				rows = append(rows, r)
			}
		}
	}
	fmt.Fprintln(w.out)
	switch w.format {
	case "table":
		width := 79
		if w.wide {
			width = 240
		}
		w.capabilities(rows, width)
		return nil
	case "markdown":
		fmt.Fprint(w.out, "## What the learners can do\n\n")
	}
	t := &table{header: []string{"algorithm", "non-linear cost", "non-linear constraints", "efficient", "guarantee", "needs", "source"}}
	for _, r := range rows {
		t.add(r.Algorithm, mark(r.NonlinearCost), mark(r.NonlinearConstraints), mark(r.Efficient), r.Guarantee, strings.Join(r.Needs, ", "), r.Source)
	}
	if w.format == "latex" {
		return w.latex("what the learners can do", t)
	}
	return t.write(w.out, w.format)
}

// capabilities writes what the learners can do, as far as papers say.
func (w *compareWriter) capabilities(rows []*compareRow, width int) {
	name := len("algorithm")
	for _, r := range rows {
		name = max(name, utf8.RuneCountInString(r.Algorithm))
	}
	left := name + 34
	line := func(a, b, c, d, rest string) {
		text := fmt.Sprintf(" %s  %-8s  %-11s  %-7s  %s", pad(a, name), b, c, d, rest)
		fmt.Fprintln(w.out, strings.TrimRight(text, " "))
	}
	line("", "non-lin.", "non-linear", "effi-", "")
	line("algorithm", "cost", "constraints", "cient", "guarantee in its paper")
	fmt.Fprintln(w.out, strings.Repeat("─", width))
	for _, r := range rows {
		for i, text := range wrap(r.Guarantee, width-left) {
			if i == 0 {
				line(r.Algorithm, mark(r.NonlinearCost), mark(r.NonlinearConstraints), mark(r.Efficient), text)
			} else {
				line("", "", "", "", text)
			}
		}
	}
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// full is the one table of Markdown, LaTeX and CSV.
func (w *compareWriter) full(rep *compareReport) *table {
	if w.format == "csv" {
		return w.csv(rep)
	}
	t := w.results(rep)
	words := w.format == "markdown" || w.wide
	if !w.many {
		t.header = append(t.header, "non-linear cost", "non-linear constraints", "efficient")
		if words {
			t.header = append(t.header, "guarantee")
		}
	}
	if words {
		t.header = append(t.header, "note")
	}
	for i, r := range rep.Rows {
		if !w.many {
			t.rows[i] = append(t.rows[i], mark(r.NonlinearCost), mark(r.NonlinearConstraints), mark(r.Efficient))
			if words {
				t.rows[i] = append(t.rows[i], r.Guarantee)
			}
		}
		if words {
			t.rows[i] = append(t.rows[i], r.note())
		}
	}
	return t
}

// csv has every metric, with the half-widths of intervals in columns of their own.
func (w *compareWriter) csv(rep *compareReport) *table {
	t := &table{header: []string{"name", "problem", "algorithm", "status", "runs", "episodes"}}
	var keys []string
	for _, m := range metrics {
		if m.key != secondsKey || w.times {
			keys = append(keys, m.key)
			t.header = append(t.header, m.key, m.key+"_ci95")
		}
	}
	t.header = append(t.header, "nonlinear_cost", "nonlinear_constraints", "efficient", "guarantee", "note")
	for _, r := range rep.Rows {
		cells := []string{rep.Name, rep.Problem, r.Algorithm, r.Status, strconv.Itoa(r.Runs), strconv.Itoa(rep.Episodes)}
		for _, key := range keys {
			e, ok := r.metrics[key]
			if !ok {
				e = estimate{number(nan), number(nan)}
			}
			cells = append(cells, exactly(float64(e.Mean)), exactly(float64(e.CI95)))
		}
		t.add(append(cells, mark(r.NonlinearCost), mark(r.NonlinearConstraints), mark(r.Efficient), r.Guarantee, r.note())...)
	}
	if !w.many { // names are for suites
		t.header = t.header[1:]
		for i := range t.rows {
			t.rows[i] = t.rows[i][1:]
		}
	}
	return t
}
