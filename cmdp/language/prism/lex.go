package prism

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"cmdpsolve/cmdp/language"
)

type tokenKind uint8

// The kinds, in the order of the groups of the pattern, of which the first is of blanks and comments.
const (
	endOfFile tokenKind = iota
	identifier
	number
	quoted
	symbol
)

// A token is a word of a text; symbols and keywords are told by their text.
type token struct {
	kind tokenKind
	text string
	at   language.Pos
}

func (t token) String() string {
	if t.kind == endOfFile {
		return "the end of the file"
	}
	return shorten(t.source())
}

// source returns a token as it stands in a text.
func (t token) source() string {
	if t.kind == quoted {
		return `"` + t.text + `"`
	}
	return t.text
}

// pattern matches what may stand at the beginning of a text. Two dots are no part of a number: in 0..5 stand two
// integers.
var pattern = regexp.MustCompile(`^(?:` + strings.Join([]string{
	`([ \t\r\f]+|//[^\n]*)`,
	`([A-Za-z_]\w*)`,
	`((?:\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?)`,
	`"([^"\n]*)"`,
	`(\|\|\|?|\|\[|<=>|=>|->|<-|\.\.|!=|<=|>=|[][{}()!&|:;,=<>+*/^'?-])`,
}, "|") + ")")

// lex splits a text into its tokens. Positions count characters.
func lex(text string) (tokens []token) {
	at := language.Pos{Line: 1, Column: 1}
	for text != "" {
		if text[0] == '\n' {
			at = language.Pos{Line: at.Line + 1, Column: 1}
			text = text[1:]
			continue
		}
		found := pattern.FindStringSubmatchIndex(text)
		if found == nil {
			unexpected(text, at)
		}
		group := 1
		for found[2*group] < 0 {
			group++
		}
		if group > 1 {
			tokens = append(tokens, token{tokenKind(group - 1), text[found[2*group]:found[2*group+1]], at})
		}
		at.Column += int32(utf8.RuneCountInString(text[:found[1]]))
		text = text[found[1]:]
	}
	return append(tokens, token{endOfFile, "", at})
}

// unexpected fails with what stands at the beginning of a text.
func unexpected(text string, at language.Pos) {
	switch r, _ := utf8.DecodeRuneInString(text); r {
	case '#':
		fail(at, "a preprocessor's #…# is not supported: write the text out")
	case '"':
		fail(at, "the quotes are not closed")
	default:
		fail(at, "unexpected character %q", r)
	}
}

var word = regexp.MustCompile(`^[A-Za-z_]\w*$`)

// fail ends the reading of a text, and shorten makes a part of it fit into a message.
var (
	fail    = language.Fail
	shorten = language.Shorten
)
