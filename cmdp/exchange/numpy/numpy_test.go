package numpy_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/exchange/exchangetest"
	"cmdpsolve/cmdp/exchange/numpy"
)

func read(data []byte) (*exchange.Model, error) {
	return numpy.Read(bytes.NewReader(data), int64(len(data)))
}

// folder keeps what is written.
type folder fstest.MapFS

type closer struct {
	bytes.Buffer
	to   folder
	name string
}

func (c *closer) Close() error {
	c.to["k/"+c.name] = &fstest.MapFile{Data: c.Bytes()}
	return nil
}

func (f folder) create(name string) (io.WriteCloser, error) {
	return &closer{to: f, name: name}, nil
}

func TestRoundTrip(t *testing.T) {
	has, models := exchangetest.All, 300
	if testing.Short() {
		models = 60
	}
	has.Intervals = false
	has.Game, has.BranchRewards, has.BranchActions, has.Twins, has.Actions, has.StateRewards = false, false, false,
		false, false, false
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range models {
		m := exchangetest.Random(rng, has)
		if m.Choices() == 0 || m.Players == 0 && i%2 == 1 {
			continue // a folder does not tell a Markov chain from an MDP
		}
		var again *exchange.Model
		var err error
		if i%2 == 0 {
			var b bytes.Buffer
			if err := numpy.Write(&b, m); err != nil {
				t.Fatal(i, err)
			}
			again, err = read(b.Bytes())
		} else {
			f := folder{}
			if err := numpy.WriteFolder(f.create, m); err != nil {
				t.Fatal(i, err)
			}
			again, err = numpy.ReadFolder(fstest.MapFS(f), "k")
		}
		if err != nil {
			t.Fatal(i, err)
		}
		if err := exchangetest.Same(m, again); err != nil {
			t.Fatal(i, err)
		}
	}
}

