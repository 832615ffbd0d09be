package harness

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	header := []string{"name", "values"}
	values := []float64{0, 1.0 / 3, -2e-9, math.Inf(1), 123456789}
	for i, x := range values {
		values[i] = Rounded(x)
	}
	if err := WriteTable(path, header, [][]string{{"a, b", List(values)}, {"none", List(nil)}}); err != nil {
		t.Fatal(err)
	}
	var names []string
	var lists [][]float64
	err := ReadTable(path, header, func(row []string) error {
		x, err := ParseList(row[1])
		names, lists = append(names, row[0]), append(lists, x)
		return err
	})
	if err != nil || !slices.Equal(names, []string{"a, b", "none"}) || !slices.Equal(lists[0], values) || len(lists[1]) != 0 {
		t.Errorf("read %q, %v, %v: want what was written, rounded", names, lists, err)
	}
	if Short(1.0/3) != "0.333" || Digits(1.0/3) != "0.33333" {
		t.Errorf("%s, %s", Short(1.0/3), Digits(1.0/3))
	}
	if x, err := ParseList("1 two"); err == nil {
		t.Errorf("a list of %v", x)
	}
	second := errors.New("second")
	count := 0
	err = ReadTable(path, header, func([]string) error {
		if count++; count == 2 {
			return second
		}
		return nil
	})
	if !errors.Is(err, second) || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("%v: want the line", err)
	}
	for text, want := range map[string]string{
		"":                        "not a table of name, values",
		"name,value\n":            "not a table of name, values",
		"name,values\na\n":        "wrong number of fields",
		"name,values\n\"a,b\n":    "extraneous or missing",
		"values,name\na,1\nb,2\n": "line 1",
	} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := ReadTable(path, header, func([]string) error { return nil }); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v: want %q", text, err, want)
		}
	}
}
