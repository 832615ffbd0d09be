package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// learnOptions are what a run of learn depends on; they are kept in its
// checkpoint.
type learnOptions struct {
	Episodes int     `json:"episodes"`
	Seed     uint64  `json:"seed"`
	Seeds    int     `json:"seeds"`
	Planner  string  `json:"planner"`
	Dual     string  `json:"dual"`
	Bonus    string  `json:"bonus_scale"`
	Rho      string  `json:"rho"`
	Returns  string  `json:"returns"`
	Pool     bool    `json:"pool"`
	Failure  float64 `json:"failure"`
	Expected bool    `json:"expected"`
	Opponent string  `json:"opponent,omitempty"` // in place of the problem's
}

// learnCommand is one call of learn.
type learnCommand struct {
	streams
	learnOptions
	flags    *pflag.FlagSet
	format   *report.Format
	save     string
	resume   string
	every    time.Duration
	parallel int
	exact    bool
	quiet    bool
}

func newLearn(s streams) *cobra.Command {
	c := &learnCommand{streams: s}
	cmd := &cobra.Command{
		Use:   "learn PROBLEM",
		Short: "Learn an unknown model by playing it (MOMA)",
		Long: `Runs the multi-objective meta-algorithm (MOMA): plays episodes of PROBLEM
without looking at its transition probabilities, and reports the mean return
W^K of all episodes played, how far it is from the target (violation) and from
the best cost (regret), the lower bound on the optimum that comes free, and a
certificate if the target turns out to be out of reach. Since the problem file
knows the model, the exact optimum is computed too, for comparison; the learner
never sees it.

In a game the problem file or --opponent says who plays against the agent. What
is reported then is the distance of W^K from the target beside the gap, the
distance that an opponent can enforce, between certified bounds.

On Ctrl-C the run stops within an episode, reports what is known so far and
exits with status 1.`,
		Example: `  cmdpsolve learn inventory --episodes 20000
  cmdpsolve learn frozenlake8 --pool --seeds 10 --format json > result.json
  cmdpsolve learn big.yaml --episodes 1000000 --save big.checkpoint
  cmdpsolve learn big.yaml --resume big.checkpoint
  cmdpsolve learn soccer:rows=2,cols=3,H=5 --opponent adversarial`,
		Args: oneProblem,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd.Context(), args[0])
		},
	}
	c.addFlags(cmd.Flags())
	return cmd
}

func (c *learnCommand) addFlags(f *pflag.FlagSet) {
	c.flags = f
	f.SortFlags = false
	f.IntVar(&c.Episodes, "episodes", 10000, "episodes to play in each run")
	f.Uint64Var(&c.Seed, "seed", 1, "seed of the first run")
	f.IntVar(&c.Seeds, "seeds", 1, "number of runs, with consecutive seeds")
	f.StringVar(&c.Planner, "planner", "", "exploration bonus: bernstein, hoeffding (default: hoeffding in games, else bernstein)")
	f.StringVar(&c.Dual, "dual", "", "dual update: projection, free, double (default: double with a goal, else free; in games free if there is a target)")
	f.StringVar(&c.Opponent, "opponent", "", "in games, who plays: `NAME` uniform, best-response or adversarial, or as in a problem file, such as '{policy: switching, …}' (default: what the problem says)")
	f.StringVar(&c.Bonus, "bonus-scale", "practice", "bonus constants: theory (bounds hold with probability 1 - failure), practice (calibrated, no guarantee), paper (printed form), or a number that multiplies theory")
	f.StringVar(&c.Rho, "rho", "auto", "weight of the distance to the target in the double dual update: auto (start at the cost's Lipschitz constant and double), model (twice the exact multiplier), slater:R (R: radius of a ball in the target around an achievable return), or a number")
	f.StringVar(&c.Returns, "returns", "known", "expected one-step returns: known, unknown (learned)")
	f.BoolVar(&c.Pool, "pool", false, "pool counts over steps (only if the model is the same at every step)")
	f.Float64Var(&c.Failure, "failure", 0.05, "probability with which the theory statements may fail")
	f.BoolVar(&c.Expected, "expected", false, "also average the exact expected returns of the policies played")
	f.BoolVar(&c.exact, "exact", true, "compute the exact optimum for comparison")
	f.StringVar(&c.save, "save", "", "keep a checkpoint of the runs in `FILE`")
	f.StringVar(&c.resume, "resume", "", "go on from the checkpoint `FILE`, and keep saving to it")
	f.DurationVar(&c.every, "save-every", 30*time.Second, "time between checkpoints")
	f.IntVar(&c.parallel, "parallel", 0, "runs at the same time (default: one for each processor); results do not depend on it")
	f.BoolVar(&c.quiet, "quiet", false, "no progress")
	c.format = addFormat(f)
}

func (c *learnCommand) run(ctx context.Context, name string) error {
	p, err := load(name)
	if err != nil {
		return err
	}
	var from *cmdp.Checkpoint
	fingerprint := ""
	if err := writable("--save", c.save); err != nil {
		return err
	}
	if c.save != "" || c.resume != "" {
		if fingerprint, err = p.fingerprint(); err != nil {
			return failed(err)
		}
		if from, err = c.openCheckpoint(fingerprint); err != nil {
			return err
		}
	}
	if err := c.check(p); err != nil {
		return err
	}
	var best *exact.Result
	var answer *gameAnswer
	if p.isGame() {
		answer = c.solveGame(ctx, p)
	} else {
		best = c.solve(ctx, p)
	}
	settings, err := c.settings(p, best)
	if err != nil {
		return err
	}
	session, err := newSession(c, p, best, settings, fingerprint, from)
	if err != nil {
		return err
	}
	session.answer = answer
	runErr := session.play(ctx)
	if err := c.write(session.report(), *c.format); err != nil {
		return err
	}
	if runErr != nil {
		return failed(runErr)
	}
	return nil
}

