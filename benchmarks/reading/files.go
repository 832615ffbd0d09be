package main

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/exchange/umb"
)

// A file is a kind of file: a problem, and the file that holds its rows, which may be the
// same.
type file struct {
	name, about, data string
	by                []string
	fill              func(f *file, w *bufio.Writer, o *options) (states, transitions int, err error)
}

const head = "format: cmdp/1\nhorizon: 10\nstates: %d\nstart: 0\nreturns: [reward, cost]\ngoal: {maximize: reward}\n"

var files = []file{
	{"npz", "arrays of int64 and float64 as `numpy.savez` writes them, state by state; 4 actions, 5 successors of " +
		"each, 2 returns", "rows.npz",
		[]string{model, numpy, bare}, npz(zip.Store, inOrder, 5, false)},
	{"npz one successor", "the same with one successor of each action", "rows.npz", []string{model, numpy, bare},
		npz(zip.Store, inOrder, 1, false)},
	{"npz random returns", "the same with returns of each transition", "rows.npz", []string{model, numpy, bare},
		npz(zip.Store, inOrder, 5, true)},
	{"npz in disorder", "the same with the transitions in random order; a permutation only moves as many records of 40 bytes", "rows.npz", []string{model, permute, numpy, bare}, npz(zip.Store, disorder, 5, false)},
	{"npz compressed", "the same as `numpy.savez_compressed` writes it; archive/zip and klauspost/compress only unpack it", "rows.npz", []string{model, goZip, inflate, numpy, bare}, npz(zip.Deflate, inOrder, 5, false)},
	{"UMB", "the same model with a reward for each choice, without compression", "rows.umb", []string{model, bare},
		binaryFile},
	{"UMB compressed", "the same with gzip, as other tools write it", "rows.umb", []string{model, bare}, binaryFile},
	{"CSV", "a line for each transition", "rows.csv", []string{model, goCSV, numpy, bare},
		text("state,action,next,probability,reward,cost\n", csvRow, "")},
	{"JSONL", "a row on each line", "rows.jsonl", []string{model, goLines, bare}, text("", jsonLine, "")},
	{"JSON", "one document", "problem.json", []string{model, goJSON, bare}, text("", jsonItem, "]}\n")},
	{"YAML", "one document, each row in braces on a line", "problem.yaml", []string{model, bare},
		text("transitions:\n", yamlRow, "")},
	{"YAML, short", "the same, a twentieth as long", "problem.yaml", []string{model, goYAML, bare},
		short(text("transitions:\n", yamlRow, ""))},
	{"YAML blocks, short", "one document without braces, a twentieth as long", "problem.yaml",
		[]string{model, goYAML, bare}, short(text("transitions:\n", blockRow, ""))},
}

// write writes the files of a problem and returns the path of the problem.
func (f *file) write(folder string, o *options) (path string, transitions int, err error) {
	folder, err = os.MkdirTemp(folder, "file")
	if err != nil {
		return "", 0, err
	}
	out, err := os.Create(filepath.Join(folder, f.data))
	if err != nil {
		return "", 0, err
	}
	w := bufio.NewWriterSize(out, 1<<20)
	states, transitions, err := f.fill(f, w, o)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = out.Close()
	}
	if err != nil || !strings.HasPrefix(f.data, "rows") {
		return out.Name(), transitions, err
	}
	path = filepath.Join(folder, "problem.yaml")
	return path, transitions, os.WriteFile(path, fmt.Appendf(nil, head+"transitions: {file: %s}\n", states, f.data),
		0o644)
}

// A choice is what the rows of all files say, made from the number of the choice.
type choice struct {
	state, action int
	next          []int
	prob, returns []float64
}

const actions, successors = 4, 5

// stored is how many bytes of an .npz file a transition takes: six numbers.
const stored = 48

