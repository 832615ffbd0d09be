package formats_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/exchange/exchangetest"
	"cmdpsolve/cmdp/exchange/formats"
	"cmdpsolve/cmdp/exchange/umb"
	"cmdpsolve/cmdp/internal/source"
	"cmdpsolve/cmdp/progress"
)

type closer struct {
	bytes.Buffer
	to   fstest.MapFS
	name string
}

func (c *closer) Close() error {
	c.to[c.name] = &fstest.MapFile{Data: c.Bytes()}
	return nil
}

// TestAllFormatsAgree takes random models that every format can say from one format
// to the next, all the way round.
func TestAllFormatsAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 200 {
		m := exchangetest.Random(rng, exchangetest.Has{Rests: true})
		if m.Choices() == 0 {
			continue
		}
		m.Labels = nil // tables of Gymnasium have none but their own
		now := m
		names := []string{"m.umb", "a/M.TRA", "m.drn", "m.npz", "m.json", "k/", "m.umb"}
		if i == 1 { // they take longer
			names = append(names, "m.drn.gz", "m.tra.gz", "M.DRN.XZ", "b/m.tra.xz", "m.umb")
		}
		for _, name := range names {
			files := fstest.MapFS{}
			create := func(name string) (io.WriteCloser, error) { return &closer{to: files, name: name}, nil }
			if err := formats.Write(create, name, now, umb.WriteOptions{}); err != nil {
				t.Fatal(i, name, err)
			}
			if name == "a/M.TRA" {
				files[name] = files["a/M.tra"]
			}
			again, err := formats.Read(files, name, formats.LanguageOptions{})
			if err != nil {
				t.Fatal(i, name, err)
			}
			again.Labels = nil
			if err := exchangetest.Same(m, again); err != nil {
				t.Fatal(i, name, err)
			}
			now = again
		}
	}
}

// TestRefusedOrTheSame writes random models. What a format cannot say is refused, as its documentation tells, or left
// out where that says so, and all else is read as it was.
func TestRefusedOrTheSame(t *testing.T) {
	says := map[string]exchangetest.Has{
		// Actions are names of choices in a chain, StateRewards those of states without choices.
		"m.umb": exchangetest.All,
		"m.tra": {BranchRewards: true, BranchActions: true, Intervals: true},
		"m.drn": {Intervals: true, Actions: true},
		"m.npz": {SkewedStart: true, StateRewards: true},
		"k/":    {SkewedStart: true, StateRewards: true},
		"m.json": {BranchRewards: true, BranchActions: true, SkewedStart: true, Actions: true,
			StateRewards: true}, // which leaves out names
	}
	drawn := exchangetest.All
	rng, written := rand.New(rand.NewPCG(27, 1)), make(map[string]int)
	for i := range 400 {
		m := exchangetest.Random(rng, drawn)
		if m.Choices() == 0 {
			continue
		}
		random := slices.ContainsFunc(m.Rewards, func(r exchange.Reward) bool { return r.Branch != nil })
		first := m.Start[0].Probability
		skewed := slices.ContainsFunc(m.Start, func(st exchange.Start) bool { return st.Probability != first })
		named, rests, broken := m.ChoiceActions != nil, false, false
		switch rng.IntN(10) { // what a random model never has
		case 0:
			m.Probability[rng.IntN(m.Branches())] = 2
			broken = true
		case 1:
			m.ChoiceActions = &exchange.Actions{Names: []string{"stay"}, Of: make([]int32, m.Choices())}
			named = true
		case 2:
			rests = earnsAtRest(rng, m)
		}
		for name, has := range says {
			if i%8 > 0 && (name == "m.npz" || name == "k/") {
				continue // they take longer
			}
			files := fstest.MapFS{}
			create := func(name string) (io.WriteCloser, error) { return &closer{to: files, name: name}, nil }
			err := formats.Write(create, name, m, umb.WriteOptions{})
			lacks := m.Players == 2 && !has.Game || m.Lower != nil && !has.Intervals ||
				!has.SkewedStart && skewed || m.BranchActions != nil && !has.BranchActions ||
				!has.BranchRewards && random || m.Players == 0 && named && !has.Actions || rests && !has.StateRewards ||
				broken
			if lacks != (err != nil) {
				t.Fatalf("%d, %s: %v: want an error: %t", i, name, err, lacks)
			}
			if lacks {
				continue
			}
			written[name]++
			again, err := formats.Read(files, name, formats.LanguageOptions{})
			if err != nil {
				t.Fatal(i, name, err)
			}
			if err := exchangetest.Same(asIn(name, m), asIn(name, again)); err != nil {
				t.Fatalf("%d, %s: %v", i, name, err)
			}
		}
	}
	for name := range says {
		if written[name] < 10 {
			t.Errorf("%s: %d models were written", name, written[name])
		}
	}
}

