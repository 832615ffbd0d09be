package problem

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"cmdpsolve/cmdp"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// TestManyWrongNames reads files with 20,000 wrong names or columns, and as many right ones. If each were compared
// with each, this would take half an hour.
func TestManyWrongNames(t *testing.T) {
	const n = 20_000
	var names, columns, rows strings.Builder
	for i := range n {
		fmt.Fprintf(&names, "name%06d, ", i)
		fmt.Fprintf(&columns, ",column%d", i)
		fmt.Fprintf(&rows, "nome%06d,a,name000000,1,0\n", i)
	}
	head := "state,action,next,probability,reward"
	for what, rows := range map[string]string{
		"columns": head + columns.String() + "\n",
		"twice":   head + strings.Repeat(",reward", n) + "\n",
		"names":   head + "\n" + rows.String(),
	} {
		text := "format: cmdp/1\nhorizon: 2\nreturns: [reward]\nstart: 0\nstates: [" + names.String() +
			"last]\ntransitions: {file: rows.csv}\n"
		_, err := Parse("many.yaml", []byte(text), fstest.MapFS{"rows.csv": {Data: []byte(rows)}})
		if err == nil || !strings.Contains(err.Error(), "rows.csv:") {
			t.Errorf("%s: %.200v", what, err)
		}
	}
}

// TestMistakesAreCounted: a name that there is not is told once, with the number of its places. Of more than ten such
// names the first is told, with the number of the others and of all their places. Texts that are no numbers are all
// told. In tables it is the same.
func TestMistakesAreCounted(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 2))
	for range 60 {
		type form struct{ key, row, place, message string }
		head := "format: cmdp/1\nhorizon: 2\nstates: 1\nstart: 0\nreturns: [r]\ntransitions:"
		text, start, end, prefix := head+"\n", "  - {state: 0, action: a%d, ", "}\n", "test.yaml:%d:%d: transitions[#]."
		forms, before := []form{
			{"states", "next: {9#: 1}", "next.9#", "unknown state 9#: want 0 to 0"},
			{"returns", "next: {0: 1}, returns: {9#: 1}", "returns.9#", "unknown return: want r"},
			{"horizon", "step: 9#, next: {0: 1}", "step", "got 9#: want a whole number from 1 to 2"},
			{"let", "next: {0: 1}, returns: [x9#]", "returns[0]", "got x9#: want a number"},
		}, 7
		table := rng.IntN(2) == 0
		if table {
			text, start, end, prefix = "state,action,next,probability,r,step\n", "0,a%d,", "\n", "rows.csv:%d:%d: "
			forms, before = []form{
				{"states", "9#,1,0,", "next", "unknown state 9#: want 0 to 0"},
				{"let", "0,1,x9#,", "r", `got "x9#": want a number`},
				{"horizon", "0,1,0,9#", "step", "got 9#: want 1 to 2, or nothing for every step"},
			}, 2
		}
		counts, order := make(map[[2]int]int), [][2]int(nil)
		first := make(map[[2]int]string)
		kinds, names := 1+rng.IntN(len(forms)), 1+rng.IntN(16)
		for i := range 1 + rng.IntN(60) {
			at := [2]int{rng.IntN(kinds), rng.IntN(names)}
			form, name := forms[at[0]], strconv.Itoa(at[1])
			row := fmt.Sprintf(start, i) + strings.ReplaceAll(form.row, "#", name) + end
			if counts[at]++; counts[at] == 1 {
				order = append(order, at)
				column := 1 + strings.LastIndex(row, "9"+name)
				if form.key == "let" {
					column--
				}
				first[at] = strings.Replace(fmt.Sprintf(prefix, i+before, column), "#", strconv.Itoa(i), 1)
				first[at] += form.place + ": " + form.message
				first[at] = strings.ReplaceAll(first[at], "#", name)
			}
			text += row
		}
		var want []string
		told := make(map[int]bool)
		for _, at := range order {
			others, places := -1, -1
			for x, n := range counts {
				if x[0] == at[0] {
					others++
					places += n
				}
			}
			many := others >= 10 && forms[at[0]].key != "let"
			switch n := counts[at]; {
			case many && told[at[0]]:
				continue
			case many:
				told[at[0]] = true
				first[at] += fmt.Sprintf(" (and %d more like it in %d places: is %s right?)", others, places, forms[at[0]].key)
			case n > 1:
				first[at] += fmt.Sprintf(" (%d times)", n)
			}
			want = append(want, first[at])
		}
		var files fstest.MapFS
		if table {
			files = fstest.MapFS{"rows.csv": {Data: []byte(text)}}
			text = head + " {file: rows.csv}\n"
			if rng.IntN(2) == 0 { // errors of the problem itself come first, however long it is
				text += strings.Repeat("#\n", 90) + "name: []\n"
				want = slices.Insert(want, 0, "test.yaml:97:7: name: got a list: want a name")
			}
		}
		_, err := Parse("test.yaml", []byte(text), files)
		if got := fmt.Sprint(err); err != nil && got != strings.Join(want, "\n") || (err == nil) != (want == nil) {
			t.Fatalf("%v\nwant %s\nin %s", err, strings.Join(want, "\n"), text)
		}
	}
}

