// Command slopes fits how fast learners learn, from the results of a suite:
//
//	cmdpsolve compare --suite benchmarks/slopes/instances.yaml --results instances.results
//	go run ./benchmarks/slopes --suite benchmarks/slopes/instances.yaml --results instances.results
//
// writes instances-slopes.md to benchmarks/results: the slopes, on log–log axes over the last two decades of episodes,
// with which regret and violation of the mean return fall. In a game it is the distance from the target beyond
// the gap that the opponent can enforce. What stands on the page under "What was found" is kept.
package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/contest"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/query"

	"github.com/spf13/pflag"
)

// decades is how many of the last decades of episodes a slope is fitted over.
const decades = 2

// options are the flags.
type options struct {
	suite, results, out    string
	resamples, evaluations int
	command                string
}

func main() { harness.Main(run) }

func parse(args []string) (*options, error) {
	var o options
	f := pflag.NewFlagSet("slopes", pflag.ContinueOnError)
	f.StringVar(&o.suite, "suite", filepath.Join("benchmarks", "slopes", "instances.yaml"), "the suite")
	f.StringVar(&o.results, "results", "instances.results", "folder of its results")
	f.StringVar(&o.out, "out", filepath.Join("benchmarks", "results"), "folder for the page")
	f.IntVar(&o.resamples, "resamples", 4000, "bootstrap samples of each interval")
	f.IntVar(&o.evaluations, "evaluations", 0, "most evaluations in the search for the gap of a game (default: as exact has it)")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	o.command = harness.Command(f, "out")
	switch {
	case f.NArg() > 0:
		return nil, fmt.Errorf("slopes: unexpected argument %q", f.Arg(0))
	case o.resamples < 100:
		return nil, fmt.Errorf("slopes: --resamples %d: want at least 100", o.resamples)
	}
	return &o, nil
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	suite, err := contest.ReadSuite(o.suite)
	if err != nil {
		return err
	}
	text := fmt.Sprintf(preamble, o.command, decades)
	for _, e := range suite.Problems {
		section, err := o.section(ctx, e)
		if err != nil {
			return fmt.Errorf("slopes: %s: %w", e.Name, err)
		}
		text += section
	}
	name := strings.TrimSuffix(filepath.Base(o.suite), filepath.Ext(o.suite))
	return harness.WritePage(o.out, name+"-slopes.md", text)
}

const preamble = `# Slopes

` + "```sh\n%s\n```" + `

A slope is fitted by least squares to the logarithm of the root mean square over the runs against the logarithm of the
episode, over the last %d decades of episodes. Its interval, 95%%, has the percentiles of the slopes of bootstrap samples
of the runs; with few runs it is rather too narrow than too wide. The slopes of the two decades by themselves show how
straight the line is. Means over the runs after the last episode have intervals by Student's t. In games the excess is
the distance of the mean return from the target beyond the lower bound of δ, the gap that the opponent can enforce.
`

// section fits the results of a problem.
func (o *options) section(ctx context.Context, e *contest.Entry) (string, error) {
	p, err := harness.Problem(e.Problem)
	if err != nil {
		return "", err
	}
	runs, err := harness.Results(o.results, e)
	if err != nil {
		return "", err
	}
	if len(runs) == 0 {
		return "", fmt.Errorf("no results in %s", o.results)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n\n`%s`, %d episodes, bonus scale %s", e.Name, p.Name, e.Settings.Episodes, e.Settings.Bonus)
	quantities, gap := []string{"regret", "violation"}, 0.0
	if p.Model.Shape().Game() {
		task, err := query.TaskOf(ctx, p)
		if err != nil {
			return "", err
		}
		g, err := exact.ApproachabilityGap(ctx, p.Model, task, exact.GapOptions{Evaluations: o.evaluations})
		if err != nil {
			return "", err
		}
		quantities, gap = []string{"violation"}, g.Lower
		fmt.Fprintf(&b, ". %s ≤ δ ≤ %s", harness.Short(g.Lower), harness.Short(g.Upper))
	}
	b.WriteString(".\n\n| learner | quantity | slope [95%] | by decade | mean at the end |\n|---|---|--:|--:|--:|\n")
	for _, name := range baseline.Names() {
		for _, quantity := range quantities {
			c := curveOf(runs[name], quantity, gap)
			if len(c.Values) < 2 || math.IsNaN(c.Values[0][0]) {
				continue // it did not play, or pursues no such thing
			}
			if gap > 0 {
				quantity = "excess"
			}
			slope, decades := o.fitted(c)
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", name, quantity, slope, decades,
				harness.Interval(c.last()))
		}
	}
	return b.String(), nil
}

// curveOf returns a metric of the runs of a learner, beyond the gap of a game.
func curveOf(runs []*contest.RunResult, metric string, gap float64) *curve {
	c := &curve{}
	for i, r := range runs {
		var values []float64
		for _, rec := range r.History {
			if i == 0 {
				c.Episodes = append(c.Episodes, rec.Episode)
			}
			x := rec.Metrics[metric]
			if gap > 0 {
				x = math.Max(0, x-gap)
			}
			values = append(values, x)
		}
		c.Values = append(c.Values, values)
	}
	return c
}

// fitted writes the slope of a curve and those of its last two decades, "–" if most of the records that it would be
// fitted to are 0 in every run.
func (o *options) fitted(c *curve) (slope, byDecade string) {
	tail := c.tail(decades)
	f := tail.fit(o.resamples)
	if 2*f.Zeros > len(tail.Episodes) {
		return "–", "–"
	}
	slope = fmt.Sprintf("%.2f [%.2f, %.2f]", f.Value, f.Low, f.High)
	if f.Zeros > 0 {
		slope += fmt.Sprintf(" (without %d records that are 0 in every run)", f.Zeros)
	}
	before, last := c.decadeSlopes()
	return slope, fmt.Sprintf("%.2f, %.2f", before, last)
}
