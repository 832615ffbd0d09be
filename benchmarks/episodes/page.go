package main

import (
	"fmt"
	"math"
	"strings"

	"cmdpsolve/cmdp/chart"
)

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
					if text = cell(of[i]); p.median(name, i) == p.best(names, i) && !math.IsInf(p.best(names, i), 1) {
						text = "**" + text + "**"
					}
				}
				fmt.Fprintf(&b, " %s |", text)
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("\nThe pictures show the share of the runs that stay below 1% from an episode on, for the learners of which some run gets there.\n\n")
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
		panel := chart.Panel{Title: p.name, X: chart.Axis{Title: "episode", Log: true}, Y: chart.Axis{Title: "share of the runs"}}
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
