// Package saved turns the state of runs into bytes and back. What has a state embeds [State]
// and names its parts once, from which both directions follow.
package saved

import (
	"bytes"
	"encoding"
	"encoding/gob"
	"errors"
	"fmt"
	"reflect"
)

// A State is what a type that embeds it saves and restores. It must not be copied.
type State struct {
	parts    []any
	restored []func() error
}

// Keep adds parts: pointers to what gob can write, or values that save themselves.
func (s *State) Keep(parts ...any) { s.parts = append(s.parts, parts...) }

// Then adds what is done after the parts are restored, in order, such as bringing up to date
// what follows from them.
func (s *State) Then(restored func() error) { s.restored = append(s.restored, restored) }

// MarshalBinary returns the state, from which UnmarshalBinary continues bit for bit. It fails
// if a part cannot be saved.
func (s *State) MarshalBinary() ([]byte, error) {
	var b bytes.Buffer
	w := gob.NewEncoder(&b)
	for _, p := range s.parts {
		if own, ok := p.(encoding.BinaryMarshaler); ok {
			data, err := own.MarshalBinary()
			if err != nil {
				return nil, err
			}
			p = data
		}
		if err := w.Encode(p); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// UnmarshalBinary restores a state that MarshalBinary returned, into what was made in the same
// way. Slices that are parts keep their length and their place. After an error the state must
// not be used any more.
func (s *State) UnmarshalBinary(data []byte) error {
	rest := bytes.NewReader(data)
	r := gob.NewDecoder(rest)
	for _, p := range s.parts {
		if err := restore(r, p); err != nil {
			return fmt.Errorf("saved state: %w", err)
		}
	}
	if rest.Len() > 0 {
		return fmt.Errorf("saved state: %w", errOther)
	}
	for _, f := range s.restored {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

var errOther = errors.New("it is of another problem")

func restore(r *gob.Decoder, part any) error {
	if own, ok := part.(encoding.BinaryUnmarshaler); ok {
		var data []byte
		if err := r.Decode(&data); err != nil {
			return err
		}
		return own.UnmarshalBinary(data)
	}
	// gob leaves out zeros, so that it needs a zero value to write to.
	old := reflect.ValueOf(part).Elem()
	saved := reflect.New(old.Type())
	if err := r.DecodeValue(saved); err != nil {
		return err
	}
	if old.Kind() != reflect.Slice {
		old.Set(saved.Elem())
		return nil
	}
	if old.Len() != saved.Elem().Len() {
		return errOther
	}
	reflect.Copy(old, saved.Elem())
	return nil
}

// Own is a part that has to save itself. Errors call it by its name and type if it cannot.
type Own struct {
	Name string
	Part any
}

// MarshalBinary returns the state of the part.
func (o Own) MarshalBinary() ([]byte, error) {
	if p, ok := o.Part.(encoding.BinaryMarshaler); ok {
		return p.MarshalBinary()
	}
	return nil, fmt.Errorf("%s %T cannot be saved: it has no MarshalBinary", o.Name, o.Part)
}

// UnmarshalBinary restores the state of the part.
func (o Own) UnmarshalBinary(data []byte) error {
	if p, ok := o.Part.(encoding.BinaryUnmarshaler); ok {
		return p.UnmarshalBinary(data)
	}
	return fmt.Errorf("%s %T cannot be restored: it has no UnmarshalBinary", o.Name, o.Part)
}
