package problem

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/progress"
)

// npy writes an array by the description of the format, independently of the reader:
// values is a slice of fixed-size numbers.
func npy(descr, fortran, shape string, values any) []byte {
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, fortran, shape)
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	var b bytes.Buffer
	b.WriteString("\x93NUMPY\x01\x00")
	_ = binary.Write(&b, binary.LittleEndian, uint16(len(header)))
	b.WriteString(header)
	_ = binary.Write(&b, binary.LittleEndian, values)
	return b.Bytes()
}

// vectorOf is an array of one dimension.
func vectorOf[T int32 | int64 | uint64 | float32 | float64](values ...T) []byte {
	descr := map[string]string{"int32": "<i4", "int64": "<i8", "uint64": "<u8", "float32": "<f4",
		"float64": "<f8"}[fmt.Sprintf("%T", values[0])]
	return npy(descr, "False", fmt.Sprintf("(%d,)", len(values)), values)
}

type arrayFile struct {
	name string
	data []byte
}

func npzOf(t *testing.T, method uint16, files ...arrayFile) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		out, err := w.CreateHeader(&zip.FileHeader{Name: f.name + ".npy", Method: method})
		if err == nil {
			_, err = out.Write(f.data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const numberedHead = "format: cmdp/1\nhorizon: 3\nstates: 3\nstart: 0\nreturns: [reward, cost]\ntransitions: {file: rows."

func readSidecar(ending string, data []byte) (*Problem, error) {
	return Parse("test.yaml", []byte(numberedHead+ending+"}\n"), fstest.MapFS{"rows." + ending: {Data: data}})
}

// built is what every file of TestSidecarsGiveTheModelBuiltInGo says.
func built(t *testing.T, game bool) *Problem {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 3, Dim: 2, Start: []cmdp.StartState{{Probability: 1}}}, 3)
	sure := func(next int) []cmdp.Transition { return []cmdp.Transition{{Next: next, Probability: 1}} }
	rows := []cmdp.Row{
		{Step: cmdp.EveryStep, State: 0, Action: 0, Next: []cmdp.Transition{{Next: 2, Probability: 0.75},
			{Next: 1, Probability: 0.25}}, Returns: []float64{1, -2}},
		{Step: 2, State: 0, Action: 1, Next: sure(0), Returns: []float64{0.5, 0}},
		{Step: cmdp.EveryStep, State: 1, Action: 0,
			Next: []cmdp.Transition{{Next: 1, Probability: 0.5, Returns: []float64{2, 0}},
				{Next: 1, Probability: 0.5, Returns: []float64{0, 1}}}},
		{Step: 3, State: 1, Action: 0, Next: sure(2), Returns: []float64{3, 3}},
	}
	if game {
		rows = append(rows, cmdp.Row{Step: 2, State: 1, Action: 0, Opponent: 1, Next: sure(0),
			Returns: []float64{-1, 4}})
	}
	for _, row := range rows {
		if err := b.Add(row); err != nil {
			t.Fatal(err)
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return &Problem{Model: m, Returns: []string{"reward", "cost"}}
}

// TestSidecarsGiveTheModelBuiltInGo reads the same rows from every kind of file: a row for
// every step, one for a step alone, random returns, lines of a row apart from each
// other, and the successor 1 of state 0 given in two parts that add up.
func TestSidecarsGiveTheModelBuiltInGo(t *testing.T) {
	const csv = `state,next,action,step,probability,cost,reward
0,2,0,,0.75,-2,1
1,1,0,,0.5,0,2
0,1,0,,0.125,-2,1
0,0,1,2,1,0,0.5
1,1,0,,0.5,1,0
1,2,0,3,1,3,3
0,1,0,,0.125,-2,1
`
	const jsonl = `{"state": 0, "action": 0, "next": {"2": 0.75, "1": 0.25}, "returns": [1, -2]}
{"state": 0, "action": 1, "step": 2, "next": {"0": 1}, "returns": {"reward": 0.5}}
{"state": 1, "action": 0, "outcomes": [{"probability": 0.5, "next": 1, "returns": [2, 0]}, {"probability": 0.25, "next": 1, "returns": [0, 1]}, {"probability": 0.25, "next": 1, "returns": [0, 1]}]}
{"state": 1, "action": 0, "step": 3, "next": {"2": 1}, "returns": [3, 3]}
`
	states, actions := []int64{0, 1, 0, 0, 1, 1, 0}, []int64{0, 0, 0, 1, 0, 0, 0}
	steps, next := []int64{0, 0, 0, 2, 0, 3, 0}, []int64{2, 1, 1, 0, 1, 2, 1}
	prob, returns := []float64{0.75, 0.5, 0.125, 1, 0.5, 1, 0.125},
		[]float64{1, -2, 2, 0, 1, -2, 0.5, 0, 0, 1, 3, 3, 1, -2}
	long := []arrayFile{{"step", vectorOf(steps...)}, {"state", vectorOf(states...)}, {"action", vectorOf(actions...)},
		{"next", vectorOf(next...)},
		{"probability", vectorOf(prob...)}, {"returns", npy("<f8", "False", "(7, 2)", returns)}}
	short := []arrayFile{{"state", vectorOf(to[int32](states)...)}, {"action", vectorOf(to[float64](actions)...)},
		{"next", vectorOf(to[uint64](next)...)},
		{"probability", vectorOf(to[float32](prob)...)},
		{"returns", npy("<f4", "False", "(7, 2)", to[float32](returns))},
		{"step", npy(">i2", "False", "(7,)", []uint16{0, 0, 0, 2 << 8, 0, 3 << 8, 0})}}
	for name, c := range map[string]struct {
		ending string
		data   []byte
	}{
		"CSV": {"csv", []byte(csv)}, "JSON lines": {"jsonl", []byte(jsonl)},
		"npz, 64 bits":             {"npz", npzOf(t, zip.Store, long...)},
		"npz, 32 bits, compressed": {"npz", npzOf(t, zip.Deflate, short...)},
	} {
		p, err := readSidecar(c.ending, c.data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if d := difference(built(t, false), p); d != "" {
			t.Errorf("%s: the model read differs from the one built in its %s", name, d)
		}
	}
	// The same rows, and one more action of an opponent.
	opponents := []int64{0, 0, 0, 0, 0, 0, 0, 1}
	game := []arrayFile{{"opponent", vectorOf(opponents...)}, {"step", vectorOf(append(steps, 2)...)},
		{"state", vectorOf(append(states, 1)...)},
		{"action", vectorOf(append(actions, 0)...)}, {"next", vectorOf(append(next, 0)...)},
		{"probability", vectorOf(append(prob, 1)...)},
		{"returns", npy("<f8", "False", "(8, 2)", append(returns, -1, 4))}}
	lines := strings.Split(strings.TrimSpace(csv), "\n")
	gameCSV := lines[0] + ",opponent\n" + strings.Join(lines[1:], ",\n") + ",\n1,0,0,2,1,4,-1,1\n"
	for name, c := range map[string]struct {
		ending string
		data   []byte
	}{
		"CSV": {"csv", []byte(gameCSV)}, "npz": {"npz", npzOf(t, zip.Deflate, game...)},
		"JSON lines": {"jsonl", []byte(jsonl +
			`{"state": 1, "action": 0, "opponent": 1, "step": 2, "next": {"0": 1}, "returns": [-1, 4]}`)},
	} {
		p, err := readSidecar(c.ending, c.data)
		if err != nil {
			t.Errorf("game, %s: %v", name, err)
		} else if d := difference(built(t, true), p); d != "" {
			t.Errorf("game, %s: the model read differs from the one built in its %s", name, d)
		}
	}
}

func to[U, T int32 | int64 | uint64 | float32 | float64](x []T) []U {
	y := make([]U, len(x))
	for i, v := range x {
		y[i] = U(v)
	}
	return y
}

// twoArrays are the arrays of two transitions, which a test then spoils.
func twoArrays() map[string][]byte {
	return map[string][]byte{"state": vectorOf[int64](0, 1), "action": vectorOf[int64](0, 0),
		"next":        vectorOf[int64](1, 0),
		"probability": vectorOf[float64](1, 1), "returns": npy("<f8", "False", "(2, 2)", []float64{1, 2, 3, 4})}
}

func packed(t *testing.T, arrays map[string][]byte) []byte {
	t.Helper()
	var files []arrayFile
	for _, key := range npzKeys {
		if data, ok := arrays[key]; ok {
			files = append(files, arrayFile{key, data})
		}
	}
	return npzOf(t, zip.Store, files...)
}

// TestArraysThatAreRefused asks for the one message that each of them gives.
func TestArraysThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		array string
		data  []byte
		want  string
	}{
		"a negative int32": {"state", vectorOf[int32](0, -1),
			"rows.npz: state[1]: got -1: want a whole number from 0 to 2"},
		"a negative int64": {"next", vectorOf[int64](-7, 0),
			"rows.npz: next[0]: got -7: want a whole number from 0 to 2"},
		"a large uint64": {"action", vectorOf[uint64](0, 1<<63),
			"rows.npz: action[1]: got 9.223372036854776e+18: want a whole number from 0 to 100000000"},
		"a step of 4": {"step", vectorOf[int64](0, 4),
			"rows.npz: step[1]: got 4: want a whole number from 0 to 3"},
		"half a state": {"state", vectorOf[float64](0, 0.5),
			"rows.npz: state[1]: got 0.5: want a whole number from 0 to 2"},
		"Fortran order": {"returns", npy("<f8", "True", "(2, 2)", []float64{1, 2, 3, 4}),
			"rows.npz: returns: stored by columns (Fortran order): want rows, as numpy.ascontiguousarray makes"},
		"halves": {"probability", npy("<f2", "False", "(2,)", []int16{1, 1}),
			"rows.npz: probability: values of type f2: want floating-point numbers of 32 or 64 bits, as " +
				"a.astype('f8') makes, whole numbers, truth values or strings"},
		"objects": {"action", npy("|O", "False", "(2,)", []int64{0, 0}),
			`rows.npz: action: the header "{'descr': '|O', 'fortran_order': False, "… cannot be read: want an array of numbers or strings`},
		"records": {"action", npy("x', ('a', '<f4'), '", "False", "(2,)", []int64{0, 0}),
			`rows.npz: action: the header "{'descr': 'x', ('a', '<f4'), '', 'fortra"… cannot be read: want an array of numbers or strings`},
		"text": {"state", npy("<U1", "False", "(2,)", []int32{48, 49}),
			"rows.npz: state: strings: want numbers"},
		"three dimensions": {"returns", npy("<f8", "False", "(2, 1, 2)", []float64{1, 2, 3, 4}),
			"rows.npz: returns: 3 dimensions: want 1 or 2"},
		"a table of states": {"state", npy("<i8", "False", "(2, 1)", []int64{0, 1}),
			"rows.npz: state: 2 dimensions: want 1"},
		"three returns": {"returns", npy("<f8", "False", "(2, 3)", make([]float64, 6)),
			"rows.npz: returns: 3 returns for each entry: want 2"},
		"one probability": {"probability", vectorOf(1.0), "rows.npz: probability: 1 entries: want 2 as state has"},
		"a longer shape": {"probability", npy("<f8", "False", "(200000,)", []float64{1, 1}),
			"rows.npz: probability: the array has 144 bytes, but 1600128 by its shape and type: it is cut off or damaged"},
		"a shorter shape": {"probability", npy("<f8", "False", "(2,)", []float64{1, 1, 1}),
			"rows.npz: probability: the array has 152 bytes, but 144 by its shape and type: it is cut off or damaged"},
		"too large a shape": {"returns", npy("<f8", "False", "(2, 99999999999999999)", []float64{1, 2, 3, 4}),
			"rows.npz: returns: the shape (2, 99999999999999999) is too large"},
		"no array":        {"action", []byte("0 0\n and more text"), "rows.npz: action: not a NumPy array"},
		"an empty member": {"action", nil, "rows.npz: action: the array ends too early: the file is cut off"},
		"NaN": {"returns", npy("<f4", "False", "(2, 2)", []uint32{0, 0, 0x7fc00000, 0}),
			"rows.npz: returns[1][0]: got NaN: want a finite number"},
		"a probability of 2": {"probability", vectorOf[float64](1, 2),
			"rows.npz: probability[1]: got 2: want a probability, 0 to 1"},
	} {
		arrays := twoArrays()
		arrays[c.array] = c.data
		_, err := readSidecar("npz", packed(t, arrays))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got error\n%v\nwant\n%s", name, err, c.want)
		}
	}
	for _, key := range []string{"state", "action", "next", "probability", "returns"} {
		arrays := twoArrays()
		delete(arrays, key)
		if _, err := readSidecar("npz", packed(t, arrays)); err == nil ||
			err.Error() != "rows.npz: "+key+": the array is missing" {
			t.Errorf("without %s: got error %v", key, err)
		}
	}
	twice := npzOf(t, zip.Store, arrayFile{"state", vectorOf[int64](0)}, arrayFile{"state", vectorOf[int64](1)})
	if _, err := readSidecar("npz", twice); err == nil ||
		!strings.Contains(err.Error(), `rows.npz: "state.npy": no array, or in the archive twice`) {
		t.Errorf("two arrays of states: got error %v", err)
	}
}

