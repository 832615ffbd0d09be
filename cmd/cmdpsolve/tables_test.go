package main

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A keyedValue is a number or a text of an answer in JSON, with the keys that lead to it.
type keyedValue struct {
	keys  []string
	value float64
	text  string // "" for a number
}

// keyedValues lists all numbers and texts in a value.
func keyedValues(value any, keys []string) (all []keyedValue) {
	switch value := value.(type) {
	case map[string]any:
		for key, x := range value {
			all = append(all, keyedValues(x, append(slices.Clone(keys), strings.ReplaceAll(key, "_", " ")))...)
		}
	case []any:
		for _, x := range value {
			all = append(all, keyedValues(x, keys)...)
		}
	case float64:
		all = append(all, keyedValue{keys: keys, value: value})
	case string:
		all = append(all, keyedValue{keys: keys, text: value})
	}
	return all
}

// keyOf is the key under which JSON has what a table has under a head or beside a name.
func keyOf(head string) string {
	head = strings.TrimSuffix(head, " of one")
	if key, is := map[string]string{"certified at most": "bound", "certified at least": "bound", "all kept": "kept",
		"steps kept": "kept steps", "optimum of the nominal model": "nominal optimum", "gap at least": "gap lower",
		"gap at most": "gap upper"}[head]; is {
		return key
	}
	return head
}

// TestTablesHaveTheirKeys: what a table shows under a head, beside a name, is what JSON has under the keys of these,
// for reports of every kind; and numbers of a report fit each other.
func TestTablesHaveTheirKeys(t *testing.T) {
	t.Parallel()
	const examples = "../../docs/examples/"
	for _, c := range []struct {
		command string
		cells   int // that have a key, at least
	}{
		{"plan " + examples + "fleet.yaml", 80},
		{"simulate " + examples + "fleet.yaml --episodes 20", 80},
		{"plan " + examples + "parcel.yaml", 12},
		{"check " + examples + "parcel.yaml", 4},
		{"plan " + examples + "depot.yaml --deterministic", 8},
		{"plan " + examples + "two-rooms.yaml --interval 0.1", 12},
		{"plan matrix:game=regret3,limit=-0.1", 5},
		{"front " + examples + "depot.yaml --over -cost,-short --deterministic", 4},
		{"check " + examples + "depot.yaml", 6},
		{"plan " + examples + "parcel.yaml --sweep interval=0:0.2:0.1", 6},
	} {
		args := strings.Fields(c.command)
		text, _ := printed(t, "json", args...)
		var answer map[string]any
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatal(err)
		}
		checkNumbers(t, c.command, answer)
		values := keyedValues(answer, nil)
		cells := 0
		text, _ = printed(t, "markdown", args...)
		for _, rows := range tables(text) {
			cells += checkKeys(t, c.command, values, rows)
		}
		if cells < c.cells {
			t.Errorf("%s: %d cells have keys: want %d\n%s", c.command, cells, c.cells, text)
		}
	}
}

// checkKeys compares the cells of a table that have a key, and counts them.
func checkKeys(t *testing.T, command string, values []keyedValue, rows table) (cells int) {
	t.Helper()
	known := make(map[string]bool)
	for _, v := range values {
		for _, key := range v.keys {
			known[key] = true
		}
	}
	for _, row := range rows[1:] {
		for at := 1; at < len(row); at++ {
			var keys []string
			for _, name := range []string{rows[0][at], row[0]} {
				if name == "ci95" { // of what is before it
					keys = append(keys, keyOf(rows[0][at-1]))
				}
				if keys = append(keys, keyOf(name)); !known[keys[len(keys)-1]] {
					keys = keys[:len(keys)-1]
				}
			}
			counted := rows[0][at] == "policies" || rows[0][min(at+1, len(row)-1)] == "policies"
			summed := strings.Contains(row[0], " each ")
			if len(keys) == 0 || row[at] == "" || row[at] == "–" || row[at] == "none" || counted || summed {
				continue
			}
			cells++
			if !slices.ContainsFunc(values, func(v keyedValue) bool { return v.has(keys) }) {
				keys = keys[1:] // what stands beside it says more than the head
			}
			right := func(v keyedValue) bool { return v.has(keys) && v.shown(row[at]) }
			if !slices.ContainsFunc(values, right) {
				t.Errorf("%s: %q is shown for %q: JSON has another number: %q", command, row[at], keys, row)
			}
		}
	}
	return cells
}

func (n keyedValue) has(keys []string) bool {
	for _, key := range keys {
		if !slices.Contains(n.keys, key) {
			return false
		}
	}
	return true
}

// shown reports whether a cell shows the text, or the number as it is or in percent. Words in the place of a number may
// be any.
func (n keyedValue) shown(cell string) bool {
	if n.text != "" {
		return cell == n.text
	}
	x := n.value
	if share, is := strings.CutSuffix(cell, "%"); is {
		cell, x = share, 100*x
	}
	_, err := strconv.ParseFloat(strings.TrimLeft(cell, "≤≥ "), 64)
	return err != nil || shows(cell, &x)
}

// checkNumbers: a gap is that between objective and bound, and what is least is at most what is greatest.
func checkNumbers(t *testing.T, command string, answer map[string]any) {
	t.Helper()
	number := func(of map[string]any, key string) float64 {
		if x, is := of[key].(float64); is {
			return x
		}
		return math.NaN()
	}
	objective, bound, gap := number(answer, "objective"), number(answer, "bound"), number(answer, "gap")
	if math.Abs(math.Abs(objective-bound)-gap) > 1e-6*(1+math.Abs(objective)) {
		t.Errorf("%s: objective %g, bound %g, gap %g", command, objective, bound, gap)
	}
	returns, _ := answer["returns"].(map[string]any)
	nominal, _ := answer["nominal"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(returns)) {
		of, _ := returns[name].(map[string]any)
		least, x, greatest := number(of, "least"), number(nominal, name), number(of, "greatest")
		if least > x+1e-9 || x > greatest+1e-9 {
			t.Errorf("%s: %s is %g, between %g and %g", command, name, x, least, greatest)
		}
	}
}
