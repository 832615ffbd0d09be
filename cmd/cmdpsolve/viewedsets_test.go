package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

func (v *view) overSets() {
	v.uncertain()
	v.lines = append(v.lines, v.text("status")+", "+many(v.num("iterations"), "round"))
	v.head("", "nominal", "least", "greatest")
	for _, name := range v.returns {
		r := v.obj("returns").obj(name)
		if r != nil {
			v.row(name, six(v.of("nominal", name).num("")), six(r.num("least")), six(r.num("greatest")))
		}
	}
	v.head("", "worst case")
	wanted := v.text("wanted")
	if found := v.has("returns"); found && (strings.HasPrefix(wanted, "meet ") || strings.Contains(wanted,
		" subject to ")) {
		missed := v.num("violation")
		if missed <= v.num("tolerance") {
			missed = 0
		}
		v.row("violation", six(missed))
	}
	if v.has("objective") {
		v.row("objective", six(v.num("objective")))
		v.row("certified at "+map[bool]string{true: "most", false: "least"}[v.maximizes()], six(v.num("bound")))
		v.row("gap", small(v.num("gap")))
		v.row("optimum of the nominal model", six(v.num("nominal_optimum")))
	}
	v.limitsOf(v.list("constraints"))
	v.head(append(append([]string{"drawn", "probability"}, v.returns...), "breaks")...)
	drawn, hidden := v.list("drawn"), 0.0
	for i, d := range drawn {
		if i >= 12 {
			hidden += d.num("probability")
			continue
		}
		cells := []string{fmt.Sprint(i + 1), six(d.num("probability"))}
		for _, name := range v.returns {
			r := d.obj("returns").obj(name)
			cells = append(cells, leastToGreatest(r))
		}
		v.row(append(cells, cmp.Or(strings.Join(d.texts("breaks"), ", "), "none"))...)
	}
	v.overSetsSentences(len(drawn)-12, hidden)
	v.remembered()
}

// uncertain are the lines about intervals, and about the log that they are from.
func (v *view) uncertain() {
	if !v.has("uncertainty") {
		return
	}
	each := map[bool]string{true: "the same", false: "different"}[v.text("uncertainty.each") == "model"]
	v.lines = append(v.lines, fmt.Sprintf("%s with intervals of probabilities, up to %s wide, %s at every visit",
		many(v.num("uncertainty.choices"), "choice"), six(v.num("uncertainty.width")), each))
	c := v.obj("confidence")
	if c == nil {
		return
	}
	by, pearson, weissman := "by Clopper and Pearson", c.num("clopper_pearson"), c.num("weissman")
	switch {
	case weissman > 0 && pearson > 0:
		by = fmt.Sprintf("of %s by Clopper and Pearson, of %s by Weissman et al.", many(pearson, "choice"),
			six(weissman))
	case weissman > 0:
		by = "by Weissman et al."
	}
	v.lines = append(v.lines, fmt.Sprintf("intervals from %s of %s, all of them right with probability %s: %s; "+
		"%s never seen",
		many(c.num("log.transitions"), "transition"), c.text("log.file"), six(c.num("level")), by,
		many(c.num("unvisited"), "choice")))
}

