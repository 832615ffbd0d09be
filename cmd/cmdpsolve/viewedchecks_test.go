package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func (v *view) check() {
	kernel := map[bool]string{true: "the same at every step",
		false: "different at each step"}[v.is("same_every_step")] +
		map[bool]string{true: ", random returns"}[v.is("random_returns")]
	v.uncertain()
	v.lines = append(v.lines, kernel)
	v.lines[1] = "?"
	v.ranges("least", "greatest")
	v.head("constraint", "alone", "largest slack")
	for _, l := range v.list("limits") {
		slack := ""
		if l.has("largest_slack") {
			slack = six(l.num("largest_slack"))
		}
		v.row(l.text("constraint"), l.text("alone"), slack)
	}
	v.conflict()
	v.checkSentences()
	v.remembered()
	v.missingRows()
	v.policyJudged()
}

func (v *view) ranges(least, greatest string) {
	v.head("return", least, greatest)
	for _, name := range v.returns {
		r := v.obj("returns").obj(name)
		v.row(name, six(r.num("min")), six(r.num("max")))
	}
}

func (v *view) vector(path string) string {
	var parts []string
	for _, name := range v.returns {
		parts = append(parts, name+" "+six(v.of(path, name).num("")))
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

func (v *view) checkSentences() {
	limited := v.has("tolerance") || v.has("certificate") || v.has("slater")
	feasible := v.is("feasible")
	switch {
	case v.has("uncertainty") && !strings.Contains(v.text("wanted"), "subject to") &&
		!strings.HasPrefix(v.text("wanted"),
			"meet"):
		v.say("There are no limits to keep.")
	case v.has("uncertainty"):
		v.setSentences()
	case !limited && strings.HasSuffix(v.text("wanted"), "always"):
		v.say("Some policy keeps every limit in every episode.")
	case !limited:
		v.say("There are no limits to keep.")
	case !v.has("feasible"):
		v.say("Whether some policy keeps every limit is not known: the nearest returns found are %s away, and "+
			"nothing was "+
			"proved.", six(v.num("gap_upper")))
	case !feasible:
		v.say("No policy keeps every limit.")
		v.proof("Under every policy")
		gap := six(v.num("gap_lower"))
		if up := six(v.num("gap_upper")); up != gap {
			gap = "between " + gap + " and " + up
		}
		v.say("The approachability gap, the distance of the best policy from what is allowed%s, is %s;",
			v.possible(), gap)
		v.say("the nearest returns are %s.", v.vector("nearest"))
		v.conflictNamed()
	default:
		v.room()
	}
	var known []bool
	for _, name := range v.returns {
		r := v.obj("returns").obj(name)
		known = append(known, r.has("min"), r.has("max"))
	}
	v.endless(known)
}

// endless says what is shown of a return without a number, beside others that have one.
func (v *view) endless(known []bool) {
	v.sayIf(slices.Contains(known, true) && slices.Contains(known, false), "The sign – stands for a total without end.")
}

func (v *view) setSentences() {
	switch {
	case !v.has("feasible"):
		v.say("Whether some policy keeps every limit in every model of the intervals is not known.")
	case v.is("feasible"):
		v.say("Some policy keeps every limit in every model of the intervals.")
	default:
		v.say("In one of the models no policy keeps every limit, so none keeps them in all.")
		v.proof("Under every policy")
	}
	v.say("Least and greatest are those of the nominal model, whose probabilities lie at the same share of each " +
		"interval.")
}

func (v *view) room() {
	const some = "Some policy keeps every limit: the approachability gap is 0."
	radius, bound := v.num("slater.radius"), v.num("slater.bound")
	grows := slices.ContainsFunc(v.returns, func(r string) bool { return !v.of("slater.returns", r).has("") })
	tiny := 1e-9
	switch {
	case !v.has("slater.radius") && grows && v.has("slater.returns"):
		v.say(some)
		v.say("A policy whose returns grow without end keeps them with any room to spare.")
		return
	case !v.has("slater.radius"):
		v.say(some)
		v.say("All policies do.")
		return
	case radius <= tiny && bound > 2*tiny:
		v.say(some)
		v.say("Whether some policy keeps them with room to spare is not known: no Slater ball was found, and "+
			"none is larger "+
			"than %s (see --iterations).", six(bound))
	case radius <= tiny:
		v.say("Some policy keeps every limit within %s, which counts as kept: the approachability gap is 0.",
			six(v.num("tolerance")))
		v.say("None keeps them with room to spare: there is no Slater ball, and whether one keeps them exactly " +
			"is left to " +
			"rounding.")
	default:
		v.say(some)
		v.say("The largest slack in all of them at once is %s: a ball of that radius (Slater) around the returns "+
			"%s is "+
			"allowed.", six(radius), v.vector("slater.returns"))
		v.sayIf(bound > radius*(1+1e-9), "No ball is larger than %s.", six(bound))
	}
	switch rho := v.num("rho"); {
	case rho == 0:
		v.say("The limits do not bind at the optimum.")
	case rho > 0 && v.horizon() && !v.has("agents"):
		text := fmt.Sprintf("For learn, --rho %s is enough, twice the multiplier of the limits", six(rho))
		if v.has("slater.rho") {
			text += "; the Slater ball alone tells " + six(v.num("slater.rho"))
		}
		v.say("%s.", text)
	}
}

func (v *view) missingRows() {
	gaps := v.list("missing_rows.states")
	if gaps == nil {
		return
	}
	var named []string
	for _, g := range gaps[:min(4, len(gaps))] {
		first, last := six(g.num("first")), six(g.num("last"))
		where := " in step " + first
		if first != last {
			where = " in steps " + first + " to " + last
		}
		named = append(named, g.text("state")+where)
	}
	if more := len(gaps) - 4; more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	v.say("Rows seem to be missing for %s of a state and a step: %s.", many(v.num("missing_rows.pairs"), "pair"),
		strings.Join(named, ", "))
	v.say("These states have rows for other steps; in these steps they have no action and return 0.")
}

func (v *view) policyJudged() {
	if !v.has("policy") {
		return
	}
	v.head("return of the policy", "least", "greatest")
	for _, name := range v.returns {
		r := v.obj("policy").obj("returns").obj(name)
		v.row(name, six(r.num("least")), six(r.num("greatest")))
	}
	file, missed, sets := v.text("policy.file"), six(v.num("policy.violation")), v.has("uncertainty")
	switch {
	case !v.has("policy.keeps"):
	case v.is("policy.keeps"):
		v.sayIf(strings.Contains(v.text("wanted"), "subject to") || strings.HasPrefix(v.text("wanted"), "meet"),
			"The policy of %s keeps every limit on expected returns%s.", file,
			map[bool]string{true: " in every model of the intervals"}[sets])
	case sets:
		v.say("The policy of %s misses a limit by up to %s in some model of the intervals.", file, missed)
	default:
		v.say("The policy of %s misses a limit by %s.", file, missed)
	}
}

// TestManyMissingRows: of many states that lost rows the first are named, and all are counted.
func TestManyMissingRows(t *testing.T) {
	const states = 1 << 10
	rows, pairs := "  - {step: 1, state: 0, action: go, next: {", 0
	for s := range states {
		rows += fmt.Sprintf("%d: %g, ", s+1, 1.0/states) // exact
	}
	rows = strings.TrimSuffix(rows, ", ") + "}}\n"
	for s := range states { // each is reached in step 2 alone, or stays
		step, next := 1, "0: 1"
		if s%3 == 0 {
			step, next = 2, fmt.Sprintf("%d: 1", s+1)
		}
		rows += fmt.Sprintf("  - {step: %d, state: %d, action: go, next: {%s}}\n", step, s+1, next)
		pairs += 2 - indicator(s%3 == 0)
	}
	file := filepath.Join(t.TempDir(), "gaps.yaml")
	text := fmt.Sprintf("format: cmdp/1\nhorizon: 3\nstates: %d\nstart: 0\nreturns: [x]\ntransitions:\n", states+1) + rows
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := load(file)
	if err != nil {
		t.Fatal(err)
	}
	m := newMissingRows(p)
	note := strings.Join(m.note(), " ")
	if len(m.States) != mostGaps || m.Pairs != pairs || !strings.Contains(note, fmt.Sprintf(" and %d more", states-4)) ||
		!strings.Contains(note, fmt.Sprintf(" %d pairs ", pairs)) {
		t.Errorf("%d states are named, %d pairs counted: %s: want %d pairs of %d states", len(m.States), m.Pairs, note,
			pairs, states)
	}
}
