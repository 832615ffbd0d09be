// Package nasty asks the command about small problems that combine all that a file can say, and judges its answers
// by a reference in rational numbers that shares no code with it.
package nasty

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var (
	nastyTime = flag.Duration("nasty", 0, "for how long to try nasty problems, in place of a fixed number of them")
	nastyMany = flag.Int("problems", 120, "how many nasty problems to try")
	nastySeed = flag.Uint64("seed", 1, "seed of the nasty problems")
	nastyOut  = flag.String("failures", "", "folder for the shrunk failures of nasty problems")
)

// TestNasty asks the command about small problems that combine everything. -nasty 1h goes on for an hour.
func TestNasty(t *testing.T) {
	t.Parallel()
	bed := Bed{Command: worker(t), Folder: t.TempDir()}
	problems := *nastyMany
	switch {
	case *nastyTime > 0:
		problems = 0
	case testing.Short():
		problems = min(problems, 30)
	}
	corpus, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range corpus {
		bed.Replay(t, file)
	}
	var report func(*Problem, *Failure, string)
	if *nastyOut != "" {
		n := 0
		report = func(p *Problem, f *Failure, why string) {
			n++
			data, _ := json.MarshalIndent(map[string]any{"problem": p, "arguments": f.Arguments, "wanted": f.Wanted,
				"found": f.Found, "diagnosis": strings.TrimSpace(f.Kind + ": " + why)}, "", " ")
			name := fmt.Sprintf("%s-%d-%d.json", strings.ReplaceAll(f.Kind, " ", "-"), *nastySeed, n)
			if err := os.WriteFile(filepath.Join(*nastyOut, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	bed.Run(t, *nastySeed, problems, *nastyTime, KnownFailures, report)
}