func (c *choice) set(number, states, successors int) {
	rng := rand.New(rand.NewPCG(1, uint64(number)))
	c.state, c.action = number/actions, number%actions
	c.next, c.prob, c.returns = c.next[:0], c.prob[:0],
		append(c.returns[:0], rng.NormFloat64(), math.Round(rng.Float64()*1000)/1000)
	left, part := 1.0, states/successors
	for i := range successors {
		p := left
		if i < successors-1 {
			p = left * rng.Float64()
		}
		left -= p
		c.next, c.prob = append(c.next, (c.state+i*part+rng.IntN(part))%states), append(c.prob, p)
	}
}

// text fills a file with rows until it is long enough. A document begins with the head of a
// problem. The states are as many as a first pass counts.
func text(before string, row func(b []byte, c *choice, first bool) []byte, after string) func(*file, *bufio.Writer,
	*options) (int, int, error) {
	return func(f *file, w *bufio.Writer, o *options) (int, int, error) {
		const sample = 10_000
		var c choice
		var b []byte
		for n := range sample {
			c.set(n, 1_000_000, successors)
			b = row(b, &c, false)
		}
		states := max(1, o.megabytes*1_000_000/len(b)*sample/actions)
		switch {
		case strings.HasSuffix(f.data, ".json"):
			fmt.Fprintf(w, `{"format": "cmdp/1", "horizon": 10, "states": %d, "start": 0, "returns": ["reward", "cost"], "transitions": [`, states)
		case strings.HasSuffix(f.data, ".yaml"):
			fmt.Fprintf(w, head, states)
		}
		w.WriteString(before)
		for n := range states * actions {
			c.set(n, states, successors)
			b = row(b[:0], &c, n == 0)
			w.Write(b)
		}
		_, err := w.WriteString(after)
		return states, states * actions * successors, err
	}
}

// short makes files of a twentieth of the length.
func short(fill func(*file, *bufio.Writer, *options) (int, int, error)) func(*file, *bufio.Writer,
	*options) (int, int, error) {
	return func(f *file, w *bufio.Writer, o *options) (int, int, error) {
		less := *o
		less.megabytes = max(1, o.megabytes/20)
		return fill(f, w, &less)
	}
}

func number(b []byte, x float64) []byte { return strconv.AppendFloat(b, x, 'g', -1, 64) }

func csvRow(b []byte, c *choice, _ bool) []byte {
	for i, next := range c.next {
		b = fmt.Appendf(b, "%d,%d,%d,", c.state, c.action, next)
		b = append(number(b, c.prob[i]), ',')
		b = append(number(b, c.returns[0]), ',')
		b = append(number(b, c.returns[1]), '\n')
	}
	return b
}

func braces(b []byte, c *choice, quote string) []byte {
	b = fmt.Appendf(b, "{%[1]sstate%[1]s: %[2]d, %[1]saction%[1]s: %[3]d, %[1]snext%[1]s: {", quote, c.state, c.action)
	for i, next := range c.next {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = number(fmt.Appendf(b, "%[1]s%[2]d%[1]s: ", quote, next), c.prob[i])
	}
	b = number(fmt.Appendf(b, "}, %[1]sreturns%[1]s: [", quote), c.returns[0])
	return append(number(append(b, ", "...), c.returns[1]), "]}"...)
}

func jsonLine(b []byte, c *choice, _ bool) []byte { return append(braces(b, c, `"`), '\n') }

func jsonItem(b []byte, c *choice, first bool) []byte {
	if !first {
		b = append(b, ",\n"...)
	}
	return braces(b, c, `"`)
}

func yamlRow(b []byte, c *choice, _ bool) []byte {
	return append(braces(append(b, "  - "...), c, ""), '\n')
}

func blockRow(b []byte, c *choice, _ bool) []byte {
	b = fmt.Appendf(b, "- action: %d\n  next:\n", c.action)
	for i, next := range c.next {
		b = append(number(fmt.Appendf(b, "    %d: ", next), c.prob[i]), '\n')
	}
	b = append(number(append(b, "  returns:\n  - "...), c.returns[0]), '\n')
	return fmt.Appendf(number(append(b, "  - "...), c.returns[1]), "\n  state: %d\n", c.state)
}

// An order says which transition stands at place i of n.
type order func(i, n int) int