// earnsAtRest gives a state without choices a reward, if there is one.
func earnsAtRest(rng *rand.Rand, m *exchange.Model) bool {
	for s := range m.States() {
		if m.First[s] == m.First[s+1] && len(m.Rewards) > 0 {
			r := &m.Rewards[rng.IntN(len(m.Rewards))]
			r.State = make([]float64, m.States())
			r.State[s] = []float64{1, -1}[rng.IntN(2)]
			return true
		}
	}
	return false
}

// asIn returns a model as a format has it, all rewards being those of branches.
func asIn(name string, m *exchange.Model) *exchange.Model {
	out := *m
	out.Rewards = nil
	for _, r := range m.Rewards {
		of := exchange.Reward{Name: r.Name, Branch: make([]float64, m.Branches())}
		for s := range m.States() {
			for c := int(m.First[s]); c < int(m.First[s+1]); c++ {
				for e := m.Offset[c]; e < m.Offset[c+1]; e++ {
					of.Branch[e] = r.Total(s, c, e)
				}
			}
		}
		out.Rewards = append(out.Rewards, of)
	}
	arrays := name == "k/" || name == "m.npz"
	if arrays || name == "m.json" {
		byAction(&out, arrays)
	}
	if name == "k/" || name == "m.json" {
		out.Players = 1 // the format does not tell a Markov chain
	}
	if name == "m.json" {
		out.Labels, out.Variables, out.ChoiceActions, out.BranchActions = nil, nil, nil, nil
	}
	return &out
}

// byAction puts the choices of each state in the order of their actions, which are distinct in a table: those of arrays
// by name, others by number, which is that of the first use of the name. An array has one entry for branches that lead
// to the same state.
func byAction(m *exchange.Model, arrays bool) {
	old := *m
	names, number := m.DistinctActions(), make(map[string]int)
	for c := range names {
		if _, met := number[names[c]]; !met {
			number[names[c]] = len(number)
		}
	}
	m.Offset, m.Target, m.Probability = []int{0}, nil, nil
	var actions exchange.ActionNames
	branches := make([][]float64, len(m.Rewards))
	for s := range old.States() {
		var choices []int
		for c := int(old.First[s]); c < int(old.First[s+1]); c++ {
			choices = append(choices, c)
		}
		if names != nil {
			slices.SortFunc(choices, func(x, y int) int {
				if arrays {
					return strings.Compare(names[x], names[y])
				}
				return number[names[x]] - number[names[y]]
			})
		}
		for _, c := range choices {
			at := make(map[int32]int)
			for e := old.Offset[c]; e < old.Offset[c+1]; e++ {
				if k, twin := at[old.Target[e]]; twin && arrays {
					m.Probability[k] += old.Probability[e]
					continue
				}
				at[old.Target[e]] = len(m.Target)
				m.Target, m.Probability = append(m.Target, old.Target[e]), append(m.Probability, old.Probability[e])
				for i, r := range old.Rewards {
					branches[i] = append(branches[i], r.Branch[e])
				}
			}
			if from := m.Offset[len(m.Offset)-1]; arrays {
				sortBranches(m, branches, from)
			}
			m.Offset = append(m.Offset, len(m.Target))
			if names != nil {
				actions.Add(names[c])
			}
		}
	}
	m.ChoiceActions = actions.Actions()
	for i := range m.Rewards {
		m.Rewards[i].Branch = branches[i]
	}
}

