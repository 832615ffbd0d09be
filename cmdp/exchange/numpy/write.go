package numpy

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cmdpsolve/cmdp/exchange"

	"github.com/klauspost/compress/flate"
)

// densest is the most probabilities that Write puts into a dense array.
const densest = 1 << 28

// Write writes a model with a dense kernel, see [Read]. Models whose kernel has
// more than 2²⁸ entries, games, and rewards of branches are errors. Branches of a
// choice that lead to the same state become one, with the sum of their
// probabilities, and choices stand in the order of the actions.
func Write(w io.Writer, m *exchange.Model) error {
	k, err := newKernel(m)
	if err != nil {
		return fmt.Errorf("numpy: %w", err)
	}
	states, actions := m.States(), max(1, len(k.actions))
	if actions > densest/states || actions*states > densest/states {
		return fmt.Errorf("numpy: a dense kernel of %d states and %d actions has too many entries: write a folder "+
			"of sparse matrices", states, actions)
	}
	f := NewWriter(w)
	shape := []int{states, actions, states}
	if m.Players == 0 {
		shape = []int{states, states}
	}
	f.array("P", "<f8", shape, func(out *bufio.Writer) {
		row := make([]float64, states)
		for s := range states {
			for a := range actions {
				clear(row)
				if c := k.choice(s, a); c >= 0 {
					for e := m.Offset[c]; e < m.Offset[c+1]; e++ {
						row[m.Target[e]] += m.Probability[e]
					}
				}
				floats(out, row)
			}
		}
	})
	k.rest(f, m.Players == 0)
	return f.Close()
}

// WriteFolder writes a model with a sparse kernel, see [ReadFolder], to files
// P_0.npz, P_1.npz, … and model.npz, made by create and closed once whole. What is an error for Write is
// one here, but for the size.
func WriteFolder(create func(name string) (io.WriteCloser, error), m *exchange.Model) error {
	k, err := newKernel(m)
	if err != nil {
		return fmt.Errorf("numpy: %w", err)
	}
	save := func(name string, fill func(f *Writer)) error {
		out, err := create(name)
		if err != nil {
			return fmt.Errorf("numpy: %w", err)
		}
		f := NewWriter(out)
		fill(f)
		if err := f.Close(); err != nil {
			return err
		}
		return out.Close()
	}
	for a := range max(1, len(k.actions)) {
		if err := save("P_"+strconv.Itoa(a)+".npz", func(f *Writer) { k.matrix(f, a) }); err != nil {
			return err
		}
	}
	return save("model.npz", func(f *Writer) { k.rest(f, false) }) // nothing in a folder tells a Markov chain
}

// A kernel says which choice of a state each action is.
type kernel struct {
	m       *exchange.Model
	actions []string // the number of each, or its name
	named   bool
	of      []int32 // the action of each choice
}

func newKernel(m *exchange.Model) (*kernel, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	switch {
	case m.Players > 1:
		return nil, fmt.Errorf("the arrays have no games")
	case m.BranchActions != nil || m.Players == 0 && m.ChoiceActions != nil:
		return nil, fmt.Errorf("the arrays have no action names of branches, nor any in a Markov chain")
	}
	if err := m.NoIntervals("the arrays"); err != nil {
		return nil, err
	}
	if err := m.NoBranchRewards("R[s,a,d]"); err != nil {
		return nil, err
	}
	names := m.DistinctActions()
	k := &kernel{m: m, named: names != nil}
	var actions exchange.ActionNames
	for s := range m.States() {
		for c := m.First[s]; c < m.First[s+1]; c++ {
			name := strconv.Itoa(int(c - m.First[s]))
			if k.named {
				name = names[c]
			}
			actions.Add(name)
		}
	}
	if a := actions.Actions(); a != nil { // nil without choices
		k.actions, k.of = a.Names, a.Of
	}
	return k, nil
}

// choice returns the choice that an action is in a state, or −1.
func (k *kernel) choice(s, a int) int {
	for c := k.m.First[s]; c < k.m.First[s+1]; c++ {
		if int(k.of[c]) == a {
			return int(c)
		}
	}
	return -1
}

// matrix writes the transitions of an action as SciPy saves a matrix in CSR form.
func (k *kernel) matrix(f *Writer, a int) {
	m := k.m
	indptr, indices, data := make([]float64, 1, m.States()+1), []float64(nil), []float64(nil)
	for s := range m.States() {
		if c := k.choice(s, a); c >= 0 {
			order := make([]int, 0, m.Offset[c+1]-m.Offset[c])
			for e := m.Offset[c]; e < m.Offset[c+1]; e++ {
				order = append(order, e)
			}
			slices.SortStableFunc(order, func(x, y int) int { return int(m.Target[x]) - int(m.Target[y]) })
			from := len(indices)
			for _, e := range order {
				if n := len(indices); n > from && indices[n-1] == float64(m.Target[e]) {
					data[n-1] += m.Probability[e]
					continue
				}
				indices, data = append(indices, float64(m.Target[e])), append(data, m.Probability[e])
			}
		}
		indptr = append(indptr, float64(len(indices)))
	}
	whole := func(name string, values []float64, width int) {
		f.array(name, "<i"+strconv.Itoa(width), []int{len(values)}, func(out *bufio.Writer) {
			b := make([]byte, 8)
			for _, v := range values {
				binary.LittleEndian.PutUint64(b, uint64(v))
				out.Write(b[:width])
			}
		})
	}
	width := 4
	if len(indices) > math.MaxInt32 {
		width = 8
	}
	whole("indices", indices, width)
	whole("indptr", indptr, width)
	f.array("format", "|S3", nil, func(out *bufio.Writer) { out.WriteString("csr") })
	whole("shape", []float64{float64(m.States()), float64(m.States())}, 8)
	f.Floats("data", data)
}

