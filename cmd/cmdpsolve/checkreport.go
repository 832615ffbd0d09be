package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/query"
)

// checkReport is the data of what is known of a problem. Horizon is null without one;
// Feasible is null where it could not be decided.
type checkReport struct {
	subject
	Agents      int                       `json:"agents,omitempty" csv:"agents"` // of a fleet
	States      int                       `json:"states" csv:"states"`
	Choices     int                       `json:"choices" csv:"choices"`
	Transitions int                       `json:"transitions" csv:"transitions"`
	Horizon     *int                      `json:"horizon" csv:"horizon,omitempty"`
	Discount    report.Number             `json:"discount" csv:"discount,omitempty"`
	Stationary  bool                      `json:"same_every_step"`
	Random      bool                      `json:"random_returns"`
	Returns     report.Named[rangeReport] `json:"returns" csv:""`
	Feasible    *bool                     `json:"feasible" csv:"feasible"`
	GapLower    report.Number             `json:"gap_lower" csv:"gap_lower"`
	GapUpper    report.Number             `json:"gap_upper" csv:"gap_upper"`
	// Tolerance is the distance up to which the target counts as met.
	Tolerance   report.Number    `json:"tolerance" csv:"tolerance"`
	Nearest     named            `json:"nearest,omitzero" csv:"nearest"`
	Certificate *planCertificate `json:"certificate"`
	Conflict    []conflictReport `json:"conflict,omitempty" csv:"conflict"`
	// Limits says what policies can do about each limit on a single return.
	Limits []aloneReport `json:"limits,omitempty"`
	Slater *slaterReport `json:"slater" csv:"slater"`
	Rho    report.Number `json:"rho" csv:"rho"`
	memoryReport
	Missing *missingRows `json:"missing_rows,omitempty"`
	// Policy is there with --policy, Uncertainty for intervals of probabilities.
	Policy      *policyBounds      `json:"policy,omitempty" csv:"policy"`
	Uncertainty *uncertaintyReport `json:"uncertainty,omitempty" csv:"uncertainty"`
	Seconds     report.Number      `json:"seconds"`

	lower, upper []float64 // extremes of all coordinates
}

// aloneReport says whether a limit alone is always, can be or cannot be kept, and the largest slack that a policy has,
// null for a limit on every episode. Those of single steps that belong together are one.
type aloneReport struct {
	Constraint string        `json:"constraint"`
	Alone      string        `json:"alone"`
	Slack      report.Number `json:"largest_slack"`
}

// missingRows are pairs of a state and a step that can be reached and have no row, although the state has rows
// for other steps.
type missingRows struct {
	Pairs  int         `json:"pairs"`
	States []gapReport `json:"states"` // the first of them
	more   int         // others
}

// gapReport is a state without rows in the steps First to Last.
type gapReport struct {
	State string `json:"state"`
	First int    `json:"first"`
	Last  int    `json:"last"`
}

// mostGaps bounds how many gaps a report lists.
const mostGaps = 1000

// newMissingRows returns the rows that seem to be missing, nil if there are none.
func newMissingRows(p *loaded) *missingRows {
	gaps := p.Problem.Gaps()
	if len(gaps) == 0 {
		return nil
	}
	m := new(missingRows)
	for _, g := range gaps {
		m.Pairs += g.Last - g.First + 1
		if len(m.States) < mostGaps {
			m.States = append(m.States, gapReport{p.Problem.StateName(g.State), g.First, g.Last})
		}
	}
	m.more = len(gaps) - len(m.States)
	return m
}

// note names the first gaps.
func (m *missingRows) note() report.Note {
	if m == nil {
		return nil
	}
	const few = 4
	var named []string
	for _, g := range m.States[:min(few, len(m.States))] {
		steps := fmt.Sprintf("%s in step %d", g.State, g.First)
		if g.Last > g.First {
			steps = fmt.Sprintf("%s in steps %d to %d", g.State, g.First, g.Last)
		}
		named = append(named, steps)
	}
	if rest := len(m.States) + m.more - len(named); rest > 0 {
		named = append(named, fmt.Sprintf("and %d more", rest))
	}
	return report.Note{fmt.Sprintf("Rows seem to be missing for %s of a state and a step: %s.", count(m.Pairs, "pair"),
		strings.Join(named, ", ")),
		"These states have rows for other steps; in these steps they have no action and return 0."}
}

// rangeReport holds the least and the greatest expected return over all policies.
type rangeReport struct {
	Min report.Number `json:"min" csv:"min"`
	Max report.Number `json:"max" csv:"max"`
}

// slaterReport is the largest ball around returns of a policy that lies in the
// target, apart from sides that hold for all possible returns; Bound is what its
// radius cannot exceed. A radius of null is one that nothing bounds.
type slaterReport struct {
	Radius  report.Number `json:"radius" csv:"radius"`
	Bound   report.Number `json:"bound" csv:"bound"`
	Returns named         `json:"returns" csv:"return"`
	Rho     report.Number `json:"rho" csv:"rho"`
}

