// Package gymnasium reads and writes the transition tables of Gymnasium's toy-text
// environments as JSON: what json.dumps gives for env.unwrapped.P, a mapping from
// states to actions to lists of [probability, next state, reward, terminated].
//
// The table may also stand under the key P of an object with
// initial_state_distrib, as the environments call the distribution of the first
// state, and rewards, a list of names for tables whose rewards are lists.
//
// An episode ends with a transition that is terminated. Where the state that it
// leads to stays as it is and earns nothing, as in FrozenLake, that is so anyway.
// Where it does not, as in Taxi, the transition leads to one more state, which has
// no choices. The label terminated holds the states in which episodes have ended.
package gymnasium

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/internal/source"
)

// Terminated is the label of the states in which episodes have ended.
const Terminated = "terminated"

// Read reads a table from a file of the given length, plain or compressed with gzip
// or xz. An error says where in the table it is. It takes time and memory
// proportional to the file and may be called concurrently.
func Read(f io.ReaderAt, size int64) (*exchange.Model, error) {
	in, limit, err := source.Open(f, size)
	if err != nil {
		return nil, fmt.Errorf("gymnasium: %w", err)
	}
	d := json.NewDecoder(in)
	d.UseNumber()
	r := &reader{d: d, limit: limit, dim: -1}
	if err := r.read(); err != nil {
		return nil, fmt.Errorf("gymnasium: %w", err)
	}
	m, err := r.model()
	if err == nil {
		err = m.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("gymnasium: %s", strings.TrimPrefix(err.Error(), "exchange: "))
	}
	return m, nil
}

// A reader collects the outcomes of the table in the order of the file.
type reader struct {
	d        *json.Decoder
	limit    int64
	choices  []choice
	outcomes []outcome
	rewards  []float64 // dim for each outcome
	dim      int       // −1 before the first
	names    []string
	start    []float64
	states   int    // one more than the largest number
	given    []bool // of each state
	table    bool
}

type choice struct {
	state, action int32
	first, end    int // into outcomes
}

type outcome struct {
	target      int32
	probability float64
	terminated  bool
}

func (r *reader) read() error {
	if err := r.delim('{', "the file"); err != nil {
		return err
	}
	for r.d.More() {
		key, err := r.key()
		if err != nil {
			return err
		}
		switch key {
		case "P":
			if r.table {
				return fmt.Errorf("the key P is given twice, or beside states")
			}
			r.table = true
			if err = r.delim('{', "P"); err == nil {
				err = r.members("P", r.state)
			}
		case "initial_state_distrib":
			err = r.d.Decode(&r.start)
		case "rewards":
			err = r.d.Decode(&r.names)
		default:
			if r.table {
				return fmt.Errorf("unknown key %s: want P, initial_state_distrib or rewards", source.Quote(key))
			}
			err = r.state(key)
		}
		if err != nil {
			return readable(key, err)
		}
	}
	if _, err := r.d.Token(); err != nil {
		return readable("the end", err)
	}
	_, err := r.d.Token()
	var text *json.SyntaxError
	switch {
	case err == nil || errors.As(err, &text):
		return fmt.Errorf("there is more text after the table")
	case err != io.EOF:
		return fmt.Errorf("after the table: %w", err)
	}
	return nil
}

func readable(where string, err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("%s: the file ends too early", where)
	}
	if strings.HasPrefix(err.Error(), "state ") {
		return err
	}
	return fmt.Errorf("%s: %w", where, err)
}

func (r *reader) delim(want json.Delim, where string) error {
	t, err := r.d.Token()
	if err != nil {
		return readable(where, err)
	}
	if t != want {
		return fmt.Errorf("%s: got %s: want %c", where, source.Quote(fmt.Sprint(t)), want)
	}
	return nil
}

func (r *reader) key() (string, error) {
	t, err := r.d.Token()
	if err != nil {
		return "", err
	}
	key, _ := t.(string)
	return key, nil
}

// members reads the members of an object that has begun, and its end.
func (r *reader) members(where string, each func(key string) error) error {
	for r.d.More() {
		key, err := r.key()
		if err == nil {
			err = each(key)
		}
		if err != nil {
			return readable(where, err)
		}
	}
	_, err := r.d.Token()
	return err
}

func (r *reader) number(key, what string) (int32, error) {
	i, err := strconv.ParseUint(key, 10, 31)
	if err != nil || strconv.FormatUint(i, 10) != key || int64(i) > r.limit {
		return 0, fmt.Errorf("got %s: want the number of %s", source.Quote(key), what)
	}
	return int32(i), nil
}

func (r *reader) state(key string) error {
	s, err := r.number(key, "a state")
	if err != nil {
		return err
	}
	here := "state " + key
	r.given = append(r.given, make([]bool, max(0, int(s)+1-len(r.given)))...)
	if r.given[s] {
		return fmt.Errorf("%s is given twice", here)
	}
	r.given[s] = true
	r.states = max(r.states, int(s)+1)
	if err := r.delim('{', here); err != nil {
		return err
	}
	return r.members(here, func(key string) error {
		a, err := r.number(key, "an action")
		if err != nil {
			return fmt.Errorf("%s: %w", here, err)
		}
		return r.action(s, a)
	})
}

