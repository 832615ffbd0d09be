package umb_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/exchange/exchangetest"
	"cmdpsolve/cmdp/exchange/umb"
)

// with returns the example with one file changed, or added.
func with(name string, change func(content string) string) []file {
	files := example()
	for i := range files {
		if files[i].name == name {
			files[i].content = change(files[i].content)
			return files
		}
	}
	return append(files, file{name, change("")})
}

func without(name string) []file {
	var files []file
	for _, f := range example() {
		if f.name != name {
			files = append(files, f)
		}
	}
	return files
}

// index changes index.json by replacing text.
func index(old, new string) []file {
	return with("index.json", func(s string) string {
		if !strings.Contains(s, old) {
			panic(old)
		}
		return strings.Replace(s, old, new, 1)
	})
}

func content(s string) func(string) string { return func(string) string { return s } }

func TestRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []file
		want  string
		valid bool // the specification allows it
	}{
		{"no index", without("index.json"), "no index.json", false},
		{"not json", with("index.json", content("{")), "index.json: unexpected end", false},
		{"version", index(`"format-version": 1`, `"format-version": 2`), "format version 2", true},
		{"stochastic time", index(`"discrete"`, `"stochastic"`), "continuous-time models (time: stochastic)", false},
		{"Markov automaton", index(`"discrete"`, `"urgent-stochastic"`),
			"continuous-time models (time: urgent-stochastic)", false},
		{"no time", index(`"time": "discrete", `, ``), `time: got ""`, false},
		{"partial observation", index(`"#observations": 0`, `"#observations": 3, "observations-apply-to": "states"`),
			"partially observable models (3 observations)", true},
		{"intervals", index(`{"type": "double"}`, `{"type": "double-interval"}`), "want 16 values of 8 bytes", false},
		{"three players", index(`"#players": 1`, `"#players": 3`), "games of 3 players", true},
		{"random reward", index(`"applies-to": ["choices"],`,
			`"applies-to": ["choices"], "probability-type": {"type": "double"}, "#probabilities": 5,`), "random values are not supported", true},
		{"reward of truth values", index(`["choices"], "type": {"type": "double", "size": 64}`,
			`["choices"], "type": {"type": "bool"}`), "want double, or rational", false},
		{"label of choices", append(without("annotations/aps/g/states/values.bin"),
			file{"annotations/aps/g/choices/values.bin", u64s(8)}), "propositions of choices: want them of states", false},
		{"reward of intervals", index(`["choices"], "type": {"type": "double", "size": 64}`,
			`["choices"], "type": {"type": "double-interval"}`), "only probabilities may be intervals", false},
		{"label of numbers", index(`{"type": "bool", "size": 1}}}`, `{"type": "uint"}}}`), "want bool", false},
		{"same key twice", index(`"aps": {`, `"aps": {"g": {}, `), `"g" is given twice`, true},
		{"states that cannot be", index(`"#states": 4`, `"#states": 4000000000`),
			"4000000000 states: the file cannot hold", false},
		{"no states", index(`"#states": 4`, `"#states": 0`), "0 states", false},
		{"more states than lines", index(`"#states": 4`, `"#states": 5`), "state-to-choices.bin", false},
		{"negative states", index(`"#states": 4`, `"#states": -4`),
			"index.json: transition-system.#states: got number -4: want a whole number", false},
		{"no choices of states", without("state-to-choices.bin"), "state-to-choices.bin is missing", false},
		{"no branches of choices", without("choice-to-branches.bin"), "choice-to-branches.bin is missing", false},
		{"no probabilities", without("branch-to-probability.bin"), "branch-to-probability.bin is missing", true},
		{"no type of probabilities", index(`, "branch-probability-type": {"type": "double"}`, ``),
			"gives no branch-probability-type", false},
		{"offsets fall", with("state-to-choices.bin", content(u64s(0, 3, 2, 4, 5))), "boundary 2 is 2: want 3 to 5",
			false},
		{"offsets end early", with("state-to-choices.bin", content(u64s(0, 1, 2, 3, 4))), "boundaries go from 0 to 4",
			false},
		{"offsets begin late", with("state-to-choices.bin", content(u64s(1, 2, 3, 4, 5))), "boundaries go from 1 to 5",
			false},
		{"offsets too short", with("choice-to-branches.bin", content(u64s(0, 8))), "16 bytes: want 48", false},
		{"choice without branches", with("choice-to-branches.bin", content(u64s(0, 2, 4, 4, 7, 8))),
			"state 1, choice 0: no branches", true},
		{"target", with("branch-to-target.bin", content(u64s(1, 2, 2, 3, 0, 1, 2, 4))), "leads to state 4: want 0 to 3",
			false},
		{"huge target", with("branch-to-target.bin", content(u64s(1, 2, 2, 3, 0, 1, 2, 1<<63))), "more than there is",
			false},
		{"targets too short", with("branch-to-target.bin", content(u64s(1, 2))), "16 bytes: want 8 values of 8 bytes",
			false},
		{"NaN", with("branch-to-probability.bin", content(f64s(0.5, 0.5, 0.2, 0.8, 0.9, 0.1, 1, nan))),
			"NaN is not a probability", true},
		{"above 1", with("branch-to-probability.bin", content(f64s(0.5, 0.5, 0.2, 0.8, 0.9, 0.1, 1, 2))),
			"2 is not a probability", true},
		{"infinite reward", with("annotations/rewards/r/choices/values.bin", content(f64s(0, inf, 0, 0, 0))),
			"reward r, choice 1: +Inf", true},
		{"initial states", with("state-is-initial.bin", content(u64s(3))), "2 states: want 1", false},
		{"initial bit beyond", with("state-is-initial.bin", content(u64s(16))), "bit 4 is set: there are 4", false},
		{"initial too long", with("state-is-initial.bin", content(u64s(1, 0))), "16 bytes: want 1 values of 8", false},
		{"action", with("actions/choices/values.bin", content(u32s(0, 2, 0, 0, 0))),
			"number 1 is action 2: want 0 to 1", false},
		{"actions without count", index(`"#choice-actions": 2`, `"#choice-actions": 0`), "there are no actions", false},
		{"strings alone", without("actions/choices/string-mapping.bin"), "want both or none", false},
		{"strings cut", with("actions/choices/strings.bin", content("a")), "boundary 2 is 2", false},
		{"strings not text", with("actions/choices/strings.bin", content("a\xff")), "not text in UTF-8", false},
		{"unknown reward", with("annotations/rewards/q/choices/values.bin", content(f64s(0, 0, 0, 0, 0))),
			"no annotation q", false},
		{"unknown group", with("annotations/costs/q/choices/values.bin", content(f64s(0, 0, 0, 0, 0))),
			"no annotations costs", false},
		{"reward of observations", with("annotations/rewards/r/observations/values.bin", content("")),
			"rewards of observations", false},
		{"players of a chain", append(index(`"#players": 1`, `"#players": 0`),
			file{"state-to-player.bin", u32s(0, 0, 0, 0)}), "there are no players", false},
		{"chain with two choices", index(`"#players": 1`, `"#players": 0`), "2 choices in a Markov chain", true},
		{"unknown player", append(index(`"#players": 1`, `"#players": 2`),
			file{"state-to-player.bin", u32s(0, 0, 2, 0)}), "player 2: want 0 to 1", false},
		{"valuations cut", with("valuations/states/valuations.bin", content("\x00\x01\x02")),
			"3 bytes: want 4 values of 1", false},
		{"no valuations", without("valuations/states/valuations.bin"), "valuations.bin is missing", false},
		{"unknown class", append(example(), file{"valuations/states/valuation-to-class.bin", u32s(0, 0, 0, 1)}),
			"state 3 has class 1: want 0 to 0", false},
		{"valuations of classes cut", append(with("valuations/states/valuations.bin", content("\x00\x01\x02")),
			file{"valuations/states/valuation-to-class.bin", u32s(0, 0, 0, 0)}), "valuations.bin ends in state 3", false},
		{"more behind valuations", append(with("valuations/states/valuations.bin", content("\x00\x01\x02\x06\x00")),
			file{"valuations/states/valuation-to-class.bin", u32s(0, 0, 0, 0)}), "has 5 bytes: want 4", false},
		{"names of players", index(`"#players": 1`, `"#players": 1, "player-names": ["a", "b"]`), "2 names of players: want 1",
			false},
		{"odd class", index(`{"padding": 5}`, `{"padding": 4}`), "7 bits: want a multiple of 8", false},
		{"class without padding", index(`{"padding": 5}`, `{"padding": 0}`), "want a name and a type, or padding",
			false},
		{"interval variable", index(`{"type": "uint", "size": 2}`, `{"type": "uint-interval", "size": 2}`),
			"cannot be read", false},
		{"file twice", append(example(), example()[3]), "branch-to-probability.bin is in the archive twice", false},
		{"the same file twice", append(example(), file{"./index.json", ""}), "index.json is in the archive twice", false},
		{"odd interval", index(`{"type": "double"}`, `{"type": "double-interval", "size": 129}`), "intervals of 129 bits", false},
		{"leads out", append(example(), file{"../evil", ""}), "leads out of the archive", false},
		{"leads out in Windows", append(example(), file{`a\b`, ""}), "leads out of the archive", false},
		{"leads to the root", append(example(), file{"/etc/passwd", ""}), "leads out of the archive", false},
	} {
		data := pack(c.files)
		_, err := read(data)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "umb: ") {
			t.Errorf("%s: got %v: want %s", c.name, err, c.want)
		}
		if err := umb.Validate(bytes.NewReader(data), int64(len(data))); (err == nil) != c.valid {
			t.Errorf("%s: the validator says %v: want valid = %t", c.name, err, c.valid)
		}
	}
}

