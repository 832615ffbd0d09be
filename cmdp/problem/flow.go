package problem

import (
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"
)

// A flowReader reads all of JSON, and of YAML what rows are mostly written in: {key: value, …}
// or one key below the other, with plain words and numbers. It gives up on anything else, which
// the YAML library then reads at a tenth of the speed (see benchmarks/results/reading.md). Its
// nodes are used again after reset.
type flowReader struct {
	text  string
	at    int
	json  bool
	line  int // of at
	begin int // of this line, less the bytes of its characters beyond the first of each
	// rows, if set, leaves out the list under the key transitions of the outermost mapping:
	// its node has the kind rowsNode and the text of the list.
	rows  bool
	slabs [][]node
	used  int
}

const slab = 128

func newFlowReader(text string, line int, json bool) *flowReader {
	return &flowReader{text: text, line: line, json: json}
}

// reset makes the nodes free again and goes on with other text.
func (f *flowReader) reset(text string, line int) {
	f.text = text
	f.line = line
	f.at, f.begin, f.used = 0, 0, 0
}

func (f *flowReader) node(kind nodeKind) *node {
	if f.used == len(f.slabs)*slab {
		f.slabs = append(f.slabs, make([]node, slab))
	}
	n := &f.slabs[f.used/slab][f.used%slab]
	f.used++
	*n = node{kind: kind, line: f.line, col: f.at - f.begin + 1, items: n.items[:0], members: n.members[:0]}
	return n
}

// space skips white space and returns the byte that follows, or 0 at the end.
func (f *flowReader) space() byte {
	for f.at < len(f.text) {
		switch c := f.text[f.at]; {
		case c == ' ' || c == '\t' && f.json || c == '\r' && (f.json || strings.HasPrefix(f.text[f.at:], "\r\n")):
			f.at++
		case c == '\n':
			f.at++
			f.line, f.begin = f.line+1, f.at
		default:
			return c
		}
	}
	return 0
}

// value reads a value. It returns nil if it gives up.
func (f *flowReader) value(depth int) *node {
	if depth > maxDepth {
		return nil
	}
	switch f.space() {
	case '{':
		return f.mapping(depth)
	case '[':
		return f.list(depth)
	case '"':
		return f.quoted()
	}
	return f.plain()
}

func (f *flowReader) list(depth int) *node {
	n := f.node(listNode)
	f.at++
	if f.space() == ']' {
		f.at++
		return n
	}
	for {
		item := f.value(depth + 1)
		if item == nil {
			return nil
		}
		n.items = append(n.items, item)
		switch f.space() {
		case ',':
			f.at++
		case ']':
			f.at++
			return n
		default:
			return nil
		}
	}
}

func (f *flowReader) mapping(depth int) *node {
	n := f.node(mapNode)
	f.at++
	if f.space() == '}' {
		f.at++
		return n
	}
	for {
		var key, value *node
		switch c := f.space(); {
		case c == '"':
			key = f.quoted()
		case !f.json:
			key = f.plain()
		}
		if key == nil || f.space() != ':' {
			return nil
		}
		f.at++
		if !f.json && !key.quoted && (f.at == len(f.text) || f.text[f.at] != ' ' && f.text[f.at] != '\n') {
			return nil
		}
		if f.rows && depth == 0 && key.text == "transitions" && f.space() == '[' {
			value = f.skip()
		} else {
			value = f.value(depth + 1)
		}
		if value == nil {
			return nil
		}
		n.members = append(n.members, member{key, value})
		switch f.space() {
		case ',':
			f.at++
		case '}':
			f.at++
			return n
		default:
			return nil
		}
	}
}

// quoted reads text in double quotes.
func (f *flowReader) quoted() *node {
	n, start := f.node(scalarNode), f.at+1
	n.quoted = true
	escaped, wide := false, 0
	for i := start; i < len(f.text); i++ {
		switch c := f.text[i]; {
		case c == '"':
			n.text = f.text[start:i]
			f.at = i + 1
			f.begin += wide
			if escaped && json.Unmarshal([]byte(f.text[start-1:i+1]), &n.text) != nil {
				return nil
			}
			return n
		case c == '\\' && f.json:
			escaped = true
			i++
		case c == '\\' || c < ' ':
			return nil
		case !utf8.RuneStart(c):
			wide++
		}
	}
	return nil
}