// sortBranches puts the branches from one on in the order of their targets.
func sortBranches(m *exchange.Model, rewards [][]float64, from int) {
	for e := from + 1; e < len(m.Target); e++ {
		for k := e; k > from && m.Target[k-1] > m.Target[k]; k-- {
			m.Target[k-1], m.Target[k] = m.Target[k], m.Target[k-1]
			m.Probability[k-1], m.Probability[k] = m.Probability[k], m.Probability[k-1]
			for _, r := range rewards {
				r[k-1], r[k] = r[k], r[k-1]
			}
		}
	}
}

// TestMemory reads a model of every format where there is little memory for it, and where there is enough. What
// is compressed is refused before all of it was unpacked.
func TestMemory(t *testing.T) {
	m := exchange.Empty(1)
	const states, branches = 300, 100
	for s := range states {
		for e := range branches {
			m.Target, m.Probability = append(m.Target, int32((s+3*e)%states)), append(m.Probability, 1./branches)
		}
		m.Offset, m.First = append(m.Offset, len(m.Target)), append(m.First, int32(s+1))
	}
	m.Start = []exchange.Start{{State: 0, Probability: 1}}
	for _, name := range []string{"m.umb", "m.tra", "m.tra.gz", "m.drn", "m.drn.gz", "m.drn.xz", "m.npz", "m.json",
		"k/"} {
		files := fstest.MapFS{}
		create := func(name string) (io.WriteCloser, error) { return &closer{to: files, name: name}, nil }
		if err := formats.Write(create, name, m, umb.WriteOptions{}); err != nil {
			t.Fatal(name, err)
		}
		for memory, enough := range map[int]bool{100_000: false, 100_000_000: true, 0: true} {
			var o formats.LanguageOptions
			o.Explore.Memory = memory
			again, err := formats.Read(files, name, o)
			var large *formats.LargeError
			if errors.As(err, &large) == enough || enough && err != nil {
				t.Errorf("%s, %d bytes: %v", name, memory, err)
			}
			if enough && (again.States() != states || again.Branches() != states*branches) {
				t.Errorf("%s: %d states, %d branches", name, again.States(), again.Branches())
			}
		}
	}
}

// TestWatch reads a model of every format while somebody watches: it is the same, and the end of a
// file has been seen.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	m := exchangetest.Random(rand.New(rand.NewPCG(1, 1)), exchangetest.Has{})
	m.Labels = nil
	for _, name := range []string{"m.umb", "m.tra", "m.drn", "m.npz", "m.json", "k/"} {
		if err := os.MkdirAll(filepath.Join(dir, "k"), 0o755); err != nil {
			t.Fatal(err)
		}
		create := func(name string) (io.WriteCloser, error) { return os.Create(filepath.Join(dir, name)) }
		if err := formats.Write(create, name, m, umb.WriteOptions{}); err != nil {
			t.Fatal(name, err)
		}
		least, most := 2.0, -1.0
		ctx := progress.With(t.Context(),
			func(_ string, part float64) { least, most = min(least, part), max(most, part) })
		again, err := formats.Read(formats.Watch(ctx, os.DirFS(dir)), strings.TrimSuffix(name, "/"),
			formats.LanguageOptions{})
		if err != nil {
			t.Fatal(name, err)
		}
		again.Labels = nil
		if err := exchangetest.Same(m, again); err != nil || least < 0 || most != 1 {
			t.Error(name, err, least, most)
		}
	}
}

