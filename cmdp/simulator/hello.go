package simulator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"cmdpsolve/cmdp"
)

// A Hello is what a simulator tells of itself before it is played.
type Hello struct {
	// Actions holds the number of actions of each state; the process rests where it is 0.
	Actions []int
	// Horizon is the number of steps of an episode; 0 leaves it to the problem.
	Horizon int
	// Returns are the coordinates of the return with the range of a single step.
	Returns []Return
	// Start is the distribution of the first state; nil if it has to be learned.
	Start []cmdp.StartState
	// Terminates says that the simulator may end an episode by itself.
	Terminates bool
	// Settable says that its state can be set, see [Simulator.SetState].
	Settable bool
}

// A Return is one coordinate of the return: in each step it lies between Lower and Upper.
type Return struct {
	Name         string
	Lower, Upper float64
}

// Bounds of what a hello may say, so that a slip costs no memory.
const (
	maxStates  = 10_000_000
	maxActions = 1_000_000_000 // of all states together
	maxHorizon = 10_000_000
	maxBounds  = 100_000_000 // ranges of returns, of all steps together
	maxReturns = 10_000
)

// helloForm is a hello on the wire.
type helloForm struct {
	Hello      *int            `json:"hello"`
	States     *int            `json:"states"`
	Actions    json.RawMessage `json:"actions"`
	Horizon    int             `json:"horizon"`
	Returns    json.RawMessage `json:"returns"`
	Start      json.RawMessage `json:"start"`
	Terminates bool            `json:"terminates"`
	Settable   bool            `json:"set_state"`
}

// parseHello reads a hello. Everything in it is checked.
func parseHello(line []byte) (*Hello, error) {
	var form helloForm
	if err := strict(line, &form); err != nil {
		return nil, err
	}
	switch {
	case form.Hello == nil || *form.Hello != Version:
		return nil, fmt.Errorf(`"hello": want %d, the version of the protocol`, Version)
	case form.States == nil || *form.States < 1 || *form.States > maxStates:
		return nil, fmt.Errorf(`"states": want a count from 1 to %d`, maxStates)
	case form.Horizon < 0 || form.Horizon > maxHorizon:
		return nil, fmt.Errorf(`"horizon" %d: want 1 to %d steps, or none to leave it to the problem`, form.Horizon,
			maxHorizon)
	}
	h := &Hello{Horizon: form.Horizon, Terminates: form.Terminates, Settable: form.Settable}
	var err error
	h.Actions, err = parseActions(form.Actions, *form.States)
	if err != nil {
		return nil, fmt.Errorf(`"actions": %w`, err)
	}
	h.Returns, err = parseReturns(form.Returns)
	if err != nil {
		return nil, fmt.Errorf(`"returns": %w`, err)
	}
	h.Start, err = parseStart(form.Start, *form.States)
	if err != nil {
		return nil, fmt.Errorf(`"start": %w`, err)
	}
	return h, nil
}

func parseActions(raw json.RawMessage, states int) ([]int, error) {
	var every int
	var each []int
	switch {
	case json.Unmarshal(raw, &every) == nil:
		each = slices.Repeat([]int{every}, states)
	case json.Unmarshal(raw, &each) != nil:
		return nil, errors.New("want a count, or a list with the count of each state")
	case len(each) != states:
		return nil, fmt.Errorf("%d counts: want one for each of the %d states", len(each), states)
	}
	sum := 0
	for s, n := range each {
		if n < 0 || n > maxActions {
			return nil, fmt.Errorf("%d in state %d: want 0 to %d", n, s, maxActions)
		}
		sum += n
	}
	if sum < 1 || sum > maxActions {
		return nil, fmt.Errorf("%d in all: want 1 to %d", sum, maxActions)
	}
	return each, nil
}

// parseReturns reads a mapping from names to ranges, in its order.
func parseReturns(raw json.RawMessage) ([]Return, error) {
	wrong := errors.New(`want the range of each return in a step, such as {"reward": [0, 1], "cost": [0, 5]}`)
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, wrong
	}
	var list []Return
	for dec.More() {
		key, err := dec.Token()
		var bounds []float64
		if err != nil || dec.Decode(&bounds) != nil || len(bounds) != 2 {
			return nil, wrong
		}
		r := Return{key.(string), bounds[0], bounds[1]}
		switch {
		case r.Name == "" || !printable(r.Name):
			return nil, fmt.Errorf("%q: want a name that can be printed", r.Name)
		case slices.ContainsFunc(list, func(o Return) bool { return o.Name == r.Name }):
			return nil, fmt.Errorf("%s is given twice", r.Name)
		case r.Lower > r.Upper || math.IsInf(r.Upper-r.Lower, 0):
			return nil, fmt.Errorf("%s: [%g, %g] is not a range", r.Name, r.Lower, r.Upper)
		case len(list) == maxReturns:
			return nil, fmt.Errorf("more than %d", maxReturns)
		}
		list = append(list, r)
	}
	if list == nil {
		return nil, wrong
	}
	return list, nil
}

