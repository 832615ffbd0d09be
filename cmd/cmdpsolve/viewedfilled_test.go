package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/fleet"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
	"cmdpsolve/cmdp/robust"
)

// A filler fills the members of results with drawn numbers, words and lists, for a problem.
type filler struct {
	*rand.Rand
	p      *loaded
	policy *exact.Policy // one of the problem
}

func (f *filler) of(list ...float64) report.Number { return report.Number(list[f.IntN(len(list))]) }

func (f *filler) is(one int) bool { return f.IntN(one) == 0 }

// pools are for members that cannot have any number: probabilities, and what is not negative.
var pools = []struct {
	names string
	from  []float64
}{
	{" Probability Share Level Failure Kept Holds ", []float64{0.05, 0.5, 0.9931, 1}},
	{" CI95 SD Error Gap Violation Tolerance Margin Width PlanSpan Known ", []float64{0, 1e-10, 0.125, 2, 1e4}},
	{" Least Greatest Stopping ", []float64{-3, 0.25, 7, 1e6}}, {" Steps ", []float64{3, 1234.5, 87654321}}, {" Seconds ", []float64{0.5}},
}

func (f *filler) number(name string) float64 {
	for _, p := range pools {
		if strings.Contains(p.names, " "+name+" ") {
			return float64(f.of(p.from...))
		}
	}
	if f.is(2) {
		return math.Round(1e6*f.NormFloat64()) / 256 // that no other member has
	}
	return float64(f.of(-3, 0, 0.25, 7, 2.5e-4, -123456.5, 0.0123456789, math.NaN()))
}

// fill draws all exported members, those of structs within too: half of the pointers are nil, and lists are short.
func (f *filler) fill(x any) { f.into(reflect.ValueOf(x).Elem(), "") }

func (f *filler) into(v reflect.Value, name string) {
	if v.Kind() != reflect.Struct && !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if names := v.FieldByName("Names"); names.IsValid() { // of report.Named
			names.Set(reflect.ValueOf(f.p.declared()))
			f.list(v.FieldByName("Values"), name, names.Len())
			return
		}
		for i := range v.NumField() {
			f.into(v.Field(i), v.Type().Field(i).Name)
		}
	case reflect.Pointer:
		if f.is(2) {
			v.Set(reflect.New(v.Type().Elem()))
			f.into(v.Elem(), name)
		}
	case reflect.Slice:
		f.list(v, name, f.IntN(4))
	case reflect.Array:
		for i := range v.Len() {
			f.into(v.Index(i), name)
		}
	case reflect.Bool:
		v.SetBool(f.is(2))
	case reflect.Int:
		v.SetInt([]int64{0, 1, 2, 14}[f.IntN(4)])
	case reflect.Uint64:
		v.SetUint(uint64(f.IntN(3)))
	case reflect.Float64:
		v.SetFloat(f.number(name))
	case reflect.String:
		v.SetString(fmt.Sprint("word", f.IntN(9)))
	}
}

func (f *filler) list(v reflect.Value, name string, n int) {
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		f.into(v.Index(i), name)
	}
}

func (f *filler) vector() []float64 {
	x := make([]float64, len(f.p.Returns))
	for i := range x {
		x[i] = float64(f.of(-3, 0.25, 7, 7+1e-9))
	}
	return x
}

// means are long-run means; totals have none.
func (f *filler) means() []float64 {
	x := f.vector()
	for i := range x {
		if !f.p.Model.Mean(i) {
			x[i] = math.NaN()
		}
	}
	return x
}

// certificate is of a direction with one or more returns. What it proves may be less than how far the nearest is.
func (f *filler) certificate() *exact.Certificate {
	c := &exact.Certificate{Direction: make([]float64, len(f.p.Returns)), Support: float64(f.of(-0.3, 0, 2)),
		Whole: f.is(2), Finite: f.is(2)}
	for i := range f.p.declared() {
		c.Direction[i] = float64(f.of(0, 0, 0.6, -0.8))
	}
	c.Direction[f.IntN(len(f.p.declared()))] = float64(f.of(-0.5, 0.8))
	c.Value = c.Support + float64(f.of(0.1, 3, 1e-7))
	c.Distance = (c.Value - c.Support) * float64(f.of(1, 1.0002, 1.5))
	return c
}

