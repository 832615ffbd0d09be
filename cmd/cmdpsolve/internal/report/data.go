package report

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Named holds a value for each of some names, in their order. As JSON it is an object,
// whose keys are sorted; one without values is null, and omitzero leaves it out.
type Named[T any] struct {
	Names  []string
	Values []T
}

// IsZero reports whether there are no values.
func (n Named[T]) IsZero() bool { return n.Values == nil }

// Of returns the value of a name.
func (n Named[T]) Of(name string) (x T, ok bool) {
	if i := slices.Index(n.Names, name); i >= 0 && i < len(n.Values) {
		return n.Values[i], true
	}
	return x, false
}

// MarshalJSON writes an object.
func (n Named[T]) MarshalJSON() ([]byte, error) {
	if n.Values == nil {
		return []byte("null"), nil
	}
	object := make(map[string]T, len(n.Values))
	for i, x := range n.Values {
		object[n.Names[i]] = x
	}
	return json.Marshal(object)
}

// UnmarshalJSON reads an object; its keys are sorted then.
func (n *Named[T]) UnmarshalJSON(data []byte) error {
	var object map[string]T
	if err := json.Unmarshal(data, &object); err != nil {
		return err
	}
	*n = Named[T]{}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		n.Names, n.Values = append(n.Names, name), append(n.Values, object[name])
	}
	return nil
}

func (n Named[T]) each(visit func(name string, x any)) {
	for i, x := range n.Values {
		visit(n.Names[i], x)
	}
}

// An Object is a JSON object whose keys are known only when it is made.
type Object []Member

// A Member is a key with its value.
type Member struct {
	Key   string
	Value any
}

// MarshalJSON keeps the order of the members.
func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := enc.Encode(m.Key); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := enc.Encode(m.Value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// quantities lists the fields of a struct that have a csv tag, one number in each row
// with the tag as its quantity. A Named field has a row for each name, a field that is a
// struct has those of its own fields, with its tag before theirs, and so has each element
// of a slice of structs, whose name is the field with the tag "*". With ",omitempty" there
// is no row for what does not exist.
func quantities(data any) *Table {
	t := NewTable("quantity", "name", "value")
	addFields(t, reflect.Indirect(reflect.ValueOf(data)), "", "")
	return t
}

func addFields(t *Table, v reflect.Value, prefix, name string) {
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("csv") == "*" {
			name = v.Field(i).String()
		}
	}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		tag, tagged := field.Tag.Lookup("csv")
		switch tag, option, _ := strings.Cut(tag, ","); {
		case field.Anonymous && field.Type.Kind() == reflect.Struct, field.Anonymous && !v.Field(i).IsNil():
			addFields(t, reflect.Indirect(v.Field(i)), prefix, name)
		case tagged && tag != "*":
			addValue(t, v.Field(i), prefix+tag, name, option == "omitempty")
		}
	}
}

func addValue(t *Table, v reflect.Value, quantity, name string, omit bool) {
	if n, ok := v.Interface().(interface{ each(func(string, any)) }); ok {
		n.each(func(name string, x any) { addValue(t, reflect.ValueOf(x), quantity, name, omit) })
		return
	}
	prefix := quantity
	if prefix != "" {
		prefix += "_"
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			addValue(t, v.Elem(), quantity, name, omit)
		} else if v.Type().Elem().Kind() != reflect.Struct && !omit {
			t.Add(quantity, name, "")
		}
	case reflect.Struct:
		addFields(t, v, prefix, name)
	case reflect.Slice:
		for i := range v.Len() {
			addFields(t, v.Index(i), prefix, "")
		}
	default:
		cell := v.Interface()
		if x, ok := cell.(Number); ok && omit && x != x {
			return
		}
		t.Add(quantity, name, cell)
	}
}
