package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/problem"
)

// A pageAsked asks the questions of the page about a problem.
type pageAsked struct {
	t     *testing.T
	file  string
	all   *explorers
	about answer
}

func pageOf(t *testing.T, file string) *pageAsked {
	t.Helper()
	s := streams{problem: new(problem.ReadOptions)}
	p, err := (&memoryOptions{fleets: true}).load(t.Context(), s, file)
	if err != nil {
		t.Fatal(err)
	}
	e, err := newExplorer(t.Context(), p, &planOptions{iterations: 2000})
	if err != nil {
		t.Fatal(err)
	}
	a := &pageAsked{t: t, file: file, all: &explorers{first: e,
		read: func(ctx context.Context, set map[string]string) (*loaded, error) {
			other := streams{problem: &problem.ReadOptions{Set: set}}
			return (&memoryOptions{fleets: true}).load(ctx, other, file)
		},
		unfold: func(ctx context.Context, p *problem.Problem) (*loaded, error) {
			return new(memoryOptions).compile(ctx, p, file)
		}}}
	a.about, _ = a.ask("about", answer{})
	return a
}

// ask returns an answer as the page gets it, or what is refused.
func (a *pageAsked) ask(name string, question answer) (answer, error) {
	a.t.Helper()
	text, err := json.Marshal(question)
	if err != nil {
		a.t.Fatal(err)
	}
	got, err := a.all.answers()[name](a.t.Context(), text, func(any) {})
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(got)
	if err != nil {
		a.t.Fatal(err)
	}
	var back answer
	if err := json.Unmarshal(data, &back); err != nil {
		a.t.Fatal(err)
	}
	return back, nil
}

// TestExploredIsTheCommand: what the page shows of a problem, a plan, its files, its episodes and a trade-off is what
// the commands say, for limits and goals that are moved.
func TestExploredIsTheCommand(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(61, 9))
	files := []string{"depot.yaml", "corridor.yaml", "drone.yaml", "fleet.yaml"}
	for i, name := range files {
		path, err := filepath.Abs("../../docs/examples/" + name)
		if err != nil {
			t.Fatal(err)
		}
		files[i] = path
	}
	files = append(files, "matrix:game=regret3,limit=-0.1", duel(t, rng, "maximize"), rides(t), wages(t), "inventory")
	for trial := range 9 {
		files = append(files, drawProblem(rng, []string{"horizon: 3", "discount: 0.75", "criterion: average"}[trial%3]).
			write(t, 1))
	}
	counts := make(map[string]int)
	defer func(before time.Duration) { mostCounting = before }(mostCounting)
	for i, file := range files {
		a := pageOf(t, file)
		if i%2 == 1 { // all that varies is played
			mostCounting = 0
		}
		a.checkAbout()
		for k := range 4 {
			a.checkPlanned(counts, a.question(rng, k))
		}
		if a.about.is("intervals") {
			a.checkWidened()
		}
		if !a.about.is("game") && len(a.about.list("tails")) == 0 { // curves are for one threshold
			a.checkTradeOff()
		}
	}
	for _, what := range []string{"optimal", "infeasible", "unbounded", "conflict", "episodes"} {
		if counts[what] < 2 && what != "unbounded" {
			t.Errorf("%v: want more %s", counts, what)
		}
	}
}