// TestValidateFindsMore shows what Read lets pass and the specification does not.
func TestValidateFindsMore(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []file
		want  string
	}{
		{"unknown key", index(`"#players": 1`, `"#player": 1, "#players": 1`), "unknown key #player"},
		{"unknown file", append(example(), file{"notes.bin", ""}), "a file that the index does not announce"},
		{"file name", append(example(), file{"Notes.bin", ""}), "small letters"},
		{"alias twice", index(`"aps": {`,
			`"aps": {"h": {"alias": "at goal", "applies-to": ["states"], "type": {"type": "bool"}}, `), "given twice"},
		{"identifier", index(`"g": {`, `"G": {"applies-to": ["states"], "type": {"type": "bool"}}, "g": {`),
			"small letters"},
		{"not unique", with("valuations/states/valuations.bin", content("\x00\x01\x02\x02")), "unique is true"},
		{"applies to nothing", index(`"applies-to": ["choices"]`, `"applies-to": []`), "applies-to is empty"},
		{"more strings than there can be",
			slices.Concat(index(`"#choice-actions": 2`, `"#choice-actions": 2305843009213693951`)[:6],
				[]file{{"actions/choices/string-mapping.bin", ""}}), "string-mapping.bin: 0 bytes: want 8"},
		{"no applies-to", index(`"applies-to": ["choices"], `, ``), "applies-to is missing"},
	} {
		data := pack(c.files)
		if err := umb.Validate(bytes.NewReader(data), int64(len(data))); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v: want %s", c.name, err, c.want)
		}
	}
}