// TestForms: arrays may stand in any order, with either byte or the first index first, in headers of all versions, and
// truth values may be numbers. What is given in a folder beside numbered or named matrices is the same.
func TestForms(t *testing.T) {
	has := exchangetest.Has{Chain: true, SkewedStart: true, TextNames: true, Rests: true}
	rng := rand.New(rand.NewPCG(27, 10))
	for i := range 120 {
		m := exchangetest.Random(rng, has)
		if m.Choices() == 0 {
			continue
		}
		var b bytes.Buffer
		if err := numpy.Write(&b, m); err != nil {
			t.Fatal(i, err)
		}
		again, err := read(otherForm(t, rng, b.Bytes()))
		if err == nil {
			err = exchangetest.Same(m, again)
		}
		if err != nil {
			t.Fatal(i, err)
		}
		if m.Players == 0 || i%4 > 0 { // folders take longer
			continue
		}
		f, named := folder{}, fstest.MapFS{}
		m.ChoiceActions = &exchange.Actions{Names: []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"}}
		for s := range m.States() {
			for c := m.First[s]; c < m.First[s+1]; c++ {
				m.ChoiceActions.Of = append(m.ChoiceActions.Of, c-m.First[s])
			}
		}
		if err := numpy.WriteFolder(f.create, m); err != nil {
			t.Fatal(i, err)
		}
		for name, file := range f {
			file.Data = otherForm(t, rng, file.Data)
			named[strings.Replace(name, "P_", "P_x", 1)] = file
		}
		for _, files := range []fstest.MapFS{fstest.MapFS(f), named} {
			again, err := numpy.ReadFolder(files, "k")
			if err == nil {
				err = exchangetest.Same(m, again)
			}
			if err != nil && named["k/P_x10.npz"] == nil { // which stands before P_x2
				t.Fatal(i, err)
			}
		}
	}
}

// otherForm writes the arrays of an archive in another form.
func otherForm(t *testing.T, rng *rand.Rand, data []byte) []byte {
	t.Helper()
	in, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	rng.Shuffle(len(in.File), func(i, j int) { in.File[i], in.File[j] = in.File[j], in.File[i] })
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.SetComment(strings.Repeat("?", rng.IntN(3)))
	for _, member := range in.File {
		from, err := member.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		head, cells := otherArray(rng, text)
		method := []uint16{zip.Store, zip.Deflate}[rng.IntN(2)]
		w, err := z.CreateHeader(&zip.FileHeader{Name: member.Name, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		length := binary.LittleEndian.AppendUint32(nil, uint32(len(head)))
		version := byte(1 + rng.IntN(3))
		if version == 1 {
			length = length[:2]
		}
		fmt.Fprintf(w, "\x93NUMPY%c\x00%s%s%s", version, length, head, cells)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// otherArray returns the header and the values of an array in another form.
func otherArray(rng *rand.Rand, text []byte) (head string, cells []byte) {
	head, values, _ := strings.Cut(string(text[10:]), "\n")
	part := regexp.MustCompile(`'descr': '(.)(.)(\d+)', .*\((.*)\)`).FindStringSubmatch(head)
	order, kind, shape := part[1], part[2], part[4]
	width, _ := strconv.Atoi(part[3])
	cells = []byte(values)
	switch {
	case order == "<" && rng.IntN(2) == 0:
		order = ">"
		size := width
		if kind == "U" {
			size = 4
		}
		for at := 0; at < len(cells); at += size {
			slices.Reverse(cells[at : at+size])
		}
	case kind == "b" && rng.IntN(2) == 0:
		order, kind, width, cells = "<", "f", 4, nil
		for _, x := range []byte(values) {
			y := float32(x) * []float32{1, 2, 0.5, -1}[rng.IntN(4)]
			cells = binary.LittleEndian.AppendUint32(cells, math.Float32bits(y))
		}
	}
	fortran := "False"
	if sizes := strings.Split(shape, ", "); len(sizes) > 1 && rng.IntN(2) == 0 {
		fortran, cells = "True", firstFastest(sizes, width, cells)
	}
	descriptor := fmt.Sprintf("%s%s%d", order, kind, width)
	head = fmt.Sprintf("{'shape':(%s), 'fortran_order': %s, 'descr':  '%s'}\n", shape, fortran, descriptor)
	return head, cells
}

// firstFastest puts cells of the given width, of which the last index is fastest, in the order of the first.
func firstFastest(sizes []string, width int, cells []byte) (out []byte) {
	var n []int
	for _, size := range sizes {
		x, _ := strconv.Atoi(size)
		n = append(n, x)
	}
	for len(n) < 3 {
		n = append(n, 1)
	}
	for k := range n[2] {
		for j := range n[1] {
			for i := range n[0] {
				at := ((i*n[1]+j)*n[2] + k) * width
				out = append(out, cells[at:at+width]...)
			}
		}
	}
	return out
}

// archive makes an .npz file of arrays: name, descriptor, shape, values.
func archive(members ...[4]any) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range members {
		w, _ := z.Create(m[0].(string) + ".npy")
		head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }\n", m[1], m[2])
		head = strings.Replace(head, "False, 'shape': (F", "True, 'shape': (", 1)
		fmt.Fprintf(w, "\x93NUMPY\x01\x00%s%s", binary.LittleEndian.AppendUint16(nil, uint16(len(head))), head)
		if text, ok := m[3].(string); ok {
			io.WriteString(w, text)
		} else {
			binary.Write(w, binary.LittleEndian, m[3])
		}
	}
	z.Close()
	return b.Bytes()
}

func dense() [][4]any {
	return [][4]any{
		{"P", "<f8", "2, 2, 2", []float64{0.5, 0.5, 0, 0, 0, 1, 0.25, 0.75}},
		{"R", "<i4", "2, 2, 2", []int32{1, 2, 3, 4, 5, 6, 7, 8}},
		{"rewards", "<U4", "2,",
			"g\x00\x00\x00o\x00\x00\x00\xe9\x00\x00\x00d\x00\x00\x00c\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"},
		{"start", "<f4", "2,", []float32{0.25, 0.75}},
		{"label.safe", "|b1", "2,", []byte{0, 1}},
		{"actions", "|S2", "2,", "go\x00\x00"},
	}
}

func TestReadsArrays(t *testing.T) {
	members := dense()
	members[5][3] = "gost"
	m, err := read(archive(members...))
	if err != nil {
		t.Fatal(err)
	}
	want := &exchange.Model{
		Players: 1, Start: []exchange.Start{{State: 0, Probability: 0.25}, {State: 1, Probability: 0.75}},
		First: []int32{0, 1, 3}, Offset: []int{0, 2, 3, 5}, Target: []int32{0, 1, 1, 0, 1},
		Probability:   []float64{0.5, 0.5, 1, 0.25, 0.75},
		ChoiceActions: &exchange.Actions{Names: []string{"go", "st"}, Of: []int32{0, 0, 1}},
		Labels:        []exchange.Label{{Name: "safe", States: []int32{1}}},
		Rewards: []exchange.Reward{{Name: "goéd", Choice: []float64{1, 5, 7}},
			{Name: "c", Choice: []float64{2, 6, 8}}},
	}
	if err := exchangetest.Same(want, m); err != nil {
		t.Error(err)
	}
	// The same kernel with the first index fastest, and one reward without a name.
	m, err = read(archive([4]any{"P", "<f8", "F2, 2, 2", []float64{0.5, 0, 0, 0.25, 0.5, 1, 0, 0.75}},
		[4]any{"R", "<f8", "2, 2", []float64{1, 3, 5, 7}}))
	if err != nil {
		t.Fatal(err)
	}
	want = &exchange.Model{Players: 1, First: want.First, Offset: want.Offset, Target: want.Target,
		Probability: want.Probability,
		Rewards:     []exchange.Reward{{Name: "reward", Choice: []float64{1, 5, 7}}}}
	if err := exchangetest.Same(want, m); err != nil {
		t.Error(err)
	}
	// A state that offers action 1 alone calls it so.
	m, err = read(archive([4]any{"P", "<f8", "1, 2, 1", []float64{0, 1}}))
	if err != nil || m.ChoiceActions.Name(0) != "1" {
		t.Error(m, err)
	}
}

// TestNumbersOfAllTypes reads the ends of the ranges of all types of numbers, with either byte first.
func TestNumbersOfAllTypes(t *testing.T) {
	for descriptor, values := range map[string]any{
		"i1": []int8{-128, -1, 0, 127}, "i2": []int16{-32768, -1, 1, 32767}, "i4": []int32{-1 << 31, -1, 1, 1<<31 - 1},
		"i8": []int64{-1 << 53, -1, 1, 1 << 53}, "u1": []uint8{0, 1, 200, 255}, "u2": []uint16{0, 1, 40000, 65535},
		"u4": []uint32{0, 1, 1 << 31, 1<<32 - 1}, "u8": []uint64{0, 1, 1 << 53, 1 << 63},
		"f4": []float32{-1.5, 0, 0.25, 1e30}, "f8": []float64{-1.5, 0, 0.1, 1e300}, "b1": []bool{true, false, false, true},
	} {
		var want []float64
		for list, i := reflect.ValueOf(values), 0; i < list.Len(); i++ {
			switch x := list.Index(i); {
			case x.CanInt():
				want = append(want, float64(x.Int()))
			case x.CanUint():
				want = append(want, float64(x.Uint()))
			case x.CanFloat():
				want = append(want, x.Float())
			default:
				want = append(want, map[bool]float64{true: 1}[x.Bool()])
			}
		}
		for sign, order := range map[string]binary.ByteOrder{"<": binary.LittleEndian, ">": binary.BigEndian} {
			var b bytes.Buffer
			if err := binary.Write(&b, order, values); err != nil {
				t.Fatal(err)
			}
			data := archive([4]any{"P", sign + descriptor, "4,", b.String()})
			a, err := numpy.Open(bytes.NewReader(data), int64(len(data)))
			if err != nil {
				t.Fatal(err)
			}
			if _, got, err := a.Floats("P"); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s%s: %v, %v: want %v", sign, descriptor, got, err, want)
			}
		}
	}
}

// TestTextOfAllTypes reads names in text of either byte order, and in bytes.
func TestTextOfAllTypes(t *testing.T) {
	for descriptor, names := range map[string][]string{"<U3": {"ab", "é€x", ""}, ">U3": {"ab", "é€x", ""},
		"|S4": {"abcd", "", "é"}} {
		var b []byte
		for _, name := range names {
			width := 4
			for _, r := range name {
				switch descriptor {
				case "<U3":
					b = binary.LittleEndian.AppendUint32(b, uint32(r))
				case ">U3":
					b = binary.BigEndian.AppendUint32(b, uint32(r))
				}
				width = 12
			}
			if descriptor == "|S4" {
				b, width = append(b, name...), 4
			}
			if descriptor != "|S4" {
				width = 12
			}
			for len(b)%width > 0 || name == "" && width > 0 {
				if b = append(b, 0); len(b)%width == 0 {
					break
				}
			}
		}
		data := archive([4]any{"names", descriptor, "3,", string(b)})
		a, err := numpy.Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := a.Strings("names"); err != nil || !slices.Equal(got, names) {
			t.Errorf("%s: %q, %v: want %q", descriptor, got, err, names)
		}
	}
}

// TestChecksums: an array whose checksum is another is refused, whatever that is.
func TestChecksums(t *testing.T) {
	whole := archive(dense()[0])
	entry := bytes.Index(whole, []byte("PK\x01\x02"))
	whole[entry+8] &^= 8 // the checksum stands nowhere else
	at := entry + 16
	if _, err := read(whole); err != nil {
		t.Fatal(err)
	}
	for _, sum := range []uint32{0, 1, 1<<32 - 1} {
		wrong := bytes.Clone(whole)
		binary.LittleEndian.PutUint32(wrong[at:], sum)
		if _, err := read(wrong); err == nil {
			t.Errorf("the checksum %d is taken", sum)
		}
	}
}

// sparse is a folder of the same kernel, action 0 in CSR form as SciPy saves it and
// action 1 in another.
func sparse(form string) fstest.MapFS {
	first := archive([4]any{"indices", "<i4", "4,", []int32{1, 0, 0, 1}},
		[4]any{"indptr", "<i4", "3,", []int32{0, 3, 4}},
		[4]any{"format", "|S3", "", "csr"}, [4]any{"shape", "<i8", "2,", []int64{2, 2}},
		[4]any{"data", "<f8", "4,", []float64{0.5, 0.125, 0.375, 1}})
	rest := [][4]any{{"format", "|S3", "", form}, {"shape", "<i8", "2,", []int64{2, 2}},
		{"data", "<f8", "2,", []float64{0.25, 0.75}}}
	switch form {
	case "csc":
		rest = append(rest, [4]any{"indices", "<i8", "2,", []int64{1, 1}},
			[4]any{"indptr", "<i8", "3,", []int64{0, 1, 2}})
	case "coo":
		rest = append(rest, [4]any{"row", "<i4", "2,", []int32{1, 1}}, [4]any{"col", "<i4", "2,", []int32{0, 1}})
	}
	return fstest.MapFS{"k/P_0.npz": {Data: first}, "k/P_1.npz": {Data: archive(rest...)}, "k/notes.txt": {}}
}

func TestReadsSparseMatrices(t *testing.T) {
	for _, form := range []string{"csc", "coo"} {
		m, err := numpy.ReadFolder(sparse(form), "k")
		if err != nil {
			t.Fatal(form, err)
		}
		want := &exchange.Model{Players: 1, First: []int32{0, 1, 3}, Offset: []int{0, 2, 3, 5},
			Target: []int32{0, 1, 1, 0, 1}, Probability: []float64{0.5, 0.5, 1, 0.25, 0.75}}
		if err := exchangetest.Same(want, m); err != nil {
			t.Error(form, err)
		}
	}
	named := sparse("coo")
	named["k/P_up.npz"], named["k/P_down.npz"] = named["k/P_0.npz"], named["k/P_1.npz"]
	delete(named, "k/P_0.npz")
	delete(named, "k/P_1.npz")
	m, err := numpy.ReadFolder(named, "k")
	if err != nil {
		t.Fatal(err)
	}
	if got := m.ChoiceActions.Name(0) + m.ChoiceActions.Name(1) + m.ChoiceActions.Name(2); got != "updownup" {
		t.Error(got)
	}
}

// TestFormsOfMatrices: a matrix of any form, whose entries stand in any order, some of them in several parts, is that
// of their sums.
func TestFormsOfMatrices(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 3))
	for i := range 200 {
		states := 1 + rng.IntN(5)
		whole := make([]float64, states*states)
		type entry struct {
			row, column int64
			value       float64
		}
		var entries []entry
		for s := range states {
			for left := 8; left > 0 && rng.IntN(5) > 0 || left%8 > 0; { // eighths: their sums are exact
				e := entry{int64(s), rng.Int64N(int64(states)), float64(1+rng.IntN(left)) / 8}
				left -= int(8 * e.value)
				entries = append(entries, e)
				whole[s*states+int(e.column)] += e.value
			}
		}
		want, err := read(archive([4]any{"P", "<f8", fmt.Sprintf("%d, 1, %d", states, states), whole}))
		if err != nil {
			t.Fatal(err)
		}
		rng.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
		for _, form := range []string{"csr", "csc", "coo"} {
			along := func(e entry) int64 { return map[bool]int64{true: e.column, false: e.row}[form == "csc"] }
			if form != "coo" {
				slices.SortStableFunc(entries, func(x, y entry) int { return int(along(x) - along(y)) })
			}
			rows, columns, values, bounds := []int64{}, []int64{}, []float64{}, make([]int64, states+1)
			for _, e := range entries {
				rows, columns, values = append(rows, e.row), append(columns, e.column), append(values, e.value)
				for s := along(e); s < int64(states); s++ {
					bounds[s+1]++
				}
			}
			other := columns
			if form == "csc" {
				other = rows
			}
			list := fmt.Sprintf("%d,", len(entries))
			members := [][4]any{{"format", "|S3", "", form}, {"data", "<f8", list, values},
				{"shape", "<i8", "2,", []int64{int64(states), int64(states)}}}
			if form == "coo" {
				members = append(members, [4]any{"row", "<i8", list, rows}, [4]any{"col", "<i8", list, columns})
			} else {
				members = append(members, [4]any{"indices", "<i8", list, other},
					[4]any{"indptr", "<i8", fmt.Sprintf("%d,", states+1), bounds})
			}
			m, err := numpy.ReadFolder(fstest.MapFS{"k/P_0.npz": {Data: archive(members...)}}, "k")
			if err == nil {
				err = exchangetest.Same(want, m)
			}
			if err != nil {
				t.Fatalf("%d, %s of %v: %v", i, form, entries, err)
			}
		}
	}
}

