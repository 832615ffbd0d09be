package problem

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEverySetHasAKind asks that each registered set can be written in a file.
func TestEverySetHasAKind(t *testing.T) {
	kinds := make(map[string]bool)
	for _, k := range keysOf(Set{}) {
		kinds[k] = true
	}
	// These are no kinds of their own: a polyhedron is a polytope without bound,
	// the others adapt what is not in a file.
	kinds["polyhedron"], kinds["restrict"], kinds["compact"], kinds["from_maximizer"] = true, true, true, true
	for _, name := range tableOf(t, "adding-a-set.md") {
		if !kinds[strings.ReplaceAll(name, "-", "_")] {
			t.Errorf("no kind %s in problem files", name)
		}
	}
}

// TestEveryCostHasAKind asks that each registered cost can be written in a file.
func TestEveryCostHasAKind(t *testing.T) {
	kinds := make(map[string]bool)
	for _, k := range keysOf(Cost{}) {
		kinds[k] = true
	}
	for _, name := range tableOf(t, "adding-a-cost.md") {
		// These two take functions of the caller.
		if name != "custom" && name != "conjugated" && !kinds[name] {
			t.Errorf("no kind %s in problem files", name)
		}
	}
}

// tableOf returns the names in the table of a guide, which lists all sets or all costs: tests
// of the packages geometry and cost compare the table with the constructors.
func tableOf(t *testing.T, guide string) (names []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", guide))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range regexp.MustCompile("(?m)^\\| ([a-z0-9-]+) \\| `[A-Z]").FindAllStringSubmatch(string(text), -1) {
		names = append(names, row[1])
	}
	if len(names) < 15 {
		t.Fatalf("%s lists only %v", guide, names)
	}
	return names
}