// overSetsSentences says what was found. Some components, with a probability together, are in no row.
func (v *view) overSetsSentences(left int, hidden float64) {
	const over = "The time of --budget was over before the search was."
	model := func() {
		v.sayIf(v.has("worst"), "%s has the model that is worst for %s.", v.text("worst.file"), v.text("worst.for"))
	}
	status := v.text("status")
	switch status {
	case "infeasible":
		v.say("In one of the models no policy keeps every limit, so none keeps them in all.")
		v.proof("Under every policy")
		model()
		return
	case "undecided":
		nearest := "The plan above comes nearest."
		switch {
		case v.is("stopped") && !v.has("returns"):
			nearest = over
		case v.is("stopped"):
			nearest = over + " " + nearest
		}
		v.say("No plan was found that keeps every limit in every model of the intervals, nor a model in which "+
			"none does. %s",
			nearest)
		return
	}
	v.sayIf(v.is("stopped"), over)
	v.say("The plan keeps every limit in every model of the intervals; least and greatest are what nature can " +
		"make of a " +
		"return.")
	v.sayIf(status == "feasible" && v.has("objective"),
		"Better plans may exist, by %s at most: a model of the intervals has that optimum.", small(v.num("gap")))
	v.sayIf(v.has("components"), "The policy draws one of %s components at the start and plays it for good.",
		six(v.num("components")))
	v.sayIf(left > 0, "The table leaves out %s, with a probability of %s together.", many(float64(left), "component"),
		three(hidden))
	v.sayIf(v.num("randomized") == 0 && !v.has("components"), "The policy is deterministic.")
	v.sayIf(slices.ContainsFunc(v.list("constraints"), func(c answer) bool { return c.num("price") > 0 }),
		"The price of a limit is how much the bound improves for each unit by which it is relaxed.")
	model()
}

func (v *view) log() {
	c := v.obj("credible")
	from := many(v.num("log.transitions"), "transition")
	if n := v.num("log.episodes"); n > 0 {
		from = fmt.Sprintf("%s (%s)", many(n, "episode"), from)
	}
	from = "planned from " + from + " of " + v.text("log.file")
	if slices.Contains(v.words, "--pool") {
		from += ", counts pooled over steps"
	}
	v.lines = append(v.lines, fmt.Sprintf("%s: the limits hold in %s%% of %s", v.text("status"),
		three(100*c.num("share")),
		many(c.num("models"), "model")), from)
	v.head("", "mean model", six(100*c.num("level"))+"% credible interval")
	for _, name := range v.returns {
		ends := c.numbersIn("returns", name)
		v.row(name, six(v.of("returns", name).num("")), six(ends[0])+" to "+six(ends[1]))
	}
	if v.has("objective") {
		v.row("objective", six(v.num("objective")), "")
		v.row("optimum of the mean model", six(c.num("mean_optimum")), "")
		v.row("price of not knowing", six(c.num("price")), "")
	}
	v.head("constraint", "margin in the mean model")
	_, limits, _ := strings.Cut(v.text("wanted"), " subject to ")
	margins := c.names("margins")
	slices.SortFunc(margins, func(a, b string) int { return strings.Index(limits, a) - strings.Index(limits, b) })
	for _, name := range margins {
		v.row(name, six(c.of("margins", name).num("")))
	}
	v.head("state", "action", "visits", "per episode", "share")
	for _, u := range c.list("unsure") {
		cells := []string{u.text("state"), u.text("action"), six(u.num("visits")), three(u.num("per_episode")),
			fmt.Sprintf("%.0f%%", 100*u.num("share"))}
		if u.has("step") {
			v.tables[len(v.tables)-1].columns = []string{"step", "state", "action", "visits", "per episode", "share"}
			cells = append([]string{six(u.num("step"))}, cells...)
		}
		v.row(cells...)
	}
	percent := func(path string) string { return three(100*c.num(path)) + "%" }
	_, limited := v.wants()
	switch {
	case len(margins) == 0 && limited:
		v.say("Returns cannot break the limits: the policy is the best of the mean model.")
	case len(margins) == 0:
		v.say("There are no limits to keep: the policy is the best of the mean model.")
	case c.is("promised"):
		v.say("The limits are tightened until they hold in enough of the models that the data leaves possible. " +
			"The price of " +
			"not knowing is what that costs in the mean model.")
	default:
		v.say("No policy that was tried keeps its limits in %s of the models that the data leaves possible. This "+
			"one does in "+
			"%s of them, the largest share found.", percent("level"), percent("share"))
	}
	v.sayIf(len(c.list("unsure")) > 0, "The last table has the choices of which the data says too little: the "+
		"share is that "+
		"of the returns' uncertainty, visits are those in the log, and per episode those of the plan.")
}

func (a answer) numbersIn(path, name string) []float64 {
	return answer{"": a.of(path, name)[""]}.numbers("")
}
