package contest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"cmdpsolve/cmdp/problem"
	"cmdpsolve/internal/atomicfile"

	"github.com/goccy/go-yaml"
)

const suiteFormat = "cmdp-suite/1"

// A Suite is the form of a suite file: settings for all problems, and the
// problems, each of which may have its own.
type Suite struct {
	Format   string   `yaml:"format"`
	Settings Settings `yaml:",inline"`
	Problems []*Entry `yaml:"problems"`
}

// An Entry is an entry of a suite: the name of a problem, or a mapping with
// settings.
type Entry struct {
	decode   func(any) error
	Settings Settings
	Problem  string
	// Name tells it from other entries; Named says that the suite gives it one.
	Name  string
	Named bool
}

// suiteEntry is the form of an entry that is a mapping.
type suiteEntry struct {
	Problem  string   `yaml:"problem"`
	Name     string   `yaml:"name"`
	Settings Settings `yaml:",inline"`
}

// UnmarshalYAML keeps the entry until the settings of the suite are known.
func (p *Entry) UnmarshalYAML(decode func(any) error) error {
	p.decode = decode
	return nil
}

// complete reads the entry. Settings that it does not have are those of the
// suite.
func (p *Entry) complete(all Settings) error {
	if p.decode(&p.Problem) == nil && p.Problem != "" {
		p.Settings, p.Name = all, fileName(p.Problem)
		return nil
	}
	entry := suiteEntry{Settings: all}
	if err := p.decode(&entry); err != nil {
		return err
	}
	if entry.Problem == "" {
		return fmt.Errorf("an entry without a problem: want a name, or {problem: NAME, …}")
	}
	p.Settings = entry.Settings
	p.Problem = entry.Problem
	p.Name, p.Named = entry.Name, entry.Name != ""
	if !p.Named {
		p.Name = fileName(p.Problem)
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

// ReadSuite reads a suite file. Problem files are relative to its folder.
func ReadSuite(path string) (*Suite, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("suite: %w", err)
	}
	var head struct {
		Format string `yaml:"format"`
	}
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("suite %s: not text in UTF-8: want YAML, saved as UTF-8", path)
	}
	if err := problem.CheckNesting(string(data)); err != nil {
		return nil, fmt.Errorf("suite %s: %w", path, err)
	}
	// Another kind of file would be blamed for its first key that a suite has too, or for being no mapping.
	if err := yaml.Unmarshal(data, &head); head.Format != suiteFormat &&
		(err == nil || !bytes.Contains(data, []byte(suiteFormat))) {
		return nil, fmt.Errorf("suite %s: format %q: want %s, which a suite begins with", path, head.Format,
			suiteFormat)
	}
	s := &Suite{Settings: Defaults()}
	if err := yaml.UnmarshalWithOptions(data, s, yaml.Strict(), yaml.DisallowUnknownField()); err != nil {
		return nil, fmt.Errorf("suite %s: %w", path, err)
	}
	if len(s.Problems) == 0 {
		return nil, fmt.Errorf("suite %s: no problems", path)
	}
	names := map[string]bool{}
	for i, p := range s.Problems {
		if p == nil {
			return nil, fmt.Errorf("suite %s: problem %d is empty", path, i+1)
		}
		if err := p.complete(s.Settings); err != nil {
			return nil, fmt.Errorf("suite %s: problem %d: %w", path, i+1, err)
		}
		if err := p.Settings.Check(); err != nil {
			return nil, fmt.Errorf("suite %s: problem %d (%s): %w", path, i+1, p.Problem, err)
		}
		switch {
		case p.Name != fileName(p.Name) || p.Name == "":
			return nil, fmt.Errorf("suite %s: problem %d: name %q: want letters, digits, dots and hyphens", path, i+1,
				p.Name)
		case names[p.Name]:
			return nil, fmt.Errorf("suite %s: two problems are called %s: give one of them another name", path, p.Name)
		}
		names[p.Name] = true
		for _, file := range []*string{&p.Problem, &p.Settings.Safe, &p.Settings.Null, &p.Settings.Changing.File} {
			beside := filepath.Join(filepath.Dir(path), *file)
			if _, err := os.Stat(beside); err == nil && *file != "auto" && *file != "none" && *file != "" {
				*file = beside
			}
		}
	}
	return s, nil
}

