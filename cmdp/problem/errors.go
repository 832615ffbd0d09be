package problem

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/internal/nearest"
)

// An Error is one thing that is wrong with a problem file or with one of the
// files that it names.
type Error struct {
	File string `json:"file"`
	// Line and Column count from 1; they are 0 where the whole file is meant.
	// Columns count characters, in CSV files bytes.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Key is the path of the offending member, such as transitions[3].next.room;
	// list members count from 0. It is empty where there is none.
	Key string `json:"key"`
	// Message says what is wrong and what was expected.
	Message string `json:"message"`

	of    mistake
	again int // how many more places have the same mistake
}

// A mistake is what many places of a file may have in common: a name that the value of a header's key does not
// have, such as a return. It is told once. The zero value stands for none.
type mistake struct{ key, name string }

// fewUnknown is how many names that a header's key does not have are told one by one: where there are more, the
// key is the mistake.
const fewUnknown = 10

// merged tells every mistake once, with the number of its places.
func (es Errors) merged() Errors {
	names, places := make(map[string]int), make(map[string]int)
	for _, e := range es {
		names[e.of.key]++
		places[e.of.key] += 1 + e.again
	}
	told := make(map[string]bool)
	return slices.DeleteFunc(es, func(e *Error) bool {
		key := e.of.key
		many := key != "" && key != "let" && names[key] > fewUnknown
		switch {
		case many && told[key]:
			return true
		case many:
			told[key] = true
			e.Message += fmt.Sprintf(" (and %d more like it in %d places: is %s right?)", names[key]-1, places[key]-1,
				key)
		case e.again > 0:
			e.Message += fmt.Sprintf(" (%d times)", 1+e.again)
		}
		return false
	})
}

// Error returns "file:line:column: key: message", without the parts that are
// not known.
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			b.WriteString(":" + strconv.Itoa(e.Line))
			if e.Column > 0 {
				b.WriteString(":" + strconv.Itoa(e.Column))
			}
		}
		b.WriteString(": ")
	}
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	b.WriteString(e.Message)
	return b.String()
}

// Errors is everything that is wrong with a problem file, in the order of its
// lines; what is wrong with the files that it names follows.
type Errors []*Error

// shownErrors is how many errors a message spells out.
const shownErrors = 50

// Error lists the errors, one on each line: the first 50, then the number of
// the others.
func (es Errors) Error() string {
	var b strings.Builder
	for i, e := range es {
		if i == shownErrors {
			fmt.Fprintf(&b, "\nand %d more", len(es)-i)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(e.Error())
	}
	return b.String()
}

// sorted puts the errors of file main first and orders each file by position.
func (es Errors) sorted(main string) Errors {
	rank := map[string]int{main: -1}
	slices.SortStableFunc(es, func(x, y *Error) int {
		return cmp.Or(rank[x.File]-rank[y.File], cmp.Compare(x.Line, y.Line), cmp.Compare(x.Column, y.Column))
	})
	return es
}

// A path is where in a document a node stands. It is spelled out only for
// errors.
type path struct {
	up    *path
	name  string // of a mapping's member
	index int    // of a list's member, if name is empty
}

func (p *path) key(name string) *path { return &path{up: p, name: name} }
func (p *path) at(index int) *path    { return &path{up: p, index: index} }

func (p *path) String() string {
	if p == nil {
		return ""
	}
	up := p.up.String()
	switch {
	case p.name == "":
		return up + "[" + strconv.Itoa(p.index) + "]"
	case up == "":
		return p.name
	}
	return up + "." + p.name
}

// A spelling looks for the names that somebody may have meant. It gives up after so many comparisons, since a file
// may have as many wrong names as there are right ones.
type spelling struct{ compared int }

const mostCompared = 500_000

// nearest is [nearest.Name], but for what is given up.
func (s *spelling) nearest(name string, candidates []string) string {
	s.compared += len(candidates)
	if s.compared > mostCompared+len(candidates) {
		return ""
	}
	return nearest.Name(name, candidates)
}

// orWant is the function orWant with [spelling.nearest].
func (s *spelling) orWant(name string, known []string) string {
	return meantOrWant(s.nearest(name, known), known)
}

// oneOf lists alternatives for a message: "a, b or c".
func oneOf(names []string) string {
	switch n := len(names); n {
	case 0:
		return "none"
	case 1:
		return names[0]
	default:
		return strings.Join(names[:n-1], ", ") + " or " + names[n-1]
	}
}

// finder returns a function that gives the first place of a name in a list, or -1. Looking up many names takes time
// proportional to their number and to the length of the list.
func finder(names []string) func(name string) int {
	const few = 16 // below this many a map costs more than comparing
	if len(names) <= few {
		return func(name string) int { return slices.Index(names, name) }
	}
	first := make(map[string]int, len(names))
	for i, name := range names {
		if _, before := first[name]; !before {
			first[name] = i
		}
	}
	return func(name string) int {
		i, known := first[name]
		if !known {
			return -1
		}
		return i
	}
}

// A nameFinder looks up names in a list, which it goes through once for as long as it is given the same list.
type nameFinder struct {
	names []string
	place func(name string) int
}

// find returns the place of a name in the list, or -1.
func (f *nameFinder) find(names []string, name string) int {
	if len(names) == 0 {
		return -1
	}
	if len(f.names) != len(names) || &f.names[0] != &names[0] {
		f.names, f.place = names, finder(names)
	}
	return f.place(name)
}
