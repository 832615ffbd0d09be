package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"
)

// suiteOptions are the options of compare that only suites have.
type suiteOptions struct {
	file    string
	results string
	shard   string
	shards  int
	merge   bool
}

func (o *suiteOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.file, "suite", "", "compare on all problems of a suite `FILE`")
	f.StringVar(&o.results, "results", "", "suite: `FOLDER` of the result files (default: beside FILE, with .results)")
	f.StringVar(&o.shard, "shard", "", "suite: play part i of n only, `i/n` (default: from the array index of Slurm or Kubernetes, else 1/1)")
	f.IntVar(&o.shards, "shards", 0, "suite: number n of parts, where the environment tells the index alone")
	f.BoolVar(&o.merge, "merge", false, "suite: play nothing; tables of the results that are there")
}

// unused returns an error if an option of suites was given without one.
func (o *suiteOptions) unused() error {
	for name, given := range map[string]bool{"results": o.results != "", "shard": o.shard != "", "shards": o.shards != 0, "merge": o.merge} {
		if given {
			return usage("--%s is for suites: give --suite too", name)
		}
	}
	return nil
}

const suiteFormat = "cmdp-suite/1"

// suiteFile is the form of a suite file: settings for all problems, and the
// problems, each of which may have its own.
type suiteFile struct {
	Format   string          `yaml:"format"`
	Settings compareSettings `yaml:",inline"`
	Problems []*suiteProblem `yaml:"problems"`
}

// A suiteProblem is an entry of a suite: the name of a problem, or a mapping with
// settings.
type suiteProblem struct {
	decode   func(any) error
	settings compareSettings
	problem  string
	name     string
	named    bool // the suite says how
}

// suiteEntry is the form of an entry that is a mapping.
type suiteEntry struct {
	Problem  string          `yaml:"problem"`
	Name     string          `yaml:"name"`
	Settings compareSettings `yaml:",inline"`
}

// UnmarshalYAML keeps the entry until the settings of the suite are known.
func (p *suiteProblem) UnmarshalYAML(decode func(any) error) error {
	p.decode = decode
	return nil
}

// complete reads the entry: what it does not say is as in the suite.
func (p *suiteProblem) complete(all compareSettings) error {
	if p.decode(&p.problem) == nil && p.problem != "" {
		p.settings, p.name = all, fileName(p.problem)
		return nil
	}
	entry := suiteEntry{Settings: all}
	if err := p.decode(&entry); err != nil {
		return err
	}
	if entry.Problem == "" {
		return fmt.Errorf("an entry without a problem: want a name, or {problem: NAME, …}")
	}
	p.settings, p.problem, p.name, p.named = entry.Settings, entry.Problem, entry.Name, entry.Name != ""
	if !p.named {
		p.name = fileName(p.problem)
	}
	return nil
}

var notInFileNames = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// fileName makes a name of the description of a problem.
func fileName(text string) string {
	text = filepath.Base(text)
	for _, ending := range []string{".yaml", ".yml", ".json"} {
		text = strings.TrimSuffix(text, ending)
	}
	return strings.Trim(notInFileNames.ReplaceAllString(text, "-"), "-.")
}

// readSuite reads a suite file. Problem files are relative to its folder.
func readSuite(path string) (*suiteFile, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, usage("suite: %w", err)
	}
	s := &suiteFile{Settings: defaultSettings()}
	if err := yaml.UnmarshalWithOptions(data, s, yaml.Strict(), yaml.DisallowUnknownField()); err != nil {
		return nil, usage("suite %s: %w", path, err)
	}
	if s.Format != suiteFormat {
		return nil, usage("suite %s: format %q: want %s", path, s.Format, suiteFormat)
	}
	if len(s.Problems) == 0 {
		return nil, usage("suite %s: no problems", path)
	}
	names := map[string]bool{}
	for i, p := range s.Problems {
		if p == nil {
			return nil, usage("suite %s: problem %d is empty", path, i+1)
		}
		if err := p.complete(s.Settings); err != nil {
			return nil, usage("suite %s: problem %d: %w", path, i+1, err)
		}
		if err := p.settings.check(); err != nil {
			return nil, usage("suite %s: problem %d (%s): %w", path, i+1, p.problem, err)
		}
		switch {
		case p.name != fileName(p.name) || p.name == "":
			return nil, usage("suite %s: problem %d: name %q: want letters, digits, dots and hyphens", path, i+1, p.name)
		case names[p.name]:
			return nil, usage("suite %s: two problems are called %s: give one of them another name", path, p.name)
		}
		names[p.name] = true
		for _, file := range []*string{&p.problem, &p.settings.Safe, &p.settings.Null} {
			beside := filepath.Join(filepath.Dir(path), *file)
			if _, err := os.Stat(beside); err == nil && *file != "auto" && *file != "none" {
				*file = beside
			}
		}
	}
	return s, nil
}

// suiteFingerprint identifies what the result of a run depends on: another one is
// that of another suite.
func (c *contest) suiteFingerprint() (string, error) {
	settings := c.compareSettings
	settings.Algorithms, settings.Seeds, settings.Seed = nil, 0, 0 // they say which runs there are
	if settings.Support == "none" {
		settings.Support = "" // results from before there was one stay valid
	}
	data, err := json.Marshal(settings)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append([]byte(c.fingerprint), data...))
	return hex.EncodeToString(sum[:8]), nil
}