// rest writes everything but the transitions. Beside those of a Markov chain rewards have no dimension of actions.
func (k *kernel) rest(f *Writer, chain bool) {
	m := k.m
	states, actions, d := m.States(), max(1, len(k.actions)), len(m.Rewards)
	if d > 0 {
		shape := []int{states, actions, d}
		if chain {
			shape = []int{states, d}
		}
		f.array("R", "<f8", shape, func(out *bufio.Writer) {
			row := make([]float64, d)
			for s := range states {
				for a := range actions {
					c := k.choice(s, a)
					for i := range row {
						row[i] = 0
						if c >= 0 {
							row[i] = m.Rewards[i].Step(s, c)
						}
					}
					floats(out, row)
				}
			}
		})
		f.Strings("rewards", m.RewardNames())
	}
	if len(m.Start) > 0 {
		f.Floats("start", m.StartProbabilities())
	}
	if k.named {
		f.Strings("actions", k.actions)
	}
	if names := m.StateNames(); names != nil {
		f.Strings("states", names)
	}
	for _, l := range m.Labels {
		f.array("label."+l.Name, "|b1", []int{states}, func(out *bufio.Writer) {
			b := make([]byte, states)
			for _, s := range l.States {
				b[s] = 1
			}
			out.Write(b)
		})
	}
}

// A Writer writes an .npz file, array by array. [Writer.Close] tells what went wrong.
type Writer struct {
	zip *zip.Writer
	err error
}

// NewWriter returns a writer to w.
func NewWriter(w io.Writer) *Writer {
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate,
		func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.DefaultCompression) })
	return &Writer{zip: z}
}

// Close ends the file. It does not close what it is written to.
func (f *Writer) Close() error {
	if f.err == nil {
		f.err = f.zip.Close()
	}
	if f.err != nil {
		return fmt.Errorf("numpy: %w", f.err)
	}
	return nil
}

// Floats writes an array of float64 of one dimension.
func (f *Writer) Floats(name string, values []float64) {
	f.array(name, "<f8", []int{len(values)}, func(out *bufio.Writer) { floats(out, values) })
}

// Ints writes an array of int64 of one dimension.
func (f *Writer) Ints(name string, values []int64) {
	f.array(name, "<i8", []int{len(values)}, func(out *bufio.Writer) {
		for _, v := range values {
			out.Write(binary.LittleEndian.AppendUint64(out.AvailableBuffer(), uint64(v)))
		}
	})
}

// array writes an array in the format .npy, version 1.
func (f *Writer) array(name, descr string, shape []int, fill func(out *bufio.Writer)) {
	if f.err != nil {
		return
	}
	w, err := f.zip.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Deflate})
	if err != nil {
		f.err = err
		return
	}
	text := fmt.Sprint(shape)
	text = strings.ReplaceAll(text[1:len(text)-1], " ", ", ")
	if len(shape) == 1 {
		text += ","
	}
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, text)
	head += strings.Repeat(" ", 63-(len(head)+10)%64) + "\n"
	out := bufio.NewWriterSize(w, 1<<16)
	out.WriteString("\x93NUMPY\x01\x00")
	out.Write(binary.LittleEndian.AppendUint16(nil, uint16(len(head))))
	out.WriteString(head)
	fill(out)
	f.err = out.Flush()
}

func floats(out *bufio.Writer, values []float64) {
	b := make([]byte, 8)
	for _, x := range values {
		binary.LittleEndian.PutUint64(b, math.Float64bits(x))
		out.Write(b)
	}
}

// Strings writes an array of text of one dimension.
func (f *Writer) Strings(name string, all []string) {
	most := 1
	for _, s := range all {
		most = max(most, utf8.RuneCountInString(s))
		if f.err == nil && strings.HasSuffix(s, "\x00") {
			f.err = fmt.Errorf("%s: the name %q ends with a zero, which NumPy drops", name, s)
		}
	}
	f.array(name, "<U"+strconv.Itoa(most), []int{len(all)}, func(out *bufio.Writer) {
		for _, s := range all {
			n := 0
			for _, r := range s {
				out.Write(binary.LittleEndian.AppendUint32(nil, uint32(r)))
				n++
			}
			out.Write(make([]byte, 4*(most-n)))
		}
	})
}
