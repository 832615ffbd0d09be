package query

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/cmdp/monitor"
	"cmdpsolve/cmdp/problem"
)

// A policy of totals may have to remember whether it is done with a loop. What tells that it is, some choices,
// is no part of the problem: it stands in the memory of the policy's rows, as in "before stay in 3" and "after
// stay in 3", where 3 is a state and stay an action.

// loopTitle says what such a monitor remembers.
const loopTitle = "loop"

const beforeLoop, afterLoop = "before ", "after "

// withLoops returns the query whose states remember besides whether any of some choices was taken, numbered as in its
// model, for each of several sets of choices. It is the query itself without any.
func (q *Query) withLoops(sets [][]bool) (*Query, error) {
	if len(sets) == 0 {
		return q, nil
	}
	var monitors []monitor.Monitor
	for _, of := range sets {
		text := choicesText(q.Process, of)
		monitors = append(monitors, &monitor.ChoiceTaken{Title: loopTitle, Choices: of, Before: beforeLoop + text,
			After: afterLoop + text})
	}
	var product *monitor.ProductModel
	var err error
	if q.Product == nil {
		product, err = monitor.New(monitor.Spec{Model: q.Model, Monitors: monitors})
	} else {
		product, err = q.Product.With(monitors...)
	}
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	of := *q
	of.Product = product
	of.Process = processOf(q.Problem, product, q.Returns)
	return &of, nil
}

// processOf returns the process of a product with monitors, whose coordinates have the given names.
func processOf(p *problem.Problem, product *monitor.ProductModel, returns []string) *problem.Process {
	return p.Remembering(product.Model, memory{product}, returns)
}

// memory is that of a product for policy files.
type memory struct{ *monitor.ProductModel }

// Parts lists the monitors that remember anything.
func (m memory) Parts() (parts []problem.MemoryPart) {
	for _, r := range m.Remembered() {
		parts = append(parts, problem.MemoryPart(r))
	}
	return parts
}

func choicesText(x *problem.Process, of []bool) string {
	var items []string
	eachChoice(x, func(c int, text string) {
		if of[c] {
			items = append(items, text)
		}
	})
	return strings.Join(items, ", ")
}

// eachChoice visits the choices with their texts.
func eachChoice(x *problem.Process, visit func(c int, text string)) {
	rows := x.Model.Rows(0)
	for s := range x.Model.States() {
		first, end := rows.Choices(s)
		for c := first; c < end; c++ {
			visit(c, quoted(x.ActionName(0, s, c-first))+" in "+quoted(x.StateName(s)))
		}
	}
}

// quoted returns a name, in quotes where it could be mistaken for more than a name.
func quoted(name string) string {
	if plain := strconv.Quote(name); name == "" || plain != `"`+name+`"` || strings.ContainsAny(name, ",:; ") {
		return plain
	}
	return name
}

// reading returns the query that a policy file is for: q itself or, where rows remember whether loops are done, one
// that remembers it. What is wrong with the file is left to [problem.ReadMixture].
func (q *Query) reading(path string) (*Query, error) {
	if m := q.Model; m == nil || m.Horizon() > 0 || m.Discount() < 1 || m.Average() {
		return q, nil
	}
	texts := loopTexts(problem.PolicyMemory(path))
	if len(texts) == 0 {
		return q, nil
	}
	choices := make(map[string]int)
	eachChoice(q.Process, func(c int, text string) { choices[text] = c })
	var sets [][]bool
	for _, text := range texts {
		set := make([]bool, q.Model.Choices())
		for _, item := range splitQuoted(text, ", ") {
			c, ok := choices[item]
			if !ok {
				return q, nil
			}
			set[c] = true
		}
		sets = append(sets, set)
	}
	return q.withLoops(sets)
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
