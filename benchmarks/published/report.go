package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp/chart"
	"cmdpsolve/cmdp/contest"
)

const preamble = `# Published experiments, repeated

    COMMAND

The experiments of the papers whose algorithms are in package cmdp/baseline, as far as their code says what was done: the same problem, the
constants that were used (the bonus scale "published", or "theory" where the experiment has the full radii), as many episodes, SEEDS seeds each unless the
command says otherwise. Optima are exact. Problems and learners were written from the descriptions, no code was taken over. Where something is not the same, the
section says so.

*regret* and *violation* are the positive parts of suboptimality and excess over the limit of each policy played, in expectation, per episode;
*violating* is the share of episodes whose policy breaks the limit. *gap* and *excess* are signed, of single policies; *late* means the policies
that were recorded in the last third of the episodes, 50 or 100 at equal distances and a few more. Intervals are 95% over the seeds. A statement *holds* here if the means say so; that one learner has less
regret than another only if the intervals do not meet. A "no" is looked at under the table.

`

// head returns what stands above the sections: how many statements hold, and which do not.
func head(o *options, results []*result) string {
	text := strings.NewReplacer("COMMAND", o.command, "SEEDS", strconv.Itoa(o.seeds)).Replace(preamble)
	all, broken := 0, []string{}
	for _, res := range results {
		for _, c := range res.claims {
			all++
			if _, holds := c.test(res); !holds {
				broken = append(broken, fmt.Sprintf("%s: %s", res.name, c.says))
			}
		}
	}
	text += fmt.Sprintf("Of %d statements %d hold.", all, all-len(broken))
	if len(broken) > 0 {
		text += " Those that do not:\n\n* " + strings.Join(broken, "\n* ")
	}
	return text + "\n"
}

// markdown returns the section of a study.
func (res *result) markdown() string {
	var b strings.Builder
	s := res.study
	fmt.Fprintf(&b, "\n## %s\n\n*%s.* %s\n\nNot the same: %s\n\n", s.title, s.source, s.setting, s.differs)
	if res.last() != s.episodes {
		fmt.Fprintf(&b, "Cut short: %d episodes.\n\n", res.last())
	}
	b.WriteString("| learner | regret | violation | violating | late gap | late excess |\n|---|---|---|---|---|---|\n")
	for _, l := range res.lines {
		name := l.player.name
		row := []string{name, harness.Interval(res.perEpisode(name, regrets)), "–", "–",
			harness.Interval(res.late(name, gaps)), "–"}
		if s.enter == nil {
			share, _ := contest.MeanInterval(res.each(name, func(r *record) float64 { return r.Violating }))
			row[2], row[3], row[5] = harness.Interval(res.perEpisode(name, violations)), harness.Short(100*share)+"%",
				harness.Interval(res.late(name, excesses))
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	if x := res.lines[0].runs[0].Safe; !math.IsNaN(x) {
		fmt.Fprintf(&b, "\nAn episode of the safe policy loses %s.\n", harness.Short(x))
	}
	b.WriteString("\n| published | found here | holds |\n|---|---|---|\n")
	for _, c := range s.claims {
		found, holds := c.test(res)
		word := "no"
		if holds {
			word = "yes"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", c.says, found, word)
	}
	if s.remark != "" {
		fmt.Fprintf(&b, "\n%s\n", s.remark)
	}
	fmt.Fprintf(&b, "\n![%s](published-%s.svg)\n", s.title, s.name)
	return b.String()
}

// figure draws gap and excess of single policies against episodes, or the sums of regret
// and violation.
func (res *result) figure() *chart.Figure {
	s := res.study
	f := &chart.Figure{Title: s.title}
	type quantity struct {
		title string
		of    func(*record) []float64
	}
	panels := []quantity{{"regret, all episodes", regrets}, {"violation, all episodes", violations}}
	if s.even {
		panels = []quantity{{"gap of the policy", gaps}, {"excess over the limit", excesses}}
	}
	if s.enter != nil {
		panels = panels[:1]
	}
	for _, q := range panels {
		p := chart.Panel{X: chart.Axis{Title: "episode", Log: !s.even}, Y: chart.Axis{Title: q.title, Log: !s.even}}
		for _, l := range res.lines {
			p.Curves = append(p.Curves, res.curve(l, q.of))
		}
		f.Panels = append(f.Panels, p)
	}
	f.Notes = []string{fmt.Sprintf("Means over %d seeds with 95%% intervals.", len(res.lines[0].runs))}
	if s.single {
		f.Notes = []string{"The first seed."}
	}
	return f
}

// curve returns the mean of a quantity over the runs of a line, with its interval, or that of
// the first run.
func (res *result) curve(l *line, of func(*record) []float64) chart.Curve {
	c := chart.Curve{Name: l.player.name}
	for j, k := range res.episodes {
		c.X = append(c.X, float64(k))
		if res.single {
			c.Y = append(c.Y, of(&l.runs[0])[j])
			continue
		}
		values := make([]float64, len(l.runs))
		for i := range l.runs {
			values[i] = of(&l.runs[i])[j]
		}
		m, half := contest.MeanInterval(values)
		c.Y, c.Low, c.High = append(c.Y, m), append(c.Low, m-half), append(c.High, m+half)
	}
	return c
}