// conflicts are what limits in conflict would have to be, or why that is not told.
func (f *filler) conflicts() (clash []conflictReport) {
	undecided := f.is(3)
	for _, l := range f.p.Limits[:f.IntN(len(f.p.Limits)+1)] {
		c := conflictReport{Constraint: l.Name, Kind: l.Kind(), Return: l.Return, Limit: report.Number(l.Bound),
			limit: l, Undecided: undecided, Give: f.of(0.5, 1e-3, 1e-7, 1e-11)}
		c.Needed = c.Limit + c.Give
		if l.AtLeast {
			c.Needed = c.Limit - c.Give
		}
		switch f.IntN(6) {
		case 0:
			c.Give, c.Needed, c.Unknown = report.NaN, report.NaN, true
		case 1:
			c.Give, c.Needed = report.NaN, report.NaN
		case 2:
			c.Needed = report.NaN
		}
		clash = append(clash, c)
	}
	return clash
}

// planned is an answer of the solver, however it ended.
func (f *filler) planned() *exact.Result {
	p := f.p
	r := &exact.Result{Status: []exact.Verdict{exact.Optimal, exact.Optimal, exact.Stopped, exact.Undecided,
		exact.Infeasible, exact.Unbounded}[f.IntN(6)], Returns: f.vector(), Policy: f.policy,
		Objective: float64(f.of(-1.5, 0.125)), Tolerance: 1e-7, Rho: float64(f.of(0, 2.5)), Randomized: f.IntN(3),
		Iterations: 1 + f.IntN(3), Gap: float64(f.of(0, 1e-10, 1e-3, 0.5))}
	if r.Status == exact.Optimal { // beside a wide gap prices are noise
		r.Gap = float64(f.of(0, 1e-10, 2e-9))
	}
	r.Dual = make([]float64, len(r.Returns))
	rows, _ := p.Task.LinearConstraints(p.Task.Box.Lower(), p.Task.Box.Upper())
	for _, row := range rows {
		r.Prices = append(r.Prices, exact.Price{Constraint: row, Value: float64(f.of(0, 0.5, 3))})
	}
	r.Violation, r.Bound = p.Task.Violation(r.Returns), r.Objective-r.Gap
	switch {
	case r.Status == exact.Infeasible && p.Task.Target != nil:
		r.Certificate = f.certificate()
	case r.Status == exact.Infeasible || r.Status == exact.Unbounded && p.Task.Cost == nil:
		r.Status = exact.Undecided
	case r.Status == exact.Unbounded:
		r.Return = f.IntN(len(p.Returns))
	case r.Status == exact.Stopped && f.is(3):
		r.Bound, r.Gap = math.Inf(-1), math.Inf(1)
	}
	if f.is(3) {
		r.Policy, r.Mixture = nil, slices.Repeat([]exact.WeightedPolicy{{Weight: 0.5, Policy: f.policy}}, 2)
	}
	if !p.isFleet() && p.Model.Means() {
		if f.is(2) && r.Mixture == nil {
			r.Joined = &exact.Joined{Classes: 2 + f.IntN(3), Steps: float64(f.of(3.25, 1234.5, 98765432, 3e10)),
				Loss: float64(f.of(0.125, 1e-7))}
		}
		for range f.IntN(15) {
			b := exact.Branch{Probability: float64(f.of(0.0123, 0.5)), Returns: f.means()}
			for s := range f.IntN(3) {
				b.States = append(b.States, s)
			}
			r.Branches = append(r.Branches, b)
		}
	}
	return r
}

