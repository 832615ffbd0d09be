package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func (v *view) branches() {
	branches := v.list("branches")
	if branches == nil {
		return
	}
	means := slices.DeleteFunc(slices.Clone(v.returns), func(name string) bool {
		return !branches[0].of("returns", name).has("")
	})
	v.head(append(append([]string{"branch", "probability"}, means...), "breaks for ever")...)
	broken, hidden := 0.0, 0.0
	for i, b := range branches {
		breaks := b.texts("breaks")
		if len(breaks) > 0 {
			broken += b.num("probability")
		}
		if i >= 12 {
			hidden += b.num("probability")
			continue
		}
		where := cmp.Or(b.text("state"), "rest") + map[bool]string{true: ", …"}[b.num("states") > 1]
		cells := []string{fmt.Sprintf("%d: %s", i+1, where), three(b.num("probability"))}
		for _, name := range means {
			cells = append(cells, six(b.of("returns", name).num("")))
		}
		for j, name := range append(breaks, "–")[:max(1, len(breaks))] {
			if j > 0 {
				cells = make([]string, len(cells))
			}
			v.row(append(cells, name)...)
		}
	}
	v.say("An endless run comes to one of %d branches, whose long-run means it then has for ever.", len(branches))
	limited := slices.ContainsFunc(means, func(name string) bool {
		return strings.Contains(v.text("wanted"),
			name+" ")
	})
	if broken > 0 {
		v.say("Limits on these are kept only by the mean over all runs: with probability %s a run breaks one for ever.",
			three(broken))
	} else {
		v.sayIf(limited, "?Each of them keeps every limit on these.")
	}
	v.sayIf(hidden > 0, "The table leaves out %s, with a probability of %s together.",
		strings.Replace(many(float64(len(branches)-12), "branch"), "branchs", "branches", 1), three(hidden))
}

func (v *view) distributions(episodes int) {
	names := v.names("distribution")
	if len(names) == 0 {
		return
	}
	v.head("per episode", "sd", "5%", "median", "95%", "lowest 5%", "highest 5%")
	exact, sampled := false, false
	order := slices.DeleteFunc(slices.Clone(v.returns), func(n string) bool { return !slices.Contains(names, n) })
	for _, name := range order {
		d := v.obj("distribution").obj(name)
		cells := func(first string, of answer, write func(float64) string) []string {
			q := of.obj("quantiles")
			out := []string{first, write(of.num("sd"))}
			for _, level := range []string{"0.05", "0.5", "0.95"} {
				out = append(out, write(answer{"": q[level]}.num("")))
			}
			tails := of.obj("cvar")
			return append(out, write(answer{"": tails["lowest_0.05"]}.num("")),
				write(answer{"": tails["highest_0.05"]}.num("")))
		}
		v.row(cells(name, d, six)...)
		if d.has("ci95") {
			v.row(cells("± 95%", d.obj("ci95"), three)...)
		}
		exact, sampled = exact || d.is("exact"), sampled || d.has("ci95")
	}
	text := "This table is about single episodes: lowest and highest 5% are the means of the least and the greatest " +
		"twentieth. "
	switch {
	case !sampled:
		text += "All is computed exactly."
	case exact:
		text += fmt.Sprintf("Rows with a ± below them are sampled, in %s, and have 95%% confidence intervals; the "+
			"others are computed exactly.", many(float64(episodes), "episode"))
	default:
		text += fmt.Sprintf("All is sampled, in %s, with 95%% confidence intervals.", many(float64(episodes),
			"episode"))
	}
	v.say("%s", text)
	for _, name := range order {
		v.histogram(name)
	}
}

func (v *view) histogram(name string) {
	v.head(name, "probability", "")
	bins := v.obj("distribution").obj(name).list("histogram")
	most := 0.0
	for _, b := range bins {
		most = max(most, b.num("probability"))
	}
	for _, b := range bins {
		at := six(b.num("from"))
		if b.num("to") > b.num("from") {
			at += " to " + six(b.num("to"))
		}
		p := three(b.num("probability"))
		if b.num("ci95") > 0 {
			p += " ± " + three(b.num("ci95"))
		}
		eighths := int(math.Round(320 * b.num("probability") / most))
		if eighths == 0 && b.num("probability") > 0 {
			eighths = 1
		}
		bar := strings.Repeat("█", eighths/8)
		if part := eighths % 8; part > 0 {
			bar += string(rune('█' + 8 - part))
		}
		v.row(at, p, bar)
	}
}