// rides writes a problem whose policies have more returns than its page: the excess of the worst episodes stands before
// the chance, and no horizon lets episodes be counted.
func rides(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rides.yaml")
	text := "format: cmdp/1\ndiscount: 1\nstates: [on, done]\nstart: on\nreturns: [gain, pain]\ngoal: {maximize: gain}\n" +
		"constraints:\n  - {return: pain, at_most: 7, cvar: 0.2}\n  - {return: gain, at_least: 2, probability: 0.4}\n" +
		"transitions:\n  - {state: on, action: slow, next: {on: 0.5, done: 0.5}, returns: [1, 1]}\n" +
		"  - {state: on, action: fast, next: {on: 0.6, done: 0.4}, returns: [2, 3]}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// wages writes a problem in which every episode has to earn something.
func wages(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "wages.yaml")
	text := "format: cmdp/1\nhorizon: 4\nstates: [Home, Work]\nstart: Home\nreturns: [joy, pay]\ngoal: {maximize: joy}\n" +
		"constraints:\n  - {return: pay, at_least: 3, always: true}\n  - {return: joy, at_least: 0.5}\n" +
		"transitions:\n  - {state: Home, action: Rest, next: {Home: 1}, returns: [2, 0]}\n" +
		"  - {state: Home, action: go, next: {Work: 0.75, Home: 0.25}, returns: [1, 0]}\n" +
		"  - {state: Work, action: Earn, next: {Work: 0.5, Home: 0.5}, returns: [0, 1]}\n" +
		"  - {state: Home, action: odd jobs, next: {Home: 1}, returns: [0, 1]}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// duel writes a game of two steps in which both players draw, with actions of their own.
func duel(t *testing.T, rng *rand.Rand, goal string) string {
	t.Helper()
	file, rows := filepath.Join(t.TempDir(), "duel.yaml"), ""
	for state := range 2 {
		for a, mine := range []string{"Heads", "tails"} {
			for b, theirs := range []string{"even", "Odd"} {
				rows += fmt.Sprintf("  - {state: %d, action: %s, opponent: %s, next: {%d: 1}, returns: [%g, %d]}\n",
					state, mine, theirs, (a+b)%2, float64((a+b)%2*(2+state+a))+rng.Float64(), a)
			}
		}
	}
	text := "format: cmdp/1\nhorizon: 2\nstates: 2\nstart: 0\nreturns: [gain, cost]\ngoal: {" + goal +
		": gain}\ntransitions:\n" + rows
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// question moves the limits of the problem, and chooses another goal.
func (a *pageAsked) question(rng *rand.Rand, k int) answer {
	limits := []any{}
	for _, l := range a.about.list("limits") {
		value := l.num("value")
		if k > 0 && k < 3 {
			value *= 0.5 + rng.Float64()
		}
		probability := strings.HasPrefix(l.text("return"), "P(") || slices.ContainsFunc(a.about.list("returns"),
			func(r answer) bool { return r.text("name") == l.text("return") && r.is("probability") })
		if probability {
			value = min(1, value)
		}
		limits = append(limits, map[string]any{"return": l.text("return"), "kind": l.text("kind"), "value": value})
	}
	q := answer{"limits": limits}
	if k == 2 && !a.about.is("game") {
		kind := []string{"maximize", "minimize"}[rng.IntN(2)]
		q["goal"] = map[string]any{"kind": kind, "return": a.about.list("returns")[0].text("name")}
	}
	if k == 3 {
		q["limits"] = limits[:min(1, len(limits))]
	}
	return q
}

// checkAbout compares the description with that of check.
func (a *pageAsked) checkAbout() {
	a.t.Helper()
	text, _ := printed(a.t, "json", "check", a.file)
	check := answerOf(a.t, text)
	for _, r := range a.about.list("returns") {
		want := check.obj("returns").obj(r.text("name"))
		low, high := want.num("min"), want.num("max")
		if want == nil || !near(r.num("min"), min(low, high)) || !near(r.num("max"), max(low, high)) {
			a.t.Errorf("%s: the page has %v: check says %v", a.file, r, want)
		}
	}
	if a.about.text("wanted") != check.text("wanted") || a.about.text("title") != check.text("problem") ||
		!near(a.about.num("steps"), max(0, firstNumber(check.num("horizon"), 0))) {
		a.t.Errorf("%s: the page is about %v", a.file, a.about)
	}
	_, wanted, _ := strings.Cut(a.about.text("wanted"), " subject to ")
	for _, l := range a.about.list("always") {
		if value := l.num("value"); !(l.num("least") <= value && value <= l.num("most")) ||
			!strings.Contains(wanted, l.text("name")+" "+six(value)) || l.num("least") > 0 || l.num("most") < 0 {
			a.t.Errorf("%s: a limit %v that holds always, of %s", a.file, l, wanted)
		}
		other := math.Floor(l.num("value")/2) + 1
		plan, err := a.ask("plan", answer{"limits": a.about["limits"],
			"given": map[string]any{"always": map[string]any{fmt.Sprint(l.num("constraint")): other}}})
		if err != nil || !strings.Contains(plan.text("wanted"), l.text("name")+" "+six(other)) {
			a.t.Errorf("%s: with %s %v: %v, %v", a.file, l.text("name"), other, plan, err)
		}
	}
}

func firstNumber(x, otherwise float64) float64 {
	if math.IsNaN(x) {
		return otherwise
	}
	return x
}

func near(x, y float64) bool {
	return math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) < 1e-5*(1+math.Abs(x)+math.Abs(y))
}

func answerOf(t *testing.T, text string) (a answer) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return a
}

var shellWord = regexp.MustCompile(`'[^']*'|[^\s']+`)

