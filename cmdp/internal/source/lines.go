package source

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// longestLine is the most bytes a line may have.
const longestLine = 16 << 20

// Lines reads text line by line and knows where it is.
type Lines struct {
	in     *bufio.Scanner
	Number int    // of the line that Next returned
	Text   []byte // of that line, until the next call, without the line's end
	Bytes  int64  // read so far
	err    error
}

// NewLines returns the lines of r.
func NewLines(r io.Reader) *Lines {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 1<<16), longestLine)
	return &Lines{in: in}
}

// Next goes to the next line. It returns false at the end, and when reading fails.
func (l *Lines) Next() bool {
	if l.err != nil || !l.in.Scan() || l.in.Err() != nil {
		return false // the last line before an error may be cut
	}
	l.Number++
	l.Text = l.in.Bytes()
	l.Bytes += int64(len(l.Text)) + 1
	if !utf8.Valid(l.Text) || bytes.IndexByte(l.Text, 0) >= 0 {
		l.err = l.Errorf("not text in UTF-8")
		return false
	}
	return true
}

// Err returns why Next returned false, nil at the end.
func (l *Lines) Err() error {
	if err := l.in.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("line %d: more than %d bytes", l.Number+1, longestLine)
	} else if err != nil {
		return err
	}
	return l.err
}

// Errorf returns an error that begins with the line's number.
func (l *Lines) Errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: %w", l.Number, fmt.Errorf(format, args...))
}

// Field cuts the first field of text, separated by spaces and tabs, off.
func Field(text []byte) (field, rest []byte) {
	text = bytes.TrimLeft(text, " \t")
	if i := bytes.IndexAny(text, " \t"); i >= 0 {
		return text[:i], bytes.TrimLeft(text[i:], " \t")
	}
	return text, nil
}
