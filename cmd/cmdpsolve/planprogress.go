package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/exact"

	"golang.org/x/term"
)

// planProgress shows how far a solver is, on a terminal only. Its methods may be
// called on nil.
type planProgress struct {
	w      io.Writer
	sense  float64
	total  int // value iterations of all optima so far
	points int // of a trade-off curve so far
	begin  time.Time
	last   time.Time
	shown  bool
}

func newPlanProgress(w io.Writer, quiet bool, sense float64) *planProgress {
	f, ok := w.(*os.File)
	if quiet || !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return &planProgress{w: w, sense: sense, begin: time.Now()}
}

// show shows a state of the solver, if the last one was shown a while ago.
func (p *planProgress) show(_ int, bound, objective float64) {
	p.total++
	now := time.Now()
	if now.Sub(p.begin) < 500*time.Millisecond || now.Sub(p.last) < 100*time.Millisecond {
		return
	}
	p.last, p.shown = now, true
	text := "looking for a policy that keeps the limits"
	switch {
	case p.points > 0:
		text = count(p.points, "point")
	case !math.IsInf(bound, 0):
		text = fmt.Sprintf("objective %s, bound %s", report.Brief(p.sense*objective), report.Brief(p.sense*bound))
	case !math.IsInf(objective, 0):
		text = "objective " + report.Brief(p.sense*objective)
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s, %s", count(p.total, "value iteration"), text)
}

// point counts a point of a trade-off curve.
func (p *planProgress) point(exact.FrontPoint) {
	if p != nil {
		p.points++
	}
}

func (p *planProgress) close() {
	if p != nil && p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
