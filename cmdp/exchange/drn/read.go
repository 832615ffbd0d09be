// Package drn reads and writes explicit models in Storm's text format DRN ("direct
// encoding"), as Storm's DirectEncodingParser and DirectEncodingExporter do.
//
// Markov chains and Markov decision processes are read with state and action
// rewards, labels and action names; rational numbers become the nearest float64.
// Probabilities may be intervals. Continuous time, partial observation and parameters are refused.
// Initial states are those of the label init. A comment below a state's line is the
// name of the state, for that is where Storm writes valuations.
package drn

import (
	"archive/tar"
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/internal/source"
)

// unlabeled is the action name of choices without one.
const unlabeled = "__NOLABEL__"

// Read reads a model from a file of the given length, plain or compressed with gzip or xz, as text or as the
// only file of a tar archive, as Storm compresses. An error names the line and what was expected. It takes time
// and memory proportional to the file and may be called concurrently.
func Read(f io.ReaderAt, size int64) (*exchange.Model, error) {
	in, _, err := source.Open(f, size)
	if err == nil {
		in, err = unarchived(in)
	}
	if err != nil {
		return nil, fmt.Errorf("drn: %w", err)
	}
	r := &reader{Lines: source.NewLines(in), m: exchange.Empty(1), choices: -1, labels: make(map[string]int)}
	if err := r.read(); err != nil {
		return nil, fmt.Errorf("drn: %w", err)
	}
	if err := source.End(in); err != nil {
		return nil, fmt.Errorf("drn: %w", err)
	}
	if err := r.m.Check(); err != nil {
		return nil, fmt.Errorf("drn: %s", strings.TrimPrefix(err.Error(), "exchange: "))
	}
	return r.m, nil
}

// unarchived returns the content of the only file of an archive, or that of in if it is none.
func unarchived(in io.Reader) (io.Reader, error) {
	b := bufio.NewReader(in)
	const magic = 257
	if head, _ := b.Peek(magic + 5); len(head) < magic || string(head[magic:]) != "ustar" {
		return b, nil
	}
	t := tar.NewReader(b)
	h, err := t.Next()
	switch {
	case err != nil:
		return nil, fmt.Errorf("the archive is broken or cut: %w", err)
	case h.Typeflag != tar.TypeReg:
		return nil, fmt.Errorf("the archive begins with %s, which is no file: want one file", source.Quote(h.Name))
	}
	return &onlyFile{t, b}, nil
}

// An onlyFile ends with an error if the archive has another file, or more behind it.
type onlyFile struct {
	*tar.Reader
	archive io.Reader
}

func (f *onlyFile) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err == io.EOF {
		if h, another := f.Next(); another == nil {
			err = fmt.Errorf("the archive also has the file %s: want one file", source.Quote(h.Name))
		} else if another != io.EOF {
			err = fmt.Errorf("the archive is broken or cut: %w", another)
		} else if wrong := source.End(f.archive); wrong != nil {
			err = wrong
		}
	}
	return n, err
}

type reader struct {
	*source.Lines
	m               *exchange.Model
	header          map[string]string
	states, choices int // of the header; −1 choices if it does not count them
	placeholders    map[string]float64
	rewardNames     []string
	labels          map[string]int // index into m.Labels
	names           []string       // of states
	named           bool           // some state has a name
	actions         exchange.ActionNames
	stateRewards    [][]float64 // of each reward structure
	actionRewards   [][]float64
	cells           int64           // values of both
	state, choice   bool            // a state, or a choice of it, has begun
	intervals       bool            // probabilities may be intervals
	began           int             // the line with which the choice began
	empty           exchange.Faults // choices without a distribution between their bounds
}

func (r *reader) read() error {
	if err := r.readHeader(); err != nil {
		return err
	}
	for r.Next() {
		if err := r.line(); err != nil {
			return err
		}
	}
	if err := r.Err(); err != nil {
		return err
	}
	r.endState()
	if err := r.empty.Err(); err != nil {
		return err
	}
	return r.finish()
}

func (r *reader) line() error {
	text := bytes.TrimSpace(r.Text)
	switch {
	case len(text) == 0:
	case bytes.HasPrefix(text, []byte("//")):
		r.comment(string(bytes.TrimSpace(text[2:])))
	case bytes.HasPrefix(text, []byte("state ")):
		return r.beginState(text[len("state "):])
	case bytes.HasPrefix(text, []byte("action ")):
		return r.beginChoice(text[len("action "):])
	default:
		return r.branch(text)
	}
	return nil
}

