package problem

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exchange/formats"
)

// Read reads the problem file at the given path, YAML or JSON, and the file of
// transitions that it may name, which is looked for relative to it. What is
// wrong with the files is returned as [Errors], everything at once. It takes time
// and memory proportional to the size of the files.
func Read(path string) (*Problem, error) { return ReadWith(path, ReadOptions{}) }

// ReadOptions say how a problem is read.
type ReadOptions struct {
	// Opened, if not nil, is called with the path of every file that is opened.
	Opened func(path string)
	// Set has values for constants of the file, which hold in the place of those under let: a
	// number, or arithmetic with the constants above.
	Set map[string]string
	// Constants has values for constants of a model in a language, in the place of those that the
	// problem file gives it.
	Constants map[string]string
	// Property is what is asked about a model in a language, nil if its rewards are all returns.
	Property *Property
	// Context stops the exploration of a model in a language, with the context's error, and says who is told how far
	// reading is, see package progress. Nil stands for neither.
	Context context.Context
	// Outside allows the file to name files outside of its folder. Else these are errors, so that
	// a problem that comes from elsewhere reads nothing but what came with it.
	Outside bool
	// Bytes bounds the memory of the model, 0 for no bound. A model that would take more is not built: the error is a
	// [cmdp.MemoryError]. A file may have twice as many bytes.
	Bytes int
}

// context is that of the options, and never nil.
func (o *ReadOptions) context() context.Context {
	if o.Context == nil {
		return context.Background()
	}
	return o.Context
}

// ReadWith is [Read] with options.
func ReadWith(path string, opts ReadOptions) (*Problem, error) {
	if formats.IsModel(path) {
		return readModel(path, opts)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("problem: %w", err)
	}
	defer f.Close()
	opts.opened(path)
	return ReadFrom(f, path, opts)
}

// readModel reads a model of another tool, or in a language, as a problem: all of its rewards, as totals, are returns,
// unless a property is asked.
func readModel(path string, opts ReadOptions) (*Problem, error) {
	name, place := filepath.Base(path), filepath.Dir(filepath.Clean(path))
	if formats.IsFolder(path) {
		name += "/"
	}
	text := "{format: cmdp/1, discount: 1, transitions: {file: " + quote(name) + "}}"
	var tradeOff []string
	if opts.Property != nil {
		opts.Constants = maps.Clone(opts.Constants)
		var err error
		text, tradeOff, err = askedText(path, name, opts)
		if err != nil {
			return nil, err
		}
	}
	p, err := parse(path, text, folder{place, opts}, limits{maxStates, maxHorizon, maxStored}, opts)
	if err == nil {
		p.TradeOff = tradeOff
	}
	return p, err
}

// Ask returns the problem file that asks opts.Property about the model in a language at the given path, and that refers
// to the model by a name.
func Ask(path, name string, opts ReadOptions) ([]byte, error) {
	if opts.Property == nil {
		return nil, fmt.Errorf("problem: %s: no property to ask", path)
	}
	opts.Constants = maps.Clone(opts.Constants)
	text, _, err := askedText(path, name, opts)
	return []byte(text), err
}

func askedText(path, name string, opts ReadOptions) (text string, tradeOff []string, err error) {
	model, err := ReadText(path)
	if err != nil {
		return "", nil, err
	}
	property, err := opts.Property.choose(path, model, opts.Constants)
	if err != nil {
		return "", nil, err
	}
	program, err := formats.Program(path, model, opts.Constants)
	if err != nil {
		return "", nil, err
	}
	return problemOf(name, opts.Constants, opts.Property.File, property, program)
}

// ReadText reads the text of a model in a language, or of properties.
func ReadText(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("problem: %w", err)
	}
	defer f.Close()
	return formats.Text(f, path)
}

// ReadFrom reads a problem from a stream. Path is the file's name in errors; a file of
// transitions is looked for beside it.
func ReadFrom(in io.Reader, path string, opts ReadOptions) (*Problem, error) {
	if in == nil {
		return nil, fmt.Errorf("problem: %s: no stream to read", path)
	}
	var text strings.Builder
	if f, ok := in.(fs.File); ok {
		size := sizeOf(f)
		if err := fileFits(int64(size), opts.Bytes); err != nil {
			return nil, tooLarge(path, err)
		}
		text.Grow(size)
	}
	if _, err := io.Copy(&text, in); err != nil {
		return nil, fmt.Errorf("problem: %w", err)
	}
	return parse(path, text.String(), folder{filepath.Dir(path), opts}, limits{maxStates, maxHorizon, maxStored}, opts)
}

func (o *ReadOptions) opened(path string) {
	if o.Opened != nil {
		o.Opened(path)
	}
}

// fileFits returns an error for a file that is too large to be read into so many bytes, twice.
func fileFits(size int64, bytes int) error {
	if bytes == 0 || size/2 <= int64(bytes) {
		return nil
	}
	return fmt.Errorf("the file alone has %.3g GiB, and %.3g GiB of memory are free", float64(size)/(1<<30),
		2*float64(bytes)/(1<<30))
}

