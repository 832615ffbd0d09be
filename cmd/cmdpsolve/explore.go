package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/explore"
	"cmdpsolve/cmdp/problem"

	"github.com/cli/browser"
	"github.com/spf13/cobra"
)

// exploreCommand is one call of explore.
type exploreCommand struct {
	streams
	planOptions
	memoryOptions
	listen  string
	noOpen  bool
	timeout time.Duration
	memory  uint
}

func newExplore(s streams) *cobra.Command {
	c := &exploreCommand{streams: s}
	cmd := &cobra.Command{
		Use:   "explore PROBLEM",
		Short: "Move limits of a known model on a page and see the plan at once",
		Long: `Serves a page for the browser: a slider for every limit, a choice of goal, and
at once the plan for them with its proof, the price of every limit, the
trade-off curve, the policy and the distribution of the returns. If no policy
keeps the limits the page says which of them are in conflict, and how far each
would have to give.

The page is served on the loopback interface, under an address with a random
token; it loads nothing from elsewhere. explore prints the address, opens it,
and serves until Ctrl-C.`,
		Example: `  cmdpsolve explore frozenlake8
  cmdpsolve explore delivery.yaml --no-open --listen 127.0.0.1:8080`,
		Args: oneProblem,
		RunE: onProblem(c.run),
	}
	f := cmd.Flags()
	f.BoolVar(&c.noOpen, "no-open", false, "print the address and do not open it")
	f.StringVar(&c.listen, "listen", "127.0.0.1:0", "`ADDRESS` to serve on; port 0 takes a free one")
	f.DurationVar(&c.timeout, "timeout", 2*time.Minute,
		"most time for one answer; a plan is the best one found in three quarters of it")
	f.UintVar(&c.memory, "memory", 2048,
		"most memory for answers, in `MiB`, beside that of the problem; those that take more end; 0: no limit")
	c.memoryOptions.addFlags(f)
	c.planOptions.addFlags(f)
	return cmd
}

func (c *exploreCommand) run(ctx context.Context, name string) error {
	if err := cmp.Or(c.check(), wantUnless(c.timeout > 0, "--timeout", c.timeout, "a time above 0, such as 30s")); err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(c.listen)
	if err != nil {
		return usage("--listen %s: want an address and a port, such as 127.0.0.1:8080", c.listen)
	}
	c.fleets = true
	p, err := c.load(ctx, c.streams, name)
	if err != nil {
		return err
	}
	c.budget = 3 * c.timeout / 4 // the rest is for the page
	e, err := interruptible(ctx, patience, func() (*explorer, error) { return newExplorer(ctx, p, &c.planOptions) })
	if err != nil {
		return p.stopped(err)
	}
	e.called = append(e.called, c.problemFlags()...)
	if c.resolution > 0 {
		e.called = append(e.called, "--resolution", strconv.FormatFloat(c.resolution, 'g', -1, 64))
	}
	if name == "-" {
		e.about.Constants = nil // there is nothing to read again
	}
	x := &explorers{first: e, read: func(ctx context.Context, set map[string]string) (*loaded, error) {
		opts := *c.problem
		opts.Set = maps.Clone(opts.Set)
		if opts.Set == nil {
			opts.Set = make(map[string]string)
		}
		maps.Copy(opts.Set, set)
		s := c.streams
		s.problem = &opts
		return c.load(ctx, s, name)
	}, unfold: func(ctx context.Context, p *problem.Problem) (*loaded, error) {
		return c.compile(ctx, p, name)
	}}
	l, err := net.Listen("tcp", c.listen)
	if err != nil {
		return usage("--listen %s: %w", c.listen, err)
	}
	defer l.Close()
	server := &explore.Server{Timeout: c.timeout, Asked: 8, Memory: uint64(c.memory) << 20, Host: host,
		Answers: x.answers()}
	at, _ := l.Addr().(*net.TCPAddr)
	if !at.IP.IsLoopback() && !c.quiet {
		c.say("whoever reaches %v and knows the token of the address can ask this page for plans", at)
	}
	if at.IP.IsUnspecified() {
		at.IP = net.IPv4(127, 0, 0, 1)
	}
	url := fmt.Sprintf("http://%v%s", at, server.Path())
	c.status.close() // the page says how far its plans are
	fmt.Fprintln(c.out, url)
	if out, ok := c.out.(interface{ Flush() error }); ok { // it is read while we serve
		if err := out.Flush(); err != nil {
			return failed(err)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	var opening sync.WaitGroup
	if !c.noOpen {
		opening.Go(func() { c.openBrowser(ctx, url, server.Opened()) })
	}
	err = server.Serve(ctx, l)
	cancel()
	opening.Wait()
	return err
}

// browserPatience is how long a browser may take to ask for the page before a word is said.
const browserPatience = 20 * time.Second

// openBrowser opens a browser at an address and waits until it has asked for the page, or ctx is done.
// Everybody on the machine sees command lines, and the address is a secret: the browser is told a file that
// only the user can read, which leads there.
func (c *exploreCommand) openBrowser(ctx context.Context, url string, opened <-chan struct{}) {
	folder, err := os.MkdirTemp("", "cmdpsolve-explore-") // with permissions for the user alone
	if err != nil {
		c.say("no browser is opened (%v); open the address above", err)
		return
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "explore.html")
	page := fmt.Sprintf(`<!doctype html><meta charset="utf-8"><title>cmdpsolve explore</title><meta http-equiv="refresh" content="0;url=%[1]s"><a href="%[1]s">%[1]s</a>`, url)
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		c.say("no browser is opened (%v); open the address above", err)
		return
	}
	browser.Stdout, browser.Stderr = c.err, c.err
	ended := make(chan error, 1)
	go func() { ended <- browser.OpenURL(file) }() // it may last as long as the browser
	patience := time.After(browserPatience)
	for {
		select {
		case <-ctx.Done():
			return
		case <-opened:
			return
		case err := <-ended:
			if err != nil {
				c.say("no browser could be opened (%v); open the address above", err)
				return
			}
		case <-patience:
			if !c.quiet {
				c.say("no browser has asked for the page so far; open the address above")
			}
		}
	}
}