// TestDamage flips bits of compressed files, cuts them and adds to them: each is refused, or is the same model. A
// checksum may be wrong too, so that nothing else tells that a file is not what was written.
func TestDamage(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	rng := rand.New(rand.NewPCG(1, 3))
	m := exchangetest.Random(rng, exchangetest.Has{StateRewards: true, Actions: true})
	for _, name := range []string{"m.drn.gz", "m.drn.xz", "m.tra.gz", "m.tra.xz", "m.umb", "m.npz", "m.json"} {
		files := fstest.MapFS{}
		create := func(name string) (io.WriteCloser, error) { return &closer{to: files, name: name}, nil }
		if err := formats.Write(create, name, m, umb.WriteOptions{}); err != nil {
			t.Fatal(name, err)
		}
		if name == "m.json" {
			files[name].Data = gzipped(t, files[name].Data)
		}
		whole, err := formats.Read(files, name, formats.LanguageOptions{})
		if err != nil {
			t.Fatal(name, err)
		}
		try := func(file, what string, at int, data []byte) {
			t.Helper()
			old := files[file]
			files[file] = &fstest.MapFile{Data: data}
			got, err := formats.Read(files, name, formats.LanguageOptions{})
			files[file] = old
			if err == nil && what != "flipped" {
				t.Errorf("%s: %s %s at %d is read", name, file, what, at)
			}
			if err == nil && exchangetest.Same(whole, got) != nil {
				t.Errorf("%s: %s %s at %d is read as another model", name, file, what, at)
			}
		}
		for file, f := range files {
			contents := len(f.Data)
			if name == "m.npz" { // the names in its list of contents have no checksum, and arrays of other names are left out
				contents = bytes.Index(f.Data, []byte("PK\x01\x02"))
			}
			for i := 0; i < contents; i += 11 {
				flipped := bytes.Clone(f.Data)
				flipped[i] ^= 1 << (i / 11 % 8)
				try(file, "flipped", i, flipped)
			}
			for n := 1; n <= 9; n++ {
				try(file, "cut", n, f.Data[:len(f.Data)-n])
			}
			try(file, "grown", len(f.Data), append(bytes.Clone(f.Data), "more"...))
			if bytes.HasPrefix(f.Data, []byte("\x1f\x8b")) {
				last := bytes.Clone(f.Data)
				last[len(last)-8] ^= 1
				try(file, "of another checksum", 0, last)
				try(file, "with something behind it", 0, append(bytes.Clone(f.Data), gzipped(t, []byte("more"))...))
			}
		}
	}
}

func gzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(data)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestNames: of all endings those are known that are documented, in small and in large letters. Text may be compressed,
// but for PRISM's language.
func TestNames(t *testing.T) {
	kinds := map[string]struct{ packed, language, jani bool }{
		".umb": {}, ".npz": {}, ".json": {}, ".drn": {packed: true}, ".tra": {packed: true}, ".pexp": {packed: true},
		".prism": {language: true}, ".nm": {language: true}, ".pm": {language: true}, ".sm": {language: true},
		".jani": {packed: true, language: true, jani: true}}
	for _, ending := range append(slices.Collect(maps.Keys(kinds)), ".txt", "", ".j", "/") {
		kind, known := kinds[ending]
		for _, packed := range []string{"", ".gz", ".xz", ".bz2", ".gz.xz"} {
			want := (known || ending == "/") && (packed == "" || kind.packed && len(packed) == 3)
			for _, name := range []string{"m" + ending + packed, strings.ToUpper("a/m" + ending + packed)} {
				if formats.Known(name) != want || formats.IsLanguage(name) != (want && kind.language) ||
					formats.IsJANI(name) != (want && kind.jani) || formats.IsFolder(name) != (want && ending == "/") {
					t.Errorf("%s: known %t, a language %t, JANI %t, a folder %t", name, formats.Known(name),
						formats.IsLanguage(name), formats.IsJANI(name), formats.IsFolder(name))
				}
			}
		}
	}
	files := fstest.MapFS{"m.txt": {}, "m.drn.gz": {}}
	if _, err := formats.Read(files, "m.txt", formats.LanguageOptions{}); err == nil ||
		!strings.Contains(err.Error(), "unknown kind of file m.txt: want .umb") {
		t.Error(err)
	}
	if _, err := formats.Read(files, "n.umb", formats.LanguageOptions{}); err == nil {
		t.Error("a missing file is read")
	}
	m := exchangetest.Random(rand.New(rand.NewPCG(1, 1)), exchangetest.Has{})
	for name, want := range map[string]string{"m.txt": "unknown kind of file m.txt", "m.drn.bz2": "unknown", "m": "unknown",
		"m.pexp": "are read, not written", "m.PRISM": "are read, not written", "m.jani": "are read, not written"} {
		if err := formats.Write(nil, name, m, umb.WriteOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Error(name, err)
		}
	}
}

