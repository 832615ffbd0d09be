// Package prism reads and writes explicit models in PRISM's text files: transitions
// (.tra) and beside them, under the same name, states (.sta), labels (.lab) and
// rewards of states (.srew) and of transitions (.trew). Several reward structures
// stand in NAME1.srew, NAME1.trew, NAME2.srew and so on. The file in which PRISM
// combines them all (.pexp) is read too.
//
// Markov chains and Markov decision processes are read, with and without comments
// at the head of a file; rational numbers become the nearest float64. Continuous
// time, partial observation are refused; probabilities may be intervals. Initial states are those of
// the label init, state 0 without labels. Where states have names that are no
// variables, each stands in a comment before the state's line.
package prism

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/internal/source"
)

// Read reads the model whose transitions stand in the file of the given name, and
// what stands beside it, or all of it from one file if the name has the ending .pexp. The files
// may be compressed; then all names end in .gz, or all in .xz. An error names the line, the
// file if it is one beside, and what was expected. It takes time and memory proportional to the
// files and may be called concurrently.
func Read(files fs.FS, name string) (*exchange.Model, error) {
	r := &reader{files: files, m: exchange.Empty(1), name: name}
	plain, _ := source.CutPacked(name)
	name, r.packed = plain, name[len(plain):]
	kind := path.Ext(name)
	r.base = strings.TrimSuffix(name, kind)
	err := error(nil)
	if strings.EqualFold(kind, ".pexp") {
		_, err = r.open(kind, "", r.combined)
	} else {
		err = r.apart(kind)
	}
	if err != nil {
		return nil, fmt.Errorf("prism: %w", err)
	}
	r.m.JoinBranchRewards()
	r.m.RestAtDeadlocks()
	if err := r.m.Check(); err != nil {
		return nil, fmt.Errorf("prism: %s", strings.TrimPrefix(err.Error(), "exchange: "))
	}
	return r.m, nil
}

type reader struct {
	files   fs.FS
	name    string // of the file of transitions
	base    string // the name without endings
	packed  string // the last ending of a compressed file
	m       *exchange.Model
	initial []int32 // given by the transitions
	labeled bool    // there are labels
}

// apart reads files that stand beside each other.
func (r *reader) apart(kind string) error {
	if _, err := r.open(kind, "# Transitions", r.transitions); err != nil {
		return err
	}
	if _, err := r.open(".sta", "# States", r.states); err != nil {
		return err
	}
	if _, err := r.open(".lab", "# Labels", r.labels); err != nil {
		return err
	}
	one, err := r.rewards("")
	for i := 1; err == nil && !one; i++ {
		if more, err := r.rewards(strconv.Itoa(i)); err != nil {
			return err
		} else if !more {
			break
		}
	}
	r.begin()
	return err
}

// begin lets the model begin in state 0 if nothing else is said.
func (r *reader) begin() {
	if !r.labeled && len(r.initial) == 0 {
		r.m.Start = exchange.UniformStart([]int32{0})
	}
}

