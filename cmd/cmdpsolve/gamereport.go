package main

import (
	"fmt"
	"math"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
)

// gameReport is the data of what plan found in a game. Status is optimal or, if the
// opponent can keep the returns from the target, infeasible; Verdict says which of the two
// questions was answered. What does not exist is null.
type gameReport struct {
	subject
	Status      string           `json:"status" csv:"status"`
	Verdict     string           `json:"verdict" csv:"verdict"`
	Objective   report.Number    `json:"objective" csv:"objective"`
	Bound       report.Number    `json:"bound" csv:"bound"`
	Gap         report.Number    `json:"gap"`
	Returns     named            `json:"returns" csv:"return"`
	Violation   report.Number    `json:"violation"`
	Prices      []report.Number  `json:"prices"`
	GapLower    report.Number    `json:"gap_lower" csv:"gap_lower"`
	GapUpper    report.Number    `json:"gap_upper" csv:"gap_upper"`
	Certificate *planCertificate `json:"certificate" csv:"certificate"`
	// Policies holds the policies of both players, as far as they are known and not
	// longer than mostPolicyRows.
	Policies   map[string][]actionRow `json:"policies"`
	Iterations int                    `json:"iterations" csv:"iterations"`
	Seconds    report.Number          `json:"seconds" csv:"seconds"`
	withheld   bool
}

// An actionRow is the probability of an action.
type actionRow struct {
	Step        int           `json:"step"`
	State       string        `json:"state"`
	Action      string        `json:"action"`
	Probability report.Number `json:"probability"`
}

// mostPolicyRows bounds the rows of a policy in a report, shownPolicyRows those in a
// table for people.
const (
	mostPolicyRows  = 2000
	shownPolicyRows = 24
)

func newGameReport(p *loaded) *gameReport {
	x := report.NaN
	return &gameReport{subject: p.subject(), Objective: x, Bound: x, Gap: x, Violation: x, GapLower: x, GapUpper: x,
		Prices: []report.Number{}, Policies: map[string][]actionRow{}}
}

// value fills in the minimax value of a goal.
func (rep *gameReport) value(p *loaded, v *exact.GameValue) {
	rep.Status, rep.Verdict, rep.Iterations = exact.Optimal.String(), "minimax", 1
	rep.Objective, rep.Bound = report.Number(p.Sense()*v.Up), report.Number(p.Sense()*v.Low)
	rep.Gap = report.Number((v.Up - v.Low) / math.Max(1, math.Abs(v.Value)))
	rep.Returns, rep.Violation = p.named(v.Returns), 0
}

// gap fills in the gap of a target.
func (rep *gameReport) gap(p *loaded, g *exact.Gap) {
	rep.Status, rep.Verdict, rep.Iterations = exact.Optimal.String(), g.Status.String(), g.Evaluations
	rep.GapLower, rep.GapUpper = report.Number(g.Lower), report.Number(g.Upper)
	switch g.Status {
	case exact.NotApproachable:
		rep.Status, rep.Certificate = exact.Infeasible.String(), gapCertificate(p, g)
	case exact.GapUndecided:
		rep.Status = exact.Undecided.String()
	}
}

// gapCertificate proves that a target cannot be approached: against the opponent's
// policy every policy of the agent reaches at least Value in the direction.
func gapCertificate(p *loaded, g *exact.Gap) *planCertificate {
	return newCertificate(p, g.Direction, g.Support, g.Value, g.Lower)
}

// policyRows lists a policy, nothing if it is longer than mostPolicyRows.
func policyRows(p *loaded, policy *cmdp.Randomized, who problem.Player) (rows []actionRow, whole bool) {
	if policy == nil {
		return nil, true
	}
	for row := range p.PolicyRows(policy, who) {
		if len(rows) == mostPolicyRows {
			return nil, false
		}
		rows = append(rows, actionRow{row.Step, row.State, row.Action, report.Number(row.Probability)})
	}
	return rows, true
}

func (rep *gameReport) addPolicies(p *loaded, agent, opponent *cmdp.Randomized) {
	for name, policy := range map[string]*cmdp.Randomized{"agent": agent, "opponent": opponent} {
		who := problem.Agent
		if name == "opponent" {
			who = problem.Adversary
		}
		rows, whole := policyRows(p, policy, who)
		if rows != nil {
			rep.Policies[name] = rows
		}
		rep.withheld = rep.withheld || !whole
	}
}

// report declares what plan found in a game.
func (rep *gameReport) report(p *loaded) *report.Report {
	return &report.Report{Data: rep, Sections: []report.Section{
		p.heading(fmt.Sprintf("%s, %s, %.3g s", rep.Verdict, count(rep.Iterations, "value iteration"), rep.Seconds)),
		rep.values(), policyTable("agent", rep.Policies["agent"]), policyTable("opponent", rep.Policies["opponent"]),
		rep.notes(p),
	}}
}

// policyTable lists a policy that is short enough for people.
func policyTable(player string, rows []actionRow) *report.Table {
	t := report.NewTable(player, "step", "action", "probability")
	if len(rows) > shownPolicyRows {
		return t
	}
	for _, r := range rows {
		t.Add(r.State, r.Step, r.Action, r.Probability)
	}
	return t
}

func (rep *gameReport) values() *report.Table {
	if rep.Verdict != "minimax" {
		return report.Pairs("", "certified", report.Pair{Name: "gap at least", Value: rep.GapLower},
			report.Pair{Name: "gap at most", Value: rep.GapUpper})
	}
	t := report.Pairs("", "minimax", report.Pair{Name: "objective", Value: rep.Objective})
	for i, x := range rep.Returns.Values {
		t.Add(rep.Returns.Names[i], x)
	}
	return t
}

// notes says in sentences what the tables mean.
func (rep *gameReport) notes(p *loaded) report.Note {
	var notes report.Note
	if rep.Verdict == "minimax" {
		side := "at most"
		if p.Sense() < 0 {
			side = "at least"
		}
		notes = append(notes, fmt.Sprintf("The agent's policy keeps the objective %s this whatever the opponent "+
			"does, and the opponent's keeps the agent from better. The returns are those when both play them.", side))
	} else {
		notes = gapNotes(p, rep.GapLower, rep.GapUpper, rep.Certificate)
	}
	if rep.withheld {
		notes = append(notes, "The policies are long; --policy and --opponent-policy write them to files.")
	}
	return notes
}

// gapNotes says what the bounds of a gap mean.
func gapNotes(p *loaded, low, up report.Number, c *planCertificate) report.Note {
	switch {
	case c != nil:
		return report.Note{"The target cannot be approached: the gap, the distance from it at which an opponent can " +
			"keep the mean return, is " + certified(low, up) + ".",
			strings.Replace(c.explain(p), "Under every policy",
				"Against the opponent's policy, whatever the agent does,", 1)}
	case low == 0 && up == 0:
		return report.Note{"The target can be approached, whatever the opponent does: the gap is 0."}
	case low == 0:
		return report.Note{fmt.Sprintf("The target can be approached up to a distance of %s, whatever the opponent "+
			"does.", report.Short(up))}
	}
	return report.Note{fmt.Sprintf("Whether the target can be approached is not known: the gap lies between %s and %s.",
		report.Short(low), report.Short(up))}
}