// TestBoundsOfRows: of all bounds of the rows of a matrix with two entries those are read that rise from 0 to 2, and a
// message says what is wrong with others.
func TestBoundsOfRows(t *testing.T) {
	for i := range 4 * 4 * 4 {
		b := []int64{int64(i / 16), int64(i / 4 % 4), int64(i % 4)}
		want := ""
		switch {
		case slices.Max(b) > 2:
			want = fmt.Sprintf("indptr[%d] is 3: want a whole number from 0 to 2", slices.Index(b, 3))
		case b[0] > 0 || b[1] < b[0]:
			want = fmt.Sprintf("indptr[1] is %d after %d: want bounds that rise from 0", b[1], b[0])
		case b[2] < b[1]:
			want = fmt.Sprintf("indptr[2] is %d after %d: want bounds that rise from 0", b[2], b[1])
		case b[2] != 2:
			want = fmt.Sprintf("indptr ends with %d: want 2", b[2])
		}
		_, err := numpy.ReadFolder(fstest.MapFS{"k/P_0.npz": {Data: archive(
			[4]any{"indices", "<i4", "2,", []int32{1, 0}}, [4]any{"indptr", "<i8", "3,", b},
			[4]any{"format", "|S3", "", "csr"}, [4]any{"shape", "<i8", "2,", []int64{2, 2}},
			[4]any{"data", "<f8", "2,", []float64{0.5, 0.5}})}}, "k")
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("bounds %v: got %v: want %q", b, err, want)
		}
	}
}

