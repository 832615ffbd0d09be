package report

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

type inner struct {
	Direction Named[Number] `json:"direction" csv:"direction"`
	Support   Number        `json:"support" csv:"support"`
}

type limit struct {
	Name  string `json:"name" csv:"*"`
	Slack Number `json:"slack" csv:"slack"`
	Price Number `json:"price" csv:"price"`
}

type data struct {
	Problem string          `json:"problem"` // not in CSV
	Returns Named[Number]   `json:"returns" csv:"return"`
	Ranges  Named[interval] `json:"-" csv:""`
	Limits  []limit         `json:"limits" csv:""`
	Proof   *inner          `json:"proof" csv:"proof"`
	Other   *inner          `json:"other" csv:"other"`
	Yes     *bool           `json:"yes" csv:"yes"`
	Horizon *int            `json:"horizon" csv:"horizon,omitempty"`
	Gap     Number          `json:"gap" csv:"gap"`
	Gone    Number          `json:"gone" csv:"gone,omitempty"`
	Target  Named[Number]   `json:"target,omitzero"`
}

type interval struct {
	Min Number `csv:"least"`
	Max Number `csv:"most"`
}

func example() *Report {
	table := &Table{Columns: []Column{{Title: ""}, {Title: "value"},
		{Title: "for\ndocuments", Align: Center, In: []Format{Markdown, LaTeX}}, {Title: "note", Align: Left}}}
	table.Add("a|b", -1.23456789, "x", "50%")
	table.Add("c_d", Rough(math.Pi), "y", "≤ 2")
	return &Report{
		Data: &data{Problem: "p", Returns: Named[Number]{[]string{"z", "a"}, []Number{1, NaN}},
			Ranges: Named[interval]{[]string{"z"}, []interval{{0, 0.1}}},
			Limits: []limit{{"z ≤ 2", 1, NaN}}, Proof: &inner{Named[Number]{[]string{"z"}, []Number{0.5}}, 3},
			Gap: 1e-300, Gone: NaN},
		Sections: []Section{Title("part"), Heading{"first line <of> " + strings.Repeat("long ", 20), "second"}, table,
			Pairs("", "none"),
			Only(List{"one thing"}, Terminal, LaTeX), Note{"It is so.", "And so."}, Listing{Name: "l"}},
	}
}

func written(t *testing.T, r *Report, f Format) string {
	t.Helper()
	var b strings.Builder
	if err := r.Write(&b, f); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(b.String()) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return strings.Join(lines, "\n") + "\n"
}

func TestFormats(t *testing.T) {
	want := map[Format]string{
		Terminal: `first line <of> long long long long long long long long long long long long
long long long long long long long long
second

         value  note
─────────────────────
 a|b  -1.23457  50%
 c_d      3.14  ≤ 2

 one thing

It is so. And so.

l

`,
		Markdown: `## part

- first line <of> long long long long long long long long long long long long long long long long long long long long
- second

|      |    value | for documents | note |
|:-----|---------:|:-------------:|:-----|
| a\|b | -1.23457 |       x       | 50%  |
| c_d  |     3.14 |       y       | ≤ 2  |

It is so. And so.
`,
		LaTeX: `% \usepackage{booktabs}
% part
% first line <of> long long long long long long long long long long long long long long long long long long long long
% second
% one thing
% It is so.
% And so.
\begin{tabular}{lrcl}
\toprule
 & value & for documents & note \\
\midrule
a|b & $-$1.23457 & x & 50\% \\
c\_d & 3.14 & y & $\le$ 2 \\
\bottomrule
\end{tabular}
`,
		CSV: `quantity,name,value
return,z,1
return,a,
least,z,0
most,z,0.1
slack,z ≤ 2,1
price,z ≤ 2,
proof_direction,z,0.5
proof_support,,3
yes,,
gap,,1e-300
`,
		JSONL: `{"quantity":"return","name":"z","value":1}
{"quantity":"return","name":"a","value":null}
{"quantity":"least","name":"z","value":0}
{"quantity":"most","name":"z","value":0.1}
{"quantity":"slack","name":"z ≤ 2","value":1}
{"quantity":"price","name":"z ≤ 2","value":null}
{"quantity":"proof_direction","name":"z","value":0.5}
{"quantity":"proof_support","name":null,"value":3}
{"quantity":"yes","name":null,"value":null}
{"quantity":"gap","name":null,"value":1e-300}
`,
		JSON: `{
  "problem": "p",
  "returns": {
    "a": null,
    "z": 1
  },
  "limits": [
    {
      "name": "z ≤ 2",
      "slack": 1,
      "price": null
    }
  ],
  "proof": {
    "direction": {
      "z": 0.5
    },
    "support": 3
  },
  "other": null,
  "yes": null,
  "horizon": null,
  "gap": 1e-300,
  "gone": null
}
`,
	}
	for _, f := range Formats {
		if got := written(t, example(), f); got != want[f] {
			t.Errorf("%s:\n%s\nwant:\n%s", f, got, want[f])
		}
	}
}

