package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sheet reads CSV: rows by the heads of their columns.
func sheet(t *testing.T, args ...string) (heads []string, rows []map[string]string) {
	t.Helper()
	text, _ := printed(t, "csv", args...)
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(lines) < 2 {
		t.Fatalf("%v: %v\n%s", args, err, text)
	}
	for _, line := range lines[1:] {
		row := make(map[string]string)
		for i, cell := range line {
			row[lines[0][i]] = cell
		}
		rows = append(rows, row)
	}
	return lines[0], rows
}

// sameNumber reports whether a cell of CSV is a number of JSON to the last digit, or empty where there is none.
func sameNumber(cell string, x float64) bool {
	y, err := strconv.ParseFloat(cell, 64)
	return math.IsNaN(x) && cell == "" || err == nil && x == y
}

// TestSheetsOfLearners: CSV, Markdown and LaTeX of learners and comparisons have the numbers of JSON in columns of
// their names, and the words of JSON beside them.
func TestSheetsOfLearners(t *testing.T) {
	flagFolder(t)
	for _, line := range []string{
		"compare two-rooms.yaml --algorithms moma,optdual,dope --slater auto --episodes 9 --seeds 2 --no-times --quiet",
		"compare means.yaml --steps 40 --seeds 2 --no-times --quiet",
		"compare two-rooms.yaml --algorithms optdual --slater auto --episodes 9 --seeds 1 --wide --no-times --quiet",
	} {
		args := strings.Fields(line)
		text, _ := printed(t, "json", args...)
		result := answerOf(t, text)
		heads, rows := sheet(t, args...)
		var wide, plain [][]string
		for _, format := range []string{"markdown", "latex"} {
			text, _ := printed(t, format, args...)
			list := tables(text)
			if format == "latex" {
				list = latexTables(text)
			}
			if len(list) == 0 {
				t.Fatalf("%s: no table in\n%s", line, text)
			}
			wide, plain = append(wide, list[0][0]), list[0]
			if len(plain) != len(rows)+1 {
				t.Errorf("%s: %d rows as %s: want %d", line, len(plain)-1, format, len(rows))
			}
		}
		for _, head := range []string{"algorithm", "regret", "violation", "non-linear cost", "efficient"} {
			for k := range wide {
				if !slices.Contains(wide[k], head) {
					t.Errorf("%s: no column %s among %q", line, head, wide[k])
				}
			}
		}
		for i, r := range result.list("rows") {
			checkComparedRow(t, line, heads, rows[i], plain[i+1], wide[1], result, r)
		}
	}
	checkLearnedSheet(t, "learn two-rooms.yaml --episodes 20 --quiet")
	checkLearnedSheet(t, "learn two-rooms.yaml --episodes 20 --learner posterior --seeds 2 --quiet")
	checkLearnedSheet(t, "learn means.yaml --steps 50 --quiet")
}

// latexTables reads the tables of LaTeX.
func latexTables(text string) (all []table) {
	for block := range strings.SplitSeq(text, `\begin{tabular}`) {
		var rows table
		for line := range strings.Lines(block) {
			if cells, is := strings.CutSuffix(strings.TrimSpace(line), `\\`); is {
				row := strings.Split(strings.NewReplacer(`\%`, "%", "$-$", "-", `$\pm$`, "±").Replace(cells), "&")
				for i := range row {
					row[i] = strings.TrimSpace(row[i])
				}
				rows = append(rows, row)
			}
		}
		if rows != nil {
			all = append(all, rows)
		}
	}
	return all
}

