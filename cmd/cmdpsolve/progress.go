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

	"golang.org/x/term"
)

// A statusLine is a line of a terminal that says how far a command is, if that takes more than half a second. There is
// one for a command. Its methods may be called on nil, which stands for something else than a terminal, and
// concurrently.
type statusLine struct {
	w           io.Writer
	columns     func() int // that the terminal has, 0 if it does not say
	mu          sync.Mutex
	begin, last time.Time
	shown, over bool
	known       func() string // what is known so far, which stands before what is being done
	wait        *time.Timer   // until the first text has to be there
}

// newStatusLine returns the status line of a terminal, nil if w is none.
func newStatusLine(w io.Writer) *statusLine {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return beginStatusLine(w, func() int {
		width, _, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 0
		}
		return width
	})
}

func beginStatusLine(w io.Writer, columns func() int) *statusLine {
	l := &statusLine{w: w, columns: columns, begin: time.Now()}
	l.mu.Lock()
	defer l.mu.Unlock()
	// The first step of a large problem may take long; so that nobody waits without a sign, this comes before.
	l.wait = time.AfterFunc(soon, func() { l.working("working", math.NaN()) })
	return l
}

// soon is what a command may take without a sign.
const soon = 500 * time.Millisecond

// show shows a text, if the last one was shown a while ago. What does not fit into the line is left out, for a line
// that goes on below could not be taken away.
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
	line := []rune(report.Clean(text(now.Sub(l.begin))))
	most := report.Width
	if columns := l.columns(); columns > 0 {
		most = max(1, columns-1)
	}
	if len(line) > most {
		line = append(line[:most-1], '…')
	}
	fmt.Fprint(l.w, "\r\x1b[K"+string(line)) // a terminal that went away is no reason to stop
}

// working shows what is done, and the part of it that is done, NaN where nobody knows. It is a [progress.Func].
func (l *statusLine) working(what string, part float64) {
	l.show(func(time.Duration) string {
		text := what
		if l.known != nil {
			text = l.known() + ", " + what
		}
		if !math.IsNaN(part) {
			text += fmt.Sprintf(", %.0f%%", 100*part)
		}
		return text
	})
}

// knows shows what is known so far and more, if it is time to show something. What is known also stands before what is
// done from then on, in whichever goroutine.
func (l *statusLine) knows(known, more func() string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.known = known
	l.mu.Unlock()
	l.show(func(time.Duration) string {
		text := known()
		if m := more(); m != "" {
			text += ", " + m
		}
		return text
	})
}

// forgets ends what knows has said, since what follows is about something else.
func (l *statusLine) forgets() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known = nil
}

// clear takes the line away, so that something else can be written. What is shown later comes on a new line.
func (l *statusLine) clear() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shown {
		fmt.Fprint(l.w, "\r\x1b[K")
	}
	l.shown = false
}

// close takes the line away for good.
func (l *statusLine) close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.wait.Stop()
	l.over = true
	l.mu.Unlock()
	l.clear()
}

// planProgress shows how far a solver is.
type planProgress struct {
	line   *statusLine
	sense  float64
	total  int // value iterations of all optima so far
	points int // of a trade-off curve so far
}

func (p *planProgress) show(_ int, bound, objective float64) {
	p.total++
	total := p.total
	p.line.knows(func() string { return count(total, "value iteration") }, func() string {
		text := "looking for a policy that keeps the limits"
		switch {
		case p.points > 0:
			text = count(p.points, "point")
		case !math.IsInf(bound, 0):
			text = fmt.Sprintf("objective %s, bound %s", report.Brief(p.sense*objective), report.Brief(p.sense*bound))
		case !math.IsInf(objective, 0):
			text = "objective " + report.Brief(p.sense*objective)
		}
		return text
	})
}

// round shows what a search over a set of models knows after a round.
func (l *statusLine) round(sense float64, rounds int, bound, objective float64) {
	l.knows(func() string {
		found := count(rounds, "round")
		if !math.IsInf(objective, 0) {
			found += ", objective " + report.Brief(sense*objective)
		}
		if !math.IsInf(bound, 0) {
			found += ", bound " + report.Brief(sense*bound)
		}
		return found
	}, func() string { return "looking for better plans" })
}

// point counts a point of a trade-off curve.
func (p *planProgress) point(exact.FrontPoint) { p.points++ }