// TestPacked: compressed files hold what the plain ones do, beside each other or, as Storm wants it, in an archive.
func TestPacked(t *testing.T) {
	m := exchangetest.Random(rand.New(rand.NewPCG(1, 5)), exchangetest.Has{Names: true})
	m.Rewards = nil // to compress takes long
	for _, name := range []string{"a/m.tra", "a/m.drn"} {
		plain := written(t, name, m)
		for _, how := range []string{".gz", ".xz"} {
			packed := written(t, name+how, m)
			again, err := formats.Read(packed, name+how, formats.LanguageOptions{})
			if err != nil || exchangetest.Same(m, again) != nil {
				t.Error(name+how, err)
			}
			if len(packed) != len(plain) {
				t.Errorf("%d files, compressed %d", len(plain), len(packed))
			}
			for file := range packed {
				in, _, err := source.Open(bytes.NewReader(packed[file].Data), int64(len(packed[file].Data)))
				if err != nil {
					t.Fatal(file, err)
				}
				if name == "a/m.drn" {
					archive := tar.NewReader(in)
					if h, err := archive.Next(); err != nil || h.Name != "m.drn" || h.Mode != 0o644 {
						t.Fatalf("%s holds %+v, %v: want m.drn", file, h, err)
					}
					in = archive
				}
				text, err := io.ReadAll(in)
				want := plain[strings.TrimSuffix(file, how)]
				if err != nil || want == nil || string(text) != string(want.Data) {
					t.Errorf("%s holds %q, %v", file, text, err)
				}
			}
		}
	}
}

// written returns the files that a model is written to.
func written(t *testing.T, name string, m *exchange.Model) fstest.MapFS {
	t.Helper()
	files, err := tryWrite(name, m)
	if err != nil {
		t.Fatal(name, err)
	}
	return files
}

// tryWrite is written of a model that may be refused.
func tryWrite(name string, m *exchange.Model) (fstest.MapFS, error) {
	files := fstest.MapFS{}
	create := func(name string) (io.WriteCloser, error) { return &closer{to: files, name: name}, nil }
	return files, formats.Write(create, name, m, umb.WriteOptions{Compression: umb.Plain})
}

// errBroken is what a disk that breaks says.
var errBroken = errors.New("broken")

// A brokenFile fails once some bytes of all files have been written, or those behind a place are read.
type brokenFile struct {
	fs.File
	io.ReaderAt
	left   *int
	closed *int
}

func (f brokenFile) Write(p []byte) (int, error) {
	if *f.left -= len(p); *f.left < 0 {
		return max(0, len(p)+*f.left), errBroken
	}
	return len(p), nil
}

func (f brokenFile) ReadAt(p []byte, off int64) (int, error) {
	if int(off)+len(p) > *f.left {
		return 0, errBroken
	}
	return f.ReaderAt.ReadAt(p, off)
}

func (f brokenFile) Close() error {
	*f.closed++
	return nil
}

// brokenFS has files of which the first bytes can be read.
type brokenFS struct {
	fs.FS
	left *int
}

func (b brokenFS) Open(name string) (fs.File, error) {
	f, err := b.FS.Open(name)
	at, ok := f.(io.ReaderAt)
	if err != nil || !ok {
		return f, err
	}
	return brokenFile{f, at, b.left, new(int)}, nil
}

// TestBrokenDisks: where files cannot be written or read to their ends, that is the error. A file that could not be
// written is not closed, and the others are.
func TestBrokenDisks(t *testing.T) {
	m := exchangetest.Random(rand.New(rand.NewPCG(1, 7)), exchangetest.Has{StateRewards: true, Names: true})
	rng := rand.New(rand.NewPCG(64, 7))
	for _, name := range []string{"m.umb", "m.tra", "m.tra.gz", "m.drn", "m.drn.gz", "m.npz", "m.json", "k/"} {
		files, whole := written(t, name, m), 0
		for _, f := range files {
			whole += len(f.Data)
		}
		for range 8 {
			left, opened, closed := rng.IntN(whole), 0, 0
			create := func(string) (io.WriteCloser, error) {
				opened++
				return brokenFile{left: &left, closed: &closed}, nil
			}
			err := formats.Write(create, name, m, umb.WriteOptions{Compression: umb.Plain})
			if !errors.Is(err, errBroken) || opened != closed+1 {
				t.Errorf("%s: %d files of %d were closed, error %v", name, closed, opened, err)
			}
			failing := func(string) (io.WriteCloser, error) { return nil, errBroken }
			if err := formats.Write(failing, name, m, umb.WriteOptions{}); !errors.Is(err, errBroken) {
				t.Errorf("%s: %v where no file can be made", name, err)
			}
			longest := 0
			for _, f := range files {
				longest = max(longest, len(f.Data))
			}
			part := rng.IntN(longest)
			if m, err := formats.Read(brokenFS{files, &part}, name, formats.LanguageOptions{}); err == nil {
				t.Errorf("%s: %d bytes of %d are read as %+v", name, part, longest, m)
			}
		}
	}
}

