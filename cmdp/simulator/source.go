package simulator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"sync"
	"time"
)

// A Source has programs to play. Either it starts Command, with the shell, once for each run, or
// all runs, one after the other, talk to the one program that is at the other end of In and Out.
// It may be used concurrently if it starts programs.
type Source struct {
	// Command is the command line of the program; "" stands for In and Out.
	Command string
	In      io.Reader
	Out     io.Writer
	// Stderr receives what programs write to their standard error.
	Stderr io.Writer
	// Timeout is how long an answer may take.
	Timeout time.Duration

	ctx   context.Context
	mu    sync.Mutex
	spare *talk // has said hello and was not played
}

// closing is the last request, after which the program should end.
const closing = `{"close":true}`

// patience is how long a program may take to end after it was asked to.
var patience = 2 * time.Second

// Hello asks a program what it is. No request is waited for longer than until ctx is done, here
// and later.
func (s *Source) Hello(ctx context.Context) (*Hello, error) {
	s.ctx = ctx
	t, err := s.open()
	if err != nil {
		return nil, err
	}
	hello, err := t.hello()
	if err != nil {
		t.close()
		return nil, err
	}
	s.spare = t
	return hello, nil
}

// open starts a program, or a talk with the one that is there.
func (s *Source) open() (*talk, error) {
	if s.Command == "" {
		return newTalk(s.ctx, s.In, s.Out, s.Timeout), nil
	}
	c, err := start(s.Command, s.Stderr)
	if err != nil {
		return nil, fmt.Errorf("the simulator cannot be started: %w", err)
	}
	t := newTalk(s.ctx, c.stdout, c.stdin, s.Timeout)
	t.child = c
	return t, nil
}

// hello asks what the program is.
func (t *talk) hello() (*Hello, error) {
	request := fmt.Appendf(nil, `{"hello":%d}`, Version)
	line, err := t.ask(request)
	if err == nil {
		var h *Hello
		h, err = parseHello(line)
		if err == nil {
			return h, nil
		}
	}
	return nil, fmt.Errorf("the simulator, asked %s%s: %w", request, t.answered(), err)
}

// take returns a talk in which the program has said hello, the same as before.
func (s *Source) take(want *Hello) (*talk, error) {
	s.mu.Lock()
	t := s.spare
	s.spare = nil
	s.mu.Unlock()
	if t != nil {
		return t, nil
	}
	t, err := s.open()
	if err != nil {
		return nil, err
	}
	h, err := t.hello()
	if err == nil && !reflect.DeepEqual(h, want) {
		err = errors.New("the simulator, started again, says another hello than the first time")
	}
	if err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// release ends the program of a run, or leaves the only one to the next run.
func (s *Source) release(t *talk) {
	if t.child != nil {
		t.close()
		return
	}
	s.mu.Lock()
	s.spare = t
	s.mu.Unlock()
}

// Close ends the program that no run has taken.
func (s *Source) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spare != nil {
		s.spare.close()
		s.spare = nil
	}
}

// close asks the program to end. One that was started here and does not is killed.
func (t *talk) close() {
	_, _ = io.WriteString(t.out, closing+"\n") // it may have ended
	if t.child != nil {
		t.child.end()
	}
}

// A child is a program that was started here, in a group of its own with all that it starts.
type child struct {
	cmd    *exec.Cmd
	group  *group
	stdin  io.WriteCloser
	stdout io.ReadCloser
	done   chan struct{} // closed when it has ended
}

func start(command string, stderr io.Writer) (*child, error) {
	g, err := newGroup()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: g.shell(command), group: g, done: make(chan struct{})}
	if err := c.start(stderr); err != nil {
		g.kill()
		return nil, err
	}
	return c, nil
}

func (c *child) start(stderr io.Writer) error {
	c.cmd.Stderr, c.cmd.WaitDelay = stderr, time.Second
	var err error
	c.stdin, err = c.cmd.StdinPipe()
	if err != nil {
		return err
	}
	// Not StdoutPipe, which must not be waited for before everything is read.
	in, out, err := os.Pipe()
	if err != nil {
		return err
	}
	c.stdout, c.cmd.Stdout = in, out
	err = c.cmd.Start()
	_ = out.Close() // the program has its own
	if err != nil {
		_ = in.Close()
		return err
	}
	if err := c.group.add(c.cmd); err != nil {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
		_ = in.Close()
		return err
	}
	go func() {
		_ = c.cmd.Wait() // ProcessState says how it ended
		close(c.done)
	}()
	return nil
}

// how says how the program ended, if it did within a moment.
func (c *child) how() string {
	select {
	case <-c.done:
		return " (" + c.cmd.ProcessState.String() + ")"
	case <-time.After(time.Second):
		return ", or closed its standard output"
	}
}

// end closes the input of the program, and kills all of its group that is still there after a
// while.
func (c *child) end() {
	_ = c.stdin.Close()
	select {
	case <-c.done:
	case <-time.After(patience):
	}
	c.group.kill()
	<-c.done
	_ = c.stdout.Close()
}