func TestRefuses(t *testing.T) {
	for _, c := range []struct {
		array int
		with  [4]any
		want  string
	}{
		{0, [4]any{"Q", "<f8", "1,", []float64{1}}, "the array P is missing"},
		{0, [4]any{"R", "<f8", "1,", []float64{1}}, "in the archive twice"},
		{0, [4]any{"P", "<f8", "2,", []float64{1, 1}}, "1 dimensions: want P[s,a,s']"},
		{0, [4]any{"P", "<f8", "2, 3, 1", make([]float64, 6)}, "shape [2 3 1]: want (S, A, S)"},
		{0, [4]any{"P", "<f8", "0, 0, 0", []float64{}}, "want (S, A, S)"},
		{0, [4]any{"P", "<f8", "2, 2, 2", make([]float64, 7)},
			"but 137 by its shape and type: it is cut off or damaged"},
		{0, [4]any{"P", "<f8", "2, 2, 2", make([]float64, 9)},
			"but 137 by its shape and type: it is cut off or damaged"},
		{0, [4]any{"P", "<f8", "99999999999, 99999999999, 2", []float64{}}, "too large"},
		{0, [4]any{"P", "<f8", "1, 1, 1, 1, 1, 1, 1, 1, 1", []float64{1}}, "9 dimensions: want at most 8"},
		{0, [4]any{"P", "<c16", "1, 1, 1", []float64{1, 0}}, "values of type c16"},
		{0, [4]any{"P", "|O", "1, 1, 1", "pickle"}, "cannot be read"},
		{0, [4]any{"P", "<U1", "2, 2, 2", make([]int32, 8)}, "strings: want numbers"},
		{0, [4]any{"P", "<f8", "2, 2, 2", []float64{0.5, 0.5, 0, 0, 0, 1, -0.25, 1.25}}, "-0.25 is not a probability"},
		{1, [4]any{"R", "<f8", "2, 3", make([]float64, 6)}, "R: shape [2 3]: want [2 2]"},
		{1, [4]any{"R", "<f8", "2,", make([]float64, 2)}, "R: shape [2]"},
		{1, [4]any{"R", "<f8", "2, 2, 0", []float64{}}, "R: shape [2 2 0]"},
		{2, [4]any{"rewards", "|S1", "3,", "abc"}, "3 names: want 2"},
		{2, [4]any{"rewards", "|S1", "2,", "aa"}, "given twice"},
		{2, [4]any{"rewards", "|S1", "2,", "a\xff"}, "value 1 is not text"},
		{3, [4]any{"start", "<f8", "3,", make([]float64, 3)}, "start: shape [3]: want (2,)"},
		{3, [4]any{"start", "<f8", "2,", []float64{0.5, 0.4}}, "sum to 0.9"},
		{4, [4]any{"label.safe", "|b1", "1,", []byte{0}}, "label.safe: shape [1]"},
		{5, [4]any{"actions", "|S1", "1,", "a"}, "actions: 1 names: want 2"},
	} {
		members := dense()
		members[5][3] = "gost"
		members[c.array] = c.with
		if _, err := read(archive(members...)); err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), "numpy: ") {
			t.Errorf("%v: got %v: want %s", c.with, err, c.want)
		}
	}
	whole := archive(dense()[0])
	for n := range whole {
		if _, err := read(whole[:n]); err == nil {
			t.Fatalf("the first %d bytes are read", n)
		}
	}
	at := bytes.Index(whole, binary.LittleEndian.AppendUint64(nil, 0x3fe0000000000000))
	if at < 0 { // stored compressed: any byte of the data will do
		at = len(whole) / 3
	}
	whole[at+3] ^= 1
	if _, err := read(whole); err == nil {
		t.Error("a flipped bit is not seen")
	}
}

