package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/query"

	"gonum.org/v1/gonum/floats"
)

// planWorth is what a plan is worth, in the user's sense. What does not exist is null.
type planWorth struct {
	Objective report.Number `json:"objective" csv:"objective"`
	Bound     report.Number `json:"bound" csv:"bound"`
	Gap       report.Number `json:"gap" csv:"gap"`
}

// addTo adds what the plan is worth to a table, with the gap as it is written.
func (w planWorth) addTo(t *report.Table, p *loaded, gap string) {
	t.Add("objective", w.Objective)
	t.Add(map[bool]string{true: "certified at most", false: "certified at least"}[p.Sense() < 0], w.Bound)
	t.Add("gap", gap)
}

// priceNote says what a price is.
const priceNote = "The price of a limit is how much the optimum improves for each unit by which it is relaxed."

// planLimits is how a plan stands to the limits.
type planLimits struct {
	Violation report.Number `json:"violation" csv:"violation"`
	// Tolerance is the violation up to which the target counts as met.
	Tolerance report.Number `json:"tolerance" csv:"tolerance"`
	// Prices holds the price of each of Constraints.
	Prices      []report.Number `json:"prices"`
	Constraints []limitReport   `json:"constraints" csv:""`
}

func (d *planLimits) add(c limitReport) {
	d.Prices, d.Constraints = append(d.Prices, c.Price), append(d.Constraints, c)
}

// planDraws is how a plan draws.
type planDraws struct {
	Randomized int `json:"randomized" csv:"randomized"`
	// Components is the number of policies, if the plan draws one of several at the start.
	Components int `json:"components,omitempty" csv:"components"`
}

// planReport is the data of what plan found.
type planReport struct {
	subject
	Status string `json:"status" csv:"status"`
	// Return grows without bound where Status is unbounded.
	Return string `json:"return,omitempty" csv:"unbounded"`
	planWorth
	Returns named `json:"returns" csv:"return"`
	planLimits
	// TargetPrice is the price of a curved target in each coordinate.
	TargetPrice named         `json:"target_price,omitzero" csv:"target_price"`
	Rho         report.Number `json:"rho" csv:"rho"`
	planDraws
	// Branches are there if endless runs differ in their long-run means, Joined if the policy joins recurrent classes.
	Branches    branchReports    `json:"branches,omitempty"`
	Joined      *joinedReport    `json:"joined,omitempty"`
	Certificate *planCertificate `json:"certificate" csv:"certificate"`
	// Conflict names a smallest set of limits that no policy keeps together.
	Conflict []conflictReport `json:"conflict,omitempty" csv:"conflict"`
	memoryReport
	Iterations int `json:"iterations" csv:"iterations"`
	// MissingRows counts the pairs of a state and a step that seem to have lost their rows.
	MissingRows int           `json:"missing_rows,omitempty"`
	Seconds     report.Number `json:"seconds"`
	// Phases say what the seconds were spent on.
	Phases []phaseReport `json:"phases,omitempty"`
	// Never is there with --deterministic.
	Never *neverReport `json:"deterministic,omitempty"`
	// SecondOpinion is there with --second-opinion.
	SecondOpinion *opinionReport `json:"second_opinion,omitempty" csv:"second_opinion"`
	// Agents is the number of agents of a fleet, and Types says what those of each type do. Use is what the
	// fleet uses at each step of returns with limits there, StepPrices what a unit more of them is worth. Whole
	// is about whole numbers of agents.
	Agents     int          `json:"agents,omitempty" csv:"agents"`
	Types      []typeReport `json:"types,omitempty" csv:"type"`
	Use        perStep      `json:"use,omitzero"`
	StepPrices perStep      `json:"use_prices,omitzero"`
	Whole      *wholeReport `json:"whole,omitempty" csv:"whole"`
	// Safety is there with --safety: limits were tightened, and prices, objective and bound are those of the
	// tightened ones.
	Safety *safetyReport `json:"safety,omitempty"`
	// Distribution is there with --distribution.
	Distribution distributions    `json:"distribution,omitzero" csv:"distribution"`
	policy       []report.Section // with --show
}

// phaseReport is a part of a plan with its time, see exact.Phase.
type phaseReport struct {
	Name    string        `json:"name"`
	Seconds report.Number `json:"seconds"`
}

