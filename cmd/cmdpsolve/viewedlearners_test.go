package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"cmdpsolve/cmdp"
)

// learn is what a run of a learner shows, or the means of several.
func (v *view) learn() {
	v.learnLines()
	simulated := v.given("--env-command") != ""
	goal, target := v.wants()
	policies := v.list("policies")
	v.head("", "learned")
	if simulated {
		policies = nil
	} else {
		v.heads("exact")
	}
	for _, p := range policies {
		v.heads(p.text("policy"))
	}
	add := func(name string, learned, exact string, of func(answer) string) {
		cells := []string{name, learned}
		if !simulated {
			cells = append(cells, exact)
		}
		for _, p := range policies {
			cells = append(cells, of(p))
		}
		v.row(cells...)
	}
	cell := func(key string, x float64) string {
		if half := v.of("ci95", key).num(""); !math.IsNaN(half) {
			return six(x) + " ± " + three(half)
		}
		return six(x)
	}
	none := func(answer) string { return "" }
	for _, name := range v.returns {
		add(name, cell(name, v.of("average", name).num("")), six(v.obj("exact").of("returns", name).num("")),
			func(p answer) string { return six(p.of("returns", name).num("")) })
	}
	best := six(v.num("exact.objective"))
	if goal {
		add("objective", cell("objective", v.num("objective")), best,
			func(p answer) string { return six(p.num("objective")) })
		if !simulated {
			add("regret", cell("regret", v.num("regret")), "", none)
		}
	}
	if target {
		distance := six(v.num("exact.distance"))
		if v.has("exact.gap_lower") {
			distance = "?"
		}
		add("violation", cell("violation", v.num("violation")), distance,
			func(p answer) string { return six(p.num("violation")) })
	}
	if v.text("dual") == "double" {
		add("optimum at "+map[bool]string{true: "most", false: "least"}[v.maximizes()], cell("bound",
			v.num("bound")), best,
			none)
	}
	v.history(simulated)
	v.learnSentences()
}

// given is the value of an option of the command that made the result.
func (v *view) given(option string) string {
	words := v.words
	if at := slices.Index(words, option); at >= 0 && at+1 < len(words) {
		return words[at+1]
	}
	return ""
}

// titles of learners that are not MOMA.
var learnerTitle = map[string]string{"posterior": "posterior sampling with correction",
	"moma-posterior": "MOMA with drawn models",
	"posterior-safe": "posterior sampling held to the limits in 95% of the drawn models",
	"psconrl":        "PSConRL, posterior sampling without correction",
	"c-ucrl2":        "C-UCRL with estimated transitions", "fha": "finite-horizon approximation"}

// learnLines say who learned, and how long.
func (v *view) learnLines() {
	text := learnerTitle[v.text("algorithm")]
	if v.given("--support") == "auto" {
		text += ", told the possible successors"
	}
	if v.text("algorithm") == "moma" {
		text = fmt.Sprintf("MOMA, %s dual update, %s, %s, ", cmdp.Duals.Title(v.text("dual")),
			cmdp.Planners.Title(v.text("planner")), bonus(v.text("bonus_scale")))
		if v.is("guaranteed") {
			text += "bounds hold with probability " + six(1-v.num("failure"))
		} else {
			text += "bounds not guaranteed"
		}
	}
	unit := "episode"
	if v.has("steps") {
		unit = "step"
		text += ", one run without end"
		if _, gamma, discounted := strings.Cut(v.time, "discount "); discounted {
			x := 0.0
			fmt.Sscan(gamma, &x)
			text += " that starts anew after each step with probability " + six(1-x)
		}
	}
	if v.is("pooled") {
		text += ", counts pooled over steps"
	}
	if v.text("returns") == "unknown" {
		text += ", returns learned"
	}
	if v.has("log") {
		text += "?"
	}
	if v.has("opponent") {
		text += "?"
	}
	played := fmt.Sprintf("%s, seed %s", many(v.num("episodes"), unit), six(v.num("seed")))
	if n := v.num("seeds"); n > 1 {
		played = fmt.Sprintf("%s in each of %s runs, seeds %s to %s, means ± 95%% intervals",
			many(v.num("episodes"), unit),
			six(n), six(v.num("seed")), six(v.num("seed")+n-1))
	}
	if v.is("interrupted") {
		played += "?"
	}
	v.lines = append(v.lines, text, played)
}