// filledKinds fill results of each kind; nil where the problem has none. The words are those of the command.
var filledKinds = map[string]func(*filler) (words string, made *report.Report){
	"plan": func(f *filler) (string, *report.Report) {
		r := f.planned()
		d := newPlanReport(f.p, r, 0)
		if f.p.isFleet() {
			d.Agents = 6
		}
		switch {
		case d.Certificate != nil:
			d.Conflict = f.conflicts()
		case d.Return == "" && f.is(4) && !f.p.isFleet():
			d.Never = &neverReport{Nodes: f.IntN(3), Relaxed: f.of(0.125, math.NaN()),
				found: d.Objective == d.Objective}
		case f.p.isFleet():
			f.fleetPlan(d)
		}
		if f.is(4) && !f.p.isFleet() {
			o := &exact.Opinion{Objective: r.Objective + float64(f.of(0, 1e-3)), Rows: f.IntN(3), Columns: f.IntN(3),
				Iterations: f.IntN(3)}
			o.Status = []exact.Verdict{exact.Optimal, exact.Infeasible, exact.Undecided}[f.IntN(3)]
			d.SecondOpinion = newOpinionReport(f.p, o, r)
		}
		return "plan", d.report(f.p, r.Returns)
	},
	"sweep": func(f *filler) (string, *report.Report) {
		rep := &sweepReport{subject: f.p.subject(), Over: []string{f.p.Returns[0] + " ≤", "b ≥"}[:1+f.IntN(2)]}
		way, plans := f.of(-0.5, 2), 1+f.IntN(4)
		if f.is(12) && !f.p.isFleet() {
			plans = 205
		}
		for i := range plans {
			one := &sweptReport{planReport: *newPlanReport(f.p, f.planned(), 0)}
			for k := range rep.Over {
				one.Limits = append(one.Limits, []report.Number{report.Number(i+1) * way, f.of(2, 3.25)}[k])
				one.Prices = append(one.Prices, f.of(0, 0.5))
			}
			if n := one.Returns; f.is(3) { // a chance that is limited to 0 is no return
				one.Returns = named{Names: n.Names[1:], Values: n.Values[1:]}
			}
			rep.Plans = append(rep.Plans, one)
		}
		return "plan", rep.report(f.p)
	},
	"front": (*filler).front,
	"sets": func(f *filler) (string, *report.Report) {
		if f.p.isFleet() || f.p.Rounded() {
			return "", nil
		}
		return "plan", f.overSets().report(f.p)
	},
	"sweep over sets": func(f *filler) (string, *report.Report) {
		if f.p.isFleet() || f.p.Rounded() {
			return "", nil
		}
		rep := &robustSweep{subject: subject{Problem: f.p.title(), Wanted: f.p.wanted()}, Over: []string{widthName}}
		way := f.of(-0.5, 2)
		for i := range 1 + f.IntN(3) {
			one := f.overSets()
			if one.Objective == one.Objective { // so far apart that a figure tells them apart
				one.Objective = f.of(0.25, 3)
				one.Bound = one.Objective + f.of(0.5, -1)
			}
			rep.Plans = append(rep.Plans, &robustSwept{[]report.Number{report.Number(i+1) * way}, *one})
		}
		return "plan", rep.report(f.p)
	},
	"game": func(f *filler) (string, *report.Report) {
		rep := new(gameReport)
		f.fill(rep)
		rep.subject, rep.Verdict, rep.Certificate = f.p.subject(), "minimax", nil
		f.gap(&rep.Verdict, &rep.GapLower, &rep.GapUpper, &rep.Certificate)
		rep.Policies = map[string][]actionRow{}
		for _, player := range []string{"agent", "opponent"} {
			rows := make([]actionRow, f.IntN(27))
			f.fill(&rows)
			rep.Policies[player] = rows
		}
		return "plan", rep.report(f.p)
	},
	"check":           func(f *filler) (string, *report.Report) { return "check", f.checked().report(f.p) },
	"check of a game": (*filler).checkOfGame,
	"log":             (*filler).logged,
	"samples":         (*filler).samples,
	"simulate":        (*filler).simulated,
	"fleet played":    (*filler).fleetPlayed,
}

