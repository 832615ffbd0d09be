package problem

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	gopath "path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exchange/formats"
)

// A Member is a type of agents of a fleet.
type Member struct {
	Name  string
	Count int
	// File is the file of its model, "" if that stands in the file of the fleet.
	File string
	// Agent is the process of one agent. It wants nothing. Its start is that of Starts, if these are given.
	Agent *Problem
	// Returns says for each return of Agent to which return of the fleet it is added, -1 for none.
	Returns []int
	// Starts is the number of agents that begin in each state, nil if the start of each is drawn.
	Starts []int
}

// A memberForm lists the keys of a type of agents.
type memberForm struct {
	Name    string         `json:"name" jsonschema:"the name of the type"`
	Count   int            `json:"count" jsonschema:"how many agents are of the type"`
	Model   modelForm      `json:"model" jsonschema:"the file of a problem that wants nothing, or such a problem itself"`
	Returns sharesForm     `json:"returns,omitempty" jsonschema:"which of its returns goes into which return of the fleet; without it those of the same name"`
	Starts  map[string]int `json:"starts,omitempty" jsonschema:"how many agents begin in each state; without it each start is drawn as the model says"`
}

// The forms are values that the schema describes by hand.
type (
	modelForm  struct{}
	sharesForm struct{}
)

var (
	fleetKeys = []string{"format", "name", "let", "horizon", "discount", "criterion", "returns", "goal", "constraints",
		"target", "fleet"}
	memberKeys = keysOf(memberForm{})
)

// maxAgents bounds the number of agents of a type: beyond it numbers of agents would be rounded.
const maxAgents = 1_000_000_000

// parseFleet reads a file that has a fleet in the place of transitions.
func (h *header) parseFleet(root *node, files fs.FS) *Problem {
	h.readConstants(root.get("let"), (*path)(nil).key("let"))
	h.mapping(root, nil, fleetKeys)
	for _, key := range []string{"format", "returns"} {
		if root.get(key) == nil {
			h.bad(nil, (*path)(nil).key(key), "missing: want %s",
				map[string]string{"format": Format, "returns": "a list of the names of the fleet's returns"}[key])
		}
	}
	h.member(root, "format", h.readFormat)
	h.member(root, "name", func(n *node, at *path) { h.p.Name, _ = h.name(n, at) })
	if slices.ContainsFunc(timeKeys, func(key string) bool { return root.get(key) != nil }) {
		h.readTime(root)
	}
	h.member(root, "returns", func(n *node, at *path) {
		if n.kind != listNode {
			h.bad(n, at, "got %s: want a list of names, since returns of a fleet are sums of those of its agents",
				n.describe())
			return
		}
		h.readReturns(n, at)
	})
	h.member(root, "goal", h.readGoal)
	h.member(root, "constraints", h.readConstraints)
	h.member(root, "target", h.readTarget)
	h.p.Fleet = []Member{} // not nil: it is one, whatever is wrong with it
	h.member(root, "fleet", func(n *node, at *path) { h.readMembers(n, at, files) })
	if h.large != nil {
		return nil
	}
	h.checkShared(root)
	h.checkSteps(root)
	h.judgeForm(root)
	h.p.head = newHead(h.file, root)
	return h.p
}

// checkShared refuses returns of the fleet to which no type adds anything: limits on them would mean nothing. Where
// a type is wrong nobody knows what it adds.
func (h *header) checkShared(root *node) {
	names, types := root.get("returns"), root.get("fleet")
	if names == nil || types == nil || len(names.items) != len(h.p.Returns) || len(types.items) != len(h.p.Fleet) {
		return
	}
	for i, name := range h.p.Returns {
		if !slices.ContainsFunc(h.p.Fleet, func(m Member) bool { return slices.Contains(m.Returns, i) }) {
			h.bad(names.items[i], (*path)(nil).key("returns").at(i), "no type of agents adds anything to %s: want "+
				"returns: {%s: RETURN OF THE MODEL} in a type, or a model with a return of this name", shorten(name),
				shorten(name))
		}
	}
}

