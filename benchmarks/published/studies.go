package main

import (
	"cmp"
	"context"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/contest"
	"cmdpsolve/cmdp/instance"
	"cmdpsolve/cmdp/problem"
)

// A study is a published experiment that is repeated.
type study struct {
	name  string // of flags and files
	title string
	// source says where it was published, setting what was played there, and differs
	// what is not the same here.
	source, setting, differs string
	players                  []player
	episodes                 int
	// constants is the number of episodes that steps and logarithms know, 0 for that of the
	// runs, and failure their failure probability, 0 for 0.1.
	constants    int
	failure      float64
	pooled       bool
	learnReturns bool
	// safe, if not 0, is the share of the limit that the policy keeps which learners
	// are told to be safe.
	safe float64
	// support tells learners which successors a choice can have.
	support bool
	// even asks for records at equal distances: what is shown are single policies.
	even bool
	// single draws the first run alone, for means would hide what is shown.
	single bool
	// problem returns the problem, which may be drawn anew for each seed.
	problem func(ctx context.Context, seed uint64) (*problem.Problem, error)
	// enter prepares a run and says how it is recorded; nil for a learner with a task.
	enter  func(ctx context.Context, res *result, pl *player, r *record) (*contest.Contest, func(*contest.Run), error)
	claims []claim
	// remark is what there is to say about the claims.
	remark string
}

// A player is a learner as the experiment set it up.
type player struct {
	name      string // of the row
	algorithm string
	bonus     cmdp.BonusScale
	rewards   int // of enterPreferences
	// blind players are not told which successors are possible.
	blind bool
	tune  func(*baseline.Config)
}

var (
	published = cmdp.BonusScale{Mode: cmdp.Published, Factor: 1}
	theory    = cmdp.BonusScale{Mode: cmdp.Theory, Factor: 1}
)

// confidence is what learners are told of the length of their runs.
func (s *study) confidence() cmdp.Confidence {
	return cmdp.Confidence{Episodes: cmp.Or(s.constants, s.episodes), Failure: cmp.Or(s.failure, 0.1)}
}

func algorithms(bonus cmdp.BonusScale, names ...string) []player {
	list := make([]player, len(names))
	for i, name := range names {
		list[i] = player{name: name, algorithm: name, bonus: bonus}
	}
	return list
}

// multiplierStep sets a step of conrl-lagr that is given for signals that are not scaled: with
// a reward and a cost of widths u and v a scaled multiplier is v/u times the other, and a scaled
// cost 1/v times.
func multiplierStep(step float64) func(*baseline.Config) {
	return func(c *baseline.Config) {
		lower, upper := c.Shape.StepReturns(0)
		u, v := upper[0]-lower[0], upper[1]-lower[1]
		c.Tuning.MultiplierStep = step * v * v / u
	}
}

// of is the problem of a study that is the same for every seed.
func of(make func() (*problem.Problem, error)) func(context.Context, uint64) (*problem.Problem, error) {
	return func(context.Context, uint64) (*problem.Problem, error) { return make() }
}

func builtIn(spec string) func(context.Context, uint64) (*problem.Problem, error) {
	return of(func() (*problem.Problem, error) { return instance.New(spec) })
}

var uniform3 = []cmdp.StartState{{State: 0, Probability: 1. / 3}, {State: 1, Probability: 1. / 3},
	{State: 2, Probability: 1. / 3}}

const (
	alwaysSafe = "Simão, Jansen, Spaan, AlwaysSafe (AAMAS 2021), code AlgTUDelft/AlwaysSafe and tdsimao/gym-factored"
	doped      = "Bura et al., DOPE (NeurIPS 2022), code archanabura/DOPE-DoublyOptimisticPessimisticExploration"
	conrl      = "Brantley et al., ConRL (NeurIPS 2020), code miryoosefi/ConRL"
)

// safely are the players of the experiments of DOPE, which tell optpess-lp nothing of the support.
func safely(dope ...player) []player {
	return append(dope, player{name: "optpess-lp", algorithm: "optpess-lp", bonus: theory, blind: true},
		player{name: "optcmdp", algorithm: "optcmdp", bonus: theory})
}

// plainDope is DOPE without what it takes off the objective.
func plainDope(factor float64) player {
	return player{name: "dope, no objective bonus", algorithm: "dope",
		bonus: cmdp.BonusScale{Mode: cmdp.Published, Factor: factor},
		tune:  func(c *baseline.Config) { c.Tuning.ObjectiveBonus = new(float64) }}
}

var dope = player{name: "dope", algorithm: "dope", bonus: published}

