package problem

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cmdpsolve/cmdp"
)

// A union is a struct with exactly one field given.
type union interface{ isUnion() }

// A special type has a form of its own in a file.
type special interface {
	decode(d *decoder, n *node, at *path) bool
	encode(b []byte) []byte
}

// A decoder turns nodes into values and collects what is wrong with them.
type decoder struct {
	spelling
	file string
	errs Errors
	// faults counts everything that is wrong, listed or not; first has the place of each mistake that may come again.
	faults int
	first  map[mistake]*Error
	// constants are what numbers may be made of.
	constants *constants
}

// maxErrors is how many errors are kept: a file of millions of lines may be wrong in
// each of them.
const maxErrors = 10_000

// report records an error, or counts it if its mistake is known.
func (d *decoder) report(e *Error) {
	d.faults++
	if e.of != (mistake{}) {
		if first := d.first[e.of]; first != nil {
			first.again++
			return
		}
		if d.first == nil {
			d.first = make(map[mistake]*Error)
		}
		if len(d.errs) < maxErrors {
			d.first[e.of] = e
		}
	}
	switch n := len(d.errs); {
	case n < maxErrors:
		d.errs = append(d.errs, e)
	case n == maxErrors:
		// Without a place it would be sorted before all others.
		d.errs = append(d.errs, &Error{File: e.File, Line: e.Line,
			Message: "and more: the errors that follow are not listed"})
	}
}

// bad records an error at a node. It returns false, so that callers can return
// its result.
func (d *decoder) bad(n *node, at *path, format string, args ...any) bool {
	return d.badAgain(mistake{}, n, at, format, args...)
}

// badAgain is bad for a mistake that other places may have too.
func (d *decoder) badAgain(of mistake, n *node, at *path, format string, args ...any) bool {
	e := &Error{File: d.file, Key: at.String(), Message: fmt.Sprintf(format, args...), of: of}
	if n != nil {
		e.Line, e.Column = n.line, n.col
	}
	d.report(e)
	return false
}

func (d *decoder) syntax(bad *syntaxError) {
	d.report(&Error{File: d.file, Line: bad.line, Column: bad.col, Message: bad.message})
}

// mapping checks that n is a mapping with known keys, each given once.
func (d *decoder) mapping(n *node, at *path, known []string) bool {
	ok := d.pairs(n, at)
	for _, m := range n.members {
		if m.key.kind != scalarNode || slices.Contains(known, m.key.text) {
			continue // of a key that is no name pairs has complained
		}
		ok = d.bad(m.key, at.key(m.key.text), "unknown key%s want %s", orColon(d.nearest(m.key.text, known)),
			oneOf(known))
	}
	return ok
}

// needs checks that a mapping has keys without which it means nothing.
func (d *decoder) needs(n *node, at *path, keys ...string) bool {
	ok := true
	for _, key := range keys {
		if n.get(key) == nil {
			ok = d.bad(n, at, "%s is missing", key)
		}
	}
	return ok
}

func orColon(question string) string {
	if question == "" {
		return ":"
	}
	return question
}

// pairs checks that n is a mapping without duplicate keys.
func (d *decoder) pairs(n *node, at *path) bool {
	if n.kind != mapNode {
		return d.bad(n, at, "got %s: want a mapping", n.describe())
	}
	ok := true
	const few = 8 // below this many a map costs more than comparing
	var seen map[string]*node
	if len(n.members) > few {
		seen = make(map[string]*node, len(n.members))
	}
	for i, m := range n.members {
		if m.key.kind != scalarNode {
			ok = d.bad(m.key, at, "got %s as a key: want a name", m.key.describe())
			continue
		}
		first := seen[m.key.text]
		if seen != nil && first == nil {
			seen[m.key.text] = m.key
		}
		for j := 0; seen == nil && first == nil && j < i; j++ {
			if k := n.members[j].key; k.kind == scalarNode && k.text == m.key.text {
				first = k
			}
		}
		if first != nil {
			ok = d.bad(m.key, at.key(m.key.text), "given twice: the first is in line %d", first.line)
		}
	}
	return ok
}

