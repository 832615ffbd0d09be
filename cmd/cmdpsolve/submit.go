package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/template"
	"unicode"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/contest"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"
)

// submitOptions say how a suite is given to a scheduler.
type submitOptions struct {
	to     string
	dryRun bool
	image  string
	claim  string
}

func (o *submitOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.to, "submit", "",
		"suite: give the parts, and then the merging of their results, to slurm (by sbatch) or kubernetes (by kubectl)")
	f.BoolVar(&o.dryRun, "dry-run", false, "with --submit: print what would be submitted, and submit nothing")
	f.StringVar(&o.image, "image", "", "with --submit kubernetes: container `IMAGE` that has cmdpsolve")
	f.StringVar(&o.claim, "claim", "",
		"with --submit kubernetes: `NAME` of the persistent volume claim that has the suite and takes the results")
}

// A submission is what templates and manifests are made of.
type submission struct {
	Name, Suite, Results, Tables string
	Parts, Processors            int
	Part, Merge                  []string // arguments after the name of the command, but for the part's number
}

// submit hands the suite to a scheduler.
func (c *compareCommand) submit(ctx context.Context) error {
	s, err := c.submission()
	if err != nil {
		return err
	}
	var text []byte
	program := []string{"sh", "-s"}
	if c.suite.submit.to == "slurm" {
		text, err = s.slurm(commandName(os.Args[0]))
	} else {
		program = []string{"kubectl", "create", "--filename", "-"}
		text, err = s.kubernetes(&c.suite.submit)
	}
	if err != nil {
		return err
	}
	if c.suite.submit.dryRun {
		_, err := c.out.Write(text)
		return err
	}
	needs := map[string]string{"slurm": "sbatch", "kubernetes": "kubectl"}[c.suite.submit.to]
	if _, err := exec.LookPath(needs); err != nil {
		return failed(fmt.Errorf("--submit %s: there is no command %s here: submit from a machine that has it, or "+
			"see --dry-run", c.suite.submit.to, needs))
	}
	run := exec.CommandContext(ctx, program[0], program[1:]...)
	run.Stdin, run.Stdout, run.Stderr = bytes.NewReader(text), c.out, c.err
	if err := run.Run(); err != nil {
		return failed(fmt.Errorf("--submit %s: %s did not take the suite: %w", c.suite.submit.to, needs, err))
	}
	return nil
}

// submission checks the options and the suite, without solving its problems.
func (c *compareCommand) submission() (*submission, error) {
	o := &c.suite
	switch {
	case o.submit.to != "slurm" && o.submit.to != "kubernetes":
		return nil, usage("--submit %q: want slurm or kubernetes", o.submit.to)
	case o.merge || o.wait || o.shard != "":
		return nil, usage("--submit plays all parts and merges them: want no --merge, --wait or --shard")
	case o.shards < 1:
		return nil, usage("--submit: give --shards, the number of parts")
	}
	suite, err := contest.ReadSuite(o.file)
	if err != nil {
		return nil, err
	}
	for _, entry := range suite.Problems {
		if _, err := read(entry.Problem, *c.problem); err != nil {
			return nil, &exitError{exitUsage, err}
		}
	}
	s := &submission{Name: jobName(o.file), Suite: o.file, Results: o.folder(), Parts: o.shards,
		Processors: max(1, c.parallel),
		Tables: cmp.Or(o.tables, strings.TrimSuffix(o.file, filepath.Ext(o.file))+".tables."+
			tableEndings[*c.format])}
	suiteArgs := append([]string{"compare", "--suite", o.file}, c.problemFlags()...)
	if o.results != "" {
		suiteArgs = append(suiteArgs, "--results", o.results)
	}
	s.Part = append(s.Part, suiteArgs...)
	s.Part = append(s.Part, "--parallel", strconv.Itoa(s.Processors))
	s.Merge = append(s.Merge, suiteArgs...)
	s.Merge = append(s.Merge, "--merge", "--format", c.format.String(), "--tables", s.Tables)
	if c.plot != "" {
		s.Merge = append(s.Merge, "--plot", c.plot)
	}
	for _, flag := range []struct {
		set  bool
		name string
	}{{c.wide, "--wide"}, {c.noTimes, "--no-times"}} {
		if flag.set {
			s.Merge = append(s.Merge, flag.name)
		}
	}
	for _, path := range []string{o.file, s.Results, s.Tables, c.plot} {
		if strings.ContainsFunc(path, unicode.IsControl) {
			return nil, usage("--submit: %q has a control character, which no job script can have in a path", path)
		}
		if filepath.IsAbs(path) && o.submit.to == "kubernetes" {
			return nil, usage("--submit kubernetes: %s: want a path from the top of the volume of --claim", path)
		}
	}
	return s, nil
}

var tableEndings = map[report.Format]string{report.Terminal: "txt", report.Markdown: "md", report.LaTeX: "tex",
	report.CSV: "csv", report.JSON: "json", report.JSONL: "jsonl"}

var notInJobNames = regexp.MustCompile(`[^a-z0-9]+`)

