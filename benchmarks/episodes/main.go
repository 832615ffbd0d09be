// Command episodes tells how many episodes learners need, from the results of a suite:
//
//	go run ./benchmarks/episodes --suite benchmarks/suite.yaml --results suite.results
//
// writes episodes.md and a picture for every eight learners that get there to
// benchmarks/results. What stands there under "What was found" is kept.
package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/chart"
	"cmdpsolve/cmdp/contest"
	"cmdpsolve/cmdp/query"

	"github.com/spf13/pflag"
)

func main() { harness.Main(run) }

// shares are the parts of the ranges below which regret and violation have to be.
var shares = []float64{0.01, 0.001}

// A problem is one of the suite with the episodes that learners need.
type problem struct {
	name              string
	regret, violation float64 // ranges
	episodes          int
	needed            map[string][][]float64 // by learner, of each share: those of the runs in order; +Inf for never
}

func run(_ context.Context, args []string) error {
	f := pflag.NewFlagSet("episodes", pflag.ContinueOnError)
	file := f.String("suite", filepath.Join("benchmarks", "suite.yaml"), "the suite")
	results := f.String("results", "suite.results", "folder of its results")
	tuned := f.StringSlice("tuned", nil,
		"folders of the same suite with other constants, such as tuned-0.02.results,tuned-0.002.results: a table of "+
			"the best of them is written, tuned.md")
	out := f.String("out", filepath.Join("benchmarks", "results"), "folder for the page")
	if err := f.Parse(args); err != nil {
		return err
	}
	suite, err := contest.ReadSuite(*file)
	if err != nil {
		return err
	}
	var problems []*problem
	for _, e := range suite.Problems {
		p, err := read(e, *results)
		if err != nil {
			return fmt.Errorf("episodes: %s: %w", e.Name, err)
		}
		problems = append(problems, p)
	}
	if len(*tuned) > 0 {
		return writeTuned(*out, suite, problems, *tuned)
	}
	var names []string
	for _, name := range baseline.Names() {
		if slices.ContainsFunc(problems, func(p *problem) bool { return p.needed[name] != nil }) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("episodes: no results in %s", *results)
	}
	if err := os.MkdirAll(*out, 0o777); err != nil {
		return err
	}
	text := page(problems, names)
	drawn := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !slices.ContainsFunc(problems, func(p *problem) bool { return p.arrives(name) })
	})
	for i, group := range groups(drawn) {
		name := fmt.Sprintf("episodes-%d.svg", i+1)
		if err := figure(problems, group).Save(filepath.Join(*out, name)); err != nil {
			return err
		}
		text += fmt.Sprintf("![%s](%s)\n\n", strings.Join(group, ", "), name)
	}
	return harness.WritePage(*out, "episodes.md", text)
}

// read reads the results of a problem.
func read(e *contest.Entry, folder string) (*problem, error) {
	of, err := harness.Problem(e.Problem)
	if err != nil {
		return nil, err
	}
	task, err := query.TaskOf(context.Background(), of)
	if err != nil {
		return nil, err
	}
	p := &problem{name: e.Name, episodes: e.Settings.Episodes, needed: map[string][][]float64{}}
	p.regret, p.violation, err = baseline.Ranges(of.Model.Shape(), task)
	if err != nil {
		return nil, err
	}
	runs, err := harness.Results(folder, e)
	if err != nil {
		return nil, err
	}
	for name, list := range runs {
		p.needed[name] = make([][]float64, len(shares))
		for i, share := range shares {
			for _, r := range list {
				p.needed[name][i] = append(p.needed[name][i], needed(r.History, share*p.regret, share*p.violation))
			}
			slices.Sort(p.needed[name][i])
		}
	}
	return p, nil
}

// needed returns the first record from which on regret and violation stay at most at their
// limits, +Inf if the last one does not.
func needed(history []contest.Record, regret, violation float64) float64 {
	first := math.Inf(1)
	for _, rec := range slices.Backward(history) {
		if !(rec.Metrics["regret"] <= regret && rec.Metrics["violation"] <= violation) {
			break
		}
		first = float64(rec.Episode)
	}
	return first
}