// TestGivenTwice: where keys stand again and again, in mappings of any size, each time but the first names that.
func TestGivenTwice(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 1))
	for range 60 {
		var lines, want []string
		first := make(map[int]int)
		for i := range 1 + rng.IntN(24) {
			key := rng.IntN(1 + rng.IntN(20))
			if at, twice := first[key]; twice {
				want = append(want, fmt.Sprintf("test:%d:3: labels.k%d: given twice: the first is in line %d", i+2, key, at))
			} else {
				first[key] = i + 2
			}
			lines = append(lines, fmt.Sprintf("  %q: [0]", fmt.Sprint("k", key)))
		}
		text := strings.Join(lines, "\n") + "\n"
		rest := "format: cmdp/1\nhorizon: 1\nstates: 1\nstart: 0\nreturns: [r]\ntransitions: []\n"
		if rng.IntN(2) == 0 {
			text = "{\"labels\": {\n" + strings.Join(lines, ",\n") + "},\n" +
				`"format": "cmdp/1", "horizon": 1, "states": 1, "start": 0, "returns": ["r"], "transitions": []}`
		} else {
			text = "labels:\n" + text + rest
		}
		_, err := Parse("test", []byte(text), nil)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != strings.Join(want, "\n") {
			t.Fatalf("%s\nwant %s\nin %s", got, strings.Join(want, "\n"), text)
		}
	}
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestManyKeys reads mappings of 1,500 and of 6,000 keys that only the YAML library can read. It copies what it has
// for each key of a mapping, so that the memory that is taken in all tells how often.
func TestManyKeys(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	for what, form := range map[string][2]string{
		"top":      {"", "key%d: 'one'\n"},
		"twice":    {"", "key: 'one' # %d\n"},
		"nested":   {"labels:\n", "  key%d: 'one'\n"},
		"in lists": {"labels:\n", "  key%d:\n  - 'one'\n"},
		"items":    {"labels:\n", "- key%d: 'one'\n"},
		"an item":  {"constraints:\n  -\n", "    key%d: 'one'\n"},
		"compact":  {"constraints:\n- - return: 'one'\n", "    key%d: 'one'\n"},
		"inside":   {"labels:\n  a:\n    - or:\n", "      - and%d: ['one']\n"},
		"flush":    {"labels:\n  a:\n  - or:\n", "    - and%d: ['one']\n"},
	} {
		work := func(n int) uint64 {
			var text strings.Builder
			text.WriteString(form[0])
			for i := range n {
				fmt.Fprintf(&text, form[1], i)
			}
			return allocated(func() {
				if _, bad := parseYAML(text.String(), 1); bad != nil {
					t.Errorf("%s: %v", what, bad)
				}
			})
		}
		if few, many := work(1500), work(6000); many > 8*few {
			t.Errorf("%s: %d bytes for 1500 keys, but %d for 6000", what, few, many)
		}
	}
}

// TestLargeMapping compares what is read in portions, or by the flowReader, with what the library makes of the whole.
func TestLargeMapping(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	for what, entry := range map[string]string{
		"plain":  "key%d: [1, {a: b}]\n",
		"quoted": "'key%d': 'it''s: fine' # said\n",
		"block":  "key%d: |\n  a: b\n\n  c\n",
		"lists":  "key%d:\n- a: 1\n  b: 'x'\n- {c: d}\n",
		"empty":  "key%d:\n# nothing\n",
		"flow":   "key%d: [1,\n  2, {a:\n  b}]\n",
		"inner":  "key%d:\n  a: 1\n  b:\n    c: 'x y'\n",
	} {
		for _, indent := range []string{"", "  "} {
			var text strings.Builder
			if indent != "" {
				text.WriteString("first: 1\nlabels: # which are many\n")
			}
			for i := range 1200 {
				for line := range strings.Lines(fmt.Sprintf(entry, i)) {
					text.WriteString(indent + line)
				}
			}
			text.WriteString("last: one\n"[min(len(indent)*9, 10):])
			got, bad := parseYAML(text.String(), 1)
			want, wrong := new(converter).parse(lexer.Tokenize(text.String()))
			if wrong != nil || bad != nil {
				t.Fatalf("%s: %v, %v", what, bad, wrong)
			}
			if err := sameTree(got, want); err != nil {
				t.Errorf("%s, indent %q: %v", what, indent, err)
			}
		}
	}
}

