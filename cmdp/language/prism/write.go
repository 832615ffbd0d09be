package prism

import (
	"strings"

	"cmdpsolve/cmdp/language"
)

// signs are the operators that are written between their arguments.
var signs = map[language.Op]bool{language.Add: true, language.Sub: true, language.Mul: true, language.Div: true, language.Eq: true,
	language.Ne: true, language.Lt: true, language.Le: true, language.Gt: true, language.Ge: true, language.And: true, language.Or: true,
	language.Implies: true, language.Iff: true}

// Write writes an expression that has not been resolved, for [Condition]. Names that PRISM's language cannot have
// stand in quotes, like labels.
func Write(e *expr) string {
	var b strings.Builder
	write(&b, e)
	return b.String()
}

func write(b *strings.Builder, e *expr) {
	between := ", "
	switch {
	case e.Op == language.Literal:
		text := e.Value()
		if e.Type == language.Double && !strings.ContainsAny(text, ".eE") {
			text += ".0"
		}
		if strings.HasPrefix(text, "-") {
			text = "(" + text + ")"
		}
		b.WriteString(text)
		return
	case e.Op == language.Name && (keywords[e.Name] || isDigit(e.Name[0]) || span(e.Name, isWord) < len(e.Name)):
		b.WriteString(`"` + e.Name + `"`)
		return
	case e.Op == language.Name:
		b.WriteString(e.Name)
		return
	case e.Op == language.Not || e.Op == language.Neg:
		b.WriteString(e.Op.String() + "(")
	case e.Op == language.If:
		b.WriteByte('(')
		write(b, e.Args[0])
		b.WriteString(" ? ")
		write(b, e.Args[1])
		b.WriteString(" : ")
		write(b, e.Args[2])
		b.WriteByte(')')
		return
	case signs[e.Op]:
		b.WriteByte('(')
		between = " " + e.Op.String() + " "
	default:
		b.WriteString(e.Op.String() + "(")
	}
	for i, a := range e.Args {
		if i > 0 {
			b.WriteString(between)
		}
		write(b, a)
	}
	b.WriteByte(')')
}
