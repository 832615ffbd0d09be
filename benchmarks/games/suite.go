package main

import (
	"context"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/instance"
	"cmdpsolve/cmdp/problem"
)

// A suite is a game with the settings under which it is played.
type suite struct {
	name     string // of flags and files
	spec     string // of the instance
	episodes int
	bonus    string
	pooled   bool
	// evaluations bounds the search for the gap.
	evaluations int
}

// The bonus scales come from trials, as in benchmarks/slopes: with theory
// constants the burn-in of the larger games is longer than these runs.
var suites = harness.Choices[*suite]{
	{name: "pennies", spec: "matrix:limit=0.5", episodes: 100000, bonus: "practice"},
	{name: "pennies-out", spec: "matrix:limit=0.4", episodes: 100000, bonus: "practice"},
	{name: "regret2", spec: "matrix:game=regret2", episodes: 100000, bonus: "practice"},
	{name: "regret2-out", spec: "matrix:game=regret2,limit=-0.1", episodes: 100000, bonus: "practice"},
	{name: "rps", spec: "matrix:game=rps,limit=0.33333333333", episodes: 100000, bonus: "practice"},
	{name: "rps-out", spec: "matrix:game=rps,limit=0.3", episodes: 100000, bonus: "practice"},
	{name: "regret3", spec: "matrix:game=regret3", episodes: 100000, bonus: "practice"},
	{name: "regret3-out", spec: "matrix:game=regret3,limit=-0.1", episodes: 100000, bonus: "practice"},
	{name: "soccer", spec: "soccer:rows=2,cols=3,H=5", episodes: 5000, bonus: "0.002", pooled: true, evaluations: 3000},
	{name: "soccer-out", spec: "soccer:rows=2,cols=3,H=5,share=0.6", episodes: 5000, bonus: "0.002", pooled: true, evaluations: 3000},
	{name: "random", spec: "garnetgame", episodes: 10000, bonus: "0.02"},
	{name: "random-out", spec: "garnetgame:room=-0.5", episodes: 10000, bonus: "0.02"},
}

// ID is the name of the suite.
func (s *suite) ID() string { return s.name }

// A question is a game with its target and what is known of its gap.
type question struct {
	problem *problem.Problem
	task    cmdp.Task
	gap     *exact.Gap
}

func (s *suite) pose(ctx context.Context) (*question, error) {
	p, err := instance.New(s.spec)
	if err != nil {
		return nil, err
	}
	q := &question{problem: p}
	if q.task, err = p.Task(); err != nil {
		return nil, err
	}
	opts := exact.GapOptions{Evaluations: s.evaluations}
	q.gap, err = exact.ApproachabilityGap(ctx, p.Model, q.task, opts)
	return q, err
}

// An opponent says how to make an opponent for a question. Some need the model; the agent
// tells them no more than the view.
type opponent struct {
	name, title string
	make        func(q *question, s *suite, seed uint64, episodes int) (cmdp.Opponent, error)
}

// ID is the name of the opponent.
func (o *opponent) ID() string { return o.name }

// period is how many episodes the switching opponent and the random start last.
const period = 100

var opponents = harness.Choices[*opponent]{
	{"uniform", "uniform", func(q *question, _ *suite, _ uint64, _ int) (cmdp.Opponent, error) {
		return cmdp.NewUniformOpponent(q.shape()), nil
	}},
	{"fixed", "fixed: the policy that proves the gap", func(q *question, _ *suite, _ uint64, _ int) (cmdp.Opponent, error) {
		return cmdp.NewFixedOpponent(q.shape(), q.gap.Opponent)
	}},
	{"best-response", "best response", func(q *question, _ *suite, _ uint64, _ int) (cmdp.Opponent, error) {
		return cmdp.NewBestResponseOpponent(q.problem.Model, q.task.Target)
	}},
	{"along", "best response along the gap", func(q *question, _ *suite, _ uint64, _ int) (cmdp.Opponent, error) {
		return cmdp.NewBestResponseAlong(q.problem.Model, q.gap.Direction)
	}},
	{"adversarial", "adversary", func(q *question, _ *suite, _ uint64, _ int) (cmdp.Opponent, error) {
		return cmdp.NewAdversarialOpponent(q.problem.Model, q.task.Target)
	}},
	{"switching", "switching", switching},
	{"random-start", "random start", func(q *question, _ *suite, _ uint64, _ int) (cmdp.Opponent, error) {
		then, err := cmdp.NewBestResponseOpponent(q.problem.Model, q.task.Target)
		if err != nil {
			return nil, err
		}
		return cmdp.NewRandomStartOpponent(q.shape(), period, then)
	}},
	{"scripted", "script", scripted},
	{"replay", "replay of an adversary", replay},
}

func (q *question) shape() *cmdp.Shape { return q.problem.Model.Shape() }

func switching(q *question, _ *suite, _ uint64, _ int) (cmdp.Opponent, error) {
	best, err := cmdp.NewBestResponseOpponent(q.problem.Model, q.task.Target)
	if err != nil {
		return nil, err
	}
	adversary, err := cmdp.NewAdversarialOpponent(q.problem.Model, q.task.Target)
	if err != nil {
		return nil, err
	}
	return cmdp.NewSwitchingOpponent(period, cmdp.NewUniformOpponent(q.shape()), best, adversary)
}

// scripted goes through the opponent's actions, each for one step; their number must be the
// same in all states in which it has a choice.
func scripted(q *question, _ *suite, _ uint64, _ int) (cmdp.Opponent, error) {
	actions := make([]int, q.shape().MaxOpponentActions())
	for b := range actions {
		actions[b] = b
	}
	return cmdp.NewScriptedOpponent(q.shape(), actions)
}

// replay plays what an adversary played against the same learner with another seed.
func replay(q *question, s *suite, seed uint64, episodes int) (cmdp.Opponent, error) {
	inner, err := cmdp.NewAdversarialOpponent(q.problem.Model, q.task.Target)
	if err != nil {
		return nil, err
	}
	recorder, err := cmdp.NewRecordingOpponent(q.shape(), inner)
	if err != nil {
		return nil, err
	}
	bonus, err := cmdp.ParseBonusScale(s.bonus)
	if err != nil {
		return nil, err
	}
	learner, err := cmdp.NewLearner(q.shape(), q.problem.Model.KnownReturns(), q.task, cmdp.Settings{
		Planner: "hoeffding", Dual: "free", Bonus: bonus, Pooled: s.pooled,
		Confidence: cmdp.Confidence{Episodes: episodes, Failure: 0.05},
	})
	if err != nil {
		return nil, err
	}
	runner, err := cmdp.NewGameRunner(q.problem.Model, learner, recorder, seed+1000, nil)
	if err != nil {
		return nil, err
	}
	if err := runner.Run(context.Background(), episodes); err != nil {
		return nil, err
	}
	return cmdp.NewReplayOpponent(q.shape(), recorder.Log())
}
