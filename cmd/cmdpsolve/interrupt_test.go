//go:build unix

package main

import (
	"bytes"
	"context"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/progress"
)

// slowFiles makes files that never end, which take all the time that a reader has.
func slowFiles(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Skip("no pipes here: ", err)
		}
		f, err := os.OpenFile(name, os.O_RDWR, 0) // nobody waits for another end
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
	}
}

// TestInterruptedWhileReading interrupts every command while it waits for a file: each ends with status 1 and says why,
// in JSON too, and leaves no file behind.
func TestInterruptedWhileReading(t *testing.T) {
	defer func(old time.Duration) { patience = old }(patience)
	patience = 10 * time.Millisecond
	filesOf(t)
	slowFiles(t, "slow.yaml", "slow.json", "slow.csv", "slow.drn", "slow.tra", "slow.npz", "slow.checkpoint",
		"rows2.csv")
	text, err := os.ReadFile("problem.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("rows.yaml", bytes.ReplaceAll(text, []byte("rows.csv"), []byte("rows2.csv")),
		0o644); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"plan slow.yaml --format json", "plan rows.yaml --policy new.csv", "plan problem.yaml --log slow.csv",
		"front slow.yaml --over a,b --plot new.svg",
		"check rows.yaml", "simulate slow.yaml --policy policy.csv", "simulate problem.yaml --policy slow.csv",
		"learn slow.yaml --save new.checkpoint",
		"learn problem.yaml --log slow.csv", "learn problem.yaml --resume slow.checkpoint", "compare slow.yaml",
		"compare --suite slow.yaml",
		"compare problem.yaml --algorithms optpess-lp --slater 0.1 --safe-policy slow.csv",
		"explore rows.yaml --no-open",
		"convert slow.yaml new.umb", "convert slow.drn new.umb", "convert slow.tra new.drn",
		"convert slow.npz new.yaml", "convert slow.json new.yaml",
		"plot slow.json", "report slow.json --output new.html",
	} {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		var out, said bytes.Buffer
		status := run(ctx, strings.Fields(line), &out, &said)
		if status != exitFailed || !strings.Contains(said.String(), "interrupted") {
			t.Errorf("%s: status %d, %s", line, status, said.String())
		}
		if strings.Contains(line, "json") == (out.Len() == 0) && strings.Contains(line, "--format json") {
			t.Errorf("%s: output %q", line, out.String())
		}
		left, err := filepath.Glob("*new*")
		hidden, err2 := filepath.Glob(".*")
		if err != nil || err2 != nil || len(left)+len(hidden) > 0 {
			t.Errorf("%s leaves %q %q", line, left, hidden)
		}
	}
}

// TestSignalWhileReading sends signals to a process that reads its standard input, which never ends.
func TestSignalWhileReading(t *testing.T) {
	path := cmdpsolvePath(t)
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		cmd := exec.Command(path, "plan", "-")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// A pipe takes no more than 64 kB before somebody reads, and who reads has been told what signals are.
		if _, err := io.WriteString(in, strings.Repeat("# a comment\n", 10_000)); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		err = cmd.Wait()
		if cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(said.String(), "interrupted") {
			t.Errorf("%v: %v, %s", signal, err, said.String())
		}
	}
}

// ended are commands that do nothing that takes long.
var ended = []string{"algorithms", "completion", "help", "man", "plot", "python", "report", "version"}

