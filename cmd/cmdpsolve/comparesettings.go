package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"

	"github.com/spf13/pflag"
)

// compareSettings are what the numbers of a comparison depend on, besides the
// problem. They stand in the suite file, in checkpoints and in results.
type compareSettings struct {
	Algorithms []string `json:"algorithms" yaml:"algorithms"`
	Episodes   int      `json:"episodes" yaml:"episodes"`
	Seed       uint64   `json:"seed" yaml:"seed"`
	Seeds      int      `json:"seeds" yaml:"seeds"`
	Bonus      string   `json:"bonus_scale" yaml:"bonus-scale"`
	Planner    string   `json:"planner" yaml:"planner"`
	Dual       string   `json:"dual" yaml:"dual"`
	Rho        string   `json:"rho" yaml:"rho"`
	Opponent   opponent `json:"opponent,omitempty" yaml:"opponent"`
	Returns    string   `json:"returns" yaml:"returns"`
	Pool       bool     `json:"pool" yaml:"pool"`
	Lazy       bool     `json:"lazy" yaml:"lazy"`
	Failure    float64  `json:"failure" yaml:"failure"`
	Slater     string   `json:"slater" yaml:"slater"`
	Safe       string   `json:"safe_policy" yaml:"safe-policy"`
	Null       string   `json:"null_policy" yaml:"null-policy"`
	Support    string   `json:"support,omitempty" yaml:"support"`
	Margin     float64  `json:"knapsack_margin" yaml:"knapsack-margin"`
}

// An opponent is who plays in games: a word, or a mapping as in a problem file.
type opponent string

// UnmarshalYAML takes either from a suite file.
func (o *opponent) UnmarshalYAML(decode func(any) error) error {
	if decode((*string)(o)) == nil {
		return nil
	}
	var mapping map[string]any
	if err := decode(&mapping); err != nil {
		return err
	}
	text, err := json.Marshal(mapping)
	*o = opponent(text)
	return err
}

func defaultSettings() compareSettings {
	return compareSettings{Algorithms: []string{"all"}, Episodes: 1000, Seed: 1, Seeds: 5, Bonus: "practice",
		Rho: "auto", Returns: "known", Failure: 0.05, Slater: "none", Safe: "none", Null: "none", Support: "none", Margin: baseline.DefaultKnapsackMargin}
}

// addFlags declares the settings with their present values as defaults.
func (c *compareSettings) addFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&c.Algorithms, "algorithms", c.Algorithms, "learners to compare, with commas between; all: every one that is known")
	f.IntVar(&c.Episodes, "episodes", c.Episodes, "episodes of each run")
	f.Uint64Var(&c.Seed, "seed", c.Seed, "seed of the first run of each learner")
	f.IntVar(&c.Seeds, "seeds", c.Seeds, "runs of each learner, with consecutive seeds")
	f.StringVar(&c.Bonus, "bonus-scale", c.Bonus, "constants of bonuses and radii: theory, practice (0.35 of theory for all), published (those of each paper's experiments), paper, or a number that multiplies theory")
	f.StringVar(&c.Planner, "planner", c.Planner, "exploration bonus of MOMA: bernstein, hoeffding (default: hoeffding in games, else bernstein)")
	f.StringVar(&c.Dual, "dual", c.Dual, "dual update that moma stands for: projection, free, double (default: double with a goal, else free)")
	f.StringVar(&c.Rho, "rho", c.Rho, "weight of the distance to the target in double dual updates: auto, model, slater:R or a number")
	f.StringVar((*string)(&c.Opponent), "opponent", string(c.Opponent), "in games, who plays: `NAME` uniform, best-response or adversarial, or as in a problem file (default: what the problem says)")
	f.StringVar(&c.Returns, "returns", c.Returns, "expected one-step returns: known, unknown (learned)")
	f.BoolVar(&c.Pool, "pool", c.Pool, "pool counts over steps (only if the model is the same at every step)")
	f.BoolVar(&c.Lazy, "lazy", c.Lazy, "learners that solve programs do so only when a count has doubled")
	f.Float64Var(&c.Failure, "failure", c.Failure, "probability with which the theory statements may fail")
	f.StringVar(&c.Slater, "slater", c.Slater, "Slater constant told to learners that need it: none, auto (from the model), or a number")
	f.StringVar(&c.Safe, "safe-policy", c.Safe, "safe policy told to learners that need it: none, auto (from the model), or a policy `FILE`")
	f.StringVar(&c.Null, "null-policy", c.Null, "null policy told to learners that need it: none, auto (from the model), or a policy `FILE`")
	f.StringVar(&c.Support, "support", c.Support, "possible successors of each choice, told to learners that have a use for them: none, auto (from the model)")
	f.Float64Var(&c.Margin, "knapsack-margin", c.Margin, "share of every budget that conrl-knapsack sets aside")
}