// timeKeys say over which time returns are summed.
var timeKeys = []string{"horizon", "discount", "criterion"}

func (h *header) readMembers(n *node, at *path, files fs.FS) {
	if !h.list(n, at) {
		return
	}
	if len(n.items) == 0 {
		h.bad(n, at, "the list is empty: want at least one type of agents")
		return
	}
	seen := make(map[string]int)
	r := &memberReader{header: h, files: files, read: make(map[string]*Problem)}
	for i, item := range n.items {
		here := at.at(i)
		m, ok := r.member(item, here)
		if first, twice := seen[m.Name]; twice && m.Name != "" {
			ok = h.bad(item.get("name"), here.key("name"), "%s is given twice: it is number %d too", m.Name, first)
		}
		seen[m.Name] = i
		if h.large != nil {
			return
		}
		if ok {
			h.p.Fleet = append(h.p.Fleet, m)
		}
	}
}

// A memberReader reads types of agents, each file once.
type memberReader struct {
	*header
	files fs.FS
	read  map[string]*Problem // by the name of the file; nil for one that is wrong
	first *Problem            // the model that says over which time returns are summed
}

func (r *memberReader) member(n *node, at *path) (m Member, ok bool) {
	ok = r.mapping(n, at, memberKeys)
	if n.kind != mapNode {
		return m, false
	}
	ok = r.needs(n, at, "name", "count", "model") && ok
	if x := n.get("name"); x != nil {
		name, good := r.name(x, at.key("name"))
		m.Name, ok = name, ok && good
	}
	if x := n.get("count"); x != nil {
		count, good := r.integer(x, at.key("count"), 1, maxAgents)
		m.Count, ok = count, ok && good
	}
	x := n.get("model")
	if x == nil {
		return m, false
	}
	here := at.key("model")
	m.Agent, m.File = r.model(x, here)
	if m.Agent == nil {
		return m, false
	}
	ok = r.fits(x, here, m.Agent) && ok
	if m.Agent.Model == nil {
		return m, false
	}
	agent := *m.Agent
	m.Agent = &agent
	ok = r.readShares(n, at, &m) && ok
	if x := n.get("starts"); x != nil {
		ok = r.readStarts(x, at.key("starts"), &m) && ok
	}
	return m, ok
}

// model reads the model of a type, a file or a mapping. What is wrong with it has been said if it is nil.
func (r *memberReader) model(n *node, at *path) (agent *Problem, file string) {
	if n.kind == mapNode {
		return r.inline(n, at), ""
	}
	name, ok := r.name(n, at)
	if !ok {
		return nil, ""
	}
	if formats.IsLanguage(name) {
		r.bad(n, at, "%s has no horizon: want a problem file, whose transitions may be {file: %s}", name, name)
		return nil, name
	}
	if p, known := r.read[name]; known {
		return p, name
	}
	p, err := r.open(name)
	var errs Errors
	switch {
	case errors.As(err, &errs):
		r.faults += len(errs)
		r.errs = append(r.errs, errs...)
		p = nil
	case errors.As(err, new(*cmdp.MemoryError)), contextDone(err):
		r.large = err
		p = nil
	case err != nil:
		r.bad(n, at, "%s", trimmed(err, "problem: "))
		p = nil
	}
	r.read[name] = p
	return p, name
}

// open reads the problem file of a model.
func (r *memberReader) open(name string) (*Problem, error) {
	if r.files == nil {
		return nil, errors.New("there is no folder to look for files in")
	}
	f, err := r.files.Open(name)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	defer f.Close()
	if err := fileFits(int64(sizeOf(f)), r.options.Bytes); err != nil {
		return nil, tooLarge(name, err)
	}
	var text strings.Builder
	if _, err := io.Copy(&text, f); err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	opts := r.options
	opts.Set, opts.Property = nil, nil
	if in, ok := r.files.(folder); ok {
		shown := filepath.Join(in.path, filepath.FromSlash(name))
		return parse(shown, text.String(), folder{filepath.Dir(shown), in.opts}, r.limits, opts)
	}
	beside, err := fs.Sub(r.files, gopath.Dir(name))
	if err != nil {
		return nil, err
	}
	return parse(name, text.String(), beside, r.limits, opts)
}

