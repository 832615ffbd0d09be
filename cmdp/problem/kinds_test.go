package problem

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// TestReturnsOfReturns: a return that judges totals may judge every return but those that do so themselves; the total
// that counts, and what is bounded on the way, are of returns that know of no totals.
func TestReturnsOfReturns(t *testing.T) {
	judging := func(of string) []string {
		return []string{"exceeds: {return: " + of + ", limit: 1}", "meets: {return: " + of + ", limit: 1}",
			"excess: {return: " + of + ", limit: 1}"}
	}
	counting := func(of string) []string {
		return []string{"total: " + of + ", within: 2", "reach: [0], within: {return: " + of + ", at_most: 1}",
			"total: g, within: {return: " + of + ", at_most: 1}", "reach: [0], within: [1, {return: " + of + ", at_most: 1}]"}
	}
	plain := []string{"", "reach: [0]", "visits: [0]", "reach: [0], within: 2", "reach: [0], while: [0]"}
	for i, of := range slices.Concat(plain, counting("g"), judging("g")) {
		for j, kind := range slices.Concat(counting("x"), judging("x")) {
			text := "format: cmdp/1\nhorizon: 3\nstates: 1\nstart: 0\nreturns: {y: {" + kind + "}, g: {}, x: {" + of +
				"}}\ntransitions:\n  - {state: 0, action: go, next: {0: 1}, returns: {g: 1}}\n"
			most := len(plain)
			if j >= len(counting("x")) {
				most += len(counting("g"))
			}
			if _, err := Parse("p.yaml", []byte(text), nil); (i < most) != (err == nil) || err != nil &&
				!strings.Contains(err.Error(), "itself: want another return") {
				t.Errorf("good: %v, but %v\n%s", i < most, err, text)
			}
		}
	}
}