// check returns an error for what is wrong whatever the problem.
func (c *compareSettings) check() error {
	switch {
	case c.Episodes < 1:
		return usage("episodes %d: want at least 1", c.Episodes)
	case c.Seeds < 1:
		return usage("seeds %d: want at least 1", c.Seeds)
	case c.Seeds > 1_000_000:
		return usage("seeds %d: want at most a million", c.Seeds)
	case c.Returns != "known" && c.Returns != "unknown":
		return usage("returns %q: want known or unknown", c.Returns)
	case !slices.Contains([]string{"", "bernstein", "hoeffding"}, c.Planner):
		return usage("planner %q: want bernstein or hoeffding", c.Planner)
	case !slices.Contains([]string{"", "projection", "free", "double"}, c.Dual):
		return usage("dual %q: want projection, free or double", c.Dual)
	case c.Support != "none" && c.Support != "auto":
		return usage("support %q: want none or auto", c.Support)
	case !(c.Margin >= 0 && c.Margin < 1):
		return usage("knapsack margin %g: want at least 0 and less than 1", c.Margin)
	case !(c.Failure > 0 && c.Failure < 1):
		return usage("failure probability %g: want between 0 and 1", c.Failure)
	}
	if _, err := baseline.ParseScale(c.Bonus); err != nil {
		return usage("%w", err)
	}
	if _, err := c.slater(); err != nil {
		return err
	}
	if c.Opponent != "" {
		if _, err := problem.ParseOpponent("opponent", string(c.Opponent)); err != nil {
			return usage("%w", err)
		}
	}
	_, err := c.roster()
	return err
}

// roster looks the algorithms up, in the order of the list and each once. --dual
// chooses which MOMA moma is.
func (c *compareSettings) roster() ([]baseline.Algorithm, error) {
	var names []string
	for _, name := range c.Algorithms {
		switch name = strings.TrimSpace(name); {
		case name == "all":
			names = append(names, baseline.Names()...)
		case name == "moma" && c.Dual != "":
			names = append(names, "moma-"+c.Dual)
		default:
			names = append(names, name)
		}
	}
	var list []baseline.Algorithm
	for i, name := range names {
		a, err := baseline.Lookup(name)
		if err != nil {
			return nil, &exitError{exitUsage, err}
		}
		if !slices.Contains(names[:i], name) {
			list = append(list, a)
		}
	}
	if len(list) == 0 {
		return nil, usage("no algorithms: want some of %s, or all", strings.Join(baseline.Names(), ", "))
	}
	return list, nil
}

// slater returns the constant that was given, 0 for none and auto.
func (c *compareSettings) slater() (float64, error) {
	if c.Slater == "none" || c.Slater == "auto" {
		return 0, nil
	}
	x, err := strconv.ParseFloat(c.Slater, 64)
	if err != nil || !(x > 0) || x > 1e100 {
		return 0, usage("slater %q: want none, auto or a positive number", c.Slater)
	}
	return x, nil
}

// penalty is that of learn, for tasks that have one.
func (c *compareSettings) penalty(s streams, p *loaded, best *exact.Result) (*cmdp.Penalty, error) {
	if p.task.Cost == nil || p.task.Target == nil {
		if c.Rho != "auto" {
			return nil, usage("rho %s: only problems with a goal and a target have a rho", c.Rho)
		}
		return nil, nil
	}
	l := learnCommand{streams: s, learnOptions: learnOptions{Rho: c.Rho}}
	return l.penalty(p, best)
}

// config returns what all learners of a problem are told.
func (c *compareSettings) config(p *loaded, penalty *cmdp.Penalty, know baseline.Knowledge) (baseline.Config, error) {
	scale, err := baseline.ParseScale(c.Bonus)
	if err != nil {
		return baseline.Config{}, usage("%w", err)
	}
	cfg := baseline.Config{
		Shape: p.Model.Shape(), Task: p.task, Bonus: scale, Pooled: c.Pool, Planner: c.Planner, Penalty: penalty, Lazy: c.Lazy,
		Confidence: cmdp.Confidence{Episodes: c.Episodes, Failure: c.Failure}, Knowledge: know, Tuning: baseline.Tuning{KnapsackMargin: &c.Margin},
	}
	if c.Returns == "known" {
		cfg.Returns = p.Model.KnownReturns()
	}
	return cfg, nil
}

// words describes the settings in a line, of a game without what is told of models
// that have one player.
func (c *compareSettings) words(game bool) string {
	text := fmt.Sprintf("%s, %s of each learner (seed %d)", count(c.Episodes, "episode"), count(c.Seeds, "run"), c.Seed)
	if c.Seeds > 1 {
		text = fmt.Sprintf("%s, %d runs of each learner (seeds %d to %d), means ± 95%% intervals",
			count(c.Episodes, "episode"), c.Seeds, c.Seed, c.Seed+uint64(c.Seeds)-1)
	}
	text += ", " + c.Bonus + " bonus"
	if c.Failure != defaultSettings().Failure {
		text += fmt.Sprintf(", failure probability %g", c.Failure)
	}
	if c.Rho != defaultSettings().Rho {
		text += ", rho " + c.Rho
	}
	if c.Planner == "hoeffding" && !game {
		text += ", planner hoeffding"
	}
	if c.Opponent != "" && game {
		text += ", against " + string(c.Opponent)
	}
	if c.Pool {
		text += ", counts pooled over steps"
	}
	if c.Returns == "unknown" {
		text += ", returns learned"
	}
	if c.Lazy {
		text += ", programs solved when a count has doubled"
	}
	if c.Margin != baseline.DefaultKnapsackMargin {
		text += fmt.Sprintf(", %g of the budgets set aside", c.Margin)
	}
	for _, k := range []struct{ what, value string }{{"Slater constant", c.Slater}, {"safe policy", c.Safe}, {"null policy", c.Null}, {"possible successors", c.Support}} {
		switch {
		case k.value == "none" || game:
		case k.value == "auto":
			text += ", " + k.what + " from the model"
		default:
			text += ", " + k.what + " " + k.value
		}
	}
	return text
}
