package contest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
)

// Settings are what the numbers of a contest depend on, besides the problem. Their names
// in JSON and YAML are those in checkpoints, results and suite files. [Defaults] returns
// settings from which to start.
type Settings struct {
	// Algorithms are names of the registry of package baseline, "all", or [Fitting].
	Algorithms []string `json:"algorithms" yaml:"algorithms"`
	// Episodes are those of each run.
	Episodes int `json:"episodes" yaml:"episodes"`
	// Steps, if not 0, are those of each run of a problem without a horizon, in the place of Episodes.
	Steps int `json:"-" yaml:"steps"`
	// Seed is that of the first run of each learner; the others have the Seeds-1 after it.
	Seed  uint64 `json:"seed" yaml:"seed"`
	Seeds int    `json:"seeds" yaml:"seeds"`
	// Bonus is the scale of bonuses and radii.
	Bonus cmdp.BonusScale `json:"bonus_scale" yaml:"bonus-scale"`
	// Planner is the planner of MOMA, "bernstein", "hoeffding" or "mvp"; "" chooses by the problem.
	Planner string `json:"planner" yaml:"planner"`
	// Dual is the dual update that the algorithm "moma" stands for: "projection", "free" or
	// "double"; "" chooses by the problem.
	Dual string `json:"dual" yaml:"dual"`
	// Rho is the rule for the weight of the distance to the target in double dual updates. The value of
	// cmdp.PenaltyModel is found by [New].
	Rho cmdp.Penalty `json:"rho" yaml:"rho"`
	// Opponent replaces the opponent of the problem in games.
	Opponent OpponentText `json:"opponent,omitempty" yaml:"opponent"`
	// Returns says whether expected one-step returns are "known" or "unknown".
	Returns string `json:"returns" yaml:"returns"`
	// Pool has counts shared by all steps.
	Pool bool `json:"pool" yaml:"pool"`
	// Lazy has programs solved only when a count has doubled.
	Lazy bool `json:"lazy" yaml:"lazy"`
	// Failure is the probability with which the statements of theory may fail.
	Failure float64 `json:"failure" yaml:"failure"`
	// Slater, Safe, Null and Support are what learners are told: "none", "auto" (from the
	// model), or a number or policy file.
	Slater  string `json:"slater" yaml:"slater"`
	Safe    string `json:"safe_policy" yaml:"safe-policy"`
	Null    string `json:"null_policy" yaml:"null-policy"`
	Support string `json:"support,omitempty" yaml:"support"`
	// Margin is the share of every budget that conrl-knapsack sets aside.
	Margin float64 `json:"knapsack_margin" yaml:"knapsack-margin"`
	// Changing says how expected returns change from episode to episode. Learners then learn mean returns, unless
	// they are told those of each episode after it.
	Changing Changing `json:"changing,omitzero" yaml:"changing"`
	// Log is a file of transitions that learners have seen before, as problem.ReadLog reads it.
	Log string `json:"log,omitempty" yaml:"-"`
	// Expected has the exact expected returns of the policies played averaged too, in
	// contests that are not measured.
	Expected bool `json:"expected,omitempty" yaml:"-"`
}

// An OpponentText is who plays in games: a word, or a mapping as in a problem file.
type OpponentText string

// UnmarshalYAML takes either from a suite file.
func (o *OpponentText) UnmarshalYAML(decode func(any) error) error {
	if decode((*string)(o)) == nil {
		return nil
	}
	var mapping map[string]any
	if err := decode(&mapping); err != nil {
		return err
	}
	text, err := json.Marshal(mapping)
	*o = OpponentText(text)
	return err
}

// check returns an error for an opponent that cannot be read.
func (o *OpponentText) check() error {
	if *o == "" {
		return nil
	}
	_, err := problem.ParseOpponent("opponent", string(*o))
	return err
}

// Fitting in the place of names stands for all learners that can play the problem with what they are told. Variants of
// another one that come to the same here are left out.
const Fitting = "fitting"

