package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestPageHasEverything: whatever a result holds stands on its page under its name, whole numbers to the digit, and the
// command that the page shows is in a shell the words of the one that was given.
func TestPageHasEverything(t *testing.T) {
	rng := rand.New(rand.NewPCG(64, 3))
	t.Chdir(t.TempDir())
	const odd = "a b'\"$*\\~#;&(é|<>!=`?[{"
	for trial := range 12 {
		words, result := []string{"printf", `%s\n`}, map[string]any{"problem": "p", "choices": 3, "feasible": true}
		for range 1 + rng.IntN(5) {
			word := ""
			for range rng.IntN(5) {
				word += string([]rune(odd)[rng.IntN(len([]rune(odd)))])
			}
			words = append(words, word)
		}
		result["command"] = words
		cells := map[string][]any{} // what each name has, from top to bottom
		for list := range 3 {
			var items []map[string]any
			columns := 1 + rng.IntN(30)
			rows := 1 + rng.IntN(4)
			if trial == 0 && list == 0 {
				rows = mostPageRows + 7
			}
			for range rows {
				item := map[string]any{}
				for k := range columns {
					name, cell := fmt.Sprintf("n%d %02d", list, k), drawnCell(rng)
					item[name] = cell
					if k%3 == 1 { // an object within, with a member that others have too
						item[name] = map[string]any{"inner": cell}
						name += " inner"
					}
					if rng.IntN(4) == 0 { // others may have it
						delete(item, strings.TrimSuffix(name, " inner"))
						cell = ""
					}
					cells[name] = append(cells[name], cell)
				}
				items = append(items, item)
			}
			result[fmt.Sprint("list", list)] = items
		}
		data, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		file := fmt.Sprintf("it's %d.txt", trial)
		part, err := partIn(data, file)
		if err != nil {
			t.Fatal(err)
		}
		checkCells(t, part, cells)
		if out, err := exec.Command("sh", "-c", part.Command).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v, %s", part.Command, err, out)
		}
		if got, err := os.ReadFile(filepath.Clean(file)); err != nil || string(got) != strings.Join(words[2:], "\n")+"\n" {
			t.Errorf("%s: %q, %v: want %q", part.Command, got, err, words[2:])
		}
	}
}

func drawnCell(rng *rand.Rand) any {
	switch rng.IntN(3) {
	case 0:
		return rng.Int64N(1 << 53)
	case 1:
		return rng.NormFloat64() * math.Pow(10, float64(rng.IntN(20)-10))
	}
	return fmt.Sprint("word ", rng.IntN(100))
}

// checkCells looks for what each name has in the tables of a page.
func checkCells(t *testing.T, part *reportPart, cells map[string][]any) {
	t.Helper()
	found, more := map[string]bool{}, 0
	for _, table := range part.Tables {
		if len(table.Heads) > mostPageColumns {
			t.Errorf("%d columns do not fit on paper", len(table.Heads))
		}
		for _, head := range table.Heads {
			if rows := len(cells[head]); rows > 0 && len(table.Rows) != min(rows, mostPageRows) {
				t.Errorf("a table has %d of %d rows", len(table.Rows), rows)
			}
		}
		more += table.More
		for j, head := range table.Heads {
			for i, want := range cells[head][:min(len(cells[head]), mostPageRows)] {
				found[head] = true
				got := table.Rows[i][j]
				is := got == fmt.Sprint(want)
				if x, ok := want.(float64); ok {
					y, err := strconv.ParseFloat(strings.ReplaceAll(got, "−", "-"), 64)
					is = err == nil && math.Abs(x-y) <= 1e-3*math.Abs(x)
				}
				if !is {
					t.Errorf("%s of row %d is %s: want %v", head, i, got, want)
				}
			}
		}
	}
	long := slices.ContainsFunc(slices.Collect(maps.Values(cells)),
		func(of []any) bool { return len(of) > mostPageRows })
	if want := 7 * indicator(long); more != want {
		t.Errorf("%d rows are said to be left out: want %d", more, want)
	}
	for name, of := range cells {
		if !found[name] && slices.ContainsFunc(of, func(cell any) bool { return cell != "" }) {
			t.Errorf("no column %s", name)
		}
	}
}

// FuzzResult: a saved result may hold anything; it is drawn and put on a page, or refused.
func FuzzResult(f *testing.F) {
	for _, text := range []string{
		`{"problem": "p", "over": ["cost ≤"], "plans": [{"limits": [1], "limit_prices": [0], "status": "optimal", "objective": -4, "returns": {"cost": 0}},
			{"limits": [2], "limit_prices": [null], "status": "infeasible", "objective": null, "returns": {}}]}`,
		`{"problem": "p", "status": "optimal", "over": ["+a", "-b"], "points": [{"returns": {"a": 1, "b": 2}, "vertex": true}], "vertices": [], "error": 1e-9}`,
		`{"problem": "p", "algorithm": "moma", "seeds": 1, "history": [{"episode": 1, "regret": 2}, {"episode": 2, "regret": null, "violation": 1e300}]}`,
		`{"problem": "p", "algorithm": "moma", "history": [{}], "runs": [{"history": [{"episode": 1, "regret": 2}]}, {"history": [{"episode": 1, "regret": 3}]}]}`,
		`{"problem": "p", "rows": [{"algorithm": "a", "runs": 2, "regret": {"mean": 1, "ci95": 0}, "history": [{"episode": 1, "regret": {"mean": 1, "ci95": null}}]}]}`,
		`{"problems": [{"name": "n", "problem": "p", "rows": [{"algorithm": "a", "runs": 1, "history": []}]}, 3]}`,
		`{"plans": []}`, `{"over": ["a ≤"], "plans": [null]}`,
		`{"over": ["a ≤"], "plans": [{"limits": [], "status": "optimal"}]}`,
		`{"over": ["a ≤"], "plans": [{"limits": [1], "status": "optimal"}]}`,
		`{"problem": "p", "choices": 3, "feasible": true}`, `{"problem": "p", "prices": [0], "returns": {"a": 1}}`,
		`{"over": ["interval"], "plans": [{"limits": [0.1], "uncertainty": {}, "status": "optimal", "objective": 1}]}`,
		`{"over": ["interval"], "plans": [{"uncertainty": {}}, null]}`,
		`{"policy": "x", "returns": {"a": {"mean": 1}}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = partIn(data, "result.json")
		list, err := drawingsIn(data)
		if err != nil {
			return
		}
		if figure, err := drawingFigure(list, "", drawableMetrics(), true); err == nil {
			_, _ = figure.Bytes("svg")
		}
	})
}