// comment takes the first comment below a state's line as its name.
func (r *reader) comment(text string) {
	if n := len(r.names); r.state && !r.choice && n > 0 && r.names[n-1] == "" && text != "" {
		r.names[n-1], r.named = text, true
	}
}

func (r *reader) beginState(text []byte) error {
	r.endState()
	number, rest := source.Field(text)
	s, err := source.Index(string(number), r.states)
	if err != nil {
		return r.Errorf("state: %w", err)
	}
	if int(s) != r.m.States() {
		return r.Errorf("state %d: want state %d: states stand in order, without a gap", s, r.m.States())
	}
	r.state, r.choice = true, false
	r.names = append(r.names, "")
	rest, err = r.rewards(rest, &r.stateRewards, int(s))
	if err != nil {
		return err
	}
	return r.readLabels(rest, s)
}

// endState ends the choice and the state that have begun.
func (r *reader) endState() {
	r.endChoice()
	if r.state {
		r.m.First = append(r.m.First, int32(r.m.Choices()))
	}
}

func (r *reader) endChoice() {
	if r.choice {
		s := r.m.States()
		r.empty.Add(r.began, s, r.m.Choices()-int(r.m.First[s]), r.m.EndChoice())
	}
}

// rewards reads "[1, 2.5]" in front of text, the rewards of state or choice i, and
// returns what follows.
func (r *reader) rewards(text []byte, into *[][]float64, i int) ([]byte, error) {
	if len(text) == 0 || text[0] != '[' {
		return text, nil
	}
	end := bytes.IndexByte(text, ']')
	if end < 0 {
		return nil, r.Errorf("] is missing after the rewards")
	}
	rest := bytes.TrimSpace(text[end+1:])
	for k := 0; ; k++ {
		list := text[1:end]
		comma := bytes.IndexByte(list, ',')
		one := list
		if comma >= 0 {
			one, text, end = list[:comma], list[comma:], len(list)-comma
		}
		x, err := r.number(bytes.TrimSpace(one))
		if err != nil {
			return nil, fmt.Errorf("rewards: %w", err)
		}
		if len(*into) <= k {
			if k >= max(1, len(r.rewardNames)) && len(r.rewardNames) > 0 {
				return nil, r.Errorf("more rewards than the %d of @reward_models", len(r.rewardNames))
			}
			*into = append(*into, nil)
		}
		if math.Float64bits(x) != 0 {
			values := (*into)[k]
			r.cells += int64(i + 1 - len(values))
			if r.cells > max(1<<24, 8*r.Bytes) {
				return nil, r.Errorf("more rewards than a file of this length may have")
			}
			values = append(values, make([]float64, i+1-len(values))...)
			values[i] = x
			(*into)[k] = values
		}
		if comma < 0 {
			return rest, nil
		}
	}
}

// readLabels reads labels, in quotes if they have spaces.
func (r *reader) readLabels(text []byte, s int32) error {
	for text = bytes.TrimSpace(text); len(text) > 0; text = bytes.TrimSpace(text) {
		var name []byte
		if text[0] == '"' {
			end := bytes.IndexByte(text[1:], '"')
			if end < 1 {
				return r.Errorf("a label in quotes is empty or does not end")
			}
			name, text = text[1:1+end], text[2+end:]
		} else {
			name, text = source.Field(text)
		}
		i, ok := r.labels[string(name)]
		if !ok {
			i = len(r.m.Labels)
			r.labels[string(name)] = i
			r.m.Labels = append(r.m.Labels, exchange.Label{Name: string(name)})
		}
		if l := &r.m.Labels[i]; len(l.States) == 0 || l.States[len(l.States)-1] != s {
			l.States = append(l.States, s)
		}
	}
	return nil
}