// gap draws what is known of the gap of a game with a target.
func (f *filler) gap(verdict *string, low, up *report.Number, c **planCertificate) {
	if f.p.Task.Target == nil || f.is(3) {
		return
	}
	*verdict, *low = "approachable", f.of(0, 0.25)
	*up = *low + f.of(0, 1e-9, 0.05)
	if *low > 0 && f.is(2) {
		*verdict = "not approachable"
		found := f.certificate()
		*c = newCertificate(f.p, found.Direction, found.Support, found.Value, found.Distance)
	}
}

func (f *filler) front() (string, *report.Report) {
	var over []objective
	for i, name := range f.p.Problem.Returns {
		over = append(over, objective{i, name, float64(f.of(-1, 1))})
	}
	if len(over) < 2 {
		return "", nil
	}
	if f.is(2) {
		over = over[:2]
	}
	found := &query.Front{Status: []exact.Verdict{exact.Optimal, exact.Undecided, exact.Stopped,
		exact.Infeasible}[f.IntN(4)], Parts: make([]query.FrontPart, 1), Error: float64(f.of(0, 1e-12, 0.125)),
		Relative: 0.5, Iterations: f.IntN(3)}
	found.Parts[0].Result = new(exact.FrontResult)
	if found.Status == exact.Infeasible && f.p.Task.Target != nil && f.is(2) {
		found.Parts[0].Result.Certificate = f.certificate()
	}
	if found.Status != exact.Infeasible {
		first := 0.25
		for range f.IntN(5) {
			at := f.vector()
			first += float64(f.of(1e-9, 0.5)) // they are in its order
			at[over[0].index] = first
			found.Points = append(found.Points, query.FrontPoint{FrontPoint: exact.FrontPoint{Returns: at,
				Weights: make([]float64, len(over))}, Vertex: !f.is(4), Query: f.p.Query})
		}
	}
	rep := newFrontReport(f.p, over, found, 0)
	words := "front"
	if rep.all = f.is(3); rep.all {
		words += " --all"
	}
	switch {
	case f.is(3) && len(over) == 2:
		rep.Never = true
	case f.is(2) && rep.Certificate == nil && !f.p.isFleet():
		rep.Union = 2
		for _, point := range rep.Points {
			point.Thresholds = []report.Number{f.of(1, 2.5)}
		}
	}
	return words, rep.report(f.p)
}

// overSets is a plan for a set of models.
func (f *filler) overSets() *robustReport {
	r := &robust.Result{Status: []robust.Status{robust.Optimal, robust.Feasible, robust.Infeasible,
		robust.Undecided}[f.IntN(4)], Objective: float64(f.of(-1.5, 0.125)), Tolerance: 1e-7, Rounds: f.IntN(3),
		Gap: float64(f.of(0, 1e-10, 0.5)), Violation: float64(f.of(0, 1e-8, 0.25)), Stopped: f.is(2)}
	r.Bound = r.Objective - r.Gap
	switch {
	case r.Status == robust.Infeasible && f.p.Task.Target == nil:
		r.Status = robust.Undecided
	case r.Status == robust.Infeasible:
		r.Certificate = f.certificate()
	}
	if r.Status != robust.Infeasible && (r.Status != robust.Undecided || f.is(2)) {
		r.Returns, r.Bounds = f.vector(), robust.Bounds{Least: f.vector(), Greatest: f.vector()}
		r.Nominal = &exact.Result{Status: exact.Optimal, Objective: float64(f.of(-7, 0.5))}
	}
	d := newRobustReport(f.p, r, 0)
	d.Uncertainty = new(uncertaintyReport)
	f.fill(d.Uncertainty)
	d.Uncertainty.Each = []problem.Each{problem.EachStep, problem.EachModel}[f.IntN(2)]
	d.planDraws = planDraws{f.IntN(2), 2 * f.IntN(2)}
	f.fill(&d.Worst)
	if f.is(2) {
		d.Confidence = new(confidenceReport)
		f.fill(d.Confidence)
	}
	if d.found {
		f.list(reflect.ValueOf(&d.Drawn).Elem(), "", []int{0, 2, 14}[f.IntN(3)])
	}
	return d
}