// open reads the file with the given ending; a missing one is no error but for the first.
func (r *reader) open(ending, header string, read func(*table) error) (bool, error) {
	name := r.base + ending + r.packed
	f, err := r.files.Open(name)
	if errors.Is(err, fs.ErrNotExist) && name != r.name {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	at, size, err := source.At(f)
	if err == nil {
		var in io.Reader
		var limit int64
		in, limit, err = source.Open(at, size)
		if err == nil {
			t := &table{Lines: source.NewLines(in), header: header, limit: limit}
			err = read(t)
			if err == nil {
				err = t.Err()
			}
			if err == nil {
				err = source.End(in)
			}
		}
	}
	if err != nil && name != r.name {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return err == nil, err
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
	anything bool   // a line has come
	combined bool   // the file has several parts
	ended    string // the line that ended a part, the first of the next
	wrong    error  // of a comment
}

// next goes to the next line that is no comment and not blank, and cuts it. It returns false at
// the end of the file or of the part, and after an error.
func (t *table) next() bool {
	t.comment = ""
	for t.ended == "" && t.wrong == nil && t.Next() {
		switch line := strings.TrimSpace(string(t.Text)); {
		case line == "":
		case line[0] != '#':
			t.fields, t.anything = strings.Fields(line), true
			return true
		default:
			if header, _ := headerOf(line); t.combined && header != "" {
				t.ended = line
			} else {
				t.wrong = t.note(line)
			}
		}
	}
	return false
}

// Err returns why next returned false, nil at the end.
func (t *table) Err() error { return cmp.Or(t.wrong, t.Lines.Err()) }

// early returns why next returned false, which the given message says of the end.
func (t *table) early(format string, args ...any) error {
	return cmp.Or(t.Err(), fmt.Errorf(format, args...))
}

// rewardHeader is the comment above the header of rewards, with their name.
const rewardHeader = "# Reward structure"

// headers are the comments that say which kind of file one is.
var headers = []string{"# Transitions", "# States", "# Observations", "# Labels", "# State rewards",
	"# Transition rewards", rewardHeader}

// headerOf cuts a comment that begins with one of the headers, which is "" for another.
func headerOf(line string) (header, rest string) {
	for _, h := range headers {
		if rest, ok := strings.CutPrefix(line, h); ok &&
			(rest == "" || strings.HasPrefix(rest, " (") || strings.HasPrefix(rest, ` "`) && h == rewardHeader) {
			return h, rest
		}
	}
	return "", ""
}

func (t *table) note(line string) error {
	t.comment = strings.TrimSpace(line[1:])
	header, rest := headerOf(line)
	switch {
	case t.anything || header == "":
	case header == rewardHeader:
		t.name = strings.Trim(strings.TrimSpace(rest), `"`)
	case header != t.header:
		return t.Errorf("got %s: want %s: this is a file of another kind", source.Quote(line), t.header)
	default:
		t.kind = strings.Trim(rest, " ()")
	}
	return nil
}

// sizes reads the first line, which has numbers.
func (t *table) sizes() ([]int, error) {
	if !t.next() {
		return nil, t.early("the file is empty")
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
		return 0, t.Errorf("got %s: intervals are for probabilities alone", source.Quote(field))
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

// probability reads a number, or an interval [LEAST,GREATEST].
func (t *table) probability(field string) (lower, upper float64, err error) {
	inside, isInterval := strings.CutPrefix(field, "[")
	if !isInterval {
		lower, err = t.number(field)
		return lower, lower, err
	}
	inside, closed := strings.CutSuffix(inside, "]")
	least, greatest, comma := strings.Cut(inside, ",")
	if !closed || !comma {
		return 0, 0, t.Errorf("got %s: want a number, or [LEAST,GREATEST]", source.Quote(field))
	}
	lower, err = t.number(least)
	if err != nil {
		return 0, 0, err
	}
	upper, err = t.number(greatest)
	return lower, upper, err
}

// transitions reads the .tra file.
func (r *reader) transitions(t *table) error {
	sizes, err := t.sizes()
	if len(t.fields) > 0 && slices.Contains([]string{"dtmc", "mdp", "ctmc", "ma"}, strings.ToLower(t.fields[0])) {
		return t.Errorf("got %s: this is one of Storm's own .tra files: want PRISM's, or .drn",
			source.Quote(t.fields[0]))
	}
	if err != nil {
		return err
	}
	switch t.kind {
	case "", "MDP", "DTMC":
	case "IMDP", "IDTMC":
		t.kind = t.kind[1:] // whose probabilities may be intervals
	case "CTMC", "CTMDP":
		return fmt.Errorf("continuous-time models (%s) are not supported", t.kind)
	case "POMDP":
		return fmt.Errorf("partially observable models (%s) are not supported", t.kind)
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
		return t.Errorf("%d sizes: want 2 for a Markov chain (states, transitions), 3 for an MDP (states, choices, "+
			"transitions)", len(sizes))
	}
	if sizes[0] < 1 || int64(sizes[0]) > t.limit {
		return t.Errorf("%d states: want at least 1, and no more than the file has bytes, %d", sizes[0], t.limit)
	}
	s := &sequence{table: t, r: r, states: sizes[0]}
	if err := s.read(); err != nil {
		return err
	}
	r.m.Start = exchange.UniformStart(r.initial)
	m := r.m
	if m.Branches() != sizes[2] || m.Players > 0 && m.Choices() != sizes[1] {
		return fmt.Errorf("%d choices and %d transitions: want %d and %d as in the first line", m.Choices(),
			m.Branches(), sizes[1], sizes[2])
	}
	return nil
}

// A sequence reads the lines of transitions, which stand in order.
type sequence struct {
	*table
	r               *reader
	states          int
	state           int             // the state that has begun; -1 before the first
	choice          int             // the choice of it that has begun
	began           int             // the line with which it began
	empty           exchange.Faults // choices without a distribution between their bounds
	action          string
	actions         exchange.ActionNames
	branchesOfChain exchange.ActionNames
}

func (s *sequence) read() error {
	m := s.r.m
	s.state, s.choice = -1, -1
	for s.next() {
		if err := s.line(); err != nil {
			return err
		}
	}
	if err := s.Err(); err != nil {
		return err
	}
	s.endChoice()
	if err := s.empty.Err(); err != nil {
		return err
	}
	m.SetNominal()
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
		return s.Errorf("%d fields: want %d, and perhaps an action: STATE %sTARGET PROBABILITY", len(f), least,
			[...]string{"", "CHOICE "}[least-3])
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
	choice, action := int32(0), ""
	if m.Players > 0 {
		choice, err = s.index("choice", f[1], 1<<31-1)
		if err != nil {
			return err
		}
	}
	if len(f) > least {
		action = f[least]
	}
	if err := s.begin(int(state), int(choice), action); err != nil {
		return err
	}
	target, err := s.index("target", f[least-2], s.states)
	if err != nil {
		return err
	}
	lower, upper, err := s.probability(f[least-1])
	if err == nil && upper > 1 && m.Players == 0 {
		err = s.Errorf("%s is not a probability: rates of continuous-time models are not supported", f[least-1])
	}
	m.AppendBranch(target, lower, upper)
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
			return s.Errorf("the action %s: want %s as in the lines before, of the same choice", source.Quote(action),
				source.Quote(s.action))
		}
		return nil
	case state < s.state || state == s.state && choice < s.choice:
		return s.Errorf("state %d, choice %d after state %d, choice %d: want lines in order", state, choice, s.state,
			s.choice)
	case state == s.state && choice != s.choice+1 || state > s.state && choice != 0:
		return s.Errorf("choice %d of state %d: want the choices 0, 1, … without a gap", choice, state)
	}
	s.endChoice()
	for len(m.First) <= state {
		m.First = append(m.First, int32(m.Choices()))
	}
	s.state, s.choice, s.action = state, choice, strings.Clone(action)
	s.began = s.Number
	if m.Players > 0 {
		s.actions.Add(action)
	}
	return nil
}

func (s *sequence) endChoice() {
	m := s.r.m
	if s.choice >= 0 {
		s.empty.Add(s.began, s.state, s.choice, m.EndChoice())
	}
}