func TestRefusesBrokenArchives(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	whole := pack(example())
	for n := 0; n < len(whole)-2048; n += 97 { // but for the zeros at the end
		if _, err := read(whole[:n]); err == nil {
			t.Fatalf("the first %d bytes of %d are read", n, len(whole))
		}
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write(whole)
	z.Close()
	for n := range zipped.Len() {
		if _, err := read(zipped.Bytes()[:n]); err == nil {
			t.Fatalf("the first %d bytes of %d are read", n, zipped.Len())
		}
	}
	// The files of an archive may stand in any order.
	want, err := read(whole)
	if err != nil {
		t.Fatal(err)
	}
	files := example()
	slices.Reverse(files)
	if got, err := read(pack(files)); err != nil || exchangetest.Same(want, got) != nil {
		t.Errorf("in another order: %v, %v", err, exchangetest.Same(want, got))
	}
	link := new(bytes.Buffer)
	w := tar.NewWriter(link)
	w.WriteHeader(&tar.Header{Name: "index.json", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink})
	w.Close()
	if _, err := read(link.Bytes()); err == nil || !strings.Contains(err.Error(), "links") {
		t.Errorf("a link: %v", err)
	}
	big := index(`"format-version": 1`, `"pad": "`+strings.Repeat("x", 1<<20)+`", "format-version": 1`)
	if _, err := read(pack(big)); err != nil {
		t.Error(err)
	}
	// 40 MB of zeros in 40 kB.
	bomb := new(bytes.Buffer)
	z = gzip.NewWriter(bomb)
	z.Write(make([]byte, 40<<20))
	z.Close()
	if _, err := read(bomb.Bytes()); err == nil {
		t.Error("zeros are read")
	}
	bomb.Reset()
	z = gzip.NewWriter(bomb)
	z.Write(pack(append([]file{{"zeros.bin", strings.Repeat("\x00", 40<<20)}}, example()...)))
	z.Close()
	if _, err := read(bomb.Bytes()); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error("a bomb:", err)
	}
}

