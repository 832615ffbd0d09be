package harness

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

type row struct {
	Name   string    `csv:"name"`
	Run    uint64    `csv:"run"`
	Share  float64   `csv:"share"`
	Values []float64 `csv:"values"`
}

func TestRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	values := []float64{0, 1.0 / 3, -2e-9, math.Inf(1), 123456789}
	for i, x := range values {
		values[i] = Rounded(x)
	}
	written := []row{{Name: "a, b", Run: 1 << 63, Share: math.NaN(), Values: values}, {Name: "none", Share: -2.0 / 3}}
	if err := writeRecords(path, written); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if want := "name,run,share,values\n\"a, b\",9223372036854775808,NaN,0 0.33333 -2e-09 +Inf " +
		"1.2346e+08\nnone,0,-0.66667,\n"; err != nil || string(text) != want {
		t.Errorf("%q, %v: want %q", text, err, want)
	}
	written[1].Share = Rounded(written[1].Share)
	read, err := ReadRecords[row](path)
	if diff := cmp.Diff(written, read, cmpopts.EquateNaNs()); err != nil || diff != "" {
		t.Errorf("%v: want what was written, rounded: %s", err, diff)
	}
	if Short(1.0/3) != "0.333" || digits(1.0/3) != "0.33333" {
		t.Errorf("%s, %s", Short(1.0/3), digits(1.0/3))
	}
	for text, want := range map[string]string{
		"":                                "not a table of name, run, share, values",
		"name,run,values\n":               "not a table of name, run, share, values",
		"run,name,share,values\n1,a,2,\n": "line 1",
		"name,run,share,values\na\n":      "wrong number of fields",
		"name,run,share,values\n\"a,b\n":  "extraneous or missing",
		"name,run,share,values\na,1,2,\na,b,2,\n": "line 3",
		"name,run,share,values\na,1,2,1 two\n":    "two",
	} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadRecords[row](path); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v: want %q", text, err, want)
		}
	}
}