// TestOddNames: whatever the names have in them, a model is read as it was written, or it is not written.
func TestOddNames(t *testing.T) {
	rng, count := rand.New(rand.NewPCG(64, 3)), make(map[string]int)
	marks := []string{"[", "]", "(", ")", "a", "b", ",", ":", "/", "//", "@", "#", "$", "-", "=", " ", "\"", "\t", "\n", "\r",
		"\x00", "_", "é", "\\", "'", "\v", "\u0085", "\u00a0", "init", "__NOLABEL__", ".npy", "state ", "action "}
	odd := func(name *string) {
		mark, number := func() string { return marks[rng.IntN(len(marks))] }, strconv.Itoa(rng.IntN(1000))
		all := []string{mark() + mark() + number, number + mark(), mark() + number + mark(), "init", "__NOLABEL__"}
		*name = all[rng.IntN(len(all))]
	}
	for i := range 800 {
		m := exchangetest.Random(rng, exchangetest.Has{Chain: true, Names: true, TextNames: true, Actions: true,
			BranchActions: true, Rests: true})
		for range 1 + rng.IntN(2) {
			switch at := rng.IntN(1 << 10); {
			case at%5 == 0 && len(m.Labels) > 0:
				odd(&m.Labels[at%len(m.Labels)].Name)
			case at%5 == 1 && len(m.Rewards) > 0:
				odd(&m.Rewards[at%len(m.Rewards)].Name)
			case at%5 == 2 && m.ChoiceActions != nil:
				odd(&m.ChoiceActions.Names[at%len(m.ChoiceActions.Names)])
			case at%5 == 2 && m.BranchActions != nil:
				odd(&m.BranchActions.Names[at%len(m.BranchActions.Names)])
			case at%5 == 3 && len(m.Variables) > 1:
				odd(&m.Variables[at%2].Name)
			case len(m.Variables) == 1:
				odd(&m.Variables[0].Text[at%m.States()])
			}
		}
		name := []string{"m.umb", "m.tra", "m.drn", "m.json"}[i%4]
		if i%20 < 2 { // they take longer
			name = []string{"m.npz", "k/"}[i%20]
		}
		files, err := tryWrite(name, m)
		if err != nil || m.Choices() == 0 {
			continue
		}
		count[name]++
		again, err := formats.Read(files, name, formats.LanguageOptions{})
		if err == nil {
			err = exchangetest.Same(asIn(name, m), asIn(name, again))
		}
		if err != nil {
			t.Fatalf("%d, %s: %v of labels %q, rewards %q, actions %q and %q, states %q", i, name, err, m.Labels,
				m.RewardNames(), m.ChoiceActions, m.BranchActions, m.StateNames())
		}
	}
	for name, n := range count {
		if n < 10 || len(count) < 6 {
			t.Errorf("%d models were written to %s", n, name)
		}
	}
}