// TestTablesOfCSV: tables that are made for CSV replace the quantities, are exact, and
// share their titles where they are the same.
func TestTablesOfCSV(t *testing.T) {
	a, b, c := NewTable("x", "y"), NewTable("x", "y"), NewTable("z")
	a.Add(1.0/3, Rough(2.0/3))
	b.Add("–, \"q\"", math.NaN())
	c.Add(Number(math.Inf(1)))
	r := &Report{Data: struct{}{}, Sections: []Section{Only(a, CSV), Heading{"not here"}, Only(b, CSV), Only(c, CSV)}}
	want := "x,y\n0.3333333333333333,0.6666666666666666\n\"–, \"\"q\"\"\",\nz\n\"\"\n"
	if got := written(t, r, CSV); got != strings.Replace(want, "\"\"\n", "\n", 1) && got != want {
		t.Errorf("%q, want %q", got, want)
	}
	want = `{"x":0.3333333333333333,"y":0.6666666666666666}
{"x":"–, \"q\"","y":null}
{"z":null}
`
	if got := written(t, r, JSONL); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestDrawnTables: tables of CSV follow each other under their titles, which are not said twice, and JSONL has every
// row under its own. What is no number, or nothing, is an empty cell there and null here.
func TestDrawnTables(t *testing.T) {
	rng := rand.New(rand.NewPCG(68, 1))
	for range 300 {
		r, csv, jsonl, last := &Report{Data: struct{}{}}, "", "", ""
		for range 1 + rng.IntN(4) {
			titles := [][]string{{"x"}, {"y"}, {"x", "y"}, {"y", "x"}, {"x", "z", "y"}}[rng.IntN(5)]
			table := NewTable(titles...)
			if head := strings.Join(titles, ",") + "\n"; head != last {
				csv, last = csv+head, head
			}
			for range rng.IntN(3) {
				var row []any
				var cells, members []string
				for _, title := range titles {
					x := float64(rng.IntN(1000)) / 8
					if rng.IntN(3) == 0 {
						x = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[rng.IntN(3)]
					}
					cell := []any{x, Number(x), Rough(x), "a word", "", rng.IntN(1000)}[rng.IntN(6)]
					plain, member := fmt.Sprint(cell), fmt.Sprint(cell)
					if text, is := cell.(string); is && text != "" {
						member = `"` + text + `"`
					} else if plain == "" || strings.HasSuffix(plain, "NaN") || strings.HasSuffix(plain, "Inf") {
						plain, member = "", "null"
					}
					row = append(row, cell)
					cells = append(cells, plain)
					members = append(members, `"`+title+`":`+member)
				}
				table.Add(row...)
				csv += strings.Join(cells, ",") + "\n"
				jsonl += "{" + strings.Join(members, ",") + "}\n"
			}
			r.Sections = append(r.Sections, Only(table, CSV))
		}
		for f, want := range map[Format]string{CSV: csv, JSONL: strings.TrimSuffix(jsonl, "\n") + "\n"} {
			if got := written(t, r, f); got != want {
				t.Fatalf("%s: %q, want %q", f, got, want)
			}
		}
	}
}

// TestCommentsOfLatex: whatever texts hold, they stand in a file of LaTeX as comments of plain signs.
func TestCommentsOfLatex(t *testing.T) {
	rng := rand.New(rand.NewPCG(70, 1))
	signs := []rune("ab%\n\r\t\\é≤ \u2028")
	for range 100 {
		text := func() string {
			word := ""
			for range 1 + rng.IntN(8) {
				word += string(signs[rng.IntN(len(signs))])
			}
			return word
		}
		r := &Report{Sections: []Section{Title(text()), Heading{text(), text()}, List{text()}, Note{text(), text()}}}
		got := written(t, r, LaTeX)
		for line := range strings.Lines(got) {
			if line != "\n" && line[0] != '%' {
				t.Fatalf("%q has the line %q", got, line)
			}
		}
		if at := strings.IndexFunc(got, func(x rune) bool { return x > '~' || x < ' ' && x != '\n' }); at >= 0 {
			t.Fatalf("%q has %q", got, got[at:])
		}
	}
}

// TestObject: members keep their order, and signs of HTML stay as they are.
func TestObject(t *testing.T) {
	o := Object{{"z", 1}, {"a", Object{}}, {"<", []Object{{{"m", NaN}}}}, {"s", "a & b"}}
	var b strings.Builder
	if err := writeJSON(&b, o); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, line := range strings.Fields(b.String()) {
		out.WriteString(line)
	}
	if want := `{"z":1,"a":{},"<":[{"m":null}],"s":"a&b"}`; out.String() != want {
		t.Errorf("%s, want %s", out.String(), want)
	}
	var back Named[Number]
	if err := json.Unmarshal([]byte(`{"b": 1.5, "a": null}`), &back); err != nil || back.Names[0] != "a" ||
		back.Values[0] == back.Values[0] || back.Values[1] != 1.5 {
		t.Errorf("read back %v, %v", back, err)
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Short(math.Inf(-1)), "–"}, {Short(math.Copysign(0, -1)), "0"}, {Short(1234567.0), "1.23457e+06"},
		{Brief(0.012345), "0.0123"},
		{Brief(math.NaN()), "–"}, {Rounded(1e-13, 1), "0"}, {Rounded(1e-13, 0.01), "1e-13"}, {Small(1e-12), "1e-9"},
		{Small(0.0123456), "0.0123"},
		{Exactly(0.1), "0.1"}, {Exactly(math.NaN()), ""}, {latexCell("-.5 # é 漢"), `$-$.5 \# \'e [U+6F22]`},
		{latexCell("a-1"), "a-1"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	for _, none := range []float64{math.NaN(), math.Inf(1)} { // a number that is none is not written as one
		for _, got := range []string{Short(none), Brief(none), Small(none), Rounded(none, 1), text(none),
			text(Rough(none))} {
			if got != "–" {
				t.Errorf("%g is %q", none, got)
			}
		}
	}
	for _, c := range []struct {
		x, y         float64
		wantX, wantY string
	}{
		{1, 2, "1", "2"}, {1.5, 1.5, "1.5", "1.5"}, {math.NaN(), math.NaN(), "–", "–"},
		{1908004.627, 1908004.6273178188, "1908004.627", "1908004.6273"}, {0.1, 0.1 + 1e-17, "0.1", "0.1"},
		{-1, math.Nextafter(-1, 0), "-1", "-0.9999999999999999"},
	} {
		if x, y := Apart(c.x, c.y); x != c.wantX || y != c.wantY {
			t.Errorf("%q and %q, want %q and %q", x, y, c.wantX, c.wantY)
		}
	}
}

// TestWrappedLines: lines have the words of a text in their order, as many as fit, whatever characters they are made
// of.
func TestWrappedLines(t *testing.T) {
	rng := rand.New(rand.NewPCG(66, 6))
	for range 200 {
		var words []string
		for range rng.IntN(30) {
			word := ""
			for range 1 + rng.IntN(9) {
				word += string([]rune("abß≤–é")[rng.IntN(6)])
			}
			words = append(words, word)
		}
		width := 5 + rng.IntN(20)
		lines := Wrap(strings.Join(words, "  "), width)
		if !slices.Equal(strings.Fields(strings.Join(lines, " ")), words) {
			t.Fatalf("%q: want the words %q", lines, words)
		}
		for i, line := range lines {
			n := len([]rune(line))
			if n > width && strings.Contains(line, " ") {
				t.Errorf("%q is longer than %d", line, width)
			}
			if i > 0 {
				first, _, _ := strings.Cut(line, " ")
				if len([]rune(lines[i-1]))+1+len([]rune(first)) <= width {
					t.Errorf("%q fits on the line %q of %d", first, lines[i-1], width)
				}
			}
		}
	}
}
