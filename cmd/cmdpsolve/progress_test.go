package main

import (
	"testing"
	"time"
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
