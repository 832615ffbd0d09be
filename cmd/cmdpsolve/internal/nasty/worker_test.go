package nasty

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// buildWorker builds the tests of the command, with the race detector and the tags of this test. The command itself
// cannot be imported; its tests run commands when they are called "nastyworker".
func buildWorker(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "nastyworker.exe")
	arguments := []string{"test", "-c", "-o", name}
	info, _ := debug.ReadBuildInfo()
	for _, s := range info.Settings {
		switch s.Key {
		case "-race", "-tags":
			arguments = append(arguments, s.Key+"="+s.Value)
		}
	}
	build := exec.Command("go", append(arguments, "cmdpsolve/cmd/cmdpsolve")...)
	out, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", build, err, out)
	}
	openSources(t)
	return name
}

// openSources opens the folders of the packages that the command is made of. This package imports none of them, and
// go test would show its last result again after the command has changed; it does not if what a test opened has.
func openSources(t *testing.T) {
	t.Helper()
	list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}",
		"cmdpsolve/cmd/cmdpsolve")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%v: %v", list, err)
	}
	for folder := range strings.Lines(string(out)) {
		if _, err := os.ReadDir(strings.TrimSpace(folder)); err != nil {
			t.Fatal(err)
		}
	}
}

// worker starts a process that runs commands, one after the other. A command that panics or does not end
// takes the process with it; the next command has a new one.
func worker(t *testing.T) Command {
	type process struct {
		cmd *exec.Cmd
		in  io.WriteCloser
		out *bufio.Reader
		err strings.Builder
	}
	program := buildWorker(t)
	var p *process
	stop := func() {
		if p != nil {
			p.in.Close()
			p.cmd.Process.Kill()
			p.cmd.Wait()
			p = nil
		}
	}
	t.Cleanup(stop)
	return func(large bool, arguments ...string) Ran {
		if p == nil {
			p = &process{cmd: &exec.Cmd{Path: program, Args: []string{"nastyworker"}}}
			var err error
			if p.in, err = p.cmd.StdinPipe(); err != nil {
				t.Fatal(err)
			}
			out, err := p.cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			p.out = bufio.NewReader(out)
			p.cmd.Stderr = &p.err
			if err := p.cmd.Start(); err != nil {
				t.Fatal(err)
			}
		}
		if err := json.NewEncoder(p.in).Encode(map[string]any{"Large": large, "Arguments": arguments}); err != nil {
			t.Fatal(err)
		}
		answered := make(chan Ran, 1)
		go func(p *process) {
			line, err := p.out.ReadBytes('\n')
			var r Ran
			if err != nil || json.Unmarshal(line, &r) != nil {
				r.Lost = "panic"
			}
			answered <- r
		}(p)
		select {
		case r := <-answered:
			if r.Lost != "" {
				p.cmd.Wait()
				r.Err, _, _ = strings.Cut(p.err.String(), "\n\ngoroutine 0")
				p = nil
			}
			return r
		case <-time.After(time.Minute):
			stop()
			return Ran{Lost: "does not end"}
		}
	}
}
