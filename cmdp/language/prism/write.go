package prism

import (
	"slices"
	"strings"

	"cmdpsolve/cmdp/language"
)

// Write writes an expression that has not been resolved, for [Condition]. Names that PRISM's language cannot have
// stand in quotes, like labels.
func Write(e *expr) string {
	args := make([]string, len(e.Args))
	for i, a := range e.Args {
		args[i] = Write(a)
	}
	switch op := e.Op.String(); {
	case e.Op == language.Literal:
		text := e.Value()
		if e.Type == language.Double && !strings.ContainsAny(text, ".eE") {
			text += ".0"
		}
		if strings.HasPrefix(text, "-") {
			text = "(" + text + ")"
		}
		return text
	case e.Op == language.Name && (slices.Contains(keywords, e.Name) || !word.MatchString(e.Name)):
		return `"` + e.Name + `"`
	case e.Op == language.Name:
		return e.Name
	case e.Op == language.If:
		return "(" + args[0] + " ? " + args[1] + " : " + args[2] + ")"
	case e.Op == language.Not || e.Op == language.Neg || word.MatchString(op):
		return op + "(" + strings.Join(args, ", ") + ")"
	default:
		return "(" + strings.Join(args, " "+op+" ") + ")"
	}
}
