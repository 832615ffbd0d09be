// Command episodes tells how many episodes learners need, from the results of a suite:
//
//	go run ./benchmarks/episodes --suite benchmarks/suite.yaml --results suite.results
//
// writes episodes.md and a picture for every eight learners that get there to
// benchmarks/results. What stands there under "What was found" is kept.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/contest"
	"cmdpsolve/cmdp/instance"

	"github.com/spf13/pflag"
)

func main() { harness.Main(run) }

// shares are the parts of the ranges below which regret and violation have to be.
var shares = []float64{0.01, 0.001}

// A problem is one of the suite with the episodes that learners need.
type problem struct {
	name              string
	regret, violation float64 // ranges
	episodes          int
	needed            map[string][][]float64 // by learner, of each share: those of the runs in order; +Inf for never
}

func run(_ context.Context, args []string) error {
	f := pflag.NewFlagSet("episodes", pflag.ContinueOnError)
	file := f.String("suite", filepath.Join("benchmarks", "suite.yaml"), "the suite")
	results := f.String("results", "suite.results", "folder of its results")
	out := f.String("out", filepath.Join("benchmarks", "results"), "folder for the page")
	if err := f.Parse(args); err != nil {
		return err
	}
	suite, err := contest.ReadSuite(*file)
	if err != nil {
		return err
	}
	var problems []*problem
	for _, e := range suite.Problems {
		p, err := read(e, *results)
		if err != nil {
			return fmt.Errorf("episodes: %s: %w", e.Name, err)
		}
		problems = append(problems, p)
	}
	var names []string
	for _, name := range baseline.Names() {
		if slices.ContainsFunc(problems, func(p *problem) bool { return p.needed[name] != nil }) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("episodes: no results in %s", *results)
	}
	if err := os.MkdirAll(*out, 0o777); err != nil {
		return err
	}
	text := page(problems, names)
	drawn := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !slices.ContainsFunc(problems, func(p *problem) bool { return p.arrives(name) })
	})
	for i, group := range groups(drawn) {
		name := fmt.Sprintf("episodes-%d.svg", i+1)
		if err := figure(problems, group).Save(filepath.Join(*out, name)); err != nil {
			return err
		}
		text += fmt.Sprintf("![%s](%s)\n\n", strings.Join(group, ", "), name)
	}
	return harness.WritePage(*out, "episodes.md", text)
}

// read reads the results of a problem.
func read(e *contest.Entry, folder string) (*problem, error) {
	of, err := instance.New(e.Problem)
	if err != nil {
		return nil, err
	}
	task, err := of.Task()
	if err != nil {
		return nil, err
	}
	p := &problem{name: e.Name, episodes: e.Settings.Episodes, needed: map[string][][]float64{}}
	if p.regret, p.violation, err = harness.Ranges(of.Model.Shape(), task); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(folder, e.Name+"--*--*.json"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var r contest.Result
		if err := json.Unmarshal(data, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if r.Episodes != p.episodes {
			return nil, fmt.Errorf("%s has %d episodes: want %d", file, r.Episodes, p.episodes)
		}
		if p.needed[r.Algorithm] == nil {
			p.needed[r.Algorithm] = make([][]float64, len(shares))
		}
		for i, share := range shares {
			p.needed[r.Algorithm][i] = append(p.needed[r.Algorithm][i], needed(r.History, share*p.regret, share*p.violation))
		}
	}
	for _, of := range p.needed {
		for _, list := range of {
			slices.Sort(list)
		}
	}
	return p, nil
}

// needed returns the first record from which on regret and violation stay at most at their
// limits, +Inf if the last one does not.
func needed(history []contest.Record, regret, violation float64) float64 {
	first := math.Inf(1)
	for _, rec := range slices.Backward(history) {
		if !(rec.Metrics["regret"] <= regret && rec.Metrics["violation"] <= violation) {
			break
		}
		first = float64(rec.Episode)
	}
	return first
}

// groups divides the learners into figures of eight, each with posterior to compare with.
func groups(names []string) [][]string {
	const reference, most = "posterior", 8
	rest := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == reference })
	var list [][]string
	for part := range slices.Chunk(rest, most-1) {
		if slices.Contains(names, reference) {
			part = append([]string{reference}, part...)
		}
		list = append(list, part)
	}
	return list
}

// cell writes the median, and how many runs there are that got there if not all did.
func cell(list []float64) string {
	if list == nil {
		return ""
	}
	there := 0
	for _, x := range list {
		if !math.IsInf(x, 1) {
			there++
		}
	}
	median := list[(len(list)-1)/2]
	switch {
	case there == 0:
		return "–"
	case math.IsInf(median, 1):
		return fmt.Sprintf("– (%d)", there)
	case there < len(list):
		return fmt.Sprintf("%s (%d)", strconv.Itoa(int(median)), there)
	}
	return strconv.Itoa(int(median))
}
