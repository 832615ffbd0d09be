// Package contest compares learners: problems × learners × seeds go in, results come out. It
// makes the learners, tells each what it may know, plays several runs at a time, records them
// along the way, and saves and restores runs that are stopped. A seed gives the same numbers
// however many runs are played at the same time.
//
// [New] prepares one problem, [Contest.Trials] lists its runs, and [Play] plays them; the
// example compares three learners in this way. A [CheckpointFile] or a [Folder] keeps results in
// files, and [ReadSuite] reads a file that names several problems.
package contest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
)

// A Contest is one problem with the learners that play it.
type Contest struct {
	Settings
	Query *query.Query
	// Against is the opponent of a game, by the settings or else by the problem; nil if PrepareOptions.Opponent
	// makes it.
	Against  *problem.OpponentSpec
	Task     cmdp.Task
	Title    string // of the problem
	Name     string // in a suite that gives it one
	Answer   Answer
	Logged   problem.LogSize
	Entrants []*Entrant
	Unfit    int // how many learners [Fitting] left out since they do not play
	// Fingerprint identifies the problem and the policy files that learners are told.
	Fingerprint string

	cfg      baseline.Config
	shape    *cmdp.Shape                              // of an episode, or of a step of an endless run
	endless  *cmdp.Endless                            // of a model; nil with episodes
	discount float64                                  // of a run without end, 1 for long-run means; 0 with episodes
	opponent func(seed uint64) (cmdp.Opponent, error) // nil unless a game
	// environment makes what a run plays: the model, or a simulator.
	environment func(seed uint64) (cmdp.Environment, error)
	schedule    cmdp.ReturnSchedule // of returns that change
	measured    bool
	mixture     bool
	records     []int
	own         []baseline.Algorithm // that are not in the registry
}

// An Answer is the exact answer that learners are compared with, as far as it is known.
type Answer struct {
	Best  *exact.Result    // with one player
	Gap   *exact.Gap       // of the target, in a game
	Value *exact.GameValue // of the goal of a game without a target
	Err   error            // why there is none
}

// Optimum is the least cost that can be reached within the target, NaN if it is not known.
func (a *Answer) Optimum(task cmdp.Task) float64 {
	switch {
	case task.Cost != nil && a.Best != nil && a.Best.Status == exact.Optimal:
		return a.Best.Objective
	case a.Value != nil:
		return a.Value.Value
	}
	return math.NaN()
}

// An Entrant is a learner of a contest and what came of its runs.
type Entrant struct {
	baseline.Algorithm
	Refused string       // why it cannot play, or ""
	Told    []string     // what of the knowledge it uses
	Results []*RunResult // of each seed; nil until it is done
}

// PrepareOptions say how a contest is prepared, and let programs change what settings cannot.
type PrepareOptions struct {
	// Name is what messages call the problem; its own name by default.
	Name string
	// Unsolved leaves the exact answer out, unless rho is taken from it.
	Unsolved bool
	// SolveGaps has the gap of the target of a game computed, which may take long. The value of a game without a
	// target is one backward induction, and is always computed.
	SolveGaps bool
	// Unmeasured runs keep mean returns and the findings of MOMA. They have no metrics of
	// baseline.Recorder, which take an evaluation of the model in each episode.
	Unmeasured bool
	// Mixture has runs that are not measured count the actions of each step, for [Run.Mixture].
	Mixture bool
	// Records are the numbers of episodes after which runs are recorded, ascending; nil
	// stands for about twenty in each decade. The last episode is recorded in any case.
	Records []int
	// Configure changes what learners are told and how they are tuned, in ways that settings
	// do not have. Fingerprint does not cover it, nor Own: keep the results
	// of such runs in memory, without a checkpoint or a folder.
	Configure func(*baseline.Config)
	// Own are algorithms of one's own. They need a Name and New, and Games or Endless where they play such problems.
	// They come after those of the settings; one with the name of such a one takes its place.
	Own []baseline.Algorithm
	// Simulator makes the environment of each run of a problem without a model. Such runs cannot
	// be measured. An environment with a method Close is closed when its run stops.
	Simulator func() (cmdp.Environment, error)
}

