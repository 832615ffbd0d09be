package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/contest"

	"github.com/goccy/go-yaml"
)

// TestInterruptedComparisonResumes interrupts a comparison once, kills it a few
// times, resumes it, and wants the result of one that was left alone.
func TestInterruptedComparisonResumes(t *testing.T) {
	t.Parallel()
	path := cmdpsolvePath(t)
	command := func(args ...string) *exec.Cmd {
		return exec.Command(path,
			append([]string{"compare", "inventory", "--no-times", "--format", "json", "--save-every", "1ms"},
				args...)...)
	}
	settings := []string{"--algorithms", "moma,conrl-lp,triple-q,mo-ucbvi,optprimaldual", "--slater", "auto",
		"--episodes", "4000", "--seeds", "2"}
	want, err := command(settings...).Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "runs")
	stopped := 0
	for round := 0; ; round++ {
		args := append([]string{"--save", file}, settings...)
		if _, err := os.Stat(file); err == nil {
			args = []string{"--resume", file}
		}
		cmd := command(args...)
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		if round == 0 {
			waitForFile(file)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Fatalf("after %d stops: %v", stopped, err)
			}
			t.Logf("stopped %d times", stopped)
			if !bytes.Equal(out.Bytes(), want) {
				t.Error("a comparison that was resumed has another result than one that was not")
			}
			return
		case <-time.After(time.Duration(120*(round+1)) * time.Millisecond):
			stopped++
			if round > 0 {
				_ = cmd.Process.Kill()
				<-done
				continue
			}
			_ = cmd.Process.Signal(syscall.SIGINT)
			err := <-done
			if e := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &e) || e.ExitCode() != exitFailed) {
				t.Fatalf("interrupted: %v: want exit status %d", err, exitFailed)
			}
			var rep struct {
				Interrupted bool `json:"interrupted"`
			}
			if err := json.Unmarshal(out.Bytes(), &rep); err != nil || !rep.Interrupted && out.Len() != len(want) {
				t.Fatalf("interrupted: %v, and it says %v", err, rep.Interrupted)
			}
		}
	}
}

func TestShards(t *testing.T) {
	type vars map[string]string
	for _, c := range []struct {
		name string
		o    suiteOptions
		env  vars
		want string // "i/n", or the error
	}{
		{"nothing", suiteOptions{}, nil, "1/1"},
		{"given", suiteOptions{shard: "2/7"}, vars{"SLURM_ARRAY_TASK_ID": "1"}, "2/7"},
		{"given twice", suiteOptions{shard: "2/7", shards: 6}, nil, "7 parts"},
		{"beyond", suiteOptions{shard: "8/7"}, nil, "want i/n"},
		{"zero", suiteOptions{shard: "0/7"}, nil, "want i/n"},
		{"word", suiteOptions{shard: "a/b"}, nil, "want i/n"},
		{"slurm from 0", suiteOptions{}, vars{"SLURM_ARRAY_TASK_ID": "0", "SLURM_ARRAY_TASK_COUNT": "4",
			"SLURM_ARRAY_TASK_MIN": "0"}, "1/4"},
		{"slurm from 1", suiteOptions{}, vars{"SLURM_ARRAY_TASK_ID": "4", "SLURM_ARRAY_TASK_COUNT": "4",
			"SLURM_ARRAY_TASK_MIN": "1"}, "4/4"},
		{"slurm by 3", suiteOptions{}, vars{"SLURM_ARRAY_TASK_ID": "8", "SLURM_ARRAY_TASK_COUNT": "4",
			"SLURM_ARRAY_TASK_MIN": "2", "SLURM_ARRAY_TASK_STEP": "3"}, "3/4"},
		{"slurm with gaps", suiteOptions{}, vars{"SLURM_ARRAY_TASK_ID": "9", "SLURM_ARRAY_TASK_COUNT": "3",
			"SLURM_ARRAY_TASK_MIN": "1"}, "without gaps"},
		{"slurm, a part of the array again", suiteOptions{shards: 8},
			vars{"SLURM_ARRAY_TASK_ID": "5", "SLURM_ARRAY_TASK_COUNT": "1"}, "6/8"},
		{"slurm, two parts of the array again", suiteOptions{shards: 16},
			vars{"SLURM_ARRAY_TASK_ID": "7", "SLURM_ARRAY_TASK_COUNT": "2", "SLURM_ARRAY_TASK_MIN": "3",
				"SLURM_ARRAY_TASK_STEP": "4"}, "8/16"},
		{"slurm, all of the array and its number", suiteOptions{shards: 4},
			vars{"SLURM_ARRAY_TASK_ID": "4", "SLURM_ARRAY_TASK_COUNT": "4", "SLURM_ARRAY_TASK_MIN": "1"}, "4/4"},
		{"slurm without count", suiteOptions{}, vars{"SLURM_ARRAY_TASK_ID": "0"}, "give --shards"},
		{"slurm, rubbish", suiteOptions{}, vars{"SLURM_ARRAY_TASK_ID": "x", "SLURM_ARRAY_TASK_COUNT": "1"},
			"whole number"},
		{"kubernetes", suiteOptions{shards: 5}, vars{"JOB_COMPLETION_INDEX": "4"}, "5/5"},
		{"kubernetes without count", suiteOptions{}, vars{"JOB_COMPLETION_INDEX": "4"}, "give --shards"},
		{"kubernetes beyond", suiteOptions{shards: 4}, vars{"JOB_COMPLETION_INDEX": "4"}, "less than --shards 4"},
		{"kubernetes, rubbish", suiteOptions{shards: 4}, vars{"JOB_COMPLETION_INDEX": "-1"}, "whole number"},
		{"merging reads no environment", suiteOptions{merge: true}, vars{"JOB_COMPLETION_INDEX": "4"}, "1/1"},
		{"negative", suiteOptions{shards: -1}, nil, "at least 1"},
	} {
		s, _, err := c.o.resolve(func(name string) string { return c.env[name] })
		got := s.String()
		if err != nil {
			got = err.Error()
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%s: %s: want %s", c.name, got, c.want)
		}
	}
}