func (f *filler) checked() *checkReport {
	p := f.p
	low, high := f.vector(), f.vector()
	rep := newCheckReport(p, low, high)
	rep.compareLimits(p)
	for i := range rep.Returns.Values {
		if f.is(4) {
			rep.Returns.Values[i].Max = report.Number(math.Inf(1))
		}
	}
	f.fill(&rep.Missing)
	if rep.Missing != nil && len(rep.Missing.States) == 0 {
		rep.Missing = nil
	} else if rep.Missing != nil {
		for i := range rep.Missing.States {
			rep.Missing.States[i].Last = rep.Missing.States[i].First + f.IntN(2)
		}
	}
	rep.Tolerance = f.of(1e-9, 2e-7)
	yes, no := true, false
	if p.Task.Target == nil {
		rep.Feasible, rep.Tolerance = &yes, report.NaN
		return rep
	}
	switch f.IntN(3) {
	case 0:
		rep.GapUpper = f.of(1e-8, 0.3)
	case 1:
		rep.Feasible, rep.GapLower = &no, f.of(0.1, 0.2)
		rep.GapUpper = rep.GapLower + f.of(0, 1e-9, 0.05)
		c := f.certificate()
		rep.Certificate = newCertificate(p, c.Direction, c.Support, c.Value, c.Distance)
		rep.Certificate.Possible, rep.Certificate.Finite = f.is(2), f.is(2)
		rep.Nearest, rep.Conflict = p.named(f.vector()), f.conflicts()
	case 2:
		rep.Feasible, rep.Rho = &yes, f.of(0, 3.5, math.NaN())
		radius := f.of(0, 1e-3, 2.5, math.Inf(1))
		rep.Slater = &slaterReport{radius, radius*f.of(1, 1+1e-8, 1.5) + f.of(0, 1), p.named(f.vector()),
			f.of(math.NaN(), 12)}
		if radius > 0 && f.is(3) {
			rep.Slater.Bound = report.Number(math.Inf(1))
		}
	}
	return rep
}

func (f *filler) checkOfGame() (string, *report.Report) {
	if f.p.isFleet() || f.p.Task.Target == nil && len(f.p.Limits) > 0 {
		return "", nil
	}
	rep := &gameCheck{checkReport: newCheckReport(f.p, f.vector(), f.vector()), Actions: f.IntN(3),
		OpponentActions: f.IntN(3), Opponent: make([]actionRow, f.IntN(27))}
	f.fill(&rep.Opponent)
	f.gap(&rep.Verdict, &rep.GapLower, &rep.GapUpper, &rep.Certificate)
	return "check", rep.report(f.p)
}

// logged is a plan from a log.
func (f *filler) logged() (string, *report.Report) {
	if f.p.isFleet() {
		return "", nil
	}
	d := new(loggedReport)
	f.fill(d)
	d.subject = f.p.subject()
	if f.p.Task.Cost == nil {
		d.Objective = report.NaN
	}
	c := &d.Credible
	c.Low, c.High, c.Margins = named{Names: f.p.Returns}, named{Names: f.p.Returns}, named{}
	for _, ends := range c.Returns.Values {
		c.Low.Values, c.High.Values = append(c.Low.Values, ends[0]), append(c.High.Values, ends[1])
	}
	if f.is(2) {
		for _, l := range f.p.Rows() {
			c.Margins.Names = append(c.Margins.Names, l.Name)
			c.Margins.Values = append(c.Margins.Values, f.of(0.25, -3))
		}
	}
	words := "plan --log x.csv"
	if d.pooled = f.is(2); d.pooled {
		words += " --pool"
	}
	for i := range c.Unsure {
		c.Unsure[i].Step = map[bool]int{false: 1 + f.IntN(3)}[d.pooled]
	}
	return words, d.report(f.p)
}

