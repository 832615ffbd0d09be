package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAnswers plans for small problems without a horizon whose answers are worked out by hand. An answer is a
// status, "refused" for a problem that is not accepted, or the objective of an optimum.
func TestAnswers(t *testing.T) {
	text, err := os.ReadFile("testdata/answers.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, Command string
		Arguments     []string
		Problem       json.RawMessage
		Answer        []any
		Keeps         []struct {
			Return, Sense string
			Bound         float64
		}
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "problem.json")
			if err := os.WriteFile(file, c.Problem, 0o600); err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			status := run(context.Background(), append([]string{c.Command, file, "--format", "json"}, c.Arguments...),
				&out, &errs)
			args := append([]string{c.Command, file}, c.Arguments...)
			if r := resultOf(t, &ask{args: args, fails: status != exitDone}); r != nil {
				checkView(t, r)
				checkConsistent(t, r)
			}
			if status == exitUsage {
				if !slices.Contains(c.Answer, any("refused")) || !strings.Contains(errs.String(), "state") {
					t.Fatalf("refused: %s: want %v", errs.String(), c.Answer)
				}
				return
			}
			var got struct {
				Status                           string
				Objective, Bound, Gap, Violation *float64
				Returns                          map[string]*float64
			}
			if err := json.Unmarshal(out.Bytes(), &got); err != nil {
				t.Fatalf("%v: %s%s", err, out.String(), errs.String())
			}
			for _, k := range c.Keeps {
				if v := got.Returns[k.Return]; v == nil ||
					(*v-k.Bound)*map[string]float64{"at most": 1, "at least": -1}[k.Sense] > 1e-9 {
					t.Errorf("%s is %v: want %s %g", k.Return, v, k.Sense, k.Bound)
				}
			}
			for _, want := range c.Answer {
				if want == any(got.Status) {
					return
				}
				number, ok := want.(float64)
				if !ok || got.Status != "optimal" {
					continue
				}
				for _, x := range []*float64{got.Objective, got.Bound, got.Gap, got.Violation} {
					if x == nil {
						t.Fatalf("objective, bound, gap or violation is not a number: %s", out.String())
					}
				}
				if math.Abs(*got.Objective-number) <= 1e-8 && math.Abs(*got.Bound-number) <= 1e-8 {
					return
				}
			}
			t.Errorf("%s %s: want %v", out.String(), errs.String(), c.Answer)
		})
	}
}