// A Folder keeps each finished run of a suite in a file of its own. Files are written beside
// their place and renamed, so that other machines that read the folder find whole files
// only. Runs that are under way are not kept.
type Folder struct {
	Path string
	ids  map[*Contest]suiteID
}

// A suiteID is the name of a contest in a suite, and what its results depend on.
type suiteID struct{ name, fingerprint string }

// Add tells the folder the name that a contest has in file names.
func (f *Folder) Add(c *Contest, name string) error {
	settings := c.Settings
	settings.Algorithms, settings.Seeds, settings.Seed = nil, 0, 0 // they say which runs there are
	if settings.Support == "none" {
		settings.Support = "" // results from before there was one stay valid
	}
	data, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(append([]byte(c.Fingerprint), data...))
	if f.ids == nil {
		f.ids = map[*Contest]suiteID{}
	}
	f.ids[c] = suiteID{name, hex.EncodeToString(sum[:8])}
	return nil
}

// Name is the name of a contest in file names.
func (f *Folder) Name(c *Contest) string { return f.ids[c].name }

// File is the path of the file of a run's result.
func (f *Folder) File(t *Trial) string {
	return filepath.Join(f.Path, fmt.Sprintf("%s--%s--%d.json", f.ids[t.Contest].name, t.Entrant.Name, t.Seed()))
}

// Restore does nothing: runs are kept when they are finished.
func (f *Folder) Restore(*Run) error { return nil }

// Keep does nothing.
func (f *Folder) Keep(*Run) error { return nil }

// Finish writes the file of a result.
func (f *Folder) Finish(r *Run, result *RunResult) error {
	result.Suite = f.ids[r.Contest].fingerprint
	data, err := json.Marshal(result)
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(f.File(r.Trial), sealed(data)); err != nil {
		return fmt.Errorf("result: %w", err)
	}
	return nil
}

// Read enters the results of trials that are there, and returns which are not.
func (f *Folder) Read(trials []*Trial) (map[*Trial]bool, error) {
	missing := map[*Trial]bool{}
	for _, t := range trials {
		data, err := os.ReadFile(f.File(t))
		if errors.Is(err, fs.ErrNotExist) {
			missing[t] = true
			continue
		}
		var r *RunResult
		if err == nil {
			r, err = unsealed(data)
		}
		if err != nil {
			return nil, fmt.Errorf("result %s: %w; remove it to play the run again", f.File(t), err)
		}
		if r.Suite != f.ids[t.Contest].fingerprint || r.Algorithm != t.Entrant.Name || r.Seed != t.Seed() ||
			r.Episodes != t.Episodes {
			return nil, fmt.Errorf("result %s: it is of other settings or another problem; remove it, or take "+
				"another folder with --results", f.File(t))
		}
		t.Results[t.Index] = r
	}
	return missing, nil
}

// seal begins the last member of a result file, the SHA-256 of what is before it.
const seal = `,"sha256":"`

// sealed returns the file of a result, which is an object in JSON.
func sealed(object []byte) []byte {
	object = bytes.TrimSuffix(object, []byte("}"))
	return fmt.Appendf(nil, "%s%s%x\"}\n", object, seal, sha256.Sum256(object))
}

// unsealed reads the file of a result. Files from before there were checksums have none.
func unsealed(file []byte) (*RunResult, error) {
	var form struct {
		RunResult
		SHA256 *string `json:"sha256"`
	}
	decoder := json.NewDecoder(bytes.NewReader(file))
	decoder.DisallowUnknownFields() // a damaged name of the checksum is no reason to do without it
	if err := decoder.Decode(&form); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("more than one value")
	}
	if form.SHA256 != nil {
		at := bytes.LastIndex(file, []byte(seal))
		if at < 0 || !bytes.Equal(file, sealed(append(file[:at:at], '}'))) {
			return nil, errors.New("it was damaged or changed: its checksum is another one")
		}
	}
	return &form.RunResult, nil
}

// A Shard is part Index, from 0, of Count parts of a suite's runs.
type Shard struct{ Index, Count int }

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index+1, s.Count) }

// Whole reports whether there is no other part.
func (s Shard) Whole() bool { return s.Count == 1 }

// Has reports whether the part has a run, by the number of the run: neighbours, which are
// alike, are in different parts.
func (s Shard) Has(run int) bool { return run%s.Count == s.Index }