func inOrder(i, _ int) int { return i }

// disorder steps through the transitions by a number that has no divisor in common with n.
func disorder(i, n int) int {
	step := int(0.618*float64(n)) | 1
	for gcd(step, n) != 1 {
		step += 2
	}
	return i * step % n
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// ofUMB says how the files in the format UMB are compressed.
var ofUMB = map[string]umb.Compression{"UMB": umb.Plain, "UMB compressed": umb.Gzip}

// binaryFile has another process write the model, because a process that is started counts
// the peak of the one that starts it as its own.
func binaryFile(f *file, w *bufio.Writer, o *options) (states, transitions int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, 0, err
	}
	cmd := exec.Command(self, "--job", write, "--transitions", strconv.Itoa(o.transitions), f.name)
	cmd.Stdout, cmd.Stderr = w, os.Stderr
	states = o.transitions / (successors * actions)
	return states, states * actions * successors, cmd.Run()
}

// writeUMB writes the choices as a model in the format UMB.
func writeUMB(w io.Writer, transitions int, c umb.Compression) error {
	states := transitions / (successors * actions)
	m := exchange.Empty(1)
	m.Start = []exchange.Start{{State: 0, Probability: 1}}
	m.Rewards = []exchange.Reward{{Name: "reward"}, {Name: "cost"}}
	var row choice
	for n := range states * actions {
		row.set(n, states, successors)
		for i, next := range row.next {
			m.Target, m.Probability = append(m.Target, int32(next)), append(m.Probability, row.prob[i])
		}
		m.Offset = append(m.Offset, len(m.Target))
		for k := range m.Rewards {
			m.Rewards[k].Choice = append(m.Rewards[k].Choice, row.returns[k])
		}
		if row.action == actions-1 {
			m.First = append(m.First, int32(n+1))
		}
	}
	return umb.Write(w, m, umb.WriteOptions{Compression: c})
}

// npz writes arrays one after the other, each from the same choices.
func npz(method uint16, at order, successors int, random bool) func(*file, *bufio.Writer, *options) (int, int, error) {
	return func(f *file, w *bufio.Writer, o *options) (int, int, error) {
		states := o.transitions / (successors * actions)
		n := states * successors * actions
		z := zip.NewWriter(w)
		for _, key := range []string{"state", "action", "next", "probability", "returns"} {
			out, err := z.CreateHeader(&zip.FileHeader{Name: key + ".npy", Method: method})
			if err != nil {
				return 0, 0, err
			}
			if err := array(out, key, at, n, states, successors, random); err != nil {
				return 0, 0, err
			}
		}
		return states, n, z.Close()
	}
}

func array(out io.Writer, key string, at order, n, states, successors int, random bool) error {
	w := bufio.NewWriterSize(out, 1<<16)
	descr, shape := "<i8", fmt.Sprintf("(%d,)", n)
	if key == "probability" || key == "returns" {
		descr = "<f8"
	}
	if key == "returns" {
		shape = fmt.Sprintf("(%d, 2)", n)
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)
	text += strings.Repeat(" ", 63-(10+len(text))%64) + "\n"
	fmt.Fprintf(w, "\x93NUMPY\x01\x00%c%c%s", len(text)&255, len(text)>>8, text)
	var c choice
	set, b := -1, []byte(nil)
	for i := range n {
		place := i
		if i > 0 && at(1, n) != 1 {
			place = at(i, n)
		}
		if number := place / successors; number != set {
			c.set(number, states, successors)
			set = number
		}
		k := place % successors
		b = b[:0]
		switch key {
		case "state":
			b = binary.LittleEndian.AppendUint64(b, uint64(c.state))
		case "action":
			b = binary.LittleEndian.AppendUint64(b, uint64(c.action))
		case "next":
			b = binary.LittleEndian.AppendUint64(b, uint64(c.next[k]))
		case "probability":
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(c.prob[k]))
		default:
			x := 0.0
			if random {
				x = float64(k)
			}
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(c.returns[0]+x))
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(c.returns[1]+x))
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return w.Flush()
}
