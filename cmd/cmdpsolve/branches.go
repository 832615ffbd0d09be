package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/exact"
)

// branchReport is one of the ways in which endless runs go on.
type branchReport struct {
	Probability report.Number `json:"probability"`
	// Returns are the long-run means of all its runs; totals have none.
	Returns named `json:"returns"`
	// Breaks names the limits on long-run means that its runs break for ever.
	Breaks []string `json:"breaks"`
	// State is one of the States states that its runs come back to for ever, empty at rest.
	State  string `json:"state"`
	States int    `json:"states"`
}

// branchReports are those of a policy with several branches.
type branchReports []branchReport

// joinedReport says how a policy goes round between recurrent classes, see exact.Joined.
type joinedReport struct {
	Classes int           `json:"classes"`
	Steps   report.Number `json:"steps"`
	Loss    report.Number `json:"loss"`
}

func newJoinedReport(j *exact.Joined) *joinedReport {
	if j == nil {
		return nil
	}
	return &joinedReport{j.Classes, report.Number(j.Steps), report.Number(j.Loss)}
}

func (j *joinedReport) note() report.Note {
	if j == nil {
		return nil
	}
	return report.Note{fmt.Sprintf("All runs have these long-run means: once in %s steps, on average, the policy "+
		"moves on to another of %d groups of states. That costs %s of the goal.",
		roundCount(float64(j.Steps)), j.Classes, report.Brief(j.Loss))}
}

// roundCount writes a large number with three significant digits and without an exponent, as far as that can be read.
func roundCount(x float64) string {
	const longest = 1e9
	unit := math.Pow(10, math.Floor(math.Log10(x))-2)
	if !(x >= 1000 && x < longest) {
		return report.Brief(x)
	}
	return strconv.FormatFloat(math.Round(x/unit)*unit, 'f', 0, 64)
}

// newBranchReports says what each of several branches does to limits.
func newBranchReports(p *loaded, found []exact.Branch) branchReports {
	if len(found) < 2 {
		return nil
	}
	var out branchReports
	for _, b := range found {
		r := branchReport{Probability: report.Number(b.Probability), Returns: p.named(b.Returns),
			Breaks: append([]string{}, p.BrokenForEver(b.Returns)...), States: len(b.States)}
		if len(b.States) > 0 {
			r.State = p.recalled(b.States[0])
		}
		out = append(out, r)
	}
	return out
}

// breaking reports whether some branch breaks a limit.
func (branches branchReports) breaking() bool {
	return slices.ContainsFunc(branches, func(b branchReport) bool { return len(b.Breaks) > 0 })
}

// mostBranches bounds the rows of the table of branches.
const mostBranches = 12

// sections shows the branches and what they mean for limits.
func (branches branchReports) sections(p *loaded) []report.Section {
	if len(branches) == 0 {
		return nil
	}
	const wide = 24
	t := &report.Table{Columns: []report.Column{{Title: "branch", Align: report.Left}, {Title: "probability"}}}
	for i, name := range p.Returns {
		if p.Model.Mean(i) {
			t.Head(name)
		}
	}
	t.Columns = append(t.Columns, report.Column{Title: "breaks for ever", Align: report.Left})
	sides := p.Scale()
	for n, b := range branches[:min(len(branches), mostBranches)] {
		lines := []string{"–"}
		if len(b.Breaks) > 0 {
			lines = nil
			for _, name := range b.Breaks {
				lines = append(lines, report.Wrap(name, wide)...)
			}
		}
		where := "rest"
		if b.States > 0 {
			where = b.State
		}
		if b.States > 1 {
			where += ", …"
		}
		for j, line := range lines {
			row := []any{"", ""}
			if j == 0 {
				row = []any{clip(fmt.Sprintf("%d: %s", n+1, where), wide), report.Brief(b.Probability)}
			}
			for i := range p.Returns {
				switch {
				case !p.Model.Mean(i):
				case j == 0:
					row = append(row, report.Rounded(b.Returns.Values[i], sides[i]))
				default:
					row = append(row, "")
				}
			}
			t.Add(append(row, clip(line, wide))...)
		}
	}
	return []report.Section{t, branches.notes(p)}
}

// notes says what branches mean for limits.
func (branches branchReports) notes(p *loaded) report.Note {
	if len(branches) == 0 {
		return nil
	}
	broken := 0.0
	for _, b := range branches {
		if len(b.Breaks) > 0 {
			broken += float64(b.Probability)
		}
	}
	notes := report.Note{fmt.Sprintf("An endless run comes to one of %d branches, whose long-run means it then has "+
		"for ever.", len(branches))}
	switch {
	case broken > 0:
		notes = append(notes, fmt.Sprintf("Limits on these are kept only by the mean over all runs: with "+
			"probability %s a run breaks one for ever.", report.Brief(broken)))
	case p.LimitsMeans():
		notes = append(notes, "Each of them keeps every limit on these.")
	}
	return append(notes, leftOut(branches, "branch", func(b branchReport) report.Number { return b.Probability })...)
}

// leftOut says what a table of at most mostBranches rows leaves out.
func leftOut[T any](all []T, what string, probability func(T) report.Number) report.Note {
	left := len(all) - mostBranches
	if left <= 0 {
		return nil
	}
	rest := report.Number(0)
	for _, one := range all[mostBranches:] {
		rest += probability(one)
	}
	return report.Note{fmt.Sprintf("The table leaves out %s, with a probability of %s together.", count(left, what),
		report.Brief(rest))}
}

// lines says in sentences what sections show.
func (branches branchReports) lines(p *loaded) report.Note {
	notes := branches.notes(p)
	for n, b := range branches[:min(len(branches), mostBranches)] {
		var means []string
		sides := p.Scale()
		for i, name := range p.Returns {
			if p.Model.Mean(i) {
				means = append(means, name+" "+report.Rounded(b.Returns.Values[i], sides[i]))
			}
		}
		line := fmt.Sprintf("Branch %d, with probability %s: %s", n+1, report.Brief(b.Probability),
			strings.Join(means, ", "))
		if len(b.Breaks) > 0 {
			line += "; it breaks " + strings.Join(b.Breaks, ", ") + " for ever"
		}
		notes = append(notes, line+".")
	}
	return notes
}
