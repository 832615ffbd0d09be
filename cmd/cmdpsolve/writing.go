package main

import (
	"fmt"
	"io"
	"iter"
	"math"
	"time"

	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/progress"
)

// watched returns what writes to w, and shows how much of the file of the given name is written.
func (s streams) watched(w io.Writer, name string) io.Writer {
	if s.status == nil {
		return w
	}
	return &watchedWriter{w, s.status, name, 0}
}

type watchedWriter struct {
	to    io.Writer
	line  *statusLine
	name  string
	bytes int
}

func (w *watchedWriter) Write(p []byte) (int, error) {
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