// New prepares a contest: it solves the problem, gathers what learners are told, and makes
// each learner once, so that what is wrong with one shows before anything is played.
func New(ctx context.Context, q *query.Query, settings Settings, opts PrepareOptions) (*Contest, error) {
	if q == nil || q.Model == nil && opts.Simulator == nil {
		return nil, errors.New("contest: no problem")
	}
	if opts.Name == "" {
		opts.Name = q.Problem.Name
	}
	c := &Contest{Settings: settings, Query: q, Task: q.Task, Title: q.Problem.Name, measured: !opts.Unmeasured,
		mixture: opts.Mixture, records: opts.Records, own: opts.Own}
	if c.Title == "" {
		c.Title = opts.Name
	}
	if err := c.prepare(ctx, opts); err != nil {
		return nil, err
	}
	return c, c.enter(opts.Name)
}

func (c *Contest) prepare(ctx context.Context, opts PrepareOptions) (err error) {
	if err := c.Check(); err != nil {
		return err
	}
	q := c.Query
	c.shape = q.Shape()
	if c.shape == nil || q.Problem.SimulatedDiscount > 0 {
		if err := c.prepareEndless(ctx); err != nil {
			return fmt.Errorf("%s: %w", opts.Name, err)
		}
	}
	switch {
	case c.Task.Cost == nil && c.Task.Target == nil:
		return fmt.Errorf("%s: nothing to learn for: give a goal, constraints or a target", opts.Name)
	}
	c.environment = func(uint64) (cmdp.Environment, error) { return q.Model, nil }
	if c.endless != nil {
		c.environment = func(uint64) (cmdp.Environment, error) { return c.endless, nil }
	}
	if q.Model == nil {
		if err := c.modelless(opts.Name); err != nil {
			return err
		}
		c.environment = func(uint64) (cmdp.Environment, error) {
			env, err := opts.Simulator()
			if err != nil || !c.Endless() {
				return env, err
			}
			return cmdp.NewEndlessOf(env, c.shape, c.discount)
		}
	}
	if c.Changes() {
		if err := c.prepareChanging(ctx, &opts); err != nil {
			return fmt.Errorf("%s: %w", opts.Name, err)
		}
		c.environment = func(seed uint64) (cmdp.Environment,
			error) {
			return cmdp.NewChanging(q.Model, c.schedule, seed)
		}
	}
	c.Fingerprint, err = c.fingerprint()
	if err != nil {
		return err
	}
	game := c.shape.Game()
	if c.Planner == "" {
		c.Planner = cmdp.DefaultPlanner(game)
	}
	if game {
		if err := c.prepareGame(opts); err != nil {
			return err
		}
	}
	c.solve(ctx, opts)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.configure(ctx); err != nil {
		return err
	}
	if err := c.readLog(); err != nil {
		return err
	}
	if opts.Configure != nil {
		opts.Configure(&c.cfg)
	}
	return nil
}

// configure says what learners are told and how they are tuned.
func (c *Contest) configure(ctx context.Context) (err error) {
	c.cfg = baseline.Config{Task: c.Task}
	if c.Endless() {
		c.cfg.Endless = &baseline.Endless{Discount: c.discount}
	}
	if c.Query.Model != nil {
		c.cfg, _, err = Told(c.Query, c.Returns == "known", c.Support == "auto" && c.opponent == nil)
		if err != nil {
			return err
		}
	}
	if c.opponent == nil {
		if err := c.knowledge(ctx); err != nil {
			return err
		}
	}
	penalty, err := c.penalty(c.shape, c.Task, c.Answer.Best)
	if err != nil {
		return err
	}
	c.cfg.Shape, c.cfg.Lazy, c.cfg.Tuning.KnapsackMargin = c.shape, c.Lazy, &c.Margin
	c.cfg.Settings = cmdp.Settings{Bonus: c.Bonus, Pooled: c.Pool, Planner: c.Planner, Penalty: penalty,
		Confidence: c.Confidence()}
	return nil
}