// TestDamagedArrays spoils every byte of a file in turn, and cuts the file off after each:
// it is refused, or nothing that counts has changed.
func TestDamagedArrays(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	whole := packed(t, twoArrays())
	for _, data := range [][]byte{whole, npzOf(t, zip.Deflate, arrayFile{"state", vectorOf[int64](0, 1)},
		arrayFile{"action", vectorOf[int64](0, 0)},
		arrayFile{"next", vectorOf[int64](1, 0)}, arrayFile{"probability", vectorOf[float64](1, 1)},
		arrayFile{"returns", npy("<f8", "False", "(2, 2)", []float64{1, 2, 3, 4})})} {
		want, err := readSidecar("npz", data)
		if err != nil {
			t.Fatal(err)
		}
		for i := range data {
			if _, err := readSidecar("npz", data[:i]); err == nil || !strings.Contains(err.Error(), "rows.npz") {
				t.Fatalf("cut off after %d bytes of %d: got error %v", i, len(data), err)
			}
			for _, flip := range []byte{1, 0x80} {
				spoilt := bytes.Clone(data)
				spoilt[i] ^= flip
				p, err := readSidecar("npz", spoilt)
				if err == nil && difference(want, p) != "" {
					t.Fatalf("byte %d spoilt: the model is another one in its %s", i, difference(want, p))
				}
			}
		}
	}
	// One byte of the first return, behind the header of its array.
	spoilt := bytes.Clone(whole)
	shape := bytes.Index(spoilt, []byte("(2, 2)"))
	spoilt[shape+bytes.IndexByte(spoilt[shape:], '\n')+8+6] ^= 4
	_, err := readSidecar("npz", spoilt)
	if want := "rows.npz: returns: the array is damaged: its bytes do not agree with their checksum"; err == nil ||
		err.Error() != want {
		t.Errorf("a byte of a return: got error %v: want %s", err, want)
	}
	// A checksum of 0 is one too.
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for key, array := range twoArrays() {
		sum := crc32.ChecksumIEEE(array)
		if key == "returns" {
			sum = 0
		}
		out, err := w.CreateRaw(&zip.FileHeader{Name: key + ".npy", CRC32: sum, CompressedSize64: uint64(len(array)),
			UncompressedSize64: uint64(len(array))})
		if err == nil {
			_, err = out.Write(array)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	if _, err := readSidecar("npz", b.Bytes()); err == nil ||
		!strings.Contains(err.Error(), "rows.npz: returns: the array is damaged") {
		t.Errorf("a checksum of 0: got error %v", err)
	}
}

// TestHostileFilesTakeNoMemory reads small files that ask for much.
func TestHostileFilesTakeNoMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	zeros := make([]int64, 3<<20)
	bomb := npzOf(t, zip.Deflate, arrayFile{"state", vectorOf(zeros...)}, arrayFile{"action", vectorOf(zeros...)})
	row := "transitions:\n  - {state: 0, action: 0, next: {0: 1}}\n"
	for name, c := range map[string]struct {
		text string
		npz  []byte
		want string
	}{
		"a bomb": {numberedHead + "npz}\n", bomb,
			"rows.npz: the arrays unpack to more than 256 times the length of the file: want less, or a file " +
				"without compression, as numpy.savez makes"},
		"states": {"format: cmdp/1\nhorizon: 2\nstates: 100000000\nstart: 0\nreturns: [r]\n" + row, nil,
			"test.yaml:3:9: states: 100000000 states, but the transitions lead to 1 at most: want at most 1000000 " +
				"states besides, as each of them takes memory"},
		"steps": {"format: cmdp/1\nhorizon: 10000000\nstates: 1\nstart: 0\nreturns: [r]\n" + row +
			"  - {state: 0, action: 0, step: 3, next: {0: 1}}\n", nil,
			"test.yaml:6:14: transitions: rows for single steps make 10000000 kernels: more than can be stored"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Parse("test.yaml", []byte(c.text), fstest.MapFS{"rows.npz": {Data: c.npz}})
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 1<<20 {
			t.Errorf("%s: %d bytes were taken", name, taken)
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got error\n%v\nwant\n%s", name, err, c.want)
		}
	}
	// As many states as a million more than the rows lead to are allowed.
	if _, err := Parse("test.yaml", []byte("format: cmdp/1\nhorizon: 2\nstates: 1000001\nstart: 0\nreturns: [r]\n"+row),
		nil); err != nil {
		t.Error(err)
	}
}

func TestFilesWithoutTransitions(t *testing.T) {
	none := map[string][]byte{"returns": npy("<f8", "False", "(0, 2)", []float64{})}
	for _, key := range []string{"state", "action", "next", "probability"} {
		none[key] = npy("<f8", "False", "(0,)", []float64{})
	}
	for ending, c := range map[string]struct {
		data []byte
		want string
	}{
		"csv": {[]byte("state,action,next,probability,reward,cost\n"),
			"rows.csv: the file has no transitions: want at least one"},
		"jsonl": {[]byte("\n\n"), "rows.jsonl: the file has no transitions: want at least one"},
		"npz":   {packed(t, none), "rows.npz: state: no entries: want one for each transition, at least one"},
	} {
		_, err := readSidecar(ending, c.data)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got error %v: want %s", ending, err, c.want)
		}
	}
}

// TestSameSuccessorAddsUp reads a move of Gymnasium's FrozenLake, which lists a successor once
// for each way to slip there; the same successor with another return stays apart.
func TestSameSuccessorAddsUp(t *testing.T) {
	const csv = "state,action,next,probability,reward,cost\n" +
		"0,0,0,0.3333333333333333,0,0\n0,0,0,0.3333333333333333,0,0\n0,0,1,0.3333333333333333,0,0\n" +
		"1,0,2,0.25,1,0\n1,0,2,0.25,0,0\n1,0,2,0.5,1,0\n"
	p, err := readSidecar("csv", []byte(csv))
	if err != nil {
		t.Fatal(err)
	}
	k := p.Model.Kernel(0).Plain(p.Model.Dim())
	got := fmt.Sprint(k.Offset, k.Next, k.Prob, k.Outcomes)
	if want := "[0 2 4] [0 1 2 2] [0.6666666666666666 0.3333333333333333 0.75 0.25] [0 0 0 0 1 0 0 0]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestJSONErrorsAreThoseOfJSON(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"a comma is missing": {"p.json", "{\"format\": \"cmdp/1\",\n \"states\": 1 \"start\": 0}",
			"p.json:2:14: not JSON: invalid character '\"' after object key:value pair"},
		"cut off": {"p.json", "{\"format\": \"cmdp/1\",\n \"states\": [",
			"p.json:2:13: not JSON: the text ends too early"},
		"a wrong brace": {"p.yaml", "{\"format\": \"cmdp/1\",\n \"states\": [1, 2}\n}",
			"p.yaml:2:17: not JSON: invalid character '}' after array element"},
		"YAML": {"p.json", "format: cmdp/1\n",
			"p.json:1:2: not JSON: invalid character 'o' in literal false (expecting 'a')"},
	} {
		_, err := Parse(c.file, []byte(c.text), nil)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got error\n%v\nwant\n%s", name, err, c.want)
		}
	}
	// YAML may begin with a brace and a quote.
	const yaml = `{"format": cmdp/1, "horizon": 1, states: 1, start: 0, returns: [r], transitions: [{state: 0, action: 0, next: {0: 1}},]}`
	if _, err := Parse("p.yaml", []byte(yaml), nil); err != nil {
		t.Error(err)
	}
}

