package umb

import (
	"archive/tar"
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"

	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/internal/source"
)

// WriteOptions says how a file is written. The zero value writes doubles, compressed
// with gzip as the other tools do.
type WriteOptions struct {
	Compression Compression
	// Rational writes probabilities and rewards as the fractions that the float64
	// are, exactly. A start distribution stays one of doubles.
	Rational bool
}

// A Compression is how a whole file is compressed.
type Compression int

const (
	Gzip Compression = iota
	XZ               // smaller, and slower
	Plain
)

// Write writes a model, which must pass [exchange.Model.Check]. The same model
// gives the same bytes.
func Write(w io.Writer, m *exchange.Model, o WriteOptions) error {
	if err := m.Check(); err != nil {
		return fmt.Errorf("umb: %w", err)
	}
	z, err := source.Pack(w, [...]string{"gz", "xz", ""}[o.Compression])
	if err != nil {
		return fmt.Errorf("umb: %w", err)
	}
	f := &writer{m: m, tar: tar.NewWriter(z), rational: o.Rational}
	f.describe()
	f.files()
	if err = f.err; err == nil {
		err = f.tar.Close()
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return fmt.Errorf("umb: %w", err)
	}
	return nil
}

type writer struct {
	m        *exchange.Model
	x        index
	tar      *tar.Writer
	rational bool
	rewards  []string // identifiers
	labels   []string
	values   *packing // of states; nil without variables
	err      error
}

// describe makes index.json.
func (f *writer) describe() {
	m := f.m
	f.x = index{Version: 1, File: &fileData{Tool: "cmdpsolve"}, Model: &modelData{}}
	f.x.System = system{
		Time: "discrete", Players: uint64(m.Players), States: uint64(m.States()), Initial: uint64(len(m.Start)),
		Choices: uint64(m.Choices()), Branches: uint64(m.Branches()),
		Probability: f.number(m.Probability),
	}
	if m.Lower != nil {
		f.x.System.Probability = f.number(m.Lower, m.Upper)
		f.x.System.Probability.Type += "-interval"
		f.x.System.Probability.Size *= 2
	}
	if m.Players > 1 {
		f.x.System.PlayerNames = m.PlayerNames
	}
	if m.ChoiceActions != nil {
		f.x.System.ChoiceActions = uint64(len(m.ChoiceActions.Names))
	}
	if m.BranchActions != nil {
		f.x.System.BranchActions = uint64(len(m.BranchActions.Names))
	}
	f.describeAnnotations()
	if len(m.Variables) > 0 {
		f.values = pack(m)
		f.x.Values = &struct {
			States *valuation `json:"states,omitempty"`
		}{f.values.describe()}
	}
}

func (f *writer) describeAnnotations() {
	add := func(group string, members ids) {
		if len(members.keys) > 0 {
			f.x.Groups.add(group, members)
		}
	}
	var rewards, labels, start ids
	for i := range f.m.Rewards {
		r := &f.m.Rewards[i]
		a := annotation{Alias: &r.Name, Type: *f.number(r.State, r.Choice, r.Branch)}
		for _, of := range []struct {
			entity string
			values []float64
		}{{"states", r.State}, {"choices", r.Choice}, {"branches", r.Branch}} {
			if of.values != nil {
				a.AppliesTo = append(a.AppliesTo, of.entity)
			}
		}
		if a.AppliesTo == nil {
			a.AppliesTo = []string{"states"} // all of them 0, by default
		}
		rewards.add(identifier(r.Name, rewards.keys), a)
	}
	for i := range f.m.Labels {
		name := &f.m.Labels[i].Name
		labels.add(identifier(*name, labels.keys), annotation{Alias: name, AppliesTo: []string{"states"},
			Type: numType{"bool", 1}})
	}
	if !f.m.StartIsUniform() {
		start.add("probability", annotation{AppliesTo: []string{"states"}, Type: numType{"double", 64}})
	}
	f.rewards, f.labels = rewards.keys, labels.keys
	add("rewards", rewards)
	add("aps", labels)
	add("start", start)
}

// identifier turns a name into one of small letters, digits, _ and - that is not
// taken.
func identifier(name string, taken []string) string {
	b := []byte(name)
	for i, c := range b {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_', c == '-':
		case c >= 'A' && c <= 'Z':
			b[i] = c - 'A' + 'a'
		default:
			b[i] = '_'
		}
	}
	id := string(b)
	for n := 2; slices.Contains(taken, id); n++ {
		id = string(b) + "-" + strconv.Itoa(n)
	}
	return id
}

// number returns the type that holds all values: doubles, or rationals of the least
// size.
func (f *writer) number(all ...[]float64) *numType {
	if !f.rational {
		return &numType{"double", 64}
	}
	half := 64
	for _, values := range all {
		for _, x := range values {
			r := new(big.Rat).SetFloat64(x)
			// A numerator has a sign, a denominator has none.
			for half < r.Num().BitLen()+1 || half < r.Denom().BitLen() {
				half += 64
			}
		}
	}
	return &numType{"rational", uint64(2 * half)}
}