// plain reads a number, or a word that stands for itself in YAML.
func (f *flowReader) plain() *node {
	n, start := f.node(scalarNode), f.at
	for f.at < len(f.text) && isPlain[f.text[f.at]] {
		f.at++
	}
	n.text = f.text[start:f.at]
	if n.text == "" || f.json && !isJSONWord(n.text) {
		return nil
	}
	if !f.json && (n.text[0] == '*' || (n.text[0] == '-' || n.text[0] == '.') &&
		(len(n.text) == 1 || n.text[0] == n.text[1])) {
		return nil // an alias, a dash of a list, or the line between two documents
	}
	return n
}

// skip passes over a list in JSON, up to its closing bracket.
func (f *flowReader) skip() *node {
	n, start, depth := f.node(rowsNode), f.at, 0
	for i := f.at; i < len(f.text); i++ {
		switch f.text[i] {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
			if depth == 0 {
				n.text = f.text[start : i+1]
				f.at = i + 1
				return n
			}
		case '\n':
			f.line, f.begin = f.line+1, i+1
		case '"':
			for i++; i < len(f.text) && f.text[i] != '"'; i++ {
				if f.text[i] == '\\' {
					i++
				} else if !utf8.RuneStart(f.text[i]) {
					f.begin++
				}
			}
		}
	}
	return nil
}

var isPlain = func() (is [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-*/()") {
		is[c] = true
	}
	return is
}()

// isJSONWord reports whether text is a number in JSON, a truth value or null.
func isJSONWord(text string) bool {
	digits := func() bool {
		n := 0
		for n < len(text) && text[n] >= '0' && text[n] <= '9' {
			n++
		}
		text = text[n:]
		return n > 0
	}
	switch text {
	case "true", "false", "null":
		return true
	}
	text = strings.TrimPrefix(text, "-")
	if leading := strings.HasPrefix(text, "0"); leading {
		text = text[1:]
	} else if !digits() {
		return false
	}
	if rest, ok := strings.CutPrefix(text, "."); ok {
		text = rest
		if !digits() {
			return false
		}
	}
	if text != "" && (text[0] == 'e' || text[0] == 'E') {
		text = text[1:]
		if text != "" && (text[0] == '+' || text[0] == '-') {
			text = text[1:]
		}
		return digits() && text == ""
	}
	return text == ""
}

// parseJSON reads one JSON value that begins in line first of its file. JSON is
// read apart from YAML because YAML forbids the tabs that JSON is often
// indented with, and because its users expect other messages.
func parseJSON(text string, first int) (*node, *syntaxError) {
	f := newFlowReader(text, first, true)
	f.rows = true
	if n := f.value(0); n != nil && f.space() == 0 && f.at == len(f.text) {
		return n, nil
	}
	return nil, notJSON(text, first)
}

// notJSON says what is wrong with text that is not JSON.
func notJSON(text string, first int) *syntaxError {
	var value json.RawMessage
	err := json.Unmarshal([]byte(text), &value)
	var syntax *json.SyntaxError
	f, message := newFlowReader(text, first, true), "nested too deeply"
	if errors.As(err, &syntax) {
		end := min(max(0, int(syntax.Offset)-1), len(text))
		message = "not JSON: " + err.Error()
		if strings.Contains(message, "unexpected end") {
			end, message = len(strings.TrimRight(text, " \t\r\n")), "not JSON: the text ends too early"
		}
		for _, line := range strings.SplitAfter(text[:end], "\n") {
			f.at = utf8.RuneCountInString(line)
			if strings.HasSuffix(line, "\n") {
				f.line, f.at = f.line+1, 0
			}
		}
	}
	return &syntaxError{f.line, f.at + 1, message}
}