func bonus(scale string) string {
	if strings.Trim(scale, "0123456789.e-") == "" {
		return scale + " times the bonus of theory"
	}
	return scale + " bonus"
}

// history lists the records of episodes 1, 10, 100 and so on, and the last.
func (v *view) history(simulated bool) {
	moma, unit := v.text("algorithm") == "moma", "episode"
	if v.has("steps") {
		unit = "step"
	}
	v.head(unit, "objective", "violation", "regret")
	if simulated {
		v.tables[len(v.tables)-1].columns = []string{unit, "objective", "violation"}
	}
	if moma {
		v.heads("bound", "rho")
	}
	records := v.list("history")
	for i, r := range records {
		power := 1.0
		for power < r.num("episode") {
			power *= 10
		}
		if power != r.num("episode") && i < len(records)-1 {
			continue
		}
		cells := []string{six(r.num("episode")), six(r.num("objective")), six(r.num("violation")), six(r.num("regret"))}
		if simulated {
			cells = cells[:3]
		}
		if moma {
			cells = append(cells, six(r.num("bound")), six(r.num("rho")))
		}
		v.row(cells...)
	}
}

func (v *view) learnSentences() {
	defer v.say("?%s", "Off by more…") // what is recommended is tested elsewhere
	if v.text("algorithm") != "moma" {
		v.say("Guarantee: %s.", v.text("guarantee"))
		return
	}
	how := map[string]string{"given": ", as given", "slater": ", from the Slater radius",
		"model":    ", twice the exact multiplier of the model",
		"doubling": " after " + many(v.num("doublings"), "doubling")}[v.text("rho_rule")]
	if v.text("rho_rule") == "doubling" && v.num("seeds") > 1 {
		how = " after doublings, on average over the runs"
	}
	v.sayIf(v.text("rho_rule") != "none", "The weight rho of the distance to the target is %s%s.",
		six(v.num("rho")), how)
	_, target := v.wants()
	switch c := v.obj("certificate"); {
	case c != nil:
		sure := map[[2]bool]string{
			{true, false}:  "Certificate: no policy meets the target; every one",
			{true, true}:   "Certificate: an opponent can keep the return from the target; it",
			{false, false}: "The target looks out of reach (not guaranteed with this bonus): every policy",
			{false, true}: "An opponent looks able to keep the return from the target (not guaranteed with this " +
				"bonus): it",
		}[[2]bool{v.is("guaranteed"), v.has("opponent")}]
		var parts []string
		for _, name := range v.returns {
			if x := c.of("direction", name).num(""); math.Abs(x) > 1e-12 {
				parts = append(parts, name+": "+three(x))
			}
		}
		v.say("%s stays at least %s away from it, found in episode %s in the direction (%s).", sure,
			six(c.num("distance")), six(c.num("episode")), strings.Join(parts, ", "))
	case target:
		v.say("No certificate that the target is out of reach was found.")
	}
}

// compare is what a comparison shows.
func (v *view) compare() {
	v.comparison(v.answer)
	v.capabilities(v.list("rows"))
}

// suite is what a comparison on several problems shows.
func (v *view) suite() {
	var all []answer
	for _, p := range v.list("problems") {
		v.comparison(p)
		for _, r := range p.list("rows") {
			if !slices.ContainsFunc(all, func(o answer) bool { return o.text("algorithm") == r.text("algorithm") }) {
				all = append(all, r)
			}
		}
	}
	v.lines = []string{"?*"}
	v.capabilities(all)
}

