package main

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"cmdpsolve/benchmarks/harness"

	"github.com/google/go-cmp/cmp"
)

// Records survive the file and give the same report.
func TestRecordsRoundTrip(t *testing.T) {
	o, err := parse([]string{"--suite", "inventory", "--episodes", "2000", "--seeds", "2", "--resamples", "100"})
	if err != nil {
		t.Fatal(err)
	}
	open := func() *result {
		t.Helper()
		res, err := o.open(t.Context(), o.suites[0])
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	res := open()
	records, err := res.Play(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "records.csv")
	if err := harness.WriteRecords(path, records); err != nil {
		t.Fatal(err)
	}
	back, err := harness.ReadRecords[record](path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(records, back); diff != "" {
		t.Error(diff)
	}
	again := open()
	if err := errors.Join(res.Take(records), again.Take(back)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(res.Markdown(), again.Markdown()); diff != "" {
		t.Error(diff)
	}
	if err := open().Take(back[1:]); err == nil {
		t.Error("a record is missing, and nobody complains")
	}
}

// The optimum meets the target that bounds the goal, and touches it: a target that
// asks for a little more is out of reach.
func TestBoundedTargetTouchesOptimum(t *testing.T) {
	for _, s := range suites {
		q, err := s.pose(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if d := q.bounded.Violation(q.best.Returns); d > 1e-8 {
			t.Errorf("%s: the optimum is %g away from the target with the goal", s.spec, d)
		}
		if q.bounded.Cost != nil {
			t.Errorf("%s: the goal is both a bound and a cost", s.spec)
		}
		worse := append([]float64(nil), q.best.Returns...)
		for i, g := range costGradient(q) {
			worse[i] += 0.01 * g
		}
		if d := q.bounded.Violation(worse); math.Abs(d-0.01) > 1e-6 {
			t.Errorf("%s: a goal missed by 0.01 counts as a distance of %g", s.spec, d)
		}
	}
}

// costGradient returns the gradient of the linear cost of a question.
func costGradient(q *question) []float64 {
	g := make([]float64, len(q.best.Returns))
	q.own.Cost.Subgradient(g, q.best.Returns)
	return g
}

func TestFlags(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--seeds 1", "--seeds 1"},
		{"--shorter 2", "--shorter"},
		{"--episodes 10", "--episodes 10"},
		{"--resamples 3", "--resamples 3"},
		{"here", `argument "here"`},
		{"--suite lake", `suite "lake"`},
		{"--update dual", `update "dual"`},
		{"--bonus-scale much", `"much"`},
		{"--from nowhere.csv", "nowhere.csv"},
	} {
		err := run(context.Background(), strings.Fields(c.args+" --trial"))
		if c.args == "here" {
			err = run(context.Background(), []string{"here"})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that says %q", c.args, err, c.want)
		}
	}
}

// The command of a report is what reproduces its records.
func TestCommand(t *testing.T) {
	o, err := parse(strings.Fields("--suite garnet,inventory --seeds 4 --from old.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "go run ./benchmarks/slopes --suite garnet,inventory --seeds 4"; o.Command != want {
		t.Errorf("command %q, want %q", o.Command, want)
	}
}
