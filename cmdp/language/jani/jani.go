// Package jani reads models in JANI (Budde, Dehnert, Hahn, Hartmanns, Junges and Turrini, JANI: quantitative model and
// tool interaction, 2017): networks of automata of the types lts, mdp and dtmc, and ta and pta by digital clocks, with
// their properties. docs/languages.md says what is understood and how.
package jani

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/cmdp/language"
	"cmdpsolve/cmdp/language/prism"
)

// Read reads a model. Name is that of its file, for errors, which are [language.Error]s. Constants hold
// the values of those constants of the model that it leaves open; others cannot be given one.
func Read(name string, text []byte, constants map[string]string) (*language.Program, error) {
	b := new(builder)
	err := b.read(text, constants)
	if err != nil {
		return nil, b.explain(name, err)
	}
	b.program.File = name
	return b.program, nil
}

// A builder makes a program of a file.
type builder struct {
	root      *node
	scope     *language.Scope
	program   *language.Program
	clocks    *language.Clocks
	global    context
	constants []prism.Constant
	actions   map[string]int32 // numbers of actions in the program
	automata  map[string]*automaton
	order     []*automaton          // in the order of the file
	names     map[string]int        // how often a name is declared
	transient map[string]*transient // by name in the program
	listed    []*transient
	starts    []language.Variable // the variables, with the values that they may have in the beginning
	free      language.Pos        // of a variable without initial value
	start     *expr               // what has to hold in the beginning
	untimed   []int32             // actions of steps in which no time passes
	inlined   int
	items     int // of rewards
	// accumulates are the names of reward structures that properties stand for.
	accumulates map[*node]string
}

// An automaton has its names, and its commands by action.
type automaton struct {
	*node
	name      string
	context   context
	location  string // the variable of the location, empty if there is one location alone
	locations map[string]int
	groups    map[string]int32
}

// A transient variable has a value in each location, and one in a step.
type transient struct {
	language.Variable
	at       language.Pos
	initial  *expr
	value    *expr      // by locations
	by       *automaton // whose locations do; nil without any
	assigned bool       // by some edge
}

// explain says in which file and where in it something is wrong.
func (b *builder) explain(name string, err error) error {
	e, ok := err.(*language.Error)
	if !ok {
		return err
	}
	e.File = name
	if b.root != nil && e.At.Line > 0 {
		if path := b.root.path(e.At); path != "" {
			e.Message = path + ": " + e.Message
		}
	}
	return e
}

// features are what a file may say that it uses.
var features = []string{"derived-operators", "functions", "state-exit-rewards"}

// refusedTypes says why a type of models is not read.
var refusedTypes = map[string]string{"ctmc": "continuous-time Markov chains", "ctmdp": "continuous-time Markov decision processes",
	"ma": "Markov automata", "sta": "stochastic timed automata", "ha": "hybrid automata", "pha": "probabilistic hybrid automata",
	"sha": "stochastic hybrid automata"}