// changedNumber is a text in which a whole number is another by one, and, now and then, that of the lines that follow
// and begin in the same way.
func changedNumber(rng *rand.Rand, text string) string {
	words := regexp.MustCompile(`[\w.+-]+`)
	lines := strings.SplitAfter(text, "\n")
	number := func(line string, word int) []int {
		all := words.FindAllStringIndex(line, -1)
		if word >= len(all) || strings.Trim(line[all[word][0]:all[word][1]], "0123456789") != "" {
			return nil
		}
		return all[word]
	}
	var at []int
	first, word := 0, 0
	for at == nil {
		first, word = rng.IntN(len(lines)), rng.IntN(6)
		at = number(lines[first], word)
	}
	begin := lines[first][:at[1]]
	x, _ := strconv.Atoi(begin[at[0]:])
	x = max(x+[]int{1, -1}[rng.IntN(2)], 1-x) // 1 for 0
	last := first + 1
	if rng.IntN(2) == 0 {
		last = len(lines)
	}
	for k := first; k < last; k++ {
		at := number(lines[k], word)
		if at == nil || lines[k][:at[1]] != begin {
			break
		}
		lines[k] = lines[k][:at[0]] + strconv.Itoa(x) + lines[k][at[1]:]
	}
	return strings.Join(lines, "")
}

// changedLine is a text in which a line that begins with a number stands twice, or not at all.
func changedLine(rng *rand.Rand, text string) string {
	lines := strings.SplitAfter(text, "\n")
	for {
		k := rng.IntN(len(lines))
		if line := strings.Trim(lines[k], "\t\n"); line != "" && line[0] >= '0' && line[0] <= '9' {
			return strings.Join(slices.Replace(lines, k, k+1, slices.Repeat(lines[k:k+1], 2*rng.IntN(2))...), "")
		}
	}
}

// TestChangedNumbers changes whole numbers of a text by one, or leaves out a line or repeats it: what is then there is
// refused, or says something else.
func TestChangedNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(64, 6))
	for _, name := range []string{"m.tra", "m.drn", "m.json"} {
		refused, changed := 0, 0
		for i := range 400 {
			has := exchangetest.Has{Names: true, StateRewards: true, Rests: true}
			has.Actions, has.Intervals, has.Chain = name != "m.json", name != "m.json", name != "m.json"
			m := exchangetest.Random(rng, has)
			if m.Choices() == 0 {
				continue
			}
			files := written(t, name, m)
			before, err := formats.Read(files, name, formats.LanguageOptions{})
			if err != nil {
				t.Fatal(err)
			}
			file := slices.Sorted(maps.Keys(files))[rng.IntN(len(files))]
			if i%2 == 0 && name == "m.tra" {
				file = name
			}
			text := string(files[file].Data)
			if strings.HasPrefix(text, "# States\n(s)") {
				continue // the names are in comments
			}
			now := changedNumber(rng, text)
			if i%4 == 0 && name != "m.json" && file != "m.lab" { // which may say things twice
				now = changedLine(rng, text)
			}
			files[file].Data = []byte(now)
			after, err := formats.Read(files, name, formats.LanguageOptions{})
			switch {
			case err != nil:
				refused++
			case exchangetest.Same(before, after) == nil:
				t.Fatalf("%d: %s says the same:\n%s\nas\n%s", i, file, now, text)
			default:
				changed++
			}
		}
		if refused < 50 || changed < 50 {
			t.Errorf("%s: %d texts were refused and %d changed", name, refused, changed)
		}
	}
}

// TestPlayersOfLanguages: the player that plans is the first one of the model, whichever it is there, and what is
// earned on entering states has a name of its own.
func TestPlayersOfLanguages(t *testing.T) {
	const duel = "smg\nplayer one [a] endplayer\nplayer two [b] endplayer\nmodule m\n  x : [0..2];\n" +
		"  [a] x=0 -> (x'=1);\n  [b] x=1 -> 0.5:(x'=2) + 0.5:(x'=0);\nendmodule\n" +
		"rewards \"r\" [a] true : 3; endrewards\n"
	files := fstest.MapFS{"m.prism": {Data: []byte(duel)}}
	for _, agent := range []string{"", "one", "two", "three"} {
		for _, name := range []string{"goal", "r"} {
			o := formats.LanguageOptions{Agent: agent, Entering: map[string]string{name: "x=2"}}
			m, err := formats.Read(files, "m.prism", o)
			if wrong := agent == "three" || name == "r"; wrong || err != nil {
				want := map[bool]string{true: "the model has rewards r", false: "is no player"}[name == "r"]
				if !wrong || err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("agent %q, entering %s: %v: want %s", agent, name, err, want)
				}
				continue
			}
			for s, owner := range []string{"one", "two"} { // in the order in which they are met
				if got := m.PlayerNames[m.Owner[s]]; got != owner {
					t.Errorf("agent %q: state %d belongs to %s: want %s", agent, s, got, owner)
				}
			}
			if got := m.PlayerNames[0]; agent != "" && got != agent {
				t.Errorf("agent %q: %s plans", agent, got)
			}
			r, to2 := m.Reward(name), 0.0
			for e, to := range m.Target {
				s := map[bool]int{true: 1}[e > 0]
				if x := r.Total(s, s, e); x != map[bool]float64{true: 1}[to == 2] {
					t.Errorf("entering state %d earns %g", to, x)
				}
				to2 += r.Total(s, s, e)
			}
			if to2 != 1 {
				t.Errorf("entering earns %g in all: want 1", to2)
			}
		}
	}
}

