package instance

import (
	"cmdpsolve/internal/nearest"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
)

// A parameter binds a key of specs to a field of a definition and says which
// values the field may have.
type parameter struct {
	name, meaning string
	field         any     // *int, *uint64, *float64, *bool or *string
	low, high     float64 // numbers: the least and the greatest value
	open          bool    // the ends themselves are not allowed
	none          bool    // +Inf is allowed and written "none"
	words         []string
}

// longest bounds horizons, so that a slip of the keyboard is an error and not a
// machine out of memory.
const longest = 1_000_000

func whole(name string, field *int, low, high int, meaning string) parameter {
	return parameter{name: name, field: field, low: float64(low), high: float64(high), meaning: meaning}
}

func horizonParameter(field *int) parameter {
	return whole("H", field, 1, longest, "steps of an episode")
}

func probability(name string, field *float64, meaning string) parameter {
	return parameter{name: name, field: field, high: 1, meaning: meaning}
}

func amount(name string, field *float64, meaning string) parameter {
	return parameter{name: name, field: field, high: 1e9, meaning: meaning}
}

func budgetParameter(field *float64, meaning string) parameter {
	p := amount("budget", field, meaning)
	p.none = true
	return p
}

// wants says which values are allowed.
func (p parameter) wants() string {
	switch p.field.(type) {
	case *bool:
		return "true or false"
	case *string:
		return "one of " + nearest.List(p.text(), p.words)
	case *uint64:
		return "a whole number from 0 to 18446744073709551615"
	case *int:
		return fmt.Sprintf("a whole number from %d to %d", int(p.low), int(p.high))
	}
	text := fmt.Sprintf("a number from %g to %g", p.low, p.high)
	if p.open {
		text = fmt.Sprintf("a number above %g and below %g", p.low, p.high)
	}
	if p.none {
		text += ", or none"
	}
	return text
}

// text returns the value as a spec has it.
func (p parameter) text() string {
	if f, ok := p.field.(*float64); ok && p.none && math.IsInf(*f, 1) {
		return "none"
	}
	return fmt.Sprint(reflect.ValueOf(p.field).Elem())
}

// set takes the value from a spec. The range is checked as well, so that the
// message shows what was typed.
func (p parameter) set(text string) error {
	var err error
	switch f := p.field.(type) {
	case *bool:
		*f = text == "true"
		if !*f && text != "false" {
			err = strconv.ErrSyntax
		}
	case *string:
		*f = text
	case *int:
		*f, err = strconv.Atoi(text)
	case *uint64:
		*f, err = strconv.ParseUint(text, 10, 64)
	case *float64:
		if p.none && text == "none" {
			*f = math.Inf(1)
		} else {
			*f, err = strconv.ParseFloat(text, 64)
			if err == nil && math.IsInf(*f, 0) { // none is the word for it
				err = strconv.ErrRange
			}
		}
	}
	if err != nil || p.check() != nil {
		return fmt.Errorf("parameter %s=%s: want %s", p.name, text, p.wants())
	}
	return nil
}

// check reports a value that is not allowed.
func (p parameter) check() error {
	ok := true
	switch f := p.field.(type) {
	case *string:
		ok = slices.Contains(p.words, *f)
	case *int:
		ok = *f >= int(p.low) && *f <= int(p.high)
	case *float64:
		ok = *f >= p.low && *f <= p.high || p.none && math.IsInf(*f, 1)
		if p.open {
			ok = *f > p.low && *f < p.high
		}
	}
	if !ok {
		return fmt.Errorf("parameter %s=%s: want %s", p.name, p.text(), p.wants())
	}
	return nil
}

// checkAll validates the parameters of the named instance.
func checkAll(name string, params []parameter) error {
	for _, p := range params {
		if err := p.check(); err != nil {
			return fmt.Errorf("instance: %s: %w", name, err)
		}
	}
	return nil
}