// inline reads a model that stands in the file of the fleet.
func (r *memberReader) inline(n *node, at *path) *Problem {
	opts := r.options
	opts.Set, opts.Property = nil, nil
	h := &header{decoder: decoder{file: r.file}, limits: r.limits, p: new(Problem), options: opts, within: r.header}
	p := h.parseTree(n, block{indent: -1}, r.files)
	if h.large != nil {
		r.large = h.large
		return nil
	}
	for _, e := range h.errs {
		if e.File != r.file {
			r.errs = append(r.errs, e)
			continue
		}
		e.Key = strings.TrimSuffix(at.String()+"."+e.Key, ".")
		if e.Line == 0 {
			e.Line, e.Column = n.line, n.col
		}
		r.errs = append(r.errs, e)
	}
	r.faults += len(h.errs)
	if len(h.errs) > 0 {
		return nil
	}
	return p
}

// fits reports whether a model can be that of an agent of the fleet.
func (r *memberReader) fits(n *node, at *path, agent *Problem) bool {
	before := r.faults
	switch m := agent.Model; {
	case agent.Fleet != nil:
		r.bad(n, at, "a fleet itself: want the model of one agent")
		return false
	case m == nil:
		r.bad(n, at, "there is no model")
		return false
	case m.Shape() != nil && m.Shape().Game():
		r.bad(n, at, "a game: want a model with one player")
	case m.Horizon() == 0 && m.Discount() == 1 && !m.Average():
		r.bad(n, at, "returns are totals without a horizon: want a horizon, a discount below 1, or long-run means "+
			"of all returns")
	}
	for _, wanted := range []struct {
		key   string
		given bool
	}{{"a goal", agent.Goal != Goal{}}, {"constraints", len(agent.Constraints) > 0},
		{"a target", agent.Target != nil}} {
		if wanted.given {
			r.bad(n, at, "the model has %s: what is wanted of the agents stands in the file of the fleet", wanted.key)
		}
	}
	if r.faults > before {
		return false
	}
	m := agent.Model
	if want := timeSaid(&r.spec); want != "" {
		if got := timeOf(m); got != want {
			return r.bad(n, at, "the model has %s: want the %s of the fleet", got, want)
		}
		return true
	}
	if r.first == nil {
		r.first = agent
	}
	if got, want := timeOf(m), timeOf(r.first.Model); got != want {
		return r.bad(n, at, "the model has %s: want %s as the first type has", got, want)
	}
	return true
}

// timeOf says over which time the returns of a model are summed.
func timeOf(m *cmdp.Model) string {
	return timeSaid(&cmdp.ModelSpec{Horizon: m.Horizon(), Discount: m.Discount(), Average: m.Average()})
}

// timeSaid is timeOf for what a file says, "" if it says nothing.
func timeSaid(s *cmdp.ModelSpec) string {
	switch {
	case s.Horizon > 0:
		return fmt.Sprintf("horizon %d", s.Horizon)
	case s.Average:
		return "criterion average"
	case s.Discount > 0:
		return "discount " + brief(s.Discount, 12)
	}
	return ""
}

// readShares reads which returns of a type go into which returns of the fleet.
func (r *memberReader) readShares(item *node, at *path, m *Member) bool {
	agent, n := m.Agent, item.get("returns")
	m.Returns = slices.Repeat([]int{-1}, len(agent.Returns))
	if n == nil {
		any := false
		for i, name := range agent.Returns {
			m.Returns[i] = slices.Index(r.p.Returns, name)
			any = any || m.Returns[i] >= 0
		}
		if !any && len(r.p.Returns) > 0 {
			return r.bad(item, at, "returns is missing, and the model has none of the returns %s: want {RETURN OF "+
				"THE FLEET: RETURN OF THE MODEL}", oneOf(r.p.Returns))
		}
		return true
	}
	here := at.key("returns")
	if n.kind != mapNode {
		return r.bad(n, here, "got %s: want a mapping from returns of the fleet to returns of the model", n.describe())
	}
	ok := r.pairs(n, here)
	for _, x := range n.members {
		to, known := r.returnIndex(x.key, here.key(x.key.text))
		ok = r.share(x.value, here.key(x.key.text), m, to) && known && ok
	}
	return ok
}