// Defaults returns settings under which all learners play 1000 episodes with 5 seeds.
func Defaults() Settings {
	return Settings{Algorithms: []string{"all"}, Episodes: 1000, Seed: 1, Seeds: 5,
		Bonus: cmdp.BonusScale{Mode: cmdp.Practice}, Rho: cmdp.Penalty{Rule: cmdp.PenaltyDoubling},
		Returns: "known", Failure: 0.05, Slater: "none", Safe: "none", Null: "none", Support: "none",
		Margin: baseline.DefaultKnapsackMargin}
}

// A Setting is one of [Settings]: its name in suites and on command lines, a pointer to its value, and a line of help.
type Setting struct {
	Name  string
	Value any
	Help  string
	check func() error // nil if no value is wrong whatever the problem
}

// List returns the settings that are on command lines too, in the order in which help has them. Values are those
// of s.
func (s *Settings) List() []Setting {
	return []Setting{
		{"algorithms", &s.Algorithms, "learners to compare, with commas between; all: every one that plays with " +
			"episodes or, without a horizon, without (default: those that can play the problem)",
			func() error { _, err := s.roster(); return err }},
		{"episodes", &s.Episodes, "episodes of each run", s.Confidence().Check},
		{"seed", &s.Seed, "seed of the first run", nil},
		{"seeds", &s.Seeds, "runs of each learner, with consecutive seeds", func() error {
			return cmp.Or(wantUnless(s.Seeds >= 1, "seeds", s.Seeds, "at least 1"),
				wantUnless(s.Seeds <= 1_000_000, "seeds", s.Seeds, "at most a million"))
		}},
		{"bonus-scale", &s.Bonus, "constants of bonuses and radii: theory, practice, published, paper, or a number " +
			"that multiplies theory (theory: guaranteed with probability 1 - failure; practice: 0.35 of it, " +
			"calibrated; published, in compare: those of the experiments of each paper; paper: as printed)", s.Bonus.Check},
		{"planner", &s.Planner, "exploration bonus of MOMA: bernstein, hoeffding, mvp (default: hoeffding in games, " +
			"else bernstein)", func() error { return cmdp.Planners.Check("planner", s.Planner) }},
		{"dual", &s.Dual, "dual update of moma: projection, free, double (default: double with a goal, else free; in " +
			"games free if there is a target)", func() error { return cmdp.Duals.Check("dual", s.Dual) }},
		{"rho", &s.Rho, "weight of the distance to the target in double dual updates: auto (start at the cost's " +
			"Lipschitz constant and double), model (twice the exact multiplier), slater:R (R: radius of a ball in " +
			"the target around an achievable return), or a number", nil},
		{"opponent", &s.Opponent, "in games, who plays: uniform, best-response or adversarial, or as in a problem " +
			"file, such as '{policy: switching, …}' (default: what the problem says)", s.Opponent.check},
		{"returns", &s.Returns, "expected one-step returns: known, unknown (learned)", func() error {
			return wantUnless(s.Returns == "known" || s.Returns == "unknown", "returns", s.Returns, "known or unknown")
		}},
		{"pool", &s.Pool, "pool counts over steps (only if the model is the same at every step)", nil},
		{"support", &s.Support, "possible successors of each choice, told to learners that have a use for them: " +
			"none, auto (from the model)", func() error {
			return wantUnless(s.Support == "none" || s.Support == "auto", "support", s.Support, "none or auto")
		}},
		{"failure", &s.Failure, "probability with which the theory statements may fail", nil}, // with episodes
		{"lazy", &s.Lazy, "learners that solve programs do so only when a count has doubled", nil},
		{"slater", &s.Slater, "Slater constant told to learners that need it: none, auto (from the model), or a number",
			func() error { _, err := s.slater(); return err }},
		{"safe-policy", &s.Safe, "safe policy told to learners that need it: none, auto (from the model), or a " +
			"policy `FILE`", nil},
		{"null-policy", &s.Null, "null policy told to learners that need it: none, auto (from the model), or a " +
			"policy `FILE`", nil},
		{"changing", &s.Changing, "returns that change from episode to episode: drift:FILE (in equal steps to those " +
			"of the problem FILE), switch:FILE (to those and back, at random), adversary (worse for the goal where " +
			"the learner was lately)", s.Changing.check},
		{"knapsack-margin", &s.Margin, "share of every budget that conrl-knapsack sets aside",
			(&baseline.Tuning{KnapsackMargin: &s.Margin}).Check},
		{"log", &s.Log, "start from the transitions of `FILE`, seen before: CSV or JSON lines by its ending", nil},
		{"expected", &s.Expected, "also average the exact expected returns of the policies played", nil},
	}
}