func (d *decoder) list(n *node, at *path) bool {
	if n.kind != listNode {
		return d.bad(n, at, "got %s: want a list", n.describe())
	}
	return true
}

// number reads a number, or arithmetic, which JSON has in quotes.
func (d *decoder) number(n *node, at *path) (float64, bool) {
	x, complaint := d.evaluate(n)
	if complaint != "" && complaint != unknownValue {
		return 0, d.badAgain(notNumber(n), n, at, "got %s: %s", n.describe(), complaint)
	}
	return x, complaint == ""
}

// notNumber is the mistake of text in the place of a number: mostly that of a constant that let does not have.
func notNumber(n *node) mistake {
	if n.kind != scalarNode || n.isNull() || n.quoted {
		return mistake{}
	}
	return mistake{"let", n.text}
}

// evaluate computes the value of a node that may be a number.
func (d *decoder) evaluate(n *node) (x float64, complaint string) {
	if n.kind != scalarNode || n.isNull() {
		return 0, wantNumber
	}
	x, complaint = parseNumber(n.text)
	switch {
	case complaint == wantNumber:
		return d.constants.evaluate(n.text)
	case n.quoted:
		return 0, wantNumber
	}
	return x, complaint
}

func (d *decoder) integer(n *node, at *path, least, most int) (int, bool) {
	i, ok := 0, false
	if n.kind == scalarNode && !n.quoted && isInteger(n.text) {
		whole, err := strconv.Atoi(n.text)
		i, ok = whole, err == nil
	} else if d.isArithmetic(n) {
		x, complaint := d.evaluate(n)
		if complaint == unknownValue {
			return 0, false
		}
		i = int(x)
		ok = complaint == "" && float64(i) == x
	}
	if !ok || i < least || i > most {
		return 0, d.bad(n, at, "got %s: want a whole number from %d to %d", d.shown(n), least, most)
	}
	return i, true
}

// isArithmetic reports whether a node is no number itself, but has the value of one, which may
// be unknown.
func (d *decoder) isArithmetic(n *node) bool {
	if n.kind != scalarNode || n.isNull() {
		return false
	}
	_, plain := parseNumber(n.text)
	_, complaint := d.evaluate(n)
	return plain != "" && (complaint == "" || complaint == unknownValue)
}

// shown describes a node in a message about its value.
func (d *decoder) shown(n *node) string {
	if !d.isArithmetic(n) {
		return n.describe()
	}
	x, _ := d.evaluate(n)
	return shorten(n.text) + ", which is " + string(appendNumber(nil, x))
}

// name reads text that can stand in tables: not empty, on one line.
func (d *decoder) name(n *node, at *path) (string, bool) {
	switch {
	case n.kind != scalarNode || n.isNull():
		return "", d.bad(n, at, "got %s: want a name", n.describe())
	case !n.quoted && n.isBool():
		return "", d.bad(n, at, "got %s, a truth value: want a name; put it in quotes if it is one", n.text)
	}
	if complaint := checkName(n.text); complaint != "" {
		return "", d.bad(n, at, "%s", complaint)
	}
	return strings.Clone(n.text), true // not the text of the whole file
}

func checkName(s string) string {
	switch {
	case s == "":
		return "the name is empty"
	case !utf8.ValidString(s):
		return "not text in UTF-8"
	}
	for _, r := range s {
		if !strconv.IsPrint(r) {
			return fmt.Sprintf("the name %s contains %U: want characters that can be printed",
				strconv.Quote(shorten(s)), r)
		}
	}
	return ""
}

func (d *decoder) member(root *node, key string, read func(n *node, at *path)) {
	if n := root.get(key); n != nil {
		read(n, (*path)(nil).key(key))
	}
}

