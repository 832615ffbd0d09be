package problem

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/exchange/formats"
	"cmdpsolve/cmdp/exchange/numpy"
	"cmdpsolve/cmdp/language"
)

// An imported model is one that the transitions of a problem refer to, in the format
// of another tool. It brings states, their names, the start and rewards.
type imported struct {
	m    *exchange.Model // nil if it could not be read, which has been said
	file string          // for errors
	// rewards are those that the returns of the problem stand for.
	rewards []*exchange.Reward
}

// loadImported reads the model that the transitions refer to, if they refer to one.
func (h *header) loadImported(transitions *node, files fs.FS) {
	var n *node
	if transitions != nil && transitions.kind == mapNode && files != nil {
		n = transitions.get("file")
	}
	if len(h.options.Constants) > 0 && (n == nil || n.kind != scalarNode || !formats.IsLanguage(n.text)) {
		h.bad(nil, nil, "%s cannot be set: the transitions are no model in a language, which alone has such constants",
			shorten(strings.Join(slices.Sorted(maps.Keys(h.options.Constants)), ", ")))
	}
	if n == nil || n.kind != scalarNode || !formats.Known(n.text) {
		return
	}
	if strings.EqualFold(filepath.Ext(n.text), ".npz") && !isDense(files, n.text) {
		return // a list of transitions, in arrays
	}
	h.imported = &imported{file: beside(h.file, n.text)}
	if info, err := fs.Stat(files, n.text); err == nil && !info.IsDir() {
		if err := fileFits(info.Size(), h.options.Bytes); err != nil {
			h.large = fmt.Errorf("%s: %w", n.text, err)
			return
		}
	}
	files = formats.Watch(h.options.context(), files)
	m, err := formats.Read(files, n.text, h.languageOptions(n.text, transitions))
	var pe *fs.PathError
	var le *language.Error
	var large *formats.LargeError
	switch {
	case errors.As(err, &large):
		h.large = fmt.Errorf("%s: %w", n.text, large)
	case contextDone(err):
		h.large = h.options.context().Err()
	case errors.As(err, &le):
		h.report(&Error{File: le.File, Line: int(le.At.Line), Column: int(le.At.Column), Message: le.Message})
	case errors.As(err, &pe):
		h.bad(n, (*path)(nil).key("transitions").key("file"), "%v", reason(err))
	case err != nil:
		message := err.Error()
		if _, after, within := strings.Cut(message, ": "); within { // after the name of a package
			message = after
		}
		h.report(&Error{File: h.imported.file, Message: message})
	case m.States() > h.limits.states || m.Branches() > h.limits.stored/2:
		h.report(&Error{File: h.imported.file,
			Message: fmt.Sprintf("%d states and %d branches are more than can be stored", m.States(), m.Branches())})
	default:
		if err := m.CheckRests(); err != nil {
			h.report(&Error{File: h.imported.file, Message: err.Error()})
			return
		}
		h.take(m)
	}
}

// languageOptions says how a model in a language is read.
func (h *header) languageOptions(file string, transitions *node) formats.LanguageOptions {
	o := formats.LanguageOptions{Path: beside(h.file, file), Constants: make(map[string]string),
		Context:  h.options.context(),
		AnyStart: true}
	o.Explore.States = h.limits.states
	o.Explore.Transitions = h.limits.stored / 2
	o.Explore.Memory = h.options.Bytes
	at := (*path)(nil).key("transitions")
	for _, key := range languageKeys {
		if n := transitions.get(key); n != nil && !formats.IsLanguage(file) {
			h.bad(n, at.key(key), "%s is no model in a language, which alone has %s", file, key)
			return o
		}
	}
	h.scalars(transitions.get("constants"), at.key("constants"), "a number, true or false", o.Constants)
	maps.Copy(o.Constants, h.options.Constants)
	if n := transitions.get("entering"); n != nil {
		o.Entering = make(map[string]string)
		h.scalars(n, at.key("entering"), "a condition on the variables", o.Entering)
	}
	o.Rest = h.scalar(transitions.get("rest"), at.key("rest"), "a condition on the variables")
	o.Agent = h.scalar(transitions.get("agent"), at.key("agent"), "the name of a player")
	return o
}

// scalars reads a mapping to what is wanted, if it is there.
func (d *decoder) scalars(n *node, at *path, want string, into map[string]string) {
	if n == nil || !d.pairs(n, at) {
		return
	}
	for _, m := range n.members {
		into[m.key.text] = d.scalar(m.value, at.key(m.key.text), want)
	}
}

