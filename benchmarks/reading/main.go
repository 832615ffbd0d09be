// Command reading measures what it costs to make a model of a file: processor time and
// peak memory of a whole process, for each kind of file, beside the bare read of its bytes
// and beside the readers of Go's library and of NumPy.
//
//	go run ./benchmarks/reading
//
// writes benchmarks/results/reading.md. It takes 1 GB of disk for a while. NumPy is asked
// where --python has it (Debian's python3-numpy).
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"cmdpsolve/benchmarks/harness"

	"github.com/spf13/pflag"
)

type options struct {
	transitions, megabytes, rounds int
	only                           []string
	python, out, job               string
	command                        string
}

func main() { harness.Main(run) }

func parse(args []string) (*options, error) {
	var o options
	f := pflag.NewFlagSet("reading", pflag.ContinueOnError)
	f.SortFlags = false
	f.IntVar(&o.transitions, "transitions", 20_000_000, "transitions of the files of arrays")
	f.IntVar(&o.megabytes, "megabytes", 100, "length of the files of text")
	f.IntVar(&o.rounds, "rounds", 3, "repetitions, of which the median counts")
	f.StringSliceVar(&o.only, "only", nil, "files to measure; all of them if not given")
	f.StringVar(&o.python, "python", "python3", "the command that may have NumPy")
	f.StringVar(&o.out, "out", filepath.Join("benchmarks", "results"), "folder for the results")
	f.StringVar(&o.job, "job", "", "read or write one file, in this process")
	f.Lookup("job").Hidden = true
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	o.command = harness.Command(f, "out", "python")
	if o.transitions < 1000 || o.megabytes < 1 || o.rounds < 1 {
		return nil, errors.New("reading: want at least 1000 transitions, 1 megabyte and 1 round")
	}
	if o.job != "" && f.NArg() != 1 || o.job == "" && f.NArg() > 0 {
		return nil, fmt.Errorf("reading: unexpected arguments %q", f.Args())
	}
	if o.job == write {
		return nil, writeUMB(os.Stdout, o.transitions, ofUMB[f.Arg(0)])
	}
	if o.job != "" {
		return nil, job(o.job, f.Arg(0))
	}
	for _, name := range o.only {
		if !slices.ContainsFunc(files, func(f file) bool { return f.name == name }) {
			return nil, fmt.Errorf("reading: unknown file %q", name)
		}
	}
	return &o, nil
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if o == nil {
		return err
	}
	folder, err := os.MkdirTemp("", "reading")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	var all []record
	for _, f := range files {
		if o.only != nil && !slices.Contains(o.only, f.name) {
			continue
		}
		rs, err := o.measure(ctx, &f, folder)
		if err != nil {
			return fmt.Errorf("reading: %s: %w", f.name, err)
		}
		all = append(all, rs...)
	}
	text := report(o, all)
	fmt.Print(text)
	if o.only != nil {
		return nil
	}
	return os.WriteFile(filepath.Join(o.out, "reading.md"), []byte(text), 0o644)
}

// A record is one way to read one file.
type record struct {
	file        *file
	by          string
	bytes       int64
	transitions int
	seconds     float64 // processor time, median
	fastest     float64
	memory      float64 // peak, bytes
	unavailable string
}

// measure writes the file, reads it in every way and removes it.
func (o *options) measure(ctx context.Context, f *file, folder string) ([]record, error) {
	path, transitions, err := f.write(folder, o)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(filepath.Dir(path))
	info, err := os.Stat(filepath.Join(filepath.Dir(path), f.data))
	if err != nil {
		return nil, err
	}
	var rs []record
	for _, by := range f.by {
		r := record{file: f, by: by, bytes: info.Size(), transitions: transitions}
		var times []float64
		for range o.rounds {
			seconds, memory, err := o.read(ctx, by, path, filepath.Join(filepath.Dir(path), f.data))
			if err != nil {
				r.unavailable = err.Error()
				break
			}
			times = append(times, seconds)
			r.memory = max(r.memory, memory)
		}
		if len(times) > 0 {
			slices.Sort(times)
			r.fastest, r.seconds = times[0], times[len(times)/2]
		}
		fmt.Fprintf(os.Stderr, "%s, %s: %.2f s, %.0f MB %s\n", f.name, by, r.seconds, r.memory/1e6, r.unavailable)
		if by == model && r.unavailable != "" {
			return nil, errors.New(r.unavailable)
		}
		rs = append(rs, r)
	}
	return rs, nil
}

// read reads a file in a process of its own and returns its processor time and peak memory.
func (o *options) read(ctx context.Context, by, path, data string) (seconds, memory float64, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, 0, err
	}
	cmd := exec.CommandContext(ctx, self, "--job", by, path)
	switch {
	case by == numpy && strings.HasSuffix(data, ".npz"):
		const load = "import sys, numpy\nwith numpy.load(sys.argv[1]) as f: arrays = [f[name] for name in f.files]"
		cmd = exec.CommandContext(ctx, o.python, "-c", load, data)
	case by == numpy:
		const load = "import sys, numpy\narray = numpy.loadtxt(sys.argv[1], delimiter=',', skiprows=1)"
		cmd = exec.CommandContext(ctx, o.python, "-c", load, data)
	case by != model:
		cmd.Args[len(cmd.Args)-1] = data
	}
	if text, err := cmd.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		return 0, 0, fmt.Errorf("%w: %s", err, lines[len(lines)-1])
	}
	s := cmd.ProcessState
	return (s.UserTime() + s.SystemTime()).Seconds(), harness.PeakOf(s), nil
}

func report(o *options, all []record) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Reading files

`+"```sh\n%s\n```"+`

What it costs to make a model of a file: processor time (system time included) and peak resident
memory of a whole process that does nothing else. Medians of %d repetitions, and the greatest
peak. "Bare" is the read of the file's bytes, once through. A hundred million bytes are 100 MB.

Compressed arrays have to be unpacked first: archive/zip is what that alone costs Go's library,
klauspost/compress what it costs the library that is used, which is therefore the floor.
Transitions in disorder have to be sorted, in place, as 48 bytes for each leave no room for a copy.

Machine: %s.

| file | read by | MB | transitions | seconds | fastest | MB/s | peak, MB | bytes for each transition |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
`, o.command, o.rounds, harness.Machine())
	for _, r := range all {
		if r.unavailable != "" {
			fmt.Fprintf(&b, "| %s | %s | %.0f | %d | not measured: %s | | | | |\n", r.file.name, r.by,
				float64(r.bytes)/1e6, r.transitions, r.unavailable)
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %.0f | %d | %.2f | %.2f | %.0f | %.0f | %.1f |\n", r.file.name, r.by,
			float64(r.bytes)/1e6, r.transitions,
			r.seconds, r.fastest, float64(r.bytes)/1e6/max(r.seconds, 1e-3), r.memory/1e6,
			r.memory/float64(r.transitions))
	}
	b.WriteString("\n")
	for _, f := range files {
		if o.only == nil || slices.Contains(o.only, f.name) {
			fmt.Fprintf(&b, "* **%s**: %s.\n", f.name, f.about)
		}
	}
	return b.String()
}
