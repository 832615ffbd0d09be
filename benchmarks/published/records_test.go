package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestRecords(t *testing.T) {
	const head = "study,player,seed,episodes,safe,violating,regret,violation,gap,excess"
	path := filepath.Join(t.TempDir(), "t.csv")
	values := []float64{0, 1.0 / 3, -2e-9, math.Inf(1), 123456789}
	for i, x := range values {
		values[i] = rounded(x)
	}
	written := []record{{Study: "a, b", Seed: 1 << 63, Safe: math.NaN(), Regret: values}, {Study: "none", Safe: -2.0 / 3}}
	if err := writeRecords(path, written); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if want := head + "\n\"a, b\",,9223372036854775808,0,NaN,0,0 0.33333 -2e-09 +Inf 1.2346e+08,,,\n" +
		"none,,0,0,-0.66667,0,,,,\n"; err != nil || string(text) != want {
		t.Errorf("%q, %v: want %q", text, err, want)
	}
	written[1].Safe = rounded(written[1].Safe)
	read, err := readRecords(path)
	if diff := cmp.Diff(written, read, cmpopts.EquateNaNs()); err != nil || diff != "" {
		t.Errorf("%v: want what was written, rounded: %s", err, diff)
	}
	for text, want := range map[string]string{
		"":                         "not a table of study, player",
		"study,player\n":           "not a table of study, player",
		"player,study" + head[12:]: "line 1",
		head + "\na\n":             "wrong number of fields",
		head + "\n\"a,b\n":         "extraneous or missing",
		head + "\na,b,1,2,3,4,,,,\na,b,x,2,3,4,,,,\n": "line 3",
		head + "\na,b,1,2,3,4,1 two,,,\n":             "two",
	} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := readRecords(path); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v: want %q", text, err, want)
		}
	}
}
