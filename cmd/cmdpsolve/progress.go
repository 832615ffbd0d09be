package main

import (
	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows how far the runs of a session are, on a terminal only. Its
// methods may be called concurrently and on nil.
type progress struct {
	mu   sync.Mutex
	bar  *progressbar.ProgressBar
	done []int // episodes of each run
}

func newProgress(w io.Writer, quiet bool, s *session) *progress {
	f, ok := w.(*os.File)
	if quiet || !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	p := &progress{done: make([]int, len(s.runs)), bar: progressbar.NewOptions64(
		int64(s.Episodes)*int64(len(s.runs)),
		progressbar.OptionSetWriter(w),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("ep"),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetWidth(10),
		progressbar.OptionClearOnFinish(),
	)}
	for i, r := range s.runs {
		p.update(i, r)
	}
	return p
}

// update shows the last record of a run and counts its episodes.
func (p *progress) update(i int, r *learnRun) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(r.history.Records); n > 0 {
		rec := r.history.Records[n-1]
		p.bar.Describe(fmt.Sprintf("obj %s viol %s", report.Brief(rec.Objective), report.Brief(rec.Violation)))
	}
	k := r.runner.Episodes()
	_ = p.bar.Add(k - p.done[i]) // a terminal that went away is no reason to stop
	p.done[i] = k
}

func (p *progress) close() {
	if p != nil {
		_ = p.bar.Clear()
	}
}
