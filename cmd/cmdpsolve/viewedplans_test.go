package main

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// horizon reports whether episodes have one.
func (v *view) horizon() bool { return strings.Contains(v.time, "horizon ") }

// wants reports whether there are a goal, and limits or a target.
func (v *view) wants() (goal, limited bool) {
	wanted := v.text("wanted")
	return strings.Contains(wanted, "imize "), strings.HasPrefix(wanted, "meet ") ||
		strings.Contains(wanted, " subject to ")
}

// maximizes reports whether there is a goal that is to be large.
func (v *view) maximizes() bool { return strings.HasPrefix(v.text("wanted"), "maximize") }

// plan is what a plan shows.
func (v *view) plan() {
	status := v.text("status")
	of := map[string]string{"infeasible": "nearest", "undecided": "found", "stopped": "found"}[status]
	if v.has("return") {
		of = "one policy"
	}
	v.head("", cmp.Or(of, "optimum"))
	v.lines = append(v.lines, status+", "+many(v.num("iterations"), "value iteration"))
	v.reached()
	v.limitsOf(v.list("constraints"))
	v.conflict()
	v.planSentences()
	v.remembered()
	v.fleet()
	v.safety(v.answer.obj("safety"))
	v.branches()
	v.policyShown()
	v.distributions(10_000)
}

// reached lists what the plan returns.
func (v *view) reached() {
	for _, name := range v.returns {
		v.row(name, six(v.of("returns", name).num("")))
	}
	if v.has("tolerance") {
		missed := v.num("violation")
		if missed <= v.num("tolerance") && !v.has("certificate") {
			missed = 0
		}
		v.row("violation", six(missed))
	}
	if v.has("objective") && !v.has("return") {
		v.row("objective", six(v.num("objective")))
		v.row("certified at "+map[bool]string{true: "most", false: "least"}[v.maximizes()], six(v.num("bound")))
		gap := small(v.num("gap"))
		if v.num("gap") < 1e-9 {
			gap = "≤ " + gap
		} else if !v.has("gap") {
			gap = "–"
		}
		v.row("gap", gap)
	}
	opinion := v.obj("second_opinion")
	switch {
	case opinion == nil:
	case opinion.has("objective"):
		v.row("by GLPK", six(opinion.num("objective")))
		v.row("difference", "≤ "+small(opinion.num("difference")))
	default:
		v.row("by GLPK", opinion.text("status"))
	}
}

// limitsOf lists limits, those of single steps of a fleet that belong together in one row.
func (v *view) limitsOf(limits []answer) {
	v.head("constraint", "slack")
	priced := slices.ContainsFunc(limits, func(l answer) bool { return l.has("price") })
	if priced {
		v.heads("price")
	}
	for i := 0; i < len(limits); i++ {
		name, slack, price := limits[i].text("constraint"), limits[i].num("slack"), limits[i].num("price")
		if before, _, single := strings.Cut(name, " at step "); single && v.has("agents") {
			kind := limits[i].text("return") + limits[i].text("kind")
			name = "?" + before
			for i+1 < len(limits) && limits[i+1].text("return")+limits[i+1].text("kind") == kind {
				i++
				slack, price = min(slack, limits[i].num("slack")), price+limits[i].num("price")
			}
		}
		cells := []string{name, six(slack)}
		if priced {
			cells = append(cells, shownPrice(price, limits))
		}
		v.row(cells...)
	}
}

// shownPrice is 0 for one that is rounding.
func shownPrice(price float64, limits []answer) string {
	largest := 0.0
	for _, l := range limits {
		largest = max(largest, l.num("price"))
	}
	if math.Abs(price) <= 1e-6*largest {
		return "?" // perhaps one that the plan does not show
	}
	return six(price)
}

