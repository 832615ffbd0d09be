package report

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean returns a text that a terminal shows as it is. Control characters, with which a name or a file could
// move the cursor, change the title or hide what was written, are replaced, and so are those that change the
// direction of what follows. Ends of lines and tabs are kept. Whatever is written for people goes through here;
// JSON and CSV have their own rules.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), unicode.In(r, unicode.Zl, unicode.Zp):
			return utf8.RuneError
		}
		return r
	}, text)
}