// tooLarge returns the error of a file whose model takes too much memory.
func tooLarge(name string, err error) error {
	return &cmdp.MemoryError{Err: fmt.Errorf("%s: %s", name, strings.TrimPrefix(trimmed(err, "cmdp: "), "monitor: "))}
}

// A folder opens files relative to itself, and others if that is allowed.
type folder struct {
	path string
	opts ReadOptions
}

var errOutside = errors.New("it is outside of the problem's folder: move it there, or allow it with --outside")

func (f folder) Open(name string) (fs.File, error) {
	name = filepath.FromSlash(name)
	path := name
	if !filepath.IsAbs(name) {
		path = filepath.Join(f.path, name)
	}
	f.opts.opened(path)
	if f.opts.Outside {
		return os.Open(path)
	}
	file, err := os.OpenInRoot(f.path, name)
	if err == nil {
		return file, nil
	}
	var errno syscall.Errno
	if !errors.As(err, &errno) { // it is not the system that refuses
		return nil, &fs.PathError{Op: "open", Path: name, Err: errOutside}
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: errno}
}

// Parse reads a problem from data. Name is the file name in errors; files holds
// the file of transitions that the problem may name, and may be nil. What is
// wrong is returned as [Errors], everything at once.
func Parse(name string, data []byte, files fs.FS) (*Problem, error) {
	return parse(name, string(data), files, limits{maxStates, maxHorizon, maxStored}, ReadOptions{})
}

// parse reads in stages. Text becomes nodes with positions (node.go); nodes are decoded by the
// types of this package (decode.go), rows of transitions into a table (table.go), which may also
// be filled from a file of their own (sidecar.go); the table becomes kernels, and goal and target
// are built and judged (judge.go). Errors of all stages are collected; only building the model
// needs the stages before it to be free of them.
func parse(name, text string, files fs.FS, lim limits, opts ReadOptions) (*Problem, error) {
	h := &header{decoder: decoder{file: name}, limits: lim, p: new(Problem), options: opts}
	p := h.parse(text, files)
	if contextDone(h.large) {
		return nil, h.large
	}
	if h.large != nil {
		return nil, tooLarge(name, h.large)
	}
	if len(h.errs) == 0 {
		return p, nil
	}
	return nil, h.errs.merged().sorted(name)
}

func (h *header) parse(text string, files fs.FS) *Problem {
	root, rows := h.root(text)
	if root == nil {
		h.readRowsAlone(rows)
		return nil
	}
	if root.get("fleet") != nil {
		return h.parseFleet(root, files)
	}
	return h.parseTree(root, rows, files)
}

// parseTree reads a problem from its nodes, with rows that stand apart.
func (h *header) parseTree(root *node, rows block, files fs.FS) *Problem {
	h.readConstants(root.get("let"), (*path)(nil).key("let"))
	h.loadImported(root.get("transitions"), files)
	if h.large != nil {
		return nil
	}
	h.read(root)
	r, before := newRowReader(h), h.faults
	r.readAll(root.get("transitions"), rows, files)
	if h.large != nil {
		return nil
	}
	switch {
	case h.faults == 0:
		h.finish(r, root)
	case h.faults == before && r.usable():
		rest := *h.p
		r.build(&rest, root) // what is wrong with the rows together
	}
	if h.p.Model == nil {
		h.judgeForm(root)
	}
	return h.p
}

// timed reports whether it is known how long episodes are, or what counts in their place.
func (h *header) timed() bool { return h.spec.Horizon > 0 || h.spec.Discount > 0 || h.spec.Average }

// readRowsAlone looks at the form of the rows of a file whose header cannot be read.
func (h *header) readRowsAlone(rows block) {
	if rows.indent < 0 {
		return
	}
	h.constants = &constants{anything: true}
	newRowReader(h).readAll(&node{kind: listNode}, rows, nil)
}

// saveAsUTF8 is said of files that are inUTF16.
const saveAsUTF8 = "the file is in UTF-16: save it as UTF-8"

// inUTF16 tells by its beginning whether a text is in UTF-16.
func inUTF16(text string) bool {
	return strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") ||
		strings.Contains(text[:min(4, len(text))], "\x00")
}

// root reads the document but for its rows. It is nil if there is none; what is wrong has been
// said.
func (d *decoder) root(text string) (*node, block) {
	if inUTF16(text) {
		d.bad(&node{line: 1}, nil, saveAsUTF8)
		return nil, block{}
	}
	text = strings.TrimPrefix(text, "\ufeff")
	if i := invalidUTF8(text); i >= 0 {
		d.bad(&node{line: 1 + strings.Count(text[:i], "\n")}, nil, "not text in UTF-8")
		return nil, block{}
	}
	root, rows := d.tree(text)
	switch {
	case len(d.errs) > 0 && root == nil:
	case root == nil || root.isNull() && root.kind == scalarNode:
		d.bad(nil, nil, "the file is empty: want a problem, beginning with format: %s", Format)
		root = nil
	case root.kind != mapNode:
		d.bad(root, nil, "got %s: want a mapping with the keys of a problem", root.describe())
		root = nil
	}
	return root, rows
}

