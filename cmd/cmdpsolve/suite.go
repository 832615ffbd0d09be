package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"cmdpsolve/cmdp/chart"

	"github.com/spf13/pflag"
)

// runSuite plays a suite, or a part of it, and writes the tables once all results
// are there.
func (c *compareCommand) runSuite(ctx context.Context) error {
	if err := c.suiteOnly(); err != nil {
		return err
	}
	part, from, err := c.suite.resolve(os.Getenv)
	if err != nil {
		return err
	}
	if from != "" {
		c.say("part %s of the suite, by %s", part, from)
	}
	contests, folder, err := c.openSuite(ctx)
	if err != nil {
		return err
	}
	var mine, others []*trial
	total := 0
	for _, contest := range contests {
		all := contest.trials()
		missing, err := folder.read(all)
		if err != nil {
			return err
		}
		for i, t := range all {
			switch {
			case !missing[t]:
			case part.has(total+i) && !c.suite.merge:
				mine = append(mine, t)
			default:
				others = append(others, t)
			}
		}
		total += len(all)
	}
	workers := pool{parallel: c.parallel, every: c.every, keeper: folder, bar: newTrialProgress(c.err, c.quiet, mine)}
	runErr := workers.play(ctx, mine)
	if runErr == nil && !part.whole() {
		if c.plot != "" {
			c.say("nothing is drawn to %s for a part of the suite: see --merge", c.plot)
		}
		return c.partDone(part, len(mine), contests, folder, total)
	}
	return c.concludeSuite(contests, folder, len(others), total, runErr)
}

// suiteOnly returns an error for options that a suite has in its file, or not at
// all.
func (c *compareCommand) suiteOnly() error {
	if err := c.checkOwn(); err != nil {
		return err
	}
	var settings pflag.FlagSet
	var changed []string
	c.addFlags(&settings)
	settings.VisitAll(func(f *pflag.Flag) {
		if c.flags.Changed(f.Name) {
			changed = append(changed, f.Name)
		}
	})
	if len(changed) > 0 {
		return usage("--%s: settings of a suite stand in its file", changed[0])
	}
	if c.suite.merge && c.suite.shard != "" {
		return usage("--merge takes the results of all parts: want no --shard")
	}
	if c.save != "" || c.resume != "" {
		return usage("a suite keeps every finished run in its folder; it has no checkpoint")
	}
	return nil
}

// openSuite reads the suite and prepares its contests and its folder.
func (c *compareCommand) openSuite(ctx context.Context) ([]*contest, *suiteFolder, error) {
	suite, err := readSuite(c.suite.file)
	if err != nil {
		return nil, nil, err
	}
	folder := &suiteFolder{path: c.suite.results, ids: map[*contest]suiteID{}}
	if folder.path == "" {
		folder.path = strings.TrimSuffix(c.suite.file, filepath.Ext(c.suite.file)) + ".results"
	}
	if _, err := os.Stat(folder.path); c.suite.merge && err != nil {
		return nil, nil, usage("--merge: no results: %w", err)
	}
	var contests []*contest
	for _, entry := range suite.Problems {
		p, err := load(entry.problem)
		if err != nil {
			return nil, nil, err
		}
		contest, err := newContest(ctx, c.streams, p, entry.settings)
		if err != nil {
			return nil, nil, err
		}
		if entry.named {
			contest.name = entry.name
		}
		id := suiteID{name: entry.name}
		if id.fingerprint, err = contest.suiteFingerprint(); err != nil {
			return nil, nil, failed(err)
		}
		folder.ids[contest] = id
		contests = append(contests, contest)
	}
	if err := os.MkdirAll(folder.path, 0o755); err != nil {
		return nil, nil, failed(err)
	}
	return contests, folder, nil
}

// partDone says how far the suite is, after a part.
func (c *compareCommand) partDone(part shard, played int, contests []*contest, folder *suiteFolder, total int) error {
	missing := 0
	for _, contest := range contests {
		rest, err := folder.read(contest.trials())
		if err != nil {
			return err
		}
		missing += len(rest)
	}
	fmt.Fprintf(c.out, "part %s: %s played; %d of %d results of the suite are in %s\n", part, count(played, "run"), total-missing, total, folder.path)
	return nil
}

// concludeSuite writes one table for each problem.
func (c *compareCommand) concludeSuite(contests []*contest, folder *suiteFolder, missing, total int, runErr error) error {
	var reports []*compareReport
	for _, contest := range contests {
		reports = append(reports, contest.report(!c.noTimes))
	}
	if err := c.write(c.declare().suite(reports), *c.format); err != nil {
		return err
	}
	if c.plot != "" {
		if err := plotSuite(c.plot, folder, contests, reports); err != nil && runErr == nil {
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
	for _, contest := range contests {
		wrong = errors.Join(wrong, c.conclusion(contest.p.title(), contest.refusals(), len(contest.entrants)))
	}
	if wrong != nil {
		return &exitError{exitUsage, wrong}
	}
	return nil
}

// plotSuite draws one figure for each problem: for "curves.svg" that of river
// is "curves-river.svg".
func plotSuite(path string, folder *suiteFolder, contests []*contest, reports []*compareReport) error {
	format, err := chart.FormatOf(path)
	if err != nil {
		return err
	}
	for i, rep := range reports {
		if rep.played() == 0 {
			continue
		}
		f, err := rep.figure()
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s-%s.%s", strings.TrimSuffix(path, filepath.Ext(path)), folder.ids[contests[i]].name, format)
		if err := f.Save(name); err != nil {
			return err
		}
	}
	return nil
}
