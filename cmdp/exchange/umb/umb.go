// Package umb reads, writes and checks files of the unified Markov binary format
// (UMB), version 1, which PRISM, Storm and Modest exchange explicit models in. It
// follows the specification at https://github.com/pmc-tools/umb.
//
// Markov chains, Markov decision processes and turn-based games of two players are
// read with everything that an [exchange.Model] holds. Probabilities may be intervals. Continuous
// time, partial observation, games of more players and random annotations are
// refused. Other annotations and valuations of anything but states are left out.
//
// A start distribution that is not uniform has no place in the format. It is kept
// in the annotation "probability" of the group "start", which other tools ignore.
package umb

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/internal/source"
)

var order = binary.LittleEndian

// Read reads a model from a file of the given length, plain or compressed with
// gzip or xz. Rationals become the nearest float64. A state that PRISM or Storm gave a loop because
// it had no choices is read without ([exchange.Model.RestAtDeadlocks]). A file that is not what the
// specification says is an error that names the part; nothing is allocated for
// what a header promises beyond what the file can hold. It takes time and memory
// proportional to the unpacked file, 12 bytes for each branch without rewards, and
// may be called concurrently.
func Read(f io.ReaderAt, size int64) (*exchange.Model, error) {
	a := archive{f, size}
	x, err := a.index()
	if err != nil {
		return nil, fmt.Errorf("umb: %w", err)
	}
	what := fmt.Sprintf("a model of %d states, %d choices and %d branches", x.System.States, x.System.Choices,
		x.System.Branches)
	if err := source.Fits(source.Memory(f), what, x.bytes()); err != nil {
		return nil, fmt.Errorf("umb: %w", err)
	}
	r := &reader{x: x, m: x.empty(), size: size, raw: make(map[string][]byte)}
	if err := a.walk(r.file); err != nil {
		return nil, fmt.Errorf("umb: %w", err)
	}
	if err := r.finish(); err != nil {
		return nil, fmt.Errorf("umb: %w", err)
	}
	r.m.SetNominal()
	if err := r.m.Check(); err != nil {
		return nil, fmt.Errorf("umb: %s", strings.TrimPrefix(err.Error(), "exchange: "))
	}
	r.m.RestAtDeadlocks()
	return r.m, nil
}

type reader struct {
	x    *index
	m    *exchange.Model
	size int64 // of the file as it is stored
	// raw holds the files that are decoded once all of them are there.
	raw     map[string][]byte
	initial []int32
	targets bool // branch-to-target.bin
	chances []float64
}

// intervals reads the bounds of n probabilities, one after the other.
func (r *reader) intervals(in io.Reader, size int64, n int, single *numType) error {
	both, err := numbers(in, size, 2*n, single)
	if err != nil {
		return err
	}
	r.m.Probability, r.m.Lower, r.m.Upper = make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		r.m.Lower[i], r.m.Upper[i] = both[2*i], both[2*i+1]
		if !(r.m.Lower[i] <= r.m.Upper[i]) {
			return fmt.Errorf("interval %d: the lower bound %g is above the upper one, %g", i, r.m.Lower[i],
				r.m.Upper[i])
		}
		r.m.Probability[i] = r.m.Lower[i]
	}
	return nil
}

// file reads one file of the archive.
func (r *reader) file(name string, size, _ int64, in io.Reader) (err error) {
	s := &r.x.System
	states, choices, branches := int(s.States), int(s.Choices), int(s.Branches)
	switch name {
	case "state-to-choices.bin":
		r.m.First, err = offsets[int32](in, size, states, choices)
	case "choice-to-branches.bin":
		r.m.Offset, err = offsets[int](in, size, choices, branches)
	case "state-to-player.bin":
		r.m.Owner, err = indices(in, size, states, 4)
	case "state-is-initial.bin":
		r.initial, err = bitset(in, size, states)
	case "branch-to-target.bin":
		r.targets = true
		r.m.Target, err = indices(in, size, branches, 8)
	case "branch-to-probability.bin":
		if s.Probability == nil {
			return fmt.Errorf("index.json gives no branch-probability-type")
		}
		if single, is := s.Probability.interval(); is {
			err = r.intervals(in, size, branches, single)
			break
		}
		r.m.Probability, err = numbers(in, size, branches, s.Probability)
	case "actions/choices/values.bin":
		r.m.ChoiceActions = new(exchange.Actions)
		r.m.ChoiceActions.Of, err = indices(in, size, choices, 4)
	case "actions/branches/values.bin":
		r.m.BranchActions = new(exchange.Actions)
		r.m.BranchActions.Of, err = indices(in, size, branches, 4)
	case "actions/choices/string-mapping.bin", "actions/choices/strings.bin",
		"actions/branches/string-mapping.bin", "actions/branches/strings.bin",
		"valuations/states/valuations.bin", "valuations/states/valuation-to-class.bin",
		"valuations/states/string-mapping.bin", "valuations/states/strings.bin":
		r.raw[name], err = whole(in, size)
	default:
		if parts := strings.Split(name, "/"); len(parts) == 5 && parts[0] == "annotations" && parts[4] == "values.bin" {
			err = r.annotation(parts[1], parts[2], parts[3], size, in)
		}
	}
	return err
}

