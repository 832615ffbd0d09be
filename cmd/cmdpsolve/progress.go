package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"sync"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/language"

	"golang.org/x/term"
)

// A statusLine is a line of a terminal that says how far a command is, if that takes more than half a second.
// Its methods may be called on nil, which stands for something else than a terminal, and concurrently.
type statusLine struct {
	w           io.Writer
	mu          sync.Mutex
	begin, last time.Time
	shown, over bool
	wait        *time.Timer // until the first text has to be there
}

func newStatusLine(w io.Writer, quiet bool) *statusLine {
	f, ok := w.(*os.File)
	if quiet || !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return beginStatusLine(w)
}

func beginStatusLine(w io.Writer) *statusLine {
	l := &statusLine{w: w, begin: time.Now()}
	l.mu.Lock()
	defer l.mu.Unlock()
	// The first step of a large problem may take long; so that nobody waits without a sign, this comes before.
	l.wait = time.AfterFunc(soon, func() { l.show(func(time.Duration) string { return "working" }) })
	return l
}

// soon is what a command may take without a sign.
const soon = 500 * time.Millisecond

// show shows a text, if the last one was shown a while ago.
func (l *statusLine) show(text func(took time.Duration) string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.over || now.Sub(l.begin) < soon || now.Sub(l.last) < 100*time.Millisecond {
		return
	}
	l.last, l.shown = now, true
	l.wait.Stop()
	fmt.Fprint(l.w, "\r\x1b[K"+report.Clean(text(now.Sub(l.begin)))) // a terminal that went away is no reason to stop
}

// reading returns a function that shows how much of a file has been read.
func (l *statusLine) reading(name string) func(part float64) {
	return func(part float64) {
		l.show(func(time.Duration) string { return fmt.Sprintf("reading %s, %.0f%%", name, 100*part) })
	}
}

// working shows what is done, and the part of it that is done, NaN where nobody knows.
func (l *statusLine) working(what string, part float64) {
	l.show(func(time.Duration) string { return doing(what, part) })
}

func doing(what string, part float64) string {
	if math.IsNaN(part) {
		return what
	}
	return fmt.Sprintf("%s, %.0f%%", what, 100*part)
}

// exploring returns a function that shows how many states of a model have been found.
func (l *statusLine) exploring(name string) func(language.Progress) {
	return func(p language.Progress) {
		l.show(func(took time.Duration) string {
			return fmt.Sprintf("exploring %s: %s, %s, %.0f states a second", name, count(p.States, "state"),
				count(p.Transitions, "transition"), float64(p.Explored)/took.Seconds())
		})
	}
}

func (l *statusLine) close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wait.Stop()
	l.over = true
	if l.shown {
		fmt.Fprint(l.w, "\r\x1b[K")
	}
}

// planProgress shows how far a solver is.
type planProgress struct {
	*statusLine
	sense  float64
	total  int // value iterations of all optima so far
	points int // of a trade-off curve so far
}

func (p *planProgress) show(_ int, bound, objective float64) {
	p.total++
	p.statusLine.show(func(time.Duration) string {
		text := "looking for a policy that keeps the limits"
		switch {
		case p.points > 0:
			text = count(p.points, "point")
		case !math.IsInf(bound, 0):
			text = fmt.Sprintf("objective %s, bound %s", report.Brief(p.sense*objective), report.Brief(p.sense*bound))
		case !math.IsInf(objective, 0):
			text = "objective " + report.Brief(p.sense*objective)
		}
		return count(p.total, "value iteration") + ", " + text
	})
}

// working shows what a solver does before or during a value iteration.
func (p *planProgress) working(what string, part float64) {
	p.statusLine.show(func(time.Duration) string {
		if p.total > 0 {
			return count(p.total, "value iteration") + ", " + doing(what, part)
		}
		return doing(what, part)
	})
}

// robustProgress shows how far planning for a set of models is: the phase of the search, its rounds, the best objective
// and bound, and how far a value iteration of a large model is.
type robustProgress struct {
	*statusLine
	sense float64
	mu    sync.Mutex
	phase string
	best  string
}

// round takes in what a round of the search found.
func (p *robustProgress) round(rounds int, bound, objective float64) {
	best := ", " + count(rounds, "round")
	if !math.IsInf(objective, 0) {
		best += ", objective " + report.Brief(p.sense*objective)
	}
	if !math.IsInf(bound, 0) {
		best += ", bound " + report.Brief(p.sense*bound)
	}
	p.mu.Lock()
	p.best = best
	p.mu.Unlock()
	p.working("", math.NaN())
}

// working takes in what is done: a phase of the search, or a part of something that takes long.
func (p *robustProgress) working(what string, part float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	detail := ""
	switch {
	case !math.IsNaN(part):
		detail = fmt.Sprintf(", %s, %.0f%%", what, 100*part)
	case what != "":
		p.phase = what
	}
	text := p.phase + p.best + detail
	p.statusLine.show(func(time.Duration) string { return text })
}

// point counts a point of a trade-off curve.
func (p *planProgress) point(exact.FrontPoint) { p.points++ }
