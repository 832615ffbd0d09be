package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

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
	rng := rand.New(rand.NewPCG(61, 9))
	files := []string{"depot.yaml", "corridor.yaml", "drone.yaml", "fleet.yaml"}
	for i, name := range files {
		path, err := filepath.Abs("../../docs/examples/" + name)
		if err != nil {
			t.Fatal(err)
		}
		files[i] = path
	}
	files = append(files, "matrix:game=regret3,limit=-0.1", "inventory")
	for trial := range 9 {
		files = append(files, drawProblem(rng, []string{"horizon: 3", "discount: 0.75", "criterion: average"}[trial%3]).
			write(t, 1))
	}
	counts := make(map[string]int)
	for _, file := range files {
		a := pageOf(t, file)
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
	return math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= 1e-5*(1+math.Abs(x)+math.Abs(y))
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
	a.checkNotes(words, plan, want)
	a.checkPlayers(plan, want)
	if plan.num("id") > 0 && want.text("status") == "optimal" && !a.about.is("game") && !a.about.has("fleet") {
		q["id"] = plan.num("id")
		a.checkSaved(counts, q, want)
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
	own := func(s string) bool {
		return strings.HasPrefix(s, "For learn") || strings.HasPrefix(s, "Branch ") || strings.HasPrefix(s,
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
		return x == y || err == nil && errs == nil && math.Abs(v-w) <= 1e-3*(math.Abs(v)+math.Abs(w))+1e-6
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
		got, mean, total := episodes.list("returns")[i], want.of("returns", r.text("name")).num(""), 0.0
		for _, share := range got.numbers("shares") {
			total += share
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
