package problem

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/cmdp/monitor"
)

// A policy of totals may have to remember whether it is done with a loop. What tells that it is, some choices,
// is no part of the problem: it stands in the memory of the policy's rows, as in "before stay in 3" and "after
// stay in 3", where 3 is a state and stay an action.

// loopTitle says what such a monitor remembers.
const loopTitle = "loop"

const beforeLoop, afterLoop = "before ", "after "

// Remembering returns the process whose states remember besides whether any of some choices was taken, numbered
// as in its model, for each of several sets of choices. It is the process itself without any.
func (x *Process) Remembering(sets [][]bool) (*Process, error) {
	if len(sets) == 0 {
		return x, nil
	}
	var monitors []monitor.Monitor
	for _, of := range sets {
		text := x.choicesText(of)
		monitors = append(monitors, &monitor.ChoiceTaken{Title: loopTitle, Choices: of, Before: beforeLoop + text,
			After: afterLoop + text})
	}
	var product *monitor.ProductModel
	var err error
	if x.Product == nil {
		product, err = monitor.New(monitor.Spec{Model: x.Model, Monitors: monitors})
	} else {
		product, err = x.Product.With(monitors...)
	}
	if err != nil {
		return nil, fmt.Errorf("problem: %w", err)
	}
	return NewProcess(x.of, product, x.Returns), nil
}

// choicesText lists choices.
func (x *Process) choicesText(of []bool) string {
	var items []string
	for s := range x.states() {
		first, end := x.span(0, s)
		for c := first; c < end; c++ {
			if of[c] {
				items = append(items, x.choiceText(s, c-first))
			}
		}
	}
	return strings.Join(items, ", ")
}

// choiceText names an action in a state.
func (x *Process) choiceText(s, a int) string {
	return quoted(x.ActionName(0, s, a)) + " in " + quoted(x.StateName(s))
}

// quoted returns a name, in quotes where it could be mistaken for more than a name.
func quoted(name string) string {
	if plain := strconv.Quote(name); name == "" || plain != `"`+name+`"` || strings.ContainsAny(name, ",:; ") {
		return plain
	}
	return name
}

// PolicyProcess returns the process that a policy file is for: of itself or, where rows remember whether loops
// are done, the process that does. What is wrong with the file is left to [ReadMixture].
func PolicyProcess(path string, of *Process) (*Process, error) {
	if of == nil {
		return nil, fmt.Errorf("problem: policy %s: no process that it is for", path)
	}
	if of.Model == nil || of.horizon() > 0 || of.Model.Discount() < 1 || of.Model.Average() {
		return of, nil
	}
	var texts []string
	err := scanPolicy(path, func(r policyLine) {
		if text := r.cells[memoryCell]; len(texts) == 0 && text != "" {
			texts = loopTexts(text)
		}
	}, func(int, int, string, ...any) {})
	if err != nil || len(texts) == 0 {
		return of, nil //nolint:nilerr // it is said when the file is read
	}
	choices := make(map[string]int)
	for s := range of.states() {
		first, end := of.span(0, s)
		for c := first; c < end; c++ {
			choices[of.choiceText(s, c-first)] = c
		}
	}
	var sets [][]bool
	for _, text := range texts {
		set := make([]bool, of.Model.Choices())
		for _, item := range splitQuoted(text, ", ") {
			c, ok := choices[item]
			if !ok {
				return of, nil
			}
			set[c] = true
		}
		sets = append(sets, set)
	}
	return of.Remembering(sets)
}

// loopTexts returns what the loops of a memory say, the text after before or after, as far as they are the last
// parts of it.
func loopTexts(memory string) (texts []string) {
	parts := splitQuoted(memory, "; ")
	for _, part := range slices.Backward(parts) {
		text, ok := strings.CutPrefix(part, beforeLoop)
		if !ok {
			text, ok = strings.CutPrefix(part, afterLoop)
		}
		if !ok {
			break
		}
		texts = append(texts, text)
	}
	slices.Reverse(texts)
	return texts
}

// splitQuoted is strings.Split for separators that do not stand in quotes.
func splitQuoted(text, separator string) (parts []string) {
	for rest := text; ; {
		at, inside := 0, false
		for at < len(rest) && (inside || !strings.HasPrefix(rest[at:], separator)) {
			switch {
			case inside && rest[at] == '\\':
				at++
			case rest[at] == '"':
				inside = !inside
			}
			at++
		}
		if at >= len(rest) {
			return append(parts, rest)
		}
		parts, rest = append(parts, rest[:at]), rest[at+len(separator):]
	}
}
