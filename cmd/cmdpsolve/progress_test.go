package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"cmdpsolve/cmdp/exact"
)

// lines is a terminal that hands over what is written to it.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// TestStatusLineSaysSoonThatItWorks wants a first text without any step, and none of a command that is done.
func TestStatusLineSaysSoonThatItWorks(t *testing.T) {
	terminal := make(lines, 10)
	l := beginStatusLine(terminal, func() int { return 80 })
	if text, want := <-terminal, "\r\x1b[Kworking"; text != want {
		t.Errorf("first %q: want %q", text, want)
	}
	l.close()
	if text, want := <-terminal, "\r\x1b[K"; text != want {
		t.Errorf("%q at the end: want %q", text, want)
	}
	l = beginStatusLine(terminal, func() int { return 80 })
	l.close()
	if l.wait.Stop() {
		t.Error("a line that is closed still waits to be shown")
	}
	for len(terminal) > 0 { // where half a second passed in between
		<-terminal
	}
	l.begin = l.begin.Add(-time.Minute)
	l.show(func(time.Duration) string { return "too late" })
	if len(terminal) > 0 {
		t.Errorf("%q after the end", <-terminal)
	}
}

// lateLine is a status line of a command that has taken long, so that it shows all that it is told.
func lateLine(w io.Writer, columns int) *statusLine {
	return &statusLine{w: w, columns: func() int { return columns }, begin: time.Now().Add(-time.Minute),
		wait: time.NewTimer(time.Hour)}
}

// TestWordsOfProgress: a status line says in the user's sense what is known so far, and nothing of what is not; what is
// known stands before what is done next, until it is forgotten. A narrow terminal shows where a text begins.
func TestWordsOfProgress(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 1))
	for range 200 {
		var out strings.Builder
		columns := 10 + rng.IntN(150)
		line := lateLine(&out, columns)
		shows := func(want string) {
			t.Helper()
			if r := []rune(want); len(r) >= columns {
				want = string(r[:columns-2]) + "…"
			}
			if got := strings.TrimPrefix(out.String(), "\r\x1b[K"); got != want {
				t.Errorf("%d columns: %q, want %q", columns, got, want)
			}
			out.Reset()
			line.last = time.Time{}
		}
		sense, x, y := float64(1-2*rng.IntN(2)), 1+float64(rng.IntN(90)), 100+float64(rng.IntN(90))
		bound, objective := []float64{x, math.Inf(-1)}[rng.IntN(2)], []float64{y, math.Inf(1)}[rng.IntN(2)]
		total, points, rounds := rng.IntN(3), rng.IntN(3), rng.IntN(3)
		what, part, share := []string{"sorting", "storing rows"}[rng.IntN(2)], math.NaN(), ""
		if rng.IntN(2) == 0 {
			part = float64(rng.IntN(101)) / 100
			share = fmt.Sprintf(", %d%%", int(math.Round(100*part)))
		}
		known := ""
		if rng.IntN(2) == 0 {
			p := &planProgress{line: line, sense: sense, total: total}
			for range points {
				p.point(exact.FrontPoint{})
			}
			p.show(0, bound, objective)
			known = many(float64(total+1), "value iteration")
			switch {
			case points > 0:
				shows(known + ", " + many(float64(points), "point"))
			case bound == x:
				shows(known + ", objective " + three(sense*objective) + ", bound " + three(sense*x))
			case objective == y:
				shows(known + ", objective " + three(sense*y))
			default:
				shows(known + ", looking for a policy that keeps the limits")
			}
		} else {
			line.round(sense, rounds, bound, objective)
			known = many(float64(rounds), "round")
			if objective == y {
				known += ", objective " + three(sense*y)
			}
			if bound == x {
				known += ", bound " + three(sense*x)
			}
			shows(known + ", looking for better plans")
		}
		line.working(what, part)
		shows(known + ", " + what + share)
		line.forgets()
		line.working(what, part)
		shows(what + share)
	}
}
