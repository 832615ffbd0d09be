package main

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
)

// An answer is an object of JSON, read by the paths of its members.
type answer map[string]any

func (a answer) at(path string) any {
	var x any = map[string]any(a)
	for key := range strings.SplitSeq(path, ".") {
		of, is := x.(map[string]any)
		if !is {
			return nil
		}
		x = of[key]
	}
	return x
}

func (a answer) has(path string) bool { return a.at(path) != nil }

func (a answer) is(path string) bool { is, _ := a.at(path).(bool); return is }

func (a answer) text(path string) string { text, _ := a.at(path).(string); return text }

// num is a number, NaN where there is none.
func (a answer) num(path string) float64 {
	if x, is := a.at(path).(float64); is {
		return x
	}
	return math.NaN()
}

func (a answer) list(path string) (all []answer) {
	list, _ := a.at(path).([]any)
	for _, x := range list {
		of, _ := x.(map[string]any)
		all = append(all, of)
	}
	return all
}

func (a answer) numbers(path string) (all []float64) {
	list, _ := a.at(path).([]any)
	for _, x := range list {
		all = append(all, answer{"": x}.num(""))
	}
	return all
}

func (a answer) texts(path string) (all []string) {
	list, _ := a.at(path).([]any)
	for _, x := range list {
		all = append(all, fmt.Sprint(x))
	}
	return all
}

// obj is an object within, by its name.
func (a answer) obj(name string) answer {
	of, is := a[name].(map[string]any)
	if !is {
		of, _ = a.at(name).(map[string]any)
	}
	return of
}

// of is the member of an object whose names may have dots.
func (a answer) of(path, name string) answer {
	of, _ := a.at(path).(map[string]any)
	return answer{"": of[name]}
}

func (a answer) names(path string) []string {
	of, _ := a.at(path).(map[string]any)
	return slices.Sorted(maps.Keys(of))
}

// digits writes a number with so many digits, and – for none.
func digits(x float64, n int) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return "–"
	case x == 0:
		return "0"
	}
	return strconv.FormatFloat(x, 'g', n, 64)
}

func six(x float64) string   { return digits(x, 6) }
func three(x float64) string { return digits(x, 3) }

// apart writes numbers with as many digits as tell them apart.
func apart(x, y float64) (string, string) {
	n := 6
	for n < 17 && x != y && digits(x, n) == digits(y, n) {
		n++
	}
	return digits(x, n), digits(y, n)
}

// small writes an error: nobody reads those below 1e-9.
func small(x float64) string {
	if x < 1e-9 {
		return "1e-9"
	}
	return three(x)
}

// many counts things.
func many(n float64, what string) string {
	return six(n) + " " + what + map[bool]string{false: "s"}[n == 1]
}

// A view is what a result has to show, made from its JSON alone by rules that share no code with the command's.
type view struct {
	answer
	returns   []string // in the order of the file
	time      string   // of returns
	words     []string // of the command
	lines     []string // of the heading; what follows a ? is not looked at
	items     []string // of lists
	sentences []string // those that begin with ? may be left out, and those that end in … go on
	tables    []viewed
}

// A viewed table has its columns and rows. Every other cell that begins with ? is not looked at.
type viewed struct {
	columns []string
	rows    [][]string
}

func (v *view) say(format string, args ...any) {
	v.sentences = append(v.sentences, fmt.Sprintf(format, args...))
}

func (v *view) sayIf(is bool, format string, args ...any) {
	if is {
		v.say(format, args...)
	}
}

// head begins a table. It is not there if it gets no rows.
func (v *view) head(columns ...string) { v.tables = append(v.tables, viewed{columns: columns}) }

func (v *view) row(cells ...string) {
	t := &v.tables[len(v.tables)-1]
	t.rows = append(t.rows, cells)
}

func (v *view) heads(columns ...string) {
	t := &v.tables[len(v.tables)-1]
	t.columns = append(t.columns, columns...)
}

// viewOf makes the view of a result, nil for a kind that has none here.
func viewOf(r *result) *view {
	v := &view{answer: r.has, words: r.args}
	if len(r.shown) > 0 && len(r.shown[0].Heading) > 1 {
		before, returns, _ := strings.Cut(r.shown[0].Heading[1], ", returns ")
		v.returns = strings.Split(returns, ", ")
		v.time = before
	}
	v.lines = []string{v.text("problem") + ": " + v.text("wanted"), "?"}
	make, known := views[viewKind(r)]
	if !known {
		return nil
	}
	make(v)
	v.tables = slices.DeleteFunc(v.tables, func(t viewed) bool { return len(t.rows) == 0 })
	return v
}

// views are by kind.
var views = map[string]func(*view){
	"plan": (*view).plan, "check": (*view).check, "front": (*view).front, "simulate": (*view).simulate,
	"sets": (*view).overSets, "sweep": (*view).sweep, "sweep over sets": (*view).sweepOverSets,
	"game": (*view).game, "check of a game": (*view).checkOfGame, "log": (*view).log,
	"fleet played": (*view).fleetPlayed, "learn": (*view).learn, "compare": (*view).compare,
	"suite": (*view).suite, "samples": (*view).samples,
}

