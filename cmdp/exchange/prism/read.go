// Package prism reads and writes explicit models in PRISM's text files: transitions
// (.tra) and beside them, under the same name, states (.sta), labels (.lab) and
// rewards of states (.srew) and of transitions (.trew). Several reward structures
// stand in NAME1.srew, NAME1.trew, NAME2.srew and so on.
//
// Markov chains and Markov decision processes are read, with and without comments
// at the head of a file; rational numbers become the nearest float64. Continuous
// time, partial observation and intervals are refused. Initial states are those of
// the label init, state 0 without labels. Where states have names that are no
// variables, each stands in a comment before the state's line.
package prism

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/internal/source"
)

// Read reads the model whose transitions stand in the file of the given name, and
// what stands beside it. An error names the file, the line and what was expected.
// It takes time and memory proportional to the files and may be called concurrently.
func Read(files fs.FS, name string) (*exchange.Model, error) {
	r := &reader{files: files, m: exchange.Empty(1)}
	if err := r.read(name); err != nil {
		return nil, fmt.Errorf("prism: %w", err)
	}
	if err := r.m.Check(); err != nil {
		return nil, fmt.Errorf("prism: %s: %s", name, strings.TrimPrefix(err.Error(), "exchange: "))
	}
	return r.m, nil
}

type reader struct {
	files   fs.FS
	m       *exchange.Model
	initial []int32 // given by the file of transitions
}

func (r *reader) read(name string) error {
	ok, err := r.open(name, "# Transitions", r.transitions)
	if err != nil || !ok {
		return err
	}
	r.m.Start = exchange.UniformStart(r.initial)
	base := strings.TrimSuffix(name, path.Ext(name))
	if _, err := r.open(base+".sta", "# States", r.states); err != nil {
		return err
	}
	labeled, err := r.open(base+".lab", "# Labels", r.labels)
	if err != nil {
		return err
	}
	if !labeled && len(r.initial) == 0 {
		r.m.Start = exchange.UniformStart([]int32{0})
	}
	one, err := r.rewards(base, "")
	for i := 1; err == nil && !one; i++ {
		if more, err := r.rewards(base, strconv.Itoa(i)); err != nil {
			return err
		} else if !more {
			break
		}
	}
	if err != nil {
		return err
	}
	r.m.JoinBranchRewards()
	r.m.RestAtDeadlocks()
	return nil
}

// open reads a file; a missing one is no error but for the first.
func (r *reader) open(name, header string, read func(*table) error) (bool, error) {
	f, err := r.files.Open(name)
	if errors.Is(err, fs.ErrNotExist) && header != "# Transitions" {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	at, size, err := source.At(f)
	if err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	in, limit, err := source.Open(at, size)
	if err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	t := &table{Lines: source.NewLines(in), header: header, limit: limit}
	if err := read(t); err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	if err := t.Err(); err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	return true, nil
}

// A table reads lines of fields.
type table struct {
	*source.Lines
	header   string // what the comment that names the kind of the file begins with
	limit    int64  // the length of the file, unpacked
	kind     string // what follows the header, such as (MDP)
	name     string // of a reward structure
	comment  string // the comment before the line, without the mark
	fields   []string
	anything bool // a line has come
}

// next goes to the next line that is no comment and not blank, and cuts it.
func (t *table) next() (bool, error) {
	t.comment = ""
	for t.Next() {
		line := strings.TrimSpace(string(t.Text))
		if strings.HasPrefix(line, "#") {
			if err := t.note(line); err != nil {
				return false, err
			}
			continue
		}
		if line == "" {
			continue
		}
		t.fields, t.anything = strings.Fields(line), true
		return true, nil
	}
	return false, nil
}

// headers are the comments that say which kind of file one is.
var headers = []string{"# Transitions", "# States", "# Observations", "# Labels", "# State rewards", "# Transition rewards"}

func (t *table) note(line string) error {
	t.comment = strings.TrimSpace(line[1:])
	if t.anything {
		return nil
	}
	if name, ok := strings.CutPrefix(line, "# Reward structure"); ok {
		t.name = strings.Trim(strings.TrimSpace(name), `"`)
	}
	for _, h := range headers {
		if rest, ok := strings.CutPrefix(line, h); ok && (rest == "" || strings.HasPrefix(rest, " (")) {
			if h != t.header {
				return t.Errorf("got %s: want %s: this is a file of another kind", source.Quote(line), t.header)
			}
			t.kind = strings.Trim(rest, " ()")
		}
	}
	return nil
}

// sizes reads the first line, which has numbers.
func (t *table) sizes() ([]int, error) {
	ok, err := t.next()
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errors.New("the file is empty")
	}
	sizes := make([]int, len(t.fields))
	for i, f := range t.fields {
		n, err := strconv.ParseUint(f, 10, 31)
		if err != nil {
			return nil, t.Errorf("got %s: want sizes of the model", source.Quote(f))
		}
		sizes[i] = int(n)
	}
	return sizes, nil
}

func (t *table) number(field string) (float64, error) {
	if strings.HasPrefix(field, "[") {
		return 0, t.Errorf("got %s: interval models are not supported", source.Quote(field))
	}
	x, err := source.Number(field)
	if err != nil {
		return 0, t.Errorf("%w", err)
	}
	return x, nil
}

func (t *table) index(what, field string, n int) (int32, error) {
	i, err := source.Index(field, n)
	if err != nil {
		return 0, t.Errorf("%s: %w", what, err)
	}
	return i, nil
}

