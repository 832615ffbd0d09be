package jani

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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

func wrong(at language.Pos, format string, args ...any) error {
	return &language.Error{At: at, Message: fmt.Sprintf(format, args...)}
}

// A node is a JSON value with its place: an object has a key for each item. A nil node stands for one that is not there.
type node struct {
	at    language.Pos
	kind  string // "an object", "a list", "a string", "a number", "true or false" or "null"
	text  string // of strings, numbers and Booleans
	keys  []string
	items []*node
}

// A reader reads JSON.
type reader struct {
	data    []byte
	decoder *json.Decoder
	at      language.Pos // of the byte with this number
	counted int
	depth   int
	values  int
}

// readJSON reads a text of one value.
func readJSON(data []byte) (*node, error) {
	r := &reader{data: data, decoder: json.NewDecoder(bytes.NewReader(data)), at: language.Pos{Line: 1, Column: 1}}
	r.decoder.UseNumber()
	root, err := r.value()
	if err == nil && strings.Trim(string(data[r.decoder.InputOffset():]), " \t\r\n") != "" {
		err = wrong(r.place(int(r.decoder.InputOffset())), "text after the end of the model")
	}
	return root, err
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

func (r *reader) token() (json.Token, language.Pos, error) {
	offset := int(r.decoder.InputOffset())
	for offset < len(r.data) && strings.IndexByte(" \t\r\n:,", r.data[offset]) >= 0 {
		offset++
	}
	t, err := r.decoder.Token()
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return nil, language.Pos{}, wrong(r.place(max(0, int(syntax.Offset)-1)), "no JSON: %s", syntax)
	}
	if err != nil {
		return nil, language.Pos{}, wrong(r.place(len(r.data)), "no JSON: the text ends too early")
	}
	return t, r.place(offset), nil
}

func (r *reader) value() (*node, error) {
	t, at, err := r.token()
	if err != nil {
		return nil, err
	}
	if r.values++; r.values > maxValues {
		return nil, wrong(at, "more than %d values", maxValues)
	}
	switch t := t.(type) {
	case json.Delim:
		return r.collection(t, at)
	case string:
		return &node{at: at, kind: "a string", text: t}, nil
	case json.Number:
		return &node{at: at, kind: "a number", text: t.String()}, nil
	case bool:
		return &node{at: at, kind: "true or false", text: strconv.FormatBool(t)}, nil
	}
	return &node{at: at, kind: "null"}, nil
}

func (r *reader) collection(begin json.Delim, at language.Pos) (*node, error) {
	if r.depth++; r.depth > maxNested {
		return nil, wrong(at, "values are nested more than %d deep", maxNested)
	}
	defer func() { r.depth-- }()
	n := &node{at: at, kind: "a list"}
	if begin == '{' {
		n.kind = "an object"
	}
	for r.decoder.More() {
		if begin == '{' {
			key, _, err := r.token()
			if err != nil {
				return nil, err
			}
			n.keys = append(n.keys, key.(string))
		}
		item, err := r.value()
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	_, _, err := r.token()
	return n, err
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

// list returns the items of a list, none of nil.
func (n *node) list() []*node {
	if n == nil {
		return nil
	}
	return n.items
}

// want checks that a node is of a kind.
func (n *node) want(kind string) error {
	if n.kind != kind {
		return wrong(n.at, "got %s: want %s", n.describe(), kind)
	}
	return nil
}

func (n *node) describe() string {
	if n.text != "" {
		return shorten(n.text)
	}
	return n.kind
}

func shorten(text string) string {
	const most = 60
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// kinds say what belongs to keys that have the same meaning everywhere.
var kinds = map[string]string{"name": "a string", "location": "a string", "action": "a string", "ref": "a string", "automaton": "a string",
	"op": "a string", "function": "a string", "type": "", "automata": "a list", "actions": "a list", "constants": "a list", "variables": "a list",
	"properties": "a list", "features": "a list", "functions": "a list", "locations": "a list", "edges": "a list", "destinations": "a list",
	"assignments": "a list", "initial-locations": "a list", "transient-values": "a list", "parameters": "a list", "elements": "a list", "syncs": "a list",
	"synchronise": "a list", "input-enable": "a list", "args": "a list", "accumulate": "a list", "guard": "an object", "probability": "an object",
	"time-progress": "an object", "restrict-initial": "an object", "system": "an object", "result": "a string", "transient": "true or false"}

// object checks that a node is an object with the keys that it needs, and no others than these and those that it may
// have, which follow a stroke. Comments and what begins with x- are left out.
func (n *node) object(what, keys string) error {
	if err := n.want("an object"); err != nil {
		return err
	}
	needed, optional, _ := strings.Cut(keys, "|")
	for _, key := range strings.Fields(needed) {
		if n.get(key) == nil {
			return wrong(n.at, "%s without %s", what, key)
		}
	}
	known := append(strings.Fields(needed), strings.Fields(optional)...)
	for i, key := range n.keys {
		switch {
		case key == "comment" || strings.HasPrefix(key, "x-") || n.items[i].kind == "null":
		case !slices.Contains(known, key):
			return wrong(n.items[i].at, "%s with %s, which is not supported: want %s", what, shorten(key), strings.Join(known, ", "))
		case slices.Contains(n.keys[:i], key):
			return wrong(n.items[i].at, "%s with %s twice", what, key)
		case kinds[key] != "":
			if err := n.items[i].want(kinds[key]); err != nil {
				return err
			}
		}
	}
	return nil
}

// path returns where the value at a place stands in n, such as automata[0].edges[2].guard; empty if there is none.
func (n *node) path(at language.Pos) string {
	before := func(a, b language.Pos) bool { return a.Line < b.Line || a.Line == b.Line && a.Column <= b.Column }
	path := ""
	for n.at != at {
		i, _ := slices.BinarySearchFunc(n.items, at, func(item *node, at language.Pos) int {
			if before(item.at, at) {
				return -1
			}
			return 1
		})
		if i == 0 {
			return ""
		}
		if n.keys != nil {
			path += "." + n.keys[i-1]
		} else {
			path += "[" + strconv.Itoa(i-1) + "]"
		}
		n = n.items[i-1]
	}
	return strings.TrimPrefix(path, ".")
}