func printable(s string) bool {
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// parseStart reads a state, or a mapping from states to probabilities.
func parseStart(raw json.RawMessage, states int) ([]cmdp.StartState, error) {
	if raw == nil || string(raw) == "null" {
		return nil, nil
	}
	var one int
	if json.Unmarshal(raw, &one) == nil {
		if one < 0 || one >= states {
			return nil, fmt.Errorf("state %d: want 0 to %d", one, states-1)
		}
		return []cmdp.StartState{{State: one, Probability: 1}}, nil
	}
	var many map[string]float64
	if json.Unmarshal(raw, &many) != nil {
		return nil, errors.New(`want a state, or probabilities of states, such as {"0": 0.5, "3": 0.5}`)
	}
	start, sum := make([]cmdp.StartState, 0, len(many)), 0.0
	for key, p := range many {
		s, err := strconv.Atoi(key)
		switch {
		case err != nil || s < 0 || s >= states || strconv.Itoa(s) != key:
			return nil, fmt.Errorf("state %q: want 0 to %d", key, states-1)
		case !(p >= 0 && p <= 1+cmdp.ProbabilityTolerance):
			return nil, fmt.Errorf("state %d: %g is not a probability", s, p)
		}
		start = append(start, cmdp.StartState{State: s, Probability: p})
		sum += p
	}
	if math.Abs(sum-1) > cmdp.ProbabilityTolerance {
		return nil, fmt.Errorf("the probabilities sum to %.12g: want 1", sum)
	}
	slices.SortFunc(start, func(x, y cmdp.StartState) int { return x.State - y.State })
	return start, nil
}

// Names returns the names of the returns. It allocates.
func (h *Hello) Names() []string {
	names := make([]string, len(h.Returns))
	for i := range names {
		names[i] = h.Returns[i].Name
	}
	return names
}

// Anywhere returns the hello with a start in any of its states if it does not say where episodes begin: who does not
// learn has no use for a step to the first state. It allocates.
func (h *Hello) Anywhere() *Hello {
	if h.Start != nil {
		return h
	}
	out := *h
	for s := range h.Actions {
		out.Start = append(out.Start, cmdp.StartState{State: s, Probability: 1 / float64(len(h.Actions))})
	}
	return &out
}

// Shape returns what a learner is told of episodes of so many steps. Beside the simulator's own
// states 0 to S−1 it may have two more. In state S, if episodes may terminate, nothing happens
// any more. Where the distribution of the first state is not known, every episode begins in the
// last state, whose one action leads to the first state of the simulator in a step of its own;
// the shape then has a step more.
func (h *Hello) Shape(horizon int) (*cmdp.Shape, error) {
	if horizon > maxBounds/len(h.Returns) {
		return nil, fmt.Errorf("simulator: %d steps with %d returns are more than can be stored", horizon,
			len(h.Returns))
	}
	actions := slices.Clone(h.Actions)
	if h.Terminates {
		actions = append(actions, 0)
	}
	spec := cmdp.ShapeSpec{Horizon: horizon, Dim: len(h.Returns), Start: h.Start}
	step := cmdp.Interval{}
	for _, r := range h.Returns {
		step.Lower, step.Upper = append(step.Lower, r.Lower), append(step.Upper, r.Upper)
	}
	if h.Start == nil {
		spec.Start = []cmdp.StartState{{State: len(actions), Probability: 1}}
		actions = append(actions, 1)
		spec.Horizon++
		spec.ReturnToGo = oneStepLess(&step, horizon)
	}
	spec.Returns = []cmdp.Interval{step}
	first := make([]int32, len(actions)+1)
	for s, n := range actions {
		first[s+1] = first[s] + int32(n)
	}
	spec.First = [][]int32{first}
	return cmdp.NewShape(spec)
}

// oneStepLess widens the range of a step by 0, the return of the first one, and returns the range of
// so many steps. Ranges that differ between steps would not do: counts may be pooled over them.
func oneStepLess(step *cmdp.Interval, steps int) *cmdp.Interval {
	all := &cmdp.Interval{}
	for i := range step.Lower {
		step.Lower[i], step.Upper[i] = min(step.Lower[i], 0), max(step.Upper[i], 0)
		all.Lower = append(all.Lower, float64(steps)*step.Lower[i])
		all.Upper = append(all.Upper, float64(steps)*step.Upper[i])
	}
	return all
}

// strict decodes a line of JSON that has the members of v and no others.
func strict(line []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	err := dec.Decode(v)
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind) && kind.Field != "":
		want := map[reflect.Kind]string{reflect.Int: "a whole number", reflect.Float64: "a number",
			reflect.Slice: "a list", reflect.Bool: "true or false"}
		return fmt.Errorf("%q: got %s; want %s", kind.Field, kind.Value, want[kind.Type.Kind()])
	case err != nil:
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value in a line")
	}
	return nil
}