// Confidence says how sure statements are to be, and over how many episodes.
func (s *Settings) Confidence() cmdp.Confidence {
	return cmdp.Confidence{Episodes: s.Episodes, Failure: s.Failure}
}

// wantUnless returns an error that says what is wanted in the place of a value, nil if it is good.
func wantUnless(good bool, name string, value any, want string) error {
	if good {
		return nil
	}
	format := "%s %v: want %s"
	if _, text := value.(string); text {
		format = "%s %q: want %s"
	}
	return fmt.Errorf(format, name, value, want)
}

// Check returns an error for what is wrong whatever the problem.
func (s *Settings) Check() error {
	if s.Steps < 0 {
		return fmt.Errorf("steps %d: want at least 1", s.Steps)
	}
	for _, of := range s.List() {
		if of.check == nil {
			continue
		}
		if err := of.check(); err != nil {
			return err
		}
	}
	return nil
}

// roster looks the algorithms up, in the order of the list and each once.
func (s *Settings) roster() ([]baseline.Algorithm, error) {
	var names []string
	for _, name := range s.Algorithms {
		name = strings.TrimSpace(name)
		switch {
		case name == "all", name == Fitting:
			names = append(names, baseline.Names()...)
		case name == "moma" && s.Dual != "":
			names = append(names, "moma-"+s.Dual)
		default:
			names = append(names, name)
		}
	}
	var list []baseline.Algorithm
	for i, name := range names {
		a, err := baseline.Lookup(name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(names[:i], name) {
			list = append(list, a)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no algorithms: want some of %s, or all", strings.Join(baseline.Names(), ", "))
	}
	return list, nil
}

// fitting leaves out who does not play, and the variant of MOMA that moma is. If nobody plays all stay, with
// their reasons.
func (c *Contest) fitting() {
	same := "moma-double"
	switch {
	case c.Dual != "":
		same = "moma" // whose dual is that of another one
	case c.Task.Cost == nil:
		same = "moma-free"
	}
	var fit []*Entrant
	for _, e := range c.Entrants {
		if e.Refused == "" && e.Name != same {
			fit = append(fit, e)
		}
	}
	if len(fit) > 0 {
		c.Unfit = len(c.Entrants) - len(fit) - 1
		c.Entrants = fit
	}
}

// slater returns the constant that was given, 0 for none and auto.
func (s *Settings) slater() (float64, error) {
	if s.Slater == "none" || s.Slater == "auto" {
		return 0, nil
	}
	x, err := strconv.ParseFloat(s.Slater, 64)
	if err != nil || !(x > 0) || x > 1e100 {
		return 0, fmt.Errorf("slater %q: want none, auto or a positive number", s.Slater)
	}
	return x, nil
}

// penalty is the rule for rho of tasks that have one, with its value, else nil.
func (s *Settings) penalty(shape *cmdp.Shape, task cmdp.Task, best *exact.Result) (*cmdp.Penalty, error) {
	p := s.Rho
	switch {
	case task.Cost == nil || task.Target == nil:
		if p.Rule != cmdp.PenaltyDoubling {
			return nil, fmt.Errorf("rho %v: only the double dual update, with a goal and a target, has a rho", p)
		}
		return nil, nil
	case p.Rule == cmdp.PenaltyModel:
		if best == nil || best.Status != exact.Optimal {
			return nil, fmt.Errorf("rho model: the model has no exact multiplier to take it from")
		}
		p.Rho = cmp.Or(best.Rho, 1) // of a target that does not bind it is 0
	case p.Rule == cmdp.PenaltySlater:
		return cmdp.SlaterPenalty(shape, task.Cost, p.Radius)
	}
	return &p, nil
}

// differences lists the settings that have other values in t, by their names in suite files and on command lines.
func (s *Settings) differences(t *Settings) (names []string) {
	other := t.List()
	for i, of := range s.List() {
		if !reflect.DeepEqual(of.Value, other[i].Value) {
			names = append(names, of.Name)
		}
	}
	return names
}
