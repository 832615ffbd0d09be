package prism

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"cmdpsolve/cmdp/language"
)

type tokenKind uint8

const (
	endOfFile tokenKind = iota
	identifier
	integer
	double
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
	switch t.kind {
	case endOfFile:
		return "the end of the file"
	case quoted:
		return `"` + t.text + `"`
	}
	return shorten(t.text)
}

func shorten(text string) string {
	const most = 60
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

func wrong(at language.Pos, format string, args ...any) error {
	return &language.Error{At: at, Message: fmt.Sprintf(format, args...)}
}

// symbols are the signs of the language, longer ones first.
var symbols = []string{"<=>", "=>", "->", "<-", "..", "!=", "<=", ">=",
	"!", "&", "|", ":", ";", ",", "(", ")", "[", "]", "{", "}", "=", "<", ">", "+", "-", "*", "/", "^", "'", "?"}

// lex splits a text into its tokens. Positions count characters.
func lex(text string) []token {
	var tokens []token
	at, counted := language.Pos{Line: 1, Column: 1}, 0 // the place of the byte with this number
	for i := 0; i < len(text); {
		c := text[i]
		at.Column += int32(utf8.RuneCountInString(text[counted:i]))
		counted = i
		switch {
		case c == '\n':
			at = language.Pos{Line: at.Line + 1, Column: 1}
			i++
			counted = i
			continue
		case c == ' ' || c == '\t' || c == '\r' || c == '\f':
			i++
			continue
		case strings.HasPrefix(text[i:], "//"):
			n := strings.IndexByte(text[i:], '\n')
			if n < 0 {
				n = len(text) - i
			}
			i += n
			continue
		case c == '#':
			fail(at, "a preprocessor's #…# is not supported: write the text out")
		}
		t := lexToken(text[i:], at)
		i += len(t.text)
		if t.kind == quoted {
			t.text = t.text[1 : len(t.text)-1]
		}
		tokens = append(tokens, t)
	}
	at.Column += int32(utf8.RuneCountInString(text[counted:]))
	return append(tokens, token{endOfFile, "", at})
}

// lexToken returns the token at the beginning of a text, one in quotes with them.
func lexToken(text string, at language.Pos) token {
	c := text[0]
	if n := span(text, isWord); n > 0 && !isDigit(c) {
		return token{identifier, text[:n], at}
	}
	if kind, n := number(text); n > 0 {
		return token{kind, text[:n], at}
	}
	if c == '"' {
		n := strings.IndexAny(text[1:], "\"\n")
		if n < 0 || text[1+n] == '\n' {
			fail(at, "the quotes are not closed")
		}
		return token{quoted, text[:n+2], at}
	}
	for _, s := range symbols {
		if strings.HasPrefix(text, s) {
			return token{symbol, s, at}
		}
	}
	r, _ := utf8.DecodeRuneInString(text)
	fail(at, "unexpected character %q", r)
	return token{}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWord(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c)
}

func span(text string, in func(c byte) bool) int {
	n := 0
	for n < len(text) && in(text[n]) {
		n++
	}
	return n
}

// number returns the kind and length of the number at the beginning of a text. Two dots are no part of
// it: in 0..5 stand two integers. An integer with leading zeros is a double, as in PRISM.
func number(text string) (tokenKind, int) {
	whole := span(text, isDigit)
	n, kind := whole, integer
	if n < len(text) && text[n] == '.' {
		if digits := span(text[n+1:], isDigit); digits > 0 {
			n += 1 + digits
			kind = double
		}
	}
	if n == 0 {
		return kind, 0
	}
	if n < len(text) && (text[n] == 'e' || text[n] == 'E') {
		sign := 0
		if n+1 < len(text) && (text[n+1] == '+' || text[n+1] == '-') {
			sign = 1
		}
		if digits := span(text[n+1+sign:], isDigit); digits > 0 {
			n += 1 + sign + digits
			kind = double
		}
	}
	if kind == integer && whole > 1 && text[0] == '0' {
		kind = double
	}
	return kind, n
}

// fail ends what try does with an error, as check and must do with one of others.
func fail(at language.Pos, format string, args ...any) { panic(wrong(at, format, args...)) }

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func must[T any](x T, err error) T {
	check(err)
	return x
}

// try returns the error that something fails with, in a file.
func try(file string, do func()) (err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *language.Error:
			e.File = file
			err = e
		default:
			panic(e)
		}
	}()
	do()
	return nil
}
