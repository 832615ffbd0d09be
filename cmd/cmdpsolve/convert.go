package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/exchange/formats"
	"cmdpsolve/cmdp/exchange/umb"
	"cmdpsolve/cmdp/language"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/internal/atomicfile"

	"github.com/spf13/cobra"
)

// convertOptions are the flags of convert.
type convertOptions struct {
	time      problem.Time
	mean      bool
	normalize float64
	umb       umb.WriteOptions
	plain, xz bool
	given     func(flag string) bool
}

func newConvert(s streams) *cobra.Command {
	var o convertOptions
	var format *report.Format
	cmd := &cobra.Command{
		Use:   "convert IN OUT",
		Short: "Convert models and problems between file formats",
		Long: `Converts IN, a model file of another tool, a problem file or a built-in
instance, to OUT. The endings say which formats they have:

  .umb         unified Markov binary (PRISM, Storm, Modest)
  .drn         Storm's text format, also .drn.gz and .drn.xz
  .tra         PRISM's explicit files, with .sta, .lab, .srew and .trew beside
               it, also .tra.gz and .tra.xz
  .pexp        the same in one file, as IN, also .pexp.gz and .pexp.xz
  .npz         a dense NumPy kernel P[s,a,s'] with R[s,a,d]
  NAME/        a folder with a SciPy sparse matrix for each action
  .json        a Gymnasium table P (or, as IN, a problem file)
  .yaml, .yml  a problem file

Numbers are converted bit for bit. See cmdpsolve help formats for what each
format holds.`,
		Example: `  cmdpsolve convert inventory inventory.umb
  cmdpsolve convert inventory.umb inventory.yaml --horizon 7`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage("%s takes two names, IN and OUT, but got %d; see %s --help", cmd.CommandPath(), len(args),
					cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.given = cmd.Flags().Changed
			s.problem.Context = cmd.Context()
			t, both := o.time, o.time.Horizon > 0 && cmd.Flags().Changed("discount")
			if err := cmp.Or(
				wantUnless(t.Horizon >= 0 && !both, "--horizon", t.Horizon, "at least 1, and not besides --discount"),
				wantUnless(t.Discount > 0 && t.Discount <= 1, "--discount", t.Discount, "above 0 and at most 1"),
				wantUnless(o.normalize >= 0 && o.normalize < 1, "--normalize", o.normalize, "at least 0 and less than 1"),
			); err != nil {
				return err
			}
			switch {
			case o.plain && o.xz:
				return usage("--plain leaves a file without the compression that --xz asks for: want one of them")
			case o.plain:
				o.umb.Compression = umb.Plain
			case o.xz:
				o.umb.Compression = umb.XZ
			}
			if o.time.Horizon > 0 {
				o.time.Discount = 0
			}
			rep, err := o.convert(cmd.Context(), s, args[0], args[1])
			if err != nil {
				return err
			}
			return s.write(rep.report(), *format)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.time.Horizon, "horizon", 0, "horizon of a problem file that is made of a model")
	f.Float64Var(&o.time.Discount, "discount", 1, "its discount, if it has no horizon; 1 is the total return")
	f.BoolVar(&o.mean, "mean", false, "replace rewards that differ between the branches of a choice by their mean")
	f.Float64Var(&o.normalize, "normalize", 0,
		"divide probabilities whose sum misses 1 by at most this much by their sum")
	f.BoolVar(&o.umb.Rational, "rational", false, "write .umb files with fractions, exactly")
	f.BoolVar(&o.plain, "plain", false, "write .umb files without compression")
	f.BoolVar(&o.xz, "xz", false, "write .umb files compressed with xz, which makes them smaller than gzip does")
	f.Bool("quiet", false, "no progress")
	format = addFormat(f)
	return cmd
}

func (o *convertOptions) convert(ctx context.Context, s streams, in, out string) (*convertReport, error) {
	if !isProblemFile(out) && !formats.Known(out) {
		return nil, usage("%s: unknown kind of file: want a name that ends in .yaml, %s", out, formats.Endings)
	}
	if s.problem.Property != nil && isProblemFile(out) {
		if err := o.fits(true, out); err != nil {
			return nil, err
		}
		return o.ask(ctx, s, in, out)
	}
	p, m, err := s.readAny(ctx, in)
	var large *cmdp.MemoryError
	switch {
	case errors.As(err, &large):
		return nil, failed(err)
	case err != nil:
		return nil, &exitError{exitUsage, err}
	}
	if err := s.files.check(); err != nil {
		return nil, err
	}
	if p != nil && p.Fleet != nil {
		return nil, usage("%s: a fleet: want a problem of one agent, such as one of its models", in)
	}
	if err := o.fits(p != nil, out); err != nil {
		return nil, err
	}
	if p != nil && isProblemFile(out) {
		if err := s.writeFile(ctx, out, func(w io.Writer) error { return problem.Write(w, p) }); err != nil {
			return nil, failed(err)
		}
		return describe(in, out, p, nil), nil
	}
	if p != nil {
		m, err = p.Export()
		if err != nil {
			return nil, usage("%s: %w", in, trim(err))
		}
	}
	if err := o.adapt(s, in, m); err != nil {
		return nil, err
	}
	if isProblemFile(out) {
		p, err = problem.Import(m, o.time)
		if err != nil {
			return nil, usage("%s: %w", in, trim(err))
		}
		err = s.writeFile(ctx, out, func(w io.Writer) error { return problem.Write(w, p) })
	} else {
		err = o.write(ctx, s, out, m)
	}
	if errors.Is(err, context.Canceled) {
		return nil, failed(err)
	}
	if err != nil && strings.HasSuffix(err.Error(), "take its mean first") {
		err = fmt.Errorf("%w, see --mean", trim(err))
	}
	if err != nil {
		return nil, failed(fmt.Errorf("%s: %w", out, trim(err)))
	}
	if p != nil && !isProblemFile(out) {
		s.say("%s holds the model alone. What it leaves out: %s", out, without(p))
	}
	return describe(in, out, nil, m), nil
}

func (o *convertOptions) adapt(s streams, in string, m *exchange.Model) error {
	if d := m.Described; d != nil && d.Deadlocks() > 0 {
		s.say("%s: %s: no command is enabled there", in, count(d.Deadlocks(), "deadlock"))
	}
	if n := m.Normalize(o.normalize); n > 0 {
		s.say("the probabilities of %s were divided by their sum", count(n, "choice"))
	}
	if err := m.CheckSums(); err != nil {
		return usage("%s: %w; for rounded numbers see --normalize", in, trim(err))
	}
	if o.mean {
		m.MeanRewards()
	}
	return nil
}

// fits returns an error if an option has nothing to do with the conversion of a problem, or of a model, to out.
func (o *convertOptions) fits(ofProblem bool, out string) error {
	made := isProblemFile(out)
	for _, f := range []struct {
		names string
		fits  bool
		where string
	}{
		{"horizon discount", made && !ofProblem, "for problem files that are made of a model"},
		{"mean", !made || !ofProblem, "for models; a problem file keeps returns that are random"},
		{"normalize", !ofProblem, "for models of other tools"},
		{"rational plain xz", strings.EqualFold(filepath.Ext(out), ".umb"), "for .umb files"},
	} {
		for name := range strings.FieldsSeq(f.names) {
			if o.given(name) && !f.fits {
				return usage("--%s is %s, and not for %s", name, f.where, out)
			}
		}
	}
	return nil
}

// ask writes the problem file that asks a property. It refers to the model, whose states are explored to check it.
func (o *convertOptions) ask(ctx context.Context, s streams, in, out string) (*convertReport, error) {
	p, err := read(in, *s.problem)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	if err := s.files.check(); err != nil {
		return nil, err
	}
	model, err := filepath.Abs(in)
	if err != nil {
		return nil, failed(err)
	}
	folder, err := filepath.Abs(filepath.Dir(out))
	if err != nil {
		return nil, failed(err)
	}
	name, err := filepath.Rel(folder, model)
	if err != nil {
		name = model // on another drive
	}
	text, err := problem.Ask(in, filepath.ToSlash(name), *s.problem)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	err = s.writeFile(ctx, out, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if err != nil {
		return nil, failed(err)
	}
	return describe(in, out, p, nil), nil
}

// trim drops the name of the package that an error comes from, whose file has been named.
func trim(err error) error {
	for _, prefix := range []string{"problem: ", "cmdp: ", "robust: ", "exchange: ", "umb: ", "drn: ", "prism: ",
		"numpy: ", "gymnasium: "} {
		if text, ok := strings.CutPrefix(err.Error(), prefix); ok {
			return errors.New(text)
		}
	}
	return err
}

// without lists what a problem has besides a model.
func without(p *problem.Problem) string {
	parts := []string{timeOf(p.Model, p.Returns, p.Mean)}
	var derived, constraints []string
	for i, kind := range p.Kinds {
		if kind.Derived() {
			derived = append(derived, p.Returns[i])
		}
	}
	for i := range p.Constraints {
		constraints = append(constraints, p.Constraints[i].String())
	}
	for _, part := range []struct {
		is   bool
		text string
	}{
		{derived != nil, "returns that follow from the course of an episode: " + strings.Join(derived, ", ")},
		{p.Goal != problem.Goal{}, "goal: " + p.Goal.String()},
		{constraints != nil, "constraints: " + strings.Join(constraints, ", ")},
		{p.Target != nil, "target set"},
		{p.Uncertainty.Fixed(), "uncertainty: each: model"},
	} {
		if part.is {
			parts = append(parts, part.text)
		}
	}
	return strings.Join(parts, "; ")
}

func isProblemFile(name string) bool {
	e := strings.ToLower(filepath.Ext(name))
	return e == ".yaml" || e == ".yml"
}

// disk opens files by their path.
type disk struct{ files *fileUses }

func (d disk) Open(name string) (fs.File, error) {
	d.files.reads("", name)
	return os.Open(name)
}

// readAny reads a problem or a model of another tool; the other is nil.
func (s streams) readAny(ctx context.Context, name string) (*problem.Problem, *exchange.Model, error) {
	info, err := os.Stat(name)
	foreign := err == nil && (info.IsDir() || formats.Known(name) && s.problem.Property == nil)
	if err == nil && strings.EqualFold(filepath.Ext(name), ".json") {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, nil, err
		}
		foreign = !bytes.Contains(data, []byte(problem.Format))
	}
	if !foreign {
		opts := *s.problem
		opts.Bytes = mostBytes()
		opts.Context = ctx
		p, err := read(name, opts)
		return p, nil, err
	}
	if len(s.problem.Set) > 0 {
		return nil, nil, fmt.Errorf("--set: %s is a model of another tool, which has no constants", name)
	}
	if len(s.problem.Constants) > 0 && !formats.IsLanguage(name) {
		return nil, nil, fmt.Errorf("--const: %s is no model in a language, which alone has constants", name)
	}
	o := formats.LanguageOptions{Constants: s.problem.Constants, Context: ctx}
	o.Explore.Memory = mostBytes()
	m, err := formats.Read(formats.Watch(ctx, disk{s.files}), name, o)
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if _, ok := errors.AsType[*language.Error](err); ok {
		return nil, nil, err // it names the file
	}
	if large, ok := errors.AsType[*formats.LargeError](err); ok {
		return nil, nil, &cmdp.MemoryError{Err: fmt.Errorf("%s: %w", name, large)}
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", name, trim(err))
		if strings.EqualFold(filepath.Ext(name), ".npz") && strings.HasSuffix(err.Error(), "the array P is missing") {
			err = fmt.Errorf("%w; a list of transitions needs a problem file that refers to it", err)
		}
	}
	return nil, m, err
}

// writeFile writes a file whole, or leaves it as it was.
func (s streams) writeFile(ctx context.Context, path string, write func(w io.Writer) error) error {
	f, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	defer f.Discard()
	if err := write(s.watched(ctx, f, path)); err != nil {
		return cmp.Or(ctx.Err(), err)
	}
	return f.Commit()
}

// A pending file takes its place together with others.
type pending struct{ io.Writer }

func (pending) Close() error { return nil }

// write writes a model of another tool: all of its files, or none.
func (o *convertOptions) write(ctx context.Context, s streams, out string, m *exchange.Model) error {
	if formats.IsFolder(out) {
		if err := os.MkdirAll(out, 0o755); err != nil {
			return err
		}
	}
	var open []*atomicfile.File
	var names []string
	defer func() {
		for _, f := range open {
			f.Discard()
		}
	}()
	err := formats.Write(func(name string) (io.WriteCloser, error) {
		s.files.writes(name, name)
		if err := s.files.check(); err != nil {
			return nil, err
		}
		f, err := atomicfile.Create(name)
		if err != nil {
			return nil, err
		}
		open, names = append(open, f), append(names, name)
		return pending{s.watched(ctx, f, name)}, nil
	}, out, m, o.umb)
	err = cmp.Or(ctx.Err(), err)
	if err == nil {
		err = leftOver(out, names, m)
	}
	for _, f := range open {
		if err == nil {
			err = f.Commit()
		}
	}
	return err
}

// leftOver is an error if a file of an earlier model stands beside those of a model in PRISM's form, where it would be
// read as a part of it.
func leftOver(out string, names []string, m *exchange.Model) error {
	ending := filepath.Ext(out)
	if !strings.EqualFold(ending, ".tra") {
		return nil
	}
	base := strings.TrimSuffix(out, ending)
	besides := []string{".sta", ".srew", ".trew"}
	if n := len(m.Rewards); n != 1 { // one structure has no number, and no others are looked for then
		next := strconv.Itoa(n + 1)
		besides = append(besides, next+".srew", next+".trew")
	}
	for _, beside := range besides {
		name := base + beside
		if _, err := os.Lstat(name); err == nil && !slices.Contains(names, name) {
			return fmt.Errorf("%s is there from before and would be read as a part of it: remove it first", name)
		}
	}
	return nil
}

// convertReport is the data of what was converted.
type convertReport struct {
	In          string   `json:"in"`
	Out         string   `json:"out"`
	States      int      `json:"states"`
	Choices     int      `json:"choices"`
	Transitions int      `json:"transitions"`
	Rewards     []string `json:"rewards"`
	Labels      []string `json:"labels"`
}

func describe(in, out string, p *problem.Problem, m *exchange.Model) *convertReport {
	rep := &convertReport{In: in, Out: out, Rewards: []string{}, Labels: []string{}}
	var labels []exchange.Label
	if p != nil {
		rep.States, rep.Choices, rep.Transitions = p.Model.States(), p.Model.Choices(), p.Model.Transitions()
		rep.Rewards, labels = p.Returns, p.Labels
	} else {
		rep.States, rep.Choices, rep.Transitions = m.States(), m.Choices(), m.Branches()
		for i := range m.Rewards {
			rep.Rewards = append(rep.Rewards, m.Rewards[i].Name)
		}
		labels = m.Labels
	}
	for _, l := range labels {
		rep.Labels = append(rep.Labels, l.Name)
	}
	return rep
}

func (rep *convertReport) report() *report.Report {
	table := report.NewTable("in", "out", "states", "choices", "transitions", "rewards", "labels")
	table.Add(rep.In, rep.Out, rep.States, rep.Choices, rep.Transitions, strings.Join(rep.Rewards, " "),
		strings.Join(rep.Labels, " "))
	return &report.Report{Data: rep, Sections: []report.Section{table}}
}
