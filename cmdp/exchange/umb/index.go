package umb

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"

	"cmdpsolve/cmdp/exchange"
)

// index is the file index.json.
type index struct {
	Version  uint32       `json:"format-version"`
	Revision uint32       `json:"format-revision"`
	Model    *modelData   `json:"model-data,omitempty"`
	File     *fileData    `json:"file-data,omitempty"`
	System   system       `json:"transition-system"`
	Groups   ordered[ids] `json:"annotations,omitzero"`
	Values   *struct {
		States *valuation `json:"states,omitempty"`
	} `json:"valuations,omitempty"`
}

type modelData struct {
	Name string `json:"name,omitempty"`
}

type fileData struct {
	Tool string `json:"tool,omitempty"`
}

type system struct {
	Time               string   `json:"time"`
	Players            uint64   `json:"#players"`
	States             uint64   `json:"#states"`
	Initial            uint64   `json:"#initial-states"`
	Choices            uint64   `json:"#choices"`
	ChoiceActions      uint64   `json:"#choice-actions"`
	Branches           uint64   `json:"#branches"`
	BranchActions      uint64   `json:"#branch-actions"`
	Observations       uint64   `json:"#observations"`
	ObservationsOf     string   `json:"observations-apply-to,omitempty"`
	Probability        *numType `json:"branch-probability-type,omitempty"`
	ExitRate           *numType `json:"exit-rate-type,omitempty"`
	ObservationChances *numType `json:"observation-probability-type,omitempty"`
	PlayerNames        []string `json:"player-names,omitempty"`
}

// A numType is how a value is stored; Size is in bits, 0 for the default.
type numType struct {
	Type string `json:"type"`
	Size uint64 `json:"size,omitempty"`
}

// defaultSize is the size in bits of a type that gives none.
var defaultSize = map[string]uint64{
	"bool": 1, "int": 64, "uint": 64, "int-interval": 128, "uint-interval": 128, "double": 64,
	"double-interval": 128, "rational": 128, "rational-interval": 256, "string": 64,
}

func (t *numType) bits() uint64 {
	if t.Size == 0 {
		return defaultSize[t.Type]
	}
	return t.Size
}

// interval returns the type of each bound, if t is one of intervals.
func (t *numType) interval() (single *numType, is bool) {
	switch t.Type {
	case "double-interval":
		return &numType{"double", t.bits() / 2}, true
	case "rational-interval":
		return &numType{"rational", t.bits() / 2}, true
	}
	return t, false
}

// number returns an error unless t is a double or a rational.
func (t *numType) number() error {
	switch {
	case t.Type == "double" && t.bits() == 64, t.Type == "rational" && t.bits()%128 == 0:
		return nil
	case t.Type == "double-interval" || t.Type == "rational-interval":
		return fmt.Errorf("numbers of type %s: want double or rational: only probabilities may be intervals", t.Type)
	}
	return fmt.Errorf("numbers of type %s with %d bits: want double, or rational with a multiple of 128 bits", t.Type,
		t.bits())
}

type annotation struct {
	Alias       *string  `json:"alias,omitempty"`
	AppliesTo   []string `json:"applies-to"`
	Type        numType  `json:"type"`
	Strings     uint64   `json:"#strings,omitempty"`
	Chances     *numType `json:"probability-type,omitempty"`
	ChanceCount uint64   `json:"#probabilities,omitempty"`
}

func (a *annotation) name(id string) string {
	if a.Alias != nil && *a.Alias != "" {
		return *a.Alias
	}
	return id
}

type ids = ordered[annotation]

type valuation struct {
	Unique  bool    `json:"unique"`
	Strings uint64  `json:"#strings,omitempty"`
	Classes []class `json:"classes"`
}

type class struct {
	Variables []variable `json:"variables"`
}

// A variable is one, or padding.
type variable struct {
	Padding  uint64   `json:"padding,omitempty"`
	Name     *string  `json:"name,omitempty"`
	Optional bool     `json:"is-optional,omitempty"`
	Type     *numType `json:"type,omitempty"`
	Offset   int64    `json:"offset,omitempty"`
}

// bits returns the size of a valuation; it is 0 for one that cannot be.
func (c *class) bits() uint64 {
	sum := uint64(0)
	for i := range c.Variables {
		v := &c.Variables[i]
		n := v.Padding
		if v.Type != nil {
			n += v.Type.bits()
		}
		if v.Optional {
			n++
		}
		if n > math.MaxUint32*2 || sum > math.MaxUint32*2 {
			return 0
		}
		sum += n
	}
	return sum
}

// An ordered is a JSON object whose members keep their order. The same key twice
// is an error.
type ordered[T any] struct {
	keys   []string
	values []T
}

func (o *ordered[T]) IsZero() bool { return len(o.keys) == 0 }

func (o *ordered[T]) get(key string) (*T, bool) {
	for i := range o.keys {
		if o.keys[i] == key {
			return &o.values[i], true
		}
	}
	return nil, false
}

func (o *ordered[T]) add(key string, value T) {
	o.keys, o.values = append(o.keys, key), append(o.values, value)
}

func (o *ordered[T]) UnmarshalJSON(text []byte) error {
	*o = ordered[T]{}
	d := json.NewDecoder(bytes.NewReader(text))
	token, err := d.Token()
	if err != nil || token == nil {
		return err
	}
	if token != json.Delim('{') {
		return fmt.Errorf("got %v: want an object", token)
	}
	seen := make(map[string]bool)
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		if seen[key] {
			return fmt.Errorf("the key %q is given twice", key)
		}
		seen[key] = true
		var value T
		if err := d.Decode(&value); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		o.add(key, value)
	}
	return nil
}

