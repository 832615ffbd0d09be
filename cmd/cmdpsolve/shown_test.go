package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/chart"

	"github.com/rogpeppe/go-internal/txtar"
)

var (
	scriptWord = regexp.MustCompile(`'[^']*'|\S+`)
	numberIn   = regexp.MustCompile(`-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?`)
	// slowToAsk are commands of scripts that take longer than a few hundredths of a second.
	slowToAsk = regexp.MustCompile(`wallet|commute|plan steps.yaml|frozenlake8|playmodel|n=10|parallel|--replan|S=10000|algorithms all|env-command|--suite`)
	// fewToPlay are learners that play little.
	fewToPlay = regexp.MustCompile(`--(episodes|steps|sample) ([0-9]{1,2}|[12]00)( |\n)`)
)

// An ask is a command of a script, with what the script says of it in words of its own.
type ask struct {
	args  []string
	fails bool
	says  []*regexp.Regexp // of standard error
}

// askedIn lists the commands of a script that plan, check or play. A folder with its files becomes the current one.
func askedIn(t *testing.T, script string) (asked []*ask) {
	t.Helper()
	archive, err := txtar.ParseFile(script)
	if err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Abs("../../docs/examples")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, f := range archive.Files {
		if err := os.MkdirAll(filepath.Dir(f.Name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f.Name, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var last *ask
	for line := range strings.Lines(string(archive.Comment)) {
		words := scriptWord.FindAllString(strings.TrimSpace(strings.TrimPrefix(line, "! ")), -1)
		for i, word := range words {
			words[i] = strings.ReplaceAll(strings.ReplaceAll(word, "'", ""), "$EXAMPLES", examples)
		}
		switch {
		case len(words) > 1 && words[0] == "exec":
			last = nil
			plays := len(words) > 3 && slices.Contains([]string{"learn", "compare"}, words[2])
			if len(words) > 3 && words[1] == "cmdpsolve" && !slowToAsk.MatchString(line) &&
				(plays && (fewToPlay.MatchString(line) || line[0] == '!' && !strings.Contains(line, "--save")) ||
					slices.Contains([]string{"plan", "front", "check", "simulate"}, words[2])) {
				last = &ask{args: words[2:], fails: strings.HasPrefix(line, "!")}
				asked = append(asked, last)
			}
		case len(words) == 2 && words[0] == "stderr" && line[0] == 's' && last != nil:
			last.says = append(last.says, regexp.MustCompile("(?m)"+words[1]))
		}
	}
	return asked
}

// A result is what a command wrote as JSON: what it has, and what it shows of that.
type result struct {
	args   []string
	data   []byte
	has    map[string]any // without what is shown
	shown  []report.Shown
	values []keyedValue
	known  []float64 // all numbers, those in texts and those of members too
}

// resultOf runs a command; it returns nil if that is refused.
func resultOf(t *testing.T, of *ask) *result {
	t.Helper()
	var out, errs bytes.Buffer
	status := run(t.Context(), append(slices.Clone(of.args), "--format", "json"), &out, &errs)
	if s := errs.String(); strings.Contains(s, "no such file") || strings.Contains(s, "the file is empty") {
		return nil // another command of the script makes it
	}
	if strings.Contains(out.String()+errs.String(), "%!") {
		t.Errorf("%v: a message has wrong arguments: %s", of.args, errs.String())
	}
	if of.fails != (status != exitDone) {
		t.Errorf("%v: exit status %d: %s", of.args, status, errs.String())
	}
	for _, says := range of.says {
		if !says.Match(errs.Bytes()) {
			t.Errorf("%v: want %q in %s", of.args, says, errs.String())
		}
	}
	r := readResult(t, of.args, out.Bytes())
	if r == nil {
		return nil
	}
	if infeasible := r.has["status"] == "infeasible" || r.has["feasible"] == false; infeasible !=
		(status == exitInfeasible) && r.has["plans"] == nil && r.has["credible"] == nil {
		t.Errorf("%v: exit status %d where infeasible is %v: %s", of.args, status, infeasible, errs.String())
	}
	return r
}

// readResult reads what a command wrote; it returns nil if that is no result.
func readResult(t *testing.T, args []string, data []byte) *result {
	t.Helper()
	r := &result{args: args, data: data}
	if json.Unmarshal(r.data, &r.has) != nil || r.has["shown"] == nil {
		return nil
	}
	var saved struct{ Shown []report.Shown }
	if err := json.Unmarshal(r.data, &saved); err != nil {
		t.Fatal(err)
	}
	r.shown = saved.Shown
	delete(r.has, "shown")
	delete(r.has, "command")
	r.values = keyedValues(r.has, nil)
	r.count(r.has)
	r.countScaled()
	return r
}

// countScaled adds the numbers of a certificate as they are shown: its largest coefficient is 1, and value and support
// may be shown by their difference.
func (r *result) countScaled() {
	certificate, is := r.has["certificate"].(map[string]any)
	if !is {
		return
	}
	value, _ := certificate["value"].(float64)
	support, _ := certificate["support"].(float64)
	r.known = append(r.known, value-support)
	largest, scaled := 0.0, new(result)
	scaled.count(certificate)
	direction, _ := certificate["direction"].(map[string]any)
	for _, x := range direction {
		coefficient, _ := x.(float64)
		largest = max(largest, math.Abs(coefficient))
	}
	for _, x := range scaled.known {
		r.known = append(r.known, x/largest, -x/largest)
	}
}

// count collects numbers, those in texts, and how many members there are of everything.
func (r *result) count(x any) {
	in := func(text string) {
		for _, s := range numberIn.FindAllString(text, -1) {
			if x, err := strconv.ParseFloat(s, 64); err == nil {
				r.known = append(r.known, x)
			}
		}
	}
	switch x := x.(type) {
	case map[string]any:
		r.known = append(r.known, float64(len(x)))
		for key, member := range x {
			in(key)
			r.count(member)
		}
	case []any:
		r.known = append(r.known, float64(len(x)))
		for _, member := range x {
			r.count(member)
		}
	case float64:
		r.known = append(r.known, x)
	case string:
		in(x)
	}
}

// unknown returns a number of a text that is none of the result's, if there is one.
func (r *result) unknown(text string) string {
	for _, at := range numberIn.FindAllStringIndex(text, -1) {
		number, before, after := text[at[0]:at[1]], " ", " "
		if at[0] > 0 {
			before = text[at[0]-1 : at[0]]
		}
		if at[1] < len(text) {
			after = text[at[1] : at[1]+1]
		}
		if !strings.Contains(" (", before) || !strings.Contains(" ),.;:%", after) {
			continue // a part of a name
		}
		if !slices.ContainsFunc(r.known, func(x float64) bool {
			share := 100 * x
			return shows(number, &x) || after == "%" && (shows(number, &share) || number == "5" || number == "95")
		}) {
			return number + strings.TrimSpace(after)
		}
	}
	return ""
}

// TestShownIsThere: commands are refused, with words, where the scripts say so. Otherwise all numbers that a result
// shows to people, in tables and in sentences, are numbers that it has; its tables on pages stand under their keys; CSV
// has its numbers to the last digit.
func TestShownIsThere(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	asked, ran := 0, 0
	for _, script := range scripts {
		t.Run(filepath.Base(script), func(t *testing.T) {
			ran++
			for _, of := range askedIn(t, script) {
				r := resultOf(t, of)
				if r == nil {
					continue
				}
				asked++
				checkView(t, r)
				checkPlot(t, r)
				checkConsistent(t, r)
				if slices.Contains([]string{"learn", "compare"}, r.args[0]) { // they take times, and draw metrics
					continue
				}
				checkShown(t, r)
				checkLimits(t, r, r.has)
				checkPage(t, r)
				checkFigures(t, r)
				checkSheet(t, r)
			}
		})
	}
	if ran == len(scripts) && asked < 180 && !t.Failed() {
		t.Errorf("%d commands were asked: want more", asked)
	}
}

// derivedNotes are sentences with numbers that no member has: how many values are remembered or sampled, of how many
// thresholds one is the best, and steps to three digits.
var derivedNotes = regexp.MustCompile(`A policy remembers|the best of|The table leaves out|sampled,
	in|once in|with memory`)

// derivedColumns are computed from others of the table, or number its rows; those of policies are what --policy writes.
var derivedColumns = regexp.MustCompile(` per |of bound|^vertex$|^policy$|^component$|^steps?$|^$|^branch$|share|` +
	`largest slack|^action$`)

// elsewhereKeyed are plans whose tables have rows and columns with names of their own.
var elsewhereKeyed = regexp.MustCompile(`--show|--log|fleet|chargers|at each step`)

// checkShown looks for what is shown among what is there.
func checkShown(t *testing.T, r *result) {
	t.Helper()
	for _, s := range r.shown {
		texts := slices.Concat(s.List, s.Note)
		if r.args[0] == "check" { // whose JSON has the size of the model
			texts = append(texts, s.Heading...)
		}
		for _, text := range texts {
			if number := r.unknown(text); number != "" && !derivedNotes.MatchString(text) {
				t.Errorf("%v: JSON has no %s: %s", r.args, number, text)
			}
		}
		if s.Table == nil {
			continue
		}
		checkRates(t, r, s.Table)
		if command := strings.Join(r.args, " "); r.args[0] == "plan" && !elsewhereKeyed.MatchString(command) {
			checkKeys(t, command, r.values, append(table{s.Table.Columns}, s.Table.Rows...))
		}
		for _, row := range s.Table.Rows {
			summed := strings.Contains(row[0], "at each")
			for at, cell := range row {
				head := s.Table.Columns[at]
				if number := r.unknown(cell); number != "" && !summed && !derivedColumns.MatchString(head) {
					t.Errorf("%v: JSON has no %s, which is shown under %q: %q", r.args, number, head, row)
				}
			}
		}
	}
}

// checkRates: what a return changes per unit of another one, to the vertex in the next row.
func checkRates(t *testing.T, r *result, table *report.ShownTable) {
	t.Helper()
	for at, head := range table.Columns {
		of, per, is := strings.Cut(head, " per ")
		y, x := slices.Index(table.Columns, of), slices.Index(table.Columns, per)
		if !is || x < 0 || y < 0 {
			continue
		}
		for i := range table.Rows[:len(table.Rows)-1] {
			change := func(column int) float64 {
				from, err := strconv.ParseFloat(table.Rows[i][column], 64)
				to, errs := strconv.ParseFloat(table.Rows[i+1][column], 64)
				if err != nil || errs != nil || math.Abs(to-from) < 1e-2*math.Abs(to) {
					return math.NaN()
				}
				return to - from
			}
			rate, err := strconv.ParseFloat(table.Rows[i][at], 64)
			if want := change(y) / change(x); err == nil && math.Abs(rate-want) > 1e-2*math.Abs(want) {
				t.Errorf("%v: %s is shown as %g: want %g", r.args, head, rate, want)
			}
		}
	}
}

// checkLimits: a limit that has a number is called by it.
func checkLimits(t *testing.T, r *result, of any) {
	t.Helper()
	switch of := of.(type) {
	case []any:
		for _, x := range of {
			checkLimits(t, r, x)
		}
	case map[string]any:
		name, named := of["constraint"].(string)
		limit, is := of["limit"].(float64)
		if named && is && !slices.ContainsFunc(numberIn.FindAllString(name, -1),
			func(number string) bool { return shows(number, &limit) }) {
			t.Errorf("%v: %s has the limit %g", r.args, name, limit)
		}
		for _, x := range of {
			checkLimits(t, r, x)
		}
	}
}

// checkPage: a table of a page has under each head, beside each name, what JSON has under these keys.
func checkPage(t *testing.T, r *result) {
	t.Helper()
	page, err := partIn(r.data, "result.json")
	if err != nil {
		t.Errorf("%v: %v", r.args, err)
		return
	}
	checkKept(t, r, page)
	said, _ := r.has["status"].(string)
	if verdict, judged := r.has["verdict"].(string); judged && verdict != "" {
		said = verdict
	}
	if good := slices.Contains([]string{"optimal", "approachable", "minimax"}, said); page.Verdict != said ||
		page.Good != good {
		t.Errorf("%v: a page says %q, good %v: want %q, %v", r.args, page.Verdict, page.Good, said, good)
	}
	for _, of := range append(page.Tables, page.Facts) {
		for _, row := range of.Rows {
			if of.Heads != nil && len(row) != len(of.Heads) {
				t.Errorf("%v: a page has the row %q under %q", r.args, row, of.Heads)
				continue
			}
			for at, cell := range row[1:] {
				if cell == "" || cell == "–" || strings.Contains(cell, ",") {
					continue
				}
				key := row[0]
				if of.Heads != nil {
					key = of.Heads[at+1]
				}
				there := slices.ContainsFunc(r.values, func(v keyedValue) bool {
					return strings.HasSuffix(strings.Join(v.keys, " "), key) && v.shown(cell)
				})
				if !there && cell != "yes" && cell != "no" {
					t.Errorf("%v: a page shows %q for %q: JSON has no such number there", r.args, cell, key)
				}
			}
		}
	}
}

// checkKept: a page has all that a terminal shows but the first line and the bars of histograms.
func checkKept(t *testing.T, r *result, page *reportPart) {
	t.Helper()
	var saved struct{ Shown []map[string]any }
	text, err := json.Marshal(page.Shown)
	var got []map[string]any
	if err = errors.Join(err, json.Unmarshal(text, &got), json.Unmarshal(r.data, &saved)); err != nil {
		t.Fatal(err)
	}
	want := slices.DeleteFunc(saved.Shown, func(s map[string]any) bool { return strings.Contains(fmt.Sprint(s), "█") })
	if lines, is := want[0]["heading"].([]any); is {
		want[0]["heading"] = lines[1:]
	}
	if want, got := fmt.Sprint(want), fmt.Sprint(got); got != want && got != strings.Replace(want, "heading:[]", "", 1) {
		t.Errorf("%v: a page keeps %s: a terminal shows %s", r.args, got, want)
	}
}

// checkFigures: what curves of a page go through are numbers of JSON. Outlines of histograms have more corners.
func checkFigures(t *testing.T, r *result) {
	t.Helper()
	var figures []*chart.Figure
	var err error
	switch {
	case r.has["plans"] != nil:
		figures, err = savedSweep(r.data)
	case r.has["vertices"] != nil:
		figures, err = savedFront(r.data)
	}
	if err != nil {
		t.Errorf("%v: %v", r.args, err)
	}
	for _, f := range figures {
		for _, panel := range f.Panels {
			if panel.Y.Title == "" && panel.X.Title == "" {
				continue // axes side by side have their own units
			}
			for _, c := range panel.Curves {
				if len(c.X) != len(c.Y) {
					t.Errorf("%v: a curve of %d points has %d heights", r.args, len(c.X), len(c.Y))
				}
				for _, x := range slices.Concat(c.X, c.Y) {
					if !slices.Contains(r.known, x) {
						t.Errorf("%v: %q goes through %g, no number of JSON", r.args, panel.Y.Title, x)
					}
				}
			}
		}
	}
}

// checkSheet: numbers in CSV are those of JSON to the last digit.
func checkSheet(t *testing.T, r *result) {
	t.Helper()
	var out, errs bytes.Buffer
	run(t.Context(), append(slices.Clone(r.args), "--format", "csv"), &out, &errs)
	sheet := csv.NewReader(&out)
	sheet.FieldsPerRecord = -1
	rows, err := sheet.ReadAll()
	if err != nil {
		t.Errorf("%v: %v", r.args, err)
	}
	for _, row := range rows {
		low, high := slices.Index(rows[0], "low"), slices.Index(rows[0], "high")
		if low > 0 && row[low] > "" && row[low] != "low" {
			interval := make([]float64, 3) // the end, what is known, and the other end
			for i, at := range []int{low, low - 1, high} {
				interval[i], _ = strconv.ParseFloat(row[at], 64)
			}
			if !slices.IsSorted(interval) {
				t.Errorf("%v: CSV has intervals that are none: %q", r.args, row)
			}
		}
		for _, cell := range row {
			x, err := strconv.ParseFloat(cell, 64)
			right := func(y float64) bool { return x == y || row[1] == "all limits" && x == 1-y } // broken is 1 - kept
			if err != nil || math.IsInf(x, 0) || x == 0 || row[0] == "seconds" || slices.ContainsFunc(r.known, right) {
				continue
			}
			t.Errorf("%v: CSV has %s, another number than JSON: %q", r.args, cell, row)
			break
		}
	}
}
