package umb_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/exchange/exchangetest"
	"cmdpsolve/cmdp/exchange/umb"
)

func read(data []byte) (*exchange.Model, error) {
	return umb.Read(bytes.NewReader(data), int64(len(data)))
}

func TestRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 400 {
		m := exchangetest.Random(rng, exchangetest.All)
		odd := []string{"a b", "a_b", "A_b", "a?b", "ä", "a_b-2"} // their identifiers would be the same
		rng.Shuffle(len(odd), func(i, j int) { odd[i], odd[j] = odd[j], odd[i] })
		for k := range m.Rewards {
			m.Rewards[k].Name = odd[k]
		}
		for k := range m.Labels {
			m.Labels[k].Name = odd[5-k]
		}
		var b bytes.Buffer
		o := umb.WriteOptions{Compression: []umb.Compression{umb.Plain, umb.Gzip}[i%2], Rational: i%3 == 0}
		if i%20 == 0 {
			o.Compression = umb.XZ // takes longer
		}
		if err := umb.Write(&b, m, o); err != nil {
			t.Fatal(err)
		}
		if err := umb.Validate(bytes.NewReader(b.Bytes()), int64(b.Len())); err != nil {
			t.Fatal(i, err)
		}
		again, err := read(b.Bytes())
		if err != nil {
			t.Fatal(i, err)
		}
		if err := exchangetest.Same(m, again); err != nil {
			t.Fatal(i, err)
		}
		if begins := []string{"\x1f\x8b", "\xfd7zXZ", "index.json"}[o.Compression]; !strings.HasPrefix(b.String(), begins) {
			t.Fatalf("%d: the file begins with %q: want %q", i, b.String()[:10], begins)
		}
	}
}

// A file is one of an archive, in order.
type file struct{ name, content string }

func pack(files []file) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Size: int64(len(f.content)), Mode: 0o644, Typeflag: tar.TypeReg}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			panic(err)
		}
		w.Write([]byte(f.content))
	}
	w.Close()
	return b.Bytes()
}

func u64s(values ...uint64) string {
	b := make([]byte, 0, 8*len(values))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return string(b)
}

func u32s(values ...uint32) string {
	b := make([]byte, 0, 4*len(values))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return string(b)
}

func f64s(values ...float64) string {
	words := make([]uint64, len(values))
	for i, v := range values {
		words[i] = math.Float64bits(v)
	}
	return u64s(words...)
}

// example is the model that the specification's example describes, written by
// hand: x from 0 to 2 and a Boolean b, and the actions a and b.
func example() []file {
	return []file{
		{"index.json", `{
			"format-version": 1, "format-revision": 0,
			"transition-system": {
				"time": "discrete", "#players": 1, "#states": 4, "#initial-states": 1, "#choices": 5, "#choice-actions": 2,
				"#branches": 8, "#branch-actions": 0, "#observations": 0, "branch-probability-type": {"type": "double"}},
			"annotations": {
				"aps": {"g": {"alias": "at goal", "applies-to": ["states"], "type": {"type": "bool", "size": 1}}},
				"rewards": {"r": {"applies-to": ["choices"], "type": {"type": "double", "size": 64}}}},
			"valuations": {"states": {"unique": true, "classes": [{"variables": [
				{"name": "x", "type": {"type": "uint", "size": 2}}, {"name": "b", "type": {"type": "bool", "size": 1}}, {"padding": 5}]}]}}}`},
		{"state-to-choices.bin", u64s(0, 2, 3, 4, 5)},
		{"choice-to-branches.bin", u64s(0, 2, 4, 6, 7, 8)},
		{"branch-to-probability.bin", f64s(0.5, 0.5, 0.2, 0.8, 0.9, 0.1, 1, 1)},
		{"branch-to-target.bin", u64s(1, 2, 2, 3, 0, 1, 2, 3)},
		{"state-is-initial.bin", u64s(1)},
		{"actions/choices/string-mapping.bin", u64s(0, 1, 2)},
		{"actions/choices/strings.bin", "ab"},
		{"actions/choices/values.bin", u32s(0, 1, 0, 0, 0)},
		{"annotations/aps/g/states/values.bin", u64s(8)},
		{"annotations/rewards/r/choices/values.bin", f64s(0, 1, 0, 0, 0)},
		{"valuations/states/valuations.bin", "\x00\x01\x02\x06"},
	}
}

