package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/instance"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/simulator"
	"cmdpsolve/cost"

	"gonum.org/v1/gonum/floats"
)

// loaded is a problem with what is wanted of it.
type loaded struct {
	*problem.Problem
	task cmdp.Task
	name string // what the user called it
	// hello is what a simulator said that is played in the place of a model; else nil.
	hello *simulator.Hello
	// changes were made to what the user called for.
	changes []*variation
}

// wanting returns a problem with what is wanted of it.
func wanting(p *problem.Problem, name string) (*loaded, error) {
	task, err := p.Task()
	if err != nil {
		return nil, usage("%s: %w", name, err)
	}
	return &loaded{Problem: p, task: task, name: name}, nil
}

// readFile reads a problem file. On a terminal it shows how much has been read, if that
// takes long.
func readFile(name string, opts problem.Options) (*problem.Problem, error) {
	if name == "-" {
		return problem.ReadFrom(os.Stdin, "standard input", opts)
	}
	line := newStatusLine(os.Stderr, false)
	defer line.close()
	opts.Progress = line.reading(name)
	return problem.ReadWith(name, opts)
}

// problemFlags are the options with which problems are read.
func (s streams) problemFlags() []string {
	var flags []string
	if s.problem.Outside {
		flags = append(flags, "--outside")
	}
	for _, name := range slices.Sorted(maps.Keys(s.problem.Set)) {
		flags = append(flags, "--set", name+"="+s.problem.Set[name])
	}
	return flags
}

// read reads PROBLEM: standard input if it is -, a built-in instance if it begins with the
// name of one and is no file, else a problem file.
func read(name string, opts problem.Options) (*problem.Problem, error) {
	kind, _, _ := strings.Cut(name, ":")
	builtIn := slices.Contains(instance.Names(), kind) && !strings.ContainsAny(kind, "./\\")
	_, err := os.Stat(name)
	switch {
	case err == nil, name == "-", !builtIn && strings.ContainsAny(name, "./\\"):
		return readFile(name, opts) // its error names the file
	case builtIn && len(opts.Set) > 0:
		return nil, fmt.Errorf("--set: %s is a built-in instance, which has no constants: its parameters stand behind a colon, see cmdpsolve instances", kind)
	}
	p, err := instance.New(name)
	if err != nil && !builtIn {
		err = fmt.Errorf("%q is neither a file nor a built-in instance: %w", name, err)
	}
	return p, err
}

// sense is +1 if the cost of the task is the user's objective, -1 if it is the
// negative of a return to be maximised.
func (p *loaded) sense() float64 {
	if p.Goal.Maximize != "" {
		return -1
	}
	return 1
}

// objective returns the objective in the user's sense, NaN without a goal.
func (p *loaded) objective(v []float64) float64 {
	if p.task.Cost == nil {
		return math.NaN()
	}
	return p.sense() * p.task.Cost.Value(v)
}

// title is the name of the problem, or what the user called it.
func (p *loaded) title() string {
	return cmp.Or(p.Name, p.name)
}

// heading says what the problem is and what is wanted of it, then how it was answered.
func (p *loaded) heading(answered ...string) report.Heading {
	return p.headed(p.wanted(), answered...)
}

// headed is heading with another description of what is wanted.
func (p *loaded) headed(wanted string, answered ...string) report.Heading {
	return append(report.Heading{p.title() + ": " + wanted, p.size()}, answered...)
}

// A subject is what a report is about: a problem by its name, and what is wanted of it.
type subject struct {
	Problem string `json:"problem"`
	Wanted  string `json:"wanted,omitempty"`
	made
}

func (p *loaded) subject() subject { return subject{Problem: p.Name, Wanted: p.wanted()} }

// wanted describes goal, constraints and target in a line.
func (p *loaded) wanted() string {
	goal := p.Goal.String()
	if _, ok := p.task.Cost.(cost.Affine); ok && p.Goal.Cost != nil {
		goal = "minimize a linear cost"
	}
	limits := strings.Join(p.wantedLimits(), ", ")
	switch {
	case goal == "" && limits == "":
		return "nothing is wanted"
	case goal == "":
		return "meet " + limits
	case limits == "":
		return goal
	}
	return goal + " subject to " + limits
}

// wantedLimits describes constraints and target.
func (p *loaded) wantedLimits() []string {
	var out []string
	for _, c := range p.task.Constraints {
		if c.Kind != "target" && c.Kind != "always" {
			out = append(out, p.limitName(c))
		}
	}
	out = append(out, p.alwaysNames()...)
	if p.Target != nil {
		out = append(out, "returns in the target set")
	}
	return out
}

