package contest

import (
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
	// Bonus is the scale of bonuses and radii, as cmdp.ParseBonusScale reads it.
	Bonus string `json:"bonus_scale" yaml:"bonus-scale"`
	// Planner is the planner of MOMA, "bernstein", "hoeffding" or "mvp"; "" chooses by the problem.
	Planner string `json:"planner" yaml:"planner"`
	// Dual is the dual update that the algorithm "moma" stands for: "projection", "free" or
	// "double"; "" chooses by the problem.
	Dual string `json:"dual" yaml:"dual"`
	// Rho is the weight of the distance to the target in double dual updates: "auto",
	// "model", "slater:R" or a number.
	Rho string `json:"rho" yaml:"rho"`
	// Opponent replaces the opponent of the problem in games.
	Opponent Opponent `json:"opponent,omitempty" yaml:"opponent"`
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
	// Changing says how expected returns change from episode to episode: "drift:FILE", from those of the
	// problem in the first episode to those of the problem in FILE in the last one; "switch:FILE", from one to
	// the other with probability 1/√Episodes before each episode; "adversary", which worsens the goal's returns
	// of choices that were taken lately, see cmdp.ReturnSchedule; "" if they stay. Learners then learn mean
	// returns, unless they are told those of each episode after it.
	Changing string `json:"changing,omitempty" yaml:"changing"`
	// Log is a file of transitions that learners have seen before, as problem.ReadLog reads it.
	Log string `json:"log,omitempty" yaml:"-"`
	// Expected has the exact expected returns of the policies played averaged too, in
	// contests that are not measured.
	Expected bool `json:"expected,omitempty" yaml:"-"`
}

// An Opponent is who plays in games: a word, or a mapping as in a problem file.
type Opponent string

// UnmarshalYAML takes either from a suite file.
func (o *Opponent) UnmarshalYAML(decode func(any) error) error {
	if decode((*string)(o)) == nil {
		return nil
	}
	var mapping map[string]any
	if err := decode(&mapping); err != nil {
		return err
	}
	text, err := json.Marshal(mapping)
	*o = Opponent(text)
	return err
}

// Fitting in the place of names stands for all learners that can play the problem with what they are told. Variants of
// another one that come to the same here are left out.
const Fitting = "fitting"

// Defaults returns settings under which all learners play 1000 episodes with 5 seeds.
func Defaults() Settings {
	return Settings{Algorithms: []string{"all"}, Episodes: 1000, Seed: 1, Seeds: 5, Bonus: "practice",
		Rho: "auto", Returns: "known", Failure: 0.05, Slater: "none", Safe: "none", Null: "none", Support: "none",
		Margin: baseline.DefaultKnapsackMargin}
}

// Check returns an error for what is wrong whatever the problem.
func (s *Settings) Check() error {
	switch {
	case s.Episodes < 1:
		return fmt.Errorf("episodes %d: want at least 1", s.Episodes)
	case s.Steps < 0:
		return fmt.Errorf("steps %d: want at least 1", s.Steps)
	case s.Seeds < 1:
		return fmt.Errorf("seeds %d: want at least 1", s.Seeds)
	case s.Seeds > 1_000_000:
		return fmt.Errorf("seeds %d: want at most a million", s.Seeds)
	case s.Returns != "known" && s.Returns != "unknown":
		return fmt.Errorf("returns %q: want known or unknown", s.Returns)
	case s.Support != "none" && s.Support != "auto":
		return fmt.Errorf("support %q: want none or auto", s.Support)
	case !(s.Margin >= 0 && s.Margin < 1):
		return fmt.Errorf("knapsack margin %g: want at least 0 and less than 1", s.Margin)
	case !(s.Failure > 0 && s.Failure < 1):
		return fmt.Errorf("failure probability %g: want between 0 and 1", s.Failure)
	}
	if err := cmdp.Planners.Check("planner", s.Planner); err != nil {
		return err
	}
	if err := cmdp.Duals.Check("dual", s.Dual); err != nil {
		return err
	}
	if _, err := cmdp.ParseBonusScale(s.Bonus); err != nil {
		return err
	}
	if _, err := s.slater(); err != nil {
		return err
	}
	if s.Opponent != "" {
		if _, err := problem.ParseOpponent("opponent", string(s.Opponent)); err != nil {
			return err
		}
	}
	if _, _, err := s.changingFile(); err != nil {
		return err
	}
	_, err := s.roster()
	return err
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

// penalty is the rule for rho of tasks that have one, else nil.
func (s *Settings) penalty(shape *cmdp.Shape, task cmdp.Task, best *exact.Result) (*cmdp.Penalty, error) {
	switch {
	case task.Cost == nil || task.Target == nil:
		if s.Rho != "auto" {
			return nil, fmt.Errorf("rho %s: only the double dual update, with a goal and a target, has a rho", s.Rho)
		}
		return nil, nil
	case s.Rho == "auto":
		return &cmdp.Penalty{Rule: cmdp.PenaltyDoubling}, nil
	case s.Rho == "model":
		if best == nil || best.Status != exact.Optimal {
			return nil, fmt.Errorf("rho model: the model has no exact multiplier to take it from")
		}
		rho := best.Rho
		if rho == 0 { // the target does not bind
			rho = 1
		}
		return &cmdp.Penalty{Rule: cmdp.PenaltyModel, Rho: rho}, nil
	case strings.HasPrefix(s.Rho, "slater:"):
		r, err := strconv.ParseFloat(strings.TrimPrefix(s.Rho, "slater:"), 64)
		if err != nil {
			return nil, fmt.Errorf("rho %s: want slater:R with a radius R", s.Rho)
		}
		penalty, err := cmdp.SlaterPenalty(shape, task.Cost, r)
		if err != nil {
			return nil, fmt.Errorf("rho %s: %w", s.Rho, err)
		}
		return penalty, nil
	}
	x, err := strconv.ParseFloat(s.Rho, 64)
	if err != nil {
		return nil, fmt.Errorf("rho %s: want auto, model, slater:R or a number", s.Rho)
	}
	return &cmdp.Penalty{Rule: cmdp.PenaltyGiven, Rho: x}, nil
}

// differences lists the settings that have other values in t, by their names in suite files and on command lines.
func (s *Settings) differences(t *Settings) (names []string) {
	for field, value := range reflect.ValueOf(s).Elem().Fields() {
		if !reflect.DeepEqual(value.Interface(), reflect.ValueOf(t).Elem().FieldByIndex(field.Index).Interface()) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			names = append(names, strings.ReplaceAll(name, "_", "-"))
		}
	}
	return names
}