// TestLargeList is TestLargeMapping for lists, and for mappings in the items of lists, in small portions.
func TestLargeList(t *testing.T) {
	const n, many = 60, 50
	for _, entry := range []string{
		"- 'item%d'\n",
		"- # nothing\n- x%d\n", // an empty item at the end would take the key that follows, in the library
		"-\n  'item%d'\n",
		"- key%d: 'it''s: fine' # said\n  other: [1,\n   2]\n",
		"-\n  key%d: 1\n  b:\n  - c: 'x'\n    d:\n  -\n",
		"- - 'a%d'\n  - b\n",
		"- |\n  text: %d\n\n  more\n",
		"- {a%d: 'b', c: [d]}\n",
	} {
		list := ""
		for i := range n {
			list += fmt.Sprintf(entry, i)
		}
		for _, around := range [][2]string{
			{"", ""}, {"first: 1\nrows:\n", ""}, {"rows:\n", "last: one\n"}, {"- x\n-\n  ", "- y\n"},
			{"- first: 'x'\n  rows:\n    ", "  last: y\n- z\n"},
			{"- first: 'x'\n  rows:\n  ", "  last: y\n"}, {"- - ", "  - z\n- w\n"},
			{"a:\n  b:\n   - - x\n     - ", "     - y\nc: d\n"},
		} {
			indent := strings.Repeat(" ", len(around[0])-strings.LastIndexByte(around[0], '\n')-1)
			text := around[0] + strings.ReplaceAll(strings.TrimSuffix(list, "\n"), "\n", "\n"+indent) + "\n" + around[1]
			tokens := slices.DeleteFunc(lexer.Tokenize(text),
				func(t *token.Token) bool { return t.Type == token.CommentType })
			b := newBlockCollection(tokens)
			if b == nil {
				t.Fatalf("%.60q: it is no block", text)
			}
			got, bad := (&converter{text: text, end: tokens[len(tokens)-1]}).inPortions(b, many)
			want, wrong := new(converter).parse(lexer.Tokenize(text))
			if wrong != nil || bad != nil {
				t.Fatalf("%.60q: %v, %v", text, bad, wrong)
			}
			if err := sameTree(got, want); err != nil {
				t.Errorf("%.60q: %v", text, err)
			}
		}
	}
}