// TestPartsOfSuites: every run of a suite is in one part, and no part has more than one run more than another.
func TestPartsOfSuites(t *testing.T) {
	folder := &contest.Folder{Path: t.TempDir()}
	var events []*event
	all := 0
	for i, seeds := range []int{1, 1, 2, 1} {
		p, err := load(diceFile(t, "goal: {maximize: gain}\n"))
		if err != nil {
			t.Fatal(err)
		}
		s := contest.Defaults()
		s.Algorithms, s.Seeds = []string{"moma"}, seeds
		c, err := newContest(t.Context(), p, s, contest.PrepareOptions{Unsolved: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := folder.Add(c, fmt.Sprint("dice", i)); err != nil {
			t.Fatal(err)
		}
		events, all = append(events, &event{c, p}), all+seeds
	}
	for parts := 1; parts <= all+1; parts++ {
		sum, least, most := 0, all, 0
		for k := range parts {
			mine, others, total, err := (&suiteOptions{}).missing(events, folder, contest.Shard{Index: k, Count: parts})
			if err != nil || total != all || len(mine)+others != all {
				t.Fatalf("part %d of %d: %d runs and %d others of %d, %v", k+1, parts, len(mine), others, total, err)
			}
			sum, least, most = sum+len(mine), min(least, len(mine)), max(most, len(mine))
		}
		if sum != all || most > least+1 {
			t.Errorf("%d parts of %d runs have %d, from %d to %d", parts, all, sum, least, most)
		}
	}
}

// TestLatexOfAllLearners: pdflatex knows every sign of the registry, rows have as
// many cells as the header, and braces are balanced.
func TestLatexOfAllLearners(t *testing.T) {
	rep := &compareReport{subject: subject{Problem: "a_b & c"}, Settings: contest.Defaults(),
		heading: report.Heading{"a ± é\nb"}}
	for _, a := range baseline.Algorithms() {
		rep.Rows = append(rep.Rows, &compareRow{Entrant: &contest.Entrant{Algorithm: a}, runs: 1,
			metrics: map[string]estimate{"regret": {1, 0.1}, "violation": {report.NaN, report.NaN}}})
	}
	var out bytes.Buffer
	w := comparison{wide: true, times: true}
	for _, r := range []*report.Report{w.one(rep), w.suite([]*compareReport{rep})} {
		if err := r.Write(&out, report.LaTeX); err != nil {
			t.Fatal(err)
		}
	}
	text := out.String()
	if strings.Contains(text, "[U+") {
		t.Errorf("a sign has no LaTeX: %s", regexp.MustCompile(`.{20}\[U\+.{10}`).FindString(text))
	}
	cells := 0
	for line := range strings.Lines(text) {
		for _, r := range line {
			if r > '~' {
				t.Fatalf("not ASCII: %s", line)
			}
		}
		if strings.HasPrefix(line, `\begin{tabular}`) {
			cells = len(strings.TrimSuffix(strings.TrimSpace(line), "}")) - len(`\begin{tabular}{`)
		}
		if strings.HasSuffix(line, `\\`+"\n") {
			if n := strings.Count(strings.ReplaceAll(line, `\&`, ""), "&") + 1; n != cells {
				t.Errorf("%d cells under a header of %d: %s", n, cells, line)
			}
		}
		plain := strings.NewReplacer(`\{`, "", `\}`, "").Replace(line)
		if strings.Count(plain, "{") != strings.Count(plain, "}") ||
			strings.Count(strings.ReplaceAll(line, `\$`, ""), "$")%2 != 0 {
			t.Errorf("braces or dollars without their partner: %s", line)
		}
	}
}

// TestLatexCompiles gives the table of a comparison, and that of what learners can
// do, to pdflatex, where it is installed.
func TestLatexCompiles(t *testing.T) {
	if err := exec.Command("kpsewhich", "booktabs.sty").Run(); err != nil {
		t.Skip("no LaTeX with booktabs here")
	}
	var table, errs bytes.Buffer
	args := []string{"compare", "inventory", "--slater", "auto", "--episodes", "20", "--seeds", "2", "--format",
		"latex", "--wide"}
	if status := run(t.Context(), args, &table, &errs); status != exitDone {
		t.Fatal(errs.String())
	}
	dir := t.TempDir()
	text := "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n" + table.String() + "\\end{document}\n"
	if err := os.WriteFile(filepath.Join(dir, "table.tex"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("pdflatex", "-interaction=nonstopmode", "-halt-on-error", "table.tex")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestManualNamesMetrics: every metric stands in the manual's page, where users of
// the JSON and CSV forms look for it.
func TestManualNamesMetrics(t *testing.T) {
	text, err := os.ReadFile("../../docs/comparing.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range contest.Metrics() {
		if !bytes.Contains(text, []byte("`"+m.Key+"`")) {
			t.Errorf("docs/comparing.md does not name `%s`", m.Key)
		}
	}
}

// Without the scheduler's command nothing is submitted, and the message says what to do.
func TestSubmitWithoutScheduler(t *testing.T) {
	suite := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(suite, []byte("format: cmdp-suite/1\nalgorithms: [moma]\nproblems: [riverswim]\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	var out, msg strings.Builder
	if status := run(t.Context(), []string{"compare", "--suite", suite, "--submit", "slurm", "--shards", "2"}, &out,
		&msg); status != exitFailed ||
		!strings.Contains(msg.String(), "there is no command sbatch here") ||
		!strings.Contains(msg.String(), "--dry-run") {
		t.Errorf("status %d, %s", status, msg.String())
	}
}

// TestSubmittedIsTheSuite runs the commands of what would be submitted, of names that a shell has to have quoted: parts
// and merging write the tables that the suite has when it is played at once.
func TestSubmittedIsTheSuite(t *testing.T) {
	t.Chdir(t.TempDir())
	text := "format: cmdp-suite/1\nepisodes: 30\nseeds: 2\nalgorithms: [moma, appropo]\nproblems: [riverswim, inventory]\n"
	if err := os.WriteFile("my suite.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	command := func(args []string) string {
		t.Helper()
		var out, errs strings.Builder
		if status := run(t.Context(), args, &out, &errs); status != exitDone {
			t.Fatalf("%q: status %d, %s", args, status, errs.String())
		}
		return out.String()
	}
	want := command([]string{"compare", "--suite", "my suite.yaml", "--results", "at once", "--format", "csv", "--no-times"})
	for _, to := range []string{"slurm", "kubernetes"} {
		tables := "the tables of " + to
		args := []string{"compare", "--suite", "my suite.yaml", "--submit", to, "--shards", "3", "--dry-run", "--results",
			"results of " + to, "--tables", tables, "--format", "csv", "--no-times", "--parallel", "2"}
		if to == "kubernetes" {
			args = append(args, "--image", "x", "--claim", "y")
		}
		script := command(args)
		var jobs [][]string
		for line := range strings.Lines(script) {
			if words := shellWord.FindAllString(line, -1); len(words) > 0 && words[0] == "exec" {
				for i := range words {
					words[i] = strings.Trim(words[i], `'"`)
				}
				jobs = append(jobs, words[2:])
			}
		}
		for manifest := range strings.SplitSeq(script, "---\n") {
			var job struct {
				Spec struct {
					Completions int
					Template    struct {
						Spec struct{ Containers []struct{ Command []string } }
					}
				}
			}
			if to != "kubernetes" {
				break
			}
			if err := yaml.Unmarshal([]byte(manifest), &job); err != nil {
				t.Fatal(err)
			}
			if n := job.Spec.Completions; n != 3*(1-len(jobs)) {
				t.Errorf("%d jobs of number %d", n, len(jobs))
			}
			jobs = append(jobs, job.Spec.Template.Spec.Containers[0].Command[1:])
		}
		if len(jobs) != 2 {
			t.Fatalf("%s: want two jobs in\n%s", to, script)
		}
		for i := range 3 {
			part := slices.Clone(jobs[0])
			for k, word := range part {
				part[k] = strings.Replace(word, "$SLURM_ARRAY_TASK_ID", fmt.Sprint(i+1), 1)
			}
			if to == "kubernetes" {
				t.Setenv("JOB_COMPLETION_INDEX", fmt.Sprint(i))
			}
			command(part)
		}
		command(jobs[1])
		got, err := os.ReadFile(tables)
		if err != nil || string(got) != want {
			t.Errorf("%s: tables %s, %v: want %s", to, got, err, want)
		}
	}
}

// Names of jobs are DNS labels whatever the file is called.
func TestJobName(t *testing.T) {
	for path, want := range map[string]string{"a/Big_Suite.v2.yaml": "big-suite-v2", "--.yaml": "suite",
		"ü.yaml": "suite", strings.Repeat("a", 39) + "-b.yaml": strings.Repeat("a", 39)} {
		if got := jobName(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// TestSuiteAtOnce: a suite that is played in parts and merged says what it says when it is played at once, and of each
// problem what compare says of it alone. A part says how far the suite is; before the last some results are missing.
func TestSuiteAtOnce(t *testing.T) {
	flagFolder(t)
	suite := "format: cmdp-suite/1\nproblems: [two-rooms.yaml, {name: other, problem: depot.yaml, episodes: 6}]\n" +
		"algorithms: [moma, optdual, posterior]\nepisodes: 8\nseeds: 2\nslater: auto\n"
	if err := os.WriteFile("small.yaml", []byte(suite), 0o600); err != nil {
		t.Fatal(err)
	}
	const all, parts = 12, 5
	at := func(results string, more ...string) answer {
		args := []string{"compare", "--suite", "small.yaml", "--no-times", "--quiet", "--results", results}
		text, _ := printed(t, "json", append(args, more...)...)
		return answerOf(t, text)
	}
	once, played := at("once", "--plot", "curves.svg"), 0
	for i := range parts {
		var out, said bytes.Buffer
		part := fmt.Sprintf("%d/%d", i+1, parts)
		args := []string{"compare", "--suite", "small.yaml", "--results", "parts", "--shard", part}
		status := run(t.Context(), args, &out, &said)
		mine := (all - i + parts - 1) / parts
		played += mine
		want := fmt.Sprintf("part %s: %s played; %d of %d results of the suite are in parts\n", part,
			many(float64(mine), "run"), played, all)
		if status != exitDone || out.String() != want {
			t.Errorf("status %d, %q: want %q; %s", status, out.String(), want, said.String())
		}
		status, words := called("compare --suite small.yaml --results parts --merge")
		if missing := fmt.Sprintf("%d of %d results are not there yet", all-played, all); status != exitDone ||
			strings.Contains(words, missing) != (played < all) {
			t.Errorf("status %d, %s: want %s", status, words, missing)
		}
	}
	if merged := at("parts", "--merge"); !reflect.DeepEqual(merged["problems"], once["problems"]) {
		t.Errorf("merged: %v\nat once: %v", merged, once)
	}
	for k, of := range once.list("problems") {
		if _, err := os.Stat([]string{"curves-two-rooms.svg", "curves-other.svg"}[k]); err != nil {
			t.Error(err)
		}
		file := []string{"two-rooms.yaml", "depot.yaml"}[k]
		text, _ := printed(t, "json", "compare", file, "--algorithms", "moma,optdual,posterior", "--seeds", "2", "--slater",
			"auto", "--episodes", fmt.Sprint(of.num("episodes")), "--no-times", "--quiet")
		alone := answerOf(t, text)
		if !reflect.DeepEqual(alone["rows"], of["rows"]) || of.num("episodes") != []float64{8, 6}[k] {
			t.Errorf("%s alone: %v\nin the suite: %v", file, alone["rows"], of["rows"])
		}
	}
}
