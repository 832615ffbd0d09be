package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/contest"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"

	"gonum.org/v1/gonum/floats"
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
	*study
	seeds    int
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

// recorded returns the episodes that are recorded of a run.
func recorded(episodes int) (list []int) {
	for k := cmdp.NextRecord(0); k < episodes; k = cmdp.NextRecord(k) {
		list = append(list, k)
	}
	return append(list, episodes)
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
		list = recorded(episodes)
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

// take takes the runs of all players from records.
func (res *result) take(records []record) error {
	for i := range res.players {
		l, whole := &line{player: &res.players[i]}, true
		for _, r := range records {
			if r.Study == res.name && r.Player == l.player.name {
				l.runs = append(l.runs, r)
				whole = whole && len(r.Regret) == len(res.episodes) && r.Episodes == res.last() &&
					r.Seed == uint64(len(l.runs))
			}
		}
		if !whole || len(l.runs) != res.seeds {
			return fmt.Errorf("records of %s: want %d runs of %d episodes, with seeds from 1 on", l.player.name,
				res.seeds, res.last())
		}
		res.lines = append(res.lines, l)
	}
	return nil
}

// play plays all runs, as many at a time as there are processors.
func (res *result) play(ctx context.Context) ([]record, error) {
	var trials []*contest.Trial
	all, records := make([]record, len(res.players)*res.seeds), map[*contest.Contest]func(*contest.Run){}
	for i := range all {
		r, pl := &all[i], &res.players[i/res.seeds]
		*r = record{Study: res.name, Player: pl.name, Seed: uint64(i%res.seeds + 1), Episodes: res.last(),
			Safe: math.NaN(), Violating: math.NaN()}
		enter := res.enter
		if enter == nil {
			enter = enterTask
		}
		c, note, err := enter(ctx, res, pl, r)
		if err != nil {
			return nil, err
		}
		records[c] = note
		trials = append(trials, c.Trials()...)
	}
	err := contest.Play(ctx, trials, contest.PlayOptions{Recorded: func(r *contest.Run) { records[r.Contest](r) }})
	return all, err
}

// contest prepares a run of a player, told of the study's settings. It is an error if the learner cannot play.
func (res *result) contest(ctx context.Context, p *problem.Problem, algorithm string, r *record,
	opts contest.PrepareOptions) (*contest.Contest, error) {
	opts.Records = res.episodes
	settings := contest.Defaults()
	settings.Algorithms = []string{algorithm}
	settings.Episodes = res.last()
	settings.Seed = r.Seed
	settings.Seeds = 1
	settings.Pool = res.pooled
	if res.learnReturns {
		settings.Returns = "unknown"
	}
	q, err := query.New(ctx, p, query.CompileOptions{})
	if err != nil {
		return nil, err
	}
	c, err := contest.New(ctx, q, settings, opts)
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
	p, err := res.problem(ctx, r.Seed)
	if err != nil {
		return nil, nil, err
	}
	know, err := res.knowledge(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	c, err := res.contest(ctx, p, pl.algorithm, r, contest.PrepareOptions{Configure: func(c *baseline.Config) {
		c.Confidence, c.Bonus, c.Knowledge = res.confidence(), pl.bonus, know
		if res.support && !pl.blind {
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
		r.Violating = rounded(m.ViolatingShare)
	}, nil
}

func (r *record) add(regret, violation, gap, excess float64) {
	r.Regret, r.Violation = append(r.Regret, rounded(regret)), append(r.Violation, rounded(violation))
	r.Gap, r.Excess = append(r.Gap, rounded(gap)), append(r.Excess, rounded(excess))
}

// knowledge is what learners are told: the safe policy of the study, or else the one with
// the most room.
func (s *study) knowledge(ctx context.Context, p *problem.Problem) (baseline.Knowledge, error) {
	task, err := query.TaskOf(ctx, p)
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
	tight.Constraints = []problem.Limit{{Return: p.Constraints[0].Return, AtMost: &limit}}
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

// enterPreferences prepares a run in which every episode has a preference of its own, and
// records the regret to these. A player without an algorithm has the best policy
// for the mean preference.
func enterPreferences(ctx context.Context, res *result, pl *player,
	r *record) (*contest.Contest, func(*contest.Run), error) {
	p, err := tastes(pl.rewards, r.Seed)
	if err != nil {
		return nil, nil, err
	}
	m := p.Model
	watched, err := baseline.Lookup("mo-ucbvi")
	if err != nil {
		return nil, nil, err
	}
	of := watched.New
	watched.New = func(cfg baseline.Config) (cmdp.Learner, error) {
		made, err := of(cfg)
		if err != nil {
			return nil, err
		}
		learner, ok := made.(*baseline.MOMA)
		if !ok {
			return nil, fmt.Errorf("mo-ucbvi is a %T", made)
		}
		w := &watch{MOMA: learner, model: m, evaluator: cmdp.NewEvaluator(m), value: make([]float64, m.Dim())}
		if pl.algorithm == "" {
			mean := make([]float64, m.Dim())
			floats.AddConst(-1/float64(m.Dim()), mean)
			w.fixed, _ = cmdp.BestPolicy(m, mean)
		}
		return w, nil
	}
	c, err := res.contest(ctx, p, "mo-ucbvi", r, contest.PrepareOptions{Unmeasured: true, Unsolved: true,
		Configure: func(c *baseline.Config) {
			c.Confidence, c.Bonus, c.Preferences = res.confidence(), pl.bonus, "random"
		},
		Own: []baseline.Algorithm{watched}})
	return c, func(run *contest.Run) {
		w := run.Learner.(*watch)
		r.add(w.regret, 0, w.gap, 0)
	}, err
}

// A watch is a learner of preferences with its regret.
type watch struct {
	*baseline.MOMA
	model       *cmdp.Model
	evaluator   *cmdp.Evaluator
	value       []float64
	fixed       cmdp.Policy // played in place of the learner's, if not nil
	gap, regret float64
}

// Policy adds what the policy of the next episode loses.
func (w *watch) Policy() cmdp.Policy {
	policy := w.fixed
	if policy == nil {
		policy = w.MOMA.Policy()
	}
	dir := w.Direction()
	w.evaluator.Returns(w.value, policy)
	_, optimum := cmdp.BestPolicy(w.model, dir)
	w.gap = floats.Dot(dir, w.value) - optimum
	w.regret += w.gap
	return policy
}