// samples are plans from samples of every choice.
func (f *filler) samples() (string, *report.Report) {
	if f.p.isFleet() || f.p.Task.Cost == nil && f.p.Task.Target == nil {
		return "", nil
	}
	d := new(sampledReport)
	f.fill(d)
	d.subject, d.Status = f.p.subject(), []string{"sampled", "infeasible"}[f.IntN(2)]
	if d.Objective = f.of(0.25, 7); f.p.Task.Cost == nil {
		d.Objective = report.NaN
	}
	s := &d.Sample
	if (s.AtLeast == nil) != (s.AtMost == nil) {
		s.AtLeast, s.AtMost = nil, nil
	}
	s.Span = f.of(0, 2.5)
	if s.Span == 0 || s.PlanSpan == nil || s.Known == nil {
		s.PlanSpan, s.Known, s.Joined = nil, nil, nil
	}
	if d.Status == "infeasible" && !(s.Strict && s.wider()) {
		s.PlanSpan, s.Known, s.Joined = nil, nil, nil
	}
	return "learn --sample 3", d.report(f.p)
}

// simulated are episodes of a policy.
func (f *filler) simulated() (string, *report.Report) {
	p := f.p
	if p.isFleet() {
		return "", nil
	}
	rep := new(simulateReport)
	f.fill(rep)
	if rep.subject, rep.Simulator = p.subject(), ""; p.Rounded() {
		rep.Uncertainty = nil
	}
	rep.Violation, rep.Expected.Violation = f.of(0, 0.25), f.of(0, 0.5)
	rep.kept, rep.keeps = rep.Violation == 0, rep.Expected.Violation == 0
	if p.Task.Cost == nil {
		rep.Objective = report.NaN
	} else {
		rep.Objective = f.of(7, -3)
	}
	for i := range rep.Returns.Values {
		m := &rep.Returns.Values[i]
		if m.Least, m.Greatest = nil, nil; rep.Uncertainty != nil {
			least, greatest := f.of(-3, 0.25), f.of(7, 1e6)
			m.Least, m.Greatest = &least, &greatest
		}
	}
	if rep.Branches = nil; p.Model.Means() && f.is(2) {
		for range 2 + f.IntN(14) {
			var b branchReport
			f.fill(&b)
			if b.States == 0 {
				b.State = ""
			}
			b.Returns = f.p.named(f.means())
			rep.Branches = append(rep.Branches, b)
		}
	}
	if p.Model.Horizon() > 0 {
		rep.Truncation = nil
	}
	f.varied(&rep.Distribution)
	return "simulate", rep.report(p)
}

// varied has distributions fit to be drawn.
func (f *filler) varied(d *distributions) {
	if f.is(2) {
		*d = distributions{}
		return
	}
	for i := range d.Values {
		of := &d.Values[i]
		if of.Exact = of.CI95 == nil; len(of.Histogram) < 2 {
			of.Histogram = make([]binReport, 2)
		}
		from := report.Number(-3)
		for k := range of.Histogram {
			of.Histogram[k] = binReport{from, from + 0.25, f.of(0.0012, 0.25, 0.5), f.of(0, 0.125)}
			from += 0.25
		}
	}
}

// fleetPlan adds what the agents of a plan do.
func (f *filler) fleetPlan(d *planReport) {
	f.list(reflect.ValueOf(&d.Types).Elem(), "", []int{1, 2, 3, 43}[f.IntN(4)])
	for i := range d.Types {
		d.Types[i].Policies = make([]assignmentReport, 1+f.IntN(3))
		f.fill(&d.Types[i].Policies[0])
	}
	for _, i := range f.p.Fleet().EachStep {
		use, prices := make([]report.Number, f.p.Horizon()), make([]report.Number, f.p.Horizon())
		for h := range use {
			use[h], prices[h] = f.of(0, 0.25, 7), f.of(0, 0.5, -2)
		}
		name := f.p.Fleet().Returns[i]
		d.Use.Names, d.Use.Values = append(d.Use.Names, name), append(d.Use.Values, use)
		d.StepPrices.Names, d.StepPrices.Values = append(d.StepPrices.Names, name), append(d.StepPrices.Values, prices)
	}
	d.Whole = new(wholeReport)
	for i := range f.IntN(3) {
		d.Whole.Exceeded = append(d.Whole.Exceeded, exceedReport{fmt.Sprint("limit ", i),
			f.of(0.125, 0.5, 3) + report.Number(i)/7, f.of(1, 0.25)})
	}
	if f.is(2) {
		d.Safety = new(safetyReport)
		f.fill(d.Safety)
		f.list(reflect.ValueOf(&d.Safety.Margins).Elem(), "", []int{1, 3, 60, 120}[f.IntN(4)])
	}
}