// TestTablesWithAndWithoutQuotes reads tables that both readers know, once without quotes
// and once with a last line that has some, which changes the reader. Rows stand at the beginning, and behind a block.
func TestTablesWithAndWithoutQuotes(t *testing.T) {
	const head = "state,action,next,probability,reward,cost\n"
	long := []byte(head)
	for i := range 3 * csvBlock / 30 {
		long = fmt.Appendf(long, "%d,a%d,%d,1,0.123456789,%d\n", i%2, i, i%3, i%5)
	}
	for name, text := range map[string]string{
		"long":         string(long),
		"long, wrong":  string(long) + "0,a,77,1,0,0\n",
		"line endings": "\r\n" + strings.ReplaceAll(head, "\n", "\r\n") + "0,a,1,1,2,3\r\n\r\n1,b,0,1,2,3\r\n",
		"spaces":       "\ufeff" + head + " 0,\ta,\u00a01, 1, 2,3\n1,b,0,1,2,  3\n",
		"fields":       head + "0,a,1\n1,b,0,1,2,3,4\n,\n0,a,1,1,2,3\n",
		"numbers": head +
			"0,a,1,nan,2,3\n0,a,1,0x1p-2,2,3\n0,a,1,1,2,1e999\n0,a,1,1,x,\n1,a,1,1,x,3\n1,a,9,-1,2,3 \n",
		"names": head +
			"0,a\x80,1,1,2,3\n0,a\u200b,1,1,2,3\n0,,1,1,2,3\n0,-1,1,1,2,3\n0,99999999999999999999,1,1,2,3\nx,007,+1,1,2,3\n",
		"columns":         "state,state,nexxt,probability,reward\n",
		"sums":            head + "0,a,1,0.25,2,3\n1,b,1,0.5,2,3\n\n0,a,1,0.25,2,3\n",
		"the only column": "\n\nstate\n",
	} {
		for _, blank := range []int{0, csvBlock} {
			text := strings.Replace(text, "\n", strings.Repeat("\n", 1+blank), 1)
			p, err := readSidecar("csv", []byte(text+"2,z,2,1,0,0"))
			q, quoted := readSidecar("csv", []byte(text+`"2",z,"2",1,0,"0"`))
			if fmt.Sprint(err) != fmt.Sprint(quoted) {
				t.Errorf("%s behind %d blank lines: without quotes\n%v\nwith them\n%v", name, blank, err, quoted)
			}
			if err == nil && difference(p, q) != "" {
				t.Errorf("%s: the models differ in their %s", name, difference(p, q))
			}
			if name == "long" && (err != nil || p.Model.Transitions() != 3*csvBlock/30+1) {
				t.Errorf("%s: error %v", name, err)
			}
		}
	}
}

