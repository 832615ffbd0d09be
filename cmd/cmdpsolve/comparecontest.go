package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
)

// A contest is one problem with the learners that are compared on it.
type contest struct {
	compareSettings
	p           *loaded
	name        string        // in a suite that gives it one
	best        *exact.Result // nil if not known
	cfg         baseline.Config
	know        baseline.Knowledge
	opponent    func() (cmdp.Opponent, error) // nil unless a game
	fingerprint string
	entrants    []*entrant
}

// An entrant is a learner of a contest and what came of its runs.
type entrant struct {
	baseline.Algorithm
	refused string // why it cannot play, or ""
	told    []string
	results []*trialResult // of each seed; nil until it is done
}

func newContest(ctx context.Context, s streams, p *loaded, settings compareSettings) (*contest, error) {
	if err := settings.check(); err != nil {
		return nil, err
	}
	switch {
	case p.Model.Horizon() == 0:
		return nil, usage("%s: learners play episodes and need a horizon; this problem has a discount instead", p.name)
	case p.task.Cost == nil && p.task.Target == nil:
		return nil, usage("%s: nothing to learn for: give a goal, constraints or a target", p.name)
	}
	c := &contest{compareSettings: settings, p: p}
	var err error
	if c.fingerprint, err = p.fingerprint(); err != nil {
		return nil, failed(err)
	}
	if c.fingerprint, err = c.withPolicies(c.fingerprint); err != nil {
		return nil, err
	}
	if c.compareSettings.Planner == "" {
		c.compareSettings.Planner = "bernstein"
		if p.Model.Shape().Game() {
			c.compareSettings.Planner = "hoeffding"
		}
	}
	if p.isGame() {
		if err := c.prepareGame(); err != nil {
			return nil, err
		}
	} else if err := c.prepare(ctx, s); err != nil {
		return nil, err
	}
	penalty, err := settings.penalty(s, p, c.best)
	if err != nil {
		return nil, err
	}
	if c.cfg, err = c.config(p, penalty, c.know); err != nil {
		return nil, err
	}
	return c, c.enter()
}

// withPolicies makes a fingerprint that of the policy files that learners are told, too,
// whose contents results depend on.
func (c *compareSettings) withPolicies(fingerprint string) (string, error) {
	for _, path := range []string{c.Safe, c.Null} {
		if path == "none" || path == "auto" {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return "", usage("%w", err)
		}
		sum := sha256.Sum256(append([]byte(fingerprint), data...))
		fingerprint = hex.EncodeToString(sum[:])
	}
	return fingerprint, nil
}

// prepare computes what is compared with, and what learners are told.
func (c *contest) prepare(ctx context.Context, s streams) error {
	best, err := exact.Solve(ctx, c.p.Model, c.p.task, exact.Options{})
	say := func(format string, args ...any) {
		s.say("%s: %s", c.p.title(), fmt.Sprintf(format, args...))
	}
	switch {
	case ctx.Err() != nil:
		return failed(errInterrupted)
	case err != nil:
		say("the exact optimum is not known, and there is no regret: %v", err)
	case best.Status == exact.Infeasible:
		say("no policy meets the target, and there is no regret; the nearest return is %s away from it", report.Short(best.Certificate.Distance))
	case best.Status == exact.Undecided:
		say("the exact optimum is not known, and there is no regret")
	}
	c.best = best
	c.know, err = c.compareSettings.knowledge(ctx, c.p)
	return err
}

// prepareGame makes sure that there is somebody to play against.
func (c *contest) prepareGame() error {
	if c.Opponent != "" {
		o, err := problem.ParseOpponent("opponent", string(c.Opponent))
		if err != nil {
			return &exitError{exitUsage, err}
		}
		c.p.Opponent = o
	}
	if c.p.Opponent == nil {
		return usage("%s: a game without an opponent: say with --opponent, or in the problem file, who plays against the learners", c.p.name)
	}
	if c.compareSettings.Planner == "bernstein" {
		return usage("%s: planner bernstein: with an opponent no rate is proved for this bonus (erratum E-35); want hoeffding", c.p.name)
	}
	c.opponent = func() (cmdp.Opponent, error) { return c.p.Opponent.Build(c.p.Problem, c.p.task.Target) }
	if _, err := c.opponent(); err != nil {
		return usage("%s: opponent: %w", c.p.name, err)
	}
	return nil
}

// enter makes every learner once: what is wrong with it shows before anything is
// played.
func (c *contest) enter() error {
	list, err := c.roster()
	if err != nil {
		return err
	}
	for _, a := range list {
		e := &entrant{Algorithm: a, results: make([]*trialResult, c.Seeds), told: c.told(a)}
		if _, err := baseline.New(a.Name, c.cfg); errors.Is(err, baseline.ErrUnsupported) {
			e.refused = c.withoutFinding(plainReason(err))
		} else if err != nil {
			return usage("%s: %w", c.p.name, err)
		}
		c.entrants = append(c.entrants, e)
	}
	return nil
}

// withoutFinding adds to the reason of a learner that was not told what it needs that the
// model was asked for it.
func (c *contest) withoutFinding(reason string) string {
	for need, asked := range map[string]string{"Slater constant": c.Slater, "safe policy": c.Safe, "null policy": c.Null} {
		if asked == "auto" && strings.HasPrefix(reason, "it needs a "+need) {
			return reason + ", and the model has none"
		}
	}
	return reason
}

// told lists what of the knowledge an algorithm uses.
func (c *contest) told(a baseline.Algorithm) []string {
	told := []string{}
	for _, need := range a.Needs {
		switch {
		case need == "Slater constant" && c.know.Slater > 0:
			told = append(told, fmt.Sprintf("Slater constant %s", report.Brief(c.know.Slater)))
		case need == "safe policy" && c.know.Safe != nil, need == "null policy" && c.know.Null != nil:
			told = append(told, need)
		}
	}
	if a.UsesSupport && c.know.Support != nil {
		told = append(told, "possible successors")
	}
	return told
}

// plainReason is the text of an error of an algorithm without what the reader
// knows already.
func plainReason(err error) string {
	text := err.Error()
	if _, reason, ok := strings.Cut(text, baseline.ErrUnsupported.Error()+": "); ok {
		return reason
	}
	return text
}

// refusals lists the algorithms that do not play, with their reasons.
func (c *contest) refusals() []string {
	var list []string
	for _, e := range c.entrants {
		if e.refused != "" {
			list = append(list, e.Name+": "+e.refused)
		}
	}
	return list
}

// A trial is one run of a contest.
type trial struct {
	*contest
	*entrant
	run int // number of the seed
}

func (t *trial) seed() uint64 { return t.compareSettings.Seed + uint64(t.run) }

// trials returns the runs that are to be played, seeds first.
func (c *contest) trials() []*trial {
	var list []*trial
	for _, e := range c.entrants {
		for i := range c.Seeds {
			if e.refused == "" && e.results[i] == nil {
				list = append(list, &trial{c, e, i})
			}
		}
	}
	return list
}
