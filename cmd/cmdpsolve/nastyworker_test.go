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
		switch {
		case asked.Large:
			before, lowered := manyPairs, threshold.Lower()
			manyPairs = 1
			restore = func() { manyPairs = before; lowered() }
		case fileIsOdd(asked.Arguments): // several directions at a time go on in components that are not swept
			before, block := threshold.Simultaneous, threshold.Block
			threshold.Simultaneous, threshold.Block = 1, 1
			restore = func() { threshold.Simultaneous, threshold.Block = before, block }
		}
		var stdout, stderr strings.Builder
		status := run(context.Background(), asked.Arguments, &stdout, &stderr)
		restore()
		out.Encode(map[string]any{"Status": status, "Out": stdout.String(), "Err": stderr.String()})
	}
}

// fileIsOdd reports whether the first file among arguments has an odd number of bytes, which is the same whenever a
// problem is tried.
func fileIsOdd(arguments []string) bool {
	for _, a := range arguments {
		if info, err := os.Stat(a); err == nil {
			return info.Size()%2 == 1
		}
	}
	return false
}