// TestDamagedFiles flips a bit of a file, makes one longer or shorter, puts it in twice, under whichever of its names,
// or changes a number of the index by one: the model is refused or another one.
func TestDamagedFiles(t *testing.T) {
	rng, words := rand.New(rand.NewPCG(27, 8)), regexp.MustCompile(`": \d+`)
	has := exchangetest.All
	has.SkewedStart = false // it is kept for all states
	refused, other := 0, 0
	for i := range 600 {
		var b bytes.Buffer
		m := exchangetest.Random(rng, has)
		if err := umb.Write(&b, m, umb.WriteOptions{Compression: umb.Plain}); err != nil {
			t.Fatal(err)
		}
		files := unpack(t, &b)
		k := rng.IntN(len(files))
		text := []byte(files[k].content)
		if way := rng.IntN(6); k > 0 && len(text) >= 8 && way < 2 {
			text = append(text, make([]byte, 8)...)[:len(text)+8-16*way]
		} else if k == 0 || len(text) == 0 || strings.HasSuffix(files[k].name, "valuations.bin") { // which have bits without a meaning
			k, text = 0, []byte(files[0].content)
			all := words.FindAllIndex(text, -1)
			at := all[2+rng.IntN(len(all)-2)] // but for the versions of the format
			text[at[1]-1] = "1234567898"[text[at[1]-1]-'0']
		} else {
			text[rng.IntN(len(text))] ^= 1 << rng.IntN(8)
		}
		before := files[k].content
		files[k].content = string(text)
		if i%16 == 0 {
			files[k].content = before
			files = append(files, file{[]string{"", "./", "x/../"}[rng.IntN(3)] + files[k].name, before})
			files[k].name = []string{"", "./", "x/../"}[rng.IntN(3)] + files[k].name
		}
		data := pack(files)
		again, err := read(data)
		if err == nil {
			err = umb.Validate(bytes.NewReader(data), int64(len(data)))
			if err != nil {
				t.Fatalf("%d: read is what breaks the specification: %v", i, err)
			}
		}
		switch {
		case err != nil:
			refused++
		case exchangetest.Same(m, again) == nil:
			t.Fatalf("%d: %s is the same where %q is\n%q", i, files[k].name, before, text)
		default:
			other++
		}
	}
	if refused < 100 || other < 100 {
		t.Errorf("%d files were refused, %d are other models", refused, other)
	}
}

// TestDamagedIndex leaves something out of index.json, repeats it or puts something else there: what is read all
// the same does not break the specification, but for what nothing depends on.
func TestDamagedIndex(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 9))
	others := []any{nil, "", "a", "int", "rational", 0, 1, -1, 64, true, []any{}, map[string]any{}}
	var change func(x any) any
	change = func(x any) any {
		switch x := x.(type) {
		case map[string]any:
			if len(x) == 0 {
				break
			}
			switch key := slices.Sorted(maps.Keys(x))[rng.IntN(len(x))]; rng.IntN(4) {
			case 0:
				delete(x, key)
			case 1:
				x[key] = others[rng.IntN(len(others))]
			default:
				x[key] = change(x[key])
			}
		case []any:
			if len(x) == 0 {
				break
			}
			switch i := rng.IntN(len(x)); rng.IntN(4) {
			case 0:
				return slices.Delete(x, i, i+1)
			case 1:
				return append(x, x[i])
			default:
				x[i] = change(x[i])
			}
		}
		return x
	}
	lenient := regexp.MustCompile(
		`applies-to is |format-revision|#branch-actions|#choice-actions|#observations|#players|: unique is |does not announce`)
	accepted := 0
	for i := range 800 {
		var b bytes.Buffer
		m := exchangetest.Random(rng, exchangetest.All)
		if err := umb.Write(&b, m, umb.WriteOptions{Compression: umb.Plain, Rational: i%2 == 0}); err != nil {
			t.Fatal(err)
		}
		files := unpack(t, &b)
		var x any
		if err := json.Unmarshal([]byte(files[0].content), &x); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(change(x))
		if err != nil {
			t.Fatal(err)
		}
		files[0].content = string(text)
		data := pack(files)
		if _, err := read(data); err != nil {
			continue
		}
		accepted++
		err = umb.Validate(bytes.NewReader(data), int64(len(data)))
		for _, wrong := range strings.Split(strings.TrimPrefix(fmt.Sprint(err), "umb: "), "\n") {
			if err != nil && !lenient.MatchString(wrong) {
				t.Fatalf("%d: read is what breaks the specification: %s\n%s", i, wrong, text)
			}
		}
	}
	if accepted < 200 {
		t.Errorf("%d indices were read: want many", accepted)
	}
}