// fleetPlayed are episodes of a fleet, played in some ways.
func (f *filler) fleetPlayed() (string, *report.Report) {
	p := f.p
	if !p.isFleet() {
		return "", nil
	}
	rep := new(fleetSimulation)
	f.fill(rep)
	rep.subject, rep.Bound = p.subject(), f.of(-3, 7, 0)
	if p.Task.Cost == nil {
		rep.Bound = report.NaN
	}
	f.varied(&rep.Distribution)
	rep.Ways = make([]wayReport, 1+f.IntN(3))
	for k := range rep.Ways {
		w := &rep.Ways[k]
		f.fill(w)
		w.Objective.Mean = f.of(-3, 7)
		if p.Task.Cost == nil {
			w.Objective = estimate{report.NaN, report.NaN}
		}
		w.Limits = nil
		w.Use = perStep{}
		for _, l := range p.Rows() {
			var played fleet.LimitPlayed
			f.fill(&played)
			of := newLimitPlayed(p, l, played, nil)
			f.fill(&of.Exact)
			w.Limits = append(w.Limits, of)
		}
	}
	return "simulate", rep.report(p)
}

// filledProblems are some of which results are told in other words: by name, with the text of a file.
func filledProblems() iter.Seq2[string, string] {
	limits := "{return: places, each_step: true, at_least: 0.5, at_most: 3}, {return: places, at_most: 9}"
	returns := []string{"[made, places]", "[made, places, a, b]", "returns: {made", "returns: {a: made, b: made, made"}
	long := strings.NewReplacer(append(returns, "horizon: 3", "horizon: 60")...).Replace(vans(limits))
	many := strings.NewReplacer(returns...).Replace(vans(limits +
		", {return: a, each_step: true, at_most: 5}, {return: b, each_step: true, at_least: 0.125}"))
	rows := "transitions:\n  - {state: 0, action: go, next: {0: 0.5, 1: 0.5}, returns: [1, 1]}\n" +
		"  - {state: 1, action: stay, next: {1: 1}, returns: [2, 0]}\n"
	list := [][2]string{{"inventory"}, {"cliff:rows=3,cols=4,H=8"}, {"../../docs/examples/clinic.yaml"},
		{"vans.yaml", many}, {"long.yaml", long}, {"tanks.yaml", fmt.Sprintf(tanks, "maximize: reward")},
		{"rounded.yaml", "format: cmdp/1\nhorizon: 3\nstates: [base]\nstart: base\nreturns: {battery: {}, work: {}}\n" +
			"goal: {maximize: work}\nconstraints:\n  - {return: battery, at_most: 1, always: true}\n  - {return: work, at_least: 0.5}\ntransitions:\n" +
			"  - {state: base, action: rest, next: {base: 1}}\n" +
			"  - {state: base, action: work, next: {base: 1}, returns: {battery: 0.4, work: 1}}\n"},
		{"mixed.yaml", "format: cmdp/1\ndiscount: 1\nstates: 2\nstart: 0\nreturns: {gain: {criterion: average}, cost: {}}\n" +
			"goal: {maximize: gain}\nconstraints: [{return: gain, at_least: 1}, {return: cost, at_most: 9}]\n" + rows},
		{"free.yaml", "format: cmdp/1\nhorizon: 2\nstates: 2\nstart: 0\nreturns: [gain, cost]\ngoal: {minimize: cost}\n" + rows}}
	return func(yield func(string, string) bool) {
		for _, of := range list {
			if !yield(of[0], of[1]) {
				return
			}
		}
	}
}

