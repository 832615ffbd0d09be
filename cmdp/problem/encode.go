package problem

import (
	"reflect"
	"strconv"
	"strings"
)

// appendValue appends v in flow style, so that decoding gives v again.
func appendValue(b []byte, v reflect.Value) []byte {
	if s, ok := v.Addr().Interface().(special); ok {
		return s.encode(b)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return append(b, "null"...)
		}
		return appendValue(b, v.Elem())
	case reflect.Float64:
		return appendNumber(b, v.Float())
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool())
	case reflect.Int:
		return strconv.AppendInt(b, v.Int(), 10)
	case reflect.String:
		return appendName(b, v.String())
	case reflect.Slice:
		return appendAll(b, "[]", v.Len(), func(b []byte, i int) []byte { return appendValue(b, v.Index(i)) })
	case reflect.Struct:
		fields, given := fieldsOf(v.Type()), []int(nil)
		for i, f := range fields {
			if !f.optional || !v.Field(i).IsZero() {
				given = append(given, i)
			}
		}
		return appendAll(b, "{}", len(given), func(b []byte, i int) []byte {
			return appendValue(append(append(b, fields[given[i]].name...), ": "...), v.Field(given[i]))
		})
	}
	panic("problem: no encoding for " + v.Type().String())
}

// appendAll appends n members, each by one, between two brackets.
func appendAll(b []byte, brackets string, n int, one func(b []byte, i int) []byte) []byte {
	b = append(b, brackets[0])
	for i := range n {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = one(b, i)
	}
	return append(b, brackets[1])
}

// appendNumber appends the shortest text that reads as x again.
func appendNumber(b []byte, x float64) []byte {
	return strconv.AppendFloat(b, x, 'g', -1, 64)
}

// appendName appends a name that checkName accepts, in quotes where YAML could
// take it for something else.
func appendName(b []byte, s string) []byte {
	if plainName(s) {
		return append(b, s...)
	}
	return strconv.AppendQuote(b, s)
}

// appendLabel appends a name that stands for a number if it looks like one.
func appendLabel(b []byte, s string) []byte {
	if _, ok := labelNumber(s); ok {
		return append(b, s...)
	}
	return appendName(b, s)
}

func plainName(s string) bool {
	switch strings.ToLower(s) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_':
		case i > 0 && (c >= '0' && c <= '9' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return s != ""
}
