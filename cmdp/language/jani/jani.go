// Package jani reads models in JANI (Budde, Dehnert, Hahn, Hartmanns, Junges and Turrini, JANI: quantitative model and
// tool interaction, 2017): networks of automata of the types lts, mdp and dtmc, and ta and pta by digital clocks, with
// their properties. docs/languages.md says what is understood and how.
package jani

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"cmdpsolve/cmdp/language"
	"cmdpsolve/cmdp/language/prism"
	"cmdpsolve/cmdp/language/property"
)

// Read reads a model. Name is that of its file, for errors, which are [language.Error]s. Constants hold
// the values of those constants of the model that it leaves open; others cannot be given one.
func Read(name string, text []byte, constants map[string]string) (*language.Program, error) {
	b := newBuilder(name)
	if err := b.try(func() { b.read(text, constants) }); err != nil {
		return nil, err
	}
	return b.Program, nil
}

// A builder makes a program of a file. Its methods fail with what is wrong.
type builder struct {
	*language.Builder
	root      *node
	global    context
	automata  map[string]*automaton
	order     []*automaton          // in the order of the file
	declared  map[string]int        // how often a name is
	transient map[string]*transient // by name in the program
	listed    []*transient
	free      language.Pos // of a variable without initial value
	start     []*expr      // what has to hold in the beginning
	edged     []int32      // actions of edges
	inlined   int          // operators of expressions
	items     int          // of rewards

	properties []property.Property
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
	value    *expr      // by locations
	by       *automaton // whose locations do; nil without any
	assigned bool       // by some edge
}

// always reports whether the variable may be other than 0 without any assignment.
func (t *transient) always() bool { return t.Initial != 0 }

func newBuilder(file string) *builder {
	return &builder{
		Builder:   language.NewBuilder(file),
		automata:  make(map[string]*automaton),
		declared:  make(map[string]int),
		transient: make(map[string]*transient),
	}
}

// try returns the error that something fails with. It says in which file and where in it that is.
func (b *builder) try(do func()) error {
	err := language.Try(b.Program.File, do)
	if e, ok := err.(*language.Error); ok {
		if path := b.root.path(e.At); path != "" {
			e.Message = path + ": " + e.Message
		}
	}
	return err
}

func (b *builder) read(text []byte, given map[string]string) {
	b.root = readJSON(bytes.TrimPrefix(text, []byte("\ufeff")))
	b.kind()
	b.constants(given)
	b.declare()
	b.valuesOfLocations()
	b.edges()
	b.compose()
	b.addTime()
	b.rewards()
	at := b.free
	if b.start != nil {
		at = b.start[0].At
	}
	b.Start(language.New(language.And, at, append(b.start, language.NewBool(at, true))...))
	b.Program.Parse = func(text string) (*expr, error) { return prism.Condition(b.Builder, text) }
}

// features are what a file may say that it uses.
var features = []string{"derived-operators", "functions", "state-exit-rewards"}

// refused says why a type of models is not read.
var refused = map[string]string{
	"ctmc":  "continuous-time Markov chains",
	"ctmdp": "continuous-time Markov decision processes",
	"ma":    "Markov automata",
	"sta":   "stochastic timed automata",
	"ha":    "hybrid automata",
	"pha":   "probabilistic hybrid automata",
	"sha":   "stochastic hybrid automata",
}

func (b *builder) kind() {
	r := b.root
	r.object("a model", "jani-version name type automata system |"+
		" metadata features actions constants variables restrict-initial properties functions")
	switch name := r.word("type"); name {
	case "lts", "mdp", "ta", "pta":
	case "dtmc":
		b.Program.Kind = language.Chain
	default:
		if what := refused[name]; what != "" {
			fail(r.get("type").at, "%s (%s) are not supported: want mdp, dtmc or pta", what, name)
		}
		fail(r.get("type").at, "unknown type of models %s: want mdp, dtmc or pta", r.get("type"))
	}
	for _, f := range r.list("features") {
		if !slices.Contains(features, f.text) {
			fail(f.at, "the feature %s is not supported: want %s", f, strings.Join(features, ", "))
		}
	}
	for _, a := range r.list("actions") {
		a.object("an action", "name")
		if _, ok := b.FindAction(a.word("name")); ok {
			fail(a.at, "action %s is declared twice, or has no name", a.get("name"))
		}
		b.Action(a.word("name"))
	}
	b.declareFunctions(r.list("functions"), &b.global)
}

func (b *builder) isTimed() bool { return strings.HasSuffix(b.root.word("type"), "ta") }

// A typed is what a type says.
type typed struct {
	typ       language.Type
	clock     bool
	low, high *node
}

var types = map[string]typed{
	"bool":  {typ: language.Bool},
	"int":   {typ: language.Int},
	"real":  {typ: language.Double},
	"clock": {typ: language.Int, clock: true},
}