// TestRefusesShapes: of the shapes near that of an array no other one is read.
func TestRefusesShapes(t *testing.T) {
	for i, member := range dense() {
		if member[0] == "actions" {
			member[3] = "gost"
		}
		values, ok := member[3].(string)
		if !ok {
			var b bytes.Buffer
			binary.Write(&b, binary.LittleEndian, member[3])
			values = b.String()
		}
		shape := strings.TrimSuffix(member[2].(string), ",") // of two states, rewards or actions, as all arrays are
		for other, values := range map[string]string{"1, " + shape: values, shape + ", 1": values,
			"1" + shape[1:]: values[:len(values)/2], "0" + shape[1:]: "", "3" + shape[1:]: values + values[:len(values)/2]} {
			members := dense()
			members[5][3] = "gost"
			members[i][2], members[i][3] = other, values
			if m, err := read(archive(members...)); err == nil || !strings.Contains(err.Error(), member[0].(string)) {
				t.Errorf("%s of the shape %s is read as %+v, %v", member[0], other, m, err)
			}
		}
	}
}

// TestTooDense: a kernel that would have more than 2²⁸ entries is not written as one array.
func TestTooDense(t *testing.T) {
	for _, size := range [][2]int{{16385, 1}, {11586, 2}, {2600, 40}} { // 1 + 2¹⁴, and what a number of actions leaves
		m := exchange.Empty(1)
		for s := range size[0] {
			for range size[1] {
				m.Target, m.Probability = append(m.Target, int32(s)), append(m.Probability, 1)
				m.Offset = append(m.Offset, m.Branches())
			}
			m.First = append(m.First, int32(m.Choices()))
		}
		if err := numpy.Write(io.Discard, m); err == nil || !strings.Contains(err.Error(), "has too many entries") {
			t.Errorf("%d states with %d actions: %v", size[0], size[1], err)
		}
	}
}

