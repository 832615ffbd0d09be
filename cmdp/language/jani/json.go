package jani

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"cmdpsolve/cmdp/language"
)

// Limits of what a file may hold.
const (
	maxNested = 5000
	maxValues = 20_000_000
)

// fail ends the reading of a file: [Read] returns the error. Shorten makes a part of a text fit into a message.
var (
	fail    = language.Fail
	shorten = language.Shorten
)

// A node is a JSON value with its place: an object has a key for each item. A nil node stands for one that is not
// there.
type node struct {
	at    language.Pos
	kind  string // "an object", "a list", "a string", "a number", "true or false" or "null"
	text  string // of strings, numbers and Booleans
	keys  []string
	items []*node
}

type reader struct {
	data    []byte
	decoder *json.Decoder
	at      language.Pos // of the byte with this number
	counted int
	depth   int
	values  int
}

// readJSON reads a text of one value.
func readJSON(data []byte) *node {
	r := &reader{data: data, decoder: json.NewDecoder(bytes.NewReader(data)), at: language.Pos{Line: 1, Column: 1}}
	r.decoder.UseNumber()
	root := r.value()
	if end := int(r.decoder.InputOffset()); strings.Trim(string(data[end:]), " \t\r\n") != "" {
		fail(r.place(end), "text after the end of the model")
	}
	return root
}

// place returns the place of a byte, which is not before that of an earlier call.
func (r *reader) place(offset int) language.Pos {
	passed := r.data[r.counted:max(offset, r.counted)]
	r.counted += len(passed)
	if i := bytes.LastIndexByte(passed, '\n'); i >= 0 {
		r.at.Line += int32(bytes.Count(passed, []byte("\n")))
		r.at.Column = 1
		passed = passed[i+1:]
	}
	r.at.Column += int32(utf8.RuneCount(passed))
	return r.at
}

func (r *reader) token() (json.Token, language.Pos) {
	offset := int(r.decoder.InputOffset())
	for offset < len(r.data) && strings.IndexByte(" \t\r\n:,", r.data[offset]) >= 0 {
		offset++
	}
	t, err := r.decoder.Token()
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		fail(r.place(max(0, int(syntax.Offset)-1)), "no JSON: %s", syntax)
	}
	if err != nil {
		fail(r.place(len(r.data)), "no JSON: the text ends too early")
	}
	return t, r.place(offset)
}

func (r *reader) value() *node {
	t, at := r.token()
	r.values++
	if r.values > maxValues {
		fail(at, "more than %d values", maxValues)
	}
	switch t := t.(type) {
	case json.Delim:
		return r.collection(t, at)
	case string:
		return &node{at: at, kind: "a string", text: t}
	case json.Number:
		return &node{at: at, kind: "a number", text: t.String()}
	case bool:
		return &node{at: at, kind: "true or false", text: strconv.FormatBool(t)}
	}
	return &node{at: at, kind: "null"}
}

func (r *reader) collection(begin json.Delim, at language.Pos) *node {
	r.depth++
	if r.depth > maxNested {
		fail(at, "values are nested more than %d deep", maxNested)
	}
	n := &node{at: at, kind: "a list"}
	if begin == '{' {
		n.kind = "an object"
	}
	for r.decoder.More() {
		if begin == '{' {
			key, _ := r.token()
			n.keys = append(n.keys, key.(string))
		}
		n.items = append(n.items, r.value())
	}
	r.token()
	r.depth--
	return n
}

// get returns the item of a key, nil if there is none or it is null.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	if i := slices.Index(n.keys, key); i >= 0 && n.items[i].kind != "null" {
		return n.items[i]
	}
	return nil
}

// word returns the text of the item of a key, which is empty if there is none.
func (n *node) word(key string) string {
	if item := n.get(key); item != nil {
		return item.text
	}
	return ""
}

// list returns the items of the item of a key, none if it is not there.
func (n *node) list(key string) []*node {
	if item := n.get(key); item != nil {
		return item.items
	}
	return nil
}

// want checks that a node is of a kind.
func (n *node) want(kind string) {
	if n.kind != kind {
		fail(n.at, "got %s: want %s", n, kind)
	}
}

// String describes a node for messages.
func (n *node) String() string {
	if n.text == "" {
		return n.kind
	}
	return shorten(n.text)
}

// kinds says what belongs to keys that have the same meaning everywhere.
var kinds = func() map[string]string {
	all := make(map[string]string)
	for kind, keys := range map[string]string{
		"a string": "name location action ref automaton op function result fun",
		"a list": "automata actions constants variables properties features functions locations edges destinations" +
			" assignments initial-locations transient-values parameters elements syncs synchronise input-enable args" +
			" accumulate reward-bounds",
		"an object":     "guard probability time-progress restrict-initial system step-bounds bounds",
		"true or false": "transient upper-exclusive",
	} {
		for _, key := range strings.Fields(keys) {
			all[key] = kind
		}
	}
	return all
}()

// object checks that a node is an object with the keys that it needs, and no others than these and those that it may
// have, which follow a stroke. Comments and what begins with x- are left out.
func (n *node) object(what, keys string) {
	n.want("an object")
	needed, optional, _ := strings.Cut(keys, "|")
	for key := range strings.FieldsSeq(needed) {
		if n.get(key) == nil {
			fail(n.at, "%s without %s", what, key)
		}
	}
	known := " " + needed + optional + " "
	for i, key := range n.keys {
		item := n.items[i]
		switch {
		case key == "comment" || strings.HasPrefix(key, "x-") || item.kind == "null":
		case strings.Contains(key, " ") || !strings.Contains(known, " "+key+" "):
			wanted := strings.Join(strings.Fields(known), ", ")
			fail(item.at, "%s with %s, which is not supported: want %s", what, shorten(key), wanted)
		case slices.Contains(n.keys[:i], key):
			fail(item.at, "%s with %s twice", what, key)
		case kinds[key] != "":
			item.want(kinds[key])
		}
	}
}

// path returns where the value at a place stands in n, such as automata[0].edges[2].guard; empty if there is none.
func (n *node) path(at language.Pos) string {
	path := ""
	for n != nil && n.at != at {
		i := sort.Search(len(n.items), func(i int) bool {
			item := n.items[i].at
			return item.Line > at.Line || item.Line == at.Line && item.Column > at.Column
		})
		if i == 0 {
			return ""
		}
		if n.keys != nil {
			path += "." + shorten(n.keys[i-1])
		} else {
			path += "[" + strconv.Itoa(i-1) + "]"
		}
		n = n.items[i-1]
	}
	return strings.TrimPrefix(path, ".")
}