// named holds a number for each return of a problem.
type named = report.Named[report.Number]

func (p *loaded) named(x []float64) named {
	if p.isFleet() && x != nil { // those of single steps follow
		return named{Names: p.Problem.Returns, Values: report.Numbers(x[:len(p.Problem.Returns)])}
	}
	return named{Names: p.Returns, Values: report.Numbers(x)}
}

// limitReport is a limit with its value and price.
type limitReport struct {
	Constraint string        `json:"constraint" csv:"*"`
	Kind       string        `json:"kind"`
	Return     string        `json:"return,omitempty"`
	Limit      report.Number `json:"limit"`
	Slack      report.Number `json:"slack" csv:"slack"`
	Price      report.Number `json:"price" csv:"price"`
	shown      float64       // price, see query.Standing
	scale      float64       // of rounding errors of the slack
}

// newLimitReport is a limit without slack and price. Nil is the target.
func newLimitReport(l *query.Limit) limitReport {
	c := limitReport{Constraint: "target", Kind: "target", Limit: report.NaN, Slack: report.NaN, Price: report.NaN,
		shown: math.NaN()}
	if l != nil {
		c.Constraint = l.Name
		c.Kind = l.Kind()
		c.Return = l.Return
		c.Limit = report.Number(l.Bound)
	}
	return c
}

// planCertificate proves that no policy meets the target: every policy reaches at
// least Value in the direction, all that is allowed at most Support.
type planCertificate struct {
	Direction named         `json:"direction" csv:"direction"`
	Support   report.Number `json:"support" csv:"support"`
	Value     report.Number `json:"value" csv:"value"`
	Distance  report.Number `json:"distance" csv:"distance"`
	// Possible says that it holds for what is allowed and can be returned at all, not for all that is allowed.
	Possible bool `json:"possible,omitempty"`
	// Finite says that it holds for policies whose totals are finite, where others have totals without end.
	Finite    bool `json:"finite,omitempty"`
	direction []float64
}

func (d *planReport) report(p *loaded, returns []float64) *report.Report {
	sections := []report.Section{
		p.heading(fmt.Sprintf("%s, %s, %.3g s", d.Status, count(d.Iterations, "value iteration"), d.Seconds)),
		d.values(p, returns), d.limits(p), conflictTable(d.Conflict),
		slices.Concat(d.notes(p, true), endlessNote(d.Returns.Values), p.memoryNotes()),
	}
	sections = append(sections, d.fleetSections(p)...)
	sections = append(sections, d.Safety.sections()...)
	sections = append(sections, d.Branches.sections(p)...)
	sections = append(sections, d.policy...)
	return &report.Report{Data: d, Sections: append(sections,
		distributionSections(d.Distribution, episodesOfPlans, false)...)}
}

func newPlanReport(p *loaded, r *exact.Result, took time.Duration) *planReport {
	d := &planReport{
		subject: p.subject(), Status: r.Status.String(),
		planWorth:    planWorth{report.NaN, report.NaN, report.NaN},
		Returns:      p.named(r.Returns),
		planLimits:   planLimits{report.Number(r.Violation), report.NaN, []report.Number{}, []limitReport{}},
		Rho:          report.NaN,
		planDraws:    planDraws{r.Randomized, len(r.Mixture)},
		memoryReport: memoryOf(p),
		Iterations:   r.Iterations, Seconds: report.Number(took.Seconds()),
	}
	for _, phase := range r.Phases {
		d.Phases = append(d.Phases, phaseReport{phase.Name, report.Number(phase.Time.Seconds())})
	}
	if missing := newMissingRows(p); missing != nil {
		d.MissingRows = missing.Pairs
	}
	if p.Task.Cost != nil && r.Status != exact.Infeasible {
		d.Objective, d.Bound, d.Gap = report.Number(p.Sense()*r.Objective), report.Number(p.Sense()*r.Bound),
			report.Number(r.Gap)
	}
	if r.Status == exact.Stopped && !r.HasPolicy() {
		d.Objective, d.Gap = report.NaN, report.NaN
	}
	if (r.Status == exact.Stopped || p.Rounded()) && math.IsInf(r.Bound, -1) && r.Status != exact.Unbounded {
		d.Bound, d.Gap = report.NaN, report.NaN
	}
	if r.Status == exact.Unbounded {
		d.Return, d.Gap = p.Returns[r.Return], report.NaN
	}
	if p.Task.Target != nil {
		d.Tolerance = report.Number(r.Tolerance)
	}
	if r.Status == exact.Optimal && p.Task.Cost != nil && p.Task.Target != nil {
		d.Rho = report.Number(r.Rho)
	}
	d.addLimits(p, r)
	if !p.isFleet() && p.Model.Means() && (r.Status == exact.Optimal || r.Status == exact.Undecided ||
		r.Status == exact.Stopped) {
		d.Branches, d.Joined = newBranchReports(p, r.Branches), newJoinedReport(r.Joined)
	}
	if c := r.Certificate; c != nil {
		d.Certificate = certificateOf(p, c)
	}
	return d
}

