package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/chart"
	"cmdpsolve/cmdp/fleet"
	"cmdpsolve/cmdp/problem"

	"gonum.org/v1/gonum/floats"
)

// typeReport is what the agents of a type do.
type typeReport struct {
	Name  string `json:"name" csv:"*"`
	Count int    `json:"count" csv:"count"`
	// Returns are those of one agent.
	Returns  named              `json:"returns" csv:"return"`
	Policies []assignmentReport `json:"policies"`
	// Policy is the file that its policies are written to.
	Policy string `json:"policy,omitempty"`
}

// assignmentReport is a policy, for a share of the agents of a type or a whole number of them. Returns are
// those of one agent.
type assignmentReport struct {
	Share   report.Number `json:"share"`
	Agents  int           `json:"agents"`
	Returns named         `json:"returns"`
}

// wholeReport says what whole numbers of agents return, and by how much they exceed limits.
type wholeReport struct {
	Returns  named          `json:"returns" csv:"return"`
	Exceeded []exceedReport `json:"exceeded"`
}

// exceedReport is a limit that whole numbers of agents exceed in expectation. Agent is the most that a single
// agent uses of it.
type exceedReport struct {
	Constraint string        `json:"constraint"`
	By         report.Number `json:"by"`
	Agent      report.Number `json:"agent"`
}

// perStep holds a number for each step of each of some returns.
type perStep = report.Named[[]report.Number]

// addFleet adds what is known of the types, and of the use at each step.
func (d *planReport) addFleet(p *loaded, plan *fleet.Plan) {
	f := p.Fleet()
	d.Agents = f.Agents()
	if plan.Types == nil {
		return
	}
	for k, t := range plan.Types {
		one := typeReport{Name: f.Types[k].Name, Count: f.Types[k].Count, Returns: p.named(t.Returns)}
		for _, a := range t.Policies {
			one.Policies = append(one.Policies, assignmentReport{report.Number(a.Share), a.Agents, p.named(a.Returns)})
		}
		d.Types = append(d.Types, one)
	}
	for k, use := range f.Use(plan.Returns) {
		name := f.Returns[f.EachStep[k]]
		d.Use.Names, d.Use.Values = append(d.Use.Names, name), append(d.Use.Values, report.Numbers(use))
		d.StepPrices.Names = append(d.StepPrices.Names, name)
		d.StepPrices.Values = append(d.StepPrices.Values, d.pricesOf(p, name))
	}
	d.Whole = newWholeReport(p, plan)
}

// pricesOf returns the prices of the limits on a return at each step: what the optimum gains for each unit more
// that may be used, less what it gains for each unit less that has to be.
func (d *planReport) pricesOf(p *loaded, name string) []report.Number {
	prices := make([]report.Number, p.Horizon())
	for i, l := range p.Rows() {
		if l.Step == 0 || p.Problem.Constraints[l.Constraint].Return != name || i >= len(d.Constraints) {
			continue
		}
		if l.AtLeast {
			prices[l.Step-1] -= d.Constraints[i].Price
		} else {
			prices[l.Step-1] += d.Constraints[i].Price
		}
	}
	return prices
}

// newWholeReport says what whole numbers of agents come to.
func newWholeReport(p *loaded, plan *fleet.Plan) *wholeReport {
	w := &wholeReport{Returns: p.named(plan.Whole), Exceeded: []exceedReport{}}
	sides := p.Scale()
	for k, price := range plan.Prices {
		if k >= len(p.Rows()) {
			break
		}
		l := p.Rows()[k]
		excess, scale, one := -price.Offset, 0.0, 0.0
		for i, n := range price.Normal {
			excess += n * plan.Whole[i]
			scale += math.Abs(n) * sides[i]
		}
		if !(excess > 1e-9*scale) {
			continue
		}
		for _, t := range plan.Types {
			for _, a := range t.Policies {
				one = math.Max(one, floats.Dot(price.Normal, a.Returns))
			}
		}
		w.Exceeded = append(w.Exceeded, exceedReport{l.Name, report.Number(excess), report.Number(one)})
	}
	return w
}

