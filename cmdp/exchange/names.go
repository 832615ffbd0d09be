package exchange

import (
	"strconv"
	"strings"
)

// Named returns the variable that gives states the given names.
func Named(names []string) []Variable {
	if names == nil {
		return nil
	}
	return []Variable{{Name: "name", Text: names}}
}

// StateNames returns a name for each state, made from its variables: the text
// itself if there is one variable with text, else "x=1,b=true". It is nil if there
// are no variables. Names need not be unique.
func (m *Model) StateNames() []string {
	if len(m.Variables) == 0 {
		return nil
	}
	if len(m.Variables) == 1 && m.Variables[0].Text != nil {
		return m.Variables[0].Text
	}
	names := make([]string, m.States())
	var b []byte
	for s := range names {
		b = b[:0]
		for i := range m.Variables {
			v := &m.Variables[i]
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, v.Name...), '=')
			b = v.append(b, s)
		}
		names[s] = string(b)
	}
	return names
}

func (v *Variable) append(b []byte, s int) []byte {
	switch {
	case v.Text != nil:
		return append(b, v.Text[s]...)
	case v.Bool:
		return strconv.AppendBool(b, v.Ints[s] != 0)
	}
	return strconv.AppendInt(b, v.Ints[s], 10)
}

// Value returns the text of a state's value.
func (v *Variable) Value(s int) string { return string(v.append(nil, s)) }

// DistinctActions returns a name for each choice such that the choices of a state
// have different names, or nil if choices are called by their number in their
// state. A choice without a name is called by that number. Where names meet, the
// second choice has "/2" behind its name, the third "/3".
func (m *Model) DistinctActions() []string {
	if m.ChoiceActions == nil {
		return nil
	}
	names := make([]string, m.Choices())
	given, used := make(map[string]bool), make(map[string]bool)
	for s := range m.States() {
		first, end := int(m.First[s]), int(m.First[s+1])
		clear(given)
		clear(used)
		for c := first; c < end; c++ {
			given[m.ChoiceActions.Name(c)] = true
		}
		for _, named := range []bool{true, false} {
			for c := first; c < end; c++ {
				name := m.ChoiceActions.Name(c)
				if named != (name != "") {
					continue
				}
				if !named {
					name = strconv.Itoa(c - first)
				}
				names[c] = name
				for n := 2; used[names[c]] || given[names[c]] && names[c] != m.ChoiceActions.Name(c); n++ {
					names[c] = name + "/" + strconv.Itoa(n)
				}
				used[names[c]] = true
			}
		}
	}
	if m.numbered(func(c int) string { return names[c] }) {
		return nil
	}
	return names
}

// NameChoices gives choices the names that a file has for them, unless every name is the number of its
// choice in its state.
func (m *Model) NameChoices(a *Actions) {
	if !m.numbered(a.Name) {
		m.ChoiceActions = a
	}
}

// numbered reports whether every name is the number of its choice.
func (m *Model) numbered(name func(c int) string) bool {
	for s := range m.States() {
		for c := m.First[s]; c < m.First[s+1]; c++ {
			if name(int(c)) != strconv.Itoa(int(c-m.First[s])) {
				return false
			}
		}
	}
	return true
}

// ActionNames collects the names of choices or branches while they are read.
type ActionNames struct {
	actions Actions
	ids     map[string]int32
}

// Add appends the name of the next choice or branch.
func (a *ActionNames) Add(name string) {
	id, ok := a.ids[name]
	if !ok {
		if a.ids == nil {
			a.ids = make(map[string]int32)
		}
		id = int32(len(a.actions.Names))
		name = strings.Clone(name)
		a.ids[name] = id
		a.actions.Names = append(a.actions.Names, name)
	}
	a.actions.Of = append(a.actions.Of, id)
}

// Actions returns what has been added; nil if no name was given.
func (a *ActionNames) Actions() *Actions {
	for _, name := range a.actions.Names {
		if name != "" {
			return &a.actions
		}
	}
	return nil
}
