package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exchange/formats"
	"cmdpsolve/cmdp/instance"
	"cmdpsolve/cmdp/monitor"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
	"cmdpsolve/cmdp/simulator"
	"cmdpsolve/cost"
	"cmdpsolve/internal/nearest"

	"gonum.org/v1/gonum/floats"
)

// loaded is a query with what the user called it.
type loaded struct {
	*query.Query
	name string
	// hello is what a simulator said that is played in the place of a model; else nil.
	hello *simulator.Hello
}

// as returns another query under the same name.
func (p *loaded) as(q *query.Query) *loaded {
	other := *p
	other.Query = q
	return &other
}

// remembering returns the problem whose states remember what the policies of an answer do.
func (p *loaded) remembering(product *monitor.ProductModel) (*loaded, error) {
	q, err := p.Remembering(product)
	if err != nil {
		return p, err
	}
	return p.as(q), nil
}

// readFile reads a problem file.
func readFile(name string, opts problem.ReadOptions) (*problem.Problem, error) {
	if name == "-" {
		return problem.ReadFrom(os.Stdin, "standard input", opts)
	}
	return problem.ReadWith(name, opts)
}

// inlineProperty stands where the file of a property would for one that the command line has.
const inlineProperty = "--property"

// A propertyFlag is the value of --property: a property itself, or a file of properties and perhaps a name.
type propertyFlag struct{ of *problem.ReadOptions }

func (o propertyFlag) Type() string { return "property" }

func (o propertyFlag) String() string {
	switch {
	case o.of == nil || o.of.Property == nil:
		return ""
	case o.of.Property.File == inlineProperty:
		return o.of.Property.Text
	case o.of.Property.Name != "":
		return o.of.Property.File + ":" + o.of.Property.Name
	}
	return o.of.Property.File
}

func (o propertyFlag) Set(text string) error {
	p := &problem.Property{File: text}
	if _, err := os.Stat(text); err != nil {
		if i := strings.LastIndexByte(text, ':'); i >= 0 {
			p.File = text[:i]
			p.Name = text[i+1:]
		}
	}
	data, err := problem.ReadText(p.File)
	switch {
	case err == nil:
		p.Text = string(data)
	case strings.ContainsAny(text, "[?") || !strings.ContainsAny(text, "./\\:"): // the second a name in a file in JANI
		p = &problem.Property{File: inlineProperty, Text: text}
	default:
		return err
	}
	o.of.Property = p
	return nil
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
	for _, name := range slices.Sorted(maps.Keys(s.problem.Constants)) {
		flags = append(flags, "--const", name+"="+s.problem.Constants[name])
	}
	asked := propertyFlag{s.problem}
	if asked := asked.String(); asked != "" {
		flags = append(flags, "--property", asked)
	}
	return flags
}

// read reads PROBLEM: standard input if it is -, a built-in instance if it begins with the
// name of one and is no file, else a problem file.
func read(name string, opts problem.ReadOptions) (*problem.Problem, error) {
	kind, _, _ := strings.Cut(name, ":")
	builtIn := slices.Contains(instance.Names(), kind) && !strings.ContainsAny(kind, "./\\")
	_, err := os.Stat(name)
	if opts.Property != nil && !formats.IsLanguage(name) {
		return nil, fmt.Errorf("--property: %s is no model in a language: a problem file says itself what is asked",
			name)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && name != "-" && !builtIn && strings.ContainsAny(name, "./\\"):
		return nil, fmt.Errorf("%s: no such file%s", name, similarProblem(name))
	case err == nil, name == "-", !builtIn && strings.ContainsAny(name, "./\\"):
		return readFile(name, opts) // its error names the file
	case builtIn && len(opts.Constants) > 0:
		return nil, fmt.Errorf("--const: %s is a built-in instance: its parameters stand behind a colon, see "+
			"cmdpsolve instances", kind)
	case builtIn && len(opts.Set) > 0:
		return nil, fmt.Errorf("--set: %s is a built-in instance, which has no constants: its parameters stand "+
			"behind a colon, see cmdpsolve instances", kind)
	}
	if !builtIn {
		hint := cmp.Or(similarProblem(name), ": want one of "+nearest.List(name, instance.Names()))
		return nil, fmt.Errorf("%q is neither a file nor a built-in instance%s", name, hint)
	}
	ctx := opts.Context
	if ctx == nil {
		ctx = context.Background()
	}
	return instance.NewWithin(ctx, name, opts.Bytes)
}

// similarProblem says which problem may be meant by a name that is none: a file of the same folder or a
// built-in instance, "" if nothing is similar.
func similarProblem(name string) string {
	stem := func(file string) string {
		file = filepath.Base(file)
		return strings.TrimSuffix(file, filepath.Ext(file))
	}
	meant := make(map[string]string) // by stem
	instances := instance.Names()
	for _, known := range instances {
		meant[known] = "the built-in instance " + known
	}
	entries, _ := os.ReadDir(filepath.Dir(name)) // a folder that cannot be read has no files to name
	for _, e := range entries {
		kind := strings.ToLower(filepath.Ext(e.Name()))
		if !e.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, kind) {
			meant[stem(e.Name())] = filepath.Join(filepath.Dir(name), e.Name())
		}
	}
	best := stem(name) // of a file with another ending
	if meant[best] == "" {
		best = nearest.Find(best, slices.Sorted(maps.Keys(meant)))
	}
	if best == "" {
		given, _, _ := strings.Cut(stem(name), ":") // a built-in instance with parameters
		best = nearest.Find(given, instances)
	}
	if best == "" {
		return ""
	}
	return ", did you mean " + meant[best] + "?"
}