// addLimits adds constraints and target with their prices.
func (d *planReport) addLimits(p *loaded, r *exact.Result) {
	for _, s := range p.Standings(r) {
		c := newLimitReport(s.Limit)
		c.Slack = report.Number(s.Slack)
		c.Price = report.Number(s.Price)
		c.shown = s.Shown()
		c.scale = s.Scale
		d.add(c)
		if s.Prices != nil {
			d.TargetPrice = p.named(s.Prices)
		}
	}
}

func certificateOf(p *loaded, c *exact.Certificate) *planCertificate {
	cert := newCertificate(p, c.Direction, c.Support, c.Value, c.Distance)
	cert.Possible, cert.Finite = !c.Whole && !holdsUncut(p, c.Direction), c.Finite
	return cert
}

func newCertificate(p *loaded, direction []float64, support, value, distance float64) *planCertificate {
	return &planCertificate{Direction: named{Names: p.Returns, Values: report.Numbers(direction)},
		Support: report.Number(support), Value: report.Number(value), Distance: report.Number(distance),
		direction: direction}
}

// holdsUncut reports whether what is allowed reaches no farther in a direction than the
// part of it that is possible: whether it is a normal there.
func holdsUncut(p *loaded, dir []float64) bool {
	at, beyond := make([]float64, len(dir)), make([]float64, len(dir))
	p.Task.Target.MaximizeLinear(at, dir)
	size := 0.0
	for i, x := range p.Scale() {
		size = max(size, x, math.Abs(at[i]))
	}
	for i, x := range dir {
		beyond[i] = at[i] + size*x
	}
	p.Task.Whole.Project(beyond, beyond)
	for i, x := range beyond {
		if math.Abs(x-at[i]) > 1e-9*size {
			return false
		}
	}
	return true
}

// values lists what the policy reaches.
func (d *planReport) values(p *loaded, returns []float64) *report.Table {
	of := cmp.Or(map[string]string{exact.Infeasible.String(): "nearest", exact.Undecided.String(): "found",
		exact.Stopped.String(): "found"}[d.Status], "optimum")
	if d.Return != "" {
		of = "one policy"
	}
	t := report.NewTable("", of)
	for i, name := range p.Returns {
		if !p.isFleet() || i < len(p.Problem.Returns) {
			t.Add(name, returns[i])
		}
	}
	if p.Task.Target != nil {
		missed := p.missed(returns)
		switch {
		case d.Certificate != nil:
			missed = report.Short(d.Violation)
		case math.IsNaN(float64(d.Violation)): // no policy is known
			missed = report.Short(report.NaN)
		}
		t.Add("violation", missed)
	}
	if d.Objective == d.Objective && d.Return == "" {
		gap := report.Small(d.Gap)
		if d.Gap < 1e-9 {
			gap = "≤ " + gap
		}
		d.planWorth.addTo(t, p, gap)
	}
	d.SecondOpinion.addTo(t)
	return t
}

func (d *planReport) limits(p *loaded) *report.Table {
	if p.isFleet() {
		return d.table(d.fleetLimits(p))
	}
	return d.table(d.Constraints)
}

// table lists limits, with prices if some are known.
func (d *planLimits) table(limits []limitReport) *report.Table {
	t := report.NewTable("constraint", "slack")
	priced, largest := false, 0.0
	for _, c := range d.Constraints {
		if c.Price == c.Price {
			priced, largest = true, max(largest, float64(c.Price))
		}
	}
	if priced {
		t = report.NewTable("constraint", "slack", "price")
	}
	for _, c := range limits {
		row := []any{c.Constraint, report.Rounded(c.Slack, c.scale)}
		if priced {
			row = append(row, report.Rounded(c.shown, largest))
		}
		t.Add(row...)
	}
	return t
}

