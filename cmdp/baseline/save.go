package baseline

import (
	"bytes"
	"encoding"
	"encoding/gob"
	"errors"
	"fmt"
	"reflect"
)

// marshal returns the saved form of parts, which are pointers.
func marshal(parts ...any) ([]byte, error) {
	var b bytes.Buffer
	w := gob.NewEncoder(&b)
	for _, p := range parts {
		if err := w.Encode(p); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// unmarshal sets the same parts to what marshal has saved. Slices keep their length and their
// place. After an error the parts must not be used any more.
func unmarshal(data []byte, parts ...any) error {
	r := gob.NewDecoder(bytes.NewReader(data))
	for _, p := range parts {
		if err := restore(r, p); err != nil {
			return fmt.Errorf("baseline: saved learner: %w", err)
		}
	}
	return nil
}

func restore(r *gob.Decoder, part any) error {
	if _, own := part.(encoding.BinaryUnmarshaler); own {
		return r.Decode(part)
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
		return errors.New("it is of another problem")
	}
	reflect.Copy(old, saved.Elem())
	return nil
}