// TestViewOfFilledResults: whatever the numbers of a result are, also those that hardly a problem has, and however it
// ended, each stands in its place, and what is said follows from them. Pages have them too.
func TestViewOfFilledResults(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(70, 1))
	for name, text := range filledProblems() {
		options := &memoryOptions{stored: true, fleets: true}
		if text != "" {
			name = filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if strings.Contains(name, "rounded") {
			options.resolution = 1
		}
		p, err := options.load(t.Context(), streams{problem: new(problem.ReadOptions)}, name)
		if err != nil {
			t.Fatal(err)
		}
		f := &filler{rng, p, new(exact.Policy)}
		if len(p.Of(query.EveryEpisode)) > 0 { // whose worst episode is looked for
			r, err := p.Solve(t.Context(), exact.Options{})
			if err != nil {
				t.Fatal(err)
			}
			f.policy = r.Policy
		}
		for _, kind := range slices.Sorted(maps.Keys(filledKinds)) {
			t.Run(filepath.Base(name)+" "+kind, func(t *testing.T) {
				draws := map[string]int{"plan": 40, "check": 20, "front": 24, "sets": 20, "samples": 20}[kind]
				for i := 0; i < max(8, draws) && !t.Failed(); i++ {
					if words, made := filledKinds[kind](f); made != nil {
						checkFilled(t, kind, append(strings.Fields(words), name), made, i%8 == 0)
					}
				}
			})
		}
	}
}

// checkQuantities: every number of CSV is one that JSON has, under the name and the words of the quantity.
func checkQuantities(t *testing.T, r *result, text string) {
	t.Helper()
	sheet := csv.NewReader(strings.NewReader(text))
	sheet.FieldsPerRecord = -1
	rows, err := sheet.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		if !slices.Equal(rows[0], []string{"quantity", "name", "value"}) {
			continue
		}
		x, err := strconv.ParseFloat(row[2], 64)
		there := slices.ContainsFunc(r.values, func(v keyedValue) bool {
			if v.text != "" || v.value != x {
				return false
			}
			keys := strings.Join(v.keys, " ")
			for _, key := range v.keys {
				said := key == row[1] || key == "constraints" || key == "returns" ||
					strings.Contains(strings.ReplaceAll(row[0], "_", " "), strings.TrimSuffix(key, "s"))
				if !said {
					return false
				}
			}
			for word := range strings.SplitSeq(row[0], "_") {
				if !strings.Contains(keys, word) && word != "low" && word != "high" { // ends of one member
					return false
				}
			}
			return true
		})
		if err == nil && x != 0 && !there { // what there is none of JSON leaves out
			t.Errorf("%v: CSV has %q: JSON has no such number there", r.args, row)
		}
	}
}

func checkFilled(t *testing.T, kind string, words []string, made *report.Report, page bool) {
	t.Helper()
	made.Result = true
	var out bytes.Buffer
	if err := made.Write(&out, report.JSON); err != nil {
		t.Fatal(err)
	}
	r := readResult(t, words, out.Bytes())
	if got := viewKind(r); got != kind {
		t.Errorf("a result of kind %q is taken for %q", kind, got)
	}
	checkView(t, r)
	if page && kind != "samples" {
		checkPage(t, r)
		checkFigures(t, r)
	}
	if page && kind != "front" && kind != "samples" { // vertices may be too near to each other to be seen
		checkPlot(t, r)
	}
	out.Reset()
	if err := made.Write(&out, report.CSV); err != nil {
		t.Fatal(err)
	}
	checkQuantities(t, r, out.String())
	out.Reset()
	if err := made.Write(&out, report.LaTeX); err != nil {
		t.Fatal(err)
	}
	inside := false
	for line := range strings.Lines(out.String()) {
		inside = inside && !strings.HasPrefix(line, `\end{tabular}`) || strings.HasPrefix(line, `\begin{tabular}`)
		if strings.TrimSpace(line) > "" && line[0] != '%' && line[0] != '\\' && !inside {
			t.Errorf("%v: LaTeX has the text %q", words, line)
		}
	}
}
