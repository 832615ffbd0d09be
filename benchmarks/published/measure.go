package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/contest"
	"cmdpsolve/cmdp/problem"
)

// A record is a run: of the policies of the episodes up to each record the sum of the
// positive parts of suboptimality (regret) and of violation, in expectation, and
// suboptimality (gap) and excess over the limit of the last of them, both signed.
type record struct {
	Study    string `csv:"study"`
	Player   string `csv:"player"`
	Seed     uint64 `csv:"seed"`
	Episodes int    `csv:"episodes"`
	// Safe is what an episode of the safe policy loses, NaN where none was told, and
	// Violating the share of episodes whose policy violates.
	Safe      float64   `csv:"safe"`
	Violating float64   `csv:"violating"`
	Regret    []float64 `csv:"regret"`
	Violation []float64 `csv:"violation"`
	Gap       []float64 `csv:"gap"`
	Excess    []float64 `csv:"excess"`
}

// A line is the runs of one player.
type line struct {
	player *player
	runs   []record
}

// A result is a study repeated.
type result struct {
	study    *study
	episodes []int // of the records
	lines    []*line
}

// last is the number of episodes of each run.
func (res *result) last() int { return res.episodes[len(res.episodes)-1] }

// line returns the runs of a player by its name.
func (res *result) line(name string) *line {
	i := slices.IndexFunc(res.lines, func(l *line) bool { return l.player.name == name })
	return res.lines[i]
}