func (o ordered[T]) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, key := range o.keys {
		if i > 0 {
			b = append(b, ',')
		}
		k, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		v, err := json.Marshal(o.values[i])
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, k...), ':'), v...)
	}
	return append(b, '}'), nil
}

// check refuses what this package does not read, and sizes that no file of at
// most limit bytes can hold.
func (x *index) check(limit int64) error {
	s := &x.System
	switch {
	case x.Version != 1:
		return fmt.Errorf("format version %d: want 1", x.Version)
	case s.Time == "stochastic" || s.Time == "urgent-stochastic":
		return fmt.Errorf("continuous-time models (time: %s) are not supported", s.Time)
	case s.Time != "discrete":
		return fmt.Errorf("time: got %q: want discrete", s.Time)
	case s.Observations > 0:
		return fmt.Errorf("partially observable models (%d observations) are not supported", s.Observations)
	case s.Players > 2:
		return fmt.Errorf("games of %d players are not supported: want at most 2", s.Players)
	case s.PlayerNames != nil && uint64(len(s.PlayerNames)) != s.Players:
		return fmt.Errorf("%d names of players: want %d", len(s.PlayerNames), s.Players)
	case s.States < 1:
		return fmt.Errorf("%d states: want at least 1", s.States)
	}
	if s.Probability != nil {
		single, _ := s.Probability.interval()
		err := single.number()
		if n := s.Probability.bits(); err == nil && n%2 != 0 {
			err = fmt.Errorf("intervals of %d bits: want two numbers of the same size", n)
		}
		if err != nil {
			return fmt.Errorf("branch-probability-type: %w", err)
		}
	}
	for _, of := range []struct {
		what string
		n    uint64
	}{{"states", s.States}, {"choices", s.Choices}, {"branches", s.Branches}} {
		if of.n > uint64(limit) { // each takes a byte at least in some file
			return fmt.Errorf("%d %s: the file cannot hold more than %d", of.n, of.what, limit)
		}
	}
	if s.States > math.MaxInt32-1 || s.Choices > math.MaxInt32-1 {
		return fmt.Errorf("%d states and %d choices: more than 2³¹ are not supported", s.States, s.Choices)
	}
	return x.checkAnnotations()
}

func (x *index) checkAnnotations() error {
	for _, group := range []string{"rewards", "aps"} {
		members, _ := x.Groups.get(group)
		if members == nil {
			continue
		}
		for i, id := range members.keys {
			a := &members.values[i]
			var err error
			switch {
			case a.Chances != nil:
				err = fmt.Errorf("random values are not supported")
			case group == "rewards":
				err = a.Type.number()
			case a.Type.Type != "bool" || a.Type.bits() != 1:
				err = fmt.Errorf("values of type %s with %d bits: want bool with 1", a.Type.Type, a.Type.bits())
			}
			if err != nil {
				return fmt.Errorf("annotations: %s: %s: %w", group, id, err)
			}
		}
	}
	return nil
}

func parseIndex(text []byte, limit int64) (*index, error) {
	x := new(index)
	if err := json.Unmarshal(text, x); err != nil {
		return nil, fmt.Errorf("index.json: %s", plain(err))
	}
	if err := x.check(limit); err != nil {
		return nil, fmt.Errorf("index.json: %w", err)
	}
	return x, nil
}

// plain says in words what JSON that is of another kind than wanted has.
func plain(err error) string {
	var kind *json.UnmarshalTypeError
	if !errors.As(err, &kind) {
		return err.Error()
	}
	want, ok := map[reflect.Kind]string{reflect.Uint32: "a whole number from 0 on",
		reflect.Uint64: "a whole number from 0 on",
		reflect.Int64:  "a whole number", reflect.Float64: "a number", reflect.String: "a text",
		reflect.Slice: "a list",
		reflect.Bool:  "true or false"}[kind.Type.Kind()]
	if !ok {
		want = "an object"
	}
	said := fmt.Sprintf("got %s: want %s", kind.Value, want)
	if kind.Field != "" {
		said = kind.Field + ": " + said
	}
	return strings.Replace(err.Error(), kind.Error(), said, 1) // it may stand below a key
}

// counts returns the number of entities of a kind.
func (x *index) counts(entity string) int {
	switch entity {
	case "states":
		return int(x.System.States)
	case "choices":
		return int(x.System.Choices)
	case "branches":
		return int(x.System.Branches)
	}
	return 0
}

// empty returns the model that the index alone describes.
func (x *index) empty() *exchange.Model {
	m := &exchange.Model{Players: int(x.System.Players), PlayerNames: x.System.PlayerNames}
	for _, group := range []string{"aps", "rewards"} {
		members, _ := x.Groups.get(group)
		for i := 0; members != nil && i < len(members.keys); i++ {
			name := members.values[i].name(members.keys[i])
			if group == "aps" {
				m.Labels = append(m.Labels, exchange.Label{Name: name})
			} else {
				m.Rewards = append(m.Rewards, exchange.Reward{Name: name})
			}
		}
	}
	return m
}

// bytes estimates the memory of the model, without rewards and labels.
func (x *index) bytes() float64 {
	s := &x.System
	return 4*float64(s.States) + 8*float64(s.Choices) + 12*float64(s.Branches)
}