// files writes the archive.
func (f *writer) files() {
	m := f.m
	text, err := json.MarshalIndent(&f.x, "", "  ")
	if err != nil {
		f.err = err
		return
	}
	f.file("index.json", int64(len(text)), func(w *bufio.Writer) { w.Write(text) })
	wholes(f, "state-to-choices.bin", m.First, 8)
	if m.Players > 1 && m.Owner != nil {
		wholes(f, "state-to-player.bin", m.Owner, 4)
	}
	initial := make([]int32, len(m.Start))
	for i, st := range m.Start {
		initial[i] = st.State
	}
	f.bits("state-is-initial.bin", initial)
	wholes(f, "choice-to-branches.bin", m.Offset, 8)
	wholes(f, "branch-to-target.bin", m.Target, 8)
	f.probabilities()
	f.actions("actions/choices/", m.ChoiceActions)
	f.actions("actions/branches/", m.BranchActions)
	for i, id := range f.labels {
		f.bits("annotations/aps/"+id+"/states/values.bin", m.Labels[i].States)
	}
	for i, id := range f.rewards {
		r, folder := &m.Rewards[i], "annotations/rewards/"+id+"/"
		rewards, _ := f.x.Groups.get("rewards")
		t := &rewards.values[i].Type
		f.numbers(folder+"states/values.bin", r.State, t)
		f.numbers(folder+"choices/values.bin", r.Choice, t)
		f.numbers(folder+"branches/values.bin", r.Branch, t)
	}
	if !m.StartIsUniform() {
		f.numbers("annotations/start/probability/states/values.bin", m.StartProbabilities(), &numType{"double", 64})
	}
	if f.values != nil {
		f.values.write(f)
	}
}

// probabilities writes those of branches, or their intervals.
func (f *writer) probabilities() {
	m := f.m
	single, is := f.x.System.Probability.interval()
	values := m.Probability
	if is {
		values = make([]float64, 0, 2*len(m.Lower))
		for e, l := range m.Lower {
			values = append(values, l, m.Upper[e])
		}
	}
	f.numbers("branch-to-probability.bin", values, single)
}

// file writes a file of the given length, which fill must keep to.
func (f *writer) file(name string, size int64, fill func(w *bufio.Writer)) {
	if f.err != nil {
		return
	}
	f.err = f.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644})
	if f.err !=
		nil {
		return
	}
	w := bufio.NewWriterSize(f.tar, chunk)
	fill(w)
	if err := w.Flush(); err != nil {
		f.err = fmt.Errorf("%s: %w", name, err)
	}
}

// wholes writes numbers of the given width in bytes.
func wholes[T int | int32](f *writer, name string, values []T, width int) {
	f.file(name, int64(width)*int64(len(values)), func(w *bufio.Writer) {
		var b [8]byte
		for _, v := range values {
			order.PutUint64(b[:], uint64(v))
			w.Write(b[:width])
		}
	})
}

// bits writes a set of states.
func (f *writer) bits(name string, states []int32) {
	b := make([]byte, (f.m.States()+63)/64*8)
	for _, s := range states {
		b[s/8] |= 1 << (s % 8)
	}
	f.file(name, int64(len(b)), func(w *bufio.Writer) { w.Write(b) })
}

// numbers writes doubles or rationals; nothing for nil.
func (f *writer) numbers(name string, values []float64, t *numType) {
	if values == nil {
		return
	}
	width := int(t.bits() / 8)
	f.file(name, int64(len(values))*int64(width), func(w *bufio.Writer) {
		b := make([]byte, width)
		for _, x := range values {
			if t.Type == "double" {
				order.PutUint64(b, math.Float64bits(x))
			} else {
				fraction(b, x)
			}
			w.Write(b)
		}
	})
}

// fraction writes x as a numerator and a denominator.
func fraction(b []byte, x float64) {
	half := len(b) / 2
	r := new(big.Rat).SetFloat64(x)
	num := new(big.Int).Set(r.Num())
	if num.Sign() < 0 { // two's complement
		num.Add(num, new(big.Int).Lsh(big.NewInt(1), uint(8*half)))
	}
	for i, v := range []*big.Int{num, r.Denom()} {
		part := b[i*half : (i+1)*half]
		v.FillBytes(part)
		for j, k := 0, half-1; j < k; j, k = j+1, k-1 {
			part[j], part[k] = part[k], part[j]
		}
	}
}

func (f *writer) actions(folder string, a *exchange.Actions) {
	if a == nil {
		return
	}
	wholes(f, folder+"values.bin", a.Of, 4)
	f.strings(folder, a.Names)
}

func (f *writer) strings(folder string, all []string) {
	at, text := make([]int, 1, len(all)+1), []byte(nil)
	for _, s := range all {
		text = append(text, s...)
		at = append(at, len(text))
	}
	wholes(f, folder+"string-mapping.bin", at, 8)
	f.file(folder+"strings.bin", int64(len(text)), func(w *bufio.Writer) { w.Write(text) })
}
