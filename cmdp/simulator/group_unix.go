//go:build unix

package simulator

import (
	"io"
	"os/exec"
	"syscall"
)

// A group is a process group for one program and all that it starts. Its leader is a shell that kills the group
// once this process is gone, even if it was killed itself and could do nothing: the pipe that the shell reads
// from then ends.
type group struct {
	leader *exec.Cmd
	alive  io.Closer
}

func newGroup() (*group, error) {
	g := &group{leader: exec.Command("sh", "-c", "read -r line; kill -KILL 0")}
	g.leader.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	g.alive, err = g.leader.StdinPipe()
	if err != nil {
		return nil, err
	}
	return g, g.leader.Start()
}

// shell returns the command that starts a command line in the group, with the shell. An interrupt from the
// terminal does not reach it: that is for this process, which then ends the program.
func (g *group) shell(line string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", line)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.leader.Process.Pid}
	return cmd
}

// add adds a command that was started. Here it has been in the group from the start.
func (g *group) add(*exec.Cmd) error { return nil }

// kill kills all of the group that is left.
func (g *group) kill() {
	_ = syscall.Kill(-g.leader.Process.Pid, syscall.SIGKILL) // an error says that nobody is left
	_ = g.leader.Wait()                                      // it was killed
	_ = g.alive.Close()
}