func typeOf(n *node) typed {
	name := n.text
	if n.kind == "an object" && n.word("kind") == "bounded" {
		n.object("a type", "kind base | lower-bound upper-bound")
		name = n.word("base")
	}
	t, ok := types[name]
	if !ok {
		fail(n.at, "the type %q is not supported: want bool, int, real, clock or a bounded one",
			shorten(n.word("kind")+name))
	}
	t.low, t.high = n.get("lower-bound"), n.get("upper-bound")
	return t
}

// constants puts the constants into the scope.
func (b *builder) constants(given map[string]string) {
	var list []prism.Constant
	var bounds []*expr
	bound := func(op language.Op, d, n *node) {
		if n != nil {
			name := language.NewName(d.at, d.word("name"))
			bounds = append(bounds, language.New(op, d.at, name, b.expression(n, &b.global)))
		}
	}
	for _, d := range b.root.list("constants") {
		d.object("a constant", "name type | value")
		t := typeOf(d.get("type"))
		c := prism.Constant{At: d.at, Name: d.word("name"), Type: t.typ}
		if v := d.get("value"); v != nil {
			c.Value = b.expression(v, &b.global)
		}
		b.naming(d, c.Name)
		list = append(list, c)
		bound(language.Ge, d, t.low)
		bound(language.Le, d, t.high)
	}
	prism.Define(b.Scope, list, given)
	for _, e := range bounds {
		if b.Scope.Compute(language.Bool, e, nil).Int == 0 {
			fail(e.At, "the value of constant %s is outside of its bounds", e.Args[0].Name)
		}
	}
}

// naming checks a name, and makes it one of conditions in quotes too, where PRISM's language does not have it.
func (b *builder) naming(d *node, name string) {
	if name == "" || strings.ContainsAny(name, "\",=\r\n") || strings.HasPrefix(name, "#") {
		fail(d.at, "%q as a name: want one without quotes, commas, equality signs and line breaks, "+
			"and without # at its beginning", shorten(name))
	}
	b.Scope.Formula(d.at, language.LabelPrefix+name, language.NewName(d.at, name))
}

// declare numbers the variables: global ones, then those of automata, with their locations. A variable of an automaton
// is called AUTOMATON.NAME if something else has its name.
func (b *builder) declare() {
	for _, d := range b.root.list("variables") {
		b.declared[d.word("name")]++
	}
	for _, n := range b.root.list("automata") {
		n.object("an automaton", "name locations initial-locations edges | variables restrict-initial functions")
		b.declared[n.word("name")]++
		for _, d := range n.list("variables") {
			b.declared[d.word("name")]++
		}
	}
	for _, d := range b.root.list("variables") {
		b.variable(d, nil)
	}
	b.restrict(b.root, &b.global)
	for _, n := range b.root.list("automata") {
		a := &automaton{node: n, name: n.word("name"), locations: make(map[string]int)}
		b.Once(n.at, "automaton", a.name)
		b.automata[a.name] = a
		b.order = append(b.order, a)
		a.context.local = make(map[string]string)
		a.context.owner = " of automaton " + a.name
		for _, d := range n.list("variables") {
			b.variable(d, a)
		}
		b.declareFunctions(n.list("functions"), &a.context)
		b.declareLocation(a)
		b.restrict(n, &a.context)
	}
	if len(b.Program.Variables) == 0 {
		fail(b.root.at, "the model has no variables, and no automaton with two locations")
	}
	for i, t := range b.listed {
		b.Scope.Variable(t.at, stepPrefix+t.Name, t.Type, len(b.Program.Variables)+i)
		b.Program.Transient = append(b.Program.Transient, t.Variable)
	}
}

// restrict takes what has to hold in the beginning.
func (b *builder) restrict(n *node, c *context) {
	if condition := b.inner(n, "restrict-initial", c); condition != nil {
		b.start = append(b.start, condition)
	}
}

// variable declares a variable, which is global if a is nil.
func (b *builder) variable(d *node, a *automaton) {
	d.object("a variable", "name type | transient initial-value")
	name, c := d.word("name"), &b.global
	if a != nil {
		c = &a.context
		if b.declared[name] > 1 {
			name = a.name + "." + name
		}
		c.local[d.word("name")] = name
	}
	b.naming(d, name)
	t := typeOf(d.get("type"))
	low, high := b.constant(t.typ, t.low, c), b.constant(t.typ, t.high, c)
	initial := b.constant(t.typ, d.get("initial-value"), c)
	if d.word("transient") == "true" {
		b.declareTransient(d, name, t, initial, low, high)
		return
	}
	v := language.Variable{Name: name, Type: t.typ, High: 1}
	switch {
	case t.clock && (!b.isTimed() || initial == nil || initial.Int < 0 || initial.Int > math.MaxInt32):
		fail(d.at, "clock %s: want an initial value of 0 or more, and a model of type pta", shorten(name))
	case t.clock, t.typ == language.Bool:
	case t.typ == language.Double:
		fail(d.at, "variable %s is of type real: want bool, int with bounds, or a transient variable", shorten(name))
	case low == nil || high == nil:
		fail(d.at, "variable %s is an integer without bounds: want a type of kind bounded with lower-bound and "+
			"upper-bound",
			shorten(name))
	default:
		v.Low, v.High = low.Int, high.Int
	}
	if initial == nil {
		b.free = d.at
	}
	b.Declare(d.at, v, t.clock, initial)
}