func (b *builder) read(text []byte, given map[string]string) (err error) {
	if b.root, err = readJSON(bytes.TrimPrefix(text, []byte("\ufeff"))); err != nil {
		return err
	}
	b.scope = language.NewScope()
	b.program = new(language.Program)
	b.clocks = language.NewClocks(b.program)
	b.actions = map[string]int32{"": 0}
	b.program.Actions = []string{""}
	b.automata = make(map[string]*automaton)
	b.names = make(map[string]int)
	b.accumulates = make(map[*node]string)
	b.transient = make(map[string]*transient)
	steps := []func() error{
		b.kind, func() error { return b.define(given) }, b.declare, b.valuesOfLocations, b.edges, b.compose, b.addTime, b.rewards, b.labels, b.initial,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	b.program.Parse = func(text string) (*expr, error) { return prism.Condition(b.scope, text) }
	return nil
}

func (b *builder) kind() error {
	r := b.root
	if err := r.object("a model", "jani-version name type automata system | metadata features actions constants variables restrict-initial properties functions"); err != nil {
		return err
	}
	switch name := r.word("type"); name {
	case "lts", "mdp", "ta", "pta":
	case "dtmc":
		b.program.Kind = language.Chain
	default:
		if what := refusedTypes[name]; what != "" {
			return wrong(r.get("type").at, "%s (%s) are not supported: want mdp, dtmc or pta", what, name)
		}
		return wrong(r.get("type").at, "unknown type of models %s: want mdp, dtmc or pta", r.get("type").describe())
	}
	for _, f := range r.get("features").list() {
		if !slices.Contains(features, f.text) {
			return wrong(f.at, "the feature %s is not supported: want %s", f.describe(), strings.Join(features, ", "))
		}
	}
	for _, a := range r.get("actions").list() {
		if err := a.object("an action", "name"); err != nil {
			return err
		}
		name := a.word("name")
		if _, ok := b.actions[name]; ok {
			return wrong(a.at, "action %s is declared twice, or has no name", shorten(name))
		}
		b.actions[name] = int32(len(b.program.Actions))
		b.program.Actions = append(b.program.Actions, name)
	}
	return b.declareFunctions(r.get("functions"), &b.global)
}

func (b *builder) isTimed() bool { return strings.HasSuffix(b.root.word("type"), "ta") }

// A typed is what a type says.
type typed struct {
	typ       language.Type
	clock     bool
	low, high *node
}

func (b *builder) typeOf(n *node) (t typed, err error) {
	name := n.text
	if n.kind == "an object" {
		if kind := n.word("kind"); kind != "bounded" {
			return t, wrong(n.at, "the type %s is not supported", shorten(kind))
		}
		if err := n.object("a type", "kind base | lower-bound upper-bound"); err != nil {
			return t, err
		}
		name, t.low, t.high = n.word("base"), n.get("lower-bound"), n.get("upper-bound")
	}
	switch name {
	case "bool":
		t.typ = language.Bool
	case "int":
		t.typ = language.Int
	case "real":
		t.typ = language.Double
	case "clock":
		t.typ = language.Int
		t.clock = true
	default:
		return t, wrong(n.at, "the type %s is not supported: want bool, int, real, clock or a bounded one", n.describe())
	}
	return t, nil
}

// define puts the constants into the scope.
func (b *builder) define(given map[string]string) error {
	var bounds []*expr
	for _, d := range b.root.get("constants").list() {
		if err := d.object("a constant", "name type | value"); err != nil {
			return err
		}
		t, err := b.typeOf(d.get("type"))
		if err != nil {
			return err
		}
		c := prism.Constant{At: d.at, Name: d.word("name"), Type: t.typ}
		if v := d.get("value"); v != nil {
			if c.Value, err = b.expression(v, &b.global); err != nil {
				return err
			}
		}
		if err := b.naming(d, c.Name); err != nil {
			return err
		}
		b.constants = append(b.constants, c)
		name := language.NewName(c.At, c.Name)
		for i, bound := range []*node{t.low, t.high} {
			if bound == nil {
				continue
			}
			e, err := b.expression(bound, &b.global)
			if err != nil {
				return err
			}
			bounds = append(bounds, language.New([]language.Op{language.Ge, language.Le}[i], c.At, name, e))
		}
	}
	if err := prism.Define(b.scope, b.constants, given); err != nil {
		return err
	}
	for _, e := range bounds {
		if kept, err := b.scope.Compute(language.Bool, e, nil); err != nil || kept.Int == 0 {
			if err == nil {
				err = wrong(e.At, "the value of constant %s is outside of its bounds", e.Args[0].Name)
			}
			return err
		}
	}
	return prism.CheckConstants(b.scope, b.constants)
}

// naming checks a name, and makes it one of conditions in quotes too, where PRISM's language does not have it.
func (b *builder) naming(d *node, name string) error {
	if name == "" || strings.ContainsAny(name, "\",=\r\n") || strings.HasPrefix(name, "#") {
		return wrong(d.at, "%s as a name: want one without quotes, commas, equality signs and line breaks, and without # at its beginning", strconv.Quote(shorten(name)))
	}
	return b.scope.Formula(d.at, prism.LabelPrefix+name, language.NewName(d.at, name))
}

// declare numbers the variables: global ones, then those of automata, with their locations. A variable of an automaton
// is called AUTOMATON.NAME if something else has its name.
func (b *builder) declare() error {
	for _, d := range b.root.get("variables").list() {
		b.names[d.word("name")]++
	}
	for _, n := range b.root.get("automata").list() {
		if err := n.object("an automaton", "name locations initial-locations edges | variables restrict-initial functions"); err != nil {
			return err
		}
		b.names[n.word("name")]++
		for _, d := range n.get("variables").list() {
			b.names[d.word("name")]++
		}
	}
	for _, d := range b.root.get("variables").list() {
		if err := b.variable(d, nil); err != nil {
			return err
		}
	}
	if err := b.restrict(b.root, &b.global); err != nil {
		return err
	}
	for _, n := range b.root.get("automata").list() {
		a := &automaton{node: n, name: n.word("name"), locations: make(map[string]int), groups: make(map[string]int32)}
		if b.automata[a.name] != nil {
			return wrong(n.at, "automaton %s is defined twice", shorten(a.name))
		}
		b.automata[a.name] = a
		b.order = append(b.order, a)
		a.context.local = make(map[string]string)
		for _, d := range n.get("variables").list() {
			if err := b.variable(d, a); err != nil {
				return err
			}
		}
		if err := b.declareFunctions(n.get("functions"), &a.context); err != nil {
			return err
		}
		if err := b.location(a); err != nil {
			return err
		}
		if err := b.restrict(n, &a.context); err != nil {
			return err
		}
	}
	if len(b.starts) == 0 {
		return wrong(b.root.at, "the model has no variables, and no automaton with two locations")
	}
	for i, t := range b.listed {
		if err := b.scope.Variable(t.at, stepPrefix+t.Name, t.Type, len(b.starts)+i); err != nil {
			return err
		}
		b.program.Transient = append(b.program.Transient, t.Variable)
	}
	return nil
}

// restrict takes what has to hold in the beginning.
func (b *builder) restrict(n *node, c *context) error {
	condition := n.get("restrict-initial")
	if condition == nil {
		return nil
	}
	if err := condition.object("restrict-initial", "exp"); err != nil {
		return err
	}
	e, err := b.expression(condition.get("exp"), c)
	if err != nil {
		return err
	}
	b.require(e)
	return nil
}

func (b *builder) require(e *expr) {
	if b.start == nil {
		b.start = language.NewBool(e.At, true)
	}
	b.start = language.New(language.And, e.At, b.start, e)
}

// variable declares a variable, which is global if a is nil.
func (b *builder) variable(d *node, a *automaton) error {
	if err := d.object("a variable", "name type | transient initial-value"); err != nil {
		return err
	}
	name, c := d.word("name"), &b.global
	if a != nil {
		c = &a.context
		if b.names[name] > 1 {
			name = a.name + "." + name
		}
		if _, ok := c.local[d.word("name")]; ok {
			return wrong(d.at, "variable %s is defined twice", shorten(name))
		}
		c.local[d.word("name")] = name
	}
	if err := b.naming(d, name); err != nil {
		return err
	}
	t, err := b.typeOf(d.get("type"))
	if err != nil {
		return err
	}
	low, high, err := b.bounds(t, c)
	if err != nil {
		return err
	}
	var initial *expr
	if n := d.get("initial-value"); n != nil {
		if initial, err = b.constant(t.typ, n, c); err != nil {
			return err
		}
	}
	if d.word("transient") == "true" {
		return b.declareTransient(d, name, t, initial, low, high)
	}
	v := language.Variable{Name: name, Type: t.typ, High: 1}
	switch {
	case t.clock && (!b.isTimed() || initial == nil || initial.Int < 0 || initial.Int > math.MaxInt32):
		return wrong(d.at, "clock %s: want an initial value of 0 or more, and a model of type pta", shorten(name))
	case t.clock:
		b.clocks.Add(len(b.starts), initial.Int)
	case t.typ == language.Bool:
	case t.typ == language.Double:
		return wrong(d.at, "variable %s is of type real: want bool, int with bounds, or a transient variable", shorten(name))
	case low == nil || high == nil:
		return wrong(d.at, "variable %s is an integer without bounds: want a type of kind bounded with lower-bound and upper-bound", shorten(name))
	default:
		v.Low, v.High = low.Int, high.Int
	}
	if initial != nil && !t.clock && (initial.Int < v.Low || initial.Int > v.High) {
		return wrong(d.at, "the initial value of %s is %s: want %d to %d", shorten(name), initial.Value(), v.Low, v.High)
	}
	return b.add(d, v, initial)
}

// constant computes an expression of constants.
func (b *builder) constant(t language.Type, n *node, c *context) (*expr, error) {
	e, err := b.expression(n, c)
	if err != nil {
		return nil, err
	}
	return b.scope.Compute(t, whole(e), nil)
}

// whole makes an integer of a literal such as 0.0, which is often written for clocks.
func whole(e *expr) *expr {
	if e.Op == language.Literal && e.Type == language.Double && e.Num == math.Trunc(e.Num) && math.Abs(e.Num) < 1<<53 {
		return language.NewInt(e.At, int64(e.Num))
	}
	return e
}

// bounds returns those of a type, nil where it has none.
func (b *builder) bounds(t typed, c *context) (low, high *expr, err error) {
	if t.low != nil {
		if low, err = b.constant(t.typ, t.low, c); err != nil {
			return nil, nil, err
		}
	}
	if t.high != nil {
		if high, err = b.constant(t.typ, t.high, c); err != nil {
			return nil, nil, err
		}
	}
	if low != nil && high != nil && low.Int > high.Int {
		err = wrong(t.low.at, "the range is empty: %s to %s", low.Value(), high.Value())
	}
	return low, high, err
}

// add adds a variable, whose initial value may be nil for any.
func (b *builder) add(d *node, v language.Variable, initial *expr) error {
	err := b.scope.Variable(d.at, v.Name, v.Type, len(b.starts))
	b.program.Variables = append(b.program.Variables, v)
	if initial != nil {
		v.Low, v.High = initial.Int, initial.Int
	} else {
		b.free = d.at
	}
	b.starts = append(b.starts, v)
	return err
}

func (b *builder) declareTransient(d *node, name string, t typed, initial, low, high *expr) error {
	v := language.Variable{Name: name, Type: t.typ, Low: math.MinInt64, High: math.MaxInt64}
	switch {
	case t.clock || t.typ == language.Double && (low != nil || high != nil):
		return wrong(d.at, "transient variable %s is a clock or a real number with bounds: want another type", shorten(name))
	case initial == nil && t.typ == language.Bool:
		initial = language.NewBool(d.at, false)
	case initial == nil:
		initial = language.NewInt(d.at, 0)
	}
	if low != nil {
		v.Low = low.Int
	}
	if high != nil {
		v.High = high.Int
	}
	v.Initial = initial.Int
	if initial.Type == language.Double {
		v.Initial = int64(math.Float64bits(initial.Num))
	}
	b.transient[name] = &transient{Variable: v, at: d.at, initial: initial}
	b.listed = append(b.listed, b.transient[name])
	return nil
}

// location declares the variable of an automaton's location.
func (b *builder) location(a *automaton) error {
	list := a.get("locations").list()
	for i, l := range list {
		if err := l.object("a location", "name | time-progress transient-values"); err != nil {
			return err
		}
		if _, twice := a.locations[l.word("name")]; twice {
			return wrong(l.at, "location %s is defined twice", shorten(l.word("name")))
		}
		a.locations[l.word("name")] = i
	}
	var initial []*expr
	for _, l := range a.get("initial-locations").list() {
		i, ok := a.locations[l.text]
		if !ok {
			return wrong(l.at, "unknown location %s", l.describe())
		}
		initial = append(initial, language.NewInt(l.at, int64(i)))
	}
	if len(initial) == 0 {
		return wrong(a.at, "automaton %s has no initial location", shorten(a.name))
	}
	if len(list) == 1 {
		return nil
	}
	a.location = a.name
	if b.names[a.name] > 1 {
		a.location += ".location"
	}
	if err := b.naming(a.node, a.location); err != nil {
		return err
	}
	if len(initial) == 1 {
		return b.add(a.node, language.Variable{Name: a.location, Type: language.Int, High: int64(len(list) - 1)}, initial[0])
	}
	any := language.NewBool(a.at, false)
	for _, e := range initial {
		any = language.New(language.Or, e.At, any, language.New(language.Eq, e.At, language.NewName(e.At, a.location), e))
	}
	b.require(any)
	return b.add(a.node, language.Variable{Name: a.location, Type: language.Int, High: int64(len(list) - 1)}, nil)
}

// in returns the condition that an automaton is in a location.
func (a *automaton) in(at language.Pos, location int) *expr {
	if a.location == "" {
		return language.NewBool(at, true)
	}
	return language.New(language.Eq, at, language.NewName(at, a.location), language.NewInt(at, int64(location)))
}

// valuesOfLocations finds the values of transient variables in states.
func (b *builder) valuesOfLocations() error {
	for _, a := range b.order {
		for i, l := range a.get("locations").list() {
			seen := make(map[*transient]bool)
			for _, v := range l.get("transient-values").list() {
				if err := v.object("a transient value", "ref value"); err != nil {
					return err
				}
				t := b.transient[a.context.nameOf(v.word("ref"))]
				switch {
				case t == nil:
					return wrong(v.at, "%s is no transient variable", shorten(v.word("ref")))
				case seen[t] || t.by != nil && t.by != a:
					return wrong(v.at, "%s has a value of another automaton or twice in a location", t.Name)
				}
				seen[t] = true
				t.by = a
				value, err := b.expression(v.get("value"), &a.context)
				if err != nil {
					return err
				}
				if t.value == nil {
					t.value = t.initial
				}
				t.value = language.New(language.If, v.at, a.in(v.at, i), value, t.value)
			}
		}
	}
	for _, t := range b.listed {
		if t.value == nil {
			t.value = t.initial
		}
		if err := b.scope.Formula(t.at, t.Name, t.value); err != nil {
			return err
		}
		if _, err := b.scope.ResolveAs(t.Type, language.NewName(t.at, t.Name), nil); err != nil {
			return err
		}
	}
	return nil
}