// uniqueNames reads a list of different names, at least one.
func (d *decoder) uniqueNames(n *node, at *path) ([]string, bool) {
	if !d.list(n, at) {
		return nil, false
	}
	if len(n.items) == 0 {
		return nil, d.bad(n, at, "the list is empty: want at least one name")
	}
	names, ok := make([]string, len(n.items)), true
	seen := make(map[string]int, len(n.items))
	for i, item := range n.items {
		name, good := d.name(item, at.at(i))
		if first, twice := seen[name]; good && twice {
			good = d.bad(item, at.at(i), "%s is given twice: it is number %d too", name, first)
		}
		seen[name], names[i], ok = i, name, ok && good
	}
	return names, ok
}

// hasTwins reports whether a state is listed twice.
func (d *decoder) hasTwins(next []cmdp.Transition) bool {
	seen := make(map[int]bool, len(next))
	for _, t := range next {
		if seen[t.Next] {
			return true
		}
		seen[t.Next] = true
	}
	return false
}

func (d *decoder) probability(n *node, at *path) (float64, bool) {
	p, ok := d.number(n, at)
	if ok && !(p >= 0 && p <= 1+cmdp.ProbabilityTolerance) {
		return 0, d.bad(n, at, "got %s: want a probability, 0 to 1", d.shown(n))
	}
	return p, ok
}

func (d *decoder) checkSum(n *node, at *path, sum float64) {
	if math.Abs(sum-1) > cmdp.ProbabilityTolerance {
		d.bad(n, at, "the probabilities sum to %.12g: want 1", sum)
	}
}

// value decodes a node into v by v's type. Structs are mappings whose keys are
// the json tags of their fields; fields without omitempty must be given.
func (d *decoder) value(n *node, at *path, v reflect.Value) bool {
	if s, ok := v.Addr().Interface().(special); ok {
		return s.decode(d, n, at)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if n.isNull() && v.Type().Elem().Kind() == reflect.Float64 {
			return true
		}
		v.Set(reflect.New(v.Type().Elem()))
		return d.value(n, at, v.Elem())
	case reflect.Float64:
		x, ok := d.number(n, at)
		v.SetFloat(x)
		return ok
	case reflect.Bool:
		if n.kind != scalarNode || !n.isBool() {
			return d.bad(n, at, "got %s: want true or false", n.describe())
		}
		v.SetBool(strings.EqualFold(n.text, "true"))
		return true
	case reflect.Int:
		i, ok := d.integer(n, at, 0, maxStates)
		v.SetInt(int64(i))
		return ok
	case reflect.String:
		s, ok := d.name(n, at)
		v.SetString(s)
		return ok
	case reflect.Slice:
		if !d.list(n, at) {
			return false
		}
		ok := true
		v.Set(reflect.MakeSlice(v.Type(), len(n.items), len(n.items)))
		for i, item := range n.items {
			ok = d.value(item, at.at(i), v.Index(i)) && ok
		}
		return ok
	case reflect.Struct:
		return d.structure(n, at, v)
	}
	panic("problem: no decoding for " + v.Type().String())
}

func (d *decoder) structure(n *node, at *path, v reflect.Value) bool {
	fields, known := fieldsOf(v.Type()), keysOf(v.Interface())
	ok := d.mapping(n, at, known)
	if n.kind != mapNode {
		return false
	}
	given := 0
	for i, f := range fields {
		m := n.get(f.name)
		if m == nil {
			if !f.optional {
				ok = d.bad(n, at, "%s is missing", f.name)
			}
			continue
		}
		given++
		ok = d.value(m, at.key(f.name), v.Field(i)) && ok
	}
	if _, one := v.Interface().(union); one && given != 1 && len(n.members) == given {
		return d.bad(n, at, "%d kinds given: want exactly one of %s", given, oneOf(known))
	}
	return ok
}

type field struct {
	name     string
	optional bool
}

// fieldsOf lists the members of a struct; unexported fields must come last.
func fieldsOf(t reflect.Type) []field {
	var fs []field
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			fs = append(fs, field{name, options == "omitempty"})
		}
	}
	return fs
}