// conflict lists limits that contradict each other, and what each would have to be.
func (v *view) conflict() {
	v.head("in conflict", "would have to be", "gives")
	for _, c := range v.list("conflict") {
		side := map[string]string{"at_least": "≥ "}[c.text("kind")]
		var needed string
		give := six(c.num("give"))
		switch {
		case c.has("probability"):
			needed, give = "with probability "+six(c.num("probability")), ""
		case c.is("unknown"):
			needed, give = "not known", ""
		case !c.has("give"):
			needed, give = "no value is enough", ""
		case !c.has("needed"):
			needed = "missed by " + give
		default:
			value, _ := apart(c.num("needed"), c.num("limit"))
			needed = cmp.Or(side, "≤ ") + value
		}
		v.row(c.text("constraint"), needed, give)
	}
}

// conflictNamed says which limits contradict each other.
func (v *view) conflictNamed() {
	names := stepsTogether(v.list("conflict"))
	undecided := slices.ContainsFunc(v.list("conflict"), func(c answer) bool { return c.is("undecided") })
	switch n := len(names); {
	case n == 0:
	case n > 1 && undecided:
		v.say("No policy keeps %s and %s together; whether fewer of them are in conflict too is not known.",
			strings.Join(names[:n-1], ", "), names[n-1])
	case n == 1:
		v.say("No policy keeps %s, whatever becomes of the other limits.", names[0])
	case n == 2:
		v.say("No policy keeps both %s and %s; each of them alone can be kept.", names[0], names[1])
	default:
		v.say("No policy keeps %s and %s together; without any one of them the others can be kept.",
			strings.Join(names[:n-1], ", "), names[n-1])
	}
}

// stepsTogether names limits, the same one at steps that follow each other as one.
func stepsTogether(limits []answer) (names []string) {
	at := regexp.MustCompile(`^(.*) at step (\d+) (.*)$`)
	for i := 0; i < len(limits); i++ {
		name := limits[i].text("constraint")
		m := at.FindStringSubmatch(name)
		last := i
		for m != nil && last+1 < len(limits) {
			next := at.FindStringSubmatch(limits[last+1].text("constraint"))
			first, _ := strconv.Atoi(m[2])
			if next == nil || next[1] != m[1] || next[3] != m[3] || next[2] != fmt.Sprint(first+last+1-i) {
				break
			}
			last++
		}
		if last > i {
			first, _ := strconv.Atoi(m[2])
			name = fmt.Sprintf("%s at each of the steps %d-%d %s", m[1], first, first+last-i, m[3])
		}
		names = append(names, name)
		i = last
	}
	return names
}

// proof says what a certificate proves: a direction whose largest coefficient is 1.
func (v *view) proof(every string) {
	if v.is("certificate.finite") {
		every += " whose totals are finite"
	}
	largest := 0.0
	for _, name := range v.names("certificate.direction") {
		largest = max(largest, math.Abs(v.of("certificate.direction", name).num("")))
	}
	var terms []string
	sign := 0.0
	for _, name := range v.returnsOfSteps() {
		x := v.of("certificate.direction", name).num("") / largest
		size := three(math.Abs(x)) + " "
		switch {
		case math.IsNaN(x) || math.Abs(x) <= 1e-9:
			continue
		case size == "1 ":
			size = ""
		}
		sign = x
		between := map[bool]string{true: "- ", false: "+ "}[x < 0]
		if terms == nil {
			between = map[bool]string{true: "-"}[x < 0]
		}
		terms = append(terms, between+size+name)
	}
	least, most := v.num("certificate.value")/largest, v.num("certificate.support")/largest
	sum := strings.Join(terms, " ")
	switch {
	case len(terms) == 1 && strings.HasPrefix(strings.TrimPrefix(sum, "-"), "P("):
		always := slices.IndexFunc(v.list("constraints"), func(c answer) bool { return c.text("kind") == "always" })
		if always >= 0 || !v.has("constraints") {
			v.say("?Whatever is done, an episode breaks %s with a probability of at least %s.", v.always(sum),
				six(least-most))
			return
		}
		fallthrough
	case len(terms) == 1 && sign > 0:
		low, high := apart(least, most)
		v.say("%s %s is at least %s, but at most %s is allowed.", every, sum, low, high)
	case len(terms) == 1:
		low, high := apart(-least, -most)
		v.say("%s %s is at most %s, but at least %s is asked for.", every, sum[1:], low, high)
	default:
		low, high := apart(least, most)
		v.say("%s %s is at least %s, but in all that is allowed%s it is at most %s.", every, sum, low, v.possible(), high)
	}
}