// constant computes an expression of constants, nil of nil.
func (b *builder) constant(t language.Type, n *node, c *context) *expr {
	if n == nil {
		return nil
	}
	return b.Scope.Compute(t, whole(b.expression(n, c)), nil)
}

// whole makes an integer of a literal such as 0.0, which is often written for clocks.
func whole(e *expr) *expr {
	if e.Op == language.Literal && e.Type == language.Double {
		if x := e.Num(); x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			return language.NewInt(e.At, int64(x))
		}
	}
	return e
}

func (b *builder) declareTransient(d *node, name string, t typed, initial, low, high *expr) {
	v := language.Variable{Name: name, Type: t.typ, Low: math.MinInt64, High: math.MaxInt64}
	switch {
	case t.clock || t.typ == language.Double && (low != nil || high != nil):
		fail(d.at, "transient variable %s is a clock or a real number with bounds: want another type", shorten(name))
	case initial == nil:
		initial = language.NewInt(d.at, 0)
		if t.typ == language.Bool {
			initial = language.NewBool(d.at, false)
		}
	}
	if low != nil {
		v.Low = low.Int
	}
	if high != nil {
		v.High = high.Int
	}
	if t.typ == language.Int && (initial.Int < v.Low || initial.Int > v.High) {
		fail(initial.At, "the initial value of %s is %d: want %s", shorten(name), initial.Int, v.Range())
	}
	v.Initial = initial.Int
	b.transient[name] = &transient{Variable: v, at: d.at, value: initial}
	b.listed = append(b.listed, b.transient[name])
}

// declareLocation declares the variable of an automaton's location.
func (b *builder) declareLocation(a *automaton) {
	list := a.list("locations")
	for i, l := range list {
		l.object("a location", "name | time-progress transient-values")
		b.Once(l.at, "location", l.word("name")+a.context.owner)
		a.locations[l.word("name")] = i
	}
	if len(list) > 1 {
		a.location = a.name
		if b.declared[a.name] > 1 {
			a.location += ".location"
		}
		b.naming(a.node, a.location)
	}
	some := language.New(language.Or, a.at)
	for _, l := range a.list("initial-locations") {
		some.Args = append(some.Args, a.in(l.at, a.number(l)))
	}
	v := language.Variable{Name: a.location, Type: language.Int, High: int64(len(list) - 1)}
	switch {
	case len(some.Args) == 0:
		fail(a.at, "automaton %s has no initial location", shorten(a.name))
	case len(list) > 1 && len(some.Args) == 1:
		b.Declare(a.at, v, false, some.Args[0].Args[1])
	case len(list) > 1:
		b.start = append(b.start, some)
		b.Declare(a.at, v, false, nil)
	}
}

// number returns the number of a location, by its name.
func (a *automaton) number(n *node) int64 {
	i, ok := a.locations[n.text]
	if !ok {
		fail(n.at, "unknown location %s", n)
	}
	return int64(i)
}

// in returns the condition that an automaton is in a location.
func (a *automaton) in(at language.Pos, location int64) *expr {
	if a.location == "" {
		return language.NewBool(at, true)
	}
	return language.New(language.Eq, at, language.NewName(at, a.location), language.NewInt(at, location))
}

// valuesOfLocations finds the values of transient variables in states, and makes labels of those that are true or
// false.
func (b *builder) valuesOfLocations() {
	for _, a := range b.order {
		for i, l := range a.list("locations") {
			seen := make(map[*transient]bool)
			for _, v := range l.list("transient-values") {
				v.object("a transient value", "ref value")
				t := b.transient[a.context.nameOf(v.word("ref"))]
				switch {
				case t == nil:
					fail(v.at, "%s is no transient variable", v.get("ref"))
				case seen[t] || t.by != nil && t.by != a:
					fail(v.at, "%s has a value of another automaton, or twice in a location", t.Name)
				}
				seen[t] = true
				t.by = a
				value := b.expression(v.get("value"), &a.context)
				t.value = language.New(language.If, v.at, a.in(v.at, int64(i)), value, t.value)
			}
		}
	}
	for _, t := range b.listed {
		b.Scope.Formula(t.at, t.Name, t.value)
	}
	for _, t := range b.listed {
		value := b.Scope.ResolveAs(t.Type, language.NewName(t.at, t.Name), nil)
		if t.Type == language.Bool {
			b.Program.Labels = append(b.Program.Labels, language.Label{Name: t.Name, At: t.at, When: value})
		}
	}
}
