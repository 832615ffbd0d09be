package main

import (
	"context"
	"fmt"
	"math"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/contest"

	"gonum.org/v1/gonum/floats"
)

// A record is a run: the distances of the mean return from the target after the
// episodes of [cmdp.NextRecord], and ⟨θ, W⟩ − h_W(θ) at the end in the direction θ of
// the gap.
type record struct {
	Suite    string    `csv:"suite"`
	Opponent string    `csv:"opponent"`
	Dual     string    `csv:"dual"`
	Along    float64   `csv:"along"`
	Distance []float64 `csv:"distances"`
}

// A line is the runs of one opponent and one dual update.
type line struct {
	opponent *opponent
	dual     string
	episodes []int
	runs     []record
}

// A result is a suite played.
type result struct {
	suite    *suite
	question *question
	episodes int
	lines    []*line
}

var duals = []string{"free", "projection"}

// measure plays all runs of a suite, or takes them from stored records.
func (s *suite) measure(ctx context.Context, o *options, stored []record) (*result, error) {
	q, err := s.pose(ctx)
	if err != nil {
		return nil, err
	}
	res := &result{suite: s, question: q, episodes: s.episodes / o.Shorter}
	for _, opp := range o.opponents {
		for _, dual := range duals {
			l := &line{opponent: opp, dual: dual, episodes: recorded(res.episodes)}
			if stored != nil {
				if !l.take(s, stored) {
					return nil, fmt.Errorf("no whole records against %s with the %s dual update", opp.name, dual)
				}
			} else if err := l.play(ctx, res, o.Seeds); err != nil {
				return nil, err
			}
			res.lines = append(res.lines, l)
		}
	}
	return res, nil
}

// play plays the runs of a line, as many at a time as there are processors.
func (l *line) play(ctx context.Context, res *result, seeds int) error {
	q := res.question
	settings := contest.Defaults()
	settings.Algorithms, settings.Planner = []string{"moma-" + l.dual}, "hoeffding"
	settings.Episodes, settings.Seeds, settings.Bonus, settings.Pool = res.episodes, seeds, res.suite.bonus, res.suite.pooled
	c, err := contest.New(ctx, q.problem, settings, contest.Options{Unmeasured: true, Unsolved: true,
		Opponent: func(seed uint64) (cmdp.Opponent, error) { return l.opponent.make(q, res.suite, seed, res.episodes) }})
	if err != nil {
		return err
	}
	if err := contest.Play(ctx, c.Trials(), contest.PlayOptions{}); err != nil {
		return err
	}
	for _, run := range c.Entrants[0].Results {
		r := record{Suite: res.suite.name, Opponent: l.opponent.name, Dual: l.dual}
		for _, h := range run.History {
			r.Distance = append(r.Distance, harness.Rounded(q.task.Violation(h.Average)))
		}
		r.Along = harness.Rounded(floats.Dot(q.gap.Direction, run.Average) - q.gap.Support)
		l.runs = append(l.runs, r)
	}
	return nil
}

// recorded returns the episodes that are recorded of a run.
func recorded(episodes int) []int {
	var list []int
	for k := cmdp.NextRecord(0); k < episodes; k = cmdp.NextRecord(k) {
		list = append(list, k)
	}
	return append(list, episodes)
}

// take takes the runs of a line from records.
func (l *line) take(s *suite, stored []record) bool {
	for _, r := range stored {
		if r.Suite != s.name || r.Opponent != l.opponent.name || r.Dual != l.dual {
			continue
		}
		if len(r.Distance) != len(l.episodes) {
			return false
		}
		l.runs = append(l.runs, r)
	}
	return len(l.runs) > 1
}

// excess returns how far the distances of each run are beyond δ.
func (l *line) excess(delta float64) *harness.Curve {
	c := &harness.Curve{Episodes: l.episodes}
	for _, run := range l.runs {
		beyond := make([]float64, len(run.Distance))
		for j, x := range run.Distance {
			beyond[j] = math.Max(0, x-delta)
		}
		c.Values = append(c.Values, beyond)
	}
	return c
}

// resamples is how many bootstrap samples an interval is made of.
const resamples = 2000

// fall fits the slope of the excess over the last two decades of episodes, and returns the
// share of the records there at which no run had any. There is no slope, NaN, if they
// are more than half.
func fall(excess *harness.Curve) (f harness.Slope, inside float64) {
	tail := excess.Tail(2)
	f = tail.Fit(resamples)
	if inside = float64(f.Zeros) / float64(len(tail.Episodes)); inside > 0.5 {
		f.Value = math.NaN()
	}
	return f, inside
}

// along returns ⟨θ, W⟩ − h_W(θ) at the end of each run.
func (l *line) along() []float64 {
	out := make([]float64, len(l.runs))
	for i, run := range l.runs {
		out[i] = run.Along
	}
	return out
}

// last returns the last of the values of each run.
func last(c *harness.Curve) []float64 {
	out := make([]float64, len(c.Values))
	for i, v := range c.Values {
		out[i] = v[len(v)-1]
	}
	return out
}
