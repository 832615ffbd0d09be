package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/contest"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
	"cmdpsolve/cmdp/simulator"

	"github.com/spf13/pflag"
)

// simulatorOptions say which program is played in the place of a model.
type simulatorOptions struct {
	command string
	timeout time.Duration
	samples bool // every choice is sampled, and no episodes are played
	flags   *pflag.FlagSet
	source  *simulator.Source // nil if a model is played
}

func (o *simulatorOptions) addFlags(f *pflag.FlagSet) {
	o.flags = f
	f.StringVar(&o.command, "env-command", "",
		"play the simulator that the shell starts with `CMD`, see cmdpsolve help simulators; -: the one at the "+
			"other end of standard input and output")
	f.DurationVar(&o.timeout, "env-timeout", time.Minute, "how long the simulator may take for an answer")
}

// load asks the simulator what it is, and reads what is wanted of it. Without learning it does not matter where the
// simulator begins. If no simulator is played, the problem is read by open.
func (o *simulatorOptions) load(ctx context.Context, name string, s streams, learns bool,
	open func(context.Context, string) (*loaded, error)) (*loaded, error) {
	switch {
	case o.command == "" && o.flags.Changed("env-timeout"):
		return nil, usage("--env-timeout is for --env-command")
	case o.command == "":
		return open(ctx, name)
	case o.timeout <= 0:
		return nil, usage("--env-timeout %v: want a positive time", o.timeout)
	}
	if _, err := os.Stat(name); err != nil {
		return nil, usage("%s: no such file; with --env-command PROBLEM is a file that says what is wanted of the simulator", name)
	}
	o.source = &simulator.Source{Command: o.command, Stderr: s.err, Timeout: o.timeout}
	if o.command == "-" {
		signal.Ignore(syscall.SIGPIPE) // writing to a simulator that is gone is an error like others
		o.source.Command, o.source.In, o.source.Out = "", os.Stdin, os.Stdout
	}
	hello, err := o.source.Hello(ctx)
	if ctx.Err() != nil {
		err = errInterrupted
	}
	if err != nil {
		return nil, failed(err)
	}
	if !learns {
		hello = hello.Anywhere()
	}
	p, err := problem.ReadSimulated(name, &problem.Simulation{Returns: hello.Names(), Horizon: hello.Horizon,
		Shape: hello.Shape}, *s.problem)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	if err := s.files.check(); err != nil {
		return nil, err
	}
	q, err := query.New(ctx, p, query.CompileOptions{})
	if err != nil {
		return nil, unread(name, err)
	}
	out := &loaded{Query: q, name: name, hello: hello}
	switch endless := out.endless() > 0 && !o.samples; {
	case endless && !learns:
		return nil, usage("%s: a simulator is played in episodes here: want a horizon; long-run means and discounts are "+
			"for learn and plan --simulator", name)
	case endless && hello.Start == nil:
		return nil, usage("%s: a run without end: the hello of the simulator must say where it starts", name)
	case endless && hello.Terminates:
		return nil, usage("%s: a run without end of a simulator that may end by itself, as its hello says: want one that "+
			"goes on, or a horizon", name)
	}
	return out, nil
}

// options has the runs of a contest play the simulator, if there is one.
func (o *simulatorOptions) options(p *loaded, opts contest.PrepareOptions) contest.PrepareOptions {
	if o.source != nil {
		opts.Simulator = func() (cmdp.Environment, error) { return o.source.Simulator(p.hello, p.steps()) }
	}
	return opts
}

// close ends the simulator.
func (o *simulatorOptions) close() {
	if o.source != nil {
		o.source.Close()
	}
}

// steps is the number of steps of an episode. Where the first state of a simulator has to be
// learned, the shape has a step more.
func (p *loaded) steps() int {
	n := p.Shape().Horizon()
	if p.hello != nil && p.hello.Start == nil {
		n--
	}
	return n
}

// simulated describes a simulator in a line.
func (p *loaded) simulated() string {
	choices := 0
	for _, n := range p.hello.Actions {
		choices += n
	}
	return fmt.Sprintf("a simulator with %s, %s, %s, returns %s",
		count(len(p.hello.Actions), "state"), count(choices, "choice"), p.time(), strings.Join(p.Returns, ", "))
}