// groups divides the learners into figures of eight, each with posterior to compare with.
func groups(names []string) [][]string {
	const reference, most = "posterior", 8
	rest := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == reference })
	var list [][]string
	for part := range slices.Chunk(rest, most-1) {
		if slices.Contains(names, reference) {
			part = append([]string{reference}, part...)
		}
		list = append(list, part)
	}
	return list
}

// cell writes the median, and how many runs there are that got there if not all did.
func cell(list []float64) string {
	if list == nil {
		return ""
	}
	there := 0
	for _, x := range list {
		if !math.IsInf(x, 1) {
			there++
		}
	}
	median := list[(len(list)-1)/2]
	switch {
	case there == 0:
		return "–"
	case math.IsInf(median, 1):
		return fmt.Sprintf("– (%d)", there)
	case there < len(list):
		return fmt.Sprintf("%s (%d)", strconv.Itoa(int(median)), there)
	}
	return strconv.Itoa(int(median))
}

// page has a table for each share.
func page(problems []*problem, names []string) string {
	var b strings.Builder
	b.WriteString(`# Episodes needed

` + "```sh\ngo run ./benchmarks/episodes --suite benchmarks/suite.yaml --results suite.results\n```" + `

From how many episodes on do regret and violation of the mean return of all episodes both stay below a share of their ranges? The range of the regret is by how much the goal varies over the box of
possible returns, that of the violation how far from the limits a return in that box may be. The cells have medians over the runs, in parentheses the number of runs that got there if not
all of them did, "–" where less than half did, and nothing where the learner did not play. Records are twenty for each decade of episodes, so a number is up to 12% too large. The best are bold.

| problem | runs of | range of the regret | range of the violation |
|:--|--:|--:|--:|
`)
	for _, p := range problems {
		fmt.Fprintf(&b, "| %s | %d episodes | %.4g | %.4g |\n", p.name, p.episodes, p.regret, p.violation)
	}
	for i, share := range shares {
		fmt.Fprintf(&b, "\n## Below %g%%\n\n| learner |", 100*share)
		for _, p := range problems {
			fmt.Fprintf(&b, " %s |", p.name)
		}
		b.WriteString("\n|:--|" + strings.Repeat("--:|", len(problems)) + "\n")
		for _, name := range names {
			fmt.Fprintf(&b, "| %s |", name)
			for _, p := range problems {
				text := ""
				if of := p.needed[name]; of != nil {
					text = cell(of[i])
					if p.median(name, i) == p.best(names, i) && !math.IsInf(p.best(names, i), 1) {
						text = "**" + text + "**"
					}
				}
				fmt.Fprintf(&b, " %s |", text)
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("\nThe pictures show the share of the runs that stay below 1% from an episode on, for the " +
		"learners of which some run gets there.\n\n")
	return b.String()
}

func (p *problem) median(name string, i int) float64 {
	list := p.needed[name][i]
	return list[(len(list)-1)/2]
}

// arrives reports whether some run of a learner stays below the first of shares.
func (p *problem) arrives(name string) bool {
	list := p.needed[name]
	return list != nil && !math.IsInf(list[0][0], 1)
}

func (p *problem) best(names []string, i int) float64 {
	best := math.Inf(1)
	for _, name := range names {
		if p.needed[name] != nil {
			best = min(best, p.median(name, i))
		}
	}
	return best
}

// figure draws the share of the runs that stay below the first of shares.
func figure(problems []*problem, names []string) *chart.Figure {
	f := &chart.Figure{Title: "Runs whose regret and violation stay below 1% of their ranges"}
	for _, p := range problems {
		panel := chart.Panel{Title: p.name, X: chart.Axis{Title: "episode", Log: true},
			Y: chart.Axis{Title: "share of the runs"}}
		for _, name := range names {
			if !p.arrives(name) {
				continue
			}
			list := p.needed[name][0]
			c := chart.Curve{Name: name, X: []float64{1}, Y: []float64{0}}
			add := func(x, y float64) { c.X, c.Y = append(c.X, x), append(c.Y, y) }
			for k, x := range list {
				if !math.IsInf(x, 1) {
					add(x, float64(k)/float64(len(list)))
					add(x, float64(k+1)/float64(len(list)))
				}
			}
			add(float64(p.episodes), c.Y[len(c.Y)-1])
			panel.Curves = append(panel.Curves, c)
		}
		if len(panel.Curves) > 0 {
			f.Panels = append(f.Panels, panel)
		}
	}
	return f
}