// A share is what of an agent goes into a return of the fleet, if it is not one of the returns of its model.
type share struct {
	Action *string   `json:"action,omitempty" jsonschema:"1 in each step in which an agent takes the action of this name"`
	Visits *StateSet `json:"visits,omitempty" jsonschema:"1 in each step that begins in a state of the set"`
}

// share reads what goes into one return of the fleet.
func (r *memberReader) share(n *node, at *path, m *Member, to int) bool {
	agent := m.Agent
	if n.kind == mapNode {
		var s share
		if !r.value(n, at, reflect.ValueOf(&s).Elem()) {
			return false
		}
		if (s.Action == nil) == (s.Visits == nil) {
			return r.bad(n, at, "want one of action and visits")
		}
		if s.Visits != nil {
			return r.countVisits(n, at, m, to, s.Visits)
		}
		return r.countAction(n, at, m, to, *s.Action)
	}
	name, ok := r.name(n, at)
	if !ok {
		return false
	}
	i := slices.Index(agent.Returns, name)
	if i < 0 {
		return r.bad(n, at, "the model has no return %s%s", shorten(name), r.orWant(name, agent.Returns))
	}
	if m.Returns[i] >= 0 { // it goes into two returns of the fleet
		if agent.Kinds != nil && agent.Kinds[i].Derived() {
			m.declare(agent.Kinds[i], to)
			return true
		}
		column := slices.Index(agent.Given(), name)
		return r.extend(n, at, m, to, func(rows *cmdp.Rows, _, _, c int) float64 { return rows.Returns(c)[column] })
	}
	m.Returns[i] = to
	return true
}

// countVisits adds a return that counts the steps that begin in some states.
func (r *memberReader) countVisits(n *node, at *path, m *Member, to int, set *StateSet) bool {
	if _, err := newStateFinder(m.Agent, m.Agent.Model.States()).in(set); err != nil {
		r.misbuilt(n, at, Inside(err, "visits"))
		return false
	}
	m.declare(Return{Visits: set}, to)
	return true
}

// countAction adds a return that is 1 where an action is taken.
func (r *memberReader) countAction(n *node, at *path, m *Member, to int, action string) bool {
	agent, found := m.Agent, false
	was := *agent
	ok := r.extend(n, at, m, to, func(rows *cmdp.Rows, h, s, c int) float64 {
		first, _ := rows.Choices(s)
		if was.ActionName(h, s, c-first) != action {
			return 0
		}
		found = true
		return 1
	})
	if ok && !found {
		return r.bad(n, at.key("action"), "no state of the model offers an action %s", shorten(action))
	}
	return ok
}

// declare adds a return that follows from the course of an episode and goes into a return of the fleet.
func (m *Member) declare(r Return, to int) {
	p := m.Agent
	if p.Kinds == nil {
		p.Kinds = make([]Return, len(p.Returns))
	}
	p.Returns = append(slices.Clip(p.Returns), m.freshName(to))
	p.Kinds = append(slices.Clip(p.Kinds), r)
	m.Returns = append(m.Returns, to)
}

// freshName is a name for a return that is added for a return of the fleet.
func (m *Member) freshName(to int) string {
	name := fmt.Sprintf("for return %d of the fleet", to+1)
	for slices.Contains(m.Agent.Returns, name) {
		name += " again"
	}
	return name
}

