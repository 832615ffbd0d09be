package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"

	"cmdpsolve/internal/threshold"
)

// nastyWorker runs the commands that it reads, one after the other, and prints what each did. The nasty problems
// of internal/nasty are asked of it; large says that methods for large models are to be used, and that rows
// of products are generated where they can be.
func nastyWorker() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var asked struct {
			Large     bool
			Arguments []string
		}
		if in.Decode(&asked) != nil {
			return
		}
		restore := func() {}
		if asked.Large {
			before, lowered := manyPairs, threshold.Lower()
			manyPairs = 1
			restore = func() { manyPairs = before; lowered() }
		}
		var stdout, stderr strings.Builder
		status := run(context.Background(), asked.Arguments, &stdout, &stderr)
		restore()
		out.Encode(map[string]any{"Status": status, "Out": stdout.String(), "Err": stderr.String()})
	}
}