// scalar reads what is wanted, if it is there.
func (d *decoder) scalar(n *node, at *path, want string) string {
	switch {
	case n == nil:
		return ""
	case n.kind != scalarNode || n.isNull():
		d.bad(n, at, "got %s: want %s", n.describe(), want)
		return ""
	}
	return n.text
}

// beside returns the name of a file that a problem file names.
func beside(problem, name string) string {
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(problem), name)
}

// isDense reports whether an .npz file has a dense kernel. A file that cannot be
// opened is for others to complain of.
func isDense(files fs.FS, name string) bool {
	f, err := files.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	a, err := numpy.OpenFile(f)
	return err == nil && a.Has("P")
}

// take takes over what an imported model says of its states. What the problem file
// says of them itself comes later, and counts.
func (h *header) take(m *exchange.Model) {
	h.imported.m = m
	h.states, h.game = m.States(), m.Players == 2
	if m.Described != nil {
		h.p.Described = m.Described
		h.names = m.Described
	} else if names := m.StateNames(); names != nil && checkStates(names) == nil {
		h.p.States, h.names = names, listed(numbered(names))
	}
	for _, st := range m.Start {
		h.spec.Start = append(h.spec.Start, cmdp.StartState{State: int(st.State), Probability: st.Probability})
	}
	for i := range m.Rewards {
		if name := m.Rewards[i].Name; checkName(name) == "" {
			h.p.Returns = append(h.p.Returns, name)
			h.imported.rewards = append(h.imported.rewards, &m.Rewards[i])
		}
	}
	h.given, h.spec.Dim = h.p.Returns, len(h.p.Returns)
	h.p.Labels = slices.Clone(m.Labels)
}

// giveReward finds the reward of the imported model that a return stands for: that of the
// same name, if no other is named. Without an imported model it is what rows give.
func (h *header) giveReward(name, reward string, n *node, at *path) {
	if m := n.get("reward"); m != nil {
		n, at = m, at.key("reward")
	} else {
		reward = name
	}
	switch {
	case h.imported != nil:
		h.reward(n, at, reward)
	case reward != name || n.kind == scalarNode && at.name == "reward":
		h.bad(n, at, "the transitions are no model of another tool, which alone has rewards: want {}, for what rows give as %s", name)
	}
}

// reward finds a reward structure of the imported model.
func (h *header) reward(n *node, at *path, name string) {
	x := h.imported
	if x.m == nil {
		return // what is wrong has been said
	}
	r := x.m.Reward(name)
	switch {
	case r != nil:
		x.rewards = append(x.rewards, r)
	case len(x.m.Rewards) == 0:
		h.bad(n, at, "%s has no rewards, and so none called %s", x.file, shorten(name))
	default:
		h.bad(n, at, "%s has no reward called %s%s", x.file, shorten(name), h.orWant(name, x.m.RewardNames()))
	}
}

// checkImported looks at what the problem file left to the imported model.
func (h *header) checkImported(root *node) {
	x := h.imported
	if x.m == nil {
		return
	}
	if n := root.get("states"); n != nil && h.states > 0 && h.states != x.m.States() {
		h.bad(n, (*path)(nil).key("states"), "%d states: %s has %d; states may be left out", h.states, x.file,
			x.m.States())
	}
	if root.get("start") == nil && len(h.spec.Start) == 0 {
		has, where := "no initial states", x.file
		if x.m.Described != nil {
			has = "several initial states without a distribution"
			if line, column := x.m.Described.Initial(); line > 0 {
				where = fmt.Sprintf("%s:%d:%d", x.file, line, column)
			}
		}
		h.bad(nil, (*path)(nil).key("start"),
			"missing, and %s has %s: want a state, or a mapping from states to probabilities", where, has)
	}
	if root.get("returns") == nil && h.spec.Dim == 0 {
		h.bad(nil, (*path)(nil).key("returns"), "%s has no rewards that could be returns", x.file)
	}
	if h.spec.Dim > maxReturns {
		h.bad(nil, (*path)(nil).key("returns"),
			"missing, and %s has %d rewards: name those that are returns, at most %d", x.file, h.spec.Dim, maxReturns)
	}
}

