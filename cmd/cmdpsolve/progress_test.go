package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
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
// known stands before what is done next, until it is forgotten. A narrow terminal shows where a text begins, and one
// that does not tell its width shows as much as others.
func TestWordsOfProgress(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 1))
	for range 200 {
		var out strings.Builder
		columns := 10 + rng.IntN(150)
		line := lateLine(&out, columns)
		if rng.IntN(8) == 0 {
			columns, line = 80, lateLine(&out, 0)
		}
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

// A screen is a terminal of which a line may be taken away.
type screen struct {
	shown     []byte
	addressed func() // is called once the address of a page is there
}

func (s *screen) Write(p []byte) (int, error) {
	for _, line := range bytes.SplitAfter(p, []byte("\r\x1b[K")) {
		s.shown = append(s.shown, line...)
		if before, taken := bytes.CutSuffix(s.shown, []byte("\r\x1b[K")); taken {
			s.shown = before[:bytes.LastIndexByte(before, '\n')+1]
		}
	}
	if bytes.Contains(p, []byte("http://")) {
		s.addressed()
	}
	return len(p), nil
}

// TestStatusLineMakesWay: what a command writes stands on the terminal as if there had been no status line before it,
// and a page that is served has none.
func TestStatusLineMakesWay(t *testing.T) {
	for _, args := range [][]string{{"instances", "frozenlake8"}, {"plan", "frozenlake8"}, {"check", "frozenlake8"},
		{"explore", "frozenlake8", "--no-open"}} {
		var seen [2]string
		for k := range seen {
			ctx, cancel := context.WithCancel(t.Context())
			terminal := &screen{addressed: cancel}
			s := streams{out: terminal, err: terminal, problem: new(problem.ReadOptions), files: new(fileUses)}
			if k == 1 {
				s.status = lateLine(terminal, 80)
				s.status.working("working", math.NaN())
			}
			root := newRoot(s)
			root.SetArgs(args)
			if err := root.ExecuteContext(ctx); err != nil {
				t.Fatal(err)
			}
			cancel()
			s.status.working("more", math.NaN())
			if args[0] == "explore" && bytes.Contains(terminal.shown, []byte("more")) {
				t.Errorf("the server shows %q", terminal.shown)
			}
			s.status.close()
			seen[k], _, _ = strings.Cut(string(terminal.shown), ", 0.")
			if _, address, found := strings.Cut(seen[k], "http://"); found {
				seen[k] = strings.TrimSuffix(seen[k], address)
			}
		}
		if seen[0] == "" || seen[1] != seen[0] {
			t.Errorf("%v: %q with a status line, %q without", args, seen[1], seen[0])
		}
	}
}