func newCheckReport(p *loaded, lower, upper []float64) *checkReport {
	rep := &checkReport{
		subject: p.subject(), Discount: report.NaN, Stationary: true,
		memoryReport: memoryOf(p),
		Missing:      newMissingRows(p), Returns: report.Named[rangeReport]{Names: p.Returns}, Rho: report.NaN,
		Tolerance: report.NaN,
	}
	if p.isFleet() {
		rep.Agents = p.Fleet().Fleet.Agents()
		rep.Returns.Names = p.Problem.Returns
	}
	rep.States, rep.Choices, rep.Transitions = p.Size()
	for _, q := range p.Members() {
		rep.Stationary = rep.Stationary && q.Problem.Model.Stationary()
		rep.Random = rep.Random || q.Problem.Model.RandomReturns()
	}
	if h := p.Horizon(); h > 0 {
		rep.Horizon = &h
	} else {
		rep.Discount = report.Number(p.Members()[0].Model.Discount())
	}
	rep.lower, rep.upper = lower, upper
	for i, x := range lower[:len(rep.Returns.Names)] {
		rep.Returns.Values = append(rep.Returns.Values, rangeReport{report.Number(x), report.Number(upper[i])})
	}
	return rep
}

// report declares what is known of the problem.
func (rep *checkReport) report(p *loaded) *report.Report {
	kernel := "the same at every step"
	if !rep.Stationary {
		kernel = "different at each step"
	}
	if rep.Random {
		kernel += ", random returns"
	}
	return &report.Report{Data: rep, Sections: []report.Section{
		p.heading(append(rep.Uncertainty.heading(), fmt.Sprintf("%s, %.3g s", kernel, rep.Seconds))...),
		rep.ranges("least", "greatest"), rep.limits(), conflictTable(rep.Conflict),
		slices.Concat(rep.notes(p), endlessNote(rep.ends()), p.memoryNotes()), rep.Missing.note(),
		rep.Policy.table(p), rep.Policy.notes(p),
	}}
}

// ranges lists between which numbers each return can be brought.
func (rep *checkReport) ranges(least, greatest string) *report.Table {
	t := report.NewTable("return", least, greatest)
	for i, r := range rep.Returns.Values {
		size := max(math.Abs(float64(r.Min)), math.Abs(float64(r.Max)))
		if math.IsInf(size, 1) { // beside which everything is zero
			size = 0
		}
		t.Add(rep.Returns.Names[i], report.Rounded(r.Min, size), report.Rounded(r.Max, size))
	}
	return t
}

// compareLimits compares each bound on a single return with what policies can do.
func (rep *checkReport) compareLimits(p *loaded) {
	for _, l := range p.Of(query.EveryEpisode) {
		if l.Enforced() {
			rep.Limits = append(rep.Limits, aloneReport{l.Name, "can be kept", report.NaN})
		}
	}
	rows := p.Rows()
	for k := 0; k < len(rows); k++ {
		l := rows[k]
		i := l.Coordinate()
		if i < 0 {
			continue
		}
		name := l.Name
		least, most := l.Slacks(rep.lower[i], rep.upper[i])
		for l.Step > 0 && k+1 < len(rows) && rows[k+1].Constraint == l.Constraint && rows[k+1].AtLeast == l.AtLeast {
			k++
			i = rows[k].Coordinate()
			low, high := rows[k].Slacks(rep.lower[i], rep.upper[i])
			least, most = min(least, low), min(most, high)
			name = l.Return
		}
		says := "can be kept"
		switch {
		case most < 0:
			says = "cannot be kept"
		case least >= 0:
			says = "always kept"
		}
		if l.Scope == query.EveryEpisode {
			most = math.NaN() // it is one of a probability
		}
		rep.Limits = append(rep.Limits, aloneReport{name, says, report.Number(most)})
	}
}

// limits lists what policies can do about each limit.
func (rep *checkReport) limits() *report.Table {
	t := report.NewTable("constraint", "alone", "largest slack")
	for _, l := range rep.Limits {
		slack := any("")
		if l.Slack == l.Slack {
			slack = l.Slack
		}
		t.Add(l.Constraint, l.Alone, slack)
	}
	return t
}

func infinite(x report.Number) bool { return math.IsInf(float64(x), 0) }

// ends are those of the ranges.
func (rep *checkReport) ends() (all []report.Number) {
	for _, r := range rep.Returns.Values {
		all = append(all, r.Min, r.Max)
	}
	return all
}

