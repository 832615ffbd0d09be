package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/contest"
	"cmdpsolve/internal/atomicfile"

	"github.com/spf13/pflag"
)

// runSuite plays a suite, or a part of it, and writes the tables once all results
// are there.
func (c *compareCommand) runSuite(ctx context.Context) error {
	if err := c.suiteOnly(); err != nil {
		return err
	}
	if c.suite.submit.to != "" {
		return c.submit(ctx)
	}
	if err := writable("--tables", c.suite.tables); err != nil {
		return err
	}
	part, from, err := c.suite.resolve(os.Getenv)
	if err != nil {
		return err
	}
	if from != "" {
		c.say("part %s of the suite, by %s", part, from)
	}
	events, folder, err := c.openSuite(ctx)
	if err != nil {
		return err
	}
	mine, others, total, err := c.suite.missing(events, folder, part)
	for err == nil && c.suite.wait && others > 0 {
		select {
		case <-ctx.Done():
			return failed(errInterrupted)
		case <-time.After(time.Second):
		}
		_, others, _, err = c.suite.missing(events, folder, part)
	}
	if err != nil {
		return err
	}
	runErr := c.play(ctx, c.status, mine, folder, aboutTrial)
	if runErr == nil && !part.Whole() {
		if c.plot != "" {
			c.say("nothing is drawn to %s for a part of the suite: see --merge", c.plot)
		}
		return c.partDone(part, len(mine), events, folder, total)
	}
	return c.concludeSuite(events, folder, others, total, runErr)
}

// missing reads the results that are there. It returns the trials of a part that have none,
// the number of others that have none, and that of all trials.
func (o *suiteOptions) missing(events []*event, folder *contest.Folder,
	part contest.Shard) (mine []*contest.Trial, others, total int, err error) {
	for _, e := range events {
		all := e.Trials()
		missing, err := folder.Read(all)
		if err != nil {
			return nil, 0, 0, err
		}
		for i, t := range all {
			switch {
			case !missing[t]:
			case part.Has(total+i) && !o.merge:
				mine = append(mine, t)
			default:
				others++
			}
		}
		total += len(all)
	}
	return mine, others, total, nil
}

// suiteOnly returns an error for options that a suite has in its file, or not at
// all.
func (c *compareCommand) suiteOnly() error {
	if err := c.checkOwn(); err != nil {
		return err
	}
	var settings pflag.FlagSet
	var changed []string
	c.addSettings(&settings)
	settings.VisitAll(func(f *pflag.Flag) {
		if c.flags.Changed(f.Name) {
			changed = append(changed, f.Name)
		}
	})
	if len(changed) > 0 {
		return usage("--%s: settings of a suite stand in its file", changed[0])
	}
	o := &c.suite
	switch {
	case o.merge && o.shard != "":
		return usage("--merge takes the results of all parts: want no --shard")
	case o.wait && !o.merge:
		return usage("--wait waits for the results of others: give --merge too")
	case o.submit.to == "" && (o.submit.dryRun || o.submit.image != "" || o.submit.claim != ""):
		return usage("--dry-run, --image and --claim are for --submit: give it too")
	}
	if c.save != "" || c.resume != "" {
		return usage("a suite keeps every finished run in its folder; it has no checkpoint")
	}
	return nil
}

// openSuite reads the suite and prepares its events and its folder.
func (c *compareCommand) openSuite(ctx context.Context) ([]*event, *contest.Folder, error) {
	suite, err := interruptible(ctx, 0, func() (*contest.Suite, error) { return contest.ReadSuite(c.suite.file) })
	if err != nil {
		return nil, nil, err
	}
	folder := &contest.Folder{Path: c.suite.folder()}
	if _, err := os.Stat(folder.Path); c.suite.merge && err != nil {
		return nil, nil, usage("--merge: no results: %w", err)
	}
	var events []*event
	for _, entry := range suite.Problems {
		p, err := c.open(ctx, entry.Problem)
		if err != nil {
			return nil, nil, err
		}
		e, err := c.newEvent(ctx, p, entry.Settings)
		if err != nil {
			return nil, nil, err
		}
		if entry.Named {
			e.Name = entry.Name
		}
		if err := folder.Add(e.Contest, entry.Name); err != nil {
			return nil, nil, failed(err)
		}
		events = append(events, e)
		if c.plot != "" {
			name := plotName(c.plot, folder, e)
			c.files.writes("--plot "+name, name)
		}
	}
	if err := c.files.check(); err != nil {
		return nil, nil, err
	}
	for _, e := range events {
		for _, t := range e.Trials() {
			if err := c.files.result(folder.File(t)); err != nil {
				return nil, nil, err
			}
		}
	}
	if err := os.MkdirAll(folder.Path, 0o755); err != nil {
		return nil, nil, failed(err)
	}
	return events, folder, nil
}