// fleetSections are the tables of a fleet: what each type does, and use and prices at each step.
func (d *planReport) fleetSections(p *loaded) []report.Section {
	if d.Types == nil {
		return nil
	}
	sections := []report.Section{d.typeTable(p), d.assignmentTable()}
	for first := 0; first < len(d.Use.Names); first += usesBeside {
		sections = append(sections, d.stepTable(p, first, min(first+usesBeside, len(d.Use.Names))))
	}
	return append(sections, d.fleetNotes(p))
}

// mostTypes and mostSteps bound the rows of tables for people, usesBeside the returns whose use at each step is
// shown side by side.
const mostTypes, mostSteps, usesBeside = 40, 50, 2

// typeTable lists the types with the returns of one agent.
func (d *planReport) typeTable(p *loaded) *report.Table {
	t := report.NewTable("type", "agents", "policies")
	for _, name := range p.Problem.Returns {
		t.Head(name + " of one")
	}
	for _, one := range d.Types[:min(mostTypes, len(d.Types))] {
		t.Add(append([]any{one.Name, one.Count, len(one.Policies)}, report.Cells(one.Returns.Values)...)...)
	}
	return t
}

// assignmentTable lists which policies are for how many agents, of the types that have several.
func (d *planReport) assignmentTable() *report.Table {
	t := report.NewTable("type", "policy", "share", "agents")
	for _, one := range d.Types {
		if len(one.Policies) == 1 {
			continue
		}
		for j, a := range one.Policies {
			if len(t.Rows) == mostTypes {
				return t
			}
			t.Add(one.Name, j+1, a.Share, a.Agents)
		}
	}
	return t
}

// stepTable lists use, limit and price of some returns at each step; those of many steps only where a limit binds.
func (d *planReport) stepTable(p *loaded, first, end int) *report.Table {
	t := report.NewTable("step")
	for _, name := range d.Use.Names[first:end] {
		t.Head(name, "limit", "price")
	}
	largest := make([]float64, len(d.Use.Names))
	for k := range largest {
		for _, x := range d.StepPrices.Values[k] {
			largest[k] = math.Max(largest[k], math.Abs(float64(x)))
		}
	}
	for h := range p.Horizon() {
		row, binds := []any{strconv.Itoa(h + 1)}, false
		for k, name := range d.Use.Names[first:end] {
			k += first
			x := d.StepPrices.Values[k][h]
			limits, price := limitsAt(p, name, h+1), any("")
			if limits != "" {
				price = report.Rounded(float64(x), largest[k])
			}
			row = append(row, report.Rounded(d.Use.Values[k][h], 1), limits, price)
			binds = binds || math.Abs(float64(x)) > 1e-9*largest[k]
		}
		if len(t.Rows) < mostSteps && (binds || p.Horizon() <= mostSteps) {
			t.Add(row...)
		}
	}
	return t
}

func limitsAt(p *loaded, name string, step int) string {
	text := ""
	if l := limitAt(p, name, step, true); l != nil {
		text = "≥ " + report.Short(l.Bound)
	}
	if l := limitAt(p, name, step, false); l != nil {
		if text != "" {
			text += ", "
		}
		text += "≤ " + report.Short(l.Bound)
	}
	return text
}

