package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/explore"
	"cmdpsolve/cmd/cmdpsolve/internal/report"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/log"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// A tab is a page of explore in a browser.
type tab struct {
	testing.TB
	ctx context.Context
	url string
	mu  sync.Mutex
	bad []string // what the browser complained of
}

// startBrowser starts one, or skips the test where there is none.
func startBrowser(t testing.TB) context.Context {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes seconds to start")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no chromium on this machine: the page is not tried in a browser")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.WindowSize(1400, 1500),
		chromedp.WSURLReadTimeout(2*time.Minute), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// serve serves the page of a problem and returns its address.
func serve(t testing.TB, problem string) string {
	t.Helper()
	return serveAnswers(t, problem, func(map[string]explore.Answer) {})
}

// serveAnswers is serve with some answers changed.
func serveAnswers(t testing.TB, problem string, change func(answers map[string]explore.Answer)) string {
	t.Helper()
	p, err := load(problem)
	if err != nil {
		t.Fatal(err)
	}
	e, err := newExplorer(t.Context(), p, &planOptions{iterations: 2000})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	// No test is about the time of an answer: on a machine with much else to do it may be long.
	answers := e.answers()
	change(answers)
	s := &explore.Server{Timeout: time.Hour, Asked: 8, Answers: answers}
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String() + s.Path()
}

// open opens an address in a new tab.
func open(t testing.TB, browser context.Context, url string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 15*time.Minute)
	t.Cleanup(cancel)
	b := &tab{TB: t, ctx: ctx, url: url}
	chromedp.ListenTarget(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *cdpruntime.EventExceptionThrown:
			b.bad = append(b.bad, e.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			b.bad = append(b.bad, e.Entry.Text)
		}
	})
	b.run(log.Enable(), chromedp.Navigate(url))
	b.wait(`document.body.dataset.plan > 0`)
	return b
}

func (b *tab) run(actions ...chromedp.Action) {
	b.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.Fatalf("%v; the browser says: %s", err, b.complaints())
	}
}

func (b *tab) complaints() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.bad, "; ")
}

// wait waits until an expression is true. A page that is being loaded anew takes along what waited in it, so that it is
// asked again.
func (b *tab) wait(expression string) {
	b.Helper()
	for {
		err := chromedp.Run(b.ctx, chromedp.Poll(expression, nil, chromedp.WithPollingTimeout(5*time.Minute)))
		var refused *cdproto.Error
		switch {
		case err == nil:
			return
		case errors.As(err, &refused) && strings.Contains(refused.Message, "context"):
			continue
		}
		b.Fatalf("%s: %v; the page says %q, the browser: %s", expression, err, b.text("main"), b.complaints())
	}
}

func (b *tab) text(selector string) string {
	b.Helper()
	var s string
	b.run(chromedp.Evaluate(fmt.Sprintf("document.querySelector(%q).innerText", selector), &s))
	return s
}

// drawn waits until the pictures are those of the last plan, so that nothing moves any more.
func (b *tab) drawn() {
	b.Helper()
	b.wait(`!document.body.hasAttribute("data-refining") && document.body.dataset.drawn === document.body.dataset.plan && document.querySelector("#busy").hidden`)
}

func (b *tab) number(expression string) float64 {
	b.Helper()
	b.wait(`!document.body.hasAttribute("data-refining")`)
	var x float64
	b.run(chromedp.Evaluate(expression, &x))
	return x
}

// shownObjective is what the table says in the end.
const shownObjective = `(document.body.hasAttribute("data-refining") ? NaN : 1) * Number((document.querySelector("#numbers tr.main td")?.innerText ?? "none").replace("−", "-"))`

// planned returns the objective of plan as the page shows it, NaN if no policy keeps the limits.
func planned(t *testing.T, args ...string) float64 {
	t.Helper()
	var out bytes.Buffer
	run(t.Context(), append([]string{"plan", "--format", "json"}, args...), &out, io.Discard)
	var found struct{ Objective *float64 }
	if err := json.Unmarshal(out.Bytes(), &found); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if found.Objective == nil {
		return math.NaN()
	}
	x, err := strconv.ParseFloat(report.Short(*found.Objective), 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// serveCommand runs the command explore, and returns the address and what ends it.
func serveCommand(t *testing.T, args ...string) (url string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, append([]string{"explore", "--no-open", "--timeout", "1h"}, args...), in, io.Discard)
		in.Close()
	}()
	if _, err := fmt.Fscanln(out, &url); err != nil {
		t.Fatal(err)
	}
	return url, sync.OnceFunc(func() { cancel(); <-done })
}