func TestRefusesMatrices(t *testing.T) {
	base := func() [][4]any {
		return [][4]any{{"indices", "<i4", "2,", []int32{1, 0}}, {"indptr", "<i4", "3,", []int32{0, 1, 2}},
			{"format", "|S3", "", "csr"},
			{"shape", "<i8", "2,", []int64{2, 2}}, {"data", "<f8", "2,", []float64{1, 1}}}
	}
	for _, c := range []struct {
		array int
		with  [4]any
		want  string
	}{
		{0, [4]any{"indices", "<i4", "2,", []int32{1, 2}}, "indices[1] is 2: want a whole number from 0 to 1"},
		{0, [4]any{"indices", "<i4", "2,", []int32{1, -1}}, "indices[1] is -1"},
		{0, [4]any{"indices", "<f8", "2,", []float64{1, 0.5}}, "indices[1] is 0.5: want a whole number"},
		{0, [4]any{"indices", "<i4", "1,", []int32{1}}, "indices: 1 values: want 2"},
		{1, [4]any{"indptr", "<i4", "3,", []int32{0, 2, 1}}, "indptr[2] is 1 after 2"},
		{1, [4]any{"indptr", "<i4", "3,", []int32{0, 0, 1}}, "indptr ends with 1: want 2"},
		{1, [4]any{"indptr", "<i4", "2,", []int32{0, 2}}, "indptr: 2 values: want 3"},
		{2, [4]any{"format", "|S3", "", "bsr"}, "format bsr: want csr, csc or coo"},
		{3, [4]any{"shape", "<i8", "2,", []int64{2, 3}}, "want a square matrix"},
		{3, [4]any{"shape", "<i8", "2,", []int64{1 << 30, 1 << 30}},
			"1073741824 states: more than the archive can hold"},
		{4, [4]any{"data", "<f8", "2,", []float64{1, -1}}, "-1 is not a probability"},
	} {
		members := base()
		members[c.array] = c.with
		if _, err := numpy.ReadFolder(fstest.MapFS{"k/P_0.npz": {Data: archive(members...)}}, "k"); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v: want %s", c.with, err, c.want)
		}
	}
	for name, want := range map[string]string{"k/P_1.npz": "but not P_0.npz",
		"k/Q_0.npz": "there is no file P_ACTION.npz"} {
		if _, err := numpy.ReadFolder(fstest.MapFS{name: {Data: archive(base()...)}}, "k"); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	three := fstest.MapFS{"k/P_0.npz": {Data: archive(base()...)},
		"k/P_1.npz": {Data: archive([4]any{"row", "<i4", "0,", []int32{}}, [4]any{"col", "<i4", "0,", []int32{}},
			[4]any{"format", "|S3", "", "coo"}, [4]any{"shape", "<i8", "2,", []int64{3, 3}},
			[4]any{"data", "<f8", "0,", []float64{}})}}
	if _, err := numpy.ReadFolder(three, "k"); err == nil || !strings.Contains(err.Error(), "3 states: want 2") {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(archive(dense()...))
	f.Fuzz(func(t *testing.T, data []byte) { check(t, data) })
}

// FuzzArrays takes the headers and values of arrays, which changes of a whole
// archive seldom leave readable.
func FuzzArrays(f *testing.F) {
	f.Add("<f8", "1, 2, 1", "\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\x00\x00", "<i2", "1, 2",
		"\x01\x00\x02\x00")
	f.Fuzz(func(t *testing.T, d1, s1, v1, d2, s2, v2 string) {
		check(t, archive([4]any{"P", d1, s1, v1}, [4]any{"R", d2, s2, v2}))
		_, _ = numpy.ReadFolder(fstest.MapFS{"k/P_0.npz": {Data: archive([4]any{"format", "|S3", "", "csr"},
			[4]any{"shape", "<i8", "2,", []int64{1, 1}},
			[4]any{"indices", "<i4", "1,", []int32{0}}, [4]any{"indptr", d1, s1, v1},
			[4]any{"data", d2, s2, v2})}}, "k")
	})
}

func check(t *testing.T, data []byte) {
	m, err := read(data)
	if err != nil {
		return
	}
	var b bytes.Buffer
	if err := numpy.Write(&b, m); err != nil {
		t.Fatal(err)
	}
	again, err := read(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if again.Branches() != m.Branches() || len(again.Rewards) != len(m.Rewards) {
		t.Fatalf("%d branches are %d again", m.Branches(), again.Branches())
	}
}