// points returns the episodes that are recorded of a run: 300 at equal distances where single
// policies are drawn, else 20 in each decade, and in the last third 50 at equal distances.
func (s *study) points(episodes int) []int {
	const all, third = 300, 50
	var list []int
	if s.even {
		for i := 1; i <= all; i++ {
			list = append(list, episodes*i/all)
		}
	} else {
		for k := cmdp.NextRecord(0); k < episodes; k = cmdp.NextRecord(k) {
			list = append(list, k)
		}
		for i := range third + 1 {
			list = append(list, episodes-episodes/3*i/third)
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	if list[0] == 0 {
		list = list[1:]
	}
	return list
}

// measure plays all runs of a study, or takes them from stored records.
func (s *study) measure(ctx context.Context, o *options, stored []record) (*result, error) {
	res := &result{study: s, episodes: s.points(max(10, s.episodes/o.Shorter))}
	for i := range s.players {
		l := &line{player: &s.players[i]}
		if stored != nil && !l.take(res, stored, o.Seeds) {
			return nil, fmt.Errorf("records of %s: want %d runs of %d episodes, with seeds from 1 on", l.player.name, o.Seeds, res.last())
		}
		res.lines = append(res.lines, l)
	}
	if stored != nil {
		return res, nil
	}
	return res, res.play(ctx, o.Seeds)
}

// take takes the runs of a line from records.
func (l *line) take(res *result, stored []record, seeds int) bool {
	for _, r := range stored {
		if r.Study == res.study.name && r.Player == l.player.name {
			if len(r.Regret) != len(res.episodes) || r.Episodes != res.last() || r.Seed != uint64(len(l.runs)+1) {
				return false
			}
			l.runs = append(l.runs, r)
		}
	}
	return len(l.runs) == seeds
}

// play plays all runs, as many at a time as there are processors.
func (res *result) play(ctx context.Context, seeds int) error {
	s := res.study
	var trials []*contest.Trial
	records := map[*contest.Contest]func(*contest.Run){}
	for _, l := range res.lines {
		l.runs = make([]record, seeds)
		for j := range l.runs {
			r := &l.runs[j]
			*r = record{Study: s.name, Player: l.player.name, Seed: uint64(j + 1), Episodes: res.last(), Safe: math.NaN(), Violating: math.NaN()}
			enter := s.enter
			if enter == nil {
				enter = enterTask
			}
			c, note, err := enter(ctx, res, l.player, r)
			if err != nil {
				return err
			}
			records[c] = note
			trials = append(trials, c.Trials()...)
		}
	}
	return contest.Play(ctx, trials, contest.PlayOptions{Recorded: func(r *contest.Run) { records[r.Contest](r) }})
}

// contest prepares a run of a player, told of the study's settings.
func (s *study) contest(ctx context.Context, res *result, p *problem.Problem, algorithm string, r *record, opts contest.Options) (*contest.Contest, error) {
	settings := contest.Defaults()
	settings.Algorithms, settings.Episodes, settings.Seed, settings.Seeds, settings.Pool = []string{algorithm}, res.last(), r.Seed, 1, s.pooled
	if s.learnReturns {
		settings.Returns = "unknown"
	}
	opts.Records = res.episodes
	c, err := contest.New(ctx, p, settings, opts)
	if err != nil {
		return nil, err
	}
	if refusals := c.Refusals(); len(refusals) > 0 {
		return nil, errors.New(refusals[0])
	}
	return c, nil
}

// enterTask prepares a run of a learner and says how it is recorded.
func enterTask(ctx context.Context, res *result, pl *player, r *record) (*contest.Contest, func(*contest.Run), error) {
	s := res.study
	p, err := s.problem(ctx, r.Seed)
	if err != nil {
		return nil, nil, err
	}
	know, err := s.knowledge(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	c, err := s.contest(ctx, res, p, pl.algorithm, r, contest.Options{Configure: func(c *baseline.Config) {
		c.Confidence, c.Bonus, c.Knowledge = s.confidence(), pl.bonus, know
		if s.support && !pl.blind {
			c.Knowledge.Support = baseline.SupportOf(p.Model)
		}
		if pl.tune != nil {
			pl.tune(c)
		}
	}})
	if err != nil {
		return nil, nil, err
	}
	linear, err := baseline.LinearForm(p.Model.Shape(), c.Task)
	if err != nil {
		return nil, nil, err
	}
	if know.Safe != nil {
		r.Safe = linear.Value(know.SafeReturns) - c.Answer.Optimum(c.Task)
	}
	return c, func(run *contest.Run) {
		m, excess := run.Measure(), math.Inf(-1)
		for i := range linear.Rows {
			excess = max(excess, linear.Excess(i, m.Last))
		}
		r.add(m.StrongRegret, m.StrongViolation, m.LastRegret, excess)
		r.Violating = harness.Rounded(m.ViolatingShare)
	}, nil
}

func (r *record) add(regret, violation, gap, excess float64) {
	r.Regret, r.Violation = append(r.Regret, harness.Rounded(regret)), append(r.Violation, harness.Rounded(violation))
	r.Gap, r.Excess = append(r.Gap, harness.Rounded(gap)), append(r.Excess, harness.Rounded(excess))
}

// knowledge is what learners are told: the safe policy of the study, or else the one with
// the most room.
func (s *study) knowledge(ctx context.Context, p *problem.Problem) (baseline.Knowledge, error) {
	task, err := p.Task()
	if err != nil {
		return baseline.Knowledge{}, err
	}
	know, err := baseline.KnowledgeOf(ctx, p.Model, task)
	if err != nil || s.safe == 0 {
		know.Safe, know.SafeReturns = nil, nil
		return know, err
	}
	limit := s.safe * *p.Constraints[0].AtMost
	tight := *p
	tight.Constraints = []problem.Constraint{{Return: p.Constraints[0].Return, AtMost: &limit}}
	safe, err := solve(ctx, &tight)
	if err != nil {
		return know, err
	}
	know.Safe, know.SafeReturns = safe.Policy, safe.Returns
	return know, nil
}

// tail returns what is recorded of the policies of the last third of the episodes.
func (res *result) tail(v []float64) []float64 {
	from, _ := slices.BinarySearch(res.episodes, res.last()-res.last()/3)
	return v[min(from, len(v)-1):]
}
