package docs

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
)

// The example of README.md.
func Example_library() {
	ctx := context.Background()
	p, err := problem.Read("examples/two-rooms.yaml")
	if err != nil {
		log.Fatal(err)
	}
	q, err := query.New(ctx, p, query.CompileOptions{})
	if err != nil {
		log.Fatal(err)
	}

	// Known model: plan.
	best, err := q.Solve(ctx, exact.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v: %v %.4f\n", best.Status, q.Returns, best.Returns)
	fmt.Printf("%s has the price %.4f\n", best.Prices[0].Name, best.Prices[0].Value)

	// Unknown model: learn. The learner is told the shape, and plays.
	const episodes = 20000
	learner, err := cmdp.NewLearner(q.Model.Shape(), nil, q.Task, cmdp.Settings{
		Bonus:      cmdp.TheoryTimes(0.05),
		Confidence: cmdp.Confidence{Episodes: episodes, Failure: 0.05},
	})
	if err != nil {
		log.Fatal(err)
	}
	run := cmdp.NewRunner(q.Model, learner, 1, nil)
	if err := run.Run(ctx, episodes); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("learned: %.1f\n", run.Average())
	// Output:
	// optimal: [reward cost] [10.6147 5.0000]
	// cost ≤ 5 has the price 1.6243
	// learned: [10.6 5.0]
}

// TestReadmeShowsTheLibrary: the Go code of README.md is the example above as a program, with what it imports.
func TestReadmeShowsTheLibrary(t *testing.T) {
	source, err := os.ReadFile("library_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(source), "func Example_library() {\n")
	body, _, _ = strings.Cut(body, "\n}\n")
	body = strings.ReplaceAll(body, "examples/two-rooms.yaml", "two-rooms.yaml")
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(readme), "```go\n")
	program, _, _ = strings.Cut(program, "```")
	if !strings.HasSuffix(program, "func main() {\n"+body+"\n}\n") {
		t.Errorf("README.md does not show the example of the library:\n%s", body)
	}
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "vet", file)
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the program of README.md: %v\n%s", err, out)
	}
}