// TestLanguageOptions: a model in a language begins where it says, in one state unless several are asked for, states
// that are to be at rest have no choices, errors name the file as they are told, and written states keep their names.
func TestLanguageOptions(t *testing.T) {
	const walk = "mdp\nmodule m\n  x : [0..3];\n  [] x<3 -> 0.5:(x'=x+1) + 0.5:(x'=0);\n  [] x=3 -> true;\nendmodule\n"
	files := fstest.MapFS{"m.prism": {Data: []byte(walk + "init x<2 endinit\n")}, "one.prism": {Data: []byte(walk)}}
	for _, several := range []bool{false, true} {
		for _, rest := range []string{"", "x=2", "x=", "false"} {
			for _, name := range []string{"m.prism", "one.prism"} {
				o := formats.LanguageOptions{Path: "elsewhere.prism", Rest: rest, AnyStart: several}
				m, err := formats.Read(files, name, o)
				want := ""
				switch {
				case name == "m.prism" && !several:
					want = "elsewhere.prism:7:7: 2 initial states"
				case rest == "x=":
					want = "the condition of states at rest: "
				}
				if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("%s, at rest %q, any start %t: %v: want %s", name, rest, several, err, want)
				}
				if err != nil {
					continue
				}
				choices := 4
				if rest == "x=2" {
					choices = 2 // state 3 is not met
				}
				again, err := formats.Read(written(t, "m.umb", m), "m.umb", formats.LanguageOptions{})
				if err != nil || m.Choices() != choices || m.Described.StateName(1) != again.StateNames()[1] {
					t.Errorf("%s, at rest %q: %d choices, error %v, names %q: want %d", name, rest, m.Choices(), err,
						again.StateNames(), choices)
				}
			}
		}
	}
}

// TestDeadlocks takes a state that tools say had no choices from one format to the next: the loop
// that they gave it goes, unless something is earned there.
func TestDeadlocks(t *testing.T) {
	m := &exchange.Model{
		Players: 1, Start: exchange.UniformStart([]int32{0}), First: []int32{0, 1, 2, 3}, Offset: []int{0, 1, 2, 3},
		Target:      []int32{1, 1, 2},
		Probability: []float64{1, 1, 1}, Labels: []exchange.Label{{Name: exchange.Deadlock, States: []int32{1, 2}}},
		Rewards: []exchange.Reward{{Name: "r", Choice: []float64{0, 2, 0}}},
	}
	var want *exchange.Model
	for _, name := range []string{"m.umb", "m.drn", "m.tra", "m.umb"} {
		files := fstest.MapFS{}
		create := func(name string) (io.WriteCloser, error) { return &closer{to: files, name: name}, nil }
		if err := formats.Write(create, name, m, umb.WriteOptions{}); err != nil {
			t.Fatal(name, err)
		}
		var err error
		if m, err = formats.Read(files, name, formats.LanguageOptions{}); err != nil {
			t.Fatal(name, err)
		}
		states, _ := m.Label(exchange.Deadlock)
		if m.Choices() != 2 || m.First[2] != m.First[3] || !slices.Equal(states, []int32{1}) {
			t.Errorf("%s: %d choices, deadlocks %v: want one fewer, and state 1", name, m.Choices(), states)
		}
		if want == nil {
			want = m
		}
		if err := exchangetest.Same(want, m); err != nil {
			t.Error(name, err)
		}
	}
}