func (r *reader) annotation(group, id, entity string, size int64, in io.Reader) (err error) {
	members, ok := r.x.Groups.get(group)
	if !ok {
		return fmt.Errorf("index.json has no annotations %s", group)
	}
	a, ok := members.get(id)
	if !ok {
		return fmt.Errorf("index.json has no annotation %s in %s", id, group)
	}
	n := r.x.counts(entity)
	switch {
	case group == "start" && id == "probability" && entity == "states" && a.Type.number() == nil:
		r.chances, err = numbers(in, size, n, &a.Type)
	case group == "aps" && entity == "states":
		for i := range r.m.Labels {
			if l := &r.m.Labels[i]; members.keys[i] == id {
				l.States, err = bitset(in, size, n)
			}
		}
	case group == "aps":
		err = fmt.Errorf("atomic propositions of %s: want them of states", entity)
	case group == "rewards":
		for i := range r.m.Rewards {
			if members.keys[i] == id {
				err = r.reward(&r.m.Rewards[i], entity, in, size, &a.Type)
			}
		}
	}
	return err
}

func (r *reader) reward(reward *exchange.Reward, entity string, in io.Reader, size int64, t *numType) (err error) {
	values, err := numbers(in, size, r.x.counts(entity), t)
	switch entity {
	case "states":
		reward.State = values
	case "choices":
		reward.Choice = values
	case "branches":
		reward.Branch = values
	default:
		err = fmt.Errorf("rewards of %s: want them of states, choices or branches", entity)
	}
	return err
}

// finish puts the defaults of absent files in and joins what came in parts.
func (r *reader) finish() error {
	s, m := &r.x.System, r.m
	if m.First == nil {
		if s.Choices != s.States {
			return fmt.Errorf("state-to-choices.bin is missing: %d states have %d choices", s.States, s.Choices)
		}
		m.First = identity[int32](int(s.States))
	}
	if m.Offset == nil {
		if s.Branches != s.Choices {
			return fmt.Errorf("choice-to-branches.bin is missing: %d choices have %d branches", s.Choices, s.Branches)
		}
		m.Offset = identity[int](int(s.Choices))
	}
	if !r.targets {
		m.Target = make([]int32, s.Branches) // all to state 0, as the specification says
	}
	switch {
	case s.Probability == nil && s.Branches == s.Choices:
		m.Probability = make([]float64, s.Branches) // choices that lead to one state each
		for e := range m.Probability {
			m.Probability[e] = 1
		}
	case s.Probability == nil:
		return fmt.Errorf("index.json gives no branch-probability-type: models without probabilities, with choices " +
			"of several branches, are not supported")
	case m.Probability == nil && s.Branches > 0:
		return fmt.Errorf("branch-to-probability.bin is missing")
	}
	if s.Players == 0 && m.Owner != nil {
		return fmt.Errorf("state-to-player.bin: there are no players")
	}
	if s.Players < 2 {
		m.Owner = nil
	}
	if uint64(len(r.initial)) != s.Initial {
		return fmt.Errorf("state-is-initial.bin: %d states: want %d as in index.json", len(r.initial), s.Initial)
	}
	m.Start = exchange.UniformStart(r.initial)
	for i := range m.Start {
		if r.chances != nil {
			m.Start[i].Probability = r.chances[m.Start[i].State]
		}
	}
	for _, kind := range []struct {
		folder  string
		actions **exchange.Actions
		values  int
		count   uint64
	}{{"actions/choices/", &m.ChoiceActions, int(s.Choices), s.ChoiceActions},
		{"actions/branches/", &m.BranchActions, int(s.Branches), s.BranchActions}} {
		if err := r.actions(kind.folder, kind.actions, kind.values, kind.count); err != nil {
			return fmt.Errorf("%s: %w", strings.TrimSuffix(kind.folder, "/"), err)
		}
	}
	return r.valuations()
}

// actions gives actions their names: those of the file, or their numbers.
func (r *reader) actions(folder string, actions **exchange.Actions, n int, count uint64) error {
	if count == 0 {
		if *actions != nil || r.raw[folder+"string-mapping.bin"] != nil {
			return fmt.Errorf("index.json says that there are no actions")
		}
		return nil
	}
	if *actions == nil {
		*actions = &exchange.Actions{Of: make([]int32, n)}
	}
	a := *actions
	for i, id := range a.Of {
		if uint64(id) >= count {
			return fmt.Errorf("values.bin: number %d is action %d: want 0 to %d", i, id, count-1)
		}
	}
	names, err := r.strings(folder, count)
	if err != nil || names != nil {
		a.Names = names
		return err
	}
	var numbered exchange.ActionNames
	for _, id := range a.Of {
		numbered.Add(fmt.Sprint(id))
	}
	*actions = numbered.Actions()
	return nil
}

// strings returns the strings of a folder, nil if it has none.
func (r *reader) strings(folder string, count uint64) ([]string, error) {
	mapping, text := r.raw[folder+"string-mapping.bin"], r.raw[folder+"strings.bin"]
	if mapping == nil && text == nil {
		return nil, nil
	}
	if mapping == nil || text == nil {
		return nil, fmt.Errorf("string-mapping.bin or strings.bin is missing: want both or none")
	}
	at, err := offsets[int](strings.NewReader(string(mapping)), int64(len(mapping)), int(count), len(text))
	if err != nil {
		return nil, fmt.Errorf("string-mapping.bin: %w", err)
	}
	return cutStrings(at, text)
}