func exampleModel() *exchange.Model {
	return &exchange.Model{
		Players:       1,
		Start:         []exchange.Start{{State: 0, Probability: 1}},
		First:         []int32{0, 2, 3, 4, 5},
		Offset:        []int{0, 2, 4, 6, 7, 8},
		Target:        []int32{1, 2, 2, 3, 0, 1, 2, 3},
		Probability:   []float64{0.5, 0.5, 0.2, 0.8, 0.9, 0.1, 1, 1},
		ChoiceActions: &exchange.Actions{Names: []string{"a", "b"}, Of: []int32{0, 1, 0, 0, 0}},
		Labels:        []exchange.Label{{Name: "at goal", States: []int32{3}}},
		Rewards:       []exchange.Reward{{Name: "r", Choice: []float64{0, 1, 0, 0, 0}}},
		Variables: []exchange.Variable{
			{Name: "x", Ints: []int64{0, 1, 2, 2}}, {Name: "b", Bool: true, Ints: []int64{0, 0, 0, 1}}},
	}
}

func TestReadsTheExampleOfTheSpecification(t *testing.T) {
	files := example()
	reversed := []file{{"actions/", ""}}
	for i := range files {
		f := files[len(files)-1-i]
		f.name = "./" + f.name
		reversed = append(reversed, f)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write(pack(files))
	z.Close()
	for name, data := range map[string][]byte{"plain": pack(files), "index last, with folders": pack(reversed),
		"gzip": zipped.Bytes()} {
		m, err := read(data)
		if err != nil {
			t.Fatal(name, err)
		}
		if err := exchangetest.Same(exampleModel(), m); err != nil {
			t.Error(name, err)
		}
		if err := umb.Validate(bytes.NewReader(data), int64(len(data))); err != nil {
			t.Error(name, err)
		}
	}
}

// TestForms: what index.json leaves out or says in another way, files in another order or under longer names, in
// folders, and owners where there is one player are the same model.
func TestForms(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 6))
	forms := [][2]string{{`"alias": "goal",`, `"alias": "",`}, {`"alias": "(danger|reward\d)",`, ``},
		{`("double"|"string"|"uint"|"int"),\s*"size": 64`, `$1`}, {`("rational"|"double-interval"),\s*"size": 128`, `$1`},
		{`("rational-interval"),\s*"size": 256`, `$1`}, {`("bool"),\s*"size": 1\b`, `$1`}, {`"unique": true`, `"unique": false`},
		{`"#observations": 0,`, ``}, {`"#branch-actions": 0,`, ``}, {`"type": "(bool|uint|int)",\s*"size": (\d+)`,
			`"size": $2, "type": "$1"`}, {`"padding": 7`, `"padding": 3}, {"padding": 4`}}
	for i := range 400 {
		m := exchangetest.Random(rng, exchangetest.All)
		var b bytes.Buffer
		if err := umb.Write(&b, m, umb.WriteOptions{Compression: umb.Plain, Rational: i%2 == 0}); err != nil {
			t.Fatal(err)
		}
		files := unpack(t, &b)
		for _, form := range forms {
			if rng.IntN(2) == 0 {
				files[0].content = regexp.MustCompile(form[0]).ReplaceAllString(files[0].content, form[1])
			}
		}
		index := files[0].content
		for k := range files {
			files[k].name = []string{"", "./", "./x/../"}[rng.IntN(3)] + files[k].name
		}
		if m.Players == 1 && rng.IntN(2) == 0 {
			files = append(files, file{"state-to-player.bin", u32s(make([]uint32, m.States())...)})
		}
		files = append(files, file{"actions/", ""})
		rng.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
		again, err := read(pack(files))
		if err == nil {
			err = exchangetest.Same(m, again)
		}
		if err != nil {
			t.Fatalf("%d: %v\n%s", i, err, index)
		}
	}
}

// unpack returns the files of an archive.
func unpack(t *testing.T, in io.Reader) (files []file) {
	t.Helper()
	archive := tar.NewReader(in)
	for h, err := archive.Next(); err == nil; h, err = archive.Next() {
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if files = append(files, file{h.Name, string(text)}); h.Mode != 0o644 {
			t.Fatalf("%s has the mode %o", h.Name, h.Mode)
		}
	}
	return files
}