// wrongNumber is a state that no problem here has.
const wrongNumber = "9999999"

// A rowsText says how rows are written in a kind of file: what stands before and after them, the forms that a row may
// have, and what may stand between two.
type rowsText struct {
	head, tail, between string
	forms               []string
}

var rowsTexts = map[string]rowsText{
	"csv": {"state,action,next,probability,reward,cost\n", "", "\n",
		append(slices.Repeat([]string{"%d,ü%d,%s,1,0,0\n"}, 999), "%d,\"ü%d\",%s,1,0,0\n")},
	"jsonl": {"", "", "\n", []string{`{"state": %d, "action": "ü%d", "next": {"%s": 1}}` + "\n"}},
	"json": {`{"format": "cmdp/1", "horizon": 3, "states": 3, "start": 0, "returns": ["a", "b"], "transitions": [`,
		`{"state": 0, "action": "z", "next": {"0": 1}}]}`, "\n\n",
		[]string{`{"state": %d, "action": "ü%d", "next": {"%s": 1}},` + "\n"}},
	"yaml": {"format: cmdp/1\nhorizon: 3\nstates: 3\nstart: 0\nreturns: [a, b]\ntransitions: # all\n", "name: ü\n",
		"# -\n\n", []string{"  - {state: %d, action: \"ü%d\", next: {%s: 1}}\n",
			"  - state: %d\n    action: 'ü%d'\n    next: {%s: 1}\n",
			"  - {state: %d, action: 'ü%d', next: {%s: 1}} # 'odd'\n"}},
}