// notes says in sentences what the tables mean, and what a learner would be told.
func (d *planReport) notes(p *loaded, learning bool) report.Note {
	notes := d.SecondOpinion.note()
	switch {
	case d.Certificate != nil:
		notes = append(notes, "No policy keeps every limit.", d.Certificate.explain(p), d.Certificate.nearest(p.Early()))
		return append(notes, conflictNotes(d.Conflict)...)
	case d.Never != nil && d.Return == "":
		return append(notes, d.Never.notes(d.Status)...)
	case d.Return != "":
		return append(notes, fmt.Sprintf("The goal has no bound: while all limits are kept, %s grows for as long as "+
			"the policy goes on, and it need never stop.", d.Return))
	case d.Status == exact.Infeasible.String() && p.Rounded():
		return append(notes, "No policy keeps every limit, whichever way totals are rounded: the returns above are the "+
			"nearest with these.")
	case d.Status == exact.Stopped.String():
		return append(notes, d.stoppedNote(p.Rounded()))
	case d.Status != exact.Optimal.String():
		return append(notes, "Whether this is the answer is not known: nothing was proved.")
	case d.Rho > 0:
		notes = append(notes, priceNote)
		if slices.ContainsFunc(p.Of(query.WorstEpisodes), func(l *query.Limit) bool { return d.priced(l) }) {
			notes = append(notes, "The price of a mean of the worst episodes holds for the threshold named below; "+
				"another threshold may gain more.")
		}
		// With a smaller one the penalty would hardly count for a learner.
		if learning && p.learnable() && float64(d.Rho)*p.extent() > 1e-3*math.Abs(float64(d.Objective)) {
			notes = append(notes, fmt.Sprintf("For learn, --rho %s is enough.", report.Short(d.Rho)))
		}
	case d.Rho == 0:
		if len(p.Of(query.EveryEpisode)) > 0 {
			notes = append(notes, "The limits on expected returns do not bind.")
		} else {
			notes = append(notes, "The limits do not bind.")
		}
	}
	what := "(step, state) pair"
	if p.isFleet() {
		return notes // what its agents do follows
	}
	if p.Model.Horizon() == 0 {
		what = "state"
	}
	if d.Components > 0 {
		draws := "none of them draws anything"
		if d.Randomized > 0 {
			draws = "they randomise in " + count(d.Randomized, what)
		}
		return append(notes, fmt.Sprintf("The policy draws one of %d components at the start and plays it for good; "+
			"%s.", d.Components, draws))
	}
	notes = append(notes, d.Joined.note()...)
	if d.Randomized == 0 {
		return append(notes, "The policy is deterministic.")
	}
	return append(notes, fmt.Sprintf("The policy randomises in %s.", count(d.Randomized, what)))
}

// priced reports whether a limit has a price that is shown.
func (d *planLimits) priced(l *query.Limit) bool {
	return slices.ContainsFunc(d.Constraints, func(c limitReport) bool { return c.Constraint == l.Name && c.shown > 0 })
}

// stoppedNote says what an answer is worth for which there was no more time.
func (d *planReport) stoppedNote(rounded bool) string {
	over := "The time was over"
	if rounded {
		over = "Totals are rounded"
	}
	switch {
	case d.Objective != d.Objective:
		return "The time was over before a policy was found that keeps every limit, or a proof that there is none."
	case d.Gap != d.Gap:
		return over + ": the policy keeps every limit, and how far its objective is from the optimum is not known."
	}
	return fmt.Sprintf("%s: the policy keeps every limit, and its objective is at most %s from the optimum, which is "+
		"certified.", over, report.Short(d.Gap))
}