// title is the name of the problem, or what the user called it.
func (p *loaded) title() string {
	return cmp.Or(p.Problem.Name, p.name)
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
	// Rounded says that totals are rounded. Numbers are those of the rounded problem, but for those that
	// [query.Query.Rounded] names.
	Rounded bool `json:"rounded,omitempty"`
	// Notes say of limits on episodes what they come to.
	Notes []string `json:"notes,omitempty"`
	made
}

func (p *loaded) subject() subject {
	return subject{Problem: p.title(), Wanted: p.wanted(), Rounded: p.Rounded(), Notes: p.Notes}
}

// wanted describes goal, constraints and target in a line.
func (p *loaded) wanted() string {
	goal := p.Problem.Goal.String()
	if _, ok := p.Task.Cost.(cost.Affine); ok && p.Problem.Goal.Cost != nil {
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
	stepped := -1 // the constraint whose limits at single steps were the last
	for _, l := range p.Limits {
		switch {
		case l.Scope == query.OfTarget || l.Scope == query.EveryEpisode || l.Step > 0 && l.Constraint == stepped:
		case l.Step > 0:
			stepped = l.Constraint
			out = append(out, p.Problem.Constraints[l.Constraint].String())
		default:
			out = append(out, l.Name)
		}
	}
	out = append(out, p.alwaysNames()...)
	if p.Problem.Target != nil {
		out = append(out, "returns in the target set")
	}
	return out
}

func (p *loaded) alwaysNames() []string {
	var names []string
	for _, l := range p.Of(query.EveryEpisode) {
		names = append(names, l.Name)
	}
	return names
}

// size describes the model in a line.
func (p *loaded) size() string { return p.sizeWith(p.Returns) }

// sizeWith is size with some of the returns.
func (p *loaded) sizeWith(returns []string) string {
	if p.isFleet() {
		return p.fleetSize()
	}
	m := p.Model
	if m == nil {
		return p.simulated()
	}
	states, deadlocks := count(m.States(), "state"), ""
	if d := p.Problem.Described; d != nil && d.Deadlocks() > 0 {
		deadlocks = fmt.Sprintf(" (%s)", count(d.Deadlocks(), "deadlock"))
	}
	states += deadlocks
	if p.Remembers() {
		states = fmt.Sprintf("%s%s, %d with memory", count(p.Product.Base().States(), "state"), deadlocks, m.States())
	}
	return fmt.Sprintf("%s, %s, %s, %s, returns %s",
		states, count(m.Choices(), "choice"), count(m.Transitions(), "transition"), p.time(),
		strings.Join(returns, ", "))
}

// endless is the discount of a problem that is played in one run without end, 1 for long-run means, and 0 of others.
func (p *loaded) endless() float64 {
	switch {
	case p.hello != nil:
		return p.Problem.SimulatedDiscount
	case p.Shape() != nil || !p.Model.Average() && p.Model.Discount() == 1:
		return 0
	}
	return p.Model.Discount()
}

// discounted names a discount with as many digits as tell it from 1, which stands for totals.
func discounted(gamma float64) string {
	shown, _ := report.Apart(gamma, 1)
	return "discount " + shown
}

// time says over which time returns are summed.
func (p *loaded) time() string {
	switch gamma := p.endless(); {
	case gamma == 1:
		return "long-run mean of a step"
	case gamma > 0:
		return discounted(gamma)
	case p.Shape() != nil:
		return fmt.Sprintf("horizon %d", p.steps())
	}
	return timeOf(p.Model, p.Returns, p.Model.Mean)
}

// timeOf says over which time the returns of a model are summed, of which some may be means.
func timeOf(m *cmdp.Model, returns []string, mean func(i int) bool) string {
	switch {
	case m.Horizon() > 0:
		return fmt.Sprintf("horizon %d", m.Horizon())
	case m.Average():
		return "long-run mean of a step"
	case m.Means():
		var means, totals []string
		for i, name := range returns {
			if mean(i) {
				means = append(means, name)
			} else {
				totals = append(totals, name)
			}
		}
		return fmt.Sprintf("long-run mean of a step of %s, total of %s", strings.Join(means, " and "),
			strings.Join(totals, " and "))
	case m.Discount() == 1:
		return "total return until absorption"
	default:
		return discounted(m.Discount())
	}
}

func count(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "ch"): // branches
		return fmt.Sprintf("%d %ses", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// extent is the diameter of the box of possible returns.
func (p *loaded) extent() float64 { return floats.Norm(p.Scale(), 2) }

// missed writes the distance of v from the target, 0 if it is rounding.
func (p *loaded) missed(v []float64) string {
	if p.Keeps(v) {
		return "0"
	}
	return report.Short(p.Task.Violation(v))
}

// learnable reports whether learn takes the problem: it plays episodes of a horizon.
func (p *loaded) learnable() bool { return !p.isFleet() && p.Model.Horizon() > 0 }

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