var studies = []*study{
	{
		name: "ring", title: "AlwaysSafe's simple CMDP", source: alwaysSafe,
		setting: "Three states in a ring: to move costs 1 and pays by the state, to stay is free; H = 6, cost at " +
			"most 3, 100 episodes.",
		differs: "The experiment compares OptCMDP with its own method, which plans on an abstraction that it is " +
			"told; only OptCMDP is here.",
		players: algorithms(published, "optcmdp"), episodes: 100, pooled: true, learnReturns: true,
		problem: of(func() (*problem.Problem, error) { return ring(uniform3, 1) }),
		claims:  []claim{violates("optcmdp"), comesNear("optcmdp", 0.1)},
	},
	{
		name: "coin", title: "AlwaysSafe's factored CMDP", source: alwaysSafe,
		setting: "A bit says which of two actions pays, one of which costs 1; H = 3, cost at most 0.1, 2,000 episodes.",
		differs: "As above.",
		players: algorithms(published, "optcmdp"), episodes: 2000, pooled: true, learnReturns: true,
		problem: of(coin),
		claims:  []claim{violates("optcmdp"), comesNear("optcmdp", 0.01)},
	},
	{
		name: "cliff", title: "AlwaysSafe's cliff", source: alwaysSafe,
		setting: "Cliff walking on 4×6 cells, inner cells cost; H = 15, cost at most 2, 5,000 episodes.",
		differs: "As above.",
		players: algorithms(published, "optcmdp"), episodes: 5000, pooled: true, learnReturns: true,
		problem: builtIn("cliff:rows=4,cols=6,H=15,budget=2"),
		claims:  []claim{violates("optcmdp"), comesNear("optcmdp", 0.5)},
	},
	{
		name: "factored", title: "DOPE's factored CMDP", source: doped,
		setting: "The ring from one start, payments divided by 3; a safe policy with a fifth of the cost; 100,000 " +
			"episodes, p = 0.01.",
		differs: "Here radii are cut at 1. The script of OptCMDP there has radii of 10,000 and no limit, so that it " +
			"never learns; here it is the algorithm, " +
			"not told which successors are possible, or it would know this kernel. OptPess-LP there lacks a 1 in " +
			"its coefficients 1 + SH.",
		players: []player{dope, {name: "optpess-lp", algorithm: "optpess-lp", bonus: theory, blind: true},
			{name: "optcmdp", algorithm: "optcmdp", bonus: theory, blind: true}},
		episodes: 100_000, failure: 0.01, pooled: true, safe: 0.2, support: true,
		problem: of(func() (*problem.Problem, error) { return ring(at(0), 1./3) }),
		claims:  []claim{neverViolates("dope", "optpess-lp"), losesLess("dope", "optpess-lp")},
	},
	{
		name: "media", title: "DOPE's media streaming", source: doped,
		setting: "Ten buffer levels, H = 10, fast service at most 5 times; a safe policy with a fifth of it; " +
			"100,000 episodes, p = 0.01.",
		differs: "The logarithm of optcmdp is a little smaller, with SAH for S²H. The script of dope takes (H²/γ)Σβ " +
			"off the objective; the repository also has the program without it.",
		players: safely(dope, plainDope(1)), episodes: 100_000, failure: 0.01, pooled: true, safe: 0.2, support: true,
		problem: builtIn("media"),
		claims: []claim{neverViolates("dope", "dope, no objective bonus", "optpess-lp"), violates("optcmdp"),
			losesLess("dope", "optpess-lp"),
			losesLess("dope, no objective bonus", "optpess-lp")},
		remark: "Why `dope` is worse than its safe policy here: the objective gains H²/γ = 25 for a unit of Σβ, the " +
			"constraint pays H = 10 for it, so the " +
			"room of the constraint earns 2.5 for a unit where it is spent on uncertain choices, more than the fast " +
			"service is worth. While there are such choices in " +
			"sight the programs explore and do without the fast service. Without the bonus they do not.",
	},
	{
		name: "inventory", title: "DOPE's inventory", source: doped,
		setting: "A stock of up to five, a week, ordering and holding cost at most 3.5; a safe policy with a fifth " +
			"of it; 300,000 episodes, as many as " +
			"the figures show, of constants for a million, p = 0.01.",
		differs: "The objective is the demand that is lost, 1.65 times their revenue but for a constant. The script " +
			"of dope takes nothing " +
			"off the objective, and has the radii min{√(p̄(1−p̄)L/n) + L/n, L/√n, 1}; here it is half of the usual " +
			"ones, with the " +
			"same first term, and a quarter of the episodes of the safe policy: 1,378 instead of 9,450.",
		players: safely(plainDope(0.5)), episodes: 300_000, constants: 1_000_000, failure: 0.01, pooled: true,
		safe: 0.2, support: true,
		problem: builtIn("inventory"),
		claims: []claim{neverViolates("dope, no objective bonus", "optpess-lp"), violates("optcmdp"),
			losesLess("dope, no objective bonus", "optpess-lp")},
	},
	{
		name: "rover", title: "ConRL's grid world", source: conrl,
		setting: "8×8 cells with eight pits that pay and cost, H = 30, slip 0.1, cost at most 0.3; 2,000 rounds of " +
			"one episode, multipliers in steps of 0.2.",
		differs: "The experiment judges the mean of the last ten policies, here it is that of the last third. Its " +
			"ApproPO has an actor–critic oracle, 20 or more " +
			"episodes in a round, and bisects nothing: it is given the reward 1.4 as a limit.",
		players: []player{
			{name: "conrl-lagr", algorithm: "conrl-lagr", bonus: published, tune: multiplierStep(0.2)},
			{name: "conrl-lp", algorithm: "conrl-lp", bonus: published},
			{name: "appropo", algorithm: "appropo", bonus: published},
		}, even: true, episodes: 2000, pooled: true, learnReturns: true,
		problem: of(rover),
		claims:  []claim{comesNear("conrl-lagr", 0.1), comesNear("conrl-lp", 0.1), keeps("conrl-lagr")},
		remark:  "The optimum is 1.536; the reward that the experiment asks ApproPO for is 91% of it.",
	},
	{
		name: "warehouse", title: "ConRL's box", source: conrl,
		setting: "A box in the way to the goal of a small room, corners cost, H = 30, slip 0.1, cost at most 0.1; " +
			"2,000 rounds of one episode, multipliers in steps of 10.",
		differs: "As above, with 1.58 for the reward. Bonuses are for costs scaled to [0, 1].",
		players: []player{
			{name: "conrl-lagr", algorithm: "conrl-lagr", bonus: published, tune: multiplierStep(10)},
			{name: "conrl-lp", algorithm: "conrl-lp", bonus: published},
			{name: "appropo", algorithm: "appropo", bonus: published},
		}, even: true, episodes: 2000, pooled: true, learnReturns: true,
		problem: of(warehouse),
		claims:  []claim{comesNear("conrl-lagr", 0.1), comesNear("conrl-lp", 0.1), keeps("conrl-lagr")},
		remark:  "The optimum is 1.750; the reward that the experiment asks ApproPO for is 90% of it.",
	},
	{
		name: "conflict", title: "UOpt-RPGPD's random CMDP",
		source: "Kitamura et al., UOpt-RPGPD (2024), code matsuolab/Uniform-PAC-Primal-Dual-CMDP",
		setting: "30 states, three actions, H = 10, a kernel for each step, every choice pays either reward or " +
			"utility; at least half of the best utility; " +
			"300,000 episodes, of which optprimaldual's constants know 100,000, p = 0.1.",
		differs: "A model for each seed, in the experiment one. optprimaldual cuts its multipliers at ρ, as its " +
			"paper does; the experiment does not.",
		players: algorithms(published, "optprimaldual", "uopt-rpgpd"), even: true, single: true, episodes: 300_000,
		constants: 100_000,
		problem:   conflict,
		claims: []claim{keepsSwinging("optprimaldual", 0.5), settles("uopt-rpgpd", 0.05),
			comesNear("uopt-rpgpd", 0.05)},
	},
	{
		name: "maze", title: "Triple-Q's grid",
		source: "Wei, Liu, Ying, Triple-Q (AISTATS 2022), code honghaow/Triple-Q",
		setting: "18×18 cells, two fifths of them obstacles, a goal 19 steps away, H = 25, at most 5 steps on " +
			"obstacles; 80,000 episodes.",
		differs: "Obstacles are drawn for each seed, in the experiment once. It shows means of 1,000 episodes.",
		players: []player{{name: "triple-q", algorithm: "triple-q", bonus: published, tune: func(c *baseline.Config) {
			lower, upper := c.Shape.StepReturns(0)
			c.Tuning.RewardUnit = upper[0] - lower[0]
		}}}, even: true, episodes: 80_000, learnReturns: true,
		problem: func(_ context.Context, seed uint64) (*problem.Problem, error) { return maze(seed) },
		claims:  []claim{learns("triple-q", 0.2), keeps("triple-q")},
		remark: "The queue that drives it below the limit moves once in a frame of 874 episodes, 91 times in all, " +
			"each time by what is missing plus 0.5. The " +
			"excess falls, but the episodes are over before it is gone. On other maps than these the way may cost less.",
	},
	{
		name: "tastes", title: "MO-UCBVI's random preferences",
		source: "Wu, Braverman, Yang, MO-UCBVI (NeurIPS 2021), code uuujf/MORL",
		setting: "20 states, five actions, H = 10, uniform rewards, a kernel without structure, a preference drawn " +
			"for each of 5,000 episodes.",
		differs: "Rewards are the same at every step, in the experiment drawn for each. Preferences are uniform on " +
			"the simplex, there normalised uniform numbers. H is the range of the values still to come.",
		players: []player{
			{name: "d = 1", rewards: 1, algorithm: "mo-ucbvi", bonus: published},
			{name: "d = 5", rewards: 5, algorithm: "mo-ucbvi", bonus: published},
			{name: "d = 15", rewards: 15, algorithm: "mo-ucbvi", bonus: published},
			{name: "d = 20", rewards: 20, algorithm: "mo-ucbvi", bonus: published},
			{name: "d = 30", rewards: 30, algorithm: "mo-ucbvi", bonus: published},
			{name: "d = 15, one policy", rewards: 15},
		},
		episodes: 5000, pooled: true, enter: enterPreferences,
		claims: []claim{losesLess("d = 15", "d = 15, one policy"), losesLess("d = 1", "d = 5"),
			losesLess("d = 5", "d = 15")},
		remark: "Beyond d = S = 20 regret does not grow with d any more.",
	},
}
