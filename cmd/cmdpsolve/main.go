// Command cmdpsolve plans and learns in vector-valued Markov decision processes:
// see docs/command.md, or run cmdpsolve --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"cmdpsolve/internal/available"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the process at once
	}()
	available.Respect()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