// modelless refuses what only a model can do.
func (c *Contest) modelless(name string) error {
	asked := c.asks("returns", "expected", "rho", "support", "slater", "safe-policy", "null-policy")
	switch {
	case c.measured:
		return fmt.Errorf("%s: regret and the like are measured against the model, and a simulator has none", name)
	case asked != "":
		return fmt.Errorf("%s: %s: this is computed from the model, and a simulator has none", name, asked)
	case c.Log != "":
		return fmt.Errorf("%s: log %s: a log names states and actions as a problem file does, and a simulator has no names", name, c.Log)
	}
	return nil
}

// asks returns the first of some settings that asks for more than to play, with its value, or "" if none does.
func (c *Contest) asks(names ...string) string {
	for _, of := range []struct {
		name, value string
		given       bool
	}{
		{"returns", "known", c.Returns == "known"}, {"pool", "", c.Pool}, {"expected", "", c.Expected},
		{"rho", "model", c.Rho.Rule == cmdp.PenaltyModel}, {"support", "auto", c.Support == "auto"},
		{"slater", "auto", c.Slater == "auto"}, {"safe-policy", c.Safe, c.Safe != "none"},
		{"null-policy", c.Null, c.Null != "none"}, {"log", "", c.Log != ""}, {"mixture", "", c.mixture},
	} {
		if of.given && slices.Contains(names, of.name) {
			return strings.TrimSpace(of.name + " " + of.value)
		}
	}
	return ""
}

// writeSimulated writes what identifies a simulator and what is wanted of it.
func writeSimulated(w io.Writer, p *problem.Problem) {
	sh := p.Simulated
	lower, upper := sh.StepReturns(sh.Horizon() - 1)
	fmt.Fprintln(w, "simulator", sh.Horizon(), sh.StartStates(), p.Returns, lower, upper)
	for s := range sh.States() {
		fmt.Fprint(w, sh.Actions(0, s), " ")
	}
	fmt.Fprintf(w, "\n%s", p.Wanted())
}

// fingerprint identifies the problem by its file form, and the policy files that learners
// are told by their contents.
func (c *Contest) fingerprint() (string, error) {
	h := sha256.New()
	if c.Query.Model == nil {
		writeSimulated(h, c.Query.Problem)
	} else if err := problem.Write(h, c.Query.Problem); err != nil {
		return "", err
	}
	print := hex.EncodeToString(h.Sum(nil))
	for _, path := range []string{c.Safe, c.Null, c.Log, c.Changing.File} {
		if path == "none" || path == "auto" || path == "" {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		sum := sha256.Sum256(append([]byte(print), data...))
		print = hex.EncodeToString(sum[:])
	}
	return print, nil
}

// prepareGame makes sure that there is somebody to play against.
func (c *Contest) prepareGame(opts PrepareOptions) error {
	p, name := c.Query.Problem, opts.Name
	opponent := p.Opponent
	if c.Opponent != "" {
		o, err := problem.ParseOpponent("opponent", string(c.Opponent))
		if err != nil {
			return err
		}
		opponent = o
	}
	if opponent == nil {
		return fmt.Errorf("%s: a game without an opponent: say with --opponent, or in the problem file, who plays "+
			"against the agent", name)
	}
	if c.Planner != cmdp.DefaultPlanner(true) {
		return fmt.Errorf("%s: planner %s: with an opponent no rate is proved for this bonus, because the variance "+
			"that its analysis needs depends on how the opponent plays (erratum E-35); want hoeffding", name, c.Planner)
	}
	c.Against = opponent
	c.opponent = func(uint64) (cmdp.Opponent, error) { return opponent.Build(p, c.Task.Target) }
	o, err := c.opponent(c.Seed)
	if err != nil {
		return fmt.Errorf("%s: opponent.%w", name, err)
	}
	if _, ok := cmdp.Markov(o); c.Expected && !ok {
		return errors.New("expected: the opponent has no distribution from which expected returns could be computed")
	}
	return nil
}

// gapWork bounds the transitions that a search for the gap may look at, so that learning a
// large game does not wait long for what it is compared with.
const gapWork = 1 << 28

// solve computes the exact answer.
func (c *Contest) solve(ctx context.Context, opts PrepareOptions) {
	m, a := c.Query.Model, &c.Answer
	switch {
	case m == nil: // a simulator, of which nothing exact is known
	case c.opponent == nil && (!opts.Unsolved || c.Rho.Rule == cmdp.PenaltyModel):
		a.Best, a.Err = exact.Solve(ctx, m, c.Task, exact.Options{})
	case c.opponent == nil || opts.Unsolved:
	case c.Task.Target == nil:
		a.Value, a.Err = exact.SolveGame(ctx, m, c.Task)
	case opts.SolveGaps:
		work := m.Transitions() + 10*m.Choices() // the matrix games
		if m.Stationary() {
			work *= m.Horizon()
		}
		a.Gap, a.Err = exact.ApproachabilityGap(ctx, m, cmdp.Task{Target: c.Task.Target},
			exact.GapOptions{Evaluations: min(20000, max(50, gapWork/max(1, work)))})
	}
	if a.Err != nil {
		*a = Answer{Err: a.Err}
	}
}

// enter makes every learner once.
func (c *Contest) enter(name string) error {
	list, err := c.roster()
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(a baseline.Algorithm) bool {
		replaced := slices.ContainsFunc(c.own, func(own baseline.Algorithm) bool { return own.Name == a.Name })
		return replaced || !c.plays(a)
	})
	for _, a := range append(list, c.own...) {
		if c.Endless() && a.EndlessGuarantee != "" {
			a.Guarantee = a.EndlessGuarantee
		}
		e := &Entrant{Algorithm: a, Results: make([]*RunResult, c.Seeds), Told: c.told(a)}
		if _, err := a.Make(c.config(&a)); errors.Is(err, baseline.ErrUnsupported) {
			_, reason, _ := strings.Cut(err.Error(), baseline.ErrUnsupported.Error()+": ") // the reader knows the rest
			e.Refused = c.withoutFinding(cmp.Or(reason, err.Error()))
		} else if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		c.Entrants = append(c.Entrants, e)
	}
	if slices.Contains(c.Algorithms, Fitting) {
		c.fitting()
	}
	return nil
}