// checkPlanned compares a plan of the page with the one of the command that the page shows.
func (a *pageAsked) checkPlanned(counts map[string]int, q answer) {
	t := a.t
	t.Helper()
	plan, err := a.ask("plan", q)
	saved, errs := a.ask("files", q)
	if err != nil || errs != nil {
		t.Errorf("%s, %v: %v, %v", a.file, q, err, errs)
		return
	}
	words := shellWord.FindAllString(saved.text("command"), -1)[1:]
	for i := range words {
		words[i] = strings.Trim(words[i], "'")
	}
	var out, said bytes.Buffer
	run(t.Context(), append(words, "--format", "json"), &out, &said)
	if strings.Contains(said.String(), "contradict") || strings.Contains(said.String(), "leave no") || out.Len() == 0 {
		if plan.text("report.status") != "infeasible" {
			t.Errorf("%v: %s: the page says %v", words, said.String(), plan)
		}
		return
	}
	want := answerOf(t, out.String())
	if want.has("failed") {
		if plan.text("report.status") != "infeasible" {
			t.Errorf("%v: %v: the page says %v", words, want, plan)
		}
		return
	}
	counts[want.text("status")]++
	report := plan.obj("report")
	if report.text("status") != want.text("status") || plan.text("wanted") != want.text("wanted") ||
		!near(report.num("objective"), want.num("objective")) || report.text("return") != want.text("return") {
		t.Errorf("%v: %s %g, %s: the page says %s %g, %s", words, want.text("status"), want.num("objective"),
			want.text("wanted"), report.text("status"), report.num("objective"), plan.text("wanted"))
		return
	}
	for _, key := range []string{"slack", "price"} {
		for i, c := range want.list("constraints") {
			if got := report.list("constraints")[i]; got.text("constraint") != c.text("constraint") ||
				key == "slack" && c.num("price") > 1e-4 && !near(got.num(key), c.num(key)) ||
				math.IsNaN(got.num(key)) != math.IsNaN(c.num(key)) {
				t.Errorf("%v: %v: the page has %v", words, c, got)
			}
		}
	}
	if len(plan.list("conflict")) != len(want.list("conflict")) {
		t.Errorf("%v: in conflict are %v: the page says %v", words, want.list("conflict"), plan.list("conflict"))
	}
	for i, c := range want.list("conflict") {
		counts["conflict"]++
		if got := plan.list("conflict")[i]; got.text("constraint") != c.text("constraint") ||
			!near(got.num("give"), c.num("give")) {
			t.Errorf("%v: in conflict %v: the page says %v", words, c, got)
		}
	}
	a.wantExactLimits(words, q)
	a.checkNotes(words, plan, want)
	a.checkPlayers(plan, want)
	a.checkLists(plan)
	a.checkThrough(q, plan)
	if plan.num("id") > 0 && want.text("status") == "optimal" && !a.about.is("game") && !a.about.has("fleet") {
		q["id"] = plan.num("id")
		a.checkSaved(counts, q, report) // of several optima the page may show another than the command
	}
}

// wantExactLimits: the command has every limit that was moved, to the last digit.
func (a *pageAsked) wantExactLimits(words []string, q answer) {
	a.t.Helper()
	for _, l := range q.list("limits") {
		same := func(o answer) bool {
			return o.text("return") == l.text("return") && o.text("kind") == l.text("kind") && o.num("value") == l.num("value")
		}
		word := l.text("return") + "=" + strconv.FormatFloat(l.num("value"), 'g', -1, 64)
		if !slices.Contains(words, word) && !slices.ContainsFunc(a.about.list("limits"), same) {
			a.t.Errorf("%v: the command has no %s", words, word)
		}
	}
}

// policyOf asks for a policy; it is nil if there is none.
func (a *pageAsked) policyOf(plan answer, more answer) answer {
	question := answer{"id": plan.num("id"), "step": -1.0, "player": "agent", "most": 1000}
	maps.Copy(question, more)
	got, err := a.ask("policy", question)
	if err != nil {
		return nil
	}
	return got
}

// doneIn adds up how often each action is taken in each state.
func doneIn(policy answer, done map[string]float64) {
	for _, s := range policy.list("states") {
		for i, name := range s.texts("names") {
			done[s.text("name")+"/"+name] += s.num("visits") * s.numbers("shares")[i]
		}
	}
}

// checkLists: what is done over all steps is what is done at each of them, by either player and by every type, and a
// search finds the states that have what is looked for in their names or in those of their actions.
func (a *pageAsked) checkLists(plan answer) {
	a.t.Helper()
	for _, player := range []string{"agent", "opponent"} {
		for kind := range max(1, len(a.about.list("fleet.types"))) {
			of := answer{"player": player, "type": kind}
			all := a.policyOf(plan, of)
			if all == nil || player == "opponent" && !a.about.is("game") {
				continue
			}
			whole, sum := make(map[string]float64), make(map[string]float64)
			doneIn(all, whole)
			for h := range int(a.about.num("steps")) {
				doneIn(a.policyOf(plan, answer{"player": player, "type": kind, "step": float64(h)}), sum)
			}
			for at, x := range whole {
				if a.about.num("steps") > 0 && !near(x, sum[at]) {
					a.t.Errorf("%s: the %s does %s %g times, and %g times at single steps", a.file, player, at, x, sum[at])
				}
				for part := range strings.SplitSeq(at, "/") {
					a.checkSearch(plan, of, all, part)
				}
			}
		}
	}
}

func (a *pageAsked) checkSearch(plan, of, all answer, part string) {
	a.t.Helper()
	search := strings.ToUpper(part[:min(len(part), 3)])
	if strings.ToValidUTF8(search, "") != search {
		return
	}
	has := func(name string) bool { return strings.Contains(strings.ToUpper(name), search) }
	var want []string
	for _, s := range all.list("states") {
		if has(s.text("name")) || slices.ContainsFunc(s.texts("names"), has) {
			want = append(want, s.text("name"))
		}
	}
	for _, most := range []int{1000, 1} {
		found := a.policyOf(plan, answer{"player": of["player"], "type": of["type"], "search": search, "most": most})
		var got []string
		for _, s := range found.list("states") {
			got = append(got, s.text("name"))
		}
		if !slices.Equal(got, want[:min(most, len(want))]) || int(found.num("found")) != len(want) {
			a.t.Errorf("%s: a search for %q finds %v, %v in all: want %v", a.file, search, got, found.num("found"), want)
		}
	}
}

