package problem

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
)

// small are limits that keep a fuzzer's slips of the pen from filling memory.
var small = limits{states: 1000, horizon: 1000, stored: 1 << 18}

// judged checks what every input must lead to: errors with a place and a
// message, or a problem that survives writing and reading.
func judged(t *testing.T, p *Problem, err error) {
	t.Helper()
	if err == nil {
		roundTrip(t, p)
		return
	}
	var es Errors
	if !errors.As(err, &es) || len(es) == 0 || p != nil {
		t.Fatalf("error %T %v with problem %v: want Errors alone", err, err, p)
	}
	for _, e := range es {
		if e.Message == "" || e.File == "" || e.Line < 0 || e.Column < 0 {
			t.Fatalf("error without place or message: %+v", *e)
		}
	}
}

func addFiles(f *testing.F, pattern string) {
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		f.Fatalf("no seeds %s: %v", pattern, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

func FuzzParse(f *testing.F) {
	addFiles(f, "testdata/*.yaml")
	addFiles(f, "testdata/good/*.yaml")
	addFiles(f, "testdata/good/*.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := parse("fuzz.yaml", string(data), nil, small, ReadOptions{})
		judged(t, p, err)
	})
}

const sidecarHead = "format: cmdp/1\nhorizon: 3\nstates: [a, b, 2]\nstart: a\nreturns: [reward, cost]\ngoal: " +
	"{maximize: reward}\ntransitions: {file: rows."

func fuzzSidecar(f *testing.F, ending string) {
	f.Fuzz(func(t *testing.T, data []byte) {
		files := fstest.MapFS{"rows." + ending: {Data: data}}
		p, err := parse("fuzz.yaml", sidecarHead+ending+"}\n", files, small, ReadOptions{})
		judged(t, p, err)
	})
}

func FuzzCSV(f *testing.F) {
	addFiles(f, "testdata/rows/*.csv")
	fuzzSidecar(f, "csv")
}

func FuzzJSONL(f *testing.F) {
	addFiles(f, "testdata/rows/*.jsonl")
	fuzzSidecar(f, "jsonl")
}

func FuzzNPZ(f *testing.F) {
	addFiles(f, "testdata/rows/*.npz")
	fuzzSidecar(f, "npz")
}