// draw writes so many rows, one of which leads to a state that there is not. In YAML it may be a label behind them.
func (r *rowsText) draw(rng *rand.Rand, rows, wrong int) string {
	var b strings.Builder
	b.WriteString(r.head)
	for i := range rows {
		next := strconv.Itoa(i % 3)
		if i == wrong {
			next = wrongNumber
		}
		fmt.Fprintf(&b, r.forms[rng.IntN(len(r.forms))], i%3, i, next)
		if rng.IntN(50) == 0 {
			b.WriteString(r.between)
		}
	}
	b.WriteString(r.tail)
	if wrong == rows {
		b.WriteString("labels: {low: [1, " + wrongNumber + "]}\n")
	}
	return b.String()
}

// TestPlacesOfMistakes: the error of a mistake names its line and column, whatever stands before it, or the place in
// its array. Columns count characters, in tables bytes.
func TestPlacesOfMistakes(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	for trial := range 20 {
		for _, kind := range []string{"csv", "jsonl", "json", "yaml"} {
			rows := 1 + rng.IntN(800)
			if kind == "csv" && trial < 3 {
				rows = csvBlock/12 + rng.IntN(5000)
			}
			wrong := rng.IntN(rows)
			if kind == "yaml" && trial%3 == 0 {
				wrong = rows // in a key behind them
			}
			form := rowsTexts[kind]
			text := form.draw(rng, rows, wrong)
			before, _, _ := strings.Cut(text, wrongNumber)
			line := before[strings.LastIndex(before, "\n")+1:]
			column := utf8.RuneCountInString(line) + 1
			name, err := "test."+kind, error(nil)
			switch kind {
			case "csv":
				column = len(line) + 1
				name = "rows.csv"
			case "jsonl":
				name = "rows.jsonl"
			}
			if strings.HasSuffix(line, `"`) {
				column-- // where its quotes begin
			}
			if trial%2 == 1 {
				text = "\ufeff" + text
			}
			if strings.HasPrefix(name, "rows") {
				_, err = readSidecar(kind, []byte(text))
			} else {
				_, err = Parse(name, []byte(text), nil)
			}
			want := fmt.Sprintf("%s:%d:%d: ", name, 1+strings.Count(before, "\n"), column)
			switch {
			case kind == "csv":
				want += "next: "
			case wrong == rows:
				want += "labels.low[1]: "
			case kind == "jsonl":
				want += fmt.Sprintf("[%d].next.%s: ", wrong, wrongNumber)
			default:
				want += fmt.Sprintf("transitions[%d].next.%s: ", wrong, wrongNumber)
			}
			if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "state "+wrongNumber) {
				t.Fatalf("%v: want %s, in row %d of %d", err, want, wrong, rows)
			}
		}
	}
	const entries = 3 * npzBlock
	for i, key := range npzKeys {
		arrays, at := make(map[string][]byte), npzBlock+rng.IntN(entries-npzBlock) // not in the first block
		for _, name := range npzKeys[:6] {
			values := make([]float64, entries)
			for e := range values {
				values[e] = map[string]float64{"probability": 1, "action": float64(e)}[name]
			}
			if name == key {
				values[at] = -3
			}
			arrays[name] = vectorOf(values...)
		}
		returns := make([]float64, 2*entries)
		want := fmt.Sprintf("rows.npz: %s[%d]: got -3", key, at)
		if i == 6 {
			returns[2*at+1] = math.Inf(1)
			want = fmt.Sprintf("rows.npz: returns[%d][1]: got +Inf", at)
		}
		arrays["returns"] = npy("<f8", "False", fmt.Sprintf("(%d, 2)", entries), returns)
		if _, err := readSidecar("npz", packed(t, arrays)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v: want %s", err, want)
		}
	}
}