func TestReadsXZ(t *testing.T) {
	data, err := os.ReadFile("testdata/example-xz.umb")
	if err != nil {
		t.Fatal(err)
	}
	m, err := read(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := exchangetest.Same(exampleModel(), m); err != nil {
		t.Error(err)
	}
	for n := 0; n < len(data); n += 13 {
		if _, err := read(data[:n]); err == nil {
			t.Fatalf("the first %d bytes of %d are read", n, len(data))
		}
	}
	data[len(data)/2] ^= 4
	if _, err := read(data); err == nil {
		t.Error("a flipped bit is not seen")
	}
}

func TestDefaultsOfAbsentFiles(t *testing.T) {
	const head = `{"format-version": 1, "format-revision": 3, "news": 1, "transition-system": {"time": "discrete", "#players": 1, "#states": 3,
		"#initial-states": 0, "#choices": 3, "#choice-actions": 7, "#branches": 3, "#branch-actions": 0, "#observations": 0},
		"annotations": {"aps": {"a": {"applies-to": ["states"], "type": {"type": "bool"}}},
			"rewards": {"r": {"applies-to": ["states"], "type": {"type": "rational", "size": 256}}},
			"colours": {"c": {"applies-to": ["states"], "type": {"type": "uint"}}}}}`
	m, err := read(pack([]file{{"index.json", head}, {"annotations/colours/c/states/values.bin", u64s(1, 2, 3)}}))
	if err != nil {
		t.Fatal(err)
	}
	want := &exchange.Model{Players: 1, First: []int32{0, 1, 2, 3}, Offset: []int{0, 1, 2, 3}, Target: []int32{0, 0, 0},
		Probability:   []float64{1, 1, 1},
		ChoiceActions: &exchange.Actions{Names: []string{"0"}, Of: []int32{0, 0, 0}},
		Labels:        []exchange.Label{{Name: "a"}}, Rewards: []exchange.Reward{{Name: "r"}}}
	if err := exchangetest.Same(want, m); err != nil {
		t.Error(err)
	}
}

func TestRationals(t *testing.T) {
	const minus1 = 1<<64 - 1
	files := index(`{"type": "double"}`, `{"type": "rational"}`)
	for i := range files {
		switch files[i].name {
		case "branch-to-probability.bin":
			files[i].content = u64s(1, 3, 2, 3, 1, 5, 4, 5, 9, 10, 1, 10, 1, 1, 1<<63-1, 1<<63-1)
		case "annotations/rewards/r/choices/values.bin": // 2⁶⁴·(1, −1, …) over 3·2⁶⁴ and so on, in 256 bits
			files[i].content = u64s(0, 1, 0, 3) + u64s(0, minus1, 0, 3) + u64s(1, 0, 10, 0) + u64s(minus1, minus1, 1,
				0) + u64s(0, 0, 1, 0)
		case "index.json":
			files[i].content = strings.Replace(files[i].content, `"double", "size": 64`, `"rational", "size": 256`, 1)
		}
	}
	m, err := read(pack(files))
	if err != nil {
		t.Fatal(err)
	}
	want := exampleModel()
	want.Probability = []float64{1.0 / 3, 2.0 / 3, 0.2, 0.8, 0.9, 0.1, 1, 1}
	want.Rewards[0].Choice = []float64{1.0 / 3, -1.0 / 3, 0.1, -1, 0}
	if err := exchangetest.Same(want, m); err != nil {
		t.Error(err)
	}
	for i := range files {
		if files[i].name == "branch-to-probability.bin" {
			files[i].content = u64s(1, 3, 2, 3, 1, 5, 4, 5, 9, 10, 1, 10, 1, 0, 1, 1)
		}
	}
	if _, err := read(pack(files)); err == nil || !strings.Contains(err.Error(), "denominator 0") {
		t.Error(err)
	}
}

// TestWritesRationals writes numbers whose fractions need more than 64 bits.
func TestWritesRationals(t *testing.T) {
	for _, x := range []float64{1 << 62, 1 << 63, -1 << 63, 1 << 64, 0x1p-63, 0x1p-64, -0x1.8p-70, 5e-324, -1e308} {
		m := exampleModel()
		m.Rewards[0].Choice[2] = x
		var b bytes.Buffer
		if err := umb.Write(&b, m, umb.WriteOptions{Rational: true}); err != nil {
			t.Fatal(x, err)
		}
		again, err := read(b.Bytes())
		if err != nil {
			t.Fatal(x, err)
		}
		if err := exchangetest.Same(m, again); err != nil {
			t.Error(x, err)
		}
	}
}