// limitName names a limit as the problem has it: one on the mean of the worst episodes holds for any threshold.
func (p *loaded) limitName(c cmdp.Constraint) string {
	if t := p.tail(c); t != nil {
		return t.Name
	}
	return c.Name
}

// tail returns the limit on the mean of the worst episodes that a constraint stands for, nil if it is another one.
func (p *loaded) tail(c cmdp.Constraint) *problem.Tail {
	list := tails(p.Problem)
	i := slices.IndexFunc(list, func(t problem.Tail) bool { return c.Return == t.Excess && c.Kind == "at_most" && c.Bound == t.Room })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// kindOfTail is the kind of a limit on the mean of the worst episodes.
func kindOfTail(t *problem.Tail) string {
	if t.AtLeast {
		return "at_least"
	}
	return "at_most"
}

// alwaysNames lists the limits of every episode.
func (p *loaded) alwaysNames() []string {
	var names []string
	for _, a := range p.Always() {
		names = append(names, a.Name)
	}
	return names
}

// always returns the limit of every episode that a constraint stands for, nil if it is about means.
func (p *loaded) always(c cmdp.Constraint) *problem.Always {
	list := p.Always()
	if i := slices.IndexFunc(list, func(a problem.Always) bool { return a.Chance == c.Return }); i >= 0 && c.Kind == "always" {
		return &list[i]
	}
	return nil
}

// size describes the model in a line.
func (p *loaded) size() string { return p.sizeWith(p.Returns) }

// sizeWith is size with some of the returns.
func (p *loaded) sizeWith(returns []string) string {
	m := p.Model
	if m == nil {
		return p.simulated()
	}
	states := count(m.States(), "state")
	if p.Memory != nil {
		states = fmt.Sprintf("%s, %d with memory", count(p.Memory.Base().States(), "state"), m.States())
	}
	return fmt.Sprintf("%s, %s, %s, %s, returns %s",
		states, count(m.Choices(), "choice"), count(m.Transitions(), "transition"), p.time(), strings.Join(returns, ", "))
}

// time says over which time returns are summed.
func (p *loaded) time() string {
	switch m := p.Model; {
	case p.Shape() != nil:
		return fmt.Sprintf("horizon %d", p.steps())
	case m.Average():
		return "long-run mean of a step"
	case m.Means():
		var means, totals []string
		for i, name := range p.Returns {
			if m.Mean(i) {
				means = append(means, name)
			} else {
				totals = append(totals, name)
			}
		}
		return fmt.Sprintf("long-run mean of a step of %s, total of %s", strings.Join(means, " and "), strings.Join(totals, " and "))
	case m.Discount() == 1:
		return "total return until absorption"
	default:
		return "discount " + report.Short(m.Discount())
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// sides returns the sides of the box of possible returns. Rounding errors are
// measured relative to them, because returns may be of very different sizes.
func (p *loaded) sides() []float64 {
	sides, lower, upper := make([]float64, len(p.Returns)), p.task.Box.Lower(), p.task.Box.Upper()
	if p.Shape() == nil {
		exact.CutBox(lower, upper, p.task.Target)
	}
	for i, x := range lower {
		sides[i] = max(upper[i]-x, 1e-3*math.Abs(x), 1e-3*math.Abs(upper[i]))
	}
	return sides
}

// extent is the diameter of the box of possible returns.
func (p *loaded) extent() float64 { return floats.Norm(p.sides(), 2) }

// keeps reports whether v lies in the target up to rounding, each coordinate in its
// own measure.
func (p *loaded) keeps(v []float64) bool {
	if p.task.Target == nil {
		return true
	}
	near := make([]float64, len(v))
	p.task.Target.Project(near, v)
	for i, side := range p.sides() {
		endless := math.IsInf(v[i], 0) && math.Abs(near[i]) == problem.Boundless
		if math.Abs(v[i]-near[i]) > 1e-9*side && !endless {
			return false
		}
	}
	return true
}

// missed writes the distance of v from the target, 0 if it is rounding.
func (p *loaded) missed(v []float64) string {
	if p.keeps(v) {
		return "0"
	}
	return report.Short(p.task.Violation(v))
}

// learnable reports whether learn takes the problem: it plays episodes of a horizon.
func (p *loaded) learnable() bool { return p.Model.Horizon() > 0 }

// isGame reports whether an opponent has a choice somewhere.
func (p *loaded) isGame() bool {
	sh := p.Shape()
	return sh != nil && sh.Game()
}

// onePlayer returns an error for a game, because one player's policy alone has
// no return there.
func (p *loaded) onePlayer() error {
	if p.isGame() {
		return usage("%s: a game: want a problem with one player", p.name)
	}
	return nil
}