// plays reports whether a learner takes part: by its name, or as one of all that play with episodes, or
// without, as the problem has it. Slow ones are not among those that are fitting.
func (c *Contest) plays(a baseline.Algorithm) bool {
	kind := a.Endless
	if !c.Endless() {
		kind = !a.NoEpisodes
	}
	named := func(name string) bool {
		name = strings.TrimSpace(name)
		return name == a.Name || name == "moma" && strings.HasPrefix(a.Name, "moma-")
	}
	if slices.ContainsFunc(c.Algorithms, named) {
		return true
	}
	return kind && !(a.Slow && slices.Contains(c.Algorithms, Fitting))
}

// withoutFinding adds to the reason why a learner does not run: what it needs was looked
// for in the model and not found.
func (c *Contest) withoutFinding(reason string) string {
	for need, asked := range map[string]string{"Slater constant": c.Slater, "safe policy": c.Safe,
		"null policy": c.Null} {
		if asked == "auto" && strings.HasPrefix(reason, "it needs a "+need) {
			return reason + ", and the model has none"
		}
	}
	return reason
}

// Refusals lists the algorithms that do not play, with their reasons.
func (c *Contest) Refusals() []string {
	var list []string
	for _, e := range c.Entrants {
		if e.Refused != "" {
			list = append(list, e.Name+": "+e.Refused)
		}
	}
	return list
}

// Guaranteed reports whether the bounds that a run of MOMA states hold with probability
// 1 − Failure. Those of the planner mvp are proved for a direction that does not change.
func (c *Contest) Guaranteed() bool { return c.Planner != "mvp" && c.cfg.Bonus.Guaranteed() }

// Trials returns the runs that are still to be played, learner by learner.
func (c *Contest) Trials() []*Trial {
	var list []*Trial
	for _, e := range c.Entrants {
		for i := range c.Seeds {
			if e.Refused == "" && e.Results[i] == nil {
				list = append(list, &Trial{Contest: c, Entrant: e, Index: i})
			}
		}
	}
	return list
}
