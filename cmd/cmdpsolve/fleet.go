package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/fleet"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
)

// isFleet reports whether the problem is one of many agents. It has no model then.
func (p *loaded) isFleet() bool { return p.Query != nil && p.Fleet() != nil }

// oneAgent returns an error for a fleet, where a command is for one agent.
func (p *loaded) oneAgent(what string) error {
	if p.isFleet() {
		return usage("%s: %s: a fleet: want a problem of one agent", what, p.name)
	}
	return nil
}

// declared names the returns that are reported: all but those of a fleet at single steps.
func (p *loaded) declared() []string {
	if p.isFleet() {
		return p.Problem.Returns
	}
	return p.Returns
}

// transitions counts those of the model, or of all models of a fleet.
func (p *loaded) transitions() int {
	_, _, n := p.Size()
	return n
}

// fleetSize describes a fleet in a line.
func (p *loaded) fleetSize() string {
	f := p.Fleet()
	states, choices, transitions := p.Size()
	m := f.Types[0].Model
	return fmt.Sprintf("%s of %s, %s, %s, %s, %s, returns %s", count(f.Agents(), "agent"), count(len(f.Types), "type"),
		count(states, "state"),
		count(choices, "choice"), count(transitions, "transition"), timeOf(m, f.Returns, m.Mean),
		strings.Join(f.Returns, ", "))
}

func (c *planCommand) planFleet(ctx context.Context, p *loaded) error {
	opinion, err := c.askGLPK(ctx, p)
	if err != nil {
		return err
	}
	opts, progress := c.exact(c.status, p.transitions(), p.Sense())
	opts.NoNearest, opts.Budget = true, c.budget
	begin := time.Now()
	var plan *fleet.Plan
	var safe *fleet.Safe
	if c.safety > 0 {
		safe, err = p.SolveFleetSafely(ctx, c.safety, safetySeed, opts)
	} else {
		plan, err = p.SolveFleet(ctx, opts)
	}
	if safe != nil {
		plan = safe.Plan
	}
	var clash []conflictReport
	if err == nil && plan.Status == exact.Infeasible && (safe == nil || safe.Without.Status == exact.Infeasible) {
		clash, err = c.conflict(ctx, p, conflictOptions(p, opts, plan.Iterations), begin)
	}
	progress.line.forgets()
	if err != nil {
		return p.stopped(err)
	}
	d := newPlanReport(p, plan.Result, time.Since(begin))
	d.Conflict = clash
	d.SecondOpinion = newOpinionReport(p, opinion, plan.Result)
	d.addFleet(p, plan)
	d.policy, err = c.shownTypes(ctx, p, plan)
	if err != nil {
		return p.stopped(err)
	}
	if safe != nil {
		d.Safety = newSafetyReport(p, safe)
	}
	files := c.writeFleet(p, d, plan)
	err = c.finish(p, d, plan.Result, files, c.undecided(p, plan.Result))
	if err == nil && safe != nil && !safe.Met {
		err = &exitError{exitInfeasible, nil}
	}
	return err
}

// member is the problem of one agent of a type.
func (p *loaded) member(k int) *loaded { return p.as(p.Fleet().Members[k]) }

// mixtureOf returns the policies of a type with their shares, as those of a plan of one agent.
func mixtureOf(t *fleet.TypePlan) (policy *exact.Policy, mixture []exact.WeightedPolicy) {
	if len(t.Policies) == 1 {
		return t.Policies[0].Policy, nil
	}
	for _, a := range t.Policies {
		mixture = append(mixture, exact.WeightedPolicy{Weight: a.Share, Policy: a.Policy})
	}
	return nil, mixture
}