// addImported adds the choices of the imported model to the builder, and lets the model
// go. The reward of a state is earned with every choice that it offers; those of
// branches are random.
func (r *rowReader) addImported() error {
	m, rewards := r.imported.m, r.imported.rewards
	r.imported.m, r.imported.rewards = nil, nil
	size := cmdp.Size{States: m.States(), Horizon: r.spec.Horizon, Kernels: 1, Dim: r.spec.Dim,
		Choices: float64(m.Choices()), Transitions: float64(m.Branches())}
	r.large = size.Fits(r.options.Bytes)
	if r.large != nil {
		return nil
	}
	names := m.DistinctActions()
	r.builder.Grow(m.Choices(), m.Branches())
	const enough = 1 << 15 // transitions that are added together
	var columns = new(cmdp.Transitions)
	var choices []int
	none := make([]float64, r.spec.Dim)
	for s := range m.States() {
		theirs := m.Owner != nil && m.Owner[s] == 1
		of := &r.agent
		if theirs {
			of = &r.opponent
		}
		for c := int(m.First[s]); c < int(m.First[s+1]); c++ {
			action, opponent := 0, 0
			if names == nil {
				action = of.numbered(c - int(m.First[s]))
			} else {
				action = of.id(names[c])
			}
			if theirs {
				action, opponent = r.agent.numbered(0), action
			}
			for e := m.Offset[c]; e < m.Offset[c+1]; e++ {
				columns.State = append(columns.State, int32(s))
				columns.Action = append(columns.Action, int32(action))
				columns.Opponent = append(columns.Opponent, int32(opponent))
				columns.Next = append(columns.Next, m.Target[e])
				columns.Probability = append(columns.Probability, m.Probability[e])
				at := len(columns.Returns)
				columns.Returns = append(columns.Returns, none...)
				for i, reward := range rewards {
					columns.Returns[at+i] = reward.Total(s, c, e)
				}
			}
			r.boundImported(m, s, c, action)
			choices = append(choices, c)
		}
		if len(columns.State) >= enough || s == m.States()-1 {
			if err := r.addColumns(m, columns, choices); err != nil {
				return err
			}
			choices = choices[:0]
		}
	}
	return nil
}

// addColumns adds the transitions of choices and empties the columns.
func (r *rowReader) addColumns(m *exchange.Model, columns *cmdp.Transitions, choices []int) error {
	if err := r.builder.AddTransitions(columns); err != nil {
		return r.blame(m, columns, choices)
	}
	*columns = cmdp.Transitions{State: columns.State[:0], Action: columns.Action[:0], Opponent: columns.Opponent[:0],
		Next:        columns.Next[:0],
		Probability: columns.Probability[:0], Returns: columns.Returns[:0]}
	return nil
}

// blame returns the error of the first transition that cannot be added.
func (r *rowReader) blame(m *exchange.Model, columns *cmdp.Transitions, choices []int) error {
	i := 0
	for _, c := range choices {
		for range m.Offset[c+1] - m.Offset[c] {
			s, dim := int(columns.State[i]), r.spec.Dim
			t := cmdp.Transition{Next: int(columns.Next[i]), Probability: columns.Probability[i],
				Returns: columns.Returns[i*dim : (i+1)*dim]}
			if err := r.builder.AddTransition(cmdp.EveryStep, s, int(columns.Action[i]), int(columns.Opponent[i]),
				t); err != nil {
				return fmt.Errorf("state %s, choice %d: %w", r.p.StateName(s), c-int(m.First[s]), err)
			}
			i++
		}
	}
	return nil
}

// Time is how long a process goes on: Horizon steps, or without end and discounted,
// where 1 stands for the total return.
type Time struct {
	Horizon  int
	Discount float64
}

// Import makes a problem of a model of another tool. Its returns are the rewards of
// the model, all or those that are named; the reward of a state is earned with every
// choice there. States and actions keep their names where problems can have them;
// choices of a state with the same name, or without one, are numbered. A player 1
// becomes the opponent. Labels are kept. The model is not.
func Import(m *exchange.Model, time Time, returns ...string) (*Problem, error) {
	if m == nil {
		return nil, errors.New("problem: no model to import")
	}
	if err := errors.Join(m.Check(), m.CheckRests()); err != nil {
		return nil, fmt.Errorf("problem: %w", err)
	}
	h := &header{decoder: decoder{file: "the model"}, limits: limits{maxStates, maxHorizon, maxStored}, p: new(Problem)}
	h.imported = &imported{file: "the model"}
	h.take(m)
	h.spec.Horizon, h.spec.Discount = time.Horizon, time.Discount
	if returns != nil {
		h.imported.rewards = nil
		for _, name := range returns {
			h.reward(nil, nil, name)
		}
		h.p.Returns, h.spec.Dim = slices.Clone(returns), len(returns)
		h.given = h.p.Returns
	}
	h.checkImported(new(node))
	if h.errs == nil {
		r := newRowReader(h)
		if err := r.addImported(); err != nil {
			return nil, fmt.Errorf("problem: %w", err)
		}
		r.build(h.p, new(node))
	}
	if h.errs != nil {
		return nil, fmt.Errorf("problem: %w", h.errs)
	}
	return h.p, nil
}