// checkThrough: the curve that belongs to a plan has nothing worse than the plan, whichever way it is looked at.
func (a *pageAsked) checkThrough(q, plan answer) {
	a.t.Helper()
	returns := a.about.list("returns")
	if len(returns) < 2 || a.about.is("game") || plan.text("report.status") != "optimal" || plan.num("id") == 0 {
		return
	}
	for _, signs := range [][]float64{{1, -1}, {-1, 1}, {1, 1}, {-1, -1}} {
		curve, err := a.ask("front", answer{"over": []any{returns[0].text("name"), returns[1].text("name")}, "signs": signs,
			"limits": q["limits"], "id": plan.num("id")})
		if err != nil || curve.text("status") != "optimal" {
			continue // a return that grows without end
		}
		for _, turn := range []float64{0, 0.25, 0.5, 0.75, 1} {
			worth := func(x []float64) (sum float64) {
				for k, weight := range []float64{turn, 1 - turn} {
					span := math.Abs(returns[k].num("max")-returns[k].num("min")) + 1e-9
					sum += weight * signs[k] * x[k] / span
				}
				return sum
			}
			most := math.Inf(-1)
			list, _ := curve["points"].([]any)
			for _, p := range list {
				most = max(most, worth(answer{"": p}.numbers("")))
			}
			of := plan.obj("report")
			if own := worth([]float64{of.of("returns", returns[0].text("name")).num(""),
				of.of("returns", returns[1].text("name")).num("")}); own > most+5e-3 {
				a.t.Errorf("%s: %v: the plan is better than its curve by %g, looked at by %g", a.file, signs, own-most, turn)
			}
		}
	}
}

