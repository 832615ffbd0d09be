package language

import (
	"fmt"
	"strconv"
	"strings"
)

// A Pos is a place in a text, line and column from 1; 0 if it is not known.
type Pos struct{ Line, Column int32 }

// An Error says what is wrong in a text and where.
type Error struct {
	File    string
	At      Pos
	Message string
}

func (e *Error) Error() string {
	text := e.File
	for _, n := range []int32{e.At.Line, e.At.Column} {
		if n > 0 {
			text += ":" + strconv.Itoa(int(n))
		}
	}
	return text + ": " + e.Message
}

// Fail ends what [Try] does with an [Error]. Parsers and evaluations fail like this, so that those that succeed need
// no checks.
func Fail(at Pos, format string, args ...any) {
	panic(&Error{At: at, Message: fmt.Sprintf(format, args...)})
}

// Try returns the error that something fails with, which is one of a file.
func Try(file string, do func()) (err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *Error:
			e.File = file
			err = e
		default:
			panic(e)
		}
	}()
	do()
	return nil
}

// Shorten returns a text for a message, which may be long in a file.
func Shorten(text string) string { return shorten(text, 60) }

func shorten(text string, most int) string {
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
