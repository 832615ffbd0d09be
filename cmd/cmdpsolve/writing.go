package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"math"
	"time"

	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/progress"
)

// watched returns what writes to w until ctx ends, and shows how much of the file of the given name is written.
func (s streams) watched(ctx context.Context, w io.Writer, name string) io.Writer {
	return &watchedWriter{ctx, w, s.status, name, 0}
}

type watchedWriter struct {
	ctx   context.Context
	to    io.Writer
	line  *statusLine
	name  string
	bytes int
}

func (w *watchedWriter) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.to.Write(p)
	w.bytes += n
	w.line.show(func(time.Duration) string {
		return fmt.Sprintf("writing %s, %.1f MB", w.name, float64(w.bytes)/1e6)
	})
	return n, err
}

// writeRows writes the rows of a policy to a file, and shows how many are written.
func (s streams) writeRows(path string, of *problem.Process, rows iter.Seq[problem.PolicyRow]) error {
	return problem.WritePolicy(path, of, func(yield func(problem.PolicyRow) bool) {
		n := 0
		for row := range rows {
			n++
			if n%progress.Many == 0 {
				s.status.working(fmt.Sprintf("writing %s, %d rows", path, n), math.NaN())
			}
			if !yield(row) {
				return
			}
		}
	})
}
