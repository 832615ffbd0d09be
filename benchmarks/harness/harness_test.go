package harness

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestMain lets the tests run this program again.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "--again" {
		if os.Args[2] == "fail" {
			fmt.Fprintln(os.Stderr, "first line\nthe reason")
			os.Exit(1)
		}
		fmt.Printf(`{"Said": %q, "Threads": %q}`, os.Args[2], os.Getenv("OMP_NUM_THREADS"))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestAgain(t *testing.T) {
	var out struct{ Said, Threads string }
	if err := Again(t.Context(), &out, "--again", "hello"); err != nil || out.Said != "hello" || out.Threads != "1" {
		t.Errorf("%+v, %v", out, err)
	}
	if err := Again(t.Context(), &out, "--again", "fail"); err == nil || !strings.HasSuffix(err.Error(), ": the reason") {
		t.Errorf("a process that fails: %v", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Again(over, &out, "--again", "hello"); err == nil {
		t.Error("no error after the context is done")
	}
}