// explain says what a certificate proves.
func (c *planCertificate) explain(p *loaded) string {
	// The largest coefficient becomes 1, those that rounding left vanish.
	dir := make([]float64, len(c.direction))
	largest := floats.Norm(c.direction, math.Inf(1))
	only, entries := 0, 0
	for i, x := range c.direction {
		if math.Abs(x) > 1e-9*largest {
			dir[i], only = x/largest, i
			if rest := 1 - math.Abs(dir[i]); rest < 1e-9 { // equal but for rounding
				dir[i] = math.Copysign(1, x)
			}
			entries++
		}
	}
	value, support := float64(c.Value)/largest, float64(c.Support)/largest
	if entries == 1 {
		for _, l := range p.Of(query.EveryEpisode) {
			if l.Coordinate() == only {
				return fmt.Sprintf("Whatever is done, an episode breaks %s with a probability of at least %s.", l.Name,
					report.Short(value-support))
			}
		}
	}
	every := "Under every policy"
	if c.Finite {
		every += " whose totals are finite"
	}
	if entries == 1 && dir[only] < 0 {
		most, asked := report.Apart(-value, -support)
		return fmt.Sprintf("%s %s is at most %s, but at least %s is asked for.", every, p.Returns[only], most, asked)
	}
	least, allowed := report.Apart(value, support)
	if entries == 1 {
		return fmt.Sprintf("%s %s is at least %s, but at most %s is allowed.", every, p.Returns[only], least, allowed)
	}
	return fmt.Sprintf("%s %s is at least %s, but in all that is allowed%s it is at most %s.", every,
		p.Expression(dir), least, c.andPossible(), allowed)
}

// nearest says how far what was found is from what is allowed, and whether there may be something nearer: at thresholds
// that were not tried, or since the certificate proves less.
func (c *planCertificate) nearest(early bool) string {
	of, rest := "of any policy", ""
	least := c.Value - c.Support
	if math.IsInf(float64(c.Distance), 1) {
		return fmt.Sprintf("No policy comes nearer to what is allowed%s than %s; the one that was found breaks a limit "+
			"by a total without end.", c.andPossible(), report.Short(least))
	}
	if early || least < 0.999*c.Distance {
		of = "that were found"
	}
	if !early && least < 0.999*c.Distance {
		rest = ", and no policy comes nearer than " + report.Short(least)
	}
	return fmt.Sprintf("The nearest returns %s, shown above, are %s away from what is allowed%s%s.", of,
		report.Short(c.Distance), c.andPossible(), rest)
}

// andPossible follows "allowed" where a certificate holds only for what returns can be
// at all.
func (c *planCertificate) andPossible() string {
	if c.Possible {
		return " and can be returned at all"
	}
	return ""
}

// certified writes certified bounds on a distance.
func certified(low, up report.Number) string {
	if report.Short(low) == report.Short(up) {
		return report.Short(low)
	}
	return "between " + report.Short(low) + " and " + report.Short(up)
}

// noOptimum begins the message of an answer that is undecided.
const noOptimum = "undecided: neither an optimum within the gap nor a proof that there is none was found.\n"

// undecidedByRounding says that totals are rounded too coarsely.
func (p *loaded) undecidedByRounding() error {
	other := ""
	if p.Problem.Target != nil {
		other = ", or constraints in the place of the target"
	}
	return failed(errors.New(noOptimum + "Totals are rounded: a finer grid may tell" + other + " (see --resolution)"))
}

// undecided says what stopped the solver.
func (c *planCommand) undecided(p *loaded, r *exact.Result) error {
	after := "after " + count(r.Iterations, "value iteration")
	switch {
	case r.Iterations >= c.iterations:
		return failed(fmt.Errorf(noOptimum+"It stopped %s, the most it may take (see --iterations)", after))
	case p.Rounded():
		return p.undecidedByRounding()
	case r.Violation > 1e3*r.Tolerance:
		return failed(fmt.Errorf(noOptimum+
			"It stopped %s: the returns that it found miss the limits by %s,\nand neither nearer ones nor a proof that there "+
			"are none were found", after, report.Short(r.Violation)))
	case r.Violation > r.Tolerance:
		return failed(fmt.Errorf(noOptimum+
			"It stopped %s: the returns come as near to the limits as %s,\nand whether some keep them lies within "+
			"rounding", after, report.Short(r.Violation)))
	}
	return failed(fmt.Errorf(noOptimum+
		"It stopped %s, which brought bound and objective no nearer\nto each other than %s (see --gap)", after,
		report.Short(r.Gap)))
}

func vectorText(p *loaded, v named) string {
	var parts []string
	sides := p.Scale()
	for i, x := range v.Values {
		parts = append(parts, v.Names[i]+" "+report.Rounded(x, sides[i]))
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
