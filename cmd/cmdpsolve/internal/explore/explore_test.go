package explore

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// start serves a few answers.
func start(t *testing.T) (*Server, *httptest.Server) {
	t.Helper()
	s := &Server{Timeout: 200 * time.Millisecond, Asked: 2, Host: "bench", Answers: map[string]Answer{
		"echo": func(_ context.Context, q []byte, progress func(any)) (any, error) {
			progress("half")
			return string(q), nil
		},
		"fail": func(context.Context, []byte, func(any)) (any, error) { return nil, errors.New("no such limit") },
		"slow": func(ctx context.Context, _ []byte, _ func(any)) (any, error) { <-ctx.Done(); return nil, ctx.Err() },
	}}
	h := httptest.NewServer(s.Handler())
	t.Cleanup(h.Close)
	return s, h
}

func do(t *testing.T, method, url, body string, header ...string) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text), resp.Header
}

const isJSON = "application/json"

func TestAnswers(t *testing.T) {
	s, h := start(t)
	at := h.URL + s.Path()
	for _, c := range []struct{ name, want string }{
		{"echo", "{\"progress\":\"half\"}\n{\"answer\":\"[1]\"}\n"},
		{"fail", "{\"error\":\"no such limit\"}\n"},
		{"slow", "{\"error\":\"no answer within 200ms, the most that a question may take\"}\n"},
	} {
		if code, got, _ := do(t, "POST", at+"ask/"+c.name, "[1]", "Content-Type", isJSON); code != 200 ||
			got != c.want {
			t.Errorf("%s: %d %q: want %q", c.name, code, got, c.want)
		}
	}
}

// TestRefused: who does not know the token, comes from elsewhere or asks for something else
// gets nothing.
func TestRefused(t *testing.T) {
	s, h := start(t)
	at, port := h.URL+s.Path(), h.URL[strings.LastIndex(h.URL, ":"):]
	for _, c := range []struct {
		what, method, url, body string
		header                  []string
		want                    int
	}{
		{"page", "GET", at, "", nil, 200},
		{"localhost", "GET", at, "", []string{"Host", "localhost" + port}, 200},
		{"own name", "GET", at, "", []string{"Host", "bench" + port}, 200},
		{"no token", "GET", h.URL + "/", "", nil, 404},
		{"wrong token", "GET", h.URL + "/" + strings.Repeat("A", len(s.token)) + "/", "", nil, 404},
		{"no token, script", "GET", h.URL + "/page.js", "", nil, 404},
		{"question without token", "POST", h.URL + "/ask/echo", "1", []string{"Content-Type", isJSON}, 404},
		{"name that leads here", "GET", at, "", []string{"Host", "evil.example" + port}, 421},
		{"other origin", "POST", at + "ask/echo", "1",
			[]string{"Content-Type", isJSON, "Origin", "http://evil.example"}, 403},
		{"other site", "POST", at + "ask/echo", "1", []string{"Content-Type", isJSON, "Sec-Fetch-Site", "cross-site"},
			403},
		{"own origin", "POST", at + "ask/echo", "1", []string{"Content-Type", isJSON, "Origin", h.URL}, 200},
		{"form", "POST", at + "ask/echo", "1", []string{"Content-Type", "text/plain"}, 415},
		{"unknown question", "POST", at + "ask/files", "1", []string{"Content-Type", isJSON}, 404},
		{"file of the machine", "GET", at + "../../../../etc/passwd", "", nil, 404},
		{"file of the machine, escaped", "GET", at + "..%2f..%2fgo.mod", "", nil, 404},
		{"long question", "POST", at + "ask/echo", strings.Repeat("1", largestQuestion+1),
			[]string{"Content-Type", isJSON}, 413},
		{"question read", "GET", at + "ask/echo", "", nil, 404},
	} {
		code, text, header := do(t, c.method, c.url, c.body, c.header...)
		if code/100 == 3 {
			code = 404 // to a path that was cleaned, which has nothing either
		}
		if code != c.want {
			t.Errorf("%s: %d %.60q: want %d", c.what, code, text, c.want)
		}
		if got := header.Get("Content-Security-Policy"); got != policy {
			t.Errorf("%s: policy %q", c.what, got)
		}
	}
}

// TestKindsOfQuestions: a question is taken as what a page sends alone, which no form can.
func TestKindsOfQuestions(t *testing.T) {
	s, h := start(t)
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/json"} {
		if code, text, _ := do(t, "POST", h.URL+s.Path()+"ask/echo", "1", "Content-Type", kind); code != 415 {
			t.Errorf("%q: %d %s", kind, code, text)
		}
	}
}

// TestNames: a server is called by addresses, as localhost and by its own name, and by nothing else.
func TestNames(t *testing.T) {
	for _, own := range []string{"", "bench"} {
		s := &Server{Host: own}
		for name, is := range map[string]bool{"localhost": true, "127.0.0.1": true, "[::1]": true, "10.1.2.3": true, "": false,
			"bench": own == "bench", "evil.example": false, "localhost.evil.example": false, "127.0.0.1.nip.io": false,
			"bench.evil.example": false} {
			for _, port := range []string{"", ":8080"} {
				if s.ours(name+port) != is {
					t.Errorf("a server called %q is called as %q: %v", own, name+port, !is)
				}
			}
		}
	}
}

// TestTokens: no two servers have the same.
func TestTokens(t *testing.T) {
	a, b := new(Server), new(Server)
	if a.Path() == b.Path() || len(a.Path()) < 22 {
		t.Errorf("paths %s and %s", a.Path(), b.Path())
	}
}

// TestCancelled: an answer whose page has gone ends.
func TestCancelled(t *testing.T) {
	ended := make(chan error, 1)
	s := &Server{Timeout: time.Minute, Answers: map[string]Answer{
		"slow": func(ctx context.Context, _ []byte, progress func(any)) (any, error) {
			progress(1)
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, ctx.Err()
		},
	}}
	h := httptest.NewServer(s.Handler())
	defer h.Close()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", h.URL+s.Path()+"ask/slow", strings.NewReader("1"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", isJSON)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}

// TestMemory: an answer that takes too much memory ends and says so, and the next question is answered.
func TestMemory(t *testing.T) {
	var held [][]byte
	s := &Server{Timeout: time.Minute, Memory: 64 << 20, Answers: map[string]Answer{
		"greedy": func(ctx context.Context, _ []byte, _ func(any)) (any, error) {
			defer func() { held = nil }()
			for ctx.Err() == nil {
				if len(held) < 400 {
					held = append(held, make([]byte, 1<<20))
				}
				time.Sleep(5 * time.Millisecond)
			}
			return nil, ctx.Err()
		},
		"modest": func(context.Context, []byte, func(any)) (any, error) { return "done", nil },
	}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	at := "http://" + l.Addr().String() + s.Path() + "ask/"
	if _, text, _ := do(t, "POST", at+"greedy", "1", "Content-Type", isJSON); !strings.Contains(text,
		"no answer within 64 MiB") {
		t.Errorf("too much memory: %s", text)
	}
	if _, text, _ := do(t, "POST", at+"modest", "1", "Content-Type", isJSON); !strings.Contains(text, "done") {
		t.Errorf("the next question: %s", text)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