// TestExploredGiven: constants, limits on every episode and widths that the page gives, together too, are those of the
// file that has them.
func TestExploredGiven(t *testing.T) {
	flagFolder(t)
	base := readText(t, "delivery.yaml")
	a := pageOf(t, "delivery.yaml")
	always := a.about.list("always")[0].num("constraint")
	for k := range 8 {
		given, text := map[string]any{}, base
		var more []string
		if k&1 > 0 {
			given["set"] = map[string]any{"wanted": 0.6, "risk": 0.05}
			text = strings.NewReplacer("risk: 0.03", "risk: 0.05", "wanted: 0.75", "wanted: 0.6").Replace(text)
		}
		if k&2 > 0 {
			given["always"] = map[string]any{fmt.Sprint(always): 6}
			text = strings.Replace(text, "at_most: charge, always", "at_most: 6, always", 1)
		}
		if k&4 > 0 {
			given["width"] = map[string]any{"interval": 0.01}
			more = []string{"--interval", "0.01", "--gap", "1e-8"}
		}
		if err := os.WriteFile("given.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		told, _ := printed(t, "json", append([]string{"plan", "given.yaml"}, more...)...)
		want := answerOf(t, told)
		about, err := a.ask("about", answer{"given": given})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := a.ask("plan", answer{"limits": about["limits"], "given": given})
		if got := plan.obj("report"); err != nil || got.text("status") != want.text("status") ||
			!near(got.num("objective"), want.num("objective")) || plan.text("wanted") != want.text("wanted") {
			t.Errorf("given %v: %s %g, %s, %v: want %s %g, %s", given, got.text("status"), got.num("objective"),
				plan.text("wanted"), err, want.text("status"), want.num("objective"), want.text("wanted"))
		}
	}
}

// checkPlayers: the page shows the policies of a game that plan has.
func (a *pageAsked) checkPlayers(plan, want answer) {
	a.t.Helper()
	for _, player := range []string{"agent", "opponent"} {
		rows := want.list("policies." + player)
		if rows == nil || plan.num("id") == 0 {
			continue
		}
		shown, err := a.ask("policy", answer{"id": plan.num("id"), "step": 0, "player": player, "most": 1000})
		if err != nil {
			a.t.Errorf("%s: the policy of the %s: %v", a.file, player, err)
			continue
		}
		shares := make(map[string]float64)
		for _, s := range shown.list("states") {
			for i, name := range s.texts("names") {
				shares[s.text("name")+"/"+name] = s.numbers("shares")[i]
			}
		}
		for _, r := range rows {
			at := r.text("state") + "/" + r.text("action")
			if x, is := shares[at]; r.num("step") == 1 && (!is && r.num("probability") > 1e-6 || is && !near(x,
				r.num("probability"))) {
				a.t.Errorf("%s: the %s does %s with %g: plan has %g", a.file, player, at, x, r.num("probability"))
			}
		}
	}
}

// checkNotes: the sentences of the page are those that a plan shows, but for what a learner would be told.
func (a *pageAsked) checkNotes(words []string, plan, want answer) {
	a.t.Helper()
	var sentences []string
	for _, s := range want.list("shown") {
		sentences = append(sentences, s.texts("note")...)
	}
	chosen := func(of answer) []float64 {
		var at []float64
		for _, l := range of.list("thresholds") {
			at = append(at, l.num("threshold"))
		}
		return at
	}
	// Of thresholds that are as good as one another the page may show another one than the command.
	others := !slices.Equal(chosen(plan.obj("report")), chosen(want))
	own := func(s string) bool {
		return others && (strings.Contains(s, " with the threshold ") || strings.HasPrefix(s, "A policy remembers")) ||
			strings.HasPrefix(s, "For learn") || strings.HasPrefix(s, "Branch ") || strings.HasPrefix(s,
			"Limits hold") ||
			strings.HasPrefix(s, "With whole numbers") || strings.HasPrefix(s, "No policy keeps")
	}
	in := func(list []string, s string) bool {
		return slices.ContainsFunc(list, func(o string) bool { return sameSentence(s, o) })
	}
	for _, s := range plan.texts("notes") {
		if !own(s) && !in(sentences, s) {
			a.t.Errorf("%v: the page says %q, and not the command", words, s)
		}
	}
	for _, s := range sentences {
		if !own(s) && !in(plan.texts("notes"), s) {
			a.t.Errorf("%v: the command says %q, and not the page", words, s)
		}
	}
}

// sameSentence compares words, and numbers up to the gaps of both.
func sameSentence(a, b string) bool {
	return slices.EqualFunc(strings.Fields(a), strings.Fields(b), func(x, y string) bool {
		v, err := strconv.ParseFloat(strings.Trim(x, ",.()%"), 64)
		w, errs := strconv.ParseFloat(strings.Trim(y, ",.()%"), 64)
		return x == y || err == nil && errs == nil && math.Abs(v-w) < 1e-3*(math.Abs(v)+math.Abs(w))+1e-6
	})
}

// checkSaved reads the files of the page: the problem has the same plan, and its policy the same returns. Episodes have
// their means.
func (a *pageAsked) checkSaved(counts map[string]int, q, want answer) {
	t := a.t
	t.Helper()
	saved, err := a.ask("files", q)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, policy := filepath.Join(dir, "problem.yaml"), filepath.Join(dir, "policy.csv")
	for name, text := range map[string]string{file: saved.text("problem"), policy: saved.text("policy")} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if saved.has("problem") {
		text, _ := printed(t, "json", "plan", file)
		if again := answerOf(t, text); !near(again.num("objective"), want.num("objective")) {
			t.Errorf("%s: the file that is saved has the optimum %g: want %g", a.file, again.num("objective"),
				want.num("objective"))
		}
	}
	if saved.has("problem") && !want.has("memory") {
		text, _ := printed(t, "json", "check", file, "--policy", policy)
		for name, r := range answerOf(t, text).obj("policy").obj("returns") {
			if r := (answer{"": r}).obj(""); !near(r.num("least"), want.of("returns", name).num("")) {
				t.Errorf("%s: the policy that is saved has %v of %s: want %g", a.file, r, name,
					want.of("returns", name).num(""))
			}
		}
	}
	q["seed"], q["count"] = 1, 400
	episodes, err := a.ask("episodes", q)
	if err != nil {
		t.Fatal(err)
	}
	counts["episodes"]++
	for i, r := range a.about.list("returns") {
		got, mean, total, sum := episodes.list("returns")[i], want.of("returns", r.text("name")).num(""), 0.0, 0.0
		for k, share := range got.numbers("shares") {
			total += share
			sum += share * got.numbers("values")[k]
		}
		if !near(sum, got.num("mean")) {
			t.Errorf("%s: values of %s have the mean %g, and %g is told", a.file, r.text("name"), sum, got.num("mean"))
		}
		within := 6*got.num("half") + 1e-5*(1+math.Abs(mean))
		if a.about.is("average") { // a run of so many steps begins somewhere
			within += 0.05 * (1 + math.Abs(mean))
		}
		if !(math.Abs(got.num("mean")-mean) <= within) || !near(total, 1) ||
			got.is("exact") && got.num("half") > 0 || !got.is("exact") && episodes.num("played") == 0 {
			t.Errorf("%s: episodes have %g ± %g of %s, with shares of %g: want %g", a.file, got.num("mean"),
				got.num("half"),
				r.text("name"), total, mean)
		}
	}
}

// checkWidened: with wider probabilities the page says what plan --interval says.
func (a *pageAsked) checkWidened() {
	a.t.Helper()
	plan, err := a.ask("plan", answer{"limits": a.about["limits"],
		"given": map[string]any{"width": map[string]any{"interval": 0.05}}})
	var out, said bytes.Buffer
	status := run(a.t.Context(), []string{"plan", a.file, "--interval", "0.05", "--gap", "1e-8", "--format",
		"json"}, &out,
		&said)
	if refused := status == exitUsage; refused || err != nil {
		if refused != (err != nil) {
			a.t.Errorf("%s: the page says %v: plan --interval %s", a.file, err, said.String())
		}
		return
	}
	want := answerOf(a.t, out.String())
	if report := plan.obj("report"); report.text("status") != want.text("status") ||
		!near(report.num("objective"), want.num("objective")) {
		a.t.Errorf("%s, widened: %s %g: the page says %s %g", a.file, want.text("status"), want.num("objective"),
			report.text("status"), report.num("objective"))
		return
	}
	for name := range want.obj("returns") {
		sentence := fmt.Sprintf("%s is between %s and %s.", name,
			report.Short(report.Number(want.num("returns."+name+".least"))),
			report.Short(report.Number(want.num("returns."+name+".greatest"))))
		if !slices.ContainsFunc(plan.texts("notes"), func(o string) bool { return sameSentence(o, sentence) }) {
			a.t.Errorf("%s, widened: %q, and the page says %q", a.file, sentence, plan.texts("notes"))
		}
	}
	for _, s := range want.list("shown") {
		for _, sentence := range s.texts("note") {
			same := func(o string) bool { return sameSentence(o, sentence) }
			if !slices.ContainsFunc(plan.texts("notes"), same) && !strings.HasPrefix(sentence, "Better plans") {
				a.t.Errorf("%s, widened: %q, and the page says %q", a.file, sentence, plan.texts("notes"))
			}
		}
	}
}

// checkTradeOff: a curve reaches from the best of one return to the best of the other, and lies within its corners.
func (a *pageAsked) checkTradeOff() {
	t, returns := a.t, a.about.list("returns")
	t.Helper()
	if len(returns) < 2 {
		return
	}
	a.checkCurve([]float64{1, -1})
	a.checkCurve([]float64{-1, 1})
}

func (a *pageAsked) checkCurve(signs []float64) {
	t, returns := a.t, a.about.list("returns")
	t.Helper()
	over := []any{returns[0].text("name"), returns[1].text("name")}
	var limits []any
	for _, l := range a.about.list("limits") {
		if !slices.Contains(over, any(l.text("return"))) {
			limits = append(limits, map[string]any(l))
		}
	}
	curve, err := a.ask("front", answer{"over": over, "signs": signs, "limits": a.about["limits"]})
	if err != nil {
		t.Errorf("%s: %v", a.file, err)
		return
	}
	var points [][]float64
	list, _ := curve["points"].([]any)
	for _, p := range list {
		points = append(points, answer{"": p}.numbers(""))
	}
	corners, _ := curve["corners"].([]any)
	for _, corner := range corners {
		at := answer{"": corner}.numbers("")
		for k, r := range returns[:2] { // where a curve is, all policies are
			within := 1e-2 * (1 + math.Abs(r.num("max")-r.num("min")))
			if !(at[k] >= min(r.num("min"), r.num("max"))-within && at[k] <= max(r.num("min"), r.num("max"))+within) {
				t.Errorf("%s: a curve of %v, %v has the corner %v, beyond all returns", a.file, over, signs, at)
			}
		}
	}
	for k, name := range over {
		kind := map[float64]string{1: "maximize", -1: "minimize"}[signs[k]]
		best, err := a.ask("plan", answer{"limits": limits, "goal": map[string]any{"kind": kind, "return": name}})
		if err != nil || best.text("report.status") != "optimal" || len(points) == 0 {
			continue
		}
		reached := math.Inf(-1)
		for _, p := range points {
			reached = max(reached, signs[k]*p[k])
		}
		span := math.Abs(returns[k].num("max") - returns[k].num("min"))
		if want := signs[k] * best.num("report.objective"); math.Abs(reached-want) > 3e-3*span+1e-9 {
			t.Errorf("%s: the curve reaches %g of %s: want %g", a.file, reached, name, want)
		}
	}
}

// TestExploredContradictions: limits that contradict each other are both named, no plan is kept, and limits on
// probabilities that are none are refused.
func TestExploredContradictions(t *testing.T) {
	a := pageOf(t, "../../docs/examples/two-rooms.yaml")
	for _, r := range a.about.list("returns") {
		name, middle := r.text("name"), (r.num("min")+r.num("max"))/2
		plan, err := a.ask("plan", answer{"limits": []any{
			map[string]any{"return": name, "kind": "at_least", "value": middle + 1},
			map[string]any{"return": name, "kind": "at_most", "value": middle - 1}}})
		if err != nil || plan.text("report.status") != "infeasible" || plan.num("id") != 0 {
			t.Errorf("%s: %v, %v", name, plan, err)
			continue
		}
		var kinds []string
		for _, c := range plan.list("conflict") {
			if kinds = append(kinds, c.text("kind")); c.text("return") != name ||
				!strings.Contains(strings.Join(plan.texts("notes"), " "), c.text("constraint")) {
				t.Errorf("%s: in conflict is %v; the page says %q", name, c, plan.texts("notes"))
			}
		}
		if slices.Sort(kinds); !slices.Equal(kinds, []string{"at_least", "at_most"}) {
			t.Errorf("%s: in conflict are %v", name, plan.list("conflict"))
		}
	}
}

// TestExploredEpisodes: as many episodes are played as the page asks for, within bounds, where returns are not counted.
func TestExploredEpisodes(t *testing.T) {
	p := drawProblem(rand.New(rand.NewPCG(71, 3)), "discount: 0.75")
	p.limits = nil
	a := pageOf(t, p.write(t, 1))
	plan, err := a.ask("plan", answer{})
	if err != nil {
		t.Fatal(err)
	}
	for asked, want := range map[int]int{0: 200, 199: 200, 321: 321, 5000: 4000} {
		got, err := a.ask("episodes", answer{"id": plan["id"], "seed": 1, "count": asked})
		if err != nil || int(got.num("played")) != want {
			t.Errorf("%d episodes are asked for: %v are played, %v", asked, got.num("played"), err)
			continue
		}
		for _, r := range got.list("returns") {
			if n := len(r.numbers("values")); !r.is("exact") && n != want {
				t.Errorf("%d episodes have %d values", want, n)
			}
		}
	}
}

// TestExploredAbout: the page knows of a problem what check says of it.
func TestExploredAbout(t *testing.T) {
	for _, file := range []string{"inventory", "../../docs/examples/clinic.yaml", "../../docs/examples/two-rooms.yaml",
		"soccer:rows=2,cols=3,H=5", "../../docs/examples/delivery.yaml"} {
		a := pageOf(t, file).about
		text, _ := printed(t, "json", "check", file)
		want, span := answerOf(t, text), 0.0
		for _, r := range a.list("returns") {
			of := want.obj("returns").obj(r.text("name"))
			low, high := min(of.num("min"), of.num("max")), max(of.num("min"), of.num("max"))
			if !near(r.num("min"), low) || !near(r.num("max"), high) {
				t.Errorf("%s: %v, and check says %v", file, r, of)
			}
			span += (high - low) * (high - low)
		}
		wanted := a.text("wanted")
		goal := a.text("goal.kind") + " " + a.text("goal.return")
		if a.num("states") != want.num("states") || a.has("steps") && a.num("steps") > 0 &&
			a.num("steps") != want.num("horizon") || (a.num("steps") == 0) == want.has("horizon") ||
			a.is("game") != want.has("most_actions") ||
			a.is("target") != strings.Contains(wanted, "in the target set") || wanted != want.text("wanted") ||
			a.text("name") != file || !strings.HasPrefix(wanted, strings.TrimSuffix(goal, " ")) &&
			a.text("goal.kind") != "none" {
			t.Errorf("%s: the page knows %v, and check says %v", file, a, want)
		}
		if average := strings.Contains(file, "clinic"); a.is("average") != average {
			t.Errorf("%s: long-run means %v", file, a.is("average"))
		}
		if extent := a.num("extent"); !(extent >= 0.999*math.Sqrt(span)) {
			t.Errorf("%s: the extent %g is less than %g", file, extent, math.Sqrt(span))
		}
	}
}

// TestSlidersOfAlways: limits on every episode have sliders if they have one side, under their numbers, and a value can
// be moved to either side, through 0 too.
func TestSlidersOfAlways(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 2))
	for range 50 {
		var p problem.Problem
		var want []aboutAlways
		for k := range rng.IntN(5) {
			c := problem.Limit{Return: fmt.Sprint("r", k), Always: rng.IntN(3) > 0}
			x := []float64{-7.5, -0.1, 0, 0.25, 3}[rng.IntN(5)]
			sides := 1 + rng.IntN(3)
			if sides&1 > 0 {
				c.AtMost = &x
			}
			if sides&2 > 0 {
				c.AtLeast = &x
			}
			if p.Constraints = append(p.Constraints, c); c.Always && sides < 3 {
				want = append(want, aboutAlways{Constraint: k, Name: c.Return + []string{" ≤", " ≥"}[sides-1], Value: x})
			}
		}
		got := alwaysLimits(&p)
		for i, a := range got {
			if !(a.Least <= 2*a.Value && a.Least <= 0 && a.Most >= 2*a.Value && a.Most >= 0 && a.Least < a.Most) {
				t.Errorf("a slider from %g to %g for %g", a.Least, a.Most, a.Value)
			}
			got[i].Least, got[i].Most = 0, 0
		}
		if !slices.Equal(got, want) {
			t.Errorf("sliders %v: want %v", got, want)
		}
	}
}

