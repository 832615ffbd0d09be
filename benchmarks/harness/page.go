package harness

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"cmdpsolve/cmdp/contest"
	"cmdpsolve/internal/atomicfile"
)

// Short writes x with the three digits that tables have.
func Short(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }

// Interval writes the mean of numbers with a 95% interval, in the digits that tables have.
func Interval(x []float64) string {
	mean, half := contest.MeanInterval(x)
	return Short(mean) + " ± " + Short(half)
}

// findings is the heading under which people write what the numbers say.
const findings = "## What was found"

// WritePage writes a page of Markdown into a folder, which is made if it is missing. What stands
// under "What was found" on the page that it replaces is kept.
func WritePage(folder, name, text string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	path := filepath.Join(folder, name)
	if old, err := os.ReadFile(path); err == nil {
		if _, kept, ok := strings.Cut(string(old), findings); ok {
			text += findings + kept
		}
	}
	return atomicfile.WriteFile(path, []byte(text))
}
