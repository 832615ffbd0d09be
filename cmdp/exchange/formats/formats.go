// Package formats reads and writes model files of other tools by the endings of
// their names:
//
//	.umb                 unified Markov binary
//	.drn                 Storm's text format, also .drn.gz and .drn.xz
//	.tra                 PRISM's explicit files, with .sta, .lab, .srew, .trew beside it,
//	                     also .tra.gz and .tra.xz with .sta.gz and so on
//	.pexp                the same in one file, also .pexp.gz and .pexp.xz; only read
//	.npz                 a dense NumPy kernel
//	.json                a Gymnasium table
//	a folder             a SciPy matrix for each action; a name that ends in / is one
//	.prism .nm .pm .sm   PRISM's language; only read
//	.jani                JANI, also .jani.gz and .jani.xz; only read
package formats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/exchange/drn"
	"cmdpsolve/cmdp/exchange/gymnasium"
	"cmdpsolve/cmdp/exchange/numpy"
	"cmdpsolve/cmdp/exchange/prism"
	"cmdpsolve/cmdp/exchange/umb"
	"cmdpsolve/cmdp/internal/source"
	"cmdpsolve/cmdp/language"
	"cmdpsolve/cmdp/language/jani"
	prismlang "cmdpsolve/cmdp/language/prism"
	"cmdpsolve/cmdp/progress"
)

// Endings says for messages which names are known.
const Endings = ".umb, .drn, .tra, .pexp, .npz, .json, .prism, .nm, .pm, .sm, .jani or / for a folder"

// IsFolder reports whether a name is that of a folder, by the separator at its end: / everywhere, \ on Windows too.
func IsFolder(name string) bool { return name != "" && os.IsPathSeparator(name[len(name)-1]) }

// ending returns the ending of a known name, / for a folder, else nothing.
func ending(name string) string {
	if IsFolder(name) {
		return "/"
	}
	plain, how := source.CutPacked(strings.ToLower(name))
	switch e := path.Ext(plain); e {
	case ".drn", ".tra", ".pexp", ".jani":
		return e
	case ".prism", ".nm", ".pm", ".sm":
		if how == "" {
			return ".prism"
		}
	case ".umb", ".npz", ".json":
		if how == "" {
			return e
		}
	}
	return ""
}

// Known reports whether the name has one of the [Endings].
func Known(name string) bool { return ending(name) != "" }

// IsModel reports whether a name is that of a model by its ending: that of a Gymnasium table may be a problem file.
func IsModel(name string) bool { return Known(name) && ending(name) != ".json" }

// IsLanguage reports whether a name is that of a model in a language, whose states are explored.
func IsLanguage(name string) bool { return ending(name) == ".prism" || IsJANI(name) }

// IsJANI reports whether a name is that of a model in JANI.
func IsJANI(name string) bool { return ending(name) == ".jani" }

// LanguageOptions say how a model in a language is read.
type LanguageOptions struct {
	// Path is the name of the file in errors, if it is another one.
	Path string
	// Constants are the values of constants that the model leaves open.
	Constants map[string]string
	// Rest is a condition: states where it holds are at rest. Empty for none.
	Rest string
	// Entering holds conditions: each is a reward of 1 for a step into a state where it holds.
	Entering map[string]string
	// Agent is the name of the player of a game who plans; empty for the first one.
	Agent string
	// Context stops an exploration and says who is told how far it is, see package progress; nil stands for neither.
	Context context.Context
	// Explore bounds it. Its Memory also bounds models of other kinds: one that takes more than
	// twice as much while it is read and built is a [LargeError].
	Explore language.ExploreOptions
	// AnyStart allows several initial states, which then have no distribution.
	AnyStart bool
}

// A LargeError says that a model takes more memory than there is for it.
type LargeError = source.LargeError

// maxLanguage bounds the bytes of a model in a language.
const maxLanguage = 256 << 20