// TestEveryCommandEnds ends the context of each command after a drawn number of looks at it and of things told: the
// command says that it was interrupted before it looks many times more, and leaves files as they were. One that works
// to its end tells of something how far it is.
func TestEveryCommandEnds(t *testing.T) {
	defer func(old time.Duration) { patience = old }(patience)
	patience = time.Hour // so that commands have to end by themselves
	examples, err := filepath.Abs("../../docs/examples")
	if err != nil {
		t.Fatal(err)
	}
	filesOf(t)
	for name, text := range map[string]string{"ring.prism": ring,
		"line.prism": strings.Replace(ring, "  [again] y=N -> (y'=0);\n", "", 1),
		"total.yaml": "format: cmdp/1\ndiscount: 1\n" + strings.ReplaceAll(ofRing, "ring.prism", "line.prism") +
			"constraints: [{return: cost, at_most: 5}]\n",
		"tail.yaml":     "format: cmdp/1\nhorizon: 4\n" + ofRing + "constraints: [{return: cost, at_most: 3, cvar: 0.2}]\n",
		"average.yaml":  "format: cmdp/1\ncriterion: average\n" + ofRing + "constraints: [{return: cost, at_most: 0.2}]\n",
		"discount.yaml": "format: cmdp/1\ndiscount: 0.9\n" + ofRing + "constraints: [{return: cost, at_most: 2}]\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const model = "garnet:S=1100,A=2,H=3,d=2,b=2"
	const game = "soccer:rows=1,cols=4,H=4"
	for _, line := range []string{"plan " + model + " --policy model.csv", "convert ring.prism ring.drn --const N=33"} {
		if status, said := called(line); status != exitDone {
			t.Fatal(line, said)
		}
	}
	lines := []string{
		"plan " + model + " --policy new.csv --distribution --plot new.svg", "plan total.yaml --policy new.json",
		"plan average.yaml --show", "plan inventory --interval 0.01 --worst new.yaml", "plan discount.yaml", "plan tail.yaml",
		"plan inventory:capacity=2,H=3 --deterministic", "plan " + examples + "/fleet.yaml", "plan " + game + " --policy new.csv",
		"front " + model + " --over -r0,-r1 --plot new.svg", "front average.yaml --over gain,-cost --error 0.1",
		"front inventory:capacity=2,H=3 --over -shortage,-cost --deterministic", "check " + model, "check total.yaml", "check " + game,
		"simulate " + model + " --policy model.csv", "simulate " + examples + "/fleet.yaml --episodes 100",
		"learn " + game + " --episodes 20", "learn " + model + " --sample 20", "convert ring.prism new.umb --const N=33",
		"compare " + model + " --episodes 20 --seeds 2 --algorithms moma,optcmdp,triple-q", "convert ring.drn new.umb",
		"instances " + model, "explore " + model + " --no-open",
	}
	for _, learner := range []string{"moma", "posterior", "moma-posterior", "posterior-safe"} {
		lines = append(lines, "learn inventory --pool --episodes 20 --learner "+learner)
	}
	for _, learner := range []string{"posterior", "psconrl", "c-ucrl2", "fha"} {
		lines = append(lines, "learn "+examples+"/river.yaml --steps 1000 --learner "+learner)
	}
	rng := rand.New(rand.NewPCG(26, 9))
	told := map[string]bool{}
	for _, line := range lines {
		name, _, _ := strings.Cut(line, " ")
		t.Run(line, func(t *testing.T) { told[name] = endedAnywhere(t, line, rng) || told[name] })
	}
	for _, cmd := range newRoot(streams{problem: new(problem.ReadOptions)}).Commands() {
		if !told[cmd.Name()] && !slices.Contains(ended, cmd.Name()) {
			t.Errorf("%s tells of nothing how far it is", cmd.Name())
		}
	}
}

// endedAnywhere is a part of TestEveryCommandEnds. It reports whether the command told of something how far it is.
func endedAnywhere(t *testing.T, line string, rng *rand.Rand) (told bool) {
	before := contents(t)
	whole := newCounted(math.MaxInt64)
	status, said := whole.run(line)
	all := whole.looks.Load()
	if status != exitDone && status != exitInfeasible || all < 8 {
		t.Fatalf("status %d, %d looks, %s", status, all, said)
	}
	for path := range contents(t) {
		if _, old := before[path]; !old {
			os.Remove(path)
		}
	}
	for range 3 {
		k := 1 + rng.Int64N(all*4/5)
		c := newCounted(k)
		status, said := c.run(line)
		if more := c.looks.Load() - k; status != exitFailed || !strings.Contains(said, "interrupted") ||
			strings.Contains(said, "undecided") || more > 200 {
			t.Errorf("after %d of %d looks: status %d, %d more looks, %s", k, all, status, more, said)
		}
		if after := contents(t); !maps.Equal(before, after) {
			t.Errorf("after %d of %d looks: some file is not what it was", k, all)
		}
	}
	return whole.far.Load()
}

// ring is a model of (N+1)² states of which all lead to each other.
const ring = `mdp
const int N;
module walker
  x : [0..N] init 0;
  y : [0..N] init 0;
  [east] y<N -> 0.7 : (x'=mod(x+1,N+1)) + 0.3 : (y'=y+1);
  [west] y<N -> 0.9 : (x'=mod(x+N,N+1)) + 0.1 : (y'=y+1);
  [again] y=N -> (y'=0);
endmodule
rewards "gain"
  [east] mod(x*7+y*13,5)=0 : 1;
endrewards
rewards "cost"
  [east] mod(x+y,3)=0 : 1;
endrewards
`

// ofRing asks about it.
const ofRing = "returns: {gain: {}, cost: {}}\ngoal: {maximize: gain}\n" +
	"transitions: {file: ring.prism, constants: {N: 33}}\n"

// A counted context counts how often it was looked at and told of progress, and ends after so many times.
type counted struct {
	context.Context
	cancel context.CancelFunc
	most   int64
	looks  atomic.Int64
	far    atomic.Bool // something was told with how far it is
}

func newCounted(most int64) *counted {
	ctx, cancel := context.WithCancel(context.Background())
	return &counted{Context: ctx, cancel: cancel, most: most}
}

func (c *counted) Err() error {
	if c.looks.Add(1) >= c.most {
		c.cancel()
	}
	return c.Context.Err()
}

// run runs a command line, and ends it once it serves a page.
func (c *counted) run(line string) (status int, said string) {
	ctx := progress.With(c, func(_ string, part float64) {
		if !math.IsNaN(part) {
			c.far.Store(true)
		}
		_ = c.Err()
	})
	var text bytes.Buffer
	status = run(ctx, strings.Fields(line), &screen{addressed: c.cancel}, &text)
	return status, text.String()
}