// TestPlacesOfRows: what is wrong with a row as a whole, whose lines stand together or among others, is told where it
// begins, and of a row that is given twice where it stands first.
func TestPlacesOfRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 2))
	for range 150 {
		var lines []string
		wrong, rows := rng.IntN(20), 20
		for i := range rows {
			p := []float64{1, 0.5}[rng.IntN(2)]
			for to := range int(1 / p) {
				if i == wrong && to == 0 {
					p /= 2
				}
				lines = append(lines, fmt.Sprintf("%d,a%d,%d,%g,0,0\n", i%3, i, to, p))
			}
		}
		if rng.IntN(2) == 0 {
			rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		}
		begins := 2 + slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, fmt.Sprintf(",a%d,", wrong)) })
		_, err := readSidecar("csv", []byte("state,action,next,probability,reward,cost\n"+strings.Join(lines, "")))
		want := fmt.Sprintf("rows.csv:%d: state %d, action a%d: the probabilities sum to", begins, wrong%3, wrong)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Fatalf("%v: want %s\n%s", err, want, lines)
		}
		kind := []string{"jsonl", "json", "yaml"}[rng.IntN(3)]
		form := rowsTexts[kind]
		text, first, again := form.head, 0, 0
		twice := wrong + 1 + rng.IntN(rows-wrong)
		for i := range rows + 1 {
			number := i
			if i == twice {
				number = wrong
				again = 1 + strings.Count(text, "\n")
			}
			if i == wrong {
				first = 1 + strings.Count(text, "\n")
			}
			text += fmt.Sprintf(form.forms[rng.IntN(len(form.forms))], number%3, number, "0")
			if rng.IntN(5) == 0 {
				text += form.between
			}
		}
		text += form.tail
		name := "test." + kind
		if kind == "jsonl" {
			name = "rows.jsonl"
			_, err = readSidecar(kind, []byte(text))
		} else {
			_, err = Parse(name, []byte(text), nil)
		}
		place, message := fmt.Sprintf("%s:%d:", name, again), fmt.Sprintf("[%d]: state %d, action ü%d is given twice: "+
			"the first is in line %d", twice, wrong%3, wrong, first)
		if err == nil || !strings.HasPrefix(err.Error(), place) || !strings.HasSuffix(err.Error(), message) {
			t.Fatalf("%v: want %s %s\n%s", err, place, message, text)
		}
	}
}

