package main

import (
	"fmt"
	"math"
	"strings"
)

func (v *view) fleet() {
	types := v.list("types")
	if types == nil {
		return
	}
	v.head("type", "agents", "policies")
	for _, name := range v.returns {
		v.heads(name + " of one")
	}
	for _, t := range types[:min(40, len(types))] {
		cells := []string{t.text("name"), six(t.num("count")), fmt.Sprint(len(t.list("policies")))}
		for _, name := range v.returns {
			cells = append(cells, six(t.of("returns", name).num("")))
		}
		v.row(cells...)
	}
	v.head("type", "policy", "share", "agents")
	several := false
	for _, t := range types {
		policies := t.list("policies")
		several = several || len(policies) > 1
		for j, p := range policies {
			if len(policies) > 1 && len(v.tables[len(v.tables)-1].rows) < 40 {
				v.row(t.text("name"), fmt.Sprint(j+1), six(p.num("share")), six(p.num("agents")))
			}
		}
	}
	steps := v.uses()
	if v.has("safety") {
		v.say("Objective, bound and prices are those of the limits less their margins, which hold in expectation.")
		return
	}
	v.say("Limits hold in expectation, and the bound is for all plans for which they do, whatever agents know of one " +
		"another: in a single episode a limit that binds is exceeded about every second time.")
	v.whole(several)
	v.sayIf(len(types) > 40, "%d types are not shown; --format json has them.", len(types)-40)
	v.sayIf(steps > 50, "Only steps at which a limit binds are shown; --format json has all.")
}

func (v *view) uses() (steps int) {
	var names []string
	for _, name := range v.returns {
		if _, is := v.obj("use")[name]; is {
			names = append(names, name)
		}
	}
	for first := 0; first < len(names); first += 2 {
		pair := names[first:min(first+2, len(names))]
		v.head("step")
		for _, name := range pair {
			v.heads(name, "limit", "price")
			steps = len(v.obj("use").numbersOf(name))
		}
		for h := range steps {
			cells, binds := []string{fmt.Sprint(h + 1)}, false
			for _, name := range pair {
				price, largest := v.obj("use_prices").numbersOf(name), 0.0
				for _, x := range price {
					largest = max(largest, math.Abs(x))
				}
				limit, shown := v.limitAt(name, h+1), ""
				if limit != "" {
					shown = six(price[h])
				}
				if math.Abs(price[h]) <= 1e-12*largest && limit != "" {
					shown = "0"
				}
				binds = binds || math.Abs(price[h]) > 1e-9*largest
				cells = append(cells, six(v.obj("use").numbersOf(name)[h]), limit, shown)
			}
			if (binds || steps <= 50) && len(v.tables[len(v.tables)-1].rows) < 50 {
				v.row(cells...)
			}
		}
	}
	return steps
}

func (a answer) numbersOf(name string) []float64 { return answer{"": a[name]}.numbers("") }

func (v *view) limitAt(name string, step int) string {
	least, most := math.Inf(-1), math.Inf(1)
	for _, c := range v.list("constraints") {
		if !strings.HasPrefix(c.text("constraint"), fmt.Sprintf("%s at step %d ", name, step)) {
			continue
		}
		if c.text("kind") == "at_least" {
			least = max(least, c.num("limit"))
		} else {
			most = min(most, c.num("limit"))
		}
	}
	var parts []string
	if !math.IsInf(least, 0) {
		parts = append(parts, "≥ "+six(least))
	}
	if !math.IsInf(most, 0) {
		parts = append(parts, "≤ "+six(most))
	}
	return strings.Join(parts, ", ")
}

func (v *view) whole(several bool) {
	exceeded := v.list("whole.exceeded")
	switch {
	case !several:
	case len(exceeded) == 0:
		v.say("With whole numbers of agents, as in the tables, all limits are kept too.")
	default:
		worst := exceeded[0]
		for _, e := range exceeded {
			if e.num("by")/e.num("agent") > worst.num("by")/worst.num("agent") {
				worst = e
			}
		}
		are := map[bool]string{true: " is", false: "s are"}[len(exceeded) == 1]
		v.say("With whole numbers of agents %d limit%s exceeded: %s by %s, where one agent uses up to %s.",
			len(exceeded),
			are, worst.text("constraint"), six(worst.num("by")), six(worst.num("agent")))
	}
}

func (v *view) safety(s answer) {
	if s == nil {
		return
	}
	v.head("constraint", "margin", "holds")
	margins := s.list("margins")
	for _, m := range margins {
		if len(margins) <= 50 || m.num("margin") > 0 && len(v.tables[len(v.tables)-1].rows) < 50 {
			v.row(m.text("constraint"), six(m.num("margin")), three(100*m.num("holds"))+"%")
		}
	}
	v.safetySaid(s)
}

