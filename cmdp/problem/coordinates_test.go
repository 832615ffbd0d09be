package problem

import (
	"bytes"
	"maps"
	"testing"
)

// TestCoordinates: places are read by name and number, written, and refused where no file could have them.
func TestCoordinates(t *testing.T) {
	p := mustParse(t, `{format: cmdp/1, horizon: 2, states: [home, field, "true"], start: 0, coordinates: {"true": [0, 999], home: [2*3, 0]}, returns: [r],
		transitions: [{state: 0, action: 0, next: {1: 1}}]}`)
	want := map[int]Place{0: {6, 0}, 2: {0, 999}}
	if !maps.Equal(p.Coordinates, want) {
		t.Fatalf("coordinates %v: want %v", p.Coordinates, want)
	}
	var file bytes.Buffer
	if err := Write(&file, p); err != nil {
		t.Fatal(err)
	}
	if again := mustParse(t, file.String()); !maps.Equal(again.Coordinates, want) {
		t.Errorf("read again: %v: want %v", again.Coordinates, want)
	}
	for _, bad := range []map[int]Place{{3: {0, 0}}, {0: {-1, 0}}, {0: {0, 1000}}, {0: {1, 1}, 1: {1, 1}}} {
		p.Coordinates = bad
		if Write(&file, p) == nil {
			t.Errorf("%v are written", bad)
		}
	}
}
