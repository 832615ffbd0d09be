package query

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmdpsolve/cmdp/problem"
)

var update = flag.Bool("update", false, "write the expected results anew")

// TestErrorMessages compiles every testdata/*.yaml, which can be read and not be answered, and
// compares everything that is said about it with the file .err beside it.
func TestErrorMessages(t *testing.T) {
	names, _ := filepath.Glob("testdata/*.yaml")
	if len(names) < 5 {
		t.Fatal("the examples are missing")
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			p, err := problem.Read(name)
			if err != nil {
				t.Fatal(err)
			}
			_, err = New(t.Context(), p, CompileOptions{})
			var es problem.Errors
			if !errors.As(err, &es) {
				t.Fatalf("got %v: want problem.Errors", err)
			}
			golden := strings.TrimSuffix(name, ".yaml") + ".err"
			got := es.Error() + "\n"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}