// checkComparedRow compares a row of CSV and one of a document with JSON.
func checkComparedRow(t *testing.T, line string, heads []string, row map[string]string, plain, titles []string,
	result, r answer) {
	t.Helper()
	for _, head := range heads {
		key, half := strings.CutSuffix(head, "_ci95")
		of := r.obj(key)
		right, cell := true, row[head]
		switch {
		case half:
			right = sameNumber(cell, of.num("ci95"))
		case head == "problem":
			right = cell == result.text("problem")
		case head == "runs" || head == "episodes":
			right = sameNumber(cell, map[string]float64{"runs": r.num("runs"),
				"episodes": result.num("episodes")}[head])
		case head == "nonlinear_cost" || head == "nonlinear_constraints" || head == "efficient":
			right = cell == map[bool]string{true: "yes", false: "no"}[r.is(head)]
		case head == "algorithm" || head == "status" || head == "guarantee":
			right = cell == r.text(head)
		case head == "note":
		case of == nil:
			right = cell == ""
		default:
			right = sameNumber(cell, of.num("mean"))
		}
		if !right {
			t.Errorf("%s: %s of %s is %q in CSV: JSON has %v", line, head, row["algorithm"], cell, of)
		}
	}
	for i, title := range titles {
		words := map[string]string{"algorithm": r.text("algorithm")}
		for key, head := range map[string]string{"nonlinear_cost": "non-linear cost", "efficient": "efficient",
			"nonlinear_constraints": "non-linear constraints"} {
			words[head] = map[bool]string{true: "yes", false: "no"}[r.is(key)]
		}
		if want, is := words[title]; is && plain[i] != want {
			t.Errorf("%s: %s of %s is %q in LaTeX: want %q", line, title, r.text("algorithm"), plain[i], want)
		}
		if mean, _, _ := strings.Cut(plain[i], " ±"); (title == "regret" || title == "violation") &&
			r.num("runs") > 0 &&
			r.obj(title).has("mean") && mean != three(r.obj(title).num("mean")) {
			t.Errorf("%s: %s of %s is %q in LaTeX: want %g", line, title, r.text("algorithm"), plain[i],
				r.obj(title).num("mean"))
		}
	}
}

// checkLearnedSheet: CSV of a learner has its records.
func checkLearnedSheet(t *testing.T, line string) {
	t.Helper()
	args := strings.Fields(line)
	text, _ := printed(t, "json", args...)
	result := answerOf(t, text)
	heads, rows := sheet(t, args...)
	records := result.list("history")
	if len(rows) != len(records) {
		t.Errorf("%s: %d rows of CSV: want %d", line, len(rows), len(records))
		return
	}
	unit := map[bool]string{true: "step", false: "episode"}[result.has("steps")]
	for _, head := range []string{unit, "objective", "violation", "regret"} {
		if !slices.Contains(heads, head) {
			t.Errorf("%s: no column %s in CSV: %q", line, head, heads)
		}
	}
	for i, rec := range records {
		for _, head := range heads {
			x := rec.num(head)
			if head == unit {
				x = rec.num("episode")
			}
			if average := rec.of("average", head); average.has("") {
				x = average.num("")
			}
			if !sameNumber(rows[i][head], x) {
				t.Errorf("%s: %s of record %d is %q in CSV: want %s", line, head, i, rows[i][head], fmt.Sprint(x))
			}
		}
	}
}

// TestListsAreTheirJSON: tables of instances and learners are what they are in JSON.
func TestListsAreTheirJSON(t *testing.T) {
	text, _ := printed(t, "json", "instances")
	list := answerOf(t, text).list("instances")
	_, rows := sheet(t, "instances")
	parameters := 0
	for _, in := range list {
		for _, p := range in.list("parameters") {
			parameters++
			there := slices.ContainsFunc(rows, func(r map[string]string) bool {
				return r["instance"] == in.text("name") && r["parameter"] == p.text("name") &&
					r["default"] == fmt.Sprint(p["default"]) && r["meaning"] == p.text("meaning")
			})
			if !there {
				t.Errorf("no row of %v of %s", p, in.text("name"))
			}
		}
	}
	if len(list) < 5 || parameters < 10 {
		t.Errorf("%d instances with %d parameters: %v", len(list), parameters, list)
	}
	text, _ = printed(t, "json", "algorithms")
	learners := answerOf(t, text).list("algorithms")
	_, rows = sheet(t, "algorithms")
	if len(learners) < 20 || len(rows) != len(learners) {
		t.Errorf("%d learners, %d rows", len(learners), len(rows))
		return
	}
	for i, a := range learners {
		for key, x := range a {
			want := fmt.Sprint(x)
			if yes, is := x.(bool); is {
				want = map[bool]string{true: "yes", false: "no"}[yes]
			}
			if cell, is := rows[i][key]; is && cell != want && fmt.Sprintf("[%s]", strings.ReplaceAll(cell,
				", ", " ")) != want {
				t.Errorf("%s of %v is %q: want %q", key, a["algorithm"], cell, want)
			}
		}
	}
}