func (v *view) comparison(p answer) {
	wide, times := slices.Contains(v.words, "--wide"), !slices.Contains(v.words, "--no-times")
	type column struct {
		title, key string
		write      func(answer) string
	}
	scaled := func(factor float64, n int, unit string) func(answer) string {
		return func(e answer) string {
			if x := e.num("mean"); !math.IsNaN(x) {
				return digits(factor*x, n) + unit
			}
			return "–"
		}
	}
	estimate := func(e answer) string {
		switch {
		case !e.has("mean"):
			return "–"
		case !e.has("ci95"):
			return three(e.num("mean"))
		}
		return three(e.num("mean")) + " ± " + digits(e.num("ci95"), 2)
	}
	columns := []column{{"regret", "regret", estimate}, {"violation", "violation", estimate}}
	time := "ms/step"
	if !p.has("steps") {
		time = "ms/ep."
		columns = append(columns, column{"violating", "violating_share", scaled(100, 3, "%")})
	}
	if times {
		columns = append(columns, column{time, "seconds_per_episode", scaled(1000, 2, "")})
	}
	for _, key := range strings.Fields("expected_regret expected_violation last_regret last_violation weak_regret " +
		"weak_violation strong_regret strong_violation planner_calls programs") {
		if wide {
			title := strings.NewReplacer("expected", "exp.", "_", " ").Replace(key)
			columns = append(columns, column{title, key, estimate})
		}
	}
	v.head("algorithm")
	for _, c := range columns {
		v.heads(c.title)
	}
	for _, r := range p.list("rows") {
		cells := []string{r.text("algorithm")}
		for _, c := range columns {
			cell := ""
			switch {
			case r.num("runs") > 0:
				cell = c.write(r.obj(c.key))
			case c.key == "regret" && r.text("status") == "partial":
				cell = "not yet"
			case c.key == "regret":
				cell = "not run"
			}
			cells = append(cells, cell)
		}
		v.row(cells...)
		v.particular(r)
	}
	v.comparedSaid(p)
}

// particular lists what is particular about a learner.
func (v *view) particular(r answer) {
	note := r.text("reason")
	switch told := r.texts("told"); {
	case r.text("status") == "refused":
		note = "not run: " + note
	case len(told) > 0 && r.text("status") == "done":
		note = "was told: " + strings.Join(told, ", ")
	}
	if note != "" {
		v.items = append(v.items, r.text("algorithm")+" "+note)
	}
}

func (v *view) comparedSaid(p answer) {
	goal, both := (&view{answer: p}).wants()
	game := p.text("planner") == "hoeffding" && v.given("--planner") == "" // that of games unless another is given
	v.sayIf(!goal, "No regret: the problem has no goal.")
	v.sayIf(goal && both && game, "No regret: what a goal can reach within a target against an opponent is not known.")
	value := map[string]string{"minimax": "value %s, which the agent can force",
		"infeasible": "no policy meets the target, the nearest return is %s away from it", "optimal": "optimum %s"}
	x := p.num("exact.objective")
	if p.text("exact.status") == "infeasible" {
		x = p.num("exact.distance")
	}
	if line, known := value[p.text("exact.status")]; known && !math.IsNaN(x) {
		v.lines = append(v.lines, fmt.Sprintf(line, six(x)))
	}
	v.lines = append(v.lines, settingsSaid(p, game))
}

// settingsSaid are the settings of a comparison in a line.
func settingsSaid(p answer, game bool) string {
	unit := map[bool]string{true: "step", false: "episode"}[p.has("steps")]
	seed, seeds := p.num("seed"), p.num("seeds")
	text := fmt.Sprintf("%s, %s of each learner (seed %s)", many(p.num("episodes"), unit), many(seeds, "run"),
		six(seed))
	if seeds > 1 {
		text = fmt.Sprintf("%s, %s runs of each learner (seeds %s to %s), means ± 95%% intervals",
			many(p.num("episodes"), unit), six(seeds), six(seed), six(seed+seeds-1))
	}
	text += ", " + bonus(p.text("bonus_scale"))
	if x := p.num("failure"); x != 0.05 {
		text += ", failure probability " + six(x)
	}
	if rho := fmt.Sprint(p["rho"]); rho != "auto" {
		text += ", rho " + rho
	}
	if planner := p.text("planner"); planner != "bernstein" && !game {
		text += ", planner " + planner
	}
	if opponent := fmt.Sprint(p["opponent"]); p.has("opponent") && opponent != "" && game {
		text += ", against " + opponent
	}
	for key, words := range map[string]string{"pool": ", counts pooled over steps"} {
		if p.is(key) {
			text += words
		}
	}
	if p.text("returns") == "unknown" {
		text += ", returns learned"
	}
	if p.has("changing") {
		return text + "?"
	}
	if p.is("lazy") {
		text += ", programs solved when a count has doubled"
	}
	if x := p.num("knapsack_margin"); x != 0.05 {
		text += fmt.Sprintf(", %s of the budgets set aside", six(x))
	}
	for _, k := range [][2]string{{"slater", "Slater constant"}, {"safe_policy", "safe policy"},
		{"null_policy", "null policy"}, {"support", "possible successors"}} {
		switch value := fmt.Sprint(p[k[0]]); {
		case value == "none" || game:
		case value == "auto":
			text += ", " + k[1] + " from the model"
		default:
			text += ", " + k[1] + " " + value
		}
	}
	return text
}