// transitions reads the .tra file.
func (r *reader) transitions(t *table) error {
	sizes, err := t.sizes()
	if err != nil {
		return err
	}
	switch t.kind {
	case "", "MDP", "DTMC":
	case "CTMC", "CTMDP":
		return fmt.Errorf("continuous-time models (%s) are not supported", t.kind)
	case "POMDP":
		return fmt.Errorf("partially observable models (%s) are not supported", t.kind)
	case "IDTMC", "IMDP":
		return fmt.Errorf("interval models (%s) are not supported", t.kind)
	default:
		return fmt.Errorf("models of type %s are not supported: want DTMC or MDP", source.Quote(t.kind))
	}
	switch {
	case len(sizes) == 4:
		return t.Errorf("partially observable models (4 sizes) are not supported")
	case len(sizes) == 2 && t.kind != "MDP":
		r.m.Players = 0
		sizes = []int{sizes[0], sizes[0], sizes[1]}
	case len(sizes) != 3 || t.kind == "DTMC":
		return t.Errorf("%d sizes: want 2 for a Markov chain (states, transitions), 3 for an MDP (states, choices, transitions)", len(sizes))
	}
	if sizes[0] < 1 || int64(sizes[0]) > t.limit {
		return t.Errorf("%d states: want at least 1, and no more than the file has bytes, %d", sizes[0], t.limit)
	}
	s := &sequence{table: t, r: r, states: sizes[0]}
	if err := s.read(); err != nil {
		return err
	}
	m := r.m
	if m.Branches() != sizes[2] || m.Players > 0 && m.Choices() != sizes[1] {
		return fmt.Errorf("%d choices and %d transitions: want %d and %d as in the first line", m.Choices(), m.Branches(), sizes[1], sizes[2])
	}
	return nil
}

// A sequence reads the lines of transitions, which stand in order.
type sequence struct {
	*table
	r               *reader
	states          int
	state           int // the state that has begun; -1 before the first
	choice          int // the choice of it that has begun
	action          string
	actions         exchange.ActionNames
	branchesOfChain exchange.ActionNames
}

func (s *sequence) read() error {
	m := s.r.m
	s.state, s.choice = -1, -1
	for {
		ok, err := s.next()
		if err != nil || s.Err() != nil {
			return errors.Join(err, s.Err())
		}
		if !ok {
			break
		}
		if err := s.line(); err != nil {
			return err
		}
	}
	s.endChoice()
	for len(m.First) <= s.states {
		m.First = append(m.First, int32(m.Choices()))
	}
	m.ChoiceActions, m.BranchActions = s.actions.Actions(), s.branchesOfChain.Actions()
	return nil
}

func (s *sequence) line() error {
	m, f := s.r.m, s.fields
	least := 3 + min(1, m.Players)
	if len(f) < least || len(f) > least+1 {
		return s.Errorf("%d fields: want %d, and perhaps an action: STATE %sTARGET PROBABILITY", len(f), least, [...]string{"", "CHOICE "}[least-3])
	}
	if f[0] == "-" {
		i, err := s.index("initial state", f[least-2], s.states)
		if err == nil && len(s.r.initial) > 0 && s.r.initial[len(s.r.initial)-1] >= i {
			err = s.Errorf("initial states: want them in order, each once")
		}
		s.r.initial = append(s.r.initial, i)
		return err
	}
	state, err := s.index("state", f[0], s.states)
	if err != nil {
		return err
	}
	choice, action := 0, ""
	if m.Players > 0 {
		if i, err := s.index("choice", f[1], 1<<31-1); err != nil {
			return err
		} else {
			choice = int(i)
		}
	}
	if len(f) > least {
		action = f[least]
	}
	if err := s.begin(int(state), choice, action); err != nil {
		return err
	}
	target, err := s.index("target", f[least-2], s.states)
	if err != nil {
		return err
	}
	p, err := s.number(f[least-1])
	if err == nil && p > 1 && m.Players == 0 {
		err = s.Errorf("%s is not a probability: rates of continuous-time models are not supported", f[least-1])
	}
	m.Target, m.Probability = append(m.Target, target), append(m.Probability, p)
	if m.Players == 0 {
		s.branchesOfChain.Add(action)
	}
	return err
}

// begin begins a state and a choice if the line is the first of them.
func (s *sequence) begin(state, choice int, action string) error {
	m := s.r.m
	switch {
	case state == s.state && choice == s.choice:
		if m.Players > 0 && action != s.action {
			return s.Errorf("the action %s: want %s as in the lines before, of the same choice", source.Quote(action), source.Quote(s.action))
		}
		return nil
	case state < s.state || state == s.state && choice < s.choice:
		return s.Errorf("state %d, choice %d after state %d, choice %d: want lines in order", state, choice, s.state, s.choice)
	case state == s.state && choice != s.choice+1 || state > s.state && choice != 0:
		return s.Errorf("choice %d of state %d: want the choices 0, 1, … without a gap", choice, state)
	}
	s.endChoice()
	for len(m.First) <= state {
		m.First = append(m.First, int32(m.Choices()))
	}
	s.state, s.choice, s.action = state, choice, strings.Clone(action)
	if m.Players > 0 {
		s.actions.Add(action)
	}
	return nil
}

func (s *sequence) endChoice() {
	m := s.r.m
	if s.choice >= 0 {
		m.Offset = append(m.Offset, m.Branches())
	}
}