// viewKind tells results apart by what only they have.
func viewKind(r *result) string {
	for _, k := range [][2]string{{"problems", "suite"}, {"rows", "compare"}, {"history", "learn"}, {"sample",
		"samples"},
		{"credible", "log"}, {"nominal", "sets"}, {"verdict,policies", "game"},
		{"verdict,choices", "check of a game"}, {"choices", "check"}, {"ways", "fleet played"}, {"vertices", "front"},
		{"plans", "sweep"}, {"prices", "plan"}, {"expected", "simulate"}} {
		there := true
		for key := range strings.SplitSeq(k[0], ",") {
			_, is := r.has[key]
			there = there && is
		}
		if !there {
			continue
		}
		if plans := answer(r.has).list("plans"); k[1] == "sweep" && slices.ContainsFunc(plans,
			func(p answer) bool { return p.has("uncertainty") }) {
			return "sweep over sets"
		}
		return k[1]
	}
	return ""
}

// Tables and sentences of policies that are shown.
var (
	policyHeads = regexp.MustCompile(`^(component|state|state \(memory\)),|^,0$`)
	policySaid  = regexp.MustCompile(`^(An agent of type|Rows and columns are|The table leaves out|No policy is shown|The policy shown)`)
)

// checkView compares what a result shows with its view: sentences in their order, and tables with their heads and
// rows.
func checkView(t *testing.T, r *result) {
	t.Helper()
	v := viewOf(r)
	if v == nil {
		t.Errorf("%v: no view is known of such a result", r.args)
		return
	}
	var lines, items, sentences []string
	var tables []*report.ShownTable
	for _, s := range r.shown {
		lines, items = append(lines, s.Heading...), append(items, s.List...)
		sentences = append(sentences, s.Note...)
		if s.Table != nil {
			tables = append(tables, s.Table)
		}
	}
	if slices.Contains(r.args, "--show") { // policies are compared with their files
		tables = slices.DeleteFunc(tables, func(s *report.ShownTable) bool {
			return policyHeads.MatchString(strings.Join(s.Columns[:2], ","))
		})
		sentences = slices.DeleteFunc(sentences, policySaid.MatchString)
	}
	if !slices.EqualFunc(lines, v.lines, sameLine) && v.lines[0] != "?*" {
		t.Errorf("%v: the heading is %q: want %q", r.args, lines, v.lines)
	}
	if !slices.Equal(items, v.items) {
		t.Errorf("%v: the list is %q: want %q", r.args, items, v.items)
	}
	checkSentences(t, r.args, sentences, v.sentences)
	for i := range max(len(tables), len(v.tables)) {
		switch {
		case i >= len(tables):
			t.Errorf("%v: no table %q is shown, with %q", r.args, v.tables[i].columns, v.tables[i].rows)
		case i >= len(v.tables):
			t.Errorf("%v: a table %q is shown", r.args, tables[i].Columns)
		default:
			checkViewed(t, r.args, tables[i], &v.tables[i])
		}
	}
}

func checkSentences(t *testing.T, args, shown, want []string) {
	t.Helper()
	for _, sentence := range want {
		optional := strings.HasPrefix(sentence, "?")
		sentence = strings.TrimPrefix(sentence, "?")
		switch {
		case len(shown) > 0 && (shown[0] == sentence || strings.HasSuffix(sentence, "…") &&
			strings.HasPrefix(shown[0], strings.TrimSuffix(sentence, "…"))):
			shown = shown[1:]
		case !optional:
			t.Errorf("%v: want %q before %.3q", args, sentence, shown)
			return
		}
	}
	if len(shown) > 0 {
		t.Errorf("%v: nothing in JSON says %.3q", args, shown)
	}
}

func checkViewed(t *testing.T, args []string, shown *report.ShownTable, want *viewed) {
	t.Helper()
	if !slices.Equal(shown.Columns, want.columns) || len(shown.Rows)+shown.More != len(want.rows) {
		t.Errorf("%v: a table %q of %d rows is shown: want %q with %q", args, shown.Columns, len(shown.Rows),
			want.columns, want.rows)
		return
	}
	for i, row := range shown.Rows {
		if !slices.EqualFunc(row, want.rows[i], sameCell) {
			t.Errorf("%v: %q shows %q: want %q", args, shown.Columns, row, want.rows[i])
		}
	}
}

// sameLine: what follows a question mark is not looked at.
func sameLine(shown, want string) bool {
	before, _, open := strings.Cut(want, "?")
	return shown == want || open && strings.HasPrefix(shown, before)
}

// sameCell: rounding may be shown as 0, or end in another last digit.
func sameCell(shown, want string) bool {
	if shown == want || strings.HasPrefix(want, "?") {
		return true
	}
	x, err := strconv.ParseFloat(shown, 64)
	y, errs := strconv.ParseFloat(want, 64)
	return err == nil && errs == nil && (x == 0 && math.Abs(y) < 1e-9 || len(shown) == len(want) && x != 0 &&
		math.Abs(x-y) < 1e-5*math.Abs(y))
}
