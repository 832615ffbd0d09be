package problem

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/cmdp/exchange/formats"
	"cmdpsolve/cmdp/language"
	"cmdpsolve/cmdp/language/jani"
	"cmdpsolve/cmdp/language/prism"
	"cmdpsolve/cmdp/language/property"
)

// A Property is a question about a model in a language.
type Property struct {
	// File names the text in errors. Name chooses a property of the text by its name; it may be empty if there
	// is only one.
	File, Text, Name string
}

// choose returns the property that is meant, and takes the constants that its text defines out of those given. It
// stands in a text in PRISM's language, in another file in JANI, or in the model if the text is its name there.
func (p Property) choose(path string, model []byte, given map[string]string) (*property.Property, error) {
	var list []property.Property
	var defined []string
	var err error
	switch {
	case formats.IsJANI(p.File):
		list, err = jani.Properties(p.File, []byte(p.Text), given)
	case formats.IsJANI(path) && !strings.ContainsAny(p.Text, "[?"):
		list, err = jani.Properties(path, model, given)
		p.File, p.Name = path, p.Text
	default:
		list, defined, err = prism.ReadProperties(p.File, p.Text, given)
	}
	if err != nil {
		return nil, err
	}
	for _, name := range defined {
		delete(given, name)
	}
	var names []string
	for i := range list {
		if list[i].Name == p.Name || p.Name == "" && len(list) == 1 {
			return &list[i], list[i].Err
		}
		names = append(names, list[i].Name)
	}
	if p.Name == "" {
		return nil, fmt.Errorf("%s: %d properties: want FILE:NAME, which names one of %s", p.File, len(list),
			strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("%s: no property %s%s", p.File, shorten(p.Name), orWant(p.Name, names))
}

// An asked problem is a property in the words of a problem file.
type asked struct {
	file        string
	rewards     []string // of the model
	horizon     int
	average     bool // some formula is a mean
	once        bool // some formula is none
	rest        string
	program     *language.Program
	agent       string            // of a game
	entering    map[string]string // conditions that are returns of a game
	names       map[string]bool
	spent       map[string]string // the returns that others look at, by their rewards
	returns     []string          // as members of the mapping
	constraints []string
	goals       []string
	tradeOff    []string
}

func (a *asked) bad(f *property.Formula, format string, args ...any) error {
	return &language.Error{File: a.file, At: f.At, Message: fmt.Sprintf(format, args...)}
}

func quote(text string) string { return string(appendName(nil, text)) }

// problemOf writes the problem file that asks a property about a model. If it has several optima they are no
// part of it, and are returned too.
func problemOf(model string, constants map[string]string, file string, p *property.Property,
	program *language.Program) (text string, tradeOff []string, err error) {
	a := &asked{file: file, program: program, names: make(map[string]bool), spent: make(map[string]string),
		entering: make(map[string]string)}
	for _, r := range program.Rewards {
		a.rewards = append(a.rewards, r.Name)
	}
	for i := range p.Formulas {
		if err := a.examine(&p.Formulas[i], len(p.Formulas)); err != nil {
			return "", nil, err
		}
	}
	if program.Kind != language.Game && slices.ContainsFunc(p.Formulas, a.beyond) {
		a.horizon = 0
	}
	for i := range p.Formulas {
		if err := a.add(&p.Formulas[i]); err != nil {
			return "", nil, err
		}
	}
	if a.average && a.once {
		return "", nil, a.bad(&p.Formulas[0],
			"long-run means beside totals or probabilities: ask them in a problem file, see docs/properties.md")
	}
	if len(a.goals) > 1 {
		tradeOff = a.tradeOff
	}
	return a.text(model, constants, p.Name), tradeOff, nil
}

// examine finds who asks a formula, for how many steps, and where the process rests; it refuses what cannot be asked.
func (a *asked) examine(f *property.Formula, formulas int) error {
	for _, condition := range []string{f.While, f.Goal} {
		if condition == "" {
			continue
		}
		if _, err := a.program.Parse(condition); err != nil {
			return a.bad(f, "%s: %s", shorten(condition), err.(*language.Error).Message)
		}
	}
	if err := a.play(f, formulas); err != nil {
		return err
	}
	switch {
	case f.Within >= 0 && slices.Contains(a.program.Actions, language.TimeAction):
		return a.bad(f, "a bound of time in a model with clocks is not supported: "+
			"bound a reward that is 1 for each unit of time, as in %c{\"time\"}<=%d", f.Path, f.Within)
	case f.Within == 0 && f.Kind == 'R':
		return a.bad(f, "the total of 0 steps, which is 0: want a bound of 1 or more")
	case f.Within > 0 && f.Kind == 'R' && f.Costs == nil:
		a.horizon = f.Within
	}
	if f.Kind == 'R' && f.Path == 'F' {
		a.rest = f.Goal
	}
	return nil
}

func (a *asked) text(model string, constants map[string]string, name string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("format: " + Format)
	if name != "" {
		line("name: %s", quote(name))
	}
	switch {
	case a.average:
		line("criterion: average")
	case a.horizon > 0:
		line("horizon: %d", a.horizon)
	default:
		line("discount: 1")
	}
	line("returns:\n  %s", strings.Join(a.returns, "\n  "))
	if len(a.goals) == 1 {
		line("goal: {%s}", a.goals[0])
	}
	if a.constraints != nil {
		line("constraints:\n  - %s", strings.Join(a.constraints, "\n  - "))
	}
	line("transitions:\n  file: %s", quote(model))
	for i, of := range []map[string]string{constants, a.entering} {
		var values []string
		for _, key := range slices.Sorted(maps.Keys(of)) {
			values = append(values, key+": "+quote(of[key]))
		}
		if values != nil {
			line("  %s: {%s}", []string{"constants", "entering"}[i], strings.Join(values, ", "))
		}
	}
	if a.agent != "" {
		line("  agent: %s", quote(a.agent))
	}
	if a.rest != "" {
		line("  rest: %s", quote(a.rest))
	}
	return b.String()
}

// beyond reports whether the steps of the horizon do not tell a formula.
func (a *asked) beyond(f property.Formula) bool {
	if f.Kind == 'R' && f.Costs == nil {
		return f.Within != a.horizon
	}
	return f.Within < 0 || f.Within > a.horizon
}

// play looks at who asks a formula. In a game that is one player, against the other one, and for a number of steps.
func (a *asked) play(f *property.Formula, formulas int) error {
	players := a.program.Players
	if a.program.Kind != language.Game {
		if f.Coalition != nil {
			return a.bad(f, "a coalition in a model of one player: want the formula without it")
		}
		return nil
	}
	agent := players[0]
	if f.Coalition != nil {
		agent = strings.Join(f.Coalition, ",")
		if n, err := strconv.Atoi(agent); err == nil && (n == 1 || n == 2) {
			agent = players[n-1]
		}
		if !slices.Contains(players, agent) {
			return a.bad(f, "the coalition <<%s>>: want one of the players, %s, against the other one", shorten(agent),
				strings.Join(players, " or "))
		}
	}
	switch {
	case a.agent != "" && a.agent != agent:
		return a.bad(f, "formulas of both players: want those of one")
	case f.Costs != nil:
		return a.bad(f, "bounds of rewards in a game are not supported")
	case f.Within < 1 || f.Path == 'G':
		return a.bad(f, "a game without a bound of steps, or with G: want F<=k, U<=k or C<=k")
	case f.Kind == 'P' && formulas > 1:
		return a.bad(f, "a probability beside other formulas in a game: want it alone")
	}
	a.agent = agent
	if f.Kind == 'R' {
		return nil
	}
	goal, err := a.program.Parse(f.Goal)
	if err != nil {
		return err
	}
	already, err := a.program.Initially(goal)
	if err == nil && already {
		return a.bad(f, "the initial state satisfies %s already: the probability is 1", shorten(f.Goal))
	}
	a.horizon = f.Within
	a.rest = f.Goal
	if f.While != "" {
		a.rest = "(" + f.Goal + ") | !(" + f.While + ")"
	}
	return err
}

// add adds the return, bound or goal of a formula.
func (a *asked) add(f *property.Formula) error {
	name, kind, err := a.measured(f)
	if err != nil {
		return err
	}
	name = a.give(name, kind)
	bound, value := f.Bound, f.Value
	if f.Path == 'G' { // the probability of leaving
		bound = map[string]string{">=": "<=", "<=": ">=", "max": "min", "min": "max", "=": "="}[bound]
		value = 1 - value
	}
	number := strconv.FormatFloat(value, 'g', -1, 64)
	switch bound {
	case ">=":
		a.constraints = append(a.constraints, `{return: `+quote(name)+`, at_least: `+number+"}")
	case "<=":
		a.constraints = append(a.constraints, `{return: `+quote(name)+`, at_most: `+number+"}")
	case "min":
		a.goals = append(a.goals, "minimize: "+quote(name))
		a.tradeOff = append(a.tradeOff, "-"+name)
	default:
		a.goals = append(a.goals, "maximize: "+quote(name))
		a.tradeOff = append(a.tradeOff, "+"+name)
	}
	return nil
}

// measured returns a name for what a formula measures, and the return that does.
func (a *asked) measured(f *property.Formula) (name, kind string, err error) {
	if f.Path == 'S' {
		a.average = true
	} else {
		a.once = true
	}
	if a.program.Kind == language.Game && f.Kind == 'P' {
		name = "p"
		for slices.Contains(a.rewards, name) {
			name += "'"
		}
		a.entering[name] = f.Goal
		return name, "{}", nil
	}
	switch {
	case a.rest != "" && f.Path != 'S' && f.Path != 'C' && f.Path != 'G' && f.Goal == a.rest && f.Kind == 'R':
		err := a.reached(f)
		if err != nil {
			return "", "", err
		}
	case a.rest != "" && (f.Goal != a.rest || f.Path == 'G'):
		return "", "", a.bad(f, "rewards up to %s beside what does not end there: formulas beside R [F …] have to "+
			"be F or U with the same states", a.rest)
	case a.horizon > 0 && f.Kind == 'R' && f.Costs == nil && f.Within != a.horizon:
		return "", "", a.bad(f, "the total of another number of steps than %d: want the same for all", a.horizon)
	}
	if f.Kind == 'R' {
		return a.total(f)
	}
	if f.Kind == 'S' {
		return "share", `{visits: ` + quote(f.Goal) + "}", nil
	}
	name = "p"
	goal := quote(f.Goal)
	if f.Path == 'G' {
		name = "leaves"
		goal = quote("!(" + f.Goal + ")")
	}
	kind = `{reach: ` + goal
	if f.While != "" {
		kind += `, while: ` + quote(f.While)
	}
	within, err := a.within(f)
	return name, kind + within + "}", err
}

// total returns a name for the total of rewards, and the return that is it.
func (a *asked) total(f *property.Formula) (name, kind string, err error) {
	name, err = a.rewardOf(f)
	if err != nil || f.Costs == nil && (f.Within < 0 || f.Within == a.horizon) {
		return name, `{reward: ` + quote(name) + "}", err
	}
	within, err := a.within(f)
	return name + " within bounds", `{total: ` + quote(a.counted(name)) + within + "}", err
}

// counted returns the name of a return that others look at, by its reward.
func (a *asked) counted(reward string) string {
	if _, known := a.spent[reward]; !known {
		a.spent[reward] = a.give(reward, `{reward: `+quote(reward)+"}")
	}
	return a.spent[reward]
}

// within returns the member that bounds the way to the goal of a formula, or its total, empty without a bound.
func (a *asked) within(f *property.Formula) (string, error) {
	var bounds []string
	if f.Within >= 0 {
		bounds = append(bounds, strconv.Itoa(f.Within))
	}
	for _, c := range f.Costs {
		if !(c.AtMost >= 0) || math.IsInf(c.AtMost, 1) {
			return "", a.bad(f, "a bound of %g on rewards: want a finite number from 0 on", c.AtMost)
		}
		of := *f
		of.Reward = c.Reward
		reward, err := a.rewardOf(&of)
		if err != nil {
			return "", err
		}
		bounds = append(bounds, `{return: `+quote(a.counted(reward))+`, at_most: `+
			strconv.FormatFloat(c.AtMost, 'g', -1, 64)+"}")
	}
	switch len(bounds) {
	case 0:
		return "", nil
	case 1:
		return ", within: " + bounds[0], nil
	}
	return ", within: [" + strings.Join(bounds, ", ") + "]", nil
}

// give adds a return, and gives it a name of its own.
func (a *asked) give(name, kind string) string {
	for n, first := 2, name; a.names[name]; n++ {
		name = first + strconv.Itoa(n)
	}
	a.names[name] = true
	a.returns = append(a.returns, quote(name)+": "+kind)
	return name
}

func (a *asked) rewardOf(f *property.Formula) (string, error) {
	switch {
	case f.Reward == property.Steps && slices.Contains(a.program.Actions, language.TimeAction):
		return "", a.bad(f, "T in a model with clocks: want R for rewards of time")
	case f.Reward == property.Steps:
		name := "steps"
		for slices.Contains(a.rewards, name) {
			name += "'"
		}
		a.entering[name] = "true"
		return name, nil
	case len(a.rewards) == 0:
		return "", a.bad(f, "the model has no rewards")
	case f.Reward == "":
		return a.rewards[0], nil
	case !slices.Contains(a.rewards, f.Reward):
		return "", a.bad(f, "the model has no rewards %s%s", shorten(f.Reward), orWant(f.Reward, a.rewards))
	}
	return f.Reward, nil
}

// reached asks that the states up to which rewards are earned are reached for certain; else rewards up to
// them have no end.
func (a *asked) reached(f *property.Formula) error {
	const name = "reached"
	if a.names[name] {
		return nil
	}
	if slices.Contains(a.rewards, name) {
		return a.bad(f, "rewards called %s, which is the name of the probability of coming to an end", name)
	}
	a.names[name] = true
	a.returns = append(a.returns, quote(name)+`: {reach: `+quote(f.Goal)+"}")
	a.constraints = append(a.constraints, `{return: `+quote(name)+`, at_least: 1, always: true}`)
	return nil
}