func (r *reader) beginChoice(text []byte) error {
	if !r.state {
		return r.Errorf("an action before the first state")
	}
	r.endChoice()
	if r.m.Choices() == math.MaxInt32 {
		return r.Errorf("more than 2³¹ choices are not supported")
	}
	r.choice, r.began = true, r.Number
	name, rest := source.Field(text)
	if string(name) == unlabeled {
		name = nil
	}
	r.actions.Add(string(name))
	rest, err := r.rewards(rest, &r.actionRewards, r.m.Choices())
	if err == nil && len(rest) > 0 {
		err = r.Errorf("got %s after the action", source.Quote(string(rest)))
	}
	return err
}

func (r *reader) branch(text []byte) error {
	target, value, ok := bytes.Cut(text, []byte(":"))
	if !ok {
		return r.Errorf("got %s: want a state, an action or TARGET : PROBABILITY", source.Quote(string(text)))
	}
	if !r.choice { // a Markov chain may leave the action out
		if err := r.beginChoice([]byte(unlabeled)); err != nil {
			return err
		}
	}
	t, err := source.Index(string(bytes.TrimSpace(target)), r.states)
	if err != nil {
		return r.Errorf("target: %w", err)
	}
	lower, upper, err := r.probability(bytes.TrimSpace(value))
	if err != nil {
		return err
	}
	r.m.AppendBranch(t, lower, upper)
	return nil
}

// probability reads a number or, in interval models, [LEAST, GREATEST].
func (r *reader) probability(text []byte) (lower, upper float64, err error) {
	inside, isInterval := bytes.CutPrefix(text, []byte("["))
	if !isInterval {
		lower, err = r.number(text)
		return lower, lower, err
	}
	inside, closed := bytes.CutSuffix(inside, []byte("]"))
	least, greatest, comma := bytes.Cut(inside, []byte(","))
	if !closed || !comma || !r.intervals {
		return 0, 0, r.Errorf("got %s: want a number, or with the @value_type double-interval [LEAST, GREATEST]",
			source.Quote(string(text)))
	}
	lower, err = r.number(bytes.TrimSpace(least))
	if err != nil {
		return 0, 0, err
	}
	upper, err = r.number(bytes.TrimSpace(greatest))
	return lower, upper, err
}

func (r *reader) number(text []byte) (float64, error) {
	if len(text) > 0 && text[0] == '$' {
		if x, ok := r.placeholders[string(text)]; ok {
			return x, nil
		}
		return 0, r.Errorf("the placeholder %s is not defined", source.Quote(string(text)))
	}
	x, err := source.Number(string(text))
	if err != nil {
		return 0, r.Errorf("%w", err)
	}
	return x, nil
}

// finish compares the sizes with those of the header and turns what was collected
// into parts of the model.
func (r *reader) finish() error {
	m := r.m
	if m.States() != r.states {
		return fmt.Errorf("@nr_states is %d, but there are %d states", r.states, m.States())
	}
	rows := 0 // Storm counts a state without actions as a row
	for s := range m.States() {
		rows += max(1, int(m.First[s+1]-m.First[s]))
	}
	if r.choices >= 0 && m.Choices() != r.choices && rows != r.choices {
		return fmt.Errorf("@nr_choices is %d, but there are %d choices", r.choices, m.Choices())
	}
	m.NameChoices(r.actions.Actions()) // Storm writes numbers in the place of names
	if r.named {
		for s, name := range r.names {
			if name == "" {
				r.names[s] = strconv.Itoa(s)
			}
		}
		m.Variables = exchange.Named(r.names)
	}
	if i, ok := r.labels["init"]; ok {
		m.Start = exchange.UniformStart(m.Labels[i].States)
		m.Labels = slices.Delete(m.Labels, i, i+1)
	}
	for k := range max(len(r.stateRewards), len(r.actionRewards), len(r.rewardNames)) {
		reward := exchange.Reward{Name: "rew" + strconv.Itoa(k)}
		if k < len(r.rewardNames) {
			reward.Name = r.rewardNames[k]
		}
		reward.State, reward.Choice = padded(r.stateRewards, k, m.States()), padded(r.actionRewards, k, m.Choices())
		m.Rewards = append(m.Rewards, reward)
	}
	m.SetNominal()
	m.RestAtDeadlocks()
	return nil
}

// padded returns rewards with the zeros at their end that were not stored.
func padded(all [][]float64, k, n int) []float64 {
	if k >= len(all) || all[k] == nil {
		return nil
	}
	return append(all[k], make([]float64, n-len(all[k]))...)
}
