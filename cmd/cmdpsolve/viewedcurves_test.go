package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

func (v *view) front() {
	over, vertices := v.texts("over"), v.list("vertices")
	plain := func(k int) string { return strings.TrimLeft(over[k], "+-") }
	union := v.has("union")
	v.lines = append(v.lines, fmt.Sprintf("%s, %s, %s", v.text("status"), many(float64(len(v.list("points"))), "point"),
		many(v.num("iterations"), "value iteration")))
	v.head(append([]string{"vertex"}, v.returns...)...)
	if union {
		v.heads("threshold")
	}
	sloped := len(over) == 2 && len(vertices) > 1 && !union
	if sloped {
		v.heads(plain(1) + " per " + plain(0))
	}
	printed := v.printed(vertices)
	for j, i := range printed {
		p := vertices[i]
		cells := []string{fmt.Sprint(i + 1)}
		for _, name := range v.returns {
			cells = append(cells, six(p.of("returns", name).num("")))
		}
		if union {
			var at []string
			for _, x := range p.numbers("thresholds") {
				at = append(at, six(x))
			}
			cells = append(cells, strings.Join(at, ", "))
		}
		if sloped && j+1 < len(printed) {
			next := vertices[printed[j+1]]
			rise := func(k int) float64 {
				return next.of("returns", plain(k)).num("") - p.of("returns",
					plain(k)).num("")
			}
			cells = append(cells, six(rise(1)/rise(0)))
		} else if sloped {
			cells = append(cells, "")
		}
		v.row(cells...)
	}
	v.frontSentences(plain, len(printed))
	v.noted()
}

func (v *view) printed(vertices []answer) (rows []int) {
	all := slices.Contains(v.words, "--all")
	last := ""
	for i, p := range vertices {
		now := fmt.Sprint(p.numbers("thresholds"))
		for _, name := range v.returns {
			now += " " + six(p.of("returns", name).num(""))
		}
		if i == 0 || all || now != last {
			rows = append(rows, i)
		}
		last = now
	}
	return rows
}

func (v *view) frontSentences(plain func(int) string, printed int) {
	status, vertices, never, rounded := v.text("status"), len(v.list("vertices")), v.is("deterministic"),
		v.is("rounded")
	worst, said := small(v.num("error")), true
	switch {
	case v.has("union") && status == "infeasible":
		v.say("No policy keeps every limit, with none of the %s choices of thresholds for the worst episodes.",
			six(v.num("union")))
	case v.has("certificate"):
		v.say("No policy keeps every limit.")
		v.proof("Under every policy")
	case status == "infeasible" && rounded:
		v.say("No policy keeps every limit, whichever way totals are rounded.")
	case vertices == 0 && never && status == "infeasible":
		v.say("No policy that never draws keeps every limit.")
	case vertices == 0:
		v.say("No point of the curve was found.")
	case never && status == "stopped" && !rounded:
		side := map[bool]string{true: "less", false: "more"}[strings.HasPrefix(v.texts("over")[1], "-")]
		v.say("The time was over: no policy that never draws improves on any of these points in both returns, "+
			"and those with "+
			"%s %s than at all of them are not listed.", side, plain(1))
	case never && status == "undecided":
		v.say("The search was cut: policies that never draw may improve on these points.")
	case never && status == "stopped":
		v.say("Totals are rounded: policies that never draw may improve on these points.")
	case never:
		v.say("No policy that never draws improves on any of these points in both returns.")
	case v.has("union"):
		v.say("Limits on the worst episodes make this the union of %s, one for each choice of thresholds; no "+
			"policy improves "+
			"on all of them by more than %s, which is certified. Vertices of the same threshold may be mixed; a "+
			"mixture of "+
			"others need not keep the limit.", many(v.num("union"), "curve"), worst)
	default:
		said = false
	}
	if said {
		return
	}
	v.say("No policy improves on the mixtures of these vertices by more than %s, which is certified.", worst)
	v.sayIf(vertices == 1 && status == "optimal", "A single policy is best in every respect: there is nothing to "+
		"trade off.")
	v.sayIf(len(v.texts("over")) == 2 && printed > 1,
		"The last column is how much %s changes for each unit of %s, from one vertex to the next.", plain(1), plain(0))
	v.sayIf(printed < vertices, "Vertices that print like the one before are left out, %d of %d; --all shows them.",
		vertices-printed, vertices)
}

func leastToGreatest(r answer) string {
	return digits(r.num("least"), 4) + " to " + digits(r.num("greatest"), 4)
}

func (v *view) sweep() {
	over, plans, iterations := v.texts("over"), v.list("plans"), 0.0
	for _, p := range plans {
		iterations += p.num("iterations")
	}
	v.lines = append(v.lines, many(float64(len(plans)), "plan")+", "+many(iterations, "value iteration"))
	v.head(append(append(slices.Clone(over), "objective"), v.sweptReturns(plans)...)...)
	for _, l := range over {
		title := "price of " + strings.TrimRight(l, " ≤≥")
		if len(over) == 1 && (len(title) > 32 || strings.Contains(v.time, " agent")) {
			title = "price"
		}
		v.heads(title)
	}
	for _, p := range plans {
		var cells []string
		for _, x := range p.numbers("limits") {
			cells = append(cells, six(x))
		}
		kept := slices.Contains([]string{"optimal", "stopped"}, p.text("status"))
		if kept {
			cells = append(cells, six(p.num("objective")))
		} else {
			cells = append(cells, p.text("status"))
		}
		for _, name := range v.sweptReturns(plans) {
			x := math.NaN()
			if kept {
				x = p.of("returns", name).num("")
			}
			cells = append(cells, six(x))
		}
		for _, x := range p.numbers("limit_prices") {
			cells = append(cells, six(x))
		}
		v.row(cells...)
	}
	v.say(priceSaid)
	if v.is("rounded") {
		v.roundedSaid()
		v.say("The objectives are those of policies that keep the limits; JSON has the bounds.")
	}
}

func (v *view) sweptReturns(plans []answer) []string {
	chosen := slices.ContainsFunc(plans, func(p answer) bool { return p.has("thresholds") })
	return slices.DeleteFunc(slices.Clone(v.returns), func(name string) bool {
		return chosen && (strings.HasPrefix(name, "excess of") || strings.HasPrefix(name, "shortfall of") ||
			strings.HasPrefix(name, "P("))
	})
}

func (v *view) sweepOverSets() {
	v.lines[0] += ", swept over " + strings.Join(v.texts("over"), ", ")
	v.lines = append(v.lines, many(float64(len(v.list("plans"))), "plan"))
	v.head(append(append(v.texts("over"), "objective", "bound", "status"), v.returns...)...)
	for _, p := range v.list("plans") {
		var cells []string
		for _, x := range p.numbers("limits") {
			cells = append(cells, six(x))
		}
		cells = append(cells, six(p.num("objective")), six(p.num("bound")), p.text("status"))
		for _, name := range v.returns {
			if r := p.obj("returns").obj(name); r != nil {
				cells = append(cells, leastToGreatest(r))
			} else {
				cells = append(cells, "–")
			}
		}
		v.row(cells...)
	}
	v.say("Objective is what the plan reaches in the worst model, bound what no policy beats in every model. The " +
		"returns " +
		"are from the least to the greatest.")
}
