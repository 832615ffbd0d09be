package problem

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// A MemberError says which member of a set or cost cannot be built.
type MemberError struct {
	// Path is the member, such as intersection[2].ball. It is empty for the whole.
	Path string
	Err  error
}

// Error returns "path: message".
func (e *MemberError) Error() string {
	if e.Path == "" {
		return e.Err.Error()
	}
	return e.Path + ": " + e.Err.Error()
}

// Unwrap returns the error of the constructor.
func (e *MemberError) Unwrap() error { return e.Err }

// memberErrors is what is wrong with several members of one set or cost.
type memberErrors []error

func (es memberErrors) Error() string { return errors.Join(es...).Error() }

func (es memberErrors) Unwrap() []error { return es }

// orNil keeps an empty list out of an error.
func (es memberErrors) orNil() error {
	if len(es) == 0 {
		return nil
	}
	return es
}

// buildEach builds all members, or says what is wrong with each.
func buildEach[M, B any](members []M, build func(M) (B, error)) ([]B, error) {
	all := make([]B, len(members))
	var errs memberErrors
	for k, m := range members {
		var err error
		all[k], err = build(m)
		if err != nil {
			errs = append(errs, Inside(err, k))
		}
	}
	return all, errs.orNil()
}

// joined builds all members and joins them.
func joined[M, B, J any](members []M, build func(M) (B, error), join func(all ...B) (J, error)) (whole J, err error) {
	all, err := buildEach(members, build)
	if err != nil {
		return whole, err
	}
	return join(all...)
}

// Inside puts a step before the path of a member's error; steps are keys and,
// for list members, indices.
func Inside(err error, steps ...any) error {
	if err == nil {
		return nil
	}
	if many, ok := err.(memberErrors); ok {
		within := make(memberErrors, len(many))
		for i, err := range many {
			within[i] = Inside(err, steps...)
		}
		return within
	}
	var b strings.Builder
	for _, s := range steps {
		switch s := s.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(s) + "]")
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s)
		}
	}
	member, ok := err.(*MemberError)
	if !ok {
		return &MemberError{b.String(), err}
	}
	if member.Path != "" && member.Path[0] != '[' {
		b.WriteByte('.')
	}
	return &MemberError{b.String() + member.Path, member.Err}
}

// kindOf returns the key and the value of the one field of a union that is set.
func kindOf(u any) (name string, kind any, err error) {
	v := reflect.ValueOf(u)
	for i, f := range fieldsOf(v.Type()) {
		if v.Field(i).IsZero() {
			continue
		}
		if kind != nil {
			return "", nil, fmt.Errorf("problem: both %s and %s are given: want one kind", name, f.name)
		}
		name, kind = f.name, v.Field(i).Interface()
	}
	if kind == nil {
		return "", nil, errors.New("problem: no kind is given")
	}
	return name, kind, nil
}

// orFill returns v, or d times fill if v is absent.
func orFill(v []float64, d int, fill float64) []float64 {
	if v != nil {
		return v
	}
	v = make([]float64, d)
	for i := range v {
		v[i] = fill
	}
	return v
}