func (v *view) simulate() {
	v.lines = append(v.lines, many(v.num("episodes"), "episode")+", seed "+six(v.num("seed")))
	known := !v.has("env_command")
	means := strings.Contains(v.time, "long-run mean")
	sets := v.has("uncertainty")
	columns := []string{"quantity", "mean", "ci95", "exact", "stopping"}[:3+2*indicator(known)]
	if known && !means {
		columns = columns[:4]
	}
	v.head(columns...)
	if sets {
		v.heads("least", "greatest")
	}
	add := func(least, greatest string, cells ...string) {
		cells = cells[:len(columns)]
		if sets {
			cells = append(slices.Clip(cells), least, greatest)
		}
		v.row(cells...)
	}
	for _, name := range v.returns {
		r := v.obj("returns").obj(name)
		m := answer(r)
		stopping := ""
		if m.has("stopping") {
			stopping = three(m.num("stopping"))
		}
		add(six(m.num("least")), six(m.num("greatest")), name, six(m.num("mean")), three(m.num("ci95")),
			six(m.num("expected")), stopping)
	}
	wanted := v.text("wanted")
	if v.has("objective") {
		add("", "", "objective", six(v.num("objective")), "", six(v.num("expected.objective")), "")
	}
	limited := strings.HasPrefix(wanted, "meet ") || strings.Contains(wanted, " subject to ")
	if onlyAlways := limited && v.num("violation") == 0 && strings.Count(wanted,
		"always") > strings.Count(wanted, ","); limited &&
		!onlyAlways {
		zero := func(x float64) string {
			if x < 1e-7 {
				return "?" // rounding is shown as 0
			}
			return six(x)
		}
		add("", "", "violation", zero(v.num("violation")), "", zero(v.num("expected.violation")), "")
	} else if onlyAlways {
		limited = false
	}
	v.simulateSentences(known, means, limited)
	v.branches()
	v.distributions(int(v.num("episodes")))
}

func (v *view) simulateSentences(known, means, limited bool) {
	v.say("The mean over the episodes has ± ci95 as its 95%% confidence interval; %s", map[bool]string{
		true:  "exact is the expected return of the policy.",
		false: "what is expected of the policy in a simulator is not known."}[known])
	if !known {
		return
	}
	sets := v.has("uncertainty")
	v.sayIf(sets, "Episodes are those of the nominal model; least and greatest are what the expected return can "+
		"be over "+
		"the intervals.")
	breaks := slices.ContainsFunc(v.list("branches"), func(b answer) bool { return len(b.texts("breaks")) > 0 })
	switch {
	case !limited:
	case v.num("expected.violation") > 1e-7:
		v.say("The policy misses what is allowed by %s.", six(v.num("expected.violation")))
	case breaks:
		v.say("The policy keeps every limit in the mean over all runs, but not in each of them.")
	case sets:
		v.say("In the nominal model the policy keeps every limit; cmdpsolve check --policy says whether it does " +
			"in every " +
			"model.")
	default:
		v.say("The policy keeps every limit.")
	}
	v.sayIf(v.has("components"), "Every episode draws one of the policy's %s components.", six(v.num("components")))
	if !v.has("truncation") {
		return
	}
	steps := many(v.num("truncation.steps"), "step")
	if means {
		v.say("An episode is %s; stopping there changes the expected mean by at most what the column stopping "+
			"says.", steps)
	} else {
		v.say("Episodes are cut after %s, which changes a return by at most %s.", steps,
			three(v.num("truncation.error")))
	}
}

// TestViewOfBranches: what is said of policies whose endless runs come to different places, several of which break
// limits, follows from their branches.
func TestViewOfBranches(t *testing.T) {
	rng := rand.New(rand.NewPCG(64, 3))
	several := 0
	for range 8 {
		classes, rows, next := 3+rng.IntN(14), "", ""
		weights, sum := make([]int, classes+1), 0
		for i := range classes {
			weights[i+1] = 1 + rng.IntN(5)
			sum += weights[i+1]
		}
		for i := 1; i <= classes; i++ {
			next += fmt.Sprintf("%d: %d/%d, ", i, weights[i], sum)
			rows += fmt.Sprintf("  - {state: %d, action: stay, next: {%[1]d: 1}, returns: [%d, %d]}\n", i, rng.IntN(9), rng.IntN(9))
		}
		text := fmt.Sprintf("format: cmdp/1\ncriterion: average\nstates: %d\nstart: 0\nreturns: [gain, cost]\n"+
			"goal: {maximize: gain}\nconstraints: [{return: gain, at_least: 2}, {return: cost, at_most: 6}]\n"+
			"transitions:\n  - {state: 0, action: go, next: {%s}, returns: [0, 0]}\n%s", classes+1,
			strings.TrimSuffix(next, ", "), rows)
		file := filepath.Join(t.TempDir(), "classes.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, status := printed(t, "json", "plan", file)
		r := resultOf(t, &ask{args: []string{"plan", file}, fails: status != exitDone})
		checkView(t, r)
		breaking := 0
		for _, b := range answer(r.has).list("branches") {
			breaking += indicator(len(b.texts("breaks")) > 0)
		}
		several += indicator(breaking > 1)
	}
	if several < 2 {
		t.Errorf("%d plans have several branches that break limits: want more", several)
	}
}