func (v *view) safetySaid(s answer) {
	if !s.is("met") {
		v.say("No margins were found with which each limit holds with probability %s.", six(s.num("probability")))
		return
	}
	text := "With margins each limit holds with probability " + six(s.num("probability")) +
		" or more, where agents are on their own."
	if s.has("objective") {
		text += fmt.Sprintf(" They change the objective of the plan from %s to %s.", six(s.num("without")),
			six(s.num("objective")))
	}
	v.say("%s", text)
}

func (v *view) fleetPlayed() {
	v.lines = append(v.lines, many(v.num("episodes"), "episode")+", seed "+six(v.num("seed")))
	ways := v.list("ways")
	percent := func(x float64) string { return three(100*x) + "%" }
	v.head("way", "objective", "ci95", "of bound", "all kept", "steps kept")
	goal := v.has("bound")
	for _, w := range ways {
		share := ""
		if goal && v.num("bound") != 0 {
			share = fmt.Sprintf("%.2f%%", 100*w.num("objective.mean")/v.num("bound"))
		}
		v.row(w.text("way"), six(w.num("objective.mean")), three(w.num("objective.ci95")), share,
			percent(w.num("kept.share")),
			percent(w.num("kept_steps.share")))
	}
	if goal {
		v.row("bound", six(v.num("bound")), "", "", "", "")
	}
	v.wayReturns(ways)
	v.worstLimits(ways)
	v.head("constraint", "broken", "low", "high", "exact", "excess", "most")
	limits := ways[0].list("limits")
	for _, l := range limits {
		if len(limits) > 50 && l.num("broken.share") == 0 || len(v.tables[len(v.tables)-1].rows) == 50 {
			continue
		}
		exactly := ""
		if l.has("exact") {
			exactly = percent(l.num("exact.broken"))
		}
		v.row(l.text("constraint"), percent(l.num("broken.share")), percent(l.num("broken.low")),
			percent(l.num("broken.high")), exactly, three(l.num("excess")), three(l.num("most")))
	}
	v.sayIf(goal, "The bound is for every way to control the fleet that keeps the limits in expectation. All "+
		"kept are the "+
		"episodes that keep every limit, steps kept those that keep the limits of single steps.")
	v.sayIf(len(limits) > 0, "The last table is about %q, where agents are on their own: low and high are the "+
		"ends of the 95%% "+
		"confidence interval of broken, exact is its probability, excess the mean by which a limit is broken "+
		"where it is.",
		ways[0].text("way"))
	v.sayIf(v.has("truncation"), "Episodes are cut after %s: that changes an expected return by at most %s.",
		many(v.num("truncation.steps"), "step"), six(v.num("truncation.error")))
	for _, w := range ways {
		if w.has("safety") {
			v.safetySaid(w.obj("safety"))
		}
	}
	v.distributions(int(v.num("episodes")))
}

func (v *view) wayReturns(ways []answer) {
	long := len(v.returns) > 3
	v.head("way")
	if long {
		v.heads("return", "mean", "ci95")
	}
	for i, w := range ways {
		cells := []string{w.text("way")}
		for _, name := range v.returns {
			r := w.obj("returns").obj(name)
			mean, half := six(r.num("mean")), three(r.num("ci95"))
			if long {
				v.row(w.text("way"), name, mean, half)
				continue
			}
			if i == 0 {
				v.heads(name, "ci95")
			}
			cells = append(cells, mean, half)
		}
		if !long {
			v.row(cells...)
		}
	}
}

func (v *view) worstLimits(ways []answer) {
	v.head("constraint", "way", "broken most often", "in", "excess", "most")
	if len(ways) < 2 {
		return
	}
	limits := ways[0].list("limits")
	belongs := func(i, j int) bool { // to the same list of limits at single steps
		name := func(k int) string {
			before, _, _ := strings.Cut(limits[k].text("constraint"), " at step ")
			return before
		}
		side := func(k int) bool { return strings.Contains(limits[k].text("constraint"), "≥") }
		return limits[i].has("step") && limits[j].has("step") && name(i) == name(j) && side(i) == side(j) &&
			limits[j].num("step") > limits[j-1].num("step")
	}
	for first := 0; first < len(limits); {
		end := first + 1
		for end < len(limits) && belongs(first, end) {
			end++
		}
		for _, w := range ways {
			of := w.list("limits")
			worst := of[first]
			for _, l := range of[first:end] {
				if l.num("broken.share") > worst.num("broken.share") {
					worst = l
				}
			}
			where := "the episode"
			if worst.has("step") {
				where = "step " + six(worst.num("step"))
			}
			side := map[bool]string{true: " ≥ ", false: " ≤ "}[strings.Contains(worst.text("constraint"), "≥")]
			v.row(worst.text("return")+side+six(worst.num("limit")), w.text("way"), where,
				three(100*worst.num("broken.share"))+"%", three(worst.num("excess")), three(worst.num("most")))
		}
		first = end
	}
}
