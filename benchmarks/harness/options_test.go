package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmdpsolve/cmdp/chart"

	"github.com/spf13/pflag"
)

// TestOptions wants the flags read, the command that reproduces the records without
// those that change nothing, and an error for what cannot be run.
func TestOptions(t *testing.T) {
	parse := func(args ...string) (Options, error) {
		var o Options
		err := o.Parse(pflag.NewFlagSet("published", pflag.ContinueOnError), args, 7)
		return o, err
	}
	o, err := parse("--shorter", "3", "--trial", "--from", "a.csv")
	if err != nil || o.Seeds != 7 || o.Shorter != 3 || !o.Trial || o.From != "a.csv" ||
		o.Command != "go run ./benchmarks/published --shorter 3" {
		t.Errorf("%+v, %v", o, err)
	}
	for args, want := range map[string]string{"--seeds 1": "at least 2", "--shorter 0": "at least 1",
		"more": `unexpected argument "more"`} {
		if _, err := parse(strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

type page string

func (p page) ID() string       { return string(p) }
func (p page) Markdown() string { return "## " + string(p) + "\n\n" }
func (p page) Figure() *chart.Figure {
	return &chart.Figure{Panels: []chart.Panel{{Curves: []chart.Curve{{X: []float64{1, 2}, Y: []float64{1, 2}}}}}}
}
func (p page) Play(context.Context) ([]row, error) { return []row{{Name: string(p)}}, nil }
func (p page) Take(records []row) error            { given = records; return nil }

// given are the records that were taken last.
var given []row

// TestRun wants pages, pictures and records; records that were read given to the measurement and
// not written; nothing of a trial; and what people wrote about the numbers to survive a new report.
func TestRun(t *testing.T) {
	o := &Options{Name: "x", Out: filepath.Join(t.TempDir(), "new")}
	play := func() {
		t.Helper()
		err := Run(t.Context(), o, []page{"a", "b"}, func(p page) (page, error) { return p, nil },
			func(all []page) string { return fmt.Sprintf("# x of %d\n", len(all)) })
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func() string {
		t.Helper()
		play()
		text, err := os.ReadFile(filepath.Join(o.Out, "x.md"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	first := write()
	if first != "# x of 2\n## a\n\n## b\n\n" || len(given) != 1 || given[0].Name != "b" {
		t.Errorf("report %q, given %v", first, given)
	}
	said := findings + "\n\nThe moon is round.\n"
	if err := os.WriteFile(filepath.Join(o.Out, "x.md"), []byte("old\n"+said), 0o644); err != nil {
		t.Fatal(err)
	}
	if again := write(); again != first+said || write() != again {
		t.Errorf("the findings are gone or doubled: %q", again)
	}
	o.From = filepath.Join(t.TempDir(), "y.csv")
	if err := os.Rename(filepath.Join(o.Out, "x.csv"), o.From); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x-a.svg", "x-b.svg"} {
		if err := os.Remove(filepath.Join(o.Out, name)); err != nil {
			t.Error(err)
		}
	}
	write()
	if len(given) != 2 || given[0].Name != "a" || given[1].Name != "b" {
		t.Errorf("given %v: want the records of the file", given)
	}
	if _, err := os.Stat(filepath.Join(o.Out, "x.csv")); err == nil {
		t.Error("records were written though they were read")
	}
	o.Trial, o.Out = true, filepath.Join(o.Out, "none")
	play()
	if _, err := os.Stat(o.Out); err == nil {
		t.Error("a trial was written")
	}
}

func TestChoose(t *testing.T) {
	list := Choices[page]{"a", "b", "c"}
	if got, err := list.Choose("page", []string{"c", "a"}); err != nil || len(got) != 2 || got[0] != "c" ||
		got[1] != "a" {
		t.Errorf("%v, %v", got, err)
	}
	for want, names := range map[string][]string{`unknown page "d": want some of [a b c]`: {"a", "d"},
		"b is named twice": {"b", "a", "b"}} {
		if _, err := list.Choose("page", names); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", names, err)
		}
	}
}