func invalidUTF8(text string) int {
	if utf8.ValidString(text) {
		return -1
	}
	for i, r := range text {
		if _, n := utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError && n == 1 {
			return i
		}
	}
	return -1
}

func isJSON(file string) bool { return strings.EqualFold(filepath.Ext(file), ".json") }

// looksLikeJSON reports whether the text may be meant as JSON: by the name of its file, or
// because it begins with a brace and a quoted key. YAML in braces may begin so as well.
func (d *decoder) looksLikeJSON(text string) bool {
	if isJSON(d.file) {
		return true
	}
	const space = " \t\r\n"
	Inside, ok := strings.CutPrefix(strings.TrimLeft(text, space), "{")
	Inside = strings.TrimLeft(Inside, space)
	return ok && len(Inside) > 0 && (Inside[0] == '"' || Inside[0] == '}')
}

// tree parses the document but for its rows, which are read later where they are
// many.
func (d *decoder) tree(text string) (root *node, rows block) {
	var asJSON *syntaxError
	if d.looksLikeJSON(text) {
		root, bad := parseJSON(text, 1)
		if bad != nil && isJSON(d.file) {
			d.syntax(bad)
		}
		if bad == nil || isJSON(d.file) {
			return root, block{indent: -1}
		}
		asJSON = bad
	}
	p := split(text)
	root, bad := parseYAML(p.head, 1)
	if bad != nil && asJSON != nil {
		bad = asJSON
	}
	if bad != nil {
		d.syntax(bad)
		root = nil
	}
	if p.rows.indent >= 0 && root != nil && root.kind == mapNode {
		d.tail(root, p)
	}
	return root, p.rows
}

// tail adds the members that follow the rows to the root.
func (d *decoder) tail(root *node, p pieces) {
	text := strings.TrimRight(p.tail, " \t\r\n")
	text = strings.TrimSuffix(text, "\n...")
	if text == "" || text == "..." {
		return
	}
	first, _, _ := strings.Cut(text, "\n")
	if col, _ := lineMark(first); col > 0 {
		d.syntax(&syntaxError{p.line, col + 1,
			"indented less than the rows above and more than the keys of the problem"})
		return
	}
	if strings.HasPrefix(first, "---") {
		d.syntax(&syntaxError{p.line, 1, "a second document begins: want one"})
		return
	}
	rest, bad := parseYAML(text, p.line)
	switch {
	case bad != nil:
		d.syntax(bad)
	case rest == nil:
	case rest.kind != mapNode:
		d.bad(rest, nil, "got %s: want a key of the problem", rest.describe())
	default:
		root.members = append(root.members, rest.members...)
	}
}

// readAll reads the rows wherever they stand.
func (r *rowReader) readAll(n *node, rows block, files fs.FS) {
	at := (*path)(nil).key("transitions")
	row := func(n *node, index int) {
		here := path{up: at, index: index}
		r.row(n, &here)
	}
	switch {
	case n == nil:
	case rows.indent >= 0:
		r.yamlRows(rows, row)
	case n.kind == rowsNode:
		r.jsonRows(n, row)
	case n.kind == mapNode:
		r.readFile(n, at, files)
	case n.kind == listNode:
		for i, item := range n.items {
			row(item, i)
		}
	default:
		r.bad(n, at, "got %s: want a list of rows, or {file: NAME}", n.describe())
	}
}

// jsonRows hands the rows of a list in JSON to row.
func (r *rowReader) jsonRows(n *node, row func(n *node, index int)) {
	f := newFlowReader(n.text, n.line, true)
	f.at, f.begin = 1, 1-n.col
	defer func() { r.done(f.at, f.at) }()
	for index := 0; f.space() != ']'; index++ {
		f.used = 0
		item := f.value(1)
		c := f.space()
		if c == ',' {
			f.at++
		}
		if item == nil || c != ']' && (c != ',' || f.space() == ']') {
			bad := notJSON(n.text, n.line)
			if bad.line == n.line {
				bad.col += n.col - 1
			}
			r.syntax(bad)
			return
		}
		row(item, index)
		r.done(f.at, len(n.text))
		if r.large != nil {
			return
		}
	}
}

// finish builds the model and judges goal and target against it.
func (h *header) finish(r *rowReader, root *node) {
	r.build(h.p, root)
	if h.p.Model == nil || h.large != nil {
		return
	}
	if n := root.get("opponent"); n != nil && !r.game {
		h.bad(n, (*path)(nil).key("opponent"),
			"the rows of the transitions name no action of an opponent: want the key opponent there too")
		return
	}
	h.judgeForm(root)
	h.p.head = newHead(h.file, root)
}