// capabilities is what learners can do, as papers say.
func (v *view) capabilities(rows []answer) {
	v.head("algorithm", "non-lin. cost", "non-linear constraints", "efficient", "guarantee in its paper")
	for _, r := range rows {
		cells := []string{r.text("algorithm")}
		for _, key := range []string{"nonlinear_cost", "nonlinear_constraints", "efficient"} {
			cells = append(cells, map[bool]string{true: "yes", false: "no"}[r.is(key)])
		}
		v.row(append(cells, r.text("guarantee"))...)
	}
}

// samples is what a plan from samples of every choice shows.
func (v *view) samples() {
	s := v.obj("sample")
	how := map[bool]string{true: "strict limits", false: "relaxed limits"}[s.is("strict")]
	v.lines = append(v.lines, fmt.Sprintf("plan from %s of each choice, %s, %s", many(s.num("each"), "sample"),
		many(s.num("samples"), "step"), how), "seed "+six(v.num("seed")))
	v.head("", "estimated", "at least", "at most", "true", "optimum")
	for _, name := range v.returns {
		v.row(name, six(v.of("returns", name).num("")), six(s.of("at_least", name).num("")),
			six(s.of("at_most", name).num("")), six(v.obj("true").of("returns", name).num("")),
			six(v.obj("exact").of("returns", name).num("")))
	}
	goal, limited := v.wants()
	if goal {
		v.row("objective", six(v.num("objective")), "", "", six(v.num("true.objective")), six(v.num("exact.objective")))
	}
	if limited {
		v.row("violation", "", "", "", six(v.num("true.violation")), "")
	}
	sure, spanning := "With probability "+six(1-v.num("failure")), ""
	wider := false
	if span := s.num("span"); span > 0 {
		spanning = ", with relative values of span " + three(span) + " at most,"
		most := 0.0
		for _, name := range v.returns {
			most = max(most, s.of("plan_span", name).num(""))
			wider = wider || s.of("known", name).num("") > s.of("error", name).num("")
		}
		v.sayIf(s.has("joined"), "All runs have…")
		v.sayIf(s.has("plan_span"), "The relative values of the policy have a span of %s.", three(most))
		v.sayIf(wider, "That is more than --span: its returns are known less well than was said before sampling.")
	}
	switch {
	case v.text("status") == "infeasible" && s.is("strict") && wider:
		v.say("No policy was found that is sure to keep the limits. Take more samples, give a --span that holds " +
			"for this " +
			"policy too, or leave --strict out.")
	case v.text("status") == "infeasible" && s.is("strict"):
		v.say("No policy was found that is sure to keep the limits. Take more samples, or leave --strict out.")
	case v.text("status") == "infeasible":
		v.say("%s no policy%s keeps the limits: none does even with the limits loosened by what the samples "+
			"leave open.",
			sure, spanning)
	default:
		v.promise(sure, spanning, limited, s.is("strict"))
	}
}

// promise says how good a plan within the limits surely is.
func (v *view) promise(sure, spanning string, limited, strict bool) {
	others, text := "no policy", sure+" the returns of the policy lie between these bounds"
	switch {
	case limited && strict:
		text = sure + " the policy keeps the limits, its returns lie between these bounds"
		others += " that keeps each limit with room for twice the error said before sampling"
	case limited:
		others += " within the limits"
	}
	if v.has("objective") {
		text += fmt.Sprintf(", and the objective of %s%s is %s %s", others, spanning,
			map[bool]string{true: "above", false: "below"}[v.maximizes()], six(v.num("bound")))
	}
	if limited && !strict {
		text += ". The policy misses the limits by no more than these bounds say"
	}
	v.say("%s.", text)
}