func (c *learnCommand) check(p *loaded) error {
	switch {
	case p.Model.Horizon() == 0:
		return usage("%s: learn plays episodes and needs a horizon; this problem has a discount instead", p.name)
	case p.task.Cost == nil && p.task.Target == nil:
		return usage("%s: nothing to learn for: give a goal, constraints or a target", p.name)
	case c.Episodes < 1:
		return usage("--episodes %d: want at least 1", c.Episodes)
	case c.Seeds < 1:
		return usage("--seeds %d: want at least 1", c.Seeds)
	case c.parallel < 0:
		return usage("--parallel %d: want at least 1, or 0 for one for each processor", c.parallel)
	case c.every <= 0:
		return usage("--save-every %v: want a positive time", c.every)
	case c.Returns != "known" && c.Returns != "unknown":
		return usage("--returns %q: want known or unknown", c.Returns)
	}
	if c.Planner == "" {
		c.Planner = "bernstein"
		if p.isGame() {
			c.Planner = "hoeffding"
		}
	}
	return c.checkGame(p)
}

// solve computes the exact optimum, or says why there is none to compare with.
func (c *learnCommand) solve(ctx context.Context, p *loaded) *exact.Result {
	if !c.exact && c.Rho != "model" {
		return nil
	}
	best, err := exact.Solve(ctx, p.Model, p.task, exact.Options{})
	switch {
	case err != nil:
		c.say("the exact optimum is not known: %v", err)
		return nil
	case best.Status == exact.Infeasible:
		c.say("warning: no policy meets the target; the nearest return is %s away from it", report.Short(best.Certificate.Distance))
	case best.Status == exact.Undecided:
		c.say("the exact optimum is not known: neither a policy within the target nor a proof that there is none was found")
	}
	return best
}

// settings turns the options into those of a learner.
func (c *learnCommand) settings(p *loaded, best *exact.Result) (cmdp.Settings, error) {
	bonus, err := cmdp.ParseBonusScale(c.Bonus)
	if err != nil {
		return cmdp.Settings{}, usage("--bonus-scale: %w", err)
	}
	s := cmdp.Settings{
		Planner: c.Planner, Dual: c.Dual, Bonus: bonus, Pooled: c.Pool,
		Confidence: cmdp.Confidence{Episodes: c.Episodes, Failure: c.Failure},
	}
	if s.Dual == "" {
		s.Dual = "free"
		if p.task.Cost != nil && (p.task.Target == nil || !p.isGame()) {
			s.Dual = "double"
		}
	}
	if s.Dual == "double" && p.task.Cost != nil && p.task.Target != nil {
		s.Penalty, err = c.penalty(p, best)
	} else if c.Rho != "auto" {
		err = usage("--rho %s: only the double dual update, with a goal and a target, has a rho", c.Rho)
	}
	if err != nil {
		return s, err
	}
	if s.Dual != "double" && p.task.Cost != nil {
		against := ""
		if p.isGame() && p.task.Target != nil {
			against = ", since a goal within a target cannot be pursued against an opponent"
		}
		c.say("the %s dual update pursues the target alone; the objective is only reported%s", s.Dual, against)
	}
	// The same for every seed: what is wrong shows before anything is played.
	if _, err := c.learner(p, s); err != nil {
		return s, usage("%s: %w", p.name, err)
	}
	return s, nil
}

func (c *learnCommand) learner(p *loaded, s cmdp.Settings) (*cmdp.MOMA, error) {
	var known *cmdp.Returns
	if c.Returns == "known" {
		known = p.Model.KnownReturns()
	}
	return cmdp.NewLearner(p.Model.Shape(), known, p.task, s)
}

func (c *learnCommand) penalty(p *loaded, best *exact.Result) (*cmdp.Penalty, error) {
	switch {
	case c.Rho == "auto":
		return &cmdp.Penalty{Rule: cmdp.PenaltyDoubling}, nil
	case c.Rho == "model":
		if best == nil || best.Status != exact.Optimal {
			return nil, usage("--rho model: the model has no exact multiplier to take it from")
		}
		if best.Rho == 0 {
			c.say("the target does not bind; rho is 1")
			return &cmdp.Penalty{Rule: cmdp.PenaltyModel, Rho: 1}, nil
		}
		return &cmdp.Penalty{Rule: cmdp.PenaltyModel, Rho: best.Rho}, nil
	case strings.HasPrefix(c.Rho, "slater:"):
		r, err := strconv.ParseFloat(strings.TrimPrefix(c.Rho, "slater:"), 64)
		if err != nil {
			return nil, usage("--rho %s: want slater:R with a radius R", c.Rho)
		}
		pen, err := cmdp.SlaterPenalty(p.Model.Shape(), p.task.Cost, r)
		if err != nil {
			return nil, usage("--rho %s: %w", c.Rho, err)
		}
		return pen, nil
	}
	x, err := strconv.ParseFloat(c.Rho, 64)
	if err != nil {
		return nil, usage("--rho %s: want auto, model, slater:R or a number", c.Rho)
	}
	return &cmdp.Penalty{Rule: cmdp.PenaltyGiven, Rho: x}, nil
}