// fleetNotes says what the numbers mean.
func (d *planReport) fleetNotes(p *loaded) report.Note {
	if d.Safety != nil {
		return report.Note{"Objective, bound and prices are those of the limits less their margins, which hold in " +
			"expectation."}
	}
	notes := report.Note{"Limits hold in expectation, and the bound is for all plans for which they do, whatever " +
		"agents know of one another: in a single episode a limit that binds is exceeded about every second time."}
	if mixed := slices.IndexFunc(d.Types, func(t typeReport) bool { return len(t.Policies) > 1 }); mixed >= 0 {
		switch n := len(d.Whole.Exceeded); n {
		case 0:
			notes = append(notes, "With whole numbers of agents, as in the tables, all limits are kept too.")
		default:
			worst := slices.MaxFunc(d.Whole.Exceeded, func(a, b exceedReport) int {
				if a.By*b.Agent < b.By*a.Agent {
					return -1
				}
				return 1
			})
			notes = append(notes, fmt.Sprintf("With whole numbers of agents %s exceeded: %s by %s, where one agent "+
				"uses up to %s.", count(n, "limit")+map[bool]string{true: " is", false: " are"}[n == 1],
				worst.Constraint, report.Short(worst.By), report.Short(worst.Agent)))
		}
	}
	if len(d.Types) > mostTypes {
		notes = append(notes, fmt.Sprintf("%d types are not shown; --format json has them.", len(d.Types)-mostTypes))
	}
	if len(d.Use.Names) > 0 && p.Horizon() > mostSteps {
		notes = append(notes, "Only steps at which a limit binds are shown; --format json has all.")
	}
	return notes
}

// useFigure draws the use of each step with its limit, and the price of the limit over time.
func (d *planReport) useFigure(p *loaded) *chart.Figure {
	f := &chart.Figure{Title: p.title() + ": use and price at each step"}
	steps := make([]float64, p.Horizon())
	for h := range steps {
		steps[h] = float64(h + 1)
	}
	for k, name := range d.Use.Names {
		use := chart.Panel{X: chart.Axis{Title: "step"}, Y: chart.Axis{Title: name}}
		use.Curves = append(use.Curves, chart.Curve{Name: "use", X: steps, Y: plain(d.Use.Values[k]), Marks: true})
		for _, side := range []struct {
			name    string
			atLeast bool
		}{{"at most", false}, {"at least", true}} {
			y, any := make([]float64, len(steps)), false
			for h := range y {
				y[h] = math.NaN()
				if l := limitAt(p, name, h+1, side.atLeast); l != nil {
					y[h], any = l.Bound, true
				}
			}
			if any {
				use.Curves = append(use.Curves, chart.Curve{Name: side.name, X: steps, Y: y})
			}
		}
		price := chart.Panel{X: chart.Axis{Title: "step"}, Y: chart.Axis{Title: "price of " + name}}
		price.Curves = append(price.Curves, chart.Curve{Name: "price", X: steps, Y: plain(d.StepPrices.Values[k]),
			Marks: true})
		f.Panels = append(f.Panels, use, price)
	}
	return f
}

func plain(x []report.Number) []float64 {
	out := make([]float64, len(x))
	for i, y := range x {
		out[i] = float64(y)
	}
	return out
}

// fleetLimits lists the limits of a fleet, those of single steps of one constraint in a row: with the least
// slack among them, and the sum of their prices, which is what it is worth to relax all of them by a unit.
func (d *planReport) fleetLimits(p *loaded) []limitReport {
	var out []limitReport
	rows := p.Rows()
	of := make(map[[2]int]int)
	for i, c := range d.Constraints {
		if i >= len(rows) || rows[i].Step == 0 {
			out = append(out, c)
			continue
		}
		l := rows[i]
		key := [2]int{l.Constraint, 0}
		if l.AtLeast {
			key[1] = 1
		}
		at, known := of[key]
		if !known {
			of[key] = len(out)
			c.Constraint = l.Return + " " + problem.Relation(l.AtLeast) + " " + report.Short(l.Bound)
			if list := p.Problem.Constraints[l.Constraint]; l.AtLeast && list.LeastAt != nil ||
				!l.AtLeast && list.MostAt != nil {
				c.Constraint = l.Return
			}
			out = append(out, c)
			continue
		}
		out[at].Slack = min(out[at].Slack, c.Slack)
		out[at].Price += c.Price
		out[at].shown += c.shown
	}
	return out
}
