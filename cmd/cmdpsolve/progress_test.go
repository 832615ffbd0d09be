package main

import (
	"fmt"
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
	l := beginStatusLine(terminal)
	if text, want := <-terminal, "\r\x1b[Kworking"; text != want {
		t.Errorf("first %q: want %q", text, want)
	}
	l.close()
	if text, want := <-terminal, "\r\x1b[K"; text != want {
		t.Errorf("%q at the end: want %q", text, want)
	}
	l = beginStatusLine(terminal)
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

// TestWordsOfProgress: a status line says in the user's sense what is known so far, and nothing of what is not.
func TestWordsOfProgress(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 1))
	for range 200 {
		var out strings.Builder
		line := func() *statusLine {
			out.Reset()
			return &statusLine{w: &out, begin: time.Now().Add(-time.Minute), wait: time.NewTimer(time.Hour)}
		}
		sense, x, y := float64(1-2*rng.IntN(2)), 1+float64(rng.IntN(90)), 100+float64(rng.IntN(90))
		bound, objective := []float64{x, math.Inf(-1)}[rng.IntN(2)], []float64{y, math.Inf(1)}[rng.IntN(2)]
		total, points := rng.IntN(3), rng.IntN(3)
		p := &planProgress{statusLine: line(), sense: sense, total: total}
		for range points {
			p.point(exact.FrontPoint{})
		}
		p.show(0, bound, objective)
		want := many(float64(total+1), "value iteration") + ", "
		switch {
		case points > 0:
			want += many(float64(points), "point")
		case bound == x:
			want += "objective " + three(sense*objective) + ", bound " + three(sense*x)
		case objective == y:
			want += "objective " + three(sense*y)
		default:
			want += "looking for a policy that keeps the limits"
		}
		if got := strings.TrimPrefix(out.String(), "\r\x1b[K"); got != want {
			t.Errorf("bound %g, objective %g: %q, want %q", bound, objective, got, want)
		}
		r := &robustProgress{statusLine: line(), sense: sense, phase: "phase"}
		rounds := rng.IntN(3)
		r.round(rounds, bound, objective)
		want = "phase, " + many(float64(rounds), "round")
		if objective == y {
			want += ", objective " + three(sense*y)
		}
		if bound == x {
			want += ", bound " + three(sense*x)
		}
		if got := strings.TrimPrefix(out.String(), "\r\x1b[K"); got != want {
			t.Errorf("bound %g, objective %g: %q, want %q", bound, objective, got, want)
		}
		found, _ := strings.CutPrefix(want, "phase")
		what, part, share := []string{"sorting", "storing rows"}[rng.IntN(2)], math.NaN(), ""
		if rng.IntN(2) == 0 {
			part = float64(rng.IntN(101)) / 100
			share = fmt.Sprintf(", %d%%", int(math.Round(100*part)))
		}
		p.statusLine, p.total = line(), total
		p.working(what, part)
		want = what + share
		if total > 0 {
			want = many(float64(total), "value iteration") + ", " + want
		}
		if got := strings.TrimPrefix(out.String(), "\r\x1b[K"); got != want {
			t.Errorf("working: %q, want %q", got, want)
		}
		r.statusLine = line()
		r.working(what, part)
		want = what + found // a new phase
		if share != "" {    // a part of the old one
			want = "phase" + found + ", " + what + share
		}
		if got := strings.TrimPrefix(out.String(), "\r\x1b[K"); got != want {
			t.Errorf("working: %q, want %q", got, want)
		}
	}
}