// shownTypes shows what the agents of each type do, if that is asked for.
func (o *showOptions) shownTypes(ctx context.Context, p *loaded,
	plan *fleet.Plan) (sections []report.Section, err error) {
	if !o.show {
		return nil, nil
	}
	for k := range plan.Types[:min(mostTypes, len(plan.Types))] {
		r := &exact.Result{Status: plan.Status}
		r.Policy, r.Mixture = mixtureOf(&plan.Types[k])
		shown, err := o.shownPolicy(ctx, p.member(k), r)
		if err != nil {
			return nil, err
		}
		sections = append(sections, report.Note{fmt.Sprintf("An agent of type %s:", p.Fleet().Types[k].Name)})
		sections = append(sections, shown...)
	}
	return sections, nil
}

// checkFleet refuses what is for one agent.
func (c *planCommand) checkFleet(p *loaded) error {
	flag := firstGiven(option{"--deterministic", c.deterministic}, option{"--log", c.credible.log != ""},
		option{"--opponent-policy", c.opponentPolicy != ""}, option{"--worst", c.worst.worst != ""})
	switch {
	case flag != "":
		return p.oneAgent(flag)
	case c.distribution:
		return usage("--distribution: %s: a fleet is played to see how its returns vary: give simulate --distribution",
			p.name)
	case c.safety > 0 && c.secondOpinion:
		return usage("--second-opinion: the limits of --safety are found along the way: want one of them")
	}
	if _, err := problem.PolicyFormat(c.policy, true); c.policy != "" && err != nil {
		return usage("--policy %s: %w", c.policy, err)
	}
	return nil
}

// writeFleet writes the policies of all types and the plot, if they are asked for.
func (c *planCommand) writeFleet(p *loaded, d *planReport, plan *fleet.Plan) error {
	if plan.Status != exact.Optimal && plan.Status != exact.Stopped || plan.Types == nil {
		if c.policy != "" {
			c.notWritten(c.policy, "none is known to be what is wanted")
		}
		return nil
	}
	if c.policy != "" {
		if err := c.writeTypes(p, c.policy, plan); err != nil {
			return err
		}
		for k := range d.Types {
			d.Types[k].Policy = typeFile(c.policy, d.Types[k].Name)
		}
	}
	if c.sweep.plot == "" {
		return nil
	}
	if len(d.Use.Names) == 0 {
		c.say("nothing is drawn to %s: no limit is for single steps", c.sweep.plot)
		return nil
	}
	return d.useFigure(p).Save(c.sweep.plot)
}

// writePolicy writes the policy of an answer, or those of all types of a fleet.
func (s streams) writeAnswer(p *loaded, path string, policy *exact.Policy, mixture []exact.WeightedPolicy,
	parts []exact.PartMixture) error {
	if p.isFleet() {
		return s.writeTypes(p, path, p.Fleet().Plan(&exact.Result{Parts: parts}))
	}
	return s.writeRows(path, p.Process, p.PlanRows(policy, mixture))
}

// writeTypes writes the policies of all types, each to a file of its own.
func (s streams) writeTypes(p *loaded, path string, plan *fleet.Plan) error {
	for k := range plan.Types {
		of := p.Fleet().Members[k]
		err := s.writeRows(typeFile(path, p.Fleet().Types[k].Name), of.Process,
			of.PlanRows(mixtureOf(&plan.Types[k])))
		if err != nil {
			return err
		}
	}
	return nil
}

// typeFile is the file of the policy of a type: policy-van.csv for policy.csv.
func typeFile(path, name string) string {
	safe := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>| `, r) {
			return '_'
		}
		return r
	}, name)
	ending := filepath.Ext(path)
	return strings.TrimSuffix(path, ending) + "-" + safe + ending
}

// limitAt returns the narrowest limit on a return at a step, counted from 1, on one side; nil if there is none.
func limitAt(p *loaded, name string, step int, atLeast bool) (narrowest *query.Limit) {
	for _, l := range p.Limits {
		if l.Step != step || l.AtLeast != atLeast || p.Problem.Constraints[l.Constraint].Return != name {
			continue
		}
		if narrowest == nil || atLeast && l.Bound > narrowest.Bound || !atLeast && l.Bound < narrowest.Bound {
			narrowest = l
		}
	}
	return narrowest
}