// Text reads the text of a model in a language. Name is that of its file.
func Text(f fs.File, name string) ([]byte, error) {
	at, size, err := source.At(f)
	if err != nil {
		return nil, err
	}
	in, _, err := source.Open(at, size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	text, err := io.ReadAll(io.LimitReader(in, maxLanguage+1))
	if err == nil && len(text) > maxLanguage {
		err = fmt.Errorf("%s: more than %d MB of text", name, maxLanguage>>20)
	}
	return text, err
}

// Program reads a model in a language from its text. Name is that of its file.
func Program(name string, text []byte, constants map[string]string) (*language.Program, error) {
	if IsJANI(name) {
		return jani.Read(name, text, constants)
	}
	return prismlang.Read(name, string(text), constants)
}

// readLanguage reads and explores a model in a language.
func readLanguage(f fs.File, name string, o LanguageOptions) (*exchange.Model, error) {
	path := cmp.Or(o.Path, name)
	text, err := Text(f, path)
	if err != nil {
		return nil, err
	}
	p, err := Program(path, text, o.Constants)
	if err != nil {
		return nil, err
	}
	if len(p.Initial) > 1 && !o.AnyStart {
		return nil, &language.Error{File: path, At: p.InitialAt,
			Message: fmt.Sprintf("%d initial states without a distribution: want one, or a problem file with start",
				len(p.Initial))}
	}
	if o.Rest != "" {
		p.Rest, err = p.Parse(o.Rest)
		if err != nil {
			return nil, fmt.Errorf("the condition of states at rest: %w", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Entering)) {
		when, err := p.Parse(o.Entering[name])
		if err != nil {
			return nil, fmt.Errorf("the condition of entering %s: %w", name, err)
		}
		if slices.ContainsFunc(p.Rewards, func(r language.Reward) bool { return r.Name == name }) {
			return nil, fmt.Errorf("entering: the model has rewards %s: want another name", name)
		}
		p.Entering(name, when)
	}
	if o.Agent != "" && !slices.Contains(p.Players, o.Agent) {
		return nil, fmt.Errorf("the agent %s is no player of the model", o.Agent)
	}
	if o.Context == nil {
		o.Context = context.Background()
	}
	o.Explore.Progress = exploring(o.Context, path)
	m, err := p.Model(o.Context, o.Explore)
	if err == nil && o.Agent != "" && o.Agent == p.Players[1] {
		m.PlayerNames = []string{p.Players[1], p.Players[0]}
		for s := range m.Owner {
			m.Owner[s] = 1 - m.Owner[s]
		}
	}
	return m, err
}

// Read reads the model that stands in the file of the given name, or in the folder
// if it is one.
func Read(files fs.FS, name string, o LanguageOptions) (*exchange.Model, error) {
	kind := ending(name)
	files = source.Within(files, 2*int64(o.Explore.Memory))
	if kind == "/" {
		return numpy.ReadFolder(files, strings.TrimRight(name, "/"))
	}
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return numpy.ReadFolder(files, name)
	}
	if kind == ".tra" || kind == ".pexp" {
		return prism.Read(files, name)
	}
	if IsLanguage(name) {
		return readLanguage(f, name, o)
	}
	at, size, err := source.At(f)
	if err != nil {
		return nil, err
	}
	switch kind {
	case ".umb":
		return umb.Read(at, size)
	case ".drn":
		return drn.Read(at, size)
	case ".npz":
		return numpy.Read(at, size)
	case ".json":
		return gymnasium.Read(at, size)
	}
	return nil, fmt.Errorf("unknown kind of file %s: want %s", name, Endings)
}

// exploring returns what tells how many states of a model have been found, nil if nobody is told. A large model takes
// long, so that it tells of one of many batches of states alone.
func exploring(ctx context.Context, path string) func(language.Progress) {
	tell := progress.Of(ctx)
	if tell == nil {
		return nil
	}
	begin, told := time.Now(), 0
	return func(p language.Progress) {
		if p.Explored-told < progress.Many {
			return
		}
		told = p.Explored
		tell(fmt.Sprintf("exploring %s: %d states, %d transitions, %.0f a second", path, p.States, p.Transitions,
			float64(p.Explored)/time.Since(begin).Seconds()), math.NaN())
	}
}

// Watch returns the same files, which tell who waits in ctx how far they are read, and are read until it ends.
func Watch(ctx context.Context, files fs.FS) fs.FS { return watched{files, ctx} }

type watched struct {
	fs.FS
	ctx context.Context
}

func (w watched) Open(name string) (fs.File, error) {
	f, err := w.FS.Open(name)
	if err != nil {
		return nil, err
	}
	at, ok := f.(io.ReaderAt)
	if info, err := f.Stat(); err == nil && ok && info.Mode().IsRegular() {
		return watchedFile{f, w.ctx, at, info.Size(), "reading " + name}, nil
	}
	return f, nil
}

type watchedFile struct {
	fs.File
	ctx  context.Context
	at   io.ReaderAt
	size int64
	what string
}

func (f watchedFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := f.at.ReadAt(p, off)
	progress.Of(f.ctx).Tell(f.what, float64(off+int64(n))/float64(max(1, f.size)))
	return n, err
}

// Create makes a file; Close ends it. A file that could not be written is not closed:
// its maker gives it up.
type Create func(name string) (io.WriteCloser, error)

// Write writes a model to the file of the given name, or to several whose names
// begin like it, all of them made by create.
func Write(create Create, name string, m *exchange.Model, o umb.WriteOptions) error {
	if m.Variables == nil && m.Described != nil {
		written := *m
		written.Variables = m.Described.Columns()
		m = &written
	}
	switch ending(name) {
	case "/":
		return numpy.WriteFolder(func(file string) (io.WriteCloser, error) { return create(name + file) }, m)
	case ".tra":
		plain, how := source.CutPacked(name)
		packed := func(file string) (io.WriteCloser, error) { return pack(create, file+name[len(plain):], how) }
		return prism.Write(packed, plain[:len(plain)-len(".tra")], m)
	case ".pexp":
		return errors.New(".pexp files are read, not written: want .tra, which PRISM reads too")
	case ".prism", ".jani":
		return errors.New("models in languages are read, not written: want .tra, which PRISM reads too, or .umb")
	case ".umb":
		return file(create, name, func(w io.Writer) error { return umb.Write(w, m, o) })
	case ".npz":
		return file(create, name, func(w io.Writer) error { return numpy.Write(w, m) })
	case ".json":
		return file(create, name, func(w io.Writer) error { return gymnasium.Write(w, m) })
	case ".drn":
		plain, how := source.CutPacked(name)
		to := func(name string) (io.WriteCloser, error) { return pack(create, name, how) }
		if how != "" {
			return file(to, name, func(w io.Writer) error { return drn.WriteArchive(w, path.Base(plain), m) })
		}
		return file(to, name, func(w io.Writer) error { return drn.Write(w, m) })
	}
	return fmt.Errorf("unknown kind of file %s: want a name that ends in %s", name, Endings)
}

func file(create Create, name string, write func(w io.Writer) error) error {
	f, err := create(name)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		return err
	}
	return f.Close()
}

// pack makes a file that is compressed as source.Pack does.
func pack(create Create, name, how string) (io.WriteCloser, error) {
	f, err := create(name)
	if err != nil || how == "" {
		return f, err
	}
	z, err := source.Pack(f, how)
	return packed{z, f}, err
}

type packed struct {
	io.WriteCloser
	file io.Closer
}

func (p packed) Close() error {
	if err := p.WriteCloser.Close(); err != nil {
		return err
	}
	return p.file.Close()
}