// TestNoCellIsEmpty empties one cell of a table after the other, each of which is then named.
func TestNoCellIsEmpty(t *testing.T) {
	lines := []string{"state,action,next,probability,reward,cost", "0,a,1,1,2,3", "1,b,0,1,2,3", "1,c,0,1,2,3"}
	for i := range lines {
		cells := strings.Split(lines[i], ",")
		for j := range cells {
			with := slices.Clone(cells)
			with[j] = ""
			text := slices.Clone(lines)
			text[i] = strings.Join(with, ",")
			_, err := readSidecar("csv", []byte(strings.Join(text, "\n")+"\n"))
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf(":%d:", i+1)) {
				t.Errorf("%q: error %v", text[i], err)
			}
		}
	}
}

// TestBadValues puts what no file may have into every place of a row, in every form of a file.
func TestBadValues(t *testing.T) {
	good := map[string]string{"state": "1", "action": "0", "step": "2", "next": "0", "probability": "1", "reward": "3"}
	bad := map[string][]string{"state": {"-1", "3", "x", "1.5"}, "action": {"-1"}, "step": {"0", "-1", "4", "1.5", "x"},
		"next": {"-1", "3", "x"}, "probability": {"-0.1", "1.1", "x", "0.5"}, "reward": {"x", ".nan", "1e999"}}
	const row = `{"state": %s, "action": %s, "step": %s, "next": {"%s": %s}, "returns": {"reward": %s}}`
	columns := []string{"state", "action", "step", "next", "probability", "reward"}
	for _, form := range []string{"csv", "jsonl", "yaml"} {
		read := func(cells map[string]string) error {
			var list []any
			for _, column := range columns {
				list = append(list, cells[column])
			}
			line := fmt.Sprintf(row, list...)
			switch form {
			case "csv":
				line = strings.Join(columns, ",") + ",cost\n" + strings.Trim(fmt.Sprintln(list...), "\n")
				_, err := readSidecar(form, []byte(strings.ReplaceAll(line, " ", ",")+",0\n"))
				return err
			case "jsonl":
				_, err := readSidecar(form, []byte(line+"\n"))
				return err
			}
			_, err := Parse("test.yaml", []byte(strings.Replace(numberedHead, "{file: rows.", "\n  - ", 1)+line+"\n"), nil)
			return err
		}
		if err := read(good); err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		for column, values := range bad {
			for _, value := range values {
				cells := maps.Clone(good)
				if cells[column] = value; read(cells) == nil {
					t.Errorf("%s: %s %s is no error", form, column, value)
				}
			}
		}
	}
}