// TestManyLabels reads labels that all name few of many states. Looking at each state for each label would take
// 10^10 steps.
func TestManyLabels(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	const n = 100_000
	var text strings.Builder
	fmt.Fprintf(&text, "format: cmdp/1\nhorizon: 1\nstates: %d\nstart: 0\nreturns: [reward]\ntransitions: "+
		"[]\nlabels:\n", n)
	for i := range n {
		fmt.Fprintf(&text, "  label%d: [%d, %d]\n", i, n-1, i)
	}
	text.WriteString("  some: [label7, 3, label7, label9]\n")
	p, err := Parse("labels.yaml", []byte(text.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(p.Labels[n].States); got != fmt.Sprintf("[3 7 9 %d]", n-1) {
		t.Error(got)
	}
}

// TestFilesOfManyBytes: a file may have twice as many bytes as its model, and no more, also where a fleet names it.
func TestFilesOfManyBytes(t *testing.T) {
	const most = 1 << 16
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("fleet.yaml", "format: cmdp/1\nreturns: [r]\nfleet: [{name: a, count: 2, model: large.yaml}]\n")
	text := "format: cmdp/1\nreturns: [r]\nstart: 0\nstates: 1\nhorizon: 2\n" +
		"transitions: [{state: 0, action: a, next: {0: 1}}]\n#"
	for _, bytes := range []int{2*most - 1, 2*most + 1, 2*most + 2, 5 * most} {
		write("large.yaml", text+strings.Repeat("x", bytes-len(text)))
		for _, name := range []string{"large.yaml", "fleet.yaml"} {
			_, err := ReadWith(filepath.Join(dir, name), ReadOptions{Bytes: most})
			large, good := new(cmdp.MemoryError), bytes <= 2*most+1
			if good != (err == nil) || !good && (!errors.As(err, &large) || !strings.Contains(err.Error(), "large.yaml: ")) {
				t.Errorf("%s, a file of %d bytes for %d: %v", name, bytes, most, err)
			}
			if _, err := ReadWith(filepath.Join(dir, name), ReadOptions{}); err != nil {
				t.Errorf("%s without a bound: %v", name, err)
			}
		}
	}
}

// TestAbsurdSizes: what would take minutes or gigabytes later is refused where it is said.
func TestAbsurdSizes(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	many := func(n int, form string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = strings.ReplaceAll(form, "#", fmt.Sprint(i))
		}
		return "[" + strings.Join(all, ", ") + "]"
	}
	head := "format: cmdp/1\nhorizon: 1\nstart: 0\ntransitions: []\n"
	for text, want := range map[string]string{
		head + "states: 2\nreturns: " + many(maxReturns,
			"r#"): "",
		head + "states: 2\nreturns: " + many(maxReturns+1,
			"r#"): "returns: 10001 returns: want at most 10000",
		head + "states: 2\nreturns: [a]\ntarget: {polytope: {A: " + many(maxRows+1, "[1]") + ", b: " + many(maxRows+1,
			"1") + "}}": "target.polytope: 10001 rows: want at most 10000",
		head + "states: 2\nreturns: [a]\ntarget: {affine: {A: " + many(maxRows+1, "[1]") + ", b: " + many(maxRows+1,
			"1") + "}}": "target.affine: 10001 rows: want at most 10000",
		head + "states: 1000000\nreturns: [a]\nlabels: {" + strings.Trim(many(68, "l#: {not: ['#']}"), "[]") +
			"}\n": "labels.l67: the labels so far have 67999932 states together: want at most 67108864",
	} {
		_, err := Parse("absurd.yaml", []byte(text), nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.200v: want %q", err, want)
		}
	}
}

// sameTree tells where two trees differ.
func sameTree(x, y *node) error {
	if x.kind != y.kind || x.text != y.text || x.quoted != y.quoted || x.line != y.line || x.col != y.col ||
		len(x.items) != len(y.items) || len(x.members) != len(y.members) {
		return fmt.Errorf("line %d, column %d: %s; line %d, column %d: %s", x.line, x.col, x.describe(), y.line, y.col,
			y.describe())
	}
	for i := range x.items {
		if err := sameTree(x.items[i], y.items[i]); err != nil {
			return err
		}
	}
	for i := range x.members {
		if err := cmp.Or(sameTree(x.members[i].key, y.members[i].key),
			sameTree(x.members[i].value, y.members[i].value)); err != nil {
			return err
		}
	}
	return nil
}

// TestCheckNesting also looks at the memory: a token takes hundreds of bytes, but those beyond the limit are not made.
func TestCheckNesting(t *testing.T) {
	for _, part := range []string{"[", "{a: ", "- ", "[\n "} {
		if err := CheckNesting("x:\n " + strings.Repeat(part, 50)); err != nil {
			t.Errorf("%q: %v", part, err)
		}
		text := "x:\n " + strings.Repeat(part, 20_000)
		for what, read := range map[string]func() string{
			"suite":   func() string { return fmt.Sprint(CheckNesting(text)) },
			"problem": func() string { _, err := Parse("deep.yaml", []byte(text), nil); return fmt.Sprint(err) },
		} {
			said := ""
			took := allocated(func() { said = read() })
			if !strings.Contains(said, "nested too deeply") {
				t.Errorf("%s, %q: %v", what, part, said)
			}
			if took > 4_000_000 {
				t.Errorf("%s, %q: %d bytes", what, part, took)
			}
		}
	}
	// Brackets that are text do not nest.
	if err := CheckNesting(strings.Repeat("a: '[[[[[['\n- ", 300)); err != nil {
		t.Error(err)
	}
}

func TestCheckNestingKeys(t *testing.T) {
	keys := func(n int, form, between string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf(form, i)
		}
		return strings.Join(all, between)
	}
	for text, wrong := range map[string]bool{
		keys(1001, "k%d: 1", "\n"):                        true,
		keys(1000, "k%d: 1", "\n"):                        false,
		"a: {" + keys(1001, "k%d: 1", ", ") + "}":         true,
		"a:\n" + keys(1001, "  k%d: 1", "\n"):             true,
		"a:\n" + keys(3000, "- k%d: 1\n  x: 2", "\n"):     false,
		"a: [" + keys(3000, "{k%d: 1, x: 2}", ", ") + "]": false,
		"a:\n" + keys(900, "  k%d: {a: 1, b: 2}", "\n"):   false,
		"a:\n" + keys(900, "  k%d:\n    a: 1", "\n"):      false,
		"- " + keys(1001, "k%d: {a: [b: 1]}", "\n  "):     true,
	} {
		err := CheckNesting(text)
		if wrong != (err != nil && strings.Contains(err.Error(), "more than 1000 keys")) {
			t.Errorf("%.30q…: %v", text, err)
		}
	}
}
