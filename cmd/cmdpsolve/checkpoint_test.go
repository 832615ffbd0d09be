package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cmdpsolve/cmdp"
)

// learnInventory returns the command of a run of about a second that saves as
// often as it can.
func learnInventory(path string, args ...string) *exec.Cmd {
	args = append([]string{"learn", "inventory", "--episodes", "60000", "--seeds", "2", "--save-every", "1ms",
		"--format", "json"}, args...)
	// The test binary stands in for the command, see TestMain.
	return exec.Command(path, args...)
}

func cmdpsolvePath(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cmdpsolve")
	if err := os.Symlink(self, path); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	return path
}

// TestKilledRunsResumeBitForBit kills a run again and again without warning.
// After each kill the checkpoint is whole, and the run that was resumed to its
// end gives the same result as one that was never disturbed.
func TestKilledRunsResumeBitForBit(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("what is concurrent here is tried by TestInterruptedComparisonResumes too")
	}
	path := cmdpsolvePath(t)
	want, err := learnInventory(path).Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "run.checkpoint")
	alive := 150 * time.Millisecond // and longer each time, so that a slow machine gets there too
	for kills := 0; ; kills, alive = kills+1, alive*5/4 {
		cmd := learnInventory(path, "--resume", file)
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			cmd = learnInventory(path, "--save", file)
		}
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		select {
		case err := <-done:
			if err != nil {
				t.Fatalf("after %d kills: %v", kills, err)
			}
			if kills < 3 {
				t.Logf("the run was killed %d times only", kills)
			}
			sameResult(t, out.Bytes(), want)
			return
		case <-time.After(alive):
			_ = cmd.Process.Kill()
			<-done
		}
		if _, err := cmdp.ReadCheckpoint(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("after %d kills: %v", kills+1, err)
		}
	}
}

// waitForFile waits until a run has saved something, for a minute at most: by then it listens to signals.
func waitForFile(file string) {
	for range 6000 {
		if _, err := os.Stat(file); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// sameResult compares two JSON results but for their running times and commands.
func sameResult(t *testing.T, got, want []byte) {
	t.Helper()
	clean := func(data []byte) string {
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		dropVaried(v)
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if g, w := clean(got), clean(want); g != w {
		t.Errorf("results differ:\n%s\n%s", g, w)
	}
}

func dropVaried(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "seconds")
		delete(v, "command")
		for _, x := range v {
			dropVaried(x)
		}
	case []any:
		for _, x := range v {
			dropVaried(x)
		}
	}
}

// TestResuming: a command goes on with the same options, and the checkpoint in the place of --save and of an older one.
func TestResuming(t *testing.T) {
	for args, want := range map[string]string{
		"learn grid --save a":                         "learn grid --resume a",
		"learn --save=a grid --seeds 3":               "learn grid --seeds 3 --resume a",
		"compare grid --resume b --save a --parallel": "compare grid --parallel --resume a",
		"learn grid --resume=a --save-every 1s":       "learn grid --save-every 1s --resume a",
	} {
		if got := strings.Join(resuming(strings.Fields(args), "a"), " "); got != want {
			t.Errorf("%s: got %s: want %s", args, got, want)
		}
	}
}

// TestInterruptedRunSaysWhatItKnows sends the signal of Ctrl-C.
func TestInterruptedRunSaysWhatItKnows(t *testing.T) {
	path := cmdpsolvePath(t)
	file := filepath.Join(t.TempDir(), "run.checkpoint")
	cmd := exec.Command(path, "learn", "grid", "--episodes", "1000000000", "--save", file, "--save-every", "1ms",
		"--format", "json")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitForFile(file)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	if e := (*exec.ExitError)(nil); !errors.As(err, &e) || e.ExitCode() != exitFailed {
		t.Errorf("ended with %v: want exit status %d", err, exitFailed)
	}
	again := "go on with: cmdpsolve learn grid --episodes 1000000000 --save-every 1ms --format json --resume " + file +
		"\n"
	if !bytes.Contains(errs.Bytes(), []byte("interrupted")) || !bytes.Contains(errs.Bytes(), []byte(again)) {
		t.Errorf("messages: %s: want %s", errs.String(), again)
	}
	var rep learnReport
	if err := json.Unmarshal(out.Bytes(), &rep); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	if !rep.Interrupted || rep.Episodes < 1 || len(rep.History) < 1 ||
		rep.History[len(rep.History)-1].Episode != rep.Episodes {
		t.Errorf("reported %d episodes, interrupted %v, %d records", rep.Episodes, rep.Interrupted, len(rep.History))
	}
	if c, err := cmdp.ReadCheckpoint(file); err != nil || len(c.Runs) != 1 {
		t.Errorf("checkpoint: %v", err)
	}
}