// endlessNote says what is shown of a return without a number, beside others that have one.
func endlessNote(returns []report.Number) report.Note {
	none := func(x report.Number) bool { return infinite(x) || math.IsNaN(float64(x)) }
	some := func(x report.Number) bool { return !none(x) }
	if !slices.ContainsFunc(returns, none) || !slices.ContainsFunc(returns, some) {
		return nil
	}
	return report.Note{"The sign – stands for a total without end."}
}

// notes says in sentences what was found.
func (rep *checkReport) notes(p *loaded) report.Note {
	switch {
	case p.Task.Target == nil && len(p.Of(query.EveryEpisode)) > 0:
		return report.Note{"Some policy keeps every limit in every episode."}
	case p.Task.Target == nil:
		return report.Note{"There are no limits to keep."}
	case rep.Uncertainty != nil:
		return rep.notesOfSet(p)
	case rep.Feasible == nil:
		return report.Note{fmt.Sprintf("Whether some policy keeps every limit is not known: the nearest returns "+
			"found are %s away, and nothing was proved.", report.Short(rep.GapUpper))}
	case !*rep.Feasible:
		notes := report.Note{"No policy keeps every limit.", rep.Certificate.explain(p),
			"The approachability gap, the distance of the best policy from what is allowed" +
				rep.Certificate.andPossible() + ", is " + certified(rep.GapLower, rep.GapUpper) + ";",
			"the nearest returns are " + vectorText(p, rep.Nearest) + "."}
		return append(notes, conflictNotes(rep.Conflict)...)
	}
	notes := report.Note{"Some policy keeps every limit: the approachability gap is 0."}
	s, none := rep.Slater, 1e-9*slices.Min(p.Scale())
	switch r := float64(s.Radius); {
	case math.IsInf(r, 1) && slices.ContainsFunc(s.Returns.Values, infinite):
		return append(notes, "A policy whose returns grow without end keeps them with any room to spare.")
	case math.IsInf(r, 1):
		return append(notes, "All policies do.")
	case r <= none && float64(s.Bound) > 2*none:
		notes = append(notes, fmt.Sprintf("Whether some policy keeps them with room to spare is not known: no "+
			"Slater ball was found, and none is larger than %s (see --iterations).",
			report.Short(s.Bound)))
	case r <= none:
		notes = report.Note{fmt.Sprintf("Some policy keeps every limit within %s, which counts as kept: the "+
			"approachability gap is 0.", report.Short(rep.Tolerance)),
			"None keeps them with room to spare: there is no Slater ball, and whether one keeps them exactly is " +
				"left to rounding."}
	default:
		notes = append(notes, fmt.Sprintf("The largest slack in all of them at once is %s: a ball of that radius "+
			"(Slater) around the returns %s is allowed.", report.Short(r), vectorText(p, s.Returns)))
		if b := float64(s.Bound); b > r*(1+1e-9) && !math.IsInf(b, 1) {
			notes = append(notes, fmt.Sprintf("No ball is larger than %s.", report.Short(b)))
		}
	}
	switch rho := float64(rep.Rho); {
	case math.IsNaN(rho) || rho > 0 && !p.learnable():
	case rho == 0:
		notes = append(notes, "The limits do not bind at the optimum.")
	default:
		text := fmt.Sprintf("For learn, --rho %s is enough, twice the multiplier of the limits", report.Short(rho))
		if by := float64(s.Rho); !math.IsNaN(by) {
			text += fmt.Sprintf("; the Slater ball alone tells %s", report.Short(by))
		}
		notes = append(notes, text+".")
	}
	return notes
}

// gameCheck is the data of what is known of a game. The range of a return holds
// what the agent can force it down to, and up to, whatever the opponent does; the first may be
// the larger.
type gameCheck struct {
	*checkReport
	Actions         int         `json:"most_actions"`
	OpponentActions int         `json:"most_opponent_actions"`
	Verdict         string      `json:"verdict"`
	Opponent        []actionRow `json:"opponent,omitempty"`
	Iterations      int         `json:"iterations"`
}

func newGameCheck(p *loaded, lower, upper []float64) *gameCheck {
	sh := p.Model.Shape()
	return &gameCheck{checkReport: newCheckReport(p, lower, upper), Actions: sh.MaxActions(),
		OpponentActions: sh.MaxOpponentActions()}
}

// report declares what is known of the game.
func (rep *gameCheck) report(p *loaded) *report.Report {
	notes := report.Note{"There are no limits to keep."}
	if p.Task.Target != nil {
		notes = gapNotes(p, rep.GapLower, rep.GapUpper, rep.Certificate)
	}
	return &report.Report{Data: rep, Sections: []report.Section{
		p.heading(fmt.Sprintf("a game, at most %s of the agent and %d of the opponent, %.3g s",
			count(rep.Actions, "action"), rep.OpponentActions, rep.Seconds)),
		rep.ranges("forced down to", "forced up to"), policyTable("opponent", rep.Opponent), notes, rep.Missing.note(),
	}}
}
