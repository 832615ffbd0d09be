package main

import (
	"slices"
	"strings"
	"unicode/utf8"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/contest"
)

// A comparison declares the report of comparisons.
type comparison struct {
	wide  bool
	times bool
	steps bool // of endless runs, in the place of episodes
	many  bool // several problems: what the learners can do is written once
}

// one declares the report of a comparison on one problem.
func (w comparison) one(rep *compareReport) *report.Report {
	return &report.Report{Data: rep, Sections: append(w.sections(rep),
		report.Only(w.capabilities(rep.Rows), report.Terminal))}
}

// suiteReport is the data of a comparison on a suite.
type suiteReport struct {
	made
	Problems []*compareReport `json:"problems"`
}

// suite declares the report of a suite.
func (w comparison) suite(reports []*compareReport) *report.Report {
	w.many = true
	all := &report.Report{Data: &suiteReport{Problems: reports}}
	var rows []*compareRow
	for _, rep := range reports {
		all.Sections = append(append(all.Sections, report.Title(rep.title())), w.sections(rep)...)
		for _, r := range rep.Rows {
			if !slices.ContainsFunc(rows, func(old *compareRow) bool { return old.Name == r.Name }) {
				rows = append(rows, r)
			}
		}
	}
	all.Sections = append(all.Sections, report.Title("What the learners can do"),
		report.Only(w.capabilities(rows), report.Terminal),
		report.Only(learners(rows), report.Markdown, report.LaTeX))
	return all
}

// sections are what was compared, the results, and what is particular about learners.
func (w comparison) sections(rep *compareReport) []report.Section {
	w.steps = rep.Steps > 0
	var notes report.List
	for _, r := range rep.Rows {
		if note := r.note(); note != "" {
			notes = append(notes, r.Name+" "+note)
		}
	}
	return []report.Section{rep.heading, report.TableOf(rep.Rows, w.results()),
		report.Only(report.TableOf(rep.Rows, w.csv(rep)), report.CSV), rep.regretless,
		report.Only(notes, report.Terminal, report.LaTeX)}
}

type compareField = report.Field[*compareRow]

var algorithmField = report.NewField("algorithm", report.Left, func(r *compareRow) any { return r.Name })

// capabilityFields are what a learner can do, as far as papers say.
func capabilityFields(in ...report.Format) []compareField {
	return []compareField{
		report.NewField("non-linear cost", report.Center, func(r *compareRow) any { return mark(r.NonlinearCost) },
			in...),
		report.NewField("non-linear constraints", report.Center,
			func(r *compareRow) any { return mark(r.NonlinearConstraints) }, in...),
		report.NewField("efficient", report.Center, func(r *compareRow) any { return mark(r.Efficient) }, in...),
	}
}

func guaranteeField(in ...report.Format) compareField {
	return report.NewField("guarantee", report.Left, func(r *compareRow) any { return r.Guarantee }, in...)
}

func mark(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// results has the columns that fit into 80 characters; wide ones are many more. Documents
// have what the learners can do beside them.
func (w comparison) results() []compareField {
	list := []compareField{algorithmField}
	add := func(title, key string, write func(estimate) string) {
		list = append(list, report.NewField(title, report.Default, func(r *compareRow) any {
			switch {
			case r.runs > 0:
				return write(r.metrics[key])
			case key != "regret":
				return ""
			case r.status == "partial":
				return "not yet"
			}
			return "not run"
		}))
	}
	add("regret", "regret", estimate.cell)
	add("violation", "violation", estimate.cell)
	time := "ms/ep."
	if w.steps {
		time = "ms/step"
	} else {
		add("violating", "violating_share", scaled(100, 3, "%"))
	}
	if w.times {
		add(time, contest.SecondsKey, scaled(1000, 2, ""))
	}
	if w.wide {
		for _, key := range []string{"expected_regret", "expected_violation", "last_regret", "last_violation",
			"weak_regret", "weak_violation",
			"strong_regret", "strong_violation", "planner_calls", "programs"} {
			add(strings.NewReplacer("expected", "exp.", "_", " ").Replace(key), key, estimate.cell)
		}
	}
	words := []report.Format{report.Markdown}
	if w.wide {
		words = append(words, report.LaTeX)
	}
	if !w.many {
		list = append(append(list, capabilityFields(report.Markdown, report.LaTeX)...), guaranteeField(words...))
	}
	return append(list, report.NewField("note", report.Left, func(r *compareRow) any { return r.note() }, words...))
}

// csv has every metric, with the half-widths of intervals in columns of their own.
func (w comparison) csv(rep *compareReport) []compareField {
	var list []compareField
	add := func(title string, cell func(*compareRow) any) {
		list = append(list, report.NewField(title, report.Default, cell))
	}
	if w.many { // names are for suites
		add("name", func(*compareRow) any { return rep.Name })
	}
	add("problem", func(*compareRow) any { return rep.Problem })
	add("algorithm", func(r *compareRow) any { return r.Name })
	add("status", func(r *compareRow) any { return r.status })
	add("runs", func(r *compareRow) any { return r.runs })
	add("episodes", func(*compareRow) any { return rep.Episodes })
	for _, m := range contest.Metrics() {
		if m.Key == contest.SecondsKey && !w.times {
			continue
		}
		value := func(r *compareRow) estimate {
			if e, ok := r.metrics[m.Key]; ok {
				return e
			}
			return estimate{report.NaN, report.NaN}
		}
		add(m.Key, func(r *compareRow) any { return value(r).Mean })
		add(m.Key+"_ci95", func(r *compareRow) any { return value(r).CI95 })
	}
	for _, f := range append(capabilityFields(), guaranteeField()) {
		add(strings.NewReplacer("non-", "non", " ", "_").Replace(f.Title), f.Cell)
	}
	add("note", func(r *compareRow) any { return r.note() })
	return list
}

// learners is what the learners of a suite can do, for documents.
func learners(rows []*compareRow) *report.Table {
	return report.TableOf(rows, append(append([]compareField{algorithmField}, capabilityFields()...), guaranteeField(),
		report.NewField("needs", report.Left, func(r *compareRow) any { return strings.Join(r.Needs, ", ") }),
		report.NewField("source", report.Left, func(r *compareRow) any { return r.Source })))
}

// capabilities is what learners can do, for terminals.
func (w comparison) capabilities(rows []*compareRow) *report.Table {
	width := report.Width
	if w.wide {
		width = 240
	}
	name := len("algorithm")
	for _, r := range rows {
		name = max(name, utf8.RuneCountInString(r.Name))
	}
	fields := append([]compareField{algorithmField}, capabilityFields()...)
	fields = append(fields, report.NewField("guarantee in its paper", report.Left, func(r *compareRow) any {
		return strings.Join(report.Wrap(r.Guarantee, width-name-34), "\n")
	}))
	for i, title := range []string{"\nalgorithm", "non-lin.\ncost", "non-linear\nconstraints", "effi-\ncient",
		"\nguarantee in its paper"} {
		fields[i].Title, fields[i].Align = title, report.Left
	}
	return report.TableOf(rows, fields)
}