// partDone says how far the suite is, after a part.
func (c *compareCommand) partDone(part contest.Shard, played int, events []*event, folder *contest.Folder,
	total int) error {
	missing := 0
	for _, e := range events {
		rest, err := folder.Read(e.Trials())
		if err != nil {
			return err
		}
		missing += len(rest)
	}
	fmt.Fprintf(c.out, "part %s: %s played; %d of %d results of the suite are in %s\n", part, count(played, "run"),
		total-missing, total, report.Clean(folder.Path))
	return nil
}

// concludeSuite writes one table for each problem.
func (c *compareCommand) concludeSuite(events []*event, folder *contest.Folder, missing, total int,
	runErr error) error {
	var reports []*compareReport
	for _, e := range events {
		reports = append(reports, e.report(!c.noTimes))
	}
	if err := c.writeTables(c.declare().suite(reports)); err != nil {
		return err
	}
	if c.plot != "" {
		if err := plotSuite(c.plot, folder, events, reports); err != nil && runErr == nil {
			runErr = err
		}
	}
	if runErr != nil {
		return failed(runErr)
	}
	if missing > 0 {
		c.say("%d of %d results are not there yet", missing, total)
	}
	var wrong error
	for _, e := range events {
		wrong = errors.Join(wrong, c.conclusion(e.Title, e.Contest))
	}
	if wrong != nil {
		return &exitError{exitUsage, wrong}
	}
	return nil
}

// writeTables writes the report of a suite where --tables says.
func (c *compareCommand) writeTables(rep *report.Report) error {
	if c.suite.tables == "" {
		return c.write(rep, *c.format)
	}
	var text bytes.Buffer
	file := c.streams
	file.out = &text
	if err := file.write(rep, *c.format); err != nil {
		return err
	}
	if err := atomicfile.WriteFile(c.suite.tables, text.Bytes()); err != nil {
		return failed(fmt.Errorf("--tables: %w", err))
	}
	return nil
}

// plotName is the file of the figure of one problem: for "curves.svg" that of river is
// "curves-river.svg".
func plotName(path string, folder *contest.Folder, e *event) string {
	ending := filepath.Ext(path)
	return strings.TrimSuffix(path, ending) + "-" + folder.Name(e.Contest) + strings.ToLower(ending)
}

func plotSuite(path string, folder *contest.Folder, events []*event, reports []*compareReport) error {
	for i, rep := range reports {
		if rep.played() == 0 {
			continue
		}
		if err := plotResult(rep, plotName(path, folder, events[i])); err != nil {
			return err
		}
	}
	return nil
}

// suiteOptions are the options of compare that only suites have.
type suiteOptions struct {
	file    string
	results string
	shard   string
	shards  int
	merge   bool
	wait    bool
	tables  string
	submit  submitOptions
}

// folder is where results are.
func (o *suiteOptions) folder() string {
	return cmp.Or(o.results, strings.TrimSuffix(o.file, filepath.Ext(o.file))+".results")
}

func (o *suiteOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.file, "suite", "", "compare on all problems of a suite `FILE`")
	f.StringVar(&o.results, "results", "", "suite: `FOLDER` of the result files (default: beside FILE, with .results)")
	f.StringVar(&o.shard, "shard", "",
		"suite: play part I of N only (default: from the array index of Slurm or Kubernetes, else 1/1)")
	f.IntVar(&o.shards, "shards", 0, "suite: number of parts, where the environment tells the index alone")
	placeholder(f, "shard", "I/N")
	f.BoolVar(&o.merge, "merge", false, "suite: play nothing; tables of the results that are there")
	f.BoolVar(&o.wait, "wait", false, "suite: with --merge, wait until all results are there")
	f.StringVar(&o.tables, "tables", "", "suite: write the tables to `FILE` (default: standard output)")
	o.submit.addFlags(f)
}

// unused returns an error if an option of suites was given without one.
func (o *suiteOptions) unused(f *pflag.FlagSet) error {
	given := ""
	var own pflag.FlagSet
	new(suiteOptions).addFlags(&own)
	f.Visit(func(flag *pflag.Flag) {
		if own.Lookup(flag.Name) != nil {
			given = flag.Name
		}
	})
	if given != "" {
		return usage("--%s is for suites: give --suite too", given)
	}
	return nil
}