// TestExploredAlways: a limit that holds in every episode can be moved on either side, and no other is moved with it.
func TestExploredAlways(t *testing.T) {
	file := filepath.Join(t.TempDir(), "always.yaml")
	text := "format: cmdp/1\nhorizon: 3\nstates: [s]\nstart: s\nreturns: [work, cost]\ngoal: {maximize: work}\nconstraints:\n" +
		"  - {return: cost, at_most: 9, always: true}\n  - {return: work, at_least: 1, always: true}\n  - {return: cost, at_most: 5}\n" +
		"transitions:\n  - {state: s, action: rest, next: {s: 1}, returns: [0, 0]}\n" +
		"  - {state: s, action: work, next: {s: 1}, returns: [1, 2]}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a := pageOf(t, file)
	list := a.about.list("always")
	if len(list) != 2 || list[0].text("name") != "cost ≤" || list[0].num("value") != 9 || list[1].text("name") != "work ≥" ||
		list[1].num("value") != 1 {
		t.Fatalf("limits on every episode: %v", list)
	}
	for k, moved := range []string{"at_most: 4", "at_least: 2"} {
		value := strings.Fields(moved)[1]
		given := map[string]any{"always": map[string]any{fmt.Sprint(k): json.Number(value)}}
		about, err := a.ask("about", answer{"given": given})
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range about.list("always") {
			want := fmt.Sprint(list[i].num("value"))
			if i == k {
				want = value
			}
			if l.text("name") != list[i].text("name") || fmt.Sprint(l.num("value")) != want {
				t.Errorf("given %v: %v, want %s", given, l, want)
			}
		}
		before := []string{"at_most: 9", "at_least: 1"}[k]
		if err := os.WriteFile(file, []byte(strings.Replace(text, before, moved, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		told, _ := printed(t, "json", "plan", file)
		plan, err := a.ask("plan", answer{"limits": about["limits"], "given": given})
		if want := answerOf(t, told); err != nil || !near(plan.num("report.objective"), want.num("objective")) {
			t.Errorf("given %v: %v %v, want %g", given, plan, err, want.num("objective"))
		}
	}
	if _, err := a.ask("about", answer{"given": map[string]any{"always": map[string]any{"2": 1}}}); err == nil {
		t.Error("a limit on expected returns is moved as one of every episode")
	}
}

// askServed asks a question of a page that is served, as its scripts do; it returns the last line.
func askServed(t *testing.T, url, name string, question answer) answer {
	t.Helper()
	text, err := json.Marshal(question)
	if err != nil {
		t.Fatal(err)
	}
	got, err := http.Post(url+"ask/"+name, "application/json", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	data, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return answerOf(t, lines[len(lines)-1]).obj("answer")
}

// TestExploreCalled: a page that was called with options and is given values besides shows what the command that it
// names finds, and saves that problem.
func TestExploreCalled(t *testing.T) {
	flagFolder(t)
	none := map[string]any{}
	width := func(x float64) map[string]any { return map[string]any{"width": map[string]any{"interval": x}} }
	set := func(name string, x float64) map[string]any { return map[string]any{"set": map[string]any{name: x}} }
	for _, c := range []struct {
		called []string
		given  []map[string]any
	}{
		{[]string{"delivery.yaml", "--set", "risk=0.05"}, []map[string]any{none, set("wanted", 0.6), set("risk", 0.04),
			width(0.01), {"always": map[string]any{"2": 6.0}}}},
		{[]string{"delivery.yaml", "--resolution", "0.25", "--set", "wanted=0.6"}, []map[string]any{none, set("risk", 0.05)}},
		{[]string{"parcel.yaml"}, []map[string]any{none, width(0.02)}},
		{[]string{"courier.prism", "--const", "N=4", "--property", "courier.props:cheap"}, []map[string]any{none}},
	} {
		url, stop := serveCommand(t, c.called...)
		for _, given := range c.given {
			about := askServed(t, url, "about", answer{"given": given})
			q := answer{"given": given, "limits": about["limits"]}
			plan := askServed(t, url, "plan", q)
			q["id"] = plan["id"]
			saved := askServed(t, url, "files", q)
			words := shellWord.FindAllString(saved.text("command"), -1)
			for i := range words {
				words[i] = strings.Trim(words[i], "'")
			}
			if err := os.WriteFile("problem.yaml", []byte(saved.text("problem")), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, word := range c.called {
				if _, always := given["always"]; !always && !slices.Contains(words, word) {
					t.Errorf("%v, given %v: the command %v has no %s", c.called, given, words, word)
				}
			}
			text, _ := printed(t, "json", append(words[1:], "--gap", "1e-8")...)
			want := answerOf(t, text)
			if saved.has("problem") && !want.is("rounded") {
				text, _ = printed(t, "json", "plan", "problem.yaml", "--gap", "1e-8")
				if again := answerOf(t, text).num("objective"); !near(again, want.num("objective")) {
					t.Errorf("%v, given %v: the problem that is saved has %g: want %g", c.called, given, again,
						want.num("objective"))
				}
			}
			if got := plan.obj("report"); got.text("status") != want.text("status") || plan.text("wanted") !=
				want.text("wanted") || !near(got.num("objective"), want.num("objective")) {
				t.Errorf("%v, given %v: %s %g, %s: the command %v says %s %g, %s", c.called, given, got.text("status"),
					got.num("objective"), plan.text("wanted"), words, want.text("status"), want.num("objective"),
					want.text("wanted"))
			}
		}
		stop()
	}
}