// TestColumnsOfTables: a table names its columns in any order, each once, none is missing or unknown, and no return is
// called as another column. Each mistake is told by the name of its column.
func TestColumnsOfTables(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 7))
	cells := map[string]string{"state": "0", "action": "go", "next": "0", "probability": "1", "r": "2", "q": "3"}
	for range 200 {
		returns := []string{"r", []string{"q", "q", "q", "step", "opponent", "next"}[rng.IntN(6)]}
		columns := []string{"state", "action", "next", "probability", "r"}
		want, other := make(map[string]bool), returns[1]
		switch {
		case other == "q":
			columns = append(columns, other)
		case other != "next" && rng.IntN(2) == 0:
			columns = append(columns, other)
			want[other] = true
		default:
			want[other] = true
		}
		for _, optional := range []string{"step", "opponent"} {
			if rng.IntN(4) == 0 && !slices.Contains(columns, optional) {
				columns = append(columns, optional)
			}
		}
		rng.Shuffle(len(columns), func(i, j int) { columns[i], columns[j] = columns[j], columns[i] })
		odd := rng.IntN(len(columns))
		needed := !slices.Contains([]string{"step", "opponent"}, columns[odd])
		switch rng.IntN(6) {
		case 0:
			if needed {
				want[columns[odd]] = true
			}
			columns = slices.Delete(columns, odd, odd+1)
		case 1:
			columns = append(columns, columns[odd])
			want[columns[odd]] = true
		case 2:
			columns = slices.Insert(columns, odd, "zzz")
			want["zzz"] = true
		}
		text := strings.Join(columns, ",") + "\n"
		for i, column := range columns {
			text += strings.Repeat(",", min(i, 1)) + cells[column]
		}
		p, err := Parse("p.yaml", []byte("format: cmdp/1\nhorizon: 2\nstates: 1\nstart: 0\nreturns: ["+
			strings.Join(returns, ", ")+"]\ntransitions: {file: rows.csv}\n"), fstest.MapFS{"rows.csv": {Data: []byte(text)}})
		told := make(map[string]bool)
		var es Errors
		errors.As(err, &es)
		for _, e := range es {
			told[e.Key] = true
		}
		if !maps.Equal(told, want) || err == nil && !slices.Equal(p.Model.Rows(0).Returns(0), []float64{2, 3}) {
			t.Fatalf("%v: want mistakes in %v\n%v\n%s", err, want, returns, text)
		}
	}
}

// TestProgress reads files long enough that there is something to tell.
func TestProgress(t *testing.T) {
	folder := t.TempDir()
	rows, lines, objects := []byte("transitions:\n"), []byte("state,action,next,probability,r\n"), []byte(nil)
	for s := range 20_000 {
		rows = fmt.Appendf(rows, "  - {state: %d, action: go, next: {0: 0.5, 1: 0.5}}\n", s)
		objects = fmt.Appendf(objects, "{\"state\": %d, \"action\": \"go\", \"next\": {\"0\": 0.5, \"1\": 0.5}}\n", s)
		lines = fmt.Appendf(lines, "%d,go,0,1.00000000000000000000,0\n", s)
	}
	const head = "format: cmdp/1\nhorizon: 2\nstates: 20000\nstart: 0\nreturns: [r]\n"
	object := string(objects)
	for name, text := range map[string]string{"a.yaml": head + string(rows),
		"b.yaml": head + "transitions: {file: b.csv}\n", "c.yaml": head + "transitions: {file: c.jsonl}\n",
		"d.json": `{"format": "cmdp/1", "horizon": 2, "states": 20000, "start": 0, "returns": ["r"], "transitions": [` +
			strings.ReplaceAll(strings.TrimSpace(object), "\n", ",\n") + "]}"} {
		for file, text := range map[string]string{name: text, "b.csv": string(lines), "c.jsonl": object} {
			if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var parts []float64
		ctx := progress.With(t.Context(), func(_ string, part float64) { parts = append(parts, part) })
		if _, err := ReadWith(filepath.Join(folder, name), ReadOptions{Context: ctx}); err != nil {
			t.Fatal(err)
		}
		if len(parts) < 3 || !slices.IsSorted(parts) || parts[0] <= 0 || parts[0] > 0.9 || parts[len(parts)-1] < 0.99 ||
			parts[len(parts)-1] > 1 {
			t.Errorf("%s: progress %v", name, parts)
		}
	}
}