// jobName makes a name of a suite's file that schedulers take: a DNS label, with room for an
// ending.
func jobName(path string) string {
	base := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	name := notInJobNames.ReplaceAllString(strings.ToLower(base), "-")
	name = strings.Trim(name[:min(len(name), 40)], "-")
	if name == "" {
		return "suite"
	}
	return name
}

// commandName is the command as other machines with the same files find it: by the search
// path if it was called so, else by its place.
func commandName(called string) string {
	if !strings.ContainsRune(called, filepath.Separator) {
		return called
	}
	if path, err := filepath.Abs(called); err == nil {
		return path
	}
	return called
}

// slurmScript submits an array and a job that starts when all of the array has succeeded.
// The number of parts stands in the script, so that some of them can be submitted again
// with another --array.
var slurmScript = template.Must(template.New("").Funcs(template.FuncMap{"quote": quote, "log": logName}).Parse(`#!/bin/sh
# Plays {{quote .Suite}} in {{.Parts}} parts, and then writes {{quote .Tables}}.
set -e
mkdir -p {{quote .Results}}
job=$(sbatch --parsable --job-name={{.Name}} --array=1-{{.Parts}} --cpus-per-task={{.Processors}} --output={{log .Results "part-%a.log"}} <<'END'
#!/bin/sh
exec {{quote .Command}}{{range .Part}} {{quote .}}{{end}} --shard "$SLURM_ARRAY_TASK_ID/{{.Parts}}"
END
)
echo "parts: job ${job%%;*}"
merge=$(sbatch --parsable --job-name={{.Name}}-merge --dependency="afterok:${job%%;*}" --kill-on-invalid-dep=yes --output={{log .Results "merge.log"}} <<'END'
#!/bin/sh
exec {{quote .Command}}{{range .Merge}} {{quote .}}{{end}}
END
)
echo "tables: job ${merge%%;*}"
`))

func (s *submission) slurm(command string) ([]byte, error) {
	var b bytes.Buffer
	err := slurmScript.Execute(&b, struct {
		*submission
		Command string
	}{s, command})
	return b.Bytes(), err
}

// logName is the name of a log for sbatch, which fills in what follows a percent sign.
func logName(folder, name string) string {
	return quote(filepath.Join(strings.ReplaceAll(folder, "%", "%%"), name))
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=@%+,-]+$`)

// quote writes a word for a shell.
func quote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// kubernetes returns the manifests of an indexed job and of one that waits for its results.
func (s *submission) kubernetes(o *submitOptions) ([]byte, error) {
	if o.image == "" || o.claim == "" {
		return nil, usage("--submit kubernetes: give --image, a container image that has cmdpsolve, and --claim, " +
			"the volume claim that has the suite and takes the results")
	}
	part := append(append([]string{"cmdpsolve"}, s.Part...), "--shards", strconv.Itoa(s.Parts))
	merge := append(append([]string{"cmdpsolve"}, s.Merge...), "--wait")
	indexed := yaml.MapSlice{{Key: "completionMode", Value: "Indexed"}, {Key: "completions", Value: s.Parts},
		{Key: "parallelism", Value: s.Parts}}
	parts, err1 := yaml.Marshal(s.job(o, s.Name, indexed, s.Processors, part))
	tables, err2 := yaml.Marshal(s.job(o, s.Name+"-merge", nil, 0, merge))
	return bytes.Join([][]byte{parts, tables}, []byte("---\n")), errors.Join(err1, err2)
}

func (s *submission) job(o *submitOptions, name string, spec yaml.MapSlice, processors int,
	command []string) yaml.MapSlice {
	container := yaml.MapSlice{{Key: "name", Value: "cmdpsolve"}, {Key: "image", Value: o.image},
		{Key: "command", Value: command}, {Key: "workingDir", Value: "/data"},
		{Key: "volumeMounts", Value: []yaml.MapSlice{{{Key: "name", Value: "data"},
			{Key: "mountPath", Value: "/data"}}}}}
	if processors > 0 {
		container = append(container, yaml.MapItem{Key: "resources",
			Value: yaml.MapSlice{{Key: "requests",
				Value: yaml.MapSlice{{Key: "cpu", Value: strconv.Itoa(processors)}}}}})
	}
	pod := yaml.MapSlice{{Key: "restartPolicy", Value: "Never"}, {Key: "containers", Value: []yaml.MapSlice{container}},
		{Key: "volumes", Value: []yaml.MapSlice{{{Key: "name", Value: "data"},
			{Key: "persistentVolumeClaim", Value: yaml.MapSlice{{Key: "claimName", Value: o.claim}}}}}}}
	return yaml.MapSlice{{Key: "apiVersion", Value: "batch/v1"}, {Key: "kind", Value: "Job"},
		{Key: "metadata", Value: yaml.MapSlice{{Key: "name", Value: name}}},
		{Key: "spec", Value: append(spec, yaml.MapItem{Key: "template",
			Value: yaml.MapSlice{{Key: "spec", Value: pod}}})}}
}