// returnsOfSteps are the returns and, of a fleet, those at single steps.
func (v *view) returnsOfSteps() []string {
	all := slices.Clone(v.returns)
	for _, name := range v.names("certificate.direction") {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// always is the limit on every episode whose probability a return is: "P(battery > 2)" of "battery ≤ 2 always".
func (v *view) always(probability string) string {
	of := strings.NewReplacer(">", "≤", "<", "≥").Replace(strings.TrimSuffix(strings.TrimPrefix(probability,
		"P("), ")"))
	return of + " always"
}

// possible follows what is allowed where a proof needs what is possible too.
func (v *view) possible() string {
	return map[bool]string{true: " and can be returned at all"}[v.is("certificate.possible")]
}

// nearest says what is nearest to what is allowed of what was found, or of all that there is.
func (v *view) nearest() {
	distance, proved := v.num("certificate.distance"), v.num("certificate.value")-v.num("certificate.support")
	early := false
	for _, t := range v.list("thresholds") {
		early = early || t.is("early")
	}
	switch {
	case math.IsNaN(distance):
		v.say("No policy comes nearer to what is allowed%s than %s; the one that was found breaks a limit by a total "+
			"without end.", v.possible(), six(proved))
	case early:
		v.say("The nearest returns that were found, shown above, are %s away from what is allowed%s.", six(distance),
			v.possible())
	case proved < 0.999*distance:
		v.say("The nearest returns that were found, shown above, are %s away from what is allowed%s, and no policy comes "+
			"nearer than %s.", six(distance), v.possible(), six(proved))
	default:
		v.say("The nearest returns of any policy, shown above, are %s away from what is allowed%s.", six(distance),
			v.possible())
	}
}

// planSentences say what was found.
func (v *view) planSentences() {
	status := v.text("status")
	if o := v.obj("second_opinion"); o != nil {
		what := map[bool]string{true: "gave no answer to", false: "solved"}[o.text("status") == "undecided"]
		v.say("GLPK %s the explicit program, of %s and %s, in %s.", what, many(o.num("rows"), "row"), many(o.num("columns"),
			"column"), many(o.num("iterations"), "iteration"))
	}
	switch {
	case v.has("certificate"):
		v.say("No policy keeps every limit.")
		v.proof("Under every policy")
		v.nearest()
		v.conflictNamed()
	case v.has("return"):
		v.say("The goal has no bound: while all limits are kept, %s grows for as long as the policy goes on, and it "+
			"need never stop.", v.text("return"))
	case v.has("deterministic"):
		v.never(status)
	case status == "infeasible" && v.is("rounded"):
		v.say("No policy keeps every limit, whichever way totals are rounded: the returns above are the nearest with " +
			"these.")
	case status == "stopped":
		v.stopped()
	case status != "optimal":
		v.say("Whether this is the answer is not known: nothing was proved.")
	default:
		v.worth()
		if !v.has("agents") {
			v.draws()
		}
	}
	var known []bool
	for _, name := range v.returns {
		known = append(known, v.of("returns", name).has(""))
	}
	v.endless(known)
}

// never says what the search for a policy that never draws came to.
func (v *view) never(status string) {
	v.say("The search for a policy that never draws solved %s.", many(v.num("deterministic.nodes"), "problem"))
	found := v.has("objective")
	v.sayIf(status == "stopped" && found, "It was cut: the gap is certified, and others may be better by it.")
	if status == "infeasible" {
		such := map[bool]string{true: "such policy whose totals are finite", false: "such policy"}[v.is("deterministic.finite")]
		v.say("No %s keeps every limit: the returns above are those of one that draws.", such)
		return
	}
	if v.has("deterministic.relaxed") {
		v.sayIf(!found, "None was found that keeps every limit: the returns above are those of one that draws.")
		v.say("Policies that may draw reach %s.", six(v.num("deterministic.relaxed")))
	}
}

// stopped says what an answer is worth that came early.
func (v *view) stopped() {
	over := map[bool]string{true: "Totals are rounded", false: "The time was over"}[v.is("rounded")]
	switch {
	case !v.has("objective"):
		v.say("The time was over before a policy was found that keeps every limit, or a proof that there is none.")
	case !v.has("gap"):
		v.say("%s: the policy keeps every limit, and how far its objective is from the optimum is not known.", over)
	default:
		v.say("%s: the policy keeps every limit, and its objective is at most %s from the optimum, which is certified.",
			over, six(v.num("gap")))
	}
}

const priceSaid = "The price of a limit is how much the optimum improves for each unit by which it is relaxed."

// worth says what limits cost.
func (v *view) worth() {
	kinds := func(is func(answer) bool) bool { return slices.ContainsFunc(v.list("constraints"), is) }
	switch rho := v.num("rho"); {
	case rho > 0:
		v.say(priceSaid)
		worst := kinds(func(c answer) bool {
			return strings.HasPrefix(c.text("constraint"), "mean of the worst") && c.num("price") > 1e-6*rho
		})
		v.sayIf(worst, "The price of a mean of the worst episodes holds for the threshold named below; another "+
			"threshold may gain more.")
		v.sayIf(v.horizon() && !v.has("agents"), "?For learn, --rho %s is enough.", six(rho))
	case rho == 0 && kinds(func(c answer) bool { return c.text("kind") == "always" }):
		v.say("The limits on expected returns do not bind.")
	case rho == 0:
		v.say("The limits do not bind.")
	}
}

// draws says where a policy draws.
func (v *view) draws() {
	what := map[bool]string{true: "(step, state) pair", false: "state"}[v.horizon()]
	randomized := v.num("randomized")
	if v.has("components") {
		draws := "none of them draws anything"
		if randomized > 0 {
			draws = "they randomise in " + many(randomized, what)
		}
		v.say("The policy draws one of %s components at the start and plays it for good; %s.", six(v.num("components")),
			draws)
		return
	}
	if v.has("joined") {
		steps := v.num("joined.steps")
		text := three(steps)
		if steps >= 1000 && steps < 1e9 {
			x := 0.0
			fmt.Sscan(text, &x)
			text = fmt.Sprintf("%.0f", x)
		}
		v.say("All runs have these long-run means: once in %s steps, on average, the policy moves on to another of %s "+
			"groups of states. That costs %s of the goal.", text, six(v.num("joined.classes")),
			three(v.num("joined.loss")))
	}
	if randomized == 0 {
		v.say("The policy is deterministic.")
	} else {
		v.say("The policy randomises in %s.", many(randomized, what))
	}
}

// remembered says what a policy remembers.
func (v *view) remembered() {
	v.noted()
	for _, t := range v.list("thresholds") {
		found := map[bool]string{true: " that was found in time"}[t.is("early")]
		v.say("The %s is asked for with the threshold %s, the best%s of %s.", t.text("constraint"),
			six(t.num("threshold")), found, six(t.num("tried")))
	}
	var parts []string
	for _, m := range v.list("memory") {
		values := m.texts("values")
		text := strings.Join(values, ", ")
		if n := len(values); n > 6 {
			text = fmt.Sprintf("%s, … %s, %d values", strings.Join(values[:4], ", "), values[n-1], n)
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", m.text("name"), text))
	}
	v.sayIf(parts != nil, "A policy remembers: %s.", strings.Join(parts, "; "))
}

// noted is what limits on episodes and rounded totals come to.
func (v *view) noted() {
	for _, note := range v.texts("notes") {
		v.say("%s", note)
	}
	v.roundedSaid()
}

func (v *view) roundedSaid() {
	exactly := "; bound, gap and status of a plan and the error of a curve are about exact ones."
	if v.has("uncertainty") {
		exactly = "."
	}
	v.sayIf(v.is("rounded"), "Totals are rounded (see --resolution). Prices and what is said of other policies are "+
		"about rounded totals%s", exactly)
}

// policyShown: what a policy does where is compared with its file elsewhere.
func (v *view) policyShown() {}