// extend adds a return of choices, the value of which is given by kernel, step and number, and that goes into a
// return of the fleet.
func (r *memberReader) extend(n *node, at *path, m *Member, to int, value choiceValue) bool {
	p := m.Agent
	model, err := rebuilt(p.Model, nil, value)
	if err != nil {
		return r.bad(n, at, "%s", trimmed(err, "cmdp: "))
	}
	// Returns that rows give come in their order: the new one is the last of them.
	p.Model = model
	p.Returns = append(slices.Clip(p.Returns), m.freshName(to))
	if p.Kinds != nil {
		p.Kinds = append(slices.Clip(p.Kinds), Return{})
	}
	m.Returns = append(m.Returns, to)
	return true
}

// rebuilt returns a model with another start, unless that is nil, and, unless it is nil, with one more return.
func rebuilt(m *cmdp.Model, start []cmdp.StartState, value choiceValue) (*cmdp.Model, error) {
	spec := cmdp.ModelSpec{Horizon: m.Horizon(), Discount: m.Discount(), Average: m.Average(), Dim: m.Dim(),
		Start: m.StartStates()}
	if spec.Average {
		spec.Discount = 0 // that of long-run means is said to be 1
	}
	if start != nil {
		spec.Start = start
	}
	if value != nil {
		spec.Dim++
	}
	b := cmdp.NewBuilder(spec, m.States())
	for h := range m.Kernels() {
		rows := m.Rows(h)
		for s := range m.States() {
			first, end := rows.Choices(s)
			for c := first; c < end; c++ {
				row := cmdp.Row{State: s, Action: c - first}
				if !m.Stationary() {
					row.Step = h + 1
				}
				copyRow(&row, rows, c, h, value)
				if err := b.Add(row); err != nil {
					return nil, err
				}
			}
		}
	}
	return b.Build()
}

// A choiceValue is a return of choice c, which is an action of state s at step h.
type choiceValue func(rows *cmdp.Rows, h, s, c int) float64

// copyRow sets successors and returns of a row to those of a choice, with one more return unless value is nil.
func copyRow(row *cmdp.Row, rows *cmdp.Rows, c, h int, value choiceValue) {
	with := func(returns []float64) []float64 {
		if value == nil {
			return returns
		}
		return append(slices.Clip(returns), value(rows, h, row.State, c))
	}
	next, probabilities := rows.Row(c)
	for e, n := range next {
		t := cmdp.Transition{Next: int(n), Probability: probabilities[e]}
		if rows.Random() {
			t.Returns = with(rows.Outcome(c, e))
		}
		row.Next = append(row.Next, t)
	}
	if !rows.Random() {
		row.Returns = with(rows.Returns(c))
	}
}

// readStarts reads how many agents begin in each state.
func (r *memberReader) readStarts(n *node, at *path, m *Member) bool {
	agent := m.Agent
	if n.kind != mapNode {
		return r.bad(n, at, "got %s: want a mapping from states to numbers of agents", n.describe())
	}
	ok := r.pairs(n, at)
	starts, sum := make([]int, agent.Model.States()), 0
	index := agent.stateIndex()
	for _, x := range n.members {
		here := at.key(x.key.text)
		s, known := stateNamed(x.key.text, index, agent.Model.States())
		if !known {
			ok = r.bad(x.key, here, "the model has no state %s", shorten(x.key.text))
		}
		count, good := r.integer(x.value, here, 0, maxAgents)
		if !known || !good {
			ok = false
			continue
		}
		if starts[s] > 0 {
			ok = r.bad(x.key, here, "a state is given twice, by its name and by its number")
		}
		starts[s] = count
		sum += count
	}
	if !ok {
		return false
	}
	if sum != m.Count && m.Count > 0 { // else count is what is wrong
		return r.bad(n, at, "%d agents begin somewhere, and count is %d", sum, m.Count)
	}
	var start []cmdp.StartState
	for s, k := range starts {
		if k > 0 {
			start = append(start, cmdp.StartState{State: s, Probability: float64(k) / float64(sum)})
		}
	}
	model, err := rebuilt(agent.Model, start, nil)
	if err != nil {
		return r.bad(n, at, "%s", trimmed(err, "cmdp: "))
	}
	agent.Model, m.Starts = model, starts
	return true
}