// resolve finds out which part to play: what was given, else the environment's
// array index, else everything. The words say where from, if not from the command
// line.
func (o *suiteOptions) resolve(getenv func(string) string) (s contest.Shard, from string, err error) {
	switch {
	case o.shards < 0:
		return s, "", usage("--shards %d: want at least 1", o.shards)
	case o.shard != "":
		s, err := parseShard(o.shard)
		if err == nil && o.shards != 0 && o.shards != s.Count {
			err = usage("--shard %s has %d parts, --shards %d", o.shard, s.Count, o.shards)
		}
		return s, "", err
	case o.merge:
		return contest.Shard{Index: 0, Count: 1}, "", nil
	case getenv("SLURM_ARRAY_TASK_ID") != "":
		s, err := o.slurm(getenv)
		return s, "Slurm's array task " + getenv("SLURM_ARRAY_TASK_ID"), err
	case getenv("JOB_COMPLETION_INDEX") != "":
		s, err := o.kubernetes(getenv)
		return s, "Kubernetes' completion index " + getenv("JOB_COMPLETION_INDEX"), err
	case o.shards > 1:
		return s, "", usage("--shards %d: the environment tells no index; give --shard i/%d", o.shards, o.shards)
	}
	return contest.Shard{Index: 0, Count: 1}, "", nil
}

// parseShard reads "i/n".
func parseShard(text string) (contest.Shard, error) {
	i, n, ok := strings.Cut(text, "/")
	index, err1 := strconv.Atoi(i)
	parts, err2 := strconv.Atoi(n)
	if !ok || err1 != nil || err2 != nil || index < 1 || index > parts {
		return contest.Shard{}, usage("--shard %q: want i/n, part i = 1 … n of n", text)
	}
	return contest.Shard{Index: index - 1, Count: parts}, nil
}

// slurm reads the index of a job array. An array that does not begin at 0, or has
// a step, is numbered through.
func (o *suiteOptions) slurm(getenv func(string) string) (contest.Shard, error) {
	given := map[string]int{"SLURM_ARRAY_TASK_MIN": 0, "SLURM_ARRAY_TASK_STEP": 1, "SLURM_ARRAY_TASK_COUNT": o.shards,
		"SLURM_ARRAY_TASK_ID": 0}
	for name := range given {
		text := getenv(name)
		if text == "" {
			continue
		}
		x, err := strconv.Atoi(text)
		if err != nil || x < 0 {
			return contest.Shard{}, usage("%s is %q: want a whole number", name, text)
		}
		given[name] = x
	}
	parts := cmp.Or(o.shards, given["SLURM_ARRAY_TASK_COUNT"])
	if parts < 1 {
		return contest.Shard{}, usage("SLURM_ARRAY_TASK_COUNT is not set: give --shards, the number of tasks of the array")
	}
	if o.shards != 0 && o.shards != given["SLURM_ARRAY_TASK_COUNT"] { // some tasks of a larger array, which is numbered from 0
		given["SLURM_ARRAY_TASK_MIN"], given["SLURM_ARRAY_TASK_STEP"] = 0, 1
	}
	offset, step := given["SLURM_ARRAY_TASK_ID"]-given["SLURM_ARRAY_TASK_MIN"], max(1, given["SLURM_ARRAY_TASK_STEP"])
	if offset < 0 || offset%step != 0 || offset/step >= parts {
		return contest.Shard{}, usage("Slurm's array task %d is none of %d parts: want an array without gaps, or "+
			"--shard i/n", given["SLURM_ARRAY_TASK_ID"], parts)
	}
	return contest.Shard{Index: offset / step, Count: parts}, nil
}

// kubernetes reads the index of an indexed job, whose environment does not tell
// the number of completions.
func (o *suiteOptions) kubernetes(getenv func(string) string) (contest.Shard, error) {
	index, err := strconv.Atoi(getenv("JOB_COMPLETION_INDEX"))
	switch {
	case err != nil || index < 0:
		return contest.Shard{}, usage("JOB_COMPLETION_INDEX is %q: want a whole number", getenv("JOB_COMPLETION_INDEX"))
	case o.shards == 0:
		return contest.Shard{}, usage("JOB_COMPLETION_INDEX is set: give --shards, the job's number of completions, " +
			"or --shard 1/1 for everything")
	case index >= o.shards:
		return contest.Shard{}, usage("JOB_COMPLETION_INDEX is %d: want less than --shards %d", index, o.shards)
	}
	return contest.Shard{Index: index, Count: o.shards}, nil
}
