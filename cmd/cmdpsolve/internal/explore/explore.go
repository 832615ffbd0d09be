// Package explore serves a page to one person on one machine. The page, its styles and
// scripts are part of the binary; what the page asks is answered by the functions that the
// command gives to the Server.
//
// The address has a random token as its first element, and without it nothing is served. A
// request must name an address or localhost as its host, which a page elsewhere cannot make
// a browser do (DNS rebinding), and must not come from another origin. The content security
// policy lets the page load what this server has and nothing else. No request names a file
// of the machine.
package explore

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"time"
)

//go:embed page
var page embed.FS

// An Answer answers a question of the page, which is JSON. progress sends the page
// something to show meanwhile; it may be called until the answer returns, by one goroutine.
// What the answer returns is sent as JSON. The context ends with the request.
type Answer func(ctx context.Context, question []byte, progress func(any)) (any, error)

//go:embed page/page.css
var style string

// Style returns the styles of the page, for others that are to look like it.
func Style() string { return style }

// A Server serves the page. Its fields are not to be changed once it serves.
type Server struct {
	// Answers are the answers by the names of the questions.
	Answers map[string]Answer
	// Timeout bounds the time of an answer, and Asked how many may be under way.
	Timeout time.Duration
	Asked   int
	// Memory bounds the bytes that answers under way and what they leave behind may take, beside what there was
	// when the server began to serve; 0 for no bound. All answers end that are under way when more is in use.
	Memory uint64
	// Host is the name by which the server may be called, besides addresses and localhost;
	// it may be empty.
	Host string

	token string
	slots chan struct{}
	once  sync.Once
	asked chan struct{} // closed once the page was asked for
	first sync.Once
	mu    sync.Mutex
	under map[*context.CancelCauseFunc]bool // the answers under way, by what ends them
}

// errMemory ends answers that need too much memory.
var errMemory = errors.New("too much memory")

// largestQuestion bounds the bytes of a question.
const largestQuestion = 1 << 16

// prepare makes token and slots.
func (s *Server) prepare() {
	s.once.Do(func() {
		s.token = rand.Text()
		s.slots = make(chan struct{}, max(1, s.Asked))
		s.asked = make(chan struct{})
		s.under = make(map[*context.CancelCauseFunc]bool)
	})
}

// Path returns the path of the page, which has the token in it.
func (s *Server) Path() string {
	s.prepare()
	return "/" + s.token + "/"
}

// Opened returns a channel that is closed once a browser has asked for the page.
func (s *Server) Opened() <-chan struct{} {
	s.prepare()
	return s.asked
}

// Serve serves on a listener until ctx ends. Answers under way are cancelled then.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
		IdleTimeout:    2 * time.Minute,
		MaxHeaderBytes: 1 << 14, BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if s.Memory > 0 {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go s.watch(ctx)
	}
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("explore: %w", err)
	}
	return nil
}

// watch ends the answers under way when they need too much memory, until ctx ends. The limit makes the collector
// work before that, so that what is live is counted and not what is garbage.
func (s *Server) watch(ctx context.Context) {
	runtime.GC()
	most := live() + s.Memory
	before := debug.SetMemoryLimit(int64(min(most, math.MaxInt64)))
	defer debug.SetMemoryLimit(before)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if live() <= most {
			continue
		}
		runtime.GC()
		if live() <= most { // what was in use has been given back since
			continue
		}
		s.mu.Lock()
		for cancel := range s.under {
			(*cancel)(errMemory)
		}
		s.mu.Unlock()
	}
}

// live returns the bytes that the last collection found in use.
func live() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// Handler returns the handler of all requests.
func (s *Server) Handler() http.Handler {
	files, err := fs.Sub(page, "page")
	if err != nil {
		panic("explore: the page is not embedded")
	}
	mux := http.NewServeMux()
	path := s.Path()
	serve := http.StripPrefix(strings.TrimSuffix(path, "/"), http.FileServerFS(files))
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		s.first.Do(func() { close(s.asked) })
		serve.ServeHTTP(w, r)
	})
	mux.HandleFunc("POST "+path+"ask/{name}", s.ask)
	return s.guard(http.NewCrossOriginProtection().Handler(mux))
}

// policy is the content security policy of the page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard refuses requests under a name that is not ours and sets the headers of all answers.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !s.ours(r.Host) {
			http.Error(w, "this server is called by its address or as localhost", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ours reports whether a Host header is one by which only somebody who knows the machine
// calls it: names of others can be made to lead here.
func (s *Server) ours(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.Trim(name, "[]")
	return net.ParseIP(name) != nil || name == "localhost" || name != "" && name == s.Host
}

// A line is one line of an answer: what is shown meanwhile, then the answer or an error.
type line struct {
	Progress any    `json:"progress,omitempty"`
	Answer   any    `json:"answer,omitempty"`
	Error    string `json:"error,omitempty"`
}

// ask answers a question line by line.
func (s *Server) ask(w http.ResponseWriter, r *http.Request) {
	answer := s.Answers[r.PathValue("name")]
	if answer == nil {
		http.NotFound(w, r)
		return
	}
	if kind := r.Header.Get("Content-Type"); kind != "application/json" {
		http.Error(w, "want application/json", http.StatusUnsupportedMediaType)
		return
	}
	question, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largestQuestion))
	if err != nil {
		http.Error(w, "the question is too long", http.StatusRequestEntityTooLarge)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	select {
	case s.slots <- struct{}{}:
		s.mu.Lock()
		s.under[&end] = true
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			delete(s.under, &end)
			s.mu.Unlock()
			<-s.slots
		}()
	case <-ctx.Done():
		http.Error(w, "too many questions at once", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := json.NewEncoder(w)
	flush := http.NewResponseController(w)
	found, err := answer(ctx, question, func(x any) {
		// A page that is gone is noticed by the context.
		_ = out.Encode(line{Progress: x})
		_ = flush.Flush()
	})
	last := line{Answer: found}
	switch {
	case err != nil && errors.Is(context.Cause(ctx), errMemory):
		last = line{Error: fmt.Sprintf("no answer within %d MiB, the most memory that questions may take beside the "+
			"problem (see --memory)", s.Memory>>20)}
	case errors.Is(err, context.DeadlineExceeded):
		last = line{Error: fmt.Sprintf("no answer within %v, the most that a question may take", s.Timeout)}
	case err != nil:
		last = line{Error: err.Error()}
	}
	_ = out.Encode(last)
}