// action reads the outcomes of an action.
func (r *reader) action(s, a int32) error {
	c := choice{state: s, action: a, first: len(r.outcomes)}
	here := fmt.Sprintf("state %d, action %d", s, a)
	if err := r.delim('[', here); err != nil {
		return err
	}
	for r.d.More() {
		var fields []json.RawMessage
		if err := r.d.Decode(&fields); err != nil {
			return readable(here, err)
		}
		if len(fields) != 4 {
			return fmt.Errorf("%s: %d values: want [probability, next state, reward, terminated]", here, len(fields))
		}
		if err := r.outcome(fields); err != nil {
			return fmt.Errorf("%s: %w", here, err)
		}
	}
	if _, err := r.d.Token(); err != nil {
		return err
	}
	c.end = len(r.outcomes)
	if c.end > c.first {
		r.choices = append(r.choices, c)
	}
	return nil
}

func (r *reader) outcome(fields []json.RawMessage) error {
	var o outcome
	var err error
	o.probability, err = source.Number(string(fields[0]))
	if err != nil {
		return fmt.Errorf("probability: %w", err)
	}
	o.target, err = r.number(string(fields[1]), "the next state")
	if err != nil {
		return err
	}
	r.states = max(r.states, int(o.target)+1)
	if err := json.Unmarshal(fields[3], &o.terminated); err != nil || string(fields[3]) == "null" {
		return fmt.Errorf("terminated: got %s: want true or false", source.Quote(string(fields[3])))
	}
	list := []json.RawMessage{fields[2]}
	if fields[2][0] == '[' {
		if err := json.Unmarshal(fields[2], &list); err != nil {
			return err
		}
	}
	if r.dim < 0 {
		r.dim = len(list)
	}
	if len(list) != r.dim {
		return fmt.Errorf("%d rewards: want %d as before", len(list), r.dim)
	}
	for _, text := range list {
		x, err := source.Number(string(text))
		if err != nil {
			return fmt.Errorf("reward: %w", err)
		}
		r.rewards = append(r.rewards, x)
	}
	r.outcomes = append(r.outcomes, o)
	return nil
}

// model puts the choices in order and makes a model of them.
func (r *reader) model() (*exchange.Model, error) {
	slices.SortStableFunc(r.choices,
		func(x, y choice) int { return cmp.Or(int(x.state-y.state), int(x.action-y.action)) })
	for i := 1; i < len(r.choices); i++ {
		if x, y := r.choices[i-1], r.choices[i]; x.state == y.state && x.action == y.action {
			return nil, fmt.Errorf("state %d, action %d is given twice", y.state, y.action)
		}
	}
	if len(r.choices) == 0 {
		return nil, fmt.Errorf("the table is empty")
	}
	r.end()
	m := exchange.Empty(1)
	var actions exchange.ActionNames
	branch := make([][]float64, r.dim)
	for s, at := 0, 0; s < r.states; s++ {
		for ; at < len(r.choices) && int(r.choices[at].state) == s; at++ {
			c := r.choices[at]
			for i, o := range r.outcomes[c.first:c.end] {
				m.Target, m.Probability = append(m.Target, o.target), append(m.Probability, o.probability)
				for k := range branch {
					branch[k] = append(branch[k], r.rewards[(c.first+i)*r.dim+k])
				}
			}
			m.Offset = append(m.Offset, m.Branches())
			actions.Add(strconv.Itoa(int(c.action)))
		}
		m.First = append(m.First, int32(m.Choices()))
	}
	m.NameChoices(actions.Actions())
	m.Labels = r.ended()
	if r.names != nil && len(r.names) == 0 && !slices.ContainsFunc(r.rewards, func(x float64) bool { return x != 0 }) {
		branch = nil // the zeros stand for no reward
	} else if r.names != nil && len(r.names) != r.dim {
		return nil, fmt.Errorf("rewards: %d names: want %d", len(r.names), r.dim)
	}
	for k := range branch {
		reward := exchange.Reward{Name: "reward", Branch: branch[k]}
		if r.dim > 1 {
			reward.Name += strconv.Itoa(k)
		}
		if r.names != nil {
			reward.Name = r.names[k]
		}
		m.Rewards = append(m.Rewards, reward)
	}
	m.JoinBranchRewards()
	if len(r.start) > r.states {
		return nil, fmt.Errorf("initial_state_distrib: %d probabilities: want at most %d, one for each state",
			len(r.start), r.states)
	}
	m.Start = exchange.StartOf(r.start)
	return m, nil
}

// end turns transitions that end an episode to one more state, unless the state
// that they lead to stays as it is and earns nothing.
func (r *reader) end() {
	rests := make([]bool, r.states)
	for s := range rests {
		rests[s] = true
	}
	for _, c := range r.choices {
		for i := c.first; i < c.end; i++ {
			still := r.outcomes[i].target == c.state || r.outcomes[i].probability == 0
			for _, x := range r.rewards[i*r.dim : (i+1)*r.dim] {
				still = still && x == 0
			}
			rests[c.state] = rests[c.state] && still
		}
	}
	end := int32(r.states)
	for i := range r.outcomes {
		if o := &r.outcomes[i]; o.terminated && !rests[o.target] {
			o.target = end
			r.states = int(end) + 1
		}
	}
}

// ended returns the label of the states that terminated transitions lead to.
func (r *reader) ended() []exchange.Label {
	in := make([]bool, r.states)
	for _, o := range r.outcomes {
		if o.terminated {
			in[o.target] = true
		}
	}
	if states := exchange.StatesOf(in); states != nil {
		return []exchange.Label{{Name: Terminated, States: states}}
	}
	return nil
}
